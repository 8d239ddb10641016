//! One stack in one phase: its rate, its I/O, its cost, over the blocks that count.
//!
//! Takes what was seen in each block, gives a [`Cell`]: figures with their range. All rates are from phase totals, drain
//! included. Prevents: a rate that leaves out the time until the data was really on the device.

pub(crate) mod bulk;
pub(crate) mod inflation;
pub(crate) mod latency;
pub(crate) mod load_curve;
pub(crate) mod moves;
pub(crate) mod orders;
pub(crate) mod over_time;
pub(crate) mod provenance;
pub(crate) mod ran_out;
pub(crate) mod stalls;

use crate::cells::bulk::{BulkFigures, bulk};
use crate::cells::inflation::Inflation;
use crate::cells::latency::{Latency, latencies, response_p99};
use crate::cells::load_curve::LoadCurve;
use crate::cells::moves::{CopyFigures, RebalanceFigures};
use crate::cells::orders::OrderFigures;
use crate::cells::over_time::rate_over_time;
use crate::cells::provenance::{Provenance, READS_ASKED, WRITES_ASKED, cached_counts};
use crate::cells::ran_out::overwritten_share;
use crate::figures::{Figure, over, total};
use crate::history::{Book, PhaseHead, Seen};
use ledger::{LedgerError, Measure, PhaseKind};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Orientation;

/// The primary metric of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Operations per second, from totals including drain. Closed random phases.
    OperationsPerSecond,
    /// Bytes scanned per second, from totals including drain. Scans.
    BytesPerSecond,
    /// New orders committed per minute, from totals including drain. Order entry.
    NewOrdersPerMinute,
    /// 99th percentile of response in nanoseconds. Open phases.
    ResponseNsP99,
    /// Seconds from begin to idle devices. All others.
    ElapsedSeconds,
}

impl Metric {
    /// Of a kind of phase.
    pub(crate) fn of(kind: PhaseKind) -> Metric {
        match kind {
            PhaseKind::Random => Metric::OperationsPerSecond,
            PhaseKind::Scan => Metric::BytesPerSecond,
            PhaseKind::Open | PhaseKind::TpccOpen => Metric::ResponseNsP99,
            PhaseKind::Tpcc => Metric::NewOrdersPerMinute,
            PhaseKind::Load
            | PhaseKind::Age
            | PhaseKind::Bulk
            | PhaseKind::Copy
            | PhaseKind::Rebalance
            | PhaseKind::PowerCut
            | PhaseKind::Kill => Metric::ElapsedSeconds,
        }
    }

    pub(crate) fn orientation(self) -> Orientation {
        match self {
            Metric::OperationsPerSecond | Metric::BytesPerSecond | Metric::NewOrdersPerMinute => {
                Orientation::HigherIsBetter
            }
            Metric::ResponseNsP99 | Metric::ElapsedSeconds => Orientation::LowerIsBetter,
        }
    }

    /// What a ratio of it is a ratio of, in words.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Metric::OperationsPerSecond | Metric::BytesPerSecond | Metric::NewOrdersPerMinute => "rate",
            Metric::ResponseNsP99 => "speed at p99 of response",
            Metric::ElapsedSeconds => "speed",
        }
    }

    /// Value of one run.
    pub(crate) fn value(self, seen: &Seen) -> Result<Option<f64>, LedgerError> {
        let per_second = |amount: Option<f64>| over(amount, Some(seen.total_s()));
        Ok(match self {
            Metric::OperationsPerSecond => per_second(operations(seen)),
            Metric::BytesPerSecond => per_second(scanned_bytes(seen)),
            Metric::NewOrdersPerMinute => per_second(new_orders(seen)).map(|rate| rate * 60.0),
            Metric::ResponseNsP99 => response_p99(seen)?,
            Metric::ElapsedSeconds => Some(seen.total_s()),
        })
    }
}

/// The class of transactions that order entry counts.
pub(crate) const NEW_ORDER: &str = "new order";

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
    /// Commits per second.
    pub commits_per_s: Option<Figure>,
}

/// What devices did, per second and per request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DeviceFigures {
    /// Reads per second.
    pub reads_per_s: Option<Figure>,
    /// Writes per second; the kernel counts a flush that came by itself as one of no bytes, so that some of them may be flushes. Zero
    /// where no byte was written.
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
    /// Where the bytes came from and went to.
    pub provenance: Provenance,
    /// Whether it is ranked even where a cache served it: the study asks for it, and the memory budget was enforced and kept.
    pub cached_counts: bool,
    /// What was copied and how (copy phases).
    pub copy: Option<CopyFigures>,
    /// What was moved and what the work beside it felt (rebalance phases).
    pub rebalance: Option<RebalanceFigures>,
    /// Transactions, conditions, waits and cost (phases of order entry).
    pub orders: Option<OrderFigures>,
    /// Throughput and response by users (order entry in steps).
    pub load_curve: Option<LoadCurve>,
    /// Time, space and growth by row count (bulk loads).
    pub bulk: Vec<BulkFigures>,
}

