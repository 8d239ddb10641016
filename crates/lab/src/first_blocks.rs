//! What the first blocks say of those to come: what does not count, what to change, and whether to go on at all.
//!
//! Takes the result file after a block, gives lines for the terminal, or an error that ends the study. Prevents: an
//! hour of blocks of which none can count.

use crate::progress::Progress;
use crate::result_file;
use anyhow::anyhow;
use ledger::{FactName, Ledger, Measure, PhaseStatus};
use report::Analysis;
use std::collections::{BTreeMap, BTreeSet};

/// After so many blocks a study ends of which nothing could count.
const BLOCKS: u32 = 2;
/// Slow motion beyond what a probe tries is for the study to say.
const FASTEST_TO_TRY: [u32; 5] = [2, 5, 10, 20, 50];

/// A ranked phase of the first blocks.
struct Ranked {
    /// Why it does not count, if so.
    invalid: Option<String>,
    /// It could not be played: no other block on this machine changes that.
    for_good: bool,
}

/// Says after the first block what does not count in it.
///
/// # Errors
/// After the second block: no ranked phase could be played by this machine, on any stack.
pub(crate) fn judge(ledger: &Ledger, analysis: &Analysis, block: u32, progress: &dyn Progress) -> anyhow::Result<()> {
    if block >= BLOCKS {
        return Ok(());
    }
    let ranked = ranked(ledger)?;
    let hopeless = !ranked.is_empty() && ranked.iter().all(|one| one.for_good);
    let cure = || cure(ledger);
    if block == 0 {
        for line in lines(analysis) {
            progress.line(&line);
        }
        if ranked.iter().any(|one| one.for_good) {
            progress.line(&cure()?);
        }
        return Ok(());
    }
    match ranked.into_iter().find_map(|one| one.invalid).filter(|_| hopeless) {
        Some(why) => Err(anyhow!(
            "every ranked phase of the first {BLOCKS} blocks is INVALID, and more blocks change nothing: {why}\n  {}",
            cure()?
        )),
        None => Ok(()),
    }
}

/// The ranked phases of the first blocks.
fn ranked(ledger: &Ledger) -> anyhow::Result<Vec<Ranked>> {
    let first: BTreeSet<_> = (ledger.trials()?.into_iter())
        .filter(|trial| trial.block < BLOCKS)
        .map(|trial| trial.id)
        .collect();
    let late: BTreeSet<_> = (ledger.measures()?.into_iter())
        .filter(|row| row.row.0 == Measure::ModelTooLate && row.row.1 > 0.0)
        .map(|row| row.phase)
        .collect();
    let mine = ledger.phases()?.into_iter();
    let mine = mine.filter(|phase| phase.run.ranked && first.contains(&phase.run.trial));
    let one = |phase: ledger::Phase| {
        let invalid = match phase.run.status {
            PhaseStatus::Invalid(why) => Some(why),
            PhaseStatus::Valid | PhaseStatus::Failed(_) => None,
        };
        Ranked {
            for_good: invalid.is_some() && late.contains(&phase.id),
            invalid,
        }
    };
    Ok(mine.map(one).collect())
}

/// What was dropped of the first block, a line for each reason.
fn lines(analysis: &Analysis) -> Vec<String> {
    let mut phases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in analysis.dropped.iter().filter(|one| one.block == 0) {
        phases.entry(&one.reason).or_default().extend(one.phase.as_deref());
    }
    let line = |(reason, phases): (&str, Vec<&str>)| match phases.is_empty() {
        true => format!("block 1 does not count: {reason}"),
        false => format!("block 1 does not count in {}: {reason}", phases.join(", ")),
    };
    phases.into_iter().map(line).collect()
}

/// What to change where models are too late.
fn cure(ledger: &Ledger) -> anyhow::Result<String> {
    let ran = result_file::of_study(ledger, FactName::SlowMotion)?;
    let ran = ran.and_then(|times| times.whole()).unwrap_or(1);
    let next = FASTEST_TO_TRY.into_iter().find(|times| u64::from(*times) > ran);
    Ok(match next {
        Some(next) => format!(
            "the machine is too slow for the models or too busy: write slow_motion = {next} in [study] (it is {ran}), \
             or let no other program run"
        ),
        None => "give the LUN sets longer times in `parameters`, or use a machine with more processors".to_string(),
    })
}
