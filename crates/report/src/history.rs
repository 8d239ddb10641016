//! The result file gathered in memory: which phase was run on which stack in which block, with all that was seen in it.
//!
//! Takes an open ledger, gives a [`Book`]. Of trials that were run again the last one that ended counts; trials under
//! way or interrupted do not. Rows are reached by what they are of: no question goes through a table. Prevents: half a
//! trial counted, one trial counted twice, and a report whose time grows faster than its file.

use crate::by_trial::ByTrial;
use crate::cells::answers::{self, Answers};
use crate::cells::ramp::Ramp;
use crate::disclosed::Disclosed;
use crate::distribution::Distribution;
use crate::figures::Figure;
use crate::grouped::distinct;
use crate::limits::{BLOCKS_MAX, must_be_of_a_study};
use crate::looked::looked;
use crate::spent::timeline::{PhaseTime, Timeline};
use ledger::{
    BulkLoadRow, DatabaseRow, DecisionSupport, FactKey, FactName, FactValue, FileServing, HostRow, InstanceRow, Ledger,
    LedgerError, Look, Measure, OfPhase, OrderEntry, PhaseId, PhaseKind, PhaseRun, PhaseStatus, Sample, Scope, Slice,
    Stack, Study, TakingTurns, Trial, TrialId, TrialStatus, UserScan,
};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;

/// One finished phase with all that was seen in it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub id: PhaseId,
    pub run: PhaseRun,
    pub measures: BTreeMap<Measure, f64>,
    pub histograms: Vec<Distribution>,
    pub slices: Vec<Slice>,
    pub scans: Vec<UserScan>,
    pub instances: Vec<InstanceRow>,
    /// Bytes that arrays with inline reduction kept, from time to time.
    pub stored: Vec<Sample>,
    pub orders: Option<OrderEntry>,
    pub questions: Option<DecisionSupport>,
    pub bulk: Vec<BulkLoadRow>,
    pub serving: Option<FileServing>,
    /// How its answers stand to each other and to those of other runs.
    pub answers: Answers,
    /// What its ramp came to, as far as that was asked for.
    pub ramp: OnceCell<Ramp>,
    /// p99 of response over all classes, as far as that was asked for.
    pub response_p99_ns: Cell<Option<Option<f64>>>,
}

impl Seen {
    pub(crate) fn get(&self, measure: Measure) -> Option<f64> {
        self.measures.get(&measure).copied().filter(|value| value.is_finite())
    }

    /// Processor time of the host. Of several hosts one alone was observed, and the operations are those of all.
    pub(crate) fn busy_ns(&self) -> Option<f64> {
        let is_of_all = self.get(Measure::HostsClockBoundNs).is_none();
        self.get(Measure::CpuBusyNs).filter(|_| is_of_all)
    }

    /// Sum of the measures that are there; `None` when none is.
    pub(crate) fn sum(&self, measures: &[Measure]) -> Option<f64> {
        let found: Vec<f64> = measures.iter().filter_map(|measure| self.get(*measure)).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// Seconds of the phase, drain included: the divisor of every rate.
    pub(crate) fn total_s(&self) -> f64 {
        self.run.elapsed_ns.saturating_add(self.run.drain_ns) as f64 / 1e9
    }

    /// Whether it came through; of these some do not count ([`Seen::counts`]).
    pub(crate) fn is_valid(&self) -> bool {
        self.run.status == PhaseStatus::Valid
    }

    /// Why it does not count though it came through.
    pub(crate) fn refused(&self) -> Option<Refused> {
        let slept = self.get(Measure::ClockSleptNs).filter(|ns| *ns > CLOCK_STEP_NS_MAX);
        slept
            .map(Refused::Slept)
            .or_else(|| self.mostly_stolen().map(Refused::Stolen))
    }

    /// The share of all processor time that the hypervisor took, where it was most of a ranked run's. What is not
    /// ranked took longer for it and left what it would have left.
    pub(crate) fn mostly_stolen(&self) -> Option<f64> {
        let much = self.get(Measure::CpuStealNs)? >= STEAL_NS_REFUSED && self.run.ranked;
        let share = self.get(Measure::CpuStealShare)?;
        Some(share).filter(|share| much && *share > STEAL_REFUSED)
    }

    /// Whether its numbers are in ratios and figures.
    pub(crate) fn counts(&self) -> bool {
        self.is_valid() && self.refused().is_none()
    }

    fn time(&self) -> PhaseTime<'_> {
        PhaseTime {
            run: &self.run,
            serving: self.serving.as_ref(),
            counts: self.counts(),
        }
    }
}

/// What shuts a run out that came through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Refused {
    /// The host slept for so many nanoseconds.
    Slept(f64),
    /// The hypervisor gave this share of all processor time to others.
    Stolen(f64),
}

/// Of all processor time, wanted or not: so a rate is more the neighbours' than the stack's. (Where a hypervisor does a
/// guest's I/O on the guest's processors, a stack that wants little of them and moves much loses as much as it wants by
/// itself: that is a doubt, and no neighbour.) In phases too short for a second of it, such a burst is scatter.
const STEAL_REFUSED: f64 = 0.5;
const STEAL_NS_REFUSED: f64 = 1e9;
/// Reading three clocks takes microseconds; a step that anybody would make is larger.
pub(crate) const CLOCK_STEP_NS_MAX: f64 = 10e6;

