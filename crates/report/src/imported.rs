//! What was imported: figures that another tool measured elsewhere, set beside what was measured here and never ranked.
//!
//! Takes the gathered file and the phases of the analysis, gives an [`ImportedPhase`] a stack and phase. Several
//! reports give a spread, no interval: nobody knows how they were drawn. Prevents: an imported figure read as a
//! measured one, and the same run counted twice because two tools reported it.

use crate::cells::metric::Metric;
use crate::cells::{Cell, PhaseReport};
use crate::figures::Figure;
use crate::grouped::{distinct, grouped};
use crate::history::Book;
use ledger::ImportedText;
use schemars::JsonSchema;
use serde::Serialize;

/// Imported figures of one stack in one phase. Not measured by Assay, not ranked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ImportedPhase {
    /// The stack, as the user named it.
    pub stack: String,
    /// The phase beside which it is shown.
    pub phase: String,
    /// The texts it is from.
    pub sources: Vec<ImportedSource>,
    /// What may be set beside measured figures, in base units.
    pub quantities: Vec<ImportedQuantity>,
}

/// One text that was imported.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ImportedSource {
    /// Name of the file.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// "awr", "iostat", "slob", "fio".
    pub format: String,
    /// Which layout of it.
    pub layout: String,
    /// Reports in it.
    pub reports: u32,
    /// What it says of where and when it was taken.
    pub facts: Vec<ImportedFact>,
    /// All its figures as printed.
    pub figures: Vec<ImportedFigure>,
    /// What was left out and why, and what has to be known of the figures.
    pub notes: Vec<String>,
}

/// What a text says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ImportedFact {
    /// "release", "host" ...
    pub name: String,
    /// As printed.
    pub value: String,
    /// Line of the file.
    pub line: u32,
}

/// A figure as it was printed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ImportedFigure {
    /// Which report of the text; empty when there is but one.
    pub report: String,
    /// In the words of the tool.
    pub name: String,
    /// In `unit`.
    pub value: f64,
    /// As printed.
    pub text: String,
    /// Of `value`.
    pub unit: String,
    /// Line of the file.
    pub line: u32,
}

/// A quantity over the reports that have it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ImportedQuantity {
    /// "reads_per_s", "read_ns" ...
    pub name: String,
    /// Median and range over the reports of one tool: a spread, not an interval.
    pub figure: Figure,
    /// As printed, when it is one report's.
    pub text: Option<String>,
    /// Unit of that text.
    pub text_unit: Option<String>,
    /// Files that have the quantity and do not count in it: from another tool, or as another figure of the same tool.
    pub left_out: Vec<String>,
    /// The same quantity as it was measured here in the phase of the same name, by stack. Empty for the mean time of a
    /// read or write, which is not measured.
    pub measured: Vec<MeasuredBeside>,
}

/// A measured figure that stands beside an imported one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredBeside {
    /// The stack.
    pub stack: String,
    /// Over its blocks.
    pub figure: Figure,
}

/// Quantities in the order in which they are shown: name, title, unit.
pub(crate) const SHOWN: [(&str, &str, &str); 12] = [
    ("reads_per_s", "reads", "asked/s"),
    ("writes_per_s", "data writes", "asked/s"),
    ("read_bytes_per_s", "asked", "read MB/s"),
    ("write_bytes_per_s", "asked", "data write MB/s"),
    ("read_ns", "read", "mean"),
    ("write_ns", "write", "mean"),
    ("elapsed_s", "time", "s"),
    ("device_reads_per_s", "device", "reads/s"),
    ("device_writes_per_s", "device", "writes/s"),
    ("device_read_bytes_per_s", "device", "read MB/s"),
    ("device_write_bytes_per_s", "device", "write MB/s"),
    ("cpu_idle_share", "CPU", "idle"),
];

