//! Very many sessions on two workers, each worker on a thread: what a session takes of memory, how long they take to
//! start, and whether any of them starves.
//!
//! Memory is all the address space that the process was allotted, so that the same run with few sessions can be taken
//! from it.

use super::engine::{hit_pct, open, per_second, random_work, together};
use super::port::StudyPort;
use super::{Figures, go, status_kib};
use crate::database::Engine;
use crate::flags::Side;
use pages::{Counters, RandomOperation};
use std::time::Instant;
use targets::Port;
use workloads::Outcome;

/// Pages of 8 KiB.
const PAGES_PER_MIB: u64 = 128;

pub(crate) fn many(side: &Side) -> anyhow::Result<Figures> {
    let opening = Instant::now();
    let mut engine = open(side)?;
    touch_cache(&mut engine);
    let open_s = opening.elapsed().as_secs_f64();
    let making = Instant::now();
    let mut operations = engine.random(&random_work(side, 0), side.seed)?;
    let made_s = making.elapsed().as_secs_f64();
    // Each session once: how long until the last has done its first operation.
    let each_once = u64::from(side.sessions) * u64::from(side.work_unit);
    let first = together(&mut operations, &ending_after(side, each_once))?;
    // Twice as many pages as the cache has: few sessions find as much in it as many do, and an operation is the same.
    together(&mut operations, &ending_after(side, 2 * side.cache_mib * PAGES_PER_MIB))?;
    let before = counted(&operations);
    go()?;
    let outcome = together(&mut operations, side)?;
    let counts = counted(&operations) - before;
    let allotted = allotted_bytes()?;
    let (slowest, fastest) = outcome.fairness;
    Ok(vec![
        ("iops", per_second(outcome.units(), &outcome)),
        ("hit_pct", hit_pct(&counts)),
        ("allotted_bytes", allotted),
        ("open_ms", open_s * 1e3),
        ("start_ms", made_s * 1e3),
        ("first_ms", first.elapsed_ns as f64 / 1e6),
        ("slowest", slowest as f64),
        ("fastest", fastest as f64),
        ("fairness", slowest as f64 / fastest.max(1) as f64),
        ("loop_bytes", workloads::BYTES_PER_SESSION as f64),
        ("p50_us", service_us(&outcome, 0.5)),
        ("p99_us", service_us(&outcome, 0.99)),
    ])
}

/// The same work, ended after so many pages of all sessions.
fn ending_after(side: &Side, pages: u64) -> Side {
    Side {
        ios: Some(pages),
        ..side.clone()
    }
}

/// Counts of all workers so far.
fn counted(operations: &[RandomOperation<'_, StudyPort>]) -> Counters {
    let each = operations.iter().map(RandomOperation::counters);
    each.fold(Counters::default(), |sum, own| sum + own)
}

/// Every page of the ports' memory, so that no loop has the kernel's work at a first touch in it. The address space is
/// the same with it and without.
fn touch_cache(engine: &mut Engine) {
    for port in engine.ports_mut() {
        for at in (0..port.memory()).step_by(4096) {
            let byte = port.bytes(at, 1)[0];
            port.bytes_mut(at, 1)[0] = std::hint::black_box(byte);
        }
    }
}

fn service_us(outcome: &Outcome, share: f64) -> f64 {
    outcome.classes[0].service.value_at_quantile(share) as f64 / 1000.0
}

/// Most address space at once, bytes: all that was allotted, rings included, whether it was touched or not. Resident
/// memory says less than the truth where the kernel had backed a heap by huge pages before.
fn allotted_bytes() -> anyhow::Result<f64> {
    Ok(status_kib("VmPeak:")? * 1024.0)
}
