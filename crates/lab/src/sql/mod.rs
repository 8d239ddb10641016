//! A trial of a database that takes SQL: stood up on a stack, loaded, driven through the phases, taken down.
//!
//! Takes a stack that stands; gives rows of the ledger. One story for SQLite and PostgreSQL: what differs is behind [`Sql`].
//! Prevents: two databases measured in two ways, and a figure of a database that breaks its own conditions.

mod cut_lite;
mod cut_server;
mod cuts;
pub(crate) mod kept;
mod lite;
mod phase;
mod rows;
mod server;
pub(crate) mod sessions;
mod steps;

use crate::group::grouped::Condition;
use crate::host::observed::{Devices, Host};
use crate::host::site::HostSite;
use crate::host::stand::Stand;
use crate::result_file;
use crate::signals;
use crate::site::Turn;
use crate::trial::phases::{After, Around};
use databases::bulk::BulkResult;
use databases::order_entry::{Home, Scale};
use databases::sqlite::LockWait;
use ledger::{Ledger, Measure, TrialId};
use plan::{Company, Engine, PhaseKind, Random, Study, Tpcc};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::{Outcome, Pacing};

/// Order entry for some time.
pub(crate) struct Orders {
    pub(crate) scale: Scale,
    pub(crate) home: Home,
    pub(crate) load_seed: u64,
    pub(crate) seed: u64,
    pub(crate) pauses: bool,
    pub(crate) pacing: Pacing,
}

/// What order entry, or random work, came to.
pub(crate) struct Worked {
    pub(crate) outcome: Outcome,
    /// Tries refused for others' sake, by class: not serialised, deadlock.
    pub(crate) refused: [[u64; 2]; 5],
    /// Waits for the one writer.
    pub(crate) lock_wait: Option<LockWait>,
    /// Batches and statements that a server was sent.
    pub(crate) sent: Option<(u64, u64)>,
}

/// What a database counts of itself, since some beginning of its own; `None`: it does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Pages looked for in its cache.
    pub(crate) logical_reads: Option<u64>,
    /// Pages asked of storage.
    pub(crate) reads: Option<u64>,
    pub(crate) read_bytes: Option<u64>,
    /// Bytes of pages written.
    pub(crate) write_bytes: Option<u64>,
    /// Bytes of its log.
    pub(crate) log_bytes: Option<u64>,
    pub(crate) commits: Option<u64>,
    pub(crate) checkpoints: Option<u64>,
    pub(crate) temp_bytes: Option<u64>,
    /// Time in storage calls.
    pub(crate) storage_ns: Option<u64>,
}

