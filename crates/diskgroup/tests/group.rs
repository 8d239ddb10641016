//! What a group promises, one promise a test: placement, rebalance, power, preferred read, refusals, real files under
//! threads.

use crate::machine::{Machine, Mood, Window};
use diskgroup::{
    DiskSpec, FileSpec, Geometry, Group, GroupError, GroupPort, GroupSpec, Inspected, MountOptions, Redundancy, Step,
    Stripe, Upkeep, inspect,
};
use std::collections::BTreeMap;
use targets::{Access, Disks, FileId, Op, OpenSpec, Port, PsyncPort, Request};

const AU: u64 = 16 << 10;

fn spec(redundancy: Redundancy) -> GroupSpec {
    GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [20_000, 40_000],
        },
        journal_blocks: 64,
        small_units: true,
        ..GroupSpec::new("data", redundancy)
    }
}

fn disk(nth: u16) -> DiskSpec {
    DiskSpec::new(FileId(nth), &format!("d{nth}"))
}

fn file(name: &str, units: u64) -> FileSpec {
    FileSpec {
        name: name.into(),
        size: units * AU,
        redundancy: None,
        stripe: Stripe::Coarse,
    }
}

fn machine(units: &[u64]) -> Machine {
    let sizes: Vec<u64> = units.iter().map(|u| u * AU + 4096).collect();
    Machine::new(Disks::new(&sizes), 1)
}

fn group(machine: &Machine, redundancy: Redundancy, members: u16) -> Group<Window> {
    let disks: Vec<DiskSpec> = (0..members).map(disk).collect();
    Group::create(machine.window(192 << 10, 16), &spec(redundancy), &disks, 5).unwrap()
}

fn options(files: usize) -> MountOptions {
    MountOptions {
        names: (0..files).map(|n| format!("/dev/d{n}")).collect(),
        ..MountOptions::default()
    }
}

fn on(group: &Group<Window>, name: &str) -> BTreeMap<String, u64> {
    let files = group.files();
    let found = files.iter().find(|f| f.name == name).unwrap();
    found.bytes_on.iter().map(|(d, b)| (d.clone(), b / AU)).collect()
}

fn transfer<P: Port>(port: &mut P, op: Op, offset: u64, bytes: &mut [u8]) -> Result<(), targets::IoFault> {
    if op == Op::Write {
        port.bytes_mut(0, bytes.len()).copy_from_slice(bytes);
    }
    port.submit(Request {
        op,
        file: FileId(0),
        offset,
        at: 0,
        len: bytes.len() as u32,
        token: 77,
    })
    .unwrap();
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done).unwrap();
    }
    assert_eq!(done[0].token, 77);
    done[0].result?;
    if op == Op::Read {
        bytes.copy_from_slice(port.bytes(0, bytes.len()));
    }
    Ok(())
}

fn settle(upkeep: &mut Upkeep<Window>) -> Step {
    upkeep.run().unwrap()
}

#[test]
fn extents_lie_evenly_by_size() {
    let machine = machine(&[200, 200, 400, 200, 200]);
    let group = group(&machine, Redundancy::External, 5);
    group.create_file(&file("even", 360)).unwrap();
    let on = on(&group, "even");
    let sizes = group.disks();
    let all: u64 = sizes.iter().map(|d| d.total_bytes).sum();
    for disk in sizes {
        let share = 360.0 * disk.total_bytes as f64 / all as f64;
        let have = on[&disk.name] as f64;
        assert!((have - share).abs() <= 2.0, "{}: {have} of {share:.1}", disk.name);
    }
}

fn moved_by_adding(redundancy: Redundancy, files: &[u64]) -> (f64, f64) {
    let machine = machine(&[900; 6]);
    let group = group(&machine, redundancy, 5);
    for (nth, units) in files.iter().enumerate() {
        group.create_file(&file(&format!("f{nth}"), *units)).unwrap();
    }
    group.add_disks(&[disk(5)], 9).unwrap();
    let mut upkeep = group.upkeep(machine.window(256 << 10, 16));
    upkeep.set_power(16);
    assert_eq!(settle(&mut upkeep), Step::Idle);
    let all: u64 = files.iter().sum::<u64>() * redundancy.copies() as u64;
    let new = &group.disks()[5];
    assert!(new.total_bytes - new.free_bytes > 0);
    (upkeep.progress().moved_bytes as f64 / AU as f64, all as f64 / 6.0)
}

