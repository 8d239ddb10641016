//! A host that is not that of the run: it starts the process of an instance when it is told to, hands on what is said
//! to it and by it, and ends it.
//!
//! Takes messages of the run until they end. It builds nothing, so it has nothing to undo. Prevents: a process that
//! works on when nobody orders anything any more.

use crate::instances::end::{self, GRACE, KILLED, LOOK, Mortal};
use crate::instances::letters::{self, Down, Outbox, Up};
use crate::instances::notices::{Ends, Places};
use anyhow::{Context, bail, ensure};
use hosts::Host;
use std::io::{PipeReader, PipeWriter, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is said of a process that a device keeps.
const KEPT: &str = "the process of an instance does not end, though it was killed: a device keeps it\n  look for it \
                    (`ps` shows state D; dmesg), and use its LUNs for nothing else before it is gone";

/// Serves until the run has no more orders.
///
/// # Errors
/// A message that means nothing; a process that does not end.
pub fn serve(host: &mut Host) -> anyhow::Result<()> {
    let mut links = host.links();
    let link = links.pop().context("a way to the host of the run")?;
    let (to, mut from) = (Outbox::new(link.to), link.from);
    let mut process: Option<Process> = None;
    while let Some(message) = from.message() {
        let Some((kind, bytes)) = letters::read::<Down>(&message) else {
            bail!("the run sent what is no message\n  use one build of assay on all hosts");
        };
        match kind {
            Down::Begin => {
                // The run does not begin another before it has heard that the last one ended.
                process.take().map_or(Ok(()), Process::end)?;
                process = match Process::start(sandbox_instance(), bytes == [1], &to) {
                    Ok(started) => Some(started),
                    Err(error) => {
                        // Where the run does not hear it, this host has no more orders either.
                        let _ = to.send(Up::Ended, format!("{error:#}").as_bytes());
                        None
                    }
                };
            }
            Down::End => {
                if let Some(process) = &mut process {
                    process.let_go();
                }
            }
            // What comes for a process that has ended is late.
            kind => {
                if let Some(process) = &mut process {
                    process.take(kind, bytes);
                }
            }
        }
    }
    process.map_or(Ok(()), Process::end)
}

fn sandbox_instance() -> Command {
    let mut command = sandbox::ourselves();
    command.arg("instance");
    command
}

/// Both of the process's ends of the pipes of notices, held until it has opened them.
type Held = Arc<Mutex<Option<Ends>>>;

/// One process of an instance.
struct Process {
    orders: Option<ChildStdin>,
    notices: Option<Sender<Vec<u8>>>,
    held: Held,
    /// Dropped or told: the process's orders have ended.
    end: Option<Sender<()>>,
    /// Says in bounded time whether it has ended, and says it again when one that had not is gone.
    gone: Option<Receiver<bool>>,
}

impl Process {
    fn start(mut command: Command, follows: bool, to: &Outbox) -> anyhow::Result<Process> {
        let pipes = follows.then(Ends::pair).transpose()?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("start the process of an instance")?;
        let places: Option<Places> = pipes.as_ref().map(|(ends, ..)| ends.places());
        let begun = serde_json::to_vec(&places).context("where a process finds its pipes")?;
        to.send(Up::Begun, &begun).context("answer the run")?;
        let (held, notices, answers) = match pipes {
            Some((ends, notices, answers)) => (Some(ends), Some(notices), Some(answers)),
            None => (None, None, None),
        };
        let held: Held = Arc::new(Mutex::new(held));
        let orders = child.stdin.take();
        let listening = listen(&mut child, answers, to);
        let notices = notices.map(hand_on);
        let (end, ends) = channel();
        let (to, also_held) = (to.clone(), held.clone());
        let (tell, gone) = channel();
        std::thread::spawn(move || {
            let mut how = ended(&mut child, &ends, (GRACE, KILLED));
            // Whoever reads from it would wait for these ends too.
            release(&also_held);
            if how.is_none() {
                let _ = to.send(Up::Words, KEPT.as_bytes());
                let _ = tell.send(false);
                // Its streams do not end before it, and until then this host is not free for another.
                how = end::end(&mut child, Duration::MAX, KILLED);
            }
            listening.into_iter().for_each(|thread| drop(thread.join()));
            let how = how.map_or_else(String::new, |status| status.to_string());
            let _ = to.send(Up::Ended, how.as_bytes());
            let _ = tell.send(true);
        });
        Ok(Process {
            orders,
            notices,
            held,
            end: Some(end),
            gone: Some(gone),
        })
    }

    fn take(&mut self, kind: Down, bytes: &[u8]) {
        match kind {
            Down::Orders => {
                // The run hears from its end, or from its silence.
                if let Some(orders) = &mut self.orders
                    && orders.write_all(bytes).and_then(|()| orders.flush()).is_err()
                {
                    self.orders = None;
                }
            }
            Down::Notices => {
                let _ = self.notices.as_ref().map(|notices| notices.send(bytes.to_vec()));
            }
            Down::Opened => release(&self.held),
            Down::Begin | Down::End => {}
        }
    }

    /// It ends, or does not: then this host must not go on as if it were free.
    fn end(mut self) -> anyhow::Result<()> {
        ensure!(self.is_gone(), KEPT);
        Ok(())
    }

    /// Whether it ends, in bounded time.
    fn is_gone(&mut self) -> bool {
        self.let_go();
        let Some(gone) = self.gone.take() else { return true };
        let is_gone = gone.recv().unwrap_or(false);
        gone.try_iter().last().unwrap_or(is_gone)
    }

    /// It gets no more orders.
    fn let_go(&mut self) {
        (self.orders, self.notices, self.end) = (None, None, None);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.is_gone();
    }
}

fn release(held: &Held) {
    held.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// Hands on all that the process says, each stream by a thread of its own.
fn listen(child: &mut Child, answers: Option<PipeReader>, to: &Outbox) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    if let Some(from) = child.stdout.take() {
        let to = to.clone();
        threads.push(std::thread::spawn(move || to.hand_on(Up::Answers, from)));
    }
    if let Some(from) = child.stderr.take() {
        let to = to.clone();
        threads.push(std::thread::spawn(move || to.hand_on(Up::Words, from)));
    }
    if let Some(from) = answers {
        let to = to.clone();
        threads.push(std::thread::spawn(move || to.hand_on(Up::Followed, from)));
    }
    threads
}

/// Notices wait here for a process that takes none: the owner of the group tells no more than it gets answers for.
fn hand_on(mut to: PipeWriter) -> Sender<Vec<u8>> {
    let (notices, from): (Sender<Vec<u8>>, Receiver<Vec<u8>>) = channel();
    std::thread::spawn(move || {
        for piece in from {
            if to.write_all(&piece).is_err() {
                break;
            }
        }
    });
    notices
}

/// How it ended: by itself, or when its orders have ended. `patience`: for its end then, and for that of a killed one.
fn ended(process: &mut impl Mortal, end: &Receiver<()>, patience: (Duration, Duration)) -> Option<ExitStatus> {
    loop {
        if let Some(status) = process.ended() {
            return Some(status);
        }
        if let Ok(()) | Err(RecvTimeoutError::Disconnected) = end.recv_timeout(LOOK) {
            return end::end(process, patience.0, patience.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instances::end::tests::Played;

    /// A host whose process a device keeps says so, and does not hang with it.
    #[test]
    fn a_process_that_a_device_keeps_is_not_waited_for() {
        let (orders, end) = channel();
        drop(orders);
        let of = |is_kept| {
            let mut process = Played {
                is_killed: false,
                is_kept,
            };
            let how = ended(&mut process, &end, (Duration::ZERO, LOOK));
            (how.is_some(), process.is_killed)
        };
        assert_eq!((of(true), of(false)), ((false, true), (true, true)));
        let process = |said: &[bool]| {
            let (tell, gone) = channel();
            said.iter().for_each(|is_gone| tell.send(*is_gone).unwrap());
            Process {
                orders: None,
                notices: None,
                held: Held::default(),
                end: None,
                gone: Some(gone),
            }
        };
        assert!(process(&[true]).end().is_ok());
        assert!(process(&[false, true]).end().is_ok(), "the device let it go later");
        let error = process(&[false]).end().unwrap_err().to_string();
        assert!(
            error.contains("does not end") && error.contains("\n  look for it"),
            "{error}"
        );
    }
}
