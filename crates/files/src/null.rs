//! The client that answers itself: a server in memory. With the real clock and no delay it is the ceiling of the
//! instrument; with a clock of its own it is the simulated server of tests, which can lose what a real one may lose.
//!
//! Prevents: a rate of the instrument that is taken for one of the server.

use crate::client::{Answer, Call, Client, Entries, Found, Identity, Kept, Node, PlainEntry, Traffic};
use crate::error::FilesError;
use crate::grain::{Content, Pool};
use crate::status::Status;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use targets::{Nanos, monotonic_ns};

/// How long calls take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    /// No time; the real clock.
    Real,
    /// So long, so many at once; a clock of its own.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests simulate a server with it"))]
    Virtual { service_ns: u64, servers: u32 },
}

/// An object.
#[derive(Clone, Default)]
struct Object {
    name: Vec<u8>,
    dir: u32,
    there: bool,
    is_directory: bool,
    stable_name: bool,
    removed: bool,
    renamed: bool,
    /// Which one it is of all that were made, and which one its name was of before; 0: none.
    generation: u32,
    before: u32,
    /// Versions; 0: zeros.
    now: Vec<u8>,
    stable: Vec<u8>,
    link: Vec<u8>,
    file: u32,
}

/// What a call under way does when it ends.
#[derive(Clone, Copy)]
enum Then {
    Answer(Status),
    Found(Node),
    Link(Node),
    Read(Node, u32, u32),
    Written(u32, bool),
    Committed,
    List(Node),
    Limits,
    Done,
    BrokenOff,
}

/// Faults that tests plant.
#[derive(Clone, Copy, Default)]
pub(crate) struct Planted {
    /// Every so many calls are put off; 0: none.
    pub(crate) later_each: u64,
    /// The connections of every so many calls end before the answer; 0: none.
    pub(crate) broken_off_each: u64,
    /// After so many calls so many get no answer: in turn their connection ends, and they are put off.
    pub(crate) unanswered: (u64, u64),
    /// Every so many listings are refused: no such name; 0: none.
    pub(crate) lists_refused_each: u64,
    /// COMMIT and FILE_SYNC keep nothing.
    pub(crate) forgets_commits: bool,
    /// Names are not stable.
    pub(crate) forgets_names: bool,
    /// Removed names are there again after a cut.
    pub(crate) forgets_removals: bool,
    /// Names that were removed and made again are of the old file after a cut.
    pub(crate) forgets_replacements: bool,
    /// After a cut no old handle is good, and each file has another one.
    pub(crate) forgets_handles: bool,
    /// Files that were renamed are gone after a cut.
    pub(crate) forgets_renames: bool,
    /// The verifier stays the same after a cut.
    pub(crate) same_verifier: bool,
    /// Reads of this node bring its last version but one.
    pub(crate) stale_reads: bool,
}

/// The client.
pub(crate) struct Null {
    time: Time,
    now: Nanos,
    pool: Option<Pool>,
    objects: Vec<Object>,
    under_way: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    thens: Vec<Then>,
    free: Vec<Nanos>,
    calls: u64,
    lists: u64,
    /// A name leads to another object than it was made for.
    has_renamed: bool,
    /// Objects made so far.
    made: u32,
    /// What handles begin with, and whether one from before is asked for next.
    handles: u32,
    is_stale: bool,
    verifier: u64,
    buffer: Vec<u8>,
    listing: Vec<PlainEntry>,
    pub(crate) planted: Planted,
}

impl Null {
    pub(crate) fn new(time: Time) -> Null {
        let servers = match time {
            Time::Real => 0,
            Time::Virtual { servers, .. } => servers as usize,
        };
        let root = Object {
            there: true,
            is_directory: true,
            stable_name: true,
            ..Object::default()
        };
        Null {
            time,
            now: 1,
            pool: None,
            objects: vec![root],
            under_way: BinaryHeap::new(),
            thens: Vec::new(),
            free: vec![0; servers],
            calls: 0,
            lists: 0,
            has_renamed: false,
            made: 0,
            handles: 0,
            is_stale: false,
            verifier: 1,
            buffer: Vec::new(),
            listing: Vec::new(),
            planted: Planted::default(),
        }
    }

