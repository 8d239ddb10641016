//! Works whose users go through steps in a row: fileserver, varmail and webserver of filebench.
//!
//! Prevents: steps that a mix tears apart (a file is appended to and synced by one user, in this order).

use super::class::Class;
use super::sizes::Sizes;
use crate::error::FilesError;

/// A work of steps in a row. An operation is a step, which may need several calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steps {
    /// Create and write whole, append 16 KiB, read whole, remove, stat. 128 KiB a file, 20 in a directory.
    Fileserver,
    /// Remove; create, append and sync; read whole, append and sync; read whole. 16 KiB a file.
    Varmail,
    /// Ten files read whole, then 16 KiB appended to a log. Each user has a log of its own.
    Webserver,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Create,
    WriteWhole,
    Append { kib: u32 },
    ReadWhole,
    Commit,
    Remove,
    Stat,
}

/// Which file a step takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// Another one; it is held against all other users.
    Alone,
    /// Another one; others may read it as well.
    Shared,
    /// The one of the step before.
    Same,
    /// The log of this user.
    Log,
}

/// One row: the step and its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) step: Step,
    pub(crate) which: Which,
}

const fn row(step: Step, which: Which) -> Row {
    Row { step, which }
}

const FILESERVER: [Row; 6] = [
    row(Step::Create, Which::Alone),
    row(Step::WriteWhole, Which::Same),
    row(Step::Append { kib: 16 }, Which::Alone),
    row(Step::ReadWhole, Which::Shared),
    row(Step::Remove, Which::Alone),
    row(Step::Stat, Which::Shared),
];

const VARMAIL: [Row; 8] = [
    row(Step::Remove, Which::Alone),
    row(Step::Create, Which::Alone),
    row(Step::Append { kib: 16 }, Which::Same),
    row(Step::Commit, Which::Same),
    row(Step::ReadWhole, Which::Alone),
    row(Step::Append { kib: 16 }, Which::Same),
    row(Step::Commit, Which::Same),
    row(Step::ReadWhole, Which::Shared),
];

const READ: Row = row(Step::ReadWhole, Which::Shared);
const WEBSERVER: [Row; 11] = [
    READ,
    READ,
    READ,
    READ,
    READ,
    READ,
    READ,
    READ,
    READ,
    READ,
    row(Step::Append { kib: 16 }, Which::Log),
];

impl Steps {
    pub(crate) fn rows(self) -> &'static [Row] {
        match self {
            Steps::Fileserver => &FILESERVER,
            Steps::Varmail => &VARMAIL,
            Steps::Webserver => &WEBSERVER,
        }
    }

    /// Sizes of its files, as filebench has them.
    pub fn sizes(self) -> Sizes {
        let kib = match self {
            Steps::Fileserver => 128,
            Steps::Varmail | Steps::Webserver => 16,
        };
        Sizes::one(kib).unwrap_or_else(|error| unreachable!("a size of our own: {error}"))
    }

    /// Files and users that filebench's own file names: (files, threads).
    pub fn published(self) -> (u32, u32) {
        match self {
            Steps::Fileserver => (10_000, 50),
            Steps::Varmail => (1_000, 16),
            Steps::Webserver => (1_000, 100),
        }
    }

    /// The work of a name.
    pub fn from_name(name: &str) -> Result<Steps, FilesError> {
        match name {
            "fileserver" => Ok(Steps::Fileserver),
            "varmail" => Ok(Steps::Varmail),
            "webserver" => Ok(Steps::Webserver),
            _ => Err(FilesError::Settings(format!(
                "no work has the name \"{name}\"\ntake fileserver, varmail or webserver"
            ))),
        }
    }
}

impl Step {
    /// Under which class it is counted.
    pub(crate) fn class(self) -> Class {
        match self {
            Step::Create => Class::Create,
            Step::WriteWhole | Step::Append { .. } => Class::Write,
            Step::ReadWhole => Class::Read,
            Step::Commit => Class::Commit,
            Step::Remove => Class::Remove,
            Step::Stat => Class::Getattr,
        }
    }
}
