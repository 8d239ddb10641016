//! Rates of a file in a pool through the port: random reads and synchronous writes of 8 KiB at so many sessions.
//!
//! `rates DIR SESSIONS SECONDS ARC_MIB`: a pool on four files in DIR, a file of 1 GiB with `sync=always`, filled in
//! order: a write is one request, and it is durable when it ends. By hand, in release, beside another program on the
//! same files' disk (benches/zfs/versus.sh); each line is a mean of one run, so run both sides in turns and take
//! medians.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement by hand")]

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::{Path, PathBuf};
use targets::{FileId, Op, Port, Request, monotonic_ns};
use zpool::{FileName, FileSpec, Launch, PoolSpec, Redundancy, Tuning, Zpool, ZpoolPort};

const BLOCK: u64 = 8192;
const BYTES: u64 = 1 << 30;

fn request(op: Op, offset: u64, session: u64) -> Request {
    Request {
        op,
        file: FileId(0),
        offset,
        at: session * BLOCK,
        len: BLOCK as u32,
        token: session,
    }
}

fn fill(port: &mut ZpoolPort, sessions: u64, random: &mut Xoshiro256PlusPlus) {
    let mut done = Vec::new();
    for session in 0..sessions {
        random.fill_bytes(port.bytes_mut(session * BLOCK, BLOCK as usize));
    }
    for nth in 0..BYTES / BLOCK {
        if port.in_flight() == sessions as usize {
            port.wait(sessions as usize, None, &mut done).unwrap();
        }
        port.submit(request(Op::Write, nth * BLOCK, nth % sessions)).unwrap();
    }
    while port.in_flight() > 0 {
        port.wait(1, None, &mut done).unwrap();
    }
}

/// Each session reads or writes, one after the other; operations a second.
fn rate(port: &mut ZpoolPort, sessions: u64, seconds: u64, writes: bool, random: &mut Xoshiro256PlusPlus) -> f64 {
    let (began, mut ended, mut done) = (monotonic_ns(), 0u64, Vec::new());
    let mut place = || random.next_u64() % (BYTES / BLOCK) * BLOCK;
    let first = if writes { Op::Write } else { Op::Read };
    for session in 0..sessions {
        port.submit(request(first, place(), session)).unwrap();
    }
    while monotonic_ns() - began < seconds * 1_000_000_000 {
        done.clear();
        port.wait(1, None, &mut done).unwrap();
        for completion in &done {
            completion.result.unwrap();
            ended += 1;
            port.submit(request(first, place(), completion.token)).unwrap();
        }
    }
    let elapsed = (monotonic_ns() - began) as f64 / 1e9;
    while port.in_flight() > 0 {
        port.wait(1, None, &mut done).unwrap();
    }
    ended as f64 / elapsed
}

/// Processor time of the server and of this process so far, ticks.
fn ticks(zpool: &Zpool) -> u64 {
    [format!("/proc/{}/stat", zpool.pid()), "/proc/self/stat".to_string()]
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let fields: Vec<&str> = text[text.rfind(')').unwrap()..].split_whitespace().collect();
            fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
        })
        .sum()
}

fn main() {
    if Launch::asked_for() {
        std::process::exit(i32::from(zpool::serve_standard_input()));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, sessions, seconds, arc] = &arguments[..] else {
        println!("rates DIR SESSIONS SECONDS ARC_MIB");
        return;
    };
    let (sessions, seconds): (u64, u64) = (sessions.parse().unwrap(), seconds.parse().unwrap());
    let zpool = Zpool::start(&Launch::itself(), &Tuning::new(arc.parse::<u64>().unwrap() << 20)).unwrap();
    let data: Vec<PathBuf> = (0..4).map(|nth| Path::new(dir).join(format!("lun{nth}"))).collect();
    for path in &data {
        std::fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
    }
    let redundancy = Redundancy::Stripe;
    let spec = PoolSpec {
        name: "assayrates".into(),
        data,
        log: Vec::new(),
        redundancy,
        ashift: 12,
        overwrite: true,
    };
    zpool.create(&spec).unwrap();
    let name = FileName::new("assayrates", "data");
    let file = FileSpec {
        name: name.clone(),
        bytes: BYTES,
        record_bytes: BLOCK as u32,
        properties: vec![("sync".into(), "always".into())],
    };
    zpool.create_file(&file).unwrap();
    let mut port = zpool.open(&[name], sessions * BLOCK, sessions as usize).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    fill(&mut port, sessions, &mut random);
    zpool.sync().unwrap();
    for (what, writes) in [("random read", false), ("sync write", true)] {
        let before = ticks(&zpool);
        let rate = rate(&mut port, sessions, seconds, writes, &mut random);
        let cpu_us = (ticks(&zpool) - before) as f64 * 1e4 / (rate * seconds as f64);
        println!("{what} 8 KiB, {sessions} sessions: {rate:.0} a second, {cpu_us:.1} us of CPU each");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", zpool.pid())).unwrap();
    let resident = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or_default();
    println!("resident at most: {}", resident.trim_start_matches("VmHWM:").trim());
    drop(port);
    zpool.destroy("assayrates").unwrap();
}
