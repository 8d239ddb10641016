//! Where a study runs: a host with LUNs and root's tools, or a model. One trait, so that the story of a run is told once.

use crate::inject;
use crate::model::modelled;
use crate::progress::Progress;
use crate::record;
use crate::result_file::{self, Opening};
use crate::signals;
use crate::sizes::Sizes;
use crate::trial::phases::Around;
use ledger::{Ledger, NewTrial, TrialId, TrialStatus};
use plan::{Block, CopyTarget, PhaseKind, Stack, StackKind, Stints, Study, Turns};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a trial is told.
pub struct Turn<'a> {
    pub(crate) block: &'a Block,
    pub(crate) position: u32,
    pub(crate) stack: usize,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a Arc<AtomicBool>,
}

/// A place where trials can be run.
pub trait Site {
    /// Makes the result file.
    fn open_result(&mut self, path: &Path) -> anyhow::Result<Ledger>;

    /// Says once what the stacks are.
    fn describe(&mut self, ledger: &mut Ledger) -> anyhow::Result<()>;

    /// Whether this stack takes no part (its reason stands in the result file).
    fn skips(&self, stack: usize) -> bool;

    /// Whether its clock is the wall's.
    fn keeps_real_time(&self) -> bool;

    /// How the stacks of a block take turns; known once the site is described.
    fn turns(&self) -> &Turns;

