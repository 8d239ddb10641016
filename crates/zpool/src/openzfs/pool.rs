//! A pool: made, imported, exported, destroyed; its files; what it counts.
//!
//! Devices are locked (`flock`, and `O_EXCL` where they are block devices) for as long as their pool is open here and
//! looked at for other pools' labels before a pool is made on them. Prevents: two processes that open the same pool,
//! and a pool made over somebody else's.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::message::{FileName, FileSpec, PoolCounts, PoolSpec, Redundancy};
use crate::openzfs::device;
use crate::openzfs::file::{CURE, File, tag};
use crate::openzfs::layout::Search;
use crate::openzfs::library::{Library, Opaque};
use crate::openzfs::names::{List, c};
use rustix::fs::FlockOperation;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Features of the on-disk format that a new pool has (zpool-features(7)); those a library does not know are left out.
const FEATURES: [&str; 34] = [
    "async_destroy",
    "empty_bpobj",
    "lz4_compress",
    "multi_vdev_crash_dump",
    "spacemap_histogram",
    "enabled_txg",
    "hole_birth",
    "extensible_dataset",
    "embedded_data",
    "bookmarks",
    "filesystem_limits",
    "large_blocks",
    "large_dnode",
    "sha512",
    "skein",
    "edonr",
    "userobj_accounting",
    "encryption",
    "project_quota",
    "device_removal",
    "obsolete_counts",
    "zpool_checkpoint",
    "spacemap_v2",
    "allocation_classes",
    "resilver_defer",
    "bookmark_v2",
    "redaction_bookmarks",
    "redacted_datasets",
    "bookmark_written",
    "log_spacemap",
    "livelist",
    "device_rebuild",
    "zstd_compress",
    "draid",
];
/// What a pool's label says of its state.
const DESTROYED: u64 = 2;
const RESERVED_NAMES: [&str; 5] = ["mirror", "raidz", "draid", "spare", "log"];

/// An open pool.
pub(crate) struct Pool {
    library: &'static Library,
    name: String,
    spa: Opaque,
    has_log_device: bool,
    pub(crate) files: BTreeMap<String, Arc<File>>,
    _locks: Vec<std::fs::File>,
}

// SAFETY: the library's pools are made for many threads; the rest is ours.
unsafe impl Send for Pool {}

fn checked_name(name: &str) -> Result<(), Refused> {
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() < 200
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !RESERVED_NAMES.iter().any(|reserved| name.starts_with(reserved));
    if good {
        return Ok(());
    }
    Err(Refused::new(
        &format!("`{name}` is no name for a pool"),
        "take a letter, then letters, digits, `-`, `_`, `.`; not beginning with mirror, raidz, draid, spare or log",
    ))
}

/// The label of a pool on a device: its name and state.
fn label(library: &Library, file: &std::fs::File) -> Option<(String, u64)> {
    let (mut list, mut copies) = (std::ptr::null_mut(), 0);
    // SAFETY: an open descriptor; the library gives a list of ours when it found a label.
    let read = unsafe { (library.call.zpool_read_label)(file.as_raw_fd(), &raw mut list, &raw mut copies) };
    if read != 0 || list.is_null() {
        return None;
    }
    let list = List::of(library, list);
    Some((list.text_of("name")?, list.number_of("state")?))
}

/// Opens and locks the devices, and refuses those that carry another pool.
fn taken(library: &Library, paths: &[&PathBuf], overwrite: bool) -> Result<Vec<std::fs::File>, Refused> {
    let mut locks = Vec::new();
    for path in paths {
        let failed = |e: std::io::Error| {
            Refused::errno(
                &format!("open {}", path.display()),
                e.raw_os_error().unwrap_or(libc::EIO),
                "name a device or file that exists and may be written",
            )
        };
        let is_device = std::fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device());
        // A device that is opened so cannot be mounted, formatted or wiped by others meanwhile.
        let exclusive = if is_device { libc::O_EXCL } else { 0 };
        let mut options = std::fs::OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .custom_flags(exclusive)
            .open(path)
            .map_err(failed)?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let what = format!("{} is in use by another process that runs OpenZFS", path.display());
            return Err(Refused::new(
                &what,
                "end that process first (`assay clean` says what is left behind)",
            ));
        }
        if !overwrite && let Some((pool, state)) = label(library, &file).filter(|(_, state)| *state != DESTROYED) {
            let what = format!(
                "{} belongs to pool `{pool}` ({})",
                path.display(),
                if state == 1 { "exported" } else { "in use" }
            );
            return Err(Refused::new(
                &what,
                "destroy that pool (`zpool destroy`), or say that the device may be overwritten",
            ));
        }
        locks.push(file);
    }
    Ok(locks)
}

