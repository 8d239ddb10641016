//! Opening a group: finding its disks, replaying its journal, reading its metadata, bringing its copies in order.
//!
//! Prevents: a group opened from an old disk because it was asked first, and copies that differ after a crash.

use crate::error::GroupError;
use crate::layout::block::{self, Address, BLOCK};
use crate::layout::disk;
use crate::layout::file::{File, FileState, LEAF_EXTENTS};
use crate::layout::header::{Found, Header};
use crate::layout::journal::{self, Chain, INCARNATION_MAX};
use crate::layout::root::Root;
use crate::metadata::core::{Core, Redundancy};
use crate::metadata::create::look;
use crate::metadata::store::Store;
use crate::planted::Planted;
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
    /// Disks whose allocation table was behind; it was written again. Only after a mount without the disk was cut
    /// short.
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

pub(crate) struct Candidate {
    pub(crate) slot: FileId,
    pub(crate) header: Header,
    pub(crate) whole: bool,
}

/// Everything read before anything is written.
pub(crate) struct Reading<P> {
    pub(crate) store: Store<P>,
    pub(crate) group: Uuid,
    pub(crate) found: BTreeMap<u16, Candidate>,
    pub(crate) chain: Chain,
    pub(crate) overlay: BTreeMap<Address, Vec<u8>>,
    /// Blocks of which a copy is old or damaged.
    pub(crate) behind: BTreeSet<Address>,
}

impl<P: Port> Reading<P> {
    /// The newest whole copy of a block, in the journal or at home: a journal can be older than what is at home, when
    /// the disks that held the newer one are gone. `None` for a block of which no copy could be read.
    pub(crate) fn block(&mut self, address: Address, places: &[(FileId, u64)]) -> Result<Option<Vec<u8>>, GroupError> {
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
        // Twice as much each time, so that all looks together cost no more than two.
        let wanted = (chain.seen + JOURNAL_STEP).max(2 * bytes.len()).min(all);
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

/// The newest transaction of a journal: its incarnation and its sequence.
type Newest = (u64, u64);

impl<P: Port> Core<P> {
    /// Reads a group, and writes nothing.
    fn read(port: P, options: &MountOptions) -> Result<(Core<P>, u64, Newest), GroupError> {
        let mut store = Store::new(port)?;
        let all = candidates(&mut store, options)?;
        let (group, found) = choose(all, options)?;
        let chain = newest_journal(&mut store, group, &found)?;
        let newest = (chain.incarnation, chain.sequence);
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
        Ok((core, sequence, newest))
    }

    /// Opens a group that another process has open, and changes nothing in it: maps are as they are now.
    pub(crate) fn mount_frozen(port: P, options: &MountOptions) -> Result<Core<P>, GroupError> {
        let (mut core, _, newest) = Core::read(port, options)?;
        core.frozen = true;
        core.check_presence(false, &mut Mounted::default())?;
        let why = match () {
            () if core.redundancy > Redundancy::External || core.files.values().any(|file| file.copies > 1) => Some((
                "a mirrored group records which regions are being written, and one process alone can",
                "make the group with redundancy \"external\", and mirror below it",
            )),
            () if core.root.rebalance => Some((
                "a rebalance is under way, which changes the maps",
                "wait until it is done",
            )),
            // A disk that was released, in the middle of which the power failed, is no disk of the group.
            () if core.trouble.iter().any(|number| core.disks.contains_key(number)) => Some((
                "a header of a disk is damaged",
                "mount the group as its owner first: that mends it",
            )),
            () => None,
        };
        if let Some((what, cure)) = why {
            return Err(GroupError::refused(
                format!("the group cannot be opened frozen: {what}"),
                cure,
            ));
        }
        // What was read while somebody changed it may be of two moments.
        let all = candidates(&mut core.store, options)?;
        let (group, found) = choose(all, options)?;
        let chain = newest_journal(&mut core.store, group, &found)?;
        let changed = group != core.group || (chain.incarnation, chain.sequence) != newest;
        if changed && !Planted::FrozenReadOnce.on() {
            return Err(GroupError::Busy {
                what: "the group was changed while it was opened frozen".into(),
                cure: "open it while its owner changes nothing".into(),
            });
        }
        core.publish_everything();
        Ok(core)
    }

    /// Opens a group.
    pub(crate) fn mount(port: P, options: &MountOptions) -> Result<(Core<P>, Mounted), GroupError> {
        let (mut core, sequence, _) = Core::read(port, options)?;
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

    /// Writes home what the journal held, and begins a new incarnation with a transaction that says which disks are
    /// offline.
    fn replay(&mut self, mounted: &mut Mounted) -> Result<(), GroupError> {
        let damaged: Vec<u16> = std::mem::take(&mut self.trouble).into_iter().collect();
        for number in damaged {
            if self.disks.get(&number).is_some_and(|d| d.live().is_some()) && self.rewrite_headers(number)? {
                mounted.headers_repaired.push(self.disk_name(number));
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
        // Of regions that were being written, nobody knows what a disk has that is not there, or that had just been
        // taken offline: a write may have been in flight.
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
        // Only now, with that durable, are they offline: a mount that is cut short before finds them missing again, or
        // there.
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

    /// Deletes what was being made or deleted when the group was last in use, and takes back what a file was to grow
    /// by.
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

pub(crate) fn slots_of(found: &BTreeMap<u16, Candidate>) -> BTreeMap<u16, FileId> {
    found.iter().map(|(n, c)| (*n, c.slot)).collect()
}

pub(crate) fn lost_metadata(
    root: &Root,
    slots: &BTreeMap<u16, FileId>,
    found: &BTreeMap<u16, Candidate>,
) -> GroupError {
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
    if written >> 32 > INCARNATION_MAX {
        return Err(GroupError::damaged("the root's sequence"));
    }
    Ok((Root::decode(&bytes)?, reading.chain.sequence.max(written)))
}
