//! The machine as the tests of all rooms share it: whose turn it is to use its devices, and where tests put files.
//!
//! Gives a lock and a directory. Prevents: a test that measures while another one works, and tests of behaviour that
//! wait for a disk.

use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::LazyLock;

/// How a test uses the machine's devices: beside other tests, or with none at work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Beside,
    Alone,
}

/// A test that works on devices holds this until its end. Tests of all rooms share one lock.
pub(crate) fn turn(kind: Turn) -> File {
    // Somebody else's file there can't be opened to write or create; a lock needs no more than reading.
    let lock = "/tmp/assay-loop-tests.lock";
    let turn = File::open(lock)
        .or_else(|_| OpenOptions::new().create(true).append(true).open(lock))
        .expect("a lock file");
    match kind {
        Turn::Beside => turn.lock_shared(),
        Turn::Alone => turn.lock(),
    }
    .expect("the turn");
    turn
}

/// The file system on a disk where tests put files. Not `/tmp`, which may be memory.
pub(crate) const DISK: &str = "/var/tmp";

/// Room in memory for the LUN files of a few tests at a time.
const ROOM_BYTES: u64 = 4 << 30;

/// Whether the tests are to run at full size.
pub(crate) fn is_full() -> bool {
    std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full")
}

/// Where tests put LUN files, databases and results: memory where it can, else and at full size [`DISK`]. What a disk
/// does with them is no question of these tests, and would take most of their time.
pub(crate) fn scratch() -> &'static Path {
    static PLACE: LazyLock<&Path> = LazyLock::new(|| {
        let memory = Path::new("/dev/shm");
        match !is_full() && takes_files(memory) {
            true => memory,
            false => Path::new(DISK),
        }
    });
    *PLACE
}

/// Room, programs that may be started, and direct I/O, which memory takes since Linux 6.6.
fn takes_files(memory: &Path) -> bool {
    let has_room = rustix::fs::statvfs(memory).is_ok_and(|place| {
        let has_programs = !place.f_flag.contains(StatVfsMountFlags::NOEXEC);
        has_programs && place.f_bavail * place.f_frsize >= ROOM_BYTES
    });
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::DIRECT;
    has_room && available_bytes() >= ROOM_BYTES && rustix::fs::open(memory, flags, Mode::RUSR | Mode::WUSR).is_ok()
}

fn available_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
