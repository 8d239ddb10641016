//! Ring or `pread`: measured once on the place a study will use.
//!
//! Takes a file or device, gives both rates and the choice. Prevents a ring that hands each request to a kernel worker,
//! which it does where the device completes inside submission (zram), from being taken for slow storage.

use crate::error::TargetError;
use crate::measure::{Measured, Until, measure_reads};
use crate::open::OpenSpec;
use crate::ports::psync::PsyncPort;
use crate::ports::uring::UringPort;

const BLOCK: u32 = 8192;
const DEPTH: usize = 64;
const TURNS: u64 = 4;
const TURN_SECONDS: f64 = 0.1;
/// `pread` has to be better by this factor: the ring also serves what comes later at greater depth.
const PREAD_ADVANTAGE: f64 = 1.1;

/// How I/O is issued.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// io_uring.
    #[default]
    Ring,
    /// `pread` and `pwrite`, one at a time a worker.
    Pread,
}

impl Method {
    /// As results name it.
    pub fn word(self) -> &'static str {
        match self {
            Method::Ring => "ring",
            Method::Pread => "pread",
        }
    }
}

/// What was measured, and what follows.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Random 8 KiB reads a second through the ring at depth 64; `None` where there is no ring.
    pub ring_iops: Option<f64>,
    /// Random 8 KiB reads a second of one thread in `pread`.
    pub pread_iops: f64,
    /// The better one; the ring unless `pread` has 1.1 times its rate or there is no ring.
    pub chosen: Method,
    /// Why there is no ring.
    pub ring_refused: Option<String>,
}

#[derive(Default)]
struct Sum {
    ios: u64,
    elapsed_ns: u64,
}

impl Sum {
    fn add(&mut self, turn: &Measured) {
        self.ios += turn.ios;
        self.elapsed_ns += turn.elapsed_ns;
    }

    fn rate(&self) -> f64 {
        if self.elapsed_ns == 0 {
            0.0
        } else {
            self.ios as f64 * 1e9 / self.elapsed_ns as f64
        }
    }
}

/// Measures a file or device of at least 8 KiB for about a second: four turns of each in alternation, after one of each
/// that does not count. Reads only.
pub fn choose(spec: &OpenSpec, seed: u64) -> Result<Choice, TargetError> {
    let specs = [OpenSpec {
        writable: false,
        create: None,
        ..spec.clone()
    }];
    let memory = u64::from(BLOCK) * DEPTH as u64;
    let mut pread = PsyncPort::open(&specs, memory, 1)?;
    let (mut ring, ring_refused) = match UringPort::open(&specs, memory, DEPTH) {
        Ok(ring) => (Some(ring), None),
        Err(e @ TargetError::Ring { .. }) => (None, Some(e.to_string())),
        Err(e) => return Err(e),
    };
    let (mut ring_sum, mut pread_sum) = (Sum::default(), Sum::default());
    for turn in 0..=TURNS {
        let (seconds, seed) = (
            if turn == 0 { TURN_SECONDS / 4.0 } else { TURN_SECONDS },
            seed.wrapping_add(turn),
        );
        let ring_turn = ring
            .as_mut()
            .map(|ring| measure_reads(ring, BLOCK, DEPTH, Until::Seconds(seconds), seed))
            .transpose()?;
        let pread_turn = measure_reads(&mut pread, BLOCK, 1, Until::Seconds(seconds), seed)?;
        if turn > 0 {
            ring_turn.iter().for_each(|turn| ring_sum.add(turn));
            pread_sum.add(&pread_turn);
        }
    }
    let (ring_iops, pread_iops) = (ring.map(|_| ring_sum.rate()), pread_sum.rate());
    let chosen = match ring_iops {
        Some(ring) if pread_iops < PREAD_ADVANTAGE * ring => Method::Ring,
        _ => Method::Pread,
    };
    Ok(Choice {
        ring_iops,
        pread_iops,
        chosen,
        ring_refused,
    })
}
