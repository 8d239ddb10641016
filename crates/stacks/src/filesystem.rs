//! One file system on one set of devices: mkfs, mount, and what both say about it.
//!
//! Takes a kind with its options, gives the exact command lines and facts. Prevents discards by mkfs and by mount, work
//! put off by mkfs until after the mount (it would run into the first phase), and file systems whose settings nobody
//! recorded.

use crate::device;
use crate::error::StackError;
use crate::host::mounts;
use crate::run::Run;
use crate::tool::{self, Output, Tool, argument};
use plan::{Btrfs, BtrfsProfile, FileSystemKind, StackKind};
use sandbox::Directory;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A large disk takes its time when nothing is put off.
const MKFS_LIMIT: Duration = Duration::from_secs(3600);
/// What mkfs.btrfs says where the file below a loop device, be it another's, lies on a server that has gone.
const NOT_LOOKED_AT: &str = "Transport endpoint is not connected";
/// Longest wait until such a loop device is gone.
const LOOKED_AT_WITHIN: Duration = Duration::from_secs(60);

/// What is to be made, for one set of devices.
pub(crate) struct Recipe {
    /// As the kernel names it.
    pub(crate) kind: &'static str,
    pub(crate) mkfs: Tool,
    pub(crate) mount_options: Vec<String>,
    /// (what, value) that follow from the study and the number of devices.
    pub(crate) facts: Vec<(String, String)>,
}

/// The recipe of a stack kind on `devices`; `None` for kinds without a file system.
pub(crate) fn recipe(kind: &StackKind, devices: &[PathBuf], uuid: &[u8; 16]) -> Option<Recipe> {
    let asked = kind.file_system()?;
    let id = device::uuid_text(uuid);
    let names = devices.iter().map(|d| argument(d));
    let words = |fixed: &[&str]| fixed.iter().map(|w| (*w).to_owned()).collect::<Vec<String>>();
    let mut facts = Vec::new();
    let mut options = vec!["nodiscard".to_owned()];
    let (mut args, own) = match &asked.kind {
        FileSystemKind::Ext3 | FileSystemKind::Ext4 => {
            let (extended, rest) = plan::split_flag(&asked.mkfs_options, "-E");
            // mke2fs takes one `-E` and forgets the ones before it.
            let extended =
                std::iter::once("nodiscard,lazy_itable_init=0,lazy_journal_init=0".to_owned()).chain(extended);
            let extended = extended.collect::<Vec<_>>().join(",");
            (words(&["-F", "-U", &id, "-E", &extended]), rest)
        }
        FileSystemKind::Xfs => {
            let uuid = format!("uuid={id}");
            (words(&["-K", "-f", "-m", &uuid]), asked.mkfs_options.clone())
        }
        FileSystemKind::Btrfs(btrfs) => {
            let (data, metadata) = profiles(btrfs.profile, devices.len());
            facts.push(("data profile".to_owned(), data.to_owned()));
            facts.push(("metadata profile".to_owned(), metadata.to_owned()));
            facts.push((
                "compression".to_owned(),
                btrfs.compress.clone().unwrap_or_else(|| "none".to_owned()),
            ));
            facts.push((
                "copy-on-write of data".to_owned(),
                if btrfs.nodatacow { "no" } else { "yes" }.to_owned(),
            ));
            options.extend(btrfs_options(devices, btrfs));
            let args = words(&["-K", "-f", "-U", &id, "-d", data, "-m", metadata]);
            (args, asked.mkfs_options.clone())
        }
    };
    args.extend(plan::arguments(&own));
    args.extend(names);
    options.extend(plan::mount_words(&asked.mount_options));
    let row = asked.row();
    Some(Recipe {
        kind: row.word,
        mkfs: Tool::new(row.program, args, MKFS_LIMIT).writing(devices),
        mount_options: options,
        facts,
    })
}

/// Profiles of data and metadata. One device can hold neither stripes nor mirrors across devices.
fn profiles(profile: BtrfsProfile, devices: usize) -> (&'static str, &'static str) {
    match (profile, devices) {
        (_, 0 | 1) => ("single", "dup"),
        (BtrfsProfile::Single, _) => ("single", "single"),
        (BtrfsProfile::Raid0, _) => ("raid0", "raid0"),
        (BtrfsProfile::Raid1, _) => ("raid1", "raid1"),
    }
}

/// All members are named at the mount, so that no scan of all the devices of the host is needed.
fn btrfs_options(devices: &[PathBuf], asked: &Btrfs) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    if devices.len() > 1 {
        options.extend(devices.iter().map(|d| format!("device={}", argument(d))));
    }
    let compress = asked.compress.iter();
    options.extend(compress.map(|algorithm| format!("compress={algorithm}")));
    if asked.nodatacow {
        options.push("nodatacow".to_owned());
    }
    options
}

