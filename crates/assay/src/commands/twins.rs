//! `assay calibrate --twins`: how often the verdict procedure errs on this machine's own noise, and what it can tell apart.
//!
//! Takes a result file of two stacks that are alike, gives rates and ratios for designs of four to twelve blocks.

use super::procedure::rate;
use super::slowed::{self, Slowed};
use super::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use ledger::Ledger;
use report::Twins;
use serde_json::{Value, json};
use stats::{Design, FixedProtocol, Neighbours, Renamed, SimulationResult};
use std::fmt::Write;
use std::path::PathBuf;

/// Blocks of the designs that are asked for: where the procedure looks, and longer ones as far as two studies of them were recorded.
pub(super) const DESIGNS: [u32; 8] = [4, 6, 8, 12, 24, 48, 96, 192];
/// The usual ones, which are asked whatever was recorded.
const BLOCKS_USUAL: u32 = 12;

/// Recorded blocks from which the longest design is not one and the same study again and again.
pub(super) const BLOCKS_MIN: usize = 24;

/// Chance of a false verdict that the procedure promises not to exceed.
const PROMISE: f64 = 0.05;

/// With which a rate is called higher than that: one file in a thousand is by chance.
pub(super) const BROKEN_CONFIDENCE: f64 = 0.999;

/// Studies of four blocks, none shared, from which at most eight false ones bound the rate at the promise with 95 % confidence.
pub(super) const STUDIES_AS_RUN: u64 = 300;

/// Blocks and margin of a study that is held beside the fixed protocol: the usual ones.
const BLOCKS_BESIDE_FIXED: u32 = 12;
const MARGIN_BESIDE_FIXED: f64 = 0.05;
const RATIOS_BESIDE_FIXED: [f64; 5] = [1.0, 0.95, 0.9, 0.8, 0.5];

pub(super) struct Row {
    pub(super) design: Design,
    /// Without a true difference, drawn anew.
    pub(super) alike: SimulationResult,
    /// The same of the blocks as they were run, none in two studies; `None` of too few.
    pub(super) as_run: Option<SimulationResult>,
    /// The same under other assignments of the names; `None` of too few.
    pub(super) renamed: Option<Renamed>,
    /// The smallest ratio found, for each phase.
    pub(super) found: Vec<Option<f64>>,
}

/// One phase and ratio beside the fixed protocol.
pub(super) struct Beside {
    pub(super) phase: usize,
    pub(super) true_ratio: f64,
    pub(super) ours: SimulationResult,
    /// The fixed protocol if all scatter of a run averaged out in its longer ones, and if none did.
    pub(super) fixed_best: FixedProtocol,
    pub(super) fixed_worst: FixedProtocol,
    pub(super) seconds_mean: f64,
}

impl Beside {
    /// Whole blocks, set-up included, over the fixed protocol's runs alone.
    pub(super) fn time_ratio(&self) -> f64 {
        self.seconds_mean / fixed_seconds()
    }
}

pub(super) fn fixed_seconds() -> f64 {
    2.0 * f64::from(stats::FIXED_RUNS) * stats::FIXED_SECONDS
}

/// What a file of twins says.
pub(super) struct Asked {
    pub(super) twins: Twins,
    pub(super) rows: Vec<Row>,
    pub(super) beside: Vec<Beside>,
    /// The same twins with a slowdown below one of them.
    pub(super) slowed: Option<Slowed>,
}

impl Asked {
    pub(super) fn read(flags: &cli::Calibrate) -> Result<Asked, Failure> {
        let twins = joined(&flags.twins, report::twins)?;
        let blocks = twins.blocks.blocks();
        if blocks < BLOCKS_MIN {
            let files: Vec<String> = flags.twins.iter().map(|file| file.display().to_string()).collect();
            return Err(Failure::Usage(anyhow!(
                "{}: {blocks} blocks count, and {BLOCKS_MIN} are the fewest that say anything of the noise\n  run the study with more `blocks`, or more than once",
                files.join(", ")
            )));
        }
        let designs = DESIGNS
            .into_iter()
            .filter(|of| *of <= BLOCKS_USUAL || 2 * *of as usize <= blocks);
        // What can be refused comes before what takes its time.
        let slowed = slowed::read(flags, &twins)?;
        let rows: Vec<Row> = designs.map(|of| row(&twins, of, flags)).collect();
        Ok(Asked {
            slowed: slowed.map(|slowed| Slowed::against(slowed, &twins, &rows, flags)),
            rows,
            beside: beside(&twins, flags),
            twins,
        })
    }

