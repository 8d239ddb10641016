//! The room against the running kernel: figures must move when something is done, and by as much as was done.

// A skipped test says why.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use observers::{Backing, Snapshot, Tasks, Watch, device_facts, host_facts, lineage, quiet, syncfs, wait_idle};

/// Devices under the directory for temporary files; `None`, said aloud, where they cannot be seen (a container).
fn devices_below(dir: &Path) -> Option<Vec<String>> {
    let found = lineage(dir).expect("the directory exists");
    if found.backing != Backing::Devices || found.lowest.is_empty() {
        eprintln!(
            "skipped: {} has no visible device below it: {:?}",
            dir.display(),
            found.notes
        );
        return None;
    }
    Some(found.devices())
}

/// `/var/tmp` is on storage where `/tmp` may be memory.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").expect("/var/tmp can be written")
}

fn burn(time: Duration) {
    let begin = Instant::now();
    let mut x = 1u64;
    while begin.elapsed() < time {
        for _ in 0..1000 {
            x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
        }
    }
}

#[test]
fn what_is_written_and_synced_is_seen_at_every_device() {
    const BYTES: u64 = 16 << 20;
    let dir = scratch();
    let Some(devices) = devices_below(dir.path()) else {
        return;
    };
    let lowest = lineage(dir.path()).expect("again").lowest;
    let before = Snapshot::take(&devices).expect("the devices exist");
    let path = dir.path().join("data");
    let mut file = File::create(&path).expect("can be made");
    // Not zeros: a file system that compresses would write none of them.
    let mut x = 88172645463325252u64;
    let mut words = Vec::with_capacity(BYTES as usize);
    while (words.len() as u64) < BYTES {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        words.extend_from_slice(&x.to_le_bytes());
    }
    file.write_all(&words).expect("there is room");
    syncfs(&path).expect("a file can be synced");
    let pipe = path.with_extension("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    syncfs(&pipe).expect("a pipe in the place of a file is not waited for");
    std::fs::remove_file(&pipe).expect("removed");
    let rest = wait_idle(&devices, Duration::from_secs(3)).expect("the devices exist");
    let delta = Snapshot::take(&devices).expect("the devices exist").since(&before);
    assert!(delta.lost.is_empty(), "{:?}", delta.lost);
    let written: u64 = lowest.iter().map(|name| delta.devices[name].write_bytes).sum();
    assert!(written >= BYTES, "{written} bytes at {lowest:?} for {BYTES} written");
    let io = delta.own_io.expect("/proc/self/io can be read by its owner");
    assert!(io.write_asked_bytes >= BYTES && io.write_bytes >= BYTES, "{io:?}");
    assert!(delta.vm.and_then(|vm| vm.paged_out_bytes).expect("pgpgout") >= BYTES);
    assert!(rest.waited_ns >= 50_000_000, "rest takes 50 ms to prove: {rest:?}");
    assert!(rest.settled_ns <= rest.waited_ns);
    assert_eq!(rest.idle, rest.busy.is_empty());
}

#[test]
fn own_work_is_own_time_and_the_machines_time() {
    let before = Snapshot::take(&[]).expect("/proc/stat is there");
    burn(Duration::from_millis(300));
    let delta = Snapshot::take(&[]).expect("/proc/stat is there").since(&before);
    let own = delta.own.expect("/proc/self/stat is there");
    let cpu_ns = own.cpu_ns.expect("live");
    // Other tests run in this process beside us, and others' load may take our core: only bounds that always hold.
    assert!(cpu_ns > 50_000_000, "{cpu_ns} ns for 300 ms of work");
    let ticks_ns = own.user_ns + own.system_ns;
    assert!(
        ticks_ns.abs_diff(cpu_ns) < cpu_ns / 2 + 50_000_000,
        "clock {cpu_ns} ns against ticks {ticks_ns} ns"
    );
    assert!(delta.cpu.all.busy_ns() > 0);
    assert!(!delta.cpu.each.is_empty());
    let share = delta.cpu.idle_share().expect("ticks have passed");
    assert!((0.0..1.0).contains(&share), "{share}");
    assert!(delta.elapsed_ns >= 300_000_000);
    assert!(delta.cost_cpu_ns > 0, "looking costs something");
}

#[test]
fn a_look_between_begin_and_end_walks_through_no_tasks() {
    let begin = Snapshot::opening(&Tasks::read(), &[]).expect("/proc is there");
    let between = Snapshot::take(&[]).expect("/proc is there");
    let (end, tasks) = Snapshot::closing(&[]).expect("/proc is there");
    assert!(begin.walk_cpu_ns > 0 && end.walk_cpu_ns >= tasks.cost_cpu_ns && tasks.cost_cpu_ns > 0);
    assert_eq!((between.walk_cpu_ns, &between.kernel_threads), (0, &None));
    assert!(between.since(&begin).kernel_threads.is_none());
    assert!(begin.at_ns < between.at_ns && between.at_ns < end.at_ns);
}

#[test]
fn memory_in_use_is_seen() {
    let before = Snapshot::take(&[]).expect("/proc is there");
    let mut block = vec![1u8; 96 << 20];
    block[4096] = 2;
    let after = Snapshot::take(&[]).expect("/proc is there");
    std::hint::black_box(&block);
    let delta = after.since(&before);
    let (Some(begin), Some(end)) = delta.rss_bytes else {
        panic!("VmRSS is there")
    };
    // Other tests of this process give memory back meanwhile: what is held is there, whatever it was before.
    assert!(begin > 0 && end >= 96 << 20, "{begin} to {end} bytes");
    let peak = after.own.and_then(|own| own.rss_bytes_peak).expect("VmHWM is there");
    assert!(peak >= 96 << 20, "{peak}");
    let memory = after.memory.expect("/proc/meminfo is there");
    assert!(memory.total_bytes > memory.free_bytes && memory.cached_bytes.is_some() && memory.slab_bytes.is_some());
}

#[test]
fn a_watch_costs_under_half_a_percent_of_a_core() {
    let dir = scratch();
    let devices = devices_below(dir.path()).unwrap_or_default();
    let watch = Watch::start(&devices, observers::DEFAULT_INTERVAL).expect("the devices exist");
    let file = File::create(dir.path().join("data")).expect("can be made");
    let begin = Instant::now();
    let mut asked = 0;
    while begin.elapsed() < Duration::from_millis(2100) {
        file.write_all_at(&[7u8; 65536], 0).expect("there is room");
        file.sync_all().expect("can be synced");
        asked += 65536;
        std::thread::sleep(Duration::from_millis(5));
    }
    let watched = watch.stop();
    let share = watched.cost.core_share().expect("time has passed");
    eprintln!("{:.4} % of a core: {:?}", share * 100.0, watched.cost);
    assert!(share < 0.005, "{share} of a core: {:?}", watched.cost);
    assert_eq!(watched.samples.len() as u64, watched.cost.samples);
    // A sync may take long on a busy disk, so the number that was due follows from the time that passed.
    let due = watched.cost.elapsed_ns / 250_000_000;
    let accounted = watched.cost.samples + watched.cost.missed;
    assert!(
        (due..=due + 2).contains(&accounted),
        "{due} were due: {:?}",
        watched.cost
    );
    assert_eq!(watched.cost.failed, 0);
    let elapsed: u64 = watched.samples.iter().map(|sample| sample.elapsed_ns).sum();
    assert_eq!(elapsed, watched.cost.elapsed_ns, "samples leave no gap");
    assert!(watched.samples.is_sorted_by_key(|sample| sample.at_ns));
    if let Some(lowest) = lineage(dir.path()).expect("it exists").lowest.first() {
        let at = watched
            .devices
            .iter()
            .position(|name| name == lowest)
            .expect("it is watched");
        let written: u64 = watched
            .samples
            .iter()
            .filter_map(|sample| sample.devices[at])
            .map(|d| d.write_bytes)
            .sum();
        assert!(written >= asked / 2, "{written} bytes seen of {asked} written");
    }
}

#[test]
fn a_watch_that_is_dropped_ends() {
    let begin = Instant::now();
    drop(Watch::start(&[], Duration::from_secs(60)).expect("needs no device"));
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "it must not wait for its next sample"
    );
}

