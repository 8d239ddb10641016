//! The result file of a run: made new, or taken up where a stopped run left it.

use crate::record::unix_ns;
use anyhow::{Context, ensure};
use ledger::{Disclosed, Fact, FactName, FactValue, Ledger, Scope, Setting, TakingTurns, TrialStatus};
use plan::{Study, Turns};
use std::collections::BTreeSet;
use std::path::Path;

/// Chance of any false verdict in a study with all its extensions, and the part of it that is kept for them.
const ALPHA: f64 = 0.05;
const ALPHA_RESERVED: f64 = 0.01;

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
            seed: study.root_seed(),
            margin: study.margin.0,
            time_limit_ns: study.time_limit.0,
            blocks_planned: opening.blocks,
            comparisons: opening.comparisons,
            alpha: ALPHA,
            alpha_reserved: ALPHA_RESERVED,
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
    facts(&mut ledger, &Scope::Host, of_host()?)?;
    prices(&mut ledger, study)?;
    Ok(ledger)
}

/// What the study says that its stacks cost.
fn prices(ledger: &mut Ledger, study: &Study) -> anyhow::Result<()> {
    let Some(cost) = &study.cost else { return Ok(()) };
    let plain = [
        (FactName::PriceOfHost, cost.host),
        (FactName::PriceOfLun, cost.lun),
        (FactName::PriceOfGb, cost.gb),
    ];
    let plain = plain.map(|(name, price)| name.is(FactValue::Amount(price)));
    let said = plain.into_iter().chain([FactName::Currency.is(cost.currency.clone())]);
    facts(ledger, &Scope::Study, said.collect())?;
    for (stack, price) in &cost.licence {
        let licence = FactName::PriceOfLicence.is(FactValue::Amount(*price));
        facts(ledger, &Scope::Stack(stack.clone()), vec![licence])?;
    }
    Ok(())
}

/// Facts of one scope.
pub(crate) fn facts(ledger: &mut Ledger, scope: &Scope, facts: Vec<Disclosed>) -> anyhow::Result<()> {
    let rows: Vec<Fact> = facts
        .into_iter()
        .map(|(key, value)| Fact {
            scope: scope.clone(),
            key,
            value,
        })
        .collect();
    Ok(ledger.facts_all(&rows)?)
}

/// Facts of a room that does not know the ledger: each must be in its list.
pub(crate) fn listed(said: Vec<(String, String)>) -> anyhow::Result<Vec<Disclosed>> {
    let facts = said.iter().map(|(name, text)| ledger::disclosed(name, text));
    Ok(facts.collect::<Result<_, _>>()?)
}

/// What is known of this host, and who runs the study on it.
pub(crate) fn of_host() -> anyhow::Result<Vec<Disclosed>> {
    let user = if stacks::is_root() { "root" } else { "an ordinary user" };
    let known = listed(observers::host_facts())?.into_iter();
    Ok(known.chain([FactName::User.is(user)]).collect())
}

/// How the stacks of a block take turns.
pub(crate) fn schedule(ledger: &mut Ledger, turns: &Turns) -> anyhow::Result<()> {
    let (taking, why) = match turns {
        Turns::Whole { why } => (TakingTurns::Whole, why),
        Turns::Stints(stints) => (TakingTurns::Stints(stints.words()), &stints.why),
    };
    let said = vec![FactName::Schedule.is(taking), FactName::WhySchedule.is(why.clone())];
    facts(ledger, &Scope::Study, said)
}

/// The schedule that a run began with; `None` in a file that does not say.
pub(crate) fn scheduled(ledger: &Ledger) -> anyhow::Result<Option<TakingTurns>> {
    Ok(match of_study(ledger, FactName::Schedule)? {
        Some(FactValue::Turns(turns)) => Some(turns),
        _ => None,
    })
}

/// The value of a fact of the study.
pub(crate) fn of_study(ledger: &Ledger, name: FactName) -> anyhow::Result<Option<FactValue>> {
    of_scope(ledger, &Scope::Study, name)
}

/// The value of a fact of the study or the host.
pub(crate) fn of_scope(ledger: &Ledger, scope: &Scope, name: FactName) -> anyhow::Result<Option<FactValue>> {
    let mut facts = ledger.facts()?.into_iter();
    let found = facts.find(|fact| fact.scope == *scope && fact.key.name == name);
    Ok(found.map(|fact| fact.value))
}

/// An error where the file was made from another study, or from this one with other values.
pub(crate) fn must_match(ledger: &Ledger, path: &Path, study: &Study) -> anyhow::Result<()> {
    let stored = ledger.study()?;
    ensure!(
        stored.text == study.text,
        "{} was made from another study (or from this one before it was changed)\n  \
         resume with the study as it was, or start anew with another --output",
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
        "{} was made with other values (another --scale?)\n  \
         resume with the same flags, or start anew with another --output",
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
