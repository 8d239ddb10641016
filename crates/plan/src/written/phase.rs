//! `[[phase]]` as written.
//!
//! Takes the section; gives its keys, SLOB's own names included, with a finding for each key that does not belong to
//! the kind. Prevents: a SLOB parameter that is accepted and then has no effect.

use super::fault::{WrittenFault, read as read_faults};
use super::files::{Load, Mixed, SizesOf};
use super::section::Section;
use super::value::{At, Numbers, Word};
use crate::error::{Findings, Span};
use crate::study::{
    Company, FileArrival, FileMix, FileSteps, Home, Limit, LimitOf, PhaseWord, RedoStress, RunWord, TpchText,
};
use crate::units::{Bytes, Duration, Rate, Share};
use toml::de::DeValue;

use PhaseWord::{Age, Bulk, Copy, Files, Kill, PowerCut, Random, Rebalance, Redo, Scan, Tpcc, Tpch};

/// Defaults of the cases that rows below name.
pub(crate) mod case {
    use crate::units::{Bytes, Duration, Share};

    /// Of work that goes on until somebody ends it.
    pub(crate) const WORK_TIME: Duration = Duration::minutes(1);
    /// Of a point of a ramp.
    pub(crate) const POINT_TIME: Duration = Duration::seconds(20);
    /// Percent: what ends in the middle should have something to lose.
    pub(crate) const CUT_UPDATES: u64 = 100;
    /// Operations on their way over a network.
    pub(crate) const CLIENTS: u64 = 256;
    /// Operations on their way by system calls: each has a thread.
    pub(crate) const THREADS: u64 = 32;
    /// Large enough that the log is not flushed for each page, small enough for a small cache.
    pub(crate) const AGE_PAGES: u64 = 16;
    /// Chunks of a copy on their way.
    pub(crate) const COPY_CHUNKS: u64 = 8;
    /// Schemas that are scanned.
    pub(crate) const SCAN_USERS: u64 = 10;
    /// Of the files, the lookups or the writes.
    pub(crate) const ALL: Share = Share(1.0);
    /// Likewise.
    pub(crate) const NONE: Share = Share(0.0);
    /// Sources and mails.
    pub(crate) const SMALL_FILES: Bytes = Bytes::kib(16);
    /// Documents.
    pub(crate) const LARGE_FILES: Bytes = Bytes::kib(128);
    /// Files in a directory of sources.
    pub(crate) const BUILD_DIRECTORY: u64 = 100;
    /// Of documents.
    pub(crate) const FILESERVER_DIRECTORY: u64 = 20;
    /// Of mails and pages.
    pub(crate) const MAIL_DIRECTORY: u64 = 1000;
}

