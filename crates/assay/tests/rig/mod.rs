//! What tests of the whole binary on real storage share: a directory of their own, loop devices, mounts, and the look
//! at what a run left behind.
//!
//! Everything is taken away when a [`Rig`] is dropped, also by a failing test. Only loop devices whose file lies in the
//! rig's own directory are ever touched. Prevents: a test that measures while another one works on the same machine
//! (see [`Rig::alone`]), and tests of behaviour that wait for a disk (see [`scratch`]).

mod held_up;

use crate::machine::{DISK, Turn, is_full, scratch, turn};
use rustix::process::{Pid, Signal};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Blocks, at least, of a study that is run for what it does and not for a verdict: the four that a study asks for at
/// least where the tests run at full size, else the one after which its time is over (see [`limit`]).
pub(crate) fn blocks() -> u32 {
    if is_full() { 4 } else { 1 }
}

/// The time limit of such a study. A run begins no block that would take it past its limit: as a rule one block is
/// over by then, and sometimes two. `least`: what the phases of four blocks ask for; `assay run` refuses less.
pub(crate) fn limit(least: &'static str) -> &'static str {
    if is_full() { "3h" } else { least }
}

/// A study with that limit in the place of its own.
pub(crate) fn limited(study: &str, least: &'static str) -> String {
    let usual = "time_limit = \"3h\"";
    assert!(study.contains(usual), "the study has another limit:\n{study}");
    study.replace(usual, &format!("time_limit = \"{}\"", limit(least)))
}

/// Whole blocks of so many phases, and [`blocks`] of them or more: one may be begun in the time that is left, and at
/// full size others take the place of blocks that do not count.
pub(crate) fn assert_blocks(phases: usize, of_block: usize) {
    assert!(
        phases >= blocks() as usize * of_block && phases.is_multiple_of(of_block),
        "{phases} phases, {of_block} a block"
    );
}

/// Longest wait for one call of the binary, generous for a slow disk: a hang must fail, not stop the build.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// So long may a call take to end that is asked to.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// The machine's part that a test gets: see the head of this file.
pub(crate) struct Rig {
    dir: tempfile::TempDir,
    loops: Vec<PathBuf>,
    _turn: File,
}

/// How a call of the binary ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Everything that a run could leave behind, as far as it can be told to be of this rig.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Belongings {
    loops: BTreeSet<String>,
    mounts: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
    groups: BTreeSet<PathBuf>,
}

/// A call of the binary that is under way; killed when dropped.
pub(crate) struct Running {
    child: Child,
    readers: Vec<std::thread::JoinHandle<String>>,
}

/// Whether OpenZFS can be loaded here; said aloud where it cannot.
pub(crate) fn has_openzfs() -> bool {
    let found = zpool::probe(&zpool::Launch::of(env!("CARGO_BIN_EXE_assay").as_ref()));
    if let Err(error) = &found {
        // Where `./test` found it installed, a test without it is a failure.
        assert!(
            std::env::var_os("ASSAY_TEST_OPENZFS").is_none(),
            "OpenZFS is installed: {error}"
        );
        eprintln!("SKIPPED: {error}");
    }
    found.is_ok()
}

/// Whether loop devices can be attached here.
pub(crate) fn can_attach() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists()
}

impl Rig {
    /// `None`, with the reason printed, without root or loop devices. A missing tool that `./test` installs is a
    /// failure under `CI=true`.
    pub(crate) fn new(tools: &[&str]) -> Option<Rig> {
        Rig::made(tools, scratch(), Turn::Beside)
    }

    /// The same on a disk: for what a test asks of the devices below.
    pub(crate) fn on_disk(tools: &[&str]) -> Option<Rig> {
        Rig::made(tools, Path::new(DISK), Turn::Beside)
    }

    /// The same on a disk, while no other test works on devices: for what is measured here.
    pub(crate) fn alone(tools: &[&str]) -> Option<Rig> {
        Rig::made(tools, Path::new(DISK), Turn::Alone)
    }

    fn made(tools: &[&str], place: &Path, kind: Turn) -> Option<Rig> {
        if !can_attach() {
            eprintln!("skipped: needs root and /dev/loop-control");
            return None;
        }
        for tool in tools {
            if which(tool).is_none() {
                assert!(
                    std::env::var_os("CI").is_none(),
                    "{tool} is missing, and ./test installs it"
                );
                eprintln!("skipped: needs {tool}; ./test installs it");
                return None;
            }
        }
        let turn = turn(kind);
        let dir = tempfile::Builder::new()
            .prefix("assay-test-")
            .tempdir_in(place)
            .expect("a directory");
        let rig = Rig {
            dir,
            loops: Vec::new(),
            _turn: turn,
        };
        for name in ["state", "work", "results"] {
            std::fs::create_dir(rig.path(name)).expect("made");
        }
        Some(rig)
    }

