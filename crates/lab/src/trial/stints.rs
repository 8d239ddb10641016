//! Stacks that stand side by side take turns: each phase in stints, round after round, the others at rest meanwhile.
//!
//! Takes the sides of one block, loaded and warm, and the schedule; gives each side's phases to the ledger, one record a phase, as
//! if it had run in one piece: work over the time of its own stints, counts added, levels at their highest. A stint ends as a phase
//! does where something was changed, so that no side writes in another's time.
//!
//! Prevents: a drift of the machine that is taken for a difference of stacks, and a stint that is taken for a repeat (the block
//! stays what is counted).

use crate::ports::PageEngine;
use crate::record::unix_ns;
use crate::signals;
use crate::surroundings::{Seen, Surroundings};
use crate::trial::around::{After, Around, Done, phase_seed};
use crate::trial::drive::{self, Driven};
use crate::trial::extents::record_extents;
use crate::trial::phases::{self, End, Piece};
use crate::trial::seen_in_stints;
use anyhow::Context;
use ledger::{Ledger, Sample};
use pages::{Files, PausedScan, ScanOperation};
use plan::{Duration, Phase, PhaseKind, Stints};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::{Outcome, in_stints};

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
pub(crate) fn block(
    sides: &mut [Standing<'_>],
    stints: &Stints,
    phases: &[Phase],
    seed: u64,
    ledger: &mut Ledger,
    cancel: &AtomicBool,
) -> anyhow::Result<()> {
    let mut takes_part = vec![true; sides.len()];
    for (ordinal, phase) in phases.iter().enumerate() {
        let began = unix_ns();
        for (side, _) in sides.iter_mut().zip(&takes_part).filter(|(_, takes_part)| **takes_part) {
            side.begin(phase);
        }
        let failed = rounds(sides, &takes_part, (stints, phase, ordinal), seed, cancel)?;
        if let Some((nth, error)) = failed {
            // The others have not finished theirs.
            sides[nth].around.record(ledger, phase, ordinal, began, Err(error))?;
            anyhow::bail!("{}: a stint failed for want of space outside its work", phase.name);
        }
        for (nth, side) in sides.iter_mut().enumerate() {
            if !takes_part[nth] {
                continue;
            }
            let done = side.end(phase);
            if side.around.record(ledger, phase, ordinal, began, done)? == After::Full {
                takes_part[nth] = false;
                side.around.turn.progress.advance((phases.len() - ordinal - 1) as u64);
            }
        }
    }
    Ok(())
}

/// Round after round until nobody has anything to do, or somebody failed; gives who, and why.
fn rounds(
    sides: &mut [Standing<'_>],
    takes_part: &[bool],
    (stints, phase, ordinal): (&Stints, &Phase, usize),
    seed: u64,
    cancel: &AtomicBool,
) -> anyhow::Result<Option<(usize, anyhow::Error)>> {
    let (rounds, time) = stints.of_phase(phase);
    let mut goes: Vec<bool> = takes_part.to_vec();
    let mut round = 0;
    while rounds.is_none_or(|rounds| round < rounds) && goes.contains(&true) {
        let order = plan::round(phase_seed(seed, ordinal), sides.len(), round);
        for nth in order {
            if !goes[nth] {
                continue;
            }
            signals::check(cancel)?;
            let moment = sides.iter_mut().map(|side| side.now()).max().unwrap_or(0);
            let side = &mut sides[nth];
            side.rest_until(moment);
            side.around.doing(phase, &format!(" · round {}", round + 1));
            match side.stint(phase, ordinal, round, time) {
                Ok(after) => goes[nth] = after == Goes::On,
                Err(error) => return Ok(Some((nth, error))),
            }
        }
        round += 1;
    }
    signals::check(cancel)?;
    Ok(None)
}

/// A stack that stands loaded, and works when it is its turn.
pub(crate) struct Standing<'a> {
    instance: PageEngine,
    surroundings: Box<dyn Surroundings + 'a>,
    around: Around<'a>,
    /// Others whose memory is this process's too.
    others: usize,
    pieces: Vec<Piece>,
    /// Wall time at which each stint began.
    began: Vec<u64>,
    /// Scans that were interrupted, a worker each.
    scans: Option<Vec<PausedScan>>,
    is_full: bool,
    /// Time that the stints of the phase should have lasted.
    asked_ns: u64,
}

impl<'a> Standing<'a> {
    /// A stack that is loaded and has others beside it.
    pub(crate) fn new(
        instance: PageEngine,
        surroundings: Box<dyn Surroundings + 'a>,
        around: Around<'a>,
        others: usize,
    ) -> Standing<'a> {
        Standing {
            instance,
            surroundings,
            around,
            others,
            pieces: Vec::new(),
            began: Vec::new(),
            scans: None,
            is_full: false,
            asked_ns: 0,
        }
    }
}

