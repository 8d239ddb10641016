//! What a phase or a load point came to.
//!
//! Prevents: counts of one point that are taken for those of the next (each is counted from zero).

use super::EXAMPLES_MAX;
use workloads::Outcome;

/// One phase, or one load point of a ramp.
#[derive(Clone, Debug)]
pub struct Point {
    /// Counts and histograms by class ([`crate::Class::NAMES`], all of them, in this order); `units` are bytes read or
    /// written; `unsent` operations of an open arrival.
    pub outcome: Outcome,
    /// What else happened.
    pub counts: Counts,
    /// The tree at its end.
    pub tree: TreeSize,
    /// The first few of [`Counts::wrong`], in words.
    pub wrong: Vec<String>,
}

/// Counts of one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Calls answered. A step of several calls is one operation.
    pub calls: u64,
    /// Bytes of READ answers, each KiB of them checked.
    pub read_bytes: u64,
    /// Bytes of WRITE answers.
    pub written_bytes: u64,
    /// Answers that are wrong: data, size, handle, listing. Each is a loss of data.
    pub wrong: u64,
    /// "Try again later" (NFS3ERR_JUKEBOX): tried again after 100 ms, inside the response.
    pub later: u64,
    /// Listings that were refused (no such name) though their directory is there, and were asked for again, inside the
    /// response. Refused twice they are wrong.
    pub listed_again: u64,
    /// Files drawn anew because another session held the first one.
    pub redraws: u64,
    /// Operations that found no file or name for their purpose and did another one: they are counted in its class.
    pub substituted: u64,
    /// Connections that ended and were made again.
    pub reconnects: u64,
    /// Calls sent again because their connection had ended.
    pub repeated: u64,
    /// Of these, CREATE, REMOVE, MKDIR, RMDIR and SYMLINK that met their own traces. They are not wrong.
    pub traces: u64,
    /// System calls that sent, and that received.
    pub sends: u64,
    /// See `sends`.
    pub receives: u64,
}

impl Counts {
    /// Adds those of another worker.
    pub fn add(&mut self, other: &Counts) {
        self.calls += other.calls;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.wrong += other.wrong;
        self.later += other.later;
        self.listed_again += other.listed_again;
        self.redraws += other.redraws;
        self.substituted += other.substituted;
        self.reconnects += other.reconnects;
        self.repeated += other.repeated;
        self.traces += other.traces;
        self.sends += other.sends;
        self.receives += other.receives;
    }
}

/// Answers that were wrong, of a phase or a load point, also where it ended by an error.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrongAnswers {
    /// See [`Counts::wrong`].
    pub count: u64,
    /// The first few, in words.
    pub examples: Vec<String>,
}

impl WrongAnswers {
    /// Adds those of another worker, or of a later phase.
    pub fn add(&mut self, other: WrongAnswers) {
        self.count += other.count;
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES_MAX);
    }
}

/// The tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeSize {
    /// Files that are there.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of the files that are worked on.
    pub accessed_bytes: u64,
}

impl TreeSize {
    /// Adds that of another worker.
    pub fn add(&mut self, other: &TreeSize) {
        self.files += other.files;
        self.directories += other.directories;
        self.bytes += other.bytes;
        self.accessed_bytes += other.accessed_bytes;
    }
}

/// What filling and growing made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Filled {
    /// The tree now.
    pub tree: TreeSize,
    /// Bytes written by this call.
    pub written_bytes: u64,
    /// Calls made by this call.
    pub calls: u64,
    /// How long it took, ns.
    pub elapsed_ns: u64,
}
