//! The LUN sets of a study on this host: devices looked at, files made, both handed out as block devices for a trial.
//!
//! Every step is journalled before it is taken. Prevents: a device touched that the study did not name, and a LUN file
//! that one stack leaves warm or sparse for the next.

use crate::luns::faults::{DeviceFaults, Standing};
use crate::luns::models::ModelledSet;
use crate::luns::same_device::still_the_same;
use crate::luns::seeds::seed_of;
use crate::luns::service::{self, Service, ToServe};
use crate::progress::{Caller, Progress};
use crate::writes::Writes;
use anyhow::{Context, anyhow, ensure};
use ledger::{Disclosed, FactName, Layer, Layers, Modelled, Scope};
use luns::{DeviceFacts, LoopDevice, LunError, LunFile};
use plan::{Device, DeviceModel, LunSet, LunSource, Stack, Study};
use sandbox::Directory;
use stacks::{Journal, Undo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use targets::Nanos;

/// What is said of the file under a loop device before anything is written.
const OF_A_LOOP_FILE: [FactName; 3] = [
    FactName::LoopBackingFile,
    FactName::LoopBackingBytes,
    FactName::LoopBackingAllocated,
];

/// One LUN.
#[derive(Clone, Debug)]
pub(crate) enum Lun {
    /// A file as it was made, attached for each trial.
    File(LunFile),
    /// A device of the user's, as it was when the study began.
    Device {
        path: PathBuf,
        known: DeviceFacts,
        /// What somebody else wrote there may be destroyed.
        overwrite: bool,
    },
}

/// All LUN sets, in place.
#[derive(Debug, Default)]
pub(crate) struct LunSets {
    sets: BTreeMap<String, Vec<Lun>>,
    /// Rate at which the files were written, bytes a second; `None` without files.
    pub(crate) fill_rate: Option<u64>,
    /// (scope, facts) for the result file.
    pub(crate) facts: Vec<(Scope, Vec<Disclosed>)>,
    /// Files written since they were last used: they need no rewrite.
    fresh: bool,
    /// Set when the run is to end.
    cancel: Arc<AtomicBool>,
    /// Devices by calculation, by LUN set.
    models: BTreeMap<String, Device>,
    /// How many times slower than those they run; 0: not asked yet.
    slower: u32,
    /// How much sooner they answer, for the way of the host.
    sooner: Nanos,
    /// The processes that play them in this trial.
    services: BTreeMap<String, Arc<Service>>,
    /// Loop devices on what they serve.
    attached: BTreeMap<String, Vec<u32>>,
    /// What is wrong with them in this trial, wherever the database is by now.
    standing: Standing,
    /// Directories of the run's own, held open.
    own: Vec<Directory>,
    /// That in which the files of a set lie.
    homes: BTreeMap<String, Directory>,
}

/// Every device that the study names, looked at by the rules of safety: its facts, or why a run would refuse it. This
/// touches nothing.
pub fn looked_at(study: &Study) -> Vec<(PathBuf, anyhow::Result<DeviceFacts>)> {
    let mut named: Vec<PathBuf> = Vec::new();
    let mut overwritten: Vec<PathBuf> = Vec::new();
    for set in &study.luns {
        if let LunSource::Devices { paths, overwrite } = &set.source {
            named.extend(paths.iter().cloned());
            overwritten.extend(overwrite.iter().cloned());
        }
    }
    let look = |path: &PathBuf| -> anyhow::Result<DeviceFacts> {
        let known = luns::inspect_device(&device_at(path)?, &named, &overwritten)?;
        Ok(DeviceFacts {
            path: path.clone(),
            ..known
        })
    };
    named.iter().map(|path| (path.clone(), look(path))).collect()
}

/// The devices that the study names, with their facts; an error where one is refused, or where `yes` was not said.
pub(crate) fn inspect(study: &Study, yes: bool) -> anyhow::Result<BTreeMap<PathBuf, DeviceFacts>> {
    let (mut facts, mut named) = (BTreeMap::new(), Vec::new());
    for (path, known) in looked_at(study) {
        named.push(path.display().to_string());
        facts.insert(path, known?);
    }
    ensure!(
        named.is_empty() || yes,
        "the study destroys what is on {}\n  say --yes if that is meant",
        named.join(", ")
    );
    Ok(facts)
}

/// The path of a device without links. For root it must be one that no other user can change.
fn device_at(path: &Path) -> anyhow::Result<PathBuf> {
    let real = path
        .canonicalize()
        .map_err(|e| anyhow!("{}: {e}\n  check the path of the device in the study", path.display()))?;
    sandbox::Directory::open(real.parent().unwrap_or(Path::new("/")))?;
    Ok(real)
}

/// A device of the study, if the run has said that it writes to it.
fn may_be_used(
    study: &Study,
    written: &Path,
    devices: &BTreeMap<PathBuf, DeviceFacts>,
    journal: &mut Journal,
) -> anyhow::Result<Lun> {
    ensure!(
        Writes::of(study, Path::new("")).names_device(written),
        "{} is not on the list of what this run writes to\n  see `assay check`",
        written.display()
    );
    let known = devices.get(written).context("a device that was looked at")?;
    let path = device_at(written)?;
    journal.may_write(&path)?;
    let allows = |set: &LunSet| match &set.source {
        LunSource::Devices { overwrite, .. } => overwrite.iter().any(|one| one == written),
        LunSource::Files { .. } => false,
    };
    Ok(Lun::Device {
        path,
        known: known.clone(),
        overwrite: study.luns.iter().any(allows),
    })
}

impl LunSets {
    /// Makes the LUN files, each in a directory of the run's own.
    pub(crate) fn prepare(
        study: &Study,
        devices: &BTreeMap<PathBuf, DeviceFacts>,
        journal: &mut Journal,
        caller: Caller<'_>,
    ) -> anyhow::Result<LunSets> {
        let mut sets = LunSets {
            fresh: true,
            cancel: Arc::clone(caller.cancel),
            ..LunSets::default()
        };
        let (mut written, began) = (0, Instant::now());
        check_room(study)?;
        for set in &study.luns {
            sets.model(study, set)?;
            let made = match &set.source {
                LunSource::Files { count, size, .. } => {
                    written += u64::from(*count) * size.0;
                    sets.make_files(set, study.root_seed(), journal, caller.progress)?
                }
                LunSource::Devices { paths, .. } => {
                    sets.describe_devices(&set.name, paths, devices)?;
                    let take = |path: &PathBuf| may_be_used(study, path, devices, journal);
                    paths.iter().map(take).collect::<anyhow::Result<_>>()?
                }
            };
            sets.sets.insert(set.name.clone(), made);
        }
        if written > 0 {
            let seconds = began.elapsed().as_secs_f64().max(0.001);
            sets.fill_rate = Some((written as f64 / seconds) as u64);
        }
        Ok(sets)
    }

    /// Makes the files of a set that has them.
    fn make_files(
        &mut self,
        set: &LunSet,
        seed: u64,
        journal: &mut Journal,
        progress: &dyn Progress,
    ) -> anyhow::Result<Vec<Lun>> {
        let LunSource::Files { count, size, dir } = &set.source else {
            return Ok(Vec::new());
        };
        let own = self.own_directory(dir, journal)?;
        let mut files = Vec::new();
        for number in 0..*count {
            let name = format!("{}-{number}.lun", set.name);
            let path = own.path().join(&name);
            progress.doing(&format!("writing {} in full", path.display()));
            own.check()?;
            let step = journal.before(Undo::RemoveFile { path })?;
            let seed = seed_of(seed, &set.name, number.into());
            let file = luns::create_file(&own, &name, size.0, seed, &mut |_| (), &self.cancel)?;
            journal.made(step, file.identity)?;
            let facts = vec![
                FactName::File.is(file.path.display().to_string()),
                FactName::Bytes.is(file.bytes),
                FactName::Extents.is(file.extents.len() as u64),
            ];
            self.facts.push((Scope::Lun(set.name.clone(), Some(number)), facts));
            files.push(Lun::File(file));
        }
        self.homes.insert(set.name.clone(), own);
        Ok(files)
    }

    fn describe_devices(
        &mut self,
        set: &str,
        paths: &[PathBuf],
        devices: &BTreeMap<PathBuf, DeviceFacts>,
    ) -> anyhow::Result<()> {
        let known: Vec<DeviceFacts> = paths.iter().filter_map(|p| devices.get(p).cloned()).collect();
        for (number, facts) in (0..).zip(&known) {
            // Before anything is written: how much of a file under a loop device is really there.
            let mut said = crate::result_file::listed(observers::device_facts(&facts.name))?;
            said.retain(|(key, _)| OF_A_LOOP_FILE.contains(&key.name));
            said.extend([
                FactName::Device.is(facts.path.display().to_string()),
                FactName::Bytes.is(facts.bytes),
                FactName::Model.is(facts.model.clone()),
                FactName::Scheduler.is(facts.scheduler.clone()),
                FactName::WriteCache.is(facts.write_cache.clone()),
                FactName::LogicalBlock.is(facts.logical_block),
                FactName::PhysicalBlock.is(facts.physical_block),
            ]);
            self.facts.push((Scope::Lun(set.to_string(), Some(number)), said));
        }
        for (number, difference) in luns::differences(&known).into_iter().enumerate() {
            let unlike = FactName::Unlike.of(number).is(difference);
            self.facts.push((Scope::Lun(set.to_string(), None), vec![unlike]));
        }
        Ok(())
    }

    /// Block devices of a set for one trial: files are written in full again and attached.
    pub(crate) fn attach(
        &mut self,
        set: &str,
        looped: bool,
        seed: u64,
        journal: &mut Journal,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let served = self.serve(set, seed, journal)?;
        let (mut devices, mut loops) = (Vec::new(), Vec::new());
        let luns = self.sets.get(set).context("a LUN set that the plan let through")?;
        for (nth, lun) in luns.iter().enumerate() {
            let made = match lun {
                Lun::File(made) => made,
                Lun::Device { path, known, overwrite } => {
                    still_the_same(path, known, *overwrite)?;
                    devices.push(path.clone());
                    continue;
                }
            };
            if !served {
                self.renew(made, seed_of(seed, set, nth as u64))?;
            }
            let lun = self.services.get(set).map(|service| service.lun(nth));
            if looped {
                let device = self.attach_loop(set, made, lun.as_deref(), journal)?;
                loops.push(device.number);
                devices.push(device.path);
            } else {
                devices.push(lun.unwrap_or_else(|| made.path.clone()));
            }
        }
        self.attached.insert(set.to_string(), loops);
        Ok(devices)
    }

    /// A file as it was when it was made.
    fn renew(&self, made: &LunFile, seed: u64) -> anyhow::Result<()> {
        // One that was cut would be written anew at its new size.
        replaced_or_resized(made).map_or(Ok(()), Err)?;
        if !self.fresh {
            made.refill(seed, &mut |_| (), &self.cancel)?.check()?;
        }
        Ok(())
    }

    /// A loop device on a file, or on what is served of it.
    fn attach_loop(
        &self,
        set: &str,
        made: &LunFile,
        served: Option<&Path>,
        journal: &mut Journal,
    ) -> anyhow::Result<LoopDevice> {
        journal.before(Undo::DetachLoop {
            backing: served.unwrap_or(&made.path).to_path_buf(),
            file: served.map_or(Ok(made.identity), identity_of)?,
        })?;
        let device = match served {
            Some(lun) => luns::attach_served(lun)?,
            None => luns::attach(made)?,
        };
        journal.may_write(&device.path)?;
        if self.models.get(set).is_some_and(|m| m.model == DeviceModel::Hdd) {
            luns::say_rotational(device.number);
        }
        Ok(device)
    }

    /// Adds to an error what was done to LUN files from outside: the cause of what the layers above then said.
    pub(crate) fn blame(&self, error: anyhow::Error, sets: &[&String]) -> anyhow::Error {
        let sets = sets.iter().filter_map(|name| self.sets.get(*name));
        let dead = self.services.values().find_map(|service| service.dead());
        if let Some(dead) = dead {
            return anyhow!("{dead}\n{}", crate::causes::chain(&error));
        }
        let broken = sets.flatten().find_map(|lun| match lun {
            Lun::File(file) => replaced_or_resized(file),
            Lun::Device { .. } => None,
        });
        match broken {
            Some(broken) => anyhow!("{}\n{broken}", crate::causes::chain(&error)),
            None => error,
        }
    }

    /// Remembers the model of a set that has one, and says all of it in the result.
    fn model(&mut self, study: &Study, set: &LunSet) -> anyhow::Result<()> {
        let Some(device) = &set.device else { return Ok(()) };
        let mut device = device.clone();
        let beside = study.file.parent().unwrap_or(Path::new(""));
        device.histogram = device.histogram.map(|file| beside.join(file));
        let mut facts = vec![FactName::ModelledDevice.is(device.words())];
        if let Some(class) = device.class() {
            facts.push(FactName::Class.is(class.what));
            facts.push(FactName::ClassSource.is(class.source));
        }
        for parameter in &device.parameters {
            let from = if parameter.written { "the study" } else { "the class" };
            let value = format!("{}, from {from}", parameter.to_string().trim_matches('"'));
            facts.push(FactName::Parameter.of(parameter.spec.name).is(value));
        }
        if let Some(file) = &device.histogram {
            facts.push(FactName::Histogram.is(service::read_histogram(file)?));
        }
        let volatile = service::nothing_volatile(study, &device);
        let volatile = volatile.map_or_else(|| device.volatile.to_string(), |nothing| format!("0B: {nothing}"));
        facts.push(FactName::VolatileBytes.is(volatile));
        facts.extend(service::not_warmed(set).map(|why| FactName::ReadIntoMemory.is(why)));
        self.facts.push((Scope::Lun(set.name.clone(), None), facts));
        self.models.insert(set.name.clone(), device);
        Ok(())
    }

    /// How many times slower than their devices the models run in phases.
    pub(crate) fn slower(&self) -> u32 {
        self.slower.max(1)
    }

    /// From the next service on.
    pub(crate) fn set_slower(&mut self, times: u32) {
        self.slower = times;
    }

    /// How much sooner than their devices the models answer, for the way of the host.
    pub(crate) fn sooner(&self) -> Nanos {
        self.sooner
    }

    /// From the next service on.
    pub(crate) fn set_sooner(&mut self, by: Nanos) {
        self.sooner = by;
    }

    /// Starts the service of a modelled set, its files as new; whether there is one.
    fn serve(&mut self, set: &str, seed: u64, journal: &mut Journal) -> anyhow::Result<bool> {
        let Some(device) = self.models.get(set) else {
            return Ok(false);
        };
        let luns = self.sets.get(set).context("a LUN set that the plan let through")?;
        let mut files = Vec::new();
        for (nth, lun) in luns.iter().enumerate() {
            let Lun::File(made) = lun else {
                return Err(anyhow!("LUN set `{set}`: a model needs LUN files"));
            };
            self.renew(made, seed_of(seed, set, nth as u64))?;
            files.push(made.by_descriptor());
        }
        let to_serve = ToServe {
            set,
            device,
            slower: self.slower(),
            sooner: self.sooner,
            luns: &files,
            dir: self.homes.get(set).context("a directory of LUN files")?,
            seed,
        };
        let service = Service::start(&to_serve, journal)?;
        self.services.insert(set.to_string(), Arc::new(service));
        Ok(true)
    }

    /// The process that plays the devices of a set.
    pub(crate) fn service(&self, set: &str) -> Option<&Service> {
        self.services.get(set).map(Arc::as_ref)
    }

    /// By the set they serve: what can go wrong under these stacks.
    pub(crate) fn faults_of(&self, stacks: &[&Stack]) -> DeviceFaults {
        let sets = sets_of(stacks).into_iter();
        let found = sets.filter_map(|set| Some((set.clone(), Arc::clone(self.services.get(set)?))));
        DeviceFaults::on(found.collect(), Arc::clone(&self.standing))
    }

    /// The modelled sets under these stacks, each once.
    pub(crate) fn models_of(&self, stacks: &[&Stack]) -> Vec<ModelledSet<'_>> {
        let of_set = |set: &String| self.models.get(set).map(|device| device.model);
        let value = |set: &String, name: &str| self.models.get(set).map_or(0.0, |device| device.value(name));
        let modelled = |set: &String| {
            let loops = self.attached.get(set).into_iter().flatten();
            Some(ModelledSet {
                set: set.clone(),
                service: self.service(set)?,
                devices: loops.map(|number| format!("loop{number}")).collect(),
                timed: of_set(set).is_some_and(|model| model != DeviceModel::Plain),
                reads_on: of_set(set) == Some(DeviceModel::Hdd),
                knows_ends: of_set(set).is_some_and(DeviceModel::knows_ends),
                slower: self.slower(),
                processors: value(set, "processors"),
                reduces: value(set, "reduction") > 0.0,
            })
        };
        sets_of(stacks).into_iter().filter_map(modelled).collect()
    }

    /// Those under a stack, data first.
    pub(crate) fn services_of(&self, stack: &Stack) -> Vec<&Service> {
        stack.lun_sets().filter_map(|set| self.service(set)).collect()
    }

    /// Numbers of the loop devices under a stack, data first.
    pub(crate) fn loops_of(&self, stack: &Stack) -> Vec<u32> {
        let sets = stack.lun_sets();
        sets.filter_map(|set| self.attached.get(set))
            .flatten()
            .copied()
            .collect()
    }

    /// The services of a trial have been stopped by the journal.
    pub(crate) fn unserved(&mut self) {
        self.services.clear();
        self.attached.clear();
        self.standing = Standing::default();
    }

    /// The layers of a stack, the models among them named.
    pub(crate) fn layers(&self, stack: &Stack, built: &[String]) -> Layers {
        let layers = built.iter().map(|layer| Layer::said(layer)).collect();
        // A slash sets layers apart.
        let words = |set: &Option<String>| {
            let device = self.models.get(set.as_ref()?)?;
            let slow = Some(self.slower()).filter(|times| *times > 1 && device.is_timed());
            let slow = slow.map_or(String::new(), |times| format!(", {times} times slower"));
            Some(device.words().replace('/', " a ") + &slow)
        };
        layers_on(layers, words(&stack.data), words(&stack.redo), stack.redo.is_some())
    }

    /// From now on files are written anew before they are attached.
    pub(crate) fn used(&mut self) {
        self.fresh = false;
    }

    /// Any LUN, to measure the I/O method on: the first of the first set.
    pub(crate) fn any(&self) -> Option<&Path> {
        self.sets.values().flatten().next().map(|lun| match lun {
            Lun::File(file) => file.path.as_path(),
            Lun::Device { path, .. } => path.as_path(),
        })
    }

    /// `DIR/assay-RUN`, made once per directory.
    pub(crate) fn own_directory(&mut self, dir: &Path, journal: &mut Journal) -> anyhow::Result<Directory> {
        let above = Directory::open(dir)?;
        let name = format!("assay-{}", journal.run_id());
        let path = above.path().join(&name);
        if let Some(known) = self.own.iter().find(|known| known.path() == path) {
            known.check()?;
            return Ok(known.clone());
        }
        // Whoever works in a mount keeps it from being unmounted: nobody else gets in.
        let own = journal.make_directory(&above, &name, 0o700, false)?;
        self.own.push(own.clone());
        Ok(own)
    }
}

