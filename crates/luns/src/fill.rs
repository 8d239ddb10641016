//! Writing a LUN in full with data that no layer can make smaller.
//!
//! Takes an open file or device (direct I/O), its size and a seed; gives the same bytes for the same seed on any
//! machine. Each MiB has a generator of its own, so that several threads write at once and keep a disk busy, and no two
//! MiB are alike. Prevents a LUN that a disk, an array or a file system below it compresses, deduplicates or never
//! writes.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;

/// Bytes written by one call: large enough to be sequential for a disk, small enough to stop soon.
pub(crate) const CHUNK: u64 = 1 << 20;
/// Writes in flight.
const WRITERS: usize = 4;
/// Direct I/O wants memory aligned to this.
const ALIGNMENT: usize = 4096;

/// Why a fill ended early.
pub(crate) enum Stopped {
    /// Told to.
    Cancelled,
    /// The kernel refused.
    Failed(io::Error),
}

/// A megabyte aligned for direct I/O, without `unsafe`: a little more is taken and the aligned part used.
struct Buffer {
    memory: Vec<u8>,
    start: usize,
}

impl Buffer {
    fn new() -> Buffer {
        let memory = vec![0u8; CHUNK as usize + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Buffer { memory, start }
    }
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + CHUNK as usize]
    }
}

/// The content of one chunk: a function of the seed and the chunk's number alone.
pub(crate) fn content(seed: u64, chunk: u64, out: &mut [u8]) {
    // An odd multiplier spreads neighbouring chunk numbers over all bits of the seed.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ chunk.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let (words, rest) = out.as_chunks_mut::<8>();
    for word in words {
        *word = random.next_u64().to_le_bytes();
    }
    random.fill_bytes(rest);
}

/// Writes `bytes` from offset 0. `progress` gets the bytes written so far, on the calling thread.
pub(crate) fn fill(
    file: &OwnedFd,
    bytes: u64,
    seed: u64,
    progress: &mut dyn FnMut(u64),
    cancel: &AtomicBool,
) -> Result<(), Stopped> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let (sent, reports) = mpsc::channel::<io::Result<u64>>();
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            let (sent, next, stop) = (sent.clone(), &next, &stop);
            scope.spawn(move || {
                let mut buffer = Buffer::new();
                while !stop.load(Relaxed) && !cancel.load(Relaxed) {
                    let chunk = next.fetch_add(1, Relaxed);
                    let offset = chunk * CHUNK;
                    if offset >= bytes {
                        return;
                    }
                    let len = CHUNK.min(bytes - offset) as usize;
                    let data = &mut buffer.bytes()[..len];
                    content(seed, chunk, data);
                    let result = write_whole(file, data, offset).map(|()| len as u64);
                    stop.fetch_or(result.is_err(), Relaxed);
                    if sent.send(result).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sent);
        let mut written = 0;
        for report in reports {
            written += report.map_err(Stopped::Failed)?;
            progress(written);
        }
        if written < bytes {
            Err(Stopped::Cancelled)
        } else {
            Ok(())
        }
    })
}

fn write_whole(file: &OwnedFd, mut data: &[u8], mut offset: u64) -> io::Result<()> {
    while !data.is_empty() {
        match rustix::io::pwrite(file, data, offset) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(n) => {
                data = &data[n..];
                offset += n as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_bytes_and_another_seed_or_chunk_others() {
        let make = |seed, chunk| {
            let mut out = vec![0u8; 4099];
            content(seed, chunk, &mut out);
            out
        };
        assert_eq!(make(1, 0), make(1, 0));
        assert_ne!(make(1, 0), make(1, 1));
        assert_ne!(make(1, 0), make(2, 0));
    }

    #[test]
    fn every_byte_value_comes_about_as_often_as_any_other() {
        let mut out = vec![0u8; 1 << 20];
        content(7, 3, &mut out);
        let mut counts = [0u64; 256];
        out.iter().for_each(|b| counts[*b as usize] += 1);
        // Chi-square with 255 degrees of freedom: mean 255, standard deviation sqrt(510) = 22.6; six deviations each
        // way.
        let expected = (1u64 << 20) as f64 / 256.0;
        let chi: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        assert!((119.0..391.0).contains(&chi), "chi-square {chi}");
    }
}
