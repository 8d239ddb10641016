#!/usr/bin/env bash
# scene.sh PROGRAM DIR SCENE SCENES: `assay run` on two hosts that nodes.sh (in SCENES) plays.
#
# `whole`: study.toml to its end. `killed`: the second rank is killed while its instance works.
set -euo pipefail
program=$1 dir=$2 scene=$3 here=$4

end_after=5
. "$here/nodes.sh"
export ASSAY_STATE_DIR=$dir/state
cd "$dir"
run() { start_ranks "$program" run study.toml --quiet --yes -o study.assay; }

# Processes of the program whose first argument is this.
called() { pgrep -f "^(assay|$program) $1" || true; }

case $scene in
  whole) run ;;
  killed)
    run &
    # Other tests may work beside this one.
    for _ in $(seq 6000); do
      [ -n "$(called instance)" ] && break
      sleep 0.05
    done
    # The instance has opened its workers, and the phase has begun.
    sleep 3
    for rank in $(called 'run '); do
      if tr '\0' '\n' <"/proc/$rank/environ" | grep -qx OMPI_COMM_WORLD_RANK=1; then
        began=$EPOCHREALTIME
        kill -KILL "$rank"
      fi
    done
    for code in code.0 code.1; do
      for _ in $(seq 1200); do [ -e "$code" ] && break; sleep 0.05; done
    done
    echo "ended after $(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }') s"
    # A keeper, and the process of an instance, may work a moment longer than their rank.
    for _ in $(seq 1200); do
      [ -z "$(called keeper)$(called instance)" ] && break
      sleep 0.05
    done
    echo "left: $(called keeper) $(called instance)"
    ;;
esac
