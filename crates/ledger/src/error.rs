//! What can go wrong with a result file. Each error names the file, and its last line is what to do.
//!
//! Takes SQLite's errors and gives the ledger's; prevents a raw database message that leaves the user without a next
//! step.

use crate::mark::{FILE_BYTES_MAX, SCHEMA_VERSION};
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// An error of the result file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Result files are never overwritten.
    #[error(
        "{path}: this result file exists already\n  \
         go on with it by `--resume`, or give the new one another name or directory"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Nothing there.
    #[error("{path}: no such result file\n  check the name; `assay run` says where it writes")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Some other file.
    #[error(
        "{path}: not an Assay result file ({why})\n  \
         give a file that `assay run` or `assay quick` wrote (NAME.assay)"
    )]
    NotAssay {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// More than any run writes.
    #[error(
        "{path}: {bytes} bytes are more than a result file has, which is at most {FILE_BYTES_MAX}\n  \
         give a file that `assay run` or `assay quick` wrote (NAME.assay)"
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// What SQLite would believe lies beside it.
    #[error(
        "{path}: {beside} lies beside it, {why}\n  \
         move that file away if it is not yours; the result file is whole without it"
    )]
    Beside {
        /// The file.
        path: PathBuf,
        /// What lies beside it.
        beside: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Written by a newer tool.
    #[error(
        "{path}: written in schema version {found}, and this tool knows versions up to {SCHEMA_VERSION}\n  \
         use the version of assay that wrote it, or a newer one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// Written before the first release.
    #[error(
        "{path}: written in schema version {found}, and this tool reads version {SCHEMA_VERSION} only\n  \
         run the study again, or use the version of assay that wrote it"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// A room said a fact that the committed list does not know: our own mistake.
    #[error(
        "the fact {name:?} with the value {value:?} is not in the list of facts\n  \
         this is a mistake in assay: please report it"
    )]
    UnknownFact {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Broken content.
    #[error(
        "{path}: the result file is damaged: {detail}\n  \
         take a copy of it and try `sqlite3 FILE .recover`; a run into it cannot go on"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// No space left.
    #[error(
        "{path}: no space left for the result file\n  \
         free space in that file system and go on with `--resume`; finished phases are kept"
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The place or the file can't be written.
    #[error("{path}: cannot be written: {detail}\n  choose a directory that you may write to, with enough space")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's word.
        detail: String,
    },
    /// The file can't be read.
    #[error("{path}: cannot be read: {detail}\n  check the permissions of the file and of its directory")]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The system's word.
        detail: String,
    },
    /// The disk under the file failed.
    #[error(
        "{path}: the disk under the result file failed: {detail}\n  \
         look into the kernel's log (dmesg), and write results to another disk"
    )]
    Disk {
        /// The file.
        path: PathBuf,
        /// SQLite's word.
        detail: String,
    },
    /// Changed after its study had ended.
    #[error(
        "{path}: was changed after its study ended ({what}), and going on would seal the change with the rest\n  \
         go on with a copy of the file as its run left it, or start anew with another name"
    )]
    Edited {
        /// The file.
        path: PathBuf,
        /// Tables, as the seal names them.
        what: String,
    },
    /// Another run writes to it, or somebody reads it without end.
    #[error("{path}: another program has this result file\n  wait until the run or the reader ends, or stop it")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A row that does not fit: our own mistake, or a file edited by hand.
    #[error(
        "{path}: {what}: {source}\n  \
         if the file was not edited by hand this is a mistake in assay: please report it"
    )]
    Row {
        /// The file.
        path: PathBuf,
        /// The act.
        what: &'static str,
        /// SQLite's word.
        source: rusqlite::Error,
    },
    /// A distribution that can't be packed or unpacked.
    #[error(
        "a latency distribution cannot be {act}: {detail}\n  the result file is damaged or was written by another tool"
    )]
    Distribution {
        /// "encoded", "decoded" or "added".
        act: &'static str,
        /// The library's word.
        detail: String,
    },
}

/// Sorts an error of SQLite into one with a cure.
pub(crate) fn sorted(path: &Path, what: &'static str, source: rusqlite::Error) -> LedgerError {
    let path = path.to_owned();
    let detail = one_line(&source.to_string());
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => LedgerError::Full { path },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            LedgerError::NotWritable { path, detail }
        }
        Some(ErrorCode::NotADatabase) => LedgerError::NotAssay {
            path,
            why: "it is no SQLite database".into(),
        },
        Some(ErrorCode::DatabaseCorrupt) => LedgerError::Damaged { path, detail },
        Some(ErrorCode::SystemIoFailure) => LedgerError::Disk { path, detail },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerError::InUse { path },
        _ => LedgerError::Row { path, what, source },
    }
}

/// Words in which the file may have a say, in one line of bounded length.
pub(crate) fn one_line(text: &str) -> String {
    const SHOWN: usize = 300;
    let mut line = String::new();
    for c in text.chars().take(SHOWN) {
        match c {
            '"' | '\'' | '\\' => line.push(c),
            c => line.extend(c.escape_debug()),
        }
    }
    line
}
