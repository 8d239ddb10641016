//! A PostgreSQL server whose stack loses its power, or that is killed: one connection for each session, one
//! transaction after the other.
//!
//! Prevents: a commit that came after the power was gone counted as acknowledged, and a server that holds a mount
//! that must go.

use super::contract::{self, Cuttable, Stop, Trial};
use super::kept::{self, Kept, TABLES};
use super::postgres_setup::{choose, initdb_options, private_dir, recorded, settings};
use crate::cuts::moment::{Came, Moment};
use crate::not_kept::NotKept;
use crate::signals;
use anyhow::Context;
use databases::postgres::{Address, Cluster, Connection, Install, PostgresError, RunAs, Server, Settings};
use plan::{Access, Postgres};
use stacks::{Journal, Undo};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The server, and what it is made from.
pub(super) struct CutServer {
    server: Option<Server>,
    install: Install,
    run_as: RunAs,
    data: PathBuf,
    wal: Option<PathBuf>,
    options: Vec<String>,
    settings: Settings,
    private: PathBuf,
    sessions: u32,
    direct: bool,
    /// What a signal sets.
    cancel: Arc<AtomicBool>,
}

impl CutServer {
    pub(super) fn make(journal: &mut Journal, asked: &Postgres, trial: &Trial<'_>) -> anyhow::Result<CutServer> {
        let stack = &trial.stand.stack;
        let install = choose(asked, stack.access)?;
        let wal = trial.stand.log_directory().map(|dir| dir.join("pg_wal"));
        let options = initdb_options(asked, &install, wal.as_deref());
        let mut settings = settings(asked, trial.study, stack.access);
        settings.sessions = contract::sessions(trial);
        let mut made = CutServer {
            server: None,
            run_as: RunAs::choose(asked.run_as.as_deref())?,
            data: trial.stand.directory()?.join("pg"),
            wal,
            options,
            settings,
            private: private_dir()?,
            sessions: contract::sessions(trial),
            direct: stack.access == Access::Direct,
            cancel: Arc::clone(trial.turn.cancel),
            install,
        };
        journal.before(Undo::RemoveDir {
            path: made.private.clone(),
            contents: true,
        })?;
        let data = made.data.clone();
        journal.before(Undo::StopServer { data })?;
        made.make_anew()?;
        Ok(made)
    }

    fn server(&self) -> anyhow::Result<&Server> {
        self.server.as_ref().context("the server runs")
    }

    fn address(&self) -> anyhow::Result<Address> {
        Ok(self.server()?.address().clone())
    }
}

impl Cuttable for CutServer {
    fn describe(&mut self) -> anyhow::Result<ledger::Database> {
        Ok(ledger::Database {
            engine: ledger::DatabaseEngine::Postgres,
            version: self.install.version.clone(),
            access: if self.direct { "direct file" } else { "page cache" }.to_string(),
            managed: true,
            settings: recorded(&self.address()?)?,
        })
    }

    fn work(&mut self, first: &[u64], after: Duration, stop: &Stop<'_>) -> anyhow::Result<Vec<u64>> {
        let address = self.address()?;
        let open = |nth: usize| Connection::open(&address, &[]).map(|one| (nth as u32, one));
        let connections = (0..first.len()).map(open).collect::<Result<Vec<_>, _>>()?;
        let (moment, cancel) = (&Moment::default(), Arc::clone(&self.cancel));
        let (stopped, ended) = std::thread::scope(|scope| {
            let sessions: Vec<_> = connections
                .into_iter()
                .zip(first)
                .map(|((nth, connection), first)| scope.spawn(move || session(connection, nth, *first, moment)))
                .collect();
            let stopped = match moment.wait(after, &cancel) {
                Came::Due => stop(),
                // The sessions tell why.
                Came::Failed => Ok(()),
                Came::Interrupted => signals::check(&cancel),
            };
            // Sessions wait for the server, which waits for its storage.
            self.fall();
            let ended: Vec<_> = sessions
                .into_iter()
                .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect();
            (stopped, ended)
        });
        stopped?;
        Ok(ended.into_iter().collect::<Result<_, _>>()?)
    }

    fn rise(&mut self) -> anyhow::Result<()> {
        let cluster = Cluster::at(self.install.clone(), &self.data, self.run_as.clone());
        self.server = Some(cluster.start_at(&self.settings, &self.private)?);
        Ok(())
    }

