//! Recovery: what a crash left becomes a database again, with every acknowledged transaction and no half one.
//!
//! Redo only: find the checkpoint, restore torn pages from the doublewrite area, find the end of the log, replay what
//! stands between, write it, record a checkpoint. Idempotent by page version, so a crash in the middle of it is
//! harmless. Prevents: a torn tail that is replayed, damage in the middle of the log that passes for its end, and a
//! change applied to the wrong version.

use crate::engine::cache::NONE;
use crate::engine::log::Log;
use crate::engine::worker::{Ready, Region, Worker};
use crate::error::PagesError;
use crate::format::control::Control;
use crate::format::page::{self, COLUMNS, HEADER_BYTES};
use crate::format::redo::{self, BatchHeader, Change, Malformed, NotABatch};
use crate::format::shape::{BLOCK_BYTES, TornPages};
use crate::planted::Planted;
use crate::purpose::Purpose;
use std::collections::BTreeMap;
use targets::{FileId, Nanos, Op, Port};

/// What recovery found and did, over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes of redo replayed.
    pub redo_bytes: u64,
    /// Batches (redo writes) replayed.
    pub batches: u64,
    /// Whole transactions in them.
    pub transactions: u64,
    /// Page changes applied.
    pub changes: u64,
    /// Page changes that the pages at home already had.
    pub changes_present: u64,
    /// Full page images put in place.
    pub images: u64,
    /// Torn pages restored from the doublewrite area.
    pub restored: u64,
    /// Whether the log ended in a batch that was begun and not completed.
    pub torn_tail: bool,
    /// Time of the slowest worker, by its port's clock: all recover at once.
    pub elapsed_ns: Nanos,
}

impl std::ops::AddAssign for Recovery {
    fn add_assign(&mut self, other: Recovery) {
        self.redo_bytes += other.redo_bytes;
        self.batches += other.batches;
        self.transactions += other.transactions;
        self.changes += other.changes;
        self.changes_present += other.changes_present;
        self.images += other.images;
        self.restored += other.restored;
        self.torn_tail |= other.torn_tail;
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
    }
}

/// The part of the log that is in the bulk memory.
#[derive(Clone, Copy, Default)]
struct Window {
    from: u64,
    to: u64,
}

/// The log from the checkpoint on.
struct Tail {
    /// LSN of each batch and the checksum of the one before it.
    batches: Vec<(u64, u32)>,
    /// Where the log goes on.
    end: u64,
    /// Checksum of the last batch.
    previous: u32,
}

impl<P: Port> Worker<P> {
    /// One large request, waited for.
    pub(crate) fn bulk(&mut self, op: Op, place: (FileId, u64), at: u64, len: u64) -> Result<(), PagesError> {
        self.places[0] = Region::new(place, len);
        self.submit(op, self.places[0], at, Purpose::Bulk(0))?;
        loop {
            self.poll(1, None)?;
            if let Some(at) = self.ready.iter().position(|r| *r == Ready::Bulk { chunk: 0 }) {
                self.ready.swap_remove(at);
                return Ok(());
            }
        }
    }

    /// Flushes the redo file and all data files and waits.
    pub(crate) fn flush_all(&mut self) -> Result<(), PagesError> {
        self.bulk(Op::Flush, (self.layout.files.redo, 0), 0, 0)?;
        for index in 0..self.layout.files.data.len() {
            self.bulk(Op::Flush, (self.layout.files.data[index], 0), 0, 0)?;
        }
        Ok(())
    }

    /// Recovers this worker's pages and log.
    pub(crate) fn recover(&mut self, control: &Control) -> Result<Recovery, PagesError> {
        let began = self.port.now();
        self.checkpoint.sequence = control.sequence;
        self.checkpoint.held = true;
        let mut found = Recovery::default();
        // What is read now may only be in a cache: a page must not go home on the word of a log that could still
        // vanish.
        if !Planted::RecoveryTrustsCaches.on() {
            self.flush_all()?;
        }
        let Tail { batches, end, previous } = self.find_batches(control, &mut found)?;
        let buffer_bytes = self.layout.redo_buffer_bytes;
        self.log = Log::new(self.layout.redo_bytes, buffer_bytes, end, previous, control.checkpoint);
        if self.settings.torn_pages == TornPages::Double && !Planted::DoublewriteIgnored.on() {
            self.restore_torn(control.checkpoint, &mut found)?;
        }
        self.replay(&batches, &mut found)?;
        self.checkpoint.held = false;
        if Planted::RecoveredPagesNotWritten.on() {
            self.record_now()?;
        }
        self.drain()?;
        if Planted::TailForgotten.on() {
            let (at, previous) = (control.checkpoint, control.previous);
            self.log = Log::new(self.layout.redo_bytes, buffer_bytes, at, previous, at);
        }
        found.elapsed_ns = self.port.now() - began;
        Ok(found)
    }

