//! What goes wrong with served LUNs on purpose: errors, wrong bytes, a LUN that is gone, one that is slow.
//!
//! Takes the faults that hold now, says for each request what becomes of it. Prevents: a stack whose behaviour on a failing device is
//! known from its documentation only.

use super::unflushed::SECTOR_BYTES;
use std::sync::{PoisonError, RwLock};

/// One thing that goes wrong as long as it is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LunFault {
    /// LUN of the set.
    pub lun: u16,
    /// What.
    pub wrong: Wrong,
}

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// Reads and writes that touch a range, offset and length in bytes, fail with EIO.
    Error(u64, u64),
    /// Reads of a range give other bytes than were written: each sector's 17th byte is inverted.
    Corrupt(u64, u64),
    /// Every request fails with EIO.
    Vanished,
    /// Every request takes so many nanoseconds longer.
    Slow(u64),
}

/// Byte of a sector that a corrupt read inverts.
const WRONG_BYTE: usize = 16;

/// The faults that hold.
#[derive(Default)]
pub(super) struct Faults(RwLock<Vec<LunFault>>);

impl Faults {
    pub(super) fn set(&self, faults: Vec<LunFault>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = faults;
    }

    fn any(&self, lun: u16, holds: impl Fn(&Wrong) -> bool) -> bool {
        let faults = self.0.read().unwrap_or_else(PoisonError::into_inner);
        faults.iter().any(|fault| fault.lun == lun && holds(&fault.wrong))
    }

    /// Whether a request fails; a flush touches no range.
    pub(super) fn fails(&self, lun: u16, offset: u64, len: u64) -> bool {
        self.any(lun, |wrong| match *wrong {
            Wrong::Vanished => true,
            Wrong::Error(from, bytes) => touches(offset, len, from, bytes),
            Wrong::Corrupt(..) | Wrong::Slow(_) => false,
        })
    }

    /// Spoils what was read.
    pub(super) fn spoil(&self, lun: u16, offset: u64, read: &mut [u8]) {
        let faults = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for fault in faults.iter().filter(|fault| fault.lun == lun) {
            let Wrong::Corrupt(from, bytes) = fault.wrong else {
                continue;
            };
            for (nth, sector) in read.chunks_mut(SECTOR_BYTES as usize).enumerate() {
                let at = offset + nth as u64 * SECTOR_BYTES;
                if touches(at, SECTOR_BYTES, from, bytes)
                    && let Some(byte) = sector.get_mut(WRONG_BYTE)
                {
                    *byte = !*byte;
                }
            }
        }
    }

    /// Nanoseconds that a request takes longer.
    pub(super) fn slower_ns(&self, lun: u16) -> u64 {
        let faults = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let of = |fault: &LunFault| match fault.wrong {
            Wrong::Slow(ns) if fault.lun == lun => ns,
            _ => 0,
        };
        faults.iter().map(of).sum()
    }
}

fn touches(offset: u64, len: u64, from: u64, bytes: u64) -> bool {
    len > 0 && offset < from.saturating_add(bytes) && from < offset + len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_holds_for_its_lun_and_range_only() {
        let faults = Faults::default();
        let fault = |lun, wrong| LunFault { lun, wrong };
        faults.set(vec![
            fault(0, Wrong::Error(4096, 512)),
            fault(1, Wrong::Vanished),
            fault(2, Wrong::Corrupt(512, 512)),
            fault(2, Wrong::Slow(7)),
        ]);
        assert!(faults.fails(0, 0, 8192) && faults.fails(0, 4600, 1) && !faults.fails(0, 4608, 512));
        assert!(!faults.fails(0, 0, 0), "a flush of a LUN with a bad range");
        assert!(faults.fails(1, 0, 0) && !faults.fails(2, 0, 4096));
        assert_eq!((faults.slower_ns(2), faults.slower_ns(0)), (7, 0));
        let mut read = vec![0; 2048];
        faults.spoil(2, 0, &mut read);
        let wrong: Vec<usize> = (0..2048).filter(|at| read[*at] != 0).collect();
        assert_eq!(wrong, [512 + WRONG_BYTE]);
        faults.set(Vec::new());
        assert!(!faults.fails(1, 0, 0));
    }
}
