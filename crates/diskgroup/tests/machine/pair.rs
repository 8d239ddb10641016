//! One group with its owner and another instance that follows, each with ports of its own on the same two files.
//!
//! Pages are dealt out in blocks of four, so that both instances have pages in each extent. Notices and answers travel
//! late and in pieces. Prevents: a protocol that is right only while everybody hears at once.

use crate::machine::content::{PAGE, SECTOR, fill, versions_of};
use crate::machine::life::{Life, Trouble, Went, options};
use crate::machine::oracle::Oracle;
use crate::machine::scenario::{AU, Scenario, below};
use crate::machine::{Machine, Window, say};
use diskgroup::{FileSpec, Follower, Group, GroupError, GroupPort, Step, Stripe, Upkeep};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use targets::{Completion, FileId, Op, Port, Request};

const BLOCK_PAGES: usize = 4;
const SLOTS: usize = 6;
/// Files and their pages.
const FILES: [(&str, usize, Stripe); 2] = [("data", 240, Stripe::Coarse), ("redo", 120, Stripe::Fine)];
/// Places in [`Pair::sides`].
pub(crate) const OWNER: usize = 0;
pub(crate) const OTHER: usize = 1;

struct Asked {
    op: Op,
    file: usize,
    page: usize,
    pages: usize,
    /// Flushes: last acknowledged version of each page of this instance.
    covers: Vec<(usize, u32)>,
}

struct Worker {
    port: GroupPort<Window>,
    asked: Vec<Option<Asked>>,
}

/// An instance.
struct Side {
    group: Group<Window>,
    workers: Vec<Worker>,
    windows: Vec<usize>,
}

/// Both of them.
pub(crate) struct Pair<'a> {
    scenario: &'a Scenario,
    pub(crate) machine: Machine,
    sides: [Option<Side>; 2],
    upkeep: Option<Upkeep<Window>>,
    /// The other instance as the owner sees it, and what is on its way to it and back.
    follower: Option<Follower>,
    notices: Vec<u8>,
    answers: VecDeque<u64>,
    /// The other instance was killed, and its windows may have requests in flight.
    leaving: Option<(Follower, Vec<usize>)>,
    oracle: Oracle,
    rng: Xoshiro256PlusPlus,
    /// Files that nobody else knows; their zeros go where something else was.
    drafts: Vec<String>,
    made: u64,
    /// Messages are carried one time in so many.
    lag: u64,
}

impl<'a> Pair<'a> {
    /// A new group with its files, and its owner.
    pub(crate) fn create(scenario: &'a Scenario, machine: Machine, seed: u64) -> Went<Pair<'a>> {
        let mut life = Life::create(scenario, machine, seed)?;
        for (name, pages, stripe) in FILES {
            let spec = FileSpec {
                name: name.into(),
                size: pages as u64 * PAGE,
                redundancy: None,
                stripe,
            };
            life.group.create_file(&spec)?;
            life.oracle.begin_create(name, pages);
            life.oracle.files.get_mut(name).expect("just made").doubtful = false;
        }
        Pair::of(life, seed)
    }

    /// The group after a crash of everybody: mounted by a new owner, everything there, sound. `cut`: the power failed;
    /// otherwise the processes alone ended.
    pub(crate) fn recover(
        scenario: &'a Scenario,
        machine: Machine,
        oracle: &mut Oracle,
        seed: u64,
        cut: bool,
    ) -> Went<Pair<'a>> {
        let (mut life, _) = Life::mount(scenario, machine, oracle.clone(), seed, false)?;
        match life.survey(cut).and_then(|()| life.must_be_sound()) {
            Ok(()) => Pair::of(life, seed),
            Err(trouble) => {
                *oracle = life.drop_all();
                Err(trouble)
            }
        }
    }

    fn of(life: Life<'a>, seed: u64) -> Went<Pair<'a>> {
        let Life {
            scenario,
            machine,
            group,
            oracle,
            ..
        } = life;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x9a12);
        let mut upkeep = group.upkeep(machine.window(64 << 10, 8));
        upkeep.set_power([1, 4, 16][below(&mut rng, 3) as usize]);
        let owner = Side {
            group,
            workers: Vec::new(),
            windows: Vec::new(),
        };
        let mut pair = Pair {
            scenario,
            machine,
            sides: [Some(owner), None],
            upkeep: Some(upkeep),
            follower: None,
            notices: Vec::new(),
            answers: VecDeque::new(),
            leaving: None,
            oracle,
            lag: [1, 2, 8][below(&mut rng, 3) as usize],
            rng,
            drafts: Vec::new(),
            made: seed << 8,
        };
        pair.open_ports(OWNER)?;
        Ok(pair)
    }