/// A database on a stack.
pub(crate) trait Sql {
    /// Which it is and how it is set, as it says itself.
    fn describe(&mut self) -> anyhow::Result<ledger::Database>;
    /// Makes and fills the tables of the company.
    fn load_orders(&mut self, scale: &Scale, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()>;
    /// Makes and fills the table of random work: so many rows, one a page.
    fn load_scattered(&mut self, rows: u64, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()>;
    /// The conditions that do not hold: number, rows that break it.
    fn broken(&mut self, scale: &Scale) -> anyhow::Result<Vec<(u8, u64)>>;
    /// Runs order entry. What it has committed may still be on its way home.
    fn orders(&mut self, work: &Orders) -> anyhow::Result<Worked>;
    /// Runs random work on a table of so many rows.
    fn scattered(&mut self, work: &Random, rows: u64, pacing: &Pacing, seed: u64) -> anyhow::Result<Worked>;
    /// Loads rows into an empty table and brings them home.
    fn bulk(
        &mut self,
        rows: u64,
        commit_every: u64,
        slice_ns: u64,
        cancel: &Arc<AtomicBool>,
    ) -> anyhow::Result<BulkResult>;
    /// Brings everything home: a checkpoint.
    fn settle(&mut self) -> anyhow::Result<()>;
    /// Starts counting anew.
    fn begin_count(&mut self) -> anyhow::Result<()>;
    /// What was counted since; asked when the work's sessions are gone.
    fn counted(&mut self) -> anyhow::Result<Counted>;
    /// Bytes of the database's files.
    fn bytes(&mut self) -> anyhow::Result<u64>;
    /// The process that a server's others come from.
    fn server(&self) -> Option<u32> {
        None
    }
    /// Where its storage can be observed.
    fn places(&self) -> Vec<PathBuf>;
    /// How what it stands on is.
    fn condition(&self) -> Condition {
        Condition::default()
    }
    /// After a failure: takes away what no undo of ours does; gives in words what had to be left.
    fn give_up(&mut self) -> Option<String> {
        None
    }
    /// Ends it in good order.
    fn close(self: Box<Self>) -> anyhow::Result<()>;
}

/// The size of the company that the study asks for.
fn scale_of(tpcc: &Tpcc) -> anyhow::Result<Scale> {
    Ok(match tpcc.company {
        Company::Full => Scale::full(tpcc.warehouses)?,
        Company::Reduced => Scale::reduced(tpcc.warehouses)?,
    })
}

/// The company of the study, if it has order entry.
fn company(study: &Study) -> anyhow::Result<Option<Scale>> {
    let tpcc = study.phases.iter().find_map(|phase| match &phase.kind {
        PhaseKind::Tpcc(tpcc) => Some(tpcc),
        _ => None,
    });
    tpcc.map(scale_of).transpose()
}

/// A trial under way on a database.
pub(crate) struct Trial<'a> {
    pub(crate) study: &'a Study,
    pub(crate) turn: &'a Turn<'a>,
    pub(crate) stand: &'a Stand,
    pub(crate) id: TrialId,
    pub(crate) first: bool,
    /// Rows of the table of random work.
    pub(crate) scattered_rows: u64,
}

/// Runs one trial.
pub(crate) fn run(site: &mut HostSite<'_>, ledger: &mut Ledger, trial: &Trial<'_>) -> anyhow::Result<()> {
    if cuts::asked(trial) {
        return cuts::run(site, ledger, trial);
    }
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

fn stand_up(site: &mut HostSite<'_>, trial: &Trial<'_>) -> anyhow::Result<Box<dyn Sql>> {
    let (block, name) = (trial.turn.block.number + 1, &trial.stand.name);
    let progress = trial.turn.progress;
    Ok(match &trial.stand.stack.engine {
        Engine::Sqlite(settings) => {
            progress.doing(&format!("block {block} · {name} · making the database"));
            Box::new(lite::Lite::make(settings, trial)?)
        }
        Engine::Postgres(settings) => {
            progress.doing(&format!("block {block} · {name} · starting the server"));
            Box::new(server::Managed::make(site, settings, trial)?)
        }
        Engine::Pages => anyhow::bail!("the page engine takes no SQL"),
    })
}

fn phases(site: &HostSite<'_>, ledger: &mut Ledger, trial: &Trial<'_>, sql: &mut dyn Sql) -> anyhow::Result<After> {
    let (study, turn, stand) = (trial.study, trial.turn, trial.stand);
    ledger.database_of(trial.id, &sql.describe()?)?;
    let (block, name) = (turn.block.number + 1, &stand.name);
    turn.progress.doing(&format!("block {block} · {name} · loading"));
    let load_seed = turn.block.seed;
    let company = company(study)?;
    if let Some(scale) = &company {
        let loaded = sql.load_orders(scale, load_seed, turn.cancel);
        // The database's error, when a signal ended the load, is but its echo.
        signals::check(turn.cancel)?;
        loaded?;
    }
    if study.phases.iter().any(|p| matches!(p.kind, PhaseKind::Random(_))) {
        let loaded = sql.load_scattered(trial.scattered_rows, load_seed, turn.cancel);
        signals::check(turn.cancel)?;
        loaded?;
    }
    sql.settle()?;
    let places = match stand.built.ground.mounted_pool() {
        Some(_) => stand.places(),
        None => sql.places(),
    };
    let devices = Devices::under(&places)?;
    if trial.first {
        result_file::facts(ledger, &stand.scope(), stand.granted_to_sql()?)?;
        stand.describe(ledger, &devices)?;
    }
    let (lost, server) = (sql.condition().lost, sql.server());
    anyhow::ensure!(
        lost.is_none(),
        "{name}: {}\n  look for its disks (`assay dg check`, the kernel's log), and go on with `assay run --resume`",
        lost.unwrap_or_default()
    );
    let around = Around {
        study,
        sizes: None,
        trial: trial.id,
        stack: name,
        turn,
        fixed: fixed(stand, sql.bytes()?),
    };
    let mut asked = None;
    for (ordinal, phase) in study.phases.iter().enumerate() {
        signals::check(turn.cancel)?;
        if let (PhaseKind::Tpcc(_), Some(scale), None) = (&phase.kind, &company, &asked) {
            around.doing(phase, " · asking the conditions");
            asked = Some(sql.broken(scale)?);
        }
        site.drop_caches()?;
        site.luns.warm(&stand.stack)?;
        let mut host = host(site, stand, (&devices, &places), server);
        let mut work = phase::Work {
            trial,
            around: &around,
            phase,
            ordinal,
            company,
            before: asked.take(),
            after: None,
        };
        let after = around.recorded(ledger, phase, ordinal, || work.run(sql, &mut host))?;
        asked = work.after;
        if after == After::Full {
            turn.progress.advance((study.phases.len() - ordinal - 1) as u64);
            return Ok(After::Full);
        }
    }
    Ok(After::Next)
}

/// What observes a phase; a database tells by itself what its stack has lost.
fn host<'a>(
    site: &'a HostSite<'_>,
    stand: &Stand,
    (devices, places): (&Devices, &[PathBuf]),
    server: Option<u32>,
) -> Host<'a> {
    let (mounts, budget) = (stand.built.mounts.clone(), site.prepared.budget);
    let host = Host::new(devices.clone(), places.to_vec(), mounts, budget, &Condition::default);
    let host = host.with_mounted(stand.built.ground.mounted_pool());
    // LUNs of the data are held against each other; data and log of a database are not counted apart.
    let data = stand.data_luns(devices);
    let host = host.with_log(&data, &data);
    let host = host.with_models(
        site.luns.models_of(&[&stand.stack]),
        site.luns.faults_of(&[&stand.stack]),
    );
    host.with_clients(server)
}

/// Measures that are the same in all phases of the trial.
fn fixed(stand: &Stand, bytes: u64) -> Vec<(Measure, f64)> {
    let cache = match &stand.stack.engine {
        Engine::Sqlite(sqlite) => sqlite.cache.0,
        Engine::Postgres(postgres) => postgres.cache.0,
        Engine::Pages => 0,
    };
    vec![
        (Measure::DataBytes, bytes as f64),
        (Measure::EngineCacheBytes, cache as f64),
        (Measure::StackDataCopies, f64::from(stand.data_copies())),
    ]
}

/// Why this machine has no such database, and the cure.
pub fn unable(stack: &plan::Stack) -> Option<ledger::Skipped> {
    let (Engine::Postgres(asked), false) = (&stack.engine, matches!(stack.kind, plan::StackKind::Server { .. })) else {
        return None;
    };
    let error = server::choose(asked, stack.access).err()?.to_string();
    let (reason, cure) = error.rsplit_once('\n').unwrap_or((&error, ""));
    Some(ledger::Skipped {
        reason: reason.to_string(),
        cure: cure.trim().to_string(),
    })
}
