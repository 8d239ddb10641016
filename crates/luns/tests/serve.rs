//! LUN files served through FUSE, with loop devices on them. Needs root and /dev/fuse.

use crate::machine::{DISK, Turn, turn};
use luns::model::{Latency, Volume, VolumeParameters};
use luns::serve::{Reduced, ReductionSpec, ServeOptions, Served};
use luns::{attach_served, detach};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;
use targets::Memory;

const MIB: u64 = 1 << 20;
const DIRECT: i32 = 0o40000;
/// O_DSYNC: block devices make FUA of it.
const SYNCHRONOUS: i32 = 0o10000;

/// A LUN file that is served, and a loop device on it; both are taken down however the test ends.
struct Bench {
    served: Option<Served>,
    number: Option<u32>,
    device: PathBuf,
    sector_bytes: u32,
    dir: tempfile::TempDir,
    _turn: File,
}

impl Bench {
    fn new(model: Option<Volume>, volatile_bytes: u64) -> Option<Bench> {
        Bench::reducing(model, volatile_bytes, None)
    }

    fn reducing(model: Option<Volume>, volatile_bytes: u64, reduction: Option<ReductionSpec>) -> Option<Bench> {
        let able = rustix::process::geteuid().is_root()
            && Path::new("/dev/loop-control").exists()
            && Path::new("/dev/fuse").exists();
        if !able {
            eprintln!("skipped: needs root, /dev/loop-control and /dev/fuse");
            return None;
        }
        let turn = turn(Turn::Alone);
        let dir = tempfile::tempdir_in(DISK).unwrap();
        let lun = dir.path().join("lun");
        std::fs::write(&lun, vec![0xee; 16 * MIB as usize]).unwrap();
        File::open(&lun).unwrap().sync_all().unwrap();
        let place = dir.path().join("served");
        std::fs::create_dir(&place).unwrap();
        let served = Served::start(ServeOptions {
            luns: vec![lun],
            place,
            model: model.map(|m| Box::new(m) as _),
            volatile_bytes,
            cached: reduction.is_some(),
            reduction,
            threads: 2,
        })
        .unwrap();
        let device = attach_served(&served.path(0)).unwrap();
        Some(Bench {
            served: Some(served),
            number: Some(device.number),
            device: device.path,
            sector_bytes: device.logical_block,
            dir,
            _turn: turn,
        })
    }

    fn served(&self) -> &Served {
        self.served.as_ref().unwrap()
    }

    fn open(&self) -> File {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(DIRECT)
            .open(&self.device)
            .unwrap()
    }

    /// What the LUN file itself holds.
    fn below(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        File::open(self.dir.path().join("lun"))
            .unwrap()
            .read_exact_at(&mut bytes, offset)
            .unwrap();
        bytes
    }

    fn down(&mut self) {
        if let Some(number) = self.number.take() {
            detach(number).unwrap();
        }
        if let Some(served) = self.served.take() {
            served.stop().unwrap();
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            let _ = detach(number);
        }
    }
}

fn page(of: u8) -> Memory {
    let mut page = Memory::new(8192, false).unwrap();
    page.bytes_mut(0, 8192).fill(of);
    page
}

fn write(file: &File, nth: u64, of: u8) {
    file.write_all_at(page(of).bytes(0, 8192), nth * 8192).unwrap();
}

fn read(file: &File, nth: u64) -> u8 {
    let mut seen = page(0);
    file.read_exact_at(seen.bytes_mut(0, 8192), nth * 8192).unwrap();
    let bytes = seen.bytes(0, 8192);
    assert!(bytes.iter().all(|b| *b == bytes[0]), "page {nth} is torn");
    bytes[0]
}

#[test]
fn what_is_written_is_read_and_lies_in_the_lun_file() {
    let Some(mut bench) = Bench::new(None, 0) else {
        return;
    };
    let file = bench.open();
    for nth in 0..200 {
        write(&file, nth * 7 % 2048, nth as u8);
    }
    for nth in 0..200 {
        assert_eq!(read(&file, nth * 7 % 2048), nth as u8);
    }
    assert_eq!(read(&file, 2047), 0xee);
    let before = bench.served().flushes();
    file.sync_all().unwrap();
    assert!(bench.served().flushes() > before, "a flush passes loop device and FUSE");
    drop(file);
    bench.down();
    assert_eq!(bench.below(7 * 8192, 8192), [1; 8192]);
}

