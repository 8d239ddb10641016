//! CRC32C at the cost of little more than one instruction per 8 bytes.
//!
//! Three streams run side by side, because the processor's instruction has a latency of three cycles, and are joined by
//! tables (the method of Gopal and others, Intel 2011). Where the instruction is missing the crate `crc32c` serves. Prevents:
//! an engine that spends more on checking a page than on everything else about it.
#![allow(
    unsafe_code,
    reason = "one call into code that needs SSE 4.2, after asking the processor for it"
)]

/// CRC32C of the bytes.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// CRC32C of what gave `crc`, followed by the bytes.
pub(crate) fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has just said that it has SSE 4.2, all that this function needs.
        return unsafe { streams::append(crc, bytes) };
    }
    ::crc32c::crc32c_append(crc, bytes)
}

#[cfg(target_arch = "x86_64")]
mod streams {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

    /// CRC32C, reflected (RFC 3720).
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    /// log2 of a stream's bytes, for long and for short stretches.
    const LONG: u32 = 10;
    const SHORT: u32 = 7;
    /// Bytes handled per turn of the loop and stream.
    const TURN: usize = 32;

    /// What `1 << log2` zero bytes make of a checksum, by the checksum's four bytes.
    type Shift = [[u32; 256]; 4];
    static LONG_SHIFT: Shift = shift(LONG);
    static SHORT_SHIFT: Shift = shift(SHORT);

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

    const fn shift(log2_bytes: u32) -> Shift {
        // One zero bit, then doubled: 3 times for a byte, `log2_bytes` times for all.
        let mut map = [0; 32];
        map[0] = POLYNOMIAL;
        let mut bit = 1;
        while bit < 32 {
            map[bit] = 1 << (bit - 1);
            bit += 1;
        }
        let mut doubled = 0;
        while doubled < 3 + log2_bytes {
            let once = map;
            let mut bit = 0;
            while bit < 32 {
                map[bit] = apply(&once, once[bit]);
                bit += 1;
            }
            doubled += 1;
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

    #[inline]
    fn word(turn: &[u8; TURN], nth: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&turn[nth * 8..nth * 8 + 8]);
        u64::from_le_bytes(word)
    }

    /// As many stretches of three streams as fit; gives checksum and what is left.
    #[inline]
    #[target_feature(enable = "sse4.2")]
    fn three<'a>(mut crc: u64, mut bytes: &'a [u8], log2: u32, table: &Shift) -> (u64, &'a [u8]) {
        let stream = 1usize << log2;
        while let Some((stretch, rest)) = bytes.split_at_checked(3 * stream) {
            let (first, others) = stretch.split_at(stream);
            let (second, third) = others.split_at(stream);
            let (mut crc_second, mut crc_third) = (0, 0);
            let turns = first.as_chunks::<TURN>().0.iter().zip(second.as_chunks::<TURN>().0);
            for ((a, b), c) in turns.zip(third.as_chunks::<TURN>().0) {
                for nth in 0..TURN / 8 {
                    crc = _mm_crc32_u64(crc, word(a, nth));
                    crc_second = _mm_crc32_u64(crc_second, word(b, nth));
                    crc_third = _mm_crc32_u64(crc_third, word(c, nth));
                }
            }
            crc = shifted(table, crc) ^ crc_second;
            crc = shifted(table, crc) ^ crc_third;
            bytes = rest;
        }
        (crc, bytes)
    }

    #[target_feature(enable = "sse4.2")]
    pub(super) fn append(crc: u32, bytes: &[u8]) -> u32 {
        let crc = u64::from(!crc);
        let (crc, rest) = three(crc, bytes, LONG, &LONG_SHIFT);
        let (mut crc, rest) = three(crc, rest, SHORT, &SHORT_SHIFT);
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