#[test]
fn a_device_that_does_not_exist_is_named() {
    let none = vec!["no-such-device".to_owned()];
    for message in [
        Snapshot::take(&none).expect_err("it does not exist").to_string(),
        wait_idle(&none, Duration::ZERO)
            .expect_err("it does not exist")
            .to_string(),
        quiet(&none, Duration::ZERO).expect_err("it does not exist").to_string(),
        Watch::start(&none, Duration::from_secs(1))
            .err()
            .expect("it does not exist")
            .to_string(),
    ] {
        assert!(message.contains("no-such-device"), "{message}");
        assert!(
            message
                .lines()
                .last()
                .is_some_and(|cure| cure.starts_with("name a device")),
            "{message}"
        );
    }
    assert!(
        lineage(Path::new("/no/such/place"))
            .expect_err("it does not exist")
            .to_string()
            .contains("/no/such/place")
    );
}

#[test]
fn main_memory_is_not_storage() {
    let shm = Path::new("/dev/shm");
    if !shm.exists() {
        eprintln!("skipped: no /dev/shm");
        return;
    }
    let found = lineage(shm).expect("it exists");
    assert_eq!(found.backing, Backing::Memory, "{found:?}");
    assert!(found.levels.is_empty() && found.lowest.is_empty() && !found.notes.is_empty());
}

#[test]
fn facts_name_host_kernel_and_device() {
    let facts = host_facts();
    let of = |name: &str| {
        facts
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    for name in ["host", "kernel", "cpus", "memory bytes", "clock source"] {
        assert!(
            of(name).is_some_and(|value| !value.is_empty()),
            "{name} is missing in {facts:?}"
        );
    }
    let dir = scratch();
    for device in devices_below(dir.path()).unwrap_or_default() {
        let facts = device_facts(&device);
        let bytes = facts
            .iter()
            .find(|(name, _)| name == "size bytes")
            .map(|(_, value)| value.parse::<u64>());
        assert!(
            bytes.is_some_and(|bytes| bytes.is_ok_and(|bytes| bytes > 0)),
            "{device}: {facts:?}"
        );
    }
    assert!(device_facts("no-such-device").is_empty());
}
