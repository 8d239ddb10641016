//! `assay calibrate --fixed FILE --against FILE`: a fixed protocol really run beside this procedure, on the same stacks: verdicts, time and power.
//!
//! Takes two result files, gives what each says of every comparison. Prevents: a saving of time that is claimed from simulations alone.

use super::twins::duration;
use super::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use ledger::Ledger;
use report::{Agreement, Protocol, Protocols, SideBySide, Took, Verdict};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Of the fixed protocol's time, at most.
pub(super) const TIME_RATIO_MAX: f64 = 0.2;

/// Reads both files, where they were given.
pub(super) fn asked(flags: &cli::Calibrate) -> Result<Option<Protocols>, Failure> {
    let (Some(fixed), Some(against)) = (&flags.fixed, &flags.against) else {
        return Ok(None);
    };
    let open = |file: &Path| Ledger::open(file).map_err(|e| Failure::Usage(anyhow!("{e}")));
    let both = report::protocols(&open(fixed)?, &open(against)?);
    let files = format!("{} and {}", fixed.display(), against.display());
    both.map(Some).map_err(|e| Failure::Usage(anyhow!("{files}: {e}")))
}

pub(super) fn fixed(flags: &cli::Calibrate) -> Result<(), Failure> {
    if !flags.twins.is_empty() {
        return Err(Failure::Usage(anyhow!(
            "--fixed and --twins are two questions\n  ask one after the other, or all with --all"
        )));
    }
    let Some(both) = asked(flags)? else {
        return Err(Failure::Usage(anyhow!(
            "--fixed: give the other result file with --against"
        )));
    };
    match flags.json {
        true => print_json(&data(&both))?,
        false => print(&text(&both))?,
    }
    let missed = both
        .comparisons
        .iter()
        .filter(|one| is_kept(one) == Some(false))
        .count()
        + both.missing.len();
    if missed == 0 {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "{missed} comparisons of the fixed protocol are missing here, say otherwise, or took more than {:.0} % of its time\n  \
         give the short runs more blocks or time (`blocks`, `time`), or lessen their set-up (`database.scale`)",
        TIME_RATIO_MAX * 100.0
    )))
}

/// Runs and, by the wall, trials with all their set-up within the share of the fixed protocol's time that is owed.
pub(super) fn is_in_time(one: &SideBySide) -> bool {
    one.time_ratio() <= TIME_RATIO_MAX && one.wall_ratio().is_none_or(|ratio| ratio <= TIME_RATIO_MAX)
}

/// Within what is owed, and nothing that the fixed protocol found is missing; `None` where neither found anything.
pub(super) fn is_kept(one: &SideBySide) -> Option<bool> {
    match (one.agreement.is_kept(), is_in_time(one)) {
        (Some(kept), in_time) => Some(kept && in_time),
        (None, true) => None,
        (None, false) => Some(false),
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::NotEnoughData => "not_enough_data",
    }
}

fn agreement(of: Agreement) -> &'static str {
    match of {
        Agreement::Same => "same",
        Agreement::Neither => "neither",
        Agreement::InsideMargin => "inside_margin",
        Agreement::FoundHere => "found_here",
        Agreement::FoundThere => "found_there",
        Agreement::Opposite => "opposite",
    }
}

fn took(of: &Took) -> Value {
    json!({ "runs_seconds": of.runs_seconds, "wall_seconds": of.wall_seconds })
}

pub(super) fn data(both: &Protocols) -> Value {
    let protocol = |of: &Protocol| {
        json!({
            "study": of.study,
            "blocks_most": of.blocks_most,
            "blocks": of.blocks,
            "run_seconds": of.run_seconds,
            "runs_seconds": of.runs_seconds,
            "wall_seconds": of.wall_seconds,
        })
    };
    let one = |one: &SideBySide| {
        let (fixed, here) = (&one.fixed, &one.here);
        json!({
            "stack": one.stack,
            "base": one.base,
            "phase": one.phase,
            "agreement": agreement(one.agreement),
            "is_kept": is_kept(one),
            "time_ratio": one.time_ratio(),
            "wall_ratio": one.wall_ratio(),
            "fixed": {
                "verdict": fixed.found.map_or("no_difference", word),
                "ratio": fixed.ratio,
                "low": fixed.low,
                "high": fixed.high,
                "p": fixed.p,
                "figures": { "base": fixed.figures[0], "stack": fixed.figures[1] },
                "smallest_found": fixed.smallest_found,
                "took": took(&fixed.took),
            },
            "here": {
                "verdict": word(here.verdict),
                "ratio": here.ratio,
                "low": here.low,
                "high": here.high,
                "blocks": here.blocks,
                "smallest_found": here.smallest_found,
                "took": took(&here.took),
                "took_most": took(&here.took_most),
            },
        })
    };
    json!({
        "schema": 1,
        "host": both.host,
        "margin": both.margin,
        "fixed": protocol(&both.fixed),
        "here": protocol(&both.here),
        "comparisons": both.comparisons.iter().map(one).collect::<Vec<_>>(),
        "left_out": both.left_out,
        "missing": both.missing.iter().map(|[stack, base, phase]| json!({ "stack": stack, "base": base, "phase": phase })).collect::<Vec<_>>(),
    })
}

