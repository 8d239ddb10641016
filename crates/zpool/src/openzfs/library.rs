//! The library of OpenZFS, found and loaded while the program runs: its functions, its version, and a check of its
//! shapes.
//!
//! Takes nothing but what the machine has installed, gives [`Library`]. Nothing of it is known when this program is
//! built: names of functions and shapes of arguments are declared here, by hand. Prevents: a program that does not
//! start where OpenZFS is not installed, and one that calls a library of another version, whose structures have other
//! shapes.
#![allow(unsafe_code)]

use crate::LIBRARY_VARIABLE;
use crate::error::Refused;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;

/// Versions whose structures are declared here.
pub(crate) const KNOWN_VERSION: &str = "2.1";
/// Shared-object versions that distributions ship, the known one first.
const NAMES: [&str; 4] = ["libzpool.so.5", "libzpool.so.6", "libzpool.so.7", "libzpool.so.4"];
pub(crate) const CURE_INSTALL: &str =
    "install OpenZFS's libraries: on Debian 12 `apt-get install libzpool5linux zfsutils-linux`, component contrib";
const CURE_DYNAMIC: &str = "use the Debian package, or `cargo install`: both link dynamically";
const CURE_SAFE: &str = "copy it to a directory that root alone can write to, and name that in ASSAY_LIBZPOOL";
const CURE_VERSION: &str = "install OpenZFS 2.1 (Debian 12: libzpool5linux 2.1), or name its library in ASSAY_LIBZPOOL";

/// Pointers to structures that only the library looks into.
pub(crate) type Opaque = *mut c_void;

