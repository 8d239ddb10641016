//! `assay calibrate --all`: everything that says whether to believe a verdict, as one table: what was asked, what came out, what is owed.
//!
//! Takes numbers of simulated studies, a result file of twins and what the traps gave, gives lines with their limits. Prevents: a claim
//! about the method that stands in a document, and nowhere a command that prints it.

use super::fixed::TIME_RATIO_MAX;
use super::procedure::Simulated;
use super::slowed::Slowed;
use super::twins::{Asked, BROKEN_CONFIDENCE, DESIGNS, Row, STUDIES_AS_RUN, duration};
use super::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use report::{Protocols, SideBySide};
use serde_json::{Value, json};
use stats::Design;
use std::fmt::Write;
use std::path::Path;

/// Confidence of the upper limit of a rate that was drawn, and what it is held to.
const LIMIT_CONFIDENCE: f64 = 0.99;
const LIMIT_MAX: f64 = 0.055;
/// The same of studies that were run.
const LIMIT_CONFIDENCE_RUN: f64 = 0.95;
/// Promised of all studies.
const PROMISE: f64 = 0.05;
/// Time is saved where as much is found as the fixed protocol finds (less what is no matter), or nine of ten.
const FOUND_ENOUGH: f64 = 0.9;
const FOUND_LESS: f64 = 0.05;
/// Correlation of neighbouring blocks that must be told from chance before it is said that there is none: with half of it verdicts of twelve
/// blocks err in 9 of 100 cases.
const CORRELATION_TOLD: f64 = 0.4;
/// Traps that were asked for.
const TRAPS_MIN: u64 = 25;
/// Minutes for which is said what can be told apart.
const MINUTES: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// The stint of `schedule = "auto"`, as a study has it unless it says otherwise.
const USUAL_STINT_SECONDS: f64 = 1.0;

/// Column in which figures end: what is owed still stands within 80.
const FIGURE_ENDS: usize = 66;

const LEGEND: &str = "
The last column is the most that is owed. (< x) is an upper limit: 99 % of what
is simulated, 95 % of what was run. `open`: more studies or blocks, or a
fixed protocol that was really run, would say it.
`finds` is the share of studies that see the true difference (err, at ratio 1),
in brackets the fixed protocol's (from its worst case to its best): a time is
kept where as much is found, less 5 points, or nine of ten. `about`: worked out
from the scatter of the blocks. docs/method.md has the rest.
";

/// One line of the table.
pub(super) struct Line {
    pub(super) section: &'static str,
    pub(super) what: String,
    pub(super) figure: String,
    /// What is owed; `None` where nothing is.
    pub(super) owed: Option<String>,
    /// Whether it is kept; `None` where nothing is owed, and where too little was asked to say it.
    pub(super) kept: Option<bool>,
}

