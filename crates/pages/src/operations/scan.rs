//! Full table scans with multiblock reads past the cache, as the seeds' "users": each reads one whole schema.
//!
//! A session is one read slot; `degree` of them serve one scan, `parallel` scans run at a time. Prevents: a scan that
//! is served from the cache, and an average in which a slow user hides.

use crate::engine::worker::{Ready, Region, Worker};
use crate::error::PagesError;
use crate::format::content::mix;
use crate::format::shape::{Settings, Shape};
use crate::purpose::Purpose;
use std::collections::VecDeque;
use targets::{Nanos, Op, Port};
use workloads::{Done, Operation, Started};

/// Scans of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanWork {
    /// Schemas scanned, chosen anew with each seed (without repetition while there are enough).
    pub users: u32,
    /// Reads in flight of one scan.
    pub degree: u32,
    /// Scans at the same time, in all.
    pub parallel: u32,
    /// Times the list of users is gone through; 0: until the driver stops.
    pub passes: u32,
}

/// One user's finished scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserScan {
    /// Schema scanned.
    pub schema: u32,
    /// Bytes read.
    pub bytes: u64,
    /// First read sent.
    pub began: Nanos,
    /// Last read verified.
    pub ended: Nanos,
}

impl ScanWork {
    pub(crate) fn check(&self, shape: &Shape, settings: &Settings) -> Result<(), PagesError> {
        if self.users == 0 || self.degree == 0 || self.parallel == 0 {
            return Err(PagesError::settings(
                "a scan without users, degree or parallel",
                "use at least 1 of each",
            ));
        }
        let files = crate::Files {
            data: vec![targets::FileId(0)],
            redo: targets::FileId(0),
        };
        let buffers = u64::from(crate::format::layout::Layout::new(shape, settings, &files, 0).scan_buffers());
        let needed = u64::from(self.degree) * u64::from(self.parallel.div_ceil(settings.workers));
        if needed > buffers {
            return Err(PagesError::settings(
                format!("{needed} multiblock reads at once; there are buffers for {buffers}"),
                "use a smaller degree, parallel or multiblock_read",
            ));
        }
        Ok(())
    }

    /// The schemas to scan, in order: a shuffle by `seed`, gone through again where there are more users than schemas.
    pub(crate) fn choose(&self, shape: &Shape, seed: u64) -> Vec<u32> {
        let mut schemas: Vec<u32> = (0..shape.schemas).collect();
        schemas.sort_by_key(|s| mix(seed ^ mix(u64::from(*s) + 1)));
        schemas.iter().copied().cycle().take(self.users as usize).collect()
    }
}

impl<P: Port> Worker<P> {
    /// Sends a multiblock read; `false` when no request is free.
    pub(crate) fn scan_read(&mut self, buffer: u32, schema: u32, page: u32, pages: u32) -> Result<bool, PagesError> {
        if self.reads >= self.reads_max {
            return Ok(false);
        }
        let place = self.layout.home(schema, page);
        let len = u64::from(pages) * self.layout.page_bytes;
        let region = Region::new(place, len);
        self.places[buffer as usize] = region;
        self.submit(
            Op::Read,
            region,
            self.layout.scan_buffer_at(buffer),
            Purpose::Scan(buffer),
        )?;
        self.reads += 1;
        self.counters.multiblock_reads += 1;
        self.counters.multiblock_read_bytes += len;
        Ok(true)
    }

    /// Verifies every page of a finished multiblock read.
    pub(crate) fn verify_scan(&mut self, buffer: u32, schema: u32, page: u32, pages: u32) -> Result<(), PagesError> {
        let at = self.layout.scan_buffer_at(buffer);
        let first = self.layout.local(schema, page);
        for nth in 0..pages {
            self.verify(at + u64::from(nth) * self.layout.page_bytes, first + nth)?;
        }
        Ok(())
    }
}

/// The scan that a scanner is at.
#[derive(Clone, Copy)]
struct Current {
    user: u32,
    next_page: u32,
}

/// What a session's read is of.
#[derive(Clone, Copy, Default)]
struct Chunk {
    user: u32,
    page: u32,
    pages: u32,
}