    /// The power goes: what is not stable is gone. `every`: of what may be gone, one in so many stays.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests cut the power with it"))]
    pub(crate) fn cut(&mut self, every: usize) {
        self.under_way.clear();
        for (nth, object) in self.objects.iter_mut().enumerate() {
            if nth % every == 0 {
                object.stable.clone_from(&object.now);
            }
            object.now.clone_from(&object.stable);
            if self.planted.forgets_names && nth > 1 && !object.stable_name && !object.is_directory {
                object.there = false;
            }
            if self.planted.forgets_replacements && object.there && !object.stable_name && object.before > 0 {
                object.generation = object.before;
            }
            object.there |= object.removed && self.planted.forgets_removals;
            object.there &= !(object.renamed && self.planted.forgets_renames);
        }
        self.verifier += u64::from(!self.planted.same_verifier);
        if self.planted.forgets_handles {
            (self.handles, self.is_stale) = (self.handles + (1 << 24), true);
        }
    }

    /// Names that are there.
    #[cfg(test)]
    pub(crate) fn names(&self) -> usize {
        self.objects.iter().skip(1).filter(|object| object.there).count()
    }

    fn clock(&self) -> Nanos {
        match self.time {
            Time::Real => monotonic_ns(),
            Time::Virtual { .. } => self.now,
        }
    }

    /// When a call that begins now ends.
    fn end_of_call(&mut self) -> Nanos {
        let Time::Virtual { service_ns, .. } = self.time else {
            return 0;
        };
        let (nth, free) = self
            .free
            .iter()
            .copied()
            .enumerate()
            .min_by_key(|(_, at)| *at)
            .unwrap_or((0, 0));
        let end = free.max(self.now) + service_ns;
        self.free[nth] = end;
        end
    }

    fn named(&self, dir: Node, name: &[u8]) -> Option<Node> {
        let found = |object: &Object| object.there && object.dir == dir.0 && object.name == name;
        let at = self.objects.iter().position(found)?;
        Some(Node(at as u32))
    }

    /// A name is made; `false`: it is there.
    fn make(&mut self, (dir, name, node): (Node, &[u8], Node), is_directory: bool) -> bool {
        let object = &mut self.objects[node.0 as usize];
        if object.there {
            return false;
        }
        self.made += 1;
        *object = Object {
            generation: self.made,
            before: object.generation,
            name: std::mem::take(&mut object.name),
            dir: dir.0,
            there: true,
            is_directory,
            now: std::mem::take(&mut object.now),
            stable: std::mem::take(&mut object.stable),
            file: object.file,
            ..Object::default()
        };
        object.name.clear();
        object.name.extend_from_slice(name);
        object.now.clear();
        object.stable.clear();
        true
    }

    fn write(&mut self, of: Node, stable: bool, content: &Content<'_>) {
        if self.pool.is_none() {
            self.pool = Some(content.pool.clone());
        }
        let keeps = stable && !self.planted.forgets_commits;
        let object = &mut self.objects[of.0 as usize];
        object.file = content.file;
        let (from, to) = (content.first as usize, content.first as usize + content.versions.len());
        for (versions, keep) in [(&mut object.now, true), (&mut object.stable, keeps)] {
            if keep {
                let len = versions.len().max(to);
                versions.resize(len, 0);
                versions[from..to].copy_from_slice(content.versions);
            }
        }
    }

    fn remove(&mut self, dir: Node, name: &[u8]) -> Then {
        match self.named(dir, name) {
            Some(node) => {
                let object = &mut self.objects[node.0 as usize];
                (object.there, object.removed) = (false, true);
                Then::Done
            }
            None => Then::Answer(Status::NOT_FOUND),
        }
    }

    fn rename(&mut self, dir: Node, (name, to): (&[u8], &[u8])) -> Then {
        let Some(node) = self.named(dir, name) else {
            return Then::Answer(Status::NOT_FOUND);
        };
        if let Some(replaced) = self.named(dir, to) {
            self.objects[replaced.0 as usize].there = false;
        }
        let object = &mut self.objects[node.0 as usize];
        (object.name, object.renamed, self.has_renamed) = (to.to_vec(), true, true);
        Then::Done
    }

