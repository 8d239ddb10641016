//! The process that works with SQLite while its stack loses its power, or until it is killed: `assay sqlite-sessions`,
//! started by `assay run`, never by people.
//!
//! Takes one order as JSON on standard input: where the database is and what to do. Each acknowledged commit is a line
//! on standard output, written when SQLite has said so and not before. Prevents: a run that dies with the storage that
//! it takes away.

use crate::full;
use crate::group::grouped;
use crate::not_kept;
use crate::ordered::OrderedError;
use crate::sql::kept::{self, TABLES};
use crate::sql::lite_temp::Temp;
use anyhow::{Context, anyhow};
use databases::sqlite::{
    DirectFiles, FileSet, FileSetSpec, Journal, Place, Role, Session, Settings, Synchronous, TempStore,
};
use diskgroup::{Group, GroupPort};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use targets::{BasePort, Method, PsyncPort};

/// Memory and depth of a port that a database is written by.
const MEMORY: u64 = 8 << 20;
const DEPTH: usize = 32;

/// Rows of a kilobyte in no order: twice what the smallest sort of SQLite keeps in memory (250 pages of 8 KiB).
const SORTED: &str = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000) \
                      SELECT randomblob(1000) AS filler FROM c ORDER BY filler";
/// Cache of the connection that sorts: less than that.
const SORTING_CACHE: u64 = 64 << 10;

/// Obeys until its orders end.
///
/// # Errors
/// No order; what could not be done.
pub fn serve() -> Result<(), OrderedError> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("read the order")?;
    let order: Value = serde_json::from_str(&line).map_err(|_| {
        OrderedError::NoOrder(anyhow!(
            "`assay sqlite-sessions` is started by `assay run`\n  \
             write engine = \"sqlite\" and a phase of kind \"power_cut\" or \"kill\""
        ))
    })?;
    obey(&order).map_err(|error| {
        let (loss, full) = (not_kept::is_loss(&error), full::ran_out_of_space(&error));
        let _ = say(&json!({ "error": format!("{error:#}"), "loss": loss, "full": full }));
        OrderedError::Failed(error)
    })
}

fn say(line: &Value) -> anyhow::Result<()> {
    say_line(&line.to_string())
}

/// In one piece, and gone when this returns.
fn say_line(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| out.flush())
        .context("answer")
}

fn obey(order: &Value) -> anyhow::Result<()> {
    let opened = Opened::of(order)?;
    let session = opened.place.connect(&settings(order))?;
    match order["do"].as_str().unwrap_or_default() {
        "make" => {
            for table in TABLES {
                run(&session, &kept::table(table))?;
            }
            session.checkpoint_if_logged()?;
        }
        "describe" => say(&Value::Object(
            session
                .facts()?
                .into_iter()
                .map(|(key, value)| (key, json!(value)))
                .collect(),
        ))?,
        "check" => say(&json!({
            "integrity": session.integrity()?,
            "removed": opened.removed,
            "left": opened.left(),
        }))?,
        "look" => look(&session)?,
        "work" => work(&session, order, opened.spill(&settings(order)))?,
        other => anyhow::bail!("no order is called {other:?}"),
    }
    Ok(())
}

fn settings(order: &Value) -> Settings {
    let number = |key: &str| order[key].as_u64().unwrap_or(0);
    Settings {
        page_bytes: number("page") as u32,
        cache_bytes: number("cache"),
        journal: if order["wal"] == json!(true) {
            Journal::Wal
        } else {
            Journal::Delete
        },
        synchronous: match number("synchronous") {
            1 => Synchronous::Normal,
            2 => Synchronous::Full,
            _ => Synchronous::Extra,
        },
        wal_autocheckpoint_pages: number("autocheckpoint") as u32,
        ..Settings::default()
    }
}

fn run(session: &Session, sql: &str) -> anyhow::Result<()> {
    session.sql().execute_batch(sql).map_err(|e| session.error(sql, e))?;
    Ok(())
}

/// Sorts again and again. It reads no table, so that no session waits for it.
fn sort(place: &Place, settings: &Settings) -> anyhow::Result<()> {
    let session = place.connect(settings)?;
    let failed = |e| session.error("sort in temporary files", e);
    let mut statement = session.sql().prepare(SORTED).map_err(failed)?;
    loop {
        let mut rows = statement.query([]).map_err(failed)?;
        while rows.next().map_err(failed)?.is_some() {}
    }
}

