//! Background writers: dirty pages to their homes, oldest change first, with or without a doublewrite area.
//!
//! A page is copied into a staging slot, gets its checksum there, waits until the log is durable past its last change,
//! and goes home. Prevents: a page on storage that is ahead of the log (steal), and one that changes while it is
//! written.
//!
//! With [`TornPages::Double`] pages go in batches: area, flush, homes, flush; only then are the slots used again, so
//! that at any moment each page is whole at home or in the area.

use crate::engine::stages::{Batch, Slot, Stage};
use crate::engine::worker::{Region, Worker};
use crate::error::PagesError;
use crate::format::page;
use crate::planted::Planted;
use crate::purpose::Purpose;
use targets::{Op, Port};

impl<P: Port> Worker<P> {
    /// Copies what should be written, sends what may be.
    pub(crate) fn pump_writers(&mut self) -> Result<(), PagesError> {
        if self.cache.dirty > 0 && self.writers.batch == Batch::Gathering {
            self.copy_dirty();
        }
        if self.writers.used == 0 {
            return Ok(());
        }
        if self.writers.double {
            return self.pump_doublewrite();
        }
        for slot in 0..self.layout.writers {
            let Slot { stage, lsn, .. } = self.writers.slots[slot as usize];
            if stage == Stage::Copied && (lsn < self.log.durable || Planted::WriteAheadIgnored.on()) {
                self.send_home(slot)?;
            }
        }
        Ok(())
    }

    /// How old a change must be to be written now: everything when frames are short or much is dirty, else what a
    /// checkpoint waits for.
    fn write_before(&self) -> u64 {
        let much = self.cache.dirty > (self.layout.frames / 4).max(1);
        if much || self.short_of_frames {
            u64::MAX
        } else {
            self.checkpoint.pages_before().unwrap_or(0)
        }
    }

    fn copy_dirty(&mut self) {
        for slot in 0..self.layout.writers {
            if self.writers.slots[slot as usize].stage != Stage::Free {
                continue;
            }
            let Some(frame) = self.cache.oldest_dirty(self.write_before()) else {
                return;
            };
            let first_lsn = self.cache.begin_write(frame);
            let len = self.layout.page_bytes as usize;
            self.scratch
                .copy_from_slice(self.port.bytes(self.layout.frame_at(frame), len));
            page::seal(&mut self.scratch);
            let header = page::header(&self.scratch);
            self.port
                .bytes_mut(self.layout.staging(slot), len)
                .copy_from_slice(&self.scratch);
            let (version, lsn) = (header.version as u32, header.lsn);
            self.writers.slots[slot as usize] = Slot {
                stage: Stage::Copied,
                frame,
                version,
                lsn,
                first_lsn,
            };
            self.writers.used += 1;
        }
    }

    fn send_home(&mut self, slot: u32) -> Result<(), PagesError> {
        let frame = self.writers.slots[slot as usize].frame;
        let (schema, number) = self.layout.address(self.cache.frames[frame as usize].page);
        let place = self.layout.home(schema, number);
        let len = self.layout.page_bytes;
        self.submit(
            Op::Write,
            Region::new(place, len),
            self.layout.staging(slot),
            Purpose::Home(slot),
        )?;
        self.writers.slots[slot as usize].stage = Stage::Home;
        self.home_writes += 1;
        self.homes_under_way += 1;
        self.counters.pages_written += 1;
        self.counters.data_writes += 1;
        self.counters.data_write_bytes += len;
        Ok(())
    }

    /// A page is at its home.
    pub(crate) fn home_written(&mut self, slot: u32) -> Result<(), PagesError> {
        self.homes_under_way -= 1;
        let Slot { frame, version, .. } = self.writers.slots[slot as usize];
        let local = self.cache.frames[frame as usize].page;
        // From now on a read of the home finds this version, although doublewrite still holds the frame.
        self.cache.home_version[local as usize] = version;
        self.overwritten.add(local);
        let (schema, _) = self.layout.address(local);
        self.unflushed[self.layout.data_index(schema)] = true;
        if !self.writers.double {
            self.release(slot);
            return Ok(());
        }
        self.writers.slots[slot as usize].stage = Stage::Arrived;
        let Batch::Homes(left) = self.writers.batch else {
            return Err(PagesError::Stuck {
                what: "a page came home outside a doublewrite batch".into(),
            });
        };
        self.writers.batch = Batch::Homes(left - 1);
        if left > 1 {
            return Ok(());
        }
        self.flush_homes()
    }