/// The runs of one phase on one stack.
pub(crate) trait Runs {
    /// Over all of them.
    fn figure(&self, value: impl Fn(&Seen) -> Option<f64>) -> Option<Figure>;

    /// What they measured.
    fn measured(&self, measure: Measure) -> Option<Figure> {
        self.figure(|run| run.get(measure))
    }
}

impl Runs for [&Seen] {
    fn figure(&self, value: impl Fn(&Seen) -> Option<f64>) -> Option<Figure> {
        Figure::of(self.iter().map(|run| value(run)))
    }
}

/// A trial that ended, with its phases by name.
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
        let mut seen = phases(ledger)?;
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
        let mut of_trial: BTreeMap<TrialId, Vec<PhaseId>> = BTreeMap::new();
        for (id, (trial, _)) in &seen {
            of_trial.entry(*trial).or_default().push(*id);
        }
        let (mut ran, mut failed_before) = (BTreeMap::new(), Vec::new());
        for trial in trials {
            if matches!(trial.status, TrialStatus::Running | TrialStatus::Interrupted) {
                continue;
            }
            let mine = of_trial.remove(&trial.id).unwrap_or_default();
            let phases = mine
                .into_iter()
                .filter_map(|id| seen.remove(&id))
                .map(|(_, phase)| (phase.run.name.clone(), phase))
                .collect();
            // Trials come in the order they began, so the last of them stays.
            let earlier = ran.insert((trial.block, trial.stack.clone()), Ran { trial, phases });
            failed_before.extend(earlier.filter(|ran: &Ran| matches!(ran.trial.status, TrialStatus::Failed(_))));
        }
        Ok(Book {
            study,
            ended: ending.map(|ending| ending.reason),
            extensions,
            hosts,
            stacks,
            uncounted: seen.len() as u32,
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

    /// The same with those of trials that failed and were run again: what was lost in one is lost.
    pub(crate) fn ever<'a>(&'a self, stack: &'a str, phase: &'a str) -> impl Iterator<Item = &'a Seen> {
        let before = self.failed_before.iter().filter(move |ran| ran.trial.stack == stack);
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

/// By phase: its trial, and what was seen.
type OfTrials = BTreeMap<PhaseId, (TrialId, Seen)>;

/// Rows of phases that are not in the file are left out.
fn add<R>(seen: &mut OfTrials, rows: Vec<OfPhase<R>>, put: impl Fn(&mut Seen, R)) {
    for OfPhase { phase, row } in rows {
        if let Some((_, phase)) = seen.get_mut(&phase) {
            put(phase, row);
        }
    }
}

/// Runs with an answer that most others do not have do not count; one whose users disagree was invalid when it ended.
fn compare_answers(seen: &mut OfTrials) {
    for (_, phase) in seen.values_mut() {
        if phase.questions.as_ref().is_some_and(answers::differ_within) {
            phase.answers = Answers::Wrong;
        }
    }
    let valid = seen.iter().filter(|(_, (_, phase))| phase.is_valid());
    let asked: Vec<_> = valid
        .filter_map(|(id, (_, phase))| Some((*id, phase.questions.as_ref()?)))
        .collect();
    for (id, doubt) in answers::doubts(&asked) {
        if let Some((_, phase)) = seen.get_mut(&id) {
            phase.answers = doubt.answers;
            phase.run.status = PhaseStatus::Invalid(doubt.why);
        }
    }
}

fn phases(ledger: &Ledger) -> Result<OfTrials, LedgerError> {
    let mut seen = OfTrials::new();
    for phase in ledger.phases()? {
        let fresh = Seen {
            id: phase.id,
            run: phase.run,
            measures: BTreeMap::new(),
            histograms: Vec::new(),
            slices: Vec::new(),
            scans: Vec::new(),
            instances: Vec::new(),
            stored: Vec::new(),
            orders: None,
            questions: None,
            bulk: Vec::new(),
            serving: None,
            answers: Answers::Alike,
            ramp: OnceCell::new(),
            response_p99_ns: Cell::default(),
        };
        seen.insert(phase.id, (fresh.run.trial, fresh));
    }
    add(&mut seen, ledger.measures()?, |phase, row| phase.measures.extend([row]));
    add(&mut seen, ledger.histograms()?, |phase, row| {
        phase.histograms.push(row.into())
    });
    add(&mut seen, ledger.slices()?, |phase, row| phase.slices.push(row));
    add(&mut seen, ledger.order_entries()?, |phase, row| {
        phase.orders = Some(row)
    });
    add(&mut seen, ledger.decision_supports()?, |phase, row| {
        phase.questions = Some(row)
    });
    compare_answers(&mut seen);
    add(&mut seen, ledger.file_servings()?, |phase, row| {
        phase.serving = Some(row)
    });
    add(&mut seen, ledger.bulk_loads()?, |phase, row| phase.bulk.push(row));
    add(&mut seen, ledger.user_scans()?, |phase, row| phase.scans.push(row));
    add(&mut seen, ledger.instances()?, |phase, row| phase.instances.push(row));
    let reduces = |(_, phase): &(TrialId, Seen)| phase.get(Measure::ArrayStoredBytes).is_some();
    if seen.values().any(reduces) {
        let series = ledger.samples_named(Measure::ArrayStoredBytes.name())?;
        add(&mut seen, series, |phase, row| phase.stored.push(row));
    }
    Ok(seen)
}
