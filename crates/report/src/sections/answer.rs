//! The answer on the one screen of a terminal: every verdict with its interval, and what speaks against them.
//!
//! Takes the analysis, gives a section whose blocks only the short form shows; its figures stand in the long one too.
//! Prevents: an answer below 300 lines of figures, and one without its doubts.

use super::opening::how_far;
use super::phases::primary;
use super::source::Source;
use super::storage::kept;
use super::temporary;
use super::verdicts::{legend, severity, tone};

use crate::cells::PhaseReport;
use crate::cells::metric::Metric;
use crate::check::{Check, Status};
use crate::document::{Block, Cell, Column, Fold, Forms, Interval, Item, Name, Placed, Section, Stands, Table, column};
use crate::grouped::{distinct, grouped};
use crate::ranking::verdicts::{Comparison, Contrast, Verdict};
use crate::words::promise::promise_in_short;
use std::collections::BTreeMap;

/// Rows of a table at most; of more phases, those with the gravest verdicts.
const ROWS_MAX: usize = 12;
/// Subjects of doubts named for each status; stacks named for each subject.
const SUBJECTS_MAX: usize = 8;
const STACKS_MAX: usize = 3;
/// Letters of a reason.
const REASON_MAX: usize = 60;

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    if source.analysis.study.blocks_planned == 0 {
        return None;
    }
    let mut blocks = verdicts(source);
    if blocks.is_empty() {
        blocks.extend(figures(source));
    } else {
        blocks.push(Block::Note(legend(source)));
        blocks.push(Block::Note(promise_in_short(&source.analysis.study)));
    }
    let kept = kept::table(source).map(|table| vec![Block::Table(table)]);
    blocks.extend(kept.map(|table| titled("What power cuts and kills left of what was acknowledged", table)));
    blocks.extend(temporary::answers(source).map(|said| titled("Temporary space", vec![said])));
    blocks.push(titled("What speaks against it", vec![Block::List(against(source))]));
    Section::of("answer-in-short", "Answer", "", placed(blocks)).map(|section| section.standing(Stands::Before))
}

fn placed(blocks: Vec<Block>) -> Vec<Placed> {
    blocks.into_iter().map(|block| (Forms::BRIEF, block)).collect()
}

fn titled(title: impl Into<String>, blocks: Vec<Block>) -> Block {
    Block::part(title, Fold::Never, placed(blocks))
}

/// Where the rest is. `kept`: the result file, where it stays.
pub(super) fn rest(kept: Option<&str>) -> String {
    match kept {
        Some(file) => format!("More: `assay report {file} --full` (every figure), `--html PAGE` (charts)"),
        None => "More: the same command with `--full` (every figure), `--html PAGE` (charts), `--output FILE` (keeps \
                 the figures for `assay report FILE`)"
            .into(),
    }
}

/// One of the verdicts, of either kind.
struct Said<'a> {
    row: String,
    stack: &'a str,
    ratio: Option<f64>,
    ends: [Option<f64>; 2],
    verdict: Verdict,
}

