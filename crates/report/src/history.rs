//! The result file gathered in memory: which phase was run on which stack in which block, with all that was seen in it.
//!
//! Takes an open ledger, gives a [`Book`]. Of trials that were run again the last one that ended counts; trials under
//! way or interrupted do not, and yet what was lost in one of them is lost. Rows are reached by what they are of: no
//! question goes through a table. Prevents: half a trial counted, one trial counted twice, a loss that a later try
//! hides, and a report whose time grows faster than its file.

mod rows;
mod seen;

pub(crate) use seen::{CLOCK_STEP_NS_MAX, Refused, Runs, Seen};

use crate::by_trial::ByTrial;
use crate::disclosed::Disclosed;
use crate::grouped::distinct;
use crate::limits::{BLOCKS_MAX, must_be_of_a_study};
use crate::looked::looked;
use crate::spent::timeline::Timeline;
use ledger::{
    DatabaseRow, FactKey, FactName, FactValue, HostRow, Ledger, LedgerError, Look, PhaseId, PhaseKind, Role, Scope,
    Stack, Study, TakingTurns, Trial, TrialId, TrialStatus, Way,
};
use rows::{OfTrials, phases};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// A trial with its phases by name.
#[derive(Debug)]
pub(crate) struct Ran {
    pub trial: Trial,
    pub phases: BTreeMap<String, Seen>,
}

/// Name and nature of a phase of the study, in the order of a trial.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhaseHead {
    pub name: String,
    pub kind: PhaseKind,
    pub ranked: bool,
}

/// The whole file.
#[derive(Debug)]
pub(crate) struct Book {
    pub study: Study,
    pub ended: Option<String>,
    /// Blocks that were added after the study had ended.
    pub extensions: Vec<ledger::Extension>,
    /// By rank; none of a study on one host.
    pub hosts: Vec<HostRow>,
    pub stacks: Vec<Stack>,
    pub phases: Vec<PhaseHead>,
    /// Phases recorded in trials that did not end.
    pub uncounted: u32,
    pub looks: Vec<Look>,
    /// Facts and settings.
    pub disclosed: Disclosed,
    pub extents: ByTrial<ledger::ExtentRow>,
    pub layouts: ByTrial<ledger::FileLayoutRow>,
    pub imported: Vec<ledger::ImportedText>,
    pub databases: ByTrial<DatabaseRow>,
    pub seal: ledger::Seal,
    /// When trials stood, those that were run again among them.
    pub timeline: Timeline,
    /// By (block, stack): the last trial that ended.
    pub(crate) ran: BTreeMap<(u32, String), Ran>,
    /// Trials that failed and were run again, in the order that they began.
    pub failed_before: Vec<Ran>,
    /// Trials that did not end, with the phases that they came to.
    unfinished: Vec<Ran>,
    /// Blocks begun.
    blocks: u32,
    /// Stack by stack the blocks that it ran in, and by phase those in which it came to that.
    of_stack: BTreeMap<String, Blocks>,
    /// The places of phases, by name.
    places: BTreeMap<String, usize>,
    /// The place of the earlier phase that a phase is held against, by name, once that was asked for.
    against: OnceCell<BTreeMap<String, usize>>,
    /// The place of the first phase in which a stack ran out of space, as far as that was asked for.
    pub first_full: RefCell<BTreeMap<String, Option<usize>>>,
    /// The same of the first phase that may write and in which a question ran past its limit.
    pub first_late: RefCell<BTreeMap<String, Option<usize>>>,
    /// Why stacks take no part, by name, once that was asked for.
    pub unfit: OnceCell<BTreeMap<String, String>>,
    /// The stack that a stack is compared with, by name, once that was asked for.
    pub bases: OnceCell<BTreeMap<String, String>>,
}

#[derive(Debug, Default)]
struct Blocks {
    all: Vec<u32>,
    of_phase: BTreeMap<String, Vec<u32>>,
}

