//! Pools that commands made and that are mounted: brought up, asked, synced, ended, brought up again.
//!
//! One story for both ways; what differs is who runs the pool ([`daemon`], [`module`]). Prevents: a way that is tested
//! and another that is only like it.

use super::awake::Awake;
use super::commands::{self, Commands, DatasetPlan, PoolPlan};
use super::counts::{self, ArcCounted, PoolCounted};
use super::ways::Programs;
use super::{bounds, daemon, enter, module};
use crate::device::pool_name;
use crate::error::StackError;
use crate::host::mounts;
use crate::journal::Journal;
use crate::places::{Owners, Places};
use crate::run::Run;
use crate::undo::Undo;
use plan::{Vdevs, Zfs, ZfsPreset, ZfsWay};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a record of the redo log.
const REDO_RECORD: u64 = 128 << 10;
pub(super) const DATA: &str = "data";
pub(super) const REDO: &str = "redo";

/// Pools that stand, with their datasets mounted.
#[derive(Clone, Debug)]
pub struct MountedPool {
    way: ZfsWay,
    zfs: Zfs,
    programs: Programs,
    /// Where the daemon works, and where the mount points are.
    dir: PathBuf,
    /// The data's pool, then the redo log's, if it has one.
    pools: Vec<PoolPlan>,
    pub(super) datasets: Vec<DatasetPlan>,
    /// Tells one sync from the other.
    syncs: Arc<AtomicU64>,
    awake: Arc<Awake>,
}

/// The data's pool, and the redo log's where it has LUNs of its own.
pub(super) fn pools_on(places: &Places, owners: &Owners, vdevs: Vdevs) -> Vec<PoolPlan> {
    let own = owners.redo.filter(|uuid| *uuid != owners.data);
    let (log, apart) = if own.is_some() {
        (&[][..], &places.redo[..])
    } else {
        (&places.redo[..], &[][..])
    };
    let mut pools = vec![PoolPlan {
        name: pool_name(&owners.data),
        data: places.data.clone(),
        log: log.to_vec(),
        vdevs,
    }];
    if let Some(uuid) = own {
        pools.push(PoolPlan {
            name: pool_name(&uuid),
            data: apart.to_vec(),
            log: Vec::new(),
            vdevs: Vdevs::Stripe,
        });
    }
    pools
}

impl MountedPool {
    pub(super) fn planned(
        zfs: &Zfs,
        way: ZfsWay,
        programs: Programs,
        dir: PathBuf,
        pools: Vec<PoolPlan>,
    ) -> MountedPool {
        let last = pools.last().map(|pool| pool.name.clone()).unwrap_or_default();
        let dataset = |pool: &str, name: &str, record_bytes, logbias: &str| DatasetPlan {
            name: format!("{pool}/{name}"),
            place: dir.join(name),
            record_bytes,
            logbias: logbias.to_owned(),
        };
        let datasets = vec![
            dataset(&pools[0].name, DATA, zfs.recordsize.0, &zfs.logbias),
            dataset(&last, REDO, REDO_RECORD, "latency"),
        ];
        MountedPool {
            way,
            zfs: zfs.clone(),
            programs,
            dir,
            pools,
            datasets,
            syncs: Arc::new(AtomicU64::new(0)),
            awake: Awake::new(),
        }
    }

    /// Journals every step, then takes it.
    pub(super) fn make(&self, journal: &mut Journal) -> Result<(), StackError> {
        if self.way == ZfsWay::Kernel {
            bounds::set(&self.zfs, journal)?;
            for pool in &self.pools {
                journal.before(Undo::ExportPool {
                    pool: pool.name.clone(),
                })?;
            }
        }
        for dataset in &self.datasets {
            let failed = |e| StackError::path("make the directory", &dataset.place, e, "free space there");
            std::fs::create_dir(&dataset.place).map_err(failed)?;
            let path = dataset.place.clone();
            journal.before(Undo::Unmount { path })?;
        }
        if self.way == ZfsWay::Fuse {
            // Undone first: whoever waits for the daemon is let go, and its file systems are unmounted without asking
            // it.
            journal.before(Undo::StopFuse { dir: self.dir.clone() })?;
        }
        self.stand(journal.run())
    }

    /// Makes pools and datasets on LUNs that are clear.
    fn stand(&self, run: &Run) -> Result<(), StackError> {
        let commands = self.start(run)?;
        for pool in &self.pools {
            commands.create(pool, &self.zfs, run)?;
        }
        for dataset in &self.datasets {
            commands.create_dataset(dataset, run)?;
        }
        self.bring_out()
    }

    /// Starts what runs the pools.
    fn start(&self, run: &Run) -> Result<Commands, StackError> {
        match self.way {
            ZfsWay::Kernel => Ok(Commands::of_module(self.programs.clone())),
            _ => daemon::start(&self.programs, &self.dir, &self.zfs, Some(run)),
        }
    }

