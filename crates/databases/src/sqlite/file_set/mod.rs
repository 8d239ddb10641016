//! The three files of a SQLite database on a port: what the VFS does, in safe code.
//!
//! A [`FileSet`] has one lane that writes, and as many lanes that read beside it as it is given. Reads that need
//! nothing of what is still being gathered or sent go by a lane of their own, so that readers do not wait for a
//! commit's flush. Nothing is cached but the beginning of the write-ahead log ([`LogCopy`]). Prevents: a reader that
//! sees storage before the write that it was promised.

mod lane;
pub(super) mod layout;
mod log_copy;
mod writer;

use super::counts::{Counters, IoCounts};
use super::error::SqliteError;
use lane::Lane;
use layout::{DATA_AT, Role, SetFiles};
use log_copy::LogCopy;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use targets::{FileId, Port, monotonic_ns};
use writer::Writer;

/// Memory of a port that writes, least, bytes.
pub const WRITER_MEMORY_MIN: u64 = lane::SCRATCH + 3 * lane::BUFFER + lane::BUFFER;
/// Memory of a port that reads, least, bytes.
pub const READER_MEMORY_MIN: u64 = lane::SCRATCH;
/// Bytes by which the files of a port grow unless said otherwise.
pub const GROW_STEP: u64 = 16 << 20;
/// Bytes of the write-ahead log that are kept in memory unless said otherwise.
const LOG_MEMORY: u64 = 16 << 20;
const BUFFERS_MIN: u64 = 4;

/// How a file set behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSetSpec {
    /// The three files in each port.
    pub files: SetFiles,
    /// Bytes by which they grow; a multiple of 4096.
    pub grow_step: u64,
    /// A sector that is being written when the power fails leaves its neighbours and its own unchanged bytes alone.
    /// SQLite assumes this of every file system unless told otherwise; without it each commit is filled up to a block.
    pub powersafe_overwrite: bool,
    /// Bytes of the write-ahead log, from its beginning, that are kept in memory as they are written: a checkpoint
    /// reads them there. 0: none.
    pub log_memory: u64,
}

impl Default for FileSetSpec {
    fn default() -> FileSetSpec {
        FileSetSpec {
            files: SetFiles::default(),
            grow_step: GROW_STEP,
            powersafe_overwrite: true,
            log_memory: LOG_MEMORY,
        }
    }
}

/// What readers must know of a file without asking the writer.
#[derive(Clone, Default)]
struct Seen {
    there: bool,
    size: u64,
    /// Bytes that storage does not have yet, from and to.
    unwritten: Vec<(u64, u64)>,
}

/// Lanes that nobody uses.
struct Free<P> {
    lanes: Vec<Lane<P>>,
    /// Who waits for one: waking nobody would be a call of the kernel after each read.
    waiting: u32,
}

struct Readers<P> {
    free: Mutex<Free<P>>,
    back: Condvar,
    count: usize,
}

