#!/bin/bash
# In the guest (guest.sh --script): a study of every layout; then nothing of it may be left. As root of the guest, which
# has nine LUNs of 96 MiB. SHORT: one block of all layouts but the rare ones, and a verdict on two stacks alone.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
source "$here/short.sh"

# run NAME: NAME.toml into NAME.assay
run() {
  assay run --yes --seed 7 --output "$1.assay" "$1.toml" >"$1.txt" 2>"$1-progress.txt"
  echo "$1 $?"
}

all=("$here/layouts.toml" "$here/layouts-more.toml" "$here/layouts-files.toml")
if [ -n "${SHORT:-}" ]; then
  short 1s "${all[@]}" >layouts.toml
  # Four blocks are the fewest for a verdict.
  shorter 1h "$here/layouts.toml" >verdict.toml
  run verdict
else
  cat "${all[@]}" "$here/layouts-rare.toml" >layouts.toml
fi
run layouts
left
