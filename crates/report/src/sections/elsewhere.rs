//! What was not measured here: figures of other tools that were imported, and what others published.
//!
//! Takes both from the analysis, gives blocks: imported figures in tables of their own beside the phases, published
//! ratios beside ours with what may be said of both. Prevents: a figure that nobody here measured read in one table
//! with those that were.

use super::source::Source;
use crate::grouped::{distinct, grouped};

use crate::document::{
    Block, Cell, Column, Fold, Form, Forms, Interval, Name, Part, Placed, Section, Table, Tone, column, words,
};
use crate::format::{megabytes, nanoseconds, number, percent};
use crate::imported::{ImportedFigure, ImportedPhase, ImportedQuantity, ImportedSource, SHOWN};
use crate::published::{Agreement, Published, PublishedFigure, PublishedRatio};

const IMPORTED: &str = "imported, not measured here and not ranked";

/// What was imported for a phase that was measured too.
pub(super) fn imported_beside(source: &Source<'_>, phase: &str) -> Vec<Placed> {
    let of: Vec<&ImportedPhase> = source
        .analysis
        .imported
        .iter()
        .filter(|one| one.phase == phase)
        .collect();
    if of.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![(Forms::ALL, Block::Label(IMPORTED.into()))];
    blocks.extend(imported(source, phase, &of));
    blocks
}

/// What was imported for phases that were not.
pub(super) fn imported_alone(source: &Source<'_>) -> Vec<Placed> {
    let analysis = source.analysis;
    let names = distinct(analysis.imported.iter().map(|one| one.phase.as_str()));
    let alone = names
        .into_iter()
        .filter(|name| !analysis.phases.iter().any(|phase| phase.name == *name));
    let part = |name: &str| {
        let of: Vec<&ImportedPhase> = analysis.imported.iter().filter(|one| one.phase == name).collect();
        let part = Part {
            title: name.into(),
            about: IMPORTED.into(),
            fold: Fold::OfMany,
            blocks: imported(source, name, &of),
        };
        (Forms::ALL, Block::Part(part))
    };
    alone.map(part).collect()
}

/// A row of figures: imported, or measured here in the phase of the same name.
enum Figures<'a> {
    Imported(&'a ImportedPhase),
    Here(&'a str),
}

fn imported(source: &Source<'_>, phase: &str, of: &[&ImportedPhase]) -> Vec<Placed> {
    let quantities = || of.iter().flat_map(|one| &one.quantities);
    let here = distinct(
        quantities()
            .flat_map(|quantity| &quantity.measured)
            .map(|one| one.stack.as_str()),
    );
    let imported = of.iter().map(|one| Figures::Imported(one));
    let rows: Vec<Figures<'_>> = imported.chain(here.into_iter().map(Figures::Here)).collect();
    let mut columns = vec![
        column("", "", |row: &Figures<'_>| match row {
            Figures::Imported(_) => Cell::text("imported"),
            Figures::Here(_) => Cell::text("measured here"),
        })
        .of_words()
        .only(Forms::PAGE),
    ];
    for (name, head, unit) in SHOWN {
        columns.push(column(head, unit, move |row: &Figures<'_>| match row {
            Figures::Imported(one) => Cell::maybe(
                one.quantities
                    .iter()
                    .find(|quantity| quantity.name == name)
                    .map(as_printed),
            ),
            Figures::Here(stack) => {
                let mut beside = quantities()
                    .filter(|one| one.name == name)
                    .flat_map(|one| &one.measured);
                Cell::unmarked(beside.find(|one| one.stack == *stack).map(|one| one.figure), form(name))
            }
        }));
    }
    let name = |row: &Figures<'_>| match row {
        Figures::Imported(one) => Name::from(one.stack.as_str()),
        Figures::Here(stack) => source.stack(stack).only(Forms::PAGE),
    };
    let table = Table::of(
        format!("Imported for {phase}, beside what was measured"),
        "stack",
        &rows,
        name,
        columns,
    );
    vec![
        (Forms::ALL, Block::Table(table)),
        (Forms::ALL, Block::list(of.iter().map(|one| from(one)))),
    ]
}