impl Book {
    pub(crate) fn read(ledger: &Ledger) -> Result<Book, LedgerError> {
        // Before the phases: where a run writes meanwhile, a trial that has ended here has all its phases below.
        let (looks, trials) = (ledger.looks()?, ledger.trials()?);
        let seen = phases(ledger)?;
        let heads = heads(&seen);
        let ending = ledger.ending()?;
        let times = seen.values().map(|(_, phase)| phase.time());
        let timeline = Timeline::of(&trials, times, ending.as_ref().map(|ending| ending.at_unix_ns));
        let stacks = ledger.stacks()?;
        let blocks = trials
            .iter()
            .map(|trial| trial.block.saturating_add(1))
            .max()
            .unwrap_or(0);
        let (study, hosts) = (ledger.study()?, ledger.hosts()?);
        let extensions = ledger.extensions()?;
        must_be_possible(ledger, &study, &extensions)?;
        let blocks = (blocks, BLOCKS_MAX * (1 + extensions.len() as u32));
        let runs = seen.len().max(trials.len());
        must_be_of_a_study(ledger, stacks.len(), heads.len(), blocks, runs, hosts.len())?;
        let Sorted {
            ran,
            failed_before,
            unfinished,
            uncounted,
        } = sorted(trials, seen);
        Ok(Book {
            study,
            ended: ending.map(|ending| ending.reason),
            extensions,
            hosts,
            stacks,
            uncounted,
            looks,
            disclosed: Disclosed::new(ledger.facts()?, ledger.settings()?),
            extents: ByTrial::new(ledger.extents()?, |row| row.trial),
            layouts: ByTrial::new(ledger.layouts()?, |row| row.trial),
            imported: ledger.imported()?,
            databases: ByTrial::new(ledger.databases()?, |row| row.trial),
            seal: ledger.seal()?,
            timeline,
            blocks: ran.keys().map(|(block, _)| block.saturating_add(1)).max().unwrap_or(0),
            of_stack: by_stack(&ran),
            places: places(heads.values()),
            phases: heads.into_values().collect(),
            ran,
            failed_before,
            unfinished,
            against: OnceCell::new(),
            first_full: RefCell::default(),
            first_late: RefCell::default(),
            unfit: OnceCell::new(),
            bases: OnceCell::new(),
        })
    }

    /// A study of which nothing was recorded.
    pub(crate) fn without_runs(study: Study, extensions: Vec<ledger::Extension>) -> Book {
        Book {
            study,
            ended: None,
            extensions,
            hosts: Vec::new(),
            stacks: Vec::new(),
            phases: Vec::new(),
            uncounted: 0,
            looks: Vec::new(),
            disclosed: Disclosed::default(),
            extents: ByTrial::none(),
            layouts: ByTrial::none(),
            imported: Vec::new(),
            databases: ByTrial::none(),
            seal: ledger::Seal::None,
            timeline: Timeline::default(),
            ran: BTreeMap::new(),
            failed_before: Vec::new(),
            unfinished: Vec::new(),
            blocks: 0,
            of_stack: BTreeMap::new(),
            places: BTreeMap::new(),
            against: OnceCell::new(),
            first_full: RefCell::default(),
            first_late: RefCell::default(),
            unfit: OnceCell::new(),
            bases: OnceCell::new(),
        }
    }

    /// The value of a fact.
    pub(crate) fn fact(&self, scope: &Scope, key: impl Into<FactKey>) -> Option<&FactValue> {
        self.disclosed.fact(scope, &key.into())
    }

    /// Whether the stacks of a block took turns within its phases.
    pub(crate) fn takes_stints(&self) -> bool {
        let schedule = self.fact(&Scope::Study, FactName::Schedule);
        matches!(schedule, Some(FactValue::Turns(TakingTurns::Stints(_))))
    }

    /// The value of a fact of a stack.
    pub(crate) fn of_stack(&self, stack: &str, key: impl Into<FactKey>) -> Option<&FactValue> {
        self.fact(&Scope::Stack(stack.into()), key)
    }

    /// Which way reads or writes of these files of a stack were seen to go, where that is known.
    pub(crate) fn way(&self, stack: &str, name: FactName, role: Role) -> Option<Way> {
        match self.of_stack(stack, name.on(role))? {
            FactValue::Way(way) => Some(*way),
            _ => None,
        }
    }

    /// A setting of the study, as it was written.
    pub(crate) fn setting(&self, key: &str) -> Option<&str> {
        self.disclosed.setting(key)
    }

    /// The devices under a stack, from the nearest down to the lowest.
    pub(crate) fn devices(&self, stack: &str) -> Vec<&str> {
        let levels = [FactName::NearestDevices, FactName::Devices, FactName::LowestDevices];
        let all = levels.iter().filter_map(|level| self.of_stack(stack, *level));
        distinct(all.flat_map(FactValue::names).map(String::as_str))
    }

    /// Blocks begun, as a count from 0.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The place of a phase in a trial.
    pub(crate) fn place(&self, phase: &str) -> Option<usize> {
        looked(1);
        self.places.get(phase).copied()
    }

