//! What was seen around the stints of one phase, as what was seen around the phase.
//!
//! Takes what was seen in each stint and how long it lasted; counts are added, levels taken at their highest, shares
//! weighted by time. Prevents: another stack's bytes in a phase (they move between its stints), and a share of time
//! that is a sum of shares.

use crate::surroundings::Seen;
use ledger::Measure;
use std::collections::BTreeSet;

/// How a measure of stints becomes one of their phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// Bytes, requests, nanoseconds.
    Sum,
    /// Levels.
    Highest,
    /// What holds at the end.
    Last,
    /// Shares of the time.
    Weighted,
    /// Not told apart from what stands beside it.
    Unknown,
}

fn rule(measure: Measure, others: usize) -> Rule {
    use Measure as M;
    match measure {
        // One process holds the engines of all stacks, and without a budget one page cache all that is left.
        M::MemoryOwnBytesPeak | M::MemoryTotalBytesPeak | M::MemoryCacheBytesPeak if others > 0 => Rule::Unknown,
        M::MemoryOwnBytesPeak
        | M::MemoryTotalBytesPeak
        | M::MemoryCacheBytesPeak
        | M::MemoryDirtyPeak
        | M::MemoryBudgetBytes
        | M::MemoryBudgetEnforced
        | M::CpuCores
        | M::CpuAllowed
        | M::OthersUnseen
        | M::StackDataCopies => Rule::Highest,
        M::LunUsedBytes => Rule::Last,
        M::CpuIdleShare | M::CpuStealShare | M::CpuOthersShare | M::CpuThrottledShare | M::CpuThrottledPeriodsShare => {
            Rule::Weighted
        }
        // They go together: see `slowest_lun`.
        M::LunServiceNsSlowest | M::LunServiceNsFellows | M::LunSlowest => Rule::Unknown,
        _ => Rule::Sum,
    }
}

/// Joins what was seen in stints, each with its length in nanoseconds; `others` stacks stood beside this one in the
/// same process. A measure that one stint lacks is not known of the phase.
pub(crate) fn joined(stints: Vec<(Seen, u64)>, others: usize) -> Seen {
    let mut whole = Seen {
        measures: measures(&stints, others),
        ..Seen::default()
    };
    let (mut notes, mut remarks) = (BTreeSet::new(), BTreeSet::new());
    for (seen, _) in stints {
        whole.samples.extend(seen.samples);
        if !seen.layouts.is_empty() {
            whole.layouts = seen.layouts;
        }
        whole
            .notes
            .extend(seen.notes.into_iter().filter(|note| notes.insert(note.clone())));
        whole
            .remarks
            .extend(seen.remarks.into_iter().filter(|remark| remarks.insert(remark.clone())));
        whole.invalid = whole.invalid.or(seen.invalid);
    }
    whole
}

fn measures(stints: &[(Seen, u64)], others: usize) -> Vec<(Measure, f64)> {
    let value = |seen: &Seen, of: Measure| {
        seen.measures
            .iter()
            .find(|(measure, _)| *measure == of)
            .map(|found| found.1)
    };
    let Some((first, _)) = stints.first() else {
        return Vec::new();
    };
    let all_ns: f64 = stints.iter().map(|(_, ns)| *ns as f64).sum();
    let mut whole = Vec::new();
    for &(measure, _) in &first.measures {
        let values: Option<Vec<f64>> = stints.iter().map(|(seen, _)| value(seen, measure)).collect();
        let Some(values) = values else { continue };
        let joined = match rule(measure, others) {
            Rule::Unknown => continue,
            Rule::Sum => values.iter().sum(),
            Rule::Highest => values.iter().copied().fold(f64::MIN, f64::max),
            Rule::Last => values[values.len() - 1],
            Rule::Weighted => {
                let sum: f64 = values
                    .iter()
                    .zip(stints)
                    .map(|(share, (_, ns))| share * *ns as f64)
                    .sum();
                sum / all_ns.max(1.0)
            }
        };
        whole.push((measure, joined));
    }
    whole.extend(slowest_lun(stints));
    whole
}