    fn below(&mut self, n: u64) -> u64 {
        below(&mut self.rng, n)
    }

    pub(crate) fn is_there(&self, nth: usize) -> bool {
        self.sides[nth].is_some()
    }

    pub(crate) fn is_rebalancing(&self) -> bool {
        self.sides[OWNER]
            .as_ref()
            .is_some_and(|side| side.group.info().rebalance)
    }

    fn open_ports(&mut self, nth: usize) -> Went<()> {
        let (ports, machine) = (self.scenario.ports, self.machine.clone());
        let Some(side) = &mut self.sides[nth] else {
            return Ok(());
        };
        for _ in 0..ports {
            let window = machine.slow_window((SLOTS * BLOCK_PAGES) as u64 * PAGE, SLOTS);
            side.windows.push(window.id());
            side.workers.push(Worker {
                port: side.group.open(window, &FILES.map(|file| file.0))?,
                asked: (0..SLOTS).map(|_| None).collect(),
            });
        }
        Ok(())
    }

    /// The other instance opens the group, if the owner lets it; sometimes the owner does something meanwhile.
    pub(crate) fn join(&mut self) -> Went<()> {
        let Some(owner) = &self.sides[OWNER] else { return Ok(()) };
        if self.is_there(OTHER) || self.leaving.is_some() {
            return Ok(());
        }
        let follower = match owner.group.admit() {
            Err(GroupError::Busy { .. }) => return Ok(()),
            admitted => admitted?,
        };
        match self.below(8) {
            0 => self.draft()?,
            1 => self.change_disks()?,
            _ => {}
        }
        let window = self.machine.window(192 << 10, 16);
        let windows = vec![window.id()];
        let group = match Group::mount_frozen(window, &options(self.scenario, false)) {
            // A rebalance has begun.
            Err(GroupError::Refused { .. }) => {
                follower.ended();
                return Ok(());
            }
            mounted => mounted?,
        };
        say(|| "the other instance joins".into());
        self.sides[OTHER] = Some(Side {
            group,
            workers: Vec::new(),
            windows,
        });
        self.follower = Some(follower);
        self.open_ports(OTHER)
    }

    /// An instance is gone without a word; what it has in flight goes on.
    pub(crate) fn kill(&mut self, nth: usize) {
        let Some(side) = self.sides[nth].take() else { return };
        say(|| format!("instance {nth} is killed"));
        for asked in side.workers.iter().flat_map(|worker| worker.asked.iter().flatten()) {
            let file = self.oracle.files.get_mut(FILES[asked.file].0).expect("known");
            let pages = &mut file.pages[asked.page..asked.page + asked.pages];
            match asked.op {
                Op::Write => pages.iter_mut().for_each(|page| page.end(false)),
                Op::Read => pages.iter_mut().for_each(|page| page.readers -= 1),
                Op::Flush => {}
            }
        }
        self.answers.clear();
        if nth == OWNER {
            (self.upkeep, self.follower) = (None, None);
            self.drafts.clear();
        } else {
            self.notices.clear();
            self.leaving = self.follower.take().map(|follower| (follower, side.windows));
        }
    }

    /// Everybody is gone; gives what must be there.
    pub(crate) fn end(mut self) -> (Machine, Oracle) {
        self.kill(OTHER);
        self.kill(OWNER);
        (self.machine, self.oracle)
    }

    /// The owner hears that the other's process has ended, when nothing of it is in flight.
    fn part(&mut self) {
        if self
            .leaving
            .as_ref()
            .is_some_and(|left| !self.machine.has_in_flight(&left.1))
            && let Some((follower, _)) = self.leaving.take()
        {
            follower.ended();
        }
    }

    /// Brings notices and answers a part of their way, or all of it.
    fn carry(&mut self, all: bool) -> Went<()> {
        if let Some(follower) = &self.follower {
            self.notices.extend(follower.notices()?);
        }
        let there = self.notices.len();
        let part = if all {
            there
        } else {
            self.below(there as u64 + 1) as usize
        };
        if let Some(other) = &self.sides[OTHER] {
            let piece: Vec<u8> = self.notices.drain(..part).collect();
            other.group.hear(&piece)?;
            self.answers.extend(other.group.answer());
        }
        let hears = all || self.below(2) == 0;
        if let Some(follower) = &self.follower
            && hears
        {
            for number in self.answers.drain(..) {
                follower.answered(number)?;
            }
        }
        Ok(())
    }

