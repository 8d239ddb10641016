//! The device layer under OpenZFS: our own open, read, write and flush in the place of the library's.
//!
//! Devices named by [`register`] are opened with `O_DIRECT` where that is asked for, each transfer is one system call
//! (the library's own splits each write in two at random, to test itself), all are counted, and planted faults are done
//! here. Anything else the library opens goes straight through. Prevents: a pool that is cached below in secret, and
//! device counters that guess.
#![allow(unsafe_code)]

use crate::message::{DeviceCounts, DeviceFault, DeviceOp, FaultDone};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Direct I/O wants buffers on this boundary; the few that are not are copied.
const ALIGNED: usize = 4096;

#[derive(Default)]
struct Counters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    reads_in_sequence: AtomicU64,
    writes: AtomicU64,
    write_bytes: AtomicU64,
    writes_in_sequence: AtomicU64,
    flushes: AtomicU64,
    copied: AtomicU64,
    read_end: AtomicU64,
    write_end: AtomicU64,
}

/// A device of a pool, known by the path that it is opened by.
pub(crate) struct Device {
    path: PathBuf,
    direct: bool,
    counters: Counters,
}

static DEVICES: Mutex<Vec<Arc<Device>>> = Mutex::new(Vec::new());
static FAULTS: Mutex<Vec<Planted>> = Mutex::new(Vec::new());
static ARMED: AtomicBool = AtomicBool::new(false);
/// Operations of devices that were begun, that ended, and that ended by failing, since the process began.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static FAILED: AtomicU64 = AtomicU64::new(0);

struct Planted {
    fault: DeviceFault,
    seen: u64,
}

/// What the library holds of an open file: its own two words first, which others of its functions read.
#[repr(C)]
struct Opened {
    fd: c_int,
    dump_fd: c_int,
    device: Option<Arc<Device>>,
}

/// From now on this path is a device.
pub(crate) fn register(path: &Path, direct: bool) {
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    devices.retain(|device| device.path != path);
    devices.push(Arc::new(Device {
        path: path.to_path_buf(),
        direct,
        counters: Counters::default(),
    }));
}

/// Plants a fault, or with `None` ends all of them.
pub(crate) fn plant(fault: Option<DeviceFault>) {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    match fault {
        Some(fault) => faults.push(Planted { fault, seen: 0 }),
        None => faults.clear(),
    }
    ARMED.store(!faults.is_empty(), Ordering::Release);
}

/// Operations of all devices that have ended, when none is under way.
pub(crate) fn at_rest() -> Option<u64> {
    let ended = ENDED.load(Ordering::SeqCst);
    (BEGUN.load(Ordering::SeqCst) == ended).then_some(ended)
}

/// Operations of all devices that have failed.
pub(crate) fn failed() -> u64 {
    FAILED.load(Ordering::Relaxed)
}

/// What each device has done.
pub(crate) fn counts() -> Vec<(PathBuf, DeviceCounts)> {
    let devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    devices
        .iter()
        .map(|device| (device.path.clone(), device.counters.snapshot()))
        .collect()
}

