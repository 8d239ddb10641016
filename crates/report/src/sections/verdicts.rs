//! The verdicts: each stack against its base, and the ratios from which no verdict is drawn.
//!
//! Takes the comparisons, gives sections. Prevents: a ratio without its interval, and a verdict read without its doubt.

use super::source::Source;

use crate::document::{Block, Cell, Column, Forms, Name, Placed, Section, Stands, Table, Tone, column};
use crate::format::{percent, ratio};
use crate::ranking::not_tested::NotTested;
use crate::ranking::verdicts::{Comparison, Verdict};
use std::collections::BTreeMap;

/// Ratios that were tested, the worst of each phase first.
pub(super) fn verdicts(source: &Source<'_>) -> Option<Section> {
    let analysis = source.analysis;
    let mut rows: Vec<&Comparison> = Vec::new();
    for phase in &analysis.phases {
        let mut of: Vec<&Comparison> = analysis
            .comparisons
            .iter()
            .filter(|one| one.phase == phase.name)
            .collect();
        of.sort_by_key(|one| severity(one.verdict));
        rows.extend(of);
    }
    if analysis.comparisons.is_empty() {
        return None;
    }
    let margin = analysis.study.margin;
    let mut columns = vec![
        column("stack", "", |one: &&Comparison| Cell::Named(source.stack(&one.stack))).of_words(),
        column("of what", "", |one: &&Comparison| Cell::text(one.metric.noun()))
            .of_words()
            .only(Forms::PAGE),
        column("ratio", "", |one: &&Comparison| Cell::number(one.ratio, ratio)),
        column("interval", "", move |one: &&Comparison| {
            interval(one.ratio, [one.low, one.high], margin, one.verdict)
        })
        .compared(),
        column("of", "", |one: &&Comparison| Cell::text(&one.base)).of_words(),
    ];
    columns.extend(ends(|one: &&Comparison| (one.n, one.verdict)));
    let table = Table::of(
        "Ratios to the base",
        "phase",
        &rows,
        |one| Name::from(one.phase.as_str()),
        columns,
    );
    let mut blocks = vec![(Forms::ALL, Block::Table(table))];
    blocks.extend(chances(source));
    blocks.push(how_to_read(source, "Stack over base"));
    blocks.push((Forms::TEXTS, Block::Note(legend(source))));
    Section::of(
        "ratios",
        "Verdicts",
        "Verdicts (ratio to the base, above 1 is better)",
        blocks,
    )
    .map(|section| section.standing(Stands::Concludes))
}

/// Blocks and verdict, with which a table of ratios ends.
pub(super) fn ends<'a, R: 'a>(of: fn(&R) -> (Option<u32>, Verdict)) -> [Column<'a, R>; 2] {
    [
        column("blocks", "", move |one: &R| {
            Cell::maybe(of(one).0.map(|n| n.to_string()))
        }),
        column("verdict", "", move |one: &R| {
            let verdict = of(one).1;
            Cell::Tagged(verdict.words().into(), tone(verdict))
        })
        .of_words(),
    ]
}

pub(super) fn interval(ratio: Option<f64>, ends: [Option<f64>; 2], margin: f64, verdict: Verdict) -> Cell {
    ratio.map_or(Cell::Nothing, |ratio| {
        Cell::interval(ratio, ends, margin, tone(verdict))
    })
}

pub(crate) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Better,
        Verdict::Worse => Tone::Worse,
        Verdict::Equivalent => Tone::Equal,
        Verdict::NotEnoughData => Tone::Open,
    }
}

pub(super) fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        Verdict::NotEnoughData => 2,
        Verdict::Equivalent => 3,
    }
}

pub(super) fn chances(source: &Source<'_>) -> Option<Placed> {
    let promise = source.analysis.promise.clone()?;
    Some((Forms::ALL, Block::Note(promise)))
}

/// How the chart is to be read.
pub(super) fn how_to_read(source: &Source<'_>, what: &str) -> Placed {
    let words = format!(
        "{what}, from the totals of each block with the drain; above 1 is better for the database. Dot: geometric \
         mean of the blocks; line: the interval that remains after all looks. Shaded: differences inside {} count as \
         equal.",
        percent(source.analysis.study.margin)
    );
    (Forms::PAGE, Block::Note(words))
}

