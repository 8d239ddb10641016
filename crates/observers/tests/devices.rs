//! Real loop devices, a real btrfs over two of them, and the block tracepoints. Needs root.

// A skipped test says why.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use observers::{Backing, BlockEvent, BlockTrace, ObserveError, Snapshot, Tasks, lineage, quiet, syncfs, wait_idle};

/// Says why and skips; under `CI=true` a tool that `./test` installs must be there.
macro_rules! need {
    ($tools:expr) => {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: loop devices need root");
            return;
        }
        let tools: &[&str] = &$tools;
        if let Some(tool) = tools.iter().find(|tool| run("which", &[tool]).is_err()) {
            assert!(
                std::env::var("CI").as_deref() != Ok("true"),
                "{tool} is missing and ./test installs it"
            );
            eprintln!("skipped: {tool} is not installed");
            return;
        }
        if !Path::new("/dev/loop-control").exists() {
            eprintln!("skipped: this kernel has no loop devices");
            return;
        }
    };
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// A loop device with direct I/O over a written file; gone when dropped.
struct Loop {
    device: String,
    path: PathBuf,
}

impl Loop {
    fn new(path: &Path, mib: usize) -> Self {
        std::fs::write(path, vec![0x5a; mib << 20]).expect("there is room");
        let file = path.to_str().expect("a plain name");
        let device = run("losetup", &["--find", "--show", "--direct-io=on", file]).expect("a loop device");
        let made = Loop {
            device,
            path: path.to_path_buf(),
        };
        // Where udev runs it reads new devices to find out what they are; those reads are not the test's.
        let _ = run("udevadm", &["settle"]);
        let rest = wait_idle(&[made.name()], Duration::from_secs(10)).expect("it exists");
        assert!(rest.idle, "someone else uses {}", made.device);
        made
    }

    fn name(&self) -> String {
        self.device.trim_start_matches("/dev/").to_owned()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = run("losetup", &["-d", &self.device]);
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A mount; gone when dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = run("umount", &[self.0.to_str().expect("a plain name")]);
    }
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").expect("/var/tmp can be written")
}

/// Reads `pages` blocks of 8 KiB past the page cache.
fn read_direct(device: &str, pages: u64) {
    let flag = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = File::options()
        .read(true)
        .custom_flags(flag)
        .open(device)
        .expect("the device is there");
    // Direct I/O wants aligned memory: 8 KiB somewhere inside 16.
    let mut memory = vec![0u8; 16384];
    let shift = memory.as_ptr().align_offset(4096);
    for page in 0..pages {
        file.read_exact_at(&mut memory[shift..shift + 8192], page * 8192)
            .expect("inside the device");
    }
}

#[test]
fn a_loop_device_stands_on_what_its_file_stands_on() {
    need!(["losetup"]);
    let dir = scratch();
    let below = lineage(dir.path()).expect("it exists");
    if below.backing != Backing::Devices {
        eprintln!("skipped: /var/tmp is on no visible device");
        return;
    }
    let made = Loop::new(&dir.path().join("lun"), 8);
    let found = lineage(Path::new(&made.device)).expect("it exists");
    assert_eq!(found.file_system, None);
    assert_eq!(found.levels[0].devices, [made.name()]);
    assert_eq!(
        found.levels[1..],
        below.levels[..],
        "below the loop device is what is below its file"
    );
    assert_eq!(found.lowest, below.lowest);

    // What is read from the loop device is read below it, and both say the same.
    let devices = found.devices();
    let before = Snapshot::opening(&Tasks::read(), &devices).expect("they exist");
    read_direct(&made.device, 256);
    let (now, _) = Snapshot::closing(&devices).expect("they exist");
    let delta = now.since(&before);
    let top = delta.devices[&made.name()];
    assert_eq!((top.reads, top.read_bytes), (256, 256 * 8192));
    let bottom: u64 = found.lowest.iter().map(|name| delta.devices[name].read_bytes).sum();
    assert!(
        bottom >= 256 * 8192,
        "{bottom} bytes read below a loop device with direct I/O"
    );
    assert!(delta.unaccounted.is_empty());
    let threads = delta.kernel_threads.expect("root of the first PID namespace sees them");
    assert!(
        threads.cpu_ns > 0 && !threads.families.is_empty(),
        "someone must have served the loop device: {threads:?}"
    );

    syncfs(Path::new(&made.device)).expect("a device can be synced");
    let rest = wait_idle(&[made.name()], Duration::from_secs(5)).expect("it exists");
    assert!(rest.idle && rest.busy.is_empty(), "nobody else uses it: {rest:?}");
    assert!(quiet(&[made.name()], Duration::from_millis(20)).expect("it exists"));
}

/// Reads from a device without rest until told to end, and gives the longest time between two reads.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Reader {
    /// Begins, and waits until it reads.
    fn of(device: &str) -> Reader {
        let (device, stop) = (device.to_string(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let (begun, at_work) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
            read_direct(&device, 1);
            begun.send(()).expect("somebody waits");
            while !stopped.load(Ordering::Relaxed) {
                read_direct(&device, 1);
                longest = longest.max(last.elapsed());
                last = Instant::now();
            }
            longest.max(last.elapsed())
        });
        at_work.recv().expect("it reads");
        Reader { stop, thread }
    }

    fn end(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the reader ends")
    }
}

