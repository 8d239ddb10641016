//! How the bytes of a file become allocation units: extents that grow with the file, coarse and fine stripes.
//!
//! Pure arithmetic. A file is a row of *units* of one allocation unit each; the data path knows only units and shifts.
//! An *extent* is 1, 4 or 16 units that lie next to each other on one disk; metadata know only extents. Prevents: a
//! data path that divides, and two opinions on where a byte lies.

use crate::error::GroupError;

/// Smallest and largest allocation unit of a real group in bytes.
pub const AU_BYTES: (u32, u32) = (1 << 20, 64 << 20);
/// Smallest allocation unit that a test may ask for.
pub(crate) const AU_BYTES_TEST: u32 = 16 << 10;
/// Allocation units from here on are large enough: extents stay at one unit.
const GROWING_BELOW: u32 = 4 << 20;
/// Stripes of a finely striped file, and over how many extents they go.
const FINE_SHIFT: u32 = 17;
pub(crate) const FINE_WIDTH: u32 = 8;

/// The shape of a group that all its files share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Bytes of an allocation unit: a power of two.
    pub au_bytes: u32,
    /// Extents of a file from these on have 4 and 16 units, where the unit is under 4 MiB. Multiples of 8.
    pub growth_at: [u32; 2],
}

impl Geometry {
    /// A real group: units of 1 to 64 MiB, extents growing at 20,000 and 40,000.
    pub fn new(au_bytes: u32) -> Geometry {
        Geometry {
            au_bytes,
            growth_at: [20_000, 40_000],
        }
    }

    /// # Errors
    /// [`GroupError::Refused`].
    pub(crate) fn check(&self, small: bool) -> Result<(), GroupError> {
        let least = if small { AU_BYTES_TEST } else { AU_BYTES.0 };
        if !self.au_bytes.is_power_of_two() || !(least..=AU_BYTES.1).contains(&self.au_bytes) {
            return Err(GroupError::refused(
                format!("an allocation unit of {} bytes", self.au_bytes),
                "use 1, 2, 4, 8, 16, 32 or 64 MiB",
            ));
        }
        let [first, second] = self.growth_at;
        if first % FINE_WIDTH != 0 || second % FINE_WIDTH != 0 || first > second {
            return Err(GroupError::refused(
                format!("extents that grow at {first} and {second}"),
                "use two multiples of 8 in order",
            ));
        }
        Ok(())
    }

    pub(crate) fn au_shift(&self) -> u32 {
        self.au_bytes.trailing_zeros()
    }

    /// Shift of a fine stripe: 128 KiB, or an eighth of a small (test) unit.
    pub(crate) fn fine_shift(&self) -> u32 {
        FINE_SHIFT.min(self.au_shift() - 3)
    }

    /// Units of an extent.
    pub(crate) fn extent_units(&self, extent: u32) -> u32 {
        let grown = self.growth_at.iter().filter(|&&at| extent >= at).count();
        if self.au_bytes >= GROWING_BELOW {
            1
        } else {
            1 << (2 * grown)
        }
    }

    /// In a row of items whose size grows at `at`: the item that holds the nth unit, and the place in it.
    fn item_of(&self, unit: u64, at: [u64; 2]) -> (u64, u64) {
        if self.au_bytes >= GROWING_BELOW || unit < at[0] {
            return (unit, 0);
        }
        let unit = unit - at[0];
        let middle = (at[1] - at[0]) * 4;
        if unit < middle {
            return (at[0] + unit / 4, unit % 4);
        }
        let unit = unit - middle;
        (at[1] + unit / 16, unit % 16)
    }

    /// Units in the first `items` items of such a row.
    fn units_before(&self, items: u64, at: [u64; 2]) -> u64 {
        if self.au_bytes >= GROWING_BELOW {
            return items;
        }
        items.min(at[0]) + 4 * items.clamp(at[0], at[1]).saturating_sub(at[0]) + 16 * items.saturating_sub(at[1])
    }

    fn at(&self, fine: bool) -> [u64; 2] {
        let by = if fine { FINE_WIDTH } else { 1 };
        self.growth_at.map(|n| u64::from(n / by))
    }

    /// The extent of a unit, and which of its units it is. Fine files: eight extents side by side are one row of items.
    pub(crate) fn extent_of(&self, unit: u64, fine: bool) -> (u32, u32) {
        if fine {
            let (set, place) = self.item_of(unit / 8, self.at(true));
            ((set * 8 + unit % 8) as u32, place as u32)
        } else {
            let (extent, place) = self.item_of(unit, self.at(false));
            (extent as u32, place as u32)
        }
    }

