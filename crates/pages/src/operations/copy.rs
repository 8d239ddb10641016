//! Moving a database: all its pages and its redo log from the files of one port to those of another.
//!
//! Takes a database that was checkpointed and closed, on any number of data files, and files that are large enough, on
//! any other number; gives a database that opens there and goes on where the first one stopped. Every page is verified
//! as it is read, and everything can be read back and compared ([`Transfer::verify`]). The target's control blocks are
//! destroyed first and written last, so that a copy cut short is no database. Prevents: a moved database that is not
//! the one that was there.

use crate::engine::recovery::read_control;
use crate::error::PagesError;
use crate::format::control::Control;
use crate::format::layout::{Layout, redo_file_bytes};
use crate::format::page;
use crate::format::shape::{BLOCK_BYTES, Files, Settings, Shape};
use std::sync::atomic::{AtomicBool, Ordering};
use targets::crc32c_append;
use targets::{Completion, FileId, Nanos, Op, Port, Request};

/// How long the copy waits on one side before it looks at the other.
const LOOK_NS: u64 = 100_000;

/// A contiguous piece, the same on both sides.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: (FileId, u64),
    to: (FileId, u64),
    len: u64,
    /// The page it begins with; `None` in the redo log.
    first: Option<(u32, u32)>,
}

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Bytes read from the source; as many were written to the target.
    pub bytes: u64,
    /// Requests on each side.
    pub requests: u64,
    /// Pages verified on their way.
    pub pages: u64,
    /// From the first request until everything was durable on the target, by the target's clock.
    pub elapsed_ns: u64,
}

/// The way of a database from one place to another.
#[derive(Debug)]
pub struct Transfer {
    shape: Shape,
    settings: Settings,
    from: Files,
    to: Files,
    pieces: Vec<Piece>,
    /// Of each piece once it was copied: over the checksums of its pages, or over its bytes.
    sums: Vec<u32>,
    database: u64,
    chunk_bytes: u64,
    outstanding: usize,
}

/// Buffers of a copy, each for one piece at a time.
struct Buffers {
    free: Vec<usize>,
    /// The piece that each of them was last used for.
    holds: Vec<usize>,
    next: usize,
}

impl Buffers {
    /// Begins the next of so many pieces for each free buffer: piece and buffer.
    fn begin(
        &mut self,
        pieces: usize,
        cancel: &AtomicBool,
        mut read: impl FnMut(usize, usize) -> Result<(), PagesError>,
    ) -> Result<(), PagesError> {
        while self.next < pieces
            && !cancel.load(Ordering::Relaxed)
            && let Some(slot) = self.free.pop()
        {
            self.holds[slot] = self.next;
            read(self.next, slot)?;
            self.next += 1;
        }
        Ok(())
    }
}

impl Transfer {
    /// A transfer in requests of up to `chunk_bytes` (at least a page), `outstanding` pieces on their way at once.
    pub fn new(
        shape: &Shape,
        settings: &Settings,
        from: &Files,
        to: &Files,
        chunk_bytes: u64,
        outstanding: usize,
    ) -> Transfer {
        let chunk_bytes = chunk_bytes.max(u64::from(shape.page_bytes));
        let pieces = pieces(shape, settings, from, to, chunk_bytes);
        Transfer {
            shape: *shape,
            settings: *settings,
            from: from.clone(),
            to: to.clone(),
            sums: vec![0; pieces.len()],
            pieces,
            database: 0,
            chunk_bytes,
            outstanding: outstanding.max(1),
        }
    }

