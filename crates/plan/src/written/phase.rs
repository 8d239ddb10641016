//! `[[phase]]` as written.
//!
//! Takes the section; gives its keys, SLOB's own names included, with a finding for each key that does not belong to the
//! kind. Prevents: a SLOB parameter that is accepted and then has no effect.

use super::fault::{self, WrittenFault};
use super::section::Section;
use super::value::{At, Numbers, PHASES_TO_COME, PhaseWord, Word};
use crate::engines::{Company, Home};
use crate::error::{Findings, Span};
use crate::study::RedoStress;
use crate::units::{Bytes, Duration, Rate};
use toml::de::DeValue;

/// `[[phase]]`.
#[derive(Clone, Default)]
pub(crate) struct WrittenPhase {
    pub(crate) span: Span,
    pub(crate) name: Option<At<String>>,
    pub(crate) kind: Option<At<PhaseWord>>,
    pub(crate) time: Option<At<Option<Duration>>>,
    pub(crate) ranked: Option<At<bool>>,
    pub(crate) update_pct: Option<At<u64>>,
    pub(crate) scan_pct: Option<At<u64>>,
    pub(crate) scan_table_size: Option<At<Bytes>>,
    pub(crate) sessions: Option<At<u64>>,
    pub(crate) work_unit: Option<At<u64>>,
    pub(crate) work_loop: Option<At<u64>>,
    pub(crate) redo_stress: Option<At<RedoStress>>,
    pub(crate) outstanding: Option<At<u64>>,
    pub(crate) think_tm_frequency: Option<At<u64>>,
    pub(crate) think_tm_min: Option<At<Duration>>,
    pub(crate) think_tm_max: Option<At<Duration>>,
    /// `hotspot = "none"` is `Some(None)`.
    pub(crate) hotspot: Option<Option<WrittenHotspot>>,
    pub(crate) flat_hotspot: FlatHotspot,
    pub(crate) rate: Option<At<Option<Rate>>>,
    /// A file of SLOB's whose parameters hold where the study says nothing else.
    pub(crate) slob_conf: Option<At<String>>,
    pub(crate) users: Option<At<Numbers>>,
    pub(crate) degree: Option<At<u64>>,
    pub(crate) parallel: Option<At<u64>>,
    pub(crate) to: Option<At<String>>,
    pub(crate) data: Option<At<String>>,
    pub(crate) redo: Option<At<String>>,
    pub(crate) chunk: Option<At<Bytes>>,
    pub(crate) verify: Option<At<bool>>,
    pub(crate) add: Option<At<Vec<String>>>,
    pub(crate) drop: Option<At<Vec<String>>>,
    pub(crate) power: Option<At<u64>>,
    pub(crate) before: Option<At<Duration>>,
    pub(crate) after: Option<At<Duration>>,
    pub(crate) passes: Option<At<u64>>,
    pub(crate) after_each: Option<At<Vec<String>>>,
    /// An earlier phase that this one is held against, on the same stack.
    pub(crate) against: Option<At<String>>,
    pub(crate) hot_schema_frequency: Option<At<u64>>,
    pub(crate) warehouses: Option<At<u64>>,
    pub(crate) company: Option<At<Company>>,
    pub(crate) home: Option<At<Home>>,
    pub(crate) think_time: Option<At<bool>>,
    pub(crate) rows: Option<At<Numbers>>,
    pub(crate) commit_every: Option<At<u64>>,
    pub(crate) cuts: Option<At<u64>>,
    pub(crate) kills: Option<At<u64>>,
    pub(crate) earliest: Option<At<Duration>>,
    pub(crate) latest: Option<At<Duration>>,
    pub(crate) faults: Vec<WrittenFault>,
}

/// `hotspot = { size, offset, frequency }`.
#[derive(Clone)]
pub(crate) struct WrittenHotspot {
    pub(crate) span: Span,
    pub(crate) size: Option<At<Bytes>>,
    pub(crate) offset: Option<At<Bytes>>,
    pub(crate) frequency: Option<At<u64>>,
}

/// SLOB's DO_HOTSPOT and its companions.
#[derive(Clone, Default)]
pub(crate) struct FlatHotspot {
    pub(crate) on: Option<At<bool>>,
    pub(crate) mb: Option<At<u64>>,
    pub(crate) offset_mb: Option<At<u64>>,
    pub(crate) frequency: Option<At<u64>>,
}

