//! What is checked of file serving: answers against the model of the files, the generator's part, the end of the ramp.
//!
//! Takes the figures of one stack in one phase, gives what was found. Prevents: a quick answer that is a wrong one, and
//! the generator's lateness taken for the server's.

use super::at::At;
use super::rule::Taken;
use crate::check::Status;
use crate::format::{bytes, number, percent, whole};
use ledger::Measure;

pub(crate) fn answers(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    // Of every run that came through: what is wrong in a run that does not count is wrong all the same.
    let wrong: f64 = at.all.iter().filter_map(|run| run.get(Measure::FilesWrong)).sum();
    if wrong > 0.0 {
        return Some(Taken::broken(format!("{} answers were wrong", whole(wrong))));
    }
    let checked = bytes(serving.checked_bytes);
    // An application would have seen the error: it is shown, and no data are lost.
    if serving.listed_again > 0.0 {
        let refused = whole(serving.listed_again);
        let figure = format!("all right, but for listings refused at first: {refused}; {checked} of data checked");
        return Some(Taken::judged(Status::Note, figure));
    }
    Some(Taken::holds(true, format!("all right; {checked} of data checked")))
}

/// What the generator's lateness costs of the rate at the limit. Without a server the threads that are late wait for a
/// processor on which other calls of the file system are at work: that is response.
pub(crate) fn late(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    serving.connections?;
    if serving.runs_late_alone > 0 {
        let runs = match serving.runs_late_alone {
            1 => "1 run".to_string(),
            many => format!("{many} runs"),
        };
        return Some(Taken::broken(format!("{runs} passed the limit by lateness alone")));
    }
    let cost = serving.late_cost_share?.median;
    let figure = format!("without it the rate at the limit would be {} higher", percent(cost));
    Some(Taken::share(cost, figure))
}

/// The same work with a client that answers itself.
pub(crate) fn ceiling(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    let (peak, ceiling) = (serving.peak_per_s?.high, serving.ceiling_per_s?.median);
    let share = peak / ceiling.max(1.0);
    let figure = format!("{} of its ceiling of {} operations/s", percent(share), number(ceiling));
    Some(Taken::share(share, figure))
}

pub(crate) fn ended(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    let (least, below) = (serving.blocks_at_least, serving.blocks_below);
    let of = at.cell.blocks;
    let figure = match (least, below) {
        (0, 0) => "the limit lies between two points in every block".to_string(),
        (0, _) => format!("{below} of {of} blocks began outside the limit"),
        (_, 0) => format!("{least} of {of} blocks ended inside the limit"),
        _ => format!("{least} of {of} blocks ended inside the limit, {below} began outside it"),
    };
    Some(Taken::holds(least + below == 0, figure))
}
