//! Copying a batch of extents: reads and writes in flight up to the power, then a flush of every disk written.
//!
//! Prevents: a copy counted as made before it is durable.

use crate::error::GroupError;
use crate::layout::disk::Disk;
use crate::layout::file::Pointer;
use crate::metadata::core::Core;
use crate::planted::Planted;
use crate::port::board::Board;
use crate::upkeep::jobs::{Job, Kind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use targets::{Completion, FileId, Op, Port, Request};

/// Most bytes of one I/O.
const PART_MAX: u64 = 1 << 20;

/// A part of an extent on its way.
#[derive(Clone, Copy)]
struct Part {
    job: usize,
    inside: u64,
    len: u32,
    /// Which of the job's sources is read.
    source: usize,
    buffer: usize,
}

/// A request to one disk.
struct Transfer {
    op: Op,
    disk: u16,
    offset: u64,
    buffer: usize,
    len: u32,
}

impl Part {
    fn transfer(&self, op: Op, disk: u16, offset: u64) -> Transfer {
        Transfer {
            op,
            disk,
            offset,
            buffer: self.buffer,
            len: self.len,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Writing,
}

/// The I/O of one batch.
#[derive(Default)]
pub(crate) struct Copying {
    waiting: VecDeque<Part>,
    flying: BTreeMap<u64, (Part, Stage)>,
    flushes: BTreeMap<u64, u16>,
    to_flush: BTreeSet<u16>,
    flushing: bool,
    slots: BTreeMap<u16, FileId>,
    failed: BTreeSet<u16>,
    buffers: Vec<usize>,
    part: u64,
    au: u64,
    next: u64,
    done: Vec<Completion>,
    board: Option<Arc<Board>>,
    /// Failed flushes of the group before anything was written.
    faults: u64,
}

impl Copying {
    /// Cuts jobs into parts.
    pub(crate) fn begin<P: Port>(&mut self, jobs: &[Job], core: &Core<P>, port: &P) {
        let au = core.au();
        let memory = port.memory() / 4096 * 4096;
        let part = PART_MAX.min(au).min((memory / 4).max(4096));
        let part = 1 << part.ilog2();
        *self = Copying {
            slots: core
                .disks
                .values()
                .filter_map(|d| Some((d.number, Disk::live(d)?)))
                .collect(),
            buffers: (0..(memory / part) as usize).rev().collect(),
            part,
            au,
            faults: core.board.faults(),
            board: Some(core.board.clone()),
            ..Copying::default()
        };
        for (nth, job) in jobs.iter().enumerate() {
            let Kind::Copy { to, from, .. } = job.kind else {
                continue;
            };
            if job.failed || (Planted::ResyncLeftOut.on() && to.disk == from.disk) {
                continue;
            }
            let bytes = u64::from(job.units) * au;
            for inside in (0..bytes).step_by(part as usize) {
                let len = part.min(bytes - inside) as u32;
                self.waiting.push_back(Part {
                    job: nth,
                    inside,
                    len,
                    source: 0,
                    buffer: 0,
                });
            }
        }
    }

    /// Disks on which a write or a flush failed.
    pub(crate) fn failed_disks(&self) -> BTreeSet<u16> {
        self.failed.clone()
    }

    /// Sends and takes; true when everything is copied and durable.
    pub(crate) fn drive<P: Port>(
        &mut self,
        jobs: &mut [Job],
        port: &mut P,
        power: usize,
        block: bool,
    ) -> Result<bool, GroupError> {
        let most = power.min(port.depth());
        while self.flying.len() < most
            && let Some(&part) = self.waiting.front()
        {
            if jobs[part.job].failed {
                self.waiting.pop_front();
                continue;
            }
            let Some(buffer) = self.buffers.pop() else { break };
            self.waiting.pop_front();
            self.read(Part { buffer, ..part }, jobs, port)?;
        }
        if self.flying.is_empty() && self.waiting.is_empty() && self.flushes.is_empty() {
            if self.flushing || self.to_flush.is_empty() || Planted::MoveUnflushed.on() {
                return Ok(true);
            }
            self.flushing = true;
        }
        while self.flushing
            && self.flushes.len() < most
            && let Some(disk) = self.to_flush.pop_first()
        {
            let token = self.token();
            self.flushes.insert(token, disk);
            let flush = Transfer {
                op: Op::Flush,
                disk,
                offset: 0,
                buffer: 0,
                len: 0,
            };
            self.submit(port, flush, token)?;
        }
        let mut done = std::mem::take(&mut self.done);
        done.clear();
        port.wait(usize::from(block), None, &mut done)?;
        for completion in &done {
            self.ended(*completion, jobs, port)?;
        }
        self.done = done;
        let quiet = self.flying.is_empty() && self.waiting.is_empty() && self.flushes.is_empty();
        Ok(quiet && self.to_flush.is_empty())
    }

    fn token(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn submit<P: Port>(&self, port: &mut P, transfer: Transfer, token: u64) -> Result<(), GroupError> {
        let file = self.slots.get(&transfer.disk).copied().unwrap_or(FileId(u16::MAX));
        port.submit(Request {
            op: transfer.op,
            file,
            offset: transfer.offset,
            at: transfer.buffer as u64 * self.part,
            len: transfer.len,
            token,
        })?;
        Ok(())
    }

    fn read<P: Port>(&mut self, part: Part, jobs: &mut [Job], port: &mut P) -> Result<(), GroupError> {
        let job = &mut jobs[part.job];
        let source = (part.source..job.sources.len()).find(|&s| self.slots.contains_key(&job.sources[s].disk));
        let Some(source) = source else {
            job.failed = true;
            self.buffers.push(part.buffer);
            return Ok(());
        };
        let from = job.sources[source];
        let token = self.token();
        let offset = self.place(&from, part.inside);
        self.flying.insert(token, (Part { source, ..part }, Stage::Reading));
        self.submit(port, part.transfer(Op::Read, from.disk, offset), token)
    }

    fn place(&self, pointer: &Pointer, inside: u64) -> u64 {
        u64::from(pointer.au) * self.au + inside
    }

    fn ended<P: Port>(&mut self, completion: Completion, jobs: &mut [Job], port: &mut P) -> Result<(), GroupError> {
        if let Some(disk) = self.flushes.remove(&completion.token) {
            let board = self.board.as_ref();
            if completion.result.is_err() {
                board.iter().for_each(|b| b.doubt(disk));
            }
            // Also a flush of somebody else that failed meanwhile may have had a part of the copy in what it lost.
            if completion.result.is_err() || board.is_some_and(|b| b.lost_since(disk, self.faults)) {
                self.failed.insert(disk);
                let there = |j: &&mut Job| matches!(j.kind, Kind::Copy { to, .. } if to.disk == disk);
                jobs.iter_mut().filter(there).for_each(|j| j.failed = true);
            }
            return Ok(());
        }
        let Some((part, stage)) = self.flying.remove(&completion.token) else {
            return Ok(());
        };
        let Kind::Copy { to, .. } = jobs[part.job].kind else {
            return Ok(());
        };
        match (stage, completion.result) {
            (Stage::Reading, Ok(())) if self.slots.contains_key(&to.disk) => {
                let (token, offset) = (self.token(), self.place(&to, part.inside));
                self.flying.insert(token, (part, Stage::Writing));
                self.to_flush.insert(to.disk);
                return self.submit(port, part.transfer(Op::Write, to.disk, offset), token);
            }
            (Stage::Reading, Ok(())) => jobs[part.job].failed = true,
            (Stage::Reading, Err(_)) => {
                let again = Part {
                    source: part.source + 1,
                    ..part
                };
                return self.read(again, jobs, port);
            }
            (Stage::Writing, Ok(())) => {}
            (Stage::Writing, Err(_)) => {
                self.failed.insert(to.disk);
                jobs[part.job].failed = true;
            }
        }
        self.buffers.push(part.buffer);
        Ok(())
    }
}
