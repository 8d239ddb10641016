//! What a report finds, in a terminal: verdicts, other ratios, what was left out, and the doubts.
//!
//! Takes the analysis, puts lines on the page. Prevents: a verdict read without its interval, and ten doubts of one cause
//! that hide an eleventh of another.

use crate::analysis::{Analysis, Comparison, Unranked, Verdict};
use crate::changes::Change;
use crate::check::Status;
use crate::doubts::merged;
use crate::format::{percent, ratio};
use crate::page::{Page, paint, plain};
use crate::table::{Column, table};
use crate::text::escaped;
use anstyle::{AnsiColor, Style as Paint};

/// The ratios that were tested, the worst of each phase first.
pub(crate) fn verdicts(page: &mut Page, analysis: &Analysis) {
    if analysis.comparisons.is_empty() {
        return;
    }
    page.title("Verdicts (ratio to the base, above 1 is better)");
    let mut rows: Vec<&Comparison> = Vec::new();
    for phase in &analysis.phases {
        let mut of: Vec<&Comparison> = analysis.comparisons.iter().filter(|c| c.phase == phase.name).collect();
        of.sort_by_key(|one| severity(one.verdict));
        rows.extend(of);
    }
    let names: Vec<String> = rows.iter().map(|one| escaped(&one.phase)).collect();
    let columns = [
        texts("stack", &rows, |one| Some(escaped(&one.stack))),
        texts("ratio", &rows, |one| one.ratio.map(ratio)),
        texts("interval", &rows, |one| {
            Some(format!(
                "{} to {}",
                one.low.map(ratio)?,
                one.high.map_or("unbounded".into(), ratio)
            ))
        }),
        texts("of", &rows, |one| Some(escaped(&one.base))),
        texts("blocks", &rows, |one| one.n.map(|n| n.to_string())),
        texts("verdict", &rows, |one| Some(one.verdict.words().into())),
    ];
    let columns: Vec<Column> = columns.into_iter().flatten().collect();
    let verdicts: Vec<Verdict> = rows.iter().map(|one| one.verdict).collect();
    painted(page, &names, &columns, &verdicts);
    chances(page, analysis);
}

/// A table whose rows end in their verdicts.
fn painted(page: &mut Page, names: &[String], columns: &[Column], verdicts: &[Verdict]) {
    // Two lines of headings stand above the rows of each part of the table.
    for (index, line) in table(names, columns, page.width).into_iter().enumerate() {
        let place = index % (verdicts.len() + 2);
        match place.checked_sub(2).map(|row| verdicts[row]) {
            Some(verdict) => page.put_ending(&line, verdict.words(), verdict_paint(verdict)),
            None if line.is_empty() => {}
            None => page.put(line, plain()),
        }
    }
}

fn chances(page: &mut Page, analysis: &Analysis) {
    page.say(
        &format!(
            "  Chance of any false verdict in the study: at most {}; equivalent means within {}.",
            percent(analysis.study.alpha),
            percent(analysis.study.margin)
        ),
        2,
        plain(),
    );
}

/// Phases against earlier ones on the same stack: a table for each pair.
pub(crate) fn changes(page: &mut Page, analysis: &Analysis) {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for one in &analysis.changes {
        if !pairs.contains(&(&one.phase, &one.against)) {
            pairs.push((&one.phase, &one.against));
        }
    }
    for (phase, against) in &pairs {
        page.title(&format!(
            "{phase} against {against}, on the same stack (ratio, above 1 is better)"
        ));
        let of = |one: &&Change| (one.phase.as_str(), one.against.as_str()) == (*phase, *against);
        let rows: Vec<&Change> = analysis.changes.iter().filter(of).collect();
        let names: Vec<String> = rows.iter().map(|one| escaped(&one.stack)).collect();
        let columns = [
            texts("ratio", &rows, |one| one.ratio.map(ratio)),
            texts("interval", &rows, |one| {
                let high = one.high.map_or("unbounded".into(), ratio);
                Some(format!("{} to {high}", one.low.map(ratio)?))
            }),
            texts("blocks", &rows, |one| one.n.map(|n| n.to_string())),
            texts("verdict", &rows, |one| Some(one.verdict.words().into())),
        ];
        let columns: Vec<Column> = columns.into_iter().flatten().collect();
        let verdicts: Vec<Verdict> = rows.iter().map(|one| one.verdict).collect();
        painted(page, &names, &columns, &verdicts);
    }
    if !pairs.is_empty() && analysis.comparisons.is_empty() {
        chances(page, analysis);
    }
}

