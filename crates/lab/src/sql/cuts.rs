//! Power cuts and kills under a database in SQL: sessions that write rows, their end, the database's own recovery,
//! every acknowledged row looked up.
//!
//! Takes a stack that stands; gives the same counts as under the page engine. What differs between databases is behind
//! [`Cuttable`]. Prevents: an acknowledgement that is asked of the database that gave it (they are kept by us).

use super::contract::{Cuttable, Trial};
use super::kept::{Acknowledged, Kept};
use super::kinds;
use crate::cuts;
use crate::cuts::ending::Ending;
use crate::cuts::phase::Ended;
use crate::cuts::sums::Cut;
use crate::host::site::HostSite;
use crate::result_file;
use crate::trial::around::After;
use anyhow::Context;
use ledger::Ledger;
use plan::PowerCut;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use stacks::Ground;
use std::time::Duration;

/// Whether the study cuts the power or kills; then it does nothing else with a database in SQL.
pub(super) fn asked(trial: &Trial<'_>) -> bool {
    trial.study.phases.iter().any(|phase| phase.kind.cut().is_some())
}

/// Runs one trial.
pub(super) fn run(site: &mut HostSite<'_>, ledger: &mut Ledger, trial: &Trial<'_>) -> anyhow::Result<()> {
    trial.turn.doing(&trial.stand.name, "making the database");
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
        stand.describe(ledger, &stand.devices(&places)?)?;
    }
    stand.sync()?;
    site.luns.warm(&stand.stack)?;
    let around = trial.around(Vec::new());
    for ordinal in 0..trial.study.phases.len() {
        let mut database = Database {
            site,
            trial,
            database: &mut *database,
            before: None,
            last: Vec::new(),
        };
        if cuts::phase::run(&around, ledger, ordinal, &mut database)? == After::Full {
            return Ok(After::Full);
        }
    }
    Ok(After::Next)
}

/// The database of a trial.
struct Database<'a> {
    site: &'a HostSite<'a>,
    trial: &'a Trial<'a>,
    database: &'a mut dyn Cuttable,
    /// Rows that were there, where somebody has looked.
    before: Option<Kept>,
    /// What the last work had acknowledgements for.
    last: Acknowledged,
}

impl Ended for Database<'_> {
    fn end_once(&mut self, cut: &PowerCut, after: Duration, chance: &mut Xoshiro256PlusPlus) -> anyhow::Result<Cut> {
        let (database, stand) = (&mut *self.database, self.trial.stand);
        let before = match self.before.take() {
            Some(before) => before,
            None => database.kept()?,
        };
        let ending = Ending::of(cut.end, &self.site.luns, stand, None);
        let sessions = cut.work.sessions() as usize;
        let first: Vec<u64> = before.next(&self.last).into_iter().take(sessions).collect();
        let worked = database.work(&first, after, &|| ending.strike())?;
        self.last = first.into_iter().zip(worked).collect();
        let back = cuts::phase::come_back(&ending, (stand, &self.site.journal), chance.next_u64(), || {
            let risen = database.rise().and_then(|()| database.kept());
            risen.inspect_err(|_| database.fall())
        })?;
        let found = back.found.map(|now| {
            let found = now.against(&self.last, &before);
            self.before = Some(now);
            found
        });
        Ok(Cut {
            after,
            gone: back.gone,
            acknowledged: self.last.iter().map(|(first, last)| last + 1 - first).sum(),
            up_ns: back.up_ns,
            volume: back.volume,
            found,
            more: database.counted(),
        })
    }

    fn make_anew(&mut self) -> anyhow::Result<()> {
        self.trial.stand.make_anew(&self.site.journal)?;
        self.database.make_anew()?;
        self.trial.stand.sync()
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        Ok(stacks::settle(&self.trial.stand.built, &self.site.journal)?)
    }
}
