//! The analysis of a result file: everything a report says, before it is put into a form.
//!
//! Its types are what `--json` prints; [`crate::derived`] makes them of a file. Prevents: a run and a report that judge
//! differently, and forms that compute on their own.

use crate::cells::PhaseReport;
use crate::cells::kept::Kept;
use crate::check::Check;
use crate::hosts::HostOfStudy;
use crate::imported::ImportedPhase;
use crate::published::Published;
use crate::ranking::alike::PairAlike;
use crate::ranking::changes::Change;
use crate::ranking::not_tested::{BulkRatio, NotTested};
use crate::ranking::own_blocks::OwnBlocks;
use crate::ranking::rank::{DroppedBlock, Unranked};
use crate::ranking::same_work::SameWork;
use crate::ranking::temporary::TemporarySpace;
use crate::ranking::verdicts::{Comparison, Contrast, Verdict};
use crate::spent::TimeSpent;
use crate::stacks::capacity::Capacity;
use crate::stacks::cost::Cost;
use crate::stacks::databases::DatabaseOfStack;
use crate::stacks::layouts::Layout;
use crate::stacks::memory::MemoryOfStack;
use crate::stacks::modelled::ModelledDevices;
use crate::words::slow_motion::slow_motion;
use ledger::LedgerError;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Design, Estimate};
use std::collections::BTreeSet;

/// Why a report can't be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The result file can't be read as one.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What a result file says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Analysis {
    /// The study.
    pub study: StudyHead,
    /// The hosts that it ran on, by rank; empty where there was one.
    pub hosts: Vec<HostOfStudy>,
    /// What its time was spent on; `null` of models in virtual time, and where the host's clock was set meanwhile.
    pub time_spent: Option<TimeSpent>,
    /// Its stacks, in its order.
    pub stacks: Vec<StackHead>,
    /// What differs between the stacks that ran.
    pub differences: Vec<Difference>,
    /// Names of what was recorded of every stack and is the same on all.
    pub equal: Vec<String>,
    /// The phases, in the order of a trial.
    pub phases: Vec<PhaseReport>,
    /// Stacks against their base, with verdicts.
    pub comparisons: Vec<Comparison>,
    /// Changes of stacks from an earlier phase to a later one (fresh to aged) against that of their base, with verdicts
    /// of the same kind and of the same error.
    pub contrasts: Vec<Contrast>,
    /// Phases against earlier ones on the same stack, with plain 95 % intervals: not tested, and any slowdown within a
    /// trial is in them.
    pub changes: Vec<Change>,
    /// What temporary files on LUNs of their own change, and whether they explain a difference between stacks, with
    /// plain 95 % intervals: not tested.
    pub temporary: TemporarySpace,
    /// Ratios of other quantities, with plain 95 % intervals: not tested, no verdict is drawn from them.
    pub not_tested: Vec<NotTested>,
    /// File servers at the highest load that a stack and its base both held, with plain 95 % intervals: not tested.
    pub same_work: Vec<SameWork>,
    /// Real databases, by stack.
    pub databases: Vec<DatabaseOfStack>,
    /// Bulk loads against the base's, by row count, with plain 95 % intervals: not tested; the phase's verdict is on
    /// its whole time.
    pub bulk_ratios: Vec<BulkRatio>,
    /// How the data files lay after the load and after each phase that wrote.
    pub layouts: Vec<Layout>,
    /// Of the devices' I/O, what could not be told apart, in words.
    pub not_told_apart: Vec<String>,
    /// What power cuts and kills left of what was acknowledged.
    pub kept: Vec<Kept>,
    /// What arrays with inline reduction kept of what was written.
    pub capacity: Vec<Capacity>,
    /// What modelled devices counted, beside the kernel's count.
    pub modelled: Vec<ModelledDevices>,
    /// Memory at its highest against the data.
    pub memory: Vec<MemoryOfStack>,
    /// Prices of the study over what was measured; `null` when it names none.
    pub cost: Option<Cost>,
    /// What another tool measured elsewhere: shown beside, never ranked.
    pub imported: Vec<ImportedPhase>,
    /// What others published, beside what was measured; `null` when the study names no publication.
    pub published: Option<Published>,
    /// What was measured and is not ranked, and why.
    pub unranked: Vec<Unranked>,
    /// Blocks whose ratios do not count, and why.
    pub dropped: Vec<DroppedBlock>,
    /// Looks at the data, in order.
    pub looks: Vec<LookTaken>,
    /// Whether another block would be run.
    pub go_on: GoOn,
    /// What the study's own blocks say against the conditions of its verdicts; `null` before six valid blocks.
    pub own_blocks: Option<OwnBlocks>,
    /// Pairs of stacks, neither of them the base, that are equivalent to each other in a phase.
    pub pairs_alike: Vec<PairAlike>,
    /// What was checked before the numbers were believed.
    pub checks: Vec<Check>,
    /// What the verdicts promise, and under which condition; `null` where nothing was to be run.
    pub promise: Option<String>,
    /// The answer: a few sentences that a person can decide on.
    pub sentence: String,
    #[serde(skip)]
    pub(crate) recorded_looks: Vec<ledger::Look>,
    /// What its verdicts are judged by.
    #[serde(skip)]
    pub(crate) design: Design,
    /// Whether the result file is there after this report: only then can a study be gone on with.
    #[serde(skip)]
    pub(crate) is_file_kept: bool,
}

