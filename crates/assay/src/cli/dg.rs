//! The flags of `assay dg`: disk groups by hand.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// How the disks of a group are named; said in the help of the family.
pub(crate) const NAMING: &str = "Name the disks of a group with --disk (once for each), as arguments if the command \
                                 takes no others, or in ASSAY_DISKS, separated by white space. Name all of them, in \
                                 any order. Assay ignores disks that do not belong to the group. The shell expands \
                                 patterns.";

#[derive(Subcommand, Debug)]
pub(crate) enum Dg {
    /// Make a disk group
    #[command(
        after_help = "The disks are block devices, or files that have their size already (truncate -s 10G FILE). A \
                      device must be whole, unmounted and unused, and have no foreign signature. A file must be empty \
                      at both ends. Disks get the names GROUP_0000, GROUP_0001 and so on.\n\n\
                      Examples:\n  assay dg create data /dev/sdb /dev/sdc /dev/sdd --redundancy normal --yes\n  \
                      assay dg create data --redundancy normal --au 4MiB --yes \\\n    \
                      --failure-group left=/dev/sdb,/dev/sdc \\\n    \
                      --failure-group right=/dev/sdd,/dev/sde"
    )]
    Create(Create),
    /// List files; with -l also groups and disks
    #[command(
        after_help = "Examples:\n  assay dg ls /dev/sd[b-f]          the files as GROUP:FILE\n  \
                      assay dg ls -l /dev/sd[b-f]       and what is on each disk\n  \
                      ASSAY_DISKS=\"$(echo /dev/sd[b-f])\" assay dg ls"
    )]
    Ls(Ls),
    /// Show the space of groups, disks and files
    Du(Du),
    /// Add disks to a group, and move extents until all disks are equally full
    #[command(
        after_help = "Examples:\n  assay dg add /dev/sdg --disk /dev/sdb --disk /dev/sdc --yes\n  \
                      ASSAY_DISKS=\"$(echo /dev/sd[b-f])\" assay dg add /dev/sdg --power 32 --yes"
    )]
    Add(Add),
    /// Empty disks and take them out of their group
    #[command(
        after_help = "Name a disk as `assay dg du` shows it, or by its path. Drop a lost disk with --force: Assay \
                      makes its extents anew from the other copies.\n\n\
                      Example:\n  assay dg drop data_0004 --disk /dev/sdb --disk /dev/sdc ..."
    )]
    Drop(Drop),
    /// Finish a stopped rebalance, and bring disks that were offline up to date
    #[command(
        after_help = "You can stop it at any time (Ctrl-C, a crash). The next call continues.\n\n\
                      Example:\n  assay dg rebalance /dev/sd[b-f] --power 64 --watch"
    )]
    Rebalance(Rebalance),
    /// Verify headers, maps, owners of allocation units, and all copies against each other
    #[command(
        after_help = "Exits with 1 if something remains wrong. If two copies differ, the bad one is on the disk that \
                      has other damage. If no disk or several disks have other damage, Assay overwrites nothing, and \
                      --distrust must name the bad disk.\n\n\
                      Examples:\n  assay dg check /dev/sd[b-f]\n  \
                      assay dg check /dev/sd[b-f] --repair --distrust data_0002\n  \
                      assay dg check /dev/sd[b-f] --repair --overwrite /dev/sdd --yes"
    )]
    Check(CheckGroup),
    /// Copy a file into a group or out of it
    #[command(
        after_help = "GROUP:FILE is a file of a group. Everything else is a local path (write ./a:b for one with a \
                      colon). The checksum is SHA-256, as `sha256sum` prints it. A file keeps its length to the byte. \
                      A copy out of a group is DST.part until it is complete.\n\n\
                      Examples:\n  assay dg cp backup.dbf data:users.dbf --disk /dev/sdb --disk /dev/sdc --verify\n  \
                      assay dg cp data:users.dbf /backup/ --disk /dev/sdb --disk /dev/sdc"
    )]
    Cp(Cp),
    /// Delete files of a group
    #[command(after_help = "Example:\n  assay dg rm data:users.dbf --disk /dev/sdb --disk /dev/sdc")]
    Rm(Rm),
}

/// Disks named by flag or by `ASSAY_DISKS`.
#[derive(Args, Debug, Default)]
pub(crate) struct Place {
    /// A disk of the group, once for each [default: those in ASSAY_DISKS]
    #[arg(long = "disk", short = 'd', value_name = "DISK")]
    pub(crate) disk: Vec<PathBuf>,
    /// The group, if the disks belong to several
    #[arg(long, short, value_name = "NAME")]
    pub(crate) group: Option<String>,
    /// Open the group although disks are missing, as far as its redundancy allows
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What may be destroyed.
#[derive(Args, Debug, Default)]
pub(crate) struct Consent {
    /// Take this disk although it has data or a signature
    #[arg(long, value_name = "DISK")]
    pub(crate) overwrite: Vec<PathBuf>,
    /// Allow the command to destroy what is on these disks
    #[arg(long)]
    pub(crate) yes: bool,
}

/// How hard a rebalance works.
#[derive(Args, Debug)]
pub(crate) struct Pace {
    /// I/Os in flight, 0 to 1024; 0 leaves the work for `assay dg rebalance`
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub(crate) power: u32,
    /// Print progress to stderr every second, also without a terminal
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Redundancy {
    /// One copy: the storage below is trusted
    External,
    /// Two copies in different failure groups
    Normal,
    /// Three copies in different failure groups
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Striping {
    /// One allocation unit after the other
    Coarse,
    /// 128 KiB over eight allocation units: for redo logs
    Fine,
}

/// `NAME=DISK[,DISK]...`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailureGroup {
    pub(crate) name: String,
    pub(crate) disks: Vec<PathBuf>,
}

impl std::str::FromStr for FailureGroup {
    type Err = String;

