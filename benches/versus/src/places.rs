//! The places that are compared on: a file on the disk, a file on XFS on a loop device with direct I/O, zram.
//!
//! Each holds a database loaded in full, whose data file every contender reads. What is made goes when the place goes
//! out of scope. Prevents: a LUN that is sparse or cached below, and a zram device full of zeros, which reads
//! nothing.

use crate::child;
use crate::contender::{Contender, Fio, VERIFIED, arguments};
use crate::database::{Database, Size};
use crate::undo::{Interrupt, Undo, tool};
use anyhow::{Context, bail, ensure};
use diskgroup::{DiskSpec, FileSpec, Group, GroupSpec, Redundancy, Stripe};
use std::path::{Path, PathBuf};
use targets::{Access, BasePort, FileId, Method, OpenSpec};

const MIB: u64 = 1 << 20;
const REDO_BYTES: u64 = 64 * MIB;
/// Cache while loading, which writes past it, and sessions, of which it has none.
const LOAD_CACHE_MIB: u64 = 16;
const LOAD_SESSIONS: u32 = 64;
const BLOCK: u64 = 8192;
/// Content of LUN files.
const LUN_SEED: u64 = 1;
/// Metadata of a group on each of its disks, and room to spare.
const GROUP_SPARE_BYTES: u64 = 64 * MIB;

/// How large things are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) file: u64,
    pub(crate) lun: u64,
    pub(crate) zram: u64,
    pub(crate) updates: u64,
    pub(crate) sessions: u64,
    pub(crate) group: u64,
    pub(crate) mirror: u64,
}

impl Sizes {
    pub(crate) fn of(quick: bool) -> Sizes {
        let [file, lun, zram, updates, sessions, group, mirror] = if quick {
            [128, 448, 64, 32, 256, 160, 64]
        } else {
            [1024, 1408, 256, 64, 512, 800, 400]
        }
        .map(|mib| mib * MIB);
        Sizes {
            file,
            lun,
            zram,
            updates,
            sessions,
            group,
            mirror,
        }
    }
}

/// A database in its place.
pub(crate) struct Place {
    pub(crate) words: String,
    pub(crate) data: PathBuf,
    pub(crate) redo: PathBuf,
    pub(crate) pages: u32,
    /// Dropped last.
    _undo: Undo,
}

/// Whether what needs root can be had; the reason otherwise.
pub(crate) fn root() -> Result<(), String> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err("not root".into())
    }
}

fn remove_later(undo: &mut Undo, path: &Path) {
    let path = path.to_owned();
    undo.push(
        format!("remove {}", path.display()),
        move || match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        },
    );
}

/// A database that a place is to hold: about `bytes` of data.
struct Wanted {
    words: String,
    data: PathBuf,
    redo: PathBuf,
    bytes: u64,
    redo_bytes: u64,
    workers: u32,
}

/// Loads it.
fn load(wanted: Wanted, mut undo: Undo) -> anyhow::Result<Place> {
    let Wanted {
        words,
        data,
        redo,
        bytes,
        redo_bytes,
        workers,
    } = wanted;
    if !data.starts_with("/dev") {
        remove_later(&mut undo, &data);
    }
    remove_later(&mut undo, &redo);
    let size = Size {
        pages: Database::pages_in(bytes, workers),
        redo_bytes,
        workers,
        cache_mib: LOAD_CACHE_MIB,
        sessions: LOAD_SESSIONS,
    };
    Database::new(&data, &redo, size).load()?;
    Ok(Place {
        words,
        data,
        redo,
        pages: size.pages,
        _undo: undo,
    })
}

/// A file on the disk under `dir`.
pub(crate) fn file(dir: &Path, bytes: u64) -> anyhow::Result<Place> {
    let wanted = Wanted {
        words: format!("a fully written file of {} MiB on the disk, O_DIRECT", bytes / MIB),
        data: dir.join("data"),
        redo: dir.join("redo"),
        bytes,
        redo_bytes: REDO_BYTES,
        workers: 1,
    };
    load(wanted, Undo::default())
}

/// A database of its own for a section, in files under `dir`.
pub(crate) fn database(dir: &Path, name: &str, bytes: u64, redo_bytes: u64, workers: u32) -> anyhow::Result<Place> {
    let wanted = Wanted {
        words: format!("a database of {} MiB in a file on the disk, O_DIRECT", bytes / MIB),
        data: dir.join(format!("{name}-data")),
        redo: dir.join(format!("{name}-redo")),
        bytes,
        redo_bytes,
        workers,
    };
    load(wanted, Undo::default())
}

/// A file under `dir` that fio has written in full with a checksum in each block: what it can verify when it reads.
pub(crate) fn verifiable(dir: &Path, name: &str, bytes: u64, undo: &mut Undo) -> anyhow::Result<PathBuf> {
    let path = dir.join(name);
    remove_later(undo, &path);
    let mut args = arguments(&[
        &["--name=lay", "--thread", "--direct=1", "--rw=write", "--bs=8k"],
        &["--ioengine=io_uring", "--iodepth=16", "--do_verify=0", "--end_fsync=1"],
        VERIFIED,
    ]);
    args.push(format!("--filename={}", path.display()));
    args.push(format!("--size={}", bytes / BLOCK * BLOCK));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    tool("fio", &args)?;
    Ok(path)
}

