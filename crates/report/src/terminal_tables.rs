//! The tables of a phase in a terminal: work, devices, cost, latency.
//!
//! Takes one phase on all stacks, puts lines on the page. A column that says nothing of any stack is left out. Prevents: a
//! rate without the device traffic, processor time and memory that it cost.

use crate::analysis::PhaseReport;
use crate::cells::{Cell, Metric};
use crate::figures::{Figure, marked};
use crate::format::{bytes, nanoseconds, number, percent};
use crate::inflation::{Inflated, Inflation};
use crate::moves;
use crate::page::{Page, plain};
use crate::provenance::Origin;
use crate::spark::spark;
use crate::table::{Column, table};
use crate::text::escaped;

pub(crate) fn phase_tables(page: &mut Page, phase: &PhaseReport) {
    let ranked = if phase.ranked { "" } else { ", not ranked" };
    let same = same_blocks(phase).map_or(String::new(), |count| match count {
        1 => ", 1 block".into(),
        _ => format!(", {count} blocks"),
    });
    let kind = if phase.name.contains(&phase.kind) {
        String::new()
    } else {
        format!("{} phase", phase.kind)
    };
    let about = format!("{kind}{same}{ranked}");
    let about = about.trim_start_matches(", ");
    page.title(&if about.is_empty() {
        phase.name.clone()
    } else {
        format!("{} ({about})", phase.name)
    });
    for one in &phase.ran_out_of_space {
        page.say(&format!("  {} {}", one.stack, one.words), 4, plain());
    }
    if phase.cells.is_empty() {
        if phase.ran_out_of_space.is_empty() {
            page.say("  no valid run", 2, plain());
        }
        return;
    }
    let names: Vec<String> = phase.cells.iter().map(|cell| escaped(&cell.stack)).collect();
    for columns in [
        work_columns(phase, page),
        device_columns(phase),
        inflation_columns(phase),
        cost_columns(phase),
    ] {
        for line in table(&names, &columns, page.width) {
            page.put(line, plain());
        }
    }
    // Order entry has a table of its own, with both stamps.
    if phase.cells.iter().all(|cell| cell.orders.is_none()) {
        latency_table(page, phase);
    }
    for cell in &phase.cells {
        for line in moves::lines(cell) {
            page.say(&format!("  {line}"), 4, plain());
        }
    }
}

/// Blocks in the figures, when they are as many on all stacks.
fn same_blocks(phase: &PhaseReport) -> Option<u32> {
    let first = phase.cells.first()?.blocks;
    phase.cells.iter().all(|cell| cell.blocks == first).then_some(first)
}

fn column(
    phase: &PhaseReport,
    title: &'static str,
    unit: &'static str,
    of: impl Fn(&Cell) -> Option<String>,
) -> Option<Column> {
    let cells: Vec<Option<String>> = phase.cells.iter().map(of).collect();
    let idle = |cell: &Option<String>| cell.as_deref().is_none_or(|text| text == "0");
    if cells.iter().all(idle) {
        return None;
    }
    Column::new(title, unit, cells)
}

fn megabytes(value: f64) -> String {
    number(value / 1e6)
}

fn kibibytes(value: f64) -> String {
    number(value / 1024.0)
}

fn work_columns(phase: &PhaseReport, page: &Page) -> Vec<Column> {
    let (title, unit, form): (_, _, fn(f64) -> String) = match phase.metric {
        Metric::OperationsPerSecond => ("rate", "op/s", number),
        Metric::BytesPerSecond => ("rate", "MB/s", megabytes),
        Metric::NewOrdersPerMinute => ("rate", "orders/min", number),
        Metric::ResponseNsP99 => ("p99", "response", nanoseconds),
        Metric::ElapsedSeconds => ("time", "s", number),
    };
    let range = |cell: &Cell| {
        let figure = cell.primary?;
        Some(format!("{} to {}", form(figure.low), form(figure.high)))
    };
    let engine =
        |pick: fn(&Cell) -> Option<Figure>, form: fn(f64) -> String| move |cell: &Cell| marked(pick(cell), form);
    [
        column(phase, title, unit, |cell| {
            cell.primary.map(|figure| form(figure.median))
        }),
        column(phase, "range", "of blocks", range),
        column(phase, "over", "time", |cell| {
            let letters = if page.width < 72 { 6 } else { 12 };
            spark(&cell.rate_over_time, letters, page.utf8)
        }),
        column(phase, "blocks", "", |cell| {
            same_blocks(phase).is_none().then(|| cell.blocks.to_string())
        }),
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
        column(phase, "pages over-", "written", |cell| {
            cell.overwritten_share.map(|share| percent(share.median))
        }),
        column(phase, "unsent", "of due", |cell| {
            let share = cell.unsent_share.filter(|_| phase.kind == "open")?;
            Some(percent(share.median))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn device_columns(phase: &PhaseReport) -> Vec<Column> {
    let low = |pick: fn(&Cell) -> Option<Figure>, form: fn(f64) -> String| move |cell: &Cell| marked(pick(cell), form);
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
        column(phase, "read", "KiB", low(|cell| cell.near.bytes_per_read, kibibytes)),
        column(phase, "write", "KiB", low(|cell| cell.near.bytes_per_write, kibibytes)),
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

/// Requests and bytes at the devices for each of the engine's, by sort.
fn inflation_columns(phase: &PhaseReport) -> Vec<Column> {
    type Pick = fn(&Inflation) -> Option<Inflated>;
    let both = |[requests, bytes]: [&'static str; 2], pick: Pick| {
        let of = |part: fn(&Inflated) -> Figure| {
            move |cell: &Cell| marked(pick(&cell.inflation).map(|inflated| part(&inflated)), number)
        };
        [
            column(phase, requests, "/asked", of(|one| one.requests_per_request)),
            column(phase, bytes, "/asked", of(|one| one.bytes_per_byte)),
        ]
    };
    let groups = [
        both(["reads", "read B"], |one| one.reads),
        both(["data wr.", "data B"], |one| one.data_writes),
        both(["log wr.", "log B"], |one| one.log_writes),
        both(["writes", "written B"], |one| one.writes.filter(|_| !one.log_apart)),
    ];
    groups.into_iter().flatten().flatten().collect()
}

fn cost_columns(phase: &PhaseReport) -> Vec<Column> {
    let cpu = match phase.metric {
        Metric::BytesPerSecond | Metric::ElapsedSeconds => {
            column(phase, "CPU", "us/MB", |cell| marked(cell.cpu_us_per_megabyte, number))
        }
        _ => column(phase, "CPU", "us/op", |cell| marked(cell.cpu_us_per_operation, number)),
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
            marked(cell.lun_bytes_per_data_byte, number)
        }),
        column(phase, "reads", "from", |cell| {
            Some(cell.provenance.reads.origin.word().into())
        }),
        column(phase, "writes", "to", |cell| {
            let written = phase
                .cells
                .iter()
                .any(|cell| cell.provenance.writes.origin != Origin::None);
            written.then(|| cell.provenance.writes.origin.word().into())
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
                .map(|(_, latency)| marked(of(latency), nanoseconds))
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
