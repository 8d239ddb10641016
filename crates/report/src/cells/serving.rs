//! File serving: the points of a ramp, and the rate at which response passes the limit.
//!
//! Takes the runs of one stack in one phase, gives [`ServingFigures`]. The work is derived from published descriptions
//! and is no result of the body that publishes them. Prevents: a rate quoted without the response that was paid for it,
//! a load that was asked for and not done, and "the limit" of a ramp that never reached one.

use super::ramp::{AtLimit, PointOfRun, Ramp};
use crate::figures::{Figure, over, total};
use crate::history::Seen;
use ledger::{FileServing, LedgerError, LoadPoint, Measure};
use schemars::JsonSchema;
use serde::Serialize;

/// From this share of response on that passed before an operation was sent, the generator is part of the figure.
pub(crate) const LATE_SHARE_MAX: f64 = 0.1;

/// One point of a ramp, over the blocks that came to it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PointFigures {
    /// Operations a second that were asked for.
    pub asked_per_s: f64,
    /// Operations a second that ended within its time.
    pub done_per_s: Option<Figure>,
    /// Blocks that came to it.
    pub blocks: u32,
    /// Blocks in which it was inside the limit and reached its rate.
    pub blocks_inside: u32,
    /// Mean of response (due to done), in nanoseconds.
    pub response_ns_mean: Option<Figure>,
    /// Half of the operations were faster.
    pub response_ns_p50: Option<Figure>,
    /// 99 % were faster.
    pub response_ns_p99: Option<Figure>,
    /// Share of response that passed before an operation was sent: the generator's lateness, or no free session.
    pub late_share: Option<Figure>,
    /// Share of operations that fell due and were never sent.
    pub unsent_share: Option<Figure>,
    /// Share of the processors of the whole machine that were busy.
    pub cpu_busy_share: Option<Figure>,
    /// Processor time of the whole machine per operation, in microseconds.
    pub cpu_us_per_operation: Option<Figure>,
    /// Of it the server's processes.
    pub cpu_server_us_per_operation: Option<Figure>,
    /// Of it the users' threads: the clients.
    pub cpu_client_us_per_operation: Option<Figure>,
    /// Bytes a second that the lowest visible devices read.
    pub device_read_bytes_per_s: Option<Figure>,
    /// Bytes a second that they wrote.
    pub device_write_bytes_per_s: Option<Figure>,
    /// Bytes that they moved per operation, both directions.
    pub device_bytes_per_operation: Option<Figure>,
    /// Requests to them per operation, both directions.
    pub device_ios_per_operation: Option<Figure>,
    /// Memory at its highest in bytes, page cache included.
    pub memory_bytes_peak: Option<Figure>,
    /// Bytes of the tree.
    pub data_bytes: Option<Figure>,
}

/// A ramp on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ServingFigures {
    /// "posix" or "nfs3".
    pub protocol: String,
    /// Who served; `null`: nobody, the file system itself.
    pub server: Option<String>,
    /// The mix or the work.
    pub work: String,
    /// "poisson" or "fixed".
    pub arrival: String,
    /// Most operations on their way.
    pub sessions: u32,
    /// Connections; `null` without a server.
    pub connections: Option<u32>,
    /// The response at which the ramp ends, in nanoseconds; `null`: it has no limit.
    pub limit_ns: Option<f64>,
    /// "mean" or "p99".
    pub limit_of: String,
    /// The points, by load.
    pub points: Vec<PointFigures>,
    /// Blocks whose ramp ended before a point was outside: their rate at the limit is "at least" the last one's.
    pub blocks_at_least: u32,
    /// Blocks whose first point was outside the limit already: their rate at the limit is below it.
    pub blocks_below: u32,
    /// The highest rate done at any point.
    pub peak_per_s: Option<Figure>,
    /// Overall response time in nanoseconds by SFS's rule: the area under response over rate, from rate 0 (with the
    /// first point's response) to the highest valid point, divided by that rate.
    pub overall_response_ns_sfs: Option<Figure>,
    /// The same by SPECstorage 2020's rule: the area from the first to the highest valid point, divided by the distance
    /// between both; `null` with one valid point.
    pub overall_response_ns_specstorage: Option<Figure>,
    /// By which share the rate at the limit would be higher, if each operation were sent when it was due; `null` where
    /// a ramp has no such rate, or would have none then.
    pub late_cost_share: Option<Figure>,
    /// Runs whose ramp would not have come to the limit then, or ended because no session was free.
    pub runs_late_alone: u32,
    /// Operations a second of the same work with a client that answers itself.
    pub ceiling_per_s: Option<Figure>,
    /// Bytes read from files whose place, version and checksum were checked, all blocks together.
    pub checked_bytes: f64,
    /// Calls that the server put off and that were sent again, all blocks together.
    pub tried_again: f64,
    /// Listings that the server refused, and gave when it was asked again, all blocks together.
    pub listed_again: f64,
}

