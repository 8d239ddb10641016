//! What is checked of a rate over time: that it has one level, and that blocks do not drift.
//!
//! Takes the runs of one stack in one phase in the order of their blocks, gives what was found. Prevents: the mean of a
//! device's burst and of what came after it, that of a resync and of the device without it, and a machine that got
//! slower all day taken for noise.

use super::at::At;
use super::rule::Taken;
use crate::cells::metric::Metric;
use crate::cells::over_time::{rates, resampled};
use crate::figures::total;
use crate::format::{number, percent};
use crate::history::Seen;
use crate::phase_kind::kind_row;
use ledger::PhaseKind;
use std::ops::RangeInclusive;

/// Parts of a phase that are looked at; fewer do not tell a step from chance.
const PARTS_MAX: usize = 24;
const PARTS_MIN: usize = 8;
/// With less work in a part, its scatter is chance: 50 operations vary by 14 %.
const WORK_MIN: f64 = 50.0;
/// A level is at least so many parts long: one slow part is a stall and no level.
const LEVEL_MIN: usize = 2;
/// How much the lower level lies below the other at least.
const STEP_MIN: f64 = 0.20;
/// A rise counts from where the rate of the whole phase lies so far below the level after it: a warm-up is over, and
/// matters as far as it is in the mean. What comes after a fall stays, however late it came. As much as the rule of
/// steady state allows a slope.
const WARM_UP_MAX: f64 = 0.10;
/// Share of the sum of squares that lies between the two levels. A straight line has 0.75, so that this is a step and
/// no slope.
const BETWEEN_MIN: f64 = 0.85;
/// A step between blocks is believed at this risk, in each direction.
const STEP_RISK: f64 = 0.005;
/// A drift is believed at this risk, and matters from this much on over the whole study: the slope that the rule of
/// steady state allows.
const DRIFT_RISK: f64 = 0.01;
const DRIFT_MIN: f64 = 0.10;

/// From one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    /// Share of the phase before it.
    at: f64,
    before: f64,
    after: f64,
}

impl Step {
    fn is_rise(&self) -> bool {
        self.after > self.before
    }

    /// The lower level over the higher.
    fn depth(&self) -> f64 {
        (self.after / self.before).min(self.before / self.after)
    }

    /// "fell from 1,000 to 500 a second"
    fn words(&self) -> String {
        let verb = if self.is_rise() { "rose" } else { "fell" };
        format!("{verb} from {} to {} a second", number(self.before), number(self.after))
    }
}

/// What to do about a rate that fell.
pub(crate) const ADVICE_FALL: &str = "a burst credit, a cache that filled or a processor that was slowed: measure \
     longer than it lasts, and read the level after the step";
const ADVICE_RISE: &str =
    "a resync, a rebuild or a neighbour that ended, or a long warm-up: let it end first, and run the study again";

pub(crate) fn level(at: &At<'_>) -> Option<Taken> {
    let (kind, runs) = (at.kind, &at.runs);
    // A load curve goes in steps on purpose.
    if at.cell.load_curve.is_some() {
        return None;
    }
    let levels: Vec<Level> = match kind_row(kind).has_own_rate && !at.by_count {
        true => runs.iter().filter_map(|run| Level::of(kind, run)).collect(),
        false => Vec::new(),
    };
    let series = series(kind, runs);
    if levels.is_empty() && series.is_none() {
        return None;
    }
    let count = levels.iter().filter(|level| level.step.is_some()).count();
    let between = series.and_then(|rates| lasting_step(&rates));
    let (step, figure) = match (usual(&levels), lasts_from_one(&levels), between) {
        (Some((step, words)), ..) => (Some(step), words),
        (_, Some((nth, step)), _) => (
            Some(step),
            format!(
                "in block {nth} of those that count the rate {}, and stayed there",
                step.words()
            ),
        ),
        (.., Some((first, step))) => (
            Some(step),
            format!(
                "after {first} of {} blocks the rate {} by {}, and stayed there",
                runs.len(),
                if step.is_rise() { "rose" } else { "fell" },
                percent((step.after / step.before - 1.0).abs().min(99.0))
            ),
        ),
        _ if count > 0 => (
            None,
            format!("a step in {count} of {} blocks, and not for good", levels.len()),
        ),
        _ if levels.is_empty() => (
            None,
            "no step between the blocks; within them none was looked for: too short, or ended by a count".to_string(),
        ),
        _ => (None, "no step".to_string()),
    };
    let bound = format!("no step of {} in most blocks, and none for good", percent(STEP_MIN));
    let advice = match step {
        Some(step) if step.is_rise() => ADVICE_RISE,
        _ => ADVICE_FALL,
    };
    Some(Taken::holds(step.is_none(), figure).against(bound).advising(advice))
}

