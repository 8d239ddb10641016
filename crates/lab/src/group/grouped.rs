//! The disk group of a stack: made on its LUNs, opened for each worker, changed while they work, closed again.
//!
//! Takes the stack's devices and how a port is opened on them; gives ports on the group's two files. All ports are opened on the
//! same LUNs in the same order, those in reserve included, so that one may join later. Prevents: a group whose
//! disks the undo journal does not know, because it carries the UUID under which they were journalled.

use crate::condition::Condition;
use crate::moves::rebalance::{Change, HowFar, Moved, Regroup};
use crate::sizes::Sizes;
use anyhow::{Context, anyhow};
use diskgroup::{
    DiskInfo, DiskSpec, FileSpec, Geometry, Group, GroupPort, GroupSpec, MountOptions, Redundancy, Step, Stripe, Uuid,
    Verify,
};
use pages::Files;
use plan::{Inject, Rebalance, Stack, StackKind};
use stacks::{Built, Owners};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use targets::{Access, FileId, OpenSpec, Port, PsyncPort, TargetError};

/// Memory of the port that the owner of the metadata works with.
const OWNER_MEMORY: u64 = 4 << 20;
const OWNER_DEPTH: usize = 64;
/// Memory of the port that moves extents, for each I/O that it may have in flight, and in all.
const UPKEEP_IO_BYTES: u64 = 1 << 20;
const UPKEEP_MEMORY_MAX: u64 = 64 << 20;
const GROUP: &str = "assay";
const REDO_GROUP: &str = "assay-redo";
pub(crate) const DATA: &str = "data";
pub(crate) const REDO: &str = "redo";

/// Tells the group which copy of a page is good, when copies differ or one can't be read.
struct Pages {
    page_bytes: u32,
    /// Where the pages of the schemas begin; all of them are written when the database is loaded.
    from: u64,
}

impl Verify for Pages {
    fn page_bytes(&self, file: &str) -> u32 {
        if file == DATA { self.page_bytes } else { 0 }
    }

    fn is_good(&self, _file: &str, offset: u64, page: &[u8]) -> bool {
        // Before the first schema are areas that are no pages. In a schema zeros are what a disk gives that lost its content.
        offset < self.from || pages::is_whole(page)
    }
}

/// What a stack of kind `diskgroup` says.
struct Asked {
    redundancy: Redundancy,
    au_bytes: u32,
    stripe: Stripe,
    failure_groups: Option<u32>,
    reserve: u32,
}

impl Asked {
    fn of(stack: &Stack) -> anyhow::Result<Asked> {
        let StackKind::Diskgroup {
            redundancy,
            au,
            stripe,
            failure_groups,
            reserve,
        } = &stack.kind
        else {
            return Err(anyhow!("{} is no disk group", stack.name));
        };
        Ok(Asked {
            redundancy: match redundancy {
                plan::Redundancy::External => Redundancy::External,
                plan::Redundancy::Normal => Redundancy::Normal,
                plan::Redundancy::High => Redundancy::High,
            },
            au_bytes: u32::try_from(au.0).context("an allocation unit")?,
            stripe: match stripe {
                plan::Stripe::Coarse => Stripe::Coarse,
                plan::Stripe::Fine => Stripe::Fine,
            },
            failure_groups: *failure_groups,
            reserve: *reserve,
        })
    }

    fn spec(&self, name: &str, uuid: [u8; 16]) -> GroupSpec {
        GroupSpec {
            geometry: Geometry::new(self.au_bytes),
            uuid: Some(Uuid(uuid)),
            ..GroupSpec::new(name, self.redundancy)
        }
    }

    /// Devices as disks of a group, named and numbered from 0, that are the files of a port from `first` on.
    fn disks(&self, name: &str, devices: &[PathBuf], first: u16) -> anyhow::Result<Vec<DiskSpec>> {
        let disk = |(nth, path): (usize, &PathBuf)| {
            let mut disk = DiskSpec::new(FileId(first + nth as u16), &format!("{name}{nth}"));
            disk.failure_group = self.failure_groups.map(|groups| format!("fg{}", nth as u32 % groups));
            disk.sector_bytes = sector_bytes(path)?;
            Ok(disk)
        };
        devices.iter().enumerate().map(disk).collect()
    }
}

fn sector_bytes(path: &Path) -> anyhow::Result<u32> {
    let file = std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?;
    if path.is_file() {
        return Ok(512);
    }
    rustix::fs::ioctl_blksszget(file).with_context(|| format!("ask {} for its sector size", path.display()))
}

/// How a port is opened: with the planted disadvantage of a stack, on these files, with so much memory and depth.
pub(crate) type Open<'a, P> = dyn Fn(Inject, &[OpenSpec], u64, usize) -> Result<P, TargetError> + 'a;

