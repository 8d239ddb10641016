//! The disk group of a stack: made on its LUNs, opened for each worker, changed while they work, closed again.
//!
//! Takes the stack's devices and how a port is opened on them; gives ports on the group's two files. All ports are
//! opened on the same LUNs in the same order, those in reserve included, so that one may join later. Prevents: a
//! group whose disks the undo journal does not know, because it carries the UUID under which they were journalled.

use crate::condition::Condition;
use crate::ports::{Opener, StackPort};
use crate::sizes::Sizes;
use anyhow::{Context, anyhow};
use diskgroup::{
    DiskInfo, DiskSpec, FileSpec, Follower, Geometry, Group, GroupError, GroupPort, GroupSpec, MountOptions,
    Redundancy, Stripe, Uuid, Verify,
};
use ledger::{Disclosed, FactName, Role};
use pages::Files;
use plan::{Inject, Stack};
use stacks::{Built, Owners};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use targets::{Access, BasePort, FileId, Method, OpenSpec, Port};

/// A study is refused before a group is.
const _: () = assert!(plan::GROUP_LUNS_MAX == diskgroup::DISKS_MAX as usize);

/// Memory of the port that the owner of the metadata works with.
pub(super) const OWNER_MEMORY: u64 = 4 << 20;
pub(super) const OWNER_DEPTH: usize = 64;
pub(super) const GROUP: &str = "assay";
pub(super) const REDO_GROUP: &str = "assay-redo";
const TEMP_GROUP: &str = "assay-temp";
pub(crate) const DATA: &str = "data";
pub(crate) const REDO: &str = "redo";

/// Tells the group which copy of a page is good, when copies differ or one can't be read.
struct Pages {
    page_bytes: u32,
    /// Where the pages of the schemas begin; all of them are written when the database is loaded.
    from: u64,
}

impl Pages {
    fn of(sizes: &Sizes) -> Arc<Pages> {
        Arc::new(Pages {
            page_bytes: sizes.shape.page_bytes,
            from: data_bytes(sizes) - sizes.shape.data_bytes(),
        })
    }
}

impl Verify for Pages {
    fn page_bytes(&self, file: &str) -> u32 {
        if file == DATA { self.page_bytes } else { 0 }
    }

    fn is_good(&self, _file: &str, offset: u64, page: &[u8]) -> bool {
        // Before the first schema are areas that are no pages. In a schema zeros are what a disk gives that lost its
        // content.
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
        let Some(group) = stack.kind.disk_group() else {
            return Err(anyhow!("{} is no disk group", stack.name));
        };
        Ok(Asked {
            redundancy: match group.redundancy {
                plan::Redundancy::External => Redundancy::External,
                plan::Redundancy::Normal => Redundancy::Normal,
                plan::Redundancy::High => Redundancy::High,
            },
            au_bytes: u32::try_from(group.au.0).context("an allocation unit")?,
            stripe: match group.stripe {
                plan::Stripe::Coarse => Stripe::Coarse,
                plan::Stripe::Fine => Stripe::Fine,
            },
            failure_groups: group.failure_groups,
            reserve: group.reserve,
        })
    }

    fn spec(&self, name: &str, uuid: [u8; 16]) -> GroupSpec {
        GroupSpec {
            geometry: Geometry::new(self.au_bytes),
            uuid: Some(Uuid(uuid)),
            ..GroupSpec::new(name, self.redundancy)
        }
    }

    /// Makes the group of the data on its LUNs but those in reserve.
    fn create<P: Port>(&self, owner: P, devices: &[PathBuf], uuid: [u8; 16]) -> anyhow::Result<Group<P>> {
        let disks = self.disks("disk", devices, 0)?;
        let members = disks.len().saturating_sub(self.reserve as usize);
        Ok(Group::create(
            owner,
            &self.spec(GROUP, uuid),
            &disks[..members],
            seed_of(&uuid),
        )?)
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

/// The group of a stack, open, and the one of its redo log where that has its own.
pub(crate) struct Grouped {
    pub(super) group: Group<BasePort>,
    /// Over ports of the first group, which let its disks through.
    redo: Option<Group<GroupPort<BasePort>>>,
    /// All LUNs of the stack, in the order of their sets, data first; a port's files.
    pub(super) files: Vec<OpenSpec>,
    /// What each LUN of the data is, or would be, in the group.
    pub(super) disks: Vec<DiskSpec>,
    redo_disks: Vec<DiskSpec>,
    pub(super) inject: Inject,
    /// How ports on its LUNs are opened.
    pub(super) opener: Opener,
    pub(super) seed: u64,
}

/// Open groups on their LUNs: what ports on the engine's files are made of.
pub(super) struct Lying<'a> {
    pub(super) group: &'a Group<BasePort>,
    pub(super) redo: Option<&'a Group<GroupPort<BasePort>>>,
    pub(super) files: &'a [OpenSpec],
    /// How many of them are the data's, the first ones.
    pub(super) data: usize,
    pub(super) inject: Inject,
    pub(super) opener: Opener,
}

impl Lying<'_> {
    /// A port on the engine's files, numbered as in [`files_of_two`] where the redo log has a group of its own.
    pub(super) fn port(&self, memory: u64, depth: usize) -> anyhow::Result<StackPort> {
        let Some(redo) = self.redo else {
            let below = self.opener.open(self.inject, self.files, memory, depth)?;
            return Ok(StackPort::Group(self.group.open(below, &[DATA, REDO])?));
        };
        let below = self.first_of_two(memory, depth)?;
        Ok(StackPort::GroupOfTwo(redo.open_over(below, &[REDO], &[FileId(0)])?))
    }

