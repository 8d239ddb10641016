//! Opening a group: finding its disks, replaying its journal, reading its metadata, bringing its copies in order.
//!
//! Prevents: a group opened from an old disk because it was asked first, and copies that differ after a crash.

use crate::block::{self, Address, BLOCK, BODY};
use crate::core::{Core, MetaUse, Redundancy};
use crate::create::look;
use crate::disk;
use crate::error::GroupError;
use crate::file::{self, ENTRY, File, FileState, LEAF_EXTENTS, Leaf};
use crate::files::count;
use crate::geometry::Geometry;
use crate::header::{DISKS_MAX, Found, Header};
use crate::journal::{self, Chain};
use crate::map::FileMap;
use crate::planted::Planted;
use crate::root::Root;
use crate::space::{META_FILE, Owner};
use crate::store::Store;
use crate::uuid::Uuid;
use crate::verify::Verify;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use targets::{FileId, Port};

/// Bytes of a journal read beyond what is needed.
const JOURNAL_STEP: usize = 7 * BLOCK;

/// How to open a group.
#[derive(Clone, Default)]
pub struct MountOptions {
    /// Name of the group; `None`: the only one on the disks given.
    pub group: Option<String>,
    /// Open although disks are missing, as far as the redundancy allows. They are taken offline.
    pub force: bool,
    /// Failure group to read from where there is a choice.
    pub preferred: Option<String>,
    /// Judge of pages: with it, copies that differ after a crash are settled by what is good, not by which is first.
    pub verify: Option<Arc<dyn Verify>>,
    /// Paths of the port's files in order, for messages.
    pub names: Vec<String>,
}

/// What was found and done at opening.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Mounted {
    /// Transactions of the journal that were replayed came up to this sequence.
    pub sequence: u64,
    /// Disks that were not there and are offline now.
    pub missing: Vec<String>,
    /// Disks with one damaged header; it was written again.
    pub headers_repaired: Vec<String>,
    /// Disks whose allocation table was behind; it was written again. Only after a mount without the disk was cut short.
    pub tables_repaired: Vec<String>,
    /// Regions of 128 extents that were being written when the group was last in use, and have been compared.
    pub regions_settled: u64,
    /// Extents of them of which a copy had to be written again.
    pub extents_settled: u64,
    /// Disks that refused a part of that, in a write or a flush: what they lack is recorded as stale.
    pub repairs_refused: Vec<String>,
    /// Files half made or half deleted, which are gone now.
    pub files_removed: Vec<String>,
}

struct Candidate {
    slot: FileId,
    header: Header,
    whole: bool,
}

/// Everything read before anything is written.
struct Reading<P> {
    store: Store<P>,
    group: Uuid,
    found: BTreeMap<u16, Candidate>,
    chain: Chain,
    overlay: BTreeMap<Address, Vec<u8>>,
    /// Blocks of which a copy is old or damaged.
    behind: BTreeSet<Address>,
}

impl<P: Port> Reading<P> {
    /// The newest whole copy of a block, in the journal or at home: a journal can be older than what is at home, when the disks
    /// that held the newer one are gone. `None` for a block of which no copy could be read.
    fn block(&mut self, address: Address, places: &[(FileId, u64)]) -> Result<Option<Vec<u8>>, GroupError> {
        let items: Vec<_> = places.iter().map(|&(slot, at)| (slot, at, BLOCK as u64)).collect();
        let mut copies: Vec<Vec<u8>> = self.store.read(&items)?.into_iter().flatten().collect();
        copies.extend(self.overlay.get(&address).cloned());
        let unwritten = copies.iter().any(|bytes| bytes.iter().all(|&b| b == 0));
        let (some, count) = (!copies.is_empty(), copies.len());
        let whole = copies.into_iter().filter_map(|bytes| {
            let sequence = block::open(&bytes, self.group, address).ok()?;
            Some((sequence, bytes))
        });
        let whole: Vec<(u64, Vec<u8>)> = whole.collect();
        let differ = whole.iter().any(|w| w.0 != whole[0].0) || (!whole.is_empty() && whole.len() < count);
        if differ {
            self.behind.insert(address);
        }
        let newest = whole
            .into_iter()
            .max_by_key(|(sequence, _)| *sequence)
            .map(|(_, bytes)| bytes);
        if newest.is_none() && !unwritten && some {
            return Err(GroupError::damaged(format!("no copy of {address:?} is whole")));
        }
        Ok(newest.or_else(|| unwritten.then(|| vec![0; BLOCK])))
    }
}

