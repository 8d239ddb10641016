//! What one stack was measured to carry: pages read from storage a second, by phase and block, with the updates for
//! each of them, the p99, and what a page read took of the processors and the devices.
//!
//! All reads count, those that updates make too, as databases count their own. Takes the gathered file and its
//! analysis, gives [`Carried`] phases. Prevents: a rate that a cache gave, that scans slowed down, that was dropped, or
//! that a model in slow motion had, taken for that of the stack.

use crate::analysis::Analysis;
use crate::cells::latency::{response_p99, service_p99};
use crate::cells::provenance::{Provenance, unseen};
use crate::figures::over;
use crate::format::percent;
use crate::history::{Book, PhaseHead, Seen};
use crate::phase_kind::kind_row;
use crate::ranking::drops::Dropped;
use crate::stacks::priced;
use ledger::{LedgerError, Measure, Stamp};
use std::collections::{BTreeMap, BTreeSet};

/// Classes of random work whose units are pages.
const READ: &str = "select";
const UPDATED: &str = "update";

/// A larger share of the requests to read takes more of a stack than chance does: such a phase is no random work.
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
    /// Phases that are ranked and do not count here, each with its reason.
    pub(crate) left_out: Vec<String>,
}

/// The phases of random work that are ranked on this stack.
pub(crate) fn on(book: &Book, analysis: &Analysis, stack: &str) -> Result<Measured, LedgerError> {
    let slower = f64::from(analysis.study.slow_motion.unwrap_or(1).max(1));
    let dropped = Dropped::of(&analysis.dropped);
    let unranked = analysis.unranked.iter().filter(|one| one.stack == stack);
    let unranked: BTreeSet<Option<&str>> = unranked.map(|one| one.phase.as_deref()).collect();
    let whole_host = counts_processors(book, analysis, stack);
    let mut found = Measured::default();
    for head in &book.phases {
        let name = head.name.as_str();
        let is_unranked = unranked.contains(&None) || unranked.contains(&Some(name));
        if !kind_row(head.kind).is_random || !head.ranked || is_unranked {
            continue;
        }
        let runs = book.by_block(stack, name);
        let runs = runs.filter(|(block, seen)| seen.counts() && dropped.counts(*block, name));
        let mut runs: Vec<(u32, &Seen)> = runs.collect();
        match objection(book, stack, &mut runs) {
            Some(why) => found.left_out.push(format!("{name} does not count: {why}")),
            None => found.carried.extend(of_phase(head, &runs, slower, whole_host)?),
        }
    }
    Ok(found)
}

/// Takes out the runs that a cache served, which a study may ask to rank: a page found there is no page read from
/// storage. The reason where none is left, or where the phase is no random work.
fn objection(book: &Book, stack: &str, runs: &mut Vec<(u32, &Seen)>) -> Option<String> {
    let mut first = None;
    runs.retain(|(_, seen)| {
        let doubt = doubt(book, stack, seen);
        let counts = doubt.is_none();
        first = first.take().or(doubt);
        counts
    });
    if runs.is_empty() { first } else { scans(runs) }
}

/// What speaks against the reads of one run as reads from storage.
fn doubt(book: &Book, stack: &str, seen: &Seen) -> Option<String> {
    let runs = [seen];
    Provenance::of(&runs, unseen(book, stack, &runs)).objection(false)
}

/// The reason where scans took so much of the stack that what is left says nothing of single pages.
fn scans(runs: &[(u32, &Seen)]) -> Option<String> {
    let total = |measure: Measure| Some(runs.iter().filter_map(|(_, seen)| seen.get(measure)).sum::<f64>());
    let share = over(
        total(Measure::EngineMultiblockReads),
        total(Measure::EnginePhysicalReads),
    )?;
    (share > MULTIBLOCK_SHARE_MAX).then(|| {
        format!(
            "{} of its read requests are multiblock reads of scans. Measure a phase without scans",
            percent(share)
        )
    })
}

/// What these runs of a phase carried; `None` where they read nothing.
fn of_phase(
    head: &PhaseHead,
    runs: &[(u32, &Seen)],
    slower: f64,
    whole_host: bool,
) -> Result<Option<Carried>, LedgerError> {
    let open = kind_row(head.kind).is_open;
    let (mut mixes, mut rates, mut p99s) = (Vec::new(), ByBlock::new(), Vec::new());
    let (mut processor_s, mut processors, mut device_bytes) = (ByBlock::new(), None, ByBlock::new());
    for &(block, seen) in runs {
        let read = pages_read(seen);
        if read <= 0.0 || seen.total_s() <= 0.0 {
            continue;
        }
        mixes.push(pages(seen, UPDATED) / read);
        rates.insert(block, read / seen.total_s() * slower);
        p99s.extend(slowest(seen, open)?.map(|ns| ns / slower));
        device_bytes.extend(seen.moved_bytes().map(|bytes| (block, bytes / read)));
        if let Some((busy_ns, of)) = busy(seen).filter(|_| whole_host) {
            processor_s.insert(block, busy_ns / 1e9 / read);
            processors = of;
        }
    }
    Ok((!rates.is_empty()).then(|| Carried {
        phase: head.name.clone(),
        open,
        updates_per_read: stats::median(&mixes),
        reads_per_s: rates,
        p99_ns: (!p99s.is_empty()).then(|| stats::median(&p99s)),
        processor_s,
        processors,
        device_bytes,
    }))
}

/// Whether the processors of the measured host tell what the load takes: not those of one host of several, and not
/// beside a model in slow motion, which keeps them busy for longer than its device would.
pub(crate) fn counts_processors(book: &Book, analysis: &Analysis, stack: &str) -> bool {
    let at_pace = analysis.study.slow_motion.is_none_or(|times| times <= 1);
    at_pace && (book.hosts.len() < 2 || !priced::many_instances(book, stack))
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