/// LUN sets of stacks, each once.
pub(super) fn sets_of<'s>(stacks: &[&'s Stack]) -> Vec<&'s String> {
    let mut sets = Vec::new();
    for set in stacks.iter().flat_map(|stack| stack.lun_sets()) {
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// The layers of a stack with the models of its data and of its log, as a layer of its own also where the data lie on
/// something real: by that it is known, and never ranked with what stands on none.
fn layers_on(mut layers: Vec<Layer>, data: Option<String>, log: Option<String>, log_apart: bool) -> Layers {
    let (what, device) = match (data, log) {
        (None, None) => return Layers(layers),
        (Some(data), Some(log)) if data == log => (Modelled::All, data),
        // The log may lie on another device than the data.
        (Some(data), Some(log)) => (Modelled::All, format!("{data} and {log}")),
        (Some(data), None) if log_apart => (Modelled::Data, data),
        (Some(data), None) => (Modelled::All, data),
        (None, Some(log)) => (Modelled::Log, log),
    };
    let model = match device == plan::DeviceModel::Plain.word() {
        true => Layer::Served { what },
        false => Layer::Model { what, device },
    };
    // Between a loop device and its file.
    let looped = [Layer::said("loop"), Layer::said("file")];
    let loop_at = layers.windows(2).position(|two| *two == looped);
    layers.insert(loop_at.map_or(layers.len(), |at| at + 1), model);
    Layers(layers)
}

/// Which file a device service shows at a path.
fn identity_of(path: &Path) -> anyhow::Result<sandbox::Identity> {
    let file = std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?;
    sandbox::Identity::of(&file).with_context(|| format!("look at {}", path.display()))
}

/// What is wrong with the file or its size, if anything. Not whether all of it is on the disk: file systems may have
/// zeroed parts of it by now.
fn replaced_or_resized(file: &LunFile) -> Option<LunError> {
    file.check()
        .err()
        .filter(|error| !matches!(error, LunError::NotWhole { .. }))
}

/// Room for all files of each directory together, before the first is made.
fn check_room(study: &Study) -> anyhow::Result<()> {
    let mut needed: BTreeMap<&Path, u64> = BTreeMap::new();
    for set in &study.luns {
        if let LunSource::Files { count, size, dir } = &set.source {
            *needed.entry(dir).or_default() += size.0 * u64::from(*count);
        }
    }
    for (dir, bytes) in needed {
        luns::check_space(dir, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::layers_on;
    use ledger::Layer;

    #[test]
    fn a_stack_is_known_by_its_model_wherever_that_is() {
        let hdd = || Some("a disk".to_string());
        let on = |names: &[&str], data, log, apart| {
            let layers = names.iter().map(|name| Layer::said(name)).collect();
            layers_on(layers, data, log, apart).to_string()
        };
        let all = |data, log, apart| on(&["ext4", "loop", "file"], data, log, apart);
        assert_eq!(all(None, None, true), "ext4/loop/file");
        assert_eq!(all(hdd(), None, false), "ext4/loop/modelled a disk/file");
        assert_eq!(all(hdd(), hdd(), true), "ext4/loop/modelled a disk/file");
        assert_eq!(all(None, hdd(), true), "ext4/loop/modelled a disk for the log/file");
        assert_eq!(
            on(&["ext4", "device"], None, hdd(), true),
            "ext4/device/modelled a disk for the log"
        );
    }
}
