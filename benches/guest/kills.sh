#!/bin/bash
# In the guest (guest.sh --script): runs that are killed at any moment, each followed by `assay clean`; nothing may be
# left.
# SEED and KILLS may be set before.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
cp "$here/layouts.toml" .
RANDOM=${SEED:-1}
for nth in $(seq 1 "${KILLS:-20}"); do
  assay run --yes --seed "$RANDOM" --output "kill$nth.assay" layouts.toml >/dev/null 2>&1 &
  run=$!
  pause=$((RANDOM % 6000))
  sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
  kill -KILL "$run"
  wait "$run" 2>/dev/null
  assay clean >clean.txt 2>&1
  echo "kill $nth after $pause ms: clean $?"
  left
done
rm -f kill*.assay*
