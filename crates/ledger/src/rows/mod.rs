//! Row types of the result file: what a study asked, on what it ran, what it did and what was seen.
//!
//! Plain data of the ledger's own, shared by writers and readers. Times with `unix_ns` are nanoseconds since 1970-01-01
//! UTC; times of a phase (`at_ns`, `began_ns`) are nanoseconds since the phase began. Prevents: a reader that has to
//! know the study language of the day the file was written.

pub(crate) mod columns;
mod committed;
mod databases;
mod facts;
mod file_layout;
mod histogram;
mod host;
mod keys;
mod measure;
mod serving;
mod stack;

pub(crate) use committed::committed_words;
pub use databases::{
    AnswerRow, Arrival, AskedAt, BulkLoadRow, ConditionRow, Database, DatabaseEngine, DatabaseRow, DatabaseSetting,
    DecisionSupport, GrowthRow, Home, Isolation, LoadStep, OrderEntry, QuestionForm, RefreshRow, SpaceRow,
    StepHistogram, TransactionRow, WaitRow,
};
pub use facts::{FactName, FactType};
pub use file_layout::{BUCKETS, FileLayout, FileLayoutRow, NOWHERE, PLACES};
pub use histogram::{HistogramRow, Stamp};
pub use host::HostRow;
pub(crate) use keys::{Alone, DatabaseId, ImportId, InTrial, OfStep, OwnId};
pub use keys::{PhaseId, TrialId};
pub use measure::{Measure, Nature};
pub use serving::{FileArrival, FileServing, LimitOf, LoadPoint, PointMeasure, Protocol};
pub use stack::{Access, Group, Layer, Layers, ModelGroup, Modelled, Skipped, Stack};

use columns::{Columns, columns, decimal, no_meaning_at, optional};
use rusqlite::Row;
use rusqlite::types::ToSqlOutput;

/// The study: one a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Short name.
    pub name: String,
    /// The question in the user's words.
    pub question: String,
    /// The study file as read.
    pub text: String,
    /// Root of all seeds.
    pub seed: u64,
    /// Differences inside this share count as equal (0.05 is 5 %).
    pub margin: f64,
    /// Wall time the study may take.
    pub time_limit_ns: u64,
    /// Blocks fixed before the first one ran (N of the verdict's procedure).
    pub blocks_planned: u32,
    /// Comparisons the error rate is shared among: (stacks - 1) x ranked phases.
    pub comparisons: u32,
    /// Chance of any false verdict in the whole study (0.05), before it is divided by `comparisons`.
    pub alpha: f64,
    /// The part of `alpha` that the first run leaves to extensions (0.01).
    pub alpha_reserved: f64,
    /// "ring" or "pread".
    pub io_method: String,
    /// Identity of published figures to print beside, if any.
    pub published: Option<String>,
    /// Version of the tool that wrote the file.
    pub tool_version: String,
    /// Unique per run.
    pub run_id: String,
    /// When the file was made.
    pub created_unix_ns: u64,
    /// True when any stack is a model in virtual time: nothing here was measured on a device.
    pub modelled: bool,
}

/// Blocks that were added to a study after it had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// From 1.
    pub number: u32,
    /// Valid blocks it adds to those planned.
    pub blocks: u32,
    /// Blocks run by then, dropped ones included.
    pub after_block: u32,
    /// When it began.
    pub began_unix_ns: u64,
}

/// One resolved key of the study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Dotted key: `database.page`.
    pub key: String,
    /// As a study file would write it.
    pub value: String,
    /// True when the study said it, false for a default.
    pub written: bool,
}

/// How a trial ended, or that it has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialStatus {
    /// Under way, or the run was killed inside it (until [`crate::Ledger::resume`] says so).
    Running,
    /// All phases were run.
    Done,
    /// Stopped by an error.
    Failed(String),
    /// The run was stopped or killed inside it.
    Interrupted,
}

