//! What the engine did, counted: logical against physical, requests against bytes.
//!
//! Prevents: a rate whose numerator nobody can name.

targets::counts! {
    /// Cumulative counts since the instance was opened; take the difference of two for a phase.
    pub struct Counters {
        /// Pages asked of the cache.
        logical_reads,
        /// Of these, found in the cache or already on their way into it.
        cache_hits,
        /// Single-page read requests.
        physical_reads,
        /// Bytes of them.
        physical_read_bytes,
        /// Multiblock read requests of scans.
        multiblock_reads,
        /// Bytes of them.
        multiblock_read_bytes,
        /// Multiblock reads repeated because a scan met a page that was being written; they are among those above.
        scan_rereads,
        /// Pages whose checksum, address and version were checked after a read.
        verified_pages,
        /// Pages written to their home.
        pages_written,
        /// Write requests to data files (homes and doublewrite area; without the control area).
        data_writes,
        /// Bytes of them.
        data_write_bytes,
        /// Of these, to the doublewrite area.
        doublewrite_bytes,
        /// Flushes of data files.
        data_flushes,
        /// Transactions written to the redo log.
        redo_records,
        /// Bytes of their records, page images included.
        redo_record_bytes,
        /// Redo write requests.
        redo_writes,
        /// Bytes of them, padding included.
        redo_write_bytes,
        /// Flushes of the redo log.
        redo_flushes,
        /// Transactions acknowledged after their flush.
        commits,
        /// Full page images in the redo log.
        page_images,
        /// Bytes of them.
        page_image_bytes,
        /// Checkpoints recorded.
        checkpoints,
        /// Times an operation waited for a free frame or a free request.
        frame_waits,
        /// Times a commit waited for room in the redo log.
        redo_waits,
    }
    /// Most dirty pages at once since opening (a level: a difference keeps the later one).
    level dirty_pages_max: std::ops::Add::add;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_what_happened_between() {
        let before = Counters {
            commits: 3,
            dirty_pages_max: 5,
            ..Counters::default()
        };
        let after = Counters {
            commits: 10,
            dirty_pages_max: 7,
            ..Counters::default()
        };
        assert_eq!((after - before).commits, 7);
        assert_eq!((after - before).dirty_pages_max, 7);
    }
}
