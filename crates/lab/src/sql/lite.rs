//! SQLite on a stack: through the operating system's files, past them by our own VFS, or in files of a disk group.
//!
//! Each kind of work has a database of its own (order entry, random work, bulk load), so that a bulk load can begin
//! with an empty one. Prevents: a figure of a second phase that finds the cache of the first (connections are made
//! anew for each).

use super::contract::{Asking, Copied, Counted, Cuttable, Database, Orders, Sql, Tables, Trial, Worked, tables_came};
use super::cut_lite::CutLite;
use super::lite_ground::{Base, Ground, Ports, close, connections, file_set_spec, insert, load_image, settings_with};
use super::lite_temp::Temp;
use crate::condition::Condition;
use crate::group::grouped;
use crate::record::unix_ns;
use crate::signals;
use crate::trial::drive::{SLICE_NS_UNTIMED, drive_each};
use anyhow::Context;
use databases::bulk::{BulkDatabase, BulkLoad, BulkResult, Space};
use databases::decision_support::{Answered, Held, RefreshSet, Refreshed, Table};
use databases::order_entry::{Scale, Terminal};
use databases::sqlite::{
    self, BulkSession, CacheCounts, Connections, IoCounts, LockWait, OrderWorker, ScatteredShape, Session,
    SharedWriter, TempStore,
};
use plan::{Access, Random, Sqlite, TableLoad};
use sandbox::Directory;
use stacks::Journal as UndoJournal;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use targets::Method;
use workloads::Pacing;

const ORDERS: &str = "orders";
const SCATTERED: &str = "scattered";
const BULK: &str = "bulk";
const QUESTIONS: &str = "questions";

/// Reads of all users together that are on their way at once, at most. Each keeps a port open, with memory of its own.
const ASKING_LANES_MAX: u32 = 64;

/// SQLite in a trial.
pub(super) struct Lite {
    settings: Sqlite,
    workers: u32,
    /// Users who ask questions at the same time, at most.
    askers: u32,
    /// How I/O is done by one thread.
    method: Method,
    ground: Ground,
    bases: BTreeMap<&'static str, Base>,
    /// The writer of the phase that has ended: with the last connection SQLite would bring everything home by itself,
    /// outside the time that is charged for it.
    open: Option<Arc<SharedWriter>>,
    /// Counts of connections since the phase began.
    pages: CacheCounts,
    /// I/O when it began.
    io: IoCounts,
    /// Where questions sort and group.
    temp: Temp,
    /// I/O of databases that were taken away.
    gone: IoCounts,
    /// Time that the work has spent in our VFS: without the drain, whose service nobody counts.
    storage_ns: u64,
    seed: u64,
    epoch_us: i64,
    devices: Vec<PathBuf>,
    cancel: Arc<AtomicBool>,
}

/// SQLite, as a stack asks for it.
impl Database for Sqlite {
    fn make(&self, trial: &Trial<'_>, _: Option<&Copied>, _: &mut UndoJournal) -> anyhow::Result<Box<dyn Sql>> {
        Ok(Box::new(Lite::make(self, trial)?))
    }

    fn make_to_cut<'a>(&self, trial: &'a Trial<'a>, _: &mut UndoJournal) -> anyhow::Result<Box<dyn Cuttable + 'a>> {
        Ok(Box::new(CutLite::make(self, trial)?))
    }

    fn shares_tables(&self) -> Option<String> {
        self.tables()
    }

    fn image(
        &self,
        trial: &Trial<'_>,
        tables: &Tables<'_>,
        dir: &Directory,
        journal: &mut UndoJournal,
    ) -> anyhow::Result<Copied> {
        let settings = settings_with(self, self.cache.0);
        load_image(tables, settings, dir, (journal, trial.turn.cancel)).map(Copied::File)
    }

    fn cache_bytes(&self) -> u64 {
        self.cache.0
    }

    fn page_bytes(&self) -> u64 {
        self.page.0
    }

    fn isolation(&self) -> ledger::Isolation {
        ledger::Isolation::Serializable
    }

    /// It works in this process and waits for what it asks: without a VFS of ours no longer than devices had requests.
    fn storage(&self, counted: &Counted, waited_ns_most: Option<u64>) -> Option<(f64, String)> {
        let by_vfs = counted.storage_ns.map(|ns| (ns, "the VFS below SQLite"));
        let by_devices = || {
            Some((
                waited_ns_most?,
                "the nearest devices: the time of their requests, summed",
            ))
        };
        by_vfs.or_else(by_devices).map(|(ns, who)| (ns as f64, who.to_string()))
    }
}

