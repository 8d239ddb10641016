//! The cases in which a mirror went back in time, one by one, at both redundancies: what a mount, a check or a flush
//! could not make durable must be recorded before it counts.

use crate::machine::{Machine, Mood, Window};
use diskgroup::{
    DiskSpec, FileSpec, FindingKind, Geometry, Group, GroupError, GroupPort, GroupSpec, MountOptions, Mounted,
    Redundancy, Step, Stripe,
};
use targets::{Disks, FileId, IoFault, Op, Port, Request};

const AU: u64 = 16 << 10;
const PAGE: u32 = 4096;
const REFUSES_WRITES: Mood = Mood {
    bad_writes: 1.0,
    ..SOUND
};
const REFUSES_FLUSHES: Mood = Mood {
    bad_flushes: 1.0,
    ..SOUND
};
const GONE: Mood = Mood { gone: true, ..SOUND };
const SOUND: Mood = Mood {
    gone: false,
    bad_reads: 0.0,
    bad_writes: 0.0,
    bad_flushes: 0.0,
    bad_work: 0.0,
};

/// A group of as many disks as copies, with one file of a few units, and its disks with nothing in flight.
fn made(redundancy: Redundancy) -> (Machine, Group<Window>) {
    let count = redundancy.copies() as u16;
    let machine = Machine::new(Disks::new(&vec![60 * AU + 4096; usize::from(count)]), 3);
    let spec = GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [20_000, 40_000],
        },
        journal_blocks: 32,
        small_units: true,
        ..GroupSpec::new("data", redundancy)
    };
    let disks: Vec<DiskSpec> = (0..count).map(|n| DiskSpec::new(FileId(n), &format!("d{n}"))).collect();
    let group = Group::create(machine.window(192 << 10, 16), &spec, &disks, 9).unwrap();
    let file = FileSpec {
        name: "users".into(),
        size: 2 * AU,
        redundancy: None,
        stripe: Stripe::Coarse,
    };
    group.create_file(&file).unwrap();
    (machine, group)
}

fn mount(machine: &Machine, force: bool) -> Result<(Group<Window>, Mounted), GroupError> {
    let count = machine.now_on().sizes().len();
    let options = MountOptions {
        force,
        names: (0..count).map(|n| format!("/dev/d{n}")).collect(),
        ..MountOptions::default()
    };
    Group::mount(machine.window(192 << 10, 16), &options)
}

fn port(group: &Group<Window>, machine: &Machine) -> GroupPort<Window> {
    group.open(machine.window(64 << 10, 4), &["users"]).unwrap()
}

fn one(port: &mut GroupPort<Window>, op: Op) -> Result<(), IoFault> {
    let len = if op == Op::Flush { 0 } else { PAGE };
    let request = Request {
        op,
        file: FileId(0),
        offset: 0,
        at: 0,
        len,
        token: 1,
    };
    port.submit(request).unwrap();
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done).unwrap();
    }
    done[0].result
}

fn write(port: &mut GroupPort<Window>, version: u8) -> Result<(), IoFault> {
    port.bytes_mut(0, PAGE as usize).fill(version);
    one(port, Op::Write)
}

/// The version of the first page: all its bytes are the same.
fn read(group: &Group<Window>, machine: &Machine) -> u8 {
    let mut port = port(group, machine);
    one(&mut port, Op::Read).unwrap();
    let bytes = port.bytes(0, PAGE as usize);
    assert!(bytes.iter().all(|b| *b == bytes[0]), "two versions in a page");
    bytes[0]
}

/// The disks of one moment, but one disk as it was at another.
fn with_disk_of(most: &Disks, other: &Disks, disk: u16) -> Disks {
    let mut mixed = most.clone();
    let mut bytes = vec![0; most.size(FileId(disk)).unwrap() as usize];
    other.read(FileId(disk), 0, &mut bytes);
    mixed.write(FileId(disk), 0, &bytes);
    mixed
}

