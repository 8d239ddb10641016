//! How far a study is while it runs, from a glance at its file: what a live page shows above the report.
//!
//! Takes an open ledger, gives a [`Now`] without any figure of the study; what time it is, and whether a run writes to
//! the file, is passed in as a [`Moment`]. Prevents: a progress that needs the running process, and an analysis each
//! time that somebody looks.

use ledger::{Ending, Ledger, LedgerError, Trial, TrialId, TrialStatus};
use std::collections::BTreeMap;
use std::time::Duration;

/// When somebody looks at the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// A run has the file open for writing.
    pub is_written: bool,
}

/// How far a study is.
#[derive(Clone, Debug)]
pub struct Now {
    pub(crate) study: ledger::Study,
    /// Times it was extended.
    extensions: u32,
    pub(crate) ended: Option<Ending>,
    /// Those that take part.
    pub(crate) stacks: Vec<String>,
    /// In the order of a trial.
    pub(crate) phases: Vec<String>,
    trials: Vec<TrialNow>,
}

/// A trial with the names of its finished phases.
#[derive(Clone, Debug)]
pub(crate) struct TrialNow {
    pub(crate) trial: Trial,
    pub(crate) done: Vec<String>,
}

/// What a study is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A run writes to its file.
    Running,
    /// It came to an end, for this reason.
    Ended(String),
    /// No run writes to its file, and it has no end.
    Stopped,
}

impl Now {
    /// Reads what changes between two phases, and no figure.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn read(ledger: &Ledger) -> Result<Now, LedgerError> {
        let trials = ledger.trials()?;
        let mut recorded = ledger.phases()?;
        recorded.sort_by_key(|phase| phase.run.ordinal);
        let mut done: BTreeMap<TrialId, Vec<String>> = BTreeMap::new();
        for phase in recorded {
            done.entry(phase.run.trial).or_default().push(phase.run.name);
        }
        let trials: Vec<TrialNow> = trials
            .into_iter()
            .map(|trial| TrialNow {
                done: done.remove(&trial.id).unwrap_or_default(),
                trial,
            })
            .collect();
        let stacks = ledger.stacks()?.into_iter().filter(|stack| stack.skipped.is_none());
        Ok(Now {
            study: ledger.study()?,
            extensions: ledger.extensions()?.len() as u32,
            ended: ledger.ending()?,
            stacks: stacks.map(|stack| stack.name).collect(),
            phases: phases(ledger, &trials)?,
            trials,
        })
    }

    /// Changes when the figures of the study may have: trials that ended, times it was extended, whether it ended.
    pub fn recorded(&self) -> (usize, u32, bool) {
        let ended = |one: &&TrialNow| matches!(one.trial.status, TrialStatus::Done | TrialStatus::Failed(_));
        let trials = self.trials.iter().filter(ended).count();
        (trials, self.extensions, self.ended.is_some())
    }

    /// Whether the study came to its end.
    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    pub(crate) fn state(&self, moment: Moment) -> State {
        match (&self.ended, moment.is_written) {
            (Some(ending), _) => State::Ended(ending.reason.clone()),
            (None, true) => State::Running,
            (None, false) => State::Stopped,
        }
    }

    /// Blocks planned with all extensions.
    pub(crate) fn planned(&self) -> u32 {
        self.study.blocks_planned.saturating_mul(1 + self.extensions)
    }

    /// The block under way, or the last one: from 0.
    pub(crate) fn block(&self) -> Option<u32> {
        self.trials.iter().map(|one| one.trial.block).max()
    }

    /// The last trial of a stack in the block under way.
    pub(crate) fn trial(&self, stack: &str) -> Option<&TrialNow> {
        let block = self.block()?;
        let of = |one: &&TrialNow| one.trial.block == block && one.trial.stack == stack;
        self.trials.iter().rev().find(of)
    }

    /// Phases done over all that are planned, at most 1.
    pub(crate) fn share(&self) -> f64 {
        let counts = |one: &&TrialNow| one.trial.status != TrialStatus::Interrupted;
        let done: usize = self.trials.iter().filter(counts).map(|one| one.done.len()).sum();
        let all = self.planned() as usize * self.stacks.len() * self.phases.len();
        (done as f64 / all.max(1) as f64).min(1.0)
    }

    /// Since the study began; until its end, where it has one.
    pub(crate) fn gone(&self, moment: Moment) -> Duration {
        let until = self
            .ended
            .as_ref()
            .map_or(moment.at_unix_ns, |ending| ending.at_unix_ns);
        Duration::from_nanos(until.saturating_sub(self.study.created_unix_ns))
    }

    /// About how much longer it takes: the blocks that are planned, each as long as the last whole one, and no longer
    /// than its time limit. `None` before the second block.
    pub(crate) fn left(&self, moment: Moment) -> Option<Duration> {
        let block = self.block()?;
        let began = |block: u32| {
            let of = self.trials.iter().filter(|one| one.trial.block == block);
            of.map(|one| one.trial.began_unix_ns).min()
        };
        let this = began(block)?;
        let last = this.checked_sub(began(block.checked_sub(1)?)?)?;
        let whole = last.saturating_mul(u64::from(self.planned().saturating_sub(block).max(1)));
        let left = whole.saturating_sub(moment.at_unix_ns.saturating_sub(this));
        Some(Duration::from_nanos(
            left.min(self.until_limit(moment).unwrap_or(u64::MAX)),
        ))
    }

    /// Nanoseconds until the time limit, where it counts from when the file was made: not in a model's virtual time,
    /// and not in a run that went on with the file of another.
    pub(crate) fn until_limit(&self, moment: Moment) -> Option<u64> {
        let again = self
            .trials
            .iter()
            .any(|one| one.trial.status == TrialStatus::Interrupted);
        let counts = !self.study.modelled && !again && self.extensions == 0;
        let end = self.study.created_unix_ns.saturating_add(self.study.time_limit_ns);
        counts.then(|| end.saturating_sub(moment.at_unix_ns))
    }
}

