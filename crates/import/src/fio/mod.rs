//! fio's JSON: rates, bytes, latencies and processor time of the jobs, summed.
//!
//! Takes the text, with whatever fio printed around the JSON; gives one report. Latencies are nanoseconds since fio 3
//! (`lat_ns`), microseconds before (`lat`). Prevents: the KiB of old versions read as bytes, the mean of jobs taken
//! without regard to how much each did, and the sum of jobs that ran one after the other.

mod job;
mod lines;
mod together;

use crate::error::ImportError;
use crate::figure::{Fact, Figure, Imported, Note, Quantity, Report};
use crate::format::Format;
use job::{printed, runtime};
use lines::Places;
use serde_json::Value;

/// The key by which a result of fio's is known.
pub(crate) const VERSION: &str = "\"fio version\"";

/// Most jobs of one run.
const JOBS_MAX: usize = 10_000;

pub(crate) fn read(text: &str) -> Result<Imported, ImportError> {
    crate::json::bounded(text)?;
    let (start, end, document) = document(text)?;
    must_be_alone(text, end)?;
    let wrong = |detail: &str| ImportError::Json {
        line: line_of(text, start),
        detail: detail.into(),
    };
    let version = document["fio version"].as_str().unwrap_or_default().to_string();
    let jobs = document["jobs"]
        .as_array()
        .ok_or_else(|| wrong("it has no list `jobs`"))?;
    if jobs.is_empty() {
        return Err(wrong("its list `jobs` is empty"));
    }
    if jobs.len() > JOBS_MAX {
        return Err(ImportError::TooLarge { bytes: text.len() });
    }
    let places = Places::of(text, start);
    let global = &document["global options"];
    refuse(global, jobs, &places)?;
    let mut notes = Vec::new();
    let mut figures = figures(jobs, &places);
    figures.extend(elapsed(global, jobs, &places));
    for (index, job) in jobs.iter().enumerate() {
        if let Some(error) = job["error"].as_i64().filter(|error| *error != 0) {
            notes.push(Note {
                line: places.job(index),
                text: format!("job {index} ended with error {error}"),
            });
        }
    }
    notes.truncate(100);
    let facts = facts(&document, jobs, &places, line_of(text, start));
    Ok(Imported {
        format: Format::Fio,
        layout: format!(
            "JSON of {}, {}",
            if version.is_empty() { "fio" } else { &version },
            if jobs.len() == 1 {
                "one job".into()
            } else {
                format!("{} jobs", jobs.len())
            }
        ),
        facts,
        reports: vec![Report {
            figures,
            ..Report::default()
        }],
        notes,
    })
}

/// Jobs of which no sum over directions or jobs would be true.
fn refuse(global: &Value, jobs: &[Value], places: &Places) -> Result<(), ImportError> {
    if let Some((index, why)) = together::apart(global, jobs) {
        return Err(ImportError::Other {
            line: places.job(index),
            what: format!("this job ran after another one ({why}), so their rates cannot be summed"),
            cure: "run each job by itself and import each result under a phase of its own".into(),
        });
    }
    let mixed = |job: &Value| job["mixed"].is_object() && !job["read"].is_object() && !job["write"].is_object();
    match jobs.iter().position(mixed) {
        Some(index) => Err(ImportError::Other {
            line: places.job(index),
            what: "this job counts reads and writes as one (unified_rw_reporting)".into(),
            cure: "run it with unified_rw_reporting=none, or =both".into(),
        }),
        None => Ok(()),
    }
}

/// Version, jobs and options; `line`: where the object begins.
fn facts(document: &Value, jobs: &[Value], places: &Places, line: u32) -> Vec<Fact> {
    let names: Vec<&str> = jobs.iter().take(20).filter_map(|job| job["jobname"].as_str()).collect();
    let mut facts = vec![
        Fact {
            name: "jobs".into(),
            value: crate::figure::excerpt(&names.join(", ")),
            line: places.job(0),
        },
        Fact {
            name: "version".into(),
            value: crate::figure::excerpt(document["fio version"].as_str().unwrap_or_default()),
            line,
        },
    ];
    let options = |source: &Value| source.as_object().cloned().unwrap_or_default();
    let merged = options(&document["global options"])
        .into_iter()
        .chain(options(&jobs[0]["job options"]));
    for (key, value) in merged.take(64) {
        if let Some(value) = value.as_str() {
            facts.push(Fact {
                name: format!("option {}", crate::figure::excerpt(&key)),
                value: crate::figure::excerpt(value),
                line: places.job(0),
            });
        }
    }
    facts
}

