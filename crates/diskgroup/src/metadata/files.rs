//! Making, growing and deleting files.
//!
//! A file that needs more changes than fit in one transaction is `Making` or `Deleting` until the last of them; its
//! size is set by the last. Prevents: a file that is half there, and units that nobody owns, whatever the moment of a
//! crash.

use crate::error::GroupError;
use crate::layout::block::Address;
use crate::layout::file::{EXTENTS_MAX, FILE_NAME_BYTES, File, FileState, LEAF_EXTENTS, Leaf, Pointer, is_file_name};
use crate::layout::header::DISKS_MAX;
use crate::metadata::core::{Change, Core, Redundancy};
use crate::metadata::meta_uses::MetaUse;
use crate::metadata::placement::NewExtent;
use crate::metadata::space::{FILES_END, Orphan, Owner, Run};
use crate::planted::Planted;
use crate::port::map::FileMap;
use std::sync::Arc;
use targets::Port;

/// Blocks of metadata that one extent changes at most: two tables for each of three copies, leaf and entry, and where
/// the metadata file grows first, a table for each of its copies and the root.
const EXTENT_IMAGES_MAX: usize = 12;

/// How a file's bytes go over the disks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stripe {
    /// One extent after the other: large reads go to one disk.
    Coarse,
    /// 128 KiB after 128 KiB over eight extents: for files with small, urgent writes such as redo.
    Fine,
}

/// A file to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSpec {
    /// 1 to 96 bytes without white space or control characters.
    pub name: String,
    /// Bytes, to the last one. I/O may go to the end of the last block of 4 KiB: behind the file are zeros, and what is
    /// written there shows when the file grows.
    pub size: u64,
    /// Copies; `None`: as the group.
    pub redundancy: Option<Redundancy>,
    /// Stripes.
    pub stripe: Stripe,
}

/// How long a new file stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stays {
    /// Until it is deleted.
    Kept,
    /// Until the next mount, if nobody has finished it by then.
    Draft,
    /// Until the next mount. Nobody reads what was not written, so that nothing is filled with zeros.
    Scratch,
}

/// A size that a file is to have.
struct Wanted<'a> {
    name: &'a str,
    size: u64,
    fine: bool,
    copies: usize,
    /// Extents that it has.
    have: u32,
}

impl<P: Port> Core<P> {
    pub(crate) fn file_named(&self, name: &str) -> Result<u32, GroupError> {
        let live = |f: &&File| f.state == FileState::Live || f.draft;
        let found = self.files.named(name).filter(live).map(|f| f.number);
        found.ok_or_else(|| GroupError::NoFile { name: name.to_owned() })
    }

    fn check_spec(&self, spec: &FileSpec) -> Result<usize, GroupError> {
        if !is_file_name(&spec.name) {
            return Err(GroupError::refused(
                format!("a file of the name `{}`", spec.name.escape_debug()),
                format!("use 1 to {FILE_NAME_BYTES} bytes without white space and control characters"),
            ));
        }
        if self.files.named(&spec.name).is_some() {
            return Err(GroupError::Exists {
                name: spec.name.clone(),
            });
        }
        let copies = spec.redundancy.unwrap_or(self.redundancy).copies();
        let groups: std::collections::BTreeSet<&str> = self.disks.values().map(|d| d.failure_group.as_str()).collect();
        if copies > groups.len() {
            return Err(GroupError::refused(
                format!("{copies} copies in a group with {} failure groups", groups.len()),
                "ask for fewer copies, or add disks in other failure groups",
            ));
        }
        Ok(copies)
    }

