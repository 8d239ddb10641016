//! The phases: what was done on each stack, what the devices did for it, what it cost, how long operations took.
//!
//! Takes the phases of the analysis, gives a part each. A column of their table is one row of [`columns`]. Prevents: a
//! rate without the device traffic, processor time and memory that it cost.

use super::databases::{bulk, instances, orders, questions};
use super::source::Source;
use super::{elsewhere, moves, serving};

use crate::cells::Cell as OfStack;
use crate::cells::PhaseReport;
use crate::cells::inflation::{BytesOfSet, Inflated, Inflation, TEMPORARY_FILES};
use crate::cells::invalid::InvalidRuns;
use crate::cells::latency::Latency;
use crate::cells::metric::Metric;
use crate::cells::provenance::Origin;
use crate::check::Status;
use crate::document::{Block, Cell, Column, Fold, Form, Forms, Part, Placed, Section, Table, column};
use crate::figures::Figure;
use crate::format::{bytes, kibibytes, megabytes, nanoseconds, number, percent};
use crate::phase_kind::kind_row;
use ledger::Stamp;

/// Reasons of a stack that are listed; others differ in their figures.
const REASONS_MAX: usize = 2;

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let phases = &source.analysis.phases;
    let mut blocks: Vec<Placed> = phases.iter().map(|phase| (Forms::ALL, part(source, phase))).collect();
    blocks.extend(elsewhere::imported_alone(source));
    if phases.iter().any(|phase| !phase.cells.is_empty()) {
        blocks.extend(legend(source));
    }
    if !source.analysis.not_told_apart.is_empty() {
        let told = vec![(Forms::ALL, Block::list(source.analysis.not_told_apart.clone()))];
        let part = Block::part("Device I/O that could not be separated", Fold::Never, told);
        blocks.push((Forms::ALL, part));
    }
    Section::of("phases", "Phases", "", blocks)
}

fn part(source: &Source<'_>, phase: &PhaseReport) -> Block {
    let mut blocks = Vec::new();
    if !phase.ran_out_of_space.is_empty() {
        let full = phase
            .ran_out_of_space
            .iter()
            .map(|one| format!("{} {}", one.stack, one.words));
        blocks.push((Forms::ALL, Block::list(full)));
    } else if phase.cells.is_empty() && phase.invalid.is_empty() {
        blocks.push((Forms::ALL, Block::Note("no valid run".into())));
    }
    if !phase.cells.is_empty() {
        let caption = format!("Figures of {}", phase.name);
        let table = source.table(caption, &phase.cells, |cell| &cell.stack, columns(phase));
        blocks.push((Forms::ALL, Block::Table(table)));
        blocks.extend(sets(source, phase));
        blocks.extend(serving::of_all_points(phase));
        blocks.push((latencies_for(phase), latencies(source, phase)));
        blocks.extend(instances::blocks(source, phase));
        blocks.extend(moves::blocks(source, phase));
        blocks.extend(orders::blocks(source, phase));
        blocks.extend(bulk::blocks(source, phase));
        blocks.extend(serving::blocks(source, phase));
        blocks.extend(questions::blocks(source, phase));
    }
    if !phase.invalid.is_empty() {
        blocks.push((Forms::ALL, Block::Table(invalid(source, phase))));
        blocks.push((Forms::ALL, Block::list(reasons(phase))));
    }
    blocks.extend(elsewhere::imported_beside(source, &phase.name));
    Block::Part(Part {
        title: phase.name.clone(),
        about: about(phase),
        fold: Fold::OfMany,
        blocks,
    })
}

