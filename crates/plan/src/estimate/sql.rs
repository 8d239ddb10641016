//! Time of loads and phases in SQL.
//!
//! Rates are assumed, from runs on two cores; an order of magnitude, not a promise.

use crate::space;
use crate::study::{Company, Engine, Phase, Stack, Study, TableLoad, Tpch, TpchRun};
use std::collections::BTreeSet;

/// Loading a warehouse of full size, keys and indexes built.
const WAREHOUSE_NS: u64 = 6_000_000_000;
/// Asking the twelve consistency conditions of a warehouse.
const CONDITIONS_NS: u64 = 700_000_000;
/// Rows a second of a bulk load with a commit every 100.
const BULK_ROWS_PER_S: u64 = 25_000;
/// Making and starting a server, and stopping it.
const SERVER_NS: u64 = 3_000_000_000;

/// Making and loading the tables of decision support at scale 1, keys and checksums among it.
const TABLES_NS: f64 = 120e9;
/// Asking all 22 questions at scale 1.
const QUESTIONS_NS: f64 = 60e9;

/// Questions asked of decision support, in sets of all 22.
fn sets(tpch: &Tpch) -> f64 {
    let questions = match &tpch.run {
        TpchRun::Power => tpch.questions.len() as f64,
        TpchRun::Streams(streams) => f64::from(*streams) * tpch.questions.len() as f64,
        TpchRun::Users { users, each } => users.iter().map(|users| f64::from(*users)).sum::<f64>() * f64::from(*each),
    };
    questions / f64::from(Tpch::QUESTIONS)
}

fn tables_ns(phase: &Phase) -> u64 {
    let tpch = phase.kind.tpch();
    tpch.map_or(0, |tpch| (tpch.scale * TABLES_NS) as u64)
}

fn warehouses(phase: &Phase) -> u64 {
    let tpcc = phase.kind.tpcc().filter(|tpcc| tpcc.company == Company::Full);
    tpcc.map_or(0, |tpcc| tpcc.warehouses.into())
}

/// Bytes of a page of a stack that takes tables of decision support as a copy.
fn copied_pages(stack: &Stack) -> Option<u64> {
    match &stack.engine {
        Engine::Sqlite(sqlite) => (sqlite.load == TableLoad::Copy).then_some(sqlite.page.0),
        _ => None,
    }
}

fn all_tables_ns(study: &Study) -> u64 {
    study.phases.iter().map(tables_ns).max().unwrap_or(0)
}

/// Before the first block: tables that are copied are loaded once for each size of a page.
pub(super) fn once_ns(study: &Study) -> u64 {
    let pages: BTreeSet<u64> = study.stacks.iter().filter_map(copied_pages).collect();
    all_tables_ns(study).saturating_mul(pages.len() as u64)
}

/// Bytes of tables that are read back after they were copied.
pub(super) fn copied_bytes(study: &Study, stack: &Stack) -> u64 {
    let asked = study.phases.iter().filter_map(|phase| phase.kind.tpch());
    match copied_pages(stack) {
        Some(_) => asked.map(space::tables_bytes).max().unwrap_or(0),
        None => 0,
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
    let tables = if copied_pages(stack).is_some() {
        0
    } else {
        all_tables_ns(study)
    };
    let company = loaded.saturating_mul(WAREHOUSE_NS + CONDITIONS_NS);
    server.saturating_add(company).saturating_add(tables)
}

/// Of a phase in SQL.
pub(super) fn phase_ns(phase: &Phase) -> u64 {
    if let Some(tpch) = phase.kind.tpch() {
        (sets(tpch) * tpch.scale * QUESTIONS_NS) as u64
    } else if let Some(bulk) = phase.kind.bulk() {
        let rows: u64 = bulk.rows.iter().fold(0, |sum, rows| sum.saturating_add(*rows));
        rows.saturating_mul(1_000_000_000) / BULK_ROWS_PER_S
    } else {
        let work = phase.least_time().map_or(0, |time| time.0);
        work.saturating_add(warehouses(phase).saturating_mul(CONDITIONS_NS))
    }
}
