//! The host around a phase: devices, processors, memory, pressure, from the first operation to the last device at rest.
//!
//! Takes the places of a stack, gives the ledger's measures. What the kernel does not tell is left out, never zero.

use crate::condition::Health;
use crate::host::beside::{self, Beside};
use crate::host::clients::Clients;
use crate::host::devices::Devices;
use crate::host::sides::Side;
use crate::luns::faults::DeviceFaults;
use crate::luns::models::{DeviceModels, ModelledSet};
use crate::pool::counted::Pools;
use crate::ports::{PageEngine, StackPort};
use crate::surroundings::{Seen, Surroundings};
use crate::trial::laid_out::DataFiles;
use anyhow::Context;
use ledger::{FileLayout, Measure, Sample};
use observers::{Delta, Snapshot, Tasks, Watch, Watched};
use stacks::{MountedPool, PoolCounted};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zpool::{Counted, Zpool};

/// Longest wait for devices to come to rest after a phase.
const REST_TIMEOUT: Duration = Duration::from_secs(20);

/// The same where the devices are others' too, who may keep them busy for ever. What is ours has been written by then.
const REST_TIMEOUT_SHARED: Duration = Duration::from_secs(1);

/// What to say of devices that did not come to rest.
fn restless(devices: &[String]) -> Option<String> {
    let waited = REST_TIMEOUT.as_secs();
    (!devices.is_empty()).then(|| {
        format!(
            "{} did not come to rest in {waited} s after the phase. The time of the phase includes them, and the next \
             phase begins on busy devices. Give that phase a `rest`",
            devices.join(", ")
        )
    })
}

/// From so many bytes written to its devices a stack may have moved data, whoever asked for it.
const MOVED_BYTES: f64 = 1024.0 * 1024.0;

/// Observes one stack on this host.
pub(crate) struct Host<'a> {
    devices: Devices,
    /// Files and devices whose file systems are synced at the end of a phase.
    sync: Vec<PathBuf>,
    /// Mount points of file systems that belong to the stack alone: what they use is the stack's.
    mounts: Vec<PathBuf>,
    /// 0 not enforced, 1 cgroup v1, 2 cgroup v2; with the budget.
    budget: Option<(u64, u8)>,
    began: Option<(Snapshot, Watch, Beside)>,
    /// What the stack has lost, if anything: such a phase does not count.
    health: &'a Health<'a>,
    /// Nearest devices that are counted apart too: source and target of a copy, data and log.
    sides: Vec<Side>,
    /// The data files, to see how they lie when something was written.
    files: Option<DataFiles>,
    /// Writes of data before the phase.
    writes: u64,
    /// Copies that the stack keeps of the data.
    copies: f64,
    /// Users that are played by this process, and the server that they speak to.
    clients: Option<Clients>,
    /// Modelled devices under the stack.
    models: DeviceModels<'a>,
    /// What goes wrong with them.
    faults: DeviceFaults,
    /// Nearest devices of the data, to be held against each other.
    data_devices: Vec<String>,
    /// Other hosts send requests to the same devices.
    of_several: bool,
    /// Pools of the stack.
    pools: Pools<'a>,
    /// Devices of the stack alone that did not come to rest after the phase.
    restless: Vec<String>,
    /// The host's page cache before the phase made its data, where it makes them itself.
    cache_before: Option<u64>,
}

