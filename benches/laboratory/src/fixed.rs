//! The fixed protocol that this procedure is held beside, and `laboratory worlds`, where both are simulated.
//!
//! It is the one that a study of compressed LUNs followed: three runs of 300 s for each stack and load, compared here
//! by Welch's test at 95 %, three runs against three. Prevents: a comparison with a protocol that nobody follows.

pub(crate) mod welch;
pub(crate) mod worlds;

use crate::flags;
use crate::outcome::{Failure, print, print_json};
use report::rate_json;
use serde_json::{Value, json};
use stats::{Rate, mean, normals};
use std::fmt::Write;
use worlds::{RUN_SECONDS, TimeToVerdict, time_to_verdict};

/// Runs of a stack in it.
pub(crate) const RUNS: u32 = 3;
/// Seconds of each.
pub(crate) const SECONDS: f64 = 300.0;

/// True ratios at which both are asked.
pub(crate) const RATIOS: [f64; 5] = [1.0, 0.95, 0.9, 0.8, 0.5];

/// Its measuring time, s: two stacks.
pub(crate) fn seconds_of_two() -> f64 {
    2.0 * f64::from(RUNS) * SECONDS
}

/// How often it says what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FixedProtocol {
    /// Studies in which it calls the stacks different, in the right direction.
    pub(crate) found: Rate,
    /// Studies in which it is wrong: a difference where there is none, or in the wrong direction.
    pub(crate) wrong: Rate,
}

/// The fixed protocol on normal runs: `run_sd` is the standard deviation of the log rate of one of its long runs.
pub(crate) fn drawn(run_sd: f64, true_ratio: f64, studies: u64, seed: u64) -> FixedProtocol {
    let (mut found, mut wrong) = (0, 0);
    let mut normal = normals(seed ^ 0xF17ED);
    let mut runs = |middle: f64| -> Vec<f64> { (0..RUNS).map(|_| (middle + run_sd * normal()).exp()).collect() };
    for _ in 0..studies {
        let (base, other) = (runs(0.0), runs(true_ratio.ln()));
        if welch::welch(&base, &other) < 0.05 {
            let right = true_ratio != 1.0 && (mean(&other) < mean(&base)) == (true_ratio < 1.0);
            found += u64::from(right);
            wrong += u64::from(!right);
        }
    }
    FixedProtocol {
        found: Rate::new(found, studies),
        wrong: Rate::new(wrong, studies),
    }
}

/// A true ratio in a table: where it is 1, what is found is false.
pub(crate) fn ratio_words(true_ratio: f64) -> String {
    match true_ratio {
        1.0 => "1 (false)".to_string(),
        other => other.to_string(),
    }
}

pub(crate) fn run(flags: &flags::Worlds) -> Result<(), Failure> {
    let drawing = &flags.drawing;
    let times = time_to_verdict(u64::from(drawing.studies), drawing.seed);
    match drawing.json {
        true => print_json(&json!({
            "schema": 1, "studies": drawing.studies, "seed": drawing.seed, "time_to_verdict": worlds_json(&times),
        })),
        false => print(&text(&times, drawing.studies)),
    }
    Ok(())
}

fn text(times: &[TimeToVerdict], studies: u32) -> String {
    let mut text = format!(
        "{studies} simulated studies a line, beside a fixed protocol ({RUNS} runs of {SECONDS:.0} s a stack,\n\
         Welch's test at 95 %); runs of {RUN_SECONDS:.0} s here. A difference was found, by each:\n"
    );
    let share = |rate: &Rate| format!("{:.1} %", rate.share() * 100.0);
    let mut scatter = "";
    for row in times {
        if row.scatter.name != scatter {
            scatter = row.scatter.name;
            let _ = writeln!(
                text,
                "{scatter}\n{:>24} {:>9} {:>9} {:>10} {:>16}",
                "true ratio", "fixed", "here", "time", "of the fixed"
            );
        }
        let (fixed, here) = match row.true_ratio {
            1.0 => (&row.fixed_false, &row.false_verdicts),
            _ => (&row.fixed_found, &row.found),
        };
        let _ = writeln!(
            text,
            "{:>24} {:>9} {:>9} {:>8.0} s {:>14.1} %",
            ratio_words(row.true_ratio),
            share(fixed),
            share(here),
            row.seconds_mean,
            row.time_ratio() * 100.0
        );
    }
    text
}

/// A row for each world and ratio.
pub(crate) fn worlds_json(times: &[TimeToVerdict]) -> Value {
    let one = |row: &TimeToVerdict| {
        let (found, wrong) = (rate_json(&row.fixed_found), rate_json(&row.fixed_false));
        json!({
            "scatter": row.scatter.name,
            "between": row.scatter.between,
            "within": row.scatter.within,
            "true_ratio": row.true_ratio,
            "fixed": { "found": found, "false": wrong, "seconds": seconds_of_two() },
            "found": rate_json(&row.found),
            "equivalent": rate_json(&row.equivalent),
            "false_verdicts": rate_json(&row.false_verdicts),
            "seconds_mean": row.seconds_mean,
            "seconds_extended": row.seconds_extended,
            "time_ratio": row.time_ratio(),
        })
    };
    times.iter().map(one).collect()
}
