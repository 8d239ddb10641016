//! The walk to a directory: every step is looked at, for root no step may be changeable by another user.
//!
//! Takes a path, gives the directory open and its path without links. Prevents: root that works below a directory whose
//! owner renames it, or puts a link in its place, while root works.

use crate::error::SandboxError;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows on one way.
const LINKS_MAX: usize = 40;
const STICKY: u32 = 0o1000;
const FUSE_MAGIC: i128 = 0x6573_5546;
/// In the place of a user who is not known.
const NOBODY: u32 = u32::MAX;

/// A directory at the end of a walk.
#[derive(Debug)]
pub(crate) struct Walked {
    pub(crate) fd: OwnedFd,
    pub(crate) path: PathBuf,
}

/// Walks to the directory `path`. For root every step is checked.
pub(crate) fn walk(path: &Path) -> Result<Walked, SandboxError> {
    walk_as(path, rustix::process::geteuid().is_root())
}

/// A file that root may run or load: nobody else can put another one in its place or change it. Not one in a directory
/// where everybody may make files: its name there was free before.
pub(crate) fn is_code(path: &Path) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return false;
    };
    let Ok(dir) = walk(dir) else { return false };
    let found = rustix::fs::statat(&dir.fd, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    is_closed(&dir.fd)
        && found.is_ok_and(|file| {
            let is_link = FileType::from_raw_mode(file.st_mode) == FileType::Symlink;
            let others = match file.st_gid {
                0 => 0o002,
                _ => 0o022,
            };
            file.st_uid == 0 && (is_link || file.st_mode & others == 0)
        })
}

/// A directory in which root may look for programs by their names.
pub(crate) fn is_for_code(dir: &Path) -> bool {
    !rustix::process::geteuid().is_root() || dir.is_absolute() && walk(dir).is_ok_and(|dir| is_closed(&dir.fd))
}

/// Not one where every user may make files.
pub(crate) fn is_closed(dir: impl AsFd) -> bool {
    fstat(dir).is_ok_and(|found| found.st_mode & 0o002 == 0)
}

fn walk_as(asked: &Path, check: bool) -> Result<Walked, SandboxError> {
    let absolute = std::path::absolute(asked).map_err(|e| SandboxError::path("find", asked, e))?;
    let asked = absolute.as_path();
    let mut left: Vec<OsString> = steps(asked);
    let failed = |e: Errno| SandboxError::path("open the directory", asked, e);
    let mut here = root().map_err(failed)?;
    let mut links = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            let up = here.path.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
            // The way down to it was checked; it is walked again from the root, so that no step is taken unseen.
            left.extend(steps(&up));
            here = root().map_err(failed)?;
            continue;
        }
        let entry = openat(
            &here.fd,
            &name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(failed)?;
        let found = fstat(&entry).map_err(failed)?;
        if check {
            guard(asked, &here, Some((&name, &found)))?;
        }
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                here.path.push(&name);
                here.fd = entry;
            }
            FileType::Symlink => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(failed(Errno::LOOP));
                }
                let target = readlinkat(&entry, c"", Vec::new()).map_err(failed)?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    here = root().map_err(failed)?;
                }
                left.extend(steps(&target));
            }
            _ => return Err(failed(Errno::NOTDIR)),
        }
    }
    if check {
        guard(asked, &here, None)?;
    }
    Ok(Walked {
        fd: here.fd,
        path: here.path,
    })
}

fn root() -> Result<Walked, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, c"/", flags, Mode::empty())?;
    Ok(Walked {
        fd,
        path: PathBuf::from("/"),
    })
}

/// The names of a path, the last first; `..` stays.
fn steps(path: &Path) -> Vec<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    let mut steps: Vec<OsString> = path.components().filter_map(named).collect();
    steps.reverse();
    steps
}

/// Refuses a directory in which another user can replace `entry`, or, with none, what root is about to make there.
fn guard(asked: &Path, dir: &Walked, entry: Option<(&OsStr, &Stat)>) -> Result<(), SandboxError> {
    let failed = |e: Errno| SandboxError::path("look at", &dir.path, e);
    let found = fstat(&dir.fd).map_err(failed)?;
    let refuse_at = |ancestor: PathBuf, who: String| {
        let dir = asked.to_owned();
        Err(SandboxError::Untrusted { dir, ancestor, who })
    };
    let refuse = |who: String| refuse_at(dir.path.clone(), who);
    if found.st_uid != 0 {
        return refuse(user(found.st_uid));
    }
    if let Some(uid) = served_by(&dir.fd, found.st_dev).filter(|uid| *uid != 0) {
        return refuse(format!("{} serves the file system and", user(uid)));
    }
    // Where the sticky bit is set, an entry is renamed and removed by its owner alone: root's are safe.
    if found.st_mode & STICKY != 0 {
        return match entry.filter(|(_, entry)| entry.st_uid != 0) {
            Some((name, entry)) => refuse_at(dir.path.join(name), user(entry.st_uid)),
            None => Ok(()),
        };
    }
    match found.st_mode & 0o022 {
        0 => Ok(()),
        // The bits of the group are also the upper bound of an access control list.
        0o020 if found.st_gid == 0 && !has_access_list(&dir.fd) => Ok(()),
        0o020 => refuse(format!("group {}", found.st_gid)),
        _ => refuse("every user".to_owned()),
    }
}