/// A user's scan under way or finished.
#[derive(Clone, Copy)]
struct User {
    schema: u32,
    pages: u32,
    began: Nanos,
    ended: Nanos,
}

/// The scans of one worker between two stints: where they were, and what they have read.
#[derive(Clone)]
pub struct PausedScan {
    degree: u32,
    schemas: Vec<u32>,
    upcoming: usize,
    passes_left: Option<u32>,
    current: Vec<Option<Current>>,
    users: Vec<User>,
}

/// The scans of one worker.
pub struct ScanOperation<'a, P: Port> {
    worker: &'a mut Worker<P>,
    degree: u32,
    /// Schemas of this worker to scan, in order, and passes left (`None`: endless).
    schemas: Vec<u32>,
    upcoming: usize,
    passes_left: Option<u32>,
    current: Vec<Option<Current>>,
    chunks: Vec<Chunk>,
    users: Vec<User>,
    waiting: VecDeque<u32>,
    ready: Vec<Ready>,
}

const CLASSES: [&str; 1] = ["scan read"];

impl<'a, P: Port> ScanOperation<'a, P> {
    pub(crate) fn new(worker: &'a mut Worker<P>, work: &ScanWork, users: &[u32]) -> Self {
        let (nth, workers) = (worker.layout.worker, worker.layout.workers);
        let schemas: Vec<u32> = users.iter().copied().filter(|s| s % workers == nth).collect();
        let parallel = work.parallel / workers + u32::from(nth < work.parallel % workers);
        let parallel = parallel.max(1);
        let sessions = (parallel * work.degree) as usize;
        ScanOperation {
            degree: work.degree,
            upcoming: 0,
            passes_left: (work.passes > 0).then_some(work.passes),
            current: vec![None; parallel as usize],
            chunks: vec![Chunk::default(); sessions],
            users: Vec::with_capacity(schemas.len() * work.passes.max(16) as usize),
            waiting: VecDeque::with_capacity(sessions),
            ready: Vec::with_capacity(sessions),
            schemas,
            worker,
        }
    }

    /// Where the scans are, to go on later ([`crate::Instance::scan_on`]); nothing may be under way.
    pub fn pause(self) -> PausedScan {
        PausedScan {
            degree: self.degree,
            schemas: self.schemas,
            upcoming: self.upcoming,
            passes_left: self.passes_left,
            current: self.current,
            users: self.users,
        }
    }

    /// Goes on where the scans were.
    pub(crate) fn going_on(worker: &'a mut Worker<P>, paused: PausedScan) -> Self {
        let sessions = paused.current.len() * paused.degree as usize;
        ScanOperation {
            degree: paused.degree,
            schemas: paused.schemas,
            upcoming: paused.upcoming,
            passes_left: paused.passes_left,
            current: paused.current,
            chunks: vec![Chunk::default(); sessions],
            users: paused.users,
            waiting: VecDeque::with_capacity(sessions),
            ready: Vec::with_capacity(sessions),
            worker,
        }
    }

    /// Whether every scan has been begun and read to its end.
    pub fn is_through(&self) -> bool {
        let last_pass = match self.passes_left {
            None => self.schemas.is_empty(),
            Some(left) => left == 0 || left == 1 && self.upcoming == self.schemas.len() || self.schemas.is_empty(),
        };
        let pages = self.worker.shape.pages_per_schema;
        let rests = |current: &Option<Current>| current.is_none_or(|current| current.next_page >= pages);
        last_pass && self.current.iter().all(rests)
    }

