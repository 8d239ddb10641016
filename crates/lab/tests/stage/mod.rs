//! Modelled disks under several processes: each party is a thread, one of them runs at a time, and a seed says which.
//!
//! A party gives up its turn when it waits for I/O. A party that is killed hears of nothing any more; what it had in
//! flight goes on, as the kernel's I/O does. The same seed gives the same course. Prevents: a test of processes beside
//! each other whose failure nobody can repeat.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use targets::{
    Completion, Disks, Extent, FileId, Memory, Model, ModelPort, Nanos, Op, Port, PowerFails, Request, TargetError,
    Waker,
};

const REGION: u64 = 256 << 10;
const REGIONS: u64 = 192;
/// Turns after which a life is stuck.
const TURNS_MAX: u64 = 3_000_000;

pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    rng.next_u64() % n
}

/// What has ended for a window, with the bytes of a read and where they go.
type Ended = (Completion, Option<(u64, Vec<u8>)>);

struct Sent {
    window: usize,
    request: Request,
    region: u64,
}

/// What a window has in flight and has not been handed out.
#[derive(Default)]
struct Pane {
    party: usize,
    in_flight: usize,
    ended: VecDeque<Ended>,
}

#[derive(Clone, Copy, Default)]
struct Party {
    killed: bool,
    done: bool,
}

struct Inner {
    port: ModelPort,
    rng: Xoshiro256PlusPlus,
    parties: Vec<Party>,
    turn: usize,
    turns: u64,
    /// Turns from the beginning of the play at which parties are killed.
    kills: Vec<(u64, Vec<usize>)>,
    stuck: bool,
    sent: Vec<Option<Sent>>,
    free: Vec<u64>,
    panes: Vec<Pane>,
    scratch: Vec<Completion>,
}

/// The stage.
#[derive(Clone)]
pub(crate) struct Stage(Arc<(Mutex<Inner>, Condvar)>);

/// A party's presence: while it is there, turns come to it.
pub(crate) struct Turn {
    stage: Stage,
    party: usize,
}

impl Stage {
    pub(crate) fn new(disks: Disks, seed: u64) -> Stage {
        let mut model = Model::new(&[], REGION * REGIONS, REGIONS as usize, seed);
        (model.parallel, model.spread) = (8, 0.5);
        let inner = Inner {
            port: ModelPort::from_disks(model, disks).expect("memory"),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x57a9),
            parties: Vec::new(),
            turn: 0,
            turns: 0,
            kills: Vec::new(),
            stuck: false,
            sent: (0..REGIONS).map(|_| None).collect(),
            free: (0..REGIONS).rev().collect(),
            panes: Vec::new(),
            scratch: Vec::new(),
        };
        Stage(Arc::new((Mutex::new(inner), Condvar::new())))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A party that panicked fails the test anyway.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A port of its own on all disks.
    pub(crate) fn window(&self, party: usize, memory: u64, depth: usize) -> Window {
        let mut inner = self.inner();
        inner.panes.push(Pane {
            party,
            ..Pane::default()
        });
        Window {
            stage: self.clone(),
            id: inner.panes.len() - 1,
            party,
            memory: Memory::new(memory, false).expect("memory"),
            depth,
        }
    }

    pub(crate) fn fail_power(&self, when: PowerFails) {
        self.inner().port.fail_power(when);
    }

    pub(crate) fn asked(&self) -> (u64, u64) {
        self.inner().port.asked()
    }

    /// What the disks hold when the power fails now, or had failed.
    pub(crate) fn cut(&self, seed: u64) -> Disks {
        self.inner().port.cut(seed)
    }

    /// Whether the power has failed.
    pub(crate) fn is_off(&self) -> bool {
        self.inner().port.is_off()
    }

    /// Waits until nothing is in flight.
    pub(crate) fn quiet(&self) {
        let inner = &mut *self.inner();
        while inner.port.in_flight() > 0 && inner.step(None).is_ok() {}
    }

    /// So many parties are about to begin; some of them are killed at a turn. Before and after that, who holds a window
    /// runs alone.
    pub(crate) fn raise(&self, parties: usize, kills: Vec<(u64, Vec<usize>)>) {
        let mut inner = self.inner();
        inner.parties = vec![Party::default(); parties];
        (inner.turn, inner.turns, inner.kills) = (0, 0, kills);
    }

    /// On the thread of a party: waits for its first turn.
    pub(crate) fn enter(&self, party: usize) -> Turn {
        self.wait_for(self.inner(), party);
        Turn {
            stage: self.clone(),
            party,
        }
    }

    /// Gives the turn to whoever is next; returns with the next own one.
    pub(crate) fn pass(&self, party: usize) {
        let mut inner = self.inner();
        if inner.parties.is_empty() {
            return;
        }
        inner.next();
        self.0.1.notify_all();
        self.wait_for(inner, party);
    }

