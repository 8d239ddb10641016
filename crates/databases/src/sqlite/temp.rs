//! Temporary files of SQLite on storage: nameless, many at once, gone with who made them.
//!
//! SQLite sorts and groups in files that it makes, grows and closes while a statement runs. A [`TempSpace`] makes them
//! one by one, each on a port of its own, so that users do not wait for each other. Writes that follow each other are
//! gathered into one; nothing else is kept in memory. Prevents: temporary space that no memory budget knows, and bytes
//! that nobody counts.

use super::error::SqliteError;
use super::file_set::layout::BLOCK;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use targets::{Access, Completion, FileId, Op, OpenSpec, Port, PsyncPort, Request, TargetError};

/// The largest I/O, and what is gathered.
const PIECE: u64 = 128 << 10;
/// Memory of a port for a temporary file: what is gathered, and what is read.
pub const TEMP_MEMORY: u64 = 2 * PIECE;
/// Requests in flight on it.
pub const TEMP_DEPTH: usize = 4;
/// Where growth has a price, a file grows by a quarter of its size, within these bounds.
const GROW_LEAST: u64 = 1 << 20;
const GROW_MOST: u64 = 16 << 20;
const FILE: FileId = FileId(0);

targets::counts! {
    /// Temporary files since the space was made.
    pub struct TempCounts {
        /// Files made.
        files,
        /// Bytes that SQLite asked to read.
        asked_read_bytes,
        /// Bytes that SQLite asked to write.
        asked_write_bytes,
        /// Bytes that ports were asked to read: whole blocks.
        read_bytes,
        /// Bytes that ports were asked to write: whole blocks.
        write_bytes,
    }
    /// Files made and not yet closed.
    level open: u64::saturating_add;
}

#[derive(Default)]
struct Counters {
    files: AtomicU64,
    closed: AtomicU64,
    asked_read_bytes: AtomicU64,
    asked_write_bytes: AtomicU64,
    read_bytes: AtomicU64,
    write_bytes: AtomicU64,
    error: Mutex<Option<String>>,
}

fn add(counter: &AtomicU64, bytes: u64) {
    counter.fetch_add(bytes, Ordering::Relaxed);
}

/// Who gives a file its room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// The port, when it is asked to grow the file: each time has a price.
    Asked,
    /// Whoever writes behind its end.
    Written,
}

/// A file that was just made: the first of a port.
pub struct NewFile<P> {
    /// With [`TEMP_MEMORY`] and [`TEMP_DEPTH`].
    pub port: P,
    /// Takes the file away when it is dropped, which is after the port.
    pub gone: Box<dyn Send>,
    /// Who gives it its room.
    pub room: Room,
}

type Make = dyn Fn(u64) -> Result<Box<dyn Spill>, SqliteError> + Send + Sync;

/// Where temporary files are made.
pub struct TempSpace {
    make: Box<Make>,
    counters: Arc<Counters>,
}

impl TempSpace {
    /// Made by `make`, which is given a number that no other file of this space has.
    pub fn new<P, M>(make: M) -> TempSpace
    where
        P: Port + Send + 'static,
        M: Fn(u64) -> Result<NewFile<P>, SqliteError> + Send + Sync + 'static,
    {
        let counters = Arc::new(Counters::default());
        let counted = counters.clone();
        TempSpace {
            make: Box::new(move |number| {
                let file: Box<dyn Spill> = Box::new(TempFile::new(make(number)?, counted.clone()));
                Ok(file)
            }),
            counters,
        }
    }

    /// Files of this directory, around the page cache. Their names are removed as soon as they are open, so that a kill
    /// leaves none.
    pub fn in_directory(dir: &Path) -> TempSpace {
        let dir = dir.to_owned();
        TempSpace::new(move |number| nameless(dir.join(format!("assay-temp-{}-{number}", std::process::id()))))
    }

    pub(crate) fn create(&self) -> Result<Box<dyn Spill>, SqliteError> {
        let number = self.counters.files.fetch_add(1, Ordering::Relaxed);
        (self.make)(number).inspect_err(|error| {
            add(&self.counters.closed, 1);
            self.counters.note(error);
        })
    }

    /// What was asked and done so far.
    pub fn counts(&self) -> TempCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let closed = of(&self.counters.closed);
        TempCounts {
            files: of(&self.counters.files),
            asked_read_bytes: of(&self.counters.asked_read_bytes),
            asked_write_bytes: of(&self.counters.asked_write_bytes),
            read_bytes: of(&self.counters.read_bytes),
            write_bytes: of(&self.counters.write_bytes),
            open: of(&self.counters.files).saturating_sub(closed),
        }
    }

    pub(crate) fn take_error(&self) -> Option<String> {
        let mut error = self.counters.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take()
    }
}

