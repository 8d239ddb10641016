//! Time lines: rate, device traffic, processors and memory over the time of each phase, for hover and zoom.
//!
//! Takes slices and samples, gives the section with its data as JSON; a page's script draws them. Long series are put
//! into parts of equal length, each drawn as its mean, and the page says so. Prevents: a page too large to open, and a
//! point that was left out because it did not fit.

use crate::analysis::{Analysis, ReportError};
use crate::cells::over_time::{Piece, held, is_in_bytes, rates, resampled};
use crate::document::{Block, Chart, Forms, Name, OverTime, Section};
use crate::history::{Book, Seen};
use crate::phase_kind::kind_row;
use crate::sheet::rounds;
use ledger::{Ledger, Sample};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Points of all series together: about five bytes each.
const POINTS_MAX: usize = 150_000;
/// Points of one series of one phase.
const PARTS_MAX: usize = 240;
const PARTS_MIN: usize = 15;
/// Series of one run: rate, device reads, device writes, processors, memory.
const SERIES: usize = 5;

/// Samples of one run by their name.
type Samples = BTreeMap<String, Vec<Sample>>;

/// The parts into which a phase of a block is put.
#[derive(Clone, Copy)]
struct Grid {
    length_ns: u64,
    parts: usize,
}

impl Grid {
    fn means(self, pieces: &[Piece]) -> Vec<Option<f64>> {
        resampled(pieces, self.length_ns, self.parts)
    }

    /// Seconds of a part.
    fn step_s(self) -> f64 {
        self.length_ns as f64 / self.parts as f64 / 1e9
    }
}

/// What is drawn, and from what.
struct Source<'a> {
    ledger: &'a Ledger,
    book: &'a Book,
    analysis: &'a Analysis,
}

pub(super) fn over_time(ledger: &Ledger, book: &Book, analysis: &Analysis) -> Result<Option<Section>, ReportError> {
    let source = &Source { ledger, book, analysis };
    let drawn = drawn(source);
    if drawn.is_empty() {
        return Ok(None);
    }
    let parts = (POINTS_MAX / (drawn.len() * SERIES)).clamp(PARTS_MIN, PARTS_MAX);
    let mut runs = Vec::new();
    let mut phases = Vec::new();
    let mut step_s_max = 0.0f64;
    let mut of_phases: BTreeMap<usize, Vec<&Drawn<'_>>> = BTreeMap::new();
    for one in &drawn {
        of_phases.entry(one.phase).or_default().push(one);
    }
    for (phase, head) in source.book.phases.iter().enumerate() {
        let mine = of_phases.get(&phase).map_or(&[][..], Vec::as_slice);
        let in_bytes = mine.iter().any(|one| is_in_bytes(head.kind, &one.seen.slices));
        phases.push(json!({ "name": head.name, "unit": if in_bytes { "MB/s" } else { "op/s" } }));
        let mut of_blocks: BTreeMap<u32, Vec<&Drawn<'_>>> = BTreeMap::new();
        for one in mine {
            of_blocks.entry(one.block).or_default().push(one);
        }
        for of_block in of_blocks.into_values() {
            let mut series = Vec::new();
            for one in of_block {
                series.push((one, samples_of(source, one.seen)?));
            }
            // The stacks of a block share one grid, so that one moment is one place for all.
            let lengths = series.iter().map(|(one, samples)| length_ns(one.seen, samples));
            let length_ns = lengths.max().unwrap_or(0);
            let grid = Grid { length_ns, parts };
            step_s_max = step_s_max.max(grid.step_s());
            runs.extend(series.iter().map(|(one, samples)| run(one, samples, in_bytes, grid)));
        }
    }
    let chart = chart(source, &drawn, phases, runs);
    let mut blocks = vec![
        (Forms::PAGE, Block::Chart(Chart::OverTime(chart))),
        (Forms::PAGE, Block::Note(note(source, &drawn, parts, step_s_max))),
    ];
    if analysis.study.modelled {
        let words = "A model has no processors and no memory of its own to show.";
        blocks.push((Forms::PAGE, Block::Note(words.into())));
    }
    Ok(Section::of("time", "Over time", "", blocks))
}

