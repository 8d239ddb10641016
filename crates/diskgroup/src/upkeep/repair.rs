//! What must be recorded when copies have been written again: which of them have the chosen content durably, and which
//! have not.
//!
//! The order holds it together: repairs are written, then flushed, then every copy that lacks something is recorded as
//! stale, and only then may anything say that the copies are equal. Prevents: a copy that refused a repair, comes back
//! later, and is believed.

use crate::error::GroupError;
use crate::layout::block::Address;
use crate::layout::file::LEAF_EXTENTS;
use crate::metadata::core::{Core, bits};
use crate::planted::Planted;
use std::collections::BTreeSet;
use targets::Port;

/// An extent whose copies were compared and, where they differed, written again. Disks are bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Repair {
    pub(crate) file: u32,
    pub(crate) extent: u32,
    /// Disks whose copies took part.
    pub(crate) compared: u64,
    /// Disks that were written to, whether that went well or not.
    pub(crate) written: u64,
    /// Disks that refused a write.
    pub(crate) refused: u64,
    /// Some copy held other bytes than those that were chosen.
    pub(crate) changed: bool,
    /// A part could be read from no copy.
    pub(crate) lost: bool,
}

/// Which copies must be durable before their extents count as equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Those that were written again.
    Written,
    /// All that were compared: nobody knows which of them was flushed before the crash.
    Compared,
}

impl<P: Port> Core<P> {
    /// Makes repairs durable and records what could not be repaired: copies become stale, extents without a whole copy
    /// stay recorded as perhaps unequal. `faults`: failed flushes before the first repair was written; `also`: disks to
    /// flush besides. Gives the disks on which the flush failed.
    pub(crate) fn conclude_repairs(
        &mut self,
        repairs: &[Repair],
        reach: Reach,
        also: u64,
        faults: u64,
    ) -> Result<u64, GroupError> {
        let reached = |r: &Repair| {
            if reach == Reach::Compared {
                r.compared
            } else {
                r.written
            }
        };
        let disks = bits(repairs.iter().fold(also, |all, r| all | reached(r)));
        let unflushed = if Planted::SettleUnflushed.on() {
            0
        } else {
            self.flush_disks(&disks, faults)?
                .iter()
                .fold(0, |all, d| all | 1u64 << d)
        };
        let (mut stale, mut unequal) = (BTreeSet::new(), BTreeSet::new());
        for repair in repairs {
            let mut bad = if Planted::RepairNotStale.on() {
                0
            } else {
                repair.refused
            };
            if !Planted::RepairUnflushedNotStale.on() {
                bad |= unflushed & reached(repair);
            }
            let place = (repair.file, repair.extent);
            let good = repair.compared & !bad;
            if good == 0 || repair.lost {
                unequal.insert(place);
            } else {
                self.unequal.remove(&place);
            }
            if good == 0 {
                continue;
            }
            let known = Planted::AbsentNotStale.on() || Planted::MissingNotStale.on();
            let absent = if (repair.changed || reach == Reach::Compared) && !known {
                self.absent(repair)
            } else {
                0
            };
            stale.extend(bits(bad | absent).into_iter().map(|disk| (place.0, place.1, disk)));
        }
        for (number, extent, _) in self.mark_stale(&stale)? {
            unequal.insert((number, extent));
        }
        self.keep_dirty(&unequal)?;
        Ok(unflushed)
    }

    /// Disks with a copy that took no part because the disk is away: it may hold something else than what was chosen.
    fn absent(&self, repair: &Repair) -> u64 {
        let Some(file) = self.files.get(&repair.file) else {
            return 0;
        };
        let pointers = file.pointers_of(repair.extent).iter();
        let away = pointers.filter(|p| !p.stale && repair.compared >> p.disk & 1 == 0);
        away.fold(0, |all, p| all | 1 << p.disk)
    }

    /// Records regions as dirty, where they are not, for as long as these extents are not equal.
    pub(crate) fn keep_dirty(&mut self, extents: &BTreeSet<(u32, u32)>) -> Result<(), GroupError> {
        self.unequal.extend(extents);
        let mut leaves: BTreeSet<(u32, u32)> = extents.iter().map(|(file, e)| (*file, e / LEAF_EXTENTS)).collect();
        leaves.retain(|(number, leaf)| {
            let file = self.files.get(number);
            file.is_some_and(|f| f.leaves.get(*leaf as usize).is_some_and(|l| !l.dirty))
        });
        self.record_dirty(leaves, true)
    }

    /// Records regions as being written, or as equal on all copies.
    pub(crate) fn record_dirty(
        &mut self,
        leaves: impl IntoIterator<Item = (u32, u32)>,
        dirty: bool,
    ) -> Result<(), GroupError> {
        let all: Vec<(u32, u32)> = leaves.into_iter().collect();
        for part in all.chunks(self.change_limit()) {
            let mut change = self.begin()?;
            for &(number, leaf) in part {
                let file = self.files.get_mut(&number).expect("the caller has looked");
                file.leaves[leaf as usize].dirty = dirty;
                change.touch(Address::Meta(file.leaves[leaf as usize].block));
            }
            self.commit(change)?;
            for &(number, leaf) in part {
                self.publish_leaf(number, leaf);
            }
        }
        Ok(())
    }
}
