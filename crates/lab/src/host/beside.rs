//! What went on beside a phase: processor time and I/O of others, limits, clocks.
//!
//! Takes what the observers give around the phase, gives the ledger's measures. Prevents: a neighbour's load or a set
//! clock that end up as the stack's own figures.

use crate::condition::Health;
use ledger::Measure;
use observers::{Delta, DeviceErrors, Neighbours, Tasks};

pub(crate) use crate::host::slow_lun::slowest_lun;

/// The beginning of a phase.
pub(crate) struct Beside {
    servers: Vec<u32>,
    began: Neighbours,
    errors: DeviceErrors,
    /// Reads that another copy had served by then.
    mended: Option<u64>,
}

impl Beside {
    /// Just before the first operation. `server`: a process that works for the study and may be no child of this one.
    pub(crate) fn begin(tasks: &Tasks, server: Option<u32>, health: &Health<'_>) -> Beside {
        let servers: Vec<u32> = server.into_iter().collect();
        let began = Neighbours::read(tasks, &servers);
        Beside {
            servers,
            began,
            errors: DeviceErrors::read(),
            mended: health().mended,
        }
    }

    /// What happened since; `tasks` and `delta` are of the same time. Also the processor time that looking cost.
    pub(crate) fn end(self, tasks: &Tasks, delta: &Delta, health: &Health<'_>) -> (Vec<(Measure, f64)>, u64) {
        let now = Neighbours::read(tasks, &self.servers);
        let found = now.since(&self.began);
        // Others on processors that this run may not use take nothing from it.
        let here = delta.cpu.here();
        // Interrupts serve whoever they serve: they are nobody's.
        let programs_ns = here.user_ns + here.nice_ns + here.system_ns;
        // Threads of the kernel may have run elsewhere: what is left is the least that others took.
        let kernel_ns = delta.kernel_threads.as_ref().map(|threads| threads.cpu_ns);
        let others_ns = found
            .family_cpu_ns
            .zip(kernel_ns)
            .map(|(own, kernel)| programs_ns.saturating_sub(own).saturating_sub(kernel));
        let mut measures = vec![
            (Measure::ClockStepNs, found.clock_stepped_ns as f64),
            (Measure::ClockSleptNs, found.slept_ns as f64),
            (Measure::CpuStealNs, here.steal_ns as f64),
        ];
        // Shares of what the kernel counted: a phase is observed for longer than is charged to it.
        let counted_ns = here.busy_ns() + here.idle_ns + here.iowait_ns + here.steal_ns;
        let share = |ns: u64, of: u64| (of > 0).then(|| ns as f64 / of as f64);
        let mut add_share = |measure, value: Option<f64>| measures.extend(value.map(|v| (measure, v)));
        add_share(Measure::CpuStealShare, share(here.steal_ns, counted_ns));
        add_share(Measure::CpuOthersShare, others_ns.and_then(|ns| share(ns, counted_ns)));
        add_share(
            Measure::CpuThrottledShare,
            found.throttled_ns.and_then(|ns| share(ns, delta.elapsed_ns)),
        );
        add_share(Measure::CpuThrottledPeriodsShare, found.throttled_periods_share);
        let mut add = |measure, value: Option<u64>| measures.extend(value.map(|v| (measure, v as f64)));
        let devices = delta.devices.keys().cloned().collect();
        let counted = DeviceErrors::read().since(&self.errors, &devices);
        add(
            Measure::DeviceErrors,
            all_errors(counted, (self.mended, health().mended)),
        );
        add(Measure::CpuThermalThrottles, found.thermal);
        add(Measure::OthersReadBytes, found.others_read_bytes);
        add(Measure::OthersWriteBytes, found.others_write_bytes);
        add(
            Measure::OthersUnseen,
            found.others_read_bytes.map(|_| found.others_unseen),
        );
        (measures, self.began.cost_cpu_ns + now.cost_cpu_ns)
    }
}

/// Errors that devices counted, and reads that another copy served since; `None` where nobody counts either.
pub(crate) fn all_errors(counted: Option<u64>, (before, now): (Option<u64>, Option<u64>)) -> Option<u64> {
    let mended = now.map(|now| now.saturating_sub(before.unwrap_or(0)));
    [counted, mended].into_iter().flatten().reduce(|one, other| one + other)
}
