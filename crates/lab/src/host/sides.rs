//! Devices of a stack that are counted apart: source and target of a copy, data and redo log.
//!
//! Takes what the devices did, gives the ledger's measures. Prevents: a device on both sides counted on both (then
//! neither is there), and a side without one of its devices taken for the whole.

use crate::host::devices::Devices;
use ledger::Measure as M;
use observers::{Delta, DeviceDelta};

/// Reads, bytes read, writes, bytes written, and flushes where they are wanted.
pub(crate) type Wanted = [Option<M>; 5];

/// One of them, of one device; flushes are absent in old kernels.
type Count = fn(&DeviceDelta) -> Option<u64>;

/// The nearest devices of one side.
pub(crate) struct Side {
    names: Vec<String>,
    wanted: Wanted,
}

impl Side {
    pub(crate) const FROM: Wanted = [
        Some(M::CopyFromReads),
        Some(M::CopyFromReadBytes),
        Some(M::CopyFromWrites),
        Some(M::CopyFromWriteBytes),
        None,
    ];
    pub(crate) const TO: Wanted = [
        Some(M::CopyToReads),
        Some(M::CopyToReadBytes),
        Some(M::CopyToWrites),
        Some(M::CopyToWriteBytes),
        None,
    ];
    pub(crate) const DATA: Wanted = [
        Some(M::DataDeviceReads),
        Some(M::DataDeviceReadBytes),
        Some(M::DataDeviceWrites),
        Some(M::DataDeviceWriteBytes),
        Some(M::DataDeviceFlushes),
    ];
    pub(crate) const LOG: Wanted = [
        Some(M::LogDeviceReads),
        Some(M::LogDeviceReadBytes),
        Some(M::LogDeviceWrites),
        Some(M::LogDeviceWriteBytes),
        Some(M::LogDeviceFlushes),
    ];

    /// Two sides; none where they share a device, or where the devices of one cannot be seen.
    pub(crate) fn both(one: (&Devices, Wanted), other: (&Devices, Wanted)) -> Vec<Side> {
        let ((a, _), (b, _)) = (one, other);
        let seen = |devices: &Devices| !devices.near.is_empty() && !devices.hidden;
        if !seen(a) || !seen(b) || a.near.iter().any(|near| b.near.contains(near)) {
            return Vec::new();
        }
        let side = |(devices, wanted): (&Devices, Wanted)| Side {
            names: devices.near.clone(),
            wanted,
        };
        vec![side(one), side(other)]
    }

    /// What its devices did; nothing when one of them is not counted.
    pub(crate) fn of(&self, delta: &Delta) -> Vec<(M, f64)> {
        let found: Vec<&DeviceDelta> = self.names.iter().filter_map(|name| delta.devices.get(name)).collect();
        if found.len() < self.names.len() || self.names.iter().any(|name| delta.unaccounted.contains(name)) {
            return Vec::new();
        }
        let of: [Count; 5] = [
            |d| Some(d.reads),
            |d| Some(d.read_bytes),
            |d| Some(d.writes),
            |d| Some(d.write_bytes),
            |d| d.flushes.map(|f| f.flushes),
        ];
        let measure = |(wanted, of): (Option<M>, Count)| {
            let counts: Option<Vec<u64>> = found.iter().map(|device| of(device)).collect();
            Some((wanted?, counts?.iter().sum::<u64>() as f64))
        };
        self.wanted.into_iter().zip(of).filter_map(measure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(near: &[&str]) -> Devices {
        Devices {
            near: near.iter().map(|name| (*name).to_string()).collect(),
            low: Vec::new(),
            notes: Vec::new(),
            hidden: false,
        }
    }

    #[test]
    fn sides_that_share_a_device_are_not_told_apart() {
        let both = |a: &Devices, b: &Devices| Side::both((a, Side::DATA), (b, Side::LOG)).len();
        assert_eq!(both(&devices(&["loop0", "loop1"]), &devices(&["loop2"])), 2);
        assert_eq!(both(&devices(&["loop0", "loop1"]), &devices(&["loop1"])), 0);
        assert_eq!(both(&devices(&["loop0"]), &devices(&[])), 0);
        let mut hidden = devices(&["loop3"]);
        hidden.hidden = true;
        assert_eq!(both(&devices(&["loop0"]), &hidden), 0);
    }
}