impl<'a> Host<'a> {
    pub(crate) fn new(
        devices: Devices,
        sync: Vec<PathBuf>,
        mounts: Vec<PathBuf>,
        budget: Option<(u64, u8)>,
        health: &'a Health<'a>,
    ) -> Host<'a> {
        Host {
            devices,
            sync,
            mounts,
            budget,
            began: None,
            health,
            sides: Vec::new(),
            files: None,
            writes: 0,
            copies: 1.0,
            clients: None,
            models: DeviceModels::new(Vec::new()),
            faults: DeviceFaults::default(),
            data_devices: Vec::new(),
            of_several: false,
            pools: Pools::default(),
            restless: Vec::new(),
            cache_before: None,
        }
    }

    /// Counts the nearest devices of the two sides of a copy apart, if they are apart.
    pub(crate) fn with_sides(mut self, from: &Devices, to: &Devices) -> Host<'a> {
        self.sides = Side::both((from, Side::FROM), (to, Side::TO));
        self
    }

    /// Counts the devices of the data and those of the redo log apart, if they are apart.
    pub(crate) fn with_log(mut self, data: &Devices, log: &Devices) -> Host<'a> {
        self.sides = Side::both((data, Side::DATA), (log, Side::LOG));
        self.data_devices.clone_from(&data.near);
        self
    }

    /// Counts the devices of temporary files apart from those of the data, where they have LUNs of their own.
    pub(crate) fn with_temp(mut self, data: &Devices, temp: Option<&Devices>) -> Host<'a> {
        if let Some(temp) = temp {
            self.sides = Side::both((data, Side::DATA), (temp, Side::TEMP));
        }
        self
    }

    /// Counts what these pools do, and ends a phase only when they have written it.
    pub(crate) fn with_pools(mut self, pools: impl IntoIterator<Item = &'a Zpool>) -> Host<'a> {
        self.pools.pooled = pools.into_iter().map(|pool| (pool, Counted::default())).collect();
        self
    }

    /// The same of pools whose files are on mounts.
    pub(crate) fn with_mounted<'p>(mut self, pools: impl IntoIterator<Item = &'p MountedPool>) -> Host<'a> {
        let pools = pools.into_iter();
        self.pools.mounted = pools.map(|pool| (pool.clone(), PoolCounted::default())).collect();
        self
    }

    /// With other hosts: which LUN was slow is not known from this one's counts.
    pub(crate) fn one_of_several(mut self, of_several: bool) -> Host<'a> {
        self.of_several = of_several;
        self
    }

    /// Looks at these files after a phase that wrote data, of which the stack keeps so many copies.
    pub(crate) fn with_files(mut self, files: DataFiles, copies: u32) -> Host<'a> {
        self.files = Some(files);
        self.copies = f64::from(copies);
        self
    }

    /// Counts the users apart, and the server that they speak to, if it is one.
    pub(crate) fn with_clients(mut self, server: Option<u32>) -> Host<'a> {
        self.clients = Some(Clients::of(server));
        self
    }

    /// Counts what these modelled devices do.
    pub(crate) fn with_models(mut self, sets: Vec<ModelledSet<'a>>, faults: DeviceFaults) -> Host<'a> {
        self.models = DeviceModels::new(sets);
        self.faults = faults;
        self
    }

    /// How the data files lie after the phase; it is not counted in it.
    pub(crate) fn layouts(&self, port: &StackPort) -> anyhow::Result<Vec<FileLayout>> {
        self.files.as_ref().map_or(Ok(Vec::new()), |files| files.look(port))
    }
}

impl Surroundings for Host<'_> {
    fn expect(&mut self, phase: &plan::Phase) {
        self.faults.expect(&phase.faults);
    }

    fn begin(&mut self, instance: &mut PageEngine) -> anyhow::Result<()> {
        self.writes = instance.counters().data_writes;
        self.start()
    }

    fn settle(&mut self, _: &mut PageEngine) -> anyhow::Result<u64> {
        self.rest()
    }

    fn end(&mut self, instance: &mut PageEngine, full: bool) -> anyhow::Result<Seen> {
        let mut seen = self.stop()?;
        // The engine writes, or the stack itself does: a rebalance moves what nobody writes.
        let beside = seen
            .measures
            .iter()
            .find(|(measure, _)| *measure == Measure::NearWriteBytes);
        let wrote =
            instance.counters().data_writes > self.writes || beside.is_some_and(|(_, bytes)| *bytes >= MOVED_BYTES);
        if let Some(port) = instance.ports_mut().next().filter(|_| wrote) {
            match self.layouts(port) {
                // A full file system may refuse even to say where its files lie; that it is full is the result.
                Err(error) if full => seen
                    .notes
                    .push(format!("Assay could not read the layout of the data: {error:#}")),
                told => seen.layouts = told?,
            }
        }
        Ok(seen)
    }
}

