//! What can go wrong below the contract: faults of single I/Os, and errors of files and ports.

use std::path::PathBuf;

/// Why one I/O was not done. Small and `Copy`: it travels in every completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IoFault {
    /// The kernel (or the model) refused with this errno.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Errno(i32),
    /// The file ended before the request did.
    #[error("only {got} of {wanted} bytes were moved: the file or device ends there")]
    Short {
        /// Bytes moved.
        got: u32,
        /// Bytes asked.
        wanted: u32,
    },
}

/// What a call that failed with one of these says of the host's limits, of a lack of space or of its caller, not of
/// what is stored.
const OF_THE_HOST: &[i32] = &[
    libc::ENOMEM,
    libc::EAGAIN,
    libc::EINTR,
    libc::EINVAL,
    libc::EPERM,
    libc::EACCES,
    libc::EBUSY,
    libc::EMFILE,
    libc::ENFILE,
    libc::EBADF,
    libc::ENOSYS,
    libc::EOPNOTSUPP,
    libc::ENOSPC,
    libc::EDQUOT,
];

impl IoFault {
    /// Whether storage could not give what was asked, rather than the host.
    pub fn is_of_storage(self) -> bool {
        match self {
            IoFault::Errno(errno) => !OF_THE_HOST.contains(&errno),
            IoFault::Short { .. } => true,
        }
    }
}

/// An error of a file or of a port as a whole.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A call on a path failed.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Path {
        /// The act: "open", "grow" ...
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
        /// What to do about it.
        cure: &'static str,
    },
    /// The ring could not be made or driven.
    #[error(
        "io_uring: {what}: {source}\n  use `io = \"pread\"` in the study, or allow io_uring (sysctl \
         kernel.io_uring_disabled)"
    )]
    Ring {
        /// The act.
        what: &'static str,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// Memory for buffers could not be had.
    #[error("{bytes} bytes of buffer memory: {source}\n  lower `database.cache` or the memory budget")]
    Memory {
        /// Bytes asked.
        bytes: u64,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// The simulated machine lost its power: nothing more will complete.
    #[error("the modelled device lost its power")]
    PowerCut,
    /// A layer that is itself a port, above one of this room's, failed.
    #[error("{0}")]
    Layer(Box<dyn std::error::Error + Send + Sync>),
    /// A device gives no results any more.
    #[error(
        "{requests} requests have had no answer for {seconds} s\n  look for the device under these files in the kernel \
         log; `assay clean` removes what the run leaves"
    )]
    Silent {
        /// Requests without an answer.
        requests: usize,
        /// How long it was waited for, seconds.
        seconds: u64,
    },
    /// More requests than the port's depth.
    #[error("more than {depth} requests in flight")]
    TooDeep {
        /// The port's depth.
        depth: usize,
    },
}

impl TargetError {
    /// Whether storage could not give what was asked, as a file that is not there any more, rather than the host.
    /// `None`: a layer above this room's, which knows it itself.
    pub fn is_of_storage(&self) -> Option<bool> {
        match self {
            TargetError::Path { source, .. } => {
                let errno = source.raw_os_error();
                Some(errno.is_some_and(|errno| IoFault::Errno(errno).is_of_storage()))
            }
            TargetError::Silent { .. } => Some(true),
            TargetError::Layer(_) => None,
            TargetError::Ring { .. }
            | TargetError::Memory { .. }
            | TargetError::PowerCut
            | TargetError::TooDeep { .. } => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_storage_could_not_give_is_told_from_what_the_host_could_not() {
        assert!(IoFault::Errno(libc::EIO).is_of_storage());
        assert!(IoFault::Short { got: 0, wanted: 8192 }.is_of_storage());
        let of_the_host = [libc::ENOMEM, libc::ENOSPC, libc::EDQUOT];
        assert!(of_the_host.iter().all(|errno| !IoFault::Errno(*errno).is_of_storage()));
        let path = |errno| {
            let source = std::io::Error::from_raw_os_error(errno);
            let (what, path, cure) = ("open", PathBuf::new(), "");
            let error = TargetError::Path {
                what,
                path,
                source,
                cure,
            };
            error.is_of_storage()
        };
        assert_eq!([libc::ENOENT, libc::EMFILE].map(path), [Some(true), Some(false)]);
        let source = std::io::Error::from_raw_os_error(libc::ENOMEM);
        assert_eq!(TargetError::Memory { bytes: 1, source }.is_of_storage(), Some(false));
    }
}
