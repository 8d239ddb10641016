#!/bin/bash
# In the guest (guest.sh --script): runs that are killed at any moment, each followed by `assay clean`; nothing may be
# left. Of four runs one is killed while extents move, and one while a power cut has its volumes down.
# SEED, KILLS and WITHIN (milliseconds, from that moment, or from the first LUN that a run claims) may be set before.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
# How fast the guest reads is of no interest here: without that look a run builds from its first second on.
sed 's/^\[study\]$/&\nio = "ring"/' "$here/layouts.toml" >kill-layouts.toml
cp "$here/moves.toml" kill-moves.toml
cp "$here/cuts.toml" kill-cuts.toml

# Whether the kernel has a volume.
is_up() {
  local found
  for found in /sys/block/dm-* /sys/block/md*; do
    if [ -e "$found" ]; then return 0; fi
  done
  return 1
}

# Whether the run of this study is where it shall be killed.
is_there() {
  case "$1" in
    # What comes before the first LUN is claimed makes little, and takes as long as the host likes.
    layouts) grep -qs wipe_signature /run/assay/*.journal ;;
    moves) grep -qs pvmove0 /sys/block/dm-*/dm/name || grep -qs recover /sys/block/md*/md/sync_action ;;
    cuts)
      if is_up; then was_up=1; return 1; fi
      [ -n "$was_up" ] ;;
  esac
}

RANDOM=${SEED:-1}
for nth in $(seq 1 "${KILLS:-20}"); do
  study=layouts within=${WITHIN:-6000} was_up=''
  case $((nth % 4)) in
    2) study=moves ;;
    # A volume is up again within a second.
    0) study=cuts within=1000 ;;
  esac
  assay run --yes --seed "$RANDOM" --output "kill$nth.assay" "kill-$study.toml" >/dev/null 2>&1 &
  run=$!
  while kill -0 "$run" 2>/dev/null && ! is_there "$study"; do sleep 0.1; done
  pause=$((RANDOM % within))
  sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
  killed=''
  if kill -KILL "$run" 2>/dev/null; then killed=1; fi
  wait "$run" 2>/dev/null
  lines=()
  for journal in /run/assay/*.journal; do
    if [ -e "$journal" ]; then mapfile -t lines <"$journal"; fi
  done
  assay clean >clean.txt 2>&1
  code=$?
  if [ -z "$killed" ]; then code="$code, but it had ended before"; fi
  echo "kill $nth in $study after $pause ms, ${#lines[@]} lines of journal: clean $code"
  if [ "$code" != 0 ]; then cat clean.txt; fi
  left
done
rm -f kill*.assay*