/// One device in the tree.
fn leaf<'a>(library: &'a Library, path: &Path, ashift: u8, log: bool) -> List<'a> {
    // As a disk a kernel can import it too; plain files it opens as files.
    let is_device = std::fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device());
    let list = List::new(library)
        .text("type", if is_device { "disk" } else { "file" })
        .text("path", &path.to_string_lossy())
        .number("ashift", u64::from(ashift));
    if log {
        list.number("is_log", 1).text("alloc_bias", "log")
    } else {
        list.number("is_log", 0)
    }
}

fn tree<'a>(library: &'a Library, spec: &PoolSpec) -> List<'a> {
    let leaves = |paths: &[PathBuf], log| -> Vec<List<'a>> {
        paths.iter().map(|path| leaf(library, path, spec.ashift, log)).collect()
    };
    let mut top = match spec.redundancy {
        Redundancy::Stripe => leaves(&spec.data, false),
        Redundancy::Mirror | Redundancy::Raidz1 => {
            let group = List::new(library)
                .number("ashift", u64::from(spec.ashift))
                .number("is_log", 0);
            let group = match spec.redundancy {
                Redundancy::Mirror => group.text("type", "mirror"),
                _ => group.text("type", "raidz").number("nparity", 1),
            };
            vec![group.lists("children", &leaves(&spec.data, false))]
        }
    };
    top.extend(leaves(&spec.log, true));
    List::new(library).text("type", "root").lists("children", &top)
}

fn properties(library: &Library) -> List<'_> {
    // No cache file: nobody but this process is to know of the pool.
    let mut list = List::new(library).text("cachefile", "none");
    for feature in FEATURES {
        let mut number = 0;
        // SAFETY: a terminated string; the library writes one word.
        if unsafe { (library.call.zfeature_lookup_name)(c(feature).as_ptr(), &raw mut number) } == 0 {
            list = list.number(&format!("feature@{feature}"), 0);
        }
    }
    list
}

impl Pool {
    /// Makes a pool on devices.
    pub(crate) fn create(library: &'static Library, spec: &PoolSpec, direct: bool) -> Result<Pool, Refused> {
        checked_name(&spec.name)?;
        if Path::new("/proc/spl/kstat/zfs").join(&spec.name).exists() {
            let what = format!("this kernel has a pool `{}` imported", spec.name);
            return Err(Refused::new(&what, "take another name"));
        }
        if !(9..=16).contains(&spec.ashift) {
            return Err(Refused::new(
                &format!("ashift {}", spec.ashift),
                "take 9 to 16 (12: sectors of 4 KiB)",
            ));
        }
        let least = match spec.redundancy {
            Redundancy::Stripe => 1,
            Redundancy::Mirror | Redundancy::Raidz1 => 2,
        };
        if spec.data.len() < least {
            let what = format!(
                "pool `{}` as {:?} on {} devices",
                spec.name,
                spec.redundancy,
                spec.data.len()
            );
            return Err(Refused::new(&what, "give it more devices"));
        }
        let paths: Vec<&PathBuf> = spec.data.iter().chain(&spec.log).collect();
        let locks = taken(library, &paths, spec.overwrite)?;
        paths.iter().for_each(|path| device::register(path, direct));
        let (root, props) = (tree(library, spec), properties(library));
        let no = std::ptr::null_mut();
        // SAFETY: lists of ours, which the library copies.
        let made = unsafe { (library.call.spa_create)(c(&spec.name).as_ptr(), root.raw(), props.raw(), no, no) };
        match made {
            0 => match Pool::open(library, &spec.name, !spec.log.is_empty(), locks) {
                Ok(pool) => Ok(pool),
                Err(error) => {
                    close(library, &spec.name);
                    Err(error)
                }
            },
            libc::EEXIST => {
                let what = format!("a pool `{}` is open already", spec.name);
                Err(Refused::errno(&what, made, "take another name, or export it first"))
            }
            libc::EOVERFLOW => {
                let what = format!("create pool `{}`: a device is under 64 MiB", spec.name);
                Err(Refused::errno(&what, made, "give it larger devices"))
            }
            e => Err(Refused::errno(&format!("create pool `{}`", spec.name), e, CURE)),
        }
    }

