//! `laboratory twins`: how often studies of twins err as they were run, what they find of a planted slowdown, and in
//! how much time.
//!
//! Takes recordings of one study of two stacks that are alike, prints beside `assay calibrate --twins` what only many
//! blocks can say. Prevents: a rate that was drawn from a few blocks and believed as one of many.

pub(crate) mod as_run;
mod block_figures;
pub(crate) mod recordings;
pub(crate) mod slowed;

use crate::fixed::{self, FixedProtocol};
use crate::flags::{self, Drawing};
use crate::outcome::{Failure, print, print_json};
use as_run::Renamed;
use recordings::{Below, Recording};
use report::{DesignOnNoise, MachineNoise, duration, rate_json};
use serde_json::{Value, json};
use slowed::Slowed;
use stats::{Design, SimulationResult};
use std::fmt::Write;
use std::path::PathBuf;

/// Studies of four blocks, none shared, from which at most eight false ones bound the rate at the promise with 95 %
/// confidence.
pub(crate) const STUDIES_AS_RUN: u64 = 300;

/// Blocks and margin of a study that is held beside the fixed protocol: the usual ones.
const BLOCKS_BESIDE_FIXED: u32 = 12;
const MARGIN_BESIDE_FIXED: f64 = 0.05;

/// What the recorded blocks say as the studies that they are, for one design.
pub(crate) struct AsRun {
    /// The names as they were, none of the blocks in two studies; `None` of too few.
    pub(crate) names_kept: Option<SimulationResult>,
    /// The same under other assignments of the names; `None` of too few.
    pub(crate) renamed: Option<Renamed>,
}

/// One phase and ratio beside the fixed protocol.
pub(crate) struct BesideFixed {
    pub(crate) phase: usize,
    pub(crate) true_ratio: f64,
    pub(crate) ours: SimulationResult,
    /// The fixed protocol if all scatter of a run averaged out in its longer ones, and if none did.
    pub(crate) fixed_best: FixedProtocol,
    pub(crate) fixed_worst: FixedProtocol,
    pub(crate) seconds_mean: f64,
}

impl BesideFixed {
    /// Whole blocks, set-up included, over the fixed protocol's runs alone.
    pub(crate) fn time_ratio(&self) -> f64 {
        self.seconds_mean / fixed::seconds_of_two()
    }
}

/// What the files of twins say.
pub(crate) struct Examined {
    pub(crate) noise: MachineNoise,
    /// For each design of the noise.
    pub(crate) as_run: Vec<AsRun>,
    pub(crate) beside: Vec<BesideFixed>,
    /// The same twins with a slowdown below one of them.
    pub(crate) slowed: Option<Slowed>,
}

pub(crate) fn run(flags: &flags::Twins) -> Result<(), Failure> {
    if let Some(path) = &flags.write {
        let text = block_figures::written(&flags.files)?;
        return std::fs::write(path, text).map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())));
    }
    let examined = Examined::read(&flags.files, &flags.slowed, &flags.drawing)?;
    match flags.drawing.json {
        true => print_json(&examined.json()),
        false => print(&examined.text()),
    }
    match examined.noise.objections() {
        all if all.is_empty() => Ok(()),
        all => Err(Failure::Missed(anyhow::anyhow!("{}", all.join("\n")))),
    }
}

impl Examined {
    pub(crate) fn read(files: &[PathBuf], slowed: &[PathBuf], drawing: &Drawing) -> Result<Examined, Failure> {
        let recording = match block_figures::is_meant(files) {
            true => block_figures::read(&files[0])?,
            false => Recording::read(files, Below::Nothing)?,
        };
        // What can be refused comes before what takes its time.
        let slowed = slowed::read(slowed, &recording)?;
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let refused = |error| Failure::usage(format_args!("{}: {error}", names.join(", ")));
        let noise = MachineNoise::of(recording.twins, drawing.studies, drawing.seed).map_err(refused)?;
        let blocks = &noise.twins.blocks;
        let as_run = |one: &DesignOnNoise| AsRun {
            names_kept: as_run::as_run(blocks, &one.design, 1.0, 0),
            renamed: as_run::renamed(blocks, &one.design, drawing.seed),
        };
        Ok(Examined {
            as_run: noise.designs.iter().map(as_run).collect(),
            beside: beside_fixed(&noise),
            slowed: slowed.map(|slowed| Slowed::against(slowed, &noise)),
            noise,
        })
    }