    /// Extents for a size, when the disks that are there can have room for them.
    fn extents_for(&self, wanted: &Wanted<'_>) -> Result<u32, GroupError> {
        let Wanted {
            name,
            size,
            fine,
            copies,
            have,
        } = *wanted;
        let extents = self.geometry.extents_for(size, fine).filter(|&n| n <= EXTENTS_MAX);
        let Some(extents) = extents else {
            return Err(GroupError::refused(
                format!("file {name} of {size} bytes: it would have more than {EXTENTS_MAX} extents"),
                "use several files, or a group with a larger allocation unit",
            ));
        };
        let more = self
            .geometry
            .units(extents, fine)
            .saturating_sub(self.geometry.units(have, fine));
        let needed = more * copies as u64;
        if needed > self.free_units() {
            return Err(GroupError::Full {
                what: format!("file {name}"),
                needed: needed * self.au(),
                free: self.free_units() * self.au(),
            });
        }
        Ok(extents)
    }

    /// Makes a file.
    pub(crate) fn create_file(&mut self, spec: &FileSpec, stays: Stays) -> Result<u32, GroupError> {
        self.alive()?;
        let copies = self.check_spec(spec)?;
        let fine = spec.stripe == Stripe::Fine;
        let extents = self.extents_for(&Wanted {
            name: &spec.name,
            size: spec.size,
            fine,
            copies,
            have: 0,
        })?;
        let number = self.root.next_file;
        if number >= FILES_END {
            return Err(GroupError::refused(
                "one file more than a group can ever have had",
                "copy the files to a new group",
            ));
        }
        let mut change = self.begin()?;
        let entry = self.take_meta(&mut change, MetaUse::Entry(number))?;
        self.root.next_file += 1;
        let units = self.geometry.units(extents, fine) as usize;
        let file = File {
            number,
            name: spec.name.clone(),
            copies,
            fine,
            state: FileState::Making,
            size: 0,
            entry,
            leaves: Vec::new(),
            pointers: Vec::new(),
            map: Arc::new(FileMap::new(number, &spec.name, copies, fine, units)),
            outgrown: Vec::new(),
            unsure: false,
            draft: stays != Stays::Kept,
            scratch: stays == Stays::Scratch,
            opens: 0,
            load: vec![[0; 2]; usize::from(DISKS_MAX)],
        };
        self.board.set_map(file.map.clone());
        self.files.insert(file);
        change.touch(Address::Root);
        if let Err(error) = self.extend(number, extents, Some(change), spec.size) {
            if self.dead.is_none() && !error.is_power_cut() {
                self.delete_file(number)?;
            }
            return Err(error);
        }
        self.settle_trouble()?;
        Ok(number)
    }

    /// Makes a draft a file that stays. Its content must be durable.
    pub(crate) fn finish_file(&mut self, number: u32) -> Result<(), GroupError> {
        let mut change = self.begin()?;
        let file = self.files.get_mut(&number).filter(|f| f.draft && !f.scratch);
        let Some(file) = file else {
            return Ok(());
        };
        (file.draft, file.state) = (false, FileState::Live);
        change.touch(Address::Meta(file.entry));
        self.commit(change)?;
        self.settle_trouble()
    }

    /// Makes a file at least `size` bytes long.
    pub(crate) fn grow_file(&mut self, number: u32, size: u64) -> Result<(), GroupError> {
        self.alive()?;
        let Some(file) = self.files.get(&number) else {
            return Err(GroupError::NoFile {
                name: format!("number {number}"),
            });
        };
        if size <= file.size {
            return Ok(());
        }
        let have = file.extents();
        let extents = self.extents_for(&Wanted {
            name: &file.name,
            size,
            fine: file.fine,
            copies: file.copies,
            have,
        })?;
        if let Err(error) = self.extend(number, extents, None, size) {
            if self.dead.is_none() && !error.is_power_cut() {
                self.shrink(number, have)?;
            }
            return Err(error);
        }
        self.settle_trouble()
    }

