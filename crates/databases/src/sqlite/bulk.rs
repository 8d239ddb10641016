//! SQLite under the bulk load.
//!
//! Takes a [`Session`] on an empty database. Space comes from SQLite's own table of its pages (`dbstat`). Prevents: a
//! size that is read off a file, in which table, indexes and free pages lie mixed.

use super::error::SqliteError;
use super::place::Session;
use crate::bulk::{BulkDatabase, CREATE_SQL, INSERT_SQL, PADDED_BYTES, Space, TABLE, VARYING_BYTES, text};
use rusqlite::params;
use targets::Nanos;

/// A connection that is loaded in bulk.
pub struct BulkSession {
    session: Session,
    insert: String,
    padded: String,
    varying: String,
    /// What stands in the column of the time, microseconds since 1970.
    time_us: i64,
}

impl BulkSession {
    /// `time_us`: time of day for the rows.
    pub fn new(session: Session, time_us: i64) -> BulkSession {
        BulkSession {
            session,
            insert: INSERT_SQL.replace('$', "?"),
            padded: text(PADDED_BYTES),
            varying: text(VARYING_BYTES),
            time_us,
        }
    }

    /// The connection.
    pub fn session(&self) -> &Session {
        &self.session
    }

    fn execute(&self, text: &str) -> Result<(), SqliteError> {
        let done = self.session.sql().execute_batch(text);
        done.map_err(|e| self.session.error(text, e))
    }
}

impl BulkDatabase for BulkSession {
    type Error = SqliteError;

    fn now(&self) -> Nanos {
        targets::monotonic_ns()
    }

    fn create(&mut self) -> Result<(), SqliteError> {
        self.execute(CREATE_SQL)
    }

    fn insert_and_commit(&mut self, from: u64, to: u64) -> Result<(), SqliteError> {
        let all = || {
            let sql = self.session.sql();
            sql.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            let mut insert = sql.prepare_cached(&self.insert)?;
            for row in from..to {
                insert.execute(params![row as i64 + 1, self.time_us, self.padded, self.varying])?;
            }
            sql.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        };
        let what = || format!("insert rows {from} to {to} of the bulk load");
        all().map_err(|e| self.session.error(&what(), e))
    }

    fn settle(&mut self) -> Result<(), SqliteError> {
        self.session.checkpoint_if_logged()
    }

    fn file_bytes(&mut self) -> Result<u64, SqliteError> {
        Ok(self.session.place().file_bytes()?.iter().sum())
    }

    fn space(&mut self) -> Result<Space, SqliteError> {
        let read = || -> Result<Space, rusqlite::Error> {
            let sql = self.session.sql();
            let total: u64 = sql.query_row(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                [],
                |r| r.get::<_, i64>(0).map(|bytes| bytes as u64),
            )?;
            let mut space = Space::default();
            let mut by_name = sql.prepare("SELECT name, pgsize FROM dbstat('main', 1)")?;
            let mut rows = by_name.query([])?;
            while let Some(row) = rows.next()? {
                let (name, bytes): (String, u64) = (row.get(0)?, row.get::<_, i64>(1)? as u64);
                // SQLite numbers the indexes of keys in the order in which they are said.
                match name.as_str() {
                    TABLE => space.table_bytes = bytes,
                    "sqlite_autoindex_bulk_1" => space.primary_key_bytes = bytes,
                    "sqlite_autoindex_bulk_2" => space.unique_key_bytes = bytes,
                    _ => {}
                }
            }
            let known = space.table_bytes + space.primary_key_bytes + space.unique_key_bytes;
            space.other_bytes = total - known;
            Ok(space)
        };
        read().map_err(|e| self.session.error("look at the space that was taken", e))
    }
}