/// The usual step and the words on it, where most blocks have one: its mean is that of two levels, whichever comes
/// first.
fn usual(levels: &[Level]) -> Option<(Step, String)> {
    let steps: Vec<Step> = levels.iter().filter_map(|level| level.step).collect();
    if steps.len() * 2 <= levels.len() {
        return None;
    }
    let (rises, falls): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(Step::is_rise);
    let (mut more, fewer) = match rises.len() > falls.len() {
        true => (rises, falls),
        false => (falls, rises),
    };
    more.sort_by(|a, b| a.depth().total_cmp(&b.depth()));
    let step = more[more.len() / 2];
    let mut words = format!(
        "in {} of {} blocks the rate {}, after {} of the phase",
        more.len(),
        levels.len(),
        step.words(),
        percent(step.at)
    );
    if !fewer.is_empty() {
        let verb = if step.is_rise() { "fell" } else { "rose" };
        words += &format!("; in {} it {verb}", fewer.len());
    }
    Some((step, words))
}

/// A block: its rate as a whole, and the step in it, if there is one.
struct Level {
    rate: f64,
    step: Option<Step>,
}

impl Level {
    /// `None` where the block is too short to tell.
    fn of(kind: PhaseKind, run: &Seen) -> Option<Level> {
        let parts = parts(kind, run)?;
        Some(Level {
            rate: stats::mean(&parts),
            step: step(&parts),
        })
    }
}

/// The one block in which a credit, or a resync, ended: those before it are at the level before its step, and there are
/// some after it, all at the level after it. Of a rise there are some before it too: a first block that begins slowly
/// may be chance. Its number among the blocks, from 1.
fn lasts_from_one(levels: &[Level]) -> Option<(usize, Step)> {
    let nth = levels.iter().position(|level| level.step.is_some())?;
    let step = levels[nth].step?;
    let middle = (step.before + step.after) / 2.0;
    let (before, after) = (&levels[..nth], &levels[nth + 1..]);
    let is_low = |level: &Level| level.rate < middle;
    let begins_slowly = step.is_rise() && before.is_empty();
    let is_one = !after.is_empty()
        && !begins_slowly
        && before.iter().all(|level| is_low(level) == step.is_rise())
        && after.iter().all(|level| is_low(level) != step.is_rise());
    is_one.then_some((nth + 1, step))
}

/// The rates of the blocks, where the phase's metric is a rate.
fn series(kind: PhaseKind, runs: &[&Seen]) -> Option<Vec<f64>> {
    let metric = Metric::of(kind);
    if metric.orientation() != stats::Orientation::HigherIsBetter || runs.len() < 4 {
        return None;
    }
    let rates: Vec<f64> = runs.iter().filter_map(|run| metric.value(run).ok().flatten()).collect();
    (rates.len() == runs.len()).then_some(rates)
}

/// A step between two blocks, for good: the cut with the largest t of the two sides' means, at a risk shared among the
/// cuts (Bonferroni), for falls and for rises. The slower side has two blocks at least: one slow block may be chance,
/// one fast block is not. Also how many blocks lie before it.
fn lasting_step(rates: &[f64]) -> Option<(usize, Step)> {
    let last = rates.len().checked_sub(1)?;
    let fall = || lasting(rates, 1..=(last + 1).saturating_sub(LEVEL_MIN), 1.0);
    let rise = || lasting(rates, LEVEL_MIN..=last, -1.0);
    fall().or_else(rise)
}

