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

mod shift;
#[cfg(target_arch = "x86_64")]
mod streams;

pub use shift::Crc32cJoin;

/// Up to so many bytes, the instruction is never behind wide products, which have to be set up.
#[cfg(target_arch = "x86_64")]
const FEW: usize = 32;

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
    if (bytes.len() <= FEW || !wide_products()) && std::arch::is_x86_feature_detected!("sse4.2") {
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
