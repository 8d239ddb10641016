//! PostgreSQL under the bulk load.
//!
//! Takes a [`Connection`] to an empty database; one statement a row, as everywhere, and the hundred of a commit sent in
//! one go with their `BEGIN` and `COMMIT`, so that the client's waits are no part of what is measured. Sizes by table
//! and index come from the server; the growth of the files from the files themselves where the server is ours, because
//! asking the server would cost more than the commit. Prevents: a load whose time is that of round trips, and a growth
//! that leaves out the log.

use super::connection::Connection;
use super::error::{PostgresError, shown};
use crate::bulk::{BulkDatabase, CREATE_SQL, INSERT_SQL, PADDED_BYTES, Space, VARYING_BYTES, text};
use crate::order_entry::Kind;
use crate::postgres::wire::requests;
use std::path::{Path, PathBuf};
use targets::Nanos;

/// Numbers of the prepared statements.
const INSERT: u8 = 0;
const BEGIN: u8 = 1;
const COMMIT: u8 = 2;

/// Rows that are sent before an answer is read, at most. The server answers each, and with enough answers unread it
/// stops reading what is sent: both would wait for ever.
const ROWS_PER_MESSAGE: u64 = 1000;

/// The table and its indexes, as [`CREATE_SQL`] names them.
const RELATIONS: [&str; 3] = ["bulk", "bulk_pk", "bulk_uk"];

/// A connection that is loaded in bulk.
pub struct BulkConnection {
    connection: Connection,
    padded: String,
    varying: String,
    /// What stands in the column of the time, microseconds since 1970.
    time_us: i64,
    /// The data directory of a server of ours.
    data: Option<PathBuf>,
    files: Option<Files>,
}

/// Where the files are that grow.
struct Files {
    relations: Vec<PathBuf>,
    log: PathBuf,
    log_segment_bytes: u64,
    /// Bytes of the database beside the table and its indexes.
    rest_bytes: u64,
}

impl BulkConnection {
    /// `data`: the data directory of a server of ours; without it the server is asked for the sizes, and its log is not
    /// in them. `time_us`: time of day for the rows.
    pub fn new(connection: Connection, data: Option<&Path>, time_us: i64) -> BulkConnection {
        BulkConnection {
            connection,
            padded: text(PADDED_BYTES),
            varying: text(VARYING_BYTES),
            time_us,
            data: data.map(Path::to_path_buf),
            files: None,
        }
    }

    /// The connection.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn bytes_of(&mut self, expression: &str) -> Result<u64, PostgresError> {
        let bytes = self
            .connection
            .number(&format!("SELECT CAST({expression} AS bigint)"))?;
        Ok(bytes.max(0) as u64)
    }

    /// An error where the user may not run the checkpoint of the end: nobody wants to learn that after a whole load.
    fn check_right(&mut self) -> Result<(), PostgresError> {
        let sql = "SELECT quote_ident(current_user), pg_has_role('pg_checkpoint', 'USAGE')";
        let rows = self.connection.run(sql)?;
        match rows.first().map(Vec::as_slice) {
            Some([_, Some(may)]) if may == "t" => Ok(()),
            Some([Some(user), Some(_)]) => Err(PostgresError::NoCheckpoint { user: shown(user) }),
            _ => Err(PostgresError::Protocol {
                during: "a query of the user's rights",
                got: "something else".to_owned(),
            }),
        }
    }

    fn find_files(&mut self, data: &Path) -> Result<Files, PostgresError> {
        let mut relations = Vec::new();
        for relation in RELATIONS {
            let rows = self
                .connection
                .run(&format!("SELECT pg_relation_filepath('{relation}')"))?;
            let path = rows.first().and_then(|row| row.first()).cloned().flatten();
            let path = path.ok_or_else(|| PostgresError::Protocol {
                during: "a query of a file's name",
                got: "nothing".to_owned(),
            })?;
            relations.push(data.join(path));
        }
        let log_segment_bytes = self.bytes_of("(SELECT setting FROM pg_settings WHERE name = 'wal_segment_size')")?;
        let rest_bytes = self.bytes_of("pg_database_size(current_database()) - pg_total_relation_size('bulk')")?;
        Ok(Files {
            relations,
            log: data.join("pg_wal"),
            log_segment_bytes,
            rest_bytes,
        })
    }

    /// Waits for the answers up to the end of the batch.
    fn answered(&mut self, during: &str) -> Result<(), PostgresError> {
        match self.connection.end_of_answer("the bulk load", b"12Cn")? {
            Some(failure) => {
                // The transaction is open and void.
                self.connection.run("ROLLBACK")?;
                Err(self.connection.refused(during, failure))
            }
            None => Ok(()),
        }
    }
}