impl Host<'_> {
    /// The phase is about to make its data: what they take of the page cache belongs to what is seen later.
    pub(crate) fn before_data(&mut self) -> anyhow::Result<()> {
        let memory = Snapshot::take(&[])?.memory;
        self.cache_before = memory.and_then(|memory| memory.page_cache_bytes());
        Ok(())
    }

    /// Just before the first request.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        self.pools.begin()?;
        let all = self.devices.all();
        let watch = Watch::start(&all, observers::DEFAULT_INTERVAL)?;
        self.models.begin()?;
        // It walks through all tasks, which no counter of the phase is to hold.
        if let Some(clients) = &mut self.clients {
            clients.start();
        }
        let tasks = Tasks::read();
        let beside = Beside::begin(&tasks, self.clients.as_ref().and_then(Clients::server), self.health);
        self.began = Some((Snapshot::opening(&tasks, &all)?, watch, beside));
        self.faults.begin();
        Ok(())
    }

    /// At most so long have all users together waited for the nearest devices since the start; `None`: none is seen.
    pub(crate) fn waited_ns_most(&self, users: u32) -> anyhow::Result<Option<u64>> {
        let Some((before, ..)) = &self.began else {
            return Ok(None);
        };
        let delta = Snapshot::take(&self.devices.all())?.since(before);
        let near: Option<Vec<_>> = self.devices.near.iter().map(|name| delta.devices.get(name)).collect();
        Ok(near.filter(|near| !near.is_empty()).map(|near| {
            let ms = near.iter().map(|device| (device.weighted_ms, device.busy_ms));
            waited_ms_most(ms, users) * 1_000_000
        }))
    }

    /// Syncs and waits for rest; gives the time that was spent only on proving it.
    pub(crate) fn rest(&mut self) -> anyhow::Result<u64> {
        self.pools.sync()?;
        for place in &self.sync {
            // A device that the stack goes on without can't be synced; such a phase does not count in any case.
            observers::syncfs(place).or_else(|error| (self.health)().lost.map_or(Err(error), |_| Ok(())))?;
        }
        let shared = self.sync.iter().any(|place| self.is_shared(place));
        let timeout = if shared { REST_TIMEOUT_SHARED } else { REST_TIMEOUT };
        let rest = observers::wait_idle(&self.devices.near, timeout)?;
        if !shared {
            self.restless = rest.busy;
        }
        // Devices that others keep busy settle for nobody: their time is none of the phase's.
        let settled_ns = if shared && !rest.idle { 0 } else { rest.settled_ns };
        Ok(rest.waited_ns.saturating_sub(settled_ns))
    }

    /// A place on a file system that is not the stack's alone.
    fn is_shared(&self, place: &Path) -> bool {
        let is_device = std::fs::metadata(place).is_ok_and(|found| found.file_type().is_block_device());
        !is_device && !self.mounts.iter().any(|mount| place.starts_with(mount))
    }

    /// What was seen since the start.
    pub(crate) fn stop(&mut self) -> anyhow::Result<Seen> {
        let (before, watch, beside) = self.began.take().context("a phase ended that had not begun")?;
        let (now, tasks) = Snapshot::closing(&self.devices.all())?;
        let delta = now.since(&before);
        let watched = watch.stop();
        let of_clients = self.clients.as_mut().map(|clients| clients.stop(&delta));
        let mut seen = Seen::default();
        seen.remarks.extend(self.faults.end());
        seen.notes.extend(restless(&std::mem::take(&mut self.restless)));
        let levels = Side::levels(&self.devices);
        seen.measures
            .extend(levels.iter().chain(&self.sides).flat_map(|side| side.of(&delta)));
        let server_bytes = of_clients
            .iter()
            .flatten()
            .find(|(measure, _)| *measure == Measure::MemoryServerBytesPeak)
            .map(|(_, bytes)| *bytes);
        match of_clients {
            Some(measures) => seen.measures.extend(measures),
            None => seen.measures.push((Measure::StackDataCopies, self.copies)),
        }
        let (others, looking_ns) = beside.end(&tasks, &delta, self.health);
        seen.measures.extend(others);
        if !self.of_several {
            let (unlike, remark) = beside::slowest_lun(&self.data_devices, &delta);
            seen.measures.extend(unlike);
            seen.remarks.extend(remark);
        }
        seen.measures.extend(host_of(&delta, &watched, looking_ns));
        let host_memory = (self.cache_before, self.devices.bytes());
        seen.measures
            .extend(memory_of(&delta, &watched, self.budget, host_memory));
        if let Some(bytes) = server_bytes {
            self.add_to_total(bytes, &mut seen.measures);
        }
        self.add_pools(&mut seen)?;
        seen.samples = samples(&watched, &self.devices);
        seen.samples.extend(self.models.course());
        let (modelled, late) = self.models.end(&delta)?;
        seen.measures.extend(modelled);
        seen.invalid = late;
        self.tell_losses(&delta, &mut seen);
        Ok(seen)
    }

    /// What went away during the phase, or could not be counted; what weighs most is why it does not count.
    fn tell_losses(&self, delta: &Delta, seen: &mut Seen) {
        if !delta.lost.is_empty() {
            let lost = delta.lost.join(", ");
            seen.invalid = Some(format!("{lost} went away or was made anew during the phase"));
        }
        if let Some(lost) = (self.health)().lost {
            seen.notes.push(lost.clone());
            seen.invalid = Some(lost);
        }
        if !delta.unaccounted.is_empty() {
            seen.notes.push(format!(
                "{}: I/O is not counted (queue/iostats is 0), so its bytes are unknown",
                delta.unaccounted.join(", ")
            ));
        }
    }

    /// What the pools did, their memory, and what is in use of the data's LUNs.
    fn add_pools(&self, seen: &mut Seen) -> anyhow::Result<()> {
        let did = self.pools.end()?;
        // The data's file system, or pool, comes first. What a redo log or temporary files take does not grow with it.
        let used = match self.mounts.first() {
            Some(mount) if !self.pools.are_mounted_at(mount) => used_bytes(mount),
            _ => did.used_bytes.first().copied().flatten(),
        };
        let used = used.or_else(|| (self.health)().used_bytes);
        seen.measures
            .extend(used.map(|bytes| (Measure::LunUsedBytes, bytes as f64)));
        seen.measures.extend(did.measures);
        seen.remarks.extend(did.remarks);
        add_to_peak(did.machine_cache_bytes as f64, &mut seen.measures);
        for bytes in did.processes {
            self.add_to_total(bytes as f64, &mut seen.measures);
        }
        Ok(())
    }

    /// Memory of another process of the stack's: where no group counts it with ours, it is added to the whole.
    fn add_to_total(&self, bytes: f64, measures: &mut [(Measure, f64)]) {
        if self.budget.is_none_or(|(_, how)| how == 0) {
            add_to_peak(bytes, measures);
        }
    }
}

