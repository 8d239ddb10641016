//! The report for a terminal: the question, what differs, the numbers, the verdicts, the doubts, and one sentence.
//!
//! Takes an [`Analysis`] and a [`Style`], gives text; no line is wider than asked. Prevents: numbers read before what
//! differs is known, and a verdict read without its doubts.

use crate::analysis::{Analysis, Comparison, GoOn, PhaseReport, Verdict};
use crate::cells::{Cell, Metric};
use crate::checks::Status;
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, number, percent};
use crate::table::{Column, table};
use crate::text::{escaped, wrapped};
use anstyle::{AnsiColor, Style as Paint};

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; below 20 it is taken as 20.
    pub width: usize,
    /// ANSI colours.
    pub colour: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            width: 80,
            colour: false,
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
    };
    question(&mut page, analysis);
    differences(&mut page, analysis);
    for phase in &analysis.phases {
        phase_tables(&mut page, phase);
    }
    legend(&mut page, analysis);
    verdicts(&mut page, analysis);
    left_out(&mut page, analysis);
    doubts(&mut page, analysis);
    page.blank();
    page.say(&analysis.sentence, 0, paint_bold());
    let mut text = page.lines.join("\n");
    text.push('\n');
    text
}

struct Page {
    lines: Vec<String>,
    width: usize,
    colour: bool,
}

impl Page {
    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn title(&mut self, text: &str) {
        self.blank();
        self.say(text, 0, paint_bold());
    }

    /// Wraps, escapes and colours.
    fn say(&mut self, text: &str, indent: usize, paint: Paint) {
        for line in wrapped(&escaped(text), self.width, indent) {
            self.put(line, paint);
        }
    }

    fn put(&mut self, line: String, paint: Paint) {
        let line = line.trim_end().to_string();
        if self.colour && paint != Paint::new() && !line.is_empty() {
            self.lines
                .push(format!("{}{line}{}", paint.render(), paint.render_reset()));
        } else {
            self.lines.push(line);
        }
    }
}

fn paint_bold() -> Paint {
    Paint::new().bold()
}

fn plain() -> Paint {
    Paint::new()
}

fn paint(colour: AnsiColor) -> Paint {
    Paint::new().fg_color(Some(colour.into()))
}

fn question(page: &mut Page, analysis: &Analysis) {
    let study = &analysis.study;
    let question = if study.question.is_empty() {
        &study.name
    } else {
        &study.question
    };
    page.say(question, 0, paint_bold());
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
    for difference in &analysis.differences {
        let values: Vec<String> = difference
            .values
            .iter()
            .map(|of| format!("{} = {}", of.stack, of.value.as_deref().unwrap_or("not recorded")))
            .collect();
        page.say(&format!("  {}: {}", difference.fact, values.join("; ")), 4, plain());
    }
    if analysis.differences.is_empty() {
        page.say("  nothing that was recorded", 4, plain());
    }
    if !analysis.equal.is_empty() {
        page.say(
            &format!("  The same on all: {}.", analysis.equal.join(", ")),
            4,
            plain(),
        );
    }
}

fn phase_tables(page: &mut Page, phase: &PhaseReport) {
    let ranked = if phase.ranked { "" } else { ", not ranked" };
    page.title(&format!("{} ({}{ranked})", phase.name, phase.kind));
    if phase.cells.is_empty() {
        page.say("  no valid run", 2, plain());
        return;
    }
    let names: Vec<String> = phase.cells.iter().map(|cell| escaped(&cell.stack)).collect();
    for columns in [work_columns(phase), device_columns(phase), cost_columns(phase)] {
        for line in table(&names, &columns, page.width) {
            page.put(line, plain());
        }
    }
    latency_table(page, phase);
}

/// A figure as its median, marked when the blocks are far apart.
fn shown(figure: Option<Figure>, form: impl Fn(f64) -> String) -> Option<String> {
    let figure = figure?;
    Some(if figure.is_loose() {
        format!("~{}", form(figure.median))
    } else {
        form(figure.median)
    })
}

fn column(
    phase: &PhaseReport,
    title: &'static str,
    unit: &'static str,
    of: impl Fn(&Cell) -> Option<String>,
) -> Option<Column> {
    Column::new(title, unit, phase.cells.iter().map(of).collect())
}

