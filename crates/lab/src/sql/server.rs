//! PostgreSQL in a trial: a server made and started on the stack, or one that is there already.
//!
//! Takes the engine's settings and where its data may be; gives [`Sql`]. Every step that outlives a call is
//! journalled before it is taken. Prevents: a server left behind, an error of the client where the server had died,
//! and a port or a password in a result.

use super::contract::{Asking, Copied, Counted, Cuttable, Database, Orders, Sql, Tables, Trial, Worked, tables_came};
use super::cut_server::CutServer;
use super::postgres_setup::{QUESTIONS, choose, initdb_options, load_cluster, private_dir, recorded, settings};
use super::questions;
use crate::record::unix_ns;
use crate::signals::SetWhenGone;
use crate::trial::drive::SLICE_NS_UNTIMED;
use anyhow::{Context, ensure};
use databases::bulk::{BulkDatabase, BulkLoad, BulkResult, Space};
use databases::decision_support::{Answered, Held, RefreshSet, Refreshed, Table};
use databases::order_entry::Scale;
use databases::postgres::{
    self, Address, BulkConnection, Cluster, Connection, Install, Isolation, Phase, PostgresError, RunAs, ScatteredSpec,
    Server, ServerCounters,
};
use ledger::Skipped;
use plan::{Access, Postgres, Random, Stack};
use sandbox::Directory;
use stacks::{Journal, Undo};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use workloads::Pacing;

const ORDERS: &str = "assay_orders";
const SCATTERED: &str = "assay_scattered";
const BULK: &str = "assay_bulk";
/// Directory and tablespace of temporary files.
const TEMP: &str = "assay_temp";
const BLOCK: u64 = 8192;
/// What is sealed costs the server and the users processor time: it is recorded beside the settings.
const ENCRYPTION: &str = "encryption of the connections";
const NOT_ENCRYPTED: &str = "none";
/// How long a server that is not ours may take to come up again before its databases are left to its owner.
const GIVE_UP_PATIENCE: Duration = Duration::from_secs(15);

/// What is said of a phase without the checkpoint at its end.
const NO_CHECKPOINT: &str = "the user of the server may not run CHECKPOINT, so the phase ended without one. The server \
                             may write its changes later, in the time of the next phase; let a superuser run GRANT \
                             pg_checkpoint TO that user";

/// How long sessions may take to hand in what they counted.
const COUNTS_ARRIVE: Duration = Duration::from_millis(300);

/// A server in a trial.
pub(super) struct Managed {
    /// `None`: it is not ours.
    server: Option<Server>,
    /// The database that is always there.
    address: Address,
    /// Databases that we made on it.
    made: Vec<&'static str>,
    isolation: Isolation,
    workers: u32,
    /// The database that is counted, and its counters when the phase began.
    counting: Option<(String, ServerCounters)>,
    places: Vec<PathBuf>,
    cancel: Arc<AtomicBool>,
    version: String,
    /// Version and cipher suite of TLS, or that there is none.
    encryption: String,
    direct: bool,
    /// The tablespace of temporary files, where they have a place of their own.
    temp: Option<&'static str>,
    /// The study asks questions of decision support.
    asks: bool,
}

/// PostgreSQL, as a stack asks for it.
impl Database for Postgres {
    fn making(&self) -> &'static str {
        "starting the server"
    }

    fn make(&self, trial: &Trial<'_>, image: Option<&Copied>, journal: &mut Journal) -> anyhow::Result<Box<dyn Sql>> {
        Ok(Box::new(Managed::make(journal, self, trial, image)?))
    }

    fn make_to_cut<'a>(&self, trial: &'a Trial<'a>, journal: &mut Journal) -> anyhow::Result<Box<dyn Cuttable + 'a>> {
        Ok(Box::new(CutServer::make(journal, self, trial)?))
    }

    fn shares_tables(&self) -> Option<String> {
        self.tables()
    }

    fn image(
        &self,
        trial: &Trial<'_>,
        tables: &Tables<'_>,
        dir: &Directory,
        journal: &mut Journal,
    ) -> anyhow::Result<Copied> {
        load_cluster(self, trial, (tables, dir), journal).map(Copied::Cluster)
    }

    fn unable(&self, stack: &Stack) -> Option<Skipped> {
        if stack.kind.server().is_some() {
            return None;
        }
        let error = choose(self, stack.access).err()?.to_string();
        let (reason, cure) = error.rsplit_once('\n').unwrap_or((&error, ""));
        Some(Skipped {
            reason: reason.to_string(),
            cure: cure.trim().to_string(),
        })
    }

    fn cache_bytes(&self) -> u64 {
        self.cache.0
    }

    fn page_bytes(&self) -> u64 {
        BLOCK
    }

    fn isolation(&self) -> ledger::Isolation {
        match self.isolation {
            plan::Isolation::ReadCommitted => ledger::Isolation::ReadCommitted,
            plan::Isolation::RepeatableRead => ledger::Isolation::RepeatableRead,
            plan::Isolation::Serializable => ledger::Isolation::Serializable,
        }
    }

    fn writes_beside(&self) -> Vec<(PathBuf, &'static str)> {
        vec![
            (std::env::temp_dir(), "socket and log of PostgreSQL"),
            (PathBuf::from("/dev/shm"), "shared memory of PostgreSQL"),
        ]
    }
}