/// The object and the bytes at which it begins and ends: fio may print words before and after it.
fn document(text: &str) -> Result<(usize, usize, Value), ImportError> {
    let mut tried = None;
    let mut at = 0;
    // A word before the object may hold a brace of its own; only those that begin a line are tried, and few of them.
    for line in text.split_inclusive('\n').take(10_000) {
        let start = at + (line.len() - line.trim_start_matches(['\u{feff}', ' ', '\t']).len());
        at += line.len();
        if !text[start..].starts_with('{') {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if value.get("jobs").is_some() => return Ok((start, start + values.byte_offset(), value)),
            Some(Err(error)) => {
                return Err(ImportError::Json {
                    line: line_of(text, start) + u32::try_from(error.line().saturating_sub(1)).unwrap_or(0),
                    detail: error.to_string(),
                });
            }
            _ => tried = Some(start),
        }
    }
    Err(ImportError::Json {
        line: tried.map_or(1, |start| line_of(text, start)),
        detail: "there is no object with `jobs`".into(),
    })
}

/// Refuses another result behind the first: with `--status-interval` each holds all that the one before it does.
fn must_be_alone(text: &str, mut end: usize) -> Result<(), ImportError> {
    let (mut results, mut second) = (1, None);
    while let Some(start) = object_after(text, end) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let (is_result, whole) = match values.next() {
            Some(Ok(value)) => (value.get("jobs").is_some(), true),
            // Cut off, or words that begin with a brace.
            _ => (text[start..].contains(VERSION), false),
        };
        if is_result {
            results += 1;
            second = second.or(Some(line_of(text, start)));
        }
        if !whole {
            break;
        }
        end = start + values.byte_offset();
    }
    second.map_or(Ok(()), |line| {
        Err(ImportError::Other {
            line,
            what: format!("{results} results of fio are in this text, and here the second begins"),
            cure: "of one run (--status-interval) keep the last, which is that of the whole run; import each of \
                   several runs by itself"
                .into(),
        })
    })
}

/// Where a line begins with an object, from that byte on.
fn object_after(text: &str, mut at: usize) -> Option<usize> {
    for line in text[at..].split_inclusive('\n') {
        let blank = line.len() - line.trim_start().len();
        if line[blank..].starts_with('{') {
            return Some(at + blank);
        }
        at += line.len();
    }
    None
}

fn line_of(text: &str, at: usize) -> u32 {
    let count = text.as_bytes()[..at.min(text.len())]
        .iter()
        .filter(|b| **b == b'\n')
        .count();
    u32::try_from(count + 1).unwrap_or(u32::MAX)
}

/// Sums over the jobs, and means weighted by their requests.
fn figures(jobs: &[Value], places: &Places) -> Vec<Figure> {
    let mut figures = Vec::new();
    for direction in ["read", "write"] {
        let ios = |job: &Value| printed(&job[direction]["total_ios"]).map_or(0.0, |(count, _)| count);
        if jobs.iter().map(ios).sum::<f64>() <= 0.0 {
            continue;
        }
        let (rate, bytes, time) = match direction {
            "read" => (Quantity::ReadsPerS, Quantity::ReadBytesPerS, Quantity::ReadNs),
            _ => (Quantity::WritesPerS, Quantity::WriteBytesPerS, Quantity::WriteNs),
        };
        let mut add = |key: &str, unit, value: Option<(f64, String)>, quantity: Option<(Quantity, f64)>| {
            let Some((value, text)) = value else { return };
            let figure = Figure {
                name: format!("{direction}.{key}"),
                value,
                text,
                unit,
                line: line_of_key(places, direction, key),
                comparable: None,
            };
            figures.push(match quantity {
                Some((quantity, factor)) => figure.of_quantity(quantity, factor),
                None => figure,
            });
        };
        let of = |key: &'static str| sum(jobs, move |job| &job[direction][key]);
        add("total_ios", "requests", of("total_ios"), None);
        add("iops", "/s", of("iops"), Some((rate, 1.0)));
        match of("bw_bytes") {
            Some(value) => add("bw_bytes", "bytes/s", Some(value), Some((bytes, 1.0))),
            None => add("bw", "KiB/s", of("bw"), Some((bytes, 1024.0))),
        }
        let of_direction = Latencies { jobs, direction, time };
        for (key, unit, value, quantity) in of_direction.all() {
            add(&key, unit, value, quantity);
        }
    }
    figures
}

