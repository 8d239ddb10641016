//! The disk group of a stack: made on its LUNs, opened for each worker, closed again.
//!
//! Takes the stack's devices and how a port is opened on them; gives ports on the group's two files. Prevents: a group whose
//! disks the undo journal does not know, because it carries the UUID under which they were journalled.

use crate::sizes::Sizes;
use anyhow::{Context, anyhow};
use diskgroup::{DiskSpec, FileSpec, Geometry, Group, GroupPort, GroupSpec, Redundancy, Stripe, Uuid, Verify};
use plan::{Stack, StackKind};
use stacks::Built;
use std::path::Path;
use std::sync::Arc;
use targets::{Access, FileId, OpenSpec, Port, TargetError};

/// Memory of the port that the owner of the metadata works with.
const OWNER_MEMORY: u64 = 4 << 20;
const OWNER_DEPTH: usize = 64;
const GROUP: &str = "assay";
const DATA: &str = "data";
const REDO: &str = "redo";

/// Tells the group which copy of a page is good, when copies differ or one can't be read.
struct Pages {
    page_bytes: u32,
}

impl Verify for Pages {
    fn page_bytes(&self, file: &str) -> u32 {
        if file == DATA { self.page_bytes } else { 0 }
    }

    fn is_good(&self, _file: &str, _offset: u64, page: &[u8]) -> bool {
        pages::is_whole(page) || page.iter().all(|byte| *byte == 0)
    }
}

/// What a stack of kind `diskgroup` says.
struct Asked {
    redundancy: Redundancy,
    au_bytes: u32,
    stripe: Stripe,
    failure_groups: Option<u32>,
}

impl Asked {
    fn of(stack: &Stack) -> anyhow::Result<Asked> {
        let StackKind::Diskgroup {
            redundancy,
            au,
            stripe,
            failure_groups,
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
        })
    }

    fn disks(&self, devices: &[std::path::PathBuf]) -> anyhow::Result<Vec<DiskSpec>> {
        let disk = |(nth, path): (usize, &std::path::PathBuf)| {
            let mut disk = DiskSpec::new(FileId(nth as u16), &format!("disk{nth}"));
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

/// Makes the group and its files, opens a port for each worker, and closes the group when `work` is done.
pub(crate) fn with_group<P: Port + Send>(
    stack: &Stack,
    built: &Built,
    sizes: &Sizes,
    workers: u32,
    open: impl Fn(&[OpenSpec], u64, usize) -> Result<P, TargetError>,
    work: impl FnOnce(Vec<GroupPort<P>>, Vec<(String, String)>, &Health<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let asked = Asked::of(stack)?;
    let disks: Vec<OpenSpec> = built
        .devices
        .iter()
        .map(|path| OpenSpec::writing(path, Access::Direct))
        .collect();
    let spec = GroupSpec {
        geometry: Geometry::new(asked.au_bytes),
        uuid: Some(Uuid(built.uuid)),
        ..GroupSpec::new(GROUP, asked.redundancy)
    };
    let (half, _) = built.uuid.split_at(8);
    let seed = half.iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte));
    let owner = open(&disks, OWNER_MEMORY, OWNER_DEPTH)?;
    let group = Group::create(owner, &spec, &asked.disks(&built.devices)?, seed)?;
    let data = pages::data_file_bytes(&sizes.shape, &sizes.settings, 1)[0];
    for (name, size, stripe) in [
        (DATA, data, asked.stripe),
        (REDO, pages::redo_file_bytes(&sizes.settings), Stripe::Fine),
    ] {
        group.create_file(&FileSpec {
            name: name.to_string(),
            size,
            redundancy: None,
            stripe,
        })?;
    }
    group.set_verify(Arc::new(Pages {
        page_bytes: sizes.shape.page_bytes,
    }));
    let mut ports = Vec::new();
    for _ in 0..workers {
        let below = open(&disks, sizes.memory_bytes(), sizes.depth(1))?;
        ports.push(group.open(below, &[DATA, REDO])?);
    }
    let health = || lost(&group);
    work(ports, facts(&group, built), &health)?;
    group.close()?;
    Ok(())
}

/// What the study does not say: its keys are disclosed without our help.
fn facts<P: Port>(group: &Group<P>, built: &Built) -> Vec<(String, String)> {
    let mut facts = vec![("redo stripe".to_string(), "fine".to_string())];
    for (disk, device) in group.disks().into_iter().zip(&built.devices) {
        let value = format!("{}, failure group {}", device.display(), disk.failure_group);
        facts.push((disk.name, value));
    }
    facts
}

/// What a stack has lost so far, in words.
pub(crate) type Health<'a> = dyn Fn() -> Option<String> + 'a;

/// Disks that the group lost on the way, if any: it goes on without them as long as the copies allow.
fn lost<P: Port>(group: &Group<P>) -> Option<String> {
    let away: Vec<String> = group
        .disks()
        .into_iter()
        .filter(|disk| !disk.online || disk.failing)
        .map(|disk| disk.name)
        .collect();
    (!away.is_empty()).then(|| format!("the disk group lost {}", away.join(", ")))
}