    fn keep_up(&mut self, block: bool) -> Went<Step> {
        let Some(upkeep) = &mut self.upkeep else {
            return Ok(Step::Idle);
        };
        let before = upkeep.progress().moved_bytes;
        let stepped = upkeep.step(block);
        let moved = upkeep.progress().moved_bytes > before;
        say(|| format!("upkeep: {stepped:?} {:?}", upkeep.progress()));
        let stepped = stepped?;
        if moved && self.below(3) == 0 {
            self.reuse_at_once()?;
        }
        Ok(stepped)
    }

    /// The owner takes space as soon as there is some, and the other reads where it knows its pages.
    fn reuse_at_once(&mut self) -> Went<()> {
        (0..2).try_for_each(|_| self.draft())?;
        for _ in 0..10 {
            self.ask(OTHER, Op::Read)?;
        }
        (0..self.scenario.ports).try_for_each(|worker| self.wait(OTHER, worker, 2))
    }

    fn wait(&mut self, nth: usize, worker: usize, min: usize) -> Went<()> {
        let longest = 1 + self.below(120_000);
        let Some(side) = &mut self.sides[nth] else {
            return Ok(());
        };
        let Some(at) = side.workers.get_mut(worker) else {
            return Ok(());
        };
        let until = at.port.now() + longest;
        let mut done = Vec::new();
        let waited = at.port.wait(min, Some(until), &mut done);
        for completion in done {
            self.ended((nth, worker), completion)?;
        }
        Ok(waited?)
    }

    fn ended(&mut self, (nth, worker): (usize, usize), completion: Completion) -> Went<()> {
        let slot = completion.token as usize;
        let side = self.sides[nth].as_mut().expect("it waited");
        let worker = &mut side.workers[worker];
        let asked = worker.asked[slot]
            .take()
            .ok_or_else(|| format!("nothing was asked in {slot}"))?;
        let Asked { op, page, pages, .. } = asked;
        let name = FILES[asked.file].0;
        say(|| format!("   {nth}: done {op:?} {name} page {page}: {:?}", completion.result));
        if let Err(fault) = completion.result {
            return Err(Trouble::Wrong(format!("{op:?} of {name} page {page} failed: {fault}")));
        }
        let file = self.oracle.files.get_mut(name).expect("known");
        match op {
            Op::Write => file.pages[page..page + pages]
                .iter_mut()
                .for_each(|page| page.end(true)),
            Op::Flush => {
                for (page, version) in asked.covers {
                    file.pages[page].flushed(version);
                }
            }
            Op::Read => {
                for nth_page in 0..pages {
                    let state = &mut file.pages[page + nth_page];
                    state.readers -= 1;
                    let at = (slot * BLOCK_PAGES + nth_page) as u64 * PAGE;
                    let found = versions_of(file.id, (page + nth_page) as u64, worker.port.bytes(at, PAGE as usize));
                    if !found.is_some_and(|found| state.may_read(&found)) {
                        let what = format!(
                            "instance {nth} read {name} page {}: {found:?}, not {state:?}",
                            page + nth_page
                        );
                        return Err(Trouble::Wrong(what));
                    }
                }
            }
        }
        Ok(())
    }

    /// An instance asks for something on pages of its own.
    fn ask(&mut self, nth: usize, op: Op) -> Went<()> {
        let [which, a, b, c, d] = [(); 5].map(|()| self.below(1 << 30) as usize);
        let Some(side) = &mut self.sides[nth] else {
            return Ok(());
        };
        let worker = which % side.workers.len();
        let at = &mut side.workers[worker];
        let Some(slot) = at.asked.iter().position(Option::is_none) else {
            return self.wait(nth, worker, 1);
        };
        let file = a % FILES.len();
        let model = self.oracle.files.get_mut(FILES[file].0).expect("known");
        let blocks = model.pages.len() / BLOCK_PAGES;
        let block = (b % blocks) / 2 * 2 + nth;
        let first = c % BLOCK_PAGES;
        let mut asked = Asked {
            op,
            file,
            page: block * BLOCK_PAGES + first,
            pages: 1 + d % (BLOCK_PAGES - first),
            covers: Vec::new(),
        };
        let memory = (slot * BLOCK_PAGES) as u64 * PAGE;
        if op == Op::Flush {
            (asked.page, asked.pages) = (0, 0);
            let pages = model.pages.iter().enumerate();
            let own = pages.filter(|(page, _)| page / BLOCK_PAGES % 2 == nth);
            asked.covers = own.map(|(page, state)| (page, state.acknowledged())).collect();
        } else {
            let range = asked.page..asked.page + asked.pages;
            if model.pages[range.clone()]
                .iter()
                .any(|p| p.busy || (op == Op::Write && p.readers > 0))
            {
                return self.wait(nth, worker, 0);
            }
            for page in range {
                if op == Op::Read {
                    model.pages[page].readers += 1;
                    continue;
                }
                let version = model.pages[page].begin();
                let place = memory + (page - asked.page) as u64 * PAGE;
                for (sector, to) in at.port.bytes_mut(place, PAGE as usize).chunks_mut(SECTOR).enumerate() {
                    fill(model.id, page as u64, sector, version, to);
                }
            }
        }
        let request = Request {
            op,
            file: FileId(file as u16),
            offset: asked.page as u64 * PAGE,
            at: memory,
            len: asked.pages as u32 * PAGE as u32,
            token: slot as u64,
        };
        say(|| format!("{nth}: {op:?} {} page {} +{}", FILES[file].0, asked.page, asked.pages));
        at.asked[slot] = Some(asked);
        Ok(at.port.submit(request)?)
    }

