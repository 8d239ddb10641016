//! Stacks built and taken down on real loop devices, and cleaned up after a kill. Needs root.

use crate::machine::{DISK, Turn, turn};
use plan::{Access, Btrfs, BtrfsProfile, FileSystem, FileSystemKind, Inject, Stack, StackKind};
use sandbox::{Directory, Identity};
use stacks::{Enforcement, Journal, Places, Undo};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const MARKER: &str = "MARKER OF THE TEST\n";
const VICTIM: &str = "ASSAY_TEST_VICTIM";

/// Directory, loop devices, and the turn among tests that use loop devices. All gone when dropped.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
    pub(crate) devices: Vec<PathBuf>,
    _turn: File,
}

fn losetup(args: &[&str]) -> String {
    let output = Command::new("losetup").args(args).output().expect("losetup runs");
    assert!(
        output.status.success(),
        "losetup {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Bench {
    /// `count` LUNs of `mib` MiB; `None`, with the reason printed, where it can't be.
    pub(crate) fn new(count: usize, mib: u64) -> Option<Bench> {
        if !stacks::is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("skipped: needs root and /dev/loop-control");
            return None;
        }
        let turn = turn(Turn::Alone);
        let dir = tempfile::tempdir_in(DISK).expect("a directory");
        let mut bench = Bench {
            dir,
            devices: Vec::new(),
            _turn: turn,
        };
        for number in 0..count {
            let file = bench.path(&format!("{number}.lun"));
            File::create(&file).expect("made").set_len(mib << 20).expect("sized");
            bench
                .devices
                .push(losetup(&["-f", "--show", "--direct-io=on", &file.to_string_lossy()]).into());
        }
        Some(bench)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("there").join(name)
    }
    pub(crate) fn journal(&self, run: &str) -> Journal {
        let mut journal = Journal::create(&self.path("state"), run).expect("a journal");
        allow(&mut journal, &self.devices);
        journal
    }
    pub(crate) fn work(&self) -> Directory {
        Directory::open(self.dir.path()).expect("held")
    }
    pub(crate) fn places(&self, data: usize) -> Places {
        Places {
            data: self.devices[..data].to_vec(),
            redo: self.devices[data..].to_vec(),
            temp: Vec::new(),
            marker: MARKER.into(),
        }
    }
    /// Nothing of the run is left: no mounts, no directories, no journals.
    pub(crate) fn assert_clean(&self) {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("readable");
        let here = self.dir.path().to_string_lossy().into_owned();
        assert!(!mounts.contains(&here), "a mount is left:\n{mounts}");
        let names = |dir: &Path| {
            let listed = std::fs::read_dir(dir).into_iter().flatten().flatten();
            listed
                .map(|e| e.file_name().to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        let left = names(self.dir.path());
        assert!(left.iter().all(|n| !n.starts_with("assay-")), "left: {left:?}");
        assert_eq!(names(&self.path("state")), Vec::<String>::new());
    }
}

/// The run may write to these.
fn allow(journal: &mut Journal, devices: &[PathBuf]) {
    for device in devices {
        journal.may_write(device).expect("it is there");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = stacks::clean(&self.path("state"), false);
        for entry in std::fs::read_dir(self.dir.path()).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                let _ = Command::new("umount")
                    .arg(entry.path())
                    .stderr(std::process::Stdio::null())
                    .status();
            }
        }
        // Only while they are still ours.
        for device in &self.devices {
            let name = device.file_name().expect("a name").to_string_lossy().into_owned();
            let backing = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default();
            if backing.starts_with(&*self.dir.path().to_string_lossy()) {
                let _ = Command::new("losetup").arg("-d").arg(device).status();
            }
        }
    }
}

pub(crate) fn stack(name: &str, kind: StackKind) -> Stack {
    Stack {
        name: name.into(),
        kind,
        data: Some("data".into()),
        redo: Some("redo".into()),
        temp: None,
        access: Access::Direct,
        inject: Inject::default(),
        engine: plan::Engine::Pages,
        instances: 1,
    }
}

fn ext4() -> StackKind {
    StackKind::FileSystem(FileSystem {
        mount_options: plan::options(plan::Tool::MountExt4, &["noatime"]).expect("an option"),
        ..FileSystem::plain(FileSystemKind::Ext4)
    })
}

fn btrfs(profile: BtrfsProfile, compress: Option<&str>, nodatacow: bool) -> StackKind {
    let compress = compress.map(str::to_owned);
    StackKind::FileSystem(FileSystem::plain(FileSystemKind::Btrfs(Btrfs {
        profile,
        compress,
        nodatacow,
    })))
}

