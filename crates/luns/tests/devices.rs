//! LUN files, loop devices and the look at devices, on the real kernel. The parts with loop devices need root.

use crate::machine::{DISK, Turn, turn};
use luns::{DeviceRefusal, LunError, LunFile};
use sandbox::{Directory, Identity};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

const MIB: u64 = 1 << 20;

/// A directory for LUN files (direct I/O needs a real file system), and the turn among tests that use loop devices.
struct Bench {
    dir: tempfile::TempDir,
    _turn: File,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            _turn: turn(Turn::Alone),
            dir: tempfile::tempdir_in(DISK).expect("a directory"),
        }
    }

    /// `None`, with the reason printed, where loop devices can't be had.
    fn with_loops() -> Option<Bench> {
        if rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists() {
            return Some(Bench::new());
        }
        eprintln!("skipped: needs root and /dev/loop-control");
        None
    }

    /// The same bench, where it has loop devices.
    fn with_loops_in(bench: Bench) -> Option<Bench> {
        (rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists()).then_some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("there").join(name)
    }

    fn home(&self) -> Directory {
        Directory::open(self.dir.path()).expect("held")
    }

    fn lun(&self, name: &str, bytes: u64) -> LunFile {
        luns::create_file(&self.home(), name, bytes, 1, &mut |_| {}, &AtomicBool::new(false)).expect("a LUN")
    }

    /// A LUN whose first and last MiB are blank, so that chance can't put a signature there.
    fn blank_loop(&self, name: &str) -> PathBuf {
        let lun = self.lun(name, 16 * MIB);
        let file = OpenOptions::new().write(true).open(&lun.path).expect("open");
        file.write_all_at(&vec![0; lun.bytes as usize], 0).expect("blank");
        file.sync_all().expect("synced");
        luns::attach(&lun).expect("attached").path
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for entry in std::fs::read_dir(self.dir.path()).into_iter().flatten().flatten() {
            let _ = Command::new("umount")
                .arg(entry.path())
                .stderr(std::process::Stdio::null())
                .status();
            if let Ok(file) = File::open(entry.path()) {
                let _ = luns::detach_backing(&Identity::of(&file).expect("its identity"));
            }
        }
    }
}

fn inspect(path: &Path) -> Result<luns::DeviceFacts, DeviceRefusal> {
    luns::inspect_device(path, &[path.to_owned()], &[])
}

fn write(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).expect("open");
    file.write_all_at(bytes, at).expect("written");
    file.sync_all().expect("synced");
}

#[test]
fn a_lun_file_is_whole_incompressible_and_refilled_in_place() {
    let bench = Bench::new();
    let mut told = Vec::new();
    let path = bench.path("a.lun");
    let cancel = AtomicBool::new(false);
    let made = luns::create_file(
        &bench.home(),
        "a.lun",
        9 * MIB + 4096,
        7,
        &mut |n| told.push(n),
        &cancel,
    )
    .expect("made");
    assert_eq!(told.last(), Some(&(9 * MIB + 4096)));
    assert!(told.windows(2).all(|w| w[0] < w[1]));
    let before = std::fs::read(&path).expect("read");
    assert_eq!(before.len() as u64, made.bytes);
    assert_eq!(made.check().expect("whole"), made.extents);
    let again = made.refill(8, &mut |_| {}, &cancel).expect("rewritten");
    let places = |lun: &LunFile| {
        lun.extents
            .iter()
            .map(|e| (e.logical, e.physical, e.length))
            .collect::<Vec<_>>()
    };
    assert_eq!(places(&again), places(&made), "a refill must not move the LUN");
    let after = std::fs::read(&path).expect("read");
    let same = before
        .chunks(4096)
        .zip(after.chunks(4096))
        .filter(|(a, b)| a == b)
        .count();
    assert_eq!(same, 0, "every block must be new");
}

