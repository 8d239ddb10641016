//! What the kernel has of volumes: mappings by their group, arrays by their UUID, and the names in /dev that go with
//! them.
//!
//! Reads `/sys/block`. Prevents: an undo that believes the metadata on a disk, which may be another's by then.

use crate::device;
use crate::host::modules;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const BLOCK: &str = "/sys/block";
const SECTOR: u64 = 512;

/// A mapping of the device mapper.
pub(super) struct Mapping {
    /// As dmsetup names it.
    pub(super) name: String,
    /// Nothing stands on it.
    pub(super) is_free: bool,
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Devices of the kernel whose names begin so.
fn devices(beginning: &str) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(BLOCK)?.flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
    Ok(named.map(|entry| entry.path()).collect())
}

/// Mappings of a group of LVM's: the group's name is in theirs, and LVM made them.
pub(super) fn mappings_of(group: &str) -> io::Result<Vec<Mapping>> {
    let mut found = Vec::new();
    for dir in devices("dm-")? {
        let (Some(name), Some(uuid)) = (read(&dir.join("dm/name")), read(&dir.join("dm/uuid"))) else {
            continue;
        };
        let is_its = name.strip_prefix(group).is_some_and(|rest| rest.starts_with('-')) && uuid.starts_with("LVM-");
        if is_its {
            let is_free = fs::read_dir(dir.join("holders")).is_ok_and(|mut holders| holders.next().is_none());
            found.push(Mapping { name, is_free });
        }
    }
    Ok(found)
}

/// Size of a mapping.
pub(super) fn bytes(name: &str) -> io::Result<u64> {
    let all = devices("dm-")?;
    let dir = all
        .iter()
        .find(|dir| read(&dir.join("dm/name")).as_deref() == Some(name));
    let sectors = dir.and_then(|dir| read(&dir.join("size"))?.parse::<u64>().ok());
    sectors
        .map(|sectors| sectors * SECTOR)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// What a mapping stands on, by the names of the kernel; nothing where it is gone.
pub(super) fn below(name: &str) -> Vec<OsString> {
    let all = devices("dm-").unwrap_or_default();
    let dir = all
        .iter()
        .find(|dir| read(&dir.join("dm/name")).as_deref() == Some(name));
    let entries = dir.and_then(|dir| fs::read_dir(dir.join("slaves")).ok());
    entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect()
}

/// Where no udev takes names away, they are taken away here: of mappings of a group that is gone.
pub(super) fn forget_names(group: &str) -> io::Result<()> {
    if has_udev() {
        return Ok(());
    }
    let of_group = Path::new("/dev").join(group);
    for (dir, beginning) in [
        (Path::new("/dev/mapper"), format!("{group}-")),
        (&of_group, String::new()),
    ] {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&beginning) {
                forget(&entry.path())?;
            }
        }
    }
    match fs::remove_dir(&of_group) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes one name, never what it leads to.
fn forget(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The array with this UUID, as the kernel names it; `NotFound` where there is none.
pub(super) fn array_of(uuid: &[u8; 16]) -> io::Result<PathBuf> {
    for dir in devices("md")? {
        let Some(name) = dir.file_name().map(Path::new) else {
            continue;
        };
        let members = fs::read_dir(dir.join("slaves")).into_iter().flatten().flatten();
        let is_member = |member: fs::DirEntry| {
            let path = Path::new("/dev").join(member.file_name());
            device::holds(&path, "md", uuid).unwrap_or(false)
        };
        // Kernels since 5.19 say it themselves; of older ones a member does.
        let is_it = match read(&dir.join("md/uuid")) {
            Some(said) => said == device::uuid_text(uuid),
            None => members.into_iter().any(is_member),
        };
        if is_it {
            return Ok(Path::new("/dev").join(name));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// What an array does beside its work: "idle", "resync", "recover".
pub(super) fn action_of(array: &Path) -> io::Result<String> {
    of_array(array, "sync_action")
}

/// What the kernel says of an array.
pub(super) fn of_array(array: &Path, attribute: &str) -> io::Result<String> {
    let name = array.file_name().unwrap_or_default();
    let file = Path::new(BLOCK).join(name).join("md").join(attribute);
    Ok(fs::read_to_string(file)?.trim().to_owned())
}

/// What the kernel says of one LUN in an array: "in_sync", "faulty", "spare,write_error" and the like; `None`: it is
/// not in it.
pub(super) fn state_in(array: &Path, lun: &Path) -> Option<String> {
    let lun = fs::canonicalize(lun).ok()?;
    of_array(array, &format!("dev-{}/state", lun.file_name()?.to_str()?)).ok()
}

/// Where no udev does it: the name of an array that is gone, and the node that it led to. `hex`: its UUID, for a name
/// that another one took meanwhile stays.
pub(super) fn forget_array(link: &Path, hex: &str) -> io::Result<()> {
    if has_udev() || !link.to_string_lossy().contains(&hex[..16]) {
        return Ok(());
    }
    let node = fs::canonicalize(link).ok();
    forget(link)?;
    let gone = |node: &PathBuf| {
        let name = node.file_name().unwrap_or_default();
        let is_array = name.to_string_lossy().starts_with("md") && node.parent() == Some(Path::new("/dev"));
        is_array && !Path::new(BLOCK).join(name).exists()
    };
    node.filter(gone).map_or(Ok(()), |node| forget(&node))
}

/// Whether udev runs, which names devices.
pub(super) fn has_udev() -> bool {
    Path::new("/run/udev/control").exists()
}

/// Whether the kernel has LVM's part, or a module of it.
pub(crate) fn has_lvm() -> bool {
    Path::new("/sys/class/misc/device-mapper").exists() || modules::has("dm-mod")
}

/// Whether md has what this module brings, as it says itself: also where it is part of the kernel.
pub(super) fn has_level(module: &str) -> bool {
    let said = fs::read_to_string("/proc/mdstat").unwrap_or_default();
    let level = if module == "raid456" { "raid5" } else { module };
    said.lines()
        .next()
        .is_some_and(|line| line.contains(&format!("[{level}]")))
}

/// Whether the kernel has md, or a module of it.
pub(crate) fn has_md() -> bool {
    Path::new("/proc/mdstat").exists() || modules::has("md-mod")
}