fn add_to_peak(bytes: f64, measures: &mut [(Measure, f64)]) {
    let total = |(measure, _): &&mut (Measure, f64)| *measure == Measure::MemoryTotalBytesPeak;
    if let Some((_, total)) = measures.iter_mut().find(total) {
        *total += bytes;
    }
}

/// The longest that `users` can have waited for devices, of which each had requests for so many milliseconds, summed
/// over the requests, and at least one of them for so many. A wait lasts no longer than the requests that are waited
/// for, and nobody waits while no device has anything to do: the first counts what the kernel writes behind
/// everybody's back too, and the second keeps that within reason.
fn waited_ms_most(devices: impl Iterator<Item = (u64, u64)>, users: u32) -> u64 {
    let (requests, busy) = devices.fold((0, 0), |(a, b), (weighted, busy)| (a + weighted, b + busy));
    requests.min(busy.saturating_mul(u64::from(users)))
}

/// Bytes in use on a file system.
fn used_bytes(mount: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(mount).ok()?;
    Some((stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}

/// Processors, pressure, and what observing cost: within the phase, and just before and after it.
fn host_of(delta: &Delta, watched: &Watched, looking_ns: u64) -> Vec<(Measure, f64)> {
    let mut measures = vec![
        (Measure::CpuBusyNs, delta.cpu.all.busy_ns() as f64),
        (
            Measure::CpuUserNs,
            (delta.cpu.all.user_ns + delta.cpu.all.nice_ns) as f64,
        ),
        (
            Measure::CpuSystemNs,
            (delta.cpu.all.system_ns + delta.cpu.all.irq_ns + delta.cpu.all.softirq_ns) as f64,
        ),
        (Measure::CpuCores, delta.cpu.each.len() as f64),
        (Measure::ObserverCpuNs, (watched.cost.cpu_ns + delta.cost_cpu_ns) as f64),
        (Measure::ObserverAroundCpuNs, (delta.walk_cpu_ns + looking_ns) as f64),
    ];
    let mut add = |measure, value: Option<f64>| measures.extend(value.map(|v| (measure, v)));
    add(Measure::CpuIdleShare, delta.cpu.idle_share());
    let allowed = delta.cpu.allowed;
    add(Measure::CpuAllowed, allowed.map(|some| f64::from(some.processors)));
    add(
        Measure::CpuAllowedBusyNs,
        allowed.map(|some| some.times.busy_ns() as f64),
    );
    add(
        Measure::CpuOwnNs,
        delta.own.and_then(|own| own.cpu_ns).map(|ns| ns as f64),
    );
    add(
        Measure::CpuKernelThreadsNs,
        delta.kernel_threads.as_ref().map(|k| k.cpu_ns as f64),
    );
    let pressure = &delta.pressure;
    let us = |us: u64| us as f64 * 1e3;
    add(Measure::PsiCpuSomeNs, pressure.cpu.map(|s| us(s.some_us)));
    add(Measure::PsiIoSomeNs, pressure.io.map(|s| us(s.some_us)));
    add(Measure::PsiIoFullNs, pressure.io.and_then(|s| s.full_us).map(us));
    add(Measure::PsiMemorySomeNs, pressure.memory.map(|s| us(s.some_us)));
    measures
}

/// Memory at its highest, sampled; the group's own figures where a budget is enforced, the host's elsewhere.
/// `before`: the page cache before the phase's data were made; `held`: bytes that the stack's devices hold.
fn memory_of(
    delta: &Delta,
    watched: &Watched,
    budget: Option<(u64, u8)>,
    (before, held): (Option<u64>, Option<u64>),
) -> Vec<(Measure, f64)> {
    let most = |of: fn(&observers::Sample) -> Option<u64>| watched.samples.iter().filter_map(of).max();
    let enforced = budget.is_some_and(|(_, how)| how > 0);
    let rss = most(|s| s.rss_bytes);
    let host_cache = most(|s| s.page_cache_bytes);
    let ends = [delta.cgroup.0.as_ref(), delta.cgroup.1.as_ref()];
    let group_cache = ends.iter().flatten().filter_map(|g| g.file_bytes).max();
    let cache = if enforced {
        group_cache.or(host_cache)
    } else {
        host_cache
    };
    let total = if enforced {
        most(|s| s.cgroup_bytes)
    } else {
        // Nobody is charged by itself: what the host's page cache grew by since the phase began, at most what the
        // stack's devices hold. What others read meanwhile is in it.
        let before = before.or_else(|| delta.memory.0.and_then(|m| m.page_cache_bytes()));
        rss.zip(host_cache)
            .zip(before)
            .map(|((rss, cache), before)| rss + cache.saturating_sub(before).min(held.unwrap_or(u64::MAX)))
    };
    let mut measures = Vec::new();
    let mut add = |measure, value: Option<u64>| measures.extend(value.map(|v| (measure, v as f64)));
    add(Measure::MemoryOwnBytesPeak, rss);
    add(Measure::MemoryCacheBytesPeak, cache);
    add(Measure::MemoryDirtyPeak, most(|s| s.dirty_bytes));
    add(Measure::MemoryTotalBytesPeak, total);
    if let Some((bytes, how)) = budget {
        add(Measure::MemoryBudgetBytes, Some(bytes));
        add(Measure::MemoryBudgetEnforced, Some(u64::from(how)));
    }
    measures
}

/// The time series kept: device traffic of the nearest and of the lowest devices, processors, memory.
fn samples(watched: &Watched, devices: &Devices) -> Vec<Sample> {
    let begin = watched
        .samples
        .first()
        .map_or(0, |s| s.at_ns.saturating_sub(s.elapsed_ns));
    let mut rows = Vec::new();
    for sample in &watched.samples {
        let at_ns = sample.at_ns.saturating_sub(begin);
        let mut add = |name: &str, value: Option<f64>| {
            rows.extend(value.map(|value| Sample {
                at_ns,
                name: name.to_string(),
                value,
            }));
        };
        for (level, names) in [("near", &devices.near), ("low", &devices.low)] {
            let of = |f: fn(&observers::DeviceSample) -> u64| -> Option<f64> {
                let mut sum = 0;
                for (name, device) in watched.devices.iter().zip(&sample.devices) {
                    if names.contains(name) {
                        sum += f(device.as_ref()?);
                    }
                }
                sample.per_second(sum)
            };
            add(&format!("device.{level}.read_bytes_per_s"), of(|d| d.read_bytes));
            add(&format!("device.{level}.write_bytes_per_s"), of(|d| d.write_bytes));
            add(&format!("device.{level}.reads_per_s"), of(|d| d.reads));
            add(&format!("device.{level}.writes_per_s"), of(|d| d.writes));
        }
        add(
            "cpu.busy_cores",
            sample
                .cpu
                .and_then(|c| sample.per_second(c.busy_ns()))
                .map(|ns| ns / 1e9),
        );
        add("memory.page_cache_bytes", sample.page_cache_bytes.map(|b| b as f64));
        add("memory.dirty_bytes", sample.dirty_bytes.map(|b| b as f64));
        add("memory.own_bytes", sample.rss_bytes.map(|b| b as f64));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{Snapshot, Watched, memory_of, waited_ms_most};
    use ledger::Measure;

    #[test]
    fn memory_of_data_that_a_phase_made_is_in_its_total() {
        let now = Snapshot::take(&[]).unwrap();
        let mut delta = now.since(&now);
        delta.memory.0 = Some(observers::Memory {
            cached_bytes: Some(700),
            buffers_bytes: Some(0),
            ..observers::Memory::default()
        });
        let sample = observers::Sample {
            rss_bytes: Some(10),
            page_cache_bytes: Some(900),
            ..observers::Sample::default()
        };
        let watched = Watched {
            samples: vec![sample],
            ..Watched::default()
        };
        let total = |before, held| {
            let all = memory_of(&delta, &watched, None, (before, held));
            let total = all
                .iter()
                .find(|(measure, _)| *measure == Measure::MemoryTotalBytesPeak);
            total.unwrap().1
        };
        assert_eq!(total(Some(100), None), 810.0, "from before the data");
        assert_eq!(total(None, None), 210.0, "from the start");
        assert_eq!(total(Some(100), Some(500)), 510.0, "no more than the devices hold");
    }

    /// Eight users who do nothing but wait for two devices wait eight times as long as either is busy; one user who
    /// waits alone is not charged for what is written behind his back.
    #[test]
    fn users_wait_for_all_their_requests_and_only_while_a_device_is_busy() {
        let one = |requests, busy, users| waited_ms_most([(requests, busy)].into_iter(), users);
        assert_eq!(one(8000, 1000, 8), 8000);
        assert_eq!(one(400, 390, 8), 400, "one request at a time");
        assert_eq!(one(30_000, 50, 1), 50, "a burst of writeback");
        assert_eq!(waited_ms_most([(4000, 1000), (4000, 1000)].into_iter(), 8), 8000);
    }
}
