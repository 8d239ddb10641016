//! What goes wrong with served LUNs on purpose: errors, wrong bytes, a LUN that is gone, one that is slow.
//!
//! Takes the faults that hold now, says for each request what becomes of it. Prevents: a stack whose behaviour on a
//! failing device is known from its documentation only.

use super::unflushed::SECTOR_BYTES;
use std::collections::BTreeSet;
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
    /// Reads of a range give other bytes than were written: each sector's 17th byte is inverted, until the sector is
    /// written again.
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
pub(super) struct Faults {
    hold: RwLock<Vec<LunFault>>,
    /// Sectors of corrupt ranges, by LUN and number, that were written since.
    rewritten: RwLock<BTreeSet<(u16, u64)>>,
}

impl Faults {
    pub(super) fn set(&self, faults: Vec<LunFault>) {
        let mut hold = self.hold.write().unwrap_or_else(PoisonError::into_inner);
        let mut rewritten = self.rewritten.write().unwrap_or_else(PoisonError::into_inner);
        // What goes on is as it was; what begins anew has a surface of its own.
        let goes_on = |lun: u16, at: u64| {
            let of = |fault: &&LunFault| fault.lun == lun && fault.wrong.spoils(at);
            hold.iter().filter(of).all(|fault| faults.contains(fault))
                && faults.iter().filter(of).all(|fault| hold.contains(fault))
        };
        rewritten.retain(|(lun, sector)| goes_on(*lun, sector * SECTOR_BYTES));
        *hold = faults;
    }

    /// A write has come: what it covers is whole again.
    pub(super) fn written(&self, lun: u16, offset: u64, len: u64) {
        let hold = self.hold.read().unwrap_or_else(PoisonError::into_inner);
        for fault in hold.iter().filter(|fault| fault.lun == lun) {
            let sectors = (offset..offset + len).step_by(SECTOR_BYTES as usize);
            let mut spoiled = sectors.filter(|at| fault.wrong.spoils(*at)).peekable();
            if spoiled.peek().is_some() {
                let mut rewritten = self.rewritten.write().unwrap_or_else(PoisonError::into_inner);
                rewritten.extend(spoiled.map(|at| (lun, at / SECTOR_BYTES)));
            }
        }
    }

    fn any(&self, lun: u16, holds: impl Fn(&Wrong) -> bool) -> bool {
        let faults = self.hold.read().unwrap_or_else(PoisonError::into_inner);
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
        let faults = self.hold.read().unwrap_or_else(PoisonError::into_inner);
        let corrupt = |fault: &&LunFault| fault.lun == lun && matches!(fault.wrong, Wrong::Corrupt(..));
        for fault in faults.iter().filter(corrupt) {
            let rewritten = self.rewritten.read().unwrap_or_else(PoisonError::into_inner);
            for (nth, sector) in read.chunks_mut(SECTOR_BYTES as usize).enumerate() {
                let at = offset + nth as u64 * SECTOR_BYTES;
                if fault.wrong.spoils(at)
                    && !rewritten.contains(&(lun, at / SECTOR_BYTES))
                    && let Some(byte) = sector.get_mut(WRONG_BYTE)
                {
                    *byte = !*byte;
                }
            }
        }
    }

    /// Nanoseconds that a request takes longer.
    pub(super) fn slower_ns(&self, lun: u16) -> u64 {
        let faults = self.hold.read().unwrap_or_else(PoisonError::into_inner);
        let of = |fault: &LunFault| match fault.wrong {
            Wrong::Slow(ns) if fault.lun == lun => ns,
            _ => 0,
        };
        faults.iter().map(of).sum()
    }
}

impl Wrong {
    /// Whether a sector at this offset reads as something else.
    fn spoils(self, at: u64) -> bool {
        matches!(self, Wrong::Corrupt(from, bytes) if touches(at, SECTOR_BYTES, from, bytes))
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

    #[test]
    fn what_is_written_again_is_whole_until_it_is_spoiled_anew() {
        let faults = Faults::default();
        let corrupt = LunFault {
            lun: 2,
            wrong: Wrong::Corrupt(512, 1024),
        };
        let slow = LunFault {
            lun: 2,
            wrong: Wrong::Slow(7),
        };
        let wrong = || -> Vec<usize> {
            let mut read = vec![0; 2048];
            faults.spoil(2, 0, &mut read);
            read.chunks(512)
                .map(|s| s.iter().filter(|b| **b != 0).count())
                .collect()
        };
        faults.set(vec![corrupt]);
        faults.written(1, 0, 2048);
        assert_eq!(wrong(), [0, 1, 1, 0]);
        faults.written(2, 0, 1024);
        assert_eq!(wrong(), [0, 0, 1, 0]);
        faults.set(vec![slow, corrupt]);
        assert_eq!(wrong(), [0, 0, 1, 0], "it goes on as it was");
        faults.set(vec![slow]);
        faults.set(vec![corrupt]);
        assert_eq!(wrong(), [0, 1, 1, 0]);
    }
}
