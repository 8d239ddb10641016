//! The owner of the metadata: the whole state in memory, and the one way to change it: [`Core::commit`].
//!
//! A change names the blocks it touches; their new content is journalled, flushed, and written home later, when the
//! journal is full. Prevents: a change of metadata that does not pass through the journal.

use crate::error::GroupError;
use crate::layout::block::{Address, BLOCK};
use crate::layout::disk::{self, Disk};
use crate::layout::file::encode_free;
use crate::layout::geometry::Geometry;
use crate::layout::journal::{self, IMAGES_MAX, Journal};
use crate::layout::root::Root;
use crate::metadata::directory::Directory;
use crate::metadata::meta_uses::{MetaUse, MetaUses};
use crate::metadata::space::{Orphan, Owner, Run, Space};
use crate::metadata::store::Store;
use crate::planted::Planted;
use crate::port::board::Board;
use crate::sharing::heard::Hearing;
use crate::uuid::Uuid;
use crate::verify::Verify;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use targets::{FileId, Port};

/// How many copies files have unless they say otherwise, and how many disks may be lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Redundancy {
    /// One copy: the storage below is trusted.
    External,
    /// Two copies in different failure groups.
    Normal,
    /// Three copies in different failure groups.
    High,
}

impl Redundancy {
    /// Copies of each extent.
    pub fn copies(self) -> usize {
        self as usize + 1
    }

    pub(crate) fn of_copies(copies: usize) -> Option<Redundancy> {
        [Redundancy::External, Redundancy::Normal, Redundancy::High]
            .get(copies.checked_sub(1)?)
            .copied()
    }
}

/// The blocks that a change touches.
#[derive(Default)]
pub(crate) struct Change(BTreeSet<Address>);

impl Change {
    pub(crate) fn touch(&mut self, address: Address) {
        self.0.insert(address);
    }
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The entries of these units in their disk's table.
    pub(crate) fn touch_units(&mut self, disk: u16, from: u32, units: u32) {
        for index in Space::blocks(from, units) {
            self.touch(Address::Table { disk, index });
        }
    }
}

/// Where blocks were written to.
#[derive(Default)]
pub(crate) struct Homes {
    /// Disks that took some, and that refused some, as bits.
    pub(crate) disks: u64,
    pub(crate) refused: u64,
    /// For each block that must be durable somewhere: disks that took it, as bits.
    needed: Vec<u64>,
}

/// The disks of a set of bits.
pub(crate) fn bits(disks: u64) -> Vec<u16> {
    (0..64).filter(|d| disks >> d & 1 == 1).collect()
}

/// Units that become free in memory only when an epoch has been reached.
pub(crate) struct Limbo {
    pub(crate) epoch: u64,
    pub(crate) run: Run,
}

/// The state of a group.
pub(crate) struct Core<P> {
    pub(crate) store: Store<P>,
    pub(crate) board: Arc<Board>,
    pub(crate) group: Uuid,
    pub(crate) redundancy: Redundancy,
    pub(crate) geometry: Geometry,
    pub(crate) root: Root,
    pub(crate) disks: BTreeMap<u16, Disk>,
    pub(crate) files: Directory,
    pub(crate) meta_uses: MetaUses,
    pub(crate) journal: Journal,
    /// Blocks whose newest content is in the journal and not yet at home.
    pub(crate) homeless: BTreeSet<Address>,
    /// Disks on which an I/O of the metadata failed, not yet dealt with.
    pub(crate) trouble: BTreeSet<u16>,
    pub(crate) dead: Option<String>,
    /// Opened beside the owner of the metadata, in another process: nothing here may change them.
    pub(crate) frozen: bool,
    /// What that owner told, where it is so.
    pub(crate) hearing: Hearing,
    /// Extents (file, extent) whose copies could not be made equal: their regions stay recorded as dirty until they
    /// are.
    pub(crate) unequal: BTreeSet<(u32, u32)>,
    /// Extents (file, extent) that are being copied.
    pub(crate) held: BTreeSet<(u32, u32)>,
    /// What an upkeep that went left to the next one: units that an older request may still go to.
    pub(crate) limbo: Vec<Limbo>,
    /// Units of deleted files that an I/O of the mover may still go to, by extent.
    pub(crate) orphans: Vec<Orphan>,
    /// Failure group to read from where there is a choice.
    pub(crate) preferred: Option<String>,
    pub(crate) verify: Option<Arc<dyn Verify>>,
    /// Raised by everything that makes a plan of moves out of date.
    pub(crate) layout_version: u64,
    /// Paths or names of the files of the port below, for messages.
    pub(crate) names: Vec<String>,
}