    /// Brings `len` bytes of the log from `lsn` into memory; gives their place.
    fn log_at(&mut self, window: &mut Window, lsn: u64, len: u64) -> Result<u64, PagesError> {
        if lsn < window.from || lsn + len > window.to {
            let want = self.layout.bulk_bytes.min(self.layout.redo_bytes);
            let in_thread = lsn % self.layout.redo_bytes;
            let first = want.min(self.layout.redo_bytes - in_thread);
            let file = self.layout.files.redo;
            self.bulk(
                Op::Read,
                (file, self.layout.redo_at + in_thread),
                self.layout.bulk_at,
                first,
            )?;
            if first < want {
                self.bulk(
                    Op::Read,
                    (file, self.layout.redo_at),
                    self.layout.bulk_at + first,
                    want - first,
                )?;
            }
            *window = Window {
                from: lsn,
                to: lsn + want,
            };
        }
        Ok(self.layout.bulk_at + (lsn - window.from))
    }

    /// The batch at `lsn`, copied out, if it is whole and follows the one with checksum `previous`.
    fn batch_at(
        &mut self,
        window: &mut Window,
        lsn: u64,
        previous: u32,
        batch: &mut Vec<u8>,
    ) -> Result<Result<BatchHeader, (NotABatch, Option<BatchHeader>)>, PagesError> {
        let any_lap = Planted::ContinuityUnchecked.on();
        let at = self.log_at(window, lsn, BLOCK_BYTES)?;
        let block = self.port.bytes(at, BLOCK_BYTES as usize);
        let header = match redo::batch_header(block, self.database, lsn, self.layout.redo_buffer_bytes, any_lap) {
            Ok(header) => header,
            Err(why) => return Ok(Err((why, None))),
        };
        let at = self.log_at(window, lsn, u64::from(header.length))?;
        let bytes = self.port.bytes(at, header.length as usize);
        let whole = redo::batch_crc(bytes) == header.crc || Planted::RedoChecksumUnchecked.on();
        if !whole || (header.previous != previous && !any_lap) {
            return Ok(Err((NotABatch::Broken, Some(header))));
        }
        batch.clear();
        batch.extend_from_slice(bytes);
        Ok(Ok(header))
    }

    /// Positions of all batches from the checkpoint on, the end of the log and the checksum of the last batch.
    fn find_batches(&mut self, control: &Control, found: &mut Recovery) -> Result<Tail, PagesError> {
        let (mut lsn, mut previous) = (control.checkpoint, control.previous);
        let mut window = Window::default();
        let mut batch = Vec::new();
        let mut batches = Vec::new();
        while lsn < control.checkpoint + self.layout.redo_bytes {
            match self.batch_at(&mut window, lsn, previous, &mut batch)? {
                Ok(header) => {
                    batches.push((lsn, previous));
                    previous = header.crc;
                    lsn += u64::from(header.length).div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
                }
                Err((why, header)) => {
                    found.torn_tail = why == NotABatch::Broken;
                    if let Some(header) = header {
                        self.refuse_damage(&mut window, lsn, header, &mut batch)?;
                    }
                    break;
                }
            }
        }
        found.redo_bytes = lsn - control.checkpoint;
        found.batches = batches.len() as u64;
        Ok(Tail {
            batches,
            end: lsn,
            previous,
        })
    }

