//! A trial of file serving: the stack's directory served, driven through the phases, taken down.
//!
//! Takes a stack that stands; gives rows of the ledger. A server that is started for it ends with the trial: the
//! journal stops it whatever happens. Prevents: a stack, or a server, whose caches are warm from the phase before.

use super::cut::Served;
use super::ramp::Work;
use super::server::Server;
use crate::cuts;
use crate::host::devices::Devices;
use crate::host::site::HostSite;
use crate::host::stand::Stand;
use crate::kinds::{self, OnFiles};
use crate::result_file;
use crate::signals;
use crate::sql::trial::host;
use crate::trial::around::{After, Around, phase_seed};
use crate::turn::Turn;
use anyhow::Context;
use ledger::{Ledger, Measure, TrialId};
use plan::Study;
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
    let stand = trial.stand;
    let files = stand.stack.engine.files().context("a stack whose files are served")?;
    let mut server = Server::make((stand, files), &site.work_dir, &mut site.journal)?;
    // From here on nothing is journalled.
    let site = &*site;
    let (places, devices) = observed(ledger, trial)?;
    let around = Around {
        study: trial.study,
        sizes: None,
        trial: trial.id,
        stack: &stand.name,
        turn: trial.turn,
        fixed: vec![(Measure::StackDataCopies, f64::from(stand.data_copies()))],
    };
    for (ordinal, phase) in trial.study.phases.iter().enumerate() {
        signals::check(trial.turn.cancel)?;
        site.drop_caches(&[stand], &places)?;
        site.luns.warm(&stand.stack)?;
        if let Some(server) = &mut server {
            // Anew, so that it remembers nothing of the phase before.
            around.doing(phase, " · starting the server");
            server.start(&site.journal)?;
        }
        let seed = phase_seed(trial.turn.block.seed, ordinal);
        let after = match (kinds::of(&phase.kind).on_files(), &mut server) {
            (Some(OnFiles::Ramp(serving)), server) => {
                let pid = server.as_ref().and_then(Server::pid);
                let mut host = host(site, stand, (&devices, &places), pid);
                let work = Work {
                    around: &around,
                    stand,
                    files,
                    phase,
                    serving,
                    seed,
                    server: server.as_ref(),
                };
                around.recorded(ledger, ordinal, || work.run(&mut host))?
            }
            (Some(OnFiles::Cut), Some(server)) => {
                let mut served = Served {
                    site,
                    stand,
                    files,
                    server,
                    cancel: trial.turn.cancel,
                    seed,
                    made: 0,
                    tree: None,
                };
                cuts::phase::run(&around, ledger, ordinal, &mut served)?
            }
            _ => anyhow::bail!("{}: a file server can't run it", phase.name),
        };
        if let Some(server) = &server {
            server.kill()?;
        }
        if after == After::Full {
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
    let devices = stand.devices(&places)?;
    if trial.first {
        result_file::facts(ledger, &stand.scope(), stand.granted_to_sql()?)?;
        stand.describe(ledger, &devices)?;
    }
    Ok((places, devices))
}
