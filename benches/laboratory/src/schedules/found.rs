//! What the record of `laboratory schedules` says: a table of schedules, what a start costs, one line to decide on.
//!
//! Takes the record, gives text of 80 columns or JSON. Prevents: a gain in scatter that was paid for in time, and one
//! that a handful of blocks made up (each has its interval).

use super::dealing::{Dealing, Piece, dealt, mean_square_ratio, root_mean_square, without_places};
use super::{CELLS, Record, Run, SESSIONS, STINTS, WORK_UNIT};
use serde_json::{Value, json};
use stats::Interval;
use std::fmt::Write;

/// Stints of one place in a row, of [`STINTS`]: the last are whole runs.
const LENGTHS: [usize; 5] = [1, 2, 4, 8, 20];
/// Pieces of a block.
const BLOCK: usize = 2 * STINTS;
/// Draws of the bootstrap.
const DRAWS: u32 = 4000;
/// Ends of the windows in which the start of a run is looked at, in cells.
const WINDOWS: [u64; 5] = [1, 2, 5, 10, 20];

/// What was found.
pub(super) struct Found {
    /// Whole runs first.
    rows: Vec<Row>,
    blocks: usize,
    /// Blocks in which a place did nothing.
    empty: usize,
    /// Scatter of pairs of runs that were really whole, and how many.
    really_whole: (f64, usize),
    /// Rate of stints over that of whole runs nearby.
    stint_rate: Option<Interval>,
    /// End of a window in seconds, and its rate over that of the rest of the run.
    start: Vec<(f64, Option<Interval>)>,
}

struct Row {
    name: String,
    stint_seconds: f64,
    /// Root of the mean square of ln(A / B) over the blocks.
    scatter: f64,
    /// Mean square over that of whole runs; `None` of whole runs themselves.
    against: Option<Interval>,
    /// Seconds of a block, loading left out.
    seconds: f64,
    /// What is known after a minute, over what whole runs tell in one.
    per_minute: Option<Interval>,
}

impl Found {
    pub(super) fn of(record: &Record, seed: u64) -> Found {
        let pieces = without_places(&record.pieces, &record.places);
        let whole = Dealing { stint: STINTS };
        let stints = LENGTHS.iter().rev().map(|&stint| Dealing { stint });
        let dealings: Vec<Dealing> = std::iter::once(whole).chain(stints).collect();
        let dealt: Vec<Vec<Option<f64>>> = dealings.iter().map(|one| dealt(&pieces, BLOCK, *one)).collect();
        let blocks = dealt[0].len();
        // A block counts under all schedules or under none.
        let counts: Vec<bool> = (0..blocks).map(|at| dealt.iter().all(|ys| ys[at].is_some())).collect();
        let of = |ys: &Vec<Option<f64>>| -> Vec<f64> {
            ys.iter()
                .zip(&counts)
                .filter(|(_, counts)| **counts)
                .filter_map(|(y, _)| *y)
                .collect()
        };
        let base = of(&dealt[0]);
        let work: f64 = pieces.iter().map(|piece| piece.seconds).sum::<f64>() / blocks.max(1) as f64;
        let between = record.between_seconds / pieces.len().max(1) as f64;
        let seconds = |dealing: &Dealing| work + between * (BLOCK / dealing.stint) as f64;
        let base_seconds = seconds(&whole);
        let row = |(dealing, ys): (&Dealing, &Vec<Option<f64>>)| {
            let ys = of(ys);
            let is_whole = dealing.stint == STINTS;
            let against = mean_square_ratio(&ys, &base, DRAWS, seed).filter(|_| !is_whole);
            let seconds = seconds(dealing);
            let faster = base_seconds / seconds;
            Row {
                name: name(*dealing),
                stint_seconds: dealing.stint as f64 * record.stint_seconds,
                scatter: root_mean_square(&ys),
                against,
                seconds,
                per_minute: against.map(|ratio| Interval {
                    middle: faster / ratio.middle,
                    low: faster / ratio.high,
                    high: faster / ratio.low,
                }),
            }
        };
        Found {
            rows: dealings.iter().zip(&dealt).map(row).collect(),
            blocks,
            empty: counts.iter().filter(|counts| !**counts).count(),
            really_whole: really_whole(&record.whole),
            stint_rate: stint_rate(record, &pieces),
            start: start(record),
        }
    }

    /// The schedule that tells most in a minute.
    fn best(&self) -> &Row {
        // What is not known is no best; of nothing known whole runs are, which every study can have.
        let value = |row: &Row| row.per_minute.map_or(f64::NEG_INFINITY, |gain| gain.middle);
        let best = self.rows.iter().rev().max_by(|a, b| value(a).total_cmp(&value(b)));
        best.expect("whole runs are among the rows")
    }
}

