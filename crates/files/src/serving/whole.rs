//! One tree of files and its users, whatever the client is.
//!
//! Prevents: a caller that has to know which client it drives.

use super::{After, Audit, Counts, Filled, NfsServer, Place, Point, TreeSize, WrongAnswers};
use crate::error::FilesError;
use crate::load::Config;
use crate::nfs3::Nfs3;
use crate::null::{Null, Time};
use crate::posix::{Crew, Posix};
use crate::users::Users;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::{Busy, Pacing, drive};

/// A tree of files and its users.
pub struct Serving {
    sessions: u32,
    kind: Kind,
}

enum Kind {
    Nfs3(Box<Users<Nfs3>>),
    Posix(Crew<Posix>),
    Null(Box<Users<Null>>),
    NullThreads(Crew<Null>),
}

/// Mounts the export and asks for the server's limits, as [`Serving::begin`] does first; nothing is made there.
///
/// # Errors
/// [`FilesError::is_not_up_yet`] of a server that was started a moment ago.
pub fn reach(server: NfsServer) -> Result<(), FilesError> {
    Nfs3::connect(server, 1024).map(drop)
}

impl Serving {
    /// Connects (mounts the export, asks for the server's limits) and makes the directory of this run, `assay-` and
    /// the number of the run, which must not be there. A transfer above what the server takes is refused.
    pub fn begin(config: Config, place: Place) -> Result<Serving, FilesError> {
        config.check()?;
        let sessions = config.sessions;
        let kind = match place {
            Place::Nfs3(server) => {
                if server.connections > sessions {
                    return Err(FilesError::Settings(format!(
                        "{} connections for {sessions} sessions\ngive at most as many connections as sessions",
                        server.connections
                    )));
                }
                let client = Nfs3::connect(server, config.transfer_kib as usize * 1024)?;
                let (read, write) = client.limits;
                let limit = read.min(write) / 1024;
                if limit < config.transfer_kib {
                    return Err(FilesError::Settings(format!(
                        "the server takes at most {limit} KiB in one call, and `transfer` is {} KiB\n\
                         give a smaller transfer",
                        config.transfer_kib
                    )));
                }
                let mut users = Users::new(client, config);
                users.limit_bulk(limit);
                users.make_home()?;
                Kind::Nfs3(Box::new(users))
            }
            Place::Posix(place) => Kind::Posix(Crew::new(&config, &place)?),
            Place::NullThreads(threads) => Kind::NullThreads(Crew::null(&config, threads)?),
            Place::Null => {
                let mut users = Users::new(Null::new(Time::Real), config);
                users.make_home()?;
                Kind::Null(Box::new(users))
            }
        };
        Ok(Serving { sessions, kind })
    }

    /// From now on making files, committing and reading them back end by [`FilesError::Cancelled`] soon after the flag
    /// is set: nothing new is taken on. Removing does not, and a phase has the flag of its pacing.
    pub fn end_by(&mut self, cancel: &Arc<AtomicBool>) {
        match &mut self.kind {
            Kind::Nfs3(users) => users.end_by(cancel),
            Kind::Posix(crew) => crew.end_by(cancel),
            Kind::NullThreads(crew) => crew.end_by(cancel),
            Kind::Null(users) => users.end_by(cancel),
        }
    }

    /// Adds files until the tree has `bytes`; a tree that has them already stays as it is. Call it once before the
    /// first phase and between load points. Not timed by anybody: data are written by many calls at once.
    /// `commit`: each file is committed, so that a cut may follow; otherwise the caller syncs the file system.
    pub fn grow_to(&mut self, bytes: u64, commit: bool) -> Result<Filled, FilesError> {
        match &mut self.kind {
            Kind::Nfs3(users) => users.grow_to(bytes, commit),
            Kind::Posix(crew) => crew.grow_to(bytes, commit),
            Kind::NullThreads(crew) => crew.grow_to(bytes, commit),
            Kind::Null(users) => users.grow_to(bytes, commit),
        }
    }

    /// Commits what is not stable. For a server whose file system the caller cannot sync. On plain files and for
    /// ourselves there is nothing to commit: the caller syncs.
    pub fn commit(&mut self) -> Result<(), FilesError> {
        match &mut self.kind {
            Kind::Nfs3(users) => users.commit().map(drop),
            Kind::Posix(_) | Kind::Null(_) | Kind::NullThreads(_) => Ok(()),
        }
    }

