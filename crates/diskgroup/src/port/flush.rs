//! Flushes of a port: of every disk that has writes of the file, and what it means when one of them fails.
//!
//! A flush that failed is failed for good: what a disk had taken until then may be gone, and a later flush that goes
//! well says nothing about it (a cache may drop what it could not write, and call the rest clean). So before anybody
//! hears of a flush that went well elsewhere, the journal says which copies may lack something. Prevents: a failed
//! flush made good by trying again.

use crate::planted::Planted;
use crate::port::GroupPort;
use crate::port::open::layer;
use crate::port::slot::{Child, EIO};
use std::sync::atomic::Ordering;
use targets::{FileId, IoFault, Op, Port, Request, TargetError};

impl<P: Port> GroupPort<P> {
    pub(crate) fn start_flush(&mut self, index: u32) -> Result<(), TargetError> {
        let map = self.map_of(index);
        let marks = &map.marks;
        let faults = self.board().faults();
        self.slots[index as usize].disks = marks.clock.load(Ordering::SeqCst);
        self.slots[index as usize].faults = faults;
        let mut disks: Vec<u16> = (0..64).filter(|&d| marks.needs_flush(d)).collect();
        if Planted::FlushForgetsDisk.on() && disks.len() > 1 {
            disks.pop();
        }
        // The order of the two looks counts: a disk that goes is in doubt first, and in doubt until what it may lack is
        // recorded.
        disks.retain(|&disk| !self.board().is_offline(disk) || self.board().is_doubtful(disk));
        let (doubtful, sound): (Vec<u16>, Vec<u16>) = disks.into_iter().partition(|&d| self.board().is_doubtful(d));
        let slot = &mut self.slots[index as usize];
        slot.missed.extend(doubtful.into_iter().map(|disk| (0, disk)));
        slot.left = sound.len() as u32;
        for &disk in &sound {
            self.send_flush(index, disk)?;
        }
        if sound.is_empty() {
            self.conclude_flush(index)?;
        }
        Ok(())
    }

    fn send_flush(&mut self, index: u32, disk: u16) -> Result<(), TargetError> {
        let child = Child {
            slot: index,
            disk,
            piece: 0,
            retry: false,
        };
        self.board().flushing[usize::from(disk)].fetch_add(1, Ordering::SeqCst);
        let below = self.board().slots[usize::from(disk)].load(Ordering::Acquire);
        self.send(Request {
            op: Op::Flush,
            file: FileId(below as u16),
            offset: 0,
            at: 0,
            len: 0,
            token: child.token(),
        })
    }

    pub(crate) fn flush_ended(&mut self, child: Child, result: Result<(), IoFault>) -> Result<(), TargetError> {
        let map = self.map_of(child.slot);
        let disk = child.disk;
        let alone = self.board().flushing[usize::from(disk)].fetch_sub(1, Ordering::SeqCst) == 1;
        if result.is_err() && Planted::FailedFlushTriedAgain.on() && !self.slots[child.slot as usize].early {
            self.slots[child.slot as usize].early = true;
            return self.send_flush(child.slot, disk);
        }
        if let Err(fault) = result {
            self.board().doubt(disk);
            self.slots[child.slot as usize].fault.get_or_insert(fault);
        }
        let faults = self.slots[child.slot as usize].faults;
        let lost = self.board().lost_since(disk, faults) || self.board().is_doubtful(disk);
        let slot = &mut self.slots[child.slot as usize];
        slot.left -= 1;
        if lost {
            slot.missed.push((0, disk));
        } else if alone {
            map.marks.settle(disk, slot.disks);
        } else {
            map.marks.flushed[usize::from(disk)].fetch_max(slot.disks, Ordering::SeqCst);
        }
        if slot.left == 0 {
            self.conclude_flush(child.slot)
        } else {
            Ok(())
        }
    }

    /// All disks have answered: has recorded what may be missing before anybody hears that the flush is done.
    fn conclude_flush(&mut self, index: u32) -> Result<(), TargetError> {
        let map = self.map_of(index);
        let missed = std::mem::take(&mut self.slots[index as usize].missed);
        if !missed.is_empty() {
            self.core().missed_flush().map_err(layer)?;
        }
        let slot = &self.slots[index as usize];
        let fault = slot.fault.unwrap_or(IoFault::Errno(EIO));
        let failed = map.marks.failed.load(Ordering::SeqCst);
        self.finish(index, if failed { Err(fault) } else { Ok(()) });
        Ok(())
    }
}