#[test]
fn a_disk_more_moves_within_five_percent_of_the_ideal() {
    for (redundancy, files) in [
        (Redundancy::External, vec![3000]),
        (Redundancy::Normal, vec![1500]),
        (Redundancy::External, vec![2000, 500, 400]),
        (Redundancy::External, vec![3; 250]),
        (Redundancy::High, vec![900]),
    ] {
        let (moved, ideal) = moved_by_adding(redundancy, &files);
        let share = moved / ideal;
        assert!(
            (0.95..=1.05).contains(&share),
            "{redundancy:?} {} files: {moved} moved, {ideal:.0} ideal",
            files.len()
        );
    }
}

#[test]
fn dropping_a_disk_moves_what_is_on_it_and_nothing_else() {
    let machine = machine(&[600; 6]);
    let group = group(&machine, Redundancy::Normal, 6);
    group.create_file(&file("f", 900)).unwrap();
    let there = on(&group, "f")["d2"];
    group.drop_disk("d2").unwrap();
    let mut upkeep = group.upkeep(machine.window(256 << 10, 16));
    upkeep.set_power(8);
    assert_eq!(settle(&mut upkeep), Step::Idle);
    let moved = upkeep.progress().moved_bytes / AU;
    assert!(
        moved >= there && moved as f64 <= there as f64 * 1.05,
        "{moved} moved, {there} were there"
    );
    assert!(group.disks().iter().all(|d| d.name != "d2"));
    drop(upkeep);
    assert!(group.check(false).unwrap().is_clean());
    let found = inspect(machine.window(192 << 10, 4), 6).unwrap();
    assert!(
        matches!(&found[2], Inspected::Disk { member: false, .. }),
        "{:?}",
        found[2]
    );
    // It may be given to a group again without a word.
    group.add_disks(&[disk(2)], 3).unwrap();
}

#[test]
fn what_an_upkeep_leaves_behind_becomes_free_with_the_next() {
    let machine = machine(&[600; 3]);
    let group = group(&machine, Redundancy::External, 3);
    group.create_file(&file("f", 30)).unwrap();
    let mut port = group.open(machine.window(64 << 10, 8), &["f"]).unwrap();
    group.drop_disk("d2").unwrap();
    let mut upkeep = group.upkeep(machine.window(256 << 10, 16));
    upkeep.set_power(16);
    assert_eq!(upkeep.step(false).unwrap(), Step::Working);
    // A read by the maps before the new places, which nobody has waited for when the upkeep goes.
    let read = Request {
        op: Op::Read,
        file: FileId(0),
        offset: 0,
        at: 0,
        len: 4096,
        token: 1,
    };
    port.submit(read).unwrap();
    while upkeep.progress().moved_bytes == 0 {
        assert_eq!(upkeep.step(true).unwrap(), Step::Working);
    }
    drop(upkeep);
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done).unwrap();
    }
    drop(port);
    let mut next = group.upkeep(machine.window(256 << 10, 16));
    assert_eq!(settle(&mut next), Step::Idle);
    assert!(group.disks().iter().all(|disk| disk.name != "d2"));
}

#[test]
fn a_group_in_balance_is_left_alone() {
    let machine = machine(&[300; 4]);
    let group = group(&machine, Redundancy::Normal, 4);
    for n in 0..5 {
        group.create_file(&file(&format!("f{n}"), 20 + n)).unwrap();
    }
    group.rebalance().unwrap();
    let mut upkeep = group.upkeep(machine.window(256 << 10, 16));
    assert_eq!(settle(&mut upkeep), Step::Idle);
    assert_eq!(upkeep.progress().moved_bytes, 0);
    assert!(!group.info().rebalance);
}

