//! Disks that come and go: added, dropped, offline, back again.
//!
//! Prevents: a disk released while something is on it, and one that returns with the metadata of the day it left.

use crate::error::GroupError;
use crate::layout::block::Address;
use crate::layout::disk::{Disk, TABLE, table_block};
use crate::layout::header::{DISKS_MAX, Found, Place, second_at};
use crate::metadata::core::{Core, Homes};
use crate::metadata::create::{DiskSpec, admit, check_disks, look, new_disk, too_small};
use crate::planted::Planted;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use targets::{FileId, Port};

impl<P: Port> Core<P> {
    pub(crate) fn disk_named(&self, name: &str) -> Result<u16, GroupError> {
        let found = self.disks.values().find(|d| d.name == name).map(|d| d.number);
        found.ok_or_else(|| GroupError::NoDisk { name: name.to_owned() })
    }

    /// Adds disks. Their tables and headers are durable before the group knows them; a rebalance is wanted from then
    /// on.
    pub(crate) fn add_disks(&mut self, specs: &[DiskSpec], seed: u64) -> Result<(), GroupError> {
        self.alive()?;
        check_disks(specs, &self.disks)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut fresh = Vec::new();
        for spec in specs {
            let bytes = admit(&mut self.store, spec, Some(self.group))?;
            let place = Place::new(bytes, self.geometry.au_bytes, self.journal.blocks)
                .ok_or_else(|| too_small(&spec.name, bytes))?;
            fresh.push((spec, place, bytes));
        }
        let mut numbers = Vec::new();
        let change = self.begin()?;
        for (spec, place, bytes) in fresh {
            let number = (0..DISKS_MAX)
                .find(|n| !self.disks.contains_key(n))
                .expect("the count was checked");
            self.disks
                .insert(number, new_disk(number, spec, place, bytes, &mut rng));
            self.board.offline.fetch_and(!(1 << number), Ordering::SeqCst);
            numbers.push(number);
        }
        if let Err(error) = self.write_new(&numbers) {
            for number in numbers {
                self.disks.remove(&number);
                self.trouble.remove(&number);
                self.board.recorded(number, self.board.faults());
            }
            return Err(error);
        }
        self.pair_disks();
        self.root.rebalance = true;
        self.commit_disks(change)?;
        self.publish_everything();
        Ok(())
    }

    fn write_new(&mut self, numbers: &[u16]) -> Result<(), GroupError> {
        let faults = self.board.faults();
        for &number in numbers {
            self.write_table(number)?;
            let disk = &self.disks[&number];
            let slot = disk.live().expect("a new disk is there");
            // What an earlier life left in its journal area must not be taken for a transaction.
            let journal = u64::from(disk.place.journal_at) * 4096;
            let root = self.root.encode(self.group, self.journal.sequence);
            if self.store.zero(&[(slot, journal, 4096)])?[0].is_err()
                || self.store.write(&[(slot, 4096, &root)])?[0].is_err()
            {
                self.trouble.insert(number);
            }
        }
        self.flush_disks(numbers, faults)?;
        self.write_headers(numbers, true)?;
        if let Some(number) = numbers.iter().find(|n| self.trouble.contains(n)) {
            return Err(GroupError::Io {
                what: "writing metadata",
                disk: self.disk_name(*number),
                fault: targets::IoFault::Errno(5),
            });
        }
        Ok(())
    }

    fn commit_disks(&mut self, mut change: crate::metadata::core::Change) -> Result<(), GroupError> {
        change.touch(Address::Root);
        (0..TABLE).for_each(|index| change.touch(Address::Meta(index)));
        self.commit(change)?;
        self.fill_holders()?;
        self.settle_trouble()
    }

    /// Gives the journal as many holders as it should have, where fewer are left.
    pub(crate) fn fill_holders(&mut self) -> Result<(), GroupError> {
        let best = self.choose_holders();
        if best.len() > self.journal.holders.len() {
            self.checkpoint()
        } else {
            Ok(())
        }
    }