/// A row a LUN set of a stack; none where no stack has several that are told apart.
fn sets(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    type Of<'a> = (&'a str, &'a BytesOfSet);
    let cells = phase.cells.iter();
    let rows: Vec<Of<'_>> = cells
        .flat_map(|cell| cell.sets.iter().map(|set| (cell.stack.as_str(), set)))
        .collect();
    // Markdown is short: ratios of data and log stand there already, those of temporary files do not.
    let (forms, texts) = match rows.iter().any(|(_, set)| set.holds == TEMPORARY_FILES) {
        true => (Forms::ALL, Forms::TEXTS),
        false => (Forms::TERMINAL_AND_FULL_PAGE, Forms::TERMINAL),
    };
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = [
        column("LUN set", "holds", |(_, set): &Of<'_>| Cell::text(&set.holds)).of_words(),
        column("devices", "read", |(_, set): &Of<'_>| {
            Cell::ranged(set.read_bytes, bytes)
        }),
        column("devices", "wrote", |(_, set): &Of<'_>| {
            Cell::ranged(set.write_bytes, bytes)
        }),
    ];
    let caption = format!("Device bytes by LUN set: {}", phase.name);
    let table = source.table(caption, &rows, |(stack, _)| stack, columns);
    vec![
        (texts, Block::Label("device bytes by LUN set".into())),
        (forms, Block::Table(table)),
    ]
}

/// What invalid runs measured, where a stack has no others.
fn invalid(source: &Source<'_>, phase: &PhaseReport) -> Table {
    let (head, unit, form) = primary(phase.metric);
    let columns = vec![
        column(head, unit, move |runs: &InvalidRuns| Cell::unmarked(runs.primary, form)),
        column("range", "of blocks", move |runs: &InvalidRuns| {
            runs.primary
                .map_or(Cell::Nothing, |figure| Cell::Range(figure, 1.0, form))
        })
        .only(Forms::TEXTS),
        column("blocks", "", |runs: &InvalidRuns| Cell::text(runs.blocks.to_string())),
        column("status", "", |_: &InvalidRuns| Cell::text(Status::Invalid.word())).of_words(),
    ];
    let caption = format!("Figures of {} that do not count: not ranked", phase.name);
    source.table(caption, &phase.invalid, |runs| &runs.stack, columns)
}

/// Why they do not count.
fn reasons(phase: &PhaseReport) -> Vec<String> {
    let of = |runs: &InvalidRuns| {
        let (stack, word) = (runs.stack.clone(), Status::Invalid.word());
        let line = move |reason: &String| format!("{stack} is {word} and not ranked: {reason}");
        runs.reasons.iter().take(REASONS_MAX).map(line).collect::<Vec<_>>()
    };
    phase.invalid.iter().flat_map(of).collect()
}

/// Kind and blocks of a phase in words.
fn about(phase: &PhaseReport) -> String {
    let mut parts = Vec::new();
    if !phase.name.contains(phase.kind.as_str()) {
        parts.push(format!("{} phase", phase.kind.as_str()));
    }
    parts.extend(same_blocks(phase).map(|count| match count {
        1 => "1 block".into(),
        _ => format!("{count} blocks"),
    }));
    if !phase.ranked {
        parts.push("not ranked".into());
    }
    parts.join(", ")
}

/// Blocks in the figures, when they are as many on all stacks.
fn same_blocks(phase: &PhaseReport) -> Option<u32> {
    let first = phase.cells.first()?.blocks;
    phase.cells.iter().all(|cell| cell.blocks == first).then_some(first)
}

/// Head, unit and form of a primary metric.
pub(crate) fn primary(metric: Metric) -> (&'static str, &'static str, Form) {
    match metric {
        Metric::OperationsPerSecond => ("rate", "op/s", number),
        Metric::OperationsPerSecondAtLimit => ("at the limit", "op/s", number),
        Metric::BytesPerSecond => ("rate", "MB/s", megabytes),
        Metric::NewOrdersPerMinute => ("rate", "orders/min", number),
        Metric::ResponseNsP99 => ("p99", "response", nanoseconds),
        Metric::GeometricMeanSeconds => ("question", "geometric mean, s", number),
        Metric::ElapsedSeconds => ("time", "s", number),
    }
}

fn columns(phase: &PhaseReport) -> Vec<Column<'_, OfStack>> {
    let mut columns = work(phase);
    columns.extend(devices(phase));
    columns.extend(inflation());
    columns.extend(cost(phase));
    columns
}

