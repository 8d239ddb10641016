//! What is checked of file serving: answers against the model of the files, the generator's part, the end of the ramp.
//!
//! Takes the figures of one stack in one phase, gives what was found. Prevents: a quick answer that is a wrong one, and
//! the generator's lateness taken for the server's.

use super::at::At;
use super::rule::Taken;
use crate::cells::serving::LATE_SHARE_MAX;
use crate::format::{bytes, number, percent, whole};
use ledger::Measure;

pub(crate) fn answers(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    let wrong = at.measured(Measure::FilesWrong).map_or(0.0, |wrong| wrong.high);
    let figure = match wrong > 0.0 {
        true => format!("{} answers were wrong", whole(wrong)),
        false => format!("all right; {} of data checked", bytes(serving.checked_bytes)),
    };
    Some(Taken::holds(wrong == 0.0, figure))
}

/// The generator's lateness at points that count.
pub(crate) fn late(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    let inside = serving.points.iter().filter(|point| point.blocks_inside > 0);
    let late = inside.filter_map(|point| Some((point.asked_per_s, point.late_share?.median)));
    let (asked, share) = late.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let figure = format!(
        "at most {} of response, at {} operations/s",
        percent(share),
        number(asked)
    );
    Some(Taken::holds(share <= LATE_SHARE_MAX, figure))
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
    let least = serving.blocks_at_least;
    let figure = match least {
        0 => "the limit lies between two points in every block".to_string(),
        _ => format!("{least} of {} blocks ended inside the limit", at.cell.blocks),
    };
    Some(Taken::holds(least == 0, figure))
}
