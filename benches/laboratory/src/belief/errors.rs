//! The lines of the table that say how often verdicts are false, whether blocks hang together, and what can be told
//! apart.
//!
//! Takes simulated studies and what twins say, gives lines. Prevents: a rate that is called kept because too few
//! studies were asked.

use super::Line;
use crate::twins::{AsRun, Examined, STUDIES_AS_RUN};
use report::{DESIGNS, DesignOnNoise, duration};
use stats::{Calibration, Design, Rate};

/// Confidence of the upper limit of a rate that was drawn, and what it is held to.
const LIMIT_CONFIDENCE: f64 = 0.99;
const LIMIT_MAX: f64 = 0.055;
/// The same of studies that were run.
const LIMIT_CONFIDENCE_RUN: f64 = 0.95;
/// Promised of all studies.
const PROMISE: f64 = 0.05;
/// Correlation of neighbouring blocks that must be told from chance before it is said that there is none: with half of
/// it verdicts of twelve blocks err in 9 of 100 cases.
const CORRELATION_TOLD: f64 = 0.4;
/// Minutes for which is said what can be told apart.
const MINUTES: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// What is held to the promise of 5 %: broken where the rate is surely above it, kept where `upper` lies under its
/// limit. Between the two there are too few studies to say; a procedure that spends the 5 % in full is never called
/// broken by its luck.
fn keeps_promise(rate: &Rate, upper: f64, limit: f64) -> Option<bool> {
    if rate.is_surely_above(PROMISE) {
        return Some(false);
    }
    (upper <= limit).then_some(true)
}

/// Whether the verdicts on equal stacks are as rarely false as promised.
pub(super) fn errs_seldom(rate: &Rate) -> Option<bool> {
    keeps_promise(rate, rate.upper(LIMIT_CONFIDENCE), LIMIT_MAX)
}

fn two_digits(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// All of them.
pub(super) fn simulated(rows: &[Calibration]) -> Vec<Line> {
    let line = |row: &Calibration| {
        let rate = &row.result.false_verdicts;
        let upper = rate.upper(LIMIT_CONFIDENCE);
        Line {
            section: "False verdicts, simulated studies",
            what: row.name.to_string(),
            figure: format!("{} (< {})", two_digits(rate.share()), two_digits(upper)),
            owed: row.promise.map(Line::percent),
            kept: row.promise.and_then(|_| keeps_promise(rate, upper, LIMIT_MAX)),
        }
    };
    rows.iter().map(line).collect()
}

/// Of this machine's twins.
pub(super) fn of_twins(asked: &Examined) -> Vec<Line> {
    let mut lines = Vec::new();
    let designs = || asked.noise.designs.iter().zip(&asked.as_run);
    for (one, as_run) in designs() {
        let Some(found) = &as_run.names_kept else { continue };
        let rate = &found.false_verdicts;
        let upper = rate.upper(LIMIT_CONFIDENCE_RUN);
        lines.push(Line {
            section: "False verdicts, this machine's twins as they were run",
            what: format!("studies of {} blocks", one.design.blocks),
            figure: format!("{} of {} (< {})", rate.count, rate.of, two_digits(upper)),
            owed: Some(Line::percent(PROMISE)),
            kept: keeps_promise(rate, upper, PROMISE).filter(|kept| !kept || rate.of >= STUDIES_AS_RUN),
        });
    }
    lines.extend(designs().map(|(one, as_run)| renamed(one, as_run)));
    lines.extend(wandering(asked));
    lines.extend(told_apart(asked));
    lines
}

/// Either twin as the base in each block. The same blocks under more names say nothing new of the machine: the limit is
/// by the studies that share none, and where those are too few there is none.
fn renamed(one: &DesignOnNoise, as_run: &AsRun) -> Line {
    let line = |section, what, figure, is_broken, is_kept: bool| Line {
        section,
        what,
        figure,
        owed: Some(Line::percent(PROMISE)),
        kept: if is_broken {
            Some(false)
        } else {
            is_kept.then_some(true)
        },
    };
    let blocks = one.design.blocks;
    let Some(found) = &as_run.renamed else {
        let rate = &one.alike.false_verdicts;
        return line(
            "False verdicts, drawn from too few blocks for a limit",
            format!("studies of {blocks} blocks"),
            two_digits(rate.share()),
            rate.is_surely_above(PROMISE),
            false,
        );
    };
    let upper = found.upper(LIMIT_CONFIDENCE_RUN);
    line(
        "False verdicts, the same studies, either twin the base in each block",
        format!("{} studies of {blocks} blocks", found.studies),
        format!("{} (< {})", two_digits(found.share), two_digits(upper)),
        found.is_surely_above(PROMISE),
        upper <= PROMISE,
    )
}

/// Names that are drawn anew hide ratios that stay off to one side for several blocks: that is asked of their order.
fn wandering(asked: &Examined) -> Vec<Line> {
    let line = |(nth, phase): (usize, &String)| {
        let found = asked.noise.twins.blocks.neighbours(nth);
        Line {
            section: "Correlation of neighbouring blocks, this machine's twins",
            what: phase.clone(),
            figure: found.map_or("-".to_string(), |found| format!("{:.2}", found.correlation)),
            owed: Some(found.map_or("a figure".to_string(), |found| format!("{:.2}", found.by_chance))),
            kept: found.and_then(|found| match found.wander() {
                true => Some(false),
                // Chance gives so few blocks as much as would matter.
                false => (found.by_chance <= CORRELATION_TOLD).then_some(true),
            }),
        }
    };
    asked.noise.twins.phases.iter().enumerate().map(line).collect()
}

/// What so many minutes can tell apart: the longest study that fits, drawn from the recorded blocks; worked out from
/// their scatter where twice its blocks were not recorded.
fn told_apart(asked: &Examined) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut last = 0;
    for minutes in MINUTES {
        let fits = |blocks: &u32| asked.noise.seconds(*blocks) <= minutes * 60.0;
        let Some(blocks) = DESIGNS.into_iter().rev().find(fits).filter(|blocks| *blocks > last) else {
            continue;
        };
        last = blocks;
        let drawn = asked.noise.designs.iter().find(|one| one.design.blocks == blocks);
        for (nth, phase) in asked.noise.twins.phases.iter().enumerate() {
            let (found, about) = match drawn {
                Some(one) => (one.smallest_found[nth], ""),
                None => {
                    let design = Design::new(blocks, asked.noise.twins.phases.len() as u32, asked.noise.twins.margin);
                    (
                        Some(stats::detectable(&design, asked.noise.twins.blocks.spread(nth))),
                        "about ",
                    )
                }
            };
            lines.push(Line {
                section: "Smallest difference found by 9 of 10 studies on this machine",
                what: format!(
                    "in {} ({blocks} blocks): {phase}",
                    duration(asked.noise.seconds(blocks))
                ),
                figure: found.map_or("none up to tenfold".to_string(), |ratio| {
                    format!("{about}{:.1} %", (ratio - 1.0) * 100.0)
                }),
                owed: None,
                kept: None,
            });
        }
    }
    lines
}
