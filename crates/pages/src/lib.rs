//! Room `pages`: the database page engine. A buffer cache, a redo log with group commit, background writers,
//! checkpoints, recovery, and the operations of SLOB and of full table scans, over any [`targets::Port`].
//!
//! It does what a database does to storage, and nothing else; what it acknowledged is there after a crash. Each worker
//! owns its schemas, its share of the cache and its redo thread (a region of the redo file with its own group commit),
//! so that workers share nothing and no lock is taken.

mod counters;
mod engine;
mod error;
mod format;
mod operations;
mod planted;
mod purpose;

pub use counters::Counters;
pub use engine::instance::{Instance, unheard};
pub use engine::recovery::Recovery;
pub use error::PagesError;
pub use format::content::expected_body;
pub use format::layout::{data_file_bytes, depth, map_bytes, memory_bytes, redo_file_bytes};
pub use format::page::{COLUMNS, HEADER_BYTES, PAGE_MAGIC, PageHeader, is_whole};
pub use format::shape::{BLOCK_BYTES, Files, Settings, Shape, TornPages, check};
pub use operations::ageing::AgeWork;
pub use operations::copy::{Copied, Transfer};
pub use operations::random::{RandomOperation, Transaction};
pub use operations::redo::RedoWork;
pub use operations::scan::{PausedScan, ScanOperation, ScanWork, UserScan};
pub use operations::work::{Hotspot, RandomWork};
pub use planted::Planted;
