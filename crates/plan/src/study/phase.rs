//! Phases: what is done, until when, and what goes wrong meanwhile.
//!
//! Plain data. Prevents: a phase that one room ends by time and another by work.

use super::cut::{DeviceFault, End, PowerCut};
use super::engines::{Bulk, Tpcc, Tpch};
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
        /// Idle time before it begins.
        pub rest: Duration as |phase| Some(phase.rest).filter(|rest| rest.0 > 0).shown(),
        /// Compared between stacks.
        pub ranked: bool,
        /// An earlier phase: the changes of the stacks since then are compared, aged against fresh.
        pub against: Option<String>,
        /// What goes wrong with modelled LUNs meanwhile.
        pub faults: Vec<DeviceFault> as |phase| faults(&phase.faults),
    }
}

impl Phase {
    /// How long pages change in it, or records of the redo log are written; `None`: nothing does, or no time is said.
    pub(crate) fn updating_time(&self) -> Option<Duration> {
        match &self.kind {
            PhaseKind::Random(random) if random.update_pct > 0 => self.time,
            PhaseKind::Redo(_) => self.time,
            PhaseKind::Rebalance(change) if change.work.update_pct > 0 => Some(change.windows()),
            _ => None,
        }
    }
}

impl Rebalance {
    /// The work before and after it together.
    pub(crate) fn windows(&self) -> Duration {
        Duration(self.before.0.saturating_add(self.after.0))
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
    /// Commits alone: records of the redo log that change no page.
    Redo(Redo),
    /// The database's files move to another place, and the trial goes on there.
    Copy(Copy),
    /// LUNs join and leave a disk group or a volume while random work runs.
    Rebalance(Rebalance),
    /// Order entry in SQL.
    Tpcc(Tpcc),
    /// Decision support in SQL.
    Tpch(Tpch),
    /// Rows into an empty table in SQL.
    Bulk(Bulk),
    /// Random work, or that of a file server, that a power cut or a kill ends in the middle, again and again.
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
            PhaseKind::Redo(_) => "redo",
            PhaseKind::Copy(_) => "copy",
            PhaseKind::Rebalance(_) => "rebalance",
            PhaseKind::Tpcc(_) => "tpcc",
            PhaseKind::Tpch(_) => "tpch",
            PhaseKind::Bulk(_) => "bulk",
            PhaseKind::PowerCut(cut) => cut.end.word(),
            PhaseKind::Files(_) => "files",
        }
    }

    /// Whether it may end by time.
    pub fn is_timed(&self) -> bool {
        matches!(
            self,
            PhaseKind::Random(_) | PhaseKind::Scan(_) | PhaseKind::Redo(_) | PhaseKind::Tpcc(_) | PhaseKind::Files(_)
        )
    }

    /// Which databases run it.
    pub fn engines(&self) -> Engines {
        match self {
            PhaseKind::Random(_) | PhaseKind::PowerCut(_) => Engines::All,
            PhaseKind::Scan(_)
            | PhaseKind::Age(_)
            | PhaseKind::Redo(_)
            | PhaseKind::Copy(_)
            | PhaseKind::Rebalance(_) => Engines::Pages,
            PhaseKind::Tpcc(_) | PhaseKind::Tpch(_) | PhaseKind::Bulk(_) => Engines::Sql,
            PhaseKind::Files(_) => Engines::Files,
        }
    }

    /// SLOB's work, alone, beside a change of the disk group, or until it is ended.
    pub fn slob_work(&self) -> Option<&Random> {
        match self {
            PhaseKind::Random(random) => Some(random),
            PhaseKind::Rebalance(change) => Some(&change.work),
            PhaseKind::PowerCut(cut) => cut.work.random(),
            _ => None,
        }
    }

    /// Whether it can be interrupted and go on, so that stacks take turns within it.
    pub(crate) fn takes_turns(&self) -> bool {
        matches!(self, PhaseKind::Random(_) | PhaseKind::Scan(_) | PhaseKind::Redo(_))
    }

    /// Whether its work ends like this.
    pub fn is_ended_by(&self, end: End) -> bool {
        self.cut().is_some_and(|cut| cut.end == end)
    }

    /// Whether data change their place.
    pub fn is_move(&self) -> bool {
        matches!(self, PhaseKind::Copy(_) | PhaseKind::Rebalance(_))
    }

    /// Its own keys with their values.
    pub(crate) fn keys(&self) -> Keys {
        match self {
            PhaseKind::Random(random) => random.keys(),
            PhaseKind::Scan(scan) => scan.keys(),
            PhaseKind::Age(age) => age.keys(),
            PhaseKind::Redo(redo) => redo.keys(),
            PhaseKind::Copy(copy) => copy.keys(),
            // Its work has the time that the change takes.
            PhaseKind::Rebalance(change) => {
                let work = change.work.keys().into_iter().filter(|(key, _)| *key != "work_loop");
                change.keys().into_iter().chain(work).collect()
            }
            PhaseKind::Tpcc(tpcc) => tpcc.keys(),
            PhaseKind::Tpch(tpch) => tpch.keys().into_iter().chain(tpch.run.keys()).collect(),
            PhaseKind::Bulk(bulk) => bulk.keys(),
            PhaseKind::PowerCut(cut) => cut.keys(),
            PhaseKind::Files(serving) => serving.keys(),
        }
    }
}

/// Which databases run a kind of phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engines {
    /// The page engine.
    Pages,
    /// Those that take SQL.
    Sql,
    /// Both.
    All,
    /// None: it works on a tree of files.
    Files,
}

/// Of a phase of one kind, what it is asked to do.
macro_rules! asked {
    ($($(#[$about:meta])* $name:ident: $kind:ident of $asked:ident;)*) => {
        impl PhaseKind {
            $($(#[$about])*
            pub fn $name(&self) -> Option<&$asked> {
                match self {
                    PhaseKind::$kind(asked) => Some(asked),
                    _ => None,
                }
            })*
        }
    };
}

asked! {
    /// Of random work alone.
    random: Random of Random;
    /// Of scans.
    scan: Scan of Scan;
    /// Of an ageing.
    age: Age of Age;
    /// Of a copy.
    copy: Copy of Copy;
    /// Of a change of a disk group or a volume.
    rebalance: Rebalance of Rebalance;
    /// Of order entry.
    tpcc: Tpcc of Tpcc;
    /// Of decision support.
    tpch: Tpch of Tpch;
    /// Of a bulk load.
    bulk: Bulk of Bulk;
    /// Of power cuts and kills.
    cut: PowerCut of PowerCut;
    /// Of file serving.
    serving: Files of Serving;
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
    /// Commits alone.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Redo {
        /// Sessions in all.
        pub sessions: u32,
        /// Redo of each commit.
        pub commit_size: Bytes,
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
    /// LUNs that join and leave a disk group or a volume. LUNs are counted from 0 in the order of their set.
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
