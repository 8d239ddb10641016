//! Disks in memory of any size, of which only what is not zeros takes room.
//!
//! Takes the sizes of the disks, gives ports that share them; a request is done when it is submitted. Prevents: a group
//! of terabytes that nobody can try, and a cost of its metadata that is really that of zeros moved to and fro.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use targets::{
    Completion, Extent, FileId, IoFault, Memory, Nanos, Op, Port, Request, TargetError, Waker, monotonic_ns,
};

/// What is held or not held, and the alignment of requests.
const BLOCK: usize = 4096;
static ZEROS: [u8; BLOCK] = [0; BLOCK];
/// Blocks of one piece of memory.
const PIECE: u32 = 1024;

/// Disks that ports share.
#[derive(Clone)]
pub(crate) struct HollowDisks(Rc<RefCell<Content>>);

/// What the disks hold.
struct Content {
    sizes: Vec<u64>,
    /// Of each disk: the place of every block that was written with something.
    held: Vec<BTreeMap<u64, u32>>,
    pieces: Vec<Memory>,
    /// Blocks held on all disks.
    count: u32,
}

/// A port on all the disks.
pub(crate) struct HollowPort {
    disks: HollowDisks,
    memory: Memory,
    /// Of each block of the memory: whether it is known to be zeros. So whole extents of zeros cost next to nothing.
    zeros: Vec<bool>,
    depth: usize,
    finished: Vec<Completion>,
}

impl HollowDisks {
    /// Disks of these sizes in bytes, all zeros.
    pub(crate) fn new(sizes: Vec<u64>) -> HollowDisks {
        HollowDisks(Rc::new(RefCell::new(Content {
            held: vec![BTreeMap::new(); sizes.len()],
            sizes,
            pieces: Vec::new(),
            count: 0,
        })))
    }

    /// A port on them with so much memory and room for so many requests.
    pub(crate) fn port(&self, memory_bytes: u64, depth: usize) -> Result<HollowPort, TargetError> {
        Ok(HollowPort {
            disks: self.clone(),
            memory: Memory::new(memory_bytes, false)?,
            zeros: vec![true; (memory_bytes as usize).div_ceil(BLOCK)],
            depth,
            finished: Vec::new(),
        })
    }

    /// Bytes of memory that what they hold takes.
    pub(crate) fn held_bytes(&self) -> u64 {
        u64::from(self.0.borrow().count) * BLOCK as u64
    }
}

/// Where in its piece a block lies.
fn inside(place: u32) -> u64 {
    u64::from(place % PIECE) * BLOCK as u64
}

impl Content {
    fn is_hole(&self, disk: usize, blocks: Range<u64>) -> bool {
        self.held[disk].range(blocks).next().is_none()
    }

    fn block(&self, place: u32) -> &[u8] {
        self.pieces[(place / PIECE) as usize].bytes(inside(place), BLOCK)
    }

    fn write(&mut self, disk: usize, block: u64, bytes: &[u8]) -> Result<(), TargetError> {
        let known = self.held[disk].get(&block).copied();
        let place = match known {
            Some(place) => place,
            None => self.take(disk, block)?,
        };
        let piece = &mut self.pieces[(place / PIECE) as usize];
        piece.bytes_mut(inside(place), BLOCK).copy_from_slice(bytes);
        Ok(())
    }

    fn take(&mut self, disk: usize, block: u64) -> Result<u32, TargetError> {
        if self.count.is_multiple_of(PIECE) {
            self.pieces.push(Memory::new(u64::from(PIECE) * BLOCK as u64, false)?);
        }
        let place = self.count;
        self.count += 1;
        self.held[disk].insert(block, place);
        Ok(place)
    }
}

/// The first block of a request on its disk, and its blocks in the memory.
fn blocks_of(request: &Request) -> (u64, Range<usize>) {
    let from = request.at as usize / BLOCK;
    let count = request.len as usize / BLOCK;
    (request.offset / BLOCK as u64, from..from + count)
}

/// Where a block of the memory begins.
fn at(page: usize) -> u64 {
    (page * BLOCK) as u64
}

impl HollowPort {
    fn is_zeros(&mut self, page: usize) -> bool {
        if !self.zeros[page] {
            self.zeros[page] = self.memory.bytes(at(page), BLOCK) == ZEROS;
        }
        self.zeros[page]
    }

    fn read(&mut self, request: &Request) {
        let disks = self.disks.clone();
        let content = disks.0.borrow();
        let (first, pages) = blocks_of(request);
        let blocks = first..first + pages.len() as u64;
        let held = &content.held[usize::from(request.file.0)];
        let mut there = held.range(blocks.clone()).peekable();
        for (block, page) in blocks.zip(pages) {
            match there.next_if(|held| *held.0 == block) {
                Some((_, place)) => {
                    let bytes = self.memory.bytes_mut(at(page), BLOCK);
                    bytes.copy_from_slice(content.block(*place));
                    self.zeros[page] = false;
                }
                None if self.zeros[page] => {}
                None => {
                    self.memory.bytes_mut(at(page), BLOCK).fill(0);
                    self.zeros[page] = true;
                }
            }
        }
    }

