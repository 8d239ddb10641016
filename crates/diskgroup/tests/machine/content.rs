//! What the tests write: sectors that say which file, page, version and sector they are, and a judge that knows them.

use diskgroup::Verify;

pub(crate) const PAGE: u64 = 2048;
pub(crate) const SECTOR: usize = 512;
pub(crate) const SECTORS: usize = PAGE as usize / SECTOR;

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 32)
}

/// A number for the name of a file.
pub(crate) fn number_of(name: &str) -> u64 {
    name.bytes().fold(7, |n, b| mix(n ^ u64::from(b)))
}

/// Content of a sector; version 0 is zeros.
pub(crate) fn fill(file: u64, page: u64, sector: usize, version: u32, to: &mut [u8]) {
    if version == 0 {
        to.fill(0);
        return;
    }
    let base = mix(file ^ mix(page << 8 | sector as u64));
    to[..8].copy_from_slice(&(base ^ u64::from(version)).to_le_bytes());
    let rest = mix(base ^ u64::from(version) << 20);
    for (nth, word) in to[8..].chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&(rest.rotate_left(nth as u32) ^ nth as u64).to_le_bytes());
    }
}

/// The version of a sector; `None` when it is not one of that place.
pub(crate) fn version_of(file: u64, page: u64, sector: usize, bytes: &[u8]) -> Option<u32> {
    if bytes.iter().all(|&b| b == 0) {
        return Some(0);
    }
    let base = mix(file ^ mix(page << 8 | sector as u64));
    let word = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    let version = u32::try_from(word ^ base).ok()?;
    let mut expected = [0; SECTOR];
    fill(file, page, sector, version, &mut expected);
    (bytes == expected).then_some(version)
}

/// Versions of all sectors of a page.
pub(crate) fn versions_of(file: u64, page: u64, bytes: &[u8]) -> Option<[u32; SECTORS]> {
    let mut versions = [0; SECTORS];
    for (sector, version) in versions.iter_mut().enumerate() {
        *version = version_of(file, page, sector, &bytes[sector * SECTOR..(sector + 1) * SECTOR])?;
    }
    Some(versions)
}

/// Knows pages whose sectors are all of one version.
pub(crate) struct Judge;

impl Verify for Judge {
    fn page_bytes(&self, _file: &str) -> u32 {
        PAGE as u32
    }

    fn is_good(&self, file: &str, offset: u64, page: &[u8]) -> bool {
        let versions = versions_of(number_of(file), offset / PAGE, page);
        versions.is_some_and(|v| v.iter().all(|n| *n == v[0]))
    }
}
