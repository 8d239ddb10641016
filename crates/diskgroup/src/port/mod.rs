//! The window of one worker on files of a group: a [`Port`] over a port.
//!
//! The straight path, a read of a file with one copy that does not cross a stripe, is a shift, a mask and one word of
//! the map: the request goes below with its token. Everything else (writes, mirrored reads, requests that are split)
//! has a slot. Two bits of the token are the port's own: 63 says that a slot stands behind it, 62 is the *side*, which
//! flips with the epoch, so that the port knows when its last request of an older epoch is done. Prevents: a group that
//! costs more than the disks it is made of.

pub(crate) mod board;
pub(crate) mod flush;
pub(crate) mod map;
pub(crate) mod open;
pub(crate) mod passed_through;
pub(crate) mod publish;
pub(crate) mod read;
pub(crate) mod slot;
pub(crate) mod write;

use crate::layout::geometry::Geometry;
use crate::metadata::core::Core;
use crate::port::board::Board;
use crate::port::map::Entry;
use crate::port::open::{Beside, Open, Ticket, layer, locked};
use crate::port::slot::{Child, SIDE, SLOT, Slot};
use crate::verify::Verify;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use targets::{Completion, Extent, FileId, IoFault, Nanos, Op, Port, Request, TargetError, left_to};

/// How long a port with nothing in flight waits for an extent that is being copied before it looks again.
const LOOK_AGAIN_NS: u64 = 200_000;

/// A worker's window on open files of a group. Made by [`crate::Group::open`]; the port below stays the worker's own,
/// so nothing is shared per I/O. It must be opened on the same disks in the same order as the port of the group.
pub struct GroupPort<P: Port> {
    /// Before the ticket: what is in flight ends before the seat is given up.
    pub(crate) inner: P,
    pub(crate) ticket: Ticket<P>,
    pub(crate) geometry: Geometry,
    pub(crate) files: Vec<Open>,
    /// Files of the port below that follow the group's own.
    pub(crate) beside: Beside,
    epoch: u64,
    reached: u64,
    pub(crate) side: u64,
    /// Requests below of the other side: older than the maps in use.
    old: usize,
    shift: u32,
    /// Bytes of a unit less one.
    mask: u64,
    /// Reads of one piece that may go before anything else must be looked at: 0 while the seat is empty or a request of
    /// several pieces is under way.
    credit: usize,
    /// Slots in use whose request is one piece below.
    pub(crate) singles: usize,
    /// Requests of the caller, in flight or waiting.
    upper: usize,
    depth: usize,
    pub(crate) slots: Vec<Slot>,
    pub(crate) free: Vec<u32>,
    /// Requests that the port below had no room for.
    pub(crate) backlog: VecDeque<Request>,
    /// Slots that wait for a record or for an extent to be copied.
    pub(crate) parked: Vec<u32>,
    /// Done without I/O.
    pub(crate) ready: Vec<Completion>,
    pub(crate) verify: Option<Arc<dyn Verify>>,
}

impl<P: Port> GroupPort<P> {
    pub(crate) fn new(
        inner: P,
        ticket: Ticket<P>,
        geometry: Geometry,
        verify: Option<Arc<dyn Verify>>,
        beside: Beside,
    ) -> GroupPort<P> {
        let depth = inner.depth();
        let maps = ticket.files.iter().filter_map(|n| ticket.board.map(*n));
        let files = maps.map(|map| Open::new(map, beside.through)).collect();
        let epoch = ticket.board.epoch();
        GroupPort {
            inner,
            ticket,
            geometry,
            files,
            beside,
            epoch,
            reached: epoch,
            side: 0,
            old: 0,
            shift: geometry.au_shift(),
            mask: u64::from(geometry.au_bytes) - 1,
            credit: 0,
            singles: 0,
            upper: 0,
            depth,
            slots: (0..depth).map(|_| Slot::default()).collect(),
            free: (0..depth as u32).rev().collect(),
            backlog: VecDeque::new(),
            parked: Vec::new(),
            ready: Vec::new(),
            verify,
        }
    }

    /// The port below; to look at, never to submit with.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }

    pub(crate) fn board(&self) -> &Board {
        &self.ticket.board
    }

