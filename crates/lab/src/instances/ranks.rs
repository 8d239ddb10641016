//! The other hosts of a run, and their clocks.
//!
//! Takes a rank that has joined; lends the way to each other host to one instance at a time. Prevents: two instances on
//! one host, and a moment of one clock taken for a moment of another.

use crate::instances::letters::Outbox;
use anyhow::{Context, ensure};
use hosts::{Cause, HasMpi, Host, HostFacts, Incoming, Offset, Reading};
use ledger::HostRow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The hosts of a run, as rank 0 has them.
#[derive(Clone, Debug)]
pub struct Ranks {
    shared: Arc<Shared>,
    /// A program without MPI carries no code for other hosts.
    _has_mpi: HasMpi,
}

#[derive(Debug)]
struct Shared {
    host: Mutex<Option<Host>>,
    /// Of rank 1 and so on; `None`: an instance has it.
    seats: Mutex<Vec<Option<Seat>>>,
    facts: Vec<HostFacts>,
    /// Why all ranks end.
    over: Arc<OnceLock<Cause>>,
}

/// Both ways to another host.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) rank: u32,
    pub(super) to: Outbox,
    pub(super) from: Incoming,
}

impl Ranks {
    /// All hosts that have joined. `over` is set when all ranks end, with the reason: nobody is waited for then.
    pub fn new(mut host: Host, over: Arc<OnceLock<Cause>>) -> Ranks {
        let seat = |link: hosts::Link| Seat {
            rank: link.rank,
            to: Outbox::new(link.to),
            from: link.from,
        };
        let seats = host.links().into_iter().map(|link| Some(seat(link))).collect();
        let (facts, has_mpi) = (host.facts().to_vec(), host.has_mpi());
        let shared = Shared {
            host: Mutex::new(Some(host)),
            seats: Mutex::new(seats),
            facts,
            over,
        };
        Ranks {
            shared: Arc::new(shared),
            _has_mpi: has_mpi,
        }
    }

    /// How many hosts there are, this one too.
    pub fn count(&self) -> u32 {
        self.shared.facts.len() as u32
    }

    /// The first two ranks that are on one host, and its name.
    pub fn on_one_host(&self) -> Option<(u32, u32, &str)> {
        let facts = &self.shared.facts;
        let (first, second) = hosts::on_one_host(facts)?;
        Some((first, second, facts.get(first as usize)?.host.as_str()))
    }

    /// What each host is, by rank.
    pub(crate) fn rows(&self) -> Vec<HostRow> {
        let row = |(rank, facts): (u32, &HostFacts)| HostRow {
            rank,
            host: facts.host.clone(),
            kernel: facts.kernel.clone(),
            cores: facts.cores,
            usable: facts.usable,
            binary: facts.binary.clone(),
        };
        (0..).zip(&self.shared.facts).map(row).collect()
    }

    /// All is done: waits for the others, and ends MPI in order.
    pub fn part(&self) {
        self.seats().clear();
        if let Some(host) = self.host().take() {
            host.part();
        }
    }

    /// The host of the instance of this number, from 2 on.
    pub(super) fn take(&self, number: u32) -> anyhow::Result<Seat> {
        let mut seats = self.seats();
        let count = seats.len() + 1;
        let seat = seats.get_mut(number as usize - 2).and_then(Option::take);
        seat.with_context(|| {
            format!(
                "instance {number} has no host: there are {count}, or the last instance there has not ended\n  start \
                 as many ranks as a stack has instances"
            )
        })
    }

    /// Whether all ranks end.
    pub(super) fn are_over(&self) -> bool {
        self.why_over().is_some()
    }

    /// Why all ranks end, if they do.
    pub(crate) fn why_over(&self) -> Option<Cause> {
        self.shared.over.get().copied()
    }