written! {
    /// `[[phase]]`.
    struct WrittenPhase of PhaseWord {
        /// longest time of the phase; of each step of a load curve; of each point of file serving. Not of `age`,
        /// `copy`, `rebalance`, `bulk`, `tpch`, `power_cut` and `kill`
        time: Duration | "none" = (None, "random without `work_loop`, tpcc, redo" => Some(case::WORK_TIME),
            "files" => Some(case::POINT_TIME));
        /// idle time before it begins: devices write out what their caches hold, cool down and save up
        /// credit for bursts. Not on simulated stacks
        rest: Duration = (Duration(0), in ..=Duration::minutes(60));
        /// compared between stacks
        ranked: bool = (true,
            "of a rebalance, a power cut, a kill, a load curve or a phase with `faults`" => false);
        /// percent of operations that update: 0 to 50, or 100. SLOB refuses 51 to 99, where its results are not
        /// repeatable
        update_pct: u64 [Random, Rebalance, PowerCut, Kill] = (25, in 0..=100,
            "of a power cut or a kill" => case::CUT_UPDATES);
        /// percent that scan; the same rule; together at most 100
        scan_pct: u64 [Random, Rebalance, PowerCut, Kill] = (0, in 0..=100);
        /// bytes of such a scan
        scan_table_size: Bytes [Random, Rebalance, PowerCut, Kill] = (Bytes::mib(1), in Bytes::kib(32)..);
        /// sessions of the whole instance (SLOB: threads per schema times schemas); of file serving, most operations on
        /// their way at once, up to 65,535
        sessions: u64 [Random, Age, Redo, Rebalance, PowerCut, Kill, Files] = (64, in 1..=65_536,
            "of file serving" => case::CLIENTS, "with `posix` or under a cut" => case::THREADS);
        /// pages an operation touches; of an ageing, pages of one transaction
        work_unit: u64 [Random, Age, Rebalance, PowerCut, Kill] = (64, in 1..=1024, "of an ageing" => case::AGE_PAGES);
        /// redo of each commit, with a header of 16 bytes; at most a quarter of the redo log, and 1 MiB
        commit_size: Bytes [Redo] = (Bytes(512), in Bytes(16)..=Bytes::mib(1));
        /// operations of each session; 0: until the time is over
        work_loop: u64 [Random, Rebalance, PowerCut, Kill] = (0);
        /// an update changes 2 columns (`lite`) or 19 (`heavy`)
        redo_stress: RedoStress [Random, Age, Rebalance, PowerCut, Kill] = (RedoStress::Lite);
        /// reads that a session keeps in flight, at most `work_unit`; of a copy, chunks on their way at once, 1 to 64
        outstanding: u64 [Random, Copy, Age, Rebalance, PowerCut, Kill] = (1, in 1..=1024,
            "of a copy" => case::COPY_CHUNKS);
        /// every how many operations a session pauses; 0: never
        think_tm_frequency: u64 [Random, Rebalance, PowerCut, Kill] = (0, in 0..=1_000_000);
        /// the shortest pause
        think_tm_min: Duration [Random, Rebalance, PowerCut, Kill] = (Duration::milliseconds(100));
        /// the longest pause
        think_tm_max: Duration [Random, Rebalance, PowerCut, Kill] = (Duration::milliseconds(500));
        /// `{ size = "8MiB", offset = "0B", frequency = 3 }`: a hot range in each schema, and every how many operations
        /// goes there (`offset` and `frequency` default to `"0B"` and 1)
        hotspot: Option<Option<WrittenHotspot>> => read_hotspot "table"
            [Random, Rebalance, PowerCut, Kill] = "`\"none\"`";
        /// the hot spot in SLOB's names; with `false` the three below have no effect
        do_hotspot: bool [Random, Rebalance, PowerCut, Kill] = "off";
        /// MiB of the hot range in each schema
        hotspot_mb: u64 [Random, Rebalance, PowerCut, Kill] = (10, in 1..=1 << 24);
        /// MiB before the hot range
        hotspot_offset_mb: u64 [Random, Rebalance, PowerCut, Kill] = (0, in 0..=1 << 24);
        /// every this many operations, one goes there
        hotspot_frequency: u64 [Random, Rebalance, PowerCut, Kill] = (1, in 1..=1_000_000);
        /// open arrival: operations a second for the whole instance (of order entry: transactions of all users), due on
        /// a schedule; not with think time. `"none"`: each session sends its next operation when the last is done
        rate: Rate | "none" [Random, Tpcc, Rebalance, PowerCut, Kill] = (None);
        /// a [`slob.conf`](#slob_conf) beside the study: its parameters hold where the study does not say the key
        /// itself
        slob_conf: String [Random, Rebalance, PowerCut, Kill] = "";
        /// of a scan: schemas scanned, chosen anew in each block. Of order entry: users at work at the same time; a
        /// list is a **load curve**, one step after another, each for `time`, all in one phase. Of decision support:
        /// users who ask `each` questions at the same time, instead of `streams`
        users: Numbers [Scan, Tpcc, Tpch] = (Numbers(vec![100]), "of a scan" => Numbers(vec![case::SCAN_USERS]),
            else ", or all schemas if there are fewer");
        /// reads in flight of one scan
        degree: u64 [Scan] = (1, in 1..=1024);
        /// schemas scanned at the same time, at most `users`. Each worker with a schema to scan reads one at least:
        /// with more `workers` than this, more are scanned at once
        parallel: u64 [Scan] = (1, in 1..=1024);
        /// the stack that takes the database, another instance of it; `"home"`: where the trial began, over the files
        /// that are there
        to: String [Copy] = "*required*";
        /// LUN set of the data there: not that of the stacks, whose LUNs hold the source
        data: String [Copy] = "*required* if the target stack has one";
        /// likewise, of the redo log
        redo: String [Copy] = "*required* if the target stack has one";
        /// of one read and one write, a power of two
        chunk: Bytes [Copy] = (Bytes::mib(1), in Bytes::kib(64)..=Bytes::mib(16));
        /// read everything back from the target after the phase and compare it with what was copied
        verify: bool [Copy] = (true);
        /// LUNs that join, by number in their set: `["disk5"]`; they are in reserve or were dropped by an earlier
        /// phase. `lvm` and `md` take each in the place of one that is dropped
        add: Vec<String> [Rebalance] = "`[]`";
        /// LUNs that are emptied and leave; of a mirror, `raid10` or `raid5` also one that is lost
        drop: Vec<String> [Rebalance] = "`[]`";
        /// of a disk group: I/Os of the rebalance in flight; `lvm` and `md` pace themselves
        power: u64 [Rebalance] = (1, in 1..=1024);
        /// time of the work before the change
        before: Duration [Rebalance] = (Duration::seconds(10));
        /// time of the work after it
        after: Duration [Rebalance] = (Duration::seconds(10));
        /// times that each page is changed
        passes: u64 [Age] = (1, in 1..=100);
        /// names of the phases directly below that are repeated after each pass
        after_each: Vec<String> [Age] = "";
        /// a rest before the ageing, about as long as the ageing. After the rest, Assay runs the later scans and random
        /// phases that have `against` once more, as "NAME control". They show the effect of time alone
        control: Duration [Age] = "";
        /// an earlier phase of the same kind (`random`, `scan`, `age`, `copy`, `tpcc`, `tpch`, `bulk`). Assay compares
        /// the stacks' changes since then: `against = "fresh scan"` on the aged scan
        against: String [Tpcc, Tpch, Bulk, Random, Scan, Age, Copy] = "";
        /// every how many operations of a session goes to the first schema, whatever schema it serves; 0: none. It
        /// needs `workers = 1`, for a schema belongs to one worker
        hot_schema_frequency: u64 [Random, Rebalance, PowerCut, Kill] = (0, in 0..=1_000_000);
        /// about 80 MiB each. The company is loaded once a trial: all phases have the number that the first says
        warehouses: u64 [Tpcc] = (10, in 1..=1_000_000);
        /// `reduced`: a fiftieth of items and customers, for tests of the tool
        company: Company [Tpcc] = (Company::Full);
        /// each user works at a warehouse of his own; `any`: at another in each transaction
        home: Home [Tpcc] = (Home::Fixed);
        /// users type and think as the description says
        think_time: bool [Tpcc] = (false);
        /// scale factor: 1 is about a gigabyte of rows, 1.6 GB with keys. The tables are loaded once a
        /// trial: all phases have the scale that the first says
        scale: f64 [Tpch] = (0.01, in 0.01..=100.0);
        /// `power`: one user asks all questions; `throughput`: several do at the same time
        run: RunWord [Tpch] = (RunWord::Power, "with `streams` or `users`" => RunWord::Throughput);
        /// of `throughput`: users who ask all questions, each in an order of his own
        streams: u64 [Tpch] = (2, in 2..=64);
        /// with `users`: questions of each; in a load curve at least so many
        each: u64 [Tpch] = (2, in 1..=22);
        /// numbers of the questions that are asked, of 1 to 22
        questions: Numbers [Tpch] = "all 22";
        /// questions 2, 13, 17, 20 and 22 in `grouped` form, with large groups that spill, or `nested`, as published,
        /// with a subquery or a join for each row
        text: TpchText [Tpch] = (TpchText::Grouped);
        /// the most that one question may take: past it the phase ends and does not count
        limit: Duration [Tpch] = (Duration::minutes(10), in Duration::milliseconds(1)..=Duration::minutes(24 * 60));
        /// pairs of refresh functions after the questions: each inserts a thousandth of the orders anew
        /// with their lines, and deletes them again
        refresh: u64 [Tpch] = (0, in 0..=64);
        /// rows of each load; each begins with an empty database
        rows: Numbers [Bulk] = (Numbers(vec![10_000, 100_000]));
        /// rows of a commit
        commit_every: u64 [Bulk] = (100, in 1..=1_000_000);
        /// cuts, one after the other, in each run of the phase
        cuts: u64 [PowerCut] = (1, in 1..=10_000);
        /// kills, one after the other, in each run of the phase
        kills: u64 [Kill] = (1, in 1..=10_000);
        /// no cut or kill comes before this time of work, counted from the first acknowledgement
        earliest: Duration [PowerCut, Kill] = (Duration::milliseconds(200), in ..=Duration::minutes(60));
        /// no cut or kill comes after this time; the seed chooses the moment
        latest: Duration [PowerCut, Kill] = (else "five times `earliest`", in ..=Duration::minutes(60));
        /// what goes wrong with modelled LUNs meanwhile ([faults](#faults)); not of a copy, a power cut or a kill
        faults: Vec<WrittenFault> => read_faults "list" [Random, Scan, Age, Rebalance] = "`[]`";
        /// calls of each operation: `sfs97`, `sfs93`, `build`, or whole percents, together 100:
        /// `{ read = 60, write = 30, commit = 10 }`. Not with `work`
        mix: Mixed [Files, PowerCut, Kill] = (Mixed::Named(FileMix::Sfs97));
        /// instead of a mix, steps in a row: `fileserver`, `varmail`, `webserver`
        work: FileSteps | "none" [Files, PowerCut, Kill] = (None);
        /// operations a second of each point, ascending: one rate, a list, or `{ from = "500/s", step = "500/s", points
        /// = 10 }`; at most 100 points
        load: Load [Files] = "*required*";
        /// the ramp ends when the response of a point is above this: `{ response = "15ms", of = "mean" }`, or of
        /// `"p99"`; `"none"`: no response ends it, only a point that falls short of `reached`
        until: Limit | "none" [Files] = (Some(Limit { response: Duration::milliseconds(15), of: LimitOf::Mean }));
        /// the ramp ends at a point where a smaller share of the due operations ended in time
        reached: Share [Files] = (Share(0.95), in Share(0.0)..=Share(1.0));
        /// work before each point that is not counted
        warm_up: Duration [Files] = (Duration::seconds(5));
        /// gaps between operations: `poisson` (independent users) or `fixed`
        arrival: FileArrival [Files] = (FileArrival::Poisson);
        /// bytes of data for each operation a second: they grow with the load. SFS has 10 MB
        data_per_load: Bytes [Files] = (Bytes(100_000));
        /// bytes of data, the same at each load; not with `data_per_load`
        data_size: Bytes [Files, PowerCut, Kill] = "by `data_per_load`; under a cut or a kill `\"16MiB\"`";
        /// share of the files that users work on; nobody opens the others
        accessed: Share [Files, PowerCut, Kill] = (Share(0.1), in Share(0.0)..=Share(1.0),
            "with `build`, `work`, a cut or a kill" => case::ALL);
        /// of files: `"sfs97"`, one size, or sizes with whole percents: `[["1KiB", 33], ["16KiB", 67]]`; whole KiB
        sizes: SizesOf [Files, PowerCut, Kill] = (SizesOf::Sfs97,
            "of `build`, `varmail` and `webserver`" => SizesOf::one(case::SMALL_FILES),
            "of `fileserver`" => SizesOf::one(case::LARGE_FILES));
        /// files in a directory
        files_per_directory: u64 [Files, PowerCut, Kill] = (30, in 1..=100_000,
            "of `build`" => case::BUILD_DIRECTORY, "of `fileserver`" => case::FILESERVER_DIRECTORY,
            "of `varmail` and `webserver`" => case::MAIL_DIRECTORY);
        /// share of lookups that ask for a name that does not exist
        lookups_failed: Share [Files, PowerCut, Kill] = (Share(0.35), in Share(0.0)..=Share(1.0),
            "with `build` and `work`" => case::NONE);
        /// share of writes that append to the file; the others overwrite
        append: Share [Files, PowerCut, Kill] = (Share(0.7), in Share(0.0)..=Share(1.0),
            "with `build` and `work`" => case::NONE);
        /// share of writes that ask for FILE_SYNC; a later `commit` makes the others durable
        stable: Share [Files, PowerCut, Kill] = (Share(0.0), in Share(0.0)..=Share(1.0), "of `sfs93`" => case::ALL);
        /// under a file server, share of operations that rename a file instead of a call of the mix, about half of
        /// them over another file; the mix needs `create`
        rename: Share [PowerCut, Kill] = (Share(0.0), in Share(0.0)..=Share(1.0));
        with {
            /// The header.
            span: Span,
            /// What it is called.
            name: Option<At<String>>,
            /// What it does.
            kind: Option<At<PhaseWord>>,
        }
    }
}

