//! Where `/proc` and `/sys` are, and how files are looked at.
//!
//! Takes paths as the kernel names them, gives text. Live or a fixture tree; nothing else in this room knows which.
//! Prevents: tests that only hold on the kernel of the machine they were written on.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::ObserveError;

/// Room for what nearly all of these files hold, bytes.
const PAGE: usize = 4096;

/// What `stat` and `realpath` say of a file, directory or device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The path with every link resolved.
    pub canonical: PathBuf,
    /// Major and minor number of the file system it lies on (`st_dev`).
    pub on: (u32, u32),
    /// Major and minor number of the block device that it is (`st_rdev`), if it is one.
    pub device: Option<(u32, u32)>,
    /// Number of the mount it was found on, as `/proc/self/mountinfo` has it; from Linux 5.8 on.
    pub mount: Option<u64>,
}

/// The roots that everything is read from.
#[derive(Clone, Debug)]
pub struct Root {
    /// Stands for `/proc`.
    pub proc: PathBuf,
    /// Stands for `/sys`.
    pub sys: PathBuf,
    /// Looks at a file outside `/proc` and `/sys`.
    pub look: fn(&Path) -> io::Result<Place>,
    /// Whether this is the running kernel, so that clocks of this process belong to it.
    pub live: bool,
}

impl Root {
    /// The running kernel.
    pub fn live() -> Self {
        Root {
            proc: "/proc".into(),
            sys: "/sys".into(),
            look: look_live,
            live: true,
        }
    }

    /// A tree with `proc` and `sys` in it, such as a test fixture.
    pub fn at(dir: &Path, look: fn(&Path) -> io::Result<Place>) -> Self {
        Root {
            proc: dir.join("proc"),
            sys: dir.join("sys"),
            look,
            live: false,
        }
    }

    /// Where a path of the kernel's (`/proc/…`, `/sys/…`) is found; other paths are returned as they are.
    pub fn place(&self, path: &Path) -> PathBuf {
        if let Ok(rest) = path.strip_prefix("/proc") {
            self.proc.join(rest)
        } else if let Ok(rest) = path.strip_prefix("/sys") {
            self.sys.join(rest)
        } else {
            path.to_path_buf()
        }
    }

    /// Text of a file under `/proc` that may be absent.
    pub(crate) fn proc_text(&self, relative: &str) -> Option<String> {
        text(&self.proc.join(relative))
    }

    /// Trimmed text of a file under `/sys` that may be absent; empty counts as absent.
    pub(crate) fn sys_value(&self, relative: &str) -> Option<String> {
        value(&self.sys.join(relative))
    }

    /// Text of a file under `/proc` that every kernel has.
    pub(crate) fn proc_required(&self, relative: &str) -> Result<String, ObserveError> {
        let path = self.proc.join(relative);
        match bytes(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(source) => Err(ObserveError::Read {
                path,
                source,
                cure: "mount proc: mount -t proc proc /proc",
            }),
        }
    }

    /// Where `/sys` keeps a device; `/` in kernel names is `!` there.
    pub(crate) fn block_dir(&self, device: &str) -> PathBuf {
        self.sys.join("class/block").join(device.replace('/', "!"))
    }
}

/// Text of a file that may be absent. Any failure counts as absent: these files are optional by kernel and by
/// permission.
pub(crate) fn text(path: &Path) -> Option<String> {
    bytes(path)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The kernel says no length of these files: whoever asks for it first reads in small pieces, and a look costs twice.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(PAGE);
    File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Trimmed, non-empty text of a file that may be absent.
pub(crate) fn value(path: &Path) -> Option<String> {
    text(path)
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

fn look_live(path: &Path) -> io::Result<Place> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let canonical = std::fs::canonicalize(path)?;
    let stat = std::fs::metadata(&canonical)?;
    let split = |dev: u64| (rustix::fs::major(dev), rustix::fs::minor(dev));
    Ok(Place {
        on: split(stat.dev()),
        device: stat.file_type().is_block_device().then(|| split(stat.rdev())),
        mount: mount_of(&canonical),
        canonical,
    })
}

fn mount_of(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags};
    let asked = StatxFlags::MNT_ID;
    let seen = rustix::fs::statx(CWD, path, AtFlags::NO_AUTOMOUNT, asked).ok()?;
    StatxFlags::from_bits_retain(seen.stx_mask)
        .contains(asked)
        .then_some(seen.stx_mnt_id)
}
