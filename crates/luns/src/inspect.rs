//! The look at a device before anything is written to it: the rules of safety, in one function.
//!
//! Takes a path and what the study named, gives the device's facts or the refusal with its cure. Prevents the worst
//! that such a tool can do. It touches nothing. The order of the rules is from the most certain to the least.

use crate::error::DeviceRefusal;
use crate::signature::{Signature, signatures};
use crate::sysfs;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What a device is. Two LUNs of one set should be alike in all but path, name and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// As the study wrote it.
    pub path: PathBuf,
    /// The kernel's name ("nvme1n1").
    pub name: String,
    /// Device number as `major:minor`.
    pub number: String,
    /// Size.
    pub bytes: u64,
    /// Smallest unit of I/O, in bytes.
    pub logical_block: u64,
    /// Unit that the device writes without reading first, in bytes.
    pub physical_block: u64,
    /// A spinning disk, by the kernel's word.
    pub rotational: bool,
    /// The I/O scheduler in use.
    pub scheduler: String,
    /// "write back" (volatile) or "write through".
    pub write_cache: String,
    /// Largest discard in bytes; 0: none.
    pub discard_max_bytes: u64,
    /// The maker's model name; empty where there is none.
    pub model: String,
    /// What lies on it (read only for a device that is not in use).
    pub signatures: Vec<Signature>,
}

/// Says whether `path` may be used: named in the study, a whole block device without partitions, not mounted, not in
/// use, and without a signature that Assay did not write, unless `overwrite` names this very device. Links are
/// followed; devices are compared by number. A partitioned disk is refused even under `overwrite`.
pub fn inspect_device(path: &Path, named: &[PathBuf], overwrite: &[PathBuf]) -> Result<DeviceFacts, DeviceRefusal> {
    let device = block_number(path)?;
    let is_among = |list: &[PathBuf]| list.iter().any(|p| sysfs::number_of(p) == Some(device));
    if !is_among(named) {
        return Err(DeviceRefusal::NotNamed { path: path.to_owned() });
    }
    let dir = sysfs::block_dir(device);
    check_whole_disk(path, &dir)?;
    check_unused(path, device, &dir)?;
    if sysfs::number(&dir.join("ro")) == Some(1) {
        return Err(DeviceRefusal::ReadOnly { path: path.to_owned() });
    }
    // The kernel's own answer to "does anybody have it": mounts in other name spaces, members of a file system on
    // several devices, arrays. Kept open while the signatures are read.
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| match e {
        rustix::io::Errno::BUSY => DeviceRefusal::Busy {
            path: path.to_owned(),
            by: "the kernel says that something has claimed it".into(),
        },
        e => unreadable("open", path, e.into()),
    })?;
    let mut facts = facts_of(path, device, &dir);
    if facts.bytes == 0 {
        return Err(DeviceRefusal::Empty { path: path.to_owned() });
    }
    facts.signatures = signatures(&File::from(file), facts.bytes).map_err(|e| unreadable("read", path, e))?;
    check_signatures(path, &facts.signatures, is_among(overwrite))?;
    Ok(facts)
}

/// Facts of any block device, in use or not; its content is not looked at.
pub fn device_facts(path: &Path) -> Result<DeviceFacts, DeviceRefusal> {
    let device = block_number(path)?;
    Ok(facts_of(path, device, &sysfs::block_dir(device)))
}

/// In what the devices of a LUN set are unlike, in words; empty when they are of one kind. A stripe is as fast as its
/// slowest member, so unlike LUNs are worth a warning.
pub fn differences(devices: &[DeviceFacts]) -> Vec<String> {
    let Some(first) = devices.first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for other in &devices[1..] {
        let mut compare = |what: &str, a: String, b: String| {
            if a != b {
                found.push(format!(
                    "{what}: {} has {a}, {} has {b}",
                    first.path.display(),
                    other.path.display()
                ));
            }
        };
        compare("size in bytes", first.bytes.to_string(), other.bytes.to_string());
        compare(
            "logical block",
            first.logical_block.to_string(),
            other.logical_block.to_string(),
        );
        compare(
            "physical block",
            first.physical_block.to_string(),
            other.physical_block.to_string(),
        );
        compare("rotational", first.rotational.to_string(), other.rotational.to_string());
        compare("scheduler", first.scheduler.clone(), other.scheduler.clone());
        compare("write cache", first.write_cache.clone(), other.write_cache.clone());
        compare("model", first.model.clone(), other.model.clone());
        if first.number == other.number {
            found.push(format!(
                "{} and {} are the same device",
                first.path.display(),
                other.path.display()
            ));
        }
    }
    found
}