impl Managed {
    fn make(
        journal: &mut Journal,
        asked: &Postgres,
        trial: &Trial<'_>,
        image: Option<&Copied>,
    ) -> anyhow::Result<Managed> {
        if let Some(url) = trial.stand.stack.kind.server() {
            return Managed::there(url, asked, trial);
        }
        let stack = &trial.stand.stack;
        let install = choose(asked, stack.access)?;
        let version = install.version.clone();
        let run_as = RunAs::choose(asked.run_as.as_deref())?;
        let dir = trial.stand.directory()?;
        let data = dir.join("pg");
        let wal = trial.stand.log_directory().map(|dir| dir.join("pg_wal"));
        let image = image.and_then(Copied::cluster);
        let cluster = match image {
            Some(image) => {
                let places = (data.as_path(), wal.as_deref());
                Cluster::copied(install, places, run_as, image, trial.turn.cancel)
                    .context("copy the tables of decision support")?
            }
            None => empty_cluster(asked, install, (&data, wal.as_deref()), run_as)?,
        };
        let private = private_dir()?;
        journal.before(Undo::RemoveDir {
            path: private.clone(),
            contents: true,
        })?;
        journal.before(Undo::StopServer { data: data.clone() })?;
        let settings = settings(asked, trial.study, stack.access);
        let temp = trial.stand.temp_directory().map(|dir| dir.join(TEMP));
        let cluster = match &temp {
            Some(temp) => cluster.with_temp(temp)?,
            None => cluster,
        };
        let server = cluster.start_at(&settings, &private)?;
        if let Some(temp) = &temp {
            postgres::make_temp_tablespace(server.address(), TEMP, temp)?;
        }
        let mut places = vec![dir];
        places.extend(wal);
        places.extend(temp.clone());
        Ok(Managed {
            address: server.address().clone(),
            server: Some(server),
            made: image.map(|_| QUESTIONS).into_iter().collect(),
            isolation: isolation(asked),
            workers: trial.study.workers,
            counting: None,
            places,
            cancel: trial.turn.cancel.clone(),
            version,
            encryption: NOT_ENCRYPTED.to_string(),
            direct: stack.access == Access::Direct,
            temp: temp.map(|_| TEMP),
            asks: questions::scale(trial.study)?.is_some(),
        })
    }

    /// A server that is there already.
    fn there(url: &str, asked: &Postgres, trial: &Trial<'_>) -> anyhow::Result<Managed> {
        let address = Address::parse_in(url, |name| std::env::var(name).ok())?;
        let mut connection = Connection::open(&address, &[])?;
        let version = connection.version_name()?;
        ensure!(
            connection.version()? >= 150_000,
            "{address} is PostgreSQL {version}\n  use a server of version 15 or newer"
        );
        Ok(Managed {
            server: None,
            address,
            made: Vec::new(),
            isolation: isolation(asked),
            workers: trial.study.workers,
            counting: None,
            places: Vec::new(),
            cancel: trial.turn.cancel.clone(),
            version,
            encryption: connection.encryption().unwrap_or_else(|| NOT_ENCRYPTED.to_string()),
            direct: false,
            temp: None,
            asks: questions::scale(trial.study)?.is_some(),
        })
    }

