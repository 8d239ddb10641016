//! What was written: the study file as typed values, each with its place, and nothing more.
//!
//! Takes the text; gives [`WrittenStudy`] and findings (syntax, unknown keys, wrong types, missing keys). A
//! row declares the default and the limits of its key; to judge by them is the business of `meaning`. Prevents:
//! defaults that cannot be told from what the user said.

mod cost;
mod device;
mod engine;
mod fault;
mod files;
mod instances;
mod phase;
mod published;
mod said;
mod section;
mod stack;
mod value;
mod volume;
mod zfs;

pub(crate) use crate::nearest::nearest;
pub(crate) use crate::study::{EngineWord, FaultWord, PhaseWord, RunWord, StackWord, VolumeTop};
pub(crate) use cost::WrittenCost;
pub(crate) use device::WrittenDevice;
pub(crate) use engine::{SHARED_BUFFERS, SQLITE_CACHE, WrittenEngine};
pub(crate) use files::{Load, Mixed, SizesOf, WrittenFiles};
pub(crate) use instances::WrittenInstances;
pub(crate) use phase::{WrittenHotspot, WrittenPhase, case};
pub(crate) use published::{Pairs, WrittenPublished};
pub(crate) use said::{Limits, Said, Spans, default_words};
pub(crate) use section::Section;
pub(crate) use stack::{WrittenInject, WrittenStack};
pub(crate) use value::{At, Listed, Numbers, Options, Overwrite, Word, Written};
pub(crate) use volume::WrittenVolume;
pub(crate) use zfs::{TUNED, WrittenZfs};

use crate::error::{Findings, Span};
use crate::study::{IoMethod, Scale, Schedule, TornPages};
use crate::units::{Bytes, Duration, Share};
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// A whole study as written.
pub(crate) struct WrittenStudy {
    pub(crate) header: WrittenHeader,
    pub(crate) luns: Vec<WrittenLuns>,
    pub(crate) memory: WrittenMemory,
    pub(crate) instances: Option<WrittenInstances>,
    pub(crate) stacks: Vec<WrittenStack>,
    pub(crate) database: WrittenDatabase,
    pub(crate) files: WrittenFiles,
    pub(crate) phases: Vec<WrittenPhase>,
    pub(crate) cost: Option<WrittenCost>,
    pub(crate) published: Option<WrittenPublished>,
    /// What was said, as (section, key): (`"stack.btrfs"`, `"profile"`), (`"luns.data"`, `"files.size"`).
    pub(crate) said: BTreeSet<(String, String)>,
}

written! {
    /// `[study]`.
    struct WrittenHeader of EngineWord {
        /// what you want to know; the report prints it above the answer
        question: String = (String::new());
        /// a publication whose figures are printed beside yours: `assay published` lists them,
        /// [`[published]`](#published) maps your stacks and phases to theirs
        published: String | "none" = (None);
        /// differences inside it count as equal; above 0 %, below 100 %
        margin: Share = (Share(0.05));
        /// of all blocks; the set-up before the first one counts only with `fill_time = true`. `--resume` starts it
        /// anew. The phases of four blocks, or of `blocks`, must fit. For simulated stacks: simulated time
        time_limit: Duration = (Duration::minutes(15));
        /// repeats: an even number. `"auto"`: as many as the time limit allows, even, 4 to 12 (6 to 12 with more than
        /// three comparisons)
        blocks: u64 | "auto" = (None, in 4..=64);
        /// the study ends when every comparison has its verdict; `false`: all blocks are run. Verdicts are the same
        /// either way
        stop_early: bool = (true);
        /// the number of blocks is fixed by the time that blocks two to four take: as many as the time limit
        /// holds, set-up included, even, 4 to 64. Not with `blocks`
        fill_time: bool = (false);
        /// root of all random numbers. `"auto"`: Assay draws it for each run and records it; `assay run --seed`
        /// overrides this key
        seed: u64 | "auto" = (None);
        /// `auto`, `ring` (io_uring) or `pread`: chosen once, the same for all stacks. SQLite reads by
        /// pread. It writes by a ring where one worker does order entry, random work or bulk loads past the page cache
        io: IoMethod = (IoMethod::Auto);
        /// threads of the page engine, at most one for each schema; in SQL, threads that play the users
        workers: u64 = (1, in 1..=1024);
        /// how the stacks of a block take [turns](#order-of-runs): `whole` (one after the other, each through all
        /// phases), `abba` (side by side, in each phase stint after stint), `auto`
        schedule: Schedule = (Schedule::Auto);
        /// length of a turn with `abba`
        stint: Duration = (Duration::seconds(1), in Duration::milliseconds(10)..=Duration::minutes(10));
        /// how many times slower than its device a [model](models.md#slow-motion) runs. `"auto"`: the
        /// smallest of 1, 2, 5, 10 and 20 at which this machine keeps up with it, found by a short probe before the
        /// first block; where it keeps up at none, the study is refused. Times of a device grow by it and its rates
        /// shrink by it; ratios of stacks that wait for devices stay
        slow_motion: u64 | "auto" = (None, in 1..=100);
        with {
            /// The header.
            span: Span,
            /// Short name.
            name: Option<At<String>>,
        }
    }
}

