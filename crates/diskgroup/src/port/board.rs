//! What the owner of the metadata and the ports of all workers share: maps, epochs, and who is where.
//!
//! The owner changes entries of the maps in place, then raises the *epoch*. A port takes note of the epoch when it
//! waits, and says so on its *seat* as soon as all requests are done that it sent before. So when every seat has
//! reached an epoch (or is empty: no request in flight), no I/O is under way that acts on what the maps said earlier.
//! That is all the exclusion there is: an extent is moved by marking it held, raising the epoch, waiting for the seats,
//! copying, and publishing its new place; its old place is free for others when the seats have reached the next epoch.
//! Prevents: a lock in the data path.

use crate::layout::header::DISKS_MAX;
use crate::port::map::FileMap;
use crate::sharing::links::Telling;
use crate::sharing::notice::Told;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A seat with nobody on it.
const EMPTY: u64 = u64::MAX;

/// One port's place.
pub(crate) struct Seat {
    /// All requests of the port were sent in this epoch or later.
    reached: AtomicU64,
}

impl Seat {
    /// The port's first request of a row is about to go, by the maps of `epoch`.
    #[inline]
    pub(crate) fn sit(&self, epoch: u64) {
        self.reached.store(epoch, Ordering::SeqCst);
    }

    /// The port has no request in flight that is older than `epoch`.
    #[inline]
    pub(crate) fn reach(&self, epoch: u64) {
        self.reached.store(epoch, Ordering::Release);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reached.load(Ordering::SeqCst) == EMPTY
    }

    /// The port has nothing in flight.
    #[inline]
    pub(crate) fn leave(&self) {
        self.reached.store(EMPTY, Ordering::Release);
    }
}

/// What all share.
pub(crate) struct Board {
    epoch: AtomicU64,
    seats: Mutex<Vec<Arc<Seat>>>,
    maps: Mutex<BTreeMap<u32, Arc<FileMap>>>,
    /// Disks that are offline, as bits: a write to one of them does not count even if it went well.
    pub(crate) offline: AtomicU64,
    /// Flushes that failed on any disk so far: the count of the last of them is kept per disk.
    faults: AtomicU64,
    /// Count of the last failed flush of each disk. What the disk had taken and not made durable until then is lost for
    /// good, whatever a later flush says.
    flush_faults: Vec<AtomicU64>,
    /// Count up to which the journal says, per disk, what may be lost. Behind the one above: the disk is *doubtful*.
    recorded: Vec<AtomicU64>,
    /// Flushes of ports under way, per disk. One of a port that went before it ended counts for ever: nobody hears how
    /// it ends.
    pub(crate) flushing: Vec<AtomicU32>,
    /// File of the ports below, per disk.
    pub(crate) slots: Vec<AtomicU32>,
    /// Reads that failed since a repair last went well, per disk.
    pub(crate) read_faults: Vec<AtomicU32>,
    /// Units (file, unit) of which a copy was found bad.
    suspects: Mutex<BTreeSet<(u32, u64)>>,
    /// Reads served from another copy after the first had failed.
    pub(crate) rescued: AtomicU64,
    /// Other instances that follow what is published here.
    telling: Mutex<Telling>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole at every step, so a panic elsewhere does not spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    pub(crate) fn new() -> Board {
        Board {
            epoch: AtomicU64::new(1),
            seats: Mutex::default(),
            maps: Mutex::default(),
            offline: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            flush_faults: (0..DISKS_MAX).map(|_| AtomicU64::new(0)).collect(),
            recorded: (0..DISKS_MAX).map(|_| AtomicU64::new(0)).collect(),
            flushing: (0..DISKS_MAX).map(|_| AtomicU32::new(0)).collect(),
            slots: (0..DISKS_MAX).map(|_| AtomicU32::new(u32::MAX)).collect(),
            read_faults: (0..DISKS_MAX).map(|_| AtomicU32::new(0)).collect(),
            suspects: Mutex::default(),
            rescued: AtomicU64::new(0),
            telling: Mutex::default(),
        }
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        // A plain load on most processors; the order it needs is with the store of `sit`.
        self.epoch.load(Ordering::SeqCst)
    }

