//! No allocation while users work: as many for many operations as for few. And hundreds of threads hold one set of
//! histograms, not one each.
//!
//! Prevents: a client whose own memory management is measured as the server's time, or as the file system's.
#![allow(unsafe_code)]

use crate::server::{Server, Spoiled};
use files::{CLASS_COUNT, Class, Config, LocalDirectory, Mix, Place, Serving, Sizes, Work};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use workloads::Pacing;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Bytes of the counts of one histogram of latencies, and of what is poured into it: 33 powers of two, 1,024 counts of
/// 8 bytes in each.
const HISTOGRAM: Range<usize> = 256 << 10..272 << 10;

/// Pieces of this size that all threads hold, and the most of them at once.
static HELD: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

fn held(size: usize, change: i64) {
    if HISTOGRAM.contains(&size) {
        let now = HELD.fetch_add(change, Ordering::Relaxed) + change;
        MOST.fetch_max(now, Ordering::Relaxed);
    }
}

/// Counts the allocations of each thread, and histograms.
struct Counting;

// SAFETY: everything is handed on to the system's allocator; a thread-local number needs no memory of the heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        held(layout.size(), 1);
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    /// As the system does it: the room of each thread is 1 MiB, which nobody should write for nothing.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        held(layout.size(), 1);
        // SAFETY: as our caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        held(layout.size(), -1);
        // SAFETY: as our caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        held(layout.size(), -1);
        held(size, 1);
        // SAFETY: as our caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_longer_phase_allocates_no_more() {
    let config = Config {
        sizes: Sizes::new(&[(4, 50), (20, 50)]).unwrap(),
        accessed_pct: 100,
        stable_pct: 10,
        ..Config::sfs97(16, 9, 1)
    };
    let server = Server::start();
    let mut serving = Serving::begin(config, Place::Nfs3(server.place(3))).unwrap();
    serving.grow_to(512 << 10, true).unwrap();
    server.spoil(Spoiled::Nothing);
    let mut allocations = |each| {
        let mut pacing = Pacing::closed(16, 60_000_000_000);
        pacing.stop.operations_per_session = Some(each);
        let before = ALLOCATIONS.with(Cell::get);
        let point = serving.run(&pacing, 5).unwrap();
        assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
        ALLOCATIONS.with(Cell::get) - before
    };
    allocations(300);
    let (few, many) = (allocations(50), allocations(500));
    assert!(few > 0, "the loop takes its memory before it begins");
    assert_eq!(few, many);
}

/// Once each of 256 threads had 32 histograms of its own, whatever its mix: 2.2 GB at the end of a point.
#[test]
fn hundreds_of_threads_hold_one_set_of_histograms() {
    const THREADS: u32 = 256;
    const EACH: u64 = 40;
    // The crew's and the outcome's are 32 each. Tests beside this one hold some too.
    const MOST_HELD: i64 = 8 * THREADS as i64;
    let mix = Mix::new(&[(Class::Lookup, 50), (Class::Getattr, 30), (Class::Read, 20)]).unwrap();
    let config = Config {
        work: Work::Mix(mix),
        sizes: Sizes::one(4).unwrap(),
        accessed_pct: 100,
        ..Config::sfs97(THREADS, 9, 1)
    };
    let directory = tempfile::tempdir().unwrap();
    let place = Place::Posix(LocalDirectory {
        directory: std::fs::File::open(directory.path()).unwrap().into(),
        direct: false,
        threads: THREADS,
    });
    let mut serving = Serving::begin(config, place).unwrap();
    serving.grow_to(8 << 20, false).unwrap();
    let mut pacing = Pacing::closed(THREADS, 60_000_000_000);
    pacing.stop.operations_per_session = Some(EACH);
    MOST.store(HELD.load(Ordering::Relaxed), Ordering::Relaxed);
    // Twice, as a warm-up and its point.
    for seed in 0..2 {
        let point = serving.run(&pacing, seed).unwrap();
        assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
        let (outcome, expected) = (point.outcome, u64::from(THREADS) * EACH);
        assert_eq!((outcome.count(), outcome.classes.len()), (expected, CLASS_COUNT));
        assert_eq!(outcome.classes.iter().filter(|class| class.count > 0).count(), 3);
        for class in &outcome.classes {
            assert_eq!((class.service.len(), class.response.len()), (class.count, class.count));
        }
    }
    let most = MOST.load(Ordering::Relaxed);
    assert!(most > 0, "a histogram has another size than this test believes");
    assert!(most < MOST_HELD, "{most} histograms of {THREADS} threads at once");
    serving.remove().unwrap();
}
