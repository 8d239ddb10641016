//! Two processes with an engine each on one disk group on loop devices: killed while extents move, and everything that
//! they acknowledged is there.
//!
//! The process of this test makes the devices and the database, starts both processes, kills them, and opens the group
//! when they are gone. `ASSAY_KILLS_SEED` repeats a seed; `ASSAY_TEST_SIZE=full` makes 20 kills. Needs root and loop
//! devices. Prevents: a protocol that holds on modelled disks alone.

mod lives;
mod place;

use crate::book::{Book, Trouble};
use crate::killed::lives::{Role, SHAPE};
use crate::killed::place::{Place, Processes};
use crate::machine::is_full;
use crate::sharing::WORKERS;
use crate::stage::below;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;

/// Who is killed first; the other some time later, after it has worked without it.
const FIRST: [&[Role]; 3] = [&[Role::Owner, Role::Other], &[Role::Owner], &[Role::Other]];

/// Longest time of work until the first kill, and from there to the second, in milliseconds.
const WORK_MS: u64 = 200;
const ALONE_MS: u64 = 60;

fn seed() -> u64 {
    let asked = std::env::var("ASSAY_KILLS_SEED").ok();
    let asked = asked.and_then(|seed| seed.parse().ok());
    asked.unwrap_or_else(|| sandbox::random_number().expect("a number") >> 32)
}

#[test]
fn all_that_two_processes_acknowledged_survives_their_kills_in_a_rebalance() {
    let kills = if is_full() { 20 } else { 3 };
    let seed = seed();
    let Some(place) = Place::new(seed) else { return };
    eprintln!("{kills} kills, again with ASSAY_KILLS_SEED={seed}");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut books = [0, 1].map(|worker| Book::new(SHAPE, (worker, WORKERS), false));
    let (mut moved, mut halfway) = (0, 0);
    for nth in 0..kills {
        let first = FIRST[nth % FIRST.len()];
        let went = killed(&place, first, &mut books, &mut rng);
        let (bytes, is_halfway) = went.unwrap_or_else(|what| panic!("seed {seed}, kill {nth} of {first:?}: {what:?}"));
        moved += bytes;
        halfway += u32::from(is_halfway);
    }
    let acknowledged = books.each_ref().map(|book| book.acknowledged);
    eprintln!("{kills} kills: {acknowledged:?} commits, {moved} bytes moved, {halfway} in the middle of a rebalance");
    let some = acknowledged.iter().all(|commits| *commits > 0) && moved > 0;
    assert!(some, "nothing was at stake");
}

/// Both work until one or both are killed; then all is looked up. Gives the bytes that were moved, and whether the
/// rebalance was under way.
fn killed(
    place: &Place,
    first: &[Role],
    books: &mut [Book; 2],
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(u64, bool), Trouble> {
    let mut both = Processes::start(place, below(rng, 1 << 40));
    both.until_all_work(place);
    std::thread::sleep(Duration::from_millis(below(rng, WORK_MS)));
    both.kill(first);
    std::thread::sleep(Duration::from_millis(below(rng, ALONE_MS)));
    both.kill(&[Role::Owner, Role::Other]);
    place.until_nothing_is_in_flight();
    let moved = place.moved();
    for (book, role) in books.iter_mut().zip([Role::Owner, Role::Other]) {
        book.take_over(&place.read(role.book()))?;
    }
    let is_halfway = lives::recover(place, books)?;
    place.forget();
    Ok((moved, is_halfway))
}

/// The two processes: this test's own program, started again.
#[test]
fn process() {
    lives::process();
}
