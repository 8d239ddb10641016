//! Writes of a port: to all live copies, and what happens when one of them fails.
//!
//! Prevents: a write acknowledged with a copy missing that nothing says is missing.

use crate::planted::Planted;
use crate::port::GroupPort;
use crate::port::map::{Entry, FileMap};
use crate::port::open::layer;
use crate::port::slot::{Child, EIO, PIECES_MAX};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use targets::{Completion, FileId, IoFault, Op, Port, Request, TargetError};

/// A part of a request that lies in one unit without a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) unit: u64,
    /// Byte in the unit.
    pub(crate) inside: u64,
    /// Byte of the request.
    pub(crate) from: u64,
    pub(crate) len: u32,
}

/// Whether a write may go.
enum Fit {
    Go,
    /// An extent is being copied, or the map is not the newest.
    Wait,
    /// The journal must say something first.
    Prepare,
    /// No copy can be written.
    Never,
}

impl<P: Port> GroupPort<P> {
    /// The nth piece of a range of a file.
    pub(crate) fn piece(&self, fine: bool, offset: u64, len: u32, nth: u32) -> Piece {
        let first = self.geometry.run(offset, fine);
        let run = self.geometry.run(0, fine);
        let from = if nth == 0 { 0 } else { first + u64::from(nth - 1) * run };
        let (unit, inside) = self.geometry.locate(offset + from, fine);
        let here = if nth == 0 { first } else { run };
        Piece {
            unit,
            inside,
            from,
            len: here.min(u64::from(len) - from) as u32,
        }
    }

    /// Pieces of a range.
    pub(crate) fn pieces(&self, fine: bool, offset: u64, len: u32) -> u32 {
        let first = self.geometry.run(offset, fine).min(u64::from(len));
        let rest = u64::from(len) - first;
        let pieces = 1 + rest.div_ceil(self.geometry.run(0, fine));
        assert!(pieces < PIECES_MAX, "a request of {pieces} pieces");
        pieces as u32
    }

    pub(crate) fn map_of(&self, slot: u32) -> Arc<FileMap> {
        let file = self.slots[slot as usize].request.file;
        self.files[usize::from(file.0)].map.clone()
    }

    /// Whether a request lies beyond the end of its file: `None` when only newer maps can tell.
    pub(crate) fn beyond(&self, slot: u32) -> Option<bool> {
        let request = &self.slots[slot as usize].request;
        let map = &self.files[usize::from(request.file.0)].map;
        let end = request.offset + u64::from(request.len);
        let inside = end <= map.size.load(Ordering::Acquire) && {
            let (unit, _) = self.geometry.locate(end.saturating_sub(1), map.fine);
            map.fine || unit < map.units() as u64
        };
        match (inside, self.is_current()) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }

    pub(crate) fn short(&self, slot: u32) -> IoFault {
        let request = &self.slots[slot as usize].request;
        let size = self.files[usize::from(request.file.0)].map.size.load(Ordering::Acquire);
        match request.op {
            Op::Read => IoFault::Short {
                got: size.saturating_sub(request.offset).min(u64::from(request.len)) as u32,
                wanted: request.len,
            },
            _ => IoFault::Errno(28),
        }
    }

    pub(crate) fn start_write(&mut self, slot: u32) -> Result<(), TargetError> {
        match self.fit(slot, &mut Vec::new()) {
            Fit::Go => self.send_write(slot),
            Fit::Wait | Fit::Prepare => {
                self.parked.push(slot);
                Ok(())
            }
            Fit::Never => {
                let fault = if self.beyond(slot) == Some(true) {
                    self.short(slot)
                } else {
                    IoFault::Errno(EIO)
                };
                self.finish(slot, Err(fault));
                Ok(())
            }
        }
    }

