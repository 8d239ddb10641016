//! What a database is ([`Shape`]), how its engine runs ([`Settings`]) and where it lies ([`Files`]): plain data.
//!
//! Given by who reads the study, checked here once. Prevents: a run that fails after an hour because two parameters
//! never fitted together.

use crate::error::PagesError;
use crate::format::page::{COLUMNS, HEADER_BYTES};
use targets::FileId;

/// Block of the redo log and of the control area in bytes: writes of both are multiples of it.
pub const BLOCK_BYTES: u64 = 4096;

/// The data: stays with the database from load to the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Bytes of a page: a power of two, 2 KiB to 32 KiB.
    pub page_bytes: u32,
    /// Tables, each of one user in the language of the seeds.
    pub schemas: u32,
    /// Pages of each schema.
    pub pages_per_schema: u32,
    /// Seed of all content.
    pub seed: u64,
    /// Uncompressed over compressed size of the content; 1.0: incompressible.
    pub compressibility: f64,
    /// Share (0 to 1) of pages whose content, all but the header, repeats that of another page.
    pub duplication: f64,
}

/// How torn pages (a page write cut in the middle) are survived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TornPages {
    /// Full page image in the redo log at the first change after a checkpoint.
    Log,
    /// Each page is written twice, first to a doublewrite area.
    Double,
    /// Trusted to the stack.
    None,
}

/// How the engine runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Buffer cache of the whole instance in bytes.
    pub cache_bytes: u64,
    /// Pages read at once by a scan.
    pub multiblock_read: u32,
    /// How torn pages are survived. Part of the database: an open with another value is refused.
    pub torn_pages: TornPages,
    /// Longest time between the starts of two checkpoints while there are changes, in nanoseconds.
    pub checkpoint_ns: u64,
    /// Page writes the background writers of one worker keep in flight.
    pub writers: u32,
    /// Size of the redo log in bytes. Part of the database.
    pub redo_bytes: u64,
    /// Workers, each with its own schemas, share of the cache and redo thread. Part of the database.
    pub workers: u32,
}

/// Where a database lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Data files; schema `i` lies contiguous in file `i % n`.
    pub data: Vec<FileId>,
    /// The redo log.
    pub redo: FileId,
}

impl Shape {
    /// Bytes of all pages.
    pub fn data_bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }

    /// Pages of all schemas.
    pub fn pages(&self) -> u64 {
        u64::from(self.schemas) * u64::from(self.pages_per_schema)
    }

    /// Bytes of one schema.
    pub fn schema_bytes(&self) -> u64 {
        u64::from(self.pages_per_schema) * u64::from(self.page_bytes)
    }

    /// Bytes of one column of a row.
    pub fn column_bytes(&self) -> usize {
        (((self.page_bytes as usize - HEADER_BYTES) / COLUMNS).min(128)) & !7
    }
}

impl Settings {
    /// Frames of one worker's share of the cache.
    pub(crate) fn frames(&self, shape: &Shape) -> u64 {
        self.cache_bytes / u64::from(self.workers.max(1)) / u64::from(shape.page_bytes)
    }

    /// Bytes of one worker's redo thread.
    pub(crate) fn redo_thread_bytes(&self) -> u64 {
        self.redo_bytes / u64::from(self.workers.max(1)) / BLOCK_BYTES * BLOCK_BYTES
    }
}

/// Refuses what cannot work, with the cure.
///
/// # Errors
/// [`PagesError::Settings`].
pub fn check(shape: &Shape, settings: &Settings) -> Result<(), PagesError> {
    let refuse = |what: String, cure: &str| Err(PagesError::settings(what, cure));
    if !shape.page_bytes.is_power_of_two() || !(2048..=32768).contains(&shape.page_bytes) {
        return refuse(
            format!("a page of {} bytes", shape.page_bytes),
            "use a power of two from 2 KiB to 32 KiB",
        );
    }
    if shape.schemas == 0 || shape.pages_per_schema == 0 {
        return refuse("a database without pages".into(), "use at least one schema of one page");
    }
    if !(shape.compressibility.is_finite() && shape.compressibility >= 1.0) {
        return refuse(
            format!("compressibility {}", shape.compressibility),
            "use 1.0 (incompressible) or more",
        );
    }
    if !(0.0..=1.0).contains(&shape.duplication) {
        return refuse(format!("duplication {}", shape.duplication), "use a share from 0 to 1");
    }
    if settings.workers == 0 || settings.workers > shape.schemas || settings.workers > 1024 {
        return refuse(
            format!("{} workers for {} schemas", settings.workers, shape.schemas),
            "a schema belongs to one worker: use at least 1 worker and at least as many schemas as workers",
        );
    }
    let local = u64::from(shape.schemas.div_ceil(settings.workers)) * u64::from(shape.pages_per_schema);
    if local >= u64::from(u32::MAX) {
        return refuse(
            format!("{local} pages for one worker"),
            "use larger pages or more workers",
        );
    }
    if settings.frames(shape) < 4 || settings.frames(shape) >= u64::from(u32::MAX) {
        return refuse(
            format!(
                "a cache of {} bytes for {} workers",
                settings.cache_bytes, settings.workers
            ),
            "give each worker at least four pages of cache",
        );
    }
    if settings.writers == 0 || settings.writers > 1024 {
        return refuse(format!("{} writers", settings.writers), "use 1 to 1024 writers");
    }
    if settings.multiblock_read == 0 || u64::from(settings.multiblock_read) * u64::from(shape.page_bytes) > 8 << 20 {
        return refuse(
            format!("multiblock_read of {} pages", settings.multiblock_read),
            "use at least 1 page and at most 8 MiB",
        );
    }
    if settings.redo_thread_bytes() < 8 * BLOCK_BYTES {
        return refuse(
            format!(
                "a redo log of {} bytes for {} workers",
                settings.redo_bytes, settings.workers
            ),
            "give each worker at least 32 KiB of redo log",
        );
    }
    Ok(())
}
