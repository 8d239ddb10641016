//! Traps on real devices, mounts and processes of this machine. Need root and loop devices.
//!
//! A busy neighbour makes many of these runs SUSPECT in other lines; each trap and each twin is held to its own line only.

use crate::bench::is_full;
use crate::limited::Limited;
use crate::rig::{Rig, Running, text, tool, which};
use crate::sheet::{Judged, STUDY, Trap, at, must_have, on};
use ledger::{Ledger, Measure};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) const DATABASE: &str =
    "[database]\ncache = \"1MiB\"\nschemas = 4\nscale = \"8MiB\"\nredo_size = \"4MiB\"\ncheckpoint = \"50ms\"\n";

/// Whole runs: where stacks take turns their memory is no figure of theirs.
pub(crate) fn head() -> &'static str {
    "[study]\nname = \"trap\"\nquestion = \"Is it seen?\"\ntime_limit = \"10m\"\nblocks = 4\nseed = 5\nio = \"ring\"\nschedule = \"whole\"\n"
}

fn directory(name: &str, place: &Path, more: &str) -> String {
    format!(
        "[[stack]]\nname = \"{name}\"\nkind = \"directory\"\npath = \"{}\"\n{more}\n",
        place.display()
    )
}

pub(crate) fn reads(time: &str) -> String {
    format!(
        "[[phase]]\nname = \"work\"\nkind = \"random\"\nupdate_pct = 20\nsessions = 4\nwork_unit = 4\ntime = \"{time}\"\n"
    )
}

/// The same after a scan, so that a cache below has all of it.
fn warm_reads(time: &str) -> String {
    let scan = "[[phase]]\nname = \"warm\"\nkind = \"scan\"\nusers = 4\nranked = false\n";
    [scan, &reads(time)].concat()
}

/// Runs a study that must come through, and gives its report.
pub(crate) fn report(rig: &Rig, name: &str, study: &str) -> Value {
    let study = rig.study(name, study);
    let ran = rig.run(&study, &rig.result(name), &["--quiet", "--yes"]);
    ran.expect(0, &[]);
    told(rig, name)
}

