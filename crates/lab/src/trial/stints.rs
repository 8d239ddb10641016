//! Stacks that stand side by side take turns: each phase in stints, round after round, the others at rest meanwhile.
//!
//! Takes the sides of one block, loaded and warm, and the schedule; gives each side's phases to the ledger, one
//! record a phase, as if it had run in one piece: work over the time of its own stints, counts added, levels at their
//! highest. A stint ends as a phase does where something was changed, so that no side writes in another's time.
//!
//! Prevents: a drift of the machine that is taken for a difference of stacks, and a stint that is taken for a repeat
//! (the block stays what is counted).

use crate::kinds::{self, OnPages};
use crate::record::unix_ns;
use crate::signals;
use crate::surroundings::Seen;
use crate::trial::around::{After, Around, phase_seed};
use crate::trial::done::Done;
use crate::trial::drive::Driven;
use crate::trial::extents::record_extents;
use crate::trial::on_pages::{InStints, Paused, Stint};
use crate::trial::phases::{End, Loaded, Piece};
use crate::trial::seen_in_stints;
use anyhow::Context;
use ledger::{Ledger, Sample};
use pages::Files;
use plan::{Duration, Phase, Stints};
use workloads::Outcome;

/// Share of their time by which stints may last longer.
const LONGER_MAX: f64 = 0.1;

/// How it goes on after a stint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    On,
    /// The phase has come to its end by itself.
    Through,
    /// No space is left.
    Full,
}

