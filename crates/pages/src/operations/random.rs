//! SLOB's random work: selects, updates and short scans over scattered pages, as state machines of sessions.
//!
//! An operation picks a range of `work_unit` keys of a schema and touches the page of each; an update then changes all
//! of them and commits. Sessions live in arrays; nothing is allocated once warm. Prevents: a page that is touched
//! before it is verified, and an operation that ends before its commit is durable.

use crate::engine::cache::NONE;
use crate::engine::worker::{Access, Ready, Worker};
use crate::error::PagesError;
use crate::format::keys::Keys;
use crate::format::layout::schemas_of;
use crate::format::page::{HEADER_BYTES, header};
use crate::operations::ageing::Order;
use crate::operations::work::RandomWork;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use targets::{Nanos, Port};
use workloads::{Done, Operation, Started};

/// Classes of operation, by [`Done::class`].
const CLASSES: [&str; 4] = ["select", "update", "scan", "commit"];
const SELECT: u8 = 0;
const UPDATE: u8 = 1;
const SCAN: u8 = 2;
const COMMIT: u8 = 3;

/// A transaction that was formed: for checking from outside what must be there after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its session.
    pub session: u32,
    /// (schema, page, version after it) of all its changes.
    pub changes: Vec<(u32, u32, u64)>,
}

#[derive(Clone)]
struct Session {
    rng: Xoshiro256PlusPlus,
    class: u8,
    schema: u32,
    /// First key, first page of a scan, or first place in the order of an ageing, whose pass then stands in `schema`.
    key: u32,
    /// Pages of the operation.
    unit: u32,
    /// Pages requested and pages that came.
    issued: u32,
    arrived: u32,
    /// Bit per wait slot: in use.
    busy: u64,
    operations: u64,
    /// In the queue of those that found no frame, no buffer or no room in the log.
    queued: bool,
    /// Trying again from that queue.
    again: bool,
    /// Scan buffer held.
    buffer: u32,
    /// Home writes when the scan read was sent; see [`RandomOperation::scan_arrived`].
    home_writes: u64,
    raced: bool,
}

/// The operations of one worker.
pub struct RandomOperation<'a, P: Port> {
    worker: &'a mut Worker<P>,
    work: RandomWork,
    keys: Keys,
    sessions: Vec<Session>,
    /// Frame of each page of each session's update.
    pinned: Vec<u32>,
    /// Page within its operation that a wait slot waits for.
    slot_page: Vec<u32>,
    queue: VecDeque<u32>,
    free_buffers: Vec<u32>,
    buffer_session: Vec<u32>,
    ready: Vec<Ready>,
    schemas: u32,
    touched: u64,
    /// Pages in the order of an ageing, instead of at random.
    order: Option<Order>,
    /// Bytes of redo that each operation commits, instead of pages.
    alone: Option<u32>,
    trace: Option<Vec<Transaction>>,
}