impl Counters {
    fn snapshot(&self) -> DeviceCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DeviceCounts {
            reads: of(&self.reads),
            read_bytes: of(&self.read_bytes),
            reads_in_sequence: of(&self.reads_in_sequence),
            writes: of(&self.writes),
            write_bytes: of(&self.write_bytes),
            writes_in_sequence: of(&self.writes_in_sequence),
            flushes: of(&self.flushes),
            copied: of(&self.copied),
        }
    }

    fn count(&self, op: DeviceOp, offset: u64, bytes: u64) {
        let (number, sum, sequence, end) = match op {
            DeviceOp::Read => (&self.reads, &self.read_bytes, &self.reads_in_sequence, &self.read_end),
            DeviceOp::Write => (
                &self.writes,
                &self.write_bytes,
                &self.writes_in_sequence,
                &self.write_end,
            ),
            DeviceOp::Flush => {
                self.flushes.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        number.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(bytes, Ordering::Relaxed);
        let follows = end.swap(offset + bytes, Ordering::Relaxed) == offset;
        sequence.fetch_add(u64::from(follows), Ordering::Relaxed);
    }
}

/// What a planted fault does to this operation.
#[cold]
fn fault_of(device: &Device, op: DeviceOp) -> Option<FaultDone> {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    for planted in faults.iter_mut() {
        let fault = &planted.fault;
        if fault.op != op || fault.device.as_ref().is_some_and(|path| *path != device.path) {
            continue;
        }
        planted.seen += 1;
        if planted.seen > fault.after && planted.seen - fault.after <= fault.times {
            return Some(fault.done);
        }
    }
    None
}

/// The functions that take the place of the library's own, by their names there.
pub(crate) fn ours() -> [(&'static str, *const c_void); 6] {
    [
        ("zfs_file_open", open as *const c_void),
        ("zfs_file_close", close as *const c_void),
        ("zfs_file_pread", pread as *const c_void),
        ("zfs_file_pwrite", pwrite as *const c_void),
        ("zfs_file_fsync", fsync as *const c_void),
        ("random_get_pseudo_bytes", pseudo_random as *const c_void),
    ]
}

extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int, out: *mut *mut Opened) -> c_int {
    // SAFETY: the library hands over a terminated path.
    let named = Path::new(unsafe { CStr::from_ptr(path) }.to_str().unwrap_or_default());
    let device = {
        let devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        devices.iter().find(|device| device.path == named).cloned()
    };
    let direct = device.as_ref().is_some_and(|device| device.direct);
    let flags = flags | libc::O_CLOEXEC | if direct { libc::O_DIRECT } else { 0 };
    // SAFETY: the same terminated path.
    let fd = unsafe { libc::open64(path, flags, mode) };
    if fd < 0 {
        return errno();
    }
    let opened = Box::new(Opened {
        fd,
        dump_fd: -1,
        device,
    });
    // SAFETY: the library waits for one pointer there.
    unsafe { *out = Box::into_raw(opened) };
    0
}

extern "C" fn close(file: *mut Opened) {
    // SAFETY: made by `open`, closed once.
    let opened = unsafe { Box::from_raw(file) };
    // SAFETY: its descriptor is its own.
    unsafe { libc::close(opened.fd) };
}

extern "C" fn pread(file: *mut Opened, into: *mut u8, bytes: usize, offset: i64, left: *mut isize) -> c_int {
    // SAFETY: an open file of ours.
    let opened = unsafe { &*file };
    let with = |buffer: *mut u8, done: usize| {
        // SAFETY: the library gave `bytes` bytes there, or the aligned stand-in has as many.
        unsafe { libc::pread64(opened.fd, buffer.add(done).cast(), bytes - done, offset + done as i64) }
    };
    let _under_way = opened.under_way();
    match fault(opened, DeviceOp::Read) {
        Some(FaultDone::Error(errno)) => return opened.failed(errno),
        Some(FaultDone::Lost) => {
            // SAFETY: as above.
            unsafe { into.write_bytes(0, bytes) };
            return ended(bytes, Ok(bytes), left);
        }
        Some(FaultDone::Held) | None => {}
    }
    let moved = if opened.needs_copy(into, bytes) {
        aligned(bytes, |buffer| {
            let moved = whole(bytes, |done| with(buffer, done));
            // SAFETY: both have `bytes` bytes and are apart.
            unsafe { std::ptr::copy_nonoverlapping(buffer, into, *moved.as_ref().unwrap_or(&0)) };
            moved
        })
    } else {
        whole(bytes, |done| with(into, done))
    };
    ended(bytes, opened.counted(DeviceOp::Read, offset, moved), left)
}

extern "C" fn pwrite(file: *mut Opened, from: *const u8, bytes: usize, offset: i64, left: *mut isize) -> c_int {
    // SAFETY: an open file of ours.
    let opened = unsafe { &*file };
    let with = |buffer: *const u8, done: usize| {
        // SAFETY: as for reads.
        unsafe { libc::pwrite64(opened.fd, buffer.add(done).cast(), bytes - done, offset + done as i64) }
    };
    let _under_way = opened.under_way();
    match fault(opened, DeviceOp::Write) {
        Some(FaultDone::Error(errno)) => return opened.failed(errno),
        Some(FaultDone::Lost) => return ended(bytes, opened.counted(DeviceOp::Write, offset, Ok(bytes)), left),
        Some(FaultDone::Held) | None => {}
    }
    let moved = if opened.needs_copy(from, bytes) {
        aligned(bytes, |buffer| {
            // SAFETY: both have `bytes` bytes and are apart.
            unsafe { std::ptr::copy_nonoverlapping(from, buffer, bytes) };
            whole(bytes, |done| with(buffer, done))
        })
    } else {
        whole(bytes, |done| with(from, done))
    };
    ended(bytes, opened.counted(DeviceOp::Write, offset, moved), left)
}

extern "C" fn fsync(file: *mut Opened, _flags: c_int) -> c_int {
    // SAFETY: an open file of ours.
    let opened = unsafe { &*file };
    let _under_way = opened.under_way();
    match fault(opened, DeviceOp::Flush) {
        Some(FaultDone::Error(errno)) => return opened.failed(errno),
        Some(FaultDone::Lost) => {}
        // SAFETY: an open descriptor.
        Some(FaultDone::Held) | None if unsafe { libc::fdatasync(opened.fd) } < 0 => return opened.failed(errno()),
        Some(FaultDone::Held) | None => {}
    }
    if let Some(device) = &opened.device {
        device.counters.count(DeviceOp::Flush, 0, 0);
    }
    0
}

/// Where the library picks at random, not in secret: it would read /dev/urandom through one descriptor each time.
extern "C" fn pseudo_random(into: *mut u8, bytes: usize) -> c_int {
    thread_local! { static STATE: Cell<u64> = const { Cell::new(0) }; }
    STATE.with(|state| {
        let mut x = state.get();
        if x == 0 {
            x = (&raw const *state as u64) ^ targets::monotonic_ns().rotate_left(32) | 1;
        }
        for at in 0..bytes {
            if at % 8 == 0 {
                // xorshift64 (Marsaglia 2003), shifts 13, 7, 17.
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
            }
            // SAFETY: the library asked for this many bytes there.
            unsafe { *into.add(at) = (x >> (at % 8 * 8)) as u8 };
        }
        state.set(x);
    });
    0
}

fn fault(opened: &Opened, op: DeviceOp) -> Option<FaultDone> {
    let device = opened.device.as_ref()?;
    let fault = ARMED.load(Ordering::Acquire).then(|| fault_of(device, op)).flatten();
    while fault == Some(FaultDone::Held) {
        std::thread::park();
    }
    fault
}

/// An operation of a device.
struct UnderWay;

impl Drop for UnderWay {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
}

impl Opened {
    fn needs_copy(&self, buffer: *const u8, bytes: usize) -> bool {
        let Some(device) = self.device.as_ref().filter(|device| device.direct) else {
            return false;
        };
        let copied = bytes > 0 && !(buffer as usize).is_multiple_of(512);
        if copied {
            device.counters.copied.fetch_add(1, Ordering::Relaxed);
        }
        copied
    }

    /// Counts an operation as under way for as long as what is given lives.
    fn under_way(&self) -> Option<UnderWay> {
        self.device.is_some().then(|| {
            BEGUN.fetch_add(1, Ordering::SeqCst);
            UnderWay
        })
    }

    fn failed(&self, errno: c_int) -> c_int {
        FAILED.fetch_add(u64::from(self.device.is_some()), Ordering::Relaxed);
        errno
    }

    fn counted(&self, op: DeviceOp, offset: i64, moved: Result<usize, c_int>) -> Result<usize, c_int> {
        let moved = moved.map_err(|errno| self.failed(errno))?;
        if let Some(device) = &self.device {
            device.counters.count(op, offset as u64, moved as u64);
        }
        Ok(moved)
    }
}

/// As the library's own: what is left over goes to the caller, or is an error when it does not want to know.
fn ended(bytes: usize, moved: Result<usize, c_int>, left: *mut isize) -> c_int {
    let moved = match moved {
        Ok(moved) => moved,
        Err(errno) => return errno,
    };
    if !left.is_null() {
        // SAFETY: the library waits for one word there.
        unsafe { *left = (bytes - moved) as isize };
        return 0;
    }
    if moved == bytes { 0 } else { libc::EIO }
}

/// Repeats a transfer until all is moved or nothing more comes.
fn whole(bytes: usize, mut with: impl FnMut(usize) -> isize) -> Result<usize, c_int> {
    let mut done = 0;
    while done < bytes {
        match with(done) {
            0 => break,
            moved if moved > 0 => done += moved as usize,
            _ if errno() == libc::EINTR => {}
            _ => return Err(errno()),
        }
    }
    Ok(done)
}

/// Runs with an aligned buffer of at least this many bytes, which the thread keeps.
fn aligned<T>(bytes: usize, run: impl FnOnce(*mut u8) -> T) -> T {
    thread_local! { static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) }; }
    BUFFER.with(|kept| {
        let mut buffer = kept.take();
        if buffer.len() < bytes + ALIGNED {
            buffer.resize(bytes + ALIGNED, 0);
        }
        let start = buffer.as_mut_ptr();
        let result = run(start.wrapping_add(start.align_offset(ALIGNED)));
        kept.set(buffer);
        result
    })
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
