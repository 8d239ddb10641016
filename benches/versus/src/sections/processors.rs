//! Processors, one to all: whether twice as many do twice the work, where no device stands in the way.
//!
//! On a target that moves nothing, on files in memory, and on zram. Each worker has as many sessions, as much data and
//! as much cache as one alone. Prevents: a lock or a shared line that shows on large machines alone.

use super::{Bench, Found, interleaved, say};
use crate::bounds::Due;
use crate::contender::{Contender, Fio, side};
use crate::database::Database;
use crate::figures::{Column, Spread, Table};
use crate::flags::{Method, Section, Side, Work};
use crate::places::{self, Place};
use std::path::Path;

const COLUMNS: &[Column] = &[
    Column::new("iops", "reads/s", 0),
    Column::new("each", "reads/s of each", 0),
    Column::new("process_us", "process CPU us/read", 3),
    Column::new("system_us", "system CPU us/read", 3),
];

const LOOP: &str = "bare loop on the null target";
const MEMORY: &str = "engine on files in memory";
const ZRAM: &str = "engine on zram, pread";
const FIO: &str = "fio psync on zram";
/// What is compared, its line, and whether it is held against the bare loop of the same round.
const WHATS: [(&str, Due, bool); 4] = [
    (LOOP, Due::ProcessorsLoop, false),
    (MEMORY, Due::ProcessorsMemory, true),
    (ZRAM, Due::ProcessorsZram, true),
    (FIO, Due::ProcessorsFio, false),
];

/// Of each worker, in memory: data, cache, sessions.
const DATA_BYTES: u64 = 64 << 20;
const CACHE_MIB: u64 = 8;
const SESSIONS: u32 = 64;

fn name(what: &str, count: u32) -> String {
    format!("{what}, processors: {count}")
}

/// One, twice as many and so on, and all that there are.
fn counts() -> Vec<u32> {
    let all = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let doubled = std::iter::successors(Some(1u32), |count| count.checked_mul(2));
    doubled.take_while(|count| *count < all).chain([all]).collect()
}

/// Those that need no device.
fn in_memory(count: u32) -> [Contender; 2] {
    let nowhere = Path::new("/dev/null");
    let bare = Side {
        workers: count,
        ..side(Work::Null, nowhere)
    };
    let engine = Side {
        workers: count,
        pages: Database::pages_in(DATA_BYTES * u64::from(count), count),
        cache_mib: CACHE_MIB * u64::from(count),
        sessions: SESSIONS * count,
        ..side(Work::Memory, nowhere)
    };
    [
        Contender::ours(&name(LOOP, count), bare),
        Contender::ours(&name(MEMORY, count), engine),
    ]
}

/// One read at a time of each, for zram does them inside the call.
fn on_zram(place: &Place, count: u32) -> [Contender; 2] {
    let engine = Side {
        redo: Some(place.redo.clone()),
        pages: place.pages,
        cache_mib: CACHE_MIB * u64::from(count),
        workers: count,
        sessions: count,
        method: Method::Pread,
        ..side(Work::Reads, &place.data)
    };
    let fio = Fio {
        jobs: count,
        ..Fio::new(&place.data, "randread", "psync", 1)
    };
    [
        Contender::ours(&name(ZRAM, count), engine),
        Contender::fio(&name(FIO, count), fio),
    ]
}

