//! Errors that devices counted themselves, where counting costs no more than reading a file.
//!
//! Takes roots, gives counters by device; two readings give what happened to a set of devices in between. SCSI and SATA
//! disks, members of arrays of the kernel, and devices of btrfs tell; NVMe, virtio and loop devices do not. Prevents: a
//! retry that healed an error, and was taken for a slow device.

use crate::Root;
use crate::devices::topology;
use crate::root::{text, value};
use std::collections::{BTreeMap, BTreeSet};

/// Counters at one moment: devices that each of them speaks of, and its count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceErrors(BTreeMap<String, (BTreeSet<String>, u64)>);

impl DeviceErrors {
    /// Of all devices of the running host.
    pub fn read() -> DeviceErrors {
        DeviceErrors::read_in(&Root::live())
    }

    /// [`read`](Self::read) from a given root.
    pub fn read_in(root: &Root) -> DeviceErrors {
        let mut found = BTreeMap::new();
        let blocks = root.sys.join("block");
        for disk in topology::entries(blocks.clone()) {
            let dir = blocks.join(disk.replace('/', "!"));
            // Source: `drivers/scsi/scsi_sysfs.c` of the kernel: hexadecimal.
            let scsi = value(&dir.join("device/ioerr_cnt"));
            if let Some(count) = scsi.and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()) {
                found.insert(disk.clone(), (BTreeSet::from([disk.clone()]), count));
            }
            // Source: `Documentation/admin-guide/md.rst` of the kernel: read errors of a member that were put right.
            for member in topology::entries(dir.join("md")) {
                let count = value(&dir.join("md").join(&member).join("errors")).and_then(|text| text.parse().ok());
                if let (Some(name), Some(count)) = (member.strip_prefix("dev-"), count) {
                    let of = BTreeSet::from([disk.clone(), name.to_string()]);
                    found.insert(format!("{name} in {disk}"), (of, count));
                }
            }
        }
        // Source: `fs/btrfs/sysfs.c` of the kernel, since 5.14.
        let systems = root.sys.join("fs/btrfs");
        for system in topology::entries(systems.clone()) {
            let dir = systems.join(&system);
            let devices: BTreeSet<String> = topology::entries(dir.join("devices")).into_iter().collect();
            for number in topology::entries(dir.join("devinfo")) {
                if let Some(stats) = text(&dir.join("devinfo").join(&number).join("error_stats")) {
                    let counts = stats
                        .lines()
                        .filter_map(|line| line.split_once(' ')?.1.trim().parse::<u64>().ok());
                    found.insert(format!("{number} of {system}"), (devices.clone(), counts.sum()));
                }
            }
        }
        DeviceErrors(found)
    }

    /// Errors since an earlier reading on these devices, or on disks that they are partitions of; `None` where none of
    /// them counts any.
    pub fn since(&self, earlier: &DeviceErrors, devices: &BTreeSet<String>) -> Option<u64> {
        self.since_in(&Root::live(), earlier, devices)
    }

    fn since_in(&self, root: &Root, earlier: &DeviceErrors, devices: &BTreeSet<String>) -> Option<u64> {
        let disks = devices.iter().filter_map(|name| topology::disk_of(root, name));
        let all: BTreeSet<String> = disks.chain(devices.iter().cloned()).collect();
        let mine = self.0.iter().filter(|(_, (of, _))| !of.is_disjoint(&all));
        let new = mine.filter_map(|(name, (_, now))| now.checked_sub(earlier.0.get(name)?.1));
        let new: Vec<u64> = new.collect();
        (!new.is_empty()).then(|| new.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_kinds_of_devices_tell_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root {
            proc: dir.path().join("proc"),
            sys: dir.path().join("sys"),
            ..Root::live()
        };
        let put = |file: &str, value: &str| {
            let file = root.sys.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, value).unwrap();
        };
        put("block/sda/device/ioerr_cnt", "0x1f\n");
        put("block/md0/md/dev-sdb1/errors", "4\n");
        put("block/md0/md/level", "raid1\n");
        put("block/vda/size", "8\n");
        put(
            "fs/btrfs/aa-bb/devinfo/1/error_stats",
            "write_errs 1\nread_errs 2\nflush_errs 0\n",
        );
        put("fs/btrfs/aa-bb/devices/loop7/size", "8\n");
        let before = DeviceErrors::read_in(&root);
        put("block/sda/device/ioerr_cnt", "0x21\n");
        put("block/md0/md/dev-sdb1/errors", "7\n");
        put(
            "fs/btrfs/aa-bb/devinfo/1/error_stats",
            "write_errs 1\nread_errs 2\nflush_errs 5\n",
        );
        let now = DeviceErrors::read_in(&root);
        let on = |names: &[&str]| now.since_in(&root, &before, &names.iter().map(|name| (*name).to_string()).collect());
        assert_eq!(
            (on(&["sda"]), on(&["md0"]), on(&["loop7"])),
            (Some(2), Some(3), Some(5))
        );
        assert_eq!(on(&["sda", "loop7", "vda"]), Some(7));
        assert_eq!(on(&["vda"]), None, "it counts none");
        assert_eq!(
            before.since_in(&root, &now, &BTreeSet::from(["sda".into()])),
            None,
            "a counter went back"
        );
    }
}
