//! The intent log of a file: opening it, noting writes, giving it their data, doing again what it says after a crash.
//!
//! Which way a record carries its data is decided as OpenZFS's file system does: `logbias=throughput`, or large writes
//! without a log device, write the record's block once in the pool and log a pointer to it; others are copied into the
//! log when it is committed. Prevents: a pointer in the log to a block that a later write of the same transaction group
//! has changed.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::message::FileName;
use crate::openzfs::file::{CURE, DATA, Ended, FACTS, File, LibrarysOwn, SIZE, Sync, property, tag};
use crate::openzfs::layout::{
    Carried, LOG_KINDS, LOG_WRITE, LogWrite, OBJSET_OTHER, ObjectInfo, Pending, READ_NO_PREFETCH, TXG_WAIT, WRITER,
    WriteRecord,
};
use crate::openzfs::library::{Library, Opaque, Replay};
use crate::openzfs::names::c;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes of at least this many bytes are logged by pointer where no log device is (the library's default).
const BY_POINTER_BYTES: u64 = 32 << 10;
/// Properties of a block pointer: bits 0 to 15 hold its logical sectors less one.
const POINTER_PROPERTIES: usize = 6;

impl File {
    /// Opens the file, and first does again what its log says.
    pub(crate) fn open(library: &'static Library, name: &FileName, has_log_device: bool) -> Result<Arc<File>, Refused> {
        let dataset = name.dataset();
        let failed = |what: &str, e: c_int| Refused::errno(&format!("{what} {dataset}"), e, CURE);
        let call = &library.call;
        let mut objset = std::ptr::null_mut();
        // SAFETY: out-pointers of this frame; what is held is given back in `close`.
        let (info, bytes, dnode) = unsafe {
            match (call.dmu_objset_own)(c(&dataset).as_ptr(), OBJSET_OTHER, 0, 0, tag(), &raw mut objset) {
                0 => {}
                e => return Err(failed("open", e)),
            }
            let (mut info, mut bytes, mut dnode) = (ObjectInfo::default(), 0u64, std::ptr::null_mut());
            let told = (call.dmu_object_info)(objset, DATA, (&raw mut info).cast());
            let sized = (call.zap_lookup)(objset, FACTS, c(SIZE).as_ptr(), 8, 1, (&raw mut bytes).cast());
            let held = (call.dnode_hold)(objset, DATA, tag(), &raw mut dnode);
            if let Some(e) = [told, sized, held].into_iter().find(|e| *e != 0) {
                if held == 0 {
                    (call.dnode_rele)(dnode, tag());
                }
                (call.dmu_objset_disown)(objset, 0, tag());
                return Err(failed("read the objects of", e));
            }
            (info, bytes, dnode)
        };
        let mut locks: LibrarysOwn = Box::new([0; 64]);
        // SAFETY: the lock's memory stays where it is until `close`.
        unsafe { (call.zfs_rangelock_init)(locks.as_mut_ptr().cast(), std::ptr::null_mut(), std::ptr::null_mut()) };
        let mut file = File {
            library,
            name: name.clone(),
            objset,
            dnode,
            log: std::ptr::null_mut(),
            record_bytes: u64::from(info.block_bytes),
            locks,
            size: AtomicU64::new(bytes),
            sync: match property(library, &dataset, "sync") {
                1 => Sync::Always,
                2 => Sync::Disabled,
                _ => Sync::Standard,
            },
            favours_throughput: property(library, &dataset, "logbias") == 1,
            has_log_device,
            replayed: AtomicU64::new(0),
        };
        let mut table: [Option<Replay>; LOG_KINDS] = [None; LOG_KINDS];
        table[LOG_WRITE as usize] = Some(replay_write);
        // SAFETY: replay ends before the call does and sees the file only until then; the log is opened after it.
        file.log = unsafe {
            (call.zil_replay)(objset, (&raw mut file).cast(), table.as_ptr());
            (call.zil_open)(objset, Some(get_data))
        };
        Ok(Arc::new(file))
    }

    /// Writes memory of `bytes` bytes.
    ///
    /// # Safety
    /// `from` must have them, and nobody may change them meanwhile.
    pub(crate) unsafe fn write(&self, offset: u64, bytes: u32, from: *const u8) -> Result<(), Ended> {
        let got = self.inside(offset, bytes);
        if got < bytes {
            return Err(Ended::Short(got));
        }
        let call = &self.library.call;
        // SAFETY: a transaction is assigned and committed, or aborted; the lock is left in each case.
        unsafe {
            let locked = (call.zfs_rangelock_enter)(self.locks_raw(), offset, u64::from(bytes), WRITER);
            let tx = (call.dmu_tx_create)(self.objset);
            (call.dmu_tx_hold_write_by_dnode)(tx, self.dnode, offset, bytes as c_int);
            let assigned = (call.dmu_tx_assign)(tx, TXG_WAIT);
            if assigned != 0 {
                (call.dmu_tx_abort)(tx);
                (call.zfs_rangelock_exit)(locked);
                return Err(Ended::Errno(assigned));
            }
            (call.dmu_write_by_dnode)(self.dnode, offset, u64::from(bytes), from, tx);
            note(self, offset, u64::from(bytes), tx, self.sync == Sync::Always);
            (call.dmu_tx_commit)(tx);
            (call.zfs_rangelock_exit)(locked);
        }
        if self.sync == Sync::Always {
            self.flush();
        }
        Ok(())
    }
}

fn carried(file: &File, bytes: u64) -> Carried {
    if file.favours_throughput || (!file.has_log_device && bytes >= BY_POINTER_BYTES) {
        Carried::Indirect
    } else {
        Carried::NeedCopy
    }
}

/// Notes a write of a transaction. Its data stays readable under the file's range lock until the log has it.
///
/// # Safety
/// `tx` must be assigned and have the write.
unsafe fn note(file: &File, offset: u64, bytes: u64, tx: Opaque, synchronous: bool) {
    let how = carried(file, bytes);
    let call = &file.library.call;
    // SAFETY: inside a transaction; before the log is open, in replay, the library says that nothing is to be noted.
    if file.log.is_null() {
        return;
    }
    let (mut from, end) = (offset, offset + bytes);
    while from < end {
        let length = match how {
            // A pointer tells of one record's block.
            Carried::Indirect => (file.record_bytes - from % file.record_bytes).min(end - from),
            _ => end - from,
        };
        // SAFETY: a fresh record with room for what is written into it, handed over to the log.
        unsafe {
            let raw = (call.zil_itx_create)(LOG_WRITE, size_of::<WriteRecord>());
            let pending = &mut *raw.cast::<Pending>();
            pending.record.object = DATA;
            pending.record.offset = from;
            pending.record.length = length;
            pending.record.block_offset = 0;
            pending.record.pointer = [0; 16];
            pending.carried = how as u32;
            pending.private = (&raw const *file).cast_mut().cast();
            pending.synchronous = u8::from(synchronous);
            (call.zil_itx_assign)(file.log, raw, tx);
        }
        from += length;
    }
}

/// The end of a write that the log asked for: its buffer and lock are given back.
unsafe extern "C" fn done(state: Opaque, _errno: c_int) {
    // SAFETY: made by `get_data`, ended once.
    let state = unsafe { Box::from_raw(state.cast::<LogWrite>()) };
    // SAFETY: the file outlives its log.
    let call = unsafe { &(*state.private.cast::<File>()).library.call };
    // SAFETY: held by `get_data`.
    unsafe {
        if !state.buffer.is_null() {
            (call.dmu_buf_rele)(state.buffer, (&raw const *state).cast());
        }
        (call.zfs_rangelock_exit)(state.locked);
    }
}

/// Gives the log the data of a write: copied, or written to a block of its own.
unsafe extern "C" fn get_data(
    private: Opaque,
    _generation: u64,
    record: Opaque,
    buffer: *mut u8,
    block: Opaque,
    parent: Opaque,
) -> c_int {
    // SAFETY: the record's private pointer is its file, which outlives its log.
    let file = unsafe { &*private.cast::<File>() };
    // SAFETY: the library's record of a write.
    let record = unsafe { &mut *record.cast::<WriteRecord>() };
    let call = &file.library.call;
    let mut state = Box::new(LogWrite {
        block,
        pointer: std::ptr::null_mut(),
        buffer: std::ptr::null_mut(),
        locked: std::ptr::null_mut(),
        private,
    });
    if !buffer.is_null() {
        state.locked = file.lock_to_read(record.offset, record.length);
        // SAFETY: the library gave room for the record's length.
        let e = unsafe { (call.dmu_read_by_dnode)(file.dnode, record.offset, record.length, buffer, READ_NO_PREFETCH) };
        // SAFETY: nothing else holds the state.
        unsafe { done(Box::into_raw(state).cast(), e) };
        return e;
    }
    let offset = record.offset - record.offset % file.record_bytes;
    state.locked = file.lock_to_read(offset, file.record_bytes);
    let state = Box::into_raw(state);
    // SAFETY: the state lives until `done`, which `dmu_sync` calls when it says 0 and we call otherwise; its address is
    // the tag.
    unsafe {
        let mut held = std::ptr::null_mut();
        let flags = READ_NO_PREFETCH as c_int;
        let mut e = (call.dmu_buf_hold_by_dnode)(file.dnode, offset, state.cast(), &raw mut held, flags);
        if e == 0 {
            (*state).buffer = held;
            (*state).pointer = record.pointer.as_mut_ptr();
            e = (call.dmu_sync)(parent, record.txg, Some(done), state.cast());
            if e == 0 {
                return 0;
            }
        }
        done(state.cast(), e);
        e
    }
}

/// Does a logged write again.
unsafe extern "C" fn replay_write(argument: Opaque, record: Opaque, swapped: c_int) -> c_int {
    // SAFETY: the argument is the file that is being opened.
    let file = unsafe { &*argument.cast::<File>() };
    if swapped != 0 {
        // A pool of a machine with the other byte order: this program makes none.
        return libc::ENOTSUP;
    }
    // SAFETY: the library's record, with its data behind it.
    let (header, data) = unsafe {
        let header = &*record.cast::<WriteRecord>();
        (header, record.cast::<u8>().add(size_of::<WriteRecord>()))
    };
    let (mut offset, mut bytes) = (header.offset, header.length);
    if header.record_bytes == size_of::<WriteRecord>() as u64 {
        // By pointer: the whole block that it points to stands behind the record.
        let block = ((header.pointer[POINTER_PROPERTIES] & 0xffff) + 1) * 512;
        if bytes < block {
            offset -= offset % block;
            bytes = block;
        }
    }
    let call = &file.library.call;
    // SAFETY: a transaction on the objset that is being opened, before anybody else uses it.
    unsafe {
        let tx = (call.dmu_tx_create)(file.objset);
        (call.dmu_tx_hold_write_by_dnode)(tx, file.dnode, offset, bytes as c_int);
        let assigned = (call.dmu_tx_assign)(tx, TXG_WAIT);
        if assigned != 0 {
            (call.dmu_tx_abort)(tx);
            return assigned;
        }
        (call.dmu_write_by_dnode)(file.dnode, offset, bytes, data, tx);
        (call.zil_replaying)((call.dmu_objset_zil)(file.objset), tx);
        (call.dmu_tx_commit)(tx);
    }
    file.replayed.fetch_add(1, Ordering::Relaxed);
    0
}