fn candidates<P: Port>(store: &mut Store<P>, options: &MountOptions) -> Result<Vec<Candidate>, GroupError> {
    let mut found = Vec::new();
    for slot in (0..options.names.len().min(256) as u16).map(FileId) {
        match look(store, slot)?.0 {
            Found::Header { header, whole } if header.member => found.push(Candidate {
                slot,
                header: *header,
                whole,
            }),
            Found::Newer(version) => {
                return Err(GroupError::Newer {
                    disk: options.names[usize::from(slot.0)].clone(),
                    found: version,
                    known: crate::FORMAT_VERSION,
                });
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The disks of the one group that was asked for.
fn choose(all: Vec<Candidate>, options: &MountOptions) -> Result<(Uuid, BTreeMap<u16, Candidate>), GroupError> {
    let wanted = |c: &&Candidate| options.group.as_ref().is_none_or(|name| *name == c.header.group_name);
    let groups: BTreeSet<Uuid> = all.iter().filter(wanted).map(|c| c.header.group).collect();
    let names: BTreeSet<&str> = all.iter().map(|c| c.header.group_name.as_str()).collect();
    let mut ids = groups.iter();
    let (Some(&group), None) = (ids.next(), ids.next()) else {
        let asked = options.group.as_deref().unwrap_or("any name");
        return Err(GroupError::NoGroup {
            what: format!(
                "{} disk groups of {asked} on {} files (groups there: {names:?})",
                groups.len(),
                options.names.len()
            ),
        });
    };
    let mut found = BTreeMap::new();
    for candidate in all.into_iter().filter(|c| c.header.group == group) {
        let name = options.names[usize::from(candidate.slot.0)].clone();
        if let Some(other) = found.insert(candidate.header.number, candidate) {
            let other = &options.names[usize::from(other.slot.0)];
            return Err(GroupError::refused(
                format!("{name} and {other} both say that they are the same disk of the group"),
                "name each disk once, and no copy of it",
            ));
        }
    }
    Ok((group, found))
}

/// Reads the journal of a disk as far as it goes.
fn read_journal<P: Port>(store: &mut Store<P>, group: Uuid, candidate: &Candidate) -> Result<Chain, GroupError> {
    let place = &candidate.header.place;
    let start = u64::from(place.journal_at) * BLOCK as u64;
    let all = place.journal_blocks as usize * BLOCK;
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let chain = journal::scan(&bytes, group);
        let wanted = (chain.seen + JOURNAL_STEP).min(all);
        if chain.seen <= bytes.len() || wanted <= bytes.len() {
            return Ok(chain);
        }
        let from = start + bytes.len() as u64;
        match &store.read(&[(candidate.slot, from, (wanted - bytes.len()) as u64)])?[0] {
            Ok(more) => bytes.extend_from_slice(more),
            // What cannot be read is not there: another holder has it.
            Err(_) => return Ok(chain),
        }
    }
}

/// Reads the journals of all disks and keeps the newest.
fn newest_journal<P: Port>(
    store: &mut Store<P>,
    group: Uuid,
    found: &BTreeMap<u16, Candidate>,
) -> Result<Chain, GroupError> {
    let mut best = Chain::default();
    for candidate in found.values() {
        let chain = read_journal(store, group, candidate)?;
        let newer = (chain.incarnation, chain.sequence) > (best.incarnation, best.sequence);
        if newer != Planted::OldestJournalUsed.on() || best.sequence == 0 {
            best = chain;
        }
    }
    Ok(best)
}

impl<P: Port> Core<P> {
    /// Opens a group.
    pub(crate) fn mount(port: P, options: &MountOptions) -> Result<(Core<P>, Mounted), GroupError> {
        let mut store = Store::new(port)?;
        let all = candidates(&mut store, options)?;
        let (group, found) = choose(all, options)?;
        let chain = newest_journal(&mut store, group, &found)?;
        let overlay = chain.images.iter().cloned().collect();
        let mut reading = Reading {
            store,
            group,
            found,
            chain,
            overlay,
            behind: BTreeSet::new(),
        };
        let (root, sequence) = read_root(&mut reading)?;
        let (mut core, metas) = Core::read_disks(reading, root, sequence, options)?;
        core.read_files(&metas)?;
        let mut mounted = Mounted {
            sequence,
            ..Mounted::default()
        };
        core.check_presence(options.force, &mut mounted)?;
        core.replay(&mut mounted)?;
        core.publish_everything();
        core.remove_unfinished(&mut mounted)?;
        core.settle(&mut mounted)?;
        core.publish_everything();
        core.settle_trouble()?;
        Ok((core, mounted))
    }

    /// Puts disks and metadata file together; gives the content of each of its blocks.
    fn read_disks(
        mut reading: Reading<P>,
        root: Root,
        sequence: u64,
        options: &MountOptions,
    ) -> Result<(Core<P>, Vec<Vec<u8>>), GroupError> {
        let header = reading.found.values().next().expect("a disk was found").header.clone();
        let (au, slots) = (header.au_bytes, slots_of(&reading.found));
        let per_extent = au / BLOCK as u32;
        let mut metas = Vec::new();
        for index in 0..root.extents.len() as u32 * per_extent {
            let copies = &root.extents[(index / per_extent) as usize];
            let inner = u64::from(index % per_extent) * BLOCK as u64;
            let places: Vec<(FileId, u64)> = copies
                .iter()
                .filter_map(|p| Some((*slots.get(&p.disk)?, u64::from(p.au) * u64::from(au) + inner)))
                .collect();
            let bytes = reading.block(Address::Meta(index), &places)?;
            metas.push(bytes.ok_or_else(|| lost_metadata(&root, &slots, &reading.found))?);
        }
        let mut disks = BTreeMap::new();
        for index in 0..disk::TABLE {
            let missing = || GroupError::damaged("the metadata file is too short");
            let bytes = metas.get(index as usize).ok_or_else(missing)?;
            for mut disk in disk::decode(index, bytes, au)? {
                let candidate = reading.found.get(&disk.number).filter(|c| c.header.disk == disk.uuid);
                disk.slot = candidate.map(|c| c.slot);
                disks.insert(disk.number, disk);
            }
        }
        let geometry = Geometry {
            au_bytes: au,
            growth_at: header.growth_at,
        };
        let redundancy = Redundancy::of_copies(usize::from(header.redundancy))
            .ok_or_else(|| GroupError::damaged("the redundancy in the header"))?;
        let names = options.names.clone();
        let mut core = Core::assemble(reading.store, reading.group, redundancy, geometry, root, disks, names);
        core.journal.blocks = header.place.journal_blocks;
        core.journal.sequence = sequence;
        core.journal.incarnation = core.root.incarnation.max(reading.chain.incarnation);
        // Tables of disks that have been released since have no home.
        let has_home = |a: &Address| !matches!(a, Address::Table { disk, .. } if !core.disks.contains_key(disk));
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
    fn read_files(&mut self, metas: &[Vec<u8>]) -> Result<(), GroupError> {
        self.meta_uses = vec![MetaUse::Free; metas.len()];
        self.meta_uses[..disk::TABLE as usize].fill(MetaUse::Disks);
        for extent in 0..self.root.extents.len() {
            for (copy, pointer) in self.root.extents[extent].clone().into_iter().enumerate() {
                self.own(pointer, 1, Owner::new(META_FILE, extent as u32, copy))?;
            }
        }
        for (index, bytes) in metas.iter().enumerate().skip(disk::TABLE as usize) {
            if bytes[BODY] == ENTRY {
                self.read_file(index as u32, bytes, metas)?;
            }
        }
        Ok(())
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
        match self.meta_uses.get_mut(block as usize) {
            Some(used @ MetaUse::Free) => *used = as_what,
            _ => return Err(GroupError::damaged(format!("block {block} has two uses or is none"))),
        }
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
        let units = self.geometry.units(entry.extents, entry.fine) as usize;
        let map = FileMap::new(entry.number, &entry.name, entry.copies, entry.fine, units);
        map.size.store(entry.size, std::sync::atomic::Ordering::Release);
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
            map: Arc::new(map),
            outgrown: Vec::new(),
            unsure: false,
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
        if self.files.insert(file.number, file).is_some() {
            return Err(GroupError::damaged(format!(
                "two directory entries of file {}",
                entry.number
            )));
        }
        Ok(())
    }

    /// Whether the group may be opened without the disks that are missing: nothing is lost by it, and it was allowed.
    fn check_presence(&mut self, force: bool, mounted: &mut Mounted) -> Result<(), GroupError> {
        let gone: Vec<u16> = self
            .disks
            .values()
            .filter(|d| d.online && d.slot.is_none())
            .map(|d| d.number)
            .collect();
        mounted.missing = gone.iter().map(|n| self.disk_name(*n)).collect();
        let mut lost = BTreeSet::new();
        for file in self.files.values() {
            if (0..file.extents()).any(|e| !file.pointers_of(e).iter().any(|p| self.readable(p))) {
                lost.insert(file.name.clone());
            }
        }
        if !lost.is_empty() {
            let not_there = self
                .disks
                .values()
                .filter(|d| d.live().is_none())
                .map(|d| d.name.clone());
            return Err(GroupError::Lost {
                disks: not_there.collect(),
                files: lost.into_iter().collect(),
            });
        }
        if !gone.is_empty() && !force {
            return Err(GroupError::Missing {
                disks: mounted.missing.clone(),
            });
        }
        Ok(())
    }

    /// Writes home what the journal held, and begins a new incarnation with a transaction that says which disks are offline.
    fn replay(&mut self, mounted: &mut Mounted) -> Result<(), GroupError> {
        let damaged: Vec<u16> = std::mem::take(&mut self.trouble).into_iter().collect();
        for number in damaged {
            if self.disks.get(&number).is_some_and(|d| d.live().is_some()) {
                if self.rewrite_headers(number)? {
                    mounted.headers_repaired.push(self.disk_name(number));
                }
            }
        }
        let offline = self
            .disks
            .values()
            .filter(|d| d.live().is_none())
            .fold(0, |bits, d| bits | d.bit());
        self.board.offline.store(offline, std::sync::atomic::Ordering::SeqCst);
        self.checkpoint()?;
        self.root.incarnation = self.journal.incarnation + 1;
        self.journal.incarnation = self.root.incarnation;
        // Sequences only ever grow, even if the last ones were lost with a torn journal.
        self.journal.sequence = self.journal.sequence.max(self.root.incarnation << 32);
        // Of regions that were being written, nobody knows what a disk has that is not there, or that had just been taken offline:
        // a write may have been in flight.
        if !Planted::MissingNotStale.on() {
            let mut stale = BTreeSet::new();
            for file in self.files.values() {
                let dirty = (0..file.extents()).filter(|e| file.leaves[(e / LEAF_EXTENTS) as usize].dirty);
                for extent in dirty {
                    let missing = file
                        .pointers_of(extent)
                        .iter()
                        .filter(|p| self.disks[&p.disk].live().is_none());
                    stale.extend(missing.map(|p| (file.number, extent, p.disk)));
                }
            }
            self.mark_stale(&stale)?;
        }
        // Only now, with that durable, are they offline: a mount that is cut short before finds them missing again, or there.
        let mut change = self.begin()?;
        self.disks
            .values_mut()
            .filter(|d| d.slot.is_none())
            .for_each(|d| d.online = false);
        change.touch(Address::Root);
        (0..disk::TABLE).for_each(|index| change.touch(Address::Meta(index)));
        self.commit(change)?;
        self.compare_tables(mounted)
    }

    /// A disk that was missing when a mount was cut short lacks changes of its table that were written home meanwhile.
    fn compare_tables(&mut self, mounted: &mut Mounted) -> Result<(), GroupError> {
        let live: Vec<u16> = self
            .disks
            .values()
            .filter(|d| d.live().is_some())
            .map(|d| d.number)
            .collect();
        for number in live {
            if !self.table_findings(number)?.is_empty() {
                let faults = self.board.faults();
                if self.write_table(number)? && self.flush_disks(&[number], faults)?.is_empty() {
                    mounted.tables_repaired.push(self.disk_name(number));
                }
            }
        }
        Ok(())
    }

    /// Deletes what was being made or deleted when the group was last in use, and takes back what a file was to grow by.
    fn remove_unfinished(&mut self, mounted: &mut Mounted) -> Result<(), GroupError> {
        let unfinished = |f: &&File| f.state != FileState::Live;
        let numbers: Vec<u32> = self.files.values().filter(unfinished).map(|f| f.number).collect();
        for number in numbers {
            if Planted::HalfMadeFileKept.on() {
                self.files.get_mut(&number).expect("just seen").state = FileState::Live;
                continue;
            }
            mounted.files_removed.push(self.files[&number].name.clone());
            self.delete_file(number)?;
        }
        // Extents of a growth that was cut short: they may not have been filled with zeros.
        let numbers: Vec<u32> = self.files.keys().copied().collect();
        for number in numbers {
            let file = &self.files[&number];
            let needed = self.geometry.extents_for(file.size, file.fine).unwrap_or(u32::MAX);
            if needed < file.extents() {
                self.shrink(number, needed)?;
            }
        }
        Ok(())
    }
}

fn slots_of(found: &BTreeMap<u16, Candidate>) -> BTreeMap<u16, FileId> {
    found.iter().map(|(n, c)| (*n, c.slot)).collect()
}

fn lost_metadata(root: &Root, slots: &BTreeMap<u16, FileId>, found: &BTreeMap<u16, Candidate>) -> GroupError {
    let pointers = root.extents.iter().flatten();
    let gone: BTreeSet<u16> = pointers.map(|p| p.disk).filter(|d| !slots.contains_key(d)).collect();
    if gone.is_empty() {
        return GroupError::damaged("no copy of the disk table is whole");
    }
    GroupError::Lost {
        disks: gone
            .into_iter()
            .map(|n| format!("number {n} ({} disks are there)", found.len()))
            .collect(),
        files: Vec::new(),
    }
}

/// The newest root, and the sequence of the last transaction.
fn read_root<P: Port>(reading: &mut Reading<P>) -> Result<(Root, u64), GroupError> {
    let places: Vec<(FileId, u64)> = reading.found.values().map(|c| (c.slot, BLOCK as u64)).collect();
    let bytes = reading.block(Address::Root, &places)?;
    let bytes = bytes.ok_or_else(|| GroupError::damaged("no disk has a whole root"))?;
    let written = block::open(&bytes, reading.group, Address::Root).unwrap_or(0);
    Ok((Root::decode(&bytes)?, reading.chain.sequence.max(written)))
}
