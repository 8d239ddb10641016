//! The other instances of a trial, as the run's own process sees them.
//!
//! Takes what they need to open their workers; gives what they did, phase by phase. None: a trial of one instance.
//! Prevents: a phase of which one instance is missing and that counts all the same.

use crate::instances::end::LOOK;
use crate::instances::member::{Member, Silence};
use crate::instances::notices::{Carrier, Ends};
use crate::instances::ranks::{Clocks, Ranks};
use crate::instances::settled::Settled;
use crate::instances::wire::{Answer, Asked, Opening, Order};
use crate::signals;
use crate::trial::drive::{Driven, Paced, Spread};
use diskgroup::Follower;
use pages::Counters;
use stacks::Journal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From telling all instances until they begin: a line of JSON is read long before.
const LEAD_NS: u64 = 50_000_000;
/// Between two looks whether all know where extents lie.
const CARRY: Duration = Duration::from_micros(200);

/// All of them, by number from 2 on.
#[derive(Default)]
pub(crate) struct Others {
    members: Vec<Member>,
    /// Their hosts; `None`: all are on this one.
    ranks: Option<Ranks>,
    /// Clocks of their hosts, as they were read last.
    clocks: Option<Clocks>,
}

/// Where they are.
pub(crate) enum Where<'a> {
    /// On this host, for a run with this journal.
    Here(&'a Journal),
    /// Each on a host of its own.
    There(&'a Ranks),
}

impl Others {
    /// Starts one process for each, on this host or each on its own, and waits until all have opened their workers.
    /// `followers`: as their disk group has admitted them; none on anything else.
    pub(crate) fn open(
        openings: Vec<Opening>,
        followers: Vec<Follower>,
        place: &Where<'_>,
        cancel: &AtomicBool,
    ) -> anyhow::Result<Others> {
        let mut others = Others {
            members: Vec::new(),
            ranks: match place {
                Where::Here(_) => None,
                Where::There(ranks) => Some((*ranks).clone()),
            },
            clocks: None,
        };
        let mut held = Vec::new();
        let mut followers = followers.into_iter();
        for (number, opening) in (2..).zip(openings) {
            let (carrier, ends) = followers.next().map(Carrier::new).transpose()?.unzip();
            let (mut member, hears) = match place {
                Where::There(ranks) => Member::start_there(number, ranks, ends)?,
                Where::Here(journal) => {
                    let hears = ends.as_ref().map(Ends::places);
                    held.extend(ends);
                    (Member::start(number, journal.lock())?, hears)
                }
            };
            member.hears_of(carrier);
            member.tell(Order::Open(Box::new(Opening { hears, ..opening })))?;
            others.members.push(member);
        }
        for member in &mut others.members {
            match member.answer(cancel)? {
                Answer::Opened => member.has_opened(),
                _ => return Err(member.unexpected()),
            }
        }
        // Until here they found their ends of the pipes by our descriptors.
        drop(held);
        // What they read to open is no part of a phase.
        others.settle(cancel, || Ok(()))?;
        Ok(others)
    }

    /// Where `workers` are, those of all instances. A stack may have fewer instances than there are ranks.
    pub(crate) fn spread(&self, workers: u32) -> Spread {
        let instances = self.members.len() as u32 + 1;
        Spread {
            workers,
            hosts: self.ranks.as_ref().map_or(1, |_| instances),
        }
    }

    /// Before a phase: reads the clocks of the other hosts, where there are any.
    pub(crate) fn read_clocks(&mut self) -> anyhow::Result<()> {
        self.clocks = self.ranks.as_ref().map(Clocks::read).transpose()?;
        Ok(())
    }

    /// After it: how well their clocks were known in it, in nanoseconds. `None`: all instances are on this host.
    pub(crate) fn clock_bound_ns(&self) -> anyhow::Result<Option<u64>> {
        match (&self.ranks, &self.clocks) {
            (Some(ranks), Some(clocks)) => clocks.bound_ns(ranks, self.members.len()).map(Some),
            _ => Ok(None),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.members.is_empty()
    }

    /// A phase begins: what is counted of it is counted anew, however many works it has.
    pub(crate) fn begin_phase(&mut self) -> anyhow::Result<()> {
        self.members.iter_mut().try_for_each(Member::begin_phase)
    }

    /// Does `work` here while all others do theirs, from one moment on; gives what each did, the own work first.
    /// `work` ends early when one of the others is lost.
    pub(crate) fn with<T>(
        &mut self,
        paced: Paced,
        cancel: &Arc<AtomicBool>,
        work: impl FnOnce(&Paced) -> anyhow::Result<T>,
    ) -> anyhow::Result<(T, Vec<Driven>)> {
        let (own, theirs) = self.beside(paced, cancel, |paced, _| work(paced))?;
        Ok((own, theirs.collect(cancel)?))
    }

    /// The same where the others work until `work` has ended. `work` may set the flag that it is given with its pace;
    /// meanwhile it is what brings the others what their disk group's owner tells.
    pub(crate) fn as_long_as<T>(
        &mut self,
        paced: Paced,
        cancel: &Arc<AtomicBool>,
        work: impl FnOnce(&Paced, &mut Followers<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<(T, Vec<Driven>)> {
        let (own, theirs) = self.beside(paced, cancel, work)?;
        for member in theirs.0.iter_mut() {
            member.stop()?;
        }
        Ok((own, theirs.collect(cancel)?))
    }

    /// Where there are no others, nothing waits for a moment.
    fn beside<T>(
        &mut self,
        paced: Paced,
        cancel: &Arc<AtomicBool>,
        work: impl FnOnce(&Paced, &mut Followers<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<(T, Followers<'_>)> {
        let at = (!self.is_none()).then(|| targets::monotonic_ns() + LEAD_NS);
        let mut paced = Paced { at, ..paced };
        for member in &mut self.members {
            let offset = member.offset(self.clocks.as_ref())?;
            member.tell(Order::Work(Asked::of(&paced).on(offset)?))?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        paced.pacing.cancel = Some(stop.clone());
        let over = AtomicBool::new(false);
        let mut silences: Vec<Silence> = self.members.iter().map(Member::silence).collect();
        let mut followers = Followers(&mut self.members, self.clocks.as_ref());
        let own = std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                while !signals::is_set(&over) {
                    if signals::is_set(cancel) || silences.iter_mut().any(Silence::is_lost) {
                        stop.store(true, Ordering::Relaxed);
                        return;
                    }
                    std::thread::park_timeout(LOOK);
                }
            });
            let over = signals::SetWhenGone(&over);
            let worked = work(&paced, &mut followers);
            drop(over);
            // What it would sleep on would count as the drain's.
            watch.thread().unpark();
            worked
        });
        signals::check(cancel)?;
        // Where both failed, the own error is as good as the other, and it has its causes.
        let own = own?;
        // Those that work on are not waited for when one is missing.
        if let Some(lost) = followers.0.iter_mut().find(|member| member.is_lost()) {
            return Err(lost.lost());
        }
        Ok((own, followers))
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
                Answer::Settled(settled) => member.settles(*settled)?,
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

    /// Checkpoints of the worker with the fewest, between the two times when they settled last.
    pub(crate) fn checkpoints_least(&self) -> Option<u64> {
        let each = self.members.iter().map(|member| member.settled.checkpoints_least);
        each.min()
    }

    /// Distinct pages that the phase changed and that came home when they settled last, of all of them.
    pub(crate) fn overwritten_pages(&self) -> u64 {
        self.members.iter().map(|member| member.settled.overwritten_pages).sum()
    }
}

/// The others while they work, as the owner of their disk group sees them.
pub(crate) struct Followers<'a>(&'a mut [Member], Option<&'a Clocks>);

impl Followers<'_> {
    /// Brings notices and answers a part of their way.
    pub(crate) fn carry(&mut self) -> anyhow::Result<()> {
        self.0.iter_mut().try_for_each(Member::carry)
    }

    /// Until all have followed what they were told; one that is lost is not waited for.
    pub(crate) fn bring_up_to_date(&mut self, cancel: &AtomicBool) -> anyhow::Result<()> {
        while !self.0.iter().all(Member::knows_all) && !self.0.iter().any(Member::is_lost) {
            signals::check(cancel)?;
            self.carry()?;
            std::thread::sleep(CARRY);
        }
        Ok(())
    }

    /// What each did.
    fn collect(self, cancel: &AtomicBool) -> anyhow::Result<Vec<Driven>> {
        let clocks = self.1;
        let answer = |member: &mut Member| match member.answer(cancel)? {
            Answer::Worked(worked) => {
                let driven = worked.on_our_clock(member.offset(clocks)?)?.driven();
                driven.map_err(|what| member.impossible(&what))
            }
            _ => Err(member.unexpected()),
        };
        self.0.iter_mut().map(answer).collect()
    }
}

impl Drop for Others {
    /// All end at once, and then each is waited for.
    fn drop(&mut self) {
        self.members.iter_mut().for_each(Member::let_go);
    }
}
