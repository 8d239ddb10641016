//! What the pools of ZFS under a phase do meanwhile, whichever way they go: counted before and after, and brought to
//! their devices at its end.
//!
//! Takes the pools of a stack that stands, or of the two of a copy; gives the ledger's measures. Prevents: a phase
//! that ends while a daemon still holds what was written, which no `syncfs` of a FUSE file system tells it to write,
//! and two pools with one figure each where the result file has room for one.

use crate::pool::arc_counts::ArcDid;
use crate::pool::pooled;
use ledger::Measure;
use stacks::{MountedPool, PoolCounted};
use std::path::Path;
use zpool::{Counted, Zpool};

/// Pools with what they had counted before.
#[derive(Default)]
pub(crate) struct Pools<'a> {
    /// In processes of ours.
    pub(crate) pooled: Vec<(&'a Zpool, Counted)>,
    /// With files on mounts.
    pub(crate) mounted: Vec<(MountedPool, PoolCounted)>,
}

/// What they did.
#[derive(Debug, Default)]
pub(crate) struct Did {
    pub(crate) measures: Vec<(Measure, f64)>,
    pub(crate) remarks: Vec<String>,
    /// Bytes in use on the LUNs of each; `None`: it does not tell.
    pub(crate) used_bytes: Vec<Option<u64>>,
    /// Memory of each process that runs pools.
    pub(crate) processes: Vec<u64>,
    /// The cache of the kernel's module, which is in no process and in no control group.
    pub(crate) machine_cache_bytes: u64,
}

impl Pools<'_> {
    /// Just before a phase.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        for (pool, before) in &mut self.pooled {
            *before = pool.count()?;
        }
        for (pool, before) in &mut self.mounted {
            *before = pool.count()?;
        }
        Ok(())
    }

    /// Everything dirty is on the devices.
    pub(crate) fn sync(&self) -> anyhow::Result<()> {
        for (pool, _) in &self.pooled {
            pool.sync()?;
        }
        for (pool, _) in &self.mounted {
            pool.sync()?;
        }
        Ok(())
    }

    /// Whether what is mounted there is a pool's.
    pub(crate) fn are_mounted_at(&self, place: &Path) -> bool {
        self.mounted.iter().any(|(pool, _)| pool.is_mounted_at(place))
    }

    /// What they did since the beginning.
    pub(crate) fn end(&self) -> anyhow::Result<Did> {
        let mut did = Did::default();
        for (pool, before) in &self.pooled {
            let after = pool.count()?;
            for figure in pooled::measures(before, &after) {
                did.add(figure);
            }
            let caches = before.arc.zip(after.arc);
            did.cache(caches.map(|(before, after)| ArcDid::pooled(&before, &after)));
            did.used_bytes
                .push(Some(after.pools.iter().map(|pool| pool.allocated_bytes).sum()));
            did.process(pooled::resident_bytes(pool));
        }
        for (pool, before) in &self.mounted {
            let after = pool.count()?;
            let percent = after.fragmentation_percent.map(|percent| percent as f64);
            let figures = [
                (Measure::DataCompressionRatio, after.compress_ratio),
                (Measure::PoolFragmentationPercent, percent),
            ];
            for (measure, value) in figures {
                value.into_iter().for_each(|value| did.add((measure, value)));
            }
            did.used_bytes.push(after.allocated_bytes);
            did.process(pool.daemon().and_then(observers::family_memory));
            let is_shared = pool.shares_its_cache();
            if is_shared && did.machine_cache_bytes > 0 {
                // Both sides of a copy have part in the one.
                continue;
            }
            let caches = before.arc.zip(after.arc);
            did.cache(caches.map(|(before, after)| ArcDid::mounted(&before, &after)));
            if let (true, Some(cache)) = (is_shared, after.arc) {
                did.machine_cache_bytes = cache.size_bytes;
            }
        }
        Ok(did)
    }
}

impl Did {
    fn cache(&mut self, did: Option<ArcDid>) {
        let Some(did) = did else { return };
        did.measures().into_iter().for_each(|figure| self.add(figure));
        self.remarks.extend(did.label());
    }

    fn process(&mut self, bytes: Option<u64>) {
        let Some(bytes) = bytes else { return };
        self.processes.push(bytes);
        self.add((Measure::PoolProcessBytes, bytes as f64));
    }

    /// Source and target of a copy have a figure each. What adds up is added; of the compression that which squeezes
    /// more stands, since either may be why devices move less than was asked; of the fragmentation the target's,
    /// which comes last.
    fn add(&mut self, (measure, value): (Measure, f64)) {
        let there = self.measures.iter_mut().find(|(known, _)| *known == measure);
        match (there, measure) {
            (None, _) => self.measures.push((measure, value)),
            (Some((_, there)), Measure::DataCompressionRatio) => *there = there.max(value),
            (Some((_, there)), Measure::PoolFragmentationPercent) => *there = value,
            (Some((_, there)), _) => *there += value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pools_give_one_figure_of_each_measure() {
        let mut did = Did::default();
        let (one, other) = (
            [
                (Measure::ArcBytes, 5.0),
                (Measure::DataCompressionRatio, 2.0),
                (Measure::PoolFragmentationPercent, 40.0),
            ],
            [
                (Measure::ArcBytes, 7.0),
                (Measure::DataCompressionRatio, 1.5),
                (Measure::PoolFragmentationPercent, 3.0),
            ],
        );
        one.into_iter().chain(other).for_each(|figure| did.add(figure));
        did.process(Some(100));
        did.process(None);
        did.process(Some(20));
        assert_eq!(
            did.measures,
            [
                (Measure::ArcBytes, 12.0),
                (Measure::DataCompressionRatio, 2.0),
                (Measure::PoolFragmentationPercent, 3.0),
                (Measure::PoolProcessBytes, 120.0),
            ]
        );
        assert_eq!(did.processes, [100, 20]);
    }
}
