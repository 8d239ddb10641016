//! Random 8 KiB reads: our bare ring, bare `pread` and page engine beside fio and its bare peak tool, on one place.

use super::{Bench, Found, interleaved, say};
use crate::contender::{Contender, Fio, REGISTERED, TUNED, Tool, side};
use crate::figures::{Column, Table};
use crate::flags::{Method, Side, Work};
use crate::instructions::{Counters, by_difference, by_steps};
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
        key: "stepped",
        head: "executed, stepped",
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
            count(bench, &mut table, contender)?;
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

/// Simulated for both sides, and one by one for ours, whose checksum has instructions that the simulator has not.
fn count(bench: &Bench, table: &mut Table, contender: &Contender) -> anyhow::Result<()> {
    say(&format!("  counting the instructions of {}", contender.name));
    let simulated = by_difference(contender, &bench.scratch, &bench.interrupt);
    let stepped = match contender.tool {
        Tool::Ours(_) => by_steps(contender, &bench.scratch, &bench.interrupt).map(Some),
        _ => Ok(None),
    };
    for (key, counted) in [("user_instr", simulated), ("stepped", stepped)] {
        match counted {
            Ok(Some(each)) => table.put(&contender.name, key, each),
            Ok(None) => {}
            Err(error) => {
                bench.interrupt.check()?;
                table.notes.push(format!("Instructions not counted: {error:#}."));
            }
        }
    }
    Ok(())
}

const RATE: &str = "iops";
const PROCESS: &str = "process_us";
const SYSTEM: &str = "system_us";

/// Ratios that are printed where both took part: head, ours, theirs, column.
const RATIOS: &[(&str, &str, &str, &str)] = &[
    ("rate", RING, URING, RATE),
    ("rate", RING, URING_TUNED, RATE),
    ("rate", RING, PEAK, RATE),
    ("rate", ENGINE, URING, RATE),
    ("rate", ENGINE, URING_TUNED, RATE),
    ("rate", ENGINE_16, URING, RATE),
    ("rate", ENGINE, ENGINE_OFF, RATE),
    ("rate", PREAD, PSYNC, RATE),
    ("rate", ENGINE_PREAD, PREAD, RATE),
    ("rate", ENGINE_PREAD_OFF, PREAD, RATE),
    ("rate", ENGINE_PREAD, ENGINE_PREAD_OFF, RATE),
    ("process CPU", RING, PEAK, PROCESS),
    ("process CPU", RING, URING, PROCESS),
    ("process CPU", RING, URING_TUNED, PROCESS),
    ("process CPU", ENGINE, URING_TUNED, PROCESS),
    ("process CPU", ENGINE_16, URING_TUNED, PROCESS),
    ("process CPU", PREAD, PSYNC, PROCESS),
    ("system CPU", RING, PEAK, SYSTEM),
    ("system CPU", RING, URING, SYSTEM),
    ("system CPU", RING, URING_TUNED, SYSTEM),
    ("system CPU", ENGINE, URING_TUNED, SYSTEM),
    ("system CPU", ENGINE_16, URING_TUNED, SYSTEM),
];

/// A ratio with its bound.
struct Due {
    what: &'static str,
    owed: &'static str,
    ours: &'static str,
    theirs: &'static str,
    key: &'static str,
    met: fn(f64) -> bool,
}

const fn due(
    what: &'static str,
    (ours, theirs, key): (&'static str, &'static str, &'static str),
    owed: &'static str,
    met: fn(f64) -> bool,
) -> Due {
    Due {
        what,
        owed,
        ours,
        theirs,
        key,
        met,
    }
}

fn near(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= 0.03
}

fn same(ratio: f64) -> bool {
    ratio >= 0.97
}

fn below_one(ratio: f64) -> bool {
    ratio < 1.0
}

fn at_peak(ratio: f64) -> bool {
    ratio <= 1.05
}

fn kept(ratio: f64) -> bool {
    ratio >= 0.9
}

const NEAR: &str = "within 3 %";
const SAME: &str = "the same: at least 0.97";
const BELOW: &str = "below 1";
const AT_PEAK: &str = "at most 1.05";

const DUE_ON_FILE: &[Due] = &[
    due(
        "bare ring, rate against fio registered",
        (RING, URING, RATE),
        NEAR,
        near,
    ),
    due(
        "page engine, rate against fio registered",
        (ENGINE, URING, RATE),
        NEAR,
        near,
    ),
    due(
        "page engine, rate against fio tuned",
        (ENGINE, URING_TUNED, RATE),
        SAME,
        same,
    ),
    due(
        "bare ring, process CPU against t/io_uring",
        (RING, PEAK, PROCESS),
        AT_PEAK,
        at_peak,
    ),
    due(
        "bare ring, system CPU against t/io_uring",
        (RING, PEAK, SYSTEM),
        AT_PEAK,
        at_peak,
    ),
    due(
        "page engine, process CPU against fio tuned",
        (ENGINE, URING_TUNED, PROCESS),
        BELOW,
        below_one,
    ),
    due(
        "page engine, system CPU against fio tuned",
        (ENGINE, URING_TUNED, SYSTEM),
        BELOW,
        below_one,
    ),
];
const DUE_ON_XFS: &[Due] = &[
    due(
        "bare ring, rate against fio registered",
        (RING, URING, RATE),
        SAME,
        same,
    ),
    due(
        "bare ring, system CPU against fio registered",
        (RING, URING, SYSTEM),
        BELOW,
        below_one,
    ),
    due(
        "page engine, rate against fio tuned",
        (ENGINE, URING_TUNED, RATE),
        SAME,
        same,
    ),
];
const DUE_ON_ZRAM: &[Due] = &[
    due(
        "engine by pread, verification off, rate against the bare pread loop",
        (ENGINE_PREAD_OFF, PREAD, RATE),
        "at least 0.9",
        kept,
    ),
    due(
        "bare pread, process CPU against fio psync",
        (PREAD, PSYNC, PROCESS),
        BELOW,
        below_one,
    ),
];

fn ratios(table: &mut Table, kind: Kind, found: &mut Found) {
    for (head, ours, theirs, key) in RATIOS {
        table.ratio(head, ours, theirs, key);
    }
    let (on, dues) = match kind {
        Kind::File => ("file", DUE_ON_FILE),
        Kind::Xfs => ("XFS on loop", DUE_ON_XFS),
        Kind::Zram => ("zram", DUE_ON_ZRAM),
    };
    if kind == Kind::File {
        let count = |name| {
            table
                .figure(name, "stepped")
                .or_else(|| table.figure(name, "user_instr"))
        };
        found.owe(
            "file: bare ring, user instructions per read",
            "at most 150",
            count(RING),
            0,
            |v| v <= 150.0,
        );
        let what = "file: page engine, verified, user instructions per read";
        found.owe(what, "at most 2,000", count(ENGINE), 0, |v| v <= 2000.0);
        let what = "file: the same, 16 pages an operation";
        found.show(what, count(ENGINE_16), 0);
        let what = "file: the same, verification off";
        found.show(what, count(ENGINE_OFF), 0);
    }
    for due in dues {
        let seen = table.over(due.ours, due.theirs, due.key);
        found.owe(&format!("{on}: {}", due.what), due.owed, seen, 3, due.met);
    }
    if kind == Kind::Zram {
        let cost = table.over(ENGINE_PREAD, ENGINE_PREAD_OFF, RATE);
        found.show(
            "zram: engine by pread, verified, rate against verification off",
            cost,
            3,
        );
    }
}
