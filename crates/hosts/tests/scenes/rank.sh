#!/bin/sh
# rank.sh DIR COMMAND...: runs a rank, and writes down its exit code. A launcher sends SIGTERM to both: the rank decides.
dir=$1
shift
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
trap : TERM
"$@" &
child=$!
code=128
# A signal ends `wait`, and not the rank.
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
echo "$code" >"$dir/code.$rank.new"
mv "$dir/code.$rank.new" "$dir/code.$rank"
exit "$code"