    /// Mounts of a daemon are its own until they are brought out; then all must be there.
    fn bring_out(&self) -> Result<(), StackError> {
        for DatasetPlan { place, .. } in &self.datasets {
            let cure = "run outside the container, or give it CAP_SYS_ADMIN and CAP_SYS_CHROOT";
            if let (ZfsWay::Fuse, Some(theirs)) = (self.way, daemon::namespace(&self.dir)) {
                enter::bring_out(theirs, place)
                    .map_err(|e| StackError::path("bring out the mount of", place, e, cure))?;
            }
            let found = mounts::at(place).map_err(|e| StackError::path("look for the mount at", place, e, cure))?;
            let is_zfs = found.is_some_and(|mount| mount.kind == "zfs" || mount.kind.starts_with("fuse"));
            if !is_zfs {
                let missing = std::io::Error::other("no ZFS is mounted there");
                return Err(StackError::path("look for the mount at", place, missing, cure));
            }
        }
        if self.way == ZfsWay::Fuse {
            self.awake
                .keep(self.datasets.iter().map(|dataset| dataset.place.clone()).collect());
        }
        Ok(())
    }

    fn commands(&self) -> Result<Commands, StackError> {
        if self.way == ZfsWay::Kernel {
            return Ok(Commands::of_module(self.programs.clone()));
        }
        match daemon::namespace(&self.dir) {
            Some(namespace) => Ok(Commands::of_daemon(self.programs.clone(), namespace)),
            None => Err(StackError::Tool {
                command: "zfs-fuse".to_owned(),
                status: "ended".to_owned(),
                exited: false,
                said: daemon::last_words(&self.dir).unwrap_or_else(|| "it said nothing".to_owned()),
                cure: "raise the memory budget if it was too small (dmesg), or lower `arc_max`; go on with the \
                    same command and `--resume`"
                    .to_owned(),
            }),
        }
    }

    /// The process that runs the pools, if it is one.
    pub fn daemon(&self) -> Option<u32> {
        daemon::running(&self.dir)
    }

    /// Whether its cache is the machine's, which every pool of the module has part in.
    pub fn shares_its_cache(&self) -> bool {
        self.way == ZfsWay::Kernel
    }

    /// Whether a dataset of it is mounted there.
    pub fn is_mounted_at(&self, place: &Path) -> bool {
        self.datasets.iter().any(|dataset| dataset.place == place)
    }

    /// What the stack has lost: its daemon.
    pub fn lost(&self) -> Option<String> {
        if self.way == ZfsWay::Kernel || self.daemon().is_some() {
            return None;
        }
        let said = daemon::last_words(&self.dir)
            .map(|words| format!(": {words}"))
            .unwrap_or_default();
        Some(format!("zfs-fuse has ended{said}"))
    }

    /// Waits until everything dirty of all pools is on the devices.
    ///
    /// # Errors
    /// Tools that fail, and a daemon that has ended.
    pub fn sync(&self) -> Result<(), StackError> {
        let commands = self.commands()?;
        let nonce = self.syncs.fetch_add(1, Ordering::Relaxed);
        self.pools.iter().try_for_each(|pool| commands.sync(&pool.name, nonce))
    }

    /// What pools and cache have counted.
    ///
    /// # Errors
    /// A daemon that has ended.
    pub fn count(&self) -> Result<PoolCounted, StackError> {
        let commands = self.commands()?;
        let first = &self.pools[0];
        let exact = self.way == ZfsWay::Kernel;
        let allocated = |pool: &PoolPlan| -> Option<u64> {
            if exact {
                return Some(commands.listed(&pool.name, "allocated")? as u64);
            }
            // What datasets use is what is allocated, but of parity.
            let told = commands
                .of_dataset(&pool.name, "used")
                .filter(|_| pool.vdevs != Vdevs::Raidz1);
            told?.parse().ok()
        };
        let allocated: Option<Vec<u64>> = self.pools.iter().map(allocated).collect();
        let percent = if exact {
            commands.listed(&first.name, "fragmentation")
        } else {
            None
        };
        let ratio = commands.of_dataset(&self.datasets[0].name, "compressratio");
        Ok(PoolCounted {
            allocated_bytes: allocated.map(|all| all.iter().sum()),
            fragmentation_percent: percent.map(|percent| percent as u64),
            compress_ratio: ratio.and_then(|said| counts::number(&said)),
            arc: self.arc(),
        })
    }

    /// What the cache has counted; `None` where it is not told.
    pub fn arc(&self) -> Option<ArcCounted> {
        match self.way {
            ZfsWay::Kernel => module::arc(),
            _ => self.commands().ok()?.arc(),
        }
    }

    /// Ends the daemon as a host's power does. The module's pools have none to end.
    ///
    /// # Errors
    /// A daemon that stays.
    pub fn kill(&self) -> std::io::Result<()> {
        daemon::kill(&self.dir)
    }

