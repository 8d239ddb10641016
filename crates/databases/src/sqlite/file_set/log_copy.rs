//! The beginning of a write-ahead log in memory, as it was written: what a checkpoint reads back.
//!
//! Takes what is written and cut off, gives bytes back as far as it knows all of them. SQLite begins its log anew after
//! each checkpoint, so the beginning is all of it unless a transaction is large. Prevents: a device that is read for
//! bytes that this process has just written, where every database has them in memory.

use std::sync::{PoisonError, RwLock};

/// Bytes of a log from its first one.
pub(super) struct LogCopy {
    /// Most bytes that are kept.
    limit: u64,
    /// All that is known: bytes behind its end are asked of the file.
    known: RwLock<Vec<u8>>,
}

impl LogCopy {
    /// At most `limit` bytes, none of which is known.
    pub(super) fn new(limit: u64) -> LogCopy {
        LogCopy {
            limit,
            known: RwLock::default(),
        }
    }

    /// These bytes were written here.
    pub(super) fn write(&self, offset: u64, data: &[u8]) {
        let data = &data[..data.len().min(self.limit.saturating_sub(offset) as usize)];
        if data.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let at = offset as usize;
        // What lies in the gap was written before this was made.
        if at > known.len() {
            return;
        }
        if known.capacity() == 0 {
            // Once: a vector that grows by itself copies all of it again and again.
            known.reserve_exact(self.limit as usize);
        }
        let (over, behind) = data.split_at(data.len().min(known.len() - at));
        known[at..at + over.len()].copy_from_slice(over);
        known.extend_from_slice(behind);
    }

    /// What was behind this size is gone, or not sure.
    pub(super) fn truncate(&self, size: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match size {
            // A database that is at rest needs no memory for it.
            0 => *known = Vec::new(),
            _ => known.truncate(usize::try_from(size).unwrap_or(usize::MAX)),
        }
    }

    /// Fills `to` if all of it is known.
    pub(super) fn read(&self, offset: u64, to: &mut [u8]) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = known.get(from..from.saturating_add(to.len()));
        if let Some(found) = found {
            to.copy_from_slice(found);
        }
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(copy: &LogCopy, offset: u64, len: usize) -> Option<Vec<u8>> {
        let mut to = vec![0xee; len];
        copy.read(offset, &mut to).then_some(to)
    }

    #[test]
    fn what_was_written_is_known_as_far_as_it_has_no_gap() {
        let copy = LogCopy::new(10);
        copy.write(2, &[1]);
        assert_eq!(has(&copy, 2, 1), None, "bytes before it are not known");
        copy.write(0, &[1, 2, 3]);
        copy.write(2, &[7, 8]);
        assert_eq!(has(&copy, 0, 4), Some(vec![1, 2, 7, 8]));
        assert_eq!(has(&copy, 1, 4), None, "one byte too far");
        copy.write(1, &[5]);
        assert_eq!(has(&copy, 0, 4), Some(vec![1, 5, 7, 8]), "a byte in the middle");
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let copy = LogCopy::new(4);
        copy.write(0, &[1, 2, 3, 4, 5, 6]);
        copy.write(6, &[7]);
        assert_eq!((has(&copy, 0, 4), has(&copy, 4, 1)), (Some(vec![1, 2, 3, 4]), None));
        let none = LogCopy::new(0);
        none.write(0, &[1]);
        assert_eq!(has(&none, 0, 1), None);
    }

    #[test]
    fn what_was_cut_off_is_forgotten() {
        let copy = LogCopy::new(8);
        copy.write(0, &[1, 2, 3, 4]);
        copy.truncate(2);
        assert_eq!((has(&copy, 0, 2), has(&copy, 1, 2)), (Some(vec![1, 2]), None));
        copy.write(2, &[9]);
        assert_eq!(has(&copy, 0, 3), Some(vec![1, 2, 9]));
        copy.truncate(u64::MAX);
        assert_eq!(has(&copy, 0, 3), Some(vec![1, 2, 9]));
    }
}
