#!/bin/bash
# In the guest (guest.sh --script): LUNs that change under work, and LUNs that are lost under it; then nothing may be
# left. FULL: more stacks.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
for study in moves lost; do
  cat "$here/$study.toml" ${FULL:+"$here/$study-more.toml"} >"$study.toml"
  assay run --yes --output "$study.assay" "$study.toml" >"$study.txt" 2>"$study-progress.txt"
  echo "$study $?"
done
left
