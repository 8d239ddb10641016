//! `assay calibrate --twins`: how often the verdict procedure errs on this machine's own noise, and what it can tell apart.
//!
//! Takes a result file of two stacks that are alike, gives rates and ratios for designs of four to twelve blocks.

use super::calibrate::rate;
use super::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use ledger::Ledger;
use report::Twins;
use serde_json::{Value, json};
use stats::{Design, SimulationResult};
use std::fmt::Write;
use std::path::Path;

/// Blocks of the designs that are asked for: where the procedure looks.
const BLOCKS: [u32; 4] = [4, 6, 8, 12];

/// Recorded blocks from which the longest design is not one and the same study again and again.
const BLOCKS_MIN: usize = 24;

/// Chance of a false verdict that the procedure promises not to exceed.
const PROMISE: f64 = 0.05;

struct Row {
    design: Design,
    /// Without a true difference.
    alike: SimulationResult,
    /// For each phase.
    found: Vec<Option<f64>>,
}

pub(super) fn twins(file: &Path, flags: &cli::Calibrate) -> Result<(), Failure> {
    let ledger = Ledger::open(file).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    let twins = report::twins(&ledger).map_err(|e| Failure::Usage(anyhow!("{}: {e}", file.display())))?;
    let (blocks, phases) = (twins.blocks.blocks(), twins.phases.len());
    if blocks < BLOCKS_MIN {
        return Err(Failure::Usage(anyhow!(
            "{}: {blocks} blocks count, and {BLOCKS_MIN} are the fewest that say anything of the noise\n  run the study with more `blocks`",
            file.display()
        )));
    }
    let row = |blocks: u32| {
        let design = Design::new(blocks, phases as u32, twins.margin);
        Row {
            design,
            alike: twins
                .blocks
                .simulate(&design, 1.0, 0, u64::from(flags.studies), flags.seed),
            found: (0..phases)
                .map(|phase| twins.blocks.smallest_found(&design, phase, flags.seed))
                .collect(),
        }
    };
    let rows: Vec<Row> = BLOCKS.into_iter().map(row).collect();
    if flags.json {
        print_json(&data(&twins, &rows, flags))?;
    } else {
        print(&text(&twins, &rows, flags))?;
    }
    let broken: Vec<String> = rows
        .iter()
        .filter(|row| row.alike.false_verdicts.low > PROMISE)
        .map(|row| row.design.blocks.to_string())
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(anyhow!(
        "more false verdicts than promised with {} blocks\n  the ratios of neighbouring blocks hang together here: use longer phases, or another time of day",
        broken.join(", ")
    )))
}

fn data(twins: &Twins, rows: &[Row], flags: &cli::Calibrate) -> Value {
    let of_phase = |nth: usize| json!({ "phase": twins.phases[nth], "spread": twins.blocks.spread(nth) });
    let of_row = |row: &Row| {
        json!({
            "blocks": row.design.blocks,
            "seconds": f64::from(row.design.blocks) * twins.block_ns as f64 / 1e9,
            "false_verdicts": rate(&row.alike.false_verdicts),
            "smallest_found": row.found,
        })
    };
    json!({
        "schema": 1,
        "study": twins.study,
        "stacks": twins.stacks,
        "layers": twins.layers,
        "margin": twins.margin,
        "blocks_recorded": twins.blocks.blocks(),
        "blocks_dropped": twins.dropped,
        "studies": flags.studies,
        "seed": flags.seed,
        "promise": PROMISE,
        "phases": (0..twins.phases.len()).map(of_phase).collect::<Vec<_>>(),
        "designs": rows.iter().map(of_row).collect::<Vec<_>>(),
    })
}

fn text(twins: &Twins, rows: &[Row], flags: &cli::Calibrate) -> String {
    let blocks = twins.blocks.blocks();
    let mut text = format!(
        "{}: {} against {}, both {}\n{blocks} blocks of {:.1} s count, {} were dropped; equivalent means within {:.1} %\n\n",
        twins.study,
        twins.stacks[1],
        twins.stacks[0],
        twins.layers,
        twins.block_ns as f64 / 1e9,
        twins.dropped,
        twins.margin * 100.0
    );
    for (nth, phase) in twins.phases.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {phase}: blocks scatter by {:.1} %",
            twins.blocks.spread(nth) * 100.0
        );
    }
    let _ = writeln!(
        text,
        "\n{} studies a line, each a run of recorded blocks in which it is drawn anew\nwhich of the two is called the base. A verdict but `equivalent` is false.\n\n{:>8} {:>9} {:>9} {:>18} {:>9}",
        flags.studies, "blocks", "time", "false", "95 % interval", "promised"
    );
    for row in rows {
        let found = &row.alike.false_verdicts;
        let _ = writeln!(
            text,
            "{:>8} {:>9} {:>7.2} % {:>18} {:>7.1} %",
            row.design.blocks,
            time(twins, row),
            found.share() * 100.0,
            format!("{:.2} to {:.2} %", found.low * 100.0, found.high * 100.0),
            PROMISE * 100.0
        );
    }
    let _ = writeln!(
        text,
        "\nThe interval is that of the drawing. {blocks} blocks are {} studies of 12 that share\nno block: more blocks say more of this machine.\n\nSmallest difference found in 9 of 10 studies:",
        blocks / 12
    );
    for (nth, phase) in twins.phases.iter().enumerate() {
        let _ = writeln!(text, "  {phase}");
        for row in rows {
            let found = row.found[nth].map_or("none up to tenfold".to_string(), |ratio| {
                format!("{:.1} %", (ratio - 1.0) * 100.0)
            });
            let _ = writeln!(
                text,
                "{:>8} blocks, {:>8}: {found}",
                row.design.blocks,
                time(twins, row)
            );
        }
    }
    text
}

/// What a study of so many blocks takes, without its preparation.
fn time(twins: &Twins, row: &Row) -> String {
    let seconds = f64::from(row.design.blocks) * twins.block_ns as f64 / 1e9;
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}