impl Seen {
    /// The ramp of a phase of file serving.
    pub(crate) fn ramp(&self) -> Result<Option<&Ramp>, LedgerError> {
        let Some(serving) = &self.serving else { return Ok(None) };
        if self.ramp.get().is_none() {
            let _ = self.ramp.set(Ramp::of(serving)?);
        }
        Ok(self.ramp.get())
    }

    /// Operations a second at the limit; `None` where the ramp did not come to it.
    pub(crate) fn rate_at_limit(&self) -> Result<Option<f64>, LedgerError> {
        Ok(match self.ramp()?.map(|ramp| ramp.limit) {
            Some(AtLimit::At(rate)) => Some(rate),
            _ => None,
        })
    }
}

impl ServingFigures {
    /// Of the runs of one stack in one phase that count; `None` where none serves files.
    pub(crate) fn of(runs: &[&Seen]) -> Result<Option<ServingFigures>, LedgerError> {
        let Some(first) = runs.iter().find_map(|run| run.serving.as_ref()) else {
            return Ok(None);
        };
        let mut ramps = Vec::new();
        for run in runs {
            if let (Some(serving), Some(ramp)) = (&run.serving, run.ramp()?) {
                ramps.push((serving, ramp));
            }
        }
        let figure = |of: &dyn Fn(&Ramp) -> Option<f64>| Figure::of(ramps.iter().map(|(_, ramp)| of(ramp)));
        let count = |measure: Measure| runs.iter().filter_map(|run| run.get(measure)).sum();
        let at_least = |(_, ramp): &&(&FileServing, &Ramp)| matches!(ramp.limit, AtLimit::AtLeast(_));
        let is_below = |(_, ramp): &&(&FileServing, &Ramp)| matches!(ramp.limit, AtLimit::Below(_));
        let is_late_alone = |(_, ramp): &&(&FileServing, &Ramp)| ramp.late_cost().is_some_and(f64::is_infinite);
        Ok(Some(ServingFigures {
            protocol: first.protocol.as_str().into(),
            server: first.server.clone(),
            work: first.work.clone(),
            arrival: first.arrival.as_str().into(),
            sessions: first.sessions,
            connections: first.connections,
            limit_ns: first.limit_ns.map(|ns| ns as f64),
            limit_of: first.limit_of.as_str().to_string(),
            points: points(&ramps),
            blocks_at_least: ramps.iter().filter(at_least).count() as u32,
            blocks_below: ramps.iter().filter(is_below).count() as u32,
            peak_per_s: figure(&Ramp::peak),
            overall_response_ns_sfs: figure(&Ramp::overall_sfs),
            overall_response_ns_specstorage: figure(&Ramp::overall_specstorage),
            late_cost_share: figure(&|ramp| ramp.late_cost().filter(|cost| cost.is_finite())),
            runs_late_alone: ramps.iter().filter(is_late_alone).count() as u32,
            ceiling_per_s: Figure::of(runs.iter().map(|run| run.get(Measure::FilesCeiling))),
            checked_bytes: count(Measure::FilesChecked),
            tried_again: count(Measure::FilesTriedAgain),
            listed_again: count(Measure::FilesListedAgain),
        }))
    }
}

/// A point of a run with what was measured there.
type Of<'a> = (&'a PointOfRun, &'a LoadPoint);

fn points(ramps: &[(&FileServing, &Ramp)]) -> Vec<PointFigures> {
    let mut asked: Vec<f64> = ramps
        .iter()
        .flat_map(|(_, ramp)| ramp.points.iter().map(|point| point.asked_per_s))
        .collect();
    asked.sort_by(f64::total_cmp);
    asked.dedup();
    let of = |rate: f64| -> Vec<Of<'_>> {
        let one = |(serving, ramp): &(&'_ FileServing, &'_ Ramp)| {
            let derived = ramp.points.iter().position(|point| point.asked_per_s == rate)?;
            let stored = serving.points.iter().position(|point| point.asked_per_s == rate)?;
            Some((derived, stored))
        };
        let found = ramps.iter().filter_map(|both| Some((both, one(both)?)));
        found
            .map(|((serving, ramp), (derived, stored))| (&ramp.points[derived], &serving.points[stored]))
            .collect()
    };
    asked.into_iter().map(|rate| figures(rate, &of(rate))).collect()
}

