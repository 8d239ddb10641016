//! Stacks of kind `zfs` whose pools are made by commands and whose files are on mounted datasets: the kernel's module,
//! and zfs-fuse.
//!
//! Takes the stack's properties and LUNs, gives a [`Built`] with a mount for the data and one for the redo log. One
//! story for both ways. Prevents: a way that is tested and another that is only like it.

mod awake;
mod bounds;
pub(crate) mod cleared;
pub(crate) mod commands;
mod counts;
pub(crate) mod daemon;
mod enter;
pub(crate) mod module;
mod mounted;
mod ways;

pub use counts::{ArcCounted, PoolCounted};
pub use mounted::MountedPool;
pub use ways::{WayHere, zfs_ways};

use crate::built::{Built, layers, own_name};
use crate::error::StackError;
use crate::ground::{FilePair, Ground};
use crate::journal::Journal;
use crate::places::Places;
use cleared::claimed;
use mounted::{DATA, REDO, pools_on};
use plan::{Stack, Zfs, ZfsWay};
use sandbox::Directory;

/// Makes the pools of a stack, with a dataset for the data and one for the redo log.
pub(crate) fn build(
    stack: &Stack,
    (zfs, way): (&Zfs, ZfsWay),
    places: &Places,
    work_dir: &Directory,
    journal: &mut Journal,
) -> Result<Built, StackError> {
    let mark = journal.mark();
    let refuse = |(why, cure): (String, String)| StackError::Unbuildable {
        stack: stack.name.clone(),
        why,
        cure,
    };
    let programs = match way {
        ZfsWay::Kernel => ways::kernel_programs(),
        _ => ways::fuse_programs(),
    };
    let programs = programs.map_err(refuse)?;
    if let Some(lack) = zfs.lacks(way).into_iter().next() {
        return Err(refuse((lack.why, lack.cure)));
    }
    let luns = claimed(zfs, places, journal)?;
    let name = own_name(journal, stack, "-zfs");
    let dir = journal.make_directory(work_dir, &name, 0o711, true)?;
    let pools = pools_on(places, &luns.owners, zfs.vdevs);
    let pool = MountedPool::planned(zfs, way, programs, dir.path().to_owned(), pools);
    pool.make(journal)?;
    let facts = pool.facts()?;
    let stat = rustix::fs::statvfs(&pool.datasets[0].place)
        .map_err(|e| StackError::path("look at", &pool.datasets[0].place, e, "check the kernel log (dmesg)"))?;
    let top = match way {
        ZfsWay::Fuse => "zfs-fuse 23",
        _ => "zfs",
    };
    let [data, redo] = [(0, DATA), (1, REDO)].map(|(number, name): (usize, _)| pool.datasets[number].place.join(name));
    let mounts = pool.datasets.iter().map(|dataset| dataset.place.clone()).collect();
    let ground = Ground::MountedPool {
        files: FilePair { data, redo },
        pool: Box::new(pool),
        owners: luns.owners,
    };
    Ok(Built {
        mounts,
        facts,
        usable_bytes: Some(stat.f_bavail * stat.f_frsize),
        own: vec![dir],
        ..Built::on(ground, places, layers(top, &places.data), mark)
    })
}