const RANDOM: &[&str] = &[
    "update_pct",
    "scan_pct",
    "scan_table_size",
    "sessions",
    "work_unit",
    "work_loop",
    "redo_stress",
    "outstanding",
    "think_tm_frequency",
    "think_tm_min",
    "think_tm_max",
    "hotspot",
    "do_hotspot",
    "hotspot_mb",
    "hotspot_offset_mb",
    "hotspot_frequency",
    "hot_schema_frequency",
    "rate",
    "slob_conf",
];
const SCAN: &[&str] = &["users", "degree", "parallel"];
const COPY: &[&str] = &["to", "data", "redo", "chunk", "outstanding", "verify"];
const AGE: &[&str] = &[
    "passes",
    "after_each",
    "sessions",
    "work_unit",
    "redo_stress",
    "outstanding",
];
const TPCC: &[&str] = &["users", "warehouses", "company", "home", "think_time", "rate"];
const BULK: &[&str] = &["rows", "commit_every"];
const AGAINST: &[&str] = &["against"];
const POWER_CUT: &[&str] = &["cuts", "earliest", "latest"];
const KILL: &[&str] = &["kills", "earliest", "latest"];
const FAULTS: &[&str] = &["faults"];
const REBALANCE: &[&str] = &["add", "drop", "power", "before", "after"];

/// Keys of each kind; one that several have stands with each.
const KEYS: &[(PhaseWord, &[&str])] = &[
    (PhaseWord::Random, RANDOM),
    (PhaseWord::Scan, SCAN),
    (PhaseWord::Copy, COPY),
    (PhaseWord::Rebalance, REBALANCE),
    (PhaseWord::Rebalance, RANDOM),
    (PhaseWord::Age, AGE),
    (PhaseWord::Tpcc, TPCC),
    (PhaseWord::Bulk, BULK),
    (PhaseWord::Tpcc, AGAINST),
    (PhaseWord::Bulk, AGAINST),
    (PhaseWord::PowerCut, POWER_CUT),
    (PhaseWord::PowerCut, RANDOM),
    (PhaseWord::Kill, KILL),
    (PhaseWord::Kill, RANDOM),
    (PhaseWord::Random, FAULTS),
    (PhaseWord::Scan, FAULTS),
    (PhaseWord::Age, FAULTS),
    (PhaseWord::Rebalance, FAULTS),
    (PhaseWord::Random, AGAINST),
    (PhaseWord::Scan, AGAINST),
    (PhaseWord::Age, AGAINST),
    (PhaseWord::Copy, AGAINST),
];

const HOT_SCHEMA: (&str, &str) = (
    "the hot schema has another name here",
    "write hot_schema_frequency = 3: every third operation of a session goes to the first schema",
);

/// Names that SLOB or habit suggests, and what they are called here.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("do_hotschema", HOT_SCHEMA.0, HOT_SCHEMA.1),
    ("hotschema", HOT_SCHEMA.0, HOT_SCHEMA.1),
    ("hot_schema", HOT_SCHEMA.0, HOT_SCHEMA.1),
    (
        "run_time",
        "SLOB's RUN_TIME has another name here",
        "write time = \"300s\", with its unit",
    ),
    (
        "runtime",
        "it has another name here",
        "write time = \"300s\", with its unit",
    ),
    (
        "scan_table_sz",
        "SLOB's SCAN_TABLE_SZ has another name here",
        "write scan_table_size = \"1MiB\"",
    ),
    (
        "threads_per_schema",
        "sessions are counted for the whole instance here",
        "write sessions = THREADS_PER_SCHEMA times the schemas",
    ),
    (
        "scale",
        "the size of the data is the same in all phases",
        "write `scale` in [database]",
    ),
    (
        "schemas",
        "the schemas are the same in all phases",
        "write `schemas` in [database]",
    ),
    ("load_parallel_degree", "the loader chooses this itself", "remove it"),
    ("database_statistics_type", "there is no Oracle here", "remove it"),
];

