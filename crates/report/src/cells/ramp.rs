//! The points of one run of a ramp, and where response passes the limit.
//!
//! Takes the rows of a phase of file serving, gives a [`Ramp`]. Prevents: a load that was asked for and not done, and
//! "the limit" of a ramp that never reached one.

use crate::figures::over;
use hdrhistogram::Histogram;
use ledger::{FileServing, LedgerError, LimitOf, LoadPoint, Stamp, add_histogram, decode_histogram, p99_with_unsent};

/// What one run's ramp came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ramp {
    pub(crate) points: Vec<PointOfRun>,
    /// Where response passes the limit.
    pub(crate) limit: AtLimit,
    /// Where it would, if each operation were sent when it was due.
    pub(crate) limit_unlate: AtLimit,
    /// The first point outside fell short because no session was free: what the server can do is not known.
    pub(crate) ran_out_of_sessions: bool,
}

/// One point of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PointOfRun {
    pub(crate) asked_per_s: f64,
    pub(crate) done_per_s: f64,
    pub(crate) mean_ns: f64,
    pub(crate) p50_ns: f64,
    /// With what was never sent; `None` where that is more than 1 %.
    pub(crate) p99_ns: Option<f64>,
    pub(crate) late_share: f64,
    pub(crate) unsent_share: f64,
    pub(crate) operations: f64,
    /// The load was reached.
    pub(crate) reached: bool,
    /// It was reached within the limit.
    pub(crate) inside: bool,
    /// The response that is limited, from due to done; and the same from sent to done.
    pub(crate) limited_ns: f64,
    pub(crate) limited_sent_ns: f64,
}

/// Where response passes the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AtLimit {
    /// Operations a second.
    At(f64),
    /// The last point was inside, or there is no limit: at least so much.
    AtLeast(f64),
    /// The first point was outside already: below it.
    Below(f64),
    /// No point.
    Nowhere,
}

impl Ramp {
    /// Of one run.
    pub(crate) fn of(serving: &FileServing) -> Result<Ramp, LedgerError> {
        let mut points = Vec::new();
        for point in &serving.points {
            points.extend(PointOfRun::of(point, serving)?);
        }
        Ok(Ramp::through(points, serving))
    }

    fn through(points: Vec<PointOfRun>, serving: &FileServing) -> Ramp {
        Ramp {
            limit: at_limit(&points, serving),
            limit_unlate: at_limit(&unlate(&points, serving), serving),
            ran_out_of_sessions: ran_out_of_sessions(&points, serving),
            points,
        }
    }

    /// By which share the rate at the limit would be higher, if each operation were sent when it was due; without end
    /// where the ramp would not come to the limit, or nobody knows how far it would. `None`: it has no such rate.
    pub(crate) fn late_cost(&self) -> Option<f64> {
        if self.ran_out_of_sessions {
            return Some(f64::INFINITY);
        }
        match (self.limit, self.limit_unlate) {
            (AtLimit::At(rate), AtLimit::At(unlate)) if rate > 0.0 => Some((unlate / rate - 1.0).max(0.0)),
            (AtLimit::At(_), AtLimit::AtLeast(_)) => Some(f64::INFINITY),
            _ => None,
        }
    }

    /// The highest rate done at any point.
    pub(crate) fn peak(&self) -> Option<f64> {
        self.points.iter().map(|point| point.done_per_s).reduce(f64::max)
    }

    /// Valid points for the overall response: inside, from the first one on.
    fn valid(&self) -> Vec<(f64, f64)> {
        let inside = self.points.iter().take_while(|point| point.inside);
        inside.map(|point| (point.done_per_s, point.mean_ns)).collect()
    }

    /// SFS 3.0: the area starts at no load, with the first point's response.
    pub(crate) fn overall_sfs(&self) -> Option<f64> {
        let valid = self.valid();
        let (first, last) = (valid.first()?, valid.last()?);
        over(Some(first.0 * first.1 + area(&valid)), Some(last.0))
    }

    /// SPECstorage 2020: over the measured range.
    pub(crate) fn overall_specstorage(&self) -> Option<f64> {
        let valid = self.valid();
        let (first, last) = (valid.first()?, valid.last()?);
        over(Some(area(&valid)), Some(last.0 - first.0))
    }
}

