//! What a step of a transaction comes to.
//!
//! Prevents: rows that are missing passing for an ordinary end.

/// What a step came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The batch is to be run, and its answer brought to the next step.
    Run,
    /// The transaction has ended with the batch before.
    Ended(Ending),
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It was committed.
    Committed,
    /// It was rolled back as its user's mistake asks: 1 % of new orders.
    RolledBack,
}

/// The database does not hold what it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{class}: {what} is missing (warehouse {warehouse}, district {district})\n  the database is not what was loaded: \
     check the size that the run was told, or load it again"
)]
pub struct OrderEntryError {
    /// Name of the class.
    pub class: &'static str,
    /// What was asked for.
    pub what: &'static str,
    /// Where.
    pub warehouse: u32,
    /// Where.
    pub district: u32,
}
