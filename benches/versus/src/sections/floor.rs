//! The floor of a checksum: one pass over pages that no cache of the processor holds, and checksums of the same pages
//! beside it.
//!
//! Takes no storage. All ways run in each round, in ordinary and in huge pages. Prevents: a checksum that is called
//! slow where memory is, and one that is called as fast as memory by nobody's measurement.

use super::{Bench, Found, in_turn, say};
use crate::bounds::Due;
use crate::cold::{Ahead, PAGE_BYTES, Pass, Pool};
use crate::contender::Row;
use crate::figures::{Column, Table};

const COLUMNS: &[Column] = &[Column::new(TIME, "us a page", 3), Column::new("gb_s", "GB/s", 1)];
const TIME: &str = "us";
/// Many times what the caches of a processor hold.
const POOL_BYTES: usize = 1 << 30;
const POOL_BYTES_QUICK: usize = 64 << 20;
const POOLS: [(bool, &str); 2] = [(false, "ordinary pages"), (true, "huge pages")];
const NOTE: &str = "Pages of 8 KiB in memory, visited once each in random order, on one thread. \"Before\": all lines \
                    are asked for, then the page is gone through. The engine asks for the head of the page that \
                    came next. The sum reads each word once and does nothing else.";

/// What is tried, by each pass.
const AHEAD: &[Ahead] = &[
    Ahead::Nothing,
    Ahead::Itself,
    Ahead::Head,
    Ahead::Whole(1),
    Ahead::Whole(2),
];
const PASSES: [Pass; 4] = [Pass::Sum, Pass::Engine, Pass::CrcFast, Pass::Crc32c];

fn named(pass: Pass, ahead: Ahead, pool: &str) -> String {
    format!("{}, {}, {pool}", pass.words(), ahead.words())
}

/// All ways, in the order of the table.
fn ways() -> impl Iterator<Item = (Pass, Ahead)> {
    PASSES
        .into_iter()
        .flat_map(|pass| AHEAD.iter().map(move |ahead| (pass, *ahead)))
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let bytes = if bench.quick { POOL_BYTES_QUICK } else { POOL_BYTES };
    let mut all = Vec::new();
    for (huge, words) in POOLS {
        all.push((words, Pool::new((bytes / PAGE_BYTES) as u32, huge)?));
    }
    let runs: Vec<(String, &Pool, Pass, Ahead)> = all
        .iter()
        .flat_map(|(words, pool)| ways().map(move |(pass, ahead)| (named(pass, ahead, words), pool, pass, ahead)))
        .collect();
    let names: Vec<String> = runs.iter().map(|(name, ..)| name.clone()).collect();
    let mut table = Table::new("Floor: cold pages", COLUMNS, &names);
    table.notes.push(NOTE.into());
    for (words, pool) in &all {
        let seen = pool.huge_mib.map_or("the kernel does not tell how much".into(), |mib| {
            format!("{mib:.0} MiB of {}", bytes >> 20)
        });
        table
            .notes
            .push(format!("In huge pages, of those called {words}: {seen}."));
    }
    for round in 0..bench.rounds {
        say(&format!("floor: round {} of {}", round + 1, bench.rounds));
        for (name, pool, pass, ahead) in in_turn(runs.iter().collect(), round) {
            bench.interrupt.check()?;
            let us = pool.measure(*pass, *ahead);
            let gb_s = PAGE_BYTES as f64 / us / 1e3;
            table.add(name, Row::from([(TIME.to_string(), us), ("gb_s".to_string(), gb_s)]));
        }
    }
    Ok(owed(table))
}

/// What was owed, and the table.
fn owed(mut table: Table) -> Found {
    let mut found = Found::default();
    for (_, pool) in POOLS {
        let name = |pass, ahead| named(pass, ahead, pool);
        let floor = name(Pass::Sum, Ahead::Nothing);
        for (pass, ahead) in ways().filter(|way| *way != (Pass::Sum, Ahead::Nothing)) {
            table.ratio("time", &name(pass, ahead), &floor, TIME);
        }
        for ahead in [Ahead::Nothing, Ahead::Head, Ahead::Whole(1)] {
            let seen = table.figure(&name(Pass::Sum, ahead), TIME);
            found.see_of(Due::FloorPass, &format!("{}, {pool}", ahead.words()), seen);
        }
        for ahead in [Ahead::Nothing, Ahead::Head] {
            let (ours, of) = (name(Pass::Engine, ahead), format!("{}, {pool}", ahead.words()));
            found.see_of(Due::FloorChecksum, &of, table.figure(&ours, TIME));
            found.see_of(Due::FloorOverPass, &of, table.over(&ours, &floor, TIME));
            if ahead != Ahead::Nothing {
                let plain = name(Pass::Engine, Ahead::Nothing);
                let seen = table.ratio("time", &ours, &plain, TIME);
                found.see_of(Due::FloorAhead, &of, seen);
            }
        }
    }
    let [ordinary, huge] = POOLS.map(|(_, pool)| named(Pass::Engine, Ahead::Head, pool));
    table.ratio("time", &huge, &ordinary, TIME);
    found.tables.push(table);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_way_has_a_name_of_its_own_and_what_is_owed_is_among_them() {
        let names: Vec<String> = POOLS
            .iter()
            .flat_map(|(_, pool)| ways().map(move |(pass, ahead)| named(pass, ahead, pool)))
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let mut table = Table::new("t", COLUMNS, &names);
        for name in &names {
            table.add(name, Row::from([(TIME.to_string(), 1.0)]));
        }
        // Each kind of page: three passes, two checksums and what they are over a pass, one over nothing ahead.
        assert_eq!(owed(table).seen.len(), 2 * (3 + 2 + 2 + 1));
    }
}