    /// Marks a disk as being dropped; the rebalance empties it.
    pub(crate) fn drop_disk(&mut self, number: u16) -> Result<(), GroupError> {
        self.alive()?;
        let staying: Vec<&Disk> = self
            .disks
            .values()
            .filter(|d| d.takes_new() && d.number != number)
            .collect();
        let groups: BTreeSet<&str> = staying.iter().map(|d| d.failure_group.as_str()).collect();
        let most = self
            .files
            .values()
            .map(|f| f.copies)
            .max()
            .unwrap_or(1)
            .max(self.redundancy.copies());
        if groups.len() < most {
            return Err(GroupError::refused(
                format!(
                    "without disk {} the group has {} failure groups, and files have up to {most} copies",
                    self.disk_name(number),
                    groups.len()
                ),
                "add a disk in another failure group first",
            ));
        }
        let free: u64 = staying.iter().map(|d| u64::from(d.space.free())).sum();
        let used = u64::from(self.disks[&number].space.used());
        if used > free {
            return Err(GroupError::Full {
                what: format!("dropping disk {}", self.disk_name(number)),
                needed: used * self.au(),
                free: free * self.au(),
            });
        }
        let change = self.begin()?;
        let bit = 1 << number;
        if let Some(disk) = self.disks.get_mut(&number) {
            disk.dropping = true;
            disk.partners = 0;
        }
        self.disks.values_mut().for_each(|d| d.partners &= !bit);
        self.pair_disks();
        self.root.rebalance = true;
        self.commit_disks(change)
    }

    /// Takes a dropped disk that is empty out of the group; false when it is not empty yet.
    pub(crate) fn release(&mut self, number: u16) -> Result<bool, GroupError> {
        self.alive()?;
        let Some(disk) = self.disks.get(&number).filter(|d| d.dropping) else {
            return Ok(false);
        };
        if disk.space.used() > 0 && !Planted::ReleasedFull.on() {
            return Ok(false);
        }
        if self.journal.holders.contains(&number) {
            self.journal.holders.retain(|n| *n != number);
            self.checkpoint()?;
        }
        let mut change = self.begin()?;
        let disk = self.disks.remove(&number).expect("just seen");
        self.homeless
            .retain(|a| !matches!(a, Address::Table { disk, .. } if *disk == number));
        change.touch(Address::Meta(table_block(number)));
        self.commit_disks(change)?;
        // Its header says so too, for whoever finds the disk. If the power fails here, the group still does not know
        // it.
        let live = disk.live().is_some();
        self.disks.insert(number, disk);
        let said = if live {
            self.write_headers(&[number], false)
        } else {
            Ok(())
        };
        self.disks.remove(&number);
        self.trouble.remove(&number);
        match said {
            Err(error) if error.is_power_cut() => Err(error),
            _ => Ok(true),
        }
    }

    /// Brings a disk back that was offline. Its metadata are written anew; stale copies are copied by the upkeep.
    pub(crate) fn bring_online(&mut self, number: u16) -> Result<(), GroupError> {
        self.alive()?;
        let disk = &self.disks[&number];
        if disk.online && !disk.failing {
            return Ok(());
        }
        if disk.online {
            return self.trust_again(number);
        }
        let name = disk.name.clone();
        let Some(slot) = disk.slot else {
            return self.find_missing(number);
        };
        let (found, _) = look(&mut self.store, slot)?;
        let whole = match found {
            Found::Header { header, whole }
                if header.group == self.group && header.disk == self.disks[&number].uuid =>
            {
                whole
            }
            _ => {
                return Err(GroupError::NoGroup {
                    what: format!("what is attached as disk {name} is not that disk, or cannot be read"),
                });
            }
        };
        // The disk must hold the journal from the transaction on that has it online: without it, what a later
        // checkpoint writes to it could be half there when the other holders are gone. So a new lap begins with that
        // transaction.
        self.checkpoint()?;
        let change = self.begin()?;
        self.trouble.remove(&number);
        if !Planted::ReturnWithoutTable.on() {
            self.write_returned(number, slot, whole)?;
        }
        if self.trouble.remove(&number) {
            return Err(GroupError::Io {
                what: "writing metadata",
                disk: name,
                fault: targets::IoFault::Errno(5),
            });
        }
        // What it lacks of the time before was recorded when it went, and flushes of it have failed since.
        self.board.recorded(number, self.board.faults());
        let disk = self.disks.get_mut(&number).expect("just seen");
        (disk.online, disk.failing) = (true, false);
        self.journal.holders = self.choose_holders();
        self.commit_disks(change)?;
        // What it has and is not stale is durable there: it was when it left.
        for file in self.files.values() {
            let marks = &file.map.marks;
            let now = marks.clock.load(Ordering::SeqCst);
            marks.settle(number, now);
        }
        self.board.offline.fetch_and(!(1 << number), Ordering::SeqCst);
        self.board.read_faults[usize::from(number)].store(0, Ordering::Relaxed);
        self.publish_everything();
        self.board.advance();
        Ok(())
    }

