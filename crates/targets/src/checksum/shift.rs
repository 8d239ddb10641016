//! What zero bytes behind it make of a checksum, by tables. It joins the checksums of two parts.
//!
//! Prevents: bytes whose checksum is known and that are gone through again because something else comes before them.

/// CRC32C, reflected (RFC 3720).
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// What a number of zero bytes makes of a checksum, by the checksum's four bytes.
pub(super) type Shift = [[u32; 256]; 4];

/// Joins two CRC32C; the second part has a fixed length.
#[derive(Clone, Debug)]
pub struct Crc32cJoin(Box<Shift>);

impl Crc32cJoin {
    /// For second parts of `len` bytes. It takes 4 KiB.
    #[must_use]
    pub fn new(len: usize) -> Crc32cJoin {
        Crc32cJoin(Box::new(shift(len)))
    }

    /// CRC32C of both parts, one behind the other, from the CRC32C of each.
    #[must_use]
    #[inline]
    pub fn join(&self, first: u32, second: u32) -> u32 {
        shifted(&self.0, u64::from(first)) as u32 ^ second
    }
}

/// A linear map of checksums, by the images of the 32 bits.
const fn apply(map: &[u32; 32], crc: u32) -> u32 {
    let (mut result, mut bit) = (0, 0);
    while bit < 32 {
        if crc >> bit & 1 == 1 {
            result ^= map[bit];
        }
        bit += 1;
    }
    result
}

/// First `first`, then `then`.
const fn chain(first: &[u32; 32], then: &[u32; 32]) -> [u32; 32] {
    let mut both = [0; 32];
    let mut bit = 0;
    while bit < 32 {
        both[bit] = apply(then, first[bit]);
        bit += 1;
    }
    both
}

/// The table of so many zero bytes.
pub(super) const fn shift(bytes: usize) -> Shift {
    // One zero bit, doubled until it makes up all of them.
    let mut power = [0; 32];
    let mut map = [0; 32];
    power[0] = POLYNOMIAL;
    let mut bit = 0;
    while bit < 32 {
        if bit > 0 {
            power[bit] = 1 << (bit - 1);
        }
        map[bit] = 1 << bit;
        bit += 1;
    }
    let mut left = bytes * 8;
    while left > 0 {
        if left % 2 == 1 {
            map = chain(&map, &power);
        }
        power = chain(&power, &power);
        left /= 2;
    }
    let mut table = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut nth = 0;
        while nth < 4 {
            table[nth][byte] = apply(&map, (byte as u32) << (8 * nth));
            nth += 1;
        }
        byte += 1;
    }
    table
}

/// What the zero bytes of a table make of a checksum.
#[inline]
pub(super) fn shifted(table: &Shift, crc: u64) -> u64 {
    let [a, b, c, d] = (crc as u32).to_le_bytes();
    let sum = table[0][a as usize] ^ table[1][b as usize] ^ table[2][c as usize] ^ table[3][d as usize];
    u64::from(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc32c;

    #[test]
    fn joined_parts_give_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..3000u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 9) as u8)
            .collect();
        for (first, second) in [(0, 0), (16, 1004), (1, 2), (0, 7), (9, 0), (1000, 2000)] {
            let (a, b) = bytes[..first + second].split_at(first);
            let join = Crc32cJoin::new(second);
            assert_eq!(
                join.join(crc32c(a), crc32c(b)),
                crc32c(&bytes[..first + second]),
                "{first} and {second} bytes"
            );
        }
    }
}
