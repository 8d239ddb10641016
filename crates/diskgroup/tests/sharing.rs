//! Two instances on one group: crashes of either or both by the thousand, and a rebalance under both that is cut at
//! every step of it.
//!
//! `ASSAY_SHARING_SEEDS` sets the number of seeds (`ASSAY_TEST_SIZE=full`: 10,000); a failing seed is printed with the
//! command that replays it. Prevents: an extent that is given away while another instance uses it, and a process that
//! takes what it can read for what is durable.

use crate::machine::scenario::AU;
use crate::machine::{Machine, Window};
use crate::seeds::meddled::meddled_seed;
use crate::seeds::sharing::{At, COUNTED, crashes, rebalance_cut, sharing_seed};
use crate::seeds::{number, run_all, sized};
use diskgroup::{
    DiskSpec, FileSpec, Follower, Geometry, Group, GroupError, GroupSpec, MountOptions, Redundancy, Stripe,
};
use targets::{Disks, FileId, Op, Port, PowerFails, Request};

#[test]
fn after_a_crash_of_either_or_both_everything_is_there() {
    let count = number("ASSAY_SHARING_SEEDS", sized(300, 10_000));
    run_all("sharing", "ASSAY_SHARING_SEED", count, sharing_seed);
    let crashes = crashes();
    eprintln!("{count} seeds: {COUNTED:?} {crashes:?}");
    let few = crashes.iter().any(|made| *made < count / 4);
    assert!(!few, "{COUNTED:?} {crashes:?}: too few to be a test");
}

#[test]
fn replay() {
    let Ok(seed) = std::env::var("ASSAY_SHARING_SEED").unwrap_or_default().parse() else {
        return;
    };
    sharing_seed(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}

/// Power at each write and flush of it, and a kill of the owner, of the other or of both at each step. In everyday size
/// one of 23.
#[test]
fn a_rebalance_under_both_is_cut_at_every_step() {
    let stride = sized(23, 1) as usize;
    let mut cuts = 0;
    for seed in 0..sized(2, 4) {
        let course = rebalance_cut(seed, None).unwrap_or_else(|what| panic!("seed {seed}, uncut: {what}"));
        assert!(course.steps > 50, "{course:?}: too short to be cut");
        let (writes, flushes) = (course.writes, course.flushes);
        let power = (writes.0 + 1..=writes.1).map(PowerFails::AtWrite);
        let power = power.chain((flushes.0 + 1..=flushes.1).map(PowerFails::AtFlush));
        let power = power
            .chain((flushes.0 + 1..flushes.1).map(PowerFails::AfterFlush))
            .map(At::Power);
        let kills = (0..course.steps).flat_map(|step| [At::Killed(0, step), At::Killed(1, step), At::BothKilled(step)]);
        let all: Vec<At> = power.chain(kills).collect();
        for at in all.iter().skip(seed as usize).step_by(stride) {
            rebalance_cut(seed, Some(*at)).unwrap_or_else(|what| panic!("seed {seed}, {at:?}: {what}"));
            cuts += 1;
        }
    }
    eprintln!("{cuts} cuts");
    assert!(cuts > 100, "only {cuts} cuts");
}

/// Without having been admitted it is opened whole, as it was or as it is, or not at all.
#[test]
fn a_group_that_is_changed_while_it_is_opened_frozen_is_not_read_half() {
    for wait in 0..60 {
        meddled_seed(wait).unwrap_or_else(|what| panic!("{what}"));
    }
}

fn disk(nth: u16) -> DiskSpec {
    DiskSpec::new(FileId(nth), &format!("d{nth}"))
}

fn options() -> MountOptions {
    MountOptions {
        names: (0..3).map(|nth| format!("/dev/d{nth}")).collect(),
        ..MountOptions::default()
    }
}

/// A group on two of three disks with one file.
fn owned(redundancy: Redundancy) -> (Machine, Group<Window>) {
    let machine = Machine::new(Disks::new(&[120 * AU + 4096; 3]), 1);
    let spec = GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [8, 16],
        },
        journal_blocks: 64,
        small_units: true,
        ..GroupSpec::new("data", redundancy)
    };
    let group = Group::create(machine.window(192 << 10, 16), &spec, &[disk(0), disk(1)], 5).unwrap();
    let file = FileSpec {
        name: "data".into(),
        size: 20 * AU,
        redundancy: None,
        stripe: Stripe::Coarse,
    };
    group.create_file(&file).unwrap();
    (machine, group)
}

