//! What differs between result files: run, host, study and its keys, stacks, LUNs, devices.
//!
//! Takes the files, gives rows with a value for each file. Prevents: a change of a figure put down to time, where a
//! kernel, a mount option or a key of the study changed too.

use super::found::{About, EqualFacts, FileDifference};
use super::taken::FileTaken;
use crate::check::Status;
use crate::format::date;
use crate::grouped::grouped;
use crate::ranking::drops;
use crate::stacks::differences::{OF_THE_PLACE, unnamed};
use ledger::{Fact, FactName, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Facts of devices and LUNs that name one of many alike, and no property.
const NAMES_ONLY: [FactName; 9] = [
    FactName::Device,
    FactName::Disk,
    FactName::File,
    FactName::Extents,
    FactName::LoopBackingFile,
    FactName::LoopBackingAllocated,
    FactName::LoopOffsetBytes,
    FactName::PartitionStartBytes,
    FactName::Mapping,
];

/// What a value is of: kind, stack or LUN set, name.
type Key = (About, String, String);

/// The values of one file, in the order of their first mention.
#[derive(Default)]
struct Told {
    values: BTreeMap<Key, String>,
    order: Vec<Key>,
    /// Stacks and LUN sets of which anything is known.
    subjects: BTreeSet<(About, String)>,
}

impl Told {
    fn add(&mut self, about: About, of: &str, what: impl Into<String>, value: impl Into<String>) {
        let key = (about, of.to_string(), what.into());
        self.subjects.insert((about, of.to_string()));
        if self.values.insert(key.clone(), value.into()).is_none() {
            self.order.push(key);
        }
    }
}

/// (what differs, what is the same).
pub(super) fn differences(files: &[FileTaken]) -> (Vec<FileDifference>, Vec<EqualFacts>) {
    let told: Vec<Told> = files.iter().map(|file| told(file, files)).collect();
    let mut seen = BTreeSet::new();
    let keys = told.iter().flat_map(|one| &one.order).filter(|key| seen.insert(*key));
    let mut keys: Vec<&Key> = keys.collect();
    keys.sort_by_key(|key| key.0);
    let mut differ: Vec<(&Key, Vec<Option<String>>)> = Vec::new();
    let mut equal: Vec<(About, String)> = Vec::new();
    for key in keys {
        let subject = (key.0, key.1.clone());
        let known: Vec<&Told> = told.iter().filter(|one| one.subjects.contains(&subject)).collect();
        if known.len() < 2 {
            continue;
        }
        let masked = |one: &&Told| one.values.get(key).map(|value| masked(value));
        let values: Vec<Option<String>> = known.iter().map(masked).collect();
        match values.windows(2).all(|two| two[0] == two[1]) {
            true => equal.push((key.0, key.2.clone())),
            false => differ.push((key, told.iter().map(|one| one.values.get(key).cloned()).collect())),
        }
    }
    // What is the same on one stack and not on another is no fact that is the same.
    let differs: BTreeSet<(About, String)> = differ.iter().map(|(key, _)| (key.0, key.2.clone())).collect();
    equal.retain(|row| !differs.contains(row));
    (merged(differ), equal_names(equal))
}

/// Rows of several stacks with the same values are one.
fn merged(rows: Vec<(&Key, Vec<Option<String>>)>) -> Vec<FileDifference> {
    let mut place: BTreeMap<(About, String, Vec<Option<String>>), usize> = BTreeMap::new();
    let mut found: Vec<FileDifference> = Vec::new();
    for ((about, of, what), values) in rows {
        let at = *place
            .entry((*about, what.clone(), values.clone()))
            .or_insert(found.len());
        if at == found.len() {
            found.push(FileDifference {
                about: *about,
                of: Vec::new(),
                what: what.clone(),
                values,
            });
        }
        if !of.is_empty() {
            found[at].of.push(of.clone());
        }
    }
    found
}

fn equal_names(rows: Vec<(About, String)>) -> Vec<EqualFacts> {
    let mut known = BTreeSet::new();
    let once = rows.into_iter().filter(|row| known.insert(row.clone()));
    let all = grouped(once).into_iter();
    all.map(|(about, names)| EqualFacts { about, names }).collect()
}

/// A value without names that are made anew for each run.
fn masked(value: &str) -> String {
    let words = unnamed(value);
    let loops = |word: &str| match word.strip_prefix("loop") {
        Some(number) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => "loop".into(),
        _ => word.to_string(),
    };
    words.split(", ").map(loops).collect::<Vec<_>>().join(", ")
}

fn told(file: &FileTaken, all: &[FileTaken]) -> Told {
    let mut told = Told::default();
    of_run(&mut told, file);
    of_keys(&mut told, file, all);
    of_stacks(&mut told, file);
    for fact in &file.facts {
        match &fact.scope {
            Scope::Host => told.add(About::Host, "", fact.key.to_string(), fact.value.to_string()),
            Scope::Study if fact.key.name != FactName::OlderStudies => {
                told.add(About::Study, "", fact.key.to_string(), fact.value.to_string());
            }
            // All devices differ where the nearest or the lowest do.
            Scope::Stack(stack) if fact.key.name != FactName::Devices => {
                told.add(About::Stack, stack, fact.key.to_string(), fact.value.to_string());
            }
            _ => {}
        }
    }
    of_luns(&mut told, file);
    of_devices(&mut told, file);
    told
}

fn of_run(told: &mut Told, file: &FileTaken) {
    let (analysis, head) = (&file.analysis, &file.analysis.study);
    let checks = |status: Status| analysis.checks.iter().filter(|check| check.status == status).count();
    let blocks = format!("{} of {}", head.blocks_valid, head.blocks_in_all());
    let rows = [
        ("begun", date(head.created_unix_ns)),
        ("assay", head.tool_version.clone()),
        ("seed", head.seed.clone()),
        ("I/O", head.io_method.clone()),
        ("blocks that count", blocks),
        ("blocks dropped", drops::blocks(&analysis.dropped).to_string()),
        ("extensions", head.extensions.to_string()),
        ("end", head.ended.clone().unwrap_or_else(|| "not finished".into())),
        ("checks INVALID", checks(Status::Invalid).to_string()),
        ("checks SUSPECT", checks(Status::Suspect).to_string()),
    ];
    for (what, value) in rows {
        told.add(About::Run, "", what, value);
    }
}

/// The keys of the study. A stack or a phase that a file does not have is one row.
fn of_keys(told: &mut Told, file: &FileTaken, all: &[FileTaken]) {
    let parts = |file: &FileTaken| {
        let stacks = file
            .analysis
            .stacks
            .iter()
            .map(|stack| format!("stack.{}.", stack.name));
        let phases = file
            .analysis
            .phases
            .iter()
            .map(|phase| format!("phase.{}.", phase.name));
        let has = |prefix: &String| !file.keys_below(prefix).is_empty();
        stacks.chain(phases).filter(has).collect::<BTreeSet<String>>()
    };
    let of_each: Vec<BTreeSet<String>> = all.iter().map(parts).collect();
    let known: BTreeSet<&String> = of_each.iter().flatten().collect();
    let partly = |prefix: &&&String| !of_each.iter().all(|parts| parts.contains(**prefix));
    let partly: BTreeSet<&str> = known.iter().filter(partly).map(|prefix| prefix.as_str()).collect();
    for prefix in &partly {
        if !file.keys_below(prefix).is_empty() {
            let name = prefix.trim_end_matches('.').replacen('.', " ", 1);
            told.add(About::Key, "", name, "there");
        }
    }
    let is_partly = |key: &str| key.match_indices('.').any(|(at, _)| partly.contains(&key[..=at]));
    for (key, value) in file.settings.iter().filter(|(key, _)| !is_partly(key)) {
        told.add(About::Key, "", key.clone(), unquoted(value));
    }
    told.add(About::Key, "", "study file", digest(&file.text));
}

/// A text in short, for texts of which it counts only whether they are the same.
fn digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let sum = Sha256::digest(text.as_bytes());
    let begin = sum.iter().take(4).map(|byte| format!("{byte:02x}"));
    format!("{} lines, SHA-256 {}", text.lines().count(), begin.collect::<String>())
}

fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    inner.unwrap_or(value)
}

fn of_stacks(told: &mut Told, file: &FileTaken) {
    for stack in &file.analysis.stacks {
        let skipped = stack.skipped_reason.as_deref().unwrap_or("no");
        let injected = stack.injected.as_deref().unwrap_or("none");
        let rows = [
            ("kind", &*stack.kind),
            ("layers", &stack.layers),
            ("access", &stack.access),
            ("planted disadvantage", injected),
            ("skipped", skipped),
        ];
        for (what, value) in rows {
            told.add(About::Stack, &stack.name, what, value);
        }
    }
    for database in &file.analysis.databases {
        told.add(About::Stack, &database.stack, "database", database.words());
        let settings = database.settings.iter();
        for one in settings.filter(|one| !OF_THE_PLACE.contains(&one.name.as_str())) {
            let what = format!("database setting {}", one.name);
            told.add(About::Stack, &database.stack, what, &*one.value);
        }
    }
}

/// The values of each fact over the LUNs of a set.
fn of_luns(told: &mut Told, file: &FileTaken) {
    let of_set = file.facts.iter().filter_map(|fact| match &fact.scope {
        Scope::Lun(set, _) => Some((set.as_str(), fact)),
        _ => None,
    });
    for (set, facts) in by_name(of_set) {
        each_value_once(told, (About::Luns, set), facts);
    }
}

/// The values of each fact over the devices right under a stack, and over the lowest ones.
fn of_devices(told: &mut Told, file: &FileTaken) {
    let of_device = file.facts.iter().filter_map(|fact| match &fact.scope {
        Scope::Device(name) => Some((name.as_str(), fact)),
        _ => None,
    });
    let by_device = by_name(of_device);
    for stack in &file.analysis.stacks {
        let nearest = file.names(&stack.name, FactName::NearestDevices);
        let lowest = file.names(&stack.name, FactName::LowestDevices);
        let levels = [("nearest: ", nearest), ("", lowest)];
        for (level, names) in levels
            .into_iter()
            .filter(|(level, names)| level.is_empty() || *names != lowest)
        {
            let facts = names.iter().filter_map(|name| by_device.get(name.as_str())).flatten();
            let mut own = Told::default();
            each_value_once(&mut own, (About::Device, &stack.name), facts.copied().collect());
            for key in own.order {
                let value = own.values.remove(&key).unwrap_or_default();
                told.add(About::Device, &stack.name, format!("{level}{}", key.2), value);
            }
        }
    }
}

fn by_name<'a>(facts: impl Iterator<Item = (&'a str, &'a Fact)>) -> BTreeMap<&'a str, Vec<&'a Fact>> {
    let mut found: BTreeMap<&str, Vec<&Fact>> = BTreeMap::new();
    for (name, fact) in facts {
        found.entry(name).or_default().push(fact);
    }
    found
}

fn each_value_once(told: &mut Told, (about, of): (About, &str), facts: Vec<&Fact>) {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| !NAMES_ONLY.contains(&fact.key.name)) {
        values
            .entry(fact.key.to_string())
            .or_default()
            .insert(fact.value.to_string());
    }
    for (name, values) in values {
        let all: Vec<String> = values.into_iter().collect();
        told.add(about, of, name, all.join(", "));
    }
}
