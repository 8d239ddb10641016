//! The flags of `versus`, and of the child that it starts of itself for our own side.
//!
//! Prevents: a measurement whose parameters stand nowhere (the child gets all of them as flags, so that the command
//! that is printed is the command that ran).

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Assay beside the tools it replaces: both sides in one run, interleaved, as ratios with their spread.
///
/// Takes over an hour and wants a machine that does nothing else. As root it also measures XFS on a loop device and
/// zram; what it makes it takes away again, also when it is interrupted.
#[derive(Parser, Debug)]
#[command(version)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Rounds; every contender runs once in each. A bound is owed over five
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Seconds of each run
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Where the files are made: on the disk in question, not in memory
    #[arg(long, default_value = "/var/tmp")]
    pub(crate) dir: PathBuf,
    /// Only these sections
    #[arg(long, value_delimiter = ',', value_name = "SECTION")]
    pub(crate) only: Vec<Section>,
    /// Small sizes, one short round: to see that it works, not to measure
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write the tables there as Markdown (default: benches/runs/<date>-<machine kind>-versus; not with --quick or
    /// --only)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// fio's bare peak tool `t/io_uring` (default: the one named `t_io_uring` on the PATH)
    #[arg(long, value_name = "PATH")]
    pub(crate) t_io_uring: Option<PathBuf>,
    /// PostgreSQL's `pg_test_fsync` (default: on the PATH, or of the newest version under /usr/lib/postgresql)
    #[arg(long, value_name = "PATH")]
    pub(crate) pg_test_fsync: Option<PathBuf>,
    /// The `assay` binary (default: built beside this one before the first section, where one needs it)
    #[arg(long, value_name = "PATH")]
    pub(crate) assay: Option<PathBuf>,
    /// An earlier `assay` binary, which reads result files of the same version: its reports stand beside those of this
    /// one
    #[arg(long, value_name = "PATH")]
    pub(crate) before: Option<PathBuf>,
}

/// A part of the comparison.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    /// Random 8 KiB reads of a file on the disk
    File,
    /// The same of a file on XFS on a loop device (root)
    Xfs,
    /// The same of zram, a device that completes inside the call (root)
    Zram,
    /// Processors, one to all: on files in memory, and on zram (root)
    Processors,
    /// Many sessions
    Sessions,
    /// Updates: commits and flushes
    Updates,
    /// Reads and updates beside as many reads and writes of fio
    Mixed,
    /// The redo log alone
    Redo,
    /// SQLite by our VFS beside its own
    Sqlite,
    /// Full scans
    Scan,
    /// One pass over pages in cold memory, and checksums of them
    Floor,
    /// A disk group of five beside the same five disks driven directly
    Group,
    /// Writes of a mirrored disk group beside two files by hand, and beside md raid1 in a guest
    Mirror,
    /// The lab around it: report, start-up, size, observers
    Lab,
    /// Reports over the size of their file
    Grows,
    /// Simulated disk groups, to 10 TB and 10,000 files: mounts, checks, rebalances
    GroupSizes,
    /// What a run does after a block and between two phases, to 10,000 phase runs
    Bookkeeping,
    /// From a clone to the first answer, a changed line to a running binary, and what the binary consists of
    Engineer,
}