/// What is known of a trial before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTrial {
    /// 0-based block.
    pub block: u32,
    /// Place in the block's order, 0-based.
    pub position: u32,
    /// Name of the stack.
    pub stack: String,
    /// Seed of the block.
    pub seed: u64,
    /// Host name.
    pub host: String,
    /// Database instance ("1" while there is one).
    pub instance: String,
    /// LUN set of the data.
    pub lun_set: String,
    /// When it began.
    pub began_unix_ns: u64,
}

/// One trial: one stack, built, loaded, driven through all phases, in one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Identity.
    pub id: TrialId,
    /// 0-based block.
    pub block: u32,
    /// Place in the block's order, 0-based.
    pub position: u32,
    /// Name of the stack.
    pub stack: String,
    /// Seed of the block.
    pub seed: u64,
    /// Host name.
    pub host: String,
    /// Database instance.
    pub instance: String,
    /// LUN set of the data.
    pub lun_set: String,
    /// When it began.
    pub began_unix_ns: u64,
    /// When it ended.
    pub ended_unix_ns: Option<u64>,
    /// How it ended.
    pub status: TrialStatus,
}

committed_words! {
    /// Kind of a phase; it decides which metric is the primary one.
    PhaseKind {
        /// First write of the data.
        Load = "load",
        /// Random work, closed: the next operation when the last is done. Primary metric: rate.
        Random = "random",
        /// Random work on a schedule. Primary metric: p99 of response.
        Open = "open",
        /// Full table scans. Primary metric: bytes per second.
        Scan = "scan",
        /// Overwrite of every block once. Primary metric: elapsed time.
        Age = "age",
        /// Commits alone: records of the redo log that change no page. Primary metric: rate.
        Redo = "redo",
        /// Bulk load on a database; `elapsed_ns` is the sum of its loads'. Primary metric: elapsed time.
        Bulk = "bulk",
        /// Copy between stacks. Primary metric: elapsed time.
        Copy = "copy",
        /// Disks join and leave a disk group beside random work. Never ranked.
        Rebalance = "rebalance",
        /// Order entry on a database, closed. Primary metric: new orders committed per minute.
        Tpcc = "tpcc",
        /// Order entry on a schedule. Primary metric: p99 of response of new orders.
        TpccOpen = "tpcc open",
        /// Decision support, one user. Primary metric: geometric mean of the times of its questions.
        Tpch = "tpch",
        /// Decision support, several users at the same time. Primary metric: elapsed time.
        TpchTogether = "tpch together",
        /// Random work whose LUNs lose their power, again and again: what was acknowledged is looked up afterwards.
        PowerCut = "power_cut",
        /// The same on devices that keep their power: the engine is killed, and file systems that the study made are
        /// forced down.
        Kill = "kill",
        /// A ramp of loads on a tree of files. Primary metric: operations a second at the limit of response.
        Files = "files",
    }
}

/// Whether the numbers of a phase count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseStatus {
    /// They count.
    Valid,
    /// It ran, but its numbers do not stand for the stack; its whole block is dropped.
    Invalid(String),
    /// It stopped by an error.
    Failed(String),
}

/// One run of one phase, as it is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseRun {
    /// The trial it belongs to.
    pub trial: TrialId,
    /// Order in the trial, 0-based.
    pub ordinal: u32,
    /// Name in the study.
    pub name: String,
    /// Kind.
    pub kind: PhaseKind,
    /// Compared between stacks.
    pub ranked: bool,
    /// When it began.
    pub began_unix_ns: u64,
    /// Time of the work, without the drain.
    pub elapsed_ns: u64,
    /// Time of the checkpoint, the sync and the wait for idle devices after it. Charged to the phase.
    pub drain_ns: u64,
    /// Whether its numbers count.
    pub status: PhaseStatus,
}

/// A recorded phase with its identity.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Identity.
    pub id: PhaseId,
    /// As recorded.
    pub run: PhaseRun,
}

/// Work done in one slice of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// End of the slice.
    pub at_ns: u64,
    /// Operations that ended in it.
    pub count: u64,
    /// Their units.
    pub units: u64,
}

