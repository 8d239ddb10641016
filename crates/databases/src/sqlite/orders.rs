//! SQLite under order entry: the load, the executor, the conditions.
//!
//! SQLite works inside the caller's call, so a thread ([`OrderWorker`]) serves its share of the users in turn: a
//! transaction runs to its end before the thread's next user is looked at, and what a user waits for his thread is in
//! his response, not in his service. Transactions that write queue for the one connection that all threads write by
//! ([`Connections`]). That wait is counted apart; it is part of the service. Prevents: lock wait that passes for the
//! time of the device.

use super::counts::CacheCounts;
use super::error::SqliteError;
use super::place::Session;
use super::turnstile::Connections;
use crate::order_entry::{
    Answer, Batch, CLASSES, CONDITION_QUERIES, CONDITIONS, End, Ending, INDEXES, Job, Keys, OrderEntryError, Query,
    RowSink, Scale, Step, TABLES, Terminal, Transaction, Value, jobs, populate,
};
use hdrhistogram::Histogram;
use rusqlite::types::{ToSqlOutput, Value as Cell, ValueRef};
use std::sync::atomic::{AtomicUsize, Ordering};
use targets::{Nanos, monotonic_ns};
use workloads::{Done, LATENCY_NS_MAX, Operation, Started};

/// Rows of the load in a commit.
const LOAD_ROWS: u32 = 20_000;

/// What stops order entry.
#[derive(Debug, thiserror::Error)]
pub enum OrdersError {
    /// SQLite.
    #[error("{0}")]
    Sqlite(#[from] SqliteError),
    /// The database does not hold what it must.
    #[error("{0}")]
    Data(#[from] OrderEntryError),
    /// A statement changed more or fewer rows than one.
    #[error("`{sql}` changed {rows} rows, not one\n  the database is not what was loaded: load it again")]
    Rows {
        /// Its text.
        sql: &'static str,
        /// Rows it changed.
        rows: usize,
    },
}

/// Makes the tables and their rows. One thread: SQLite has one writer.
///
/// # Errors
/// No room, above all.
pub fn load(session: &Session, scale: &Scale, seed: u64, now_us: i64) -> Result<(), SqliteError> {
    let sql = session.sql();
    let execute = |text: &str| sql.execute_batch(text).map_err(|e| session.error(text, e));
    for table in TABLES {
        execute(&table.create_sql(Keys::InTable))?;
    }
    for job in jobs(scale) {
        load_job(session, job, scale, seed, now_us)?;
    }
    for index in INDEXES {
        execute(index.sql)?;
    }
    execute("ANALYZE")
}

fn load_job(session: &Session, job: Job, scale: &Scale, seed: u64, now_us: i64) -> Result<(), SqliteError> {
    let places = vec!["?"; job.table.columns().len()].join(", ");
    let text = format!("INSERT INTO {} VALUES ({places})", job.table.name());
    let failed = |e| session.error(&text, e);
    let statement = session.sql().prepare(&text).map_err(failed)?;
    session.sql().execute_batch("BEGIN").map_err(failed)?;
    let mut sink = Sink {
        session,
        statement,
        column: 0,
        rows: 0,
        bound: Ok(()),
    };
    populate(job, scale, seed, now_us, &mut sink).map_err(failed)?;
    session.sql().execute_batch("COMMIT").map_err(failed)
}

struct Sink<'a> {
    session: &'a Session,
    statement: rusqlite::Statement<'a>,
    column: usize,
    rows: u32,
    bound: Result<(), rusqlite::Error>,
}

impl Sink<'_> {
    fn bind(&mut self, value: ValueRef<'_>) {
        self.column += 1;
        if self.bound.is_ok() {
            self.bound = self
                .statement
                .raw_bind_parameter(self.column, ToSqlOutput::Borrowed(value));
        }
    }
}

impl RowSink for Sink<'_> {
    type Error = rusqlite::Error;

    fn int(&mut self, value: i64) {
        self.bind(ValueRef::Integer(value));
    }
    fn text(&mut self, text: &[u8]) {
        self.bind(ValueRef::Text(text));
    }
    fn null(&mut self) {
        self.bind(ValueRef::Null);
    }
    fn end_row(&mut self) -> Result<(), rusqlite::Error> {
        std::mem::replace(&mut self.bound, Ok(()))?;
        self.statement.raw_execute()?;
        self.column = 0;
        self.rows += 1;
        if self.rows.is_multiple_of(LOAD_ROWS) {
            self.session.sql().execute_batch("COMMIT; BEGIN")?;
        }
        Ok(())
    }
}

/// Connections that [`broken_conditions_by`] has work for: the longest query is about half of it.
pub const CHECKERS: u32 = 2;

/// The consistency conditions that do not hold: number, words, how often. Empty is sound.
///
/// # Errors
/// SQLite's.
pub fn broken_conditions(session: &Session, scale: &Scale) -> Result<Vec<(u8, &'static str, i64)>, SqliteError> {
    let found = ask_conditions(session, scale, &AtomicUsize::new(0))?;
    Ok(broken_of(found))
}