/// Names of phases in the order of a trial: of one that ran whole, else as the study lists them.
fn phases(ledger: &Ledger, trials: &[TrialNow]) -> Result<Vec<String>, LedgerError> {
    let whole = trials.iter().filter(|one| one.trial.status == TrialStatus::Done);
    if let Some(most) = whole.max_by_key(|one| one.done.len()) {
        return Ok(most.done.clone());
    }
    let named = |setting: ledger::Setting| {
        let key = setting.key.strip_prefix("phase.")?.strip_suffix(".name")?;
        Some(key.to_string())
    };
    Ok(ledger.settings()?.into_iter().filter_map(named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{NewTrial, PhaseKind, PhaseRecord, PhaseRun, PhaseStatus, Setting, Stack, Study};

    const SECOND: u64 = 1_000_000_000;

    fn begun(dir: &std::path::Path) -> Ledger {
        let study = Study {
            name: "one".into(),
            blocks_planned: 4,
            created_unix_ns: 100 * SECOND,
            time_limit_ns: 1000 * SECOND,
            ..Study::default()
        };
        let mut file = Ledger::create(dir.join("one.assay"), &study).unwrap();
        let key = |name: &str| Setting {
            key: format!("phase.{name}.name"),
            value: "x".into(),
            written: true,
        };
        file.settings_all(&[key("read"), key("a.name")]).unwrap();
        let stack = Stack {
            ordinal: 0,
            name: "base".into(),
            kind: "ext4".into(),
            layers: ledger::Layers::plain(["ext4"]),
            database: None,
            data_lun_set: None,
            redo_lun_set: None,
            access: ledger::Access::Direct,
            injected: None,
            skipped: None,
        };
        file.stack(&stack).unwrap();
        file
    }

    fn trial(file: &mut Ledger, block: u32, began_s: u64) -> TrialId {
        let trial = NewTrial {
            block,
            position: 0,
            stack: "base".into(),
            seed: 1,
            host: "h".into(),
            instance: "1".into(),
            lun_set: String::new(),
            began_unix_ns: began_s * SECOND,
        };
        file.begin_trial(&trial).unwrap()
    }

    fn phase(file: &mut Ledger, trial: TrialId, ordinal: u32, name: &str) {
        let run = PhaseRun {
            trial,
            ordinal,
            name: name.into(),
            kind: PhaseKind::Random,
            ranked: true,
            began_unix_ns: 0,
            elapsed_ns: SECOND,
            drain_ns: 0,
            status: PhaseStatus::Valid,
        };
        file.record_phase(&PhaseRecord::new(run)).unwrap();
    }

    fn at(second: u64) -> Moment {
        Moment {
            at_unix_ns: second * SECOND,
            is_written: true,
        }
    }

    #[test]
    fn a_study_is_followed_from_its_first_phase_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = begun(dir.path());
        let now = Now::read(&file).unwrap();
        assert_eq!((now.block(), now.left(at(110)), now.share()), (None, None, 0.0));
        assert_eq!(now.phases, ["read", "a.name"]);
        assert_eq!(now.until_limit(at(110)), Some(990 * SECOND));
        let first = trial(&mut file, 0, 120);
        phase(&mut file, first, 0, "read");
        let now = Now::read(&file).unwrap();
        assert_eq!((now.recorded(), now.share()), ((0, 0, false), 1.0 / 8.0));
        assert_eq!(now.trial("base").unwrap().done, ["read"]);
        assert_eq!(now.left(at(130)), None);
        phase(&mut file, first, 1, "a.name");
        file.end_trial(first, 140 * SECOND, &TrialStatus::Done).unwrap();
        trial(&mut file, 1, 150);
        let now = Now::read(&file).unwrap();
        assert_eq!(now.recorded(), (1, 0, false));
        // Three blocks of 30 s, 10 s of them gone.
        assert_eq!(now.left(at(160)), Some(Duration::from_secs(80)));
        assert_eq!(now.left(at(1095)), Some(Duration::ZERO));
        let stopped = Moment {
            is_written: false,
            ..at(160)
        };
        assert_eq!(
            (now.state(at(160)), now.state(stopped)),
            (State::Running, State::Stopped)
        );
        let end = Ending {
            at_unix_ns: 200 * SECOND,
            reason: "decided".into(),
        };
        file.finish(&end).unwrap();
        let now = Now::read(&file).unwrap();
        assert_eq!(now.state(stopped), State::Ended("decided".into()));
        assert_eq!((now.recorded().2, now.gone(at(900))), (true, Duration::from_secs(100)));
    }
}
