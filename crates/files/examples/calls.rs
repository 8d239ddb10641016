//! One class of calls at one depth, for `benches/file-serving`: rate and processor time of a call.
//!
//! Takes `PLACE CLASS DEPTH CONNECTIONS SECONDS [RATE]` and prints one line. The place is an NFS export on 127.0.0.1,
//! its process in `SERVER`, or `local:DIRECTORY`. The class `names` makes and removes files in turn. `made` makes files
//! of 256 MiB together and writes each whole; `synced` also syncs each. Both take no seconds. `TRANSFER_KIB` is the
//! size of a read or write (8), `FILE_KIB` that of a file (256). With a rate arrival is open. Each byte is checked.
//!
//! Prevents: a client that is faster because it looks less.
#![allow(clippy::print_stdout, reason = "it prints its line")]

use files::{After, Class, Config, FilesError, LocalDirectory, Mix, NfsServer, Place, Serving, Sizes, Work};
use std::net::Ipv4Addr;
use workloads::{Arrival, Pacing, Schedule};

/// Bytes of the files that `made` and `synced` make.
const MADE_BYTES: u64 = 256 << 20;

/// Processor time of a process, microseconds.
fn cpu_us(pid: &str) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let read = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    read.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok())
        .sum::<f64>()
        / 1e3
}

/// Processor time of this process, microseconds, with that of threads that have ended.
fn own_cpu_us() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// KiB in a variable of the environment, or `usual`.
fn kib(name: &str, usual: u32) -> Result<u32, Box<dyn std::error::Error>> {
    let cure = |error: std::num::ParseIntError| format!("{name}: {error}\ngive a whole number of KiB").into();
    std::env::var(name).map_or(Ok(usual), |text| text.parse().map_err(cure))
}

fn config(class: &str, depth: u32) -> Result<Config, Box<dyn std::error::Error>> {
    let mix = match class {
        "names" => Mix::new(&[(Class::Create, 50), (Class::Remove, 50)])?,
        class => {
            let unknown = || FilesError::Settings(format!("no class {class}\nname another"));
            Mix::new(&[(Class::from_name(class).ok_or_else(unknown)?, 100)])?
        }
    };
    Ok(Config {
        work: Work::Mix(mix),
        sizes: Sizes::one(kib("FILE_KIB", 256)?)?,
        transfer_kib: kib("TRANSFER_KIB", 8)?,
        accessed_pct: 100,
        lookups_failed_pct: 0,
        append_pct: 0,
        short_writes_pct: 0,
        stable_pct: 100,
        ..Config::sfs97(depth, std::process::id(), 1)
    })
}

fn place(name: &str, depth: u32, connections: u32) -> Result<Place, Box<dyn std::error::Error>> {
    if let Some(path) = name.strip_prefix("local:") {
        let directory = std::fs::File::open(path)?.into();
        let (direct, threads) = (false, depth);
        return Ok(Place::Posix(LocalDirectory {
            directory,
            direct,
            threads,
        }));
    }
    Ok(Place::Nfs3(NfsServer {
        nfs_port: Some(2049),
        mount_port: Some(20048),
        ..NfsServer::new(Ipv4Addr::LOCALHOST.into(), name, connections)
    }))
}

/// Files made and written whole, all in one directory; they are read and checked outside the time.
fn made(class: &str, (place, depth): (Place, u32)) -> Result<(), Box<dyn std::error::Error>> {
    let config = Config {
        files_per_directory: 100_000,
        ..config("getattr", depth)?
    };
    let mut serving = Serving::begin(config, place)?;
    let before_us = own_cpu_us();
    let filled = serving.grow_to(MADE_BYTES, class == "synced")?;
    let cpu_us = own_cpu_us() - before_us;
    let audit = serving.audit(After::Nothing, None)?;
    let files = filled.tree.files as f64;
    println!(
        "assay {class} {depth} 1 {:.0} {:.2} wrong {}",
        files * 1e9 / filled.elapsed_ns as f64,
        cpu_us / files,
        audit.lost(),
    );
    serving.remove()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, class, depth, connections, seconds, rest @ ..] = words.as_slice() else {
        return Err("calls PLACE CLASS DEPTH CONNECTIONS SECONDS [RATE]".into());
    };
    let (depth, seconds): (u32, f64) = (depth.parse()?, seconds.parse()?);
    let place = place(name, depth, connections.parse()?)?;
    if matches!(class.as_str(), "made" | "synced") {
        return made(class, (place, depth));
    }
    let mut serving = Serving::begin(config(class, depth)?, place)?;
    serving.grow_to(64 << 20, false)?;
    let mut pacing = Pacing::closed(depth, (seconds * 1e9) as u64);
    serving.run(&Pacing::closed(depth, 200_000_000), 1)?;
    if let [rate, ..] = rest {
        pacing.arrival = Arrival::Open {
            rate_per_s: rate.parse()?,
            schedule: Schedule::Poisson,
        };
    }
    let pid = std::env::var("SERVER").unwrap_or_default();
    let (ours, theirs) = (own_cpu_us(), cpu_us(&pid));
    let point = serving.run(&pacing, 2)?;
    let (ours, theirs) = (own_cpu_us() - ours, cpu_us(&pid) - theirs);
    let count = point.outcome.count() as f64;
    let mut all = point.outcome.classes[0].response.clone();
    for other in &point.outcome.classes[1..] {
        all.add(&other.response)?;
    }
    println!(
        "assay {class} {depth} {connections} {:.0} {:.2} {:.2} {:.1} {:.1} unsent {} sends {:.2} wrong {}",
        count * 1e9 / point.outcome.elapsed_ns as f64,
        ours / count,
        theirs / count,
        all.value_at_quantile(0.5) as f64 / 1e3,
        all.value_at_quantile(0.99) as f64 / 1e3,
        point.outcome.unsent,
        point.counts.sends as f64 / count,
        point.counts.wrong,
    );
    serving.remove()?;
    Ok(())
}
