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
/// A fall between blocks is believed at this risk.
const DROP_RISK: f64 = 0.005;
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

/// What is to be known of the phase besides its runs.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    pub kind: PhaseKind,
    /// Its sessions go home after so many operations: the rate falls when the first one does, on every device.
    pub by_count: bool,
}

pub(crate) fn found(timing: Timing, runs: &[&Seen]) -> Vec<Found> {
    [step(timing, runs), drift(timing.kind, runs)]
        .into_iter()
        .flatten()
        .collect()
}

fn step(timing: Timing, runs: &[&Seen]) -> Option<Found> {
    let Timing { kind, by_count } = timing;
    let has_parts = matches!(
        kind,
        PhaseKind::Random | PhaseKind::Open | PhaseKind::Tpcc | PhaseKind::TpccOpen
    ) && !by_count;
    let levels: Vec<Level> = match has_parts {
        true => runs.iter().filter_map(|run| Level::of(kind, run)).collect(),
        false => Vec::new(),
    };
    let series = series(kind, runs);
    if levels.is_empty() && series.is_none() {
        return None;
    }
    let mut falls: Vec<Fall> = levels.iter().filter_map(|level| level.fall).collect();
    falls.sort_by(|a, b| (a.after / a.before).total_cmp(&(b.after / b.before)));
    let is_usual = falls.len() * 2 > levels.len();
    let (status, figure) = match (
        falls.get(falls.len() / 2),
        credit(&levels),
        series.and_then(|rates| lasting_drop(&rates)),
    ) {
        (Some(fall), ..) if is_usual => (
            Status::Suspect,
            format!(
                "in {} of {} blocks the rate fell from {} to {} a second, after {} of the phase",
                falls.len(),
                levels.len(),
                number(fall.before),
                number(fall.after),
                percent(fall.at)
            ),
        ),
        (_, Some((nth, fall)), _) => (
            Status::Suspect,
            format!(
                "in block {nth} of those that count the rate fell from {} to {} a second, and stayed there",
                number(fall.before),
                number(fall.after)
            ),
        ),
        (.., Some((first, fall))) => (
            Status::Suspect,
            format!(
                "after {first} of {} blocks the rate fell by {}, and stayed there",
                runs.len(),
                percent(1.0 - fall.after / fall.before)
            ),
        ),
        (Some(_), ..) => (
            Status::Valid,
            format!(
                "a step down in {} of {} blocks, and not for good",
                falls.len(),
                levels.len()
            ),
        ),
        (None, ..) => (Status::Valid, "no step".to_string()),
    };
    Some((
        "rate level",
        status,
        figure,
        format!("no fall of {} in most blocks, and none for good", percent(FALL_MIN)),
        "a burst credit, a cache that filled or a processor that was slowed: measure longer than it lasts, and read the level after the step",
    ))
}

/// A block: its rate as a whole, and the fall in it, if there is one.
struct Level {
    rate: f64,
    fall: Option<Fall>,
}

impl Level {
    /// `None` where the block is too short to tell.
    fn of(kind: PhaseKind, run: &Seen) -> Option<Level> {
        let parts = parts(kind, run)?;
        Some(Level {
            rate: stats::mean(&parts),
            fall: fall(&parts),
        })
    }
}

