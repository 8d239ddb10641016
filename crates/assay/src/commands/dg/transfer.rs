//! Bytes between a local file and a file of a group: two windows in turn, one in flight while the other is filled or
//! emptied.
//!
//! Takes an open [`Port`] whose first file is the group's, gives the SHA-256 of what went through. Prevents: a copy
//! whose checksum was taken of other bytes than those that were moved.

use super::meter::Meter;
use anyhow::{Context, anyhow, bail};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use targets::{FileId, Op, Port, Request};

/// Bytes of one window.
const WINDOW: u64 = 8 << 20;
/// Memory that the port needs.
pub(super) const MEMORY: u64 = 2 * WINDOW;
/// Most requests in flight: both windows and a flush.
pub(super) const DEPTH: usize = (MEMORY / PART) as usize + 1;
/// Bytes of one request.
const PART: u64 = 1 << 20;
/// I/O on files of a group is in whole blocks of so many bytes.
const BLOCK: u64 = 4096;
const FLUSH: u64 = 2;
const FILE: FileId = FileId(0);

/// A transfer under way.
pub(super) struct Transfer<'a, P: Port> {
    port: &'a mut P,
    /// How the file is called in errors.
    name: &'a str,
    cancel: &'a AtomicBool,
    meter: &'a mut Meter,
    /// Requests in flight, by window, and flushes.
    flying: [usize; 3],
    fault: Option<anyhow::Error>,
    /// What a signal means for the copy.
    stopped: &'static str,
}

impl<'a, P: Port> Transfer<'a, P> {
    pub(super) fn new(port: &'a mut P, name: &'a str, cancel: &'a AtomicBool, meter: &'a mut Meter) -> Self {
        Transfer {
            port,
            name,
            cancel,
            meter,
            flying: [0; 3],
            fault: None,
            stopped: "interrupted: nothing is left of the copy\n  start it again",
        }
    }

    /// For a copy that is there and is read only to be compared.
    pub(super) fn comparing(mut self) -> Self {
        self.stopped = "interrupted while it was read back: the copy is there, and not verified\n  \
                        compare it yourself, or delete it and copy again";
        self
    }

    /// Copies `bytes` from a reader into the file and makes them durable. The rest of the last block is zeros.
    pub(super) fn fill(mut self, from: &mut impl Read, bytes: u64) -> anyhow::Result<String> {
        let mut hash = Sha256::new();
        let mut result = Ok(());
        for (nth, at) in (0..bytes).step_by(WINDOW as usize).enumerate() {
            let window = nth % 2;
            let len = WINDOW.min(bytes - at);
            result = self.settle(window).and_then(|()| self.go_on(at, bytes)).and_then(|()| {
                let start = window as u64 * WINDOW;
                let padded = len.next_multiple_of(BLOCK);
                let buffer = self.port.bytes_mut(start, padded as usize);
                let (data, rest) = buffer.split_at_mut(len as usize);
                from.read_exact(data)
                    .context("read the source: it became shorter meanwhile, or its disk fails")?;
                rest.fill(0);
                hash.update(&*data);
                self.send(Op::Write, window, at, padded)
            });
            if result.is_err() {
                break;
            }
        }
        self.end(result)?;
        self.flush()?;
        self.meter.at(bytes, bytes, None);
        Ok(hex(hash))
    }

    /// Copies the first `bytes` of the file to a writer.
    pub(super) fn empty(mut self, to: &mut impl Write, bytes: u64) -> anyhow::Result<String> {
        let mut hash = Sha256::new();
        let result = self.read_all(to, bytes, &mut hash);
        self.end(result)?;
        self.meter.at(bytes, bytes, None);
        Ok(hex(hash))
    }

    fn read_all(&mut self, to: &mut impl Write, bytes: u64, hash: &mut Sha256) -> anyhow::Result<()> {
        let ahead = |at: u64| WINDOW.min(bytes.saturating_sub(at)).next_multiple_of(BLOCK);
        for window in 0..2 {
            self.send(Op::Read, window, window as u64 * WINDOW, ahead(window as u64 * WINDOW))?;
        }
        for (nth, at) in (0..bytes).step_by(WINDOW as usize).enumerate() {
            let window = nth % 2;
            self.settle(window)?;
            self.go_on(at, bytes)?;
            let data = self.port.bytes(window as u64 * WINDOW, WINDOW.min(bytes - at) as usize);
            hash.update(data);
            to.write_all(data).context("write the destination")?;
            let next = at + 2 * WINDOW;
            self.send(Op::Read, window, next, ahead(next))?;
        }
        Ok(())
    }

