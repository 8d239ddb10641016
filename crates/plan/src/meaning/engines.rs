//! The engine of each stack: what `[database]` says, where the stack's own `database` says nothing else.
//!
//! Takes a stack as written and the study's `[database]`; gives [`Engine`]. Prevents: a default that does not fit
//! the memory the stack has.

use super::settle::{MIB, Settle};
use crate::plain;
use crate::study::{Engine, Postgres, Preset, Sqlite};
use crate::units::Bytes;
use crate::written::{
    EngineWord, SHARED_BUFFERS, SQLITE_CACHE, Said, StackWord, WrittenEngine, WrittenStack, WrittenStudy,
};

/// The smallest that is of use to a server.
const SHARED_BUFFERS_MIN: u64 = MIB;
/// Pages that SQLite has.
const SQLITE_PAGES: std::ops::RangeInclusive<u64> = 512..=65_536;

/// The key of the stack, else that of the study.
struct Keys<'w> {
    own: &'w WrittenEngine,
    all: &'w WrittenEngine,
}

impl<'w> Keys<'w> {
    fn pick<T, V>(&self, key: fn(&'w WrittenEngine) -> Said<'w, T, V>) -> Said<'w, T, V> {
        let own = key(self.own);
        if own.written.is_some() { own } else { key(self.all) }
    }

