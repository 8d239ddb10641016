//! A place where a database can be in a trial: a stack that stands, before the engine has opened anything on it.
//!
//! Says where its files and devices are, for each thing a stack can stand on, and what the kernel really gives there.

use crate::condition::Condition;
use crate::group::grouped;
use crate::host::devices::Devices;
use crate::instances::wire;
use crate::result_file;
use crate::sizes::Sizes;
use crate::trial::laid_out::DataFiles;
use anyhow::Context;
use ledger::{ArcWay, Disclosed, FactName, Ledger, Role, Scope};
use pages::Files;
use plan::{CopyTarget, Stack};
use sandbox::Directory;
use stacks::{Built, Ground, Journal, MountedPool, Owners};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use targets::{Access, FileId, Granted, OpenSpec, Way, Which};

/// A stack that stands, before the engine has opened anything on it.
pub(crate) struct Stand {
    /// As in the study, but on the LUN sets of this trial, and with a name of its own if it is a copy.
    pub(crate) stack: Stack,
    /// Name in the study.
    pub(crate) name: String,
    pub(crate) built: Built,
    /// Where the process of its pool works, if it is one.
    pub(crate) workplace: Option<Directory>,
    /// What a phase must say to copy to it; `None` for home.
    pub(super) key: Option<Key>,
}

/// Stack, LUN set of the data, LUN set of the redo log, as a phase says them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key(String, Option<String>, Option<String>);

impl Key {
    pub(super) fn of(copy: &plan::Copy) -> Option<Key> {
        match &copy.to {
            CopyTarget::Home => None,
            CopyTarget::Stack(name) => Some(Key(name.clone(), copy.data.clone(), copy.redo.clone())),
        }
    }
}

impl Stand {
    /// Stack and LUN set, in words.
    pub(crate) fn words(&self) -> String {
        match &self.stack.data {
            Some(set) => format!("{} on {set}", self.name),
            None => self.name.clone(),
        }
    }

    fn access(&self) -> Access {
        match self.stack.access {
            plan::Access::Direct => Access::Direct,
            plan::Access::Buffered => Access::Buffered,
        }
    }

    /// The engine's files, by their number in a port on this stand.
    pub(crate) fn files(&self) -> Files {
        if let Ground::Group(Owners { redo: Some(_), .. }) = self.built.ground {
            return grouped::files_of_two();
        }
        let data = self.data_file_count() as u16;
        Files {
            data: (0..data).map(FileId).collect(),
            redo: FileId(data),
        }
    }

    /// Data files of the engine: one, or each of its devices.
    pub(crate) fn data_file_count(&self) -> usize {
        self.built.ground.paths().map_or(1, |(data, _)| data.len())
    }

    /// Data files, then the redo log; files are made if they are missing.
    pub(crate) fn specs(&self, sizes: &Sizes) -> anyhow::Result<Vec<OpenSpec>> {
        let ground = &self.built.ground;
        let (data, redo) = ground.paths().expect("a group or a pool opens its files itself");
        let spec = |(path, size): (&Path, u64)| match ground.files() {
            Some(_) => {
                let home = self.built.home_of(path)?;
                Ok(OpenSpec::creating(path, self.access(), size).inside(home)?)
            }
            None => Ok(OpenSpec::writing(path, self.access())),
        };
        let bytes = pages::data_file_bytes(&sizes.shape, &sizes.settings, data.len());
        let redo = (redo, pages::redo_file_bytes(&sizes.settings));
        let data = data.iter().map(PathBuf::as_path).zip(bytes);
        data.chain([redo]).map(spec).collect()
    }

    /// The LUNs of its group, for processes that open it frozen.
    pub(crate) fn group_of_others(&self) -> anyhow::Result<wire::Ground> {
        let luns = self.built.devices.iter();
        Ok(wire::Ground::Group {
            devices: luns
                .map(|lun| place(lun, Access::Direct))
                .collect::<anyhow::Result<_>>()?,
            data: self.built.luns().0.len(),
            redo: matches!(self.built.ground, Ground::Group(Owners { redo: Some(_), .. })),
        })
    }