pub(crate) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenPhase {
    let name = s.require(
        "name",
        "give the phase a name of its own: name = \"fresh read\"",
        findings,
    );
    let kind = read_kind(&mut s, findings);
    let phase = WrittenPhase {
        span: s.span.clone(),
        name,
        time: s.get_or("time", "none", findings),
        ranked: s.get("ranked", findings),
        update_pct: s.get("update_pct", findings),
        scan_pct: s.get("scan_pct", findings),
        scan_table_size: s.get("scan_table_size", findings),
        sessions: s.get("sessions", findings),
        work_unit: s.get("work_unit", findings),
        work_loop: s.get("work_loop", findings),
        redo_stress: s.get("redo_stress", findings),
        outstanding: s.get("outstanding", findings),
        think_tm_frequency: s.get("think_tm_frequency", findings),
        think_tm_min: s.get("think_tm_min", findings),
        think_tm_max: s.get("think_tm_max", findings),
        hotspot: read_hotspot(&mut s, findings),
        flat_hotspot: FlatHotspot {
            on: s.get("do_hotspot", findings),
            mb: s.get("hotspot_mb", findings),
            offset_mb: s.get("hotspot_offset_mb", findings),
            frequency: s.get("hotspot_frequency", findings),
        },
        rate: s.get_or("rate", "none", findings),
        slob_conf: s.get("slob_conf", findings),
        users: s.get("users", findings),
        degree: s.get("degree", findings),
        parallel: s.get("parallel", findings),
        to: s.get("to", findings),
        data: s.get("data", findings),
        redo: s.get("redo", findings),
        chunk: s.get("chunk", findings),
        verify: s.get("verify", findings),
        add: s.get("add", findings),
        drop: s.get("drop", findings),
        power: s.get("power", findings),
        before: s.get("before", findings),
        after: s.get("after", findings),
        passes: s.get("passes", findings),
        after_each: s.get("after_each", findings),
        against: s.get("against", findings),
        hot_schema_frequency: s.get("hot_schema_frequency", findings),
        warehouses: s.get("warehouses", findings),
        company: s.get("company", findings),
        home: s.get("home", findings),
        think_time: s.get("think_time", findings),
        rows: s.get("rows", findings),
        commit_every: s.get("commit_every", findings),
        cuts: s.get("cuts", findings),
        kills: s.get("kills", findings),
        earliest: s.get("earliest", findings),
        latest: s.get("latest", findings),
        faults: fault::read(&mut s, findings),
        kind,
    };
    if let Some(kind) = &phase.kind {
        foreign(&s, kind.value, findings);
        s.forget(|key| owner(kind.value, key).is_none() && !key.contains("hotspot_"));
    }
    s.finish(ELSEWHERE, findings);
    phase
}

fn read_kind(s: &mut Section<'_>, findings: &mut Findings) -> Option<At<PhaseWord>> {
    if let Some((_, value)) = s.raw("kind")
        && let DeValue::String(word) = value.get_ref()
        && PHASES_TO_COME.contains(&word.as_ref())
    {
        let cure = format!(
            "this version runs random, scan, age, copy, rebalance, tpcc, bulk, power_cut and kill; {} come later",
            PHASES_TO_COME.join(", ")
        );
        findings.add(
            &value.span(),
            format!("phases of kind \"{word}\" are not in this version"),
            cure,
        );
        return None;
    }
    s.require(
        "kind",
        "say what it does: kind = \"random\" or kind = \"scan\"",
        findings,
    )
}

fn read_hotspot(s: &mut Section<'_>, findings: &mut Findings) -> Option<Option<WrittenHotspot>> {
    let (_, value) = s.raw("hotspot")?;
    if value.get_ref().as_str() == Some("none") {
        return Some(None);
    }
    let mut h = s.table(
        "hotspot",
        "hotspot = { size = \"8MiB\", offset = \"0B\", frequency = 3 }",
        findings,
    )?;
    let hotspot = WrittenHotspot {
        span: h.span.clone(),
        size: h.require(
            "size",
            "say how large the hot range of each schema is: size = \"8MiB\"",
            findings,
        ),
        offset: h.get("offset", findings),
        frequency: h.get("frequency", findings),
    };
    h.finish(&[], findings);
    Some(Some(hotspot))
}

/// The kind that a key belongs to, if it is not this one.
fn owner(kind: PhaseWord, key: &str) -> Option<PhaseWord> {
    let owners = || {
        KEYS.iter()
            .filter(|(_, keys)| keys.contains(&key))
            .map(|(owner, _)| *owner)
    };
    if owners().any(|owner| owner == kind) {
        return None;
    }
    owners().next()
}

/// Reports keys of other kinds.
fn foreign(s: &Section<'_>, kind: PhaseWord, findings: &mut Findings) {
    for (key, span) in s.keys() {
        let Some(owner) = owner(kind, key) else { continue };
        let message = format!("a phase of kind \"{}\" has no `{key}`", kind.word());
        findings.add(
            &span,
            message,
            format!("remove it: it belongs to phases of kind {}", owner.word()),
        );
    }
}