impl<P: Port> Core<P> {
    pub(crate) fn au(&self) -> u64 {
        u64::from(self.geometry.au_bytes)
    }

    /// Blocks of the metadata file in one of its extents.
    pub(crate) fn meta_blocks(&self) -> u32 {
        self.geometry.au_bytes / BLOCK as u32
    }

    /// Blocks that one change may touch so that it surely fits.
    pub(crate) fn change_limit(&self) -> usize {
        IMAGES_MAX.min(self.journal.blocks as usize / 2 - 1)
    }

    pub(crate) fn alive(&self) -> Result<(), GroupError> {
        match &self.dead {
            Some(what) => Err(GroupError::Dead { what: what.clone() }),
            None => Ok(()),
        }
    }

    /// An error where the metadata are another's.
    pub(crate) fn may_change(&self) -> Result<(), GroupError> {
        match self.frozen {
            true => Err(GroupError::Frozen {
                what: "its metadata must change".to_string(),
            }),
            false => Ok(()),
        }
    }

    pub(crate) fn disk_name(&self, number: u16) -> String {
        self.disks
            .get(&number)
            .map_or_else(|| format!("number {number}"), |d| d.name.clone())
    }

    /// The content of a block as memory has it.
    pub(crate) fn image(&self, address: Address, sequence: u64) -> Box<[u8]> {
        match address {
            Address::Root => self.root.encode(self.group, sequence),
            Address::Table { disk, index } => self.disks[&disk].space.encode(index, disk, self.group, sequence),
            Address::Meta(index) => match self.meta_uses[index] {
                MetaUse::Free => encode_free(index, self.group, sequence),
                MetaUse::Disks => disk::encode(index, self.disks.values(), self.group, sequence),
                MetaUse::Entry(file) => self.files[&file].encode_entry(self.group, sequence),
                MetaUse::Leaf { file, index } => self.files[&file].encode_leaf(index, self.group, sequence),
            },
            Address::Header(_) | Address::Journal => unreachable!("neither headers nor the journal are journalled"),
        }
    }

    /// Where a block's home is, on all disks that can be written.
    pub(crate) fn homes(&self, address: Address) -> Vec<(u16, FileId, u64)> {
        self.places(address, Disk::live)
    }

    /// Where a block's home is, on the disks that `open` gives a file for.
    pub(crate) fn places(&self, address: Address, open: impl Fn(&Disk) -> Option<FileId>) -> Vec<(u16, FileId, u64)> {
        let live = |number: u16| Some((number, self.disks.get(&number).and_then(&open)?));
        match address {
            Address::Root => {
                let disks = self.disks.keys().filter_map(|&n| live(n));
                disks.map(|(n, slot)| (n, slot, BLOCK as u64)).collect()
            }
            Address::Table { disk, index } => live(disk)
                .map(|(n, slot)| {
                    let block = self.disks[&disk].place.table_at + index;
                    (n, slot, u64::from(block) * BLOCK as u64)
                })
                .into_iter()
                .collect(),
            Address::Meta(index) => {
                let (extent, block) = (index / self.meta_blocks(), index % self.meta_blocks());
                let copies = self.root.extents[extent as usize].iter();
                copies
                    .filter_map(|p| {
                        let (n, slot) = live(p.disk)?;
                        let inside = u64::from(block) * BLOCK as u64;
                        Some((n, slot, u64::from(p.au) * self.au() + inside))
                    })
                    .collect()
            }
            Address::Header(_) | Address::Journal => Vec::new(),
        }
    }

    /// Begins a change: makes room for it in the journal. Nothing in memory may have been changed yet, because what is
    /// written home is the state in memory.
    pub(crate) fn begin(&mut self) -> Result<Change, GroupError> {
        self.alive()?;
        self.may_change()?;
        let needed = 1 + self.change_limit() as u32;
        if self.journal.position + needed > self.journal.blocks || self.journal.holders.is_empty() {
            self.checkpoint()?;
        }
        Ok(Change::default())
    }

    /// Makes a change durable. The state in memory has been changed already.
    pub(crate) fn commit(&mut self, change: Change) -> Result<(), GroupError> {
        self.alive()?;
        if change.is_empty() {
            return Ok(());
        }
        self.layout_version += 1;
        let result = self.append(change);
        if let Err(error) = &result {
            self.dead.get_or_insert_with(|| error.to_string());
        }
        result
    }

