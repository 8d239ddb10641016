//! The redo log alone: commits that change no page, by groups, beside fio that writes and flushes, and beside what
//! PostgreSQL's own test of flushes finds on the same disk.
//!
//! Prevents: a rate of commits that is really one of reading or writing pages, and a flush that only we believe in.

use super::updates::{COLUMNS, write_and_sync};
use super::{Bench, Found, interleaved};
use crate::bounds::Due;
use crate::contender::{Contender, Tool, side};
use crate::figures::Table;
use crate::flags::{Side, Work};
use crate::places;
use crate::undo::Undo;

const SESSIONS: [u32; 2] = [1, 64];
const REDO_BYTES: u64 = 256 << 20;
/// Nothing of the data is read.
const CACHE_MIB: u64 = 16;
const PG: &str = "pg_test_fsync, fdatasync";

fn ours(sessions: u32) -> String {
    format!("assay engine, redo alone, sessions: {sessions}")
}

fn theirs(jobs: u32) -> String {
    format!("fio --fdatasync=1, jobs: {jobs}")
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let place = places::database(&bench.scratch, "redo", bench.sizes.updates, REDO_BYTES, 1)?;
    let mut undo = Undo::default();
    let plain = places::plain(&bench.scratch, REDO_BYTES, &bench.interrupt, &mut undo)?;
    let mut contenders = Vec::new();
    for count in SESSIONS {
        let own = Side {
            redo: Some(place.redo.clone()),
            pages: place.pages,
            sessions: count,
            cache_mib: CACHE_MIB,
            ..side(Work::Redo, &place.data)
        };
        contenders.push(Contender::ours(&ours(count), own));
        contenders.push(Contender::fio(&theirs(count), write_and_sync(&plain, count)));
    }
    let flushes = bench.pg_test_fsync.clone().map(Tool::PgTestFsync);
    contenders.extend(flushes.map(|tool| Contender::optional(PG, tool)));
    let mut table = interleaved(bench, "Redo: commits alone", COLUMNS, &contenders)?;
    table.notes.push(format!(
        "Engine: records of 8 KiB with the head of their batch, which change no page, into a redo log of {} MiB with \
         O_DIRECT; a flush is for all that wait. fio: jobs that each overwrite 8 KiB with O_DIRECT at a random place \
         and call fdatasync. pg_test_fsync: one 8 KiB write through the page cache and fdatasync, one at a time; its \
         CPU is not taken.",
        REDO_BYTES >> 20
    ));
    let mut found = Found::default();
    see(&mut table, &mut found);
    found.tables.push(table);
    Ok(found)
}

fn see(table: &mut Table, found: &mut Found) {
    for count in SESSIONS {
        let (a, b, of) = (ours(count), theirs(count), format!("{count} sessions"));
        found.see_of(Due::RedoRate, &of, table.ratio("rate", &a, &b, "iops"));
        found.see_of(Due::RedoCpu, &of, table.ratio("process CPU", &a, &b, "process_us"));
        found.see_of(Due::RedoSystem, &of, table.ratio("system CPU", &a, &b, "system_us"));
        found.see_of(Due::RedoPg, &of, table.ratio("rate", &a, PG, "iops"));
    }
}
