//! The model's [`Port`]: events on a virtual clock, content that is stored, writes that wait for a flush.
//!
//! Takes requests, gives completions in the order of virtual time. Prevents a test that depends on the wall clock, and
//! a crash test that trusts what was never flushed.

use super::cut::{Unflushed, lose};
use super::timing::{Device, Served};
use super::{Disks, Model, Moved, PowerFails};
use crate::error::{IoFault, TargetError};
use crate::left_to;
use crate::memory::Memory;
use crate::port::{Completion, Extent, FileId, Nanos, Op, Port, Request, Waker};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A request in flight.
struct Slot {
    request: Request,
    fault: Option<IoFault>,
    cached: bool,
    /// A write's bytes as they were at its submission.
    data: Vec<u8>,
    /// A flush covers the writes of its file up to this place in the order of completed writes.
    covers: u64,
    submitted: u64,
}

/// A window on modelled disks. The clock is virtual and moves in [`Port::wait`] (and by [`Model::tick_ns`]).
///
/// A flush makes durable the writes of its file that had been handed out as completed when it was submitted, and no
/// other.
pub struct ModelPort {
    model: Model,
    memory: Memory,
    clock: Cell<Nanos>,
    device: Device,
    /// All completed writes.
    current: Disks,
    /// Those that a flush has covered.
    durable: Disks,
    unflushed: Vec<Vec<Unflushed>>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Time done, order of submission, slot.
    events: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    submitted: u64,
    written: u64,
    asked_writes: u64,
    asked_flushes: u64,
    done_flushes: u64,
    moved: Moved,
    power_fails: Option<PowerFails>,
    off: bool,
}

impl ModelPort {
    /// A machine with empty disks (all zeros).
    pub fn open(model: Model) -> Result<ModelPort, TargetError> {
        let disks = Disks::new(&model.sizes);
        ModelPort::from_disks(model, disks)
    }

    /// A machine started again on what its disks hold. The sizes are those of `disks`, not [`Model::sizes`].
    pub fn from_disks(mut model: Model, disks: Disks) -> Result<ModelPort, TargetError> {
        model.sizes = disks.sizes();
        Ok(ModelPort {
            memory: Memory::new(model.memory, false)?,
            clock: Cell::new(0),
            device: Device::new(&model),
            current: disks.clone(),
            unflushed: model.sizes.iter().map(|_| Vec::new()).collect(),
            durable: disks,
            slots: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            submitted: 0,
            written: 0,
            asked_writes: 0,
            asked_flushes: 0,
            done_flushes: 0,
            moved: Moved::default(),
            power_fails: None,
            off: false,
            model,
        })
    }

    /// Arms a power failure; from it on every submit and wait returns [`TargetError::PowerCut`].
    pub fn fail_power(&mut self, when: PowerFails) {
        self.power_fails = Some(when);
    }

    /// From now on service gets longer by this share with each minute on the clock: a machine that wears down.
    pub fn drift(&mut self, share_per_minute: f64) {
        self.device.drift_per_minute = share_per_minute;
    }

    /// Nothing is asked of the device until then. A moment that has passed is none. Nothing may be in flight.
    pub fn rest_until(&mut self, moment: Nanos) {
        assert!(self.events.is_empty(), "a device rests that has something to do");
        self.clock.set(self.clock.get().max(moment));
    }

    /// Whether the power has failed.
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// Writes and flushes submitted so far: the range of [`PowerFails`].
    pub fn asked(&self) -> (u64, u64) {
        (self.asked_writes, self.asked_flushes)
    }

    /// What the device did so far.
    pub fn moved(&self) -> Moved {
        self.moved
    }

