//! A group that its owner changes while somebody opens it frozen without having been admitted: at each I/O of the
//! opening in turn, a disk is dropped and emptied.

use crate::machine::scenario::AU;
use crate::machine::{Machine, Window};
use diskgroup::{DiskSpec, FileSpec, Geometry, Group, GroupSpec, MountOptions, Redundancy, Stripe};
use std::collections::BTreeMap;
use targets::{Completion, Disks, FileId, Nanos, Port, Request, TargetError, left_to};

/// A port that does something else before one of its waits.
struct Meddled {
    window: Window,
    left: u64,
    act: Option<Box<dyn FnOnce()>>,
}

impl Port for Meddled {
    left_to!(window: now, memory, bytes, bytes_mut, alignment, depth, in_flight, size, grow, extents, waker);

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.window.submit(request)
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        match self.left {
            0 => self.act.take().into_iter().for_each(|act| act()),
            _ => self.left -= 1,
        }
        self.window.wait(min, until, done)
    }
}

/// Bytes of each file on each disk.
type Lie = BTreeMap<String, Vec<(String, u64)>>;

fn lie<P: Port>(group: &Group<P>) -> Lie {
    let files = group.files().into_iter();
    files.map(|file| (file.name, file.bytes_on)).collect()
}

fn owned() -> (Machine, Group<Window>) {
    let machine = Machine::new(Disks::new(&[120 * AU + 4096; 3]), 1);
    let spec = GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [20_000, 40_000],
        },
        journal_blocks: 32,
        small_units: true,
        ..GroupSpec::new("data", Redundancy::External)
    };
    let disks: Vec<DiskSpec> = (0..3)
        .map(|nth| DiskSpec::new(FileId(nth), &format!("d{nth}")))
        .collect();
    let group = Group::create(machine.window(192 << 10, 16), &spec, &disks, 5).unwrap();
    for nth in 0..8 {
        let file = FileSpec {
            name: format!("f{nth}"),
            size: 9 * AU,
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        group.create_file(&file).unwrap();
    }
    (machine, group)
}

/// The owner acts before the wait of this number; what is opened is the group before or after that, or nothing.
pub(crate) fn meddled_seed(seed: u64) -> Result<(), String> {
    let (machine, owner) = owned();
    let before = lie(&owner);
    let act = {
        let (machine, owner) = (machine.clone(), owner.clone());
        move || {
            owner.drop_disk("d2").unwrap();
            owner.upkeep(machine.window(64 << 10, 8)).run().unwrap();
        }
    };
    let port = Meddled {
        window: machine.window(192 << 10, 16),
        left: seed % 60,
        act: Some(Box::new(act)),
    };
    let options = MountOptions {
        names: (0..3).map(|nth| format!("/dev/d{nth}")).collect(),
        ..MountOptions::default()
    };
    match Group::mount_frozen(port, &options) {
        Err(_) => Ok(()),
        Ok(group) => {
            let (found, after) = (lie(&group), lie(&owner));
            let whole = found == before || found == after;
            whole
                .then_some(())
                .ok_or_else(|| format!("a map read half: {found:?}, not {before:?} or {after:?}"))
        }
    }
}
