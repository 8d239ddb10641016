//! Random 8 KiB reads: our bare ring, bare `pread` and page engine beside fio and its bare peak tool, on one place.

use super::{Bench, Found, interleaved, say};
use crate::bounds::Due;
use crate::contender::{Contender, Fio, REGISTERED, TUNED, Tool, VERIFIED, arguments, side};
use crate::figures::{Column, Table};
use crate::flags::{Method, Side, Work};
use crate::instructions::{Counters, by_difference, by_steps};
use crate::places::{self, Place};
use crate::undo::Undo;
use std::path::Path;

const DEPTH: u32 = 64;
const COLUMNS: &[Column] = &[
    Column::new("iops", "IOPS", 0),
    Column::new("process_us", "process CPU us/IO", 2),
    Column::new("system_us", "system CPU us/IO", 2),
    Column::new("user_instr", "user instr/IO", 0),
    Column::new("stepped", "executed, stepped", 0),
    Column::new("kernel_instr", "kernel instr/IO", 0),
    Column::new("p50_us", "p50 us", 1),
    Column::new("p99_us", "p99 us", 1),
    Column::new("p999_us", "p99.9 us", 1),
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
const URING_VERIFIED: &str = "fio io_uring tuned, verify=crc32c";
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

fn uring(data: &Path, more: &[&[&str]]) -> Fio {
    Fio {
        more: arguments(more),
        ..Fio::new(data, "randread", "io_uring", DEPTH)
    }
}

/// Reads a second that a run is prepared for: one that reads more ends early, and that is an error.
const READS_MAX: f64 = 1e6;

/// Tuned as the other, on a file of so many bytes that fio has laid.
fn uring_verified(laid: &Path, bytes: u64, seconds: f64) -> Fio {
    Fio {
        times: (seconds * READS_MAX * 8192.0 / bytes as f64).ceil() as usize,
        ..uring(laid, &[TUNED, VERIFIED])
    }
}

/// fio that verifies, on a file of its own as long as the place's, once it has refused a damaged block.
fn verifying(bench: &Bench, place: &Place, undo: &mut Undo) -> anyhow::Result<Contender> {
    let bytes = std::fs::metadata(&place.data)?.len();
    let laid = places::verifiable(&bench.scratch, "fio-verifiable", bytes, undo)?;
    let measured = uring_verified(&laid, bytes, bench.seconds);
    places::refuses_damage(&measured, &bench.scratch, &bench.interrupt, undo)?;
    Ok(Contender::optional(URING_VERIFIED, Tool::Fio(measured)))
}

/// Who takes part where: what is owed on a place, and who it is owed against.
fn contenders(place: &Place, bench: &Bench, kind: Kind) -> Vec<Contender> {
    let mut bare_pread = side(Work::Bare, &place.data);
    pread(&mut bare_pread);
    let mut all = vec![
        Contender::ours(RING, side(Work::Bare, &place.data)),
        Contender::fio(URING, uring(&place.data, &[REGISTERED])),
        Contender::ours(ENGINE, engine(place, |_| ())),
        Contender::fio(URING_TUNED, uring(&place.data, &[TUNED])),
        Contender::ours(PREAD, bare_pread),
        Contender::fio(PSYNC, Fio::new(&place.data, "randread", "psync", 1)),
    ];
    if let Some(path) = &bench.t_io_uring {
        let peak = Tool::TIoUring {
            path: path.clone(),
            data: place.data.clone(),
            depth: DEPTH,
        };
        all.push(Contender::optional(PEAK, peak));
    }
    if kind != Kind::Zram {
        let libaio = Fio::new(&place.data, "randread", "libaio", DEPTH);
        all.push(Contender::fio(LIBAIO, libaio));
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

const VERIFIED_NOTE: &str = "With verify=crc32c fio reads a file as long on the same disk, which it has laid itself \
     with a checksum in each block, and checks every block that it reads. That it refuses a damaged one was tried \
     before, by the same command on a small file.";

/// Runs the table of one place.
pub(crate) fn run(bench: &Bench, place: &Place, kind: Kind) -> anyhow::Result<Found> {
    let mut contenders = contenders(place, bench, kind);
    let mut undo = Undo::default();
    let mut does_not_verify = None;
    if kind == Kind::File {
        match verifying(bench, place, &mut undo) {
            // Beside the verified engine.
            Ok(verified) => contenders.insert(3, verified),
            Err(error) => {
                bench.interrupt.check()?;
                does_not_verify = Some(format!("{error:#}"));
            }
        }
    }
    let title = match kind {
        Kind::File => "Random 8 KiB reads: file",
        Kind::Xfs => "Random 8 KiB reads: XFS on loop",
        Kind::Zram => "Random 8 KiB reads: zram",
    };
    let mut table = interleaved(bench, title, COLUMNS, &contenders)?;
    if let Some(why) = does_not_verify {
        table.leave_out(URING_VERIFIED, why);
    }
    contenders.retain(|one| table.line(&one.name).is_some());
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
    if table.line(URING_VERIFIED).is_some() {
        table.notes.insert(1, VERIFIED_NOTE.into());
    }
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
    ("rate", ENGINE, URING_VERIFIED, RATE),
    ("rate", ENGINE_16, URING, RATE),
    ("rate", ENGINE, ENGINE_OFF, RATE),
    ("rate", PREAD, PSYNC, RATE),
    ("rate", ENGINE_PREAD, PREAD, RATE),
    ("rate", ENGINE_PREAD_OFF, PREAD, RATE),
    ("rate", ENGINE_PREAD, ENGINE_PREAD_OFF, RATE),
    ("process CPU", RING, PEAK, PROCESS),
    ("process CPU", RING, URING, PROCESS),
    ("process CPU", RING, URING_TUNED, PROCESS),
    ("process CPU", ENGINE, URING_VERIFIED, PROCESS),
    ("process CPU", ENGINE_OFF, URING_TUNED, PROCESS),
    ("process CPU", ENGINE, URING_TUNED, PROCESS),
    ("process CPU", ENGINE, ENGINE_OFF, PROCESS),
    ("process CPU", URING_VERIFIED, URING_TUNED, PROCESS),
    ("process CPU", ENGINE_16, URING_TUNED, PROCESS),
    ("process CPU", PREAD, PSYNC, PROCESS),
    ("system CPU", RING, PEAK, SYSTEM),
    ("system CPU", RING, URING, SYSTEM),
    ("system CPU", RING, URING_TUNED, SYSTEM),
    ("system CPU", ENGINE, URING_VERIFIED, SYSTEM),
    ("system CPU", ENGINE_OFF, URING_TUNED, SYSTEM),
    ("system CPU", ENGINE, URING_TUNED, SYSTEM),
    ("system CPU", ENGINE_16, URING_TUNED, SYSTEM),
];

/// A ratio that a line of what is owed stands for: line, ours, theirs, column.
type Ratio = (Due, &'static str, &'static str, &'static str);

const ON_FILE: &[Ratio] = &[
    (Due::FileRingRate, RING, URING, RATE),
    (Due::FileEngineRate, ENGINE, URING, RATE),
    (Due::FileEngineTunedRate, ENGINE, URING_TUNED, RATE),
    (Due::FileRingPeak, RING, PEAK, PROCESS),
    (Due::FileRingPeakSystem, RING, PEAK, SYSTEM),
    (Due::FileBothVerify, ENGINE, URING_VERIFIED, PROCESS),
    (Due::FileBothVerifySystem, ENGINE, URING_VERIFIED, SYSTEM),
    (Due::FileBothVerifyRate, ENGINE, URING_VERIFIED, RATE),
    (Due::FileNeitherVerifies, ENGINE_OFF, URING_TUNED, PROCESS),
    (Due::FileNeitherVerifiesSystem, ENGINE_OFF, URING_TUNED, SYSTEM),
    (Due::FileOursVerifies, ENGINE, URING_TUNED, PROCESS),
    (Due::FileOursVerifiesSystem, ENGINE, URING_TUNED, SYSTEM),
];
const ON_XFS: &[Ratio] = &[
    (Due::XfsRingRate, RING, URING, RATE),
    (Due::XfsRingSystem, RING, URING, SYSTEM),
    (Due::XfsEngineTunedRate, ENGINE, URING_TUNED, RATE),
];
const ON_ZRAM: &[Ratio] = &[
    (Due::ZramEngineOff, ENGINE_PREAD_OFF, PREAD, RATE),
    (Due::ZramPread, PREAD, PSYNC, PROCESS),
    (Due::ZramVerified, ENGINE_PREAD, ENGINE_PREAD_OFF, RATE),
];
const INSTRUCTIONS: &[(Due, &str)] = &[
    (Due::FileRingInstructions, RING),
    (Due::FileEngineInstructions, ENGINE),
    (Due::FileEngine16Instructions, ENGINE_16),
    (Due::FileEngineOffInstructions, ENGINE_OFF),
];

fn ratios(table: &mut Table, kind: Kind, found: &mut Found) {
    for (head, ours, theirs, key) in RATIOS {
        table.ratio(head, ours, theirs, key);
    }
    if kind == Kind::File {
        for (due, name) in INSTRUCTIONS {
            let stepped = table.figure(name, "stepped");
            found.see(*due, stepped.or_else(|| table.figure(name, "user_instr")));
        }
    }
    let due = match kind {
        Kind::File => ON_FILE,
        Kind::Xfs => ON_XFS,
        Kind::Zram => ON_ZRAM,
    };
    for (due, ours, theirs, key) in due {
        found.see(*due, table.over(ours, theirs, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fio_that_verifies_is_tuned_and_has_enough_to_read() {
        let fio = uring_verified(Path::new("/x/laid"), 1 << 30, 3.0);
        // Three million reads of 8 KiB are 22.9 GiB.
        assert_eq!((fio.times, fio.rw, fio.depth), (23, "randread", DEPTH));
        let given = |flag: &str| fio.more.iter().any(|one| one == flag);
        assert!(TUNED.iter().chain(VERIFIED).all(|flag| given(flag)), "{fio:?}");
    }
}
