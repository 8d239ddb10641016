//! What the library counts: the cache, the intent logs. Read where the kernel would show it under /proc.
//!
//! Two tables are read: named statistics (each entry carries its name) and the cache's sums, which are read by position
//! after the table's size was compared with the known version's. Prevents: a number of the wrong row.
#![allow(unsafe_code)]

use crate::message::ArcCounts;
use crate::openzfs::library::{Library, Opaque};

/// An entry of a table of named statistics: a name of 255 bytes, a byte for the type, a value of 16 bytes.
const ENTRY: usize = 272;
const ENTRY_VALUE: usize = 256;
const ENTRY_NAME: usize = 255;
/// Entries of the two tables in OpenZFS 2.1.
const LOG_ENTRIES: usize = 13;
const CACHE_ENTRIES: usize = 123;
/// Rows of the cache's sums, and those that are read.
const SUMS: usize = 87;
const HITS: usize = 0;
const MISSES: usize = 1;
const DEMAND_DATA_HITS: usize = 2;
const DEMAND_DATA_MISSES: usize = 3;
const PREFETCH_DATA_MISSES: usize = 7;
const DELETED: usize = 14;
const EVICTED_ELIGIBLE: usize = 20;
const EVICTED_INELIGIBLE: usize = 23;
const SIZE: usize = 27;
const DATA_SIZE: usize = 32;
const METADATA_SIZE: usize = 33;

/// A static program has loaded no library.
#[cfg(not(target_env = "gnu"))]
fn bytes_of(_: Opaque) -> Option<usize> {
    None
}

/// Bytes of a variable, by the library's own table of symbols.
#[cfg(target_env = "gnu")]
fn bytes_of(address: Opaque) -> Option<usize> {
    /// A symbol of an object file; its size is the last word.
    #[repr(C)]
    struct Symbol {
        head: [u64; 2],
        size: u64,
    }
    const SYMBOL: std::ffi::c_int = 1;
    // SAFETY: zero is a value of all its fields.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let mut symbol: *mut std::ffi::c_void = std::ptr::null_mut();
    // SAFETY: the loader looks the address up and writes two records' addresses.
    let found = unsafe { libc::dladdr1(address, &raw mut info, &raw mut symbol, SYMBOL) };
    // SAFETY: the loader gave a symbol of the loaded library.
    (found != 0 && !symbol.is_null()).then(|| unsafe { (*symbol.cast::<Symbol>()).size as usize })
}

/// A table of named statistics, when it has the known size.
fn named(library: &Library, table: &str, entries: usize) -> Vec<(String, u64)> {
    let Some(start) = library
        .variable(table)
        .filter(|at| bytes_of(*at) == Some(entries * ENTRY))
    else {
        return Vec::new();
    };
    let entry = |nth: usize| {
        // SAFETY: inside the table by its size; the library updates values with atomic adds of words.
        unsafe {
            let at = start.cast::<u8>().add(nth * ENTRY);
            let name = std::slice::from_raw_parts(at, ENTRY_NAME);
            let end = name.iter().position(|b| *b == 0).unwrap_or(ENTRY_NAME);
            let value = at.add(ENTRY_VALUE).cast::<u64>().read_volatile();
            (String::from_utf8_lossy(&name[..end]).into_owned(), value)
        }
    };
    (0..entries).map(entry).collect()
}

/// The intent logs, by the library's names.
pub(crate) fn logs(library: &Library) -> Vec<(String, u64)> {
    named(library, "zil_stats", LOG_ENTRIES)
}

/// The cache.
pub(crate) fn cache(library: &Library) -> Option<ArcCounts> {
    let now = named(library, "arc_stats", CACHE_ENTRIES);
    let by_name = |wanted: &str| now.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
    let sums = library.variable("arc_sums")?;
    let row = bytes_of(sums)
        .filter(|bytes| bytes.is_multiple_of(SUMS))
        .map(|bytes| bytes / SUMS)?;
    let sum = |nth: usize| {
        // SAFETY: a row of the table, which the library adds up under its own lock.
        unsafe { (library.call.aggsum_value)(sums.cast::<u8>().add(nth * row).cast()) }
    };
    Some(ArcCounts {
        size_bytes: sum(SIZE),
        target_bytes: by_name("c")?,
        min_bytes: by_name("c_min")?,
        max_bytes: by_name("c_max")?,
        data_bytes: sum(DATA_SIZE),
        metadata_bytes: sum(METADATA_SIZE),
        hits: sum(HITS),
        misses: sum(MISSES),
        demand_data_hits: sum(DEMAND_DATA_HITS),
        demand_data_misses: sum(DEMAND_DATA_MISSES),
        prefetch_data_misses: sum(PREFETCH_DATA_MISSES),
        evictions: sum(DELETED),
        evicted_bytes: sum(EVICTED_ELIGIBLE) + sum(EVICTED_INELIGIBLE),
    })
}
