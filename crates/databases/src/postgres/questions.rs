//! Decision support on a server: the load by COPY, and questions asked by as many users as there are.
//!
//! Takes an address and a source of rows; what was loaded is held against what was generated. Prevents: a question that
//! runs on in the server when nobody waits for it any more (who ends a phase has its sessions cancelled).

use super::connection::Connection;
use super::error::PostgresError;
use super::load::side_by_side;
use crate::decision_support::{
    Answered, Ask, Asker, Cell, Checksums, Dialect, Held, Rows, Scale, Source, Stop, Stream, Table, Text, Unanswered,
    checksum_sql, drive_streams,
};
use crate::postgres::login::address::Address;
use crate::postgres::wire::copy::Copy;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// SQLSTATE of a statement that was ended by its limit or by somebody's word.
const CANCELED: &str = "57014";
/// How often it is looked whether somebody wants the answers no more.
const LOOK: Duration = Duration::from_millis(50);

/// What is asked of a server.
#[derive(Clone, Debug)]
pub struct Questions {
    /// Each user's.
    pub users: Vec<Vec<Ask>>,
    /// How they are written.
    pub text: Text,
    /// The most that a question may take.
    pub limit: Duration,
    /// Where temporary files go; `None`: beside the data.
    pub temp_tablespace: Option<String>,
    /// Width of the slices of the outcome, ns.
    pub slice_ns: u64,
}

/// Makes the eight tables in an empty database, fills them, and holds them against what was generated; gives the rows.
///
/// # Errors
/// The server's; [`PostgresError::Generator`]; [`PostgresError::Doubt`]: what was loaded is not there.
/// [`PostgresError::Interrupted`] once `cancel` is set.
pub fn load_decision_support(
    address: &Address,
    scale: Scale,
    source: &dyn Source,
    cancel: &AtomicBool,
) -> Result<u64, PostgresError> {
    let mut connection = Connection::open(address, &[])?;
    let mut rows = Rows::of(source, scale)?;
    let mut loaded = Vec::new();
    for table in Table::ALL {
        connection.run(&table.create_postgres())?;
        let mut sums = Checksums::new(table);
        let mut copy = Copy::begin(&mut connection, table.name(), cancel)?;
        while let Some(row) = rows.next(table, &mut sums)? {
            copy.line(row.as_bytes())?;
        }
        copy.finish()?;
        loaded.push((table, sums));
    }
    // The largest first, so that they do not all wait for one at the end.
    let keys: Vec<String> = Table::ALL.iter().rev().map(|table| table.key_postgres()).collect();
    side_by_side(address, &keys, 2, cancel, |connection, sql| {
        connection.run(sql).map(|_| (0, 0))
    })?;
    connection.run("VACUUM ANALYZE")?;
    for (table, sums) in &loaded {
        sums.compare(&held(&mut connection, *table)?)?;
    }
    Ok(loaded.iter().map(|(_, sums)| sums.rows()).sum())
}

/// Makes the tablespace of temporary files of this name in a directory that the server was given for it.
///
/// # Errors
/// The server's.
pub fn make_temp_tablespace(address: &Address, name: &str, dir: &Path) -> Result<(), PostgresError> {
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "a plain name");
    let dir = dir.to_string_lossy().replace('\'', "''");
    let mut connection = Connection::open(address, &[])?;
    connection.run(&format!(
        "CREATE TABLESPACE {name} LOCATION E'{}'",
        dir.replace('\\', "\\\\")
    ))?;
    Ok(())
}

/// Rows and checksums of a table as the server has them.
///
/// # Errors
/// The server's.
pub fn decision_support_checksums(connection: &mut Connection, table: Table) -> Result<Held, PostgresError> {
    held(connection, table)
}

