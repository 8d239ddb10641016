//! A disk group that changes under its workers: disks join and leave, and what must move is moved. And what any stack
//! must do that changes so.

use crate::group::grouped::{Grouped, OWNER_DEPTH, OWNER_MEMORY};
use diskgroup::{DiskInfo, DiskSpec, Step};
use plan::Rebalance;
use std::sync::atomic::{AtomicBool, Ordering};
use targets::Port;

/// What can change its LUNs under its workers.
pub(crate) trait Changes {
    /// Gets ready for a change; what is given does it, on a thread of its own.
    fn change<'a>(&'a self, asked: &'a Rebalance, seed: u64) -> anyhow::Result<Box<Change<'a>>>;

    /// I/Os in flight that the change keeps to; `None`: it paces itself.
    fn power(&self, asked: &Rebalance) -> Option<u32>;
}

/// Memory of the port that moves extents, for each I/O that it may have in flight, and in all.
const UPKEEP_IO_BYTES: u64 = 1 << 20;
const UPKEEP_MEMORY_MAX: u64 = 64 << 20;
/// Changes the disks, moves what must move, and returns when that is done, cannot be done, or it is to stop.
pub(crate) type Change<'a> = dyn FnOnce(&mut Meanwhile<'_>) -> anyhow::Result<Moved> + Send + 'a;

/// What goes on beside a change.
pub(crate) struct Meanwhile<'a> {
    /// Set when it is to stop.
    pub(crate) stop: &'a AtomicBool,
    /// Hears from time to time how far it is.
    pub(crate) tell: &'a dyn Fn(HowFar),
    /// Called after each step: brings other instances what the group tells, and the group their answers.
    pub(crate) carry: &'a mut dyn FnMut() -> anyhow::Result<()>,
}

/// How far a move is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HowFar {
    pub(crate) moved_bytes: u64,
    pub(crate) left_bytes: u64,
    pub(crate) time_left_ns: Option<u64>,
}

/// What a change came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) moved_bytes: u64,
    /// What had to move so that each disk holds its share by size.
    pub(crate) ideal_bytes: u64,
    pub(crate) elapsed_ns: u64,
    /// Bytes moved so far, by the time since the beginning of the change in nanoseconds.
    pub(crate) course: Vec<(u64, u64)>,
    /// Why not all of it was done.
    pub(crate) unfinished: Option<String>,
}

/// How often a rebalance tells how far it is.
const TELL_NS: u64 = 250_000_000;

impl Changes for Grouped {
    fn power(&self, asked: &Rebalance) -> Option<u32> {
        Some(asked.power)
    }

    fn change<'a>(&'a self, asked: &'a Rebalance, seed: u64) -> anyhow::Result<Box<Change<'a>>> {
        let power = asked.power as usize;
        let memory = (power as u64 * UPKEEP_IO_BYTES).clamp(OWNER_MEMORY, UPKEEP_MEMORY_MAX);
        // Opened here, so that what cannot be opened is said before the work begins.
        let port = self
            .opener
            .open(self.inject, &self.files, memory, power.max(OWNER_DEPTH))?;
        let mut upkeep = self.group.upkeep(port);
        upkeep.set_power(asked.power);
        let change = move |meanwhile: &mut Meanwhile<'_>| {
            let before = upkeep.progress().moved_bytes;
            let began = upkeep.port_mut().now();
            let ideal_bytes = self.ask(asked, seed)?;
            let mut moved = Moved {
                ideal_bytes,
                ..Moved::default()
            };
            let mut told = 0;
            let ended = loop {
                let step = upkeep.step(true)?;
                (meanwhile.carry)()?;
                let elapsed = upkeep.port_mut().now().saturating_sub(began);
                let over = step != Step::Working || meanwhile.stop.load(Ordering::Relaxed);
                if over || elapsed - told >= TELL_NS {
                    told = elapsed;
                    let progress = upkeep.progress();
                    moved.course.push((elapsed, progress.moved_bytes - before));
                    (meanwhile.tell)(HowFar {
                        moved_bytes: progress.moved_bytes - before,
                        left_bytes: progress.left_bytes,
                        time_left_ns: progress.time_left_ns,
                    });
                }
                if over {
                    moved.elapsed_ns = elapsed;
                    break step;
                }
            };
            moved.moved_bytes = upkeep.progress().moved_bytes - before;
            moved.unfinished = match ended {
                Step::Idle => None,
                Step::Working => Some("the rebalance was stopped half-way".to_string()),
                Step::Stuck | Step::Paused => {
                    Some("the rebalance could not move all it had to: the disks that stay have no room".to_string())
                }
            };
            Ok(moved)
        };
        Ok(Box::new(change))
    }
}

impl Grouped {
    /// Adds and drops the disks that were asked for; gives the bytes that must move for it.
    fn ask(&self, asked: &Rebalance, seed: u64) -> anyhow::Result<u64> {
        let before = self.group.disks();
        let new: Vec<DiskSpec> = asked
            .add
            .iter()
            .filter_map(|lun| self.disks.get(*lun as usize).cloned())
            .collect();
        if !new.is_empty() {
            self.group.add_disks(&new, self.seed ^ seed)?;
        }
        for lun in &asked.drop {
            self.group.drop_disk(&format!("disk{lun}"))?;
        }
        Ok(ideal_bytes(&before, &self.group.disks()))
    }
}

/// Bytes that must come to disks which have less than their share, by size, of what is on all of them.
fn ideal_bytes(before: &[DiskInfo], after: &[DiskInfo]) -> u64 {
    let used = |disk: &DiskInfo| disk.total_bytes - disk.free_bytes;
    let had = |name: &str| before.iter().find(|disk| disk.name == name).map_or(0, used);
    let all: u64 = before.iter().map(used).sum();
    let staying: Vec<&DiskInfo> = after.iter().filter(|disk| !disk.dropping).collect();
    let room: u64 = staying.iter().map(|disk| disk.total_bytes).sum();
    let share = |disk: &DiskInfo| (u128::from(all) * u128::from(disk.total_bytes) / u128::from(room.max(1))) as u64;
    staying
        .iter()
        .map(|disk| share(disk).saturating_sub(had(&disk.name)))
        .sum()
}
