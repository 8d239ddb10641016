//! A file in a pool: a dataset with one object, read and written through the DMU, made durable through its intent log.
//!
//! Object 1 holds the bytes in records of a fixed size, object 2 the file's length. A write is one transaction and one
//! log record under a range lock, as OpenZFS's own file system and volumes do it, so that what the log copies later is
//! what was written. A flush commits the log. Prevents: an acknowledged flush whose writes the next import does not
//! know.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::message::{FileCounts, FileName, FileSpec};
use crate::openzfs::handover;
use crate::openzfs::layout::{
    OBJSET_OTHER, READ_PREFETCH, READER, SOURCE_LOCAL, TXG_WAIT, TYPE_NONE, TYPE_PLAIN, TYPE_ZAP,
};
use crate::openzfs::library::{Library, Opaque};
use crate::openzfs::names::{List, c};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const DATA: u64 = 1;
pub(crate) const FACTS: u64 = 2;
pub(crate) const SIZE: &str = "size";
/// Holds of this program in the library's books: any address that is nobody else's.
static TAG: u8 = 0;
pub(crate) const CURE: &str = "see the message; `zdb -e` of zfsutils-linux tells more about an exported pool";

pub(crate) fn tag() -> *const c_void {
    (&raw const TAG).cast()
}

/// Zeroed memory for a structure that only the library looks into, larger than any version's.
pub(crate) type LibrarysOwn = Box<[u64; 64]>;

/// When writes become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sync {
    Standard,
    Always,
    Disabled,
}

/// An open file.
pub(crate) struct File {
    pub(crate) library: &'static Library,
    pub(crate) name: FileName,
    pub(crate) objset: Opaque,
    pub(crate) dnode: Opaque,
    pub(crate) log: Opaque,
    pub(crate) record_bytes: u64,
    pub(crate) locks: LibrarysOwn,
    pub(crate) size: AtomicU64,
    pub(crate) sync: Sync,
    pub(crate) favours_throughput: bool,
    pub(crate) has_log_device: bool,
    pub(crate) replayed: AtomicU64,
}

// SAFETY: the library's objects are made for many threads; the rest is immutable or atomic.
unsafe impl Send for File {}
// SAFETY: as above.
unsafe impl std::marker::Sync for File {}

/// What the new dataset's first transaction is told.
struct Making<'a> {
    library: &'a Library,
    record_bytes: u32,
    bytes: u64,
    failed: c_int,
}

