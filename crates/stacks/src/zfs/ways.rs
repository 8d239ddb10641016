//! Which ways to ZFS by commands this machine offers: the kernel's module, and zfs-fuse; where their tools are.
//!
//! Takes nothing and changes nothing: it looks for files and asks the daemon for its usage. Prevents: the tools of one
//! ZFS speaking to the other, for both are called `zpool` and `zfs`, and one of the two is unpacked beside the system
//! wherever the other is installed.

use crate::probe;
use crate::tool::{Tool, argument};
use plan::ZfsWay;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where zfs-fuse was unpacked, if it is not installed.
pub(crate) const UNPACKED: &str = "ASSAY_ZFS_FUSE";
/// What a `zpool` of zfs-fuse says when no daemon answers; another has no such words.
const OF_FUSE: &[u8] = b"zfs-fuse daemon";
const DAEMON: &str = "zfs-fuse";
/// What the private namespace of a daemon is made and entered with.
const NAMESPACE_TOOLS: [&str; 5] = ["unshare", "nsenter", "mount", "umount", "chroot"];

/// One way, and whether it can be gone here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayHere {
    /// Which.
    pub way: ZfsWay,
    /// Whether it can be gone.
    pub able: bool,
    /// Why not, or what it is.
    pub reason: String,
    /// What to do about it; empty when able.
    pub cure: String,
    /// Version of what there is; empty when not able.
    pub version: String,
}

/// Programs of one ZFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Programs {
    pub(crate) zpool: PathBuf,
    pub(crate) zfs: PathBuf,
    /// The daemon, of zfs-fuse.
    pub(crate) daemon: Option<PathBuf>,
    /// Directories of libraries that lie beside the system, joined by colons.
    pub(crate) libraries: String,
    /// The directory below which all of it lies.
    pub(crate) root: PathBuf,
}

/// Why a way can't be gone: reason and cure.
pub(crate) type Obstacle = (String, String);

/// The ways by commands: the module, then zfs-fuse. The third one, OpenZFS in user space, is no business of this room.
pub fn zfs_ways() -> [WayHere; 2] {
    [kernel(), fuse()]
}

fn here(way: ZfsWay, what: &str, found: Result<String, Obstacle>) -> WayHere {
    match found {
        Ok(version) => WayHere {
            way,
            able: true,
            reason: what.to_owned(),
            cure: String::new(),
            version,
        },
        Err((reason, cure)) => WayHere {
            way,
            able: false,
            reason,
            cure,
            version: String::new(),
        },
    }
}

fn kernel() -> WayHere {
    let found = kernel_programs().map(|_| crate::zfs::module::version());
    here(ZfsWay::Kernel, "the kernel's module", found)
}

fn fuse() -> WayHere {
    let found = fuse_programs().and_then(|programs| {
        usable(&programs)?;
        let place = programs.daemon.unwrap_or_default();
        Ok(format!("pool version 23, {}", place.display()))
    });
    here(ZfsWay::Fuse, DAEMON, found)
}

/// The module's tools, where the module is.
pub(crate) fn kernel_programs() -> Result<Programs, Obstacle> {
    if let Some(no) = probe::obstacle() {
        return Err(no);
    }
    if !crate::zfs::module::is_loaded() {
        let why = "this kernel has no ZFS (/sys/module/zfs and /dev/zfs are missing)".to_owned();
        let cure = "install the module (Debian: zfs-dkms, contrib) and load it: modprobe zfs; or go another way: via \
            = \"userspace\", via = \"fuse\"";
        return Err((why, cure.to_owned()));
    }
    let missing = |name: &str| {
        let cure = "install the tools of the module (Debian: zfsutils-linux, contrib)".to_owned();
        (format!("{name} of the kernel's ZFS not found"), cure)
    };
    let find = |name: &str| sandbox::find_program(name).ok_or_else(|| missing(name));
    let programs = Programs {
        zpool: find("zpool")?,
        zfs: find("zfs")?,
        daemon: None,
        libraries: String::new(),
        root: PathBuf::new(),
    };
    if is_of_fuse(&programs.zpool) {
        let cure = "remove the package zfs-fuse, and install zfsutils-linux (Debian, contrib)".to_owned();
        return Err((format!("{} speaks to zfs-fuse", programs.zpool.display()), cure));
    }
    Ok(programs)
}

