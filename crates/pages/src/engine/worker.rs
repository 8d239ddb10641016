//! One worker: its port, its share of the cache, its redo thread and its writers, and what happens when an I/O ends.
//!
//! Operations ask for pages ([`Worker::request`]), commit ([`Worker::commit`]) and take what became [`Ready`]; behind
//! them [`Worker::pump`] keeps log, writers and checkpoint going. Prevents: an I/O whose end nobody handles, and a page
//! that is used unverified.

use crate::counters::Counters;
use crate::engine::cache::{Cache, NONE};
use crate::engine::log::Log;
use crate::engine::overwritten::Overwritten;
use crate::engine::stages::{Checkpoint, Writers};
use crate::error::PagesError;
use crate::format::content::Content;
use crate::format::layout::Layout;
use crate::format::page::{self, Mismatch};
use crate::format::shape::{Settings, Shape};
use crate::purpose::Purpose;
use targets::{Completion, FileId, Nanos, Op, PREFETCH_BYTES, Port, Request};

/// What became ready for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// The page that this wait slot asked for is in this frame, pinned for it.
    Page { slot: u32, frame: u32 },
    /// The session's transaction is durable.
    Commit { session: u32 },
    /// The multiblock read into this buffer is done; not verified yet.
    Scan { buffer: u32 },
    /// A large request is done.
    Bulk { chunk: u32 },
}

/// Answer to [`Worker::request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// In the cache, pinned.
    Hit(u32),
    /// [`Ready::Page`] will follow.
    Pending,
    /// No frame or no request is free: ask again after the next pump.
    Full,
}

/// Request of each kind of large or multiblock I/O under way, for error messages.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) file: FileId,
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

impl Region {
    #[inline]
    pub(crate) fn new((file, offset): (FileId, u64), len: u64) -> Region {
        let len = len as u32;
        Region { file, offset, len }
    }
}

pub(crate) const NOWHERE: Region = Region {
    file: FileId(0),
    offset: 0,
    len: 0,
};

/// What a worker starts from.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) shape: Shape,
    pub(crate) settings: Settings,
    pub(crate) database: u64,
    /// 1 after loading, 0 (to be learnt) after opening.
    pub(crate) home_version: u32,
}

/// One worker.
pub(crate) struct Worker<P> {
    pub(crate) port: P,
    pub(crate) shape: Shape,
    pub(crate) settings: Settings,
    pub(crate) layout: Layout,
    pub(crate) database: u64,
    pub(crate) content: Content,
    pub(crate) cache: Cache,
    pub(crate) log: Log,
    pub(crate) writers: Writers,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) counters: Counters,
    /// What operations have not taken yet.
    pub(crate) ready: Vec<Ready>,
    /// Next wait slot that waits for the same frame.
    pub(crate) next_waiter: Vec<u32>,
    /// Reads under way, of pages and multiblock, and most of them at once.
    pub(crate) reads: usize,
    pub(crate) reads_max: usize,
    /// A request found no frame since the last pump.
    pub(crate) short_of_frames: bool,
    /// Data files, by index, with completed writes that no flush has followed.
    pub(crate) unflushed: Vec<bool>,
    /// Home writes submitted so far, and those under way: what a scan races with.
    pub(crate) home_writes: u64,
    pub(crate) homes_under_way: u32,
    /// Pages written home since the count began.
    pub(crate) overwritten: Overwritten,
    /// Whether pages read are verified: always, but where the cost of it is measured.
    pub(crate) verifies: bool,
    pub(crate) scratch: Vec<u8>,
    pub(crate) places: Vec<Region>,
    completions: Vec<Completion>,
}