#[test]
fn a_write_with_fua_is_below_when_it_is_done() {
    let Some(mut bench) = Bench::new(None, 64 * MIB) else {
        return;
    };
    let queue = |key: &str| {
        let number = bench.number.unwrap();
        let told = std::fs::read_to_string(format!("/sys/block/loop{number}/queue/{key}")).unwrap();
        told.trim().to_string()
    };
    // The device says that it has a cache and takes no FUA: the kernel makes a write and a flush of it.
    assert_eq!(
        (queue("write_cache").as_str(), queue("fua").as_str()),
        ("write back", "0")
    );
    let plain = bench.open();
    write(&plain, 3, 7);
    assert_eq!(
        bench.served().unflushed_bytes(),
        8192,
        "a write alone lies in the cache"
    );
    let through = OpenOptions::new()
        .write(true)
        .custom_flags(DIRECT | SYNCHRONOUS)
        .open(&bench.device)
        .unwrap();
    let before = bench.served().flushes();
    write(&through, 5, 9);
    assert!(
        bench.served().flushes() > before,
        "the kernel sends a flush after it, and some kernels one more"
    );
    assert_eq!(bench.served().unflushed_bytes(), 0);
    assert_eq!(bench.below(5 * 8192, 8192), [9; 8192]);
    let (_, lost) = bench.served().cut_power(11, bench.sector_bytes).unwrap();
    assert_eq!(lost, 0);
    bench.served().restore_power();
    assert_eq!(read(&plain, 5), 9);
    drop((plain, through));
    bench.down();
}

#[test]
fn what_an_array_would_keep_is_counted_by_content() {
    let spec = ReductionSpec {
        unit_bytes: 8192,
        granule_bytes: 512,
        from_lun: 0,
        deduplicates: true,
    };
    let Some(mut bench) = Bench::reducing(None, 0, Some(spec)) else {
        return;
    };
    let file = bench.open();
    let reduced = |bench: &Bench| bench.served().reduced().expect("it is counted");
    assert_eq!(reduced(&bench), Reduced::default(), "what was there before is not ours");
    // A page of one byte compresses to a sector; eight contents, each in ten places.
    for nth in 0..80 {
        write(&file, nth, (nth % 8) as u8);
    }
    let both = |bench: &Bench| (reduced(bench).asked_bytes, reduced(bench).stored_bytes);
    assert_eq!(both(&bench), (80 * 8192, 8 * 512));
    assert_eq!(reduced(&bench).distinct_bytes, 8 * 8192);
    // Half of a unit is written: the other half is what lies there.
    let mut half = Memory::new(4096, false).unwrap();
    half.bytes_mut(0, 4096).fill(0);
    file.write_all_at(half.bytes(0, 4096), 8192).unwrap();
    assert_eq!(both(&bench), (80 * 8192, 9 * 512), "one more content, no more units");
    for nth in 0..80 {
        write(&file, nth, 3);
    }
    assert_eq!(both(&bench), (80 * 8192, 512));
    drop(file);
    bench.down();
}

