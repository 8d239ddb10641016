//! What one seed of an owner and another instance does: crashes of either or both while extents move, each followed by
//! a mount that must find everything; and a rebalance that is cut at a given place.

use super::arm;
use crate::machine::life::Trouble;
use crate::machine::oracle::Oracle;
use crate::machine::pair::{OTHER, OWNER, Pair};
use crate::machine::scenario::{AU, Scenario, below};
use crate::machine::{Machine, say};
use diskgroup::Redundancy;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::{AtomicU64, Ordering};
use targets::{Disks, PowerFails};

/// Steps in which a rebalance must be done.
const STEPS_MAX: usize = 60_000;

/// Two or three disks, as many in reserve, and so little space that what was freed is taken again at once.
fn scenario(seed: u64) -> Scenario {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5a12);
    let members = 2 + below(&mut rng, 2) as usize;
    let journal_blocks = [32, 40, 64][below(&mut rng, 3) as usize];
    // Header, root and table have two units, the journal a quarter of its blocks.
    let units = 50 + u64::from(journal_blocks) / 4 + below(&mut rng, 12);
    let disks = members + 2;
    Scenario {
        redundancy: Redundancy::External,
        sizes: vec![units * AU + 4096; disks],
        members,
        groups: (0..disks).map(|nth| format!("fg{nth}")).collect(),
        journal_blocks,
        lives: 2 + below(&mut rng, 2) as usize,
        steps: 200 + below(&mut rng, 500) as usize,
        ports: 1 + below(&mut rng, 2) as usize,
    }
}

/// How a life ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The power fails at a write or a flush.
    Cut,
    /// The owner is killed, and after some work of its own the other instance too.
    OwnerKilled,
    /// Both are killed.
    BothKilled,
}

pub(crate) const COUNTED: [&str; 4] = [
    "power cuts",
    "kills of the owner",
    "kills of both",
    "kills of the other",
];
static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

fn count(what: usize) {
    COUNTS[what].fetch_add(1, Ordering::Relaxed);
}

/// Crashes so far, by [`COUNTED`].
pub(crate) fn crashes() -> [u64; 4] {
    [0, 1, 2, 3].map(|what| COUNTS[what].load(Ordering::Relaxed))
}

/// Some lives of a group with two instances.
pub(crate) fn sharing_seed(seed: u64) -> Result<(), String> {
    let scenario = scenario(seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7e12);
    let machine = Machine::new(Disks::new(&scenario.sizes), seed);
    let mut pair = Pair::create(&scenario, machine, seed).map_err(|trouble| format!("create: {trouble:?}"))?;
    for life in 0..scenario.lives as u64 {
        let end = [End::Cut, End::Cut, End::OwnerKilled, End::BothKilled][below(&mut rng, 4) as usize];
        say(|| format!("life {life} ends by {end:?}"));
        if end == End::Cut {
            arm(&pair.machine, &mut rng);
        }
        let went = work(&mut pair, scenario.steps, end, &mut rng);
        let was_cut = matches!(went, Err(Trouble::Cut));
        if let Err(Trouble::Wrong(what)) = went {
            return Err(format!("life {life}: {what}"));
        }
        count(if was_cut || end == End::Cut { 0 } else { end as usize });
        let (machine, oracle) = pair.end();
        pair = recovered(
            &scenario,
            (machine, oracle),
            was_cut || end == End::Cut,
            seed ^ life << 8,
            &mut rng,
        )
        .map_err(|what| format!("after life {life}, {end:?}: {what}"))?;
    }
    come_to_rest(pair, &scenario, seed).map_err(|trouble| format!("at the end: {trouble:?}"))
}

fn work(pair: &mut Pair<'_>, steps: usize, end: End, rng: &mut Xoshiro256PlusPlus) -> Result<(), Trouble> {
    pair.join()?;
    for _ in 0..steps {
        if below(rng, 150) == 0 && pair.is_there(OTHER) {
            pair.kill(OTHER);
            count(3);
        }
        pair.step()?;
    }
    if end == End::OwnerKilled {
        pair.kill(OWNER);
        for _ in 0..below(rng, 200) {
            pair.step()?;
        }
    }
    Ok(())
}