impl<P: Port> Worker<P> {
    /// A worker with an empty cache. Its log goes on at `at`, behind a batch with the checksum `previous`.
    pub(crate) fn new(
        port: P,
        layout: Layout,
        (at, previous): (u64, u32),
        start: Start,
    ) -> Result<Worker<P>, PagesError> {
        let Start {
            shape,
            settings,
            database,
            home_version,
        } = start;
        let log = Log::new(layout.redo_bytes, layout.redo_buffer_bytes, at, previous, at);
        check_port(&port, &layout, &shape)?;
        let pages = crate::format::layout::schemas_of(&shape, layout.workers, layout.worker) * shape.pages_per_schema;
        let files = layout.files.data.len();
        let places = layout.scan_buffers().max(layout.bulk_chunks()) as usize;
        Ok(Worker {
            reads_max: port.depth() - crate::format::layout::reserved(&settings, files),
            cache: Cache::new(layout.frames, pages, home_version),
            writers: Writers::new(&settings),
            checkpoint: Checkpoint::new(port.now()),
            content: Content::new(&shape),
            counters: Counters::default(),
            ready: Vec::with_capacity(256),
            next_waiter: Vec::new(),
            reads: 0,
            short_of_frames: false,
            unflushed: vec![false; files],
            home_writes: 0,
            homes_under_way: 0,
            overwritten: Overwritten::new(pages),
            verifies: true,
            scratch: vec![0; shape.page_bytes as usize],
            places: vec![NOWHERE; places],
            completions: Vec::with_capacity(port.depth()),
            port,
            shape,
            settings,
            layout,
            database,
            log,
        })
    }

    #[inline]
    pub(crate) fn submit(&mut self, op: Op, region: Region, at: u64, purpose: Purpose) -> Result<(), PagesError> {
        let request = Request {
            op,
            file: region.file,
            offset: region.offset,
            at,
            len: region.len,
            token: purpose.token(),
        };
        Ok(self.port.submit(request)?)
    }

    pub(crate) fn submit_flush(&mut self, file: FileId, purpose: Purpose) -> Result<(), PagesError> {
        self.submit(Op::Flush, Region::new((file, 0), 0), 0, purpose)
    }

    /// Asks for a page on behalf of a wait slot. On [`Access::Hit`] and later [`Ready::Page`] the frame is pinned once
    /// for it.
    pub(crate) fn request(&mut self, local: u32, slot: u32) -> Result<Access, PagesError> {
        if let Some(frame) = self.cache.lookup(local) {
            self.counters.logical_reads += 1;
            self.counters.cache_hits += 1;
            self.cache.touch(frame);
            let state = &mut self.cache.frames[frame as usize];
            state.pins += 1;
            if !state.loading {
                return Ok(Access::Hit(frame));
            }
            self.next_waiter[slot as usize] = state.waiters;
            state.waiters = slot;
            return Ok(Access::Pending);
        }
        if self.reads >= self.reads_max {
            return Ok(Access::Full);
        }
        let Some(frame) = self.cache.evict() else {
            self.short_of_frames = true;
            return Ok(Access::Full);
        };
        self.cache.assign(frame, local);
        let state = &mut self.cache.frames[frame as usize];
        state.pins = 1;
        state.loading = true;
        state.waiters = slot;
        self.next_waiter[slot as usize] = NONE;
        let (schema, page) = self.layout.address(local);
        let (file, offset) = self.layout.home(schema, page);
        let (at, len) = (self.layout.frame_at(frame), self.layout.page_bytes);
        // Not by `submit`, which serves all kinds: this is the hot one.
        self.port.submit(Request {
            op: Op::Read,
            file,
            offset,
            at,
            len: len as u32,
            token: Purpose::Page(frame).token(),
        })?;
        self.reads += 1;
        self.counters.logical_reads += 1;
        self.counters.physical_reads += 1;
        self.counters.physical_read_bytes += len;
        Ok(Access::Pending)
    }

    /// Sends what is queued and handles what has ended; blocks as [`Port::wait`] does.
    pub(crate) fn poll(&mut self, min: usize, until: Option<Nanos>) -> Result<(), PagesError> {
        let mut completions = std::mem::take(&mut self.completions);
        completions.clear();
        let result = self.port.wait(min, until, &mut completions);
        let mut handled = Ok(());
        for (nth, completion) in completions.iter().enumerate() {
            self.prefetch(completions.get(nth + 1));
            if let Err(e) = self.ended(*completion) {
                handled = Err(e);
                break;
            }
        }
        self.completions = completions;
        // What has ended is known to be wrong before the port's own failure is.
        handled?;
        Ok(result?)
    }

    /// Brings the head of the page that is verified next into the processor's cache, while this one is.
    #[inline]
    fn prefetch(&self, next: Option<&Completion>) {
        if let Some(Purpose::Page(frame)) = next.map(|next| Purpose::of(next.token))
            && self.verifies
        {
            targets::prefetch(self.port.bytes(self.layout.frame_at(frame), PREFETCH_BYTES));
        }
    }

