//! A small bank in SQL that keeps an oracle of what was acknowledged, for tests that cut power or kill.

use databases::sqlite::{Session, SqliteError};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

/// Rows by key.
pub(crate) type Rows = BTreeMap<i64, Vec<u8>>;

/// One transaction's changes: `None` deletes.
pub(crate) type Change = Vec<(i64, Option<Vec<u8>>)>;

pub(crate) const KEYS: u64 = 60;

pub(crate) fn change(rng: &mut Xoshiro256PlusPlus) -> Change {
    let count = 1 + rng.next_u64() % 6;
    let row = |rng: &mut Xoshiro256PlusPlus| {
        let key = (rng.next_u64() % KEYS) as i64;
        let value = (!rng.next_u64().is_multiple_of(4)).then(|| {
            // Some rows overflow their page, most are short.
            let len = if rng.next_u64().is_multiple_of(8) { 6000 } else { 200 };
            let len = rng.next_u64() as usize % len;
            (0..len).map(|_| rng.next_u64() as u8).collect()
        });
        (key, value)
    };
    (0..count).map(|_| row(rng)).collect()
}

pub(crate) fn apply(rows: &mut Rows, change: &Change) {
    for (key, value) in change {
        match value {
            Some(value) => _ = rows.insert(*key, value.clone()),
            None => _ = rows.remove(key),
        }
    }
}

pub(crate) fn prepare(session: &Session) -> Result<(), SqliteError> {
    let text = "CREATE TABLE IF NOT EXISTS t (k INTEGER PRIMARY KEY, v BLOB NOT NULL);
        CREATE INDEX IF NOT EXISTS i ON t (v, k);";
    session
        .sql()
        .execute_batch(text)
        .map_err(|e| session.error("make the table", e))
}

/// Runs a transaction; an error leaves it open or rolled back. `commit`: otherwise it is rolled back.
pub(crate) fn run(session: &Session, change: &Change, commit: bool) -> Result<(), SqliteError> {
    let sql = session.sql();
    let all = || -> Result<(), rusqlite::Error> {
        sql.execute_batch("BEGIN IMMEDIATE")?;
        for (key, value) in change {
            match value {
                Some(value) => {
                    let mut put = sql.prepare_cached("INSERT OR REPLACE INTO t VALUES (?, ?)")?;
                    put.execute(rusqlite::params![key, value])?;
                }
                None => _ = sql.prepare_cached("DELETE FROM t WHERE k = ?")?.execute([key])?,
            }
        }
        sql.execute_batch(if commit { "COMMIT" } else { "ROLLBACK" })
    };
    all().map_err(|e| session.error("run a transaction", e))
}

pub(crate) fn rows(session: &Session) -> Result<Rows, SqliteError> {
    let read = || -> Result<Rows, rusqlite::Error> {
        let mut all = session.sql().prepare("SELECT k, v FROM t")?;
        let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    read().map_err(|e| session.error("read the rows", e))
}
