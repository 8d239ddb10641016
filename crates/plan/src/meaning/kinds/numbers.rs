//! Keys that hold one number or several.
//!
//! Prevents: a list that one kind of phase reads and another takes for its first number.

use crate::meaning::settle::Settle;
use crate::written::{At, Limits, Numbers, Said};

/// Steps of a load curve, row counts of a bulk load.
const STEPS_MAX: usize = 32;

/// The one number that a key of this phase must hold, if it was said.
pub(super) fn one_of(key: &Said<'_, Numbers>, settle: &mut Settle<'_>) -> Option<At<u64>> {
    let at = key.written?;
    let [value] = *at.value.0.as_slice() else {
        let message = format!("`{}` takes one number here", key.key);
        settle
            .findings
            .add(&at.span, message, format!("write {} = 10", key.key));
        return None;
    };
    let span = at.span.clone();
    Some(At { value, span })
}

/// Each number of a list, from 1 to `most`.
pub(super) fn counts(key: &Said<'_, Numbers>, most: u64, settle: &mut Settle<'_>) -> Vec<u32> {
    let number = |number: &u64| u32::try_from(*number).unwrap_or(u32::MAX);
    let usual = || key.usual.0.iter().map(number).collect();
    let Some(at) = key.written else { return usual() };
    if at.value.0.is_empty() || at.value.0.len() > STEPS_MAX {
        let message = format!("`{}` lists {} numbers", key.key, at.value.0.len());
        settle
            .findings
            .add(&at.span, message, format!("write 1 to {STEPS_MAX} of them"));
        return usual();
    }
    let limits = Limits::from(1..=most);
    let mut all = Vec::new();
    for value in &at.value.0 {
        let (value, span) = (*value, at.span.clone());
        all.push(settle.within(key.key, &At { value, span }, &limits).unwrap_or(1));
    }
    all
}