/// One value of an observer's time series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at_ns: u64,
    /// What: "memory.dirty_bytes".
    pub name: String,
    /// In the unit its name ends with.
    pub value: f64,
}

committed_words! {
    /// How grave an event is.
    Severity {
        /// To know.
        Info = "info",
        /// To look at.
        Warning = "warning",
        /// Something failed.
        Error = "error",
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at_unix_ns: u64,
    /// In which trial, if any.
    pub trial: Option<TrialId>,
    /// In which phase, if any; set by [`crate::Ledger::record_phase`] for the events it is given.
    pub phase: Option<PhaseId>,
    /// How grave.
    pub severity: Severity,
    /// In words.
    pub text: String,
}

/// One look at the data taken while the study ran, with what it said.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Blocks finished when it was taken.
    pub after_block: u32,
    /// The stack compared.
    pub stack: String,
    /// The base it was compared to.
    pub base: String,
    /// The phase.
    pub phase: String,
    /// Blocks that counted.
    pub n: u32,
    /// Ratio to the base, higher is better.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// "better", "worse", "equivalent" or "not enough data".
    pub verdict: String,
    /// Error probability spent by this look.
    pub alpha: f64,
}

/// One user's full table scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserScan {
    /// The schema scanned.
    pub schema: u32,
    /// Bytes of it.
    pub bytes: u64,
    /// Start, since the phase began.
    pub began_ns: u64,
    /// End, since the phase began.
    pub ended_ns: u64,
}

/// What one of several instances of the page engine did in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    /// Its number; 1 is the run's own process.
    pub instance: u32,
    /// Its sessions.
    pub sessions: u32,
    /// Operations that ended in the timed part of the phase.
    pub operations: u64,
    /// Their units.
    pub units: u64,
    /// When it began, since the first of them did.
    pub began_ns: u64,
    /// How long it worked.
    pub elapsed_ns: u64,
    /// 99th percentile of service of its operations.
    pub service_ns_p99: u64,
    /// Pages looked up in its buffer cache.
    pub logical_reads: u64,
    /// Pages of them that were there.
    pub cache_hits: u64,
    /// Transactions acknowledged as durable.
    pub commits: u64,
    /// Bytes it sent to its redo log.
    pub redo_bytes: u64,
    /// Processor time of its process.
    pub cpu_ns: u64,
    /// Memory of its process at its highest since it began.
    pub memory_bytes_peak: u64,
}

impl InstanceRow {
    /// Units a second of its own time.
    pub fn rate_per_s(&self) -> f64 {
        match self.elapsed_ns {
            0 => 0.0,
            ns => self.units as f64 * 1e9 / ns as f64,
        }
    }
}

/// How a file lies on what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtentSummary {
    /// The file, by its role ("data", "redo") or name.
    pub file: String,
    /// Runs of bytes that follow each other below.
    pub extents: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// A [`ExtentSummary`] as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtentRow {
    /// The trial.
    pub trial: TrialId,
    /// The phase after which it was taken, if one.
    pub phase: Option<PhaseId>,
    /// The summary.
    pub summary: ExtentSummary,
}

/// All that is recorded of one finished phase, in one transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseRecord {
    /// The run.
    pub run: PhaseRun,
    /// What was counted and measured. What was not observed is left out, never zero.
    pub measures: Vec<(Measure, f64)>,
    /// Distributions.
    pub histograms: Vec<HistogramRow>,
    /// Work over time.
    pub slices: Vec<Slice>,
    /// Observers over time.
    pub samples: Vec<Sample>,
    /// Scans by user.
    pub user_scans: Vec<UserScan>,
    /// What each instance did, where there are several.
    pub instances: Vec<InstanceRow>,
    /// Layout of files after the phase.
    pub extents: Vec<ExtentSummary>,
    /// How the data files lay after it, in full.
    pub layouts: Vec<FileLayout>,
    /// What happened in it.
    pub events: Vec<Event>,
    /// The database of this phase alone; that of a whole trial is recorded with the trial
    /// ([`crate::Ledger::database_of`]).
    pub database: Option<Database>,
    /// Order entry, in a phase of it.
    pub order_entry: Option<OrderEntry>,
    /// Decision support, in a phase of it.
    pub questions: Option<DecisionSupport>,
    /// Bulk loads, one per row count, in a phase of them.
    pub bulk_loads: Vec<BulkLoadRow>,
    /// File serving, in a phase of it.
    pub serving: Option<FileServing>,
}

