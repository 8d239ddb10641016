//! The server's side of a port: threads that take requests from the ring and do them in the pool.
//!
//! A read or write of the library blocks its thread, so a port has as many threads as it may have requests in flight,
//! up to a limit; those without work sleep in the kernel. Prevents: a device queue that is shorter than what the engine
//! asked for.
#![allow(unsafe_code)]

use crate::message::{FileName, PortShape};
use crate::openzfs::file::{Ended, File};
use crate::rings::{Entry, Rings};
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use targets::{IoFault, Op};

/// Most threads of a port: more requests than this wait in the ring.
const THREADS_MAX: u32 = 64;
/// The library's call chains are made for kernel stacks of 16 KiB; ours add little.
const STACK_BYTES: usize = 512 << 10;

/// A port that is open.
pub(crate) struct Serving {
    rings: Arc<Rings>,
    files: Arc<Vec<Arc<File>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Serving {
    pub(crate) fn start(
        memory: OwnedFd,
        bell: OwnedFd,
        shape: PortShape,
        files: Vec<Arc<File>>,
    ) -> io::Result<Serving> {
        let rings = Arc::new(Rings::map(memory, shape)?);
        let (files, bell) = (Arc::new(files), Arc::new(bell));
        let mut serving = Serving {
            rings,
            files,
            threads: Vec::new(),
        };
        for nth in 0..shape.depth.clamp(1, THREADS_MAX) {
            let (rings, files, bell) = (
                Arc::clone(&serving.rings),
                Arc::clone(&serving.files),
                Arc::clone(&bell),
            );
            let work = move || {
                while let Some(entry) = rings.take() {
                    let result = perform(&rings, &files, &entry);
                    if rings.complete(entry.slot, result) {
                        let _ = rustix::io::write(&*bell, &1u64.to_ne_bytes());
                    }
                }
            };
            let thread = std::thread::Builder::new()
                .name(format!("port-{nth}"))
                .stack_size(STACK_BYTES);
            serving.threads.push(thread.spawn(work)?);
        }
        Ok(serving)
    }

    /// Whether it has this file open.
    pub(crate) fn uses(&self, name: &FileName) -> bool {
        self.files.iter().any(|file| file.name == *name)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.rings.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Does one request.
fn perform(rings: &Rings, files: &[Arc<File>], entry: &Entry) -> Result<(), IoFault> {
    let file = files
        .get(usize::from(entry.file.0))
        .ok_or(IoFault::Errno(libc::EBADF))?;
    if entry.op == Op::Flush {
        file.flush();
        return Ok(());
    }
    let place = rings
        .place(entry.at, u64::from(entry.len))
        .ok_or(IoFault::Errno(libc::EFAULT))?;
    // SAFETY: the range is inside the port's memory, and until its completion nobody else touches it.
    let ended = unsafe {
        match entry.op {
            Op::Read => file.read(entry.offset, entry.len, place.as_ptr()),
            _ => file.write(entry.offset, entry.len, place.as_ptr()),
        }
    };
    ended.map_err(|ended| match ended {
        // The library's own errno for a wrong checksum (EBADE on Linux) says nothing to others.
        Ended::Errno(libc::EBADE) => IoFault::Errno(libc::EIO),
        Ended::Errno(errno) => IoFault::Errno(errno),
        Ended::Short(got) => IoFault::Short { got, wanted: entry.len },
    })
}
