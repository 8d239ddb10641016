//! The other instances of a trial, as the run's own process sees them.
//!
//! Takes what they need to open their workers; gives what they did, phase by phase. None: a trial of one instance.
//! Prevents: a phase of which one instance is missing and that counts all the same, and a process that outlives its
//! trial.

use crate::instances::wire::{Answer, Asked, Opening, Order, Settled};
use crate::not_kept::NotKept;
use crate::signals;
use crate::trial::drive::{Driven, Paced};
use anyhow::{Context, anyhow};
use pages::Counters;
use rustix::io::Errno;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often whoever waits looks whether it should.
const LOOK: Duration = Duration::from_millis(20);
/// From telling all instances until they begin: a line of JSON is read long before.
const LEAD_NS: u64 = 50_000_000;
/// Last words are kept to so many bytes.
const WORDS_MAX: usize = 4096;

/// All of them, by number from 2 on.
#[derive(Default)]
pub(crate) struct Others {
    members: Vec<Member>,
}

/// One, in a process of its own.
struct Member {
    number: u32,
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// It has said that it failed, or its answers have ended.
    gone: Arc<AtomicBool>,
    /// What it wrote to standard error.
    words: Arc<Mutex<Vec<u8>>>,
    listening: Option<JoinHandle<()>>,
    settled: Settled,
}

impl Others {
    /// Starts one process for each, and waits until all have opened their workers.
    pub(crate) fn open(openings: Vec<Opening>, cancel: &AtomicBool) -> anyhow::Result<Others> {
        let mut others = Others::default();
        for (nth, opening) in openings.into_iter().enumerate() {
            let mut member = Member::start(nth as u32 + 2)?;
            member.tell(&Order::Open(Box::new(opening)))?;
            others.members.push(member);
        }
        for member in &mut others.members {
            match member.answer(cancel)? {
                Answer::Opened => {}
                _ => return Err(member.unexpected()),
            }
        }
        // What they read to open is no part of a phase.
        others.settle(cancel, || Ok(()))?;
        Ok(others)
    }

    pub(crate) fn is_none(&self) -> bool {
        self.members.is_empty()
    }

    /// Does `work` here while all others do theirs, from one moment on; gives what each did, the own work first.
    /// `work` ends early when one of the others is gone.
    pub(crate) fn with<T>(
        &mut self,
        paced: Paced,
        cancel: &Arc<AtomicBool>,
        work: impl FnOnce(&Paced) -> anyhow::Result<T>,
    ) -> anyhow::Result<(T, Vec<Driven>)> {
        let mut paced = Paced {
            at: Some(targets::monotonic_ns() + LEAD_NS),
            ..paced
        };
        for member in &mut self.members {
            member.tell(&Order::Work(Asked::of(&paced)))?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        paced.pacing.cancel = Some(stop.clone());
        let gone: Vec<Arc<AtomicBool>> = self.members.iter().map(|member| member.gone.clone()).collect();
        let over = AtomicBool::new(false);
        let own = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !signals::is_set(&over) {
                    if signals::is_set(cancel) || gone.iter().any(|gone| signals::is_set(gone)) {
                        stop.store(true, Ordering::Relaxed);
                        return;
                    }
                    std::thread::sleep(LOOK);
                }
            });
            let _over = signals::SetWhenGone(&over);
            work(&paced)
        });
        signals::check(cancel)?;
        // Where both failed, the own error is as good as the other, and it has its causes.
        let own = own?;
        let mut theirs = Vec::new();
        for member in &mut self.members {
            match member.answer(cancel)? {
                Answer::Worked(worked) => theirs.push(worked.driven()?),
                _ => return Err(member.unexpected()),
            }
        }
        Ok((own, theirs))
    }

    /// All bring home what they wrote, while `own` does.
    pub(crate) fn settle(
        &mut self,
        cancel: &AtomicBool,
        own: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for member in &mut self.members {
            member.tell(&Order::Settle)?;
        }
        own()?;
        for member in &mut self.members {
            match member.answer(cancel)? {
                Answer::Settled(settled) => member.settled = settled,
                _ => return Err(member.unexpected()),
            }
        }
        Ok(())
    }

    /// What each had counted and taken when it last settled.
    pub(crate) fn settled(&self) -> Vec<Settled> {
        self.members.iter().map(|member| member.settled).collect()
    }

    /// What all of them had counted by then.
    pub(crate) fn counters(&self) -> Counters {
        let each = self.members.iter().map(|member| member.settled.counters);
        each.fold(Counters::default(), |sum, one| sum + one)
    }

    /// Distinct pages that the phase changed and that came home, of all of them.
    pub(crate) fn overwritten_pages(&self) -> u64 {
        self.members.iter().map(|member| member.settled.overwritten_pages).sum()
    }
}

