//! Contradictions: each key is fine by itself, together they are not.
//!
//! Takes the study as written (for the places) and as meant; gives findings, each with a cure. Prevents: an hour of
//! building and loading that ends in an error which the file already held.

mod build;
pub(crate) mod engines;
mod files;
mod instances;
mod load;
mod moves;
mod places;
mod slow_motion;

use super::settle::MINUTE;
use crate::error::Findings;
use crate::estimate;
use crate::study::{CopyTarget, Phase, Schedule, Stack, Study, Volume};
use crate::units::Duration;
use crate::written::WrittenStudy;
use places::{kind_place, place};

/// All of them.
pub(super) fn all(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    header(written, study, findings);
    present(written, findings);
    sets(written, study, findings);
    for (w, stack) in written.stacks.iter().zip(&study.stacks) {
        build::stack(w, stack, study, findings);
    }
    models(written, study, findings);
    engines::all(written, study, findings);
    if engines::has_pages(study) {
        load::workers(written, study, findings);
        load::room(written, study, findings);
        load::memory(written, study, findings);
        load::sessions(written, study, findings);
    }
    instances::all(written, study, findings);
    moves::all(written, study, findings);
    snapshots(written, study, findings);
    turns(written, study, findings);
    slow_motion::check(written, study, findings);
    time(written, study, findings);
}

fn header(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let w = &written.header;
    if study.margin.0 <= 0.0 || study.margin.0 >= 1.0 {
        let cure = "write the difference that does not matter to you, above 0% and below 100%: margin = \"5%\"";
        findings.add(
            place(&w.margin, &w.span),
            format!("`margin` cannot be {}", study.margin),
            cure,
        );
    }
    let limits = w.blocks().limits;
    if let Some(blocks) = study.blocks.map(u64::from)
        && (blocks % 2 == 1 || !limits.hold(&blocks))
    {
        let near = limits.nearest(blocks.div_ceil(2) * 2);
        let message = format!("`blocks` cannot be {blocks}: it is an even number from {limits}");
        findings.add(
            place(&w.blocks, &w.span),
            message,
            format!("write blocks = {near}, or \"auto\""),
        );
    }
    if study.blocks.is_some() && study.fill_time {
        let message = "`fill_time` finds the number of `blocks` that the study says already";
        findings.add(place(&w.fill_time, &w.span), message, "leave out one of the two");
    }
}

fn present(written: &WrittenStudy, findings: &mut Findings) {
    if written.stacks.is_empty() {
        let cure = "add at least one: [[stack]], then name, kind, and its LUN set or path";
        findings.add(&written.header.span, "the study has no stack", cure);
    }
    if written.phases.is_empty() {
        let cure = "add at least one: [[phase]], name = \"read\", kind = \"random\", time = \"60s\"";
        findings.add(&written.header.span, "the study has no phase", cure);
    }
}

/// LUN sets that nobody uses: either a stack forgot one, or a device stands there for nothing.
fn sets(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let named = study.stacks.iter().flat_map(Stack::lun_sets);
    if named
        .into_iter()
        .any(|name| study.luns.iter().all(|set| set.name != *name))
    {
        // A misspelt name is reported where it stands; the set it meant is not unused.
        return;
    }
    for set in &written.luns {
        let name = &set.name.value;
        let used = |stack: &Stack| stack.lun_sets().any(|used| used == name);
        let copied = |phase: &Phase| {
            let copy = phase.kind.copy();
            copy.is_some_and(|copy| copy.data.as_ref() == Some(name) || copy.redo.as_ref() == Some(name))
        };
        if !study.stacks.iter().any(used) && !study.phases.iter().any(copied) {
            let cure = format!("write data, redo or temp = \"{name}\" in a stack, or remove the set");
            findings.add(&set.name.span, format!("no stack uses the LUN set {name:?}"), cure);
        }
    }
}

/// A snapshot is taken when the load is over: where nothing is loaded into the stack, it would never be there.
fn snapshots(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let copied_to = |name: &str| {
        let mut copies = study.phases.iter().filter_map(|phase| phase.kind.copy());
        copies.any(|copy| copy.to == CopyTarget::Stack(name.to_string()))
    };
    for (w, stack) in written.stacks.iter().zip(&study.stacks) {
        if !stack.kind.volume().is_some_and(Volume::has_snapshot) {
            continue;
        }
        let cut = study.phases.iter().any(|phase| phase.kind.cut().is_some());
        let why = match () {
            () if stack.engine.files().is_some() => "file serving makes its files as the load grows",
            () if !stack.engine.is_pages() && cut => "a database in SQL is loaded anew for its cuts",
            () if copied_to(&stack.name) => "a copy brings the database to it",
            () => continue,
        };
        let message = format!("no snapshot of {:?} would be taken: {why}", stack.name);
        findings.add(kind_place(w), message, "leave `snapshot` out");
    }
}

/// Stacks that shall take turns within a phase must be able to stand side by side.
fn turns(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let asked = study.schedule == Schedule::Abba;
    if let Some(obstacle) = crate::turns::obstacle(study).filter(|_| asked) {
        let at = place(&written.header.schedule, &written.header.span);
        let message = format!("the stacks cannot take turns: {}", obstacle.why);
        findings.add(at, message, format!("{}, or write schedule = \"whole\"", obstacle.cure));
    }
}

/// A simulated device has a clock of its own; its seconds cannot be compared with real ones.
fn models(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let simulated = |stack: &Stack| stack.kind.model().is_some();
    let Some(real) = study.stacks.iter().find(|stack| !simulated(stack)) else {
        return;
    };
    let Some((w, model)) = written
        .stacks
        .iter()
        .zip(&study.stacks)
        .find(|(_, stack)| simulated(stack))
    else {
        return;
    };
    let message = format!(
        "{:?} is simulated and {:?} is real ({}): they run on different clocks",
        model.name,
        real.name,
        real.kind.word()
    );
    findings.add(kind_place(w), message, "put simulated stacks into a study of their own");
}

/// Four blocks, the least for a verdict (or those the study asks for), must fit into the time limit.
fn time(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let phases: u64 = study
        .phases
        .iter()
        .filter_map(Phase::least_time)
        .fold(0, |sum, t| sum.saturating_add(t.0));
    let blocks = u64::from(study.blocks.unwrap_or(estimate::FEWEST_BLOCKS));
    let stacks = study.stacks.len() as u64;
    let needed = phases.saturating_mul(blocks).saturating_mul(stacks);
    if needed <= study.time_limit.0 {
        return;
    }
    let w = &written.header;
    let minutes = needed.div_ceil(MINUTE);
    let message = format!(
        "`time_limit` is {}, but {blocks} blocks of {stacks} {} with {} of phases need {} for the phases alone",
        study.time_limit,
        if stacks == 1 { "stack" } else { "stacks" },
        Duration(phases),
        Duration(needed),
    );
    let cure = format!(
        "write time_limit = \"{}m\" or more, or shorten the phases",
        minutes + minutes / 4 + 1
    );
    findings.add(place(&w.time_limit, &w.span), message, cure);
}