impl Section {
    /// Whether it runs the `assay` binary.
    pub(crate) fn runs_assay(self) -> bool {
        matches!(
            self,
            Section::Sqlite | Section::Lab | Section::Grows | Section::Bookkeeping
        )
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// One run of our own side, as a child whose CPU is measured from outside as any other tool's
    #[command(hide = true)]
    Side(Side),
    /// A program run to its end: what it took
    #[command(hide = true, disable_help_flag = true)]
    Cost(Cost),
    /// A disk group in memory, and what is done with it: what it took
    #[command(hide = true)]
    Simulated(Simulated),
    /// Mirrored writes to devices of a guest: what each of its ways to write twice gives
    #[command(hide = true)]
    Guest(Guest),
}

/// Mirrored writes inside of a guest.
#[derive(Args, Debug, Clone)]
pub(crate) struct Guest {
    /// Two devices for each way to write twice
    pub(crate) devices: Vec<PathBuf>,
    #[arg(long)]
    pub(crate) rounds: usize,
    #[arg(long)]
    pub(crate) seconds: f64,
}

/// A program whose cost is asked for.
#[derive(Args, Debug)]
pub(crate) struct Cost {
    pub(crate) program: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// A disk group in memory, and what is done with it.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct Simulated {
    pub(crate) deed: Deed,
    /// Bytes of all its disks
    #[arg(long)]
    pub(crate) bytes: u64,
    /// Bytes of an allocation unit
    #[arg(long)]
    pub(crate) unit: u32,
    #[arg(long)]
    pub(crate) files: u32,
    /// Bytes of each file
    #[arg(long)]
    pub(crate) file_bytes: u64,
}

/// What is done with a simulated group.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    /// It is opened.
    Mount,
    /// It is opened and checked.
    Check,
    /// It gets a disk more, and extents move there.
    Rebalance,
}

/// What a child of our own does.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// The bare loop.
    Bare,
    /// The bare loop over several disks.
    Disks,
    /// The bare loop over a file of the disk group on them.
    Group,
    /// Random reads through the page engine.
    Reads,
    /// Updates through the page engine.
    Updates,
    /// Reads and updates through the page engine, half of each.
    Mixed,
    /// Commits of the page engine that change no page.
    Redo,
    /// A write and a flush, one after the other.
    Flushes,
    /// Full scans through the page engine.
    Scan,
    /// Very many sessions on two workers.
    Sessions,
    /// The bare loop on a target that moves nothing, once on each of its threads.
    Null,
    /// Random reads through the page engine on files in memory.
    Memory,
    /// Writes, each to all of some disks.
    Copies,
    /// Writes to a file of the mirrored disk group on them.
    Mirrored,
}

/// How I/O is issued.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// io_uring.
    Ring,
    /// `pread` and `pwrite`.
    Pread,
}

/// Parameters of one run of our own side.
#[derive(Args, Debug, Clone)]
pub(crate) struct Side {
    pub(crate) work: Work,
    /// Data file or device
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Disks of the group, in its order
    #[arg(long)]
    pub(crate) disk: Vec<PathBuf>,
    /// Bytes a read
    #[arg(long, default_value_t = 8192)]
    pub(crate) block: u32,
    /// One block after the other, not at random
    #[arg(long)]
    pub(crate) in_order: bool,
    /// Each write is flushed before its slot writes again
    #[arg(long)]
    pub(crate) flush: bool,
    /// Redo log of the database in it
    #[arg(long)]
    pub(crate) redo: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "ring")]
    pub(crate) method: Method,
    /// Requests in flight, or sessions
    #[arg(long, default_value_t = 64)]
    pub(crate) sessions: u32,
    /// Pages an operation touches
    #[arg(long, default_value_t = 1)]
    pub(crate) work_unit: u32,
    #[arg(long, default_value_t = 1)]
    pub(crate) workers: u32,
    /// Pages of each schema of the database
    #[arg(long, default_value_t = 1)]
    pub(crate) pages: u32,
    #[arg(long, default_value_t = 8)]
    pub(crate) cache_mib: u64,
    /// Do not verify pages: to see what verification costs
    #[arg(long)]
    pub(crate) unverified: bool,
    /// How long
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// End after so many requests instead: for counting instructions
    #[arg(long)]
    pub(crate) ios: Option<u64>,
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_a_program_whose_cost_is_asked_for_are_its_own() {
        let flags = Flags::try_parse_from(["versus", "cost", "assay", "--help"]).unwrap();
        let Some(Command::Cost(cost)) = flags.command else {
            panic!("another command");
        };
        assert_eq!((cost.program, cost.args), ("assay".into(), vec!["--help".into()]));
    }
}
