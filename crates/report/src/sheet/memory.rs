//! What is checked of memory: its budget, what it could have held, waits for it, and that all stacks had alike.
//!
//! Takes the runs of a stack, or the cells of a phase; gives what was found. Prevents: a cache four times the size
//! taken for a better stack, also where both kept below one generous budget, and a host short of memory taken for a
//! slow stack.

use super::at::At;
use super::rule::{Bound, Document, Rule, Take, Taken};
use crate::cells::PhaseReport;
use crate::cells::counts::BUDGET_SLACK;
use crate::check::Status;
use crate::figures::over;
use crate::format::{bytes, percent};
use crate::history::{Book, Seen};
use crate::phase_kind::kind_row;
use ledger::Measure;

/// More memory than this many times another stack's, and by this much, may be what made the difference.
const RATIO_MAX: f64 = 2.0;
const BYTES_MIN: f64 = 64.0 * 1024.0 * 1024.0;
/// Above it, so much of the time may be missing from the rate: as with a processor that others take.
const WAITED_MAX: f64 = 0.10;

pub(crate) const BUDGET: Rule = Rule {
    subject: "memory budget",
    bound: Bound::WithFigure,
    beyond: Status::Suspect,
    advice: "run where a cgroup limit can be set, or raise the budget for all stacks",
    take: Take::Cell(budget),
    document: Some(Document {
        figure: "highest memory; on several hosts, that of rank 0's host",
        threshold: "102 % of the budget",
        beyond: "",
        why: "the kernel counts memory in batches",
    }),
    traps: &["a memory budget that nobody holds to"],
};

pub(crate) const WAITED: Rule = Rule {
    subject: "waiting for memory",
    bound: Bound::Most(WAITED_MAX),
    beyond: Status::Suspect,
    advice: "the host has too little memory: stop other programs, make the caches smaller, or set `memory.budget`",
    take: Take::Cell(waited),
    document: Some(Document {
        figure: "share of the phase's time in which some task of the host waited for memory (the kernel's \
             `/proc/pressure/memory`). No line if the kernel does not count it",
        threshold: "",
        beyond: "SUSPECT; NOTE if the memory budget was enforced and kept",
        why: "so much of the time may be missing from the rate. Within an enforced budget the stack may wait for its \
             own page cache, which is a part of the result",
    }),
    traps: &["a host that runs short of memory"],
};

pub(crate) const WORKING_SET: Rule = Rule {
    subject: "working set",
    bound: Bound::Words("more than the caches hold"),
    beyond: Status::Suspect,
    advice: "raise `database.scale` or the time, or lower `database.cache`",
    take: Take::Cell(working_set),
    document: Some(Document {
        figure: "bytes of distinct pages touched, against the engine's cache and the page cache of its memory \
             group",
        threshold: "more",
        beyond: "",
        why: "memory could have served less",
    }),
    traps: &[
        "a data set smaller than memory",
        "a large working set that is never touched",
    ],
};

pub(crate) const ALIKE: Rule = Rule {
    subject: "memory alike",
    bound: Bound::WithFigure,
    beyond: Status::Suspect,
    advice: "set `memory.budget` where it can be enforced, and give every stack's caches the same size",
    take: Take::Phase(alike),
    document: Some(Document {
        figure: "the stack with the most memory against the one with the least",
        threshold: "2 times and 64 MiB",
        beyond: "SUSPECT; NOTE if all kept one budget that was enforced, with engine caches of one size",
        why: "a cache of twice the size may be the whole difference; a page cache gains 64 MiB by chance",
    }),
    traps: &["one stack with four times the memory"],
};

