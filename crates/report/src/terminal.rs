//! The report for a terminal: the question, what differs, the numbers, the verdicts, the doubts, and one sentence.
//!
//! Takes an [`Analysis`] and a [`Style`], gives text; no line is wider than asked. Prevents: numbers read before what
//! differs is known, and a verdict read without its doubts.

use crate::analysis::{Analysis, GoOn};
use crate::contrast::{contrast, same};
use crate::page::{Page, paint, paint_bold, plain};
use crate::terminal_databases::{database_tables, databases};
use crate::terminal_findings::{changes, doubts, left_out, others, verdicts};
use crate::terminal_imported::{imported_alone, imported_beside};
use crate::terminal_storage::{layouts, memory, modelled};
use crate::terminal_tables::phase_tables;
use anstyle::AnsiColor;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; below 20 it is taken as 20.
    pub width: usize,
    /// ANSI colours.
    pub colour: bool,
    /// Letters beyond ASCII, for the small lines of rates over time.
    pub utf8: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            width: 80,
            colour: false,
            utf8: false,
        }
    }
}

const NARROWEST: usize = 20;

/// The whole report. Ends with the sentence to decide on and a newline.
pub fn terminal(analysis: &Analysis, style: &Style) -> String {
    let mut page = Page {
        lines: Vec::new(),
        width: style.width.max(NARROWEST),
        colour: style.colour,
        utf8: style.utf8,
    };
    question(&mut page, analysis);
    differences(&mut page, analysis);
    databases(&mut page, analysis);
    for phase in &analysis.phases {
        phase_tables(&mut page, phase);
        database_tables(&mut page, analysis, phase);
        imported_beside(&mut page, analysis, &phase.name);
    }
    imported_alone(&mut page, analysis);
    legend(&mut page, analysis);
    not_told_apart(&mut page, analysis);
    layouts(&mut page, analysis);
    modelled(&mut page, analysis);
    memory(&mut page, analysis);
    verdicts(&mut page, analysis);
    changes(&mut page, analysis);
    others(&mut page, analysis);
    published(&mut page, analysis);
    left_out(&mut page, analysis);
    doubts(&mut page, analysis);
    page.blank();
    page.say(&analysis.sentence, 0, paint_bold());
    let mut text = page.lines.join("\n");
    text.push('\n');
    text
}

fn question(page: &mut Page, analysis: &Analysis) {
    let study = &analysis.study;
    let question = if study.question.is_empty() {
        &study.name
    } else {
        &study.question
    };
    page.say(question, 0, paint_bold());
    if study.blocks_planned == 0 {
        page.say("nothing was run: all figures of this file are imported", 2, plain());
        return;
    }
    let state = match (&study.ended, analysis.go_on) {
        (Some(reason), _) => format!("ended: {reason}"),
        (None, GoOn::Continue(next)) => format!("not finished, the next look is at {next} blocks"),
        (None, _) => "not finished".into(),
    };
    let dropped = match analysis.dropped.len() {
        0 => String::new(),
        count => format!(" ({count} dropped)"),
    };
    page.say(
        &format!(
            "study {}, {} of {} blocks run{dropped}, {state}; I/O by {}, seed {}",
            study.name, study.blocks_begun, study.blocks_planned, study.io_method, study.seed
        ),
        2,
        plain(),
    );
    if let Some(turns) = study.turns() {
        page.say(&turns, 2, plain());
    }
    if study.modelled {
        page.say(
            "A device here is a model in virtual time: nothing was measured on it.",
            2,
            paint(AnsiColor::Yellow),
        );
    }
    if study.phases_uncounted > 0 {
        page.say(
            &format!(
                "{} phases of trials that did not end are kept in the file, and in no figure.",
                study.phases_uncounted
            ),
            2,
            plain(),
        );
    }
}

fn differences(page: &mut Page, analysis: &Analysis) {
    let ran = analysis
        .stacks
        .iter()
        .filter(|stack| stack.skipped_reason.is_none())
        .count();
    if ran < 2 {
        return;
    }
    page.title("What differs between the stacks");
    let lines = contrast(analysis);
    if lines.is_empty() {
        page.say("  nothing that was recorded", 4, plain());
    }
    for line in lines {
        page.say(&format!("  {line}"), 4, plain());
    }
    if let Some(line) = same(analysis) {
        page.say(&format!("  {line}"), 4, plain());
    }
}

fn legend(page: &mut Page, analysis: &Analysis) {
    if analysis.phases.iter().all(|phase| phase.cells.is_empty()) {
        return;
    }
    let has_flushes = |cell: &crate::Cell| cell.low.flushes_per_s.is_some_and(|rate| rate.high > 0.0);
    let flushes = match analysis.phases.iter().flat_map(|phase| &phase.cells).any(has_flushes) {
        true => {
            " Flushes that came by themselves are among the device's writes, as the kernel counts them: of no bytes."
        }
        false => "",
    };
    page.blank();
    page.say(
        &[
        "Medians over blocks, from totals including the drain; ~ marks those whose blocks lie more than 10 % off the median. \
         Device columns: the lowest visible device; read and write KiB: size of a request at the device nearest to the stack; moved /asked: bytes the lowest \
         device moved for each byte that the database asked of storage; for each asked: requests and bytes at the nearest devices for each that \
         the engine sent; over time: the rate from the \
         begin of the phase to the end of its work, from zero.",
            flushes,
        ]
        .concat(),
        0,
        plain(),
    );
}

/// What of the devices' I/O is one figure and no two.
fn not_told_apart(page: &mut Page, analysis: &Analysis) {
    if analysis.not_told_apart.is_empty() {
        return;
    }
    page.title("Device I/O that could not be told apart");
    for line in &analysis.not_told_apart {
        page.say(&format!("  {line}"), 4, plain());
    }
}

/// What others found, and whether it agrees.
fn published(page: &mut Page, analysis: &Analysis) {
    let Some(published) = &analysis.published else {
        return;
    };
    page.title("What others published");
    for line in crate::published::lines(published) {
        page.say(&format!("  {line}"), 4, plain());
    }
}