    /// The homes of a doublewrite batch are written: flush the files they are in before the area is used again. Homes
    /// of this mode are always flushed here, so that a checkpoint has nothing left to flush.
    fn flush_homes(&mut self) -> Result<(), PagesError> {
        let flushes = if Planted::DoublewriteReusedEarly.on() {
            0
        } else {
            self.flush_data(Purpose::HomeFlush)?
        };
        self.writers.batch = Batch::HomeFlush(flushes);
        if flushes == 0 {
            self.release_batch();
        }
        Ok(())
    }

    /// Flushes every data file with writes that no flush has followed; gives how many.
    pub(crate) fn flush_data(&mut self, purpose: fn(u32) -> Purpose) -> Result<u32, PagesError> {
        let mut flushes = 0;
        for index in 0..self.unflushed.len() {
            if std::mem::take(&mut self.unflushed[index]) {
                let file = self.layout.files.data[index];
                self.submit_flush(file, purpose(index as u32))?;
                flushes += 1;
            }
        }
        self.counters.data_flushes += u64::from(flushes);
        Ok(flushes)
    }

    /// A file with homes of the doublewrite batch is flushed.
    pub(crate) fn homes_flushed(&mut self) -> Result<(), PagesError> {
        let Batch::HomeFlush(left) = self.writers.batch else {
            return Err(PagesError::Stuck {
                what: "a flush outside a doublewrite batch".into(),
            });
        };
        self.writers.batch = Batch::HomeFlush(left - 1);
        if left == 1 {
            self.release_batch();
        }
        Ok(())
    }

    fn release(&mut self, slot: u32) {
        let frame = self.writers.slots[slot as usize].frame;
        if Planted::ChangeDuringWriteForgotten.on() && self.cache.frames[frame as usize].dirty {
            self.cache.begin_write(frame);
        }
        self.cache.frames[frame as usize].writing = false;
        self.writers.slots[slot as usize].stage = Stage::Free;
        self.writers.used -= 1;
    }

    fn release_batch(&mut self) {
        for slot in 0..self.layout.writers {
            if self.writers.slots[slot as usize].stage == Stage::Arrived {
                self.release(slot);
            }
        }
        self.writers.batch = Batch::Gathering;
    }

    /// Sends a batch to the area once the log is durable past all of it. Slots are filled from the first, so a batch is
    /// contiguous in memory and in the area.
    fn pump_doublewrite(&mut self) -> Result<(), PagesError> {
        if self.writers.batch != Batch::Gathering {
            return Ok(());
        }
        let durable = self.log.durable;
        let waiting = |s: &Slot| s.stage == Stage::Copied && s.lsn >= durable;
        if self.writers.slots.iter().any(waiting) && !Planted::WriteAheadIgnored.on() {
            return Ok(());
        }
        let len = u64::from(self.writers.used) * self.layout.page_bytes;
        self.submit(
            Op::Write,
            Region::new(self.layout.doublewrite, len),
            self.layout.staging_at,
            Purpose::Doublewrite,
        )?;
        self.writers.batch = Batch::Area;
        self.counters.data_writes += 1;
        self.counters.data_write_bytes += len;
        self.counters.doublewrite_bytes += len;
        Ok(())
    }

    /// The batch is in the area; it must be durable there before a home is touched.
    pub(crate) fn doublewrite_written(&mut self) -> Result<(), PagesError> {
        self.writers.batch = Batch::AreaFlush;
        if Planted::DoublewriteFlushLeftOut.on() {
            return self.doublewrite_flushed();
        }
        self.counters.data_flushes += 1;
        self.submit_flush(self.layout.doublewrite.0, Purpose::DoublewriteFlush)
    }

    /// The batch is durable in the area: now the homes.
    pub(crate) fn doublewrite_flushed(&mut self) -> Result<(), PagesError> {
        self.writers.batch = Batch::Homes(self.writers.used);
        for slot in 0..self.writers.used {
            self.send_home(slot)?;
        }
        Ok(())
    }
}
