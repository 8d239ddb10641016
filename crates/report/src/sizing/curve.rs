//! How many LUNs carry a load, from stacks that were measured with one number of LUNs or with several.
//!
//! Takes (LUNs, how many of that stack the load takes), gives LUNs. Several numbers of LUNs make a curve, straight
//! between its points where both axes are logarithmic; one alone is taken to add up. Prevents: a curve that is followed
//! beyond its points without saying so.

/// A stack that was measured: its LUNs, and how many such stacks the load takes.
pub(crate) type Point = (f64, f64);

/// LUNs that carry the load once; `None` where more LUNs did not carry more. Points in ascending order of LUNs.
pub(crate) fn luns(points: &[Point]) -> Option<f64> {
    let [first, .., last] = points else {
        // One of them, so many times.
        return points.first().map(|(luns, share)| luns * share);
    };
    if first.1 <= 1.0 {
        // A flat curve says that something else is the limit, not that fewer LUNs carry more than their part.
        let in_proportion = first.0 * first.1;
        let on_line = on_line(*first, points[1]).unwrap_or(first.0);
        return Some(on_line.max(in_proportion).min(first.0));
    }
    let pairs = points.windows(2).map(|pair| (pair[0], pair[1]));
    let crossed = pairs.into_iter().find(|(_, above)| above.1 <= 1.0);
    match crossed {
        Some((below, above)) => on_line(below, above),
        // Beyond the last point LUNs are not taken to carry more than their part.
        None => on_line(points[points.len() - 2], *last).map(|luns| luns.max(last.0 * last.1)),
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
    fn one_point_adds_up() {
        assert_eq!(luns(&[(4.0, 2.5)]), Some(10.0));
        assert_eq!(luns(&[]), None);
    }
}
