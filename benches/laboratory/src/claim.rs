//! `laboratory claim`: what a verdict promises, in worlds that keep its conditions and in worlds that do not.
//!
//! Whole studies are drawn and judged by the product's own code; what the sheet says of their blocks is asked of the
//! same code. Takes a number of studies, gives a table. Prevents: a sentence about verdicts that is wider than what
//! was tried.

mod advice;
mod extended;
mod worlds;

use crate::flags;
use crate::outcome::{Failure, print, print_json};
use advice::Truth;
use report::{Simulated, rate_json};
use serde_json::{Value, json};
use stats::{Design, Hidden, Procedure, Rate, Verdict, own_blocks};
use std::fmt::Write;
use worlds::{Draw, Shape, Study, WORLDS, World};

/// Most studies with a false verdict, where the conditions hold.
const PROMISED: f64 = 0.05;
/// The upper limit of their share, with 99 % confidence, may be so much.
const LIMIT: f64 = 0.055;
/// Above this the sheet is owed a line.
const WRONG: f64 = 0.1;
/// In so many of these studies.
const SPEAKS: f64 = 0.8;

const SIZES: [(usize, usize); 3] = [(2, 1), (2, 3), (6, 8)];
const BLOCKS: [usize; 4] = [4, 8, 12, 30];

/// What came of one world and one size of study.
struct Cell {
    world: World,
    shape: Shape,
    /// Studies with a false verdict.
    wrong: Rate,
    /// Comparisons with a verdict that is true.
    told: Rate,
    /// Studies whose last sentence says something false.
    advice: Rate,
    /// Studies whose sheet has a line about their own blocks.
    speaks: Rate,
    /// The others whose sheet says that so few blocks hide as much as this world has.
    hides: Rate,
    blocks_mean: f64,
}

impl Cell {
    /// What is owed and not kept; `None` where all is kept.
    fn missed(&self) -> Option<&'static str> {
        if self.world.covered && self.wrong.upper(0.99) > LIMIT {
            return Some("false verdicts");
        }
        if self.world.covered && self.advice.upper(0.99) > LIMIT {
            return Some("false advice");
        }
        if self.world.covered && self.speaks.is_surely_above(PROMISED) {
            return Some("false alarms");
        }
        // A study with dropped blocks always has a line that says so.
        let drops = self.world.scatter.repeats() > 1;
        let says = self.speaks.share() + self.hides.share();
        let silent = !self.world.covered && !drops && self.wrong.share() > WRONG && says < SPEAKS;
        silent.then_some("the sheet is silent")
    }
}

pub(crate) fn run(flags: &flags::Claim) -> Result<(), Failure> {
    if flags.extended {
        return extended::run(flags);
    }
    let wanted = |world: &World| flags.world.as_deref().is_none_or(|text| world.name.contains(text));
    let mut jobs = Vec::new();
    for world in WORLDS.into_iter().filter(wanted) {
        for (stacks, phases) in SIZES {
            jobs.extend(BLOCKS.map(|blocks| (world, Shape { stacks, phases, blocks })));
        }
    }
    if jobs.is_empty() {
        return Err(Failure::usage("no world has such a name: leave out --world to see all"));
    }
    let cells = each(&jobs, |world, shape| cell(world, shape, flags));
    match flags.json {
        true => print_json(&json!({
            "schema": 1, "studies": flags.studies, "looked_at": flags.looked_at, "seed": flags.seed,
            "cells": cells.iter().map(data).collect::<Vec<_>>(),
        })),
        false => print(&text(&cells, flags)),
    }
    match cells.iter().filter(|cell| cell.missed().is_some()).count() {
        0 => Ok(()),
        missed => Err(Failure::Missed(anyhow::anyhow!(
            "{missed} of {} cells miss what is owed",
            cells.len()
        ))),
    }
}

/// Every job, on all processors.
fn each<C: Send>(jobs: &[(World, Shape)], cell: impl Fn(World, Shape) -> C + Sync) -> Vec<C> {
    let cell = &cell;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let part = |nth: usize| jobs.iter().enumerate().skip(nth).step_by(threads);
        let one = |(nth, (world, shape)): (usize, &(World, Shape))| (nth, cell(*world, *shape));
        let started: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || part(thread).map(one).collect::<Vec<_>>()))
            .collect();
        let mut cells: Vec<(usize, C)> = Vec::new();
        for thread in started {
            cells.extend(thread.join().expect("a simulation does not panic"));
        }
        cells.sort_by_key(|(nth, _)| *nth);
        cells.into_iter().map(|(_, cell)| cell).collect()
    })
}