fn name(dealing: Dealing) -> String {
    match dealing.stint {
        STINTS => "whole".to_string(),
        _ => "abba".to_string(),
    }
}

/// Scatter of ln(A / B) of runs that were whole indeed, with what the places differ by taken out; and how many pairs.
fn really_whole(pairs: &[[Run; 2]]) -> (f64, usize) {
    let rate = |run: &Run| run.piece.work / run.piece.seconds;
    let ys: Vec<f64> = pairs
        .iter()
        .map(|[a, b]| (rate(a) / rate(b)).ln())
        .filter(|y| y.is_finite())
        .collect();
    (stats::sd(&ys), ys.len())
}

/// Rate of a round's stints over that of its whole runs, over the rounds.
fn stint_rate(record: &Record, pieces: &[Piece]) -> Option<Interval> {
    let rate = |sum: (f64, f64)| sum.0 / sum.1;
    let add = |sum: (f64, f64), piece: &Piece| (sum.0 + piece.work, sum.1 + piece.seconds);
    let rounds = pieces.chunks_exact((pieces.len() / record.whole.len().max(1)).max(1));
    let ys: Vec<f64> = rounds
        .zip(&record.whole)
        .map(|(stints, pair)| {
            let stints = stints.iter().fold((0.0, 0.0), add);
            let whole = pair.iter().map(|run| &run.piece).fold((0.0, 0.0), add);
            (rate(stints) / rate(whole)).ln()
        })
        .collect();
    stats::ratio_interval(&ys, 0.95)
}

/// Rates in the first moments of whole runs.
fn start(record: &Record) -> Vec<(f64, Option<Interval>)> {
    let last = WINDOWS[WINDOWS.len() - 1] as usize;
    let cell_seconds = record.stint_seconds * STINTS as f64 / CELLS as f64;
    let mean = |cells: &[u64]| cells.iter().sum::<u64>() as f64 / cells.len().max(1) as f64;
    let mut begin = 0;
    WINDOWS
        .iter()
        .map(|&end| {
            let window = begin..end as usize;
            begin = end as usize;
            let ys: Vec<f64> = (record.whole.iter().flatten())
                .filter(|run| run.cells.len() > last)
                .map(|run| (mean(&run.cells[window.clone()]) / mean(&run.cells[last..])).ln())
                .filter(|y| y.is_finite())
                .collect();
            (end as f64 * cell_seconds, stats::ratio_interval(&ys, 0.95))
        })
        .collect()
}

/// "1.23 (0.98 to 1.51)".
fn with_interval(of: Option<Interval>) -> String {
    of.map_or_else(
        || "-".to_string(),
        |i| format!("{} ({} to {})", figure(i.middle), figure(i.low), figure(i.high)),
    )
}

fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

pub(super) fn text(record: &Record, found: &Found) -> String {
    let run = record.stint_seconds * STINTS as f64;
    let mut text = format!(
        "Two equal places, {SESSIONS} sessions read {WORK_UNIT} random pages each time ({}).\n\
         {} blocks of {run:.2} s for each place, recorded in stints of {:.0} ms; every line\n\
         deals out the same seconds. A/B is 1 in truth.\n\n",
        record.method,
        found.blocks,
        record.stint_seconds * 1e3
    );
    let _ = writeln!(
        text,
        "{:<10}{:>8} {:>9}  {:<24}told per minute / whole's",
        "schedule", "stint", "scatter", "variance / whole's"
    );
    for row in &found.rows {
        let _ = writeln!(
            text,
            "{:<10}{:>6.2} s {:>7.2} %  {:<24}{}",
            row.name,
            row.stint_seconds,
            row.scatter * 100.0,
            with_interval(row.against),
            with_interval(row.per_minute)
        );
    }
    let (scatter, pairs) = found.really_whole;
    let _ = writeln!(
        text,
        "\nIn brackets intervals by drawing pairs of neighbouring blocks: 95 % by name,\n\
         they hold the truth in about nine of ten cases. The best of many rows looks\n\
         better than it is. {pairs} pairs of runs that were whole indeed scatter by {:.2} %.",
        scatter * 100.0
    );
    if found.empty > 0 {
        let _ = writeln!(
            text,
            "{} blocks in which a place did nothing do not count.",
            found.empty
        );
    }
    let stints = record.pieces.len().max(1) as f64;
    let _ = writeln!(
        text,
        "\nA stint of {:.0} ms has {} of a whole run's rate, lasts {:.1} ms\n\
         longer until what is under way has ended, and the next begins {:.2} ms later.",
        record.stint_seconds * 1e3,
        with_interval(found.stint_rate),
        record.beyond_seconds / stints * 1e3,
        record.between_seconds / stints * 1e3
    );
    text.push_str("Operations that end in the first moments of a run, over those of its later\npart:\n");
    for (end, ratio) in &found.start {
        let _ = writeln!(text, "  until {:>5.0} ms   {}", end * 1e3, with_interval(*ratio));
    }
    let _ = writeln!(
        text,
        "Making and loading a place took {:.1} s; each block of a study pays it,\n\
         whatever its schedule. What one set-up differs from the next by is not in here.\n",
        record.load_seconds
    );
    text.push_str(&verdict(found));
    text
}

