//! Phases of kind `copy`: the database moves to another stack, and the trial goes on there.
//!
//! Prevents: a copy of which nobody knows where it went.

use crate::shown::{Keys, Shown, quoted};
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, OWN_END, Pace};
use crate::study::words::PhaseWord;
use crate::units::Bytes;

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

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Pages,
    repeated: None,
};

impl Kind for Copy {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Copy
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn is_move(&self) -> bool {
        true
    }

    fn ends(&self) -> Ends {
        Ends::Work((OWN_END, "remove `time`: a copy ends with the last byte"))
    }

    fn in_flight(&self) -> InFlight {
        // Its chunks go over ports of its own.
        InFlight::in_order(1)
    }

    fn one_process(&self) -> Option<&'static str> {
        Some("a copy")
    }

    fn work_ns(&self, pace: &Pace) -> u64 {
        // Everything once out of the source and once into the target; the verification reads it a third time.
        let bytes = pace.data_bytes.saturating_add(pace.redo_bytes);
        pace.moving_ns(bytes.saturating_mul(2 + u64::from(self.verify)))
    }
}
