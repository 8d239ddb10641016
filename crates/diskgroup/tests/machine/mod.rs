//! A machine for the tests: modelled disks under several ports, with faults per disk and a power switch.
//!
//! Windows on one `ModelPort` stand for the ports of workers, of the upkeep and of the owner of the metadata.
//! Everything is virtual time and seeded. Prevents: tests in which the parts of a group do not get in each other's way.

pub(crate) mod content;
pub(crate) mod life;
pub(crate) mod oracle;
pub(crate) mod pair;
pub(crate) mod scenario;
pub(crate) mod scratch;
pub(crate) mod survey;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use targets::{
    Completion, Disks, Extent, FileId, IoFault, Memory, Model, ModelPort, Nanos, Op, Port, PowerFails, Request,
    TargetError, Waker,
};

const EIO: i32 = 5;
/// Largest request, and how many may be in flight in all.
const REGION: u64 = 256 << 10;
const REGIONS: u64 = 96;

/// Tells the story of a seed that is replayed with `ASSAY_SAY=1`.
pub(crate) fn say(what: impl FnOnce() -> String) {
    if std::env::var_os("ASSAY_SAY").is_some() {
        eprintln!("{}", what());
    }
}

/// What a disk does.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Mood {
    /// Nothing works.
    pub(crate) gone: bool,
    /// Share of reads, of writes and of flushes that fail. A write that fails may be there in full, in part or not at
    /// all; what a flush that fails should have covered, no later one makes durable.
    pub(crate) bad_reads: f64,
    pub(crate) bad_writes: f64,
    pub(crate) bad_flushes: f64,
    /// Share of the writes of workers that fail; those of metadata and of the upkeep go well.
    pub(crate) bad_work: f64,
}

impl Mood {
    /// Writes and flushes fail.
    pub(crate) fn failing(share: f64) -> Mood {
        Mood {
            bad_writes: share,
            bad_flushes: share,
            ..Mood::default()
        }
    }
}

/// What has ended for a window, with the bytes of a read and where they go.
type Ended = (Completion, Option<(u64, Vec<u8>)>);

struct Sent {
    window: usize,
    request: Request,
    region: u64,
    /// It is said to have failed, whatever it leaves.
    fails: bool,
}

struct Shared {
    port: ModelPort,
    moods: Vec<Mood>,
    rng: Xoshiro256PlusPlus,
    sent: Vec<Option<Sent>>,
    free: Vec<u64>,
    /// Per window: what has ended and was not handed out, and data of reads.
    ended: Vec<VecDeque<Ended>>,
    in_flight: Vec<usize>,
    /// Reads that a slow disk has not begun: when it does, and what is sent.
    late: Vec<(Nanos, Sent)>,
    scratch: Vec<Completion>,
}

/// The machine.
#[derive(Clone)]
pub(crate) struct Machine(Rc<RefCell<Shared>>);

fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

