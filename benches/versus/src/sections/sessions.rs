//! Sessions from few to very many: CPU of an operation, memory of each session, the time until all have begun, and
//! whether any starves.

use super::{Bench, Found, interleaved};
use crate::bounds::Due;
use crate::contender::{Contender, side};
use crate::figures::{Column, Spread, Table};
use crate::flags::{Side, Work};
use crate::places;

const MANY: u32 = 16_384;
const SOME: u32 = 1024;
const FEW: u32 = 64;
const WORKERS: u32 = 2;
const REDO_BYTES: u64 = 64 << 20;
/// More than twice what the sessions hold, and the engine takes no less: each has one page of 8 KiB in hand.
const CACHE_MIB: u64 = 288;
/// The data are more than the cache, also in a quick run: otherwise nothing is read.
const DATA_BYTES_MIN: u64 = 512 << 20;
const COLUMNS: &[Column] = &[
    Column::new("iops", "operations/s", 0),
    Column::new("process_us", "process CPU us/op", 2),
    Column::new("system_us", "system CPU us/op", 2),
    Column::new("hit_pct", "found in the cache %", 1),
    Column::new("allotted_mib", "address space MiB", 1),
    Column::new("start_ms", "sessions made in ms", 2),
    Column::new("first_ms", "all had their first operation in ms", 0),
    Column::new("slowest", "operations of the slowest session", 0),
    Column::new("fastest", "of the fastest", 0),
    Column::new("p50_us", "p50 us", 0),
    Column::new("p99_us", "p99 us", 0),
];

fn name(sessions: u32) -> String {
    format!("{sessions} sessions on {WORKERS} threads")
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let bytes = bench.sizes.sessions.max(DATA_BYTES_MIN);
    let place = places::database(&bench.scratch, "sessions", bytes, REDO_BYTES, WORKERS)?;
    let contenders = [MANY, SOME, FEW].map(|sessions| {
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
    let loop_bytes = table.figure(&name(MANY), "loop_bytes").map_or(0.0, |s| s.median);
    table.notes.push(format!(
        "Closed sessions of one read each on {}. Each run begins with a full cache, so that all find the same share of \
         their pages in it. Memory of a session: the address space of the run with {MANY} less that of the run with \
         {FEW}, of the same database and cache, by the number of sessions: all that is allotted, the ports' rings and \
         slots included; the hot loop's part of it is {loop_bytes:.0} bytes.",
        place.words
    ));
    let mut found = Found::default();
    see(&mut table, &mut found);
    found.tables.push(table);
    Ok(found)
}

fn see(table: &mut Table, found: &mut Found) {
    let (many, some, few) = (name(MANY), name(SOME), name(FEW));
    table.ratio("process CPU", &some, &few, "process_us");
    found.see(Due::SessionsCpu, table.ratio("process CPU", &many, &few, "process_us"));
    table.ratio("system CPU", &some, &few, "system_us");
    found.see(
        Due::SessionsCpuSystem,
        table.ratio("system CPU", &many, &few, "system_us"),
    );
    found.see(Due::SessionsBytes, bytes_each(table));
    found.see(Due::SessionsFairness, table.figure(&many, "fairness"));
    found.see(Due::SessionsMade, table.figure(&many, "start_ms"));
    found.see(Due::SessionsFirst, table.figure(&many, "first_ms"));
}

/// What a session takes, of the two runs of each round.
fn bytes_each(table: &Table) -> Option<Spread> {
    let (many, few) = (table.line(&name(MANY))?, table.line(&name(FEW))?);
    let pairs = many.rounds.iter().zip(&few.rounds);
    Spread::of(pairs.filter_map(|(many, few)| {
        let more = many.get("allotted_bytes")? - few.get("allotted_bytes")?;
        Some(more / f64::from(MANY - FEW))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sessions_fit_the_cache_and_the_data_do_not() {
        let held = u64::from(MANY) * 8192;
        let cache = CACHE_MIB << 20;
        assert!(cache > 2 * held && DATA_BYTES_MIN > cache * 3 / 2);
    }
}