    /// A broken batch is the log's end unless the next one stands behind it: that was only written after the broken one
    /// had been flushed, so the storage lost it.
    fn refuse_damage(
        &mut self,
        window: &mut Window,
        lsn: u64,
        broken: BatchHeader,
        batch: &mut Vec<u8>,
    ) -> Result<(), PagesError> {
        let next = lsn + u64::from(broken.length).div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
        if self.batch_at(window, next, broken.crc, batch)?.is_err() {
            return Ok(());
        }
        Err(PagesError::RedoDamaged {
            file: self.layout.files.redo,
            offset: self.layout.redo_at + lsn % self.layout.redo_bytes,
            what: format!("the batch at LSN {lsn} is damaged, the one after it at LSN {next} is whole"),
        })
    }

    fn replay(&mut self, batches: &[(u64, u32)], found: &mut Recovery) -> Result<(), PagesError> {
        let mut window = Window::default();
        let mut batch = Vec::new();
        for nth in 0..batches.len() {
            let nth = if Planted::ReplayReversed.on() {
                batches.len() - 1 - nth
            } else {
                nth
            };
            let (lsn, previous) = batches[nth];
            if self.batch_at(&mut window, lsn, previous, &mut batch)?.is_err() {
                return Err(self.damaged(lsn, "a batch that was whole a moment ago reads differently now"));
            }
            let mut transactions = 0;
            redo::for_each_change::<ReplayError>(
                &batch,
                |_, _| transactions += 1,
                |nth, of, change| {
                    let lost = Planted::LastChangeLost.on() && nth > 0 && nth + 1 == of;
                    if lost { Ok(()) } else { self.apply(lsn, change, found) }
                },
            )
            .map_err(|e| match e {
                ReplayError::Pages(e) => e,
                ReplayError::Malformed => self.damaged(lsn, "a batch with a right checksum has impossible content"),
            })?;
            found.transactions += transactions;
            self.pump()?;
            self.poll(0, None)?;
        }
        Ok(())
    }

    fn damaged(&self, lsn: u64, what: &str) -> PagesError {
        let offset = self.layout.redo_at + lsn % self.layout.redo_bytes;
        PagesError::RedoDamaged {
            file: self.layout.files.redo,
            offset,
            what: what.into(),
        }
    }

    /// Applies one change unless the page has it.
    fn apply(&mut self, lsn: u64, change: Change<'_>, found: &mut Recovery) -> Result<(), ReplayError> {
        let ours = change.schema < self.shape.schemas && change.schema % self.layout.workers == self.layout.worker;
        if !ours || change.page >= self.layout.pages_per_schema {
            return Err(ReplayError::Malformed);
        }
        let local = self.layout.local(change.schema, change.page);
        if change.columns == 0 {
            return self.apply_image(lsn, local, change, found);
        }
        let frame = self.fetch(local)?;
        let at = self.layout.frame_at(frame);
        let header = page::header(self.port.bytes(at, HEADER_BYTES));
        if header.version >= change.version {
            found.changes_present += 1;
            return Ok(());
        }
        if header.version + 1 != change.version {
            let expected = format!(
                "version {} (the log's next change makes it {})",
                change.version - 1,
                change.version
            );
            return Err(self
                .data_loss(local, expected, format!("version {}", header.version))
                .into());
        }
        let column_bytes = self.content.column_bytes();
        if change.body.len() != change.columns.count_ones() as usize * column_bytes || change.columns >> COLUMNS != 0 {
            return Err(ReplayError::Malformed);
        }
        let columns = (0..COLUMNS).filter(|c| change.columns & 1 << c != 0);
        for (column, value) in columns.zip(change.body.chunks_exact(column_bytes)) {
            let place = at + (HEADER_BYTES + column * column_bytes) as u64;
            self.port.bytes_mut(place, column_bytes).copy_from_slice(value);
        }
        page::put_change(self.port.bytes_mut(at, HEADER_BYTES), change.version, lsn);
        self.cache.change(frame, lsn);
        found.changes += 1;
        Ok(())
    }

    /// Puts a full page image in place without reading what is at home, which may be torn.
    fn apply_image(
        &mut self,
        lsn: u64,
        local: u32,
        change: Change<'_>,
        found: &mut Recovery,
    ) -> Result<(), ReplayError> {
        if change.body.len() != self.layout.page_bytes as usize {
            return Err(ReplayError::Malformed);
        }
        let header = page::header(change.body);
        let of = (header.schema, header.page, header.version, header.database);
        if of != (change.schema, change.page, change.version, self.database) {
            return Err(ReplayError::Malformed);
        }
        let frame = match self.cache.lookup(local) {
            Some(frame) => frame,
            None => self.empty_frame(local)?,
        };
        let at = self.layout.frame_at(frame);
        self.port.bytes_mut(at, change.body.len()).copy_from_slice(change.body);
        self.cache.change(frame, lsn);
        found.images += 1;
        Ok(())
    }

