//! A stack of kind `zfs` in user space: its pools in the process that runs OpenZFS, the engine's two files in them,
//! and what the pools count.
//!
//! Takes what was made ready on the LUNs, gives ports and figures. A new process for each trial: no trial begins with
//! the cache of another. Prevents: a pool under a name that the undo journal does not know, and a phase that ends
//! while the pool still writes.

use crate::sizes::Sizes;
use anyhow::Context;
use ledger::{Disclosed, FactName, Measure, Role};
use plan::{RedoAs, Stack, Vdevs, Zfs, ZfsPreset};
use sandbox::Directory;
use stacks::{Built, Ground, Journal, Undo};
use std::path::PathBuf;
use zpool::{Counted, FileName, FileSpec, Launch, PoolSpec, Redundancy, Tuning, Zpool, ZpoolPort};

const DATA: &str = "data";
const REDO: &str = "redo";
const REDO_RECORD: u32 = 128 << 10;
/// Dirty data that OpenZFS may hold before it makes writers wait is a tenth of the machine's memory, of which a stack
/// has only its budget: as much of the cache, in and above which dirty data lies.
const DIRTY_SHARE: u64 = 4;
const DIRTY_LEAST: u64 = 64 << 20;

/// The pools of a stack, open.
pub(crate) struct Pooled {
    zpool: Zpool,
    data: FileName,
    redo: FileName,
    tuned: Tuning,
    preset: ZfsPreset,
}

impl Pooled {
    /// Makes the directory that the process of a pool's stack will work in, by which it is found when its run was
    /// killed; both are journalled. `None` for other stacks.
    pub(crate) fn workplace(
        built: &Built,
        work_dir: &Directory,
        journal: &mut Journal,
    ) -> anyhow::Result<Option<Directory>> {
        let Ground::ProcessPool(owners) = &built.ground else {
            return Ok(None);
        };
        let name = format!("{}.openzfs", stacks::pool_name(&owners.data));
        let dir = journal.make_directory(work_dir, &name, 0o700, false)?;
        journal.before(Undo::StopService {
            dir: dir.path().to_owned(),
            service: Launch::SERVE.to_string(),
        })?;
        Ok(Some(dir))
    }

    /// Starts the process in its directory, makes the pools and the engine's files in them.
    pub(crate) fn make(stack: &Stack, built: &Built, workplace: &Directory, sizes: &Sizes) -> anyhow::Result<Pooled> {
        let (zfs, luns) = (Pooled::asked(stack)?, PoolLuns::of(stack, built)?);
        let (zpool, tuned) = start(zfs, workplace, &built.devices)?;
        zpool.create(&pool(zfs, &luns.name, &luns.data, luns.log.clone(), zfs.vdevs))?;
        if let Some((name, own)) = &luns.redo {
            zpool.create(&pool(zfs, name, own, Vec::new(), Vdevs::Stripe))?;
        }
        let pooled = Pooled::on(zpool, &luns, tuned, zfs);
        let (zpool, data, redo) = (&pooled.zpool, &pooled.data, &pooled.redo);
        let record = u32::try_from(zfs.recordsize.0).context("a record size")?;
        let bytes = pages::data_file_bytes(&sizes.shape, &sizes.settings, 1)[0];
        zpool.create_file(&file(zfs, data, bytes, record, &zfs.logbias))?;
        let bytes = pages::redo_file_bytes(&sizes.settings);
        zpool.create_file(&file(zfs, redo, bytes, REDO_RECORD, "latency"))?;
        Ok(pooled)
    }

    /// Starts a process and imports the pools that are on the LUNs, as after a crash: their intent logs are replayed.
    pub(crate) fn import(stack: &Stack, built: &Built, workplace: &Directory) -> anyhow::Result<Pooled> {
        let (zfs, luns) = (Pooled::asked(stack)?, PoolLuns::of(stack, built)?);
        let (zpool, tuned) = start(zfs, workplace, &built.devices)?;
        zpool.import(&luns.name, &[&luns.data[..], &luns.log].concat())?;
        if let Some((name, own)) = &luns.redo {
            zpool.import(name, own)?;
        }
        Ok(Pooled::on(zpool, &luns, tuned, zfs))
    }

    fn on(zpool: Zpool, luns: &PoolLuns, tuned: Tuning, zfs: &Zfs) -> Pooled {
        let (data, redo) = luns.files();
        Pooled {
            zpool,
            data,
            redo,
            tuned,
            preset: zfs.preset,
        }
    }

    fn asked(stack: &Stack) -> anyhow::Result<&Zfs> {
        stack.kind.pool().with_context(|| format!("{} is no pool", stack.name))
    }

    /// A port on the data (file 0) and the redo log (file 1).
    pub(crate) fn port(&self, memory: u64, depth: usize) -> anyhow::Result<ZpoolPort> {
        Ok(self
            .zpool
            .open(&[self.data.clone(), self.redo.clone()], memory, depth)?)
    }

    pub(crate) fn zpool(&self) -> &Zpool {
        &self.zpool
    }

