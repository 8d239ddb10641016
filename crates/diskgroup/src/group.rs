//! A group as those see it who use it: a handle that is cheap to clone and may go to any thread.
//!
//! Prevents: two owners of the same metadata in one process.

use crate::error::GroupError;
use crate::layout::file::FileState;
use crate::layout::header::Found;
use crate::metadata::check::CheckReport;
use crate::metadata::core::{Core, Redundancy};
use crate::metadata::create::{DiskSpec, GroupSpec, look};
use crate::metadata::files::{FileSpec, Stays, Stripe};
use crate::metadata::mount::{MountOptions, Mounted};
use crate::metadata::store::Store;
use crate::port::GroupPort;
use crate::port::board::Board;
use crate::port::open::Beside;
use crate::port::open::{Ticket, locked};
use crate::upkeep::Upkeep;
use crate::uuid::Uuid;
use crate::verify::Verify;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use targets::{FileId, Port};

/// An open group. Calls that change something return when the change is durable.
pub struct Group<P: Port> {
    core: Arc<Mutex<Core<P>>>,
    board: Arc<Board>,
}

impl<P: Port> Clone for Group<P> {
    fn clone(&self) -> Group<P> {
        Group {
            core: self.core.clone(),
            board: self.board.clone(),
        }
    }
}

/// A group as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupInfo {
    /// Its name.
    pub name: String,
    /// Its UUID.
    pub uuid: Uuid,
    /// Copies that files have unless they say otherwise.
    pub redundancy: Redundancy,
    /// Bytes of an allocation unit.
    pub au_bytes: u32,
    /// Bytes for data and metadata on all disks, copies counted.
    pub total_bytes: u64,
    /// Of them free.
    pub free_bytes: u64,
    /// Bytes of metadata, copies counted.
    pub metadata_bytes: u64,
    /// A rebalance is wanted or under way.
    pub rebalance: bool,
    /// Reads that were served from another copy after the first had failed, since the group was opened.
    pub rescued_reads: u64,
}

/// A disk of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskInfo {
    /// Name in the group.
    pub name: String,
    /// Number in the group.
    pub number: u16,
    /// Its UUID.
    pub uuid: Uuid,
    /// Disks that fail together.
    pub failure_group: String,
    /// The file of the ports below; `None` while it is missing.
    pub file: Option<FileId>,
    /// It is used.
    pub online: bool,
    /// I/O failed on it, and the group cannot do without it.
    pub failing: bool,
    /// It is being emptied.
    pub dropping: bool,
    /// Bytes for data and metadata.
    pub total_bytes: u64,
    /// Of them free.
    pub free_bytes: u64,
    /// Bytes of extents with a copy here that missed a write.
    pub stale_bytes: u64,
    /// Names of the disks that may hold the other copies of its extents.
    pub partners: Vec<String>,
}

/// A file of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Bytes, to the last one.
    pub size: u64,
    /// Bytes on disks, copies counted.
    pub allocated_bytes: u64,
    /// Copies.
    pub redundancy: Redundancy,
    /// Stripes.
    pub stripe: Stripe,
    /// Extents.
    pub extents: u32,
    /// Ports that have it open.
    pub opens: u32,
    /// Bytes on each disk (by name), copies counted.
    pub bytes_on: Vec<(String, u64)>,
}

/// What stands on a disk that is not open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inspected {
    /// Nothing of ours.
    Foreign,
    /// A header of ours, both copies damaged.
    Damaged,
    /// Of a newer format version.
    Newer(u16),
    /// A member, or a former one.
    Disk {
        /// Name of the group.
        group: String,
        /// Name of the disk.
        disk: String,
        /// Its failure group.
        failure_group: String,
        /// False: it was dropped.
        member: bool,
        /// Both headers are whole and agree.
        whole: bool,
    },
}

