//! Processes known by more than their number: a number is used again, a number with its start time is not; and
//! processes that a run started, known by the directory that they work in and by what they are.
//!
//! Prevents: a signal to somebody's shell, which happens to be in the directory; and a stranger's process that is taken
//! for ours because it calls itself so.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, openat, readlinkat, statx};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whether this process is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Longest wait for processes to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// Start time of a process in clock ticks since boot (`/proc/<pid>/stat`, field 22), or `None` when there is none. One
/// that ended counts as none, also while nobody has waited for it.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    start_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn start_in(stat: &str) -> Option<u64> {
    // The name in parentheses may hold spaces and parentheses of its own; fields are counted after the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_over = matches!(fields.next()?, "Z" | "X");
    fields.nth(18)?.parse().ok().filter(|_| !is_over)
}

/// Whether that very process runs.
pub(crate) fn is_alive(pid: u32, started: u64) -> bool {
    start_of(pid) == Some(started)
}

/// Processes that have a file as their standard input, as a tool has its run's journal: number and name.
pub(crate) fn holders_of(file: &Path) -> Vec<String> {
    let wanted = identity(CWD, file);
    let above = file.parent().unwrap_or(file);
    let holds = |held: &Held| {
        // A stranger's file may lie on a file system that does not answer. One made without a name never shows its own.
        let shown = readlinkat(&held.dir, "fd/0", Vec::new());
        let is_near = shown.is_ok_and(|path| Path::new(OsStr::from_bytes(path.to_bytes())).starts_with(above));
        is_near && wanted.is_some() && identity(held.dir.as_fd(), Path::new("fd/0")) == wanted
    };
    let found = all().filter(holds);
    found
        .map(|held| {
            let name = held.read("comm").unwrap_or_default();
            format!(
                "{} ({})",
                held.pid,
                String::from_utf8_lossy(&name).trim().escape_debug()
            )
        })
        .collect()
}

/// Which file it is, as far as that is known without waiting for it.
fn identity(from: BorrowedFd<'_>, path: &Path) -> Option<(u32, u32, u64)> {
    let flags = AtFlags::STATX_DONT_SYNC;
    let found = statx(from, path, flags, StatxFlags::INO | StatxFlags::TYPE).ok()?;
    Some((found.stx_dev_major, found.stx_dev_minor, found.stx_ino))
}

/// All processes there are.
fn all() -> impl Iterator<Item = Held> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(Held::of)
}

/// What a process is, beside where it works.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who<'a> {
    /// One of a PostgreSQL server, by its program.
    Postgres,
    /// The daemon of ZFS through FUSE, by its program.
    ZfsFuse,
    /// nfs-ganesha, by its program.
    Ganesha,
    /// The mount daemon of the kernel's NFS server, by its program.
    MountDaemon,
    /// One of both, or the port mapper that it was started with.
    FileServer,
    /// Assay itself, started by itself for this service: the first argument.
    Ours(&'a str),
}

impl Who<'_> {
    fn is(self, held: &Held) -> bool {
        match self {
            // It has a user of its own. Its directory is that user's alone.
            Who::Postgres => held.runs("postgres"),
            Who::ZfsFuse => held.is_our_users() && held.runs("zfs-fuse"),
            Who::Ganesha => held.is_our_users() && held.runs("ganesha.nfsd"),
            Who::MountDaemon => held.is_our_users() && held.runs("rpc.mountd"),
            // The port mapper gives its rights up, and gets nothing but signals.
            Who::FileServer => [Who::Ganesha, Who::MountDaemon].iter().any(|who| who.is(held)) || held.runs("rpcbind"),
            Who::Ours(service) => {
                let line = held.read("cmdline");
                let first = line.as_deref().and_then(|line| line.split(|byte| *byte == 0).nth(1));
                held.is_our_users() && first == Some(service.as_bytes())
            }
        }
    }
}

/// A process held by its directory in /proc: what is read through it is of that process, or there is nothing to read.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) pid: u32,
    dir: OwnedFd,
}

