//! Random 8 KiB reads: our bare ring, bare `pread` and page engine beside fio and its bare peak tool, on one place.

use super::{Bench, Found, interleaved, say};
use crate::contender::{Contender, Fio, REGISTERED, TUNED, Tool, side};
use crate::figures::{Column, Table};
use crate::flags::{Method, Side, Work};
use crate::instructions::{Counters, by_difference};
use crate::places::Place;

const DEPTH: u32 = 64;
const COLUMNS: &[Column] = &[
    Column {
        key: "iops",
        head: "IOPS",
        digits: 0,
    },
    Column {
        key: "process_us",
        head: "process CPU us/IO",
        digits: 2,
    },
    Column {
        key: "system_us",
        head: "system CPU us/IO",
        digits: 2,
    },
    Column {
        key: "user_instr",
        head: "user instr/IO",
        digits: 0,
    },
    Column {
        key: "kernel_instr",
        head: "kernel instr/IO",
        digits: 0,
    },
    Column {
        key: "p50_us",
        head: "p50 us",
        digits: 1,
    },
    Column {
        key: "p99_us",
        head: "p99 us",
        digits: 1,
    },
    Column {
        key: "p999_us",
        head: "p99.9 us",
        digits: 1,
    },
];

const RING: &str = "assay bare ring";
const PREAD: &str = "assay bare pread, depth 1";
const ENGINE: &str = "assay engine";
const ENGINE_OFF: &str = "assay engine, verification off";
const ENGINE_16: &str = "assay engine, 16 pages an operation";
const ENGINE_PREAD: &str = "assay engine, pread, depth 1";
const ENGINE_PREAD_OFF: &str = "assay engine, pread, depth 1, verif. off";
const PSYNC: &str = "fio psync, depth 1";
const LIBAIO: &str = "fio libaio";
const URING: &str = "fio io_uring registered";
const URING_TUNED: &str = "fio io_uring tuned";
const PEAK: &str = "fio's t/io_uring";

/// What kind of place it is: decides what is owed there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Xfs,
    Zram,
}

fn engine(place: &Place, change: impl Fn(&mut Side)) -> Side {
    let mut own = side(Work::Reads, &place.data);
    own.redo = Some(place.redo.clone());
    own.pages = place.pages;
    own.sessions = DEPTH;
    change(&mut own);
    own
}

fn pread(side: &mut Side) {
    side.method = Method::Pread;
    side.sessions = 1;
}