/// Highest memory, against the budget.
fn budget(at: &At<'_>) -> Option<Taken> {
    let budget = at.cell.memory_budget_bytes?;
    let peak = at.figure(Seen::memory_peak)?;
    let enforced = match at.measured(Measure::MemoryBudgetEnforced).map(|code| code.low as u32) {
        Some(1) => "enforced by cgroup v1",
        Some(2) => "enforced by cgroup v2",
        _ => "not enforced",
    };
    let elsewhere = match at.runs.iter().any(|run| run.is_on_several_hosts()) {
        true => " on rank 0's host; memory of the other hosts is not bounded",
        false => "",
    };
    let figure = format!("{} at the highest, {enforced}{elsewhere}", bytes(peak.high));
    let taken = Taken::holds(peak.high <= budget * BUDGET_SLACK, figure);
    Some(taken.against(format!("at most {}", bytes(budget))))
}

/// Distinct pages touched, against what memory could hold of them.
fn working_set(at: &At<'_>) -> Option<Taken> {
    if !kind_row(at.kind).has_working_set {
        return None;
    }
    let touched = at.measured(Measure::WorkingSetTouchedBytes)?;
    let caches = at.figure(|run| {
        let own = run.get(Measure::EngineCacheBytes)?;
        // The page cache of the whole host says nothing about this phase; that of its memory group does.
        let grouped = run.is_budget_enforced();
        Some(
            own + if grouped {
                run.get(Measure::MemoryCacheBytesPeak).unwrap_or(0.0)
            } else {
                0.0
            },
        )
    })?;
    let figure = format!("{} touched, {} of caches", bytes(touched.median), bytes(caches.median));
    Some(Taken::holds(touched.median > caches.median, figure))
}

/// Of the time of the phase, as far as the kernel tells. Its count is of the whole host: waits of a memory group that
/// reclaims its own page cache are among it.
fn waited(at: &At<'_>) -> Option<Taken> {
    let share = at.figure(|run| {
        let waited = run.get(Measure::PsiMemorySomeNs).map(|ns| ns / 1e9);
        over(waited, Some(run.total_s())).map(|share| share.min(1.0))
    })?;
    let figure = format!("some task waited for memory in {} of the time", percent(share.median));
    let is_own = at.runs.iter().all(|run| run.kept_own_budget().is_some());
    if share.median <= WAITED_MAX || !is_own {
        return Some(Taken::share(share.median, figure));
    }
    let advice = "the stack may have waited within its own budget: its rate is one of this much memory";
    Some(Taken::judged(Status::Note, figure).advising(advice))
}

/// Whether the stacks had as much memory as each other.
fn alike(book: &Book, report: &PhaseReport) -> Option<Taken> {
    let peaks: Vec<(&str, f64)> = report
        .cells
        .iter()
        .filter_map(|cell| Some((cell.stack.as_str(), cell.memory_bytes_peak?.median)))
        .collect();
    let by = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
    let (least, most) = (peaks.iter().min_by(by)?, peaks.iter().max_by(by)?);
    if peaks.len() < 2 {
        return None;
    }
    let differs = most.1 > RATIO_MAX * least.1 && most.1 - least.1 > BYTES_MIN;
    let status = match (differs, had_one_budget(book, report)) {
        (false, _) => Status::Valid,
        // Each might have taken as much, and what it took is its own way: still to be known when reading a ratio.
        (true, true) => Status::Note,
        (true, false) => Status::Suspect,
    };
    let figure = format!("{} used {}, {} used {}", most.0, bytes(most.1), least.0, bytes(least.1));
    Some(Taken::judged(status, figure).against(format!("at most {RATIO_MAX:.0} times as much")))
}

/// All kept within one budget that was enforced, with caches of one size in the engine.
fn had_one_budget(book: &Book, report: &PhaseReport) -> bool {
    let runs = report
        .cells
        .iter()
        .flat_map(|cell| book.valid(&cell.stack, &report.name));
    let mut terms = runs.map(|run| run.kept_budget().zip(run.get(Measure::EngineCacheBytes)));
    let first = terms.next().flatten();
    first.is_some() && terms.all(|one| one == first)
}