    pub(crate) fn core(&self) -> MutexGuard<'_, Core<P>> {
        locked(&self.ticket.core)
    }

    /// Where a read goes that lies in one unit of the file and ends before `up_to`.
    #[inline(always)]
    fn address(&self, request: &Request, open: &Open, up_to: u64) -> Option<Entry> {
        let end = request.offset.wrapping_add(u64::from(request.len));
        let unit = request.offset >> self.shift;
        if end > up_to || end.wrapping_sub(1) >> self.shift != unit {
            return None;
        }
        let word = open.reads.get(unit as usize)?;
        let entry = Entry(word.load(Ordering::Relaxed));
        (!entry.has(Entry::UNREADABLE)).then_some(entry)
    }

    /// Makes a read in one unit the request below.
    #[inline(always)]
    fn redirect(&self, request: &mut Request, entry: Entry, token: u64) {
        request.file = FileId(entry.slot());
        request.offset = entry.au() << self.shift | (request.offset & self.mask);
        request.token = token | self.side;
    }

    /// The first request of a row takes the seat, with the newest maps.
    fn sit(&mut self) {
        self.ticket.seat.sit(self.epoch);
        if self.ticket.board.epoch() != self.epoch {
            self.renew();
            self.ticket.seat.sit(self.epoch);
        }
        self.reached = self.epoch;
    }

    /// Takes the newest maps, if no request is in flight that is older than the maps in use.
    fn renew(&mut self) {
        if self.old > 0 {
            return;
        }
        self.old = self.inner.in_flight() + self.backlog.len() - self.beside.passing;
        self.epoch = self.ticket.board.epoch();
        let maps = self.ticket.files.iter().filter_map(|n| self.ticket.board.map(*n));
        let through = self.beside.through;
        self.files = maps.map(|map| Open::new(map, through)).collect();
        // With nothing in flight there is no older side.
        self.side = if self.old == 0 { 0 } else { self.side ^ SIDE };
        self.tell();
    }

    /// Says on the seat that the last request of an older epoch is done, when it is.
    #[inline]
    fn tell(&mut self) {
        if self.reached != self.epoch && self.old == 0 && self.upper > 0 {
            self.reached = self.epoch;
            self.ticket.seat.reach(self.epoch);
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.backlog.is_empty() && self.inner.in_flight() < self.depth
    }

    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.ticket.board.epoch() == self.epoch
    }

    /// Sends a request below, or keeps it until there is room.
    pub(crate) fn send(&mut self, request: Request) -> Result<(), TargetError> {
        let request = Request {
            token: request.token | self.side,
            ..request
        };
        if self.backlog.is_empty() && self.inner.in_flight() < self.depth {
            self.inner.submit(request)
        } else {
            self.backlog.push_back(request);
            Ok(())
        }
    }

    /// Everything but the straight path with credit. The request comes in parts, in registers: a reference would have
    /// it written to memory before each look at the straight path, which costs as much as the map.
    #[inline(never)]
    fn submit_with_care(
        &mut self,
        op: Op,
        file: FileId,
        offset: u64,
        at: u64,
        len: u32,
        token: u64,
    ) -> Result<(), TargetError> {
        let mut request = Request {
            op,
            file,
            offset,
            at,
            len,
            token,
        };
        if self.upper == 0 {
            self.sit();
        } else if self.upper >= self.depth {
            return Err(TargetError::TooDeep { depth: self.depth });
        }
        self.upper += 1;
        self.credit = 0;
        if usize::from(request.file.0) >= self.files.len() {
            return self.submit_beside(request);
        }
        assert!(request.token < SIDE, "a token of 62 bits: {:#x}", request.token);
        if request.op == Op::Read
            && self.has_room()
            && let Some(open) = self.files.get(usize::from(request.file.0))
        {
            if let Some(entry) = self.address(&request, open, open.straight_to) {
                self.credit = self.credit_now();
                let token = request.token;
                self.redirect(&mut request, entry, token);
                return self.inner.submit(request);
            }
            if let Some(entry) = self.address(&request, open, open.single_to) {
                let sent = self.submit_single(entry, file, offset, at, len, token);
                self.credit = self.credit_now();
                return sent;
            }
        }
        self.submit_with_slot(request)
    }

    /// With no other slot in use a request has one below and no more, so as many may go as the depth allows.
    fn credit_now(&self) -> usize {
        if self.free.len() + self.singles == self.depth && self.upper > 0 {
            self.depth - self.upper
        } else {
            0
        }
    }

    #[cold]
    fn submit_with_slot(&mut self, request: Request) -> Result<(), TargetError> {
        let index = self.free.pop().expect("as many slots as requests may be in flight");
        self.slots[index as usize].begin(request);
        match request.op {
            Op::Read => self.start_read(index),
            Op::Write => self.start_write(index),
            Op::Flush => self.start_flush(index),
        }
    }

    /// Ends a slot: its completion is handed out by the wait under way or the next.
    pub(crate) fn finish(&mut self, index: u32, result: Result<(), IoFault>) {
        let token = self.slots[index as usize].request.token;
        self.free.push(index);
        self.ready.push(Completion { token, result });
    }

    /// What is due besides I/O: new maps, requests that waited.
    fn attend(&mut self) -> Result<(), TargetError> {
        if !self.is_current() {
            self.renew();
        }
        if !self.parked.is_empty() {
            self.unpark()?;
        }
        while let Some(&request) = self.backlog.front() {
            if self.inner.in_flight() >= self.depth {
                break;
            }
            self.backlog.pop_front();
            self.inner.submit(request)?;
        }
        Ok(())
    }

    /// Sorts what the port below has handed out: straight ones get their token back, others go to their slots.
    fn sort(&mut self, from: usize, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let mut kept = from;
        for nth in from..done.len() {
            let mut completion = done[nth];
            if self.is_passing(&completion) {
                self.beside.passing -= 1;
                done[kept] = completion;
                kept += 1;
                continue;
            }
            self.old -= usize::from(self.old > 0 && completion.token & SIDE != self.side);
            if completion.token & SLOT == 0 {
                completion.token &= !SIDE;
            } else if let Some(token) = self.simple_end(&completion) {
                self.free.push(completion.token as u32);
                self.singles -= 1;
                completion.token = token;
            } else {
                if let Err(error) = self.ended(completion) {
                    // The rest is as lost as the port is; the caller must not see tokens that are not its own.
                    done.truncate(kept);
                    return Err(error);
                }
                continue;
            }
            done[kept] = completion;
            kept += 1;
        }
        done.truncate(kept);
        Ok(())
    }

    /// Whose token it was, of a read in one piece that went well and that nobody wants to look at.
    #[inline]
    fn simple_end(&self, completion: &Completion) -> Option<u64> {
        let slot = &self.slots[completion.token as u32 as usize];
        (slot.simple && completion.result.is_ok() && self.verify.is_none()).then_some(slot.request.token)
    }

    /// A read in one piece of a mirrored file: a slot remembers it, in case another copy must be read.
    #[inline(never)]
    fn submit_single(
        &mut self,
        entry: Entry,
        file: FileId,
        offset: u64,
        at: u64,
        len: u32,
        token: u64,
    ) -> Result<(), TargetError> {
        let request = Request {
            op: Op::Read,
            file,
            offset,
            at,
            len,
            token,
        };
        let index = self.free.pop().expect("as many slots as requests may be in flight");
        let slot = &mut self.slots[index as usize];
        // The rest of it stays as it was until something goes wrong.
        (slot.request, slot.simple) = (request, true);
        self.singles += 1;
        let child = Child {
            slot: index,
            disk: entry.disk(),
            piece: 0,
            retry: false,
        };
        let mut below = request;
        self.redirect(&mut below, entry, child.token());
        self.inner.submit(below)
    }
}

