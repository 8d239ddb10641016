//! Devices of a stack that are counted together: the nearest, the lowest, the two of a copy, data and redo log, data
//! and temporary files.
//!
//! Takes what the devices did, gives the ledger's measures. Prevents: a device on both sides counted on both (then
//! neither is there), and a side without one of its devices taken for the whole.

use crate::host::devices::Devices;
use ledger::Measure as M;
use observers::{Delta, DeviceDelta};

/// Reads, bytes read, writes, bytes written, flushes and discards, as far as they are wanted.
pub(crate) type Wanted = [Option<M>; 6];

/// One of them, of one device; flushes and discards are absent in old kernels.
type Count = fn(&DeviceDelta) -> Option<u64>;

const COUNTS: [Count; 6] = [
    |d| Some(d.reads),
    |d| Some(d.read_bytes),
    |d| Some(d.writes),
    |d| Some(d.write_bytes),
    |d| d.flushes.map(|f| f.flushes),
    |d| d.discards.map(|f| f.discards),
];

/// Not counted by every device.
const FLUSHES: [M; 4] = [M::NearFlushes, M::LowFlushes, M::DataDeviceFlushes, M::LogDeviceFlushes];

/// Devices of a stack that are counted together.
pub(crate) struct Side {
    names: Vec<String>,
    wanted: Wanted,
}

impl Side {
    const NEAR: Wanted = [
        Some(M::NearReads),
        Some(M::NearReadBytes),
        Some(M::NearWrites),
        Some(M::NearWriteBytes),
        Some(M::NearFlushes),
        Some(M::NearDiscards),
    ];
    const LOW: Wanted = [
        Some(M::LowReads),
        Some(M::LowReadBytes),
        Some(M::LowWrites),
        Some(M::LowWriteBytes),
        Some(M::LowFlushes),
        Some(M::LowDiscards),
    ];
    pub(crate) const FROM: Wanted = [
        Some(M::CopyFromReads),
        Some(M::CopyFromReadBytes),
        Some(M::CopyFromWrites),
        Some(M::CopyFromWriteBytes),
        None,
        None,
    ];
    pub(crate) const TO: Wanted = [
        Some(M::CopyToReads),
        Some(M::CopyToReadBytes),
        Some(M::CopyToWrites),
        Some(M::CopyToWriteBytes),
        None,
        None,
    ];
    pub(crate) const DATA: Wanted = [
        Some(M::DataDeviceReads),
        Some(M::DataDeviceReadBytes),
        Some(M::DataDeviceWrites),
        Some(M::DataDeviceWriteBytes),
        Some(M::DataDeviceFlushes),
        None,
    ];
    pub(crate) const LOG: Wanted = [
        Some(M::LogDeviceReads),
        Some(M::LogDeviceReadBytes),
        Some(M::LogDeviceWrites),
        Some(M::LogDeviceWriteBytes),
        Some(M::LogDeviceFlushes),
        None,
    ];

    pub(crate) const TEMP: Wanted = [
        Some(M::TempDeviceReads),
        Some(M::TempDeviceReadBytes),
        Some(M::TempDeviceWrites),
        Some(M::TempDeviceWriteBytes),
        None,
        None,
    ];

    /// The nearest devices of a stack, and the lowest; none where they cannot be seen. In main memory there are none,
    /// and they moved nothing.
    pub(crate) fn levels(devices: &Devices) -> Vec<Side> {
        let levels = [(&devices.near, Side::NEAR), (&devices.low, Side::LOW)].into_iter();
        let there = levels.filter(|(names, _)| devices.in_memory || !devices.hidden && !names.is_empty());
        let side = |(names, wanted): (&Vec<String>, _)| Side {
            names: names.clone(),
            wanted,
        };
        there.map(side).collect()
    }

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
        let has_flushes = self.names.iter().all(|name| observers::counts_flushes(name));
        let measure = |(wanted, of): (Option<M>, Count)| {
            let wanted = wanted.filter(|wanted| has_flushes || !FLUSHES.contains(wanted))?;
            let counts: Option<Vec<u64>> = found.iter().map(|device| of(device)).collect();
            Some((wanted, counts?.iter().sum::<u64>() as f64))
        };
        self.wanted.into_iter().zip(COUNTS).filter_map(measure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(near: &[&str]) -> Devices {
        Devices {
            near: near.iter().map(|name| (*name).to_string()).collect(),
            nearest: Vec::new(),
            low: Vec::new(),
            notes: Vec::new(),
            hidden: false,
            in_memory: false,
        }
    }

    #[test]
    fn what_lies_in_memory_moved_nothing_and_what_is_hidden_says_nothing() {
        let mut place = devices(&[]);
        place.hidden = true;
        assert!(Side::levels(&place).is_empty(), "a network, or what hides its devices");
        place.in_memory = true;
        let levels = Side::levels(&place);
        assert!(
            levels.len() == 2 && levels.iter().all(|side| side.names.is_empty()),
            "sums over no device"
        );
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
