//! Very many sessions on two workers, each worker on a thread: what a session takes of memory, how long they take to
//! start, and whether any of them starves.
//!
//! Memory is all the address space that the process was allotted, so that the same run with few sessions can be taken
//! from it.

use super::engine::{drive, per_second, random_work};
use super::{Figures, go};
use crate::database::Database;
use crate::flags::Side;
use anyhow::Context;
use pages::{Instance, RandomOperation};
use std::time::Instant;
use targets::{Port, UringPort};
use workloads::Outcome;

pub(crate) fn many(side: &Side) -> anyhow::Result<Figures> {
    let redo = side.redo.as_ref().context("a database has a redo log: give --redo")?;
    let opening = Instant::now();
    let mut instance = Database::there(side, redo)?.open(UringPort::open)?;
    touch_cache(&mut instance);
    let open_s = opening.elapsed().as_secs_f64();
    let making = Instant::now();
    let mut operations = instance.random(&random_work(side, 0), side.seed)?;
    let made_s = making.elapsed().as_secs_f64();
    // Each session once: how long until the last has done its first operation.
    let mut once = side.clone();
    once.ios = Some(u64::from(side.sessions) * u64::from(side.work_unit));
    let first = both(&mut operations, &once)?;
    go()?;
    let outcome = both(&mut operations, side)?;
    let allotted = allotted_bytes()?;
    let (slowest, fastest) = outcome.fairness;
    Ok(vec![
        ("iops", per_second(outcome.units(), &outcome)),
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

/// Every byte of the ports' memory, so that resident memory does not depend on how much of the cache a run came to use.
fn touch_cache<P: Port>(instance: &mut Instance<P>) {
    for port in instance.ports_mut() {
        for at in (0..port.memory()).step_by(4096) {
            let byte = port.bytes(at, 1)[0];
            port.bytes_mut(at, 1)[0] = std::hint::black_box(byte);
        }
    }
}

fn both<P: Port + Send>(operations: &mut [RandomOperation<'_, P>], side: &Side) -> anyhow::Result<Outcome> {
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = operations
            .iter_mut()
            .map(|operation| {
                scope.spawn(move || {
                    let sessions = operation.sessions();
                    let mut own = side.clone();
                    own.ios = side.ios.map(|ios| ios * u64::from(sessions) / u64::from(side.sessions));
                    let outcome = drive(operation, sessions, &own)?;
                    operation.finish()?;
                    Ok(outcome)
                })
            })
            .collect();
        let joined = threads.into_iter();
        joined
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<anyhow::Result<Vec<_>>>()
    })?;
    Ok(workloads::merge(outcomes))
}

fn service_us(outcome: &Outcome, share: f64) -> f64 {
    outcome.classes[0].service.value_at_quantile(share) as f64 / 1000.0
}

/// Most address space at once, bytes: all that was allotted, rings included, whether it was touched or not. Resident
/// memory says less than the truth where the kernel had backed a heap by huge pages before.
fn allotted_bytes() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmPeak:"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<f64>().ok());
    Ok(kib.context("the kernel does not tell the address space")? * 1024.0)
}
