//! What can go wrong with SQLite: refused settings, storage that failed, files that are not ours, SQLite's own errors.

use crate::decision_support::{AnswerError, Doubt, RowsError};
use std::path::PathBuf;
use targets::{IoFault, TargetError};

/// An error of this module. The last line says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// SQLite refused or failed.
    #[error("SQLite: {what}: {source}{}\n  {cure}", storage.as_ref().map(|s| format!("\n  storage below it: \
        {s}")).unwrap_or_default())]
    Sql {
        /// The act.
        what: String,
        /// SQLite's word.
        source: Box<rusqlite::Error>,
        /// What the storage below said last, where that is ours.
        storage: Option<String>,
        /// What to do about it.
        cure: &'static str,
    },
    /// The port below failed.
    #[error("{0}")]
    Target(#[from] TargetError),
    /// A single I/O on one of the three files failed.
    #[error(
        "{what} the SQLite file `{file}`: {fault}\n  check the device; the database can be opened again and recovers \
         by itself"
    )]
    Io {
        /// The act.
        what: &'static str,
        /// Name of the file.
        file: String,
        /// The fault.
        fault: IoFault,
    },
    /// An earlier write failed, and what SQLite holds in memory can no longer be trusted.
    #[error(
        "storage below SQLite has failed before: {why}\n  close the database and open it again: it recovers from its \
         log"
    )]
    Failed {
        /// The first failure.
        why: String,
        /// It was a lack of room.
        full: bool,
    },
    /// The file set cannot grow.
    #[error("no room for {bytes} bytes of the SQLite file `{file}`: {why}\n  use a larger LUN set, or fewer rows")]
    Full {
        /// Name of the file.
        file: String,
        /// Bytes wanted: its new size, or by how much it would grow.
        bytes: u64,
        /// What the port said.
        why: String,
    },
    /// The files of the port hold something else.
    #[error("{what}\n  {cure}")]
    Foreign {
        /// What was found.
        what: String,
        /// What to do about it.
        cure: &'static str,
    },
    /// The port cannot carry a file set.
    #[error(
        "a port with {memory} bytes of memory, depth {depth} and alignment {alignment} cannot carry SQLite\n  give it \
         at least {needed} bytes and depth 2, and a device with sectors of at most 4096 bytes"
    )]
    Port {
        /// Bytes of memory.
        memory: u64,
        /// Depth.
        depth: usize,
        /// Alignment, bytes.
        alignment: u32,
        /// Memory needed, bytes.
        needed: u64,
    },
    /// A call on a path failed.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Path {
        /// The act.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
        /// What to do about it.
        cure: &'static str,
    },
    /// Rows of decision support did not come from their generator.
    #[error(transparent)]
    Generator(#[from] RowsError),
    /// What was loaded is not there.
    #[error(transparent)]
    Doubt(#[from] Doubt),
    /// A copy of a database is not what was written.
    #[error(
        "the copy of the tables differs from what was written, in the {bytes} bytes from byte {at}\n  check the \
         device: it has lost what it acknowledged"
    )]
    Copied {
        /// Where the piece that differs begins, bytes.
        at: u64,
        /// Its length, bytes.
        bytes: u64,
    },
    /// The file that is copied failed: it lies beside the stacks.
    #[error("read the tables to be copied: {0}\n  check the disk of the LUN files, or write load = \"insert\"")]
    Image(std::io::Error),
    /// An answer that is none.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// Settings that SQLite or the file set cannot keep.
    #[error("{what}\n  {cure}")]
    Setting {
        /// What was asked or found.
        what: String,
        /// What to do about it.
        cure: &'static str,
    },
}

/// What SQLite's I/O error is called where memory ran out under it (`SQLITE_IOERR_NOMEM`).
const IO_WITHOUT_MEMORY: i32 = 10 | 12 << 8;
/// The same where the file of the log's index does not grow (`SQLITE_IOERR_SHMSIZE`), for lack of room too.
const INDEX_DOES_NOT_GROW: i32 = 10 | 19 << 8;
/// By so much.
const INDEX_STEP: u64 = 32 << 10;

