//! zfs-fuse as a process of one stack: started, waited for, ended.
//!
//! Its socket, lock and pool cache have fixed places in the system's directories, so it gets a mount namespace of its own in which those
//! directories are memory: two daemons never meet, and nothing of one is left on the machine. It works in the stack's directory, by which
//! it is known. Prevents: a daemon that outlives its run, a host's configuration that changes a study, and a second ZFS's pool cache
//! under the first one's name.

use super::commands::Commands;
use super::ways::Programs;
use crate::error::StackError;
use crate::process::{self, Who};
use crate::tool::{Tool, argument};
use plan::Zfs;
use rustix::process::Signal;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

const WHO: Who<'_> = Who::ZfsFuse;
/// Longest wait for its first answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What it writes, in its directory.
const WORDS: &str = "zfs-fuse.log";
/// How much of that is quoted.
const QUOTED_LINES: usize = 4;

/// In the new namespace: hides the directories where the daemon keeps its state and its configuration, but not what lies in them of ours,
/// and starts it. Arguments: its directory, the directory of programs and libraries, the command.
const SCRIPT: &str = r#"
set -eu
dir=$1 programs=$2
shift 2
exec 8<"$dir" 9<"$programs"
back() {
  case "$2/" in "$1"/*) mkdir -p "$2"; mount --no-canonicalize --rbind "/proc/self/fd/$3" "$2" ;; esac
}
hide() {
  mount -t tmpfs -o mode=0755,size=4m assay "$1"
  back "$1" "$dir" 8
  back "$1" "$programs" 9
}
for path in /var/run /var/lib /var/lock /etc/zfs; do
  real=$(readlink -m "$path")
  if [ -d "$real" ]; then hide "$real"; else mkdir -p "$real"; fi
done
mkdir -p /var/run/zfs /var/lock/zfs /var/lib/zfs
cd "$dir"
"$@" </dev/null >"$dir/zfs-fuse.log" 2>&1 8<&- 9<&- &
"#;

/// What the daemon is started with.
pub(crate) fn arguments(zfs: &Zfs) -> Vec<String> {
    let arc_mib = (zfs.arc_max.0 >> 20).to_string();
    let mut args = ["--no-daemon", "--no-kstat-mount", "--max-arc-size", &arc_mib]
        .map(str::to_owned)
        .to_vec();
    // As in the configuration that Debian ships: the kernel checks permissions, and remembers names and attributes.
    let fuse = ["-o", "default_permissions", "-a", "3600", "-e", "3600"];
    args.extend(fuse.map(str::to_owned));
    if !zfs.prefetch {
        args.push("--zfs-prefetch-disable".to_owned());
    }
    args
}

/// Starts the daemon in its directory and waits until it answers.
pub(crate) fn start(programs: &Programs, dir: &Path, zfs: &Zfs, lock: Option<&File>) -> Result<Commands, StackError> {
    let daemon = programs.daemon.as_deref().unwrap_or(Path::new("zfs-fuse"));
    let mut args: Vec<String> = [
        "--mount",
        "--propagation",
        "private",
        "--",
        "sh",
        "-c",
        SCRIPT,
        "start-zfs-fuse",
    ]
    .map(str::to_owned)
    .to_vec();
    args.extend([argument(dir), argument(&programs.root), argument(daemon)]);
    args.extend(arguments(zfs));
    let starting = Tool::new("unshare", args, PATIENCE).with_libraries(&programs.libraries);
    let shown = format!("{} {}", daemon.display(), arguments(zfs).join(" "));
    starting.shown_as(&shown).run(lock)?;
    let begin = Instant::now();
    loop {
        let pid = running(dir);
        let answered = pid.map(|pid| {
            let commands = Commands::of_daemon(programs.clone(), pid);
            commands.answers().map(|()| commands)
        });
        let silent = match answered {
            Some(Ok(commands)) => return Ok(commands),
            Some(Err(error)) => error.to_string(),
            None => "it has ended".to_owned(),
        };
        // It takes a moment to be seen as what it is.
        let late = if pid.is_none() { PATIENCE / 10 } else { PATIENCE };
        if begin.elapsed() > late {
            let said = last_words(dir).unwrap_or(silent);
            return Err(StackError::Tool {
                command: shown,
                status: "no answer".to_owned(),
                said,
                cure: "start it by hand to see more; look into the kernel log (dmesg) and for its libraries (ldd)"
                    .to_owned(),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The daemon that works in this directory.
pub(crate) fn running(dir: &Path) -> Option<u32> {
    process::working_in(dir, WHO).first().copied()
}

/// The last lines it wrote.
pub(crate) fn last_words(dir: &Path) -> Option<String> {
    let text = std::fs::read(dir.join(WORDS)).ok()?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("; ");
    (!last.is_empty()).then_some(last)
}

/// Ends it at once: what it had not written is lost, as the pool is. The kernel then fails what waited for it. Nobody there: fine.
pub(crate) fn kill(dir: &Path) -> io::Result<()> {
    let there = process::working_in(dir, WHO);
    process::end_all_in(dir, WHO, &[(Duration::ZERO, Signal::KILL)])?;
    // Its directory is gone before its last transfers are.
    process::wait_until_over(&there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfs::commands::tests::plain;

    #[test]
    fn the_daemon_is_told_its_cache_and_nothing_is_left_to_a_file() {
        let line = arguments(&plain()).join(" ");
        assert!(
            line.contains("--max-arc-size 64") && line.contains("--no-daemon"),
            "{line}"
        );
        assert!(!line.contains("prefetch"), "{line}");
        let without = Zfs {
            prefetch: false,
            ..plain()
        };
        assert!(arguments(&without).contains(&"--zfs-prefetch-disable".to_owned()));
    }
}
