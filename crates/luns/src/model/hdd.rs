//! A hard disk: an arm, a turning platter, a queue that is served in the order of nearness, a write cache.
//!
//! Takes requests, gives times. One request at a time is at the head; the next is, of the first [`QUEUE_MAX`], the one
//! whose sector can be reached first (shortest positioning time first, as native command queueing does; Jacobson and
//! Wilkes 1991, Seltzer et al. 1990), unless one has waited too long. Reads in sequence are served from read-ahead;
//! writes in sequence go on where the one before ended, when they are there by then. With its write cache on, a write
//! is acknowledged when it is there, and lost with the power until it is flushed. Prevents: random reads that cost what
//! sequential ones do, and sequential writes that cost what random ones do.

use super::geometry::{Geometry, Platters, SeekTimes};
use super::waiting::{Waiting, left_to_waiting};
use super::{Answer, Ask, Command, Counters, DeviceModel};
use std::collections::VecDeque;
use targets::Nanos;

/// Requests that the disk chooses from; more wait in line.
pub const QUEUE_MAX: usize = 32;
/// Cached writes that the disk chooses from, the oldest.
const DESTAGE_MAX: usize = 128;
/// Who has waited longer goes next.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Parameters of a disk.
#[derive(Clone, PartialEq, Debug)]
pub struct HddParameters {
    /// Turns a minute.
    pub rpm: u32,
    /// Bytes a second at the outer edge, sustained.
    pub outer_rate: f64,
    /// Bytes a second at the inner edge, sustained.
    pub inner_rate: f64,
    /// Times of the arm for reads.
    pub seek: SeekTimes,
    /// What a write's positioning takes more, in nanoseconds.
    pub write_settle_ns: u64,
    /// The same when the arm goes to the next track or stays where it has read, in nanoseconds.
    pub write_settle_track_ns: u64,
    /// Bytes a second between host and disk.
    pub bus_rate: f64,
    /// Time in nanoseconds that a command takes before anything moves.
    pub overhead_ns: u64,
    /// Bytes read ahead of a sequence.
    pub ahead_bytes: u64,
    /// Bytes of writes that the disk may hold unwritten; 0: its write cache is off.
    pub write_cache_bytes: u64,
    /// Share of the arm's way that the LUN takes; 1: it stands for a whole disk.
    pub stroke: f64,
}

/// What the head is to do.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Job {
    /// Whose request ends with it; none for a cached write.
    id: Option<u64>,
    read: bool,
    offset: u64,
    len: u32,
    came: Nanos,
    /// Cached writes: the order in which they were acknowledged.
    nth: u64,
}

/// Where the head is, or will be when what it does is done.
#[derive(Clone, Copy, Debug)]
struct Head {
    free_at: Nanos,
    turn: f64,
    /// What it did last, while nothing has broken the sequence.
    stream: Option<Stream>,
}

/// A sequence of reads or of writes.
#[derive(Clone, Copy, Debug)]
struct Stream {
    read: bool,
    /// Of reads: from here on it is kept.
    start: u64,
    /// Where it has come to.
    end: u64,
    /// When that passed the head.
    passed_at: Nanos,
}

/// Time until the head has the first sector of a job, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Positioning {
    seek: u64,
    settle: u64,
    platter: u64,
}

impl Positioning {
    fn arm(&self) -> u64 {
        self.seek + self.settle
    }

    fn all(&self) -> u64 {
        self.arm() + self.platter
    }
}

/// The disk.
pub struct Hdd {
    parameters: HddParameters,
    geometry: Geometry,
    head: Head,
    /// At the head.
    serving: Option<Job>,
    /// Requests, in order of arrival.
    queue: VecDeque<Job>,
    /// Cached writes, in order of arrival.
    cached: VecDeque<Job>,
    /// Writes that wait for room in the cache.
    roomless: VecDeque<Job>,
    /// Flushes, each with the first write that it does not wait for; in order.
    flushes: VecDeque<(u64, u64)>,
    /// Writes acknowledged from the cache so far.
    taken_in: u64,
    waiting: Waiting,
}

impl Hdd {
    /// A disk that holds a LUN of `bytes`, its arm at the outer edge.
    pub fn new(parameters: HddParameters, bytes: u64) -> Hdd {
        let p = &parameters;
        Hdd {
            geometry: Geometry::new(
                bytes,
                Platters {
                    rpm: p.rpm,
                    outer_rate: p.outer_rate,
                    inner_rate: p.inner_rate,
                    seek: p.seek,
                    stroke: p.stroke,
                },
            ),
            parameters,
            head: Head {
                free_at: 0,
                turn: 0.0,
                stream: None,
            },
            serving: None,
            queue: VecDeque::new(),
            cached: VecDeque::new(),
            roomless: VecDeque::new(),
            flushes: VecDeque::new(),
            taken_in: 0,
            waiting: Waiting::default(),
        }
    }

