//! What can go wrong in the engine, each with what to do about it.
//!
//! Prevents: lost data that is reported as a mere I/O error, and an error that does not say where.

use targets::{FileId, IoFault, TargetError};

/// An error of the page engine. Files are named by their index among the files the engine was given; who opened them
/// knows the paths.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    /// What was read from storage is not what was written there.
    #[error(
        "data loss in file {} at byte {offset}: page {page} of schema {schema}: expected {expected}, found {found}\n  \
         this storage returned something else than was written to it: do not put a database on it; look for device \
         errors in the kernel log",
        file.0
    )]
    DataLoss {
        /// The data file.
        file: FileId,
        /// Byte offset of the page in it.
        offset: u64,
        /// Schema of the page that was asked for.
        schema: u32,
        /// Page number in the schema.
        page: u32,
        /// What should have been there.
        expected: String,
        /// What was there.
        found: String,
    },
    /// The redo log is damaged where it must be whole.
    #[error(
        "data loss in the redo log (file {}) at byte {offset}: {what}\n  \
         a flushed log record came back damaged: do not put a database on this storage; look for device errors in the \
         kernel log",
        file.0
    )]
    RedoDamaged {
        /// The redo file.
        file: FileId,
        /// Byte offset of the batch.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// One I/O failed; the operation ended with it.
    #[error("{what} of {len} bytes at byte {offset} of file {}: {fault}\n  look for device errors or a full file \
        system in the kernel log and with df", file.0)]
    Io {
        /// The act: "page read", "redo write" ...
        what: &'static str,
        /// The file.
        file: FileId,
        /// Byte offset in it.
        offset: u64,
        /// Bytes asked.
        len: u32,
        /// The kernel's word.
        fault: IoFault,
    },
    /// The port as a whole failed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Parameters that cannot work together.
    #[error("{what}\n  {cure}")]
    Settings {
        /// What does not fit.
        what: String,
        /// What to change.
        cure: String,
    },
    /// The files hold no database, or one whose loading was never finished.
    #[error("no complete database in these files: {what}\n  load it again")]
    NoDatabase {
        /// What is missing.
        what: String,
    },
    /// Whoever hears of the load's progress has ended it.
    #[error("the load was interrupted")]
    Interrupted,
    /// The engine waits for something that nothing under way can bring.
    #[error("the page engine is stuck: {what}\n  this is a defect of Assay: please report it with the study")]
    Stuck {
        /// The state.
        what: String,
    },
}

impl PagesError {
    pub(crate) fn settings(what: impl Into<String>, cure: impl Into<String>) -> PagesError {
        PagesError::Settings {
            what: what.into(),
            cure: cure.into(),
        }
    }

    /// Whether storage gave something else than was written to it, or nothing, rather than the host or the study being
    /// in the way. `None`: a layer below, which knows it itself.
    pub fn is_of_storage(&self) -> Option<bool> {
        match self {
            PagesError::DataLoss { .. } | PagesError::RedoDamaged { .. } | PagesError::NoDatabase { .. } => Some(true),
            PagesError::Io { fault, .. } => Some(fault.is_of_storage()),
            PagesError::Target(error) => error.is_of_storage(),
            PagesError::Settings { .. } | PagesError::Interrupted | PagesError::Stuck { .. } => Some(false),
        }
    }
}
