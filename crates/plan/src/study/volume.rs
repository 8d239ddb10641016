//! Volume managers of the kernel that a stack can be: LVM and md, with what stands on their volume.
//!
//! Plain data, and what follows from it: copies, the fewest LUNs, the room. Prevents: a redundancy that one place
//! counts and another forgets.

use super::file_system::FileSystem;
use crate::shown::{Keys, Shown, quoted};
use crate::units::Bytes;
use crate::word::Word;

/// A volume on the LUNs of a stack, made new; the redo log's LUNs get one of the same kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// What makes it.
    pub manager: Manager,
    /// The file system on it; `None`: it is used as a device.
    pub top: Option<FileSystem>,
    /// LUNs at the end of the data's set that are not in it until a phase takes them in.
    pub reserve: u32,
}

/// What makes a volume of LUNs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// The logical volume manager.
    Lvm(Lvm),
    /// Software RAID.
    Md(Md),
}

settled! {
    /// A logical volume.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Lvm {
        /// How it lies on its LUNs.
        pub layout: LvmLayout,
        /// LUNs that a stripe goes over; `None`: all of the set.
        pub stripes: Option<u32>,
        /// Bytes on one LUN before the next one follows.
        pub stripe_size: Bytes as |lvm| (lvm.layout == LvmLayout::Striped).then(|| quoted(lvm.stripe_size)),
        /// Blocks are taken from a pool when they are first written.
        pub thin: bool,
        /// What is taken of it when the data are loaded.
        pub snapshot: Snapshot,
        /// Of a mirror: how its copies become the same.
        pub resync: Resync as |lvm| lvm.resync.shown().filter(|_| lvm.layout == LvmLayout::Raid1),
    }
}

words! {
    /// How a logical volume lies on its LUNs.
    pub enum LvmLayout: "a layout of LVM" {
        /// One LUN after the other.
        Linear = "linear",
        /// Across all LUNs.
        Striped = "striped",
        /// Two copies.
        Raid1 = "raid1",
    }
}

words! {
    /// A snapshot that stands while the phases work.
    pub enum Snapshot: "a kind of snapshot" {
        /// None.
        None = "none",
        /// What is overwritten is copied before.
        Cow = "cow",
        /// What is overwritten stays, the new goes elsewhere in the pool.
        Thin = "thin",
    }
}

words! {
    /// How the copies of a mirror become the same when it is made.
    pub enum Resync: "a way to make copies the same" {
        /// They are copied, and the study waits for it.
        Wait = "wait",
        /// They are taken to be the same: nothing is read there before it is written.
        Assume = "assume",
    }
}

settled! {
    /// A software RAID.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Md {
        /// Its level.
        pub level: MdLevel,
        /// Bytes on one LUN before the next one follows; a mirror has none.
        pub chunk: Bytes as |md| (md.level != MdLevel::Raid1).then(|| quoted(md.chunk)),
        /// How copies or parity are made right at first.
        pub resync: Resync as |md| md.resync.shown().filter(|_| md.level != MdLevel::Raid0),
        /// Whether it notes what is being written, so that a resync after a crash is short.
        pub bitmap: bool as |md| md.bitmap.shown().filter(|_| md.level != MdLevel::Raid0),
    }
}

words! {
    /// Levels of software RAID that this version makes.
    pub enum MdLevel: "a level of RAID" {
        /// Striped.
        Raid0 = "raid0",
        /// A copy on each LUN.
        Raid1 = "raid1",
        /// Two copies, striped.
        Raid10 = "raid10",
        /// Striped, with parity.
        Raid5 = "raid5",
    }
}

impl Lvm {
    /// What stripes use of `bytes` on `luns` LUNs: the rest of LUNs that fill no further set of stripes stays empty.
    fn striped(&self, bytes: u64, luns: u64) -> u64 {
        match (self.layout, self.stripes) {
            // More stripes than LUNs are refused elsewhere.
            (LvmLayout::Striped, Some(stripes)) if (1..=luns).contains(&u64::from(stripes)) => {
                let stripes = u64::from(stripes);
                bytes / luns * (luns / stripes * stripes)
            }
            _ => bytes,
        }
    }
}

impl Volume {
    /// Whether a snapshot stands while the phases work.
    pub(crate) fn has_snapshot(&self) -> bool {
        matches!(&self.manager, Manager::Lvm(lvm) if lvm.snapshot != Snapshot::None)
    }

    /// The same for LUNs of redo log or temporary files: only the data have a snapshot.
    pub fn beside_data(&self) -> Volume {
        let mut volume = self.clone();
        if let Manager::Lvm(lvm) = &mut volume.manager {
            lvm.snapshot = Snapshot::None;
        }
        volume
    }