    /// A disk that failed and could not be taken offline gets new extents and the journal again, when it takes its
    /// metadata.
    fn trust_again(&mut self, number: u16) -> Result<(), GroupError> {
        let slot = self.disks[&number].live();
        self.checkpoint()?;
        self.trouble.remove(&number);
        if let Some(slot) = slot {
            self.write_returned(number, slot, false)?;
        }
        if self.trouble.remove(&number) || slot.is_none() {
            return Err(GroupError::Io {
                what: "writing metadata",
                disk: self.disk_name(number),
                fault: targets::IoFault::Errno(5),
            });
        }
        self.disks.get_mut(&number).expect("just seen").failing = false;
        self.fill_holders()
    }

    /// A disk that was missing at mount may be on one of the port's files now.
    fn find_missing(&mut self, number: u16) -> Result<(), GroupError> {
        for slot in (0..self.names.len() as u16).map(FileId) {
            let (found, _) = look(&mut self.store, slot)?;
            let uuid = self.disks[&number].uuid;
            if matches!(&found, Found::Header { header, .. } if header.group == self.group && header.disk == uuid) {
                self.disks.get_mut(&number).expect("just seen").slot = Some(slot);
                return self.bring_online(number);
            }
        }
        Err(GroupError::Missing {
            disks: vec![self.disk_name(number)],
        })
    }

    /// Writes all metadata of a disk anew while the group still has it offline: what stands there is what is committed,
    /// and the group has it online only when it is durable.
    fn write_returned(&mut self, number: u16, slot: FileId, header_whole: bool) -> Result<(), GroupError> {
        let faults = self.board.faults();
        let only = |disk: &Disk| (disk.number == number).then_some(slot);
        let tables = (0..self.disks[&number].place.table_blocks).map(|index| Address::Table { disk: number, index });
        let mut all: Vec<Address> = tables.chain([Address::Root]).collect();
        for (extent, copies) in self.root.extents.iter().enumerate() {
            if copies.iter().any(|p| p.disk == number) {
                let first = extent as u32 * self.meta_blocks();
                all.extend((first..first + self.meta_blocks()).map(Address::Meta));
            }
        }
        for part in all.chunks(64) {
            match self.write_places(part, &mut Homes::default(), only) {
                // That other disks have them is why the group is alive at all.
                Err(GroupError::Lost { .. }) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        if !header_whole {
            let block = self.header(&self.disks[&number], true).encode();
            for at in [0, second_at(self.disks[&number].bytes)] {
                let written = self.store.write(&[(slot, at, &block)])?;
                if written[0].is_err() || !self.flush_returned(number, slot, faults)? {
                    self.trouble.insert(number);
                }
            }
        }
        if !self.flush_returned(number, slot, faults)? {
            self.trouble.insert(number);
        }
        Ok(())
    }

    fn flush_returned(&mut self, number: u16, slot: FileId, faults: u64) -> Result<bool, GroupError> {
        if self.store.flush(&[slot])?[0].is_err() {
            self.board.doubt(number);
        }
        Ok(!self.board.lost_since(number, faults))
    }
}
