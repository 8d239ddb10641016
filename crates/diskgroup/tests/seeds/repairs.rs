//! Disks that refuse writes or lose flushes while copies are brought together: in a mount, a resync, a mend, a check, a
//! rebalance or a close, in any order, with kills and power cuts in between. No more refuse at a time than the
//! redundancy allows, until all is healed; so nothing acknowledged may be lost, no page may change back, and what is
//! healed must be equal.

use crate::machine::life::{Life, Trouble, Went};
use crate::machine::oracle::Oracle;
use crate::machine::scenario::{AU, Scenario, below, scenario};
use crate::machine::{Machine, Mood, say};
use crate::seeds::{arm, choose_broken, spoil, work};
use diskgroup::{CheckReport, Contradiction, FileSpec, GroupError, Redundancy, Stripe};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use targets::{Disks, PowerFails};

/// How often each event came up, and cuts, in all seeds of this process.
static EVENTS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
const CUT: usize = 7;

/// What is done while disks refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Mount,
    Close,
    Resync,
    Mend,
    Check,
    Rebalance,
    /// Writes of workers fail on all disks, and nothing else.
    Hail,
}

const ALL: [Event; 7] = [
    Event::Mount,
    Event::Close,
    Event::Resync,
    Event::Mend,
    Event::Check,
    Event::Rebalance,
    Event::Hail,
];

/// Names and counts of the events so far.
pub(crate) fn events_done() -> Vec<(String, u64)> {
    let names = ALL.iter().map(|e| format!("{e:?}")).chain(["Cut".into()]);
    names.zip(EVENTS.iter().map(|c| c.load(Ordering::Relaxed))).collect()
}

struct Trial<'a> {
    scenario: &'a Scenario,
    /// Empty only while a life is ended and the next one begun.
    life: Option<Life<'a>>,
    rng: Xoshiro256PlusPlus,
    seed: u64,
    broken: Vec<u16>,
    /// Damage was planted that nobody may have found yet.
    spoilt: bool,
}

/// One seed: a group, two rounds of events on the same disks, each healed at its end.
pub(crate) fn repair_seed(redundancy: Redundancy, seed: u64) -> Result<(), String> {
    let mut scenario = scenario(seed ^ 0x4e_0000, Some(redundancy));
    scenario.steps = 12 + scenario.steps / 3;
    let machine = Machine::new(Disks::new(&scenario.sizes), seed);
    let mut life = Life::create(&scenario, machine, seed).map_err(|t| format!("create: {t:?}"))?;
    life.stays = true;
    let mut trial = Trial {
        scenario: &scenario,
        life: Some(life),
        rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x4e9a),
        seed,
        broken: Vec::new(),
        spoilt: false,
    };
    for round in 0..2 {
        let at = |what: &str, trouble: Trouble| format!("round {round}, {what}: {trouble:?}");
        trial.broken = trial.some_groups();
        say(|| format!("round {round}: broken {:?}", trial.broken));
        for _ in 0..1 + trial.below(4) {
            let event = ALL[trial.below(7) as usize];
            say(|| format!("event {event:?}"));
            EVENTS[event as usize].fetch_add(1, Ordering::Relaxed);
            trial.happens(event).map_err(|t| at(&format!("{event:?}"), t))?;
        }
        trial.healed().map_err(|t| at("healing", t))?;
        if trial.below(4) == 0 {
            trial.on_the_others().map_err(|t| at("on the others", t))?;
        }
    }
    Ok(())
}

