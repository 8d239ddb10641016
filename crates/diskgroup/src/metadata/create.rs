//! Making a group: what is asked, whether the disks are fit for it, and the first bytes.
//!
//! Everything is looked at before anything is written. Prevents: a group made over somebody else's disk.

use crate::error::GroupError;
use crate::layout::block::{Address, BLOCK};
use crate::layout::disk::{self, Disk};
use crate::layout::geometry::Geometry;
use crate::layout::header::{DISKS_MAX, Found, Header, NAME_BYTES, Place, is_name, judge, second_at};
use crate::layout::journal::{BLOCKS, IMAGES_MAX, JOURNAL_BLOCKS, Journal};
use crate::layout::root::Root;
use crate::metadata::core::{Core, Homes, Redundancy};
use crate::metadata::directory::Directory;
use crate::metadata::meta_uses::{MetaUse, MetaUses};
use crate::metadata::placement::NewExtent;
use crate::metadata::space::{FIRST_FILE, META_FILE, Owner, Space};
use crate::metadata::store::Store;
use crate::port::board::Board;
use crate::sharing::heard::Hearing;
use crate::uuid::Uuid;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use targets::{FileId, Port};

/// A group to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupSpec {
    /// 1 to 48 bytes.
    pub name: String,
    /// Copies that files have unless they say otherwise.
    pub redundancy: Redundancy,
    /// Allocation unit and growth of extents.
    pub geometry: Geometry,
    /// Blocks (4 KiB) of the journal on each disk, at least 32.
    pub journal_blocks: u32,
    /// Allow allocation units from 16 KiB, for tests.
    pub small_units: bool,
    /// Its UUID, where it must be known beforehand; `None`: made from the seed. Never use one twice.
    pub uuid: Option<Uuid>,
}

impl GroupSpec {
    /// A group with allocation units of 1 MiB.
    pub fn new(name: &str, redundancy: Redundancy) -> GroupSpec {
        GroupSpec {
            name: name.to_owned(),
            redundancy,
            geometry: Geometry::new(1 << 20),
            journal_blocks: JOURNAL_BLOCKS,
            small_units: false,
            uuid: None,
        }
    }
}

/// A disk to be given to a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskSpec {
    /// The file of the port.
    pub file: FileId,
    /// Name in the group, 1 to 48 bytes.
    pub name: String,
    /// Disks that fail together; `None`: a failure group of its own, called as the disk.
    pub failure_group: Option<String>,
    /// Bytes of a sector; all disks of a group have the same.
    pub sector_bytes: u32,
    /// Take it even if it belongs to a group.
    pub overwrite: bool,
}

impl DiskSpec {
    /// A disk with sectors of 512 bytes in a failure group of its own.
    pub fn new(file: FileId, name: &str) -> DiskSpec {
        DiskSpec {
            file,
            name: name.to_owned(),
            failure_group: None,
            sector_bytes: 512,
            overwrite: false,
        }
    }
}

fn check_name(what: &str, name: &str) -> Result<(), GroupError> {
    if !is_name(name) {
        return Err(GroupError::refused(
            format!("a {what} of the name `{}`", name.escape_debug()),
            format!("use 1 to {NAME_BYTES} bytes without white space and control characters"),
        ));
    }
    Ok(())
}

/// Reads both headers of a file of the port.
pub(crate) fn look<P: Port>(store: &mut Store<P>, file: FileId) -> Result<(Found, u64), GroupError> {
    let bytes = store.size(file)?;
    if bytes < 4 * BLOCK as u64 {
        return Ok((Found::Foreign, bytes));
    }
    let block = BLOCK as u64;
    let both = store.read(&[(file, 0, block), (file, second_at(bytes), block)])?;
    let found = both.iter().map(|r| r.as_deref().ok()).collect::<Vec<_>>();
    Ok((judge(found[0], found[1], bytes), bytes))
}

/// Whether a disk may be given to a group; its size.
pub(crate) fn admit<P: Port>(store: &mut Store<P>, spec: &DiskSpec, own: Option<Uuid>) -> Result<u64, GroupError> {
    let (found, bytes) = look(store, spec.file)?;
    match found {
        Found::Newer(version) => Err(GroupError::Newer {
            disk: spec.name.clone(),
            found: version,
            known: crate::FORMAT_VERSION,
        }),
        Found::Header { header, .. } if header.member && own != Some(header.group) && !spec.overwrite => {
            Err(GroupError::Taken {
                disk: spec.name.clone(),
                group: header.group_name.clone(),
            })
        }
        Found::Damaged if !spec.overwrite => Err(GroupError::refused(
            format!("disk {} has a damaged header of a disk group", spec.name),
            "name another disk, or say that its content may be overwritten",
        )),
        _ => Ok(bytes),
    }
}

