//! What a study means once every default is said: plain data, no strings left to interpret.
//!
//! Given by [`crate::load`], used by everyone to the right. Prevents: a default that only the code knows (each one is in
//! [`Study::resolved`]).

use crate::engines::{Bulk, Engine, Tpcc};
use crate::options::Given;
use crate::units::{Bytes, Duration, Share};
use std::path::PathBuf;

/// A whole study.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Short name; names the result file.
    pub name: String,
    /// The question in the user's words.
    pub question: String,
    /// Identity of published figures to print beside, if any.
    pub published: Option<String>,
    /// Differences inside this share count as equal.
    pub margin: Share,
    /// Wall time the whole study may take.
    pub time_limit: Duration,
    /// Blocks fixed in the study; `None`: as many as the time limit allows, even, at most 12.
    pub blocks: Option<u32>,
    /// Whether the study ends when every comparison has its verdict; else all blocks are run.
    pub stop_early: bool,
    /// Root of all seeds; `None`: whoever runs the study draws one ([`Study::root_seed`]).
    pub seed: Option<u64>,
    /// How I/O is issued, once for all stacks.
    pub io: IoMethod,
    /// Workers (threads) of the engine.
    pub workers: u32,
    /// How the stacks of a block take turns.
    pub schedule: Schedule,
    /// How long a stack works at a time where they do so within a phase.
    pub stint: Duration,
    /// LUN sets by name, in the order written.
    pub luns: Vec<LunSet>,
    /// Memory per stack: engine cache + page cache + the engine's own maps. `None`: measured, not bounded.
    pub memory_budget: Option<Bytes>,
    /// Whether phases are ranked that a cache inside an enforced budget served: what a stack makes of memory and storage together.
    pub rank_cached: bool,
    /// The stacks in the order written; the first is the base.
    pub stacks: Vec<Stack>,
    /// The page engine.
    pub database: Database,
    /// The phases in order; each block runs all of them on each stack.
    pub phases: Vec<Phase>,
    /// Which stacks and phases stand for which of the publication.
    pub stands_for: StandsFor,
    /// Every key with the value used and whether it was written or a default, in a stable order.
    pub resolved: Vec<Resolved>,
    /// What was read from files of SLOB's (`slob_conf`), parameter by parameter.
    pub slob: Vec<SlobRow>,
    /// The file as messages call it; what it names lies beside it.
    pub file: PathBuf,
    /// The file as read.
    pub text: String,
    /// The factor that sizes were multiplied with (`--scale`); 1.0 as written.
    pub scaled: f64,
}

/// Ours and theirs, in the order written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandsFor {
    /// Stack of the study, stack of the publication.
    pub stacks: Vec<(String, String)>,
    /// Phase of the study, phase of the publication.
    pub phases: Vec<(String, String)>,
}

/// One key and the value that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Dotted: `database.page`, `stack.btrfs.profile`, `phase.fresh scan.users`.
    pub key: String,
    /// As a study file would write it.
    pub value: String,
    /// True when the study said it.
    pub written: bool,
    /// The value before `--scale` changed it, if it did.
    pub unscaled: Option<String>,
}

/// One parameter of a `slob.conf`: what it says there, what the phase uses, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlobRow {
    /// The phase that named the file.
    pub phase: String,
    /// The file as the study names it.
    pub file: String,
    /// Line in it, 1-based.
    pub line: usize,
    /// SLOB's name.
    pub key: String,
    /// The value there; a password is not shown.
    pub seed: String,
    /// The key of the study that has its meaning, with the value that holds; `None` when it has none.
    pub used: Option<String>,
    /// Why that value, or why nothing.
    pub why: String,
}

/// How I/O is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMethod {
    /// Measured before the first block.
    Auto,
    /// io_uring.
    Ring,
    /// `pread`/`pwrite`, one at a time a worker.
    Pread,
}

/// How the stacks of a block take turns, as the study says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// What [`Study::turns`] finds fit.
    Auto,
    /// One after the other, each through all phases.
    Whole,
    /// Side by side: in each phase stint after stint, in mirrored pairs of rounds.
    Abba,
}

