//! Room `report`: from a result file to words a person can decide on.
//!
//! Takes an open [`ledger::Ledger`] and nothing else; gives an [`Analysis`] (a pure derivation: the same file always gives
//! the same one) and its forms: [`terminal`], [`json`], [`markdown`], [`html`] (which looks at
//! the series in the file too). What they say is declared once, in `sections`, as a document; `render` puts it into forms. The run itself asks [`Analysis::go_on`] whether to
//! run another block, so that run and report cannot disagree. Nothing here prints.
//!
//! Prevents: a number without its unit and its doubt, a cached result ranked as a storage result, and a report that needs
//! the machine it was measured on.

// The fixture of the tests names this crate from outside.
#[cfg(test)]
extern crate self as report;

mod analysis;
mod basis;
mod bulk;
mod cells;
mod changes;
mod check;
mod contrast;
mod cuts;
mod databases;
mod derived;
mod differences;
mod document;
mod doubts;
mod figures;
mod format;
mod history;
mod imported;
mod inflation;
mod latency;
mod layouts;
mod load_curve;
mod machine_noise;
mod memory;
mod modelled;
mod moves;
mod order_words;
mod orders;
mod others;
mod over_time;
mod provenance;
pub mod published;
mod ran_out;
mod rank;
mod refusals;
mod render;
mod sections;
mod sentence;
pub mod sheet;
mod stalls;
mod text;
mod twins;

pub use analysis::{
    Analysis, Comparison, Difference, DroppedBlock, FactOfStack, GoOn, LookTaken, PhaseReport, ReportError, StackHead,
    StopReason, StudyHead, Unranked, Verdict,
};
pub use basis::{Basis, BlocksCompared, PhaseTaken, TrialTaken};
pub use bulk::{BulkFigures, BulkRatio, GrowthPoint, SpaceFigure};
pub use cells::{Cell, DeviceFigures, EngineFigures, Metric};
pub use changes::Change;
pub use check::{Check, Status};
pub use cuts::{KILL_IS_WEAKER, kill_words};
pub use databases::{DatabaseOfStack, DatabaseSetting};
pub use figures::Figure;
pub use imported::{ImportedFact, ImportedFigure, ImportedPhase, ImportedQuantity, ImportedSource, MeasuredBeside};
pub use inflation::{Inflated, Inflation};
pub use latency::Latency;
pub use layouts::{Layout, LayoutMoment, LayoutPicture};
pub use load_curve::{LoadCurve, SaturationPoint, StepFigures};
pub use machine_noise::{DESIGNS, DesignOnNoise, MachineNoise, TWIN_BLOCKS_MIN, duration, rate_json};
pub use memory::MemoryOfStack;
pub use modelled::ModelledDevices;
pub use moves::{CopyFigures, RebalanceFigures, SideFigures, Window};
pub use orders::{
    Conditions, CostPerNewOrder, OrderFigures, Percentiles, STORAGE_SHARE_MIN, TransactionFigures, WaitFigures,
};
pub use others::NotTested;
pub use provenance::{
    ASKED_BYTES_MIN, ASKED_SHARE_MIN, CACHE_SHARE_MAX, DEVICE_SHARE_MIN, Direction, Origin, Provenance,
};
pub use ran_out::RanOut;
pub use render::{SCHEMA_VERSION, Style, json, schema};
pub use text::{escaped, escaped_json, escaped_lines};
pub use twins::{Twins, TwinsError, twins};

/// The report for a terminal. Ends with the sentence to decide on and a newline.
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
