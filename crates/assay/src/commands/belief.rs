//! `assay calibrate --all`: everything that says whether to believe a verdict, as one table: what was asked, what came out, what is owed.
//!
//! Takes numbers of simulated studies, a result file of twins and what the traps gave, gives lines with their limits. Prevents: a claim
//! about the method that stands in a document, and nowhere a command that prints it.

use super::fixed::TIME_RATIO_MAX;
use super::procedure::Simulated;
use super::twins::{Asked, STUDIES_AS_RUN, duration};
use super::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use report::{Protocols, SideBySide};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// From so many studies on the upper limit of a simulated rate is held to its own bound.
const STUDIES_FOR_LIMIT: u64 = 10_000;
const LIMIT_CONFIDENCE: f64 = 0.99;
const LIMIT_MAX: f64 = 0.055;
/// Promised of studies on this machine's noise.
const PROMISE: f64 = 0.05;
/// Minutes for which is said what can be told apart.
const MINUTES: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// The stint of `schedule = "auto"`, as a study has it unless it says otherwise.
const USUAL_STINT_SECONDS: f64 = 1.0;

/// Column in which figures end: what is owed still stands within 80.
const FIGURE_ENDS: usize = 66;

/// One line of the table.
struct Line {
    section: &'static str,
    what: String,
    figure: String,
    /// What is owed; `None` where nothing is.
    owed: Option<String>,
    /// Whether it is kept; `None` where nothing is owed, and where too little was asked.
    kept: Option<bool>,
}

pub(super) fn belief(flags: &cli::Calibrate) -> Result<(), Failure> {
    // What can be refused comes before what takes its time.
    let traps = flags.traps.as_deref().map(traps).transpose()?;
    let twins = match flags.twins.is_empty() {
        true => None,
        false => Some(Asked::read(flags)?),
    };
    let fixed = super::fixed::asked(flags)?;
    let scheduled = flags.scheduled.as_deref().map(scheduled).transpose()?;
    let simulated = Simulated::run(flags);
    let mut lines = false_when_simulated(&simulated);
    if let Some(twins) = &twins {
        lines.extend(false_on_this_machine(twins));
        lines.extend(told_apart(twins));
    }
    lines.extend(time_when_simulated(&simulated));
    if let Some(twins) = &twins {
        lines.extend(time_on_this_machine(twins));
    }
    if let Some(fixed) = &fixed {
        lines.extend(really_run(fixed));
    }
    lines.extend(scheduled.iter().flat_map(of_schedules));
    if let Some(traps) = &traps {
        lines.extend(of_traps(traps));
    }
    if flags.json {
        print_json(&json!({
            "schema": 1,
            "table": lines.iter().map(Line::data).collect::<Vec<_>>(),
            "procedure": simulated.data(flags),
            "twins": twins.as_ref().map(|twins| twins.data(flags)),
            "fixed": fixed.as_ref().map(super::fixed::data),
            "schedules": scheduled,
            "traps": traps,
        }))?;
    } else {
        print(&text(&lines, flags, twins.as_ref(), fixed.as_ref()))?;
    }
    let missed = lines.iter().filter(|line| line.kept == Some(false)).count();
    if missed == 0 {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "{missed} of these lines do not keep what is owed\n  of simulated studies and traps it is a defect: report it; of this machine: see docs/method.md"
    )))
}

