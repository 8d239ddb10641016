//! The process that runs OpenZFS, seen from the lab: started, asked, ended, and known to be gone when it is.
//!
//! Takes which program to start (it must call [`crate::serve_standard_input`]), gives the process, which many ports
//! share. Prevents: an abort in the library that takes the lab with it, and one that is noticed as a hang.

use crate::LIBRARY_VARIABLE;
use crate::error::ZpoolError;
use crate::message::{Answer, Ask, FileName};
use crate::wire;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sandbox::Reach;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use targets::Extent;

/// How long the process may take to export its pools before it is killed.
const END_TIME: Duration = Duration::from_secs(130);
/// How long it may take to answer. Importing a pool after a crash, or writing what is dirty to a slow device, are
/// minutes.
const ANSWER_TIME: Duration = Duration::from_secs(600);
/// How long it may take to close a port, whose requests end first.
const CLOSE_TIME: Duration = Duration::from_secs(120);
/// How long a killed process is waited for. One that waits for a device goes only when the device answers.
const KILL_TIME: Duration = Duration::from_secs(30);
/// Bytes of its last words that are kept.
const LAST_WORDS: usize = 4096;

/// Which program to start.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The directory that it works in, by which it can be found again; `None`: ours.
    pub directory: Option<PathBuf>,
    /// What it may write to; `None`: whatever its user may.
    pub reach: Option<Reach>,
    /// How long it may take to answer a question before it is taken for dead, and killed.
    pub answer_time: Duration,
}

/// The process. Dropped when the last port and handle are: then it exports its pools and ends.
pub(crate) struct Process {
    control: Mutex<Option<UnixStream>>,
    child: Mutex<Child>,
    pidfd: OwnedFd,
    pid: u32,
    said: OwnedFd,
    answer_time: Mutex<Duration>,
}

fn call(what: &'static str) -> impl Fn(rustix::io::Errno) -> ZpoolError {
    move |e| ZpoolError::Call { what, source: e.into() }
}

