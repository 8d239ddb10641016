//! One writer a file: an advisory lock held as long as the file is open for writing.
//!
//! Takes a path, gives a guard. It is the `flock` kind, which SQLite's own byte-range locks neither see nor disturb, so
//! readers go on as they like. Prevents: two runs that resume the same study into the same file.

use crate::error::LedgerError;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

/// How often a writer tries, and how long it waits in between: who only looks ([`is_held`]) has the lock for a moment.
const TRIES: u32 = 5;
const WAIT: Duration = Duration::from_millis(20);

/// Holds the lock until dropped.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Locks the existing file at `place`, or says who is in the way; messages call it `path`.
    pub(crate) fn take(place: &Path, path: &Path) -> Result<WriterLock, LedgerError> {
        let failed = |source: std::io::Error| LedgerError::NotWritable {
            path: path.into(),
            detail: source.to_string(),
        };
        let file = OpenOptions::new().read(true).write(true).open(place).map_err(failed)?;
        let mut taken = file.try_lock();
        for _ in 1..TRIES {
            if !matches!(taken, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(WAIT);
            taken = file.try_lock();
        }
        match taken {
            Ok(()) => Ok(WriterLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LedgerError::InUse { path: path.into() }),
            // A file system without locks: then nobody is kept out, as before.
            Err(TryLockError::Error(source)) if source.kind() == std::io::ErrorKind::Unsupported => {
                Ok(WriterLock { _file: file })
            }
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// Whether a writer holds the file at `place` now. A file system without locks says no.
pub(crate) fn is_held(place: &Path) -> std::io::Result<bool> {
    // Given back when the file is closed, at the end of this function.
    match File::open(place)?.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(_)) => Ok(false),
    }
}
