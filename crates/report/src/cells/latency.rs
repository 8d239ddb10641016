//! Percentiles of latency, from the whole distributions of each block.
//!
//! Takes the histograms of a phase on a stack, gives a [`Latency`] per class of operation. A percentile is taken in
//! each block and then summarised over blocks. Prevents: averaged percentiles of which nobody knows the spread, and a
//! stamp (service or response) left unsaid.

use crate::distribution::Distribution;
use crate::figures::{Figure, over};
use crate::format::percent;
use crate::history::Seen;
use crate::phase_kind::kind_row;
use hdrhistogram::Histogram;
use ledger::{LedgerError, Measure, Stamp, add_histogram, with_unsent};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;

/// Latency of one class of operation on one stack in one phase, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// Class of operation.
    pub class: String,
    /// "service" (start to done) or "response" (due to done).
    #[serde(serialize_with = "stamp_in_words")]
    #[schemars(with = "String")]
    pub stamp: Stamp,
    /// Operations, all blocks together.
    pub count: u64,
    /// Half of the operations were faster.
    pub p50_ns: Option<Figure>,
    /// 95 % were faster.
    pub p95_ns: Option<Figure>,
    /// 99 % were faster.
    pub p99_ns: Option<Figure>,
    /// 99.9 % were faster.
    pub p999_ns: Option<Figure>,
    /// The slowest.
    pub max_ns: Option<Figure>,
}

fn stamp_in_words<S: Serializer>(stamp: &Stamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(stamp.as_str())
}

/// All classes of a phase, by name, between these two stamps.
pub(crate) fn of_stamp(stamp: Stamp, seen: &[&Seen]) -> Result<Vec<Latency>, LedgerError> {
    let classes = seen.iter().flat_map(|run| run.of_stamp(stamp));
    let classes: BTreeSet<&str> = classes.map(|row| row.class.as_str()).collect();
    let mut found = Vec::new();
    for class in classes {
        let mut blocks = Vec::new();
        for run in seen {
            for row in run.of_stamp(stamp).filter(|row| row.class == class) {
                blocks.extend(Percentiles::of(row, unsent_of_ended(run, stamp))?);
            }
        }
        if blocks.is_empty() {
            continue;
        }
        let at = |of: fn(&Percentiles) -> Option<f64>| of_each(blocks.iter().map(of));
        found.push(Latency {
            class: class.into(),
            stamp,
            count: blocks.iter().fold(0, |sum, block| sum.saturating_add(block.count)),
            p50_ns: at(|block| block.p50_ns),
            p95_ns: at(|block| block.p95_ns),
            p99_ns: at(|block| block.p99_ns),
            p999_ns: at(|block| block.p999_ns),
            max_ns: at(|block| block.max_ns),
        });
    }
    // By class; the windows of a rebalance in the order of time.
    found.sort_by(|a, b| in_order(&a.class).cmp(&in_order(&b.class)));
    Ok(found)
}

/// What fell due in a run and was never sent, for each operation that ended: it is in no distribution between these two
/// stamps.
pub(crate) fn unsent_of_ended(run: &Seen, stamp: Stamp) -> f64 {
    let unsent = run.get(Measure::EngineUnsent).filter(|_| stamp == Stamp::Response);
    let ended = crate::figures::total(run.of_stamp(stamp).map(|row| row.count)) as f64;
    over(unsent, Some(ended)).unwrap_or(0.0)
}

/// Over the blocks: of all or of none, for those that lack it are the slow ones.
pub(crate) fn of_each(blocks: impl Iterator<Item = Option<f64>>) -> Option<Figure> {
    let all: Option<Vec<f64>> = blocks.collect();
    all.and_then(Figure::of_all)
}

/// Quantiles of one class in one run, nanoseconds. What was never sent took longer than all that ended, and is of the
/// classes in the proportion of those that ended. `None`: that one was never sent. `ended`: what they are without it.
pub(crate) fn quantiles<const N: usize>(
    row: &Distribution,
    unsent_of_ended: f64,
    at: [f64; N],
    ended: [u64; N],
) -> Result<[Option<f64>; N], LedgerError> {
    if unsent_of_ended <= 0.0 {
        return Ok(ended.map(|ns| Some(ns as f64)));
    }
    let whole = row.kept()?;
    Ok(at.map(|quantile| with_unsent(&whole, quantile, unsent_of_ended * whole.len() as f64)))
}

/// Of one class in one run ([`quantiles`]).
struct Percentiles {
    count: u64,
    p50_ns: Option<f64>,
    p95_ns: Option<f64>,
    p99_ns: Option<f64>,
    p999_ns: Option<f64>,
    max_ns: Option<f64>,
}

