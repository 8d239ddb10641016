//! What can go wrong while a stack is built; each error names the path, device or command, and its last line is the
//! cure.

use std::path::{Path, PathBuf};

/// An error of building, journalling or limiting.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// A call on a path failed.
    #[error("{what} {}: {source}\n  {cure}", path.display())]
    Path {
        /// The act: "mount", "make" ...
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's word.
        source: std::io::Error,
        /// What to do about it.
        cure: String,
    },
    /// A program that is not installed.
    #[error("{tool} not found\n  install {package}")]
    MissingTool {
        /// The program.
        tool: String,
        /// The Debian package that has it; other distributions name it alike.
        package: String,
    },
    /// A program that failed.
    #[error("{command}\n  failed ({status}): {said}\n  {cure}")]
    Tool {
        /// Its command line.
        command: String,
        /// Exit status, signal, or "timed out".
        status: String,
        /// It ended by itself. One that was killed, for it took too long or for memory, says nothing of the storage.
        exited: bool,
        /// The last lines it wrote.
        said: String,
        /// What to do about it.
        cure: String,
    },
    /// A tool that looked for what was stored, on LUNs that nobody else had, and could not bring it up.
    #[error(transparent)]
    NotBroughtUp(Box<StackError>),
    /// The run is to end.
    #[error("ended while a volume made its copies")]
    Ended,
    /// What the study asks can't be built.
    #[error("stack {stack}: {why}\n  {cure}")]
    Unbuildable {
        /// The stack.
        stack: String,
        /// The reason.
        why: String,
        /// What to do about it.
        cure: String,
    },
    /// A step would make something that exists: its undo would remove what is not ours.
    #[error("{} is already there, and Assay did not make it\n  remove it, or name another directory", path.display())]
    AlreadyThere {
        /// The path.
        path: PathBuf,
    },
    /// A path that root is not led by, a file that was replaced, a device that is not on the list.
    #[error(transparent)]
    Sandbox(#[from] sandbox::SandboxError),
    /// A state directory that others can write to: what lies in it may be anybody's word.
    #[error(
        "{} is not used as the state directory: {why}\n  set ASSAY_STATE_DIR to a directory that this user owns and \
         nobody else can write to",
        path.display()
    )]
    StateDirectory {
        /// The directory, or a journal in it.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A device whose file system misses a part of itself.
    #[error(
        "mount {}: {source}, though device and mount point are there\n  the file system has lost something: see the \
         kernel log (dmesg)",
        path.display()
    )]
    Incomplete {
        /// The file system, its device and where it was to be mounted.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Nothing says where the state directory is.
    #[error(
        "no state directory: HOME and XDG_STATE_HOME are not set\n  set ASSAY_STATE_DIR to a directory of your own"
    )]
    NoStateDirectory,
    /// A journal that can't be understood.
    #[error("journal {}: {why}\n  look into it, undo by hand what it lists, then remove it", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Errors of a mount that say something of the host, not of what is on the device.
const OF_THE_HOST: &[rustix::io::Errno] = {
    use rustix::io::Errno;
    &[
        Errno::NODEV,
        Errno::BUSY,
        Errno::NOMEM,
        Errno::PERM,
        Errno::ACCESS,
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::NOTBLK,
        Errno::NXIO,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOSYS,
        Errno::INTR,
        Errno::AGAIN,
    ]
};

impl StackError {
    /// Whether it is what lies on the devices that refused: a file system that cannot be mounted, a pool that cannot be
    /// imported. Otherwise the host, its tools or its limits failed, and nothing is known of what was stored.
    pub fn is_of_storage(&self) -> bool {
        match self {
            StackError::Path {
                what: "mount", source, ..
            } => rustix::io::Errno::from_io_error(source).is_some_and(|errno| !OF_THE_HOST.contains(&errno)),
            StackError::NotBroughtUp(_) | StackError::Incomplete { .. } => true,
            _ => false,
        }
    }