    /// The earlier phase that a phase is held against, as the study says.
    pub(crate) fn against(&self, phase: &str) -> Option<&PhaseHead> {
        looked(1);
        let all = || (self.phases.iter()).filter_map(|head| Some((head.name.clone(), self.earlier(&head.name)?)));
        let place = self.against.get_or_init(|| all().collect()).get(phase)?;
        Some(&self.phases[*place])
    }

    fn earlier(&self, phase: &str) -> Option<usize> {
        let said = self.setting(&format!("phase.{phase}.against"))?;
        let table: toml::Table = toml::from_str(&format!("name = {said}")).ok()?;
        self.place(table.get("name")?.as_str()?)
    }

    /// Whether the sessions of a phase go home after so many operations each, as the study says.
    pub(crate) fn goes_home_by_count(&self, phase: &str) -> bool {
        let said = self.setting(&format!("phase.{phase}.work_loop"));
        said.is_some_and(|loops| loops.trim() != "0")
    }

    /// Whether the study wants phases ranked that a cache inside the memory budget served.
    pub(crate) fn ranks_cached(&self) -> bool {
        let said = self.setting("memory.rank_cached");
        said.is_some_and(|wanted| wanted.trim() == "true")
    }

    pub(crate) fn ran(&self, block: u32, stack: &str) -> Option<&Ran> {
        looked(1);
        self.ran.get(&(block, stack.to_string()))
    }

    /// All trials that ended, by block and stack.
    pub(crate) fn trials(&self) -> impl Iterator<Item = (u32, &str, &Ran)> {
        looked(self.ran.len());
        self.ran
            .iter()
            .map(|((block, stack), ran)| (*block, stack.as_str(), ran))
    }

    /// Those of one block.
    pub(crate) fn trials_of(&self, block: u32) -> impl Iterator<Item = &Ran> {
        let of_block = self.ran.range((block, String::new())..);
        let of_block = of_block.take_while(move |((of, _), _)| *of == block);
        of_block.map(|(_, ran)| ran).inspect(|_| looked(1))
    }

    /// Blocks that a later run completed: a trial did not end and was run again, and one of another stack is of before.
    pub(crate) fn completed_later(&self) -> BTreeSet<u32> {
        let is_in_two = |cut: &&Ran| {
            let of_block = || self.trials_of(cut.trial.block).map(|ran| &ran.trial);
            of_block().any(|ran| ran.stack == cut.trial.stack && ran.id > cut.trial.id)
                && of_block().any(|ran| ran.id < cut.trial.id)
        };
        self.unfinished
            .iter()
            .filter(is_in_two)
            .map(|cut| cut.trial.block)
            .collect()
    }

    /// What was seen of a phase on a stack in a block.
    pub(crate) fn at(&self, block: u32, stack: &str, phase: &str) -> Option<&Seen> {
        self.ran(block, stack)?.phases.get(phase)
    }

    /// Trials of a stack that ended, by block.
    pub(crate) fn runs<'a>(&'a self, stack: &'a str) -> impl Iterator<Item = (u32, &'a Ran)> {
        let blocks = self.of_stack.get(stack).map(|of| &of.all);
        blocks
            .into_iter()
            .flatten()
            .filter_map(move |block| Some((*block, self.ran(*block, stack)?)))
    }

    /// What was seen of a phase on a stack, with the block, valid or not.
    pub(crate) fn by_block<'a>(&'a self, stack: &'a str, phase: &'a str) -> impl Iterator<Item = (u32, &'a Seen)> {
        let blocks = self.of_stack.get(stack).and_then(|of| of.of_phase.get(phase));
        blocks
            .into_iter()
            .flatten()
            .filter_map(move |block| Some((*block, self.at(*block, stack, phase)?)))
    }

    /// The same without the blocks, in their order.
    pub(crate) fn seen<'a>(&'a self, stack: &'a str, phase: &'a str) -> impl Iterator<Item = &'a Seen> {
        self.by_block(stack, phase).map(|(_, seen)| seen)
    }

    /// The same with those of trials that failed and were run again, or that did not end: what was lost in one is lost.
    pub(crate) fn ever<'a>(&'a self, stack: &'a str, phase: &'a str) -> impl Iterator<Item = &'a Seen> {
        let before = self.failed_before.iter().chain(&self.unfinished);
        let before = before.filter(move |ran| ran.trial.stack == stack);
        self.seen(stack, phase)
            .chain(before.filter_map(move |ran| ran.phases.get(phase)))
    }

    /// Runs that came through, those among them that do not count too.
    pub(crate) fn came_through<'a>(&'a self, stack: &'a str, phase: &'a str) -> Vec<&'a Seen> {
        self.seen(stack, phase).filter(|seen| seen.is_valid()).collect()
    }

    /// Runs whose numbers are in the figures: those that count, or where none does, those that came through.
    pub(crate) fn valid<'a>(&'a self, stack: &'a str, phase: &'a str) -> Vec<&'a Seen> {
        let mut runs = self.came_through(stack, phase);
        if runs.iter().any(|seen| seen.counts()) {
            runs.retain(|seen| seen.counts());
        }
        runs
    }
}

