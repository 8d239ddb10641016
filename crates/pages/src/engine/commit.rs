//! Commit: all changes of a transaction are made at once, in memory and as one record of the redo log; then group
//! commit.
//!
//! Prevents: half a transaction in the log or in a page, whatever moment the power goes.

use crate::engine::log::Flight;
use crate::engine::worker::{Ready, Region, Worker};
use crate::error::PagesError;
use crate::format::page::{self, COLUMNS, HEADER_BYTES};
use crate::format::redo::{
    BatchHeader, CHANGE_HEADER, Change, RECORD_HEADER, put_change_header, put_record, seal_batch,
};
use crate::format::shape::TornPages;
use crate::planted::Planted;
use crate::purpose::Purpose;
use targets::{Op, Port};

/// Bytes of the largest record that a transaction of `pages` pages can become.
pub(crate) fn record_bytes_max(pages: u64, page_bytes: u64, torn_pages: TornPages, column_bytes: u64) -> u64 {
    let body = match torn_pages {
        TornPages::Log => page_bytes,
        TornPages::Double | TornPages::None => column_bytes * (COLUMNS as u64 - 1),
    };
    RECORD_HEADER as u64 + pages * (CHANGE_HEADER as u64 + body)
}

impl<P: Port> Worker<P> {
    /// Whether the next change of this page must carry its full image.
    fn wants_image(&self, frame: u32) -> bool {
        if self.settings.torn_pages != TornPages::Log || Planted::ImageLeftOut.on() {
            return false;
        }
        let from = if Planted::ImageByRecordedCheckpoint.on() {
            self.log.recorded
        } else {
            self.log.image_from
        };
        page::header(self.port.bytes(self.layout.frame_at(frame), HEADER_BYTES)).lsn < from
    }

    /// Changes the pages in these frames, all or (when the log has no room) none: `Ok(false)` means try again later.
    /// [`Ready::Commit`] for the session follows when the record is durable.
    pub(crate) fn commit(&mut self, session: u32, frames: &[u32], heavy: bool) -> Result<bool, PagesError> {
        let page_bytes = self.layout.page_bytes;
        let columns_bytes = self.content.column_bytes() as u64 * if heavy { COLUMNS as u64 - 1 } else { 2 };
        let mut bytes = RECORD_HEADER as u64;
        for frame in frames {
            bytes += CHANGE_HEADER as u64
                + if self.wants_image(*frame) {
                    page_bytes
                } else {
                    columns_bytes
                };
        }
        if !self.log.fits(bytes) {
            return Ok(false);
        }
        let (buffer, at) = self.log.reserve(bytes, session);
        let mut at = self.layout.redo_buffer_at[buffer] + at;
        let transaction = self.log.transactions;
        put_record(
            self.port.bytes_mut(at, RECORD_HEADER),
            bytes as u32,
            frames.len() as u32,
            transaction,
        );
        at += RECORD_HEADER as u64;
        for frame in frames {
            at = self.change(*frame, heavy, at);
        }
        self.counters.redo_records += 1;
        self.counters.redo_record_bytes += bytes;
        self.counters.dirty_pages_max = self.counters.dirty_pages_max.max(u64::from(self.cache.dirty));
        if Planted::AcknowledgedBeforeWrite.on() {
            self.ready.push(Ready::Commit { session });
        }
        Ok(true)
    }