/// That fio verifies what it reads, by the command that is measured but for its file and its time. It takes a file that
/// it laid, and refuses it with one byte changed. A flag that it took and did nothing for would flatter it.
pub(crate) fn refuses_damage(measured: &Fio, dir: &Path, interrupt: &Interrupt, undo: &mut Undo) -> anyhow::Result<()> {
    // So few that a short run, at random, reads each of them many times.
    const BLOCKS: u64 = 8;
    const SECONDS: f64 = 1.0;
    let path = verifiable(dir, "fio-damaged", BLOCKS * BLOCK, undo)?;
    let proof = Fio {
        data: path.clone(),
        ..measured.clone()
    };
    let proof = Contender::fio("fio that verifies", proof);
    let read = || child::to_its_end(&proof, SECONDS, dir, interrupt);
    read().context("fio verifies a file that it has just laid")?;
    let mut bytes = std::fs::read(&path).context("read what fio has laid")?;
    let last = bytes.last_mut().context("fio laid an empty file")?;
    *last ^= 1;
    std::fs::write(&path, &bytes).context("damage what fio has laid")?;
    let damaged = read();
    interrupt.check()?;
    ensure!(
        damaged.is_err(),
        "fio reads a damaged block and says nothing: it does not verify here"
    );
    Ok(())
}

/// A LUN file, removed later.
fn filled(dir: &Path, name: &str, bytes: u64, interrupt: &Interrupt, undo: &mut Undo) -> anyhow::Result<luns::LunFile> {
    remove_later(undo, &dir.join(name));
    let dir = sandbox::Directory::open(dir)?;
    Ok(luns::create_file(
        &dir,
        name,
        bytes,
        LUN_SEED,
        &mut |_| (),
        &interrupt.0,
    )?)
}

/// A file written in full with incompressible data, for those that write.
pub(crate) fn plain(dir: &Path, bytes: u64, interrupt: &Interrupt, undo: &mut Undo) -> anyhow::Result<PathBuf> {
    Ok(filled(dir, "plain", bytes, interrupt, undo)?.path)
}

/// Names in a group of the comparison.
pub(crate) const GROUP: &str = "versus";
pub(crate) const GROUP_FILE: &str = "data";
const DISKS: usize = 5;

/// A disk group with one file that nobody has written: it reads what the LUNs were filled with.
pub(crate) struct GroupPlace {
    pub(crate) words: String,
    pub(crate) disks: Vec<PathBuf>,
    /// Pages of 8 KiB in the file.
    pub(crate) pages: u32,
    _undo: Undo,
}

/// What the disks are called, in their order.
pub(crate) fn group_names(disks: usize) -> Vec<String> {
    (0..disks).map(|n| format!("disk{n}")).collect()
}

/// LUN files written in full: a pair or more of like ones.
fn alike(
    dir: &Path,
    names: &[String],
    bytes: u64,
    interrupt: &Interrupt,
    undo: &mut Undo,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in names {
        interrupt.check()?;
        files.push(filled(dir, name, bytes, interrupt, undo)?.path);
    }
    Ok(files)
}

/// Makes a group of these disks, with a file of `bytes`. Gives its allocation unit in MiB.
pub(crate) fn make_group(disks: &[PathBuf], method: Method, redundancy: Redundancy, bytes: u64) -> anyhow::Result<u32> {
    let specs: Vec<OpenSpec> = disks.iter().map(|d| OpenSpec::writing(d, Access::Direct)).collect();
    let named: Vec<DiskSpec> = group_names(disks.len())
        .iter()
        .zip(0..)
        .map(|(name, nth)| DiskSpec {
            overwrite: true,
            ..DiskSpec::new(FileId(nth), name)
        })
        .collect();
    let owner = BasePort::open(method, &specs, 4 * MIB, 64)?;
    let group = Group::create(owner, &GroupSpec::new(GROUP, redundancy), &named, LUN_SEED)?;
    group.create_file(&FileSpec {
        name: GROUP_FILE.into(),
        size: bytes,
        redundancy: None,
        stripe: Stripe::Coarse,
    })?;
    let au_mib = group.info().au_bytes / MIB as u32;
    group.close()?;
    Ok(au_mib)
}

/// A group over five LUN files written in full, with a file of `bytes`.
pub(crate) fn group(
    dir: &Path,
    redundancy: Redundancy,
    bytes: u64,
    interrupt: &Interrupt,
) -> anyhow::Result<GroupPlace> {
    let mut undo = Undo::default();
    let copies = if redundancy == Redundancy::Normal { 2 } else { 1 };
    let each = (bytes * copies / DISKS as u64).next_multiple_of(MIB) + GROUP_SPARE_BYTES;
    let names: Vec<String> = group_names(DISKS)
        .iter()
        .map(|name| format!("{name}-{copies}"))
        .collect();
    let disks = alike(dir, &names, each, interrupt, &mut undo)?;
    let au_mib = make_group(&disks, Method::Ring, redundancy, bytes)?;
    let words = format!(
        "five files of {} MiB on the disk, written in full, O_DIRECT; in the group a file of {} MiB, {copies} \
         copies, allocation units of {au_mib} MiB",
        each / MIB,
        bytes / MIB
    );
    Ok(GroupPlace {
        words,
        disks,
        pages: (bytes / 8192) as u32,
        _undo: undo,
    })
}