impl<'a> Said<'a> {
    fn of_stack(one: &'a Comparison) -> Said<'a> {
        Said {
            row: one.phase.clone(),
            stack: &one.stack,
            ratio: one.ratio,
            ends: [one.low, one.high],
            verdict: one.verdict,
        }
    }

    fn of_change(one: &'a Contrast) -> Said<'a> {
        Said {
            row: format!("{} / {}", one.phase, one.against),
            stack: &one.stack,
            ratio: one.ratio,
            ends: [one.low, one.high],
            verdict: one.verdict,
        }
    }

    fn cell(&self, margin: f64) -> Cell {
        let [low, high] = self.ends;
        let interval = self.ratio.map(|ratio| Interval {
            ratio,
            low,
            high,
            margin,
        });
        Cell::Verdict(interval, self.verdict.in_short(), tone(self.verdict))
    }
}

/// A table for each base, and one for changes from an earlier phase against those of the base.
fn verdicts(source: &Source<'_>) -> Vec<Block> {
    let analysis = source.analysis;
    let by_base = grouped(analysis.comparisons.iter().map(|one| (one.base.as_str(), one)));
    let mut tables: Vec<(String, Vec<Said<'_>>)> = Vec::new();
    for (base, all) in by_base {
        tables.push((
            format!("Ratio to {base}"),
            all.into_iter().map(Said::of_stack).collect(),
        ));
    }
    let by_base = grouped(analysis.contrasts.iter().map(|one| (one.base.as_str(), one)));
    for (base, all) in by_base {
        tables.push((
            format!("Change from an earlier phase, ratio to {base}'s"),
            all.into_iter().map(Said::of_change).collect(),
        ));
    }
    let mut blocks = Vec::new();
    for (title, all) in tables {
        let decided = all.iter().filter(|one| one.verdict != Verdict::NotEnoughData).count();
        let (table, left) = table(source, &title, &all);
        let of = all.len();
        let mut inside = vec![Block::Table(table)];
        inside.extend((left > 0).then(|| {
            let words = format!("{left} more phases are left out here: those that are equal or undecided first.");
            Block::Note(words)
        }));
        blocks.push(titled(
            format!("{title}, above 1 is better; {decided} of {of} decided"),
            inside,
        ));
    }
    blocks
}

/// Rows are phases, columns are stacks; and how many rows were left out.
fn table(source: &Source<'_>, caption: &str, all: &[Said<'_>]) -> (Table, usize) {
    let mut rows: Vec<&str> = distinct(all.iter().map(|one| one.row.as_str()));
    let stacks = distinct(all.iter().map(|one| one.stack));
    let left = rows.len().saturating_sub(ROWS_MAX);
    if left > 0 {
        let of_rows = grouped(all.iter().map(|one| (one.row.as_str(), severity(one.verdict))));
        let gravest = of_rows.into_iter().map(|(row, all)| (row, all.into_iter().min()));
        let gravest: BTreeMap<&str, _> = gravest.collect();
        let mut kept = rows.clone();
        kept.sort_by_key(|row| gravest[row]);
        kept.truncate(ROWS_MAX);
        rows.retain(|row| kept.contains(row));
    }
    let margin = source.analysis.study.margin;
    let by_place: BTreeMap<(&str, &str), &Said<'_>> =
        all.iter().map(|one| ((one.row.as_str(), one.stack), one)).collect();
    let by_place = &by_place;
    let columns = stacks.into_iter().map(|stack| -> Column<'_, &str> {
        column(stack, "", move |row: &&str| {
            let said = by_place.get(&(*row, stack));
            said.map_or(Cell::Nothing, |said| said.cell(margin))
        })
    });
    (
        Table::of(caption, "phase", &rows, |row| Name::from(*row), columns),
        left,
    )
}

/// Where nothing is compared: the figures as they are.
fn figures(source: &Source<'_>) -> Option<Block> {
    // How long a test of durability took is no answer: what it found has a table of its own.
    let ends = |phase: &PhaseReport| source.analysis.kept.iter().any(|one| one.phase == phase.name);
    let phases = source.analysis.phases.iter();
    let phases = phases.filter(|phase| !phase.cells.is_empty() && !ends(phase));
    let phases: Vec<&PhaseReport> = phases.take(ROWS_MAX).collect();
    if phases.is_empty() {
        return None;
    }
    let cells = phases.iter().flat_map(|phase| &phase.cells);
    let columns = distinct(cells.map(|cell| cell.stack.as_str()))
        .into_iter()
        .map(|stack| {
            column(stack, "", move |phase: &&PhaseReport| {
                let cell = phase.cells.iter().find(|cell| cell.stack == stack);
                Cell::figure(cell.and_then(|cell| cell.primary), primary(phase.metric).2)
            })
        });
    let unit = column("unit", "", |phase: &&PhaseReport| {
        let (head, unit, _) = primary(phase.metric);
        Cell::text(match phase.metric {
            Metric::ResponseNsP99 => format!("{head} of {unit}"),
            _ => unit.into(),
        })
    });
    let name = |phase: &&PhaseReport| Name::from(phase.name.as_str());
    let table = Table::of("Figures", "phase", &phases, name, [unit].into_iter().chain(columns));
    Some(titled("Medians over blocks, not ranked", vec![Block::Table(table)]))
}

/// What speaks against it: the gravest by their subject, the others counted; what was left out; how far it is.
fn against(source: &Source<'_>) -> Vec<Item> {
    let analysis = source.analysis;
    let mut items: Vec<Item> = [Status::Invalid, Status::Suspect]
        .into_iter()
        .filter_map(|status| doubts(source, status))
        .collect();
    items.extend(analysis.study.slowed().map(Item::from));
    let count = |status: Status| analysis.checks.iter().filter(|check| check.status == status).count();
    let (notes, valid) = (count(Status::Note), count(Status::Valid));
    if notes + valid > 0 {
        items.push(format!("checks: {notes} NOTE, {valid} VALID").into());
    }
    let skipped = analysis.stacks.iter().filter_map(|stack| {
        let reason = stack.skipped_reason.as_deref()?;
        Some(format!("{} ({})", stack.name, shortened(reason)))
    });
    let skipped: Vec<String> = skipped.collect();
    if !skipped.is_empty() {
        items.push(format!("skipped: {}", skipped.join(", ")).into());
    }
    let unranked = (analysis.left_out()).map(|one| (one.stack.as_str(), one.phase.as_deref()));
    let left: Vec<String> = grouped(unranked)
        .into_iter()
        .map(|(stack, phases)| match phases.as_slice() {
            [None, ..] => stack.to_string(),
            [Some(one)] => format!("{stack} in {one}"),
            many => format!("{stack} in {} phases", many.len()),
        })
        .collect();
    if !left.is_empty() {
        items.push(format!("measured, not ranked: {}", left.join(", ")).into());
    }
    items.push(how_far(source.analysis).into());
    items
}

/// Checks of one status: their subjects, with the stacks where those are few.
fn doubts(source: &Source<'_>, status: Status) -> Option<Item> {
    let checks = source.analysis.checks.iter().filter(|check| check.status == status);
    let subjects = grouped(checks.map(|check| (check.subject.as_str(), check)));
    let named = subjects
        .iter()
        .take(SUBJECTS_MAX)
        .map(|(subject, of)| subject_of(subject, of));
    let mut words: Vec<String> = named.collect();
    let more = subjects.len().saturating_sub(SUBJECTS_MAX);
    words.extend((more > 0).then(|| format!("{more} more")));
    (!words.is_empty()).then(|| Item {
        tag: Some((status.word().into(), status.into())),
        text: words.join(", "),
        series: Vec::new(),
    })
}

fn subject_of(subject: &str, of: &[&Check]) -> String {
    let stacks = distinct(of.iter().filter_map(|check| check.stack.as_deref()));
    match stacks.len() {
        0 => subject.into(),
        1..=STACKS_MAX => format!("{subject} ({})", stacks.join(", ")),
        many => format!("{subject} ({many} stacks)"),
    }
}

fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(REASON_MAX) {
        Some((at, _)) => format!("{}...", &reason[..at]),
        None => reason.into(),
    }
}
