//! What is checked of one stack in one phase.
//!
//! Takes the runs of the stack that count and the cell made of them, gives what was found. Each threshold stands in its
//! rule, or is a constant with its reason. Prevents: a rate that is the generator's, the cache's or a neighbour's,
//! taken for the stack's.

use super::at::At;
use super::rule::Taken;
use crate::cells::over_time::{operation_rates, resampled};
use crate::cells::provenance::{MayServe, Origin};
use crate::cells::stalls::stalls;
use crate::check::Status;
use crate::format::{nanoseconds, number, percent};
use crate::history::Seen;
use crate::phase_kind::kind_row;
use ledger::{Measure, Slice};

/// Above it, a worker had no time for more: of this time some is the kernel's, on the stack's behalf, so it may be
/// longer than the generator's.
const BUSY_SHARE_MAX: f64 = 0.90;
/// Above it, the generator itself may be what was measured: queues grow steeply from about there.
const CEILING_SHARE_MAX: f64 = 0.70;
/// Fewer, and a phase shows a part of the engine's write cycle, not its average.
const CHECKPOINTS_MIN: f64 = 3.0;
/// Stalls of more than this share of the time decide a p99 of response by themselves; of a rate, the study's margin, or
/// this where the study has none.
const STALLED_OPEN_MAX: f64 = 0.01;
const STALLED_MAX: f64 = 0.05;
/// What observing costs just before and after a phase, against what it costs within.
const AROUND_WEIGHS: f64 = 1.0 / 3.0;
/// Rounds of the steady-state rule: at least this long, so that a round is more than noise; at most so many.
const ROUND_NS_MIN: u64 = 1_000_000_000;
const ROUNDS_MAX: usize = 10;
/// What a rate of the whole phase may lie from its steady level: as far as that level may slope.
const WHOLE_MAX: f64 = 0.10;
/// Blocks whose scans fall into two groups: up to this share chance alone may do it.
const SPLIT_SHARE: f64 = 0.25;