impl Line {
    fn data(&self) -> Value {
        json!({ "section": self.section, "what": self.what, "figure": self.figure, "owed": self.owed, "kept": self.kept })
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn false_when_simulated(simulated: &Simulated) -> Vec<Line> {
    let line = |row: &stats::Calibration| {
        let rate = &row.result.false_verdicts;
        let upper = rate.upper(LIMIT_CONFIDENCE);
        let is_enough = rate.of >= STUDIES_FOR_LIMIT;
        let kept = row
            .promise
            .map(|promise| rate.low <= promise && (!is_enough || (rate.share() <= promise && upper <= LIMIT_MAX)));
        Line {
            section: "False verdicts, simulated studies",
            what: row.name.to_string(),
            figure: format!("{} (< {})", percent(rate.share()), percent(upper)),
            owed: row.promise.map(whole),
            kept,
        }
    };
    simulated.rows.iter().map(line).collect()
}

fn false_on_this_machine(asked: &Asked) -> Vec<Line> {
    let mut lines = Vec::new();
    for row in &asked.rows {
        let Some(found) = &row.as_run else { continue };
        let rate = &found.false_verdicts;
        let upper = rate.upper(0.95);
        let is_bounded = row.design.blocks == 4 && rate.of >= STUDIES_AS_RUN;
        lines.push(Line {
            section: "False verdicts, this machine's twins as they were run",
            what: format!("studies of {} blocks", row.design.blocks),
            figure: format!("{} of {} (< {})", rate.count, rate.of, percent(upper)),
            owed: is_bounded.then(|| whole(PROMISE)),
            kept: is_bounded.then_some(upper <= PROMISE),
        });
    }
    for row in &asked.rows {
        let rate = &row.alike.false_verdicts;
        lines.push(Line {
            section: "False verdicts, this machine's twins drawn anew",
            what: format!("studies of {} blocks", row.design.blocks),
            figure: percent(rate.share()),
            owed: Some(whole(PROMISE)),
            kept: Some(rate.low <= PROMISE),
        });
    }
    lines
}

/// The longest study that fits into so many minutes says what they can tell apart.
fn told_apart(asked: &Asked) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut last = 0;
    for minutes in MINUTES {
        let fits = |row: &&super::twins::Row| asked.seconds(f64::from(row.design.blocks)) <= minutes * 60.0;
        let Some(row) = asked
            .rows
            .iter()
            .rev()
            .find(fits)
            .filter(|row| row.design.blocks > last)
        else {
            continue;
        };
        last = row.design.blocks;
        for (phase, found) in asked.twins.phases.iter().zip(&row.found) {
            lines.push(Line {
                section: "Smallest difference found by 9 of 10 studies on this machine",
                what: format!(
                    "in {} ({} blocks): {phase}",
                    duration(asked.seconds(f64::from(row.design.blocks))),
                    row.design.blocks
                ),
                figure: found.map_or("none up to tenfold".to_string(), |ratio| {
                    format!("{:.1} %", (ratio - 1.0) * 100.0)
                }),
                owed: None,
                kept: None,
            });
        }
    }
    lines
}

fn beside_fixed(section: &'static str, what: String, found: f64, fixed: &str, time: f64) -> Line {
    Line {
        section,
        what,
        figure: format!("{:.1} %, finds {:.0} ({fixed}) %", time * 100.0, found * 100.0),
        owed: Some(whole(TIME_RATIO_MAX)),
        kept: Some(time <= TIME_RATIO_MAX),
    }
}

fn time_when_simulated(simulated: &Simulated) -> Vec<Line> {
    let line = |row: &stats::TimeToVerdict| {
        let world = row.scatter.name.split(" (").next().unwrap_or_default();
        let is_alike = row.true_ratio == 1.0;
        let (here, fixed) = match is_alike {
            true => (&row.false_verdicts, &row.fixed_false),
            false => (&row.found, &row.fixed_found),
        };
        beside_fixed(
            "Time to a verdict, of a fixed protocol's: simulated studies",
            format!("{world}, ratio {}", row.true_ratio),
            here.share(),
            &format!("{:.0}", fixed.share() * 100.0),
            row.time_ratio(),
        )
    };
    simulated.times.iter().map(line).collect()
}

fn time_on_this_machine(asked: &Asked) -> Vec<Line> {
    let line = |one: &super::twins::Beside| {
        let is_alike = one.true_ratio == 1.0;
        let of = |fixed: &stats::FixedProtocol| match is_alike {
            true => fixed.wrong.share() * 100.0,
            false => fixed.found.share() * 100.0,
        };
        let here = match is_alike {
            true => &one.ours.false_verdicts,
            false => &one.ours.detected,
        };
        beside_fixed(
            "Time to a verdict, of a fixed protocol's: this machine's twins",
            format!("{}, ratio {}", asked.twins.phases[one.phase], one.true_ratio),
            here.share(),
            &format!("{:.0} to {:.0}", of(&one.fixed_worst), of(&one.fixed_best)),
            one.time_ratio(),
        )
    };
    asked.beside.iter().map(line).collect()
}

/// Both protocols on the same stacks: verdicts and time, then power.
fn really_run(both: &Protocols) -> Vec<Line> {
    let what = |one: &SideBySide| format!("{} against {}, {}", one.stack, one.base, one.phase);
    let time = |one: &SideBySide| Line {
        section: "Time to a verdict, of a fixed protocol's: both really run",
        what: what(one),
        figure: format!("{:.1} %, {}", one.time_ratio() * 100.0, one.agreement.words()),
        owed: Some(whole(TIME_RATIO_MAX)),
        kept: Some(super::fixed::is_kept(one)),
    };
    let above = |ratio: f64| format!("{:.1}", (ratio - 1.0) * 100.0);
    let power = |one: &SideBySide| Line {
        section: "Smallest difference found by 9 of 10 (the fixed protocol's): both really run",
        what: what(one),
        figure: format!(
            "{} ({}) %",
            above(one.here.smallest_found),
            above(one.fixed.smallest_found)
        ),
        owed: None,
        kept: None,
    };
    let all = &both.comparisons;
    all.iter().map(time).chain(all.iter().map(power)).collect()
}

/// JSON that another command wrote, as far as `is_whole` says that it is that; else `why` not, and what to give.
fn written(file: &Path, is_whole: impl Fn(&Value) -> bool, why: &str, cure: &str) -> Result<Value, Failure> {
    let bad = |why: &str| Failure::Usage(anyhow!("{}: {why}\n  {cure}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| bad(&e.to_string()))?;
    let found: Value = serde_json::from_str(&text).map_err(|e| bad(&e.to_string()))?;
    match found["schema"] == 1 && is_whole(&found) {
        true => Ok(found),
        false => Err(bad(why)),
    }
}

/// What the tests wrote when they set their traps.
fn traps(file: &Path) -> Result<Value, Failure> {
    let cure = "give the file that the tests write: ASSAY_TRAPS=FILE cargo test -p assay --test traps";
    let is_whole = |found: &Value| COUNTS.iter().all(|name| found[*name].is_u64());
    written(file, is_whole, "no counts of traps stand in it", cure)
}

/// What was measured of schedules.
fn scheduled(file: &Path) -> Result<Value, Failure> {
    let cure = "give what the measurement printed: assay calibrate --schedules DIR --json > FILE";
    let is_whole = |found: &Value| found["schedules"].is_array() && found["best"].is_object();
    written(file, is_whole, "no schedules stand in it", cure)
}

/// The schedule that told most in a minute, and the one that a study takes by itself where its stacks can stand side by side.
fn of_schedules(found: &Value) -> Vec<Line> {
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
            _ => "1".to_string(),
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
    let most = rows.iter().filter(|row| is(row, &best["schedule"], of_best));
    let most = most.map(|row| line(row, ": tells most"));
    usual.map(|row| line(row, ": what `auto` takes")).chain(most).collect()
}

const COUNTS: [&str; 4] = ["traps_set", "traps_caught", "twins_judged", "twins_flagged"];

fn of_traps(found: &Value) -> Vec<Line> {
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
            "traps caught, of those set",
            caught,
            set,
            "all".into(),
            caught == set && set > 0,
        ),
        line(
            "honest twins wrongly flagged",
            flagged,
            judged,
            "none".into(),
            flagged == 0,
        ),
    ]
}

fn text(lines: &[Line], flags: &cli::Calibrate, twins: Option<&Asked>, fixed: Option<&Protocols>) -> String {
    let mut text = format!("Whether to believe a verdict: {} drawn studies a line\n", flags.studies);
    if let Some(asked) = twins {
        let _ = writeln!(
            text,
            "this machine: {} blocks of {:.1} s of {}, {} and {} alike",
            asked.twins.blocks.blocks(),
            asked.seconds(1.0),
            asked.twins.layers,
            asked.twins.stacks[0],
            asked.twins.stacks[1]
        );
    }
    text.push_str(&fixed.map(super::fixed::heads).unwrap_or_default());
    let mut section = "";
    for line in lines {
        if line.section != section {
            section = line.section;
            let _ = writeln!(text, "\n{section}");
        }
        let owed = match (&line.owed, line.kept) {
            (Some(owed), Some(false)) => format!("{owed} MISSED"),
            (Some(owed), _) => owed.clone(),
            (None, _) => String::new(),
        };
        let room = FIGURE_ENDS.saturating_sub(2 + line.what.chars().count());
        let row = format!("  {}{:>room$}  {owed}", line.what, line.figure);
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text.push_str(
        "\nThe last column is the most that is owed. (< x) is an upper limit: 99 % of what\n\
         is simulated, 95 % of what was run. `finds` is the share of studies that see the\n\
         true difference (err, at ratio 1), in brackets the fixed protocol's.\n\
         docs/method.md has the rest.\n",
    );
    text
}
