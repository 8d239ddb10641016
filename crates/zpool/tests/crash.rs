//! The server process is killed in the middle of updates: what was acknowledged is there after the import, or the loss
//! is seen.

use crate::rig::{Rig, block};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use targets::{FileId, Op, Port, Request};
use zpool::{FileName, Redundancy, Zpool, ZpoolPort};

const BLOCK: u64 = 8192;
const BLOCKS: u64 = 1024;
/// Writes between two flushes.
const BATCH: u64 = 8;

/// What each block must hold: the version that was flushed, and the one that may have come since.
struct Books {
    durable: Vec<u64>,
    written: Vec<u64>,
}

fn submit(port: &mut ZpoolPort, op: Op, offset: u64, at: u64) -> bool {
    let request = Request {
        op,
        file: FileId(0),
        offset,
        at,
        len: BLOCK as u32,
        token: offset,
    };
    port.submit(request).is_ok()
}

/// Waits for so many completions; false when the server has gone or a request failed.
fn ended(port: &mut ZpoolPort, count: usize) -> bool {
    let mut done = Vec::new();
    port.wait(count, None, &mut done).is_ok() && done.len() == count && done.iter().all(|c| c.result.is_ok())
}

/// Batches of writes, each followed by a flush, until the server has gone or so many are done; `begun` is set with the
/// first that is durable.
fn update(port: &mut ZpoolPort, batches: u64, seed: u64, begun: &AtomicBool) -> Books {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut books = Books {
        durable: vec![0; BLOCKS as usize],
        written: vec![0; BLOCKS as usize],
    };
    for version in 1..=batches {
        let first = random.next_u64() % BLOCKS;
        let chosen: Vec<u64> = (0..BATCH).map(|nth| (first + nth * 131) % BLOCKS).collect();
        for (nth, number) in chosen.iter().enumerate() {
            let at = nth as u64 * BLOCK;
            port.bytes_mut(at, BLOCK as usize)
                .copy_from_slice(&block(*number, version));
            books.written[*number as usize] = version;
            assert!(submit(port, Op::Write, number * BLOCK, at));
        }
        if !ended(port, chosen.len()) || !submit(port, Op::Flush, 0, 0) || !ended(port, 1) {
            break;
        }
        chosen
            .iter()
            .for_each(|number| books.durable[*number as usize] = version);
        begun.store(true, Ordering::SeqCst);
    }
    books
}

/// Blocks that hold less than was acknowledged, and blocks that hold what nobody wrote.
fn judged(zpool: &Zpool, name: &FileName, books: &Books) -> (u64, u64) {
    let mut port = zpool.open(std::slice::from_ref(name), 1 << 20, 16).unwrap();
    let (mut lost, mut foreign) = (0, 0);
    for number in 0..BLOCKS {
        let found = crate::rig::read(&mut port, number * BLOCK, BLOCK as usize).unwrap();
        let (durable, written) = (books.durable[number as usize], books.written[number as usize]);
        let holds = |version: u64| match version {
            0 => found.iter().all(|byte| *byte == 0),
            _ => found == block(number, version),
        };
        if !holds(durable) && !holds(written) {
            let older = (0..durable).any(holds);
            lost += u64::from(older);
            foreign += u64::from(!older);
        }
    }
    (lost, foreign)
}

struct Case {
    name: &'static str,
    record: u32,
    properties: &'static [(&'static str, &'static str)],
    log_device: bool,
    /// No transaction group is written after the file is made: the log alone carries the updates.
    frozen: bool,
}

/// Updates, a kill, an import: what was lost, what is foreign, how many records were replayed.
fn crash(rig: &Rig, case: &Case, seed: u64) -> (u64, u64, u64) {
    let zpool = rig.start();
    let mut spec = rig.spec(Redundancy::Stripe);
    spec.overwrite = true;
    if case.log_device {
        spec.log = vec![rig.log.clone()];
    }
    zpool.create(&spec).unwrap();
    let name = rig.file(&zpool, "data", BLOCKS * BLOCK, case.record, case.properties);
    let mut port = zpool.open(std::slice::from_ref(&name), 1 << 20, 16).unwrap();
    // The first flush anchors the log's chain on the devices.
    crate::rig::write(&mut port, 0, &vec![0; BLOCK as usize]);
    crate::rig::op(&mut port, Op::Flush, 0, 0).unwrap();
    zpool.sync().unwrap();
    let books = if case.frozen {
        zpool.freeze("assayt").unwrap();
        let books = update(&mut port, 40, seed, &AtomicBool::new(false));
        zpool.kill();
        books
    } else {
        let killer = zpool.clone();
        let after = Duration::from_millis(20 + seed * 37 % 400);
        let begun = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let begun = &begun;
            scope.spawn(move || {
                // A slow disk may take longer than that for its first flush; one that never ends it ends the updates.
                while !begun.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(after);
                killer.kill();
            });
            let books = update(&mut port, u64::MAX, seed, begun);
            begun.store(true, Ordering::SeqCst);
            books
        })
    };
    assert!(
        books.durable.iter().any(|version| *version > 0),
        "{}: killed before anything was acknowledged",
        case.name
    );
    let gone = zpool.count().unwrap_err().to_string();
    assert!(gone.contains("SIGKILL"), "{gone}");
    drop(port);
    drop(zpool);
    let zpool = rig.start();
    let devices = if case.log_device {
        rig.devices()
    } else {
        rig.data.clone()
    };
    let imported = zpool.import("assayt", &devices).unwrap();
    let (lost, foreign) = judged(&zpool, &name, &books);
    zpool.export("assayt").unwrap();
    (lost, foreign, imported.replayed_records)
}

