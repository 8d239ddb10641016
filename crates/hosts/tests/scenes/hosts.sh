#!/usr/bin/env bash
# hosts.sh PLAY DIR SCENE: one scene on two hosts that nodes.sh plays.
set -euo pipefail
play=$1 dir=$2 scene=$3
here=$(dirname "$(realpath "$0")")

. "$here/nodes.sh"
launch() { start_ranks "$play" "$dir" "$1"; }
# Waits for files of both ranks; the limit is that of a machine that hangs.
await() {
  local file
  for file in "$@"; do
    for _ in $(seq 1200); do [ -e "$dir/$file" ] && break; sleep 0.05; done
    [ -e "$dir/$file" ] || { echo "no $file after 60 s" >&2; exit 1; }
  done
}

# A keeper may work a moment longer than its rank.
await_undone() {
  for _ in $(seq 1200); do
    compgen -G "$dir/built.*" >/dev/null || return 0
    sleep 0.05
  done
  echo "something is built after 60 s" >&2
  exit 1
}

case $scene in
  phases) launch phases ;;
  leave) if launch leave; then exit 1; fi ;;
  killed | cut | stopped)
    launch wait &
    launcher=$!
    await joined.0 joined.1
    # The ranks have heard each other, and wait.
    sleep 1
    began=$EPOCHREALTIME
    case $scene in
      killed) kill -KILL "$(cat "$dir/pid.1")" ;;
      cut) ip link set cable2 down ;;
      stopped) kill -STOP "$(cat "$dir/pid.1")" ;;
    esac
    if [ "$scene" = stopped ]; then
      # The stopped rank hears of nothing before it goes on; the launcher may have ended it by then.
      await code.0
      kill -CONT "$(cat "$dir/pid.1")" 2>/dev/null || true
    fi
    await code.0 code.1
    await_undone
    echo "ended after $(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }') s"
    # A launcher whose network is cut may wait on: it is none of the ranks.
    kill -KILL "$launcher" 2>/dev/null || true
    ;;
esac
await_undone