    fn wait_for(&self, mut inner: MutexGuard<'_, Inner>, party: usize) {
        while inner.turn != party {
            inner = self.0.1.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn is_killed(&self, party: usize) -> bool {
        self.inner().parties.get(party).is_some_and(|party| party.killed)
    }

    pub(crate) fn is_done(&self, party: usize) -> bool {
        self.inner().parties[party].done
    }

    /// Whether windows of a party have requests in flight.
    pub(crate) fn has_in_flight(&self, party: usize) -> bool {
        let inner = self.inner();
        inner
            .sent
            .iter()
            .flatten()
            .any(|sent| inner.panes[sent.window].party == party)
    }

    /// Everybody has left; gives whether they were stuck.
    pub(crate) fn clear(&self) -> bool {
        let mut inner = self.inner();
        inner.parties.clear();
        inner.stuck
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut inner = self.stage.inner();
        inner.parties[self.party].done = true;
        inner.next();
        self.stage.0.1.notify_all();
    }
}

impl Inner {
    fn next(&mut self) {
        self.turns += 1;
        let due: Vec<usize> = self
            .kills
            .iter()
            .filter(|(turn, _)| *turn <= self.turns)
            .flat_map(|(_, parties)| parties.clone())
            .collect();
        due.into_iter().for_each(|party| self.parties[party].killed = true);
        if self.turns > TURNS_MAX {
            self.stuck = true;
            self.parties.iter_mut().for_each(|party| party.killed = true);
        }
        let there: Vec<usize> = (0..self.parties.len()).filter(|nth| !self.parties[*nth].done).collect();
        if !there.is_empty() {
            self.turn = there[below(&mut self.rng, there.len() as u64) as usize];
        }
    }

    fn alive(&self, party: usize) -> Result<(), TargetError> {
        match self.parties.get(party) {
            Some(party) if party.killed => Err(TargetError::PowerCut),
            _ => Ok(()),
        }
    }

    /// Lets the next request end, or time come.
    fn step(&mut self, until: Option<Nanos>) -> Result<(), TargetError> {
        self.deliver(1, until)
    }

    fn deliver(&mut self, min: usize, until: Option<Nanos>) -> Result<(), TargetError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let waited = self.port.wait(min, until, &mut scratch);
        for completion in scratch.drain(..) {
            let sent = self.sent[completion.token as usize].take().expect("it was sent");
            self.free.push(sent.region);
            let Request { op, at, len, token, .. } = sent.request;
            let data = (op == Op::Read && completion.result.is_ok())
                .then(|| (at, self.port.bytes(sent.region * REGION, len as usize).to_vec()));
            let result = completion.result;
            self.panes[sent.window]
                .ended
                .push_back((Completion { token, result }, data));
        }
        self.scratch = scratch;
        waited
    }
}

/// A port of a party.
pub(crate) struct Window {
    stage: Stage,
    id: usize,
    party: usize,
    memory: Memory,
    depth: usize,
}

impl Port for Window {
    fn now(&self) -> Nanos {
        self.stage.inner().port.now()
    }

    fn memory(&self) -> u64 {
        self.memory.len()
    }

    fn bytes(&self, at: u64, len: usize) -> &[u8] {
        self.memory.bytes(at, len)
    }

    fn bytes_mut(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.memory.bytes_mut(at, len)
    }

    fn alignment(&self) -> u32 {
        512
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.stage.inner().panes[self.id].in_flight
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let inner = &mut *self.stage.inner();
        inner.alive(self.party)?;
        let region = inner.free.pop().expect("few enough requests in flight");
        assert!(u64::from(request.len) <= REGION, "a request of {} bytes", request.len);
        if request.op == Op::Write {
            let bytes = self.memory.bytes(request.at, request.len as usize);
            let place = inner.port.bytes_mut(region * REGION, request.len as usize);
            place.copy_from_slice(bytes);
        }
        inner.panes[self.id].in_flight += 1;
        let slot = inner.sent.iter().position(Option::is_none).expect("as many as regions");
        inner.sent[slot] = Some(Sent {
            window: self.id,
            request,
            region,
        });
        inner.port.submit(Request {
            at: region * REGION,
            token: slot as u64,
            ..request
        })
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        loop {
            self.stage.pass(self.party);
            let inner = &mut *self.stage.inner();
            inner.alive(self.party)?;
            inner.deliver(0, None)?;
            let pane = &inner.panes[self.id];
            let late = until.is_some_and(|until| inner.port.now() >= until);
            let idle = pane.ended.len() == pane.in_flight && until.is_none();
            if pane.ended.len() >= min || late || idle {
                break;
            }
            inner.step(until)?;
        }
        let pane = &mut self.stage.inner().panes[self.id];
        while let Some((completion, data)) = pane.ended.pop_front() {
            if let Some((at, bytes)) = data {
                self.memory.bytes_mut(at, bytes.len()).copy_from_slice(&bytes);
            }
            pane.in_flight -= 1;
            done.push(completion);
        }
        Ok(())
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.stage.inner().port.size(file)
    }

    fn grow(&mut self, _file: FileId, _size: u64) -> Result<(), TargetError> {
        panic!("a disk does not grow");
    }

    fn extents(&self, _file: FileId) -> Result<Vec<Extent>, TargetError> {
        Ok(Vec::new())
    }

    fn waker(&self) -> Waker {
        Waker::default()
    }
}
