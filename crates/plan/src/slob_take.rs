//! What of a `slob.conf` a phase takes: each parameter sets the key of the same meaning, unless the study says that key
//! itself, or is left out with the reason.
//!
//! Takes the study as written; fills its phases and gives [`SlobRow`]s. Prevents: a parameter of the
//! file that quietly has no effect.

use crate::error::{Findings, Span};
use crate::slob_conf::{Assignment, BYTES_MAX, assignments};
use crate::study::{RedoStress, SlobRow, Study};
use crate::units::{Bytes, Duration};
use crate::written::{At, PhaseWord, WrittenPhase, WrittenStudy, nearest};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

/// A row before it is known what the phase uses.
pub(crate) struct Row {
    phase: String,
    file: String,
    assignment: Assignment,
    /// The key of a study that has its meaning.
    ours: Option<&'static str>,
    why: String,
}

/// Parameters that say nothing of the work.
const BESIDE: [(&str, &str); 10] = [
    ("LOAD_PARALLEL_DEGREE", "the loader chooses this itself"),
    ("DATABASE_STATISTICS_TYPE", "there is no Oracle here"),
    ("ADMIN_SQLNET_SERVICE", "there is no network here"),
    ("SQLNET_SERVICE_BASE", "there is no network here"),
    ("SQLNET_SERVICE_MAX", "one instance, no network"),
    ("SYSDBA_PASSWD", "there is no Oracle here; its value is not read"),
    ("DBA_PRIV_USER", "there is no Oracle here"),
    ("ADMIN_CONNECT_STRING", "there is no Oracle here"),
    ("EXTERNAL_SCRIPT", "nothing of the user's is run"),
    (
        "OBFUSCATE_COLUMNS",
        "pages are filled by `compressibility` and `duplication` in [database]",
    ),
];

/// Parameters that are taken.
const TAKEN: [&str; 20] = [
    "UPDATE_PCT",
    "SCAN_PCT",
    "RUN_TIME",
    "WORK_LOOP",
    "SCALE",
    "SCAN_TABLE_SZ",
    "WORK_UNIT",
    "REDO_STRESS",
    "THREADS_PER_SCHEMA",
    "DO_HOTSPOT",
    "HOTSPOT_MB",
    "HOTSPOT_OFFSET_MB",
    "HOTSPOT_FREQUENCY",
    "HOTSPOT_PCT",
    "HOT_SCHEMA_FREQUENCY",
    "HOT_SCHEMA_PCT",
    "DO_HOTSCHEMA",
    "THINK_TM_FREQUENCY",
    "THINK_TM_MIN",
    "THINK_TM_MAX",
];

/// Reads the files that phases name, relative to the study's own, and fills the phases.
pub(crate) fn take(written: &mut WrittenStudy, beside: &Path, findings: &mut Findings) -> Vec<Row> {
    let schemas = written.database.schemas().value();
    let mut rows = Vec::new();
    for phase in &mut written.phases {
        let Some(named) = phase.slob_conf.clone() else { continue };
        if !matches!(
            phase.kind,
            Some(At {
                value: PhaseWord::Random,
                ..
            })
        ) {
            continue;
        }
        if let Some(fault) = crate::plain::path_fault(&named.value) {
            let cure = "name a slob.conf by its path from the study's directory";
            findings.add(&named.span, format!("`slob_conf` {fault}"), cure);
            continue;
        }
        let text = match content(&beside.join(&named.value)) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("{}: {error}", named.value);
                findings.add(
                    &named.span,
                    message,
                    "name a slob.conf by its path from the study's directory",
                );
                continue;
            }
        };
        let all = match assignments(&text) {
            Ok(all) => all,
            Err((line, what)) => {
                let cure = "leave plain KEY=value lines in a copy of the file, and name that";
                findings.add(&named.span, format!("{}:{line}: {what}", named.value), cure);
                continue;
            }
        };
        let name = phase.name.as_ref().map_or(String::new(), |at| at.value.clone());
        let mut taking = Taking {
            span: named.span.clone(),
            file: named.value.clone(),
            schemas,
            all: &all,
            said: &mut written.said,
            name: &name,
            findings,
        };
        for one in &all {
            let (ours, why) = taking.one(phase, one);
            rows.push(Row {
                phase: name.clone(),
                file: named.value.clone(),
                assignment: one.clone(),
                ours,
                why,
            });
        }
    }
    rows
}

