//! The database that stands in for a user's: one data file or device, one redo log, loaded once and opened by each run.
//!
//! Every contender reads the very bytes of its data file, which are incompressible and written in full. Prevents: one
//! side that reads a sparse file or another part of the disk.

use crate::flags::Side;
use anyhow::Context;
use pages::{Files, Instance, Settings, Shape, TornPages};
use std::path::{Path, PathBuf};
use targets::{Access, FileId, OpenSpec, Port, TargetError, UringPort};

pub(crate) const SCHEMAS: u32 = 8;
const PAGE_BYTES: u32 = 8192;
const MIB: u64 = 1 << 20;
/// Checkpoints by time; by redo they come sooner.
const CHECKPOINT_NS: u64 = 30_000_000_000;

/// A database and how it is opened.
pub(crate) struct Database {
    pub(crate) data: PathBuf,
    pub(crate) redo: PathBuf,
    shape: Shape,
    settings: Settings,
    sessions: u32,
}

impl Database {
    pub(crate) fn new(data: &Path, redo: &Path, pages: u32, redo_bytes: u64, workers: u32, cache_mib: u64) -> Database {
        let shape = Shape {
            page_bytes: PAGE_BYTES,
            schemas: SCHEMAS,
            pages_per_schema: pages,
            seed: 1,
            compressibility: 1.0,
            duplication: 0.0,
        };
        let settings = Settings {
            cache_bytes: cache_mib * MIB,
            multiblock_read: 16,
            torn_pages: TornPages::Log,
            checkpoint_ns: CHECKPOINT_NS,
            writers: 16,
            redo_bytes,
            workers,
        };
        Database {
            data: data.to_owned(),
            redo: redo.to_owned(),
            shape,
            settings,
            sessions: 64,
        }
    }

    /// The one that the flags of a side name; its redo log's size is that of the file.
    pub(crate) fn there(side: &Side, redo: &Path) -> anyhow::Result<Database> {
        let redo_bytes = std::fs::metadata(redo)
            .with_context(|| format!("look at {}", redo.display()))?
            .len();
        let mut found = Database::new(&side.data, redo, side.pages, redo_bytes, side.workers, side.cache_mib);
        found.sessions = side.sessions;
        Ok(found)
    }

    /// Pages of each schema that fit `bytes` of data file, head included.
    pub(crate) fn pages_in(bytes: u64) -> u32 {
        (bytes.saturating_sub(MIB) / u64::from(SCHEMAS) / u64::from(PAGE_BYTES)) as u32
    }

    fn files() -> Files {
        Files {
            data: vec![FileId(0)],
            redo: FileId(1),
        }
    }

    fn ports<P>(
        &self,
        specs: &[OpenSpec],
        open: impl Fn(&[OpenSpec], u64, usize) -> Result<P, TargetError>,
    ) -> anyhow::Result<Vec<P>> {
        let workers = self.settings.workers;
        let depth = pages::depth(&self.settings, 1, self.sessions.div_ceil(workers), 1);
        let memory = pages::memory_bytes(&self.shape, &self.settings);
        Ok((0..workers)
            .map(|_| open(specs, memory, depth))
            .collect::<Result<_, _>>()?)
    }

    /// Writes it. A device must be there and large enough; files are made.
    pub(crate) fn load(&self) -> anyhow::Result<()> {
        let sizes = pages::data_file_bytes(&self.shape, &self.settings, 1);
        let data = if self.data.starts_with("/dev") {
            OpenSpec::writing(&self.data, Access::Direct)
        } else {
            OpenSpec::creating(&self.data, Access::Direct, sizes[0])
        };
        let redo = OpenSpec::creating(&self.redo, Access::Direct, pages::redo_file_bytes(&self.settings));
        let ports = self.ports(&[data, redo], UringPort::open)?;
        let mut instance = Instance::create(ports, &Self::files(), self.shape, self.settings, &mut pages::unheard)
            .with_context(|| format!("load a database into {}", self.data.display()))?;
        Ok(instance.checkpoint()?)
    }

    /// Opens it on ports of one kind.
    pub(crate) fn open<P: Port>(
        &self,
        open: impl Fn(&[OpenSpec], u64, usize) -> Result<P, TargetError>,
    ) -> anyhow::Result<Instance<P>> {
        let specs = [&self.data, &self.redo].map(|path| OpenSpec::writing(path, Access::Direct));
        let ports = self.ports(&specs, open)?;
        let (instance, _) = Instance::open(ports, &Self::files(), self.settings)
            .with_context(|| format!("open the database in {}", self.data.display()))?;
        Ok(instance)
    }
}
