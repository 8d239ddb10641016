//! The upkeep: one that copies beside the workers, an extent at a time under exclusion, as fast as its power allows.
//!
//! A batch of extents is *held* (ports keep back writes to them), copied when every port has taken note, recorded, and
//! let go. It is driven by calls of [`Upkeep::step`], so that it can run on a thread of its own or between the steps of
//! a test. A crash at any moment leaves the extents where they were or where they are going. Prevents: a write that is
//! lost because it fell between the reading and the writing of a copy.

pub(crate) mod batch;
mod even;
pub(crate) mod jobs;
pub(crate) mod plan;
mod planning;
pub(crate) mod repair;
pub(crate) mod settle;

use crate::error::GroupError;
use crate::metadata::core::{Core, Limbo};
use crate::metadata::space::Run;
use crate::planted::Planted;
use crate::port::board::Board;
use crate::port::open::locked;
use crate::upkeep::batch::Copying;
use crate::upkeep::jobs::{Job, Kind};
use crate::upkeep::plan::Plan;
use std::sync::{Arc, Mutex};
use targets::{Nanos, Port};

/// Most extents of a batch.
const BATCH_MAX: usize = 16;
/// How long a blocking step waits for ports before it looks again.
const LOOK_AGAIN_NS: u64 = 100_000;
/// Highest power.
pub(crate) const POWER_MAX: u32 = 1024;

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// There is nothing to do.
    Idle,
    /// The power is 0.
    Paused,
    /// Work is under way: I/O, or ports that have not taken note yet.
    Working,
    /// Something is to be done and cannot: no space, no good copy, a dropped disk that is not empty.
    Stuck,
}

/// How far the upkeep has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Bytes of moved extents since this rebalance began.
    pub moved_bytes: u64,
    /// Bytes of stale copies made anew.
    pub resynced_bytes: u64,
    /// Extents compared because a copy was suspected.
    pub mended_extents: u64,
    /// Bytes that are planned and not done.
    pub left_bytes: u64,
    /// Estimate from the rate so far, in nanoseconds; `None` before anything was copied.
    pub time_left_ns: Option<Nanos>,
}

enum Phase {
    Idle,
    Holding(u64),
    Copying,
}

/// The upkeep of a group. Made by [`crate::Group::upkeep`].
pub struct Upkeep<P: Port> {
    core: Arc<Mutex<Core<P>>>,
    board: Arc<Board>,
    port: P,
    power: u32,
    phase: Phase,
    plan: Plan,
    /// Version of the layout for which there was nothing more to plan.
    planned_for: Option<u64>,
    /// Something that must move found no room.
    cramped: bool,
    /// That was known before this batch, so that all of it is what must move.
    batch_cramped: bool,
    jobs: Vec<Job>,
    copying: Copying,
    limbo: Vec<Limbo>,
    progress: Progress,
    began_at: Option<Nanos>,
}

impl<P: Port> Upkeep<P> {
    pub(crate) fn new(core: Arc<Mutex<Core<P>>>, board: Arc<Board>, port: P) -> Upkeep<P> {
        let geometry = locked(&core).geometry;
        Upkeep {
            core,
            board,
            power: 1,
            phase: Phase::Idle,
            plan: Plan::new(geometry),
            planned_for: None,
            cramped: false,
            batch_cramped: false,
            jobs: Vec::new(),
            copying: Copying::default(),
            limbo: Vec::new(),
            progress: Progress {
                moved_bytes: 0,
                resynced_bytes: 0,
                mended_extents: 0,
                left_bytes: 0,
                time_left_ns: None,
            },
            began_at: None,
            port,
        }
    }

    /// Bounds the I/Os in flight: 0 (stands still after the batch under way) to 1024. 1 at first.
    pub fn set_power(&mut self, power: u32) {
        self.power = power.min(POWER_MAX);
    }

    /// The power.
    pub fn power(&self) -> u32 {
        self.power
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        let mut progress = self.progress;
        progress.left_bytes = self.plan.bytes();
        let copied = progress.moved_bytes + progress.resynced_bytes;
        if let Some(began) = self.began_at.filter(|_| copied > 0) {
            let elapsed = self.port.now().saturating_sub(began);
            let left = u128::from(elapsed) * u128::from(progress.left_bytes) / u128::from(copied);
            progress.time_left_ns = Some(left as u64);
        }
        progress
    }

    /// The port, to look at.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    /// Does the next thing. With `block` it waits for I/O and for ports, a moment at a time; without, it only looks.
    /// Ports on the same thread must be waited on between steps, or it never gets on.
    ///
    /// # Errors
    /// Those of the group and of the port. Faults of single disks are dealt with.
    pub fn step(&mut self, block: bool) -> Result<Step, GroupError> {
        match self.phase {
            Phase::Idle => self.begin_batch(block),
            Phase::Holding(epoch) => {
                if !self.board.all_reached(epoch) && !self.is_careless(epoch) {
                    return self.pause(block);
                }
                let core = locked(&self.core);
                self.copying.begin(&self.jobs, &core, &self.port);
                drop(core);
                self.phase = Phase::Copying;
                Ok(Step::Working)
            }
            Phase::Copying => {
                if !self
                    .copying
                    .drive(&mut self.jobs, &mut self.port, self.power.max(1) as usize, block)?
                {
                    return Ok(Step::Working);
                }
                self.end_batch()
            }
        }
    }

