//! Groups that somebody has crafted: any field of any structure is anything, and all checksums are right.
//!
//! `ASSAY_CRAFTED` sets the number of groups. None may panic, loop or take memory; what opens can be worked with.
//! Prevents: a disk from a stranger that stops the program of whoever looks at it.

use crate::machine::scenario::{AU, below, scenario};
use crate::machine::{Machine, Window};
use crate::seeds::{number, run_all, sized};
use diskgroup::{FileSpec, Group, GroupSpec, MountOptions, Redundancy, Step, inspect, readers};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::{AtomicU64, Ordering};
use targets::{Disks, FileId};

const BLOCK: u64 = 4096;
static OPENED: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// A group with some files, closed or not; gives its disks.
fn group(seed: u64) -> (Disks, Vec<String>, GroupSpec) {
    let scenario = scenario(
        seed,
        Some([Redundancy::External, Redundancy::Normal, Redundancy::High][seed as usize % 3]),
    );
    let machine = Machine::new(Disks::new(&scenario.sizes), seed);
    let disks: Vec<_> = (0..scenario.members).map(|n| scenario.disk(n)).collect();
    let group = Group::create(machine.window(192 << 10, 16), &scenario.spec(), &disks, seed).unwrap();
    for nth in 0..4 {
        let spec = FileSpec {
            name: format!("f{nth}"),
            size: (nth * 3 + 1) * AU + nth,
            redundancy: None,
            stripe: if nth % 2 == 0 {
                diskgroup::Stripe::Coarse
            } else {
                diskgroup::Stripe::Fine
            },
        };
        let _ = group.create_file(&spec);
    }
    if seed.is_multiple_of(2) {
        group.close().unwrap();
    }
    (machine.now_on(), scenario.names(), scenario.spec())
}

/// Blocks of a disk that are of the group: where, and the code of the place that each says it is.
fn blocks(disks: &Disks, disk: u16) -> Vec<(u64, u64)> {
    let size = disks.size(FileId(disk)).unwrap();
    let mut found = Vec::new();
    for at in (0..size / BLOCK).map(|n| n * BLOCK) {
        let mut head = [0; 32];
        disks.read(FileId(disk), at, &mut head);
        if head[..4] == *b"ADGB" {
            found.push((at, u64::from_le_bytes(head[24..32].try_into().unwrap())));
        }
    }
    found
}

/// Numbers that hurt.
fn odd(rng: &mut Xoshiro256PlusPlus) -> u64 {
    let all = [
        0,
        1,
        7,
        8,
        63,
        64,
        255,
        1 << 16,
        u64::from(u32::MAX),
        u64::MAX,
        u64::MAX - 1,
        1 << 63,
        1 << 31,
    ];
    match below(rng, 3) {
        0 => rng.next_u64(),
        1 => below(rng, 300),
        _ => all[below(rng, all.len() as u64) as usize],
    }
}

/// Changes some fields of some blocks in the same way on all disks that have them, or on one.
fn spoil(disks: &mut Disks, rng: &mut Xoshiro256PlusPlus) {
    for _ in 0..1 + below(rng, 3) {
        let count = disks.sizes().len() as u64;
        let victim = below(rng, count) as u16;
        let all = blocks(disks, victim);
        if all.is_empty() {
            continue;
        }
        // The kind first: otherwise most blocks would be those of the journal.
        let kind = [1, 2, 4, 4, 4, 5, 3][below(rng, 7) as usize];
        let same: Vec<_> = all.iter().filter(|b| b.1 >> 56 == kind).collect();
        let Some((_, code)) = same.get(below(rng, same.len().max(1) as u64) as usize) else {
            continue;
        };
        let changes: Vec<(usize, u64, usize)> = (0..1 + below(rng, 3))
            .map(|_| {
                let end = if below(rng, 2) == 0 { 300 } else { 4088 };
                let step = [1, 2, 4, 8][below(rng, 4) as usize];
                ((48 + below(rng, end - 48)) as usize / step * step, odd(rng), step)
            })
            .collect();
        let sequence = if below(rng, 4) == 0 { Some(odd(rng)) } else { None };
        for disk in 0..count as u16 {
            for (at, _) in blocks(disks, disk).into_iter().filter(|b| b.1 == *code) {
                let mut block = vec![0; 16 * BLOCK as usize];
                let room = (disks.size(FileId(disk)).unwrap() - at).min(block.len() as u64) as usize;
                block.truncate(room);
                disks.read(FileId(disk), at, &mut block);
                for (place, value, bytes) in &changes {
                    block[*place..place + bytes].copy_from_slice(&value.to_le_bytes()[..*bytes]);
                }
                let group: [u8; 16] = block[8..24].try_into().unwrap();
                let was = u64::from_le_bytes(block[32..40].try_into().unwrap());
                if kind == 5 {
                    readers::seal_transaction(&mut block, group, sequence.unwrap_or(was));
                } else {
                    readers::seal(&mut block, group, *code, sequence.unwrap_or(was));
                }
                disks.write(FileId(disk), at, &block[..BLOCK as usize]);
            }
        }
    }
}

