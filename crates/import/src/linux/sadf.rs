//! `sadf -j -- -d`: the JSON of sysstat, all versions.
//!
//! Takes text; gives figures by device, means over the intervals. Prevents: sectors of old versions read as KiB, and a
//! number whose place in the text is lost.

use super::devices::{Interval, Value};
use crate::error::ImportError;
use crate::figure::{Fact, Imported, Notes, cut, excerpt};
use crate::format::{FIGURES_MAX, Format, Options};
use crate::lines::lines;
use crate::number::VALUE_MAX;
use serde_json::Value as Json;
use std::borrow::Cow;

/// The key that holds all of it.
const SYSSTAT: &str = "\"sysstat\"";

/// True for a text that holds it.
pub(crate) fn is_sadf(text: &str) -> bool {
    text.contains(SYSSTAT) && text.contains("\"hosts\"")
}

/// Keys of a device, with the titles that sar prints for them.
const KEYS: [(&str, &str); 13] = [
    ("tps", "tps"),
    ("rkB", "rkB/s"),
    ("wkB", "wkB/s"),
    ("dkB", "dkB/s"),
    ("rd_sec", "rd_sec/s"),
    ("wr_sec", "wr_sec/s"),
    ("areq-sz", "areq-sz"),
    ("avgrq-sz", "avgrq-sz"),
    ("aqu-sz", "aqu-sz"),
    ("avgqu-sz", "avgqu-sz"),
    ("await", "await"),
    ("svctm", "svctm"),
    ("util-percent", "%util"),
];

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let start = text.find('{').unwrap_or(text.len());
    let first = line_of(text, start);
    let wrong = |line: u32, what: String| ImportError::Other {
        line,
        what,
        cure: "write it with `sadf -j -- -d`, and give the whole file".into(),
    };
    of_iostat(text)?;
    crate::json::bounded(text)?;
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Json>();
    let document = match values.next() {
        Some(Ok(document)) => document,
        Some(Err(error)) => {
            let below = u32::try_from(error.line().saturating_sub(1)).unwrap_or(0);
            return Err(wrong(
                first.saturating_add(below),
                format!("not the JSON of sadf: {error}"),
            ));
        }
        None => return Err(wrong(1, "there is no JSON".into())),
    };
    let end = start + values.byte_offset();
    if let Some(second) = text[end..].find(SYSSTAT) {
        return Err(ImportError::second_run(line_of(text, end + second), "sadf"));
    }
    let hosts = document["sysstat"]["hosts"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let [host] = hosts else {
        return Err(wrong(first, format!("it has {} hosts, and one is read", hosts.len())));
    };
    let intervals = intervals(text, host)?;
    let mut facts = Vec::new();
    for key in [
        "nodename",
        "sysname",
        "release",
        "machine",
        "number-of-cpus",
        "file-date",
        "date",
    ] {
        let said = match &host[key] {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            _ => continue,
        };
        facts.push(Fact {
            name: key.into(),
            value: excerpt(&said),
            line: first,
        });
    }
    super::imported(
        (Format::Sadf, "JSON of sadf"),
        facts,
        &intervals,
        options,
        Notes::default(),
    )
}

/// Refuses the JSON of `iostat -o JSON`, which has the same frame.
fn of_iostat(text: &str) -> Result<(), ImportError> {
    match text.find("\"disk_device\"") {
        None => Ok(()),
        Some(at) => Err(ImportError::Other {
            line: line_of(text, at),
            what: "this is the JSON of iostat, which is not read".into(),
            cure: "take it as text: `LC_ALL=C iostat -x 5 13`".into(),
        }),
    }
}

fn line_of(text: &str, at: usize) -> u32 {
    u32::try_from(text[..at].matches('\n').count() + 1).unwrap_or(u32::MAX)
}

/// Most devices of all intervals together.
const ROWS_MAX: usize = FIGURES_MAX * 4;

/// Lines on which devices are named, in their order.
fn places(text: &str) -> Result<Vec<u32>, ImportError> {
    let mut found = Vec::new();
    for line in lines(text) {
        let named = line.text.matches("\"disk-device\"").count();
        if found.len() + named > ROWS_MAX {
            return Err(ImportError::TooLarge { bytes: text.len() });
        }
        found.extend(std::iter::repeat_n(line.number, named));
    }
    Ok(found)
}

fn intervals<'t>(text: &'t str, host: &Json) -> Result<Vec<Interval<'t>>, ImportError> {
    let mut lines = places(text)?.into_iter();
    let mut line = 1;
    let mut intervals = Vec::new();
    for statistics in host["statistics"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let Some(disks) = statistics["disk"].as_array() else {
            continue;
        };
        let mut interval = Interval {
            titles: KEYS.iter().map(|(_, title)| *title).collect(),
            ..Interval::default()
        };
        for disk in disks {
            let Some(name) = disk.get("disk-device") else { continue };
            // A key that is written with escapes has no line of its own.
            line = lines.next().unwrap_or(line);
            let Some(name) = name.as_str() else { continue };
            let of = |(key, _): &(&str, &str)| {
                let number = disk
                    .get(key)?
                    .as_f64()
                    .filter(|number| (0.0..=VALUE_MAX).contains(number))?;
                Some(Value {
                    value: number,
                    text: Cow::Owned(disk[key].to_string()),
                    line,
                })
            };
            interval.line = line;
            interval
                .rows
                .push((Cow::Owned(cut(name).to_string()), KEYS.iter().map(of).collect()));
        }
        // Without rows after others: nothing was done in it.
        if !interval.rows.is_empty() || !intervals.is_empty() {
            intervals.push(interval);
        }
    }
    Ok(intervals)
}