/// Both protocols in a line each.
pub(super) fn heads(both: &Protocols) -> String {
    let place = match both.host.as_str() {
        "" => "simulated devices".to_string(),
        host => format!("on {host}"),
    };
    format!(
        "{}: {} runs of {} a cell, Welch's test at 95 %\n{}: runs of {}, {} blocks at most, equal within {:.1} %; {place}\n",
        both.fixed.study,
        both.fixed.blocks_most,
        seconds(both.fixed.run_seconds),
        both.here.study,
        seconds(both.here.run_seconds),
        both.here.blocks_most,
        both.margin * 100.0
    )
}

/// A run's length: short ones with their tenths.
fn seconds(of: f64) -> String {
    match of {
        of if of < 10.0 => format!("{of:.2} s"),
        of => format!("{of:.0} s"),
    }
}

fn text(both: &Protocols) -> String {
    let mut text = heads(both);
    for one in &both.comparisons {
        text.push_str(&comparison(one));
    }
    for left in &both.left_out {
        let _ = writeln!(text, "\n{left}");
    }
    for [stack, base, phase] in &both.missing {
        let _ = writeln!(text, "\n{stack} against {base}, {phase}: the fixed protocol's alone");
    }
    let contradicted = both
        .comparisons
        .iter()
        .filter(|one| one.agreement.is_kept() == Some(false));
    let _ = writeln!(
        text,
        "\nOf {} comparisons of the fixed protocol {} are missing here or say otherwise.\nAll cells:\n{}.",
        both.comparisons.len() + both.missing.len(),
        contradicted.count() + both.missing.len(),
        whole(both)
    );
    text.push_str(
        "\n`finds`: the smallest difference that 9 of 10 such studies find, if runs scatter\n\
         as these did; of the fixed protocol three runs tell that roughly.\n",
    );
    text
}

/// Time of all cells, of both.
fn whole(both: &Protocols) -> String {
    let (here, fixed) = (&both.here, &both.fixed);
    let share = |a: f64, b: f64| format!("{} for {} ({:.1} %)", duration(a), duration(b), 100.0 * a / b);
    let runs = format!("  runs {}", share(here.runs_seconds, fixed.runs_seconds));
    match here.wall_seconds.zip(fixed.wall_seconds) {
        Some((a, b)) => format!("{runs}, with set-up {}", share(a, b)),
        None => runs,
    }
}

fn comparison(one: &SideBySide) -> String {
    let mut text = format!(
        "\n{} against {}, {}: {}\n{:>7} {:<14} {:>26} {:>8} {:>8} {:>9}\n",
        one.stack,
        one.base,
        one.phase,
        one.agreement.words(),
        "",
        "verdict",
        "ratio",
        "finds",
        "runs",
        "set-up in"
    );
    let ratio = |ratio: Option<f64>, low: Option<f64>, high: Option<f64>| {
        let shown = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.3}"));
        format!("{} ({} to {})", shown(ratio), shown(low), shown(high))
    };
    let mut line = |who: &str, verdict: &str, ratio: String, found: f64, took: &Took| {
        let found = match found.is_finite() {
            true => format!("{:.1} %", (found - 1.0) * 100.0),
            false => "-".to_string(),
        };
        let wall = took.wall_seconds.map_or("-".to_string(), duration);
        let _ = writeln!(
            text,
            "{who:>7} {verdict:<14} {ratio:>26} {found:>8} {:>8} {wall:>9}",
            duration(took.runs_seconds)
        );
    };
    let (fixed, here) = (&one.fixed, &one.here);
    line(
        "fixed",
        fixed.found.map_or("no difference", Verdict::words),
        ratio(Some(fixed.ratio), fixed.low, fixed.high),
        fixed.smallest_found,
        &fixed.took,
    );
    let verdict = match here.verdict {
        Verdict::NotEnoughData => "not told",
        verdict => verdict.words(),
    };
    line(
        "here",
        verdict,
        ratio(here.ratio, here.low, here.high),
        here.smallest_found,
        &here.took,
    );
    let wall = one
        .wall_ratio()
        .map_or(String::new(), |ratio| format!(", with set-up {:.1} %", ratio * 100.0));
    let _ = writeln!(
        text,
        "        p = {:.2}; known after {} blocks, in {:.1} % of its runs' time{wall}",
        fixed.p,
        here.blocks,
        one.time_ratio() * 100.0
    );
    text
}
