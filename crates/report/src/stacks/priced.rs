//! Prices of the study over what was measured.
//!
//! Takes prices and LUNs from the file, rates and ratios from the analysis; gives a [`Cost`]. Prevents: a price beside
//! a rate without the interval of that rate, and the cost of a rate at which no device runs.

use super::cost::{Cost, CostOfRate, CostOfStack};
use crate::analysis::Analysis;
use crate::cells::PhaseReport;
use crate::cells::metric::Metric;
use crate::figures::{Figure, finite, over};
use crate::history::Book;
use crate::ranking::drops::Dropped;
use crate::ranking::temporary::temp_of;
use crate::ranking::verdicts::Comparison;
use ledger::{FactName, FactValue, LedgerError, Scope, Stack};
use stats::Orientation;
use std::collections::{BTreeMap, BTreeSet};

/// Confidence of the plain interval of a rate.
const CONFIDENCE: f64 = 0.95;

/// Bytes that `[cost]` calls a GB.
const GB: f64 = 1e9;

/// What the study says of prices; `None`: nothing.
pub(crate) fn cost(book: &Book, analysis: &Analysis) -> Result<Option<Cost>, LedgerError> {
    let price = |name: FactName| book.fact(&Scope::Study, name).and_then(FactValue::number);
    let Some(host) = price(FactName::PriceOfHost) else {
        return Ok(None);
    };
    let mut cost = Cost {
        currency: (book.fact(&Scope::Study, FactName::Currency))
            .and_then(FactValue::text)
            .unwrap_or_default()
            .to_string(),
        host,
        lun: price(FactName::PriceOfLun).unwrap_or(0.0),
        gb: price(FactName::PriceOfGb).unwrap_or(0.0),
        stacks: Vec::new(),
        rates: Vec::new(),
    };
    let stacks = book.stacks.iter().filter(|stack| stack.skipped.is_none());
    cost.stacks = stacks.map(|stack| of_stack(book, analysis, &cost, stack)).collect();
    let places = cost.stacks.iter().enumerate();
    let places = places.map(|(place, one)| (one.stack.as_str(), place)).collect();
    let against = analysis.comparisons.iter().rev();
    let judged = Judged {
        book,
        analysis,
        dropped: Dropped::of(&analysis.dropped),
        unranked: (analysis.unranked.iter())
            .map(|one| (one.stack.as_str(), one.phase.as_deref()))
            .collect(),
        against: against
            .map(|one| ((one.stack.as_str(), one.phase.as_str()), one))
            .collect(),
        stacks: &cost.stacks,
        places,
    };
    let mut rates = Vec::new();
    for phase in analysis.phases.iter().filter(|phase| phase.ranked) {
        for stack in &cost.stacks {
            rates.extend(judged.of_rate(phase, stack)?);
        }
    }
    cost.rates = rates;
    Ok(Some(cost))
}

fn of_stack(book: &Book, analysis: &Analysis, cost: &Cost, stack: &Stack) -> CostOfStack {
    let of_database = stack.data_lun_set.iter().chain(&stack.redo_lun_set);
    let mut sets: BTreeSet<&str> = of_database.map(String::as_str).collect();
    // LUNs of the redo log and of temporary files, and those in reserve, are paid for and take no data.
    let data_bytes: f64 = working_luns(book, stack).iter().sum();
    sets.extend(temp_of(book, stack));
    let luns = luns_of(book, sets);
    let lun_bytes: f64 = luns.iter().sum();
    let licence = book.of_stack(&stack.name, FactName::PriceOfLicence);
    let licence = licence.and_then(FactValue::number).unwrap_or(0.0);
    let hosts = hosts_of(book, &stack.name);
    let total = cost.host * hosts as f64 + of_luns(cost, luns.len() as f64, lun_bytes) + licence;
    let reduced = reduction(analysis, &stack.name);
    let full = data_that_fill(analysis, &stack.name, data_bytes).map(|bytes| bytes * reduced);
    CostOfStack {
        stack: stack.name.clone(),
        luns: luns.len() as u32,
        lun_bytes,
        licence,
        total,
        data_bytes_full: full,
        per_gb_of_data: full.map(|bytes| total * GB / bytes),
    }
}

/// Price of so many LUNs with so many bytes together.
pub(crate) fn of_luns(cost: &Cost, luns: f64, bytes: f64) -> f64 {
    cost.lun * luns + cost.gb * bytes / GB
}

/// How many bytes the array under a stack was given for each that it keeps, in the last phase that says so: what is
/// bought holds so many times its bytes. 1 where nothing is reduced.
fn reduction(analysis: &Analysis, stack: &str) -> f64 {
    let rows = analysis.capacity.iter();
    let last = rows.rev().find(|row| row.stack == stack && row.ratio.is_some());
    let Some(row) = last else { return 1.0 };
    let median = |figure: Option<Figure>| figure.map_or(0.0, |figure| figure.median);
    let whole = median(row.whole_bytes);
    over(
        Some(median(row.asked_bytes) + whole),
        Some(median(row.stored_bytes) + whole),
    )
    .unwrap_or(1.0)
}

