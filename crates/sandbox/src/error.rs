//! What can go wrong in this room: what failed, on which path, and what to do.

use std::path::{Path, PathBuf};

/// An error of this room. Its last line is the cure.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Another user can change what lies on the way to a directory.
    #[error(
        "root does not work in {}: {who} can change {}\n  name a directory that only root can change (below /var/tmp, \
         /srv or /root), or run without root",
        dir.display(), ancestor.display()
    )]
    Untrusted {
        /// The directory asked for.
        dir: PathBuf,
        /// The directory on the way to it that can be changed.
        ancestor: PathBuf,
        /// By whom.
        who: String,
    },
    /// Every user can make files in a directory.
    #[error(
        "root keeps no such file in {}: every user can make files beside it, and change it by them\n  name a \
         directory in which only root can make files (below /srv or /root, or a new one), or run without root",
        dir.display()
    )]
    Shared {
        /// The directory.
        dir: PathBuf,
    },
    /// What stands at a path is not what the run made.
    #[error("{} is not what this run made: something replaced it\n  look at it, and remove it by hand", path.display())]
    Replaced {
        /// The path.
        path: PathBuf,
    },
    /// A child would write to what the run does not name.
    #[error("{} is not on the list of what this run may write to\n  name it in the study", path.display())]
    OutOfReach {
        /// The path.
        path: PathBuf,
    },
    /// A call on a path failed.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Path {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
        /// What to do.
        cure: &'static str,
    },
}

impl SandboxError {
    pub(crate) fn path(what: &'static str, path: &Path, source: impl Into<std::io::Error>) -> SandboxError {
        let source = source.into();
        let cure = match source.kind() {
            std::io::ErrorKind::NotFound => "make the directory, or name another one",
            std::io::ErrorKind::PermissionDenied => "name a directory that this user can write to",
            std::io::ErrorKind::AlreadyExists => "remove it, or name another directory",
            std::io::ErrorKind::ReadOnlyFilesystem => "its file system is mounted read-only: name another directory",
            std::io::ErrorKind::StorageFull => "make room there, or name another directory",
            _ => "name another directory",
        };
        SandboxError::Path {
            what,
            path: path.to_owned(),
            source,
            cure,
        }
    }

    /// What the system said, where it said something.
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        match self {
            SandboxError::Path { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

impl From<SandboxError> for std::io::Error {
    fn from(error: SandboxError) -> std::io::Error {
        let kind = error.io_kind().unwrap_or(std::io::ErrorKind::PermissionDenied);
        std::io::Error::new(kind, error.to_string())
    }
}