    /// What the study does not say, and what the pool says of itself. Short, or a report has no room for it.
    pub(super) fn facts(&self) -> Result<Vec<(String, String)>, StackError> {
        let commands = self.commands()?;
        let (pool, data) = (&self.pools[0].name, &self.datasets[0].name);
        let fact = |what: &str, value: String| (what.to_owned(), value);
        let version = commands
            .of_pool(pool, "version")
            .unwrap_or_else(|| "feature flags".to_owned());
        let (way, arc) = match self.way {
            ZfsWay::Fuse => (
                format!("fuse {version}"),
                format!("{} (the daemon's option)", self.zfs.arc_max),
            ),
            _ => (
                format!("kernel {}", module::version()),
                format!("{} (the machine's, set for the run)", self.zfs.arc_max),
            ),
        };
        let mut facts = vec![
            fact("way to ZFS", way),
            fact("pool version", version),
            fact("ARC maximum", arc),
        ];
        let said = |dataset: &str, property: &str| {
            let value = commands.of_dataset(dataset, property)?;
            // In the words of the study's own key.
            let bytes = value.parse().ok().filter(|_| property == "recordsize");
            Some(bytes.map_or(value, |bytes| plan::Bytes(bytes).to_string()))
        };
        let of_data = [
            "recordsize",
            "compression",
            "checksum",
            "primarycache",
            "logbias",
            "sync",
            "atime",
        ];
        // Under names of their own: what is set stands beside what was asked.
        facts.extend(
            of_data
                .iter()
                .filter_map(|name| Some(fact(&format!("dataset {name}"), said(data, name)?))),
        );
        let redo = &self.datasets[1].name;
        for name in ["recordsize", "logbias"] {
            facts.extend(said(redo, name).map(|value| fact(&format!("redo {name}"), value)));
        }
        let own = self.pools.len() > 1;
        let redo_on = if own {
            "a pool of its own"
        } else {
            "a dataset of the data's pool"
        };
        facts.push(fact("redo log", redo_on.to_owned()));
        facts.extend(commands.of_pool(pool, "failmode").map(|value| fact("failmode", value)));
        if self.way == ZfsWay::Fuse {
            facts.push(fact("zfs-fuse options", daemon::arguments(&self.zfs).join(" ")));
            facts.push(fact("devices are opened", "with O_DIRECT".to_owned()));
            facts.push(fact(
                "caches above them",
                "the ARC; of buffered files the page cache too".to_owned(),
            ));
        }
        if self.zfs.preset == ZfsPreset::Tuned {
            let whose = "OpenZFS documentation, Workload Tuning, databases with a cache of their own".to_owned();
            facts.push(fact("tuned as advised by", whose));
        }
        Ok(facts)
    }

    /// Unmounts what has no power any more; the daemon ends first, as on a machine that has none. Pools of the module
    /// are exported: what is called so is about to be made anew.
    pub(crate) fn power_off(&self) -> Result<(), StackError> {
        let cure = "end what uses it, and run `assay clean`";
        let failed = |path: &Path, e| StackError::path("end the daemon of", path, e, cure);
        self.kill().map_err(|e| failed(&self.dir, e))?;
        for DatasetPlan { place, .. } in self.datasets.iter().rev() {
            mounts::unmount(place).map_err(|e| StackError::path("unmount after the power cut", place, e, cure))?;
        }
        // No process of the module's ends with its pools: imported, they keep their devices.
        for pool in self.pools.iter().filter(|_| self.way == ZfsWay::Kernel) {
            commands::export(&pool.name)
                .map_err(|e| StackError::path("export the pool", Path::new(&pool.name), e, cure))?;
        }
        Ok(())
    }

    /// Starts a daemon and imports the pools that are on the LUNs: their intent logs are replayed.
    pub(crate) fn power_on(&self, run: &Run) -> Result<(), StackError> {
        let links = self.links()?;
        let commands = daemon::start(&self.programs, &self.dir, &self.zfs, Some(run))?;
        for pool in &self.pools {
            commands.import(&pool.name, &links, Some(run))?;
        }
        self.bring_out()
    }

    /// Makes the pools anew on LUNs that were cleared.
    pub(crate) fn make_anew(&self, run: &Run) -> Result<(), StackError> {
        self.stand(run)
    }

    /// A directory with links to the LUNs and to nothing else, in which an import looks.
    fn links(&self) -> Result<PathBuf, StackError> {
        let dir = self.dir.join("luns");
        let failed = |e| StackError::path("make links in", &dir, e, "free space there");
        let luns = self.pools.iter().flat_map(|pool| pool.data.iter().chain(&pool.log));
        match std::fs::create_dir(&dir) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Ok(dir),
            made => made.map_err(failed)?,
        }
        for (number, lun) in luns.enumerate() {
            let target = std::fs::canonicalize(lun).map_err(failed)?;
            std::os::unix::fs::symlink(target, dir.join(format!("lun{number}"))).map_err(failed)?;
        }
        Ok(dir)
    }
}
