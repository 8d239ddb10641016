//! A trial of file serving: the stack's directory served, driven through the phases, taken down.
//!
//! Takes a stack that stands; gives rows of the ledger. Prevents: a stack whose caches are warm from the phase before.

use super::ramp::Work;
use crate::host::devices::Devices;
use crate::host::site::HostSite;
use crate::host::stand::Stand;
use crate::result_file;
use crate::signals;
use crate::sql::trial::host;
use crate::trial::around::{After, Around, phase_seed};
use crate::turn::Turn;
use anyhow::Context;
use ledger::{Ledger, Measure, TrialId};
use plan::{PhaseKind, Study};
use std::path::PathBuf;

/// A trial under way.
pub(crate) struct Trial<'a> {
    pub(crate) study: &'a Study,
    pub(crate) turn: &'a Turn<'a>,
    pub(crate) stand: &'a Stand,
    pub(crate) id: TrialId,
    pub(crate) first: bool,
}

/// Runs one trial.
pub(crate) fn run(site: &mut HostSite<'_>, ledger: &mut Ledger, trial: &Trial<'_>) -> anyhow::Result<()> {
    let (study, turn, stand) = (trial.study, trial.turn, trial.stand);
    let (places, devices) = observed(ledger, trial)?;
    let around = Around {
        study,
        sizes: None,
        trial: trial.id,
        stack: &stand.name,
        turn,
        fixed: vec![(Measure::StackDataCopies, f64::from(stand.data_copies()))],
    };
    let files = stand.stack.engine.files().context("a stack whose files are served")?;
    for (ordinal, phase) in study.phases.iter().enumerate() {
        signals::check(turn.cancel)?;
        let PhaseKind::Files(serving) = &phase.kind else {
            anyhow::bail!("{}: a file server can't run it", phase.name);
        };
        site.drop_caches()?;
        site.luns.warm(&stand.stack)?;
        let mut host = host(site, stand, (&devices, &places), None);
        let work = Work {
            around: &around,
            stand,
            files,
            phase,
            serving,
            seed: phase_seed(turn.block.seed, ordinal),
        };
        if around.recorded(ledger, ordinal, || work.run(&mut host))? == After::Full {
            break;
        }
    }
    Ok(())
}

/// Where the files can be observed: their places and the devices below them; none of a server that was there.
fn observed(ledger: &mut Ledger, trial: &Trial<'_>) -> anyhow::Result<(Vec<PathBuf>, Devices)> {
    let stand = trial.stand;
    let places = match (stand.stack.kind.server(), stand.built.ground.mounted_pool()) {
        (Some(_), _) => Vec::new(),
        (None, Some(_)) => stand.places(),
        (None, None) => vec![stand.directory()?],
    };
    let devices = Devices::under(&places)?;
    if trial.first {
        result_file::facts(ledger, &stand.scope(), stand.granted_to_sql()?)?;
        stand.describe(ledger, &devices)?;
    }
    Ok((places, devices))
}
