//! No allocation while users work: as many for many operations as for few.
//!
//! Prevents: a client whose own memory management is measured as the server's time.
#![allow(unsafe_code)]

use crate::server::{Server, Spoiled};
use files::{Config, Place, Serving, Sizes};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use workloads::Pacing;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: everything is handed on to the system's allocator; a thread-local number needs no memory of the heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as our caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
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