    /// One phase or load point. `pacing.sessions` is at most [`Config::sessions`]. The tree stays as the users leave
    /// it, for the next point. With posix a session is a thread, and there are at most as many sessions as threads.
    ///
    /// Wrong answers are counted, and the phase goes on. Errors end it: a server that is gone or silent, broken
    /// protocol, STALE, IO, a full file system ([`FilesError::is_out_of_space`]), a server that started anew in
    /// the middle. After an error [`Self::wrong`] and [`Self::counts`] say what came until then, and [`Self::audit`]
    /// may follow.
    pub fn run(&mut self, pacing: &Pacing, seed: u64) -> Result<Point, FilesError> {
        if pacing.sessions == 0 || pacing.sessions > self.sessions {
            return Err(FilesError::Settings(format!(
                "a phase of {} sessions, and the work is set up for {}\ngive 1 to {} sessions",
                pacing.sessions, self.sessions, self.sessions
            )));
        }
        match &mut self.kind {
            // One thread speaks for all users: where it has no time left, the rate is its own.
            Kind::Nfs3(users) => users.run(|users| {
                let (mut outcome, busy) = Busy::of(|| drive(users, pacing, seed))?;
                outcome.busy_share = busy.share();
                Ok(outcome)
            }),
            Kind::Posix(crew) => crew.run(pacing, seed),
            Kind::NullThreads(crew) => crew.run(pacing, seed),
            Kind::Null(users) => users.run(|users| drive(users, pacing, seed)),
        }
    }

    /// Counts of the last phase or load point, also where it ended by an error.
    pub fn counts(&self) -> Counts {
        match &self.kind {
            Kind::Nfs3(users) => users.counts(),
            Kind::Posix(crew) => crew.counts(),
            Kind::NullThreads(crew) => crew.counts(),
            Kind::Null(users) => users.counts(),
        }
    }

    /// Wrong answers of the last phase or load point, also where it ended by an error.
    pub fn wrong(&self) -> WrongAnswers {
        match &self.kind {
            Kind::Nfs3(users) => users.wrong(),
            Kind::Posix(crew) => crew.wrong(),
            Kind::NullThreads(crew) => crew.wrong(),
            Kind::Null(users) => users.wrong(),
        }
    }

    /// Reads everything and holds it against what must be there. `back`: where the files are now; `None`: the server
    /// has its old address, or the directory its old descriptor. After a cut names are looked up again, what was not
    /// committed is sent again where it has to be, and all is read once more; then the tree may be worked on again.
    pub fn audit(&mut self, after: After, back: Option<Place>) -> Result<Audit, FilesError> {
        match (&mut self.kind, back) {
            (Kind::Nfs3(users), Some(Place::Nfs3(server))) => users.client.moved(server),
            (Kind::Posix(crew), Some(Place::Posix(place))) => crew.moved(&place.directory)?,
            (_, None) => {}
            (_, Some(_)) => {
                return Err(FilesError::Settings(
                    "the files are at a place of another kind now\nthis is an error of Assay: report it".into(),
                ));
            }
        }
        match &mut self.kind {
            Kind::Nfs3(users) => users.audit(after),
            Kind::Posix(crew) => crew.audit(after),
            Kind::NullThreads(crew) => crew.audit(after),
            Kind::Null(users) => users.audit(after),
        }
    }

    /// The tree now.
    pub fn tree(&self) -> TreeSize {
        match &self.kind {
            Kind::Nfs3(users) => users.state.tree.size(),
            Kind::Posix(crew) => crew.tree(),
            Kind::NullThreads(crew) => crew.tree(),
            Kind::Null(users) => users.state.tree.size(),
        }
    }

    /// Removes the directory of this run and all in it. It may follow an error.
    pub fn remove(mut self) -> Result<(), FilesError> {
        match &mut self.kind {
            Kind::Nfs3(users) => users.remove(),
            Kind::Posix(crew) => crew.remove(),
            Kind::NullThreads(crew) => crew.remove(),
            Kind::Null(users) => users.remove(),
        }
    }
}