    /// What it is made of.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn bus_ns(&self, len: u32) -> u64 {
        (f64::from(len) / self.parameters.bus_rate * 1e9).round() as u64
    }

    /// What the head takes from `now` on to the first sector of a job.
    fn positioning(&self, now: Nanos, job: &Job) -> Positioning {
        let turn = self.geometry.turn(job.offset);
        let seek = self.geometry.seek_ns(self.head.turn, turn);
        let wrote = self.head.stream.is_some_and(|stream| !stream.read);
        let tracks = (self.head.turn.floor() - turn.floor()).abs();
        // A head that stays where it has written a moment ago has nothing to settle.
        let settle = if job.read || (wrote && tracks < 1.0) {
            0
        } else if tracks < 2.0 {
            self.parameters.write_settle_track_ns
        } else {
            self.parameters.write_settle_ns
        };
        Positioning {
            seek,
            settle,
            platter: self.geometry.rotation_wait_ns(now + seek + settle, turn),
        }
    }

    /// Whether a job goes on where the last one ended without losing its place: a read does for what the head has read
    /// ahead, a write when it is there before the place has passed.
    fn follows(&self, now: Nanos, job: &Job) -> bool {
        let there = now.max(job.came + self.parameters.overhead_ns);
        self.head.stream.is_some_and(|stream| match job.read {
            true => stream.read && (stream.start..=stream.end).contains(&job.offset),
            false => !stream.read && stream.end == job.offset && there <= self.head.free_at,
        })
    }

    /// When all of a read has passed the head if that reads on where it is; `None`: it has to go elsewhere, or is there
    /// sooner so.
    fn read_on(&self, ready: Nanos, job: &Job) -> Option<Nanos> {
        /// Places are rounded.
        const NEAR_NS: u64 = 2_000;
        let stream = self.head.stream.filter(|stream| stream.read && job.read)?;
        let ahead = self.parameters.ahead_bytes;
        if ahead == 0 && (job.offset != stream.end || ready > stream.passed_at) {
            return None;
        }
        if job.offset < stream.start || job.offset > stream.end + ahead {
            return None;
        }
        let end = job.offset + u64::from(job.len);
        if end <= stream.end {
            return Some(stream.passed_at);
        }
        let passing = |to| self.geometry.passing_ns(stream.end, to);
        // The head went on reading until the read-ahead was full.
        let from = stream.passed_at.max(ready.saturating_sub(passing(stream.end + ahead)));
        if job.offset > stream.end {
            let anew = ready + self.positioning(ready, job).all();
            (from + passing(job.offset) <= anew + NEAR_NS).then_some(())?;
        }
        Some(from + passing(end))
    }

    /// The nearest of some, and how near.
    fn nearest<'a>(&self, now: Nanos, jobs: impl Iterator<Item = &'a Job>) -> Option<(usize, u64)> {
        let near = jobs.enumerate().map(|(nth, job)| {
            let waited_too_long = now.saturating_sub(job.came) > PATIENCE_NS;
            let near = if waited_too_long {
                0
            } else {
                self.positioning(now, job).all()
            };
            (nth, near)
        });
        near.min_by_key(|(_, ns)| *ns)
    }

    /// Whether a sequence must be broken off for others: a scan with two reads in flight has its next one always here.
    fn someone_has_waited_too_long(&self, now: Nanos) -> bool {
        let held_up = !self.flushes.is_empty() || !self.roomless.is_empty();
        let cached = self.cached.front().filter(|_| held_up);
        let mut oldest = [self.queue.front(), cached].into_iter().flatten();
        oldest.any(|job| now.saturating_sub(job.came) > PATIENCE_NS)
    }

    /// Takes the next job for a head that is free.
    fn choose(&mut self, now: Nanos) -> Option<Job> {
        let undisturbed = !self.someone_has_waited_too_long(now);
        let mut first = self.queue.iter().take(QUEUE_MAX);
        if undisturbed && let Some(nth) = first.position(|job| self.follows(now, job)) {
            return self.queue.remove(nth);
        }
        let asked = self.nearest(now, self.queue.iter().take(QUEUE_MAX));
        // Requests go first while the cache has room: nobody waits for what lies in it.
        let pressing = !self.flushes.is_empty() || !self.roomless.is_empty() || asked.is_none();
        let before = self.flushes.front().map_or(u64::MAX, |flush| flush.1);
        let candidates = || self.cached.iter().take(DESTAGE_MAX).take_while(|job| job.nth < before);
        if pressing
            && undisturbed
            && let Some(nth) = candidates().position(|job| self.follows(now, job))
        {
            return self.cached.remove(nth);
        }
        let staged = if pressing {
            self.nearest(now, candidates())
        } else {
            None
        };
        match (asked, staged) {
            (Some((nth, near)), other) if other.is_none_or(|o| near <= o.1) => self.queue.remove(nth),
            (_, Some((nth, _))) => self.cached.remove(nth),
            _ => None,
        }
    }

    /// Puts a job at the head at `now`; it ends at `head.free_at`.
    fn serve(&mut self, now: Nanos, job: Job) {
        let end = job.offset + u64::from(job.len);
        let ready = now.max(job.came + self.parameters.overhead_ns);
        let passing = self.geometry.passing_ns(job.offset, end);
        let before = self.head.stream;
        let mut stream = Stream {
            read: job.read,
            start: job.offset,
            end,
            passed_at: 0,
        };
        if let (Some(passed), Some(before)) = (self.read_on(ready, &job), before) {
            self.waiting.counters.cache_hits += 1;
            self.head.free_at = passed.max(ready + self.bus_ns(job.len));
            stream.end = end.max(before.end);
            // As much of it is kept as is read ahead.
            let kept = stream.end.saturating_sub(self.parameters.ahead_bytes);
            stream.start = before.start.max(kept);
            stream.passed_at = passed;
        } else if let Some(before) = before.filter(|_| !job.read && self.follows(now, &job)) {
            self.head.free_at = before.passed_at + passing;
            stream.passed_at = self.head.free_at;
        } else {
            let positioning = self.positioning(ready, &job);
            self.waiting.counters.cache_misses += u64::from(job.read);
            self.waiting.counters.seeks += u64::from(positioning.seek > 0);
            self.waiting.counters.seek_ns += positioning.arm();
            self.waiting.counters.rotation_ns += positioning.platter;
            self.head.free_at = ready + positioning.all() + passing;
            stream.passed_at = self.head.free_at;
        }
        self.head.stream = Some(stream);
        self.head.turn = self.geometry.turn(stream.end);
        self.serving = Some(job);
    }

    fn begin(&mut self, now: Nanos) {
        if self.serving.is_none()
            && let Some(job) = self.choose(now)
        {
            self.serve(now, job);
        }
    }

    /// The job at the head is done.
    fn finish(&mut self) {
        let (Some(job), at) = (self.serving.take(), self.head.free_at) else {
            return;
        };
        match job.id {
            Some(id) => self.waiting.ends(id, at),
            None => self.staged(at, job.len),
        }
        self.begin(at);
    }

    /// A cached write is on the platter; nothing is at the head now.
    fn staged(&mut self, at: Nanos, len: u32) {
        self.waiting.counters.unflushed_bytes -= u64::from(len);
        self.waiting.counters.destaged_bytes += u64::from(len);
        let oldest = self.cached.front().map_or(u64::MAX, |job| job.nth);
        while let Some((id, before)) = self.flushes.front().copied()
            && before <= oldest
        {
            self.flushes.pop_front();
            self.waiting.ends(id, at);
        }
        while let Some(next) = self.roomless.front().copied()
            && self.has_room(next.len)
        {
            self.roomless.pop_front();
            self.take_in(at, next);
        }
    }

    fn has_room(&self, len: u32) -> bool {
        self.waiting.counters.unflushed_bytes + u64::from(len) <= self.parameters.write_cache_bytes
    }

    /// A write is in the cache and acknowledged.
    fn take_in(&mut self, now: Nanos, job: Job) {
        self.waiting.counters.unflushed_bytes += u64::from(job.len);
        if let Some(id) = job.id {
            let there = now + self.parameters.overhead_ns + self.bus_ns(job.len);
            self.waiting.ends(id, there);
        }
        self.cached.push_back(Job {
            id: None,
            nth: self.taken_in,
            ..job
        });
        self.taken_in += 1;
    }

    fn flush(&mut self, now: Nanos, id: u64) {
        if self.waiting.counters.unflushed_bytes == 0 {
            self.waiting.ends(id, now + self.parameters.overhead_ns);
        } else {
            self.flushes.push_back((id, self.taken_in));
        }
    }
}

