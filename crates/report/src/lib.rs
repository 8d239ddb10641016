//! Room `report`: from a result file to words a person can decide on.
//!
//! Takes an open [`ledger::Ledger`] and nothing else; gives an [`Analysis`] (a pure derivation: the same file always
//! gives the same one) and its forms: [`brief`], [`terminal`], [`json`], [`markdown`], [`html`] (which looks at the
//! series in the file too). What they say is declared once, in `sections`, as a document; `render` puts it into forms.
//! The run itself asks [`Analysis::go_on`] whether to run another block, so that run and report cannot disagree.
//! Nothing here prints.
//!
//! Prevents: a number without its unit and its doubt, a cached result ranked as a storage result, and a report that
//! needs the machine it was measured on.

// The fixture of the tests names this crate from outside.
#[cfg(test)]
extern crate self as report;
#[cfg(test)]
#[path = "../tests/fixture/mod.rs"]
mod fixture;

mod analysis;
mod by_trial;
mod cells;
mod check;
mod compare;
mod derived;
mod disclosed;
mod distribution;
mod document;
mod figures;
mod format;
mod grouped;
#[cfg(test)]
mod grows;
mod history;
mod hosts;
mod imported;
mod leading;
mod limits;
mod looked;
mod now;
mod phase_kind;
pub mod published;
mod ranking;
mod render;
mod sections;
pub mod sheet;
mod simulated;
mod sizing;
mod spent;
mod stacks;
mod text;
mod words;

pub use analysis::{Analysis, Difference, FactOfStack, GoOn, LookTaken, ReportError, StackHead, StopReason, StudyHead};
pub use cells::bulk::{BulkFigures, GrowthPoint, SpaceFigure};
pub use cells::inflation::{BytesOfSet, Inflated, Inflation};
pub use cells::instances::InstanceFigures;
pub use cells::invalid::InvalidRuns;
pub use cells::kept::Kept;
pub use cells::latency::Latency;
pub use cells::load_curve::{LoadCurve, SaturationPoint, StepFigures};
pub use cells::metric::Metric;
pub use cells::moves::{CopyFigures, RebalanceFigures, SideFigures, Window};
pub use cells::orders::{
    Conditions, CostPerNewOrder, OrderFigures, Percentiles, STORAGE_SHARE_MIN, TransactionFigures, WaitFigures,
};
pub use cells::provenance::{
    ASKED_BYTES_MIN, ASKED_SHARE_MIN, CACHE_SHARE_MAX, DEVICE_SHARE_MIN, Direction, Origin, Provenance, TemporaryFiles,
};
pub use cells::questions::{QuestionFigures, QuestionsFigures, UsersFigures};
pub use cells::ran_out::RanOut;
pub use cells::{Cell, DeviceFigures, EngineFigures, PhaseReport};
pub use check::{Check, Status};
pub use compare::{
    About, CompareError, EqualFacts, FileDifference, FileHead, FileTaken, FilesCompared, LeftOut, OwnRatio,
    PhaseOfFiles, RatioChange, RatioOfFiles, StackOfFiles, StatesOfOneRun, compare_brief, compare_html, compare_json,
    compare_markdown, compare_schema, compare_terminal,
};
pub use figures::Figure;
pub use format::rounded;
pub use hosts::HostOfStudy;
pub use imported::{ImportedFact, ImportedFigure, ImportedPhase, ImportedQuantity, ImportedSource, MeasuredBeside};
pub use leading::Leading;
pub use now::{Moment, Now};
pub use ranking::basis::{Basis, BlocksCompared, PhaseTaken, TrialTaken};
pub use ranking::changes::Change;
pub use ranking::machine_noise::{DESIGNS, DesignOnNoise, MachineNoise, TWIN_BLOCKS_MIN, duration, rate_json};
pub use ranking::not_tested::{BulkRatio, NotTested};
pub use ranking::pairs::Unranked;
pub use ranking::rank::DroppedBlock;
pub use ranking::same_work::SameWork;
pub use ranking::temporary::{
    BLOCKS_MIN as TEMPORARY_BLOCKS_MIN, Explains, TempApart, TempExplained, TempRatio, TemporarySpace,
};
pub use ranking::twins::{Twins, TwinsError, twins};
pub use ranking::verdicts::{Comparison, Contrast, Verdict};
pub use render::{Edition, LivePage, SCHEMA_VERSION, Style, json, live_policy, schema};
pub use simulated::Simulated;
pub use sizing::{Amount, Load, SizedStack, Sizing};
pub use spent::timeline::TimePart;
pub use spent::{TimeOfPart, TimeSpent};
pub use stacks::capacity::Capacity;
pub use stacks::cost::{Cost, CostOfRate, CostOfStack};
pub use stacks::databases::{DatabaseOfStack, DatabaseSetting};
pub use stacks::layouts::{Layout, LayoutMoment, LayoutPicture};
pub use stacks::memory::MemoryOfStack;
pub use stacks::modelled::ModelledDevices;
pub use text::{escaped, escaped_json, escaped_lines};
pub use words::claims::Claim;
pub use words::cuts::{ACKNOWLEDGED, ACKNOWLEDGED_BY_A_FILE_SERVER, KILL_IS_WEAKER, kill_words};
pub use words::slow_motion::slow_motion;

/// The answer for a terminal, on one screen: a few sentences to decide on, the verdicts, what speaks against them, and
/// where the rest is. `kept` is the result file, where it stays. A file of nothing but imports is shown whole.
pub fn brief(analysis: &Analysis, style: &Style, kept: Option<&str>) -> String {
    if analysis.study.blocks_planned == 0 {
        return terminal(analysis, style);
    }
    render::brief(&sections::brief(analysis, kept), style)
}

/// The whole report for a terminal, the answer first. Ends with a newline.
pub fn terminal(analysis: &Analysis, style: &Style) -> String {
    render::terminal(&sections::document(analysis, None), style)
}

/// The report as short Markdown.
pub fn markdown(analysis: &Analysis) -> String {
    render::markdown(&sections::document(analysis, None))
}

/// The report as one HTML file.
pub fn html(ledger: &ledger::Ledger, analysis: &Analysis) -> Result<String, ReportError> {
    let file = sections::FromFile::read(ledger, analysis)?;
    Ok(render::html(&sections::document(analysis, Some(&file))))
}

/// The report as a live page: the same, with how far the study is above it, and a script that asks for more. It
/// has the same [`Edition`] as [`live_now`] when their figures are the same.
///
/// # Errors
/// [`ReportError`], as [`html`].
pub fn live_page(
    ledger: &ledger::Ledger,
    analysis: &Analysis,
    (now, moment): (&Now, Moment),
    edition: Edition<'_>,
) -> Result<LivePage, ReportError> {
    let file = sections::FromFile::read(ledger, analysis)?;
    let document = sections::live(analysis, &file);
    Ok(render::live_page(&document, &sections::live_head(now, moment), edition))
}

/// How far the study is, as the part of a live page that shows it; what that page asks for again and again.
pub fn live_now(now: &Now, moment: Moment, edition: Edition<'_>) -> String {
    render::live_now(&sections::live_head(now, moment), edition)
}

/// A page in the place of a live one that cannot be made: it says why.
pub fn live_trouble(words: &str) -> String {
    render::live_trouble(words)
}