/// Opens a crafted group and does with it what can be done.
fn crafted(seed: u64) -> Result<(), String> {
    let (mut disks, names, spec) = group(seed % 24);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xc4af);
    spoil(&mut disks, &mut rng);
    let machine = Machine::new(disks, seed);
    inspect(machine.window(192 << 10, 16), names.len() as u16).map_err(|e| format!("inspect: {e}"))?;
    let options = MountOptions {
        group: None,
        force: below(&mut rng, 2) == 0,
        names,
        ..MountOptions::default()
    };
    let Ok((group, _)) = Group::mount(machine.window(192 << 10, 16), &options) else {
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return Ok(());
    };
    OPENED.fetch_add(1, Ordering::Relaxed);
    work(&group, &machine, &spec, seed);
    let _ = group.close();
    Ok(())
}

fn work(group: &Group<Window>, machine: &Machine, spec: &GroupSpec, seed: u64) {
    let (_, _, _) = (group.info(), group.disks(), group.files());
    let _ = group.check(seed.is_multiple_of(2));
    let _ = group.create_file(&FileSpec {
        name: "new".into(),
        size: 3 * u64::from(spec.geometry.au_bytes),
        redundancy: None,
        stripe: diskgroup::Stripe::Coarse,
    });
    let names: Vec<String> = group.files().into_iter().map(|f| f.name).collect();
    for disk in group.disks() {
        let _ = group.online_disk(&disk.name);
    }
    let _ = group.rebalance();
    let mut upkeep = group.upkeep(machine.window(64 << 10, 8));
    for _ in 0..2_000 {
        match upkeep.step(true) {
            Ok(Step::Working) => {}
            _ => break,
        }
    }
    drop(upkeep);
    for name in names {
        let _ = group.delete_file(&name);
    }
    let _ = group.check(true);
}

#[test]
fn no_crafted_group_panics() {
    let count = number("ASSAY_CRAFTED", sized(600, 20_000));
    run_all("crafted", "ASSAY_CRAFTED_SEED", count, crafted);
    let (opened, refused) = (OPENED.load(Ordering::Relaxed), REFUSED.load(Ordering::Relaxed));
    eprintln!("{count} crafted groups: {opened} opened, {refused} refused");
    assert!(
        opened > count / 8 && refused > count / 8,
        "{opened} opened, {refused} refused"
    );
}

#[test]
fn replay() {
    let Ok(seed) = std::env::var("ASSAY_CRAFTED_SEED").unwrap_or_default().parse() else {
        return;
    };
    crafted(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}

#[test]
fn readers_take_bytes_of_any_length() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    for len in [0, 1, 47, 48, 100, 4095, 4096, 4097, 3 * 4096] {
        for _ in 0..200 {
            let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
            readers::seal(&mut bytes, [1; 16], 2 << 56, 7);
            let _ = (
                readers::header(&bytes, &bytes, 1 << 30),
                readers::root(&bytes),
                readers::file_entry(&bytes),
            );
            let _ = (
                readers::disk_table(2, &bytes, 20),
                readers::leaf(&bytes, &bytes, 9),
                readers::allocation_table(&bytes),
            );
            readers::seal_transaction(&mut bytes, [1; 16], 7);
            let _ = readers::journal(&bytes, [1; 16]);
        }
    }
}
