//! The checkpoint: a fuzzy one, behind the work.
//!
//! Its position C is the end of the log when it starts. From then on every page changed for the first time carries a
//! full image (`torn_pages = log`). Pages with changes below C are written; the data files are flushed; C is recorded
//! in a control block and flushed; only then may the log before C be overwritten. Prevents: each of these steps taken
//! before the one it rests on.

use crate::engine::stages::Step;
use crate::engine::worker::{Region, Worker};
use crate::error::PagesError;
use crate::format::control::Control;
use crate::format::shape::BLOCK_BYTES;
use crate::planted::Planted;
use crate::purpose::Purpose;
use targets::{Op, Port};

impl<P: Port> Worker<P> {
    /// Starts a checkpoint when one is due, and moves it on.
    pub(crate) fn pump_checkpoint(&mut self) -> Result<(), PagesError> {
        if self.checkpoint.step == Step::Idle && self.checkpoint_due() && self.log.is_open_empty() {
            self.checkpoint.step = Step::Pages;
            self.checkpoint.wanted = false;
            self.checkpoint.position = self.log.lsn;
            self.checkpoint.previous = self.log.previous;
            self.checkpoint.began = self.port.now();
            self.log.image_from = self.log.lsn;
        }
        if self.checkpoint.step != Step::Pages {
            return Ok(());
        }
        let before = self.checkpoint.position;
        let behind = self.cache.dirty_before(before) || self.writers.hold_before(before);
        if behind && !Planted::CheckpointBeforePages.on() {
            return Ok(());
        }
        // Doublewrite has flushed the homes before it released their slots.
        let flush = !self.writers.double && !Planted::DataFlushLeftOut.on();
        let flushes = if flush { self.flush_data(Purpose::DataFlush)? } else { 0 };
        self.checkpoint.step = Step::Data(flushes);
        if flushes == 0 { self.record_checkpoint() } else { Ok(()) }
    }

    /// Due when asked for, when half of the log would have to be replayed, or by time.
    fn checkpoint_due(&self) -> bool {
        let span = self.log.span();
        if self.checkpoint.held || (span == 0 && self.cache.dirty == 0) {
            return false;
        }
        self.checkpoint.wanted
            || span > self.log.capacity() / 2
            || self.port.now().saturating_sub(self.checkpoint.began) >= self.settings.checkpoint_ns
    }

    pub(crate) fn checkpoint_data_flushed(&mut self) -> Result<(), PagesError> {
        let Step::Data(left) = self.checkpoint.step else {
            return Err(PagesError::Stuck {
                what: "a data file flush outside a checkpoint".into(),
            });
        };
        self.checkpoint.step = Step::Data(left - 1);
        if left == 1 { self.record_checkpoint() } else { Ok(()) }
    }

    /// All pages below the position are durable at home: record it.
    pub(crate) fn record_checkpoint(&mut self) -> Result<(), PagesError> {
        if Planted::CheckpointTooNew.on() {
            self.checkpoint.position = self.log.lsn;
            self.checkpoint.previous = self.log.previous;
        }
        self.checkpoint.sequence += 1;
        self.checkpoint.step = Step::Control;
        let control = Control {
            sequence: self.checkpoint.sequence,
            database: self.database,
            checkpoint: self.checkpoint.position,
            previous: self.checkpoint.previous,
            worker: self.layout.worker,
            files: self.layout.files.data.len() as u32,
            shape: self.shape,
            torn_pages: self.settings.torn_pages,
            writers: self.settings.writers,
            workers: self.settings.workers,
            redo_bytes: self.settings.redo_bytes,
        };
        let at = self.layout.control_at;
        control.encode(self.port.bytes_mut(at, BLOCK_BYTES as usize));
        let place = self.layout.control(control.sequence % 2);
        self.submit(Op::Write, Region::new(place, BLOCK_BYTES), at, Purpose::Control)
    }

    pub(crate) fn control_written(&mut self) -> Result<(), PagesError> {
        self.checkpoint.step = Step::ControlFlush;
        if Planted::ControlFlushLeftOut.on() {
            self.control_flushed();
            return Ok(());
        }
        self.submit_flush(self.layout.files.data[0], Purpose::ControlFlush)
    }

    pub(crate) fn control_flushed(&mut self) {
        self.checkpoint.step = Step::Idle;
        self.log.recorded = self.checkpoint.position;
        self.counters.checkpoints += 1;
    }

    /// Records the end of the log as checkpoint, whatever is dirty: for the loader, which leaves nothing dirty.
    pub(crate) fn record_now(&mut self) -> Result<(), PagesError> {
        self.checkpoint.position = self.log.lsn;
        self.checkpoint.previous = self.log.previous;
        self.log.image_from = self.log.lsn;
        self.record_checkpoint()?;
        while self.checkpoint.step != Step::Idle {
            self.poll(1, None)?;
        }
        Ok(())
    }

    /// Writes, flushes and records everything; returns when nothing is dirty and nothing is under way.
    pub(crate) fn drain(&mut self) -> Result<(), PagesError> {
        loop {
            let clean = self.cache.dirty == 0 && self.writers.idle();
            if clean && self.log.span() == 0 && self.checkpoint.step == Step::Idle {
                return Ok(());
            }
            self.checkpoint.wanted = true;
            self.pump()?;
            self.idle_is_stuck("a checkpoint does not end")?;
            self.poll(1, None)?;
            self.ready.clear();
        }
    }
}
