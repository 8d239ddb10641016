//! What is checked of the memory of all stacks of a phase together.
//!
//! Takes the gathered file and the cells of a phase, gives what was found. Prevents: a cache four times the size taken
//! for a better stack, also where both kept below one generous budget.

use super::rule::Taken;
use crate::cells::PhaseReport;
use crate::check::Status;
use crate::format::bytes;
use crate::history::Book;
use ledger::Measure;

/// More memory than this many times another stack's, and by this much, may be what made the difference.
const RATIO_MAX: f64 = 2.0;
const BYTES_MIN: f64 = 64.0 * 1024.0 * 1024.0;
/// Whether the stacks had as much memory as each other.
pub(crate) fn alike(book: &Book, report: &PhaseReport) -> Option<Taken> {
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
