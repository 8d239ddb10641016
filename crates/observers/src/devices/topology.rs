//! What lies directly below one block device, from `/sys/class/block`.
//!
//! Takes a device's name, gives the devices below it or the file it is made from, and what is known of its kind.
//! Prevents: a stack's I/O counted at the top only, where caches and copies below stay unseen.

use std::path::PathBuf;

use crate::Root;
use crate::root::value;

/// What is directly below a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Below {
    /// Other block devices: a partition's disk, members of a mapping or array, paths of a multipath device.
    Devices(Vec<String>),
    /// A file, for loop devices.
    File(PathBuf),
    /// Main memory.
    Memory,
    /// Nothing that this kernel can see.
    Nothing,
}

/// Name of the device with these numbers; `None` when the kernel has no such device.
pub(crate) fn name_of(root: &Root, numbers: (u32, u32)) -> Option<String> {
    let link = std::fs::read_link(root.sys.join(format!("dev/block/{}:{}", numbers.0, numbers.1))).ok()?;
    Some(link.file_name()?.to_str()?.replace('!', "/"))
}

/// Whether the kernel lists the device.
pub(crate) fn exists(root: &Root, device: &str) -> bool {
    root.block_dir(device).exists()
}

/// The disk of a partition; `None` for whole disks.
pub(crate) fn disk_of(root: &Root, device: &str) -> Option<String> {
    let dir = root.block_dir(device);
    if !dir.join("partition").exists() {
        return None;
    }
    // The link ends in DISK/PARTITION.
    let link = std::fs::read_link(&dir).ok()?;
    Some(link.parent()?.file_name()?.to_str()?.replace('!', "/"))
}

/// What is directly below a device.
pub(crate) fn below(root: &Root, device: &str) -> Below {
    if let Some(disk) = disk_of(root, device) {
        return Below::Devices(vec![disk]);
    }
    let dir = root.block_dir(device);
    let slaves = entries(dir.join("slaves"));
    if !slaves.is_empty() {
        return Below::Devices(slaves);
    }
    if let Some(file) = value(&dir.join("loop/backing_file")) {
        return Below::File(file.into());
    }
    if is_memory(device) {
        return match value(&dir.join("backing_dev")).filter(|below| below != "none") {
            // zram with a backing device sends idle pages there; the rest stays in memory.
            Some(path) => Below::File(path.into()),
            None => Below::Memory,
        };
    }
    let paths = multipath_paths(root, device);
    if paths.is_empty() {
        Below::Nothing
    } else {
        Below::Devices(paths)
    }
}

/// Whether a loop device reads and writes its file past the page cache, as the kernel says.
pub(crate) fn is_direct_loop(root: &Root, device: &str) -> bool {
    value(&root.block_dir(device).join("loop/dio")).as_deref() == Some("1")
}

/// Whether the kernel counts a device's flushes. Partitions, and devices that have no queues of their own (device
/// mapper, md, zram, several paths of NVMe), show a count that stays 0.
pub fn counts_flushes(device: &str) -> bool {
    has_queues(&Root::live(), device)
}

fn has_queues(root: &Root, device: &str) -> bool {
    root.block_dir(device).join("mq").exists()
}

/// The disk that counts what a partition does, where the partition's own counters stay 0: with several paths of NVMe
/// the kernel counts at the whole namespace. `None` for every other device.
pub fn counted_at(device: &str) -> Option<String> {
    counted_at_in(&Root::live(), device)
}

fn counted_at_in(root: &Root, device: &str) -> Option<String> {
    disk_of(root, device).filter(|disk| !multipath_paths(root, disk).is_empty())
}

/// Compressed and plain RAM disks.
fn is_memory(device: &str) -> bool {
    numbered(device, "zram") || numbered(device, "ram")
}

/// One sentence on what is known to lie under the lowest visible device, and is not visible.
pub(crate) fn hint(root: &Root, device: &str) -> String {
    let unseen = "what lies below is unknown";
    let attribute = |name: &str| value(&root.block_dir(device).join(name));
    let starts = |prefix: &str| device.starts_with(prefix);
    if starts("vd") {
        return format!("{device} is a virtio disk of a virtual machine: {unseen}, the host may cache");
    }
    if starts("xvd") {
        return format!("{device} is a Xen virtual disk: {unseen}, the host may cache");
    }
    if starts("nbd") || starts("rbd") || starts("drbd") {
        return format!("{device} is served over the network: {unseen}");
    }
    let model = attribute("device/model")
        .map(|model| format!(" ({})", model.trim()))
        .unwrap_or_default();
    if starts("nvme") {
        let transport = nvme_transport(root, device).unwrap_or_else(|| "of unknown transport".into());
        return format!(
            "{device}{model} is an NVMe namespace, {transport}: its own cache and flash layer are not seen"
        );
    }
    if starts("sd") {
        return format!("{device}{model} is a SCSI or SATA disk: a host, an array or a disk's cache below is not seen");
    }
    format!("{device}{model}: {unseen}")
}

