//! The verdict procedure on a machine's own noise: how often it errs on blocks of twins, and what it can tell apart.
//!
//! Takes blocks of two stacks that are alike, gives rates and ratios for designs of four blocks and more, as text and
//! as JSON. Prevents: an error rate that was promised on a computer's random numbers, and is not kept on the machine of
//! the one who reads it.

use crate::ranking::twins::{Twins, TwinsError};
use serde_json::{Value, json};
use stats::{Design, Neighbours, Rate, SimulationResult};
use std::fmt::Write;

/// Blocks of the designs that are asked for: where the procedure looks, and longer ones as far as two studies of them
/// were recorded.
pub const DESIGNS: [u32; 8] = [4, 6, 8, 12, 24, 48, 96, 192];

/// The usual ones, which are asked whatever was recorded.
const BLOCKS_USUAL: u32 = 12;

/// Recorded blocks from which the longest design is not one and the same study again and again.
pub const TWIN_BLOCKS_MIN: usize = 24;

/// Chance of a false verdict that the procedure promises not to exceed.
const PROMISE: f64 = 0.05;

/// How often the procedure errs, and what it finds, on the noise that twins show.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineNoise {
    /// Where the noise is from.
    pub twins: Twins,
    /// The designs, short ones first.
    pub designs: Vec<DesignOnNoise>,
    /// Studies drawn for each.
    pub studies: u32,
    /// Of the drawing.
    pub seed: u64,
}

/// A design on that noise.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignOnNoise {
    /// The design.
    pub design: Design,
    /// Its studies without a true difference, drawn anew.
    pub alike: SimulationResult,
    /// The smallest ratio that nine of ten studies find, for each phase; `None`: not even tenfold.
    pub smallest_found: Vec<Option<f64>>,
}

impl MachineNoise {
    /// Draws the studies.
    ///
    /// # Errors
    /// Too few blocks.
    pub fn of(twins: Twins, studies: u32, seed: u64) -> Result<MachineNoise, TwinsError> {
        let blocks = twins.blocks.blocks();
        if blocks < TWIN_BLOCKS_MIN {
            return Err(TwinsError::Few { blocks });
        }
        let asked = |of: &u32| *of <= BLOCKS_USUAL || 2 * *of as usize <= blocks;
        let phases = twins.phases.len();
        let on_noise = |blocks: u32| {
            let design = Design::new(blocks, phases as u32, twins.margin);
            let found = |phase: usize| twins.blocks.smallest_found(&design, phase, seed);
            DesignOnNoise {
                design,
                alike: twins.blocks.simulate(&design, 1.0, 0, u64::from(studies), seed),
                smallest_found: (0..phases).map(found).collect(),
            }
        };
        let designs = DESIGNS.into_iter().filter(asked).map(on_noise).collect();
        Ok(MachineNoise {
            designs,
            twins,
            studies,
            seed,
        })
    }

    /// Time of so many blocks, s, without the preparation of the study.
    pub fn seconds(&self, blocks: u32) -> f64 {
        f64::from(blocks) * self.twins.block_ns as f64 / 1e9
    }

    /// The designs that err more often than is promised.
    fn broken(&self) -> Vec<String> {
        let broken = (self.designs.iter()).filter(|one| one.alike.false_verdicts.is_surely_above(PROMISE));
        broken.map(|one| one.design.blocks.to_string()).collect()
    }

    /// Phases whose ratios hang together from block to block.
    fn wandering(&self) -> impl Iterator<Item = (&str, Neighbours)> {
        let phases = self.twins.phases.iter().enumerate();
        phases.filter_map(|(nth, phase)| {
            let found = self.twins.blocks.neighbours(nth)?;
            found.wander().then_some((phase.as_str(), found))
        })
    }

    /// Phases in which one twin was faster throughout: they are not alike.
    fn apart(&self) -> Vec<String> {
        let one = |(nth, phase): (usize, &String)| {
            let (mean, error) = self.twins.blocks.offset(nth);
            let far = mean.abs() > 3.0 * error && mean != 0.0;
            far.then(|| format!("{phase} by {:.1} %", (mean.abs().exp() - 1.0) * 100.0))
        };
        self.twins.phases.iter().enumerate().filter_map(one).collect()
    }