/// All phases of one block on the sides that take part in it, in the order of `sides`.
pub(crate) fn block(sides: &mut [Standing<'_>], stints: &Stints, ledger: &mut Ledger) -> anyhow::Result<()> {
    let Some(study) = sides.first().map(|side| side.loaded.around.study) else {
        return Ok(());
    };
    let mut takes_part = vec![true; sides.len()];
    for (ordinal, phase) in study.phases.iter().enumerate() {
        let work = in_stints(phase)?;
        let began = unix_ns();
        for (side, _) in sides.iter_mut().zip(&takes_part).filter(|(_, takes_part)| **takes_part) {
            side.begin(phase)?;
        }
        let failed = rounds(sides, &takes_part, stints, (ordinal, work))?;
        if let Some((nth, error)) = failed {
            // The others have not finished theirs.
            sides[nth].loaded.around.record(ledger, ordinal, began, Err(error))?;
            anyhow::bail!("{}: a stint failed for want of space outside its work", phase.name);
        }
        for (side, takes_part) in sides
            .iter_mut()
            .zip(&mut takes_part)
            .filter(|(_, takes_part)| **takes_part)
        {
            let done = side.end(phase, work);
            *takes_part = side.loaded.around.record(ledger, ordinal, began, done)? == After::Next;
        }
    }
    Ok(())
}

/// The work of a phase, which the plan lets stacks take turns in.
fn in_stints(phase: &Phase) -> anyhow::Result<&dyn InStints> {
    let work = match kinds::of(&phase.kind).on_pages() {
        OnPages::Work(work) => work.in_stints(),
        OnPages::Copy | OnPages::Cut | OnPages::Nothing => None,
    };
    work.with_context(|| format!("{}: it cannot be interrupted", phase.name))
}

/// Round after round until nobody has anything to do, or somebody failed; gives who, and why.
fn rounds(
    sides: &mut [Standing<'_>],
    takes_part: &[bool],
    stints: &Stints,
    (ordinal, work): (usize, &dyn InStints),
) -> anyhow::Result<Option<(usize, anyhow::Error)>> {
    let Around { study, turn, .. } = *sides[0].loaded.around;
    let phase = &study.phases[ordinal];
    let (rounds, time) = stints.of_phase(phase);
    let mut goes: Vec<bool> = takes_part.to_vec();
    let mut round = 0;
    while rounds.is_none_or(|rounds| round < rounds) && goes.contains(&true) {
        let order = plan::round(phase_seed(turn.block.seed, ordinal), sides.len(), round);
        for nth in order {
            if !goes[nth] {
                continue;
            }
            signals::check(turn.cancel)?;
            let moment = sides.iter_mut().map(|side| side.now()).max().unwrap_or(0);
            let side = &mut sides[nth];
            side.rest_until(moment);
            side.loaded.around.doing(phase, &how_far(round, rounds));
            match side.stint(work, ordinal, round, time) {
                Ok(after) => goes[nth] = after == Goes::On,
                Err(error) => return Ok(Some((nth, error))),
            }
        }
        round += 1;
    }
    signals::check(turn.cancel)?;
    Ok(None)
}

/// A round counted from 0, of so many where their number is fixed.
fn how_far(round: u32, rounds: Option<u32>) -> String {
    let of = rounds.map_or_else(String::new, |rounds| format!(" of {rounds}"));
    format!(" · round {}{of}", round + 1)
}

/// A stack that stands loaded, and works when it is its turn.
pub(crate) struct Standing<'a> {
    loaded: Loaded<'a>,
    /// Others whose memory is this process's too.
    others: usize,
    pieces: Vec<Piece>,
    /// Wall time at which each stint began.
    began: Vec<u64>,
    paused: Paused,
    is_full: bool,
    /// Time that the stints of the phase should have lasted.
    asked_ns: u64,
}

impl<'a> Standing<'a> {
    /// A stack that is loaded and has others beside it.
    pub(crate) fn new(loaded: Loaded<'a>, others: usize) -> Standing<'a> {
        Standing {
            loaded,
            others,
            pieces: Vec::new(),
            began: Vec::new(),
            paused: None,
            is_full: false,
            asked_ns: 0,
        }
    }
}

impl Standing<'_> {
    /// A phase begins.
    fn begin(&mut self, phase: &Phase) -> anyhow::Result<()> {
        self.pieces.clear();
        self.began.clear();
        self.paused = None;
        self.asked_ns = 0;
        self.loaded.expect(phase)
    }

    /// Its turn. Whether it has more to do in this phase.
    fn stint(&mut self, work: &dyn InStints, ordinal: usize, number: u32, time: Duration) -> anyhow::Result<Goes> {
        let Around { study, turn, .. } = *self.loaded.around;
        let stint = Stint {
            phase: &study.phases[ordinal],
            time,
            // The same on all stacks in one round, another in each.
            seed: phase_seed(turn.block.seed, ordinal) ^ (u64::from(number) + 1).rotate_right(24),
            cancel: turn.cancel,
        };
        let mut through = false;
        self.began.push(unix_ns());
        let paused = &mut self.paused;
        let piece = self.loaded.observed(End::AfterChanges, |instance, _| {
            let (driven, ended) = work.stint(instance, &stint, paused)?;
            through = ended;
            Ok(driven)
        })?;
        let full = piece.full.is_some();
        self.is_full |= full;
        self.asked_ns += time.0;
        self.pieces.push(piece);
        Ok(match (full, through) {
            (true, _) => Goes::Full,
            (false, true) => Goes::Through,
            (false, false) => Goes::On,
        })
    }

    /// The phase is over.
    fn end(&mut self, phase: &Phase, work: &dyn InStints) -> anyhow::Result<Done> {
        let pieces = std::mem::take(&mut self.pieces);
        let mut whole = joined(pieces, &self.began, self.others).context("a phase without a stint")?;
        whole
            .seen
            .notes
            .extend(too_short(phase, whole.elapsed_ns, self.asked_ns));
        Ok(self.loaded.done(work, whole, Vec::new()))
    }

    /// The time on its clock.
    pub(crate) fn now(&mut self) -> u64 {
        self.loaded.now()
    }

    /// All phases are over: how its data files lie now.
    pub(crate) fn leave(&mut self, ledger: &mut Ledger, files: &Files) -> anyhow::Result<()> {
        let asked = record_extents(
            &mut self.loaded.instance,
            files,
            self.loaded.around.trial,
            ledger,
            "at the end",
        );
        // A full file system may refuse even to say where its files lie.
        if self.is_full { Ok(()) } else { asked }
    }

    /// It has rested until then: a clock of its own is set, another goes by itself.
    fn rest_until(&mut self, moment: u64) {
        for port in self.loaded.instance.ports_mut() {
            port.rest_until(moment);
        }
    }
}

/// Stints that are for a good part the wait for what is under way when their time is over: fewer requests are in
/// flight then, and the slower a stack, the longer it waits.
fn too_short(phase: &Phase, lasted_ns: u64, asked_ns: u64) -> Option<String> {
    let share = lasted_ns as f64 / asked_ns.max(1) as f64 - 1.0;
    (share > LONGER_MAX).then(|| {
        format!(
            "{}: its stints lasted {:.0} % longer than asked, waiting for what was under way, \
             which brings stacks closer together; use a longer `stint`",
            phase.name,
            share * 100.0
        )
    })
}

/// Stints as one piece of work on the stack's own clock.
fn joined(pieces: Vec<Piece>, began: &[u64], others: usize) -> Option<Piece> {
    let (mut outcomes, mut seen, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    let (mut user_scans, mut counters, mut full) = (Vec::new(), pages::Counters::default(), None);
    let (mut elapsed_ns, mut drain_ns, mut checkpoints_least) = (0, 0, 0);
    let first = *began.first()?;
    for (mut piece, began) in pieces.into_iter().zip(began) {
        samples.extend(stint_samples(&piece, elapsed_ns, began.saturating_sub(first)));
        for sample in &mut piece.seen.samples {
            sample.at_ns += elapsed_ns;
        }
        let most_dirty = counters.dirty_pages_max.max(piece.counters.dirty_pages_max);
        counters = counters + piece.counters;
        counters.dirty_pages_max = most_dirty;
        seen.push((piece.seen, piece.elapsed_ns + piece.drain_ns));
        elapsed_ns += piece.elapsed_ns;
        drain_ns += piece.drain_ns;
        checkpoints_least += piece.checkpoints_least;
        full = full.or(piece.full);
        if let Some(driven) = piece.driven {
            // Of scans each stint knows all so far.
            user_scans = driven.user_scans;
            outcomes.push(driven.outcome);
        }
    }
    let mut seen: Seen = seen_in_stints::joined(seen, others);
    seen.samples.extend(samples);
    let driven = (!outcomes.is_empty() && full.is_none()).then(|| {
        let own = OwnClock::of(&outcomes);
        for scan in &mut user_scans {
            (scan.began, scan.ended) = (own.at(scan.began), own.at(scan.ended));
        }
        Driven {
            outcome: workloads::in_stints(outcomes),
            user_scans,
        }
    });
    Some(Piece {
        elapsed_ns: driven.as_ref().map_or(elapsed_ns, |driven| driven.outcome.elapsed_ns),
        driven,
        counters,
        checkpoints_least,
        drain_ns,
        seen,
        instances: Vec::new(),
        full,
    })
}

/// One stint in the series that are kept of a phase, at its end on the stack's own clock.
fn stint_samples(piece: &Piece, before_ns: u64, after_first_ns: u64) -> Vec<Sample> {
    let row = |name: &str, value: f64| Sample {
        at_ns: before_ns + piece.elapsed_ns,
        name: format!("stint.{name}"),
        value,
    };
    let count = piece
        .driven
        .as_ref()
        .map_or((0, 0), |d| (d.outcome.count(), d.outcome.units()));
    vec![
        row("began_ns", after_first_ns as f64),
        row("elapsed_ns", piece.elapsed_ns as f64),
        row("drain_ns", piece.drain_ns as f64),
        row("operations", count.0 as f64),
        row("units", count.1 as f64),
    ]
}

/// A stack's own clock, which stands still between its stints.
struct OwnClock {
    /// Begin, end, and the time of all stints before.
    stints: Vec<(u64, u64, u64)>,
}

impl OwnClock {
    fn of(outcomes: &[Outcome]) -> OwnClock {
        let mut before = 0;
        let stint = |outcome: &Outcome| {
            let stint = (outcome.began, outcome.ended, before);
            before += outcome.elapsed_ns;
            stint
        };
        OwnClock {
            stints: outcomes.iter().map(stint).collect(),
        }
    }

    /// A moment of the machine's clock, as one that counts from the first stint's begin.
    fn at(&self, moment: u64) -> u64 {
        let first = self.stints.first().map_or(0, |first| first.0);
        let last = self.stints.iter().rev().find(|(began, ..)| *began <= moment);
        last.map_or(first, |(began, ended, before)| {
            first + before + moment.min(*ended) - began
        })
    }
}