#[test]
fn a_hole_and_an_unwritten_extent_are_found() {
    let bench = Bench::new();
    let lun = bench.lun("a.lun", 4 * MIB);
    let file = OpenOptions::new().write(true).open(&lun.path).expect("open");
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, flags, MIB, 8192).expect("a hole");
    match luns::check_whole(&lun.path) {
        Err(LunError::NotWhole { missing, first, .. }) => assert_eq!((missing, first), (8192, MIB)),
        other => panic!("{other:?}"),
    }
    let fresh = bench.path("b.lun");
    let file = File::create(&fresh).expect("made");
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, MIB).expect("reserved");
    assert!(matches!(
        luns::check_whole(&fresh),
        Err(LunError::NotWhole { missing: MIB, .. })
    ));
}

#[test]
fn failures_name_the_path_and_leave_nothing() {
    let bench = Bench::new();
    let path = bench.path("a.lun");
    let go = AtomicBool::new(false);
    let make = |bytes, cancel: &AtomicBool| luns::create_file(&bench.home(), "a.lun", bytes, 1, &mut |_| {}, cancel);
    let huge = luns::create_file(&bench.home(), "a.lun", 1 << 55, 1, &mut |_| {}, &go).expect_err("too large");
    assert!(matches!(huge, LunError::NoSpace { .. }), "{huge}");
    assert!(make(1000, &go).is_err());
    let stopped = make(MIB, &AtomicBool::new(true)).expect_err("stopped");
    assert!(matches!(stopped, LunError::Cancelled { .. }));
    assert!(!path.exists());
    std::fs::write(&path, "mine").expect("written");
    let error = make(MIB, &go).expect_err("exists").to_string();
    assert!(
        error.contains("a.lun") && error.contains("never overwritten"),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).expect("read"), b"mine");
    let lun = bench.lun("b.lun", MIB);
    OpenOptions::new()
        .write(true)
        .open(&lun.path)
        .expect("open")
        .set_len(MIB / 2)
        .expect("cut");
    let error = lun.check().expect_err("cut").to_string();
    assert!(error.contains("b.lun") && error.contains("524288 bytes"), "{error}");
}

#[test]
fn a_file_put_in_its_place_is_refused_and_neither_attached_nor_written() {
    let bench = Bench::new();
    let lun = bench.lun("a.lun", MIB);
    std::fs::rename(&lun.path, bench.path("away.lun")).expect("renamed");
    std::fs::write(&lun.path, vec![7; MIB as usize]).expect("another file");
    assert!(matches!(lun.check(), Err(LunError::Replaced { .. })));
    let before = std::fs::read(bench.path("away.lun")).expect("read");
    lun.refill(9, &mut |_| {}, &AtomicBool::new(false))
        .expect("its own file");
    assert_ne!(std::fs::read(bench.path("away.lun")).expect("read"), before);
    assert_eq!(
        std::fs::read(&lun.path).expect("read"),
        vec![7; MIB as usize],
        "a stranger's file was written"
    );
    let Some(loops) = Bench::with_loops_in(bench) else {
        return;
    };
    let device = luns::attach(&lun).expect("attached");
    let mut got = vec![0; 4096];
    File::open(&device.path)
        .expect("open")
        .read_exact_at(&mut got, 0)
        .expect("read");
    assert_ne!(got, vec![7; 4096], "the loop device shows a stranger's file");
    luns::detach(device.number).expect("detached");
    drop(loops);
}

