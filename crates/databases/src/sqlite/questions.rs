//! Decision support in SQLite: the load by prepared inserts, and questions asked by as many connections as there are
//! users.
//!
//! Takes sessions and a source of rows; what was loaded is held against what was generated. Prevents: a question
//! without end, which nothing outside SQLite could stop (it looks at the clock itself).

use super::counts::CacheCounts;
use super::error::SqliteError;
use super::place::Session;
use super::refresh::{bind, insert_sql};
use crate::decision_support::{
    Answered, Ask, Asker, Cell, Checksums, Dialect, Doubt, Held, Kept, Rows, Scale, Source, Stop, Stream, Table, Text,
    Unanswered, drive_streams,
};
use rusqlite::types::{Value, ValueRef};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use targets::monotonic_ns;

/// Rows of the load in a commit.
const LOAD_ROWS: u64 = 20_000;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Questions {
    /// Each user's.
    pub users: Vec<Vec<Ask>>,
    /// How they are written.
    pub text: Text,
    /// The most that a question may take.
    pub limit: Duration,
    /// Width of the slices of the outcome, ns.
    pub slice_ns: u64,
}

/// Makes the eight tables in an empty database, fills them, and holds them against what was generated; gives the rows.
///
/// # Errors
/// SQLite's; [`SqliteError::Generator`]; [`SqliteError::Doubt`]: what was loaded is not there.
pub fn load_decision_support(session: &Session, scale: Scale, source: &dyn Source) -> Result<u64, SqliteError> {
    let execute = |text: &str| session.sql().execute_batch(text).map_err(|e| session.error(text, e));
    let mut rows = Rows::of(source, scale)?;
    let mut loaded = Vec::new();
    for table in Table::ALL {
        execute(&table.create_sqlite())?;
        loaded.push((table, load_table(session, table, &mut rows)?));
    }
    execute("ANALYZE")?;
    for (table, sums) in &loaded {
        sums.compare(&decision_support_checksums(session, *table)?)?;
    }
    Ok(loaded.iter().map(|(_, sums)| sums.rows()).sum())
}

fn load_table(session: &Session, table: Table, rows: &mut Rows) -> Result<Checksums, SqliteError> {
    let text = insert_sql(table);
    let failed = |e| session.error(&text, e);
    let mut insert = session.sql().prepare(&text).map_err(failed)?;
    session.sql().execute_batch("BEGIN").map_err(failed)?;
    let mut sums = Checksums::new(table);
    while let Some(row) = rows.next(table, &mut sums)? {
        bind(table, row, &mut insert).map_err(failed)?;
        insert.raw_execute().map_err(failed)?;
        if sums.rows().is_multiple_of(LOAD_ROWS) {
            session.sql().execute_batch("COMMIT; BEGIN").map_err(failed)?;
        }
    }
    session.sql().execute_batch("COMMIT").map_err(failed)?;
    Ok(sums)
}

/// Rows and checksums of a table as SQLite has them. They are computed here: its functions of text take longer.
///
/// # Errors
/// SQLite's; [`SqliteError::Doubt`]: a row is none that was written.
pub fn decision_support_checksums(session: &Session, table: Table) -> Result<Held, SqliteError> {
    let names: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
    let text = format!("SELECT {} FROM {}", names.join(", "), table.name());
    let failed = |e| session.error(&text, e);
    let mut statement = session.sql().prepare(&text).map_err(failed)?;
    let mut rows = statement.raw_query();
    let mut sums = Checksums::new(table);
    while let Some(row) = rows.next().map_err(failed)? {
        let cell = |nth| match row.get_ref(nth).ok()? {
            ValueRef::Integer(number) => Some(Kept::Whole(number)),
            ValueRef::Text(text) => std::str::from_utf8(text).ok().map(Kept::Text),
            _ => None,
        };
        if sums.add_kept(cell).is_none() {
            let what = format!("row {} has a value that was never written", sums.rows() + 1);
            return Err(Doubt::of(table, what).into());
        }
    }
    Ok(sums.into_held())
}

/// A user's connection.
struct User<'a> {
    session: Session,
    limit: Duration,
    /// When the question under way is over.
    deadline: Arc<AtomicU64>,
    /// Where the connection hands in what it counted of its cache when it is closed.
    pages: &'a Mutex<CacheCounts>,
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        let mine = CacheCounts::of(&self.session);
        let mut all = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        all.hits += mine.hits;
        all.misses += mine.misses;
        all.writes += mine.writes;
    }
}

impl<'a> User<'a> {
    fn new(
        mut session: Session,
        limit: Duration,
        (stop, cancel): (&Stop, Arc<AtomicBool>),
        pages: &'a Mutex<CacheCounts>,
    ) -> Result<User<'a>, SqliteError> {
        let deadline = Arc::new(AtomicU64::new(u64::MAX));
        let (until, stop) = (deadline.clone(), stop.flag.clone());
        session.interrupted_when(move || {
            if cancel.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
            }
            stop.load(Ordering::Relaxed) || monotonic_ns() > until.load(Ordering::Relaxed)
        })?;
        Ok(User {
            session,
            limit,
            deadline,
            pages,
        })
    }

    fn rows(&self, sql: &str) -> Result<Vec<Vec<Cell>>, rusqlite::Error> {
        let mut statement = self.session.sql().prepare(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let cell = |nth| {
                Ok(match row.get::<_, Value>(nth)? {
                    Value::Null | Value::Blob(_) => Cell::Null,
                    Value::Integer(number) => Cell::Whole(number),
                    Value::Real(number) => Cell::Real(number),
                    Value::Text(text) => Cell::Text(text),
                })
            };
            (0..columns).map(cell).collect::<rusqlite::Result<Vec<Cell>>>()
        })?;
        rows.collect()
    }
}

impl Asker for User<'_> {
    type Error = SqliteError;
    const DIALECT: Dialect = Dialect::Sqlite;

    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, Unanswered<SqliteError>> {
        let until = monotonic_ns().saturating_add(u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX));
        self.deadline.store(until, Ordering::Relaxed);
        let rows = self.rows(sql);
        self.deadline.store(u64::MAX, Ordering::Relaxed);
        rows.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Unanswered::Ended,
            _ => Unanswered::Failed(self.session.error(sql, error)),
        })
    }

    fn temp_bytes(&mut self) -> Result<Option<u64>, SqliteError> {
        let counts = self.session.place().temp_counts();
        Ok(counts.map(|counts| counts.asked_write_bytes))
    }
}

/// Asks, each user on one of the sessions and a thread of its own; gives what their caches counted too. Once `cancel`
/// is set, questions under way are ended.
///
/// # Errors
/// SQLite's, an answer that is none.
pub fn ask_questions(
    sessions: Vec<Session>,
    asked: &Questions,
    cancel: &Arc<AtomicBool>,
) -> Result<(Answered, CacheCounts), SqliteError> {
    let (stop, pages) = (Stop::default(), Mutex::new(CacheCounts::default()));
    let alone = sessions.len() == 1;
    let mut streams = Vec::new();
    for (user, (session, asks)) in sessions.into_iter().zip(&asked.users).enumerate() {
        let asker = User::new(session, asked.limit, (&stop, cancel.clone()), &pages)?;
        streams.push(Stream::new(
            asker,
            (user as u32, asks.clone()),
            asked.text,
            alone,
            &stop,
        ));
    }
    let answered = drive_streams(streams, asked.slice_ns)?;
    Ok((answered, pages.into_inner().unwrap_or_else(PoisonError::into_inner)))
}