/// What is drawn, with what can be chosen.
fn chart(source: &Source<'_>, drawn: &[Drawn<'_>], phases: Vec<Value>, runs: Vec<Value>) -> OverTime {
    let (book, analysis) = (source.book, source.analysis);
    let stacks = analysis.stacks.iter().enumerate();
    let heads: Vec<Value> = stacks
        .clone()
        .map(|(nth, stack)| json!({ "name": stack.name, "mark": format!("s{}", nth % crate::render::MARKS) }))
        .collect();
    let named = |(nth, stack): (usize, &crate::analysis::StackHead)| {
        let mut name = Name::from(stack.name.as_str());
        name.mark = Some(nth);
        (nth, name)
    };
    let of_phases: BTreeSet<usize> = drawn.iter().map(|one| one.phase).collect();
    let of_stacks: BTreeSet<usize> = drawn.iter().map(|one| one.stack).collect();
    let blocks: BTreeSet<u32> = drawn.iter().map(|one| one.block).collect();
    OverTime {
        data: json!({ "stacks": heads, "phases": phases, "runs": runs }),
        phases: (of_phases.into_iter())
            .map(|phase| (phase, book.phases[phase].name.clone()))
            .collect(),
        blocks: blocks.into_iter().collect(),
        stacks: stacks.filter(|(nth, _)| of_stacks.contains(nth)).map(named).collect(),
    }
}

/// A run whose series are drawn.
struct Drawn<'a> {
    stack: usize,
    phase: usize,
    block: u32,
    seen: &'a Seen,
}

/// All valid runs, or those of the first blocks where all would be too many.
fn drawn<'a>(source: &'a Source<'a>) -> Vec<Drawn<'a>> {
    let mut all = Vec::new();
    for (phase, head) in source.book.phases.iter().enumerate() {
        for (stack, of) in source.analysis.stacks.iter().enumerate() {
            for (block, seen) in source.book.by_block(&of.name, &head.name) {
                if seen.is_valid() && seen.slices.len() > 1 {
                    all.push(Drawn {
                        stack,
                        phase,
                        block,
                        seen,
                    });
                }
            }
        }
    }
    let runs_max = POINTS_MAX / (SERIES * PARTS_MIN);
    if all.len() > runs_max {
        let mut blocks: Vec<u32> = all.iter().map(|one| one.block).collect();
        blocks.sort_unstable();
        // As many whole blocks as fit, one at least.
        let last = blocks[runs_max - 1];
        let whole = blocks.iter().filter(|block| **block <= last).count() <= runs_max;
        let limit = if whole { last + 1 } else { last.max(blocks[0] + 1) };
        all.retain(|one| one.block < limit);
    }
    all
}

fn samples_of(source: &Source<'_>, seen: &Seen) -> Result<Samples, ReportError> {
    let mut by_name = Samples::new();
    for sample in source.ledger.samples_of(seen.id)? {
        match by_name.get_mut(&sample.name) {
            Some(of) => of.push(sample),
            None => {
                by_name.insert(sample.name.clone(), vec![sample]);
            }
        }
    }
    Ok(by_name)
}

fn length_ns(seen: &Seen, samples: &Samples) -> u64 {
    let sampled = samples.values().filter_map(|of| of.last()).map(|last| last.at_ns).max();
    let whole = seen.run.elapsed_ns.saturating_add(seen.run.drain_ns);
    // Watching goes on a little after the end; that is no part of the phase.
    sampled.map_or(seen.run.elapsed_ns, |_| whole)
}