impl<P: Port> Port for GroupPort<P> {
    left_to!(inner: now, memory, bytes, bytes_mut, alignment, waker);

    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.upper
    }

    /// Inlined as the port below is: a call that passes a request through memory costs more than all of this.
    #[inline(always)]
    fn submit(&mut self, mut request: Request) -> Result<(), TargetError> {
        let (op, file, at, token) = (request.op, request.file, request.at, request.token);
        let (offset, len) = (request.offset, request.len);
        if self.credit > 0
            && op == Op::Read
            && let Some(open) = self.files.get(usize::from(file.0))
        {
            if let Some(entry) = self.address(&request, open, open.straight_to) {
                self.credit -= 1;
                self.upper += 1;
                self.redirect(&mut request, entry, token);
                return self.inner.submit(request);
            }
            if let Some(entry) = self.address(&request, open, open.single_to) {
                self.credit -= 1;
                self.upper += 1;
                return self.submit_single(entry, file, offset, at, len, token);
            }
        }
        self.submit_with_care(op, file, offset, at, len, token)
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        let calm = (self.parked.len() | self.backlog.len() | self.ready.len() | self.old) == 0 && self.is_current();
        let (mut result, mut more) = (Ok(()), !calm);
        if calm {
            result = self.inner.wait(min, until, done);
            let mut slots = 0;
            // Tokens of side 0 without a slot are the caller's own already.
            if self.side != 0 || self.free.len() != self.depth {
                for completion in &mut done[before..] {
                    slots |= completion.token & SLOT;
                    completion.token &= !SIDE;
                }
            }
            if slots == 0 {
                self.passed(done.len() - before);
            } else {
                // Fewer than asked for: the wait was ended from outside or by the clock, and so is this one.
                let ended = done.len() - before < min;
                result = self.sort(before, done).and(result);
                let short = done.len() - before < min && !ended;
                more = result.is_ok() && (short || !self.ready.is_empty());
            }
        }
        if more {
            // Requests below that were only a part, or more to do than to wait.
            let have = done.len() - before;
            result = self.wait_for(min.saturating_sub(have), until, done);
        }
        self.upper -= done.len() - before;
        self.credit = self.credit_now();
        if self.upper == 0 {
            self.ticket.seat.leave();
            self.reached = 0;
        } else {
            self.tell();
        }
        result
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        if let Some(below) = self.beside(file) {
            return self.inner.size(below);
        }
        let open = self.files.get(usize::from(file.0));
        let open = open.unwrap_or_else(|| panic!("{file:?} of a port with {} files", self.files.len()));
        let newest = self.ticket.board.map(open.map.number);
        Ok(newest.as_ref().unwrap_or(&open.map).length.load(Ordering::Acquire))
    }

    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        if let Some(below) = self.beside(file) {
            return self.inner.grow(below, size);
        }
        let number = self.files[usize::from(file.0)].map.number;
        self.core().grow_file(number, size).map_err(layer)?;
        if !self.is_current() {
            self.renew();
        }
        Ok(())
    }

    /// The units of the file; `physical` is the disk's number in the top 16 bits and the offset on it below.
    fn extents(&self, file: FileId) -> Result<Vec<Extent>, TargetError> {
        if let Some(below) = self.beside(file) {
            return self.inner.extents(below);
        }
        let open = &self.files[usize::from(file.0)];
        let shift = self.geometry.au_shift();
        let mut found: Vec<Extent> = Vec::new();
        let run = self.geometry.run(0, open.map.fine);
        let mut logical = 0;
        while logical < open.size {
            let (unit, place) = self.geometry.locate(logical, open.map.fine);
            let entry = open.map.read_entry(unit);
            let physical = u64::from(entry.disk()) << 48 | entry.au() << shift | place;
            let length = run.min(open.size - logical);
            match found.last_mut() {
                Some(last) if last.physical + last.length == physical => last.length += length,
                _ => found.push(Extent {
                    logical,
                    physical,
                    length,
                    unwritten: false,
                    packed: false,
                }),
            }
            logical += length;
        }
        Ok(found)
    }
}

impl<P: Port> GroupPort<P> {
    fn wait_for(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        loop {
            if !self.is_current() || !self.parked.is_empty() || !self.backlog.is_empty() {
                self.attend()?;
            }
            done.append(&mut self.ready);
            let mut want = min.saturating_sub(done.len() - before);
            let mut bound = until;
            if want > 0 && !self.parked.is_empty() {
                want = 1;
                let soon = self.inner.now() + LOOK_AGAIN_NS;
                bound = Some(until.map_or(soon, |until| until.min(soon)));
            } else {
                want = want.min(self.inner.in_flight().max(usize::from(until.is_some())));
            }
            let from = done.len();
            let waited = self.inner.wait(want, bound, done);
            let came = done.len() - from;
            self.sort(from, done)?;
            waited?;
            self.tell();
            done.append(&mut self.ready);
            let idle = self.inner.in_flight() == 0 && self.backlog.is_empty() && self.parked.is_empty();
            let late = until.is_some_and(|until| self.inner.now() >= until);
            let woken = came < want && bound == until;
            if done.len() - before >= min || idle || late || woken {
                return Ok(());
            }
        }
    }
}