/// A crash after which disk `ahead` alone has version 2, acknowledged and not flushed; the others have version 1,
/// flushed.
fn crashed(redundancy: Redundancy, ahead: u16) -> Disks {
    let (machine, group) = made(redundancy);
    let mut port = port(&group, &machine);
    write(&mut port, 1).unwrap();
    one(&mut port, Op::Flush).unwrap();
    let before = machine.now_on();
    write(&mut port, 2).unwrap();
    with_disk_of(&before, &machine.now_on(), ahead)
}

fn heal(group: &Group<Window>, machine: &Machine) {
    for disk in group.disks().iter().filter(|d| !d.online || d.failing) {
        group.online_disk(&disk.name).unwrap();
    }
    let mut upkeep = group.upkeep(machine.window(64 << 10, 8));
    assert_eq!(upkeep.run().unwrap(), Step::Idle);
}

/// The case as it was found: the other disks refuse the repair while the group is opened. Gives the version that was
/// settled on.
fn never_back(redundancy: Redundancy, ahead: u16, refuses: Mood) -> u8 {
    let count = redundancy.copies() as u16;
    let machine = Machine::new(crashed(redundancy, ahead), 4);
    (0..count)
        .filter(|d| *d != ahead)
        .for_each(|d| machine.set_mood(d, refuses));
    let (group, mounted) = mount(&machine, false).unwrap();
    (0..count).for_each(|d| machine.set_mood(d, SOUND));
    let seen = read(&group, &machine);
    if seen == 2 {
        assert_eq!(mounted.repairs_refused.len(), usize::from(count) - 1, "{mounted:?}");
        let stale = group.disks().iter().filter(|d| d.stale_bytes > 0).count();
        assert_eq!(stale, usize::from(count) - 1, "not recorded as stale");
    }
    group.close().unwrap();

    let (group, _) = mount(&machine, false).unwrap();
    assert_eq!(read(&group, &machine), seen, "after another mount");
    heal(&group, &machine);
    let report = group.check(false).unwrap();
    assert!(report.is_clean() && report.stale_copies == 0, "{report:?}");
    assert_eq!(read(&group, &machine), seen, "with all disks back");
    group.close().unwrap();
    for only in 0..count {
        let machine = Machine::new(machine.now_on(), 5);
        (0..count)
            .filter(|d| *d != only)
            .for_each(|d| machine.set_mood(d, GONE));
        let (group, _) = mount(&machine, true).unwrap();
        assert_eq!(read(&group, &machine), seen, "on disk {only} alone");
    }
    seen
}

#[test]
fn a_repair_that_a_disk_refuses_at_opening_is_recorded() {
    for redundancy in [Redundancy::Normal, Redundancy::High] {
        for refuses in [REFUSES_WRITES, REFUSES_FLUSHES] {
            let all = 0..redundancy.copies() as u16;
            let seen: Vec<u8> = all.map(|ahead| never_back(redundancy, ahead, refuses)).collect();
            assert!(
                seen.contains(&2),
                "the newer version was never the one that was settled on"
            );
        }
    }
}

#[test]
fn a_check_does_not_say_repaired_of_what_a_disk_refused() {
    for redundancy in [Redundancy::Normal, Redundancy::High] {
        for refuses in [REFUSES_WRITES, REFUSES_FLUSHES] {
            let (machine, group) = made(redundancy);
            let mut port = port(&group, &machine);
            write(&mut port, 1).unwrap();
            one(&mut port, Op::Flush).unwrap();
            let physical = port.extents(FileId(0)).unwrap()[0].physical;
            drop(port);
            group.close().unwrap();
            let (group, _) = mount(&machine, false).unwrap();
            // Not the first copy: that one is believed where no page can be judged.
            let (first, count) = ((physical >> 48) as u16, redundancy.copies() as u16);
            let other = (0..count).find(|d| *d != first).unwrap();
            let all = machine.now_on();
            let page = (0..60 * AU / 4096).map(|n| n * 4096).rev().find(|at| {
                let mut bytes = [0; 16];
                all.read(FileId(other), *at, &mut bytes);
                bytes == [1; 16]
            });
            machine.damage(other, page.unwrap(), &[7; 512]);
            machine.set_mood(other, refuses);
            let report = group.check(true).unwrap();
            let lies = report
                .findings
                .iter()
                .filter(|f| f.what.kind == FindingKind::CopiesDiffer && f.repaired);
            assert_eq!(lies.count(), 0, "{report:?}");
            assert!(
                report
                    .findings
                    .iter()
                    .any(|f| f.what.kind == FindingKind::RepairsRefused && !f.repaired),
                "{report:?}"
            );
            machine.set_mood(other, SOUND);
            assert!(
                group.disks().iter().any(|d| d.stale_bytes > 0),
                "nothing is recorded as stale"
            );
            heal(&group, &machine);
            assert!(group.check(false).unwrap().is_clean());
            assert_eq!(read(&group, &machine), 1);
        }
    }
}

