//! The bare loop on a file or device, to be held against fio by hand: `bare PATH [ring|pread|buffered] [seconds]
//! [depth]`.
#![allow(clippy::print_stdout)]

use std::error::Error;
use targets::{Access, OpenSpec, PsyncPort, Until, UringPort, choose, measure_reads, observe};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let path = args
        .get(1)
        .ok_or("bare PATH [ring|pread|buffered|choose|observe] [seconds] [depth]")?;
    let kind = args.get(2).map_or("ring", String::as_str);
    let seconds: f64 = args.get(3).map_or(Ok(3.0), |s| s.parse())?;
    let depth: usize = args.get(4).map_or(Ok(64), |s| s.parse())?;
    let access = if kind == "buffered" {
        Access::Buffered
    } else {
        Access::Direct
    };
    let specs = [OpenSpec::reading(path, access)];
    let memory = depth as u64 * 8192;
    if kind == "choose" {
        println!("{:?}", choose(&specs[0], 1)?);
        return Ok(());
    }
    if kind == "observe" {
        println!("{:?}", observe(path.as_ref(), access)?);
        return Ok(());
    }
    let found = match kind {
        "pread" => measure_reads(
            &mut PsyncPort::open(&specs, memory, depth)?,
            8192,
            depth,
            Until::Seconds(seconds),
            1,
        )?,
        _ => measure_reads(
            &mut UringPort::open(&specs, memory, depth)?,
            8192,
            depth,
            Until::Seconds(seconds),
            1,
        )?,
    };
    println!(
        "{:.0} reads/s, {} reads, {} errors, p50 {} ns, p99 {} ns",
        found.rate_per_second(),
        found.ios,
        found.errors,
        found.latency_ns_at(0.5),
        found.latency_ns_at(0.99)
    );
    Ok(())
}
