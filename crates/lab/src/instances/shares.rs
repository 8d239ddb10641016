//! What each instance did in a phase: rows of the result file, and the figures of all together.
//!
//! Takes what each loop saw and what each process counted before and after; gives rows, a figure of fairness, and how
//! far the times of the instances were the same. Prevents: a sum that hides an instance which got less than its share,
//! and the processor time of a process that nobody counted.

use crate::instances::settled::Settled;
use crate::surroundings::Seen;
use crate::trial::drive::Driven;
use ledger::{InstanceRow, Measure};
use workloads::Outcome;

/// What a result says where a process's peak of memory is that of its life, and not of the phase.
const MEMORY_UNKNOWN: &str = "the memory of the instances in the phase is not known: the kernel does not let its peak \
                              begin anew (/proc/self/clear_refs)";

/// The part of one instance in a phase.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    sessions: u32,
    began: u64,
    ended: u64,
    operations: u64,
    units: u64,
    service_ns_p99: u64,
}

impl Part {
    pub(crate) fn of(driven: &Driven) -> Part {
        let outcome = &driven.outcome;
        Part {
            sessions: outcome.sessions,
            began: outcome.began,
            ended: outcome.ended,
            operations: outcome.count(),
            units: outcome.units(),
            service_ns_p99: p99(outcome),
        }
    }
}

/// Of all classes together.
fn p99(outcome: &Outcome) -> u64 {
    let mut all = outcome.classes.iter().map(|class| &class.service);
    let Some(mut whole) = all.next().cloned() else { return 0 };
    for one in all {
        // All have one range; where one had not, its figure is left out.
        let _ = whole.add(one);
    }
    whole.value_at_quantile(0.99)
}

/// The row of each instance, from its counts before and after the phase; what was seen of all together is told to
/// `seen`. `overlap`: of the work that had a time. `clock_bound_ns`: how well the clocks of their hosts were known,
/// where they are on several.
pub(crate) fn told(
    each: &[Part],
    (before, after): (&[Settled], &[Settled]),
    (overlap, clock_bound_ns): (Option<f64>, Option<u64>),
    seen: &mut Seen,
) -> Vec<InstanceRow> {
    let first = each.iter().map(|part| part.began).min().unwrap_or(0);
    let both = each.iter().zip(before).zip(after).enumerate();
    let rows: Vec<InstanceRow> = both
        .map(|(nth, ((part, before), after))| row(nth as u32 + 1, (part, first), before, after))
        .collect();
    let other = |of: fn(&InstanceRow) -> u64| rows.iter().skip(1).map(of).sum::<u64>() as f64;
    let (cpu, memory) = (other(|row| row.cpu_ns), other(|row| row.memory_bytes_peak));
    // The own peak is not added: this process is sampled.
    let knows_memory = after.iter().skip(1).all(|settled| settled.memory_bytes.is_some());
    // Where a group keeps the budget, it counts all processes of this host. Memory of other hosts is in no budget.
    let is_kept = |(measure, kept): &(Measure, f64)| *measure == Measure::MemoryBudgetEnforced && *kept > 0.0;
    let is_whole = clock_bound_ns.is_some() || seen.measures.iter().any(is_kept);
    if !knows_memory {
        let is_unknown =
            |of: Measure| of == Measure::MemoryOwnBytesPeak || of == Measure::MemoryTotalBytesPeak && !is_whole;
        seen.measures.retain(|(measure, _)| !is_unknown(*measure));
        seen.notes.push(MEMORY_UNKNOWN.to_string());
    }
    for (measure, value) in &mut seen.measures {
        match measure {
            Measure::CpuOwnNs => *value += cpu,
            Measure::MemoryOwnBytesPeak => *value += memory,
            Measure::MemoryTotalBytesPeak if !is_whole => *value += memory,
            _ => {}
        }
    }
    let rates: Vec<f64> = rows.iter().map(InstanceRow::rate_per_s).collect();
    seen.measures.push((Measure::Instances, rows.len() as f64));
    seen.measures.push((Measure::InstancesFairness, fairness(&rates)));
    if let Some(bound_ns) = clock_bound_ns {
        seen.measures
            .retain(|(measure, _)| *measure == Measure::DeviceErrors || !is_of_one_host(*measure));
        seen.samples.retain(|sample| !is_of_one_hosts_devices(&sample.name));
        seen.measures.push((Measure::HostsClockBoundNs, bound_ns as f64));
    }
    seen.measures
        .extend(overlap.map(|share| (Measure::InstancesOverlap, share)));
    rows
}

