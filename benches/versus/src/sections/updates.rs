//! Updates: commits of the page engine beside fio, whose every write is followed by a flush, and beside what the target
//! gives to one writer that flushes.
//!
//! The engine's data fit in its cache, so that a commit waits for its redo alone; its pages are written behind. fio
//! overwrites blocks of a file written in full. Prevents: a commit rate that leaves out the flush.

use super::{Bench, Found, interleaved};
use crate::bounds::Due;
use crate::contender::{Contender, Fio, arguments, side};
use crate::figures::{Column, Table};
use crate::flags::{Side, Work};
use crate::places::{self, Place};
use crate::undo::Undo;
use std::path::Path;

const SESSIONS: [u32; 4] = [1, 8, 64, 512];
const REDO_BYTES: u64 = 256 << 20;
const CACHE_MIB: u64 = 128;
/// Of commits alone too, which write no page.
pub(super) const COLUMNS: &[Column] = &[
    Column::new("iops", "commits/s", 0),
    Column::new("commits_per_flush", "commits per flush", 2),
    Column::new("process_us", "process CPU us/commit", 2),
    Column::new("system_us", "system CPU us/commit", 2),
    Column::new("redo_bytes", "redo bytes/commit", 0),
    Column::new("page_writes", "page writes/commit", 2),
    Column::new("p50_us", "p50 us", 0),
    Column::new("p99_us", "p99 us", 0),
    Column::new("p999_us", "p99.9 us", 0),
];
const TARGET: &str = "target: 8 KiB write + flush, one at a time";

fn ours(sessions: u32) -> String {
    format!("assay engine, sessions: {sessions}")
}

fn theirs(jobs: u32) -> String {
    format!("fio write + fdatasync, jobs: {jobs}")
}

/// Jobs that each overwrite 8 KiB at a random place and flush it.
pub(super) fn write_and_sync(plain: &Path, jobs: u32) -> Fio {
    Fio {
        jobs,
        more: arguments(&[&["--fdatasync=1"]]),
        ..Fio::new(plain, "randwrite", "psync", 1)
    }
}

fn contenders(place: &Place, plain: &Path) -> Vec<Contender> {
    let mut all = vec![Contender::ours(TARGET, side(Work::Flushes, plain))];
    for count in SESSIONS {
        let own = Side {
            redo: Some(place.redo.clone()),
            pages: place.pages,
            sessions: count,
            cache_mib: CACHE_MIB,
            ..side(Work::Updates, &place.data)
        };
        all.push(Contender::ours(&ours(count), own));
        all.push(Contender::fio(&theirs(count), write_and_sync(plain, count)));
    }
    all
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let place = places::database(&bench.scratch, "updates", bench.sizes.updates, REDO_BYTES, 1)?;
    let mut undo = Undo::default();
    let plain = places::plain(&bench.scratch, 4 * bench.sizes.updates, &bench.interrupt, &mut undo)?;
    let mut table = interleaved(
        bench,
        "Updates: commits and flushes",
        COLUMNS,
        &contenders(&place, &plain),
    )?;
    table.notes.push(format!(
        "Engine: {}, every operation updates two columns of one page and commits; cache {CACHE_MIB} MiB, torn pages \
         survived by images in the redo log of {} MiB. fio: jobs that each overwrite 8 KiB at a random place and \
         call fdatasync. A commit of fio's is a write; at one job both sides flush once for each.",
        place.words,
        REDO_BYTES >> 20
    ));
    let mut found = Found::default();
    ratios(&mut table, &mut found);
    found.tables.push(table);
    Ok(found)
}

fn ratios(table: &mut Table, found: &mut Found) {
    for count in SESSIONS {
        let (a, b) = (ours(count), theirs(count));
        let of = format!("{count} sessions");
        let rate = table.ratio("rate", &a, &b, "iops");
        found.see_of(Due::UpdatesRate, &of, rate);
        let cpu = table.ratio("system CPU", &a, &b, "system_us");
        found.see_of(Due::UpdatesSystem, &of, cpu);
    }
    let flush = table.ratio("rate", &ours(1), TARGET, "iops");
    found.see(Due::UpdatesTarget, flush);
    for pair in SESSIONS.windows(2) {
        let grown = table.ratio("commits per flush", &ours(pair[1]), &ours(pair[0]), "commits_per_flush");
        found.see_of(Due::UpdatesGroup, &format!("{} sessions", pair[1]), grown);
    }
}