impl Lite {
    pub(super) fn make(settings: &Sqlite, trial: &Trial<'_>) -> anyhow::Result<Lite> {
        let stand = trial.stand;
        let ground = if let stacks::Ground::Group(_) = stand.built.ground {
            let (group, disks) = grouped::for_sql(&stand.stack, &stand.built)?;
            Ground::Group {
                group: Box::new(group),
                disks,
            }
        } else {
            let dir = stand.directory()?;
            match stand.stack.access {
                Access::Direct => Ground::Direct(dir),
                Access::Buffered => Ground::Buffered(dir),
            }
        };
        let mut devices: Vec<PathBuf> = match &ground {
            Ground::Group { disks, .. } => disks.iter().map(|disk| disk.path.clone()).collect(),
            Ground::Buffered(dir) | Ground::Direct(dir) => vec![dir.clone()],
        };
        devices.extend(stand.temp_places());
        let own = stand.temp_directory();
        let temp = match &ground {
            Ground::Buffered(dir) => Temp::buffered(own.clone().unwrap_or_else(|| dir.clone())).lying(own.is_some()),
            Ground::Direct(dir) => Temp::direct(own.as_ref().unwrap_or(dir)).lying(own.is_some()),
            Ground::Group { group, disks } => {
                let own = grouped::temp_for_sql(&stand.stack, &stand.built)?;
                Temp::grouped((**group).clone(), disks.clone(), own)
            }
        };
        Ok(Lite {
            settings: settings.clone(),
            workers: trial.study.workers,
            askers: askers(trial.study),
            method: trial.method,
            ground,
            bases: BTreeMap::new(),
            open: None,
            pages: CacheCounts::default(),
            io: IoCounts::default(),
            temp,
            gone: IoCounts::default(),
            storage_ns: 0,
            seed: trial.turn.block.seed,
            epoch_us: (unix_ns() / 1000) as i64 - (targets::monotonic_ns() / 1000) as i64,
            devices,
            cancel: trial.turn.cancel.clone(),
        })
    }

    /// Settings of a connection with so much cache.
    fn with_cache(&self, cache_bytes: u64) -> sqlite::Settings {
        settings_with(&self.settings, cache_bytes)
    }

    /// All of the cache, for the only connection that there is.
    fn alone(&self) -> sqlite::Settings {
        self.with_cache(self.settings.cache.0)
    }

