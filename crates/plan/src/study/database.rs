//! The page engine's parameters.
//!
//! Plain data. Prevents: a parameter of one engine that is taken for all of them.

use crate::shown::Shown;
use crate::units::{Bytes, Duration, Share};

settled! {
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
}

/// Size of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Of the smallest stack's usable space.
    Share(Share),
    /// The same bytes everywhere.
    Bytes(Bytes),
}

impl Shown for Scale {
    fn shown(&self) -> Option<String> {
        match self {
            Scale::Share(share) if share.to_string().ends_with('%') => share.shown(),
            Scale::Share(share) => share.0.shown(),
            Scale::Bytes(bytes) => bytes.shown(),
        }
    }
}

words! {
    /// How torn pages are survived.
    pub enum TornPages: "a way to survive torn pages" {
        /// Full page image in the redo log at the first change after a checkpoint.
        Log = "log",
        /// Each page is written twice, first to a doublewrite area.
        Double = "double",
        /// Trusted to the stack.
        None = "none",
    }
}
