#!/usr/bin/env bash
# Assay's reported rate of random 8 KiB reads, held against fio's: interleaved, in rounds, as ratios.
#
# Usage: benches/versus/rate.sh [ROUNDS] [SECONDS]        (9 rounds, 3 seconds a measurement)
#   ASSAY=PATH   the binary                 (target/release/assay)
#   BARE=PATH    the example `bare`         (target/release/examples/bare; only for instruction counts)
#   DIR=PATH     where the files are made   (/var/tmp; must be on the disk in question, not in memory)
# Needs fio and jq; instruction counts need perf. See README.md beside this file.
set -euo pipefail

rounds=${1:-9}
seconds=${2:-3}
here=$(cd "$(dirname "$0")/../.." && pwd)
assay=${ASSAY:-$here/target/release/assay}
bare=${BARE:-$here/target/release/examples/bare}
dir=$(mktemp -d "${DIR:-/var/tmp}/assay-rate-XXXXXX")
trap 'ASSAY_STATE_DIR=$dir/state "$assay" clean >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
for tool in fio jq "$assay"; do
    command -v "$tool" >/dev/null || { echo "rate.sh: $tool not found: install it, or build the binary by cargo build --release" >&2; exit 2; }
done

# A gibibyte of random bytes, written in full: a hole or an unwritten extent would be read without the disk.
file=$dir/data
dd if=/dev/urandom of="$file" bs=1M count=1024 conv=fsync status=none

# fio's terse line: field 6 is KiB read, field 8 reads a second.
fio_reads() {
    "$@" fio --name=reads --filename="$file" --readonly --rw=randread --bs=8k --direct=1 --ioengine=io_uring \
        --fixedbufs=1 --registerfiles=1 --iodepth=64 --norandommap=1 --time_based --runtime="$seconds" \
        --output-format=terse --terse-version=3
}

fio_rate() { fio_reads | cut -d ';' -f 8; }

ring_rate() {
    "$assay" calibrate --target "$file" --seconds "$seconds" --json |
        jq '.rows[] | select(.what | endswith("ring, depth 64")) | .per_second'
}

# The page engine through a whole study: one stack, four blocks (the fewest), 64 sessions with one read outstanding
# each, every page verified. Its data is a file of its own, in the same directory.
cat >"$dir/study.toml" <<END
[study]
name = "rate"
question = "What rate does the page engine report?"
time_limit = "1h"
blocks = 4
seed = 1
io = "ring"
[[stack]]
name = "directory"
kind = "directory"
path = "$dir"
[database]
cache = "8MiB"
scale = "512MiB"
redo_size = "32MiB"
[[phase]]
name = "reads"
kind = "random"
update_pct = 0
sessions = 64
work_unit = 16
time = "${seconds}s"
END

engine_rate() {
    rm -f "$dir/result.assay"
    ASSAY_STATE_DIR=$dir/state "$assay" run "$dir/study.toml" --quiet --output "$dir/result.assay" --json |
        jq '.report.phases[0].cells[0].engine.reads_per_s.median'
}

# User instructions per read, if perf can count them: the instructions of one run over its reads.
counted() { perf stat -x , -o "$dir/perf" -e instructions:u -- "$@"; }
instructions() { awk -F , '/instructions/ && $1 ~ /^[0-9]+$/ { print $1 }' "$dir/perf"; }

summary() { # name, ratios on stdin
    sort -n | awk -v name="$1" '{ r[NR] = $1 } END {
        m = NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2
        printf "%-28s median %.3f, lowest %.3f, highest %.3f, %d rounds\n", name, m, r[1], r[NR], NR }'
}

echo "random 8 KiB reads, O_DIRECT, depth 64, one thread, $rounds rounds of $seconds s each; $(fio --version)"
fio_rate >/dev/null # the first touch of a file is slow on some disks
printf '%5s %10s %10s %10s %11s %12s\n' round fio ring engine ring/fio engine/fio
: >"$dir/ring"
: >"$dir/engine"
for ((round = 1; round <= rounds; round++)); do
    # Each of Assay's stands between two of fio's, and is held against their mean: a machine that drifts drifts for both.
    first=$(fio_rate)
    ring=$(ring_rate)
    second=$(fio_rate)
    engine=$(engine_rate)
    third=$(fio_rate)
    awk -v n="$round" -v a="$first" -v r="$ring" -v b="$second" -v e="$engine" -v c="$third" \
        -v ring_to="$dir/ring" -v engine_to="$dir/engine" 'BEGIN {
        x = r / ((a + b) / 2); y = e / ((b + c) / 2)
        printf "%5d %10.0f %10.0f %10.0f %11.3f %12.3f\n", n, (a + b + c) / 3, r, e, x, y
        print x >>ring_to; print y >>engine_to }'
done
summary "bare ring / fio" <"$dir/ring"
summary "page engine / fio" <"$dir/engine"

if counted true 2>/dev/null && [ -n "$(instructions)" ]; then
    kib=$(fio_reads counted | cut -d ';' -f 6)
    echo "fio: $(($(instructions) * 8 / kib)) user instructions per read"
    if [ -x "$bare" ]; then
        reads=$(counted "$bare" "$file" ring "$seconds" 64 | sed -n 's/.* \([0-9]*\) reads,.*/\1/p')
        echo "bare ring: $(($(instructions) / reads)) user instructions per read"
    fi
else
    echo "user instructions are not counted: perf is missing, or this machine's counters cannot be used"
fi
