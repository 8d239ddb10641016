#!/usr/bin/env bash
# node.sh HOST COMMAND...: stands for ssh: runs the command on a node, which has a network, a name and a clock of its own.
host=$1
shift
exec ip netns exec "$host" unshare --uts --time --monotonic $((${host#node} * 1000)) --fork --kill-child \
  bash -c "hostname $host; $*"
