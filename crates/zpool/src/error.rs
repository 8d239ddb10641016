//! What can go wrong in this room, on both sides of the wall between the two processes.
//!
//! Prevents: an error of the library that arrives as a number, without the pool, the device and the cure.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the server process would not or could not do; travels as it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{what}\n  {cure}")]
pub struct Refused {
    /// What failed, and on what.
    pub what: String,
    /// The library's errno, when it had one.
    pub errno: Option<i32>,
    /// What to do.
    pub cure: String,
}

impl Refused {
    pub(crate) fn new(what: &str, cure: &str) -> Refused {
        Refused {
            what: what.to_string(),
            errno: None,
            cure: cure.to_string(),
        }
    }

    /// A call of the library that gave an errno.
    pub(crate) fn errno(what: &str, errno: i32, cure: &str) -> Refused {
        let said = match errno {
            52 => "a checksum is wrong".to_string(),
            _ => std::io::Error::from_raw_os_error(errno).to_string(),
        };
        Refused {
            what: format!("{what}: {said}"),
            errno: Some(errno),
            cure: cure.to_string(),
        }
    }
}

/// An error of this room.
#[derive(Debug, thiserror::Error)]
pub enum ZpoolError {
    /// The server said no.
    #[error("OpenZFS in user space: {0}")]
    Refused(#[from] Refused),
    /// The server process could not be started.
    #[error("start {}: {source}\n  the program starts itself a second time: check that it may be \
        executed", path.display())]
    Start {
        /// Which program.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// The server process has ended.
    #[error(
        "the process that runs OpenZFS has ended ({how}){}\n  its pools are as a power cut leaves them: import them \
         again",
        last_words(said)
    )]
    Gone {
        /// Its exit status, in words.
        how: String,
        /// The last lines it wrote.
        said: String,
    },
    /// A call of this process failed.
    #[error("{what}: {source}\n  check limits on memory and on open files")]
    Call {
        /// The act.
        what: &'static str,
        /// The kernel's word.
        source: std::io::Error,
    },
}

/// Errnos of the library that say something of the host, not of the pool: `EPERM`, `EINTR`, `EAGAIN`, `ENOMEM`,
/// `EACCES`, `EBUSY`, `ENFILE`, `EMFILE`.
const OF_THE_HOST: &[i32] = &[1, 4, 11, 12, 13, 16, 23, 24];

impl ZpoolError {
    /// Whether the pool on the devices was refused, or ended the library, rather than the host being in the way.
    pub fn is_of_storage(&self) -> bool {
        match self {
            ZpoolError::Refused(refused) => refused.errno.is_some_and(|errno| !OF_THE_HOST.contains(&errno)),
            // A failed assertion of the library aborts it; a kill is somebody's, or the kernel's for memory.
            ZpoolError::Gone { how, .. } => how.contains("SIGABRT") || how.contains("SIGSEGV"),
            ZpoolError::Start { .. } | ZpoolError::Call { .. } => false,
        }
    }
}

fn last_words(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!("; its last words: {said}")
    }
}