fn from(one: &ImportedPhase) -> String {
    let sources: Vec<String> = one.sources.iter().map(source_in_words).collect();
    let nothing = match one.quantities.is_empty() {
        true => "; none of its figures was measured here too (all figures: --json)",
        false => "",
    };
    format!("{}: {}{}{nothing}", one.stack, sources.join("; "), left_out(one))
}

/// Files whose figure another one stands for, each with the columns in which it does.
fn left_out(one: &ImportedPhase) -> String {
    let of = |quantity: &'_ ImportedQuantity| {
        let shown = SHOWN.iter().find(|(name, ..)| *name == quantity.name);
        shown.map_or_else(String::new, |(_, head, unit)| format!("{head} {unit}"))
    };
    let all = one.quantities.iter();
    let pairs = all.flat_map(|quantity| quantity.left_out.iter().map(move |file| (file, of(quantity))));
    let files = grouped(pairs).into_iter();
    let words = |(file, columns): (&String, Vec<String>)| {
        format!(
            "; {file} does not count in {}: another figure came first",
            columns.join(", ")
        )
    };
    files.map(words).collect()
}

/// "awr.txt (AWR text, statistics; release 12.1)".
fn source_in_words(source: &ImportedSource) -> String {
    let mut about = vec![source.layout.clone()];
    for name in ["release", "version"] {
        let facts = source.facts.iter().filter(|fact| fact.name == name);
        about.extend(facts.map(|fact| fact.value.clone()));
    }
    if source.reports > 1 {
        about.push(format!("{} reports", source.reports));
    }
    format!("{} ({})", source.file, about.join(", "))
}

/// How a quantity is written, in the unit of its column.
fn form(name: &str) -> Form {
    match name {
        name if name.ends_with("_bytes_per_s") => megabytes,
        name if name.ends_with("_ns") => nanoseconds,
        "cpu_idle_share" => percent,
        _ => number,
    }
}

/// Quantities whose unit in the text is that of the column.
const SAME_UNIT: [&str; 4] = [
    "reads_per_s",
    "writes_per_s",
    "device_reads_per_s",
    "device_writes_per_s",
];

/// One report as it was printed, where its unit is the column's; several as their median and spread.
fn as_printed(quantity: &ImportedQuantity) -> String {
    let form = form(&quantity.name);
    let figure = quantity.figure;
    match &quantity.text {
        Some(text) if SAME_UNIT.contains(&quantity.name.as_str()) => text.clone(),
        Some(_) => form(figure.median),
        None if figure.low == figure.high => form(figure.median),
        None => format!(
            "{} ({} to {})",
            form(figure.median),
            form(figure.low),
            form(figure.high)
        ),
    }
}

/// What others published, and every imported figure as it was printed.
pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    let mut title = "";
    if let Some(published) = &source.analysis.published {
        title = "What others published";
        blocks.extend(publication(source, published));
    }
    let texts: Vec<(&str, &ImportedSource)> = source
        .analysis
        .imported
        .iter()
        .flat_map(|one| one.sources.iter().map(move |source| (one.stack.as_str(), source)))
        .collect();
    if !texts.is_empty() {
        blocks.push((Forms::PAGE, table_of_texts(&texts)));
        blocks.extend(texts.iter().map(|(_, one)| (Forms::PAGE, printed_figures(one))));
    }
    Section::of("elsewhere", "Elsewhere", title, blocks)
}

fn publication(source: &Source<'_>, published: &Published) -> Vec<Placed> {
    let figures = vec![(Forms::PAGE, Block::Table(published_figures(published)))];
    let words = "Above 1 is better for the first of the two. Diamond: as published; dot and line: measured here with \
         its interval; ratios marked not tested have a plain 95 % interval. Another machine and another size: \
         printed to be read beside, not to be met.";
    vec![
        (Forms::TEXTS, Block::list(crate::published::lines(published))),
        (Forms::PAGE, Block::Note(published.head())),
        (Forms::PAGE, Block::Table(published_ratios(source, published))),
        (Forms::PAGE, Block::Note(words.into())),
        (Forms::PAGE, Block::part("Its figures", Fold::Always, figures)),
    ]
}