fn has_tool(name: &str) -> bool {
    let found = stacks::probe().iter().any(|b| b.kind == name && b.able);
    assert!(
        found || std::env::var_os("CI").is_none(),
        "{name} can't be built, and ./test installs its tools"
    );
    if !found {
        eprintln!("skipped: {name} can't be built here");
    }
    found
}

/// Builds, uses and takes down a stack; gives its facts.
fn there_and_back(bench: &Bench, name: &str, kind: StackKind, data: usize) -> Vec<(String, String)> {
    let mut journal = bench.journal(name);
    let built = stacks::build(&stack(name, kind), &bench.places(data), &bench.work(), &mut journal).expect("built");
    assert_eq!(built.devices, bench.devices);
    assert!(built.usable_bytes.is_some_and(|bytes| bytes > 0));
    assert_eq!(built.layers.len(), 3);
    if let Some(files) = built.ground.files() {
        for path in [&files.data, &files.redo] {
            std::fs::write(path, "something").expect("it can be used");
        }
    }
    let facts = built.facts.clone();
    assert_eq!(stacks::teardown(built, &mut journal), []);
    assert_eq!(journal.open_steps(), Vec::<String>::new());
    assert_eq!(journal.undo_all(), []);
    bench.assert_clean();
    facts
}

fn fact<'a>(facts: &'a [(String, String)], key: &str) -> &'a str {
    facts
        .iter()
        .find(|(k, _)| k == key)
        .map_or_else(|| panic!("no fact {key} in {facts:?}"), |(_, v)| v)
}

#[test]
fn directories_made_for_a_journal_go_with_it_unless_somebody_else_uses_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let (above, state) = (dir.path().join("above"), dir.path().join("above/state"));
    let mut journal = Journal::create(&state, "one").expect("a journal");
    assert!(journal.undo_all().is_empty());
    assert!(!above.exists(), "left behind");
    let mut journal = Journal::create(&state, "two").expect("a journal");
    std::fs::write(above.join("other"), "x").expect("written");
    assert!(journal.undo_all().is_empty());
    assert!(above.join("other").exists() && !state.exists());
}

#[test]
fn ext4_is_built_disclosed_and_wiped() {
    if !has_tool("ext4") {
        return;
    }
    let Some(bench) = Bench::new(2, 64) else { return };
    let facts = there_and_back(&bench, "e", ext4(), 1);
    assert!(fact(&facts, "mkfs").starts_with("mkfs.ext4 -F -U "), "{facts:?}");
    assert!(fact(&facts, "mount options").contains("noatime"));
    assert!(!fact(&facts, "mount options").split(',').any(|o| o == "discard"));
    assert!(fact(&facts, "mkfs version").contains("mke2fs"));
    fact(&facts, "redo mkfs");
    for device in &bench.devices {
        let mut start = [0u8; 4096];
        File::open(device)
            .expect("open")
            .read_exact_at(&mut start, 0)
            .expect("read");
        assert!(start.starts_with(MARKER.as_bytes()));
        assert_eq!(start[0x438..0x43a], [0, 0], "the superblock must be gone");
    }
}

#[test]
fn ext3_has_no_extents() {
    if !has_tool("ext3") {
        return;
    }
    let Some(bench) = Bench::new(2, 64) else { return };
    let ext3 = StackKind::FileSystem(FileSystem::plain(FileSystemKind::Ext3));
    let facts = there_and_back(&bench, "e3", ext3, 1);
    assert!(fact(&facts, "mkfs").starts_with("mkfs.ext3 -F -U "), "{facts:?}");
    let features = fact(&facts, "ext4 filesystem features");
    assert!(
        features.split(' ').any(|feature| feature == "has_journal"),
        "{features}"
    );
    assert!(!features.split(' ').any(|feature| feature == "extent"), "{features}");
}

#[test]
fn xfs_is_built_and_taken_down() {
    if !has_tool("xfs") {
        return;
    }
    let Some(bench) = Bench::new(2, 320) else { return };
    let facts = there_and_back(
        &bench,
        "x",
        StackKind::FileSystem(FileSystem::plain(FileSystemKind::Xfs)),
        1,
    );
    assert!(fact(&facts, "mkfs said").contains("sectsz"), "{facts:?}");
}

