#!/usr/bin/env bash
# Long questions asked by room `databases` and by psql, on one PostgreSQL server, in turns. See README.md.
#
#   versus-psql.sh [SCALE [ROUNDS]]
#
# SERVER_DIR: where the server's data goes (an empty or missing directory; removed at the end). Default: under /var/tmp.
set -euo pipefail

scale=${1:-0.3} rounds=${2:-4}
cd "$(dirname "$0")/../.."
command -v psql >/dev/null || { echo "psql not found: install postgresql-client" >&2; exit 2; }
cargo build --quiet --release --package databases --example order_entry --example decision_support
examples=${CARGO_TARGET_DIR:-target}/release/examples
ours=$examples/decision_support

work=$(mktemp -d)
chmod 755 "$work"
data=${SERVER_DIR:-/var/tmp/assay-versus-$$}
# The server of the other bench: this one only asks it other things.
coproc SERVER { exec "$examples/order_entry" serve "$data" 512 10 default; }
serving=$SERVER_PID
cleanup() {
  # The server stops when its standard input ends.
  eval "exec ${SERVER[1]}>&-" 2>/dev/null || true
  wait "$serving" 2>/dev/null || true
  rm -rf "$work" "$data"
}
trap cleanup EXIT
read -r url <&"${SERVER[0]}"
socket=${url#*host=}
postmaster=$(head -1 "$data/postmaster.pid")
ticks=$(getconf CLK_TCK)

"$ours" load "$url" "$scale" >&2
"$ours" texts "$scale" >"$work/questions.sql"

# Processor time of the server's processes that have ended: those of a connection end with it.
served() { awk '{ print $14 + $15 + $16 + $17 }' "/proc/$postmaster/stat"; }

# One turn: gives the client's and the server's processor time, s, and their ratio in percent.
TIMEFORMAT='%U %S'
turn() { # who
  local before after
  before=$(served)
  if [ "$1" = psql ]; then
    { time psql -X -q -h "$socket" -U assay -d postgres -f "$work/questions.sql" -o "$work/answers" 2>"$work/err"; } \
      2>"$work/cpu"
  else
    { time "$ours" ask "$url" "$scale" >"$work/out" 2>"$work/err"; } 2>"$work/cpu"
  fi
  # A process of the server ends a moment after its client.
  sleep 1
  after=$(served)
  awk -v served=$((after - before)) -v ticks="$ticks" \
    '{ client = $1 + $2; server = served / ticks; printf "%.3f %.2f %.2f\n", client, server, client * 100 / server }' \
    "$work/cpu"
}

turn ours >/dev/null
turn psql >/dev/null
echo "scale $scale, 22 questions a turn: client's processor time s, server's s, client / server %"
for ((round = 1; round <= rounds; round++)); do
  # In mirrored pairs: who went first goes second in the next.
  if ((round % 2)); then order="ours psql"; else order="psql ours"; fi
  for who in $order; do
    read -r client server share < <(turn $who)
    printf '%-5s %8s %8s %8s\n' $who "$client" "$server" "$share"
    echo "$share" >>"$work/$who"
  done
done
median() { sort -g | awk '{ v[NR] = $1 } END { m = int((NR + 1) / 2); printf "%.2f %% (%.2f to %.2f)", (NR % 2) ? v[m] : (v[m] + v[m + 1]) / 2, v[1], v[NR] }'; }
echo "client / server, median of $rounds turns (smallest to largest):"
for who in ours psql; do echo "  $who $(median <"$work/$who")"; done