/// In the order of import; texts of one stack and phase together.
pub(crate) fn imported(book: &Book, phases: &[PhaseReport]) -> Vec<ImportedPhase> {
    let texts = grouped(book.imported.iter().map(|text| ((&text.stack, &text.phase), text)));
    let whole = |((stack, phase), texts): ((&String, &String), Vec<&ImportedText>)| {
        let measured = phases.iter().find(|report| report.name == *phase);
        let quantities = SHOWN.iter().filter_map(|(name, ..)| quantity(name, &texts, measured));
        ImportedPhase {
            stack: stack.clone(),
            phase: phase.clone(),
            sources: texts.iter().map(|text| source(text)).collect(),
            quantities: quantities.collect(),
        }
    };
    texts.into_iter().map(whole).collect()
}

fn source(text: &ImportedText) -> ImportedSource {
    let reports = distinct(text.figures.iter().map(|figure| figure.report.as_str()));
    ImportedSource {
        file: text.file.clone(),
        sha256: text.sha256.clone(),
        format: text.format.clone(),
        layout: text.layout.clone(),
        reports: reports.len() as u32,
        facts: text
            .facts
            .iter()
            .map(|fact| ImportedFact {
                name: fact.name.clone(),
                value: fact.value.clone(),
                line: fact.line,
            })
            .collect(),
        figures: text
            .figures
            .iter()
            .map(|figure| ImportedFigure {
                report: figure.report.clone(),
                name: figure.name.clone(),
                value: figure.value,
                text: figure.text.clone(),
                unit: figure.unit.clone(),
                line: figure.line,
            })
            .collect(),
        notes: text
            .notes
            .iter()
            .map(|note| match note.line {
                0 => note.text.clone(),
                line => format!("line {line}: {}", note.text),
            })
            .collect(),
    }
}

/// Over the reports that have it as the first one has: from the same tool, under the same name. Two tools that watched
/// one run, or two parts of one report, are no two runs.
fn quantity(name: &str, texts: &[&ImportedText], measured: Option<&PhaseReport>) -> Option<ImportedQuantity> {
    let value = |figure: &ledger::ImportedFigure| {
        let (_, value) = figure.comparable.as_ref().filter(|(known, _)| known == name)?;
        Some(*value)
    };
    let mut first = None;
    let (mut printed, mut left_out) = (Vec::new(), Vec::new());
    for text in texts {
        let of = text.figures.iter();
        let of = of.filter_map(|figure| Some((&figure.report, (figure, value(figure)?))));
        for (_, all) in grouped(of) {
            let as_first = *first.get_or_insert((&text.format, &all[0].0.name));
            // A report has a quantity once.
            match all.iter().find(|(figure, _)| (&text.format, &figure.name) == as_first) {
                Some(found) => printed.push(*found),
                None => left_out.push(&text.file),
            }
        }
    }
    let figure = Figure::of(printed.iter().map(|(_, value)| Some(*value)))?;
    let one = (printed.len() == 1).then(|| printed[0].0);
    let beside = |cell: &Cell| {
        let figure = measured_as(name, cell, measured?.metric)?;
        Some(MeasuredBeside {
            stack: cell.stack.clone(),
            figure,
        })
    };
    Some(ImportedQuantity {
        name: name.into(),
        figure,
        text: one.map(|figure| figure.text.clone()),
        text_unit: one.map(|figure| figure.unit.clone()),
        left_out: distinct(left_out).into_iter().cloned().collect(),
        measured: measured.map_or_else(Vec::new, |report| report.cells.iter().filter_map(beside).collect()),
    })
}

fn measured_as(name: &str, cell: &Cell, metric: Metric) -> Option<Figure> {
    match name {
        "reads_per_s" => cell.engine.reads_per_s,
        "writes_per_s" => cell.engine.data_writes_per_s,
        "read_bytes_per_s" => cell.engine.read_bytes_per_s,
        "write_bytes_per_s" => cell.engine.data_write_bytes_per_s,
        "elapsed_s" if metric == Metric::ElapsedSeconds => cell.primary,
        "device_reads_per_s" => cell.low.reads_per_s,
        "device_writes_per_s" => cell.low.writes_per_s,
        "device_read_bytes_per_s" => cell.low.read_bytes_per_s,
        "device_write_bytes_per_s" => cell.low.write_bytes_per_s,
        "cpu_idle_share" => cell.cpu_idle_share,
        // "read_ns" and "write_ns": here operations are timed, and one reads as many pages as it needs.
        _ => None,
    }
}