#[test]
fn btrfs_profiles_compression_and_nodatacow_are_in_force() {
    if !has_tool("btrfs") {
        return;
    }
    let Some(bench) = Bench::new(3, 128) else { return };
    let facts = there_and_back(&bench, "b0", btrfs(BtrfsProfile::Raid0, Some("zstd:3"), false), 2);
    assert!(fact(&facts, "mount options").contains("compress=zstd:3"), "{facts:?}");
    assert_eq!(fact(&facts, "data profile"), "raid0");
    assert_eq!(fact(&facts, "redo data profile"), "single");
    let facts = there_and_back(&bench, "b1", btrfs(BtrfsProfile::Raid1, None, false), 2);
    assert_eq!(fact(&facts, "data profile"), "raid1");
    let facts = there_and_back(&bench, "bn", btrfs(BtrfsProfile::Single, None, true), 1);
    assert!(fact(&facts, "mount options").contains("nodatacow"), "{facts:?}");
}

#[test]
fn raw_and_directory_leave_nothing() {
    let Some(bench) = Bench::new(2, 64) else { return };
    there_and_back(&bench, "r", StackKind::Raw, 1);
    let mut journal = bench.journal("d");
    let kind = StackKind::Directory { path: bench.path(".") };
    let built = stacks::build(&stack("a b", kind), &Places::default(), &bench.work(), &mut journal).expect("built");
    let data = &built.ground.files().expect("files").data;
    std::fs::create_dir(data).expect("used");
    std::fs::write(data.join("deep"), "x").expect("used");
    assert_eq!(built.layers[0], "directory");
    assert_eq!(stacks::teardown(built, &mut journal), []);
    drop(journal);
    let _ = stacks::clean(&bench.path("state"), false);
    bench.assert_clean();
}

#[test]
fn what_cant_be_built_says_why_and_leaves_nothing() {
    let Some(bench) = Bench::new(2, 64) else { return };
    let mut journal = bench.journal("n");
    let mut try_build = |kind, places: &Places| {
        let error = stacks::build(&stack("s", kind), places, &bench.work(), &mut journal).expect_err("refused");
        assert_eq!(journal.open_steps(), Vec::<String>::new(), "{error}");
        error.to_string()
    };
    assert!(try_build(ext4(), &bench.places(2)).contains("ext4 takes one LUN each"));
    assert!(try_build(btrfs(BtrfsProfile::Raid1, None, false), &bench.places(1)).contains("at least two"));
    let bad = StackKind::FileSystem(FileSystem {
        // Two honest ones that the kernel does not take together.
        mount_options: plan::options(plan::Tool::MountExt4, &["data=journal,delalloc"]).expect("options"),
        ..FileSystem::plain(FileSystemKind::Ext4)
    });
    let error = try_build(bad, &bench.places(1));
    assert!(error.contains("data=journal") && error.contains("/dev/loop"), "{error}");
    let bad = StackKind::FileSystem(FileSystem {
        // Clusters of blocks are a feature that is not asked for.
        mkfs_options: plan::options(plan::Tool::MkfsExt4, &["-C", "64k"]).expect("an option"),
        ..FileSystem::plain(FileSystemKind::Ext4)
    });
    let error = try_build(bad, &bench.places(1));
    assert!(
        error.contains("mkfs.ext4 -F") && error.contains("exit status: 1"),
        "{error}"
    );
    let file = Places {
        data: vec![bench.path("0.lun")],
        ..Places::default()
    };
    assert!(try_build(ext4(), &file).contains("not a block device"));
    // A device that something has: mounted by hand.
    let place = bench.path("byhand");
    std::fs::create_dir(&place).expect("made");
    assert!(
        Command::new("mkfs.ext4")
            .args(["-qF"])
            .arg(&bench.devices[0])
            .status()
            .expect("mkfs")
            .success()
    );
    assert!(
        Command::new("mount")
            .args([&bench.devices[0], &place])
            .status()
            .expect("mount")
            .success()
    );
    let error = try_build(ext4(), &bench.places(1));
    assert!(
        error.contains("clear /dev/loop") && error.contains("unmount"),
        "{error}"
    );
    assert!(Command::new("umount").arg(&place).status().expect("umount").success());
    assert_eq!(journal.undo_all(), []);
    bench.assert_clean();
}