/// By trapezoids.
fn area(points: &[(f64, f64)]) -> f64 {
    let two = points.windows(2);
    two.map(|two| (two[1].0 - two[0].0) * (two[1].1 + two[0].1) / 2.0).sum()
}

impl PointOfRun {
    /// `None` where nothing ended.
    fn of(point: &LoadPoint, serving: &FileServing) -> Result<Option<PointOfRun>, LedgerError> {
        let (response, service) = (of_all(point, Stamp::Response)?, of_all(point, Stamp::Service)?);
        let seconds = point.ended_ns.saturating_sub(point.began_ns) as f64 / 1e9;
        let Some(response) = response.filter(|all| !all.is_empty() && seconds > 0.0) else {
            return Ok(None);
        };
        let p99_ns = p99_with_unsent(&response, point.unsent as f64);
        let mean_ns = response.mean();
        let served_ns = service.as_ref().map_or(mean_ns, |all| all.mean());
        let served_p99_ns = service.as_ref().unwrap_or(&response).value_at_quantile(0.99) as f64;
        let (limited_ns, limited_sent_ns) = match serving.limit_of {
            LimitOf::P99 => (p99_ns.unwrap_or_else(|| beyond_all(&response, serving)), served_p99_ns),
            LimitOf::Mean => (mean_ns, served_ns),
        };
        let done_per_s = point.in_time as f64 / seconds;
        // Arrivals are drawn: a point is held to what fell due, not to the rate that was asked.
        let due = response.len().saturating_add(point.unsent);
        let reached = point.in_time as f64 >= serving.reached_share * due as f64;
        Ok(Some(PointOfRun {
            asked_per_s: point.asked_per_s,
            done_per_s,
            mean_ns,
            p50_ns: response.value_at_quantile(0.5) as f64,
            p99_ns,
            late_share: over(Some((mean_ns - served_ns).max(0.0)), Some(mean_ns)).unwrap_or(0.0),
            unsent_share: point.unsent as f64 / due.max(1) as f64,
            operations: response.len() as f64,
            reached,
            inside: reached && within(limited_ns, serving),
            limited_ns,
            limited_sent_ns,
        }))
    }
}

/// A p99 that is not known is longer than all that ended, and outside. It is finite, so that the rate at the limit lies
/// between two points as for any other: with an infinite one it would be that of the point before, whatever the stack
/// does.
fn beyond_all(ended: &Histogram<u64>, serving: &FileServing) -> f64 {
    let limit = serving.limit_ns.unwrap_or(0);
    ended.max().max(limit.saturating_add(1)) as f64
}

/// Whether a response is within the limit.
fn within(limited_ns: f64, serving: &FileServing) -> bool {
    serving.limit_ns.is_none_or(|limit| limited_ns <= limit as f64)
}

/// The points as they would be, if each operation were sent when it was due.
fn unlate(points: &[PointOfRun], serving: &FileServing) -> Vec<PointOfRun> {
    let one = |point: &PointOfRun| PointOfRun {
        inside: point.reached && within(point.limited_sent_ns, serving),
        limited_ns: point.limited_sent_ns,
        ..point.clone()
    };
    points.iter().map(one).collect()
}

/// Whether the first point outside fell short of its rate while the server kept to the limit: its operations waited for
/// a free session, so that its rate is that of the sessions. To take it as reached would be a guess.
fn ran_out_of_sessions(points: &[PointOfRun], serving: &FileServing) -> bool {
    let outside = points.iter().find(|point| !point.inside);
    outside.is_some_and(|point| {
        !point.reached && !within(point.limited_ns, serving) && within(point.limited_sent_ns, serving)
    })
}

/// The distribution of all classes at a point.
fn of_all(point: &LoadPoint, stamp: Stamp) -> Result<Option<Histogram<u64>>, LedgerError> {
    let mut sum: Option<Histogram<u64>> = None;
    for row in point.histograms.iter().filter(|row| row.stamp == stamp) {
        add_histogram(&mut sum, decode_histogram(&row.blob)?, &row.class)?;
    }
    Ok(sum)
}

