//! Where the writers and the checkpoint of a worker stand.
//!
//! How they move on is in `writers` and in `checkpoint`. Prevents: a worker that cannot be read without what moves it
//! on.

use crate::engine::cache::NONE;
use crate::format::shape::{Settings, TornPages};
use targets::Nanos;

/// Where a slot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Free,
    /// Copied; waits for the log (and, in doublewrite, for its batch).
    Copied,
    /// On its way home.
    Home,
    /// At home, in doublewrite waiting for the flush.
    Arrived,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) stage: Stage,
    pub(crate) frame: u32,
    pub(crate) version: u32,
    /// Last change in the copy.
    pub(crate) lsn: u64,
    /// First change in the copy that home does not have.
    pub(crate) first_lsn: u64,
}

/// Where the doublewrite batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// Slots are free, or copied and waiting for the log.
    Gathering,
    Area,
    AreaFlush,
    Homes(u32),
    HomeFlush(u32),
}

/// The writers of one worker.
pub(crate) struct Writers {
    pub(crate) slots: Vec<Slot>,
    pub(crate) used: u32,
    pub(crate) batch: Batch,
    pub(crate) double: bool,
}

impl Writers {
    pub(crate) fn new(settings: &Settings) -> Writers {
        let free = Slot {
            stage: Stage::Free,
            frame: NONE,
            version: 0,
            lsn: 0,
            first_lsn: 0,
        };
        Writers {
            slots: vec![free; settings.writers as usize],
            used: 0,
            batch: Batch::Gathering,
            double: settings.torn_pages == TornPages::Double,
        }
    }

    pub(crate) fn frame_of(&self, slot: u32) -> u32 {
        self.slots[slot as usize].frame
    }

    /// Whether a copy under way holds a change below `before`.
    pub(crate) fn hold_before(&self, before: u64) -> bool {
        self.used > 0
            && self
                .slots
                .iter()
                .any(|s| s.stage != Stage::Free && s.first_lsn < before)
    }

    pub(crate) fn idle(&self) -> bool {
        self.used == 0
    }
}

/// Where a checkpoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Idle,
    Pages,
    Data(u32),
    Control,
    ControlFlush,
}

/// The checkpoint of one worker.
pub(crate) struct Checkpoint {
    pub(crate) step: Step,
    /// One was asked for.
    pub(crate) wanted: bool,
    /// None may start: recovery has not replayed everything yet.
    pub(crate) held: bool,
    pub(crate) position: u64,
    pub(crate) previous: u32,
    /// Of the control block last written.
    pub(crate) sequence: u64,
    pub(crate) began: Nanos,
}

impl Checkpoint {
    pub(crate) fn new(now: Nanos) -> Checkpoint {
        Checkpoint {
            step: Step::Idle,
            wanted: false,
            held: false,
            position: 0,
            previous: 0,
            sequence: 0,
            began: now,
        }
    }

    /// Changes below this must be written for the checkpoint under way.
    pub(crate) fn pages_before(&self) -> Option<u64> {
        (self.step == Step::Pages).then_some(self.position)
    }

    pub(crate) fn words(&self) -> String {
        format!("checkpoint {:?} at {}", self.step, self.position)
    }
}
