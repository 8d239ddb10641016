//! What one stack was measured to carry: pages read from storage a second, by phase and block, with the updates for
//! each of them, the p99, and what a page read took of the processors and the devices.
//!
//! All reads count, those that updates make too, as databases count their own. Takes the gathered file and its
//! analysis, gives [`Carried`] phases, and why others do not count. Prevents: a rate that a cache gave, that scans
//! slowed down, that was dropped, or that a model in slow motion had, taken for that of the stack.

use crate::analysis::Analysis;
use crate::cells::latency::{response_p99, service_p99};
use crate::cells::provenance::{MayServe, Origin, Provenance, unseen};
use crate::figures::over;
use crate::format::percent;
use crate::history::{Book, PhaseHead, Seen};
use crate::phase_kind::kind_row;
use crate::ranking::drops::DroppedBlock;
use crate::ranking::pairs::Unranked;
use crate::ranking::refusals;
use crate::stacks::priced;
use ledger::{LedgerError, Measure, PhaseStatus, Stamp};
use std::collections::BTreeMap;

/// Classes of random work whose units are pages.
const READ: &str = "select";
const UPDATED: &str = "update";

/// A larger share of the read requests, or of their bytes, takes more of a stack than chance does: such a phase is no
/// random work.
const MULTIBLOCK_SHARE_MAX: f64 = 0.01;

/// What each block gave.
pub(crate) type ByBlock = BTreeMap<u32, f64>;

/// One phase on one stack.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Carried {
    pub(crate) phase: String,
    /// On a schedule: what fell due was carried, and more might have been.
    pub(crate) open: bool,
    /// Median over blocks of the pages changed for each page read from storage.
    pub(crate) updates_per_read: f64,
    /// Pages read from storage a second, by block, as the device at its own pace would give them.
    pub(crate) reads_per_s: ByBlock,
    /// Median over blocks of the p99 of an operation; of several classes the slower one.
    pub(crate) p99_ns: Option<f64>,
    /// Seconds of the host's processors for a page read, by block; of those that the run might use.
    pub(crate) processor_s: ByBlock,
    /// How many processors these were.
    pub(crate) processors: Option<f64>,
    /// Bytes that the lowest visible devices moved for a page read, by block.
    pub(crate) device_bytes: ByBlock,
}

impl Carried {
    /// Seconds of the stack for a page read, by block.
    pub(crate) fn seconds(&self) -> ByBlock {
        let rates = self.reads_per_s.iter();
        rates.map(|(block, rate)| (*block, 1.0 / rate)).collect()
    }

    /// Median over blocks.
    pub(crate) fn usual(&self) -> f64 {
        stats::median(&self.reads_per_s.values().copied().collect::<Vec<_>>())
    }
}

/// What one stack was measured to do.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Phases that count.
    pub(crate) carried: Vec<Carried>,
    /// Phases that the study ranks and that do not count here, each with its reason.
    pub(crate) left_out: Vec<String>,
    /// By phase that counts: how many of its blocks do not, and why.
    pub(crate) partly: BTreeMap<String, String>,
}

/// The phases of random work that are ranked on this stack.
pub(crate) fn on(book: &Book, analysis: &Analysis, stack: &str) -> Result<Measured, LedgerError> {
    let mut found = Measured::default();
    let unranked: Vec<&Unranked> = analysis.unranked.iter().filter(|one| one.stack == stack).collect();
    if let Some(one) = unranked.iter().find(|one| one.phase.is_none()) {
        found.left_out.push(format!("nothing of it counts: {}", one.reason));
        return Ok(found);
    }
    let slower = f64::from(analysis.study.slow_motion.unwrap_or(1).max(1));
    let drops = Drops::of(&analysis.dropped);
    let whole_host = counts_processors(book, analysis, stack);
    let asked = book.phases.iter();
    for head in asked.filter(|head| kind_row(head.kind).is_random && head.ranked) {
        let name = head.name.as_str();
        let runs = match unranked.iter().find(|one| one.phase.as_deref() == Some(name)) {
            Some(one) => Err(one.reason.clone()),
            None => Counting::of(book, stack, name, &drops),
        };
        match runs {
            Err(why) => found.left_out.push(format!("{name} does not count: {why}")),
            Ok(runs) => {
                let partly = runs.words(name).map(|words| (name.to_string(), words));
                found.partly.extend(partly);
                found.carried.push(of_phase(head, &runs.runs, slower, whole_host)?);
            }
        }
    }
    Ok(found)
}