    /// The unit that is the nth of an extent.
    pub(crate) fn unit_of(&self, extent: u32, place: u32, fine: bool) -> u64 {
        let extent = u64::from(extent);
        if fine {
            (self.units_before(extent / 8, self.at(true)) + u64::from(place)) * 8 + extent % 8
        } else {
            self.units_before(extent, self.at(false)) + u64::from(place)
        }
    }

    /// Units of a file of that many extents (a multiple of 8 for a fine one).
    pub(crate) fn units(&self, extents: u32, fine: bool) -> u64 {
        if fine {
            self.units_before(u64::from(extents / 8), self.at(true)) * 8
        } else {
            self.units_before(u64::from(extents), self.at(false))
        }
    }

    /// Extents that a file of that many bytes needs; `None` when more than a file can have.
    pub(crate) fn extents_for(&self, bytes: u64, fine: bool) -> Option<u32> {
        let (width, by) = if fine { (8, 8) } else { (1, 1) };
        let rows = bytes.div_ceil(u64::from(self.au_bytes) * width);
        if rows == 0 {
            return Some(0);
        }
        let (item, _) = self.item_of(rows - 1, self.at(fine));
        u32::try_from((item + 1) * by).ok()
    }

    /// The unit and the place in it of a byte of a file.
    #[inline]
    pub(crate) fn locate(&self, offset: u64, fine: bool) -> (u64, u64) {
        let au = self.au_shift();
        if !fine {
            return (offset >> au, offset & ((1 << au) - 1));
        }
        let stripe = self.fine_shift();
        let unit = offset >> (au + 3) << 3 | (offset >> stripe & 7);
        let row = (offset >> (stripe + 3)) & ((1 << (au - stripe)) - 1);
        (unit, row << stripe | (offset & ((1 << stripe) - 1)))
    }

    /// The byte of a file that lies there: the inverse of [`Geometry::locate`].
    pub(crate) fn offset_of(&self, unit: u64, place: u64, fine: bool) -> u64 {
        let au = self.au_shift();
        if !fine {
            return unit << au | place;
        }
        let stripe = self.fine_shift();
        let (row, rest) = (place >> stripe, place & ((1 << stripe) - 1));
        (unit >> 3) << (au + 3) | row << (stripe + 3) | (unit & 7) << stripe | rest
    }

    /// Bytes from an offset to where the next byte lies elsewhere.
    #[inline]
    pub(crate) fn run(&self, offset: u64, fine: bool) -> u64 {
        let shift = if fine { self.fine_shift() } else { self.au_shift() };
        (1 << shift) - (offset & ((1 << shift) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extents_grow_where_the_unit_is_small() {
        let one = Geometry::new(1 << 20);
        let sizes = [0, 19_999, 20_000, 39_999, 40_000].map(|e| one.extent_units(e));
        assert_eq!(sizes, [1, 1, 4, 4, 16]);
        assert_eq!(Geometry::new(4 << 20).extent_units(1 << 30), 1);
        assert_eq!(one.extents_for(20_001 << 20, false), Some(20_001));
        assert_eq!(one.extents_for(20_005 << 20, false), Some(20_002));
        assert_eq!(one.extents_for(1, true), Some(8));
        assert_eq!(one.extents_for(0, true), Some(0));
    }

    proptest! {
        #[test]
        fn every_byte_has_one_place(offset in 0u64..1 << 40, fine: bool, shift in 14u32..27, growth: bool) {
            let growth_at = if growth { [8, 24] } else { [20_000, 40_000] };
            let geometry = Geometry { au_bytes: 1 << shift, growth_at };
            let (unit, place) = geometry.locate(offset, fine);
            prop_assert!(place < u64::from(geometry.au_bytes));
            prop_assert_eq!(geometry.offset_of(unit, place, fine), offset);
            let (extent, nth) = geometry.extent_of(unit, fine);
            prop_assert!(nth < geometry.extent_units(extent));
            prop_assert_eq!(geometry.unit_of(extent, nth, fine), unit);
            let needed = geometry.extents_for(offset + 1, fine).unwrap();
            prop_assert!(unit < geometry.units(needed, fine));
            let run = geometry.run(offset, fine);
            let (last_unit, last) = geometry.locate(offset + run - 1, fine);
            prop_assert_eq!((last_unit, last), (unit, place + run - 1));
        }
    }
}