    /// Bytes that go from one side to the other.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len).sum()
    }

    /// Moves everything. The source must have been checkpointed and is only read; nobody else may use either side
    /// meanwhile. `None` when `cancel` was set: the target is no database then.
    ///
    /// # Errors
    /// [`PagesError::NoDatabase`] when there is none at the source, [`PagesError::DataLoss`] when one of its pages is
    /// not what was written there, I/O errors.
    pub fn run<S: Port + ?Sized, D: Port + ?Sized>(
        &mut self,
        source: &mut S,
        target: &mut D,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<Copied>, PagesError> {
        let controls = self.controls(source)?;
        self.database = controls.first().map_or(0, |control| control.database);
        follow(target, source.now())?;
        let began = target.now();
        self.destroy_controls(target)?;
        let mut done = self.move_pieces(source, target, cancel, progress)?;
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        for file in self.to.data.iter().chain([&self.to.redo]) {
            one(target, Op::Flush, (*file, 0), 0, "flush of a copy")?;
        }
        self.write_controls(target, &controls)?;
        done.elapsed_ns = target.now().saturating_sub(began);
        follow(source, target.now())?;
        Ok(Some(done))
    }

    /// Reads the target back and compares it with what was copied; gives the bytes compared.
    ///
    /// # Errors
    /// [`PagesError::DataLoss`] and [`PagesError::RedoDamaged`] when something else is there.
    pub fn verify<D: Port + ?Sized>(&self, target: &mut D, cancel: &AtomicBool) -> Result<u64, PagesError> {
        let (mut flying, mut compared) = (0, 0);
        let mut buffers = self.buffers(target.memory(), target.depth());
        let mut done = Vec::new();
        loop {
            buffers.begin(self.pieces.len(), cancel, |nth, slot| {
                let piece = &self.pieces[nth];
                flying += 1;
                Ok(target.submit(self.request(Op::Read, piece.to, piece.len, slot))?)
            })?;
            if flying == 0 {
                return Ok(compared);
            }
            done.clear();
            target.wait(1, None, &mut done)?;
            for completion in &done {
                let slot = completion.token as usize;
                let (nth, at) = (buffers.holds[slot], slot as u64 * self.chunk_bytes);
                let piece = self.pieces[nth];
                whole(completion, "read of a copy", piece.to, piece.len)?;
                let sum = self.sum(target.bytes(at, piece.len as usize), &piece, piece.to)?;
                if sum != self.sums[nth] {
                    return Err(self.differs(&piece));
                }
                compared += piece.len;
                flying -= 1;
                buffers.free.push(slot);
            }
        }
    }

    /// Buffers that both memories and depths have room for.
    fn buffers(&self, memory: u64, depth: usize) -> Buffers {
        let room = (memory / self.chunk_bytes) as usize;
        let count = self.outstanding.min(room).min(depth).max(1);
        Buffers {
            free: (0..count).rev().collect(),
            holds: vec![0; count],
            next: 0,
        }
    }

    /// A request between a place and a buffer.
    fn request(&self, op: Op, (file, offset): (FileId, u64), len: u64, slot: usize) -> Request {
        Request {
            op,
            file,
            offset,
            at: slot as u64 * self.chunk_bytes,
            len: len as u32,
            token: slot as u64,
        }
    }

    fn move_pieces<S: Port + ?Sized, D: Port + ?Sized>(
        &mut self,
        source: &mut S,
        target: &mut D,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Copied, PagesError> {
        let all = self.bytes();
        let room = source.memory().min(target.memory());
        let mut buffers = self.buffers(room, source.depth().min(target.depth()));
        let (mut reading, mut writing) = (0, 0);
        let mut copied = Copied::default();
        let (mut read, mut written) = (Vec::new(), Vec::new());
        loop {
            buffers.begin(self.pieces.len(), cancel, |nth, slot| {
                let piece = &self.pieces[nth];
                reading += 1;
                Ok(source.submit(self.request(Op::Read, piece.from, piece.len, slot))?)
            })?;
            if reading + writing == 0 {
                return Ok(copied);
            }
            // Two models have two clocks: neither side may run ahead of the other.
            let until = (reading > 0 && writing > 0).then(|| source.now().min(target.now()) + LOOK_NS);
            read.clear();
            if reading > 0 {
                source.wait(1, until, &mut read)?;
            }
            written.clear();
            if !read.is_empty() {
                catch_up(target, source.now(), &mut written)?;
            }
            for completion in &read {
                let slot = completion.token as usize;
                let piece = self.pieces[buffers.holds[slot]];
                whole(completion, "copy read", piece.from, piece.len)?;
                let at = slot as u64 * self.chunk_bytes;
                let bytes = source.bytes(at, piece.len as usize);
                self.sums[buffers.holds[slot]] = self.sum(bytes, &piece, piece.from)?;
                target.bytes_mut(at, piece.len as usize).copy_from_slice(bytes);
                target.submit(self.request(Op::Write, piece.to, piece.len, slot))?;
                (reading, writing) = (reading - 1, writing + 1);
                if piece.first.is_some() {
                    copied.pages += piece.len / u64::from(self.shape.page_bytes);
                }
            }
            if writing > written.len() {
                let least = usize::from(reading == 0 || is_behind(target, source.now()));
                target.wait(least, until.filter(|_| reading > 0), &mut written)?;
            }
            for completion in &written {
                let slot = completion.token as usize;
                let piece = self.pieces[buffers.holds[slot]];
                whole(completion, "copy write", piece.to, piece.len)?;
                copied.bytes += piece.len;
                copied.requests += 1;
                writing -= 1;
                buffers.free.push(slot);
                progress(copied.bytes, all);
            }
            if reading == 0 {
                follow(source, target.now())?;
            }
        }
    }

    /// What identifies the content of a piece; verifies its pages.
    fn sum(&self, bytes: &[u8], piece: &Piece, place: (FileId, u64)) -> Result<u32, PagesError> {
        let Some((mut schema, mut number)) = piece.first else {
            return Ok(crc32c_append(0, bytes));
        };
        let page_bytes = self.shape.page_bytes as usize;
        let mut sum = 0;
        for (nth, bytes) in bytes.chunks_exact(page_bytes).enumerate() {
            if let Err(mismatch) = page::check(bytes, self.database, schema, number) {
                let (expected, found) = mismatch.words();
                return Err(PagesError::DataLoss {
                    file: place.0,
                    offset: place.1 + (nth * page_bytes) as u64,
                    schema,
                    page: number,
                    expected,
                    found,
                });
            }
            // The checksum that was just found right stands for the page.
            sum = crc32c_append(sum, &bytes[4..8]);
            number += 1;
            if number == self.shape.pages_per_schema {
                (schema, number) = (schema + self.from.data.len() as u32, 0);
            }
        }
        Ok(sum)
    }

    fn differs(&self, piece: &Piece) -> PagesError {
        match piece.first {
            Some((schema, page)) => PagesError::DataLoss {
                file: piece.to.0,
                offset: piece.to.1,
                schema,
                page,
                expected: "what was copied there".into(),
                found: "whole pages that are older, in it or after it (a lost write)".into(),
            },
            None => PagesError::RedoDamaged {
                file: piece.to.0,
                offset: piece.to.1,
                what: "it is not what was copied there".into(),
            },
        }
    }

    /// The control block of each worker.
    fn controls<S: Port + ?Sized>(&self, source: &mut S) -> Result<Vec<Control>, PagesError> {
        let missing = || PagesError::NoDatabase {
            what: "no whole control block where it is to be copied from".into(),
        };
        let mut controls = Vec::new();
        for worker in 0..self.settings.workers {
            let control = read_control(source, self.from.data[0], worker)?.ok_or_else(missing)?;
            control.accept(&self.settings, self.from.data.len())?;
            controls.push(control);
        }
        Ok(controls)
    }

    fn destroy_controls<D: Port + ?Sized>(&self, target: &mut D) -> Result<(), PagesError> {
        target.bytes_mut(0, BLOCK_BYTES as usize).fill(0);
        for worker in 0..self.settings.workers {
            for slot in 0..2 {
                let place = (self.to.data[0], (u64::from(worker) * 2 + slot) * BLOCK_BYTES);
                one(target, Op::Write, place, BLOCK_BYTES, "control block write")?;
            }
        }
        one(target, Op::Flush, (self.to.data[0], 0), 0, "control block flush")
    }

    fn write_controls<D: Port + ?Sized>(&self, target: &mut D, controls: &[Control]) -> Result<(), PagesError> {
        for control in controls {
            let control = Control {
                sequence: control.sequence + 1,
                files: self.to.data.len() as u32,
                ..control.clone()
            };
            control.encode(target.bytes_mut(0, BLOCK_BYTES as usize));
            let layout = Layout::new(&self.shape, &self.settings, &self.to, control.worker);
            one(
                target,
                Op::Write,
                layout.control(control.sequence % 2),
                BLOCK_BYTES,
                "control block write",
            )?;
        }
        one(target, Op::Flush, (self.to.data[0], 0), 0, "control block flush")
    }
}

/// All pages, then the redo log, cut so that pieces begin at whole chunks of the target where the sides allow it.
/// Pieces of several files take turns, so that all devices of a side are at work.
fn pieces(shape: &Shape, settings: &Settings, from: &Files, to: &Files, chunk_bytes: u64) -> Vec<Piece> {
    let layouts = [from, to].map(|files| Layout::new(shape, settings, files, 0));
    let mut runs: Vec<Piece> = Vec::new();
    let alike = from.data.len() == to.data.len();
    let mut schemas: Vec<u32> = (0..shape.schemas).collect();
    if alike {
        schemas.sort_by_key(|schema| layouts[0].home(*schema, 0));
    }
    for schema in schemas {
        let run = Piece {
            from: layouts[0].home(schema, 0),
            to: layouts[1].home(schema, 0),
            len: shape.schema_bytes(),
            first: Some((schema, 0)),
        };
        let follows = |last: &Piece| {
            alike && last.from == (run.from.0, run.from.1 - last.len) && last.to == (run.to.0, run.to.1 - last.len)
        };
        match runs.last_mut() {
            Some(last) if follows(last) => last.len += run.len,
            _ => runs.push(run),
        }
    }
    let page_bytes = u64::from(shape.page_bytes);
    let mut pieces = Vec::new();
    for run in runs {
        let (mut inside, first) = (0, run.first.map_or(0, |first| first.0));
        while inside < run.len {
            let len = (chunk_bytes - (run.to.1 + inside) % chunk_bytes).min(run.len - inside);
            let (nth, at) = (inside / shape.schema_bytes(), inside % shape.schema_bytes());
            pieces.push(Piece {
                from: (run.from.0, run.from.1 + inside),
                to: (run.to.0, run.to.1 + inside),
                len,
                first: Some((first + nth as u32 * from.data.len() as u32, (at / page_bytes) as u32)),
            });
            inside += len;
        }
    }
    pieces.sort_by_key(|piece| (piece.to.1, piece.to.0));
    let redo = redo_file_bytes(settings);
    pieces.extend((0..redo).step_by(chunk_bytes as usize).map(|at| Piece {
        from: (from.redo, at),
        to: (to.redo, at),
        len: chunk_bytes.min(redo - at),
        first: None,
    }));
    pieces
}

fn whole(completion: &Completion, what: &'static str, place: (FileId, u64), len: u64) -> Result<(), PagesError> {
    completion.result.map_err(|fault| PagesError::Io {
        what,
        file: place.0,
        offset: place.1,
        len: len as u32,
        fault,
    })
}

/// One request from the first bytes of memory, with nothing else in flight.
fn one<P: Port + ?Sized>(
    port: &mut P,
    op: Op,
    place: (FileId, u64),
    len: u64,
    what: &'static str,
) -> Result<(), PagesError> {
    port.submit(Request {
        op,
        file: place.0,
        offset: place.1,
        at: 0,
        len: len as u32,
        token: 0,
    })?;
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done)?;
    }
    whole(&done[0], what, place, len)
}

/// Whether a model's clock must be moved on. Real clocks are one: read later, it is never behind.
fn is_behind<P: Port + ?Sized>(port: &P, now: Nanos) -> bool {
    port.now() < now
}

/// Brings a model's clock up to `now`; other clocks are there already.
fn catch_up<P: Port + ?Sized>(port: &mut P, now: Nanos, done: &mut Vec<Completion>) -> Result<(), PagesError> {
    while port.now() < now {
        port.wait(usize::MAX, Some(now), done)?;
    }
    Ok(())
}

/// The same with nothing in flight.
fn follow<P: Port + ?Sized>(port: &mut P, now: Nanos) -> Result<(), PagesError> {
    catch_up(port, now, &mut Vec::new())
}