#[test]
fn a_device_in_use_is_not_idle() {
    need!(["losetup"]);
    let dir = scratch();
    let made = Loop::new(&dir.path().join("lun"), 8);
    let busy = [made.name()];
    let mut seen_busy = false;
    for _ in 0..50 {
        let reader = Reader::of(&made.device);
        let rest = wait_idle(&busy, Duration::from_millis(300)).expect("it exists");
        let quiet = quiet(&busy, Duration::from_millis(50)).expect("it exists");
        let longest = reader.end();
        // A machine that is busy elsewhere may keep the reader away for so long that the device did rest: between the
        // ends of two reads at the device lie at most two of the reader's.
        if longest >= Duration::from_millis(25) {
            continue;
        }
        seen_busy = true;
        assert!(
            !rest.idle && rest.busy == busy && rest.settled_ns > 0,
            "{rest:?}, {longest:?}"
        );
        assert!(rest.waited_ns >= 300_000_000, "{rest:?}");
        assert!(!quiet, "{longest:?}");
        break;
    }
    if !seen_busy {
        eprintln!("not looked: in 50 tries this machine never let anybody read for 350 ms without a pause");
    }
    let rest = wait_idle(&busy, Duration::from_secs(60)).expect("it exists");
    assert!(rest.idle, "the reader has ended: {rest:?}");
}

#[test]
fn all_devices_of_a_btrfs_are_found() {
    need!(["losetup", "mkfs.btrfs"]);
    if !std::fs::read_to_string("/proc/filesystems").is_ok_and(|text| text.contains("btrfs")) {
        eprintln!("skipped: this kernel has no btrfs");
        return;
    }
    let dir = scratch();
    let luns = [
        Loop::new(&dir.path().join("a"), 128),
        Loop::new(&dir.path().join("b"), 128),
    ];
    let mut arguments = vec!["-q", "-f", "-K", "-d", "raid0", "-m", "raid1"];
    arguments.extend(luns.iter().map(|made| made.device.as_str()));
    run("mkfs.btrfs", &arguments).expect("a file system");
    let point = dir.path().join("mnt");
    std::fs::create_dir(&point).expect("can be made");
    // -t auto needs udev to have told the kernel about the second device; naming it does not.
    let option = format!("device={},device={}", luns[0].device, luns[1].device);
    run(
        "mount",
        &[
            "-t",
            "btrfs",
            "-o",
            &option,
            &luns[0].device,
            point.to_str().expect("plain"),
        ],
    )
    .expect("a mount");
    let mounted = Mounted(point);
    let file = mounted.0.join("data");
    std::fs::write(&file, [1; 8192]).expect("there is room");
    let mut names: Vec<String> = luns.iter().map(Loop::name).collect();
    names.sort();
    for place in [&mounted.0, &file] {
        let found = lineage(place).expect("it exists");
        assert_eq!(found.file_system.as_deref(), Some("btrfs"));
        assert_eq!(found.levels[0].devices, names, "{found:?}");
        assert_eq!(found.levels[1..], lineage(dir.path()).expect("it exists").levels[..]);
    }
    drop(mounted);
}

/// Mounts tracefs where it is not; unmounts only what it mounted.
fn tracefs() -> Option<Option<Mounted>> {
    let point = Path::new("/sys/kernel/tracing");
    if point.join("instances").is_dir() {
        return Some(None);
    }
    run("mount", &["-t", "tracefs", "tracefs", "/sys/kernel/tracing"]).ok()?;
    Some(Some(Mounted(point.to_path_buf())))
}

#[test]
fn tracepoints_and_disk_statistics_agree() {
    need!(["losetup"]);
    let Some(mounted) = tracefs() else {
        eprintln!("skipped: this kernel has no tracefs");
        return;
    };
    const PAGES: u64 = 500;
    let dir = scratch();
    let made = Loop::new(&dir.path().join("lun"), 8);
    let mut trace = match BlockTrace::start(&made.name()) {
        Ok(trace) => trace,
        Err(ObserveError::Trace { path, source }) if source.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: this kernel has no block tracepoints: {}", path.display());
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let own = format!("assay-{}-", std::process::id());
    let instances = || {
        let names = std::fs::read_dir("/sys/kernel/tracing/instances").expect("mounted");
        names
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&own))
            .count()
    };
    assert_eq!(instances(), 1, "an instance of its own");
    let before = Snapshot::take(&[made.name()]).expect("it exists");
    read_direct(&made.device, PAGES);
    let delta = Snapshot::take(&[made.name()])
        .expect("it exists")
        .since(&before)
        .devices[&made.name()];
    for event in [BlockEvent::BioQueue, BlockEvent::RequestIssue] {
        let counts = trace.counts(event).expect("the pipe can be read");
        assert_eq!(
            (counts.reads.ios, counts.reads.bytes),
            (PAGES, PAGES * 8192),
            "{event:?}: {counts:?}"
        );
        assert_eq!(counts.writes.ios, 0, "{event:?}: {counts:?}");
    }
    assert_eq!((delta.reads, delta.read_bytes), (PAGES, PAGES * 8192));
    // Counts go on, and writes are told apart.
    let file = File::options().write(true).open(&made.device).expect("it is ours");
    file.write_all_at(&[3; 65536], 0).expect("inside the device");
    file.sync_all().expect("can be synced");
    drop(file);
    let counts = trace.counts(BlockEvent::RequestIssue).expect("the pipe can be read");
    // udev may look at a device that was written to, so a few more are no error; all of them again would be.
    assert!(
        (PAGES..PAGES * 2).contains(&counts.reads.ios),
        "the same reads are not counted twice: {counts:?}"
    );
    assert_eq!(counts.writes.bytes, 65536, "{counts:?}");
    assert_eq!(trace.lost().expect("told by the kernel"), 0);
    drop(trace);
    assert_eq!(instances(), 0, "the instance is gone");
    drop(mounted);
}