#[test]
fn a_lun_cut_under_its_loop_device_is_still_taken_down() {
    let Some(bench) = Bench::new(2, 64) else { return };
    let mut journal = bench.journal("c");
    let built = stacks::build(&stack("s", ext4()), &bench.places(1), &bench.work(), &mut journal).expect("built");
    OpenOptions::new()
        .write(true)
        .open(bench.path("0.lun"))
        .expect("open")
        .set_len(0)
        .expect("cut");
    assert_eq!(stacks::teardown(built, &mut journal), []);
    assert_eq!(journal.undo_all(), []);
    bench.assert_clean();
}

#[test]
fn a_read_only_place_is_named_and_nothing_is_left() {
    if !has_tool("ext4") {
        return;
    }
    let Some(bench) = Bench::new(2, 64) else { return };
    let mut journal = bench.journal("o");
    let built = stacks::build(&stack("s", ext4()), &bench.places(1), &bench.work(), &mut journal).expect("built");
    let place = built.mounts[0].clone();
    assert!(
        Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&place)
            .status()
            .expect("mount")
            .success()
    );
    let kind = StackKind::Directory { path: place.clone() };
    let error = stacks::build(&stack("d", kind), &Places::default(), &bench.work(), &mut journal).expect_err("refused");
    let error = error.to_string();
    assert!(
        error.contains(&*place.to_string_lossy()) && error.contains("read-only"),
        "{error}"
    );
    let error = Journal::create(&place.join("state"), "x")
        .expect_err("refused")
        .to_string();
    assert!(
        error.contains(&*place.to_string_lossy()) && error.contains("read-only"),
        "{error}"
    );
    assert_eq!(stacks::teardown(built, &mut journal), []);
    assert_eq!(journal.undo_all(), []);
    bench.assert_clean();
}

#[test]
fn a_loop_device_is_detached_by_its_file_even_when_that_was_deleted() {
    let Some(bench) = Bench::new(1, 16) else { return };
    let lun = bench.path("own.lun");
    let mut journal = bench.journal("l");
    let step = journal
        .before(Undo::RemoveFile { path: lun.clone() })
        .expect("journalled");
    let made = File::create(&lun).expect("made");
    made.set_len(16 << 20).expect("sized");
    let file = Identity::of(&made).expect("its identity");
    journal.made(step, file).expect("journalled");
    let backing = lun.clone();
    journal.before(Undo::DetachLoop { backing, file }).expect("journalled");
    let device = losetup(&["-f", "--show", &lun.to_string_lossy()]);
    std::fs::remove_file(&lun).expect("deleted under it");
    assert_eq!(journal.undo_all(), []);
    assert!(!losetup(&["-a"]).contains(&*lun.to_string_lossy()), "{device} is left");
    assert!(losetup(&["-a"]).contains("0.lun"), "the other one stays");
    bench.assert_clean();
}

#[test]
fn a_device_that_is_not_on_the_runs_list_is_not_built_on() {
    let Some(bench) = Bench::new(2, 64) else { return };
    let before = std::fs::read(bench.path("1.lun")).expect("read");
    let mut journal = Journal::create(&bench.path("state"), "n").expect("a journal");
    allow(&mut journal, &bench.devices[..1]);
    for kind in [ext4(), StackKind::Raw] {
        let error =
            stacks::build(&stack("s", kind), &bench.places(1), &bench.work(), &mut journal).expect_err("refused");
        let error = error.to_string();
        assert!(
            error.contains(&*bench.devices[1].to_string_lossy()) && error.contains("list"),
            "{error}"
        );
    }
    assert_eq!(journal.undo_all(), []);
    assert_eq!(std::fs::read(bench.path("1.lun")).expect("read"), before);
}

#[test]
fn a_wipe_leaves_another_file_system_alone() {
    if !has_tool("ext4") {
        return;
    }
    let Some(bench) = Bench::new(1, 64) else { return };
    assert!(
        Command::new("mkfs.ext4")
            .args(["-qF"])
            .arg(&bench.devices[0])
            .status()
            .expect("mkfs")
            .success()
    );
    let mut journal = bench.journal("w");
    let (device, filesystem) = (bench.devices[0].clone(), "ext4".to_owned());
    let undo = Undo::WipeSignature {
        device,
        filesystem,
        uuid: [7; 16],
        marker: MARKER.into(),
    };
    journal.before(undo).expect("journalled");
    assert_eq!(journal.undo_all(), []);
    let mut magic = [0u8; 2];
    File::open(&bench.devices[0])
        .expect("open")
        .read_exact_at(&mut magic, 0x438)
        .expect("read");
    assert_eq!(magic, [0x53, 0xef]);
}

