//! What all commands of volume managers have alike.
//!
//! Prevents: a command that may wait for ever, an option that nobody meant, and a path that is not the run's.

use crate::tool::{Tool, argument};
use std::path::{Path, PathBuf};
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
            "--assemble",
            "--readwrite",
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
    tool_on(None, program, args, luns)
}

/// mdadm on an array that was found by the run's UUID, whatever the kernel calls it.
pub(super) fn on_array(array: &Path, args: Vec<String>, luns: &[PathBuf]) -> Tool {
    tool_on(Some(array), "mdadm", args, luns)
}

fn tool_on(array: Option<&Path>, program: &str, args: Vec<String>, luns: &[PathBuf]) -> Tool {
    for arg in &args {
        let is_array = array.is_some_and(|array| argument(array) == *arg);
        assert!(is_array || is_allowed(program, arg, luns), "{program} is given {arg:?}");
    }
    Tool::new(program, args, LIMIT).making_devices_of(luns)
}

/// Whether an argument is on the list: an option that is given here, one of the LUNs or all of them, an array as a run
/// names it, or no path.
fn is_allowed(program: &str, arg: &str, luns: &[PathBuf]) -> bool {
    let options = OPTIONS
        .iter()
        .find(|(name, _)| *name == program)
        .map(|(_, options)| *options);
    if arg.starts_with('-') {
        let option = arg.split_once('=').map_or(arg, |(option, _)| option);
        return options.is_some_and(|options| options.contains(&option));
    }
    let is_array = || program == "mdadm" && is_name_of_array(Path::new(arg));
    !arg.starts_with('/') || luns.iter().any(|lun| argument(lun) == arg) || listed(luns) == arg || is_array()
}

/// Whether it is a name that `md::device` gives.
fn is_name_of_array(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let hex = name.and_then(|name| name.strip_prefix("assay-"));
    path.parent() == Some(Path::new("/dev/md"))
        && hex.is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
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
            ("mdadm", "/dev/md/assay-1a1a1a1a1a1a1a1a"),
        ] {
            assert!(allowed(program, arg), "{program} {arg}");
        }
        for (program, arg) in [
            ("lvm", "--force"),
            ("lvm", "/dev/c"),
            ("lvm", "/dev/md/assay-1a1a1a1a1a1a1a1a"),
            ("mdadm", "--force"),
            ("mdadm", "/dev/c"),
            ("mdadm", "/dev/md/../sda"),
            ("mdadm", "/dev/md0"),
            ("mdadm", "/dev/md127"),
            ("mdadm", "/dev/md/home"),
            ("mdadm", "/dev/md/assay-1a"),
            ("mdadm", "/dev/md/assay-1a1a1a1a1a1a1a1a/../home"),
            ("dmsetup", "--force"),
            ("sh", "-c"),
        ] {
            assert!(!allowed(program, arg), "{program} {arg}");
        }
        // What was found by its UUID may be called anything.
        on_array(Path::new("/dev/md127"), words(&["--stop", "/dev/md127"]), &[]);
    }

    #[test]
    #[should_panic(expected = "/dev/md126")]
    fn an_array_that_was_not_found_by_its_uuid_is_not_stopped() {
        on_array(Path::new("/dev/md127"), words(&["--stop", "/dev/md126"]), &[]);
    }
}