    /// Sessions of this worker: the driver starts sessions `0..sessions()`.
    pub fn sessions(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// Which worker of the database this is, from 0, and of how many.
    pub fn worker(&self) -> (u32, u32) {
        (self.worker.layout.worker, self.worker.layout.workers)
    }

    /// Scans that were finished, in the order they began.
    pub fn user_scans(&self) -> Vec<UserScan> {
        let whole = |u: &&User| u.pages == self.worker.shape.pages_per_schema;
        let page_bytes = self.worker.layout.page_bytes;
        let scan = |u: &User| UserScan {
            schema: u.schema,
            bytes: u64::from(u.pages) * page_bytes,
            began: u.began,
            ended: u.ended,
        };
        self.users.iter().filter(whole).map(scan).collect()
    }

    /// Waits for the I/O still in flight (background writes, redo). Call it on the thread that drove this operation
    /// before the instance is used on another: a port can change threads only while nothing is in flight.
    ///
    /// # Errors
    /// I/O errors.
    pub fn finish(&mut self) -> Result<(), PagesError> {
        self.worker.quiet()
    }

    /// Counts of this worker so far, as of [`crate::Instance::counters`].
    pub fn counters(&self) -> crate::Counters {
        self.worker.counters
    }

    /// The next user's scan, if any is left.
    fn next_user(&mut self) -> Option<Current> {
        if self.upcoming == self.schemas.len() {
            if let Some(left) = &mut self.passes_left {
                *left = left.saturating_sub(1);
            }
            if self.passes_left == Some(0) || self.schemas.is_empty() {
                return None;
            }
            self.upcoming = 0;
        }
        let now = self.worker.port.now();
        let schema = self.schemas[self.upcoming];
        self.upcoming += 1;
        self.users.push(User {
            schema,
            pages: 0,
            began: now,
            ended: now,
        });
        Some(Current {
            user: self.users.len() as u32 - 1,
            next_page: 0,
        })
    }

    fn send(&mut self, session: u32) -> Result<(), PagesError> {
        let Chunk { user, page, pages } = self.chunks[session as usize];
        let schema = self.users[user as usize].schema;
        if !self.worker.scan_read(session, schema, page, pages)? {
            self.waiting.push_back(session);
        }
        Ok(())
    }

    fn resume(&mut self, done: &mut Vec<Done>) -> Result<(), PagesError> {
        std::mem::swap(&mut self.ready, &mut self.worker.ready);
        for at in 0..self.ready.len() {
            let Ready::Scan { buffer } = self.ready[at] else {
                continue;
            };
            let Chunk { user, page, pages } = self.chunks[buffer as usize];
            let schema = self.users[user as usize].schema;
            self.worker.verify_scan(buffer, schema, page, pages)?;
            let at = self.worker.port.now();
            let user = &mut self.users[user as usize];
            user.pages += pages;
            user.ended = at;
            let units = u64::from(pages) * self.worker.layout.page_bytes;
            done.push(Done {
                session: buffer,
                class: 0,
                at,
                units,
            });
        }
        self.ready.clear();
        for _ in 0..self.waiting.len() {
            if let Some(session) = self.waiting.pop_front() {
                self.send(session)?;
            }
        }
        Ok(())
    }
}

impl<P: Port> Operation for ScanOperation<'_, P> {
    type Error = PagesError;

    fn now(&self) -> Nanos {
        self.worker.port.now()
    }

    fn classes(&self) -> &[&'static str] {
        &CLASSES
    }

    fn start(&mut self, session: u32, _done: &mut Vec<Done>) -> Result<Started, PagesError> {
        let scanner = (session / self.degree) as usize;
        let pages = self.worker.shape.pages_per_schema;
        let current = match self.current[scanner] {
            Some(current) if current.next_page < pages => current,
            _ => match self.next_user() {
                Some(current) => current,
                None => {
                    self.current[scanner] = None;
                    return Ok(Started::Exhausted);
                }
            },
        };
        let page = current.next_page;
        let count = self.worker.settings.multiblock_read.min(pages - page);
        self.current[scanner] = Some(Current {
            next_page: page + count,
            ..current
        });
        self.chunks[session as usize] = Chunk {
            user: current.user,
            page,
            pages: count,
        };
        self.send(session)?;
        Ok(Started::Running)
    }

    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), PagesError> {
        let before = done.len();
        loop {
            self.resume(done)?;
            if done.len() > before {
                return self.worker.poll(0, None);
            }
            if self.worker.ready.is_empty() {
                if until.is_none() {
                    self.worker.idle_is_stuck("no scan under way can go on")?;
                }
                self.worker.poll(1, until)?;
            }
            self.resume(done)?;
            if done.len() > before {
                return Ok(());
            }
            if until.is_some_and(|u| self.worker.port.now() >= u) {
                return Ok(());
            }
        }
    }
}
