//! A trial of a database that takes SQL: stood up on a stack, loaded, driven through the phases, taken down.
//!
//! Takes a stack that stands; gives rows of the ledger. One story for SQLite and PostgreSQL: what differs is behind
//! [`Sql`]. Prevents: a figure of a database that breaks its own conditions.

use super::contract::{Copied, Sql, Tables, Trial, company};
use super::generator::Generator;
use super::works::Conditions;
use super::{cuts, kinds, phase, questions};
use crate::condition::Condition;
use crate::host::devices::Devices;
use crate::host::observed::Host;
use crate::host::site::HostSite;
use crate::host::stand::Stand;
use crate::result_file;
use crate::signals;
use crate::trial::around::After;
use crate::trial::sampled;
use anyhow::Context;
use databases::order_entry::Scale;
use ledger::{Ledger, Measure};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs one trial.
pub(crate) fn run(site: &mut HostSite<'_>, ledger: &mut Ledger, trial: &Trial<'_>) -> anyhow::Result<()> {
    if cuts::asked(trial) {
        return cuts::run(site, ledger, trial);
    }
    load_image(site, trial)?;
    let mut sql = stand_up(site, trial)?;
    let ran = phases(site, ledger, trial, sql.as_mut());
    match ran {
        Ok(After::Next) => sql.close(),
        // What has no space left may have died of it, or can't end in good order: that it is full is the result.
        Ok(After::Full) => match sql.give_up() {
            Some(left) => Err(anyhow::anyhow!(left)),
            None => Ok(()),
        },
        // What failed comes first; the undo journal stops what still runs.
        Err(error) => Err(match sql.give_up() {
            Some(left) => error.context(left),
            None => error,
        }),
    }
}

/// Loads tables that are copied into each trial, before the first.
fn load_image(site: &mut HostSite<'_>, trial: &Trial<'_>) -> anyhow::Result<()> {
    let (Some(scale), Some(database)) = (questions::scale(trial.study)?, kinds::of(&trial.stand.stack.engine)) else {
        return Ok(());
    };
    let Some(shared) = shares_tables(trial) else {
        return Ok(());
    };
    if site.images.contains_key(&shared) {
        return Ok(());
    }
    trial.turn.doing(&trial.stand.name, "loading tables that are copied");
    let tables = Tables {
        scale,
        source: &Generator {
            limit: site.limit.as_ref(),
        },
        image: None,
    };
    let image = database.image(trial, &tables, &site.work_dir, &mut site.journal);
    signals::check(trial.turn.cancel)?;
    site.images.insert(shared, image?);
    Ok(())
}

/// What the stack shares tables by that are copied into each trial; a server that was there before gets none.
fn shares_tables(trial: &Trial<'_>) -> Option<String> {
    let stack = &trial.stand.stack;
    let database = kinds::of(&stack.engine).filter(|_| stack.kind.server().is_none())?;
    database.shares_tables()
}

/// The tables that are copied into the trial.
fn image<'a>(images: &'a BTreeMap<String, Copied>, trial: &Trial<'_>) -> Option<&'a Copied> {
    shares_tables(trial).and_then(|shared| images.get(&shared))
}

fn stand_up(site: &mut HostSite<'_>, trial: &Trial<'_>) -> anyhow::Result<Box<dyn Sql>> {
    let database = kinds::of(&trial.stand.stack.engine).context("the page engine takes no SQL")?;
    let image = image(&site.images, trial);
    let doing = match image.and_then(Copied::cluster) {
        Some(_) => "copying tables, then starting the server",
        None => database.making(),
    };
    trial.turn.doing(&trial.stand.name, doing);
    let made = database.make(trial, image, &mut site.journal);
    // The error of a copy that a signal ended is but its echo.
    signals::check(trial.turn.cancel)?;
    made
}

fn phases(site: &HostSite<'_>, ledger: &mut Ledger, trial: &Trial<'_>, sql: &mut dyn Sql) -> anyhow::Result<After> {
    let (study, turn, stand) = (trial.study, trial.turn, trial.stand);
    ledger.database_of(trial.id, &sql.describe()?)?;
    let company = load(site, trial, sql)?;
    stacks::loaded(&stand.built, &site.journal)?;
    let (places, devices) = observed(ledger, trial, sql)?;
    let server = sql.server();
    let around = trial.around(fixed(stand, sql.bytes()?));
    let mut asked = None;
    for (ordinal, phase) in study.phases.iter().enumerate() {
        signals::check(turn.cancel)?;
        let work = crate::kinds::of(&phase.kind).in_sql();
        let has_conditions = work.is_some_and(|work| work.has_conditions());
        if let (true, Some(scale), None) = (has_conditions, &company, &asked) {
            around.doing(phase, " · asking the conditions");
            asked = Some(sql.broken(scale)?);
        }
        let mut host = host(site, stand, (&devices, &places), server);
        let cold = || {
            site.drop_caches(&[stand], &places)?;
            site.luns.warm(&stand.stack)
        };
        let own_pace = || site.luns.end_slow_motion(&stand.stack);
        cold()?;
        let mut work = phase::Work {
            cold: &cold,
            own_pace: &own_pace,
            generator: Generator {
                limit: site.limit.as_ref(),
            },
            trial,
            around: &around,
            phase,
            ordinal,
            conditions: Conditions {
                company,
                before: asked.take(),
                after: None,
            },
        };
        let after = around.recorded(ledger, ordinal, || work.run(sql, &mut host))?;
        asked = work.conditions.after;
        if after == After::Full {
            return Ok(After::Full);
        }
    }
    Ok(After::Next)
}

