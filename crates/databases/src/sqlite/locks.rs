//! Locks between the connections of one process: the five states of a database file, and the eight slots of a
//! write-ahead log.
//!
//! Takes asks, gives yes or no, never waits: waiting is the busy handler's. The states and their rules are those of
//! SQLite's documentation (File Locking And Concurrency; WAL-mode File Format, the locks of the shared-memory file).
//! One process has a file set at a time, so no lock of the kernel stands behind them. Prevents: two writers, and a
//! checkpoint under a reader.

/// Slots of a write-ahead log.
pub(crate) const SLOTS: usize = 8;

/// What a connection holds on the database file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) enum Level {
    #[default]
    None,
    /// Reads.
    Shared,
    /// Will write; others still read.
    Reserved,
    /// Waits for the readers to go; no new ones.
    Pending,
    /// Writes.
    Exclusive,
}

/// All locks of one database.
#[derive(Default, Debug)]
pub(crate) struct Locks {
    /// Connections with at least `Shared`.
    readers: u32,
    /// One connection has `Reserved` or more, and what it has.
    writer: Option<Level>,
    slots: [SlotLock; SLOTS],
}

#[derive(Clone, Copy, Default, Debug)]
struct SlotLock {
    shared: u32,
    exclusive: bool,
}

/// What one connection holds of the slots, a bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) shared: u8,
    pub(crate) exclusive: u8,
}

impl Locks {
    /// Raises a connection from `have` to `want`; `Err` is what it has when it must wait (`Pending` may have been
    /// reached).
    pub(crate) fn raise(&mut self, have: Level, want: Level) -> Result<Level, Level> {
        if have >= want {
            return Ok(have);
        }
        let mine = have >= Level::Reserved;
        match want {
            Level::None | Level::Pending => Ok(have),
            Level::Shared => {
                if self.writer.is_some_and(|w| w >= Level::Pending) {
                    return Err(have);
                }
                self.readers += 1;
                Ok(Level::Shared)
            }
            Level::Reserved => {
                if self.writer.is_some() {
                    return Err(have);
                }
                self.writer = Some(Level::Reserved);
                Ok(Level::Reserved)
            }
            Level::Exclusive => {
                if self.writer.is_some() && !mine {
                    return Err(have);
                }
                // A hot journal is rolled back straight from `Shared`.
                if self.readers > 1 {
                    self.writer = Some(Level::Pending);
                    return Err(Level::Pending);
                }
                self.writer = Some(Level::Exclusive);
                Ok(Level::Exclusive)
            }
        }
    }

    /// Lowers a connection from `have` to `want`, which is `Shared` or `None`.
    pub(crate) fn lower(&mut self, have: Level, want: Level) -> Level {
        if have <= want {
            return have;
        }
        if have >= Level::Reserved {
            self.writer = None;
        }
        if want == Level::None && have >= Level::Shared {
            self.readers -= 1;
        }
        want
    }

    /// Somebody has `Reserved` or more.
    pub(crate) fn is_reserved(&self) -> bool {
        self.writer.is_some()
    }

    /// Takes slots `mask` all together or not at all.
    pub(crate) fn take(&mut self, held: &mut Held, mask: u8, exclusive: bool) -> bool {
        if exclusive {
            // Those that this connection has already do not stand in its way.
            let free = bits(mask & !held.exclusive).all(|slot| {
                let lock = self.slots[slot];
                !lock.exclusive && lock.shared == u32::from(held.shared >> slot & 1)
            });
            if free {
                bits(mask).for_each(|slot| self.slots[slot].exclusive = true);
                held.exclusive |= mask;
            }
            return free;
        }
        let new = mask & !held.shared;
        let free = bits(new).all(|slot| !self.slots[slot].exclusive || held.exclusive >> slot & 1 == 1);
        if free {
            bits(new).for_each(|slot| self.slots[slot].shared += 1);
            held.shared |= new;
        }
        free
    }

    /// Lets go of slots `mask`.
    pub(crate) fn release(&mut self, held: &mut Held, mask: u8, exclusive: bool) {
        if exclusive {
            bits(mask & held.exclusive).for_each(|slot| self.slots[slot].exclusive = false);
            held.exclusive &= !mask;
        } else {
            bits(mask & held.shared).for_each(|slot| self.slots[slot].shared -= 1);
            held.shared &= !mask;
        }
    }
}

fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..SLOTS).filter(move |slot| mask >> slot & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn a_pending_writer_lets_nobody_in_and_gets_its_turn() {
        let mut locks = Locks::default();
        let reader = locks.raise(Level::None, Level::Shared).unwrap();
        let writer = locks.raise(Level::None, Level::Shared).unwrap();
        let writer = locks.raise(writer, Level::Reserved).unwrap();
        assert!(locks.is_reserved());
        assert_eq!(locks.raise(reader, Level::Reserved), Err(Level::Shared));
        let writer = locks.raise(writer, Level::Exclusive).unwrap_err();
        assert_eq!(writer, Level::Pending);
        assert_eq!(locks.raise(Level::None, Level::Shared), Err(Level::None));
        assert_eq!(locks.lower(reader, Level::None), Level::None);
        let writer = locks.raise(writer, Level::Exclusive).unwrap();
        assert_eq!(locks.lower(writer, Level::Shared), Level::Shared);
        assert!(!locks.is_reserved());
    }

    #[test]
    fn random_asks_never_break_the_rules() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut locks = Locks::default();
        let mut levels = [Level::None; 5];
        let mut slots = [Held::default(); 5];
        for _ in 0..200_000 {
            let who = (rng.next_u64() % 5) as usize;
            match rng.next_u64() % 4 {
                0 => {
                    // SQLite asks for one step at a time, and for `Exclusive` also from `Shared`.
                    let want = match (levels[who], rng.next_u64() % 2) {
                        (Level::None, _) => Level::Shared,
                        (Level::Shared, 0) => Level::Reserved,
                        _ => Level::Exclusive,
                    };
                    levels[who] = locks.raise(levels[who], want).unwrap_or_else(|have| have);
                }
                1 => {
                    let want = [Level::None, Level::Shared][(rng.next_u64() % 2) as usize];
                    levels[who] = locks.lower(levels[who], want);
                }
                act => {
                    let first = rng.next_u64() % SLOTS as u64;
                    let count = 1 + rng.next_u64() % (SLOTS as u64 - first);
                    let exclusive = rng.next_u64() % 2 == 0;
                    let mask = ((((1u32 << count) - 1) << first) & 0xff) as u8;
                    let mask = if exclusive { mask } else { 1 << first };
                    match act {
                        2 => _ = locks.take(&mut slots[who], mask, exclusive),
                        _ => locks.release(&mut slots[who], mask, exclusive),
                    }
                }
            }
            let over = |level| levels.iter().filter(|l| **l >= level).count();
            assert!(over(Level::Reserved) <= 1, "{levels:?}");
            assert!(over(Level::Exclusive) == 0 || over(Level::Shared) == 1, "{levels:?}");
            assert_eq!(locks.is_reserved(), over(Level::Reserved) == 1);
            for slot in 0..SLOTS {
                let of = |mask: u8| mask >> slot & 1 == 1;
                let exclusive = slots.iter().filter(|h| of(h.exclusive)).count();
                let others = slots.iter().filter(|h| of(h.shared) && !of(h.exclusive)).count();
                assert!(
                    exclusive == 0 || (exclusive == 1 && others == 0),
                    "slot {slot}: {slots:?}"
                );
            }
        }
    }
}