impl At<'_> {
    pub(crate) fn provenance(&self) -> Option<Taken> {
        // Only a ranked phase claims to be a storage result.
        if !self.report.ranked {
            return None;
        }
        let provenance = self.cell.provenance;
        let origins = [provenance.reads.origin, provenance.writes.origin];
        let by_cache = origins
            .iter()
            .any(|origin| matches!(origin, Origin::Cache | Origin::Mixed));
        let may = MayServe::of(self.kind, self.cell.cached_counts);
        // Of a server that was there, or of a mount from elsewhere, no device is visible.
        let out_of_sight = may == MayServe::Anything && origins.contains(&Origin::Unknown);
        let counts = self.cell.cached_counts && by_cache || out_of_sight;
        let doubt = provenance.doubt(may);
        let status = match &doubt {
            // What is not ranked for it is in doubt for it, and nothing else is.
            Some((status, _)) => *status,
            None if counts => Status::Note,
            // What nobody told cannot be held against what devices moved.
            None if provenance.is_partly_uncounted() || provenance.has_unknown_temporary() => Status::Note,
            None => Status::Valid,
        };
        let share = |direction: crate::cells::provenance::Direction| match direction.share() {
            Some(share) if direction.origin != Origin::None => {
                format!("{} ({} of the bytes asked)", direction.words(), percent(share))
            }
            _ => direction.words(),
        };
        let arc = provenance.arc_share.filter(|_| by_cache);
        let arc = arc.map_or(String::new(), |share| {
            format!(", ARC: {} of the accesses", percent(share))
        });
        let figure = format!(
            "reads: {}, writes: {}{arc}",
            share(provenance.reads),
            share(provenance.writes)
        );
        let advice = self.of_provenance(doubt.map(|(status, _)| status), counts);
        Some(Taken::judged(status, figure).advising(advice))
    }

    /// What to do about where the bytes were: by the status of a doubt, and whether a cache served what counts.
    fn of_provenance(&self, doubt: Option<Status>, counts: bool) -> &'static str {
        let provenance = self.cell.provenance;
        let origins = [provenance.reads.origin, provenance.writes.origin];
        match doubt {
            None if counts && kind_row(self.kind).is_with_memory => {
                "ranked with its memory, as all file serving is: the rate is that of storage and memory together"
            }
            None if counts => {
                "ranked with its page cache, as the study asks (`rank_cached`): it says what the memory does, not \
                 the storage"
            }
            Some(Status::Invalid) if provenance.is_idle() => {
                "it is not ranked: the engine's own cache did the work; raise `database.scale` or lower \
                 `database.cache`"
            }
            Some(_) if provenance.is_idle() && provenance.is_blurred() => {
                "it is not ranked: give temporary files LUNs of their own (`temp`), so that what met a device is known"
            }
            Some(_) if provenance.is_idle() => {
                "it is not ranked: Assay does not know what served it; run the study again, with a version that \
                 records what the engine asks"
            }
            Some(_) => "it is not ranked; for a storage result use direct access, or more data than memory",
            None if origins.contains(&Origin::SeveralHosts) => {
                "ranked by what the engines asked: each host opens the LUNs past its page cache, and sees its own \
                 requests alone"
            }
            None if provenance.has_unknown_temporary() => {
                "this database does not count what it wrote to temporary files, and devices moved that too: give them \
                 LUNs of their own (`temp`), or, with SQLite, open the files directly (`access = \"direct\"`)"
            }
            None if provenance.is_blurred() => {
                "temporary files lie beside the data, and nobody knows how many of these bytes are theirs: give them \
                 LUNs of their own (`temp`)"
            }
            None if provenance.is_partly_uncounted() => {
                "the engine does not count it: look at what the devices moved, in the table of this \
                 phase"
            }
            None => "nothing to do: the requests met a device",
        }
    }

    pub(crate) fn steady(&self) -> Option<Taken> {
        // A load curve goes in steps on purpose.
        if !kind_row(self.kind).has_own_rate || self.cell.load_curve.is_some() {
            return None;
        }
        let found: Vec<stats::Steady> = self
            .runs
            .iter()
            .filter_map(|run| rounds(&run.slices))
            .map(|rounds| stats::steady(&rounds))
            .collect();
        if found.is_empty() {
            return None;
        }
        let steady = found.iter().filter(|found| found.from.is_some()).count();
        // The rate that is reported is of the whole phase, whatever level it reached.
        let off = |found: &&stats::Steady| found.from.is_some() && found.whole_share.abs() > WHOLE_MAX;
        let off: Vec<f64> = found.iter().filter(off).map(|found| found.whole_share).collect();
        let is_usual = (steady - off.len()) * 2 > found.len();
        let mut figure = format!("{steady} of {} blocks reached a steady rate", found.len());
        if !off.is_empty() {
            let usual = stats::median(&off);
            let side = if usual < 0.0 { "below" } else { "above" };
            figure += &format!(
                "; in {} the rate of the whole phase lies {} {side} it",
                off.len(),
                percent(usual.abs())
            );
        }
        let threshold = format!(
            "5 rounds within 20 % of their mean, slope within 10 %, level kept; the whole phase within {} of it",
            percent(WHOLE_MAX)
        );
        Some(Taken::holds(is_usual, figure).against(threshold))
    }

    pub(crate) fn idle(&self) -> Option<Taken> {
        let idle = self.cell.cpu_idle_share?;
        let whose = match self.measured(Measure::CpuAllowed) {
            None => String::new(),
            Some(some) => format!(", of the {:.0} processors that the run may use", some.median),
        };
        Some(Taken::share(
            idle.median,
            format!("{} idle{whose}", percent(idle.median)),
        ))
    }

    pub(crate) fn way(&self) -> Option<Taken> {
        let idle = self.cell.cpu_idle_share.filter(|_| self.in_process)?.median;
        let figure = format!("in a process, with {} of the processors idle", percent(idle));
        Some(Taken::share(idle, figure))
    }

    pub(crate) fn ceiling(&self) -> Option<Taken> {
        // The ceiling of a ramp has a line of its own.
        let share = self.figure(generator_share).filter(|_| self.cell.serving.is_none());
        let Some(share) = share else {
            let busy = self.measured(Measure::GeneratorBusyShare)?.median;
            let figure = format!("the client's workers busy {} of the time", percent(busy));
            let threshold = format!("busy at most {}", percent(BUSY_SHARE_MAX));
            let taken = Taken::holds(busy <= BUSY_SHARE_MAX, figure).against(threshold);
            return Some(match self.cell.serving {
                Some(_) => taken.advising(
                    "one thread speaks for all users of a file server and may be the limit: ask for fewer calls a \
                     second, or use a host with faster processors",
                ),
                None => taken,
            });
        };
        // What a ceiling is worth while something else has the memory or the processor's other half, nobody knows.
        let busy = self.measured(Measure::GeneratorBusyShare);
        let is_busy = busy.is_some_and(|busy| busy.median > BUSY_SHARE_MAX);
        let has_time = share.median <= CEILING_SHARE_MAX && !is_busy;
        let mut figure = format!("{} of what the generator can do", percent(share.median));
        let mut threshold = format!("at most {}", percent(CEILING_SHARE_MAX));
        if let Some(busy) = busy {
            figure += &format!(", its workers busy {} of the time", percent(busy.median));
            threshold += &format!(", busy at most {}", percent(BUSY_SHARE_MAX));
        }
        Some(Taken::holds(has_time, figure).against(threshold))
    }

    /// PostgreSQL decides itself when it makes one; blocks and stacks with unlike counts did unlike work.
    fn servers_checkpoints(&self) -> Option<Taken> {
        self.measured(Measure::EngineRedoBytes)
            .filter(|bytes| bytes.median > 0.0)?;
        let found = self.measured(Measure::EngineCheckpoints)?;
        let status = match found.low >= CHECKPOINTS_MIN {
            true => Status::Valid,
            false => Status::Note,
        };
        let (low, high) = (number(found.low), number(found.high));
        let advice = "give the phase more time, or let the database make checkpoints earlier (`max_wal_size`, \
             `checkpoint_timeout`)";
        Some(
            Taken::judged(
                status,
                format!("{low} to {high} checkpoints in a block, with that at its end"),
            )
            .advising(advice),
        )
    }

    pub(crate) fn checkpoints(&self) -> Option<Taken> {
        if !kind_row(self.kind).has_checkpoints {
            return None;
        }
        let Some(found) = self.measured(Measure::EngineCheckpointsLeast) else {
            return self.servers_checkpoints();
        };
        self.measured(Measure::EngineCommits)
            .filter(|commits| commits.median > 0.0)?;
        let figure = format!("{} checkpoints of a worker in the shortest block", number(found.low));
        Some(Taken::holds(found.low >= CHECKPOINTS_MIN, figure))
    }

    pub(crate) fn unsent(&self) -> Option<Taken> {
        // A ramp ends beyond its limit on purpose; its table has the share of each point.
        let share = self.cell.unsent_share.filter(|_| self.cell.serving.is_none())?;
        // Of the worst block: one block above the threshold takes the p99 out of the ranking.
        let figure = format!("up to {} of what fell due was never sent", percent(share.high));
        Some(Taken::share(share.high, figure))
    }

    pub(crate) fn observer(&self) -> Option<Taken> {
        // Of one processor, and of a second at least, so that a short or idle phase does not make a little watching
        // look like much: the looks before and after it cost the same however short it is.
        let share = |measure| self.figure(|run| run.get(measure).map(|ns| ns / 1e9 / run.total_s().max(1.0)));
        let within = share(Measure::ObserverCpuNs)?.median;
        let around = share(Measure::ObserverAroundCpuNs).map_or(0.0, |figure| figure.median);
        let figure = format!(
            "{} of one processor went into observing, {} just before and after",
            percent(within),
            percent(around)
        );
        // What lies around the phase is in none of its figures; it may still have emptied the processor's caches.
        Some(Taken::share(within.max(around * AROUND_WEIGHS), figure))
    }

    pub(crate) fn stalled(&self) -> Option<Taken> {
        // Three windows with a pause between them, the middle one slower on purpose.
        if kind_row(self.kind).has_windows || self.cell.load_curve.is_some() {
            return None;
        }
        let found: Vec<_> = self.runs.iter().filter_map(|run| stalls(&run.slices)).collect();
        let first = found.first()?;
        let slices: usize = found.iter().map(|stalls| stalls.slices).sum();
        let blocks = found.iter().filter(|stalls| stalls.slices > 0).count();
        let longest_ns = found.iter().map(|stalls| stalls.longest_ns).max().unwrap_or(0);
        let most = match kind_row(self.kind).is_open {
            true => STALLED_OPEN_MAX,
            false if self.margin > 0.0 => self.margin,
            false => STALLED_MAX,
        };
        let (status, figure) = if slices == 0 {
            // The verdict speaks of runs as they usually are: what it can't speak of is bounded here.
            let runs = found.len() as u32;
            let unseen = percent(stats::unseen_share(runs));
            let text = format!("none in {runs} runs: with 95 % confidence at most {unseen} of such runs have one");
            (Status::Valid, text)
        } else {
            let text = format!(
                "{slices} x {} with less than a tenth of the usual work, in {blocks} of {} blocks, longest {}",
                nanoseconds(first.slice_ns as f64),
                self.runs.len(),
                nanoseconds(longest_ns as f64)
            );
            // Of the time of all blocks: from here on stalls alone can make the difference that a verdict speaks of.
            let all_ns: f64 = self.runs.iter().map(|run| run.run.elapsed_ns as f64).sum();
            let share = slices as f64 * first.slice_ns as f64 / all_ns.max(1.0);
            (if share > most { Status::Suspect } else { Status::Note }, text)
        };
        Some(Taken::judged(status, figure).against(format!("less than {} of the time", percent(most))))
    }

    pub(crate) fn populations(&self) -> Option<Taken> {
        let spans = |run: &&Seen| {
            run.scans
                .iter()
                .map(|scan| (scan.began_ns, scan.ended_ns))
                .collect::<Vec<_>>()
        };
        let splits = self.runs.iter().map(spans);
        let found: Vec<_> = splits
            .filter_map(|spans| stats::two_populations_in_company(&spans))
            .collect();
        let split = found.first()?;
        if found.len() as f64 <= SPLIT_SHARE * self.runs.len() as f64 {
            return None;
        }
        Some(Taken::broken(format!(
            "{} scans took about {} and {} about {}; {} of {} blocks have such groups",
            split.low.count,
            nanoseconds(split.low.mean * 1e9),
            split.high.count,
            nanoseconds(split.high.mean * 1e9),
            found.len(),
            self.runs.len()
        )))
    }
}

