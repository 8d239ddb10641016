//! A port that counts what passes through it: what the engine asked, beside what the devices moved.
//!
//! Takes any port, gives it back unchanged and [`Counts`]. Prevents provenance that rests on the engine's own word.

use crate::error::TargetError;
use crate::port::{Completion, Nanos, Op, Port, Request};
use crate::{counts, left_to};

counts! {
    /// What passed through a [`CountedPort`], from its making.
    pub struct Counts {
        /// Reads submitted.
        reads,
        /// Bytes of them.
        read_bytes,
        /// Writes submitted.
        writes,
        /// Bytes of them.
        write_bytes,
        /// Flushes submitted.
        flushes,
        /// Completions that were not `Ok`.
        errors,
    }
    /// Most requests in flight at once. A difference of counts keeps the later one's: the highest up to then.
    level in_flight_max: u64::max;
}

/// Counts what passes through the port inside.
pub struct CountedPort<P> {
    inner: P,
    counts: Counts,
}

impl<P: Port> CountedPort<P> {
    /// Counts from here on.
    pub fn new(inner: P) -> CountedPort<P> {
        CountedPort {
            inner,
            counts: Counts::default(),
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The port inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// The port inside, to change.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }
}

impl<P: Port> Port for CountedPort<P> {
    left_to!(inner: now, memory, bytes, bytes_mut, alignment, depth, in_flight, size, grow, extents, waker);

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.inner.submit(request)?;
        match request.op {
            Op::Read => {
                self.counts.reads += 1;
                self.counts.read_bytes += u64::from(request.len);
            }
            Op::Write => {
                self.counts.writes += 1;
                self.counts.write_bytes += u64::from(request.len);
            }
            Op::Flush => self.counts.flushes += 1,
        }
        self.counts.in_flight_max = self.counts.in_flight_max.max(self.inner.in_flight() as u64);
        Ok(())
    }

    #[inline]
    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        let waited = self.inner.wait(min, until, done);
        self.counts.errors += done[before..].iter().filter(|c| c.result.is_err()).count() as u64;
        waited
    }
}
