//! What an instance has counted since it was opened, and what its process has taken.
//!
//! Takes what a process says at the end of each phase; refuses what no engine counts. Prevents: a difference of counts
//! below zero, and a sum beyond what a number holds.

use anyhow::{Context, ensure};
use pages::Counters;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// As it was at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settled {
    #[serde(with = "CountersWire")]
    pub(crate) counters: Counters,
    /// Distinct pages that the phase changed and that came home.
    pub(crate) overwritten_pages: u64,
    /// Checkpoints since it settled last, of its worker that had the fewest.
    pub(crate) checkpoints_least: u64,
    pub(crate) cpu_ns: u64,
    /// Most memory since it settled last, in bytes; `None`: the kernel does not tell.
    pub(crate) memory_bytes: Option<u64>,
}

/// No process comes to more of anything, and the sums of 256 instances are numbers of 64 bits.
const MOST: u64 = 1 << 55;

impl Settled {
    /// This one, if it can follow `before`, of the same instance.
    pub(super) fn after(self, before: &Settled) -> anyhow::Result<Settled> {
        let counts = |of: &Settled| -> anyhow::Result<Vec<u64>> {
            let written = serde_json::to_value(CountersWireOut(of.counters)).context("write counts")?;
            let counts = written.as_object().into_iter().flatten();
            Ok(counts
                .filter_map(|(_, count)| Value::as_u64(count))
                .chain([of.cpu_ns])
                .collect())
        };
        let (now, then) = (counts(&self)?, counts(before)?);
        let others = [
            self.overwritten_pages,
            self.checkpoints_least,
            self.memory_bytes.unwrap_or(0),
        ];
        ensure!(
            now.iter().chain(&others).all(|count| *count <= MOST)
                && now.iter().zip(&then).all(|(now, then)| now >= then),
            "a count is too large, or smaller than it was"
        );
        Ok(self)
    }
}

/// What the worker with the least has more of than before.
pub(crate) fn fewest(before: &[u64], after: &[u64]) -> u64 {
    let each = before
        .iter()
        .zip(after)
        .map(|(before, after)| after.saturating_sub(*before));
    each.min().unwrap_or(0)
}

/// Its fields by name, so that none is forgotten.
#[derive(Serialize)]
struct CountersWireOut(#[serde(with = "CountersWire")] Counters);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Counters")]
struct CountersWire {
    logical_reads: u64,
    cache_hits: u64,
    physical_reads: u64,
    physical_read_bytes: u64,
    multiblock_reads: u64,
    multiblock_read_bytes: u64,
    scan_rereads: u64,
    verified_pages: u64,
    pages_written: u64,
    data_writes: u64,
    data_write_bytes: u64,
    doublewrite_bytes: u64,
    data_flushes: u64,
    redo_records: u64,
    redo_record_bytes: u64,
    redo_writes: u64,
    redo_write_bytes: u64,
    redo_flushes: u64,
    commits: u64,
    page_images: u64,
    page_image_bytes: u64,
    checkpoints: u64,
    frame_waits: u64,
    redo_waits: u64,
    dirty_pages_max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(commits: u64, dirty_pages_max: u64, cpu_ns: u64) -> Settled {
        Settled {
            counters: Counters {
                commits,
                dirty_pages_max,
                ..Counters::default()
            },
            cpu_ns,
            ..Settled::default()
        }
    }

    #[test]
    fn counts_grow_and_stay_in_bounds() {
        let before = counted(5, 7, 100);
        assert!(before.after(&Settled::default()).is_ok());
        assert!(before.after(&before).is_ok());
        for wrong in [
            counted(4, 7, 100),
            counted(5, 6, 100),
            counted(5, 7, 99),
            counted(u64::MAX, 7, 100),
            counted(5, 7, u64::MAX),
            Settled {
                overwritten_pages: u64::MAX,
                ..before
            },
            Settled {
                checkpoints_least: u64::MAX,
                ..before
            },
            Settled {
                memory_bytes: Some(u64::MAX),
                ..before
            },
        ] {
            assert!(wrong.after(&before).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_worker_with_the_fewest_counts() {
        assert_eq!(fewest(&[5, 0], &[9, 1]), 1);
        assert_eq!(fewest(&[], &[]), 0);
    }

    /// Both are of one phase alone.
    #[test]
    fn pages_and_memory_of_a_phase_may_be_fewer_than_before() {
        let with = |overwritten_pages, memory_bytes| Settled {
            overwritten_pages,
            memory_bytes,
            ..counted(5, 7, 100)
        };
        assert!(with(1, Some(1)).after(&with(2, Some(2))).is_ok());
        assert!(with(0, None).after(&with(2, Some(2))).is_ok());
    }
}
