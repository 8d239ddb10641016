//! How many of the measured stacks a load takes, from a result file alone.
//!
//! Takes an open ledger and a [`Load`], gives a [`Sizing`] and its forms. What lies beyond what was measured is
//! labelled, and far beyond it nothing is said. Prevents: a purchase planned by a rate that nobody measured.

mod curve;
mod found;
mod load;
mod measured;
mod needed;
mod share;
mod shown;

pub use found::{Amount, SizedStack, Sizing};
pub use load::Load;

use crate::analysis::{Analysis, ReportError};
use crate::format::number;
use crate::history::Book;
use crate::render::{self, Style};
use crate::stacks::priced;
use ledger::{Ledger, LedgerError, Stack};
use share::Share;
use std::collections::BTreeMap;

/// Beyond what was measured by more than this is an extrapolation.
const LABELLED: f64 = 2.0;

/// Beyond it by more than this nothing is said.
const REFUSED: f64 = 10.0;

impl Sizing {
    /// Of a result file; `only`: of these stacks, by name. None: of all.
    ///
    /// # Errors
    /// [`ReportError`], as [`Analysis::of`].
    pub fn of(ledger: &Ledger, load: Load, only: &[String]) -> Result<Sizing, ReportError> {
        let analysis = Analysis::of(ledger)?;
        let book = Book::read(ledger)?;
        let stacks = families(&book, only)
            .into_iter()
            .map(|family| sized(&book, &analysis, &family, &load));
        Ok(Sizing {
            study: analysis.study.name.clone(),
            slow_motion: analysis.study.slow_motion.filter(|times| *times > 1),
            currency: analysis.cost.as_ref().map(|cost| cost.currency.clone()),
            stacks: stacks.collect::<Result<_, LedgerError>>()?,
            load,
        })
    }

    /// For a terminal.
    pub fn terminal(&self, style: &Style) -> String {
        render::terminal(&shown::document(self), style)
    }

    /// As short Markdown.
    pub fn markdown(&self) -> String {
        render::markdown(&shown::document(self))
    }

    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({ "schema": 1, "sizing": self })
    }
}

/// A stack with the bytes of each of its data LUNs.
struct Member<'a> {
    stack: &'a Stack,
    luns: Vec<f64>,
}

/// Stacks that differ in the number of their data LUNs, and are alike in kind, database, access and all keys but those
/// that name LUN sets. The LUNs themselves are not compared. Others stay alone.
fn families<'b>(book: &'b Book, only: &[String]) -> Vec<Vec<Member<'b>>> {
    let mut families: Vec<Vec<Member<'b>>> = Vec::new();
    let is_asked = |stack: &&Stack| stack.skipped.is_none() && (only.is_empty() || only.contains(&stack.name));
    let alike = |a: &Stack, b: &Stack| {
        (&a.kind, &a.database, a.access) == (&b.kind, &b.database, b.access) && keys(book, a) == keys(book, b)
    };
    for stack in book.stacks.iter().filter(is_asked) {
        let luns = priced::working_luns(book, stack);
        let joins = |family: &&mut Vec<Member<'b>>| {
            let mut all = family.iter();
            !luns.is_empty()
                && all.all(|one| alike(one.stack, stack) && !one.luns.is_empty() && one.luns.len() != luns.len())
        };
        let member = Member {
            stack,
            luns: luns.clone(),
        };
        match families.iter_mut().find(joins) {
            Some(family) => family.push(member),
            None => families.push(vec![member]),
        }
    }
    for family in &mut families {
        family.sort_by_key(|one| one.luns.len());
    }
    families
}

/// Keys of a stack with their values, without its name and those that name LUN sets.
fn keys<'b>(book: &'b Book, stack: &Stack) -> BTreeMap<&'b str, &'b str> {
    let keys = book.disclosed.settings_below(&format!("stack.{}.", stack.name));
    keys.into_iter()
        .filter(|(key, _)| !["name", "data", "redo"].contains(key))
        .collect()
}

