//! Writes that are kept twice: each to all of some disks, as one would do it by hand, or to a file of a mirrored disk
//! group. One loop; with one disk alone it writes to whatever mirrors below, such as an array of md.
//!
//! A write is done when all its copies are; where it is flushed, when all flushes are. Prevents: a mirror that looks
//! quick because it does not wait for its second copy.

use super::{Figures, go};
use crate::flags::{self, Side};
use crate::places::{GROUP, GROUP_FILE, group_names};
use anyhow::{Context, ensure};
use diskgroup::{Group, MountOptions};
use hdrhistogram::Histogram;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use targets::{Access, BasePort, Completion, FileId, Method, Nanos, Op, OpenSpec, Port, Request, TargetError};

/// Memory and depth of the port that the owner of the metadata works with.
const OWNER: (u64, usize) = (4 << 20, 64);
/// So that no write is of zeros, and no two blocks of memory are the same.
const SCRAMBLE: u64 = 0x9E37_79B9_7F4A_7C15;

fn open(side: &Side, memory: u64, depth: usize) -> Result<BasePort, TargetError> {
    let specs: Vec<OpenSpec> = side.disk.iter().map(|d| OpenSpec::writing(d, Access::Direct)).collect();
    let method = match side.method {
        flags::Method::Ring => Method::Ring,
        flags::Method::Pread => Method::Pread,
    };
    BasePort::open(method, &specs, memory, depth)
}

fn memory_bytes(side: &Side) -> u64 {
    u64::from(side.sessions) * u64::from(side.block)
}

/// Each write to every disk.
pub(crate) fn copies(side: &Side) -> anyhow::Result<Figures> {
    let copies = u16::try_from(side.disk.len()).context("fewer disks")?;
    ensure!(copies > 0, "no disk: give --disk");
    let mut port = open(side, memory_bytes(side), side.sessions as usize * usize::from(copies))?;
    write(&mut port, side, copies, u64::from(side.pages) * 8192)
}

/// Each write to a file of the group, which keeps its copies.
pub(crate) fn mirrored(side: &Side) -> anyhow::Result<Figures> {
    let options = MountOptions {
        group: Some(GROUP.into()),
        names: group_names(side.disk.len()),
        ..MountOptions::default()
    };
    let (group, _) = Group::mount(open(side, OWNER.0, OWNER.1)?, &options)?;
    let below = open(side, memory_bytes(side), side.sessions as usize * side.disk.len())?;
    let mut port = group.open(below, &[GROUP_FILE])?;
    let bytes = port.size(FileId(0))?;
    let figures = write(&mut port, side, 1, bytes)?;
    drop(port);
    group.close()?;
    Ok(figures)
}

/// What is in flight of one block of memory.
#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    offset: u64,
    sent: Nanos,
    /// Requests that are not back yet.
    left: u16,
}

struct Writer<'a, P: Port> {
    port: &'a mut P,
    side: &'a Side,
    copies: u16,
    blocks: u64,
    rng: SplitMix64,
    slots: Vec<Slot>,
    begun: u64,
    latency: Histogram<u64>,
}

impl<P: Port> Writer<'_, P> {
    fn offset(&mut self) -> u64 {
        let nth = match self.side.in_order {
            true => self.begun % self.blocks,
            // Multiply and shift: uniform to within blocks / 2^64.
            false => ((u128::from(self.rng.next_u64()) * u128::from(self.blocks)) >> 64) as u64,
        };
        nth * u64::from(self.side.block)
    }

    fn begin(&mut self, nth: usize, now: Nanos) -> anyhow::Result<()> {
        let offset = self.offset();
        self.begun += 1;
        self.slots[nth] = Slot {
            op: Op::Write,
            offset,
            sent: now,
            left: 0,
        };
        self.send(nth)
    }

    /// What the slot is at, to all copies.
    fn send(&mut self, nth: usize) -> anyhow::Result<()> {
        let (slot, block) = (&mut self.slots[nth], self.side.block);
        slot.left = self.copies;
        for copy in 0..self.copies {
            self.port.submit(Request {
                op: slot.op,
                file: FileId(copy),
                offset: slot.offset,
                at: nth as u64 * u64::from(block),
                len: block,
                token: nth as u64,
            })?;
        }
        Ok(())
    }

    /// Whether the slot has come to the end of its write.
    fn came(&mut self, completion: &Completion, now: Nanos) -> anyhow::Result<bool> {
        completion
            .result
            .map_err(|fault| anyhow::anyhow!("a write or a flush failed: {fault:?}"))?;
        let nth = completion.token as usize;
        let slot = &mut self.slots[nth];
        slot.left -= 1;
        if slot.left > 0 {
            return Ok(false);
        }
        if self.side.flush && slot.op == Op::Write {
            slot.op = Op::Flush;
            self.send(nth)?;
            return Ok(false);
        }
        let took = now.saturating_sub(slot.sent);
        self.latency.record(took.max(1)).context("a latency of its own")?;
        Ok(true)
    }
}

