//! What pools of ZFS whose files are on mounts do during a phase: counted before and after, and brought to their devices at its end.
//!
//! Takes the pools of a stack that stands, gives the ledger's measures. Prevents: a phase that ends while the daemon still holds what was
//! written, which no `syncfs` of a FUSE file system tells it to write.

use ledger::Measure;
use stacks::{MountedPool, PoolCounted};

/// Shares of accesses under this are not worth a remark.
const ARC_SHARE_TOLD: f64 = 0.1;
/// Nor are accesses so few.
const ARC_ACCESSES_TOLD: u64 = 1000;

/// Measures, and remarks.
pub(crate) type Told = (Vec<(Measure, f64)>, Vec<String>);

/// The pools of a stack, or of the two of a copy.
#[derive(Debug, Default)]
pub(crate) struct Mounted(Vec<(MountedPool, PoolCounted)>);

impl Mounted {
    pub(crate) fn new<'a>(pools: impl IntoIterator<Item = &'a MountedPool>) -> Mounted {
        let counted = |pool: &MountedPool| (pool.clone(), PoolCounted::default());
        Mounted(pools.into_iter().map(counted).collect())
    }

    /// Just before a phase.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        for (pool, before) in &mut self.0 {
            *before = pool.count()?;
        }
        Ok(())
    }

    /// Everything dirty is on the devices.
    pub(crate) fn sync(&self) -> anyhow::Result<()> {
        for (pool, _) in &self.0 {
            pool.sync()?;
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the phase did, and what there is to say of it. Bytes used are the pools', if all tell them.
    pub(crate) fn end(&self) -> anyhow::Result<Told> {
        let (mut measures, mut remarks) = (Vec::new(), Vec::new());
        let mut used = Some(0);
        for (pool, before) in &self.0 {
            let after = pool.count()?;
            used = used.zip(after.allocated_bytes).map(|(sum, bytes)| sum + bytes);
            measures.extend(after.compress_ratio.map(|ratio| (Measure::DataCompressionRatio, ratio)));
            let percent = after.fragmentation_percent.map(|percent| percent as f64);
            measures.extend(percent.map(|percent| (Measure::PoolFragmentationPercent, percent)));
            if let (Some(old), Some(new)) = (before.arc, after.arc) {
                let since = |of: fn(&stacks::ArcCounted) -> u64| of(&new).saturating_sub(of(&old));
                let (hits, misses) = (since(|arc| arc.data_hits), since(|arc| arc.data_misses));
                measures.extend([
                    (Measure::ArcBytes, new.size_bytes as f64),
                    (Measure::ArcMaxBytes, new.max_bytes as f64),
                    (Measure::ArcHits, since(|arc| arc.hits) as f64),
                    (Measure::ArcMisses, since(|arc| arc.misses) as f64),
                    (Measure::ArcDataHits, hits as f64),
                    (Measure::ArcDataMisses, misses as f64),
                ]);
                remarks.extend(told(hits, misses));
            }
        }
        measures.extend(
            used.filter(|_| !self.is_empty())
                .map(|bytes| (Measure::LunUsedBytes, bytes as f64)),
        );
        Ok((measures, remarks))
    }

    /// Memory of the processes that run the pools.
    pub(crate) fn processes(&self) -> Vec<u64> {
        let memory = |(pool, _): &(MountedPool, PoolCounted)| observers::family_memory(pool.daemon()?);
        self.0.iter().filter_map(memory).collect()
    }
}

/// The cache in the way, in words.
fn told(hits: u64, misses: u64) -> Option<String> {
    let all = hits + misses;
    let share = hits as f64 / all.max(1) as f64;
    (all >= ARC_ACCESSES_TOLD && share >= ARC_SHARE_TOLD)
        .then(|| format!("the ARC had {:.0} % of {all} accesses to data", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_cache_served_is_said_where_it_matters() {
        assert_eq!(
            told(900, 100).as_deref(),
            Some("the ARC had 90 % of 1000 accesses to data")
        );
        assert_eq!(told(9, 1), None, "a handful");
        assert_eq!(told(50, 10_000), None, "hardly any");
    }
}
