//! The lines of the table that are made from what other commands wrote: traps that tests set, and schedules that were
//! measured.
//!
//! Takes JSON files, gives lines, and refuses a file of something else. Prevents: a table in which what was not read is
//! missing in silence.

use super::Line;
use crate::outcome::Failure;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Traps that were asked for.
const TRAPS_MIN: u64 = 25;
/// The stint of `schedule = "auto"`, as a study has it unless it says otherwise.
const USUAL_STINT_SECONDS: f64 = 1.0;

/// Largest file of another command that is read, in bytes.
const WRITTEN_BYTES_MAX: u64 = 16 << 20;

/// JSON that another command wrote, as far as `is_whole` says that it is that; else `why` not, and what to give.
fn written(file: &Path, is_whole: impl Fn(&Value) -> bool, why: &str, cure: &str) -> Result<Value, Failure> {
    let bad = |why: &str| Failure::usage(format_args!("{}: {why}\n  {cure}", file.display()));
    let mut text = Vec::new();
    let opened = File::open(file).and_then(|open| open.take(WRITTEN_BYTES_MAX).read_to_end(&mut text));
    opened.map_err(|e| bad(&e.to_string()))?;
    let found: Value = serde_json::from_slice(&text).map_err(|e| bad(&e.to_string()))?;
    match found["schema"] == 1 && is_whole(&found) {
        true => Ok(found),
        false => Err(bad(why)),
    }
}

/// What the tests wrote when they set their traps.
pub(super) fn traps(file: &Path) -> Result<Value, Failure> {
    let cure = "give the file that the tests write: ASSAY_TRAPS=FILE cargo test -p assay --test integration traps::";
    let is_whole = |found: &Value| COUNTS.iter().all(|name| found[*name].is_u64());
    written(file, is_whole, "no counts of traps stand in it", cure)
}

/// What was measured of schedules.
pub(super) fn scheduled(file: &Path) -> Result<Value, Failure> {
    let cure = "give what the measurement printed: laboratory schedules DIR --json > FILE";
    let is_whole = |found: &Value| found["schedules"].is_array() && found["best"].is_object();
    written(file, is_whole, "no schedules stand in it", cure)
}

/// The schedule that told most in a minute, and the one that a study takes by itself where its stacks can stand side by
/// side.
pub(super) fn of_schedules(found: &Value) -> Vec<Line> {
    let rows = found["schedules"].as_array().map_or(&[][..], Vec::as_slice);
    let is = |row: &Value, name: &Value, stint: f64| {
        row["schedule"] == *name
            && row["stint_seconds"]
                .as_f64()
                .is_some_and(|of| (of - stint).abs() < stint / 100.0)
    };
    let best = &found["best"];
    let of_best = best["stint_seconds"].as_f64().unwrap_or(0.0);
    let line = |row: &Value, note: &str| {
        let gain = &row["told_per_minute_to_whole"];
        let end = |name: &str| gain[name].as_f64();
        let figure = match (end("middle"), end("low"), end("high")) {
            (Some(middle), Some(low), Some(high)) => format!("{middle:.1} ({low:.1} to {high:.1})"),
            _ => "too few blocks".to_string(),
        };
        let name = row["schedule"].as_str().unwrap_or_default();
        let stint = row["stint_seconds"].as_f64().unwrap_or(0.0);
        Line {
            section: "Told in a minute, over what whole runs tell in one",
            what: format!("{name}, {stint:.2} s at a time{note}"),
            figure,
            owed: None,
            kept: None,
        }
    };
    let usual = rows.iter().filter(|row| is(row, &json!("abba"), USUAL_STINT_SECONDS));
    let is_told = |row: &&Value| row["told_per_minute_to_whole"]["middle"].is_f64();
    let most = rows.iter().filter(|row| is(row, &best["schedule"], of_best));
    let most = most.filter(is_told);
    let most = most.map(|row| line(row, ": tells most"));
    usual.map(|row| line(row, ": what `auto` takes")).chain(most).collect()
}

const COUNTS: [&str; 4] = ["traps_set", "traps_caught", "twins_judged", "twins_flagged"];

pub(super) fn of_traps(found: &Value) -> Vec<Line> {
    let [set, caught, judged, flagged] = COUNTS.map(|name| found[name].as_u64().unwrap_or(0));
    let line = |what: &str, count: u64, of: u64, owed: String, kept: bool| Line {
        section: "Traps",
        what: what.to_string(),
        figure: format!("{count} of {of}"),
        owed: Some(owed),
        kept: Some(kept),
    };
    vec![
        line(
            &format!("traps caught, of those set ({TRAPS_MIN} at least)"),
            caught,
            set,
            "all".into(),
            caught == set && set >= TRAPS_MIN,
        ),
        line(
            "honest twins wrongly flagged",
            flagged,
            judged,
            "none".into(),
            flagged == 0 && judged >= TRAPS_MIN,
        ),
    ]
}

/// Which version set them, and where: a file that lies about may be an old one.
pub(super) fn head_of_traps(found: &Value) -> String {
    let said = |name: &str| found[name].as_str().unwrap_or("unknown").to_string();
    let (version, host) = (said("version"), said("host"));
    format!("traps: set by version {version} on {host}\n")
}
