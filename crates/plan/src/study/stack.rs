//! Stacks: what is built on which LUN set, and what is planted into it.
//!
//! Plain data. Prevents: a property of a stack that no report discloses.

use super::engines::Engine;
use super::file_system::FileSystem;
use super::volume::Volume;
use super::zfs::{Vdevs, Zfs, ZfsWay};
use crate::shown::{Keys, Shown, quoted};
use crate::units::{ByteRate, Bytes, Duration, Share};
use std::path::{Path, PathBuf};

/// One stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Unique.
    pub name: String,
    /// What is built.
    pub kind: StackKind,
    /// LUN set of the data files; `None` for `directory` and `model`.
    pub data: Option<String>,
    /// LUN set of the redo log; `None`: redo lives beside the data.
    pub redo: Option<String>,
    /// LUN set of temporary files of a database in SQL; `None`: they live beside the data.
    pub temp: Option<String>,
    /// Through or around the page cache.
    pub access: Access,
    /// A planted disadvantage, for checking the tool itself; disclosed everywhere.
    pub inject: Inject,
    /// The database that works on it.
    pub engine: Engine,
    /// Instances of the page engine that share it.
    pub instances: u32,
}

impl Stack {
    /// LUN sets that it lies on, data first.
    pub fn lun_sets(&self) -> impl Iterator<Item = &String> {
        self.data.iter().chain(&self.redo).chain(&self.temp)
    }
}

words! {
    /// Through or around the page cache.
    pub enum Access: "a way of access" {
        /// `O_DIRECT`.
        Direct = "direct",
        /// Page cache and `fdatasync`.
        Buffered = "buffered",
    }
}

/// What works without a model, and is told to whoever asked for a power cut.
pub(crate) const WEAKER: &str = "kind = \"kill\" is the weaker check that works there";

/// Kinds of stack that this version builds.
#[derive(Clone, Debug, PartialEq)]
pub enum StackKind {
    /// A mounted place as it is.
    Directory {
        /// The place.
        path: PathBuf,
    },
    /// LUNs without any layer.
    Raw,
    /// A file system of this host, made new.
    FileSystem(FileSystem),
    /// LUNs given whole to a disk group: striped and mirrored by extent maps that the engine itself holds.
    Diskgroup(DiskGroup),
    /// A volume of LVM or md, with a file system or without.
    Volume(Volume),
    /// A database server that is there already, on storage that is not ours.
    Server {
        /// Where it is, without a password.
        url: String,
    },
    /// A pool of OpenZFS on LUNs.
    Zfs(Zfs),
    /// A simulated device in virtual time.
    Model(Model),
}

impl Stack {
    /// Its keys with their values. Those of its database begin with the name of their table.
    pub(crate) fn keys(&self) -> Keys {
        let mut keys = vec![("name", quoted(&self.name)), ("kind", quoted(self.kind.word()))];
        let mut push = |key, value: Option<String>| keys.extend(value.map(|value| (key, value)));
        push("path", self.kind.directory().map(|place| quoted(place.display())));
        push("data", self.data.shown());
        push(
            "redo",
            self.data.is_some().then(|| self.redo.shown().unwrap_or(quoted("none"))),
        );
        let has_temp = self.kind.file_system().is_some() || self.kind.disk_group().is_some();
        let temp = || self.temp.shown().unwrap_or(quoted("none"));
        push("temp", (has_temp && self.engine.is_sql()).then(temp));
        push("url", self.kind.server().map(quoted));
        push("access", self.kind.has_access().then(|| self.access.shown()).flatten());
        keys.extend(self.kind.keys(self.redo.is_some()));
        if self.engine.is_pages() && self.kind.model().is_none() {
            keys.push(("instances", self.instances.to_string()));
        }
        keys
    }
}

