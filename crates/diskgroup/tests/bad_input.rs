//! What is refused: with the cause, with the cure, and with nothing written.

use crate::machine::{Machine, Window};
use diskgroup::{
    DiskSpec, FileSpec, FindingKind, Geometry, Group, GroupError, GroupSpec, MountOptions, Redundancy, Stripe,
};
use targets::{Disks, FileId};

const AU: u64 = 16 << 10;

fn spec(redundancy: Redundancy) -> GroupSpec {
    GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [20_000, 40_000],
        },
        journal_blocks: 32,
        small_units: true,
        ..GroupSpec::new("data", redundancy)
    }
}

fn disk(nth: u16) -> DiskSpec {
    DiskSpec::new(FileId(nth), &format!("d{nth}"))
}

fn machine(count: usize) -> Machine {
    Machine::new(Disks::new(&vec![80 * AU; count]), 1)
}

fn create(machine: &Machine, spec: &GroupSpec, disks: &[DiskSpec], seed: u64) -> Result<Group<Window>, GroupError> {
    Group::create(machine.window(192 << 10, 8), spec, disks, seed)
}

fn mount(machine: &Machine, files: usize, group: Option<&str>) -> Result<Group<Window>, GroupError> {
    let options = MountOptions {
        group: group.map(str::to_owned),
        names: (0..files).map(|n| format!("/dev/d{n}")).collect(),
        ..MountOptions::default()
    };
    Group::mount(machine.window(192 << 10, 8), &options).map(|(group, _)| group)
}

fn all(machine: &Machine, count: u16) -> Vec<Vec<u8>> {
    let disks = machine.now_on();
    let read = |nth| {
        let mut bytes = vec![0; (80 * AU) as usize];
        disks.read(FileId(nth), 0, &mut bytes);
        bytes
    };
    (0..count).map(read).collect()
}

/// Runs something that must be refused; the last line of the error is a cure, and no byte has changed.
fn refused<T>(machine: &Machine, count: u16, what: impl FnOnce() -> Result<T, GroupError>, says: &str) {
    let before = all(machine, count);
    let error = what().err().unwrap_or_else(|| panic!("not refused: {says}"));
    let text = error.to_string();
    assert!(text.contains(says), "`{text}` does not say `{says}`");
    assert!(
        text.lines().count() >= 2 && text.lines().last().unwrap().starts_with("  "),
        "no cure: {text}"
    );
    assert!(all(machine, count) == before, "something was written: {text}");
}

#[test]
fn groups_that_cannot_be_made() {
    let machine = machine(4);
    let three = [disk(0), disk(1), disk(2)];
    let make = |spec: GroupSpec, disks: &[DiskSpec]| create(&machine, &spec, disks, 1);
    let normal = || spec(Redundancy::Normal);
    refused(
        &machine,
        4,
        || make(spec(Redundancy::Normal), &three[..1]),
        "failure groups",
    );
    refused(
        &machine,
        4,
        || {
            make(
                GroupSpec {
                    small_units: false,
                    ..normal()
                },
                &three,
            )
        },
        "allocation unit",
    );
    refused(
        &machine,
        4,
        || {
            make(
                GroupSpec {
                    name: "a b".into(),
                    ..normal()
                },
                &three,
            )
        },
        "name",
    );
    refused(
        &machine,
        4,
        || {
            make(
                GroupSpec {
                    journal_blocks: 3,
                    ..normal()
                },
                &three,
            )
        },
        "journal",
    );
}

#[test]
fn disks_that_make_no_group() {
    let machine = machine(4);
    let three = [disk(0), disk(1), disk(2)];
    let make = |spec: GroupSpec, disks: &[DiskSpec]| create(&machine, &spec, disks, 1);
    let normal = || spec(Redundancy::Normal);
    refused(&machine, 4, || make(normal(), &[disk(0), disk(0)]), "twice");
    let mixed = [
        disk(0),
        DiskSpec {
            sector_bytes: 4096,
            ..disk(1)
        },
    ];
    refused(&machine, 4, || make(normal(), &mixed), "sectors of {512, 4096}");
    let big = GroupSpec {
        geometry: Geometry::new(1 << 20),
        small_units: false,
        ..normal()
    };
    refused(&machine, 4, || make(big, &three), "no room");
    let same = [0, 1].map(|n| DiskSpec {
        failure_group: Some("one".into()),
        ..disk(n)
    });
    refused(&machine, 4, || make(normal(), &same), "failure groups");
}

#[test]
fn disks_of_others_are_not_taken() {
    let machine = machine(4);
    let other = GroupSpec {
        name: "other".into(),
        ..spec(Redundancy::Normal)
    };
    create(&machine, &other, &[disk(2), disk(3)], 8)
        .unwrap()
        .close()
        .unwrap();
    let three = [disk(0), disk(1), disk(2)];
    refused(
        &machine,
        4,
        || create(&machine, &spec(Redundancy::Normal), &three, 1),
        "belongs to disk group other",
    );
    let group = create(&machine, &spec(Redundancy::Normal), &three[..2], 1).unwrap();
    refused(
        &machine,
        4,
        || group.add_disks(&[disk(3)], 2),
        "belongs to disk group other",
    );
    refused(
        &machine,
        4,
        || {
            group.add_disks(
                &[DiskSpec {
                    sector_bytes: 4096,
                    ..disk(3)
                }],
                2,
            )
        },
        "sectors",
    );
    refused(
        &machine,
        4,
        || {
            group.add_disks(
                &[DiskSpec {
                    name: "d0".into(),
                    ..disk(3)
                }],
                2,
            )
        },
        "taken",
    );
    group.close().unwrap();
    the_right_group_is_found(&machine);
}

