//! The keys of a database engine as written, in `[database]` or in the `database` of a stack.
//!
//! Takes a section; gives its keys. Prevents: two readers of the same keys.

use super::value::{At, Refusal, Written, type_of};
use crate::study::{EngineWord, Isolation, Journal, Preset, Synchronous, TableLoad};
use crate::units::Bytes;
use toml::Spanned;
use toml::de::DeValue;

use EngineWord::{Pages, Postgres, Sqlite};

/// Page caches of all connections of SQLite.
pub(crate) const SQLITE_CACHE: Bytes = Bytes::mib(64);
/// What PostgreSQL takes by itself.
pub(crate) const SHARED_BUFFERS: Bytes = Bytes::mib(128);

written! {
    /// Keys of an engine.
    struct WrittenEngine of EngineWord {
        /// `pages`, `sqlite`, `postgres`
        engine: EngineWord = (Pages, "on a `server`" => Postgres);
        /// page engine: 2, 4, 8, 16 or 32 KiB; SQLite: 512 bytes to 64 KiB; PostgreSQL's is 8 KiB
        page: Bytes = (Bytes::kib(8));
        /// page engine: buffer cache of the instance, below the budget, at least 128 pages; SQLite: page caches of all
        /// connections. With `workers = 1` they are one connection; with more, half is for the one that writes and the
        /// rest for those that read; PostgreSQL: `shared_buffers`
        cache: Bytes = (Bytes::mib(256), "sqlite:" => SQLITE_CACHE, "postgres:" => SHARED_BUFFERS,
            else "; at most half the memory budget, of postgres a quarter. With `preset = \"tuned\"` a quarter of it");
        /// major version, of those installed
        version: u64 | "newest" [Postgres] = (None, in 15..=99);
        /// `default`: the server's own settings; `tuned`: [those of docs/databases.md](databases.md#settings)
        preset: Preset [Postgres] = (Preset::Default);
        /// settings that win over all others, of the [allowed ones](#options-of-tools): `{ max_wal_size =
        /// "4GB" }`. Those of a stack win over those of `[database]`
        settings: Settings [Postgres] = "`{ }`";
        /// checksums on data pages
        checksums: bool [Postgres] = (false);
        /// or `repeatable read`, `serializable`. SQLite's transactions are serializable
        isolation: Isolation [Postgres] = (Isolation::ReadCommitted);
        /// user of the server when Assay is root; `"auto"`: `postgres`, else `nobody`
        run_as: String | "auto" [Postgres] = (None);
        /// `wal`, or `delete`: a rollback journal
        journal: Journal [Sqlite] = (Journal::Wal);
        /// `full`, `normal`, `extra`
        synchronous: Synchronous [Sqlite] = (Synchronous::Full);
        /// pages in the log after which a commit runs a checkpoint; 0: never
        wal_autocheckpoint: u64 [Sqlite] = (1000, in 0..=100_000_000);
        /// bytes of the log, from its beginning, that Assay's VFS keeps in memory (direct access, disk group): a
        /// checkpoint reads them there. They come on top of `cache`, within the memory budget. 0: none, and a
        /// checkpoint reads the device
        wal_memory: Bytes [Sqlite] = (Bytes::mib(16), in Bytes(0)..=Bytes::mib(1024));
        /// tables of decision support. `copy`: Assay loads them once a run, and copies the database into each stack;
        /// `insert`: it inserts the rows in each stack, as it always does on a `server`
        load: TableLoad [Sqlite, Postgres] = (TableLoad::Copy);
    }
}

/// Settings of a server by name, as the server takes them, each with its place.
#[derive(Clone, Default)]
pub(crate) struct Settings(pub(crate) Vec<(At<String>, At<String>)>);

impl Written for Settings {
    const WHAT: &'static str = "a table of settings";
    const EXAMPLE: &'static str = "{ max_wal_size = \"4GB\" }";
    fn read(_: &DeValue<'_>) -> Result<Self, Refusal> {
        Err(Refusal::Type)
    }
    fn placed(value: &Spanned<DeValue<'_>>) -> Result<Self, Refusal> {
        let table = value.get_ref().as_table().ok_or(Refusal::Type)?;
        let mut all = Vec::new();
        for (name, value) in table {
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.as_str().to_string(),
                DeValue::Float(number) => number.as_str().to_string(),
                DeValue::Boolean(on) => if *on { "on" } else { "off" }.to_string(),
                other => {
                    return Err(Refusal::Value {
                        what: format!("{} is {}", name.get_ref().escape_debug(), type_of(other)),
                        cure: "write each setting as a string or a number, as postgresql.conf has it".to_string(),
                    });
                }
            };
            let span = value.span();
            let said = At { value: text, span };
            let (value, span) = (name.get_ref().to_string(), name.span());
            all.push((At { value, span }, said));
        }
        all.sort_by_key(|(name, _)| name.span.start);
        Ok(Settings(all))
    }
}

/// Where else a key that habit suggests is written.
pub(crate) const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "shared_buffers",
        "it has another name here, the same for all engines",
        "write cache = \"256MiB\"",
    ),
    (
        "url",
        "a server that is there already is a stack of its own",
        "write it in a stack: kind = \"server\", url = \"postgres://USER@HOST/DATABASE\"",
    ),
];
