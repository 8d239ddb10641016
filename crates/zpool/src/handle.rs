//! What the lab holds of OpenZFS: the process with its pools, asked for pools, files and counts.
//!
//! Prevents: a question that only one of its askers knows how to put.

use crate::error::ZpoolError;
use crate::message::{Answer, Ask, Counted, DeviceFault, FileName, FileSpec, Imported, PoolSpec, Tuning};
use crate::port::ZpoolPort;
use crate::process::{Launch, Process};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use targets::Extent;

/// The process, and its pools. Dropped when the last port and handle are: then pools are exported and the process ends.
#[derive(Clone)]
pub struct Zpool {
    process: Arc<Process>,
    version: String,
}

impl Zpool {
    /// Starts the process and the library in it.
    ///
    /// # Errors
    /// [`ZpoolError::Refused`] where OpenZFS is not installed, or not in a version that is known, with what to install.
    pub fn start(launch: &Launch, tuning: &Tuning) -> Result<Zpool, ZpoolError> {
        let process = Arc::new(Process::start(launch)?);
        let version = match process.ask(&Ask::Start(tuning.clone()), &[])? {
            Answer::Started { version } => version,
            _ => String::new(),
        };
        Ok(Zpool { process, version })
    }

    /// The library's own version.
    pub fn version(&self) -> String {
        self.version.clone()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// How long it may take for an answer from now on; what [`Launch::answer_time`] says until then.
    pub fn answer_within(&self, limit: Duration) {
        self.process.answer_within(limit);
    }

    /// Makes a pool.
    pub fn create(&self, spec: &PoolSpec) -> Result<(), ZpoolError> {
        self.process.done(&Ask::Create(spec.clone()))
    }

    /// Opens a pool that lies on these devices, log devices included; what its logs hold is done again first.
    pub fn import(&self, pool: &str, devices: &[PathBuf]) -> Result<Imported, ZpoolError> {
        match self.process.ask(
            &Ask::Import {
                pool: pool.to_string(),
                devices: devices.to_vec(),
            },
            &[],
        )? {
            Answer::Imported(imported) => Ok(imported),
            _ => Ok(Imported { replayed_records: 0 }),
        }
    }

    /// Closes a pool in good order. Its ports must be gone.
    pub fn export(&self, pool: &str) -> Result<(), ZpoolError> {
        self.process.done(&Ask::Export(pool.to_string()))
    }

    /// Closes a pool and marks its devices as free. Its ports must be gone.
    pub fn destroy(&self, pool: &str) -> Result<(), ZpoolError> {
        self.process.done(&Ask::Destroy(pool.to_string()))
    }

    /// Makes a file in a pool.
    pub fn create_file(&self, spec: &FileSpec) -> Result<(), ZpoolError> {
        self.process.done(&Ask::CreateFile(spec.clone()))
    }

    /// Takes a file out of its pool. Its ports must be gone.
    pub fn remove_file(&self, name: &FileName) -> Result<(), ZpoolError> {
        self.process.done(&Ask::RemoveFile(name.clone()))
    }

    /// Cuts a file to this length in bytes, durably.
    pub fn truncate(&self, name: &FileName, bytes: u64) -> Result<(), ZpoolError> {
        self.process.size(&Ask::Truncate(name.clone(), bytes)).map(drop)
    }

    /// A port on these files: file n of the port is the nth of the list. `memory` in bytes.
    pub fn open(&self, files: &[FileName], memory: u64, depth: usize) -> Result<ZpoolPort, ZpoolError> {
        ZpoolPort::open(Arc::clone(&self.process), files, memory, depth)
    }

    /// Waits until everything written so far is on the devices, in all pools.
    pub fn sync(&self) -> Result<(), ZpoolError> {
        self.process.done(&Ask::Sync)
    }

    /// Everything the library and the device layer count.
    pub fn count(&self) -> Result<Counted, ZpoolError> {
        match self.process.ask(&Ask::Count, &[])? {
            Answer::Counted(counted) => Ok(*counted),
            _ => Ok(Counted::default()),
        }
    }

    /// Where a file lies. Nobody may write to it meanwhile. The highest 16 bits of a physical offset are the device's
    /// number.
    pub fn extents(&self, name: &FileName) -> Result<Vec<Extent>, ZpoolError> {
        self.process.extents(name)
    }

    /// Plants a fault in the device layer.
    pub fn plant(&self, fault: &DeviceFault) -> Result<(), ZpoolError> {
        self.process.done(&Ask::Fault(Some(fault.clone())))
    }

    /// Ends all planted faults.
    pub fn mend(&self) -> Result<(), ZpoolError> {
        self.process.done(&Ask::Fault(None))
    }

    /// From now on no transaction group of this pool is written: only its intent log is. For tests of recovery.
    pub fn freeze(&self, pool: &str) -> Result<(), ZpoolError> {
        self.process.done(&Ask::Freeze(pool.to_string()))
    }

    /// Kills the process (SIGKILL) and waits for its end: the power cut of its pools.
    pub fn kill(&self) {
        self.process.kill();
    }
}

/// What this machine has of OpenZFS in user space: the library's version, or why not and what to do.
///
/// # Errors
/// As [`Zpool::start`].
pub fn probe(launch: &Launch) -> Result<String, ZpoolError> {
    Ok(Zpool::start(launch, &Tuning::new(Tuning::ARC_LEAST))?.version())
}
