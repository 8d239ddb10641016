#!/bin/bash
# In the guest (guest.sh --script): power cuts under LVM and md, each stack cut four times CUTS; then nothing may be
# left. FULL: more stacks.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
cat "$here/cuts.toml" ${FULL:+"$here/cuts-more.toml"} | sed "s/^cuts = 1$/cuts = ${CUTS:-1}/" >cuts.toml
assay run --yes --output cuts.assay cuts.toml >cuts.txt 2>cuts-progress.txt
echo "cuts $?"
left