/// The LUN that was the slowest most often, and how slow it and its fellows were when it was.
fn slowest_lun(stints: &[(Seen, u64)]) -> Vec<(Measure, f64)> {
    use Measure::{LunServiceNsFellows, LunServiceNsSlowest, LunSlowest};
    let value = |seen: &Seen, of: Measure| {
        seen.measures
            .iter()
            .find(|(measure, _)| *measure == of)
            .map(|found| found.1)
    };
    let told: Vec<[f64; 3]> = stints
        .iter()
        .filter_map(|(seen, _)| {
            let [which, slowest, fellows] =
                [LunSlowest, LunServiceNsSlowest, LunServiceNsFellows].map(|of| value(seen, of));
            Some([which?, slowest?, fellows?])
        })
        .collect();
    if told.len() * 2 <= stints.len() {
        return Vec::new();
    }
    let count = |which: f64| told.iter().filter(|stint| stint[0] == which).count();
    let Some(which) = told.iter().map(|stint| stint[0]).max_by_key(|which| count(*which)) else {
        return Vec::new();
    };
    let of_it = told.iter().filter(|stint| stint[0] == which);
    let mean = |nth: usize| of_it.clone().map(|stint| stint[nth]).sum::<f64>() / count(which) as f64;
    vec![
        (LunSlowest, which),
        (LunServiceNsSlowest, mean(1)),
        (LunServiceNsFellows, mean(2)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(measures: &[(Measure, f64)]) -> Seen {
        Seen {
            measures: measures.to_vec(),
            ..Seen::default()
        }
    }

    #[test]
    fn counts_are_added_levels_not_and_shares_weighted() {
        use Measure as M;
        let one = [
            (M::NearReads, 10.0),
            (M::CpuIdleShare, 0.5),
            (M::MemoryDirtyPeak, 7.0),
            (M::MemoryOwnBytesPeak, 100.0),
            (M::LunUsedBytes, 5.0),
            (M::NearFlushes, 1.0),
            (M::CpuCores, 2.0),
        ];
        let two = [
            (M::NearReads, 5.0),
            (M::CpuIdleShare, 0.2),
            (M::MemoryDirtyPeak, 6.0),
            (M::MemoryOwnBytesPeak, 90.0),
            (M::LunUsedBytes, 6.0),
            (M::CpuCores, 2.0),
        ];
        let whole = joined(vec![(seen(&one), 100), (seen(&two), 300)], 1);
        let value = |of: M| {
            whole
                .measures
                .iter()
                .find(|(measure, _)| *measure == of)
                .map(|found| found.1)
        };
        assert_eq!(value(M::NearReads), Some(15.0));
        assert!((value(M::CpuIdleShare).unwrap() - 0.275).abs() < 1e-12);
        assert_eq!(value(M::MemoryDirtyPeak), Some(7.0));
        assert_eq!(value(M::MemoryOwnBytesPeak), None, "it holds the other's engine too");
        assert_eq!(value(M::LunUsedBytes), Some(6.0));
        assert_eq!(value(M::NearFlushes), None, "one stint did not see them");
        assert_eq!(value(M::CpuCores), Some(2.0));
    }

    #[test]
    fn the_slowest_lun_is_the_one_that_was_so_most_often() {
        use Measure as M;
        let stint = |which, slowest| {
            let lun = [
                (M::LunSlowest, which),
                (M::LunServiceNsSlowest, slowest),
                (M::LunServiceNsFellows, 10.0),
            ];
            (seen(&lun), 1)
        };
        let whole = joined(vec![stint(2.0, 40.0), stint(1.0, 15.0), stint(2.0, 60.0)], 1);
        assert!(whole.measures.contains(&(M::LunSlowest, 2.0)));
        assert!(whole.measures.contains(&(M::LunServiceNsSlowest, 50.0)));
        assert!(joined(vec![stint(2.0, 40.0), (seen(&[]), 1)], 1).measures.is_empty());
    }
}
