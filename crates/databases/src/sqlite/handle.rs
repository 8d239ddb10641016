//! What SQLite does with an open file, in safe code: the VFS behind its C surface.
//!
//! Takes SQLite's calls with Rust's types, gives SQLite's result codes. A [`Site`] is what all connections of one
//! database share: the file set, the locks, the index of the write-ahead log in memory of this process. Files that
//! SQLite makes for itself and deletes when it closes them go where the site has a place for them, otherwise into
//! memory. Prevents: decisions in unsafe code.

use super::error::SqliteError;
use super::file_set::Store;
use super::file_set::layout::Role;
use super::locks::{Held, Level, Locks, SLOTS};
use super::temp::{Spill, TempSpace};
use rusqlite::ffi;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What SQLite asks for as a region of the log's index.
const REGION_BYTES: usize = 32 << 10;
/// The slot of the log's locks under which it is written.
const WRITE_SLOT: u8 = 1;

pub(crate) type Answer = Result<(), c_int>;

/// The index of the log: words that all connections of the process share.
#[derive(Default)]
struct Index {
    regions: Vec<Box<[AtomicU64]>>,
    users: u32,
}

/// What the connections of one database share.
pub(crate) struct Site {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) temp: Option<Arc<TempSpace>>,
    locks: Mutex<Locks>,
    index: Mutex<Index>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn code(error: &SqliteError, otherwise: c_int) -> c_int {
    if error.is_full() { ffi::SQLITE_FULL } else { otherwise }
}

/// Which file of a file set a name means.
fn role_of(name: &str) -> Role {
    let ends = |role: &&Role| **role != Role::Main && name.ends_with(role.suffix());
    Role::ALL.iter().find(ends).copied().unwrap_or(Role::Main)
}

impl Site {
    pub(crate) fn new(store: Arc<dyn Store>, temp: Option<Arc<TempSpace>>) -> Site {
        Site {
            store,
            temp,
            locks: Mutex::default(),
            index: Mutex::default(),
        }
    }

    /// The first error of the storage, taken.
    pub(crate) fn take_error(&self) -> Option<String> {
        let of_temp = || self.temp.as_ref().and_then(|temp| temp.take_error());
        self.store.take_error().or_else(of_temp)
    }

    /// A file that SQLite makes for itself.
    fn make_temp(&self) -> Result<Kind, c_int> {
        let Some(temp) = &self.temp else {
            return Ok(Kind::Memory(Vec::new()));
        };
        temp.create()
            .map(Kind::Temp)
            .map_err(|e| code(&e, ffi::SQLITE_CANTOPEN))
    }

    /// `SQLITE_ACCESS_EXISTS` and the like: a log or journal without a byte counts as none.
    pub(crate) fn is_there(&self, name: &str) -> bool {
        let role = role_of(name);
        self.store.is_there(role) && (role == Role::Main || self.store.size(role) > 0)
    }

    pub(crate) fn delete(&self, name: &str) -> Answer {
        let role = role_of(name);
        if !self.store.is_there(role) {
            return Err(ffi::SQLITE_IOERR_DELETE_NOENT);
        }
        self.store.delete(role).map_err(|e| code(&e, ffi::SQLITE_IOERR_DELETE))
    }
}

enum Kind {
    FileSet(Role),
    /// Sorters, tables of a statement, statement journals: gone when they are closed.
    Temp(Box<dyn Spill>),
    /// The same without a place for them.
    Memory(Vec<u8>),
}

/// A file that a connection has open.
pub(crate) struct Handle {
    site: Arc<Site>,
    kind: Kind,
    level: Level,
    held: Held,
    mapped: bool,
}

