//! The other instances of a trial, as the run's own process sees them.
//!
//! Takes what they need to open their workers; gives what they did, phase by phase. None: a trial of one instance.
//! Prevents: a phase of which one instance is missing and that counts all the same.

use crate::instances::member::{LOOK, Member, Silence};
use crate::instances::wire::{Answer, Asked, Opening, Order, Settled};
use crate::signals;
use crate::trial::drive::{Driven, Paced};
use pages::Counters;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// From telling all instances until they begin: a line of JSON is read long before.
const LEAD_NS: u64 = 50_000_000;

/// All of them, by number from 2 on.
#[derive(Default)]
pub(crate) struct Others {
    members: Vec<Member>,
}

impl Others {
    /// Starts one process for each, and waits until all have opened their workers.
    pub(crate) fn open(openings: Vec<Opening>, cancel: &AtomicBool) -> anyhow::Result<Others> {
        let mut others = Others::default();
        for (nth, opening) in openings.into_iter().enumerate() {
            let mut member = Member::start(nth as u32 + 2)?;
            member.tell(Order::Open(Box::new(opening)))?;
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
    /// `work` ends early when one of the others is lost.
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
            member.tell(Order::Work(Asked::of(&paced)))?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        paced.pacing.cancel = Some(stop.clone());
        let over = AtomicBool::new(false);
        let mut silences: Vec<Silence> = self.members.iter().map(Member::silence).collect();
        let own = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !signals::is_set(&over) {
                    if signals::is_set(cancel) || silences.iter_mut().any(Silence::is_lost) {
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
        // Those that work on are not waited for when one is missing.
        if let Some(lost) = self.members.iter_mut().find(|member| member.is_lost()) {
            return Err(lost.lost());
        }
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
            member.tell(Order::Settle)?;
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

impl Drop for Others {
    /// All end at once, and then each is waited for.
    fn drop(&mut self) {
        self.members.iter_mut().for_each(Member::let_go);
    }
}