/// Rates of rounds of equal length; `None` when the phase is too short to have five. A slice across the edge of two
/// rounds counts for both by its parts: whole slices would give rounds of unequal length.
pub(crate) fn rounds(slices: &[Slice]) -> Option<Vec<f64>> {
    let whole = slices.last()?.at_ns;
    let count = ((whole / ROUND_NS_MIN) as usize).min(ROUNDS_MAX).min(slices.len());
    if count < 5 {
        return None;
    }
    let means = resampled(&operation_rates(slices), whole, count);
    Some(means.into_iter().map(|mean| mean.unwrap_or(0.0)).collect())
}

/// Pages of an operation with which the ceilings of pages were measured: that share of an operation is in them.
const CEILING_WORK_UNIT: f64 = 16.0;

/// Time the generator needs for a phase's pages and operations alone, by its ceilings, over the time the phase took:
/// pages that were read, written or scanned at the rate of verified reads, those found in the cache at theirs, and
/// operations of fewer pages than the ceilings were measured with at what an operation takes beside its pages.
fn generator_share(run: &Seen) -> Option<f64> {
    let requests = run.sum(&[
        Measure::EnginePhysicalReads,
        Measure::EngineWrites,
        Measure::EngineRedoWrites,
    ])?;
    // A multiblock read is one request of many pages, each of which is verified.
    let verified = run.get(Measure::EnginePagesVerified).unwrap_or(0.0);
    let single = run.get(Measure::EnginePhysicalReads).unwrap_or(0.0);
    let moved = requests + (verified - single).max(0.0);
    let found = (run.get(Measure::EngineLogicalReads).unwrap_or(0.0) - single).max(0.0);
    let reading_s = crate::figures::over(Some(moved), run.get(Measure::GeneratorCeilingIops))?;
    // Files of earlier versions have no ceiling of pages found.
    let finding_s = crate::figures::over(Some(found), run.get(Measure::GeneratorCeilingCached)).unwrap_or(0.0);
    let counted = (moved + found) / CEILING_WORK_UNIT;
    let beside = run.operations().map(|operations| (operations - counted).max(0.0));
    let beside_s = crate::figures::over(beside, run.get(Measure::GeneratorCeilingOperations)).unwrap_or(0.0);
    Some((reading_s + finding_s + beside_s) / (run.run.elapsed_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_equal_and_lose_nothing() {
        let slices: Vec<Slice> = (1..=60)
            .map(|second| Slice {
                at_ns: second * 1_000_000_000,
                count: 100,
                units: 0,
            })
            .collect();
        let found = rounds(&slices).unwrap();
        assert_eq!(found, vec![100.0; 10]);
        assert_eq!(rounds(&slices[..4]), None);
        assert_eq!(rounds(&slices[..5]).unwrap().len(), 5);
        assert_eq!(rounds(&[]), None);
    }

    #[test]
    fn a_constant_rate_is_steady_whatever_the_slices() {
        for (slice_ms, slices) in [(250, 38), (250, 43), (1000, 9), (400, 15), (700, 10)] {
            let slices: Vec<Slice> = (1..=slices)
                .map(|nth| Slice {
                    at_ns: nth * slice_ms * 1_000_000,
                    count: slice_ms,
                    units: 0,
                })
                .collect();
            let found = stats::steady(&rounds(&slices).unwrap());
            assert_eq!(found.from, Some(0), "slices of {slice_ms} ms");
            assert!(found.range_share < 1e-9, "slices of {slice_ms} ms: {found:?}");
        }
    }
}
