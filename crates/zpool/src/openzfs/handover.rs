//! Reads of one record that their own thread does from end to end.
//!
//! The library hands each transfer of a device to a thread of its own, and its end to a third one: what waits for one
//! record pays four changes of thread for nothing. A thread that says so ([`in_own_thread`]) does its first transfer
//! itself, and the end of it: what runs is the library's own code in the library's own order, only not elsewhere. What
//! else comes up meanwhile (transfers that others wait for, read-ahead) goes the usual way. Takes the place of the
//! library's `taskq_create`, `taskq_dispatch`, `taskq_dispatch_ent` and `dmu_zfetch_run`. Prevents: a pool whose
//! processor time is that of waking threads; a read that waits for read-ahead; a chain of ends that grows on one stack.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::openzfs::library::{Library, Opaque};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

type Work = unsafe extern "C" fn(Opaque);
type Create = unsafe extern "C" fn(*const c_char, c_int, c_int, c_int, c_int, u32) -> Opaque;
type Dispatch = unsafe extern "C" fn(Opaque, Work, Opaque, u32) -> usize;
type DispatchEntry = unsafe extern "C" fn(Opaque, Work, Opaque, u32, Opaque);
type ReadAhead = unsafe extern "C" fn(Opaque, c_int, c_int);

/// The library's own functions.
struct Own {
    create: Create,
    dispatch: Dispatch,
    dispatch_entry: DispatchEntry,
    read_ahead: ReadAhead,
}

static OWN: OnceLock<Own> = OnceLock::new();
/// The queue of the threads that do the transfers of devices.
static DEVICES: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// What the library calls that queue.
const DEVICES_NAME: &CStr = c"z_vdev_file";

/// What a thread does itself of what it would hand over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mine {
    Nothing,
    /// The next transfer of a device.
    Transfer,
    /// The end of the transfer that it is in.
    End,
}

thread_local! { static MINE: Cell<Mine> = const { Cell::new(Mine::Nothing) }; }

fn own() -> &'static Own {
    OWN.get().expect("the library's functions are kept before it runs")
}

/// Runs a read of one record: its transfer from the device is done in this thread.
pub(crate) fn in_own_thread<T>(read: impl FnOnce() -> T) -> T {
    MINE.set(Mine::Transfer);
    let done = read();
    MINE.set(Mine::Nothing);
    done
}

/// The functions that take the place of the library's own, which are kept. Once, before anything of the library runs.
pub(crate) fn ours(library: &Library) -> Result<[(&'static str, *const c_void); 4], Refused> {
    let look = |name: &str| {
        let what = || format!("{} has no `{name}`", library.path.display());
        library
            .variable(name)
            .ok_or_else(|| Refused::new(&what(), "install OpenZFS 2.1 as the distribution ships it"))
    };
    // SAFETY: functions of the known version, by the types that they have there (sys/zfs_context.h, sys/dmu_zfetch.h).
    let found = unsafe {
        Own {
            create: std::mem::transmute::<Opaque, Create>(look("taskq_create")?),
            dispatch: std::mem::transmute::<Opaque, Dispatch>(look("taskq_dispatch")?),
            dispatch_entry: std::mem::transmute::<Opaque, DispatchEntry>(look("taskq_dispatch_ent")?),
            read_ahead: std::mem::transmute::<Opaque, ReadAhead>(look("dmu_zfetch_run")?),
        }
    };
    let _ = OWN.set(found);
    Ok([
        ("taskq_create", create as *const c_void),
        ("taskq_dispatch", dispatch as *const c_void),
        ("taskq_dispatch_ent", dispatch_entry as *const c_void),
        ("dmu_zfetch_run", read_ahead as *const c_void),
    ])
}

extern "C" fn create(
    name: *const c_char,
    threads: c_int,
    priority: c_int,
    least: c_int,
    most: c_int,
    flags: u32,
) -> Opaque {
    // SAFETY: what the library handed over, to the library's own function; the name is terminated.
    unsafe {
        let queue = (own().create)(name, threads, priority, least, most, flags);
        if CStr::from_ptr(name) == DEVICES_NAME {
            DEVICES.store(queue, Ordering::Release);
        }
        queue
    }
}

extern "C" fn dispatch(queue: Opaque, work: Work, argument: Opaque, flags: u32) -> usize {
    if MINE.get() != Mine::Transfer || queue != DEVICES.load(Ordering::Acquire) {
        // SAFETY: what the library handed over, to the library's own function.
        return unsafe { (own().dispatch)(queue, work, argument, flags) };
    }
    MINE.set(Mine::End);
    // SAFETY: the library calls this function with this argument from another thread, at any time from now on: so also
    // now. Its caller looks at nothing of the transfer any more, since it might have ended already.
    unsafe { work(argument) };
    // One record may take several transfers, those of indirect blocks, one after the other.
    MINE.set(Mine::Transfer);
    1
}

extern "C" fn dispatch_entry(queue: Opaque, work: Work, argument: Opaque, flags: u32, entry: Opaque) {
    if MINE.get() != Mine::End {
        // SAFETY: as above.
        return unsafe { (own().dispatch_entry)(queue, work, argument, flags, entry) };
    }
    // What the end brings up (the next transfers of the device's queue, the end of what was read ahead) goes to other
    // threads.
    MINE.set(Mine::Nothing);
    // SAFETY: as for the transfer: from here on the library would run it in another thread at any time.
    unsafe { work(argument) };
}

extern "C" fn read_ahead(stream: Opaque, missed: c_int, locked: c_int) {
    let mine = MINE.replace(Mine::Nothing);
    // SAFETY: what the library handed over, to the library's own function.
    unsafe { (own().read_ahead)(stream, missed, locked) };
    MINE.set(mine);
}