    /// An error of a mount, with what the host's side of it looks like now. btrfs says `ENOENT` where one of its trees
    /// has no root, as the host does where a path is gone.
    pub(crate) fn of_mount(self, device: &Path, place: &Path) -> StackError {
        match self {
            StackError::Path {
                what: "mount",
                path,
                source,
                ..
            } if source.kind() == std::io::ErrorKind::NotFound && device.exists() && place.exists() => {
                StackError::Incomplete { path, source }
            }
            other => other,
        }
    }

    /// The error of a tool that brings up what was stored. Only where it ended by itself storage may be why.
    pub(crate) fn not_brought_up(self) -> StackError {
        match self {
            StackError::Tool { exited: true, .. } => StackError::NotBroughtUp(Box::new(self)),
            other => other,
        }
    }

    /// A failed call with the cure that fits the errno, or `cure`.
    pub(crate) fn path(what: &'static str, path: &Path, source: impl Into<std::io::Error>, cure: &str) -> StackError {
        use rustix::io::Errno;
        let source = source.into();
        let cure = match Errno::from_io_error(&source) {
            Some(Errno::ACCESS | Errno::PERM) => "run as a user who may: building stacks needs root",
            Some(Errno::ROFS) => "its file system is mounted read-only: name another directory",
            Some(Errno::NOSPC | Errno::DQUOT) => "free space there, or name another directory",
            Some(Errno::IO) => "the disk below failed, or a LUN file was cut under it: see the kernel log (dmesg)",
            _ => cure,
        };
        StackError::path_cured(what, path, source, cure)
    }

    /// A state directory that could not be made. Where the user may not, another directory helps.
    pub(crate) fn of_state(path: &Path, source: std::io::Error, cure: &str) -> StackError {
        match source.kind() {
            std::io::ErrorKind::PermissionDenied => StackError::path_cured("make", path, source, cure),
            _ => StackError::path("make", path, source, cure),
        }
    }

    /// A failed call with this cure, whatever the errno.
    fn path_cured(what: &'static str, path: &Path, source: impl Into<std::io::Error>, cure: &str) -> StackError {
        StackError::Path {
            what,
            path: path.to_owned(),
            source: source.into(),
            cure: cure.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn what_storage_refused_is_told_from_what_the_host_could_not() {
        let mount = |errno| StackError::path("mount", Path::new("ext4 on /dev/x at /y"), errno, "").is_of_storage();
        for errno in [Errno::UCLEAN, Errno::INVAL, Errno::IO, Errno::BADMSG] {
            assert!(mount(errno), "{errno}");
        }
        for errno in [Errno::NOMEM, Errno::MFILE, Errno::BUSY, Errno::NODEV, Errno::PERM] {
            assert!(!mount(errno), "{errno}");
        }
        assert!(!StackError::path("make links in", Path::new("/x"), Errno::IO, "").is_of_storage());
        // A path that is gone is the host's; a root that is gone is the file system's.
        let gone = |device: &str| {
            let error = StackError::path("mount", Path::new("btrfs on /dev/x at /y"), Errno::NOENT, "");
            error.of_mount(Path::new(device), Path::new("/")).is_of_storage()
        };
        assert!(gone("/dev/null") && !gone("/dev/no-such-device"));
        // Another mount namespace holds what was unmounted here.
        assert!(!StackError::path("wait until nobody has", Path::new("/dev/x"), Errno::BUSY, "").is_of_storage());
        let tool = |exited| StackError::Tool {
            command: "zpool import -f pool".to_owned(),
            status: String::new(),
            exited,
            said: String::new(),
            cure: String::new(),
        };
        assert!(tool(true).not_brought_up().is_of_storage());
        assert!(!tool(false).not_brought_up().is_of_storage());
        assert!(!tool(true).is_of_storage(), "it was not to bring anything up");
    }
}