impl PhaseRecord {
    /// A record with a run and nothing seen yet.
    pub fn new(run: PhaseRun) -> Self {
        PhaseRecord {
            run,
            measures: Vec::new(),
            histograms: Vec::new(),
            slices: Vec::new(),
            samples: Vec::new(),
            user_scans: Vec::new(),
            instances: Vec::new(),
            extents: Vec::new(),
            layouts: Vec::new(),
            events: Vec::new(),
            database: None,
            order_entry: None,
            questions: None,
            bulk_loads: Vec::new(),
            serving: None,
        }
    }
}

/// Row of a phase, by the phase: for readers that take a whole table at once.
#[derive(Clone, Debug, PartialEq)]
pub struct OfPhase<T> {
    /// The phase.
    pub phase: PhaseId,
    /// The row.
    pub row: T,
}

/// How and when the study ended; absent while it runs and after a kill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// When.
    pub at_unix_ns: u64,
    /// "all blocks", "decided", "time limit", "interrupted", or an error in words.
    pub reason: String,
}

columns!(Study: name, question, text, seed as decimal, margin, time_limit_ns, blocks_planned, comparisons, alpha,
    alpha_reserved, io_method, published, tool_version, run_id, created_unix_ns, modelled);
columns!(Extension: number, blocks, after_block, began_unix_ns);
columns!(Setting: key, value, written);
columns!(NewTrial: block, position, stack, seed as decimal, host, instance, lun_set, began_unix_ns);
columns!(Trial: id, block, position, stack, seed as decimal, host, instance, lun_set, began_unix_ns, ended_unix_ns
    + status: TrialStatus);
columns!(PhaseRun: trial, ordinal, name, kind, ranked, began_unix_ns, elapsed_ns, drain_ns + status: PhaseStatus);
columns!(Slice: at_ns, count, units);
columns!(Sample: at_ns, name, value);
columns!(Event: at_unix_ns, trial, phase, severity, text);
columns!(Look: after_block, stack, base, phase, n, ratio, low, high, verdict, alpha);
columns!(UserScan: schema, bytes, began_ns, ended_ns);
columns!(InstanceRow: instance, sessions, operations, units, began_ns, elapsed_ns, service_ns_p99, logical_reads,
    cache_hits, commits, redo_bytes, cpu_ns, memory_bytes_peak);
columns!(ExtentSummary: file, extents, bytes);

/// A status, and why where it is no good one.
macro_rules! status_columns {
    ($status:ident { $($plain:ident = $plain_word:literal,)* } because { $($bad:ident = $bad_word:literal,)* }) => {
        impl Columns for $status {
            fn names() -> Vec<&'static str> {
                vec!["status", "reason"]
            }

            fn values(&self) -> rusqlite::Result<Vec<ToSqlOutput<'_>>> {
                let (word, reason) = match self {
                    $($status::$plain => ($plain_word, None),)*
                    $($status::$bad(reason) => ($bad_word, Some(reason)),)*
                };
                Ok(vec![word.into(), optional(reason)])
            }

            fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
                let reason = || Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(first + 1)?.unwrap_or_default());
                Ok(match row.get::<_, String>(first)?.as_str() {
                    $($plain_word => $status::$plain,)*
                    $($bad_word => $status::$bad(reason()?),)*
                    other => return Err(no_meaning_at(first, other)),
                })
            }
        }
    };
}

status_columns!(TrialStatus { Running = "running", Done = "done", Interrupted = "interrupted", } because {
    Failed = "failed",
});
status_columns!(PhaseStatus { Valid = "valid", } because { Invalid = "invalid", Failed = "failed", });
