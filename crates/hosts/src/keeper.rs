//! A process that undoes what a rank leaves when the rank is killed.
//!
//! It is started before MPI and leaves the rank's session, for a launcher kills a rank with all that belongs to it.
//! Takes one byte when nothing is left to undo; undoes when its input ends without it. Prevents: loop devices and
//! mounts of a host whose rank got SIGKILL, from a person or from a launcher that lost another rank.

use crate::error::{EXIT_FAILED, EXIT_NOT_UNDONE, HostsError};
use crate::watchdog::Undone;
use rustix::process::setsid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

/// It stands ready.
const READY: u8 = b'r';
/// Nothing is left to undo.
const DONE: u8 = b'd';

/// The process, as its rank sees it. Dropped, it undoes.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    to: Option<ChildStdin>,
}

impl Keeper {
    /// Starts it by a command that leads to [`keep`], and waits until it stands ready.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(mut command: Command) -> Result<Keeper, HostsError> {
        // Not the rank's own standard error: the launcher waits until nobody holds it.
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(HostsError::Keeper)?;
        let (to, mut said) = (child.stdin.take(), [0]);
        let read = child.stdout.take().map(|mut from| from.read_exact(&mut said));
        let keeper = Keeper { child, to };
        match read {
            Some(Ok(())) if said == [READY] => Ok(keeper),
            Some(Err(error)) => Err(HostsError::Keeper(error)),
            _ => Err(HostsError::Keeper(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Nothing is left to undo: it ends.
    pub fn let_go(mut self) {
        if let Some(to) = &mut self.to {
            let _ = to.write_all(&[DONE]);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
    }
}

/// The process itself: waits for the end of its rank, and undoes what that left. Gives its exit code.
pub fn keep(undo: impl FnOnce() -> Undone) -> u8 {
    // The rank decides: what ends all that belongs to it must not end this.
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        if signal_hook::flag::register(signal, Arc::default()).is_err() {
            return EXIT_FAILED;
        }
    }
    // Who leads a session already, needs none.
    let _ = setsid();
    let mut out = io::stdout();
    if out.write_all(&[READY]).and_then(|()| out.flush()).is_err() {
        return EXIT_FAILED;
    }
    let mut said = Vec::new();
    let _ = io::stdin().take(1).read_to_end(&mut said);
    match said.as_slice() {
        [DONE] => 0,
        _ if undo() == Undone::All => 0,
        _ => EXIT_NOT_UNDONE,
    }
}
