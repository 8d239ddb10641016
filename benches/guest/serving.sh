#!/bin/bash
# In the guest (guest.sh --script): the kernel's NFS server serves a study to its end; then a run is killed while it
# serves, and cleaned up. Nothing may be left. SHORT: no further block after 18 s; one usually takes longer than half of
# that.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
source "$here/short.sh"

# Threads of the kernel's server, and the processes that work for it.
servers() {
  local found name
  for found in /proc/[0-9]*/comm; do
    if { read -r name <"$found"; } 2>/dev/null; then
      case "$name" in nfsd | lockd | rpc.mountd | rpcbind) echo "$name" ;; esac
    fi
  done
}

left_of_servers() {
  local name
  # A thread of the kernel's takes a moment to go.
  for _ in $(seq 50); do [ -z "$(servers)" ] && break; sleep 0.1; done
  for name in $(servers); do echo "left: server $name"; done
  left
}

cp "$here/serving.toml" killed.toml
if [ -n "${SHORT:-}" ]; then short 18s "$here/serving.toml"; else cat "$here/serving.toml"; fi >serving.toml
assay run --yes --seed 7 --output serving.assay serving.toml >report.txt 2>progress.txt
echo "served $?"
left_of_servers
assay run --yes --seed 7 --output killed.assay killed.toml >/dev/null 2>&1 &
run=$!
while kill -0 "$run" 2>/dev/null && [[ $(servers) != *nfsd* ]]; do sleep 0.1; done
sleep 1
kill -KILL "$run"
wait "$run" 2>/dev/null
assay clean >clean.txt 2>&1
echo "killed while it served: clean $?"
left_of_servers
rm -f killed.*
