//! A directory held by descriptor: what is made in it is made through the descriptor, whatever its path leads to by
//! then.
//!
//! Takes a path once. Prevents: a file made, handed over or removed in a directory that was put in the place of the
//! run's.

use crate::error::SandboxError;
use crate::identity::Identity;
use crate::trust;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chownat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open directory. A copy is the same directory.
#[derive(Clone, Debug)]
pub struct Directory {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    identity: Identity,
}

impl Directory {
    /// Opens a directory to work in. Root gets only one that no other user can change or replace.
    ///
    /// # Errors
    /// [`SandboxError::Untrusted`]; a path that is no directory.
    pub fn open(path: &Path) -> Result<Directory, SandboxError> {
        let walked = trust::walk(path)?;
        Directory::held(walked.fd, walked.path)
    }

    /// The same, in which no other user can make a file either, where root asks: a file that is believed by what lies
    /// beside it.
    ///
    /// # Errors
    /// As [`Directory::open`].
    pub fn open_closed(path: &Path) -> Result<Directory, SandboxError> {
        let opened = Directory::open(path)?;
        if rustix::process::geteuid().is_root() && !trust::is_closed(&opened.fd) {
            return Err(SandboxError::Shared { dir: path.to_owned() });
        }
        Ok(opened)
    }

    fn held(fd: OwnedFd, path: PathBuf) -> Result<Directory, SandboxError> {
        let identity = Identity::of(&fd).map_err(|e| SandboxError::path("look at", &path, e))?;
        Ok(Directory {
            fd: Arc::new(fd),
            path,
            identity,
        })
    }

    /// Its path without links, as it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which directory it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// A path that leads to this directory by its descriptor, for calls of this process that take only a path.
    pub fn by_descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// The same for processes that this one has started, while it holds the directory open.
    pub fn for_our_children(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()))
    }

    /// Makes a directory in it, of these permissions whatever the mask, and opens it.
    ///
    /// # Errors
    /// A name that is there already, whatever it is; what the file system refuses.
    pub fn make(&self, name: &str, mode: u32) -> Result<Directory, SandboxError> {
        let path = self.child(name);
        let failed = |e: Errno| SandboxError::path("make the directory", &path, e);
        mkdirat(&self.fd, name, Mode::RWXU).map_err(failed)?;
        let made = self.enter(name)?;
        // Between the two calls only who can write here could have put another one in its place.
        let owner = rustix::fs::fstat(&made.fd).map_err(failed)?.st_uid;
        if owner != rustix::process::geteuid().as_raw() {
            return Err(SandboxError::Replaced { path });
        }
        made.protect(mode)?;
        Ok(made)
    }

    /// Opens a directory in it; a link is none.
    ///
    /// # Errors
    /// No such directory.
    pub fn enter(&self, name: &str) -> Result<Directory, SandboxError> {
        let path = self.child(name);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty());
        let fd = fd.map_err(|e| SandboxError::path("open the directory", &path, e))?;
        Directory::held(fd, path)
    }

    /// Makes a file in it that nobody else can read, and opens it with these flags too.
    ///
    /// # Errors
    /// A name that is there already, whatever it is; what the file system refuses.
    pub fn create(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// Opens a file in it; a link is none, and a pipe does not block.
    ///
    /// # Errors
    /// No such file.
    pub fn open_file(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(&self.fd, name, flags, Mode::empty())
    }

    /// What has this name, a link itself included; `None`: nothing.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn look(&self, name: &str) -> Result<Option<Identity>, SandboxError> {
        let failed = |e: io::Error| SandboxError::path("look at", &self.child(name), e);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(found) => Identity::of(found).map(Some).map_err(failed),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(failed(e.into())),
        }
    }

    /// An error unless its path still leads to it. For root the way is checked again.
    ///
    /// # Errors
    /// [`SandboxError::Replaced`], [`SandboxError::Untrusted`].
    pub fn check(&self) -> Result<(), SandboxError> {
        let now = Directory::open(&self.path)?;
        match now.identity.is(&self.identity) {
            true => Ok(()),
            false => Err(SandboxError::Replaced {
                path: self.path.clone(),
            }),
        }
    }

    /// Sets its permissions.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn protect(&self, mode: u32) -> Result<(), SandboxError> {
        // A descriptor that was opened for its place alone takes no new mode; the link to it in /proc does.
        rustix::fs::chmod(self.by_descriptor(), Mode::from_raw_mode(mode))
            .map_err(|e| SandboxError::path("set the permissions of", &self.path, e))
    }

    /// Hands it to another user. From then on what lies in it is that user's word.
    ///
    /// # Errors
    /// Only root can.
    pub fn give_to(&self, user: u32, group: u32) -> Result<(), SandboxError> {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        chownat(&self.fd, c"", Some(user), Some(group), AtFlags::EMPTY_PATH)
            .map_err(|e| SandboxError::path("hand over", &self.path, e))
    }

    /// The names in it, in no order.
    ///
    /// # Errors
    /// It can't be listed.
    pub fn names(&self) -> Result<Vec<std::ffi::OsString>, SandboxError> {
        use std::os::unix::ffi::OsStringExt;
        let failed = |e: Errno| SandboxError::path("list", &self.path, e);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(&self.fd, c".", flags, Mode::empty()).map_err(failed)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(opened).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(std::ffi::OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    fn child(&self, name: &str) -> PathBuf {
        assert!(
            !name.is_empty() && name != "." && name != ".." && !name.contains('/'),
            "{name:?} is no name in a directory"
        );
        self.path.join(name)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Writes a file as a whole: beside its place under a name of its own, then renamed over what was there, a link
/// included.
///
/// # Errors
/// As [`Directory::open`] of its directory; what the file system refuses.
pub fn write_beside(path: &Path, content: &[u8]) -> Result<(), SandboxError> {
    let failed = |e: io::Error| SandboxError::path("write", path, e);
    let name = path.file_name().ok_or_else(|| failed(Errno::ISDIR.into()))?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let dir = Directory::open(above.unwrap_or(Path::new(".")))?;
    let passing = unique_name(".assay-").map_err(failed)?;
    let file = dir.create(&passing, OFlags::WRONLY).map_err(|e| failed(e.into()))?;
    let mut file = File::from(file);
    let written = file
        .write_all(content)
        .and_then(|()| mask_file(&file))
        // Or a power cut could leave the name with nothing behind it.
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat(&dir, passing.as_str(), &dir, name)?));
    if written.is_err() {
        // What could not be written whole is not left in part.
        let _ = unlinkat(&dir, passing.as_str(), AtFlags::empty());
    }
    written.map_err(failed)
}

/// Gives a file that was made for one user the permissions that a new file of this process has.
///
/// # Errors
/// What the file system refuses.
pub fn mask_file(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(0o666 & !mask()))?)
}

