//! One stack in one phase: its rate, its I/O, its cost, over the blocks that count.
//!
//! Takes what was seen in each block, gives a [`Cell`]: figures with their range. All rates are from phase totals,
//! drain included. Prevents: a rate that leaves out the time until the data was really on the device.

pub(crate) mod answers;
pub(crate) mod bulk;
pub(crate) mod counts;
pub(crate) mod inflation;
pub(crate) mod instances;
pub(crate) mod invalid;
pub(crate) mod kept;
pub(crate) mod latency;
pub(crate) mod load_curve;
pub(crate) mod metric;
pub(crate) mod moves;
pub(crate) mod orders;
pub(crate) mod over_time;
pub(crate) mod provenance;
pub(crate) mod questions;
pub(crate) mod ramp;
pub(crate) mod ran_out;
pub(crate) mod serving;
pub(crate) mod stalls;

use crate::figures::{Figure, over};
use crate::history::{Book, PhaseHead, Runs, Seen};
use crate::phase_kind::{kind_in_words, kind_row};
use bulk::{BulkFigures, bulk};
use counts::{READS_ASKED, WRITES_ASKED};
use inflation::{BytesOfSet, Inflation, by_set};
use instances::{InstanceFigures, instances};
use invalid::{InvalidRuns, invalid_runs};
use latency::{Latency, of_stamp};
use ledger::{LedgerError, Measure, PhaseKind};
use load_curve::LoadCurve;
use metric::Metric;
use moves::{CopyFigures, RebalanceFigures};
use orders::OrderFigures;
use over_time::rate_over_time;
use provenance::{Provenance, cached_counts, unseen};
use questions::QuestionsFigures;
use ran_out::{RanOut, in_phase};
use schemars::JsonSchema;
use serde::Serialize;
use serving::ServingFigures;

/// One phase on all stacks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseReport {
    /// Name.
    pub name: String,
    /// Kind: "random", "open", "scan", "load" ...
    #[serde(serialize_with = "kind_in_words")]
    #[schemars(with = "String")]
    pub kind: PhaseKind,
    /// Compared between stacks.
    pub ranked: bool,
    /// The primary metric.
    pub metric: Metric,
    /// One cell a stack that has valid runs.
    pub cells: Vec<Cell>,
    /// Stacks that have invalid runs and no valid one.
    pub invalid: Vec<InvalidRuns>,
    /// Stacks that had no space left in it.
    pub ran_out_of_space: Vec<RanOut>,
}

/// What the engine asked of storage, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct EngineFigures {
    /// Read requests per second, single-page and multiblock.
    pub reads_per_s: Option<Figure>,
    /// Write requests per second, redo included.
    pub writes_per_s: Option<Figure>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<Figure>,
    /// Bytes written per second, redo included.
    pub write_bytes_per_s: Option<Figure>,
    /// Write requests of data per second, without redo; `null` where doublewrite copies are among them.
    pub data_writes_per_s: Option<Figure>,
    /// Bytes of data written per second, without redo and without doublewrite copies.
    pub data_write_bytes_per_s: Option<Figure>,
    /// Commits per second.
    pub commits_per_s: Option<Figure>,
}

/// What devices did, per second and per request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DeviceFigures {
    /// Reads per second.
    pub reads_per_s: Option<Figure>,
    /// Writes per second; the kernel counts a flush that came by itself as one of no bytes, so that some of them may
    /// be flushes. Zero where no byte was written.
    pub writes_per_s: Option<Figure>,
    /// Flushes per second; `null` where the kernel does not count them.
    pub flushes_per_s: Option<Figure>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<Figure>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<Figure>,
    /// Average size of a read in bytes.
    pub bytes_per_read: Option<Figure>,
    /// Average size of a write in bytes.
    pub bytes_per_write: Option<Figure>,
}

