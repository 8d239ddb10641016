//! Who hears how far a run is. The room does not print, so whoever runs a study brings one of these.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whoever runs a study: hears how far it is, and may end it.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// Hears of the run.
    pub progress: &'a dyn Progress,
    /// Set when the run is to end.
    pub cancel: &'a Arc<AtomicBool>,
}

/// Takes what a run says of itself while it goes on. Counted in phases.
pub trait Progress: Sync {
    /// What is being done now.
    fn doing(&self, text: &str);
    /// Something worth a line of its own.
    fn line(&self, text: &str);
    /// A milestone: a line where nothing else shows it.
    fn milestone(&self, text: &str);
    /// So many phases are done.
    fn advance(&self, phases: u64);
}
