//! `laboratory claim --extended`: studies that go on until everything is decided, by extensions and by new studies.
//!
//! Only worlds that keep the conditions: what is asked is whether going on costs more error than was kept for it. The
//! product's own code judges both ways. Whoever stops earlier has a part of these looks, and no verdict is taken back,
//! so no other rule of stopping errs more often. Prevents: a promise that holds for the first run only.

use super::advice::Truth;
use super::worlds::{Draw, Shape, Study, WORLDS, World};
use super::{BLOCKS, LIMIT, SIZES, each};
use crate::flags;
use crate::outcome::{Failure, print, print_json};
use report::{Simulated, rate_json};
use serde_json::{Value, json};
use stats::{Decision, Design, EXTENSIONS_MAX, GoOn, Procedure, Rate, Reason, Verdict};
use std::fmt::Write;

/// New studies of the naive way, the first among them.
const STUDIES_MAX: usize = 3;

/// What came of one world and one size of study.
struct Cell {
    world: World,
    shape: Shape,
    /// Studies with a false verdict before any extension, and with as many as there are.
    first: Rate,
    extended: Rate,
    /// The same, of studies whose last sentence is false in the end.
    advice: Rate,
    /// Comparisons with a true verdict, before and after.
    told: [Rate; 2],
    /// False verdicts after one, two and three whole studies, each run because the last had left something open.
    anew: [Rate; STUDIES_MAX],
    extensions_mean: f64,
}

impl Cell {
    fn is_kept(&self) -> bool {
        self.extended.upper(0.99) <= LIMIT && self.advice.upper(0.99) <= LIMIT
    }
}

pub(super) fn run(flags: &flags::Claim) -> Result<(), Failure> {
    let wanted = |world: &World| world.covered && flags.world.as_deref().is_none_or(|text| world.name.contains(text));
    let mut jobs = Vec::new();
    for world in WORLDS.into_iter().filter(wanted) {
        for (stacks, phases) in SIZES {
            jobs.extend(BLOCKS.map(|blocks| (world, Shape { stacks, phases, blocks })));
        }
    }
    if jobs.is_empty() {
        return Err(Failure::usage(
            "no world that keeps the conditions has such a name: leave out --world",
        ));
    }
    let cells = each(&jobs, |world, shape| cell(world, shape, flags));
    match flags.json {
        true => print_json(&json!({
            "schema": 1, "studies": flags.studies, "seed": flags.seed,
            "cells": cells.iter().map(data).collect::<Vec<_>>(),
        })),
        false => print(&text(&cells, flags)),
    }
    match cells.iter().filter(|cell| !cell.is_kept()).count() {
        0 => Ok(()),
        missed => Err(Failure::Missed(anyhow::anyhow!(
            "{missed} of {} cells miss what is owed",
            cells.len()
        ))),
    }
}

/// Whether a study has a false verdict, and how many true ones.
fn judged(decision: &Decision, truths: &[f64], margin: f64) -> (bool, u64) {
    let (mut errs, mut told) = (false, 0);
    for (one, truth) in decision.comparisons.iter().zip(truths) {
        match one.verdict {
            Verdict::NotEnoughData => {}
            verdict if verdict.is_false(*truth, margin) => errs = true,
            _ => told += 1,
        }
    }
    (errs, told)
}

fn is_open(decision: &Decision) -> bool {
    decision.go_on == GoOn::Stop(Reason::BlocksUsed)
        && decision
            .comparisons
            .iter()
            .any(|one| one.verdict == Verdict::NotEnoughData)
}

/// Whether a false verdict was among those of up to one, two and three studies.
fn until_none_is_open(mut again: impl FnMut() -> Decision, truths: &[f64], margin: f64) -> [bool; STUDIES_MAX] {
    let (mut errs, mut open) = (false, true);
    [(); STUDIES_MAX].map(|()| {
        if open {
            let decision = again();
            errs |= judged(&decision, truths, margin).0;
            open = is_open(&decision);
        }
        errs
    })
}