    /// Time of so many blocks, s, without the preparation of the study.
    pub(super) fn seconds(&self, blocks: f64) -> f64 {
        blocks * self.twins.block_ns as f64 / 1e9
    }

    /// The designs that err more often than is promised, as they were drawn.
    fn broken(&self) -> Vec<String> {
        let broken = (self.rows.iter()).filter(|row| row.alike.false_verdicts.lower(BROKEN_CONFIDENCE) > PROMISE);
        broken.map(|row| row.design.blocks.to_string()).collect()
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
    fn objections(&self) -> Vec<String> {
        let mut all = Vec::new();
        let (broken, apart) = (self.broken(), self.apart());
        if !broken.is_empty() {
            all.push(format!(
                "more false verdicts than promised with {} blocks\n  {}",
                broken.join(", "),
                match apart.is_empty() {
                    true => "blocks scatter here as no verdict allows for: use longer phases, or another time of day"
                        .to_string(),
                    false => format!(
                        "the twins are not alike ({}): give them like places, or more blocks",
                        apart.join(", ")
                    ),
                }
            ));
        }
        for (phase, found) in self.wandering() {
            all.push(format!(
                "ratios of neighbouring blocks hang together in {phase}: correlation {:.2}, by chance at most {:.2}\n  \
                 verdicts err more often than they say here (docs/method.md, where it ends): use longer phases, or another time of day",
                found.correlation, found.by_chance
            ));
        }
        all
    }
}

/// Several recordings of one study, one after the other.
pub(super) fn joined(
    files: &[PathBuf],
    read: impl Fn(&Ledger) -> Result<Twins, report::TwinsError>,
) -> Result<Twins, Failure> {
    let mut all: Option<Twins> = None;
    for file in files {
        let ledger = Ledger::open(file).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
        let twins = read(&ledger).map_err(|e| Failure::Usage(anyhow!("{}: {e}", file.display())))?;
        all = Some(match all {
            None => twins,
            Some(before) => (before.followed_by(twins)).map_err(|e| {
                Failure::Usage(anyhow!(
                    "{}: {e}\n  the first is {}",
                    file.display(),
                    files[0].display()
                ))
            })?,
        });
    }
    all.ok_or_else(|| Failure::Usage(anyhow!("give a result file")))
}

fn row(twins: &Twins, blocks: u32, flags: &cli::Calibrate) -> Row {
    let phases = twins.phases.len();
    let design = Design::new(blocks, phases as u32, twins.margin);
    Row {
        design,
        alike: twins
            .blocks
            .simulate(&design, 1.0, 0, u64::from(flags.studies), flags.seed),
        as_run: twins.blocks.as_run(&design, 1.0, 0),
        renamed: twins.blocks.renamed(&design, flags.seed),
        found: (0..phases)
            .map(|phase| twins.blocks.smallest_found(&design, phase, flags.seed))
            .collect(),
    }
}

/// Each phase by itself, as the fixed protocol has it: one cell after the other.
fn beside(twins: &Twins, flags: &cli::Calibrate) -> Vec<Beside> {
    let design = Design::new(BLOCKS_BESIDE_FIXED, 1, MARGIN_BESIDE_FIXED);
    let studies = u64::from(flags.studies);
    let one = |phase: usize, true_ratio: f64| {
        let blocks = twins.blocks.only(phase);
        let ours = blocks.simulate(&design, true_ratio, 0, studies, flags.seed);
        let run_sd = twins.blocks.spread(phase) / 2f64.sqrt();
        let averaged = (twins.phase_ns[phase] as f64 / 1e9 / stats::FIXED_SECONDS)
            .min(1.0)
            .sqrt();
        let fixed = |run_sd: f64| stats::fixed_protocol(run_sd, true_ratio, studies, flags.seed);
        Beside {
            phase,
            true_ratio,
            ours,
            fixed_best: fixed(run_sd * averaged),
            fixed_worst: fixed(run_sd),
            seconds_mean: ours.blocks_mean * twins.block_ns as f64 / 1e9,
        }
    };
    let phases = 0..twins.phases.len();
    phases
        .flat_map(|phase| RATIOS_BESIDE_FIXED.map(|ratio| one(phase, ratio)))
        .collect()
}

pub(super) fn twins(flags: &cli::Calibrate) -> Result<(), Failure> {
    let asked = Asked::read(flags)?;
    if flags.json {
        print_json(&asked.data(flags))?;
    } else {
        print(&text(&asked, flags))?;
    }
    match asked.objections() {
        all if all.is_empty() => Ok(()),
        all => Err(Failure::Run(anyhow!("{}", all.join("\n")))),
    }
}

impl Asked {
    pub(super) fn data(&self, flags: &cli::Calibrate) -> Value {
        let Asked {
            twins,
            rows,
            beside,
            slowed,
        } = self;
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
        let of_row = |row: &Row| {
            let as_run = row.as_run.as_ref().map(|found| {
                let mut of = rate(&found.false_verdicts);
                of["upper_95"] = json!(found.false_verdicts.upper(0.95));
                of
            });
            json!({
                "blocks": row.design.blocks,
                "seconds": self.seconds(f64::from(row.design.blocks)),
                "false_verdicts": rate(&row.alike.false_verdicts),
                "false_verdicts_as_run": as_run,
                "false_verdicts_renamed": row.renamed.map(|of| json!({
                    "studies": of.studies, "share": of.share, "standard_error": of.error, "upper_95": of.upper(0.95),
                })),
                "smallest_found": row.found,
            })
        };
        let of_beside = |one: &Beside| {
            json!({
                "phase": twins.phases[one.phase],
                "true_ratio": one.true_ratio,
                "found": rate(&one.ours.detected),
                "equivalent": rate(&one.ours.equivalent),
                "false_verdicts": rate(&one.ours.false_verdicts),
                "seconds_mean": one.seconds_mean,
                "time_ratio": one.time_ratio(),
                "fixed_found_at_best": rate(&one.fixed_best.found),
                "fixed_found_at_worst": rate(&one.fixed_worst.found),
            })
        };
        json!({
            "schema": 1,
            "study": twins.study,
            "host": twins.host,
            "stacks": twins.stacks,
            "layers": twins.layers,
            "margin": twins.margin,
            "block_seconds": self.seconds(1.0),
            "blocks_recorded": twins.blocks.blocks(),
            "blocks_dropped": twins.dropped,
            "studies": flags.studies,
            "seed": flags.seed,
            "promise": PROMISE,
            "phases": (0..twins.phases.len()).map(of_phase).collect::<Vec<_>>(),
            "designs": rows.iter().map(of_row).collect::<Vec<_>>(),
            "slowed": slowed.as_ref().map(Slowed::data),
            "time_to_verdict": { "fixed_seconds": fixed_seconds(), "margin": MARGIN_BESIDE_FIXED, "rows": beside.iter().map(of_beside).collect::<Vec<_>>() },
        })
    }
}

fn text(asked: &Asked, flags: &cli::Calibrate) -> String {
    let Asked { twins, rows, .. } = asked;
    let blocks = twins.blocks.blocks();
    let mut text = format!(
        "{}: {} against {}, both {}{}\n{blocks} blocks of {:.1} s count, {} were dropped; equivalent means within {:.1} %\n\n",
        twins.study,
        twins.stacks[1],
        twins.stacks[0],
        twins.layers,
        on(&twins.host),
        twins.block_ns as f64 / 1e9,
        twins.dropped,
        twins.margin * 100.0
    );
    for (nth, phase) in twins.phases.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {phase}: blocks scatter by {:.1} %{}",
            twins.blocks.spread(nth) * 100.0,
            hang_together(twins.blocks.neighbours(nth))
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
            time(asked, row),
            found.share() * 100.0,
            format!("{:.2} to {:.2} %", found.low * 100.0, found.high * 100.0),
            PROMISE * 100.0
        );
    }
    let _ = writeln!(
        text,
        "\nThe interval is that of the drawing. {blocks} blocks are {} studies of 12\nthat share no block: more blocks say more of this machine.\n{}\nSmallest difference found in 9 of 10 studies:",
        blocks / 12,
        as_run_text(rows)
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
                time(asked, row)
            );
        }
    }
    text.extend(asked.slowed.iter().map(Slowed::text));
    text.push_str(&beside_text(asked));
    text
}

