//! The load: tables, rows by several connections side by side, keys and indexes, statistics.
//!
//! Takes an address, a size and a seed; the same seed gives the same rows whatever the number of loaders. Prevents: a
//! run on half-loaded tables (one loader's failure stops all and is the load's).

use super::connection::Connection;
use super::error::PostgresError;
use crate::order_entry::{INDEXES, Job, Keys, Scale, TABLES, jobs, populate};
use crate::postgres::login::address::Address;
use crate::postgres::wire::copy::Copy;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a load came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Rows.
    pub rows: u64,
    /// Bytes sent as COPY text.
    pub copied_bytes: u64,
    /// Bytes of the database afterwards, tables and indexes (`pg_database_size`).
    pub database_bytes: u64,
}

/// Makes a database.
///
/// # Errors
/// It is there already, or can't be made.
pub fn create(address: &Address, name: &str) -> Result<Address, PostgresError> {
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "a plain name");
    let mut connection = Connection::open(address, &[])?;
    connection.run(&format!("CREATE DATABASE {name}"))?;
    let mut address = address.clone();
    name.clone_into(&mut address.database);
    Ok(address)
}

/// Loads the company into an empty database. `now_us`: the time of day in the rows, microseconds since 1970.
///
/// # Errors
/// The first loader's that failed; the tables are then left as they are. [`PostgresError::Interrupted`] once `cancel`
/// is set, when the index that is being built is ready.
pub fn load(
    address: &Address,
    scale: &Scale,
    seed: u64,
    now_us: i64,
    loaders: u32,
    cancel: &AtomicBool,
) -> Result<LoadReport, PostgresError> {
    let mut connection = Connection::open(address, &[])?;
    for table in TABLES {
        connection.run(&table.create_sql(Keys::Later))?;
    }
    let jobs = jobs(scale);
    let copied = side_by_side(address, &jobs, loaders, cancel, |connection, job: &Job| {
        let mut copy = Copy::begin(connection, job.table.name(), cancel)?;
        populate(*job, scale, seed, now_us, &mut copy)?;
        copy.finish()
    })?;
    let keys = TABLES.iter().filter_map(|table| table.add_key_sql());
    // The largest first, so that they do not all wait for one at the end.
    let mut builds: Vec<String> = keys.chain(INDEXES.iter().map(|index| index.sql.to_owned())).collect();
    builds.sort_by_key(|sql| !["order_line", "stock", "customer"].iter().any(|big| sql.contains(big)));
    side_by_side(address, &builds, loaders, cancel, |connection, sql| {
        connection.run(sql).map(|_| (0, 0))
    })?;
    connection.run("VACUUM ANALYZE")?;
    let size = connection.number("SELECT pg_database_size(current_database())")?;
    Ok(LoadReport {
        rows: copied.0,
        copied_bytes: copied.1,
        database_bytes: size as u64,
    })
}

/// Does pieces of work on several connections; each takes the next that nobody has.
pub(super) fn side_by_side<T: Sync>(
    address: &Address,
    pieces: &[T],
    loaders: u32,
    cancel: &AtomicBool,
    work: impl Fn(&mut Connection, &T) -> Result<(u64, u64), PostgresError> + Sync,
) -> Result<(u64, u64), PostgresError> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let first_failure = Mutex::new(None);
    let totals = Mutex::new((0, 0));
    let one = || -> Result<(), PostgresError> {
        let mut connection = Connection::open(address, &[])?;
        while !stop.load(Ordering::Relaxed) {
            let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            if cancel.load(Ordering::Relaxed) {
                return Err(PostgresError::Interrupted);
            }
            let (rows, bytes) = work(&mut connection, piece)?;
            let mut totals = totals.lock().unwrap_or_else(|e| e.into_inner());
            totals.0 += rows;
            totals.1 += bytes;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..loaders.clamp(1, pieces.len().max(1) as u32) {
            scope.spawn(|| {
                if let Err(e) = one() {
                    stop.store(true, Ordering::Relaxed);
                    let mut first = first_failure.lock().unwrap_or_else(|e| e.into_inner());
                    first.get_or_insert(e);
                }
            });
        }
    });
    match first_failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(e) => Err(e),
        None => Ok(totals.into_inner().unwrap_or_else(|e| e.into_inner())),
    }
}
