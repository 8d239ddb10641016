//! Phases of kind `tpcc`; their work is in `sql/works/orders.rs`.
//!
//! Prevents: figures of a schedule beside figures of users who wait.

use super::kind::Kind;
use crate::sql::works::InSql;
use ledger::PhaseKind;
use plan::Tpcc;

impl Kind for Tpcc {
    fn recorded(&self) -> PhaseKind {
        match self.rate {
            Some(_) => PhaseKind::TpccOpen,
            None => PhaseKind::Tpcc,
        }
    }

    fn in_sql(&self) -> Option<&dyn InSql> {
        Some(self)
    }
}
