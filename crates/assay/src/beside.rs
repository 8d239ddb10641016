//! What went on beside a phase: processor time and I/O of others, limits, clocks, and a LUN that is slower than its fellows.
//!
//! Takes what the observers give around the phase, gives the ledger's measures. Prevents: a neighbour's load, a set clock or one bad LUN
//! that end up as the stack's own figures.

use ledger::Measure;
use observers::{Delta, DeviceDelta, Neighbours};

/// Fewer requests on a device do not tell how fast it is.
const REQUESTS_MIN: u64 = 50;
/// From so much on the slowest LUN is named.
const WORTH_A_WORD: f64 = 1.5;

/// The beginning of a phase.
pub(crate) struct Beside {
    servers: Vec<u32>,
    began: Neighbours,
}

impl Beside {
    /// Just before the first operation. `server`: a process that works for the study and may be no child of this one.
    pub(crate) fn begin(server: Option<u32>) -> Beside {
        let servers: Vec<u32> = server.into_iter().collect();
        let began = Neighbours::read(&servers);
        Beside { servers, began }
    }

    /// What happened since; `delta` is of the same time. Also the processor time that looking cost.
    pub(crate) fn end(self, delta: &Delta) -> (Vec<(Measure, f64)>, u64) {
        let now = Neighbours::read(&self.servers);
        let found = now.since(&self.began);
        let all = delta.cpu.all;
        // Interrupts serve whoever they serve: they are nobody's.
        let programs_ns = all.user_ns + all.nice_ns + all.system_ns;
        let kernel_ns = delta.kernel_threads.as_ref().map(|threads| threads.cpu_ns);
        let others_ns = found
            .family_cpu_ns
            .zip(kernel_ns)
            .map(|(own, kernel)| programs_ns.saturating_sub(own).saturating_sub(kernel));
        let mut measures = vec![
            (Measure::ClockStepNs, found.clock_stepped_ns as f64),
            (Measure::ClockSleptNs, found.slept_ns as f64),
        ];
        // Shares of what the kernel counted: a phase is observed for longer than is charged to it.
        let counted_ns = all.busy_ns() + all.idle_ns + all.iowait_ns + all.steal_ns;
        let share = |ns: u64, of: u64| (of > 0).then(|| ns as f64 / of as f64);
        let mut add_share = |measure, value: Option<f64>| measures.extend(value.map(|v| (measure, v)));
        add_share(Measure::CpuStealShare, share(all.steal_ns, counted_ns));
        add_share(Measure::CpuOthersShare, others_ns.and_then(|ns| share(ns, counted_ns)));
        add_share(
            Measure::CpuThrottledShare,
            found.throttled_ns.and_then(|ns| share(ns, delta.elapsed_ns)),
        );
        let mut add = |measure, value: Option<u64>| measures.extend(value.map(|v| (measure, v as f64)));
        add(Measure::CpuThermalThrottles, found.thermal);
        add(Measure::OthersReadBytes, found.others_read_bytes);
        add(Measure::OthersWriteBytes, found.others_write_bytes);
        (measures, self.began.cost_cpu_ns + now.cost_cpu_ns)
    }
}

/// The slowest of the data's devices against the median of the others, and in words which it was; nothing where they are too few or
/// had too little to do.
pub(crate) fn slowest_lun(devices: &[String], delta: &Delta) -> (Vec<(Measure, f64)>, Option<String>) {
    let nothing = (Vec::new(), None);
    let means = devices
        .iter()
        .map(|name| Some((name, mean_ns(delta.devices.get(name)?)?)));
    let Some(mut means) = means.collect::<Option<Vec<_>>>() else {
        return nothing;
    };
    let place = (0..means.len()).max_by(|a, b| means[*a].1.total_cmp(&means[*b].1));
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let Some((slowest, fellows)) = means.split_last().filter(|(_, fellows)| !fellows.is_empty()) else {
        return nothing;
    };
    let middle = fellows.len() / 2;
    let median = match fellows.len() % 2 {
        1 => fellows[middle].1,
        _ => (fellows[middle - 1].1 + fellows[middle].1) / 2.0,
    };
    let measures = vec![
        (Measure::LunServiceNsSlowest, slowest.1),
        (Measure::LunServiceNsFellows, median),
        (Measure::LunSlowest, place.unwrap_or(0) as f64),
    ];
    // What is usual between LUNs needs no word.
    let said = (slowest.1 > WORTH_A_WORD * median).then(|| {
        format!(
            "slowest data LUN: {}, {:.2} ms a request, the others {:.2} ms",
            slowest.0,
            slowest.1 / 1e6,
            median / 1e6
        )
    });
    (measures, said)
}

/// Mean time of a request, of the direction that had more of them; the kernel's own sums.
fn mean_ns(device: &DeviceDelta) -> Option<f64> {
    let (count, ms) = match device.reads >= device.writes {
        true => (device.reads, device.read_ms),
        false => (device.writes, device.write_ms),
    };
    // Sums come in whole milliseconds.
    (count >= REQUESTS_MIN).then(|| ms.max(1) as f64 * 1e6 / count as f64)
}
