//! Phases of kind `tpch`; their work is in `sql/works/questions.rs`.
//!
//! Prevents: one user's times beside those of several.

use super::kind::Kind;
use crate::sql::works::InSql;
use ledger::PhaseKind;
use plan::{Tpch, TpchRun};

impl Kind for Tpch {
    fn recorded(&self) -> PhaseKind {
        match self.run {
            TpchRun::Power => PhaseKind::Tpch,
            TpchRun::Streams(_) | TpchRun::Users { .. } => PhaseKind::TpchTogether,
        }
    }

    fn in_sql(&self) -> Option<&dyn InSql> {
        Some(self)
    }
}
