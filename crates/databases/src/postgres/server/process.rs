//! The server as a child of ours: as an unprivileged user, in a process group of its own, and never outliving us.
//!
//! The kernel sends it SIGQUIT (PostgreSQL's immediate shutdown) when the thread that started it ends, whatever ended
//! it; so a thread of its own starts the server, waits for it and lives as long. Prevents: a server left behind by
//! `kill -9`, one that dies because some worker thread ended, and a crash that nobody notices.

use crate::postgres::error::PostgresError;
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use sandbox::{Directory, Reach, SandboxError};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, fchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

/// The kernel's score of a server's processes where memory runs out: 0 is usual, 1000 is ended first.
const SCORE: i32 = 500;

/// The user that a server runs as: PostgreSQL refuses to run as root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAs {
    /// Us.
    Ourselves,
    /// Another user; only root can.
    User {
        /// Name.
        name: String,
        /// Number of the user.
        uid: u32,
        /// Number of his group.
        gid: u32,
    },
}

impl RunAs {
    /// Us where we are an ordinary user; else `asked`, or `postgres` where there is such a user, or `nobody`.
    ///
    /// # Errors
    /// There is no such user.
    pub fn choose(asked: Option<&str>) -> Result<Self, PostgresError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(RunAs::Ourselves);
        }
        let names = asked.map_or_else(|| vec!["postgres", "nobody"], |name| vec![name]);
        let passwd = sandbox::kernel_text("/etc/passwd").unwrap_or_default();
        let found = names.iter().find_map(|name| find(&passwd, name));
        found
            .filter(|user| !matches!(user, RunAs::User { uid: 0, .. }))
            .ok_or_else(|| PostgresError::NoUser {
                user: names.join(" or "),
            })
    }

    /// His name for messages.
    pub fn name(&self) -> &str {
        match self {
            RunAs::Ourselves => "this user",
            RunAs::User { name, .. } => name,
        }
    }

    /// Hands a directory over, by its descriptor. From then on what lies in it is that user's word.
    pub(crate) fn own(&self, directory: &Directory) -> Result<(), SandboxError> {
        match self {
            RunAs::Ourselves => Ok(()),
            RunAs::User { uid, gid, .. } => directory.give_to(*uid, *gid),
        }
    }

    /// Makes a directory that is his and nobody else's.
    ///
    /// # Errors
    /// It is there already, or can't be made.
    pub fn make_directory(&self, path: &Path) -> Result<(), PostgresError> {
        let (above, name) = split(path)?;
        Ok(self.own(&above.make(name, 0o700)?)?)
    }

    /// Lets him read a file of ours, by his group; nobody else can.
    pub(crate) fn let_read(&self, file: &File) -> std::io::Result<()> {
        let RunAs::User { gid, .. } = self else {
            return file.set_permissions(PermissionsExt::from_mode(0o600));
        };
        fchown(file, None, Some(*gid))?;
        file.set_permissions(PermissionsExt::from_mode(0o640))
    }

    /// Lets him through a directory of ours, by his group, to what in it is his; nobody else gets through.
    pub(crate) fn let_through(&self, directory: &Directory) -> Result<(), SandboxError> {
        let RunAs::User { gid, .. } = self else {
            return directory.protect(0o700);
        };
        directory.give_to(rustix::process::geteuid().as_raw(), *gid)?;
        directory.protect(0o710)
    }

    fn apply(&self, command: &mut Command) {
        if let RunAs::User { uid, gid, .. } = self {
            // The library drops the supplementary groups of root with these.
            command.uid(*uid).gid(*gid);
        }
    }
}

/// The directory above a path, held open, and the last name of the path.
pub(crate) fn split(path: &Path) -> Result<(Directory, &str), PostgresError> {
    let wrong = || {
        PostgresError::path(
            "use",
            path,
            std::io::ErrorKind::InvalidInput.into(),
            "name a directory of UTF-8",
        )
    };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(wrong)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    Ok((Directory::open(above.unwrap_or(Path::new(".")))?, name))
}

