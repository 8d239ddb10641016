//! Pools of zfs-fuse made and taken down, and what stands in their way. Needs root, loop devices, FUSE and zfs-fuse.
//!
//! The commands are those of the kernel's module too, so far as both have them. Prevents: a pool over somebody else's.

use crate::machine::{DISK, Turn, turn};
use plan::{Access, Bytes, Inject, RedoAs, Stack, StackKind, Vdevs, Zfs, ZfsPreset, ZfsWay};
use sandbox::Directory;
use stacks::{Journal, Places};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const MARKER: &str = "MARKER OF THE TEST\n";
/// Where zfs-fuse shows its counters; of a daemon of the machine's own, if it has one, they may be there before.
const KSTAT: &str = "/zfs-kstat";

/// Directory, loop devices, and the turn among tests that use loop devices. All gone when dropped.
struct Bench {
    dir: tempfile::TempDir,
    devices: Vec<PathBuf>,
    _turn: File,
}

impl Bench {
    fn journal(&self, run: &str) -> Journal {
        let mut journal = Journal::create(&self.path("state"), run).expect("a journal");
        for device in &self.devices {
            journal.may_write(device).expect("it is there");
        }
        journal
    }

    fn new(count: usize) -> Option<Bench> {
        let [_, fuse] = stacks::zfs_ways();
        if !fuse.able || !Path::new("/dev/loop-control").exists() {
            let asked = std::env::var_os("ASSAY_TEST_ZFS_FUSE").is_some() && stacks::is_root();
            assert!(!asked, "zfs-fuse is unpacked: {}\n{}", fuse.reason, fuse.cure);
            eprintln!("SKIPPED: {}: {}", fuse.reason, fuse.cure);
            return None;
        }
        let turn = turn(Turn::Alone);
        let dir = tempfile::tempdir_in(DISK).expect("a directory");
        let devices = Vec::new();
        let mut bench = Bench {
            dir,
            devices,
            _turn: turn,
        };
        for number in 0..count {
            let file = bench.path(&format!("{number}.lun"));
            File::create(&file).expect("made").set_len(128 << 20).expect("sized");
            let args = ["-f", "--show", "--direct-io=on", &file.to_string_lossy()];
            let output = Command::new("losetup").args(args).output().expect("losetup runs");
            assert!(output.status.success());
            let shown = String::from_utf8_lossy(&output.stdout);
            bench.devices.push(shown.trim().into());
        }
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("there").join(name)
    }

