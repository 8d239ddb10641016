//! zfs-fuse as a process of one stack: started, waited for, ended.
//!
//! Its socket, lock and pool cache have fixed places in the system's directories, and its counters one in the system's
//! root, so it gets a mount namespace of its own in which those directories and the root are memory: two daemons never
//! meet, and nothing of one is left on the machine. It works in the stack's directory, by which it is known. Prevents:
//! a daemon that outlives its run, a host's configuration that changes a study, and a second ZFS's pool cache under the
//! first one's name.

use super::commands::Commands;
use super::ways::Programs;
use crate::error::StackError;
use crate::host::namespace::LET_GO;
use crate::host::process::{self, Who};
use crate::run::Run;
use crate::tool::{Tool, argument};
use plan::Zfs;
use rustix::fs::OFlags;
use rustix::process::Signal;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WHO: Who<'_> = Who::ZfsFuse;
/// Longest wait for its first answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What it writes, in its directory.
const WORDS: &str = "zfs-fuse.log";
/// How much of that is quoted.
const QUOTED_LINES: usize = 4;

/// In the new namespace: lets go of the mounts of others; hides the directories where the daemon keeps its state and
/// its configuration, but not what lies in them of ours; then makes a root in memory, with everything of the system's
/// root in it but the counters of another daemon, and goes on there. Arguments: the script that goes on, its directory,
/// the directory of programs and libraries, the command.
///
/// The new root is unbindable, or it would be bound into itself; it is moved over the old one, which can be done where
/// that is the kernel's first root too, and `pivot_root` not. What can't be looked at, as the mount of a file system
/// whose server has gone, is left out.
const SCRIPT: &str = r#"
set -eu
PATH=$PATH:/usr/sbin:/sbin
onwards=$1 dir=$2 programs=$3
shift 3
exec 8<"$dir" 9<"$programs"
let_go "$dir" "$programs"
back() {
  case "$2/" in "$1"/*) mkdir -p "$2"; mount --no-canonicalize --rbind "/proc/self/fd/$3" "$2" ;; esac
}
hide() {
  mount -t tmpfs -o mode=0755,size=4m assay "$1"
  back "$1" "$dir" 8
  back "$1" "$programs" 9
}
for path in /var/run /var/lib /var/lock; do
  real=$(readlink -m "$path")
  if [ -d "$real" ]; then hide "$real"; fi
  mkdir -p "$real/zfs"
done
if [ -d /etc/zfs ]; then hide "$(readlink -m /etc/zfs)"; fi
exec 8<&- 9<&-
root=$(readlink -m /var/run/assay-root)
mkdir "$root"
mount -t tmpfs -o mode=0755,size=4m assay "$root"
mount --make-unbindable "$root"
for path in /* /.[!.]* /..?*; do
  if [ "$path" = /zfs-kstat ]; then continue
  elif [ -L "$path" ]; then ln -s "$(readlink "$path")" "$root$path"
  elif [ -d "$path" ]; then mkdir "$root$path"; mount --rbind "$path" "$root$path"
  elif [ -e "$path" ]; then : >"$root$path"; mount --bind "$path" "$root$path"
  fi
done
cd "$root"
mount --move "$root" /
exec chroot . sh -c "$onwards" start-zfs-fuse "$dir" "$@"
"#;

/// Starts the command in its directory. Arguments: the directory, the command.
const ONWARDS: &str = r#"
set -eu
cd "$1"
shift
"$@" </dev/null >zfs-fuse.log 2>&1 &
"#;

/// What the daemon is started with.
pub(crate) fn arguments(zfs: &Zfs) -> Vec<String> {
    let arc_mib = (zfs.arc_max.0 >> 20).to_string();
    let mut args = ["--no-daemon", "--max-arc-size", &arc_mib].map(str::to_owned).to_vec();
    // As in the configuration that Debian ships: the kernel checks permissions, and remembers names and attributes.
    let fuse = ["-o", "default_permissions", "-a", "3600", "-e", "3600"];
    args.extend(fuse.map(str::to_owned));
    if !zfs.prefetch {
        args.push("--zfs-prefetch-disable".to_owned());
    }
    args
}

/// Starts the daemon in its directory and waits until it answers.
pub(crate) fn start(programs: &Programs, dir: &Path, zfs: &Zfs, run: Option<&Run>) -> Result<Commands, StackError> {
    let daemon = programs.daemon.as_deref().unwrap_or(Path::new("zfs-fuse"));
    let mut args: Vec<String> = [
        "--mount",
        "--propagation",
        "private",
        "--",
        "sh",
        "-c",
        &format!("{LET_GO}{SCRIPT}"),
        "start-zfs-fuse",
        ONWARDS,
    ]
    .map(str::to_owned)
    .to_vec();
    args.extend([argument(dir), argument(&programs.root), argument(daemon)]);
    args.extend(arguments(zfs));
    let starting = Tool::new("unshare", args, PATIENCE)
        .with_libraries(&programs.libraries)
        .mounting();
    let shown = format!("{} {}", daemon.display(), arguments(zfs).join(" "));
    starting.shown_as(&shown).run(run)?;
    let begin = Instant::now();
    loop {
        let namespace = namespace(dir);
        let is_seen = namespace.is_some();
        let answered = namespace.map(|namespace| {
            let commands = Commands::of_daemon(programs.clone(), namespace);
            commands.answers().map(|()| commands)
        });
        let silent = match answered {
            Some(Ok(commands)) => return Ok(commands),
            Some(Err(error)) => error.to_string(),
            None => "it has ended".to_owned(),
        };
        // It takes a moment to be seen as what it is.
        let late = if is_seen { PATIENCE } else { PATIENCE / 10 };
        if begin.elapsed() > late {
            let said = last_words(dir).unwrap_or(silent);
            return Err(StackError::Tool {
                command: shown,
                status: "no answer".to_owned(),
                exited: false,
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

/// The mount namespace of the daemon that works in this directory.
pub(crate) fn namespace(dir: &Path) -> Option<Arc<OwnedFd>> {
    let held = process::held_in(dir, WHO).into_iter().next()?;
    held.open("ns/mnt", OFlags::RDONLY).ok().map(Arc::new)
}

/// The last lines it wrote.
pub(crate) fn last_words(dir: &Path) -> Option<String> {
    let text = std::fs::read(dir.join(WORDS)).ok()?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("; ");
    (!last.is_empty()).then_some(last)
}

/// Ends it at once: what it had not written is lost, as the pool is. The kernel then fails what waited for it. Nobody
/// there: fine.
pub(crate) fn kill(dir: &Path) -> io::Result<()> {
    let there = process::working_in(dir, WHO);
    process::end_all_in(dir, WHO, &[(Duration::ZERO, Signal::KILL)])?;
    // Its directory is gone before its last transfers are.
    process::wait_until_over(&there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use crate::zfs::commands::PoolPlan;
    use crate::zfs::commands::tests::plain;
    use crate::zfs::ways;
    use plan::Vdevs;
    use std::fs::File;
    use std::path::PathBuf;

    /// A daemon in a directory of its own; ended when dropped.
    struct Alone {
        commands: Commands,
        dir: PathBuf,
        _made: tempfile::TempDir,
    }

    impl Alone {
        /// `None` where there is no zfs-fuse, which the tests of the whole stack say aloud.
        fn start() -> Option<Alone> {
            let programs = match ways::fuse_programs() {
                Ok(programs) => programs,
                Err((why, cure)) => {
                    let asked = std::env::var_os("ASSAY_TEST_ZFS_FUSE").is_some() && crate::is_root();
                    assert!(!asked, "zfs-fuse is unpacked: {why}\n{cure}");
                    return None;
                }
            };
            let made = tempfile::tempdir_in("/var/tmp").expect("a directory");
            let dir = made.path().canonicalize().expect("its path");
            let commands = start(&programs, &dir, &plain(), None).expect("started");
            Some(Alone {
                commands,
                dir,
                _made: made,
            })
        }

        /// A pool of this name on a file of this name, made if it is missing.
        fn create(&self, name: &str, file: &str) -> Result<(), StackError> {
            let path = self.dir.join(file);
            if !path.exists() {
                File::create(&path).expect("made").set_len(128 << 20).expect("sized");
            }
            let pool = PoolPlan {
                name: name.to_owned(),
                data: vec![path],
                log: Vec::new(),
                vdevs: Vdevs::Stripe,
            };
            let journal = Journal::create(&self.dir.join("state"), name).expect("a journal");
            self.commands.create(&pool, &plain(), journal.run())
        }
    }

    impl Drop for Alone {
        fn drop(&mut self) {
            let _ = kill(&self.dir);
        }
    }

    #[test]
    fn its_root_is_the_systems_with_its_counters_and_the_systems_has_none() {
        let before = Path::new("/zfs-kstat").exists();
        let Some(alone) = Alone::start() else { return };
        alone.create("assay-one", "a.lun").expect("a pool");
        let counted = alone.commands.arc().expect("counters");
        assert_eq!(counted.max_bytes, plain().arc_max.0);
        assert_eq!(
            Path::new("/zfs-kstat").exists(),
            before,
            "the counters are in the system's root"
        );
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("read");
        assert!(
            !mounts.contains("/assay-root"),
            "the root in memory is mounted in the system's namespace"
        );
        let pid = running(&alone.dir).expect("it runs");
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        for entry in std::fs::read_dir("/").expect("listed").flatten() {
            let inside = root.join(entry.file_name());
            assert!(
                inside.symlink_metadata().is_ok(),
                "{:?} is not there",
                entry.file_name()
            );
        }
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        assert!(below("/proc/self").exists() && below(&argument(&alone.dir.join("a.lun"))).exists());
        // A system without such a directory has none there either.
        let seen = std::fs::read_dir(below("/etc/zfs")).into_iter().flatten().flatten();
        assert_eq!(seen.count(), 0, "the system's configuration is seen");
        kill(&alone.dir).expect("it ends");
        assert_eq!(running(&alone.dir), None);
    }

    #[test]
    fn a_pool_of_a_name_that_is_there_and_devices_of_another_are_refused_with_a_cure() {
        let Some(alone) = Alone::start() else { return };
        alone.create("assay-one", "a.lun").expect("a pool");
        let said = |made: Result<(), StackError>| made.expect_err("refused").to_string();
        let twice = said(alone.create("assay-one", "b.lun"));
        assert!(
            twice.contains("pool already exists") && twice.ends_with("`assay clean`"),
            "{twice}"
        );
        let foreign = said(alone.create("assay-two", "a.lun"));
        assert!(
            foreign.contains("is part of") && foreign.contains("name other LUNs"),
            "{foreign}"
        );
        let is_there = |pool| alone.commands.is_imported(pool).expect("the daemon answers");
        assert!(is_there("assay-one") && !is_there("assay-two"));
    }

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
