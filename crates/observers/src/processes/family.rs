//! What a process and its descendants cost: processor time and memory of a database server.
//!
//! Takes the number of the process that started the others; gives counters from `/proc/PID/stat` and
//! `/proc/PID/status`. Processes that ended are counted through those that waited for them. Prevents: a server whose
//! sessions have ended and taken their processor time with them, and memory that a hundred processes share counted a
//! hundred times.

use crate::Root;
use crate::host::memory::kib;
use crate::processes::own::parse_task;
use crate::processes::tasks::Tasks;

/// Processor time of a family of processes, in whole clock ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FamilyCpu {
    /// Outside the kernel.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// Processes now.
    pub processes: u64,
}

impl FamilyCpu {
    /// What came since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &FamilyCpu) -> FamilyCpu {
        FamilyCpu {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            processes: self.processes,
        }
    }

    /// Of process `pid` and all below it, now; `None` when it is gone.
    pub fn of(pid: u32) -> Option<FamilyCpu> {
        FamilyCpu::of_in(&Root::live(), pid)
    }

    /// [`of`](Self::of) from a given root.
    pub fn of_in(root: &Root, pid: u32) -> Option<FamilyCpu> {
        FamilyCpu::of_all_in(root, &family(root, pid)?)
    }

    /// Of these processes; `None` when there is none.
    pub(crate) fn of_all_in(root: &Root, processes: &[u32]) -> Option<FamilyCpu> {
        let tick_ns = crate::host::cpu::tick_ns();
        let mut sum = FamilyCpu::default();
        for one in processes {
            let Some(stat) = root.proc_text(&format!("{one}/stat")) else {
                continue;
            };
            let Some((user, system)) = ticks(&stat) else { continue };
            sum.user_ns = sum.user_ns.saturating_add(user.saturating_mul(tick_ns));
            sum.system_ns = sum.system_ns.saturating_add(system.saturating_mul(tick_ns));
            sum.processes += 1;
        }
        (sum.processes > 0).then_some(sum)
    }
}

/// Memory of process `pid` and all below it now, bytes: what each has for itself, and what they share once. `None` when
/// it is gone, or the kernel (before 4.5) does not tell the two apart.
pub fn family_memory(pid: u32) -> Option<u64> {
    family_memory_in(&Root::live(), pid)
}

/// [`family_memory`] from a given root.
pub fn family_memory_in(root: &Root, pid: u32) -> Option<u64> {
    let (mut own, mut shared, mut mapped) = (0u64, 0u64, 0u64);
    for one in family(root, pid)? {
        let Some(status) = root.proc_text(&format!("{one}/status")) else {
            continue;
        };
        let Some(anonymous) = kib(&status, "RssAnon:") else {
            continue;
        };
        own = own.saturating_add(anonymous);
        // Each process counts the shared pages that it has touched: the largest count is the nearest to all of them.
        shared = shared.max(kib(&status, "RssShmem:").unwrap_or(0));
        mapped = mapped.max(kib(&status, "RssFile:").unwrap_or(0));
    }
    (own > 0).then(|| own.saturating_add(shared).saturating_add(mapped))
}

/// User and system ticks of a process and of its children that have ended and been waited for: fields 14 to 17.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let task = parse_task(stat)?;
    let rest = stat.get(stat.rfind(')')? + 1..)?;
    let mut ended = rest.split_ascii_whitespace().skip(13);
    let mut next = || ended.next()?.parse::<u64>().ok();
    let (user, system) = (next()?, next()?);
    Some((task.user_ticks + user, task.system_ticks + system))
}

/// The process and its descendants.
fn family(root: &Root, pid: u32) -> Option<Vec<u32>> {
    root.proc_text(&format!("{pid}/stat"))?;
    let tasks = Tasks::read_in(root);
    tasks.all()?;
    Some(tasks.families(&[pid]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_that_ended_is_still_counted() {
        // The shell waits for a child that works, then sleeps: its own time is next to nothing.
        let script = "i=0; (while [ $i -lt 200000 ]; do i=$((i+1)); done); echo done; sleep 60";
        let mut shell = Command::new("/bin/sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let cpu = FamilyCpu::of(shell.id());
        let memory = family_memory(shell.id());
        shell.kill().unwrap();
        shell.wait().unwrap();
        let cpu = cpu.unwrap();
        assert!(cpu.user_ns + cpu.system_ns >= 10_000_000, "{cpu:?}");
        assert!(memory.unwrap() > 100 << 10);
        assert!(FamilyCpu::of(shell.id()).is_none());
    }
}
