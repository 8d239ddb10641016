//! A volume of LVM or md whose LUNs change under its workers, beside a disk group that does the same.
//!
//! Takes a stack that stands and the run's journal; gives the change as a disk group gives its own. Prevents: a move of
//! LVM and one of a disk group that were measured in two ways.

use crate::group::changing::{Change, Changes, HowFar, Meanwhile, Moved};
use plan::Rebalance;
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
            moved.unfinished = (!finished).then(|| "the move was stopped half-way".to_string());
            Ok(moved)
        };
        Ok(Box::new(change))
    }
}
