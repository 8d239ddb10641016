//! What all commands of volume managers have alike.
//!
//! Prevents: a command that may wait for ever, an option that nobody meant, and a path that is not the run's.

use crate::tool::{Tool, argument};
use std::path::PathBuf;
use std::time::Duration;

/// A command of LVM or mdadm takes seconds; on busy disks longer.
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// Longest wait for a device that udev names, or for one that somebody still has.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// A mirror of a large disk takes its time.
pub(super) const RESYNC_LIMIT: Duration = Duration::from_secs(6 * 3600);

/// Options that are given, by program. Nothing that a study says becomes one of them.
const OPTIONS: [(&str, &[&str]); 3] = [
    (
        "lvm",
        &[
            "-y",
            "--devices",
            "--config",
            "--uuid",
            "--norestorefile",
            "--setautoactivation",
            "--type",
            "-Zn",
            "-Wn",
            "--poolmetadataspare",
            "-l",
            "-i",
            "-I",
            "-n",
            "-V",
            "--thinpool",
            "-m",
            "--nosync",
            "-s",
            "-c",
            "-kn",
            "-ay",
            "--noheadings",
            "--nosuffix",
            "--units",
            "-o",
            "--abort",
            "--repair",
        ],
    ),
    ("dmsetup", &["--noudevsync", "--retry"]),
    (
        "mdadm",
        &[
            "--create",
            "--run",
            "--metadata",
            "--homehost",
            "--name",
            "--uuid",
            "--level",
            "--raid-devices",
            "--chunk",
            "--bitmap",
            "--assume-clean",
            "--wait",
            "--assemble",
            "--stop",
            "--manage",
            "--add",
            "--replace",
            "--with",
            "--remove",
            "--zero-superblock",
        ],
    ),
];

/// A tool of a volume manager, which makes devices that nobody can name before.
pub(super) fn tool(program: &str, args: Vec<String>, luns: &[PathBuf]) -> Tool {
    for arg in &args {
        assert!(is_allowed(program, arg, luns), "{program} is given {arg:?}");
    }
    Tool::new(program, args, LIMIT).making_devices_of(luns)
}

/// Whether an argument is on the list: an option that is given here, one of the LUNs or all of them, an array, or no
/// path.
fn is_allowed(program: &str, arg: &str, luns: &[PathBuf]) -> bool {
    let options = OPTIONS
        .iter()
        .find(|(name, _)| *name == program)
        .map(|(_, options)| *options);
    if arg.starts_with('-') {
        let option = arg.split_once('=').map_or(arg, |(option, _)| option);
        return options.is_some_and(|options| options.contains(&option));
    }
    let is_array = || program == "mdadm" && arg.starts_with("/dev/md") && !arg.contains("..");
    !arg.starts_with('/') || luns.iter().any(|lun| argument(lun) == arg) || listed(luns) == arg || is_array()
}

/// LUNs as LVM takes a list of them.
pub(super) fn listed(luns: &[PathBuf]) -> String {
    let list: Vec<String> = luns.iter().map(|path| argument(path)).collect();
    list.join(",")
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_or_a_path_that_is_not_on_the_list_is_not_given() {
        let luns = ["/dev/a", "/dev/b"].map(PathBuf::from);
        let allowed = |program, arg| is_allowed(program, arg, &luns);
        for (program, arg) in [
            ("lvm", "pvmove"),
            ("lvm", "-y"),
            ("lvm", "/dev/a"),
            ("lvm", "/dev/a,/dev/b"),
            ("mdadm", "--uuid=1a1a1a1a"),
            ("mdadm", "/dev/md/assay-1a"),
        ] {
            assert!(allowed(program, arg), "{program} {arg}");
        }
        for (program, arg) in [
            ("lvm", "--force"),
            ("lvm", "/dev/c"),
            ("lvm", "/dev/md/assay-1a"),
            ("mdadm", "--force"),
            ("mdadm", "/dev/c"),
            ("mdadm", "/dev/md/../sda"),
            ("dmsetup", "--force"),
            ("sh", "-c"),
        ] {
            assert!(!allowed(program, arg), "{program} {arg}");
        }
    }
}