/// The time of the job that ran longest.
fn elapsed(global: &Value, jobs: &[Value], places: &Places) -> Option<Figure> {
    let times = jobs.iter().filter_map(|job| runtime(global, job));
    let (value, text) = times.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let figure = Figure {
        name: "runtime".into(),
        value,
        text,
        unit: "ms",
        line: places.job(0),
        comparable: None,
    };
    Some(figure.of_quantity(Quantity::ElapsedS, 1e-3))
}

/// Latencies of one direction.
struct Latencies<'v> {
    jobs: &'v [Value],
    direction: &'v str,
    time: Quantity,
}

/// Key, unit, value with its digits, quantity with the factor to its unit.
type Part = (String, &'static str, Option<(f64, String)>, Option<(Quantity, f64)>);

impl Latencies<'_> {
    fn all(&self) -> Vec<Part> {
        let ios = |job: &Value| printed(&job[self.direction]["total_ios"]).map_or(0.0, |(count, _)| count);
        let mut parts = Vec::new();
        for (stat, unit, factor) in [
            ("lat_ns", "ns", 1.0),
            ("clat_ns", "ns", 1.0),
            ("lat", "us", 1e3),
            ("clat", "us", 1e3),
        ] {
            let mean = weighted(self.jobs, |job| &job[self.direction][stat]["mean"], ios);
            let quantity = stat.starts_with("lat").then_some((self.time, factor));
            parts.push((format!("{stat}.mean"), unit, mean, quantity));
            // Percentiles of several jobs cannot be put together: only those of a single one are taken.
            let [job] = self.jobs else { continue };
            for percentile in ["50.000000", "95.000000", "99.000000", "99.900000"] {
                let value = printed(&job[self.direction][stat]["percentile"][percentile]);
                let short = percentile.trim_end_matches('0').trim_end_matches('.');
                parts.push((format!("{stat}.p{short}"), unit, value, None));
            }
        }
        parts
    }
}

/// `lat_ns.mean` stands inside `lat_ns`, `clat_ns.p99` on the line of its percentile.
fn line_of_key(places: &Places, direction: &str, key: &str) -> u32 {
    match key.split_once('.') {
        Some((outer, "mean")) => places.key(0, &[direction, outer, "mean"]),
        Some((outer, percentile)) => {
            let percentile = percentile.trim_start_matches('p');
            let padded = format!(
                "{percentile}{}",
                if percentile.contains('.') { "00000" } else { ".000000" }
            );
            places.key(0, &[direction, outer, "percentile", &padded])
        }
        None => places.key(0, &[direction, key]),
    }
}

fn sum<'v>(jobs: &'v [Value], of: impl Fn(&'v Value) -> &'v Value) -> Option<(f64, String)> {
    let found: Vec<(f64, String)> = jobs.iter().filter_map(|job| printed(of(job))).collect();
    match found.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => {
            let digits = several
                .iter()
                .map(|(_, text)| crate::number::decimals(text))
                .max()
                .unwrap_or(0);
            let total: f64 = several.iter().map(|(value, _)| value).sum();
            total.is_finite().then(|| crate::number::rounded(total, digits))
        }
    }
}

fn weighted<'v>(
    jobs: &'v [Value],
    of: impl Fn(&'v Value) -> &'v Value,
    weight: impl Fn(&Value) -> f64,
) -> Option<(f64, String)> {
    let found: Vec<((f64, String), f64)> = jobs
        .iter()
        .filter_map(|job| Some((printed(of(job))?, weight(job))))
        .filter(|(_, weight)| *weight > 0.0)
        .collect();
    match found.as_slice() {
        [] => None,
        [(one, _)] => Some(one.clone()),
        several => {
            let weights: f64 = several.iter().map(|(_, weight)| weight).sum();
            let mean = several
                .iter()
                .map(|((value, _), weight)| value * weight / weights)
                .sum::<f64>();
            mean.is_finite().then(|| crate::number::rounded(mean, 3))
        }
    }
}
