//! What a written study means: every default filled in, every value checked, every contradiction refused.
//!
//! Takes [`WrittenStudy`] and the scale of the run; gives [`Study`] and findings. Prevents: a study that is accepted here
//! and found impossible an hour later, when LUNs have been written.

pub(crate) mod checks;
mod cuts;
mod database;
mod devices;
mod engines;
mod luns;
mod moves;
mod phases;
mod published;
mod server_url;
mod sql;
mod stacks;
mod zfs;

pub(crate) use stacks::word as stack_word;

use crate::error::{Findings, Span};
use crate::plain;
use crate::study::{IoMethod, Schedule, StandsFor, Study};
use crate::units::{Bytes, Duration, Share};
use crate::written::{At, WrittenStudy};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Gives the study that was meant. With findings it holds stand-ins and must not be used.
pub(crate) fn resolve(written: &WrittenStudy, text: &str, factor: f64, findings: &mut Findings) -> Study {
    let mut settle = Settle { factor, findings };
    let header = &written.header;
    let home = &header.span;
    let name = settle.name(&header.name, "study");
    let luns = luns::resolve(written, &mut settle);
    let memory_budget = written
        .budget
        .as_ref()
        .and_then(|at| at.value)
        .map(|budget| Bytes(settle.scaled(budget.0)));
    let phases = phases::resolve(written, &luns, &mut settle);
    let mut study = Study {
        question: settle.question(&header.question),
        published: settle.published(&header.published),
        margin: or(&header.margin, Share(0.05), home).value,
        time_limit: longer(or(&header.time_limit, Duration(15 * MINUTE), home).value, factor),
        blocks: header
            .blocks
            .as_ref()
            .and_then(|at| at.value)
            .map(|blocks| blocks.min(u64::from(u32::MAX)) as u32),
        stop_early: or(&header.stop_early, true, home).value,
        seed: header.seed.as_ref().and_then(|at| at.value),
        io: or(&header.io, IoMethod::Auto, home).value,
        workers: settle.count(&header.workers, "workers", 1, 1..=1024, home),
        schedule: or(&header.schedule, Schedule::Auto, home).value,
        stint: settle.stint(&header.stint, home),
        stacks: stacks::resolve(written, &luns, memory_budget, &mut settle),
        database: database::stand_in(),
        resolved: Vec::new(),
        text: text.to_string(),
        scaled: factor,
        name,
        luns,
        memory_budget,
        rank_cached: rank_cached(written, memory_budget, settle.findings),
        phases,
        stands_for: StandsFor::default(),
        slob: Vec::new(),
        file: std::path::PathBuf::new(),
    };
    study.database = database::resolve(written, &study, &mut settle);
    study.stands_for = published::resolve(written, &study, settle.findings);
    checks::all(written, &study, settle.findings);
    cuts::check(written, &study, settle.findings);
    study.resolved = crate::entries::resolved(&study, &written.said);
    study
}

/// Without a budget, one stack's cache could be the whole machine's memory.
fn rank_cached(written: &WrittenStudy, budget: Option<Bytes>, findings: &mut Findings) -> bool {
    let Some(at) = written.rank_cached.as_ref().filter(|at| at.value) else {
        return false;
    };
    if budget.is_none() {
        findings.add(
            &at.span,
            "what a cache serves can be ranked only where all stacks have the same memory".to_string(),
            "write a `budget` in [memory], or leave `rank_cached` out",
        );
    }
    true
}

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MINUTE: u64 = 60 * SECOND;
pub(crate) const MIB: u64 = 1 << 20;

/// What was written, or the default, standing where the section stands.
fn or<T: Clone>(written: &Option<At<T>>, default: T, home: &Span) -> At<T> {
    written.clone().unwrap_or_else(|| At {
        value: default,
        span: home.clone(),
    })
}

/// Turns written values into settled ones.
struct Settle<'f> {
    factor: f64,
    findings: &'f mut Findings,
}

