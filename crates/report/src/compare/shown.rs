//! The comparison of files as a document, for all forms.
//!
//! Takes [`FilesCompared`], gives sections: what differs, ratios, figures, what is left out. Prevents: a form that
//! shows a ratio and forgets what differs.

use super::found::{
    EqualFacts, FileDifference, FileHead, FilesCompared, OwnRatio, PhaseOfFiles, RatioOfFiles, phase_in_words,
};
use crate::document::{
    Block, Cell, Column, Document, Fold, Forms, Interval, Item, Name, Placed, Section, Stands, Table, Tone, column,
};
use crate::format::date;
use crate::grouped::grouped;
use crate::sections::{primary, tone};

/// Letters of a name that a column of names has, and of the values of a row of the table.
const NAME_MAX: usize = 20;
const VALUES_MAX: usize = 50;
/// Letters of a value in a list.
const VALUE_MAX: usize = 120;
/// Lines of one kind: on the one screen, and in all other forms.
const BRIEF_MAX: usize = 8;
const ROWS_MAX: usize = 400;
/// Names of what is the same: on the one screen, and in all other forms.
const SAME_MAX: usize = 12;
const SAME_FULL_MAX: usize = 60;

pub(super) fn document(compared: &FilesCompared) -> Document {
    let labels: Vec<&str> = compared.files.iter().map(|file| file.label.as_str()).collect();
    let sections = [
        differences(compared, &labels),
        ratios(compared, &labels),
        figures(compared, &labels),
        left_out(compared),
    ];
    Document {
        study: labels.join(" and "),
        question: format!("{} result files beside each other", compared.files.len()),
        answer: compared.sentence.clone(),
        opening: opening(compared),
        sections: sections.into_iter().flatten().collect(),
        rest: "More: the same command with --full (every figure), --html PAGE, --json".into(),
        imprint: format!(
            "Made by assay {} from {} result files. This page is one file and sends nothing anywhere.",
            env!("CARGO_PKG_VERSION"),
            compared.files.len()
        ),
        lean: false,
    }
}

fn opening(compared: &FilesCompared) -> Vec<Placed> {
    let of_file = |file: &FileHead| {
        let host = file.host.as_deref().unwrap_or("a host without a name");
        let begun = date(file.created_unix_ns);
        let checks = [(file.checks_invalid, "INVALID"), (file.checks_suspect, "SUSPECT")];
        let checks = checks.into_iter().filter(|(many, _)| *many > 0);
        let checks: String = checks.map(|(many, word)| format!("; {many} {word}")).collect();
        format!(
            "{}: {}: study {}, {begun}, on {host}; {}{checks}",
            file.label, file.file, file.study, file.state
        )
    };
    let states = compared.states_of_one_run.iter();
    let states = states.map(|one| {
        format!(
            "{} and {} are states of one run and share blocks",
            one.earlier, one.later
        )
    });
    let lines = compared.files.iter().map(of_file).chain(states);
    vec![(Forms::EVERY, Block::list(lines))]
}

fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_string(),
    }
}

/// The name of a difference, with the stacks that it is of.
fn name(one: &FileDifference) -> String {
    match one.of.is_empty() {
        true => one.what.clone(),
        false => format!("{} {}: {}", one.about.word(), one.of.join(", "), one.what),
    }
}

fn differences(compared: &FilesCompared, labels: &[&str]) -> Option<Section> {
    let fits = |one: &&FileDifference| {
        let values = one
            .values
            .iter()
            .map(|value| value.as_deref().unwrap_or("-").chars().count());
        let widest = values.max().unwrap_or(0);
        name(one).chars().count() <= NAME_MAX && (widest + 2) * labels.len() <= VALUES_MAX
    };
    let (short, long): (Vec<_>, Vec<_>) = compared.differences.iter().partition(fits);
    let line = |one: &&FileDifference| Item::from(line(one, labels));
    let mut blocks = Vec::new();
    for (forms, most) in [(Forms::BRIEF, BRIEF_MAX), (Forms::ALL, ROWS_MAX)] {
        let shown = &short[..short.len().min(most)];
        blocks.extend((!shown.is_empty()).then(|| (forms, Block::Table(table(shown, labels)))));
        let shown: Vec<Item> = long.iter().take(most).map(line).collect();
        blocks.extend((!shown.is_empty()).then_some((forms, Block::List(shown))));
        let left = short.len().saturating_sub(most) + long.len().saturating_sub(most);
        let words = match forms {
            Forms::BRIEF => format!("{left} more differences: --full"),
            _ => format!("{left} more differences: --json"),
        };
        blocks.extend((left > 0).then_some((forms, Block::Note(words))));
    }
    if compared.differences.is_empty() {
        let nothing = "Nothing that was recorded differs but the figures.";
        blocks.push((Forms::EVERY, Block::Text(nothing.into())));
    }
    blocks.extend(same(&compared.equal, SAME_MAX).map(|words| (Forms::BRIEF, Block::Note(words))));
    blocks.extend(same(&compared.equal, SAME_FULL_MAX).map(|words| (Forms::ALL, Block::Note(words))));
    Section::of("differences", "What differs", "What differs between the files", blocks)
        .map(|section| section.standing(Stands::Before))
}

