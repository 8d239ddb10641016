//! The bare loops: random reads, and a write followed by a flush. What the target gives when nothing stands in between.

use super::{Figures, go};
use crate::flags::{Method, Side};
use anyhow::ensure;
use targets::{Access, FileId, Measured, Op, OpenSpec, Port, PsyncPort, Request, Until, UringPort, measure_reads};

const BLOCK: u32 = 8192;

pub(crate) fn reads(side: &Side) -> anyhow::Result<Figures> {
    let specs = [OpenSpec::reading(&side.data, Access::Direct)];
    let depth = side.sessions as usize;
    let memory = depth as u64 * u64::from(BLOCK);
    match side.method {
        Method::Ring => reads_of(&mut UringPort::open(&specs, memory, depth)?, side),
        Method::Pread => reads_of(&mut PsyncPort::open(&specs, memory, depth)?, side),
    }
}

fn reads_of<P: Port>(port: &mut P, side: &Side) -> anyhow::Result<Figures> {
    go()?;
    let found = measure_reads(port, BLOCK, side.sessions as usize, until(side), side.seed)?;
    read(&found)
}

/// By time, or after `ios` reads.
pub(super) fn until(side: &Side) -> Until {
    side.ios.map_or(Until::Seconds(side.seconds), Until::Reads)
}

/// What a bare loop of reads found.
pub(super) fn read(found: &Measured) -> anyhow::Result<Figures> {
    ensure!(
        found.errors == 0 && found.ios > 0,
        "{} reads, {} failed",
        found.ios,
        found.errors
    );
    let at = |share| found.latency_ns_at(share) as f64 / 1000.0;
    Ok(vec![
        ("iops", found.rate_per_second()),
        ("requests", found.ios as f64),
        ("p50_us", at(0.5)),
        ("p99_us", at(0.99)),
        ("p999_us", at(0.999)),
    ])
}

/// The target's own flush rate: 8 KiB written in sequence, flushed, and only then the next.
pub(crate) fn flushes(side: &Side) -> anyhow::Result<Figures> {
    let specs = [OpenSpec::writing(&side.data, Access::Direct)];
    match side.method {
        Method::Ring => flushes_of(UringPort::open(&specs, u64::from(BLOCK), 1)?, side),
        Method::Pread => flushes_of(PsyncPort::open(&specs, u64::from(BLOCK), 1)?, side),
    }
}

fn flushes_of<P: Port>(mut port: P, side: &Side) -> anyhow::Result<Figures> {
    let blocks = port.size(FileId(0))? / u64::from(BLOCK);
    ensure!(blocks > 0, "{} is smaller than a block", side.data.display());
    for (nth, byte) in port.bytes_mut(0, BLOCK as usize).iter_mut().enumerate() {
        *byte = (nth as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()[3];
    }
    let mut done = Vec::with_capacity(1);
    go()?;
    let began = port.now();
    let end = began + (side.seconds * 1e9) as u64;
    let mut count = 0u64;
    while port.now() < end {
        for op in [Op::Write, Op::Flush] {
            let request = Request {
                op,
                file: FileId(0),
                offset: count % blocks * u64::from(BLOCK),
                at: 0,
                len: BLOCK,
                token: 0,
            };
            port.submit(request)?;
            done.clear();
            port.wait(1, None, &mut done)?;
            ensure!(
                done.iter().all(|c| c.result.is_ok()),
                "a write or a flush failed: {done:?}"
            );
        }
        count += 1;
    }
    let seconds = (port.now() - began) as f64 / 1e9;
    Ok(vec![("iops", count as f64 / seconds)])
}
