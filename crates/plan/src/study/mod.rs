//! What a study means once every default is said: plain data, no strings left to interpret.
//!
//! Given by [`crate::load`], used by everyone to the right. Prevents: a default that only the code knows (each one
//! is in [`Study::resolved`]).

mod cost;
mod database;
mod device;
mod engines;
mod fault;
mod file_system;
mod files;
mod instances;
pub(crate) mod kind;
mod kinds;
mod luns;
mod phase;
mod random;
mod stack;
mod volume;
mod words;
mod zfs;

pub use cost::Cost;
pub use database::{Database, Scale, TornPages};
pub(crate) use device::usual as usual_preset;
pub use device::{Device, DeviceModel, DevicePreset, Parameter, Spec, Unit, presets, specs};
pub use engines::{Engine, Isolation, Journal, Postgres, Preset, Sqlite, Synchronous, TableLoad};
pub use fault::{DeviceFault, FaultKind};
pub use file_system::{Btrfs, BtrfsProfile, FileSystem, FileSystemKind, FileSystemRow};
pub use files::{FileServer, Files, Protocol};
pub use instances::{Instances, Via};
pub use kind::{Engines, InFlight};
pub use kinds::{
    Age, Bulk, Company, Copy, CopyTarget, CutWork, End, FileArrival, FileMix, FileMixed, FileSizes, FileSteps, Home,
    Limit, LimitOf, PhaseKind, PowerCut, Rebalance, Redo, Scan, Serving, Tpcc, Tpch, TpchRun, TpchText,
};
pub use luns::{GROUP_LUNS_MAX, LunSet, LunSource};
pub use phase::Phase;
pub use random::{Hotspot, Random, RedoStress};
pub(crate) use stack::WEAKER;
pub use stack::{Access, DiskGroup, Inject, Model, Redundancy, Stack, StackKind, Stripe};
pub use volume::{Lvm, LvmLayout, Manager, Md, MdLevel, Resync, Snapshot, Volume};
pub(crate) use words::{EngineWord, FaultWord, PhaseWord, RunWord, StackWord, VolumeTop};
pub use zfs::{Lack, RedoAs, Vdevs, Zfs, ZfsPreset, ZfsWay};

use crate::units::{Bytes, Duration, Share};
use std::path::PathBuf;

settled! {
    /// A whole study.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Study {
        /// Short name; names the result file.
        pub name: String,
        /// The question in the user's words.
        pub question: String,
        /// Identity of published figures to print beside, if any.
        pub published: Option<String> | "none",
        /// Differences inside this share count as equal.
        pub margin: Share,
        /// Wall time the whole study may take.
        pub time_limit: Duration,
        /// Blocks fixed in the study; `None`: as many as the time limit allows, even, at most 12.
        pub blocks: Option<u32> | "auto",
        /// Whether the study ends when every comparison has its verdict; else all blocks are run.
        pub stop_early: bool,
        /// Whether the number of blocks is fixed by the time of the first ones: as many as the time limit holds.
        pub fill_time: bool,
        /// Root of all seeds; `None`: whoever runs the study draws one ([`Study::root_seed`]).
        pub seed: Option<u64> | "auto",
        /// How I/O is issued, once for all stacks.
        pub io: IoMethod,
        /// Workers (threads) of the engine.
        pub workers: u32,
        /// How the stacks of a block take turns.
        pub schedule: Schedule,
        /// How long a stack works at a time where they do so within a phase.
        pub stint: Duration,
        /// How many times slower than its device a model runs; `None`: found by a probe before the first block.
        pub slow_motion: Option<u32> | "auto",
        with {
            /// LUN sets by name, in the order written.
            pub luns: Vec<LunSet>,
            /// What each stack may have.
            pub memory: Memory,
            /// Instances of the page engine on each stack; `None`: nobody said.
            pub instances: Option<Instances>,
            /// The stacks in the order written; the first is the base.
            pub stacks: Vec<Stack>,
            /// The page engine.
            pub database: Database,
            /// The phases in order; each block runs all of them on each stack.
            pub phases: Vec<Phase>,
            /// What the stacks cost to buy; `None`: nobody said.
            pub cost: Option<Cost>,
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
    }
}

settled! {
    /// Memory of each stack.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Memory {
        /// Engine cache + page cache + the engine's own maps. `None`: measured, not bounded.
        pub budget: Option<Bytes> | "none",
        /// Whether phases are ranked that a cache inside an enforced budget served: what a stack makes of memory and
        /// storage together.
        pub rank_cached: bool,
    }
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

words! {
    /// How I/O is issued.
    pub enum IoMethod: "an I/O method" {
        /// Measured before the first block.
        Auto = "auto",
        /// io_uring.
        Ring = "ring",
        /// `pread`/`pwrite`, one at a time a worker.
        Pread = "pread",
    }
}

words! {
    /// How the stacks of a block take turns, as the study says it.
    pub enum Schedule: "a schedule" {
        /// What [`Study::turns`] finds fit.
        Auto = "auto",
        /// One after the other, each through all phases.
        Whole = "whole",
        /// Side by side: in each phase stint after stint, in mirrored pairs of rounds.
        Abba = "abba",
    }
}