unsafe extern "C" fn make_objects(objset: Opaque, argument: Opaque, _credentials: Opaque, tx: Opaque) {
    // SAFETY: the argument is the `Making` that `File::create` keeps on its stack until the call has ended.
    let making = unsafe { &mut *argument.cast::<Making<'_>>() };
    let call = &making.library.call;
    // SAFETY: inside the transaction that makes the dataset, on its own objset.
    making.failed = unsafe {
        let data = (call.dmu_object_claim)(objset, DATA, TYPE_PLAIN, making.record_bytes as c_int, TYPE_NONE, 0, tx);
        let facts = (call.zap_create_claim)(objset, FACTS, TYPE_ZAP, TYPE_NONE, 0, tx);
        let size = &raw const making.bytes;
        let told = (call.zap_update)(objset, FACTS, c(SIZE).as_ptr(), 8, 1, size.cast(), tx);
        [data, facts, told].into_iter().find(|e| *e != 0).unwrap_or(0)
    };
}

/// Sets one property of a dataset by its name and value in words or as a number.
fn set_property(library: &Library, dataset: &str, name: &str, value: &str) -> Result<(), Refused> {
    let refused = |why: &str| {
        Refused::new(
            &format!("property {name}={value}: {why}"),
            "take a name and a value of zfsprops(7) of OpenZFS 2.1",
        )
    };
    // SAFETY: terminated strings; the library writes one word.
    let number = unsafe {
        let property = (library.call.zfs_name_to_prop)(c(name).as_ptr());
        if property < 0 {
            return Err(refused("no such property"));
        }
        let mut index = 0;
        let known = (library.call.zfs_prop_string_to_index)(property, c(value).as_ptr(), &raw mut index);
        if known == 0 {
            index
        } else {
            value.parse().map_err(|_| refused("no such value"))?
        }
    };
    // SAFETY: terminated strings.
    match unsafe { (library.call.dsl_prop_set_int)(c(dataset).as_ptr(), c(name).as_ptr(), SOURCE_LOCAL, number) } {
        0 => Ok(()),
        e => Err(Refused::errno(&format!("set {name}={value} on {dataset}"), e, CURE)),
    }
}

impl File {
    /// Makes the dataset with its properties and objects.
    pub(crate) fn create(library: &'static Library, spec: &FileSpec) -> Result<(), Refused> {
        let dataset = spec.name.dataset();
        if !spec.record_bytes.is_power_of_two() || !(512..=1 << 20).contains(&spec.record_bytes) {
            let what = format!("record size {} of {dataset}", spec.record_bytes);
            return Err(Refused::new(&what, "take a power of two from 512 to 1048576"));
        }
        let mut making = Making {
            library,
            record_bytes: spec.record_bytes,
            bytes: spec.bytes,
            failed: 0,
        };
        let argument = (&raw mut making).cast();
        // SAFETY: the callback's argument outlives the call.
        let made = unsafe {
            let no = std::ptr::null_mut();
            (library.call.dmu_objset_create)(c(&dataset).as_ptr(), OBJSET_OTHER, 0, no, Some(make_objects), argument)
        };
        match made {
            0 if making.failed == 0 => {}
            libc::EEXIST => return Err(Refused::errno(&format!("create {dataset}"), made, "take another name")),
            e => return Err(Refused::errno(&format!("create {dataset}"), e.max(making.failed), CURE)),
        }
        set_property(library, &dataset, "recordsize", &spec.record_bytes.to_string())?;
        spec.properties
            .iter()
            .try_for_each(|(name, value)| set_property(library, &dataset, name, value))
    }

    /// Gives everything back. Nobody may use the file any more.
    pub(crate) fn close(&self) {
        let call = &self.library.call;
        // SAFETY: as many releases as holds, in the reverse order.
        unsafe {
            (call.zil_close)(self.log);
            (call.dnode_rele)(self.dnode, tag());
            (call.zfs_rangelock_fini)(self.locks_raw());
            (call.dmu_objset_disown)(self.objset, 0, tag());
        }
    }

    pub(crate) fn locks_raw(&self) -> Opaque {
        self.locks.as_ptr().cast_mut().cast()
    }

    pub(crate) fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    /// Bytes of a range that lie in the file.
    pub(crate) fn inside(&self, offset: u64, bytes: u32) -> u32 {
        self.size().saturating_sub(offset).min(u64::from(bytes)) as u32
    }

    /// Reads into memory of at least `bytes` bytes. `Err`: errno, or how many bytes there are.
    ///
    /// # Safety
    /// `into` must have room, and nobody else may write there.
    pub(crate) unsafe fn read(&self, offset: u64, bytes: u32, into: *mut u8) -> Result<(), Ended> {
        let got = self.inside(offset, bytes);
        if got < bytes {
            return Err(Ended::Short(got));
        }
        // SAFETY: the caller's word for the memory; the dnode is held.
        let read = || unsafe {
            (self.library.call.dmu_read_by_dnode)(self.dnode, offset, u64::from(bytes), into, READ_PREFETCH)
        };
        let is_in_one_record = offset % self.record_bytes + u64::from(bytes) <= self.record_bytes;
        let e = if is_in_one_record {
            handover::in_own_thread(read)
        } else {
            read()
        };
        if e == 0 { Ok(()) } else { Err(Ended::Errno(e)) }
    }

    /// Makes every write that has ended durable (with `sync=disabled` the library does nothing, which is what is asked
    /// for).
    pub(crate) fn flush(&self) {
        // SAFETY: the log is open.
        unsafe { (self.library.call.zil_commit)(self.log, DATA) };
    }

    /// Changes the recorded size, durably.
    fn record_size(&self, bytes: u64, pool: Opaque) -> Result<(), Refused> {
        let call = &self.library.call;
        // SAFETY: a transaction on the open objset.
        unsafe {
            let tx = (call.dmu_tx_create)(self.objset);
            (call.dmu_tx_hold_zap)(tx, FACTS, 1, c(SIZE).as_ptr());
            let assigned = (call.dmu_tx_assign)(tx, TXG_WAIT);
            if assigned != 0 {
                (call.dmu_tx_abort)(tx);
                return Err(Refused::errno(
                    &format!("resize {}", self.name.dataset()),
                    assigned,
                    "free space in the pool",
                ));
            }
            let told = (call.zap_update)(
                self.objset,
                FACTS,
                c(SIZE).as_ptr(),
                8,
                1,
                (&raw const bytes).cast(),
                tx,
            );
            (call.dmu_tx_commit)(tx);
            if told != 0 {
                return Err(Refused::errno(&format!("resize {}", self.name.dataset()), told, CURE));
            }
            (call.txg_wait_synced)(pool, 0);
        }
        self.size.store(bytes, Ordering::Release);
        Ok(())
    }

    /// Makes the file at least this long, durably.
    pub(crate) fn grow(&self, bytes: u64, pool: Opaque) -> Result<u64, Refused> {
        if bytes > self.size() {
            self.record_size(bytes, pool)?;
        }
        Ok(self.size())
    }

    /// Cuts the file to this length, durably; what was beyond reads as zeros when it grows again.
    pub(crate) fn truncate(&self, bytes: u64, pool: Opaque) -> Result<u64, Refused> {
        if bytes < self.size() {
            // SAFETY: the open objset and its object.
            let e = unsafe { (self.library.call.dmu_free_long_range)(self.objset, DATA, bytes, u64::MAX) };
            if e != 0 {
                return Err(Refused::errno(&format!("truncate {}", self.name.dataset()), e, CURE));
            }
            self.record_size(bytes, pool)?;
        }
        Ok(self.size())
    }

    pub(crate) fn counts(&self) -> FileCounts {
        let list = List::new(self.library);
        let call = &self.library.call;
        // SAFETY: an open objset, a list of ours; the pool's configuration is held meanwhile, as the library asks for.
        unsafe {
            let pool = (call.dmu_objset_pool)(self.objset);
            (call.dsl_pool_config_enter)(pool, tag());
            (call.dmu_objset_stats)(self.objset, list.raw());
            (call.dsl_pool_config_exit)(pool, tag());
        }
        let told = |name: &str| list.property(name).unwrap_or(0);
        FileCounts {
            name: self.name.dataset(),
            size_bytes: self.size(),
            record_bytes: self.record_bytes as u32,
            used_bytes: told("used"),
            logical_bytes: told("logicalused"),
            compress_ratio_percent: told("compressratio"),
        }
    }

    /// Takes a lock for reading a range.
    pub(crate) fn lock_to_read(&self, offset: u64, bytes: u64) -> Opaque {
        // SAFETY: the lock was made in `open`.
        unsafe { (self.library.call.zfs_rangelock_enter)(self.locks_raw(), offset, bytes, READER) }
    }
}

/// Why a transfer was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Errno(i32),
    Short(u32),
}

pub(crate) fn property(library: &Library, dataset: &str, name: &str) -> u64 {
    let mut value = 0;
    // SAFETY: terminated strings; the library writes one word.
    unsafe {
        (library.call.dsl_prop_get_integer)(
            c(dataset).as_ptr(),
            c(name).as_ptr(),
            &raw mut value,
            std::ptr::null_mut(),
        );
    }
    value
}
