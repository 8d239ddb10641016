//! Time of loads in SQL.
//!
//! Times are assumed, from runs on two cores; an order of magnitude, not a promise.

use crate::study::{Engine, Phase, Stack, Study, TableLoad, Tpcc, Tpch};
use std::collections::BTreeSet;

/// Making and starting a server, and stopping it.
const SERVER_NS: u64 = 3_000_000_000;

fn tables_ns(phase: &Phase) -> u64 {
    phase.kind.tpch().map_or(0, Tpch::tables_ns)
}

fn company_ns(phase: &Phase) -> u64 {
    phase.kind.tpcc().map_or(0, Tpcc::load_ns)
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
        Some(_) => asked.map(Tpch::tables_bytes).max().unwrap_or(0),
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
    let company = study.phases.iter().map(company_ns).max().unwrap_or(0);
    let tables = if copied_pages(stack).is_some() {
        0
    } else {
        all_tables_ns(study)
    };
    server.saturating_add(company).saturating_add(tables)
}