impl Member {
    fn start(number: u32) -> anyhow::Result<Member> {
        let mut child = sandbox::ourselves()
            .arg("instance")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start the process of instance {number}"))?;
        let orders = child.stdin.take();
        let (from, said) = (child.stdout.take(), child.stderr.take());
        let (gone, words) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (to, answers) = channel();
        let listening = std::thread::spawn({
            let gone = gone.clone();
            move || {
                let lines = from.into_iter().flat_map(|from| BufReader::new(from).lines());
                for line in lines.map_while(Result::ok) {
                    let Ok(answer) = serde_json::from_str(&line) else { break };
                    if matches!(answer, Answer::Failed { .. }) {
                        gone.store(true, Ordering::Relaxed);
                    }
                    if to.send(answer).is_err() {
                        break;
                    }
                }
                gone.store(true, Ordering::Relaxed);
            }
        });
        let keeping = words.clone();
        std::thread::spawn(move || {
            let mut some = [0; 512];
            let Some(mut said) = said else { return };
            while let Ok(read) = said.read(&mut some)
                && read > 0
            {
                let mut words = keeping.lock().unwrap_or_else(PoisonError::into_inner);
                words.extend_from_slice(&some[..read]);
                let more = words.len().saturating_sub(WORDS_MAX);
                words.drain(..more);
            }
        });
        Ok(Member {
            number,
            child,
            orders,
            answers,
            gone,
            words,
            listening: Some(listening),
            settled: Settled::default(),
        })
    }

    fn tell(&mut self, order: &Order) -> anyhow::Result<()> {
        let line = serde_json::to_string(order).context("write an order")?;
        let to = self.orders.as_mut().context("an instance that takes orders")?;
        if writeln!(to, "{line}").and_then(|()| to.flush()).is_err() {
            return Err(self.lost());
        }
        Ok(())
    }

    /// Its next answer.
    fn answer(&mut self, cancel: &AtomicBool) -> anyhow::Result<Answer> {
        loop {
            signals::check(cancel)?;
            match self.answers.recv_timeout(LOOK) {
                Ok(Answer::Failed { error, full, loss }) => return Err(self.failed(error, full, loss)),
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost()),
            }
        }
    }

    /// What it said of its end, as grave as it was there.
    fn failed(&self, error: String, full: bool, loss: bool) -> anyhow::Error {
        let number = self.number;
        let cause = match (loss, full) {
            (true, _) => NotKept(error).into(),
            (_, true) => anyhow::Error::from(Errno::NOSPC).context(error),
            _ => anyhow!("{error}"),
        };
        cause.context(format!("instance {number}"))
    }

    /// It ended without an answer: how, and its last words.
    fn lost(&mut self) -> anyhow::Error {
        let number = self.number;
        if let Ok(Answer::Failed { error, full, loss }) = self.answers.try_recv() {
            return self.failed(error, full, loss);
        }
        let _ = self.child.kill();
        let ended = self.child.wait().map_or_else(|error| error.to_string(), |ended| ended.to_string());
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&words).trim().to_string();
        let words = match words.as_str() {
            "" => "it said nothing".to_string(),
            words => format!("its last words: {words}"),
        };
        anyhow!(
            "instance {number} was lost: {ended}; {words}\n  look for what ended the process (dmesg, a limit of \
             memory), and go on with `assay run --resume`"
        )
    }

    fn unexpected(&self) -> anyhow::Error {
        anyhow!("instance {} answered something else than it was asked", self.number)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // What it has written and not brought home belongs to a trial that is over.
        drop(self.orders.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}
