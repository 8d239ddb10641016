//! Contradictions between engines, stacks and phases.
//!
//! Takes the study as written and as meant; gives findings. Prevents: a phase that an engine can't do, found when
//! its stack has been built and loaded; and a setting of an engine that no stack has.

use super::files;
use super::places::{kind_place, place};
use crate::error::{Findings, Span};
use crate::space;
use crate::study::{Access, Engine, Engines, Phase, Random, RedoStress, Stack, Study, Zfs};
use crate::units::Bytes;
use crate::written::{
    EngineWord, PhaseWord, Spans, Word, WrittenDatabase, WrittenEngine, WrittenPhase, WrittenStack, WrittenStudy,
};

/// All of them.
pub(super) fn all(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    files::all(written, study, findings);
    if written.files.span.is_some() {
        return;
    }
    for (w, one) in written.stacks.iter().zip(&study.stacks) {
        stack(w, one, study, findings);
    }
    foreign(written, study, findings);
    for (w, phase) in written.phases.iter().zip(&study.phases) {
        let before = findings.len();
        for stack in &study.stacks {
            fits(w, phase, stack, study, findings);
            // What is wrong on one stack is wrong on the next in the same words.
            if findings.len() > before {
                break;
            }
        }
    }
    room(written, study, findings);
    memory_of_questions(written, study, findings);
}

/// Whether any stack has the page engine.
pub(super) fn has_pages(study: &Study) -> bool {
    study.stacks.is_empty() || study.stacks.iter().any(|stack| stack.engine == Engine::Pages)
}

fn stack(w: &WrittenStack, stack: &Stack, study: &Study, findings: &mut Findings) {
    let span = w.database.engine.as_ref().map_or_else(|| kind_place(w), |at| &at.span);
    match (&stack.engine, &stack.kind) {
        (Engine::Pages | Engine::Sqlite(_), kind) if kind.server().is_some() => {
            let cure = "remove `engine`, or write engine = \"postgres\"";
            findings.add(span, "a server that is there already is PostgreSQL", cure);
        }
        (Engine::Postgres(_) | Engine::Sqlite(_), kind) if kind.is_raw() || kind.model().is_some() => {
            no_files(stack, span, findings);
        }
        (Engine::Postgres(_), kind) if kind.disk_group().is_some() => no_files(stack, span, findings),
        (Engine::Postgres(_) | Engine::Sqlite(_), kind) => on_pool(w, kind.pool(), span, findings),
        _ => {}
    }
    if !stack.engine.is_sql() {
        return;
    }
    if let (Engine::Sqlite(_), Some(redo)) = (&stack.engine, &w.redo)
        && redo.value.is_some()
    {
        let cure = "remove `redo` from this stack: SQLite keeps its log beside the database";
        findings.add(&redo.span, "SQLite has no redo log that could lie elsewhere", cure);
    }
    if stack.inject.is_planted() {
        let span = place(&w.inject.late, place(&w.inject.error_at, &w.span));
        let cure = "remove `inject`: it is planted into the page engine's I/O";
        findings.add(span, "a database in SQL can't be given a planted disadvantage", cure);
    }
    if let (Engine::Postgres(postgres), Access::Direct) = (&stack.engine, stack.access)
        && postgres.version.is_some_and(|version| version < 16)
    {
        let cure = "write version = 16 or newer in its `database`, or access = \"buffered\"";
        findings.add(place(&w.access, &w.span), "PostgreSQL 15 has no direct I/O", cure);
    }
    if let Some(budget) = study.memory.budget {
        let cache = match &stack.engine {
            Engine::Postgres(postgres) => postgres.cache,
            Engine::Sqlite(sqlite) => sqlite.memory(stack.access == Access::Direct),
            Engine::Pages | Engine::Files(_) => Bytes(0),
        };
        // Beside its caches the tool itself needs some; a full group's processes are killed, not slowed.
        if cache.0.saturating_add(BESIDE_CACHE_BYTES) > budget.0 {
            let span = place(&w.database.cache, &w.span);
            let message = format!(
                "a database with {cache} in memory leaves less than {} of the memory budget of {budget} for \
                 everything else",
                Bytes(BESIDE_CACHE_BYTES)
            );
            findings.add(
                span,
                message,
                "lower `cache` (of SQLite also `wal_memory`), or raise `budget` in [memory]",
            );
        }
    }
}

/// A database in SQL needs files, or a disk group's.
fn no_files(stack: &Stack, span: &Span, findings: &mut Findings) {
    let what = if stack.engine.word() == "postgres" {
        "PostgreSQL"
    } else {
        "SQLite"
    };
    let message = format!("{what} can't work on a stack of kind \"{}\"", stack.kind.word());
    let cure = match what {
        "SQLite" => "use a file system or a disk group; or database = { engine = \"pages\" } on this stack",
        _ => {
            "a server needs a file system: ext4, xfs, btrfs or directory; \
             or database = { engine = \"sqlite\" } on a disk group"
        }
    };
    findings.add(span, message, cure);
}

