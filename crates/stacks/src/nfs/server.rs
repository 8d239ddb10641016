//! nfs-ganesha on a directory of a stack: made once, started with a new epoch each time, killed.
//!
//! It gets network, mount, host name and message queues of its own, a /run in memory with a port mapper in it, and a
//! configuration that Assay writes. It works in the run's directory, by which it is known, and stays in the control
//! group of the run. Prevents: a server that comes back with the write verifier of the one before, which would hide
//! what was lost, and a host's configuration that changes a study.

use super::configuration::{self, MOUNT_PORT, NFS_PORT, Told};
use super::dialer::Dialer;
use super::{needs, processes};
use crate::built::own_name;
use crate::error::StackError;
use crate::journal::Journal;
use crate::tool::{Tool, argument};
use crate::undo::Undo;
use plan::Stack;
use rustix::fs::OFlags;
use sandbox::Directory;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for its first answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What it is told, in its directory.
const CONFIGURATION: &str = "ganesha.conf";
/// What it writes, in its directory.
const WORDS: &str = "ganesha.log";
/// What both processes write before they have a log.
const FIRST_WORDS: &str = "started.log";
/// How much of that is quoted.
const QUOTED_LINES: usize = 4;

/// In the new namespaces: lets go of the mounts of others, which would stay mounted as long as the server lives; raises
/// `lo`; hides /run; starts the port mapper and then the server. Arguments: the server's directory, the export, the
/// programs of port mapper and server, the epoch, the configuration, the log.
///
/// What lies in /run of ours is bound back. Mount points come escaped in octal. Both are in sessions of their own:
/// Ctrl-C is for the run, which still needs them to take its files away.
const SCRIPT: &str = r#"
set -eu
PATH=$PATH:/usr/sbin:/sbin
dir=$1 export=$2 mapper=$3 server=$4 epoch=$5 conf=$6 log=$7
exec 8<"$dir" 9<"$export"
mounts=$(cat /proc/self/mountinfo)
while read -r _ _ _ _ place _; do
  place=$(printf %b "$place")
  case "$place" in
    /|/usr|/usr/*|/lib*|/bin|/sbin|/etc|/etc/*|/proc|/proc/*|/sys|/sys/*|/run|/var|/tmp) continue ;;
    /dev|/dev/pts|/dev/shm|/dev/mqueue|/dev/hugepages) continue ;;
  esac
  case "$dir/" in "$place"/*) continue ;; esac
  case "$export/" in "$place"/*) continue ;; esac
  umount -c -l -n "$place" 2>/dev/null || true
done <<MOUNTS
$mounts
MOUNTS
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
setsid "$server" -F -f "$conf" -L "$log" -p "$dir/ganesha.pid" -E "$epoch" </dev/null >>started.log 2>&1 &
"#;

/// A server of a stack's files. It is stopped by the journal it was made with.
#[derive(Debug)]
pub struct Ganesha {
    export: PathBuf,
    dir: Directory,
    /// Of the last start, which its write verifiers follow. No number is used twice.
    epoch: u32,
    /// It comes back with the write verifier that it had: a planted loss.
    same_verifier: bool,
    /// Where it runs.
    running: Option<Dialer>,
}

impl Ganesha {
    /// Makes the directory of a server of `export`, which is a directory of the stack, and writes its configuration.
    /// The server is not started.
    ///
    /// # Errors
    /// A path that its configuration cannot name.
    pub fn make(
        (stack, threads): (&Stack, Option<u32>),
        export: &Path,
        work_dir: &Directory,
        journal: &mut Journal,
    ) -> Result<Ganesha, StackError> {
        let name = own_name(journal, stack, "-nfs");
        let told = Told {
            export,
            state: &work_dir.path().join(&name),
            threads,
        };
        let text = configuration::text(&told).ok_or_else(|| StackError::Unbuildable {
            stack: stack.name.clone(),
            why: format!("nfs-ganesha cannot be told the path {}", export.display()),
            cure: "name a directory without quotes, dollars, backslashes and control characters".to_owned(),
        })?;
        let dir = journal.make_directory(work_dir, &name, 0o700, true)?;
        journal.before(Undo::StopFileServer {
            dir: dir.path().to_owned(),
        })?;
        let path = dir.path().join(CONFIGURATION);
        let failed = |e: std::io::Error| StackError::path("write", &path, e, "free space there");
        let file = dir.create(CONFIGURATION, OFlags::WRONLY);
        let written = file.map_err(std::io::Error::from).map(File::from);
        written
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        let drawn =
            sandbox::random_number().map_err(|e| StackError::path("draw a number for", &path, e, "try again"))?;
        Ok(Ganesha {
            export: export.to_owned(),
            dir,
            // Below 2^30: it counts up from here, and the server reads a signed number.
            epoch: (drawn as u32 >> 2).max(1),
            same_verifier: stack.inject.same_verifier,
            running: None,
        })
    }

    /// Starts it with an epoch that it never had (unless the study plants that), and waits until it listens. It may
    /// take a moment longer to know its export.
    ///
    /// # Errors
    /// It ended, with its last words; no answer for a minute.
    pub fn start(&mut self, journal: &Journal) -> Result<(), StackError> {
        self.epoch += u32::from(!self.same_verifier);
        self.start_as(self.epoch, journal)
    }

    /// With this epoch, whatever it had before.
    fn start_as(&mut self, epoch: u32, journal: &Journal) -> Result<(), StackError> {
        self.dir.check()?;
        let found = |name: &str| {
            let missing = || StackError::MissingTool {
                tool: name.to_owned(),
                package: crate::tool::package_of(name).to_owned(),
            };
            sandbox::find_program(name)
                .map(|path| argument(&path))
                .ok_or_else(missing)
        };
        let (mapper, server) = (found("rpcbind")?, found("ganesha.nfsd")?);
        let shown = format!("ganesha.nfsd -F -f {CONFIGURATION} -E {epoch}");
        let namespaces = ["--net", "--mount", "--uts", "--ipc", "--propagation", "slave"];
        let script = ["--", "sh", "-c", SCRIPT, "start-file-server"];
        let mut args: Vec<String> = namespaces.into_iter().chain(script).map(str::to_owned).collect();
        let dir = self.dir.path();
        args.extend([argument(dir), argument(&self.export), mapper, server, epoch.to_string()]);
        args.extend([argument(&dir.join(CONFIGURATION)), argument(&dir.join(WORDS))]);
        let starting = Tool::new("unshare", args, PATIENCE).mounting().shown_as(&shown);
        starting.run(Some(journal.run()))?;
        let begin = Instant::now();
        loop {
            match self.answers() {
                Ok(dialer) => {
                    self.running = Some(dialer);
                    return Ok(());
                }
                // It takes a moment to be seen as what it is.
                Err(silent) if begin.elapsed() > PATIENCE || (silent.ended && begin.elapsed() > PATIENCE / 10) => {
                    return Err(StackError::Tool {
                        command: shown,
                        status: "no answer".to_owned(),
                        said: self.last_words().unwrap_or(silent.why),
                        cure: "start it by hand to see more; look into the kernel log (dmesg)".to_owned(),
                    });
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Whether it listens on both ports.
    fn answers(&self) -> Result<Dialer, Silent> {
        let pid = processes::serving(self.dir.path()).ok_or_else(|| Silent {
            ended: true,
            why: "it has ended".to_owned(),
        })?;
        let silent = |e: std::io::Error| Silent {
            ended: false,
            why: e.to_string(),
        };
        let dialer = Dialer::of(pid).map_err(silent)?;
        for port in [NFS_PORT, MOUNT_PORT] {
            dialer
                .dial(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
                .map_err(silent)?;
        }
        Ok(dialer)
    }

    /// Ends it without asking, and waits until it has: what it had not written is lost. Not running: fine.
    ///
    /// # Errors
    /// A process that stays.
    pub fn kill(&self) -> Result<(), StackError> {
        let dir = self.dir.path();
        processes::kill(dir).map_err(|e| StackError::path("end the NFS server in", dir, e, "run `assay clean`"))
    }

    /// Its process; `None`: it does not run.
    pub fn pid(&self) -> Option<u32> {
        processes::serving(self.dir.path())
    }

    /// Opens connections to it, as it was last started; `None`: it never was.
    pub fn dialer(&self) -> Option<Dialer> {
        self.running.clone()
    }

    /// Host, port of NFS, port of MOUNT, in its own network.
    pub fn address(&self) -> (Ipv4Addr, u16, u16) {
        (Ipv4Addr::LOCALHOST, NFS_PORT, MOUNT_PORT)
    }

    /// The directory that it serves, by the name that users mount.
    pub fn export(&self) -> &Path {
        &self.export
    }

    /// What it is, as it says itself.
    pub fn version(&self) -> String {
        needs::version()
    }

    /// The last lines that it wrote.
    pub fn last_words(&self) -> Option<String> {
        let said = |name: &str| {
            let text = std::fs::read(self.dir.path().join(name)).ok()?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let last = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("; ");
            (!last.is_empty()).then_some(last)
        };
        said(WORDS).or_else(|| said(FIRST_WORDS))
    }
}

/// A server without an answer.
struct Silent {
    /// It is not there (any more).
    ended: bool,
    why: String,
}