    /// Its files or devices, for processes that open them too: by the directories that are held here.
    pub(crate) fn files_of_others(&self, sizes: &Sizes) -> anyhow::Result<(wire::Ground, Vec<Directory>)> {
        let (mut places, mut held) = (Vec::new(), Vec::new());
        for spec in self.specs(sizes)? {
            let home = match self.built.ground.files() {
                Some(_) => Some(self.built.home_of(&spec.path)?),
                None => None,
            };
            places.push(match &home {
                // A name in a directory of ours is ours.
                Some(home) => wire::Place {
                    path: spec.path,
                    direct: spec.access == Access::Direct,
                    held: Some(home.for_our_children()),
                    is: None,
                    proof: None,
                },
                None => place(&spec.path, spec.access)?,
            });
            held.extend(home);
        }
        Ok((wire::Ground::Files(places), held))
    }

    /// Every place of the stack: files (which exist by now) and devices.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let (mut data, redo) = self.own_places();
        data.extend(redo);
        data
    }

    /// Places of the data and of the redo log: files or devices, or all LUNs of a role where files lie on all of them.
    fn own_places(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        match &self.built.ground {
            Ground::Files(files) => (vec![files.data.clone()], vec![files.redo.clone()]),
            Ground::Devices { data, redo } => (data.clone(), vec![redo.clone()]),
            // Below a file of a pool no kernel shows a device.
            Ground::Group(_) | Ground::MountedPool { .. } | Ground::ProcessPool(_) | Ground::Server => {
                let (data, redo) = self.built.luns();
                (data.to_vec(), redo.to_vec())
            }
        }
    }

    /// Whether the LUNs of the redo log are a log device of the data's pool.
    fn log_is_of_pool(&self) -> bool {
        let pool = self.stack.kind.pool();
        pool.is_some_and(|zfs| zfs.redo_as == plan::RedoAs::Log)
    }

    /// The places of the data and those of the redo log, as devices or as files on them. A log device of a pool holds
    /// the pool's intent log, and the engine's redo log lies with the data: then both have all places, and nothing is
    /// apart.
    pub(crate) fn places_apart(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        if self.log_is_of_pool() {
            return (self.built.devices.clone(), self.built.devices.clone());
        }
        self.own_places()
    }

    /// The directory that is the stack's own, for a database that makes files by itself.
    pub(crate) fn directory(&self) -> anyhow::Result<PathBuf> {
        self.built.check()?;
        let files = self.built.ground.files();
        let directory = files.and_then(|files| files.data.parent());
        Ok(directory.context("a stack with a directory of its own")?.to_path_buf())
    }

    /// The same on the LUN set of the redo log, where it has one.
    pub(crate) fn log_directory(&self) -> Option<PathBuf> {
        self.stack.redo.as_ref()?;
        self.built.ground.files()?.redo.parent().map(Path::to_path_buf)
    }

    /// The same on the LUN set of temporary files, where it has one.
    pub(crate) fn temp_directory(&self) -> Option<PathBuf> {
        self.built.temp.clone()
    }

    /// Places of temporary files that have LUNs of their own: their directory, or the LUNs of their group.
    pub(crate) fn temp_places(&self) -> Vec<PathBuf> {
        match &self.built.temp {
            Some(dir) => vec![dir.clone()],
            None => self.built.temp_luns().to_vec(),
        }
    }

    /// The stack again from the beginning, after an end that nothing survived.
    pub(crate) fn make_anew(&self, journal: &Journal) -> anyhow::Result<()> {
        stacks::power_off(&self.built)?;
        stacks::make_anew(&self.stack, &self.built, luns::MARKER, journal)?;
        self.empty_directory()
    }

    /// Empties the directory that the stack made for itself among the user's, for a database that is made anew.
    pub(crate) fn empty_directory(&self) -> anyhow::Result<()> {
        if self.stack.kind.directory().is_none() {
            return Ok(());
        }
        self.built.check()?;
        Ok(sandbox::remove_contents(&Directory::open(&self.directory()?)?)?)
    }

    /// The devices below these places of the stack. All LUNs of a volume are among the lowest: the copies of a snapshot
    /// may lie on one that is not below the volume's device, and a reserve joins while it works.
    pub(crate) fn devices(&self, places: &[PathBuf]) -> anyhow::Result<Devices> {
        let mut devices = Devices::under(places)?;
        if self.stack.kind.volume().is_some() {
            devices.also_below(self.built.luns().0)?;
        }
        Ok(devices)
    }

    /// Devices of the data of a database that makes its own files: of the whole stack where the log has no LUNs.
    pub(crate) fn data_luns(&self, all: &Devices) -> Devices {
        let log = match &self.built.ground {
            Ground::Files(_) | Ground::Devices { .. } => self.log_directory().into_iter().collect(),
            _ if self.log_is_of_pool() => Vec::new(),
            _ => self.own_places().1,
        };
        let apart = Devices::under(&log.into_iter().chain(self.temp_places()).collect::<Vec<_>>()).ok();
        let is_log = |name: &String| apart.as_ref().is_some_and(|log| log.near.contains(name));
        Devices {
            near: all.near.iter().filter(|name| !is_log(name)).cloned().collect(),
            ..all.clone()
        }
    }

    /// What the kernel really gives a database in SQL: asked by a file that is made for it, beside its data and where
    /// the log has LUNs of its own beside that.
    pub(crate) fn granted_to_sql(&self) -> anyhow::Result<Vec<Disclosed>> {
        if self.built.ground.files().is_none() {
            return Ok(Vec::new());
        }
        let mut facts = self.granted_in(&self.directory()?, Role::Data)?;
        if let Some(log) = self.log_directory() {
            facts.extend(self.granted_in(&log, Role::Redo)?);
        }
        Ok(facts)
    }

    /// The same by a file in this directory.
    fn granted_in(&self, directory: &Path, role: Role) -> anyhow::Result<Vec<Disclosed>> {
        let (dir, name) = (Directory::open(directory)?, "assay.probe");
        let probe = dir.path().join(name);
        let failed = || format!("write {}", probe.display());
        let file = dir.create(name, rustix::fs::OFlags::WRONLY).with_context(failed)?;
        let identity = sandbox::Identity::of(&file).with_context(failed)?;
        let mut file = std::fs::File::from(file);
        file.write_all(&vec![0; 64 << 10]).with_context(failed)?;
        let granted = self.observed(&probe);
        sandbox::remove(&probe, sandbox::Removal::File, Some(&identity))?;
        let (granted, arc) = granted?;
        let mut facts = vec![
            FactName::ReadsGo.on(role).is(way(granted.reads)),
            FactName::WritesGo.on(role).is(way(granted.writes)),
        ];
        facts.extend(arc.map(|way| FactName::ReadsAndArc.on(role).is(way)));
        Ok(facts)
    }

    /// What the kernel really gives on a place; and of a file on a pool whether the ARC counted its reads. Every ZFS
    /// accepts `O_DIRECT`, and OpenZFS goes around its ARC for it from 2.3 on.
    fn observed(&self, place: &Path) -> anyhow::Result<(Granted, Option<ArcWay>)> {
        let Some(pool) = self.built.ground.mounted_pool() else {
            return Ok((targets::observe(place, self.access())?, None));
        };
        // What is dirty is read where it waits.
        pool.sync()?;
        let accesses = || pool.arc().map(|arc| arc.data_hits + arc.data_misses);
        let before = accesses();
        let granted = targets::observe(place, self.access())?;
        let way = before.zip(accesses()).map(|(before, after)| match after > before {
            // A buffered read that the page cache has does not come so far.
            _ if self.stack.access == plan::Access::Buffered => ArcWay::Buffered,
            true => ArcWay::Through,
            false => ArcWay::Around,
        });
        Ok((granted, way))
    }

    /// Copies of the data that the nearest devices get by the stack's own redundancy. A volume makes its copies below
    /// its device, which gets each byte once.
    pub(crate) fn data_copies(&self) -> u32 {
        match self.stack.kind.volume() {
            Some(_) => 1,
            None => self.stack.kind.copies(self.built.data_devices as u32),
        }
    }

    /// The data files, to see how they lie.
    pub(crate) fn data_files(&self, sizes: &Sizes) -> DataFiles {
        let on = self.key.as_ref().map(|_| self.words());
        DataFiles::new(&self.files(), sizes, self.built.ground.paths().is_none(), on)
    }

    /// What the kernel really gave on the data and the redo log.
    pub(crate) fn granted(&self) -> anyhow::Result<Vec<Disclosed>> {
        let (data, redo) = match &self.built.ground {
            // The probe writes what it read, and nobody may write under a pool. The pool's own facts say how it goes.
            Ground::ProcessPool(_) | Ground::Server => return Ok(Vec::new()),
            Ground::Files(files) | Ground::MountedPool { files, .. } => (&files.data, &files.redo),
            Ground::Devices { data, redo } => (&data[0], redo),
            Ground::Group(_) => {
                let (data, redo) = self.built.luns();
                (&data[0], redo.first().unwrap_or(&data[0]))
            }
        };
        let mut facts = Vec::new();
        for (role, place) in [(Role::Data, data), (Role::Redo, redo)] {
            let (granted, arc) = self.observed(place)?;
            facts.extend(arc.map(|way| FactName::ReadsAndArc.on(role).is(way)));
            facts.push(FactName::ReadsGo.on(role).is(way(granted.reads)));
            facts.push(FactName::WritesGo.on(role).is(way(granted.writes)));
            if let Some(bytes) = granted.alignment {
                facts.push(FactName::DirectAlignment.on(role).is(bytes));
            }
        }
        Ok(facts)
    }

    /// Where the facts about it stand in the result file.
    pub(crate) fn scope(&self) -> Scope {
        match self.key {
            None => Scope::Stack(self.name.to_string()),
            Some(_) => Scope::Copy(self.stack.name.clone()),
        }
    }

    /// Everything written so far is on its devices.
    pub(crate) fn sync(&self) -> anyhow::Result<()> {
        for mount in &self.built.mounts {
            observers::syncfs(mount)?;
        }
        self.built.ground.mounted_pool().map_or(Ok(()), |pool| Ok(pool.sync()?))
    }

    /// Tells the result file about its devices.
    pub(crate) fn describe(&self, ledger: &mut Ledger, devices: &Devices) -> anyhow::Result<()> {
        let mut facts = vec![
            FactName::NearestDevices.is(devices.near.clone()),
            FactName::LowestDevices.is(devices.low.clone()),
        ];
        let said = |name: &String| {
            let facts = observers::device_facts(name).into_iter();
            facts
                .filter(|(name, _)| name == FactName::DeviceReadAhead.as_str())
                .map(|(_, value)| value)
                .next()
        };
        let ahead: BTreeSet<String> = devices.near.iter().filter_map(said).collect();
        if !ahead.is_empty() {
            facts.push(FactName::ReadAhead.is(Vec::from_iter(ahead)));
        }
        let whole = chain(&devices.near);
        facts.push(FactName::Devices.is(whole.clone()));
        let notes = devices.notes.iter().enumerate();
        facts.extend(notes.map(|(i, note)| FactName::Note.of(i + 1).is(note.clone())));
        result_file::facts(ledger, &self.scope(), facts)?;
        for device in devices.low.iter().chain(&whole).collect::<BTreeSet<_>>() {
            let facts = result_file::listed(observers::device_facts(device))?;
            result_file::facts(ledger, &Scope::Device(device.clone()), facts)?;
        }
        Ok(())
    }

    /// What the stack itself has lost.
    pub(crate) fn lost(&self) -> Option<String> {
        self.built.ground.mounted_pool().and_then(MountedPool::lost)
    }

    /// How the stack itself is.
    pub(crate) fn condition(&self) -> Condition {
        Condition {
            lost: self
                .lost()
                .or_else(|| stacks::lost_members(&self.built))
                .or_else(|| stacks::checked_by_others(&self.built)),
            mended: None,
            used_bytes: None,
        }
    }

    /// The engine names files by number; the user knows them by path.
    pub(crate) fn file_names(&self) -> String {
        let paths = match self.built.ground.paths() {
            Some((data, redo)) => data.iter().map(PathBuf::as_path).chain([redo]).collect(),
            None => vec![Path::new(grouped::DATA), Path::new(grouped::REDO)],
        };
        let named = paths.iter().enumerate();
        let names: Vec<String> = named
            .map(|(number, path)| format!("file {number} is {}", path.display()))
            .collect();
        names.join(", ")
    }
}

/// A LUN that a port of this process has open, with its numbers.
fn place(path: &Path, access: Access) -> anyhow::Result<wire::Place> {
    let which = Which::at(path).with_context(|| format!("look at {}", path.display()))?;
    Ok(wire::Place {
        path: path.to_owned(),
        direct: access == Access::Direct,
        held: None,
        is: Some((which.device, which.inode)),
        proof: None,
    })
}

/// The devices and every one below them, the nearest first.
fn chain(near: &[String]) -> Vec<String> {
    let mut all: Vec<String> = near.to_vec();
    for device in near {
        // What cannot be followed is known by itself alone.
        let below = observers::lineage(&Path::new("/dev").join(device));
        for name in below.map(|found| found.devices()).unwrap_or_default() {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

fn way(seen: Way) -> ledger::Way {
    match seen {
        Way::Direct => ledger::Way::Around,
        Way::Cached => ledger::Way::Through,
        Way::Unknown => ledger::Way::Unknown,
    }
}
