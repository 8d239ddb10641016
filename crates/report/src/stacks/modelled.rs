//! What modelled devices counted of themselves, beside what the kernel counted of the loop devices that stand on them.
//!
//! Takes the gathered file, gives a [`ModelledDevices`] for each phase of a stack on modelled LUNs. Prevents: a model
//! whose word is taken for the device's, unseen by anybody else.

use crate::figures::{Figure, over};
use crate::history::{Book, Runs, Seen};
use ledger::Measure;
use schemars::JsonSchema;
use serde::Serialize;

/// The modelled devices under one stack in one phase, over its valid blocks: totals of the phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModelledDevices {
    /// The phase.
    pub phase: String,
    /// The stack.
    pub stack: String,
    /// Reads and writes by the model's count.
    pub requests: Option<Figure>,
    /// The same at the nearest devices by the kernel's count.
    pub kernel_requests: Option<Figure>,
    /// Bytes read and written by the model's count.
    pub bytes: Option<Figure>,
    /// The same at the nearest devices by the kernel's count.
    pub kernel_bytes: Option<Figure>,
    /// Flushes that arrived.
    pub flushes: Option<Figure>,
    /// Movements of an arm to another track.
    pub seeks: Option<Figure>,
    /// Share of the reads that a cache inside the device served.
    pub cache_hit_share: Option<Figure>,
    /// Bytes that went from a write cache to where they stay.
    pub destaged_bytes: Option<Figure>,
    /// Bytes that flash devices moved inside to make room.
    pub moved_bytes: Option<Figure>,
    /// Seconds that requests were held back by a limit on rate or waited for a processor, summed over requests.
    pub held_back_s: Option<Figure>,
    /// Share of the time of an array's processors in which they worked; of the array where it is highest.
    pub processor_share: Option<Figure>,
    /// Bytes that lay unflushed when the phase ended.
    pub unflushed_bytes: Option<Figure>,
    /// Seconds of device time with at least one request, summed over devices.
    pub busy_s: Option<Figure>,
    /// Microseconds that an answer came after the model's time, on average.
    pub late_us_mean: Option<Figure>,
}

/// In the order of phases and stacks.
pub(crate) fn modelled(book: &Book) -> Vec<ModelledDevices> {
    let mut rows = Vec::new();
    for phase in book.phases.iter().map(|head| &head.name) {
        for stack in &book.stacks {
            let runs = book.valid(&stack.name, phase);
            if runs.iter().any(|run| run.get(Measure::ModelReads).is_some()) {
                rows.push(of(phase, &stack.name, &runs));
            }
        }
    }
    rows
}

fn of(phase: &str, stack: &str, runs: &[&Seen]) -> ModelledDevices {
    use Measure as M;
    let sum = |all: &[Measure]| runs.figure(|run| run.sum(all));
    // A device without a cache, an arm or a limit has nothing to say of it.
    let some = |all: &[Measure]| sum(all).filter(|figure| figure.high > 0.0);
    let seconds = |measure: Measure| {
        runs.figure(|run| run.get(measure).map(|ns| ns / 1e9))
            .filter(|figure| figure.high > 0.0)
    };
    let looked = |run: &Seen| run.sum(&[M::ModelCacheHits, M::ModelCacheMisses]).filter(|n| *n > 0.0);
    ModelledDevices {
        phase: phase.into(),
        stack: stack.into(),
        requests: sum(&[M::ModelReads, M::ModelWrites]),
        kernel_requests: sum(&[M::NearReads, M::NearWrites]),
        bytes: sum(&[M::ModelReadBytes, M::ModelWriteBytes]),
        kernel_bytes: sum(&[M::NearReadBytes, M::NearWriteBytes]),
        flushes: sum(&[M::ModelFlushes]),
        seeks: some(&[M::ModelSeeks]),
        cache_hit_share: runs.figure(|run| over(run.get(M::ModelCacheHits), looked(run))),
        destaged_bytes: some(&[M::ModelDestagedBytes]),
        moved_bytes: some(&[M::ModelMovedBytes]),
        held_back_s: seconds(M::ModelHeldNs),
        processor_share: runs.measured(M::ArrayProcessorShare),
        unflushed_bytes: sum(&[M::ModelUnflushedBytes]),
        busy_s: seconds(M::ModelBusyNs),
        // Without times of its own a device cannot be late.
        late_us_mean: runs
            .figure(|run| late_us(|measure| run.get(measure)))
            .filter(|_| runs.iter().any(|run| run.get(M::ModelServiceNs) > Some(0.0))),
    }
}

/// The mean over all that is answered: flushes are late too, and their delay is in the sum.
fn late_us(counted: impl Fn(Measure) -> Option<f64>) -> Option<f64> {
    use Measure as M;
    let others = [M::ModelWrites, M::ModelFlushes].map(|measure| counted(measure).unwrap_or(0.0));
    let answers = counted(M::ModelReads)? + others.iter().sum::<f64>();
    over(counted(M::ModelDelayNs).map(|ns| ns / 1e3), Some(answers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_delay_is_over_flushes_too() {
        let counted = |measure| match measure {
            Measure::ModelReads => Some(10.0),
            Measure::ModelWrites => Some(20.0),
            Measure::ModelFlushes => Some(70.0),
            Measure::ModelDelayNs => Some(1e6),
            _ => None,
        };
        assert_eq!(late_us(counted), Some(10.0));
    }
}
