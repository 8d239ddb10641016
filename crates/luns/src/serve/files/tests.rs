//! What lies over LUN files: by many threads at a time and through power cuts, against what each of them was told.

use super::*;
use crate::serve::faults::{LunFault, Wrong};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::{Duration, Instant};

const SECTOR: usize = SECTOR_BYTES as usize;
const PAGE: usize = 8192;
const PAGES: usize = 16;
const SECTORS: usize = PAGES * PAGE / SECTOR;
const PER_PAGE: usize = PAGE / SECTOR;

fn files(dir: &tempfile::TempDir, volatile_bytes: u64) -> Files {
    let lun = dir.path().join("lun");
    std::fs::write(&lun, vec![0; PAGES * PAGE]).unwrap();
    Files::open(&[lun], volatile_bytes, true).unwrap()
}

fn read(files: &Files, offset: usize, len: usize) -> Result<Vec<u8>, Errno> {
    let mut buffer = files.buffer()?;
    let at = files.read(0, offset as u64, len, &mut buffer)?;
    let bytes = buffer.bytes(at as u64, len).to_vec();
    files.give_back(buffer);
    Ok(bytes)
}

/// Versions of the sectors of what was read; each is of one write.
fn versions(bytes: &[u8]) -> Vec<u64> {
    let of = |sector: &[u8]| {
        let words: Vec<u64> = sector
            .chunks(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        assert!(words.iter().all(|word| *word == words[0]), "a sector of two writes");
        words[0]
    };
    bytes.chunks(SECTOR).map(of).collect()
}

/// What was told, by sector: the last version that somebody wanted to write, the last that was acknowledged, the last
/// under a flush.
struct Told {
    issued: Vec<AtomicU64>,
    acknowledged: Vec<AtomicU64>,
    durable: Mutex<Vec<u64>>,
    flushed: AtomicU64,
}

impl Told {
    fn writes(&self, files: &Files, mut rng: Xoshiro256PlusPlus, half: usize, from: u64) {
        for version in from.. {
            let page = rng.next_u64() as usize % (PAGES / 2) * 2 + half;
            let first = rng.next_u64() as usize % PER_PAGE;
            let count = 1 + rng.next_u64() as usize % (PER_PAGE - first);
            let sectors = page * PER_PAGE + first..page * PER_PAGE + first + count;
            for sector in sectors.clone() {
                self.issued[sector].store(version, Ordering::SeqCst);
            }
            let bytes = version.to_le_bytes().repeat(count * SECTOR / 8);
            if files.write(0, (sectors.start * SECTOR) as u64, &bytes).is_err() {
                return;
            }
            for sector in sectors {
                self.acknowledged[sector].store(version, Ordering::SeqCst);
            }
            // So that flushes come between.
            std::thread::sleep(Duration::from_micros(rng.next_u64() % 20));
        }
    }

    fn reads(&self, files: &Files, mut rng: Xoshiro256PlusPlus) {
        loop {
            let page = rng.next_u64() as usize % PAGES;
            let of = |told: &[AtomicU64]| -> Vec<u64> {
                let sectors = &told[page * PER_PAGE..(page + 1) * PER_PAGE];
                sectors.iter().map(|v| v.load(Ordering::SeqCst)).collect()
            };
            let least = of(&self.acknowledged);
            let Ok(bytes) = read(files, page * PAGE, PAGE) else {
                return;
            };
            // What was being lost while it was read is nobody's.
            if files.alive().is_err() {
                return;
            }
            let most = of(&self.issued);
            for (nth, seen) in versions(&bytes).into_iter().enumerate() {
                assert!(
                    (least[nth]..=most[nth]).contains(&seen),
                    "page {page} sector {nth}: {seen} where {} to {} is due",
                    least[nth],
                    most[nth]
                );
            }
        }
    }

    fn flushes(&self, files: &Files, mut rng: Xoshiro256PlusPlus) {
        loop {
            std::thread::sleep(Duration::from_micros(rng.next_u64() % 1_000));
            let before: Vec<u64> = self.acknowledged.iter().map(|v| v.load(Ordering::SeqCst)).collect();
            if files.flush(0).is_err() {
                return;
            }
            self.flushed.fetch_add(1, Ordering::Relaxed);
            for (durable, before) in locked(&self.durable).iter_mut().zip(before) {
                *durable = before.max(*durable);
            }
        }
    }
}

#[test]
fn reads_see_what_was_acknowledged_and_a_cut_spares_what_was_flushed() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let files = files(&dir, 6 * PAGE as u64);
    let zeros = || (0..SECTORS).map(|_| AtomicU64::new(0)).collect();
    let told = Told {
        issued: zeros(),
        acknowledged: zeros(),
        durable: Mutex::new(vec![0; SECTORS]),
        flushed: AtomicU64::new(0),
    };
    let (mut held, mut lost) = (0, 0);
    for round in 0..40u64 {
        let rng = |nth: u64| Xoshiro256PlusPlus::seed_from_u64(round << 8 | nth);
        std::thread::scope(|scope| {
            for half in 0..2 {
                let (told, files) = (&told, &files);
                scope.spawn(move || told.writes(files, rng(half), half as usize, (round + 1) << 32));
            }
            for nth in 2..4 {
                let (told, files) = (&told, &files);
                scope.spawn(move || told.reads(files, rng(nth)));
            }
            scope.spawn(|| told.flushes(&files, rng(5)));
            std::thread::sleep(Duration::from_micros(500 + rng(4).next_u64() % 4_000));
            // A busy machine may let nobody flush in so short a time: the first round goes on until somebody did.
            let until = Instant::now() + Duration::from_secs(20);
            while round == 0 && told.flushed.load(Ordering::Relaxed) == 0 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            files.stop_power();
        });
        let of_cut = files.lose(round, 512).unwrap();
        (held, lost) = (held + of_cut.0, lost + of_cut.1);
        files.restore_power();
        let mut durable = locked(&told.durable);
        let seen = versions(&read(&files, 0, PAGES * PAGE).unwrap());
        for (sector, seen) in seen.into_iter().enumerate() {
            let most = told.issued[sector].load(Ordering::SeqCst);
            assert!(
                (durable[sector]..=most).contains(&seen),
                "cut {round}, sector {sector}: {seen} where {} was flushed and {most} was the last",
                durable[sector]
            );
            // What survived is there for good.
            told.issued[sector].store(seen, Ordering::SeqCst);
            told.acknowledged[sector].store(seen, Ordering::SeqCst);
            durable[sector] = seen;
        }
    }
    assert!(lost > 0 && lost < held, "{lost} of {held}");
    assert!(told.flushed.into_inner() > 0);
}

