//! The sampler's open files, each read again and again from its beginning into one fixed buffer.
//!
//! Takes the names of devices, gives raw readings. Opening a file costs more than reading it, so none is opened twice;
//! each device has its own `stat` file, so the cost does not grow with the devices of the host.
//! Prevents: the sampler's allocations and path look-ups showing up in what it measures.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::host::{cpu, memory};
use crate::processes::{cgroup, own};
use crate::{CpuTimes, DeviceCounters, ObserveError, Root, Stall};

/// Room for the longest text that is read: `/proc/stat`'s first line and `/proc/meminfo` are far shorter.
const BUFFER_BYTES: usize = 16 * 1024;

/// Readings of one moment; counters since boot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) at_ns: u64,
    pub(crate) devices: Vec<Option<DeviceCounters>>,
    pub(crate) cpu: Option<CpuTimes>,
    pub(crate) own_cpu_ns: u64,
    pub(crate) page_cache_bytes: Option<u64>,
    pub(crate) dirty_bytes: Option<u64>,
    pub(crate) writeback_bytes: Option<u64>,
    pub(crate) available_bytes: Option<u64>,
    pub(crate) slab_bytes: Option<u64>,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) cgroup_bytes: Option<u64>,
    pub(crate) io_stall: Option<Stall>,
}

/// Files held open for sampling.
pub(crate) struct Sources {
    devices: Vec<File>,
    cpu: Option<File>,
    memory: Option<File>,
    statm: Option<File>,
    cgroup: Option<File>,
    io_stall: Option<File>,
    page_bytes: u64,
    tick_ns: u64,
    buffer: Box<[u8]>,
}

impl Sources {
    /// Opens everything; fails if a device is not there.
    pub(crate) fn open(root: &Root, devices: &[String]) -> Result<Self, ObserveError> {
        let device = |name: &String| {
            let path = root.block_dir(name).join("stat");
            File::open(&path).map_err(|_| ObserveError::NoDevice {
                device: name.clone(),
                path,
            })
        };
        let open = |path: &Path| File::open(path).ok();
        let cgroup = cgroup::own(root).and_then(|group| {
            open(&group.path.join("memory.current")).or_else(|| open(&group.path.join("memory.usage_in_bytes")))
        });
        Ok(Sources {
            devices: devices.iter().map(device).collect::<Result<_, _>>()?,
            cpu: open(&root.proc.join("stat")),
            memory: open(&root.proc.join("meminfo")),
            statm: open(&root.proc.join("self/statm")),
            cgroup,
            io_stall: open(&root.proc.join("pressure/io")),
            page_bytes: rustix::param::page_size() as u64,
            tick_ns: cpu::tick_ns(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        })
    }

    /// Reads everything once into `reading`, whose vector is used again.
    pub(crate) fn read(&mut self, reading: &mut Reading) {
        let Sources {
            devices,
            cpu,
            memory,
            statm,
            cgroup,
            io_stall,
            page_bytes,
            tick_ns,
            buffer,
        } = self;
        reading.at_ns = own::monotonic_ns();
        reading.devices.clear();
        for file in devices {
            reading.devices.push(text(file, buffer).and_then(DeviceCounters::parse));
        }
        reading.own_cpu_ns = own::cpu_ns();
        reading.cpu = cpu.as_ref().and_then(|file| {
            // Only the first line, of all CPUs together, is of interest; it stands in the first bytes.
            let (line, _) = text(file, &mut buffer[..512])?.split_once('\n')?;
            CpuTimes::parse_line(line, *tick_ns)
        });
        let now = memory
            .as_ref()
            .and_then(|file| Some(memory::Memory::parse(text(file, buffer)?)));
        reading.page_cache_bytes = now.and_then(|memory| memory.page_cache_bytes());
        reading.dirty_bytes = now.and_then(|memory| memory.dirty_bytes);
        reading.writeback_bytes = now.and_then(|memory| memory.writeback_bytes);
        reading.available_bytes = now.and_then(|memory| memory.available_bytes);
        reading.slab_bytes = now.and_then(|memory| memory.slab_bytes);
        reading.rss_bytes = statm.as_ref().and_then(|file| {
            let pages: u64 = text(file, buffer)?.split_ascii_whitespace().nth(1)?.parse().ok()?;
            pages.checked_mul(*page_bytes)
        });
        reading.cgroup_bytes = cgroup.as_ref().and_then(|file| text(file, buffer)?.trim().parse().ok());
        reading.io_stall = io_stall.as_ref().and_then(|file| Stall::parse(text(file, buffer)?));
    }
}

/// The text of a file from its beginning, as much as the buffer holds; `None` when it cannot be read.
fn text<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a str> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    std::str::from_utf8(&buffer[..filled]).ok()
}
