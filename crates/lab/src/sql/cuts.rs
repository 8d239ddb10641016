//! Power cuts and kills under a database in SQL: sessions that write rows, their end, the database's own recovery, every acknowledged row looked
//! up.
//!
//! Takes a stack that stands; gives the same counts as under the page engine. What differs between databases is behind
//! [`Cuttable`]. Prevents: an acknowledgement that is asked of the database that gave it (they are kept by us).

use super::contract::{Cuttable, Trial};
use super::kept::Acknowledged;
use super::kinds;
use crate::cuts::ending::Ending;
use crate::cuts::sums::{Cut, Sum};
use crate::host::devices::Devices;
use crate::host::site::HostSite;
use crate::not_kept;
use crate::result_file;
use crate::signals;
use crate::trial::around::{After, Around};
use anyhow::Context;
use ledger::Ledger;
use plan::{Phase, PhaseKind, PowerCut};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stacks::Ground;
use std::time::{Duration, Instant};

/// Whether the study cuts the power or kills; then it does nothing else with a database in SQL.
pub(super) fn asked(trial: &Trial<'_>) -> bool {
    trial
        .study
        .phases
        .iter()
        .any(|phase| matches!(phase.kind, PhaseKind::PowerCut(_)))
}

/// Runs one trial.
pub(super) fn run(site: &mut HostSite<'_>, ledger: &mut Ledger, trial: &Trial<'_>) -> anyhow::Result<()> {
    let (block, name) = (trial.turn.block.number + 1, &trial.stand.name);
    let said = format!("block {block} · {name} · making the database");
    trial.turn.progress.doing(&said);
    let asked = kinds::of(&trial.stand.stack.engine).context("the page engine takes no SQL")?;
    let mut database = asked.make_to_cut(trial, &mut site.journal)?;
    match phases(site, ledger, trial, database.as_mut())? {
        After::Next => database.close(),
        // What has no space left can't end in good order: that it is full is the result.
        After::Full => {
            database.fall();
            Ok(())
        }
    }
}

fn phases(
    site: &HostSite<'_>,
    ledger: &mut Ledger,
    trial: &Trial<'_>,
    database: &mut dyn Cuttable,
) -> anyhow::Result<After> {
    let stand = trial.stand;
    ledger.database_of(trial.id, &database.describe()?)?;
    if trial.first {
        let places = match &stand.built.ground {
            Ground::Files(_) => vec![stand.directory()?],
            _ => stand.built.devices.clone(),
        };
        result_file::facts(ledger, &stand.scope(), stand.granted_to_sql()?)?;
        stand.describe(ledger, &Devices::under(&places)?)?;
    }
    stand.sync()?;
    let around = Around {
        study: trial.study,
        sizes: None,
        trial: trial.id,
        stack: &stand.name,
        turn: trial.turn,
        fixed: Vec::new(),
    };
    for (ordinal, phase) in trial.study.phases.iter().enumerate() {
        let PhaseKind::PowerCut(cut) = &phase.kind else {
            anyhow::bail!(
                "the plan lets nothing but power cuts and kills stand beside them: {}",
                phase.name
            )
        };
        let began = Instant::now();
        let after = around.recorded(ledger, phase, ordinal, || {
            let mut sum = Sum::of(cut.end);
            let worked = all(&mut sum, site, trial, &around, (phase, cut, ordinal), database);
            sum.ended(worked, began.elapsed())
        })?;
        if after == After::Full {
            let left = trial.study.phases.len() - ordinal - 1;
            trial.turn.progress.advance(left as u64);
            return Ok(After::Full);
        }
    }
    Ok(After::Next)
}

/// All cuts or kills of a phase; what was found by then stays where one of them fails.
fn all(
    sum: &mut Sum,
    site: &HostSite<'_>,
    trial: &Trial<'_>,
    around: &Around<'_>,
    (phase, cut, ordinal): (&Phase, &PowerCut, usize),
    database: &mut dyn Cuttable,
) -> anyhow::Result<()> {
    let (turn, stand) = (trial.turn, trial.stand);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(turn.block.seed ^ (ordinal as u64 + 1) << 40);
    let mut before = database.kept()?;
    let mut last: Acknowledged = Vec::new();
    for nth in 0..cut.cuts {
        signals::check(turn.cancel)?;
        around.doing(phase, &format!(" · {} {} of {}", cut.end.noun(), nth + 1, cut.cuts));
        let window = cut.latest.0 - cut.earliest.0;
        let after = Duration::from_nanos(cut.earliest.0 + rng.next_u64() % (window + 1));
        let ending = Ending::of(cut.end, &site.luns, stand, None);
        let first: Vec<u64> = before
            .next(&last)
            .into_iter()
            .take(cut.work.sessions as usize)
            .collect();
        let worked = database.work(&first, after, &|| ending.strike())?;
        last = first.into_iter().zip(worked).collect();
        let down = Instant::now();
        let gone = ending.take_down(stand, rng.next_u64())?;
        let up = ending.bring_up(stand).map_err(anyhow::Error::from);
        let found = up.and_then(|()| database.rise()).and_then(|()| database.kept());
        let up_ns = down.elapsed().as_nanos() as u64;
        let found = match found {
            Ok(now) => {
                let found = now.against(&last, &before);
                before = now;
                Ok(found)
            }
            Err(error) => {
                database.fall();
                if !not_kept::is_loss(&error) {
                    return Err(error.context(format!("come back after a {}", cut.end.noun())));
                }
                Err(crate::causes::chain(&error))
            }
        };
        let is_down = found.is_err();
        let acknowledged = last.iter().map(|(first, last)| last + 1 - first).sum();
        sum.cuts.push(Cut {
            after,
            gone,
            acknowledged,
            up_ns,
            found,
        });
        if is_down {
            let lost = sum.last_words();
            make_anew(site, trial, database).context(lost)?;
            before = database.kept()?;
        }
    }
    Ok(())
}

/// The stack and the database again from the beginning, after an end that nothing survived.
fn make_anew(site: &HostSite<'_>, trial: &Trial<'_>, database: &mut dyn Cuttable) -> anyhow::Result<()> {
    let stand = trial.stand;
    stacks::power_off(&stand.built)?;
    stacks::make_anew(&stand.stack, &stand.built, luns::MARKER, &site.journal)?;
    stand.empty_directory()?;
    database.make_anew()?;
    stand.sync()
}
