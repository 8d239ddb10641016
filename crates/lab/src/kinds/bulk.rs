//! Phases of kind `bulk`; their work is in `sql/works/loads.rs`.
//!
//! Prevents: a load on an engine that has no empty table.

use super::kind::Kind;
use crate::sql::works::InSql;
use ledger::PhaseKind;
use plan::Bulk;

impl Kind for Bulk {
    fn recorded(&self) -> PhaseKind {
        PhaseKind::Bulk
    }

    fn in_sql(&self) -> Option<&dyn InSql> {
        Some(self)
    }
}