/// A stack, or several, of which nothing is known yet.
fn unknown(family: &[Member<'_>]) -> SizedStack {
    SizedStack {
        stacks: family.iter().map(|one| one.stack.name.clone()).collect(),
        luns: family
            .iter()
            .map(|one| one.luns.len() as u32)
            .filter(|luns| *luns > 0)
            .collect(),
        for_rate: None,
        low: None,
        high: None,
        for_data: None,
        takes: None,
        price: None,
        processors: None,
        host_processors: None,
        processors_full: false,
        device_bytes_per_s: None,
        phases: Vec::new(),
        notes: Vec::new(),
        extrapolated: false,
    }
}

fn sized(book: &Book, analysis: &Analysis, family: &[Member<'_>], load: &Load) -> Result<SizedStack, LedgerError> {
    let mut sized = unknown(family);
    let mut shares = Vec::new();
    for one in family {
        let name = &one.stack.name;
        let measured = measured::on(book, analysis, name)?;
        match share::of(&measured.carried, load) {
            Ok(share) => {
                let partly = share.phases.iter().filter_map(|phase| measured.partly.get(phase));
                sized.notes.extend(partly.map(|words| format!("{name}: {words}")));
                shares.push((one.luns.len().max(1) as f64, share));
            }
            Err(why) => sized.notes.push(format!("{name}: {why}")),
        }
        let left_out = measured.left_out.iter().map(|why| format!("{name}: {why}"));
        sized.notes.extend(left_out);
    }
    let reserve = family.iter().map(|one| priced::reserve(book, one.stack)).max();
    if let Some(reserve) = reserve.filter(|reserve| *reserve > 0) {
        let luns = if reserve == 1 { "LUN" } else { "LUNs" };
        sized.notes.push(format!(
            "{reserve} {luns} in reserve do not count: they carried nothing before they joined"
        ));
    }
    // All stacks of a study are asked for the same rates: what they did on a schedule says nothing of their limits.
    let is_paced = shares.iter().any(|(_, share)| share.paced);
    let shares = &shares[if is_paced { shares.len() - 1 } else { 0 }..];
    rate(&mut sized, shares, load);
    data(&mut sized, analysis, family, load);
    needed::beside_luns(&mut sized, shares, book, analysis);
    let mut sized = concluded(sized, load);
    if let (Some(cost), Some(takes), Some(largest)) = (&analysis.cost, sized.takes, family.last()) {
        sized.price = needed::price(cost, largest.stack.name.as_str(), &largest.luns, takes);
    }
    Ok(sized)
}

/// LUNs that carry the rate.
fn rate(sized: &mut SizedStack, shares: &[(f64, Share)], load: &Load) {
    let at = |pick: fn(&Share) -> Option<f64>| -> Option<Vec<curve::Point>> {
        shares.iter().map(|(luns, share)| Some((*luns, pick(share)?))).collect()
    };
    let Some(middle) = at(|share| Some(share.middle)).and_then(|points| curve::luns(&points)) else {
        if !shares.is_empty() {
            sized
                .notes
                .push("more LUNs carried no more: the LUNs are not what limits it".into());
        }
        return;
    };
    let ends = at(|share| Some(share.ends?[0])).zip(at(|share| Some(share.ends?[1])));
    let has_interval = ends.is_some();
    let [low, high] = ends.map_or([None; 2], |(low, high)| curve::ends(&low, &high));
    if !has_interval {
        let said = "one block: no interval, so no number to take; run more blocks (`--extend`)";
        sized.notes.push(said.into());
    } else if high.is_none() {
        sized.notes.push(format!(
            "{} LUNs by the middle of the interval, and no number by its worse end: run more blocks (`--extend`)",
            number(middle)
        ));
        return;
    }
    (sized.for_rate, sized.low, sized.high) = (Some(middle), low, high);
    for (_, share) in shares {
        sized.phases.extend(share.phases.iter().cloned());
    }
    sized.phases.sort();
    sized.phases.dedup();
    if shares.iter().any(|(_, share)| share.outside) {
        sized
            .notes
            .push("this mix of reads and updates lies outside those measured: the nearest phase was taken".into());
        sized.extrapolated = true;
    }
    if shares.iter().any(|(_, share)| share.paced) {
        let said = match load.p99_ns {
            Some(_) => {
                "at the highest measured rate whose every block keeps the p99. The interval is that of the schedule: \
                 how much more a build carries is unknown"
            }
            None => "at the highest rate of a phase on a schedule: it may carry more",
        };
        sized.notes.push(said.into());
    }
    let measured = || shares.iter().map(|(luns, _)| *luns);
    let (least, most) = (measured().fold(f64::MAX, f64::min), measured().fold(0.0, f64::max));
    let worst = high.unwrap_or(middle);
    // Refused is noted there.
    let _ = beyond(
        sized,
        worst / worst.clamp(least, most),
        "the rate",
        ["a larger stack", "a smaller stack"],
    );
}

/// LUNs that hold the data, and whether so much was ever measured.
fn data(sized: &mut SizedStack, analysis: &Analysis, family: &[Member<'_>], load: &Load) {
    let Some(wanted) = load.data_bytes else { return };
    let Some(largest) = family.last().filter(|one| !one.luns.is_empty()) else {
        sized
            .notes
            .push("it has no LUNs of its own, so the room for the data is not known".into());
        return;
    };
    let bytes: f64 = largest.luns.iter().sum();
    let name = &largest.stack.name;
    let measured = (analysis.memory.iter())
        .find(|one| one.stack == *name)
        .and_then(|one| one.data_bytes);
    let is_far = measured
        .filter(|bytes| *bytes > 0.0)
        .is_some_and(|measured| beyond(sized, wanted / measured, "the data", ["more data", "less data"]));
    if is_far {
        return;
    }
    let Some(full) = priced::data_that_fill(analysis, name, bytes) else {
        sized.notes.push(format!(
            "{name}: the bytes in use were not measured, so the room for the data is not known"
        ));
        return;
    };
    let each = full / largest.luns.len() as f64;
    sized.for_data = Some(wanted / each);
}

/// Labels or refuses what is so many times what was measured (below 1: a part of it); whether it refuses. What would
/// have to be measured for more and for less, in words.
fn beyond(sized: &mut SizedStack, times: f64, what: &str, [more, less]: [&str; 2]) -> bool {
    let (far, said, cure) = match times < 1.0 {
        false => (
            times,
            format!("{what}: {} times what was measured", number(times)),
            more,
        ),
        true => {
            let far = 1.0 / times;
            (
                far,
                format!("{what}: what was measured is {} times as much", number(far)),
                less,
            )
        }
    };
    if far > REFUSED {
        sized.notes.push(format!(
            "{said}. Nothing is said beyond {REFUSED:.0} times: measure {cure}"
        ));
        sized.for_rate = None;
    } else if far > LABELLED {
        sized.notes.push(format!("an extrapolation. {said}"));
        sized.extrapolated = true;
    }
    far > REFUSED
}

/// What to take: whole LUNs, by the worse end. Without that end, without the room for the data, or on a host that is
/// full first, there is no number.
fn concluded(mut sized: SizedStack, load: &Load) -> SizedStack {
    if sized.for_rate.is_none() {
        (sized.low, sized.high) = (None, None);
    }
    if needed::is_host_full(&mut sized) {
        return sized;
    }
    let Some(rate) = sized.high else { return sized };
    if load.data_bytes.is_some() && sized.for_data.is_none() {
        return sized;
    }
    let most = rate.max(sized.for_data.unwrap_or(0.0)).ceil();
    sized.takes = (most.is_finite() && most < f64::from(u32::MAX)).then_some((most as u32).max(1));
    sized
}