fn has_access_list(dir: impl AsFd) -> bool {
    let path = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
    let mut none: [u8; 0] = [];
    !matches!(
        rustix::fs::getxattr(path, c"system.posix_acl_access", &mut none),
        Err(Errno::NODATA | Errno::OPNOTSUPP)
    )
}

/// The user whose process serves the file system, where it is one that a process serves: its owners and modes are that
/// user's word.
fn served_by(dir: impl AsFd, device: u64) -> Option<u32> {
    let Ok(kind) = rustix::fs::fstatfs(dir) else {
        // A process that serves the file system may refuse to say what it is.
        return Some(NOBODY);
    };
    // The width of the field differs between machines.
    if i128::from(kind.f_type) != FUSE_MAGIC {
        return None;
    }
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let table = crate::kernel_text("/proc/self/mountinfo").unwrap_or_default();
    let line = table
        .lines()
        .rev()
        .find(|line| line.split(' ').nth(2) == Some(number.as_str()));
    Some(line.and_then(server_of).unwrap_or(NOBODY))
}

/// The user in a line of mountinfo. The options of the file system are the last field; the kernel writes `user_id=`
/// into them, and whoever mounts chooses the fields before.
fn server_of(line: &str) -> Option<u32> {
    let (_, of_file_system) = line.rsplit_once(" - ")?;
    let options = of_file_system.rsplit(' ').next()?;
    let mut users = options.split(',').filter_map(|option| option.strip_prefix("user_id="));
    // Said twice, it is not said.
    users.next().filter(|_| users.next().is_none())?.parse().ok()
}

/// The name of a user in `/etc/passwd`, else the number.
fn user(uid: u32) -> String {
    let table = std::fs::read("/etc/passwd").unwrap_or_default();
    let wanted = uid.to_string();
    let name = table.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next()?;
        (fields.nth(1)? == wanted.as_bytes()).then(|| OsStr::from_bytes(name).to_string_lossy().into_owned())
    });
    name.unwrap_or_else(|| format!("user {uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn made(parent: &Path, name: &str, mode: u32, uid: u32) -> PathBuf {
        let path = parent.join(name);
        std::fs::create_dir(&path).expect("made");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its mode");
        chown(&path, Some(uid), Some(uid)).expect("its owner");
        path
    }

    fn refused(path: &Path) -> PathBuf {
        match walk_as(path, true).map(|walked| walked.path) {
            Err(SandboxError::Untrusted { ancestor, .. }) => ancestor,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_another_user_can_change_on_the_way_is_refused_and_named() {
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "this test needs root");
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("its path");
        std::fs::set_permissions(&top, PermissionsExt::from_mode(0o755)).expect("its mode");
        let good = made(&top, "good", 0o755, 0);
        assert_eq!(walk_as(&good, true).expect("trusted").path, good);
        let theirs = made(&top, "theirs", 0o755, 12345);
        assert_eq!(refused(&theirs), theirs);
        let below = made(&theirs, "below", 0o700, 0);
        assert_eq!(refused(&below), theirs);
        let open = made(&top, "open", 0o777, 0);
        assert_eq!(refused(&made(&open, "below", 0o700, 0)), open);
        // What the sticky bit protects is root's own; what is another user's there is not protected from him.
        let sticky = made(&top, "sticky", 0o1777, 0);
        walk_as(&sticky, true).expect("names made there are safe");
        walk_as(&made(&sticky, "below", 0o700, 0), true).expect("root's own is safe");
        let other = made(&sticky, "other", 0o755, 12345);
        assert_eq!(refused(&made(&other, "below", 0o755, 0)), other);
        symlink(&good, theirs.join("link")).expect("a link");
        assert_eq!(refused(&theirs.join("link")), theirs);
        symlink("good/../theirs/below", top.join("link")).expect("a link");
        assert_eq!(refused(&top.join("link")), theirs);
        symlink("../good", sticky.join("away")).expect("a link");
        assert_eq!(walk_as(&sticky.join("away"), true).expect("root's own link").path, good);
        let group = made(&top, "group", 0o775, 0);
        walk_as(&group, true).expect("root's own group");
        chown(&group, Some(0), Some(12345)).expect("its group");
        assert_eq!(refused(&group), group);
    }

    #[test]
    fn whoever_mounts_a_file_system_does_not_say_who_serves_it() {
        let of = |source: &str, options: &str| {
            let line = format!("36 25 0:31 / /m rw,nosuid,nodev,relatime shared:1 - fuse.sshfs {source} {options}");
            server_of(&line)
        };
        assert_eq!(of("sshfs", "rw,user_id=1000,group_id=1000,allow_other"), Some(1000));
        assert_eq!(of("x,user_id=0", "rw,user_id=1000,group_id=1000"), Some(1000));
        assert_eq!(of("x", "rw,group_id=1000"), None);
        assert_eq!(of("x", "rw,user_id=0,user_id=1000"), None);
        assert_eq!(server_of("36 25 0:31 / /m,user_id=0 rw"), None);
    }

    #[test]
    fn a_circle_of_links_and_a_file_are_no_directories() {
        let dir = tempfile::tempdir().expect("a directory");
        symlink("b", dir.path().join("a")).expect("a link");
        symlink("a", dir.path().join("b")).expect("a link");
        std::fs::write(dir.path().join("file"), "").expect("a file");
        for name in ["a", "file", "none"] {
            assert!(walk(&dir.path().join(name)).is_err(), "{name}");
        }
    }
}
