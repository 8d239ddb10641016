//! Three files of a file system as a file set, around the page cache: what ODM and Quick I/O did for the databases of
//! their time.
//!
//! Takes a path and how ports are opened, gives a [`FileSet`] that no other process has. Prevents: two processes with
//! the same database, whose locks know nothing of each other.

use super::error::SqliteError;
use super::file_set::layout::{DATA_AT, Role};
use super::file_set::{FileSet, FileSetSpec, READER_MEMORY_MIN, WRITER_MEMORY_MIN};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use targets::{Access, OpenSpec, Port, TargetError};

/// Requests in flight of the port that writes.
const WRITER_DEPTH: usize = 32;
/// Memory of it: a buffer of 128 KiB for each.
const WRITER_MEMORY: u64 = 4 << 20;

/// Longest wait for a lock of a process that has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a port is opened: on these files, with so much memory and depth.
pub type Open<'a, P> = dyn Fn(&[OpenSpec], u64, usize) -> Result<P, TargetError> + 'a;

/// The three files, and the lock that keeps others out.
pub struct DirectFiles {
    paths: [PathBuf; 3],
    _lock: File,
}

impl DirectFiles {
    /// Claims the files of the database at `path` (`path`, `path-wal`, `path-journal`), making those that are missing.
    ///
    /// # Errors
    /// [`SqliteError::Path`], also when another process has them.
    pub fn claim(path: &Path) -> Result<DirectFiles, SqliteError> {
        let failed = |what, source, cure| SqliteError::Path {
            what,
            path: path.to_path_buf(),
            source,
            cure,
        };
        let lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let lock = lock.map_err(|e| failed("open", e, "check the directory and its rights"))?;
        let began = Instant::now();
        // A process that was killed is gone a moment before its lock is, while others look at its files in /proc.
        let mut taken = lock.try_lock();
        while matches!(taken, Err(TryLockError::WouldBlock)) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
            taken = lock.try_lock();
        }
        taken.map_err(|e| {
            failed(
                "claim",
                e.into(),
                "another process has this database open: end it first",
            )
        })?;
        let paths = Role::ALL.map(|role| {
            let mut name = path.as_os_str().to_owned();
            name.push(role.suffix());
            PathBuf::from(name)
        });
        Ok(DirectFiles { paths, _lock: lock })
    }

    /// The three paths.
    pub fn paths(&self) -> &[PathBuf; 3] {
        &self.paths
    }

    fn specs(&self) -> Vec<OpenSpec> {
        let spec = |path: &PathBuf| OpenSpec::creating(path, Access::Direct, DATA_AT);
        self.paths.iter().map(spec).collect()
    }

    fn ports<P: Port>(&self, open: &Open<'_, P>, readers: usize) -> Result<(P, Vec<P>), SqliteError> {
        let specs = self.specs();
        let writer = open(&specs, WRITER_MEMORY.max(WRITER_MEMORY_MIN), WRITER_DEPTH)?;
        let readers = (0..readers).map(|_| open(&specs, READER_MEMORY_MIN, 1));
        Ok((writer, readers.collect::<Result<_, _>>()?))
    }

    /// Makes an empty file set in the files.
    ///
    /// # Errors
    /// As [`FileSet::create`].
    pub fn create<P: Port>(
        &self,
        open: &Open<'_, P>,
        readers: usize,
        spec: FileSetSpec,
        number: u64,
    ) -> Result<FileSet<P>, SqliteError> {
        let (writer, readers) = self.ports(open, readers)?;
        FileSet::create(writer, readers, spec, number)
    }

    /// Opens the file set that is in the files.
    ///
    /// # Errors
    /// As [`FileSet::open`].
    pub fn open<P: Port>(
        &self,
        open: &Open<'_, P>,
        readers: usize,
        spec: FileSetSpec,
    ) -> Result<FileSet<P>, SqliteError> {
        let (writer, readers) = self.ports(open, readers)?;
        FileSet::open(writer, readers, spec)
    }
}
