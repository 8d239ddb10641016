//! One point of a ramp: the tree grown, warmed up, loaded, watched, brought to rest.
//!
//! Prevents: growth and warm-up counted as work, and what a point left unwritten counted at the next.

use super::rows::{self, Answers};
use super::work;
use crate::host::elsewhere;
use crate::host::observed::Host;
use crate::surroundings::Seen;
use anyhow::Context;
use files::{FilesError, Point};
use ledger::{LoadPoint, Measure, p99_with_unsent};
use plan::{Limit, LimitOf, Rate, Serving};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::{Outcome, Pacing};

/// A point that was run.
pub(super) struct Ran {
    pub(super) row: LoadPoint,
    pub(super) elapsed_ns: u64,
    pub(super) seen: Seen,
    /// Syncing and coming to rest.
    pub(super) drain_ns: u64,
    /// Inside the limit, and its rate was reached.
    pub(super) inside: bool,
}

/// What all points of a ramp have.
pub(super) struct Ramp<'a> {
    pub(super) serving: &'a Serving,
    /// Of each point, without its warm-up.
    pub(super) time_ns: u64,
    pub(super) seed: u64,
    /// When the phase began.
    pub(super) since: u64,
    pub(super) cancel: &'a Arc<AtomicBool>,
    /// The server was there before: nobody here can sync its file system, or see its host.
    pub(super) is_elsewhere: bool,
}

impl Ramp<'_> {
    /// Grows the tree to the data of a load, and has it written.
    pub(super) fn grow(&self, tree: &mut files::Serving, rate: Rate, host: &mut Host<'_>) -> anyhow::Result<()> {
        tree.grow_to(self.serving.data_bytes(rate), false)?;
        self.settle(tree, host).context("rest before a point")?;
        Ok(())
    }

    /// Until all that was written is stable; gives the time that was spent only on proving it.
    fn settle(&self, tree: &mut files::Serving, host: &mut Host<'_>) -> anyhow::Result<u64> {
        if self.is_elsewhere {
            tree.commit()?;
        }
        host.rest()
    }

    /// Runs a point; its outcome is apart, for it takes 8 MB. After an error `answers` has what was wrong in those that
    /// came before it.
    pub(super) fn run(
        &self,
        tree: &mut files::Serving,
        rate: Rate,
        host: &mut Host<'_>,
        answers: &mut Answers,
    ) -> anyhow::Result<(Ran, Outcome)> {
        let seed = self.seed ^ rate.0.to_bits();
        if self.serving.warm_up.0 > 0 {
            let pacing = work::pacing(self.serving, rate.0, self.serving.warm_up.0, self.cancel);
            drive(tree, (&pacing, !seed), (answers, " in the warm-up"))?;
            self.settle(tree, host).context("rest after the warm-up of a point")?;
        }
        let pacing = work::pacing(self.serving, rate.0, self.time_ns, self.cancel);
        host.start()?;
        let point = drive(tree, (&pacing, seed), (answers, ""))?;
        let proof_ns = self.settle(tree, host).context("rest after a point")?;
        let drain_ns = targets::monotonic_ns()
            .saturating_sub(point.outcome.ended)
            .saturating_sub(proof_ns);
        let mut seen = host.stop()?;
        if self.is_elsewhere {
            elsewhere::keep_users(&mut seen);
        }
        rows::count_answers(&mut seen, std::mem::take(answers), &point.counts);
        seen.measures.push((Measure::FilesDrainNs, drain_ns as f64));
        let ran = Ran {
            row: rows::point(rate.0, self.since, self.time_ns, &point, &seen)?,
            elapsed_ns: point.outcome.elapsed_ns,
            seen,
            drain_ns,
            inside: self.inside(&point),
        };
        Ok((ran, point.outcome))
    }

    /// As the report judges it: arrivals are drawn, so what fell due counts, not the rate that was asked.
    fn inside(&self, point: &Point) -> bool {
        let outcome = &point.outcome;
        let due = outcome.count().saturating_add(outcome.unsent);
        let reached = outcome.in_time_count as f64 >= self.serving.reached.0 * due as f64;
        reached
            && self
                .serving
                .until
                .is_none_or(|limit| response_ns(&point.outcome, limit) <= limit.response.0 as f64)
    }
}

/// Users work on a tree; what is wrong in their answers is counted, however that ends.
fn drive(
    tree: &mut files::Serving,
    (pacing, seed): (&Pacing, u64),
    (answers, when): (&mut Answers, &str),
) -> Result<Point, FilesError> {
    let ran = tree.run(pacing, seed);
    answers.add(&tree.counts(), &tree.wrong().examples, when);
    ran
}

/// The response that a limit holds for, over all classes.
fn response_ns(outcome: &Outcome, limit: Limit) -> f64 {
    let mut classes = outcome.classes.iter().filter(|class| class.count > 0);
    let Some(first) = classes.next() else { return 0.0 };
    let mut all = first.response.clone();
    for class in classes {
        all.add(&class.response).expect("all latencies have one range");
    }
    match limit.of {
        LimitOf::Mean => all.mean(),
        // Unknown, it is longer than all that ended.
        LimitOf::P99 => p99_with_unsent(&all, outcome.unsent as f64).unwrap_or(f64::INFINITY),
    }
}

/// The stack has no space for the data.
pub(super) fn is_full(error: &anyhow::Error) -> bool {
    let of_files =
        |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref().is_some_and(FilesError::is_out_of_space);
    error.chain().any(of_files) || crate::full::ran_out_of_space(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::Seen;
    use files::{Class, Config, LocalDirectory, Mix, Place};
    use std::path::Path;

    /// Other bytes in every file, and a file in the place of every link: reads are wrong, and a link ends the phase.
    fn spoil(directory: &Path) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                spoil(&path);
            } else if kind.is_symlink() {
                std::fs::remove_file(&path).unwrap();
                std::fs::write(&path, "no link").unwrap();
            } else {
                let len = entry.metadata().unwrap().len() as usize;
                std::fs::write(&path, vec![0x5a; len]).unwrap();
            }
        }
    }

    #[test]
    fn wrong_answers_before_an_error_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let directory = std::fs::File::open(dir.path()).unwrap().into();
        let place = Place::Posix(LocalDirectory {
            directory,
            direct: false,
            threads: 1,
        });
        let mix = Mix::new(&[(Class::Read, 99), (Class::Readlink, 1)]).unwrap();
        let config = Config {
            work: files::Work::Mix(mix),
            accessed_pct: 100,
            ..Config::sfs97(1, 1, 1)
        };
        let mut tree = files::Serving::begin(config, place).unwrap();
        tree.grow_to(1 << 20, false).unwrap();
        let mut pacing = Pacing::closed(1, 600_000_000_000);
        pacing.stop.operations_per_session = Some(20_000);
        let mut answers = Answers::default();
        drive(&mut tree, (&pacing, 1), (&mut answers, "")).unwrap();
        let mut seen = Seen::default();
        std::mem::take(&mut answers).of_unfinished(&mut seen);
        assert_eq!(rows::loss(&seen), None);
        spoil(dir.path());
        let ended = drive(&mut tree, (&pacing, 2), (&mut answers, ""));
        assert!(matches!(ended, Err(FilesError::Refused { .. })), "{ended:?}");
        answers.of_unfinished(&mut seen);
        let said = rows::loss(&seen).unwrap();
        assert!(said.contains("DATA LOST"), "{said}");
        assert!(seen.notes[0].contains("wrong answer: file"), "{:?}", seen.notes);
    }
}