    fn go_on(&mut self, done: u64, all: u64) -> anyhow::Result<()> {
        self.meter.at(done, all, None);
        if self.cancel.load(Ordering::Relaxed) {
            bail!(self.stopped);
        }
        Ok(())
    }

    /// Sends a window in parts.
    fn send(&mut self, op: Op, window: usize, offset: u64, len: u64) -> anyhow::Result<()> {
        for from in (0..len).step_by(PART as usize) {
            self.port.submit(Request {
                op,
                file: FILE,
                offset: offset + from,
                at: window as u64 * WINDOW + from,
                len: PART.min(len - from) as u32,
                token: window as u64,
            })?;
            self.flying[window] += 1;
        }
        Ok(())
    }

    /// Waits until a window is at rest.
    fn settle(&mut self, window: usize) -> anyhow::Result<()> {
        let mut done = Vec::new();
        while self.flying[window] > 0 {
            done.clear();
            self.port.wait(1, None, &mut done)?;
            for completion in &done {
                self.flying[completion.token as usize] -= 1;
                if let Err(fault) = completion.result {
                    self.fault.get_or_insert_with(|| {
                        anyhow!("I/O on {}: {fault}\n  `assay dg check` says what is damaged", self.name)
                    });
                }
            }
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Nothing may be in flight when the buffers go. The first error is the one that counts.
    fn end(&mut self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        let left = self.settle(0).and(self.settle(1));
        result.and(left)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.port.submit(Request {
            op: Op::Flush,
            file: FILE,
            offset: 0,
            at: 0,
            len: 0,
            token: FLUSH,
        })?;
        self.flying[FLUSH as usize] += 1;
        self.settle(FLUSH as usize)
    }
}

/// SHA-256 of a local file, read from the disk where the kernel can be told so.
pub(super) fn of_local(mut file: &std::fs::File, cancel: &AtomicBool) -> anyhow::Result<String> {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; PART as usize];
    loop {
        let got = file.read(&mut buffer).context("read the destination back")?;
        if got == 0 {
            return Ok(hex(hash));
        }
        if cancel.load(Ordering::Relaxed) {
            bail!("interrupted while the destination was read back\n  start again");
        }
        hash.update(&buffer[..got]);
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::{Access, OpenSpec, PsyncPort};

    #[test]
    fn what_goes_in_comes_out_and_the_checksum_is_of_it() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("file");
        let cancel = AtomicBool::new(false);
        for bytes in [
            0,
            1,
            4096,
            5000,
            WINDOW - 1,
            WINDOW,
            2 * WINDOW + 1,
            3 * WINDOW + 12_345,
        ] {
            let content: Vec<u8> = (0..bytes).map(|n| (n * n / 7) as u8).collect();
            let spec = OpenSpec::creating(&path, Access::Buffered, bytes.next_multiple_of(BLOCK));
            let mut port = PsyncPort::open(&[spec], MEMORY, DEPTH).unwrap();
            let mut meter = Meter::new("test", false);
            let written = Transfer::new(&mut port, "file", &cancel, &mut meter).fill(&mut content.as_slice(), bytes);
            let mut back = Vec::new();
            let read = Transfer::new(&mut port, "file", &cancel, &mut meter).empty(&mut back, bytes);
            assert_eq!(back, content, "{bytes} bytes");
            assert_eq!(written.unwrap(), read.unwrap(), "{bytes} bytes");
            assert!(port.in_flight() == 0);
        }
        let none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(
            hex(Sha256::new()),
            none,
            "the checksum of nothing, as sha256sum prints it"
        );
    }

    #[test]
    fn a_source_that_ends_early_and_a_signal_are_errors() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let spec = OpenSpec::creating(dir.path().join("file"), Access::Buffered, 2 * WINDOW);
        let mut port = PsyncPort::open(&[spec], MEMORY, DEPTH).unwrap();
        let mut meter = Meter::new("test", false);
        let cancel = AtomicBool::new(false);
        let short = Transfer::new(&mut port, "file", &cancel, &mut meter).fill(&mut &[1u8; 5000][..], 6000);
        assert!(short.unwrap_err().to_string().contains("read the source"));
        cancel.store(true, Ordering::Relaxed);
        let stopped = Transfer::new(&mut port, "file", &cancel, &mut meter).empty(&mut Vec::new(), 2 * WINDOW);
        assert!(stopped.unwrap_err().to_string().contains("interrupted"));
        assert_eq!(port.in_flight(), 0);
    }
}
