//! Reads and updates of more pages than the cache has, beside fio that reads and writes as many: CPU a page.
//!
//! Trials of each side come first. fio is then given the engine's mix, and rests between bursts until it has the
//! engine's rate: it neither spins nor reads singly, as it would with a rate of its own. Prevents: CPU a page of two
//! loads that differ.

use super::{Bench, Found, interleaved, run_one, say};
use crate::bounds::Due;
use crate::contender::{Contender, Fio, Row, TUNED, arguments, side};
use crate::figures::{Column, Table};
use crate::flags::{Side, Work};
use crate::places;
use crate::undo::Undo;
use anyhow::Context;
use std::path::Path;

const DEPTH: u32 = 64;
const REDO_BYTES: u64 = 256 << 20;
/// A small part of the data, so that pages are read and, when they are dirty, written.
const CACHE_MIB: u64 = 32;
/// Pages of a burst of fio's.
const BURST: u32 = 256;
/// Trials of fio.
const TRIALS: usize = 2;
const COLUMNS: &[Column] = &[
    Column::new("iops", "pages/s", 0),
    Column::new("reads_s", "pages read/s", 0),
    Column::new("writes_s", "pages written/s", 0),
    Column::new("process_us", "process CPU us/page", 2),
    Column::new("system_us", "system CPU us/page", 2),
    Column::new("commits_s", "commits/s", 0),
    Column::new("redo_bytes", "redo bytes/page", 0),
];
const OURS: &str = "assay engine, half updates";
const THEIRS: &str = "fio io_uring tuned, randrw";

/// What fio is told so that it does as much.
#[derive(Clone, Copy, Debug)]
struct Pace {
    read_pct: u32,
    /// Rest after each burst.
    rest_us: u64,
}

impl Pace {
    /// The mix of one side, at full speed.
    fn mix_of(ours: &Row) -> anyhow::Result<Pace> {
        let figure = |key: &str| {
            ours.get(key)
                .copied()
                .context("the engine says what it reads and writes")
        };
        let (reads, writes) = (figure("reads_s")?, figure("writes_s")?);
        Ok(Pace {
            read_pct: (100.0 * reads / (reads + writes)).round() as u32,
            rest_us: 0,
        })
    }

    /// Brought to a rate, from the rate that was seen at this pace.
    fn brought(self, to: f64, seen: f64) -> Pace {
        let more_s = f64::from(BURST) * (1.0 / to - 1.0 / seen);
        Pace {
            rest_us: (self.rest_us as f64 + more_s * 1e6).max(0.0).round() as u64,
            ..self
        }
    }

    fn fio(self, data: &Path) -> Fio {
        let mut more = arguments(&[TUNED]);
        more.push(format!("--rwmixread={}", self.read_pct));
        if self.rest_us > 0 {
            more.push(format!("--thinktime={}", self.rest_us));
            more.push(format!("--thinktime_blocks={BURST}"));
        }
        Fio {
            more,
            ..Fio::new(data, "randrw", "io_uring", DEPTH)
        }
    }
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let place = places::database(&bench.scratch, "mixed", bench.sizes.sessions, REDO_BYTES, 1)?;
    let mut undo = Undo::default();
    let plain = places::plain(&bench.scratch, bench.sizes.sessions, &bench.interrupt, &mut undo)?;
    let own = Side {
        redo: Some(place.redo.clone()),
        pages: place.pages,
        sessions: DEPTH,
        cache_mib: CACHE_MIB,
        ..side(Work::Mixed, &place.data)
    };
    let ours = Contender::ours(OURS, own);
    say("reads and updates: trials of each side, for fio's pace");
    let rate = |row: &Row| row.get("iops").copied().context("a run has a rate");
    let engine = run_one(bench, &ours)?;
    let mut pace = Pace::mix_of(&engine)?;
    // At full speed, and once more: a rest is longer than fio is told, and what a burst takes depends on it.
    for _ in 0..TRIALS {
        let seen = run_one(bench, &Contender::fio(THEIRS, pace.fio(&plain)))?;
        pace = pace.brought(rate(&engine)?, rate(&seen)?);
    }
    let contenders = [ours, Contender::fio(THEIRS, pace.fio(&plain))];
    let mut table = interleaved(bench, "Reads and updates beside fio randrw", COLUMNS, &contenders)?;
    table.notes.push(format!(
        "Engine: {}, cache {CACHE_MIB} MiB, half of the operations update their page. A page is one that was read, or \
         written home; what it writes and flushes of its redo log (images against torn pages included) is in its CPU \
         and not in its pages. fio does {} % reads, and rests {} us after each {BURST} pages. So it moves as many \
         pages a second as the engine did in a trial. The rest was found by {TRIALS} trials of fio. Its file is as \
         long as the database.",
        place.words, pace.read_pct, pace.rest_us
    ));
    let mut found = Found::default();
    see(&mut table, &mut found);
    found.tables.push(table);
    Ok(found)
}

fn see(table: &mut Table, found: &mut Found) {
    found.see(Due::MixedRate, table.ratio("rate", OURS, THEIRS, "iops"));
    found.see(Due::MixedCpu, table.ratio("process CPU", OURS, THEIRS, "process_us"));
    found.see(Due::MixedSystem, table.ratio("system CPU", OURS, THEIRS, "system_us"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fio_is_given_the_mix_and_the_rate_of_the_engine() {
        let row = Row::from([("reads_s".to_string(), 6000.0), ("writes_s".to_string(), 4000.0)]);
        let pace = Pace::mix_of(&row).unwrap().brought(10_000.0, 40_000.0);
        // A burst of 256 pages takes 6.4 ms at full speed, and may take 25.6.
        assert_eq!((pace.read_pct, pace.rest_us), (60, 19_200));
        let args = pace.fio(Path::new("/x")).more;
        assert!(args.contains(&"--thinktime=19200".to_string()), "{args:?}");
        // It was too slow: bursts took 32 ms with their rest.
        assert_eq!(pace.brought(10_000.0, 8_000.0).rest_us, 19_200 - 6_400);
        assert_eq!(pace.brought(10_000.0, 10_000.0).rest_us, 19_200);
        assert_eq!(pace.brought(40_000.0, 10_000.0).rest_us, 0);
    }
}