/// The trials of a file with their phases, by what they came to.
#[derive(Default)]
struct Sorted {
    ran: BTreeMap<(u32, String), Ran>,
    failed_before: Vec<Ran>,
    unfinished: Vec<Ran>,
    uncounted: u32,
}

fn sorted(trials: Vec<Trial>, mut seen: OfTrials) -> Sorted {
    let mut of_trial: BTreeMap<TrialId, Vec<PhaseId>> = BTreeMap::new();
    for (id, (trial, _)) in &seen {
        of_trial.entry(*trial).or_default().push(*id);
    }
    let mut all = Sorted::default();
    for trial in trials {
        let mine = of_trial.remove(&trial.id).unwrap_or_default();
        let phases = mine
            .into_iter()
            .filter_map(|id| seen.remove(&id))
            .map(|(_, phase)| (phase.run.name.clone(), phase))
            .collect();
        let one = Ran { trial, phases };
        if matches!(one.trial.status, TrialStatus::Running | TrialStatus::Interrupted) {
            all.unfinished.push(one);
            continue;
        }
        // Trials come in the order they began, so the last of them stays.
        let earlier = all.ran.insert((one.trial.block, one.trial.stack.clone()), one);
        let failed = |ran: &Ran| matches!(ran.trial.status, TrialStatus::Failed(_));
        all.failed_before.extend(earlier.filter(failed));
    }
    // A trial that began after the trials were read has phases here, and no row.
    let uncounted = seen.len() + all.unfinished.iter().map(|ran| ran.phases.len()).sum::<usize>();
    all.uncounted = uncounted as u32;
    all
}

/// An error for a file whose design is none: everything is judged by it.
fn must_be_possible(ledger: &Ledger, study: &Study, extensions: &[ledger::Extension]) -> Result<(), LedgerError> {
    let damaged = |detail: String| LedgerError::Damaged {
        path: ledger.path().into(),
        detail,
    };
    for (name, share) in [("alpha", study.alpha), ("margin", study.margin)] {
        if !(share > 0.0 && share < 1.0) {
            let detail = format!("the study's {name} is {share:e}, and no study has it outside 0 to 1");
            return Err(damaged(detail));
        }
    }
    let reserved = study.alpha_reserved;
    if !(0.0..study.alpha).contains(&reserved) {
        let detail = format!(
            "the error kept for extensions is {reserved:e}, and the study has {:e}",
            study.alpha
        );
        return Err(damaged(detail));
    }
    // How many blocks an extension has is fixed with the study: a number chosen later would not be covered.
    let fits = |(nth, one): (usize, &ledger::Extension)| {
        one.number as usize == nth + 1 && one.blocks == study.blocks_planned && reserved > 0.0
    };
    if extensions.len() > stats::EXTENSIONS_MAX as usize || !extensions.iter().enumerate().all(fits) {
        return Err(damaged("it holds extensions that no run adds".into()));
    }
    Ok(())
}

/// Phases in the order of a trial, by their place in it and their name.
fn heads(seen: &OfTrials) -> BTreeMap<(u32, String), PhaseHead> {
    let mut heads = BTreeMap::new();
    for (_, phase) in seen.values() {
        let run = &phase.run;
        let head = PhaseHead {
            name: run.name.clone(),
            kind: run.kind,
            ranked: run.ranked,
        };
        heads.entry((run.ordinal, run.name.clone())).or_insert(head);
    }
    heads
}

/// Of two phases of one name the first counts.
fn places<'h>(heads: impl Iterator<Item = &'h PhaseHead>) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for (place, head) in heads.enumerate() {
        places.entry(head.name.clone()).or_insert(place);
    }
    places
}

fn by_stack(ran: &BTreeMap<(u32, String), Ran>) -> BTreeMap<String, Blocks> {
    let mut of_stack: BTreeMap<String, Blocks> = BTreeMap::new();
    for ((block, stack), ran) in ran {
        let of = of_stack.entry(stack.clone()).or_default();
        of.all.push(*block);
        for phase in ran.phases.keys() {
            of.of_phase.entry(phase.clone()).or_default().push(*block);
        }
    }
    of_stack
}
