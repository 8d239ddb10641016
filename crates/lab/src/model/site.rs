//! Stacks of kind `model` as the place where a study runs: simulated devices in virtual time.

use crate::model::modelled;
use crate::result_file::{self, Opening};
use crate::site::Site;
use crate::sizes::Sizes;
use crate::trial::around::Around;
use crate::trial::book;
use crate::turn::Turn;
use ledger::{FactName, Layers, Ledger, Scope};
use plan::{CopyTarget, PhaseKind, StackKind, Stints, Study, Turns};
use std::path::Path;

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
            comparisons: book::comparisons(self.study, self.study.stacks.iter()),
            method: "model",
            run_id: &self.run_id,
            modelled: true,
        };
        result_file::create(path, &opening)
    }

    fn describe(&mut self, ledger: &mut Ledger) -> anyhow::Result<()> {
        for (ordinal, stack) in self.study.stacks.iter().enumerate() {
            ledger.stack(&book::row(ordinal, stack, Layers::plain(["model"]), None))?;
            if let StackKind::Model(model) = &stack.kind {
                let facts = vec![
                    FactName::Device.is("modelled, in virtual time"),
                    FactName::Service.is(model.service.to_string()),
                    FactName::Spread.is(model.spread.to_string()),
                    FactName::Parallel.is(model.parallel.to_string()),
                    FactName::Flush.is(model.flush.to_string()),
                    FactName::Cached.is(model.cached.to_string()),
                ];
                let drift = (model.drift.0 > 0.0).then(|| FactName::Drift.is(format!("{} a minute", model.drift)));
                let facts = facts.into_iter().chain(drift).collect();
                result_file::facts(ledger, &Scope::Stack(stack.name.clone()), facts)?;
            }
        }
        result_file::schedule(ledger, &self.turns)
    }

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn side_by_side(&mut self, ledger: &mut Ledger, turns: &[Turn<'_>], stints: &Stints) -> anyhow::Result<()> {
        let (study, sizes, clock_ns) = (self.study, &self.sizes, self.clock_ns);
        let trials = book::begun(ledger, study, turns, "model")?;
        let ended = modelled::side_by_side(study, sizes, (turns, &trials), stints, clock_ns, ledger);
        self.clock_ns = *ended.as_ref().unwrap_or(&clock_ns);
        book::all_ended(ledger, turns, &trials, ended.map(|_| ()))
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
        book::recorded(ledger, stack, turn, "model", |ledger, trial| {
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
                fixed: book::fixed(sizes),
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