/// A database in SQL on a pool needs a way that has files.
fn on_pool(w: &WrittenStack, pool: Option<&Zfs>, span: &Span, findings: &mut Findings) {
    let via = pool.and_then(|zfs| zfs.via);
    if via.is_some_and(|way| !way.has_files()) {
        let cure = "write via = \"fuse\" or via = \"kernel\", which have files; or leave it out";
        let message = "OpenZFS in user space has no files, which a database in SQL needs";
        findings.add(place(&w.zfs.via, span), message, cure);
    }
}

/// Keys of an engine that no stack has, or another than the stack's own.
fn foreign(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let home = written.database.span.as_ref().unwrap_or(&written.header.span);
    let used = |word: &str| study.stacks.iter().any(|stack| stack.engine.word() == word);
    for engine in EngineWord::ALL {
        let word = engine.word();
        if used(word) || study.stacks.is_empty() {
            continue;
        }
        for key in own_keys(*engine) {
            if written.said.contains(&("database".to_string(), key.to_string())) {
                let message = format!("`{key}` in [database] is of the engine {word}, which no stack has");
                findings.add(home, message, format!("remove it, or write engine = \"{word}\""));
            }
        }
    }
    for (w, stack) in written.stacks.iter().zip(&study.stacks) {
        let section = format!("stack.{}", stack.name);
        let of_postgres = own_keys(EngineWord::Postgres);
        let of_sqlite = own_keys(EngineWord::Sqlite);
        let own: &[&str] = match &stack.engine {
            Engine::Pages | Engine::Files(_) => &[],
            Engine::Postgres(_) => &of_postgres,
            Engine::Sqlite(_) => &of_sqlite,
        };
        let others = of_postgres.iter().chain(&of_sqlite).chain(&["page", "cache"]);
        for key in others.filter(|key| !own.contains(key)) {
            let shared = ["page", "cache"].contains(key);
            if shared && stack.engine.is_sql() || !written.said.contains(&(section.clone(), format!("database.{key}")))
            {
                continue;
            }
            let word = stack.engine.word();
            let message = format!("`{key}` in the `database` of this stack means nothing to the engine {word}");
            let cure = match (shared, word) {
                (true, _) => "write it in [database]: the page engine is the same on all stacks",
                _ => "remove it, or name the engine that it belongs to",
            };
            findings.add(&w.span, message, cure);
        }
    }
}

/// Names of the keys that are this engine's alone; those of the page engine stand in `[database]`.
fn own_keys(engine: EngineWord) -> Vec<&'static str> {
    let pages = WrittenDatabase::KEYS.iter().filter(|row| row.name != "scale");
    let others = WrittenEngine::KEYS.iter().filter(|row| row.kinds == [engine]);
    match engine {
        EngineWord::Pages => pages.map(|row| row.name).collect(),
        EngineWord::Postgres | EngineWord::Sqlite => others.map(|row| row.name).collect(),
    }
}

fn fits(w: &WrittenPhase, phase: &Phase, stack: &Stack, study: &Study, findings: &mut Findings) {
    let span = place(&w.kind, &w.span);
    if let Some(fault) = w.faults.first().filter(|_| stack.engine.is_sql()) {
        let cure = "put this phase into a study of the page engine: engine = \"pages\"";
        findings.add(&fault.span, "faults are planted under the page engine only", cure);
    }
    match (phase.kind.engines(), stack.engine.is_sql()) {
        (Engines::Files, _) => {
            let message = format!(
                "stack {:?} has the engine {}, which serves no files",
                stack.name,
                stack.engine.word()
            );
            findings.add(
                span,
                message,
                "write [files] instead of [database]: protocol = \"posix\"",
            );
        }
        (Engines::Sql, false) => {
            let message = format!("stack {:?} has the page engine, which knows no SQL", stack.name);
            let cure =
                "write engine = \"sqlite\" or engine = \"postgres\" in [database], or in the `database` of the stack";
            findings.add(span, message, cure);
        }
        (Engines::Pages, true) => {
            let message = format!(
                "stack {:?} has the engine {}, which runs {} only",
                stack.name,
                stack.engine.word(),
                PhaseWord::in_sql()
            );
            findings.add(
                span,
                message,
                "put this phase into a study of the page engine: engine = \"pages\"",
            );
        }
        _ => {}
    }
    if !stack.engine.is_sql() {
        return;
    }
    if let Some(random) = phase.kind.random() {
        plain(w, random, stack, findings);
    }
    if let Some(cut) = phase.kind.cut() {
        crate::meaning::cuts::in_sql(w, cut.end, study, findings);
    }
}

