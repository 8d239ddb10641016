//! Whether this machine can play the models of a study: some seconds of the study's own kinds of requests.
//!
//! Takes LUNs that are served and what the phases ask of them; gives how the models kept up, and from that the smallest
//! factor of slow motion that will do. Prevents: an hour of blocks of which none can count.

use crate::luns::models::ModelledSet;
use crate::luns::pace::LATE_SHARE;
use crate::luns::service;
use observers::Snapshot;
use plan::Study;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use serde_json::Value;
use std::path::PathBuf;
use targets::{Access, FileId, Method, Nanos, Op, OpenSpec, Port, PsyncPort, Request, UringPort};

/// Factors of slow motion that are tried, one after the other.
pub(crate) const FACTORS: [u32; 5] = [1, 2, 5, 10, 20];
/// Of what a phase may lose to the machine, two thirds: the stacks of the study have more to do than the probe.
const PROBE_SHARE: f64 = LATE_SHARE * 2.0 / 3.0;
/// How long each kind of request is tried.
const TRY_NS: Nanos = 800_000_000;
/// The same before anything counts: a first request finds nothing ready.
const BEGIN_NS: Nanos = 200_000_000;
/// More requests at a time tell nothing more of the way.
const DEPTH_MAX: u32 = 64;
/// Direct requests are multiples of it on every device.
const SECTOR_BYTES: u64 = 4096;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The machine keeps up at this factor; why not at the one before, if there was one.
    Keeps(u32, Option<String>),
    /// At none; why not at the last.
    Never(String),
}

/// The first factor at which `why_late` has nothing to say.
pub(crate) fn smallest(
    factors: &[u32],
    mut why_late: impl FnMut(u32) -> anyhow::Result<Option<String>>,
) -> anyhow::Result<Found> {
    let mut before = None;
    for times in factors {
        match why_late(*times)? {
            None => return Ok(Found::Keeps(*times, before)),
            late => before = late,
        }
    }
    Ok(Found::Never(before.unwrap_or_default()))
}

/// How requests of a kind follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Random reads.
    Reads,
    /// Random reads and as many writes, beside a log that is written in order and flushed.
    Updates,
    /// Reads in order, of several readers.
    Scan,
    /// Random reads that come together, the next when the last of them is answered: a scan of pages that lie apart, as
    /// updates leave them where nothing is overwritten in place.
    Bursts,
}

/// What is asked of the LUNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    kind: Kind,
    /// Requests at a time.
    depth: u32,
    /// Bytes of each.
    bytes: u32,
}