impl StackKind {
    /// The mounted place, of a stack that is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            StackKind::Directory { path } => Some(path),
            _ => None,
        }
    }

    /// The file system that is made.
    pub fn file_system(&self) -> Option<&FileSystem> {
        match self {
            StackKind::FileSystem(made) => Some(made),
            StackKind::Volume(volume) => volume.top.as_ref(),
            _ => None,
        }
    }

    /// Whether what is there whole is written again without new blocks, here and in a volume below.
    pub fn overwrites_in_place(&self) -> bool {
        let in_place = self.file_system().is_some_and(|made| made.row().overwrites_in_place);
        in_place && self.volume().is_none_or(Volume::overwrites_in_place)
    }

    /// The volume of a manager.
    pub fn volume(&self) -> Option<&Volume> {
        match self {
            StackKind::Volume(volume) => Some(volume),
            _ => None,
        }
    }

    /// Whether several hosts can use what it stands on: no file system, volume or pool of one host.
    pub fn is_of_several_hosts(&self) -> bool {
        matches!(
            self,
            StackKind::Raw | StackKind::Diskgroup(_) | StackKind::Directory { .. }
        )
    }

    /// Whether the engine works on block devices, without a file system.
    pub fn is_raw(&self) -> bool {
        matches!(self, StackKind::Raw) || self.volume().is_some_and(Volume::is_raw)
    }

    /// The disk group.
    pub fn disk_group(&self) -> Option<&DiskGroup> {
        match self {
            StackKind::Diskgroup(group) => Some(group),
            _ => None,
        }
    }

    /// The pool of OpenZFS.
    pub fn pool(&self) -> Option<&Zfs> {
        match self {
            StackKind::Zfs(zfs) => Some(zfs),
            _ => None,
        }
    }

    /// Likewise, to say what the study leaves to the machine.
    pub fn pool_mut(&mut self) -> Option<&mut Zfs> {
        match self {
            StackKind::Zfs(zfs) => Some(zfs),
            _ => None,
        }
    }

    /// The URL of a server that was there.
    pub fn server(&self) -> Option<&str> {
        match self {
            StackKind::Server { url } => Some(url),
            _ => None,
        }
    }

    /// The simulated device.
    pub fn model(&self) -> Option<&Model> {
        match self {
            StackKind::Model(model) => Some(model),
            _ => None,
        }
    }

    /// Whether it does with a LUN's file what it does with a device: then an ordinary user can have it too.
    pub fn takes_lun_files(&self) -> bool {
        match self {
            StackKind::Diskgroup(_) => true,
            StackKind::Zfs(zfs) => !zfs.via.is_some_and(ZfsWay::has_files),
            _ => false,
        }
    }

    /// Whether a study chooses between direct and buffered I/O on it.
    pub fn has_access(&self) -> bool {
        matches!(
            self,
            StackKind::Directory { .. } | StackKind::Raw | StackKind::FileSystem(_) | StackKind::Volume(_)
        )
    }

    /// Its own keys with their values.
    fn keys(&self, has_redo: bool) -> Keys {
        match self {
            StackKind::Directory { .. } | StackKind::Raw | StackKind::Server { .. } => Keys::new(),
            StackKind::FileSystem(made) => made.keys(),
            StackKind::Volume(volume) => volume.keys(),
            StackKind::Model(model) => model.keys(),
            StackKind::Diskgroup(group) => group.keys(),
            StackKind::Zfs(zfs) => {
                let keys = zfs.keys().into_iter();
                keys.filter(|(key, _)| has_redo || *key != "redo_as").collect()
            }
        }
    }

    /// LUNs at the end of the data's set that hold nothing until a phase takes them in.
    pub fn reserve(&self) -> u32 {
        match self {
            StackKind::Diskgroup(group) => group.reserve,
            StackKind::Volume(volume) => volume.reserve,
            _ => 0,
        }
    }

    /// What it leaves of its LUNs' bytes for data: file systems keep some (ext4's reserve alone is 5 %).
    pub(crate) fn left(&self, bytes: u64) -> u64 {
        match self {
            StackKind::Model(_) => bytes,
            kind if kind.is_raw() => bytes,
            _ => bytes / 20 * 19,
        }
    }

    /// Smallest LUN, in MiB, that it can be made on.
    pub(crate) fn least_lun_mib(&self) -> u64 {
        match self {
            StackKind::FileSystem(made) => made.row().least_lun_mib,
            // Headers, journal and tables take some allocation units of each disk.
            StackKind::Diskgroup(group) => (group.au.0.saturating_mul(32) >> 20).max(64),
            // OpenZFS takes no device under 64 MiB, and keeps labels and slop space of a larger one.
            StackKind::Zfs(_) => 128,
            _ => 1,
        }
    }

    /// Why it has no files that could be served, if so.
    pub(crate) fn no_files(&self) -> Option<&'static str> {
        match self {
            StackKind::Raw => Some("raw LUNs hold no files"),
            StackKind::Diskgroup(_) => Some("a disk group holds files of its engine only, which no kernel shows"),
            StackKind::Zfs(zfs) if zfs.via.is_some_and(|way| !way.has_files()) => {
                Some("OpenZFS in user space has no files that a kernel shows")
            }
            StackKind::Model(_) => Some("a simulated device holds no files"),
            StackKind::Volume(volume) if volume.is_raw() => Some("a volume without a file system holds no files"),
            _ => None,
        }
    }

    /// Why nothing of it is ours to kill, if so.
    pub(crate) fn not_killed(&self) -> Option<&'static str> {
        match self {
            StackKind::Model(_) => Some("it is simulated, in no process"),
            StackKind::Server { .. } => Some("its server is somebody else's"),
            _ => None,
        }
    }

    /// Why it has no power that could be cut, and what to use instead, if so.
    pub(crate) fn not_powered(&self) -> Option<(&'static str, String)> {
        let instead = "use stacks on LUN sets that have a model";
        match self {
            StackKind::Directory { .. } => Some(("it has no LUN set", format!("{instead}; {WEAKER}"))),
            StackKind::Model(_) => Some(("it has no LUN set", instead.to_string())),
            StackKind::Server { .. } => {
                let cure = "let the study make the server, on LUN sets that have a model";
                Some(("its server is somebody else's", cure.to_string()))
            }
            _ => None,
        }
    }

    /// Copies of the data by its own redundancy, on `luns` LUNs, the reserve among them.
    pub fn copies(&self, luns: u32) -> u32 {
        match self {
            StackKind::Diskgroup(group) => group.redundancy.copies(),
            StackKind::Zfs(zfs) if zfs.vdevs == Vdevs::Mirror => luns,
            StackKind::FileSystem(made) => made.copies(),
            StackKind::Volume(volume) => volume.copies(luns.saturating_sub(volume.reserve)),
            _ => 1,
        }
    }
}