/// A figure that Markdown leaves out.
fn long<'a>(head: &str, unit: &str, pick: impl Fn(&OfStack) -> Option<Figure> + 'a, form: Form) -> Column<'a, OfStack> {
    column(head, unit, move |cell: &OfStack| Cell::figure(pick(cell), form)).only(Forms::LONG)
}

fn work(phase: &PhaseReport) -> Vec<Column<'_, OfStack>> {
    let (head, unit, form) = primary(phase.metric);
    let scheduled = phase.metric == Metric::ResponseNsP99;
    let kind = kind_row(phase.kind);
    let unsent = kind.is_open;
    let differ = same_blocks(phase).is_none();
    vec![
        column(head, unit, move |cell: &OfStack| Cell::unmarked(cell.primary, form)).compared(),
        column("range", "of blocks", move |cell: &OfStack| {
            cell.primary
                .map_or(Cell::Nothing, |figure| Cell::Range(figure, 1.0, form))
        })
        .only(Forms::TEXTS),
        column("over", "time", |cell: &OfStack| {
            Cell::Series(cell.rate_over_time.clone())
        })
        .only(Forms::LONG),
        column("blocks", "", move |cell: &OfStack| {
            Cell::maybe(differ.then(|| cell.blocks.to_string()))
        }),
        long(
            "operations",
            "per s",
            move |cell| cell.operations_per_s.filter(|_| scheduled),
            number,
        )
        .only(Forms::PAGE),
        long("commits", "per s", |cell| cell.engine.commits_per_s, number).only(Forms::PAGE),
        long("reads", "asked/s", |cell| cell.engine.reads_per_s, number),
        long("writes", "asked/s", |cell| cell.engine.writes_per_s, number),
        long("reads", "asked MB/s", |cell| cell.engine.read_bytes_per_s, megabytes).only(Forms::PAGE),
        long("writes", "asked MB/s", |cell| cell.engine.write_bytes_per_s, megabytes).only(Forms::PAGE),
        column("pages over-", "written", |cell: &OfStack| {
            Cell::unmarked(cell.overwritten_share, percent)
        }),
        column("unsent", "of due", move |cell: &OfStack| {
            Cell::unmarked(cell.unsent_share.filter(|_| unsent), percent)
        })
        .only(Forms::LONG),
    ]
}

/// True where an operation is a byte, or the whole phase.
fn is_per_byte(phase: &PhaseReport) -> bool {
    matches!(phase.metric, Metric::BytesPerSecond | Metric::ElapsedSeconds)
}

fn devices(phase: &PhaseReport) -> Vec<Column<'_, OfStack>> {
    let by_operation = !is_per_byte(phase);
    let moved = move |cell: &OfStack| cell.device_bytes_per_operation.filter(|_| by_operation);
    vec![
        long("device", "reads/s", |cell| cell.low.reads_per_s, number).breaks(),
        long("device", "writes/s", |cell| cell.low.writes_per_s, number),
        long("device", "flushes/s", |cell| cell.low.flushes_per_s, number).only(Forms::PAGE),
        long("read", "MB/s", |cell| cell.low.read_bytes_per_s, megabytes),
        long("write", "MB/s", |cell| cell.low.write_bytes_per_s, megabytes),
        long("read", "KiB", |cell| cell.near.bytes_per_read, kibibytes),
        long("write", "KiB", |cell| cell.near.bytes_per_write, kibibytes),
        long("moved", "KiB/op", moved, kibibytes),
        long("moved", "/asked", |cell| cell.device_bytes_per_asked_byte, number),
    ]
}