#[test]
fn a_power_cut_keeps_what_was_flushed_and_loses_of_the_rest() {
    let Some(mut bench) = Bench::new(None, 64 * MIB) else {
        return;
    };
    let file = bench.open();
    for nth in 0..100 {
        write(&file, nth, 1);
    }
    file.sync_all().unwrap();
    assert_eq!(bench.served().unflushed_bytes(), 0);
    for nth in 0..100 {
        write(&file, nth + 50, 2);
    }
    assert_eq!(bench.below(60 * 8192, 8192), [1; 8192], "not yet in the file");
    assert_eq!(read(&file, 60), 2, "and read all the same");
    assert_eq!(bench.served().unflushed_bytes(), 100 * 8192);
    let (held, lost) = bench.served().cut_power(3, bench.sector_bytes).unwrap();
    assert_eq!(held, 100 * 8192);
    assert!(lost > held / 5 && lost < held * 4 / 5, "{lost} of {held}");
    assert!(
        file.read_exact_at(page(0).bytes_mut(0, 8192), 0).is_err(),
        "no power, no answer"
    );
    assert!(file.write_all_at(page(0).bytes(0, 8192), 0).is_err());
    bench.served().restore_power();
    let mut seen = [0usize; 3];
    for nth in 0..150u64 {
        let mut bytes = page(0);
        file.read_exact_at(bytes.bytes_mut(0, 8192), nth * 8192).unwrap();
        let sectors: Vec<u8> = bytes.bytes(0, 8192).chunks(512).map(|s| s[0]).collect();
        let new = sectors.iter().filter(|s| **s == 2).count();
        let old = if nth < 100 { 1 } else { 0xee };
        assert!(sectors.iter().all(|s| *s == 2 || *s == old), "page {nth}: {sectors:?}");
        let mut whole = sectors.chunks(bench.sector_bytes as usize / 512);
        assert!(
            whole.all(|s| s.iter().all(|part| *part == s[0])),
            "page {nth} is torn in a sector: {sectors:?}"
        );
        if nth < 50 {
            assert_eq!(new, 0, "page {nth} was flushed");
        } else {
            seen[usize::from(new > 0) + usize::from(new == 16)] += 1;
        }
    }
    assert!(seen.iter().all(|n| *n > 5), "lost, torn and whole: {seen:?}");
    drop(file);
    bench.down();
}

#[test]
fn answers_wait_until_the_model_says_at_any_pace() {
    let parameters = VolumeParameters {
        requests: Vec::new(),
        bytes: Vec::new(),
        request_bytes: 256 << 10,
        read: Latency::constant(20_000_000),
        write: Latency::constant(1_000_000),
    };
    let Some(mut bench) = Bench::new(Some(Volume::new(parameters, 1)), 0) else {
        return;
    };
    let file = bench.open();
    let before = bench.served().counters();
    let start = Instant::now();
    for nth in 0..20 {
        read(&file, nth);
    }
    let elapsed = start.elapsed();
    let after = bench.served().counters();
    assert!(elapsed.as_millis() >= 400, "{elapsed:?}");
    assert_eq!(after.reads - before.reads, 20);
    assert_eq!(after.read_bytes - before.read_bytes, 20 * 8192);
    let punctuality = bench.served().punctuality();
    assert!(punctuality.answered >= 20, "{punctuality:?}");
    assert_eq!(bench.served().slower(), 1);
    bench.served().run_slower(5);
    assert_eq!(bench.served().slower(), 5);
    assert!(
        bench.served().counters().busy_ns >= after.busy_ns,
        "what it has counted stays"
    );
    let start = Instant::now();
    for nth in 0..4 {
        read(&file, nth);
    }
    assert!(start.elapsed().as_millis() >= 399, "each takes a tenth of a second");
    drop(file);
    bench.down();
}

#[test]
fn a_place_that_is_missing_or_a_lun_that_is_none_is_refused() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let options = |lun: &Path, place: &Path| ServeOptions {
        luns: vec![lun.to_path_buf()],
        place: place.to_path_buf(),
        model: None,
        volatile_bytes: 0,
        cached: false,
        reduction: None,
        threads: 1,
    };
    let missing = dir.path().join("missing");
    let error = Served::start(options(&missing, dir.path())).err().unwrap().to_string();
    assert!(
        error.contains("missing") && error.contains("make the LUN file first"),
        "{error}"
    );
    let lun = dir.path().join("lun");
    std::fs::write(&lun, vec![0; 8192]).unwrap();
    let error = Served::start(options(&lun, &missing)).err().unwrap().to_string();
    assert!(error.contains("empty directory"), "{error}");
    std::fs::write(&lun, vec![0; 1000]).unwrap();
    assert!(
        Served::start(options(&lun, &missing))
            .err()
            .unwrap()
            .to_string()
            .contains("1000")
    );
}