/// The same among these cuts. `sign`: 1 for falls, -1 for rises.
fn lasting(rates: &[f64], cuts: RangeInclusive<usize>, sign: f64) -> Option<(usize, Step)> {
    let n = rates.len() as f64;
    let of = |cut: usize| {
        let (before, after) = rates.split_at(cut);
        let (a, b) = (stats::mean(before), stats::mean(after));
        let within: f64 = before.iter().map(|x| (x - a) * (x - a)).sum::<f64>()
            + after.iter().map(|x| (x - b) * (x - b)).sum::<f64>();
        // Equal values but for the step have no spread to hold it against: then any is beyond doubt.
        let spread = (within / (n - 2.0)).max(a * a * 1e-12) * (1.0 / cut as f64 + 1.0 / (n - cut as f64));
        let step = Step {
            at: cut as f64 / n,
            before: a,
            after: b,
        };
        (cut, sign * (a - b) / spread.sqrt(), step)
    };
    let all: Vec<(usize, f64, Step)> = cuts.map(of).collect();
    let (cut, t, step) = all.iter().copied().max_by(|x, y| x.1.total_cmp(&y.1))?;
    let risk = all.len() as f64 * stats::t_upper_tail(t, n - 2.0);
    (risk <= STEP_RISK && step.depth() <= 1.0 - STEP_MIN).then_some((cut, step))
}

/// Operations a second in equal parts; `None` where they are too few, or hold too little work, to tell.
fn parts(kind: PhaseKind, run: &Seen) -> Option<Vec<f64>> {
    let work = total(run.slices.iter().map(|slice| slice.count));
    let count = run.slices.len().min(PARTS_MAX).min((work as f64 / WORK_MIN) as usize);
    if count < PARTS_MIN {
        return None;
    }
    let parts = resampled(&rates(kind, &run.slices), run.run.elapsed_ns, count);
    Some(parts.into_iter().map(|part| part.unwrap_or(0.0)).collect())
}

/// The cut into two levels between which the largest share of the sum of squares lies (the split of Otsu's method, kept
/// in the order of time), if it is a step that is large and sharp enough, and a rise one that is in the mean.
fn step(parts: &[f64]) -> Option<Step> {
    let whole = stats::mean(parts);
    let total: f64 = parts.iter().map(|x| (x - whole) * (x - whole)).sum();
    let cuts = LEVEL_MIN..=parts.len().checked_sub(LEVEL_MIN)?;
    let between = |cut: usize| {
        let (a, b) = (stats::mean(&parts[..cut]), stats::mean(&parts[cut..]));
        cut as f64 * (a - whole) * (a - whole) + (parts.len() - cut) as f64 * (b - whole) * (b - whole)
    };
    let cut = cuts.max_by(|a, b| between(*a).total_cmp(&between(*b)))?;
    let step = Step {
        at: cut as f64 / parts.len() as f64,
        before: stats::mean(&parts[..cut]),
        after: stats::mean(&parts[cut..]),
    };
    let is_sharp = total > 0.0 && between(cut) >= BETWEEN_MIN * total;
    let is_over = step.is_rise() && whole > (1.0 - WARM_UP_MAX) * step.after;
    (is_sharp && step.depth() <= 1.0 - STEP_MIN && !is_over).then_some(step)
}