/// Requests and bytes at the devices for each of the engine's, by sort.
fn inflation<'a>() -> Vec<Column<'a, OfStack>> {
    type Pick = fn(&Inflation) -> Option<Inflated>;
    let of = |head: &str, pick: Pick, part: fn(&Inflated) -> Figure| {
        column(head, "/asked", move |cell: &OfStack| {
            Cell::figure(pick(&cell.inflation).map(|one| part(&one)), number)
        })
    };
    let requests: fn(&Inflated) -> Figure = |one| one.requests_per_request;
    let bytes: fn(&Inflated) -> Figure = |one| one.bytes_per_byte;
    let together: Pick = |one| one.writes.filter(|_| !one.log_apart);
    vec![
        of("reads", |one| one.reads, requests).breaks(),
        of("read B", |one| one.reads, bytes),
        of("data wr.", |one| one.data_writes, requests),
        of("data B", |one| one.data_writes, bytes),
        long("beyond copies", "B/B", |cell| cell.inflation.beyond_per_byte, number).only(Forms::PAGE),
        of("log wr.", |one| one.log_writes, requests),
        of("log B", |one| one.log_writes, bytes),
        long(
            "log flushes",
            "per flush",
            |cell| cell.inflation.flushes_per_log_flush,
            number,
        )
        .only(Forms::PAGE),
        of("writes", together, requests),
        of("written B", together, bytes),
        long(
            "torn pages",
            "of bytes sent",
            |cell| cell.inflation.torn_page_share,
            percent,
        )
        .only(Forms::PAGE),
    ]
}

fn cost(phase: &PhaseReport) -> Vec<Column<'_, OfStack>> {
    let cpu = match is_per_byte(phase) {
        true => long("CPU", "us/MB", |cell| cell.cpu_us_per_megabyte, number),
        false => long("CPU", "us/op", |cell| cell.cpu_us_per_operation, number),
    };
    let was_written = phase
        .cells
        .iter()
        .any(|cell| cell.provenance.writes.origin != Origin::None);
    vec![
        cpu.breaks(),
        column("CPU", "idle", |cell: &OfStack| {
            Cell::unmarked(cell.cpu_idle_share, percent)
        }),
        column("memory", "at most", |cell: &OfStack| {
            Cell::number(cell.memory_bytes_peak.map(|peak| peak.high), bytes)
        })
        .only(Forms::LONG),
        column("memory", "budget", |cell: &OfStack| {
            Cell::number(cell.memory_budget_bytes, bytes)
        })
        .only(Forms::PAGE),
        long("LUN bytes", "/data byte", |cell| cell.lun_bytes_per_data_byte, number),
        column("reads", "from", |cell: &OfStack| {
            Cell::text(cell.provenance.reads.words())
        })
        .of_words(),
        column("writes", "to", move |cell: &OfStack| {
            Cell::maybe(was_written.then(|| cell.provenance.writes.words()))
        })
        .of_words(),
    ]
}

/// Order entry has tables of its own, with both stamps; a page shows every distribution.
fn latencies_for(phase: &PhaseReport) -> Forms {
    match phase.cells.iter().all(|cell| cell.orders.is_none()) {
        true => Forms::LONG,
        false => Forms::PAGE,
    }
}

/// A row a class of operation on a stack.
fn latencies(source: &Source<'_>, phase: &PhaseReport) -> Block {
    struct Spread<'a> {
        stack: &'a str,
        latency: &'a Latency,
        forms: Forms,
    }
    let mut rows = Vec::new();
    for cell in &phase.cells {
        let of = |latency, forms| Spread {
            stack: &cell.stack,
            latency,
            forms,
        };
        rows.extend(cell.latency.iter().map(|one| of(one, Forms::ALL)));
        // Work that falls due on a schedule has two stamps.
        let service = source
            .file
            .map_or(&[][..], |file| file.service(&phase.name, &cell.stack));
        rows.extend(service.iter().map(|one| of(one, Forms::FULL_PAGE)));
    }
    let stamp = rows.first().map_or(Stamp::Service, |row| row.latency.stamp);
    let both = rows.iter().any(|row| row.latency.stamp != stamp);
    let unit = if both { "" } else { stamp.as_str() };
    let quantile = |head: &str, pick: fn(&Latency) -> Option<Figure>| {
        column(head, unit, move |row: &Spread<'_>| {
            Cell::ranged(pick(row.latency), nanoseconds)
        })
    };
    let shape = |row: &Spread<'_>| {
        let file = source.file?;
        file.distribution(&phase.name, row.stack, &row.latency.class, row.latency.stamp)
    };
    let columns = vec![
        column("operation", "", |row: &Spread<'_>| Cell::text(&row.latency.class)).of_words(),
        column("stamps", "", |row: &Spread<'_>| {
            Cell::maybe(both.then_some(row.latency.stamp.as_str()))
        })
        .of_words(),
        column("distribution", "", move |row| {
            shape(row).map_or(Cell::Nothing, |shape| Cell::Distribution(Box::new(shape)))
        })
        .only(Forms::PAGE),
        quantile("p50", |latency| latency.p50_ns),
        quantile("p95", |latency| latency.p95_ns).only(Forms::TERMINAL_AND_FULL_PAGE),
        quantile("p99", |latency| latency.p99_ns),
        quantile("p99.9", |latency| latency.p999_ns).only(Forms::FULL_PAGE),
        quantile("slowest", |latency| latency.max_ns),
        column("number", "operations", |row: &Spread<'_>| {
            Cell::Number(row.latency.count as f64, number)
        })
        .only(Forms::PAGE),
    ];
    let name = |row: &Spread<'_>| source.stack(row.stack).only(row.forms);
    Block::Table(Table::of(
        format!("Latency in {}", phase.name),
        "stack",
        &rows,
        name,
        columns,
    ))
}