    /// A port on the data and, below it, on the disks of the other group.
    pub(super) fn first_of_two(&self, memory: u64, depth: usize) -> anyhow::Result<GroupPort<BasePort>> {
        let below = self.opener.open(self.inject, self.files, memory, depth)?;
        let beside: Vec<FileId> = (self.data..self.files.len()).map(|nth| FileId(nth as u16)).collect();
        Ok(self.group.open_under(below, &[DATA], &beside)?)
    }
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

impl Grouped {
    /// Makes the group on all LUNs but those in reserve, and its files in it; where the redo log has LUNs of its own,
    /// another group for it.
    pub(crate) fn make(stack: &Stack, built: &Built, sizes: &Sizes, opener: Opener) -> anyhow::Result<Grouped> {
        let (asked, owners) = (Asked::of(stack)?, owners(built)?);
        let owner = opener.open(stack.inject, &writing(&built.devices), OWNER_MEMORY, OWNER_DEPTH)?;
        let group = asked.create(owner, built.luns().0, owners.data)?;
        make_file(&group, DATA, data_bytes(sizes), asked.stripe)?;
        group.set_verify(Pages::of(sizes));
        let mut grouped = Grouped::on(group, stack, built, opener)?;
        let redo_bytes = pages::redo_file_bytes(&sizes.settings);
        match owners.redo {
            None => make_file(&grouped.group, REDO, redo_bytes, Stripe::Fine)?,
            Some(uuid) => {
                let owner = grouped.first_of_two(OWNER_MEMORY, OWNER_DEPTH)?;
                let spec = asked.spec(REDO_GROUP, uuid);
                let group = Group::create(owner, &spec, &grouped.redo_disks, seed_of(&uuid))?;
                make_file(&group, REDO, redo_bytes, Stripe::Fine)?;
                grouped.redo = Some(group);
            }
        }
        Ok(grouped)
    }

    /// Opens the groups again after a power cut, as an administrator would: journal replayed, copies settled.
    pub(crate) fn reopen(stack: &Stack, built: &Built, sizes: &Sizes, opener: Opener) -> anyhow::Result<Grouped> {
        let owner = opener.open(stack.inject, &writing(&built.devices), OWNER_MEMORY, OWNER_DEPTH)?;
        let options = MountOptions {
            verify: Some(Pages::of(sizes)),
            ..mounting(GROUP, names(&built.devices))
        };
        let mut grouped = Grouped::on(Group::mount(owner, &options)?.0, stack, built, opener)?;
        if owners(built)?.redo.is_some() {
            let owner = grouped.first_of_two(OWNER_MEMORY, OWNER_DEPTH)?;
            // Over a port of the first group the disks of the second follow its one file.
            let all = [vec![DATA.to_string()], names(built.luns().1)].concat();
            grouped.redo = Some(Group::mount(owner, &mounting(REDO_GROUP, all))?.0);
        }
        Ok(grouped)
    }

    /// A group that is open, without the one of its redo log.
    fn on(group: Group<BasePort>, stack: &Stack, built: &Built, opener: Opener) -> anyhow::Result<Grouped> {
        let (asked, (data, redo)) = (Asked::of(stack)?, built.luns());
        Ok(Grouped {
            group,
            redo: None,
            files: writing(&built.devices),
            disks: asked.disks("disk", data, 0)?,
            // Over a port of the first group their numbers follow its one file.
            redo_disks: asked.disks("redo", redo, 1)?,
            inject: stack.inject,
            opener,
            seed: seed_of(&owners(built)?.data),
        })
    }

    fn lying(&self) -> Lying<'_> {
        Lying {
            group: &self.group,
            redo: self.redo.as_ref(),
            files: &self.files,
            data: self.disks.len(),
            inject: self.inject,
            opener: self.opener,
        }
    }

    /// A port on the engine's files.
    pub(crate) fn port(&self, memory: u64, depth: usize) -> anyhow::Result<StackPort> {
        self.lying().port(memory, depth)
    }