fn megabytes(value: f64) -> String {
    number(value / 1e6)
}

fn kibibytes(value: f64) -> String {
    number(value / 1024.0)
}

fn work_columns(phase: &PhaseReport) -> Vec<Column> {
    let (title, unit, form): (_, _, fn(f64) -> String) = match phase.metric {
        Metric::OperationsPerSecond => ("rate", "op/s", number),
        Metric::BytesPerSecond => ("rate", "MB/s", megabytes),
        Metric::ResponseNsP99 => ("p99", "response", nanoseconds),
        Metric::ElapsedSeconds => ("time", "s", number),
    };
    let range = |cell: &Cell| {
        let figure = cell.primary?;
        Some(format!("{} to {}", form(figure.low), form(figure.high)))
    };
    let engine =
        |pick: fn(&Cell) -> Option<Figure>, form: fn(f64) -> String| move |cell: &Cell| shown(pick(cell), form);
    [
        column(phase, title, unit, |cell| {
            cell.primary.map(|figure| form(figure.median))
        }),
        column(phase, "range", "of blocks", range),
        column(phase, "n", "", |cell| Some(cell.blocks.to_string())),
        column(
            phase,
            "reads",
            "asked/s",
            engine(|cell| cell.engine.reads_per_s, number),
        ),
        column(
            phase,
            "writes",
            "asked/s",
            engine(|cell| cell.engine.writes_per_s, number),
        ),
        column(phase, "unsent", "of due", |cell| {
            cell.unsent_share.map(|share| percent(share.median))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn device_columns(phase: &PhaseReport) -> Vec<Column> {
    let low = |pick: fn(&Cell) -> Option<Figure>, form: fn(f64) -> String| move |cell: &Cell| shown(pick(cell), form);
    let moved = match phase.metric {
        Metric::BytesPerSecond | Metric::ElapsedSeconds => None,
        _ => column(
            phase,
            "moved",
            "KiB/op",
            low(|cell| cell.device_bytes_per_operation, kibibytes),
        ),
    };
    [
        column(phase, "device", "reads/s", low(|cell| cell.low.reads_per_s, number)),
        column(phase, "device", "writes/s", low(|cell| cell.low.writes_per_s, number)),
        column(phase, "read", "MB/s", low(|cell| cell.low.read_bytes_per_s, megabytes)),
        column(
            phase,
            "write",
            "MB/s",
            low(|cell| cell.low.write_bytes_per_s, megabytes),
        ),
        column(
            phase,
            "read",
            "KiB each",
            low(|cell| cell.near.bytes_per_read, kibibytes),
        ),
        column(
            phase,
            "write",
            "KiB each",
            low(|cell| cell.near.bytes_per_write, kibibytes),
        ),
        moved,
        column(
            phase,
            "moved",
            "/asked",
            low(|cell| cell.device_bytes_per_asked_byte, number),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn cost_columns(phase: &PhaseReport) -> Vec<Column> {
    let cpu = match phase.metric {
        Metric::BytesPerSecond | Metric::ElapsedSeconds => {
            column(phase, "CPU", "us/MB", |cell| shown(cell.cpu_us_per_megabyte, number))
        }
        _ => column(phase, "CPU", "us/op", |cell| shown(cell.cpu_us_per_operation, number)),
    };
    let memory = |cell: &Cell| {
        let peak = cell.memory_bytes_peak?;
        Some(bytes(peak.high))
    };
    [
        cpu,
        column(phase, "CPU", "idle", |cell| {
            cell.cpu_idle_share.map(|share| percent(share.median))
        }),
        column(phase, "memory", "at most", memory),
        column(phase, "LUN bytes", "/data byte", |cell| {
            shown(cell.lun_bytes_per_data_byte, number)
        }),
        column(phase, "reads", "from", |cell| {
            Some(cell.provenance.reads.origin.word().into())
        }),
        column(phase, "writes", "to", |cell| {
            Some(cell.provenance.writes.origin.word().into())
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn latency_table(page: &mut Page, phase: &PhaseReport) {
    let rows: Vec<_> = phase
        .cells
        .iter()
        .flat_map(|cell| cell.latency.iter().map(move |l| (cell, l)))
        .collect();
    let Some((_, first)) = rows.first() else { return };
    let unit = if first.stamp == "response" {
        "response"
    } else {
        "service"
    };
    let names: Vec<String> = rows.iter().map(|(cell, _)| escaped(&cell.stack)).collect();
    let pick = |title, of: fn(&crate::latency::Latency) -> Option<Figure>| {
        Column::new(
            title,
            unit,
            rows.iter()
                .map(|(_, latency)| shown(of(latency), nanoseconds))
                .collect(),
        )
    };
    let class = Column::new(
        "operation",
        "",
        rows.iter().map(|(_, latency)| Some(escaped(&latency.class))).collect(),
    );
    let columns: Vec<Column> = [
        class,
        pick("p50", |latency| latency.p50_ns),
        pick("p95", |latency| latency.p95_ns),
        pick("p99", |latency| latency.p99_ns),
        pick("slowest", |latency| latency.max_ns),
    ]
    .into_iter()
    .flatten()
    .collect();
    for line in table(&names, &columns, page.width) {
        page.put(line, plain());
    }
}

fn legend(page: &mut Page, analysis: &Analysis) {
    if analysis.phases.iter().all(|phase| phase.cells.is_empty()) {
        return;
    }
    page.blank();
    page.say(
        "Medians over blocks, from totals including the drain; ~ marks those whose blocks lie more than 10 % off the median. \
         Device columns: the lowest visible device; KiB each: the device nearest to the stack.",
        0,
        plain(),
    );
}

fn verdicts(page: &mut Page, analysis: &Analysis) {
    if analysis.comparisons.is_empty() {
        return;
    }
    page.title("Verdicts (ratio to the base, above 1 is better)");
    for comparison in &analysis.comparisons {
        let Comparison {
            stack, phase, words, ..
        } = comparison;
        page.say(
            &format!("  {phase}, {stack}: {words}"),
            4,
            verdict_paint(comparison.verdict),
        );
    }
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

fn verdict_paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Better => paint(AnsiColor::Green),
        Verdict::Worse => paint(AnsiColor::Red),
        Verdict::Equivalent => paint(AnsiColor::Cyan),
        Verdict::NotEnoughData => plain(),
    }
}

fn left_out(page: &mut Page, analysis: &Analysis) {
    if !analysis.unranked.is_empty() {
        page.title("Measured, not ranked");
        for one in &analysis.unranked {
            let place = one.phase.as_ref().map_or(String::new(), |phase| format!(" in {phase}"));
            page.say(
                &format!("  {}{place}: {}", one.stack, one.reason),
                4,
                paint(AnsiColor::Yellow),
            );
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
            page.say(
                &format!("  {}: {reason}: {cure}", stack.name),
                4,
                paint(AnsiColor::Yellow),
            );
        }
    }
    if !analysis.dropped.is_empty() {
        page.title("Dropped blocks");
        for one in &analysis.dropped {
            page.say(
                &format!("  block {}: {}", one.block, one.reason),
                4,
                paint(AnsiColor::Yellow),
            );
        }
    }
}

fn doubts(page: &mut Page, analysis: &Analysis) {
    let doubts = analysis.doubts();
    let valid = analysis.checks.len() - doubts.len();
    if doubts.is_empty() {
        if valid > 0 {
            page.blank();
            page.say(&format!("All {valid} validity checks are VALID."), 0, plain());
        }
        return;
    }
    page.title(&format!("Doubts ({valid} other checks are VALID)"));
    for check in doubts {
        let (word, colour) = match check.status {
            Status::Invalid => ("INVALID", AnsiColor::Red),
            Status::Suspect => ("SUSPECT", AnsiColor::Yellow),
            Status::Valid => ("VALID", AnsiColor::Green),
        };
        let place: Vec<&str> = [&check.phase, &check.stack]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let place = if place.is_empty() {
            String::new()
        } else {
            format!(" {}:", place.join(", "))
        };
        let threshold = if check.threshold == "none" {
            String::new()
        } else {
            format!(" (wanted: {})", check.threshold)
        };
        page.say(
            &format!(
                "  {word} {}:{place} {}{threshold}; {}",
                check.subject, check.figure, check.advice
            ),
            4,
            paint(colour),
        );
    }
}
