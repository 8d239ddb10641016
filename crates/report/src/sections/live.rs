//! What a live page has besides the report: how far the study is, how each interval narrowed, each block's figure.
//!
//! Takes how far it is, or the analysis with the file; gives the head of the page and a section. Prevents: a live page
//! that judges on its own: its intervals are those of the looks.

use super::phases::primary;
use super::source::Source;
use super::verdicts::{interval, tone};
use crate::cells::metric::Metric;
use crate::document::Forms;
use crate::document::{
    Block, Cell, Chart, LineOf, Lines, LiveHead, Look, Name, Narrowing, Placed, Section, Stands, Table, Tone, column,
    words,
};
use crate::format::{rounded, whole};
use crate::history::{Book, PhaseHead};
use crate::now::{Moment, Now, State, TrialNow};
use crate::ranking::verdicts::Verdict;
use ledger::TrialStatus;
use std::time::Duration;

/// Charts of phases at most.
const PHASES_MAX: usize = 8;

/// The head.
pub(crate) fn head(now: &Now, moment: Moment) -> LiveHead {
    let state = now.state(moment);
    let running = state == State::Running;
    LiveHead {
        state: match state {
            State::Running => ("RUNNING", Tone::Note),
            State::Ended(_) => ("ENDED", Tone::Valid),
            State::Stopped => ("STOPPED", Tone::Suspect),
        },
        said: said(now, &state),
        share: running.then(|| now.share()),
        facts: facts(now, moment, running),
        stacks: (running && !now.stacks.is_empty()).then(|| stacks(now, moment)),
        is_over: now.is_over(),
    }
}

fn said(now: &Now, state: &State) -> String {
    match (state, now.block()) {
        (State::Ended(reason), _) => format!("The study ended: {reason}. This page no longer changes."),
        (State::Stopped, _) => "No run writes to this file, and the study has not ended: the run was stopped or \
                                killed. `assay run STUDY --resume` goes on with it."
            .into(),
        (State::Running, None) => "The run prepares its stacks.".into(),
        (State::Running, Some(block)) if block < now.planned() => {
            format!("Block {} of {}", block + 1, now.planned())
        }
        (State::Running, Some(block)) => format!("Block {}: it takes the place of one that was dropped", block + 1),
    }
}

fn facts(now: &Now, moment: Moment, running: bool) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Time gone", time(now.gone(moment)))];
    let limit = now.until_limit(moment).map(Duration::from_nanos);
    match (now.left(moment), limit) {
        _ if !running => {}
        (Some(left), _) if left.is_zero() => facts.push(("Time left", "almost done".into())),
        (Some(left), _) => facts.push(("Time left", format!("about {}; it may end earlier", time(left)))),
        (None, Some(limit)) => facts.push(("Time left", format!("up to {}", time(limit)))),
        (None, None) => facts.push(("Time left", "known after the first block".into())),
    }
    if let Some(ending) = &now.ended {
        facts.push(("Ended", crate::format::date(ending.at_unix_ns)));
    }
    facts
}

fn time(time: Duration) -> String {
    rounded(time.as_secs())
}

/// What each stack does in the block under way.
fn stacks(now: &Now, moment: Moment) -> Table {
    let doing = |stack: &String| now.trial(stack).map_or("waits".into(), |one| doing(now, one));
    let done = |stack: &String| now.trial(stack).map_or(0, |one| one.done.len());
    let of = now.phases.len();
    let since = |stack: &String| {
        let one = now.trial(stack)?;
        let until = one.trial.ended_unix_ns.unwrap_or(moment.at_unix_ns);
        Some(time(Duration::from_nanos(
            until.saturating_sub(one.trial.began_unix_ns),
        )))
    };
    let columns = [
        words("now", doing),
        column("phases done", "", move |stack: &String| {
            Cell::Text(format!("{} of {of}", done(stack)))
        }),
        column("time in this block", "", move |stack: &String| {
            Cell::maybe(since(stack))
        }),
    ];
    let name = |stack: &String| Name {
        mark: now.stacks.iter().position(|one| one == stack),
        ..Name::from(stack.as_str())
    };
    Table::of("This block", "stack", &now.stacks, name, columns)
}

fn doing(now: &Now, one: &TrialNow) -> String {
    let next = now.phases.iter().find(|phase| !one.done.contains(phase));
    match (&one.trial.status, next) {
        (TrialStatus::Done, _) => "done".into(),
        (TrialStatus::Failed(reason), _) => format!("failed: {reason}"),
        (TrialStatus::Interrupted, _) => "interrupted".into(),
        (TrialStatus::Running, None) => "ends".into(),
        (TrialStatus::Running, Some(next)) if one.done.is_empty() => format!("is made ready, then {next}"),
        (TrialStatus::Running, Some(next)) => next.clone(),
    }
}