/// Why blocks were dropped, by block and phase; `None` for all phases.
struct Drops<'a>(BTreeMap<(u32, Option<&'a str>), &'a str>);

impl<'a> Drops<'a> {
    fn of(dropped: &'a [DroppedBlock]) -> Drops<'a> {
        let one = |one: &'a DroppedBlock| ((one.block, one.phase.as_deref()), one.reason.as_str());
        Drops(dropped.iter().map(one).collect())
    }

    fn reason(&self, block: u32, phase: &str) -> Option<String> {
        let of_all = self.0.get(&(block, None));
        let reason = of_all.or_else(|| self.0.get(&(block, Some(phase))))?;
        Some((*reason).to_string())
    }
}

/// The runs of a phase that count.
struct Counting<'b> {
    runs: Vec<(u32, &'b Seen)>,
    /// As many were recorded.
    recorded: usize,
    /// Why the first of the others does not count.
    why: Option<String>,
}

impl<'b> Counting<'b> {
    /// The reason where none is left, or where the phase is no random work. A page that a cache served is no page read
    /// from storage, also where a study asks to rank it.
    fn of(book: &'b Book, stack: &'b str, phase: &'b str, drops: &Drops<'_>) -> Result<Counting<'b>, String> {
        let runs: Vec<(u32, &Seen)> = book.by_block(stack, phase).collect();
        let mut found = Counting {
            recorded: runs.len(),
            runs,
            why: None,
        };
        found.keep(|block, seen| {
            let shut_out = drops.reason(block, phase).or_else(|| refusal(seen));
            shut_out.or_else(|| doubt(book, stack, seen))
        })?;
        if let Some(why) = scans(&found.runs) {
            return Err(why);
        }
        found.keep(|_, seen| {
            let reads = pages_read(seen) > 0.0 && seen.total_s() > 0.0;
            (!reads).then(|| "it read no page from storage".into())
        })?;
        Ok(found)
    }

    /// Keeps the runs against which nothing is said.
    fn keep(&mut self, objection: impl Fn(u32, &Seen) -> Option<String>) -> Result<(), String> {
        let first = &mut self.why;
        self.runs.retain(|&(block, seen)| {
            let why = objection(block, seen);
            let counts = why.is_none();
            *first = first.take().or(why);
            counts
        });
        match (self.runs.is_empty(), &self.why) {
            (false, _) => Ok(()),
            (true, Some(why)) => Err(why.clone()),
            (true, None) => Err("no run of it is recorded".into()),
        }
    }

    /// Where some do not count.
    fn words(&self, phase: &str) -> Option<String> {
        let others = self.recorded - self.runs.len();
        let counts = if others == 1 { "does not count" } else { "do not count" };
        let why = self.why.as_ref().filter(|_| others > 0)?;
        Some(format!(
            "{others} of {} blocks of {phase} {counts}: {why}",
            self.recorded
        ))
    }
}

/// What shuts one run out by itself: without stacks to compare no block is dropped.
fn refusal(seen: &Seen) -> Option<String> {
    match &seen.run.status {
        PhaseStatus::Valid => refusals::of_run(seen),
        PhaseStatus::Invalid(why) => Some(format!("it is invalid: {why}")),
        PhaseStatus::Failed(why) => Some(format!("it failed: {why}")),
    }
}

/// What speaks against the reads of one run as reads from storage.
fn doubt(book: &Book, stack: &str, seen: &Seen) -> Option<String> {
    let runs = [seen];
    let found = Provenance::of(&runs, unseen(book, stack, &runs));
    // Its writes alone may keep a phase ranked.
    let few = found.reads.origin == Origin::None;
    let few = few.then(|| "its reads are next to nothing, so it has no mix".to_string());
    found.objection(MayServe::Devices).or(few)
}