impl DeviceModel for Hdd {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.waiting.came(now, &ask);
        let job = Job {
            id: Some(ask.id),
            read: ask.command == Command::Read,
            offset: ask.offset,
            len: ask.len,
            came: now,
            nth: 0,
        };
        match ask.command {
            Command::Flush => self.flush(now, ask.id),
            Command::Write { through: false } if u64::from(ask.len) <= self.parameters.write_cache_bytes => {
                if self.roomless.is_empty() && self.has_room(ask.len) {
                    self.take_in(now, job);
                } else {
                    self.roomless.push_back(job);
                }
            }
            _ => self.queue.push_back(job),
        }
        self.begin(now);
    }

    fn next(&self) -> Option<Nanos> {
        let head = self.serving.is_some().then_some(self.head.free_at);
        [head, self.waiting.next()].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) {
        while self.serving.is_some() && self.head.free_at <= now {
            self.finish();
        }
        self.waiting.advance(now, done);
    }

    left_to_waiting!(counters);

    fn power_cycle(&mut self, now: Nanos) {
        let queued = self.queue.drain(..).chain(self.roomless.drain(..));
        let asked = queued.chain(self.serving.take()).filter_map(|job| job.id);
        for id in asked.chain(self.flushes.drain(..).map(|flush| flush.0)) {
            self.waiting.ends(id, now);
        }
        self.cached.clear();
        self.waiting.counters.unflushed_bytes = 0;
        // The arm rests at the outer edge when it is without power.
        self.head = Head {
            free_at: now,
            turn: 0.0,
            stream: None,
        };
    }
}