/// The group of a stack, open, and the one of its redo log where that has its own.
pub(crate) struct Grouped<P: Port> {
    group: Group<P>,
    /// Over ports of the first group, which let its disks through.
    redo: Option<Group<GroupPort<P>>>,
    /// All LUNs of the stack, in the order of their sets, data first; a port's files.
    files: Vec<OpenSpec>,
    /// What each LUN of the data is, or would be, in the group.
    disks: Vec<DiskSpec>,
    redo_disks: Vec<DiskSpec>,
    inject: Inject,
    seed: u64,
}

/// The engine's files in a port on two groups: the second group's own comes first, then what the first lets through.
pub(crate) fn files_of_two() -> Files {
    Files {
        data: vec![FileId(1)],
        redo: FileId(0),
    }
}

/// By whose UUIDs the LUNs are journalled.
fn owners(built: &Built) -> anyhow::Result<&Owners> {
    built.ground.owners().context("the LUNs of a disk group")
}

fn seed_of(uuid: &[u8; 16]) -> u64 {
    let (half, _) = uuid.split_at(8);
    half.iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

impl<P: Port> Grouped<P> {
    /// Makes the group on all LUNs but those in reserve, and its files in it; where the redo log has LUNs of its own, another
    /// group for it.
    pub(crate) fn make(stack: &Stack, built: &Built, sizes: &Sizes, open: &Open<'_, P>) -> anyhow::Result<Grouped<P>> {
        let asked = Asked::of(stack)?;
        let writing = |path: &PathBuf| OpenSpec::writing(path, Access::Direct);
        let files: Vec<OpenSpec> = built.devices.iter().map(writing).collect();
        let (data_devices, redo_devices) = built.luns();
        let owners = owners(built)?;
        let seed = seed_of(&owners.data);
        let owner = open(stack.inject, &files, OWNER_MEMORY, OWNER_DEPTH)?;
        let disks = asked.disks("disk", data_devices, 0)?;
        let members = disks.len().saturating_sub(asked.reserve as usize);
        let group = Group::create(owner, &asked.spec(GROUP, owners.data), &disks[..members], seed)?;
        let data = pages::data_file_bytes(&sizes.shape, &sizes.settings, 1)[0];
        make_file(&group, DATA, data, asked.stripe)?;
        group.set_verify(Arc::new(Pages {
            page_bytes: sizes.shape.page_bytes,
            from: data - sizes.shape.data_bytes(),
        }));
        let mut grouped = Grouped {
            group,
            redo: None,
            files,
            disks,
            // Over a port of the first group their numbers follow its one file.
            redo_disks: asked.disks("redo", redo_devices, 1)?,
            inject: stack.inject,
            seed,
        };
        let redo_bytes = pages::redo_file_bytes(&sizes.settings);
        match owners.redo {
            None => make_file(&grouped.group, REDO, redo_bytes, Stripe::Fine)?,
            Some(uuid) => {
                let owner = grouped.first_of_two(open, OWNER_MEMORY, OWNER_DEPTH)?;
                let spec = asked.spec(REDO_GROUP, uuid);
                let group = Group::create(owner, &spec, &grouped.redo_disks, seed_of(&uuid))?;
                make_file(&group, REDO, redo_bytes, Stripe::Fine)?;
                grouped.redo = Some(group);
            }
        }
        Ok(grouped)
    }

    /// Opens the groups again after their LUNs lost their power, as an administrator would: journal replayed, copies settled.
    pub(crate) fn reopen(
        stack: &Stack,
        built: &Built,
        sizes: &Sizes,
        open: &Open<'_, P>,
    ) -> anyhow::Result<Grouped<P>> {
        let asked = Asked::of(stack)?;
        let writing = |path: &PathBuf| OpenSpec::writing(path, Access::Direct);
        let files: Vec<OpenSpec> = built.devices.iter().map(writing).collect();
        let (data_devices, redo_devices) = built.luns();
        let owners = owners(built)?;
        let owner = open(stack.inject, &files, OWNER_MEMORY, OWNER_DEPTH)?;
        let data = pages::data_file_bytes(&sizes.shape, &sizes.settings, 1)[0];
        let names = |devices: &[PathBuf]| {
            devices
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        let named = |name: &str, names: Vec<String>| MountOptions {
            group: Some(name.to_string()),
            names,
            ..MountOptions::default()
        };
        let (group, _) = Group::mount(
            owner,
            &MountOptions {
                verify: Some(Arc::new(Pages {
                    page_bytes: sizes.shape.page_bytes,
                    from: data - sizes.shape.data_bytes(),
                })),
                ..named(GROUP, names(&built.devices))
            },
        )?;
        let mut grouped = Grouped {
            group,
            redo: None,
            disks: asked.disks("disk", data_devices, 0)?,
            redo_disks: asked.disks("redo", redo_devices, 1)?,
            files,
            inject: stack.inject,
            seed: seed_of(&owners.data),
        };
        if owners.redo.is_some() {
            let owner = grouped.first_of_two(open, OWNER_MEMORY, OWNER_DEPTH)?;
            // Over a port of the first group the disks of the second follow its one file.
            let all = [vec![DATA.to_string()], names(redo_devices)].concat();
            grouped.redo = Some(Group::mount(owner, &named(REDO_GROUP, all))?.0);
        }
        Ok(grouped)
    }

    /// Whether the redo log has a group of its own; [`Grouped::port_of_two`] opens both.
    pub(crate) fn has_two(&self) -> bool {
        self.redo.is_some()
    }

    /// A port on the group's data (file 0) and redo log (file 1).
    pub(crate) fn port(&self, open: &Open<'_, P>, memory: u64, depth: usize) -> anyhow::Result<GroupPort<P>> {
        let below = open(self.inject, &self.files, memory, depth)?;
        Ok(self.group.open(below, &[DATA, REDO])?)
    }

    /// A port on the data and, below it, on the disks of the other group.
    fn first_of_two(&self, open: &Open<'_, P>, memory: u64, depth: usize) -> anyhow::Result<GroupPort<P>> {
        let below = open(self.inject, &self.files, memory, depth)?;
        let beside: Vec<FileId> = (self.disks.len()..self.files.len())
            .map(|nth| FileId(nth as u16))
            .collect();
        Ok(self.group.open_under(below, &[DATA], &beside)?)
    }

    /// A port on the files of two groups, numbered as in [`files_of_two`].
    pub(crate) fn port_of_two(
        &self,
        open: &Open<'_, P>,
        memory: u64,
        depth: usize,
    ) -> anyhow::Result<GroupPort<GroupPort<P>>> {
        let redo = self.redo.as_ref().context("a group of its own for the redo log")?;
        let below = self.first_of_two(open, memory, depth)?;
        Ok(redo.open_over(below, &[REDO], &[FileId(0)])?)
    }

    /// What the study does not say: its keys are disclosed without our help.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("redo stripe".to_string(), "fine".to_string())];
        let members: Vec<String> = self.members().into_iter().map(|disk| disk.name).collect();
        for (disk, file) in self.disks.iter().chain(&self.redo_disks).zip(&self.files) {
            let group = disk.failure_group.as_deref().unwrap_or(&disk.name);
            let reserve = if members.contains(&disk.name) {
                ""
            } else {
                ", in reserve"
            };
            let value = format!("{}, failure group {group}{reserve}", file.path.display());
            facts.push((disk.name.clone(), value));
        }
        facts
    }

    /// The disks of both groups.
    fn members(&self) -> Vec<DiskInfo> {
        let redo = self.redo.as_ref().map(|group| group.disks());
        self.group.disks().into_iter().chain(redo.unwrap_or_default()).collect()
    }

    /// How the groups are.
    pub(crate) fn condition(&self) -> Condition {
        let infos = [Some(self.group.info()), self.redo.as_ref().map(Group::info)];
        Condition::of(self.members(), infos.into_iter().flatten())
    }

    /// Closes the group in good order, after the one that lies over it. Their ports must be gone.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        if let Some(redo) = self.redo {
            drop(redo.close()?);
        }
        self.group.close()?;
        Ok(())
    }
}