/// zfs-fuse and its tools: what the environment names, else what is installed.
pub(crate) fn fuse_programs() -> Result<Programs, Obstacle> {
    if let Some(no) = probe::obstacle() {
        return Err(no);
    }
    if !Path::new("/dev/fuse").exists() {
        let cure = "use a kernel with it (modprobe fuse), or a container that may use it".to_owned();
        return Err(("no FUSE (/dev/fuse is missing)".to_owned(), cure));
    }
    for name in NAMESPACE_TOOLS {
        if sandbox::find_program(name).is_none() {
            return Err((
                format!("{name} not found"),
                "install util-linux, mount and coreutils".to_owned(),
            ));
        }
    }
    let unpacked = std::env::var_os(UNPACKED).filter(|dir| !dir.is_empty());
    let programs = match unpacked.map(PathBuf::from) {
        Some(root) => unpacked_in(&root).ok_or_else(|| {
            let cure = format!(
                "unpack the package there: dpkg-deb -x zfs-fuse_*.deb {}",
                root.display()
            );
            (
                format!("{UNPACKED} is {}, and zfs-fuse is not in it", root.display()),
                cure,
            )
        }),
        None => installed().ok_or_else(|| {
            let cure = format!(
                "install zfs-fuse (Debian main); or beside the tools of another ZFS: apt-get download zfs-fuse \
                 libfuse2, dpkg-deb -x each into a directory, {UNPACKED}=DIRECTORY"
            );
            ("zfs-fuse not found".to_owned(), cure)
        }),
    }?;
    match unsafe_code(&programs) {
        None => Ok(programs),
        Some(path) => Err((
            format!("{} can't be run, or another user can change it", path.display()),
            "let root own it and the directories above it, and let nobody else write there".to_owned(),
        )),
    }
}

/// A program or a directory of libraries that root can't trust.
fn unsafe_code(programs: &Programs) -> Option<PathBuf> {
    let all = [Some(&programs.zpool), Some(&programs.zfs), programs.daemon.as_ref()];
    let mut all = all.into_iter().flatten();
    let libraries = programs.libraries.split(':').filter(|dir| !dir.is_empty());
    all.find(|program| !sandbox::is_safe_program(program))
        .cloned()
        .or_else(|| {
            libraries
                .map(PathBuf::from)
                .find(|dir| !sandbox::are_safe_libraries(dir))
        })
}

/// The programs below a directory in which packages were unpacked.
fn unpacked_in(root: &Path) -> Option<Programs> {
    let root = std::fs::canonicalize(root).ok()?;
    let place = ["sbin", "usr/sbin", "bin", ""]
        .iter()
        .map(|dir| root.join(dir))
        .find(|dir| dir.join(DAEMON).is_file())?;
    let libraries: Vec<String> = ["lib", "usr/lib"]
        .iter()
        .flat_map(|dir| std::fs::read_dir(root.join(dir)).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && path.to_string_lossy().ends_with("-gnu"))
        .map(|path| argument(&path))
        .collect();
    let programs = in_directory(&place, libraries.join(":"), &root);
    is_of_fuse(&programs.zpool).then_some(programs)
}

/// The package, installed. Where the tools beside the daemon are another ZFS's, they are of no use.
fn installed() -> Option<Programs> {
    let daemon = sandbox::find_program(DAEMON)?;
    let place = daemon.parent()?;
    let programs = in_directory(place, String::new(), place);
    is_of_fuse(&programs.zpool).then_some(programs)
}

fn in_directory(dir: &Path, libraries: String, root: &Path) -> Programs {
    Programs {
        zpool: dir.join("zpool"),
        zfs: dir.join("zfs"),
        daemon: Some(dir.join(DAEMON)),
        libraries,
        root: root.to_owned(),
    }
}

fn is_of_fuse(zpool: &Path) -> bool {
    let program = std::fs::read(zpool).unwrap_or_default();
    program.windows(OF_FUSE.len()).any(|words| words == OF_FUSE)
}

/// Whether the daemon's libraries are there: asked for its usage it changes nothing.
fn usable(programs: &Programs) -> Result<(), Obstacle> {
    let Some(daemon) = &programs.daemon else { return Ok(()) };
    let asked = Tool::new(&argument(daemon), ["--help"], Duration::from_secs(10)).with_libraries(&programs.libraries);
    let said = match asked.run(None) {
        Ok(_) => return Ok(()),
        // Its usage is an error to it.
        Err(error) => error.to_string(),
    };
    match said.split_once("error while loading shared libraries: ") {
        None => Ok(()),
        Some((_, what)) => {
            let library = what.split(':').next().unwrap_or_default().to_owned();
            let cure = "install libfuse2 and libtirpc3, or unpack them into the same directory".to_owned();
            Err((format!("{} needs {library}", daemon.display()), cure))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_cannot_be_gone_says_why_and_what_to_do() {
        for way in zfs_ways() {
            assert!(!way.reason.is_empty(), "{way:?}");
            assert_eq!(way.able, way.cure.is_empty(), "{way:?}");
        }
    }

    #[test]
    fn programs_are_told_apart_by_what_they_speak_to() {
        let dir = tempfile::tempdir().expect("a directory");
        let sbin = dir.path().join("sbin");
        std::fs::create_dir_all(dir.path().join("lib/x86_64-linux-gnu")).expect("made");
        std::fs::create_dir(&sbin).expect("made");
        for name in ["zfs-fuse", "zfs", "zpool"] {
            std::fs::write(sbin.join(name), "a program of another ZFS").expect("written");
        }
        assert_eq!(unpacked_in(dir.path()), None, "another ZFS's tools were taken");
        std::fs::write(
            sbin.join("zpool"),
            "Please make sure that the zfs-fuse daemon is running.",
        )
        .expect("written");
        let found = unpacked_in(dir.path()).expect("found");
        assert_eq!(found.zpool.file_name().and_then(|name| name.to_str()), Some("zpool"));
        assert!(
            found.libraries.ends_with("/lib/x86_64-linux-gnu"),
            "{}",
            found.libraries
        );
    }
}