/// How an NVMe namespace is reached: `pcie`, `tcp`, `rdma`, `fc`, `loop`.
pub(crate) fn nvme_transport(root: &Root, device: &str) -> Option<String> {
    let dir = root.block_dir(device);
    if let Some(transport) = value(&dir.join("device/transport")) {
        return Some(transport);
    }
    // The head of a multipath namespace has a subsystem above it, with its controllers in it.
    let controllers = entries(dir.join("device"));
    controllers
        .iter()
        .find_map(|name| value(&dir.join("device").join(name).join("transport")))
}

/// Paths of an NVMe multipath namespace: `nvme0n1` is served by `nvme0c0n1`, `nvme0c1n1`.
fn multipath_paths(root: &Root, device: &str) -> Vec<String> {
    let Some((subsystem, namespace)) = device.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) else {
        return Vec::new();
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(subsystem) || !digits(namespace) {
        return Vec::new();
    }
    let is_path = |name: &String| {
        let rest = name.strip_prefix(&format!("nvme{subsystem}c"));
        rest.and_then(|rest| rest.split_once('n'))
            .is_some_and(|(controller, n)| digits(controller) && n == namespace)
    };
    let mut paths = entries(root.sys.join("class/block"));
    paths.extend(entries(root.sys.join("block")));
    paths.retain(is_path);
    paths.sort();
    paths.dedup();
    paths
}

/// Names in a directory, sorted; none when it cannot be read.
pub(crate) fn entries(dir: PathBuf) -> Vec<String> {
    let Ok(list) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<String> = list
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(|n| n.replace('!', "/"))
        .collect();
    names.sort();
    names
}

fn numbered(device: &str, prefix: &str) -> bool {
    device
        .strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn partitions_of_a_namespace_with_several_paths_are_counted_at_it() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let at = |tree: &str| Root::at(&dir.join(tree), |_| Err(std::io::ErrorKind::NotFound.into()));
        let several = at("linux-6.8-nvme-cgroup2");
        assert_eq!(counted_at_in(&several, "nvme0n1p1").as_deref(), Some("nvme0n1"));
        assert_eq!(counted_at_in(&several, "nvme0n1"), None, "it counts itself");
        let dir = tempfile::tempdir().expect("a directory");
        let root = Root::at(dir.path(), |_| Err(std::io::ErrorKind::NotFound.into()));
        let partition = root.sys.join("devices/nvme1n1/nvme1n1p1");
        fs::create_dir_all(&partition).expect("made");
        fs::write(partition.join("partition"), "1").expect("written");
        fs::create_dir_all(root.sys.join("class/block")).expect("made");
        let link = root.sys.join("class/block/nvme1n1p1");
        std::os::unix::fs::symlink(&partition, link).expect("linked");
        assert_eq!(disk_of(&root, "nvme1n1p1").as_deref(), Some("nvme1n1"));
        assert_eq!(counted_at_in(&root, "nvme1n1p1"), None, "one path: it counts itself");
    }

    #[test]
    fn queues_and_direct_loops_are_those_that_the_kernel_shows() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = Root::at(dir.path(), |_| Err(std::io::ErrorKind::NotFound.into()));
        let of = |device: &str, path: &str, text: &str| {
            let file = root.sys.join("class/block").join(device).join(path);
            fs::create_dir_all(file.parent().expect("a directory")).expect("made");
            fs::write(file, text).expect("written");
        };
        of("sda", "mq/0/nr_tags", "32");
        of("dm-0", "size", "8");
        assert!(has_queues(&root, "sda") && !has_queues(&root, "dm-0") && !has_queues(&root, "gone"));
        of("loop0", "loop/dio", "1\n");
        of("loop1", "loop/dio", "0\n");
        assert!(is_direct_loop(&root, "loop0"));
        assert!(!is_direct_loop(&root, "loop1") && !is_direct_loop(&root, "dm-0"));
    }
}
