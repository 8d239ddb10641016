//! Faults of modelled LUNs, as a study means them. Plain data.
//!
//! Prevents: a fault that is planted somewhere and told nowhere: it stands in the phase that it happens in.

use super::words::FaultWord;
use crate::shown::{Keys, Shown, quoted, table};
use crate::units::{Bytes, Duration};
use crate::word::Word;
use std::fmt;

settled! {
    /// One thing that goes wrong with a modelled LUN while a phase runs.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DeviceFault {
        /// What.
        pub kind: FaultKind as |fault| Some(quoted(fault.kind.word())),
        /// LUN set.
        pub luns: String,
        /// LUN of it, from 0.
        pub lun: u32,
        /// Time after the beginning of the phase.
        pub after: Duration,
        /// How long; `None`: for good, which is until the end of the trial.
        pub time: Option<Duration>,
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Reads and writes of a range of the LUN fail with EIO.
    Error {
        /// Where it begins.
        offset: Bytes,
        /// Its bytes; 0: to the end.
        length: Bytes,
    },
    /// Reads of a range give other bytes than were written, and no error.
    Corrupt {
        /// Where it begins.
        offset: Bytes,
        /// Its bytes; 0: to the end.
        length: Bytes,
    },
    /// Every request fails with EIO.
    Vanish,
    /// Every request takes longer.
    Slow {
        /// By this.
        by: Duration,
    },
}

impl FaultKind {
    /// As a study writes it.
    pub fn word(&self) -> &'static str {
        let word = match self {
            FaultKind::Error { .. } => FaultWord::Error,
            FaultKind::Corrupt { .. } => FaultWord::Corrupt,
            FaultKind::Vanish => FaultWord::Vanish,
            FaultKind::Slow { .. } => FaultWord::Slow,
        };
        word.word()
    }

    /// Its own keys with their values.
    fn keys(&self) -> Keys {
        match self {
            FaultKind::Error { offset, length } | FaultKind::Corrupt { offset, length } => {
                vec![("offset", quoted(offset)), ("length", quoted(length))]
            }
            FaultKind::Slow { by } => vec![("by", quoted(by))],
            FaultKind::Vanish => Keys::new(),
        }
    }
}

impl Shown for DeviceFault {
    fn shown(&self) -> Option<String> {
        Some(table([self.keys(), self.kind.keys()].concat()))
    }
}

impl fmt::Display for DeviceFault {
    /// A sentence for reports.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LUN {} of {} ", self.lun, self.luns)?;
        let range = |f: &mut fmt::Formatter<'_>, offset: Bytes, length: Bytes| match length {
            Bytes(0) => write!(f, "from {offset} on"),
            length => write!(f, "in {length} from {offset} on"),
        };
        match self.kind {
            FaultKind::Error { offset, length } => {
                f.write_str("answers with EIO ")?;
                range(f, offset, length)?;
            }
            FaultKind::Corrupt { offset, length } => {
                f.write_str("silently reads wrong bytes ")?;
                range(f, offset, length)?;
            }
            FaultKind::Vanish => f.write_str("goes away")?,
            FaultKind::Slow { by } => write!(f, "takes {by} longer for each request")?,
        }
        write!(f, " after {}", self.after)?;
        match self.time {
            Some(time) => write!(f, ", for {time}"),
            None => f.write_str(", for good"),
        }
    }
}
