//! The result file of a run: made new, or taken up where a stopped run left it.

use crate::record::unix_ns;
use anyhow::{Context, ensure};
use ledger::{Fact, Ledger, Setting, TrialStatus};
use plan::{Study, Turns};
use std::collections::BTreeSet;
use std::path::Path;

/// The fact that says how stacks take turns, and what it says where they do not.
const SCHEDULE: &str = "schedule";
pub(crate) const WHOLE: &str = "whole runs";

/// What the ledger must know of a study before the first block.
pub(crate) struct Opening<'a> {
    pub(crate) study: &'a Study,
    pub(crate) blocks: u32,
    pub(crate) comparisons: u32,
    pub(crate) method: &'a str,
    pub(crate) run_id: &'a str,
    pub(crate) modelled: bool,
}

/// A new result file with the study, every resolved key and the host's facts.
pub(crate) fn create(path: &Path, opening: &Opening<'_>) -> anyhow::Result<Ledger> {
    let study = opening.study;
    let mut ledger = Ledger::create(
        path,
        &ledger::Study {
            name: study.name.clone(),
            question: study.question.clone(),
            text: study.text.clone(),
            seed: study.seed,
            margin: study.margin.0,
            time_limit_ns: study.time_limit.0,
            blocks_planned: opening.blocks,
            comparisons: opening.comparisons,
            alpha: 0.05,
            io_method: opening.method.to_string(),
            published: study.published.clone(),
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
            run_id: opening.run_id.to_string(),
            created_unix_ns: unix_ns(),
            modelled: opening.modelled,
        },
    )?;
    let settings: Vec<Setting> = study
        .resolved
        .iter()
        .map(|r| Setting {
            key: r.key.clone(),
            value: r.value.clone(),
            written: r.written,
        })
        .collect();
    ledger.settings_all(&settings)?;
    facts(&mut ledger, "host", observers::host_facts())?;
    Ok(ledger)
}

/// Facts of one scope.
pub(crate) fn facts(ledger: &mut Ledger, scope: &str, facts: Vec<(String, String)>) -> anyhow::Result<()> {
    let rows: Vec<Fact> = facts
        .into_iter()
        .map(|(key, value)| Fact {
            scope: scope.to_string(),
            key,
            value,
        })
        .collect();
    Ok(ledger.facts_all(&rows)?)
}

/// How the stacks of a block take turns.
pub(crate) fn schedule(ledger: &mut Ledger, turns: &Turns) -> anyhow::Result<()> {
    let (words, why) = match turns {
        Turns::Whole { why } => (WHOLE.to_string(), why),
        Turns::Stints(stints) => (stints.words(), &stints.why),
    };
    let rows = [(SCHEDULE, words), ("why this schedule", why.clone())];
    facts(
        ledger,
        "study",
        rows.map(|(key, value)| (key.to_string(), value)).to_vec(),
    )
}

/// The schedule that a run began with, in words; `None` in a file that does not say.
pub(crate) fn scheduled(ledger: &Ledger) -> anyhow::Result<Option<String>> {
    let facts = ledger.facts()?;
    let found = facts
        .into_iter()
        .find(|fact| fact.scope == "study" && fact.key == SCHEDULE);
    Ok(found.map(|fact| fact.value))
}

/// Takes up the file of a stopped run of the same study.
pub(crate) fn resume(path: &Path, study: &Study) -> anyhow::Result<Ledger> {
    let ledger = Ledger::resume(path)?;
    must_match(&ledger, path, study)?;
    Ok(ledger)
}

/// An error where the file was made from another study, or from this one with other values.
pub fn must_match(ledger: &Ledger, path: &Path, study: &Study) -> anyhow::Result<()> {
    let stored = ledger.study()?;
    ensure!(
        stored.text == study.text,
        "{} was made from another study (or from this one before it was changed)\n  resume with the study as it was, or start anew with another --output",
        path.display()
    );
    let same_settings = ledger.settings()?.iter().all(|s| {
        study
            .resolved
            .iter()
            .find(|r| r.key == s.key)
            .is_some_and(|r| r.value == s.value)
    });
    ensure!(
        same_settings,
        "{} was made with other values (another --scale?)\n  resume with the same flags, or start anew with another --output",
        path.display()
    );
    Ok(())
}

/// Trials that are finished: (block, stack).
pub(crate) fn finished(ledger: &Ledger) -> anyhow::Result<BTreeSet<(u32, String)>> {
    let trials = ledger.trials().context("read the trials")?;
    Ok(trials
        .into_iter()
        .filter(|t| t.status == TrialStatus::Done)
        .map(|t| (t.block, t.stack))
        .collect())
}
