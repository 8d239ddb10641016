//! SQLite by hand on three ways to storage, in rounds: a buffered file, a file with direct I/O, a disk group on files.
//!
//! `cargo run --release -p assay --example sqlite -- bulk DIR ROWS ROUNDS`, or `orders DIR WAREHOUSES USERS SECONDS`,
//! or `scattered DIR ROWS SECONDS`. Everything is made in a directory of its own in DIR and removed. Prevents: figures
//! that nobody can make again.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for measuring by hand"
)]

#[path = "../tests/grounds/mod.rs"]
mod grounds;

use databases::bulk::{BulkDatabase, BulkLoad, BulkResult};
use databases::order_entry::{Home, Scale, Terminal, nopm, within_limits};
use databases::sqlite::{
    BulkSession, Connections, IoCounts, LockWait, OrderWorker, Scattered, ScatteredShape, Settings, SharedWriter,
    broken_conditions, load, load_scattered,
};
use grounds::{Ground, disk_files};
use std::path::Path;
use std::sync::Arc;
use workloads::{Outcome, Pacing, drive, merge};

/// The disks of a group together, MiB.
const GROUP_MIB: usize = 3072;

fn grounds(dir: &Path, round: u64) -> Vec<(&'static str, Ground)> {
    let disks: Vec<_> = (0..3).map(|n| dir.join(format!("disk{n}"))).collect();
    if !disks[0].exists() {
        disk_files(dir, 3, GROUP_MIB / 3);
    }
    let mut all = vec![
        ("buffered file", Ground::Buffered(dir.join(format!("buffered{round}")))),
        ("direct file", Ground::Direct(dir.join(format!("direct{round}")))),
        ("disk group", Ground::Striped(disks)),
    ];
    all.rotate_left((round % 3) as usize);
    all
}

fn bulk(dir: &Path, rows: u64, rounds: u64) {
    println!("place            rows    rows/s  elapsed s  settle s  commit us p50    p99  files MiB  steps");
    for round in 0..rounds {
        for (name, ground) in grounds(dir, round) {
            let stood = ground.make();
            let session = stood.place.connect(&Settings::default()).unwrap();
            let mut load = BulkLoad::new(BulkSession::new(session, 1), rows).unwrap();
            let result: BulkResult = load.run(0).unwrap();
            let mut loaded = load.into_database();
            let space = loaded.space().unwrap();
            drop(loaded);
            let commits = &result.outcome.classes[0].service;
            println!(
                "{name:14} {rows:8} {:8.0} {:10.2} {:9.2} {:10.0} {:10.0} {:9.1} {:6}",
                result.rows_per_s(),
                result.elapsed_ns as f64 / 1e9,
                result.settle_ns as f64 / 1e9,
                commits.value_at_quantile(0.5) as f64 / 1e3,
                commits.value_at_quantile(0.99) as f64 / 1e3,
                result.growth.last().unwrap().bytes as f64 / f64::from(1 << 20),
                result.growth.len(),
            );
            if round == 0 {
                println!("               {space:?}; {:?}", stood.place.counts());
            }
            stood.close();
        }
    }
}

/// What the workers came to.
fn tell(ended: Vec<(Outcome, LockWait)>, io: Option<IoCounts>, users: u32) {
    let mut wait = ended[0].1.clone();
    ended[1..].iter().for_each(|e| wait.add(&e.1));
    let outcome = merge(ended.into_iter().map(|e| e.0).collect());
    println!(
        "  {:.0} new orders a minute, {users} users, {:.1} s",
        nopm(&outcome),
        outcome.elapsed_ns as f64 / 1e9
    );
    let ms = |ns: u64| ns as f64 / 1e6;
    for (class, verdict) in outcome.classes.iter().zip(within_limits(&outcome)) {
        let (service, response) = (&class.service, &class.response);
        println!(
            "  {:13} {:7}  service ms p50 {:8.2} p90 {:8.2} p99 {:8.2}   response ms p50 {:8.1} p90 {:8.1} p99 \
             {:8.1}  limit kept: {}",
            class.name,
            class.count,
            ms(service.value_at_quantile(0.5)),
            ms(service.value_at_quantile(0.9)),
            ms(service.value_at_quantile(0.99)),
            ms(response.value_at_quantile(0.5)),
            ms(response.value_at_quantile(0.9)),
            ms(response.value_at_quantile(0.99)),
            verdict.holds,
        );
    }
    println!(
        "  lock wait ms p50 {:.2} p90 {:.2} p99 {:.2}, {:.1} s in all",
        ms(wait.wait.value_at_quantile(0.5)),
        ms(wait.wait.value_at_quantile(0.9)),
        ms(wait.wait.value_at_quantile(0.99)),
        wait.total_ns as f64 / 1e9,
    );
    if let Some(io) = io {
        let service_ns: f64 = outcome.classes.iter().map(|c| c.service.mean() * c.count as f64).sum();
        let share = io.file_set_ns as f64 / service_ns * 100.0;
        println!("  at most {share:.0} % of the service is storage; {io:?}");
    }
}