    /// Finds a pool on these devices and opens it with all its files; their logs are replayed.
    pub(crate) fn import(
        library: &'static Library,
        name: &str,
        devices: &[PathBuf],
        direct: bool,
    ) -> Result<Pool, Refused> {
        checked_name(name)?;
        let paths: Vec<&PathBuf> = devices.iter().collect();
        let locks = taken(library, &paths, true)?;
        devices.iter().for_each(|path| device::register(path, direct));
        let named: Vec<CString> = devices.iter().map(|path| c(&path.to_string_lossy())).collect();
        let pointers: Vec<*const c_char> = named.iter().map(|name| name.as_ptr()).collect();
        let mut search = Search {
            path: pointers.as_ptr(),
            paths: pointers.len() as i32,
            pool: std::ptr::null(),
            guid: 0,
            cache_file: std::ptr::null(),
            // After a crash it was never exported.
            can_be_active: 1,
            scan: 1,
            policy: std::ptr::null_mut(),
        };
        let operations = library
            .variable("libzpool_config_ops")
            .ok_or_else(|| Refused::new("the library cannot look for pools", CURE))?;
        let mut config = std::ptr::null_mut();
        // SAFETY: the search and its strings outlive the call; the library gives a list of ours.
        let found = unsafe {
            let no = std::ptr::null_mut();
            (library.call.zpool_find_config)(
                no,
                c(name).as_ptr(),
                &raw mut config,
                (&raw mut search).cast(),
                operations,
            )
        };
        if found != 0 || config.is_null() {
            let list: Vec<String> = devices.iter().map(|path| path.display().to_string()).collect();
            let what = format!("no pool `{name}` on {}", list.join(", "));
            return Err(Refused::new(&what, "name all devices of the pool, its log's included"));
        }
        let config = List::of(library, config);
        let props = List::new(library).text("cachefile", "none");
        // SAFETY: lists of ours.
        match unsafe { (library.call.spa_import)(c(name).as_ptr(), config.raw(), props.raw(), 0) } {
            0 => {}
            e => return Err(Refused::errno(&format!("import pool `{name}`"), e, CURE)),
        }
        let mut pool = match Pool::open(library, name, false, locks) {
            Ok(pool) => pool,
            Err(error) => {
                close(library, name);
                return Err(error);
            }
        };
        // A pool that stayed open would be nobody's: not watched, not exported, and its devices no longer locked.
        match pool.open_files() {
            Ok(()) => Ok(pool),
            Err(error) => {
                let _ = pool.export();
                Err(error)
            }
        }
    }

    /// Opens all its files; their logs are replayed.
    fn open_files(&mut self) -> Result<(), Refused> {
        // SAFETY: the open pool.
        self.has_log_device = unsafe { (self.library.call.spa_has_slogs)(self.spa) } != 0;
        for file in datasets(self.library, &self.name)? {
            self.open_file(&file)?;
        }
        Ok(())
    }

    fn open(
        library: &'static Library,
        name: &str,
        has_log_device: bool,
        locks: Vec<std::fs::File>,
    ) -> Result<Pool, Refused> {
        let mut spa = std::ptr::null_mut();
        // SAFETY: a terminated string; what is held is given back in `release`.
        match unsafe { (library.call.spa_open)(c(name).as_ptr(), &raw mut spa, tag()) } {
            0 => {}
            e => return Err(Refused::errno(&format!("open pool `{name}`"), e, CURE)),
        }
        let files = BTreeMap::new();
        Ok(Pool {
            library,
            name: name.to_string(),
            spa,
            has_log_device,
            files,
            _locks: locks,
        })
    }

    fn open_file(&mut self, file: &str) -> Result<(), Refused> {
        let opened = File::open(self.library, &FileName::new(&self.name, file), self.has_log_device)?;
        self.files.insert(file.to_string(), opened);
        Ok(())
    }

    pub(crate) fn create_file(&mut self, spec: &FileSpec) -> Result<(), Refused> {
        checked_name(&spec.name.file)?;
        File::create(self.library, spec)?;
        self.open_file(&spec.name.file)
    }

    /// Takes a file out of the pool, with its space. No port may have it open.
    pub(crate) fn remove_file(&mut self, name: &str) -> Result<(), Refused> {
        let Some(file) = self.files.remove(name) else {
            return Err(Refused::new(
                &format!("no file `{name}` in pool `{}`", self.name),
                "see the name",
            ));
        };
        file.close();
        let dataset = file.name.dataset();
        // SAFETY: a terminated string; the dataset was given back.
        match unsafe { (self.library.call.dsl_destroy_head)(c(&dataset).as_ptr()) } {
            0 => Ok(()),
            e => Err(Refused::errno(&format!("destroy {dataset}"), e, CURE)),
        }
    }