/// The study as the file has it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudyHead {
    /// Short name.
    pub name: String,
    /// The question.
    pub question: String,
    /// Identity of the run.
    pub run_id: String,
    /// Version of the tool that ran it.
    pub tool_version: String,
    /// Root of all seeds, as text: it may not fit a JSON number.
    pub seed: String,
    /// Differences inside this share count as equal.
    pub margin: f64,
    /// Chance of any false verdict in the study, at most.
    pub alpha: f64,
    /// Comparisons it is shared among.
    pub comparisons: u32,
    /// How I/O was issued.
    pub io_method: String,
    /// How the stacks of a block took turns: "whole runs", or "abba, in stints of 1s"; `null` in files that do not say.
    pub schedule: Option<String>,
    #[serde(skip)]
    pub(crate) in_stints: bool,
    /// Why so, in words.
    pub schedule_why: Option<String>,
    /// How many times slower than their devices the models of the LUNs ran; `null` where no model with times took part.
    pub slow_motion: Option<u32>,
    /// Identity of published figures.
    pub published: Option<String>,
    /// True when a stack is a model: then nothing here was measured on a device.
    pub modelled: bool,
    /// Blocks fixed beforehand, for the first run and for each extension.
    pub blocks_planned: u32,
    /// How often the study was extended after its end (`assay run --extend`).
    pub extensions: u32,
    /// The part of `alpha` that the first run leaves to extensions.
    pub alpha_reserved: f64,
    /// Blocks begun.
    pub blocks_begun: u32,
    /// Blocks that count in the verdict.
    pub blocks_valid: u32,
    /// When the run began, nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// Why it ended; `null` while it runs and after a kill.
    pub ended: Option<String>,
    /// Phases finished in trials that did not end; they are in the file and in no figure.
    pub phases_uncounted: u32,
}

/// One stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StackHead {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// Layers from the top down.
    pub layers: String,
    #[serde(skip)]
    pub(crate) on_model: bool,
    /// Stacks are ranked inside a group only.
    pub group: String,
    /// "direct" or "buffered".
    pub access: String,
    /// The stack it is compared with; `null` for a base and for stacks that took no part.
    pub base: Option<String>,
    /// A planted disadvantage.
    pub injected: Option<String>,
    /// Why it was not built.
    pub skipped_reason: Option<String>,
    /// What to do so that it can be.
    pub skipped_cure: Option<String>,
}

/// Something that is not the same on all stacks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// What.
    pub fact: String,
    /// Its value on each stack, in the order of the stacks.
    pub values: Vec<FactOfStack>,
}

/// A fact of one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactOfStack {
    /// The stack.
    pub stack: String,
    /// The value; `null` where it was not recorded.
    pub value: Option<String>,
}

