//! Room `pages`: the database page engine. A buffer cache, a redo log with group commit, background writers, checkpoints,
//! recovery, and the operations of SLOB and of full table scans, over any [`targets::Port`].
//!
//! It does what a database does to storage, and nothing else; what it acknowledged is there after a crash. Each worker owns its
//! schemas, its share of the cache and its redo thread (a region of the redo file with its own group commit), so that workers
//! share nothing and no lock is taken.

mod ageing;
mod cache;
mod checkpoint;
mod checksum;
mod commit;
mod content;
mod control;
mod copy;
mod counters;
mod error;
mod instance;
mod keys;
mod layout;
mod load;
mod log;
mod page;
mod planted;
mod purpose;
mod random;
mod recovery;
mod redo;
mod scan;
mod shape;
mod work;
mod worker;
mod writers;

pub use ageing::AgeWork;
pub use content::expected_body;
pub use copy::{Copied, Transfer};
pub use counters::Counters;
pub use error::PagesError;
pub use instance::Instance;
pub use layout::{data_file_bytes, depth, map_bytes, memory_bytes, redo_file_bytes};
pub use page::{COLUMNS, HEADER_BYTES, PAGE_MAGIC, PageHeader, is_whole};
pub use planted::Planted;
pub use random::{RandomOperation, Transaction};
pub use recovery::Recovery;
pub use scan::{PausedScan, ScanOperation, ScanWork, UserScan};
pub use shape::{BLOCK_BYTES, Files, Settings, Shape, TornPages, check};
pub use work::{Hotspot, RandomWork};