fn figures(asked_per_s: f64, of: &[Of<'_>]) -> PointFigures {
    let derived = |pick: fn(&PointOfRun) -> f64| Figure::of(of.iter().map(|(point, _)| Some(pick(point))));
    let measured = |value: &dyn Fn(&Of<'_>) -> Option<f64>| Figure::of(of.iter().map(value));
    let per = |measures: &'static [Measure], scale: f64| {
        measured(&move |(point, stored)| over(sum(stored, measures).map(|sum| sum / scale), Some(point.operations)))
    };
    let per_s =
        |measures: &'static [Measure]| measured(&move |(_, stored)| over(sum(stored, measures), Some(seconds(stored))));
    PointFigures {
        asked_per_s,
        done_per_s: derived(|point| point.done_per_s),
        blocks: of.len() as u32,
        blocks_inside: of.iter().filter(|(point, _)| point.inside).count() as u32,
        response_ns_mean: derived(|point| point.mean_ns),
        response_ns_p50: derived(|point| point.p50_ns),
        response_ns_p99: Figure::of(of.iter().map(|(point, _)| point.p99_ns)),
        late_share: derived(|point| point.late_share),
        unsent_share: derived(|point| point.unsent_share),
        cpu_busy_share: measured(&|(_, stored)| busy_share(stored)),
        cpu_us_per_operation: per(&[Measure::CpuBusyNs], 1e3),
        cpu_server_us_per_operation: per(&[Measure::CpuServerUserNs, Measure::CpuServerSystemNs], 1e3),
        cpu_client_us_per_operation: per(&[Measure::CpuClientUserNs, Measure::CpuClientSystemNs], 1e3),
        device_read_bytes_per_s: per_s(&[Measure::LowReadBytes]),
        device_write_bytes_per_s: per_s(&[Measure::LowWriteBytes]),
        device_bytes_per_operation: per(&[Measure::LowReadBytes, Measure::LowWriteBytes], 1.0),
        device_ios_per_operation: per(&[Measure::LowReads, Measure::LowWrites], 1.0),
        memory_bytes_peak: measured(&|(_, stored)| {
            stored
                .get(Measure::MemoryTotalBytesPeak)
                .or_else(|| sum(stored, &[Measure::MemoryOwnBytesPeak, Measure::MemoryCacheBytesPeak]))
        }),
        data_bytes: measured(&|(_, stored)| Some(stored.data_bytes as f64)),
    }
}

/// Seconds of a point. What its drain wrote is work of these seconds too: a longer drain makes no load smaller.
fn seconds(point: &LoadPoint) -> f64 {
    point.ended_ns.saturating_sub(point.began_ns) as f64 / 1e9
}

/// Processor time that the point and its drain took, over what the processors had in the point's time.
fn busy_share(point: &LoadPoint) -> Option<f64> {
    let over_time = |busy: Measure, processors: Measure| {
        over(
            point.get(busy).map(|ns| ns / 1e9),
            point.get(processors).map(|count| count * seconds(point)),
        )
    };
    over_time(Measure::CpuAllowedBusyNs, Measure::CpuAllowed)
        .or_else(|| over_time(Measure::CpuBusyNs, Measure::CpuCores))
}

fn sum(point: &LoadPoint, measures: &[Measure]) -> Option<f64> {
    let found: Vec<f64> = measures.iter().filter_map(|measure| point.get(*measure)).collect();
    (!found.is_empty()).then(|| found.iter().sum())
}

/// Why a stack cannot be ranked in a phase of file serving: its ramp did not come to the limit in some run, or it gave
/// wrong answers in any run, one that does not count too.
pub(crate) fn objection(valid: &[&Seen], all: &[&Seen]) -> Result<Option<String>, LedgerError> {
    let wrong = total(
        all.iter()
            .filter_map(|run| run.get(Measure::FilesWrong))
            .map(|wrong| wrong as u64),
    );
    if wrong > 0 {
        return Ok(Some(format!("it gave {wrong} wrong answers: data loss")));
    }
    for run in valid {
        let said = match run.ramp()?.map(|ramp| ramp.limit) {
            Some(AtLimit::AtLeast(rate)) => format!(
                "its ramp ended inside the limit: at least {} operations/s",
                crate::format::number(rate)
            ),
            Some(AtLimit::Below(rate)) => format!(
                "its first point was outside the limit already: below {} operations/s",
                crate::format::number(rate)
            ),
            Some(AtLimit::Nowhere) => "no operation of its ramp ended".to_string(),
            Some(AtLimit::At(_)) | None => continue,
        };
        return Ok(Some(said));
    }
    Ok(None)
}