    #[inline]
    fn ended(&mut self, completion: Completion) -> Result<(), PagesError> {
        let purpose = Purpose::of(completion.token);
        if let Err(fault) = completion.result {
            let Region { file, offset, len } = self.place_of(purpose);
            return Err(PagesError::Io {
                what: purpose.words(),
                file,
                offset,
                len,
                fault,
            });
        }
        match purpose {
            Purpose::Page(frame) => self.page_read(frame),
            Purpose::Scan(buffer) => {
                self.reads -= 1;
                self.ready.push(Ready::Scan { buffer });
                Ok(())
            }
            Purpose::Bulk(chunk) => {
                self.ready.push(Ready::Bulk { chunk });
                Ok(())
            }
            Purpose::Redo => self.redo_written(),
            Purpose::RedoFlush => {
                self.redo_flushed();
                Ok(())
            }
            Purpose::Home(slot) => self.home_written(slot),
            Purpose::Doublewrite => self.doublewrite_written(),
            Purpose::DoublewriteFlush => self.doublewrite_flushed(),
            Purpose::HomeFlush(_) => self.homes_flushed(),
            Purpose::DataFlush(_) => self.checkpoint_data_flushed(),
            Purpose::Control => self.control_written(),
            Purpose::ControlFlush => {
                self.control_flushed();
                Ok(())
            }
        }
    }

    /// Where an I/O went, for its error message.
    fn place_of(&self, purpose: Purpose) -> Region {
        let page_len = self.layout.page_bytes as u32;
        let of_local = |local: u32| {
            let (schema, page) = self.layout.address(local);
            let (file, offset) = self.layout.home(schema, page);
            Region {
                file,
                offset,
                len: page_len,
            }
        };
        match purpose {
            Purpose::Page(frame) => of_local(self.cache.frames[frame as usize].page),
            Purpose::Home(slot) => of_local(self.cache.frames[self.writers.frame_of(slot) as usize].page),
            Purpose::Scan(n) | Purpose::Bulk(n) => self.places.get(n as usize).copied().unwrap_or(NOWHERE),
            Purpose::Redo | Purpose::RedoFlush => {
                let offset = self.layout.redo_at + self.log.durable % self.layout.redo_bytes;
                Region {
                    file: self.layout.files.redo,
                    offset,
                    len: 0,
                }
            }
            Purpose::DataFlush(index) | Purpose::HomeFlush(index) => Region {
                file: self.layout.files.data[index as usize],
                offset: 0,
                len: 0,
            },
            Purpose::Control | Purpose::ControlFlush => Region {
                file: self.layout.files.data[0],
                offset: 0,
                len: 4096,
            },
            Purpose::Doublewrite | Purpose::DoublewriteFlush => {
                let (file, offset) = self.layout.doublewrite;
                Region {
                    file,
                    offset,
                    len: page_len * self.layout.writers,
                }
            }
        }
    }

    /// A page came into its frame: verify it and wake who waits.
    #[inline]
    fn page_read(&mut self, frame: u32) -> Result<(), PagesError> {
        self.reads -= 1;
        let local = self.cache.frames[frame as usize].page;
        self.verify(self.layout.frame_at(frame), local)?;
        let state = &mut self.cache.frames[frame as usize];
        state.loading = false;
        let mut slot = state.waiters;
        state.waiters = NONE;
        while slot != NONE {
            self.ready.push(Ready::Page { slot, frame });
            slot = self.next_waiter[slot as usize];
        }
        Ok(())
    }

    /// Checks that memory at `at` holds the page that is at home: checksum, address, version, and an LSN that the log
    /// knows.
    pub(crate) fn verify(&mut self, at: u64, local: u32) -> Result<(), PagesError> {
        if !self.verifies {
            return Ok(());
        }
        self.counters.verified_pages += 1;
        let (schema, number) = self.layout.address(local);
        let bytes = self.port.bytes(at, self.layout.page_bytes as usize);
        let header = match page::check(bytes, self.database, schema, number) {
            Ok(header) => header,
            Err(mismatch) => return Err(self.mismatched(local, mismatch)),
        };
        let known = &mut self.cache.home_version[local as usize];
        if *known == 0 {
            *known = header.version as u32;
        } else if *known != header.version as u32 {
            return Err(self.wrong_version(local, header.version));
        }
        if header.lsn >= self.log.lsn {
            return Err(self.ahead_of_the_log(local, header.lsn));
        }
        Ok(())
    }

    #[cold]
    fn mismatched(&self, local: u32, mismatch: Mismatch) -> PagesError {
        let (expected, found) = mismatch.words();
        self.data_loss(local, expected, found)
    }