/// One stack in one phase, over its valid blocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// The stack.
    pub stack: String,
    /// Blocks whose numbers are in the figures.
    pub blocks: u32,
    /// The primary metric, in its own unit.
    pub primary: Option<Figure>,
    /// Operations per second.
    pub operations_per_s: Option<Figure>,
    /// Work per second in equal parts of the timed work, median over blocks: bytes in a scan, operations in all other
    /// phases. Empty where it was not recorded.
    pub rate_over_time: Vec<f64>,
    /// What the engine asked.
    pub engine: EngineFigures,
    /// What the nearest devices did.
    pub near: DeviceFigures,
    /// What the lowest visible devices did.
    pub low: DeviceFigures,
    /// Share of the database's pages that the phase overwrote at least once, as counted when they came home.
    pub overwritten_share: Option<Figure>,
    /// Latency by class of operation.
    pub latency: Vec<Latency>,
    /// Bytes the lowest devices moved per operation, both directions.
    pub device_bytes_per_operation: Option<Figure>,
    /// Bytes the lowest devices moved per byte the engine asked for, both directions: inflation.
    pub device_bytes_per_asked_byte: Option<Figure>,
    /// Processor time of the whole system per operation, in microseconds.
    pub cpu_us_per_operation: Option<Figure>,
    /// Processor time of the whole system per 10^6 bytes asked of storage, in microseconds.
    pub cpu_us_per_megabyte: Option<Figure>,
    /// Idle share of the processors that the run may use (1 is all idle).
    pub cpu_idle_share: Option<Figure>,
    /// Memory at its highest, in bytes: own, a database server's and a pool's processes among it, and page cache.
    pub memory_bytes_peak: Option<Figure>,
    /// Memory budget in bytes, if there is one.
    pub memory_budget_bytes: Option<f64>,
    /// LUN bytes in use per byte of data.
    pub lun_bytes_per_data_byte: Option<Figure>,
    /// Share of operations that fell due and were never sent (open phases).
    pub unsent_share: Option<Figure>,
    /// What the devices did for each request and byte of the engine, by sort.
    pub inflation: Inflation,
    /// Bytes that the devices of each of its LUN sets moved, where these are told apart.
    pub sets: Vec<BytesOfSet>,
    /// Where the bytes came from and went to.
    pub provenance: Provenance,
    /// Whether it is ranked even where a cache served it: the study asks for it, and the memory budget was enforced
    /// and kept.
    pub cached_counts: bool,
    /// What was copied and how (copy phases).
    pub copy: Option<CopyFigures>,
    /// What was moved and what the work beside it felt (rebalance phases).
    pub rebalance: Option<RebalanceFigures>,
    /// Transactions, conditions, waits and cost (phases of order entry).
    pub orders: Option<OrderFigures>,
    /// Throughput and response by users (order entry in steps).
    pub load_curve: Option<LoadCurve>,
    /// Time of each question, response by users, temporary bytes (phases of decision support).
    pub questions: Option<QuestionsFigures>,
    /// Time, space and growth by row count (bulk loads).
    pub bulk: Vec<BulkFigures>,
    /// The ramp and its limit (file serving).
    pub serving: Option<ServingFigures>,
    /// Each instance of the page engine, where several share the work.
    pub instances: Vec<InstanceFigures>,
}

/// A phase on all stacks.
pub(crate) fn phase_report(book: &Book, head: &PhaseHead) -> Result<PhaseReport, LedgerError> {
    let (mut cells, mut invalid) = (Vec::new(), Vec::new());
    for stack in &book.stacks {
        cells.extend(cell(book, &stack.name, head)?);
        invalid.extend(invalid_runs(book, &stack.name, head)?);
    }
    let full = book
        .stacks
        .iter()
        .filter_map(|stack| in_phase(book, &stack.name, &head.name));
    Ok(PhaseReport {
        name: head.name.clone(),
        kind: head.kind,
        ranked: head.ranked,
        metric: Metric::of(head.kind),
        cells,
        invalid,
        ran_out_of_space: full.collect(),
    })
}