/// Writes blocks of the first `bytes` of each copy until it is told to end.
fn write<P: Port>(port: &mut P, side: &Side, copies: u16, bytes: u64) -> anyhow::Result<Figures> {
    let depth = side.sessions as usize;
    let blocks = bytes / u64::from(side.block);
    ensure!(blocks > 0 && depth > 0, "less than a block, or nothing in flight");
    let memory = port.bytes_mut(0, memory_bytes(side) as usize).chunks_exact_mut(8);
    for (nth, word) in memory.enumerate() {
        word.copy_from_slice(&(nth as u64 + 1).wrapping_mul(SCRAMBLE).to_le_bytes());
    }
    let nothing = Slot {
        op: Op::Write,
        offset: 0,
        sent: 0,
        left: 0,
    };
    let mut writer = Writer {
        port,
        side,
        copies,
        blocks,
        rng: SplitMix64::seed_from_u64(side.seed),
        slots: vec![nothing; depth],
        begun: 0,
        latency: Histogram::new(3).context("make a histogram")?,
    };
    let most = side.ios.unwrap_or(u64::MAX);
    let mut done = Vec::with_capacity(2 * depth);
    go()?;
    let began = writer.port.now();
    let end = match side.ios {
        Some(_) => Nanos::MAX,
        None => began + (side.seconds * 1e9) as Nanos,
    };
    for nth in 0..depth.min(most as usize) {
        writer.begin(nth, began)?;
    }
    let mut now = began;
    while writer.port.in_flight() > 0 {
        done.clear();
        writer.port.wait(1, None, &mut done)?;
        now = writer.port.now();
        for completion in &done {
            if writer.came(completion, now)? && now < end && writer.begun < most {
                writer.begin(completion.token as usize, now)?;
            }
        }
    }
    figures(&writer.latency, now - began)
}

fn figures(latency: &Histogram<u64>, elapsed_ns: Nanos) -> anyhow::Result<Figures> {
    ensure!(!latency.is_empty() && elapsed_ns > 0, "nothing was written");
    let count = latency.len() as f64;
    let at = |share| latency.value_at_quantile(share) as f64 / 1000.0;
    Ok(vec![
        ("iops", count * 1e9 / elapsed_ns as f64),
        ("requests", count),
        ("p50_us", at(0.5)),
        ("p99_us", at(0.99)),
        ("p999_us", at(0.999)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::side;
    use crate::flags::Work;
    use targets::StoredPort;

    /// Two disks that hold two blocks each, after so many writes in order.
    fn written(flush: bool, ios: u64) -> (Vec<Vec<u8>>, f64) {
        let clock = std::cell::Cell::new(0);
        let now = move || {
            clock.set(clock.get() + 1000);
            clock.get()
        };
        let mut port = StoredPort::open(&[16384, 16384], 16384, 4, now).unwrap();
        let wanted = Side {
            in_order: true,
            flush,
            sessions: 2,
            ios: Some(ios),
            ..side(Work::Copies, std::path::Path::new("/x"))
        };
        let figures = write(&mut port, &wanted, 2, 16384).unwrap();
        let requests = figures.iter().find(|(key, _)| *key == "requests").unwrap().1;
        let disks = (0..2).map(|disk| read(&mut port, FileId(disk))).collect();
        (disks, requests)
    }

    fn read<P: Port>(port: &mut P, file: FileId) -> Vec<u8> {
        let request = Request {
            op: Op::Read,
            file,
            offset: 0,
            at: 0,
            len: 16384,
            token: 0,
        };
        port.submit(request).unwrap();
        let mut done = Vec::new();
        port.wait(1, None, &mut done).unwrap();
        assert!(done[0].result.is_ok());
        port.bytes(0, 16384).to_vec()
    }

    #[test]
    fn each_disk_has_each_write_and_a_write_counts_once() {
        for flush in [false, true] {
            let (disks, requests) = written(flush, 6);
            assert_eq!(requests, 6.0, "flush: {flush}");
            assert_eq!(disks[0], disks[1]);
            assert!(
                disks[0].chunks(8).all(|word| word != [0; 8]),
                "a part was never written"
            );
        }
    }
}