impl Machine {
    pub(crate) fn new(disks: Disks, seed: u64) -> Machine {
        let count = disks.sizes().len();
        let mut model = Model::new(&[], REGION * REGIONS, REGIONS as usize, seed);
        model.parallel = 8;
        model.spread = 0.5;
        let port = ModelPort::from_disks(model, disks).expect("memory");
        Machine(Rc::new(RefCell::new(Shared {
            port,
            moods: vec![Mood::default(); count],
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xfa17),
            sent: (0..REGIONS).map(|_| None).collect(),
            free: (0..REGIONS).rev().collect(),
            ended: Vec::new(),
            in_flight: Vec::new(),
            late: Vec::new(),
            scratch: Vec::new(),
        })))
    }

    /// A port of its own on all disks.
    pub(crate) fn window(&self, memory: u64, depth: usize) -> Window {
        let mut shared = self.0.borrow_mut();
        shared.ended.push(VecDeque::new());
        shared.in_flight.push(0);
        Window {
            shared: self.0.clone(),
            id: shared.ended.len() - 1,
            memory: Memory::new(memory, false).expect("memory"),
            depth,
            slow: false,
        }
    }

    /// A port of its own, some of whose reads begin late.
    pub(crate) fn slow_window(&self, memory: u64, depth: usize) -> Window {
        Window {
            slow: true,
            ..self.window(memory, depth)
        }
    }

    pub(crate) fn fail_power(&self, when: PowerFails) {
        self.0.borrow_mut().port.fail_power(when);
    }

    pub(crate) fn asked(&self) -> (u64, u64) {
        self.0.borrow().port.asked()
    }

    pub(crate) fn cut(&self, seed: u64) -> Disks {
        self.0.borrow_mut().port.cut(seed)
    }

    pub(crate) fn set_mood(&self, disk: u16, mood: Mood) {
        self.0.borrow_mut().moods[usize::from(disk)] = mood;
    }

    /// What all completed writes have left.
    pub(crate) fn now_on(&self) -> Disks {
        self.0.borrow().port.current().clone()
    }

    pub(crate) fn damage(&self, disk: u16, offset: u64, bytes: &[u8]) {
        self.0.borrow_mut().port.damage(FileId(disk), offset, bytes);
    }

    /// Waits until nothing is in flight.
    pub(crate) fn quiet(&self) {
        let shared = &mut *self.0.borrow_mut();
        let mut scratch = std::mem::take(&mut shared.scratch);
        for (_, sent) in std::mem::take(&mut shared.late) {
            let _ = shared.send(sent);
        }
        while shared.port.in_flight() > 0 && shared.port.wait(1, None, &mut scratch).is_ok() {}
        shared.scratch = scratch;
        shared.sort();
    }

    /// Whether one of these windows has requests in flight, also if nobody waits for them any more.
    pub(crate) fn has_in_flight(&self, windows: &[usize]) -> bool {
        let shared = self.0.borrow();
        let sent = shared.sent.iter().flatten().map(|sent| sent.window);
        let late = shared.late.iter().map(|late| late.1.window);
        sent.chain(late).any(|window| windows.contains(&window))
    }

    /// The disk forgets what was not flushed. Gives false while it has requests in flight.
    pub(crate) fn cycle(&self, disk: u16, seed: u64) -> bool {
        let mut shared = self.0.borrow_mut();
        let busy = shared.sent.iter().flatten().any(|s| s.request.file.0 == disk)
            || shared.late.iter().any(|l| l.1.request.file.0 == disk);
        if !busy {
            shared.port.cycle(FileId(disk), seed);
        }
        !busy
    }
}

impl Shared {
    fn send(&mut self, sent: Sent) -> Result<(), TargetError> {
        let slot = self
            .sent
            .iter()
            .position(Option::is_none)
            .expect("as many slots as regions");
        let request = Request {
            at: sent.region * REGION,
            token: slot as u64,
            ..sent.request
        };
        self.sent[slot] = Some(sent);
        self.port.submit(request)
    }

    /// How much of a write that fails is there all the same: in half of the cases nothing.
    fn landing(&mut self, len: u32) -> u32 {
        match self.rng.next_u64() % 4 {
            0 => len,
            1 => (self.rng.next_u64() % u64::from(len / 512)) as u32 * 512,
            _ => 0,
        }
    }

    /// Begins late reads that are due; gives the time of the next.
    fn send_late(&mut self) -> Result<Option<Nanos>, TargetError> {
        let now = self.port.now();
        while let Some(nth) = self.late.iter().position(|l| l.0 <= now) {
            let (_, sent) = self.late.swap_remove(nth);
            self.send(sent)?;
        }
        Ok(self.late.iter().map(|l| l.0).min())
    }

    /// Moves what has ended to its windows.
    fn sort(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for completion in scratch.drain(..) {
            let sent = self.sent[completion.token as usize].take().expect("it was sent");
            self.free.push(sent.region);
            let Request { op, at, len, token, .. } = sent.request;
            let data = (op == Op::Read && completion.result.is_ok()).then(|| {
                let bytes = self.port.bytes(sent.region * REGION, len as usize);
                (at, bytes.to_vec())
            });
            let result = if sent.fails {
                Err(IoFault::Errno(EIO))
            } else {
                completion.result
            };
            self.ended[sent.window].push_back((Completion { token, result }, data));
        }
        self.scratch = scratch;
    }
}

