//! Threads on plain files: each has its share of the tree and one call at a time; arrivals are dealt from one schedule.
//! The same threads with clients that answer themselves are the generator's ceiling.
//!
//! Prevents: a session that waits behind another one while a thread is idle (a free thread takes what is due), and
//! histograms of each of hundreds of threads, whose making is taken for the users' work (they count in one place).

use super::Posix;
use super::threads::each;
use crate::client::Client;
use crate::error::FilesError;
use crate::load::{Class, Config};
use crate::null::{Null, Time};
use crate::serving::{After, Audit, Counts, Filled, LocalDirectory, Point, TreeSize, WrongAnswers};
use crate::users::Users;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use targets::monotonic_ns;
use workloads::{Arrivals, Latencies, Outcome, Pacing, drive_shared, merge};

/// All threads' users.
pub(crate) struct Crew<C> {
    users: Vec<Users<C>>,
    /// Of all threads. They are made before any point, and each point uses them anew.
    latencies: Latencies,
}

impl Crew<Posix> {
    /// Each thread gets a directory of its own.
    pub(crate) fn new(config: &Config, place: &LocalDirectory) -> Result<Crew<Posix>, FilesError> {
        let sizes = [config.transfer_kib, config.sizes.unit_kib()];
        if place.direct && (sizes.iter().any(|kib| kib % 4 != 0) || config.short_writes_pct > 0) {
            return Err(FilesError::Settings(
                "direct access takes whole 4 KiB: sizes, transfers and short writes are not\n\
                 give sizes and transfers in multiples of 4KiB and no short writes, or read through the page cache"
                    .into(),
            ));
        }
        Crew::of(config, place.threads, || {
            Ok(Posix::new(dup(&place.directory)?, place.direct))
        })
    }

    pub(crate) fn moved(&mut self, directory: &OwnedFd) -> Result<(), FilesError> {
        for users in &mut self.users {
            users.client.moved(dup(directory)?);
        }
        Ok(())
    }
}

impl Crew<Null> {
    /// Threads whose calls answer themselves.
    pub(crate) fn null(config: &Config, threads: u32) -> Result<Crew<Null>, FilesError> {
        Crew::of(config, threads, || Ok(Null::new(Time::Real)))
    }
}

impl<C: Client + Send> Crew<C> {
    fn of(config: &Config, threads: u32, client: impl Fn() -> Result<C, FilesError>) -> Result<Crew<C>, FilesError> {
        if threads == 0 {
            return Err(FilesError::Settings("0 threads\ngive at least 1 thread".into()));
        }
        let mut users = Vec::new();
        for nth in 0..threads {
            let config = Config {
                sessions: 1,
                run: run_of(config.run, nth),
                seed: config.seed.wrapping_add(u64::from(nth) << 32),
                ..config.clone()
            };
            let mut one = Users::new(client()?, config);
            one.make_home()?;
            users.push(one);
        }
        Ok(Crew {
            users,
            latencies: Latencies::new(&Class::NAMES),
        })
    }

    pub(crate) fn end_by(&mut self, cancel: &Arc<AtomicBool>) {
        self.users.iter_mut().for_each(|users| users.end_by(cancel));
    }

    pub(crate) fn grow_to(&mut self, bytes: u64, commit: bool) -> Result<Filled, FilesError> {
        let share = bytes.div_ceil(self.users.len() as u64);
        let mut all = Filled::default();
        for filled in each(&mut self.users, |users, _| users.grow_to(share, commit))? {
            all.tree.add(&filled.tree);
            all.written_bytes += filled.written_bytes;
            all.calls += filled.calls;
            all.elapsed_ns = all.elapsed_ns.max(filled.elapsed_ns);
        }
        Ok(all)
    }

