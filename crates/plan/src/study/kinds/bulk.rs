//! Phases of kind `bulk`: rows into an empty table in SQL.
//!
//! Prevents: a load that is longer than its stack has room.

use crate::shown::Keys;
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, Loads, OWN_END, Pace};
use crate::study::words::PhaseWord;

/// Bytes of a row, keys and indexes counted: measured with SQLite, a little less than with PostgreSQL.
const ROW_BYTES: u64 = 300;
/// Rows a second with a commit every 100: assumed, from runs on two cores.
const ROWS_PER_S: u64 = 25_000;

settled! {
    /// Bulk loads of one table, each into an empty database.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Bulk {
        /// Rows of each load, in the order run.
        pub rows: Vec<u64>,
        /// Rows of a commit.
        pub commit_every: u64,
    }
}

impl Bulk {
    /// Of the largest load.
    fn bytes_most(&self) -> u64 {
        let most = self.rows.iter().max();
        most.map_or(0, |rows| rows.saturating_mul(ROW_BYTES))
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Sql,
    repeated: None,
};

impl Kind for Bulk {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Bulk
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        Ends::Work((OWN_END, "remove `time`: a bulk load ends with the last row"))
    }

    fn in_flight(&self) -> InFlight {
        InFlight::in_order(1)
    }

    fn work_ns(&self, _pace: &Pace) -> u64 {
        let rows: u64 = self.rows.iter().fold(0, |sum, rows| sum.saturating_add(*rows));
        rows.saturating_mul(1_000_000_000) / ROWS_PER_S
    }

    fn in_sql(&self, _has_temp: bool) -> Option<(u64, &'static str)> {
        Some((self.bytes_most(), "rows"))
    }

    fn loads(&self) -> Loads {
        Loads {
            once: 0,
            within: self.bytes_most(),
        }
    }
}
