//! What an order-entry phase came to: new orders per minute, its mix, and whether responses kept the limits.
//!
//! Takes an [`Outcome`] of the phase, gives numbers. Prevents: a rate that counts orders which were rolled back, and
//! one that is quoted while its users waited too long.

use super::transaction::CLASSES;
use workloads::Outcome;

/// Index of the class that is counted.
pub const NEW_ORDER: usize = 0;

/// The longest 90th percentile of response of each class, ns (TPC-C 5.11, clause 5.2.5.7: 5 s, stock level 20 s).
pub const LIMITS_90_NS: [u64; 5] = [
    5_000_000_000,
    5_000_000_000,
    5_000_000_000,
    5_000_000_000,
    20_000_000_000,
];

/// New orders committed per minute of the phase, rolled-back ones not counted. 0 for a phase without time.
pub fn nopm(outcome: &Outcome) -> f64 {
    let committed = outcome.classes.get(NEW_ORDER).map_or(0, |class| class.units);
    match outcome.elapsed_ns {
        0 => 0.0,
        ns => committed as f64 * 60e9 / ns as f64,
    }
}

/// Share of each class, percent of all transactions that ended.
pub type Mix = [f64; 5];

/// The mix of a phase, by class.
pub fn mix(outcome: &Outcome) -> Mix {
    let all = outcome.count().max(1) as f64;
    std::array::from_fn(|nth| outcome.classes.get(nth).map_or(0, |c| c.count) as f64 * 100.0 / all)
}

/// One class against its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassVerdict {
    /// Its name.
    pub class: &'static str,
    /// 90th percentile of response, ns; 0 where none ended.
    pub response_ns_p90: u64,
    /// Its limit, ns.
    pub limit_ns: u64,
    /// It is kept.
    pub holds: bool,
}

/// Every class against its limit.
pub fn within_limits(outcome: &Outcome) -> [ClassVerdict; 5] {
    std::array::from_fn(|nth| {
        let p90 = outcome
            .classes
            .get(nth)
            .map_or(0, |c| c.response.value_at_quantile(0.9));
        ClassVerdict {
            class: CLASSES[nth],
            response_ns_p90: p90,
            limit_ns: LIMITS_90_NS[nth],
            holds: p90 <= LIMITS_90_NS[nth],
        }
    })
}