impl Held {
    pub(crate) fn of(pid: u32) -> Option<Held> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, format!("/proc/{pid}"), flags, Mode::empty()).ok()?;
        Some(Held { pid, dir })
    }

    pub(crate) fn open(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(openat(&self.dir, name, flags | OFlags::CLOEXEC, Mode::empty())?)
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let mut file = File::from(self.open(name, OFlags::RDONLY).ok()?);
        file.read_to_end(&mut content).ok()?;
        Some(content)
    }

    /// Whether it runs a program of this name.
    fn runs(&self, program: &str) -> bool {
        let exe = readlinkat(&self.dir, "exe", Vec::new());
        exe.is_ok_and(|exe| {
            let name = exe.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            // A program that was replaced meanwhile, by an upgrade say, is shown so.
            name.strip_suffix(b" (deleted)").unwrap_or(name) == program.as_bytes()
        })
    }

    /// Whether all its users are ours: any user may start a program of any name in a directory that he can enter. Users
    /// of another user namespace are shown as who they are here.
    fn is_our_users(&self) -> bool {
        let status = self.read("status").unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let ours = rustix::process::geteuid().as_raw().to_string();
        users.is_some_and(|users| {
            let users: Vec<&str> = users.split_whitespace().collect();
            users.len() == 4 && users.iter().all(|user| *user == ours)
        })
    }

    /// What it is comes first: a stranger's directory may lie on a file system that does not answer.
    fn is_in(&self, dir: &Path, who: Who<'_>) -> bool {
        who.is(self) && self.works_in(dir)
    }

    /// Whether it works in this directory. By identity: in another mount namespace a path may be another one, in a
    /// chroot for example.
    pub(crate) fn works_in(&self, dir: &Path) -> bool {
        let wanted = identity(CWD, dir);
        wanted.is_some() && identity(self.dir.as_fd(), Path::new("cwd")) == wanted
    }
}

/// Such processes whose working directory is this one, as far as they may be looked at. One that has ended and that
/// nobody has waited for has none.
pub(crate) fn held_in(dir: &Path, who: Who<'_>) -> Vec<Held> {
    all().filter(|held| held.is_in(dir, who)).collect()
}

/// Their numbers.
pub(crate) fn working_in(dir: &Path, who: Who<'_>) -> Vec<u32> {
    held_in(dir, who).into_iter().map(|held| held.pid).collect()
}

/// Signals all such processes.
pub(crate) fn signal_all_in(dir: &Path, who: Who<'_>, signal: Signal) {
    for held in held_in(dir, who) {
        let Some(pid) = i32::try_from(held.pid).ok().and_then(Pid::from_raw) else {
            continue;
        };
        // Held first and looked at again: what has the number now is what gets the signal.
        if let Ok(receiver) = pidfd_open(pid, PidfdFlags::empty())
            && held.is_in(dir, who)
        {
            // One that is gone meanwhile is none of ours any more.
            let _ = pidfd_send_signal(receiver, signal);
        }
    }
}

