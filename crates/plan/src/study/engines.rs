//! Which database works on a stack, and what it is asked to do there in SQL: plain data, every default said.
//!
//! Part of [`crate::Study`]. Prevents: a setting of one database that silently means nothing on another
//! (each engine has its own).

use super::files::Files;
use crate::shown::{Keys, Shown, quoted, rate_or_none, table};
use crate::units::{Bytes, Duration};

/// The database on a stack.
#[derive(Clone, Debug, PartialEq)]
pub enum Engine {
    /// The page engine; its parameters are those of [`crate::Database`], the same on all stacks.
    Pages,
    /// A PostgreSQL server.
    Postgres(Postgres),
    /// SQLite in process.
    Sqlite(Sqlite),
    /// No database: the files of the stack are served.
    Files(Files),
}

settled! {
    /// A PostgreSQL server and its sessions.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Postgres {
        /// Major version; `None`: the newest that is installed.
        pub version: Option<u32> | "newest",
        /// Where settings start from.
        pub preset: Preset,
        /// `shared_buffers`.
        pub cache: Bytes,
        /// Settings that win over all others, in the order of their names.
        pub settings: Vec<(String, String)> as |server| Some(settings(&server.settings)),
        /// Checksums on pages of data.
        pub checksums: bool,
        /// How strictly transactions are kept apart.
        pub isolation: Isolation,
        /// The user that the server runs as when Assay is root; `None`: `postgres`, else `nobody`.
        pub run_as: Option<String> | "auto",
    }
}

/// As a table of strings.
fn settings(all: &[(String, String)]) -> String {
    table(all.iter().map(|(name, value)| (quoted(name), quoted(value))))
}

/// Where a server's settings start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The server's own.
    Default,
    /// For order entry on solid-state storage.
    Tuned,
}

/// How strictly a server keeps transactions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement has a picture of its own; rows that are about to be changed are locked.
    ReadCommitted,
    /// One picture for a transaction.
    RepeatableRead,
    /// As if one ran after the other.
    Serializable,
}

settled! {
    /// SQLite's settings.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Sqlite {
        /// Bytes of a page.
        pub page: Bytes,
        /// Page caches of all connections together: half for the one that writes, the rest for those that read.
        pub cache: Bytes,
        /// How transactions become durable.
        pub journal: Journal,
        /// When it syncs.
        pub synchronous: Synchronous,
        /// Pages in the log after which a commit also runs a checkpoint.
        pub wal_autocheckpoint: u32,
        /// How tables of decision support come onto a stack.
        pub load: TableLoad,
    }
}

/// How SQLite's transactions become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log.
    Wal,
    /// A rollback journal, deleted at each commit.
    Delete,
}

/// How tables of decision support come onto a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLoad {
    /// Rows are inserted once a run, beside the stacks; their file is copied into each stack.
    Copy,
    /// Rows are inserted in each stack.
    Insert,
}

/// When SQLite syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// With a log only at checkpoints: the last commits may go with the power.
    Normal,
    /// At each commit.
    Full,
    /// At each commit, and the deletion of a rollback journal too.
    Extra,
}

settled! {
    /// Order entry, derived from the published description of TPC-C.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tpcc {
        /// Users at work at the same time; several: a load curve, each step as long as the phase says, in this order.
        pub users: Vec<u32>,
        /// Warehouses, the same in all phases: the company is loaded once a trial.
        pub warehouses: u32,
        /// Items and customers of each warehouse.
        pub company: Company,
        /// Where users work.
        pub home: Home,
        /// Users type and think as the description says; otherwise they never pause.
        pub think_time: bool,
        /// Open arrival: transactions a second of all users together; `None`: closed.
        pub rate: Option<f64> as |orders| rate_or_none(orders.rate),
    }
}

/// How much each warehouse has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// As described: 100,000 items, 30,000 customers.
    Full,
    /// A fiftieth of it, for tests of the tool.
    Reduced,
}

/// Which warehouse a user works at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// His own, as described.
    Fixed,
    /// Any, drawn anew for each transaction.
    Any,
}