    /// Cuts the power now (or where it had failed already) and gives what the disks hold: all that was flushed, and of
    /// the rest, writes in flight included, what `seed` decides, down to single sectors. The same port may be cut with
    /// many seeds.
    pub fn cut(&mut self, seed: u64) -> Disks {
        self.off = true;
        let mut completed: Vec<(u64, FileId, u64, &[u8])> = Vec::new();
        for (file, writes) in self.unflushed.iter().enumerate() {
            completed.extend(
                writes
                    .iter()
                    .map(|w| (w.order, FileId(file as u16), w.offset, w.data.as_slice())),
            );
        }
        completed.sort_unstable_by_key(|w| w.0);
        let mut flying: Vec<&Slot> = self
            .slots
            .iter()
            .flatten()
            .filter(|s| s.request.op == Op::Write && s.fault.is_none())
            .collect();
        flying.sort_unstable_by_key(|s| s.submitted);
        let flying = flying
            .into_iter()
            .map(|s| (s.request.file, s.request.offset, s.data.as_slice()));
        lose(
            &self.durable,
            completed.into_iter().map(|w| (w.1, w.2, w.3)).chain(flying),
            seed,
        )
    }

    /// One disk loses its power alone and has it again: of its completed writes that were not flushed, what `seed`
    /// decides is there. No request to it may be in flight.
    pub fn cycle(&mut self, file: FileId, seed: u64) {
        let waiting = std::mem::take(&mut self.unflushed[usize::from(file.0)]);
        let writes = waiting.iter().map(|w| (file, w.offset, w.data.as_slice()));
        let after = lose(&self.durable, writes, seed);
        self.current.replace(file, &after);
        self.durable.replace(file, &after);
    }

    /// A flush of a disk fails: of the writes that it should have made durable, what `seed` decides is, and the others
    /// never will be, whatever flush comes after. Reads go on seeing all of them until the power goes.
    pub fn forget(&mut self, file: FileId, seed: u64) {
        let waiting = std::mem::take(&mut self.unflushed[usize::from(file.0)]);
        let writes = waiting.iter().map(|w| (file, w.offset, w.data.as_slice()));
        let after = lose(&self.durable, writes, seed);
        self.durable.replace(file, &after);
    }

    /// Damages a disk behind everybody's back.
    pub fn damage(&mut self, file: FileId, offset: u64, bytes: &[u8]) {
        self.current.write(file, offset, bytes);
        self.durable.write(file, offset, bytes);
        // What was there before must not come back with a flush.
        for write in &mut self.unflushed[usize::from(file.0)] {
            let (from, to) = (
                write.offset.max(offset),
                (write.offset + write.data.len() as u64).min(offset + bytes.len() as u64),
            );
            if from < to {
                let damaged = &bytes[(from - offset) as usize..(to - offset) as usize];
                write.data[(from - write.offset) as usize..(to - write.offset) as usize].copy_from_slice(damaged);
            }
        }
    }

    /// What all completed writes have left on the disks.
    pub fn current(&self) -> &Disks {
        &self.current
    }

    /// What a machine that is shut down in good order leaves: every completed write.
    pub fn shut_down(self) -> Disks {
        self.current
    }

    fn fault_of(&self, request: &Request) -> Option<IoFault> {
        let Some(size) = self.current.size(request.file) else {
            return Some(IoFault::Errno(libc::EBADF));
        };
        if request.op == Op::Flush {
            return None;
        }
        let align = u64::from(self.model.alignment.max(1));
        if [request.offset, request.at, u64::from(request.len)]
            .iter()
            .any(|n| n % align != 0)
        {
            return Some(IoFault::Errno(libc::EINVAL));
        }
        let got = size.saturating_sub(request.offset).min(u64::from(request.len)) as u32;
        match request.op {
            _ if got == request.len => None,
            Op::Write => Some(IoFault::Errno(libc::ENOSPC)),
            _ => Some(IoFault::Short {
                got,
                wanted: request.len,
            }),
        }
    }

    fn power_lost_at(&self, op: Op) -> bool {
        match self.power_fails {
            Some(PowerFails::AtWrite(n)) => op == Op::Write && self.asked_writes == n,
            Some(PowerFails::AtFlush(n)) => op == Op::Flush && self.asked_flushes == n,
            _ => false,
        }
    }

    fn deliver_until_now(&mut self, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        while let Some(&Reverse((at, _, index))) = self.events.peek() {
            if at > self.clock.get() {
                break;
            }
            self.events.pop();
            let slot = self.slots[index as usize].take().expect("an event has its request");
            self.free.push(index);
            let token = slot.request.token;
            let result = self.finish(slot);
            if self.off {
                return Err(TargetError::PowerCut);
            }
            done.push(Completion { token, result });
        }
        Ok(())
    }