/// Where it was run; nothing of simulated devices.
pub(super) fn on(host: &str) -> String {
    match host {
        "" => String::new(),
        host => format!(", on {host}"),
    }
}

/// Whether neighbouring blocks do, where that can be told.
fn hang_together(of: Option<Neighbours>) -> String {
    let said = |of: Neighbours| {
        format!(
            ";\n    neighbours correlate by {:.2} (by chance: at most {:.2} in 99 of 100)",
            of.correlation, of.by_chance
        )
    };
    of.map_or(String::new(), said)
}

/// What a study of so many blocks takes, without its preparation.
fn time(asked: &Asked, row: &Row) -> String {
    duration(asked.seconds(f64::from(row.design.blocks)))
}

/// In seconds or minutes.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

/// Studies of the blocks as they were run.
fn as_run_text(rows: &[Row]) -> String {
    let mut text = String::from("\nThe blocks as they were run, the names as they were, no block in two studies:\n");
    for row in rows {
        let Some(found) = &row.as_run else { continue };
        let rate = &found.false_verdicts;
        let _ = writeln!(
            text,
            "{:>8} blocks: {} false of {} studies, at most {:.1} % with 95 % confidence",
            row.design.blocks,
            rate.count,
            rate.of,
            rate.upper(0.95) * 100.0
        );
    }
    text.push_str("The same studies, either twin called the base in each block:\n");
    for row in rows {
        let Some(found) = &row.renamed else { continue };
        let _ = writeln!(
            text,
            "{:>8} blocks: {:.2} % false in {} studies, at most {:.1} % with 95 % confidence",
            row.design.blocks,
            found.share * 100.0,
            found.studies,
            found.upper(0.95) * 100.0
        );
    }
    text
}