/// A group on all LUNs but those in reserve, without files, and how its disks are opened: for a database in SQL, which makes and
/// removes files as it goes.
pub(crate) fn for_sql(stack: &Stack, built: &Built) -> anyhow::Result<(Group<PsyncPort>, Vec<OpenSpec>)> {
    let asked = Asked::of(stack)?;
    let writing = |path: &PathBuf| OpenSpec::writing(path, Access::Direct);
    let files: Vec<OpenSpec> = built.devices.iter().map(writing).collect();
    let disks = asked.disks("disk", &built.devices, 0)?;
    let members = disks.len().saturating_sub(asked.reserve as usize);
    let owner = PsyncPort::open(&files, OWNER_MEMORY, OWNER_DEPTH)?;
    let uuid = owners(built)?.data;
    let spec = asked.spec(GROUP, uuid);
    let group = Group::create(owner, &spec, &disks[..members], seed_of(&uuid))?;
    Ok((group, files))
}

/// The same group again, from its disks: for another process, when this one has closed it.
pub(crate) fn again_for_sql(devices: &[PathBuf]) -> anyhow::Result<(Group<PsyncPort>, Vec<OpenSpec>)> {
    let files: Vec<OpenSpec> = devices
        .iter()
        .map(|path| OpenSpec::writing(path, Access::Direct))
        .collect();
    let owner = PsyncPort::open(&files, OWNER_MEMORY, OWNER_DEPTH)?;
    let options = MountOptions {
        group: Some(GROUP.to_string()),
        names: devices.iter().map(|path| path.display().to_string()).collect(),
        ..MountOptions::default()
    };
    Ok((Group::mount(owner, &options)?.0, files))
}

