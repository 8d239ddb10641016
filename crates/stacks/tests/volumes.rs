//! Volumes as far as a kernel without device mapper and md takes them: what the tools do by themselves is done, under
//! the rules that confine them, and taken away again. Needs root. Where the kernel has both, `benches/guest` does more.
//!
//! Prevents: a rule of Landlock that stands in the way of LVM's tools and is met by the first user, because the guest
//! in which all else is tested has no Landlock.

use crate::stacks::{Bench, stack};
use plan::{Bytes, FileSystem, FileSystemKind, Lvm, LvmLayout, Manager, Md, MdLevel, Resync, Snapshot, StackKind};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn on_ext4(manager: Manager) -> StackKind {
    StackKind::Volume(plan::Volume {
        manager,
        top: Some(FileSystem::plain(FileSystemKind::Ext4)),
        reserve: 0,
    })
}

/// Whether the kernel has what makes such volumes whole.
fn kernel_has(path: &str) -> bool {
    let there = Path::new(path).exists();
    if there {
        eprintln!("skipped: this kernel has {path}, and the test is of one that has not");
    }
    there
}

fn has_program(name: &str) -> bool {
    let there = sandbox::find_program(name).is_some();
    assert!(
        there || std::env::var_os("CI").is_none(),
        "{name} is missing, and ./test installs it"
    );
    if !there {
        eprintln!("skipped: needs {name}");
    }
    there
}

#[test]
fn labels_and_a_group_of_lvm_are_written_under_landlock_and_wiped_where_no_volume_can_be() {
    let Some(bench) = Bench::new(4, 64) else { return };
    if kernel_has("/sys/class/misc/device-mapper") || !has_program("lvm") {
        return;
    }
    eprintln!("tools are confined {}", sandbox::confinement());
    let striped = on_ext4(Manager::Lvm(Lvm {
        layout: LvmLayout::Striped,
        stripes: None,
        stripe_size: Bytes(64 << 10),
        thin: false,
        snapshot: Snapshot::None,
        resync: Resync::Wait,
    }));
    let mut journal = bench.journal("lvm");
    let refused = stacks::build(&stack("lvm", striped), &bench.places(2), &bench.work(), &mut journal);
    let error = refused.expect_err("no device mapper").to_string();
    // The first command that needs the kernel: those before it have written to the LUNs, and to LVM's locks.
    assert!(error.starts_with("lvcreate "), "{error}");
    assert_eq!(journal.open_steps(), Vec::<String>::new(), "{error}");
    for device in &bench.devices {
        let mut label = [0; 8];
        let lun = File::open(device).expect("opened");
        lun.read_exact_at(&mut label, 512).expect("read");
        assert_ne!(&label, b"LABELONE", "{} has its label still", device.display());
    }
    assert_eq!(journal.undo_all(), []);
    bench.assert_clean();
}

#[test]
fn an_array_that_the_kernel_does_not_make_leaves_nothing() {
    let Some(bench) = Bench::new(4, 64) else { return };
    if kernel_has("/proc/mdstat") || !has_program("mdadm") {
        return;
    }
    let mirror = on_ext4(Manager::Md(Md {
        level: MdLevel::Raid1,
        chunk: Bytes(512 << 10),
        resync: Resync::Assume,
        bitmap: false,
    }));
    let mut journal = bench.journal("md");
    let refused = stacks::build(&stack("md", mirror), &bench.places(2), &bench.work(), &mut journal);
    let error = refused.expect_err("no md").to_string();
    assert!(error.starts_with("mdadm --create"), "{error}");
    assert_eq!(journal.open_steps(), Vec::<String>::new(), "{error}");
    assert_eq!(journal.undo_all(), []);
    bench.assert_clean();
}