    /// What the study does not say.
    pub(crate) fn facts(&self) -> anyhow::Result<Vec<Disclosed>> {
        let mut facts = vec![
            FactName::OpenZfs.is(self.zpool.version()),
            FactName::Recordsize
                .on(Role::Redo)
                .is(plan::Bytes(u64::from(REDO_RECORD)).to_string()),
            FactName::Logbias.on(Role::Redo).is("latency"),
            FactName::DataAndRedoGo.is("through the ARC; devices are opened with O_DIRECT"),
        ];
        if self.preset == ZfsPreset::Tuned {
            let whose = "OpenZFS documentation, Workload Tuning, databases with a cache of their own";
            facts.push(FactName::TunedAsAdvised.is(whose));
        }
        if let Some(bytes) = self.tuned.dirty_max_bytes {
            facts.push(FactName::DirtyDataMax.is(plan::Bytes(bytes).to_string()));
        }
        if let Some(arc) = self.zpool.count()?.arc {
            facts.push(FactName::ArcMinimum.is(plan::Bytes(arc.min_bytes).to_string()));
            facts.push(FactName::ArcMaximum.is(plan::Bytes(arc.max_bytes).to_string()));
        }
        Ok(facts)
    }
}

/// Which LUNs belong to which pool.
struct PoolLuns {
    name: String,
    data: Vec<PathBuf>,
    log: Vec<PathBuf>,
    /// The redo log's own pool.
    redo: Option<(String, Vec<PathBuf>)>,
}

impl PoolLuns {
    fn of(stack: &Stack, built: &Built) -> anyhow::Result<PoolLuns> {
        let owners = built.ground.owners().context("the LUNs of a pool")?;
        let (data, redo_luns) = built.luns();
        let name = stacks::pool_name(&owners.data);
        let (log, own) = match Pooled::asked(stack)?.redo_as {
            RedoAs::Log => (redo_luns.to_vec(), &[][..]),
            RedoAs::Pool => (Vec::new(), redo_luns),
        };
        let redo = owners.redo.filter(|_| !own.is_empty());
        let redo = redo.map(|uuid| (stacks::pool_name(&uuid), own.to_vec()));
        let data = data.to_vec();
        Ok(PoolLuns { name, data, log, redo })
    }

    /// The engine's files: data, and redo log.
    fn files(&self) -> (FileName, FileName) {
        let redo_pool = self.redo.as_ref().map_or(&self.name, |(name, _)| name);
        (FileName::new(&self.name, DATA), FileName::new(redo_pool, REDO))
    }
}

/// Starts the process as the study wants it.
fn start(zfs: &Zfs, workplace: &Directory, luns: &[PathBuf]) -> anyhow::Result<(Zpool, Tuning)> {
    let tuned = Tuning {
        arc_min_bytes: zfs.arc_min.map(|bytes| bytes.0),
        prefetch: zfs.prefetch,
        prefetch_distance_bytes: zfs.prefetch_distance.map(|bytes| bytes.0 as u32),
        dirty_max_bytes: Some((zfs.arc_max.0 / DIRTY_SHARE).max(DIRTY_LEAST)),
        ..Tuning::new(zfs.arc_max.0)
    };
    let mut reach = sandbox::Reach::nothing();
    luns.iter().try_for_each(|lun| reach.add(lun))?;
    let launch = Launch::itself().in_directory(workplace.path()).within(reach);
    Ok((Zpool::start(&launch, &tuned)?, tuned))
}

fn pool(zfs: &Zfs, name: &str, data: &[PathBuf], log: Vec<PathBuf>, vdevs: Vdevs) -> PoolSpec {
    PoolSpec {
        name: name.to_string(),
        data: data.to_vec(),
        log,
        redundancy: match vdevs {
            Vdevs::Stripe => Redundancy::Stripe,
            Vdevs::Mirror => Redundancy::Mirror,
            Vdevs::Raidz1 => Redundancy::Raidz1,
        },
        ashift: zfs.ashift as u8,
        // The LUNs were claimed before; what an earlier trial left on a file is its own.
        overwrite: true,
    }
}

fn file(zfs: &Zfs, name: &FileName, bytes: u64, record_bytes: u32, logbias: &str) -> FileSpec {
    let properties = [
        ("compression", zfs.compression.as_str()),
        ("checksum", &zfs.checksum),
        ("primarycache", &zfs.primarycache),
        ("logbias", logbias),
        ("sync", &zfs.sync),
    ];
    FileSpec {
        name: name.clone(),
        bytes,
        record_bytes,
        properties: properties
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .to_vec(),
    }
}

/// Memory of the process that runs OpenZFS.
pub(crate) fn resident_bytes(zpool: &Zpool) -> Option<u64> {
    observers::family_memory(zpool.pid())
}

/// What a phase did to the logs and the pools.
pub(crate) fn measures(before: &Counted, after: &Counted) -> Vec<(Measure, f64)> {
    let mut measures = Vec::new();
    let zil = |name: &str| after.zil(name).saturating_sub(before.zil(name)) as f64;
    measures.push((Measure::ZilCommits, zil("zil_commit_count")));
    let bytes = zil("zil_itx_metaslab_normal_bytes") + zil("zil_itx_metaslab_slog_bytes");
    measures.push((Measure::ZilBytes, bytes));
    let txg = |counted: &Counted| counted.pools.iter().map(|pool| pool.synced_txg).sum::<u64>();
    measures.push((Measure::TxgsSynced, txg(after).saturating_sub(txg(before)) as f64));
    let data = |file: &&zpool::FileCounts| file.name.ends_with(&format!("/{DATA}"));
    if let Some(file) = after.files.iter().find(data) {
        measures.push((
            Measure::DataCompressionRatio,
            file.compress_ratio_percent as f64 / 100.0,
        ));
        let pool = after
            .pools
            .iter()
            .find(|pool| file.name.starts_with(&format!("{}/", pool.name)));
        if let Some(percent) = pool.and_then(|pool| pool.fragmentation_percent) {
            measures.push((Measure::PoolFragmentationPercent, percent as f64));
        }
    }
    measures
}
