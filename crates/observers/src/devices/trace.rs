//! Counting a device's I/O by the kernel's block tracepoints: a witness independent of the disk statistics.
//!
//! Takes a whole disk, gives requests and sectors by direction, at two points: where I/O is handed to the block layer
//! (`block_bio_queue`) and where requests go to the driver (`block_rq_issue`). Needs root and a mounted tracefs. The
//! one writer of this room, beside `syncfs`: it works in a tracing instance of its own (`instances/assay-PID-N`), so
//! nobody else's tracing is disturbed, and removes it when dropped. (Histogram triggers would count inside the kernel,
//! but many kernels are built without them; a ring buffer is everywhere tracefs is.) Prevents: events that the ring
//! buffer had to drop being left out of the counts in silence; they are counted as lost.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::devices::topology;
use crate::devices::trace_lines::{BlockEvent, TraceCounts, parse_line};
use crate::root::{text, value};
use crate::{ObserveError, Root};

/// Room for events, KiB per CPU: some hundred thousand.
const BUFFER_KIB: u32 = 32 * 1024;
/// Instances of one process need different names.
static INSTANCES: AtomicU32 = AtomicU32::new(0);

/// A running count of one disk's I/O.
pub struct BlockTrace {
    instance: PathBuf,
    /// `None` only while dropping: the kernel does not remove an instance whose pipe is open.
    pipe: Option<File>,
    counts: BTreeMap<BlockEvent, TraceCounts>,
    rest: Vec<u8>,
    lost: u64,
}

impl BlockTrace {
    /// Starts counting a whole disk's I/O on the running kernel.
    pub fn start(device: &str) -> Result<Self, ObserveError> {
        let root = Root::live();
        let dir = root.block_dir(device);
        if let Some(disk) = topology::disk_of(&root, device) {
            return Err(ObserveError::TracePartition {
                device: device.to_owned(),
                disk,
            });
        }
        let numbers = value(&dir.join("dev")).and_then(|text| {
            let (major, minor) = text.split_once(':')?;
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        });
        let Some((major, minor)) = numbers else {
            return Err(ObserveError::NoDevice {
                device: device.to_owned(),
                path: dir,
            });
        };
        let tracing = root.sys.join("kernel/tracing");
        if !tracing.join("instances").is_dir() {
            return Err(ObserveError::TracingAbsent { path: tracing });
        }
        let number = INSTANCES.fetch_add(1, Ordering::Relaxed);
        let instance = tracing.join(format!("instances/assay-{}-{number}", std::process::id()));
        std::fs::create_dir(&instance).map_err(|source| ObserveError::Trace {
            path: instance.clone(),
            source,
        })?;
        // From here on the instance must go, whatever fails.
        let pipe = arm(&instance, (major << 20) | minor).inspect_err(|_| remove(&instance))?;
        Ok(BlockTrace {
            instance,
            pipe: Some(pipe),
            counts: BTreeMap::new(),
            rest: Vec::new(),
            lost: 0,
        })
    }

    /// Counts until now at one point. Call it often enough that the ring buffer (32 MiB a CPU) does not run over.
    pub fn counts(&mut self, event: BlockEvent) -> Result<TraceCounts, ObserveError> {
        self.drain()?;
        Ok(self.counts.get(&event).copied().unwrap_or_default())
    }

    /// Events that the ring buffer had to drop since the start: over 0, the counts are too low.
    pub fn lost(&mut self) -> Result<u64, ObserveError> {
        self.drain()?;
        Ok(self.lost)
    }

    fn drain(&mut self) -> Result<(), ObserveError> {
        let mut buffer = [0u8; 64 * 1024];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.take(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(ObserveError::Trace {
                        path: self.instance.join("trace_pipe"),
                        source,
                    });
                }
            }
        }
        self.lost = topology::entries(self.instance.join("per_cpu"))
            .iter()
            .map(|cpu| overrun(&self.instance, cpu))
            .sum();
        Ok(())
    }

    /// Whole lines are counted; the rest waits for what follows.
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        for line in self.rest[..end].split(|byte| *byte == b'\n') {
            if let Some((event, direction, sectors)) = parse_line(&String::from_utf8_lossy(line)) {
                self.counts.entry(event).or_default().add(direction, sectors);
            }
        }
        self.rest.drain(..=end);
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        drop(self.pipe.take());
        remove(&self.instance);
    }
}

/// Switches both events on for one device and opens the pipe.
fn arm(instance: &Path, device: u32) -> Result<File, ObserveError> {
    let put = |name: &str, text: &str| {
        let path = instance.join(name);
        std::fs::write(&path, text).map_err(|source| ObserveError::Trace { path, source })
    };
    put("buffer_size_kb", &BUFFER_KIB.to_string())?;
    let path = instance.join("trace_pipe");
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let pipe = OpenOptions::new().read(true).custom_flags(nonblocking).open(&path);
    let pipe = pipe.map_err(|source| ObserveError::Trace { path, source })?;
    for event in BlockEvent::ALL {
        put(
            &format!("events/block/{}/filter", event.name()),
            &format!("dev == {device}"),
        )?;
        put(&format!("events/block/{}/enable", event.name()), "1")?;
    }
    Ok(pipe)
}

/// Nothing can be done about a failure here; the instance's name tells whose it is.
fn remove(instance: &Path) {
    let _ = std::fs::write(instance.join("events/enable"), "0");
    let _ = std::fs::remove_dir(instance);
}

fn overrun(instance: &Path, cpu: &str) -> u64 {
    let stats = text(&instance.join("per_cpu").join(cpu).join("stats")).unwrap_or_default();
    let field = |name: &str| {
        stats
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    field("overrun:")
        .unwrap_or(0)
        .saturating_add(field("dropped events:").unwrap_or(0))
}