/// A SQLite database's files on a port.
pub struct FileSet<P> {
    spec: FileSetSpec,
    ids: [FileId; 3],
    writer: Mutex<Writer<P>>,
    seen: Mutex<[Seen; 3]>,
    log: LogCopy,
    readers: Readers<P>,
    counters: Arc<Counters>,
    error: Mutex<Option<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked inside has broken off the lane or left it whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Port> FileSet<P> {
    /// Makes an empty file set in the files of `port`, whatever they held, and opens it. `number` tells file sets
    /// apart.
    /// `readers`: ports on the same files, one for each read at a time; none: reads go by the port that writes.
    ///
    /// With connections on several threads a port is used by one thread after the other. Linux binds a ring to a
    /// thread, and ours moves only while nothing is in flight. So give a ring only where one thread after the other
    /// uses all connections, each until its writes have arrived. Otherwise give [`targets::PsyncPort`]s, or what lies
    /// over them.
    ///
    /// # Errors
    /// [`SqliteError::Port`] before anything is written; those of the port.
    pub fn create(port: P, readers: Vec<P>, spec: FileSetSpec, number: u64) -> Result<FileSet<P>, SqliteError> {
        let counters = Arc::new(Counters::default());
        let mut lane = Lane::new(port, counters.clone(), BUFFERS_MIN)?;
        writer::format(&mut lane, &spec.files, number)?;
        FileSet::of(lane, readers, spec, counters)
    }

    /// Opens a file set. Nothing is written; SQLite recovers when the database is opened.
    ///
    /// # Errors
    /// [`SqliteError::Foreign`] when the files hold none; those of the port.
    pub fn open(port: P, readers: Vec<P>, spec: FileSetSpec) -> Result<FileSet<P>, SqliteError> {
        let counters = Arc::new(Counters::default());
        let lane = Lane::new(port, counters.clone(), BUFFERS_MIN)?;
        FileSet::of(lane, readers, spec, counters)
    }

    fn of(
        lane: Lane<P>,
        readers: Vec<P>,
        spec: FileSetSpec,
        counters: Arc<Counters>,
    ) -> Result<FileSet<P>, SqliteError> {
        if spec.grow_step == 0 || !spec.grow_step.is_multiple_of(4096) {
            return Err(SqliteError::Setting {
                what: format!("files that grow by {} bytes", spec.grow_step),
                cure: "use a multiple of 4096",
            });
        }
        let writer = Writer::open(lane, &spec.files, spec.grow_step)?;
        let reading = |port| Lane::new(port, counters.clone(), 0);
        let lanes = readers.into_iter().map(reading).collect::<Result<Vec<_>, _>>()?;
        let file_set = FileSet {
            ids: Role::ALL.map(|role| writer.id(role)),
            log: LogCopy::new(spec.log_memory),
            spec,
            readers: Readers {
                count: lanes.len(),
                free: Mutex::new(Free { lanes, waiting: 0 }),
                back: Condvar::new(),
            },
            writer: Mutex::new(writer),
            seen: Mutex::default(),
            counters,
            error: Mutex::new(None),
        };
        for role in Role::ALL {
            file_set.show(&locked(&file_set.writer), role);
        }
        Ok(file_set)
    }

    /// I/O so far.
    pub fn counts(&self) -> IoCounts {
        self.counters.now()
    }

    /// Bytes that a file of the port has, its head and its room to grow among them.
    pub fn allocated(&self, role: Role) -> u64 {
        locked(&self.writer).allocated(role)
    }

    /// Gives the ports back: the one that writes, then the readers. What SQLite has not synced may not be there.
    pub fn into_ports(self) -> (P, Vec<P>) {
        let writer = self.writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let readers = self.readers.free.into_inner().unwrap_or_else(PoisonError::into_inner);
        let readers = readers.lanes.into_iter().map(Lane::into_port).collect();
        (writer.lane.into_port(), readers)
    }

    /// Tells readers what the writer knows.
    fn show(&self, writer: &Writer<P>, role: Role) {
        let seen = &mut locked(&self.seen)[role.index()];
        (seen.there, seen.size) = writer.state(role);
        // Its memory is kept: this runs after each write.
        seen.unwritten.clear();
        seen.unwritten.extend(writer.unwritten(role));
    }

    fn change<T>(
        &self,
        role: Role,
        act: impl FnOnce(&mut Writer<P>) -> Result<T, SqliteError>,
    ) -> Result<T, SqliteError> {
        let mut writer = locked(&self.writer);
        let done = act(&mut writer);
        self.show(&writer, role);
        done.inspect_err(|error| self.note(error))
    }

    /// A file is cut off here.
    fn forget(&self, role: Role, size: u64) {
        if role == Role::Wal {
            self.log.truncate(size);
        }
    }

    fn note(&self, error: &SqliteError) {
        locked(&self.error).get_or_insert_with(|| error.to_string());
    }

    /// Does `act` and counts its time.
    fn timed<T>(&self, act: impl FnOnce() -> T) -> T {
        let began = monotonic_ns();
        let done = act();
        self.counters.spent(monotonic_ns() - began);
        done
    }

    fn read_here(&self, role: Role, offset: u64, to: &mut [u8]) -> Result<usize, SqliteError> {
        let (len, waits) = {
            let seen = &locked(&self.seen)[role.index()];
            let len = (to.len() as u64).min(seen.size.saturating_sub(offset));
            let waits = seen
                .unwritten
                .iter()
                .any(|(from, end)| *from < offset + len && offset < *end);
            (len as usize, waits)
        };
        let to = &mut to[..len];
        if len == 0 {
            return Ok(0);
        }
        if role == Role::Wal && self.log.read(offset, to) {
            self.counters.log_read();
            return Ok(len);
        }
        if !waits && self.readers.count > 0 {
            self.read_beside(role, offset, to)
                .inspect_err(|error| self.note(error))?;
            return Ok(len);
        }
        self.change(role, |writer| {
            if waits {
                writer.settle(role)?;
            }
            let id = writer.id(role);
            writer.lane.read(id, DATA_AT + offset, to)
        })?;
        Ok(len)
    }

    fn read_beside(&self, role: Role, offset: u64, to: &mut [u8]) -> Result<(), SqliteError> {
        let mut free = locked(&self.readers.free);
        let mut lane = loop {
            if let Some(lane) = free.lanes.pop() {
                break lane;
            }
            free.waiting += 1;
            free = self.readers.back.wait(free).unwrap_or_else(PoisonError::into_inner);
            free.waiting -= 1;
        };
        drop(free);
        let read = lane.read(self.ids[role.index()], DATA_AT + offset, to);
        let mut free = locked(&self.readers.free);
        free.lanes.push(lane);
        let waited_for = free.waiting > 0;
        drop(free);
        if waited_for {
            self.readers.back.notify_one();
        }
        read
    }
}

/// What the VFS asks of a file set, whatever its port.
pub(crate) trait Store: Send + Sync {
    fn powersafe_overwrite(&self) -> bool;
    fn log_memory(&self) -> u64;
    fn is_there(&self, role: Role) -> bool;
    fn create(&self, role: Role) -> Result<(), SqliteError>;
    fn size(&self, role: Role) -> u64;
    /// Fills `to` as far as the file goes; gives the bytes read.
    fn read(&self, role: Role, offset: u64, to: &mut [u8]) -> Result<usize, SqliteError>;
    fn write(&self, role: Role, offset: u64, data: &[u8]) -> Result<(), SqliteError>;
    fn truncate(&self, role: Role, size: u64) -> Result<(), SqliteError>;
    fn sync(&self, role: Role) -> Result<(), SqliteError>;
    fn delete(&self, role: Role) -> Result<(), SqliteError>;
    /// The file will be this long.
    fn expect_size(&self, role: Role, size: u64) -> Result<(), SqliteError>;
    /// A lock under which was written is let go: what was written must outlive the process.
    fn settle(&self) -> Result<(), SqliteError>;
    fn counts(&self) -> IoCounts;
    fn allocated(&self, role: Role) -> u64;
    /// The first error, taken.
    fn take_error(&self) -> Option<String>;
}

pub(super) fn not_made(path: &Path, source: std::io::Error) -> SqliteError {
    SqliteError::Path {
        what: "make",
        path: path.to_path_buf(),
        source,
        cure: "use an empty place with room for the tables",
    }
}

/// The file of a database, as bytes.
pub(super) enum Main<'a> {
    FileSet(&'a dyn Store),
    File { file: File, path: &'a Path },
}

impl Main<'_> {
    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), SqliteError> {
        match self {
            Main::FileSet(store) => store.write(Role::Main, at, bytes),
            Main::File { file, path } => file.write_all_at(bytes, at).map_err(|e| failed("write", path, e)),
        }
    }

