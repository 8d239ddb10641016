//! What shuts figures out of the ranking because the sheet calls them INVALID: the file, a phase on a stack, a run.
//!
//! Takes the gathered file, gives the reason in words, or nothing. Judged on the file's seal, its seeds, what was lost
//! and what the clocks did, never on a rate. Prevents: a line that says INVALID beside a verdict that was given all the
//! same.

use crate::format::whole;
use crate::format::{nanoseconds, percent};
use crate::history::{Book, PhaseHead, Refused, Seen};
use crate::phase_kind::{EndedBy, kind_row};
use ledger::{Measure, Seal};
use std::collections::{BTreeMap, BTreeSet};

/// Seeds that are not as they must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seeds {
    pub blocks: usize,
    /// Blocks with the seed of another.
    pub again: usize,
    /// Blocks in which the stacks had unlike seeds.
    pub unlike: usize,
}

impl Seeds {
    pub(crate) fn of(book: &Book) -> Seeds {
        let mut of_block: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for (block, _, ran) in book.trials() {
            of_block.entry(block).or_default().insert(ran.trial.seed);
        }
        let firsts: BTreeSet<u64> = of_block.values().filter_map(|seeds| seeds.first().copied()).collect();
        Seeds {
            blocks: of_block.len(),
            again: of_block.len() - firsts.len(),
            unlike: of_block.values().filter(|seeds| seeds.len() > 1).count(),
        }
    }
}

/// Why nothing of this file is ranked.
pub(crate) fn of_file(book: &Book) -> Option<String> {
    if let Seal::Broken(tables) = &book.seal {
        return Some(format!(
            "the file was changed after the study ended: {}",
            tables.join(", ")
        ));
    }
    let seeds = Seeds::of(book);
    (seeds.again > 0 || seeds.unlike > 0).then(|| "blocks of one study do not have a seed each".to_string())
}

/// Pages that came back wrong in a run, as far as it tells.
pub(crate) fn bad_pages(seen: &Seen) -> Option<f64> {
    seen.get(Measure::EnginePagesBad)
}

/// Why a phase is not ranked on a stack: in one of its runs something was lost, be it one that does not count, or whose
/// trial did not end or was run again.
pub(crate) fn of_phase(book: &Book, stack: &str, phase: &str) -> Option<String> {
    let worst = |of: fn(&Seen) -> Option<f64>| {
        let most = book.ever(stack, phase).filter_map(of).fold(0.0, f64::max);
        (most > 0.0).then_some(most)
    };
    if let Some(pages) = worst(bad_pages) {
        return Some(format!("it lost data: {} pages came back wrong", whole(pages)));
    }
    let any = |is: fn(&Seen) -> bool| book.ever(stack, phase).any(is);
    if any(Seen::has_wrong_answer) {
        return Some("it gave a wrong answer: data loss".to_string());
    }
    if any(Seen::has_wrong_table) {
        return Some("it lost data: a table does not hold what was written".to_string());
    }
    let losing = |seen: &Seen| seen.get(Measure::CutsLosing).is_some_and(|cuts| cuts > 0.0);
    let seen = book.ever(stack, phase).find(|seen| losing(seen))?;
    Some(match kind_row(seen.run.kind).ended_by {
        Some(EndedBy::Kill) => "it lost data in a kill".to_string(),
        Some(EndedBy::PowerCut) | None => "it lost data in a power cut".to_string(),
    })
}

/// Whether one of its questions ran past its limit.
pub(crate) fn is_past_limit(seen: &Seen) -> bool {
    seen.questions.as_ref().is_some_and(|asked| asked.past_limit.is_some())
}

/// Why a phase is not ranked on a stack whose questions ran past their limit: to leave such runs out would leave out
/// the slowest. Where the phase may write, those behind it in the trial are not the same work either.
pub(crate) fn past_limit(book: &Book, stack: &str, phase: &PhaseHead) -> Option<String> {
    let runs = |head: &PhaseHead| book.seen(stack, &head.name).filter(|seen| is_past_limit(seen)).count();
    let past = runs(phase);
    if past > 0 {
        let all = book.seen(stack, &phase.name).count();
        return Some(format!("a question ran past its limit in {past} of {all} blocks"));
    }
    let writes_late = |head: &PhaseHead| kind_row(head.kind).may_write && runs(head) > 0 && may_write(book, head);
    let look = || book.phases.iter().position(writes_late);
    let first = (*book.first_late.borrow_mut().entry(stack.into()).or_insert_with(look))?;
    let is_behind = book.place(&phase.name) > Some(first);
    is_behind.then(|| format!("a question of {} ran past its limit before", book.phases[first].name))
}

/// Whether a phase may leave the data otherwise than it found them, as the study says; where it does not say, it may.
pub(crate) fn may_write(book: &Book, head: &PhaseHead) -> bool {
    let kind = kind_row(head.kind);
    let only_reads = |key| {
        let said = book.setting(&format!("phase.{}.{key}", head.name));
        said.is_some_and(|amount| amount.trim() == "0")
    };
    kind.may_write && !kind.writes_by.is_some_and(only_reads)
}

/// Why a run does not count though it came through: the host slept meanwhile, or was mostly another's.
pub(crate) fn of_run(seen: &Seen) -> Option<String> {
    Some(match seen.refused()? {
        Refused::Slept(ns) => format!("the host slept for {}", nanoseconds(ns)),
        Refused::Stolen(share) => format!("the hypervisor gave {} of all processor time to others", percent(share)),
    })
}