/// Waits until no such process is left; each signal is sent, again and again, from its time on until the next one's.
pub(crate) fn end_all_in(dir: &Path, who: Who<'_>, signals: &[(Duration, Signal)]) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        let left = working_in(dir, who);
        if left.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            let why = format!("processes {left:?} still work there");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        if let Some((_, signal)) = signals.iter().rev().find(|(from, _)| begin.elapsed() >= *from) {
            signal_all_in(dir, who, *signal);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until of these processes, which are ending, no thread is left that could still write. One that nobody has
/// waited for may stay.
pub(crate) fn wait_until_over(pids: &[u32]) -> io::Result<()> {
    let begin = Instant::now();
    let is_over = |pid: &&u32| {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .count();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().next());
        threads == 0 || threads == 1 && state.is_none_or(|state| state == "Z" || state == "X")
    };
    while !pids.iter().all(|pid| is_over(&pid)) {
        if begin.elapsed() > PATIENCE {
            let why = format!("processes {pids:?} do not end");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Processes for the tests of this room.
#[cfg(test)]
pub(crate) mod stand_ins {
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    /// Sleeps in the directory: a stranger.
    pub(crate) fn stranger(dir: &Path) -> Child {
        let spawned = Command::new("sleep").arg("60").current_dir(dir).spawn();
        spawned.expect("a child")
    }

    /// Sleeps in the directory under the name of the server's program.
    pub(crate) fn postgres(dir: &Path, programs: &Path) -> Child {
        let program = programs.join("postgres");
        std::fs::copy("/bin/sleep", &program).expect("a copy");
        let mut command = Command::new(&program);
        loop {
            match command.arg("60").current_dir(dir).spawn() {
                // Another thread of the tests was starting a process while the copy was open for writing.
                Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(5));
                    command = Command::new(&program);
                }
                spawned => return spawned.expect("a child"),
            }
        }
    }

    /// Waits in the directory with this word for its first argument, and starts no process that would bear it too.
    pub(crate) fn ours(dir: &Path, service: &str) -> Child {
        std::fs::write(dir.join(service), "read never\n").expect("a script");
        let mut command = Command::new("sh");
        command.arg(service).current_dir(dir).stdin(Stdio::piped());
        command.spawn().expect("a child")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::undo::Undo;

    #[test]
    fn this_process_is_alive_and_another_start_time_is_another_process() {
        let pid = std::process::id();
        let started = start_of(pid).expect("a start time");
        assert!(is_alive(pid, started));
        assert!(!is_alive(pid, started + 1));
        assert!(start_of(u32::MAX).is_none());
    }

    #[test]
    fn a_server_in_its_directory_is_stopped_and_a_stranger_there_is_let_live() {
        let dir = tempfile::tempdir().expect("a directory");
        let programs = tempfile::tempdir().expect("a directory");
        let path = std::fs::canonicalize(dir.path()).expect("its path");
        let undo = Undo::StopServer { data: path.clone() };
        undo.take("none", None).expect("nobody there is fine");
        let mut stranger = stand_ins::stranger(&path);
        let mut server = stand_ins::postgres(&path, programs.path());
        assert_eq!(working_in(&path, Who::Postgres), [server.id()]);
        undo.take("none", None).expect("it ends");
        let status = server.wait().expect("its end");
        assert!(!status.success() && working_in(&path, Who::Postgres).is_empty());
        assert!(stranger.try_wait().expect("a look").is_none(), "a stranger was killed");
        stranger.kill().expect("it ends");
        stranger.wait().expect("its end");
    }

    #[test]
    fn another_users_process_of_the_name_and_place_of_ours_is_a_strangers() {
        use std::os::unix::process::CommandExt;
        if !is_root() {
            assert!(std::env::var_os("CI").is_none(), "this test needs root");
            return;
        }
        // Where another user may go, and with programs that he may run.
        let made = tempfile::tempdir().expect("a directory");
        std::fs::set_permissions(made.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its mode");
        let dir = std::fs::canonicalize(made.path()).expect("its path");
        let program = dir.join("zfs-fuse");
        std::fs::copy("/bin/sleep", &program).expect("a copy");
        let started = |user: u32| loop {
            let mut command = std::process::Command::new(&program);
            match command.arg("60").current_dir(&dir).uid(user).spawn() {
                Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                spawned => break spawned.expect("a child"),
            }
        };
        let (mut theirs, mut ours) = (started(12345), started(0));
        let found = working_in(&dir, Who::ZfsFuse);
        let named = Held::of(theirs.id()).is_some_and(|held| held.runs("zfs-fuse") && held.works_in(&dir));
        for child in [&mut theirs, &mut ours] {
            child.kill().expect("it ends");
            child.wait().expect("its end");
        }
        assert!(named, "the other's was not there");
        assert_eq!(found, [ours.id()]);
    }

    #[test]
    fn a_service_of_ours_may_end_by_itself_and_is_ended_when_it_does_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = std::fs::canonicalize(dir.path()).expect("its path");
        let mut stranger = stand_ins::stranger(&path);
        let mut service = stand_ins::ours(&path, "serve-nothing");
        let who = Who::Ours("serve-nothing");
        while working_in(&path, who).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let first = (Duration::from_millis(200), Signal::KILL);
        let began = Instant::now();
        end_all_in(&path, who, &[first]).expect("it ends");
        assert!(began.elapsed() >= first.0, "it had no time of its own");
        assert!(!service.wait().expect("its end").success());
        assert!(stranger.try_wait().expect("a look").is_none(), "a stranger was killed");
        stranger.kill().expect("it ends");
        stranger.wait().expect("its end");
    }
}
