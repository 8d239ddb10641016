//! The keys of a database engine as written, in `[database]` or in the `database` of a stack.
//!
//! Takes a section; gives its keys. Prevents: two readers of the same keys.

use super::section::Section;
use super::value::{At, EngineWord, Refusal, Written, type_of};
use crate::engines::{Isolation, Journal, Preset, Synchronous};
use crate::error::Findings;
use crate::units::Bytes;
use toml::Spanned;
use toml::de::DeValue;

/// Keys of an engine.
#[derive(Clone, Default)]
pub(crate) struct WrittenEngine {
    pub(crate) engine: Option<At<EngineWord>>,
    pub(crate) page: Option<At<Bytes>>,
    pub(crate) cache: Option<At<Bytes>>,
    pub(crate) version: Option<At<Option<u64>>>,
    pub(crate) preset: Option<At<Preset>>,
    pub(crate) settings: Option<At<Settings>>,
    pub(crate) checksums: Option<At<bool>>,
    pub(crate) isolation: Option<At<Isolation>>,
    pub(crate) run_as: Option<At<Option<String>>>,
    pub(crate) journal: Option<At<Journal>>,
    pub(crate) synchronous: Option<At<Synchronous>>,
    pub(crate) wal_autocheckpoint: Option<At<u64>>,
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

/// Keys that are the server's alone.
pub(crate) const OF_POSTGRES: &[&str] = &["version", "preset", "settings", "checksums", "isolation", "run_as"];
/// Keys that are SQLite's alone.
pub(crate) const OF_SQLITE: &[&str] = &["journal", "synchronous", "wal_autocheckpoint"];
/// Keys of the page engine alone; they stand in `[database]`.
pub(crate) const OF_PAGES: &[&str] = &[
    "multiblock_read",
    "schemas",
    "redo_size",
    "compressibility",
    "duplication",
    "torn_pages",
    "checkpoint",
    "writers",
];

pub(crate) fn read(s: &mut Section<'_>, findings: &mut Findings) -> WrittenEngine {
    WrittenEngine {
        engine: s.get("engine", findings),
        page: s.get("page", findings),
        cache: s.get("cache", findings),
        version: s.get_or("version", "newest", findings),
        preset: s.get("preset", findings),
        settings: s.get("settings", findings),
        checksums: s.get("checksums", findings),
        isolation: s.get("isolation", findings),
        run_as: s.get_or("run_as", "auto", findings),
        journal: s.get("journal", findings),
        synchronous: s.get("synchronous", findings),
        wal_autocheckpoint: s.get("wal_autocheckpoint", findings),
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
