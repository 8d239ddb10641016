//! The databases that take SQL: a row each. A new one is its file, its row here, and its test.

use super::contract::Database;
use ledger::Skipped;
use plan::{Engine, Stack};

/// The database that a stack asks for; `None`: the page engine, which works on ports and takes no SQL.
pub(crate) fn of(engine: &Engine) -> Option<&dyn Database> {
    match engine {
        Engine::Pages | Engine::Files(_) => None,
        Engine::Sqlite(sqlite) => Some(sqlite),
        Engine::Postgres(postgres) => Some(postgres),
    }
}

/// Why this machine has no such database, and the cure.
pub fn unable(stack: &Stack) -> Option<Skipped> {
    of(&stack.engine)?.unable(stack)
}