impl Files {
    fn bytes(&self) -> std::io::Result<u64> {
        let mut bytes = self.rest_bytes;
        for path in &self.relations {
            bytes += relation_bytes(path)?;
        }
        for entry in std::fs::read_dir(&self.log)? {
            // Segments have 24 digits and their full size from the beginning.
            let name = entry?.file_name();
            bytes += if name.len() == 24 { self.log_segment_bytes } else { 0 };
        }
        Ok(bytes)
    }
}

/// A relation's files: the first, the next of a gigabyte each, and its maps of free and of visible space.
fn relation_bytes(first: &Path) -> std::io::Result<u64> {
    let beside = |end: &str| {
        let mut name = first.as_os_str().to_owned();
        name.push(end);
        std::fs::metadata(PathBuf::from(name)).map(|meta| meta.len()).ok()
    };
    let mut bytes = std::fs::metadata(first)?.len();
    bytes += beside("_fsm").unwrap_or(0) + beside("_vm").unwrap_or(0);
    // The next one begins when one is full.
    let full = |bytes: u64| bytes >= 1 << 30;
    if full(bytes) {
        bytes += (1..).map_while(|nth: u32| beside(&format!(".{nth}"))).sum::<u64>();
    }
    Ok(bytes)
}

impl BulkDatabase for BulkConnection {
    type Error = PostgresError;

    fn now(&self) -> Nanos {
        targets::monotonic_ns()
    }

    fn create(&mut self) -> Result<(), PostgresError> {
        self.check_right()?;
        self.connection.run(CREATE_SQL)?;
        let takes = [Kind::Int8, Kind::Int8, Kind::Text, Kind::Text];
        let statements = [
            (INSERT, INSERT_SQL.to_owned(), &takes[..]),
            (BEGIN, "BEGIN".to_owned(), &[][..]),
            (COMMIT, "COMMIT".to_owned(), &[][..]),
        ];
        self.connection.prepare(statements.into_iter())?;
        if let Some(data) = self.data.clone() {
            self.files = Some(self.find_files(&data)?);
        }
        Ok(())
    }

    fn insert_and_commit(&mut self, from: u64, to: u64) -> Result<(), PostgresError> {
        let (padded, varying, time_us) = (self.padded.clone(), self.varying.clone(), self.time_us);
        let mut at = from;
        while at < to {
            let end = to.min(at + ROWS_PER_MESSAGE);
            let out = self.connection.out();
            if at == from {
                requests::control(out, BEGIN);
            }
            for row in at..end {
                requests::call_mixed(out, INSERT, &[row as i64 + 1, time_us], &[&padded, &varying]);
            }
            if end == to {
                requests::control(out, COMMIT);
            }
            requests::sync(out);
            self.connection.send()?;
            self.answered(&format!("insert rows {at} to {end} of the bulk load"))?;
            at = end;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), PostgresError> {
        self.connection.run("CHECKPOINT").map(|_| ())
    }

    fn file_bytes(&mut self) -> Result<u64, PostgresError> {
        match &self.files {
            Some(files) => files.bytes().map_err(|e| {
                PostgresError::path(
                    "look at",
                    &files.log,
                    e,
                    "the files of the server are gone: is it still running?",
                )
            }),
            None => self.bytes_of("pg_database_size(current_database())"),
        }
    }

    fn space(&mut self) -> Result<Space, PostgresError> {
        let table_bytes = self.bytes_of("pg_table_size('bulk')")?;
        let primary_key_bytes = self.bytes_of("pg_relation_size('bulk_pk')")?;
        let unique_key_bytes = self.bytes_of("pg_relation_size('bulk_uk')")?;
        let total = self.bytes_of("pg_database_size(current_database())")?;
        Ok(Space {
            table_bytes,
            primary_key_bytes,
            unique_key_bytes,
            other_bytes: [table_bytes, primary_key_bytes, unique_key_bytes]
                .into_iter()
                .fold(total, u64::saturating_sub),
        })
    }
}
