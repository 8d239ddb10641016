//! Asks the processor to bring memory nearer that will be gone through soon.
//!
//! Takes bytes and gives nothing: what is in them stays as it is, whether the processor follows or not. Prevents: a
//! loop that waits for the memory of each page anew, though it has known for long which page comes next.
#![allow(unsafe_code, reason = "the instruction takes an address")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Bytes that come at once.
const LINE: usize = 64;

/// Asks for these bytes in the nearest cache, and waits for nothing. They are taken to begin where a line does, as what
/// lies in a port's memory. Where the compiler has no such instruction, nothing happens.
#[inline(always)]
pub fn prefetch(bytes: &[u8]) {
    let (lines, rest) = bytes.as_chunks::<LINE>();
    for line in lines {
        ask(&line[0]);
    }
    if let Some(first) = rest.first() {
        ask(first);
    }
}

/// Asks for the line of a byte.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unused_unsafe, reason = "older compilers ask for it")]
fn ask(byte: &u8) {
    // SAFETY: the instruction belongs to SSE, which every processor of x86-64 has. It changes nothing that a program
    // could see, and the address is that of a byte that is lent to us.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask(_: &u8) {}
