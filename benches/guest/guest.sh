#!/usr/bin/env bash
# Runs a command, or a study, in a guest that has a kernel of its own: User-mode Linux, with device mapper and md.
#
#   benches/guest/guest.sh [options] -- COMMAND...      a command, as root of the guest
#   benches/guest/guest.sh [options] STUDY.toml         assay run --yes STUDY.toml; its result file comes out
#   benches/guest/guest.sh [options] --script FILE      a script of bash
#
#   --luns COUNT      devices for LUNs, /dev/ubdb and the ones after it (4)
#   --size SIZE       of each, as truncate takes it (320M)
#   --disk SIZE       of the disk on which the work is done, /lab (4G; it takes only what is written)
#   --memory SIZE     of the guest (1G)
#   --time SECONDS    after which the guest is ended, whatever it does (300)
#   --out DIR         where the files come that the work leaves in /lab (the directory of the caller)
#   --assay PATH      the program (target/release/assay, else target/debug/assay, else the one that is installed)
#
# The guest sees the files of this machine and can change none of them but those in --out. It needs no root here. The
# Debian packages user-mode-linux, lvm2, mdadm, thin-provisioning-tools and kmod give all that it needs.
# Its exit code is that of the work; 124: the time was over.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

usage() { sed -n '2,20s/^# \?//p' "$0" >&2; exit 2; }
luns=4 size=320M disk=4G memory=1G limit=300 out=$PWD script='' study=''
target=$(realpath -m "${CARGO_TARGET_DIR:-$here/../../target}")
assay=$target/release/assay
[ -x "$assay" ] || assay=$target/debug/assay
[ -x "$assay" ] || assay=$(command -v assay || echo "$assay")
command=()
while [ $# -gt 0 ]; do
  case "$1" in
    --luns | --size | --disk | --memory | --time | --out | --assay | --script)
      [ $# -ge 2 ] || usage
      case "$1" in
        --luns) luns=$2 ;; --size) size=$2 ;; --disk) disk=$2 ;; --memory) memory=$2 ;; --time) limit=$2 ;;
        --out) out=$2 ;; --assay) assay=$2 ;; --script) script=$(realpath "$2") ;;
      esac
      shift 2 ;;
    --) shift; command=("$@"); break ;;
    -*) usage ;;
    *) study=$(realpath "$1"); shift; break ;;
  esac
done
case "$luns" in *[!0-9]* | '') usage ;; esac
[ "$luns" -le 14 ] || { echo "a guest has at most 14 LUNs" >&2; exit 2; }
[ -n "$study$script${command[*]:-}" ] || usage
if [ -n "$study" ] && ! [ -x "$assay" ]; then
  echo "there is no program $assay: build it (cargo build --release), or name one (--assay PATH)" >&2
  exit 3
fi