    /// What speaks against verdicts on this machine, with what to do.
    pub fn objections(&self) -> Vec<String> {
        let mut all = Vec::new();
        let (broken, apart) = (self.broken(), self.apart());
        if !broken.is_empty() {
            let cure = match apart.is_empty() {
                true => {
                    "blocks scatter here as no verdict allows for: use longer phases, or another time of day".into()
                }
                false => format!(
                    "the twins are not alike ({}): give them like places, or more blocks",
                    apart.join(", ")
                ),
            };
            let broken = broken.join(", ");
            all.push(format!(
                "more false verdicts than promised with {broken} blocks\n  {cure}"
            ));
        }
        for (phase, found) in self.wandering() {
            all.push(format!(
                "ratios of neighbouring blocks hang together in {phase}: correlation {:.2}, by chance at most {:.2}\n  \
                 verdicts err more often than they say here (docs/method.md, where it ends): use longer phases, \
                 or another time of day",
                found.correlation, found.by_chance
            ));
        }
        all
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let twins = &self.twins;
        let of_phase = |nth: usize| {
            let neighbours = twins.blocks.neighbours(nth);
            let (offset, offset_error) = twins.blocks.offset(nth);
            json!({
                "phase": twins.phases[nth],
                "spread": twins.blocks.spread(nth),
                "seconds": twins.phase_ns[nth] as f64 / 1e9,
                "offset": offset,
                "offset_standard_error": offset_error,
                "neighbours": neighbours.map(|of| json!({ "correlation": of.correlation, "by_chance": of.by_chance })),
            })
        };
        let of_design = |one: &DesignOnNoise| {
            json!({
                "blocks": one.design.blocks,
                "seconds": self.seconds(one.design.blocks),
                "false_verdicts": rate_json(&one.alike.false_verdicts),
                "smallest_found": one.smallest_found,
            })
        };
        json!({
            "schema": 1,
            "study": twins.study,
            "host": twins.host,
            "stacks": twins.stacks,
            "layers": twins.layers,
            "margin": twins.margin,
            "block_seconds": self.seconds(1),
            "blocks_recorded": twins.blocks.blocks(),
            "blocks_dropped": twins.dropped,
            "studies": self.studies,
            "seed": self.seed,
            "promise": PROMISE,
            "phases": (0..twins.phases.len()).map(of_phase).collect::<Vec<_>>(),
            "designs": self.designs.iter().map(of_design).collect::<Vec<_>>(),
        })
    }

    /// As text of 80 columns.
    pub fn text(&self) -> String {
        let blocks = self.twins.blocks.blocks();
        let mut text = self.scatter();
        let _ = writeln!(
            text,
            "\n{} studies a line, each a run of recorded blocks in which it is drawn anew\n\
             which of the two is called the base. A verdict but `equivalent` is false.\n\n\
             {:>8} {:>9} {:>9} {:>18} {:>9}",
            self.studies, "blocks", "time", "false", "95 % interval", "promised"
        );
        for one in &self.designs {
            let found = &one.alike.false_verdicts;
            let _ = writeln!(
                text,
                "{:>8} {:>9} {:>7.2} % {:>18} {:>7.1} %",
                one.design.blocks,
                duration(self.seconds(one.design.blocks)),
                found.share() * 100.0,
                format!("{:.2} to {:.2} %", found.low * 100.0, found.high * 100.0),
                PROMISE * 100.0
            );
        }
        let _ = writeln!(
            text,
            "\nThe interval is that of the drawing. {blocks} blocks are {} studies of 12\n\
             that share no block: more blocks say more of this machine.\n\n\
             Smallest difference found in 9 of 10 studies:",
            blocks / 12
        );
        for (nth, phase) in self.twins.phases.iter().enumerate() {
            let _ = writeln!(text, "  {phase}");
            for one in &self.designs {
                let found = one.smallest_found[nth].map_or("none up to tenfold".to_string(), |ratio| {
                    format!("{:.1} %", (ratio - 1.0) * 100.0)
                });
                let blocks = one.design.blocks;
                let _ = writeln!(
                    text,
                    "{blocks:>8} blocks, {:>8}: {found}",
                    duration(self.seconds(blocks))
                );
            }
        }
        text
    }

    /// Who was measured where, and how the blocks scatter.
    fn scatter(&self) -> String {
        let twins = &self.twins;
        let mut text = format!(
            "{}: {} against {}, both {}{}\n{} blocks of {:.1} s count, {} were dropped; equivalent means within {:.1} \
             %\n\n",
            twins.study,
            twins.stacks[1],
            twins.stacks[0],
            twins.layers,
            twins.on_host(),
            twins.blocks.blocks(),
            self.seconds(1),
            twins.dropped,
            twins.margin * 100.0
        );
        for (nth, phase) in twins.phases.iter().enumerate() {
            let correlated = twins.blocks.neighbours(nth).map_or(String::new(), |of| {
                format!(
                    ";\n    neighbours correlate by {:.2} (by chance: at most {:.2} in 99 of 100)",
                    of.correlation, of.by_chance
                )
            });
            let spread = twins.blocks.spread(nth) * 100.0;
            let _ = writeln!(text, "  {phase}: blocks scatter by {spread:.1} %{correlated}");
        }
        text
    }
}

impl Twins {
    /// ", on HOST"; nothing of simulated devices.
    pub fn on_host(&self) -> String {
        match self.host.as_str() {
            "" => String::new(),
            host => format!(", on {host}"),
        }
    }
}

/// A share of studies with its interval, as JSON.
pub fn rate_json(of: &Rate) -> Value {
    json!({ "share": of.share(), "low": of.low, "high": of.high, "count": of.count, "of": of.of })
}

/// In seconds or minutes.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}
