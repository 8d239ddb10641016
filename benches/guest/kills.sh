#!/bin/bash
# In the guest (guest.sh --script): runs that are killed at any moment, each followed by `assay clean`; nothing may be
# left. Of four runs one is killed while extents move, and one while a power cut has its volumes down.
# SEED, FIRST, KILLS (the numbers of the first and the last run) and WITHIN (milliseconds, from that moment, or from the
# first LUN that a run claims) may be set before.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
source "$here/short.sh"
shorter 1h "$here/layouts.toml" "$here/layouts-more.toml" >kill-layouts.toml
shorter 1h "$here/moves.toml" >kill-moves.toml
shorter 1h "$here/cuts.toml" >kill-cuts.toml

# Nobody writes to it: a read with a time limit waits as `sleep` does, and starts no process beside the run.
mkfifo /run/nobody
exec {nobody}<>/run/nobody

# Whether the kernel has a volume.
is_up() {
  local found
  for found in /sys/block/dm-* /sys/block/md*; do
    if [ -e "$found" ]; then return 0; fi
  done
  return 1
}

# have WORD FILE... : whether one of these files has the word in it; words of the shell alone.
have() {
  local file lines
  for file in "${@:2}"; do
    if { mapfile -t lines <"$file"; } 2>/dev/null && [[ "${lines[*]}" == *"$1"* ]]; then return 0; fi
  done
  return 1
}

# Whether the run of this study is where it shall be killed.
is_there() {
  case "$1" in
    # What comes before the first LUN is claimed makes little, and takes as long as the host likes.
    layouts) have wipe_signature /run/assay/*.journal ;;
    # An array of RAID 5 also recovers when it is made: only a move replaces a LUN.
    moves) have pvmove0 /sys/block/dm-*/dm/name || have replacement /sys/block/md*/md/dev-*/state ;;
    cuts)
      if is_up; then was_up=1; return 1; fi
      [ -n "$was_up" ] ;;
  esac
}

RANDOM=${SEED:-1}
for nth in $(seq "${FIRST:-1}" "${KILLS:-20}"); do
  study=layouts within=${WITHIN:-6000} was_up=''
  case $((nth % 4)) in
    2) study=moves ;;
    # A volume is up again within a second.
    0) study=cuts within=1000 ;;
  esac
  # Not in the command itself: one in the background is expanded by a shell of its own, which seeds RANDOM anew.
  seed=$RANDOM
  assay run --yes --seed "$seed" --output "kill$nth.assay" "kill-$study.toml" >/dev/null 2>&1 &
  run=$!
  while kill -0 "$run" 2>/dev/null && ! is_there "$study"; do read -rt 0.05 -u "$nobody"; done
  pause=$((RANDOM % within))
  printf -v wait_s '%d.%03d' $((pause / 1000)) $((pause % 1000))
  read -rt "$wait_s" -u "$nobody"
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
