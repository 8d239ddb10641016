//! LUNs that join and leave a disk group or a volume while random work runs: three windows of work, the moving beside
//! the middle one. All instances work in all windows; the first one moves.
//!
//! Takes the instances on the stack and the stack's own way to change ([`Changes::change`]); gives one outcome whose
//! classes say their window ("select during"), the part of each instance, and the figures of the move. Prevents: a
//! rebalance measured on a group that nobody uses, and latencies of three different situations in one distribution.

use crate::group::changing::{Change, Changes, HowFar, Meanwhile, Moved};
use crate::instances::others::{Followers, Others};
use crate::instances::shares::Part;
use crate::ports::PageEngine;
use crate::signals::{self, SetWhenGone};
use crate::trial::around::Around;
use crate::trial::drive::{Driven, Paced};
use anyhow::Context;
use ledger::{Measure, Sample};
use plan::{Phase, Rebalance};
use std::sync::atomic::AtomicBool;
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
    (instance, others): (&mut PageEngine, &mut Others),
    stack: &dyn Changes,
    (phase, asked): (&Phase, &Rebalance),
    around: &Around<'_>,
    seed: u64,
) -> anyhow::Result<(Driven, Told, Vec<Part>)> {
    let cancel = around.turn.cancel;
    let paced = |time, nth| Paced::random(&asked.work, time, seed.wrapping_add(nth), cancel);
    let before = others.with(paced(Some(asked.before), 0), cancel, |paced| Ok(paced.run(instance)?))?;
    signals::check(cancel)?;
    let change = stack.change(asked, seed)?;
    let ((during, moved), theirs) = others.as_long_as(paced(None, 1), cancel, |paced, followers| {
        beside(instance, change, paced, followers, (phase, around))
    })?;
    signals::check(cancel)?;
    let after = others.with(paced(Some(asked.after), 2), cancel, |paced| Ok(paced.run(instance)?))?;
    let windows = [before, (during, theirs), after].map(|(own, theirs)| {
        let outcomes = std::iter::once(own).chain(theirs).map(|driven| driven.outcome);
        outcomes.collect::<Vec<Outcome>>()
    });
    let whole = windows.clone().map(together);
    let mut measures = vec![
        (Measure::RebalanceMovedBytes, moved.moved_bytes as f64),
        (Measure::RebalanceIdealBytes, moved.ideal_bytes as f64),
        (Measure::RebalanceNs, moved.elapsed_ns as f64),
        (Measure::RebalanceBeforeNs, whole[0].elapsed_ns as f64),
        (Measure::RebalanceDuringNs, whole[1].elapsed_ns as f64),
        (Measure::RebalanceAfterNs, whole[2].elapsed_ns as f64),
    ];
    measures.extend(
        stack
            .power(asked)
            .map(|power| (Measure::RebalancePower, f64::from(power))),
    );
    let began = whole[1].began.saturating_sub(whole[0].began);
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
    Ok((Driven::of(joined(whole)), told, parts(windows)))
}

/// What all instances did in one window.
fn together(each: Vec<Outcome>) -> Outcome {
    Driven::together(each.into_iter().map(Driven::of).collect()).outcome
}

/// What each of several instances did in all windows.
fn parts([before, during, after]: [Vec<Outcome>; 3]) -> Vec<Part> {
    if before.len() < 2 {
        return Vec::new();
    }
    let each = before.into_iter().zip(during).zip(after);
    each.map(|((before, during), after)| Part::of(&Driven::of(joined([before, during, after]))))
        .collect()
}

/// The work in this thread until the change, in one of its own, is done and all instances know of it.
fn beside(
    instance: &mut PageEngine,
    change: Box<Change<'_>>,
    paced: &Paced,
    followers: &mut Followers<'_>,
    (phase, around): (&Phase, &Around<'_>),
) -> anyhow::Result<(Driven, Moved)> {
    // Set by whoever ends first, so that the other ends too; and when an instance is lost.
    let over = paced.pacing.cancel.as_deref().context("work that can be ended")?;
    paced.wait_for_its_moment();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("rebalance".to_string());
        let changing = thread.spawn_scoped(scope, || {
            // Also when it panics: the work has no other end.
            let _ended = SetWhenGone(over);
            let moved = changed(change, over, followers, &|far| around.doing(phase, &words(far)))?;
            // What is held in the maps of one of them would be held for ever.
            followers.bring_up_to_date(around.turn.cancel)?;
            anyhow::Ok(moved)
        })?;
        let driven = {
            let _ended = SetWhenGone(over);
            paced.run(instance)
        };
        let moved = changing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((driven?, moved.context("rebalance")?))
    })
}

fn changed(
    change: Box<Change<'_>>,
    stop: &AtomicBool,
    followers: &mut Followers<'_>,
    tell: &dyn Fn(HowFar),
) -> anyhow::Result<Moved> {
    change(&mut Meanwhile {
        stop,
        tell,
        carry: &mut || followers.carry(),
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
fn joined(windows: [Outcome; 3]) -> Outcome {
    let mut whole: Option<Outcome> = None;
    for (name, mut window) in ["before", "during", "after"].into_iter().zip(windows) {
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