#[test]
fn a_loop_device_has_direct_io_and_no_discards() {
    let Some(bench) = Bench::with_loops() else { return };
    let lun = bench.lun("a.lun", 4 * MIB);
    let device = luns::attach(&lun).expect("attached");
    assert!(device.direct_io);
    assert_eq!(luns::find_by_backing(&lun.identity), std::slice::from_ref(&device));
    let facts = luns::device_facts(&device.path).expect("facts");
    assert_eq!((facts.bytes, facts.discard_max_bytes), (4 * MIB, 0));
    assert_eq!(facts.logical_block, u64::from(device.logical_block));
    let discard = Command::new("blkdiscard")
        .arg("-f")
        .arg(&device.path)
        .output()
        .expect("util-linux");
    assert!(!discard.status.success(), "a discard must be refused");
    lun.check().expect("still whole");
    // What is written to the device is in the file, without a stop in the page cache.
    write(&device.path, 4096, b"through");
    let mut got = [0; 7];
    File::open(&lun.path)
        .expect("open")
        .read_exact_at(&mut got, 4096)
        .expect("read");
    assert_eq!(&got, b"through");
    std::fs::remove_file(&lun.path).expect("deleted under it");
    assert_eq!(
        luns::find_by_backing(&lun.identity),
        std::slice::from_ref(&device),
        "found although the file is deleted"
    );
    luns::detach(device.number).expect("detached");
    luns::detach(device.number).expect("twice is fine");
    assert_eq!(luns::find_by_backing(&lun.identity), []);
}

#[test]
fn a_device_in_use_is_not_detached_and_not_touched() {
    let Some(bench) = Bench::with_loops() else { return };
    let path = bench.blank_loop("a.lun");
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F", "-E", "nodiscard"])
        .arg(&path)
        .status();
    assert!(made.is_ok_and(|s| s.success()), "e2fsprogs is needed");
    let place = bench.path("mnt");
    std::fs::create_dir(&place).expect("made");
    assert!(
        Command::new("mount")
            .args([&path, &place])
            .status()
            .expect("mount")
            .success()
    );
    let refused = inspect(&path).expect_err("mounted");
    assert!(
        matches!(&refused, DeviceRefusal::Mounted { place: p, .. } if *p == place),
        "{refused}"
    );
    // Not even under overwrite.
    let all = [path.clone()];
    assert!(matches!(
        luns::inspect_device(&path, &all, &all),
        Err(DeviceRefusal::Mounted { .. })
    ));
    let file = File::open(bench.path("a.lun")).expect("opened");
    let number = luns::find_by_backing(&Identity::of(&file).expect("its identity"))[0].number;
    assert!(matches!(luns::detach(number), Err(LunError::InUse { .. })));
    assert!(Command::new("umount").arg(&place).status().expect("umount").success());
    let refused = inspect(&path).expect_err("a signature").to_string();
    assert!(
        refused.contains("ext2/ext3/ext4") && refused.contains("overwrite ="),
        "{refused}"
    );
    let facts = luns::inspect_device(&path, &all, &all).expect("overwrite names it");
    assert!(facts.signatures.iter().any(|s| s.name.contains("ext4")));
    assert!(matches!(
        luns::inspect_device(&path, &all, &[]),
        Err(DeviceRefusal::Foreign { .. })
    ));
}

#[test]
fn blank_and_marked_devices_are_free_and_what_is_not_named_or_no_device_is_refused() {
    let Some(bench) = Bench::with_loops() else { return };
    let path = bench.blank_loop("a.lun");
    assert_eq!(inspect(&path).expect("blank").signatures, []);
    write(&path, 0, format!("{}run x\n", luns::MARKER).as_bytes());
    assert!(inspect(&path).expect("ours").signatures[0].own);
    let refused = luns::inspect_device(&path, &[PathBuf::from("/dev/null")], &[]).expect_err("not named");
    assert!(matches!(refused, DeviceRefusal::NotNamed { .. }));
    let link = bench.path("by-id");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    luns::inspect_device(&path, &[link], &[]).expect("named by another name");
    for other in ["a.lun", "."] {
        assert!(matches!(
            inspect(&bench.path(other)),
            Err(DeviceRefusal::NotBlockDevice { .. })
        ));
    }
    assert!(matches!(
        inspect(Path::new("/dev/null")),
        Err(DeviceRefusal::NotBlockDevice { .. })
    ));
    assert!(matches!(
        inspect(Path::new("/dev/nonesuch")),
        Err(DeviceRefusal::Unreadable { .. })
    ));
    let twice = luns::device_facts(&path).expect("facts");
    assert!(
        luns::differences(&[twice.clone(), twice])
            .iter()
            .any(|d| d.contains("same device"))
    );
}