fn shared(machine: &Machine, owner: &Group<Window>) -> (Follower, Group<Window>) {
    let follower = owner.admit().unwrap();
    (
        follower,
        Group::mount_frozen(machine.window(192 << 10, 16), &options()).unwrap(),
    )
}

fn go(port: &mut impl Port, op: Op, offset: u64) {
    port.submit(Request {
        op,
        file: FileId(0),
        offset,
        at: 0,
        len: 4096,
        token: 1,
    })
    .unwrap();
    let mut done = Vec::new();
    port.wait(1, None, &mut done).unwrap();
    done[0].result.unwrap();
}

/// Nothing moves while one who follows is silent; that it goes away without a word does not count as an answer.
#[test]
fn nothing_moves_without_the_answer_of_everybody() {
    let (machine, owner) = owned(Redundancy::External);
    let (follower, other) = shared(&machine, &owner);
    owner.add_disks(&[disk(2)], 9).unwrap();
    let mut upkeep = owner.upkeep(machine.window(256 << 10, 16));
    upkeep.set_power(16);
    let tries = |upkeep: &mut diskgroup::Upkeep<Window>| {
        for _ in 0..2_000 {
            upkeep.step(true).unwrap();
        }
        upkeep.progress().moved_bytes
    };
    assert_eq!(tries(&mut upkeep), 0);
    other.hear(&follower.notices().unwrap()).unwrap();
    assert_eq!(tries(&mut upkeep), 0, "heard, and not answered");
    follower.answered(other.answer().unwrap()).unwrap();
    let moved = tries(&mut upkeep);
    assert!(moved > 0);
    // The new place is told, and the next batch waits for the answer to it.
    assert!(follower.answered(u64::MAX).is_err(), "an answer to what nobody told");
    drop(follower);
    assert_eq!(tries(&mut upkeep), moved);
    assert!(matches!(owner.check(false), Err(GroupError::Busy { .. })));
}

/// Who has ended is not waited for; and a disk that joins is known to who follows by its own header.
#[test]
fn a_rebalance_ends_with_the_answers_or_when_the_other_has_ended() {
    for ends in [false, true] {
        let (machine, owner) = owned(Redundancy::External);
        let (follower, other) = shared(&machine, &owner);
        let mut port = other.open(machine.window(64 << 10, 4), &["data"]).unwrap();
        owner.add_disks(&[disk(2)], 9).unwrap();
        let mut upkeep = owner.upkeep(machine.window(256 << 10, 16));
        upkeep.set_power(16);
        let mut follower = Some(follower);
        for turn in 0..20_000 {
            upkeep.step(true).unwrap();
            if let Some(told) = &follower {
                other.hear(&told.notices().unwrap()).unwrap();
                if let Some(number) = other.answer() {
                    told.answered(number).unwrap();
                }
            }
            if ends && turn == 40 {
                follower.take().unwrap().ended();
            }
        }
        assert!(!owner.info().rebalance);
        if !ends {
            assert!(
                other.files()[0]
                    .bytes_on
                    .iter()
                    .any(|(disk, bytes)| disk == "d2" && *bytes > 0)
            );
            (0..20).for_each(|unit| go(&mut port, Op::Write, unit * AU));
            go(&mut port, Op::Flush, 0);
            drop(port);
            follower.take().unwrap().ended();
        }
        assert!(owner.check(false).unwrap().is_clean());
    }
}

#[test]
fn what_cannot_be_shared_is_refused_with_a_cure() {
    let (_machine, mirrored) = owned(Redundancy::Normal);
    let said = mirrored.admit().err().expect("mirrored").to_string();
    assert!(said.contains("mirrored") && said.contains("external"), "{said}");
    let (machine, owner) = owned(Redundancy::External);
    let (follower, other) = shared(&machine, &owner);
    assert!(matches!(other.admit(), Err(GroupError::Frozen { .. })));
    assert!(owner.hear(&[]).is_err());
    // Another instance may have it open, and nothing tells.
    assert!(matches!(owner.delete_file("data"), Err(GroupError::Busy { .. })));
    assert!(matches!(owner.check(false), Err(GroupError::Busy { .. })));
    // What nobody of this group has told ends the following.
    assert!(other.hear(&[0x41; 64]).is_err());
    assert!(other.answer().is_none() && other.hear(&[]).is_err());
    follower.ended();
    owner.rebalance().unwrap();
    assert!(matches!(owner.admit(), Err(GroupError::Busy { .. })));
}