settled! {
    /// Bulk loads of one table, each into an empty database.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Bulk {
        /// Rows of each load, in the order run.
        pub rows: Vec<u64>,
        /// Rows of a commit.
        pub commit_every: u64,
    }
}

settled! {
    /// Decision support, derived from the published description of TPC-H.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tpch {
        /// Scale factor, the same in all phases: the tables are loaded once a trial.
        pub scale: f64,
        /// Who asks what; its own keys stand beside it.
        pub run: TpchRun as |tpch| Some(quoted(tpch.run.word())),
        /// Numbers of the questions that are asked, 1 to 22, ascending.
        pub questions: Vec<u32> as |tpch| tpch.questions.shown().filter(|_| !tpch.asks_all()),
        /// How questions are written that can be written in two ways.
        pub text: TpchText,
        /// The most that one question may take; past it the phase ends.
        pub limit: Duration,
        /// Pairs of refresh functions after the questions.
        pub refresh: u32,
    }
}

/// Who asks the questions of decision support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TpchRun {
    /// One user asks all of them, one after the other.
    Power,
    /// So many users ask all of them at the same time, each in an order of his own.
    Streams(u32),
    /// Users ask some each, at the same time.
    Users {
        /// How many; several: a load curve, in this order.
        users: Vec<u32>,
        /// Questions of each.
        each: u32,
    },
}

impl TpchRun {
    /// As a study writes it.
    fn word(&self) -> &'static str {
        match self {
            TpchRun::Power => "power",
            TpchRun::Streams(_) | TpchRun::Users { .. } => "throughput",
        }
    }

    /// Its own keys with their values.
    pub(crate) fn keys(&self) -> Keys {
        let all = match self {
            TpchRun::Power => Vec::new(),
            TpchRun::Streams(streams) => vec![("streams", streams.shown())],
            TpchRun::Users { users, each } => vec![("users", users.shown()), ("each", each.shown())],
        };
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// How questions of decision support are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpchText {
    /// Large groups, joined.
    Grouped,
    /// A subquery for each row, as published.
    Nested,
}

impl Tpch {
    /// How many questions there are.
    pub const QUESTIONS: u32 = 22;

    /// Their numbers.
    pub fn all() -> Vec<u32> {
        (1..=Tpch::QUESTIONS).collect()
    }

    /// Whether each of them is asked.
    pub fn asks_all(&self) -> bool {
        self.questions.len() == Tpch::QUESTIONS as usize
    }

    /// The most users that are at work at the same time.
    pub fn users_most(&self) -> u32 {
        match &self.run {
            TpchRun::Power => 1,
            TpchRun::Streams(streams) => *streams,
            TpchRun::Users { users, .. } => users.iter().copied().max().unwrap_or(1),
        }
    }

    /// Whether it is a load curve.
    pub fn is_curve(&self) -> bool {
        matches!(&self.run, TpchRun::Users { users, .. } if users.len() > 1)
    }
}

impl Tpcc {
    /// The most users that are at work at the same time.
    pub fn users_most(&self) -> u32 {
        self.users.iter().copied().max().unwrap_or(1)
    }
}

impl Engine {
    /// The word of a study file.
    pub fn word(&self) -> &'static str {
        match self {
            Engine::Pages => "pages",
            Engine::Postgres(_) => "postgres",
            Engine::Sqlite(_) => "sqlite",
            Engine::Files(_) => "files",
        }
    }

    /// Its own keys with their values; those of the page engine are the same on all stacks.
    pub(crate) fn keys(&self) -> Keys {
        match self {
            // File serving has a section of its own.
            Engine::Pages | Engine::Files(_) => Keys::new(),
            Engine::Postgres(postgres) => postgres.keys(),
            Engine::Sqlite(sqlite) => sqlite.keys(),
        }
    }

    /// Whether it takes SQL.
    pub fn is_sql(&self) -> bool {
        matches!(self, Engine::Postgres(_) | Engine::Sqlite(_))
    }

    /// Whether it is the page engine.
    pub fn is_pages(&self) -> bool {
        matches!(self, Engine::Pages)
    }

    /// How the files are reached, where they are served.
    pub fn files(&self) -> Option<&Files> {
        match self {
            Engine::Files(files) => Some(files),
            _ => None,
        }
    }
}