/// Between the last point inside and the first outside, in the logarithm of response; where the load was not reached
/// though response was short, the rate that was done.
fn at_limit(points: &[PointOfRun], serving: &FileServing) -> AtLimit {
    let Some(outside) = points.iter().position(|point| !point.inside) else {
        return match points.last() {
            Some(last) => AtLimit::AtLeast(last.done_per_s),
            None => AtLimit::Nowhere,
        };
    };
    let over = &points[outside];
    let last = outside.checked_sub(1).map(|nth| &points[nth]);
    let Some(limit) = serving.limit_ns.map(|ns| ns as f64) else {
        // What a lower load did the stack can do, though a higher one makes it do less.
        return AtLimit::At(last.map_or(over.done_per_s, |last| over.done_per_s.max(last.done_per_s)));
    };
    let Some(last) = last else {
        // Response may be short where the load was not reached.
        return match over.limited_ns <= limit {
            true => AtLimit::At(over.done_per_s),
            false => AtLimit::Below(over.done_per_s),
        };
    };
    let (low, high) = (last.limited_ns.max(1.0).ln(), over.limited_ns.max(1.0).ln());
    if high <= limit.ln() {
        return AtLimit::At(over.done_per_s.max(last.done_per_s));
    }
    // A point that is outside may have done less than the one before it.
    let reach = (over.done_per_s - last.done_per_s).max(0.0);
    let share = ((limit.ln() - low) / (high - low)).clamp(0.0, 1.0);
    AtLimit::At(last.done_per_s + share * reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(limit_ns: Option<u64>) -> FileServing {
        FileServing {
            protocol: ledger::Protocol::Posix,
            server: None,
            work: "sfs97".into(),
            arrival: ledger::FileArrival::Poisson,
            sessions: 8,
            connections: None,
            transfer_bytes: 8192,
            warm_up_ns: 0,
            limit_ns,
            limit_of: LimitOf::Mean,
            reached_share: 0.95,
            points: Vec::new(),
        }
    }

    fn point(asked: f64, done: f64, mean_ms: f64) -> PointOfRun {
        PointOfRun {
            asked_per_s: asked,
            done_per_s: done,
            mean_ns: mean_ms * 1e6,
            p50_ns: 0.0,
            p99_ns: None,
            late_share: 0.0,
            unsent_share: 0.0,
            operations: 1.0,
            reached: done >= 0.95 * asked,
            inside: done >= 0.95 * asked && mean_ms <= 15.0,
            limited_ns: mean_ms * 1e6,
            limited_sent_ns: mean_ms * 1e6,
        }
    }

    fn sent(sent_ms: f64, point: PointOfRun) -> PointOfRun {
        PointOfRun {
            limited_sent_ns: sent_ms * 1e6,
            ..point
        }
    }

    #[test]
    fn lateness_costs_what_the_rate_at_the_limit_loses_by_it() {
        let with = serving(Some(15_000_000));
        let cost = |points: Vec<PointOfRun>| Ramp::through(points, &with).late_cost();
        // Half of a short response is no matter where the rate is decided elsewhere.
        let early = vec![
            sent(0.1, point(100.0, 100.0, 0.2)),
            point(200.0, 200.0, 5.0),
            point(300.0, 300.0, 45.0),
        ];
        assert_eq!(cost(early), Some(0.0));
        // 15 ms is half-way to 45 ms and all the way to 15 ms.
        let both = vec![point(100.0, 100.0, 5.0), sent(15.0001, point(200.0, 200.0, 45.0))];
        assert!(cost(both).is_some_and(|cost| (cost - 1.0 / 3.0).abs() < 1e-3));
        let never = vec![point(100.0, 100.0, 5.0), sent(9.0, point(200.0, 200.0, 45.0))];
        assert_eq!(cost(never), Some(f64::INFINITY));
        assert_eq!(cost(vec![point(100.0, 100.0, 5.0)]), None);
    }

    /// Two stacks with the same last point inside may do unlike work beyond it.
    #[test]
    fn a_p99_that_is_not_known_lies_beyond_all_that_ended_and_is_finite() {
        let mut ended = Histogram::<u64>::new(3).expect("a distribution");
        ended.record(40_000_000).expect("recorded");
        let beyond = beyond_all(&ended, &serving(Some(15_000_000)));
        assert!((40e6..41e6).contains(&beyond), "{beyond}");
        let short = beyond_all(&ended, &serving(Some(60_000_000)));
        assert!(short > 60e6, "it is outside: {short}");
        let rate = |done: f64| {
            let over = PointOfRun {
                limited_ns: beyond,
                inside: false,
                ..point(200.0, done, 45.0)
            };
            at_limit(&[point(100.0, 100.0, 5.0), over], &serving(Some(15_000_000)))
        };
        assert_ne!(rate(120.0), rate(190.0));
    }

    #[test]
    fn a_ramp_that_runs_out_of_sessions_says_nothing_of_its_server() {
        let with = serving(Some(15_000_000));
        let cost = |points: Vec<PointOfRun>| Ramp::through(points, &with).late_cost();
        // 8 sessions of 0.5 ms each do 16,000/s, whatever the server could.
        let inside = point(15_000.0, 15_000.0, 0.6);
        let capped = sent(0.5, point(20_000.0, 16_000.0, 400.0));
        assert_eq!(cost(vec![inside.clone(), capped.clone()]), Some(f64::INFINITY));
        assert_eq!(cost(vec![capped]), Some(f64::INFINITY), "also as the first point");
        let saturated = sent(390.0, point(20_000.0, 16_000.0, 400.0));
        assert!(cost(vec![inside.clone(), saturated]).is_some_and(|cost| cost < 0.05));
        let short = sent(0.5, point(20_000.0, 16_000.0, 0.6));
        assert_eq!(cost(vec![inside, short]), Some(0.0), "response was short from due too");
    }

    #[test]
    fn the_rate_at_the_limit_lies_between_the_last_point_inside_and_the_first_outside() {
        let with = serving(Some(15_000_000));
        let at = |points: &[PointOfRun]| at_limit(points, &with);
        // 15 is half-way from 5 to 45 in the logarithm.
        let half = [point(100.0, 100.0, 5.0), point(200.0, 200.0, 45.0)];
        assert!(matches!(at(&half), AtLimit::At(rate) if (rate - 150.0).abs() < 1e-9));
        let short = [point(100.0, 100.0, 5.0), point(200.0, 140.0, 6.0)];
        assert_eq!(
            at(&short),
            AtLimit::At(140.0),
            "its rate was not reached, though response was short"
        );
        assert_eq!(at(&half[..1]), AtLimit::AtLeast(100.0));
        assert_eq!(at(&half[1..]), AtLimit::Below(200.0));
        assert_eq!(at(&[]), AtLimit::Nowhere);
        let collapsed = [point(100.0, 100.0, 5.0), point(200.0, 60.0, 45.0)];
        assert_eq!(at(&collapsed), AtLimit::At(100.0), "never less than what was inside");
        let slower = [point(1000.0, 1000.0, 5.0), point(1050.0, 990.0, 6.0)];
        assert_eq!(at(&slower), AtLimit::At(1000.0), "also where response stays short");
        let without = at_limit(&[point(100.0, 100.0, 5.0), point(200.0, 150.0, 9.0)], &serving(None));
        assert_eq!(without, AtLimit::At(150.0));
        let fell = at_limit(&[point(100.0, 100.0, 5.0), point(200.0, 60.0, 9.0)], &serving(None));
        assert_eq!(fell, AtLimit::At(100.0), "it has done more at a lower load");
    }

    #[test]
    fn overall_response_follows_both_published_rules() {
        let ramp = Ramp {
            points: vec![
                point(100.0, 100.0, 2.0),
                point(200.0, 200.0, 4.0),
                point(300.0, 300.0, 20.0),
            ],
            limit: AtLimit::Nowhere,
            limit_unlate: AtLimit::Nowhere,
            ran_out_of_sessions: false,
        };
        // (100 x 2 + 100 x 3) / 200, and 100 x 3 / 100; the point outside has no part.
        assert_eq!(ramp.overall_sfs(), Some(2.5e6));
        assert_eq!(ramp.overall_specstorage(), Some(3.0e6));
        assert_eq!(ramp.peak(), Some(300.0));
    }
}