    /// Nodes are known by whoever asks: a search by name only where names have changed. Then the node leads to what
    /// the name is of, as a file handle does that is learned anew.
    fn lookup(&mut self, dir: Node, name: &[u8], node: Option<Node>) -> Then {
        let Some(node) = node else {
            return Then::Answer(Status::NOT_FOUND);
        };
        let object = &self.objects[node.0 as usize];
        if object.there && object.dir == dir.0 && object.name == name {
            return Then::Found(node);
        }
        match self.named(dir, name).filter(|_| self.has_renamed) {
            Some(other) => {
                self.objects.swap(other.0 as usize, node.0 as usize);
                Then::Found(node)
            }
            None => Then::Answer(Status::NOT_FOUND),
        }
    }

    fn of(&self, node: Node, then: Then) -> Then {
        if self.objects[node.0 as usize].there {
            then
        } else {
            Then::Answer(Status::STALE)
        }
    }

    fn listed(&mut self, dir: Node) -> Then {
        self.lists += 1;
        if is_each(self.planted.lists_refused_each, self.lists) {
            return Then::Answer(Status::NOT_FOUND);
        }
        self.of(dir, Then::List(dir))
    }

    /// How the next call is answered that is not carried out.
    fn withheld(&mut self) -> Option<Then> {
        let (before, many) = &mut self.planted.unanswered;
        if *before > 0 {
            *before -= 1;
        } else if *many > 0 {
            *many -= 1;
            return Some(match many.is_multiple_of(2) {
                true => Then::Answer(Status::LATER),
                false => Then::BrokenOff,
            });
        }
        is_each(self.planted.later_each, self.calls).then_some(Then::Answer(Status::LATER))
    }

    /// Carries a call out; gives how it is answered.
    fn carry_out(&mut self, call: &Call<'_>) -> Then {
        match *call {
            Call::Getattr { .. } if std::mem::take(&mut self.is_stale) => Then::Answer(Status::STALE),
            Call::Getattr { of } => self.of(of, Then::Found(of)),
            Call::Access { of } => self.of(of, Then::Done),
            Call::Readlink { of } => self.of(of, Then::Link(of)),
            Call::Read { of, offset, len } => self.of(of, Then::Read(of, (offset / 1024) as u32, len / 1024)),
            Call::Setattr { of, size } => {
                if let Some(size) = size {
                    self.objects[of.0 as usize].now.resize((size / 1024) as usize, 0);
                }
                self.of(of, Then::Done)
            }
            Call::Lookup { dir, name, node } => self.lookup(dir, name, node),
            Call::Write {
                of,
                stable,
                ref content,
                ..
            } => {
                self.write(of, stable, content);
                self.of(of, Then::Written(content.len() as u32, stable))
            }
            Call::Create { dir, name, node } | Call::Mkdir { dir, name, node } => {
                let made = self.make((dir, name, node), matches!(call, Call::Mkdir { .. }));
                if made {
                    Then::Found(node)
                } else {
                    Then::Answer(Status::EXISTS)
                }
            }
            Call::Symlink {
                dir,
                name,
                target,
                node,
            } => {
                let made = self.make((dir, name, node), false);
                self.objects[node.0 as usize].link = target.to_vec();
                if made {
                    Then::Found(node)
                } else {
                    Then::Answer(Status::EXISTS)
                }
            }
            Call::Remove { dir, name } | Call::Rmdir { dir, name } => self.remove(dir, name),
            Call::Rename { dir, name, to, .. } => self.rename(dir, (name, to)),
            Call::List { dir, .. } => self.listed(dir),
            Call::Fsstat => Then::Done,
            Call::Fsinfo => Then::Limits,
            Call::Commit { of } => {
                let object = &mut self.objects[of.0 as usize];
                if !self.planted.forgets_commits {
                    object.stable.clone_from(&object.now);
                    object.stable_name = true;
                }
                self.of(of, Then::Committed)
            }
        }
    }

    fn about(&self, node: Node) -> Found {
        let object = &self.objects[node.0 as usize];
        Found {
            identity: Identity {
                file_id: Some(u64::from(object.generation)),
                handle: Some(self.handles + object.generation),
            },
            size: Some(object.now.len() as u64 * 1024),
        }
    }