impl Counters {
    fn note(&self, error: &SqliteError) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| error.to_string());
    }
}

fn nameless(path: PathBuf) -> Result<NewFile<PsyncPort>, SqliteError> {
    let port = PsyncPort::open(&[OpenSpec::creating(&path, Access::Direct, 0)], TEMP_MEMORY, TEMP_DEPTH)?;
    std::fs::remove_file(&path).map_err(|source| SqliteError::Path {
        what: "take the name from",
        path,
        source,
        cure: "check the directory and its rights",
    })?;
    Ok(NewFile {
        port,
        gone: Box::new(()),
        room: Room::Written,
    })
}

/// What the VFS asks of a temporary file.
pub(crate) trait Spill: Send {
    fn size(&self) -> u64;
    /// Fills `to` as far as the file goes; gives the bytes read.
    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<usize, SqliteError>;
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), SqliteError>;
    fn truncate(&mut self, size: u64);
}

/// Bytes in the first half of the port's memory that the file does not have yet.
#[derive(Clone, Copy)]
struct Gathered {
    /// Where they belong: whole blocks from here.
    from: u64,
    /// Up to here.
    to: u64,
}

struct TempFile<P: Port> {
    /// Before what takes the file away.
    port: P,
    _gone: Box<dyn Send>,
    room: Room,
    counters: Arc<Counters>,
    size: u64,
    /// Bytes that the port's file has.
    have: u64,
    gathered: Option<Gathered>,
    done: Vec<Completion>,
}

impl<P: Port> Drop for TempFile<P> {
    fn drop(&mut self) {
        add(&self.counters.closed, 1);
    }
}

fn down(offset: u64) -> u64 {
    offset / BLOCK * BLOCK
}

fn up(offset: u64) -> u64 {
    offset.div_ceil(BLOCK) * BLOCK
}

impl<P: Port> TempFile<P> {
    fn new(file: NewFile<P>, counters: Arc<Counters>) -> TempFile<P> {
        TempFile {
            port: file.port,
            _gone: file.gone,
            room: file.room,
            counters,
            size: 0,
            have: 0,
            gathered: None,
            done: Vec::new(),
        }
    }

    fn once(&mut self, op: Op, offset: u64, at: u64, len: u64) -> Result<(), SqliteError> {
        match op {
            Op::Read => add(&self.counters.read_bytes, len),
            Op::Write => add(&self.counters.write_bytes, len),
            Op::Flush => {}
        }
        self.port.submit(Request {
            op,
            file: FILE,
            offset,
            at,
            len: len as u32,
            token: 0,
        })?;
        self.done.clear();
        while self.done.is_empty() {
            self.port.wait(1, None, &mut self.done)?;
        }
        self.done[0].result.map_err(|fault| SqliteError::Io {
            what: if op == Op::Read { "read" } else { "write" },
            file: "temporary".into(),
            fault,
        })
    }

    fn grow(&mut self, end: u64) -> Result<(), SqliteError> {
        if end <= self.have {
            return Ok(());
        }
        if self.room == Room::Written {
            self.have = end;
            return Ok(());
        }
        let wanted = (end + (end / 4).clamp(GROW_LEAST, GROW_MOST)) / GROW_LEAST * GROW_LEAST;
        let port = &mut self.port;
        let grown = port.grow(FILE, wanted).or_else(|_| port.grow(FILE, end));
        grown.map_err(|error| match error {
            TargetError::PowerCut => error.into(),
            error => SqliteError::Full {
                file: "temporary".into(),
                bytes: end,
                why: error.to_string().lines().next().unwrap_or_default().to_string(),
            },
        })?;
        self.have = self.port.size(FILE)?;
        Ok(())
    }

    /// Writes what was gathered.
    fn push(&mut self) -> Result<(), SqliteError> {
        let Some(Gathered { from, to }) = self.gathered.take() else {
            return Ok(());
        };
        let end = up(to);
        let last = end.saturating_sub(BLOCK);
        // What the file has behind them in their last block stays.
        if end > to && to < self.size && last < self.have {
            self.once(Op::Read, last, PIECE, BLOCK)?;
            let behind = self.port.bytes(PIECE + (to - last), (end - to) as usize).to_vec();
            self.port.bytes_mut(to - from, behind.len()).copy_from_slice(&behind);
        } else {
            self.port.bytes_mut(to - from, (end - to) as usize).fill(0);
        }
        self.grow(end)?;
        self.once(Op::Write, from, 0, end - from)
    }

