//! Phases: what is done, how long, by whom.
//!
//! Takes the phases as written; gives [`Phase`]s, with what all kinds have in common; each kind is read in
//! [`super::kinds`]. Prevents: a phase that never ends, and one held against another that has no figure in common.

use super::cuts;
use super::kinds::{Asked, Reader};
use super::settle::Settle;
use crate::error::Span;
use crate::study::kind::{Ends, Ranking};
use crate::study::{LunSet, Phase, PhaseKind};
use crate::units::Duration;
use crate::written::{StackWord, WrittenPhase, WrittenStack, WrittenStudy, nearest};

pub(super) fn resolve(written: &WrittenStudy, luns: &[LunSet], settle: &mut Settle<'_>) -> Vec<Phase> {
    settle.unique(written.phases.iter().map(|phase| &phase.name), "phase");
    let reader = Reader::of(written, settle);
    let mut phases = Vec::new();
    for phase in &written.phases {
        let Some(word) = &phase.kind else { continue };
        let name = settle.name(&phase.name, "phase");
        let Asked { kind, usual } = reader.read(word.value, phase, settle);
        let time = phase.time().or(usual);
        check_time(time.value(), time.span(&phase.span), &kind, settle);
        let faults = cuts::faults(phase, luns, settle);
        let ranked = ranked(phase, &kind, !faults.is_empty(), settle);
        let against = against(phase, &kind, &phases, settle);
        phases.push(Phase {
            name,
            kind,
            time: time.value(),
            rest: rest(phase, written, settle),
            ranked,
            against,
            faults,
        });
    }
    phases
}

/// Idle time before it begins.
fn rest(phase: &WrittenPhase, written: &WrittenStudy, settle: &mut Settle<'_>) -> Duration {
    let key = phase.rest();
    let simulated = |stack: &WrittenStack| stack.kind.as_ref().is_some_and(|at| at.value == StackWord::Model);
    if let Some(at) = key.outside() {
        let message = format!("a phase cannot rest {}", at.value);
        settle.findings.add(&at.span, message, "write at most rest = \"1h\"");
    } else if let Some(at) = key.written.filter(|at| at.value.0 > 0)
        && written.stacks.iter().any(simulated)
    {
        let cure = "remove `rest`, or use stacks that this machine builds";
        settle
            .findings
            .add(&at.span, "a simulated device has nothing to rest from", cure);
    }
    key.value()
}

/// Compared between stacks unless the study says no; where it cannot be, or hardly makes sense, unless it says yes.
fn ranked(phase: &WrittenPhase, kind: &PhaseKind, broken: bool, settle: &mut Settle<'_>) -> bool {
    let (message, cure) = match kind.own().ranking() {
        Ranking::Usual => return phase.ranked().or_if(broken, false).value(),
        Ranking::Asked => return phase.ranked().or(false).value(),
        Ranking::Never(told) => told,
    };
    if let Some(at) = phase.ranked.as_ref().filter(|at| at.value) {
        settle.findings.add(&at.span, message, cure);
    }
    false
}

fn check_time(time: Option<Duration>, span: &Span, kind: &PhaseKind, settle: &mut Settle<'_>) {
    let (message, cure) = match (time, kind.own().ends()) {
        (Some(_), Ends::Work(told)) | (None, Ends::Time(told)) => told,
        (Some(Duration(0)), _) => ("a phase cannot last 0s", "write how long it runs: time = \"60s\""),
        _ => return,
    };
    settle.findings.add(span, message, cure);
}

/// The earlier phase that this one is held against: one whose figure means the same.
fn against(phase: &WrittenPhase, kind: &PhaseKind, earlier: &[Phase], settle: &mut Settle<'_>) -> Option<String> {
    let at = phase.against.as_ref()?;
    let Some(other) = earlier.iter().find(|other| other.name == at.value) else {
        let names = earlier.iter().map(|other| other.name.as_str());
        let cure = match nearest(&at.value, names) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "name a phase that comes before this one, as `against = \"fresh scan\"`".to_string(),
        };
        settle
            .findings
            .add(&at.span, format!("no phase {:?} comes before this one", at.value), cure);
        return None;
    };
    let is_open = |kind: &PhaseKind| kind.own().is_open();
    if std::mem::discriminant(kind) != std::mem::discriminant(&other.kind) || is_open(kind) != is_open(&other.kind) {
        let message = format!(
            "{:?} is a phase of another kind: the two have no figure in common",
            at.value
        );
        settle.findings.add(
            &at.span,
            message,
            "hold a scan against a scan, random work against random work, both with a `rate` or both without",
        );
        return None;
    }
    Some(at.value.clone())
}
