#!/bin/bash
# In the guest (guest.sh --script): power cuts under LVM and md, each stack cut CUTS times in each of four blocks; then
# nothing may be left. FULL: more stacks. SHORT: one block.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
source "$here/short.sh"
# As distributions set it: an array that is assembled then waits for its first write.
echo 1 >/sys/module/md_mod/parameters/start_ro
parts=("$here/cuts.toml" ${FULL:+"$here/cuts-more.toml"})
if [ -n "${SHORT:-}" ]; then short 1s "${parts[@]}"; else cat "${parts[@]}"; fi |
  sed "s/^cuts = 1$/cuts = ${CUTS:-1}/" >cuts.toml
assay run --yes --output cuts.assay cuts.toml >cuts.txt 2>cuts-progress.txt
echo "cuts $?"
left