fn cell(world: World, shape: Shape, flags: &flags::Claim) -> Cell {
    let design = Design::new(shape.blocks as u32, shape.comparisons() as u32, world.margin);
    let procedure = Procedure::new(design);
    let mut simulated = Simulated::new(&design, shape.stacks, shape.phases);
    let drawn = Shape {
        blocks: shape.blocks * world.scatter.repeats(),
        ..shape
    };
    let mut study = Study::new(&world, drawn);
    let mut draw = Draw::new(world, drawn, flags.seed);
    // As the product does it, or as it would be if one invalid phase dropped its block for all.
    let group = |comparison: usize| {
        if flags.whole_blocks {
            0
        } else {
            comparison % shape.phases
        }
    };
    let groups: Vec<usize> = (0..shape.comparisons()).map(group).collect();
    let (mut wrong, mut told, mut advice, mut speaks, mut hides, mut blocks) = (0, 0, 0, 0, 0, 0);
    let looked_at = flags.looked_at.min(flags.studies);
    for nth in 0..flags.studies {
        draw.study(&mut study);
        let decision = procedure.decide_apart(&study.histories, &groups);
        let mut errs = false;
        let run = decision.blocks_run;
        let truths: Vec<f64> = study.truths(run as usize).collect();
        for (one, truth) in decision.comparisons.iter().zip(&truths) {
            match one.verdict {
                Verdict::NotEnoughData => {}
                verdict if verdict.is_false(*truth, world.margin) => errs = true,
                _ => told += 1,
            }
        }
        wrong += u64::from(errs);
        blocks += u64::from(decision.blocks_valid);
        let truth = Truth {
            shape,
            margin: world.margin,
            ratios: &truths,
        };
        advice += u64::from(truth.belies(&simulated.claims(decision, &study.histories)));
        if nth < looked_at {
            let seen = own_blocks(&study.ratios(shape.phases, run as usize));
            let in_run = |hidden: &Hidden| {
                world
                    .scatter
                    .is_hidden(hidden, shape.phases, run as usize, drawn.blocks)
            };
            let hidden = seen.map_or(Hidden::EVERYTHING, |seen| seen.hidden);
            let speaks_now = seen.is_some_and(|seen| seen.doubts().any(|(_, doubt)| doubt.speaks()));
            speaks += u64::from(speaks_now);
            hides += u64::from(!speaks_now && in_run(&hidden));
        }
    }
    let studies = u64::from(flags.studies);
    Cell {
        world,
        shape,
        wrong: Rate::new(wrong, studies),
        told: Rate::new(told, studies * shape.comparisons() as u64),
        advice: Rate::new(advice, studies),
        speaks: Rate::new(speaks, u64::from(looked_at)),
        hides: Rate::new(hides, u64::from(looked_at)),
        blocks_mean: blocks as f64 / studies as f64,
    }
}

fn text(cells: &[Cell], flags: &flags::Claim) -> String {
    let mut text = format!(
        "{} simulated studies a cell, {} of them with a look at their own blocks.\n\
         false: studies with a false verdict, %; told: comparisons with a true verdict, %;\n\
         advice: studies whose last sentence says something false, %;\n\
         says: studies whose sheet has a line about their blocks, %; hides: those whose sheet says\n\
         that so few blocks hide as much as this world has, %; time: valid blocks that a study takes, mean;\n\
         a star: misses what is owed.\n\
         Owed where the conditions hold: false verdicts and advice at most {} %, lines at most {} %;\n\
         elsewhere one of both in {} % of the studies where more than {} % have a false verdict.\n",
        flags.studies,
        flags.looked_at.min(flags.studies),
        PROMISED * 100.0,
        PROMISED * 100.0,
        SPEAKS * 100.0,
        WRONG * 100.0
    );
    let mut world = "";
    for row in cells.chunks(BLOCKS.len()) {
        let first = &row[0];
        if world.is_empty() || first.world.name != world {
            world = first.world.name;
            let kind = if first.world.covered {
                "conditions hold"
            } else {
                "conditions broken"
            };
            let heads: String = BLOCKS
                .iter()
                .map(|blocks| format!("{:>35}", format!("{blocks} blocks")))
                .collect();
            let columns = format!("{:>35}", "false told advice says hides time").repeat(BLOCKS.len());
            let _ = writeln!(text, "{world} ({kind})\n{:>7}{heads}\n{:>7}{columns}", "", "");
        }
        let _ = write!(
            text,
            "{:>7}",
            format!("{} x {}", first.shape.stacks, first.shape.phases)
        );
        for cell in row {
            let percent = |rate: &Rate| rate.share() * 100.0;
            let star = if cell.missed().is_some() { "*" } else { " " };
            let (wrong, told) = (percent(&cell.wrong), percent(&cell.told));
            let (advice, speaks, hides) = (percent(&cell.advice), percent(&cell.speaks), percent(&cell.hides));
            let _ = write!(
                text,
                "{wrong:>7.1}{told:>5.0}{advice:>6.1}{speaks:>5.0}{hides:>5.0}{time:>5.1} {star}",
                time = cell.blocks_mean,
            );
        }
        text.push('\n');
    }
    text
}

fn data(cell: &Cell) -> Value {
    json!({
        "world": cell.world.name,
        "conditions_hold": cell.world.covered,
        "spread": cell.world.spread,
        "margin": cell.world.margin,
        "stacks": cell.shape.stacks,
        "phases": cell.shape.phases,
        "blocks": cell.shape.blocks,
        "false_verdicts": rate_json(&cell.wrong),
        "false_verdicts_upper_99": cell.wrong.upper(0.99),
        "told": rate_json(&cell.told),
        "false_advice": rate_json(&cell.advice),
        "false_advice_upper_99": cell.advice.upper(0.99),
        "sheet_speaks": rate_json(&cell.speaks),
        "sheet_says_hidden": rate_json(&cell.hides),
        "blocks_mean": cell.blocks_mean,
        "misses": cell.missed(),
    })
}