fn the_right_group_is_found(machine: &Machine) {
    refused(machine, 4, || mount(machine, 4, None), "2 disk groups");
    refused(
        machine,
        4,
        || mount(machine, 4, Some("nobody")),
        "0 disk groups of nobody",
    );
    refused(machine, 1, || mount(machine, 0, None), "0 disk groups");
    mount(machine, 4, Some("data")).unwrap();
    // Overwriting has to be said, and then it is done.
    let taken = DiskSpec {
        overwrite: true,
        ..disk(3)
    };
    mount(machine, 4, Some("data")).unwrap().add_disks(&[taken], 2).unwrap();
}

#[test]
fn newer_damaged_and_twin_disks() {
    let machine = machine(3);
    create(&machine, &spec(Redundancy::Normal), &[disk(0), disk(1)], 1)
        .unwrap()
        .close()
        .unwrap();
    let header = |nth: usize| all(&machine, 3)[nth][..4096].to_vec();
    let last = 80 * AU - 4096;
    // A newer version, whole by its own checksum.
    let mut newer = header(0);
    newer[40] = 9;
    let crc = targets::crc32c(&newer[8..]);
    newer[4..8].copy_from_slice(&crc.to_le_bytes());
    let good = header(0);
    machine.damage(0, 0, &newer);
    refused(&machine, 3, || mount(&machine, 3, None), "format version 9");
    machine.damage(0, 0, &good);
    // A copy of a disk beside it.
    let twin = header(1);
    machine.damage(2, 0, &twin);
    machine.damage(2, last, &twin);
    refused(&machine, 3, || mount(&machine, 3, None), "same disk");
    machine.damage(2, 0, &[0; 4096]);
    machine.damage(2, last, &[0; 4096]);
    // One damaged header is made good from the other; two are a disk that is missing.
    machine.damage(1, 0, &[0x55; 512]);
    mount(&machine, 3, None).unwrap().close().unwrap();
    assert_eq!(header(1), twin, "written again");
    machine.damage(1, 0, &[0x55; 512]);
    machine.damage(1, last, &[0x55; 512]);
    refused(&machine, 3, || mount(&machine, 3, None), "disks missing: d1");
}

#[test]
fn files_that_cannot_be_made_grown_or_deleted() {
    let machine = machine(3);
    let group = create(&machine, &spec(Redundancy::Normal), &[disk(0), disk(1)], 1).unwrap();
    let file = |name: &str, size| FileSpec {
        name: name.into(),
        size,
        redundancy: None,
        stripe: Stripe::Coarse,
    };
    group.create_file(&file("f", AU)).unwrap();
    refused(&machine, 3, || group.create_file(&file("f", AU)), "file f exists");
    refused(&machine, 3, || group.create_file(&file("", AU)), "name");
    refused(&machine, 3, || group.create_file(&file("a\nb", AU)), "name");
    refused(&machine, 3, || group.create_file(&file(&"x".repeat(97), AU)), "name");
    refused(
        &machine,
        3,
        || group.create_file(&file("g", 500 * AU)),
        "bytes are needed",
    );
    refused(&machine, 3, || group.create_file(&file("g", u64::MAX)), "extents");
    let three = FileSpec {
        redundancy: Some(Redundancy::High),
        ..file("g", AU)
    };
    refused(&machine, 3, || group.create_file(&three), "3 copies");
    refused(&machine, 3, || group.grow_file("f", 500 * AU), "bytes are needed");
    refused(&machine, 3, || group.grow_file("g", AU), "no file g");
    refused(&machine, 3, || group.delete_file("g"), "no file g");
    refused(&machine, 3, || group.drop_disk("d7"), "no disk d7");
    refused(&machine, 3, || group.drop_disk("d0"), "failure groups");
    refused(
        &machine,
        3,
        || group.open(machine.window(4096, 1), &["g"]).map(|_| ()),
        "no file g",
    );
    let port = group.open(machine.window(4096, 1), &["f"]).unwrap();
    refused(&machine, 3, || group.check(false), "close them first");
    refused(&machine, 3, || group.delete_file("f"), "close them first");
    drop(port);
    group.delete_file("f").unwrap();
}

fn is_of_table(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::TableUnreadable { .. } | FindingKind::TableDamaged { .. } | FindingKind::TableDiffers { .. }
    )
}

#[test]
fn random_bytes_are_no_group_and_break_nothing() {
    use rand_core::{Rng, SeedableRng};
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(4);
    let machine = machine(3);
    create(&machine, &spec(Redundancy::Normal), &[disk(0), disk(1), disk(2)], 1)
        .unwrap()
        .close()
        .unwrap();
    let good = machine.now_on();
    for round in 0..400u64 {
        let broken = Machine::new(good.clone(), round);
        for _ in 0..1 + rng.next_u64() % 6 {
            let at = rng.next_u64() % 60 * 4096;
            let disk = (rng.next_u64() % 3) as u16;
            let garbage: Vec<u8> = (0..512).map(|_| rng.next_u64() as u8).collect();
            broken.damage(disk, at + rng.next_u64() % 8 * 512, &garbage);
        }
        // It opens and can be repaired, or says why not; it never panics.
        if let Ok(group) = mount(&broken, 3, None) {
            group.check(true).unwrap();
            assert!(
                group
                    .check(false)
                    .unwrap()
                    .findings
                    .iter()
                    .all(|f| !is_of_table(f.what.kind))
            );
        }
    }
}
