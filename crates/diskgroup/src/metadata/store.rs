//! Blocking I/O for metadata: lists of reads, writes, zeros and flushes, done when the call returns.
//!
//! Takes a port and its memory, gives an outcome per item; a fault of one disk is a value here, not the end. Prevents:
//! a list of writes of which one was forgotten.

use crate::error::GroupError;
use targets::{Completion, FileId, IoFault, Op, Port, Request};

/// How one item ended.
pub(crate) type Outcome = Result<(), IoFault>;

/// What one range held.
pub(crate) type Bytes = Result<Vec<u8>, IoFault>;

/// Least memory of a port that the owner of the metadata works with, in bytes.
pub const MEMORY_MIN: u64 = 128 << 10;

struct Transfer {
    op: Op,
    file: FileId,
    offset: u64,
    at: u64,
    len: u64,
    item: usize,
}

/// A port with a zeroed part and a buffer.
pub(crate) struct Store<P> {
    port: P,
    zeros: u64,
    buffer: u64,
    done: Vec<Completion>,
    /// Memory of an earlier [`Store::read_again`].
    spare: Vec<Vec<u8>>,
}

impl<P: Port> Store<P> {
    /// # Errors
    /// [`GroupError::Refused`] when the port's memory is too small.
    pub(crate) fn new(mut port: P) -> Result<Store<P>, GroupError> {
        let memory = port.memory() / 4096 * 4096;
        if memory < MEMORY_MIN || port.depth() == 0 {
            return Err(GroupError::refused(
                format!("a port with {memory} bytes of memory for the metadata"),
                format!("give it at least {MEMORY_MIN}"),
            ));
        }
        let zeros = (memory / 4 / 4096 * 4096).min(1 << 20);
        port.bytes_mut(0, zeros as usize).fill(0);
        Ok(Store {
            buffer: memory - zeros,
            port,
            zeros,
            done: Vec::new(),
            spare: Vec::new(),
        })
    }

    pub(crate) fn into_port(self) -> P {
        self.port
    }

    pub(crate) fn size(&self, file: FileId) -> Result<u64, GroupError> {
        Ok(self.port.size(file)?)
    }

    fn run(&mut self, transfers: &[Transfer], outcomes: &mut [Outcome]) -> Result<(), GroupError> {
        let mut sent = 0;
        let mut ended = 0;
        while ended < transfers.len() {
            while sent < transfers.len() && self.port.in_flight() < self.port.depth() {
                let t = &transfers[sent];
                self.port.submit(Request {
                    op: t.op,
                    file: t.file,
                    offset: t.offset,
                    at: t.at,
                    len: t.len as u32,
                    token: sent as u64,
                })?;
                sent += 1;
            }
            self.done.clear();
            self.port.wait(1, None, &mut self.done)?;
            for completion in &self.done {
                ended += 1;
                let item = transfers[completion.token as usize].item;
                if outcomes[item].is_ok() {
                    outcomes[item] = completion.result;
                }
            }
        }
        Ok(())
    }

    /// Writes lists of bytes; lengths and offsets are multiples of 4096.
    pub(crate) fn write(&mut self, items: &[(FileId, u64, &[u8])]) -> Result<Vec<Outcome>, GroupError> {
        let mut outcomes = vec![Ok(()); items.len()];
        let (mut round, mut used) = (Vec::new(), 0);
        for (item, (file, offset, bytes)) in items.iter().enumerate() {
            let mut done = 0;
            while done < bytes.len() {
                if used == self.buffer {
                    self.run(&round, &mut outcomes)?;
                    (round, used) = (Vec::new(), 0);
                }
                let len = (bytes.len() - done).min((self.buffer - used) as usize);
                let at = self.zeros + used;
                self.port.bytes_mut(at, len).copy_from_slice(&bytes[done..done + len]);
                round.push(Transfer {
                    op: Op::Write,
                    file: *file,
                    offset: offset + done as u64,
                    at,
                    len: len as u64,
                    item,
                });
                used += len as u64;
                done += len;
            }
        }
        self.run(&round, &mut outcomes)?;
        Ok(outcomes)
    }

    /// Reads ranges; lengths and offsets are multiples of 4096.
    pub(crate) fn read(&mut self, items: &[(FileId, u64, u64)]) -> Result<Vec<Bytes>, GroupError> {
        self.read_into(items, Vec::new())
    }

    /// As [`Store::read`], into the memory that was given back last: new memory for each part costs ten times what
    /// comparing it does.
    pub(crate) fn read_again(&mut self, items: &[(FileId, u64, u64)]) -> Result<Vec<Bytes>, GroupError> {
        let spare = std::mem::take(&mut self.spare);
        self.read_into(items, spare)
    }

    /// Gives back what [`Store::read_again`] gave.
    pub(crate) fn give_back(&mut self, found: Vec<Bytes>) {
        self.spare.extend(found.into_iter().flatten());
    }

    fn read_into(&mut self, items: &[(FileId, u64, u64)], mut found: Vec<Vec<u8>>) -> Result<Vec<Bytes>, GroupError> {
        let mut outcomes = vec![Ok(()); items.len()];
        found.resize_with(items.len(), Vec::new);
        for (bytes, item) in found.iter_mut().zip(items) {
            bytes.clear();
            bytes.reserve_exact(item.2 as usize);
        }
        let (mut round, mut used): (Vec<Transfer>, u64) = (Vec::new(), 0);
        for (item, &(file, offset, bytes)) in items.iter().enumerate() {
            let mut done = 0;
            while done < bytes {
                if used == self.buffer {
                    self.run(&round, &mut outcomes)?;
                    self.collect(&round, &mut found);
                    (round, used) = (Vec::new(), 0);
                }
                let len = (bytes - done).min(self.buffer - used);
                round.push(Transfer {
                    op: Op::Read,
                    file,
                    offset: offset + done,
                    at: self.zeros + used,
                    len,
                    item,
                });
                used += len;
                done += len;
            }
        }
        self.run(&round, &mut outcomes)?;
        self.collect(&round, &mut found);
        Ok(outcomes
            .into_iter()
            .zip(found)
            .map(|(o, bytes)| o.map(|()| bytes))
            .collect())
    }

    fn collect(&self, round: &[Transfer], found: &mut [Vec<u8>]) {
        for t in round {
            found[t.item].extend_from_slice(self.port.bytes(t.at, t.len as usize));
        }
    }

    /// Fills ranges with zeros.
    pub(crate) fn zero(&mut self, items: &[(FileId, u64, u64)]) -> Result<Vec<Outcome>, GroupError> {
        let mut outcomes = vec![Ok(()); items.len()];
        let mut all = Vec::new();
        for (item, &(file, offset, bytes)) in items.iter().enumerate() {
            let mut done = 0;
            while done < bytes {
                let len = (bytes - done).min(self.zeros);
                all.push(Transfer {
                    op: Op::Write,
                    file,
                    offset: offset + done,
                    at: 0,
                    len,
                    item,
                });
                done += len;
            }
        }
        self.run(&all, &mut outcomes)?;
        Ok(outcomes)
    }

    /// Flushes files.
    pub(crate) fn flush(&mut self, files: &[FileId]) -> Result<Vec<Outcome>, GroupError> {
        let mut outcomes = vec![Ok(()); files.len()];
        let all: Vec<Transfer> = files
            .iter()
            .enumerate()
            .map(|(item, &file)| Transfer {
                op: Op::Flush,
                file,
                offset: 0,
                at: 0,
                len: 0,
                item,
            })
            .collect();
        self.run(&all, &mut outcomes)?;
        Ok(outcomes)
    }
}