    /// The server's own word where it has died: what the client then sees is only that a connection broke.
    fn blame<T>(&self, result: Result<T, PostgresError>) -> anyhow::Result<T> {
        let error = match result {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let Some(server) = &self.server else {
            return Err(error.into());
        };
        // A dying server closes its connections before it ends.
        let broke = matches!(
            error,
            PostgresError::Gone { .. } | PostgresError::Refused { .. } | PostgresError::Died { .. }
        );
        for _ in 0..if broke { 20 } else { 1 } {
            server.check_running()?;
            std::thread::sleep(Duration::from_millis(25));
        }
        Err(error.into())
    }

    fn database(&self, name: &str) -> Address {
        let mut address = self.address.clone();
        name.clone_into(&mut address.database);
        address
    }

    fn create(&mut self, name: &'static str) -> anyhow::Result<Address> {
        let made = postgres::create(&self.address, name);
        let made = self.blame(made).with_context(|| format!("make the database {name}"))?;
        self.made.push(name);
        Ok(made)
    }

    fn drop_database(&mut self, name: &'static str) -> anyhow::Result<()> {
        if !self.made.contains(&name) {
            return Ok(());
        }
        let dropped = Connection::open(&self.address, &[])
            .and_then(|mut connection| connection.run(&format!("DROP DATABASE {name}")).map(|_| ()));
        self.blame(dropped)?;
        self.made.retain(|made| *made != name);
        Ok(())
    }

    fn counters(&self, name: &str) -> anyhow::Result<ServerCounters> {
        let read = Connection::open(&self.database(name), &[])
            .and_then(|mut connection| ServerCounters::read(&mut connection));
        self.blame(read)
    }

    /// From here on this database is counted.
    fn count(&mut self, name: &str) -> anyhow::Result<()> {
        if self.counting.is_none() {
            self.counting = Some((name.to_string(), self.counters(name)?));
        }
        Ok(())
    }

    /// A cancel flag of the work's own, which follows the run's: what the work stops for is not the end of the run.
    fn followed<T>(&self, work: impl FnOnce(&Arc<AtomicBool>) -> T) -> T {
        let (own, over) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        std::thread::scope(|scope| {
            // Also by a panic: the scope would wait for ever for a thread that is never told.
            let _over = SetWhenGone(&over);
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if self.cancel.load(Ordering::Relaxed) {
                        own.store(true, Ordering::Relaxed);
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            work(&own)
        })
    }
}

/// A server's data with nothing in them; `wal`: where its log lies, if that is apart.
fn empty_cluster(
    asked: &Postgres,
    install: Install,
    (data, wal): (&Path, Option<&Path>),
    run_as: RunAs,
) -> anyhow::Result<Cluster> {
    if let Some(wal) = wal {
        run_as.make_directory(wal)?;
    }
    let options = initdb_options(asked, &install, wal);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Ok(Cluster::create(install, data, run_as, &options)?)
}

fn isolation(asked: &Postgres) -> Isolation {
    match asked.isolation {
        plan::Isolation::ReadCommitted => Isolation::ReadCommitted,
        plan::Isolation::RepeatableRead => Isolation::RepeatableRead,
        plan::Isolation::Serializable => Isolation::Serializable,
    }
}

impl Sql for Managed {
    fn describe(&mut self) -> anyhow::Result<ledger::Database> {
        let mut settings = self.blame(recorded(&self.address))?;
        settings.push(ledger::DatabaseSetting {
            name: ENCRYPTION.to_string(),
            value: self.encryption.clone(),
            source: "client".to_string(),
        });
        if self.asks {
            settings.push(tables_came(self.made.contains(&QUESTIONS)));
        }
        Ok(ledger::Database {
            engine: ledger::DatabaseEngine::Postgres,
            version: self.version.clone(),
            access: match (&self.server, self.direct) {
                (None, _) => "unknown",
                (Some(_), true) => "direct file",
                (Some(_), false) => "page cache",
            }
            .to_string(),
            managed: self.server.is_some(),
            settings,
        })
    }

    fn load_orders(&mut self, scale: &Scale, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()> {
        let address = self.create(ORDERS)?;
        let loaders = std::thread::available_parallelism()
            .map_or(2, |n| n.get() as u32)
            .min(8);
        let now_us = (unix_ns() / 1000) as i64;
        let loaded = postgres::load(&address, scale, seed, now_us, loaders, cancel);
        self.blame(loaded).context("load the company")?;
        Ok(())
    }

    fn load_scattered(&mut self, rows: u64, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()> {
        let address = self.create(SCATTERED)?;
        let loaded = postgres::load_scattered(&address, rows, seed, cancel);
        self.blame(loaded).context("load the table of random work")
    }

    fn broken(&mut self, scale: &Scale) -> anyhow::Result<Vec<(u8, u64)>> {
        let broken = self.blame(postgres::check(&self.database(ORDERS), scale))?;
        Ok(broken.iter().map(|one| (one.condition.number, one.rows)).collect())
    }

    fn orders(&mut self, work: &Orders) -> anyhow::Result<Worked> {
        self.count(ORDERS)?;
        let address = self.database(ORDERS);
        let report = self.followed(|cancel| {
            let phase = Phase {
                scale: work.scale,
                home: work.home,
                load_seed: work.load_seed,
                seed: work.seed,
                isolation: self.isolation,
                pauses: work.pauses,
                pacing: Pacing {
                    cancel: Some(cancel.clone()),
                    ..work.pacing.clone()
                },
                workers: self.workers,
                now_us: (unix_ns() / 1000) as i64,
            };
            postgres::run_phase(&address, &phase)
        });
        let report = self.blame(report)?;
        Ok(Worked {
            refused: report.counts.refused,
            sent: Some((report.counts.round_trips, report.counts.statements)),
            ..Worked::of(report.outcome)
        })
    }

    fn scattered(&mut self, work: &Random, rows: u64, pacing: &Pacing, seed: u64) -> anyhow::Result<Worked> {
        self.count(SCATTERED)?;
        let address = self.database(SCATTERED);
        let spec = ScatteredSpec {
            rows,
            work_unit: work.work_unit,
            update_pct: work.update_pct,
            sessions: 0,
        };
        let outcome = self.followed(|cancel| {
            let pacing = Pacing {
                cancel: Some(cancel.clone()),
                ..pacing.clone()
            };
            postgres::run_scattered(&address, &spec, &pacing, self.workers, seed)
        });
        let (outcome, deadlocks) = self.blame(outcome)?;
        let mut worked = Worked::of(outcome);
        worked.refused[0] = [0, deadlocks];
        Ok(worked)
    }

    fn bulk(&mut self, rows: u64, commit_every: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<BulkResult> {
        let server = self.address.database.clone();
        self.count(&server)?;
        self.drop_database(BULK)?;
        let address = self.create(BULK)?;
        let data = self.server.as_ref().map(|server| server.facts().data.clone());
        let loaded = Connection::open(&address, &[]).and_then(|connection| {
            let database = BulkConnection::new(connection, data.as_deref(), (unix_ns() / 1000) as i64);
            let mut load = BulkLoad::new(database, rows)?
                .committing_every(commit_every)
                .cancelled_by(cancel.clone());
            load.run(SLICE_NS_UNTIMED)
        });
        self.blame(loaded)
    }

    fn bulk_space(&mut self) -> anyhow::Result<Space> {
        let space = Connection::open(&self.database(BULK), &[])
            .and_then(|connection| BulkConnection::new(connection, None, 0).space());
        self.blame(space)
    }

    fn load_questions(&mut self, tables: &Tables<'_>, cancel: &Arc<AtomicBool>) -> anyhow::Result<()> {
        if self.made.contains(&QUESTIONS) {
            // They came with the data of the server.
            return Ok(());
        }
        let address = self.create(QUESTIONS)?;
        let loaded = postgres::load_decision_support(&address, tables.scale, tables.source, cancel);
        self.blame(loaded).context("load the tables of decision support")?;
        Ok(())
    }

    fn ask(&mut self, asking: &Asking) -> anyhow::Result<Answered> {
        self.count(QUESTIONS)?;
        let questions = postgres::Questions {
            users: asking.users.clone(),
            text: asking.text,
            limit: asking.limit,
            temp_tablespace: self.temp.map(str::to_string),
            slice_ns: SLICE_NS_UNTIMED,
        };
        let answered = postgres::ask_questions(&self.database(QUESTIONS), &questions, &self.cancel);
        self.blame(answered)
    }

    fn refresh(&mut self, sets: &[RefreshSet]) -> anyhow::Result<Vec<Refreshed>> {
        self.blame(postgres::run_refresh(&self.database(QUESTIONS), sets, &self.cancel))
    }

    fn refreshed(&mut self) -> anyhow::Result<Vec<Held>> {
        let held = Connection::open(&self.database(QUESTIONS), &[]).and_then(|mut connection| {
            let held = |table| postgres::decision_support_checksums(&mut connection, table);
            [Table::Orders, Table::LineItem].into_iter().map(held).collect()
        });
        self.blame(held)
    }

    fn settle(&mut self) -> anyhow::Result<Option<String>> {
        let settled =
            Connection::open(&self.address, &[]).and_then(|mut connection| connection.run("CHECKPOINT").map(|_| ()));
        match (settled, &self.server) {
            // Not everybody may ask for one; then the server's own come when they come.
            (Err(PostgresError::Refused { code, .. }), None) if code == "42501" => Ok(Some(NO_CHECKPOINT.to_string())),
            (settled, _) => self.blame(settled).map(|()| None),
        }
    }

    fn begin_count(&mut self) -> anyhow::Result<()> {
        self.counting = None;
        Ok(())
    }

    fn counted(&mut self) -> anyhow::Result<Counted> {
        let Some((name, before)) = self.counting.take() else {
            return Ok(Counted::default());
        };
        // Sessions that close hand in their counts.
        std::thread::sleep(COUNTS_ARRIVE);
        let since = self.counters(&name)?.since(&before);
        // Databases of a bulk load come and go within the phase; what is counted of the whole server stays.
        let told = |blocks: u64| self.made.contains(&name.as_str()).then_some(blocks);
        Ok(Counted {
            logical_reads: told(since.blocks_read + since.blocks_hit),
            reads: told(since.blocks_read),
            read_bytes: told(since.blocks_read.saturating_mul(BLOCK)),
            write_bytes: Some(
                (since.checkpoint_blocks + since.cleaned_blocks + since.backend_blocks).saturating_mul(BLOCK),
            ),
            log_bytes: Some(since.wal_bytes),
            commits: told(since.commits),
            checkpoints: Some(since.checkpoints),
            temp_bytes: None,
            temp_file_bytes: Some(since.temp_file_bytes),
            temp_block_bytes: None,
            storage_ns: None,
        })
    }

    fn bytes(&mut self) -> anyhow::Result<u64> {
        let mut sum = 0_u64;
        for name in &self.made {
            let asked = Connection::open(&self.database(name), &[]).and_then(|mut connection| {
                connection.number("SELECT CAST(pg_database_size(current_database()) AS BIGINT)")
            });
            sum = sum.saturating_add(self.blame(asked)?.unsigned_abs());
        }
        Ok(sum)
    }

    fn server(&self) -> Option<u32> {
        self.server.as_ref().map(|server| server.facts().pid)
    }

    fn places(&self) -> Vec<PathBuf> {
        self.places.clone()
    }

    /// A server that is not ours may be on its way up again after what ended the run.
    fn give_up(&mut self) -> Option<String> {
        if self.server.is_some() {
            return None;
        }
        let begin = Instant::now();
        loop {
            for name in self.made.clone() {
                // Each may wait as long as a connection may take.
                if begin.elapsed() <= GIVE_UP_PATIENCE {
                    let _ = self.drop_database(name);
                }
            }
            if self.made.is_empty() {
                return None;
            }
            if begin.elapsed() > GIVE_UP_PATIENCE {
                let names = std::mem::take(&mut self.made).join(", ");
                return Some(format!(
                    "{} is left with what Assay made there, to be removed by DROP DATABASE: {names}",
                    self.address
                ));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn close(mut self: Box<Self>) -> anyhow::Result<()> {
        if let Some(server) = self.server.take() {
            return Ok(server.stop()?);
        }
        for name in self.made.clone() {
            self.drop_database(name)?;
        }
        Ok(())
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        if self.server.is_none() {
            for name in self.made.clone() {
                // Best effort on the way out of an error; the server is not ours to undo.
                let _ = self.drop_database(name);
            }
        }
    }
}
