//! A fixed protocol really run beside this procedure, as text and as JSON: verdicts, time and power.
//!
//! Prevents: a saving of time that is claimed from simulations alone.

use super::{Agreement, Protocol, Protocols, SideBySide, Took};
use report::{Verdict, duration};
use serde_json::{Value, json};
use std::fmt::Write;

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

pub(crate) fn json(both: &Protocols) -> Value {
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
            "is_kept": one.is_kept(),
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
    let missing = |[stack, base, phase]: &[String; 3]| json!({ "stack": stack, "base": base, "phase": phase });
    json!({
        "schema": 1,
        "host": both.host,
        "margin": both.margin,
        "fixed": protocol(&both.fixed),
        "here": protocol(&both.here),
        "comparisons": both.comparisons.iter().map(one).collect::<Vec<_>>(),
        "left_out": both.left_out,
        "missing": both.missing.iter().map(missing).collect::<Vec<_>>(),
    })
}

/// Both protocols in a line each.
pub(crate) fn heads(both: &Protocols) -> String {
    let place = match both.host.as_str() {
        "" => "simulated devices".to_string(),
        host => format!("on {host}"),
    };
    format!(
        "{}: {} runs of {} a cell, Welch's test at 95 %\n\
         {}: runs of {}, {} blocks at most, equal within {:.1} %; {place}\n",
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

pub(crate) fn text(both: &Protocols) -> String {
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