    fn empty_frame(&mut self, local: u32) -> Result<u32, PagesError> {
        loop {
            if let Some(frame) = self.cache.evict() {
                self.cache.assign(frame, local);
                return Ok(frame);
            }
            self.short_of_frames = true;
            self.pump()?;
            self.idle_is_stuck("no frame of the cache can be freed")?;
            self.poll(1, None)?;
        }
    }

    /// Restores homes that were torn when the power went from the doublewrite area. A copy older than the checkpoint
    /// can't be of a torn home: that home was flushed before the checkpoint was recorded.
    fn restore_torn(&mut self, checkpoint: u64, found: &mut Recovery) -> Result<(), PagesError> {
        let page_bytes = self.layout.page_bytes;
        let (file, start) = self.layout.doublewrite;
        let mut copies: BTreeMap<u32, (u64, Vec<u8>)> = BTreeMap::new();
        for slot in 0..u64::from(self.layout.writers) {
            self.bulk(
                Op::Read,
                (file, start + slot * page_bytes),
                self.layout.bulk_at,
                page_bytes,
            )?;
            let bytes = self.port.bytes(self.layout.bulk_at, page_bytes as usize);
            let Ok(header) = page::check_whole(bytes, self.database) else {
                continue;
            };
            let ours = header.schema < self.shape.schemas && header.schema % self.layout.workers == self.layout.worker;
            if !ours || header.page >= self.layout.pages_per_schema || header.lsn < checkpoint {
                continue;
            }
            let copy = copies.entry(self.layout.local(header.schema, header.page)).or_default();
            if copy.0 < header.version {
                *copy = (header.version, bytes.to_vec());
            }
        }
        for (local, (_, copy)) in copies {
            let (schema, number) = self.layout.address(local);
            let home = self.layout.home(schema, number);
            self.bulk(Op::Read, home, self.layout.bulk_at, page_bytes)?;
            let bytes = self.port.bytes_mut(self.layout.bulk_at, page_bytes as usize);
            if page::check(bytes, self.database, schema, number).is_err() {
                bytes.copy_from_slice(&copy);
                self.bulk(Op::Write, home, self.layout.bulk_at, page_bytes)?;
                found.restored += 1;
            }
        }
        self.flush_all()
    }
}

/// Why a replay stopped.
enum ReplayError {
    Pages(PagesError),
    Malformed,
}

impl From<PagesError> for ReplayError {
    fn from(e: PagesError) -> Self {
        ReplayError::Pages(e)
    }
}

impl From<Malformed> for ReplayError {
    fn from(_: Malformed) -> Self {
        ReplayError::Malformed
    }
}

/// Both control blocks of a worker, read with nothing but its port; the newest whole one.
pub(crate) fn read_control<P: Port + ?Sized>(
    port: &mut P,
    file: FileId,
    worker: u32,
) -> Result<Option<Control>, PagesError> {
    let mut newest: Option<Control> = None;
    let mut done = Vec::new();
    for slot in 0..2u64 {
        let offset = (u64::from(worker) * 2 + slot) * BLOCK_BYTES;
        let len = BLOCK_BYTES as u32;
        port.submit(targets::Request {
            op: Op::Read,
            file,
            offset,
            at: 0,
            len,
            token: u64::from(NONE),
        })?;
        done.clear();
        while done.is_empty() {
            port.wait(1, None, &mut done)?;
        }
        if let Err(fault) = done[0].result {
            return Err(PagesError::Io {
                what: "control block read",
                file,
                offset,
                len,
                fault,
            });
        }
        let control = Control::decode(port.bytes(0, BLOCK_BYTES as usize)).filter(|c| c.worker == worker);
        if let Some(control) = control
            && newest.as_ref().is_none_or(|n| n.sequence < control.sequence)
        {
            newest = Some(control);
        }
    }
    Ok(newest)
}