/// A name that nobody can guess, so that nobody can be there first: `prefix` and sixteen hexadecimal digits.
///
/// # Errors
/// The kernel has no random numbers.
pub fn unique_name(prefix: &str) -> io::Result<String> {
    Ok(format!("{prefix}{:016x}", random_number()?))
}

/// A number that the kernel draws.
///
/// # Errors
/// The kernel has no random numbers.
pub fn random_number() -> io::Result<u64> {
    let mut random = [0u8; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(random))
}

/// The process's mask for new files, as `/proc` says it: asking the kernel by `umask` would change it for a moment.
fn mask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let told = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    told.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
        .unwrap_or(0o077)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_is_made_is_made_in_the_directory_that_was_opened() {
        let top = tempfile::tempdir().expect("a directory");
        let path = top.path().canonicalize().expect("its path").join("run");
        std::fs::create_dir(&path).expect("made");
        let dir = Directory::open(&path).expect("opened");
        dir.check().expect("it is there");
        let away = top.path().join("away");
        std::fs::rename(&path, &away).expect("renamed");
        std::fs::create_dir(&path).expect("another one");
        assert!(matches!(dir.check(), Err(SandboxError::Replaced { .. })));
        let made = dir.make("inner", 0o711).expect("made");
        assert!(away.join("inner").is_dir() && !path.join("inner").exists());
        let mode = std::fs::metadata(away.join("inner"))
            .expect("its mode")
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o711);
        assert!(made.look("none").expect("a look").is_none());
        drop(dir.create("file", OFlags::WRONLY).expect("made"));
        assert!(away.join("file").is_file());
        assert_eq!(dir.names().expect("listed").len(), 2);
    }

    #[test]
    fn a_directory_where_everybody_makes_files_is_not_closed() {
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "this test needs root");
            return;
        }
        let top = tempfile::tempdir().expect("a directory");
        Directory::open_closed(top.path()).expect("root's own");
        std::fs::set_permissions(top.path(), PermissionsExt::from_mode(0o1777)).expect("its mode");
        Directory::open(top.path()).expect("names made there are safe");
        let refused = Directory::open_closed(top.path());
        assert!(matches!(refused, Err(SandboxError::Shared { .. })), "{refused:?}");
    }

    #[test]
    fn links_and_names_that_are_there_are_refused() {
        let top = tempfile::tempdir().expect("a directory");
        let dir = Directory::open(top.path()).expect("opened");
        let canary = top.path().join("canary");
        std::fs::write(&canary, "alive").expect("written");
        symlink(&canary, top.path().join("link")).expect("a link");
        symlink(top.path(), top.path().join("dirlink")).expect("a link");
        assert_eq!(dir.create("link", OFlags::WRONLY).unwrap_err(), Errno::EXIST);
        assert_eq!(dir.open_file("link", OFlags::RDONLY).unwrap_err(), Errno::LOOP);
        assert!(dir.enter("dirlink").is_err() && dir.make("link", 0o700).is_err());
        write_beside(&top.path().join("link"), b"new").expect("written");
        assert_eq!(std::fs::read_to_string(&canary).expect("read"), "alive");
        assert_eq!(std::fs::read_to_string(top.path().join("link")).expect("read"), "new");
        assert!(write_beside(&top.path().join("none/file"), b"x").is_err());
    }
}