#[test]
fn power_bounds_what_is_in_flight_and_zero_stands_still() {
    let machine = machine(&[300; 4]);
    let group = group(&machine, Redundancy::External, 3);
    group.create_file(&file("f", 300)).unwrap();
    group.add_disks(&[disk(3)], 9).unwrap();
    let mut upkeep = group.upkeep(machine.window(512 << 10, 64));
    upkeep.set_power(0);
    assert_eq!(upkeep.step(true).unwrap(), Step::Paused);
    for power in [1, 4, 16] {
        upkeep.set_power(power);
        let mut most = 0;
        for _ in 0..60 {
            upkeep.step(false).unwrap();
            most = most.max(upkeep.port_mut().in_flight());
            upkeep.step(true).unwrap();
        }
        assert!(most <= power as usize, "{most} in flight at power {power}");
        assert!(power == 1 || most > 1, "power {power} was not used: {most}");
    }
    let progress = upkeep.progress();
    assert!(
        progress.moved_bytes > 0 && progress.time_left_ns.is_some(),
        "{progress:?}"
    );
}

#[test]
fn reads_go_to_the_preferred_failure_group_and_to_the_other_when_it_is_gone() {
    let machine = machine(&[100, 100]);
    let group = group(&machine, Redundancy::Normal, 2);
    group.create_file(&file("f", 20)).unwrap();
    let mut port = group.open(machine.window(64 << 10, 8), &["f"]).unwrap();
    let mut bytes = vec![7; 4096];
    transfer(&mut port, Op::Write, 5 * AU, &mut bytes).unwrap();
    for (preferred, broken) in [("d1", 0), ("d0", 1)] {
        group.set_preferred(Some(preferred));
        machine.set_mood(
            broken,
            Mood {
                bad_reads: 1.0,
                ..Mood::default()
            },
        );
        for unit in 0..20 {
            transfer(&mut port, Op::Read, unit * AU, &mut bytes).unwrap();
        }
        machine.set_mood(broken, Mood::default());
    }
    assert_eq!(group.info().rescued_reads, 0, "no read went to the broken disk");
    machine.set_mood(
        0,
        Mood {
            bad_reads: 1.0,
            ..Mood::default()
        },
    );
    transfer(&mut port, Op::Read, 5 * AU, &mut bytes).unwrap();
    assert_eq!((group.info().rescued_reads, bytes[0]), (1, 7));
}

#[test]
fn a_resync_copies_only_what_was_written_meanwhile() {
    let machine = machine(&[400; 3]);
    let group = group(&machine, Redundancy::Normal, 3);
    group.create_file(&file("f", 300)).unwrap();
    let mut port = group.open(machine.window(64 << 10, 8), &["f"]).unwrap();
    let mut bytes = vec![3; 4096];
    for unit in 0..300 {
        transfer(&mut port, Op::Write, unit * AU, &mut bytes).unwrap();
    }
    transfer(&mut port, Op::Flush, 0, &mut []).unwrap();
    group.offline_disk("d1").unwrap();
    for unit in [3, 50, 51, 200, 299] {
        transfer(&mut port, Op::Write, unit * AU + 8192, &mut bytes).unwrap();
    }
    drop(port);
    let stale = group.disks()[1].stale_bytes / AU;
    assert!((1..=5).contains(&stale), "{stale} stale extents");
    group.online_disk("d1").unwrap();
    let mut upkeep = group.upkeep(machine.window(256 << 10, 16));
    assert_eq!(settle(&mut upkeep), Step::Idle);
    assert_eq!(upkeep.progress().resynced_bytes, stale * AU);
    drop(upkeep);
    assert!(group.check(false).unwrap().is_clean());
}

#[test]
fn a_write_in_flight_outlives_that_one_of_its_disks_comes_back_and_the_other_goes() {
    let machine = machine(&[100; 3]);
    let group = group(&machine, Redundancy::Normal, 3);
    group.create_file(&file("f", 1)).unwrap();
    let mut port = port(&group, &machine, "f");
    let mut bytes = vec![3; 4096];
    transfer(&mut port, Op::Write, 0, &mut bytes).unwrap();
    transfer(&mut port, Op::Flush, 0, &mut []).unwrap();
    let holders: Vec<String> = on(&group, "f")
        .into_iter()
        .filter(|(_, units)| *units > 0)
        .map(|(name, _)| name)
        .collect();
    port.bytes_mut(0, 4096).fill(4);
    let write = Request {
        op: Op::Write,
        file: FileId(0),
        offset: 0,
        at: 0,
        len: 4096,
        token: 9,
    };
    port.submit(write).unwrap();
    group.offline_disk(&holders[0]).unwrap();
    group.online_disk(&holders[0]).unwrap();
    group.offline_disk(&holders[1]).unwrap();
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done).unwrap();
    }
    assert_eq!((done[0].token, done[0].result), (9, Ok(())));
    transfer(&mut port, Op::Read, 0, &mut bytes).unwrap();
    assert_eq!(bytes[0], 4);
    drop(port);
    group.online_disk(&holders[1]).unwrap();
    let mut upkeep = group.upkeep(machine.window(256 << 10, 16));
    assert_eq!(settle(&mut upkeep), Step::Idle);
    drop(upkeep);
    assert!(group.check(false).unwrap().is_clean());
}