/// The procedure beside three runs of 300 s, on this noise.
fn beside_text(asked: &Asked) -> String {
    let mut text = format!(
        "\nBeside a fixed protocol ({} runs of {:.0} s a stack and phase, Welch's test at 95\n%): what it finds lies between its worst case (a long run scatters as much as\none of these) and its best (all scatter averages out in it):\n",
        stats::FIXED_RUNS,
        stats::FIXED_SECONDS
    );
    let share = |rate: &stats::Rate| format!("{:.1} %", rate.share() * 100.0);
    let mut phase = usize::MAX;
    for one in &asked.beside {
        if one.phase != phase {
            phase = one.phase;
            let _ = writeln!(
                text,
                "  {}\n{:>14} {:>9} {:>20} {:>9} {:>13}",
                asked.twins.phases[phase], "true ratio", "here", "fixed", "time", "of the fixed"
            );
        }
        let is_alike = one.true_ratio == 1.0;
        let of = |found: &stats::Rate, wrong: &stats::Rate| share(if is_alike { wrong } else { found });
        let fixed = |of_fixed: &FixedProtocol| of(&of_fixed.found, &of_fixed.wrong);
        let _ = writeln!(
            text,
            "{:>14} {:>9} {:>20} {:>9} {:>11.1} %",
            if is_alike {
                "1 (false)".to_string()
            } else {
                one.true_ratio.to_string()
            },
            of(&one.ours.detected, &one.ours.false_verdicts),
            format!("{} to {}", fixed(&one.fixed_worst), fixed(&one.fixed_best)),
            duration(one.seconds_mean),
            one.time_ratio() * 100.0
        );
    }
    text
}
