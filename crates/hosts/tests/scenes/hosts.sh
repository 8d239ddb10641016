#!/usr/bin/env bash
# hosts.sh PLAY DIR SCENE: hosts played by network, UTS and time namespaces, and one scene on them.
#
# It is the first process of a process namespace: when it ends, nothing of it is left. Node N has a monotonic clock that
# is N x 1,000 s ahead, so the true offset between two nodes is known.
set -euo pipefail
play=$1 dir=$2 scene=$3
here=$(dirname "$(realpath "$0")")
nodes=2

# Names of network namespaces and of hosts are this mount namespace's own.
mount -t tmpfs tmpfs /run
ip link set lo up
ip link add bridge0 type bridge
ip addr add 10.77.0.254/24 dev bridge0
ip link set bridge0 up
{ echo "127.0.0.1 localhost"; echo "10.77.0.254 head"; } >"$dir/names"
for node in $(seq "$nodes"); do
  ip netns add "node$node"
  ip link add "cable$node" type veth peer name eth0 netns "node$node"
  ip link set "cable$node" master bridge0 up
  ip -n "node$node" addr add "10.77.0.$node/24" dev eth0
  ip -n "node$node" link set eth0 up
  ip -n "node$node" link set lo up
  echo "10.77.0.$node node$node" >>"$dir/names"
done
mount --bind "$dir/names" /etc/hosts
hostname head

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$dir
# No other network is there than that of the nodes. A busy machine gets time to end its ranks before SIGKILL.
launch() {
  mpirun.openmpi --bind-to none --mca odls_base_sigkill_timeout 30 --mca plm_rsh_agent "$here/node.sh" \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 --mca btl tcp,self --mca pml ob1 \
    --host node1,node2 -n 2 "$here/rank.sh" "$dir" "$play" "$dir" "$1" </dev/null
}
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