    /// Adds extents in as many changes as are needed; the last one sets size and state.
    fn extend(&mut self, number: u32, extents: u32, first: Option<Change>, size: u64) -> Result<(), GroupError> {
        let mut begun = first;
        loop {
            let mut change = match begun.take() {
                Some(change) => change,
                None => self.begin()?,
            };
            let before = self.files[&number].extents();
            let added = self.add_extents(number, extents, &mut change);
            let have = self.files[&number].extents();
            // Also what is given back at once is zeroed first: a crash may leave it with the file.
            let zeroed = match self.files[&number].scratch {
                true => Ok(()),
                false => self.zero_extents(number, before..have),
            };
            if zeroed.is_err() {
                let file = self.files.get_mut(&number).expect("the file being extended");
                (before..have).for_each(|extent| file.leaf_of(extent).dirty = true);
            }
            let zeroed = added.and(zeroed);
            let last = have >= extents && zeroed.is_ok();
            let file = self.files.get_mut(&number).expect("the file being extended");
            if last || Planted::SizeTooEarly.on() {
                file.size = size;
                file.state = if file.draft { FileState::Making } else { FileState::Live };
            }
            change.touch(Address::Meta(file.entry));
            if let Err(error) = zeroed {
                // What was taken is recorded as this file's, and given back by who asked.
                if !error.is_power_cut() && self.dead.is_none() {
                    self.commit(change)?;
                }
                return Err(error);
            }
            self.commit(change)?;
            self.publish_from(number, before);
            if last {
                let file = &self.files[&number];
                file.map.set_length(size);
                self.board.advance();
                return Ok(());
            }
        }
    }

    /// Adds extents until there are enough or the change is full.
    fn add_extents(&mut self, number: u32, extents: u32, change: &mut Change) -> Result<(), GroupError> {
        let limit = self.change_limit() - EXTENT_IMAGES_MAX;
        loop {
            let file = &self.files[&number];
            let (extent, copies, fine) = (file.extents(), file.copies, file.fine);
            if extent >= extents || change.len() > limit {
                return Ok(());
            }
            if extent.is_multiple_of(LEAF_EXTENTS) {
                let index = extent / LEAF_EXTENTS;
                let block = self.take_meta(change, MetaUse::Leaf { file: number, index })?;
                let file = self.files.get_mut(&number).expect("the file being extended");
                file.leaves.push(Leaf { block, dirty: false });
            }
            let units = self.geometry.extent_units(extent);
            let load = std::mem::take(&mut self.files.get_mut(&number).expect("the file").load);
            let owner = |copy| Owner::new(number, extent, copy);
            let turn = if fine { extent.wrapping_add(number) } else { extent };
            let placed = self.place(
                &NewExtent {
                    copies,
                    units,
                    turn,
                    load: &load,
                },
                owner,
            );
            let full = GroupError::Full {
                what: format!("an extent of {units} units with {copies} copies"),
                needed: u64::from(units) * copies as u64 * self.au(),
                free: self.free_units() * self.au(),
            };
            let file = self.files.get_mut(&number).expect("the file being extended");
            file.load = load;
            let pointers = match placed {
                Some(pointers) => pointers,
                None => {
                    if extent.is_multiple_of(LEAF_EXTENTS)
                        && let Some(leaf) = file.leaves.pop()
                    {
                        self.meta_uses.set(leaf.block, MetaUse::Free);
                    }
                    return Err(full);
                }
            };
            for (copy, pointer) in pointers.iter().enumerate() {
                change.touch_units(pointer.disk, pointer.au, units);
                count(&mut file.load, pointer.disk, copy, i64::from(units));
            }
            let leaf = file.leaves[(extent / LEAF_EXTENTS) as usize].block;
            file.pointers.extend(pointers);
            change.touch(Address::Meta(leaf));
        }
    }

    /// Zeros new extents. A copy that could not be written is stale from the start, if there is another.
    fn zero_extents(&mut self, number: u32, extents: std::ops::Range<u32>) -> Result<(), GroupError> {
        let file = &self.files[&number];
        let copies = file.copies;
        let mut runs: Vec<(Pointer, u32)> = Vec::new();
        for extent in extents.clone() {
            let units = self.geometry.extent_units(extent);
            runs.extend(file.pointers_of(extent).iter().map(|&p| (p, units)));
        }
        let good = self.zero_runs(&runs)?;
        let file = self.files.get_mut(&number).expect("the file being extended");
        for (nth, good) in good.chunks(copies).enumerate() {
            if good.iter().all(|g| !g) {
                let at = file.pointers_of(extents.start + nth as u32)[0].disk;
                return Err(GroupError::Io {
                    what: "filling new space with zeros",
                    disk: self.disk_name(at),
                    fault: targets::IoFault::Errno(5),
                });
            }
            let pointers = file.pointers_of_mut(extents.start + nth as u32);
            for (pointer, good) in pointers.iter_mut().zip(good) {
                pointer.stale = !good;
            }
        }
        Ok(())
    }