impl Recipe {
    /// Makes the file system, on devices that the run may write to.
    pub(crate) fn make(&mut self, run: &Run) -> Result<(), StackError> {
        let output = self.made(run)?;
        let program = self.mkfs.line().split(' ').next().unwrap_or_default().to_owned();
        self.facts.push(("mkfs".to_owned(), self.mkfs.line()));
        self.facts.push(("mkfs version".to_owned(), tool::version(&program)));
        // What mkfs chose by itself: sector and block sizes, features, logs.
        let said = output.stdout.lines().map(str::trim).filter(|l| is_telling(l));
        self.facts
            .push(("mkfs said".to_owned(), said.collect::<Vec<_>>().join("\n")));
        Ok(())
    }

    /// mkfs.btrfs looks at the files below all loop devices, those of other runs too. Where one lies on a server that
    /// has gone, as in a power cut, it fails: then it is tried again.
    fn made(&self, run: &Run) -> Result<Output, StackError> {
        let began = Instant::now();
        loop {
            match self.mkfs.run(Some(run)) {
                Err(StackError::Tool { said, .. })
                    if self.kind == "btrfs" && said.contains(NOT_LOOKED_AT) && began.elapsed() < LOOKED_AT_WITHIN =>
                {
                    std::thread::sleep(Duration::from_millis(500));
                }
                done => return done,
            }
        }
    }

    /// Mounts it and adds what the kernel says.
    pub(crate) fn mount(&mut self, device: &Path, dir: &Directory) -> Result<(), StackError> {
        mounts::mount(device, dir, self.kind, &self.mount_options)?;
        let place = dir.path();
        let cure = "check the kernel log (dmesg)";
        let found = mounts::at(place).map_err(|e| StackError::path("look for the mount at", place, e, cure))?;
        let stat = rustix::fs::statvfs(place).map_err(|e| StackError::path("look at", place, e, cure))?;
        self.facts
            .push(("mount options".to_owned(), found.map(|m| m.options).unwrap_or_default()));
        self.facts.push(("block size".to_owned(), stat.f_bsize.to_string()));
        if matches!(self.kind, "ext3" | "ext4") {
            self.facts.extend(ext4_facts(device));
        }
        Ok(())
    }
}

/// Lines of mkfs that say what was made, without progress, UUIDs and empty lines.
fn is_telling(line: &str) -> bool {
    let noise = [
        "mke2fs",
        "btrfs-progs",
        "See http",
        "Allocating",
        "Writing",
        "Creating journal",
        "UUID",
        "Filesystem UUID",
    ];
    !line.is_empty() && !noise.iter().any(|n| line.starts_with(n)) && !line.contains("\u{8}")
}

/// ext4 does not say on creation which features it has; dumpe2fs, of the same package, does.
fn ext4_facts(device: &Path) -> Vec<(String, String)> {
    let dump = Tool::new("dumpe2fs", ["-h".to_owned(), argument(device)], Duration::from_secs(30));
    let Ok(output) = dump.run(None) else {
        return Vec::new();
    };
    let wanted = [
        "Filesystem features",
        "Inode size",
        "Total journal size",
        "Reserved block count",
    ];
    let pairs = output.stdout.lines().filter_map(|l| l.split_once(':'));
    pairs
        .filter(|(key, _)| wanted.contains(key))
        .map(|(key, value)| (format!("ext4 {}", key.to_lowercase()), value.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::FileSystem;

    #[test]
    fn the_extended_options_of_a_study_are_joined_with_ours() {
        let kind = StackKind::FileSystem(FileSystem {
            kind: FileSystemKind::Ext4,
            mount_options: plan::options(plan::Tool::MountExt4, &["noatime"]).expect("an option"),
            mkfs_options: plan::options(plan::Tool::MkfsExt4, &["-b 4k", "-E", "stride=4"]).expect("options"),
        });
        let recipe = recipe(&kind, &[PathBuf::from("/dev/x")], &[0x11; 16]).expect("a recipe");
        assert_eq!(
            recipe.mkfs.line(),
            "mkfs.ext4 -F -U 11111111-1111-1111-1111-111111111111 \
             -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=4 -b 4096 /dev/x"
        );
        assert_eq!(recipe.mount_options, ["nodiscard", "noatime"]);
    }

    #[test]
    fn btrfs_names_all_its_devices_and_profiles() {
        let kind = StackKind::FileSystem(FileSystem::plain(FileSystemKind::Btrfs(Btrfs {
            profile: BtrfsProfile::Raid0,
            compress: Some("zstd:3".into()),
            nodatacow: false,
        })));
        let devices = [PathBuf::from("/dev/a"), PathBuf::from("/dev/b")];
        let two = recipe(&kind, &devices, &[0; 16]).expect("a recipe");
        assert!(
            two.mkfs.line().ends_with("-d raid0 -m raid0 /dev/a /dev/b"),
            "{}",
            two.mkfs.line()
        );
        assert_eq!(
            two.mount_options,
            ["nodiscard", "device=/dev/a", "device=/dev/b", "compress=zstd:3"]
        );
        let one = recipe(&kind, &devices[..1], &[0; 16]).expect("a recipe");
        assert!(
            one.mkfs.line().ends_with("-d single -m dup /dev/a"),
            "{}",
            one.mkfs.line()
        );
    }

    #[test]
    fn kinds_without_a_file_system_have_no_recipe() {
        assert!(recipe(&StackKind::Raw, &[], &[0; 16]).is_none());
    }
}
