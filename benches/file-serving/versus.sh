#!/bin/bash
# Our NFS client beside libnfs on one export of nfs-ganesha (tmpfs), in turn.
# ./versus.sh [ROUNDS] [SECONDS] [PREFIX...]
# PREFIX goes before server and clients, such as `taskset -c 1`. Root. Debian:
# nfs-ganesha nfs-ganesha-vfs rpcbind libnfs-dev; libnfs-utils for BYTES.
# SHAPES: depth and connections, such as "32 1;32 4". CLASSES: such as "read write". BYTES=1 reads whole files instead,
# beside nfs-cat.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-3} seconds=${2:-1}; shift $(( $# < 2 ? $# : 2 ))
target=${CARGO_TARGET_DIR:-$here/../../target}
if [ -z "${STATE:-}" ]; then
    STATE=$(mktemp -d); trap 'rm -rf "$STATE"' EXIT
    cc -O2 -o "$STATE/libnfs" "$here/libnfs.c" -lnfs
    cargo build --release --locked -q -p files --example calls --manifest-path "$here/../../Cargo.toml"
    export STATE
    unshare --net --mount --pid --fork --mount-proc --kill-child "$0" "$rounds" "$seconds" "$@" | tee "$STATE/lines"
    [ -n "${BYTES:-}" ] || python3 "$here/ratios.py" "$STATE/lines"
    exit
fi
ip link set lo up
mount -t tmpfs none /run; mkdir -p /run/rpcbind "$STATE/export"; mount -t tmpfs none "$STATE/export"
rpcbind -f -w &
cat >"$STATE/conf" <<CONF
NFS_CORE_PARAM { NFS_Port = 2049; MNT_Port = 20048; Protocols = 3; Enable_UDP = false; Enable_NLM = false;
    Enable_RQUOTA = false; Enable_NFS_Stats = false; }
NFSv4 { Graceless = true; RecoveryRoot = "$STATE"; }
EXPORT { Export_Id = 1; Path = "$STATE/export"; Pseudo = "/export"; Filesystem_id = 7.7; Access_Type = RW;
    Squash = No_Root_Squash; SecType = sys; PrivilegedPort = false; Protocols = 3; Transports = TCP;
    FSAL { Name = VFS; } }
LOG { Default_Log_Level = EVENT; Facility { name = FILE; destination = "$STATE/log"; enable = active; } }
CONF
"$@" ganesha.nfsd -F -f "$STATE/conf" -p "$STATE/pid" -L "$STATE/log" & export SERVER=$!
listens() { "$target/release/examples/calls" "$STATE/export" getattr 1 1 0.01 >/dev/null 2>&1; }
for _ in $(seq 300); do listens && break; sleep 0.05; done
ours() { "$@" "$target/release/examples/calls" "$STATE/export" $line "$seconds"; }
theirs() { "$@" "$STATE/libnfs" "$STATE/export" $line "$seconds"; }
bytes() {
    # The same 256 MiB, in READs of 1 MiB one after another. Ours checks each KiB.
    head -c 268435456 /dev/urandom >"$STATE/export/whole"
    for round in $(seq "$rounds"); do
        theirs_bytes "$@"
        TRANSFER_KIB=1024 FILE_KIB=1024 "$@" "$target/release/examples/calls" "$STATE/export" read 1 1 "$seconds" |
            awk '{ printf "assay %.0f MiB/s, client CPU %.0f us/MiB\n", $5, $6 }'
    done
    rm "$STATE/export/whole"
}
theirs_bytes() {
    python3 - "$STATE/export/whole" "$@" <<'PY'
import os, subprocess, sys, time
path, *prefix = sys.argv[1:]
start, before = time.monotonic(), os.times()
url = f"nfs://127.0.0.1{path}?nfsport=2049&mountport=20048"
subprocess.run(prefix + ["nfs-cat", url], check=True, stdout=subprocess.DEVNULL)
took, after = time.monotonic() - start, os.times()
cpu = after.children_user + after.children_system - before.children_user - before.children_system
print(f"nfs-cat {256 / took:.0f} MiB/s, client CPU {cpu * 1e6 / 256:.0f} us/MiB")
PY
}
[ -z "${BYTES:-}" ] || { bytes "$@"; exit; }
IFS=';' read -ra shapes <<<"${SHAPES:-1 1;8 1;32 1;32 4}"
for round in $(seq "$rounds"); do
    for class in ${CLASSES:-getattr lookup read write}; do
        for shape in "${shapes[@]}"; do
            line="$class $shape"
            # Who goes first changes from round to round.
            if [ $((round % 2)) = 1 ]; then ours "$@"; theirs "$@"; else theirs "$@"; ours "$@"; fi
        done
    done
done