/// What the words of the tables mean, as far as they are there: the margin counts in any case.
///
/// One-sided bounds decide *equal*, so a two-sided interval may end outside the margin. Then the legend says so.
pub(super) fn legend(source: &Source<'_>) -> String {
    let analysis = source.analysis;
    let of_stacks = analysis.comparisons.iter().map(|one| (one.verdict, one.low, one.high));
    let of_phases = analysis.contrasts.iter().map(|one| (one.verdict, one.low, one.high));
    let all: Vec<_> = of_stacks.chain(of_phases).collect();
    let (low, high) = band(analysis.study.margin);
    let mut words = equal_within(analysis.study.margin);
    let outside = |(verdict, from, to): &(Verdict, Option<f64>, Option<f64>)| {
        *verdict == Verdict::Equivalent && (from.is_some_and(|from| from < low) || to.is_some_and(|to| to > high))
    };
    if all.iter().any(outside) {
        words.push_str(" (one-sided bounds decide it; they lie inside the interval)");
    }
    if all.iter().any(|(verdict, ..)| *verdict == Verdict::NotEnoughData) {
        words.push_str("; open: not enough data");
    }
    words
}

/// The margin, and the ratios between which two stacks are equal.
pub(super) fn equal_within(margin: f64) -> String {
    let (low, high) = band(margin);
    format!("equal: within {}, {} to {}", percent(margin), ratio(low), ratio(high))
}

/// Ratios between which two stacks are equal.
fn band(margin: f64) -> (f64, f64) {
    (1.0 / (1.0 + margin), 1.0 + margin)
}

/// With more ratios than these, only those clear of 1 by more than the margin are on a page, as in a terminal.
const NOT_TESTED_MAX: usize = 400;
/// On a lean page, the farthest from 1 of each phase.
const LEAN_MAX: usize = 5;

/// Ratios that were not tested; where there is little room, those clear of 1 by more than the margin.
pub(super) fn not_tested(source: &Source<'_>) -> Option<Section> {
    let all = &source.analysis.not_tested;
    let margin = source.analysis.study.margin;
    let mut far: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.is_clear(margin)) {
        far.entry(&one.phase).or_default().push(one.ratio.ln().abs());
    }
    for distances in far.values_mut() {
        distances.sort_by(|a, b| b.total_cmp(a));
        distances.truncate(LEAN_MAX);
    }
    let is_far = |one: &NotTested| {
        let last = far.get(&*one.phase).and_then(|distances| distances.last());
        last.is_some_and(|last| one.ratio.ln().abs() >= *last)
    };
    let forms = |one: &NotTested| match (one.is_clear(margin), source.lean) {
        (true, false) => Forms::LONG,
        (true, true) if is_far(one) => Forms::LONG,
        (true, true) => Forms::TERMINAL,
        (false, _) => Forms::FULL_PAGE,
    };
    let rows = all
        .iter()
        .filter(|one| all.len() <= NOT_TESTED_MAX || one.is_clear(margin));
    let rows: Vec<&NotTested> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let columns = [
        column("stack", "", |one: &&NotTested| Cell::Named(source.stack(&one.stack))).of_words(),
        column("of what", "", |one: &&NotTested| Cell::text(&one.what)).of_words(),
        column("ratio", "", |one: &&NotTested| Cell::Number(one.ratio, ratio)),
        column("interval", "", move |one: &&NotTested| {
            let tone = if one.is_clear(margin) { Tone::Clear } else { Tone::Open };
            Cell::interval(one.ratio, [one.low, one.high].map(Some), margin, tone)
        }),
    ];
    let name = |one: &&NotTested| Name::from(one.phase.as_str()).only(forms(one));
    let table = Table::of("Ratios to the base, not tested", "phase", &rows, name, columns);
    let mut words = "Stack over base, each with a plain 95 % interval: no verdict is drawn from them.".to_string();
    if rows.len() < all.len() || source.lean {
        words.push_str(&format!(
            " Of these {} ratios, only those are here whose whole interval lies outside the margin; on a page of very \
             many phases, the farthest of each phase. The JSON form has all.",
            all.len()
        ));
    }
    let title = "Not tested, 95 % interval each (ratio to the base, above 1 is more)";
    let blocks = vec![(Forms::LONG, Block::Table(table)), (Forms::PAGE, Block::Note(words))];
    Section::of("cost", "Cost ratios", title, blocks)
}