/// LUNs that serve every stack in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct LunSet {
    /// `luns.NAME`.
    pub name: String,
    /// Files or devices.
    pub source: LunSource,
    /// A device by calculation between the files and the stacks; `None`: the files are what they are.
    pub device: Option<crate::device::Device>,
}

/// What a LUN set is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum LunSource {
    /// Files made in `dir`, written in full, attached as loop devices where a device is needed.
    Files {
        /// How many.
        count: u32,
        /// Bytes each.
        size: Bytes,
        /// Directory, relative to the working directory.
        dir: PathBuf,
    },
    /// Whole block devices. Their content is destroyed.
    Devices {
        /// Paths as written.
        paths: Vec<PathBuf>,
        /// Those for which the study says `overwrite = true` (`overwrite = ["/dev/x"]` names them; `true` means all).
        overwrite: Vec<PathBuf>,
    },
}

/// One stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Unique.
    pub name: String,
    /// What is built.
    pub kind: StackKind,
    /// LUN set of the data files; `None` for `directory` and `model`.
    pub data: Option<String>,
    /// LUN set of the redo log; `None`: redo lives beside the data.
    pub redo: Option<String>,
    /// Through or around the page cache.
    pub access: Access,
    /// A planted disadvantage, for checking the tool itself; disclosed everywhere.
    pub inject: Inject,
    /// The database that works on it.
    pub engine: Engine,
}

impl Stack {
    /// LUN sets that it lies on, data first.
    pub fn lun_sets(&self) -> impl Iterator<Item = &String> {
        self.data.iter().chain(&self.redo)
    }
}

/// Through or around the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `O_DIRECT`.
    Direct,
    /// Page cache and `fdatasync`.
    Buffered,
}

/// Kinds of stack that this version builds.
#[derive(Clone, Debug, PartialEq)]
pub enum StackKind {
    /// A mounted place as it is.
    Directory {
        /// The place.
        path: PathBuf,
    },
    /// LUNs without any layer.
    Raw,
    /// ext4 on one LUN.
    Ext4 {
        /// Extra mount options, of those in the table.
        mount_options: Vec<Given>,
        /// Extra options of mkfs, of those in the table.
        mkfs_options: Vec<Given>,
    },
    /// XFS on one LUN.
    Xfs {
        /// As for ext4.
        mount_options: Vec<Given>,
        /// As for ext4.
        mkfs_options: Vec<Given>,
    },
    /// btrfs on one or more LUNs.
    Btrfs {
        /// Data profile.
        profile: BtrfsProfile,
        /// `None`, or an algorithm as btrfs writes it ("zstd", "lzo", "zstd:3").
        compress: Option<String>,
        /// Overwrite in place.
        nodatacow: bool,
        /// As for ext4.
        mount_options: Vec<Given>,
        /// As for ext4.
        mkfs_options: Vec<Given>,
    },
    /// LUNs given whole to a disk group: striped and mirrored by extent maps that the engine itself holds.
    Diskgroup {
        /// Copies of the data; the redo log has as many.
        redundancy: Redundancy,
        /// Allocation unit, a power of two from 1 to 64 MiB.
        au: Bytes,
        /// How the data files go over the LUNs; the redo log is always striped finely.
        stripe: Stripe,
        /// LUNs in turn are dealt to so many failure groups; `None`: each LUN is its own.
        failure_groups: Option<u32>,
        /// LUNs at the end of the set that are not in the group until a phase adds them.
        reserve: u32,
    },
    /// A database server that is there already, on storage that is not ours.
    Server {
        /// Where it is, without a password.
        url: String,
    },
    /// A pool of OpenZFS on LUNs.
    Zfs(crate::zfs::Zfs),
    /// A simulated device in virtual time.
    Model(Model),
}

/// Copies that a disk group keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redundancy {
    /// One: what lies below protects.
    External,
    /// Two.
    Normal,
    /// Three.
    High,
}

