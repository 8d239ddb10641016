//! Disks that join and leave a group while random work runs: three windows of the work, and the moving beside the middle one.
//!
//! Takes an instance on the group and the group's own way to change ([`Regroup`]); gives one outcome whose classes say their
//! window ("select during"), and the figures of the move. Prevents: a rebalance measured on a group that nobody uses, and
//! latencies of three different situations in one distribution.

use crate::signals;
use crate::trial::around::Around;
use crate::trial::drive::{self, Driven};
use anyhow::Context;
use ledger::{Measure, Sample};
use pages::Instance;
use plan::{Phase, Rebalance};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use targets::Port;
use workloads::Outcome;

/// A group that can change under its workers.
pub(crate) trait Regroup {
    /// Gets ready for a change; what is given does it, on a thread of its own.
    fn change<'a>(&'a self, asked: &'a Rebalance, seed: u64) -> anyhow::Result<Box<Change<'a>>>;
}

/// Changes the disks, moves what must move, and returns when that is done, cannot be done, or `stop` was set. It tells
/// how far it is from time to time.
pub(crate) type Change<'a> = dyn FnOnce(&AtomicBool, &dyn Fn(HowFar)) -> anyhow::Result<Moved> + Send + 'a;

/// How far a move is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HowFar {
    pub(crate) moved_bytes: u64,
    pub(crate) left_bytes: u64,
    pub(crate) time_left_ns: Option<u64>,
}

/// What a change came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) moved_bytes: u64,
    /// What had to move so that each disk holds its share by size.
    pub(crate) ideal_bytes: u64,
    pub(crate) elapsed_ns: u64,
    /// Bytes moved so far, by the time since the beginning of the change in nanoseconds.
    pub(crate) course: Vec<(u64, u64)>,
    /// Why not all of it was done.
    pub(crate) unfinished: Option<String>,
}

/// What a phase has to tell besides the work it drove.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) measures: Vec<(Measure, f64)>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) invalid: Option<String>,
}

/// Work, change, work.
pub(crate) fn phase<P: Port + Send>(
    instance: &mut Instance<P>,
    regroup: &dyn Regroup,
    (phase, asked): (&Phase, &Rebalance),
    around: &Around<'_>,
    seed: u64,
    told: &mut Told,
) -> anyhow::Result<Driven> {
    let cancel = around.turn.cancel;
    let before = drive::random(instance, &asked.work, Some(asked.before), seed, cancel)?;
    signals::check(cancel)?;
    let change = regroup.change(asked, seed)?;
    let (during, moved) = beside(instance, change, asked, (phase, around), seed.wrapping_add(1))?;
    signals::check(cancel)?;
    let after = drive::random(instance, &asked.work, Some(asked.after), seed.wrapping_add(2), cancel)?;
    told.measures.extend([
        (Measure::RebalanceMovedBytes, moved.moved_bytes as f64),
        (Measure::RebalanceIdealBytes, moved.ideal_bytes as f64),
        (Measure::RebalanceNs, moved.elapsed_ns as f64),
        (Measure::RebalancePower, f64::from(asked.power)),
        (Measure::RebalanceBeforeNs, before.elapsed_ns as f64),
        (Measure::RebalanceDuringNs, during.elapsed_ns as f64),
        (Measure::RebalanceAfterNs, after.elapsed_ns as f64),
    ]);
    let began = during.began.saturating_sub(before.began);
    told.samples = moved
        .course
        .iter()
        .map(|(at_ns, bytes)| Sample {
            at_ns: began + at_ns,
            name: "rebalance.moved_bytes".to_string(),
            value: *bytes as f64,
        })
        .collect();
    told.invalid = moved.unfinished;
    let outcome = joined([("before", before), ("during", during), ("after", after)]);
    Ok(Driven {
        outcome,
        user_scans: Vec::new(),
    })
}

/// The work in this thread until the change, in one of its own, is done.
fn beside<P: Port + Send>(
    instance: &mut Instance<P>,
    change: Box<Change<'_>>,
    asked: &Rebalance,
    (phase, around): (&Phase, &Around<'_>),
    seed: u64,
) -> anyhow::Result<(Outcome, Moved)> {
    // Set by whoever ends first, so that the other ends too.
    let over = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            // Also when it panics: the work has no other end.
            let _ended = Ended(&over);
            let how_far = |far: HowFar| {
                if signals::is_set(around.turn.cancel) {
                    over.store(true, Ordering::Relaxed);
                }
                around.doing(phase, &words(far));
            };
            change(&over, &how_far)
        });
        let driven = drive::random(instance, &asked.work, None, seed, &over);
        over.store(true, Ordering::Relaxed);
        let moved = changing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((driven?, moved.context("rebalance")?))
    })
}

/// Sets the flag when it goes.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn words(far: HowFar) -> String {
    let all = far.moved_bytes + far.left_bytes;
    let share = far.moved_bytes * 100 / all.max(1);
    let left = far
        .time_left_ns
        .map_or(String::new(), |ns| format!(", {} s left", ns / 1_000_000_000));
    format!(" · {share} % of {} moved{left}", plan::Bytes(all))
}

/// One outcome of windows that followed one another, their classes named after them.
fn joined(windows: [(&str, Outcome); 3]) -> Outcome {
    let mut whole: Option<Outcome> = None;
    for (name, mut window) in windows {
        for class in &mut window.classes {
            class.name = format!("{} {name}", class.name);
        }
        let Some(whole) = &mut whole else {
            whole = Some(window);
            continue;
        };
        let offset = window.began.saturating_sub(whole.began);
        whole.slices.extend(window.slices.into_iter().map(|mut slice| {
            slice.at_ns += offset;
            slice
        }));
        whole.classes.extend(window.classes);
        whole.ended = window.ended;
        whole.elapsed_ns = whole.ended.saturating_sub(whole.began);
        whole.in_time_count += window.in_time_count;
        whole.in_time_units += window.in_time_units;
        whole.unsent += window.unsent;
    }
    whole.expect("there are three windows")
}