/// The same by several connections at the same time, each on a thread of its own. No transaction may be under way.
///
/// # Errors
/// As [`broken_conditions`]; that of the first connection that has one.
pub fn broken_conditions_by(
    sessions: &mut [Session],
    scale: &Scale,
) -> Result<Vec<(u8, &'static str, i64)>, SqliteError> {
    let next = AtomicUsize::new(0);
    let ask = |session: &mut Session| ask_conditions(session, scale, &next);
    let found: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = sessions
            .iter_mut()
            .map(|session| scope.spawn(|| ask(session)))
            .collect();
        let ended = asking.into_iter().map(|thread| thread.join());
        ended
            .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(broken_of(found.concat()))
}

/// Takes the next query that nobody has, until there is none or one fails: numbers of conditions, how often broken.
fn ask_conditions(session: &Session, scale: &Scale, next: &AtomicUsize) -> Result<Vec<(u8, i64)>, SqliteError> {
    let mut found = Vec::new();
    while let Some(query) = CONDITION_QUERIES.get(next.fetch_add(1, Ordering::Relaxed)) {
        let text = query.sql(scale);
        let counts = |row: &rusqlite::Row<'_>| (0..query.numbers.len()).map(|nth| row.get::<_, i64>(nth)).collect();
        let counts: Result<Vec<i64>, _> = session.sql().query_row(&text, [], counts);
        let counts = counts.map_err(|e| {
            next.store(CONDITION_QUERIES.len(), Ordering::Relaxed);
            session.error(&text, e)
        })?;
        found.extend(query.numbers.iter().copied().zip(counts));
    }
    Ok(found)
}

fn broken_of(found: Vec<(u8, i64)>) -> Vec<(u8, &'static str, i64)> {
    let words = |number| CONDITIONS.iter().find(|condition| condition.number == number);
    let broken = found.into_iter().filter(|(_, count)| *count != 0);
    let mut broken: Vec<_> = broken
        .map(|(number, count)| (number, words(number).map_or("", |condition| condition.says), count))
        .collect();
    broken.sort_unstable();
    broken
}

/// What a worker counted besides the outcome.
#[derive(Clone, Debug)]
pub struct LockWait {
    /// Wait of each transaction that writes for its turn, ns; 1 where there was none.
    pub wait: Histogram<u64>,
    /// Their sum, ns.
    pub total_ns: u64,
}

impl LockWait {
    fn new() -> LockWait {
        let wait =
            Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("1 ns to one hour at 3 digits is a legal range");
        LockWait { wait, total_ns: 0 }
    }

    fn record(&mut self, ns: u64) {
        self.wait.saturating_record(ns.max(1));
        self.total_ns += ns;
    }

    /// Adds what another worker counted.
    pub fn add(&mut self, other: &LockWait) {
        self.wait.add(&other.wait).expect("all lock waits have one range");
        self.total_ns += other.total_ns;
    }
}

/// A thread's connections and its users: session `n` of the phase's part is the `n`th terminal.
pub struct OrderWorker {
    connections: Connections,
    terminals: Vec<Terminal>,
    desk: Desk,
    lock_wait: LockWait,
    /// Microseconds since 1970 at clock 0.
    epoch_us: i64,
    /// Users think and type.
    pauses: bool,
    /// Class of each user's last transaction.
    last: Vec<u8>,
}

/// What runs batches: its memory is kept from transaction to transaction.
struct Desk {
    texts: Vec<String>,
    batch: Batch,
    answer: Answer,
}

impl OrderWorker {
    /// `epoch_us`: microseconds since 1970 when the monotonic clock was 0.
    pub fn new(connections: Connections, terminals: Vec<Terminal>, epoch_us: i64) -> OrderWorker {
        OrderWorker {
            last: vec![0; terminals.len()],
            pauses: false,
            connections,
            terminals,
            desk: Desk {
                texts: Query::all().iter().map(|s| s.sql.replace('$', "?")).collect(),
                batch: Batch::new(),
                answer: Answer::new(),
            },
            lock_wait: LockWait::new(),
            epoch_us,
        }
    }

    /// Users think and type as the description says. Closed arrival only.
    #[must_use]
    pub fn with_pauses(mut self) -> OrderWorker {
        self.pauses = true;
        self
    }

    /// Wait for the lock so far; begins anew.
    pub fn take_lock_wait(&mut self) -> LockWait {
        std::mem::replace(&mut self.lock_wait, LockWait::new())
    }

    /// Pages so far ([`Connections::cache_counts`]).
    pub fn cache_counts(&self) -> CacheCounts {
        self.connections.cache_counts()
    }

