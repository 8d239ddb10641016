//! From the blocks of a group to its state in memory: disks, files, and who owns each unit.
//!
//! What stands on disks was written by somebody, not always by us: every number is held against what there is before it
//! is used, and nothing is allocated that the size of the disks does not bear out. Prevents: a crafted group that
//! panics, or takes all memory.

use crate::error::GroupError;
use crate::layout::block::{Address, BLOCK, BODY};
use crate::layout::disk::{self, Disk};
use crate::layout::file::{self, ENTRY, FREE_BLOCK, File, FileState, Leaf};
use crate::layout::geometry::Geometry;
use crate::layout::header::DISKS_MAX;
use crate::layout::root::Root;
use crate::metadata::core::{Core, Redundancy};
use crate::metadata::create::Parts;
use crate::metadata::files::count;
use crate::metadata::meta_uses::{MetaUse, MetaUses};
use crate::metadata::mount::{Candidate, MountOptions, Reading, lost_metadata, slots_of};
use crate::metadata::space::{META_FILE, Owner, Space};
use crate::port::map::FileMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use targets::{FileId, Port};

/// Units of missing disks that are believed for each unit of a disk that is there: as if all but one of 64 were
/// missing.
const MISSING_MAX: u64 = 64;

/// Whether the members say the same of their group.
fn agree(found: &BTreeMap<u16, Candidate>) -> Result<(), GroupError> {
    let said = |c: &Candidate| {
        let h = &c.header;
        let shape = (h.au_bytes, h.growth_at, h.redundancy, h.sector, h.place.journal_blocks);
        (shape, h.group_name.clone())
    };
    let mut all = found.values();
    let first = all.next().map(said);
    match all.find(|c| Some(said(c)) != first) {
        Some(other) => Err(GroupError::damaged(format!(
            "the header of disk {} describes another group under the same UUID",
            other.header.disk_name
        ))),
        None => Ok(()),
    }
}

/// Whether the extents of the metadata file lie on their disks, each at a place of its own.
fn lie_apart(root: &Root, found: &BTreeMap<u16, Candidate>) -> Result<(), GroupError> {
    let mut taken = BTreeSet::new();
    for pointer in root.extents.iter().flatten() {
        let place = found.get(&pointer.disk).map(|c| c.header.place);
        let inside = place.is_none_or(|p| (p.first_au..p.aus).contains(&pointer.au));
        if !inside || !taken.insert((pointer.disk, pointer.au)) {
            return Err(GroupError::damaged(
                "the root's extents lie on each other or outside of a disk",
            ));
        }
    }
    Ok(())
}

/// The disks of the disk table, with their files below and room for the owners of their units.
fn listed(metas: &[Vec<u8>], found: &BTreeMap<u16, Candidate>, au: u32) -> Result<BTreeMap<u16, Disk>, GroupError> {
    let mut disks = BTreeMap::new();
    let (mut there, mut missing, mut names) = (0, 0, BTreeSet::new());
    for index in 0..disk::TABLE {
        let none = || GroupError::damaged("the metadata file has no disk table");
        let bytes = metas.get(index as usize).filter(|b| !b.is_empty()).ok_or_else(none)?;
        for mut disk in disk::decode(index, bytes, au)? {
            let candidate = found.get(&disk.number).filter(|c| c.header.disk == disk.uuid);
            if candidate.is_some_and(|c| c.header.place != disk.place || c.header.bytes != disk.bytes) {
                let what = format!("disk {}: header and disk table differ on its size", disk.name);
                return Err(GroupError::damaged(what));
            }
            *(if candidate.is_some() { &mut there } else { &mut missing }) += u64::from(disk.place.aus);
            disk.slot = candidate.map(|c| c.slot);
            if !names.insert(disk.name.clone()) {
                return Err(GroupError::damaged(format!("two disks are called {}", disk.name)));
            }
            disks.insert(disk.number, disk);
        }
    }
    if missing > there * MISSING_MAX {
        return Err(GroupError::damaged(
            "the missing disks are larger than any group of these could be",
        ));
    }
    for disk in disks.values_mut() {
        disk.space = Space::new(disk.place);
    }
    Ok(disks)
}

