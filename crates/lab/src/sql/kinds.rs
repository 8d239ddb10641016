//! The databases that take SQL: a row each. A new one is its file, its row here, and its test.

use super::contract::Database;
use databases::postgres::RunAs;
use ledger::Skipped;
use plan::{Engine, Stack, Study};
use sandbox::Directory;
use std::collections::BTreeSet;

/// The database that a stack asks for; `None`: the page engine, which works on ports and takes no SQL.
pub(crate) fn of(engine: &Engine) -> Option<&dyn Database> {
    match engine {
        Engine::Pages | Engine::Files(_) => None,
        Engine::Sqlite(sqlite) => Some(sqlite),
        Engine::Postgres(postgres) => Some(postgres),
    }
}

/// Lets the users of a study's servers through a directory to what is theirs, and nobody else.
pub(crate) fn let_servers_through(study: &Study, dir: &Directory) -> anyhow::Result<()> {
    let group = |stack: &Stack| match &stack.engine {
        Engine::Postgres(asked) => match RunAs::choose(asked.run_as.as_deref()).ok()? {
            RunAs::User { gid, .. } => Some(gid),
            RunAs::Ourselves => None,
        },
        Engine::Pages | Engine::Files(_) | Engine::Sqlite(_) => None,
    };
    let groups: BTreeSet<u32> = study.stacks.iter().filter_map(group).collect();
    let mode = match groups.len() {
        0 => return Ok(()),
        1 => 0o710,
        // A directory has one group.
        _ => 0o711,
    };
    for group in groups {
        dir.give_to(0, group)?;
    }
    Ok(dir.protect(mode)?)
}

/// Why this machine has no such database, and the cure.
pub(crate) fn unable(stack: &Stack) -> Option<Skipped> {
    of(&stack.engine)?.unable(stack)
}