fn content(path: &Path) -> Result<String, String> {
    let bytes = crate::read_file(path, BYTES_MAX).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => format!("more than {} KiB are no slob.conf", BYTES_MAX >> 10),
        _ => error.to_string(),
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

struct Taking<'a> {
    span: Span,
    file: String,
    schemas: u64,
    all: &'a [Assignment],
    said: &'a mut BTreeSet<(String, String)>,
    name: &'a str,
    findings: &'a mut Findings,
}

type Outcome = (Option<&'static str>, String);

impl Taking<'_> {
    fn one(&mut self, phase: &mut WrittenPhase, one: &Assignment) -> Outcome {
        match one.key.as_str() {
            "UPDATE_PCT" => self.number(&mut phase.update_pct, "update_pct", one, 1),
            "SCAN_PCT" => self.number(&mut phase.scan_pct, "scan_pct", one, 1),
            "WORK_UNIT" => self.number(&mut phase.work_unit, "work_unit", one, 1),
            "WORK_LOOP" => self.number(&mut phase.work_loop, "work_loop", one, 1),
            "THINK_TM_FREQUENCY" => self.number(&mut phase.think_tm_frequency, "think_tm_frequency", one, 1),
            "THREADS_PER_SCHEMA" => self.number(&mut phase.sessions, "sessions", one, self.schemas),
            "RUN_TIME" if self.fixed_work(phase) => (Some("time"), "WORK_LOOP ends the phase, as in SLOB".into()),
            "RUN_TIME" => {
                let time = self.seconds(one).map(Some);
                self.set(&mut phase.time, "time", time)
            }
            "THINK_TM_MIN" => {
                let time = self.seconds(one);
                self.set(&mut phase.think_tm_min, "think_tm_min", time)
            }
            "THINK_TM_MAX" => {
                let time = self.seconds(one);
                self.set(&mut phase.think_tm_max, "think_tm_max", time)
            }
            "SCAN_TABLE_SZ" => {
                let size = self.size(one);
                self.set(&mut phase.scan_table_size, "scan_table_size", size.map(Bytes))
            }
            "REDO_STRESS" => {
                let stress = match one.value.to_ascii_uppercase().as_str() {
                    "LITE" => Some(RedoStress::Lite),
                    "HEAVY" => Some(RedoStress::Heavy),
                    _ => self.refuse(one, "is LITE or HEAVY"),
                };
                self.set(&mut phase.redo_stress, "redo_stress", stress)
            }
            "SCALE" => self.scale(one),
            "HOT_SCHEMA_FREQUENCY" | "HOT_SCHEMA_PCT" | "DO_HOTSCHEMA" => self.hot_schema(phase, one),
            key if key.contains("HOTSPOT") => self.hotspot(phase, one),
            _ => self.other(one),
        }
    }

    /// SLOB ends by WORK_LOOP when it is not 0, and by RUN_TIME otherwise.
    fn fixed_work(&self, phase: &WrittenPhase) -> bool {
        let in_file = self
            .all
            .iter()
            .find(|a| a.key == "WORK_LOOP")
            .and_then(|a| a.value.parse().ok());
        let ours = phase.work_loop.as_ref().map(|at| at.value);
        phase.time.is_none() && ours.or(in_file).is_some_and(|work: u64| work > 0)
    }

    fn refuse<T>(&mut self, one: &Assignment, form: &str) -> Option<T> {
        let message = format!("{}:{}: {} = {:?}: it {form}", self.file, one.line, one.key, one.value);
        let cure = "correct the file, or a copy of it that `slob_conf` names";
        self.findings.add(&self.span, message, cure);
        None
    }

    fn set<T>(&mut self, slot: &mut Option<At<T>>, ours: &'static str, value: Option<T>) -> Outcome {
        if slot.is_some() {
            return (Some(ours), format!("the study says `{ours}` itself"));
        }
        let Some(value) = value else {
            return (None, "refused".into());
        };
        *slot = Some(At {
            value,
            span: self.span.clone(),
        });
        self.said.insert((format!("phase.{}", self.name), ours.to_string()));
        (Some(ours), "as in the file".into())
    }

    fn number(&mut self, slot: &mut Option<At<u64>>, ours: &'static str, one: &Assignment, times: u64) -> Outcome {
        let value = match one.value.parse::<u64>().ok().and_then(|value| value.checked_mul(times)) {
            Some(value) => Some(value),
            None => self.refuse(one, "is a whole number"),
        };
        let (key, why) = self.set(slot, ours, value);
        if times != 1 && why == "as in the file" {
            return (key, format!("{} for each of {times} schemas", one.value));
        }
        (key, why)
    }

    /// SLOB's times are seconds, such as `300` and `.1`.
    fn seconds(&mut self, one: &Assignment) -> Option<Duration> {
        let seconds = format!("0{}", one.value).parse::<f64>().ok();
        match seconds
            .filter(|s| (0.0..=1e9).contains(s) && one.value.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
        {
            Some(seconds) => Some(Duration((seconds * 1e9).round() as u64)),
            None => self.refuse(one, "is a number of seconds"),
        }
    }

    /// `80M`, `8G`, `1T`, or a number of blocks of 8 KiB.
    fn size(&mut self, one: &Assignment) -> Option<u64> {
        let text = one.value.to_ascii_uppercase();
        let (digits, factor) = match text.chars().last() {
            Some('K') => (&text[..text.len() - 1], 1 << 10),
            Some('M') => (&text[..text.len() - 1], 1 << 20),
            Some('G') => (&text[..text.len() - 1], 1 << 30),
            Some('T') => (&text[..text.len() - 1], 1u64 << 40),
            _ => (text.as_str(), 8192),
        };
        let size = digits.parse::<u64>().ok().and_then(|value| value.checked_mul(factor));
        match size.filter(|size| *size > 0) {
            Some(size) => Some(size),
            None => self.refuse(one, "is a size such as 80M or 8G, or a number of blocks of 8 KiB"),
        }
    }

    fn scale(&mut self, one: &Assignment) -> Outcome {
        let Some(size) = self.size(one) else {
            return (None, "refused".into());
        };
        let all = Bytes(size.saturating_mul(self.schemas));
        let why = format!(
            "the data are the same in all phases; for {} schemas of this size write scale = \"{all}\" in [database]",
            self.schemas
        );
        (Some("database.scale"), why)
    }

    /// Every how many operations goes to the hot schema: SLOB's frequency, or a percentage that is one.
    fn hot_schema(&mut self, phase: &mut WrittenPhase, one: &Assignment) -> Outcome {
        let ours = "hot_schema_frequency";
        let off = |value: &str| matches!(value.to_ascii_uppercase().as_str(), "0" | "FALSE" | "");
        let switch = self.all.iter().find(|a| a.key == "DO_HOTSCHEMA");
        match one.key.as_str() {
            "DO_HOTSCHEMA" if off(&one.value) => (None, "off".into()),
            "DO_HOTSCHEMA" => {
                let often = |a: &&Assignment| a.key.starts_with("HOT_SCHEMA_") && !off(&a.value);
                if self.all.iter().any(|a| often(&a)) {
                    return (Some(ours), "the frequency says how often".into());
                }
                let none: Option<()> = self.refuse(one, "needs a HOT_SCHEMA_FREQUENCY beside it");
                (none.map(|()| ours), "refused".into())
            }
            _ if switch.is_some_and(|a| off(&a.value)) => (Some(ours), "DO_HOTSCHEMA is off, so it rests".into()),
            "HOT_SCHEMA_FREQUENCY" => self.number(&mut phase.hot_schema_frequency, ours, one, 1),
            _ if off(&one.value) => (Some(ours), "off".into()),
            _ => {
                let value = self.nth_by_percent(one);
                self.set(&mut phase.hot_schema_frequency, ours, value)
            }
        }
    }

    /// A percentage as every nth operation.
    fn nth_by_percent(&mut self, one: &Assignment) -> Option<u64> {
        let percent = one.value.parse::<u64>().ok();
        match percent.filter(|p| (1..=100).contains(p) && 100 % p == 0) {
            Some(percent) => Some(100 / percent),
            None => self.refuse(
                one,
                "is a percentage that every nth operation makes: 1, 2, 4, 5, 10, 20, 25, 50 or 100",
            ),
        }
    }

    /// The hot spot is taken whole from the file, or whole from the study.
    fn hotspot(&mut self, phase: &mut WrittenPhase, one: &Assignment) -> Outcome {
        if !TAKEN.contains(&one.key.as_str()) {
            return self.other(one);
        }
        let flat = &*phase;
        let from_study = |at: &At<u64>| at.span != self.span;
        let said = phase.hotspot.is_some()
            || flat.do_hotspot.as_ref().is_some_and(|at| at.span != self.span)
            || [&flat.hotspot_mb, &flat.hotspot_offset_mb, &flat.hotspot_frequency]
                .into_iter()
                .flatten()
                .any(from_study);
        if said {
            return (Some("hotspot"), "the study says `hotspot` itself".into());
        }
        let on = self
            .all
            .iter()
            .any(|a| a.key == "DO_HOTSPOT" && a.value.eq_ignore_ascii_case("TRUE"));
        let outcome = match one.key.as_str() {
            "DO_HOTSPOT" => {
                let value = match one.value.to_ascii_uppercase().as_str() {
                    "TRUE" => Some(true),
                    "FALSE" | "" => Some(false),
                    _ => self.refuse(one, "is TRUE or FALSE"),
                };
                self.set(&mut phase.do_hotspot, "hotspot", value)
            }
            _ if !on => return (Some("hotspot"), "DO_HOTSPOT is not TRUE, so it rests".into()),
            "HOTSPOT_MB" => self.number(&mut phase.hotspot_mb, "hotspot", one, 1),
            "HOTSPOT_OFFSET_MB" => self.number(&mut phase.hotspot_offset_mb, "hotspot", one, 1),
            "HOTSPOT_FREQUENCY" => self.number(&mut phase.hotspot_frequency, "hotspot", one, 1),
            _ => {
                let value = self.nth_by_percent(one);
                self.set(&mut phase.hotspot_frequency, "hotspot", value)
            }
        };
        (outcome.0.map(|_| "hotspot"), outcome.1)
    }

    fn other(&mut self, one: &Assignment) -> Outcome {
        if let Some((_, why)) = BESIDE.iter().find(|(key, _)| *key == one.key) {
            return (None, format!("not used: {why}"));
        }
        let known = TAKEN.iter().copied().chain(BESIDE.iter().map(|(key, _)| *key));
        let lower: Vec<String> = known.map(str::to_ascii_lowercase).collect();
        if let Some(near) = nearest(&one.key, lower.iter().map(String::as_str)) {
            let message = format!("{}:{}: SLOB has no parameter {}", self.file, one.line, one.key);
            let cure = format!(
                "did you mean {}? Correct the file, or a copy of it",
                near.to_ascii_uppercase()
            );
            self.findings.add(&self.span, message, cure);
            return (None, "refused".into());
        }
        (None, "not used: no parameter of SLOB that is known here".into())
    }
}

/// The rows with what the study uses, once that is settled.
pub(crate) fn settled(rows: Vec<Row>, study: &Study) -> Vec<SlobRow> {
    let used = |row: &Row| {
        let key = match row.ours? {
            "database.scale" => "database.scale".to_string(),
            ours => format!("phase.{}.{ours}", row.phase),
        };
        study
            .resolved
            .iter()
            .find(|r| r.key == key)
            .map(|r| format!("{} = {}", row.ours.unwrap_or_default(), r.value))
    };
    let hidden = |key: &str| key.contains("PASS");
    let all = rows.iter().map(|row| SlobRow {
        phase: row.phase.clone(),
        file: row.file.clone(),
        line: row.assignment.line,
        key: row.assignment.key.clone(),
        seed: if hidden(&row.assignment.key) {
            "(not shown)".into()
        } else {
            row.assignment.value.clone()
        },
        used: used(row),
        why: row.why.clone(),
    });
    all.collect()
}