#[test]
fn a_write_on_its_way_home_holds_up_neither_reads_nor_writes() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let files = files(&dir, 1 << 20);
    files.write(0, 0, &[1; PAGE]).unwrap();
    let _going = locked(&files.luns[0].homeward);
    files.write(0, PAGE as u64, &[2; PAGE]).unwrap();
    assert_eq!(read(&files, 0, PAGE).unwrap(), [1; PAGE]);
    assert_eq!(read(&files, PAGE, PAGE).unwrap(), [2; PAGE]);
}

#[test]
fn what_could_not_be_stored_is_told_and_kept() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut files = files(&dir, 2 * PAGE as u64);
    files.write(0, 0, &[1; PAGE]).unwrap();
    let path = files.luns[0].path.clone();
    let read_only = rustix::fs::open(&path, OFlags::RDONLY, Mode::empty()).unwrap();
    let good = std::mem::replace(&mut files.luns[0].fd, read_only);
    assert!(files.flush(0).is_err());
    files.write(0, PAGE as u64, &[2; PAGE]).unwrap();
    assert!(files.write(0, 2 * PAGE as u64, &[3; PAGE]).is_err(), "no room is made");
    assert_eq!(files.unflushed_bytes(), 2 * PAGE as u64);
    assert_eq!(read(&files, 0, PAGE).unwrap(), [1; PAGE]);
    files.luns[0].fd = good;
    files.flush(0).unwrap();
    let below = std::fs::read(path).unwrap();
    assert_eq!((below[0], below[PAGE], below[2 * PAGE]), (1, 2, 0));
}

#[test]
fn a_flush_of_what_lies_in_a_range_that_fails_by_now_fails_and_keeps_it() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let files = files(&dir, 1 << 20);
    files.write(0, 0, &[1; PAGE]).unwrap();
    files.write(0, 2 * PAGE as u64, &[2; PAGE]).unwrap();
    let wrong = Wrong::Error(2 * PAGE as u64 + 512, 512);
    files.faults.set(vec![LunFault { lun: 0, wrong }]);
    assert!(files.flush(0).is_err());
    assert_eq!(files.unflushed_bytes(), PAGE as u64, "what lies elsewhere is home");
    files.faults.set(Vec::new());
    files.flush(0).unwrap();
    assert_eq!(std::fs::read(&files.luns[0].path).unwrap()[2 * PAGE], 2);
}

