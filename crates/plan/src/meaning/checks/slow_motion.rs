//! Slow motion: what the study says of it must hold for everything that a stack waits for.
//!
//! Prevents: one device of a stack that is slower by a factor, and another that is not.

use crate::error::Findings;
use crate::study::Study;
use crate::written::WrittenStudy;

pub(super) fn check(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let Some(at) = &written.header.slow_motion else { return };
    if at.value.is_none_or(|times| times <= 1) {
        return;
    }
    let stacks = || study.stacks.iter();
    if !stacks().any(|stack| study.timed_sets(stack).next().is_some()) {
        let message = "`slow_motion` is for LUNs with a `model`, and no stack has any";
        findings.add(
            &at.span,
            message,
            "leave `slow_motion` out, or give the LUN sets a `preset`",
        );
    } else if let Some(mixed) = stacks().find(|stack| study.is_half_timed(stack)) {
        let message = format!("`slow_motion` would slow only a part of the LUNs of {:?}", mixed.name);
        let cure = "give its data and its redo log each a `model` with times, or write slow_motion = 1";
        findings.add(&at.span, message, cure);
    }
}