/// How the tables of the phases are to be read.
fn legend(source: &Source<'_>) -> Vec<Placed> {
    let has_flushes = |cell: &OfStack| cell.low.flushes_per_s.is_some_and(|rate| rate.high > 0.0);
    let mut cells = source.analysis.phases.iter().flat_map(|phase| &phase.cells);
    let flushes = match cells.any(has_flushes) {
        true => {
            " Flushes that came by themselves are among the device's writes, as the kernel counts them: of no bytes."
        }
        false => "",
    };
    let each = "requests and bytes at the nearest devices for each that the engine sent";
    let columns = format!(
        "Device columns: the lowest visible device. Read and write KiB: size of a request at the device nearest to \
         the stack. Moved /asked: bytes the lowest device moved for each byte that the database asked of storage. \
         For each asked: {each}. Over time: the rate from the start of the phase to the end of its work, from zero."
    );
    let medians = "Medians over blocks, from totals including the drain.";
    let marked = "~ marks those whose blocks lie more than 10 % off the median.";
    let below = "Below them: the range of the blocks, or the largest deviation of a block (\u{b1}).";
    let mut words = vec![
        (
            Forms::TERMINAL,
            Block::Text(format!("{medians} {marked} {columns}{flushes}")),
        ),
        (
            Forms::MARKDOWN,
            Block::Note(format!("{medians} {marked} For each asked: {each}.")),
        ),
        (
            Forms::PAGE,
            Block::Note(format!("{medians} {below} {columns}{flushes}")),
        ),
        (Forms::PAGE, Block::Note(PAGE_COLUMNS.into())),
        (Forms::PAGE, Block::Note(SHAPES.into())),
    ];
    if source.lean {
        let left_out = "With so many phases this page leaves out the spread of what is not compared between stacks, \
             and draws coarser shapes: the JSON form has every figure with its range.";
        words.push((Forms::PAGE, Block::Note(left_out.into())));
    }
    words
}

const PAGE_COLUMNS: &str = "For each asked, 1 is one for one; below 1 requests were merged, bytes compressed or left \
     in a cache. Data and log writes stand apart where they lie on devices of their own. Beyond the copies: bytes \
     written to the data's devices, less the engine's times the copies that the stack keeps, per byte of the \
     engine's. Torn pages: what the engine itself writes twice against them. Reads or writes of less than 1 MiB in a \
     block have no ratio. Processor time is that of the whole system, kernel threads included. Memory: own and page \
     cache at the highest.";

const SHAPES: &str = "Each shape of latency holds every operation of all blocks, on a logarithmic axis, and is drawn \
     to its own height. Marks: median (tall), p99 and p99.9 (short); the line ends at the slowest. Percentiles are \
     taken in each block: the median of the blocks, their range below. Service: from start to done; response: from \
     due to done, so that waiting to be started counts. Where no phase runs on a schedule both are the same.";
