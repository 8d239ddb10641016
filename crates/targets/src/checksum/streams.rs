//! CRC32C by the processor's instruction, in three streams.
//!
//! Prevents: waiting for the instruction's three cycles at each word.

use super::shift::{Shift, shift, shifted};
use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

/// Bytes handled per turn of the loop and stream: eleven turns are a stream of an 8 KiB page, nothing is left over.
const TURN: usize = 248;

/// Lengths of a stream, longest first: a page of 1 to 32 KiB without its first 8 bytes is three streams and at most
/// one word.
const STREAMS: [usize; 7] = [10_920, 5_456, 2_728, 1_360, 680, 336, 128];
static SHIFTS: [Shift; 7] = [
    shift(STREAMS[0]),
    shift(STREAMS[1]),
    shift(STREAMS[2]),
    shift(STREAMS[3]),
    shift(STREAMS[4]),
    shift(STREAMS[5]),
    shift(STREAMS[6]),
];

/// Three streams side by side.
#[inline]
#[target_feature(enable = "sse4.2")]
fn three(crc: u64, stretch: &[u8], stream: usize, table: &Shift) -> u64 {
    let (first, others) = stretch.split_at(stream);
    let (second, third) = others.split_at(stream);
    let mut crcs = [crc, 0, 0];
    let (first, first_rest) = first.as_chunks::<TURN>();
    let (second, second_rest) = second.as_chunks::<TURN>();
    let (third, third_rest) = third.as_chunks::<TURN>();
    for ((a, b), c) in first.iter().zip(second).zip(third) {
        let (a, b, c) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0, c.as_chunks::<8>().0);
        for nth in 0..TURN / 8 {
            crcs[0] = _mm_crc32_u64(crcs[0], u64::from_le_bytes(a[nth]));
            crcs[1] = _mm_crc32_u64(crcs[1], u64::from_le_bytes(b[nth]));
            crcs[2] = _mm_crc32_u64(crcs[2], u64::from_le_bytes(c[nth]));
        }
    }
    let rest = first_rest.as_chunks::<8>().0.iter().zip(second_rest.as_chunks::<8>().0);
    for ((a, b), c) in rest.zip(third_rest.as_chunks::<8>().0) {
        crcs[0] = _mm_crc32_u64(crcs[0], u64::from_le_bytes(*a));
        crcs[1] = _mm_crc32_u64(crcs[1], u64::from_le_bytes(*b));
        crcs[2] = _mm_crc32_u64(crcs[2], u64::from_le_bytes(*c));
    }
    shifted(table, shifted(table, crcs[0]) ^ crcs[1]) ^ crcs[2]
}

#[target_feature(enable = "sse4.2")]
pub(super) fn append(crc: u32, bytes: &[u8]) -> u32 {
    let mut crc = u64::from(!crc);
    let mut rest = bytes;
    for (stream, table) in STREAMS.iter().zip(&SHIFTS) {
        while let Some((stretch, behind)) = rest.split_at_checked(3 * stream) {
            crc = three(crc, stretch, *stream, table);
            rest = behind;
        }
    }
    let (words, tail) = rest.as_chunks::<8>();
    for word in words {
        crc = _mm_crc32_u64(crc, u64::from_le_bytes(*word));
    }
    let mut crc = crc as u32;
    for byte in tail {
        crc = _mm_crc32_u8(crc, *byte);
    }
    !crc
}
