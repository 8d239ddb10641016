//! Room `ledger`: the result file. One SQLite file holds one study: what was asked, on what it ran, and what was seen.
//!
//! Takes rows as a run makes them ([`Ledger::create`], [`Ledger::record_phase`] ...), one transaction per finished
//! phase; gives them back, as written, to whoever reports years later ([`Ledger::open`]). What can be computed is never
//! stored. The room depends on no other, so that a change of the study language never breaks an old result.
//!
//! Prevents: results lost because a run was killed, results overwritten by the next run, a number whose unit or meaning
//! nobody remembers, and a file of a newer tool read wrongly by an older one.

mod databases;
mod distribution;
mod error;
mod fact;
mod file;
mod imported;
mod insert;
mod lock;
mod mark;
mod read;
mod rows;
mod schema;
mod seal;
mod serving;
mod stranger;
mod write;

pub use distribution::{add_histogram, decode_histogram, encode_histogram, p99_with_unsent, with_unsent};
pub use error::LedgerError;
pub use fact::{
    ArcWay, CachesEmptied, Disclosed, Fact, FactKey, FactValue, Role, Scope, TakingTurns, Way, ZfsWay, disclosed,
};
pub use file::Ledger;
pub use imported::{ImportNote, ImportedFact, ImportedFigure, ImportedText};
pub use mark::{APPLICATION_ID, FILE_BYTES_MAX, SCHEMA_VERSION};
pub use rows::*;
pub use seal::Seal;