fn unreadable(what: &'static str, path: &Path, source: std::io::Error) -> DeviceRefusal {
    let cure = match source.kind() {
        std::io::ErrorKind::NotFound => "check the path: it does not exist",
        std::io::ErrorKind::PermissionDenied => "run as root: devices are looked at before they are used",
        _ => "check the device (dmesg)",
    };
    DeviceRefusal::Unreadable {
        what,
        path: path.to_owned(),
        source,
        cure,
    }
}

fn block_number(path: &Path) -> Result<u64, DeviceRefusal> {
    let stat = std::fs::metadata(path).map_err(|e| unreadable("look at", path, e))?;
    let kind = stat.file_type();
    if kind.is_block_device() {
        return Ok(stat.rdev());
    }
    let what = match () {
        () if kind.is_file() => "a regular file",
        () if kind.is_dir() => "a directory",
        () if kind.is_char_device() => "a character device",
        () => "something else",
    };
    Err(DeviceRefusal::NotBlockDevice {
        path: path.to_owned(),
        what,
    })
}

fn check_whole_disk(path: &Path, dir: &Path) -> Result<(), DeviceRefusal> {
    if let Some(partition) = sysfs::text(&dir.join("partition")) {
        let disk = dir
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        return Err(DeviceRefusal::Partition {
            path: path.to_owned(),
            partition,
            disk,
        });
    }
    let mut parts: Vec<String> = entries(dir)
        .filter(|name| dir.join(name).join("partition").exists())
        .collect();
    parts.sort();
    if parts.is_empty() {
        return Ok(());
    }
    Err(DeviceRefusal::Partitioned {
        path: path.to_owned(),
        what: parts.join(", "),
    })
}

fn check_unused(path: &Path, device: u64, dir: &Path) -> Result<(), DeviceRefusal> {
    if let Some(place) = sysfs::mounted_on(device) {
        return Err(DeviceRefusal::Mounted {
            path: path.to_owned(),
            place,
        });
    }
    let busy = |by| {
        Err(DeviceRefusal::Busy {
            path: path.to_owned(),
            by,
        })
    };
    if sysfs::is_swap(device) {
        return busy("swap".to_owned());
    }
    let holders: Vec<String> = entries(&dir.join("holders")).collect();
    if holders.is_empty() {
        Ok(())
    } else {
        busy(format!("held by {}", holders.join(", ")))
    }
}

fn check_signatures(path: &Path, found: &[Signature], overwrite: bool) -> Result<(), DeviceRefusal> {
    let names = |wanted: &dyn Fn(&Signature) -> bool| {
        let named: Vec<String> = found
            .iter()
            .filter(|s| wanted(s))
            .map(|s| format!("{} at byte {}", s.name, s.offset))
            .collect();
        named.join(", ")
    };
    if found.iter().any(|s| s.partition_table) {
        return Err(DeviceRefusal::Partitioned {
            path: path.to_owned(),
            what: names(&|s| s.partition_table),
        });
    }
    if !overwrite && found.iter().any(|s| !s.own) {
        return Err(DeviceRefusal::Foreign {
            path: path.to_owned(),
            found: names(&|s| !s.own),
        });
    }
    Ok(())
}

fn entries(dir: &Path) -> impl Iterator<Item = String> {
    let listed = std::fs::read_dir(dir).into_iter().flatten().flatten();
    listed.map(|e| e.file_name().to_string_lossy().into_owned())
}

fn facts_of(path: &Path, device: u64, dir: &Path) -> DeviceFacts {
    let queue = if dir.join("queue").exists() {
        dir.join("queue")
    } else {
        dir.join("../queue")
    };
    let read = |name: &str| sysfs::text(&queue.join(name)).unwrap_or_default();
    let count = |name: &str| sysfs::number(&queue.join(name)).unwrap_or(0);
    let listed = read("scheduler");
    // "none [mq-deadline] kyber": the one in brackets is in use.
    let scheduler = listed
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(name, _)| name.to_owned());
    DeviceFacts {
        path: path.to_owned(),
        name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        number: format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device)),
        // The kernel counts in units of 512 bytes here whatever the sector size.
        bytes: sysfs::number(&dir.join("size")).unwrap_or(0) * 512,
        logical_block: count("logical_block_size"),
        physical_block: count("physical_block_size"),
        rotational: count("rotational") == 1,
        scheduler: scheduler.unwrap_or(listed),
        write_cache: read("write_cache"),
        discard_max_bytes: count("discard_max_bytes"),
        model: sysfs::text(&dir.join("device/model"))
            .map(|m| m.trim().to_owned())
            .unwrap_or_default(),
        signatures: Vec::new(),
    }
}