/// The cell of a stack in a phase; `None` when no valid run of it is there.
pub(crate) fn cell(book: &Book, stack: &str, phase: &PhaseHead) -> Result<Option<Cell>, LedgerError> {
    let seen = book.valid(stack, &phase.name);
    if seen.is_empty() {
        return Ok(None);
    }
    let mut primary = Vec::new();
    for (_, run) in &seen {
        primary.push(Metric::of(phase.kind).value(run)?);
    }
    let runs: Vec<&Seen> = seen.iter().map(|(_, run)| *run).collect();
    let all: Vec<&Seen> = book.seen(stack, &phase.name).map(|(_, run)| run).collect();
    let figure = |value: &dyn Fn(&Seen) -> Option<f64>| Figure::of(runs.iter().map(|run| value(run)));
    let moved = |run: &Seen| run.sum(&[Measure::LowReadBytes, Measure::LowWriteBytes]);
    let asked = |run: &Seen| run.sum(&[&READS_ASKED[..], &WRITES_ASKED[..]].concat());
    let busy_us = |run: &Seen| run.get(Measure::CpuBusyNs).map(|ns| ns / 1e3);
    Ok(Some(Cell {
        stack: stack.into(),
        blocks: runs.len() as u32,
        primary: Figure::of(primary),
        operations_per_s: figure(&|run| over(operations(run), Some(run.total_s()))),
        rate_over_time: rate_over_time(phase.kind, &runs),
        engine: engine(&figure),
        near: device(&figure, NEAR),
        low: device(&figure, LOW),
        overwritten_share: figure(&overwritten_share),
        latency: latencies(phase.kind, &seen)?,
        device_bytes_per_operation: figure(&|run| over(moved(run), operations(run))),
        device_bytes_per_asked_byte: figure(&|run| over(moved(run), asked(run))),
        cpu_us_per_operation: figure(&|run| over(busy_us(run), operations(run))),
        cpu_us_per_megabyte: figure(&|run| over(busy_us(run), asked(run).map(|bytes| bytes / 1e6))),
        cpu_idle_share: figure(&|run| run.get(Measure::CpuIdleShare)),
        memory_bytes_peak: figure(&memory_peak),
        memory_budget_bytes: runs.iter().find_map(|run| run.get(Measure::MemoryBudgetBytes)),
        lun_bytes_per_data_byte: figure(&|run| over(run.get(Measure::LunUsedBytes), run.get(Measure::DataBytes))),
        unsent_share: figure(&|run| over(run.get(Measure::EngineUnsent), run.get(Measure::EngineDue))),
        inflation: Inflation::of(&runs),
        provenance: Provenance::of(&runs),
        cached_counts: cached_counts(book, &runs),
        copy: CopyFigures::of(&runs),
        rebalance: RebalanceFigures::of(&runs),
        orders: OrderFigures::of(&runs, &all)?,
        load_curve: LoadCurve::of(&runs, book.study.margin)?,
        bulk: bulk(&runs)?,
    }))
}

type Over<'a> = &'a dyn Fn(&dyn Fn(&Seen) -> Option<f64>) -> Option<Figure>;

fn engine(figure: Over<'_>) -> EngineFigures {
    let rate = |measures: &[Measure]| figure(&|run| over(run.sum(measures), Some(run.total_s())));
    EngineFigures {
        reads_per_s: rate(&[Measure::EnginePhysicalReads]),
        writes_per_s: rate(&[Measure::EngineWrites, Measure::EngineRedoWrites]),
        read_bytes_per_s: rate(&READS_ASKED),
        write_bytes_per_s: rate(&WRITES_ASKED),
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

fn device(figure: Over<'_>, [reads, writes, read_bytes, write_bytes, flushes]: Level) -> DeviceFigures {
    let rate = |measure: Measure| figure(&|run| over(run.get(measure), Some(run.total_s())));
    // The kernel counts a flush that came by itself as a write of no bytes; where no byte was written, nothing else was.
    let count = |run: &Seen, of: Measure, bytes: Measure| match run.get(bytes) {
        Some(0.0) => Some(0.0),
        _ => run.get(of),
    };
    let size = |bytes: Measure, of: Measure| figure(&|run| over(run.get(bytes), count(run, of, bytes)));
    DeviceFigures {
        reads_per_s: rate(reads),
        writes_per_s: figure(&|run| over(count(run, writes, write_bytes), Some(run.total_s()))),
        flushes_per_s: rate(flushes),
        read_bytes_per_s: rate(read_bytes),
        write_bytes_per_s: rate(write_bytes),
        bytes_per_read: size(read_bytes, reads),
        bytes_per_write: size(write_bytes, writes),
    }
}

/// Operations of a run: the engine's count, else that of the distributions.
pub(crate) fn operations(seen: &Seen) -> Option<f64> {
    seen.get(Measure::EngineOperations)
        .filter(|count| *count > 0.0)
        .or_else(|| {
            let service = seen.histograms.iter().filter(|row| row.stamp == ledger::Stamp::Service);
            let count = total(service.map(|row| row.count));
            (count > 0).then_some(count as f64)
        })
}

/// New orders committed, of a phase of order entry.
pub(crate) fn new_orders(seen: &Seen) -> Option<f64> {
    let rows = seen.histograms.iter();
    let row = rows.filter(|row| row.class == NEW_ORDER && row.stamp == ledger::Stamp::Response);
    row.map(|row| row.units as f64).next()
}

/// Bytes a scan got: by its users' own account, else what the engine asked for.
fn scanned_bytes(seen: &Seen) -> Option<f64> {
    let by_users = total(seen.scans.iter().map(|scan| scan.bytes));
    if by_users > 0 {
        Some(by_users as f64)
    } else {
        seen.sum(&READS_ASKED)
    }
}

/// What is compared with a memory budget.
pub(crate) fn memory_peak(seen: &Seen) -> Option<f64> {
    seen.get(Measure::MemoryTotalBytesPeak)
        .or_else(|| seen.sum(&[Measure::MemoryOwnBytesPeak, Measure::MemoryCacheBytesPeak]))
}