/// What was heard without an answer is kept up to a bound; the newest answer stands for all before it.
#[test]
fn an_instance_that_answers_late_answers_for_all() {
    let (machine, owner) = owned(Redundancy::External);
    let (follower, other) = shared(&machine, &owner);
    assert!(follower.knows_all() && !other.owes_answer());
    for nth in 0..70 {
        let file = FileSpec {
            name: format!("more{nth}"),
            size: AU,
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        owner.create_file(&file).unwrap();
    }
    other.hear(&follower.notices().unwrap()).unwrap();
    assert!(other.owes_answer() && !follower.knows_all());
    follower.answered(other.answer().unwrap()).unwrap();
    assert!(!other.owes_answer() && follower.knows_all());
}

/// Whoever tells it: each byte changed, the checksum made right. What is no place of a disk is never read.
#[test]
fn a_notice_that_lies_is_refused_or_names_a_place_on_a_disk() {
    let (machine, owner) = owned(Redundancy::External);
    let follower = owner.admit().unwrap();
    let others: Vec<Group<Window>> = (0..160)
        .map(|_| Group::mount_frozen(machine.window(192 << 10, 16), &options()).unwrap())
        .collect();
    owner.add_disks(&[disk(2)], 9).unwrap();
    let mut upkeep = owner.upkeep(machine.window(256 << 10, 16));
    let mut good = Vec::new();
    while good.len() <= 20 {
        upkeep.step(true).unwrap();
        good = follower.notices().unwrap();
    }
    let (mut refused, mut taken) = (0, 0);
    for (nth, other) in others.iter().enumerate() {
        let mut bytes = good.clone();
        let at = 8 + nth / 4 % (good.len() - 8);
        bytes[at] ^= [0xff, 0x01, 0x80, 0x10][nth % 4];
        let crc = targets::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        let mut port = other.open(machine.window(64 << 10, 4), &["data"]).unwrap();
        match other.hear(&bytes) {
            Err(_) => refused += 1,
            Ok(()) => taken += 1,
        }
        for unit in 0..20 {
            let read = Request {
                op: Op::Read,
                file: FileId(0),
                offset: unit * AU,
                at: 0,
                len: 4096,
                token: 1,
            };
            port.submit(read).unwrap();
            let mut done = Vec::new();
            port.wait(1, None, &mut done).unwrap();
            assert!(done[0].result.is_ok(), "byte {at}, unit {unit}: {:?}", done[0].result);
        }
    }
    assert!(refused > 20 && taken > 20, "{refused} refused, {taken} taken");
}

/// A process that was killed leaves writes in the caches of disks. Who comes after it reads them, flushes, and may say
/// that they are there.
#[test]
fn the_first_flush_of_a_process_covers_what_an_earlier_one_wrote() {
    for frozen in [false, true] {
        let (machine, owner) = owned(Redundancy::External);
        let mut port = owner.open(machine.window(64 << 10, 4), &["data"]).unwrap();
        for unit in 0..20 {
            port.bytes_mut(0, 4096).fill(7);
            go(&mut port, Op::Write, unit * AU);
        }
        drop((port, owner));
        machine.quiet();
        let window = machine.window(192 << 10, 16);
        let next = match frozen {
            true => Group::mount_frozen(window, &options()).unwrap(),
            false => Group::mount(window, &options()).unwrap().0,
        };
        let mut port = next.open(machine.window(64 << 10, 4), &["data"]).unwrap();
        go(&mut port, Op::Flush, 0);
        drop((port, next));
        for seed in 0..20 {
            let after = Machine::new(machine.cut(seed), seed);
            let (group, _) = Group::mount(after.window(192 << 10, 16), &options()).unwrap();
            let mut port = group.open(after.window(64 << 10, 4), &["data"]).unwrap();
            for unit in 0..20 {
                go(&mut port, Op::Read, unit * AU);
                assert!(
                    port.bytes(0, 4096).iter().all(|byte| *byte == 7),
                    "frozen {frozen}, unit {unit}"
                );
            }
        }
    }
}
