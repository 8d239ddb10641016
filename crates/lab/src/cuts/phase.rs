//! A phase of kind `power_cut` or `kill`: work, its end at a moment that the seed chooses, everything taken down hard,
//! what survived brought up, and every acknowledgement looked up. Again and again, on every database alike.
//!
//! Takes a database whose work can be ended; gives counts and the list of what was lost. Prevents: durability that is
//! believed because nobody pulled the plug, and a cut that is another thing on another database.

use crate::causes;
use crate::cuts::ending::{Ending, Gone};
use crate::cuts::sums::{Cut, Sum, VolumeBack};
use crate::host::stand::Stand;
use crate::not_kept;
use crate::signals;
use crate::trial::around::{After, Around};
use anyhow::Context;
use ledger::Ledger;
use plan::{End, Phase, PowerCut};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stacks::Journal;
use std::time::{Duration, Instant};

/// A database whose work is ended again and again.
pub(crate) trait Ended {
    /// Work, its end after this time, down, up, look.
    fn end_once(&mut self, cut: &PowerCut, after: Duration, chance: &mut Xoshiro256PlusPlus) -> anyhow::Result<Cut>;

    /// After an end that nothing survived: the stack and the database again from the beginning.
    fn make_anew(&mut self) -> anyhow::Result<()>;

    /// Waits until the stack has put right what the ends left.
    fn settle(&mut self) -> anyhow::Result<()>;
}

/// Runs a phase and records it.
pub(crate) fn run(
    around: &Around<'_>,
    ledger: &mut Ledger,
    ordinal: usize,
    database: &mut dyn Ended,
) -> anyhow::Result<After> {
    let phase = &around.study.phases[ordinal];
    let Some(cut) = phase.kind.cut() else {
        anyhow::bail!("{} is no power cut and no kill", phase.name)
    };
    let chance = Xoshiro256PlusPlus::seed_from_u64(around.turn.block.seed ^ (ordinal as u64 + 1) << 40);
    let began = Instant::now();
    around.recorded(ledger, ordinal, || {
        let mut sum = Sum::of(cut.end);
        let worked = all(&mut sum, around, (phase, cut), chance, database);
        sum.ended(worked, began.elapsed())
    })
}

/// All cuts or kills of a phase; what was found by then stays where one of them fails.
fn all(
    sum: &mut Sum,
    around: &Around<'_>,
    (phase, cut): (&Phase, &PowerCut),
    mut chance: Xoshiro256PlusPlus,
    database: &mut dyn Ended,
) -> anyhow::Result<()> {
    for nth in 0..cut.cuts {
        signals::check(around.turn.cancel)?;
        around.doing(phase, &format!(" · {} {} of {}", cut.end.noun(), nth + 1, cut.cuts));
        let window = cut.latest.0 - cut.earliest.0;
        let after = Duration::from_nanos(cut.earliest.0 + chance.next_u64() % (window + 1));
        let ended = database.end_once(cut, after, &mut chance)?;
        let is_down = ended.found.is_err();
        sum.cuts.push(ended);
        if is_down {
            database.make_anew().with_context(|| sum.last_words())?;
        }
    }
    let settled = database.settle();
    signals::check(around.turn.cancel)?;
    settled
}

/// How a stack came back.
pub(crate) struct Back<T> {
    pub(crate) gone: Gone,
    pub(crate) up_ns: u64,
    /// `Err`: nothing came up, and why.
    pub(crate) found: Result<T, String>,
    /// How its volume came back.
    pub(crate) volume: VolumeBack,
}

/// Takes down what the end of the work left standing, brings up what survived, and looks at it.
pub(crate) fn come_back<T>(
    ending: &Ending<'_>,
    (stand, journal): (&Stand, &Journal),
    loss_seed: u64,
    look: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<Back<T>> {
    let down = Instant::now();
    let gone = ending.take_down(stand, loss_seed)?;
    let up = ending.bring_up(stand, journal).map_err(anyhow::Error::from);
    let found = match up.and_then(|()| look()) {
        Ok(found) => Ok(found),
        Err(error) if not_kept::is_loss(&error) => Err(causes::chain(&error)),
        Err(error) => return Err(error.context(format!("come back after a {}", ending.kind().noun()))),
    };
    let up_ns = down.elapsed().as_nanos() as u64;
    let mut volume = VolumeBack::default();
    if ending.kind() == End::PowerCut && found.is_ok() {
        volume.without = stacks::lost_members(&stand.built);
        // With a LUN missing nothing is put right.
        if volume.without.is_none() {
            volume.stale_parity = stacks::stale_parity(&stand.built, journal)?;
        }
    }
    Ok(Back {
        gone,
        up_ns,
        found,
        volume,
    })
}