/// One port of the machine. What it has in flight when it is dropped goes on, as I/O of a process that was killed.
pub(crate) struct Window {
    shared: Rc<RefCell<Shared>>,
    id: usize,
    memory: Memory,
    depth: usize,
    /// Some of its reads begin late.
    slow: bool,
}

impl Window {
    pub(crate) fn id(&self) -> usize {
        self.id
    }
}

impl Port for Window {
    fn now(&self) -> Nanos {
        self.shared.borrow().port.now()
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
        self.shared.borrow().in_flight[self.id]
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let shared = &mut *self.shared.borrow_mut();
        if shared.in_flight[self.id] >= self.depth {
            return Err(TargetError::TooDeep { depth: self.depth });
        }
        let mood = shared.moods.get(usize::from(request.file.0)).copied();
        let mood = mood.unwrap_or(Mood {
            gone: true,
            ..Mood::default()
        });
        let share = match request.op {
            Op::Read => mood.bad_reads,
            Op::Write if self.slow => mood.bad_writes.max(mood.bad_work),
            Op::Write => mood.bad_writes,
            Op::Flush => mood.bad_flushes,
        };
        let fails = !mood.gone && share > 0.0 && uniform(&mut shared.rng) < share;
        if fails && request.op == Op::Flush {
            let seed = shared.rng.next_u64();
            shared.port.forget(request.file, seed);
        }
        let lands = match (fails, request.op) {
            (true, Op::Write) => shared.landing(request.len),
            (true, _) => 0,
            (false, _) => request.len,
        };
        if mood.gone || (fails && lands == 0) {
            shared.in_flight[self.id] += 1;
            let result = Err(IoFault::Errno(EIO));
            let token = request.token;
            shared.ended[self.id].push_back((Completion { token, result }, None));
            return Ok(());
        }
        let region = shared.free.pop().expect("few enough requests in flight");
        assert!(u64::from(request.len) <= REGION, "a request of {} bytes", request.len);
        if request.op == Op::Write {
            let bytes = self.memory.bytes(request.at, request.len as usize);
            shared
                .port
                .bytes_mut(region * REGION, request.len as usize)
                .copy_from_slice(bytes);
        }
        shared.in_flight[self.id] += 1;
        let sent = Sent {
            window: self.id,
            request: Request { len: lands, ..request },
            region,
            fails,
        };
        if request.op == Op::Read && self.slow && uniform(&mut shared.rng) < 0.05 {
            let begins = shared.port.now() + (uniform(&mut shared.rng) * 20e6) as Nanos;
            shared.late.push((begins, sent));
            return Ok(());
        }
        shared.send(sent)
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let shared = &mut *self.shared.borrow_mut();
        loop {
            let mut scratch = std::mem::take(&mut shared.scratch);
            let looked = shared.port.wait(0, None, &mut scratch);
            shared.scratch = scratch;
            shared.sort();
            looked?;
            let own = shared.ended[self.id].len();
            let idle = own == shared.in_flight[self.id];
            let late = until.is_some_and(|until| shared.port.now() >= until);
            if own >= min || late || (idle && until.is_none()) {
                break;
            }
            let begins = shared.send_late()?;
            let until = until.into_iter().chain(begins).min();
            let mut scratch = std::mem::take(&mut shared.scratch);
            let waited = shared.port.wait(1, until, &mut scratch);
            shared.scratch = scratch;
            shared.sort();
            waited?;
        }
        while let Some((completion, data)) = shared.ended[self.id].pop_front() {
            if let Some((at, bytes)) = data {
                self.memory.bytes_mut(at, bytes.len()).copy_from_slice(&bytes);
            }
            shared.in_flight[self.id] -= 1;
            done.push(completion);
        }
        Ok(())
    }

    fn size(&self, file: FileId) -> Result<u64, TargetError> {
        self.shared.borrow().port.size(file)
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
