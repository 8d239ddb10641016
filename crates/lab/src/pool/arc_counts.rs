//! What adaptive replacement caches of ZFS did in a phase, and the label of a phase that they served.
//!
//! Takes counters of before and after, gives measures and a remark. Prevents: ways that count alike and are labelled
//! unlike, and a scan that read-ahead brought in from the devices taken for one that memory served.

use ledger::Measure;
use stacks::ArcCounted;
use zpool::ArcCounts;

/// Shares of accesses under this are not worth a remark.
const SHARE_TOLD: f64 = 0.1;
/// Nor are accesses so few.
const ACCESSES_TOLD: u64 = 1000;

/// What a cache holds, and what it did since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArcDid {
    size_bytes: u64,
    max_bytes: u64,
    hits: u64,
    misses: u64,
    data_hits: u64,
    data_misses: u64,
    ahead_misses: u64,
    evicted_bytes: Option<u64>,
}

impl ArcDid {
    /// Of pools whose files are on mounts.
    pub(crate) fn mounted(before: &ArcCounted, after: &ArcCounted) -> ArcDid {
        let since = |of: fn(&ArcCounted) -> u64| of(after).saturating_sub(of(before));
        let evicted = before.evicted_bytes.zip(after.evicted_bytes);
        ArcDid {
            size_bytes: after.size_bytes,
            max_bytes: after.max_bytes,
            hits: since(|arc| arc.hits),
            misses: since(|arc| arc.misses),
            data_hits: since(|arc| arc.data_hits),
            data_misses: since(|arc| arc.data_misses),
            ahead_misses: since(|arc| arc.ahead_misses),
            evicted_bytes: evicted.map(|(before, after)| after.saturating_sub(before)),
        }
    }

    /// Of pools in a process of ours.
    pub(crate) fn pooled(before: &ArcCounts, after: &ArcCounts) -> ArcDid {
        let since = |of: fn(&ArcCounts) -> u64| of(after).saturating_sub(of(before));
        ArcDid {
            size_bytes: after.size_bytes,
            max_bytes: after.max_bytes,
            hits: since(|arc| arc.hits),
            misses: since(|arc| arc.misses),
            data_hits: since(|arc| arc.demand_data_hits),
            data_misses: since(|arc| arc.demand_data_misses),
            ahead_misses: since(|arc| arc.prefetch_data_misses),
            evicted_bytes: Some(since(|arc| arc.evicted_bytes)),
        }
    }

    /// For the result file.
    pub(crate) fn measures(&self) -> Vec<(Measure, f64)> {
        let mut measures = vec![
            (Measure::ArcBytes, self.size_bytes as f64),
            (Measure::ArcMaxBytes, self.max_bytes as f64),
            (Measure::ArcHits, self.hits as f64),
            (Measure::ArcMisses, self.misses as f64),
            (Measure::ArcDataHits, self.data_hits as f64),
            (Measure::ArcDataMisses, self.data_misses as f64),
            (Measure::ArcAheadMisses, self.ahead_misses as f64),
        ];
        measures.extend(self.evicted_bytes.map(|bytes| (Measure::ArcEvictedBytes, bytes as f64)));
        measures
    }

    /// That the cache served the phase, in words; `None` where it hardly did. A hit on what read-ahead fetched a
    /// moment before is a read of the devices.
    pub(crate) fn label(&self) -> Option<String> {
        let all = self.data_hits + self.data_misses;
        let share = self.data_hits.saturating_sub(self.ahead_misses) as f64 / all.max(1) as f64;
        (all >= ACCESSES_TOLD && share >= SHARE_TOLD)
            .then(|| format!("the ARC served {:.0} % of {all} accesses to data", share * 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn did(data_hits: u64, data_misses: u64, ahead_misses: u64) -> Option<String> {
        let before = ArcCounted {
            data_hits: 7,
            data_misses: 5,
            ahead_misses: 3,
            ..ArcCounted::default()
        };
        let after = ArcCounted {
            data_hits: 7 + data_hits,
            data_misses: 5 + data_misses,
            ahead_misses: 3 + ahead_misses,
            ..ArcCounted::default()
        };
        ArcDid::mounted(&before, &after).label()
    }

    #[test]
    fn what_the_cache_served_is_said_where_it_matters() {
        assert_eq!(
            did(900, 100, 0).as_deref(),
            Some("the ARC served 90 % of 1000 accesses to data")
        );
        assert_eq!(did(9, 1, 0), None, "a handful");
        assert_eq!(did(50, 10_000, 0), None, "hardly any");
        assert_eq!(did(8000, 2, 7900), None, "a scan that was read ahead");
        assert_eq!(did(8000, 0, 9000), None, "read ahead for nobody, too");
    }

    #[test]
    fn what_is_not_told_is_left_out() {
        let of = |did: ArcDid| {
            did.measures()
                .iter()
                .any(|(measure, _)| *measure == Measure::ArcEvictedBytes)
        };
        assert!(!of(ArcDid::mounted(&ArcCounted::default(), &ArcCounted::default())));
        assert!(of(ArcDid::pooled(&ArcCounts::default(), &ArcCounts::default())));
    }
}