    /// Changes one page in its frame and writes the change into the log buffer at `at`; gives the place after it.
    fn change(&mut self, frame: u32, heavy: bool, at: u64) -> u64 {
        let image = self.wants_image(frame);
        let (schema, number) = self.layout.address(self.cache.frames[frame as usize].page);
        let frame_at = self.layout.frame_at(frame);
        let lsn = self.log.lsn;
        let head = self.port.bytes_mut(frame_at, HEADER_BYTES);
        let raise = u64::from(!Planted::VersionNotRaised.on());
        let version = page::header(head).version + raise;
        page::put_change(head, version, lsn);
        let columns = self.content.changed_columns(schema, number, version, heavy);
        let key = self.content.version_key(schema, number, version);
        let column_bytes = self.content.column_bytes();
        let body_at = at + CHANGE_HEADER as u64;
        let mut end = body_at;
        for column in (0..COLUMNS as u32).filter(|c| columns & 1 << c != 0) {
            let mut value = [0; 128];
            self.content.column(&mut value[..column_bytes], key, column);
            let place = frame_at + (HEADER_BYTES + column as usize * column_bytes) as u64;
            self.port
                .bytes_mut(place, column_bytes)
                .copy_from_slice(&value[..column_bytes]);
            if !image {
                self.port
                    .bytes_mut(end, column_bytes)
                    .copy_from_slice(&value[..column_bytes]);
                end += column_bytes as u64;
            }
        }
        if image {
            let page_bytes = self.layout.page_bytes as usize;
            self.scratch.copy_from_slice(self.port.bytes(frame_at, page_bytes));
            self.port.bytes_mut(body_at, page_bytes).copy_from_slice(&self.scratch);
            end += page_bytes as u64;
            self.counters.page_images += 1;
            self.counters.page_image_bytes += page_bytes as u64;
        }
        let whole = self.port.bytes_mut(at, (end - at) as usize);
        let (head, body) = whole.split_at_mut(CHANGE_HEADER);
        let change = Change {
            schema,
            page: number,
            version,
            columns: if image { 0 } else { columns },
            body,
        };
        put_change_header(head, &change);
        self.cache.change(frame, lsn);
        end
    }

    /// Starts writing the open batch when nothing is under way.
    pub(crate) fn pump_log(&mut self) -> Result<(), PagesError> {
        if self.log.flight != Flight::None || self.log.is_open_empty() {
            return Ok(());
        }
        let sealed = self.log.seal();
        let at = self.layout.redo_buffer_at[sealed.buffer];
        self.port
            .bytes_mut(at + sealed.length, (sealed.padded - sealed.length) as usize)
            .fill(0);
        let batch = self.port.bytes_mut(at, sealed.length as usize);
        let header = BatchHeader {
            lsn: sealed.lsn,
            length: sealed.length as u32,
            crc: 0,
            previous: self.log.previous,
            records: sealed.records,
        };
        self.log.previous = seal_batch(batch, self.database, self.layout.worker, &header);
        let in_thread = sealed.lsn % self.layout.redo_bytes;
        let first = sealed.padded.min(self.layout.redo_bytes - in_thread);
        let file = self.layout.files.redo;
        self.submit(
            Op::Write,
            Region::new((file, self.layout.redo_at + in_thread), first),
            at,
            Purpose::Redo,
        )?;
        let mut requests = 1;
        if first < sealed.padded && !Planted::WrapCutOff.on() {
            let rest = sealed.padded - first;
            let region = Region::new((file, self.layout.redo_at), rest);
            self.submit(Op::Write, region, at + first, Purpose::Redo)?;
            requests = 2;
        }
        self.log.flight = Flight::Writing(requests);
        self.counters.redo_writes += u64::from(requests);
        self.counters.redo_write_bytes += sealed.padded;
        Ok(())
    }

    /// A redo write ended; after the last one of the batch comes the flush.
    pub(crate) fn redo_written(&mut self) -> Result<(), PagesError> {
        match self.log.flight {
            Flight::Writing(1) => {
                self.log.flight = Flight::Flushing;
                if Planted::RedoFlushLeftOut.on() {
                    self.redo_flushed();
                    return Ok(());
                }
                self.counters.redo_flushes += 1;
                self.submit_flush(self.layout.files.redo, Purpose::RedoFlush)
            }
            Flight::Writing(n) => {
                self.log.flight = Flight::Writing(n - 1);
                Ok(())
            }
            Flight::None | Flight::Flushing => Err(PagesError::Stuck {
                what: "a redo write ended twice".into(),
            }),
        }
    }

    /// The batch is durable: wake its sessions.
    pub(crate) fn redo_flushed(&mut self) {
        for session in self.log.flushed() {
            self.counters.commits += 1;
            self.ready.push(Ready::Commit { session });
        }
    }
}