    /// A place in the rig's directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("there").join(name)
    }

    /// Where LUN files and mount points of studies go.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Writes a study file.
    pub(crate) fn study(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(&format!("{name}.toml"));
        std::fs::write(&path, text).expect("written");
        path
    }

    /// Where the result file of a study goes.
    pub(crate) fn result(&self, name: &str) -> PathBuf {
        self.path("results").join(format!("{name}.assay"))
    }

    /// A call of the binary in this rig.
    pub(crate) fn assay(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(args);
        self.furnish(&mut command);
        command
    }

    /// State directory, working directory and pipes for any command.
    pub(crate) fn furnish(&self, command: &mut Command) {
        command
            .env("ASSAY_STATE_DIR", self.path("state"))
            .env("NO_COLOR", "1")
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// `assay run STUDY --output RESULT ...`, to its end.
    pub(crate) fn run(&self, study: &Path, result: &Path, more: &[&str]) -> Ran {
        Running::start(self.run_command(study, result, more)).wait()
    }

    /// The same, not started.
    pub(crate) fn run_command(&self, study: &Path, result: &Path, more: &[&str]) -> Command {
        let mut args = vec!["run", text(study), "--output", text(result)];
        args.extend(more);
        self.assay(&args)
    }

    /// A loop device on a file of zeros of the rig's own.
    pub(crate) fn loop_device(&mut self, name: &str, mib: u64) -> PathBuf {
        let file = self.path(name);
        std::fs::write(&file, vec![0; (mib << 20) as usize]).expect("written");
        let shown = tool("losetup", &["--find", "--show", text(&file)]);
        let device = PathBuf::from(shown.trim());
        self.loops.push(device.clone());
        device
    }

    /// A small file system of the rig's own, mounted in its directory.
    pub(crate) fn small_file_system(&mut self, name: &str, mib: u64) -> PathBuf {
        let device = self.loop_device(&format!("{name}.disk"), mib);
        tool(
            "mkfs.ext4",
            &[
                "-q",
                "-F",
                "-m",
                "0",
                "-E",
                "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
                text(&device),
            ],
        );
        let place = self.path(name);
        std::fs::create_dir(&place).expect("made");
        tool("mount", &[text(&device), text(&place)]);
        place
    }

    /// What is there now of loop devices, mounts and files in the rig's directory (its state, results and studies left
    /// out), and of the control groups of runs that were processes in `pids`.
    pub(crate) fn belongings(&self, pids: &[u32]) -> Belongings {
        let here = self.path("");
        let mut files = BTreeSet::new();
        for name in ["work", "state"] {
            list(&self.path(name), &mut files);
        }
        for entry in std::fs::read_dir(&here)
            .expect("listed")
            .flatten()
            .filter(|e| e.path().is_dir())
        {
            let name = entry.file_name();
            if name != "results" && name != "work" && name != "state" {
                list(&entry.path(), &mut files);
            }
        }
        Belongings {
            loops: loops_under(&here)
                .into_iter()
                .map(|(device, file)| format!("{device} on {file}"))
                .collect(),
            mounts: mounts_under(&here).into_iter().collect(),
            files,
            groups: groups(pids),
        }
    }

    /// The trial's own directory for LUN files, once it is there.
    pub(crate) fn lun_file(&self, name: &str) -> Option<PathBuf> {
        let dirs = std::fs::read_dir(self.work()).ok()?.flatten();
        dirs.map(|d| d.path().join(name)).find(|p| p.exists())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.assay(&["clean"]).output();
        let here = self.path("");
        let mut mounts = mounts_under(&here);
        // The deepest first.
        mounts.sort_by_key(|m| std::cmp::Reverse(m.len()));
        for mount in mounts {
            let _ = Command::new("umount").arg(mount).stderr(Stdio::null()).status();
        }
        for (device, _) in loops_under(&here) {
            let _ = Command::new("losetup")
                .args(["-d", &device])
                .stderr(Stdio::null())
                .status();
        }
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Running {
        let mut child = command.spawn().expect("started");
        let mut readers = Vec::new();
        if let Some(out) = child.stdout.take() {
            readers.push(reader(out));
        }
        if let Some(err) = child.stderr.take() {
            readers.push(reader(err));
        }
        Running { child, readers }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for `time`, or until it ends by itself; true when it is still at work.
    pub(crate) fn let_run(&mut self, time: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < time {
            if self.child.try_wait().expect("waited").is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.try_wait().expect("waited").is_none()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        // Over already: fine.
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// To its end.
    pub(crate) fn wait(mut self) -> Ran {
        // Hundreds of cuts of the power take the better part of an hour.
        let patience = if is_full() { PATIENCE * 8 } else { PATIENCE };
        if self.let_run(patience) {
            self.give_up(patience);
        }
        let status = self.child.wait().expect("waited");
        let mut texts = std::mem::take(&mut self.readers)
            .into_iter()
            .map(|r| r.join().expect("read"));
        Ran {
            status,
            stdout: texts.next().unwrap_or_default(),
            stderr: texts.next().unwrap_or_default(),
        }
    }
}

impl Running {
    /// Fails with what it waits for, and with what it says when it is asked to end.
    fn give_up(mut self, patience: Duration) -> ! {
        let waits = held_up::report(Pid::from_child(&self.child));
        self.signal(Signal::INT);
        let hears = !self.let_run(LAST_WORDS);
        let _ = self.child.kill();
        // Not without end: not even a kill ends who waits for a device.
        self.let_run(LAST_WORDS);
        let mut said = String::new();
        // Whoever does not hear may have left a child with its output.
        for reader in std::mem::take(&mut self.readers).into_iter().filter(|_| hears) {
            said += &reader.join().unwrap_or_default();
        }
        panic!("still at work after {patience:?}; ends when asked: {hears}\n{waits}\n{said}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.readers.is_empty() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Ran {
    /// The exit code; 128 and the number of the signal that ended it.
    pub(crate) fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Fails unless it ended with `code` and said each of `words` on stderr.
    pub(crate) fn expect(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code(), code, "stderr:\n{}\nstdout:\n{}", self.stderr, self.stdout);
        for word in words {
            assert!(self.stderr.contains(word), "not said: {word}\nstderr:\n{}", self.stderr);
        }
    }
}

fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let _ = from.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    })
}

/// Copies the program. A process of its own does it: what a test still writes to while another one forks can't be
/// started.
pub(crate) fn copy_program(to: &Path) {
    tool("cp", &[env!("CARGO_BIN_EXE_assay"), text(to)]);
}

/// A path as text: the rig's are plain.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("plain")
}

/// Runs a tool that must succeed; gives its stdout.
pub(crate) fn tool(program: &str, args: &[&str]) -> String {
    let path = which(program).unwrap_or_else(|| program.into());
    let output = Command::new(&path)
        .args(args)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(
        output.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The place of a program, in `PATH` and where administration tools are.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    dirs.map(|dir| dir.join(program)).find(|p| p.is_file())
}

/// (device, file) of the loop devices on files below `dir`, deleted ones too.
fn loops_under(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(file) = std::fs::read_to_string(entry.path().join("loop/backing_file")) else {
            continue;
        };
        if Path::new(file.trim_end()).starts_with(dir) {
            found.push((format!("/dev/{name}"), file.trim_end().to_string()));
        }
    }
    found
}

/// Mount points below `dir`.
fn mounts_under(dir: &Path) -> Vec<String> {
    let all = std::fs::read_to_string("/proc/self/mountinfo").expect("readable");
    let places = all.lines().filter_map(|line| line.split(' ').nth(4));
    places
        .filter(|place| Path::new(place).starts_with(dir))
        .map(str::to_string)
        .collect()
}

fn list(dir: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        into.insert(entry.path());
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            list(&entry.path(), into);
        }
    }
}