    #[cold]
    fn wrong_version(&self, local: u32, version: u64) -> PagesError {
        let expected = format!("version {}", self.cache.home_version[local as usize]);
        let found = format!("version {version} (a lost or an outdated write)");
        self.data_loss(local, expected, found)
    }

    #[cold]
    fn ahead_of_the_log(&self, local: u32, lsn: u64) -> PagesError {
        let expected = format!("a page older than the end of the redo log ({})", self.log.lsn);
        self.data_loss(local, expected, format!("LSN {lsn} (redo was lost)"))
    }

    pub(crate) fn data_loss(&self, local: u32, expected: String, found: String) -> PagesError {
        let (schema, page) = self.layout.address(local);
        let (file, offset) = self.layout.home(schema, page);
        PagesError::DataLoss {
            file,
            offset,
            schema,
            page,
            expected,
            found,
        }
    }

    /// Keeps log, checkpoint and writers going; call before waiting.
    pub(crate) fn pump(&mut self) -> Result<(), PagesError> {
        self.pump_log()?;
        self.pump_checkpoint()?;
        self.pump_writers()?;
        self.short_of_frames = false;
        Ok(())
    }

    /// Waits for all reads and forgets what unfinished operations held: a transaction that was not formed never was.
    pub(crate) fn settle(&mut self) -> Result<(), PagesError> {
        while self.reads > 0 {
            self.poll(1, None)?;
        }
        for frame in &mut self.cache.frames {
            frame.pins = 0;
        }
        self.log.forget_sessions();
        self.ready.clear();
        Ok(())
    }

    /// Waits until nothing is in flight, keeping what becomes ready.
    pub(crate) fn quiet(&mut self) -> Result<(), PagesError> {
        while self.port.in_flight() > 0 {
            self.poll(1, None)?;
        }
        Ok(())
    }

    /// Reads a page into the cache and waits for it; the frame is not pinned. For recovery and for looking at single
    /// pages.
    pub(crate) fn fetch(&mut self, local: u32) -> Result<u32, PagesError> {
        if self.next_waiter.is_empty() {
            self.next_waiter.push(NONE);
        }
        loop {
            match self.request(local, 0)? {
                Access::Hit(frame) => {
                    self.cache.unpin(frame);
                    return Ok(frame);
                }
                Access::Pending => {
                    while self
                        .cache
                        .lookup(local)
                        .is_some_and(|f| self.cache.frames[f as usize].loading)
                    {
                        self.pump()?;
                        self.poll(1, None)?;
                    }
                    self.ready.clear();
                    let frame = self.cache.lookup(local).expect("a pinned page stays in the cache");
                    self.cache.unpin(frame);
                    return Ok(frame);
                }
                Access::Full => {
                    self.pump()?;
                    self.idle_is_stuck("no frame of the cache can be freed")?;
                    self.poll(1, None)?;
                }
            }
        }
    }

    /// An error when nothing is under way that could end.
    pub(crate) fn idle_is_stuck(&self, what: &str) -> Result<(), PagesError> {
        if self.port.in_flight() > 0 {
            return Ok(());
        }
        Err(PagesError::Stuck {
            what: format!("{what}; {} dirty pages, {}", self.cache.dirty, self.checkpoint.words()),
        })
    }
}

/// Refuses a port that can't serve this layout.
fn check_port<P: Port>(port: &P, layout: &Layout, shape: &Shape) -> Result<(), PagesError> {
    let alignment = port.alignment();
    if alignment > shape.page_bytes || u64::from(alignment) > crate::format::shape::BLOCK_BYTES {
        return Err(PagesError::settings(
            format!(
                "the storage wants requests of multiples of {alignment} bytes, a page has {}",
                shape.page_bytes
            ),
            "use a larger page, or access through the page cache",
        ));
    }
    if port.memory() < layout.memory {
        return Err(PagesError::settings(
            format!(
                "the port has {} bytes of memory, the engine needs {}",
                port.memory(),
                layout.memory
            ),
            "open the port with pages::memory_bytes",
        ));
    }
    let reserved = 1 + (layout.bulk_chunks() as usize).max(layout.writers as usize + layout.files.data.len() + 4);
    if port.depth() < reserved {
        return Err(PagesError::settings(
            format!(
                "the port takes {} requests at once, the engine needs {reserved}",
                port.depth()
            ),
            "open the port with pages::depth",
        ));
    }
    Ok(())
}
