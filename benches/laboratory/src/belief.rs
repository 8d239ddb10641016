//! `laboratory belief`: everything that says whether to believe a verdict, as one table: what was asked, what came out,
//! what is owed.
//!
//! Takes numbers of simulated studies, result files of twins and what the traps gave, gives lines with their limits.
//! Prevents: a claim about the method that stands in a document, and nowhere a command that prints it.

mod errors;
mod given;
pub(crate) mod measure;
mod times;

use crate::fixed::worlds::time_to_verdict;
use crate::fixed::worlds_json;
use crate::flags;
use crate::outcome::{Failure, print, print_json};
use crate::protocols;
use crate::twins::Examined;
use crate::twins::slowed::Slowed;
use anyhow::anyhow;
use serde_json::{Value, json};
use std::fmt::Write;

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
pub(crate) struct Line {
    pub(crate) section: &'static str,
    pub(crate) what: String,
    pub(crate) figure: String,
    /// What is owed; `None` where nothing is.
    pub(crate) owed: Option<String>,
    /// Whether it is kept; `None` where nothing is owed, and where too little was asked to say it.
    pub(crate) kept: Option<bool>,
}

impl Line {
    fn json(&self) -> Value {
        json!({
            "section": self.section, "what": self.what, "figure": self.figure, "owed": self.owed, "kept": self.kept,
        })
    }

    /// A share without digits after the point.
    pub(crate) fn percent(share: f64) -> String {
        format!("{:.0} %", share * 100.0)
    }
}

pub(crate) fn run(flags: &flags::Belief) -> Result<(), Failure> {
    let (drawing, given) = (&flags.drawing, &flags.given);
    if !given.slowed.is_empty() && flags.twins.is_empty() {
        return Err(Failure::usage(
            "--slowed: give the twins that it is held against with --twins",
        ));
    }
    // What can be refused comes before what takes its time.
    let traps = flags.traps.as_deref().map(given::traps).transpose()?;
    let scheduled = given.scheduled.as_deref().map(given::scheduled).transpose()?;
    let protocols = match given.protocols.as_slice() {
        [fixed, short] => Some(protocols::read(fixed, short)?),
        [] => None,
        _ => return Err(Failure::usage("--protocols: give it once, with two files")),
    };
    let twins = match flags.twins.is_empty() {
        true => None,
        false => Some(Examined::read(&flags.twins, &given.slowed, drawing)?),
    };
    let studies = u64::from(drawing.studies);
    let procedure = stats::calibrate_procedure(studies, drawing.seed);
    let worlds = time_to_verdict(studies, drawing.seed);
    let mut lines = errors::simulated(&procedure);
    if let Some(twins) = &twins {
        lines.extend(errors::of_twins(twins));
        lines.extend(twins.slowed.iter().flat_map(Slowed::lines));
    }
    lines.extend(times::simulated(&worlds));
    lines.extend(twins.iter().flat_map(times::of_twins));
    lines.extend(protocols.iter().flat_map(times::really_run));
    lines.extend(scheduled.iter().flat_map(given::of_schedules));
    lines.extend(traps.iter().flat_map(given::of_traps));
    lines.extend(not_asked(flags));
    if drawing.json {
        print_json(&json!({
            "schema": 1,
            "table": lines.iter().map(Line::json).collect::<Vec<_>>(),
            "worlds": worlds_json(&worlds),
            "twins": twins.as_ref().map(Examined::json),
            "protocols": protocols.as_ref().map(protocols::shown::json),
            "schedules": scheduled,
            "traps": traps,
        }));
    } else {
        let heads = [
            twins.as_ref().map(head_of_twins),
            protocols.as_ref().map(protocols::shown::heads),
            traps.as_ref().map(given::head_of_traps),
        ];
        let heads = heads.into_iter().flatten().collect::<String>();
        print(&text(&lines, drawing.studies, &heads));
    }
    let missed = lines.iter().filter(|line| line.kept == Some(false)).count();
    if missed == 0 {
        return Ok(());
    }
    Err(Failure::Missed(anyhow!(
        "{missed} of these lines do not keep what is owed\n  \
         of simulated studies and traps it is a defect: report it; of this machine: see docs/method.md"
    )))
}

/// What this table does not hold because nobody gave it, with what to give.
fn not_asked(flags: &flags::Belief) -> Vec<Line> {
    let all = [
        (
            flags.twins.is_empty(),
            "this machine's noise",
            "--twins (benches/laboratory/studies/twins.toml)",
        ),
        (
            flags.given.slowed.is_empty(),
            "a slowdown that was planted",
            "--slowed (its twins: benches/laboratory/studies/twins-short.toml)",
        ),
        (
            flags.given.protocols.is_empty(),
            "a fixed protocol, run",
            "--protocols (benches/laboratory/studies/)",
        ),
        (flags.given.scheduled.is_none(), "schedules", "--scheduled FILE"),
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

fn head_of_twins(asked: &Examined) -> String {
    let twins = &asked.noise.twins;
    format!(
        "this machine{}: {} blocks of {:.1} s;\n{}, {} and {} alike; equal means within {:.1} %\n",
        twins.on_host(),
        twins.blocks.blocks(),
        asked.noise.seconds(1),
        twins.layers,
        twins.stacks[0],
        twins.stacks[1],
        twins.margin * 100.0
    )
}

fn text(lines: &[Line], studies: u32, heads: &str) -> String {
    let mut text = format!("Whether to believe a verdict: {studies} drawn studies a line\n");
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
