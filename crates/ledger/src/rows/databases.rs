//! Row types of what a real database did: which one it was and how it was set, order entry, load curves, bulk load.
//!
//! Plain data, shared by writers and readers; they stand beside the rows of [`crate::rows`], which a phase of a
//! database has too: its latencies are in [`HistogramRow`](crate::HistogramRow) (a class per kind of transaction, its
//! `units` those committed), its scalars in measures. Prevents: a figure of a database without the settings it was
//! taken under, a rate in which orders that were rolled back count, and conditions that were never asked passing for
//! conditions that hold.

use super::committed::committed_words;
use super::histogram::Stamp;
use super::keys::{PhaseId, TrialId};

committed_words! {
    /// Which database.
    DatabaseEngine {
        /// PostgreSQL.
        Postgres = "postgres",
        /// SQLite.
        Sqlite = "sqlite",
    }
}

committed_words! {
    /// How transactions are kept apart.
    Isolation {
        /// Each statement sees what was committed before it.
        ReadCommitted = "read committed",
        /// Each transaction sees what was committed before it.
        RepeatableRead = "repeatable read",
        /// As if one ran after the other.
        Serializable = "serializable",
    }
}

committed_words! {
    /// When a user's next transaction is due.
    Arrival {
        /// When the last one has ended.
        Closed = "closed",
        /// On a schedule.
        Open = "open",
    }
}

committed_words! {
    /// Where users of order entry work.
    Home {
        /// Drawn anew for each transaction.
        Any = "any warehouse",
        /// Each has its own.
        Own = "own warehouse",
    }
}

committed_words! {
    /// Form of the questions of decision support.
    QuestionForm {
        /// Subqueries are grouped and joined.
        Grouped = "grouped",
        /// Subqueries stay where they are.
        Nested = "nested",
    }
}

/// One setting of a database as the database itself told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSetting {
    /// In the database's words: "shared_buffers", "synchronous".
    pub name: String,
    /// With its unit where it has one.
    pub value: String,
    /// Who set it, in the database's words or ours: "default", "configuration file", "study", "assay".
    pub source: String,
}

/// A database: which, how it reaches storage, how it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Which database.
    pub engine: DatabaseEngine,
    /// As it tells it: "15.18", "3.46.0".
    pub version: String,
    /// Its way to storage: "page cache", "direct file", "disk group".
    pub access: String,
    /// Started by the tool; false for a server that was there, of which only what it tells is seen.
    pub managed: bool,
    /// All settings, also those left at their defaults.
    pub settings: Vec<DatabaseSetting>,
}

/// A [`Database`] as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseRow {
    /// The trial.
    pub trial: TrialId,
    /// The phase that it served; `None`: the whole trial.
    pub phase: Option<PhaseId>,
    /// The database.
    pub database: Database,
}

/// Refusals and limit of one kind of transaction; its counts and latencies are in the histograms of the class of that
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRow {
    /// "new order", "payment", "order status", "delivery", "stock level".
    pub class: String,
    /// Tries that the database refused because they could not be serialised; each was made again with the same inputs.
    pub serialisation_failures: u64,
    /// Tries that the database refused to end a deadlock; each was made again with the same inputs.
    pub deadlocks: u64,
    /// The longest allowed 90th percentile of response.
    pub limit_ns: u64,
}

committed_words! {
    /// When a consistency condition was asked.
    AskedAt {
        /// Before the phase.
        Before = "before",
        /// After it.
        After = "after",
        /// After the database came back from a crash.
        AfterCrash = "after crash",
    }
}

/// One consistency condition, asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionRow {
    /// When.
    pub moment: AskedAt,
    /// Its number in the published description, 1 to 12.
    pub condition: u32,
    /// What it asks, in words.
    pub says: String,
    /// Rows that break it; 0: it holds.
    pub found: u64,
}

/// Waits that are part of the service: for a lock, for the one writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// For what: "write lock".
    pub what: String,
    /// HdrHistogram V2 with deflate, values in nanoseconds; 1 stands for no wait.
    pub blob: Vec<u8>,
    /// Waits, those of no time among them.
    pub count: u64,
    /// Their exact sum.
    pub total_ns: u64,
}

/// The distribution of one class of operation in one step of a load curve, or in one load of a bulk phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepHistogram {
    /// Class of operation, as in the phase's histograms.
    pub class: String,
    /// Which stamps.
    pub stamp: Stamp,
    /// HdrHistogram V2 with deflate, values in nanoseconds.
    pub blob: Vec<u8>,
    /// Operations that ended in the step.
    pub count: u64,
    /// The class's own unit: transactions committed, rows.
    pub units: u64,
}

