//! Who hears how far a run is. The room does not print, so whoever runs a study brings one of these.

use report::Analysis;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Whoever runs a study: hears how far it is, and may end it.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// Hears of the run.
    pub progress: &'a dyn Progress,
    /// Set when the run is to end.
    pub cancel: &'a Arc<AtomicBool>,
}

/// A block that is done, and what the study says with it.
pub struct BlockDone<'a> {
    /// From 1.
    pub number: u32,
    /// Blocks fixed beforehand.
    pub planned: u32,
    /// How long it took.
    pub took: Duration,
    /// About how much longer the study may take; it may end earlier. `None` at its end.
    pub left: Option<Duration>,
    /// The analysis that decides whether the study goes on.
    pub analysis: &'a Analysis,
}

/// Takes what a run says of itself while it goes on. Counted in phases.
pub trait Progress: Sync {
    /// What is being done now.
    fn doing(&self, text: &str);
    /// Something worth a line of its own.
    fn line(&self, text: &str);
    /// A milestone: a line where nothing else shows it.
    fn milestone(&self, text: &str);
    /// A block is done and judged.
    fn judged(&self, block: &BlockDone<'_>);
    /// So many phases are done.
    fn advance(&self, phases: u64);
}