/// `hotspot = { size, offset, frequency }`.
#[derive(Clone)]
pub(crate) struct WrittenHotspot {
    pub(crate) span: Span,
    pub(crate) size: Option<At<Bytes>>,
    pub(crate) offset: Option<At<Bytes>>,
    pub(crate) frequency: Option<At<u64>>,
}

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
    let mut phase = WrittenPhase::read(&mut s, findings);
    (phase.span, phase.name, phase.kind) = (s.span.clone(), name, kind);
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
        && word == "load"
    {
        let cure = format!(
            "for a load curve write users = [1, 4, 16] in a phase of kind tpcc; this version runs {}",
            PhaseWord::listed()
        );
        findings.add(&value.span(), "`load` is not a kind of phase", cure);
        return None;
    }
    s.require(
        "kind",
        "say what it does: kind = \"random\" or kind = \"scan\"",
        findings,
    )
}

/// `None`: it does not stand there; `hotspot = "none"` is `Some(None)`.
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
        let rows = WrittenPhase::KEYS.iter().filter(|row| row.name == key);
        rows.flat_map(|row| row.kinds.iter().copied())
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
        // What habit suggests under this name stands elsewhere.
        let cure = match ELSEWHERE.iter().find(|(name, ..)| *name == key) {
            Some((_, _, cure)) => (*cure).to_string(),
            None => format!("remove it: it belongs to phases of kind {}", owner.word()),
        };
        findings.add(&span, message, cure);
    }
}
