//! A control without ageing: what time alone does to the stacks of a study, measured before they age.
//!
//! Takes the study as written, in which an ageing says `control`; gives it with a rest and the phases that are held
//! against an earlier one in front of that ageing, as phases of their own. Prevents: a stack that slows by itself
//! within a trial, and its slowdown called ageing.

use crate::error::{Findings, Span};
use crate::units::Duration;
use crate::written::{At, PhaseWord, WrittenPhase, WrittenStudy};

/// What a control is called after.
const CONTROL: &str = "control";

/// Puts rests and what is measured after them into the study.
pub(crate) fn expand(written: &mut WrittenStudy, findings: &mut Findings) {
    let phases = std::mem::take(&mut written.phases);
    for (nth, phase) in phases.iter().enumerate() {
        let is_age = phase.kind.as_ref().is_some_and(|kind| kind.value == PhaseWord::Age);
        if let Some(control) = phase.control.as_ref().filter(|_| is_age) {
            let measured: Vec<&WrittenPhase> = measured(&phases, nth).collect();
            if measured.is_empty() {
                let message = format!(
                    "a control has nothing to measure: none of the {} after this ageing is held `against` a phase \
                     before it",
                    PhaseWord::repeated()
                );
                let cure = "say `against = \"...\"` on a phase after the ageing, or take `control` away";
                findings.add(&control.span, message, cure);
            } else {
                let rest = rest(phase, control);
                written.said.extend(keys_of(&rest));
                written.phases.push(rest);
            }
            for later in measured {
                let copy = copy(later, written);
                written.phases.push(copy);
            }
        }
        written.phases.push(WrittenPhase {
            control: None,
            ..phase.clone()
        });
    }
}

/// Phases that the control of this ageing adds.
pub(crate) fn added(phases: &[WrittenPhase], ageing: usize) -> usize {
    match phases[ageing].control {
        Some(_) => 1 + measured(phases, ageing).count(),
        None => 0,
    }
}

/// The phases after the ageing that are held against one before it, up to the next ageing.
fn measured(phases: &[WrittenPhase], ageing: usize) -> impl Iterator<Item = &WrittenPhase> {
    let kind = |phase: &WrittenPhase| phase.kind.as_ref().map(|kind| kind.value);
    let is_before = move |name: &str| {
        let mut before = phases[..ageing].iter().filter_map(|phase| phase.name.as_ref());
        before.any(|at| at.value == name)
    };
    let later = phases[ageing + 1..]
        .iter()
        .take_while(move |phase| kind(phase) != Some(PhaseWord::Age));
    later.filter(move |phase| {
        let held = phase.against.as_ref().is_some_and(|against| is_before(&against.value));
        held && kind(phase).is_some_and(|kind| kind.row().repeated.is_some())
    })
}

fn at<T>(value: T, span: &Span) -> Option<At<T>> {
    Some(At {
        value,
        span: span.clone(),
    })
}

/// "ageing control", which has its name from the ageing.
fn named(name: Option<&At<String>>) -> Option<At<String>> {
    name.map(|name| At {
        value: format!("{} {CONTROL}", name.value),
        span: name.span.clone(),
    })
}

/// One session that reads one page and then thinks until the time is over.
fn rest(ageing: &WrittenPhase, control: &At<Duration>) -> WrittenPhase {
    let span = &control.span;
    WrittenPhase {
        span: ageing.span.clone(),
        name: named(ageing.name.as_ref()),
        kind: at(PhaseWord::Random, span),
        time: at(Some(control.value), span),
        ranked: at(false, span),
        update_pct: at(0, span),
        sessions: at(1, span),
        work_unit: at(1, span),
        think_tm_frequency: at(1, span),
        think_tm_min: at(control.value, span),
        think_tm_max: at(control.value, span),
        ..WrittenPhase::default()
    }
}

fn keys_of(rest: &WrittenPhase) -> Vec<(String, String)> {
    let section = section(rest);
    let keys = [
        "time",
        "ranked",
        "update_pct",
        "sessions",
        "work_unit",
        "think_tm_frequency",
        "think_tm_min",
        "think_tm_max",
    ];
    keys.map(|key| (section.clone(), key.to_string())).to_vec()
}

fn section(phase: &WrittenPhase) -> String {
    format!("phase.{}", phase.name.as_ref().map_or("", |name| &name.value))
}

/// The same work, not ranked by itself: only its change since the earlier phase is.
fn copy(later: &WrittenPhase, written: &mut WrittenStudy) -> WrittenPhase {
    let copy = WrittenPhase {
        name: named(later.name.as_ref()),
        ranked: at(false, &later.span),
        ..later.clone()
    };
    let (from, to) = (section(later), section(&copy));
    let keys = written.said.iter().filter(|(of, _)| *of == from);
    let mut said: Vec<(String, String)> = keys.map(|(_, key)| (to.clone(), key.clone())).collect();
    said.push((to, "ranked".to_string()));
    written.said.extend(said);
    copy
}