fn table(rows: &[&FileDifference], labels: &[&str]) -> Table {
    let columns = labels.iter().enumerate().map(|(nth, label)| {
        let value = move |one: &&FileDifference| Some(one.values.get(nth)?.as_deref()?.to_string());
        let cells: Column<'_, &FileDifference> = column(*label, "", move |one| Cell::maybe(value(one)));
        cells.of_words()
    });
    Table::of(
        "Facts that differ",
        "fact",
        rows,
        |one| Name::from(&*name(one)),
        columns,
    )
}

/// Files of one value together.
fn line(one: &FileDifference, labels: &[&str]) -> String {
    let values = one.values.iter().map(|value| value.as_deref().unwrap_or("-"));
    let groups = grouped(values.zip(labels.iter().copied()));
    let said = groups
        .into_iter()
        .map(|(value, files)| format!("{} = {}", files.join(", "), clipped(value, VALUE_MAX)));
    format!("{}: {}", name(one), said.collect::<Vec<_>>().join("; "))
}

/// "Same: host: kernel, cpu; key: ..."; keys are many and counted.
fn same(equal: &[EqualFacts], most: usize) -> Option<String> {
    let mut left = most;
    let of_kind = |one: &EqualFacts| {
        let many = one.names.len();
        let shown = many.min(left);
        left -= shown;
        let names = one.names[..shown].join(", ");
        match (shown, many - shown) {
            (0, _) => format!("{many} of {}", one.about.word()),
            (_, 0) => format!("{}: {names}", one.about.word()),
            (_, more) => format!("{}: {names} and {more} more", one.about.word()),
        }
    };
    let all: Vec<String> = equal.iter().map(of_kind).collect();
    (!all.is_empty()).then(|| format!("Same: {}.", all.join("; ")))
}

fn own_cell(one: &OwnRatio) -> Cell {
    let interval = Interval {
        ratio: one.ratio,
        low: one.low,
        high: one.high,
        margin: 0.0,
    };
    Cell::Verdict(Some(interval), one.verdict.in_short(), tone(one.verdict))
}

/// Rows of one table: of one base, in phases or in changes, held against one file.
type RatioGroup<'a> = (&'a str, bool, String);

/// The ratio in each file, and its change from the first.
fn ratios(compared: &FilesCompared, labels: &[&str]) -> Option<Section> {
    // Changes are from the first file that has the ratio: rows of another first file are a table of their own.
    let against = |one: &'_ RatioOfFiles| {
        let mut changes = one.changes.iter().flatten();
        changes.next().map_or(String::new(), |change| change.against.clone())
    };
    let rows = compared.ratios.iter();
    let rows = rows.map(|one| ((one.base.as_str(), one.against.is_some(), against(one)), one));
    let tables = grouped(rows).into_iter();
    let mut blocks: Vec<Placed> = tables.map(|(of, rows)| ratio_table(&of, &rows, labels)).collect();
    if blocks.is_empty() {
        return None;
    }
    let how = "A ratio above 1 is better than the base; interval and verdict are those of the file's own study (open: \
               not enough data). A quotient such as B / A is over the blocks of both ratios. Its interval is a plain \
               95 % (Welch), not a verdict.";
    blocks.push((Forms::EVERY, Block::Note(how.into())));
    if let Some(words) = &compared.no_verdict {
        blocks.push((Forms::EVERY, Block::Warning(words.clone())));
        let cure = "To get a verdict, put both into one study: Assay then runs them in shuffled blocks.";
        blocks.push((Forms::EVERY, Block::Note(cure.into())));
    }
    Section::of("ratios", "Ratios", "Ratios to the base of the same file", blocks)
        .map(|section| section.standing(Stands::Concludes))
}