    pub(crate) fn delete_file(&mut self, number: u32) -> Result<(), GroupError> {
        self.alive()?;
        let Some(file) = self.files.get_mut(&number) else {
            return Err(GroupError::NoFile {
                name: format!("number {number}"),
            });
        };
        if file.opens > 0 {
            return Err(GroupError::Busy {
                what: format!("file {} is open in {} ports", file.name, file.opens),
                cure: "close them first".into(),
            });
        }
        let entry = file.entry;
        let followers = self.board.followers();
        if file.state == FileState::Live && followers > 0 {
            return Err(GroupError::Busy {
                what: format!("file {} may be open in {followers} other instances", file.name),
                cure: "end them first".into(),
            });
        }
        if file.state == FileState::Live {
            let mut change = self.begin()?;
            self.files.get_mut(&number).expect("just seen").state = FileState::Deleting;
            change.touch(Address::Meta(entry));
            self.commit(change)?;
        }
        self.shrink(number, 0)?;
        let mut change = self.begin()?;
        self.files.remove(&number);
        self.meta_uses.set(entry, MetaUse::Free);
        change.touch(Address::Meta(entry));
        self.commit(change)?;
        self.board.forget_map(number);
        self.settle_trouble()
    }

    /// Takes extents away from the end, in as many changes as are needed.
    pub(crate) fn shrink(&mut self, number: u32, extents: u32) -> Result<(), GroupError> {
        while self.files[&number].extents() > extents {
            let mut change = self.begin()?;
            let limit = self.change_limit() - EXTENT_IMAGES_MAX;
            let mut freed = Vec::new();
            let file = self.files.get_mut(&number).expect("the file being shortened");
            change.touch(Address::Meta(file.entry));
            while file.extents() > extents && change.len() <= limit {
                let extent = file.extents() - 1;
                let units = self.geometry.extent_units(extent);
                for (copy, pointer) in file.pointers_of(extent).to_vec().into_iter().enumerate() {
                    change.touch_units(pointer.disk, pointer.au, units);
                    count(&mut file.load, pointer.disk, copy, -i64::from(units));
                    freed.push((
                        extent,
                        Run {
                            disk: pointer.disk,
                            au: pointer.au,
                            units,
                        },
                    ));
                }
                file.pointers.truncate(extent as usize * file.copies);
                let leaf = file.leaves[(extent / LEAF_EXTENTS) as usize].block;
                if extent.is_multiple_of(LEAF_EXTENTS) {
                    file.leaves.pop();
                    self.meta_uses.set(leaf, MetaUse::Free);
                }
                change.touch(Address::Meta(leaf));
            }
            if Planted::ExtentLeaked.on() && extents == 0 && self.files[&number].extents() == 0 {
                freed.pop();
            }
            for (extent, run) in freed {
                self.give_back(Orphan {
                    file: number,
                    extent,
                    run,
                });
            }
            self.commit(change)?;
        }
        let first = self.geometry.units(extents, self.files[&number].fine);
        let map = self.files[&number].map.clone();
        for unit in first..map.units() as u64 {
            self.publish_nothing(&map, unit);
        }
        Ok(())
    }
}

/// Counts units that a file has on a disk.
pub(crate) fn count(load: &mut [[u64; 2]], disk: u16, copy: usize, units: i64) {
    let load = &mut load[usize::from(disk)];
    load[0] = load[0].saturating_add_signed(units);
    if copy == 0 {
        load[1] = load[1].saturating_add_signed(units);
    }
}