/// How a file's bytes go over the disks of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stripe {
    /// One allocation unit after the other.
    Coarse,
    /// 128 KiB after 128 KiB over eight allocation units.
    Fine,
}

/// Data profile of btrfs; metadata follow it (`single` keeps `dup` on one device).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BtrfsProfile {
    /// One copy, no stripes.
    Single,
    /// Striped.
    Raid0,
    /// Two copies.
    Raid1,
}

/// A simulated device.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Bytes.
    pub size: Bytes,
    /// Mean time to serve one 8 KiB request, without queueing.
    pub service: Duration,
    /// Coefficient of variation of the service time (0 = constant).
    pub spread: f64,
    /// Requests served at once.
    pub parallel: u32,
    /// Time of a flush.
    pub flush: Duration,
    /// Transfer rate per server, bytes a second, added for what exceeds 8 KiB.
    pub transfer: Bytes,
    /// Share of reads served by a cache above the device.
    pub cached: Share,
    /// By which share service gets longer with each minute of the study's simulated time, on all stacks alike.
    pub drift: Share,
}

/// A planted disadvantage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inject {
    /// Every I/O takes this share longer (0.2: 20 %).
    pub late: f64,
    /// Errno returned for the nth I/O of a phase (1-based), if any: a read or write fails with EIO.
    pub error_at: Option<u64>,
    /// Flushes are answered and not done: a control for power cuts.
    pub flush_lost: bool,
    /// The I/O of a trial (1-based, the load among them) from which on `late` holds; 0: from the first.
    pub late_from: u64,
    /// The I/O of a trial (1-based) of which only a part is done, if any.
    pub short_at: Option<u64>,
    /// The I/O of a trial (1-based) at which the device stands still, if any.
    pub stall_at: Option<u64>,
    /// For how long.
    pub stall: Duration,
}

impl Inject {
    /// Whether anything is planted: what only says from when or for how long is nothing by itself.
    pub fn is_planted(&self) -> bool {
        let at = [self.error_at, self.short_at, self.stall_at];
        self.late != 0.0 || self.flush_lost || at.iter().any(Option::is_some)
    }
}

/// The page engine's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Database {
    /// Page size.
    pub page: Bytes,
    /// Buffer cache of the whole instance.
    pub cache: Bytes,
    /// Pages read at once by a scan.
    pub multiblock_read: u32,
    /// Schemas ("users" of SLOB), each a table.
    pub schemas: u32,
    /// Size of the data.
    pub scale: Scale,
    /// Redo log size.
    pub redo_size: Bytes,
    /// Uncompressed size over compressed size of the data written (1.0: incompressible).
    pub compressibility: f64,
    /// Share of pages that are copies of another page.
    pub duplication: Share,
    /// How torn pages are survived.
    pub torn_pages: TornPages,
    /// Longest time between two checkpoints.
    pub checkpoint: Duration,
    /// Write requests the background writers keep in flight.
    pub writers: u32,
}

/// Size of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Of the smallest stack's usable space.
    Share(Share),
    /// The same bytes everywhere.
    Bytes(Bytes),
}

/// How torn pages are survived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TornPages {
    /// Full page image in the redo log at the first change after a checkpoint.
    Log,
    /// Each page is written twice, first to a doublewrite area.
    Double,
    /// Trusted to the stack.
    None,
}

/// One phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Unique.
    pub name: String,
    /// What it does.
    pub kind: PhaseKind,
    /// When it ends (besides running out of work).
    pub time: Option<Duration>,
    /// Compared between stacks.
    pub ranked: bool,
    /// An earlier phase that this one is held against on the same stack: aged against fresh.
    pub against: Option<String>,
    /// What goes wrong with modelled LUNs meanwhile.
    pub faults: Vec<crate::cut::DeviceFault>,
}