    /// Builds, loads, drives in turns and takes down the stacks of a block, each by its own turn. Everything that was finished is in
    /// the ledger, whatever comes back.
    fn side_by_side(&mut self, ledger: &mut Ledger, turns: &[Turn<'_>], stints: &Stints) -> anyhow::Result<()>;

    /// Builds, loads, drives and takes down one stack. Everything that was finished is in the ledger, whatever comes back.
    fn trial(&mut self, ledger: &mut Ledger, turn: &Turn<'_>) -> anyhow::Result<()>;
}

/// Stacks of kind `model`.
pub struct ModelSite<'a> {
    study: &'a Study,
    sizes: Sizes,
    run_id: String,
    turns: Turns,
    /// Simulated time of the study so far; it matters to devices that drift.
    clock_ns: u64,
}

impl<'a> ModelSite<'a> {
    /// A model of each stack of the study.
    ///
    /// # Errors
    /// Data that no model has room for.
    pub fn new(study: &'a Study, run_id: String) -> anyhow::Result<ModelSite<'a>> {
        let usable = study.stacks.iter().filter_map(|stack| match &stack.kind {
            StackKind::Model(model) => Some(model.size.0),
            _ => None,
        });
        let sizes = crate::sizes::sizes(study, usable.min())?;
        Ok(ModelSite {
            turns: study.turns(),
            study,
            sizes,
            run_id,
            clock_ns: 0,
        })
    }
}

impl Site for ModelSite<'_> {
    fn open_result(&mut self, path: &Path) -> anyhow::Result<Ledger> {
        let opening = Opening {
            study: self.study,
            blocks: plan::estimate(self.study, 1 << 30).blocks(self.study),
            comparisons: comparisons(self.study, self.study.stacks.iter()),
            method: "model",
            run_id: &self.run_id,
            modelled: true,
        };
        result_file::create(path, &opening)
    }

    fn describe(&mut self, ledger: &mut Ledger) -> anyhow::Result<()> {
        for (ordinal, stack) in self.study.stacks.iter().enumerate() {
            ledger.stack(&row(ordinal, stack, "model", None))?;
            if let StackKind::Model(model) = &stack.kind {
                let facts = vec![
                    ("device".to_string(), "modelled, in virtual time".to_string()),
                    ("service".to_string(), model.service.to_string()),
                    ("spread".to_string(), model.spread.to_string()),
                    ("parallel".to_string(), model.parallel.to_string()),
                    ("flush".to_string(), model.flush.to_string()),
                    ("cached".to_string(), model.cached.to_string()),
                ];
                let drift = (model.drift.0 > 0.0).then(|| ("drift".to_string(), format!("{} a minute", model.drift)));
                let facts = facts.into_iter().chain(drift).collect();
                result_file::facts(ledger, &format!("stack:{}", stack.name), facts)?;
            }
        }
        result_file::schedule(ledger, &self.turns)
    }

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn side_by_side(&mut self, ledger: &mut Ledger, turns: &[Turn<'_>], stints: &Stints) -> anyhow::Result<()> {
        let (study, sizes, clock_ns) = (self.study, &self.sizes, self.clock_ns);
        let trials = begun(ledger, study, turns, "model")?;
        let ended = modelled::side_by_side(study, sizes, (turns, &trials), stints, clock_ns, ledger);
        self.clock_ns = *ended.as_ref().unwrap_or(&clock_ns);
        all_ended(ledger, turns, &trials, ended.map(|_| ()))
    }

    fn skips(&self, _: usize) -> bool {
        false
    }

    fn keeps_real_time(&self) -> bool {
        false
    }

    fn trial(&mut self, ledger: &mut Ledger, turn: &Turn<'_>) -> anyhow::Result<()> {
        let stack = &self.study.stacks[turn.stack];
        let StackKind::Model(model) = &stack.kind else {
            unreachable!("the plan does not mix modelled and real stacks")
        };
        let (study, sizes, clock_ns) = (self.study, &self.sizes, &mut self.clock_ns);
        recorded(ledger, stack, turn, "model", |ledger, trial| {
            let home = modelled::home(model, stack, sizes, turn, *clock_ns)?;
            let mut devices = vec![(stack.name.clone(), Some(home), false)];
            for (nth, target) in study.stacks.iter().enumerate() {
                // Each its own luck, and another than it has as a home.
                let seed = turn.block.seed ^ ((nth as u64 + 1) << 48);
                if let StackKind::Model(model) = &target.kind
                    && copied_to(study, &target.name)
                {
                    let device = modelled::device(model, target.inject, sizes, seed)?;
                    devices.push((target.name.clone(), Some(device), false));
                }
            }
            let around = Around {
                study,
                sizes: Some(sizes),
                trial,
                stack: &stack.name,
                turn,
                fixed: fixed(sizes),
            };
            let around = &around;
            *clock_ns = modelled::ModelTrial { around, devices }.drive(ledger)?;
            Ok(())
        })
    }
}

/// Whether a phase copies the database to this stack.
fn copied_to(study: &Study, name: &str) -> bool {
    study.phases.iter().any(|phase| match &phase.kind {
        PhaseKind::Copy(copy) => copy.to == CopyTarget::Stack(name.to_string()),
        _ => false,
    })
}

/// Comparisons among which the study's error is shared: in each ranked phase every stack but the base of its group, and every
/// stack with itself in each phase that is held against an earlier one.
/// Directories and stacks on LUNs have different numbers of layers under them, and so do LUN files and devices.
pub fn comparisons<'a>(study: &Study, stacks: impl Iterator<Item = &'a Stack>) -> u32 {
    let ranked = study.phases.iter().filter(|p| p.ranked).count();
    let on_files = |set: &str| {
        let set = study.luns.iter().find(|s| s.name == set);
        set.is_some_and(|s| matches!(s.source, plan::LunSource::Files { .. }))
    };
    let mut groups = std::collections::BTreeSet::new();
    let mut count = 0;
    for stack in stacks {
        let modelled = crate::host::site::on_models(study, stack);
        groups.insert((stack.data.as_deref().map(on_files), modelled, stack.engine.word()));
        count += 1;
    }
    let against = study.phases.iter().filter(|p| p.against.is_some()).count();
    ((count - groups.len()) * ranked + count * against) as u32
}

/// Measures that are the same in all phases of all stacks.
pub(crate) fn fixed(sizes: &Sizes) -> Vec<(ledger::Measure, f64)> {
    vec![
        (ledger::Measure::DataBytes, sizes.shape.data_bytes() as f64),
        (ledger::Measure::EngineCacheBytes, sizes.settings.cache_bytes as f64),
    ]
}

/// Stacks of one group are ranked against each other: as many layers under them, the same database on them.
fn group(stack: &Stack, layers: &str) -> String {
    // What a model answers is never ranked with what a device did, nor with what was only served by way of one.
    let modelled = match layers.split('/').find_map(|layer| layer.strip_prefix("modelled ")) {
        Some("plain" | "plain for the data" | "plain for the log") => "modelled as plain files, ",
        Some(_) => "modelled devices, ",
        None => "",
    };
    let count = layers.split('/').count();
    match &stack.engine {
        plan::Engine::Pages => format!("{modelled}{count} layers"),
        engine => format!("{modelled}{count} layers, {}", engine.word()),
    }
}

/// The ledger's row of a stack. Stacks with as many layers under them as each other are of one group.
pub(crate) fn row(ordinal: usize, stack: &Stack, layers: &str, skipped: Option<ledger::Skipped>) -> ledger::Stack {
    ledger::Stack {
        ordinal: ordinal as u32,
        name: stack.name.clone(),
        kind: kind_word(&stack.kind).to_string(),
        layers: layers.to_string(),
        group: group(stack, layers),
        data_lun_set: stack.data.clone(),
        redo_lun_set: stack.redo.clone(),
        access: match stack.access {
            plan::Access::Direct => "direct".to_string(),
            plan::Access::Buffered => "buffered".to_string(),
        },
        injected: inject::words(&stack.inject),
        skipped,
    }
}

/// The kind as the study writes it.
pub fn kind_word(kind: &StackKind) -> &'static str {
    match kind {
        StackKind::Directory { .. } => "directory",
        StackKind::Raw => "raw",
        StackKind::Ext4 { .. } => "ext4",
        StackKind::Xfs { .. } => "xfs",
        StackKind::Btrfs { .. } => "btrfs",
        StackKind::Diskgroup { .. } => "diskgroup",
        StackKind::Server { .. } => "server",
        StackKind::Zfs(_) => "zfs",
        StackKind::Model(_) => "model",
    }
}

/// Begins the trials of stacks that stand side by side.
pub(crate) fn begun(
    ledger: &mut Ledger,
    study: &Study,
    turns: &[Turn<'_>],
    host: &str,
) -> anyhow::Result<Vec<TrialId>> {
    let begin = |turn: &Turn<'_>| Ok(ledger.begin_trial(&new_trial(&study.stacks[turn.stack], turn, host))?);
    turns.iter().map(begin).collect()
}

/// Ends them, all in one: as failed are recorded those of which `result` speaks, which is all that is known where one failed.
pub(crate) fn all_ended(
    ledger: &mut Ledger,
    turns: &[Turn<'_>],
    trials: &[TrialId],
    result: anyhow::Result<()>,
) -> anyhow::Result<()> {
    let interrupted = turns.iter().any(|turn| signals::is_set(turn.cancel));
    let status = match &result {
        Ok(()) => TrialStatus::Done,
        Err(_) if interrupted => TrialStatus::Interrupted,
        Err(error) => TrialStatus::Failed(format!("{error:#}")),
    };
    let ended: Vec<_> = trials.iter().map(|trial| (*trial, status.clone())).collect();
    ledger.end_trials(&ended, record::unix_ns())?;
    result
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

/// Runs `work` as a trial of the ledger: begun before, ended after with what came of it.
pub(crate) fn recorded(
    ledger: &mut Ledger,
    stack: &Stack,
    turn: &Turn<'_>,
    host: &str,
    work: impl FnOnce(&mut Ledger, TrialId) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let trial = ledger.begin_trial(&new_trial(stack, turn, host))?;
    let result = work(ledger, trial);
    let status = match &result {
        Ok(()) => TrialStatus::Done,
        Err(_) if signals::is_set(turn.cancel) => TrialStatus::Interrupted,
        Err(error) => TrialStatus::Failed(format!("{error:#}")),
    };
    ledger.end_trial(trial, record::unix_ns(), &status)?;
    result
}