/// A look at the data.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LookTaken {
    /// From 1.
    pub number: u32,
    /// Valid blocks at it.
    pub n: u32,
    /// Blocks run by then, dropped ones included.
    pub blocks_run: u32,
    /// Error each comparison spent at it.
    pub alpha: f64,
    /// What it said by itself, in the order of the comparisons and then of the contrasts. `null` for those whose look
    /// it was not: each phase has its own looks if blocks were dropped in some phases only.
    pub verdicts: Vec<Option<Verdict>>,
    #[serde(skip)]
    pub(crate) estimates: Vec<Option<Estimate>>,
}

/// Whether to run another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoOn {
    /// Yes: the next look is at this many valid blocks.
    Continue(u32),
    /// No.
    Stop(StopReason),
}

/// Why no other block would be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every comparison has a verdict.
    AllDecided,
    /// All planned blocks were run.
    BlocksUsed,
    /// As many blocks were dropped as were planned.
    TooManyDropped,
    /// There is nothing that may be compared.
    NothingToCompare,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StopReason::AllDecided => "every comparison has a verdict",
            StopReason::BlocksUsed => "all planned blocks were run",
            StopReason::TooManyDropped => "too many blocks had to be dropped",
            StopReason::NothingToCompare => "there is nothing that may be compared",
        })
    }
}

impl From<stats::GoOn> for GoOn {
    fn from(go_on: stats::GoOn) -> Self {
        match go_on {
            stats::GoOn::Continue { next_look } => GoOn::Continue(next_look),
            stats::GoOn::Stop(reason) => GoOn::Stop(match reason {
                stats::Reason::AllDecided => StopReason::AllDecided,
                stats::Reason::BlocksUsed => StopReason::BlocksUsed,
                stats::Reason::TooManyDropped => StopReason::TooManyDropped,
                stats::Reason::NothingToCompare => StopReason::NothingToCompare,
            }),
        }
    }
}

impl StudyHead {
    /// What was fixed beforehand, before any block.
    pub(crate) fn of(study: &ledger::Study, extensions: &[ledger::Extension]) -> StudyHead {
        StudyHead {
            schedule: None,
            slow_motion: None,
            in_stints: false,
            schedule_why: None,
            name: study.name.clone(),
            question: study.question.clone(),
            run_id: study.run_id.clone(),
            tool_version: study.tool_version.clone(),
            seed: study.seed.to_string(),
            margin: study.margin,
            alpha: study.alpha,
            comparisons: study.comparisons,
            io_method: study.io_method.clone(),
            published: study.published.clone(),
            modelled: study.modelled,
            blocks_planned: study.blocks_planned,
            extensions: extensions.len() as u32,
            alpha_reserved: study.alpha_reserved,
            blocks_begun: 0,
            blocks_valid: 0,
            created_unix_ns: study.created_unix_ns,
            ended: None,
            phases_uncounted: 0,
        }
    }

    /// Blocks planned with all extensions so far.
    pub fn blocks_in_all(&self) -> u32 {
        self.blocks_planned.saturating_mul(1 + self.extensions)
    }

    /// Whether an extension is left.
    pub fn may_be_extended(&self) -> bool {
        self.extensions < stats::EXTENSIONS_MAX && self.alpha_reserved > 0.0
    }

    /// How stacks that stood side by side took turns, in a sentence or two; `None` of whole runs.
    pub(crate) fn turns(&self) -> Option<String> {
        let schedule = self.schedule.as_ref().filter(|_| self.in_stints)?;
        Some(format!(
            "The stacks of a block ran side by side and took turns: {schedule}. A block still counts as one \
             repeat. What recovers at rest, such as a device's cache, recovered while the others worked."
        ))
    }

    /// Models that ran slower than their devices, in words; `None` where none did.
    pub(crate) fn slowed(&self) -> Option<String> {
        self.slow_motion.filter(|times| *times > 1).map(slow_motion)
    }
}

impl Analysis {
    /// Names of stacks that a comparison has, as itself or as its base.
    pub(crate) fn compared_stacks(&self) -> BTreeSet<&str> {
        let all = self.comparisons.iter();
        all.flat_map(|one| [one.stack.as_str(), one.base.as_str()]).collect()
    }