fn held(connection: &mut Connection, table: Table) -> Result<Held, PostgresError> {
    let rows = connection.run(&checksum_sql(table))?;
    let numbers = rows.first().map(|row| {
        let number = |cell: &Option<String>| cell.as_deref().unwrap_or("0").parse::<i128>().ok();
        row.iter().map(number).collect::<Option<Vec<i128>>>()
    });
    match numbers.flatten().as_deref() {
        Some([rows, sums @ ..]) => Ok(Held {
            rows: i64::try_from(*rows).unwrap_or(-1),
            sums: sums.to_vec(),
        }),
        _ => Err(PostgresError::Protocol {
            during: "a query of checksums",
            got: "with what is no number".to_owned(),
        }),
    }
}

/// A user's connection.
struct User {
    connection: Connection,
    /// One that asks the server for counts: a session that works hands its own in when it is told to.
    counts: bool,
}

impl Asker for User {
    type Error = PostgresError;
    const DIALECT: Dialect = Dialect::Postgres;

    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, Unanswered<PostgresError>> {
        let rows = match self.connection.run(sql) {
            Ok(rows) => rows,
            Err(PostgresError::Refused { code, .. }) if code == CANCELED => return Err(Unanswered::Ended),
            Err(error) => return Err(Unanswered::Failed(error)),
        };
        let cell = |cell: Option<String>| cell.map_or(Cell::Null, Cell::Text);
        Ok(rows
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect())
            .collect())
    }

    fn temp_bytes(&mut self) -> Result<Option<u64>, PostgresError> {
        if !self.counts {
            return Ok(None);
        }
        let mut number = |sql| match self.connection.number(sql) {
            // A limit so short that nothing can be asked.
            Err(PostgresError::Refused { code, .. }) if code == CANCELED => Ok(None),
            other => other.map(Some),
        };
        number("WITH told AS (SELECT pg_stat_force_next_flush()) SELECT COUNT(*) FROM told")?;
        let counted = number("SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()")?;
        Ok(counted.map(i64::unsigned_abs))
    }
}

/// Asks, each user on a connection and a thread of its own. Once `cancel` is set, questions under way are ended.
///
/// # Errors
/// The server's, an answer that is none.
pub fn ask_questions(address: &Address, asked: &Questions, cancel: &AtomicBool) -> Result<Answered, PostgresError> {
    let stop = Stop::default();
    let (mut streams, mut sessions) = (Vec::new(), Vec::new());
    let alone = asked.users.len() == 1;
    for (user, asks) in asked.users.iter().enumerate() {
        let settings = settings(asked);
        let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut connection = Connection::open(address, &settings)?;
        sessions.push(connection.number("SELECT pg_backend_pid()")?);
        connection.run(&format!("SET statement_timeout = {}", asked.limit.as_millis()))?;
        let asker = User {
            connection,
            counts: alone,
        };
        streams.push(Stream::new(
            asker,
            (user as u32, asks.clone()),
            asked.text,
            alone,
            &stop,
        ));
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| end_when_asked(address, &sessions, (&stop, cancel), &over));
        // Set also by a panic: the scope waits for the thread that looks at it.
        let _over = Over(&over);
        drive_streams(streams, asked.slice_ns)
    })
}

/// Settings of a user's session.
fn settings(asked: &Questions) -> Vec<(&'static str, String)> {
    let mut settings = vec![("application_name", "assay".to_owned())];
    if let Some(name) = &asked.temp_tablespace {
        settings.push(("temp_tablespaces", name.clone()));
    }
    settings
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Ends questions under way once the streams have to stop, until all of them have.
fn end_when_asked(address: &Address, sessions: &[i64], (stop, cancel): (&Stop, &AtomicBool), over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        if cancel.load(Ordering::Relaxed) {
            stop.flag.store(true, Ordering::Relaxed);
        }
        if stop.flag.load(Ordering::Relaxed)
            && let Ok(mut connection) = Connection::open(address, &[])
        {
            for session in sessions {
                // One that has just answered is not there any more, or has nothing to end.
                let _ = connection.run(&format!("SELECT pg_cancel_backend({session})"));
            }
        }
        std::thread::sleep(LOOK);
    }
}
