//! How the group asks the engine above whether a page is good.
//!
//! Only used off the straight path: when copies differ, and on reads of mirrored files by ports that were given it.
//! Prevents: a bad copy that is taken for the good one because it is the first.

/// Knows good pages from bad ones. Pages that were never written (all zeros) are good.
pub trait Verify: Send + Sync {
    /// Bytes of a page of this file: a power of two of at least 512 that no stripe or extent cuts; 0 where the file has
    /// no pages.
    fn page_bytes(&self, file: &str) -> u32;

    /// Whether this is what page `offset / page_bytes` of the file can hold.
    fn is_good(&self, file: &str, offset: u64, page: &[u8]) -> bool;
}
