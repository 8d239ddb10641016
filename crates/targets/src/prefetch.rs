//! Asks the processor to bring memory nearer that will be read soon.
//!
//! Takes bytes and gives nothing: what is in them stays as it is, whether the processor follows or not. Prevents: a
//! loop that waits for the memory of each page, though it knows which page comes next.
#![allow(unsafe_code, reason = "the instruction takes an address")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Bytes of a page that are worth asking for ahead: the processor's own prefetcher finds the rest. To ask for the whole
/// page gains less (`benches/versus`, section floor).
pub const PREFETCH_BYTES: usize = 256;
/// Bytes that come at once.
const LINE: usize = 64;

/// Asks for these bytes in the nearest cache, and waits for nothing. They are taken to begin where a line does, as what
/// lies in a port's memory. Where the compiler has no such instruction, nothing happens.
#[inline(always)]
pub fn prefetch(bytes: &[u8]) {
    // Of a length that is known when this is compiled, no loop is left; stepping over single bytes leaves one.
    for line in bytes.chunks(LINE) {
        ask(&line[0]);
    }
}

/// Asks for the line of a byte.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unused_unsafe, reason = "compilers older than 1.95 ask for it")]
fn ask(byte: &u8) {
    // SAFETY: the instruction belongs to SSE, which every processor of x86-64 has. It changes nothing that a program
    // could see, and the address is that of a byte that is lent to us.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask(_: &u8) {}
