//! A group opened frozen beside its owner, as instances in other processes do.
//!
//! Prevents: a process that reads or writes elsewhere than the owner says, and one that changes what is the owner's.

use crate::machine::{Machine, Mood, Window};
use diskgroup::{
    DiskSpec, FileSpec, Geometry, Group, GroupError, GroupPort, GroupSpec, MountOptions, Redundancy, Stripe,
};
use targets::{Disks, FileId, IoFault, Op, Port, Request, TargetError};

const AU: u64 = 16 << 10;
const UNITS: u64 = 40;
const DISKS: u16 = 3;

fn disk(nth: u16) -> DiskSpec {
    DiskSpec::new(FileId(nth), &format!("d{nth}"))
}

fn file(name: &str, stripe: Stripe) -> FileSpec {
    FileSpec {
        name: name.into(),
        size: UNITS * AU,
        redundancy: None,
        stripe,
    }
}

fn owned(redundancy: Redundancy) -> (Machine, Group<Window>) {
    let machine = Machine::new(Disks::new(&[200 * AU + 4096; 4]), 1);
    let spec = GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [20_000, 40_000],
        },
        journal_blocks: 64,
        small_units: true,
        ..GroupSpec::new("data", redundancy)
    };
    let disks: Vec<DiskSpec> = (0..DISKS).map(disk).collect();
    let group = Group::create(machine.window(192 << 10, 16), &spec, &disks, 5).unwrap();
    group.create_file(&file("data", Stripe::Coarse)).unwrap();
    group.create_file(&file("redo", Stripe::Fine)).unwrap();
    (machine, group)
}

fn frozen(machine: &Machine) -> Result<Group<Window>, GroupError> {
    let options = MountOptions {
        names: (0..DISKS).map(|n| format!("/dev/d{n}")).collect(),
        ..MountOptions::default()
    };
    Group::mount_frozen(machine.window(192 << 10, 16), &options)
}

fn port(group: &Group<Window>, machine: &Machine) -> GroupPort<Window> {
    group.open(machine.window(192 << 10, 16), &["data", "redo"]).unwrap()
}

/// One request to its end: a fault of its own, or an error of the whole port.
fn go(
    port: &mut GroupPort<Window>,
    (op, file): (Op, u16),
    offset: u64,
    bytes: &mut [u8],
) -> Result<Result<(), IoFault>, TargetError> {
    if op == Op::Write {
        port.bytes_mut(0, bytes.len()).copy_from_slice(bytes);
    }
    port.submit(Request {
        op,
        file: FileId(file),
        offset,
        at: 0,
        len: bytes.len() as u32,
        token: 7,
    })?;
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done)?;
    }
    if op == Op::Read {
        bytes.copy_from_slice(port.bytes(0, bytes.len()));
    }
    Ok(done[0].result)
}

fn done(port: &mut GroupPort<Window>, what: (Op, u16), offset: u64, bytes: &mut [u8]) {
    go(port, what, offset, bytes).unwrap().unwrap();
}

fn content(seed: u64, block: u64) -> Vec<u8> {
    vec![(seed * 31 + block % 200) as u8 + 1; 4096]
}

#[test]
fn what_one_writes_the_other_reads_and_the_owner_finds_all_of_it() {
    let (machine, owner) = owned(Redundancy::External);
    let beside = frozen(&machine).unwrap();
    let mut ports = [port(&owner, &machine), port(&beside, &machine)];
    let blocks = UNITS * AU / 4096;
    for file in 0..2 {
        for block in 0..blocks {
            let writer = (block % 2) as usize;
            done(
                &mut ports[writer],
                (Op::Write, file),
                block * 4096,
                &mut content(u64::from(file), block),
            );
        }
        for port in &mut ports {
            done(port, (Op::Flush, file), 0, &mut []);
        }
        for block in 0..blocks {
            let reader = ((block + 1) % 2) as usize;
            let mut found = vec![0; 4096];
            done(&mut ports[reader], (Op::Read, file), block * 4096, &mut found);
            assert!(found == content(u64::from(file), block), "file {file} block {block}");
        }
    }
    drop(ports);
    beside.close().unwrap();
    owner.close().unwrap();
    let options = MountOptions {
        names: (0..DISKS).map(|n| format!("/dev/d{n}")).collect(),
        ..MountOptions::default()
    };
    let (again, mounted) = Group::mount(machine.window(192 << 10, 16), &options).unwrap();
    assert_eq!(mounted.regions_settled, 0);
    assert!(again.check(false).unwrap().is_clean());
}

/// Opening, reading and closing write nothing; what would change the metadata is refused, and changes nothing.
#[test]
fn nothing_that_is_the_owners_is_changed() {
    let (machine, owner) = owned(Redundancy::External);
    let beside = frozen(&machine).unwrap();
    let before = owner.files();
    let refused = [
        beside.create_file(&file("more", Stripe::Coarse)),
        beside.grow_file("data", 2 * UNITS * AU),
        beside.delete_file("data"),
        beside.add_disks(&[disk(3)], 9),
        beside.drop_disk("d1"),
        beside.rebalance(),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error, GroupError::Frozen { .. }), "{error}");
        let cure = error.to_string();
        assert!(
            cure.lines()
                .last()
                .is_some_and(|cure| cure.contains("open to be changed")),
            "{cure}"
        );
    }
    beside.close().unwrap();
    let again = frozen(&machine).unwrap();
    assert_eq!(again.files().len(), before.len());
    // What the owner changes later is found by who opens later.
    owner.create_file(&file("later", Stripe::Coarse)).unwrap();
    assert_eq!(frozen(&machine).unwrap().files().len(), before.len() + 1);
    assert!(owner.check(false).unwrap().is_clean());
}

/// The owner's newest transactions may be in its journal alone.
#[test]
fn the_journal_is_read_and_not_replayed() {
    let (machine, owner) = owned(Redundancy::External);
    for nth in 0..20 {
        owner
            .create_file(&FileSpec {
                size: AU,
                ..file(&format!("f{nth}"), Stripe::Coarse)
            })
            .unwrap();
        assert_eq!(frozen(&machine).unwrap().files(), owner.files());
    }
    owner.close().unwrap();
    assert_eq!(frozen(&machine).unwrap().files().len(), 22);
}

#[test]
fn what_only_the_owner_can_do_is_refused_with_a_cure() {
    let (machine, _owner) = owned(Redundancy::Normal);
    let error = frozen(&machine).err().expect("a mirrored group").to_string();
    assert!(error.contains("mirrored") && error.contains("external"), "{error}");
    let (machine, owner) = owned(Redundancy::External);
    owner.rebalance().unwrap();
    let error = frozen(&machine)
        .err()
        .expect("a group that is being changed")
        .to_string();
    assert!(error.contains("rebalance"), "{error}");
}

/// Nothing can be recorded here, so nobody may hear that a flush went well.
#[test]
fn a_disk_that_fails_ends_the_port() {
    let (machine, owner) = owned(Redundancy::External);
    let beside = frozen(&machine).unwrap();
    let mut port = port(&beside, &machine);
    done(&mut port, (Op::Write, 0), 0, &mut content(1, 0));
    for disk in 0..DISKS {
        machine.set_mood(disk, Mood::failing(1.0));
    }
    assert!(!matches!(go(&mut port, (Op::Flush, 0), 0, &mut []), Ok(Ok(()))));
    assert!(
        !matches!(go(&mut port, (Op::Flush, 0), 0, &mut []), Ok(Ok(()))),
        "nor later"
    );
    drop(owner);
}