/// Figures from the counts of this host's kernel.
fn is_of_one_host(measure: Measure) -> bool {
    let of_luns = [
        Measure::LunServiceNsSlowest,
        Measure::LunSlowest,
        Measure::LunServiceNsFellows,
    ];
    of_luns.contains(&measure) || is_of_one_hosts_devices(measure.name())
}

/// Counts of this host's kernel, which sees nothing of what the other hosts send to the same devices.
fn is_of_one_hosts_devices(name: &str) -> bool {
    name.starts_with("device.") || name.starts_with("others.")
}

fn row(instance: u32, (part, first): (&Part, u64), before: &Settled, after: &Settled) -> InstanceRow {
    let counted = after.counters - before.counters;
    InstanceRow {
        instance,
        sessions: part.sessions,
        operations: part.operations,
        units: part.units,
        began_ns: part.began.saturating_sub(first),
        elapsed_ns: part.ended.saturating_sub(part.began),
        service_ns_p99: part.service_ns_p99,
        logical_reads: counted.logical_reads,
        cache_hits: counted.cache_hits,
        commits: counted.commits,
        redo_bytes: counted.redo_write_bytes,
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        // 0: it is not known, and a note says so.
        memory_bytes_peak: after.memory_bytes.unwrap_or(0),
    }
}

/// Jain's index of rates: the square of their sum over their number times the sum of their squares. 1: all the same;
/// 1 over their number: one has all. (Jain, Chiu and Hawe, DEC-TR-301, 1984.)
fn fairness(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    match squares > 0.0 {
        true => sum * sum / (rates.len() as f64 * squares),
        false => 1.0,
    }
}