/// Not a test of its own: the process that the next one kills.
#[test]
fn victim() {
    let Ok(dir) = std::env::var(VICTIM) else { return };
    let devices: Vec<PathBuf> = std::env::var("ASSAY_TEST_DEVICES")
        .expect("set")
        .split(':')
        .map(PathBuf::from)
        .collect();
    let dir = Path::new(&dir);
    for round in 0.. {
        let mut journal =
            Journal::create(&dir.join("state"), &format!("v{}-{round}", std::process::id())).expect("journal");
        let file = dir.join(format!("assay-file-{round}"));
        journal
            .before(Undo::RemoveFile { path: file.clone() })
            .expect("journalled");
        std::fs::write(&file, "x").expect("made");
        let limit = stacks::memory_limit(512 << 20, std::process::id(), &mut journal).expect("asked");
        std::fs::write(dir.join("cgroup"), limit.path.to_string_lossy().as_bytes()).expect("noted");
        let places = Places {
            data: devices[..1].to_vec(),
            redo: devices[1..].to_vec(),
            temp: Vec::new(),
            marker: MARKER.into(),
        };
        allow(&mut journal, &devices);
        let dir = Directory::open(dir).expect("held");
        let built = stacks::build(&stack("s", ext4()), &places, &dir, &mut journal).expect("built");
        let files = built.ground.files().expect("files");
        std::fs::write(&files.redo, vec![1u8; 1 << 20]).expect("used");
        assert_eq!(stacks::teardown(built, &mut journal), []);
        assert_eq!(journal.undo_all(), []);
    }
}

#[test]
fn a_kill_at_any_moment_is_cleaned_up_after() {
    if !has_tool("ext4") {
        return;
    }
    let Some(bench) = Bench::new(2, 64) else { return };
    let devices = bench
        .devices
        .iter()
        .map(|d| d.to_string_lossy())
        .collect::<Vec<_>>()
        .join(":");
    // Moments spread over more than one round, without a clock in the choice: a fixed odd step modulo the span.
    let mut busy = 0;
    for number in 0..18u64 {
        // A disk that is slow to make each step durable needs longer to get so far: from half a second to half a
        // minute.
        let delay_ms = match number {
            0..12 => 20 + number * 137 % 500,
            _ if busy > 0 => break,
            _ => 500 << (number - 11),
        };
        let mut child = Command::new(std::env::current_exe().expect("this"))
            .args(["--exact", "stacks::victim", "--nocapture"])
            .env(VICTIM, bench.path("."))
            .env("ASSAY_TEST_DEVICES", &devices)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("started");
        std::thread::sleep(Duration::from_millis(delay_ms));
        child.kill().expect("killed");
        child.wait().expect("waited");
        let report = stacks::clean(&bench.path("state"), false).expect("cleaned");
        assert!(report.is_clean() && report.live.is_empty(), "kill {number}: {report:?}");
        busy += report.runs.iter().filter(|r| r.undone.len() > 3).count();
        bench.assert_clean();
        if let Ok(group) = std::fs::read_to_string(bench.path("cgroup")) {
            assert!(group.is_empty() || !Path::new(&group).exists(), "{group} is left");
        }
    }
    assert!(busy > 0, "no kill hit a stack that was being built or taken down");
}

#[test]
fn a_memory_limit_is_kept_and_undone() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut journal = Journal::create(&dir.path().join("state"), "m").expect("a journal");
    let mut other = Command::new("sleep").arg("60").spawn().expect("started");
    let membership = || std::fs::read_to_string(format!("/proc/{}/cgroup", other.id())).expect("readable");
    let before = membership();
    let mut limit = stacks::memory_limit(64 << 20, other.id(), &mut journal).expect("asked");
    if let Enforcement::NotEnforced(why) = &limit.version {
        eprintln!("skipped: {why}");
    } else {
        assert_ne!(membership(), before);
        limit.set(128 << 20).expect("raised");
        limit.reclaim().expect("reclaimed");
        let file = if limit.version == Enforcement::V1 {
            "memory.limit_in_bytes"
        } else {
            "memory.max"
        };
        let kept = std::fs::read_to_string(limit.path.join(file)).expect("readable");
        assert_eq!(kept.trim(), (128u64 << 20).to_string());
    }
    assert_eq!(journal.undo_all(), []);
    assert_eq!(membership(), before);
    assert!(limit.path.as_os_str().is_empty() || !limit.path.exists());
    other.kill().expect("killed");
    other.wait().expect("waited");
}