    /// One transaction of a user, to its end.
    fn transact(&mut self, user: usize) -> Result<(u8, Ending), OrdersError> {
        let now_us = self.epoch_us + (monotonic_ns() / 1000) as i64;
        let mut transaction = Transaction::choose(&mut self.terminals[user], now_us);
        let class = transaction.class();
        if transaction.is_read_only() {
            let desk = &mut self.desk;
            let read = |session: &Session| desk.serve(session, &mut transaction, "BEGIN");
            return Ok((class, self.connections.read(read)?));
        }
        // A writer keeps its turn until its transaction has ended.
        let turn = self.connections.enter();
        self.lock_wait.record(turn.waited_ns());
        Ok((
            class,
            self.desk.serve(turn.session(), &mut transaction, "BEGIN IMMEDIATE")?,
        ))
    }
}

impl Desk {
    fn serve(&mut self, session: &Session, transaction: &mut Transaction, begin: &str) -> Result<Ending, OrdersError> {
        let ended = self.steps(session, transaction, begin);
        if ended.is_err() && !session.sql().is_autocommit() {
            // The first error is the one that is told.
            let _ = session.sql().execute_batch("ROLLBACK");
        }
        ended
    }

    fn steps(&mut self, session: &Session, transaction: &mut Transaction, begin: &str) -> Result<Ending, OrdersError> {
        self.answer.clear();
        loop {
            self.batch.clear();
            match transaction.step(&self.answer, &mut self.batch)? {
                Step::Run => self.run(session, begin)?,
                Step::Ended(ending) => return Ok(ending),
            }
        }
    }

    fn run(&mut self, session: &Session, begin: &str) -> Result<(), OrdersError> {
        self.answer.clear();
        if self.batch.begins() {
            simple(session, begin)?;
        }
        for (query, values) in self.batch.calls() {
            self.answer.open_call();
            let text = &self.texts[query as usize];
            let statement = query.statement();
            let done = call(session.sql(), text, &self.batch, values, &mut self.answer);
            let rows = done.map_err(|e| session.error(statement.sql, e))?;
            if statement.one_row && rows != 1 {
                return Err(OrdersError::Rows {
                    sql: statement.sql,
                    rows,
                });
            }
        }
        match self.batch.end() {
            Some(End::Commit) => simple(session, "COMMIT"),
            Some(End::Rollback) => simple(session, "ROLLBACK"),
            None => Ok(()),
        }
    }
}

fn simple(session: &Session, text: &str) -> Result<(), OrdersError> {
    let done = session.sql().prepare_cached(text).and_then(|mut s| s.execute([]));
    done.map_err(|e| session.error(text, e))?;
    Ok(())
}

/// Runs a statement; gives the rows it changed.
fn call(
    sql: &rusqlite::Connection,
    text: &str,
    batch: &Batch,
    values: &[Value],
    answer: &mut Answer,
) -> Result<usize, rusqlite::Error> {
    let mut statement = sql.prepare_cached(text)?;
    for (nth, value) in values.iter().enumerate() {
        let bound = match value {
            Value::Int(value) => ToSqlOutput::Owned(Cell::Integer(*value)),
            Value::Text { .. } => ToSqlOutput::Borrowed(ValueRef::Text(batch.text(*value))),
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        };
        statement.raw_bind_parameter(nth + 1, bound)?;
    }
    let columns = statement.column_count();
    if columns == 0 {
        return statement.raw_execute();
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        answer.open_row();
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Integer(value) => answer.push_int(value),
                ValueRef::Text(text) | ValueRef::Blob(text) => answer.push_text(text),
                ValueRef::Null | ValueRef::Real(_) => answer.push_null(),
            }
        }
    }
    Ok(0)
}

impl Operation for OrderWorker {
    type Error = OrdersError;

    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn classes(&self) -> &[&'static str] {
        &CLASSES
    }

    /// Units: 1 for a transaction that was committed, 0 for one that its user's mistake rolled back.
    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, OrdersError> {
        let (class, ending) = self.transact(session as usize)?;
        self.last[session as usize] = class;
        done.push(Done {
            session,
            class,
            at: monotonic_ns(),
            units: u64::from(ending == Ending::Committed),
        });
        Ok(Started::Running)
    }

    fn first_pause_ns(&mut self, session: u32) -> u64 {
        match self.pauses {
            true => self.terminals[session as usize].first_pause_ns(),
            false => 0,
        }
    }

    fn pause_ns(&mut self, session: u32) -> u64 {
        if !self.pauses {
            return 0;
        }
        let user = session as usize;
        self.terminals[user].pause_ns(self.last[user])
    }

    fn advance(&mut self, until: Option<Nanos>, _done: &mut Vec<Done>) -> Result<(), OrdersError> {
        // Nothing is under way; the loop waits for the next due time.
        let now = monotonic_ns();
        if let Some(until) = until.filter(|until| *until > now) {
            std::thread::sleep(std::time::Duration::from_nanos(until - now));
        }
        Ok(())
    }
}
