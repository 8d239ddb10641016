//! Traps on real devices, mounts and processes of this machine. Need root and loop devices.
//!
//! A busy neighbour makes many of these runs SUSPECT in other lines; each trap and each twin is held to its own line
//! only.

use crate::machine::is_full;
use crate::rig::{Rig, Running, limited, text, tool, which};
use crate::traps::below;
use crate::traps::kept::kept;
use crate::traps::limited::Limited;
use crate::traps::on_devices::{
    AHEAD, ASKEW, GENERATOR, HELD, HOGS, HORDE, IGNORED, JOURNALLED, OPTIONS, SPARSE, TRAFFIC, UNLIKE,
};
use crate::traps::sheet::{Judged, STUDY, at, must_have, on};
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
    "[study]\nname = \"trap\"\nquestion = \"Is it seen?\"\ntime_limit = \"3h\"\nblocks = 4\nseed = 5\nio = \"ring\"\n\
     schedule = \"whole\"\n"
}

pub(crate) fn directory(name: &str, place: &Path, more: &str) -> String {
    format!(
        "[[stack]]\nname = \"{name}\"\nkind = \"directory\"\npath = \"{}\"\n{more}\n",
        place.display()
    )
}

pub(crate) fn reads(time: &str) -> String {
    format!(
        "[[phase]]\nname = \"work\"\nkind = \"random\"\nupdate_pct = 20\nsessions = 4\nwork_unit = 4\n\
         time = \"{time}\"\n"
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
        vec![kept(rig)],
        held_back(rig),
        generator(rig),
        horde(rig),
    ]
    .concat()
}

/// Mounts, partitions, read-ahead, access: seven directories in four studies. What stands in the facts of a stack needs
/// no second block; what its devices read does.
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
    let of = |stacks: &[String], time: Duration| {
        let phases = warm_reads(&format!("{}ms", time.as_millis()));
        [head(), &stacks.concat(), DATABASE, &phases].concat()
    };
    let look = below::look(rig, "alike", &of(&stacks[..2], below::PHASE));
    must_have(&look.report, STUDY, &["memory alike"]);
    let others = [&stacks[..1], &stacks[2..]].concat();
    let others = report(rig, "others", &limited(&of(&others, below::PHASE), "3s"));
    let honest = (&others, on("one"));
    let mut all = vec![
        below::judged(rig, look, |time| of(&stacks[..2], time)),
        IGNORED.judge((&others, on("shm")), honest),
        // ext4 that journals data takes the flag, and reads and writes through its cache all the same.
        JOURNALLED.judge((&others, on("journalled").saying("through the page cache")), honest),
        ASKEW.judge((&others, on("askew")), honest),
    ];
    all.extend(mounted(rig, &one, &two, &other));
    all
}

/// One and other are mounted with unlike options and read ahead unlike, one and two alike; all through the page cache.
fn mounted(rig: &Rig, one: &Path, two: &Path, other: &Path) -> Vec<Judged> {
    let pair = |name: &str, second: &Path| {
        let stacks = [one, second].map(|place| {
            let name = place.file_name().and_then(|name| name.to_str()).expect("a name");
            directory(name, place, "access = \"buffered\"")
        });
        let study = [head(), &stacks.concat(), DATABASE, &reads("60ms")].concat();
        report(rig, name, &limited(&study, "1s"))
    };
    let (unlike, even) = (pair("unlike", other), pair("even", two));
    [OPTIONS, AHEAD]
        .map(|trap| trap.judge((&unlike, STUDY), (&even, STUDY)))
        .into()
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
    let found = report(rig, "luns", &limited(&study, "2s"));
    let even = STUDY.saying("even:");
    vec![
        UNLIKE.judge((&found, STUDY.saying("odd:")), (&found, even)),
        SPARSE.judge((&found, STUDY.saying("odd:2:")), (&found, even)),
    ]
}