#[test]
fn losing_more_than_the_redundancy_names_disks_and_files() {
    let machine = machine(&[100; 3]);
    let group = group(&machine, Redundancy::Normal, 3);
    group.create_file(&file("ledger", 30)).unwrap();
    assert!(matches!(group.close(), Ok(Some(_))));
    machine.set_mood(
        0,
        Mood {
            gone: true,
            ..Mood::default()
        },
    );
    let missing = Group::mount(machine.window(192 << 10, 16), &options(3)).err().unwrap();
    assert!(
        matches!(&missing, GroupError::Missing { disks } if disks == &["d0"]),
        "{missing}"
    );
    machine.set_mood(
        1,
        Mood {
            gone: true,
            ..Mood::default()
        },
    );
    let forced = MountOptions {
        force: true,
        ..options(3)
    };
    let lost = Group::mount(machine.window(192 << 10, 16), &forced).err().unwrap();
    assert!(
        matches!(&lost, GroupError::Lost { disks, files } if disks == &["d0", "d1"] && files == &["ledger"]),
        "{lost}"
    );
    let text = lost.to_string();
    assert!(
        text.contains("d0, d1") && text.contains("ledger") && text.lines().last().unwrap().contains("attach"),
        "{text}"
    );
    machine.set_mood(1, Mood::default());
    let (group, mounted) = Group::mount(machine.window(192 << 10, 16), &forced).unwrap();
    assert_eq!(mounted.missing, ["d0"]);
    let offline = group.offline_disk("d1").unwrap_err();
    assert!(
        matches!(&offline, GroupError::Lost { files, .. } if files.contains(&"ledger".to_string())),
        "{offline}"
    );
}

fn port(group: &Group<Window>, machine: &Machine, name: &str) -> GroupPort<Window> {
    group.open(machine.window(64 << 10, 8), &[name]).unwrap()
}

#[test]
fn what_lies_beyond_the_end_is_short_and_growth_is_seen_by_other_ports() {
    let machine = machine(&[200; 2]);
    let group = group(&machine, Redundancy::Normal, 2);
    group
        .create_file(&FileSpec {
            size: 3 * 4096,
            ..file("f", 0)
        })
        .unwrap();
    let (mut one, mut other) = (port(&group, &machine, "f"), port(&group, &machine, "f"));
    let mut bytes = vec![1; 4096];
    assert!(transfer(&mut one, Op::Read, 3 * 4096, &mut bytes).is_err());
    assert!(transfer(&mut one, Op::Write, 3 * 4096, &mut bytes).is_err());
    one.grow(FileId(0), 60 * AU).unwrap();
    bytes.fill(9);
    transfer(&mut one, Op::Write, 59 * AU, &mut bytes).unwrap();
    bytes.fill(0);
    transfer(&mut other, Op::Read, 59 * AU, &mut bytes).unwrap();
    assert_eq!((bytes[0], other.size(FileId(0)).unwrap()), (9, 60 * AU));
    let lies = other.extents(FileId(0)).unwrap();
    assert_eq!(lies.iter().map(|e| e.length).sum::<u64>(), 60 * AU);
    assert!(matches!(group.delete_file("f"), Err(GroupError::Busy { .. })));
}

