//! What a stack would make, and what a kill would take with it, by its kind.
//!
//! Takes a stack, gives text. Prevents: a kind of stack that `check` says nothing of.

use plan::{Manager, Stack, StackKind, Volume, ZfsWay};

/// What it makes beside LUNs; `None`: nothing.
pub(super) fn made(stack: &Stack) -> Option<String> {
    let name = &stack.name;
    Some(match &stack.kind {
        StackKind::Raw | StackKind::Model(_) => return None,
        StackKind::Directory { path } => {
            let path = path.display();
            format!("a database in a directory of its own under {path} (stack {name})")
        }
        StackKind::Server { .. } => on_server(stack),
        StackKind::Zfs(zfs) => pool(zfs.via, name),
        StackKind::Diskgroup(_) => format!("a disk group for stack {name}"),
        StackKind::Volume(made) => volume(made, name),
        StackKind::FileSystem(_) => format!("a file system and its mount point for stack {name}"),
    })
}

/// What would be made on a server that is there already.
fn on_server(stack: &Stack) -> String {
    let what = match stack.engine.files() {
        Some(_) => "directories named assay-*",
        None => "databases named assay_*",
    };
    format!("{what} on the server of stack {}", stack.name)
}

/// What a stack of LVM or md makes.
fn volume(made: &Volume, stack: &str) -> String {
    let manager = match made.manager {
        Manager::Lvm(_) => "a volume group of LVM",
        Manager::Md(_) => "an array of md",
    };
    let top = if made.is_raw() {
        ""
    } else {
        ", with a file system and its mount point,"
    };
    format!("{manager}{top} for stack {stack}")
}

/// What a stack of ZFS makes, by its way.
fn pool(via: Option<ZfsWay>, stack: &str) -> String {
    match via {
        Some(ZfsWay::Fuse) => format!("a pool of zfs-fuse (version 23), its daemon and two mounts for stack {stack}"),
        Some(ZfsWay::Kernel) => {
            format!(
                "a pool of the kernel's ZFS and two mounts for stack {stack}; during the run the host's ARC has \
                 the study's maximum"
            )
        }
        _ => format!("a pool of OpenZFS in user space for stack {stack}"),
    }
}

/// What a kill takes with it.
pub(super) fn killed(stack: &Stack) -> &'static str {
    match &stack.kind {
        StackKind::Volume(volume) if !volume.is_raw() => "the engine; the file system is forced down and mounted again",
        StackKind::FileSystem(made) if made.row().always_forced_down => {
            "the engine; the file system is forced down and mounted again"
        }
        StackKind::FileSystem(_) => {
            "the engine; the file system is forced down and mounted again if this kernel can, else it stays"
        }
        StackKind::Zfs(zfs) if zfs.via != Some(ZfsWay::Kernel) => {
            "the engine and the process of its pool, which is imported again"
        }
        _ => "the engine alone: what the page cache holds stays",
    }
}
