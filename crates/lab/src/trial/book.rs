//! Stacks and trials in the result file: begun before their work, ended after it with what came of it.
//!
//! Prevents: a trial that ran and stands nowhere, and stacks ranked that differ by more than what is compared.

use crate::inject;
use crate::instances::ranks::Ranks;
use crate::record;
use crate::signals;
use crate::sizes::Sizes;
use crate::turn::Turn;
use hosts::Cause;
use ledger::{Access, Layers, Ledger, NewTrial, TrialId, TrialStatus};
use plan::{Stack, Study};

/// Comparisons among which the study's error is shared: every stack but the base of its group, in each ranked phase and
/// in its change of each phase that is held against an earlier one. Directories and stacks on LUNs have different
/// numbers of layers under them, and so do LUN files and devices.
pub fn comparisons<'a>(study: &Study, stacks: impl Iterator<Item = &'a Stack>) -> u32 {
    let on_files = |set: &str| {
        let set = study.luns.iter().find(|s| s.name == set);
        set.is_some_and(|s| matches!(s.source, plan::LunSource::Files { .. }))
    };
    let mut groups = std::collections::BTreeSet::new();
    let mut count = 0;
    for stack in stacks {
        let modelled = on_models(study, stack);
        groups.insert((stack.data.as_deref().map(on_files), modelled, stack.engine.word()));
        count += 1;
    }
    ((count - groups.len()) * study.verdicts_of_a_stack()) as u32
}

/// Measures that are the same in all phases of all stacks.
pub(crate) fn fixed(sizes: &Sizes) -> Vec<(ledger::Measure, f64)> {
    vec![
        (ledger::Measure::DataBytes, sizes.shape.data_bytes() as f64),
        (ledger::Measure::EngineCacheBytes, sizes.settings.cache_bytes as f64),
    ]
}

/// The ledger's row of a stack, by which the ledger knows its group.
pub(crate) fn row(ordinal: usize, stack: &Stack, layers: Layers, skipped: Option<ledger::Skipped>) -> ledger::Stack {
    ledger::Stack {
        ordinal: ordinal as u32,
        name: stack.name.clone(),
        kind: stack.kind.word().to_string(),
        layers,
        database: match &stack.engine {
            plan::Engine::Pages | plan::Engine::Files(_) => None,
            engine => Some(engine.word().to_string()),
        },
        data_lun_set: stack.data.clone(),
        redo_lun_set: stack.redo.clone(),
        access: match stack.access {
            plan::Access::Direct => Access::Direct,
            plan::Access::Buffered => Access::Buffered,
        },
        injected: inject::words(&stack.inject),
        skipped,
    }
}

/// Begins the trials of stacks that stand side by side.
pub(crate) fn begun(
    ledger: &mut Ledger,
    study: &Study,
    turns: &[Turn<'_>],
    host: &str,
) -> anyhow::Result<Vec<TrialId>> {
    let begin = |turn: &Turn<'_>| {
        let stack = study.stack_in(turn.block.number, turn.stack);
        Ok(ledger.begin_trial(&new_trial(&stack, turn, host))?)
    };
    turns.iter().map(begin).collect()
}

/// Ends them, all in one: as failed are recorded those of which `result` speaks, which is all that is known where one
/// failed.
pub(crate) fn all_ended(
    ledger: &mut Ledger,
    turns: &[Turn<'_>],
    trials: &[TrialId],
    result: anyhow::Result<()>,
) -> anyhow::Result<()> {
    // Stacks that take turns are on one host.
    let status = came_to(&result, turns.iter().any(|turn| signals::is_set(turn.cancel)), None);
    let ended: Vec<_> = trials.iter().map(|trial| (*trial, status.clone())).collect();
    ledger.end_trials(&ended, record::unix_ns())?;
    result
}

/// `over`: why the ranks of several hosts end. A host that is lost is no wish of the user's.
fn came_to(result: &anyhow::Result<()>, interrupted: bool, over: Option<Cause>) -> TrialStatus {
    match (result, over) {
        (Ok(()), _) => TrialStatus::Done,
        (Err(_), Some(cause)) if !matches!(cause, Cause::Asked { .. }) => TrialStatus::Failed(cause.to_string()),
        (Err(_), _) if interrupted => TrialStatus::Interrupted,
        (Err(error), _) => TrialStatus::Failed(format!("{error:#}")),
    }
}

fn new_trial(stack: &Stack, turn: &Turn<'_>, host: &str) -> NewTrial {
    NewTrial {
        block: turn.block.number,
        position: turn.position,
        stack: stack.name.clone(),
        seed: turn.block.seed,
        host: host.to_string(),
        instance: "1".to_string(),
        lun_set: stack.data.clone().unwrap_or_default(),
        began_unix_ns: record::unix_ns(),
    }
}

/// Runs `work` as a trial of the ledger: begun before, ended after with what came of it. `ranks`: its other hosts.
pub(crate) fn recorded(
    ledger: &mut Ledger,
    stack: &Stack,
    turn: &Turn<'_>,
    (host, ranks): (&str, Option<&Ranks>),
    work: impl FnOnce(&mut Ledger, TrialId) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let trial = ledger.begin_trial(&new_trial(stack, turn, host))?;
    let result = work(ledger, trial);
    let status = came_to(&result, signals::is_set(turn.cancel), ranks.and_then(Ranks::why_over));
    ledger.end_trial(trial, record::unix_ns(), &status)?;
    result
}

/// Whether a stack stands on modelled LUNs.
pub(crate) fn on_models(study: &Study, stack: &Stack) -> bool {
    let of = |name: &String| study.luns.iter().find(|set| set.name == *name);
    let mut sets = stack.lun_sets().filter_map(of);
    sets.any(|set| set.device.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_lost_host_fails_its_trial_with_the_reason_and_a_signal_interrupts_it() {
        let ended = |interrupted, over| came_to(&Err(anyhow!("interrupted")), interrupted, over);
        assert_eq!(ended(true, None), TrialStatus::Interrupted);
        assert_eq!(ended(true, Some(Cause::Asked { rank: 0 })), TrialStatus::Interrupted);
        let lost = ended(true, Some(Cause::Silent { rank: 1, seconds: 5 }));
        assert!(
            matches!(&lost, TrialStatus::Failed(why) if why.starts_with("rank 1 was not heard for 5 s")),
            "{lost:?}"
        );
        assert_eq!(ended(false, None), TrialStatus::Failed("interrupted".into()));
        let late = came_to(&Ok(()), true, Some(Cause::Failed { rank: 1 }));
        assert_eq!(late, TrialStatus::Done);
    }
}
