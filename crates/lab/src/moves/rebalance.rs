//! LUNs that join and leave a disk group or a volume while random work runs: three windows of work, the moving beside
//! the middle one.
//!
//! Takes an instance on the stack and the stack's own way to change ([`Changes::change`]); gives one outcome whose
//! classes say their window ("select during"), and the figures of the move. Prevents: a rebalance measured on a group
//! that nobody uses, and latencies of three different situations in one distribution.

use crate::group::changing::{Change, Changes, HowFar, Moved};
use crate::ports::PageEngine;
use crate::signals::{self, SetWhenGone};
use crate::trial::around::Around;
use crate::trial::drive::{self, Driven};
use anyhow::Context;
use ledger::{Measure, Sample};
use plan::{Phase, Rebalance};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use workloads::Outcome;

/// What a phase has to tell besides the work it drove.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) measures: Vec<(Measure, f64)>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) invalid: Option<String>,
}

/// Work, change, work.
pub(crate) fn phase(
    instance: &mut PageEngine,
    stack: &dyn Changes,
    (phase, asked): (&Phase, &Rebalance),
    around: &Around<'_>,
    seed: u64,
) -> anyhow::Result<(Driven, Told)> {
    let cancel = around.turn.cancel;
    let before = drive::random(instance, &asked.work, Some(asked.before), seed, cancel)?;
    signals::check(cancel)?;
    let change = stack.change(asked, seed)?;
    let (during, moved) = beside(instance, change, asked, (phase, around), seed.wrapping_add(1))?;
    signals::check(cancel)?;
    let after = drive::random(instance, &asked.work, Some(asked.after), seed.wrapping_add(2), cancel)?;
    let mut measures = vec![
        (Measure::RebalanceMovedBytes, moved.moved_bytes as f64),
        (Measure::RebalanceIdealBytes, moved.ideal_bytes as f64),
        (Measure::RebalanceNs, moved.elapsed_ns as f64),
        (Measure::RebalanceBeforeNs, before.elapsed_ns as f64),
        (Measure::RebalanceDuringNs, during.elapsed_ns as f64),
        (Measure::RebalanceAfterNs, after.elapsed_ns as f64),
    ];
    measures.extend(
        stack
            .power(asked)
            .map(|power| (Measure::RebalancePower, f64::from(power))),
    );
    let began = during.began.saturating_sub(before.began);
    let samples = moved
        .course
        .iter()
        .map(|(at_ns, bytes)| Sample {
            at_ns: began + at_ns,
            name: "rebalance.moved_bytes".to_string(),
            value: *bytes as f64,
        })
        .collect();
    let told = Told {
        measures,
        samples,
        invalid: moved.unfinished,
    };
    let outcome = joined([("before", before), ("during", during), ("after", after)]);
    Ok((Driven::of(outcome), told))
}

/// The work in this thread until the change, in one of its own, is done.
fn beside(
    instance: &mut PageEngine,
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
            let _ended = SetWhenGone(&over);
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