# Where Debian puts administration tools, which an ordinary user's path leaves out.
export PATH="$PATH:/usr/sbin:/sbin"
missing=()
command -v linux.uml >/dev/null || missing+=(user-mode-linux)
command -v lvm >/dev/null || missing+=(lvm2)
command -v mdadm >/dev/null || missing+=(mdadm)
command -v thin_check >/dev/null || missing+=(thin-provisioning-tools)
command -v modprobe >/dev/null || missing+=(kmod)
if [ ${#missing[@]} -ne 0 ]; then
  echo "the guest needs packages that are not here; as root: apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 3
fi

own=$(mktemp -d "${TMPDIR:-/var/tmp}/assay-guest.XXXXXX")
guest=
end() {
  # A second signal, such as `timeout` sends, must not end this half-way.
  trap '' HUP INT QUIT TERM
  # A signal may come before `guest` is set.
  local said group=${guest:-${!:-}}
  # The guest's kernel begins a session of its own, and says where.
  for said in "$own"/uml/*/pid; do
    [ ! -s "$said" ] || kill -KILL -- "-$(cat "$said")" 2>/dev/null || true
  done
  [ -z "$group" ] || kill -KILL -- "-$group" 2>/dev/null || true
  rm -rf "$own"
}
trap end EXIT
trap 'exit 130' HUP INT QUIT TERM
mkdir -p "$out" "$own/out" "$own/uml"
out=$(realpath "$out")
if [ -n "$study" ]; then
  result=$out/$(basename "${study%.toml}").assay
  # As on a host: a result file is never replaced.
  case " $* " in
    *' --output '*) ;;
    *)
      if [ -e "$result" ]; then
        echo "$result is there already: move it away, or name another directory (--out)" >&2
        exit 2
      fi ;;
  esac
fi

# What the guest does, as words that no shell splits again. Of this directory alone it sees `out`, wherever that is.
{
  [ -x "$assay" ] && printf 'assay=%q\n' "$(realpath "$assay")"
  if [ -n "$script" ]; then
    printf 'work=(/bin/bash %q)\n' "$script"
  elif [ -n "$study" ]; then
    printf 'cp %q /lab/\nstudy=%q\nwork=(assay run --yes %q' "$study" "$(basename "$study")" "$(basename "$study")"
    for word in "$@"; do printf ' %q' "$word"; done
    printf ')\n'
  else
    printf 'work=('; printf '%q ' "${command[@]}"; printf ')\n'
  fi
} >"$own/out/.work"

disks=(ubda="$own/lab")
truncate -s "$disk" "$own/lab"
for nth in $(seq 1 "$luns"); do
  truncate -s "$size" "$own/lun$nth"
  disks+=("ubd$(printf "\\x$(printf %x $((97 + nth)))")=$own/lun$nth")
done

# A guest's kernel and its programs are processes here that take turns: on one processor, none has to wake another. A
# guest takes a processor that no other guest has, where there is one; its lock is on the kernel's own directory.
pinned=()
may_use() { [[ $(taskset -cp $$) =~ :\ *([0-9,-]+)$ ]] && echo "${BASH_REMATCH[1]//,/ }"; }
for range in $(command -v taskset flock >/dev/null && may_use); do
  for cpu in $(seq "${range%-*}" "${range#*-}"); do
    place=/sys/devices/system/cpu/cpu$cpu
    [ ${#pinned[@]} -eq 0 ] && [ -r "$place" ] || continue
    exec {lock}<"$place"
    if flock -n "$lock"; then pinned=(taskset -c "$cpu"); else exec {lock}<&-; fi
  done
done

# The guest's memory is a file that must be executable: /dev/shm, where it is.
memory_dir=/dev/shm
findmnt -no OPTIONS -T "$memory_dir" 2>/dev/null | grep -qw noexec && memory_dir=$own
# A group of its own, so that all its processes can be ended at once. What the work says goes to our standard output,
# the boot's words are kept apart.
set -m
TMPDIR=$memory_dir timeout -k 5 "$limit" "${pinned[@]}" linux.uml mem="$memory" root=none rootfstype=hostfs \
  rootflags=/ ro init="$here/init.sh" OWN="$own" TIME="$(date +%s)" "${disks[@]}" con0=null,fd:4 con1=null,fd:3 \
  con=null loglevel=1 quiet uml_dir="$own/uml" 3>&1 4>"$own/console" >"$own/boot" 2>&1 </dev/null &
guest=$!
set +m
ended=0
wait "$guest" || ended=$?
if [ -e "$own/out/.exit" ]; then
  code=$(cat "$own/out/.exit"); rm "$own/out/.exit"
  cp -a "$own/out/." "$out/"
  exit "$code"
fi
if [ "$ended" = 124 ] || [ "$ended" = 137 ]; then
  echo "the guest was ended after $limit s: give it more (--time)" >&2
  exit 124
fi
echo "the guest ended without a word (status $ended); its boot said:" >&2
tail -n 20 "$own/boot" "$own/console" >&2
# Its kernel restores a program's registers from a buffer that those of AMX do not fit into.
if grep -qw amx_tile /proc/cpuinfo && grep -q put_fp_registers "$own/boot" "$own/console"; then
  echo "this host's processor has AMX, and this User-mode Linux can't start a program on it: use another host" >&2
  exit 75
fi
exit 3