/// The numbers, partners and layouts of new disks.
pub(crate) fn new_disk(number: u16, spec: &DiskSpec, place: Place, bytes: u64, rng: &mut Xoshiro256PlusPlus) -> Disk {
    Disk {
        number,
        uuid: Uuid::random(rng),
        name: spec.name.clone(),
        failure_group: spec.failure_group.clone().unwrap_or_else(|| spec.name.clone()),
        slot: Some(spec.file),
        online: true,
        dropping: false,
        failing: false,
        partners: 0,
        sector: spec.sector_bytes,
        bytes,
        place,
        space: Space::new(place),
    }
}

/// What can be told from the parameters alone.
pub(crate) fn check_disks(disks: &[DiskSpec], others: &BTreeMap<u16, Disk>) -> Result<(), GroupError> {
    let mut names: BTreeSet<&str> = others.values().map(|d| d.name.as_str()).collect();
    let mut files: BTreeSet<FileId> = others.values().filter_map(|d| d.slot).collect();
    let mut sectors: BTreeSet<u32> = others.values().map(|d| d.sector).collect();
    for disk in disks {
        check_name("disk", &disk.name)?;
        if let Some(group) = &disk.failure_group {
            check_name("failure group", group)?;
        }
        if !names.insert(&disk.name) || !files.insert(disk.file) || disk.file.0 > 255 {
            return Err(GroupError::refused(
                format!("disk {} is named twice, or its name is taken", disk.name),
                "give each disk once, under a name of its own",
            ));
        }
        sectors.insert(disk.sector_bytes);
    }
    if sectors.len() > 1 || sectors.iter().any(|s| !matches!(s, 512 | 4096)) {
        return Err(GroupError::refused(
            format!("disks with sectors of {sectors:?} bytes in one group"),
            "use disks with the same sector size, 512 or 4096 bytes",
        ));
    }
    if disks.len() + others.len() > usize::from(DISKS_MAX) {
        return Err(GroupError::refused(
            format!("{} disks in a group", disks.len() + others.len()),
            format!("use at most {DISKS_MAX}"),
        ));
    }
    Ok(())
}

fn check_spec(spec: &GroupSpec, disks: &[DiskSpec]) -> Result<(), GroupError> {
    check_name("group", &spec.name)?;
    spec.geometry.check(spec.small_units)?;
    check_disks(disks, &BTreeMap::new())?;
    let groups: BTreeSet<&str> = disks
        .iter()
        .map(|d| d.failure_group.as_ref().unwrap_or(&d.name).as_str())
        .collect();
    if groups.len() < spec.redundancy.copies() {
        return Err(GroupError::refused(
            format!("{} failure groups for {:?} redundancy", groups.len(), spec.redundancy),
            format!("give disks in at least {} failure groups", spec.redundancy.copies()),
        ));
    }
    if !BLOCKS.contains(&spec.journal_blocks) {
        return Err(GroupError::refused(
            format!("a journal of {} blocks", spec.journal_blocks),
            format!("use {} to {} (each of 4 KiB)", BLOCKS.start(), BLOCKS.end()),
        ));
    }
    Ok(())
}

pub(crate) fn too_small(name: &str, bytes: u64) -> GroupError {
    GroupError::refused(
        format!("disk {name} of {bytes} bytes: no room for metadata and eight allocation units"),
        "use larger disks or a smaller allocation unit",
    )
}

/// What a group is made of when it is opened or made.
pub(crate) struct Parts {
    pub(crate) group: Uuid,
    pub(crate) redundancy: Redundancy,
    pub(crate) geometry: Geometry,
    pub(crate) root: Root,
    pub(crate) disks: BTreeMap<u16, Disk>,
    /// As their users call them.
    pub(crate) names: Vec<String>,
}

impl<P: Port> Core<P> {
    /// Makes a group. Headers are written last, when all else is durable.
    pub(crate) fn create(port: P, spec: &GroupSpec, disks: &[DiskSpec], seed: u64) -> Result<Core<P>, GroupError> {
        check_spec(spec, disks)?;
        let mut store = Store::new(port)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let group = spec.uuid.unwrap_or_else(|| Uuid::random(&mut rng));
        let mut members = BTreeMap::new();
        for (number, disk) in disks.iter().enumerate() {
            let bytes = admit(&mut store, disk, None)?;
            let place = Place::new(bytes, spec.geometry.au_bytes, spec.journal_blocks)
                .ok_or_else(|| too_small(&disk.name, bytes))?;
            members.insert(number as u16, new_disk(number as u16, disk, place, bytes, &mut rng));
        }
        let root = Root {
            incarnation: 1,
            next_file: FIRST_FILE,
            rebalance: false,
            name: spec.name.clone(),
            extents: Vec::new(),
        };
        let names = disks.iter().map(|d| d.name.clone()).collect();
        let mut core = Core::assemble(
            store,
            Parts {
                group,
                redundancy: spec.redundancy,
                geometry: spec.geometry,
                root,
                disks: members,
                names,
            },
        );
        core.journal.blocks = spec.journal_blocks;
        core.pair_disks();
        core.first_metadata()?;
        let all: Vec<u16> = core.disks.keys().copied().collect();
        core.write_headers(&all, true)?;
        core.journal.holders = core.choose_holders();
        core.publish_everything();
        Ok(core)
    }