/// Random work in SQL: what SLOB's other parameters ask for is the page engine's.
fn plain(w: &WrittenPhase, random: &Random, stack: &Stack, findings: &mut Findings) {
    let hot = w.hotspot.as_ref().and_then(|h| h.as_ref()).map(|h| h.span.clone());
    let asked: [(&str, bool, Span); 5] = [
        ("scan_pct", random.scan_pct > 0, place(&w.scan_pct, &w.span).clone()),
        (
            "outstanding",
            random.outstanding > 1,
            place(&w.outstanding, &w.span).clone(),
        ),
        (
            "redo_stress",
            random.redo_stress == RedoStress::Heavy,
            place(&w.redo_stress, &w.span).clone(),
        ),
        (
            "hotspot",
            random.hotspot.is_some(),
            hot.unwrap_or_else(|| w.span.clone()),
        ),
        (
            "hot_schema_frequency",
            random.hot_schema_frequency > 0,
            place(&w.hot_schema_frequency, &w.span).clone(),
        ),
    ];
    for (key, _, span) in asked.iter().filter(|(_, asked, _)| *asked) {
        let message = format!("random work in SQL (stack {:?}) has no `{key}`", stack.name);
        findings.add(span, message, "remove it, or use the page engine: engine = \"pages\"");
    }
}

/// What the load and a bulk load take must fit into LUN files.
fn room(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    for (w, phase) in written.phases.iter().zip(&study.phases) {
        for stack in &study.stacks {
            let (Some((needed, key)), Some(space)) = (space::in_sql(phase, stack), space::usable(study, stack)) else {
                continue;
            };
            if needed > space / 20 * 19 {
                let message = format!(
                    "this phase needs about {}, and stack {:?} has {}",
                    Bytes(needed >> 20 << 20),
                    stack.name,
                    Bytes(space)
                );
                findings.add(
                    w.span_of(key).unwrap_or(&w.span),
                    message,
                    format!("lower `{key}`, or make the LUNs larger"),
                );
                break;
            }
        }
    }
}

/// What a user's process of a PostgreSQL server takes, without what it sorts and hashes in.
const SESSION_BYTES: u64 = 3 << 20;
/// `work_mem`, unless it is said.
const WORK_MEM_BYTES: u64 = 4 << 20;
/// A question sorts in so many times `work_mem` at once, or hashes in `hash_mem_multiplier` times, which is 2 unless it
/// is said.
const TIMES_WORK_MEM: f64 = 2.0;

/// Many users who sort and hash at the same time must not end the server for want of memory.
fn memory_of_questions(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let Some(budget) = study.memory.budget else { return };
    for (w, phase) in written.phases.iter().zip(&study.phases) {
        let Some(tpch) = phase.kind.tpch() else { continue };
        for stack in &study.stacks {
            let Engine::Postgres(postgres) = &stack.engine else {
                continue;
            };
            let said = |key: &str| {
                let found = postgres.settings.iter().find(|(name, _)| name == key);
                found.map(|(_, value)| value)
            };
            let work = said("work_mem").and_then(|value| memory_setting(value));
            let work = work.unwrap_or(WORK_MEM_BYTES);
            let hashed: Option<f64> = said("hash_mem_multiplier").and_then(|value| value.trim().parse().ok());
            let times = hashed.unwrap_or(TIMES_WORK_MEM).max(TIMES_WORK_MEM);
            let each = SESSION_BYTES.saturating_add((work as f64 * times).ceil() as u64);
            let needed = postgres
                .cache
                .0
                .saturating_add(each.saturating_mul(tpch.users_most().into()));
            if needed > budget.0 {
                let message = format!(
                    "{} users of stack {:?} can take {}: a cache of {}, and {} each (3 MiB and {}); the \
                     memory budget is {budget}",
                    tpch.users_most(),
                    stack.name,
                    Bytes(needed),
                    postgres.cache,
                    Bytes(each),
                    match hashed.filter(|hashed| *hashed > TIMES_WORK_MEM) {
                        Some(hashed) => format!("{hashed} times work_mem by hash_mem_multiplier"),
                        None => "twice work_mem".to_string(),
                    }
                );
                let cure =
                    "raise `budget` in [memory], lower `cache` or work_mem in `settings`, or ask with fewer users";
                findings.add(w.users.as_ref().map_or(&w.span, |at| &at.span), message, cure);
                return;
            }
        }
    }
}

/// Bytes of a setting of memory as PostgreSQL reads it: a number is of kilobytes.
fn memory_setting(value: &str) -> Option<u64> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = match value[digits.len()..].trim() {
        "B" => 1,
        "" | "kB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(unit)
}

/// What the tool itself, connections and users need beside the database's cache, at least.
const BESIDE_CACHE_BYTES: u64 = 48 << 20;