impl<'a> Trial<'a> {
    fn life(&mut self) -> &mut Life<'a> {
        self.life.as_mut().expect("a life goes on")
    }

    /// Disks of as many failure groups as may break.
    fn some_groups(&mut self) -> Vec<u16> {
        let life = self.life.as_ref().expect("a life goes on");
        choose_broken(life, self.scenario.redundancy, &mut self.rng)
    }

    fn below(&mut self, n: u64) -> u64 {
        below(&mut self.rng, n)
    }

    /// The disks begin to refuse; perhaps the power fails while they do.
    fn refuse(&mut self, machine: &Machine) {
        let share = [0.05, 0.3, 1.0][self.below(3) as usize];
        let mood = match self.below(3) {
            0 => Mood::failing(share),
            1 => Mood {
                bad_writes: share,
                ..Mood::default()
            },
            _ => Mood {
                bad_flushes: share,
                ..Mood::default()
            },
        };
        say(|| format!("refuse: {mood:?}"));
        for &disk in &self.broken {
            machine.set_mood(disk, mood);
        }
        if self.below(3) == 0 {
            arm(machine, &mut self.rng);
        }
    }

    fn relent(&self, machine: &Machine) {
        for disk in 0..self.scenario.sizes.len() as u16 {
            machine.set_mood(disk, Mood::default());
        }
        machine.fail_power(PowerFails::AtWrite(u64::MAX));
    }

    /// An event after some work, in which the disks may refuse already; and what follows when the power fails in it.
    fn happens(&mut self, event: Event) -> Went<()> {
        let machine = self.life().machine.clone();
        if self.below(4) == 0 {
            self.refuse(&machine);
        }
        let steps = self.scenario.steps;
        let drafted = if self.below(3) == 0 { self.draft() } else { Ok(()) };
        let went = drafted.and_then(|()| work(self.life(), steps)).and_then(|()| {
            if self.below(2) == 0 {
                self.relent(&machine);
            }
            self.act(event)
        });
        match went {
            Err(Trouble::Cut) => self.after_a_cut(),
            Err(trouble) => return Err(trouble),
            Ok(()) => Ok(()),
        }?;
        let machine = self.life().machine.clone();
        self.relent(&machine);
        self.quietly(|trial| {
            trial.life().shut()?;
            trial.let_go();
            trial.life().survey(false)
        })
    }

    /// Ends the upkeep, wherever it is: nobody holds an extent that a survey may want to write to.
    fn let_go(&mut self) {
        let life = self.life();
        life.upkeep = None;
        life.machine.quiet();
    }

    /// Begins a file that nobody finishes: the next mount deletes it before it brings copies together.
    fn draft(&mut self) -> Went<()> {
        let spec = FileSpec {
            name: format!("draft{}", self.below(1 << 40)),
            size: 1 + self.below(6 * AU),
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        match self.life().group.begin_file(&spec) {
            Err(GroupError::Full { .. }) => Ok(()),
            begun => Ok(begun?),
        }
    }

    /// Does something without faults; a cut is none then.
    fn quietly(&mut self, what: impl FnOnce(&mut Self) -> Went<()>) -> Went<()> {
        match what(self) {
            Err(Trouble::Cut) => Err(Trouble::Wrong("the power failed when it could not".into())),
            went => went,
        }
    }

    fn act(&mut self, event: Event) -> Went<()> {
        match event {
            Event::Mount => self.mount(),
            Event::Close => self.close(),
            Event::Resync => self.resync(),
            Event::Mend => self.mend(false),
            Event::Check => self.mend(true),
            Event::Rebalance => self.rebalance(),
            Event::Hail => self.hail(),
        }
    }

    /// The process is killed or the power fails, and the disks refuse while the group is opened again.
    fn mount(&mut self) -> Went<()> {
        if self.below(2) == 0 {
            return Err(Trouble::Cut);
        }
        let (machine, oracle) = self.killed();
        self.refuse(&machine);
        let went = self.begin(machine.clone(), oracle);
        if self.below(2) == 0 {
            self.relent(&machine);
        }
        went?;
        // All that was acknowledged is in the caches of the disks.
        self.life().survey(false)
    }

    fn killed(&mut self) -> (Machine, Oracle) {
        let life = self.life.take().expect("a life goes on");
        let machine = life.machine.clone();
        let oracle = life.drop_all();
        machine.quiet();
        (machine, oracle)
    }

    /// Opens the group. When the power fails in it, what was is kept for the next attempt.
    fn begin(&mut self, machine: Machine, oracle: Oracle) -> Went<()> {
        let seed = self.below(1 << 40) ^ self.seed;
        match Life::mount(self.scenario, machine.clone(), oracle.clone(), seed, false) {
            Ok((mut life, mounted)) => {
                say(|| format!("{mounted:?}"));
                life.stays = true;
                self.life = Some(life);
                Ok(())
            }
            Err(Trouble::Cut) => self.begin_after_a_cut(machine, oracle),
            Err(trouble) => Err(trouble),
        }
    }

    fn after_a_cut(&mut self) -> Went<()> {
        let life = self.life.take().expect("a life goes on");
        let machine = life.machine.clone();
        let oracle = life.drop_all();
        self.begin_after_a_cut(machine, oracle)
    }

    /// The power is back: the group is opened, perhaps with disks that refuse, perhaps with the power failing again.
    fn begin_after_a_cut(&mut self, mut machine: Machine, mut oracle: Oracle) -> Went<()> {
        for attempt in 0..4 {
            EVENTS[CUT].fetch_add(1, Ordering::Relaxed);
            let seed = self.below(1 << 40) ^ self.seed;
            machine = Machine::new(machine.cut(seed), seed);
            if attempt < 3 && self.below(2) == 0 {
                self.refuse(&machine);
            }
            let mounted = Life::mount(self.scenario, machine.clone(), oracle.clone(), seed, false);
            if self.below(2) == 0 {
                self.relent(&machine);
            }
            match mounted {
                Err(Trouble::Cut) => continue,
                Err(trouble) => return Err(trouble),
                Ok((mut life, mounted)) => {
                    say(|| format!("attempt {attempt}: {mounted:?}"));
                    life.stays = true;
                    self.life = Some(life);
                }
            }
            match self.life().survey(true) {
                Err(Trouble::Cut) => oracle = self.life.take().expect("just begun").drop_all(),
                went => return went,
            }
        }
        Err(Trouble::Wrong("four cuts in four mounts".into()))
    }

    /// The disks refuse while the group is closed; then all must be durable that was acknowledged, whatever comes.
    fn close(&mut self) -> Went<()> {
        self.life().shut()?;
        let machine = self.life().machine.clone();
        self.refuse(&machine);
        let life = self.life.take().expect("a life goes on");
        let Life {
            group,
            upkeep,
            workers,
            oracle,
            ..
        } = life;
        drop((upkeep, workers));
        let closed = group.close().map(drop);
        say(|| format!("closed: {closed:?}"));
        match closed {
            Err(error) if error.is_power_cut() => return self.begin_after_a_cut(machine, oracle),
            other => other?,
        }
        let next = if self.below(2) == 0 {
            Machine::new(machine.cut(self.seed ^ 0xc105e), self.seed)
        } else {
            machine.clone()
        };
        self.relent(&next);
        if self.below(2) == 0 {
            self.refuse(&next);
        }
        let went = self.begin(next.clone(), oracle);
        self.relent(&next);
        went?;
        self.life().survey(false)
    }

    /// Disks come back, and refuse again.
    fn resync(&mut self) -> Went<()> {
        self.life().shut()?;
        let machine = self.life().machine.clone();
        let before = self.below(2) == 0;
        if before {
            self.refuse(&machine);
        }
        self.bring_back()?;
        if !before {
            self.refuse(&machine);
        }
        // The workers go on beside it in half of the cases.
        if self.below(2) == 0 {
            let steps = self.scenario.steps;
            work(self.life(), steps)?;
            self.life().shut()?;
        }
        self.life().keep_up_to_the_end()
    }

    /// Brings all disks back that will come.
    fn bring_back(&mut self) -> Went<()> {
        self.life().ready_upkeep();
        for disk in self.life().group.disks() {
            if disk.online && !disk.failing {
                continue;
            }
            match self.life().group.online_disk(&disk.name) {
                Ok(()) | Err(GroupError::Io { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Damage is found, by reading or by a check, and the disks refuse what would mend it.
    fn mend(&mut self, by_check: bool) -> Went<()> {
        self.life().shut()?;
        self.let_go();
        self.life().survey(false)?;
        if by_check {
            // With nothing unflushed, so that a copy that becomes stale is one that was not repaired.
            self.reopened()?;
        }
        self.life().ready_upkeep();
        let machine = self.life().machine.clone();
        self.spoilt = true;
        for _ in 0..1 + self.below(6) {
            let nth = self.below(self.broken.len() as u64) as usize;
            let disk = self.broken[nth];
            let life = self.life.as_mut().expect("a life goes on");
            spoil(life, disk, &mut self.rng);
        }
        if !by_check {
            self.life().survey(false)?;
            self.refuse(&machine);
            return self.life().keep_up_to_the_end();
        }
        self.refuse(&machine);
        // Copies on a disk that is away become stale when the others change; on the others only because they refused.
        let before = self.life().group.disks();
        let report = self.life().group.check(true)?;
        let after = self.life().group.disks();
        self.relent(&machine);
        let claimed = report.findings.iter().all(|f| f.repaired);
        let pairs = before
            .iter()
            .filter(|b| b.online)
            .filter_map(|b| Some((b, after.iter().find(|a| a.name == b.name)?)));
        if claimed
            && pairs
                .into_iter()
                .any(|(before, after)| after.stale_bytes > before.stale_bytes)
        {
            return Err(Trouble::Wrong(format!(
                "all said to be repaired, and copies are stale: {report:?}"
            )));
        }
        let left = self.life().group.check(false)?;
        nothing_claimed_is_left(&report, &left)
    }

    /// Disks are added or dropped, and refuse while extents move.
    fn rebalance(&mut self) -> Went<()> {
        let machine = self.life().machine.clone();
        let power = self.below(3) == 0;
        self.life().ready_upkeep();
        match self.life().change_disks() {
            // A disk that refuses may also be one that was to be added.
            Err(Trouble::Wrong(what)) if what.contains("writing metadata on disk") => {}
            other => other?,
        }
        self.refuse(&machine);
        if power {
            arm(&machine, &mut self.rng);
        }
        let steps = self.scenario.steps;
        work_on(self.life(), steps)?;
        self.life().shut()?;
        self.life().keep_up_to_the_end()
    }

    /// Writes fail on all copies, in pieces: their content is anybody's guess, but must become one.
    fn hail(&mut self) -> Went<()> {
        self.healed()?;
        let machine = self.life().machine.clone();
        let share = [0.1, 0.4][self.below(2) as usize];
        for disk in 0..self.scenario.sizes.len() as u16 {
            machine.set_mood(
                disk,
                Mood {
                    bad_work: share,
                    ..Mood::default()
                },
            );
        }
        self.life().errors_allowed = true;
        let steps = self.scenario.steps / 2;
        let hailed = work(self.life(), steps).and_then(|()| self.life().shut());
        self.life().errors_allowed = false;
        self.relent(&machine);
        hailed?;
        self.healed()
    }

    /// All disks are sound again: everything must be there before anything is repaired, and equal afterwards.
    fn healed(&mut self) -> Went<()> {
        let machine = self.life().machine.clone();
        self.relent(&machine);
        self.quietly(|trial| {
            trial.life().shut()?;
            trial.let_go();
            trial.life().survey(false)?;
            trial.bring_back()?;
            trial.life().survey(false)?;
            trial.life().come_to_rest()?;
            // A disk that refused something a while ago may have been taken offline only now.
            trial.life().come_to_rest()?;
            if trial.spoilt {
                let report = trial.life().group.check(true)?;
                if let Some(bad) = report.findings.iter().find(|f| !f.repaired) {
                    return Err(Trouble::Wrong(format!("beyond repair: {}", bad.what)));
                }
                trial.spoilt = false;
            }
            let disks = trial.life().group.disks();
            if let Some(disk) = disks.iter().find(|d| !d.online || d.failing || d.stale_bytes > 0) {
                return Err(Trouble::Wrong(format!("not healed: {disk:?}")));
            }
            trial.life().must_be_sound()?;
            trial.life().survey(false)
        })
    }

    fn reopened(&mut self) -> Went<()> {
        let machine = self.life().machine.clone();
        self.relent(&machine);
        let (machine, oracle) = self.closed()?;
        self.begin(machine, oracle)
    }

    fn closed(&mut self) -> Went<(Machine, Oracle)> {
        let Life {
            group,
            upkeep,
            workers,
            oracle,
            machine,
            ..
        } = self.life.take().expect("a life goes on");
        drop((upkeep, workers));
        group.close().map(drop)?;
        Ok((machine, oracle))
    }

    /// Closed, and opened on as many failure groups as must be enough.
    fn on_the_others(&mut self) -> Went<()> {
        let away = self.some_groups();
        let (machine, oracle) = self.closed()?;
        for &disk in &away {
            let gone = Mood {
                gone: true,
                ..Mood::default()
            };
            machine.set_mood(disk, gone);
        }
        let seed = self.below(1 << 40) ^ self.seed;
        let (mut life, _) = Life::mount(self.scenario, machine, oracle, seed, true)?;
        life.stays = true;
        self.life = Some(life);
        self.life().survey(false)?;
        self.healed()
    }
}

fn nothing_claimed_is_left(first: &CheckReport, second: &CheckReport) -> Went<()> {
    let left: HashSet<&Contradiction> = second.findings.iter().map(|f| &f.what).collect();
    let lie = first.findings.iter().find(|f| f.repaired && left.contains(&f.what));
    lie.map_or(Ok(()), |f| {
        Err(Trouble::Wrong(format!("said to be repaired: {}", f.what)))
    })
}

/// Works with the ports that are open, or opens some.
fn work_on(life: &mut Life<'_>, steps: usize) -> Went<()> {
    if life.workers.is_empty() {
        life.open()?;
    }
    for _ in 0..steps {
        life.step()?;
    }
    Ok(())
}