    /// Its keys with their values, those of its file system last.
    pub(crate) fn keys(&self) -> Keys {
        let top = self.top.as_ref();
        let fs = quoted(top.map_or("none", |top| top.row().word));
        let mut keys = vec![("fs", fs), ("reserve", self.reserve.to_string())];
        keys.extend(match &self.manager {
            Manager::Lvm(lvm) => lvm.keys(),
            Manager::Md(md) => md.keys(),
        });
        keys.extend(top.map(FileSystem::keys).unwrap_or_default());
        keys
    }

    /// Copies of the data, on `luns` LUNs without the reserve.
    pub fn copies(&self, luns: u32) -> u32 {
        match &self.manager {
            Manager::Lvm(lvm) => 1 + u32::from(lvm.layout == LvmLayout::Raid1),
            Manager::Md(md) => match md.level {
                MdLevel::Raid0 | MdLevel::Raid5 => 1,
                MdLevel::Raid1 => luns.max(1),
                MdLevel::Raid10 => 2,
            },
        }
    }

    /// The fewest LUNs that it takes, with the word of what asks for them.
    pub fn least_luns(&self) -> (usize, &'static str) {
        match &self.manager {
            Manager::Lvm(lvm) => {
                let least = match lvm.layout {
                    LvmLayout::Linear => 1,
                    LvmLayout::Striped | LvmLayout::Raid1 => 2,
                };
                (least, lvm.layout.word())
            }
            Manager::Md(md) => {
                let least = match md.level {
                    MdLevel::Raid0 | MdLevel::Raid1 | MdLevel::Raid10 => 2,
                    MdLevel::Raid5 => 3,
                };
                (least, md.level.word())
            }
        }
    }

    /// Bytes that it leaves of `bytes` on `luns` LUNs, which hold no reserve: copies, parity, and the room that a
    /// snapshot needs.
    pub fn room(&self, bytes: u64, luns: u32) -> u64 {
        let luns = u64::from(luns.max(1));
        // Labels, superblocks, bitmaps and metadata of each LUN.
        let bytes = bytes.saturating_sub(luns * self.kept_of_a_lun());
        let left = bytes / u64::from(self.copies(luns as u32));
        match &self.manager {
            Manager::Md(md) if md.level == MdLevel::Raid5 => left / luns * (luns - 1),
            Manager::Md(_) => left,
            // All of it may be overwritten while the snapshot stands.
            Manager::Lvm(lvm) if lvm.snapshot != Snapshot::None => left / 100 * 48,
            Manager::Lvm(lvm) if lvm.thin => lvm.striped(left, luns) / 100 * 96,
            Manager::Lvm(lvm) => lvm.striped(left, luns),
        }
    }

    /// Bytes of each LUN that hold no data.
    fn kept_of_a_lun(&self) -> u64 {
        match &self.manager {
            // Its label, and what the last extent of 4 MiB leaves; a mirror notes in an extent what is in step.
            Manager::Lvm(_) => 12 << 20,
            // mdadm keeps room before the data, more on larger devices.
            Manager::Md(_) => 8 << 20,
        }
    }

    /// Why no LUN of it can be given up for another one, if so.
    pub fn holds_fast(&self) -> Option<&'static str> {
        match &self.manager {
            Manager::Lvm(lvm) if lvm.thin => Some("this version moves no thin pool"),
            Manager::Lvm(lvm) if lvm.snapshot != Snapshot::None => Some("this version moves no snapshot"),
            Manager::Md(md) if md.level == MdLevel::Raid0 => Some("raid0 cannot give up a LUN"),
            Manager::Lvm(_) | Manager::Md(_) => None,
        }
    }

    /// Whether the kernel's md is in it, which takes a flush that all LUNs refuse for one that was done: without power
    /// it goes on to say that data are safe.
    pub fn passes_no_flush_errors(&self) -> bool {
        match &self.manager {
            Manager::Lvm(lvm) => lvm.layout == LvmLayout::Raid1,
            Manager::Md(_) => true,
        }
    }

    /// Whether what was written once is written again where it lies.
    pub fn overwrites_in_place(&self) -> bool {
        match &self.manager {
            Manager::Lvm(lvm) => !lvm.thin && lvm.snapshot == Snapshot::None,
            Manager::Md(_) => true,
        }
    }

    /// Whether it is used as a device.
    pub fn is_raw(&self) -> bool {
        self.top.is_none()
    }
}
