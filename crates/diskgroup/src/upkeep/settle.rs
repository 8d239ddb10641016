//! Bringing copies together: after a crash, and whenever a copy is suspected.
//!
//! A crash may leave a write on one copy and not on the other. Both are allowed, as the write was not acknowledged;
//! that they differ is not, because the one that was read today may be lost tomorrow. Prevents: a page that changes
//! back when a disk fails.

use crate::error::GroupError;
use crate::layout::file::{LEAF_EXTENTS, Pointer};
use crate::metadata::core::{Core, bits};
use crate::metadata::mount::Mounted;
use crate::planted::Planted;
use crate::upkeep::repair::{Reach, Repair};
use crate::verify::Verify;
use std::borrow::Cow;
use std::sync::Arc;
use targets::Port;

/// Bytes compared at a time.
const PART: u64 = 256 << 10;

/// What comparing an extent found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Compared {
    /// Bytes of copies that differed from the one that was chosen.
    pub(crate) differing: u64,
    /// Copies that could not be read.
    pub(crate) unreadable: u64,
    /// Pages that no copy has whole.
    pub(crate) hopeless: u64,
    /// Parts of which no copy could be read.
    pub(crate) lost: u64,
}

/// Decides between copies of the same bytes: gives the content to keep. `offsets`: where in the file a byte lies, if in
/// it at all. `copies` has at least one.
pub(crate) fn decide<'c>(
    file: &str,
    offsets: impl Fn(u64) -> Option<u64>,
    copies: &[&'c [u8]],
    verify: Option<&Arc<dyn Verify>>,
) -> (Cow<'c, [u8]>, u64) {
    let page = verify.map_or(0, |v| v.page_bytes(file)) as usize;
    let (Some(verify), false) = (verify, page == 0 || Planted::MendUnverified.on()) else {
        return (Cow::Borrowed(copies[0]), 0);
    };
    let (mut kept, mut hopeless) = (Cow::Borrowed(copies[0]), 0);
    for at in (0..copies[0].len()).step_by(page) {
        let range = at..copies[0].len().min(at + page);
        let Some(offset) = offsets(at as u64) else {
            // Behind the end of the file are zeros, for when it grows.
            kept.to_mut()[range].fill(0);
            continue;
        };
        match copies
            .iter()
            .position(|c| verify.is_good(file, offset, &c[range.clone()]))
        {
            Some(0) => {}
            Some(nth) => kept.to_mut()[range.clone()].copy_from_slice(&copies[nth][range]),
            None => hopeless += 1,
        }
    }
    (kept, hopeless)
}

impl<P: Port> Core<P> {
    /// Compares all readable copies of an extent; with `repair`, writes those that differ or could not be read again
    /// (not flushed). Gives what it found and what [`Core::conclude_repairs`] must record. Nobody else may write there
    /// meanwhile.
    pub(crate) fn compare(&mut self, number: u32, extent: u32, repair: bool) -> Result<(Compared, Repair), GroupError> {
        let file = &self.files[&number];
        let (name, fine, size) = (file.name.clone(), file.fine, file.size);
        let pointers: Vec<Pointer> = file
            .pointers_of(extent)
            .iter()
            .filter(|p| self.readable(p))
            .copied()
            .collect();
        let first_unit = self.geometry.unit_of(extent, 0, fine);
        let bytes = u64::from(self.geometry.extent_units(extent)) * self.au();
        let mut found = Compared::default();
        let mut done_to = Repair {
            file: number,
            extent,
            compared: pointers.iter().fold(0, |all, p| all | 1 << p.disk),
            ..Repair::default()
        };
        let mut done = 0;
        while done < bytes {
            let len = PART.min(bytes - done);
            let (au, geometry) = (self.au(), self.geometry);
            let place = |p: &Pointer, disks: &std::collections::BTreeMap<u16, crate::layout::disk::Disk>| {
                let slot = disks[&p.disk].live().expect("a readable copy");
                (slot, u64::from(p.au) * au + done)
            };
            let items: Vec<_> = pointers
                .iter()
                .map(|p| place(p, &self.disks))
                .map(|(slot, at)| (slot, at, len))
                .collect();
            let copies = self.store.read_again(&items)?;
            let good: Vec<&[u8]> = copies.iter().filter_map(|c| c.as_deref().ok()).collect();
            found.unreadable += (copies.len() - good.len()) as u64;
            if good.is_empty() {
                found.lost += 1;
                done_to.lost = true;
                done += len;
                continue;
            }
            let step = if fine { 8 } else { 1 };
            let offset = |inner: u64| {
                let at = done + inner;
                let offset = geometry.offset_of(first_unit + at / au * step, at % au, fine);
                (offset < size).then_some(offset)
            };
            let (kept, hopeless) = decide(&name, offset, &good, self.verify.as_ref());
            found.hopeless += hopeless;
            for (pointer, copy) in pointers.iter().zip(&copies) {
                let same = copy.as_ref().is_ok_and(|c| **c == *kept);
                if same {
                    continue;
                }
                found.differing += u64::from(copy.is_ok()) * len;
                if repair {
                    done_to.changed |= copy.is_ok();
                    done_to.written |= 1 << pointer.disk;
                    let (slot, at) = place(pointer, &self.disks);
                    if self.store.write(&[(slot, at, &kept)])?[0].is_err() {
                        self.trouble.insert(pointer.disk);
                        done_to.refused |= 1 << pointer.disk;
                    }
                }
            }
            done += len;
            self.store.give_back(copies);
        }
        Ok((found, done_to))
    }

    /// Makes the copies of all regions equal that were being written, and records them as clean. Copies that refuse are
    /// stale by then, and so are those on disks that are away.
    pub(crate) fn settle(&mut self, mounted: &mut Mounted) -> Result<(), GroupError> {
        if Planted::SettleLeftOut.on() {
            return self.clean();
        }
        // What was acknowledged before the crash may still lie in caches: any flush that has failed since may have lost
        // it.
        let (faults, mut repairs) = (0, Vec::new());
        for (number, leaf) in self.dirty_leaves() {
            mounted.regions_settled += 1;
            let extents = self.files[&number].extents();
            let first = leaf * LEAF_EXTENTS;
            for extent in first..extents.min(first + LEAF_EXTENTS) {
                let (_, repair) = self.compare(number, extent, true)?;
                mounted.extents_settled += u64::from(repair.written != 0);
                repairs.push(repair);
            }
        }
        if Planted::CleanedTooEarly.on() {
            self.clean()?;
        }
        let unflushed = self.conclude_repairs(&repairs, Reach::Compared, 0, faults)?;
        let refused = repairs.iter().fold(unflushed, |all, r| all | r.refused);
        mounted.repairs_refused = bits(refused).into_iter().map(|n| self.disk_name(n)).collect();
        self.settle_trouble()?;
        self.clean()
    }

    fn dirty_leaves(&self) -> Vec<(u32, u32)> {
        let mut dirty = Vec::new();
        for file in self.files.values() {
            let theirs = file.leaves.iter().enumerate().filter(|(_, l)| l.dirty);
            dirty.extend(theirs.map(|(leaf, _)| (file.number, leaf as u32)));
        }
        dirty
    }

    /// Records all regions as clean but those with copies that may not be equal.
    pub(crate) fn clean(&mut self) -> Result<(), GroupError> {
        let but = self.suspect_leaves();
        let mut dirty = self.dirty_leaves();
        dirty.retain(|leaf| !but.contains(leaf));
        self.record_dirty(dirty, false)
    }
}