/// What the phases of a study ask of its LUNs, in kinds.
pub(crate) fn loads(study: &Study) -> Vec<Load> {
    let page = study.database.page.0.next_multiple_of(SECTOR_BYTES) as u32;
    let (mut random, mut scan) = (None, None);
    let most = |of: &mut Option<u32>, depth: u32| *of = Some(of.unwrap_or(1).max(depth.clamp(1, DEPTH_MAX)));
    for phase in &study.phases {
        let flight = phase.kind.in_flight();
        if flight.is_in_order {
            let requests = flight.sessions.max(1).saturating_mul(flight.each.max(1));
            most(&mut scan, requests);
        } else {
            most(&mut random, flight.sessions);
        }
    }
    let load = |kind: Kind, bytes: u32| move |depth: u32| Load { kind, depth, bytes };
    let multiblock = page.saturating_mul(study.database.multiblock_read.max(1));
    [
        random.map(load(Kind::Reads, page)),
        random.map(load(Kind::Updates, page)),
        scan.map(load(Kind::Scan, multiblock)),
        scan.filter(|_| random.is_some()).map(|scans| {
            let pages = scans.saturating_mul(study.database.multiblock_read.max(1));
            load(Kind::Bursts, page)(pages.min(DEPTH_MAX))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The LUNs of one stack, as block devices.
pub(crate) struct Luns {
    pub(crate) data: Vec<PathBuf>,
    pub(crate) redo: Vec<PathBuf>,
    pub(crate) method: Method,
    pub(crate) seed: u64,
}

/// How the models under a stack keep up.
#[derive(Debug)]
pub(crate) struct Tried {
    /// Why they are not the devices that were asked for, if so.
    pub(crate) why_late: Option<String>,
    /// The shortest way of a read through the host to a model and back, over all kinds of requests; `None` where no
    /// model can answer sooner for it.
    pub(crate) way: Option<Nanos>,
}

/// Tries the models of these sets, which answer no sooner than their devices. What lay on the LUNs is lost.
pub(crate) fn keep_up(luns: &Luns, sets: &[ModelledSet<'_>], loads: &[Load]) -> anyhow::Result<Tried> {
    let names: Vec<String> = sets.iter().flat_map(|set| set.devices.iter().cloned()).collect();
    let count = || -> anyhow::Result<Vec<Value>> {
        let told = sets.iter().map(|set| set.service.ask(&service::count()));
        told.collect()
    };
    let mut way: Option<Nanos> = None;
    for (nth, load) in loads.iter().enumerate() {
        if nth == 0 {
            luns.ask(load, BEGIN_NS)?;
        }
        let (before, then) = (count()?, Snapshot::take(&names)?);
        luns.ask(load, TRY_NS)?;
        let (seen, now) = (Snapshot::take(&names)?.since(&then), count()?);
        for (nth, set) in sets.iter().enumerate().filter(|(_, set)| set.timed) {
            let pace = set.pace(&now[nth], Some(&before[nth]), &seen);
            if let Some(why) = pace.why_late(PROBE_SHARE) {
                let why_late = Some(format!("LUN set {}: {why}", set.set));
                return Ok(Tried { why_late, way: None });
            }
            let own = pace.way_ns().filter(|_| set.knows_ends);
            way = way.into_iter().chain(own.map(|ns| ns.max(0.0) as Nanos)).min();
        }
    }
    Ok(Tried { why_late: None, way })
}

impl Luns {
    fn ask(&self, load: &Load, for_ns: Nanos) -> anyhow::Result<()> {
        let all = self.data.iter().chain(&self.redo);
        let specs: Vec<OpenSpec> = all.map(|path| OpenSpec::writing(path, Access::Direct)).collect();
        let slots = load.depth as usize + 1;
        let memory = u64::from(load.bytes) * slots as u64;
        match self.method {
            Method::Ring => self.drive(&mut UringPort::open(&specs, memory, slots)?, load, for_ns),
            // One at a time is what this method does.
            Method::Pread => {
                let one = Load { depth: 1, ..*load };
                self.drive(&mut PsyncPort::open(&specs, memory, slots)?, &one, for_ns)
            }
        }
    }

    /// Each request is followed by the next of its place in the queue, until the time is over.
    fn drive(&self, port: &mut impl Port, load: &Load, for_ns: Nanos) -> anyhow::Result<()> {
        let mut requests = self.requests(port, *load)?;
        let slots = u64::from(load.depth) + u64::from(load.kind == Kind::Updates);
        let end = port.now() + for_ns;
        for slot in 0..slots.min(port.depth() as u64) {
            port.submit(requests.next(slot))?;
        }
        let mut done = Vec::new();
        while port.in_flight() > 0 {
            done.clear();
            port.wait(1, None, &mut done)?;
            let now = port.now();
            for completion in &done {
                if let Err(fault) = completion.result {
                    anyhow::bail!("a modelled LUN does not answer: {fault}\n  see the kernel log (dmesg)");
                }
                if now < end && load.kind != Kind::Bursts {
                    port.submit(requests.next(completion.token))?;
                }
            }
            if load.kind == Kind::Bursts && port.in_flight() == 0 && now < end {
                for slot in 0..slots.min(port.depth() as u64) {
                    port.submit(requests.next(slot))?;
                }
            }
        }
        Ok(())
    }

    fn requests(&self, port: &impl Port, load: Load) -> anyhow::Result<Requests> {
        // A log without LUNs of its own lies with the data.
        let log = if self.redo.is_empty() { 0 } else { self.data.len() };
        let blocks = |file: usize| -> anyhow::Result<u64> {
            let size = port.size(FileId(u16::try_from(file)?))?;
            Ok((size / u64::from(load.bytes)).max(1))
        };
        Ok(Requests {
            load,
            data: (0..self.data.len()).map(blocks).collect::<anyhow::Result<_>>()?,
            log: (FileId(u16::try_from(log)?), blocks(log)?),
            turns: vec![0; load.depth as usize + 1],
            random: SplitMix64::seed_from_u64(self.seed),
        })
    }
}

/// What follows what, for each place in the queue; the last place is the log's.
struct Requests {
    load: Load,
    /// Blocks of each LUN of the data.
    data: Vec<u64>,
    /// The log, and its blocks.
    log: (FileId, u64),
    turns: Vec<u64>,
    random: SplitMix64,
}

impl Requests {
    fn next(&mut self, slot: u64) -> Request {
        let turn = self.turns[slot as usize];
        self.turns[slot as usize] += 1;
        let of_log = slot == u64::from(self.load.depth);
        let (file, block) = if of_log {
            (self.log.0, turn / 2 % self.log.1)
        } else {
            self.place(slot, turn)
        };
        let op = match self.load.kind {
            _ if of_log && turn % 2 == 1 => Op::Flush,
            _ if of_log => Op::Write,
            Kind::Updates if slot % 2 == 1 => Op::Write,
            _ => Op::Read,
        };
        let bytes = u64::from(self.load.bytes);
        Request {
            op,
            file,
            offset: block * bytes,
            at: slot * bytes,
            len: self.load.bytes,
            token: slot,
        }
    }

    /// LUN and block of the data.
    fn place(&mut self, slot: u64, turn: u64) -> (FileId, u64) {
        let luns = self.data.len().max(1) as u64;
        let nth = match self.load.kind {
            Kind::Scan => slot % luns,
            Kind::Reads | Kind::Updates | Kind::Bursts => self.random.next_u64() % luns,
        };
        let blocks = self.data.get(nth as usize).copied().unwrap_or(1);
        let block = match self.load.kind {
            // Readers begin apart from each other.
            Kind::Scan => slot / luns * 97 + turn,
            Kind::Reads | Kind::Updates | Kind::Bursts => self.random.next_u64(),
        };
        (FileId(nth as u16), block % blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::luns::pace::Pace;

    /// A machine that adds `way_us` to each read of a device that takes `device_us`, one after the other for a second.
    fn machine(way_us: f64, device_us: f64) -> impl Fn(u32) -> anyhow::Result<Option<String>> {
        move |times: u32| {
            let own_us = device_us * f64::from(times);
            let reads = 1e6 / (own_us + way_us);
            let pace = Pace {
                elapsed_ns: 1e9,
                answered: reads,
                modelled_ns: reads * own_us * 1e3,
                reads,
                read_modelled_ns: reads * own_us * 1e3,
                read_seen_ns: Some(reads * (own_us + way_us) * 1e3),
                slower: f64::from(times),
                ..Pace::default()
            };
            Ok(pace.why_late(PROBE_SHARE))
        }
    }

    fn found(way_us: f64, device_us: f64) -> Found {
        smallest(&FACTORS, machine(way_us, device_us)).expect("figures")
    }

    #[test]
    fn the_smallest_factor_that_hides_the_way_is_taken() {
        assert_eq!(found(70.0, 8000.0), Found::Keeps(1, None), "a disk");
        let Found::Keeps(times, Some(why)) = found(70.0, 840.0) else {
            panic!("an array of flash can be played, more slowly");
        };
        assert_eq!(times, 5);
        assert!(why.contains("1750 us on average"), "{why}");
    }

    #[test]
    fn a_device_too_fast_for_any_machine_is_refused() {
        let Found::Never(why) = found(70.0, 1.0) else {
            panic!("70 us hide 1 us twenty times over");
        };
        assert!(
            why.contains("90 us on average, of which the model's device is 20 us"),
            "{why}"
        );
    }

    #[test]
    fn what_the_study_says_is_tried_alone() {
        let found = smallest(&[1], machine(70.0, 840.0)).expect("figures");
        assert!(matches!(found, Found::Never(_)), "{found:?}");
    }
}
