//! What is checked of a rate over time: that it does not fall in a step, and that blocks do not drift.
//!
//! Takes the runs of one stack in one phase in the order of their blocks, gives checks without their place. Prevents: the mean of a
//! device's burst and of what came after it, and a machine that got slower all day taken for noise.

use crate::cells::Metric;
use crate::checks::Status;
use crate::format::{number, percent};
use crate::history::Seen;
use crate::order_checks::Found;
use crate::over_time::{rates, resampled};
use ledger::PhaseKind;

/// Parts of a phase that are looked at; fewer do not tell a step from chance.
const PARTS_MAX: usize = 24;
const PARTS_MIN: usize = 8;
/// With less work in a part, its scatter is chance: 50 operations vary by 14 %.
const WORK_MIN: f64 = 50.0;
/// A level is at least so many parts long: one slow part is a stall and no level.
const LEVEL_MIN: usize = 2;
/// How much the second level lies below the first at least.
const FALL_MIN: f64 = 0.20;
/// Share of the sum of squares that lies between the two levels. A straight line has 0.75, so that this is a step and no slope.
const BETWEEN_MIN: f64 = 0.85;
/// A drift is believed at this risk, and matters from this much on over the whole study: the slope that the rule of steady state allows.
const DRIFT_RISK: f64 = 0.01;
const DRIFT_MIN: f64 = 0.10;

/// A fall from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fall {
    /// Share of the phase before it.
    at: f64,
    before: f64,
    after: f64,
}

pub(crate) fn found(kind: PhaseKind, runs: &[&Seen]) -> Vec<Found> {
    [step(kind, runs), drift(kind, runs)].into_iter().flatten().collect()
}

fn step(kind: PhaseKind, runs: &[&Seen]) -> Option<Found> {
    if !matches!(
        kind,
        PhaseKind::Random | PhaseKind::Open | PhaseKind::Tpcc | PhaseKind::TpccOpen
    ) {
        return None;
    }
    let levels: Vec<Option<Fall>> = runs.iter().filter_map(|run| Some(fall(&parts(kind, run)?))).collect();
    if levels.is_empty() {
        return None;
    }
    let mut falls: Vec<Fall> = levels.iter().flatten().copied().collect();
    falls.sort_by(|a, b| (a.after / a.before).total_cmp(&(b.after / b.before)));
    let is_usual = falls.len() * 2 > levels.len();
    let figure = match falls.get(falls.len() / 2) {
        Some(fall) => format!(
            "in {} of {} blocks the rate fell from {} to {} a second, after {} of the phase",
            falls.len(),
            levels.len(),
            number(fall.before),
            number(fall.after),
            percent(fall.at)
        ),
        None => "no step".to_string(),
    };
    Some((
        "rate level",
        if is_usual { Status::Suspect } else { Status::Valid },
        figure,
        format!("no fall of {} in most blocks", percent(FALL_MIN)),
        "a burst credit, a cache that filled or a processor that was slowed: measure longer than it lasts, and read the level after the step",
    ))
}

/// Operations a second in equal parts; `None` where they are too few, or hold too little work, to tell.
fn parts(kind: PhaseKind, run: &Seen) -> Option<Vec<f64>> {
    let work: u64 = run.slices.iter().map(|slice| slice.count).sum();
    let count = run.slices.len().min(PARTS_MAX).min((work as f64 / WORK_MIN) as usize);
    if count < PARTS_MIN {
        return None;
    }
    let parts = resampled(&rates(kind, &run.slices), run.run.elapsed_ns, count);
    Some(parts.into_iter().map(|part| part.unwrap_or(0.0)).collect())
}

/// The cut into two levels between which the largest share of the sum of squares lies (the split of Otsu's method, kept in the order
/// of time), if it is a fall that is large and sharp enough.
fn fall(parts: &[f64]) -> Option<Fall> {
    let whole = stats::mean(parts);
    let total: f64 = parts.iter().map(|x| (x - whole) * (x - whole)).sum();
    let cuts = LEVEL_MIN..=parts.len().checked_sub(LEVEL_MIN)?;
    let between = |cut: usize| {
        let (a, b) = (stats::mean(&parts[..cut]), stats::mean(&parts[cut..]));
        cut as f64 * (a - whole) * (a - whole) + (parts.len() - cut) as f64 * (b - whole) * (b - whole)
    };
    let cut = cuts.max_by(|a, b| between(*a).total_cmp(&between(*b)))?;
    let (before, after) = (stats::mean(&parts[..cut]), stats::mean(&parts[cut..]));
    let is_sharp = total > 0.0 && between(cut) >= BETWEEN_MIN * total;
    (is_sharp && after <= (1.0 - FALL_MIN) * before).then_some(Fall {
        at: cut as f64 / parts.len() as f64,
        before,
        after,
    })
}