    /// A port on the data and, below it, on the disks of the other group.
    fn first_of_two(&self, memory: u64, depth: usize) -> anyhow::Result<GroupPort<BasePort>> {
        self.lying().first_of_two(memory, depth)
    }

    /// What the study does not say: its keys are disclosed without our help.
    pub(crate) fn facts(&self) -> Vec<Disclosed> {
        let mut facts = vec![FactName::Stripe.on(Role::Redo).is("fine")];
        let members: Vec<String> = self.members().into_iter().map(|disk| disk.name).collect();
        for (disk, file) in self.disks.iter().chain(&self.redo_disks).zip(&self.files) {
            let group = disk.failure_group.as_deref().unwrap_or(&disk.name);
            let reserve = if members.contains(&disk.name) {
                ""
            } else {
                ", in reserve"
            };
            let value = format!("{}, failure group {group}{reserve}", file.path.display());
            facts.push(FactName::GroupDisk.of(&disk.name).is(value));
        }
        facts
    }

    /// The disks of both groups.
    fn members(&self) -> Vec<DiskInfo> {
        let redo = self.redo.as_ref().map(|group| group.disks());
        self.group.disks().into_iter().chain(redo.unwrap_or_default()).collect()
    }

    /// Lets so many other instances follow what is moved, each before it opens the group frozen. The group of a redo
    /// log is never changed: nobody need follow there.
    pub(crate) fn admit(&self, count: u32) -> Result<Vec<Follower>, GroupError> {
        (0..count).map(|_| self.group.admit()).collect()
    }

    /// How the groups are.
    pub(crate) fn condition(&self) -> Condition {
        let data = self.group.info();
        let infos = [Some(data.clone()), self.redo.as_ref().map(Group::info)];
        Condition::of(self.members(), infos.into_iter().flatten()).using(&data)
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

/// A group on all LUNs but those in reserve, without files, and how its disks are opened: for a database in SQL, which
/// makes and removes files as it goes.
pub(crate) fn for_sql(stack: &Stack, built: &Built) -> anyhow::Result<(Group<BasePort>, Vec<OpenSpec>)> {
    let (devices, _) = built.luns();
    let files = writing(devices);
    let owner = BasePort::open(Method::Pread, &files, OWNER_MEMORY, OWNER_DEPTH)?;
    let group = Asked::of(stack)?.create(owner, devices, owners(built)?.data)?;
    Ok((group, files))
}

/// The same on the LUNs of temporary files, where they have some.
pub(crate) fn temp_for_sql(stack: &Stack, built: &Built) -> anyhow::Result<Option<(Group<BasePort>, Vec<OpenSpec>)>> {
    let (devices, Some(uuid)) = (built.temp_luns(), owners(built)?.temp) else {
        return Ok(None);
    };
    let files = writing(devices);
    let owner = BasePort::open(Method::Pread, &files, OWNER_MEMORY, OWNER_DEPTH)?;
    let asked = Asked {
        reserve: 0,
        ..Asked::of(stack)?
    };
    let disks = asked.disks("temp", devices, 0)?;
    let group = Group::create(owner, &asked.spec(TEMP_GROUP, uuid), &disks, seed_of(&uuid))?;
    Ok(Some((group, files)))
}

/// The same group again, from its disks: for another process, when this one has closed it, or has ended. Gives how
/// many files it removed that nobody wants any more: temporary ones, after a crash.
pub(crate) fn again_for_sql(devices: &[PathBuf]) -> anyhow::Result<(Group<BasePort>, Vec<OpenSpec>, u64)> {
    let files = writing(devices);
    let owner = BasePort::open(Method::Pread, &files, OWNER_MEMORY, OWNER_DEPTH)?;
    let (group, mounted) = Group::mount(owner, &mounting(GROUP, names(devices)))?;
    Ok((group, files, mounted.files_removed.len() as u64))
}

fn writing(devices: &[PathBuf]) -> Vec<OpenSpec> {
    let spec = |path: &PathBuf| OpenSpec::writing(path, Access::Direct);
    devices.iter().map(spec).collect()
}

pub(super) fn names(devices: &[PathBuf]) -> Vec<String> {
    devices.iter().map(|path| path.display().to_string()).collect()
}

pub(super) fn mounting(group: &str, names: Vec<String>) -> MountOptions {
    MountOptions {
        group: Some(group.to_string()),
        names,
        ..MountOptions::default()
    }
}

fn data_bytes(sizes: &Sizes) -> u64 {
    pages::data_file_bytes(&sizes.shape, &sizes.settings, 1)[0]
}

/// A file of its size, no more mirrored than its group is.
pub(crate) fn make_file<P: Port>(group: &Group<P>, name: &str, size: u64, stripe: Stripe) -> anyhow::Result<()> {
    group.create_file(&FileSpec {
        name: name.to_string(),
        size,
        redundancy: None,
        stripe,
    })?;
    Ok(())
}