    pub(crate) fn run(&mut self, pacing: &Pacing, seed: u64) -> Result<Point, FilesError> {
        check_threads(pacing.sessions, self.users.len())?;
        let parts = pacing.split(pacing.sessions);
        // One schedule for all: a free thread takes what is due. It begins when all threads are there.
        let schedule = OnceLock::new();
        let latencies = &self.latencies;
        let points = each(&mut self.users, |users, nth| match parts.get(nth) {
            Some(part) => {
                // The kernel may wake a thread 50 us late without this, which is the response of many calls.
                let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                let arrivals = schedule.get_or_init(|| Arrivals::new(pacing, monotonic_ns(), seed));
                let seed = seed.wrapping_add(nth as u64);
                users
                    .run(|users| drive_shared(users, part, seed, arrivals.as_ref(), Some(latencies)))
                    .map(Some)
            }
            None => {
                users.state.count_anew();
                Ok(None)
            }
        });
        // Also after an error: the next point begins at zero.
        let classes = self.latencies.take();
        let mut counts = Counts::default();
        let mut outcomes = Vec::<Outcome>::new();
        for point in points?.into_iter().flatten() {
            counts.add(&point.counts);
            outcomes.push(point.outcome);
        }
        Ok(Point {
            outcome: Outcome {
                classes,
                ..merge(outcomes)
            },
            counts,
            tree: self.tree(),
            wrong: self.wrong().examples,
        })
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut all = Counts::default();
        self.users.iter().for_each(|users| all.add(&users.counts()));
        all
    }

    pub(crate) fn wrong(&self) -> WrongAnswers {
        let mut all = WrongAnswers::default();
        self.users.iter().for_each(|users| all.add(users.wrong()));
        all
    }

    pub(crate) fn audit(&mut self, after: After) -> Result<Audit, FilesError> {
        let mut all = Audit::default();
        for audit in each(&mut self.users, |users, _| users.audit(after))? {
            all.add(audit);
        }
        Ok(all)
    }

    pub(crate) fn tree(&self) -> TreeSize {
        let mut all = TreeSize::default();
        self.users.iter().for_each(|users| all.add(&users.state.tree.size()));
        all
    }

    pub(crate) fn remove(&mut self) -> Result<(), FilesError> {
        match each(&mut self.users, |users, _| users.remove()) {
            // Nothing may stay for want of threads: one after the other.
            Err(FilesError::Threads { .. }) => self.users.iter_mut().try_for_each(Users::remove),
            done => done.map(drop),
        }
    }
}

fn check_threads(sessions: u32, threads: usize) -> Result<(), FilesError> {
    if sessions as usize > threads {
        return Err(FilesError::Settings(format!(
            "{sessions} sessions on {threads} threads: plain files have a thread for each session\n\
             give as many threads as sessions"
        )));
    }
    Ok(())
}

/// The number of a thread's run. Runs are told apart by the lower bits of a number: threads take the upper ones first.
fn run_of(run: u32, thread: u32) -> u32 {
    run ^ thread.rotate_right(10)
}

fn dup(directory: &OwnedFd) -> Result<OwnedFd, FilesError> {
    rustix::io::fcntl_dupfd_cloexec(directory.as_fd(), 3).map_err(|error| FilesError::Local {
        what: "a second descriptor of the directory".into(),
        source: error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use workloads::{Arrival, Schedule};

    #[test]
    fn threads_that_answer_themselves_share_one_schedule() {
        let config = Config::sfs97(4, 1, 2);
        let mut crew = Crew::null(&config, 4).unwrap();
        crew.grow_to(8 << 20, false).unwrap();
        let schedule = Schedule::Fixed { first_ns: 0 };
        let pacing = Pacing {
            arrival: Arrival::Open {
                rate_per_s: 1e8,
                schedule,
            },
            ..Pacing::closed(4, 50_000_000)
        };
        let point = crew.run(&pacing, 3).unwrap();
        let outcome = &point.outcome;
        assert!(outcome.count() > 0 && outcome.unsent > 0, "{} done", outcome.count());
        assert_eq!(crew.wrong().count, 0);
    }

    #[test]
    fn many_trees_together_have_what_was_asked_for() {
        let config = Config::sfs97(1, 1, 2);
        let mut crew = Crew::null(&config, 200).unwrap();
        let wanted = 64 << 20;
        let have = crew.grow_to(wanted, false).unwrap().tree.bytes;
        assert!(have.abs_diff(wanted) < wanted / 4, "{have} bytes of {wanted}");
    }

    #[test]
    fn every_thread_has_a_directory_of_its_own_name() {
        let most = 1 << 16;
        let runs: BTreeSet<u32> = (0..most).map(|nth| run_of(7, nth)).collect();
        assert_eq!(runs.len(), most as usize, "two threads of one name");
    }
}