/// The line of least squares through the primary metric over the blocks, and the t test of its slope.
fn drift(kind: PhaseKind, runs: &[&Seen]) -> Option<Found> {
    let metric = Metric::of(kind);
    let values: Vec<f64> = runs.iter().filter_map(|run| metric.value(run).ok().flatten()).collect();
    if values.len() < 4 || values.len() < runs.len() {
        return None;
    }
    let (change, risk) = trend(&values)?;
    let drifts = change.abs() >= DRIFT_MIN && risk <= DRIFT_RISK;
    Some((
        "drift between blocks",
        if drifts { Status::Suspect } else { Status::Valid },
        format!(
            "{}{} from the first block to the last{}",
            if change < 0.0 { "-" } else { "+" },
            percent(change.abs()),
            if risk <= DRIFT_RISK {
                ""
            } else {
                ", which may be chance"
            }
        ),
        format!("at most {} where the trend is beyond doubt", percent(DRIFT_MIN)),
        "the mirrored order takes a steady drift out of ratios, but not out of this stack's own figures: find what changed over the study",
    ))
}

/// Change along the line over the mean, and the chance of such a slope without a trend.
fn trend(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let (at, mean) = ((n - 1.0) / 2.0, stats::mean(values));
    let sums = values.iter().enumerate().fold((0.0, 0.0, 0.0), |sums, (x, y)| {
        let (dx, dy) = (x as f64 - at, y - mean);
        (sums.0 + dx * dx, sums.1 + dx * dy, sums.2 + dy * dy)
    });
    if mean <= 0.0 || sums.2 <= 0.0 {
        return Some((0.0, 1.0));
    }
    let slope = sums.1 / sums.0;
    let left = (sums.2 - slope * sums.1).max(sums.2 * 1e-12);
    let t = slope.abs() / (left / (n - 2.0) / sums.0).sqrt();
    let change = slope * (n - 1.0) / mean;
    change
        .is_finite()
        .then(|| (change, 2.0 * stats::t_upper_tail(t, n - 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_and_a_slope_a_stall_and_noise_are_none() {
        let noise = |i: usize| 1.0 + 0.08 * (((i * 7919) % 13) as f64 / 6.0 - 1.0);
        let step: Vec<f64> = (0..24).map(|i| noise(i) * if i < 9 { 1000.0 } else { 500.0 }).collect();
        let found = fall(&step).unwrap();
        assert!((found.at - 9.0 / 24.0).abs() < 1e-9 && found.after < 560.0, "{found:?}");
        let slope: Vec<f64> = (0..24).map(|i| 1000.0 - 25.0 * i as f64).collect();
        assert_eq!(fall(&slope), None);
        let flat: Vec<f64> = (0..24).map(|i| 1000.0 * noise(i)).collect();
        assert_eq!(fall(&flat), None);
        let mut stalled = flat.clone();
        stalled[11] = 0.0;
        assert_eq!(fall(&stalled), None);
        let rise: Vec<f64> = step.iter().rev().copied().collect();
        assert_eq!(fall(&rise), None);
        assert_eq!(fall(&[1.0, 2.0]), None);
        assert_eq!(fall(&[5.0; 12]), None);
    }

    #[test]
    fn a_trend_beyond_doubt_is_told_from_chance() {
        let (change, risk) = trend(&[100.0, 96.0, 91.0, 85.0, 81.0, 75.0]).unwrap();
        assert!((change + 0.283).abs() < 0.02 && risk < 0.001, "{change} {risk}");
        let (_, risk) = trend(&[100.0, 90.0, 104.0, 95.0, 101.0, 92.0]).unwrap();
        assert!(risk > 0.3, "{risk}");
        assert_eq!(trend(&[100.0; 6]), Some((0.0, 1.0)));
    }
}
