//! The block layer's counters, from `/proc/diskstats` or `/sys/class/block/NAME/stat`.
//!
//! Takes their text, gives [`DeviceCounters`]. Discards exist since kernel 4.18 and flushes since 5.5: before, they are
//! `None`. Source: `Documentation/admin-guide/iostats.rst` of the kernel.
//! Prevents: counters of a kernel that does not count something read as "none happened".

use std::collections::BTreeMap;

use crate::{ObserveError, Root};

/// The unit of the kernel's sector counters, whatever the device's own block size.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Counters of one device since it appeared. Times are sums over requests, so they exceed the clock when requests
/// overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceCounters {
    /// Read requests completed, after merging.
    pub reads: u64,
    /// Reads merged into others before they reached the device.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds spent by all reads, wrapping at 2^32.
    pub read_ms: u64,
    /// Write requests completed, after merging.
    pub writes: u64,
    /// Writes merged into others.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Milliseconds spent by all writes, wrapping at 2^32.
    pub write_ms: u64,
    /// Requests in flight at this moment: not a counter.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight, sampled at clock ticks since kernel 5.0, wrapping at 2^32.
    pub busy_ms: u64,
    /// Milliseconds weighted by requests in flight, wrapping at 2^32.
    pub weighted_ms: u64,
    /// Discards, where the kernel counts them.
    pub discards: Option<Discards>,
    /// Cache flushes, where the kernel counts them.
    pub flushes: Option<Flushes>,
}

/// Counters of discards (trim, unmap).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Discards {
    /// Discard requests completed.
    pub discards: u64,
    /// Discards merged into others.
    pub discards_merged: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Milliseconds spent, wrapping at 2^32.
    pub discard_ms: u64,
}

/// Counters of cache flushes. Not kept for partitions: there they stay zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flushes {
    /// Flush requests completed.
    pub flushes: u64,
    /// Milliseconds spent, wrapping at 2^32.
    pub flush_ms: u64,
}

impl DeviceCounters {
    /// Reads and writes, discards and flushes completed: changes if anything was done.
    pub fn completed(&self) -> u64 {
        let discards = self.discards.map_or(0, |d| d.discards);
        let flushes = self.flushes.map_or(0, |f| f.flushes);
        self.reads
            .wrapping_add(self.writes)
            .wrapping_add(discards)
            .wrapping_add(flushes)
    }

    /// The counters of a `stat` file (a diskstats line without number and name); `None` when it is in no known form.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = [0u64; 17];
        let mut count = 0;
        for word in text.split_ascii_whitespace().take(fields.len()) {
            fields[count] = word.parse().ok()?;
            count += 1;
        }
        // 11 to kernel 4.17, 15 to 5.4, 17 since; more may come and are not ours.
        if count < 11 {
            return None;
        }
        let bytes = |sectors: u64| sectors.checked_mul(SECTOR_BYTES);
        let f = fields;
        Some(DeviceCounters {
            reads: f[0],
            reads_merged: f[1],
            read_bytes: bytes(f[2])?,
            read_ms: f[3],
            writes: f[4],
            writes_merged: f[5],
            write_bytes: bytes(f[6])?,
            write_ms: f[7],
            in_flight: f[8],
            busy_ms: f[9],
            weighted_ms: f[10],
            discards: match count >= 15 {
                true => Some(Discards {
                    discards: f[11],
                    discards_merged: f[12],
                    discard_bytes: bytes(f[13])?,
                    discard_ms: f[14],
                }),
                false => None,
            },
            flushes: (count >= 17).then_some(Flushes {
                flushes: f[15],
                flush_ms: f[16],
            }),
        })
    }
}

/// Name and counters of one line of `/proc/diskstats`.
pub(crate) fn parse_line(line: &str) -> Option<(&str, DeviceCounters)> {
    let mut rest = line;
    let mut name = "";
    for _ in 0..3 {
        rest = rest.trim_ascii_start();
        let end = rest.find(|c: char| c.is_ascii_whitespace())?;
        (name, rest) = rest.split_at(end);
    }
    Some((name, DeviceCounters::parse(rest)?))
}

/// Counters of the devices asked for; all must be there. One text for all, so that they belong to one moment.
pub(crate) fn read(root: &Root, devices: &[String]) -> Result<BTreeMap<String, DeviceCounters>, ObserveError> {
    let path = root.proc.join("diskstats");
    let mut found = BTreeMap::new();
    if devices.is_empty() {
        return Ok(found);
    }
    let text = root.proc_required("diskstats")?;
    for line in text.lines() {
        let Some(name) = line.split_ascii_whitespace().nth(2) else {
            continue;
        };
        if !devices.iter().any(|device| device == name) {
            continue;
        }
        match parse_line(line) {
            Some((name, counters)) => found.insert(name.to_owned(), counters),
            None => {
                return Err(ObserveError::Malformed {
                    path,
                    what: line.to_owned(),
                });
            }
        };
    }
    for device in devices {
        if !found.contains_key(device) {
            found.insert(device.clone(), read_one(root, device)?);
        }
    }
    Ok(found)
}

/// Counters of one device by its own file, which also exists for devices that `/proc/diskstats` leaves out: paths of a
/// multipath device, devices of size 0.
pub(crate) fn read_one(root: &Root, device: &str) -> Result<DeviceCounters, ObserveError> {
    let path = root.block_dir(device).join("stat");
    match crate::root::text(&path) {
        None => Err(ObserveError::NoDevice {
            device: device.to_owned(),
            path,
        }),
        Some(text) => DeviceCounters::parse(&text).ok_or(ObserveError::Malformed { path, what: text }),
    }
}
