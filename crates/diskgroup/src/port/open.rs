//! What a port of a group holds: the files as it has them open, and what must be given back when it goes.
//!
//! Prevents: a file that counts as open for ever, and a seat that nobody sits on.

use crate::error::GroupError;
use crate::metadata::core::Core;
use crate::port::board::{Board, Seat};
use crate::port::map::FileMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use targets::{FileId, Port, TargetError};

/// A file as the port has it open.
pub(crate) struct Open {
    pub(crate) reads: Arc<[AtomicU64]>,
    /// Reads up to here, inside one unit, go straight: the size of a file with one copy in coarse stripes, otherwise 0.
    pub(crate) straight_to: u64,
    /// Reads up to here, inside one unit, need a slot, in case another copy must be read: the size of a mirrored file
    /// in coarse stripes, otherwise 0.
    pub(crate) single_to: u64,
    pub(crate) size: u64,
    pub(crate) map: Arc<FileMap>,
}

impl Open {
    /// `slotted`: no read goes straight.
    pub(crate) fn new(map: Arc<FileMap>, slotted: bool) -> Open {
        let size = map.size.load(Ordering::Acquire);
        let up_to = |on: bool| if on && !slotted { size } else { 0 };
        Open {
            reads: map.reads.clone(),
            straight_to: up_to(map.copies == 1 && !map.fine),
            single_to: up_to(map.copies > 1 && !map.fine),
            size,
            map,
        }
    }
}

/// Files of the port below that follow the group's own.
#[derive(Default)]
pub(crate) struct Beside {
    pub(crate) files: Vec<FileId>,
    /// Their requests pass with their own tokens.
    pub(crate) through: bool,
    /// Such requests that are in flight, or wait for room below. They act on no map, so no epoch waits for them.
    pub(crate) passing: usize,
}

impl Beside {
    pub(crate) fn slotted(files: &[FileId]) -> Beside {
        Beside {
            files: files.to_vec(),
            ..Beside::default()
        }
    }

    pub(crate) fn through(files: &[FileId]) -> Beside {
        Beside {
            through: true,
            ..Beside::slotted(files)
        }
    }
}

/// What must be undone when the port goes.
pub(crate) struct Ticket<P: Port> {
    pub(crate) core: Arc<Mutex<Core<P>>>,
    pub(crate) board: Arc<Board>,
    pub(crate) seat: Arc<Seat>,
    pub(crate) files: Vec<u32>,
}

impl<P: Port> Drop for Ticket<P> {
    fn drop(&mut self) {
        self.board.stand_up(&self.seat);
        let mut core = locked(&self.core);
        for number in &self.files {
            if let Some(file) = core.files.get_mut(number) {
                file.opens -= 1;
                file.unsure |= !self.seat.is_empty();
            }
        }
    }
}

pub(crate) fn locked<P>(core: &Mutex<Core<P>>) -> MutexGuard<'_, Core<P>> {
    // A panic inside leaves the core dead or whole; both are seen by the next who asks.
    core.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn layer(error: GroupError) -> TargetError {
    match error {
        GroupError::Target(error) => error,
        other => TargetError::Layer(Box::new(other)),
    }
}