fn fio(place: &Place, engine: &'static str, depth: u32, more: &'static [&'static str]) -> Fio {
    Fio {
        data: place.data.clone(),
        rw: "randread",
        block: "8k",
        engine,
        depth,
        jobs: 1,
        more,
    }
}

/// Who takes part where: what is owed on a place, and who it is owed against.
fn contenders(place: &Place, bench: &Bench, kind: Kind) -> Vec<Contender> {
    let mut bare_pread = side(Work::Bare, &place.data);
    pread(&mut bare_pread);
    let mut all = vec![
        Contender::ours(RING, side(Work::Bare, &place.data)),
        Contender::fio(URING, fio(place, "io_uring", DEPTH, REGISTERED)),
        Contender::ours(ENGINE, engine(place, |_| ())),
        Contender::fio(URING_TUNED, fio(place, "io_uring", DEPTH, TUNED)),
        Contender::ours(PREAD, bare_pread),
        Contender::fio(PSYNC, fio(place, "psync", 1, &[])),
    ];
    if let Some(path) = &bench.t_io_uring {
        all.push(Contender {
            name: PEAK.into(),
            tool: Tool::TIoUring {
                path: path.clone(),
                data: place.data.clone(),
                depth: DEPTH,
            },
        });
    }
    if kind != Kind::Zram {
        all.push(Contender::fio(LIBAIO, fio(place, "libaio", DEPTH, &[])));
    }
    if kind != Kind::Xfs {
        all.push(Contender::ours(
            ENGINE_OFF,
            engine(place, |side| side.unverified = true),
        ));
    }
    if kind == Kind::File {
        all.push(Contender::ours(ENGINE_16, engine(place, |side| side.work_unit = 16)));
    }
    if kind == Kind::Zram {
        all.push(Contender::ours(ENGINE_PREAD, engine(place, pread)));
        let off = engine(place, |side| {
            pread(side);
            side.unverified = true;
        });
        all.push(Contender::ours(ENGINE_PREAD_OFF, off));
    }
    all
}

/// Runs the table of one place.
pub(crate) fn run(bench: &Bench, place: &Place, kind: Kind) -> anyhow::Result<Found> {
    let contenders = contenders(place, bench, kind);
    let title = match kind {
        Kind::File => "Random 8 KiB reads: file",
        Kind::Xfs => "Random 8 KiB reads: XFS on loop",
        Kind::Zram => "Random 8 KiB reads: zram",
    };
    let mut table = interleaved(bench, title, COLUMNS, &contenders)?;
    // The instructions of one kind of place stand for all: the paths through our code and theirs are the same.
    if matches!(bench.counters, Counters::Valgrind) && kind == Kind::File {
        for contender in &contenders {
            say(&format!("  counting the instructions of {}", contender.name));
            match by_difference(contender, &bench.scratch, &bench.interrupt) {
                Ok(Some(each)) => table.put(&contender.name, "user_instr", each),
                Ok(None) => {}
                Err(error) => {
                    bench.interrupt.check()?;
                    let words = error.to_string();
                    table.notes.push(format!("Instructions not counted: {words}."));
                }
            }
        }
    }
    table.notes.insert(
        0,
        format!(
            "Target: {}. Depth {DEPTH}, one thread, unless the row says otherwise.",
            place.words
        ),
    );
    let mut found = Found::default();
    ratios(&mut table, kind, &mut found);
    found.tables.push(table);
    Ok(found)
}

fn ratios(table: &mut Table, kind: Kind, found: &mut Found) {
    let rate = table.ratio("rate", RING, URING, "iops");
    table.ratio("rate", RING, URING_TUNED, "iops");
    let engine_rate = table.ratio("rate", ENGINE, URING, "iops");
    let tuned_rate = table.ratio("rate", ENGINE, URING_TUNED, "iops");
    table.ratio("rate", ENGINE_16, URING, "iops");
    let ring_peak = table.ratio("process CPU", RING, PEAK, "process_us");
    let ring_peak_system = table.ratio("system CPU", RING, PEAK, "system_us");
    table.ratio("rate", RING, PEAK, "iops");
    table.ratio("process CPU", RING, URING, "process_us");
    let ring_system = table.ratio("system CPU", RING, URING, "system_us");
    let engine_cpu = table.ratio("process CPU", ENGINE, URING_TUNED, "process_us");
    let engine_system = table.ratio("system CPU", ENGINE, URING_TUNED, "system_us");
    table.ratio("rate", PREAD, PSYNC, "iops");
    let pread_cpu = table.ratio("process CPU", PREAD, PSYNC, "process_us");
    let pread_kept = table.ratio("rate", ENGINE_PREAD_OFF, PREAD, "iops");
    table.ratio("rate", ENGINE_PREAD, PREAD, "iops");
    table.ratio("rate", ENGINE_PREAD, ENGINE_PREAD_OFF, "iops");
    table.ratio("rate", ENGINE, ENGINE_OFF, "iops");
    let on = match kind {
        Kind::File => "file",
        Kind::Xfs => "XFS on loop",
        Kind::Zram => "zram",
    };
    let owe = |found: &mut Found, what: &str, owed: &str, seen, digits, met: &dyn Fn(f64) -> bool| {
        found.owe(&format!("{on}: {what}"), owed, seen, digits, met);
    };
    match kind {
        Kind::File => {
            let (ring, engine) = (table.figure(RING, "user_instr"), table.figure(ENGINE, "user_instr"));
            owe(
                found,
                "bare ring, user instructions per read",
                "at most 150",
                ring,
                0,
                &|v| v <= 150.0,
            );
            owe(
                found,
                "page engine, verified, user instructions per read",
                "at most 2,000",
                engine,
                0,
                &|v| v <= 2000.0,
            );
            let near = |v: f64| (v - 1.0).abs() <= 0.03;
            owe(
                found,
                "bare ring, rate against fio registered",
                "within 3 %",
                rate,
                3,
                &near,
            );
            owe(
                found,
                "page engine, rate against fio registered",
                "within 3 %",
                engine_rate,
                3,
                &near,
            );
            owe(
                found,
                "page engine, rate against fio tuned",
                "the same: at least 0.97",
                tuned_rate,
                3,
                &|v| v >= 0.97,
            );
            owe(
                found,
                "bare ring, process CPU against t/io_uring",
                "at most 1.05",
                ring_peak,
                3,
                &|v| v <= 1.05,
            );
            owe(
                found,
                "bare ring, system CPU against t/io_uring",
                "at most 1.05",
                ring_peak_system,
                3,
                &|v| v <= 1.05,
            );
            owe(
                found,
                "page engine, process CPU against fio tuned",
                "below 1",
                engine_cpu,
                3,
                &|v| v < 1.0,
            );
            owe(
                found,
                "page engine, system CPU against fio tuned",
                "below 1",
                engine_system,
                3,
                &|v| v < 1.0,
            );
        }
        Kind::Xfs => {
            owe(
                found,
                "bare ring, rate against fio registered",
                "the same: at least 0.97",
                rate,
                3,
                &|v| v >= 0.97,
            );
            owe(
                found,
                "bare ring, system CPU against fio registered",
                "below 1",
                ring_system,
                3,
                &|v| v < 1.0,
            );
            owe(
                found,
                "page engine, rate against fio tuned",
                "the same: at least 0.97",
                tuned_rate,
                3,
                &|v| v >= 0.97,
            );
        }
        Kind::Zram => {
            let what = "engine by pread, verification off, rate against the bare pread loop";
            owe(found, what, "at least 0.9", pread_kept, 3, &|v| v >= 0.9);
            owe(
                found,
                "bare pread, process CPU against fio psync",
                "below 1",
                pread_cpu,
                3,
                &|v| v < 1.0,
            );
        }
    }
}
