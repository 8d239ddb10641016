//! The C surface of SQLite: its tables of functions of a VFS, turned into calls of [`Handle`] and [`Site`], and its
//! counters.
//!
//! Takes a [`Site`], gives a name under which SQLite opens it. Nothing is decided here. Prevents: unsafe code with
//! thoughts of its own: what each function may assume of its pointers is in SQLite's documentation of `sqlite3_vfs` and
//! `sqlite3_io_methods`, and that is all that is relied on.
#![allow(unsafe_code, reason = "SQLite calls a VFS through C pointers")]

use super::handle::{Answer, Handle, Site};
use super::locks::Level;
use rusqlite::Connection;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_vfs};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What SQLite may damage around a write when the power fails, as its own VFS for Linux answers.
const SECTOR_BYTES: c_int = 4096;
const PATH_BYTES: c_int = 512;

/// What SQLite allocates for an open file.
#[repr(C)]
struct OpenFile {
    base: sqlite3_file,
    handle: *mut Handle,
}

/// A VFS that SQLite knows, until this is dropped. No connection may be open by then.
pub(crate) struct Registered {
    name: CString,
    vfs: *mut sqlite3_vfs,
    site: *const Site,
}

// SAFETY: the structure is not changed between registration and its end; SQLite reads it from any thread.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

impl Registered {
    /// `None` when SQLite has no VFS of its own or no memory.
    pub(crate) fn new(site: Arc<Site>) -> Option<Registered> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let nth = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("assay-{nth}")).expect("no zero byte");
        // SAFETY: a null name finds the default; it lives as long as the process.
        let default = unsafe {
            ffi::sqlite3_initialize();
            ffi::sqlite3_vfs_find(std::ptr::null())
        };
        if default.is_null() {
            return None;
        }
        // SAFETY: just seen not to be null; it is a plain structure that may be copied.
        let base = unsafe { *default };
        let site = Arc::into_raw(site);
        let vfs = Box::into_raw(Box::new(sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<OpenFile>() as c_int,
            mxPathname: PATH_BYTES,
            pNext: std::ptr::null_mut(),
            zName: name.as_ptr(),
            pAppData: site.cast_mut().cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            // Of randomness, sleep and the clock nothing is ours.
            xRandomness: base.xRandomness,
            xSleep: base.xSleep,
            xCurrentTime: base.xCurrentTime,
            xGetLastError: None,
            xCurrentTimeInt64: base.xCurrentTimeInt64,
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        let registered = Registered { name, vfs, site };
        // SAFETY: the structure and its name live until `drop`, which takes it out again.
        let code = unsafe { ffi::sqlite3_vfs_register(registered.vfs, 0) };
        (code == ffi::SQLITE_OK).then_some(registered)
    }

    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    pub(crate) fn site(&self) -> &Site {
        // SAFETY: this owns one count of the site, made by `Arc::into_raw`, until it is dropped.
        unsafe { &*self.site }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: both came from `into_raw` and are given back once; no connection is open, so SQLite uses neither.
        unsafe {
            ffi::sqlite3_vfs_unregister(self.vfs);
            drop(Box::from_raw(self.vfs));
            drop(Arc::from_raw(self.site));
        }
    }
}

fn answer(answer: Answer) -> c_int {
    match answer {
        Ok(()) => ffi::SQLITE_OK,
        Err(code) => code,
    }
}

fn offset(given: sqlite3_int64) -> u64 {
    u64::try_from(given).expect("SQLite gives no offset below 0")
}

fn length(given: c_int) -> usize {
    usize::try_from(given).expect("SQLite gives no length below 0")
}

/// The site behind a VFS.
///
/// # Safety
/// `vfs` is one of ours, registered.
unsafe fn site<'a>(vfs: *mut sqlite3_vfs) -> &'a Site {
    // SAFETY: `pAppData` is the site, alive while the VFS is registered.
    unsafe { &*(*vfs).pAppData.cast::<Site>() }
}

