//! Time of loads and phases in SQL.
//!
//! Rates are assumed, from runs on two cores; an order of magnitude, not a promise.

use crate::study::{Company, Engine, Phase, PhaseKind, Stack, Study};

/// Loading a warehouse of full size, keys and indexes built.
const WAREHOUSE_NS: u64 = 6_000_000_000;
/// Asking the twelve consistency conditions of a warehouse.
const CONDITIONS_NS: u64 = 700_000_000;
/// Rows a second of a bulk load with a commit every 100.
const BULK_ROWS_PER_S: u64 = 25_000;
/// Making and starting a server, and stopping it.
const SERVER_NS: u64 = 3_000_000_000;

fn warehouses(phase: &Phase) -> u64 {
    match &phase.kind {
        PhaseKind::Tpcc(tpcc) if tpcc.company == Company::Full => tpcc.warehouses.into(),
        _ => 0,
    }
}

/// Before the phases of a trial.
pub(super) fn load_ns(study: &Study, stack: &Stack) -> u64 {
    let server = match stack.engine {
        Engine::Pages => return 0,
        Engine::Postgres(_) => SERVER_NS,
        Engine::Sqlite(_) => 0,
        Engine::Files(files) => files.server.map_or(0, |_| SERVER_NS),
    };
    let loaded = study.phases.iter().map(warehouses).max().unwrap_or(0);
    server.saturating_add(loaded.saturating_mul(WAREHOUSE_NS + CONDITIONS_NS))
}

/// Of a phase in SQL.
pub(super) fn phase_ns(phase: &Phase) -> u64 {
    match &phase.kind {
        PhaseKind::Bulk(bulk) => {
            let rows: u64 = bulk.rows.iter().fold(0, |sum, rows| sum.saturating_add(*rows));
            rows.saturating_mul(1_000_000_000) / BULK_ROWS_PER_S
        }
        _ => {
            let work = phase.least_time().map_or(0, |time| time.0);
            work.saturating_add(warehouses(phase).saturating_mul(CONDITIONS_NS))
        }
    }
}
