//! A file of a disk group, and the same disks driven directly: one loop, two ways to say where a block lies.
//!
//! Prevents: a cost of the group that is really the cost of another loop.

use super::bare::{read, until};
use super::{Figures, go};
use crate::flags::Side;
use crate::places::{GROUP, GROUP_FILE, group_names};
use anyhow::{Context, ensure};
use diskgroup::{Group, MountOptions};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use targets::{Access, FileId, OpenSpec, Port, TargetError, UringPort, measure_places};

/// Memory and depth of the port that the owner of the metadata works with.
const OWNER: (u64, usize) = (4 << 20, 64);

fn open(side: &Side, memory: u64, depth: usize) -> Result<UringPort, TargetError> {
    let specs: Vec<OpenSpec> = side.disk.iter().map(|d| OpenSpec::writing(d, Access::Direct)).collect();
    UringPort::open(&specs, memory, depth)
}

/// `up_to` in equal shares.
fn share(random: u64, up_to: u64) -> (u64, u64) {
    let wide = u128::from(random) * u128::from(up_to);
    ((wide >> 64) as u64, wide as u64)
}

/// Blocks of `bytes` of each of `files` files, at random or each file's in order, the files in turn.
fn measure<P: Port>(port: &mut P, side: &Side, files: u16, bytes: u64) -> anyhow::Result<Figures> {
    let block = u64::from(side.block);
    let blocks = bytes / block;
    ensure!(blocks > 0, "less than a block");
    let depth = side.sessions as usize;
    go()?;
    let found = if side.in_order {
        let (mut file, mut nth) = (0, 0);
        let place = || {
            let here = (FileId(file), nth * block);
            file += 1;
            if file == files {
                (file, nth) = (0, if nth + 1 == blocks { 0 } else { nth + 1 });
            }
            here
        };
        measure_places(port, side.block, depth, until(side), place)?
    } else if files == 1 {
        let mut rng = SplitMix64::seed_from_u64(side.seed);
        let place = || (FileId(0), share(rng.next_u64(), blocks).0 * block);
        measure_places(port, side.block, depth, until(side), place)?
    } else {
        let mut rng = SplitMix64::seed_from_u64(side.seed);
        let place = || {
            let (file, rest) = share(rng.next_u64(), u64::from(files));
            (FileId(file as u16), share(rest, blocks).0 * block)
        };
        measure_places(port, side.block, depth, until(side), place)?
    };
    read(&found)
}

/// The disks themselves, each as far as the file of the group reaches on it.
pub(crate) fn disks(side: &Side) -> anyhow::Result<Figures> {
    let depth = side.sessions as usize;
    let mut port = open(side, depth as u64 * u64::from(side.block), depth)?;
    let disks = u16::try_from(side.disk.len()).context("fewer disks")?;
    ensure!(disks > 0, "no disk: give --disk");
    let bytes = u64::from(side.pages) * 8192 / u64::from(disks);
    measure(&mut port, side, disks, bytes)
}

/// The file of the group.
pub(crate) fn group(side: &Side) -> anyhow::Result<Figures> {
    let options = MountOptions {
        group: Some(GROUP.into()),
        names: group_names(side.disk.len()),
        ..MountOptions::default()
    };
    let (group, _) = Group::mount(open(side, OWNER.0, OWNER.1)?, &options)?;
    let depth = side.sessions as usize;
    let below = open(side, depth as u64 * u64::from(side.block), depth)?;
    let mut port = group.open(below, &[GROUP_FILE])?;
    let bytes = port.size(FileId(0))?;
    let figures = measure(&mut port, side, 1, bytes)?;
    drop(port);
    group.close()?;
    Ok(figures)
}