    /// The bytes of a file, made anew from its versions.
    fn read(&mut self, node: Node, first: u32, kib: u32) {
        let object = &self.objects[node.0 as usize];
        let to = object.now.len().min((first + kib) as usize);
        let from = (first as usize).min(to);
        self.buffer.clear();
        self.buffer.resize((to - from) * 1024, 0);
        let Some(pool) = &self.pool else { return };
        let (file, back) = (object.file, u8::from(self.planted.stale_reads));
        for (nth, version) in object.now[from..to]
            .iter()
            .enumerate()
            .filter(|(_, version)| **version != 0)
        {
            let content = Content {
                pool,
                file,
                first: (from + nth) as u32,
                versions: &[version - back],
            };
            content.fill(&mut self.buffer[nth * 1024..][..1024]);
        }
    }

    fn list(&mut self, dir: Node) {
        self.listing.clear();
        for nth in 0..self.objects.len() as u32 {
            let object = &self.objects[nth as usize];
            if nth > 0 && object.there && object.dir == dir.0 {
                let entry = PlainEntry {
                    name: object.name.clone(),
                    about: self.about(Node(nth)),
                };
                self.listing.push(entry);
            }
        }
    }

    fn answer(&mut self, then: Then) -> Answer<'_> {
        match then {
            Then::Answer(status) => Answer::Refused(status),
            Then::Found(node) => Answer::Found(self.about(node)),
            Then::Link(node) => Answer::Link(&self.objects[node.0 as usize].link),
            Then::Read(node, first, kib) => {
                self.read(node, first, kib);
                let end = first as usize + self.buffer.len() / 1024;
                Answer::Bytes {
                    bytes: &self.buffer,
                    ends: end >= self.objects[node.0 as usize].now.len(),
                }
            }
            Then::Written(count, stable) => Answer::Written {
                count,
                kept: if stable { Kept::File } else { Kept::Unstable },
                verifier: self.verifier,
            },
            Then::Committed => Answer::Committed {
                verifier: self.verifier,
            },
            Then::List(node) => {
                self.list(node);
                Answer::Listing(Entries::Plain(&self.listing))
            }
            Then::Limits => Answer::Limits {
                read: 1 << 20,
                write: 1 << 20,
            },
            Then::Done => Answer::Done,
            Then::BrokenOff => Answer::Again,
        }
    }
}

/// Whether the nth is one of every so many; 0: none is.
fn is_each(each: u64, nth: u64) -> bool {
    each > 0 && nth.is_multiple_of(each)
}

impl Client for Null {
    fn now(&self) -> Nanos {
        self.clock()
    }

    fn reserve(&mut self, nodes: u32, tags: u32) {
        let nodes = self.objects.len().max(nodes as usize);
        self.objects.resize(nodes, Object::default());
        let tags = self.thens.len().max(tags as usize);
        self.thens.resize(tags, Then::Done);
        self.under_way.reserve(tags);
    }

    fn knows(&self, _: Node) -> bool {
        true
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    fn names_are_stable(&self) -> bool {
        true
    }

    fn most_calls(&self) -> u32 {
        0xffff
    }

    fn renew(&mut self) -> Result<(), FilesError> {
        self.under_way.clear();
        Ok(())
    }

    fn send(&mut self, tag: u32, call: &Call<'_>) -> Result<(), FilesError> {
        self.calls += 1;
        let then = match self.withheld() {
            Some(then) => then,
            None => {
                let then = self.carry_out(call);
                match is_each(self.planted.broken_off_each, self.calls) {
                    true => Then::BrokenOff,
                    false => then,
                }
            }
        };
        self.thens[tag as usize] = then;
        let end = self.end_of_call();
        self.under_way.push(Reverse((end, self.calls, tag)));
        Ok(())
    }

    fn wait(
        &mut self,
        until: Option<Nanos>,
        each: &mut impl FnMut(u32, Nanos, Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        let Some(Reverse((first, ..))) = self.under_way.peek().copied() else {
            self.now = self.now.max(until.unwrap_or(0));
            while self.time == Time::Real && until.is_some_and(|until| monotonic_ns() < until) {
                std::thread::yield_now();
            }
            return Ok(());
        };
        if self.time != Time::Real && until.is_some_and(|until| until < first) {
            self.now = self.now.max(until.unwrap_or(0));
            return Ok(());
        }
        self.now = self.now.max(first);
        let at = self.clock();
        while let Some(Reverse((end, _, tag))) = self.under_way.peek().copied() {
            if end > self.now {
                break;
            }
            self.under_way.pop();
            let answer = self.answer(self.thens[tag as usize]);
            each(tag, at, answer)?;
        }
        Ok(())
    }
}