written! {
    /// `[memory]`.
    struct WrittenMemory of EngineWord {
        /// memory of each stack: engine cache, page cache and the engine's own maps. `"none"`: measured, not bounded
        budget: Bytes | "none" = (None);
        /// `false`: a phase that the page cache served is shown and not ranked, because it does not measure the
        /// storage. `true`: Assay ranks it if the budget was enforced and kept. The result is then that of memory and
        /// storage together. It needs a `budget`
        rank_cached: bool = (false);
    }
}

/// `[luns.NAME]`.
pub(crate) struct WrittenLuns {
    pub(crate) name: At<String>,
    pub(crate) source: Option<WrittenSource>,
    pub(crate) device: WrittenDevice,
}

/// What a LUN set is made of, as written.
pub(crate) enum WrittenSource {
    Files(WrittenLunFiles),
    Devices {
        paths: At<Listed>,
        overwrite: Option<At<Overwrite>>,
    },
}

/// Data beside what lies on a directory already: a share of somebody's disk is not ours to take.
pub(crate) const ON_DIRECTORY: Bytes = Bytes::mib(1024);

written! {
    /// `files` of a LUN set.
    struct WrittenLunFiles of EngineWord {
        /// size of each file, in whole blocks of 4 KiB. XFS needs 300 MiB, btrfs and ZFS 128 MiB, a disk group 64 MiB
        /// or 32 allocation units, whichever is more
        size: Bytes = (else "*required* with files", in Bytes::mib(1)..=Bytes(1 << 50));
        /// files in the set
        count: u64 = (1, in 1..=256);
        /// where they are made; a relative path begins at the working directory, not at the study file
        dir: String = (".".to_string());
    }
}

written! {
    /// `[database]`: the page engine's parameters beside the engine's keys.
    struct WrittenDatabase of EngineWord {
        /// pages that a scan reads at once
        multiblock_read: u64 = (16, in 1..=128);
        /// tables, each of one of SLOB's users
        schemas: u64 = (64, in 1..=65_536);
        /// size of the data: a share of the smallest stack's room, or bytes. Rounded down to whole pages of whole
        /// schemas, and to whole multiblock reads where that costs less than 5 %
        scale: Scale = (Scale::Share(Share(0.4)), "with a directory stack" => Scale::Bytes(ON_DIRECTORY),
            else " or 40 % of the smallest LUN set, whichever is less");
        /// redo log; at least 1 MiB for each worker
        redo_size: Bytes = (Bytes::mib(256),
            else ", at most half the redo LUN, or an eighth of the LUNs it shares with the data");
        /// uncompressed over compressed size of what is written; 1.0 cannot be compressed
        compressibility: f64 = (1.0, in 1.0..=100.0);
        /// pages that are copies of another page
        duplication: Share = (Share(0.0));
        /// `log` (page images in the redo log), `double` (each page written twice), `none` (trusted to the stack)
        torn_pages: TornPages = (TornPages::Log);
        /// longest time between two checkpoints
        checkpoint: Duration = (Duration::seconds(15), else ", at most a quarter of the shortest phase that updates");
        /// writes that the background writers of each worker keep in flight
        writers: u64 = (32, in 1..=1024);
        with {
            /// The header, if the section stands there.
            span: Option<Span>,
            /// Keys that stacks may say too.
            engine: WrittenEngine,
        }
    }
}