/// One step of a load curve: some users, for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadStep {
    /// Users.
    pub users: u32,
    /// Its first counted moment, since the phase began.
    pub began_ns: u64,
    /// Its last, since the phase began.
    pub ended_ns: u64,
    /// Distributions by class and stamp; the phase's own hold all steps together.
    pub histograms: Vec<StepHistogram>,
}

/// Order entry in one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderEntry {
    /// Users; of a load curve the most.
    pub users: u32,
    /// Warehouses.
    pub warehouses: u32,
    /// Items, 100,000 unless the company is of reduced size.
    pub items: u32,
    /// Customers of a district, 3,000 unless the company is of reduced size.
    pub customers: u32,
    /// How transactions are kept apart.
    pub isolation: Isolation,
    /// When the next one is due.
    pub arrival: Arrival,
    /// Users type and think as the published description says; false: batch mode.
    pub pauses: bool,
    /// Where users work.
    pub home: Home,
    /// Who told measure `database.storage_ns`, in words; `None`: nobody.
    pub storage_told_by: Option<String>,
    /// By kind of transaction.
    pub transactions: Vec<TransactionRow>,
    /// Conditions asked, those that hold too.
    pub conditions: Vec<ConditionRow>,
    /// Waits for locks.
    pub waits: Vec<WaitRow>,
    /// Steps of a load curve in the order run; empty for a phase with one number of users.
    pub steps: Vec<LoadStep>,
}

/// One answer of decision support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRow {
    /// Who asked, from 0.
    pub user: u32,
    /// Which of the 22 questions.
    pub question: u32,
    /// Which of its sets of parameters, from 0: the same in all phases, blocks and stacks of a study.
    pub variant: u32,
    /// Users at work meanwhile: of a load curve those of the step.
    pub users: u32,
    /// When it was asked, since the phase began.
    pub began_ns: u64,
    /// From there to the last row.
    pub elapsed_ns: u64,
    /// Rows of the answer.
    pub rows: u64,
    /// What it says, in 16 bytes, as hexadecimal digits.
    pub digest: String,
    /// Bytes of temporary files that it took, where nobody else was at work and the database tells: written, or sizes
    /// of the files when they were deleted, as the measure of the phase has them.
    pub temp_bytes: Option<u64>,
}

/// A pair of refresh functions of decision support: new orders came, and went again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshRow {
    /// Orders that came and went, each in a transaction of its own.
    pub orders: u64,
    /// Their lines.
    pub lines: u64,
    /// Until the last order had come.
    pub insert_ns: u64,
    /// From there until the last had gone.
    pub delete_ns: u64,
}

/// Decision support in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionSupport {
    /// Scale factor.
    pub scale: f64,
    /// Users; of a load curve the most.
    pub users: u32,
    /// Their form.
    pub text: QuestionForm,
    /// The most that one question may take.
    pub limit_ns: u64,
    /// The question that ran past it and ended the phase.
    pub past_limit: Option<u32>,
    /// Every answer, in the order of users.
    pub answers: Vec<AnswerRow>,
    /// Pairs of refresh functions after them, in the order run.
    pub refreshes: Vec<RefreshRow>,
}

/// Bytes of one thing in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceRow {
    /// "table", "index" or "other".
    pub kind: String,
    /// Its name: "bulk", "bulk_pk"; for "other" what it is, in words.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// A look at the files of a database found them of this size, and not of the size that the look before had found. They
/// are looked at after every commit, but no more than a thousand times a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowthRow {
    /// Rows committed.
    pub rows: u64,
    /// Since the load began.
    pub at_ns: u64,
    /// Bytes of all files, logs among them.
    pub bytes: u64,
}

/// One row count of a bulk phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkLoadRow {
    /// Rows loaded.
    pub rows: u64,
    /// From the first insert until everything was home.
    pub elapsed_ns: u64,
    /// Of it, bringing everything home after the last commit.
    pub settle_ns: u64,
    /// Space taken at the end, by table and by index.
    pub space: Vec<SpaceRow>,
    /// Growth of the files in its steps, the end among them.
    pub growth: Vec<GrowthRow>,
    /// Latency of the commits.
    pub histograms: Vec<StepHistogram>,
}