    /// Makes what was published before known, here and to other instances; gives the new epoch.
    pub(crate) fn advance(&self) -> u64 {
        let mut telling = self.telling();
        let epoch = self.epoch.fetch_add(1, Ordering::SeqCst) + 1;
        telling.tell(epoch);
        epoch
    }

    pub(crate) fn telling(&self) -> MutexGuard<'_, Telling> {
        held(&self.telling)
    }

    /// An extent was published that lies or stands otherwise than before.
    pub(crate) fn note(&self, told: Told) {
        self.telling().note(told);
    }

    /// Other instances that have the group open.
    pub(crate) fn followers(&self) -> usize {
        self.telling().followers()
    }

    /// Whether no request is in flight that is older than `epoch`, of a port here or of another instance.
    pub(crate) fn all_reached(&self, epoch: u64) -> bool {
        self.own_reached(epoch) && self.telling().all_reached(epoch)
    }

    /// Whether no request of a port here is in flight that is older than `epoch`.
    pub(crate) fn own_reached(&self, epoch: u64) -> bool {
        let seats = held(&self.seats);
        seats.iter().all(|seat| seat.reached.load(Ordering::SeqCst) >= epoch)
    }

    pub(crate) fn seat(&self) -> Arc<Seat> {
        let seat = Arc::new(Seat {
            reached: AtomicU64::new(EMPTY),
        });
        held(&self.seats).push(seat.clone());
        seat
    }

    pub(crate) fn stand_up(&self, seat: &Arc<Seat>) {
        held(&self.seats).retain(|s| !Arc::ptr_eq(s, seat));
    }

    /// Ports that are open.
    pub(crate) fn ports(&self) -> usize {
        held(&self.seats).len()
    }

    pub(crate) fn map(&self, file: u32) -> Option<Arc<FileMap>> {
        held(&self.maps).get(&file).cloned()
    }

    pub(crate) fn set_map(&self, map: Arc<FileMap>) {
        held(&self.maps).insert(map.number, map);
    }

    pub(crate) fn forget_map(&self, file: u32) {
        held(&self.maps).remove(&file);
    }

    pub(crate) fn suspect(&self, file: u32, unit: u64) {
        held(&self.suspects).insert((file, unit));
    }

    pub(crate) fn suspects(&self) -> BTreeSet<(u32, u64)> {
        held(&self.suspects).clone()
    }

    pub(crate) fn take_suspect(&self) -> Option<(u32, u64)> {
        held(&self.suspects).pop_first()
    }

    pub(crate) fn is_offline(&self, disk: u16) -> bool {
        self.offline.load(Ordering::SeqCst) >> disk & 1 == 1
    }

    /// Failed flushes so far: who writes keeps it, and asks with [`Board::lost_since`] when the write or its flush is
    /// done.
    #[inline]
    pub(crate) fn faults(&self) -> u64 {
        self.faults.load(Ordering::SeqCst)
    }

    /// A flush of a disk failed, or the disk is about to go: it may lack what it had taken, and nothing says so yet.
    pub(crate) fn doubt(&self, disk: u16) {
        let count = self.faults.fetch_add(1, Ordering::SeqCst) + 1;
        self.flush_faults[usize::from(disk)].fetch_max(count, Ordering::SeqCst);
    }

    /// Whether a flush of the disk has failed since there were so many: what was written since then does not count
    /// there.
    pub(crate) fn lost_since(&self, disk: u16, faults: u64) -> bool {
        self.flush_faults[usize::from(disk)].load(Ordering::SeqCst) > faults
    }

    /// Whether the disk may lack something that the journal does not say: no flush counts there.
    pub(crate) fn is_doubtful(&self, disk: u16) -> bool {
        let disk = usize::from(disk);
        self.flush_faults[disk].load(Ordering::SeqCst) > self.recorded[disk].load(Ordering::SeqCst)
    }

    /// What the disk may lack because of the first so many failed flushes is recorded.
    pub(crate) fn recorded(&self, disk: u16, faults: u64) {
        self.recorded[usize::from(disk)].fetch_max(faults, Ordering::SeqCst);
    }
}
