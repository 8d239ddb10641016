//! What starts a server of files in its new namespaces, in the words of the shell.
//!
//! Each server has its own end after a beginning that all share. Prevents: mounts of others that stay mounted as long
//! as a server lives, a port mapper that the host sees, and a host's configuration that changes a study.

use crate::host::namespace::LET_GO;

/// Lets go of the mounts of others; raises `lo`; hides /run; starts the port mapper. Arguments: the server's directory,
/// the export, the port mapper's program; the rest is for the end.
///
/// What lies in /run of ours is bound back. All are in sessions of their own: Ctrl-C is for the run, which still needs
/// them to take its files away.
const BEGINNING: &str = r#"
set -eu
PATH=$PATH:/usr/sbin:/sbin
dir=$1 export=$2 mapper=$3
shift 3
exec 8<"$dir" 9<"$export"
let_go "$dir" "$export"
ip link set lo up
run=$(readlink -m /run)
back() {
  case "$2/" in "$1"/*) mkdir -p "$2"; mount --no-canonicalize --rbind "/proc/self/fd/$3" "$2" ;; esac
}
mkdir -p "$run"
mount -t tmpfs -o mode=0755,size=4m assay "$run"
back "$run" "$dir" 8
back "$run" "$export" 9
exec 8<&- 9<&-
mkdir -p "$run/rpcbind"
cd "$dir"
setsid "$mapper" -f </dev/null >started.log 2>&1 &
tries=0
until [ -S "$run/rpcbind.sock" ]; do
  tries=$((tries + 1))
  if [ "$tries" -gt 500 ]; then echo "the port mapper does not answer" >&2; cat started.log >&2; exit 1; fi
  sleep 0.02
done
"#;

/// Starts nfs-ganesha. Arguments: its program, the epoch, the configuration, the log.
const GANESHA: &str = r#"
setsid "$1" -F -f "$3" -L "$4" -p "$dir/ganesha.pid" -E "$2" </dev/null >>started.log 2>&1 &
"#;

/// Starts the kernel's server in this network, and the daemon that says what it exports. Arguments: the programs
/// exportfs, rpc.mountd and rpc.nfsd, both ports, the number of threads, the options of the export, the name under
/// which the kernel's file system of settings is mounted.
///
/// The tools keep their state in the server's directory, and see no settings of the host.
const KERNEL: &str = r#"
grep -qw nfsd /proc/filesystems || modprobe nfsd
mount -t nfsd "$8" /proc/fs/nfsd
: >etab
: >rmtab
: >nfs.conf
mount --no-canonicalize --bind "$dir" /var/lib/nfs
if [ -e /etc/nfs.conf ]; then mount --bind nfs.conf /etc/nfs.conf; fi
if [ -d /etc/nfs.conf.d ]; then mount -t tmpfs -o mode=0755,size=64k assay /etc/nfs.conf.d; fi
failed() { cat started.log >&2; exit 1; }
"$1" -i -o "$7" "127.0.0.1:$export" >>started.log 2>&1 || failed
setsid "$2" -F -s "$dir" -p "$5" </dev/null >>started.log 2>&1 &
"$3" -H 127.0.0.1 -p "$4" -U -N 4 -V 3 "$6" >>started.log 2>&1 || failed
"#;

/// The whole for nfs-ganesha.
pub(super) fn of_ganesha() -> String {
    format!("{LET_GO}{BEGINNING}{GANESHA}")
}

/// The whole for the kernel's server.
pub(super) fn of_kernel() -> String {
    format!("{LET_GO}{BEGINNING}{KERNEL}")
}