const STANDARD: Case = Case {
    name: "standard",
    record: 8192,
    properties: &[],
    log_device: false,
    frozen: true,
};

#[test]
fn every_acknowledged_write_is_there_after_the_kill() {
    let Some(rig) = Rig::new(2) else { return };
    let cases = [
        STANDARD,
        Case {
            name: "by pointer",
            properties: &[("logbias", "throughput")],
            ..STANDARD
        },
        // Pages smaller than the record: the log points to whole records.
        Case {
            name: "parts of records by pointer",
            record: 131_072,
            properties: &[("logbias", "throughput")],
            ..STANDARD
        },
        Case {
            name: "compressed",
            record: 131_072,
            properties: &[("compression", "lz4")],
            ..STANDARD
        },
        Case {
            name: "log device",
            log_device: true,
            ..STANDARD
        },
        Case {
            name: "sync=always",
            properties: &[("sync", "always")],
            ..STANDARD
        },
        Case {
            name: "at any moment",
            frozen: false,
            ..STANDARD
        },
        Case {
            name: "at any moment, log device",
            frozen: false,
            log_device: true,
            ..STANDARD
        },
    ];
    let rounds = if std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full") {
        25
    } else {
        1
    };
    for case in &cases {
        for round in 0..rounds {
            let (lost, foreign, replayed) = crash(&rig, case, 11 + round);
            assert_eq!(
                (lost, foreign),
                (0, 0),
                "{}: blocks lost, foreign; {replayed} records replayed",
                case.name
            );
            assert!(
                !case.frozen || replayed > 0,
                "{}: nothing was replayed, so nothing was tried",
                case.name
            );
        }
    }
    no_leaks(&rig);
}

#[test]
fn without_sync_the_loss_is_seen() {
    let Some(rig) = Rig::new(2) else { return };
    let case = Case {
        name: "sync=disabled",
        properties: &[("sync", "disabled")],
        ..STANDARD
    };
    let (lost, foreign, replayed) = crash(&rig, &case, 5);
    assert!(
        lost > 0 && foreign == 0 && replayed == 0,
        "{lost} lost, {foreign} foreign, {replayed} replayed"
    );
}

/// `zdb` walks the exported pool: every block is referenced once and accounted for.
fn no_leaks(rig: &Rig) {
    let dir = rig.data[0].parent().unwrap();
    let zdb = ["/usr/sbin/zdb", "/sbin/zdb"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    let Some(zdb) = zdb else {
        eprintln!("SKIPPED: zdb is not installed (Debian: zfsutils-linux)");
        return;
    };
    let out = Command::new(zdb)
        .args(["-e", "-bcc", "-p"])
        .arg(dir)
        .arg("assayt")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("No leaks"), "{said}");
}

#[test]
fn an_abort_in_the_library_is_an_error_here() {
    let Some(rig) = Rig::new(1) else { return };
    let zpool = rig.start();
    zpool.create(&rig.spec(Redundancy::Stripe)).unwrap();
    let name = rig.file(&zpool, "data", 1 << 20, 8192, &[]);
    let mut port = zpool.open(std::slice::from_ref(&name), 1 << 20, 4).unwrap();
    // Every write of the only device fails: the pool stops, and with it the process.
    let fault = zpool::DeviceFault {
        device: None,
        op: zpool::DeviceOp::Write,
        after: 0,
        times: u64::MAX,
        done: zpool::FaultDone::Error(5),
    };
    zpool.plant(&fault).unwrap();
    crate::rig::write(&mut port, 0, &block(0, 1));
    assert!(submit(&mut port, Op::Flush, 0, 0));
    let error = port.wait(1, None, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("pool `assayt` has stopped: a device failed"), "{error}");
}
