#!/usr/bin/env bash
# Order entry of room `databases` beside sysbench-tpcc, on one PostgreSQL server, in turns. See README.md.
#
#   versus-sysbench-tpcc.sh SYSBENCH_TPCC_DIR [WAREHOUSES [USERS [SECONDS [ROUNDS]]]]
#
# SERVER_DIR: where the server's data goes (an empty or missing directory; removed at the end). Default: under /var/tmp.
set -euo pipefail

[ $# -ge 1 ] && [ -f "$1/tpcc.lua" ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
lua=$(cd "$1" && pwd)
warehouses=${2:-10} users=${3:-8} seconds=${4:-30} rounds=${5:-4}
cd "$(dirname "$0")/../.."
for tool in sysbench psql; do command -v $tool >/dev/null || { echo "$tool not found: install it" >&2; exit 2; }; done
cargo build --quiet --release --package databases --example order_entry
ours=${CARGO_TARGET_DIR:-target}/release/examples/order_entry

work=$(mktemp -d)
chmod 755 "$work"
data=${SERVER_DIR:-/var/tmp/assay-versus-$$}
coproc SERVER { exec "$ours" serve "$data" 1024 "$((users + 10))" tuned; }
server=$SERVER_PID
cleanup() {
  # The server stops when its standard input ends.
  eval "exec ${SERVER[1]}>&-" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  rm -rf "$work" "$data"
}
trap cleanup EXIT
read -r url <&"${SERVER[0]}"
socket=${url#*host=}
sql() { psql -h "$socket" -U assay -d "$1" -Atqc "$2"; }

"$ours" load "$url" "$warehouses" 2 >&2
sql postgres "CREATE DATABASE theirs"
common=(./tpcc.lua --db-driver=pgsql --pgsql-host="$socket" --pgsql-user=assay --pgsql-db=theirs --tables=1
  --scale="$warehouses" --use_fk=0 --trx_level=RC --report-interval=0)
(cd "$lua" && sysbench "${common[@]}" --threads=2 prepare) >"$work/prepare.log" 2>&1
# Indexes for foreign keys come also without those keys; ours has none of them, and each would cost the other side writes.
sql theirs "DROP INDEX fkey_stock_21, fkey_order_line_21, fkey_history_11, fkey_history_21"
sql theirs "VACUUM ANALYZE"

# One turn: gives new orders a minute, transactions a second, client CPU microseconds a transaction.
TIMEFORMAT='%U %S'
turn() { # who seconds
  local db=postgres table=district before after cpu count
  [ "$1" = theirs ] && db=theirs table=district1
  sql postgres CHECKPOINT
  before=$(sql $db "SELECT sum(d_next_o_id) FROM $table")
  if [ "$1" = theirs ]; then
    { time env -C "$lua" sysbench "${common[@]}" --threads="$users" --time="$2" run >"$work/out" 2>"$work/err"; } 2>"$work/cpu"
    count=$(awk '$1 == "transactions:" { print $2 }' "$work/out")
  else
    { time "$ours" run "$url" "$warehouses" "$users" "$2" 1 rc any >"$work/out" 2>"$work/err"; } 2>"$work/cpu"
    count=$(awk '/%\)/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^\(/) { n += $i; break } } END { print n }' "$work/out")
  fi
  after=$(sql $db "SELECT sum(d_next_o_id) FROM $table")
  cpu=$(cat "$work/cpu")
  awk -v o=$((after - before)) -v n="$count" -v s="$2" -v cpu="$cpu" \
    'BEGIN { split(cpu, c, " "); printf "%.0f %.0f %.1f\n", o * 60 / s, n / s, (c[1] + c[2]) * 1e6 / n }'
}

turn ours 5 >/dev/null
turn theirs 5 >/dev/null
echo "$warehouses warehouses, $users users, $seconds s a turn: new orders/min, transactions/s, client CPU us/transaction"
for ((round = 1; round <= rounds; round++)); do
  # In mirrored pairs: who went first goes second in the next.
  if ((round % 2)); then order="ours theirs"; else order="theirs ours"; fi
  for who in $order; do
    read -r nopm tps us < <(turn $who "$seconds")
    printf '%-7s %8s %8s %8s\n' $who "$nopm" "$tps" "$us"
    eval "${who}_nopm=$nopm ${who}_tps=$tps ${who}_us=$us"
  done
  echo "$ours_nopm $theirs_nopm $ours_tps $theirs_tps $ours_us $theirs_us" >>"$work/pairs"
done
median() { sort -g | awk '{ v[NR] = $1 } END { m = int((NR + 1) / 2); printf "%.2f (%.2f to %.2f)", (NR % 2) ? v[m] : (v[m] + v[m + 1]) / 2, v[1], v[NR] }'; }
echo "ours / theirs, median of $rounds pairs (smallest to largest):"
echo "  new orders/min             $(awk '{ print $1 / $2 }' "$work/pairs" | median)"
echo "  transactions/s             $(awk '{ print $3 / $4 }' "$work/pairs" | median)"
echo "  client CPU per transaction $(awk '{ print $5 / $6 }' "$work/pairs" | median)"
"$ours" check "$url" "$warehouses"