/// Kinds of phase that this version runs.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseKind {
    /// SLOB's random single-block work.
    Random(Random),
    /// Full table scans.
    Scan(Scan),
    /// Every page overwritten at least once, in random order.
    Age(Age),
    /// The database's files move to another place, and the trial goes on there.
    Copy(Copy),
    /// LUNs join and leave a disk group while random work runs.
    Rebalance(Rebalance),
    /// Order entry in SQL.
    Tpcc(Tpcc),
    /// Rows into an empty table in SQL.
    Bulk(Bulk),
    /// Random work that a power cut or a kill ends in the middle, again and again.
    PowerCut(crate::cut::PowerCut),
}

/// An ageing: updates that take every page of every schema in turn, in an order that is random in each pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Age {
    /// Times that each page is changed.
    pub passes: u32,
    /// Sessions in all.
    pub sessions: u32,
    /// Pages of one transaction.
    pub work_unit: u32,
    /// Columns changed.
    pub redo_stress: RedoStress,
    /// Reads a session keeps in flight.
    pub outstanding: u32,
}

/// Where a copy goes and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// The stack that takes the database.
    pub to: CopyTarget,
    /// LUN set of the data there; `None` where the target stack has none, and on the way home.
    pub data: Option<String>,
    /// LUN set of the redo log there; `None`: beside the data.
    pub redo: Option<String>,
    /// Bytes of one read and one write.
    pub chunk: Bytes,
    /// Chunks on their way at once.
    pub outstanding: u32,
    /// Read everything back from the target and compare, outside the measured time.
    pub verify: bool,
}

/// The stack that takes a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// Where the trial began, over the files that are there.
    Home,
    /// Another instance of this stack, on LUN sets of its own.
    Stack(String),
}

/// LUNs that join and leave a disk group. LUNs are counted from 0 in the order of their set.
#[derive(Clone, Debug, PartialEq)]
pub struct Rebalance {
    /// LUNs held in reserve (or dropped earlier) that join.
    pub add: Vec<u32>,
    /// LUNs that are emptied and leave.
    pub drop: Vec<u32>,
    /// I/Os of the rebalance in flight, at most.
    pub power: u32,
    /// Work before it, for comparison.
    pub before: Duration,
    /// Work after it.
    pub after: Duration,
    /// The work that runs all the while.
    pub work: Random,
}

/// SLOB's parameters, by SLOB's names in lower case.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    /// Percent of operations that update: 0 to 50, or 100.
    pub update_pct: u32,
    /// Percent of operations that are scans of the schema's first `scan_table_size`.
    pub scan_pct: u32,
    /// Bytes of such a scan.
    pub scan_table_size: Bytes,
    /// Sessions in all.
    pub sessions: u32,
    /// Pages an operation touches.
    pub work_unit: u32,
    /// Operations per session; 0: until the time is over.
    pub work_loop: u64,
    /// Columns changed by an update.
    pub redo_stress: RedoStress,
    /// Reads a session keeps in flight.
    pub outstanding: u32,
    /// Every how many operations a session thinks; 0: never.
    pub think_tm_frequency: u32,
    /// Shortest pause.
    pub think_tm_min: Duration,
    /// Longest pause.
    pub think_tm_max: Duration,
    /// Hot spot inside each schema, if any.
    pub hotspot: Option<Hotspot>,
    /// Every how many operations of a session goes to the first schema, whatever schema it serves; 0: none.
    pub hot_schema_frequency: u32,
    /// Open arrival: operations per second for the whole instance; `None`: closed.
    pub rate: Option<f64>,
}

/// SLOB's DO_HOTSPOT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hotspot {
    /// Bytes of the hot range in each schema.
    pub size: Bytes,
    /// Where it starts.
    pub offset: Bytes,
    /// Every how many operations goes there.
    pub frequency: u32,
}

/// SLOB's REDO_STRESS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedoStress {
    /// 2 columns.
    Lite,
    /// 19 columns.
    Heavy,
}

/// Full table scans of randomly chosen schemas.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Schemas scanned, one after another; chosen anew per block.
    pub users: u32,
    /// Reads in flight of one scan (1: as the seed).
    pub degree: u32,
    /// Schemas scanned at the same time.
    pub parallel: u32,
}
