//! What the answer says of phases held against earlier ones.
//!
//! Takes contrasts and changes, gives clauses. Prevents: an answer that calls a change on one stack ageing, where no
//! other stack says what a trial loses by itself.

use crate::format::{percent, ratio};
use crate::grouped::distinct;
use crate::ranking::changes::Change;
use crate::ranking::verdicts::{Contrast, Verdict};

/// Which stacks changed more than their base: "From fresh scan to aged scan, btrfs keeps 0.71 times what asm keeps
/// (0.69 to 0.73)".
pub(crate) fn contrasted(contrasts: &[Contrast], margin: f64) -> Option<String> {
    // Of several phases the one in which a stack and its base parted the furthest.
    let far = |one: &&Contrast| match one.verdict {
        Verdict::Better | Verdict::Worse => one.ratio.map_or(0.0, |ratio| ratio.ln().abs()),
        Verdict::Equivalent | Verdict::NotEnoughData => 0.0,
    };
    let decided = contrasts.iter().filter(|one| one.verdict != Verdict::NotEnoughData);
    let furthest = decided.max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let same = |one: &&Contrast| (&one.phase, &one.against) == (&furthest.phase, &furthest.against);
    let said = contrasts.iter().filter(same).filter_map(|one| match one.verdict {
        Verdict::NotEnoughData => None,
        Verdict::Equivalent => Some(format!(
            "{} keeps as much as {} within {}",
            one.stack,
            one.base,
            percent(margin)
        )),
        Verdict::Better | Verdict::Worse => Some(format!(
            "{} keeps {} times what {} keeps ({} to {})",
            one.stack,
            ratio(one.ratio?),
            one.base,
            one.low.map_or("0".into(), ratio),
            one.high.map_or("unbounded".into(), ratio)
        )),
    });
    let said = distinct(said);
    Some(format!(
        "From {} to {}, {}",
        furthest.against,
        furthest.phase,
        said.join(", ")
    ))
}

fn capitalised(words: &str) -> String {
    let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

/// The change on stacks that nothing is compared with: a figure, with what is in it.
pub(crate) fn changed(changes: &[Change]) -> Option<String> {
    let far = |one: &&Change| one.ratio.ln().abs();
    let furthest = changes.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let same = |one: &&Change| (&one.phase, &one.against) == (&furthest.phase, &furthest.against);
    let said = changes.iter().filter(same);
    let said: Vec<String> = said
        .map(|one| format!("{} {}", one.stack, one.with_interval()))
        .collect();
    Some(format!(
        "{} of {} over that of {} (above 1 is better): {}, any slowdown within a trial included",
        capitalised(furthest.metric.noun()),
        furthest.phase,
        furthest.against,
        said.join(", ")
    ))
}