/// What is held to the promise of 5 %: broken where the rate is surely above it, kept where `upper` lies under its limit. Between the two
/// there are too few studies to say; a procedure that spends the 5 % in full is never called broken by its luck.
fn keeps_promise(rate: &stats::Rate, upper: f64, limit: f64) -> Option<bool> {
    if rate.lower(BROKEN_CONFIDENCE) > PROMISE {
        return Some(false);
    }
    (upper <= limit).then_some(true)
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
        lines.extend(wandering(twins));
        lines.extend(told_apart(twins));
        lines.extend(twins.slowed.iter().flat_map(Slowed::lines));
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
    lines.extend(not_asked(flags));
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
        let heads = [
            twins.as_ref().map(head_of_twins),
            fixed.as_ref().map(super::fixed::heads),
            traps.as_ref().map(head_of_traps),
        ];
        print(&text(&lines, flags, &heads.into_iter().flatten().collect::<String>()))?;
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

pub(super) fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn false_when_simulated(simulated: &Simulated) -> Vec<Line> {
    let line = |row: &stats::Calibration| {
        let rate = &row.result.false_verdicts;
        let upper = rate.upper(LIMIT_CONFIDENCE);
        let kept = row.promise.and_then(|_| keeps_promise(rate, upper, LIMIT_MAX));
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
        let upper = rate.upper(LIMIT_CONFIDENCE_RUN);
        lines.push(Line {
            section: "False verdicts, this machine's twins as they were run",
            what: format!("studies of {} blocks", row.design.blocks),
            figure: format!("{} of {} (< {})", rate.count, rate.of, percent(upper)),
            owed: Some(whole(PROMISE)),
            kept: keeps_promise(rate, upper, PROMISE).filter(|kept| !kept || rate.of >= STUDIES_AS_RUN),
        });
    }
    for row in &asked.rows {
        lines.push(renamed(row));
    }
    lines
}

/// Either twin as the base in each block. The same blocks under more names say nothing new of the machine: the limit is by the studies that
/// share none, and where those are too few there is none.
fn renamed(row: &Row) -> Line {
    let line = |section, what, figure, is_broken, is_kept: bool| Line {
        section,
        what,
        figure,
        owed: Some(whole(PROMISE)),
        kept: if is_broken {
            Some(false)
        } else {
            is_kept.then_some(true)
        },
    };
    let blocks = row.design.blocks;
    let Some(found) = &row.renamed else {
        let rate = &row.alike.false_verdicts;
        return line(
            "False verdicts, drawn from too few blocks for a limit",
            format!("studies of {blocks} blocks"),
            percent(rate.share()),
            rate.lower(BROKEN_CONFIDENCE) > PROMISE,
            false,
        );
    };
    let upper = found.upper(LIMIT_CONFIDENCE_RUN);
    line(
        "False verdicts, the same studies, either twin the base in each block",
        format!("{} studies of {blocks} blocks", found.studies),
        format!("{} (< {})", percent(found.share), percent(upper)),
        found.lower(BROKEN_CONFIDENCE) > PROMISE,
        upper <= PROMISE,
    )
}

/// Names that are drawn anew hide ratios that stay off to one side for several blocks: that is asked of their order.
fn wandering(asked: &Asked) -> Vec<Line> {
    let line = |(nth, phase): (usize, &String)| {
        let found = asked.twins.blocks.neighbours(nth);
        Line {
            section: "Correlation of neighbouring blocks, this machine's twins",
            what: phase.clone(),
            figure: found.map_or("-".to_string(), |found| format!("{:.2}", found.correlation)),
            owed: Some(found.map_or("a figure".to_string(), |found| format!("{:.2}", found.by_chance))),
            kept: found.and_then(|found| match found.wander() {
                true => Some(false),
                // Chance gives so few blocks as much as would matter.
                false => (found.by_chance <= CORRELATION_TOLD).then_some(true),
            }),
        }
    };
    asked.twins.phases.iter().enumerate().map(line).collect()
}

/// What so many minutes can tell apart: the longest study that fits, drawn from the recorded blocks; worked out from their scatter where
/// twice its blocks were not recorded.
fn told_apart(asked: &Asked) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut last = 0;
    for minutes in MINUTES {
        let fits = |blocks: &u32| asked.seconds(f64::from(*blocks)) <= minutes * 60.0;
        let Some(blocks) = DESIGNS.into_iter().rev().find(fits).filter(|blocks| *blocks > last) else {
            continue;
        };
        last = blocks;
        let drawn = asked.rows.iter().find(|row| row.design.blocks == blocks);
        for (nth, phase) in asked.twins.phases.iter().enumerate() {
            let (found, about) = match drawn {
                Some(row) => (row.found[nth], ""),
                None => {
                    let design = Design::new(blocks, asked.twins.phases.len() as u32, asked.twins.margin);
                    (
                        Some(stats::detectable(&design, asked.twins.blocks.spread(nth))),
                        "about ",
                    )
                }
            };
            lines.push(Line {
                section: "Smallest difference found by 9 of 10 studies on this machine",
                what: format!(
                    "in {} ({blocks} blocks): {phase}",
                    duration(asked.seconds(f64::from(blocks)))
                ),
                figure: found.map_or("none up to tenfold".to_string(), |ratio| {
                    format!("{about}{:.1} %", (ratio - 1.0) * 100.0)
                }),
                owed: None,
                kept: None,
            });
        }
    }
    lines
}

/// What this table does not hold because nobody gave it, with what to give.
fn not_asked(flags: &cli::Calibrate) -> Vec<Line> {
    let all = [
        (
            flags.twins.is_empty(),
            "this machine's noise",
            "--twins (studies/twins.toml)",
        ),
        (
            flags.slowed.is_empty(),
            "a slowdown that was planted",
            "--slowed (its twins: studies/twins-short.toml)",
        ),
        (
            flags.fixed.is_none(),
            "a fixed protocol, run",
            "--fixed --against (studies/)",
        ),
        (flags.scheduled.is_none(), "schedules", "--scheduled FILE"),
        (flags.traps.is_none(), "traps", "--traps FILE"),
    ];
    let missing = all.into_iter().filter(|(is_missing, ..)| *is_missing);
    let line = |(_, what, give): (bool, &str, &str)| Line {
        section: "Not in this table",
        what: what.to_string(),
        figure: give.to_string(),
        owed: None,
        kept: None,
    };
    missing.map(line).collect()
}

/// Whether as much is found as the fixed protocol finds at best, or nine of ten; `None` where it is as much as it finds at worst, and
/// where both intervals leave it open.
fn finds_enough(found: &stats::Rate, fixed_worst: &stats::Rate, fixed_best: &stats::Rate) -> Option<bool> {
    let wanted = |fixed: f64| (fixed - FOUND_LESS).min(FOUND_ENOUGH);
    if found.low >= wanted(fixed_best.share()) {
        return Some(true);
    }
    (found.high < wanted(fixed_worst.low)).then_some(false)
}

/// Whether the verdicts on equal stacks are as rarely false as promised.
fn errs_seldom(rate: &stats::Rate) -> Option<bool> {
    keeps_promise(rate, rate.upper(LIMIT_CONFIDENCE), LIMIT_MAX)
}

