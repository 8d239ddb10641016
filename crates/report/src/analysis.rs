//! The analysis of a result file: everything a report says, before it is put into a form.
//!
//! Takes an open ledger, gives an [`Analysis`]; the same file gives the same analysis on any machine at any time. Its types
//! are what `--json` prints. Prevents: a run and a report that judge differently, and forms that compute on their own.

use crate::bulk::{BulkRatio, ratios};
use crate::cells::{Cell, Metric, cell};
use crate::changes::{Change, changes, of_stacks};
use crate::checks::{Check, checks};
use crate::databases::{DatabaseOfStack, databases};
use crate::differences::differences;
use crate::history::{Book, PhaseHead};
use crate::imported::{ImportedPhase, imported};
use crate::inflation::not_told;
use crate::layouts::{Layout, layouts};
use crate::memory::{MemoryOfStack, memory};
use crate::modelled::{ModelledDevices, modelled};
use crate::others::{NotTested, not_tested};
use crate::published::{Published, published};
use crate::ran_out::{RanOut, in_phase};
use crate::rank::{Pair, Ranking, base_of, rank, takes_part};
use crate::sentence::sentence;
use ledger::{FactName, FactValue, Ledger, LedgerError, Scope, TakingTurns};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Estimate, Judged};

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
    /// Phases against earlier ones on the same stack (aged against fresh), with verdicts of the same kind and of the same error.
    pub changes: Vec<Change>,
    /// Ratios of other quantities, with plain 95 % intervals: not tested, no verdict is drawn from them.
    pub not_tested: Vec<NotTested>,
    /// Real databases, by stack.
    pub databases: Vec<DatabaseOfStack>,
    /// Bulk loads against the base's, by row count, with plain 95 % intervals: not tested; the phase's verdict is on its whole time.
    pub bulk_ratios: Vec<BulkRatio>,
    /// How the data files lay after the load and after each phase that wrote.
    pub layouts: Vec<Layout>,
    /// Of the devices' I/O, what could not be told apart, in words.
    pub not_told_apart: Vec<String>,
    /// What modelled devices counted, beside the kernel's count.
    pub modelled: Vec<ModelledDevices>,
    /// Memory at its highest against the data.
    pub memory: Vec<MemoryOfStack>,
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
    /// What was checked before the numbers were believed.
    pub checks: Vec<Check>,
    /// One sentence that a person can decide on.
    pub sentence: String,
    #[serde(skip)]
    pub(crate) recorded_looks: Vec<ledger::Look>,
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
    /// Identity of published figures.
    pub published: Option<String>,
    /// True when a stack is a model: then nothing here was measured on a device.
    pub modelled: bool,
    /// Blocks fixed beforehand.
    pub blocks_planned: u32,
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

/// One phase on all stacks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseReport {
    /// Name.
    pub name: String,
    /// Kind: "random", "open", "scan", "load" ...
    pub kind: String,
    /// Compared between stacks.
    pub ranked: bool,
    /// The primary metric.
    pub metric: Metric,
    /// One cell a stack that has valid runs.
    pub cells: Vec<Cell>,
    /// Stacks that had no space left in it.
    pub ran_out_of_space: Vec<RanOut>,
}

/// The four things that can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better than the base.
    Better,
    /// Worse than the base.
    Worse,
    /// The difference lies inside the margin.
    Equivalent,
    /// None of these can be told.
    NotEnoughData,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Equivalent => "equivalent",
            Verdict::NotEnoughData => "not enough data",
        }
    }
}

impl From<stats::Verdict> for Verdict {
    fn from(verdict: stats::Verdict) -> Self {
        match verdict {
            stats::Verdict::Better => Verdict::Better,
            stats::Verdict::Worse => Verdict::Worse,
            stats::Verdict::Equivalent => Verdict::Equivalent,
            stats::Verdict::NotEnoughData => Verdict::NotEnoughData,
        }
    }
}