/// The line of least squares through the primary metric over the blocks, and the t test of its slope.
pub(crate) fn drift(at: &At<'_>) -> Option<Taken> {
    let (kind, runs) = (at.kind, &at.runs);
    if at.cell.load_curve.is_some() {
        return None;
    }
    let metric = Metric::of(kind);
    let values: Vec<f64> = runs.iter().filter_map(|run| metric.value(run).ok().flatten()).collect();
    if values.len() < 4 || values.len() < runs.len() {
        return None;
    }
    let (change, risk) = trend(&values)?;
    let drifts = change.abs() >= DRIFT_MIN && risk <= DRIFT_RISK;
    let figure = format!(
        "{}{} from the first block to the last{}",
        if change < 0.0 { "-" } else { "+" },
        percent(change.abs()),
        if risk <= DRIFT_RISK {
            ""
        } else {
            ", which may be chance"
        }
    );
    let bound = format!("at most {} where the trend is beyond doubt", percent(DRIFT_MIN));
    Some(Taken::holds(!drifts, figure).against(bound))
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
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn a_step_is_one_and_a_slope_a_stall_and_noise_are_none() {
        let noise = |i: usize| 1.0 + 0.08 * (((i * 7919) % 13) as f64 / 6.0 - 1.0);
        let fall: Vec<f64> = (0..24).map(|i| noise(i) * if i < 9 { 1000.0 } else { 500.0 }).collect();
        let found = step(&fall).unwrap();
        assert!((found.at - 9.0 / 24.0).abs() < 1e-9 && found.after < 560.0, "{found:?}");
        let rise: Vec<f64> = fall.iter().rev().copied().collect();
        let found = step(&rise).unwrap();
        assert!(found.is_rise() && (found.at - 15.0 / 24.0).abs() < 1e-9, "{found:?}");
        let slope: Vec<f64> = (0..24).map(|i| 1000.0 - 25.0 * i as f64).collect();
        assert_eq!(step(&slope), None);
        let flat: Vec<f64> = (0..24).map(|i| 1000.0 * noise(i)).collect();
        assert_eq!(step(&flat), None);
        let mut stalled = flat.clone();
        stalled[11] = 0.0;
        assert_eq!(step(&stalled), None);
        assert_eq!(step(&[1.0, 2.0]), None);
        assert_eq!(step(&[5.0; 12]), None);
    }

    /// What comes after a fall stays; what came before a rise is over, and matters as far as it is in the mean.
    #[test]
    fn a_late_fall_is_a_step_and_an_early_rise_is_a_warm_up() {
        let slow_for = |parts: usize| -> Vec<f64> { (0..24).map(|i| if i < parts { 500.0 } else { 1000.0 }).collect() };
        let late: Vec<f64> = slow_for(2).into_iter().rev().collect();
        assert!(step(&late).is_some_and(|step| !step.is_rise()));
        assert_eq!(step(&slow_for(2)), None, "4 % of the mean");
        assert_eq!(step(&slow_for(4)), None, "8 %");
        assert!(step(&slow_for(5)).is_some(), "10.4 %");
        assert!(step(&slow_for(12)).is_some());
    }

    fn steady_level(rate: f64) -> Level {
        Level { rate, step: None }
    }

    fn level_with(rate: f64, before: f64, after: f64) -> Level {
        Level {
            rate,
            step: Some(Step { at: 0.5, before, after }),
        }
    }

    #[test]
    fn a_credit_that_ends_in_one_block_is_one_when_the_others_agree() {
        let in_second = |last: f64| {
            [
                steady_level(99.0),
                level_with(75.0, 100.0, 50.0),
                steady_level(51.0),
                steady_level(last),
            ]
        };
        assert_eq!(lasts_from_one(&in_second(49.0)).map(|(nth, _)| nth), Some(2));
        assert!(
            lasts_from_one(&in_second(98.0)).is_none(),
            "it came back: a neighbour, and no credit"
        );
        assert!(
            lasts_from_one(&in_second(49.0)[..2]).is_none(),
            "nothing after it tells"
        );
        let slow_before = [steady_level(52.0), level_with(75.0, 100.0, 50.0), steady_level(50.0)];
        assert!(lasts_from_one(&slow_before).is_none());
        let in_first = [level_with(75.0, 100.0, 50.0), steady_level(50.0), steady_level(51.0)];
        assert_eq!(lasts_from_one(&in_first).map(|(nth, _)| nth), Some(1));
    }

    #[test]
    fn a_resync_that_ends_in_one_block_is_one_when_the_others_agree() {
        let resync = [
            steady_level(50.0),
            level_with(75.0, 50.0, 100.0),
            steady_level(99.0),
            steady_level(101.0),
        ];
        let (nth, step) = lasts_from_one(&resync).unwrap();
        assert!(nth == 2 && step.is_rise());
        assert!(
            lasts_from_one(&resync[1..]).is_none(),
            "a first block that begins slowly"
        );
        assert!(lasts_from_one(&resync[..2]).is_none(), "nothing after it tells");
    }

    #[test]
    fn a_step_in_most_blocks_is_usual_whichever_comes_first() {
        let blocks = |steps: &[(f64, f64)]| -> Vec<Level> {
            let quiet = 4 - steps.len();
            let stepped = steps.iter().map(|(before, after)| level_with(75.0, *before, *after));
            stepped.chain((0..quiet).map(|_| steady_level(75.0))).collect()
        };
        let said = |steps: &[(f64, f64)]| usual(&blocks(steps)).map(|(_, words)| words);
        assert_eq!(said(&[(50.0, 100.0); 2]), None, "half of them");
        assert_eq!(
            said(&[(50.0, 100.0); 3]).unwrap(),
            "in 3 of 4 blocks the rate rose from 50.0 to 100 a second, after 50 % of the phase"
        );
        let mixed = said(&[(50.0, 100.0), (100.0, 50.0), (100.0, 40.0)]).unwrap();
        assert!(
            mixed.starts_with("in 2 of 4 blocks the rate fell from 100 to") && mixed.ends_with("; in 1 it rose"),
            "{mixed}"
        );
    }

    #[test]
    fn a_step_that_lies_between_two_blocks_is_seen() {
        let cut = |rates: &[f64]| lasting_step(rates).map(|(cut, _)| cut);
        assert_eq!(cut(&[100.0, 52.0, 51.0, 49.0]), Some(1));
        assert_eq!(cut(&[101.0, 98.0, 102.0, 60.0, 62.0, 59.0]), Some(3));
        assert_eq!(cut(&[100.0, 50.0, 50.0, 50.0]), Some(1));
        assert_eq!(cut(&[50.0, 51.0, 49.0, 100.0]), Some(3), "the slower side has two");
        assert_eq!(cut(&[60.0, 62.0, 59.0, 101.0, 98.0, 102.0]), Some(3));
        // Back again, too little, slow in the first or the last block only.
        for honest in [
            [100.0, 50.0, 51.0, 99.0],
            [100.0, 88.0, 87.0, 88.0],
            [88.0, 87.0, 88.0, 100.0],
            [50.0, 100.0, 101.0, 99.0],
            [100.0, 99.0, 101.0, 60.0],
        ] {
            assert_eq!(lasting_step(&honest), None, "{honest:?}");
        }
        assert_eq!(lasting_step(&[1.0]), None);
    }

    /// Of honest series of 4 to 12 blocks, whose blocks and parts scatter by 3 to 15 %: how many have a step in most
    /// blocks, in one, and between blocks. `shape`: the rate at a moment of the phase (0 to 1), with two random numbers
    /// of the series (0 to 1).
    fn flagged(series: usize, shape: impl Fn(f64, f64, f64) -> f64) -> [usize; 3] {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(20);
        let mut unit = move || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        // Box and Muller.
        let normal =
            |unit: &mut dyn FnMut() -> f64| (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        let mut flagged = [0; 3];
        for nth in 0..series {
            let noise = 0.03 + 0.12 * unit();
            let (depth, time) = (unit(), unit());
            let blocks = [4, 6, 8, 12][nth % 4];
            let rates: Vec<f64> = (0..blocks)
                .map(|_| 1000.0 * (1.0 + noise * normal(&mut unit)))
                .collect();
            let of_block = |rate: &f64| {
                let part = |part: usize| rate * shape(part as f64 / PARTS_MAX as f64, depth, time);
                let parts: Vec<f64> = (0..PARTS_MAX)
                    .map(|nth| part(nth) * (1.0 + noise * normal(&mut unit)))
                    .collect();
                Level {
                    rate: *rate,
                    step: step(&parts),
                }
            };
            let levels: Vec<Level> = rates.iter().map(of_block).collect();
            flagged[0] += usize::from(usual(&levels).is_some());
            flagged[1] += usize::from(lasts_from_one(&levels).is_some());
            flagged[2] += usize::from(lasting_step(&rates).is_some());
        }
        flagged
    }

    #[test]
    fn an_honest_noisy_machine_is_hardly_ever_flagged() {
        let found = flagged(10_000, |_, _, _| 1.0);
        assert!(found.iter().sum::<usize>() <= 100, "1 %: {found:?}");
    }

    /// A cache that fills in every block: at first the rate is down to half of what it becomes, and comes nearer by a
    /// constant of up to a tenth of the phase, so that the mean lies up to 5 % low.
    #[test]
    fn an_honest_warm_up_is_hardly_ever_flagged() {
        let found = flagged(10_000, |at, depth, time| {
            1.0 - 0.5 * depth * (-at / (0.01 + 0.09 * time)).exp()
        });
        assert!(found.iter().sum::<usize>() <= 100, "1 %: {found:?}");
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