/// The one block in which a credit ended: those before it are at the level before its fall, and there are some after it, all at the level
/// after it. Its number among the blocks, from 1.
fn credit(levels: &[Level]) -> Option<(usize, Fall)> {
    let nth = levels.iter().position(|level| level.fall.is_some())?;
    let fall = levels[nth].fall?;
    let middle = (fall.before + fall.after) / 2.0;
    let (before, after) = (&levels[..nth], &levels[nth + 1..]);
    let is_one = !after.is_empty()
        && before.iter().all(|level| level.rate > middle)
        && after.iter().all(|level| level.rate < middle);
    is_one.then_some((nth + 1, fall))
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

/// A fall between two blocks, for good: the cut with the largest t of the two sides' means, at a risk shared among the cuts (Bonferroni).
/// The later side has two blocks at least: the last block alone may be chance. Also how many blocks lie before it.
fn lasting_drop(rates: &[f64]) -> Option<(usize, Fall)> {
    let cuts = 1..=rates.len().checked_sub(LEVEL_MIN)?;
    let n = rates.len() as f64;
    let of = |cut: usize| {
        let (before, after) = rates.split_at(cut);
        let (a, b) = (stats::mean(before), stats::mean(after));
        let within: f64 = before.iter().map(|x| (x - a) * (x - a)).sum::<f64>()
            + after.iter().map(|x| (x - b) * (x - b)).sum::<f64>();
        // Equal values but for the fall have no spread to hold it against: then any is beyond doubt.
        let spread = (within / (n - 2.0)).max(a * a * 1e-12) * (1.0 / cut as f64 + 1.0 / (n - cut as f64));
        ((a - b) / spread.sqrt(), a, b)
    };
    let all: Vec<(usize, (f64, f64, f64))> = cuts.map(|cut| (cut, of(cut))).collect();
    let (cut, (t, before, after)) = all.iter().copied().max_by(|x, y| x.1.0.total_cmp(&y.1.0))?;
    let risk = all.len() as f64 * stats::t_upper_tail(t, n - 2.0);
    (risk <= DROP_RISK && after <= (1.0 - FALL_MIN) * before).then_some((
        cut,
        Fall {
            at: cut as f64 / n,
            before,
            after,
        },
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
    use rand_core::{Rng, SeedableRng};

    impl Level {
        fn with(self, fall: Option<Fall>) -> Level {
            Level { fall, ..self }
        }
    }

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

    fn level(rate: f64, fall: Option<(f64, f64)>) -> Level {
        Level {
            rate,
            fall: fall.map(|(before, after)| Fall { at: 0.5, before, after }),
        }
    }

    #[test]
    fn a_credit_that_ends_in_one_block_is_one_when_the_others_agree() {
        let in_second = |last: f64| {
            [
                level(99.0, None),
                level(75.0, Some((100.0, 50.0))),
                level(51.0, None),
                level(last, None),
            ]
        };
        assert_eq!(credit(&in_second(49.0)).map(|(nth, _)| nth), Some(2));
        assert!(
            credit(&in_second(98.0)).is_none(),
            "it came back: a neighbour, and no credit"
        );
        assert!(credit(&in_second(49.0)[..2]).is_none(), "nothing after it tells");
        assert!(credit(&[level(52.0, None), level(75.0, Some((100.0, 50.0))), level(50.0, None)]).is_none());
    }

    #[test]
    fn a_credit_that_ends_between_two_blocks_is_seen() {
        assert_eq!(lasting_drop(&[100.0, 52.0, 51.0, 49.0]).map(|(cut, _)| cut), Some(1));
        assert_eq!(
            lasting_drop(&[101.0, 98.0, 102.0, 60.0, 62.0, 59.0]).map(|(cut, _)| cut),
            Some(3)
        );
        assert_eq!(lasting_drop(&[100.0, 50.0, 50.0, 50.0]).map(|(cut, _)| cut), Some(1));
        // Back again, too little, upwards, in the last block only.
        for honest in [
            [100.0, 50.0, 51.0, 99.0],
            [100.0, 88.0, 87.0, 88.0],
            [50.0, 100.0, 101.0, 99.0],
            [100.0, 99.0, 101.0, 60.0],
        ] {
            assert_eq!(lasting_drop(&honest), None, "{honest:?}");
        }
        assert_eq!(lasting_drop(&[1.0]), None);
    }

    /// Honest machines: blocks and the parts in them scatter by 3 to 15 %, and nothing falls.
    #[test]
    fn an_honest_noisy_machine_is_hardly_ever_flagged() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(20);
        let mut unit = move || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        // Box and Muller.
        let normal =
            |unit: &mut dyn FnMut() -> f64| (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        let (series, mut flagged) = (10_000, [0; 3]);
        for nth in 0..series {
            let noise = 0.03 + 0.12 * unit();
            let blocks = [4, 6, 8, 12][nth % 4];
            let rates: Vec<f64> = (0..blocks)
                .map(|_| 1000.0 * (1.0 + noise * normal(&mut unit)))
                .collect();
            let levels: Vec<Level> = rates
                .iter()
                .map(|rate| {
                    let parts: Vec<f64> = (0..PARTS_MAX)
                        .map(|_| rate * (1.0 + noise * normal(&mut unit)))
                        .collect();
                    level(*rate, None).with(fall(&parts))
                })
                .collect();
            let usual = levels.iter().filter(|level| level.fall.is_some()).count() * 2 > levels.len();
            flagged[0] += usize::from(usual);
            flagged[1] += usize::from(credit(&levels).is_some());
            flagged[2] += usize::from(lasting_drop(&rates).is_some());
        }
        let worst: usize = flagged.iter().sum();
        assert!(
            worst * 100 <= series,
            "most blocks, one block, between blocks: {flagged:?} of {series}"
        );
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
