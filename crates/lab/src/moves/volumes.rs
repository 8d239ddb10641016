//! A volume of LVM or md whose LUNs change under its workers, beside a disk group that does the same.
//!
//! Takes a stack that stands and the run's journal; gives the change as a disk group gives its own. Prevents: a move of
//! LVM and one of a disk group that were measured in two ways, and a move that a tool reports and no device saw.

use crate::group::changing::{Change, Changes, HowFar, Meanwhile, Moved};
use crate::host::devices::Devices;
use observers::{Delta, Snapshot};
use plan::{Bytes, Rebalance};
use stacks::{Built, Journal};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The volume of a stack, to be changed while workers use it.
pub(crate) struct VolumeOf<'a> {
    pub(crate) built: &'a Built,
    pub(crate) journal: &'a Journal,
}

impl Changes for VolumeOf<'_> {
    fn power(&self, _: &Rebalance) -> Option<u32> {
        None
    }

    fn change<'a>(&'a self, asked: &'a Rebalance, _: u64) -> anyhow::Result<Box<Change<'a>>> {
        let exchange = stacks::exchange(self.built, self.journal, &asked.drop, &asked.add)?;
        let devices = Devices::under(&exchange.new_luns())?.near;
        let before = Snapshot::take(&devices)?;
        // Whoever has the volume open follows it: the kernel has one map for all.
        let change = move |meanwhile: &mut Meanwhile<'_>| {
            let began = Instant::now();
            let elapsed = || began.elapsed().as_nanos() as u64;
            let all = exchange.bytes();
            let mut moved = Moved {
                ideal_bytes: all,
                ..Moved::default()
            };
            let finished = exchange.work(&mut |bytes| {
                moved.course.push((elapsed(), bytes));
                moved.moved_bytes = bytes;
                (meanwhile.tell)(HowFar {
                    moved_bytes: bytes,
                    left_bytes: all.saturating_sub(bytes),
                    time_left_ns: None,
                });
                !meanwhile.stop.load(Ordering::Relaxed)
            })?;
            moved.elapsed_ns = elapsed();
            moved.unfinished = match finished {
                true => {
                    let delta = Snapshot::take(&devices).ok().map(|after| after.since(&before));
                    let written = delta.and_then(|delta| written(&devices, &before, &delta));
                    contradicted(moved.moved_bytes, written)
                }
                false => Some("the move was stopped half-way".to_string()),
            };
            Ok(moved)
        };
        Ok(Box::new(change))
    }
}

/// Bytes that these devices were sent; `None` where one is not seen or does not count. One that has ever counted is a
/// witness, also of nothing that came.
fn written(devices: &[String], before: &Snapshot, delta: &Delta) -> Option<u64> {
    let bytes = |name: &String| {
        let bytes = delta.devices.get(name)?.write_bytes;
        let has_counted = bytes > 0 || before.devices.get(name)?.completed() > 0;
        (has_counted && !delta.unaccounted.contains(name)).then_some(bytes)
    };
    let all: Option<u64> = devices.iter().map(bytes).sum();
    all.filter(|_| !devices.is_empty())
}

/// Less than this share of a move at its devices is no rounding of a last piece.
const WRITTEN_SHARE_MIN: f64 = 0.99;

/// What the tool says was moved, against what the new LUNs were sent: that, and what the workers wrote there meanwhile.
fn contradicted(moved: u64, written: Option<u64>) -> Option<String> {
    let written = written.filter(|bytes| (*bytes as f64) < moved as f64 * WRITTEN_SHARE_MIN)?;
    Some(format!(
        "the volume's tool says that it moved {}, and the new LUNs were sent {} only",
        Bytes(moved),
        Bytes(written)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use observers::{DeviceCounters, DeviceDelta};

    #[test]
    fn a_move_that_no_device_saw_is_contradicted() {
        let whole = 64 << 20;
        assert_eq!(contradicted(whole, None), None, "nobody counts");
        assert_eq!(contradicted(whole, Some(whole)), None);
        assert_eq!(contradicted(whole, Some(3 * whole)), None, "the workers write too");
        assert!(contradicted(whole, Some(0)).is_some(), "nothing came at all");
        assert_eq!(contradicted(0, Some(0)), None, "nothing was to move");
        let said = contradicted(whole, Some(whole / 2)).expect("half of it");
        assert!(said.contains("64MiB") && said.contains("32MiB"), "{said}");
    }

    #[test]
    fn a_device_that_has_never_counted_is_no_witness() {
        let mut before = Snapshot::take(&[]).expect("a snapshot");
        let mut delta = before.since(&before);
        let names = ["one", "two"].map(String::from);
        for (name, write_bytes) in names.iter().zip([5, 7]) {
            let counted = DeviceDelta {
                write_bytes,
                ..DeviceDelta::default()
            };
            delta.devices.insert(name.clone(), counted);
        }
        assert_eq!(written(&names, &before, &delta), Some(12));
        delta.devices.insert("two".to_string(), DeviceDelta::default());
        assert_eq!(written(&names, &before, &delta), None);
        let counters = DeviceCounters {
            reads: 1,
            ..DeviceCounters::default()
        };
        before.devices.insert("two".to_string(), counters);
        assert_eq!(written(&names, &before, &delta), Some(5), "it counts, and nothing came");
        delta.unaccounted.push("two".to_string());
        assert_eq!(written(&names, &before, &delta), None, "counting was switched off");
        assert_eq!(written(&["gone".to_string()], &before, &delta), None);
        assert_eq!(written(&[], &before, &delta), None);
    }
}
