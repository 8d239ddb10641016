//! Random 8 KiB reads through a group of five against the same five files driven directly, to be run by hand.
//!
//! `bare DIR external|normal turns SECONDS` takes turns and prints both rates and their ratio; `bare DIR external|normal bare|group COUNT`
//! does one of the two alone, for `perf stat -e instructions:u`.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use diskgroup::{DiskSpec, FileSpec, Group, GroupSpec, MountOptions, Redundancy, Stripe};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::error::Error;
use std::path::Path;
use targets::{Access, Completion, FileId, Op, OpenSpec, Port, Request, UringPort};

const DISKS: u16 = 5;
const DISK_BYTES: u64 = 96 << 20;
const DATA_BYTES: u64 = 192 << 20;
const BLOCK: u64 = 8192;
const DEPTH: u64 = 64;

fn open(dir: &Path, memory: u64) -> Result<UringPort, targets::TargetError> {
    let spec = |n| OpenSpec::creating(dir.join(format!("assay-bare-{n}")), Access::Direct, DISK_BYTES);
    let specs: Vec<OpenSpec> = (0..DISKS).map(spec).collect();
    UringPort::open(&specs, memory, DEPTH as usize)
}

/// Random reads until `count` are done; `place` gives file and offset of a random number.
fn reads<P: Port>(
    port: &mut P,
    count: u64,
    seed: u64,
    place: impl Fn(u64) -> (u16, u64),
) -> Result<f64, Box<dyn Error>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut done: Vec<Completion> = Vec::with_capacity(DEPTH as usize);
    let (mut sent, mut ended) = (0, 0);
    let began = port.now();
    let mut free: Vec<u64> = (0..DEPTH).collect();
    while ended < count {
        while sent < count
            && let Some(slot) = free.pop()
        {
            let (file, offset) = place(rng.next_u64());
            let (file, at, len) = (FileId(file), slot * BLOCK, BLOCK as u32);
            port.submit(Request {
                op: Op::Read,
                file,
                offset,
                at,
                len,
                token: slot,
            })?;
            sent += 1;
        }
        done.clear();
        port.wait(1, None, &mut done)?;
        for completion in &done {
            completion.result?;
            free.push(completion.token);
        }
        ended += done.len() as u64;
    }
    Ok(count as f64 * 1e9 / (port.now() - began) as f64)
}

fn bare(port: &mut UringPort, count: u64, seed: u64) -> Result<f64, Box<dyn Error>> {
    // The same share of each disk as the group has data on.
    let (first, blocks) = (8 << 20, DATA_BYTES / u64::from(DISKS) / BLOCK);
    reads(port, count, seed, |n| {
        ((n % u64::from(DISKS)) as u16, first + (n >> 8) % blocks * BLOCK)
    })
}

/// The group of an earlier call, or a new one.
fn group(dir: &Path, redundancy: Redundancy) -> Result<Group<UringPort>, Box<dyn Error>> {
    let names = (0..DISKS).map(|n| format!("assay-bare-{n}")).collect();
    let options = MountOptions {
        group: Some("bare".into()),
        names,
        ..MountOptions::default()
    };
    match Group::mount(open(dir, 4 << 20)?, &options) {
        Ok((group, _)) if group.info().redundancy == redundancy => Ok(group),
        _ => {
            let disk = |n| DiskSpec {
                overwrite: true,
                ..DiskSpec::new(FileId(n), &format!("d{n}"))
            };
            let disks: Vec<DiskSpec> = (0..DISKS).map(disk).collect();
            let group = Group::create(
                open(dir, 4 << 20)?,
                &GroupSpec::new("bare", redundancy),
                &disks,
                std::process::id().into(),
            )?;
            let stripe = Stripe::Coarse;
            group.create_file(&FileSpec {
                name: "f".into(),
                size: DATA_BYTES,
                redundancy: None,
                stripe,
            })?;
            Ok(group)
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, redundancy, what, amount] = args.as_slice() else {
        return Err("bare DIR external|normal turns|bare|group SECONDS|COUNT".into());
    };
    let dir = Path::new(dir);
    let redundancy = if redundancy == "normal" {
        Redundancy::Normal
    } else {
        Redundancy::External
    };
    let amount: u64 = amount.parse()?;
    let group = group(dir, redundancy)?;
    let mut above = group.open(open(dir, DEPTH * BLOCK)?, &["f"])?;
    let mut below = open(dir, DEPTH * BLOCK)?;
    let blocks = DATA_BYTES / BLOCK;
    match what.as_str() {
        "bare" => println!("{:.0} reads/s", bare(&mut below, amount, 1)?),
        "group" => println!(
            "{:.0} reads/s",
            reads(&mut above, amount, 1, |n| (0, (n >> 8) % blocks * BLOCK))?
        ),
        _ => {
            let (mut sum, count) = ([0.0; 2], 60_000);
            for turn in 0..amount {
                let rates = [
                    bare(&mut below, count, turn)?,
                    reads(&mut above, count, turn, |n| (0, (n >> 8) % blocks * BLOCK))?,
                ];
                println!(
                    "bare {:.0}/s, group {:.0}/s, ratio {:.3}",
                    rates[0],
                    rates[1],
                    rates[1] / rates[0]
                );
                sum[0] += rates[0].ln();
                sum[1] += rates[1].ln();
            }
            println!("mean ratio {:.4}", ((sum[1] - sum[0]) / amount as f64).exp());
        }
    }
    drop(above);
    group.close()?;
    Ok(())
}
