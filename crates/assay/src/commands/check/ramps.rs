//! What `check` says about load ramps: how far a rate at a limit scatters, and what more blocks find.
//!
//! Takes a study and its design, gives a row. Prevents: a few ramps that are believed as one long run would be.

use plan::{PhaseKind, Study};
use stats::Design;

/// Standard deviation of the logarithm of block ratios: the rate at the limit of two equal file servers, eight blocks.
/// Source: benches/runs/2026-11-25-twins-ramp.
const SPREAD: f64 = 0.13;

/// The smallest differences that the study finds with its blocks, and with two and four times as many, if it has a
/// phase that is ranked by a rate at a limit.
pub(super) fn words(study: &Study, blocks: u32, comparisons: u32) -> Option<String> {
    let has_limit = |kind: &PhaseKind| matches!(kind, PhaseKind::Files(serving) if serving.until.is_some());
    if !study.phases.iter().any(|phase| has_limit(&phase.kind)) {
        return None;
    }
    let found = [1, 2, 4].map(|times| {
        let design = Design::new(blocks * times, comparisons.max(1), study.margin.0);
        let ratio = stats::detectable(&design, SPREAD);
        format!("{:.0} % with {} blocks", (ratio - 1.0) * 100.0, blocks * times)
    });
    Some(format!(
        "a rate at a limit scatters by {:.0} % between blocks (two equal file servers): differences found are {}",
        SPREAD * 100.0,
        found.join(", ")
    ))
}