#[test]
fn a_flush_that_failed_stays_failed_where_there_is_no_other_copy() {
    let (machine, group) = made(Redundancy::External);
    let mut port = port(&group, &machine);
    write(&mut port, 1).unwrap();
    one(&mut port, Op::Flush).unwrap();
    write(&mut port, 2).unwrap();
    machine.set_mood(0, REFUSES_FLUSHES);
    assert!(one(&mut port, Op::Flush).is_err());
    machine.set_mood(0, SOUND);
    assert!(
        one(&mut port, Op::Flush).is_err(),
        "a later flush says nothing about what the first one lost"
    );
    drop(port);
    let closed = group.close().map(drop);
    assert!(matches!(closed, Err(GroupError::NotDurable { .. })), "{closed:?}");
}

#[test]
fn a_flush_that_failed_on_one_mirror_is_made_good_by_the_others_and_recorded() {
    for redundancy in [Redundancy::Normal, Redundancy::High] {
        for lost in 0..redundancy.copies() as u16 {
            let (machine, group) = made(redundancy);
            let mut port = port(&group, &machine);
            write(&mut port, 1).unwrap();
            machine.set_mood(lost, REFUSES_FLUSHES);
            one(&mut port, Op::Flush).unwrap();
            machine.set_mood(lost, SOUND);
            assert!(group.disks()[usize::from(lost)].stale_bytes > 0);
            one(&mut port, Op::Flush).unwrap();
            // The power fails: what the disk had not made durable is gone.
            for seed in 0..8 {
                let machine = Machine::new(machine.cut(seed), seed);
                let (group, _) = mount(&machine, false).unwrap();
                assert_eq!(read(&group, &machine), 1);
                heal(&group, &machine);
                assert!(group.check(false).unwrap().is_clean());
                assert_eq!(read(&group, &machine), 1);
            }
        }
    }
}

#[test]
fn a_close_whose_metadata_are_durable_nowhere_is_an_error_and_the_journal_has_them() {
    let (machine, group) = made(Redundancy::External);
    machine.set_mood(0, REFUSES_FLUSHES);
    assert!(group.close().is_err());
    for seed in 0..8 {
        let machine = Machine::new(machine.cut(seed), seed);
        let (group, _) = mount(&machine, false).unwrap();
        assert_eq!(group.files()[0].size, 2 * AU);
        assert!(group.check(false).unwrap().is_clean());
    }
}

#[test]
fn a_file_that_nobody_finished_is_gone_with_the_next_mount() {
    let (machine, group) = made(Redundancy::Normal);
    let spec = |name: &str| FileSpec {
        name: name.into(),
        size: 4097,
        redundancy: None,
        stripe: Stripe::Coarse,
    };
    group.begin_file(&spec("half")).unwrap();
    group.begin_file(&spec("whole")).unwrap();
    let mut half = group.open(machine.window(64 << 10, 4), &["half"]).unwrap();
    write(&mut half, 7).unwrap();
    assert_eq!(half.size(FileId(0)).unwrap(), 4097);
    drop(half);
    assert!(group.files().iter().all(|f| f.name == "users"), "a draft is not listed");
    group.finish_file("whole").unwrap();
    group.close().unwrap();
    let (group, mounted) = mount(&machine, false).unwrap();
    assert_eq!(mounted.files_removed, ["half"]);
    let files: Vec<(String, u64)> = group.files().into_iter().map(|f| (f.name, f.size)).collect();
    assert_eq!(files, [("users".to_string(), 2 * AU), ("whole".to_string(), 4097)]);
    assert!(group.check(false).unwrap().is_clean());
}