fn published_figures(published: &Published) -> Table {
    let columns = [
        column("phase", "", |one: &PublishedFigure| Cell::text(&one.phase)).of_words(),
        column("published", "one a run", |one: &PublishedFigure| {
            Cell::Text(one.values())
        }),
        column("of", "", |one: &PublishedFigure| Cell::text(&one.quantity)).of_words(),
    ];
    let name = |one: &PublishedFigure| Name::from(one.stack.as_str());
    Table::of("Figures as published", "stack", &published.figures, name, columns)
}

fn published_ratios(source: &Source<'_>, published: &Published) -> Table {
    let margin = source.analysis.study.margin;
    let interval = |ratio, low, high| Interval {
        ratio,
        low: Some(low),
        high: Some(high),
        margin,
    };
    let columns = [
        column("chart", "", move |one: &PublishedRatio| {
            let tone = match one.agreement {
                Agreement::DirectionAndSize | Agreement::Direction => Tone::Equal,
                Agreement::Opposite | Agreement::OneSeesNone => Tone::Worse,
                Agreement::CouldNotBeTold => Tone::Open,
            };
            let ours = one.measured.map(|m| interval(m.ratio, m.low, m.high));
            Cell::Beside(interval((one.low * one.high).sqrt(), one.low, one.high), ours, tone)
        }),
        column("published", "", |one: &PublishedRatio| Cell::Text(one.published())).of_words(),
        column("here", "", |one: &PublishedRatio| {
            Cell::maybe(one.measured.map(|m| m.words()))
        })
        .of_words(),
        column("of ours", "", |one: &PublishedRatio| Cell::maybe(one.ours.as_ref())).of_words(),
        column("comparison", "", |one: &PublishedRatio| Cell::text(&one.says)).of_words(),
    ];
    let name = |one: &PublishedRatio| Name::from(one.theirs.as_str());
    Table::of(
        "Published ratios beside ours",
        "published",
        &published.ratios,
        name,
        columns,
    )
}

fn table_of_texts(texts: &[(&str, &ImportedSource)]) -> Block {
    type Of<'a> = (&'a str, &'a ImportedSource);
    let words = |head: &str, unit: &str, cell: fn(&ImportedSource) -> String| {
        column(head, unit, move |(_, one): &Of<'_>| Cell::Text(cell(one))).of_words()
    };
    let columns: Vec<Column<'_, Of<'_>>> = vec![
        words("file", "", |one| one.file.clone()),
        words("of", "", |one| one.layout.clone()),
        words("reports", "", |one| one.reports.to_string()),
        words("figures", "", |one| one.figures.len().to_string()),
        words("SHA-256", "begins with", |one| one.sha256.chars().take(12).collect()),
    ];
    let name = |(stack, _): &Of<'_>| Name::from(*stack);
    Block::Table(Table::of(
        "Where the imported figures are from",
        "stack",
        texts,
        name,
        columns,
    ))
}

/// More figures of one text than these are left to the JSON form.
const FIGURES_MAX: usize = 200;

/// Every figure of a text, as printed.
fn printed_figures(one: &ImportedSource) -> Block {
    let facts = one
        .facts
        .iter()
        .map(|fact| format!("{}: {} (line {})", fact.name, fact.value, fact.line));
    let columns = [
        words("report", |figure: &ImportedFigure| figure.report.clone()),
        words("as printed", |figure: &ImportedFigure| figure.text.clone()),
        words("unit", |figure: &ImportedFigure| figure.unit.clone()),
        words("line", |figure: &ImportedFigure| figure.line.to_string()),
    ];
    let kept = &one.figures[..one.figures.len().min(FIGURES_MAX)];
    let name = |figure: &ImportedFigure| Name::from(figure.name.as_str());
    let table = Table::of(format!("Figures of {}", one.file), "figure", kept, name, columns);
    let mut blocks = vec![(Forms::PAGE, Block::list(facts)), (Forms::PAGE, Block::Table(table))];
    if one.figures.len() > kept.len() {
        blocks.push((Forms::PAGE, Block::Note("The JSON form has the others.".into())));
    }
    blocks.push((Forms::PAGE, Block::list(one.notes.clone())));
    let title = format!("{}: every figure as printed ({})", one.file, one.figures.len());
    Block::part(title, Fold::Always, blocks)
}