impl<P: Port> Core<P> {
    /// Puts disks and metadata file together; gives the content of each of its blocks.
    pub(crate) fn read_disks(
        mut reading: Reading<P>,
        root: Root,
        sequence: u64,
        options: &MountOptions,
    ) -> Result<(Core<P>, Vec<Vec<u8>>), GroupError> {
        let header = reading.found.values().next().expect("a disk was found").header.clone();
        let (au, slots) = (header.au_bytes, slots_of(&reading.found));
        let per_extent = au / BLOCK as u32;
        agree(&reading.found)?;
        lie_apart(&root, &reading.found)?;
        let mut metas = Vec::new();
        for index in 0..root.extents.len() as u32 * per_extent {
            let copies = &root.extents[(index / per_extent) as usize];
            let inner = u64::from(index % per_extent) * BLOCK as u64;
            let places: Vec<(FileId, u64)> = copies
                .iter()
                .filter_map(|p| Some((*slots.get(&p.disk)?, u64::from(p.au) * u64::from(au) + inner)))
                .collect();
            let bytes = reading.block(Address::Meta(index), &places)?;
            let bytes = bytes.ok_or_else(|| lost_metadata(&root, &slots, &reading.found))?;
            // Of blocks without content nothing is kept: a metadata file may be large and empty.
            metas.push(if bytes[BODY] == FREE_BLOCK { Vec::new() } else { bytes });
        }
        let disks = listed(&metas, &reading.found, au)?;
        let geometry = Geometry {
            au_bytes: au,
            growth_at: header.growth_at,
        };
        let redundancy = Redundancy::of_copies(usize::from(header.redundancy))
            .ok_or_else(|| GroupError::damaged("the redundancy in the header"))?;
        let names = options.names.clone();
        let mut core = Core::assemble(
            reading.store,
            Parts {
                group: reading.group,
                redundancy,
                geometry,
                root,
                disks,
                names,
            },
        );
        core.journal.blocks = header.place.journal_blocks;
        core.journal.sequence = sequence;
        core.journal.incarnation = core.root.incarnation.max(reading.chain.incarnation);
        // Tables of disks that have been released since have no home, nor has what only looks like a block of this
        // group.
        let has_home = |address: &Address| match address {
            Address::Table { disk, index } => core.disks.get(disk).is_some_and(|d| *index < d.place.table_blocks),
            Address::Meta(index) => (*index as usize) < metas.len(),
            other => *other == Address::Root,
        };
        let homeless = reading
            .overlay
            .into_keys()
            .chain(reading.behind)
            .filter(has_home)
            .collect();
        core.homeless = homeless;
        core.preferred.clone_from(&options.preferred);
        core.verify.clone_from(&options.verify);
        let damaged = reading.found.values().filter(|c| !c.whole).map(|c| c.header.number);
        core.trouble = damaged.collect();
        Ok((core, metas))
    }

    /// Files with their maps, and the owner of every unit.
    pub(crate) fn read_files(&mut self, metas: &[Vec<u8>]) -> Result<(), GroupError> {
        self.meta_uses = MetaUses::default();
        self.meta_uses.grow(metas.len() as u32);
        (0..disk::TABLE).for_each(|block| self.meta_uses.set(block, MetaUse::Disks));
        for extent in 0..self.root.extents.len() {
            for (copy, pointer) in self.root.extents[extent].clone().into_iter().enumerate() {
                self.own(pointer, 1, Owner::new(META_FILE, extent as u32, copy))?;
            }
        }
        for (index, bytes) in metas.iter().enumerate().skip(disk::TABLE as usize) {
            if bytes.get(BODY) == Some(&ENTRY) {
                self.read_file(index as u32, bytes, metas)?;
            }
        }
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for file in self.files.values() {
            if !names.insert(&file.name) {
                return Err(GroupError::damaged(format!("two files are called {}", file.name)));
            }
        }
        match self.files.keys().next_back() {
            Some(newest) if *newest >= self.root.next_file => {
                Err(GroupError::damaged("the root's number of the next file"))
            }
            _ => Ok(()),
        }
    }