/// The cell of a stack in a phase; `None` when no valid run of it is there.
fn cell(book: &Book, stack: &str, phase: &PhaseHead) -> Result<Option<Cell>, LedgerError> {
    let runs = &book.valid(stack, &phase.name)[..];
    if runs.is_empty() {
        return Ok(None);
    }
    let mut primary = Vec::new();
    for run in runs {
        primary.push(Metric::of(phase.kind).value(run)?);
    }
    let all: Vec<&Seen> = book.seen(stack, &phase.name).collect();
    let busy_us = |run: &Seen| run.busy_ns().map(|ns| ns / 1e3);
    Ok(Some(Cell {
        stack: stack.into(),
        blocks: runs.len() as u32,
        primary: Figure::of(primary),
        operations_per_s: runs.figure(|run| over(run.operations(), Some(run.total_s()))),
        rate_over_time: rate_over_time(phase.kind, runs),
        engine: engine(runs),
        near: device(runs, NEAR),
        low: device(runs, LOW),
        overwritten_share: runs.figure(Seen::overwritten_share),
        latency: of_stamp(kind_row(phase.kind).stamp, runs)?,
        device_bytes_per_operation: runs.figure(|run| over(run.moved_bytes(), run.operations())),
        device_bytes_per_asked_byte: runs.figure(|run| over(run.moved_bytes(), run.all_asked_bytes())),
        cpu_us_per_operation: runs.figure(|run| over(busy_us(run), run.operations())),
        cpu_us_per_megabyte: runs.figure(|run| over(busy_us(run), run.all_asked_bytes().map(|bytes| bytes / 1e6))),
        cpu_idle_share: runs.measured(Measure::CpuIdleShare),
        memory_bytes_peak: runs.figure(Seen::memory_peak_of_all),
        memory_budget_bytes: runs.iter().find_map(|run| run.get(Measure::MemoryBudgetBytes)),
        lun_bytes_per_data_byte: runs.figure(|run| over(run.get(Measure::LunUsedBytes), run.get(Measure::DataBytes))),
        unsent_share: runs.figure(|run| over(run.get(Measure::EngineUnsent), run.get(Measure::EngineDue))),
        inflation: Inflation::of(runs),
        sets: by_set(runs),
        provenance: Provenance::of(runs, unseen(book, stack, runs)),
        cached_counts: kind_row(phase.kind).is_with_memory || cached_counts(book, runs),
        copy: CopyFigures::of(runs),
        rebalance: RebalanceFigures::of(runs),
        orders: OrderFigures::of(runs, &all)?,
        load_curve: LoadCurve::of(runs, book.study.margin)?,
        questions: QuestionsFigures::of(runs),
        bulk: bulk(runs)?,
        serving: ServingFigures::of(runs)?,
        instances: instances(runs),
    }))
}

fn engine(runs: &[&Seen]) -> EngineFigures {
    let rate = |measures: &[Measure]| runs.figure(|run| over(run.sum(measures), Some(run.total_s())));
    EngineFigures {
        reads_per_s: rate(&[Measure::EnginePhysicalReads]),
        writes_per_s: rate(&[Measure::EngineWrites, Measure::EngineRedoWrites]),
        read_bytes_per_s: rate(&READS_ASKED),
        write_bytes_per_s: rate(&WRITES_ASKED),
        data_writes_per_s: runs.figure(|run| over(run.data_writes(), Some(run.total_s()))),
        data_write_bytes_per_s: runs.figure(|run| over(run.data_write_bytes(), Some(run.total_s()))),
        commits_per_s: rate(&[Measure::EngineCommits]),
    }
}

/// Reads, writes, bytes read, bytes written, flushes of one level.
type Level = [Measure; 5];
const NEAR: Level = [
    Measure::NearReads,
    Measure::NearWrites,
    Measure::NearReadBytes,
    Measure::NearWriteBytes,
    Measure::NearFlushes,
];
const LOW: Level = [
    Measure::LowReads,
    Measure::LowWrites,
    Measure::LowReadBytes,
    Measure::LowWriteBytes,
    Measure::LowFlushes,
];

fn device(runs: &[&Seen], [reads, writes, read_bytes, write_bytes, flushes]: Level) -> DeviceFigures {
    let rate = |measure: Measure| runs.figure(|run| over(run.get(measure), Some(run.total_s())));
    // The kernel counts a flush that came by itself as a write of no bytes; where no byte was written, nothing else
    // was.
    let count = |run: &Seen, of: Measure, bytes: Measure| match run.get(bytes) {
        Some(0.0) => Some(0.0),
        _ => run.get(of),
    };
    let size = |bytes: Measure, of: Measure| runs.figure(|run| over(run.get(bytes), count(run, of, bytes)));
    DeviceFigures {
        reads_per_s: rate(reads),
        writes_per_s: runs.figure(|run| over(count(run, writes, write_bytes), Some(run.total_s()))),
        flushes_per_s: rate(flushes),
        read_bytes_per_s: rate(read_bytes),
        write_bytes_per_s: rate(write_bytes),
        bytes_per_read: size(read_bytes, reads),
        bytes_per_write: size(write_bytes, writes),
    }
}
