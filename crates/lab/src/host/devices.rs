//! Which block devices belong to a stack, as the kernel shows them.

use observers::{Backing, Lineage};
use std::path::PathBuf;

/// Which devices belong to a stack.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    /// The nearest devices that count: loop devices, or the disk itself.
    pub(crate) near: Vec<String>,
    /// The nearest devices. Of these a partition may not count.
    pub(super) nearest: Vec<String>,
    /// The lowest that can be seen.
    pub(crate) low: Vec<String>,
    /// Said once in the report.
    pub(crate) notes: Vec<String>,
    /// No device can be seen: memory, a network, something that hides it.
    pub(crate) hidden: bool,
    /// All places lie in main memory and on no device, not even a RAM disk: what is asked there meets none.
    pub(crate) in_memory: bool,
}

impl Devices {
    /// Of all places of a stack together.
    pub(crate) fn under(places: &[PathBuf]) -> anyhow::Result<Devices> {
        let mut devices = Devices {
            near: Vec::new(),
            nearest: Vec::new(),
            low: Vec::new(),
            notes: Vec::new(),
            hidden: false,
            in_memory: !places.is_empty(),
        };
        for place in places {
            let lineage: Lineage = observers::lineage(place)?;
            devices.in_memory &= is_in_memory(&lineage);
            devices.hidden |= lineage.backing != Backing::Devices;
            for name in lineage.levels.first().iter().flat_map(|level| &level.devices) {
                devices.add_nearest(name);
            }
            devices.low.extend(lineage.lowest.iter().cloned());
            devices.notes.extend(lineage.notes);
        }
        for list in [
            &mut devices.near,
            &mut devices.nearest,
            &mut devices.low,
            &mut devices.notes,
        ] {
            list.sort();
            list.dedup();
        }
        Ok(devices)
    }

    fn add_nearest(&mut self, name: &String) {
        self.nearest.push(name.clone());
        let disk = observers::counted_at(name);
        self.notes.extend(
            disk.iter().map(|disk| {
                format!("{name} is counted at {disk}: what other partitions of {disk} do is in its figures")
            }),
        );
        self.near.push(disk.unwrap_or_else(|| name.clone()));
    }

    /// Counts the lowest devices of these LUNs too.
    pub(crate) fn also_below(&mut self, luns: &[PathBuf]) -> anyhow::Result<()> {
        self.low.extend(Devices::under(luns)?.low);
        self.low.sort();
        self.low.dedup();
        Ok(())
    }

    /// Bytes that the nearest devices hold; `None` where one does not tell.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let sectors = self.nearest.iter().map(|name| {
            let told = std::fs::read_to_string(format!("/sys/class/block/{name}/size")).ok()?;
            told.trim().parse::<u64>().ok()
        });
        let sectors: Vec<u64> = sectors.collect::<Option<Vec<u64>>>()?;
        (!self.hidden && !sectors.is_empty()).then(|| sectors.iter().sum::<u64>() * 512)
    }

    pub(crate) fn all(&self) -> Vec<String> {
        let mut all: Vec<String> = self.near.iter().chain(&self.low).cloned().collect();
        all.sort();
        all.dedup();
        all
    }
}

/// A RAM disk, and a loop device on a file in memory, are devices that count; what they move meets no storage.
fn is_in_memory(lineage: &Lineage) -> bool {
    lineage.backing == Backing::Memory && lineage.levels.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use observers::Level;

    #[test]
    fn a_device_in_memory_is_no_storage_and_is_not_taken_for_none() {
        let lineage = |levels: Vec<Level>, backing| Lineage {
            path: PathBuf::from("/somewhere"),
            file_system: None,
            levels,
            lowest: Vec::new(),
            backing,
            notes: Vec::new(),
        };
        let zram = || {
            vec![Level {
                devices: vec!["zram0".to_string()],
            }]
        };
        assert!(is_in_memory(&lineage(Vec::new(), Backing::Memory)), "tmpfs");
        assert!(!is_in_memory(&lineage(zram(), Backing::Memory)), "a RAM disk");
        assert!(!is_in_memory(&lineage(Vec::new(), Backing::Network)), "NFS");
    }
}
