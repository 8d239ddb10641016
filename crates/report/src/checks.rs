//! What must hold before a number is believed, with the figure found, the threshold, and what to do.
//!
//! Takes the gathered file and the cells made of it, gives [`Check`]s: VALID, SUSPECT or INVALID. Each threshold is a
//! constant with its reason. Prevents: the objections that every published comparison has met in its comments.

use crate::analysis::{Analysis, PhaseReport, Verdict, same_look};
use crate::cells::{Cell, memory_peak};
use crate::figures::Figure;
use crate::format::{bytes, number, percent};
use crate::history::{Book, Seen};
use crate::provenance::Origin;
use ledger::{Measure, PhaseKind, Slice};
use schemars::JsonSchema;
use serde::Serialize;

/// Below it, the processors and not the storage may be what was measured.
const IDLE_SHARE_MIN: f64 = 0.04;
/// Above it, the generator itself may be what was measured: queues grow steeply from about there.
const CEILING_SHARE_MAX: f64 = 0.70;
/// Fewer, and a phase shows a part of the engine's write cycle, not its average.
const CHECKPOINTS_MIN: f64 = 3.0;
/// Reading of memory goes in steps; this much over a budget is no break of it.
const BUDGET_SLACK: f64 = 1.02;
/// What the lowest devices moved more than the stack's own devices: from this share and size on someone else used them.
const FOREIGN_SHARE: f64 = 0.10;
const FOREIGN_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// More than this share of what fell due and was never sent: the rate asked for is not the rate measured.
const UNSENT_SHARE_MAX: f64 = 0.01;
/// More of the processor time than this, and watching changes what is watched.
const OBSERVER_SHARE_MAX: f64 = 0.02;
/// Rounds of the steady-state rule: at least this long, so that a round is more than noise; at most so many.
const ROUND_NS_MIN: u64 = 1_000_000_000;
const ROUNDS_MAX: usize = 10;

/// Whether a number may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing speaks against it.
    Valid,
    /// Something speaks against it.
    Suspect,
    /// It does not stand for the stack.
    Invalid,
}

/// One thing checked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// What: "provenance", "steady state", "host CPU" ...
    pub subject: String,
    /// On which stack; `null` for the whole study.
    pub stack: Option<String>,
    /// In which phase; `null` for all.
    pub phase: Option<String>,
    /// The outcome.
    pub status: Status,
    /// What was found, with its unit.
    pub figure: String,
    /// What it is held against.
    pub threshold: String,
    /// What to do.
    pub advice: String,
}

/// All checks, study first, then by phase and stack.
pub(crate) fn checks(book: &Book, analysis: &Analysis) -> Vec<Check> {
    let mut found = of_study(book, analysis);
    for (report, head) in analysis.phases.iter().zip(&book.phases) {
        for cell in &report.cells {
            let runs: Vec<&Seen> = book
                .valid(&cell.stack, &report.name)
                .into_iter()
                .map(|(_, run)| run)
                .collect();
            let at = At {
                report,
                cell,
                kind: head.kind,
                runs,
            };
            found.extend(at.all());
        }
        for stack in &book.stacks {
            found.extend(invalid_runs(book, &stack.name, &report.name));
        }
    }
    found
}

fn of_study(book: &Book, analysis: &Analysis) -> Vec<Check> {
    let whole = |subject: &str, stack: Option<&str>, status, figure: String, advice: &str| Check {
        subject: subject.into(),
        stack: stack.map(str::to_string),
        phase: None,
        status,
        figure,
        threshold: "none".into(),
        advice: advice.into(),
    };
    let mut found = Vec::new();
    if book.study.modelled {
        found.push(whole(
            "modelled device",
            None,
            Status::Suspect,
            "a device of this study is simulated in virtual time".into(),
            "take it as a statement about the model, not about any hardware",
        ));
    }
    for stack in &book.stacks {
        if let Some(injected) = &stack.injected {
            found.push(whole(
                "planted disadvantage",
                Some(&stack.name),
                Status::Suspect,
                injected.clone(),
                "take `inject` out of the study for a real comparison",
            ));
        }
    }
    if !analysis.dropped.is_empty() {
        let status = if analysis.study.blocks_valid == 0 {
            Status::Invalid
        } else {
            Status::Suspect
        };
        let figure = format!(
            "{} of {} blocks were dropped",
            analysis.dropped.len(),
            analysis.study.blocks_begun
        );
        found.push(whole(
            "dropped blocks",
            None,
            status,
            figure,
            "see the reasons at the dropped blocks",
        ));
    }
    let changed = changed_looks(book, analysis);
    if changed > 0 {
        found.push(whole(
            "recorded looks",
            None,
            Status::Suspect,
            format!("{changed} verdicts recorded by the run are not what the file says now"),
            "the file was edited, or another version of assay ran the study: compare the tool versions",
        ));
    }
    found
}

