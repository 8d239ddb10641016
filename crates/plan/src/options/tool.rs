//! Who takes options: a mkfs, a mount, a server, each with its two tables.
//!
//! Prevents: a tool that reads the table of another.

use super::rule::{Refused, Rule};
use super::{btrfs, ext4, mounts, postgres, refused, xfs};

/// Who takes an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `mkfs.ext4`.
    MkfsExt4,
    /// `mkfs.xfs`.
    MkfsXfs,
    /// `mkfs.btrfs`.
    MkfsBtrfs,
    /// The mount of ext4.
    MountExt4,
    /// The mount of XFS.
    MountXfs,
    /// The mount of btrfs.
    MountBtrfs,
    /// The configuration of a PostgreSQL server.
    Postgres,
}

impl Tool {
    /// All.
    pub const ALL: [Tool; 7] = [
        Tool::MkfsExt4,
        Tool::MkfsXfs,
        Tool::MkfsBtrfs,
        Tool::MountExt4,
        Tool::MountXfs,
        Tool::MountBtrfs,
        Tool::Postgres,
    ];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Tool::MkfsExt4 => "mkfs.ext4",
            Tool::MkfsXfs => "mkfs.xfs",
            Tool::MkfsBtrfs => "mkfs.btrfs",
            Tool::MountExt4 => "a mount of ext4",
            Tool::MountXfs => "a mount of XFS",
            Tool::MountBtrfs => "a mount of btrfs",
            Tool::Postgres => "PostgreSQL",
        }
    }

    /// What a study may say of it.
    pub fn rules(self) -> &'static [Rule] {
        match self {
            Tool::MkfsExt4 => ext4::MKFS,
            Tool::MkfsXfs => xfs::MKFS,
            Tool::MkfsBtrfs => btrfs::MKFS,
            Tool::MountExt4 => mounts::EXT4,
            Tool::MountXfs => mounts::XFS,
            Tool::MountBtrfs => mounts::BTRFS,
            Tool::Postgres => postgres::SETTINGS,
        }
    }

    /// What it may not, with a reason of its own. Whatever is in neither list is refused as unknown.
    pub fn refused(self) -> &'static [Refused] {
        match self {
            Tool::MkfsExt4 => refused::EXT4,
            Tool::MkfsXfs => refused::XFS,
            Tool::MkfsBtrfs => refused::BTRFS,
            Tool::MountExt4 | Tool::MountXfs | Tool::MountBtrfs => refused::MOUNTS,
            Tool::Postgres => refused::POSTGRES,
        }
    }

    pub(super) fn is_mkfs(self) -> bool {
        matches!(self, Tool::MkfsExt4 | Tool::MkfsXfs | Tool::MkfsBtrfs)
    }
}
