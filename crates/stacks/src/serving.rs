//! Processes that serve LUN files through FUSE, as something to be undone.
//!
//! Such a process works in a directory of its own, in which the mount point lies. Takes both, ends what is there. Prevents: a clean-up
//! that waits for ever for I/O that nobody will answer: whoever does not answer is killed first, and the kernel then fails what waits.

use crate::{mounts, process};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A service that has not said anything by then does not live.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest wait for a mount to be let go, and for a process to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// Kills what works in `dir` unless the file system at `place` answers. Nothing there: fine.
pub(crate) fn wake_or_kill(dir: &Path, place: &Path) {
    if process::working_in(dir).is_empty() {
        return;
    }
    let (tell, told) = mpsc::channel();
    let asked = place.to_owned();
    // A thread of its own: the question may wait for ever, and ends when the process does.
    std::thread::spawn(move || {
        let _ = rustix::fs::statvfs(&asked);
        let _ = tell.send(());
    });
    if told.recv_timeout(ANSWER).is_err() {
        kill(dir);
    }
}

/// Unmounts the place and ends what works in the directory.
pub(crate) fn stop(dir: &Path, place: &Path) -> io::Result<()> {
    let begin = Instant::now();
    while mounts::at(place)?.is_some() {
        match rustix::mount::unmount(place, UnmountFlags::NOFOLLOW) {
            Ok(()) => {}
            Err(Errno::BUSY) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Err(e) => return Err(e.into()),
        }
    }
    // It ends by itself when its mount has gone.
    let begin = Instant::now();
    loop {
        let left = process::working_in(dir);
        if left.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            let why = format!("processes {left:?} still work there");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        if begin.elapsed() > PATIENCE / 5 {
            kill(dir);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill(dir: &Path) {
    for pid in process::working_in(dir) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // One that is gone meanwhile is none of ours any more.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_is_let_live_and_who_works_there_is_ended() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = std::fs::canonicalize(dir.path()).expect("its path");
        stop(&path, &path.join("none")).expect("nobody there is fine");
        let spawned = std::process::Command::new("sleep").arg("60").current_dir(&path).spawn();
        let mut child = spawned.expect("a child");
        // A directory that is no FUSE mount answers at once.
        wake_or_kill(&path, &path);
        assert_eq!(process::working_in(&path), [child.id()]);
        stop(&path, &path.join("none")).expect("it ends");
        assert!(!child.wait().expect("its end").success());
    }
}
