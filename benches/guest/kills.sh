#!/bin/bash
# In the guest (guest.sh --script): runs that are killed at any moment, each followed by `assay clean`; nothing may be
# left.
# SEED, KILLS and WITHIN (milliseconds, from the first LUN that a run claims) may be set before.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
# How fast the guest reads is of no interest here: without that look a run builds from its first second on.
sed 's/^\[study\]$/&\nio = "ring"/' "$here/layouts.toml" >kills.toml
RANDOM=${SEED:-1}
for nth in $(seq 1 "${KILLS:-20}"); do
  assay run --yes --seed "$RANDOM" --output "kill$nth.assay" kills.toml >/dev/null 2>&1 &
  run=$!
  # What comes before the first LUN is claimed makes little, and takes as long as the host likes.
  while kill -0 "$run" 2>/dev/null && ! grep -qs wipe_signature /run/assay/*.journal; do sleep 0.1; done
  pause=$((RANDOM % ${WITHIN:-6000}))
  sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
  kill -KILL "$run"
  wait "$run" 2>/dev/null
  lines=()
  for journal in /run/assay/*.journal; do
    if [ -e "$journal" ]; then mapfile -t lines <"$journal"; fi
  done
  assay clean >clean.txt 2>&1
  echo "kill $nth after $pause ms, ${#lines[@]} lines of journal: clean $?"
  left
done
rm -f kill*.assay*