    fn write(&mut self, request: &Request) -> Result<(), TargetError> {
        let disks = self.disks.clone();
        let mut content = disks.0.borrow_mut();
        let disk = usize::from(request.file.0);
        let (first, pages) = blocks_of(request);
        let blocks = first..first + pages.len() as u64;
        if pages.clone().all(|page| self.is_zeros(page)) && content.is_hole(disk, blocks.clone()) {
            return Ok(());
        }
        for (block, page) in blocks.zip(pages) {
            if !self.is_zeros(page) || content.held[disk].contains_key(&block) {
                content.write(disk, block, self.memory.bytes(at(page), BLOCK))?;
            }
        }
        Ok(())
    }
}

impl Port for HollowPort {
    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn memory(&self) -> u64 {
        self.memory.len()
    }

    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.memory.bytes(at, len)
    }

    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        let from = at as usize;
        self.zeros[from / BLOCK..(from + len).div_ceil(BLOCK)].fill(false);
        self.memory.bytes_mut(at, len)
    }

    fn alignment(&self) -> u32 {
        BLOCK as u32
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.finished.len()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if self.finished.len() >= self.depth {
            return Err(TargetError::TooDeep { depth: self.depth });
        }
        let numbers = [request.offset, request.at, u64::from(request.len)];
        assert!(
            numbers.iter().all(|number| number.is_multiple_of(BLOCK as u64)),
            "a request that is not of whole blocks: {request:?}"
        );
        let left = self.size(request.file)?.saturating_sub(request.offset);
        let result = match request.op {
            Op::Flush => Ok(()),
            _ if left < u64::from(request.len) => Err(IoFault::Short {
                got: left as u32,
                wanted: request.len,
            }),
            Op::Read => {
                self.read(&request);
                Ok(())
            }
            Op::Write => {
                self.write(&request)?;
                Ok(())
            }
        };
        let token = request.token;
        self.finished.push(Completion { token, result });
        Ok(())
    }

    /// Nothing is ever under way, so there is nothing to wait for.
    fn wait(&mut self, _min: usize, _until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        done.append(&mut self.finished);
        Ok(())
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        Ok(self.disks.0.borrow().sizes[usize::from(file.0)])
    }

    /// A disk has the size it was made with.
    fn grow(&mut self, file: FileId, size: u64) -> Result<(), TargetError> {
        if size <= self.size(file)? {
            return Ok(());
        }
        Err(TargetError::Memory {
            bytes: size,
            source: std::io::ErrorKind::Unsupported.into(),
        })
    }

    fn extents(&self, _file: FileId) -> Result<Vec<Extent>, TargetError> {
        Ok(Vec::new())
    }

    fn waker(&self) -> Waker {
        Waker::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: u64 = 1 << 42;
    const LEN: usize = 1 << 20;

    fn ask(port: &mut HollowPort, op: Op) {
        let request = Request {
            op,
            file: FileId(0),
            offset: FAR,
            at: 0,
            len: LEN as u32,
            token: 7,
        };
        port.submit(request).unwrap();
        let mut done = Vec::new();
        port.wait(1, None, &mut done).unwrap();
        assert!(done.len() == 1 && done[0].result.is_ok(), "{done:?}");
    }

    #[test]
    fn zeros_take_no_memory_and_all_else_is_kept_for_every_port() {
        let disks = HollowDisks::new(vec![2 * FAR]);
        let mut port = disks.port(LEN as u64, 4).unwrap();
        let mut other = disks.port(LEN as u64, 4).unwrap();
        ask(&mut port, Op::Write);
        assert_eq!(disks.held_bytes(), 0);
        port.bytes_mut(8192, 1)[0] = 5;
        ask(&mut port, Op::Write);
        assert_eq!(disks.held_bytes(), 4096);
        other.bytes_mut(0, LEN).fill(9);
        ask(&mut other, Op::Read);
        let found = [0, 8191, 8192, 8193, LEN - 1].map(|at| other.bytes(at as u64, 1)[0]);
        assert_eq!(found, [0, 0, 5, 0, 0]);
        port.bytes_mut(8192, 1)[0] = 0;
        ask(&mut port, Op::Write);
        ask(&mut other, Op::Read);
        assert!(other.bytes(0, LEN).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn over_the_end_is_short() {
        let mut port = HollowDisks::new(vec![FAR + 4096]).port(LEN as u64, 1).unwrap();
        let (file, token) = (FileId(0), 1);
        let request = Request {
            op: Op::Read,
            file,
            offset: FAR,
            at: 0,
            len: 8192,
            token,
        };
        port.submit(request).unwrap();
        let mut done = Vec::new();
        port.wait(1, None, &mut done).unwrap();
        let (got, wanted) = (4096, 8192);
        assert_eq!(done[0].result, Err(IoFault::Short { got, wanted }));
        assert!(port.grow(file, FAR + 8192).is_err());
    }
}
