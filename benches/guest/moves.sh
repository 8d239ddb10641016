#!/bin/bash
# In the guest (guest.sh --script): LUNs that change under work, and LUNs that are lost under it; then nothing may be
# left. FULL: more stacks, and four LUNs for four others. SHORT: no further block after 16 s (48 s where LUNs are lost);
# one block usually takes longer than that.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
source "$here/short.sh"
for study in moves lost ${FULL:+moves-four}; do
  parts=("$here/$study.toml")
  if [ -n "${FULL:-}" ] && [ -e "$here/$study-more.toml" ]; then parts+=("$here/$study-more.toml"); fi
  case "${SHORT:+$study}" in
    moves) short 16s "${parts[@]}" ;;
    lost) short 48s "${parts[@]}" ;;
    *) cat "${parts[@]}" ;;
  esac >"$study.toml"
  assay run --yes --output "$study.assay" "$study.toml" >"$study.txt" 2>"$study-progress.txt"
  echo "$study $?"
done
left
