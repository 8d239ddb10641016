//! Which database works on a stack: plain data, every default said.
//!
//! Part of [`crate::Study`]. Prevents: a setting of one database that silently means nothing on another
//! (each engine has its own).

use super::files::Files;
use super::words::EngineWord;
use crate::shown::{Keys, quoted, table};
use crate::units::Bytes;
use crate::word::Word;

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
        /// How tables of decision support come onto a stack.
        pub load: TableLoad,
    }
}

/// Settings that shape tables while they are loaded, or what the planner knows of them.
const SHAPING: [&str; 4] = [
    "default_statistics_target",
    "default_toast_compression",
    "vacuum_freeze_min_age",
    "vacuum_freeze_table_age",
];

impl Postgres {
    /// Settings that shape tables while they are loaded.
    pub fn shaping(&self) -> impl Iterator<Item = &(String, String)> {
        self.settings
            .iter()
            .filter(|(name, _)| SHAPING.contains(&name.as_str()))
    }

    /// The kind of tables of decision support that are copied into a stack: stacks with the same kind share one load.
    /// `None`: each stack loads its own.
    pub fn tables(&self) -> Option<String> {
        let shaping: Vec<_> = self.shaping().collect();
        let kind = || {
            format!(
                "PostgreSQL {:?}, checksums {}, {shaping:?}",
                self.version, self.checksums
            )
        };
        (self.load == TableLoad::Copy).then(kind)
    }
}

/// As a table of strings.
fn settings(all: &[(String, String)]) -> String {
    table(all.iter().map(|(name, value)| (quoted(name), quoted(value))))
}

words! {
    /// Where a server's settings start from.
    pub enum Preset: "a set of settings" {
        /// The server's own.
        Default = "default",
        /// For order entry on solid-state storage.
        Tuned = "tuned",
    }
}

words! {
    /// How strictly a server keeps transactions apart.
    pub enum Isolation: "a level of isolation" {
        /// Each statement has a picture of its own; rows that are about to be changed are locked.
        ReadCommitted = "read committed",
        /// One picture for a transaction.
        RepeatableRead = "repeatable read",
        /// As if one ran after the other.
        Serializable = "serializable",
    }
}

settled! {
    /// SQLite's settings.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Sqlite {
        /// Bytes of a page.
        pub page: Bytes,
        /// Page caches of all connections together.
        pub cache: Bytes,
        /// How transactions become durable.
        pub journal: Journal,
        /// When it syncs.
        pub synchronous: Synchronous,
        /// Pages in the log after which a commit also runs a checkpoint.
        pub wal_autocheckpoint: u32,
        /// Bytes of the log, from its beginning, that Assay's VFS keeps in memory.
        pub wal_memory: Bytes,
        /// How tables of decision support come onto a stack.
        pub load: TableLoad,
    }
}

impl Sqlite {
    /// Bytes of its caches, and of the log if Assay's VFS has it.
    pub fn memory(&self, by_our_vfs: bool) -> Bytes {
        let log = if by_our_vfs { self.wal_memory.0 } else { 0 };
        Bytes(self.cache.0.saturating_add(log))
    }

    /// As [`Postgres::tables`].
    pub fn tables(&self) -> Option<String> {
        (self.load == TableLoad::Copy).then(|| format!("SQLite, pages of {}", self.page))
    }
}

words! {
    /// How SQLite's transactions become durable.
    pub enum Journal: "a journal of SQLite" {
        /// A write-ahead log.
        Wal = "wal",
        /// A rollback journal, deleted at each commit.
        Delete = "delete",
    }
}

words! {
    /// How tables of decision support come onto a stack.
    pub enum TableLoad: "a way to load tables" {
        /// Rows are inserted once a run, beside the stacks; their database is copied into each stack.
        Copy = "copy",
        /// Rows are inserted in each stack.
        Insert = "insert",
    }
}

words! {
    /// When SQLite syncs.
    pub enum Synchronous: "a degree of durability of SQLite" {
        /// At each commit.
        Full = "full",
        /// With a log only at checkpoints: the last commits may go with the power.
        Normal = "normal",
        /// At each commit, and the deletion of a rollback journal too.
        Extra = "extra",
    }
}

impl Engine {
    /// The word of a study file.
    pub fn word(&self) -> &'static str {
        match self {
            Engine::Pages => EngineWord::Pages.word(),
            Engine::Postgres(_) => EngineWord::Postgres.word(),
            Engine::Sqlite(_) => EngineWord::Sqlite.word(),
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

    /// Whether it is SQLite.
    pub fn is_sqlite(&self) -> bool {
        matches!(self, Engine::Sqlite(_))
    }

    /// How the files are reached, where they are served.
    pub fn files(&self) -> Option<&Files> {
        match self {
            Engine::Files(files) => Some(files),
            _ => None,
        }
    }
}