/// One line to decide on.
fn verdict(found: &Found) -> String {
    let best = found.best();
    match best.per_minute {
        None => "Too few blocks to say which schedule tells most in a minute: give more --minutes.\n".to_string(),
        Some(gain) if gain.low <= 1.0 => format!(
            "No schedule is shown to tell more in a minute than whole runs; the best was\n{} in stints of {:.2} s.\n",
            best.name, best.stint_seconds
        ),
        Some(gain) => format!(
            "{} in stints of {:.2} s tells most:\nas much in a minute as whole runs in {}.\n",
            best.name,
            best.stint_seconds,
            figure(gain.middle) + " minutes"
        ),
    }
}

fn interval(of: Option<Interval>) -> Value {
    of.map_or(
        Value::Null,
        |i| json!({ "middle": i.middle, "low": i.low, "high": i.high }),
    )
}

pub(super) fn json(record: &Record, found: &Found) -> Value {
    let rows = found.rows.iter().map(|row| {
        json!({
            "schedule": row.name,
            "stint_seconds": row.stint_seconds,
            "scatter": row.scatter,
            "variance_to_whole": interval(row.against),
            "block_seconds": row.seconds,
            "told_per_minute_to_whole": interval(row.per_minute),
        })
    });
    let best = found.best();
    let stints = record.pieces.len().max(1) as f64;
    json!({
        "schema": 1,
        "method": record.method,
        "sessions": SESSIONS,
        "work_unit": WORK_UNIT,
        "run_seconds": record.stint_seconds * STINTS as f64,
        "blocks": found.blocks,
        "blocks_empty": found.empty,
        "schedules": rows.collect::<Vec<_>>(),
        "really_whole": { "scatter": found.really_whole.0, "pairs": found.really_whole.1 },
        "stint": {
            "seconds": record.stint_seconds,
            "rate_to_whole": interval(found.stint_rate),
            "beyond_seconds": record.beyond_seconds / stints,
            "between_seconds": record.between_seconds / stints,
        },
        "start": found.start.iter()
            .map(|(end, ratio)| json!({ "until_seconds": end, "rate_to_later": interval(*ratio) })).collect::<Vec<_>>(),
        "load_seconds": record.load_seconds,
        "best": { "schedule": best.name, "stint_seconds": best.stint_seconds },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two places on a machine that gets slower by a tenth over the record, with a little noise of each stint's own.
    fn record() -> Record {
        let pieces = 12 * BLOCK;
        let noise = |at: usize| 1.0 + 0.02 * ((at * 7919 % 101) as f64 / 50.0 - 1.0);
        let piece = |at: usize| Piece {
            work: 100.0 * (1.0 - 0.1 * at as f64 / pieces as f64) * noise(at),
            seconds: 0.26,
        };
        let run = |work| Run {
            piece: Piece { work, seconds: 10.0 },
            cells: (0..CELLS).map(|cell| if cell == 0 { 5 } else { 20 }).collect(),
        };
        Record {
            stint_seconds: 0.25,
            method: "ring",
            pieces: (0..pieces).map(piece).collect(),
            places: (0..pieces).map(|at| at % 2).collect(),
            whole: (0..4).map(|at| [run(3800.0), run(3850.0 + f64::from(at))]).collect(),
            between_seconds: 0.002 * pieces as f64,
            beyond_seconds: 0.01 * pieces as f64,
            load_seconds: 1.0,
        }
    }

    #[test]
    fn a_drift_makes_turns_tell_more_and_the_table_fits() {
        let record = record();
        let found = Found::of(&record, 1);
        let whole = &found.rows[0];
        assert!(whole.against.is_none() && whole.scatter > 0.004, "{}", whole.scatter);
        let best = found.best();
        let gain = best.per_minute.expect("stints tell more");
        assert!(best.name != "whole" && gain.low > 1.5, "{gain:?}");
        assert!(best.seconds > whole.seconds, "every change of turns takes its time");
        let text = text(&record, &found);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("tells most"), "{text}");
        assert!(text.contains("0.25 (0.25 to 0.25)"), "the first cells of a run: {text}");
        let data = json(&record, &found);
        assert_eq!(data["schedules"].as_array().map(Vec::len), Some(6));
        assert_eq!(data["best"]["schedule"], best.name);
    }
}