    /// Loads without a journal, for what fails is thrown away. Then the database gets that of the study, and the
    /// journal its first room: otherwise the first phase would pay for both.
    fn load<F>(&mut self, name: &'static str, cancel: &Arc<AtomicBool>, load: F) -> anyhow::Result<()>
    where
        F: FnOnce(&Session) -> Result<(), sqlite::SqliteError>,
    {
        let later = self.alone();
        let journal = sqlite::Journal::Off;
        let place = &self.base(name)?.place;
        let mut session = place.connect(&sqlite::Settings { journal, ..later })?;
        session.interrupted_by(cancel.clone())?;
        load(&session)?;
        drop(session);
        Ok(place.connect(&later)?.begin_journal()?)
    }

    /// Each user who asks questions is a thread of its own. One that meets another's write waits for it, which a ring
    /// of the other's does not allow.
    fn ports(&self, name: &str) -> Ports {
        let (readers, alone) = match name {
            QUESTIONS => (self.workers.max(self.askers.min(ASKING_LANES_MAX)), false),
            _ => (self.workers, self.workers == 1),
        };
        let writer = if alone { self.method } else { Method::Pread };
        Ports {
            readers: readers as usize,
            writer,
        }
    }

    /// A database by name, made if it is not there.
    fn base(&mut self, name: &'static str) -> anyhow::Result<&Base> {
        if !self.bases.contains_key(name) {
            let temp = Some(&self.temp).filter(|_| name == QUESTIONS);
            let file_set = (file_set_spec(&self.settings), self.ports(name));
            let made = self.ground.make(name, file_set, self.seed, temp)?;
            self.bases.insert(name, made);
        }
        Ok(&self.bases[name])
    }

    /// Takes a database away, with its files.
    fn remove(&mut self, name: &'static str) -> anyhow::Result<()> {
        let Some(base) = self.bases.remove(name) else {
            return Ok(());
        };
        if let Some(counts) = base.place.counts() {
            add(&mut self.gone, counts);
        }
        close(base);
        self.ground.remove(name)
    }

    /// Connections of each worker of a phase.
    fn connect(&mut self, name: &'static str, workers: usize) -> anyhow::Result<Vec<Connections>> {
        let place = self.base(name)?.place.clone();
        let (writer, connections) = connections(&place, &self.settings, (workers, self.workers == 1))?;
        self.open = Some(writer);
        Ok(connections)
    }

    /// One of the only connections, so many; its statements end when a signal comes.
    fn checking(&mut self, name: &'static str, of: u32) -> anyhow::Result<Session> {
        let settings = self.with_cache(self.settings.cache.0 / u64::from(of));
        let mut session = self.base(name)?.place.connect(&settings)?;
        session.interrupted_by(self.cancel.clone())?;
        Ok(session)
    }

    /// What was found, unless a signal has come: SQLite's error is then but its echo.
    fn unless_ended<T, E: Into<anyhow::Error>>(&self, found: Result<T, E>) -> anyhow::Result<T> {
        signals::check(&self.cancel)?;
        found.map_err(Into::into)
    }

    fn count(&mut self, counts: CacheCounts) {
        self.pages.hits += counts.hits;
        self.pages.misses += counts.misses;
        self.pages.writes += counts.writes;
    }

    fn count_writer(&mut self) {
        if let Some(writer) = self.open.clone() {
            self.count(CacheCounts::of(writer.enter().session()));
        }
    }

    /// I/O of all databases so far.
    fn io_now(&self) -> IoCounts {
        let mut sum = self.gone;
        for counts in self.bases.values().filter_map(|base| base.place.counts()) {
            add(&mut sum, counts);
        }
        sum
    }
}

fn askers(study: &plan::Study) -> u32 {
    let users = study.phases.iter().filter_map(|phase| phase.kind.tpch());
    users.map(plan::Tpch::users_most).max().unwrap_or(0)
}

/// The counts that are used here.
fn add(sum: &mut IoCounts, counts: IoCounts) {
    sum.write_bytes += counts.write_bytes;
    sum.file_set_ns += counts.file_set_ns;
}

impl Sql for Lite {
    fn describe(&mut self) -> anyhow::Result<ledger::Database> {
        let settings = self.alone();
        let place = self.base(ORDERS)?.place.clone();
        let facts = place.connect(&settings)?.facts()?;
        drop(place);
        // It was made to be asked.
        self.remove(ORDERS)?;
        let value = |name: &str| {
            facts
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.clone())
        };
        let setting = |(key, value): &(String, String)| ledger::DatabaseSetting {
            name: key.trim_start_matches("sqlite ").to_string(),
            value: value.clone(),
            source: "assay".to_string(),
        };
        let said = |(key, _): &&(String, String)| key != "sqlite version" && key != "sqlite files by";
        let mut settings: Vec<ledger::DatabaseSetting> = facts.iter().filter(said).map(setting).collect();
        settings.push(self.temp.setting());
        if self.askers > 0 {
            settings.push(tables_came(self.settings.load == TableLoad::Copy));
        }
        for one in &mut settings {
            // The cache of the whole, which connections share out.
            if one.name == "cache_size" {
                one.name = "cache of all connections".to_string();
                one.value = self.settings.cache.to_string();
            }
        }
        Ok(ledger::Database {
            engine: ledger::DatabaseEngine::Sqlite,
            version: value("sqlite version").unwrap_or_default(),
            access: self.ground.access().to_string(),
            managed: true,
            settings,
        })
    }

