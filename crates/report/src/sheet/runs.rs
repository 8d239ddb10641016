//! What is said of all runs of a stack in a phase, also of those that failed and are in no figure.
//!
//! Takes the gathered file, gives what was found. Prevents: lost data that nobody mentions because the run that lost
//! them failed.

use super::rule::Taken;
use crate::cells::answers::Answers;
use crate::cells::kept::Kept;
use crate::cells::ran_out::{in_phase, is_full};
use crate::check::Status;
use crate::figures::Figure;
use crate::format::whole;
use crate::history::{Book, PhaseHead, Seen};
use crate::ranking::refusals;
use crate::words::cuts;
use ledger::{Measure, PhaseStatus};

fn of_cuts(book: &Book, stack: &str, head: &PhaseHead, wanted: impl Fn(&Kept) -> bool) -> Vec<Taken> {
    let found = Kept::of(book, stack, head).filter(wanted);
    let taken = |kept: Kept| Taken::broken(cuts::kept_words(&kept));
    found.map(taken).into_iter().collect()
}

/// Power cuts and kills that lost something.
pub(crate) fn lost(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    of_cuts(book, stack, head, Kept::is_loss)
}

/// Power cuts that left an array with parity that does not match its data.
pub(crate) fn write_hole(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    let runs: Vec<&Seen> = book.seen(stack, &head.name).collect();
    let taken = |(open, said): (bool, String)| Taken::holds(!open, said);
    cuts::write_hole(&runs).map(taken).into_iter().collect()
}

/// Power cuts after which everything was there.
pub(crate) fn cut(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    of_cuts(book, stack, head, |kept| !kept.is_loss() && !kept.killed)
}

/// Kills after which everything was there.
pub(crate) fn killed(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    of_cuts(book, stack, head, |kept| !kept.is_loss() && kept.killed)
}

/// Runs in which a database gave a wrong answer or lost rows of a table, and those of which nobody can know.
pub(crate) fn wrong_answers(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    let count = |is: fn(&Seen) -> bool| book.ever(stack, &head.name).filter(|seen| is(seen)).count();
    let asked = count(|seen| seen.questions.is_some());
    let wrong = count(Seen::has_wrong_answer);
    let changed = count(Seen::has_wrong_table);
    let open = count(|seen| seen.answers == Answers::Open);
    let mut said = Vec::new();
    if wrong > 0 || changed + open == 0 {
        said.push(format!("{wrong} runs with a wrong answer"));
    }
    if changed > 0 {
        said.push(format!(
            "{changed} runs with a table that does not hold what was written"
        ));
    }
    if open > 0 {
        said.push(format!("open in {open} runs: no answer has more than half of all runs"));
    }
    let said = said.join("; ");
    match (wrong + changed, open) {
        (0, 0) if asked == 0 => Vec::new(),
        (0, 0) => vec![Taken::holds(true, said)],
        (0, _) => {
            vec![Taken::judged(Status::Suspect, said).advising(
                "at least one run of the study lost data: run more blocks, so that most runs have one answer",
            )]
        }
        _ => vec![Taken::broken(said)],
    }
}

/// Of every run: one that met a bad page did not come through, and is in no figure.
pub(crate) fn bad_pages(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    let runs = || book.ever(stack, &head.name);
    let bad = Figure::of(runs().map(refusals::bad_pages));
    // Where the engine's own cache served all, nothing was read back.
    let nothing_read = || runs().all(|seen| seen.get(Measure::EnginePagesVerified) == Some(0.0));
    let bad = bad.filter(|bad| bad.high > 0.0 || !nothing_read());
    let taken = |bad: Figure| Taken::holds(bad.high <= 0.0, format!("{} pages read back wrong", whole(bad.high)));
    bad.map(taken).into_iter().collect()
}

/// Runs that failed or were found invalid.
pub(crate) fn invalid(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    let taken = |(block, seen): (u32, &Seen)| {
        let (word, reason) = match &seen.run.status {
            PhaseStatus::Valid => return None,
            PhaseStatus::Invalid(reason) => ("invalid", reason),
            PhaseStatus::Failed(reason) => ("failed", reason),
        };
        Some(Taken::broken(format!("block {block} {word}: {reason}")))
    };
    let runs = book.by_block(stack, &head.name).filter(|(_, seen)| !is_full(seen));
    runs.filter_map(taken).collect()
}

/// A stack that had no room left.
pub(crate) fn full(book: &Book, stack: &str, head: &PhaseHead) -> Vec<Taken> {
    let ran_out = in_phase(book, stack, &head.name);
    ran_out
        .map(|ran_out| Taken::broken(ran_out.words))
        .into_iter()
        .collect()
}
