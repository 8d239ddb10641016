//! The database that stands in for a user's: one data file or device, one redo log, loaded once and opened by each run.
//!
//! Every contender reads the very bytes of its data file, which are incompressible and written in full. Prevents: one
//! side that reads a sparse file or another part of the disk.

use crate::flags::{Method, Side};
use crate::side::port::StudyPort;
use anyhow::Context;
use pages::{Files, Instance, Settings, Shape, TornPages};
use std::path::{Path, PathBuf};
use targets::{Access, FileId, OpenSpec, TargetError};

/// Schemas of a database of one worker; see [`schemas`].
pub(crate) const SCHEMAS: u32 = 8;
const PAGE_BYTES: u32 = 8192;
const MIB: u64 = 1 << 20;
/// Checkpoints by time; by redo they come sooner.
const CHECKPOINT_NS: u64 = 30_000_000_000;

/// A schema belongs to one worker, and each worker has as many as the others.
fn schemas(workers: u32) -> u32 {
    SCHEMAS.next_multiple_of(workers.max(1))
}

/// The page engine as a study has it.
pub(crate) type Engine = Instance<StudyPort>;

/// How large a database is, and how it is worked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Of each schema.
    pub(crate) pages: u32,
    pub(crate) redo_bytes: u64,
    pub(crate) workers: u32,
    pub(crate) cache_mib: u64,
    pub(crate) sessions: u32,
}

/// A database and how it is opened.
pub(crate) struct Database {
    pub(crate) data: PathBuf,
    pub(crate) redo: PathBuf,
    shape: Shape,
    settings: Settings,
    sessions: u32,
}

impl Database {
    pub(crate) fn new(data: &Path, redo: &Path, size: Size) -> Database {
        let redo_step = pages::BLOCK_BYTES * u64::from(size.workers.max(1));
        let shape = Shape {
            page_bytes: PAGE_BYTES,
            schemas: schemas(size.workers),
            pages_per_schema: size.pages,
            seed: 1,
            compressibility: 1.0,
            duplication: 0.0,
        };
        let settings = Settings {
            cache_bytes: size.cache_mib * MIB,
            multiblock_read: 16,
            torn_pages: TornPages::Log,
            checkpoint_ns: CHECKPOINT_NS,
            writers: 16,
            // In whole blocks for each worker: the file is as long as this, and an open reads it from there.
            redo_bytes: size.redo_bytes / redo_step * redo_step,
            workers: size.workers,
        };
        Database {
            data: data.to_owned(),
            redo: redo.to_owned(),
            shape,
            settings,
            sessions: size.sessions,
        }
    }

    /// The one that the flags of a side name; its redo log's size is that of the file.
    pub(crate) fn there(side: &Side, redo: &Path) -> anyhow::Result<Database> {
        let redo_bytes = std::fs::metadata(redo)
            .with_context(|| format!("look at {}", redo.display()))?
            .len();
        Ok(Database::new(&side.data, redo, Size::of(side, redo_bytes)))
    }

    /// Pages of each schema that fit `bytes` of data file, head included.
    pub(crate) fn pages_in(bytes: u64, workers: u32) -> u32 {
        (bytes.saturating_sub(MIB) / u64::from(schemas(workers)) / u64::from(PAGE_BYTES)) as u32
    }

    fn files() -> Files {
        Files {
            data: vec![FileId(0)],
            redo: FileId(1),
        }
    }

    fn ports(&self, open: impl Fn(u64, usize) -> Result<StudyPort, TargetError>) -> anyhow::Result<Vec<StudyPort>> {
        let workers = self.settings.workers;
        let depth = pages::depth(&self.settings, 1, self.sessions.div_ceil(workers), 1);
        let memory = pages::memory_bytes(&self.shape, &self.settings);
        Ok((0..workers).map(|_| open(memory, depth)).collect::<Result<_, _>>()?)
    }

    fn sizes(&self) -> [u64; 2] {
        let data = pages::data_file_bytes(&self.shape, &self.settings, 1);
        [data[0], pages::redo_file_bytes(&self.settings)]
    }

    fn create(&self, ports: Vec<StudyPort>) -> anyhow::Result<Engine> {
        let made = Instance::create(ports, &Self::files(), self.shape, self.settings, &mut pages::unheard);
        made.with_context(|| format!("load a database into {}", self.data.display()))
    }

    /// Writes it. A device must be there and large enough; files are made.
    pub(crate) fn load(&self) -> anyhow::Result<()> {
        let [data_bytes, redo_bytes] = self.sizes();
        let data = if self.data.starts_with("/dev") {
            OpenSpec::writing(&self.data, Access::Direct)
        } else {
            OpenSpec::creating(&self.data, Access::Direct, data_bytes)
        };
        let specs = [data, OpenSpec::creating(&self.redo, Access::Direct, redo_bytes)];
        let ports = self.ports(|memory, depth| StudyPort::open(Method::Ring, &specs, memory, depth))?;
        Ok(self.create(ports)?.checkpoint()?)
    }

    /// Loads it into memory, that of each worker for itself, and opens it there.
    pub(crate) fn in_memory(&self) -> anyhow::Result<Engine> {
        let sizes = self.sizes();
        self.create(self.ports(|memory, depth| StudyPort::in_memory(&sizes, memory, depth))?)
    }

    /// Opens it by one method.
    pub(crate) fn open(&self, method: Method) -> anyhow::Result<Engine> {
        let specs = [&self.data, &self.redo].map(|path| OpenSpec::writing(path, Access::Direct));
        let ports = self.ports(|memory, depth| StudyPort::open(method, &specs, memory, depth))?;
        let (instance, _) = Instance::open(ports, &Self::files(), self.settings)
            .with_context(|| format!("open the database in {}", self.data.display()))?;
        Ok(instance)
    }
}

impl Size {
    /// As the flags of a side have it.
    pub(crate) fn of(side: &Side, redo_bytes: u64) -> Size {
        Size {
            pages: side.pages,
            redo_bytes,
            workers: side.workers,
            cache_mib: side.cache_mib,
            sessions: side.sessions,
        }
    }
}
