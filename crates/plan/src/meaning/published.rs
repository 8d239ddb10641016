//! What `[published]` means: each name on the left is one of the study.
//!
//! Takes the pairs as written and the study; gives [`StandsFor`]. Whether the publication has the names on the right is
//! for those who hold its figures. Prevents: a mapping of a stack that was renamed since.

use crate::error::Findings;
use crate::study::{StandsFor, Study};
use crate::written::{Pairs, WrittenStudy, nearest};

pub(super) fn resolve(written: &WrittenStudy, study: &Study, findings: &mut Findings) -> StandsFor {
    let Some(published) = &written.published else {
        return StandsFor::default();
    };
    if study.published.is_none()
        && let Some((ours, _)) = published.stacks.first().or(published.phases.first())
    {
        findings.add(
            &ours.span,
            "[published] maps names, but [study] names no publication",
            "write published = \"xtremio-2014\" in [study], or remove [published]",
        );
    }
    let stacks: Vec<&str> = study.stacks.iter().map(|stack| stack.name.as_str()).collect();
    let phases: Vec<&str> = study.phases.iter().map(|phase| phase.name.as_str()).collect();
    StandsFor {
        stacks: named(&published.stacks, "stack", &stacks, findings),
        phases: named(&published.phases, "phase", &phases, findings),
    }
}

fn named(pairs: &Pairs, what: &str, names: &[&str], findings: &mut Findings) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (ours, theirs) in pairs {
        if !names.contains(&ours.value.as_str()) {
            let cure = match nearest(&ours.value, names.iter().copied()) {
                Some(near) => format!("did you mean {near:?}? It is ours = theirs"),
                None => format!(
                    "write the name from this study on the left: one of {}",
                    names.join(", ")
                ),
            };
            findings.add(&ours.span, format!("the study has no {what} {:?}", ours.value), cure);
        }
        all.push((ours.value.clone(), theirs.value.clone()));
    }
    all
}
