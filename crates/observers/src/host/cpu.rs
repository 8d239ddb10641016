//! CPU time of the whole machine, from `/proc/stat`.
//!
//! Takes its text and the clock ticks per second, gives nanoseconds by kind, in all and per CPU. The kernel adds time
//! by the tick (10 ms as a rule) unless it was built for exact accounting, so short intervals are coarse. Prevents:
//! guest time counted twice (it is inside user time), and stolen time taken for idleness.

use std::collections::BTreeMap;

use crate::{ObserveError, Root};

/// CPU time by kind since boot, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuTimes {
    /// User code, guests included.
    pub user_ns: u64,
    /// User code at lowered priority.
    pub nice_ns: u64,
    /// Kernel code, kernel threads included.
    pub system_ns: u64,
    /// Nothing to do.
    pub idle_ns: u64,
    /// Nothing to do while a task of this CPU waited for I/O.
    pub iowait_ns: u64,
    /// Hardware interrupts.
    pub irq_ns: u64,
    /// Deferred interrupt work: completions of block I/O among it.
    pub softirq_ns: u64,
    /// Wanted, and given by the hypervisor to others.
    pub steal_ns: u64,
}

impl CpuTimes {
    /// Time in which the CPU worked: neither idle, nor waiting, nor stolen.
    pub fn busy_ns(&self) -> u64 {
        [self.user_ns, self.nice_ns, self.system_ns, self.irq_ns, self.softirq_ns]
            .iter()
            .fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// Reads a `cpu` line with its name.
    pub(crate) fn parse_line(line: &str, tick_ns: u64) -> Option<Self> {
        Self::parse(&mut line.split_ascii_whitespace().skip(1), tick_ns)
    }

    fn parse(words: &mut dyn Iterator<Item = &str>, tick_ns: u64) -> Option<Self> {
        let mut next = || words.next()?.parse::<u64>().ok()?.checked_mul(tick_ns);
        Some(CpuTimes {
            user_ns: next()?,
            nice_ns: next()?,
            system_ns: next()?,
            idle_ns: next()?,
            iowait_ns: next()?,
            irq_ns: next()?,
            softirq_ns: next()?,
            steal_ns: next()?,
        })
    }
}

/// CPU time of the machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SystemCpu {
    /// All CPUs together.
    pub all: CpuTimes,
    /// By number of CPU, those online.
    pub each: BTreeMap<u32, CpuTimes>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Tasks blocked on I/O at this moment.
    pub tasks_blocked: Option<u64>,
}

impl SystemCpu {
    /// Reads the text of `/proc/stat`; `None` when it is in no known form.
    pub fn parse(text: &str, tick_ns: u64) -> Option<Self> {
        let mut all = None;
        let mut cpu = SystemCpu::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(key) = words.next() else { continue };
            match key {
                "cpu" => all = Some(CpuTimes::parse(&mut words, tick_ns)?),
                "ctxt" => cpu.context_switches = words.next().and_then(|word| word.parse().ok()),
                "procs_blocked" => cpu.tasks_blocked = words.next().and_then(|word| word.parse().ok()),
                _ => {
                    if let Some(number) = key.strip_prefix("cpu").and_then(|number| number.parse().ok()) {
                        cpu.each.insert(number, CpuTimes::parse(&mut words, tick_ns)?);
                    }
                }
            }
        }
        cpu.all = all?;
        Some(cpu)
    }
}

/// Nanoseconds of one clock tick, the unit of `/proc/stat` and `/proc/PID/stat`.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// CPU time of the machine now.
pub(crate) fn read(root: &Root) -> Result<SystemCpu, ObserveError> {
    let text = root.proc_required("stat")?;
    SystemCpu::parse(&text, tick_ns()).ok_or_else(|| ObserveError::Malformed {
        path: root.proc.join("stat"),
        what: text.lines().next().unwrap_or("empty").to_owned(),
    })
}
