//! Whether this machine has the database that a stack asks for.

use anyhow::ensure;
use databases::postgres::{self, Install};
use plan::{Access, Engine, Postgres};

/// The server that a stack asks for.
pub(crate) fn choose(asked: &Postgres, access: Access) -> anyhow::Result<Install> {
    let install = postgres::choose(asked.version)?;
    ensure!(
        access == Access::Buffered || install.major >= 16,
        "PostgreSQL {} has no direct I/O\n  install 16 or newer, or write access = \"buffered\" in the stack",
        install.version
    );
    Ok(install)
}

/// Why this machine has no such database, and the cure.
pub fn unable(stack: &plan::Stack) -> Option<ledger::Skipped> {
    let (Engine::Postgres(asked), false) = (&stack.engine, matches!(stack.kind, plan::StackKind::Server { .. })) else {
        return None;
    };
    let error = choose(asked, stack.access).err()?.to_string();
    let (reason, cure) = error.rsplit_once('\n').unwrap_or((&error, ""));
    Some(ledger::Skipped {
        reason: reason.to_string(),
        cure: cure.trim().to_string(),
    })
}