/// A stack against its base in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The stack.
    pub stack: String,
    /// The base.
    pub base: String,
    /// The phase.
    pub phase: String,
    /// The metric compared.
    pub metric: Metric,
    /// What may be said.
    pub verdict: Verdict,
    /// Ratio to the base, oriented so that above 1 is better; `null` before the first look.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Blocks in it.
    pub n: Option<u32>,
    /// Number of the look it is from, from 1.
    pub look: Option<u32>,
    /// Error spent at that look.
    pub alpha: f64,
    /// In words.
    pub words: String,
}

/// Measured, and not ranked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unranked {
    /// The stack.
    pub stack: String,
    /// The phase; `null` for all of them.
    pub phase: Option<String>,
    /// Why.
    pub reason: String,
}

/// A block whose ratios do not count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DroppedBlock {
    /// From 0.
    pub block: u32,
    /// Why.
    pub reason: String,
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
    /// What it said by itself, in the order of the comparisons and then of the changes.
    pub verdicts: Vec<Verdict>,
    #[serde(skip)]
    pub(crate) estimates: Vec<Estimate>,
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
    /// How stacks that stood side by side took turns, in a sentence or two; `None` of whole runs.
    pub(crate) fn turns(&self) -> Option<String> {
        let schedule = self.schedule.as_ref().filter(|_| self.in_stints)?;
        Some(format!(
            "The stacks of a block stood side by side and took turns: {schedule}. A block is one repeat all the same. What recovers at \
             rest, as a device's cache does, did so while the others worked."
        ))
    }
}

impl Analysis {
    /// Derives everything from the file.
    pub fn of(ledger: &Ledger) -> Result<Analysis, ReportError> {
        let book = Book::read(ledger)?;
        let ranking = rank(&book)?;
        let mut phases = Vec::new();
        for head in &book.phases {
            phases.push(phase_report(&book, head)?);
        }
        let (differences, equal) = differences(&book);
        let comparisons = comparisons(&book, &ranking);
        let changes = changes(&book, &ranking);
        let mut analysis = Analysis {
            imported: imported(&book, &phases),
            published: published(&book, (&comparisons, &changes), &ranking.dropped)?,
            study: study_head(&book, &ranking),
            stacks: stack_heads(&book),
            differences,
            equal,
            phases,
            comparisons,
            looks: looks(&ranking),
            go_on: ranking.decision.go_on.into(),
            not_tested: not_tested(&book, &of_stacks(&ranking.pairs), &ranking.dropped)?,
            changes,
            databases: databases(&book),
            bulk_ratios: ratios(&book, &ranking.dropped),
            layouts: layouts(&book),
            not_told_apart: Vec::new(),
            modelled: modelled(&book),
            memory: memory(&book),
            unranked: ranking.unranked,
            dropped: ranking.dropped,
            checks: Vec::new(),
            sentence: String::new(),
            recorded_looks: book.looks.clone(),
        };
        analysis.not_told_apart = not_told(&book, &analysis);
        analysis.checks = checks(&book, &analysis);
        analysis.sentence = sentence(&analysis);
        Ok(analysis)
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
            let of_phases = self.changes.iter().map(|one| (&one.stack, one.base(), &one.phase));
            let said = of_stacks
                .chain(of_phases)
                .zip(look.verdicts.iter().zip(&look.estimates));
            said.map(|((stack, base, phase), (verdict, estimate))| ledger::Look {
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
        });
        rows.collect()
    }

    /// Those of [`looks`](Analysis::looks) that the file does not have yet: what a run records after each block.
    pub fn unrecorded_looks(&self) -> Vec<ledger::Look> {
        let new = |row: &ledger::Look| !self.recorded_looks.iter().any(|old| same_look(old, row));
        self.looks().into_iter().filter(new).collect()
    }
}

pub(crate) fn same_look(a: &ledger::Look, b: &ledger::Look) -> bool {
    (a.n, &a.stack, &a.base, &a.phase) == (b.n, &b.stack, &b.base, &b.phase)
}