    fn append(&mut self, mut change: Change) -> Result<(), GroupError> {
        change.0.retain(|address| match address {
            Address::Table { .. } => !Planted::TableForgotten.on(),
            Address::Root => !Planted::RootForgotten.on(),
            Address::Meta(index) => {
                !(Planted::EntryForgotten.on() && matches!(self.meta_uses[*index], MetaUse::Entry(_)))
            }
            _ => true,
        });
        let blocks = 1 + change.len() as u32;
        assert!(
            self.journal.position + blocks <= self.journal.blocks,
            "a change of {blocks} blocks does not fit in the journal: `begin` makes room for {}",
            self.change_limit()
        );
        let sequence = self.journal.sequence + 1;
        let images: Vec<_> = change.0.iter().map(|&a| (a, self.image(a, sequence))).collect();
        let bytes = journal::encode(&images, self.group, self.journal.incarnation, sequence);
        if self.write_journal(&bytes)?.is_empty() {
            return Err(self.lost());
        }
        self.journal.position += blocks;
        self.journal.sequence = sequence;
        self.homeless.extend(change.0);
        Ok(())
    }

    /// Writes a transaction to all holders and flushes it; gives the holders that have it. The others are holders no
    /// more.
    fn write_journal(&mut self, bytes: &[u8]) -> Result<Vec<u16>, GroupError> {
        let at = |disk: &Disk, position| u64::from(disk.place.journal_at + position) * BLOCK as u64;
        let position = self.journal.position;
        let holders: Vec<(u16, FileId, u64)> = self
            .journal
            .holders
            .iter()
            .filter_map(|n| self.disks.get(n).and_then(|d| Some((*n, d.live()?, at(d, position)))))
            .collect();
        let mut items: Vec<_> = holders.iter().map(|&(_, slot, offset)| (slot, offset, bytes)).collect();
        if Planted::JournalOnOneDisk.on() {
            items.truncate(1);
        }
        let faults = self.board.faults();
        let mut good: Vec<bool> = self.store.write(&items)?.iter().map(Result::is_ok).collect();
        good.resize(holders.len(), true);
        if !Planted::JournalFlushLeftOut.on() {
            let numbers: Vec<u16> = holders.iter().map(|h| h.0).collect();
            let failed = self.flush_disks(&numbers, faults)?;
            for (good, number) in good.iter_mut().zip(&numbers) {
                *good &= !failed.contains(number);
            }
        }
        let mut have = Vec::new();
        for (&(number, ..), good) in holders.iter().zip(good) {
            if good {
                have.push(number);
            } else {
                self.trouble.insert(number);
            }
        }
        self.journal.holders = have.clone();
        Ok(have)
    }

    /// Writes every block home, flushes, and begins a new lap of the journal on the disks that hold it best. When a
    /// block is durable nowhere, the journal stays as it is, for the next mount.
    pub(crate) fn checkpoint(&mut self) -> Result<(), GroupError> {
        self.may_change()?;
        let homes = self.bring_home();
        if let Err(error) = &homes {
            self.dead.get_or_insert_with(|| error.to_string());
        }
        homes
    }

    fn bring_home(&mut self) -> Result<(), GroupError> {
        let addresses: Vec<Address> = std::mem::take(&mut self.homeless).into_iter().collect();
        let (faults, mut homes) = (self.board.faults(), Homes::default());
        for part in addresses.chunks(64) {
            if Planted::HomesForgotten.on() {
                break;
            }
            self.write_homes(part, &mut homes)?;
        }
        if !Planted::HomesUnflushed.on() {
            let failed = self.flush_disks(&bits(homes.disks), faults)?;
            let failed = failed.iter().fold(0, |bits, d| bits | 1 << d);
            if homes.needed.iter().any(|on| on & !failed == 0) {
                return Err(self.lost());
            }
        }
        self.journal.position = 0;
        self.journal.holders = self.choose_holders();
        Ok(())
    }

    /// Writes blocks to their homes. A disk that fails is remembered; a block that got nowhere is an error.
    pub(crate) fn write_homes(&mut self, addresses: &[Address], homes: &mut Homes) -> Result<(), GroupError> {
        self.write_places(addresses, homes, Disk::live)
    }