/// Loads what the phases work on; gives the company, if they have one.
fn load(site: &HostSite<'_>, trial: &Trial<'_>, sql: &mut dyn Sql) -> anyhow::Result<Option<Scale>> {
    let (study, turn) = (trial.study, trial.turn);
    turn.doing(&trial.stand.name, "loading");
    // The database's error, when a signal ended the load, is but its echo.
    let unless_ended = |loaded| signals::check(turn.cancel).and(loaded);
    let company = company(study)?;
    if let Some(scale) = &company {
        unless_ended(sql.load_orders(scale, turn.block.seed, turn.cancel))?;
    }
    if study.phases.iter().any(|phase| phase.kind.random().is_some()) {
        unless_ended(sql.load_scattered(trial.scattered_rows, turn.block.seed, turn.cancel))?;
    }
    if let Some(scale) = questions::scale(study)? {
        let tables = Tables {
            scale,
            source: &Generator {
                limit: site.limit.as_ref(),
            },
            image: image(&site.images, trial),
        };
        unless_ended(sql.load_questions(&tables, turn.cancel))?;
    }
    // Who may have no checkpoint here has none after a phase either, and that is told there.
    let _ = sql.settle()?;
    Ok(company)
}

/// Where the loaded database can be observed: its places and the devices below them. None of them may be lost.
fn observed(ledger: &mut Ledger, trial: &Trial<'_>, sql: &dyn Sql) -> anyhow::Result<(Vec<PathBuf>, Devices)> {
    let stand = trial.stand;
    let places = match stand.built.ground.mounted_pool() {
        Some(_) => stand.places(),
        None => sql.places(),
    };
    let devices = stand.devices(&places)?;
    if trial.first {
        let mut facts = stand.granted_to_sql()?;
        if stand.built.ground.files().is_some() {
            let directory = sandbox::Directory::open(&stand.directory()?)?;
            facts.extend(sampled::facts_of_files(&directory, trial.turn.block.seed)?);
        }
        result_file::facts(ledger, &stand.scope(), facts)?;
        stand.describe(ledger, &devices)?;
    }
    let lost = sql.condition().lost;
    anyhow::ensure!(
        lost.is_none(),
        "{}: {}\n  look for its disks (`assay dg check`, the kernel's log), and go on with the same command and \
         `--resume`",
        stand.name,
        lost.unwrap_or_default()
    );
    Ok((places, devices))
}

/// What observes a phase; what works on the stack tells by itself what it has lost.
pub(crate) fn host<'a>(
    site: &'a HostSite<'_>,
    stand: &Stand,
    (devices, places): (&Devices, &[PathBuf]),
    server: Option<u32>,
) -> Host<'a> {
    let (mounts, budget) = (stand.built.mounts.clone(), site.prepared.budget);
    // LUNs of the data are held against each other; data and log of a database are not counted apart, its temporary
    // files are.
    let data = stand.data_luns(devices);
    let apart = Some(stand.temp_places()).filter(|places| !places.is_empty());
    let temp = apart.and_then(|places| Devices::under(&places).ok());
    let stacks = [&stand.stack];
    Host::new(devices.clone(), places.to_vec(), mounts, budget, &Condition::default)
        .with_mounted(stand.built.ground.mounted_pool())
        .with_log(&data, &data)
        .with_temp(&data, temp.as_ref())
        .with_models(site.luns.models_of(&stacks), site.luns.faults_of(&stacks))
        .with_clients(server)
}

/// Measures that are the same in all phases of the trial.
fn fixed(stand: &Stand, bytes: u64) -> Vec<(Measure, f64)> {
    let cache = kinds::of(&stand.stack.engine).map_or(0, |database| database.cache_bytes());
    vec![
        (Measure::DataBytes, bytes as f64),
        (Measure::EngineCacheBytes, cache as f64),
        (Measure::StackDataCopies, f64::from(stand.data_copies())),
    ]
}