/// Reads the text. `None` when it is not TOML at all (the findings say where).
pub(crate) fn read(text: &str, findings: &mut Findings) -> Option<WrittenStudy> {
    let (document, mut errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        // What a broken line did to the lines after it is guesswork: the first few errors are enough.
        errors.sort_by_key(|error| error.span().map_or(text.len(), |span| span.start));
        let mut lines = BTreeSet::new();
        for error in errors.iter().take(5) {
            let span = error.span().unwrap_or(text.len()..text.len());
            let line = text.as_bytes()[..span.start.min(text.len())]
                .iter()
                .filter(|b| **b == b'\n')
                .count();
            let found = text.get(span.clone()).unwrap_or_default().trim();
            let (message, cure) = syntax(error.message(), found);
            if lines.insert(line) {
                findings.add(&span, message, cure);
            }
        }
        return None;
    }
    let mut root = Section::new("", 0..0, document.get_ref());
    let header = read_header(&mut root, findings);
    let luns = read_luns(&mut root, findings);
    let memory = heading(&mut root, "memory", findings).map(|mut s| {
        let memory = WrittenMemory::read(&mut s, findings);
        s.finish(&[], findings);
        memory
    });
    let instances = heading(&mut root, "instances", findings).map(|s| instances::read(s, findings));
    let stacks = list(&mut root, "stack", findings)
        .into_iter()
        .map(|s| stack::read(s, findings))
        .collect();
    let database = read_database(&mut root, findings);
    let files = heading(&mut root, "files", findings).map(|s| files::read(s, findings));
    let phases = list(&mut root, "phase", findings)
        .into_iter()
        .map(|s| phase::read(s, findings))
        .collect();
    let cost = heading(&mut root, "cost", findings).map(|s| cost::read(s, findings));
    let published = heading(&mut root, "published", findings).map(|s| published::read(s, findings));
    root.finish(&[], findings);
    Some(WrittenStudy {
        header,
        luns,
        memory: memory.unwrap_or_default(),
        instances,
        stacks,
        database,
        files: files.unwrap_or_default(),
        phases,
        cost,
        published,
        said: said(document.get_ref()),
    })
}

/// What the TOML reader said, with a cure.
fn syntax(message: &str, found: &str) -> (String, String) {
    if found.is_empty() && message.contains("must be quoted") {
        let cure = "write the value after the `=`, or remove the key".to_string();
        return ("not valid TOML: there is no value".to_string(), cure);
    }
    let holds = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let cure = if holds(&["control character", "UTF"]) || found.chars().any(char::is_control) {
        "write plain UTF-8 text, starting with [study]; take out the control character"
    } else if holds(&["must be quoted", "missing opening quote"]) {
        "put strings, sizes and durations in double quotes: size = \"2GiB\""
    } else if holds(&["duplicate key"]) {
        "keep one of the two; a second stack or phase starts with [[stack]] or [[phase]], in double brackets"
    } else if holds(&["closing", "unclosed", "newline", "string"]) {
        "close what was opened on this line (a quote, a bracket) and put each key on a line of its own"
    } else {
        "write `key = value`, a [section] or a [[list item]]; a comment starts with #"
    };
    (format!("not valid TOML: {message}"), cure.to_string())
}

/// A section that may stand there once, as `[name]`.
fn heading<'d>(root: &mut Section<'d>, name: &'static str, findings: &mut Findings) -> Option<Section<'d>> {
    let (key, value) = root.raw(name)?;
    match value.get_ref() {
        DeValue::Table(table) => Some(Section::new(format!("[{name}]"), head(value.span(), &key), table)),
        DeValue::Array(_) => {
            findings.add(
                &key,
                format!("there is one `{name}` in a study"),
                format!("write it once, as [{name}]"),
            );
            None
        }
        _ => {
            findings.add(
                &key,
                format!("`{name}` is a section"),
                format!("write it as [{name}], its keys below"),
            );
            None
        }
    }
}

/// A section that may stand there any number of times, as `[[name]]`.
fn list<'d>(root: &mut Section<'d>, name: &'static str, findings: &mut Findings) -> Vec<Section<'d>> {
    let Some((key, value)) = root.raw(name) else {
        return Vec::new();
    };
    let title = format!("[[{name}]]");
    match value.get_ref() {
        DeValue::Array(items) if items.iter().all(|item| item.get_ref().is_table()) => items
            .iter()
            .filter_map(|item| {
                item.get_ref()
                    .as_table()
                    .map(|table| Section::new(&title, head(item.span(), &key), table))
            })
            .collect(),
        _ => {
            let cure = format!("write [[{name}]], in double brackets, before each of them");
            findings.add(&key, format!("`{name}` is a list of sections"), cure);
            Vec::new()
        }
    }
}

/// Where a section is pointed at: its own place, or its key when the reader gave none.
fn head(own: Span, key: &Span) -> Span {
    if own.is_empty() { key.clone() } else { own }
}

