//! Bringing copies together: after a crash, and whenever a copy is suspected.
//!
//! A crash may leave a write on one copy and not on the other. Both are allowed, as the write was not acknowledged; that they
//! differ is not, because the one that was read today may be lost tomorrow. Prevents: a page that changes back when a disk fails.

use crate::block::Address;
use crate::core::Core;
use crate::error::GroupError;
use crate::file::Pointer;
use crate::mount::Mounted;
use crate::planted::Planted;
use crate::verify::Verify;
use std::collections::BTreeSet;
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

/// Decides between copies of the same bytes: gives the content to keep. `offsets`: where in the file a byte lies, if in it at all. `copies` has at least one.
pub(crate) fn decide(
    file: &str,
    offsets: impl Fn(u64) -> Option<u64>,
    copies: &[&[u8]],
    verify: Option<&Arc<dyn Verify>>,
) -> (Vec<u8>, u64) {
    let mut kept = copies[0].to_vec();
    let page = verify.map_or(0, |v| v.page_bytes(file)) as usize;
    let (Some(verify), false) = (verify, page == 0 || Planted::MendUnverified.on()) else {
        return (kept, 0);
    };
    let mut hopeless = 0;
    for (nth, kept) in kept.chunks_mut(page).enumerate() {
        let range = nth * page..nth * page + kept.len();
        let Some(offset) = offsets(range.start as u64) else {
            // Behind the end of the file are zeros, for when it grows.
            kept.fill(0);
            continue;
        };
        match copies.iter().find(|c| verify.is_good(file, offset, &c[range.clone()])) {
            Some(good) => kept.copy_from_slice(&good[range]),
            None => hopeless += 1,
        }
    }
    (kept, hopeless)
}

impl<P: Port> Core<P> {
    /// Compares all readable copies of an extent; with `repair`, writes those that differ or could not be read again (not flushed).
    /// Gives what it found and the disks written to. Nobody else may write there meanwhile.
    pub(crate) fn compare(
        &mut self,
        number: u32,
        extent: u32,
        repair: bool,
    ) -> Result<(Compared, BTreeSet<u16>), GroupError> {
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
        let (mut found, mut written) = (Compared::default(), BTreeSet::new());
        let mut done = 0;
        while done < bytes {
            let len = PART.min(bytes - done);
            let (au, geometry) = (self.au(), self.geometry);
            let place = |p: &Pointer, disks: &std::collections::BTreeMap<u16, crate::disk::Disk>| {
                let slot = disks[&p.disk].live().expect("a readable copy");
                (slot, u64::from(p.au) * au + done)
            };
            let items: Vec<_> = pointers
                .iter()
                .map(|p| place(p, &self.disks))
                .map(|(slot, at)| (slot, at, len))
                .collect();
            let copies = self.store.read(&items)?;
            let good: Vec<&[u8]> = copies.iter().filter_map(|c| c.as_deref().ok()).collect();
            found.unreadable += (copies.len() - good.len()) as u64;
            if good.is_empty() {
                found.lost += 1;
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
                let same = copy.as_ref().is_ok_and(|c| *c == kept);
                if same {
                    continue;
                }
                found.differing += u64::from(copy.is_ok()) * len;
                if repair {
                    let (slot, at) = place(pointer, &self.disks);
                    if self.store.write(&[(slot, at, &kept)])?[0].is_err() {
                        self.trouble.insert(pointer.disk);
                    }
                    written.insert(pointer.disk);
                }
            }
            done += len;
        }
        Ok((found, written))
    }

    /// Makes the copies of all regions equal that were being written, and records them as clean.
    pub(crate) fn settle(&mut self, mounted: &mut Mounted) -> Result<(), GroupError> {
        if Planted::SettleLeftOut.on() {
            return self.clean(&BTreeSet::new());
        }
        let mut dirty = Vec::new();
        for file in self.files.values() {
            for (leaf, _) in file.leaves.iter().enumerate().filter(|(_, l)| l.dirty) {
                dirty.push((file.number, leaf as u32));
            }
        }
        let (mut disks, mut unsettled) = (BTreeSet::new(), BTreeSet::new());
        for &(number, leaf) in &dirty {
            mounted.regions_settled += 1;
            let extents = self.files[&number].extents();
            let first = leaf * crate::file::LEAF_EXTENTS;
            for extent in first..extents.min(first + crate::file::LEAF_EXTENTS) {
                let (found, written) = self.compare(number, extent, true)?;
                mounted.extents_settled += u64::from(!written.is_empty());
                if found.lost > 0 {
                    unsettled.insert((number, leaf));
                }
                disks.extend(written);
            }
        }
        if !Planted::SettleUnflushed.on() {
            let disks: Vec<u16> = disks.into_iter().collect();
            self.flush_disks(&disks)?;
        }
        self.settle_trouble()?;
        self.clean(&unsettled)
    }

    /// Records all regions as clean but those that are not.
    pub(crate) fn clean(&mut self, but: &BTreeSet<(u32, u32)>) -> Result<(), GroupError> {
        let mut dirty = Vec::new();
        for file in self.files.values() {
            for (leaf, state) in file.leaves.iter().enumerate() {
                if state.dirty && !but.contains(&(file.number, leaf as u32)) {
                    dirty.push((file.number, leaf));
                }
            }
        }
        for part in dirty.chunks(self.change_limit()) {
            let mut change = self.begin()?;
            for &(number, leaf) in part {
                let file = self.files.get_mut(&number).expect("just seen");
                file.leaves[leaf].dirty = false;
                change.touch(Address::Meta(file.leaves[leaf].block));
            }
            self.commit(change)?;
            for &(number, leaf) in part {
                self.publish_leaf(number, leaf as u32);
            }
        }
        Ok(())
    }
}
