//! The point of a load curve from which more users no longer help.
//!
//! Takes the throughput of each step of the curve, block by block, gives the smallest number of users whose throughput
//! lies within a margin of the best step's, and between which numbers of users that point may lie. Prevents: a knee
//! read off a chart by eye, a best step by a hair called the optimum, and "no longer helps" said of a curve that was
//! still rising at its last step.
//!
//! **Method.** The best step is the one with the highest geometric mean over the blocks. For each step i, y_b =
//! ln(best_b / i_b) over the blocks b. The point is the first step with exp(mean y) <= 1 + margin. With two blocks or
//! more, the t interval of mean y (95 %) tells from which step it *may* already hold (lower end at most 1 + margin) and
//! from which it *surely* does (upper end at most 1 + margin). The best step is chosen by the same data, so its
//! advantage is a little overstated and the point errs to more users. Where the point is the last step, or may be it,
//! the curve was not driven far enough, and that is said.

use crate::summary::{Interval, ratio_interval};

/// One step of a load curve.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadStep {
    /// Users.
    pub users: u32,
    /// Throughput of each block; a block has the same place in all steps.
    pub throughput: Vec<f64>,
}

/// Where more users stop helping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// The fewest users within the margin of the best step.
    pub users: u32,
    /// The fewest for which that can't be ruled out; `None` with one block.
    pub users_low: Option<u32>,
    /// The fewest for which it is sure; `None` with one block.
    pub users_high: Option<u32>,
    /// Users of the step with the highest throughput.
    pub best_users: u32,
    /// The best step's throughput over that of the point, with its interval where there is one.
    pub best_over_point: Interval,
    /// There is a step with more users than the point, even at the upper end of its interval: the curve has been seen
    /// to bend.
    pub reached: bool,
}

const CONFIDENCE: f64 = 0.95;

/// The point from which more users help by no more than `margin` (0.05 is 5 %). Steps come in ascending order of users.
/// `None` without two steps, or where a block lacks a positive throughput in any.
pub fn saturation(steps: &[LoadStep], margin: f64) -> Option<Saturation> {
    let blocks = steps.first()?.throughput.len();
    let usable = |step: &LoadStep| {
        step.throughput.len() == blocks && step.throughput.iter().all(|value| value.is_finite() && *value > 0.0)
    };
    let ascending = steps.windows(2).all(|pair| pair[0].users < pair[1].users);
    if steps.len() < 2 || blocks == 0 || !ascending || !steps.iter().all(usable) {
        return None;
    }
    let level = |step: &LoadStep| crate::geometric_mean(&step.throughput);
    let best = steps.iter().max_by(|a, b| level(a).total_cmp(&level(b)))?;
    let behind: Vec<(u32, Interval)> = steps.iter().map(|step| (step.users, ratio(best, step))).collect();
    let limit = 1.0 + margin;
    let first = |end: &dyn Fn(&Interval) -> f64| {
        let found = behind.iter().find(|(_, interval)| end(interval) <= limit);
        found.map(|(users, _)| *users)
    };
    let users = first(&|interval| interval.middle)?;
    let (_, best_over_point) = *behind.iter().find(|(of, _)| *of == users)?;
    let users_high = first(&|interval| interval.high).filter(|_| blocks > 1);
    let last = steps.last()?.users;
    Some(Saturation {
        users,
        users_low: first(&|interval| interval.low).filter(|_| blocks > 1),
        users_high,
        best_users: best.users,
        best_over_point,
        reached: users_high.unwrap_or(users) < last,
    })
}

fn ratio(best: &LoadStep, step: &LoadStep) -> Interval {
    let ys: Vec<f64> = best
        .throughput
        .iter()
        .zip(&step.throughput)
        .map(|(b, i)| (b / i).ln())
        .collect();
    let middle = crate::mean(&ys).exp();
    ratio_interval(&ys, CONFIDENCE).unwrap_or(Interval {
        middle,
        low: middle,
        high: middle,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(levels: &[(u32, f64)], noise: &[f64]) -> Vec<LoadStep> {
        let of = |nth: usize, level: f64| {
            // Noise that is not the same in all steps, or every ratio would be exact.
            noise
                .iter()
                .map(|n| level * (1.0 + if nth.is_multiple_of(2) { *n } else { -n }))
                .collect()
        };
        let step = |(nth, (users, level)): (usize, &(u32, f64))| LoadStep {
            users: *users,
            throughput: of(nth, *level),
        };
        levels.iter().enumerate().map(step).collect()
    }

    const BEND: [(u32, f64); 6] = [(1, 100.0), (2, 190.0), (4, 340.0), (8, 460.0), (16, 470.0), (32, 440.0)];

    #[test]
    fn the_bend_is_found_and_the_best_by_a_hair_is_not() {
        let found = saturation(&curve(&BEND, &[0.001, -0.002, 0.002, -0.001]), 0.05).unwrap();
        assert_eq!((found.users, found.best_users, found.reached), (8, 16, true));
        assert_eq!((found.users_low, found.users_high), (Some(8), Some(8)));
        assert!((found.best_over_point.middle - 470.0 / 460.0).abs() < 0.001);
    }

    #[test]
    fn noise_widens_the_point() {
        let found = saturation(&curve(&BEND, &[0.05, -0.06, 0.04, -0.03]), 0.05).unwrap();
        assert!(found.users_low <= Some(found.users) && found.users_high >= Some(found.users));
        assert!(found.users_high > Some(8), "{found:?}");
    }

    #[test]
    fn a_rising_curve_has_not_been_seen_to_bend() {
        let found = saturation(&curve(&BEND[..4], &[0.001, -0.001]), 0.05).unwrap();
        assert_eq!((found.users, found.reached), (8, false));
        // One block: a point, and no interval.
        let found = saturation(&curve(&BEND, &[0.0]), 0.05).unwrap();
        assert_eq!((found.users, found.users_low, found.users_high), (8, None, None));
    }

    #[test]
    fn a_falling_curve_is_best_at_its_first_step() {
        let found = saturation(&curve(&[(1, 100.0), (2, 80.0), (4, 70.0)], &[0.001, -0.001]), 0.05).unwrap();
        assert_eq!((found.users, found.best_users, found.reached), (1, 1, true));
    }

    #[test]
    fn what_is_no_curve_has_no_point() {
        assert_eq!(saturation(&[], 0.05), None);
        assert_eq!(saturation(&curve(&BEND[..1], &[0.0]), 0.05), None);
        assert_eq!(saturation(&curve(&[(2, 1.0), (1, 2.0)], &[0.0]), 0.05), None);
        assert_eq!(saturation(&curve(&[(1, 0.0), (2, 2.0)], &[0.0]), 0.05), None);
        let mut ragged = curve(&BEND, &[0.0, 0.1]);
        ragged[1].throughput.pop();
        assert_eq!(saturation(&ragged, 0.05), None);
    }
}
