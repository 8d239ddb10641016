//! An ageing of several passes with phases repeated after each: written once, run as phases of their own.
//!
//! Takes the study as written, in which `after_each` names the phases that follow the ageing; gives it with "ageing 1",
//! "aged scan 1", "ageing 2", "aged scan 2" ... in their place. Prevents: a measurement after the first pass that
//! is taken for one after the last, because both have one name.

mod controls;

pub(crate) use controls::added as controls_added;

use crate::error::Findings;
use crate::written::{PhaseWord, WrittenPhase, WrittenStudy};

/// Puts what is repeated into the study as often as it is run.
pub(crate) fn expand(written: &mut WrittenStudy, findings: &mut Findings) {
    controls::expand(written, findings);
    let mut phases = std::mem::take(&mut written.phases).into_iter().peekable();
    let mut all = Vec::new();
    while let Some(phase) = phases.next() {
        let Some(after_each) = phase.after_each.clone() else {
            all.push(phase);
            continue;
        };
        let mut group = vec![phase];
        for name in &after_each.value {
            let next = phases.next_if(|next| next.name.as_ref().is_some_and(|at| at.value == *name));
            match next {
                Some(next) if is_repeated(&next) => group.push(next),
                Some(next) => {
                    let message = format!("{name:?} cannot be repeated: only {} are", PhaseWord::repeated());
                    findings.add(&after_each.span, message, "take it out of `after_each`");
                    group.push(next);
                }
                None => {
                    let message = format!("`after_each` names {name:?}, which does not follow here");
                    let cure = "write the phases to repeat directly below the ageing, in the order of `after_each`";
                    findings.add(&after_each.span, message, cure);
                }
            }
        }
        let passes = group[0].passes();
        if passes.outside().is_none() && passes.value() > 1 && kind(&group[0]) == Some(PhaseWord::Age) {
            repeat(&group, passes.value(), written, &mut all);
        } else {
            all.append(&mut group);
        }
    }
    written.phases = all;
}

fn kind(phase: &WrittenPhase) -> Option<PhaseWord> {
    phase.kind.as_ref().map(|at| at.value)
}

/// Whether an ageing may have it after each pass.
fn is_repeated(phase: &WrittenPhase) -> bool {
    kind(phase).is_some_and(|kind| kind.row().repeated.is_some())
}

fn repeat(group: &[WrittenPhase], passes: u64, written: &mut WrittenStudy, all: &mut Vec<WrittenPhase>) {
    let names: Vec<String> = group
        .iter()
        .filter_map(|one| Some(one.name.as_ref()?.value.clone()))
        .collect();
    for pass in 1..=passes {
        for phase in group {
            let mut phase = phase.clone();
            (phase.passes, phase.after_each) = (None, None);
            let Some(name) = &mut phase.name else { continue };
            let (before, after) = (name.value.clone(), format!("{} {pass}", name.value));
            name.value.clone_from(&after);
            // What is held against a phase of the group is held against that of its own pass.
            if let Some(against) = &mut phase.against
                && names.contains(&against.value)
            {
                against.value = format!("{} {pass}", against.value);
            }
            let section = format!("phase.{before}");
            let mut said: Vec<(String, String)> = Vec::new();
            for (of, key) in &written.said {
                if *of == section && key != "passes" && key != "after_each" {
                    said.push((format!("phase.{after}"), key.clone()));
                }
            }
            written.said.extend(said);
            all.push(phase);
        }
    }
}
