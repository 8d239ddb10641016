//! Time of loads in SQL.
//!
//! Times are assumed, from runs on two cores; an order of magnitude, not a promise.

use crate::study::{Engine, Phase, Stack, Study, Tpcc, Tpch};
use std::collections::BTreeSet;

/// `max_wal_size` of a server that loads tables for copies. It is no hard limit: room is kept for twice as much.
pub const LOADING_WAL_BYTES: u64 = 256 << 20;
/// Making and starting a server, and stopping it.
const SERVER_NS: u64 = 3_000_000_000;

fn tables_ns(phase: &Phase) -> u64 {
    phase.kind.tpch().map_or(0, Tpch::tables_ns)
}

fn company_ns(phase: &Phase) -> u64 {
    phase.kind.tpcc().map_or(0, Tpcc::load_ns)
}

/// What a stack takes tables of decision support from as a copy; stacks that share it say the same.
fn copied(stack: &Stack) -> Option<String> {
    match &stack.engine {
        Engine::Sqlite(sqlite) => sqlite.tables(),
        // A server that is there already has no directory that could be copied.
        Engine::Postgres(postgres) if stack.kind.server().is_none() => postgres.tables(),
        _ => None,
    }
}

/// All of which there are copies.
fn all_copied(study: &Study) -> BTreeSet<String> {
    study.stacks.iter().filter_map(copied).collect()
}

fn all_tables_ns(study: &Study) -> u64 {
    study.phases.iter().map(tables_ns).max().unwrap_or(0)
}

fn all_tables_bytes(study: &Study) -> u64 {
    let asked = study.phases.iter().filter_map(|phase| phase.kind.tpch());
    asked.map(Tpch::tables_bytes).max().unwrap_or(0)
}

/// Before the first block: tables that are copied are loaded once for each kind of database.
pub(super) fn once_ns(study: &Study) -> u64 {
    all_tables_ns(study).saturating_mul(all_copied(study).len() as u64)
}

/// Room that these take beside the stacks. A server's data are there twice until they are copied out of its directory,
/// with its log.
pub(super) fn once_bytes(study: &Study) -> u64 {
    if all_tables_bytes(study) == 0 {
        return 0;
    }
    let is_server = |stack: &Stack| matches!(stack.engine, Engine::Postgres(_)) && copied(stack).is_some();
    let servers = u64::from(study.stacks.iter().any(is_server));
    let tables = all_tables_bytes(study).saturating_mul(all_copied(study).len() as u64 + servers);
    tables.saturating_add(servers * 2 * LOADING_WAL_BYTES)
}

/// Bytes of tables that are read back after they were copied.
pub(super) fn copied_bytes(study: &Study, stack: &Stack) -> u64 {
    copied(stack).map_or(0, |_| all_tables_bytes(study))
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
    let tables = if copied(stack).is_some() {
        0
    } else {
        all_tables_ns(study)
    };
    server.saturating_add(company).saturating_add(tables)
}
