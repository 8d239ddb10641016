//! What ends the work of a phase, and how its stack comes back: a power cut of modelled LUNs, or a kill on any.
//!
//! Takes a stack that stands; takes it down and brings it up. A kill forces down the file systems that the study
//! made, so that what the page cache holds of them is lost, and ends the process of a pool; under a disk group, a raw
//! device or a directory of the user's it takes the engine alone. Prevents: a check on real devices that passes for a
//! power cut, and a file system of the user's that is shut down or unmounted.

use crate::cuts::power::Power;
use crate::host::stand::Stand;
use crate::luns::sets::LunSets;
use anyhow::Context;
use plan::End;
use stacks::{Journal, MountedPool, StackError};
use std::sync::atomic::{AtomicBool, Ordering};
use zpool::Zpool;

/// What ends the work of one stack.
pub(crate) enum Ending<'a> {
    /// Its LUNs lose their power.
    Cut(Power<'a>),
    /// Its engine is killed.
    Kill(Kill<'a>),
}

/// A kill, and what goes with it.
pub(crate) struct Kill<'a> {
    stand: &'a Stand,
    /// The process of its pool.
    process: Option<Zpool>,
    /// A pool whose files are on mounts, and whose process can be ended: not the kernel's.
    mounted: Option<&'a MountedPool>,
    /// Its file systems were forced down.
    forced: AtomicBool,
}

/// What went with the end of the work, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    /// Bytes that lay unflushed in modelled LUNs, and how many of them were lost.
    pub(crate) held_bytes: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) with: With,
}

/// What a kill took with the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum With {
    /// Nothing: the page cache, or the cache of the kernel's ZFS, stays.
    #[default]
    Nothing,
    /// What the page cache held of file systems that were forced down.
    FileSystems,
    /// What the process of its pool held.
    PoolProcess,
}

impl<'a> Ending<'a> {
    /// Of a stack, `process` being that of its pool in user space.
    pub(crate) fn of(end: End, luns: &'a LunSets, stand: &'a Stand, process: Option<&Zpool>) -> Ending<'a> {
        match end {
            End::PowerCut => Ending::Cut(Power::of(luns, stand, process)),
            End::Kill => Ending::Kill(Kill {
                stand,
                process: process.cloned(),
                mounted: stand
                    .built
                    .ground
                    .mounted_pool()
                    .filter(|pool| !pool.shares_its_cache()),
                forced: AtomicBool::new(false),
            }),
        }
    }

    /// Under a kill the engine has to end by itself: no storage fails under it.
    pub(crate) fn kind(&self) -> End {
        match self {
            Ending::Cut(_) => End::PowerCut,
            Ending::Kill(_) => End::Kill,
        }
    }

    /// Whether what is acknowledged once this end has begun says nothing: a host without power acknowledges nothing,
    /// but here it lives on, and md takes a flush that all its LUNs refuse for one that was done. Other stacks hand
    /// such an error on, and are held to that.
    pub(crate) fn silences(&self, stand: &Stand) -> bool {
        let volume = stand.stack.kind.volume();
        self.kind() == End::PowerCut && volume.is_some_and(plan::Volume::passes_no_flush_errors)
    }

    /// From now on nothing of the stack is written any more, as far as that can be had.
    pub(crate) fn strike(&self) -> anyhow::Result<()> {
        let kill = match self {
            Ending::Cut(power) => return power.stop(),
            Ending::Kill(kill) => kill,
        };
        if let Some(process) = &kill.process {
            process.kill();
        }
        if let Some(pool) = kill.mounted {
            pool.kill().context("end zfs-fuse with its engine")?;
        }
        let forced = stacks::force_down(&kill.stand.built)?;
        kill.forced.store(forced, Ordering::SeqCst);
        Ok(())
    }

    /// Takes down what the end left standing; of unflushed writes of modelled LUNs a part is lost, by `seed`.
    pub(crate) fn take_down(&self, stand: &Stand, seed: u64) -> anyhow::Result<Gone> {
        match self {
            Ending::Cut(power) => {
                stacks::power_off(&stand.built)?;
                power.forget()?;
                let (held_bytes, lost_bytes) = power.lose_and_restore(seed)?;
                Ok(Gone {
                    held_bytes,
                    lost_bytes,
                    with: With::Nothing,
                })
            }
            Ending::Kill(kill) => {
                if kill.is_down() {
                    stacks::power_off(&stand.built)?;
                }
                Ok(Gone {
                    with: kill.with(),
                    ..Gone::default()
                })
            }
        }
    }

    /// Mounts or imports again what was taken down; tools that do it hold the journal.
    pub(crate) fn bring_up(&self, stand: &Stand, journal: &Journal) -> Result<(), StackError> {
        match self {
            Ending::Kill(kill) if !kill.is_down() => Ok(()),
            _ => stacks::power_on(&stand.stack, &stand.built, journal),
        }
    }
}

impl Kill<'_> {
    fn with(&self) -> With {
        if self.process.is_some() || self.mounted.is_some() {
            With::PoolProcess
        } else if self.forced.load(Ordering::SeqCst) {
            With::FileSystems
        } else {
            With::Nothing
        }
    }

    /// Whether anything of the stack's mounts has to come back.
    fn is_down(&self) -> bool {
        self.forced.load(Ordering::SeqCst) || self.mounted.is_some()
    }
}
