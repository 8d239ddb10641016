//! How fast the models of a study run here: asked once, before the first block.
//!
//! Takes the study and its LUN sets, gives a factor of slow motion, or refuses the study with its cure.

use crate::host::site::{HostSite, has_pages, undone};
use crate::luns::probe::{self, FACTORS, Found, Luns, Tried};
use crate::progress::Caller;
use crate::result_file;
use anyhow::{Context, anyhow};
use ledger::{FactName, Ledger};
use plan::{Stack, Study};
use std::collections::BTreeSet;
use targets::Method;

/// LUN sets under more stacks than so many behave as those of the first.
const STACKS_MAX: usize = 4;

impl<'a> HostSite<'a> {
    /// Tries the models with what the phases ask of them.
    pub(crate) fn find_pace(&mut self, caller: Caller<'_>) -> anyhow::Result<()> {
        let stacks = self.on_timed_models();
        if stacks.is_empty() {
            return Ok(());
        }
        caller.progress.doing("can this machine play the models of the study?");
        let half = stacks.iter().find(|stack| self.study.is_half_timed(stack)).copied();
        let said = self.study.slow_motion.map(|times| vec![times]);
        let usual = || if half.is_some() { vec![1] } else { FACTORS.to_vec() };
        let factors = said.unwrap_or_else(usual);
        let mut way = None;
        let found = probe::smallest(&factors, |times| {
            self.luns.set_slower(times);
            way = None;
            for stack in &stacks {
                crate::signals::check(caller.cancel)?;
                let tried = self.keep_up(stack)?;
                if tried.why_late.is_some() {
                    return Ok(tried.why_late);
                }
                way = way.into_iter().chain(tried.way).min();
            }
            Ok(None)
        })?;
        let times = match (&found, self.study.slow_motion) {
            (Found::Keeps(times, _), _) => *times,
            (Found::Never(why), Some(times)) => {
                caller.progress.line(&format!(
                    "this machine does not keep up with the models: {why}. Their phases will be INVALID: write \
                     slow_motion = \"auto\", or a factor above {times}"
                ));
                times
            }
            (Found::Never(why), None) => return Err(refused(why, half)),
        };
        self.luns.set_slower(times);
        // What the host takes in any case is no part of the device's time.
        self.luns.set_sooner(way.unwrap_or(0));
        self.told(times, &found, caller);
        Ok(())
    }

    /// One stack for each pair of LUN sets that has a model with times.
    fn on_timed_models(&self) -> Vec<&'a Stack> {
        let study: &'a Study = self.study;
        let mut known = BTreeSet::new();
        let takes_part = study
            .stacks
            .iter()
            .zip(&self.skipped)
            .filter(|(_, skipped)| skipped.is_none());
        let timed = takes_part
            .map(|(stack, _)| stack)
            .filter(|stack| study.timed_sets(stack).next().is_some());
        let new = timed.filter(|stack| known.insert((stack.data.clone(), stack.redo.clone(), stack.temp.clone())));
        new.take(STACKS_MAX).collect()
    }

    /// How the models under a stack keep up at this factor.
    fn keep_up(&mut self, stack: &Stack) -> anyhow::Result<Tried> {
        let mark = self.journal.mark();
        let seed = self.study.root_seed();
        let mut attach = |set: &Option<String>| match set {
            Some(set) => self.luns.attach(set, true, seed, &mut self.journal),
            None => Ok(Vec::new()),
        };
        // Temporary files are asked as the data are.
        let (mut data, temp) = (attach(&stack.data)?, attach(&stack.temp)?);
        data.extend(temp);
        let luns = Luns {
            data,
            redo: attach(&stack.redo)?,
            // SQLite and servers read one request at a time, whatever SQLite writes by.
            method: if has_pages(self.study) {
                self.prepared.method
            } else {
                Method::Pread
            },
            seed,
        };
        // From here on they are as slow as this try is.
        self.luns.warm(stack)?;
        let tried = probe::keep_up(&luns, &self.luns.models_of(&[stack]), &probe::loads(self.study));
        let tried = tried.map_err(|error| self.luns.blame(error, &stack.lun_sets().collect::<Vec<_>>()));
        let left = self.journal.undo_to(mark);
        self.luns.unserved();
        undone(&left)?;
        self.luns.used();
        tried
    }

    /// Says the factor on the terminal and in the result file.
    fn told(&mut self, times: u32, found: &Found, caller: Caller<'_>) {
        let why = match (self.study.slow_motion, found) {
            (Some(_), Found::Never(why)) => format!("the study says so; a probe found that {why}"),
            (Some(_), _) => "the study says so".to_string(),
            (None, Found::Keeps(_, Some(why))) => format!("found by a probe: one step faster, {why}"),
            (None, _) => "found by a probe: the machine keeps up".to_string(),
        };
        if times > 1 {
            let words = report::slow_motion(times);
            caller.progress.line(&format!("{words} ({why})"));
        }
        let sooner = FactName::ModelsSooner.is(self.luns.sooner());
        let facts = [FactName::SlowMotion.is(times), FactName::WhySlowMotion.is(why), sooner];
        self.prepared.facts.extend(facts);
        let paced = self.paced();
        let estimate = plan::estimate(
            &paced,
            self.luns.fill_rate.unwrap_or(crate::host::trials::NOMINAL_FILL_RATE),
        );
        if times > 1 && self.study.slow_motion.is_none() && !estimate.fits(&paced) {
            let blocks = estimate.blocks(&paced);
            caller.progress.line(&format!(
                "{blocks} blocks take about {} so slowly, more than the study's limit of {}: raise `time_limit`, or \
                 lower `database.scale`",
                plan::Duration(estimate.study_ns(blocks) / 1_000_000_000 * 1_000_000_000),
                self.study.time_limit
            ));
        }
    }

    /// The study with the factor that was found.
    pub(crate) fn paced(&self) -> Study {
        Study {
            slow_motion: Some(self.luns.slower()),
            ..self.study.clone()
        }
    }

    /// A run that is taken up goes on at the factor it began with.
    pub(crate) fn keep_pace(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        if let Some(began) = result_file::of_study(ledger, FactName::SlowMotion)? {
            let times = began.whole().and_then(|times| u32::try_from(times).ok());
            self.luns.set_slower(times.context("slow motion in the result file")?);
        }
        if let Some(sooner) = result_file::of_study(ledger, FactName::ModelsSooner)? {
            let ns = sooner
                .whole()
                .context("how much sooner models answer, in the result file")?;
            self.luns.set_sooner(ns);
        }
        Ok(())
    }
}

/// The study cannot be run here.
fn refused(why: &str, half: Option<&Stack>) -> anyhow::Error {
    match half {
        Some(stack) => anyhow!(
            "this machine cannot play the models of the study: {why}\n  give the data and the redo log of `{}` each a \
             model with times, so that both can run in slow motion, or use a machine with more processors",
            stack.name
        ),
        None => anyhow!(
            "this machine cannot play the models of the study, not even {} times slower: {why}\n  give the LUN sets \
             longer times in `parameters`, or a slower `preset`, or run the study when the machine is at rest",
            FACTORS.last().unwrap_or(&1)
        ),
    }
}
