//! I/O inflation: what the devices did for each request and byte of the engine, reads, data writes and log writes
//! apart.
//!
//! Takes the runs of one stack in one phase, gives [`Inflation`], and what each LUN set moved. Counted at the devices
//! nearest to the stack. Prevents: a rate whose price in device I/O nobody sees, mirror copies taken for
//! waste, and a share of metadata that nobody measured.

use crate::figures::{Figure, over};
use crate::history::{Runs, Seen};
use ledger::Measure;
use schemars::JsonSchema;
use serde::Serialize;

/// Less was asked than this, and a ratio to it says nothing.
const ASKED_BYTES_MIN: f64 = 1024.0 * 1024.0;

/// One sort of I/O: what the engine asked, and what the devices did for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Inflated {
    /// Requests of the engine.
    pub asked_requests: Figure,
    /// Bytes of them.
    pub asked_bytes: Figure,
    /// Requests at the devices.
    pub device_requests: Figure,
    /// Bytes of them.
    pub device_bytes: Figure,
    /// Requests at the devices for each of the engine's.
    pub requests_per_request: Figure,
    /// Bytes at the devices for each of the engine's.
    pub bytes_per_byte: Figure,
}

/// What one stack did in one phase, at the devices nearest to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Inflation {
    /// True when data and redo log lie on devices of their own, so that their I/O is told apart.
    pub log_apart: bool,
    /// Reads; with the log apart those of the data's devices.
    pub reads: Option<Inflated>,
    /// Writes of data pages, at the data's devices: metadata and copies of the stack are among them. `null` where the
    /// log is not apart.
    pub data_writes: Option<Inflated>,
    /// Writes of the redo log, at its devices. `null` where the log is not apart.
    pub log_writes: Option<Inflated>,
    /// All writes: data, log, metadata.
    pub writes: Option<Inflated>,
    /// Flushes of the log's devices for each flush that the engine asked of its log.
    pub flushes_per_log_flush: Option<Figure>,
    /// Copies that the stack keeps of the data: so many bytes for each are redundancy, not inflation.
    pub data_copies: Option<f64>,
    /// Bytes written to the data's devices beyond the engine's times the copies, per byte of the engine's: metadata,
    /// parity, and whatever else the stack writes; below zero where it compresses. Copies and parity that LVM or md
    /// write below the volume's device are not in it. `null` where the log is not apart.
    pub beyond_per_byte: Option<Figure>,
    /// Share of the engine's own written bytes that are copies against torn pages (doublewrite, page images in the
    /// log).
    pub torn_page_share: Option<Figure>,
}

/// Bytes that the nearest devices of one LUN set of a stack moved in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BytesOfSet {
    /// What the set holds: "data", "redo log" or "temporary files".
    pub holds: String,
    /// Bytes read.
    pub read_bytes: Option<Figure>,
    /// Bytes written.
    pub write_bytes: Option<Figure>,
}

/// The LUN set that holds a database's temporary files.
pub(crate) const TEMPORARY_FILES: &str = "temporary files";

/// Each LUN set whose devices are told apart from those of the others; none where all lie on the same.
pub(crate) fn by_set(runs: &[&Seen]) -> Vec<BytesOfSet> {
    use Measure as M;
    let sets = [
        ("data", M::DataDeviceReadBytes, M::DataDeviceWriteBytes),
        ("redo log", M::LogDeviceReadBytes, M::LogDeviceWriteBytes),
        (TEMPORARY_FILES, M::TempDeviceReadBytes, M::TempDeviceWriteBytes),
    ];
    let of = |(holds, read, written): (&str, M, M)| BytesOfSet {
        holds: holds.to_string(),
        read_bytes: runs.measured(read),
        write_bytes: runs.measured(written),
    };
    let is_seen = |set: &BytesOfSet| set.read_bytes.is_some() || set.write_bytes.is_some();
    sets.map(of).into_iter().filter(is_seen).collect()
}

impl Inflation {
    pub(crate) fn of(runs: &[&Seen]) -> Inflation {
        use Measure as M;
        let inflated = |asked: [&[M]; 2], device: [M; 2]| inflated(runs, asked, device);
        let reads: [&[M]; 2] = [&[M::EnginePhysicalReads], &[M::EngineReadBytes]];
        let data: [&[M]; 2] = [&[M::EngineWrites], &[M::EngineWriteBytes]];
        let log: [&[M]; 2] = [&[M::EngineRedoWrites], &[M::EngineRedoBytes]];
        let all: [&[M]; 2] = [
            &[M::EngineWrites, M::EngineRedoWrites],
            &[M::EngineWriteBytes, M::EngineRedoBytes],
        ];
        let log_apart = runs.iter().all(|run| run.get(M::LogDeviceWrites).is_some());
        let copies = runs.iter().find_map(|run| run.get(M::StackDataCopies));
        let asked_much = |run: &&Seen| {
            run.get(M::EngineWriteBytes)
                .is_some_and(|bytes| bytes >= ASKED_BYTES_MIN)
        };
        let data_written = runs.iter().all(asked_much);
        Inflation {
            log_apart,
            reads: if log_apart {
                inflated(reads, [M::DataDeviceReads, M::DataDeviceReadBytes])
            } else {
                inflated(reads, [M::NearReads, M::NearReadBytes])
            },
            data_writes: inflated(data, [M::DataDeviceWrites, M::DataDeviceWriteBytes]),
            log_writes: inflated(log, [M::LogDeviceWrites, M::LogDeviceWriteBytes]),
            writes: inflated(all, [M::NearWrites, M::NearWriteBytes]),
            flushes_per_log_flush: runs.figure(|run| {
                over(
                    run.get(M::LogDeviceFlushes),
                    run.get(M::EngineRedoFlushes).filter(|flushes| *flushes >= 10.0),
                )
            }),
            data_copies: copies,
            beyond_per_byte: runs.figure(|run| {
                let asked = run.get(M::EngineWriteBytes);
                let share = over(run.get(M::DataDeviceWriteBytes), asked.filter(|_| data_written))?;
                Some(share - copies.unwrap_or(1.0))
            }),
            torn_page_share: runs.figure(|run| {
                let torn = run.sum(&[M::EngineDoublewriteBytes, M::EnginePageImageBytes]);
                over(torn.filter(|bytes| *bytes > 0.0), run.sum(all[1]))
            }),
        }
    }

    /// True when nothing was asked or seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.reads.is_none() && self.writes.is_none()
    }
}

fn inflated(runs: &[&Seen], asked: [&[Measure]; 2], device: [Measure; 2]) -> Option<Inflated> {
    let much = |run: &&Seen| run.sum(asked[1]).is_some_and(|bytes| bytes >= ASKED_BYTES_MIN);
    // Devices moved temporary files too, and nobody asked for them here.
    let enough = |run: &&Seen| much(run) && !run.temporary_weighs();
    if !runs.iter().all(enough) {
        return None;
    }
    Some(Inflated {
        asked_requests: runs.figure(|run| run.sum(asked[0]))?,
        asked_bytes: runs.figure(|run| run.sum(asked[1]))?,
        device_requests: runs.figure(|run| run.get(device[0]))?,
        device_bytes: runs.figure(|run| run.get(device[1]))?,
        requests_per_request: runs.figure(|run| over(run.get(device[0]), run.sum(asked[0])))?,
        bytes_per_byte: runs.figure(|run| over(run.get(device[1]), run.sum(asked[1])))?,
    })
}
