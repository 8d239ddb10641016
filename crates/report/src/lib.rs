//! Room `report`: from a result file to words a person can decide on.
//!
//! Takes an open [`ledger::Ledger`] and nothing else; gives an [`Analysis`] (a pure derivation: the same file always gives
//! the same one) and its forms: [`terminal`], [`json`], [`markdown`], [`html`] (which looks at
//! the series in the file too). The run itself asks [`Analysis::go_on`] whether to
//! run another block, so that run and report cannot disagree. Nothing here prints.
//!
//! Prevents: a number without its unit and its doubt, a cached result ranked as a storage result, and a report that needs
//! the machine it was measured on.

mod analysis;
mod bulk;
mod cells;
mod changes;
mod check;
mod contrast;
mod cuts;
mod databases;
mod derived;
mod differences;
mod doubts;
mod figures;
mod format;
mod history;
mod html;
mod imported;
mod inflation;
mod json;
mod latency;
mod layouts;
mod load_curve;
mod markdown;
mod memory;
mod modelled;
mod moves;
mod one_thing;
mod order_words;
mod orders;
mod others;
mod over_time;
mod page;
mod protocol_side;
mod protocols;
mod provenance;
pub mod published;
mod ran_out;
mod rank;
mod refusals;
mod sentence;
pub mod sheet;
mod spark;
mod stalls;
mod table;
mod terminal;
mod terminal_databases;
mod terminal_findings;
mod terminal_imported;
mod terminal_storage;
mod terminal_tables;
mod text;
mod twins;

pub use analysis::{
    Analysis, Comparison, Difference, DroppedBlock, FactOfStack, GoOn, LookTaken, PhaseReport, ReportError, StackHead,
    StopReason, StudyHead, Unranked, Verdict,
};
pub use bulk::{BulkFigures, BulkRatio, GrowthPoint, SpaceFigure};
pub use cells::{Cell, DeviceFigures, EngineFigures, Metric};
pub use changes::Change;
pub use check::{Check, Status};
pub use cuts::{KILL_IS_WEAKER, kill_words};
pub use databases::{DatabaseOfStack, DatabaseSetting};
pub use figures::Figure;
pub use html::html;
pub use imported::{ImportedFact, ImportedFigure, ImportedPhase, ImportedQuantity, ImportedSource, MeasuredBeside};
pub use inflation::{Inflated, Inflation};
pub use json::{SCHEMA_VERSION, json, schema};
pub use latency::Latency;
pub use layouts::{Layout, LayoutMoment, LayoutPicture};
pub use load_curve::{LoadCurve, SaturationPoint, StepFigures};
pub use markdown::markdown;
pub use memory::MemoryOfStack;
pub use modelled::ModelledDevices;
pub use moves::{CopyFigures, RebalanceFigures, SideFigures, Window};
pub use orders::{
    Conditions, CostPerNewOrder, OrderFigures, Percentiles, STORAGE_SHARE_MIN, TransactionFigures, WaitFigures,
};
pub use others::NotTested;
pub use protocols::{
    Agreement, FixedSays, HereSays, Protocol, Protocols, ProtocolsError, SideBySide, Took, Unlike, protocols,
};
pub use provenance::{
    ASKED_BYTES_MIN, ASKED_SHARE_MIN, CACHE_SHARE_MAX, DEVICE_SHARE_MIN, Direction, Origin, Provenance,
};
pub use ran_out::RanOut;
pub use terminal::{Style, terminal};
pub use text::{escaped, escaped_json, escaped_lines};
pub use twins::{Twins, TwinsError, slowed_twins, twins};