fn study_head(book: &Book, ranking: &Ranking) -> StudyHead {
    let study = &book.study;
    let fact = |name: FactName| book.fact(&Scope::Study, name);
    let schedule = fact(FactName::Schedule);
    StudyHead {
        schedule: schedule.map(FactValue::to_string),
        in_stints: matches!(schedule, Some(FactValue::Turns(TakingTurns::Stints(_)))),
        schedule_why: fact(FactName::WhySchedule).map(FactValue::to_string),
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
        blocks_begun: book.blocks(),
        blocks_valid: ranking.decision.blocks_valid,
        created_unix_ns: study.created_unix_ns,
        ended: book.ended.clone(),
        phases_uncounted: book.uncounted,
    }
}

fn stack_heads(book: &Book) -> Vec<StackHead> {
    let head = |stack: &ledger::Stack| StackHead {
        name: stack.name.clone(),
        kind: stack.kind.clone(),
        layers: stack.layers.to_string(),
        on_model: stack.layers.model().is_some(),
        group: stack.group().to_string(),
        access: stack.access.as_str().into(),
        base: takes_part(book, stack)
            .ok()
            .and_then(|()| base_of(book, stack))
            .map(str::to_string),
        injected: stack.injected.clone(),
        skipped_reason: stack.skipped.as_ref().map(|skipped| skipped.reason.clone()),
        skipped_cure: stack.skipped.as_ref().map(|skipped| skipped.cure.clone()),
    };
    book.stacks.iter().map(head).collect()
}

fn phase_report(book: &Book, head: &PhaseHead) -> Result<PhaseReport, LedgerError> {
    let mut cells = Vec::new();
    for stack in &book.stacks {
        cells.extend(cell(book, &stack.name, head)?);
    }
    Ok(PhaseReport {
        name: head.name.clone(),
        kind: head.kind.as_str().into(),
        ranked: head.ranked,
        metric: Metric::of(head.kind),
        cells,
        ran_out_of_space: book
            .stacks
            .iter()
            .filter_map(|stack| in_phase(book, &stack.name, &head.name))
            .collect(),
    })
}

fn comparisons(book: &Book, ranking: &Ranking) -> Vec<Comparison> {
    let one = |(pair, judged): (&Pair, &Judged)| {
        let verdict = Verdict::from(judged.verdict);
        Comparison {
            stack: pair.stack.clone(),
            base: pair.base.clone(),
            phase: pair.phase.name.clone(),
            metric: Metric::of(pair.phase.kind),
            verdict,
            ratio: finite(judged.estimate.map(|e| e.ratio)),
            low: finite(judged.estimate.map(|e| e.low)),
            high: finite(judged.estimate.map(|e| e.high)),
            n: judged.estimate.map(|e| e.n),
            look: judged.look,
            alpha: judged.alpha,
            words: words(judged, &pair.base, ranking, book.study.blocks_planned),
        }
    };
    ranking
        .pairs
        .iter()
        .zip(&ranking.decision.comparisons)
        .filter(|(pair, _)| pair.before.is_none())
        .map(one)
        .collect()
}

/// What may be said of a ratio to `of`.
pub(crate) fn words(judged: &Judged, of: &str, ranking: &Ranking, planned: u32) -> String {
    match judged.estimate {
        Some(e) => format!(
            "{}: {} ({} to {}) of {of}, after {} blocks",
            Verdict::from(judged.verdict).words(),
            crate::format::ratio(e.ratio),
            crate::format::ratio(e.low),
            crate::format::ratio(e.high),
            e.n
        ),
        None if ranking.decision.looks.is_empty() => format!(
            "not enough data: no look is due yet, {} of {planned} blocks count so far",
            ranking.decision.blocks_valid
        ),
        None => "not enough data".into(),
    }
}

/// An interval of two blocks at a tiny alpha can end beyond what a number holds; JSON has no word for that.
pub(crate) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn looks(ranking: &Ranking) -> Vec<LookTaken> {
    let one = |look: &stats::Look| LookTaken {
        number: look.rule.number,
        n: look.rule.n,
        blocks_run: look.blocks_run,
        alpha: look.rule.alpha,
        verdicts: look.results.iter().map(|(verdict, _)| (*verdict).into()).collect(),
        estimates: look.results.iter().map(|(_, estimate)| *estimate).collect(),
    };
    ranking.decision.looks.iter().map(one).collect()
}