    /// Begins to gather at a byte: the bytes before it in its block are read, or are behind the end.
    fn begin(&mut self, offset: u64) -> Result<(), SqliteError> {
        let from = down(offset);
        if from < offset {
            if from < self.size.min(self.have) {
                self.once(Op::Read, from, 0, BLOCK)?;
            } else {
                self.port.bytes_mut(0, (offset - from) as usize).fill(0);
            }
        }
        self.gathered = Some(Gathered { from, to: offset });
        Ok(())
    }

    fn put(&mut self, mut offset: u64, mut data: &[u8]) -> Result<(), SqliteError> {
        while !data.is_empty() {
            let fits = |g: &Gathered| g.from <= offset && offset <= g.to && offset < g.from + PIECE;
            let Some(mut gathered) = self.gathered.filter(fits) else {
                self.push()?;
                self.begin(offset)?;
                continue;
            };
            let take = (gathered.from + PIECE - offset).min(data.len() as u64);
            let (now, later) = data.split_at(take as usize);
            self.port
                .bytes_mut(offset - gathered.from, now.len())
                .copy_from_slice(now);
            offset += take;
            data = later;
            gathered.to = gathered.to.max(offset);
            self.gathered = Some(gathered);
            self.size = self.size.max(offset);
            if gathered.to == gathered.from + PIECE {
                self.push()?;
            }
        }
        Ok(())
    }

    fn get(&mut self, offset: u64, to: &mut [u8]) -> Result<(), SqliteError> {
        let end = offset + to.len() as u64;
        // Nothing is served from what is gathered: what is read was written, and its device is asked for it.
        if self.gathered.is_some_and(|g| g.from < end && offset < g.to) {
            self.push()?;
        }
        let mut done = 0;
        while done < to.len() {
            let at = offset + done as u64;
            let from = down(at);
            let len = (up(end) - from).min(PIECE);
            let skip = at - from;
            let take = ((len - skip) as usize).min(to.len() - done);
            self.once(Op::Read, from, PIECE, len)?;
            to[done..done + take].copy_from_slice(self.port.bytes(PIECE + skip, take));
            done += take;
        }
        Ok(())
    }
}

impl<P: Port + Send> Spill for TempFile<P> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<usize, SqliteError> {
        add(&self.counters.asked_read_bytes, to.len() as u64);
        let len = (to.len() as u64).min(self.size.saturating_sub(offset)) as usize;
        if len > 0 {
            let counters = self.counters.clone();
            self.get(offset, &mut to[..len])
                .inspect_err(|error| counters.note(error))?;
        }
        Ok(len)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), SqliteError> {
        add(&self.counters.asked_write_bytes, data.len() as u64);
        let counters = self.counters.clone();
        self.put(offset, data).inspect_err(|error| counters.note(error))
    }

    fn truncate(&mut self, size: u64) {
        self.size = self.size.min(size);
        self.gathered = self.gathered.filter(|g| g.from < size).map(|g| Gathered {
            to: g.to.min(size),
            ..g
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Any order of writes, reads and cuts leaves what a plain list of bytes has.
    #[test]
    fn a_temporary_file_is_as_a_list_of_bytes_and_leaves_no_name() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let space = TempSpace::in_directory(dir.path());
        for seed in 0..20 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut below = |n: u64| rng.next_u64() % n;
            let mut file = space.create().unwrap();
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
            let mut plain: Vec<u8> = Vec::new();
            for _ in 0..150 {
                match below(10) {
                    0..5 => {
                        let offset = if below(2) == 0 {
                            plain.len() as u64
                        } else {
                            below(plain.len() as u64 + 1)
                        };
                        let most = if below(4) == 0 { 300_000 } else { 9_000 };
                        let data: Vec<u8> = (0..below(most)).map(|n| (n ^ offset ^ seed) as u8).collect();
                        file.write(offset, &data).unwrap();
                        let end = offset as usize + data.len();
                        plain.resize(plain.len().max(end), 0);
                        plain[offset as usize..end].copy_from_slice(&data);
                    }
                    5 if below(4) == 0 => {
                        let size = below(plain.len() as u64 + 1);
                        file.truncate(size);
                        plain.truncate(size as usize);
                    }
                    _ => {
                        let offset = below(plain.len() as u64 + 1);
                        let mut got = vec![0; below(20_000) as usize];
                        let len = file.read(offset, &mut got).unwrap();
                        let wanted = &plain[offset as usize..];
                        assert_eq!(len, got.len().min(wanted.len()));
                        assert!(got[..len] == wanted[..len], "seed {seed}: {len} bytes at {offset}");
                    }
                }
                assert_eq!(file.size(), plain.len() as u64);
            }
        }
        let counts = space.counts();
        assert_eq!((counts.files, counts.open), (20, 0));
        assert!(counts.asked_write_bytes > 0 && counts.write_bytes > 0);
    }
}