fn find(passwd: &str, name: &str) -> Option<RunAs> {
    let line = passwd.lines().find(|l| l.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some(RunAs::User {
        name: name.to_owned(),
        uid: fields.next()?.parse().ok()?,
        gid: fields.next()?.parse().ok()?,
    })
}

/// Start time of a process in clock ticks since boot (`/proc/PID/stat`, field 22): with its number, it names it for
/// ever.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    stat_field(pid, 19)
}

fn stat_field(pid: u32, nth: usize) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(nth)?.parse().ok()
}

/// Children of a process.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter(|child| stat_field(*child, 1) == Some(pid.into()))
        .collect()
}

/// Files of the server's dynamic shared memory that a process has in its memory, and their inodes; a process that is
/// killed can't remove them.
pub(crate) fn shared_memory_of(pid: u32) -> Vec<(String, u64)> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mapped = |line: &str| {
        let mut fields = line.split_whitespace().skip(4);
        let inode = fields.next()?.parse().ok()?;
        let name = fields.next()?.strip_prefix("/dev/shm/")?;
        (name.starts_with("PostgreSQL.") && !name.contains('/')).then(|| (name.to_owned(), inode))
    };
    let mut files: Vec<(String, u64)> = maps.lines().filter_map(mapped).collect();
    files.dedup();
    files
}

/// Removes such a file, if it is the very one: everybody can make files there.
pub(crate) fn remove_shared_memory((name, inode): &(String, u64)) {
    let place = Path::new("/dev/shm");
    let found = Directory::open(place).and_then(|dir| dir.look(name));
    if let Ok(Some(identity)) = found
        && identity.inode == *inode
    {
        let _ = sandbox::remove(&place.join(name), sandbox::Removal::File, Some(&identity));
    }
}

/// Sends a signal to a process that may be gone.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

#[derive(Debug, Default)]
struct Shared {
    status: Mutex<Option<ExitStatus>>,
    ended: Condvar,
}

/// A child with its keeper.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: u32,
    pub(crate) started: u64,
    shared: Arc<Shared>,
    keeper: Option<std::thread::JoinHandle<()>>,
}

impl Child {
    /// Starts `program` with its output in `log`; it can write to `reach` and to nothing else.
    pub(crate) fn spawn(
        program: &Path,
        args: &[OsString],
        run_as: &RunAs,
        log: &File,
        reach: Reach,
    ) -> std::io::Result<Child> {
        let mut command = sandbox::command(program);
        command.args(args).current_dir("/");
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?);
        // Signals of the terminal are for us: we stop the server in our own time.
        command.process_group(0);
        run_as.apply(&mut command);
        die_with_us(&mut command);
        let shared = Arc::new(Shared::default());
        let (tell, told) = mpsc::channel();
        let (hold, held) = mpsc::channel();
        let keeper = std::thread::Builder::new().name("keeper".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || keep(command, &reach, (&tell, &held), &shared)
        })?;
        let pid = told.recv().map_err(std::io::Error::other)??;
        let started = start_of(pid).unwrap_or(0);
        die_first(pid);
        drop(hold);
        Ok(Child {
            pid,
            started,
            shared,
            keeper: Some(keeper),
        })
    }

    /// How it ended; `None` while it runs.
    pub(crate) fn status(&self) -> Option<ExitStatus> {
        *self.shared.status.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + patience;
        let mut status = self.shared.status.lock().unwrap_or_else(|e| e.into_inner());
        while status.is_none() {
            let left = end.checked_duration_since(Instant::now())?;
            let waited = self.shared.ended.wait_timeout(status, left);
            status = waited.unwrap_or_else(|e| e.into_inner()).0;
        }
        let ended = *status;
        drop(status);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
        ended
    }
}

/// Starts it, tells its number, waits until the other end of `held` is dropped, and then for its end.
fn keep(
    mut command: Command,
    reach: &Reach,
    (tell, held): (&mpsc::Sender<std::io::Result<u32>>, &mpsc::Receiver<()>),
    shared: &Shared,
) {
    // This thread lives as long as the server, so it may be confined for good.
    let mut child = match sandbox::confine_thread(reach).and_then(|()| command.spawn()) {
        Ok(child) => child,
        Err(e) => {
            let _ = tell.send(Err(e));
            return;
        }
    };
    let _ = tell.send(Ok(child.id()));
    // A child that nobody has waited for keeps its number.
    let _ = held.recv();
    if let Ok(status) = child.wait() {
        *shared.status.lock().unwrap_or_else(|e| e.into_inner()) = Some(status);
        shared.ended.notify_all();
    }
}