fn texts<T>(title: &'static str, rows: &[&T], of: impl Fn(&T) -> Option<String>) -> Option<Column> {
    Column::new(title, "", rows.iter().map(|row| of(row)).collect())
}

fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        Verdict::NotEnoughData => 2,
        Verdict::Equivalent => 3,
    }
}

fn verdict_paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Better => paint(AnsiColor::Green),
        Verdict::Worse => paint(AnsiColor::Red),
        Verdict::Equivalent => paint(AnsiColor::Cyan),
        Verdict::NotEnoughData => plain(),
    }
}

/// Ratios that were not tested, where they are clear of 1 by more than the margin.
pub(crate) fn others(page: &mut Page, analysis: &Analysis) {
    let rows: Vec<_> = analysis
        .not_tested
        .iter()
        .filter(|one| one.is_clear(analysis.study.margin))
        .collect();
    if rows.is_empty() {
        return;
    }
    page.title("Not tested, 95 % interval each (ratio to the base, above 1 is more of it)");
    let names: Vec<String> = rows.iter().map(|one| escaped(&one.phase)).collect();
    let columns = [
        texts("stack", &rows, |one| Some(escaped(&one.stack))),
        texts("of what", &rows, |one| Some(escaped(&one.what))),
        texts("ratio", &rows, |one| Some(ratio(one.ratio))),
        texts("interval", &rows, |one| {
            Some(format!("{} to {}", ratio(one.low), ratio(one.high)))
        }),
    ];
    let columns: Vec<Column> = columns.into_iter().flatten().collect();
    for line in table(&names, &columns, page.width)
        .into_iter()
        .filter(|line| !line.is_empty())
    {
        page.put(line, plain());
    }
}

pub(crate) fn left_out(page: &mut Page, analysis: &Analysis) {
    if !analysis.unranked.is_empty() {
        page.title("Measured, not ranked");
        // Stacks with one and the same reason stand in one line.
        let mut lines: Vec<(Vec<&str>, &Unranked)> = Vec::new();
        for one in &analysis.unranked {
            let alike =
                |(_, other): &&mut (Vec<&str>, &Unranked)| other.phase == one.phase && other.reason == one.reason;
            match lines.iter_mut().find(alike) {
                Some((stacks, _)) => stacks.push(&one.stack),
                None => lines.push((vec![&one.stack], one)),
            }
        }
        for (stacks, one) in lines {
            let place = one.phase.as_ref().map_or(String::new(), |phase| format!(" in {phase}"));
            page.say(&format!("  {}{place}: {}", stacks.join(", "), one.reason), 4, plain());
        }
    }
    let skipped: Vec<_> = analysis
        .stacks
        .iter()
        .filter(|stack| stack.skipped_reason.is_some())
        .collect();
    if !skipped.is_empty() {
        page.title("Skipped");
        for stack in skipped {
            let reason = stack.skipped_reason.as_deref().unwrap_or_default();
            let cure = stack.skipped_cure.as_deref().unwrap_or_default();
            page.say(&format!("  {}: {reason}: {cure}", stack.name), 4, plain());
        }
    }
    if !analysis.dropped.is_empty() {
        page.title("Dropped blocks");
        for one in &analysis.dropped {
            page.say(&format!("  block {}: {}", one.block, one.reason), 4, plain());
        }
    }
}

/// Checks that do not say VALID, equal ones together.
pub(crate) fn doubts(page: &mut Page, analysis: &Analysis) {
    let doubts = merged(analysis);
    let valid = analysis
        .checks
        .iter()
        .filter(|check| check.status == Status::Valid)
        .count();
    if doubts.is_empty() {
        if valid > 0 {
            page.blank();
            page.say(&format!("All {valid} validity checks are VALID."), 0, plain());
        }
        return;
    }
    page.title(&format!("Doubts ({valid} other checks are VALID)"));
    for doubt in doubts {
        let colour = match doubt.status {
            Status::Invalid => paint(AnsiColor::Red),
            Status::Suspect => paint(AnsiColor::Yellow),
            Status::Note | Status::Valid => plain(),
        };
        page.say_marked(
            &format!("  {} {}", doubt.status.word(), doubt.words),
            4,
            doubt.status.word(),
            colour,
        );
    }
}