/// The reason where scans took so much of the stack that what is left says nothing of single pages. One request of a
/// scan may be many pages, so the larger share decides: that of the requests, or that of their bytes.
fn scans(runs: &[(u32, &Seen)]) -> Option<String> {
    let total = |measure: Measure| Some(runs.iter().filter_map(|(_, seen)| seen.get(measure)).sum::<f64>());
    let of = |scans: Measure, all: Measure| over(total(scans), total(all));
    let shares = [
        (
            "of the bytes that it reads are those of",
            of(Measure::EngineMultiblockBytes, Measure::EngineReadBytes),
        ),
        (
            "of its read requests are",
            of(Measure::EngineMultiblockReads, Measure::EnginePhysicalReads),
        ),
    ];
    let known = shares
        .into_iter()
        .filter_map(|(of_what, share)| Some((of_what, share?)));
    let (of_what, share) = known.max_by(|one, other| one.1.total_cmp(&other.1))?;
    (share > MULTIBLOCK_SHARE_MAX).then(|| {
        format!(
            "{} {of_what} multiblock reads of scans. Measure a phase without scans",
            percent(share)
        )
    })
}

/// What these runs of a phase carried: each of them read.
fn of_phase(head: &PhaseHead, runs: &[(u32, &Seen)], slower: f64, whole_host: bool) -> Result<Carried, LedgerError> {
    let open = kind_row(head.kind).is_open;
    let (mut mixes, mut rates, mut p99s) = (Vec::new(), ByBlock::new(), Some(Vec::new()));
    let (mut processor_s, mut processors, mut device_bytes) = (ByBlock::new(), None, ByBlock::new());
    for &(block, seen) in runs {
        let read = pages_read(seen);
        mixes.push(pages(seen, UPDATED) / read);
        rates.insert(block, read / seen.total_s() * slower);
        // Nothing is said of all blocks where one has none.
        let known = p99s.zip(slowest(seen, open)?);
        p99s = known.map(|(p99s, ns)| [p99s, vec![ns / slower]].concat());
        device_bytes.extend(seen.moved_bytes().map(|bytes| (block, bytes / read)));
        if let Some((busy_ns, of)) = busy(seen).filter(|_| whole_host) {
            processor_s.insert(block, busy_ns / 1e9 / read);
            processors = of;
        }
    }
    Ok(Carried {
        phase: head.name.clone(),
        open,
        updates_per_read: stats::median(&mixes),
        reads_per_s: rates,
        p99_ns: p99s.and_then(|p99s| p99s.into_iter().reduce(f64::max)),
        processor_s,
        processors,
        device_bytes,
    })
}

/// Whether the processors of the measured host tell what the load takes: not those of one host of several, and not
/// beside a model in slow motion, which keeps them busy for longer than its device would.
pub(crate) fn counts_processors(book: &Book, analysis: &Analysis, stack: &str) -> bool {
    let at_pace = analysis.study.slow_motion.is_none_or(|times| times <= 1);
    at_pace && priced::hosts_of(book, stack) < 2
}

/// Processor time not idle, and how many processors it is of.
fn busy(seen: &Seen) -> Option<(f64, Option<f64>)> {
    let allowed = seen.get(Measure::CpuAllowedBusyNs).zip(seen.get(Measure::CpuAllowed));
    let all = || Some((seen.get(Measure::CpuBusyNs)?, seen.get(Measure::CpuCores)));
    allowed.map(|(busy, of)| (busy, Some(of))).or_else(all)
}

/// Pages that the engine read from storage, for queries and for updates; not those of scans, many of which are one
/// request. Where the engine did not count them, all pages that operations touched.
fn pages_read(seen: &Seen) -> f64 {
    match seen.get(Measure::EnginePhysicalReads) {
        Some(requests) => (requests - seen.get(Measure::EngineMultiblockReads).unwrap_or(0.0)).max(0.0),
        None => pages(seen, READ) + pages(seen, UPDATED),
    }
}

/// Pages that the operations of a class touched.
fn pages(seen: &Seen, class: &str) -> f64 {
    let rows = seen.of_stamp(Stamp::Service).filter(|row| row.class == class);
    rows.map(|row| row.units as f64).sum()
}

/// On a schedule from the moment that an operation was due.
fn slowest(seen: &Seen, is_open: bool) -> Result<Option<f64>, LedgerError> {
    if is_open {
        return response_p99(seen);
    }
    let both = [service_p99(seen, READ)?, service_p99(seen, UPDATED)?];
    Ok(both.into_iter().flatten().reduce(f64::max))
}