macro_rules! functions {
    ($(fn $name:ident($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions that are called, by the library's own names.
        pub(crate) struct Functions { $(pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)* }

        impl Functions {
            /// Finds all of them.
            ///
            /// # Safety
            /// The library must be of the version whose declarations stand here.
            unsafe fn find(look: &dyn Fn(&str) -> Result<Opaque, Refused>) -> Result<Functions, Refused> {
                Ok(Functions {
                    // SAFETY: a function's address as a function of the type that this version of the library declares.
                    $($name: unsafe {
                        let found = look(stringify!($name))?;
                        std::mem::transmute::<Opaque, unsafe extern "C" fn($($arg),*) $(-> $ret)?>(found)
                    },)*
                })
            }
        }
    };
}

/// Called in the transaction group that makes a dataset: (objset, argument, credentials, transaction).
pub(crate) type MadeObjset = unsafe extern "C" fn(Opaque, Opaque, Opaque, Opaque);
/// Gives the data of a logged write: (its private pointer, generation, record, buffer or null, log block, parent I/O)
/// -> errno.
pub(crate) type GetData = unsafe extern "C" fn(Opaque, u64, Opaque, *mut u8, Opaque, Opaque) -> c_int;
/// Does again what a log record says: (argument, record, whether it is byte-swapped) -> errno.
pub(crate) type Replay = unsafe extern "C" fn(Opaque, Opaque, c_int) -> c_int;
/// The end of a write that the log asked for: (its state, errno).
pub(crate) type SyncDone = unsafe extern "C" fn(Opaque, c_int);
/// Sees one dataset: (name, argument) -> errno.
pub(crate) type SeeDataset = unsafe extern "C" fn(*const c_char, Opaque) -> c_int;
/// Sees one block pointer: (pool, log, pointer, bookmark, dnode, argument) -> errno.
pub(crate) type SeeBlock = unsafe extern "C" fn(Opaque, Opaque, *const u64, *const u64, Opaque, Opaque) -> c_int;

functions! {
    fn kernel_init(c_int);
    fn kernel_fini();
    fn spa_create(*const c_char, Opaque, Opaque, Opaque, Opaque) -> c_int;
    fn spa_import(*const c_char, Opaque, Opaque, u64) -> c_int;
    fn spa_export(*const c_char, Opaque, c_int, c_int) -> c_int;
    fn spa_destroy(*const c_char) -> c_int;
    fn spa_open(*const c_char, *mut Opaque, *const c_void) -> c_int;
    fn spa_close(Opaque, *const c_void);
    fn spa_get_dsl(Opaque) -> Opaque;
    fn spa_prop_get(Opaque, *mut Opaque) -> c_int;
    fn spa_last_synced_txg(Opaque) -> u64;
    fn spa_suspended(Opaque) -> c_int;
    fn spa_freeze(Opaque);
    fn spa_has_slogs(Opaque) -> c_int;
    fn dmu_objset_find(*const c_char, Option<SeeDataset>, Opaque, c_int) -> c_int;
    fn txg_wait_synced(Opaque, u64);
    fn zpool_find_config(Opaque, *const c_char, *mut Opaque, Opaque, *const c_void) -> c_int;
    fn zpool_read_label(c_int, *mut Opaque, *mut c_int) -> c_int;
    fn zfeature_lookup_name(*const c_char, *mut c_int) -> c_int;
    fn zfs_name_to_prop(*const c_char) -> c_int;
    fn zfs_prop_string_to_index(c_int, *const c_char, *mut u64) -> c_int;
    fn dsl_prop_set_int(*const c_char, *const c_char, c_int, u64) -> c_int;
    fn dsl_prop_get_integer(*const c_char, *const c_char, *mut u64, *mut c_char) -> c_int;
    fn dsl_destroy_head(*const c_char) -> c_int;
    fn dmu_objset_create(*const c_char, c_int, u64, Opaque, Option<MadeObjset>, Opaque) -> c_int;
    fn dmu_objset_own(*const c_char, c_int, c_int, c_int, *const c_void, *mut Opaque) -> c_int;
    fn dmu_objset_disown(Opaque, c_int, *const c_void);
    fn dmu_objset_zil(Opaque) -> Opaque;
    fn dmu_objset_ds(Opaque) -> Opaque;
    fn dmu_objset_pool(Opaque) -> Opaque;
    fn dsl_pool_config_enter(Opaque, *const c_void);
    fn dsl_pool_config_exit(Opaque, *const c_void);
    fn dmu_objset_stats(Opaque, Opaque);
    fn dmu_object_claim(Opaque, u64, c_int, c_int, c_int, c_int, Opaque) -> c_int;
    fn dmu_object_info(Opaque, u64, Opaque) -> c_int;
    fn dmu_free_long_range(Opaque, u64, u64, u64) -> c_int;
    fn dnode_hold(Opaque, u64, *const c_void, *mut Opaque) -> c_int;
    fn dnode_rele(Opaque, *const c_void);
    fn dmu_read_by_dnode(Opaque, u64, u64, *mut u8, u32) -> c_int;
    fn dmu_write_by_dnode(Opaque, u64, u64, *const u8, Opaque);
    fn dmu_tx_create(Opaque) -> Opaque;
    fn dmu_tx_hold_write_by_dnode(Opaque, Opaque, u64, c_int);
    fn dmu_tx_hold_zap(Opaque, u64, c_int, *const c_char);
    fn dmu_tx_assign(Opaque, u64) -> c_int;
    fn dmu_tx_abort(Opaque);
    fn dmu_tx_commit(Opaque);
    fn dmu_buf_hold_by_dnode(Opaque, u64, *const c_void, *mut Opaque, c_int) -> c_int;
    fn dmu_buf_rele(Opaque, *const c_void);
    fn dmu_sync(Opaque, u64, Option<SyncDone>, Opaque) -> c_int;
    fn zap_create_claim(Opaque, u64, c_int, c_int, c_int, Opaque) -> c_int;
    fn zap_update(Opaque, u64, *const c_char, c_int, u64, *const c_void, Opaque) -> c_int;
    fn zap_lookup(Opaque, u64, *const c_char, u64, u64, *mut c_void) -> c_int;
    fn zil_open(Opaque, Option<GetData>) -> Opaque;
    fn zil_close(Opaque);
    fn zil_commit(Opaque, u64);
    fn zil_replay(Opaque, Opaque, *const Option<Replay>);
    fn zil_replaying(Opaque, Opaque) -> c_int;
    fn zil_itx_create(u64, usize) -> Opaque;
    fn zil_itx_destroy(Opaque);
    fn zil_itx_assign(Opaque, Opaque, Opaque);
    fn zfs_rangelock_init(Opaque, Opaque, Opaque);
    fn zfs_rangelock_fini(Opaque);
    fn zfs_rangelock_enter(Opaque, u64, u64, c_int) -> Opaque;
    fn zfs_rangelock_exit(Opaque);
    fn traverse_dataset(Opaque, u64, c_int, Option<SeeBlock>, Opaque) -> c_int;
    fn aggsum_value(Opaque) -> u64;
    fn fnvlist_alloc() -> Opaque;
    fn fnvlist_free(Opaque);
    fn fnvlist_add_string(Opaque, *const c_char, *const c_char);
    fn fnvlist_add_uint64(Opaque, *const c_char, u64);
    fn fnvlist_add_nvlist_array(Opaque, *const c_char, *const Opaque, u32);
    fn nvlist_lookup_nvlist(Opaque, *const c_char, *mut Opaque) -> c_int;
    fn nvlist_lookup_uint64(Opaque, *const c_char, *mut u64) -> c_int;
    fn nvlist_lookup_string(Opaque, *const c_char, *mut *const c_char) -> c_int;
}

/// The loaded library.
pub(crate) struct Library {
    handle: Opaque,
    pub(crate) call: Functions,
    /// As `2.1.11-0-ge25f9131d`.
    pub(crate) version: String,
    pub(crate) path: PathBuf,
    /// Where it lies in memory, and its dynamic section.
    pub(crate) base: usize,
    pub(crate) dynamic: usize,
}

// SAFETY: addresses of code and of the library's own data, which it guards itself.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// The head of the loader's record of a shared object (link.h; the same on every Linux).
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: usize,
}

/// The loader's record of an open library.
#[cfg(target_env = "gnu")]
fn link_map(handle: Opaque) -> Option<*const LinkMap> {
    const RTLD_DI_LINKMAP: c_int = 2;
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the handle is open, and the loader writes one pointer.
    let told = unsafe { libc::dlinfo(handle, RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    (told == 0 && !map.is_null()).then_some(map)
}

/// A static program has no loader.
#[cfg(not(target_env = "gnu"))]
fn link_map(_: Opaque) -> Option<*const LinkMap> {
    None
}

/// The handle, path, base and dynamic section of the library.
fn open() -> Result<(Opaque, PathBuf, usize, usize), Refused> {
    if !cfg!(target_env = "gnu") {
        return Err(Refused::new(
            "a static program cannot load OpenZFS's library",
            CURE_DYNAMIC,
        ));
    }
    let named = std::env::var(LIBRARY_VARIABLE).ok();
    let mut first = None;
    let names = named.as_deref().map_or_else(|| NAMES.to_vec(), |one| vec![one]);
    for name in names {
        // A bare name is looked for in the system's directories.
        let path = std::path::absolute(name).unwrap_or_default();
        if name.contains('/') && path.exists() && !sandbox::is_safe_code(&path) {
            let why = format!("{name}: another user can change this library, and root would load it");
            return Err(Refused::new(&why, CURE_SAFE));
        }
        let name = CString::new(name).map_err(|_| Refused::new("a library's name with a zero byte", CURE_VERSION))?;
        // SAFETY: a terminated string; the library's initialisers only fill its own tables.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failed dlopen there is a message, which lives until the next call.
            let said = unsafe { CStr::from_ptr(libc::dlerror()) }
                .to_string_lossy()
                .into_owned();
            first.get_or_insert(said);
            continue;
        }
        let Some(map) = link_map(handle) else {
            return Err(Refused::new(
                "the loader does not tell where the library lies",
                CURE_VERSION,
            ));
        };
        // SAFETY: the loader's record lives as long as the library is loaded, which is as long as the process.
        let (map, path) = unsafe { (&*map, CStr::from_ptr((*map).name)) };
        return Ok((
            handle,
            PathBuf::from(path.to_string_lossy().into_owned()),
            map.base,
            map.dynamic,
        ));
    }
    let said = first.unwrap_or_default();
    Err(Refused::new(
        &format!("OpenZFS's library is not here: {said}"),
        CURE_INSTALL,
    ))
}

/// The version that the library's file carries (`zfs-2.1.11-0-g...`): it is written into the history of each pool.
fn version_in(bytes: &[u8]) -> Option<String> {
    let mark = b"zfs-";
    bytes.windows(mark.len()).enumerate().find_map(|(at, window)| {
        let rest = &bytes[at + mark.len()..];
        if window != mark || !rest.first()?.is_ascii_digit() {
            return None;
        }
        let end = rest.iter().take(64).position(|b| !b.is_ascii_graphic())?;
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        text.contains('.').then(|| text.to_string())
    })
}

fn is_known(version: &str) -> bool {
    version
        .strip_prefix(KNOWN_VERSION)
        .is_some_and(|rest| rest.starts_with('.'))
}

impl Library {
    /// Loads it, without starting anything of it.
    pub(crate) fn load() -> Result<Library, Refused> {
        let (handle, path, base, dynamic) = open()?;
        let bytes =
            std::fs::read(&path).map_err(|e| Refused::new(&format!("read {}: {e}", path.display()), CURE_VERSION))?;
        let Some(version) = version_in(&bytes) else {
            let what = format!("{} does not say which version of OpenZFS it is", path.display());
            return Err(Refused::new(&what, CURE_VERSION));
        };
        if !is_known(&version) {
            let what = format!(
                "{} is OpenZFS {version}; this program knows the structures of {KNOWN_VERSION}.x alone",
                path.display()
            );
            return Err(Refused::new(&what, CURE_VERSION));
        }
        let look = |name: &str| {
            find(handle, name).ok_or_else(|| Refused::new(&format!("{} has no `{name}`", path.display()), CURE_VERSION))
        };
        // SAFETY: the version was looked at just above.
        let call = unsafe { Functions::find(&look) }?;
        Ok(Library {
            handle,
            call,
            version,
            path: path.clone(),
            base,
            dynamic,
        })
    }

    /// The address of a variable of the library.
    pub(crate) fn variable(&self, name: &str) -> Option<Opaque> {
        find(self.handle, name)
    }

    /// Sets a variable of the library, when it has it. True when it has.
    pub(crate) fn set<T>(&self, name: &str, value: T) -> bool {
        let Some(address) = self.variable(name) else {
            return false;
        };
        // SAFETY: callers name a variable of the known version with the type that it has there.
        unsafe { address.cast::<T>().write(value) };
        true
    }
}

/// The address of a name in the library or in what it needs.
fn find(handle: Opaque, name: &str) -> Option<Opaque> {
    let name = CString::new(name).ok()?;
    // SAFETY: an open handle and a terminated string.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_where_it_stands_and_others_are_not_known() {
        let bytes = b"..zfs-mount..\0zfs-2.1.11-0-ge25f9131d-dist\0...";
        assert_eq!(version_in(bytes).as_deref(), Some("2.1.11-0-ge25f9131d-dist"));
        assert_eq!(version_in(b"nothing here but zfs- alone and zfs-x.y\0"), None);
        assert!(is_known("2.1.11-1") && !is_known("2.2.0") && !is_known("2.10.1") && !is_known("2.1"));
    }
}
