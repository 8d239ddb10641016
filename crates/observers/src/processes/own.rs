//! What this process itself costs: CPU, memory, bytes, from `/proc/self` and the process's CPU clock.
//!
//! Takes nothing, gives [`OwnCounters`] and [`OwnIo`]. The clock counts all threads, ended ones and io_uring workers
//! included; `/proc/self/schedstat` would count the first thread alone.
//! Prevents: the generator's share of the machine staying unknown.

use crate::Root;
use crate::host::memory::kib;

/// CPU and memory of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnCounters {
    /// CPU time of all threads by the process's clock; `None` when reading a fixture.
    pub cpu_ns: Option<u64>,
    /// User part by `/proc/self/stat`, in whole clock ticks.
    pub user_ns: u64,
    /// System part by `/proc/self/stat`, in whole clock ticks.
    pub system_ns: u64,
    /// Threads now.
    pub threads: u64,
    /// Page faults that waited for storage.
    pub faults_major: u64,
    /// Memory in use now, bytes (`VmRSS`).
    pub rss_bytes: Option<u64>,
    /// The most memory ever in use, bytes (`VmHWM`).
    pub rss_bytes_peak: Option<u64>,
}

/// Bytes that this process moved, from `/proc/self/io`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnIo {
    /// Bytes asked of read calls, from cache or device; io_uring reads are counted by newer kernels only.
    pub read_asked_bytes: u64,
    /// Bytes given to write calls.
    pub write_asked_bytes: u64,
    /// Bytes fetched from block devices on behalf of this process.
    pub read_bytes: u64,
    /// Bytes sent, or made dirty in the page cache, on behalf of this process.
    pub write_bytes: u64,
    /// Dirty bytes that were dropped before they were written.
    pub cancelled_write_bytes: u64,
}

/// The parts of a `/proc/PID/stat` line that this room uses.
pub(crate) struct TaskStat<'a> {
    pub(crate) name: &'a str,
    pub(crate) parent: u64,
    pub(crate) flags: u64,
    pub(crate) faults_major: u64,
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    pub(crate) threads: u64,
    pub(crate) start_ticks: u64,
}

/// Reads a `stat` line. The name may hold blanks and brackets, so the last `)` ends it.
pub(crate) fn parse_task(text: &str) -> Option<TaskStat<'_>> {
    let open = text.find('(')?;
    let close = text.rfind(')')?;
    let name = text.get(open + 1..close)?;
    let mut fields = [0u64; 20];
    // Field 3, the state, is a letter; numbers that may be negative are not used and become 0.
    for (slot, word) in fields
        .iter_mut()
        .zip(text.get(close + 1..)?.split_ascii_whitespace().skip(1))
    {
        *slot = word.parse().unwrap_or(0);
    }
    // proc_pid_stat(5) counts from 1; the first of `fields` is its field 4.
    let field = |number: usize| fields[number - 4];
    if text.get(close + 1..)?.split_ascii_whitespace().count() < 20 {
        return None;
    }
    Some(TaskStat {
        name,
        parent: field(4),
        flags: field(9),
        faults_major: field(12),
        user_ticks: field(14),
        system_ticks: field(15),
        threads: field(20),
        start_ticks: field(22),
    })
}

impl TaskStat<'_> {
    /// One of the kernel's own (`PF_KTHREAD` of `include/linux/sched.h`).
    pub(crate) fn is_of_kernel(&self) -> bool {
        self.flags & 0x0020_0000 != 0
    }
}

impl OwnIo {
    /// Reads the text of `/proc/PID/io`; `None` unless all fields are there.
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))?
                .trim()
                .parse()
                .ok()
        };
        Some(OwnIo {
            read_asked_bytes: field("rchar:")?,
            write_asked_bytes: field("wchar:")?,
            read_bytes: field("read_bytes:")?,
            write_bytes: field("write_bytes:")?,
            cancelled_write_bytes: field("cancelled_write_bytes:")?,
        })
    }
}

/// CPU time of this process, nanoseconds: all threads that ever were.
pub fn cpu_ns() -> u64 {
    clock_ns(rustix::time::ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(rustix::time::ClockId::ThreadCPUTime)
}

/// The monotonic clock: that of every stamp in this room.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(rustix::time::ClockId::Monotonic)
}

fn clock_ns(clock: rustix::time::ClockId) -> u64 {
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// This process now.
pub(crate) fn read(root: &Root) -> Option<OwnCounters> {
    let stat = root.proc_text("self/stat")?;
    let task = parse_task(&stat)?;
    let status = root.proc_text("self/status").unwrap_or_default();
    let tick_ns = crate::host::cpu::tick_ns();
    Some(OwnCounters {
        cpu_ns: root.live.then(cpu_ns),
        user_ns: task.user_ticks.checked_mul(tick_ns)?,
        system_ns: task.system_ticks.checked_mul(tick_ns)?,
        threads: task.threads,
        faults_major: task.faults_major,
        rss_bytes: kib(&status, "VmRSS:"),
        rss_bytes_peak: kib(&status, "VmHWM:"),
    })
}

/// Bytes of this process until now.
pub(crate) fn read_io(root: &Root) -> Option<OwnIo> {
    OwnIo::parse(&root.proc_text("self/io")?)
}