/// Control groups of the runs that were these processes: their names end with the process.
fn groups(pids: &[u32]) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    list_dirs(Path::new("/sys/fs/cgroup"), &mut all);
    all.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("assay-") && pids.iter().any(|pid| name.ends_with(&format!("-{pid}")))
    });
    all
}

fn list_dirs(dir: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            list_dirs(&entry.path(), into);
            into.insert(entry.path());
        }
    }
}

/// Whoever waits to be alone holds up a thread meanwhile, and the tests beside it wait for its end: `./test` runs these
/// files one after the other, before all others.
#[test]
fn who_works_alone_is_in_the_list_of_the_script() {
    let script = std::fs::read_to_string(crate::bench::root().join("test")).expect("the script");
    let list = script
        .lines()
        .find_map(|line| line.strip_prefix("alone=(")?.strip_suffix(')'));
    let listed: BTreeSet<String> = list.expect("its list").split(' ').map(str::to_string).collect();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut alone = BTreeSet::new();
    for entry in walkdir::WalkDir::new(&tests) {
        let path = entry.expect("listed").into_path();
        let place = path.strip_prefix(&tests).expect("inside");
        if place.extension().is_none_or(|end| end != "rs") || place.starts_with("rig") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("read");
        if text.contains("Rig::alone(") || text.contains("Turn::Alone") {
            let file = Path::new(place.components().next().expect("a name").as_os_str());
            let name = file.file_stem().expect("a name").to_string_lossy();
            alone.insert(format!("{name}::"));
        }
    }
    assert_eq!(alone, listed, "files that work alone, and the list `alone` in ./test");
}
