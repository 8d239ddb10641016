//! The log writer's state: two buffers, one filled while the other is written and flushed (group commit).
//!
//! Takes reservations of records and ends of I/Os, gives batches to write and sessions to wake. No I/O here. Prevents:
//! an acknowledgement before the flush, and a log that overwrites what recovery still needs.

use crate::format::redo::BATCH_HEADER;
use crate::format::shape::BLOCK_BYTES;
use crate::planted::Planted;

/// A buffer of the log.
struct Buffer {
    /// Bytes used, header included; [`BATCH_HEADER`] when empty.
    length: u64,
    records: u32,
    /// Sessions that wait for this batch.
    waiters: Vec<u32>,
}

/// Where the batch under way stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flight {
    /// Nothing under way.
    None,
    /// This many write requests have not completed.
    Writing(u32),
    /// The flush has not completed.
    Flushing,
}

/// The log of one worker.
pub(crate) struct Log {
    buffers: [Buffer; 2],
    buffer_bytes: u64,
    capacity: u64,
    open: usize,
    /// LSN of the open batch.
    pub(crate) lsn: u64,
    /// Checksum of the batch before the open one.
    pub(crate) previous: u32,
    /// The batch under way.
    pub(crate) flight: Flight,
    flight_end: u64,
    /// Everything below is on storage for good.
    pub(crate) durable: u64,
    /// Recovery would start here: nothing from here on may be overwritten.
    pub(crate) recorded: u64,
    /// Pages whose last change is below this need a full image with their next change.
    pub(crate) image_from: u64,
    /// Transactions so far, for the records.
    pub(crate) transactions: u64,
}

/// A sealed batch on its way to storage.
pub(crate) struct Sealed {
    pub(crate) buffer: usize,
    pub(crate) lsn: u64,
    pub(crate) length: u64,
    pub(crate) padded: u64,
    pub(crate) records: u32,
}

fn padded(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES) * BLOCK_BYTES
}

impl Log {
    /// A log whose next batch has this LSN and link.
    pub(crate) fn new(capacity: u64, buffer_bytes: u64, lsn: u64, previous: u32, recorded: u64) -> Log {
        let buffer = || Buffer {
            length: BATCH_HEADER as u64,
            records: 0,
            waiters: Vec::new(),
        };
        Log {
            buffers: [buffer(), buffer()],
            buffer_bytes,
            capacity,
            open: 0,
            lsn,
            previous,
            flight: Flight::None,
            flight_end: lsn,
            durable: lsn,
            recorded,
            image_from: recorded,
            transactions: 0,
        }
    }

    /// Prepares for this many waiting sessions, so that none of them allocates later.
    pub(crate) fn expect_sessions(&mut self, sessions: usize) {
        for buffer in &mut self.buffers {
            buffer.waiters.reserve(sessions);
        }
    }

    /// Largest record that can ever fit.
    pub(crate) fn record_max(buffer_bytes: u64) -> u64 {
        buffer_bytes - BATCH_HEADER as u64
    }

    /// Whether a record of this many bytes fits into the open batch, and the batch into the log.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        let length = self.buffers[self.open].length + bytes;
        let in_log = self.lsn + padded(length) - self.recorded <= self.capacity || Planted::RedoOverwritten.on();
        length <= self.buffer_bytes && in_log
    }

    /// Bytes of log that recovery would have to read, were the open batch written now.
    pub(crate) fn span(&self) -> u64 {
        let open = &self.buffers[self.open];
        self.lsn - self.recorded + if open.records > 0 { padded(open.length) } else { 0 }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn is_open_empty(&self) -> bool {
        self.buffers[self.open].records == 0
    }

    /// Takes room for a record; gives buffer and byte in it. The session (if any) is woken after the batch's flush.
    pub(crate) fn reserve(&mut self, bytes: u64, session: u32) -> (usize, u64) {
        let open = &mut self.buffers[self.open];
        let at = open.length;
        open.length += bytes;
        open.records += 1;
        if !Planted::AcknowledgedBeforeWrite.on() {
            open.waiters.push(session);
        }
        self.transactions += 1;
        (self.open, at)
    }

    /// Closes the open batch and opens the other buffer. Panics while a batch is under way.
    pub(crate) fn seal(&mut self) -> Sealed {
        assert!(
            self.flight == Flight::None,
            "a batch was sealed while another is under way"
        );
        let buffer = self.open;
        let open = &self.buffers[buffer];
        let sealed = Sealed {
            buffer,
            lsn: self.lsn,
            length: open.length,
            padded: padded(open.length),
            records: open.records,
        };
        self.flight_end = self.lsn + sealed.padded;
        self.lsn = self.flight_end;
        self.open = 1 - buffer;
        sealed
    }

    /// The flush is done: the batch is durable; gives the sessions that waited for it.
    pub(crate) fn flushed(&mut self) -> std::vec::Drain<'_, u32> {
        self.flight = Flight::None;
        self.durable = self.flight_end;
        let buffer = &mut self.buffers[1 - self.open];
        buffer.length = BATCH_HEADER as u64;
        buffer.records = 0;
        buffer.waiters.drain(..)
    }

    /// Nobody waits any more.
    pub(crate) fn forget_sessions(&mut self) {
        for buffer in &mut self.buffers {
            buffer.waiters.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_gather_while_a_batch_is_under_way_and_wake_only_after_their_own_flush() {
        let mut log = Log::new(64 << 10, 16 << 10, 64 << 10, 0, 64 << 10);
        log.reserve(100, 1);
        let first = log.seal();
        log.flight = Flight::Writing(1);
        log.reserve(100, 2);
        log.reserve(100, 3);
        log.flight = Flight::Flushing;
        assert_eq!(log.durable, first.lsn);
        assert_eq!(log.flushed().collect::<Vec<_>>(), [1]);
        assert_eq!(log.durable, first.lsn + 4096);
        let second = log.seal();
        assert_eq!((second.lsn, second.records), (first.lsn + 4096, 2));
        assert_eq!(log.flushed().collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn the_log_never_laps_the_checkpoint() {
        let mut log = Log::new(32 << 10, 8 << 10, 32 << 10, 0, 32 << 10);
        for _ in 0..4 {
            assert!(log.fits(5000));
            log.reserve(5000, 0);
            log.seal();
            log.flushed();
        }
        assert!(!log.fits(1), "32 KiB are used since the checkpoint");
        log.recorded += 8 << 10;
        assert!(log.fits(5000));
    }
}
