#!/bin/bash
# In the guest (guest.sh --script): LUNs that change under work, and LUNs that are lost under it; then nothing may be
# left. FULL: more stacks, and four LUNs for four others. SHORT: no further block after 4 s (15 s where LUNs are lost);
# one block usually takes longer than that. Arrays do not slow down for work then.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
source "$here/short.sh"
if [ -n "${SHORT:-}" ]; then echo 200000 >/proc/sys/dev/raid/speed_limit_min; fi
for study in moves lost ${FULL:+moves-four}; do
  parts=("$here/$study.toml")
  if [ -n "${FULL:-}" ] && [ -e "$here/$study-more.toml" ]; then parts+=("$here/$study-more.toml"); fi
  case "${SHORT:+$study}" in
    moves) shorter 4s "${parts[@]}" ;;
    lost)
      shorter 15s "${parts[@]}" | sed -e 's/^time = "1s"/time = "200ms"/' -e 's/^time = "2s"/time = "1s"/' \
        -e 's/after = "500ms"/after = "200ms"/' ;;
    *) cat "${parts[@]}" ;;
  esac >"$study.toml"
  assay run --yes --output "$study.assay" "$study.toml" >"$study.txt" 2>"$study-progress.txt"
  echo "$study $?"
done
left
