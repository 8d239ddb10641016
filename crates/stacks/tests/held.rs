//! Devices of a raw stack and of a disk group: nobody else gets them exclusively while the stack stands. Needs root.
//!
//! Prevents: a mkfs or a second run that takes a LUN under the engine, and a claim that outlives its stack.

use crate::stacks::{Bench, stack};
use luns::DeviceRefusal;
use plan::{Bytes, DiskGroup, Redundancy, StackKind, Stripe};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

fn kinds() -> [StackKind; 2] {
    let group = DiskGroup {
        redundancy: Redundancy::External,
        au: Bytes(1 << 20),
        stripe: Stripe::Coarse,
        failure_groups: None,
        reserve: 0,
    };
    [StackKind::Raw, StackKind::Diskgroup(group)]
}

/// An exclusive open as mkfs, pvcreate and mdadm do it, closed at once.
fn exclusively(device: &Path) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::open(device, flags, Mode::empty()).map(drop)
}

fn assert_kept(bench: &Bench, when: &str) {
    for device in &bench.devices {
        assert_eq!(exclusively(device), Err(Errno::BUSY), "{} {when}", device.display());
    }
}

/// A process that another test starts has this one's descriptors until it becomes its program: they are waited for.
fn assert_free(bench: &Bench, when: &str) {
    let began = Instant::now();
    for device in &bench.devices {
        while exclusively(device) == Err(Errno::BUSY) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(exclusively(device), Ok(()), "{} {when}", device.display());
    }
}

#[test]
fn devices_are_kept_from_others_until_their_stack_is_undone() {
    let Some(bench) = Bench::new(2, 64) else { return };
    for kind in kinds() {
        let mut journal = bench.journal("h");
        assert_free(&bench, "before");
        let built = stacks::build(&stack("s", kind), &bench.places(1), &bench.work(), &mut journal).expect("built");
        assert_kept(&bench, "while the stack stands");
        for device in &bench.devices {
            let refused = luns::inspect_device(device, &bench.devices, &bench.devices);
            assert!(matches!(refused, Err(DeviceRefusal::Busy { .. })), "{refused:?}");
            let plainly = OpenOptions::new().read(true).write(true).open(device);
            plainly.expect("instances open it so");
        }
        let child = Command::new("ls")
            .args(["-l", "/proc/self/fd"])
            .output()
            .expect("ls runs");
        let child = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(!child.contains("/dev/loop"), "a child has inherited a device:\n{child}");
        let later = journal.mark();
        assert_eq!(journal.undo_to(later), []);
        assert_kept(&bench, "after an undo of later steps");
        let known_longer = built.clone();
        assert_eq!(stacks::teardown(built, &mut journal), []);
        assert_free(&bench, "after the undo");
        drop(known_longer);
        assert_eq!(journal.undo_all(), []);
        bench.assert_clean();
    }
}

#[test]
fn devices_without_power_are_free_and_kept_again_when_it_is_back() {
    let Some(bench) = Bench::new(2, 64) else { return };
    for kind in kinds() {
        let mut journal = bench.journal("p");
        let stack = stack("s", kind);
        let built = stacks::build(&stack, &bench.places(1), &bench.work(), &mut journal).expect("built");
        stacks::power_off(&built).expect("off");
        assert_free(&bench, "without power");
        stacks::power_on(&stack, &built, &journal).expect("on");
        assert_kept(&bench, "with power again");
        stacks::power_off(&built).expect("off");
        stacks::make_anew(&stack, &built, luns::MARKER, &journal).expect("made anew");
        assert_kept(&bench, "made anew");
        drop(built);
        // The journal alone knows of the stack now.
        assert_eq!(journal.undo_all(), []);
        assert_free(&bench, "after the undo of everything");
        bench.assert_clean();
    }
}
