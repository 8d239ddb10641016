#!/usr/bin/env bash
# OpenZFS in user space, ours against another program that calls the same library in its own process: random reads and synchronous
# writes of 8 KiB on a pool of four files, in turns in one run, as ratios.
#
#   benches/zfs/versus.sh OTHER DIR [SECONDS [ROUNDS]]
#
# OTHER is run as `OTHER -D -d DIR -A 256m create:size=1g randread:threads=N:secs=S syncwrite:threads=N:secs=S` and prints a line an
# operation that has "N IOPS" and "(N us/op)" in it. DIR is on the disk that is to be measured and needs 8 GiB. Both sides have four
# files of 1 GiB, one object of 1 GiB in records of 8 KiB, an ARC of 256 MiB, O_DIRECT, and so many threads or sessions. Which side
# begins changes with each round. The last lines are medians of the rounds, and the ratio of each round's two rates: its median and range.
set -euo pipefail
other=$(realpath "${1:?versus.sh OTHER DIR [SECONDS [ROUNDS]]}") dir=${2:?a directory} seconds=${3:-5} rounds=${4:-5}
cd "$(dirname "$0")/../.."
cargo build --release --locked --quiet -p zpool --example rates
ours=$(realpath "${CARGO_TARGET_DIR:-target}")/release/examples/rates
place=$(mktemp -d "$dir/zfs-versus.XXXXXX")
trap 'rm -rf "$place"' EXIT

# Lines "SIDE SESSIONS OPERATION RATE CPU_US" of one run.
run() {
  local side=$1 sessions=$2
  rm -rf "${place:?}/pool"; mkdir "$place/pool"
  if [ "$side" = ours ]; then
    "$ours" "$place/pool" "$sessions" "$seconds" 256 |
      sed -nE "s/^(random read|sync write) .*: ([0-9]+) a second, ([0-9.]+) us.*/ours $sessions \1 \2 \3/p" | sed 's/random read/read/; s/sync write/write/'
  else
    "$other" -D -d "$place/pool" -A 256m create:size=1g "randread:threads=$sessions:secs=$seconds" "syncwrite:threads=$sessions:secs=$seconds" |
      sed -nE "s/^(randread|syncwrite) .* ([0-9]+) IOPS .*\(([0-9]+) us\/op\).*/other $sessions \1 \2 \3/p" | sed 's/randread/read/; s/syncwrite/write/'
  fi
}

for round in $(seq "$rounds"); do
  for sessions in 8 32; do
    sides=(ours other)
    [ $((round % 2)) = 1 ] || sides=(other ours)
    for side in "${sides[@]}"; do run "$side" "$sessions" | sed "s/^/$round /" | tee -a "$place/lines" >&2; done
  done
done
awk '
  { rate[$1, $3, $4, $2] = $5; of[$2, $3, $4] = of[$2, $3, $4] " " $5; cpu[$2, $3, $4] = cpu[$2, $3, $4] " " $6; if ($1 > last) last = $1 }
  function sorted(text, into,   n, i, j, x) { n = split(text, into, " ")
    for (i = 2; i <= n; i++) { x = into[i] + 0; for (j = i - 1; j >= 1 && into[j] + 0 > x; j--) into[j + 1] = into[j]; into[j + 1] = x }
    return n }
  function median(text,   v, n) { n = sorted(text, v); return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
  END { split("read write", operations, " "); split("8 32", counts, " ")
    for (o = 1; o <= 2; o++) for (c = 1; c <= 2; c++) { op = operations[o]; s = counts[c]; ratios = ""
      for (r = 1; r <= last; r++) ratios = ratios " " rate[r, s, op, "ours"] / rate[r, s, op, "other"]
      n = sorted(ratios, v)
      printf "%-5s %2d sessions: ours %.0f a second at %.0f us of CPU, other %.0f at %.0f; ratio %.2f (%.2f to %.2f)\n", op, s,
        median(of["ours", s, op]), median(cpu["ours", s, op]), median(of["other", s, op]), median(cpu["other", s, op]), median(ratios), v[1], v[n] } }
' "$place/lines"