/// Verdicts that the run recorded and that the same look gives otherwise now.
fn changed_looks(book: &Book, analysis: &Analysis) -> usize {
    let everything = Analysis {
        recorded_looks: Vec::new(),
        ..analysis.clone()
    }
    .unrecorded_looks();
    let differs = |old: &&ledger::Look| {
        everything
            .iter()
            .any(|now| same_look(old, now) && old.verdict != now.verdict)
    };
    book.looks.iter().filter(differs).count()
}

fn invalid_runs(book: &Book, stack: &str, phase: &str) -> Vec<Check> {
    let reason = |seen: &Seen| match &seen.run.status {
        ledger::PhaseStatus::Valid => None,
        ledger::PhaseStatus::Invalid(reason) => Some(format!("invalid: {reason}")),
        ledger::PhaseStatus::Failed(reason) => Some(format!("failed: {reason}")),
    };
    let one = |(block, reason): (u32, String)| Check {
        subject: "phase status".into(),
        stack: Some(stack.into()),
        phase: Some(phase.into()),
        status: Status::Invalid,
        figure: format!("block {block} {reason}"),
        threshold: "every run valid".into(),
        advice: "remove the cause and run the study again; this run is in no figure".into(),
    };
    book.seen(stack, phase)
        .filter_map(|(block, seen)| Some((block, reason(seen)?)))
        .map(one)
        .collect()
}

/// One stack in one phase, to be checked.
struct At<'a> {
    report: &'a PhaseReport,
    cell: &'a Cell,
    kind: PhaseKind,
    runs: Vec<&'a Seen>,
}