    fn from_str(text: &str) -> Result<FailureGroup, String> {
        let form = "write NAME=DISK[,DISK]...";
        let (name, disks) = text.split_once('=').ok_or(form)?;
        let disks: Vec<PathBuf> = disks.split(',').map(PathBuf::from).collect();
        if name.is_empty() || disks.iter().any(|d| d.as_os_str().is_empty()) {
            return Err(form.to_string());
        }
        let name = name.to_string();
        Ok(FailureGroup { name, disks })
    }
}

fn allocation_unit(text: &str) -> Result<u32, String> {
    let bytes = text.parse::<plan::Bytes>().map_err(|e| e.to_string())?.0;
    u32::try_from(bytes)
        .ok()
        .filter(|b| b.is_power_of_two() && (diskgroup::AU_BYTES.0..=diskgroup::AU_BYTES.1).contains(b))
        .ok_or_else(|| "use 1MiB, 2MiB, 4MiB, 8MiB, 16MiB, 32MiB or 64MiB".to_string())
}

fn bytes(text: &str) -> Result<u64, String> {
    text.parse::<plan::Bytes>().map(|b| b.0).map_err(|e| e.to_string())
}

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Name of the group
    #[arg(value_name = "GROUP")]
    pub(crate) name: String,
    /// Its disks (not needed for those in --failure-group)
    #[arg(value_name = "DISK")]
    pub(crate) disks: Vec<PathBuf>,
    /// Copies of each extent
    #[arg(long, value_enum, default_value = "external")]
    pub(crate) redundancy: Redundancy,
    /// Allocation unit: 1MiB to 64MiB, a power of two
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = allocation_unit)]
    pub(crate) au: u32,
    /// Disks that fail together [default: each disk fails alone]
    #[arg(long, value_name = "NAME=DISK[,DISK]...")]
    pub(crate) failure_group: Vec<FailureGroup>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Ls {
    /// List groups, disks and files, with their figures
    #[arg(long, short)]
    pub(crate) long: bool,
    /// Disks to look at
    #[arg(value_name = "DISK")]
    pub(crate) disks: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct Du {
    /// Disks to look at
    #[arg(value_name = "DISK")]
    pub(crate) disks: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct Add {
    /// The new disks (not needed for those in --failure-group)
    #[arg(value_name = "NEW")]
    pub(crate) new: Vec<PathBuf>,
    /// Disks that fail together: a new failure group or one that exists
    #[arg(long, value_name = "NAME=DISK[,DISK]...")]
    pub(crate) failure_group: Vec<FailureGroup>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) pace: Pace,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct Drop {
    /// Names of disks in the group, or their paths
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) pace: Pace,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct Rebalance {
    /// Disks of the group
    #[arg(value_name = "DISK")]
    pub(crate) disks: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct CheckGroup {
    /// Disks of the group
    #[arg(value_name = "DISK")]
    pub(crate) disks: Vec<PathBuf>,
    /// Repair what is wrong from a good copy
    #[arg(long)]
    pub(crate) repair: bool,
    /// If copies differ, the one on this disk is bad
    #[arg(long, value_name = "NAME", requires = "repair")]
    pub(crate) distrust: Vec<String>,
    /// Print progress to stderr every second
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct Cp {
    /// A local file, or GROUP:FILE
    #[arg(value_name = "SRC")]
    pub(crate) from: String,
    /// A local file or directory, or GROUP:FILE
    #[arg(value_name = "DST")]
    pub(crate) to: String,
    /// Read the destination back and compare
    #[arg(long)]
    pub(crate) verify: bool,
    /// Striping of the file over the disks (into a group)
    #[arg(long, value_enum, default_value = "coarse")]
    pub(crate) stripe: Striping,
    /// Copies [default: as the group has] (into a group)
    #[arg(long, value_enum)]
    pub(crate) redundancy: Option<Redundancy>,
    /// Copy only this many bytes from the start of the file
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct Rm {
    /// What to delete
    #[arg(value_name = "GROUP:FILE", required = true)]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_groups_are_a_name_and_disks() {
        let left: FailureGroup = "left=/dev/a,/dev/b".parse().unwrap();
        assert_eq!(left.name, "left");
        assert_eq!(left.disks, ["/dev/a", "/dev/b"].map(PathBuf::from));
        for bad in ["", "left", "=a", "left=", "left=a,,b"] {
            assert!(bad.parse::<FailureGroup>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn allocation_units_are_powers_of_two_from_1_to_64_mib() {
        assert_eq!(allocation_unit("4MiB"), Ok(4 << 20));
        for bad in ["0", "512KiB", "3MiB", "128MiB", "1", "x", "-1MiB", "8EiB", "1MB"] {
            assert!(allocation_unit(bad).is_err(), "{bad}");
        }
    }
}