    /// The part of the library that transaction groups belong to.
    pub(crate) fn groups(&self) -> Opaque {
        // SAFETY: the open pool.
        unsafe { (self.library.call.spa_get_dsl)(self.spa) }
    }

    /// Waits until everything that was written so far is on the devices.
    pub(crate) fn sync(&self) {
        // SAFETY: the open pool.
        unsafe { (self.library.call.txg_wait_synced)(self.groups(), 0) };
    }

    /// From now on no transaction group is written.
    pub(crate) fn freeze(&self) {
        // SAFETY: the open pool.
        unsafe { (self.library.call.spa_freeze)(self.spa) };
    }

    /// For the list of pools that are watched.
    pub(crate) fn address(&self) -> usize {
        self.spa as usize
    }

    /// Whether it has stopped because a device failed.
    pub(crate) fn is_suspended(&self) -> bool {
        // SAFETY: the open pool.
        unsafe { (self.library.call.spa_suspended)(self.spa) != 0 }
    }

    fn release(&mut self) {
        for file in std::mem::take(&mut self.files).into_values() {
            file.close();
        }
        // SAFETY: one release for the hold of `open`.
        unsafe { (self.library.call.spa_close)(self.spa, tag()) };
    }

    /// Closes it in good order. No port may have a file of it open.
    pub(crate) fn export(mut self) -> Result<(), Refused> {
        self.release();
        // SAFETY: a terminated string.
        match unsafe { (self.library.call.spa_export)(c(&self.name).as_ptr(), std::ptr::null_mut(), 1, 0) } {
            0 => Ok(()),
            e => Err(Refused::errno(&format!("export pool `{}`", self.name), e, CURE)),
        }
    }

    /// Closes it and marks its devices as free.
    pub(crate) fn destroy(mut self) -> Result<(), Refused> {
        self.release();
        // SAFETY: a terminated string.
        match unsafe { (self.library.call.spa_destroy)(c(&self.name).as_ptr()) } {
            0 => Ok(()),
            e => Err(Refused::errno(&format!("destroy pool `{}`", self.name), e, CURE)),
        }
    }

    pub(crate) fn counts(&self) -> PoolCounts {
        let mut list = std::ptr::null_mut();
        // SAFETY: the open pool; the library makes a list of ours.
        let told = unsafe { (self.library.call.spa_prop_get)(self.spa, &raw mut list) };
        let list = (!list.is_null())
            .then(|| List::of(self.library, list))
            .filter(|_| told == 0);
        let number = |name: &str| list.as_ref().and_then(|list| list.property(name));
        PoolCounts {
            name: self.name.clone(),
            size_bytes: number("size").unwrap_or(0),
            allocated_bytes: number("allocated").unwrap_or(0),
            fragmentation_percent: number("fragmentation").filter(|percent| *percent <= 100),
            // SAFETY: the open pool.
            synced_txg: unsafe { (self.library.call.spa_last_synced_txg)(self.spa) },
        }
    }
}

/// Closes a pool that nobody holds.
fn close(library: &Library, name: &str) {
    // SAFETY: a terminated string; a pool that is not open is an error, which changes nothing.
    unsafe { (library.call.spa_export)(c(name).as_ptr(), std::ptr::null_mut(), 1, 0) };
}

unsafe extern "C" fn note_dataset(name: *const c_char, argument: Opaque) -> i32 {
    // SAFETY: a terminated string, and the list of `datasets`.
    let (name, found) = unsafe { (std::ffi::CStr::from_ptr(name), &mut *argument.cast::<Vec<String>>()) };
    found.push(name.to_string_lossy().into_owned());
    0
}

/// The datasets directly below a pool's own.
fn datasets(library: &Library, pool: &str) -> Result<Vec<String>, Refused> {
    const CHILDREN: i32 = 1 << 1;
    let mut found: Vec<String> = Vec::new();
    // SAFETY: the list outlives the walk.
    let walked = unsafe {
        (library.call.dmu_objset_find)(c(pool).as_ptr(), Some(note_dataset), (&raw mut found).cast(), CHILDREN)
    };
    if walked != 0 {
        return Err(Refused::errno(
            &format!("list the datasets of pool `{pool}`"),
            walked,
            CURE,
        ));
    }
    let below = format!("{pool}/");
    Ok(found
        .iter()
        .filter_map(|name| name.strip_prefix(&below))
        .filter(|name| !name.contains('/'))
        .map(str::to_string)
        .collect())
}
