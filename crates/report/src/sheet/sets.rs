//! Whether stacks and LUN sets can be told apart: each stack on each set equally often.
//!
//! Takes the sets that trials were recorded on, gives the line of the sheet. Prevents: a difference of LUNs that is
//! read as a difference of stacks.

use super::rule::Taken;
use crate::analysis::Analysis;
use crate::history::Book;
use crate::ranking::drops::Dropped;
use crate::ranking::verdicts::Comparison;
use std::collections::BTreeMap;

/// By LUN set, the valid blocks in which a stack stood on it.
type Used<'b> = BTreeMap<&'b str, u32>;

/// Silent where a stack and its base stood on each LUN set equally often, as they do on one.
pub(crate) fn sets_apart<'b>(book: &'b Book, analysis: &'b Analysis) -> Option<Taken> {
    let dropped = Dropped::of(&analysis.dropped);
    let stacks = book.stacks.iter().map(|stack| stack.name.as_str());
    let used: BTreeMap<&str, Used<'_>> = stacks.map(|stack| (stack, used(book, &dropped, stack))).collect();
    let both = |one: &'b Comparison| Some((one, used.get(one.stack.as_str())?, used.get(one.base.as_str())?));
    let mut all = analysis.comparisons.iter().filter_map(both);
    let (one, own, its) = all.find(|(_, own, its)| own != its)?;
    let (stack, base) = (&one.stack, &one.base);
    Some(Taken::broken(match (alone(own), alone(its)) {
        (Some(own), Some(its)) => format!(
            "{stack} is on `{own}` and {base} on `{its}` in every block: what the LUNs differ by counts as a \
             difference of the stacks"
        ),
        _ => format!(
            "{stack} is on {} and {base} on {}: a part of what the LUNs differ by counts as a difference of the stacks",
            words(own),
            words(its)
        ),
    }))
}

fn used<'b>(book: &'b Book, dropped: &Dropped<'_>, stack: &'b str) -> Used<'b> {
    let mut used = Used::new();
    for (block, ran) in book.runs(stack) {
        if dropped.is_whole(block) {
            *used.entry(ran.trial.lun_set.as_str()).or_default() += 1;
        }
    }
    used
}

/// The one set of a stack that has no other.
fn alone<'b>(used: &Used<'b>) -> Option<&'b str> {
    match used.len() {
        1 => used.keys().next().copied(),
        _ => None,
    }
}

/// "`a` 3 times, `b` 2 times".
fn words(used: &Used<'_>) -> String {
    let each = used.iter().map(|(set, times)| match times {
        1 => format!("`{set}` once"),
        times => format!("`{set}` {times} times"),
    });
    each.collect::<Vec<_>>().join(", ")
}