fn orders(dir: &Path, warehouses: u32, users: u32, seconds: u64) {
    let threads = 4;
    for (name, ground) in grounds(dir, 0) {
        let stood = ground.make();
        let settings = Settings {
            cache_bytes: 32 << 20,
            ..Settings::default()
        };
        // 8 MiB for each of four threads that read: 64 MiB in all.
        let reading = Settings {
            cache_bytes: 8 << 20,
            ..settings
        };
        let session = stood.place.connect(&settings).unwrap();
        let scale = Scale::full(warehouses).unwrap();
        let began = std::time::Instant::now();
        load(&session, &scale, 5, 1_000_000).unwrap();
        session.checkpoint().unwrap();
        println!(
            "{name}: loaded in {:.1} s, {:?} bytes",
            began.elapsed().as_secs_f64(),
            stood.place.file_bytes().unwrap()
        );
        let writer = Arc::new(SharedWriter::new(stood.place.connect(&settings).unwrap()));
        let before = stood.place.counts();
        let ended: Vec<_> = std::thread::scope(|scope| {
            let parts = Pacing::closed(users, seconds * 1_000_000_000).split(threads);
            let mut first = 0;
            let running: Vec<_> = parts
                .into_iter()
                .map(|part| {
                    let numbers = first..first + part.sessions;
                    first += part.sessions;
                    let terminals = numbers.map(|n| Terminal::new(scale, Home::Fixed, 5, 9, n)).collect();
                    let session = stood.place.connect(&reading).unwrap();
                    let connections = Connections::among_others(session, writer.clone());
                    let mut worker = OrderWorker::new(connections, terminals, 2_000_000);
                    scope.spawn(move || (drive(&mut worker, &part, 0).unwrap(), worker.take_lock_wait()))
                })
                .collect();
            running.into_iter().map(|r| r.join().unwrap()).collect()
        });
        let io = before.zip(stood.place.counts()).map(|(before, after)| after - before);
        tell(ended, io, users);
        println!(
            "  conditions broken: {:?}; integrity {}",
            broken_conditions(&session, &scale).unwrap(),
            session.integrity().unwrap()
        );
        drop((session, writer));
        stood.close();
    }
}

fn scattered(dir: &Path, rows: u64, seconds: u64) {
    for (name, ground) in grounds(dir, 0) {
        let stood = ground.make();
        let settings = Settings {
            cache_bytes: 8 << 20,
            ..Settings::default()
        };
        let shape = ScatteredShape {
            rows,
            page_bytes: 8192,
            work_unit: 32,
            update_pct: 0,
        };
        let session = stood.place.connect(&settings).unwrap();
        load_scattered(&session, &shape, 1).unwrap();
        session.checkpoint().unwrap();
        let writer = Arc::new(SharedWriter::new(stood.place.connect(&settings).unwrap()));
        let mut work = Scattered::new(Connections::among_others(session, writer), shape, 2);
        let (pages, io) = (work.cache_counts(), stood.place.counts());
        let outcome = drive(&mut work, &Pacing::closed(1, seconds * 1_000_000_000), 0).unwrap();
        let after = work.cache_counts();
        let elapsed = outcome.elapsed_ns as f64 / 1e9;
        println!(
            "{name:14} {:9.0} rows/s, {:9.0} pages missed a second, {:.2} missed a row, select us p50 {:.0}",
            outcome.units() as f64 / elapsed,
            (after.misses - pages.misses) as f64 / elapsed,
            (after.misses - pages.misses) as f64 / outcome.units() as f64,
            outcome.classes[0].service.value_at_quantile(0.5) as f64 / 1e3,
        );
        if let (Some(before), Some(after)) = (io, stood.place.counts()) {
            println!("               {:?}", after - before);
        }
        drop(work);
        stood.close();
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |nth: usize| args[nth].parse::<u64>().expect("a number");
    assert!(
        args.len() >= 4,
        "bulk DIR ROWS ROUNDS | orders DIR WAREHOUSES USERS SECONDS | scattered DIR ROWS SECONDS"
    );
    let dir = tempfile::Builder::new()
        .prefix("assay-sqlite-")
        .tempdir_in(&args[1])
        .expect("a directory");
    match args[0].as_str() {
        "bulk" => bulk(dir.path(), number(2), number(3)),
        "orders" => orders(dir.path(), number(2) as u32, number(3) as u32, number(4)),
        _ => scattered(dir.path(), number(2), number(3)),
    }
}
