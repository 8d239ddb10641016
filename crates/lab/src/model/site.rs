//! Stacks of kind `model` as the place where a study runs: simulated devices in virtual time.

use crate::model::modelled::{self, ModelTrial};
use crate::ports::StackPort;
use crate::result_file::{self, Opening};
use crate::site::Site;
use crate::sizes::Sizes;
use crate::trial::around::Around;
use crate::trial::book;
use crate::trial::stints::{self, Standing};
use crate::turn::Turn;
use ledger::{FactName, Layers, Ledger, Scope, TrialId};
use plan::{CopyTarget, Model, Stints, Study, Turns};
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
        let models = study.stacks.iter().filter_map(|stack| stack.kind.model());
        let usable = models.map(|model| model.size.0);
        let sizes = crate::sizes::sizes(study, usable.min())?;
        Ok(ModelSite {
            turns: study.turns(),
            study,
            sizes,
            run_id,
            clock_ns: 0,
        })
    }

    /// The model of a stack.
    fn model(&self, turn: &Turn<'_>) -> &'a Model {
        let model = self.study.stacks[turn.stack].kind.model();
        model.expect("the plan does not mix modelled and real stacks")
    }

    /// The device of a trial, as old as the study is by now.
    fn home(&self, turn: &Turn<'_>) -> anyhow::Result<StackPort> {
        let (stack, model) = (&self.study.stacks[turn.stack], self.model(turn));
        // Two identical stacks must not have identical luck: the device's chances depend on its place in the study.
        let seed = turn.block.seed ^ ((turn.stack as u64 + 1) << 32);
        let mut device = modelled::device(model, stack.inject, &self.sizes, seed)?;
        if let (StackPort::Model(port), true) = (&mut device, model.drift.0 > 0.0) {
            port.inner_mut().drift(model.drift.0);
            port.inner_mut().rest_until(self.clock_ns);
        }
        Ok(device)
    }

    fn around<'t>(&'t self, turn: &'t Turn<'t>, trial: TrialId) -> Around<'t> {
        Around {
            study: self.study,
            sizes: Some(&self.sizes),
            trial,
            stack: &self.study.stacks[turn.stack].name,
            turn,
            fixed: book::fixed(&self.sizes),
        }
    }

    /// All phases of one block in turns; gives the simulated time at its end.
    fn in_turns(
        &self,
        ledger: &mut Ledger,
        turns: &[Turn<'_>],
        trials: &[TrialId],
        stints: &Stints,
    ) -> anyhow::Result<u64> {
        let around = |(turn, trial): (_, &TrialId)| self.around(turn, *trial);
        let arounds: Vec<Around<'_>> = turns.iter().zip(trials).map(around).collect();
        let mut sides = Vec::new();
        for around in &arounds {
            let loaded = modelled::loaded(self.home(around.turn)?, around, ledger)?;
            sides.push(Standing::new(loaded, turns.len() - 1));
        }
        stints::block(&mut sides, stints, ledger)?;
        Ok(sides.iter_mut().map(Standing::now).max().unwrap_or(self.clock_ns))
    }

    /// All phases of one trial; gives the simulated time at its end.
    fn alone(&self, ledger: &mut Ledger, turn: &Turn<'_>, trial: TrialId) -> anyhow::Result<u64> {
        let name = &self.study.stacks[turn.stack].name;
        let mut devices = vec![(name.clone(), Some(self.home(turn)?), false)];
        for (nth, target) in self.study.stacks.iter().enumerate() {
            // Each its own luck, and another than it has as a home.
            let seed = turn.block.seed ^ ((nth as u64 + 1) << 48);
            if let Some(model) = target.kind.model()
                && copied_to(self.study, &target.name)
            {
                let device = modelled::device(model, target.inject, &self.sizes, seed)?;
                devices.push((target.name.clone(), Some(device), false));
            }
        }
        let around = &self.around(turn, trial);
        ModelTrial { around, devices }.drive(ledger)
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

    fn must_fit(&self, _: &Ledger) -> anyhow::Result<()> {
        Ok(())
    }

    fn describe(&mut self, ledger: &mut Ledger) -> anyhow::Result<()> {
        for (ordinal, stack) in self.study.stacks.iter().enumerate() {
            ledger.stack(&book::row(ordinal, stack, Layers::plain(["model"]), None))?;
            if let Some(model) = stack.kind.model() {
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
        let trials = book::begun(ledger, self.study, turns, "model")?;
        let ended = self.in_turns(ledger, turns, &trials, stints);
        self.clock_ns = *ended.as_ref().unwrap_or(&self.clock_ns);
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
        book::recorded(ledger, stack, turn, ("model", None), |ledger, trial| {
            self.clock_ns = self.alone(ledger, turn, trial)?;
            Ok(())
        })
    }
}

/// Whether a phase copies the database to this stack.
fn copied_to(study: &Study, name: &str) -> bool {
    let to = CopyTarget::Stack(name.to_string());
    study
        .phases
        .iter()
        .any(|phase| phase.kind.copy().is_some_and(|copy| copy.to == to))
}
