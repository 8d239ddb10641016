//! Phases: what is done, until when, and what goes wrong meanwhile.
//!
//! Plain data. Prevents: a phase that one room ends by time and another by work.

use super::cut::{DeviceFault, PowerCut};
use super::engines::{Bulk, Tpcc};
use super::files::Serving;
use super::random::{Random, RedoStress};
use crate::shown::{Keys, Shown, list, quoted, strings};
use crate::units::{Bytes, Duration};

settled! {
    /// One phase.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Phase {
        /// Unique.
        pub name: String,
        /// What it does.
        pub kind: PhaseKind as |phase| Some(quoted(phase.kind.word())),
        /// When it ends (besides running out of work).
        pub time: Option<Duration> as until,
        /// Compared between stacks.
        pub ranked: bool,
        /// An earlier phase: the changes of the stacks since then are compared, aged against fresh.
        pub against: Option<String>,
        /// What goes wrong with modelled LUNs meanwhile.
        pub faults: Vec<DeviceFault> as |phase| faults(&phase.faults),
    }
}

/// Its time, or that it ends without.
fn until(phase: &Phase) -> Option<String> {
    let time = || phase.time.shown().unwrap_or_else(|| quoted("none"));
    phase.kind.is_timed().then(time)
}

/// Only where there are some: few studies have them.
fn faults(all: &[DeviceFault]) -> Option<String> {
    (!all.is_empty()).then(|| list(all.iter().filter_map(Shown::shown)))
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
    PowerCut(PowerCut),
    /// A ramp of loads on a tree of files.
    Files(Serving),
}

impl PhaseKind {
    /// As a study writes it.
    pub fn word(&self) -> &'static str {
        match self {
            PhaseKind::Random(_) => "random",
            PhaseKind::Scan(_) => "scan",
            PhaseKind::Age(_) => "age",
            PhaseKind::Copy(_) => "copy",
            PhaseKind::Rebalance(_) => "rebalance",
            PhaseKind::Tpcc(_) => "tpcc",
            PhaseKind::Bulk(_) => "bulk",
            PhaseKind::PowerCut(cut) => cut.end.word(),
            PhaseKind::Files(_) => "files",
        }
    }

    /// Whether it may end by time.
    pub fn is_timed(&self) -> bool {
        matches!(
            self,
            PhaseKind::Random(_) | PhaseKind::Scan(_) | PhaseKind::Tpcc(_) | PhaseKind::Files(_)
        )
    }

    /// Its own keys with their values.
    pub(crate) fn keys(&self) -> Keys {
        match self {
            PhaseKind::Random(random) => random.keys(),
            PhaseKind::Scan(scan) => scan.keys(),
            PhaseKind::Age(age) => age.keys(),
            PhaseKind::Copy(copy) => copy.keys(),
            // Its work has the time that the change takes.
            PhaseKind::Rebalance(change) => {
                let work = change.work.keys().into_iter().filter(|(key, _)| *key != "work_loop");
                change.keys().into_iter().chain(work).collect()
            }
            PhaseKind::Tpcc(tpcc) => tpcc.keys(),
            PhaseKind::Bulk(bulk) => bulk.keys(),
            PhaseKind::PowerCut(cut) => cut.keys(),
            PhaseKind::Files(serving) => serving.keys(),
        }
    }
}

settled! {
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
}

settled! {
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
}

/// The stack that takes a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// Where the trial began, over the files that are there.
    Home,
    /// Another instance of this stack, on LUN sets of its own.
    Stack(String),
}

impl Shown for CopyTarget {
    fn shown(&self) -> Option<String> {
        Some(match self {
            CopyTarget::Home => quoted("home"),
            CopyTarget::Stack(name) => quoted(name),
        })
    }
}

settled! {
    /// LUNs that join and leave a disk group. LUNs are counted from 0 in the order of their set.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Rebalance {
        /// LUNs held in reserve (or dropped earlier) that join.
        pub add: Vec<u32> as |change| Some(disks(&change.add)),
        /// LUNs that are emptied and leave.
        pub drop: Vec<u32> as |change| Some(disks(&change.drop)),
        /// I/Os of the rebalance in flight, at most.
        pub power: u32,
        /// Work before it, for comparison.
        pub before: Duration,
        /// Work after it.
        pub after: Duration,
        with {
            /// The work that runs all the while.
            pub work: Random,
        }
    }
}

settled! {
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
}

/// LUNs by number in their set.
fn disks(luns: &[u32]) -> String {
    strings(luns.iter().map(|lun| format!("disk{lun}")))
}
