//! Full scans: the page engine's multiblock reads, every page verified, beside fio's sequential reads of the same file.

use super::{Bench, Found, interleaved};
use crate::bounds::Due;
use crate::contender::{Contender, Fio, REGISTERED, arguments, side};
use crate::figures::Column;
use crate::flags::{Side, Work};
use crate::places;

const DEPTHS: [u32; 2] = [8, 32];
const COLUMNS: &[Column] = &[
    Column::new("mib_s", "MiB/s", 0),
    Column::new("process_us", "process CPU us/128 KiB", 1),
    Column::new("system_us", "system CPU us/128 KiB", 1),
    Column::new("p50_us", "p50 us", 0),
    Column::new("p99_us", "p99 us", 0),
];

fn ours(depth: u32) -> String {
    format!("assay engine scan, degree {depth}")
}

fn theirs(depth: u32) -> String {
    format!("fio sequential, depth {depth}")
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let place = places::file(&bench.scratch, bench.sizes.file)?;
    let mut contenders = Vec::new();
    for depth in DEPTHS {
        let own = Side {
            redo: Some(place.redo.clone()),
            pages: place.pages,
            sessions: depth,
            ..side(Work::Scan, &place.data)
        };
        contenders.push(Contender::ours(&ours(depth), own));
        let fio = Fio {
            block: "128k",
            more: arguments(&[REGISTERED]),
            ..Fio::new(&place.data, "read", "io_uring", depth)
        };
        contenders.push(Contender::fio(&theirs(depth), fio));
    }
    let mut table = interleaved(bench, "Full scan: 128 KiB reads in sequence", COLUMNS, &contenders)?;
    table.notes.push(format!(
        "Target: {}. The engine reads 16 pages of 8 KiB at a time past its cache and verifies each page.",
        place.words
    ));
    let mut found = Found::default();
    for depth in DEPTHS {
        let rate = table.ratio("rate", &ours(depth), &theirs(depth), "mib_s");
        table.ratio("system CPU", &ours(depth), &theirs(depth), "system_us");
        found.see_of(Due::ScanRate, &format!("depth {depth}"), rate);
    }
    found.tables.push(table);
    Ok(found)
}