/// Where memory runs out, a server and its children are ended before the one that measures, which can then say so.
/// Before its program runs, a child of another user can't do it: its files in /proc are then root's.
fn die_first(pid: u32) {
    // Where the kernel knows no such thing, nothing is lost.
    let opened = |pid: u32| {
        let path = format!("/proc/{pid}/oom_score_adj");
        File::options().read(true).write(true).open(path).ok()
    };
    let raise = |mut score: File| {
        let mut text = String::new();
        let now = score
            .read_to_string(&mut text)
            .ok()
            .and_then(|_| text.trim().parse::<i32>().ok());
        // A higher score than this is inherited, and stays.
        if now.is_some_and(|now| now < SCORE) {
            let _ = score.write_all(SCORE.to_string().as_bytes());
        }
    };
    opened(pid).map(raise);
    // Children inherit the score; those that were there before get it by themselves. What is open belongs to one
    // process for good, so the number is looked at again after it was opened.
    for child in children_of(pid) {
        opened(child).filter(|_| children_of(pid).contains(&child)).map(raise);
    }
}

#[allow(unsafe_code)]
fn die_with_us(command: &mut Command) {
    let parent = rustix::process::getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::QUIT))?;
        // Had we died before this was asked for, nobody would tell.
        match getppid() == Some(parent) {
            true => Ok(()),
            false => Err(std::io::ErrorKind::NotFound.into()),
        }
    };
    // SAFETY: between fork and exec the closure makes a handful of system calls; it allocates nothing and takes no
    // lock.
    unsafe { command.pre_exec(ask) };
}

/// Runs a program to its end, as that user, able to write to `reach` alone; gives its words when it fails.
pub(crate) fn run(
    program: &Path,
    args: &[OsString],
    run_as: &RunAs,
    reach: &Reach,
    cure: &str,
) -> Result<(), PostgresError> {
    let mut command = sandbox::command(program);
    command.args(args).current_dir("/").stdin(Stdio::null());
    run_as.apply(&mut command);
    die_with_us(&mut command);
    let failed = |e| PostgresError::path("run", program, e, "check that it is a program for this machine");
    let output = sandbox::confined(reach, || command.output())
        .and_then(|output| output)
        .map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let full = words.contains("No space left on device");
    Err(PostgresError::Program {
        program: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        status: output.status.to_string(),
        said: lines[lines.len().saturating_sub(3)..].join("; "),
        cure: if full {
            "the file system is full: an empty server takes about 60 MB".to_owned()
        } else {
            cure.to_owned()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_root_is_none() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";
        let user = find(passwd, "postgres").unwrap();
        assert!(matches!(user, RunAs::User { uid: 101, gid: 104, .. }));
        assert!(find(passwd, "post").is_none());
        if rustix::process::geteuid().is_root() {
            assert!(matches!(RunAs::choose(Some("root")), Err(PostgresError::NoUser { .. })));
        }
    }

    #[test]
    fn a_child_is_waited_for_and_its_end_is_seen() {
        let log = tempfile::tempfile().unwrap();
        let mut child = Child::spawn(
            Path::new("/bin/sleep"),
            &["30".into()],
            &RunAs::Ourselves,
            &log,
            Reach::nothing(),
        )
        .unwrap();
        assert!(child.status().is_none() && child.started > 0);
        assert!(children_of(std::process::id()).contains(&child.pid));
        assert!(child.wait(Duration::from_millis(10)).is_none());
        signal(child.pid, Signal::KILL);
        assert!(!child.wait(Duration::from_secs(20)).unwrap().success());
        assert!(child.status().is_some());
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let log = tempfile::tempfile().unwrap();
        assert!(Child::spawn(Path::new("/nonesuch"), &[], &RunAs::Ourselves, &log, Reach::nothing()).is_err());
        let error = run(
            Path::new("/bin/sh"),
            &["-c".into(), "echo why >&2; exit 3".into()],
            &RunAs::Ourselves,
            &Reach::nothing(),
            "do x",
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains("why") && error.ends_with("do x"), "{error}");
    }
}
