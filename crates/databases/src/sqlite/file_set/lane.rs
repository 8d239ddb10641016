//! Blocking I/O of SQLite over a port that is not: single reads at any offset, writes that are sent and waited for
//! later.
//!
//! Takes a port, gives reads of any bytes (the blocks around them are read, the bytes wanted copied out) and writes of
//! whole blocks from numbered buffers of the port's memory. A write that fails breaks the lane for good: SQLite takes a
//! page for written when its call returned, and would otherwise read the old one back. Prevents: unaligned direct I/O,
//! and a lost write that nobody hears of.

use super::layout::BLOCK;
use crate::sqlite::counts::Counters;
use crate::sqlite::error::SqliteError;
use std::sync::Arc;
use targets::{Completion, FileId, IoFault, Op, Port, Request};

/// The largest read that goes to the port in one piece.
pub(crate) const SCRATCH: u64 = 128 << 10;
/// Bytes of a write buffer: the largest write in one piece.
pub(crate) const BUFFER: u64 = 128 << 10;

const READ: u64 = 1 << 32;
const FLUSH: u64 = 2 << 32;
const HEAD: u64 = 3 << 32;

/// A write that was sent and has not been heard of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InFlight {
    pub(crate) file: FileId,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A port and what is under way on it.
pub(crate) struct Lane<P> {
    port: P,
    counters: Arc<Counters>,
    done: Vec<Completion>,
    in_flight: Vec<Option<InFlight>>,
    free: Vec<usize>,
    /// How the read, flush or head under way ended.
    ended: Option<Result<(), IoFault>>,
    /// The first write that failed, in words, and whether for lack of room.
    broken: Option<(String, bool)>,
}

fn down(offset: u64) -> u64 {
    offset / BLOCK * BLOCK
}

fn up(offset: u64) -> u64 {
    offset.div_ceil(BLOCK) * BLOCK
}

impl<P: Port> Lane<P> {
    /// `buffers`: least number of write buffers; a lane for reading needs none.
    pub(crate) fn new(port: P, counters: Arc<Counters>, buffers: u64) -> Result<Lane<P>, SqliteError> {
        let (memory, depth, alignment) = (port.memory(), port.depth(), port.alignment());
        let needed = SCRATCH + buffers * BUFFER;
        let fits =
            memory >= needed && depth as u64 > buffers.min(1) && BLOCK.is_multiple_of(u64::from(alignment.max(1)));
        if !fits {
            return Err(SqliteError::Port {
                memory,
                depth,
                alignment,
                needed,
            });
        }
        let have = if buffers == 0 {
            0
        } else {
            ((memory - SCRATCH) / BUFFER) as usize
        };
        Ok(Lane {
            port,
            counters,
            done: Vec::new(),
            in_flight: vec![None; have],
            free: (0..have).rev().collect(),
            ended: None,
            broken: None,
        })
    }

