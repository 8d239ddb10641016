//! What one job of fio's JSON says: its numbers with their digits, its options, how long it ran.
//!
//! Takes the job and the options that hold for all; gives values. Prevents: the time of all threads together taken for
//! that of the run.

use crate::number::VALUE_MAX;
use serde_json::Value;

/// A number with the digits that stand in the file.
pub(super) fn printed(value: &Value) -> Option<(f64, String)> {
    let number = value.as_f64().filter(|number| (0.0..=VALUE_MAX).contains(number))?;
    Some((number, value.to_string()))
}

/// An option of a job: its own, else that of all jobs.
pub(super) fn option<'v>(global: &'v Value, job: &'v Value, name: &str) -> Option<&'v Value> {
    job["job options"].get(name).or_else(|| global.get(name))
}

/// How long it ran, ms: the longer of its two directions. `job_runtime` is asked last, for it is the sum over all
/// threads of the job (`numjobs` under `group_reporting`).
pub(super) fn runtime(global: &Value, job: &Value) -> Option<(f64, String)> {
    let of = |direction: &str| printed(&job[direction]["runtime"]);
    let longest = [of("read"), of("write")]
        .into_iter()
        .flatten()
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let alone = || {
        let threads = option(global, job, "numjobs");
        threads.is_none_or(|threads| threads.as_str() == Some("1"))
    };
    longest.or_else(|| printed(&job["job_runtime"]).filter(|_| alone()))
}

/// Milliseconds of an option that is a time; 0 where it is not said, `None` where it cannot be read.
pub(super) fn milliseconds(global: &Value, job: &Value, name: &str) -> Option<f64> {
    match option(global, job, name) {
        None => Some(0.0),
        Some(Value::String(text)) => longest(text),
        Some(value) => value.as_f64().map(|seconds| seconds * 1e3),
    }
}

/// `60`, `1500ms`, or the end of a range such as `10-20`. Without a unit it is seconds.
fn longest(text: &str) -> Option<f64> {
    let times = text.split(['-', ':', ',']).map(|part| {
        let part = part.trim();
        let digits = part.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor = match &part[digits.len()..] {
            "us" | "usec" => 1e-3,
            "ms" | "msec" => 1.0,
            "" | "s" | "sec" => 1e3,
            "m" => 60e3,
            "h" => 3_600e3,
            "d" => 86_400e3,
            _ => return None,
        };
        let number: f64 = digits.parse().ok()?;
        (0.0..=VALUE_MAX).contains(&number).then_some(number * factor)
    });
    times.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_fio_takes_them() {
        for (text, wanted) in [
            ("60", Some(60e3)),
            ("1500ms", Some(1500.0)),
            ("2m", Some(120e3)),
            ("10-20", Some(20e3)),
            ("soon", None),
            ("", None),
            ("inf", None),
        ] {
            assert_eq!(longest(text), wanted, "{text}");
        }
    }
}
