//! Pools that were written here, in a machine that QEMU emulates: the kernel's module imports them, scrubs them, writes
//! to them, and leaves them whole. Opt-in (`ASSAY_TEST_GUEST`, see `guest/prepare`); needs root, loop devices, QEMU,
//! OpenZFS's library and tools.
//!
//! Prevents: a format that only its own writer reads.

use crate::guest::{Attached, Guest, run, text};
use std::path::PathBuf;
use targets::Op;
use zpool::{FileName, FileSpec, Launch, PoolSpec, Redundancy, Tuning, Zpool, ZpoolPort};

const POOL: &str = "assayguest";
const DISK_MIB: u64 = 192;
const RECORD: u64 = 8192;
/// Records of the file without compression.
const RECORDS: u64 = 2048;
/// Of them, written again after the last transaction group: they are in the intent log alone.
const LOGGED: u64 = 64;
const PACKED_RECORD: u64 = 128 << 10;
const PACKED: u64 = 64;

/// Bytes that tell which record and which version of it they are. Most of a large one can be compressed.
fn content(number: u64, version: u64, bytes: u64) -> Vec<u8> {
    let mut all = crate::rig::block(number, version);
    all.resize(bytes as usize, number as u8);
    all
}

/// A file of the pool through a port, with records of known content.
struct Records {
    port: ZpoolPort,
    bytes: u64,
}

impl Records {
    fn of(zpool: &Zpool, file: &str, bytes: u64) -> Records {
        let port = zpool.open(&[FileName::new(POOL, file)], 1 << 20, 4).unwrap();
        Records { port, bytes }
    }

    fn write(&mut self, number: u64, version: u64) {
        let bytes = content(number, version, self.bytes);
        crate::rig::write(&mut self.port, number * self.bytes, &bytes);
    }

    fn flush(&mut self) {
        crate::rig::op(&mut self.port, Op::Flush, 0, 0).unwrap();
    }

    fn expect(&mut self, number: u64, version: u64) {
        let found = crate::rig::read(&mut self.port, number * self.bytes, self.bytes as usize).unwrap();
        let same = found == content(number, version, self.bytes);
        assert!(same, "record {number} is not of version {version}");
    }
}

fn start() -> Zpool {
    let launch = Launch::program(env!("CARGO_BIN_EXE_assay-zpool").as_ref());
    Zpool::start(&launch, &Tuning::new(Tuning::ARC_LEAST)).unwrap()
}

fn file(zpool: &Zpool, name: &str, bytes: u64, record: u64, compression: &str) {
    let spec = FileSpec {
        name: FileName::new(POOL, name),
        bytes,
        record_bytes: record as u32,
        properties: vec![("compression".to_string(), compression.to_string())],
    };
    zpool.create_file(&spec).unwrap();
}

/// The version of a record when all is written.
fn last_version(number: u64) -> u64 {
    match number {
        number if number < LOGGED => 3,
        number if number % 2 == 1 => 2,
        _ => 1,
    }
}

/// A pool with parity and a log device: files of two kinds, half of one overwritten in scattered order. Exported.
fn write_pool(devices: &[PathBuf]) {
    let zpool = start();
    let spec = PoolSpec {
        name: POOL.to_string(),
        data: devices[..3].to_vec(),
        log: devices[3..].to_vec(),
        redundancy: Redundancy::Raidz1,
        ashift: 12,
        overwrite: false,
    };
    zpool.create(&spec).unwrap();
    file(&zpool, "records", RECORDS * RECORD, RECORD, "off");
    file(&zpool, "packed", PACKED * PACKED_RECORD, PACKED_RECORD, "lz4");
    let mut packed = Records::of(&zpool, "packed", PACKED_RECORD);
    (0..PACKED).for_each(|number| packed.write(number, 1));
    packed.flush();
    let mut records = Records::of(&zpool, "records", RECORD);
    (0..RECORDS).for_each(|number| records.write(number, 1));
    for nth in 0..RECORDS / 2 {
        // 1021 is a prime: each odd record once, far from the one before.
        records.write(nth * 1021 % (RECORDS / 2) * 2 + 1, 2);
        if nth % 256 == 0 {
            zpool.sync().unwrap();
        }
    }
    records.flush();
    drop((packed, records));
    zpool.export(POOL).unwrap();
}

/// What is acknowledged and then only in the intent log, for the process is killed.
fn write_log(devices: &[PathBuf]) {
    let zpool = start();
    zpool.import(POOL, devices).unwrap();
    zpool.freeze(POOL).unwrap();
    let mut records = Records::of(&zpool, "records", RECORD);
    (0..LOGGED).for_each(|number| records.write(number, 3));
    records.flush();
    zpool.kill();
}

/// Every block of the exported pool is referenced once and accounted for.
fn no_leak(guest: &Guest, devices: &[PathBuf]) {
    let links = guest.path("links");
    std::fs::create_dir_all(&links).unwrap();
    for (number, device) in devices.iter().enumerate() {
        let link = links.join(format!("disk{number}"));
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(device, link).unwrap();
    }
    let said = run("zdb", &["-e", "-p", text(&links), "-bcc", POOL]);
    assert!(said.contains("No leaks"), "{said}");
}

#[test]
fn what_was_written_in_user_space_is_imported_scrubbed_and_left_whole_by_the_kernel() {
    let Some(guest) = Guest::here() else { return };
    let disks: Vec<PathBuf> = (0..4).map(|nth| guest.disk(&format!("disk{nth}"), DISK_MIB)).collect();
    let devices = Attached::new(&disks);
    write_pool(&devices.0);
    no_leak(&guest, &devices.0);
    write_log(&devices.0);
    // The guest must not write beside what this machine remembers.
    drop(devices);

    let files = guest.path("files");
    std::fs::create_dir(&files).unwrap();
    let log = guest.boot("import", None, &files, &disks);
    let steps = ["up at", "imported", "scrubbed", "wrote and read", "exported"];
    crate::guest::expect(&log, &steps);

    let devices = Attached::new(&disks);
    no_leak(&guest, &devices.0);
    let zpool = start();
    let imported = zpool.import(POOL, &devices.0).unwrap();
    assert!(imported.replayed_records >= LOGGED, "{imported:?}");
    let mut records = Records::of(&zpool, "records", RECORD);
    (0..RECORDS).for_each(|number| records.expect(number, last_version(number)));
    let mut packed = Records::of(&zpool, "packed", PACKED_RECORD);
    (0..PACKED).for_each(|number| packed.expect(number, 1));
    drop((packed, records));
    zpool.export(POOL).unwrap();
    no_leak(&guest, &devices.0);
}
