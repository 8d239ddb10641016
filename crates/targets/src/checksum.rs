//! CRC32C, the checksum of every layout on disk in this house, at the cost of little more than one instruction per 8
//! bytes, or less.
//!
//! A processor with wide carry-less products (AVX-512) does a page in half the time of its own CRC instruction; there,
//! and where there is no such instruction, the crate `crc-fast` serves. Else three streams run side by side, because
//! the instruction has a latency of three cycles, and are joined by tables (the method of Gopal and others, Intel
//! 2011). Prevents: an engine that spends more on checking a page than on everything else about it.
#![allow(
    unsafe_code,
    reason = "one call into code that needs SSE 4.2, after asking the processor for it"
)]

/// CRC32C of the bytes.
#[must_use]
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// CRC32C of what gave `crc`, followed by the bytes.
#[must_use]
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if !wide_products() && std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has just said that it has SSE 4.2, all that this function needs.
        return unsafe { streams::append(crc, bytes) };
    }
    by_crate(crc, bytes)
}

#[inline(never)]
fn by_crate(crc: u32, bytes: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new_with_init_state(crc_fast::CrcAlgorithm::Crc32Iscsi, u64::from(!crc));
    digest.update(bytes);
    digest.finalize() as u32
}

/// The last of the features that `crc-fast` asks for; a processor that has it has the others.
#[cfg(target_arch = "x86_64")]
fn wide_products() -> bool {
    std::arch::is_x86_feature_detected!("vpclmulqdq") && std::arch::is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
mod streams {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

    /// CRC32C, reflected (RFC 3720).
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    /// Bytes handled per turn of the loop and stream: eleven turns are a stream of an 8 KiB page, nothing is left over.
    const TURN: usize = 248;

    /// What a number of zero bytes makes of a checksum, by the checksum's four bytes.
    type Shift = [[u32; 256]; 4];

    /// Lengths of a stream, longest first: a page of 2 to 32 KiB without its first 8 bytes is three streams and at most
    /// one word.
    const STREAMS: [usize; 6] = [10_920, 5_456, 2_728, 1_360, 680, 128];
    static SHIFTS: [Shift; 6] = [
        shift(STREAMS[0]),
        shift(STREAMS[1]),
        shift(STREAMS[2]),
        shift(STREAMS[3]),
        shift(STREAMS[4]),
        shift(STREAMS[5]),
    ];

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

    const fn shift(bytes: usize) -> Shift {
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

    #[inline]
    fn shifted(table: &Shift, crc: u64) -> u64 {
        let [a, b, c, d] = (crc as u32).to_le_bytes();
        let sum = table[0][a as usize] ^ table[1][b as usize] ^ table[2][c as usize] ^ table[3][d as usize];
        u64::from(sum)
    }

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
}

#[cfg(test)]
mod tests {
    /// The streams are not what serves where the processor has better.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_streams_give_what_the_reference_gives() {
        if !std::arch::is_x86_feature_detected!("sse4.2") {
            return;
        }
        let bytes: Vec<u8> = (0..33_000u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8)
            .collect();
        for len in (0..700).chain([1023, 2040, 3071, 3072, 3073, 4088, 8184, 16_376, 32_760]) {
            // SAFETY: the processor has SSE 4.2, as was just asked.
            let found = unsafe { super::streams::append(77, &bytes[3..3 + len]) };
            assert_eq!(found, crc32c::crc32c_append(77, &bytes[3..3 + len]), "{len} bytes");
        }
    }

    #[test]
    fn every_length_gives_what_the_reference_gives() {
        let bytes: Vec<u8> = (0..40_000u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        assert_eq!(
            super::crc32c(b"123456789"),
            0xE306_9283,
            "the check value of RFC 3720's polynomial"
        );
        for len in (0..700).chain([1023, 2040, 3071, 3072, 3073, 4088, 8184, 16_376, 32_760]) {
            for start in [0, 1, 8] {
                let part = &bytes[start..start + len];
                assert_eq!(super::crc32c(part), crc32c::crc32c(part), "{len} bytes from {start}");
                assert_eq!(super::crc32c_append(77, part), crc32c::crc32c_append(77, part));
            }
        }
    }
}