impl Standing<'_> {
    /// A phase begins.
    fn begin(&mut self, phase: &Phase) {
        self.pieces.clear();
        self.began.clear();
        self.scans = None;
        self.asked_ns = 0;
        self.instance.count_overwritten();
        self.surroundings.expect(phase);
    }

    /// Its turn. Whether it has more to do in this phase.
    fn stint(&mut self, phase: &Phase, ordinal: usize, number: u32, time: Duration) -> anyhow::Result<Goes> {
        // The same on all stacks in one round, another in each.
        let seed = phase_seed(self.around.turn.block.seed, ordinal) ^ (u64::from(number) + 1).rotate_right(24);
        let cancel = self.around.turn.cancel;
        let scans = &mut self.scans;
        let mut through = false;
        self.began.push(unix_ns());
        let piece = phases::observed(
            &mut self.instance,
            self.surroundings.as_mut(),
            &self.around,
            End::AfterChanges,
            |instance| {
                Ok(match &phase.kind {
                    PhaseKind::Random(random) => {
                        let mut pacing = drive::random_pacing(random, Some(time), cancel);
                        pacing.slice_ns = slice_ns(phase, time);
                        let mut operations = instance.random(&drive::random_work(random), seed)?;
                        Driven {
                            outcome: drive::drive_all(&mut operations, &pacing, seed)?,
                            user_scans: Vec::new(),
                        }
                    }
                    _ => {
                        let (driven, ended) = scan(instance, phase, scans, time, seed, cancel)?;
                        through = ended;
                        driven
                    }
                })
            },
        )?;
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
    fn end(&mut self, phase: &Phase) -> anyhow::Result<Done> {
        let pieces = std::mem::take(&mut self.pieces);
        let mut whole = joined(pieces, &self.began, self.others).context("a phase without a stint")?;
        whole
            .seen
            .notes
            .extend(too_short(phase, whole.elapsed_ns, self.asked_ns));
        Ok(phases::done(&self.instance, &self.around, phase, whole, Vec::new()))
    }

    /// The time on its clock.
    pub(crate) fn now(&mut self) -> u64 {
        phases::clock(&mut self.instance)
    }

    /// All phases are over: how its data files lie now.
    pub(crate) fn leave(&mut self, ledger: &mut Ledger, files: &Files) -> anyhow::Result<()> {
        let asked = record_extents(&mut self.instance, files, self.around.trial, ledger, "at the end");
        // A full file system may refuse even to say where its files lie.
        if self.is_full { Ok(()) } else { asked }
    }

    /// It has rested until then: a clock of its own is set, another goes by itself.
    fn rest_until(&mut self, moment: u64) {
        for port in self.instance.ports_mut() {
            port.rest_until(moment);
        }
    }
}

/// Stints that are for a good part the wait for what is under way when their time is over: fewer requests are in flight then, and
/// the slower a stack, the longer it waits.
fn too_short(phase: &Phase, lasted_ns: u64, asked_ns: u64) -> Option<String> {
    let share = lasted_ns as f64 / asked_ns.max(1) as f64 - 1.0;
    (share > LONGER_MAX).then(|| {
        format!(
            "{}: its stints lasted {:.0} % longer than asked, waiting for what was under way, which brings stacks closer together; use a longer `stint`",
            phase.name,
            share * 100.0
        )
    })
}

/// Width of slices: that of the whole phase, and a stint is a whole number of them.
fn slice_ns(phase: &Phase, time: Duration) -> u64 {
    let usual = drive::slice_ns(phase.time).min(time.0);
    time.0.div_ceil(time.0.div_ceil(usual))
}

/// Scans for so long from where they were; and whether all have been read to the end.
fn scan(
    instance: &mut PageEngine,
    phase: &Phase,
    scans: &mut Option<Vec<PausedScan>>,
    time: Duration,
    seed: u64,
    cancel: &Arc<AtomicBool>,
) -> anyhow::Result<(Driven, bool)> {
    let PhaseKind::Scan(asked) = &phase.kind else {
        unreachable!("the plan takes turns in random work and scans only")
    };
    let mut pacing = drive::scan_pacing(asked, Some(time), cancel);
    pacing.slice_ns = slice_ns(phase, time);
    let mut operations = match scans.take() {
        None => instance.scan(&drive::scan_work(asked, phase), seed)?,
        Some(paused) => instance.scan_on(paused)?,
    };
    let outcome = drive::drive_all(&mut operations, &pacing, seed)?;
    let through = operations.iter().all(ScanOperation::is_through);
    let user_scans = operations.iter().flat_map(ScanOperation::user_scans).collect();
    for operation in &mut operations {
        operation.finish()?;
    }
    *scans = Some(operations.into_iter().map(ScanOperation::pause).collect());
    Ok((Driven { outcome, user_scans }, through))
}

/// Stints as one piece of work on the stack's own clock.
fn joined(pieces: Vec<Piece>, began: &[u64], others: usize) -> Option<Piece> {
    let (mut outcomes, mut seen, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    let (mut user_scans, mut counters, mut full) = (Vec::new(), pages::Counters::default(), None);
    let (mut elapsed_ns, mut drain_ns) = (0, 0);
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
            outcome: in_stints(outcomes),
            user_scans,
        }
    });
    Some(Piece {
        elapsed_ns: driven.as_ref().map_or(elapsed_ns, |driven| driven.outcome.elapsed_ns),
        driven,
        counters,
        drain_ns,
        seen,
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
