//! SQLite in process: through the operating system's files, or past them by a VFS over a port.
//!
//! A [`Place`] is where a database is, a [`Session`] a connection to it. [`Place::buffered`] uses SQLite's own VFS on a
//! file; [`Place::on`] uses ours on a [`FileSet`]: three files of any [`targets::Port`], be they files with direct I/O
//! ([`DirectFiles`]), raw devices, or files of a disk group. The layout on storage is described at
//! `file_set::layout::Slot`, why a power cut does no harm in `docs/sqlite.md`.

mod bulk;
mod counts;
mod direct;
mod error;
mod file_set;
mod handle;
mod image;
mod locks;
mod orders;
mod place;
mod questions;
mod refresh;
mod scattered;
mod temp;
mod turnstile;
mod vfs;

pub use bulk::BulkSession;
pub use counts::{CacheCounts, IoCounts};
pub use direct::{DirectFiles, Open};
pub use error::SqliteError;
pub use file_set::layout::{DATA_AT, Role, SetFiles};
pub use file_set::{FileSet, FileSetSpec, GROW_STEP, READER_MEMORY_MIN, WRITER_MEMORY_MIN};
pub use image::Image;
pub use orders::{CHECKERS, LockWait, OrderWorker, OrdersError, broken_conditions, broken_conditions_by, load};
pub use place::{Journal, Place, Session, Settings, Synchronous, TempStore};
pub use questions::{Questions, ask_questions, decision_support_checksums, load_decision_support};
pub use refresh::run_refresh;
pub use scattered::{Scattered, ScatteredShape, load_scattered};
pub use temp::{NewFile, Room, TEMP_DEPTH, TEMP_MEMORY, TempCounts, TempSpace};
pub use turnstile::{Connections, SharedWriter, Turn, Turnstile, WriterTurn};