/// The time in which all worked, over the time in which any did.
pub(crate) fn overlap(each: &[Part]) -> f64 {
    let begins = || each.iter().map(|part| part.began);
    let ends = || each.iter().map(|part| part.ended);
    let (first, last) = (begins().min().unwrap_or(0), ends().max().unwrap_or(0));
    let both = ends().min().unwrap_or(0).saturating_sub(begins().max().unwrap_or(0));
    match last > first {
        true => both as f64 / (last - first) as f64,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(began: u64, ended: u64) -> Part {
        Part {
            sessions: 1,
            began,
            ended,
            operations: 0,
            units: 0,
            service_ns_p99: 0,
        }
    }

    #[test]
    fn equal_shares_are_fair_and_one_that_gets_all_is_not() {
        assert_eq!(fairness(&[5.0, 5.0]), 1.0);
        assert_eq!(fairness(&[5.0, 0.0]), 0.5);
        assert!((fairness(&[4.0, 2.0]) - 0.9).abs() < 1e-12);
        assert_eq!(fairness(&[0.0, 0.0]), 1.0);
    }

    /// The kernel of one host sees a part of what the LUNs do: no LUN of several hosts is called slow by it.
    #[test]
    fn what_one_host_counts_of_its_devices_is_left_out_on_several() {
        let of_one = [
            Measure::NearReads,
            Measure::OthersReadBytes,
            Measure::LunServiceNsSlowest,
            Measure::LunSlowest,
            Measure::LunServiceNsFellows,
        ];
        let of_all = [Measure::DeviceErrors, Measure::LunUsedBytes];
        let left = |bound_ns| {
            let mut seen = Seen {
                measures: of_one.into_iter().chain(of_all).map(|measure| (measure, 1.0)).collect(),
                ..Seen::default()
            };
            told(&[part(0, 1)], (&[], &[]), (None, bound_ns), &mut seen);
            let is_left = |measure: &Measure| seen.measures.iter().any(|(left, _)| left == measure);
            (of_one.iter().any(is_left), of_all.iter().all(is_left))
        };
        assert_eq!((left(Some(7)), left(None)), ((false, true), (true, true)));
    }

    /// What the processes had counted before a phase and after it: the second took 30 ns and 700 bytes in it.
    fn settled() -> ([Settled; 2], [Settled; 2]) {
        let at = |cpu_ns, commits, memory_bytes| Settled {
            cpu_ns,
            counters: pages::Counters {
                commits,
                ..pages::Counters::default()
            },
            memory_bytes,
            ..Settled::default()
        };
        (
            [at(1_000, 5, Some(9)), at(2_000, 6, Some(9))],
            [at(1_010, 7, Some(600)), at(2_030, 9, Some(700))],
        )
    }

    /// A group counts all processes of its host, and no process of another host.
    #[test]
    fn what_the_other_instances_took_is_added_where_nobody_has_counted_it() {
        let (before, after) = settled();
        let measured = |enforced, bound_ns, after: &[Settled]| {
            let mut seen = Seen {
                measures: vec![
                    (Measure::CpuOwnNs, 10.0),
                    (Measure::MemoryOwnBytesPeak, 600.0),
                    (Measure::MemoryTotalBytesPeak, 5_000.0),
                    (Measure::MemoryBudgetEnforced, enforced),
                ],
                ..Seen::default()
            };
            let parts = [part(0, 100), part(0, 100)];
            let rows = told(&parts, (&before, after), (None, bound_ns), &mut seen);
            let of = |measure| {
                seen.measures
                    .iter()
                    .find(|(of, _)| *of == measure)
                    .map(|(_, value)| *value)
            };
            let found = [
                Measure::CpuOwnNs,
                Measure::MemoryOwnBytesPeak,
                Measure::MemoryTotalBytesPeak,
            ]
            .map(of);
            (rows, found, seen.notes.len())
        };
        let (rows, unbounded, notes) = measured(0.0, None, &after);
        assert_eq!(
            (rows[1].cpu_ns, rows[1].commits, rows[1].memory_bytes_peak),
            (30, 3, 700)
        );
        assert_eq!(
            (rows[0].cpu_ns, rows[0].commits, rows[0].memory_bytes_peak),
            (10, 2, 600)
        );
        assert_eq!(unbounded, [Some(40.0), Some(1_300.0), Some(5_700.0)]);
        let own_total = [Some(40.0), Some(1_300.0), Some(5_000.0)];
        assert_eq!(measured(2.0, None, &after).1, own_total, "the group has it");
        assert_eq!(
            measured(2.0, Some(7), &after).1,
            own_total,
            "rank 0's budget is rank 0's"
        );
        assert_eq!(measured(0.0, Some(7), &after).1, own_total);
        assert_eq!(notes, 0);
        let unknown = [
            after[0],
            Settled {
                memory_bytes: None,
                ..after[1]
            },
        ];
        assert_eq!(measured(0.0, None, &unknown).1, [Some(40.0), None, None]);
        let (rows, found, notes) = measured(0.0, Some(7), &unknown);
        assert_eq!((found, notes), ([Some(40.0), None, Some(5_000.0)], 1));
        assert_eq!(rows[1].memory_bytes_peak, 0);
    }

    #[test]
    fn times_that_run_backwards_are_no_time() {
        let settled = Settled::default();
        let row = row(2, (&part(10, 5), 20), &settled, &settled);
        assert_eq!((row.began_ns, row.elapsed_ns, row.rate_per_s()), (0, 0, 0.0));
    }

    #[test]
    fn what_begins_late_or_ends_early_is_seen() {
        assert_eq!(overlap(&[part(10, 110), part(10, 110)]), 1.0);
        assert_eq!(overlap(&[part(0, 100), part(50, 100)]), 0.5);
        assert_eq!(overlap(&[part(0, 50), part(60, 100)]), 0.0);
    }
}