    /// What takes no part in the ranking: stacks, or stacks in a phase. A stack of another group that is compared
    /// inside its own takes part.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = &Unranked> {
        let compared = self.compared_stacks();
        let is_apart = move |one: &Unranked| one.phase.is_none() && compared.contains(one.stack.as_str());
        self.unranked.iter().filter(move |one| !is_apart(one))
    }

    /// Stacks that are compared inside a group of their own.
    pub(crate) fn ranked_apart(&self) -> impl Iterator<Item = &Unranked> {
        let compared = self.compared_stacks();
        (self.unranked.iter()).filter(move |one| one.phase.is_none() && compared.contains(one.stack.as_str()))
    }

    /// Of a study of which nothing was recorded.
    pub(crate) fn empty(study: StudyHead) -> Analysis {
        Analysis {
            design: Design::new(study.blocks_planned, study.comparisons, study.margin),
            is_file_kept: true,
            study,
            hosts: Vec::new(),
            time_spent: None,
            stacks: Vec::new(),
            differences: Vec::new(),
            equal: Vec::new(),
            phases: Vec::new(),
            comparisons: Vec::new(),
            contrasts: Vec::new(),
            changes: Vec::new(),
            temporary: TemporarySpace::default(),
            not_tested: Vec::new(),
            same_work: Vec::new(),
            databases: Vec::new(),
            bulk_ratios: Vec::new(),
            layouts: Vec::new(),
            not_told_apart: Vec::new(),
            kept: Vec::new(),
            capacity: Vec::new(),
            modelled: Vec::new(),
            memory: Vec::new(),
            cost: None,
            imported: Vec::new(),
            published: None,
            unranked: Vec::new(),
            dropped: Vec::new(),
            looks: Vec::new(),
            go_on: GoOn::Stop(StopReason::NothingToCompare),
            own_blocks: None,
            pairs_alike: Vec::new(),
            checks: Vec::new(),
            promise: None,
            sentence: String::new(),
            recorded_looks: Vec::new(),
        }
    }

    /// Whether another block would be run.
    pub fn go_on(&self) -> GoOn {
        self.go_on
    }

    /// All looks that the file allows, as rows for [`Ledger::look`]: look by look, comparison by comparison.
    pub fn looks(&self) -> Vec<ledger::Look> {
        let rows = self.looks.iter().flat_map(|look| {
            let of_stacks = self
                .comparisons
                .iter()
                .map(|one| (&one.stack, one.base.clone(), &one.phase));
            let of_changes = self.contrasts.iter().map(|one| (&one.stack, one.base(), &one.phase));
            let said = of_stacks
                .chain(of_changes)
                .zip(look.verdicts.iter().zip(&look.estimates));
            said.filter_map(|((stack, base, phase), (verdict, estimate))| {
                let (verdict, estimate) = ((*verdict)?, (*estimate)?);
                Some(ledger::Look {
                    after_block: look.blocks_run,
                    stack: stack.clone(),
                    base,
                    phase: phase.clone(),
                    n: look.n,
                    ratio: estimate.ratio,
                    low: estimate.low,
                    high: estimate.high,
                    verdict: verdict.words().into(),
                    alpha: look.alpha,
                })
            })
        });
        rows.collect()
    }

    /// Those of [`looks`](Analysis::looks) that the file does not have yet: what a run records after each block.
    pub fn unrecorded_looks(&self) -> Vec<ledger::Look> {
        let old: BTreeSet<LookKey<'_>> = self.recorded_looks.iter().map(look_key).collect();
        let new = |row: &ledger::Look| !old.contains(&look_key(row));
        self.looks().into_iter().filter(new).collect()
    }
}

/// What makes two looks one: valid blocks, stack, base, phase.
pub(crate) type LookKey<'a> = (u32, &'a str, &'a str, &'a str);

pub(crate) fn look_key(look: &ledger::Look) -> LookKey<'_> {
    (look.n, &look.stack, &look.base, &look.phase)
}