fn cell(world: World, shape: Shape, flags: &flags::Claim) -> Cell {
    let design = Design::new(shape.blocks as u32, shape.comparisons() as u32, world.margin);
    let (procedure, extended) = (Procedure::new(design), design.extended(EXTENSIONS_MAX));
    let going_on = Procedure::new(extended);
    let mut simulated = Simulated::new(&extended, shape.stacks, shape.phases);
    let together = vec![0; shape.comparisons()];
    let whole = Shape {
        blocks: shape.blocks * (1 + EXTENSIONS_MAX as usize),
        ..shape
    };
    let (mut long, mut short) = (Study::new(&world, whole), Study::new(&world, shape));
    let mut draw_long = Draw::new(world, whole, flags.seed);
    let mut draw_short = Draw::new(world, shape, flags.seed ^ 0xA4E7);
    let (mut first, mut wrong, mut advice, mut extensions) = (0, 0, 0, 0);
    let (mut told, mut anew) = ([0; 2], [0; STUDIES_MAX]);
    for _ in 0..flags.studies {
        draw_long.study(&mut long);
        let truths: Vec<f64> = long.truths(0).collect();
        let before = procedure.decide(&long.histories);
        let after = going_on.decide(&long.histories);
        let (errs, true_ones) = judged(&before, &truths, world.margin);
        first += u64::from(errs);
        told[0] += true_ones;
        let (errs, true_ones) = judged(&after, &truths, world.margin);
        wrong += u64::from(errs);
        told[1] += true_ones;
        extensions += after.looks.len().saturating_sub(before.looks.len()) as u64;
        let truth = Truth {
            shape,
            margin: world.margin,
            ratios: &truths,
        };
        let said = going_on.decide_apart(&long.histories, &together);
        advice += u64::from(truth.belies(&simulated.claims(said, &long.histories)));
        let again = || {
            draw_short.study(&mut short);
            procedure.decide(&short.histories)
        };
        for (count, errs) in anew.iter_mut().zip(until_none_is_open(again, &truths, world.margin)) {
            *count += u64::from(errs);
        }
    }
    let studies = u64::from(flags.studies);
    let all = studies * shape.comparisons() as u64;
    Cell {
        world,
        shape,
        first: Rate::new(first, studies),
        extended: Rate::new(wrong, studies),
        advice: Rate::new(advice, studies),
        told: told.map(|count| Rate::new(count, all)),
        anew: anew.map(|count| Rate::new(count, studies)),
        extensions_mean: extensions as f64 / studies as f64,
    }
}

fn text(cells: &[Cell], flags: &flags::Claim) -> String {
    let mut text = format!(
        "{} simulated studies a cell, each extended until everything is decided, at most {EXTENSIONS_MAX} times.\n\
         false: studies with a false verdict, %, in the first run and with its extensions;\n\
         told: comparisons with a true verdict, %, before and after;\n\
         advice: studies whose last sentence is false in the end, %;\n\
         anew: false verdicts, %, in up to one, two, three studies instead.\n\
         A star: above {} % with 99 % confidence cannot be ruled out.\n",
        flags.studies,
        LIMIT * 100.0
    );
    let percent = |rate: &Rate| rate.share() * 100.0;
    let mut world = "";
    for cell in cells {
        if world != cell.world.name {
            world = cell.world.name;
            let _ = writeln!(
                text,
                "{world}\n{:>7}{:>8}{:>12}{:>11}{:>8}{:>16}{:>12}",
                "", "blocks", "false", "told", "advice", "anew", "extensions"
            );
        }
        let shape = cell.shape;
        let _ = writeln!(
            text,
            "{:>7}{:>8}{:>6.1} >{:>4.1}{:>5.0} >{:>4.0}{:>8.1}{:>6.1}{:>5.1}{:>5.1}{:>12.1}{}",
            format!("{} x {}", shape.stacks, shape.phases),
            shape.blocks,
            percent(&cell.first),
            percent(&cell.extended),
            percent(&cell.told[0]),
            percent(&cell.told[1]),
            percent(&cell.advice),
            percent(&cell.anew[0]),
            percent(&cell.anew[1]),
            percent(&cell.anew[2]),
            cell.extensions_mean,
            if cell.is_kept() { "" } else { " *" }
        );
    }
    text
}

fn data(cell: &Cell) -> Value {
    json!({
        "world": cell.world.name,
        "stacks": cell.shape.stacks,
        "phases": cell.shape.phases,
        "blocks": cell.shape.blocks,
        "false_verdicts": rate_json(&cell.first),
        "false_verdicts_extended": rate_json(&cell.extended),
        "false_verdicts_extended_upper_99": cell.extended.upper(0.99),
        "false_advice": rate_json(&cell.advice),
        "false_advice_upper_99": cell.advice.upper(0.99),
        "told": rate_json(&cell.told[0]),
        "told_extended": rate_json(&cell.told[1]),
        "false_verdicts_anew": cell.anew.iter().map(rate_json).collect::<Vec<_>>(),
        "extensions_mean": cell.extensions_mean,
        "misses": !cell.is_kept(),
    })
}