/// Bytes of data like those of the study that fill so many bytes of LUNs.
pub(crate) fn data_that_fill(analysis: &Analysis, stack: &str, lun_bytes: f64) -> Option<f64> {
    // After the last phase that says so: what ageing and updates added is in it.
    let cells = analysis.phases.iter().flat_map(|phase| &phase.cells);
    let used = cells.filter(|cell| cell.stack == stack);
    let used = used.filter_map(|cell| cell.lun_bytes_per_data_byte).next_back();
    let used = used.filter(|used| used.median > 0.0 && lun_bytes > 0.0)?;
    Some(lun_bytes / used.median)
}

/// Bytes of each LUN that holds data of a stack: without those that it keeps in reserve, the last ones of its set.
pub(crate) fn working_luns(book: &Book, stack: &Stack) -> Vec<f64> {
    let mut luns = luns_of(book, stack.data_lun_set.as_deref());
    luns.truncate(luns.len().saturating_sub(reserve(book, stack)));
    luns
}

/// LUNs that a stack keeps in reserve.
pub(crate) fn reserve(book: &Book, stack: &Stack) -> usize {
    let said = book.setting(&format!("stack.{}.reserve", stack.name));
    said.and_then(|said| said.trim().parse().ok()).unwrap_or(0)
}

/// On how many hosts the instances of a stack ran: on several, each is on a host of its own. A study has as many hosts
/// as its stack with the most instances.
pub(crate) fn hosts_of(book: &Book, stack: &str) -> usize {
    let phases = book.phases.iter().flat_map(|head| book.seen(stack, &head.name));
    let most = phases.map(|seen| seen.instances.len()).max().unwrap_or(0);
    most.clamp(1, book.hosts.len().max(1))
}

/// Bytes of each LUN of these sets.
pub(crate) fn luns_of<'s>(book: &Book, sets: impl IntoIterator<Item = &'s str>) -> Vec<f64> {
    let of_set = |set: &str| book.disclosed.of_luns(set, &FactName::Bytes.into());
    sets.into_iter()
        .flat_map(of_set)
        .filter_map(FactValue::number)
        .collect()
}

/// Units of the rate that a price is said for; `None` for what is no rate.
fn unit(metric: Metric) -> Option<f64> {
    match metric {
        Metric::OperationsPerSecond | Metric::OperationsPerSecondAtLimit | Metric::NewOrdersPerMinute => Some(1.0),
        Metric::BytesPerSecond => Some(1e6),
        Metric::ResponseNsP99 | Metric::GeometricMeanSeconds | Metric::ElapsedSeconds => None,
    }
}

/// What was judged, by stack and phase.
struct Judged<'a> {
    book: &'a Book,
    analysis: &'a Analysis,
    dropped: Dropped<'a>,
    unranked: BTreeSet<(&'a str, Option<&'a str>)>,
    against: BTreeMap<(&'a str, &'a str), &'a Comparison>,
    stacks: &'a [CostOfStack],
    /// Of the stacks, by name.
    places: BTreeMap<&'a str, usize>,
}

impl Judged<'_> {
    fn of_rate(&self, phase: &PhaseReport, stack: &CostOfStack) -> Result<Option<CostOfRate>, LedgerError> {
        let Some(unit) = unit(phase.metric) else {
            return Ok(None);
        };
        let place = |phase| (stack.stack.as_str(), phase);
        if [None, Some(phase.name.as_str())]
            .into_iter()
            .any(|phase| self.unranked.contains(&place(phase)))
        {
            return Ok(None);
        }
        let mut logs = Vec::new();
        for (block, seen) in self.book.by_block(&stack.stack, &phase.name) {
            if seen.counts() && self.dropped.counts(block, &phase.name) {
                let rate = phase.metric.value(seen)?;
                logs.extend(rate.and_then(|rate| stats::log_ratio(rate, unit, Orientation::HigherIsBetter)));
            }
        }
        if logs.is_empty() {
            return Ok(None);
        }
        // A rate of a model in slow motion is no rate of its device.
        let at_pace = self.analysis.study.slow_motion.is_none_or(|times| times == 1);
        let interval = stats::ratio_interval(&logs, CONFIDENCE).filter(|_| at_pace);
        let per = |rate: f64| finite(Some(stack.total / rate));
        let against = self.against.get(&(stack.stack.as_str(), phase.name.as_str())).copied();
        let base = against.and_then(|one| Some(&self.stacks[*self.places.get(one.base.as_str())?]));
        // The price is what is divided: the faster end of a ratio is the cheaper one.
        let relative = |pick: fn(&Comparison) -> Option<f64>| {
            let (one, base) = (against?, base?);
            finite(Some(stack.total / base.total / pick(one)?)).filter(|_| base.total > 0.0)
        };
        Ok(Some(CostOfRate {
            phase: phase.name.clone(),
            stack: stack.stack.clone(),
            metric: phase.metric,
            price: at_pace.then(|| per(stats::mean(&logs).exp())).flatten(),
            low: interval.and_then(|interval| per(interval.high)),
            high: interval.and_then(|interval| per(interval.low)),
            base: base.map(|base| base.stack.clone()),
            ratio: relative(|one| one.ratio),
            ratio_low: relative(|one| one.high),
            ratio_high: relative(|one| one.low),
        }))
    }
}
