//! Commits alone: records of the redo log that change no page, written and acknowledged as those of transactions are.
//!
//! Takes sessions and bytes, gives the work of one of them as random work has it. Prevents: a rate of commits that
//! waits for reads of pages, and a record that fits into no batch.

use crate::engine::log::Log;
use crate::engine::worker::Worker;
use crate::error::PagesError;
use crate::format::layout::Layout;
use crate::format::redo::{RECORD_HEADER, put_record};
use crate::format::shape::{Files, Settings, Shape};
use crate::operations::ageing::AgeWork;
use crate::operations::work::RandomWork;
use rand_core::Rng;
use targets::{FileId, Port};

/// The parameters of commits alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedoWork {
    /// Sessions in all, shared out over the workers.
    pub sessions: u32,
    /// Bytes of redo of each commit, the record's header included.
    pub bytes: u32,
}

impl RedoWork {
    /// Its sessions, as random work has them.
    pub(crate) fn as_random(&self) -> RandomWork {
        // Updates, as an ageing has them; what they write is chosen by the operation.
        let updates = AgeWork {
            passes: 1,
            sessions: self.sessions,
            work_unit: 1,
            heavy: false,
            outstanding: 1,
        };
        updates.as_random()
    }

    /// Refuses records that no batch takes.
    pub(crate) fn check(&self, shape: &Shape, settings: &Settings) -> Result<(), PagesError> {
        let files = Files {
            data: vec![FileId(0)],
            redo: FileId(0),
        };
        let most = Log::record_max(Layout::new(shape, settings, &files, 0).redo_buffer_bytes);
        if u64::from(self.bytes) < RECORD_HEADER as u64 || u64::from(self.bytes) > most {
            return Err(PagesError::settings(
                format!("commits of {} bytes", self.bytes),
                format!(
                    "use {RECORD_HEADER} to {most} bytes, or a larger redo log (a quarter of it, at most 4 MiB, is the \
                     redo buffer)"
                ),
            ));
        }
        Ok(())
    }
}

impl<P: Port> Worker<P> {
    /// Writes a record of so many bytes that changes nothing; `false` means that the log has no room: try again later.
    /// [`Ready::Commit`](crate::engine::worker::Ready) for the session follows when it is durable.
    pub(crate) fn commit_alone(&mut self, session: u32, bytes: u32, rng: &mut impl Rng) -> bool {
        let length = u64::from(bytes);
        if !self.log.fits(length) {
            return false;
        }
        let (buffer, at) = self.log.reserve(length, session);
        let at = self.layout.redo_buffer_at[buffer] + at;
        let record = self.port.bytes_mut(at, bytes as usize);
        // Anew each time: what repeats would be small on a stack that compresses.
        rng.fill_bytes(&mut record[RECORD_HEADER..]);
        put_record(record, bytes, 0, self.log.transactions);
        self.counters.redo_records += 1;
        self.counters.redo_record_bytes += length;
        true
    }
}
