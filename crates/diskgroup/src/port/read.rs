//! Reads of a port that have a slot: in pieces, from another copy when one fails, page by page when parts of several
//! are bad.
//!
//! Prevents: an error handed up while a good copy exists.

use crate::port::GroupPort;
use crate::port::map::{Entry, FileMap};
use crate::port::open::layer;
use crate::port::slot::{Child, EIO, Retry};
use std::sync::atomic::Ordering;
use targets::{FileId, IoFault, Op, Port, Request, TargetError};

/// Reads that may fail on a disk before it is taken for failing.
const READ_FAULTS_MAX: u32 = 32;
/// Part that is tried alone where the engine has no pages.
const GRAIN: u32 = 4096;

impl<P: Port> GroupPort<P> {
    pub(crate) fn start_read(&mut self, index: u32) -> Result<(), TargetError> {
        match self.beyond(index) {
            Some(false) => {}
            Some(true) => {
                let fault = self.short(index);
                self.finish(index, Err(fault));
                return Ok(());
            }
            None => {
                self.parked.push(index);
                return Ok(());
            }
        }
        let map = self.map_of(index);
        let request = self.slots[index as usize].request;
        let pieces = self.pieces(map.fine, request.offset, request.len);
        self.slots[index as usize].left = pieces;
        for nth in 0..pieces {
            let piece = self.piece(map.fine, request.offset, request.len, nth);
            let entry = map.read_entry(piece.unit);
            let child = Child {
                slot: index,
                disk: entry.disk(),
                piece: nth,
                retry: false,
            };
            if entry.has(Entry::UNREADABLE) {
                self.slots[index as usize].left -= 1;
                self.slots[index as usize].fault.get_or_insert(IoFault::Errno(EIO));
                continue;
            }
            self.send(Request {
                op: Op::Read,
                file: FileId(entry.slot()),
                offset: entry.au() << self.geometry.au_shift() | piece.inside,
                at: request.at + piece.from,
                len: piece.len,
                token: child.token(),
            })?;
        }
        self.end_read(index);
        Ok(())
    }

    fn end_read(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        if slot.left == 0 {
            let result = slot.fault.map_or(Ok(()), Err);
            self.finish(index, result);
        }
    }

    /// The range of the file that a request below was for, and the copies tried for it before.
    fn range(&self, child: Child, map: &FileMap) -> Retry {
        let slot = &self.slots[child.slot as usize];
        if child.retry {
            return slot.retries[child.piece as usize];
        }
        let piece = self.piece(map.fine, slot.request.offset, slot.request.len, child.piece);
        Retry {
            offset: slot.request.offset + piece.from,
            len: piece.len,
            tried: 0,
            small: false,
        }
    }

    pub(crate) fn read_ended(&mut self, child: Child, result: Result<(), IoFault>) -> Result<(), TargetError> {
        let slot = &mut self.slots[child.slot as usize];
        if slot.simple {
            slot.begin(slot.request);
            slot.left = 1;
            self.singles -= 1;
        }
        slot.left -= 1;
        let single = self.files[usize::from(self.slots[child.slot as usize].request.file.0)]
            .map
            .copies
            == 1;
        match result {
            Ok(()) if single || self.verify.is_none() => {}
            Ok(()) => self.verify_range(child)?,
            Err(fault) if single => {
                self.slots[child.slot as usize].fault.get_or_insert(fault);
            }
            Err(fault) => self.read_failed(child, fault)?,
        }
        self.end_read(child.slot);
        Ok(())
    }

    /// The copy that a request below read, as a bit.
    fn copy_bit(map: &FileMap, unit: u64, disk: u16) -> u8 {
        let copy = (0..map.copies).find(|&c| map.write_entry(unit, c).disk() == disk);
        copy.map_or(0, |c| 1 << c)
    }