pub(crate) fn told(rig: &Rig, name: &str) -> Value {
    let ran = Running::start(rig.assay(&["report", text(&rig.result(name)), "--json"])).wait();
    ran.expect(0, &[]);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// Memory as a place, gone when dropped.
pub(crate) struct InMemory(tempfile::TempDir);

impl InMemory {
    pub(crate) fn new() -> InMemory {
        let made = tempfile::Builder::new().prefix("assay-test-").tempdir_in("/dev/shm");
        InMemory(made.expect("a directory in memory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        for entry in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
            let file = std::fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
            if Path::new(file.trim_end()).starts_with(self.path()) {
                let device = Path::new("/dev").join(entry.file_name());
                let _ = Command::new("losetup").arg("-d").arg(device).status();
            }
        }
    }
}

pub(crate) fn all(rig: &mut Rig) -> Vec<Judged> {
    [
        places(rig),
        luns(rig),
        neighbours(rig),
        limited(rig),
        generator(rig),
        horde(rig),
    ]
    .concat()
}

/// Mounts, partitions, read-ahead, access: seven directories in three studies.
fn places(rig: &mut Rig) -> Vec<Judged> {
    let memory = InMemory::new();
    let one = rig.small_file_system("one", 48);
    let two = rig.small_file_system("two", 48);
    let askew = rig.askew_file_system("askew");
    let other = rig.small_file_system("other", 48);
    let journalled = rig.small_file_system("journalled", 48);
    let its = under(&journalled);
    tool("umount", &[text(&journalled)]);
    tool("mount", &["-o", "data=journal", text(&its), text(&journalled)]);
    tool("losetup", &["--direct-io=on", text(&its)]);
    tool("mount", &["-o", "remount,noatime", text(&other)]);
    tool("blockdev", &["--setra", "8192", text(&under(&other))]);
    tool("losetup", &["--direct-io=on", text(&under(&one))]);
    tool("losetup", &["--direct-io=off", text(&under(&two))]);
    let stacks = [
        directory("one", &one, ""),
        directory("two", &two, ""),
        directory("shm", memory.path(), ""),
        directory("askew", &askew, ""),
        directory("journalled", &journalled, ""),
    ];
    let mut elsewhere = vec![moved_elsewhere()];
    let alike = report(
        rig,
        "alike",
        &[head(), &stacks.concat(), DATABASE, &warm_reads("150ms")].concat(),
    );
    elsewhere.push(moved_elsewhere());
    must_have(&alike, STUDY, &["memory alike"]);
    let trap = |name, objection, line| Trap { name, objection, line };
    let again = [head(), &stacks[..2].concat(), DATABASE, &warm_reads("150ms")].concat();
    let mut all = vec![
        served_below(rig, alike.clone(), elsewhere, &again),
        trap(
            "a target that takes O_DIRECT and ignores it",
            "O_DIRECT on one side only",
            ("direct access", "suspect"),
        )
        .judge((&alike, on("shm")), (&alike, on("one"))),
        // ext4 that journals data takes the flag, and reads and writes through its cache all the same.
        trap(
            "a file system on a disk that takes O_DIRECT and ignores it",
            "the file system cached it, whatever it was asked",
            ("direct access", "suspect"),
        )
        .judge(
            (&alike, on("journalled").saying("through the page cache")),
            (&alike, on("one")),
        ),
        trap(
            "a partition that begins in the middle of a block",
            "the partition was misaligned",
            ("alignment", "suspect"),
        )
        .judge((&alike, on("askew")), (&alike, on("one"))),
    ];
    all.extend(mounted(rig, &one, &two, &other));
    all
}

/// What a neighbour reads from the disk below counts for the stack, there is no telling whose it was: on a disk that others use it is set again.
fn served_below(rig: &Rig, mut found: Value, mut elsewhere: Vec<u64>, again: &str) -> Judged {
    let trap = Trap {
        name: "the page cache below a loop device serves a direct run",
        objection: "the file system cache served it",
        line: ("provenance", "invalid"),
    };
    for nth in 0..3 {
        let judged = trap.judge((&found, at("two", "work")), (&found, at("one", "work")));
        if judged.wrong().is_none() {
            return judged;
        }
        found = report(rig, &format!("served{nth}"), again);
        elsewhere.push(moved_elsewhere());
    }
    match elsewhere.iter().all(|bytes| *bytes < 256 << 10) {
        true => trap.judge((&found, at("two", "work")), (&found, at("one", "work"))),
        false => trap.not_set("others use the disk below just now"),
    }
}

/// One and other are mounted with unlike options and read ahead unlike, one and two alike; all through the page cache.
fn mounted(rig: &Rig, one: &Path, two: &Path, other: &Path) -> Vec<Judged> {
    let pair = |name: &str, second: &Path| {
        let stacks = [one, second].map(|place| {
            let name = place.file_name().and_then(|name| name.to_str()).expect("a name");
            directory(name, place, "access = \"buffered\"")
        });
        let study = [head(), &stacks.concat(), DATABASE, &reads("60ms")].concat();
        report(rig, name, &study)
    };
    let (unlike, even) = (pair("unlike", other), pair("even", two));
    let trap = |name, objection, line| Trap { name, objection, line };
    vec![
        trap(
            "two stacks with unlike mount options",
            "you did not disclose the configuration",
            ("mount options", "suspect"),
        )
        .judge((&unlike, STUDY), (&even, STUDY)),
        trap(
            "another read-ahead on one side",
            "one of them read ahead",
            ("read-ahead", "suspect"),
        )
        .judge((&unlike, STUDY), (&even, STUDY)),
    ]
}

/// LUNs: one of another size and never written, among fellows in memory.
fn luns(rig: &mut Rig) -> Vec<Judged> {
    let memory = InMemory::new();
    let full = |name: &str| loop_on(&memory.path().join(name), Some(48));
    let even: Vec<PathBuf> = ["a", "b", "c"].map(full).into();
    let odd: Vec<PathBuf> = ["d", "e"].map(full).into();
    let redo = full("redo");
    let sparse = rig.path("sparse");
    File::create(&sparse)
        .and_then(|file| file.set_len(64 << 20))
        .expect("made");
    let sparse = loop_on(&sparse, None);
    tool("losetup", &["--direct-io=on", text(&sparse)]);
    let list = |devices: &[PathBuf]| {
        let quoted: Vec<String> = devices.iter().map(|d| format!("\"{}\"", d.display())).collect();
        format!("devices = [{}]\noverwrite = true\n", quoted.join(", "))
    };
    let odd = [odd, vec![sparse.clone()]].concat();
    let sets = format!(
        "[luns.even]\n{}[luns.odd]\n{}[luns.redo]\n{}",
        list(&even),
        list(&odd),
        list(&[redo])
    );
    let raw =
        |name: &str| format!("[[stack]]\nname = \"{name}\"\nkind = \"raw\"\ndata = \"{name}\"\nredo = \"redo\"\n");
    let (database, phase) = (
        DATABASE.replace("schemas = 4", "schemas = 6"),
        reads("200ms").replace("sessions = 4", "sessions = 6"),
    );
    let study = [head(), &sets, &raw("even"), &raw("odd"), &database, &phase].concat();
    let found = report(rig, "luns", &study);
    let trap = |name, objection, line| Trap { name, objection, line };
    vec![
        trap(
            "LUNs that are not alike",
            "the LUNs were not the same",
            ("LUNs alike", "suspect"),
        )
        .judge((&found, STUDY.saying("odd:")), (&found, STUDY.saying("even:"))),
        trap(
            "a sparse file that was never written",
            "it read from nowhere, at the speed of memory",
            ("LUN whole", "suspect"),
        )
        .judge((&found, STUDY.saying("odd:2:")), (&found, STUDY.saying("even:"))),
    ]
}

/// Threads of this process, which is no part of the run: they stop when dropped.
struct Hogs {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    fn start(works: Vec<Box<dyn FnMut() + Send>>) -> Hogs {
        let over = Arc::new(AtomicBool::new(false));
        let one = |mut work: Box<dyn FnMut() + Send>| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    work();
                }
            })
        };
        let threads = works.into_iter().map(one).collect();
        Hogs { over, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Each is looked at twice a phase, which takes some ten microseconds.
const PROCESSES: u32 = 3_000;

/// Half as much again as the line asks for, in each of four blocks.
const TRAFFIC_MIB_MIN: u64 = 4 * 24;

/// Two threads that compute, and one that writes to the stack's own file system.
fn neighbours(rig: &mut Rig) -> Vec<Judged> {
    let place = rig.small_file_system("shared", 64);
    let study = [head(), &directory("one", &place, ""), DATABASE, &reads("400ms")].concat();
    let before = busy_elsewhere();
    let rested = report(rig, "rested", &study);
    let busy = before.max(busy_elsewhere());
    // What is only told again elsewhere must have been recorded by a real run.
    must_have(
        &rested,
        at("one", "work"),
        &[
            "clock",
            "stolen CPU",
            "background CPU",
            "other processes' I/O",
            "host CPU",
            "data loss",
            "foreign traffic",
            "generator",
            "observer",
        ],
    );
    let file = File::create(place.join("neighbour")).expect("made");
    let block = vec![7u8; 8 << 20];
    let wrote_mib = Arc::new(AtomicU64::new(0));
    let counted = wrote_mib.clone();
    let writes = move || {
        file.write_all_at(&block, 0).expect("written");
        file.sync_data().expect("synced");
        counted.fetch_add(8, Ordering::Relaxed);
    };
    let computes = || {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
    };
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let mut works: Vec<Box<dyn FnMut() + Send>> = vec![Box::new(writes)];
    works.extend((0..processors).map(|_| Box::new(computes) as Box<dyn FnMut() + Send>));
    let hogs = Hogs::start(works);
    let found = report(rig, "beside", &study);
    drop(hogs);
    let work = at("one", "work");
    let hog = Trap {
        name: "programs that compute beside the run",
        objection: "something else used the processors",
        line: ("background CPU", "suspect"),
    };
    let hog = hog.judge((&found, work), (&rested, work));
    let traffic = Trap {
        name: "another process writes to the stack's own disk",
        objection: "somebody else used the disk",
        line: ("other processes' I/O", "suspect"),
    };
    let hog = match busy > 0.05 {
        true => hog.without_twin("this machine does much else just now"),
        false => hog,
    };
    let traffic = match wrote_mib.load(Ordering::Relaxed) {
        mib if mib < TRAFFIC_MIB_MIN => traffic.not_set(&format!("the disk took {mib} MiB of the neighbour's writes")),
        _ => traffic.judge((&found, work), (&rested, work)),
    };
    vec![hog, traffic]
}

/// Share of the processors that others use, while this process sleeps: by the kernel's own account, read here and not by the tool.
fn busy_elsewhere() -> f64 {
    let read = || -> (f64, f64) {
        let text = std::fs::read_to_string("/proc/stat").expect("read");
        let line = text.lines().next().expect("a line");
        let ticks: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .map(|n| n.parse().expect("ticks"))
            .collect();
        (ticks.iter().sum(), ticks[3] + ticks[4])
    };
    let (all, idle) = read();
    std::thread::sleep(Duration::from_millis(400));
    let (all_after, idle_after) = read();
    1.0 - (idle_after - idle) / (all_after - all).max(1.0)
}

/// Bytes that all disks move while this process sleeps.
fn moved_elsewhere() -> u64 {
    let read = || -> u64 {
        let text = std::fs::read_to_string("/proc/diskstats").expect("read");
        let sectors = |line: &str| -> u64 {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |nth: usize| words.get(nth).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            number(5) + number(9)
        };
        text.lines().map(sectors).sum::<u64>() * 512
    };
    let before = read();
    std::thread::sleep(Duration::from_millis(300));
    read() - before
}

/// The run held back by a limit on its processor time.
fn limited(rig: &mut Rig) -> Vec<Judged> {
    let trap = Trap {
        name: "a limit on processor time that nobody remembers",
        objection: "the container was throttled",
        line: ("throttling", "suspect"),
    };
    if !is_full() {
        return vec![trap.not_set("ASSAY_TEST_SIZE=full sets it: a run with a fifth of a processor takes its time")];
    }
    let Some(group) = Limited::new() else {
        return vec![trap.not_set("no control group for processor time can be made here")];
    };
    let place = rig.work();
    let study = [head(), &directory("one", &place, ""), DATABASE, &reads("150ms")].concat();
    let study = rig.study("limited", &study);
    let mut command = group.command(&rig.run_command(&study, &rig.result("limited"), &["--quiet"]));
    rig.furnish(&mut command);
    let began = Instant::now();
    Running::start(command).wait().expect(0, &[]);
    if group.held_back() < began.elapsed() / 10 {
        return vec![trap.not_set("this machine is so busy that the limit was hardly reached")];
    }
    let work = at("one", "work");
    // The studies before had no such limit.
    vec![trap.judge((&told(rig, "limited"), work), (&told(rig, "rested"), work))]
}

/// A target so fast that the generator is what is measured.
fn generator(rig: &mut Rig) -> Vec<Judged> {
    let trap = Trap {
        name: "a run that measures the generator",
        objection: "the host was the bottleneck",
        line: ("generator", "suspect"),
    };
    let memory = InMemory::new();
    let database = DATABASE.replace("cache = \"1MiB\"", "cache = \"32MiB\"");
    let phase = reads("250ms").replace("update_pct = 20", "update_pct = 0");
    let study = [head(), &directory("one", memory.path(), ""), &database, &phase].concat();
    let work = at("one", "work");
    let twin = told(rig, "rested");
    // The worker never waits for storage. If it had no processor all the time, something else was the bottleneck: set again.
    let mut had = 0.0;
    for nth in 0..5 {
        let name = format!("generator{nth}");
        let found = report(rig, &name, &study);
        had = processors_had(&rig.result(&name));
        let judged = trap.judge((&found, work), (&twin, work));
        if judged.caught.is_some() || had > 0.9 {
            return vec![judged];
        }
    }
    vec![trap.not_set(&format!(
        "other programs left its worker {:.0} % of a processor",
        had * 100.0
    ))]
}

/// Processes that do nothing; gone when dropped.
struct Horde(Child);

impl Horde {
    /// `None` where so many cannot be.
    fn of(many: u32) -> Option<Horde> {
        let each = format!("i=0; while [ $i -lt {many} ]; do sleep 3600 & i=$((i + 1)); done; echo there; wait");
        let started = Command::new("sh")
            .args(["-c", &each])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut horde = Horde(started.ok()?);
        let mut said = String::new();
        let out = horde.0.stdout.take()?;
        BufReader::new(out).read_line(&mut said).ok()?;
        (said.trim() == "there").then_some(horde)
    }
}

impl Drop for Horde {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A host with so many processes that looking at them takes more than a look may.
fn horde(rig: &mut Rig) -> Vec<Judged> {
    let trap = Trap {
        name: "a host on which watching is work itself",
        objection: "your monitoring slowed it down",
        line: ("observer", "suspect"),
    };
    let Some(horde) = Horde::of(PROCESSES) else {
        return vec![trap.not_set(&format!("{PROCESSES} processes can't be here"))];
    };
    let study = [head(), &directory("one", &rig.work(), ""), DATABASE, &reads("200ms")].concat();
    let found = report(rig, "horde", &study);
    drop(horde);
    let work = at("one", "work");
    vec![trap.judge((&found, work), (&told(rig, "rested"), work))]
}

/// Processor time of the tool's own process over the time of a phase: the median phase's.
fn processors_had(result: &Path) -> f64 {
    let ledger = Ledger::open(result).expect("a result");
    let measures = ledger.measures().expect("measures");
    let share = |phase: &ledger::Phase| {
        let own = measures
            .iter()
            .find(|one| one.phase == phase.id && one.row.0 == Measure::CpuOwnNs);
        own.expect("its own processor time").row.1 / phase.run.elapsed_ns as f64
    };
    let mut shares: Vec<f64> = ledger.phases().expect("phases").iter().map(share).collect();
    shares.sort_by(f64::total_cmp);
    shares[shares.len() / 2]
}

/// A loop device on a file, which is written with `mib` first, if said. Whose directory it lies in takes it away.
fn loop_on(file: &Path, mib: Option<usize>) -> PathBuf {
    if let Some(mib) = mib {
        std::fs::write(file, vec![3; mib << 20]).expect("written");
    }
    PathBuf::from(tool("losetup", &["--find", "--show", text(file)]).trim())
}

/// The loop device that is mounted here.
fn under(place: &Path) -> PathBuf {
    PathBuf::from(tool("findmnt", &["-n", "-o", "SOURCE", text(place)]).trim())
}

impl Rig {
    /// A file system on a partition that begins at sector 63, as partitions did for twenty years; where this kernel reads no partitions of
    /// loop devices, on a loop device that begins there.
    fn askew_file_system(&mut self, name: &str) -> PathBuf {
        let file = self.path(&format!("{name}.disk"));
        std::fs::write(&file, vec![0; 48 << 20]).expect("written");
        let device = partition_at_63(&file).unwrap_or_else(|| {
            let begins = (63 * 512).to_string();
            let shown = tool("losetup", &["--find", "--show", "--offset", &begins, text(&file)]);
            PathBuf::from(shown.trim())
        });
        tool(
            "mkfs.ext4",
            &["-q", "-F", "-m", "0", "-b", "4096", "-E", "nodiscard", text(&device)],
        );
        let place = self.path(name);
        std::fs::create_dir(&place).expect("made");
        tool("mount", &[text(&device), text(&place)]);
        place
    }
}

/// The partition, if the kernel finds it; the loop device is taken away again if not.
fn partition_at_63(file: &Path) -> Option<PathBuf> {
    which("sfdisk")?;
    let mut sfdisk = Command::new("sfdisk")
        .args(["--quiet", text(file)])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    sfdisk.stdin.take()?.write_all(b"label: gpt\nstart=63\n").ok()?;
    sfdisk.wait().ok().filter(|status| status.success())?;
    let disk = tool("losetup", &["--partscan", "--find", "--show", text(file)]);
    let partition = PathBuf::from(format!("{}p1", disk.trim()));
    if !partition.exists() {
        tool("losetup", &["-d", disk.trim()]);
        return None;
    }
    Some(partition)
}