/// The handle behind an open file.
///
/// # Safety
/// `file` was opened by [`open`] and not closed; SQLite uses a file from one thread at a time.
unsafe fn handle<'a>(file: *mut sqlite3_file) -> &'a mut Handle {
    // SAFETY: `open` put a box there, `close` takes it away; nobody else has a reference meanwhile.
    unsafe { &mut *(*file.cast::<OpenFile>()).handle }
}

/// A name that SQLite gives; empty where it gives none.
///
/// # Safety
/// `name` is null or ends with a zero byte.
unsafe fn text<'a>(name: *const c_char) -> std::borrow::Cow<'a, str> {
    if name.is_null() {
        return "".into();
    }
    // SAFETY: seen not to be null; the caller says that it ends.
    unsafe { CStr::from_ptr(name) }.to_string_lossy()
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    _name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives our VFS and `szOsFile` bytes; without methods it does not close what could not be opened.
    // The count of the site is raised before a box of it is made.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let raw = (*vfs).pAppData.cast::<Site>().cast_const();
        Arc::increment_strong_count(raw);
        match Handle::open(Arc::from_raw(raw), flags) {
            Ok(handle) => {
                (*file.cast::<OpenFile>()).handle = Box::into_raw(Box::new(handle));
                (*file).pMethods = &METHODS;
                if !out_flags.is_null() {
                    *out_flags = flags;
                }
                ffi::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: an open file of ours; its box is taken once, because SQLite does not use it afterwards.
    unsafe {
        let open = file.cast::<OpenFile>();
        let mut handle = Box::from_raw(std::mem::replace(&mut (*open).handle, std::ptr::null_mut()));
        handle.close();
        (*file).pMethods = std::ptr::null();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, _sync: c_int) -> c_int {
    // SAFETY: SQLite gives our VFS and a name.
    answer(unsafe { site(vfs).delete(&text(name)) })
}

unsafe extern "C" fn access(vfs: *mut sqlite3_vfs, name: *const c_char, _flags: c_int, out: *mut c_int) -> c_int {
    // SAFETY: SQLite gives our VFS, a name and a place for the answer.
    unsafe { *out = c_int::from(site(vfs).is_there(&text(name))) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite gives a name, and a place of `room` bytes for it; what does not fit with its end is refused.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() > length(room) {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut sqlite3_file, to: *mut c_void, len: c_int, from: sqlite3_int64) -> c_int {
    // SAFETY: an open file of ours, and a place of `len` bytes that is SQLite's own.
    let (handle, to) = unsafe {
        (
            handle(file),
            std::slice::from_raw_parts_mut(to.cast::<u8>(), length(len)),
        )
    };
    answer(handle.read(offset(from), to))
}

unsafe extern "C" fn write(file: *mut sqlite3_file, data: *const c_void, len: c_int, at: sqlite3_int64) -> c_int {
    // SAFETY: an open file of ours, and `len` bytes that nobody changes during the call.
    let (handle, data) = unsafe { (handle(file), std::slice::from_raw_parts(data.cast::<u8>(), length(len))) };
    answer(handle.write(offset(at), data))
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: an open file of ours.
    answer(unsafe { handle(file) }.truncate(offset(size)))
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: an open file of ours.
    answer(unsafe { handle(file) }.sync())
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: an open file of ours, and a place for the answer.
    unsafe { *size = handle(file).size() as sqlite3_int64 };
    ffi::SQLITE_OK
}

fn level(given: c_int) -> Level {
    match given {
        ffi::SQLITE_LOCK_NONE => Level::None,
        ffi::SQLITE_LOCK_SHARED => Level::Shared,
        ffi::SQLITE_LOCK_RESERVED => Level::Reserved,
        ffi::SQLITE_LOCK_PENDING => Level::Pending,
        _ => Level::Exclusive,
    }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, want: c_int) -> c_int {
    // SAFETY: an open file of ours.
    answer(unsafe { handle(file) }.lock(level(want)))
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, want: c_int) -> c_int {
    // SAFETY: an open file of ours.
    answer(unsafe { handle(file) }.unlock(level(want)))
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: an open file of ours, and a place for the answer.
    unsafe { *out = c_int::from(handle(file).is_reserved()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, op: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: an open file of ours; what stands behind the argument is fixed for each operation by SQLite's
    // documentation.
    unsafe {
        let handle = handle(file);
        match op {
            ffi::SQLITE_FCNTL_LOCKSTATE => *argument.cast::<c_int>() = handle.level() as c_int,
            ffi::SQLITE_FCNTL_SIZE_HINT => handle.expect_size(offset(*argument.cast::<sqlite3_int64>())),
            ffi::SQLITE_FCNTL_POWERSAFE_OVERWRITE => *argument.cast::<c_int>() = c_int::from(handle.is_powersafe()),
            ffi::SQLITE_FCNTL_HAS_MOVED => *argument.cast::<c_int>() = 0,
            _ => return ffi::SQLITE_NOTFOUND,
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn sector_size(_file: *mut sqlite3_file) -> c_int {
    SECTOR_BYTES
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: an open file of ours.
    match unsafe { handle(file) }.is_powersafe() {
        true => ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE,
        false => 0,
    }
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: an open file of ours, and a place for the answer. The words are atomic, so they may be written through a
    // pointer from a shared reference; they stay where they are until the last connection has unmapped them.
    unsafe {
        *out = std::ptr::null_mut();
        match handle(file).map(length(region), length(bytes), extend != 0) {
            Ok(Some(words)) => *out = words.cast_mut().cast(),
            Ok(None) => {}
            Err(code) => return code,
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    let take = flags & ffi::SQLITE_SHM_LOCK != 0;
    let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
    // SAFETY: an open file of ours.
    let handle = unsafe { handle(file) };
    answer(handle.lock_slots(length(first), length(count), take, exclusive))
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: an open file of ours.
    unsafe { handle(file) }.barrier();
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: an open file of ours.
    unsafe { handle(file) }.unmap();
    ffi::SQLITE_OK
}

/// A connection whose counters are read while it works: its progress handler owns this, and goes with it.
struct Working(*mut ffi::sqlite3);

// SAFETY: SQLite runs the handler on the thread that uses the connection, whichever that is, and on no other.
unsafe impl Send for Working {}

impl Working {
    /// What the counters of pages show, of which SQLite gives 31 bits.
    fn counters(&self) -> [u32; 3] {
        let count = |op: c_int| {
            let (mut now, mut highest) = (0, 0);
            // SAFETY: an open connection on the thread that uses it, and two places for the answer. Nothing is reset:
            // a handler may not change the connection that it is called by.
            unsafe { ffi::sqlite3_db_status(self.0, op, &mut now, &mut highest, 0) };
            now.cast_unsigned()
        };
        [
            ffi::SQLITE_DBSTATUS_CACHE_HIT,
            ffi::SQLITE_DBSTATUS_CACHE_MISS,
            ffi::SQLITE_DBSTATUS_CACHE_WRITE,
        ]
        .map(count)
    }
}

/// SQLite's own count of the pages of a connection.
pub(crate) fn cache_counters(connection: &Connection) -> [u32; 3] {
    // SAFETY: the handle is used while its connection is borrowed, and not changed.
    Working(unsafe { connection.handle() }).counters()
}

/// What the kernel said to SQLite's own VFS, where a statement of this connection failed by it; 0: nothing.
pub(crate) fn system_errno(connection: &Connection) -> i32 {
    // SAFETY: as above.
    unsafe { ffi::sqlite3_system_errno(connection.handle()) }
}

/// From now on `look` gets those counters each time that a statement has made so many steps, and ends it by `true`.
///
/// # Errors
/// SQLite has no memory for it.
pub(crate) fn while_working(
    connection: &mut Connection,
    steps: c_int,
    mut look: impl FnMut([u32; 3]) -> bool + Send + 'static,
) -> rusqlite::Result<()> {
    // SAFETY: the handle is used by the handler alone, which SQLite calls only while the connection is open.
    let working = Working(unsafe { connection.handle() });
    connection.progress_handler(steps, Some(move || look(working.counters())))
}