/// A database for each number of workers, as much for each: it stays with them from load to the end.
fn zram_places(bench: &Bench, counts: &[u32]) -> anyhow::Result<Vec<Place>> {
    let each = counts.iter();
    each.map(|count| {
        bench.interrupt.check()?;
        places::zram(&bench.scratch, bench.sizes.zram * u64::from(*count), *count)
    })
    .collect()
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let counts = counts();
    let mut contenders: Vec<Contender> = counts.iter().flat_map(|count| in_memory(*count)).collect();
    let zram = zram_places(bench, &counts);
    let mut notes = vec![NOTE.to_string()];
    match &zram {
        Ok(places) => {
            contenders.extend(
                places
                    .iter()
                    .zip(&counts)
                    .flat_map(|(place, count)| on_zram(place, *count)),
            );
            let words = |place: &Place| format!("Of one worker: {}. Each of several has as much.", place.words);
            notes.extend(places.first().map(words));
        }
        Err(error) => {
            bench.interrupt.check()?;
            say(&format!("processors: zram is left out: {error:#}"));
            notes.push(format!("zram could not be measured here: {error:#}."));
        }
    }
    let mut table = interleaved(bench, "Processors, one to all", COLUMNS, &contenders)?;
    table.notes = notes;
    let mut found = Found::default();
    if let Err(error) = &zram {
        found.absent.push((Section::Processors, format!("zram: {error:#}")));
    }
    see(&mut table, &counts, &mut found);
    found.tables.push(table);
    Ok(found)
}

const NOTE: &str = "Of linear: the rate of each of all, over that of one alone. The bare loops share nothing but the \
    machine, so what they lose is its own: clock, caches, threads of one core. The engine's share is held against \
    theirs of the same round.";

/// A worker's own rate beside that of one alone.
fn see(table: &mut Table, counts: &[u32], found: &mut Found) {
    for (what, ..) in WHATS {
        for count in counts {
            let named = name(what, *count);
            for line in table.lines.iter_mut().filter(|line| line.name == named) {
                for row in &mut line.rounds {
                    let all = row.get("iops").copied().unwrap_or(f64::NAN);
                    row.insert("each".into(), all / f64::from(*count));
                }
            }
        }
    }
    let more = counts.iter().filter(|count| **count > 1);
    for count in more {
        for (what, due, beside_loop) in WHATS {
            let mut share = table.ratio("rate of each", &name(what, *count), &name(what, 1), "each");
            if beside_loop {
                share = over_loop(table, what, *count);
            }
            found.see_of(due, &format!("{count} processors"), share);
        }
    }
}

/// A share of linear over that of the bare loop in the same round.
fn over_loop(table: &Table, what: &str, count: u32) -> Option<Spread> {
    let each = |what: &str, count: u32, round: usize| {
        let rounds = &table.line(&name(what, count))?.rounds;
        rounds.get(round)?.get("each").copied()
    };
    let share = |what: &str, round: usize| Some(each(what, count, round)? / each(what, 1, round)?);
    let rounds = table.line(&name(what, count))?.rounds.len();
    Spread::of((0..rounds).filter_map(|round| Some(share(what, round)? / share(LOOP, round)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Row;

    /// The machine gives two loops less than twice the rate; the engine keeps 96 % of that, then 92 %.
    #[test]
    fn the_engine_is_held_against_what_the_machine_gives_in_the_same_round() {
        let counts = [1, 2];
        let names: Vec<String> = WHATS
            .iter()
            .flat_map(|(what, ..)| counts.map(|count| name(what, count)))
            .collect();
        let mut table = Table::new("t", COLUMNS, &names);
        let mut add = |what: &str, count: u32, iops: f64| {
            table.add(&name(what, count), Row::from([("iops".to_string(), iops)]));
        };
        for (loops, kept) in [(0.75, 0.96), (0.5, 0.92)] {
            add(LOOP, 1, 1000.0);
            add(LOOP, 2, 2000.0 * loops);
            add(MEMORY, 1, 100.0);
            add(MEMORY, 2, 200.0 * loops * kept);
        }
        let mut found = Found::default();
        see(&mut table, &counts, &mut found);
        let share = over_loop(&table, MEMORY, 2).unwrap();
        assert!(
            (share.low - 0.92).abs() < 1e-9 && (share.high - 0.96).abs() < 1e-9,
            "{share:?}"
        );
        assert_eq!(over_loop(&table, ZRAM, 2), None, "it was not measured");
        // That of the loops and that of the engine.
        assert_eq!(found.seen.len(), 2);
    }
}