/// Intervals look by look, and figures block by block.
pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let mut blocks: Vec<Placed> = Vec::new();
    blocks.push((Forms::PAGE, intervals(source)));
    let note = "The numbers below a drawing are the blocks of each look. Between two looks nothing is judged. An \
                interval is what remains after all looks so far. The shaded band is the margin.";
    blocks.push((Forms::PAGE, Block::Note(note.into())));
    if let Some(file) = source.file {
        let ranked = file.book.phases.iter().filter(|phase| phase.ranked);
        let charts = ranked
            .take(PHASES_MAX)
            .filter_map(|phase| rates(source, &file.book, phase));
        blocks.extend(charts.map(|chart| (Forms::PAGE, chart)));
    }
    Section::of("live", "Block by block", "Block by block", blocks).map(|section| section.standing(Stands::Before))
}

/// A ratio with the looks at it.
struct Row<'a> {
    phase: String,
    stack: &'a str,
    base: &'a str,
    ratio: Option<f64>,
    ends: [Option<f64>; 2],
    verdict: Verdict,
    looks: Vec<Look>,
}

fn intervals(source: &Source<'_>) -> Block {
    let rows = rows(source);
    if rows.iter().all(|row| row.looks.is_empty()) {
        return Block::Text("There is no interval yet: the first look comes after four blocks that count.".into());
    }
    let margin = source.analysis.study.margin;
    let columns = [
        column("stack", "", |row: &Row<'_>| Cell::Named(source.stack(row.stack))).of_words(),
        column("look by look", "", move |row: &Row<'_>| {
            Cell::Narrowing(Narrowing {
                looks: row.looks.clone(),
                margin,
                tone: tone(row.verdict),
            })
        })
        .compared(),
        column("ratio", "", |row: &Row<'_>| {
            Cell::number(row.ratio, crate::format::ratio)
        }),
        column("interval now", "", move |row: &Row<'_>| {
            interval(row.ratio, row.ends, margin, row.verdict)
        })
        .compared(),
        column("of", "", |row: &Row<'_>| Cell::text(row.base)).of_words(),
        column("verdict", "", |row: &Row<'_>| {
            Cell::Tagged(row.verdict.words().into(), tone(row.verdict))
        })
        .of_words(),
    ];
    let name = |row: &Row<'_>| Name::from(row.phase.as_str());
    Block::Table(Table::of(
        "Ratios to the base, look by look",
        "phase",
        &rows,
        name,
        columns,
    ))
}

/// Comparisons, then contrasts: in the order of a look's estimates.
fn rows<'a>(source: &Source<'a>) -> Vec<Row<'a>> {
    let analysis = source.analysis;
    let row = |(phase, stack, base): (String, &'a str, &'a str), ratio, ends, verdict| Row {
        phase,
        stack,
        base,
        ratio,
        ends,
        verdict,
        looks: Vec::new(),
    };
    let of_stacks = analysis.comparisons.iter().map(|one| {
        let of = (one.phase.clone(), one.stack.as_str(), one.base.as_str());
        row(of, one.ratio, [one.low, one.high], one.verdict)
    });
    let of_changes = analysis.contrasts.iter().map(|one| {
        let of = (
            format!("{} since {}", one.phase, one.against),
            one.stack.as_str(),
            one.base.as_str(),
        );
        row(of, one.ratio, [one.low, one.high], one.verdict)
    });
    let mut rows: Vec<Row<'a>> = of_stacks.chain(of_changes).collect();
    for taken in &analysis.looks {
        for (row, estimate) in rows.iter_mut().zip(&taken.estimates) {
            row.looks.extend(estimate.map(|one| Look {
                blocks: one.n,
                ratio: one.ratio,
                low: one.low,
                high: one.high,
            }));
        }
    }
    rows
}

/// A phase's figure in each block, valid or not; nothing before there are two blocks.
fn rates(source: &Source<'_>, book: &Book, phase: &PhaseHead) -> Option<Block> {
    let metric = Metric::of(phase.kind);
    let (what, unit, form) = primary(metric);
    let mut most = 0;
    let line = |stack: &crate::analysis::StackHead| LineOf {
        name: source.stack(&stack.name),
        points: book
            .by_block(&stack.name, &phase.name)
            .filter(|(_, seen)| seen.is_valid())
            .filter_map(|(block, seen)| Some((f64::from(block) + 1.0, metric.value(seen).ok().flatten()?)))
            .collect(),
    };
    let series: Vec<LineOf> = source
        .analysis
        .stacks
        .iter()
        .map(line)
        .filter(|one| !one.points.is_empty())
        .collect();
    for (block, _) in series.iter().flat_map(|one| &one.points) {
        most = most.max(*block as u32);
    }
    if most < 2 {
        return None;
    }
    // As many marks as there is room for.
    let step = most.div_ceil(16).max(1);
    Some(Block::Chart(Chart::Lines(Lines {
        title: format!("{}: {what}, {unit}", phase.name),
        logarithmic: false,
        marks: (1..=most)
            .filter(|block| block % step == 0 || *block == most)
            .map(f64::from)
            .collect(),
        across: ("block", whole),
        form,
        binary: false,
        dots: true,
        series,
    })))
}
