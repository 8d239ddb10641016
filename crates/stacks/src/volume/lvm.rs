//! Commands of LVM: which are given, and what they are held to.
//!
//! Each command sees the run's LUNs alone (`--devices`), whatever the machine's lists of devices and filters say; keeps
//! no copy of its metadata in /etc; and starts nothing that stays. Prevents: a group that comes up by itself after a
//! reboot, and a command that waits for a udev which is not there.

use super::commands::{PATIENCE, listed, tool, words};
use super::mapped;
use super::said::{RaidStatus, raid_status};
use crate::error::StackError;
use crate::run::Run;
use crate::tool::{Tool, argument};
use plan::{Lvm, LvmLayout, Resync, Snapshot};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The volume in its group.
const DATA: &str = "data";
const POOL: &str = "pool";
/// LVM keeps names that begin with "snapshot" to itself.
const SNAPSHOT: &str = "kept";

/// What a pool gives out at once, whatever the machine's settings and the size of the pool would choose.
const POOL_CHUNK: &str = "64k";

/// The name of the group that is journalled under this UUID. No dash: the kernel's names double it.
pub(super) fn group(uuid: &[u8; 16]) -> String {
    format!("assay_{}", hex(uuid))
}

pub(super) fn device(uuid: &[u8; 16]) -> PathBuf {
    Path::new("/dev/mapper").join(mapping(uuid))
}