    /// Fills `to`; what lies behind the end stays as it was.
    pub(super) fn read(&self, at: u64, to: &mut [u8]) -> Result<(), SqliteError> {
        match self {
            Main::FileSet(store) => store.read(Role::Main, at, to).map(drop),
            Main::File { file, path } => file.read_exact_at(to, at).map_err(|e| failed("read", path, e)),
        }
    }

    pub(super) fn sync(&self) -> Result<(), SqliteError> {
        match self {
            Main::FileSet(store) => store.sync(Role::Main),
            Main::File { file, path } => file.sync_all().map_err(|e| failed("flush", path, e)),
        }
    }

    /// Lets memory go of what was synced, as far as the file system does: what is read next is what storage has.
    pub(super) fn let_go(&self) -> Result<(), SqliteError> {
        match self {
            // Nothing of it is in memory.
            Main::FileSet(_) => Ok(()),
            Main::File { file, path } => {
                fadvise(file, 0, None, Advice::DontNeed).map_err(|e| failed("read back", path, e.into()))
            }
        }
    }
}

fn failed(what: &'static str, path: &Path, source: std::io::Error) -> SqliteError {
    SqliteError::Path {
        what,
        path: path.to_path_buf(),
        source,
        cure: "check the device and the kernel's log, or use a larger LUN set",
    }
}

impl<P: Port + Send> Store for FileSet<P> {
    fn powersafe_overwrite(&self) -> bool {
        self.spec.powersafe_overwrite
    }

    fn log_memory(&self) -> u64 {
        self.spec.log_memory
    }

    fn is_there(&self, role: Role) -> bool {
        locked(&self.seen)[role.index()].there
    }

    fn create(&self, role: Role) -> Result<(), SqliteError> {
        self.change(role, |writer| {
            self.forget(role, 0);
            writer.create(role);
            Ok(())
        })
    }

    fn size(&self, role: Role) -> u64 {
        locked(&self.seen)[role.index()].size
    }

    fn read(&self, role: Role, offset: u64, to: &mut [u8]) -> Result<usize, SqliteError> {
        self.counters.asked_read(to.len() as u64);
        self.timed(|| self.read_here(role, offset, to))
    }