impl Process {
    /// Starts the program; the library in it is not asked for yet.
    pub(crate) fn start(launch: &Launch) -> Result<Process, ZpoolError> {
        let (ours, theirs) = UnixStream::pair().map_err(|source| ZpoolError::Call {
            what: "make a socket pair",
            source,
        })?;
        let said = rustix::fs::memfd_create("last words", MemfdFlags::CLOEXEC).map_err(call("make a memory file"))?;
        let started = |source| ZpoolError::Start {
            path: launch.program.clone(),
            source,
        };
        let stderr = said.try_clone().map_err(started)?;
        let mut command = sandbox::command(&launch.program);
        if let Some(directory) = &launch.directory {
            command.current_dir(directory);
        }
        command
            .args(&launch.arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(stderr)
            // A signal from the terminal is for the lab, which then closes the socket.
            .process_group(0)
            // The C library's heaps, one to a thread otherwise, keep what the cache gave back.
            .env("MALLOC_ARENA_MAX", "4");
        // The one variable of the caller's that the process looks at.
        if let Some(library) = std::env::var_os(LIBRARY_VARIABLE) {
            command.env(LIBRARY_VARIABLE, library);
        }
        let child = match &launch.reach {
            Some(reach) => sandbox::confined(reach, || command.spawn()).and_then(|child| child),
            None => command.spawn(),
        };
        let child = child.map_err(started)?;
        let pid = child.id();
        let process = Pid::from_child(&child);
        let pidfd = pidfd_open(process, PidfdFlags::empty()).map_err(call("watch the process"))?;
        let (control, child) = (Mutex::new(Some(ours)), Mutex::new(child));
        Ok(Process {
            control,
            child,
            pidfd,
            pid,
            said,
            answer_time: Mutex::new(launch.answer_time),
        })
    }

    fn lock_child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How long it may take for an answer from now on.
    pub(crate) fn answer_within(&self, limit: Duration) {
        *self.answer_time.lock().unwrap_or_else(PoisonError::into_inner) = limit;
    }

    /// Kills the process; its exit status in words, when it comes in time.
    pub(crate) fn kill(&self) -> Option<String> {
        let _ = self.lock_child().kill();
        self.waited(KILL_TIME)
    }

    fn answer_time(&self) -> Duration {
        *self.answer_time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks one question.
    pub(crate) fn ask(&self, ask: &Ask, fds: &[BorrowedFd<'_>]) -> Result<Answer, ZpoolError> {
        self.ask_within(ask, fds, self.answer_time())
    }

    /// Closes a port, after what was submitted to it has ended.
    pub(crate) fn close_port(&self, id: u64) {
        let _ = self.ask_within(&Ask::ClosePort(id), &[], CLOSE_TIME.min(self.answer_time()));
    }

    fn ask_within(&self, ask: &Ask, fds: &[BorrowedFd<'_>], limit: Duration) -> Result<Answer, ZpoolError> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = control.as_ref().map(|socket| {
            socket.set_read_timeout(Some(limit))?;
            wire::send(socket, ask, fds)?;
            wire::receive::<Answer>(socket)
        });
        match answer {
            Some(Ok(Some((Answer::Refused(refused), _)))) => Err(refused.into()),
            Some(Ok(Some((answer, _)))) => Ok(answer),
            broken => {
                // Whatever comes now would answer another question.
                *control = None;
                let late = |e: &std::io::Error| matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                if !matches!(broken, Some(Err(e)) if late(&e)) {
                    return Err(self.gone());
                }
                let ended = self.kill();
                Err(ZpoolError::Gone {
                    how: format!(
                        "it did not answer within {} s: {}",
                        limit.as_secs(),
                        ended
                            .as_deref()
                            .unwrap_or("not even to a kill; a device does not answer")
                    ),
                    said: self.last_words(),
                })
            }
        }
    }

    pub(crate) fn done(&self, ask: &Ask) -> Result<(), ZpoolError> {
        self.ask(ask, &[]).map(drop)
    }

    /// Asks for a file's size, after what the question does.
    pub(crate) fn size(&self, ask: &Ask) -> Result<u64, ZpoolError> {
        match self.ask(ask, &[])? {
            Answer::Size(bytes) => Ok(bytes),
            _ => Err(self.gone()),
        }
    }

    pub(crate) fn extents(&self, name: &FileName) -> Result<Vec<Extent>, ZpoolError> {
        match self.ask(&Ask::Extents(name.clone()), &[])? {
            Answer::Extents(pieces) => Ok(pieces.into_iter().map(Extent::from).collect()),
            _ => Err(self.gone()),
        }
    }

    /// Readable when the process has ended.
    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// The error of a process that does not answer: how it ended and what it said.
    pub(crate) fn gone(&self) -> ZpoolError {
        let how = match self.waited(Duration::from_secs(5)) {
            Some(status) => status,
            None => "it closed its socket but runs on".to_string(),
        };
        ZpoolError::Gone {
            how,
            said: self.last_words(),
        }
    }

    /// Its exit status in words, when it comes in time.
    fn waited(&self, at_most: Duration) -> Option<String> {
        let began = Instant::now();
        loop {
            match self.lock_child().try_wait() {
                Ok(Some(status)) => return Some(status.to_string()),
                Err(error) => return Some(error.to_string()),
                Ok(None) if began.elapsed() >= at_most => return None,
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn last_words(&self) -> String {
        let mut bytes = vec![0; LAST_WORDS];
        let end = rustix::fs::fstat(&self.said).map_or(0, |stat| stat.st_size as u64);
        let got = rustix::io::pread(&self.said, &mut bytes, end.saturating_sub(LAST_WORDS as u64)).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..got]).into_owned();
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process exports its pools and ends when its socket closes.
        self.control.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.waited(END_TIME).is_none() {
            self.kill();
        }
    }
}

impl Launch {
    /// The argument with which a program that is lab and server in one is told to be the server.
    pub const SERVE: &str = "serve-openzfs";

    /// This very program once more, which must look at [`Launch::asked_for`] before anything else.
    pub fn itself() -> Launch {
        // Whatever its file is called by now.
        Launch::of(Path::new("/proc/self/exe"))
    }

    /// The same, able to write to these LUNs and to nothing else.
    pub fn within(self, reach: Reach) -> Launch {
        Launch {
            reach: Some(reach),
            ..self
        }
    }

    /// The same in a directory, which an undo journal can know before there is a process.
    pub fn in_directory(self, directory: &Path) -> Launch {
        Launch {
            directory: Some(directory.to_path_buf()),
            ..self
        }
    }

    /// A program that looks at [`Launch::asked_for`].
    pub fn of(path: &Path) -> Launch {
        Launch {
            arguments: vec![Launch::SERVE.into()],
            ..Launch::program(path)
        }
    }

    /// Whether this process was started to be the server.
    pub fn asked_for() -> bool {
        let mut arguments = std::env::args_os().skip(1);
        arguments.next().is_some_and(|first| first == Launch::SERVE) && arguments.next().is_none()
    }

    /// A program without arguments.
    pub fn program(path: &Path) -> Launch {
        Launch {
            program: path.to_path_buf(),
            arguments: Vec::new(),
            directory: None,
            reach: None,
            answer_time: ANSWER_TIME,
        }
    }
}