    /// The parts of a group put together, with nothing in them.
    pub(crate) fn assemble(store: Store<P>, parts: Parts) -> Core<P> {
        let Parts {
            group,
            redundancy,
            geometry,
            root,
            disks,
            names,
        } = parts;
        let incarnation = root.incarnation;
        Core {
            store,
            board: Arc::new(Board::new()),
            group,
            redundancy,
            geometry,
            root,
            disks,
            files: Directory::default(),
            meta_uses: MetaUses::default(),
            journal: Journal {
                holders: Vec::new(),
                blocks: 0,
                position: 0,
                sequence: 0,
                incarnation,
            },
            homeless: BTreeSet::new(),
            trouble: BTreeSet::new(),
            dead: None,
            frozen: false,
            hearing: Hearing::default(),
            unequal: BTreeSet::new(),
            held: BTreeSet::new(),
            limbo: Vec::new(),
            orphans: Vec::new(),
            preferred: None,
            verify: None,
            layout_version: 0,
            names,
        }
    }

    fn first_metadata(&mut self) -> Result<(), GroupError> {
        let copies = self.meta_copies();
        while self.meta_uses.blocks() < disk::TABLE {
            let extent = self.root.extents.len();
            let owner = |copy| Owner::new(META_FILE, extent as u32, copy);
            let Some(pointers) = self.place(
                &NewExtent {
                    copies,
                    units: 1,
                    turn: extent as u32,
                    load: &[],
                },
                owner,
            ) else {
                return Err(GroupError::damaged("no room for the metadata of a new group"));
            };
            self.zero_units(&pointers, 1)?;
            self.root.extents.push(pointers);
            let more = self.meta_blocks();
            self.meta_uses.grow(more);
        }
        (0..disk::TABLE).for_each(|block| self.meta_uses.set(block, MetaUse::Disks));
        let (faults, mut homes) = (self.board.faults(), Homes::default());
        let addresses: Vec<Address> = (0..disk::TABLE).map(Address::Meta).chain([Address::Root]).collect();
        self.write_homes(&addresses, &mut homes)?;
        let all: Vec<u16> = self.disks.keys().copied().collect();
        for &number in &all {
            self.write_table(number)?;
        }
        self.flush_disks(&all, faults)?;
        match self.trouble.first() {
            Some(disk) => Err(self.unwritable(*disk)),
            None => Ok(()),
        }
    }

    pub(crate) fn unwritable(&self, disk: u16) -> GroupError {
        GroupError::Io {
            what: "writing metadata",
            disk: self.disk_name(disk),
            fault: targets::IoFault::Errno(5),
        }
    }

    /// Writes a disk's whole allocation table home; false when the disk refused a part of it.
    pub(crate) fn write_table(&mut self, number: u16) -> Result<bool, GroupError> {
        let blocks = self.disks[&number].place.table_blocks;
        let all: Vec<Address> = (0..blocks)
            .map(|index| Address::Table { disk: number, index })
            .collect();
        let mut homes = Homes::default();
        for part in all.chunks(IMAGES_MAX) {
            self.write_homes(part, &mut homes)?;
        }
        Ok(homes.refused == 0)
    }

    /// Writes the headers of a disk again; false when it refuses.
    pub(crate) fn rewrite_headers(&mut self, number: u16) -> Result<bool, GroupError> {
        match self.write_headers(&[number], true) {
            Ok(()) => Ok(true),
            Err(GroupError::Io { .. }) => {
                self.trouble.insert(number);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn header(&self, disk: &Disk, member: bool) -> Header {
        Header {
            group: self.group,
            group_name: self.root.name.clone(),
            member,
            redundancy: self.redundancy.copies() as u8,
            number: disk.number,
            disk: disk.uuid,
            disk_name: disk.name.clone(),
            failure_group: disk.failure_group.clone(),
            au_bytes: self.geometry.au_bytes,
            growth_at: self.geometry.growth_at,
            sector: disk.sector,
            bytes: disk.bytes,
            place: disk.place,
        }
    }

    /// Writes the headers of disks: all first copies, a flush, all second copies, a flush. So one copy is whole at any
    /// time.
    pub(crate) fn write_headers(&mut self, disks: &[u16], member: bool) -> Result<(), GroupError> {
        for second in [false, true] {
            let faults = self.board.faults();
            for &number in disks {
                let disk = &self.disks[&number];
                let Some(slot) = disk.live() else { continue };
                let block = self.header(disk, member).encode();
                let at = if second { second_at(disk.bytes) } else { 0 };
                if self.store.write(&[(slot, at, &block)])?[0].is_err() {
                    return Err(self.unwritable(number));
                }
            }
            if let Some(disk) = self.flush_disks(disks, faults)?.first() {
                return Err(self.unwritable(*disk));
            }
        }
        Ok(())
    }
}