/// Two disks of a mirrored group, and two like them for writing to both by hand.
pub(crate) struct MirrorPlace {
    pub(crate) words: String,
    pub(crate) group: Vec<PathBuf>,
    pub(crate) by_hand: Vec<PathBuf>,
    /// Pages of 8 KiB that each side writes to.
    pub(crate) pages: u32,
    _undo: Undo,
}

/// Four LUN files written in full, two of them a group with a file of `bytes` in two copies.
pub(crate) fn mirror(dir: &Path, bytes: u64, interrupt: &Interrupt) -> anyhow::Result<MirrorPlace> {
    let mut undo = Undo::default();
    let each = mirror_disk_bytes(bytes);
    let mut files = alike(dir, &group_names(4), each, interrupt, &mut undo)?;
    let by_hand = files.split_off(2);
    let au_mib = make_group(&files, Method::Ring, Redundancy::Normal, bytes)?;
    let words = format!(
        "two files of {} MiB on the disk, written in full, O_DIRECT, for each side; in the group a file of {} MiB, 2 \
         copies, allocation units of {au_mib} MiB",
        each / MIB,
        bytes / MIB
    );
    Ok(MirrorPlace {
        words,
        group: files,
        by_hand,
        pages: (bytes / 8192) as u32,
        _undo: undo,
    })
}

/// A disk of a mirrored group of two with a file of so many bytes.
pub(crate) fn mirror_disk_bytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(MIB) + GROUP_SPARE_BYTES
}

/// XFS on a loop device with direct I/O on a LUN file written in full.
pub(crate) fn xfs(dir: &Path, sizes: Sizes, interrupt: &Interrupt) -> anyhow::Result<Place> {
    root().map_err(anyhow::Error::msg)?;
    let mut undo = Undo::default();
    let lun = filled(dir, "lun", sizes.lun, interrupt, &mut undo)?;
    let device = luns::attach(&lun)?;
    let number = device.number;
    undo.push(format!("detach loop{number}"), move || Ok(luns::detach(number)?));
    interrupt.check()?;
    let path = device.path.display().to_string();
    // -K: a discard would make the LUN sparse again.
    tool("mkfs.xfs", &["-K", "-f", "-q", &path])?;
    let mount = dir.join("xfs");
    std::fs::create_dir(&mount)?;
    let made = mount.clone();
    undo.push("remove a mount point", move || Ok(std::fs::remove_dir(&made)?));
    let shown = mount.display().to_string();
    tool("mount", &["-t", "xfs", &path, &shown])?;
    undo.push(format!("unmount {shown}"), move || {
        tool("umount", &[&shown]).map(|_| ())
    });
    interrupt.check()?;
    let words = format!(
        "a fully written file of {} MiB on XFS on a loop device with direct I/O on a LUN file written in full",
        sizes.file / MIB
    );
    let wanted = Wanted {
        words,
        data: mount.join("data"),
        redo: dir.join("xfs-redo"),
        bytes: sizes.file,
        redo_bytes: REDO_BYTES,
        workers: 1,
    };
    load(wanted, undo)
}

/// A zram device of its own, full of incompressible data, so that each read is a copy.
pub(crate) fn zram(dir: &Path, bytes: u64, workers: u32) -> anyhow::Result<Place> {
    root().map_err(anyhow::Error::msg)?;
    let control = Path::new("/sys/class/zram-control");
    if !control.exists() && tool("modprobe", &["zram"]).is_err() {
        bail!("the kernel has no zram");
    }
    let added = std::fs::read_to_string(control.join("hot_add")).context("make a zram device")?;
    let number = added.trim().to_string();
    let sys = PathBuf::from(format!("/sys/block/zram{number}"));
    let mut undo = Undo::default();
    let (own, of) = (sys.clone(), number.clone());
    undo.push(format!("take zram{number} away"), move || {
        std::fs::write(own.join("reset"), "1")?;
        Ok(std::fs::write("/sys/class/zram-control/hot_remove", &of)?)
    });
    std::fs::write(sys.join("disksize"), bytes.to_string()).context("size the zram device")?;
    let wanted = Wanted {
        words: format!(
            "zram of {} MiB full of incompressible data: a device that completes inside the call, by a memory copy",
            bytes / MIB
        ),
        data: PathBuf::from(format!("/dev/zram{number}")),
        redo: dir.join(format!("zram{number}-redo")),
        bytes,
        redo_bytes: REDO_BYTES,
        workers,
    };
    load(wanted, undo)
}
