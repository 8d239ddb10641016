//! How fast models play before, between and in the phases of a trial.
//!
//! Takes the stacks of a phase, tells the services of their LUN sets. Prevents: a phase at another speed than the study
//! says, and minutes of reading in slow motion where nothing is measured.

use super::service;
use super::sets::{LunSets, sets_of};
use plan::Stack;

impl LunSets {
    /// A phase comes next, and caches were dropped: what models play from memory lies there again, and from now on they
    /// are as slow as the study is. Until then they play at their devices' own pace.
    pub(crate) fn warm(&self, stack: &Stack) -> anyhow::Result<()> {
        self.warm_all(&[stack])
    }

    /// The same, of stacks that the phase uses together.
    pub(crate) fn warm_all(&self, stacks: &[&Stack]) -> anyhow::Result<()> {
        let services = sets_of(stacks).into_iter().filter_map(|set| self.service(set));
        service::make_ready(&services.collect::<Vec<_>>())
    }

    /// A phase was measured, and its database is still asked: models play at their devices' own pace until the next
    /// [`LunSets::warm`].
    pub(crate) fn end_slow_motion(&self, stack: &Stack) -> anyhow::Result<()> {
        let services = sets_of(&[stack]).into_iter().filter_map(|set| self.service(set));
        service::end_slow_motion(&services.collect::<Vec<_>>())
    }
}
