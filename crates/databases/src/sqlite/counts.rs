//! What SQLite asked of a file set and what the file set asked of its port.
//!
//! Prevents: physical reads that are guessed, where they can be counted, and counts of pages that begin anew at 2^31.

use std::sync::atomic::{AtomicU64, Ordering};

/// Pages by SQLite's own count.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CacheCounts {
    /// Pages that were in SQLite's cache.
    pub hits: u64,
    /// Pages that had to be read from below: physical reads, as far as SQLite can tell.
    pub misses: u64,
    /// Pages that were written.
    pub writes: u64,
}

/// Bits of SQLite's counters of pages, after which they begin anew without a word.
const COUNTER_BITS: u32 = 31;

/// Counters of a connection, summed: to be shown to it before they have gone round once.
#[derive(Default, Debug)]
pub(crate) struct CacheSums {
    shown: [u32; 3],
    sums: [u64; 3],
}

impl CacheSums {
    /// Adds what the counters (hits, misses, writes) have gone on since they were shown last.
    pub(crate) fn show(&mut self, counters: [u32; 3]) {
        let mask = (1 << COUNTER_BITS) - 1;
        for ((sum, shown), now) in self.sums.iter_mut().zip(&mut self.shown).zip(counters) {
            *sum += u64::from(now.wrapping_sub(*shown) & mask);
            *shown = now;
        }
    }

    /// Pages since the connection was opened.
    pub(crate) fn counts(&self) -> CacheCounts {
        let [hits, misses, writes] = self.sums;
        CacheCounts { hits, misses, writes }
    }
}

targets::counts! {
    /// I/O since the file set was opened.
    pub struct IoCounts {
        /// Reads that SQLite asked for: misses of its page cache.
        asked_reads,
        /// Bytes of them.
        asked_read_bytes,
        /// Writes that SQLite asked for.
        asked_writes,
        /// Bytes of them.
        asked_write_bytes,
        /// Syncs that SQLite asked for.
        asked_syncs,
        /// Reads of the port: those asked for, and blocks of which a part is rewritten.
        reads,
        /// Bytes of them.
        read_bytes,
        /// Reads that the beginning of the log in memory answered.
        log_reads,
        /// Writes of the port, those of heads among them.
        writes,
        /// Bytes of them.
        write_bytes,
        /// Flushes of the port.
        flushes,
        /// Heads written because a file came, went or changed its size.
        heads,
        /// Time that SQLite's calls spent in the file set, ns, summed over connections: the device, copies, and waits
        /// for each other. Over the service time of all operations it is an upper bound of the storage's share of them.
        file_set_ns,
    }
}

/// The counters behind [`IoCounts`], shared by all who do I/O on a file set.
#[derive(Default, Debug)]
pub(crate) struct Counters {
    asked_reads: AtomicU64,
    asked_read_bytes: AtomicU64,
    asked_writes: AtomicU64,
    asked_write_bytes: AtomicU64,
    asked_syncs: AtomicU64,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    log_reads: AtomicU64,
    writes: AtomicU64,
    write_bytes: AtomicU64,
    flushes: AtomicU64,
    heads: AtomicU64,
    file_set_ns: AtomicU64,
}

fn count(calls: &AtomicU64, bytes: &AtomicU64, len: u64) {
    calls.fetch_add(1, Ordering::Relaxed);
    bytes.fetch_add(len, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn asked_read(&self, len: u64) {
        count(&self.asked_reads, &self.asked_read_bytes, len);
    }
    pub(crate) fn asked_write(&self, len: u64) {
        count(&self.asked_writes, &self.asked_write_bytes, len);
    }
    pub(crate) fn asked_sync(&self) {
        self.asked_syncs.fetch_add(1, Ordering::Relaxed);
    }
    pub(crate) fn read(&self, len: u64) {
        count(&self.reads, &self.read_bytes, len);
    }
    pub(crate) fn write(&self, len: u64) {
        count(&self.writes, &self.write_bytes, len);
    }
    pub(crate) fn log_read(&self) {
        self.log_reads.fetch_add(1, Ordering::Relaxed);
    }
    pub(crate) fn flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }
    pub(crate) fn head(&self) {
        self.heads.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn spent(&self, ns: u64) {
        self.file_set_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> IoCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        IoCounts {
            asked_reads: of(&self.asked_reads),
            asked_read_bytes: of(&self.asked_read_bytes),
            asked_writes: of(&self.asked_writes),
            asked_write_bytes: of(&self.asked_write_bytes),
            asked_syncs: of(&self.asked_syncs),
            reads: of(&self.reads),
            read_bytes: of(&self.read_bytes),
            log_reads: of(&self.log_reads),
            writes: of(&self.writes),
            write_bytes: of(&self.write_bytes),
            flushes: of(&self.flushes),
            heads: of(&self.heads),
            file_set_ns: of(&self.file_set_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_pages_go_on_past_31_bits() {
        let mut sums = CacheSums::default();
        sums.show([0x7fff_fff0, 5, 0]);
        // The first has gone round.
        sums.show([0x10, 6, 0]);
        sums.show([0x10, 6, 3]);
        let counts = sums.counts();
        assert_eq!((counts.hits, counts.misses, counts.writes), ((1 << 31) + 0x10, 6, 3));
        for _ in 0..4 {
            sums.show([0x7000_0000, 6, 3]);
            sums.show([0x10, 6, 3]);
        }
        assert_eq!(sums.counts().hits, 5 * (1 << 31) + 0x10);
    }
}