impl Settle<'_> {
    /// `bytes` at the scale of this run, on a round number of bytes.
    fn scaled(&self, bytes: u64) -> u64 {
        scaled(bytes, self.factor)
    }

    /// A whole number within `range`.
    fn count(
        &mut self,
        written: &Option<At<u64>>,
        key: &str,
        default: u32,
        range: RangeInclusive<u32>,
        home: &Span,
    ) -> u32 {
        let at = or(written, u64::from(default), home);
        match u32::try_from(at.value) {
            Ok(value) if range.contains(&value) => value,
            _ => {
                let cure = format!("write a whole number from {} to {}", range.start(), range.end());
                self.findings
                    .add(&at.span, format!("`{key}` cannot be {}", at.value), cure);
                default
            }
        }
    }

    /// How long a stack works at a time.
    fn stint(&mut self, written: &Option<At<Duration>>, home: &Span) -> Duration {
        let at = or(written, crate::turns::STINT, home);
        if !crate::turns::STINTS.contains(&at.value) {
            let (least, most) = (crate::turns::STINTS.start(), crate::turns::STINTS.end());
            self.findings.add(
                &at.span,
                format!("a stint cannot last {}", at.value),
                format!("write {least} to {most}: stint = \"{}\"", crate::turns::STINT),
            );
            return crate::turns::STINT;
        }
        at.value
    }

    /// A name that can stand in a table, in a path and in a terminal.
    fn name(&mut self, written: &Option<At<String>>, what: &str) -> String {
        let Some(at) = written else { return String::new() };
        let name = at.value.as_str();
        // Result and LUN files are named after these two; a stack may well be called after its directory.
        let filed = matches!(what, "study" | "LUN set");
        let cure = match filed {
            true => "use up to 64 letters, digits, spaces, `-`, `_` or `.`, a letter or digit first",
            false => "use up to 64 letters, digits and signs that show, no `-` first",
        };
        let wrong = if name.is_empty() {
            "is empty".to_string()
        } else if name.chars().count() > 64 {
            format!("has {} characters", name.chars().count())
        } else if name.chars().any(char::is_control) {
            "holds a control character".to_string()
        } else if !name.chars().all(plain::shows) {
            "holds a character that does not show".to_string()
        } else if filed && name.len() > plain::NAME_BYTES_MAX {
            format!("has {} bytes", name.len())
        } else if name.trim() != name {
            "starts or ends with a space".to_string()
        } else if filed && (name.contains('/') || name.starts_with(['.', '-'])) {
            "holds a `/` or starts with `.` or `-`, and files are named after it".to_string()
        } else if let Some(c) = name.chars().find(|c| filed && !plain::files(*c)) {
            format!("holds a `{c}`, and files are named after it")
        } else if name.starts_with('-') {
            "starts with `-`, as options of tools do".to_string()
        } else {
            return at.value.clone();
        };
        self.findings
            .add(&at.span, format!("the name of this {what} {wrong}"), cure);
        String::new()
    }

    /// The path of a directory or file that lies where it says.
    fn path(&mut self, at: &At<String>, key: &str, cure: &str) {
        if let Some(fault) = plain::path_fault(&at.value) {
            self.findings.add(&at.span, format!("`{key}` {fault}"), cure);
        }
    }

    /// The question, its line breaks made spaces.
    fn question(&mut self, written: &Option<At<String>>) -> String {
        let Some(at) = written else { return String::new() };
        let folded = at.value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !folded.chars().all(plain::shows) {
            let message = "the question holds a character that does not show";
            self.findings.add(&at.span, message, "write it as plain text");
        }
        folded
    }

    fn published(&mut self, written: &Option<At<Option<String>>>) -> Option<String> {
        let at = written.as_ref()?;
        let named = at.value.clone().map(|value| At {
            value,
            span: at.span.clone(),
        });
        named.is_some().then(|| self.name(&named, "publication"))
    }

    /// Reports names that stand more than once; the second is pointed at.
    fn unique<'w>(&mut self, names: impl Iterator<Item = &'w Option<At<String>>>, what: &str) {
        let mut first: BTreeMap<&str, ()> = BTreeMap::new();
        for at in names.flatten() {
            if first.insert(&at.value, ()).is_some() {
                let message = format!("a second {what} is named {:?}", at.value);
                self.findings
                    .add(&at.span, message, format!("give each {what} a name of its own"));
            }
        }
    }
}

/// A limit for a study `factor` times as large: filling, loading, ageing and scans without a time take as much longer. A
/// smaller one keeps its limit, for its timed phases stay as long.
fn longer(limit: Duration, factor: f64) -> Duration {
    let seconds = (limit.0 as f64 * factor / SECOND as f64).min(1e9) as u64;
    Duration(limit.0.max(seconds * SECOND))
}

/// `bytes` times `factor`, rounded down to a round number of bytes: a whole MiB, or 64 KiB below 16 MiB.
fn scaled(bytes: u64, factor: f64) -> u64 {
    if factor == 1.0 {
        return bytes;
    }
    let product = (bytes as f64 * factor).min((1u64 << 60) as f64) as u64;
    let grain = if product >= 16 * MIB { MIB } else { 64 << 10 };
    product / grain * grain
}
