//! The engine of each stack: what `[database]` says, where the stack's own `database` says nothing else.
//!
//! Takes a stack as written and the study's `[database]`; gives [`Engine`]. Prevents: a default that does not fit
//! the memory the stack has.

use super::settle::{MIB, Settle, or, value_or};
use crate::error::Span;
use crate::plain;
use crate::study::{Engine, Isolation, Journal, Postgres, Preset, Sqlite, Synchronous};
use crate::units::Bytes;
use crate::written::{At, EngineWord, StackWord, WrittenEngine, WrittenStack, WrittenStudy};

/// What PostgreSQL takes by itself.
const SHARED_BUFFERS: u64 = 128 * MIB;
/// The smallest that is of use to a server.
const SHARED_BUFFERS_MIN: u64 = MIB;
/// Version that reads and writes as we know it.
const VERSIONS: std::ops::RangeInclusive<u32> = 15..=99;

/// The key of the stack, else that of the study.
struct Keys<'w> {
    own: &'w WrittenEngine,
    all: &'w WrittenEngine,
    home: Span,
}

impl<'w> Keys<'w> {
    fn pick<T: Clone>(&self, of: fn(&WrittenEngine) -> &Option<At<T>>) -> Option<At<T>> {
        of(self.own).clone().or_else(|| of(self.all).clone())
    }

    fn or<T: Clone>(&self, of: fn(&WrittenEngine) -> &Option<At<T>>, usual: T) -> T {
        value_or(&self.pick(of), usual)
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
        home: stack.span.clone(),
    };
    let server = stack.kind.as_ref().is_some_and(|kind| kind.value == StackWord::Server);
    if written.files.span.is_some() {
        return Engine::Files(super::files::of_stack(stack, &written.files, settle));
    }
    let usual = if server {
        EngineWord::Postgres
    } else {
        EngineWord::Pages
    };
    match keys.or(|w| &w.engine, usual) {
        EngineWord::Pages => Engine::Pages,
        EngineWord::Postgres => Engine::Postgres(postgres(&keys, budget, settle)),
        EngineWord::Sqlite => Engine::Sqlite(sqlite(&keys, budget, settle)),
    }
}

fn postgres(keys: &Keys<'_>, budget: Option<Bytes>, settle: &mut Settle<'_>) -> Postgres {
    let preset = keys.or(|w| &w.preset, Preset::Default);
    let quarter = budget.map(|budget| budget.0 / 4);
    let usual = match (preset, quarter) {
        (Preset::Tuned, Some(quarter)) => quarter,
        (_, quarter) => quarter.unwrap_or(SHARED_BUFFERS).min(settle.scaled(SHARED_BUFFERS)),
    };
    let cache = keys.pick(|w| &w.cache);
    let bytes = cache.as_ref().map_or(usual, |at| settle.scaled(at.value.0));
    if let Some(at) = cache.filter(|_| bytes < SHARED_BUFFERS_MIN) {
        let message = format!("`cache` is {}, and a server needs 1MiB at least", at.value);
        settle.findings.add(&at.span, message, "write cache = \"128MiB\"");
    }
    let version = keys.pick(|w| &w.version).filter(|at| at.value.is_some());
    let version = version.and_then(|at| {
        let asked = at.value.and_then(|asked| u32::try_from(asked).ok());
        let found = asked.filter(|asked| VERSIONS.contains(asked));
        if found.is_none() {
            let cure = "write a major version from 15 on, or \"newest\": version = 17";
            settle
                .findings
                .add(&at.span, "this version of PostgreSQL is not supported", cure);
        }
        found
    });
    if let Some(at) = keys.pick(|w| &w.page).filter(|at| at.value.0 != 8192) {
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
        checksums: keys.or(|w| &w.checksums, false),
        isolation: keys.or(|w| &w.isolation, Isolation::ReadCommitted),
        run_as: run_as(keys, settle),
    }
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
    let at = keys.pick(|w| &w.run_as)?;
    let name = at.value?;
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
    let page = or(&keys.pick(|w| &w.page), Bytes(8192), &keys.home);
    if !page.value.0.is_power_of_two() || !(512..=65_536).contains(&page.value.0) {
        let message = format!("SQLite has no pages of {}", page.value);
        settle.findings.add(
            &page.span,
            message,
            "write a power of two from 512 bytes to 64KiB: page = \"8KiB\"",
        );
    }
    let usual = settle
        .scaled(64 * MIB)
        .min(budget.map_or(u64::MAX, |budget| budget.0 / 2));
    let cache = keys.pick(|w| &w.cache);
    let bytes = cache.as_ref().map_or(usual, |at| settle.scaled(at.value.0));
    if let Some(at) = cache.filter(|_| bytes < MIB) {
        let message = format!("`cache` is {}, and SQLite's connections need 1MiB at least", at.value);
        settle.findings.add(&at.span, message, "write cache = \"64MiB\"");
    }
    Sqlite {
        page: page.value,
        cache: Bytes(bytes),
        journal: keys.or(|w| &w.journal, Journal::Wal),
        synchronous: keys.or(|w| &w.synchronous, Synchronous::Full),
        wal_autocheckpoint: settle.count(
            &keys.pick(|w| &w.wal_autocheckpoint),
            "wal_autocheckpoint",
            1000,
            0..=100_000_000,
        ),
    }
}