    fn own(&mut self, pointer: file::Pointer, units: u32, owner: Owner) -> Result<(), GroupError> {
        if !self.disks.contains_key(&pointer.disk) || !self.take(pointer.disk, pointer.au, units, owner) {
            let (disk, au) = (self.disk_name(pointer.disk), pointer.au);
            return Err(GroupError::damaged(format!(
                "unit {au} of disk {disk} has two owners or lies outside of the disk (file {}, extent {})",
                owner.0 >> 32,
                owner.0 as u32 >> 2
            )));
        }
        Ok(())
    }

    fn use_block(&mut self, block: u32, as_what: MetaUse) -> Result<(), GroupError> {
        if self.meta_uses.get(block) != Some(MetaUse::Free) {
            return Err(GroupError::damaged(format!("block {block} has two uses or is none")));
        }
        self.meta_uses.set(block, as_what);
        Ok(())
    }

    fn read_file(&mut self, block: u32, bytes: &[u8], metas: &[Vec<u8>]) -> Result<(), GroupError> {
        let entry = file::decode_entry(block, bytes)?;
        self.use_block(block, MetaUse::Entry(entry.number))?;
        let (mut leaves, mut pointers) = (Vec::new(), Vec::new());
        for (index, &leaf) in entry.leaves.iter().enumerate() {
            let index = index as u32;
            self.use_block(
                leaf,
                MetaUse::Leaf {
                    file: entry.number,
                    index,
                },
            )?;
            let (more, dirty) = file::decode_leaf(leaf, &metas[leaf as usize], &entry, index)?;
            leaves.push(Leaf { block: leaf, dirty });
            pointers.extend(more);
        }
        let mut file = File {
            number: entry.number,
            name: entry.name,
            copies: entry.copies,
            fine: entry.fine,
            state: entry.state,
            size: entry.size,
            entry: block,
            leaves,
            pointers,
            map: Arc::new(FileMap::new(entry.number, "", entry.copies, entry.fine, 0)),
            outgrown: Vec::new(),
            unsure: false,
            draft: false,
            scratch: false,
            opens: 0,
            load: vec![[0; 2]; usize::from(DISKS_MAX)],
        };
        for extent in 0..file.extents() {
            let units = self.geometry.extent_units(extent);
            for (copy, pointer) in file.pointers_of(extent).to_vec().into_iter().enumerate() {
                self.own(pointer, units, Owner::new(file.number, extent, copy))?;
                count(&mut file.load, pointer.disk, copy, i64::from(units));
            }
        }
        // Only now: units that are owned are units that are there.
        let units = self.geometry.units(entry.extents, entry.fine);
        if file.state == FileState::Live && file.size > units * self.au() {
            return Err(GroupError::damaged(format!(
                "file {} has more bytes than extents",
                file.name
            )));
        }
        let map = FileMap::new(file.number, &file.name, file.copies, file.fine, units as usize);
        map.set_length(file.size);
        if file.copies == 1 {
            // Copies of mirrored files were compared and flushed where a write may have been under way.
            let disks = (0..DISKS_MAX).filter(|disk| file.load[usize::from(*disk)][0] > 0);
            map.inherit(disks);
        }
        file.map = Arc::new(map);
        if self.files.insert(file).is_some() {
            return Err(GroupError::damaged(format!(
                "two directory entries of file {}",
                entry.number
            )));
        }
        Ok(())
    }
}