fn hex(uuid: &[u8; 16]) -> String {
    uuid.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As LVM writes a UUID: groups of 6, 4, 4, 4, 4, 4 and 6 of its 32 characters.
fn lvm_uuid(uuid: &[u8; 16]) -> String {
    let hex = hex(uuid);
    let mut at = 0;
    let groups = [6, 4, 4, 4, 4, 4, 6].map(|length| {
        at += length;
        &hex[at - length..at]
    });
    groups.join("-")
}

/// What every command is told in place of the machine's own settings. `ubd` are the disks of User-mode Linux.
fn config(has_udev: bool) -> String {
    let udev = u8::from(has_udev);
    format!(
        "devices {{ scan=[\"/dev\"] obtain_device_list_from_udev=0 external_device_info_source=\"none\" \
         use_devicesfile=0 hints=\"none\" types=[\"ubd\",16] issue_discards=0 filter=[\"a|.*|\"] \
         global_filter=[\"a|.*|\"] }} activation {{ udev_sync={udev} udev_rules={udev} verify_udev_operations=0 \
         monitoring=0 readahead=\"auto\" raid_region_size=2048 }} backup {{ backup=0 archive=0 }} \
         global {{ event_activation=0 use_lvmpolld=0 use_lvmlockd=0 }}"
    )
}

pub(super) fn command(name: &str, args: Vec<String>, luns: &[PathBuf]) -> Tool {
    let list = listed(luns);
    let config = config(mapped::here().has_udev());
    let all = [
        words(&[name, "-y", "--devices", &list, "--config", &config]),
        args.clone(),
    ];
    let shown = [words(&[name, "-y", "--devices", &list]), args].concat().join(" ");
    tool("lvm", all.concat(), luns).shown_as(&shown)
}

/// Makes physical volumes of all LUNs, a group of them, and the volume on the first `members`. Gives the commands.
pub(super) fn make(
    asked: &Lvm,
    uuid: &[u8; 16],
    (luns, members): (&[(PathBuf, [u8; 16])], usize),
    run: &Run,
) -> Result<Vec<String>, StackError> {
    let paths: Vec<PathBuf> = luns.iter().map(|(path, _)| path.clone()).collect();
    let mut said = Vec::new();
    let mut run_it = |tool: Tool| {
        tool.run(Some(run))?;
        said.push(tool.line());
        Ok::<(), StackError>(())
    };
    for (path, id) in luns {
        let args = words(&["--uuid", &lvm_uuid(id), "--norestorefile", &argument(path)]);
        run_it(command("pvcreate", args, &paths))?;
    }
    let group = group(uuid);
    let names = paths.iter().map(|path| argument(path));
    let mut args = words(&["--setautoactivation", "n", &group]);
    args.extend(names);
    run_it(command("vgcreate", args, &paths))?;
    if asked.thin {
        let mut args = words(&[
            "--type",
            "thin-pool",
            "-c",
            POOL_CHUNK,
            "-Zn",
            "--poolmetadataspare",
            "n",
            "-l",
            "95%FREE",
        ]);
        args.extend(stripes(asked, members));
        args.extend(words(&["-n", POOL, &group]));
        run_it(command("lvcreate", args, &paths))?;
        run_it(command("lvcreate", thin(asked, &group)?, &paths))?;
    } else {
        run_it(command("lvcreate", thick(asked, &group, (&paths, members)), &paths))?;
    }
    Ok(said)
}

fn stripes(asked: &Lvm, luns: usize) -> Vec<String> {
    if asked.layout != LvmLayout::Striped {
        return Vec::new();
    }
    let stripes = asked.stripes.unwrap_or(luns as u32).to_string();
    let size = format!("{}k", asked.stripe_size.0 >> 10);
    words(&["-i", &stripes, "-I", &size])
}

/// The volume is written before it is read, so nothing of it needs to be wiped first.
fn thick(asked: &Lvm, group: &str, (luns, members): (&[PathBuf], usize)) -> Vec<String> {
    let layout = match asked.layout {
        LvmLayout::Linear => words(&["--type", "linear"]),
        LvmLayout::Striped => words(&["--type", "striped"]),
        LvmLayout::Raid1 if asked.resync == Resync::Assume => words(&["--type", "raid1", "-m", "1", "--nosync"]),
        LvmLayout::Raid1 => words(&["--type", "raid1", "-m", "1"]),
    };
    let has_reserve = members < luns.len();
    // A snapshot needs the other half: then it cannot run out of room, whatever is overwritten.
    let size = match asked.snapshot {
        Snapshot::None if has_reserve => "100%PVS",
        Snapshot::None => "100%FREE",
        _ => "48%VG",
    };
    let mut args = words(&["-Wn", "-Zn"]);
    args.extend(layout);
    args.extend(stripes(asked, members));
    args.extend(words(&["-l", size, "-n", DATA, group]));
    // The reserve is in the group, and the volume must not lie on it.
    args.extend(
        luns[..members]
            .iter()
            .filter(|_| has_reserve)
            .map(|path| argument(path)),
    );
    args
}

/// As large as its pool, or as half of it where a snapshot keeps what is overwritten.
fn thin(asked: &Lvm, group: &str) -> Result<Vec<String>, StackError> {
    // Until a volume stands on it, the pool has one mapping, of its own name.
    let pool = format!("{group}-{POOL}");
    let bytes = mapped::here().bytes(&pool).map_err(|e| {
        let cure = "look at it with `dmsetup ls`";
        StackError::path("find the size of the pool", Path::new(&pool), e, cure)
    })?;
    let bytes = match asked.snapshot {
        Snapshot::None => bytes,
        _ => bytes / 2,
    };
    // Whole extents of 4 MiB.
    let size = format!("{}m", bytes >> 22 << 2);
    Ok(words(&[
        "--type",
        "thin",
        "-V",
        &size,
        "--thinpool",
        POOL,
        "-n",
        DATA,
        group,
    ]))
}

/// Takes the snapshot, which stands until the volume goes.
pub(super) fn snapshot(
    asked: &Lvm,
    uuid: &[u8; 16],
    (luns, members): (&[PathBuf], usize),
    run: &Run,
) -> Result<(), StackError> {
    let origin = volume(uuid);
    let args = match asked.snapshot {
        Snapshot::None => return Ok(()),
        // Striped like the volume: on one LUN alone it would hold all writes back.
        Snapshot::Cow => {
            let head = words(&["-s", "-l", "100%FREE", "-c", "64k"]);
            [head, stripes(asked, members), words(&["-n", SNAPSHOT, &origin])].concat()
        }
        Snapshot::Thin => words(&["-s", "-kn", "-n", SNAPSHOT, &origin]),
    };
    command("lvcreate", args, luns).run(Some(run)).map(drop)
}

/// Holds the journal's lock, or a clean-up would remove mappings that come after it.
pub(super) fn start(uuid: &[u8; 16], luns: &[PathBuf], run: &Run) -> Result<(), StackError> {
    let started = command("vgchange", words(&["-ay", &group(uuid)]), luns).run(Some(run));
    started.map(drop).map_err(StackError::not_brought_up)
}

/// Removes every mapping of the group, those first that nothing stands on. The kernel's word alone counts: no metadata
/// are read, which may be broken or on LUNs that are gone.
pub(crate) fn remove(group: &str) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let mappings = mapped::here().mappings_of(group)?;
        if mappings.is_empty() {
            return mapped::here().forget_names(group);
        }
        let mut failed = None;
        for mapping in mappings.iter().filter(|mapping| mapping.is_free) {
            let args = words(&["remove", "--noudevsync", "--retry", &mapping.name]);
            failed = tool("dmsetup", args, &[]).run(None).err();
        }
        if start.elapsed() > PATIENCE {
            let names: Vec<&str> = mappings.iter().map(|mapping| mapping.name.as_str()).collect();
            let why = failed.map_or_else(|| "another device uses them".to_owned(), |e| e.to_string());
            return Err(io::Error::other(format!("{} stay: {why}", names.join(", "))));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a mapping's target says.
pub(super) fn said(name: &str) -> Result<String, StackError> {
    Ok(tool("dmsetup", words(&["status", name]), &[]).run(None)?.stdout)
}

/// What the raid target says of a mapping; `None`: it is of another target.
pub(super) fn status(name: &str) -> Result<Option<RaidStatus>, StackError> {
    Ok(raid_status(&said(name)?))
}

/// The mapping that a volume of this name has become once a snapshot of it stands.
pub(super) fn origin(name: &str) -> String {
    format!("{name}-real")
}

/// The mapping of the snapshot.
pub(super) fn kept(uuid: &[u8; 16]) -> String {
    format!("{}-{SNAPSHOT}", group(uuid))
}

/// The mapping of the volume in its group, as dmsetup names it.
pub(super) fn mapping(uuid: &[u8; 16]) -> String {
    format!("{}-{DATA}", group(uuid))
}

/// The mapping of one copy of the volume, which stands on one LUN; the first one is 0.
pub(super) fn copy(uuid: &[u8; 16], number: u32) -> String {
    format!("{}_rimage_{number}", mapping(uuid))
}

/// The volume as LVM names it.
pub(super) fn volume(uuid: &[u8; 16]) -> String {
    format!("{}/{DATA}", group(uuid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Bytes;

    fn asked(layout: LvmLayout) -> Lvm {
        Lvm {
            layout,
            stripes: None,
            stripe_size: Bytes(64 << 10),
            thin: false,
            snapshot: Snapshot::None,
            resync: Resync::Wait,
        }
    }

    #[test]
    fn a_uuid_is_written_as_lvm_does_and_names_the_group() {
        let uuid = [0xab; 16];
        assert_eq!(lvm_uuid(&uuid), "ababab-abab-abab-abab-abab-abab-ababab");
        assert_eq!(
            device(&uuid),
            Path::new(&format!("/dev/mapper/assay_{}-data", "ab".repeat(16)))
        );
    }

    #[test]
    fn each_layout_has_its_words() {
        let luns = ["/dev/a", "/dev/b", "/dev/c", "/dev/d"].map(PathBuf::from);
        let line = |asked: &Lvm| thick(asked, "g", (&luns, 4)).join(" ");
        assert_eq!(
            line(&asked(LvmLayout::Linear)),
            "-Wn -Zn --type linear -l 100%FREE -n data g"
        );
        let striped = asked(LvmLayout::Striped);
        assert_eq!(
            line(&striped),
            "-Wn -Zn --type striped -i 4 -I 64k -l 100%FREE -n data g"
        );
        let half = Lvm {
            snapshot: Snapshot::Cow,
            stripes: Some(2),
            ..striped
        };
        assert_eq!(line(&half), "-Wn -Zn --type striped -i 2 -I 64k -l 48%VG -n data g");
        assert_eq!(
            thick(&asked(LvmLayout::Striped), "g", (&luns, 3)).join(" "),
            "-Wn -Zn --type striped -i 3 -I 64k -l 100%PVS -n data g /dev/a /dev/b /dev/c"
        );
        let assumed = Lvm {
            resync: Resync::Assume,
            ..asked(LvmLayout::Raid1)
        };
        assert_eq!(
            line(&assumed),
            "-Wn -Zn --type raid1 -m 1 --nosync -l 100%FREE -n data g"
        );
    }
}
