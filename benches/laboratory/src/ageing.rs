//! `laboratory ageing`: whether a slowdown within each trial reads as ageing, and whether ageing is found.
//!
//! Studies of fresh and aged phases are drawn and judged by the product's own code: the stacks in each phase, and the
//! contrast of their changes. Beside it stands what was wrong to do: each stack's own change judged alone. Takes a
//! number of studies, gives a table. Prevents: a verdict on ageing that a warm processor can give.

mod worlds;

use crate::flags;
use crate::outcome::{Failure, print, print_json};
use report::rate_json;
use serde_json::{Value, json};
use stats::{Decision, Design, Procedure, Rate, Verdict};
use std::fmt::Write;
use worlds::{Draw, Shape, Study, WORLDS, World};

/// Most studies with a false verdict, where the conditions hold.
const PROMISED: f64 = 0.05;
/// The upper limit of their share, with 99 % confidence, may be so much.
const LIMIT: f64 = 0.055;

/// Stacks, and pairs of a fresh and an aged phase.
const SIZES: [(usize, usize); 3] = [(2, 1), (2, 2), (6, 4)];
const BLOCKS: [usize; 4] = [4, 8, 12, 30];

/// What came of one world and one size of study.
struct Cell {
    world: World,
    shape: Shape,
    /// Studies with a false verdict of any kind.
    wrong: Rate,
    /// Studies with a false verdict on a contrast.
    wrong_contrast: Rate,
    /// Contrasts of the last stack with a verdict that is true.
    told: Rate,
    /// Studies in which a stack's own change, judged alone, gets a false verdict.
    alone: Rate,
}

impl Cell {
    fn is_missed(&self) -> bool {
        self.world.covered && self.wrong.upper(0.99) > LIMIT
    }
}

/// Runs the command.
pub(crate) fn run(flags: &flags::Drawing) -> Result<(), Failure> {
    let mut jobs = Vec::new();
    for world in WORLDS {
        for (stacks, pairs) in SIZES {
            jobs.extend(BLOCKS.map(|blocks| (world, Shape { stacks, pairs, blocks })));
        }
    }
    let cells: Vec<Cell> = jobs.iter().map(|(world, shape)| cell(*world, *shape, flags)).collect();
    match flags.json {
        true => print_json(&json!({
            "schema": 1, "studies": flags.studies, "seed": flags.seed,
            "cells": cells.iter().map(data).collect::<Vec<_>>(),
        })),
        false => print(&text(&cells, flags.studies)),
    }
    match cells.iter().filter(|cell| cell.is_missed()).count() {
        0 => Ok(()),
        missed => Err(Failure::Missed(anyhow::anyhow!(
            "{missed} of {} cells have more false verdicts than are owed",
            cells.len()
        ))),
    }
}

/// Whether a verdict among these is false.
fn errs(decision: &Decision, truths: &[f64], margin: f64) -> bool {
    let judged = decision.comparisons.iter().zip(truths);
    judged
        .into_iter()
        .any(|(one, truth)| one.verdict.is_false(*truth, margin))
}

fn cell(world: World, shape: Shape, flags: &flags::Drawing) -> Cell {
    let design = |comparisons: usize| Design::new(shape.blocks as u32, comparisons as u32, world.margin);
    let procedure = Procedure::new(design(shape.between() + shape.contrasts()));
    let before = Procedure::new(design(shape.between() + shape.changes()));
    let mut draw = Draw::new(world, shape, flags.seed);
    let mut study = Study::new(shape);
    let (truths, own_truths) = (world.truths(shape), world.own_truths(shape));
    let (mut wrong, mut wrong_contrast, mut told, mut alone) = (0, 0, 0, 0);
    for _ in 0..flags.studies {
        draw.study(&mut study);
        let decision = procedure.decide(&study.judged);
        wrong += u64::from(errs(&decision, &truths, world.margin));
        let contrasts = decision.comparisons[shape.between()..].iter();
        let of: Vec<_> = contrasts.zip(&truths[shape.between()..]).collect();
        let false_one = |(one, truth): &(&stats::Judged, &f64)| one.verdict.is_false(**truth, world.margin);
        wrong_contrast += u64::from(of.iter().any(false_one));
        let last = &of[of.len() - shape.pairs..];
        let true_one = |one: &&(&stats::Judged, &f64)| one.0.verdict != Verdict::NotEnoughData && !false_one(one);
        told += last.iter().filter(true_one).count() as u64;
        let own = before.decide(&study.judged_alone);
        let own = own.comparisons[shape.between()..].iter().zip(&own_truths);
        let mut own = own.map(|(one, truth)| one.verdict.is_false(*truth, world.margin));
        alone += u64::from(own.any(|is_false| is_false));
    }
    let studies = u64::from(flags.studies);
    Cell {
        world,
        shape,
        wrong: Rate::new(wrong, studies),
        wrong_contrast: Rate::new(wrong_contrast, studies),
        told: Rate::new(told, studies * shape.pairs as u64),
        alone: Rate::new(alone, studies),
    }
}

fn text(cells: &[Cell], studies: u32) -> String {
    let mut text = format!(
        "{studies} simulated studies a cell; sizes: stacks x pairs of a fresh and an aged phase.\n\
         false: studies with a false verdict, %; cont: with one on a contrast, %;\n\
         told: contrasts of the last stack with a true verdict, %;\n\
         own: studies with a false verdict where each stack's own change is judged, %.\n\
         Owed where the conditions hold: false verdicts at most {} %. A star: missed.\n",
        PROMISED * 100.0
    );
    let mut world = "";
    for row in cells.chunks(BLOCKS.len()) {
        let first = &row[0];
        if world.is_empty() || first.world.name != world {
            world = first.world.name;
            let kind = match first.world.covered {
                true => "conditions hold",
                false => "conditions broken",
            };
            let heads = BLOCKS.map(|blocks| format!("{:>24}", format!("{blocks} blocks")));
            let columns = format!("{:>24}", "false cont told own ").repeat(BLOCKS.len());
            let _ = writeln!(
                text,
                "{world} ({kind})\n{:>6}{}\n{:>6}{columns}",
                "",
                heads.concat(),
                ""
            );
        }
        let size = format!("{} x {}", first.shape.stacks, first.shape.pairs);
        let _ = write!(text, "{size:>6}");
        for cell in row {
            let percent = |rate: &Rate| rate.share() * 100.0;
            let star = if cell.is_missed() { "*" } else { " " };
            let _ = write!(
                text,
                "{:>8.1}{:>5.1}{:>5.0}{:>5.0}{star}",
                percent(&cell.wrong),
                percent(&cell.wrong_contrast),
                percent(&cell.told),
                percent(&cell.alone)
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
        "pairs": cell.shape.pairs,
        "blocks": cell.shape.blocks,
        "false_verdicts": rate_json(&cell.wrong),
        "false_verdicts_upper_99": cell.wrong.upper(0.99),
        "false_contrasts": rate_json(&cell.wrong_contrast),
        "told": rate_json(&cell.told),
        "own_change_false": rate_json(&cell.alone),
        "misses": cell.is_missed(),
    })
}
