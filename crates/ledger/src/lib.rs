//! Room `ledger`: the result file. One SQLite file holds one study: what was asked, on what it ran, and what was seen.
//!
//! Takes rows as a run makes them ([`Ledger::create`], [`Ledger::record_phase`] ...), one transaction per finished
//! phase; gives them back, as written, to whoever reports years later ([`Ledger::open`]). What can be computed is never
//! stored. The room depends on no other, so that a change of the study language never breaks an old result.
//!
//! Prevents: results lost because a run was killed, results overwritten by the next run, a number whose unit or meaning
//! nobody remembers, and a file of a newer tool read wrongly by an older one.

mod columns;
mod committed;
mod distribution;
mod error;
mod fact;
mod facts;
mod file;
mod file_layout;
mod imported;
mod lock;
mod measure;
mod read;
mod rows;
mod schema;
mod seal;
mod sql_rows;
mod sql_tables;
mod stack;
mod stranger;
mod write;

pub use distribution::{decode_histogram, encode_histogram};
pub use error::LedgerError;
pub use fact::{ArcWay, Disclosed, Fact, FactKey, FactValue, Role, Scope, TakingTurns, Way, ZfsWay, disclosed};
pub use facts::{FactName, FactType};
pub use file::Ledger;
pub use file_layout::{BUCKETS, FileLayout, FileLayoutRow, NOWHERE, PLACES};
pub use imported::{ImportNote, ImportedFact, ImportedFigure, ImportedText};
pub use measure::Measure;
pub use rows::*;
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};
pub use seal::Seal;
pub use sql_rows::*;
pub use stack::{Access, Group, Layer, Layers, ModelGroup, Modelled, Skipped, Stack};
pub use stranger::FILE_BYTES_MAX;