    fn places(&self, data: usize) -> Places {
        Places {
            data: self.devices[..data].to_vec(),
            redo: self.devices[data..].to_vec(),
            temp: Vec::new(),
            marker: MARKER.into(),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = stacks::clean(&self.path("state"), false);
        for device in &self.devices {
            let _ = Command::new("losetup").arg("-d").arg(device).status();
        }
    }
}

fn stack(zfs: Zfs) -> Stack {
    Stack {
        name: "pool".into(),
        kind: StackKind::Zfs(zfs),
        data: Some("data".into()),
        redo: Some("redo".into()),
        temp: None,
        access: Access::Direct,
        inject: Inject::default(),
        engine: plan::Engine::Pages,
        instances: 1,
    }
}

fn by_fuse() -> Zfs {
    Zfs {
        via: Some(ZfsWay::Fuse),
        preset: ZfsPreset::Default,
        vdevs: Vdevs::Stripe,
        ashift: 12,
        recordsize: Bytes(16 << 10),
        compression: "gzip-1".into(),
        checksum: "sha256".into(),
        primarycache: "metadata".into(),
        logbias: "throughput".into(),
        sync: "standard".into(),
        atime: None,
        prefetch: false,
        prefetch_distance: None,
        arc_max: Bytes(32 << 20),
        arc_min: None,
        redo_as: RedoAs::Log,
    }
}

/// But the files of the LUNs.
fn nothing_is_left(bench: &Bench) {
    let left: Vec<_> = std::fs::read_dir(bench.dir.path()).expect("listed").flatten().collect();
    let left: Vec<_> = left
        .iter()
        .map(|entry| entry.file_name())
        .filter(|name| !name.to_string_lossy().ends_with(".lun"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A marker stands at the start of each device, and no label of a pool on it.
fn are_wiped(bench: &Bench) {
    for device in &bench.devices {
        let whole = std::fs::read(device).expect("read");
        assert!(
            whole.starts_with(MARKER.as_bytes()),
            "no marker on {}",
            device.display()
        );
        let labels = [&whole[..1 << 20], &whole[whole.len() - (1 << 20)..]].concat();
        let named = labels.windows(6).any(|words| words == b"assay-");
        assert!(!named, "a label of the pool is left on {}", device.display());
    }
}

#[test]
fn a_pool_with_a_log_device_is_made_loses_its_power_and_goes() {
    let Some(bench) = Bench::new(2) else { return };
    let is_kept = Path::new(KSTAT).exists();
    let mut journal = bench.journal("run");
    let (stack, places) = (stack(by_fuse()), bench.places(1));
    let built = stacks::build(
        &stack,
        &places,
        &Directory::open(bench.dir.path()).expect("held"),
        &mut journal,
    )
    .expect("built");
    let fact = |key: &str| {
        let found = built.facts.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let said = [
        "dataset recordsize",
        "dataset compression",
        "dataset checksum",
        "dataset primarycache",
        "dataset logbias",
        "dataset atime",
        "redo logbias",
    ]
    .map(fact);
    assert_eq!(
        said,
        ["16KiB", "gzip-1", "sha256", "metadata", "throughput", "on", "latency"]
    );
    assert_eq!((built.data_devices, built.devices.len(), built.mounts.len()), (1, 2, 2));
    let data = &built.ground.files().expect("files").data;
    std::fs::write(data, vec![7; 1 << 20]).expect("written");
    File::open(data).expect("opened").sync_all().expect("synced");
    let pool = built.ground.mounted_pool().expect("a pool");
    pool.sync().expect("synced");
    let counted = pool.count().expect("counted");
    assert!(counted.allocated_bytes.is_some_and(|bytes| bytes > 0), "{counted:?}");
    assert!(counted.compress_ratio.is_some_and(|ratio| ratio > 2.0), "{counted:?}");
    assert_eq!(pool.lost(), None);
    let arc = counted.arc.expect("a daemon with a pool shows its counters");
    assert_eq!(arc.max_bytes, 32 << 20);
    assert!(
        arc.size_bytes > 0 && arc.hits > 0 && arc.evicted_bytes.is_some(),
        "{arc:?}"
    );
    assert_eq!(
        Path::new(KSTAT).exists(),
        is_kept,
        "the daemon's counters are in the host's root"
    );
    // Without a word, and up again.
    pool.kill().expect("it ends");
    assert!(pool.lost().is_some_and(|why| why.contains("zfs-fuse has ended")));
    stacks::power_off(&built).expect("off");
    stacks::power_on(&stack, &built, &journal).expect("on");
    assert_eq!(std::fs::read(data).expect("read"), vec![7; 1 << 20]);
    let again = pool.count().expect("counted").arc.expect("counters of the new daemon");
    let fetched = again.data_misses + again.ahead_misses;
    assert!(fetched >= 64, "a new cache has nothing of the 64 records: {again:?}");
    assert_eq!(Path::new(KSTAT).exists(), is_kept);
    assert_eq!(stacks::teardown(built, &mut journal), []);
    are_wiped(&bench);
    assert_eq!(journal.undo_all(), []);
    nothing_is_left(&bench);
}

#[test]
fn what_the_version_lacks_and_a_module_that_is_missing_are_refused_with_a_cure() {
    let Some(bench) = Bench::new(1) else { return };
    let mut journal = bench.journal("run");
    let mut refused = |zfs: Zfs| {
        let built = stacks::build(
            &stack(zfs),
            &bench.places(1),
            &Directory::open(bench.dir.path()).expect("held"),
            &mut journal,
        );
        built.expect_err("refused").to_string()
    };
    let newer = Zfs {
        compression: "lz4".into(),
        ..by_fuse()
    };
    let said = refused(newer);
    assert!(
        said.contains("no compression \"lz4\"\n") && said.contains("lzjb"),
        "{said}"
    );
    if !Path::new("/sys/module/zfs").exists() {
        let said = refused(Zfs {
            via: Some(ZfsWay::Kernel),
            ..by_fuse()
        });
        assert!(
            said.contains("this kernel has no ZFS") && said.contains("modprobe zfs"),
            "{said}"
        );
    }
}