impl SqliteError {
    /// A lack of room that SQLite calls an I/O error. `errno`: what the kernel said when it failed.
    pub(super) fn no_room_for_the_index(source: &rusqlite::Error, errno: i32) -> Option<SqliteError> {
        let rusqlite::Error::SqliteFailure(failure, _) = source else {
            return None;
        };
        let is_so = failure.extended_code == INDEX_DOES_NOT_GROW && is_full(IoFault::Errno(errno));
        is_so.then(|| SqliteError::Full {
            file: "index of the log (-shm)".into(),
            bytes: INDEX_STEP,
            why: std::io::Error::from_raw_os_error(errno).to_string(),
        })
    }

    /// Whether the database did not come back as it was written, rather than the host being in the way. `None`: a layer
    /// below, which knows it itself.
    pub fn is_of_storage(&self) -> Option<bool> {
        match self {
            SqliteError::Sql { source, .. } => Some(is_damage(source)),
            SqliteError::Target(error) => error.is_of_storage(),
            SqliteError::Io { fault, .. } => Some(fault.is_of_storage()),
            SqliteError::Foreign { .. }
            | SqliteError::Doubt(_)
            | SqliteError::Copied { .. }
            | SqliteError::Answer(_) => Some(true),
            SqliteError::Path { source, .. } => {
                let errno = source.raw_os_error().map(IoFault::Errno);
                Some(errno.is_some_and(IoFault::is_of_storage))
            }
            SqliteError::Failed { .. }
            | SqliteError::Full { .. }
            | SqliteError::Port { .. }
            | SqliteError::Generator(_)
            | SqliteError::Image(_)
            | SqliteError::Setting { .. } => Some(false),
        }
    }

    /// Whether SQLite says that pages of the database are not what it wrote.
    pub fn is_damaged(&self) -> bool {
        use rusqlite::ErrorCode as Code;
        let SqliteError::Sql { source, .. } = self else {
            return false;
        };
        matches!(
            source.sqlite_error_code(),
            Some(Code::DatabaseCorrupt | Code::NotADatabase)
        )
    }

    /// No room: SQLite answers `SQLITE_FULL` to whoever wrote.
    pub fn is_full(&self) -> bool {
        match self {
            SqliteError::Full { .. } => true,
            // Files of a file system grow as holes: that there is no room shows when they are written.
            SqliteError::Io { fault, .. } => is_full(*fault),
            SqliteError::Failed { full, .. } => *full,
            SqliteError::Sql { source, .. } => source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            // A file that could not be made: its name and its inode take room too.
            SqliteError::Target(TargetError::Path { source, .. }) | SqliteError::Path { source, .. } => source
                .raw_os_error()
                .is_some_and(|errno| is_full(IoFault::Errno(errno))),
            _ => false,
        }
    }
}

/// SQLite's own words for a database that is not what it was: damaged, unreadable, or without the tables and rows that
/// were in it.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    match error {
        rusqlite::Error::SqliteFailure(failure, said) => match failure.code {
            Code::DatabaseCorrupt | Code::NotADatabase => true,
            Code::SystemIoFailure => failure.extended_code != IO_WITHOUT_MEMORY,
            _ => said.as_deref().is_some_and(|said| said.contains("no such table")),
        },
        rusqlite::Error::SqlInputError { msg, .. } => msg.contains("no such table"),
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}

fn is_full(fault: IoFault) -> bool {
    let errnos = [rustix::io::Errno::NOSPC, rustix::io::Errno::DQUOT];
    errnos.iter().any(|errno| fault == IoFault::Errno(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_the_log_without_room_is_a_lack_of_room() {
        let failed = |code: i32| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let found = |code, errno| SqliteError::no_room_for_the_index(&failed(code), errno);
        assert!(found(4874, 28).is_some_and(|error| error.is_full() && error.is_of_storage() == Some(false)));
        // EIO; SQLITE_IOERR_WRITE.
        assert!(found(4874, 5).is_none() && found(778, 28).is_none());
    }

    #[test]
    fn a_file_that_has_no_room_to_be_made_is_a_lack_of_room() {
        let not_made = |errno| {
            let source = std::io::Error::from_raw_os_error(errno);
            let (what, path, cure) = ("open", PathBuf::from("/x"), "");
            let below = TargetError::Path {
                what,
                path,
                source,
                cure,
            };
            SqliteError::from(below).is_full()
        };
        // ENOSPC, EDQUOT; EMFILE, EACCES.
        assert_eq!([28, 122, 24, 13].map(not_made), [true, true, false, false]);
    }
}