    fn load_orders(&mut self, scale: &Scale, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()> {
        let now_us = (unix_ns() / 1000) as i64;
        let load = |session: &Session| sqlite::load(session, scale, seed, now_us);
        self.load(ORDERS, cancel, load).context("load the company")
    }

    fn load_scattered(&mut self, rows: u64, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()> {
        let shape = shape(rows, self.alone().page_bytes, None);
        let load = |session: &Session| sqlite::load_scattered(session, &shape, seed);
        self.load(SCATTERED, cancel, load)
            .context("load the table of random work")
    }

    fn broken(&mut self, scale: &Scale) -> anyhow::Result<Vec<(u8, u64)>> {
        let checkers = self.workers.clamp(1, sqlite::CHECKERS);
        let sessions = (0..checkers).map(|_| self.checking(ORDERS, checkers));
        let mut sessions = sessions.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(self
            .unless_ended(sqlite::broken_conditions_by(&mut sessions, scale))?
            .into_iter()
            .map(|(number, _, count)| (number, count.unsigned_abs()))
            .collect())
    }

    fn orders(&mut self, work: &Orders) -> anyhow::Result<Worked> {
        let parts = work.pacing.split(self.workers);
        let connections = self.connect(ORDERS, parts.len())?;
        let mut first = 0;
        let mut workers = Vec::new();
        for (part, own) in parts.iter().zip(connections) {
            let numbers = first..first + part.sessions;
            first += part.sessions;
            let terminal = |n| Terminal::new(work.scale, work.home, work.load_seed, work.seed, n);
            let worker = OrderWorker::new(own, numbers.map(terminal).collect(), self.epoch_us);
            workers.push(if work.pauses { worker.with_pauses() } else { worker });
        }
        let before = self.io_now().file_set_ns;
        let outcome = drive_each(&mut workers, &parts, work.seed)?;
        self.storage_ns += self.io_now().file_set_ns - before;
        let mut wait: Option<LockWait> = None;
        for worker in &mut workers {
            let one = worker.take_lock_wait();
            match &mut wait {
                Some(all) => all.add(&one),
                None => wait = Some(one),
            }
            self.count(worker.cache_counts());
        }
        self.count_writer();
        Ok(Worked {
            lock_wait: wait,
            ..Worked::of(outcome)
        })
    }

    fn scattered(&mut self, work: &Random, rows: u64, pacing: &Pacing, seed: u64) -> anyhow::Result<Worked> {
        let parts = pacing.split(self.workers);
        let connections = self.connect(SCATTERED, parts.len())?;
        let shape = shape(rows, self.alone().page_bytes, Some(work));
        let worker = |(nth, own)| sqlite::Scattered::new(own, shape, seed.wrapping_add(nth as u64));
        let mut workers: Vec<sqlite::Scattered> = connections.into_iter().enumerate().map(worker).collect();
        let outcome = drive_each(&mut workers, &parts, seed)?;
        for worker in &workers {
            self.count(worker.cache_counts());
        }
        self.count_writer();
        Ok(Worked::of(outcome))
    }

    fn bulk(&mut self, rows: u64, commit_every: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<BulkResult> {
        self.remove(BULK)?;
        let settings = self.alone();
        let session = self.base(BULK)?.place.connect(&settings)?;
        let database = BulkSession::new(session, (unix_ns() / 1000) as i64);
        let mut load = BulkLoad::new(database, rows)?
            .committing_every(commit_every)
            .cancelled_by(cancel.clone());
        let loaded = load.run(SLICE_NS_UNTIMED)?;
        self.count(CacheCounts::of(load.into_database().session()));
        Ok(loaded)
    }

    fn bulk_space(&mut self) -> anyhow::Result<Space> {
        let alone = self.alone();
        Ok(BulkSession::new(self.base(BULK)?.place.connect(&alone)?, 0).space()?)
    }

    fn load_questions(&mut self, tables: &Tables<'_>, cancel: &Arc<AtomicBool>) -> anyhow::Result<()> {
        let settings = self.alone();
        let image = tables.image.and_then(Copied::file);
        let place = &self.base(QUESTIONS)?.place;
        match image {
            Some(image) => Ok(image.copy_into(place, cancel)?),
            None => insert(tables, place, settings, cancel),
        }
        .context("load the tables of decision support")
    }

    fn ask(&mut self, asking: &Asking) -> anyhow::Result<Answered> {
        // Nobody writes: all of the cache is the users'.
        let settings = sqlite::Settings {
            temp: TempStore::Files,
            ..self.with_cache(self.settings.cache.0 / asking.users.len().max(1) as u64)
        };
        self.temp.ready(asking.users.len());
        let place = self.base(QUESTIONS)?.place.clone();
        let sessions = asking.users.iter().map(|_| place.connect(&settings));
        let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
        let questions = sqlite::Questions {
            users: asking.users.clone(),
            text: asking.text,
            limit: asking.limit,
            slice_ns: SLICE_NS_UNTIMED,
        };
        let before = self.io_now().file_set_ns;
        let (answered, pages) = sqlite::ask_questions(sessions, &questions, &self.cancel)?;
        self.storage_ns += self.io_now().file_set_ns - before;
        self.count(pages);
        Ok(answered)
    }

    fn refresh(&mut self, sets: &[RefreshSet]) -> anyhow::Result<Vec<Refreshed>> {
        let settings = self.alone();
        let session = self.base(QUESTIONS)?.place.connect(&settings)?;
        let refreshed = sqlite::run_refresh(&session, sets, &self.cancel)?;
        self.count(CacheCounts::of(&session));
        session.checkpoint_if_logged()?;
        Ok(refreshed)
    }

    fn refreshed(&mut self) -> anyhow::Result<Vec<Held>> {
        let session = self.checking(QUESTIONS, 1)?;
        let held = |table| sqlite::decision_support_checksums(&session, table);
        let tables = [Table::Orders, Table::LineItem];
        self.unless_ended(tables.into_iter().map(held).collect::<Result<_, _>>())
    }

    fn settle(&mut self) -> anyhow::Result<Option<String>> {
        if let Some(writer) = self.open.take() {
            writer.enter().session().checkpoint_if_logged()?;
        }
        Ok(None)
    }

    fn begin_count(&mut self) -> anyhow::Result<()> {
        self.pages = CacheCounts::default();
        self.storage_ns = 0;
        self.io = self.io_now();
        self.temp.begin_count();
        Ok(())
    }

    fn counted(&mut self) -> anyhow::Result<Counted> {
        let told = !matches!(self.ground, Ground::Buffered(_));
        let now = self.io_now();
        let temp = self.temp.counted();
        Ok(Counted {
            logical_reads: Some(self.pages.hits + self.pages.misses),
            reads: Some(self.pages.misses),
            read_bytes: Some(self.pages.misses * self.settings.page.0),
            write_bytes: told.then_some(now.write_bytes - self.io.write_bytes),
            storage_ns: told.then_some(self.storage_ns),
            temp_bytes: temp.map(|counts| counts.asked_write_bytes),
            temp_block_bytes: temp.map(|counts| counts.write_bytes),
            ..Counted::default()
        })
    }

    fn bytes(&mut self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for base in self.bases.values() {
            sum += base.place.file_bytes()?.iter().sum::<u64>();
        }
        Ok(sum)
    }

    fn places(&self) -> Vec<PathBuf> {
        self.devices.clone()
    }

    fn condition(&self) -> Condition {
        match &self.ground {
            Ground::Group { group, .. } => Condition::of(group.disks(), [group.info()]).with(self.temp.condition()),
            _ => Condition::default(),
        }
    }

    fn close(mut self: Box<Self>) -> anyhow::Result<()> {
        self.open = None;
        for base in std::mem::take(&mut self.bases).into_values() {
            base.place.forget_temp()?;
            close(base);
        }
        self.temp.close()?;
        if let Ground::Group { group, .. } = self.ground {
            group.close()?;
        }
        Ok(())
    }
}

fn shape(rows: u64, page_bytes: u32, work: Option<&Random>) -> ScatteredShape {
    ScatteredShape {
        rows,
        page_bytes,
        work_unit: work.map_or(1, |work| work.work_unit),
        update_pct: work.map_or(0, |work| work.update_pct),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Journal, Synchronous};
    use std::sync::atomic::Ordering;

    fn lite(dir: &std::path::Path) -> Lite {
        Lite {
            settings: Sqlite {
                page: plan::Bytes(8192),
                cache: plan::Bytes(8 << 20),
                journal: Journal::Wal,
                synchronous: Synchronous::Normal,
                wal_autocheckpoint: 1000,
                wal_memory: plan::Bytes(0),
                load: TableLoad::Copy,
            },
            workers: 1,
            askers: 1,
            method: Method::Pread,
            ground: Ground::Buffered(dir.to_path_buf()),
            bases: BTreeMap::new(),
            open: None,
            pages: CacheCounts::default(),
            io: IoCounts::default(),
            temp: Temp::buffered(dir.to_path_buf()),
            gone: IoCounts::default(),
            storage_ns: 0,
            seed: 1,
            epoch_us: 0,
            devices: Vec::new(),
            cancel: Arc::default(),
        }
    }

    #[test]
    fn a_signal_ends_the_checks_of_a_database() {
        let dir = tempfile::tempdir().unwrap();
        let mut lite = lite(dir.path());
        let (scale, cancel) = (Scale::reduced(1).unwrap(), lite.cancel.clone());
        lite.load_orders(&scale, 1, &cancel).unwrap();
        // The file's own word for how it is written: 1 with a rollback journal or none, 2 with a log.
        let written = || std::fs::read(dir.path().join(ORDERS)).unwrap()[18];
        assert_eq!(written(), 2, "it has the log of the study before the first phase");
        assert_eq!(lite.broken(&scale).unwrap(), []);
        // Long enough to be ended, and short enough to come back where nothing ends it.
        let long = "WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < 3000000) \
                    SELECT count(*) FROM n";
        for name in [ORDERS, QUESTIONS] {
            let session = lite.checking(name, 1).unwrap();
            cancel.store(true, Ordering::Relaxed);
            assert!(session.sql().query_row(long, [], |_| Ok(())).is_err(), "{name}");
            cancel.store(false, Ordering::Relaxed);
        }
        cancel.store(true, Ordering::Relaxed);
        let interrupted = |error: anyhow::Error| error.to_string();
        assert_eq!(lite.broken(&scale).map_err(interrupted), Err("interrupted".to_string()));
        assert!(lite.refreshed().is_err_and(|error| error.to_string() == "interrupted"));
        drop(lite);
    }
}
