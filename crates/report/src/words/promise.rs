//! What the verdicts of a study promise, with the condition, in the same words for all forms.
//!
//! Prevents: a promise that drops its condition, and forms that promise different things.

use crate::analysis::StudyHead;
use crate::format::percent;

/// The promise in one short line, with its condition.
pub(crate) fn promise_in_short(study: &StudyHead) -> String {
    format!(
        "All verdicts: {} confidence if blocks are independent and roughly normal.",
        percent(1.0 - study.alpha)
    )
}

/// The promise.
pub(crate) fn promise(study: &StudyHead) -> String {
    let equal = match study.margin > 0.0 {
        true => format!(
            ", and none calls a difference beyond {} equivalent",
            percent(study.margin)
        ),
        false => String::new(),
    };
    format!(
        "No verdict of this study names the wrong direction{equal}. That holds with {} confidence for all of them \
         together, where block ratios are independent and roughly normal.",
        percent(1.0 - study.alpha)
    )
}