/// Looks at every file of a port without opening a group. `files`: how many there are.
///
/// # Errors
/// Those of the port.
pub fn inspect<P: Port>(port: P, files: u16) -> Result<Vec<Inspected>, GroupError> {
    let mut store = Store::new(port)?;
    let mut all = Vec::new();
    for file in (0..files).map(FileId) {
        all.push(match look(&mut store, file)?.0 {
            Found::Foreign => Inspected::Foreign,
            Found::Damaged => Inspected::Damaged,
            Found::Newer(version) => Inspected::Newer(version),
            Found::Header { header, whole } => Inspected::Disk {
                group: header.group_name,
                disk: header.disk_name,
                failure_group: header.failure_group,
                member: header.member,
                whole,
            },
        });
    }
    Ok(all)
}

impl<P: Port> Group<P> {
    fn of(core: Core<P>) -> Group<P> {
        let board = core.board.clone();
        Group {
            core: Arc::new(Mutex::new(core)),
            board,
        }
    }

    pub(crate) fn core(&self) -> MutexGuard<'_, Core<P>> {
        locked(&self.core)
    }

    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// An error while somebody has files of the group open, here or in another instance.
    fn must_be_idle(&self, cure: &str) -> Result<(), GroupError> {
        let what = match (self.board.ports(), self.board.followers()) {
            (0, 0) => return Ok(()),
            (0, others) => format!("{others} other instances have the group open"),
            (ports, _) => format!("{ports} ports have files of the group open"),
        };
        let cure = cure.to_owned();
        Err(GroupError::Busy { what, cure })
    }

    /// Makes a group on files of a port and opens it. The port becomes the group's own: it needs at least
    /// [`crate::MEMORY_MIN`] bytes of memory and alignment of at most 4096. `seed` decides the UUIDs: never use one
    /// twice.
    ///
    /// # Errors
    /// [`GroupError::Refused`], [`GroupError::Taken`], [`GroupError::Newer`]: nothing has been written. Others are of
    /// the devices.
    pub fn create(port: P, spec: &GroupSpec, disks: &[DiskSpec], seed: u64) -> Result<Group<P>, GroupError> {
        Ok(Group::of(Core::create(port, spec, disks, seed)?))
    }

    /// Opens a group: finds its disks among the port's files, replays the journal, makes copies equal that a crash left
    /// different.
    ///
    /// # Errors
    /// [`GroupError::NoGroup`], [`GroupError::Missing`], [`GroupError::Lost`], [`GroupError::Newer`],
    /// [`GroupError::Damaged`]: nothing has been written.
    pub fn mount(port: P, options: &MountOptions) -> Result<(Group<P>, Mounted), GroupError> {
        let (core, mounted) = Core::mount(port, options)?;
        Ok((Group::of(core), mounted))
    }

    /// Opens a group that another process has open, without the right to change it: no file can be made, grow or go, no
    /// disk joins or leaves, and nothing is replayed or mended. Ports on it read and write the files that are there.
    /// The owner must move nothing while this group is open, unless it has admitted this instance before
    /// ([`Group::admit`]) and this one hears what it tells: an extent that it moved would be read and written where it
    /// was. A group with mirrored files is refused, for their writes change the metadata.
    ///
    /// # Errors
    /// As [`Group::mount`]; [`GroupError::Refused`], [`GroupError::Busy`] when the owner changed something meanwhile.
    /// Nothing has been written.
    pub fn mount_frozen(port: P, options: &MountOptions) -> Result<Group<P>, GroupError> {
        Ok(Group::of(Core::mount_frozen(port, options)?))
    }

    /// Gives the group a judge of pages; ports opened from now on ask it about every page they read from a mirrored
    /// file, and check, settling and mending decide by it between copies that differ.
    pub fn set_verify(&self, verify: Arc<dyn Verify>) {
        self.core().verify = Some(verify);
    }

    /// Reads come from this failure group where there is a choice; `None`: from the first copy.
    pub fn set_preferred(&self, failure_group: Option<&str>) {
        let mut core = self.core();
        core.preferred = failure_group.map(str::to_owned);
        core.publish_everything();
    }

    /// Makes a file. Its bytes are zeros.
    ///
    /// # Errors
    /// [`GroupError::Exists`], [`GroupError::Full`], [`GroupError::Refused`].
    pub fn create_file(&self, spec: &FileSpec) -> Result<(), GroupError> {
        self.core().create_file(spec, Stays::Kept).map(|_| ())
    }

    /// Makes a file to be filled now: it can be opened and written, is not listed, and is gone when the group is opened
    /// again, unless [`Group::finish_file`] was called. So nobody finds half of it under the name of the whole.
    ///
    /// # Errors
    /// [`GroupError::Exists`], [`GroupError::Full`], [`GroupError::Refused`].
    pub fn begin_file(&self, spec: &FileSpec) -> Result<(), GroupError> {
        self.core().create_file(spec, Stays::Draft).map(|_| ())
    }

    /// Makes a file for what nobody wants any more after a crash: it is not listed, can't be finished, and is gone when
    /// the group is opened again. Its new bytes are whatever was there: who reads reads what was written before.
    ///
    /// # Errors
    /// [`GroupError::Exists`], [`GroupError::Full`], [`GroupError::Refused`].
    pub fn scratch_file(&self, spec: &FileSpec) -> Result<(), GroupError> {
        self.core().create_file(spec, Stays::Scratch).map(|_| ())
    }

    /// Keeps a file that was begun. What was written to it must have been flushed.
    ///
    /// # Errors
    /// [`GroupError::NoFile`].
    pub fn finish_file(&self, name: &str) -> Result<(), GroupError> {
        let mut core = self.core();
        let number = core.file_named(name)?;
        core.finish_file(number)
    }

    /// Makes a file at least `size` bytes long; new bytes are zeros.
    ///
    /// # Errors
    /// [`GroupError::NoFile`], [`GroupError::Full`].
    pub fn grow_file(&self, name: &str, size: u64) -> Result<(), GroupError> {
        let mut core = self.core();
        let number = core.file_named(name)?;
        core.grow_file(number, size)
    }

    /// Deletes a file that no port has open.
    ///
    /// # Errors
    /// [`GroupError::NoFile`]; [`GroupError::Busy`], also while another instance may have it open.
    pub fn delete_file(&self, name: &str) -> Result<(), GroupError> {
        let mut core = self.core();
        let number = core.file_named(name)?;
        core.delete_file(number)
    }

    /// Opens files for one worker; they are `FileId(0)` and so on in the order given. The port has the same files in
    /// the same order as the group's own.
    ///
    /// # Errors
    /// [`GroupError::NoFile`].
    pub fn open(&self, port: P, names: &[&str]) -> Result<GroupPort<P>, GroupError> {
        self.open_with(port, names, Beside::default())
    }

    /// The same, with files of the port below that follow those of the group, to be used as they are: the disks of
    /// another group, which can then be opened over this port. Requests for them have a slot each; those for the
    /// group's own files are as quick as without.
    ///
    /// # Errors
    /// [`GroupError::NoFile`].
    pub fn open_under(&self, port: P, names: &[&str], beside: &[FileId]) -> Result<GroupPort<P>, GroupError> {
        self.open_with(port, names, Beside::slotted(beside))
    }

    /// The other way round, for the group that lies over such a port: files of the port below follow those of the
    /// group, and requests for them pass with their own tokens; those for the group's own files have a slot each.
    ///
    /// # Errors
    /// [`GroupError::NoFile`].
    pub fn open_over(&self, port: P, names: &[&str], beside: &[FileId]) -> Result<GroupPort<P>, GroupError> {
        self.open_with(port, names, Beside::through(beside))
    }

    fn open_with(&self, port: P, names: &[&str], beside: Beside) -> Result<GroupPort<P>, GroupError> {
        let mut core = self.core();
        core.alive()?;
        let numbers = names
            .iter()
            .map(|n| core.file_named(n))
            .collect::<Result<Vec<u32>, _>>()?;
        for number in &numbers {
            core.files.get_mut(number).expect("just found").opens += 1;
        }
        let ticket = Ticket {
            core: self.core.clone(),
            board: self.board.clone(),
            seat: self.board.seat(),
            files: numbers,
        };
        let (geometry, verify) = (core.geometry, core.verify.clone());
        drop(core);
        Ok(GroupPort::new(port, ticket, geometry, verify, beside))
    }

    /// What keeps the group in order beside the workers: moves, resync, mending. One at a time is enough.
    /// The port is like those of the workers; its memory is the buffer for copying.
    pub fn upkeep(&self, port: P) -> Upkeep<P> {
        Upkeep::new(self.core.clone(), self.board.clone(), port)
    }

    /// Adds disks, each a file that all ports have open already, and asks for a rebalance.
    ///
    /// # Errors
    /// [`GroupError::Refused`], [`GroupError::Taken`], [`GroupError::Newer`]: nothing has been written.
    pub fn add_disks(&self, disks: &[DiskSpec], seed: u64) -> Result<(), GroupError> {
        self.core().add_disks(disks, seed)
    }

    /// Asks for a disk to be emptied and released by the upkeep.
    ///
    /// # Errors
    /// [`GroupError::NoDisk`], [`GroupError::Refused`], [`GroupError::Full`].
    pub fn drop_disk(&self, name: &str) -> Result<(), GroupError> {
        let mut core = self.core();
        let number = core.disk_named(name)?;
        core.drop_disk(number)
    }

    /// Takes a disk offline.
    ///
    /// # Errors
    /// [`GroupError::Lost`] when files or metadata have parts on it alone.
    pub fn offline_disk(&self, name: &str) -> Result<(), GroupError> {
        let mut core = self.core();
        core.alive()?;
        let number = core.disk_named(name)?;
        let files = core.can_do_without(number);
        if !files.is_empty() {
            return Err(GroupError::Lost {
                disks: vec![name.to_owned()],
                files: files.into_iter().collect(),
            });
        }
        if core.disks[&number].online {
            core.take_offline(number)
        } else {
            Ok(())
        }
    }

    /// Brings a disk back that was offline; the upkeep then copies what it missed. A disk that is online and failing is
    /// trusted again when it takes its metadata.
    ///
    /// # Errors
    /// [`GroupError::NoDisk`], [`GroupError::Missing`], [`GroupError::NoGroup`] when something else is attached in its
    /// place.
    pub fn online_disk(&self, name: &str) -> Result<(), GroupError> {
        let mut core = self.core();
        let number = core.disk_named(name)?;
        core.bring_online(number)
    }

    /// Marks all copies on a disk as stale, because its content is not to be believed; the upkeep then makes them anew
    /// from the others. Gives the number of marked copies, and the names of files that have data on this disk alone:
    /// those stay as they are.
    ///
    /// # Errors
    /// [`GroupError::NoDisk`]; others are of the devices.
    pub fn distrust_disk(&self, name: &str) -> Result<(u64, BTreeSet<String>), GroupError> {
        let mut core = self.core();
        let number = core.disk_named(name)?;
        core.distrust(number)
    }

    /// Asks for a rebalance.
    ///
    /// # Errors
    /// Those of the devices.
    pub fn rebalance(&self) -> Result<(), GroupError> {
        let mut core = self.core();
        let mut change = core.begin()?;
        core.root.rebalance = true;
        change.touch(crate::layout::block::Address::Root);
        core.commit(change)?;
        core.settle_trouble()
    }

    /// Compares everything: headers, roots, metadata, allocation tables, and all copies of all extents; with `repair`,
    /// rewrites what is wrong where a good copy exists. No port may be open.
    ///
    /// # Errors
    /// [`GroupError::Busy`] while ports are open.
    pub fn check(&self, repair: bool) -> Result<CheckReport, GroupError> {
        self.check_watched(repair, &mut |_, _| ())
    }

    /// The same; `tell` hears the bytes of copies compared so far, and of all.
    ///
    /// # Errors
    /// [`GroupError::Busy`] while ports are open.
    pub fn check_watched(&self, repair: bool, tell: &mut dyn FnMut(u64, u64)) -> Result<CheckReport, GroupError> {
        self.must_be_idle("close them first: a check compares copies that nobody may change meanwhile")?;
        self.core().check(repair, tell)
    }

    /// The group as a whole.
    pub fn info(&self) -> GroupInfo {
        let core = self.core();
        let sum = |of: &dyn Fn(&crate::layout::disk::Disk) -> u32| {
            let units: u64 = core.disks.values().map(|d| u64::from(of(d))).sum();
            units * core.au()
        };
        GroupInfo {
            name: core.root.name.clone(),
            uuid: core.group,
            redundancy: core.redundancy,
            au_bytes: core.geometry.au_bytes,
            total_bytes: sum(&|d| d.space.total()),
            free_bytes: sum(&|d| d.space.free()),
            metadata_bytes: core.root.extents.iter().map(|e| e.len() as u64).sum::<u64>() * core.au(),
            rebalance: core.root.rebalance,
            rescued_reads: self.board.rescued.load(std::sync::atomic::Ordering::Relaxed),
        }
    }

    /// Its disks by number.
    pub fn disks(&self) -> Vec<DiskInfo> {
        let core = self.core();
        let stale = core.stale_units();
        let info = |d: &crate::layout::disk::Disk| DiskInfo {
            name: d.name.clone(),
            number: d.number,
            uuid: d.uuid,
            failure_group: d.failure_group.clone(),
            file: d.slot,
            online: d.online,
            failing: d.failing,
            dropping: d.dropping,
            total_bytes: u64::from(d.space.total()) * core.au(),
            free_bytes: u64::from(d.space.free()) * core.au(),
            stale_bytes: stale[usize::from(d.number)] * core.au(),
            partners: core
                .disks
                .values()
                .filter(|o| d.partners & o.bit() != 0)
                .map(|o| o.name.clone())
                .collect(),
        };
        core.disks.values().map(info).collect()
    }

    /// Its files by name.
    pub fn files(&self) -> Vec<FileInfo> {
        let core = self.core();
        let mut files = Vec::new();
        for file in core.files.values().filter(|f| f.state == FileState::Live) {
            let on = core
                .disks
                .values()
                .map(|d| (d, file.load[usize::from(d.number)][0]))
                .filter(|l| l.1 > 0);
            let bytes_on: Vec<(String, u64)> = on.map(|(d, units)| (d.name.clone(), units * core.au())).collect();
            files.push(FileInfo {
                name: file.name.clone(),
                size: file.size,
                allocated_bytes: bytes_on.iter().map(|b| b.1).sum(),
                redundancy: Redundancy::of_copies(file.copies).expect("a file has 1 to 3 copies"),
                stripe: if file.fine { Stripe::Fine } else { Stripe::Coarse },
                extents: file.extents(),
                opens: file.opens,
                bytes_on,
            });
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    }

    /// Closes the group in good order: everything is at home and regions are recorded as equal. Gives the port back
    /// when this was the last handle. Leaving it out is a crash, which the next mount takes care of.
    ///
    /// # Errors
    /// [`GroupError::Busy`] while ports are open; [`GroupError::NotDurable`] when a file has data that a flush did not
    /// make durable anywhere: everything else is in order.
    pub fn close(self) -> Result<Option<P>, GroupError> {
        self.must_be_idle("close them first")?;
        {
            let mut core = self.core();
            core.alive()?;
            // Who may change nothing leaves nothing behind that the next mount would look for.
            if !core.frozen {
                core.rest()?;
            }
        }
        let Group { core, board: _ } = self;
        let core = Arc::try_unwrap(core).ok();
        Ok(core.map(|m| {
            m.into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .store
                .into_port()
        }))
    }
}