    fn finish(&mut self, slot: Slot) -> Result<(), IoFault> {
        let (file, offset, len) = (slot.request.file, slot.request.offset, slot.request.len);
        if let Some(fault) = slot.fault {
            return Err(fault);
        }
        match slot.request.op {
            Op::Read => {
                let place = self.memory.bytes_mut(slot.request.at, len as usize);
                self.current.read(file, offset, place);
                if slot.cached {
                    self.moved.cached_reads += 1;
                    self.moved.cached_bytes += u64::from(len);
                } else {
                    self.moved.reads += 1;
                    self.moved.read_bytes += u64::from(len);
                }
            }
            Op::Write => {
                self.current.write(file, offset, &slot.data);
                self.written += 1;
                let write = Unflushed {
                    order: self.written,
                    offset,
                    data: slot.data,
                };
                self.unflushed[usize::from(file.0)].push(write);
                self.moved.writes += 1;
                self.moved.write_bytes += u64::from(len);
            }
            Op::Flush => {
                let waiting = &mut self.unflushed[usize::from(file.0)];
                let covered = waiting.partition_point(|w| w.order <= slot.covers);
                for write in waiting.drain(..covered) {
                    self.durable.write(file, write.offset, &write.data);
                }
                self.moved.flushes += 1;
                self.done_flushes += 1;
                self.off |= self.power_fails == Some(PowerFails::AfterFlush(self.done_flushes));
            }
        }
        Ok(())
    }
}

impl Port for ModelPort {
    left_to!(memory: bytes, bytes_mut);

    fn now(&self) -> Nanos {
        let now = self.clock.get() + self.model.tick_ns;
        self.clock.set(now);
        now
    }

    fn memory(&self) -> u64 {
        self.memory.len()
    }

    fn alignment(&self) -> u32 {
        self.model.alignment.max(1)
    }

    fn depth(&self) -> usize {
        self.model.depth
    }

    fn in_flight(&self) -> usize {
        self.events.len()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if self.off {
            return Err(TargetError::PowerCut);
        }
        if self.events.len() >= self.model.depth {
            return Err(TargetError::TooDeep {
                depth: self.model.depth,
            });
        }
        let data = match request.op {
            Op::Flush => Vec::new(),
            Op::Write => self.memory.bytes(request.at, request.len as usize).to_vec(),
            // For the check of the range alone.
            Op::Read => self.memory.bytes(request.at, request.len as usize)[..0].to_vec(),
        };
        let fault = self.fault_of(&request);
        let Served { done_at, cached } = self.device.serve(&self.model, &request, self.clock.get());
        self.submitted += 1;
        self.asked_writes += u64::from(request.op == Op::Write);
        self.asked_flushes += u64::from(request.op == Op::Flush);
        let slot = Slot {
            request,
            fault,
            cached,
            data,
            covers: self.written,
            submitted: self.submitted,
        };
        let index = self.free.pop().unwrap_or(self.slots.len() as u32);
        if index as usize == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[index as usize] = Some(slot);
        self.events.push(Reverse((done_at, self.submitted, index)));
        if self.power_lost_at(request.op) {
            self.off = true;
            return Err(TargetError::PowerCut);
        }
        Ok(())
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        if self.off {
            return Err(TargetError::PowerCut);
        }
        let before = done.len();
        self.deliver_until_now(done)?;
        while done.len() - before < min {
            let next = self.events.peek().map(|event| event.0.0);
            let Some(to) = next.into_iter().chain(until).min() else {
                break;
            };
            self.clock.set(self.clock.get().max(to));
            self.deliver_until_now(done)?;
            if until.is_some_and(|until| self.clock.get() >= until) {
                break;
            }
        }
        Ok(())
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        Ok(self.current.size(file).expect("the file belongs to this port"))
    }

    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        if self.off {
            return Err(TargetError::PowerCut);
        }
        self.current.grow(file, size);
        self.durable.grow(file, size);
        Ok(())
    }

    fn extents(&self, _file: FileId) -> Result<Vec<Extent>, TargetError> {
        Ok(Vec::new())
    }

    fn waker(&self) -> Waker {
        Waker::default()
    }
}