    /// Nothing is on this host any more.
    pub(super) fn give_back(&self, seat: Seat) {
        let nth = seat.rank as usize - 1;
        if let Some(place) = self.seats().get_mut(nth) {
            *place = Some(seat);
        }
    }

    /// The clock of each other host, by rank from 1 on. It takes some milliseconds for each.
    pub(super) fn read_clocks(&self) -> anyhow::Result<Vec<Reading>> {
        let host = self.host();
        Ok(host.as_ref().context("hosts that have not parted")?.read_clocks()?)
    }

    fn host(&self) -> MutexGuard<'_, Option<Host>> {
        let host = self.shared.host.lock();
        host.unwrap_or_else(PoisonError::into_inner)
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Option<Seat>>> {
        let seats = self.shared.seats.lock();
        seats.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clocks of the other hosts in one phase.
#[derive(Debug)]
pub(crate) struct Clocks {
    before: Vec<Reading>,
}

impl Clocks {
    /// Before a phase.
    pub(super) fn read(ranks: &Ranks) -> anyhow::Result<Clocks> {
        Ok(Clocks {
            before: ranks.read_clocks()?,
        })
    }

    /// The clock of the host of this instance.
    pub(super) fn of(&self, number: u32) -> anyhow::Result<Offset> {
        let reading = self.before.get((number as usize).wrapping_sub(2));
        Ok(reading.context("the clock of an instance's host")?.offset)
    }

    /// How far from the truth a time of another host may be that was brought to this clock by the first reading, in
    /// nanoseconds: the bound over the whole phase, and how far its middle is from that reading. Of the hosts of so
    /// many `others`: no instance is on the hosts behind them.
    pub(super) fn bound_ns(&self, ranks: &Ranks, others: usize) -> anyhow::Result<u64> {
        self.bound_until(&ranks.read_clocks()?, others)
    }

    fn bound_until(&self, after: &[Reading], others: usize) -> anyhow::Result<u64> {
        let are_read = after.len() == self.before.len() && after.len() >= others;
        ensure!(are_read, "a host's clock was not read");
        let both = self.before.iter().zip(after).take(others);
        Ok(both.map(|(before, after)| bound(before, after)).max().unwrap_or(0))
    }
}

fn bound(before: &Reading, after: &Reading) -> u64 {
    let over = Reading::over_phase(before, after).offset;
    over.bound_ns
        .saturating_add(over.offset_ns.abs_diff(before.offset.offset_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(offset_ns: i64, bound_ns: u64) -> Reading {
        Reading {
            at: 0,
            offset: Offset { offset_ns, bound_ns },
            round_trip_ns: 2 * bound_ns,
        }
    }

    /// Whatever the true offset was at any time of the phase, the first reading is no farther from it.
    #[test]
    fn the_bound_holds_for_the_first_reading_and_grows_with_the_drift() {
        assert_eq!(bound(&reading(1000, 20), &reading(1000, 20)), 20);
        let (before, after) = (reading(1000, 20), reading(1400, 30));
        let furthest = after.offset.offset_ns + 30 - before.offset.offset_ns;
        assert!(bound(&before, &after) as i64 >= furthest);
        assert!(bound(&before, &after) as i64 <= furthest + 1);
    }

    /// A study of stacks with two and with four instances has four ranks: the clock of rank 3 is none of the first's.
    #[test]
    fn the_clocks_of_hosts_without_an_instance_do_not_count() {
        let clocks = Clocks {
            before: vec![reading(0, 20), reading(0, 30), reading(0, 9_000)],
        };
        let after = [reading(0, 20), reading(5, 30), reading(0, 9_000)];
        let of = |others| clocks.bound_until(&after, others).unwrap();
        assert_eq!(of(1), 20);
        assert!((30..9_000).contains(&of(2)), "{}", of(2));
        assert_eq!(of(3), 9_000);
        assert!(clocks.bound_until(&after[..2], 1).is_err() && clocks.bound_until(&after, 4).is_err());
    }
}