    fn fit(&self, slot: u32, unprepared: &mut Vec<(u32, u64)>) -> Fit {
        match self.beyond(slot) {
            Some(true) => return Fit::Never,
            None => return Fit::Wait,
            Some(false) => {}
        }
        let map = self.map_of(slot);
        let request = &self.slots[slot as usize].request;
        let mut wait = false;
        let before = unprepared.len();
        for nth in 0..self.pieces(map.fine, request.offset, request.len) {
            let unit = self.piece(map.fine, request.offset, request.len, nth).unit;
            let first = map.write_entry(unit, 0);
            wait |= first.has(Entry::HELD);
            let mut prepare = first.has(Entry::CLEAN);
            let mut never = true;
            for copy in 0..map.copies {
                let entry = map.write_entry(unit, copy);
                never &= entry.has(Entry::UNWRITABLE);
                prepare |= entry.has(Entry::UNWRITABLE) && !entry.has(Entry::MARKED);
            }
            if never {
                return if self.is_current() { Fit::Never } else { Fit::Wait };
            }
            if prepare && (map.copies > 1) {
                unprepared.push((map.number, unit));
            }
        }
        match (wait, unprepared.len() > before) {
            (true, _) => Fit::Wait,
            (_, true) => Fit::Prepare,
            _ => Fit::Go,
        }
    }

    /// Sends what waited and may go now; asks the owner of the metadata for what the others need.
    pub(crate) fn unpark(&mut self) -> Result<(), TargetError> {
        let parked = std::mem::take(&mut self.parked);
        let mut unprepared = Vec::new();
        for &slot in &parked {
            let read = self.slots[slot as usize].request.op != Op::Write;
            if read || matches!(self.fit(slot, &mut unprepared), Fit::Go | Fit::Never) {
                self.restart(slot)?;
            } else {
                self.parked.push(slot);
            }
        }
        if unprepared.is_empty() {
            return Ok(());
        }
        let prepared = self.core().prepare_writes(&unprepared);
        prepared.map_err(layer)?;
        let parked = std::mem::take(&mut self.parked);
        for slot in parked {
            self.restart(slot)?;
        }
        Ok(())
    }

    fn restart(&mut self, slot: u32) -> Result<(), TargetError> {
        match self.slots[slot as usize].request.op {
            Op::Read => self.start_read(slot),
            _ => self.start_write(slot),
        }
    }

    fn send_write(&mut self, index: u32) -> Result<(), TargetError> {
        let map = self.map_of(index);
        let request = self.slots[index as usize].request;
        let pieces = self.pieces(map.fine, request.offset, request.len);
        let shift = self.geometry.au_shift();
        let faults = self.board().faults();
        let slot = &mut self.slots[index as usize];
        slot.faults = faults;
        slot.arrived.resize(pieces as usize, 0);
        for nth in 0..pieces {
            let piece = self.piece(map.fine, request.offset, request.len, nth);
            for copy in 0..map.copies {
                let entry = map.write_entry(piece.unit, copy);
                if entry.has(Entry::UNWRITABLE) {
                    continue;
                }
                self.slots[index as usize].left += 1;
                let child = Child {
                    slot: index,
                    disk: entry.disk(),
                    piece: nth,
                    retry: false,
                };
                self.send(Request {
                    op: Op::Write,
                    file: FileId(entry.slot()),
                    offset: entry.au() << shift | piece.inside,
                    at: request.at + piece.from,
                    len: piece.len,
                    token: child.token(),
                })?;
            }
        }
        if self.slots[index as usize].left == 0 {
            // The last copy went between the look and the sending.
            self.finish(index, Err(IoFault::Errno(EIO)));
        }
        Ok(())
    }

    /// A request below has ended.
    #[cold]
    pub(crate) fn ended(&mut self, completion: Completion) -> Result<(), TargetError> {
        let child = Child::of(completion.token);
        if self.beside(self.slots[child.slot as usize].request.file).is_some() {
            self.finish(child.slot, completion.result);
            return Ok(());
        }
        match self.slots[child.slot as usize].request.op {
            Op::Read => self.read_ended(child, completion.result),
            Op::Write => self.write_ended(child, completion.result),
            Op::Flush => self.flush_ended(child, completion.result),
        }
    }

