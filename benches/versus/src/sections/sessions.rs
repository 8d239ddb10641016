//! Very many sessions: memory of each, the time until all have begun, and whether any starves.

use super::{Bench, Found, interleaved};
use crate::contender::{Contender, side};
use crate::figures::{Column, Spread};
use crate::flags::{Side, Work};
use crate::places;

const MANY: u32 = 12_288;
const FEW: u32 = 64;
const WORKERS: u32 = 2;
const REDO_BYTES: u64 = 64 << 20;
/// Twice what the sessions hold: each has one page of 8 KiB in hand.
const CACHE_MIB: u64 = 224;
const COLUMNS: &[Column] = &[
    Column {
        key: "iops",
        head: "operations/s",
        digits: 0,
    },
    Column {
        key: "process_us",
        head: "process CPU us/op",
        digits: 2,
    },
    Column {
        key: "allotted_mib",
        head: "address space MiB",
        digits: 1,
    },
    Column {
        key: "start_ms",
        head: "sessions made in ms",
        digits: 2,
    },
    Column {
        key: "first_ms",
        head: "all had their first operation in ms",
        digits: 0,
    },
    Column {
        key: "slowest",
        head: "operations of the slowest session",
        digits: 0,
    },
    Column {
        key: "fastest",
        head: "of the fastest",
        digits: 0,
    },
    Column {
        key: "p50_us",
        head: "p50 us",
        digits: 0,
    },
    Column {
        key: "p99_us",
        head: "p99 us",
        digits: 0,
    },
];

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let place = places::database(&bench.scratch, "sessions", bench.sizes.sessions, REDO_BYTES, WORKERS)?;
    let name = |sessions: u32| format!("{sessions} sessions on {WORKERS} threads");
    let contenders = [MANY, FEW].map(|sessions| {
        let own = Side {
            redo: Some(place.redo.clone()),
            pages: place.pages,
            sessions,
            workers: WORKERS,
            cache_mib: CACHE_MIB,
            ..side(Work::Sessions, &place.data)
        };
        Contender::ours(&name(sessions), own)
    });
    let mut table = interleaved(bench, "Sessions", COLUMNS, &contenders)?;
    for line in &mut table.lines {
        for row in &mut line.rounds {
            if let Some(bytes) = row.get("allotted_bytes").copied() {
                row.insert("allotted_mib".into(), bytes / 1048576.0);
            }
        }
    }
    let bytes = |sessions: u32| {
        let line = table.line(&name(sessions));
        let rounds = line.map(|line| line.rounds.iter().filter_map(|row| row.get("allotted_bytes").copied()));
        rounds.map(|rounds| rounds.collect::<Vec<f64>>()).unwrap_or_default()
    };
    let each = Spread::of(
        bytes(MANY)
            .iter()
            .zip(bytes(FEW))
            .map(|(many, few)| (many - few) / f64::from(MANY - FEW)),
    );
    let loop_bytes = table.figure(&name(MANY), "loop_bytes").map_or(0.0, |s| s.median);
    table.notes.push(format!(
        "Closed sessions of one read each on {}. Memory of a session: the address space of the run with {MANY} less \
         that of the run with {FEW}, of the same database and cache, by the number of sessions: all that is \
         allotted, the ports' rings and slots included; the hot loop's part of it is {loop_bytes:.0} bytes.",
        place.words
    ));
    let mut found = Found::default();
    found.owe("sessions: bytes of memory per session", "below 4,096", each, 0, |v| {
        v < 4096.0
    });
    let fairness = table.figure(&name(MANY), "fairness");
    found.owe(
        "sessions: slowest to fastest of 12,288",
        "none starves: at least 0.5",
        fairness,
        2,
        |v| v >= 0.5,
    );
    let start = table.figure(&name(MANY), "start_ms");
    found.show("sessions: making 12,288, ms", start, 2);
    let first = table.figure(&name(MANY), "first_ms");
    found.show("sessions: until all had their first operation, ms", first, 0);
    found.tables.push(table);
    Ok(found)
}
