//! What an array with inline reduction keeps of what it is given: each unit compressed, and each content once where it
//! looks for copies.
//!
//! Takes units as they are written, from many threads at a time; gives bytes before and after. Compression is LZ4's,
//! and what is kept of a unit takes whole granules; two units are one when 128 bits of hash agree. Nothing is moved:
//! the LUN file holds all of it. Prevents: space of an array that is claimed for data which would not have compressed.

use super::unflushed::SECTOR_BYTES;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How an array reduces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReductionSpec {
    /// Bytes that are compressed at a time.
    pub unit_bytes: u32,
    /// What is kept of a unit takes a multiple of so many bytes.
    pub granule_bytes: u32,
    /// LUNs of the set from this one on are reduced; those before are kept as they are written.
    pub from_lun: u16,
    /// Of units with one content one is kept.
    pub deduplicates: bool,
}

impl ReductionSpec {
    /// Whether it can be: whole sectors, and no granule larger than the unit.
    pub fn is_possible(&self) -> bool {
        let whole = |bytes: u32| bytes > 0 && u64::from(bytes).is_multiple_of(SECTOR_BYTES);
        whole(self.unit_bytes) && whole(self.granule_bytes) && self.granule_bytes <= self.unit_bytes
    }
}

/// Bytes of units that were ever written to, by what became of them. A unit counts whole from its first write on, with
/// what the LUN file held in the rest of it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reduced {
    /// On LUNs that keep it as it was written.
    pub whole_bytes: u64,
    /// On LUNs that are reduced.
    pub asked_bytes: u64,
    /// Of those, each content once where copies are looked for.
    pub distinct_bytes: u64,
    /// What compression leaves of these.
    pub packed_bytes: u64,
    /// What is kept of them, in whole granules.
    pub stored_bytes: u64,
}

/// Two halves, each of a hash of its own.
type Digest = (u64, u64);
/// A unit of a LUN.
type Place = (u16, u64);

/// Bytes of a content, and what compression leaves of them.
#[derive(Clone, Copy)]
struct Size {
    bytes: u64,
    packed: u64,
}

/// What is kept for a unit.
#[derive(Clone, Copy)]
enum Kept {
    /// As it was written.
    Whole(u64),
    /// Its content, compressed, and nobody else's.
    Own(Size),
    /// A content that others may have too, with the bytes of the unit.
    Shared(Digest, u64),
}

struct Content {
    size: Size,
    units: u64,
}

/// Units that were written, and what is kept for them.
pub struct Reduction {
    spec: ReductionSpec,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    of: HashMap<Place, Kept>,
    contents: HashMap<Digest, Content>,
    reduced: Reduced,
}

impl Reduction {
    /// An array on which nothing was written yet.
    pub fn new(spec: ReductionSpec) -> Reduction {
        assert!(spec.is_possible(), "{spec:?}");
        Reduction {
            spec,
            state: Mutex::default(),
        }
    }

