//! The kinds of phase: one row and one file each.
//!
//! A row is the name of the kind, what it is asked to do, and the look-up that gives this. The file of a kind holds its
//! keys and its answers to [`Kind`]. Prevents: a kind that is declared in one place and forgotten in the next.

mod age;
mod bulk;
mod copy;
mod files;
mod power_cut;
mod random;
mod rebalance;
mod redo;
mod scan;
mod tpcc;
mod tpch;

pub use age::Age;
pub use bulk::Bulk;
pub use copy::{Copy, CopyTarget};
pub use files::{FileArrival, FileMix, FileMixed, FileSizes, FileSteps, Limit, LimitOf, Serving};
pub use power_cut::{CutWork, End, PowerCut};
pub use rebalance::Rebalance;
pub use redo::Redo;
pub use scan::Scan;
pub use tpcc::{Company, Home, Tpcc};
pub use tpch::{Tpch, TpchRun, TpchText};

use super::kind::{Kind, KindRow};
use super::random::Random;
use super::words::PhaseWord;
use crate::word::{Word, listed};

/// Declares the kinds of phase, a row each: `Kind(asked) as look_up`.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident($asked:ident) as $look_up:ident;)*) => {
        /// Kinds of phase that this version runs.
        #[derive(Clone, Debug, PartialEq)]
        pub enum PhaseKind {
            $($(#[$about])* $kind($asked),)*
        }

        impl PhaseKind {
            /// What it says of itself.
            pub(crate) fn own(&self) -> &dyn Kind {
                match self {
                    $(PhaseKind::$kind(asked) => asked,)*
                }
            }

            $(
                #[doc = concat!("What a phase of kind `", stringify!($kind), "` is asked; `None`: it is of another.")]
                pub fn $look_up(&self) -> Option<&$asked> {
                    match self {
                        PhaseKind::$kind(asked) => Some(asked),
                        _ => None,
                    }
                }
            )*
        }

        $(
            impl From<$asked> for PhaseKind {
                fn from(asked: $asked) -> PhaseKind {
                    PhaseKind::$kind(asked)
                }
            }
        )*
    };
}

kinds! {
    /// SLOB's random single-block work.
    Random(Random) as random;
    /// Full table scans.
    Scan(Scan) as scan;
    /// Every page overwritten at least once, in random order.
    Age(Age) as age;
    /// Commits alone: records of the redo log that change no page.
    Redo(Redo) as redo;
    /// The database's files move to another place, and the trial goes on there.
    Copy(Copy) as copy;
    /// LUNs join and leave a disk group or a volume while random work runs.
    Rebalance(Rebalance) as rebalance;
    /// Order entry in SQL.
    Tpcc(Tpcc) as tpcc;
    /// Decision support in SQL.
    Tpch(Tpch) as tpch;
    /// Rows into an empty table in SQL.
    Bulk(Bulk) as bulk;
    /// Random work, or that of a file server, that a power cut or a kill ends in the middle, again and again.
    PowerCut(PowerCut) as cut;
    /// A ramp of loads on a tree of files.
    Files(Serving) as serving;
}

impl PhaseWord {
    /// What holds for all phases of this kind.
    pub(crate) fn row(self) -> &'static KindRow {
        match self {
            PhaseWord::Random => &random::ROW,
            PhaseWord::Scan => &scan::ROW,
            PhaseWord::Age => &age::ROW,
            PhaseWord::Redo => &redo::ROW,
            PhaseWord::Copy => &copy::ROW,
            PhaseWord::Rebalance => &rebalance::ROW,
            PhaseWord::Tpcc => &tpcc::ROW,
            PhaseWord::Tpch => &tpch::ROW,
            PhaseWord::Bulk => &bulk::ROW,
            PhaseWord::PowerCut | PhaseWord::Kill => &power_cut::ROW,
            PhaseWord::Files => &files::ROW,
        }
    }

    /// What a sentence calls the phases that an ageing may have after each pass: "random work and scans".
    pub(crate) fn repeated() -> String {
        let rows = PhaseWord::ALL.iter().filter_map(|kind| kind.row().repeated);
        listed(&rows.collect::<Vec<_>>())
    }

    /// Words of those that databases in SQL run.
    pub(crate) fn in_sql() -> String {
        let rows = PhaseWord::ALL.iter().filter(|kind| kind.row().engines.has_sql());
        listed(&rows.map(Word::word).collect::<Vec<_>>())
    }
}