    pub(crate) fn port(&self) -> &P {
        &self.port
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    pub(crate) fn into_port(self) -> P {
        self.port
    }

    /// An error once a write has failed.
    pub(crate) fn check(&self) -> Result<(), SqliteError> {
        match &self.broken {
            Some((why, full)) => Err(SqliteError::Failed {
                why: why.clone(),
                full: *full,
            }),
            None => Ok(()),
        }
    }

    pub(crate) fn break_off(&mut self, why: &SqliteError) {
        self.broken.get_or_insert_with(|| {
            let words = why.to_string().lines().next().unwrap_or_default().to_string();
            (words, why.is_full())
        });
    }

    /// Fills `to` from byte `offset` of a file, which is at least so long.
    pub(crate) fn read(&mut self, file: FileId, offset: u64, to: &mut [u8]) -> Result<(), SqliteError> {
        let mut done = 0;
        while done < to.len() {
            let at = offset + done as u64;
            let from = down(at);
            let len = (up(offset + to.len() as u64) - from).min(SCRATCH);
            let skip = (at - from) as usize;
            let take = (len as usize - skip).min(to.len() - done);
            // Its own write may still be on its way.
            self.settle(file, from, from + len)?;
            self.counters.read(len);
            self.once(Request {
                op: Op::Read,
                file,
                offset: from,
                at: 0,
                len: len as u32,
                token: READ,
            })?
            .map_err(|fault| io("read", file, fault))?;
            to[done..done + take].copy_from_slice(self.port.bytes(skip as u64, take));
            done += take;
        }
        Ok(())
    }

    /// Writes one block of up to [`BLOCK`] bytes, the rest zeros, and waits for it.
    pub(crate) fn write_block(&mut self, file: FileId, offset: u64, bytes: &[u8]) -> Result<(), SqliteError> {
        self.settle(file, offset, offset + BLOCK)?;
        let block = self.port.bytes_mut(0, BLOCK as usize);
        block.fill(0);
        block[..bytes.len()].copy_from_slice(bytes);
        self.counters.write(BLOCK);
        let ended = self.once(Request {
            op: Op::Write,
            file,
            offset,
            at: 0,
            len: BLOCK as u32,
            token: HEAD,
        })?;
        self.or_break(ended.map_err(|fault| io("write", file, fault)))
    }

    /// Makes everything durable that was written to a file.
    pub(crate) fn flush(&mut self, file: FileId) -> Result<(), SqliteError> {
        self.settle(file, 0, u64::MAX)?;
        self.counters.flush();
        let ended = self.once(Request {
            op: Op::Flush,
            file,
            offset: 0,
            at: 0,
            len: 0,
            token: FLUSH,
        })?;
        self.or_break(ended.map_err(|fault| io("flush", file, fault)))
    }

    /// A write buffer, after waiting for one if need be.
    pub(crate) fn buffer(&mut self) -> Result<usize, SqliteError> {
        loop {
            if let Some(buffer) = self.free.pop() {
                return Ok(buffer);
            }
            self.wait()?;
        }
    }

    fn place(buffer: usize) -> u64 {
        SCRATCH + buffer as u64 * BUFFER
    }

    pub(crate) fn bytes(&self, buffer: usize, from: u64, len: u64) -> &[u8] {
        self.port.bytes(Self::place(buffer) + from, len as usize)
    }

    pub(crate) fn bytes_mut(&mut self, buffer: usize, from: u64, len: u64) -> &mut [u8] {
        self.port.bytes_mut(Self::place(buffer) + from, len as usize)
    }

    /// Gives a buffer back unsent.
    pub(crate) fn give_back(&mut self, buffer: usize) {
        self.free.push(buffer);
    }

    /// Sends a buffer's first bytes to the file; whole blocks. Who needs them there calls [`Lane::settle`].
    pub(crate) fn send(&mut self, buffer: usize, write: InFlight) -> Result<(), SqliteError> {
        self.settle(write.file, write.from, write.to)?;
        while self.port.in_flight() + 1 >= self.port.depth() {
            self.wait()?;
        }
        let len = write.to - write.from;
        self.counters.write(len);
        self.in_flight[buffer] = Some(write);
        let sent = self.port.submit(Request {
            op: Op::Write,
            file: write.file,
            offset: write.from,
            at: Self::place(buffer),
            len: len as u32,
            token: buffer as u64,
        });
        self.or_break(sent.map_err(SqliteError::from))
    }

    /// Waits until no write to these bytes is under way.
    pub(crate) fn settle(&mut self, file: FileId, from: u64, to: u64) -> Result<(), SqliteError> {
        let there = |w: &InFlight| w.file == file && w.from < to && from < w.to;
        while self.in_flight.iter().flatten().any(there) {
            self.wait()?;
        }
        self.check()
    }

    pub(crate) fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.in_flight.iter().flatten()
    }

    fn once(&mut self, request: Request) -> Result<Result<(), IoFault>, SqliteError> {
        while self.port.in_flight() >= self.port.depth() {
            self.wait()?;
        }
        self.ended = None;
        let sent = self.port.submit(request).map_err(SqliteError::from);
        self.or_break(sent)?;
        loop {
            if let Some(ended) = self.ended.take() {
                return Ok(ended);
            }
            self.wait()?;
        }
    }

    /// Waits for something to end. With an error nothing is under way any more, so the port can go elsewhere.
    fn wait(&mut self) -> Result<(), SqliteError> {
        let waited = self.wait_once();
        while waited.is_err() && self.port.in_flight() > 0 && self.collect().is_ok() {}
        waited
    }

    fn wait_once(&mut self) -> Result<(), SqliteError> {
        let waited = self.collect();
        self.or_break(waited)?;
        self.check()
    }

    /// Takes what has ended.
    fn collect(&mut self) -> Result<(), SqliteError> {
        let mut done = std::mem::take(&mut self.done);
        done.clear();
        let waited = self.port.wait(1, None, &mut done).map_err(SqliteError::from);
        for completion in &done {
            if completion.token >= READ {
                self.ended = Some(completion.result);
                continue;
            }
            let buffer = completion.token as usize;
            let write = self.in_flight[buffer].take().expect("a completion belongs to a write");
            self.free.push(buffer);
            if let Err(fault) = completion.result {
                self.break_off(&io("write", write.file, fault));
            }
        }
        self.done = done;
        waited
    }

    fn or_break<T>(&mut self, result: Result<T, SqliteError>) -> Result<T, SqliteError> {
        if let Err(error) = &result {
            self.break_off(error);
        }
        result
    }
}

fn io(what: &'static str, file: FileId, fault: IoFault) -> SqliteError {
    SqliteError::Io {
        what,
        file: format!("number {} of the port", file.0),
        fault,
    }
}
