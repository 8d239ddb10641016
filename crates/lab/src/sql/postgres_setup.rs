//! How a PostgreSQL of ours is set up, whatever is done with it: which one, where, by which settings.
//!
//! Prevents: a server that is driven and one whose power is cut, set up in two ways.

use super::contract::{Tables, Trial};
use crate::host::site::undone;
use anyhow::{Context, ensure};
use databases::postgres::{self, Address, Cluster, ClusterImage, Install, PostgresError, RunAs, Settings};
use plan::{Access, LOADING_WAL_BYTES, Postgres, Preset, Study};
use rustix::fs::OFlags;
use sandbox::{Directory, Identity};
use stacks::{Journal, Undo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The database of decision support.
pub(super) const QUESTIONS: &str = "assay_questions";
/// Where a server lies whose tables are copied, in the run's own directory, and the file of the copy.
const LOADED: &str = "tables-server";
const KEPT: &str = "tables-server.copy";

/// Where socket and log lie: beside other temporary files, so that the stack carries nothing but the database.
pub(super) fn private_dir() -> anyhow::Result<PathBuf> {
    let name = sandbox::unique_name("assay-pg-").context("name a directory of the server")?;
    Ok(std::env::temp_dir().join(name))
}

/// The server that a stack asks for.
pub(super) fn choose(asked: &Postgres, access: Access) -> anyhow::Result<Install> {
    let install = postgres::choose(asked.version)?;
    ensure!(
        access == Access::Buffered || install.major >= 16,
        "PostgreSQL {} has no direct I/O\n  install 16 or newer, or write access = \"buffered\" in the stack",
        install.version
    );
    Ok(install)
}

/// What `initdb` is told.
pub(super) fn initdb_options(asked: &Postgres, install: &Install, wal: Option<&Path>) -> Vec<String> {
    let checksums = match (asked.checksums, install.major) {
        (true, _) => Some("--data-checksums"),
        // From 18 on they are what initdb does by itself.
        (false, 18..) => Some("--no-data-checksums"),
        (false, _) => None,
    };
    let mut options: Vec<String> = checksums.into_iter().map(str::to_string).collect();
    options.extend(wal.map(|wal| format!("--waldir={}", wal.display())));
    options
}

/// The server's settings as a result keeps them: paths of this run and the address are nobody's business.
pub(super) fn recorded(address: &Address) -> Result<Vec<ledger::DatabaseSetting>, PostgresError> {
    let private = [
        "unix_socket_directories",
        "config_file",
        "hba_file",
        "ident_file",
        "data_directory",
    ];
    let settings = postgres::recorded_settings(address)?.into_iter();
    let public = settings.filter(|one| !private.contains(&one.name.as_str()));
    Ok(public
        .map(|one| ledger::DatabaseSetting {
            name: one.name,
            value: one.value,
            source: one.source,
        })
        .collect())
}

/// Settings that the study asks for.
pub(super) fn settings(asked: &Postgres, study: &Study, access: Access) -> Settings {
    let sessions = study.phases.iter().map(|phase| phase.kind.in_flight().sessions);
    let mut explicit: BTreeMap<String, String> = asked.settings.iter().cloned().collect();
    if access == Access::Direct {
        explicit.insert("debug_io_direct".to_string(), "data, wal".to_string());
    }
    Settings {
        preset: match asked.preset {
            Preset::Default => postgres::Preset::Default,
            Preset::Tuned => postgres::Preset::Tuned,
        },
        memory_bytes: study.memory.budget.map(|budget| budget.0),
        shared_buffers_bytes: Some(asked.cache.0),
        sessions: sessions.max().unwrap_or(1),
        explicit,
    }
}

/// Settings of the server that loads tables for copies: those of the study that shape tables, and a small log.
fn loading(asked: &Postgres, study: &Study) -> Settings {
    let mut explicit: BTreeMap<String, String> = asked.shaping().cloned().collect();
    explicit.insert("max_wal_size".to_string(), format!("{}MB", LOADING_WAL_BYTES >> 20));
    Settings {
        preset: postgres::Preset::Default,
        memory_bytes: study.memory.budget.map(|budget| budget.0),
        shared_buffers_bytes: Some(asked.cache.0),
        sessions: 1,
        explicit,
    }
}

/// Loads tables of decision support once, by a server in `dir` that is gone afterwards; what is kept of it has no name.
pub(super) fn load_cluster(
    asked: &Postgres,
    trial: &Trial<'_>,
    (tables, dir): (&Tables<'_>, &Directory),
    journal: &mut Journal,
) -> anyhow::Result<ClusterImage> {
    let mark = journal.mark();
    let loaded = loaded_in(asked, trial, (tables, dir), journal);
    let left = undone(&journal.undo_to(mark));
    let image = loaded.with_context(|| format!("load the tables that are copied, in {}", dir.path().display()))?;
    left.map(|()| image)
}

fn loaded_in(
    asked: &Postgres,
    trial: &Trial<'_>,
    (tables, dir): (&Tables<'_>, &Directory),
    journal: &mut Journal,
) -> anyhow::Result<ClusterImage> {
    // Nothing of it shows in what is copied; the directory's file system need not have direct I/O.
    let access = Access::Buffered;
    let install = choose(asked, access)?;
    let run_as = RunAs::choose(asked.run_as.as_deref())?;
    // The server's user has to get through, and finds nothing but his own.
    let home = journal.make_directory(dir, LOADED, 0o711, true)?;
    let options = initdb_options(asked, &install, None);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let data = home.path().join("pg");
    let cluster = Cluster::create(install, &data, run_as, &options)?;
    let private = private_dir()?;
    journal.before(Undo::RemoveDir {
        path: private.clone(),
        contents: true,
    })?;
    journal.before(Undo::StopServer { data })?;
    let server = cluster.start_at(&loading(asked, trial.study), &private)?;
    let address = postgres::create(server.address(), QUESTIONS)?;
    let cancel = trial.turn.cancel;
    postgres::load_decision_support(&address, tables.scale, tables.source, cancel)?;
    let path = dir.path().join(KEPT);
    let step = journal.before(Undo::RemoveFile { path: path.clone() })?;
    let file = dir.create(KEPT, OFlags::RDWR).map_err(std::io::Error::from);
    let file = file.with_context(|| format!("make {}", path.display()))?;
    journal.made(step, Identity::of(&file)?)?;
    Ok(server.into_image(file.into(), cancel)?)
}
