//! Two populations among pieces of work that ran beside each other, such as the scans of users.
//!
//! Takes when each began and ended, gives the split of their times. Prevents: the last pieces, which share a device
//! with fewer others, taken for a second population.

use crate::populations::{Split, two_populations};

/// When a piece of work began and ended, in nanoseconds.
pub type Span = (u64, u64);

/// Two groups by the time that each took (s), if there are also two by that time over how many ran beside it: what
/// shares the bandwidth of a device is slower in company.
pub fn two_populations_in_company(spans: &[Span]) -> Option<Split> {
    let company = Company::of(spans);
    let seconds = |(began, ended): &Span| ended.saturating_sub(*began) as f64 / 1e9;
    let taken: Vec<f64> = spans.iter().map(seconds).collect();
    let shared: Vec<f64> = spans.iter().map(|span| seconds(span) / company.mean(*span)).collect();
    two_populations(&shared)?;
    two_populations(&taken)
}

/// Time of all pieces together, up to each moment at which one begins or ends.
struct Company(Vec<(u64, f64)>);

impl Company {
    fn of(spans: &[Span]) -> Company {
        let begins = spans.iter().map(|(began, _)| (*began, 1_i64));
        let ends = spans.iter().map(|(began, ended)| (*ended.max(began), -1));
        let mut edges: Vec<(u64, i64)> = begins.chain(ends).collect();
        edges.sort_unstable();
        let (mut running, mut sum, mut last) = (0, 0.0, edges.first().map_or(0, |edge| edge.0));
        let mut sums = Vec::with_capacity(edges.len());
        for (at, change) in edges {
            sum += running as f64 * (at - last) as f64;
            sums.push((at, sum));
            running += change;
            last = at;
        }
        Company(sums)
    }

    /// How many ran at a time while this one did, itself included; at least 1.
    fn mean(&self, (began, ended): Span) -> f64 {
        let until = |at: u64| {
            let next = self.0.partition_point(|(edge, _)| *edge < at);
            self.0.get(next).map_or(0.0, |(_, sum)| *sum)
        };
        let span = ended.saturating_sub(began).max(1) as f64;
        ((until(ended) - until(began)) / span).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(began: f64, seconds: f64) -> Span {
        ((began * 1e9) as u64, ((began + seconds) * 1e9) as u64)
    }

    /// A little scatter, the same in each run.
    fn near(nth: usize) -> f64 {
        1.0 + 0.01 * ((nth * 7 % 5) as f64 - 2.0)
    }

    #[test]
    fn the_last_scans_are_no_population_of_their_own() {
        // Ten users, four at a time on one bandwidth: eight scans of 4 s, then two of 2 s.
        let mut scans: Vec<Span> = (0..8)
            .map(|nth| scan(4.0 * (nth / 4) as f64, 4.0 * near(nth)))
            .collect();
        scans.extend([scan(8.0, 2.0), scan(8.0, 2.02)]);
        assert!(two_populations_in_company(&scans).is_none());
    }

    #[test]
    fn two_disks_of_unlike_speed_are() {
        let scans: Vec<Span> = (0..12)
            .map(|nth| scan(0.0, near(nth) * if nth < 6 { 1.0 } else { 3.0 }))
            .collect();
        assert!(two_populations_in_company(&scans).is_some());
        let one_by_one: Vec<Span> = (0..12)
            .map(|nth| scan(4.0 * nth as f64, near(nth) * if nth < 6 { 1.0 } else { 3.0 }))
            .collect();
        assert!(two_populations_in_company(&one_by_one).is_some());
    }
}
