//! The instances that follow an owner, and what they have yet to be told.
//!
//! Takes extents that were published; gives notices in bytes for each instance. Prevents: an instance that is told less
//! than another, and memory without bound for one that fetches nothing.

use crate::sharing::notice::{LARGEST, Notice, Told};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One instance that follows.
pub(super) struct Link {
    /// It has no request in flight that is older than this epoch of the owner.
    pub(super) reached: AtomicU64,
    /// Notices that nobody has fetched yet.
    pub(super) queue: Mutex<Queue>,
    /// Number of the last notice that was fetched: nobody can have answered a later one.
    pub(super) fetched: AtomicU64,
    /// One found no room there: from that one on the instance can be told nothing, and answers nothing.
    pub(super) overrun: AtomicBool,
    /// Nobody fetches them any more, and yet the instance may be at work.
    pub(super) deaf: AtomicBool,
}

/// Notices in order.
#[derive(Default)]
pub(super) struct Queue {
    /// At most [`LARGEST`] of them.
    pub(super) bytes: Vec<u8>,
    /// Number of the last.
    pub(super) last: u64,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Telling {
    pub(super) links: Vec<Arc<Link>>,
    /// Extents that were published since the last epoch began.
    pub(super) changed: BTreeMap<(u32, u32), Told>,
}

impl Link {
    /// To one that reads the group's maps as they are in this epoch.
    pub(super) fn from(epoch: u64) -> Link {
        Link {
            reached: AtomicU64::new(epoch),
            queue: Mutex::default(),
            fetched: AtomicU64::new(epoch),
            overrun: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
        }
    }
}

pub(super) fn queue(link: &Link) -> MutexGuard<'_, Queue> {
    // Bytes are added whole, so a panic elsewhere does not spoil them.
    link.queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Telling {
    pub(crate) fn note(&mut self, told: Told) {
        if !self.links.is_empty() {
            self.changed.insert((told.file, told.extent), told);
        }
    }

    /// Tells everybody what changed up to this epoch.
    pub(crate) fn tell(&mut self, number: u64) {
        if self.links.is_empty() {
            self.changed.clear();
            return;
        }
        let extents = std::mem::take(&mut self.changed).into_values().collect();
        let bytes = Notice { number, extents }.encode();
        let is_told = |link: &&Arc<Link>| !link.deaf.load(Ordering::SeqCst) && !link.overrun.load(Ordering::SeqCst);
        for link in self.links.iter().filter(is_told) {
            let mut queue = queue(link);
            if queue.bytes.len() + bytes.len() > LARGEST {
                link.overrun.store(true, Ordering::SeqCst);
                queue.bytes = Vec::new();
                continue;
            }
            queue.bytes.extend_from_slice(&bytes);
            queue.last = number;
        }
    }

    pub(crate) fn followers(&self) -> usize {
        self.links.len()
    }

    /// Whether no request of theirs is in flight that is older than `epoch`.
    pub(crate) fn all_reached(&self, epoch: u64) -> bool {
        self.links
            .iter()
            .all(|link| link.reached.load(Ordering::SeqCst) >= epoch)
    }
}