settled! {
    /// A disk group on the LUNs of a stack.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DiskGroup {
        /// Copies of the data; the redo log has as many.
        pub redundancy: Redundancy,
        /// Allocation unit, a power of two from 1 to 64 MiB.
        pub au: Bytes,
        /// How the data files go over the LUNs; the redo log is always striped finely.
        pub stripe: Stripe,
        /// LUNs in turn are dealt to so many failure groups; `None`: each LUN is its own.
        pub failure_groups: Option<u32>,
        /// LUNs at the end of the set that are not in the group until a phase adds them.
        pub reserve: u32,
    }
}

words! {
    /// Copies that a disk group keeps.
    pub enum Redundancy: "a redundancy" {
        /// One: what lies below protects.
        External = "external",
        /// Two.
        Normal = "normal",
        /// Three.
        High = "high",
    }
}

impl Redundancy {
    /// How many.
    pub fn copies(self) -> u32 {
        match self {
            Redundancy::External => 1,
            Redundancy::Normal => 2,
            Redundancy::High => 3,
        }
    }
}

words! {
    /// How a file's bytes go over the disks of a group.
    pub enum Stripe: "a way of striping" {
        /// One allocation unit after the other.
        Coarse = "coarse",
        /// 128 KiB after 128 KiB over eight allocation units.
        Fine = "fine",
    }
}

settled! {
    /// A simulated device.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Model {
        /// Bytes.
        pub size: Bytes,
        /// Mean time to serve one 8 KiB request, without queueing.
        pub service: Duration,
        /// Coefficient of variation of the service time (0 = constant).
        pub spread: f64,
        /// Requests served at once.
        pub parallel: u32,
        /// Time of a flush.
        pub flush: Duration,
        /// Transfer rate per server, bytes a second, added for what exceeds 8 KiB.
        pub transfer: Bytes as |model| ByteRate(model.transfer.0).shown(),
        /// Share of reads served by a cache above the device.
        pub cached: Share,
        /// By which share service gets longer with each minute of the study's simulated time, on all stacks alike.
        pub drift: Share,
    }
}

settled! {
    /// A planted disadvantage.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Inject {
        /// Every I/O takes this share longer (0.2: 20 %).
        pub late: f64 as |inject| Share(inject.late).shown(),
        /// Errno returned for the nth I/O of a phase (1-based), if any: a read or write fails with EIO.
        pub error_at: Option<u64> | "none",
        /// Flushes are answered and not done: a control for power cuts.
        pub flush_lost: bool as |inject| inject.flush_lost.then_some(true).shown(),
        /// A file server comes back with the write verifier that it had: a control for power cuts.
        pub same_verifier: bool as |inject| inject.same_verifier.then_some(true).shown(),
        /// The I/O of a trial (1-based, the load among them) from which on `late` holds; 0: from the first.
        pub late_from: u64 as |inject| Some(inject.late_from).filter(|from| *from > 0).shown(),
        /// The I/O of a trial (1-based) of which only a part is done, if any.
        pub short_at: Option<u64>,
        /// The I/O of a trial (1-based) at which the device stands still, if any.
        pub stall_at: Option<u64>,
        /// For how long.
        pub stall: Duration as |inject| inject.stall_at.map(|_| inject.stall).shown(),
    }
}

impl Inject {
    /// Whether anything is planted: what only says from when or for how long is nothing by itself.
    pub fn is_planted(&self) -> bool {
        let at = [self.error_at, self.short_at, self.stall_at];
        self.late != 0.0 || self.flush_lost || self.same_verifier || at.iter().any(Option::is_some)
    }
}