impl Percentiles {
    /// `None` where nothing was counted.
    fn of(row: &Distribution, unsent_of_ended: f64) -> Result<Option<Percentiles>, LedgerError> {
        let Some(said) = row.said()? else {
            return Ok(None);
        };
        let [p50_ns, p95_ns, p99_ns, p999_ns] = quantiles(
            row,
            unsent_of_ended,
            [0.5, 0.95, 0.99, 0.999],
            [said.p50_ns, said.p95_ns, said.p99_ns, said.p999_ns],
        )?;
        Ok(Some(Percentiles {
            count: said.count,
            p50_ns,
            p95_ns,
            p99_ns,
            p999_ns,
            max_ns: (unsent_of_ended <= 0.0).then_some(said.max_ns as f64),
        }))
    }
}

/// A class without its window, and the window's place in time.
pub(crate) fn in_order(class: &str) -> (&str, usize) {
    let windows = crate::cells::moves::WINDOWS.iter().enumerate();
    let mut found = windows.filter_map(|(nth, window)| Some((class.strip_suffix(window.0)?.trim_end(), nth)));
    found.next().unwrap_or((class, 0))
}

/// All operations of one class between these two stamps, all blocks together; `None` without any.
pub(crate) fn whole(stamp: Stamp, class: &str, seen: &[&Seen]) -> Result<Option<Histogram<u64>>, LedgerError> {
    let rows = seen.iter().flat_map(|run| run.of_stamp(stamp));
    let mut sum: Option<Histogram<u64>> = None;
    for row in rows.filter(|row| row.class == class) {
        add_histogram(&mut sum, row.whole()?, &row.class)?;
    }
    Ok(sum.filter(|sum| !sum.is_empty()))
}

/// p99 of response of one run of a phase, in nanoseconds: of the class that its kind is judged by, or over all classes.
/// What fell due and was never sent took longer than all that ended; `None` where it is more than 1 %.
pub(crate) fn response_p99(seen: &Seen) -> Result<Option<f64>, LedgerError> {
    if let Some(known) = seen.response_p99_ns.get() {
        return Ok(known);
    }
    let class = kind_row(seen.run.kind).of_class;
    let rows = || {
        let all = seen.of_stamp(Stamp::Response);
        all.filter(move |row| class.is_none_or(|class| row.class == class))
    };
    let unsent_of_ended = unsent_of_ended(seen, Stamp::Response);
    let mut first = rows();
    let found = match (first.next(), first.next()) {
        (Some(only), None) => match only.said()? {
            Some(said) => quantiles(only, unsent_of_ended, [0.99], [said.p99_ns])?[0],
            None => None,
        },
        _ => {
            let mut whole: Option<Histogram<u64>> = None;
            for row in rows() {
                add_histogram(&mut whole, row.kept()?, &row.class)?;
            }
            whole.and_then(|whole| with_unsent(&whole, 0.99, unsent_of_ended * whole.len() as f64))
        }
    };
    seen.response_p99_ns.set(Some(found));
    Ok(found)
}

/// From this share on of what fell due, a p99 without what was never sent says nothing.
const UNSENT_MAX: f64 = 0.01;

/// Why phases whose figure is a p99 are not ranked on a stack: too much of what fell due was never sent.
pub(crate) fn unsent_objection(seen: &[&Seen]) -> Option<String> {
    let share = |run: &&&Seen| over(run.get(Measure::EngineUnsent), run.get(Measure::EngineDue));
    let shares: Vec<f64> = seen
        .iter()
        .filter_map(|run| share(&run))
        .filter(|share| *share > UNSENT_MAX)
        .collect();
    let most = shares.iter().copied().reduce(f64::max)?;
    let (blocks, of) = (shares.len(), seen.len());
    Some(format!(
        "up to {} of what fell due was never sent, in {blocks} of {of} blocks: its p99 is not known",
        percent(most)
    ))
}

/// p99 of service of one class of one run of a phase, in nanoseconds.
pub(crate) fn service_p99(seen: &Seen, class: &str) -> Result<Option<f64>, LedgerError> {
    p99(seen, class, Stamp::Service)
}

/// p99 of response of one class of one run of a phase, in nanoseconds; `None` where something was never sent, for
/// nobody knows of which class.
pub(crate) fn response_p99_of(seen: &Seen, class: &str) -> Result<Option<f64>, LedgerError> {
    match seen.get(Measure::EngineUnsent).unwrap_or(0.0) > 0.0 {
        true => Ok(None),
        false => p99(seen, class, Stamp::Response),
    }
}

fn p99(seen: &Seen, class: &str, stamp: Stamp) -> Result<Option<f64>, LedgerError> {
    let Some(row) = seen.of_class(class, stamp) else {
        return Ok(None);
    };
    Ok(row.said()?.map(|said| said.p99_ns as f64))
}
