//! A host that is not that of the run: it starts the process of an instance when it is told to, hands on what is said
//! to it and by it, and ends it.
//!
//! Takes messages of the run until they end. It builds nothing, so it has nothing to undo. Prevents: a process that
//! works on when nobody orders anything any more.

use crate::instances::letters::{self, Down, Outbox, Up};
use crate::instances::notices::{Ends, Places};
use anyhow::{Context, bail};
use hosts::Host;
use std::io::{PipeReader, PipeWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// A process whose orders have ended has so long to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until the run has no more orders.
///
/// # Errors
/// A message that means nothing.
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
                drop(process.take());
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
    Ok(())
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
    waiting: Option<JoinHandle<()>>,
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
        let waiting = std::thread::spawn(move || {
            let how = ended(child, &ends);
            // Whoever reads from it would wait for these ends too.
            release(&also_held);
            listening.into_iter().for_each(|thread| drop(thread.join()));
            let _ = to.send(Up::Ended, how.as_bytes());
        });
        Ok(Process {
            orders,
            notices,
            held,
            end: Some(end),
            waiting: Some(waiting),
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

    /// It gets no more orders.
    fn let_go(&mut self) {
        (self.orders, self.notices, self.end) = (None, None, None);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.let_go();
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
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

/// Waits for its end. Once its orders have ended it is killed after a while. How it ended, in words.
fn ended(mut child: Child, end: &Receiver<()>) -> String {
    let mut since: Option<Instant> = None;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.to_string(),
            Ok(None) => {}
            Err(error) => return format!("nobody knows how: {error}"),
        }
        match since {
            None => {
                if let Ok(()) | Err(RecvTimeoutError::Disconnected) = end.recv_timeout(LOOK) {
                    since = Some(Instant::now());
                }
            }
            Some(since) => {
                if since.elapsed() > GRACE {
                    let _ = child.kill();
                }
                std::thread::sleep(LOOK);
            }
        }
    }
}