#[test]
fn every_kind_of_foreign_signature_is_refused() {
    let Some(bench) = Bench::with_loops() else { return };
    let path = bench.blank_loop("a.lun");
    let size = 16 * MIB;
    let known: [(&str, u64, &[u8]); 14] = [
        ("XFS", 0, b"XFSB"),
        ("btrfs", 0x1_0040, b"_BHRfS_M"),
        ("LVM2", 512, b"LABELONE"),
        ("LUKS", 0, b"LUKS\xba\xbe"),
        ("swap", 4086, b"SWAPSPACE2"),
        ("Oracle ASM", 32, b"ORCLDISK"),
        ("NTFS", 3, b"NTFS    "),
        ("ISO 9660", 0x8001, b"CD001"),
        ("ZFS", 128 * 1024, &0x00ba_b10c_u64.to_le_bytes()),
        ("ZFS", size - 128 * 1024, &0x00ba_b10c_u64.to_le_bytes()),
        ("md RAID member (1.2)", 4096, b"\xfc\x4e\x2b\xa9"),
        ("md RAID member (1.0)", size - 8192, b"\xfc\x4e\x2b\xa9"),
        ("md RAID member (0.90)", size - 64 * 1024, b"\xfc\x4e\x2b\xa9"),
        ("boot sector", 510, b"\x55\xaa"),
    ];
    for (name, at, bytes) in known {
        write(&path, at, bytes);
        let refused = inspect(&path).expect_err(name);
        assert!(
            matches!(&refused, DeviceRefusal::Foreign { found, .. } if found.contains(name)),
            "{name}: {refused}"
        );
        write(&path, at, &vec![0; bytes.len()]);
        inspect(&path).expect("blank again");
    }
}

#[test]
fn partitioned_disks_and_partitions_are_refused_even_under_overwrite() {
    let Some(bench) = Bench::with_loops() else { return };
    let path = bench.blank_loop("a.lun");
    let all = [path.clone()];
    for at in [512, 4096, 16 * MIB - 512] {
        write(&path, at, b"EFI PART");
        assert!(
            matches!(
                luns::inspect_device(&path, &all, &all),
                Err(DeviceRefusal::Partitioned { .. })
            ),
            "GPT at {at}"
        );
        write(&path, at, &[0; 8]);
    }
    // One Linux partition from sector 2048, 8192 sectors long.
    let mut table = [0u8; 66];
    table[4] = 0x83;
    table[8..12].copy_from_slice(&2048u32.to_le_bytes());
    table[12..16].copy_from_slice(&8192u32.to_le_bytes());
    table[64..].copy_from_slice(b"\x55\xaa");
    write(&path, 446, &table);
    assert!(matches!(
        luns::inspect_device(&path, &all, &all),
        Err(DeviceRefusal::Partitioned { .. })
    ));
    write(&path, 446, &[0; 66]);
    // The kernel's own partitions, with no table that could be read.
    let added = Command::new("addpart").arg(&path).args(["1", "2048", "8192"]).status();
    assert!(added.is_ok_and(|s| s.success()), "addpart of util-linux is needed");
    let part = PathBuf::from(format!("{}p1", path.display()));
    let name = part.file_name().expect("a name").to_string_lossy().into_owned();
    let refused = luns::inspect_device(&path, &all, &all).expect_err("partitioned");
    let of_part = part.exists().then(|| inspect(&part));
    let removed = Command::new("delpart").arg(&path).arg("1").status();
    assert!(removed.is_ok_and(|s| s.success()), "delpart of util-linux is needed");
    assert!(
        matches!(&refused, DeviceRefusal::Partitioned { what, .. } if what.contains(&name)),
        "{refused}"
    );
    match of_part {
        Some(result) => assert!(matches!(result, Err(DeviceRefusal::Partition { .. })), "{result:?}"),
        None => eprintln!("skipped: no node for {} (no devtmpfs here)", part.display()),
    }
    inspect(&path).expect("free again");
}
