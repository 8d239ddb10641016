//! `laboratory twins FILE... --slowed FILE`: a slowdown that was planted below one of two twins, and whether studies
//! found it as often as the twins' own blocks said.
//!
//! Takes recordings of the same twins with and without it, gives both shares for each phase and design. Prevents: a
//! claim of what a machine can tell apart that only ever added a number to recorded ones.

use super::as_run::as_run;
use super::recordings::{Below, Recording};
use crate::belief::Line;
use crate::outcome::Failure;
use report::{MachineNoise, TWIN_BLOCKS_MIN, Twins, duration, rate_json};
use serde_json::{Value, json};
use stats::{Design, Rate, SimulationResult};
use std::fmt::Write;
use std::path::PathBuf;

/// Standard errors that the ratio of all blocks lies below 1 where it is seen at all.
const ERRORS_BELOW_ONE: f64 = 3.0;
/// Of its interval.
const ERRORS_OF_INTERVAL: f64 = 1.96;

/// One phase of the slowed twins.
struct Phase {
    name: String,
    /// Slowed to unslowed, as it was measured over all blocks: middle and 95 % interval.
    ratio: [f64; 3],
    /// The same of the twins without it.
    ratio_before: f64,
    /// One for each design; none where all blocks together do not show that it is slower.
    found: Vec<Found>,
}

/// How often studies of so many blocks found it.
struct Found {
    blocks: u32,
    /// The blocks as they were run, none in two studies.
    as_run: Rate,
    /// The ones that called the slowed stack the better one.
    wrong_way: u64,
    /// Blocks of the twins, drawn, with the measured ratio added.
    drawn: Rate,
}

pub(crate) struct Slowed {
    twins: Twins,
    /// Below which stack what lies.
    planted: String,
    phases: Vec<Phase>,
}

/// Reads what was given, refuses what is not these twins.
pub(crate) fn read(files: &[PathBuf], twins: &Recording) -> Result<Option<Recording>, Failure> {
    let Some(first) = files.first() else {
        return Ok(None);
    };
    let slowed = Recording::read(files, Below::Slowdown)?;
    twins.must_be_of_slowed(&slowed, first)?;
    match slowed.twins.blocks.blocks() {
        blocks if blocks < TWIN_BLOCKS_MIN => Err(Failure::usage(format_args!(
            "{}: {blocks} blocks count, and {TWIN_BLOCKS_MIN} are the fewest that say anything\n  \
             run the study with more `blocks`, or more than once with other seeds",
            first.display()
        ))),
        _ => Ok(Some(slowed)),
    }
}

impl Slowed {
    /// Holds it against the twins.
    pub(crate) fn against(slowed: Recording, noise: &MachineNoise) -> Slowed {
        let twins = slowed.twins;
        let what = slowed.planted.unwrap_or_default();
        Slowed {
            planted: format!("{}: {what}", twins.stacks[1]),
            phases: (0..twins.phases.len()).map(|nth| phase(noise, &twins, nth)).collect(),
            twins,
        }
    }
}

fn phase(noise: &MachineNoise, slowed: &Twins, nth: usize) -> Phase {
    let unslowed = &noise.twins.blocks;
    let (middle, error) = slowed.blocks.offset(nth);
    let half = ERRORS_OF_INTERVAL * error;
    let of_design = |design: &Design| {
        let run = as_run(&slowed.blocks, design, middle.exp(), nth)?;
        let drawn = unslowed.simulate(design, middle.exp(), nth, u64::from(noise.studies), noise.seed);
        Some(Found {
            blocks: design.blocks,
            as_run: run.detected,
            wrong_way: wrong_way(&run),
            drawn: drawn.detected,
        })
    };
    let is_slower = middle < -ERRORS_BELOW_ONE * error;
    let designs = noise.designs.iter().filter(|_| is_slower).map(|one| &one.design);
    Phase {
        name: slowed.phases[nth].clone(),
        ratio: [middle, middle - half, middle + half].map(f64::exp),
        ratio_before: unslowed.offset(nth).0.exp(),
        found: designs.filter_map(of_design).collect(),
    }
}

/// Studies whose first comparison was called the opposite of what is true.
fn wrong_way(of: &SimulationResult) -> u64 {
    of.detected.of - of.detected.count - of.equivalent.count - of.undecided.count
}

impl Slowed {
    pub(crate) fn json(&self) -> Value {
        let found = |one: &Found| {
            json!({
                "blocks": one.blocks,
                "found_as_run": rate_json(&one.as_run),
                "wrong_way_as_run": one.wrong_way,
                "found_by_the_twins": rate_json(&one.drawn),
            })
        };
        let phase = |of: &Phase| {
            let [middle, low, high] = of.ratio;
            json!({
                "phase": of.name,
                "ratio": middle, "low": low, "high": high, "ratio_of_the_twins": of.ratio_before,
                "designs": of.found.iter().map(found).collect::<Vec<_>>(),
            })
        };
        json!({
            "study": self.twins.study,
            "planted": self.planted,
            "blocks_recorded": self.twins.blocks.blocks(),
            "blocks_dropped": self.twins.dropped,
            "phases": self.phases.iter().map(phase).collect::<Vec<_>>(),
        })
    }

    /// For the table of everything.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let line = |what: String, figure: String| Line {
            section: "A slowdown planted below one twin, found as run (by the twins' blocks)",
            what,
            figure,
            owed: None,
            kept: None,
        };
        let of_design = |phase: &Phase, found: &Found| {
            let run = &found.as_run;
            line(
                format!("{}, ratio {:.2}: {} blocks", phase.name, phase.ratio[0], found.blocks),
                format!("{} of {} ({})", run.count, run.of, Line::percent(found.drawn.share())),
            )
        };
        let of_phase = |phase: &Phase| match phase.found.as_slice() {
            [] => vec![line(
                format!("{}, ratio {:.2}", phase.name, phase.ratio[0]),
                "not seen in all blocks together".to_string(),
            )],
            found => found.iter().map(|found| of_design(phase, found)).collect(),
        };
        self.phases.iter().flat_map(of_phase).collect()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "\nA slowdown planted below one of them, {} blocks:\n  {}\n\
             How many studies found it, as they were run, and how many would by the twins'\n\
             blocks with this ratio:\n",
            self.twins.blocks.blocks(),
            self.planted
        );
        for phase in &self.phases {
            let [middle, low, high] = phase.ratio;
            let _ = writeln!(
                text,
                "  {}: ratio {middle:.3} ({low:.3} to {high:.3}); without it {:.3}",
                phase.name, phase.ratio_before
            );
            if phase.found.is_empty() {
                let _ = writeln!(text, "    all blocks together do not show that it is slower");
            }
            for one in &phase.found {
                let run = &one.as_run;
                let _ = writeln!(
                    text,
                    "{:>8} blocks, {:>8}: {} of {}, {} ({} to {}); twins {:.1} %",
                    one.blocks,
                    duration(f64::from(one.blocks) * self.twins.block_ns as f64 / 1e9),
                    run.count,
                    run.of,
                    Line::percent(run.share()),
                    Line::percent(run.low),
                    Line::percent(run.high),
                    one.drawn.share() * 100.0
                );
                if one.wrong_way > 0 {
                    let _ = writeln!(text, "{:>26} the wrong way: {}", "", one.wrong_way);
                }
            }
        }
        text
    }
}