    fn value<T, V: Clone>(&self, key: fn(&'w WrittenEngine) -> Said<'w, T, V>) -> V {
        self.pick(key).value()
    }
}

pub(super) fn of(
    stack: &WrittenStack,
    written: &WrittenStudy,
    budget: Option<Bytes>,
    settle: &mut Settle<'_>,
) -> Engine {
    let keys = Keys {
        own: &stack.database,
        all: &written.database.engine,
    };
    let server = stack.kind.as_ref().is_some_and(|kind| kind.value == StackWord::Server);
    if written.files.span.is_some() {
        return Engine::Files(super::files::of_stack(stack, &written.files, settle));
    }
    let key = keys.pick(WrittenEngine::engine);
    let usual = if server { EngineWord::Postgres } else { key.usual };
    match key.or(usual).value() {
        EngineWord::Pages => Engine::Pages,
        EngineWord::Postgres => Engine::Postgres(postgres(&keys, budget, settle)),
        EngineWord::Sqlite => Engine::Sqlite(sqlite(&keys, budget, settle)),
    }
}

fn postgres(keys: &Keys<'_>, budget: Option<Bytes>, settle: &mut Settle<'_>) -> Postgres {
    let preset = keys.value(WrittenEngine::preset);
    let quarter = budget.map(|budget| budget.0 / 4);
    let cache = keys.pick(WrittenEngine::cache).or(SHARED_BUFFERS);
    let asked = settle.scaled(cache.value().0);
    let bytes = match (cache.written, preset, quarter) {
        (Some(_), ..) => asked,
        (None, Preset::Tuned, Some(quarter)) => quarter,
        (None, _, quarter) => quarter.unwrap_or(cache.usual.0).min(asked),
    };
    if let Some(at) = cache.written.filter(|_| bytes < SHARED_BUFFERS_MIN) {
        let message = format!("`cache` is {}, and a server needs 1MiB at least", at.value);
        settle
            .findings
            .add(&at.span, message, format!("write {}", cache.example()));
    }
    let version = version(&keys.pick(WrittenEngine::version), settle);
    let page = keys.pick(WrittenEngine::page);
    if let Some(at) = page.written.filter(|at| at.value.0 != 8192) {
        let cure = "remove it, or write page = \"8KiB\": PostgreSQL's block size is fixed when it is compiled";
        settle
            .findings
            .add(&at.span, format!("PostgreSQL has no pages of {}", at.value), cure);
    }
    Postgres {
        version,
        preset,
        cache: Bytes(bytes.max(SHARED_BUFFERS_MIN) / 8192 * 8192),
        settings: settings(keys, version, settle),
        checksums: keys.value(WrittenEngine::checksums),
        isolation: keys.value(WrittenEngine::isolation),
        run_as: run_as(keys, settle),
        load: keys.value(WrittenEngine::load),
    }
}

/// A version that reads and writes as we know it.
fn version(key: &Said<'_, u64, Option<u64>>, settle: &mut Settle<'_>) -> Option<u32> {
    let asked = key.value()?;
    if let Some(at) = key.written.filter(|_| !key.limits.hold(&asked)) {
        let cure = "write a major version from 15 on, or \"newest\": version = 17";
        settle
            .findings
            .add(&at.span, "this version of PostgreSQL is not supported", cure);
        return None;
    }
    u32::try_from(asked).ok()
}

/// Settings of the study, and over them those of the stack: of the table, typed, and written anew.
fn settings(keys: &Keys<'_>, version: Option<u32>, settle: &mut Settle<'_>) -> Vec<(String, String)> {
    let mut all = std::collections::BTreeMap::new();
    for at in [&keys.all.settings, &keys.own.settings].into_iter().flatten() {
        let mut said = std::collections::BTreeSet::new();
        for (name, value) in &at.value.0 {
            let Some((name_anew, value)) = crate::options::setting(name, value, version, settle.findings) else {
                continue;
            };
            if !said.insert(name_anew.clone()) {
                let message = format!("the setting `{name_anew}` is there twice");
                settle.findings.add(&name.span, message, "keep one of the two");
            }
            all.insert(name_anew, value);
        }
    }
    all.into_iter().collect()
}

/// The user that a server runs as; no other user's files are his.
fn run_as(keys: &Keys<'_>, settle: &mut Settle<'_>) -> Option<String> {
    let key = keys.pick(WrittenEngine::run_as);
    let (name, at) = (key.value()?, key.written?);
    let refused = match name.as_str() {
        "root" => Some("a server of PostgreSQL does not run as root"),
        name if !plain::is_user(name) => Some("`run_as` is no name of a user"),
        _ => None,
    };
    if let Some(message) = refused {
        let cure = "write run_as = \"postgres\", or leave it out";
        settle.findings.add(&at.span, message, cure);
    }
    Some(name)
}

fn sqlite(keys: &Keys<'_>, budget: Option<Bytes>, settle: &mut Settle<'_>) -> Sqlite {
    let page = keys.pick(WrittenEngine::page);
    let is_odd = |page: Bytes| !page.0.is_power_of_two() || !SQLITE_PAGES.contains(&page.0);
    if let Some(at) = page.written.filter(|at| is_odd(at.value)) {
        let message = format!("SQLite has no pages of {}", at.value);
        settle.findings.add(
            &at.span,
            message,
            "write a power of two from 512 bytes to 64KiB: page = \"8KiB\"",
        );
    }
    let cache = keys.pick(WrittenEngine::cache).or(SQLITE_CACHE);
    let asked = settle.scaled(cache.value().0);
    let bytes = match (cache.written, budget) {
        (None, Some(budget)) => asked.min(budget.0 / 2),
        _ => asked,
    };
    if let Some(at) = cache.written.filter(|_| bytes < MIB) {
        let message = format!("`cache` is {}, and SQLite's connections need 1MiB at least", at.value);
        settle
            .findings
            .add(&at.span, message, format!("write {}", cache.example()));
    }
    let wal_memory = keys.pick(WrittenEngine::wal_memory);
    if let Some(at) = wal_memory.outside() {
        let message = format!("`wal_memory` is {}", at.value);
        let cure = format!("write {}, or {}", wal_memory.example(), wal_memory.limits);
        settle.findings.add(&at.span, message, cure);
    }
    Sqlite {
        page: page.value(),
        cache: Bytes(bytes),
        journal: keys.value(WrittenEngine::journal),
        synchronous: keys.value(WrittenEngine::synchronous),
        wal_autocheckpoint: settle.count(&keys.pick(WrittenEngine::wal_autocheckpoint)),
        wal_memory: wal_memory.value(),
        load: keys.value(WrittenEngine::load),
    }
}