impl<'a, P: Port> RandomOperation<'a, P> {
    pub(crate) fn new(worker: &'a mut Worker<P>, work: &RandomWork, seed: u64) -> Result<Self, PagesError> {
        let (nth, workers) = (worker.layout.worker, worker.layout.workers);
        let sessions = work.sessions / workers + u32::from(nth < work.sessions % workers);
        let mut root = Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(nth) << 48);
        let session = |_| Session {
            rng: Xoshiro256PlusPlus::seed_from_u64(root.next_u64()),
            class: SELECT,
            schema: 0,
            key: 0,
            unit: work.work_unit,
            issued: 0,
            arrived: 0,
            busy: 0,
            operations: 0,
            queued: false,
            again: false,
            buffer: NONE,
            home_writes: 0,
            raced: false,
        };
        let slots = sessions as usize * work.outstanding as usize;
        let buffers = worker.layout.scan_buffers();
        worker.next_waiter.clear();
        worker.next_waiter.resize(slots.max(1), NONE);
        worker.log.expect_sessions(sessions as usize);
        worker.ready.reserve(2 * slots + sessions as usize);
        Ok(RandomOperation {
            keys: Keys::new(worker.shape.pages_per_schema, worker.shape.seed),
            sessions: (0..sessions).map(session).collect(),
            pinned: vec![
                NONE;
                if work.update_pct > 0 {
                    (sessions * work.work_unit) as usize
                } else {
                    0
                }
            ],
            slot_page: vec![0; slots],
            queue: VecDeque::with_capacity(sessions as usize),
            free_buffers: (0..buffers).collect(),
            buffer_session: vec![NONE; buffers as usize],
            ready: Vec::with_capacity(worker.ready.capacity()),
            schemas: schemas_of(&worker.shape, workers, nth),
            touched: 0,
            order: None,
            alone: None,
            trace: None,
            work: *work,
            worker,
        })
    }

    /// Goes through all pages of the worker instead, and ends when it is through.
    pub(crate) fn ageing(mut self, order: impl FnOnce(u32) -> Order) -> Self {
        self.order = Some(order(self.schemas * self.worker.shape.pages_per_schema));
        self
    }

    /// Commits records of so many bytes instead, which change no page.
    pub(crate) fn commits_alone(mut self, bytes: u32) -> Self {
        self.alone = Some(bytes);
        self
    }

    /// Sessions of this worker: the driver starts sessions `0..sessions()`.
    pub fn sessions(&self) -> u32 {
        self.sessions.len() as u32
    }

    /// Which worker of the database this is, from 0, and of how many.
    pub fn worker(&self) -> (u32, u32) {
        (self.worker.layout.worker, self.worker.layout.workers)
    }

    /// Keeps every transaction formed from now on for [`RandomOperation::transactions`]. For checks; it allocates.
    pub fn trace_transactions(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// Takes the transactions formed since the last call, in the order of the log.
    pub fn transactions(&mut self) -> Vec<Transaction> {
        self.trace.as_mut().map(std::mem::take).unwrap_or_default()
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

    /// What the session does next; `false` when an ageing has nothing left.
    fn choose_next(&mut self, nth: u32) -> bool {
        if self.alone.is_some() {
            let session = &mut self.sessions[nth as usize];
            (session.class, session.unit) = (COMMIT, 0);
            (session.issued, session.arrived) = (0, 0);
            return true;
        }
        let Some(order) = &mut self.order else {
            self.choose(nth);
            return true;
        };
        let Some(lot) = order.take() else { return false };
        let session = &mut self.sessions[nth as usize];
        session.class = UPDATE;
        (session.schema, session.key, session.unit) = (lot.pass, lot.first, lot.count);
        session.issued = 0;
        session.arrived = 0;
        true
    }

    /// Chooses what the session does next.
    fn choose(&mut self, nth: u32) {
        let pages = self.worker.shape.pages_per_schema;
        let page_bytes = self.worker.layout.page_bytes;
        let sessions = self.sessions.len() as u32;
        let session = &mut self.sessions[nth as usize];
        session.class = class_of(self.work.scan_pct, self.work.update_pct, &mut session.rng);
        // A session serves the schemas of its number modulo the sessions, so that every page is in reach.
        let served = if sessions >= self.schemas {
            1
        } else {
            (self.schemas - nth).div_ceil(sessions)
        };
        let pick = if served > 1 { below(&mut session.rng, served) } else { 0 };
        let schema_nth = (nth + pick * sessions) % self.schemas;
        session.schema = schema_nth * self.worker.layout.workers + self.worker.layout.worker;
        session.operations += 1;
        let nth = |frequency: u32| frequency > 0 && session.operations.is_multiple_of(u64::from(frequency));
        if nth(self.work.hot_schema_frequency) {
            session.schema = self.worker.layout.worker;
        }
        let hot = self.work.hotspot.filter(|h| nth(h.frequency));
        let (from, count) = match hot {
            Some(h) => {
                let from = (h.offset / page_bytes).min(u64::from(pages) - 1) as u32;
                (from, ((h.bytes / page_bytes).max(1) as u32).min(pages - from))
            }
            None => (0, pages),
        };
        session.key = if session.class == SCAN {
            0
        } else {
            from + below(&mut session.rng, count)
        };
        session.issued = 0;
        session.arrived = 0;
    }

    /// Moves a session on as far as it goes without waiting.
    fn step(&mut self, nth: u32, done: &mut Vec<Done>) -> Result<(), PagesError> {
        if self.sessions[nth as usize].class == SCAN {
            return self.scan_step(nth);
        }
        let outstanding = self.work.outstanding;
        let unit = self.sessions[nth as usize].unit;
        loop {
            let session = &self.sessions[nth as usize];
            let free = session.busy.trailing_ones();
            if session.issued == unit || free >= outstanding {
                break;
            }
            let local = match &self.order {
                None => {
                    let key = (session.key + session.issued) % self.worker.shape.pages_per_schema;
                    let page = self.keys.page(session.schema, key);
                    self.worker.layout.local(session.schema, page)
                }
                Some(order) => order.local(session.schema, session.key + session.issued),
            };
            let slot = nth * outstanding + free;
            let access = self.worker.request(local, slot)?;
            let session = &mut self.sessions[nth as usize];
            let index = session.issued;
            match access {
                Access::Hit(frame) => {
                    session.issued += 1;
                    self.arrived(nth, index, frame);
                }
                Access::Pending => {
                    session.issued += 1;
                    session.busy |= 1 << free;
                    self.slot_page[slot as usize] = index;
                }
                Access::Full => {
                    self.worker.counters.frame_waits += u64::from(!session.again);
                    self.enqueue(nth);
                    return Ok(());
                }
            }
        }
        if self.sessions[nth as usize].arrived < unit {
            return Ok(());
        }
        match self.sessions[nth as usize].class {
            UPDATE => self.try_commit(nth),
            COMMIT => {
                self.try_commit_alone(nth);
                Ok(())
            }
            class => {
                self.end(nth, class, u64::from(unit), done);
                Ok(())
            }
        }
    }

    fn enqueue(&mut self, nth: u32) {
        let session = &mut self.sessions[nth as usize];
        if !session.queued {
            session.queued = true;
            self.queue.push_back(nth);
        }
    }

    #[inline(always)]
    fn end(&mut self, nth: u32, class: u8, units: u64, done: &mut Vec<Done>) {
        done.push(Done {
            session: nth,
            class,
            at: self.worker.port.now(),
            units,
        });
    }

    /// A page of the operation is there, verified and pinned.
    #[inline(always)]
    fn arrived(&mut self, nth: u32, index: u32, frame: u32) {
        let session = &mut self.sessions[nth as usize];
        session.arrived += 1;
        if session.class == UPDATE {
            self.pinned[(nth * self.work.work_unit + index) as usize] = frame;
            return;
        }
        // The row is looked at, as a select would.
        let at = self.worker.layout.frame_at(frame) + HEADER_BYTES as u64;
        let first = self.worker.port.bytes(at, 8);
        self.touched = self.touched.wrapping_add(u64::from(first[0]));
        self.worker.cache.unpin(frame);
    }

    /// All pages are there: change them and commit, or wait for room in the log.
    fn try_commit(&mut self, nth: u32) -> Result<(), PagesError> {
        let frames = &self.pinned[(nth * self.work.work_unit) as usize..][..self.sessions[nth as usize].unit as usize];
        if !self.worker.commit(nth, frames, self.work.heavy)? {
            self.worker.counters.redo_waits += u64::from(!self.sessions[nth as usize].again);
            self.enqueue(nth);
            return Ok(());
        }
        if let Some(trace) = &mut self.trace {
            let change = |frame: &u32| {
                let header = header(
                    self.worker
                        .port
                        .bytes(self.worker.layout.frame_at(*frame), HEADER_BYTES),
                );
                (header.schema, header.page, header.version)
            };
            trace.push(Transaction {
                session: nth,
                changes: frames.iter().map(change).collect(),
            });
        }
        for frame in frames {
            self.worker.cache.unpin(*frame);
        }
        Ok(())
    }

    /// Commits without a page, or waits for room in the log.
    fn try_commit_alone(&mut self, nth: u32) {
        let session = &mut self.sessions[nth as usize];
        let bytes = self.alone.unwrap_or(0);
        if !self.worker.commit_alone(nth, bytes, &mut session.rng) {
            self.worker.counters.redo_waits += u64::from(!session.again);
            self.enqueue(nth);
        }
    }

    /// Sends the next multiblock read of a session's scan.
    fn scan_step(&mut self, nth: u32) -> Result<(), PagesError> {
        if self.sessions[nth as usize].buffer != NONE {
            return Ok(());
        }
        let Some(&buffer) = self.free_buffers.last() else {
            self.enqueue(nth);
            return Ok(());
        };
        let session = &self.sessions[nth as usize];
        let (page, pages) = (session.arrived, self.scan_pages(session.arrived));
        if !self.worker.scan_read(buffer, session.schema, page, pages)? {
            self.enqueue(nth);
            return Ok(());
        }
        self.free_buffers.pop();
        self.buffer_session[buffer as usize] = nth;
        let session = &mut self.sessions[nth as usize];
        session.buffer = buffer;
        session.home_writes = self.worker.home_writes;
        session.raced = self.worker.homes_under_way > 0;
        Ok(())
    }

    fn scan_total(&self) -> u32 {
        let pages = self
            .work
            .scan_table_bytes
            .div_ceil(self.worker.layout.page_bytes)
            .max(1);
        pages.min(u64::from(self.worker.shape.pages_per_schema)) as u32
    }

    fn scan_pages(&self, from: u32) -> u32 {
        self.worker.settings.multiblock_read.min(self.scan_total() - from)
    }

    /// A multiblock read of a scan came. When pages were written home meanwhile, a page that does not verify may have
    /// been caught in the middle of its write, or be older than the cache: the read is repeated; without such writes it
    /// is data loss at once.
    fn scan_arrived(&mut self, buffer: u32, done: &mut Vec<Done>) -> Result<(), PagesError> {
        let nth = self.buffer_session[buffer as usize];
        let (schema, from) = {
            let session = &self.sessions[nth as usize];
            (session.schema, session.arrived)
        };
        let pages = self.scan_pages(from);
        let raced =
            self.sessions[nth as usize].raced || self.sessions[nth as usize].home_writes != self.worker.home_writes;
        self.sessions[nth as usize].buffer = NONE;
        self.free_buffers.push(buffer);
        if let Err(e) = self.worker.verify_scan(buffer, schema, from, pages) {
            if !raced {
                return Err(e);
            }
            self.worker.counters.scan_rereads += 1;
            return self.scan_step(nth);
        }
        self.sessions[nth as usize].arrived += pages;
        if self.sessions[nth as usize].arrived < self.scan_total() {
            return self.scan_step(nth);
        }
        let total = u64::from(self.scan_total());
        self.end(nth, SCAN, total, done);
        Ok(())
    }

    /// Resumes what I/O made ready.
    fn resume(&mut self, done: &mut Vec<Done>) -> Result<(), PagesError> {
        std::mem::swap(&mut self.ready, &mut self.worker.ready);
        for at in 0..self.ready.len() {
            match self.ready[at] {
                Ready::Page { slot, frame } => {
                    let nth = slot / self.work.outstanding;
                    self.sessions[nth as usize].busy &= !(1 << (slot % self.work.outstanding));
                    self.arrived(nth, self.slot_page[slot as usize], frame);
                    let session = &self.sessions[nth as usize];
                    if session.class == SELECT && session.arrived == session.unit {
                        // All of it was asked for and has come: a select has no more to do.
                        self.end(nth, SELECT, u64::from(session.unit), done);
                    } else if !session.queued {
                        self.step(nth, done)?;
                    }
                }
                Ready::Commit { session } => {
                    let Session { unit, class, .. } = self.sessions[session as usize];
                    self.end(session, class, u64::from(unit), done);
                }
                Ready::Scan { buffer } => self.scan_arrived(buffer, done)?,
                Ready::Bulk { .. } => {}
            }
        }
        self.ready.clear();
        // Who found no room tries again, in order; one that fails again ends the round.
        for _ in 0..self.queue.len() {
            let Some(nth) = self.queue.pop_front() else { break };
            self.sessions[nth as usize].queued = false;
            self.sessions[nth as usize].again = true;
            self.step(nth, done)?;
            self.sessions[nth as usize].again = false;
            if self.sessions[nth as usize].queued {
                if let Some(again) = self.queue.pop_back() {
                    self.queue.push_front(again);
                }
                break;
            }
        }
        Ok(())
    }
}

/// Class of the next operation. One draw decides among all three, so that each has its share of all operations.
fn class_of(scan_pct: u32, update_pct: u32, rng: &mut Xoshiro256PlusPlus) -> u8 {
    // Nothing is drawn where there is nothing to choose.
    let is_a_part = |share: u32| share > 0 && share < 100;
    let drawn = match is_a_part(scan_pct) || is_a_part(update_pct) {
        true => below(rng, 100),
        false => 0,
    };
    match drawn {
        scan if scan < scan_pct => SCAN,
        update if update < scan_pct + update_pct => UPDATE,
        _ => SELECT,
    }
}

/// A number below `n`, by multiplication (Lemire 2019, without the rejection: the bias is below 2^-32).
fn below(rng: &mut Xoshiro256PlusPlus, n: u32) -> u32 {
    (((rng.next_u64() >> 32) * u64::from(n)) >> 32) as u32
}

impl<P: Port> Operation for RandomOperation<'_, P> {
    type Error = PagesError;

    #[inline(always)]
    fn now(&self) -> Nanos {
        self.worker.port.now()
    }

    fn classes(&self) -> &[&'static str] {
        &CLASSES
    }

    #[inline(always)]
    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, PagesError> {
        let state = &self.sessions[session as usize];
        if self.work.work_loop > 0 && state.operations >= self.work.work_loop {
            return Ok(Started::Exhausted);
        }
        if !self.choose_next(session) {
            return Ok(Started::Exhausted);
        }
        self.step(session, done)?;
        Ok(Started::Running)
    }

    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), PagesError> {
        let before = done.len();
        loop {
            self.resume(done)?;
            self.worker.pump()?;
            if done.len() > before {
                // Send what was queued; the driver hears of the ended ones first.
                return self.worker.poll(0, None);
            }
            if self.worker.ready.is_empty() {
                if self.worker.port.in_flight() == 0 && until.is_none() {
                    return self.worker.idle_is_stuck("no operation under way can go on");
                }
                self.worker.poll(1, until)?;
            }
            self.resume(done)?;
            if done.len() > before {
                return Ok(());
            }
            if until.is_some_and(|u| self.worker.port.now() >= u) {
                self.worker.pump()?;
                return self.worker.poll(0, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scans, updates and selects among `count` operations, and whether anything was drawn.
    fn classes(scan_pct: u32, update_pct: u32, count: u32) -> ([u32; 3], bool) {
        let untouched = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut rng = untouched.clone();
        let mut seen = [0; 4];
        for _ in 0..count {
            seen[usize::from(class_of(scan_pct, update_pct, &mut rng))] += 1;
        }
        let [selects, updates, scans, 0] = seen else {
            panic!("{seen:?}")
        };
        ([scans, updates, selects], rng != untouched)
    }

    #[test]
    fn each_class_has_its_share_of_all_operations() {
        for (scan_pct, update_pct) in [(20, 50), (50, 50), (0, 25), (30, 0), (1, 1)] {
            let (seen, drawn) = classes(scan_pct, update_pct, 100_000);
            assert!(drawn);
            for (count, share) in seen
                .into_iter()
                .zip([scan_pct, update_pct, 100 - scan_pct - update_pct])
            {
                // Of 100,000, the standard error is at most 158.
                let due = 1000 * share;
                assert!(
                    count.abs_diff(due) < 800 && (share > 0 || count == 0),
                    "{count} of {due}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_drawn_where_there_is_nothing_to_choose() {
        for (scan_pct, update_pct, seen) in [(0, 0, [0, 0, 9]), (0, 100, [0, 9, 0]), (100, 0, [9, 0, 0])] {
            assert_eq!(classes(scan_pct, update_pct, 9), (seen, false));
        }
    }
}