fn ratio_table((base, of_changes, against): &RatioGroup<'_>, rows: &[&RatioOfFiles], labels: &[&str]) -> Placed {
    let own = labels
        .iter()
        .enumerate()
        .map(|(nth, label)| -> Column<'_, &RatioOfFiles> {
            column(*label, "", move |one: &&RatioOfFiles| {
                one.ratios[nth].as_ref().map_or(Cell::Nothing, own_cell)
            })
        });
    let changes = labels
        .iter()
        .enumerate()
        .map(|(nth, label)| -> Column<'_, &RatioOfFiles> {
            column(format!("{label} / {against}"), "", move |one: &&RatioOfFiles| {
                change(one, nth)
            })
        });
    let mut title = match of_changes {
        true => format!("Change from an earlier phase, ratio to {base}'s"),
        false => format!("Ratio to {base}"),
    };
    if !against.is_empty() && labels.first().is_none_or(|first| first != against) {
        title.push_str(&format!(", against {against}"));
    }
    let table = Table::of(&*title, "phase", rows, row_name, own.chain(changes));
    let inside = vec![(Forms::EVERY, Block::Table(table))];
    (Forms::EVERY, Block::part(title, Fold::Never, inside))
}

fn row_name(one: &&RatioOfFiles) -> Name {
    let phase = phase_in_words(&one.phase, one.against.as_deref());
    Name::from(&*format!("{phase}: {}", one.stack))
}

fn change(one: &RatioOfFiles, nth: usize) -> Cell {
    let Some(found) = &one.changes[nth] else {
        return Cell::Nothing;
    };
    let interval = Interval {
        ratio: found.ratio,
        low: found.low,
        high: found.high,
        margin: 0.0,
    };
    Cell::Verdict(Some(interval), "", Tone::Clear)
}

/// A table for each phase; on the one screen only where there is no ratio.
fn figures(compared: &FilesCompared, labels: &[&str]) -> Option<Section> {
    let forms = if compared.ratios.is_empty() {
        Forms::EVERY
    } else {
        Forms::ALL
    };
    let phases = compared.phases.iter().filter(|phase| !phase.stacks.is_empty());
    let blocks: Vec<Placed> = phases.map(|phase| (forms, of_phase(phase, labels))).collect();
    Section::of(
        "figures",
        "Figures",
        "Figures of each file (median and range of its blocks)",
        blocks,
    )
}

fn of_phase(phase: &PhaseOfFiles, labels: &[&str]) -> Block {
    let (head, unit, form) = primary(phase.metric);
    let columns = labels.iter().enumerate().flat_map(|(nth, label)| {
        let figure = column(*label, unit, move |one: &&super::StackOfFiles| {
            Cell::unmarked(one.figures[nth], form)
        });
        let range = column("range", "of blocks", move |one: &&super::StackOfFiles| {
            one.figures[nth].map_or(Cell::Nothing, |figure| Cell::Range(figure, 1.0, form))
        });
        [figure.compared(), range.only(Forms::TEXTS)]
    });
    let rows: Vec<&super::StackOfFiles> = phase.stacks.iter().collect();
    let table = Table::of(&*phase.name, "stack", &rows, |one| Name::from(&*one.stack), columns);
    let mut inside = vec![(Forms::EVERY, Block::Table(table))];
    if !phase.keys_that_differ.is_empty() {
        let words = format!("Not the same work: {} differ.", phase.keys_that_differ.join(", "));
        inside.push((Forms::EVERY, Block::Note(words)));
    }
    Block::part(format!("{} ({head})", phase.name), Fold::OfMany, inside)
}

fn left_out(compared: &FilesCompared) -> Option<Section> {
    let line = |one: &super::LeftOut| format!("{}: {}", one.what, one.reason);
    let mut blocks = Vec::new();
    for (forms, most) in [(Forms::BRIEF, BRIEF_MAX), (Forms::ALL, ROWS_MAX)] {
        let mut lines: Vec<String> = compared.left_out.iter().take(most).map(line).collect();
        let left = compared.left_out.len() - lines.len();
        lines.extend((left > 0).then(|| format!("{left} more: --json")));
        blocks.extend((!lines.is_empty()).then(|| (forms, Block::list(lines))));
    }
    Section::of("left-out", "Left out", "Not set side by side", blocks)
}
