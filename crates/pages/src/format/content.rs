//! What stands in a page: a pure function of shape, address and version.
//!
//! Gives the loaded content, the columns that a change writes, and with them the expected content of any version.
//! Prevents: zeros that compress well when nobody asked for that, and a check that can only compare checksums.

use crate::format::page::{COLUMNS, HEADER_BYTES, PageHeader, put_header, seal};
use crate::format::shape::Shape;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Filler alternates random and constant bytes in cells of this size.
const FILLER_CELL: usize = 512;
/// Contents that duplicated pages share.
const DUPLICATES: u64 = 16;

/// Finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the result depends on every bit of `x`.
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Generator of page content for one shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    seed: u64,
    /// Random bytes per `FILLER_CELL` and per column.
    filler_random: usize,
    column_random: usize,
    column_bytes: usize,
    duplicate_below: u64,
}

impl Content {
    pub(crate) fn new(shape: &Shape) -> Content {
        let share = 1.0 / shape.compressibility;
        let column_bytes = shape.column_bytes();
        Content {
            seed: mix(shape.seed ^ GOLDEN),
            filler_random: (FILLER_CELL as f64 * share).round() as usize,
            column_random: (column_bytes as f64 * share).round() as usize,
            column_bytes,
            duplicate_below: (shape.duplication * u64::MAX as f64) as u64,
        }
    }

    fn page_key(&self, schema: u32, page: u32) -> u64 {
        mix(self.seed ^ (u64::from(schema) << 32 | u64::from(page)).wrapping_mul(GOLDEN))
    }

    /// Key of the loaded content: shared between duplicates.
    fn loaded_key(&self, schema: u32, page: u32) -> u64 {
        let key = self.page_key(schema, page);
        if mix(key) < self.duplicate_below {
            mix(self.seed.wrapping_add(key % DUPLICATES + 1))
        } else {
            key
        }
    }

    /// Bytes of a column.
    pub(crate) fn column_bytes(&self) -> usize {
        self.column_bytes
    }

    /// Writes the page as loaded: version 1, sealed.
    pub(crate) fn load(&self, bytes: &mut [u8], schema: u32, page: u32, database: u64) {
        let key = self.loaded_key(schema, page);
        let row_end = HEADER_BYTES + COLUMNS * self.column_bytes;
        for column in 0..COLUMNS {
            let at = HEADER_BYTES + column * self.column_bytes;
            fill(
                &mut bytes[at..at + self.column_bytes],
                mix(key ^ (column as u64 + 1)),
                self.column_random,
            );
        }
        for (cell, chunk) in bytes[row_end..].chunks_mut(FILLER_CELL).enumerate() {
            let random = self.filler_random * chunk.len() / FILLER_CELL;
            fill(chunk, mix(key ^ (cell as u64 + 1) << 32), random);
        }
        put_header(
            bytes,
            &PageHeader {
                schema,
                page,
                version: 1,
                lsn: 0,
                database,
            },
            self.column_bytes,
        );
        seal(bytes);
    }

    /// The columns that the change to `version` writes, as a bitmap: 2 (lite) or 19 (heavy) of them.
    pub(crate) fn changed_columns(&self, schema: u32, page: u32, version: u64, heavy: bool) -> u32 {
        let pick = (mix(self.page_key(schema, page).wrapping_add(version)) % COLUMNS as u64) as u32;
        let all = (1u32 << COLUMNS) - 1;
        let other = (pick + COLUMNS as u32 / 2) % COLUMNS as u32;
        if heavy {
            all & !(1 << pick)
        } else {
            1 << pick | 1 << other
        }
    }

    /// Key of what the change to `version` writes.
    pub(crate) fn version_key(&self, schema: u32, page: u32, version: u64) -> u64 {
        self.page_key(schema, page) ^ version.wrapping_mul(GOLDEN)
    }

    /// Writes the bytes of a column as of the change with this key; `out` is one column long.
    pub(crate) fn column(&self, out: &mut [u8], key: u64, column: u32) {
        fill(out, mix(key ^ (u64::from(column) + 101)), self.column_random);
    }
}

/// Fills the first `random` bytes from a counter-based generator, the rest with zeros.
fn fill(out: &mut [u8], key: u64, random: usize) {
    let random = random.min(out.len());
    let (head, tail) = out.split_at_mut(random);
    let mut state = key;
    let mut words = head.chunks_exact_mut(8);
    for word in &mut words {
        state = state.wrapping_add(GOLDEN);
        word.copy_from_slice(&mix(state).to_le_bytes());
    }
    let rest = words.into_remainder();
    let last = mix(state.wrapping_add(GOLDEN)).to_le_bytes();
    let n = rest.len();
    rest.copy_from_slice(&last[..n]);
    tail.fill(0);
}

/// The row and filler (all after the header) that a page must hold at `version`, when every change so far was of the
/// same weight. For checking from outside.
pub fn expected_body(shape: &Shape, schema: u32, page: u32, version: u64, heavy: bool) -> Vec<u8> {
    let content = Content::new(shape);
    let mut bytes = vec![0; shape.page_bytes as usize];
    content.load(&mut bytes, schema, page, 0);
    for v in 2..=version {
        let columns = content.changed_columns(schema, page, v, heavy);
        let key = content.version_key(schema, page, v);
        for column in (0..COLUMNS as u32).filter(|c| columns & 1 << c != 0) {
            let at = HEADER_BYTES + column as usize * content.column_bytes;
            content.column(&mut bytes[at..at + content.column_bytes], key, column);
        }
    }
    bytes.split_off(HEADER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(compressibility: f64, duplication: f64) -> Shape {
        Shape {
            page_bytes: 8192,
            schemas: 4,
            pages_per_schema: 100,
            seed: 5,
            compressibility,
            duplication,
        }
    }

    fn loaded(shape: &Shape, schema: u32, page: u32) -> Vec<u8> {
        expected_body(shape, schema, page, 1, false)
    }

    #[test]
    fn incompressible_content_has_no_runs_of_zeros_and_half_compressible_has_half() {
        let zeros = |c: f64| loaded(&shape(c, 0.0), 1, 1).iter().filter(|b| **b == 0).count();
        assert!(zeros(1.0) < 80, "{}", zeros(1.0));
        assert!((3900..4250).contains(&zeros(2.0)), "{}", zeros(2.0));
    }

    #[test]
    fn pages_differ_unless_duplication_is_asked_for() {
        let plain = shape(1.0, 0.0);
        assert_ne!(loaded(&plain, 0, 1), loaded(&plain, 0, 2));
        assert_ne!(loaded(&plain, 0, 1), loaded(&plain, 1, 1));
        let double = shape(1.0, 0.5);
        let distinct: std::collections::HashSet<Vec<u8>> = (0..4)
            .flat_map(|s| (0..100).map(move |p| (s, p)))
            .map(|(s, p)| loaded(&double, s, p))
            .collect();
        assert!((180..260).contains(&distinct.len()), "{}", distinct.len());
    }

    #[test]
    fn a_lite_change_writes_two_columns_and_a_heavy_one_nineteen() {
        let content = Content::new(&shape(1.0, 0.0));
        for v in 2..50 {
            assert_eq!(content.changed_columns(1, 2, v, false).count_ones(), 2);
            assert_eq!(content.changed_columns(1, 2, v, true).count_ones(), 19);
        }
        assert_ne!(
            expected_body(&shape(1.0, 0.0), 1, 2, 2, false),
            expected_body(&shape(1.0, 0.0), 1, 2, 3, false)
        );
    }
}