#[test]
fn a_flush_that_a_cut_came_into_is_never_acknowledged() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let files = files(&dir, 1 << 20);
    files.write(0, 0, &[1; PAGE]).unwrap();
    let going = locked(&files.luns[0].homeward);
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| files.flush(0));
        while files.flushes() == 0 {
            std::thread::yield_now();
        }
        // As if the flush had slept through all of it.
        files.power.fetch_or(1, Ordering::SeqCst);
        locked(&files.luns[0].unflushed).cut(1, 512);
        files.restore_power();
        drop(going);
        assert!(flush.join().unwrap().is_err());
    });
    files.write(0, 0, &[2; PAGE]).unwrap();
    files.flush(0).unwrap();
}

#[test]
fn what_a_cut_leaves_is_counted_by_an_array_that_reduces() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let spec = ReductionSpec {
        unit_bytes: PAGE as u32,
        granule_bytes: SECTOR as u32,
        from_lun: 0,
        deduplicates: true,
    };
    let files = files(&dir, 1 << 20).with_reduction(Some(spec));
    for nth in 0..PAGES as u64 {
        files.write(0, nth * PAGE as u64, &[1; PAGE]).unwrap();
    }
    files.stop_power();
    let (held, lost) = files.lose(1, PAGE as u32).unwrap();
    assert!(held > lost);
    // A page of one byte compresses to a sector, and all of them are one.
    let reduced = files.reduced().expect("it is counted");
    assert_eq!((reduced.asked_bytes, reduced.stored_bytes), (held - lost, SECTOR_BYTES));
}

#[test]
fn what_a_cut_leaves_is_written_by_offset_the_later_over_the_earlier() {
    let piece = |offset, of: u8, sectors: usize| Piece {
        lun: 0,
        offset,
        bytes: vec![of; sectors * SECTOR].into(),
    };
    let runs = runs(&[
        piece(4096, 1, 4),
        piece(512, 2, 1),
        piece(4608, 3, 1),
        piece(6144, 4, 1),
    ]);
    let shown: Vec<(u64, Vec<u8>)> = runs
        .iter()
        .map(|(from, run)| (*from, run.chunks(SECTOR).map(|s| s[0]).collect()))
        .collect();
    assert_eq!(shown, [(512, vec![2]), (4096, vec![1, 3, 1, 1, 4])]);
}

#[test]
fn what_an_array_keeps_is_what_lies_there_whoever_wrote_it_last() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let spec = ReductionSpec {
        unit_bytes: (4 * PAGE) as u32,
        granule_bytes: 512,
        from_lun: 0,
        deduplicates: false,
    };
    let files = files(&dir, 0).with_reduction(Some(spec));
    let page = |seed: u64| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut page = vec![0; PAGE];
        let random = rng.next_u64() as usize % PAGE;
        rng.fill_bytes(&mut page[..random]);
        page
    };
    for round in 0..200 {
        // Four pages of one unit at a time.
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (files, page) = (&files, &page);
                scope.spawn(move || files.write(0, thread * PAGE as u64, &page(round * 4 + thread)).unwrap());
            }
        });
        let due = Reduction::new(spec);
        due.write(0, 0, &read(&files, 0, 4 * PAGE).unwrap());
        assert_eq!(files.reduced(), Some(due.reduced()), "round {round}");
    }
}

#[test]
fn what_cannot_be_written_out_before_a_phase_is_said_whatever_the_size_of_the_set() {
    let dir = tempfile::tempdir().unwrap();
    let luns = ["a", "b"].map(|name| dir.path().join(name));
    luns.iter().for_each(|lun| std::fs::write(lun, vec![0; PAGE]).unwrap());
    let mut files = Files::open(&luns, 0, true).unwrap();
    let sizes = [0, 2 * PAGE as u64];
    for most_bytes in sizes {
        files.warm(most_bytes).unwrap();
    }
    // It is read as empty, and refuses to be written out.
    files.luns[1].fd = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()).unwrap();
    for most_bytes in sizes {
        let said = files.warm(most_bytes).unwrap_err().to_string();
        assert!(said.contains(&luns[1].display().to_string()), "{most_bytes}: {said}");
    }
    files.cached = false;
    files.warm(u64::MAX).unwrap();
}

#[test]
fn what_cannot_be_read_before_a_phase_is_said_of_a_set_that_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = files(&dir, 0);
    // A directory is written out, and not read.
    files.luns[0].fd = rustix::fs::open(dir.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    files.warm((PAGES * PAGE) as u64 - 1).unwrap();
    assert!(files.warm((PAGES * PAGE) as u64).is_err());
}
