//! File systems of stacks, with the options of their tools that a study may say.
//!
//! Prevents: an option that no table allows.

use super::settle::Settle;
use crate::options::{Given, Reading, Tool};
use crate::study::{FileSystem, FileSystemKind};
use crate::written::{At, Options, WrittenStack};

pub(super) fn file_system(stack: &WrittenStack, kind: FileSystemKind, settle: &mut Settle<'_>) -> FileSystem {
    let row = kind.row();
    let mount_options = options(&stack.mount_options, row.mount, crate::options::mount, settle);
    let mkfs_options = options(&stack.mkfs_options, row.mkfs, crate::options::mkfs, settle);
    FileSystem {
        kind,
        mount_options,
        mkfs_options,
    }
}

/// Options of a tool, of those that its table has.
fn options(written: &Option<At<Options>>, tool: Tool, read: Reading, settle: &mut Settle<'_>) -> Vec<Given> {
    written
        .as_ref()
        .map_or_else(Vec::new, |at| read(tool, &at.value.0, settle.findings))
}