#[test]
fn many_disks_have_at_most_eight_partners_each() {
    let machine = machine(&[60; 14]);
    let group = group(&machine, Redundancy::Normal, 12);
    group.create_file(&file("f", 100)).unwrap();
    group.add_disks(&[disk(12), disk(13)], 4).unwrap();
    let disks = group.disks();
    assert!(disks.iter().all(|d| (1..=8).contains(&d.partners.len())), "{disks:?}");
    assert!(disks[13].partners.len() >= 7);
    let mut upkeep = group.upkeep(machine.window(256 << 10, 16));
    upkeep.set_power(8);
    assert_eq!(settle(&mut upkeep), Step::Idle);
    drop(upkeep);
    let report = group.check(false).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[test]
fn threads_work_on_real_files_while_a_disk_is_added() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = |n: usize| dir.path().join(format!("disk{n}"));
    let specs: Vec<OpenSpec> = (0..4)
        .map(|n| OpenSpec::creating(path(n), Access::Buffered, 24 << 20))
        .collect();
    let open = |memory: u64| PsyncPort::open(&specs, memory, 16).unwrap();
    let disks: Vec<DiskSpec> = (0..3).map(disk).collect();
    let spec = GroupSpec {
        journal_blocks: 64,
        ..GroupSpec::new("real", Redundancy::Normal)
    };
    let group = Group::create(open(1 << 20), &spec, &disks, 3).unwrap();
    group
        .create_file(&FileSpec {
            size: 16 << 20,
            ..file("f", 0)
        })
        .unwrap();
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for worker in 0..2u64 {
            let mut port = group.open(open(64 << 10), &["f"]).unwrap();
            workers.push(scope.spawn(move || {
                for turn in 0..400u64 {
                    let page = (turn * 7 + 1) % 1024 * 2 + worker;
                    let mut bytes = vec![(turn % 251) as u8; 8192];
                    transfer(&mut port, Op::Write, page * 8192, &mut bytes).unwrap();
                    let mut found = vec![0; 8192];
                    transfer(&mut port, Op::Read, page * 8192, &mut found).unwrap();
                    assert!(found == bytes, "page {page} of worker {worker}");
                }
            }));
        }
        group.add_disks(&[disk(3)], 8).unwrap();
        let mut upkeep = group.upkeep(open(2 << 20));
        upkeep.set_power(4);
        assert_eq!(upkeep.run().unwrap(), Step::Idle);
        assert!(upkeep.progress().moved_bytes > 4 << 20, "{:?}", upkeep.progress());
        workers.into_iter().for_each(|w| w.join().unwrap());
    });
    let report = group.check(false).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

mod plain {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn bytes_are_those_of_a_plain_file(
            redundancy in 0usize..3,
            fine: bool,
            growth: bool,
            does in proptest::collection::vec((0u8..4, 0u64..900, 1u64..100, any::<u8>()), 1..60),
        ) {
            let redundancy = [Redundancy::External, Redundancy::Normal, Redundancy::High][redundancy];
            let machine = machine(&[220; 4]);
            let disks: Vec<DiskSpec> = (0..4).map(disk).collect();
            let geometry = Geometry { au_bytes: AU as u32, growth_at: if growth { [8, 16] } else { [20_000, 40_000] } };
            let spec = GroupSpec { geometry, ..spec(redundancy) };
            let group = Group::create(machine.window(192 << 10, 16), &spec, &disks, 5).unwrap();
            let stripe = if fine { Stripe::Fine } else { Stripe::Coarse };
            group.create_file(&FileSpec { stripe, size: 100 * 512, ..file("f", 0) }).unwrap();
            let mut port = group.open(machine.window(64 << 10, 8), &["f"]).unwrap();
            // The last block of 4 KiB is there in full.
            let mut plain = vec![0u8; (100usize * 512).next_multiple_of(4096)];
            for (what, at, len, fill) in does {
                let (at, len) = ((at * 512) as usize, (len * 512) as usize);
                let inside = at + len <= plain.len();
                let mut bytes: Vec<u8> = (0..len).map(|n| (n / 512) as u8 ^ fill).collect();
                match what {
                    0 if plain.len() < at + len => {
                        port.grow(FileId(0), (at + len) as u64).unwrap();
                        plain.resize((at + len).next_multiple_of(4096), 0);
                    }
                    0 | 1 => {
                        let written = transfer(&mut port, Op::Write, at as u64, &mut bytes);
                        prop_assert_eq!(written.is_ok(), inside);
                        if inside {
                            plain[at..at + len].copy_from_slice(&bytes);
                        }
                    }
                    _ => {
                        let read = transfer(&mut port, Op::Read, at as u64, &mut bytes);
                        prop_assert_eq!(read.is_ok(), inside);
                        prop_assert!(!inside || bytes == plain[at..at + len]);
                    }
                }
            }
            drop(port);
            prop_assert!(group.check(false).unwrap().is_clean());
        }
    }
}
