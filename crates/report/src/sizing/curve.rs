//! How many LUNs carry a load, from stacks that were measured with one number of LUNs or with several.
//!
//! Takes (LUNs, how many of that stack the load takes), gives LUNs. Several numbers of LUNs make a curve, straight
//! between its points where both axes are logarithmic; one alone is taken to add up. Prevents: a curve that is followed
//! beyond its points without saying so.

/// A stack that was measured: its LUNs, and how many such stacks the load takes.
pub(crate) type Point = (f64, f64);

/// LUNs that carry the load once; `None` where more LUNs did not carry more. Points in ascending order of LUNs.
pub(crate) fn luns(points: &[Point]) -> Option<f64> {
    let whole = points.first().map_or(0.0, |first| first.0);
    at(points, points, whole)
}

/// The fewest and the most LUNs, where each point is known by the lower and the upper end of its share only. A line
/// that goes on beyond the points is as steep, or as flat, as the ends of its two points allow.
pub(crate) fn ends(low: &[Point], high: &[Point]) -> [Option<f64>; 2] {
    let whole = high.first().map_or(0.0, |first| first.0);
    [at(low, high, 0.0), at(high, low, whole)]
}

/// `other`: of the points that a line beyond the measured ones comes from. `if_flat`: LUNs below the smallest stack
/// where the larger one carries no more.
fn at(points: &[Point], other: &[Point], if_flat: f64) -> Option<f64> {
    let [first, .., last] = points else {
        // One of them, so many times.
        return points.first().map(|(luns, share)| luns * share);
    };
    if first.1 <= 1.0 {
        // A flat curve says that something else is the limit, not that fewer LUNs carry more than their part.
        let in_proportion = first.0 * first.1;
        let on_line = on_line(*first, other[1]).unwrap_or(if_flat);
        return Some(on_line.max(in_proportion).min(first.0));
    }
    let pairs = points.windows(2).map(|pair| (pair[0], pair[1]));
    let crossed = pairs.into_iter().find(|(_, above)| above.1 <= 1.0);
    match crossed {
        Some((below, above)) => on_line(below, above),
        // Beyond the last point LUNs are not taken to carry more than their part.
        None => on_line(other[points.len() - 2], *last).map(|luns| luns.max(last.0 * last.1)),
    }
}

/// Where the line through two points comes to a share of 1.
fn on_line((luns_a, share_a): Point, (luns_b, share_b): Point) -> Option<f64> {
    let (dx, dy) = ((luns_b / luns_a).ln(), (share_b / share_a).ln());
    let luns = (luns_b.ln() - share_b.ln() * dx / dy).exp();
    (dy < 0.0 && luns.is_finite()).then_some(luns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_points_the_curve_is_followed() {
        // Twice the LUNs carry 1.8 times the load.
        let points = [(1.0, 2.7), (2.0, 1.5), (4.0, 0.8333)];
        let found = luns(&points).unwrap();
        assert!(found > 3.2 && found < 3.3, "{found}");
        assert!((luns(&[(1.0, 2.0), (2.0, 1.0), (4.0, 0.5)]).unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn beyond_them_the_last_line_goes_on() {
        let found = luns(&[(1.0, 8.0), (2.0, 4.0)]).unwrap();
        assert!((found - 8.0).abs() < 1e-9, "{found}");
        assert!(
            (luns(&[(4.0, 0.5), (8.0, 0.25)]).unwrap() - 2.0).abs() < 1e-9,
            "fewer than the smallest"
        );
        // Four LUNs do not carry what eight can't carry twice: one would carry a quarter of four.
        assert_eq!(luns(&[(4.0, 0.5), (8.0, 0.48)]), Some(2.0));
        assert_eq!(luns(&[(1.0, 3.0), (2.0, 3.1)]), None, "more LUNs carried no more");
    }

    #[test]
    fn beyond_the_last_point_luns_carry_at_most_their_part() {
        // One LUN scattered, so that two seem to carry three times as much as one.
        let found = luns(&[(1.0, 12.0), (2.0, 4.0)]).unwrap();
        assert!((found - 8.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn an_interval_beyond_the_points_grows_with_the_scatter_of_the_smaller_stack() {
        let of = |one: [f64; 2], two: [f64; 2]| {
            let points = |end: usize| [(1.0, one[end]), (2.0, two[end])];
            ends(&points(0), &points(1))
        };
        let middle = luns(&[(1.0, 2.7), (2.0, 1.5)]).unwrap();
        let [low, high] = of([1.89, 3.85], [1.40, 1.61]);
        assert!(low.unwrap() < middle && high.unwrap() > 15.0, "{low:?} {high:?}");
        let [_, nearer] = of([2.5, 2.9], [1.40, 1.61]);
        assert!(nearer.unwrap() > middle && nearer < high, "{nearer:?}");
        assert_eq!(
            of([1.5, 4.8], [1.40, 1.61])[1],
            None,
            "the small stack may carry as much"
        );
        // On the other side: fewer LUNs than were measured.
        let [low, high] = of([0.5, 0.6], [0.3, 0.35]);
        let middle = luns(&[(1.0, 0.55), (2.0, 0.32)]).unwrap();
        assert!(
            low.unwrap() < middle && middle < high.unwrap() && high.unwrap() <= 1.0,
            "{low:?} {high:?}"
        );
    }

    #[test]
    fn one_point_adds_up() {
        assert_eq!(luns(&[(4.0, 2.5)]), Some(10.0));
        assert_eq!(luns(&[]), None);
    }
}