    #[cold]
    fn read_failed(&mut self, child: Child, fault: IoFault) -> Result<(), TargetError> {
        let map = self.map_of(child.slot);
        let range = self.range(child, &map);
        let (unit, _) = self.geometry.locate(range.offset, map.fine);
        self.board().suspect(map.number, unit);
        let faults = self.board().read_faults[usize::from(child.disk)].fetch_add(1, Ordering::Relaxed);
        if faults >= READ_FAULTS_MAX && !self.board().is_offline(child.disk) {
            self.board().read_faults[usize::from(child.disk)].store(0, Ordering::Relaxed);
            let mut core = self.core();
            core.trouble.insert(child.disk);
            let settled = core.settle_trouble();
            drop(core);
            settled.map_err(layer)?;
        }
        let tried = range.tried | Self::copy_bit(&map, unit, child.disk);
        if self.try_again(child.slot, Retry { tried, ..range }, &map)? {
            return Ok(());
        }
        let page = self.page(&map);
        if range.small || range.len <= page {
            self.slots[child.slot as usize].fault.get_or_insert(fault);
            return Ok(());
        }
        // Every copy has a bad spot somewhere: perhaps not the same.
        for from in (0..range.len).step_by(page as usize) {
            let part = Retry {
                offset: range.offset + u64::from(from),
                len: page.min(range.len - from),
                tried: 0,
                small: true,
            };
            if !self.try_again(child.slot, part, &map)? {
                self.slots[child.slot as usize].fault.get_or_insert(fault);
            }
        }
        Ok(())
    }

    fn page(&self, map: &FileMap) -> u32 {
        let page = self.verify.as_ref().map_or(0, |v| v.page_bytes(&map.name));
        if page == 0 {
            GRAIN.max(self.inner.alignment())
        } else {
            page
        }
    }

    /// Reads a range from a copy that has not been tried; false when there is none.
    fn try_again(&mut self, index: u32, retry: Retry, map: &FileMap) -> Result<bool, TargetError> {
        let (unit, inside) = self.geometry.locate(retry.offset, map.fine);
        let open = |c: &usize| retry.tried >> c & 1 == 0 && !map.write_entry(unit, *c).has(Entry::UNREADABLE);
        let Some(copy) = (0..map.copies).find(open) else {
            return Ok(false);
        };
        let entry = map.write_entry(unit, copy);
        let slot = &mut self.slots[index as usize];
        let child = Child {
            slot: index,
            disk: entry.disk(),
            piece: slot.retries.len() as u32,
            retry: true,
        };
        slot.retries.push(retry);
        slot.left += 1;
        let request = Request {
            op: Op::Read,
            file: FileId(entry.slot()),
            offset: entry.au() << self.geometry.au_shift() | inside,
            at: slot.request.at + (retry.offset - slot.request.offset),
            len: retry.len,
            token: child.token(),
        };
        self.board().rescued.fetch_add(1, Ordering::Relaxed);
        self.send(request)?;
        Ok(true)
    }

    /// Looks at every page of a range that was read. A bad one is read from another copy; if all are bad, the caller
    /// gets what was read and will say so itself.
    fn verify_range(&mut self, child: Child) -> Result<(), TargetError> {
        let Some(verify) = self.verify.clone() else {
            return Ok(());
        };
        let map = self.map_of(child.slot);
        let page = verify.page_bytes(&map.name);
        let range = self.range(child, &map);
        if page == 0 {
            return Ok(());
        }
        let request = self.slots[child.slot as usize].request;
        for from in (0..range.len).step_by(page as usize) {
            let offset = range.offset + u64::from(from);
            let len = page.min(range.len - from);
            let bytes = self.inner.bytes(request.at + (offset - request.offset), len as usize);
            if len < page || verify.is_good(&map.name, offset, bytes) {
                continue;
            }
            let (unit, _) = self.geometry.locate(offset, map.fine);
            self.board().suspect(map.number, unit);
            let part = Retry {
                offset,
                len,
                tried: range.tried | Self::copy_bit(&map, unit, child.disk),
                small: true,
            };
            self.try_again(child.slot, part, &map)?;
        }
        Ok(())
    }
}