    fn write_ended(&mut self, child: Child, result: Result<(), IoFault>) -> Result<(), TargetError> {
        let slot = &mut self.slots[child.slot as usize];
        slot.left -= 1;
        match result {
            Ok(()) => {
                slot.arrived[child.piece as usize] += 1;
                slot.disks |= 1 << child.disk;
            }
            Err(fault) => {
                slot.missed.push((child.piece, child.disk));
                slot.fault.get_or_insert(fault);
            }
        }
        let early = Planted::FirstCopyAcknowledged.on() && result.is_ok() && !slot.early;
        if early {
            slot.early = true;
            let token = slot.request.token;
            self.ready.push(Completion { token, result: Ok(()) });
        }
        let slot = &self.slots[child.slot as usize];
        if slot.left > 0 {
            return Ok(());
        }
        if slot.early {
            self.free.push(child.slot);
            return Ok(());
        }
        let result = self.conclude_write(child.slot)?;
        let slot = &self.slots[child.slot as usize];
        // No disk refused it: they went, came back or lost a flush meanwhile. Those that are here now take it.
        if result.is_err() && slot.missed.is_empty() && slot.fault.is_none() && self.map_of(child.slot).copies > 1 {
            let slot = &mut self.slots[child.slot as usize];
            let request = slot.request;
            slot.begin(request);
            return self.start_write(child.slot);
        }
        self.finish(child.slot, result);
        Ok(())
    }

    /// All copies have ended: counts the write, and has recorded what missed it before anybody hears that it is done.
    fn conclude_write(&mut self, index: u32) -> Result<Result<(), IoFault>, TargetError> {
        let map = self.map_of(index);
        let request = self.slots[index as usize].request;
        let count = map.marks.clock.fetch_add(1, Ordering::SeqCst) + 1;
        let pieces = self.pieces(map.fine, request.offset, request.len);
        for nth in 0..pieces {
            map.touch(self.piece(map.fine, request.offset, request.len, nth).unit, count);
        }
        let disks = self.slots[index as usize].disks;
        for disk in (0..64).filter(|d| disks >> d & 1 == 1) {
            map.marks.written[disk].fetch_max(count, Ordering::SeqCst);
        }
        let mut gone = self.board().offline.load(Ordering::SeqCst) & disks;
        let faults = self.slots[index as usize].faults;
        if self.board().faults() != faults {
            // A flush that failed meanwhile may have had this write in what it lost.
            let lost = |d: &u16| disks >> d & 1 == 1 && self.board().lost_since(*d, faults);
            gone |= (0..64).filter(lost).fold(0, |bits, d| bits | 1 << d);
        }
        if gone == 0 && self.slots[index as usize].missed.is_empty() {
            return Ok(Ok(()));
        }
        self.conclude_missed(index, &map, gone)
    }

    /// `gone`: disks whose copies do not count although they were written.
    #[cold]
    fn conclude_missed(&mut self, index: u32, map: &FileMap, gone: u64) -> Result<Result<(), IoFault>, TargetError> {
        let slot = &self.slots[index as usize];
        let request = slot.request;
        let fault = slot.fault.unwrap_or(IoFault::Errno(EIO));
        let refused = slot.missed.iter().fold(0, |bits, m| bits | 1u64 << m.1);
        let (mut missed, mut torn) = (Vec::new(), Vec::new());
        for nth in 0..self.pieces(map.fine, request.offset, request.len) {
            let unit = self.piece(map.fine, request.offset, request.len, nth).unit;
            let failed = slot.missed.iter().filter(|m| m.0 == nth).map(|m| m.1);
            let here = (0..map.copies).map(|c| map.write_entry(unit, c).disk());
            let all: std::collections::BTreeSet<u16> = failed.chain(here.filter(|d| gone >> d & 1 == 1)).collect();
            let arrived = usize::from(slot.arrived[nth as usize]);
            if arrived == 0 || (map.copies == 1 && !all.is_empty()) {
                // What this piece left on each copy nobody knows; what the others missed must be recorded all the same.
                if Planted::OtherPiecesForgotten.on() {
                    self.board().suspect(map.number, unit);
                    return Ok(Err(fault));
                }
                torn.push((map.number, unit));
                continue;
            }
            missed.extend(all.into_iter().map(|disk| (map.number, unit, disk)));
        }
        if map.copies == 1 {
            return Ok(Err(fault));
        }
        let kept = self.core().missed_writes(&missed, &torn, refused).map_err(layer)?;
        let whole = torn.is_empty() && kept.iter().all(|k| *k);
        Ok(if whole { Ok(()) } else { Err(fault) })
    }
}