fn make_file<P: Port>(group: &Group<P>, name: &str, size: u64, stripe: Stripe) -> anyhow::Result<()> {
    group.create_file(&FileSpec {
        name: name.to_string(),
        size,
        redundancy: None,
        stripe,
    })?;
    Ok(())
}

/// How often a rebalance tells how far it is.
const TELL_NS: u64 = 250_000_000;

/// A group and the way its ports are opened.
pub(crate) struct Changing<'a, P: Port> {
    pub(crate) grouped: &'a Grouped<P>,
    pub(crate) open: &'a Open<'a, P>,
}

impl<P: Port + Send> Regroup for Changing<'_, P> {
    fn change<'a>(&'a self, asked: &'a Rebalance, seed: u64) -> anyhow::Result<Box<Change<'a>>> {
        let power = asked.power as usize;
        let memory = (power as u64 * UPKEEP_IO_BYTES).clamp(OWNER_MEMORY, UPKEEP_MEMORY_MAX);
        let grouped = self.grouped;
        // Opened here, so that what cannot be opened is said before the work begins.
        let port = (self.open)(grouped.inject, &grouped.files, memory, power.max(OWNER_DEPTH))?;
        let mut upkeep = grouped.group.upkeep(port);
        upkeep.set_power(asked.power);
        let change = move |stop: &AtomicBool, tell: &dyn Fn(HowFar)| {
            let before = upkeep.progress().moved_bytes;
            let began = upkeep.port_mut().now();
            let ideal_bytes = grouped.ask(asked, seed)?;
            let mut moved = Moved {
                ideal_bytes,
                ..Moved::default()
            };
            let mut told = 0;
            let ended = loop {
                let step = upkeep.step(true)?;
                let elapsed = upkeep.port_mut().now().saturating_sub(began);
                let over = step != Step::Working || stop.load(Ordering::Relaxed);
                if over || elapsed - told >= TELL_NS {
                    told = elapsed;
                    let progress = upkeep.progress();
                    moved.course.push((elapsed, progress.moved_bytes - before));
                    tell(HowFar {
                        moved_bytes: progress.moved_bytes - before,
                        left_bytes: progress.left_bytes,
                        time_left_ns: progress.time_left_ns,
                    });
                }
                if over {
                    moved.elapsed_ns = elapsed;
                    break step;
                }
            };
            moved.moved_bytes = upkeep.progress().moved_bytes - before;
            moved.unfinished = match ended {
                Step::Idle => None,
                Step::Working => Some("the rebalance was stopped half-way".to_string()),
                Step::Stuck | Step::Paused => {
                    Some("the rebalance could not move all it had to: the disks that stay have no room".to_string())
                }
            };
            Ok(moved)
        };
        Ok(Box::new(change))
    }
}

impl<P: Port> Grouped<P> {
    /// Adds and drops the disks that were asked for; gives the bytes that must move for it.
    fn ask(&self, asked: &Rebalance, seed: u64) -> anyhow::Result<u64> {
        let before = self.group.disks();
        let new: Vec<DiskSpec> = asked
            .add
            .iter()
            .filter_map(|lun| self.disks.get(*lun as usize).cloned())
            .collect();
        if !new.is_empty() {
            self.group.add_disks(&new, self.seed ^ seed)?;
        }
        for lun in &asked.drop {
            self.group.drop_disk(&format!("disk{lun}"))?;
        }
        Ok(ideal_bytes(&before, &self.group.disks()))
    }
}

/// Bytes that must come to disks which have less than their share, by size, of what is on all of them.
fn ideal_bytes(before: &[DiskInfo], after: &[DiskInfo]) -> u64 {
    let used = |disk: &DiskInfo| disk.total_bytes - disk.free_bytes;
    let had = |name: &str| before.iter().find(|disk| disk.name == name).map_or(0, used);
    let all: u64 = before.iter().map(used).sum();
    let staying: Vec<&DiskInfo> = after.iter().filter(|disk| !disk.dropping).collect();
    let room: u64 = staying.iter().map(|disk| disk.total_bytes).sum();
    let share = |disk: &DiskInfo| (u128::from(all) * u128::from(disk.total_bytes) / u128::from(room.max(1))) as u64;
    staying
        .iter()
        .map(|disk| share(disk).saturating_sub(had(&disk.name)))
        .sum()
}
