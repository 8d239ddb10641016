//! Whether a text ends inside its last interval.
//!
//! Takes intervals and the text they are of. Prevents: a device whose row was cut off counted as one that did nothing,
//! for tools leave idle devices out of an interval (`-z`).

use super::devices::Interval;
use crate::figure::{Notes, excerpt};
use crate::lines::lines;
use std::collections::BTreeSet;

/// Leaves the last interval out where it is cut off. `apart`: how many at the beginning are no interval. Where it is
/// the only one, it stays.
pub(super) fn leave_out_cut(intervals: &mut Vec<Interval<'_>>, apart: usize, text: &str, notes: &mut Notes) {
    let Some((last, earlier)) = intervals.split_last() else {
        return;
    };
    if !is_cut(last, earlier, text) {
        return;
    }
    let what = match missing(last, earlier) {
        Some(name) => format!("the last interval lacks {}, which was in all before it", excerpt(name)),
        None => "the text ends inside the last interval".to_string(),
    };
    let only = earlier.len() <= apart;
    let then = match only {
        true => "it is the only one, and counts as far as it goes",
        false => "left out",
    };
    notes.add(last.line, format!("{what}: {then}"));
    if !only {
        intervals.pop();
    }
}

/// Whether rows of it are missing, or a part of its last one.
pub(super) fn is_cut(last: &Interval<'_>, earlier: &[Interval<'_>], text: &str) -> bool {
    missing(last, earlier).is_some() || ends_inside(last, text)
}

/// A device that was in every interval before, and whose row would stand behind the last one here. Where a later or a
/// new device ends the interval, an absent one was idle.
fn missing<'i>(last: &Interval<'_>, earlier: &'i [Interval<'_>]) -> Option<&'i str> {
    let before = earlier.last()?;
    let (end, _) = last.rows.last()?;
    let at = before.rows.iter().position(|(name, _)| name == end)?;
    let present: BTreeSet<&str> = last.rows.iter().map(|(name, _)| name.as_ref()).collect();
    let mut always: BTreeSet<&str> = before.rows[at + 1..]
        .iter()
        .map(|(name, _)| name.as_ref())
        .filter(|name| !present.contains(name))
        .collect();
    for interval in &earlier[..earlier.len() - 1] {
        if always.is_empty() {
            return None;
        }
        let there: BTreeSet<&str> = interval.rows.iter().map(|(name, _)| name.as_ref()).collect();
        always.retain(|name| there.contains(name));
    }
    always.into_iter().next()
}

/// Whether the text ends without a line end on a line of the interval: neither an empty line nor a rule closes it.
fn ends_inside(last: &Interval<'_>, text: &str) -> bool {
    if text.ends_with('\n') {
        return false;
    }
    let values = last.rows.iter().flat_map(|(_, values)| values.iter().flatten());
    let row = values.map(|value| value.line).max().unwrap_or(last.line);
    let closes = |line: &str| line.is_empty() || line.trim_start().starts_with("---");
    !lines(text).any(|line| line.number > row && closes(line.text))
}
