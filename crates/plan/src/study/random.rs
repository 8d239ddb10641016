//! SLOB's random work, by SLOB's names.
//!
//! Plain data. Prevents: a parameter of SLOB's that means something else here.

use crate::shown::{Shown, rate_or_none, table};
use crate::units::{Bytes, Duration};

settled! {
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
        pub hotspot: Option<Hotspot> | "none",
        /// Every how many operations of a session goes to the first schema, whatever schema it serves; 0: none.
        pub hot_schema_frequency: u32,
        /// Open arrival: operations per second for the whole instance; `None`: closed.
        pub rate: Option<f64> as |random| rate_or_none(random.rate),
    }
}

settled! {
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
}

impl Shown for Hotspot {
    fn shown(&self) -> Option<String> {
        Some(table(self.keys()))
    }
}

words! {
    /// SLOB's REDO_STRESS.
    pub enum RedoStress: "a degree of redo stress" {
        /// 2 columns.
        Lite = "lite",
        /// 19 columns.
        Heavy = "heavy",
    }
}
