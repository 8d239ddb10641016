//! Errors of the room: what failed, against which server or object, and what to do.

use crate::status::Status;
use std::io;

/// What ends a phase.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// No connection.
    #[error(
        "cannot connect to the NFS server at {address}: {source}\ncheck that the server runs and that the port is right"
    )]
    Connect {
        /// Host and port.
        address: String,
        /// The system's word.
        source: io::Error,
    },
    /// The connection ended.
    #[error(
        "the NFS server at {address} ended the connection with {under_way} calls under way: {words}\n\
         read the log of the server"
    )]
    Gone {
        /// Host and port.
        address: String,
        /// Calls without an answer.
        under_way: usize,
        /// The system's word.
        words: String,
    },
    /// No answer for long.
    #[error(
        "the NFS server at {address} gave no answer for {seconds} s with {under_way} calls under way\n\
         read the log of the server"
    )]
    Silent {
        /// Host and port.
        address: String,
        /// How long.
        seconds: u64,
        /// Calls without an answer.
        under_way: usize,
    },
    /// Nothing but "later".
    #[error(
        "the server answered nothing but \"try again later\" for {seconds} s\n\
         read the log of the server: it may wait for a device"
    )]
    PutOff {
        /// How long.
        seconds: u64,
    },
    /// Not the protocol.
    #[error("the NFS server at {address} broke the protocol: {what}\nanother program may listen on this port")]
    Garbled {
        /// Host and port.
        address: String,
        /// How.
        what: &'static str,
    },
    /// RPC refused.
    #[error(
        "the NFS server at {address} did not carry out a call: {what}\n\
         the server must offer NFS version 3 over TCP with AUTH_SYS"
    )]
    Denied {
        /// Host and port.
        address: String,
        /// Why.
        what: &'static str,
    },
    /// The export was refused.
    #[error(
        "the NFS server at {address} refused to mount \"{export}\" (status {status})\n{}",
        cure_of_mount(*status)
    )]
    Export {
        /// Host and port.
        address: String,
        /// Its name.
        export: String,
        /// Status of MOUNT.
        status: u32,
    },
    /// A program has no port.
    #[error("the port mapper at {address} knows no {program} over TCP\nstart the server, or name its port")]
    NoPort {
        /// Host and port of the port mapper.
        address: String,
        /// The program.
        program: &'static str,
    },
    /// A call was refused that must go well.
    #[error(
        "{what} was refused: {}\n\
         look into the kernel's log, or into that of the server; RFC 1813, chapter 2.6, has the meaning of a status",
        status.words()
    )]
    Refused {
        /// The call and its object.
        what: String,
        /// The status.
        status: Status,
    },
    /// A system call on local files failed.
    #[error("{what}: {source}\ncheck the directory and its file system")]
    Local {
        /// Which, and on what.
        what: String,
        /// The system's word.
        source: io::Error,
    },
    /// The system starts no more threads.
    #[error(
        "cannot start a thread for each of {wanted} sessions: {source}\n\
         lower `sessions`, or raise the limit of threads (`ulimit -u`, `pids.max` of the control group)"
    )]
    Threads {
        /// Threads, all together.
        wanted: usize,
        /// The system's word.
        source: io::Error,
    },
    /// Settings that cannot be followed.
    #[error("{0}")]
    Settings(String),
    /// The server started anew in the middle of a phase.
    #[error(
        "the server started anew in the middle of the phase: its write verifier changed, and what it had not committed \
         may be gone\nread the log of the server"
    )]
    Restarted,
    /// The tree has no file left that the work could take.
    #[error("{0}")]
    Tree(String),
    /// A write that does not go on.
    #[error("{what}: the server took {count} bytes of a write of {asked}\nread the log of the server")]
    Taken {
        /// Where.
        what: String,
        /// Bytes that it says it took.
        count: u32,
        /// Bytes that it was given.
        asked: u32,
    },
    /// Somebody asked for the end.
    #[error("interrupted")]
    Cancelled,
    /// An answer of the wrong kind.
    #[error("a {what} was answered by results of another kind\nthis is an error of Assay: report it")]
    Mixed {
        /// The class of the call.
        what: &'static str,
    },
}

/// What to do about a status of MOUNT (RFC 1813, 5.1.5).
fn cure_of_mount(status: u32) -> &'static str {
    match status {
        // MNT3ERR_ACCES.
        13 => {
            "export it to this host with `no_root_squash`; a user who is not root also needs `insecure`, for the \
             connection comes from a port above 1023"
        }
        _ => "check the name of the export and who may use it",
    }
}

impl FilesError {
    /// What a server says that has been started a moment ago: it listens before its export is there, and before the
    /// port mapper knows it.
    pub fn is_not_up_yet(&self) -> bool {
        matches!(
            self,
            FilesError::Export { .. }
                | FilesError::Connect { .. }
                | FilesError::Gone { .. }
                | FilesError::NoPort { .. }
        )
    }

    /// The connection to the server ended, or nothing is heard of it.
    pub fn is_of_a_server_that_is_gone(&self) -> bool {
        matches!(
            self,
            FilesError::Connect { .. } | FilesError::Gone { .. } | FilesError::Silent { .. } | FilesError::Restarted
        )
    }

    /// What was stored refuses to be read: the file system's word, not the network's.
    pub fn is_of_storage(&self) -> bool {
        matches!(self, FilesError::Refused { status: Status::IO, .. })
    }

    /// The stack ran out of space: the study's data are too large for it.
    pub fn is_out_of_space(&self) -> bool {
        matches!(
            self,
            FilesError::Refused {
                status: Status::NO_SPACE | Status::QUOTA,
                ..
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_is_forbidden_names_the_options_of_the_export() {
        let said = |status| {
            let refused = FilesError::Export {
                address: "filer:2049".into(),
                export: "/a".into(),
                status,
            };
            refused.to_string()
        };
        for option in ["`no_root_squash`", "`insecure`"] {
            assert!(said(13).contains(option), "{}", said(13));
            assert!(!said(2).contains(option), "{}", said(2));
        }
    }
}
