//! One group from mount to power cut or end, worked on by everything at once, beside its oracle.

use crate::machine::content::{Judge, PAGE, SECTOR, fill, versions_of};
use crate::machine::oracle::{Oracle, Page};
use crate::machine::scenario::{Scenario, below};
use crate::machine::scratch::Scratch;
use crate::machine::{Machine, Window, say};
use diskgroup::{FileSpec, Group, GroupError, GroupPort, MountOptions, Mounted, Redundancy, Step, Stripe, Upkeep};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use targets::{Completion, FileId, Op, Port, Request, TargetError};

/// How something went.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The power failed: the life is over.
    Cut,
    /// Something is wrong.
    Wrong(String),
}

impl From<GroupError> for Trouble {
    fn from(error: GroupError) -> Trouble {
        if error.is_power_cut() {
            Trouble::Cut
        } else {
            Trouble::Wrong(format!("{error}"))
        }
    }
}

impl From<TargetError> for Trouble {
    fn from(error: TargetError) -> Trouble {
        match error {
            TargetError::PowerCut => Trouble::Cut,
            other => Trouble::Wrong(format!("{other}")),
        }
    }
}

impl From<String> for Trouble {
    fn from(what: String) -> Trouble {
        Trouble::Wrong(what)
    }
}

pub(crate) type Went<T> = Result<T, Trouble>;

const SLOT_PAGES: u64 = 4;
const SLOTS: usize = 8;

/// A request of the test.
pub(crate) struct Asked {
    op: Op,
    name: String,
    page: usize,
    pages: usize,
    /// Flushes: the last acknowledged version of each page.
    covers: Vec<u32>,
}

pub(crate) struct Worker {
    port: GroupPort<Window>,
    names: Vec<String>,
    asked: Vec<Option<Asked>>,
}

/// A life of a group.
pub(crate) struct Life<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) machine: Machine,
    pub(crate) group: Group<Window>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) upkeep: Option<Upkeep<Window>>,
    /// Files that are gone with the next mount.
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) oracle: Oracle,
    pub(crate) rng: Xoshiro256PlusPlus,
    made: u64,
    /// I/O errors may be handed up.
    pub(crate) errors_allowed: bool,
    /// Disks are neither added nor dropped nor taken offline by the test.
    pub(crate) stays: bool,
    /// Scratch files come and go beside everything else.
    pub(crate) scratches: bool,
    pub(crate) steps: u64,
    pub(crate) reads: u64,
}

pub(crate) fn options(scenario: &Scenario, force: bool) -> MountOptions {
    MountOptions {
        group: Some("data".into()),
        force,
        preferred: None,
        verify: Some(Arc::new(Judge)),
        names: scenario.names(),
    }
}