/// `is_as_good`: the time is not bought with verdicts that are wrong or missing.
fn beside_fixed(
    section: &'static str,
    what: String,
    found: f64,
    fixed: &str,
    time: f64,
    is_as_good: Option<bool>,
) -> Line {
    Line {
        section,
        what,
        figure: format!("{:.1} %, finds {:.0} ({fixed}) %", time * 100.0, found * 100.0),
        owed: Some(whole(TIME_RATIO_MAX)),
        kept: if time <= TIME_RATIO_MAX {
            is_as_good
        } else {
            Some(false)
        },
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
            match is_alike {
                true => errs_seldom(here),
                false => finds_enough(here, fixed, fixed),
            },
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
            match is_alike {
                true => errs_seldom(here),
                false => finds_enough(here, &one.fixed_worst.found, &one.fixed_best.found),
            },
        )
    };
    asked.beside.iter().map(line).collect()
}

/// Both protocols on the same stacks: verdicts and time, then power.
fn really_run(both: &Protocols) -> Vec<Line> {
    const SECTION: &str = "Time to a verdict, of a fixed protocol's: both really run";
    let what = |one: &SideBySide| format!("{} against {}, {}", one.stack, one.base, one.phase);
    let owed = || Some(whole(TIME_RATIO_MAX));
    let time = |one: &SideBySide| {
        let runs = Line {
            section: SECTION,
            what: what(one),
            figure: format!("{:.1} %, {}", one.time_ratio() * 100.0, one.agreement.words()),
            owed: owed(),
            kept: super::fixed::is_kept(one),
        };
        let wall = one.wall_ratio().map(|ratio| Line {
            section: SECTION,
            what: "  with all set-up, by the wall".to_string(),
            figure: format!("{:.1} %", ratio * 100.0),
            owed: owed(),
            // Time that nothing was learnt in is none that was saved.
            kept: match ratio <= TIME_RATIO_MAX {
                true => one.agreement.is_kept(),
                false => Some(false),
            },
        });
        [Some(runs), wall]
    };
    let missing = both.missing.iter().map(|[stack, base, phase]| Line {
        section: SECTION,
        what: format!("{stack} against {base}, {phase}"),
        figure: "not ranked in short runs".to_string(),
        owed: owed(),
        kept: Some(false),
    });
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
    let times = all.iter().flat_map(time).flatten();
    times.chain(missing).chain(all.iter().map(power)).collect()
}

/// Largest file of another command that is read, in bytes.
const WRITTEN_BYTES_MAX: u64 = 16 << 20;

/// JSON that another command wrote, as far as `is_whole` says that it is that; else `why` not, and what to give.
fn written(file: &Path, is_whole: impl Fn(&Value) -> bool, why: &str, cure: &str) -> Result<Value, Failure> {
    let bad = |why: &str| Failure::Usage(anyhow!("{}: {why}\n  {cure}", file.display()));
    let text = plan::read_file(file, WRITTEN_BYTES_MAX).map_err(|e| bad(&e.to_string()))?;
    let found: Value = serde_json::from_slice(&text).map_err(|e| bad(&e.to_string()))?;
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

fn head_of_twins(asked: &Asked) -> String {
    let twins = &asked.twins;
    format!(
        "this machine{}: {} blocks of {:.1} s;\n{}, {} and {} alike; equal means within {:.1} %\n",
        super::twins::on(&twins.host),
        twins.blocks.blocks(),
        asked.seconds(1.0),
        twins.layers,
        twins.stacks[0],
        twins.stacks[1],
        twins.margin * 100.0
    )
}

/// Which version set them, and where: a file that lies about may be an old one.
fn head_of_traps(found: &Value) -> String {
    let said = |name: &str| found[name].as_str().unwrap_or("unknown").to_string();
    let (version, host) = (said("version"), said("host"));
    format!("traps: set by version {version} on {host}\n")
}

fn text(lines: &[Line], flags: &cli::Calibrate, heads: &str) -> String {
    let mut text = format!("Whether to believe a verdict: {} drawn studies a line\n", flags.studies);
    text.push_str(heads);
    let mut section = "";
    for line in lines {
        if line.section != section {
            section = line.section;
            let _ = writeln!(text, "\n{section}");
        }
        let owed = match (&line.owed, line.kept) {
            (Some(owed), Some(false)) => format!("{owed} MISSED"),
            (Some(owed), None) => format!("{owed} open"),
            (Some(owed), Some(true)) => owed.clone(),
            (None, _) => String::new(),
        };
        let room = FIGURE_ENDS.saturating_sub(2 + line.what.chars().count());
        let row = match line.figure.chars().count() < room {
            true => format!("  {}{:>room$}  {owed}", line.what, line.figure),
            false => format!("  {}\n{:>FIGURE_ENDS$}  {owed}", line.what, line.figure),
        };
        let _ = writeln!(text, "{}", row.trim_end());
    }
    let owing = || lines.iter().filter(|line| line.owed.is_some());
    let of = |kept: Option<bool>| owing().filter(|line| line.kept == kept).count();
    let _ = writeln!(
        text,
        "\nOf {} lines that owe something {} keep it, {} do not, {} are open.",
        owing().count(),
        of(Some(true)),
        of(Some(false)),
        of(None)
    );
    text.push_str(LEGEND);
    text
}
