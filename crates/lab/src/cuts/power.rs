//! The power of modelled LUNs: cut at one moment under a whole stack, and back again with what survived.
//!
//! Takes the LUN sets of a trial; gives them back with what survived. Prevents: a page cache of a block device that
//! remembers after the cut what its LUN has lost.

use crate::host::stand::Stand;
use crate::luns::service::Service;
use crate::luns::sets::LunSets;
use anyhow::Context;

use serde_json::json;
use stacks::MountedPool;
use zpool::Zpool;

/// The LUNs of a stack that can lose their power.
pub(crate) struct Power<'a> {
    services: Vec<&'a Service>,
    loops: Vec<u32>,
    /// The process of the pool on them, which has the power of the same machine.
    process: Option<Zpool>,
    /// The same of a pool whose files are on mounts.
    mounted: Option<&'a MountedPool>,
}

impl<'a> Power<'a> {
    pub(crate) fn of(luns: &'a LunSets, stand: &'a Stand, process: Option<&Zpool>) -> Power<'a> {
        Power {
            services: luns.services_of(&stand.stack),
            loops: luns.loops_of(&stand.stack),
            process: process.cloned(),
            mounted: stand.built.ground.mounted_pool(),
        }
    }

    /// From now on every request fails.
    pub(crate) fn stop(&self) -> anyhow::Result<()> {
        // Before the LUNs, as a host that loses its power says nothing any more: OpenZFS takes a flush that fails for
        // one that was done, and would acknowledge what its disks, which have just lost theirs, did not keep. The
        // kernel's file systems hand such an error on.
        if let Some(process) = &self.process {
            process.kill();
        }
        if let Some(pool) = self.mounted {
            pool.kill().context("end zfs-fuse with its LUNs' power")?;
        }
        for service in &self.services {
            service.ask(&json!({ "do": "stop power" }))?;
        }
        Ok(())
    }

    /// The kernel forgets what it holds of the LUNs: nothing that stood on them may be left.
    pub(crate) fn forget(&self) -> anyhow::Result<()> {
        for number in &self.loops {
            luns::forget(*number)?;
        }
        Ok(())
    }

    /// What was not flushed is lost in part, by `seed`; then the LUNs are there again. Bytes that were unflushed, and
    /// bytes lost.
    pub(crate) fn lose_and_restore(&self, seed: u64) -> anyhow::Result<(u64, u64)> {
        let (mut held, mut lost) = (0, 0);
        // Whoever stands on the files themselves is told of no sectors larger than the smallest.
        let sectors = self.loops.iter().filter_map(|number| luns::sector_bytes(*number));
        let sector_bytes = sectors.min().unwrap_or(luns::serve::SECTOR_BYTES as u32);
        for (nth, service) in self.services.iter().enumerate() {
            let seed = seed ^ (nth as u64) << 16;
            let answer = service.ask(&json!({ "do": "lose", "seed": seed, "sector_bytes": sector_bytes }))?;
            held += answer["held"].as_u64().context("bytes")?;
            lost += answer["lost"].as_u64().context("bytes")?;
            service.ask(&json!({ "do": "restore power" }))?;
        }
        Ok((held, lost))
    }
}
