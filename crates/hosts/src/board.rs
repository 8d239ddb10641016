//! What the threads of one rank tell each other: signs of life, and whether all end.
//!
//! The thread that speaks MPI writes, the watchdog reads. Prevents: a watchdog that needs MPI, which may hang.

use crate::error::Cause;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a rank is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It joins and works: it must be heard, and hear the others.
    Working,
    /// All are done, and it leaves MPI.
    Parting,
    /// It has left: nothing is watched.
    Over,
}

/// The state of one rank.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) rank: u32,
    /// Turns of the thread that speaks MPI.
    turns: AtomicU64,
    /// Ranks that this one listens to, and their signs of life.
    heard: Vec<(u32, AtomicU64)>,
    stage: AtomicU8,
    ending: Mutex<Option<Cause>>,
    told: AtomicBool,
}

impl Board {
    /// Rank 0 listens to all, each other one to rank 0.
    pub(crate) fn new(rank: u32, size: u32) -> Board {
        let peers = if rank == 0 { 1..size } else { 0..1 };
        Board {
            rank,
            turns: AtomicU64::new(0),
            heard: peers.map(|peer| (peer, AtomicU64::new(0))).collect(),
            stage: AtomicU8::new(0),
            ending: Mutex::new(None),
            told: AtomicBool::new(false),
        }
    }

    /// Ranks that it speaks with.
    pub(crate) fn peers(&self) -> impl Iterator<Item = u32> + '_ {
        self.heard.iter().map(|(peer, _)| *peer)
    }

    pub(crate) fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// A sign of life of this rank.
    pub(crate) fn hear(&self, rank: u32) {
        if let Some((_, signs)) = self.heard.iter().find(|(peer, _)| *peer == rank) {
            signs.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Each peer with its signs of life so far.
    pub(crate) fn signs(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let signs = self.heard.iter();
        signs.map(|(peer, signs)| (*peer, signs.load(Ordering::Relaxed)))
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            0 => Stage::Working,
            1 => Stage::Parting,
            _ => Stage::Over,
        }
    }

    pub(crate) fn set_stage(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
    }

    /// All end: the first reason counts, and is given. `None`: this rank has left before.
    pub(crate) fn end(&self, cause: Cause) -> Option<Cause> {
        let mut ending = self.locked();
        (self.stage() != Stage::Over).then(|| *ending.get_or_insert(cause))
    }

    /// This rank leaves, unless all end already: then the watchdog ends the process.
    pub(crate) fn leave(&self) -> Result<(), Cause> {
        match *self.locked() {
            Some(cause) => Err(cause),
            None => {
                self.set_stage(Stage::Over);
                Ok(())
            }
        }
    }

    pub(crate) fn ending(&self) -> Option<Cause> {
        *self.locked()
    }

    /// The others know that all end.
    pub(crate) fn set_told(&self) {
        self.told.store(true, Ordering::Release);
    }

    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Acquire)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Option<Cause>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