fn run(one: &Drawn<'_>, samples: &Samples, in_bytes: bool, grid: Grid) -> Value {
    let seen = one.seen;
    let scaled = |pieces: &[Piece], scale: f64| -> Vec<Value> {
        let values = grid.means(pieces).into_iter();
        values
            .map(|value| value.map_or(Value::Null, |value| rounded(value / scale)))
            .collect()
    };
    let named = |name: &str, scale: f64| match samples.get(name) {
        Some(of) => scaled(&held(of), scale),
        None => Vec::new(),
    };
    let rate = scaled(&rates(seen.run.kind, &seen.slices), if in_bytes { 1e6 } else { 1.0 });
    json!({
        "s": one.stack,
        "p": one.phase,
        "b": one.block,
        "dt": rounded(grid.step_s()),
        "steady": steady_s(seen),
        "rate": rate,
        "reads": named("device.low.read_bytes_per_s", 1e6),
        "writes": named("device.low.write_bytes_per_s", 1e6),
        "cpu": named("cpu.busy_cores", 1.0),
        "memory": memory(samples, grid),
    })
}

/// Own memory and the page cache of the host together, in MiB.
fn memory(samples: &Samples, grid: Grid) -> Vec<Value> {
    let of = |name: &str| samples.get(name).map(|of| grid.means(&held(of)));
    let (Some(own), Some(cache)) = (of("memory.own_bytes"), of("memory.page_cache_bytes")) else {
        return Vec::new();
    };
    let sum = |(own, cache): (Option<f64>, Option<f64>)| match own.zip(cache) {
        Some((own, cache)) => rounded((own + cache) / (1024.0 * 1024.0)),
        None => Value::Null,
    };
    own.into_iter().zip(cache).map(sum).collect()
}

/// Begin and end of the first window that is steady by SNIA's rule and whose level lasts, in seconds. On a schedule the
/// rate is the schedule's, and steady whatever the device does.
fn steady_s(seen: &Seen) -> Value {
    let kind = kind_row(seen.run.kind);
    if !kind.is_random || kind.is_open {
        return Value::Null;
    }
    let Some(rounds) = rounds(&seen.slices) else {
        return Value::Null;
    };
    let round_s = seen.run.elapsed_ns as f64 / 1e9 / rounds.len() as f64;
    match stats::steady(&rounds).from {
        Some(from) => json!([
            rounded(from as f64 * round_s),
            rounded((from + stats::STEADY_WINDOW) as f64 * round_s)
        ]),
        None => Value::Null,
    }
}

/// Three digits that matter, as in the tables; whole numbers as such.
fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { json!(0) } else { Value::Null };
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    let text = format!("{:.*}", digits.clamp(0, 9) as usize, value);
    match text.parse::<f64>() {
        Ok(value) if value.fract() == 0.0 && value.abs() < 9e15 => json!(value as i64),
        Ok(value) => json!(value),
        Err(_) => Value::Null,
    }
}

fn note(source: &Source<'_>, drawn: &[Drawn<'_>], parts: usize, step_s_max: f64) -> String {
    let mut text = format!(
        "For display each phase of a block is put into {parts} parts of equal length (at most {} s each here), each \
         drawn as its mean; the result file has every value. Time counts from the start of a phase, drain included. \
         Steady: the first window that meets SNIA's rule and whose level lasts, a bar for each stack below the rate; \
         shaded where all stacks shown are steady; none where work falls due on a schedule, which sets the rate. \
         Devices: the lowest that can be seen. Memory: the tool's own and the page cache of the host.",
        crate::format::number(step_s_max)
    );
    let valid = source
        .book
        .phases
        .iter()
        .flat_map(|phase| source.analysis.stacks.iter().map(move |stack| (phase, stack)))
        .flat_map(|(phase, stack)| source.book.came_through(&stack.name, &phase.name))
        .filter(|seen| seen.slices.len() > 1)
        .count();
    if valid > drawn.len() {
        text.push_str(&format!(
            " Of {valid} runs the {} of the first blocks are here.",
            drawn.len()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::rounded;
    use serde_json::json;

    #[test]
    fn three_digits_are_kept() {
        for (value, wanted) in [
            (0.0, json!(0)),
            (12345.6, json!(12346)),
            (1.23456, json!(1.23)),
            (20.0, json!(20)),
            (0.000123456, json!(0.000123)),
        ] {
            assert_eq!(rounded(value), wanted);
        }
        assert_eq!(rounded(f64::NAN), json!(null));
    }
}