impl Handle {
    /// Opens what the flags say.
    pub(crate) fn open(site: Arc<Site>, flags: c_int) -> Result<Handle, c_int> {
        let file_set = [
            (ffi::SQLITE_OPEN_MAIN_DB, Role::Main),
            (ffi::SQLITE_OPEN_WAL, Role::Wal),
            (ffi::SQLITE_OPEN_MAIN_JOURNAL, Role::Journal),
        ];
        let role = file_set
            .iter()
            .find(|(flag, _)| flags & flag != 0)
            .map(|(_, role)| *role);
        if flags & ffi::SQLITE_OPEN_SUPER_JOURNAL != 0 {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        if let Some(role) = role
            && !site.store.is_there(role)
        {
            if flags & ffi::SQLITE_OPEN_CREATE == 0 {
                return Err(ffi::SQLITE_CANTOPEN);
            }
            site.store.create(role).map_err(|e| code(&e, ffi::SQLITE_CANTOPEN))?;
        }
        let kind = role.map_or_else(|| site.make_temp(), |role| Ok(Kind::FileSet(role)))?;
        Ok(Handle {
            site,
            kind,
            level: Level::None,
            held: Held::default(),
            mapped: false,
        })
    }

    /// Lets go of everything.
    pub(crate) fn close(&mut self) {
        let _ = self.unlock(Level::None);
        self.unmap();
    }

    pub(crate) fn read(&mut self, offset: u64, to: &mut [u8]) -> Answer {
        let read = match &mut self.kind {
            Kind::FileSet(role) => {
                let read = self.site.store.read(*role, offset, to);
                read.map_err(|_| ffi::SQLITE_IOERR_READ)?
            }
            // What is gathered is written before it is read.
            Kind::Temp(file) => file.read(offset, to).map_err(|e| code(&e, ffi::SQLITE_IOERR_READ))?,
            Kind::Memory(bytes) => {
                let from = bytes.get(offset as usize..).unwrap_or_default();
                let len = from.len().min(to.len());
                to[..len].copy_from_slice(&from[..len]);
                len
            }
        };
        if read < to.len() {
            to[read..].fill(0);
            return Err(ffi::SQLITE_IOERR_SHORT_READ);
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> Answer {
        match &mut self.kind {
            Kind::FileSet(role) => {
                let written = self.site.store.write(*role, offset, data);
                written.map_err(|e| code(&e, ffi::SQLITE_IOERR_WRITE))
            }
            Kind::Temp(file) => file.write(offset, data).map_err(|e| code(&e, ffi::SQLITE_IOERR_WRITE)),
            Kind::Memory(bytes) => {
                let (from, to) = (offset as usize, offset as usize + data.len());
                bytes.resize(bytes.len().max(to), 0);
                bytes[from..to].copy_from_slice(data);
                Ok(())
            }
        }
    }

    pub(crate) fn truncate(&mut self, size: u64) -> Answer {
        match &mut self.kind {
            Kind::FileSet(role) => {
                let cut = self.site.store.truncate(*role, size);
                cut.map_err(|e| code(&e, ffi::SQLITE_IOERR_TRUNCATE))
            }
            Kind::Temp(file) => {
                file.truncate(size);
                Ok(())
            }
            Kind::Memory(bytes) => {
                bytes.truncate(size as usize);
                Ok(())
            }
        }
    }

    pub(crate) fn sync(&self) -> Answer {
        match self.kind {
            Kind::FileSet(role) => self.site.store.sync(role).map_err(|_| ffi::SQLITE_IOERR_FSYNC),
            // Nobody looks for them after a crash.
            Kind::Temp(_) | Kind::Memory(_) => Ok(()),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        match &self.kind {
            Kind::FileSet(role) => self.site.store.size(*role),
            Kind::Temp(file) => file.size(),
            Kind::Memory(bytes) => bytes.len() as u64,
        }
    }

    pub(crate) fn expect_size(&self, size: u64) {
        if let Kind::FileSet(role) = self.kind {
            // A hint: who then writes is told.
            let _ = self.site.store.expect_size(role, size);
        }
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn lock(&mut self, want: Level) -> Answer {
        match locked(&self.site.locks).raise(self.level, want) {
            Ok(level) => {
                self.level = level;
                Ok(())
            }
            Err(level) => {
                self.level = level;
                Err(ffi::SQLITE_BUSY)
            }
        }
    }

    pub(crate) fn unlock(&mut self, want: Level) -> Answer {
        let settled = match self.level > Level::Shared && want < self.level {
            true => self.site.store.settle(),
            false => Ok(()),
        };
        self.level = locked(&self.site.locks).lower(self.level, want);
        settled.map_err(|_| ffi::SQLITE_IOERR_UNLOCK)
    }

    pub(crate) fn is_reserved(&self) -> bool {
        locked(&self.site.locks).is_reserved()
    }

    /// The words of a region of the log's index; `None` where it is not there and is not to be made.
    pub(crate) fn map(&mut self, region: usize, bytes: usize, extend: bool) -> Result<Option<*const AtomicU64>, c_int> {
        if bytes != REGION_BYTES {
            return Err(ffi::SQLITE_IOERR_SHMMAP);
        }
        let mut index = locked(&self.site.index);
        if !self.mapped {
            self.mapped = true;
            index.users += 1;
        }
        if index.regions.len() <= region {
            if !extend {
                return Ok(None);
            }
            index.regions.resize_with(region + 1, || {
                (0..REGION_BYTES / 8).map(|_| AtomicU64::new(0)).collect()
            });
        }
        Ok(Some(index.regions[region].as_ptr()))
    }

    pub(crate) fn lock_slots(&mut self, first: usize, count: usize, take: bool, exclusive: bool) -> Answer {
        if count == 0 || first + count > SLOTS {
            return Err(ffi::SQLITE_IOERR_SHMLOCK);
        }
        let mask = (((1u16 << count) - 1) << first) as u8;
        if take {
            let taken = locked(&self.site.locks).take(&mut self.held, mask, exclusive);
            return if taken { Ok(()) } else { Err(ffi::SQLITE_BUSY) };
        }
        let settled = match exclusive && mask & self.held.exclusive & WRITE_SLOT != 0 {
            true => self.site.store.settle(),
            false => Ok(()),
        };
        locked(&self.site.locks).release(&mut self.held, mask, exclusive);
        settled.map_err(|_| ffi::SQLITE_IOERR_SHMLOCK)
    }

    pub(crate) fn barrier(&self) {
        fence(Ordering::SeqCst);
        drop(locked(&self.site.index));
    }

    /// With the last connection goes the index: the next one makes it anew from the log.
    pub(crate) fn unmap(&mut self) {
        let mut locks = locked(&self.site.locks);
        locks.release(&mut self.held, u8::MAX, true);
        locks.release(&mut self.held, u8::MAX, false);
        drop(locks);
        if std::mem::take(&mut self.mapped) {
            let mut index = locked(&self.site.index);
            index.users -= 1;
            if index.users == 0 {
                index.regions.clear();
            }
        }
    }

    pub(crate) fn is_powersafe(&self) -> bool {
        self.site.store.powersafe_overwrite()
    }
}
