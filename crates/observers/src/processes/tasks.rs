//! Every task of `/proc`, read once for all who ask at the same moment.
//!
//! Takes `/proc`, gives [`Tasks`]: threads of the kernel and processes. Opening files is what a look costs, and a phase
//! in short stints is looked at twice a stint. Prevents: two walks where one serves, and a cost that nobody counts.

use crate::Root;
use crate::processes::own::{parse_task, thread_cpu_ns};

/// A task, as far as this room asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// When it began, clock ticks since boot: tells two tasks of one number apart.
    pub(crate) start_ticks: u64,
    /// Processor time, whole clock ticks.
    pub(crate) ticks: u64,
    /// Its name, of a thread of the kernel; nothing of a process, whose name nobody asks.
    pub(crate) of_kernel: Option<String>,
}

/// All tasks at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tasks {
    /// `None`: `/proc` cannot be listed.
    found: Option<Vec<Task>>,
    /// Processor time that the walk cost.
    pub cost_cpu_ns: u64,
}

impl Tasks {
    /// Walks through `/proc`. A task that ends meanwhile is passed over.
    pub fn read() -> Tasks {
        Tasks::read_in(&Root::live())
    }

    /// [`read`](Self::read) from a given root.
    pub fn read_in(root: &Root) -> Tasks {
        let began = thread_cpu_ns();
        let found = std::fs::read_dir(&root.proc).ok().map(|entries| {
            let pids = entries
                .flatten()
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            pids.filter_map(|pid| task(root, pid)).collect()
        });
        Tasks {
            found,
            cost_cpu_ns: thread_cpu_ns().saturating_sub(began),
        }
    }

    /// `None`: they cannot be listed.
    pub(crate) fn all(&self) -> Option<&[Task]> {
        self.found.as_deref()
    }

    /// Those that are no threads of the kernel.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Task> {
        self.found.iter().flatten().filter(|task| task.of_kernel.is_none())
    }

    /// Threads of the kernel are among them. A container with process numbers of its own, and a `/proc` that hides
    /// what is others' (`hidepid`), show none: there processes of the host are not closed but absent.
    pub(crate) fn are_of_host(&self) -> bool {
        self.found.iter().flatten().any(|task| task.of_kernel.is_some())
    }

    /// Some processes and all their descendants.
    pub(crate) fn families(&self, of: &[u32]) -> Vec<u32> {
        let mut family = of.to_vec();
        let mut at = 0;
        while let Some(parent) = family.get(at).copied() {
            let children = self.processes().filter(|one| one.parent == parent);
            let new: Vec<u32> = children
                .map(|one| one.pid)
                .filter(|pid| !family.contains(pid))
                .collect();
            family.extend(new);
            at += 1;
        }
        family
    }
}

fn task(root: &Root, pid: u32) -> Option<Task> {
    let stat = root.proc_text(&format!("{pid}/stat"))?;
    let task = parse_task(&stat)?;
    Some(Task {
        pid,
        parent: u32::try_from(task.parent).ok()?,
        start_ticks: task.start_ticks,
        ticks: task.user_ticks.saturating_add(task.system_ticks),
        of_kernel: task.is_of_kernel().then(|| task.name.to_owned()),
    })
}