/// Sessions take turns: SQLite has one writer. Until somebody ends this process, or storage does.
fn work(session: &Session, order: &Value, mut beside: Option<Sorting>) -> anyhow::Result<()> {
    let first = order["first"].as_array().context("where sessions begin")?;
    let mut next: Vec<u64> = first.iter().filter_map(Value::as_u64).collect();
    anyhow::ensure!(!next.is_empty(), "no session works");
    loop {
        for (nth, number) in next.iter_mut().enumerate() {
            let [a, b] = TABLES.map(|table| kept::insert(table, nth as u32, *number));
            run(session, &format!("BEGIN IMMEDIATE; {a}; {b}; COMMIT"))?;
            say_line(&format!("{nth} {number}"))?;
            *number += 1;
        }
        if let Some(ended) = beside.take_if(|sorting| sorting.is_finished()) {
            ended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
    }
}

fn look(session: &Session) -> anyhow::Result<()> {
    for (nth, table) in TABLES.iter().enumerate() {
        let sql = kept::select(table);
        let mut statement = session.sql().prepare(&sql).map_err(|e| session.error(&sql, e))?;
        let mut rows = statement.query([]).map_err(|e| session.error(&sql, e))?;
        while let Some(row) = rows.next().map_err(|e| session.error(&sql, e))? {
            let number = |at| row.get::<_, i64>(at).map_err(|e| session.error(&sql, e));
            let body: String = row.get(2).map_err(|e| session.error(&sql, e))?;
            say(&json!([nth, number(0)?, number(1)?, body]))?;
        }
    }
    Ok(())
}

/// The thread that sorts beside the sessions.
type Sorting = JoinHandle<anyhow::Result<()>>;

/// A database's place, and what must live as long.
struct Opened {
    place: Place,
    /// The group that its files are in.
    group: Option<Group<BasePort>>,
    /// Temporary files that the group removed when it was opened.
    removed: u64,
    _files: Option<DirectFiles>,
}

impl Opened {
    fn of(order: &Value) -> anyhow::Result<Opened> {
        let make = order["do"] == json!("make");
        let number = order["number"].as_u64().unwrap_or(0);
        let spec = FileSetSpec {
            log_memory: order["log_memory"].as_u64().unwrap_or(0),
            ..FileSetSpec::default()
        };
        if let Some(devices) = order["group"].as_array() {
            let devices: Vec<PathBuf> = devices.iter().filter_map(Value::as_str).map(PathBuf::from).collect();
            let (group, files, removed) = grouped::again_for_sql(&devices)?;
            let names = Role::ALL.map(|role| format!("kept{}", role.suffix()));
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let port: GroupPort<BasePort> =
                group.open(BasePort::open(Method::Pread, &files, MEMORY, DEPTH)?, &names)?;
            let file_set = if make {
                FileSet::create(port, Vec::new(), spec, number)?
            } else {
                FileSet::open(port, Vec::new(), spec)?
            };
            let temp = Temp::grouped(group.clone(), files, None);
            let space = temp.space().context("a place for temporary files")?;
            return Ok(Opened {
                place: Place::with_temp(Arc::new(file_set), space.clone())?,
                group: Some(group),
                removed,
                _files: None,
            });
        }
        let path = Path::new(order["path"].as_str().context("where the database is")?);
        if order["direct"] != json!(true) {
            return Ok(Opened {
                place: Place::buffered(path),
                group: None,
                removed: 0,
                _files: None,
            });
        }
        let files = DirectFiles::claim(path)?;
        let file_set = if make {
            files.create(&PsyncPort::open, 0, spec, number)?
        } else {
            files.open(&PsyncPort::open, 0, spec)?
        };
        Ok(Opened {
            place: Place::on(Arc::new(file_set))?,
            group: None,
            removed: 0,
            _files: Some(files),
        })
    }

    /// On a disk group temporary files come, grow and go while the sessions commit: the same metadata are at work.
    fn spill(&self, settings: &Settings) -> Option<Sorting> {
        self.group.as_ref()?;
        let place = self.place.clone();
        let settings = Settings {
            cache_bytes: SORTING_CACHE,
            temp: TempStore::Files,
            ..*settings
        };
        Some(std::thread::spawn(move || sort(&place, &settings)))
    }

    /// Bytes of the group that neither a file owns nor its metadata: what temporary files left.
    fn left(&self) -> u64 {
        let Some(group) = &self.group else { return 0 };
        let info = group.info();
        let of_files: u64 = group.files().iter().map(|file| file.allocated_bytes).sum();
        info.total_bytes
            .saturating_sub(info.free_bytes + info.metadata_bytes + of_files)
    }
}
