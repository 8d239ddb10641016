//! LUNs that join and leave a disk group or a volume while random work runs: three windows of work, the moving beside
//! the middle one. All instances work in all windows; the first one moves.
//!
//! Takes the instances on the stack and the stack's own way to change ([`Changes::change`]); gives one outcome whose
//! classes say their window ("select during"), the part of each instance, and the figures of the move. Prevents: a
//! rebalance measured on a group that nobody uses, and latencies of three different situations in one distribution.

use crate::group::changing::{Change, Changes, HowFar, Meanwhile, Moved};
use crate::instances::others::{Followers, Others};
use crate::instances::shares::{self, Part};
use crate::ports::PageEngine;
use crate::signals::{self, SetWhenGone};
use crate::trial::around::Around;
use crate::trial::drive::{Driven, Paced, SLICE_NS_UNTIMED, Spread};
use anyhow::Context;
use ledger::{Measure, Sample};
use plan::{Duration, Phase, Random, Rebalance};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::{Outcome, Pacing};

/// What a phase has to tell besides the work it drove.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) measures: Vec<(Measure, f64)>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) invalid: Option<String>,
    /// How far several instances worked at the same time, in work that had a time.
    pub(crate) overlap: Option<f64>,
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
    let paced = |time, nth| paced_window(&asked.work, time, seed.wrapping_add(nth), cancel);
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
    let spread = others.spread(around.study.workers);
    let whole = windows.clone().map(|each| together(each, spread));
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
        overlap: overlap(&windows),
    };
    Ok((Driven::of(joined(whole)), told, parts(windows)))
}

/// Work of a window. All have slices of one width: the course of the phase is drawn as one, and a wider slice in it
/// looks like a standstill.
fn paced_window(work: &Random, time: Option<Duration>, seed: u64, cancel: &Arc<AtomicBool>) -> Paced {
    let paced = Paced::random(work, time, seed, cancel);
    let pacing = Pacing {
        slice_ns: SLICE_NS_UNTIMED,
        ..paced.pacing
    };
    Paced { pacing, ..paced }
}

/// How far several instances worked at the same time: the least of the windows that have a time.
fn overlap([before, _, after]: &[Vec<Outcome>; 3]) -> Option<f64> {
    let of = |window: &Vec<Outcome>| {
        let parts = window.iter().map(|outcome| Part::of(&Driven::of(outcome.clone())));
        shares::overlap(&parts.collect::<Vec<_>>())
    };
    (before.len() > 1).then(|| of(before).min(of(after)))
}

/// What all instances did in one window.
fn together(each: Vec<Outcome>, spread: Spread) -> Outcome {
    Driven::together(each.into_iter().map(Driven::of).collect(), spread).outcome
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

/// One outcome of windows that followed one another, their classes named after them. The fairest that can be told of
/// sessions: the slowest did at least, and the fastest at most, so much in all windows.
fn joined(windows: [Outcome; 3]) -> Outcome {
    let worked_ns: u64 = windows.iter().map(|window| window.elapsed_ns).sum();
    // A window's share of the processor counts for its own time.
    let busy = windows
        .iter()
        .map(|window| Some(window.busy_share? * window.elapsed_ns as f64));
    let busy: Option<f64> = busy.sum();
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
        whole.fairness.0 += window.fairness.0;
        whole.fairness.1 += window.fairness.1;
    }
    let mut whole = whole.expect("there are three windows");
    whole.busy_share = busy.map(|busy_ns| busy_ns / worked_ns.max(1) as f64);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(began: u64, ended: u64, busy_share: f64) -> Outcome {
        Outcome {
            began,
            ended,
            elapsed_ns: ended - began,
            classes: Vec::new(),
            slices: Vec::new(),
            in_time_count: 0,
            in_time_units: 0,
            unsent: 0,
            fairness: (2, 3),
            sessions: 1,
            cancelled: false,
            busy_share: Some(busy_share),
        }
    }

    #[test]
    fn workers_are_as_busy_as_in_all_windows_together() {
        let whole = joined([window(0, 100, 0.1), window(110, 410, 0.5), window(420, 520, 1.0)]);
        let busy = whole.busy_share.unwrap();
        assert!((busy - 0.52).abs() < 1e-9, "{busy}");
        assert_eq!((whole.fairness, whole.elapsed_ns), ((6, 9), 520));
        let mut unknown = window(110, 410, 0.5);
        unknown.busy_share = None;
        let whole = joined([window(0, 100, 0.1), unknown, window(420, 520, 1.0)]);
        assert_eq!(whole.busy_share, None);
    }

    #[test]
    fn instances_that_missed_each_other_in_a_window_are_seen() {
        let both = |late| vec![window(0, 100, 0.5), window(late, 100, 0.5)];
        let all = |after| [both(0), both(90), both(after)];
        assert_eq!(overlap(&all(0)), Some(1.0), "the middle window has no time of its own");
        assert_eq!(overlap(&all(50)), Some(0.5));
        let alone = [0, 1, 2].map(|_| vec![window(0, 100, 0.5)]);
        assert_eq!(overlap(&alone), None);
    }

    #[test]
    fn slices_of_all_windows_are_equally_wide() {
        let work = Random {
            update_pct: 50,
            scan_pct: 0,
            scan_table_size: plan::Bytes(0),
            sessions: 2,
            work_unit: 1,
            work_loop: 0,
            redo_stress: plan::RedoStress::Lite,
            outstanding: 1,
            think_tm_frequency: 0,
            think_tm_min: Duration(0),
            think_tm_max: Duration(0),
            hotspot: None,
            hot_schema_frequency: 0,
            rate: None,
        };
        let width = |time| paced_window(&work, time, 7, &Arc::default()).pacing.slice_ns;
        let untimed = width(None);
        for seconds in [1, 3, 600] {
            assert_eq!(width(Some(Duration(seconds * 1_000_000_000))), untimed, "{seconds} s");
        }
    }
}
