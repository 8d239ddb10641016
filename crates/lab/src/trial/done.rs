//! What a finished phase hands over, of every kind and on every database.

use crate::surroundings::Seen;
use crate::trial::drive::Driven;
use ledger::Measure;

/// A finished phase.
#[derive(Default)]
pub(crate) struct Done {
    /// What the loop saw; `None` where no work was driven.
    pub(crate) driven: Option<Driven>,
    /// What the page engine counted.
    pub(crate) counters: Option<pages::Counters>,
    pub(crate) elapsed_ns: u64,
    pub(crate) drain_ns: u64,
    /// Of this phase alone, beyond what engine and surroundings count.
    pub(crate) measures: Vec<(Measure, f64)>,
    pub(crate) seen: Seen,
    /// What each instance of the page engine did, where there are several.
    pub(crate) instances: Vec<ledger::InstanceRow>,
    /// It ended because the stack had no space left: the result in words.
    pub(crate) full: Option<String>,
    /// It failed after it had found what must not be lost with the error.
    pub(crate) failed: Option<anyhow::Error>,
    /// Of a database in SQL.
    pub(crate) order_entry: Option<ledger::OrderEntry>,
    /// Of a database in SQL.
    pub(crate) questions: Option<ledger::DecisionSupport>,
    /// Of a database in SQL.
    pub(crate) bulk_loads: Vec<ledger::BulkLoadRow>,
    /// Of file serving.
    pub(crate) serving: Option<ledger::FileServing>,
}