    /// The same on the disks that `open` gives a file for.
    pub(crate) fn write_places(
        &mut self,
        addresses: &[Address],
        homes: &mut Homes,
        open: impl Fn(&Disk) -> Option<FileId>,
    ) -> Result<(), GroupError> {
        let sequence = self.journal.sequence;
        let images: Vec<_> = addresses.iter().map(|&a| (a, self.image(a, sequence))).collect();
        let mut places = Vec::new();
        for (nth, (address, _)) in images.iter().enumerate() {
            places.extend(self.places(*address, &open).into_iter().map(|home| (nth, home)));
        }
        let items: Vec<(FileId, u64, &[u8])> = places
            .iter()
            .map(|&(nth, (_, slot, offset))| (slot, offset, &*images[nth].1))
            .collect();
        let outcomes = self.store.write(&items)?;
        let mut arrived = vec![0; images.len()];
        for (&(nth, (number, ..)), outcome) in places.iter().zip(&outcomes) {
            if outcome.is_ok() {
                arrived[nth] |= 1 << number;
                homes.disks |= 1 << number;
            } else {
                self.trouble.insert(number);
                homes.refused |= 1 << number;
            }
        }
        for ((address, _), on) in images.iter().zip(arrived) {
            // The table of a disk can be made anew from the maps; these cannot be made from anything.
            if matches!(address, Address::Meta(_) | Address::Root) {
                if on == 0 {
                    return Err(self.lost());
                }
                homes.needed.push(on);
            }
        }
        Ok(())
    }

    /// Flushes disks; those that fail, or on which another flush has failed since there were `faults` of them, are
    /// remembered and given back: what was written there since then is not durable and never will be.
    pub(crate) fn flush_disks(&mut self, disks: &[u16], faults: u64) -> Result<Vec<u16>, GroupError> {
        let live: Vec<(u16, FileId)> = disks
            .iter()
            .filter_map(|n| Some((*n, self.disks.get(n)?.live()?)))
            .collect();
        let slots: Vec<FileId> = live.iter().map(|l| l.1).collect();
        let mut outcomes = self.store.flush(&slots)?;
        if Planted::FailedFlushTriedAgain.on() && outcomes.iter().any(Result::is_err) {
            outcomes = self.store.flush(&slots)?;
        }
        let mut failed = Vec::new();
        for ((number, _), outcome) in live.iter().zip(outcomes) {
            if outcome.is_err() {
                self.board.doubt(*number);
            }
            if self.board.lost_since(*number, faults) {
                failed.push(*number);
            }
        }
        self.trouble.extend(&failed);
        Ok(failed)
    }

    /// How many copies the metadata have.
    pub(crate) fn meta_copies(&self) -> usize {
        let groups: BTreeSet<&str> = self.disks.values().map(|d| d.failure_group.as_str()).collect();
        match self.redundancy {
            Redundancy::External => 1,
            Redundancy::Normal | Redundancy::High => groups.len().clamp(2, 3),
        }
    }

    /// The disks to hold the journal: those that do, then others, in different failure groups.
    pub(crate) fn choose_holders(&self) -> Vec<u16> {
        let mut chosen: Vec<u16> = Vec::new();
        let now = self.journal.holders.iter().filter_map(|n| self.disks.get(n));
        let fit = |d: &&Disk| d.takes_new() && !self.trouble.contains(&d.number);
        for disk in now.chain(self.disks.values()).filter(fit) {
            let same = |n: &u16| self.disks[n].failure_group == disk.failure_group;
            if chosen.len() < self.meta_copies() && !chosen.iter().any(same) {
                chosen.push(disk.number);
            }
        }
        if chosen.is_empty() {
            // All have failed something: any that is not just leaving, and those first that nobody has given up.
            let rest = self
                .disks
                .values()
                .filter(|d| d.live().is_some() && !self.board.is_offline(d.number));
            chosen.extend(rest.min_by_key(|d| (d.failing, d.number)).map(|d| d.number));
        }
        chosen
    }

    /// The error for metadata that no disk can hold any more.
    pub(crate) fn lost(&self) -> GroupError {
        let gone = |d: &&Disk| d.live().is_none() || self.trouble.contains(&d.number);
        GroupError::Lost {
            disks: self.disks.values().filter(gone).map(|d| d.name.clone()).collect(),
            files: Vec::new(),
        }
    }

    /// Takes units on a disk for an owner.
    pub(crate) fn take(&mut self, disk: u16, au: u32, units: u32, owner: Owner) -> bool {
        self.disks
            .get_mut(&disk)
            .is_some_and(|d| d.space.take(au, units, owner))
    }

    /// Gives a deleted file's units back, unless the mover may still write there.
    pub(crate) fn give_back(&mut self, orphan: Orphan) {
        let held = self.held.contains(&(orphan.file, orphan.extent));
        let Run { disk, au, units } = orphan.run;
        let Some(space) = self.disks.get_mut(&disk).map(|d| &mut d.space) else {
            return;
        };
        if held {
            space.hand_over(au, units, Owner::LIMBO);
            self.orphans.push(orphan);
        } else {
            space.release(au, units);
        }
    }
}
