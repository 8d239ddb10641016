//! The page as it lies on storage: its header, its checksum and the check of what came back.
//!
//! Takes and gives bytes; knows nothing of files or caches. Prevents: a page that is taken for another, for an older
//! one, or for a whole one.

/// Columns of the one row in a page.
pub const COLUMNS: usize = 20;

/// Bytes before the row.
pub const HEADER_BYTES: usize = 48;

/// First bytes of every page ("ASPG", little endian).
pub const PAGE_MAGIC: u32 = 0x4750_5341;

/// The header of a page. All numbers little endian.
///
/// | bytes | content |
/// | --- | --- |
/// | 0..4 | magic `ASPG` |
/// | 4..8 | CRC32C of bytes 8 to the end of the page |
/// | 8..12 | schema |
/// | 12..16 | page number in the schema |
/// | 16..24 | version: 1 when loaded, plus 1 with each change |
/// | 24..32 | LSN: log position of the batch that holds the last change; 0 when loaded |
/// | 32..40 | identity of the database, new with each load |
/// | 40..42 | columns of the row |
/// | 42..44 | bytes of a column |
/// | 44..48 | zero |
/// | 48.. | the columns one after another, then filler |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHeader {
    /// Schema.
    pub schema: u32,
    /// Page number in the schema.
    pub page: u32,
    /// Version.
    pub version: u64,
    /// LSN of the last change.
    pub lsn: u64,
    /// Identity of the database.
    pub database: u64,
}

impl PageHeader {
    /// The header of a page that was read and verified (`Instance::read_page`).
    pub fn of(bytes: &[u8]) -> PageHeader {
        header(bytes)
    }
}

/// What is wrong with bytes that should be a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    Magic(u32),
    Checksum { stored: u32, computed: u32 },
    Database(u64),
    Address { schema: u32, page: u32 },
}

impl Mismatch {
    /// (expected, found) in words.
    pub(crate) fn words(self) -> (String, String) {
        match self {
            Mismatch::Magic(found) => ("a page".into(), format!("no page header (first bytes {found:#010x})")),
            Mismatch::Checksum { stored, computed } => (
                format!("checksum {stored:#010x}"),
                format!("content of checksum {computed:#010x} (torn or corrupt)"),
            ),
            Mismatch::Database(id) => (
                "a page of this database".into(),
                format!("a page of database {id:#018x}"),
            ),
            Mismatch::Address { schema, page } => (
                "this page".into(),
                format!("page {page} of schema {schema} (misplaced)"),
            ),
        }
    }
}

#[inline]
pub(crate) fn get_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[inline]
pub(crate) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Reads the header without checking anything.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> PageHeader {
    let head: &[u8; HEADER_BYTES] = bytes.first_chunk().expect("a page is longer than its header");
    PageHeader {
        schema: get_u32(head, 8),
        page: get_u32(head, 12),
        version: get_u64(head, 16),
        lsn: get_u64(head, 24),
        database: get_u64(head, 32),
    }
}

/// Writes the header; the checksum is left for [`seal`].
pub(crate) fn put_header(bytes: &mut [u8], header: &PageHeader, column_bytes: usize) {
    bytes[..HEADER_BYTES].fill(0);
    put_u32(bytes, 0, PAGE_MAGIC);
    put_u32(bytes, 8, header.schema);
    put_u32(bytes, 12, header.page);
    put_u64(bytes, 16, header.version);
    put_u64(bytes, 24, header.lsn);
    put_u64(bytes, 32, header.database);
    bytes[40..42].copy_from_slice(&(COLUMNS as u16).to_le_bytes());
    bytes[42..44].copy_from_slice(&(column_bytes as u16).to_le_bytes());
}

/// Records version and LSN of a change.
pub(crate) fn put_change(bytes: &mut [u8], version: u64, lsn: u64) {
    put_u64(bytes, 16, version);
    put_u64(bytes, 24, lsn);
}

/// Sets the checksum.
pub(crate) fn seal(bytes: &mut [u8]) {
    let crc = targets::crc32c(&bytes[8..]);
    put_u32(bytes, 4, crc);
}

/// Checks that the bytes are a whole page of this database, wherever they came from.
#[inline]
pub(crate) fn check_whole(bytes: &[u8], database: u64) -> Result<PageHeader, Mismatch> {
    let magic = get_u32(bytes, 0);
    if magic != PAGE_MAGIC {
        return Err(Mismatch::Magic(magic));
    }
    let stored = get_u32(bytes, 4);
    let computed = targets::crc32c(&bytes[8..]);
    if stored != computed {
        return Err(Mismatch::Checksum { stored, computed });
    }
    let header = header(bytes);
    if header.database != database {
        return Err(Mismatch::Database(header.database));
    }
    Ok(header)
}

/// Whether the bytes are a whole page of some database: magic and checksum hold. For a layer below that keeps copies
/// and must choose one.
pub fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() > HEADER_BYTES && get_u32(bytes, 0) == PAGE_MAGIC && get_u32(bytes, 4) == targets::crc32c(&bytes[8..])
}

/// Checks that the bytes are the page that was asked for.
#[inline]
pub(crate) fn check(bytes: &[u8], database: u64, schema: u32, page: u32) -> Result<PageHeader, Mismatch> {
    let header = check_whole(bytes, database)?;
    if (header.schema, header.page) != (schema, page) {
        return Err(Mismatch::Address {
            schema: header.schema,
            page: header.page,
        });
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut bytes = vec![7u8; 2048];
        let header = PageHeader {
            schema: 3,
            page: 9,
            version: 4,
            lsn: 4096,
            database: 77,
        };
        put_header(&mut bytes, &header, 96);
        seal(&mut bytes);
        bytes
    }

    #[test]
    fn a_sealed_page_checks_and_any_flipped_bit_does_not() {
        let bytes = sample();
        assert_eq!(check(&bytes, 77, 3, 9).unwrap().version, 4);
        for at in (0..bytes.len()).step_by(13) {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            assert!(check(&bad, 77, 3, 9).is_err(), "flipped byte {at}");
        }
    }

    #[test]
    fn a_page_of_another_place_or_database_is_told_apart() {
        let bytes = sample();
        assert_eq!(check(&bytes, 77, 3, 8), Err(Mismatch::Address { schema: 3, page: 9 }));
        assert_eq!(check(&bytes, 78, 3, 9), Err(Mismatch::Database(77)));
        assert_eq!(check(&vec![0; 2048], 77, 3, 9), Err(Mismatch::Magic(0)));
    }
}