impl<'a> Life<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        machine: Machine,
        group: Group<Window>,
        oracle: Oracle,
        seed: u64,
    ) -> Life<'a> {
        Life {
            scenario,
            machine,
            group,
            workers: Vec::new(),
            upkeep: None,
            scratch: Vec::new(),
            oracle,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            made: seed << 8,
            errors_allowed: false,
            stays: false,
            scratches: false,
            steps: 0,
            reads: 0,
        }
    }

    pub(crate) fn create(scenario: &'a Scenario, machine: Machine, seed: u64) -> Went<Life<'a>> {
        let disks: Vec<_> = (0..scenario.members).map(|n| scenario.disk(n)).collect();
        let group = Group::create(machine.window(192 << 10, 16), &scenario.spec(), &disks, seed)?;
        group.set_verify(Arc::new(Judge));
        Ok(Life::new(scenario, machine, group, Oracle::default(), seed))
    }

    pub(crate) fn mount(
        scenario: &'a Scenario,
        machine: Machine,
        oracle: Oracle,
        seed: u64,
        force: bool,
    ) -> Went<(Life<'a>, Mounted)> {
        let (group, mounted) = Group::mount(machine.window(192 << 10, 16), &options(scenario, force))?;
        Ok((Life::new(scenario, machine, group, oracle, seed), mounted))
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        below(&mut self.rng, n)
    }

    /// Opens all files in each worker's port.
    pub(crate) fn open(&mut self) -> Went<()> {
        assert!(self.workers.is_empty(), "ports are shut first");
        let names: Vec<String> = self.oracle.files.keys().cloned().collect();
        for _ in 0..self.scenario.ports {
            let names_now: Vec<&str> = names.iter().map(String::as_str).collect();
            let port = self.group.open(
                self.machine.slow_window(SLOTS as u64 * SLOT_PAGES * PAGE, SLOTS),
                &names_now,
            )?;
            let asked = (0..SLOTS).map(|_| None).collect();
            self.workers.push(Worker {
                port,
                names: names.clone(),
                asked,
            });
        }
        self.ready_upkeep();
        Ok(())
    }

    /// Makes an upkeep where there is none.
    pub(crate) fn ready_upkeep(&mut self) {
        if self.upkeep.is_none() {
            let mut upkeep = self.group.upkeep(self.machine.window(64 << 10, 8));
            upkeep.set_power(1 + self.below(8) as u32);
            self.upkeep = Some(upkeep);
        }
    }

    /// Ends all requests and closes the ports.
    pub(crate) fn shut(&mut self) -> Went<()> {
        let mut turns = 0;
        while self.workers.iter().any(|w| w.port.in_flight() > 0) {
            for worker in 0..self.workers.len() {
                self.wait(worker, 1)?;
            }
            self.keep_up(false)?;
            turns += 1;
            if turns > 20_000 {
                return Err(Trouble::Wrong("requests never end".into()));
            }
        }
        self.workers.clear();
        Ok(())
    }

    pub(crate) fn keep_up(&mut self, block: bool) -> Went<Step> {
        let Some(upkeep) = &mut self.upkeep else {
            return Ok(Step::Idle);
        };
        let stepped = upkeep.step(block);
        say(|| format!("upkeep: {stepped:?} {:?}", upkeep.progress()));
        match stepped {
            Err(GroupError::Busy { .. }) => Ok(Step::Working),
            other => Ok(other?),
        }
    }

    /// Steps the upkeep until it has nothing to do. No port may be open.
    pub(crate) fn keep_up_to_the_end(&mut self) -> Went<()> {
        for _ in 0..20_000 {
            match self.keep_up(true)? {
                Step::Idle => return Ok(()),
                Step::Stuck | Step::Paused => return Ok(()),
                Step::Working => {}
            }
        }
        Err(Trouble::Wrong("the upkeep never ends".into()))
    }

    pub(crate) fn wait(&mut self, worker: usize, min: usize) -> Went<()> {
        let until = self.workers[worker].port.now() + 1 + self.below(120_000);
        let mut done = Vec::new();
        let waited = self.workers[worker].port.wait(min, Some(until), &mut done);
        for completion in done {
            self.ended(worker, completion)?;
        }
        Ok(waited?)
    }

    fn ended(&mut self, worker: usize, completion: Completion) -> Went<()> {
        let slot = completion.token as usize;
        let worker = &mut self.workers[worker];
        let asked = worker.asked[slot]
            .take()
            .ok_or_else(|| format!("a completion of nothing: {slot}"))?;
        let well = completion.result.is_ok();
        say(|| {
            format!(
                "   done {:?} {} page {} slot {slot}: {:?}",
                asked.op, asked.name, asked.page, completion.result
            )
        });
        if !well && !self.errors_allowed {
            let what = format!(
                "{:?} of {} page {} failed: {:?}",
                asked.op, asked.name, asked.page, completion.result
            );
            return Err(Trouble::Wrong(what));
        }
        let Some(file) = self.oracle.files.get_mut(&asked.name) else {
            return Ok(());
        };
        if asked.op == Op::Read {
            file.pages[asked.page..asked.page + asked.pages]
                .iter_mut()
                .for_each(|p| p.readers -= 1);
        }
        match asked.op {
            Op::Write => file.pages[asked.page..asked.page + asked.pages]
                .iter_mut()
                .for_each(|p| p.end(well)),
            Op::Flush if well => {
                for (page, version) in file.pages.iter_mut().zip(&asked.covers) {
                    page.flushed(*version);
                }
            }
            Op::Read if well => {
                self.reads += 1;
                let at = slot as u64 * SLOT_PAGES * PAGE;
                for nth in 0..asked.pages {
                    let bytes = worker.port.bytes(at + nth as u64 * PAGE, PAGE as usize);
                    let found = versions_of(file.id, (asked.page + nth) as u64, bytes);
                    let page = &file.pages[asked.page + nth];
                    let fits = found.is_some_and(|f| page.may_read(&f));
                    if !fits && !page.busy {
                        let what = format!(
                            "read of {} page {}: {found:?}, not {page:?}",
                            asked.name,
                            asked.page + nth
                        );
                        return Err(Trouble::Wrong(what));
                    }
                }
            }
            Op::Flush | Op::Read => {}
        }
        Ok(())
    }

    fn ask(&mut self, op: Op) -> Went<()> {
        if self.workers.is_empty() {
            return Ok(());
        }
        let nth = self.below(self.workers.len() as u64) as usize;
        let (a, b, c) = (self.below(1 << 30), self.below(1 << 30), self.below(SLOT_PAGES));
        let worker = &mut self.workers[nth];
        let Some(slot) = worker.asked.iter().position(Option::is_none) else {
            return self.wait(nth, 1);
        };
        if worker.names.is_empty() {
            return Ok(());
        }
        let which = a as usize % worker.names.len();
        let name = worker.names[which].clone();
        let Some(file) = self
            .oracle
            .files
            .get_mut(&name)
            .filter(|f| !f.pages.is_empty() || op == Op::Flush)
        else {
            return Ok(());
        };
        let mut asked = Asked {
            op,
            name,
            page: 0,
            pages: 0,
            covers: Vec::new(),
        };
        let at = slot as u64 * SLOT_PAGES * PAGE;
        if op == Op::Flush {
            asked.covers = file.pages.iter().map(Page::acknowledged).collect();
        } else {
            asked.page = b as usize % file.pages.len();
            asked.pages = (1 + c as usize).min(file.pages.len() - asked.page);
            let range = asked.page..asked.page + asked.pages;
            let busy = |p: &Page| p.busy || (op == Op::Write && p.readers > 0);
            if file.pages[range.clone()].iter().any(busy) {
                return self.wait(nth, 0);
            }
            if op == Op::Read {
                file.pages[range].iter_mut().for_each(|p| p.readers += 1);
            } else {
                for page in range {
                    let place = at + (page - asked.page) as u64 * PAGE;
                    let version = file.pages[page].begin();
                    fill_page(&mut worker.port, place, file.id, page, version);
                }
            }
        }
        let request = Request {
            op,
            file: FileId(which as u16),
            offset: asked.page as u64 * PAGE,
            at,
            len: asked.pages as u32 * PAGE as u32,
            token: slot as u64,
        };
        say(|| format!("{nth}: {op:?} {} page {} +{}", asked.name, asked.page, asked.pages));
        worker.asked[slot] = Some(asked);
        Ok(worker.port.submit(request)?)
    }

    fn make(&mut self) -> Went<()> {
        self.made += 1;
        let name = format!("f{}", self.made);
        let pages = if self.below(10) == 0 {
            self.below(500)
        } else {
            self.below(80)
        };
        let copies = self.scenario.redundancy.copies() as u64;
        let redundancy = [Redundancy::External, Redundancy::Normal, Redundancy::High];
        let spec = FileSpec {
            name: name.clone(),
            size: pages * PAGE,
            redundancy: (copies > 2 && self.below(3) == 0 && !self.stays)
                .then(|| redundancy[1 + self.below(copies - 1) as usize]),
            stripe: if self.below(3) == 0 {
                Stripe::Fine
            } else {
                Stripe::Coarse
            },
        };
        self.oracle.begin_create(&name, pages as usize);
        match self.group.create_file(&spec) {
            Ok(()) => {
                self.oracle.files.get_mut(&name).expect("just made").doubtful = false;
                Ok(())
            }
            Err(GroupError::Full { .. } | GroupError::Busy { .. } | GroupError::Refused { .. }) => {
                self.oracle.files.remove(&name);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn some_file(&mut self) -> Option<String> {
        let nth = self.below(self.oracle.files.len().max(1) as u64) as usize;
        self.oracle.files.keys().nth(nth).cloned()
    }

    fn unmake(&mut self) -> Went<()> {
        let Some(name) = self.some_file() else { return Ok(()) };
        self.oracle.files.get_mut(&name).expect("known").doubtful = true;
        match self.group.delete_file(&name) {
            Ok(()) => {
                self.oracle.files.remove(&name);
                Ok(())
            }
            Err(GroupError::Busy { .. }) => {
                self.oracle.files.get_mut(&name).expect("known").doubtful = false;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn grow(&mut self) -> Went<()> {
        let Some(name) = self.some_file() else { return Ok(()) };
        let more = 1 + self.below(60) as usize;
        let pages = self.oracle.files[&name].pages.len() + more;
        self.oracle.files.get_mut(&name).expect("known").growing_to = Some(pages);
        let open = self.workers.iter_mut().find_map(|w| {
            let which = w.names.iter().position(|n| *n == name)?;
            Some(
                w.port
                    .grow(FileId(which as u16), pages as u64 * PAGE)
                    .map_err(Trouble::from),
            )
        });
        let grown = open.unwrap_or_else(|| self.group.grow_file(&name, pages as u64 * PAGE).map_err(Trouble::from));
        let file = self.oracle.files.get_mut(&name).expect("known");
        match grown {
            Ok(()) => {
                file.pages.resize_with(pages, Page::default);
                file.growing_to = None;
                Ok(())
            }
            Err(Trouble::Wrong(what)) if what.contains("bytes are needed") => {
                file.growing_to = None;
                Ok(())
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Adds or drops a disk, if none is on its way out.
    pub(crate) fn change_disks(&mut self) -> Went<()> {
        let disks = self.group.disks();
        if disks.iter().any(|d| d.dropping || !d.online) {
            return Ok(());
        }
        let spare = (0..self.scenario.sizes.len()).find(|n| !disks.iter().any(|d| d.file == Some(FileId(*n as u16))));
        let changed = match spare {
            Some(nth) if self.below(2) == 0 => self.group.add_disks(&[self.scenario.disk(nth)], self.steps ^ self.made),
            _ => {
                let which = self.below(disks.len() as u64) as usize;
                self.group.drop_disk(&disks[which].name)
            }
        };
        say(|| format!("change of disks: {changed:?}"));
        match changed {
            Err(GroupError::Refused { .. } | GroupError::Full { .. }) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Takes a disk offline or brings it back.
    pub(crate) fn flip_disk(&mut self) -> Went<()> {
        if self.scenario.redundancy == Redundancy::External {
            return Ok(());
        }
        let disks = self.group.disks();
        let away = disks.iter().find(|d| !d.online).map(|d| d.name.clone());
        let flipped = match away {
            Some(name) => self.group.online_disk(&name),
            None => {
                let which = self.below(disks.len() as u64) as usize;
                self.group.offline_disk(&disks[which].name)
            }
        };
        say(|| format!("flip of {disks:?}: {flipped:?}"));
        match flipped {
            Err(GroupError::Lost { .. } | GroupError::Missing { .. } | GroupError::NoGroup { .. }) => Ok(()),
            other => Ok(other?),
        }
    }

    /// One thing at random.
    pub(crate) fn step(&mut self) -> Went<()> {
        self.steps += 1;
        if self.scratches && self.below(4) == 0 {
            return self.scratch_step();
        }
        match self.below(100) {
            0..30 => self.ask(Op::Write),
            30..45 => self.ask(Op::Read),
            45..53 => self.ask(Op::Flush),
            53..70 => {
                let worker = self.below(self.workers.len().max(1) as u64) as usize;
                let min = self.below(3) as usize;
                if worker < self.workers.len() {
                    self.wait(worker, min)
                } else {
                    Ok(())
                }
            }
            70..86 => self.keep_up(false).map(|_| ()),
            86..89 => self.make(),
            89..90 => {
                self.shut()?;
                self.unmake()?;
                self.open()
            }
            90..93 => self.grow(),
            93..96 if !self.stays => self.change_disks(),
            96..98 if !self.stays => self.flip_disk(),
            _ => {
                self.shut()?;
                self.open()
            }
        }
    }
}

fn fill_page(port: &mut GroupPort<Window>, at: u64, file: u64, page: usize, version: u32) {
    for (sector, to) in port.bytes_mut(at, PAGE as usize).chunks_mut(SECTOR).enumerate() {
        fill(file, page as u64, sector, version, to);
    }
}