/// A new owner mounts, perhaps with the power failing in the middle of that.
fn recovered<'a>(
    scenario: &'a Scenario,
    (machine, mut oracle): (Machine, Oracle),
    cut: bool,
    seed: u64,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Pair<'a>, String> {
    let mut machine = machine;
    let mut cut = cut;
    for attempt in 0..3 {
        machine = match cut {
            true => Machine::new(machine.cut(seed ^ attempt), seed ^ 0x33 ^ attempt),
            false => machine,
        };
        machine.quiet();
        if below(rng, 4) == 0 && attempt == 0 {
            arm(&machine, rng);
        }
        match Pair::recover(scenario, machine.clone(), &mut oracle, seed, cut) {
            Ok(pair) => {
                machine.fail_power(PowerFails::AtWrite(u64::MAX));
                return Ok(pair);
            }
            Err(Trouble::Cut) => cut = true,
            Err(Trouble::Wrong(what)) => return Err(what),
        }
    }
    Err("three mounts and none of them whole".into())
}

/// The rebalance ends while both work; then everything is there, without a crash.
fn come_to_rest(mut pair: Pair<'_>, scenario: &Scenario, seed: u64) -> Result<(), Trouble> {
    for _ in 0..scenario.steps / 2 {
        pair.step()?;
    }
    pair.rest()?;
    let (machine, mut oracle) = pair.end();
    machine.quiet();
    Pair::recover(scenario, machine, &mut oracle, seed, false).map(drop)
}

/// Where a rebalance under both is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum At {
    Power(PowerFails),
    /// So many steps after its beginning an instance is killed.
    Killed(usize, usize),
    BothKilled(usize),
}

/// What there is to cut: steps, and writes and flushes from so many to so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Course {
    pub(crate) steps: usize,
    pub(crate) writes: (u64, u64),
    pub(crate) flushes: (u64, u64),
}

/// A rebalance under both, the same for the same seed; after the cut everything must be there, the rebalance goes on to
/// its end, and both work again.
pub(crate) fn rebalance_cut(seed: u64, at: Option<At>) -> Result<Course, String> {
    let scenario = scenario(seed);
    let machine = Machine::new(Disks::new(&scenario.sizes), seed);
    if let Some(At::Power(fails)) = at {
        machine.fail_power(fails);
    }
    let mut pair = Pair::create(&scenario, machine.clone(), seed).map_err(|trouble| format!("create: {trouble:?}"))?;
    let mut course = Course {
        steps: 0,
        writes: (0, 0),
        flushes: (0, 0),
    };
    let went = rebalance(&mut pair, at, &mut course);
    (course.writes.1, course.flushes.1) = machine.asked();
    match (went, at) {
        // The last flushes may end after it.
        (Ok(()), Some(At::Power(PowerFails::AtWrite(_) | PowerFails::AtFlush(_)))) => {
            return Err("the power did not fail".into());
        }
        (Ok(()), _) | (Err(Trouble::Cut), _) => {}
        (Err(Trouble::Wrong(what)), _) => return Err(what),
    }
    let cut = !matches!(at, None | Some(At::Killed(..) | At::BothKilled(_)));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let all = pair.end();
    let mut pair = recovered(&scenario, all, cut, seed, &mut rng)?;
    let again = |trouble| format!("afterwards: {trouble:?}");
    pair.rest().map_err(again)?;
    pair.join().map_err(again)?;
    come_to_rest(pair, &scenario, seed).map_err(again)?;
    Ok(course)
}

fn rebalance(pair: &mut Pair<'_>, at: Option<At>, course: &mut Course) -> Result<(), Trouble> {
    while !pair.is_there(OTHER) {
        pair.join()?;
        pair.rest()?;
    }
    (course.writes.0, course.flushes.0) = pair.machine.asked();
    while !pair.is_rebalancing() {
        pair.change_disks()?;
    }
    while pair.is_rebalancing() {
        match at {
            Some(At::Killed(OWNER, step)) if step == course.steps => {
                pair.kill(OWNER);
                (0..40).try_for_each(|_| pair.step())?;
                return Ok(());
            }
            Some(At::Killed(nth, step)) if step == course.steps => pair.kill(nth),
            Some(At::BothKilled(step)) if step == course.steps => return Ok(()),
            _ => {}
        }
        pair.step()?;
        course.steps += 1;
        if course.steps > STEPS_MAX {
            return Err(Trouble::Wrong("the rebalance never ends".into()));
        }
    }
    Ok(())
}