    fn kept(&mut self) -> anyhow::Result<Kept> {
        let mut connection = Connection::open(&self.address()?, &[])?;
        let mut kept = rows(&mut connection, self.sessions, kept::select)?;
        // The indexes were written beside the tables, and may have been lost without them.
        connection.run("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")?;
        kept.same_by_index(&rows(&mut connection, self.sessions, kept::select_by_key)?);
        Ok(kept)
    }

    fn fall(&mut self) {
        if let Some(server) = self.server.take() {
            server.crash();
        }
    }

    fn make_anew(&mut self) -> anyhow::Result<()> {
        if let Some(wal) = &self.wal {
            self.run_as.make_directory(wal)?;
        }
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let cluster = Cluster::create(self.install.clone(), &self.data, self.run_as.clone(), &options)?;
        self.server = Some(cluster.start_at(&self.settings, &self.private)?);
        let mut connection = Connection::open(&self.address()?, &[])?;
        for table in TABLES {
            connection.run(&kept::table(table))?;
        }
        connection.run("CHECKPOINT")?;
        Ok(())
    }

    fn close(mut self: Box<Self>) -> anyhow::Result<()> {
        match self.server.take() {
            Some(server) => Ok(server.stop()?),
            None => Ok(()),
        }
    }
}

/// The rows of both tables, by a statement for each.
fn rows(connection: &mut Connection, sessions: u32, select: impl Fn(&str) -> String) -> anyhow::Result<Kept> {
    let mut kept = Kept::of(sessions);
    for (nth, table) in TABLES.iter().enumerate() {
        // A long study has more rows than one answer may hold.
        connection.each_row(&select(table), |row| -> anyhow::Result<()> {
            let cell = |at: usize| row.get(at).and_then(Option::as_deref);
            let wrong = || NotKept(format!("a row of {table} is none that was written: {row:?}"));
            let number = |at: usize| cell(at).and_then(|text| text.parse::<u64>().ok());
            let session = number(0).and_then(|number| u32::try_from(number).ok());
            let (session, number) = session.zip(number(1)).ok_or_else(wrong)?;
            kept.take(nth, session, number, cell(2).ok_or_else(wrong)?);
            Ok(())
        })?;
    }
    Ok(kept)
}

/// One transaction after the other until the power fails: the number of the last that was acknowledged before.
fn session(mut connection: Connection, nth: u32, first: u64, moment: &Moment) -> Result<u64, PostgresError> {
    let mut number = first;
    loop {
        let [a, b] = TABLES.map(|table| kept::insert(table, nth, number));
        let done = connection.run(&format!("BEGIN; {a}; {b}; COMMIT"));
        // What comes after the cut was said by a machine without power.
        match done {
            Err(error) if moment.fail() => return Err(error),
            Ok(_) if moment.came().is_none() => {
                moment.begin();
                number += 1;
            }
            _ => return Ok(number - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use databases::postgres;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn more_transactions_are_read_than_one_answer_holds() {
        let install = match postgres::choose(None) {
            Ok(install) => install,
            Err(e) => {
                assert!(std::env::var_os("CI").is_none(), "{e}: ./test installs it");
                eprintln!("skipped: {e}; ./test installs it");
                return;
            }
        };
        let dir = tempfile::Builder::new().prefix("acs-").tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let mut cut = CutServer {
            server: None,
            install,
            run_as: RunAs::choose(None).unwrap(),
            data: dir.path().join("data"),
            wal: None,
            options: vec!["--no-sync".to_string()],
            settings: Settings::default(),
            private: dir.path().join("private"),
            sessions: 1,
            direct: false,
            cancel: Arc::default(),
        };
        cut.make_anew().unwrap();
        let rows = 60_000;
        let mut connection = Connection::open(&cut.address().unwrap(), &[]).unwrap();
        for table in TABLES {
            let body = "left(repeat('0.' || n || '-', 300), 300)";
            let made = format!("INSERT INTO {table} SELECT 0, n, {body} FROM generate_series(1, {rows}) n");
            connection.run(&made).unwrap();
        }
        let kept = cut.kept().unwrap();
        assert_eq!(kept.next(&vec![(1, 0)]), [rows + 1]);
        let found = kept.against(&vec![(1, rows)], &Kept::of(1));
        assert!(!found.is_loss() && found.acknowledged == rows, "{found:?}");
        // A row that has no text of ours is told.
        connection
            .run(&format!("UPDATE {} SET body = 'x' WHERE number = {rows}", TABLES[1]))
            .unwrap();
        let found = cut.kept().unwrap().against(&vec![(1, rows)], &Kept::of(1));
        assert!(found.is_loss(), "{found:?}");
        cut.fall();
    }
}