/// Threads of this process, which is no part of the run: they stop when dropped.
pub(crate) struct Hogs {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    pub(crate) fn start(works: Vec<Box<dyn FnMut() + Send>>) -> Hogs {
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

/// What a hog does again and again.
pub(crate) fn computes() {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(5) {
        std::hint::spin_loop();
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
            "host CPU",
            "data loss",
            "foreign traffic",
            "generator",
            "observer",
        ],
    );
    if !sees_the_host() {
        return [HOGS, TRAFFIC]
            .map(|trap| {
                trap.not_set("the host's processes are out of sight here (a container): nobody could be counted")
            })
            .into();
    }
    must_have(&rested, at("one", "work"), &["background CPU", "other processes' I/O"]);
    let file = File::create(place.join("neighbour")).expect("made");
    let block = vec![7u8; 8 << 20];
    let wrote_mib = Arc::new(AtomicU64::new(0));
    let counted = wrote_mib.clone();
    let writes = move || {
        file.write_all_at(&block, 0).expect("written");
        file.sync_data().expect("synced");
        counted.fetch_add(8, Ordering::Relaxed);
    };
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let mut works: Vec<Box<dyn FnMut() + Send>> = vec![Box::new(writes)];
    works.extend((0..processors).map(|_| Box::new(computes) as Box<dyn FnMut() + Send>));
    let hogs = Hogs::start(works);
    let found = report(rig, "beside", &study);
    drop(hogs);
    let work = at("one", "work");
    let hogs = HOGS.judge((&found, work), (&rested, work));
    let hogs = match busy > 0.05 && hogs.caught.is_some() {
        true => hogs.without_twin("this machine does much else just now"),
        false => hogs,
    };
    let traffic = match wrote_mib.load(Ordering::Relaxed) {
        mib if mib < TRAFFIC_MIB_MIN => TRAFFIC.not_set(&format!("the disk took {mib} MiB of the neighbour's writes")),
        _ => TRAFFIC.judge((&found, work), (&rested, work)),
    };
    vec![hogs, traffic]
}

/// Whether threads of the kernel are in sight: their parent has this number on every host, and in no container with
/// numbers of its own.
fn sees_the_host() -> bool {
    std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd")
}

/// Share of the processors that others use, while this process sleeps: by the kernel's own account, read here and not
/// by the tool.
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

/// The run held back by a limit on its processor time.
fn held_back(rig: &mut Rig) -> Vec<Judged> {
    if !is_full() {
        return vec![HELD.not_set("ASSAY_TEST_SIZE=full sets it: a run with a fifth of a processor takes its time")];
    }
    let Some(group) = Limited::new() else {
        return vec![HELD.not_set("no control group for processor time can be made here")];
    };
    let place = rig.work();
    let study = [head(), &directory("one", &place, ""), DATABASE, &reads("150ms")].concat();
    let study = rig.study("limited", &study);
    let mut command = group.command(&rig.run_command(&study, &rig.result("limited"), &["--quiet"]));
    rig.furnish(&mut command);
    let began = Instant::now();
    Running::start(command).wait().expect(0, &[]);
    if group.held_back() < began.elapsed() / 10 {
        return vec![HELD.not_set("this machine is so busy that the limit was hardly reached")];
    }
    let work = at("one", "work");
    // The studies before had no such limit.
    vec![HELD.judge((&told(rig, "limited"), work), (&told(rig, "rested"), work))]
}

/// A target so fast that the generator is what is measured.
fn generator(rig: &mut Rig) -> Vec<Judged> {
    let memory = InMemory::new();
    let database = DATABASE.replace("cache = \"1MiB\"", "cache = \"32MiB\"");
    let phase = reads("250ms").replace("update_pct = 20", "update_pct = 0");
    let study = [head(), &directory("one", memory.path(), ""), &database, &phase].concat();
    let work = at("one", "work");
    let twin = told(rig, "rested");
    // The worker never waits for storage. If it had no processor all the time, something else was the bottleneck: set
    // again. Its process has threads that watch, which are no part of the load.
    let (mut least, mut missed) = (f64::INFINITY, None);
    for nth in 0..5 {
        let name = format!("generator{nth}");
        let found = report(rig, &name, &study);
        let had = processors_had(&rig.result(&name));
        let judged = GENERATOR.judge((&found, work), (&twin, work));
        if judged.caught.is_some() {
            return vec![judged];
        }
        least = least.min(had);
        missed = Some(judged);
    }
    // Its threads that watch are in that figure: what is missed is missed where the worker had its processor in all of
    // them.
    if least > 0.95 {
        return missed.into_iter().collect();
    }
    vec![GENERATOR.not_set(&format!(
        "other programs left its worker {:.0} % of a processor",
        least * 100.0
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
    let Some(horde) = Horde::of(PROCESSES) else {
        return vec![HORDE.not_set(&format!("{PROCESSES} processes can't be here"))];
    };
    let study = [head(), &directory("one", &rig.work(), ""), DATABASE, &reads("200ms")].concat();
    let found = report(rig, "horde", &study);
    drop(horde);
    let work = at("one", "work");
    vec![HORDE.judge((&found, work), (&told(rig, "rested"), work))]
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
    /// A file system on a partition that begins at sector 63, as partitions did for twenty years; where this kernel
    /// reads no partitions of loop devices, on a loop device that begins there.
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
