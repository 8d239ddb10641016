//! Updates: commits of the page engine beside fio, whose every write is followed by a flush, and beside what the target
//! gives to one writer that flushes.
//!
//! The engine's data fit in its cache, so that a commit waits for its redo alone; its pages are written behind. fio
//! overwrites blocks of a file written in full. Prevents: a commit rate that leaves out the flush.

use super::{Bench, Found, interleaved};
use crate::contender::{Contender, Fio, side};
use crate::figures::{Column, Spread, Table};
use crate::flags::{Side, Work};
use crate::places::{self, Place};
use crate::undo::Undo;

const SESSIONS: [u32; 4] = [1, 8, 64, 512];
const REDO_BYTES: u64 = 256 << 20;
const CACHE_MIB: u64 = 128;
const COLUMNS: &[Column] = &[
    Column {
        key: "iops",
        head: "commits/s",
        digits: 0,
    },
    Column {
        key: "commits_per_flush",
        head: "commits per flush",
        digits: 2,
    },
    Column {
        key: "process_us",
        head: "process CPU us/commit",
        digits: 2,
    },
    Column {
        key: "system_us",
        head: "system CPU us/commit",
        digits: 2,
    },
    Column {
        key: "redo_bytes",
        head: "redo bytes/commit",
        digits: 0,
    },
    Column {
        key: "page_writes",
        head: "page writes/commit",
        digits: 2,
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
    Column {
        key: "p999_us",
        head: "p99.9 us",
        digits: 0,
    },
];
const TARGET: &str = "target: 8 KiB write + flush, one at a time";

fn ours(sessions: u32) -> String {
    format!("assay engine, sessions: {sessions}")
}

fn theirs(jobs: u32) -> String {
    format!("fio write + fdatasync, jobs: {jobs}")
}

fn contenders(place: &Place, plain: &std::path::Path) -> Vec<Contender> {
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
        let fio = Fio {
            data: plain.to_owned(),
            rw: "randwrite",
            block: "8k",
            engine: "psync",
            depth: 1,
            jobs: count,
            more: &["--fdatasync=1"],
        };
        all.push(Contender::fio(&theirs(count), fio));
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
        let rate = table.ratio("rate", &a, &b, "iops");
        let cpu = table.ratio("system CPU", &a, &b, "system_us");
        let what = format!("updates: {count} sessions, commits/s against fio's");
        found.show(&what, rate, 2);
        let what = format!("updates: {count} sessions, system CPU per commit against fio's");
        found.show(&what, cpu, 2);
    }
    let flush = table.ratio("rate", &ours(1), TARGET, "iops");
    found.show("updates: one session against the target's own flush rate", flush, 2);
    let each: Vec<Option<Spread>> = SESSIONS
        .iter()
        .map(|count| table.figure(&ours(*count), "commits_per_flush"))
        .collect();
    let medians: Option<Vec<f64>> = each.iter().map(|spread| spread.map(|s| s.median)).collect();
    let grows = medians
        .as_ref()
        .map(|m| m.windows(2).all(|pair| pair[1] > pair[0] * 1.2));
    found.owed.push(super::Owed {
        what: "updates: commits per flush at 1, 8, 64, 512 sessions".into(),
        owed: "grows".into(),
        seen: medians.map_or("not measured here".into(), |m| {
            m.iter().map(|v| format!("{v:.1}")).collect::<Vec<_>>().join(", ")
        }),
        met: grows,
    });
}
