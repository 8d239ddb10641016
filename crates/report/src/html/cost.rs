//! What an operation costs: processor time, device traffic, memory, space; and the ratios of these that were not tested.
//!
//! Takes the cells and the ratios, gives the section. Prevents: a rate bought with twice the processor time, unsaid.

use super::figure_cells::{Column, Shown, column, framed, phase_part, ranged, shown, stack_name, table};
use super::forest::{Forest, Interval};
use super::markup::Markup;
use super::work::kibibytes;
use super::{Section, Source};
use crate::analysis::PhaseReport;
use crate::cells::{Cell, Metric};
use crate::format::{bytes, number, percent, ratio};
use crate::others::NotTested;

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let phases: Vec<&PhaseReport> = source
        .analysis
        .phases
        .iter()
        .filter(|phase| !phase.cells.is_empty())
        .collect();
    let mut body = Markup::new();
    for (place, phase) in phases.iter().enumerate() {
        let mut part = Markup::new();
        phase_table(&mut part, source, phase);
        not_tested(&mut part, source, phase, place);
        phase_part(
            &mut body,
            place,
            phases.len(),
            &phase.name,
            &super::work::about(phase),
            &part,
        );
    }
    if !phases.is_empty() {
        body.raw(
            "<p class=\"quiet\">Processor time is that of the whole system, kernel threads included. Moved: bytes the lowest visible \
             device moved, both directions, redo included. Memory: own and page cache at the highest. Ratios here are stack over base, \
             above 1 is more of it, each with a plain 95 % interval: they are not tested, and no verdict is drawn from them.",
        );
        let all = source.analysis.not_tested.len();
        if all > NOT_TESTED_MAX {
            body.text(&format!(
                " Of these {all} ratios only those are here whose whole interval lies outside the margin (on a page of very many phases, the farthest of each); the JSON form has all."
            ));
        }
        body.raw("</p>");
    }
    super::inflated::part(&mut body, source);
    super::modelled::part(&mut body, source);
    super::memory::part(&mut body, source);
    Section::new("cost", "Cost", body)
}

/// With more ratios than these, only those clear of 1 by more than the margin are shown, as in a terminal.
const NOT_TESTED_MAX: usize = 400;
/// On a lean page, the farthest from 1 of each phase.
const LEAN_ROWS: usize = 5;

fn phase_table(part: &mut Markup, source: &Source<'_>, phase: &PhaseReport) {
    let per_byte = matches!(phase.metric, Metric::BytesPerSecond | Metric::ElapsedSeconds);
    let columns: Vec<Column<'_, Cell>> = vec![
        column(
            "CPU",
            if per_byte { "us per MB" } else { "us per op" },
            |cell: &Cell| {
                let cost = if per_byte {
                    cell.cpu_us_per_megabyte
                } else {
                    cell.cpu_us_per_operation
                };
                shown(cost, number)
            },
        ),
        column("CPU", "idle", |cell: &Cell| ranged(cell.cpu_idle_share, percent)),
        column("moved", "KiB per op", |cell: &Cell| {
            if per_byte {
                return Shown::Nothing;
            }
            shown(cell.device_bytes_per_operation, kibibytes)
        }),
        column("moved", "byte per byte asked", |cell: &Cell| {
            shown(cell.device_bytes_per_asked_byte, number)
        }),
        column("memory", "at most", |cell: &Cell| match cell.memory_bytes_peak {
            Some(peak) => Shown::Text(bytes(peak.high)),
            None => Shown::Nothing,
        }),
        column("memory", "budget", |cell: &Cell| match cell.memory_budget_bytes {
            Some(budget) => Shown::Text(bytes(budget)),
            None => Shown::Nothing,
        }),
        column("LUN", "byte per byte of data", |cell: &Cell| {
            shown(cell.lun_bytes_per_data_byte, number)
        }),
    ];
    let caption = format!("Cost in {}", phase.name);
    table(
        part,
        &framed(source, &caption, "Stack"),
        &phase.cells,
        &columns,
        |page, cell| {
            stack_name(page, &source.mark(&cell.stack), &cell.stack);
        },
    );
}

fn not_tested(part: &mut Markup, source: &Source<'_>, phase: &PhaseReport, place: usize) {
    let margin = source.analysis.study.margin;
    let all = &source.analysis.not_tested;
    let mut rows: Vec<&NotTested> = all
        .iter()
        .filter(|one| one.phase == phase.name && (all.len() <= NOT_TESTED_MAX || one.is_clear(margin)))
        .collect();
    if source.lean {
        rows.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        rows.truncate(LEAN_ROWS);
    }
    if rows.is_empty() {
        return;
    }
    let interval = |one: &NotTested| Interval {
        ratio: one.ratio,
        low: Some(one.low),
        high: Some(one.high),
    };
    let intervals: Vec<Interval> = rows.iter().map(|one| interval(one)).collect();
    let forest = Forest::over(&intervals, margin, place + 1);
    let columns: Vec<Column<'_, &NotTested>> = vec![
        column("of what", "not tested", |one: &&NotTested| {
            Shown::Text(one.what.clone())
        })
        .of_words(),
        column("chart", "", |one: &&NotTested| {
            let class = if one.is_clear(margin) { "clear" } else { "open" };
            if source.lean {
                return Shown::Nothing;
            }
            Shown::Chart(forest.row(&interval(one), class))
        })
        .headed(forest.axis()),
        column("ratio", "of the base's", |one: &&NotTested| {
            Shown::Text(ratio(one.ratio))
        }),
        column("interval", "95 %", |one: &&NotTested| {
            Shown::Text(interval(one).words())
        }),
    ];
    let caption = format!("Cost ratios in {}, not tested", phase.name);
    table(
        part,
        &framed(source, &caption, "Stack"),
        &rows,
        &columns,
        |page, one| {
            stack_name(page, &source.mark(&one.stack), &one.stack);
        },
    );
}
