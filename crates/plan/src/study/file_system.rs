//! File systems that a stack can be: one row for each.
//!
//! Whoever makes, mounts, checks or explains a file system asks its row. Prevents: a file system that one place
//! forgets.

use crate::options::{Given, Tool, arguments, mount_words};
use crate::shown::{Keys, strings};
use crate::word::Word;

/// A file system, made new on the LUNs of a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSystem {
    /// Which one.
    pub kind: FileSystemKind,
    /// Extra mount options, of those in the table.
    pub mount_options: Vec<Given>,
    /// Extra options of mkfs, of those in the table.
    pub mkfs_options: Vec<Given>,
}

/// File systems that this version makes.
#[derive(Clone, Debug, PartialEq)]
pub enum FileSystemKind {
    /// ext3, which the kernel's ext4 driver serves.
    Ext3,
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs(Btrfs),
}

settled! {
    /// btrfs, on one or more LUNs.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Btrfs {
        /// Data profile.
        pub profile: BtrfsProfile,
        /// `None`, or an algorithm as btrfs writes it ("zstd", "lzo", "zstd:3").
        pub compress: Option<String> | "none",
        /// Overwrite in place.
        pub nodatacow: bool,
    }
}

words! {
    /// Data profile of btrfs; metadata follow it (`single` keeps `dup` on one device).
    pub enum BtrfsProfile: "a data profile" {
        /// One copy, no stripes.
        Single = "single",
        /// Striped.
        Raid0 = "raid0",
        /// Two copies.
        Raid1 = "raid1",
    }
}

/// What is the same for every stack of one file system.
#[derive(Debug)]
pub struct FileSystemRow {
    /// As a study writes it, and the kernel as the type of a mount.
    pub word: &'static str,
    /// As people write it.
    pub name: &'static str,
    /// The program that makes it.
    pub program: &'static str,
    /// Options of that program that a study may say.
    pub mkfs: Tool,
    /// Its mount, with the options that a study may say.
    pub mount: Tool,
    /// The smallest LUN that the program takes, MiB.
    pub least_lun_mib: u64,
    /// Whether it takes more than one LUN.
    pub several_luns: bool,
    /// Whether every kernel can force it down, as a kill does.
    pub always_forced_down: bool,
    /// Whether a file that is there whole is written again without new blocks.
    pub overwrites_in_place: bool,
}

static EXT3: FileSystemRow = FileSystemRow {
    word: "ext3",
    name: "ext3",
    program: "mkfs.ext3",
    ..EXT4_ROW
};
static EXT4: FileSystemRow = EXT4_ROW;
const EXT4_ROW: FileSystemRow = FileSystemRow {
    word: "ext4",
    name: "ext4",
    program: "mkfs.ext4",
    mkfs: Tool::MkfsExt4,
    mount: Tool::MountExt4,
    least_lun_mib: 1,
    several_luns: false,
    always_forced_down: true,
    overwrites_in_place: true,
};
/// mkfs.xfs refuses smaller LUNs since xfsprogs 5.19.
static XFS: FileSystemRow = FileSystemRow {
    word: "xfs",
    name: "XFS",
    program: "mkfs.xfs",
    mkfs: Tool::MkfsXfs,
    mount: Tool::MountXfs,
    least_lun_mib: 300,
    several_luns: false,
    always_forced_down: true,
    overwrites_in_place: true,
};
/// mkfs.btrfs takes about 114 MiB, with its metadata twice.
static BTRFS: FileSystemRow = FileSystemRow {
    word: "btrfs",
    name: "btrfs",
    program: "mkfs.btrfs",
    mkfs: Tool::MkfsBtrfs,
    mount: Tool::MountBtrfs,
    least_lun_mib: 128,
    several_luns: true,
    always_forced_down: false,
    overwrites_in_place: false,
};

impl FileSystemRow {
    /// All, in the order of lists.
    pub const ALL: [&'static FileSystemRow; 4] = [&EXT3, &EXT4, &XFS, &BTRFS];
}

impl FileSystem {
    /// Without options of its own.
    pub fn plain(kind: FileSystemKind) -> FileSystem {
        FileSystem {
            kind,
            mount_options: Vec::new(),
            mkfs_options: Vec::new(),
        }
    }

    /// What is the same for every stack of this file system.
    pub fn row(&self) -> &'static FileSystemRow {
        self.kind.row()
    }

    /// Its keys with their values.
    pub(crate) fn keys(&self) -> Keys {
        let mut keys = match &self.kind {
            FileSystemKind::Btrfs(btrfs) => btrfs.keys(),
            _ => Keys::new(),
        };
        keys.push(("mount_options", strings(mount_words(&self.mount_options))));
        keys.push(("mkfs_options", strings(arguments(&self.mkfs_options))));
        keys
    }

    /// Copies that it keeps of the data.
    pub fn copies(&self) -> u32 {
        match &self.kind {
            FileSystemKind::Btrfs(btrfs) if btrfs.profile == BtrfsProfile::Raid1 => 2,
            _ => 1,
        }
    }

    /// The fewest LUNs that it takes, with the word of what asks for them.
    pub fn least_luns(&self) -> (usize, &'static str) {
        match &self.kind {
            FileSystemKind::Btrfs(btrfs) => {
                let least = match btrfs.profile {
                    BtrfsProfile::Single => 1,
                    BtrfsProfile::Raid0 | BtrfsProfile::Raid1 => 2,
                };
                (least, btrfs.profile.word())
            }
            _ => (1, ""),
        }
    }
}

impl FileSystemKind {
    /// What is the same for every stack of this file system.
    pub fn row(&self) -> &'static FileSystemRow {
        match self {
            FileSystemKind::Ext3 => &EXT3,
            FileSystemKind::Ext4 => &EXT4,
            FileSystemKind::Xfs => &XFS,
            FileSystemKind::Btrfs(_) => &BTRFS,
        }
    }
}
