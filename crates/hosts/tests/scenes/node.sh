#!/usr/bin/env bash
# node.sh HOST COMMAND...: stands for ssh. It runs the command on a node, which has its own network, name and clock.
host=$1
shift
exec ip netns exec "$host" unshare --uts --time --monotonic $((${host#node} * 1000)) --fork --kill-child \
  bash -c "hostname $host; $*"