    /// Bytes of a unit.
    pub fn unit_bytes(&self) -> u64 {
        u64::from(self.spec.unit_bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unit number `nth` of a LUN has this content now.
    pub fn write(&self, lun: u16, nth: u64, content: &[u8]) {
        let (place, bytes) = ((lun, nth), content.len() as u64);
        let granule = u64::from(self.spec.granule_bytes);
        if lun < self.spec.from_lun {
            self.state().put(place, Kept::Whole(bytes), granule);
            return;
        }
        // Nobody waits for another's compression: it is done before the lock is taken.
        if !self.spec.deduplicates {
            let kept = Kept::Own(size(content));
            self.state().put(place, kept, granule);
            return;
        }
        let digest = digest(content);
        let is_known = self.state().contents.contains_key(&digest);
        let size = if is_known { None } else { Some(size(content)) };
        let mut state = self.state();
        if state.contents.contains_key(&digest) {
            state.put(place, Kept::Shared(digest, bytes), granule);
            return;
        }
        // Its last unit may have gone meanwhile.
        let size = size.unwrap_or_else(|| self::size(content));
        state.contents.insert(digest, Content { size, units: 0 });
        state.keep(size, granule);
        state.put(place, Kept::Shared(digest, bytes), granule);
    }

    /// What has become of all that was written.
    pub fn reduced(&self) -> Reduced {
        self.state().reduced
    }
}

impl State {
    /// A unit is kept like this from now on; what was kept for it goes where nobody else has it.
    fn put(&mut self, place: Place, kept: Kept, granule: u64) {
        match kept {
            Kept::Whole(bytes) => self.reduced.whole_bytes += bytes,
            Kept::Own(size) => {
                self.reduced.asked_bytes += size.bytes;
                self.keep(size, granule);
            }
            Kept::Shared(digest, bytes) => {
                self.reduced.asked_bytes += bytes;
                if let Some(content) = self.contents.get_mut(&digest) {
                    content.units += 1;
                }
            }
        }
        match self.of.insert(place, kept) {
            None => {}
            Some(Kept::Whole(bytes)) => self.reduced.whole_bytes -= bytes,
            Some(Kept::Own(size)) => {
                self.reduced.asked_bytes -= size.bytes;
                self.give_back(size, granule);
            }
            Some(Kept::Shared(digest, bytes)) => {
                self.reduced.asked_bytes -= bytes;
                self.leave(digest, granule);
            }
        }
    }

    /// A unit has this content no more.
    fn leave(&mut self, digest: Digest, granule: u64) {
        let Some(content) = self.contents.get_mut(&digest) else {
            return;
        };
        content.units -= 1;
        if content.units == 0 {
            let size = content.size;
            self.contents.remove(&digest);
            self.give_back(size, granule);
        }
    }

    fn keep(&mut self, size: Size, granule: u64) {
        let reduced = &mut self.reduced;
        reduced.distinct_bytes += size.bytes;
        reduced.packed_bytes += size.packed;
        reduced.stored_bytes += size.packed.next_multiple_of(granule);
    }

    fn give_back(&mut self, size: Size, granule: u64) {
        let reduced = &mut self.reduced;
        reduced.distinct_bytes -= size.bytes;
        reduced.packed_bytes -= size.packed;
        reduced.stored_bytes -= size.packed.next_multiple_of(granule);
    }
}

fn digest(content: &[u8]) -> Digest {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        hasher.write(content);
        hasher.finish()
    };
    (half(0), half(1))
}

/// Never more than the content: what does not compress is kept as it is.
fn size(content: &[u8]) -> Size {
    let packed = lz4_flex::block::compress(content).len();
    Size {
        bytes: content.len() as u64,
        packed: packed.min(content.len()) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const UNIT: usize = 8192;
    const COUNT: u64 = 1000;

    const SPEC: ReductionSpec = ReductionSpec {
        unit_bytes: UNIT as u32,
        granule_bytes: 512,
        from_lun: 0,
        deduplicates: false,
    };

    /// So many bytes of chance, then zeros.
    fn content(seed: u64, random: usize) -> Vec<u8> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut bytes = vec![0; UNIT];
        rng.fill_bytes(&mut bytes[..random]);
        bytes
    }

    fn filled(spec: ReductionSpec, random: usize, distinct: u64) -> Reduced {
        let reduction = Reduction::new(spec);
        for nth in 0..COUNT {
            reduction.write(0, nth, &content(nth % distinct, random));
        }
        let reduced = reduction.reduced();
        assert_eq!(reduced.asked_bytes, COUNT * UNIT as u64);
        reduced
    }

    fn ratio(reduced: &Reduced) -> f64 {
        reduced.asked_bytes as f64 / reduced.stored_bytes as f64
    }

    #[test]
    fn what_is_kept_follows_compressibility_in_whole_granules() {
        let chance = filled(SPEC, UNIT, COUNT);
        assert_eq!(
            ratio(&chance),
            1.0,
            "chance does not compress, and takes no more than it is"
        );
        assert_eq!(chance.packed_bytes, chance.asked_bytes);
        let quarter = filled(SPEC, UNIT / 4, COUNT);
        let packed = quarter.distinct_bytes as f64 / quarter.packed_bytes as f64;
        assert!((3.8..4.0).contains(&packed), "{packed}");
        assert_eq!(
            quarter.stored_bytes,
            COUNT * 2560,
            "2,048 bytes and a little take five sectors"
        );
        let coarse = ReductionSpec {
            granule_bytes: 4096,
            ..SPEC
        };
        assert_eq!(ratio(&filled(coarse, UNIT / 4, COUNT)), 2.0);
        assert_eq!(filled(SPEC, 0, COUNT).stored_bytes, COUNT * 512, "zeros take a granule");
    }

    #[test]
    fn copies_are_kept_once_where_they_are_looked_for() {
        let both = ReductionSpec {
            deduplicates: true,
            ..SPEC
        };
        assert_eq!(
            ratio(&filled(both, UNIT, 100)),
            10.0,
            "each of a hundred is there ten times"
        );
        assert_eq!(ratio(&filled(SPEC, UNIT, 100)), 1.0);
        let reduced = filled(both, UNIT / 4, 100);
        assert_eq!(reduced.distinct_bytes, 100 * UNIT as u64);
        assert_eq!(reduced.stored_bytes, 100 * 2560);
    }

    #[test]
    fn what_is_overwritten_is_given_back_when_nobody_has_it_any_more() {
        let unit = UNIT as u64;
        let (a, b) = (content(1, UNIT), content(2, UNIT));
        let both = Reduction::new(ReductionSpec {
            deduplicates: true,
            ..SPEC
        });
        both.write(0, 0, &a);
        both.write(1, 0, &a);
        both.write(0, 0, &b);
        assert_eq!(both.reduced().stored_bytes, 2 * unit);
        both.write(1, 0, &b);
        both.write(1, 0, &b);
        let reduced = both.reduced();
        assert_eq!((reduced.stored_bytes, reduced.asked_bytes), (unit, 2 * unit));
        both.write(0, 0, &content(0, 0));
        both.write(1, 0, &content(0, 0));
        assert_eq!(both.reduced().stored_bytes, 512);
        let own = Reduction::new(SPEC);
        own.write(0, 0, &a);
        own.write(0, 1, &b);
        own.write(0, 0, &content(1, UNIT / 4));
        own.write(0, 1, &content(1, UNIT / 4));
        let reduced = own.reduced();
        assert_eq!((reduced.stored_bytes, reduced.distinct_bytes), (2 * 2560, 2 * unit));
    }

    #[test]
    fn luns_before_the_first_that_is_reduced_keep_all_of_it() {
        let some = Reduction::new(ReductionSpec { from_lun: 2, ..SPEC });
        for (lun, nth) in [(0, 0), (1, 0), (1, 0), (1, 7)] {
            some.write(lun, nth, &content(1, UNIT / 4));
        }
        some.write(2, 0, &content(1, UNIT / 4));
        let reduced = some.reduced();
        assert_eq!(reduced.whole_bytes, 3 * UNIT as u64);
        assert_eq!((reduced.asked_bytes, reduced.stored_bytes), (UNIT as u64, 2560));
    }

    /// The end of a LUN may be no whole unit.
    #[test]
    fn the_last_unit_may_be_a_part() {
        let reduction = Reduction::new(SPEC);
        reduction.write(0, 3, &content(1, UNIT)[..4096]);
        assert_eq!(reduction.reduced().asked_bytes, 4096);
        assert_eq!(reduction.reduced().stored_bytes, 4096);
    }

    #[test]
    fn many_threads_count_as_one_does() {
        let both = ReductionSpec {
            deduplicates: true,
            ..SPEC
        };
        for spec in [SPEC, both] {
            let (many, one) = (Reduction::new(spec), Reduction::new(spec));
            std::thread::scope(|scope| {
                for thread in 0..4u64 {
                    let many = &many;
                    scope.spawn(move || {
                        for nth in 0..200 {
                            many.write(0, nth * 4 + thread, &content(nth % 50, UNIT / 8));
                            many.write(0, nth * 4 + thread, &content(nth % 20, UNIT / 4));
                        }
                    });
                }
            });
            for nth in 0..800 {
                one.write(0, nth, &content(nth / 4 % 20, UNIT / 4));
            }
            assert_eq!(many.reduced(), one.reduced());
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        let with = |unit_bytes, granule_bytes| ReductionSpec {
            unit_bytes,
            granule_bytes,
            ..SPEC
        };
        for (unit, granule) in [(0, 512), (8192, 0), (5000, 512), (8192, 500), (4096, 8192)] {
            assert!(!with(unit, granule).is_possible(), "{unit} {granule}");
        }
        assert!(with(8192, 8192).is_possible());
    }
}