impl At<'_> {
    fn all(&self) -> Vec<Check> {
        let found = [
            self.provenance(),
            self.pages(),
            self.steady(),
            self.idle(),
            self.ceiling(),
            self.memory(),
            self.working_set(),
            self.checkpoints(),
            self.foreign(),
            self.unsent(),
            self.observer(),
            self.populations(),
        ];
        found.into_iter().flatten().collect()
    }

    fn check(&self, subject: &str, status: Status, figure: String, threshold: String, advice: &str) -> Option<Check> {
        Some(Check {
            subject: subject.into(),
            stack: Some(self.cell.stack.clone()),
            phase: Some(self.report.name.clone()),
            status,
            figure,
            threshold,
            advice: advice.into(),
        })
    }

    fn figure(&self, value: impl Fn(&Seen) -> Option<f64>) -> Option<Figure> {
        Figure::of(self.runs.iter().map(|run| value(run)))
    }

    fn provenance(&self) -> Option<Check> {
        // Only a ranked phase claims to be a storage result.
        if !self.report.ranked {
            return None;
        }
        let provenance = self.cell.provenance;
        let origins = [provenance.reads.origin, provenance.writes.origin];
        let status = match origins {
            _ if origins.contains(&Origin::Cache) => Status::Invalid,
            _ if origins.contains(&Origin::Mixed) || origins.contains(&Origin::Unknown) => Status::Suspect,
            _ => Status::Valid,
        };
        let share = |direction: crate::provenance::Direction| match direction.share() {
            Some(share) if direction.origin != Origin::None => {
                format!("{} ({} of the bytes asked)", direction.origin.word(), percent(share))
            }
            _ => direction.origin.word().to_string(),
        };
        let figure = format!(
            "reads: {}, writes: {}",
            share(provenance.reads),
            share(provenance.writes)
        );
        let advice = "it is not ranked; for a storage result use direct access, or more data than memory";
        self.check(
            "provenance",
            status,
            figure,
            "at least 90 % met a device".into(),
            advice,
        )
    }

    fn pages(&self) -> Option<Check> {
        let bad = self.figure(|run| run.get(Measure::EnginePagesBad))?;
        let status = if bad.high > 0.0 { Status::Invalid } else { Status::Valid };
        let figure = format!("{} pages read back wrong", number(bad.high));
        self.check(
            "data loss",
            status,
            figure,
            "0".into(),
            "this stack lost data: do not use it; look into the kernel's log",
        )
    }

    fn steady(&self) -> Option<Check> {
        if !matches!(self.kind, PhaseKind::Random | PhaseKind::Open) {
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
        let status = if steady * 2 > found.len() {
            Status::Valid
        } else {
            Status::Suspect
        };
        let figure = format!("{steady} of {} blocks reached a steady rate", found.len());
        let threshold = "5 rounds within 20 % of their mean, slope within 10 %".into();
        self.check("steady state", status, figure, threshold, "give the phase more time")
    }

    fn idle(&self) -> Option<Check> {
        let idle = self.cell.cpu_idle_share?;
        let status = if idle.median < IDLE_SHARE_MIN {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!("{} idle", percent(idle.median));
        let advice = "the processors may be the limit: use fewer sessions, or a host with more of them";
        self.check(
            "host CPU",
            status,
            figure,
            format!("at least {}", percent(IDLE_SHARE_MIN)),
            advice,
        )
    }

    fn ceiling(&self) -> Option<Check> {
        let share = self.figure(|run| {
            let asked = run.sum(&[
                Measure::EnginePhysicalReads,
                Measure::EngineWrites,
                Measure::EngineRedoWrites,
            ])?;
            let seconds = run.run.elapsed_ns as f64 / 1e9;
            crate::figures::over(Some(asked / seconds), run.get(Measure::GeneratorCeilingIops))
        })?;
        let status = if share.median > CEILING_SHARE_MAX {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!("{} of what the generator can do", percent(share.median));
        let advice = "the generator may be the limit: give it more workers";
        self.check(
            "generator",
            status,
            figure,
            format!("at most {}", percent(CEILING_SHARE_MAX)),
            advice,
        )
    }

    fn memory(&self) -> Option<Check> {
        let budget = self.cell.memory_budget_bytes?;
        let peak = self.figure(memory_peak)?;
        let enforced = match self
            .figure(|run| run.get(Measure::MemoryBudgetEnforced))
            .map(|code| code.low as u32)
        {
            Some(1) => "enforced by cgroup v1",
            Some(2) => "enforced by cgroup v2",
            _ => "not enforced",
        };
        let status = if peak.high > budget * BUDGET_SLACK {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!("{} at the highest, {enforced}", bytes(peak.high));
        let advice = "run where a cgroup limit can be set, or raise the budget for all stacks";
        self.check(
            "memory budget",
            status,
            figure,
            format!("at most {}", bytes(budget)),
            advice,
        )
    }

    fn working_set(&self) -> Option<Check> {
        if self.kind == PhaseKind::Load {
            return None;
        }
        let touched = self.figure(|run| run.get(Measure::WorkingSetTouchedBytes))?;
        let caches = self.figure(|run| {
            let own = run.get(Measure::EngineCacheBytes)?;
            // The page cache of the whole host says nothing about this phase; that of its memory group does.
            let grouped = run.get(Measure::MemoryBudgetEnforced).is_some_and(|code| code > 0.0);
            Some(
                own + if grouped {
                    run.get(Measure::MemoryCacheBytesPeak).unwrap_or(0.0)
                } else {
                    0.0
                },
            )
        })?;
        let status = if touched.median <= caches.median {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!("{} touched, {} of caches", bytes(touched.median), bytes(caches.median));
        let advice = "raise `database.scale` or the time, or lower `database.cache`";
        self.check(
            "working set",
            status,
            figure,
            "more than the caches hold".into(),
            advice,
        )
    }

    fn checkpoints(&self) -> Option<Check> {
        if !matches!(self.kind, PhaseKind::Random | PhaseKind::Open) {
            return None;
        }
        self.figure(|run| run.get(Measure::EngineCommits))
            .filter(|commits| commits.median > 0.0)?;
        let found = self.figure(|run| run.get(Measure::EngineCheckpoints))?;
        let status = if found.low < CHECKPOINTS_MIN {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!("{} checkpoints in the shortest block", number(found.low));
        let advice = "give the phase more time, or shorten `database.checkpoint`";
        self.check("checkpoints", status, figure, "at least 3".into(), advice)
    }

    fn foreign(&self) -> Option<Check> {
        let excess = self.figure(|run| {
            let near = run.sum(&[Measure::NearReadBytes, Measure::NearWriteBytes])?;
            let low = run.sum(&[Measure::LowReadBytes, Measure::LowWriteBytes])?;
            let beyond = low - near;
            Some(if beyond > FOREIGN_BYTES {
                beyond / near.max(1.0)
            } else {
                0.0
            })
        })?;
        let status = if excess.median > FOREIGN_SHARE {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!(
            "the lowest devices moved {} more than the stack's own",
            percent(excess.median.min(99.0))
        );
        let advice = "someone else used the device: stop them, or use a device of its own";
        self.check(
            "foreign traffic",
            status,
            figure,
            format!("at most {}", percent(FOREIGN_SHARE)),
            advice,
        )
    }

    fn unsent(&self) -> Option<Check> {
        let share = self.cell.unsent_share?;
        let status = if share.median > UNSENT_SHARE_MAX {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!("{} of what fell due was never sent", percent(share.median));
        let advice = "lower `rate`: this stack cannot do it, and its latency is that of an endless queue";
        self.check(
            "open arrival",
            status,
            figure,
            format!("at most {}", percent(UNSENT_SHARE_MAX)),
            advice,
        )
    }

    fn observer(&self) -> Option<Check> {
        let share =
            self.figure(|run| crate::figures::over(run.get(Measure::ObserverCpuNs), run.get(Measure::CpuBusyNs)))?;
        let status = if share.median > OBSERVER_SHARE_MAX {
            Status::Suspect
        } else {
            Status::Valid
        };
        let figure = format!("{} of the processor time went into observing", percent(share.median));
        self.check(
            "observer",
            status,
            figure,
            format!("at most {}", percent(OBSERVER_SHARE_MAX)),
            "report this as a mistake in assay",
        )
    }

    fn populations(&self) -> Option<Check> {
        let split = self.runs.iter().find_map(|run| {
            let seconds: Vec<f64> = run
                .scans
                .iter()
                .map(|scan| scan.ended_ns.saturating_sub(scan.began_ns) as f64 / 1e9)
                .collect();
            stats::two_populations(&seconds)
        })?;
        let figure = format!(
            "{} scans took about {} s and {} about {} s",
            split.low.count,
            number(split.low.mean),
            split.high.count,
            number(split.high.mean)
        );
        let advice = "do not average them: find what half of the scans met";
        self.check(
            "two populations",
            Status::Suspect,
            figure,
            "one population".into(),
            advice,
        )
    }
}

/// Rates of rounds of about equal length; `None` when the phase is too short to have five.
fn rounds(slices: &[Slice]) -> Option<Vec<f64>> {
    let whole = slices.last()?.at_ns;
    let count = ((whole / ROUND_NS_MIN) as usize).min(ROUNDS_MAX).min(slices.len());
    if count < 5 {
        return None;
    }
    let length = whole as f64 / count as f64;
    let mut work = vec![0.0; count];
    for slice in slices {
        // A slice belongs to the round in which it ends; its end itself still belongs to it.
        let round = ((slice.at_ns.saturating_sub(1)) as f64 / length) as usize;
        work[round.min(count - 1)] += slice.count as f64;
    }
    Some(work)
}

impl Analysis {
    /// Checks that are not VALID, worst first.
    pub fn doubts(&self) -> Vec<&Check> {
        let mut doubts: Vec<&Check> = self
            .checks
            .iter()
            .filter(|check| check.status != Status::Valid)
            .collect();
        doubts.sort_by_key(|check| std::cmp::Reverse(check.status));
        doubts
    }

    /// True when a comparison says *worse*, for `--fail-on worse`.
    pub fn is_worse(&self) -> bool {
        self.comparisons
            .iter()
            .any(|comparison| comparison.verdict == Verdict::Worse)
    }

    /// True when a check says INVALID, for `--fail-on invalid`.
    pub fn is_invalid(&self) -> bool {
        self.checks.iter().any(|check| check.status == Status::Invalid)
    }
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
        assert_eq!(found, vec![600.0; 10]);
        assert_eq!(rounds(&slices[..4]), None);
        assert_eq!(rounds(&slices[..5]).unwrap().len(), 5);
        assert_eq!(rounds(&[]), None);
    }
}