    pub(crate) fn json(&self) -> Value {
        let mut all = self.noise.json();
        for (nth, as_run) in self.as_run.iter().enumerate() {
            let kept = as_run.names_kept.as_ref().map(|found| {
                let mut of = rate_json(&found.false_verdicts);
                of["upper_95"] = json!(found.false_verdicts.upper(0.95));
                of
            });
            let renamed = as_run.renamed.map(|of| {
                json!({
                    "studies": of.studies, "share": of.share,
                    "standard_error": of.error, "upper_95": of.upper(0.95),
                })
            });
            all["designs"][nth]["false_verdicts_as_run"] = json!(kept);
            all["designs"][nth]["false_verdicts_renamed"] = json!(renamed);
        }
        let of_beside = |one: &BesideFixed| {
            json!({
                "phase": self.noise.twins.phases[one.phase],
                "true_ratio": one.true_ratio,
                "found": rate_json(&one.ours.detected),
                "equivalent": rate_json(&one.ours.equivalent),
                "false_verdicts": rate_json(&one.ours.false_verdicts),
                "seconds_mean": one.seconds_mean,
                "time_ratio": one.time_ratio(),
                "fixed_found_at_best": rate_json(&one.fixed_best.found),
                "fixed_found_at_worst": rate_json(&one.fixed_worst.found),
            })
        };
        all["slowed"] = json!(self.slowed.as_ref().map(Slowed::json));
        all["time_to_verdict"] = json!({
            "fixed_seconds": fixed::seconds_of_two(),
            "margin": MARGIN_BESIDE_FIXED,
            "rows": self.beside.iter().map(of_beside).collect::<Vec<_>>(),
        });
        all
    }

    fn text(&self) -> String {
        let mut text = self.noise.text();
        text.push_str(&self.as_run_text());
        text.extend(self.slowed.iter().map(Slowed::text));
        text.push_str(&self.beside_text());
        text
    }

    /// Studies of the blocks as they were run.
    fn as_run_text(&self) -> String {
        let mut text =
            String::from("\nThe blocks as they were run, the names as they were, no block in two studies:\n");
        let designs = || self.noise.designs.iter().map(|one| one.design.blocks).zip(&self.as_run);
        for (blocks, as_run) in designs() {
            let Some(found) = &as_run.names_kept else { continue };
            let rate = &found.false_verdicts;
            let upper = rate.upper(0.95) * 100.0;
            let _ = writeln!(
                text,
                "{blocks:>8} blocks: {} false of {} studies, at most {upper:.1} % with 95 % confidence",
                rate.count, rate.of
            );
        }
        text.push_str("The same studies, either twin called the base in each block:\n");
        for (blocks, as_run) in designs() {
            let Some(found) = &as_run.renamed else { continue };
            let (share, upper) = (found.share * 100.0, found.upper(0.95) * 100.0);
            let _ = writeln!(
                text,
                "{blocks:>8} blocks: {share:.2} % false in {} studies, at most {upper:.1} % with 95 % confidence",
                found.studies
            );
        }
        text
    }

    /// The procedure beside three runs of 300 s, on this noise.
    fn beside_text(&self) -> String {
        let mut text = format!(
            "\nBeside a fixed protocol ({} runs of {:.0} s a stack and phase, Welch's test at 95\n\
             %): what it finds lies between its worst case (a long run scatters as much as\n\
             one of these) and its best (all scatter averages out in it):\n",
            fixed::RUNS,
            fixed::SECONDS
        );
        let share = |rate: &stats::Rate| format!("{:.1} %", rate.share() * 100.0);
        let mut phase = usize::MAX;
        for one in &self.beside {
            if one.phase != phase {
                phase = one.phase;
                let _ = writeln!(
                    text,
                    "  {}\n{:>14} {:>9} {:>20} {:>9} {:>13}",
                    self.noise.twins.phases[phase], "true ratio", "here", "fixed", "time", "of the fixed"
                );
            }
            let is_alike = one.true_ratio == 1.0;
            let of = |found: &stats::Rate, wrong: &stats::Rate| share(if is_alike { wrong } else { found });
            let fixed = |of_fixed: &FixedProtocol| of(&of_fixed.found, &of_fixed.wrong);
            let _ = writeln!(
                text,
                "{:>14} {:>9} {:>20} {:>9} {:>11.1} %",
                fixed::ratio_words(one.true_ratio),
                of(&one.ours.detected, &one.ours.false_verdicts),
                format!("{} to {}", fixed(&one.fixed_worst), fixed(&one.fixed_best)),
                duration(one.seconds_mean),
                one.time_ratio() * 100.0
            );
        }
        text
    }
}

/// Each phase by itself, as the fixed protocol has it: one cell after the other.
fn beside_fixed(noise: &MachineNoise) -> Vec<BesideFixed> {
    let twins = &noise.twins;
    let design = Design::new(BLOCKS_BESIDE_FIXED, 1, MARGIN_BESIDE_FIXED);
    let studies = u64::from(noise.studies);
    let of_phase = |phase: usize| {
        let blocks = as_run::only(&twins.blocks, phase)?;
        let run_sd = twins.blocks.spread(phase) / 2f64.sqrt();
        let averaged = (twins.phase_ns[phase] as f64 / 1e9 / fixed::SECONDS).min(1.0).sqrt();
        let one = |true_ratio: f64| {
            let ours = blocks.simulate(&design, true_ratio, 0, studies, noise.seed);
            let fixed = |run_sd: f64| fixed::drawn(run_sd, true_ratio, studies, noise.seed);
            BesideFixed {
                phase,
                true_ratio,
                ours,
                fixed_best: fixed(run_sd * averaged),
                fixed_worst: fixed(run_sd),
                seconds_mean: ours.blocks_mean * twins.block_ns as f64 / 1e9,
            }
        };
        Some(fixed::RATIOS.map(one))
    };
    (0..twins.phases.len()).filter_map(of_phase).flatten().collect()
}