    /// Steps until there is nothing to do, or nothing can be done. For a thread of its own.
    ///
    /// # Errors
    /// As [`Upkeep::step`].
    pub fn run(&mut self) -> Result<Step, GroupError> {
        loop {
            match self.step(true)? {
                Step::Working => {}
                ended => return Ok(ended),
            }
        }
    }

    /// A planted bug: it begins to copy without having asked everybody.
    fn is_careless(&self, epoch: u64) -> bool {
        Planted::MoveUnguarded.on() || Planted::OthersNotAsked.on() && self.board.own_reached(epoch)
    }

    fn pause(&mut self, block: bool) -> Result<Step, GroupError> {
        if block {
            let until = self.port.now() + LOOK_AGAIN_NS;
            self.port.wait(1, Some(until), &mut Vec::new())?;
        }
        Ok(Step::Working)
    }

    /// Gives units back that nobody can be reading any more, those of an upkeep before this one among them.
    fn reclaim(&mut self) {
        self.limbo.append(&mut locked(&self.core).limbo);
        let board = &self.board;
        let (done, kept) = std::mem::take(&mut self.limbo)
            .into_iter()
            .partition(|l| board.all_reached(l.epoch) || Planted::ReusedUntold.on() && board.own_reached(l.epoch));
        self.limbo = kept;
        let done: Vec<Limbo> = done;
        if done.is_empty() {
            return;
        }
        let mut core = locked(&self.core);
        core.layout_version += 1;
        for Run { disk, au, units } in done.iter().map(|limbo| limbo.run) {
            if let Some(disk) = core.disks.get_mut(&disk) {
                disk.space.release(au, units);
            }
        }
    }

    fn begin_batch(&mut self, block: bool) -> Result<Step, GroupError> {
        self.reclaim();
        if self.power == 0 {
            return Ok(Step::Paused);
        }
        let mut core = locked(&self.core);
        core.alive()?;
        // What failed in a change of metadata is dealt with now, not when the next disk fails.
        core.settle_trouble()?;
        if self.plan.is_empty() && self.planned_for != Some(core.layout_version) {
            self.plan = core.plan(self.cramped);
            self.planned_for = self.plan.is_empty().then_some(core.layout_version);
        }
        let most = BATCH_MAX.min(self.power as usize).min(core.change_limit() / 8).max(1);
        let (jobs, cramped) = core.start_jobs(most, &mut self.plan);
        self.jobs = jobs;
        self.batch_cramped = self.cramped;
        if cramped {
            self.cramped = true;
            self.plan.leave_out_moves();
        }
        if !self.jobs.is_empty() {
            let epoch = self.board.advance();
            drop(core);
            self.began_at.get_or_insert(self.port.now());
            self.phase = Phase::Holding(epoch);
            return Ok(Step::Working);
        }
        if !self.plan.is_empty() {
            return Ok(Step::Working);
        }
        if !self.limbo.is_empty() {
            drop(core);
            return self.pause(block);
        }
        if self.planned_for != Some(core.layout_version) {
            // Nothing of the plan could be begun: another plan would say the same.
            self.planned_for = Some(core.layout_version);
            return Ok(if core.root.rebalance { Step::Stuck } else { Step::Idle });
        }
        let finished = core.finish_rebalance()?;
        self.planned_for = Some(core.layout_version);
        drop(core);
        self.began_at = None;
        Ok(if finished { Step::Idle } else { Step::Stuck })
    }

    fn end_batch(&mut self) -> Result<Step, GroupError> {
        let jobs = std::mem::take(&mut self.jobs);
        let mut core = locked(&self.core);
        core.trouble.extend(self.copying.failed_disks());
        let freed = core.finish_jobs(&jobs)?;
        let au = core.au();
        drop(core);
        self.limbo.extend(freed);
        self.phase = Phase::Idle;
        for job in jobs.iter().filter(|j| !j.failed) {
            let bytes = u64::from(job.units) * au;
            match job.kind {
                Kind::Mend => self.progress.mended_extents += 1,
                Kind::Copy { from, to, .. } if from.disk == to.disk => self.progress.resynced_bytes += bytes,
                Kind::Copy { .. } => {
                    self.progress.moved_bytes += bytes;
                    self.cramped &= !self.batch_cramped;
                }
            }
        }
        self.reclaim();
        Ok(Step::Working)
    }
}

impl<P: Port> Drop for Upkeep<P> {
    /// An upkeep that goes in the middle of a batch lets its extents go. Where it was copying to stays out of use until
    /// the group is opened again, since its I/O may still be under way.
    fn drop(&mut self) {
        self.reclaim();
        let jobs = std::mem::take(&mut self.jobs);
        let mut core = locked(&self.core);
        core.limbo.append(&mut self.limbo);
        if jobs.is_empty() {
            return;
        }
        for job in &jobs {
            core.held.remove(&(job.file, job.extent));
            let Some(file) = core.files.get(&job.file).filter(|f| job.extent < f.extents()) else {
                continue;
            };
            if job.kind == Kind::Mend {
                // Still suspected: who takes up the work after this one must know.
                let unit = core.geometry.unit_of(job.extent, 0, file.fine);
                self.board.suspect(job.file, unit);
            }
            core.publish(job.file, job.extent);
        }
        self.board.advance();
    }
}
