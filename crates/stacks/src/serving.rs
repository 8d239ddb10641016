//! Processes that serve LUN files through FUSE, as something to be undone.
//!
//! Such a process works in a directory of its own, in which the mount point lies. Takes both, ends what is there.
//! Prevents: a clean-up that waits for ever for I/O that nobody will answer: whoever does not answer is killed first,
//! and the kernel then fails what waits.

use crate::host::mounts;
use crate::host::process::{self, Who};
use rustix::process::Signal;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// The first argument of a process that serves.
const SERVICE: Who<'_> = Who::Ours("device-service");
/// A service that has not said anything by then does not live.
const ANSWER: Duration = Duration::from_secs(10);
/// How long it may take to end by itself when its mount has gone.
const OWN_TIME: Duration = Duration::from_secs(3);

/// Kills what works in `dir` unless the file system at `place` answers. Nothing there: fine.
pub(crate) fn wake_or_kill(dir: &Path, place: &Path) {
    if process::working_in(dir, SERVICE).is_empty() {
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
        process::signal_all_in(dir, SERVICE, Signal::KILL);
    }
}

/// Unmounts the place and ends what works in the directory.
pub(crate) fn stop(dir: &Path, place: &Path) -> io::Result<()> {
    mounts::unmount(place)?;
    process::end_all_in(dir, SERVICE, &[(OWN_TIME, Signal::KILL)])?;
    // It may have mounted after the first look.
    mounts::unmount(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::process::stand_ins;

    #[test]
    fn who_answers_is_let_live_and_who_serves_there_is_ended() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = std::fs::canonicalize(dir.path()).expect("its path");
        stop(&path, &path.join("none")).expect("nobody there is fine");
        let mut stranger = stand_ins::stranger(&path);
        let mut service = stand_ins::ours(&path, "device-service");
        while process::working_in(&path, SERVICE).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // A directory that is no FUSE mount answers at once.
        wake_or_kill(&path, &path);
        assert_eq!(process::working_in(&path, SERVICE), [service.id()]);
        stop(&path, &path.join("none")).expect("it ends");
        assert!(!service.wait().expect("its end").success());
        assert!(stranger.try_wait().expect("a look").is_none(), "a stranger was killed");
        stranger.kill().expect("it ends");
        stranger.wait().expect("its end");
    }
}