    /// The owner makes a file that is gone after a crash, or takes one away.
    fn draft(&mut self) -> Went<()> {
        let (units, gone) = (1 + self.below(24), self.below(3) == 0 || self.drafts.len() > 3);
        let Some(owner) = &self.sides[OWNER] else { return Ok(()) };
        if gone && let Some(name) = self.drafts.pop() {
            return Ok(owner.group.delete_file(&name)?);
        }
        self.made += 1;
        let spec = FileSpec {
            name: format!("draft{}", self.made),
            size: units * AU,
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        match owner.group.begin_file(&spec) {
            Err(GroupError::Full { .. }) => Ok(()),
            made => {
                self.drafts.push(spec.name);
                Ok(made?)
            }
        }
    }

    /// Adds or drops a disk, if none is on its way out.
    pub(crate) fn change_disks(&mut self) -> Went<()> {
        let (seed, drops, which) = (self.below(1 << 40), self.below(2) == 0, self.below(64) as usize);
        let Some(owner) = self.sides[OWNER].as_ref().filter(|side| !side.group.info().rebalance) else {
            return Ok(());
        };
        let disks = owner.group.disks();
        let is_spare = |nth: &usize| !disks.iter().any(|disk| disk.file == Some(FileId(*nth as u16)));
        let spare = (0..self.scenario.sizes.len()).find(is_spare);
        let changed = match spare {
            Some(nth) if !drops => owner.group.add_disks(&[self.scenario.disk(nth)], seed),
            _ => owner.group.drop_disk(&disks[which % disks.len()].name),
        };
        say(|| format!("change of disks: {changed:?}"));
        match changed {
            Err(GroupError::Refused { .. } | GroupError::Full { .. }) => Ok(()),
            changed => Ok(changed?),
        }
    }

    /// One thing at random.
    pub(crate) fn step(&mut self) -> Went<()> {
        self.part();
        let nth = self.below(2) as usize;
        match self.below(100) {
            0..26 => self.ask(nth, Op::Write),
            26..40 => self.ask(nth, Op::Read),
            40..46 => self.ask(nth, Op::Flush),
            46..62 => {
                let (worker, min) = (self.below(self.scenario.ports as u64) as usize, self.below(3) as usize);
                self.wait(nth, worker, min)
            }
            62..80 => {
                let block = self.below(4) == 0;
                self.keep_up(block).map(|_| ())
            }
            80..93 if self.below(self.lag) == 0 => self.carry(false),
            93..96 => self.draft(),
            96..98 => self.change_disks(),
            98..100 => self.join(),
            _ => Ok(()),
        }
    }

    /// Until nobody has anything to do. The owner must be there.
    pub(crate) fn rest(&mut self) -> Went<()> {
        for _ in 0..40_000 {
            if self.leaving.is_some() {
                self.machine.quiet();
                self.part();
            }
            self.carry(true)?;
            let stepped = self.keep_up(true)?;
            let mut busy = stepped == Step::Working;
            for nth in [OWNER, OTHER] {
                for worker in 0..self.scenario.ports {
                    let side = self.sides[nth].as_ref();
                    if side.is_some_and(|side| side.workers[worker].port.in_flight() > 0) {
                        busy = true;
                        self.wait(nth, worker, 1)?;
                    }
                }
            }
            if !busy {
                return Ok(());
            }
        }
        Err(Trouble::Wrong("they never come to rest".into()))
    }
}
