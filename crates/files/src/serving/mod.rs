//! File serving as a whole: a tree of files at a place, the users that work on it, and what is found of it afterwards.
//!
//! Takes a [`Config`] and a [`Place`]; gives [`Filled`], [`Point`] and [`Audit`]. Prevents: three kinds of client that
//! the caller has to tell apart.

mod audit;
mod places;
mod point;

pub(crate) use audit::EXAMPLES_MAX;
pub use audit::{After, Audit};
pub use places::{Dial, LocalDirectory, NfsServer, Place};
pub use point::{Counts, Filled, Point, TreeSize};

use crate::error::FilesError;
use crate::load::Config;
use workloads::Pacing;

/// A tree of files and its users.
#[derive(Debug)]
pub struct Serving {
    _config: Config,
}

impl Serving {
    /// Connects (mounts the export, asks for the server's limits) and makes the directory `assay-RUN` of this run,
    /// which must not be there. A transfer above what the server takes is refused.
    pub fn begin(config: Config, place: Place) -> Result<Serving, FilesError> {
        config.check()?;
        drop(place);
        not_yet()
    }

    /// Adds files until the tree has `bytes`; a tree that has them already stays as it is. Call it once before the
    /// first phase and between load points. Not timed by anybody: data are written by many calls at once.
    /// `commit`: each file is committed, so that a cut may follow; otherwise the caller syncs the file system.
    pub fn grow_to(&mut self, bytes: u64, commit: bool) -> Result<Filled, FilesError> {
        let _ = (bytes, commit);
        not_yet()
    }

    /// One phase or load point. `pacing.sessions` is at most [`Config::sessions`]. The tree stays as the users leave
    /// it, for the next point. With posix the sessions are the threads, and an open arrival has one schedule for all.
    ///
    /// Wrong answers are counted, and the phase goes on. Errors end it: a server that is gone or silent, broken
    /// protocol, STALE, IO, a full file system ([`FilesError::is_out_of_space`]), a server that started anew in
    /// the middle. After an error [`Self::audit`] may follow.
    pub fn run(&mut self, pacing: &Pacing, seed: u64) -> Result<Point, FilesError> {
        let _ = (pacing, seed);
        not_yet()
    }

    /// Reads everything and holds it against what must be there. `back`: where the files are now; `None`: the old
    /// connections and descriptors are still good. After a cut names are looked up again, what was not committed is
    /// sent again where the verifier changed, and all is read once more; then the tree may be worked on again.
    pub fn audit(&mut self, after: After, back: Option<Place>) -> Result<Audit, FilesError> {
        let _ = (after, back);
        not_yet()
    }

    /// The tree now.
    pub fn tree(&self) -> TreeSize {
        TreeSize::default()
    }

    /// Removes the directory of this run and all in it.
    pub fn remove(self) -> Result<(), FilesError> {
        not_yet()
    }
}

fn not_yet<T>() -> Result<T, FilesError> {
    Err(FilesError::Settings(
        "this build of Assay has no clients of file serving yet\ntake a newer build".into(),
    ))
}