fn read_header(root: &mut Section<'_>, findings: &mut Findings) -> WrittenHeader {
    let Some(mut s) = heading(root, "study", findings) else {
        if !root.has("study") {
            findings.add(
                &(0..0),
                "the study has no [study] section",
                "begin the file with [study] and name = \"...\"",
            );
        }
        return WrittenHeader::default();
    };
    let name = s.require("name", "give it a short name: name = \"overwrite-vs-cow\"", findings);
    let mut header = WrittenHeader::read(&mut s, findings);
    (header.span, header.name) = (s.span.clone(), name);
    s.finish(&[], findings);
    header
}

fn read_luns(root: &mut Section<'_>, findings: &mut Findings) -> Vec<WrittenLuns> {
    let Some(mut all) = heading(root, "luns", findings) else {
        return Vec::new();
    };
    let names: Vec<(String, Span)> = all.keys().map(|(name, span)| (name.to_string(), span)).collect();
    let mut sets = Vec::new();
    for (name, span) in names {
        let Some(table) = all.set(&name) else {
            let cure = "name the set: [luns.data], and write files = { count = 1, size = \"2GiB\" } below it";
            findings.add(&span, format!("`luns.{}` is not a LUN set", name.escape_debug()), cure);
            continue;
        };
        let mut table = table;
        sets.push(WrittenLuns {
            name: At { value: name, span },
            device: device::read(&mut table, findings),
            source: read_source(table, findings),
        });
    }
    sets
}

const FILES: &str = "files = { count = 1, size = \"2GiB\", dir = \".\" }";

fn read_source(mut s: Section<'_>, findings: &mut Findings) -> Option<WrittenSource> {
    let span = s.span.clone();
    let overwrite = s.get::<Overwrite>("overwrite", findings);
    let (files, devices) = (s.has("files"), s.has("devices"));
    let mut source = None;
    if files && devices {
        s.raw("devices");
        findings.add(
            &span,
            "a LUN set is made of files or of devices, not of both",
            "keep one of the two",
        );
    } else if !files && !devices {
        findings.add(
            &span,
            "this LUN set has neither `files` nor `devices`",
            format!("write {FILES}, or devices = [\"/dev/...\"]"),
        );
    }
    if let Some(mut f) = s.table("files", FILES, findings) {
        if !f.has("size") {
            f.require::<Bytes>("size", "say how large each file is: size = \"2GiB\"", findings);
        }
        let files = WrittenLunFiles::read(&mut f, findings);
        f.finish(&[], findings);
        if let Some(at) = &overwrite {
            let cure = "remove it: LUN files are the study's own and are always written anew";
            findings.add(&at.span, "`overwrite` is for devices, and this set has files", cure);
        }
        source = Some(WrittenSource::Files(files));
    } else if let Some(paths) = s.get::<Listed>("devices", findings) {
        source = Some(WrittenSource::Devices { paths, overwrite });
    }
    s.finish(&[], findings);
    source
}

fn read_database(root: &mut Section<'_>, findings: &mut Findings) -> WrittenDatabase {
    let Some(mut s) = heading(root, "database", findings) else {
        return WrittenDatabase::default();
    };
    let engine = WrittenEngine::read(&mut s, findings);
    let mut database = WrittenDatabase::read(&mut s, findings);
    (database.span, database.engine) = (Some(s.span.clone()), engine);
    s.finish(engine::ELSEWHERE, findings);
    database
}

/// Which keys stand in the file, under the names that `resolved` gives them.
fn said(root: &DeTable<'_>) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for (key, value) in root {
        let section = key.get_ref();
        match value.get_ref() {
            DeValue::Table(table) if section == "luns" => {
                for (name, set) in table {
                    keys_of(&format!("luns.{}", name.get_ref()), set.get_ref(), &mut all);
                }
            }
            DeValue::Array(items) => {
                for item in items.iter() {
                    let name = item
                        .get_ref()
                        .get("name")
                        .and_then(|name| name.get_ref().as_str())
                        .unwrap_or_default();
                    keys_of(&format!("{section}.{name}"), item.get_ref(), &mut all);
                }
            }
            other => keys_of(section, other, &mut all),
        }
    }
    all
}

fn keys_of(section: &str, value: &DeValue<'_>, all: &mut BTreeSet<(String, String)>) {
    let DeValue::Table(table) = value else { return };
    for (key, value) in table {
        let key = key.get_ref();
        if let DeValue::Table(inner) = value.get_ref() {
            all.extend(
                inner
                    .keys()
                    .map(|name| (section.to_string(), format!("{key}.{}", name.get_ref()))),
            );
        }
        // SLOB's flat names say what `hotspot` says.
        let key = if key.starts_with("hotspot_") || key == "do_hotspot" {
            "hotspot"
        } else {
            key
        };
        all.insert((section.to_string(), key.to_string()));
    }
}