    fn write(&self, role: Role, offset: u64, data: &[u8]) -> Result<(), SqliteError> {
        self.counters.asked_write(data.len() as u64);
        let put = |writer: &mut Writer<P>| {
            let put = writer.write(role, offset, data);
            match (role, &put) {
                (Role::Wal, Ok(())) => self.log.write(offset, data),
                (Role::Wal, Err(_)) => self.log.truncate(offset),
                (Role::Main | Role::Journal, _) => {}
            }
            put
        };
        self.timed(|| self.change(role, put))
    }

    fn truncate(&self, role: Role, size: u64) -> Result<(), SqliteError> {
        self.timed(|| {
            self.change(role, |writer| {
                self.forget(role, size);
                writer.truncate(role, size)
            })
        })
    }

    fn sync(&self, role: Role) -> Result<(), SqliteError> {
        self.counters.asked_sync();
        self.timed(|| self.change(role, |writer| writer.sync(role)))
    }

    fn delete(&self, role: Role) -> Result<(), SqliteError> {
        self.timed(|| {
            self.change(role, |writer| {
                self.forget(role, 0);
                writer.delete(role)
            })
        })
    }

    fn expect_size(&self, role: Role, size: u64) -> Result<(), SqliteError> {
        // Not noted: who then writes meets the same end, and is told.
        let mut writer = locked(&self.writer);
        let grown = writer.grow(role, size);
        self.show(&writer, role);
        grown
    }

    fn settle(&self) -> Result<(), SqliteError> {
        let waits = locked(&self.seen).iter().any(|seen| !seen.unwritten.is_empty());
        if waits {
            for role in Role::ALL {
                self.timed(|| self.change(role, |writer| writer.settle(role)))?;
            }
        }
        Ok(())
    }

    fn counts(&self) -> IoCounts {
        FileSet::counts(self)
    }

    fn allocated(&self, role: Role) -> u64 {
        FileSet::allocated(self, role)
    }

    fn take_error(&self) -> Option<String> {
        locked(&self.error).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::{Model, ModelPort, PowerFails};

    /// With a log that can be written.
    fn file_set(port: ModelPort) -> FileSet<ModelPort> {
        let file_set = FileSet::create(port, Vec::new(), FileSetSpec::default(), 1).unwrap();
        file_set.create(Role::Wal).unwrap();
        file_set
    }

    fn port() -> ModelPort {
        ModelPort::open(Model::new(&[0, 0, 0], WRITER_MEMORY_MIN, 8, 3)).unwrap()
    }

    fn log_read(file_set: &FileSet<ModelPort>, offset: u64, len: usize) -> Vec<u8> {
        let mut to = vec![0xee; len];
        let read = Store::read(file_set, Role::Wal, offset, &mut to).unwrap();
        to.truncate(read);
        to
    }

    #[test]
    fn a_log_that_was_emptied_or_deleted_has_none_of_its_old_bytes() {
        let file_set = file_set(port());
        let empty = |file_set: &FileSet<ModelPort>| file_set.truncate(Role::Wal, 0);
        let delete = |file_set: &FileSet<ModelPort>| {
            Store::delete(file_set, Role::Wal)?;
            Store::create(file_set, Role::Wal)
        };
        for end in [empty, delete] {
            file_set.write(Role::Wal, 0, &[7; 9000]).unwrap();
            assert_eq!(log_read(&file_set, 100, 32), [7; 32]);
            end(&file_set).unwrap();
            file_set.write(Role::Wal, 8192, &[1; 10]).unwrap();
            assert_eq!(log_read(&file_set, 0, 32), [0; 32]);
            assert_eq!(log_read(&file_set, 8192, 10), [1; 10]);
        }
    }

    #[test]
    fn bytes_of_a_write_that_failed_are_not_read_from_memory() {
        let mut port = port();
        port.fail_power(PowerFails::AtWrite(40));
        let file_set = file_set(port);
        file_set.write(Role::Wal, 0, &[7; 256 << 10]).unwrap();
        let from_memory = |at: u64| {
            let before = file_set.counters.now().log_reads;
            let _ = Store::read(&file_set, Role::Wal, at, &mut [0; 32]);
            file_set.counters.now().log_reads > before
        };
        assert!(from_memory(0) && from_memory(128 << 10));
        // Over the same bytes again and again, in whole buffers, which are sent before the call returns.
        while file_set.write(Role::Wal, 128 << 10, &[8; 128 << 10]).is_ok() {}
        assert!(from_memory(0) && !from_memory(128 << 10));
    }
}
