//! Opening, creating and going on with a result file.
//!
//! Takes a path, gives a [`Ledger`]. The rollback journal (not WAL) keeps everything in one file but during a write;
//! after a kill the next opening rolls the half-written phase back. Prevents: an overwritten result, a file of another
//! program or of a newer version taken for ours, a run that goes on in a damaged file.

use crate::error::{LedgerError, one_line, sorted};
use crate::insert::{insert, insert_all};
use crate::lock::{WriterLock, is_held};
use crate::mark::{APPLICATION_ID, SCHEMA_VERSION};
use crate::rows::{Alone, Extension, FactName, Measure, Study};
use crate::schema::SCHEMA;
use crate::stranger::{bind, look, must_be_our_tables};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::cmp::Ordering;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a reader waits for a writer.
const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How long the one writer waits for a reader that keeps the file: a study of hours would end with it.
const WRITER_WAIT: Duration = Duration::from_secs(600);
/// SQLite's cache of a file that is read, in its own form: negative is KiB. The check reads the whole file, and what
/// comes after it finds the pages there.
const CACHE_KIB: i32 = -64 * 1024;

/// An open result file.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    // After the connection: the lock is given back when the last byte is written. `None` when open for reading.
    _lock: Option<WriterLock>,
}

impl Ledger {
    /// Makes a new result file and records the study in it. Fails when the file exists: results are never overwritten.
    pub fn create(path: impl AsRef<Path>, study: &Study) -> Result<Ledger, LedgerError> {
        let path = path.as_ref();
        // The exclusive creation decides who owns the name; SQLite itself would take an existing file.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|source| match source.kind() {
                ErrorKind::AlreadyExists => LedgerError::Exists { path: path.into() },
                ErrorKind::StorageFull => LedgerError::Full { path: path.into() },
                _ => LedgerError::NotWritable {
                    path: path.into(),
                    detail: source.to_string(),
                },
            })?;
        let made = Self::fill(path, study);
        if made.is_err() {
            // Nothing was recorded, so nothing is lost; a leftover would only stand in the way of the next run.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn fill(path: &Path, study: &Study) -> Result<Ledger, LedgerError> {
        let mut ledger = Self::locked(path)?;
        ledger.tune()?;
        let act = ledger.connection.transaction().and_then(|transaction| {
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            for tables in SCHEMA {
                transaction.execute_batch(tables)?;
            }
            add_meanings(&transaction)?;
            insert(&transaction, "study", &Alone, study)?;
            transaction.commit()
        });
        act.map_err(|source| sorted(path, "make the result file", source))?;
        Ok(ledger)
    }

    /// Opens a file that is there to write to it, as the only writer; it is not looked into.
    fn locked(path: &Path) -> Result<Ledger, LedgerError> {
        let place = look(path)?;
        let lock = WriterLock::take(&place, path)?;
        let connection = connect(path, &place, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(Ledger {
            connection,
            path: path.into(),
            _lock: Some(lock),
        })
    }

    /// Opens a result file to read it, while it is being written or years later.
    pub fn open(path: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let path = path.as_ref();
        let place = look(path)?;
        let connect = |mode| connect(path, &place, mode);
        let connection = connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let connection = match read_version(&connection) {
            // A kill left a half-written phase: rolling it back needs a writer, once.
            Err(source)
                if matches!(
                    source.sqlite_error_code(),
                    Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen)
                ) =>
            {
                drop(connection);
                let writer = connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                read_version(&writer).map_err(|source| sorted(path, "roll back a half-written phase", source))?;
                drop(writer);
                connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?
            }
            _ => connection,
        };
        let ledger = Ledger {
            connection,
            path: path.into(),
            _lock: None,
        };
        let keep = ledger.connection.pragma_update(None, "cache_size", CACHE_KIB);
        keep.map_err(|source| sorted(path, "open the result file", source))?;
        ledger.check()?;
        Ok(ledger)
    }

    /// Opens a result file for a glance at its study: it waits for no writer, rolls nothing back, and the rest of the
    /// file is not looked into.
    ///
    /// # Errors
    /// As [`open`](Ledger::open); a file that is being written.
    pub fn glance(path: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let path = path.as_ref();
        let connection = connect(path, &look(path)?, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let impatient = connection.busy_timeout(Duration::ZERO);
        impatient.map_err(|source| sorted(path, "open the result file", source))?;
        let ledger = Ledger {
            connection,
            path: path.into(),
            _lock: None,
        };
        ledger.must_be_of_this_schema()?;
        Ok(ledger)
    }

    /// Opens a result file to go on with it: trials that were under way when the last run ended are now interrupted.
    /// Its seal is looked at first, for the next end puts a new one.
    ///
    /// # Errors
    /// [`LedgerError::Edited`] for a file that is not as its run left it; as [`open`](Ledger::open);
    /// [`LedgerError::InUse`].
    pub fn resume(path: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let mut ledger = Self::hold(path)?;
        ledger.take_up(None)?;
        Ok(ledger)
    }

    /// Keeps a result file for this process, to go on with it. Nothing in it changes before
    /// [`take_up`](Ledger::take_up): a refusal in between leaves an ended study ended and sealed.
    ///
    /// # Errors
    /// As [`resume`](Ledger::resume).
    pub fn hold(path: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let ledger = Self::locked(path.as_ref())?;
        ledger.check()?;
        ledger.must_be_whole()?;
        ledger.tune()?;
        Ok(ledger)
    }

    /// Opens a result file whose study has ended to add blocks to it: as [`resume`](Ledger::resume), and the extension
    /// is recorded in the same transaction, so that a kill leaves either an ended study or one to be resumed.
    ///
    /// # Errors
    /// As [`resume`](Ledger::resume); an extension of this number that is there already.
    pub fn extend(path: impl AsRef<Path>, extension: &Extension) -> Result<Ledger, LedgerError> {
        let mut ledger = Self::hold(path)?;
        ledger.take_up(Some(extension))?;
        Ok(ledger)
    }

    /// Goes on with a file that is held: its study has not ended any more, in one transaction with the extension.
    ///
    /// # Errors
    /// The file cannot be written; an extension of this number that is there already.
    pub fn take_up(&mut self, extension: Option<&Extension>) -> Result<(), LedgerError> {
        let act = self.connection.transaction().and_then(|transaction| {
            add_meanings(&transaction)?;
            transaction.execute_batch(
                "UPDATE trial SET status = 'interrupted' WHERE status = 'running';
                 UPDATE study SET ended_unix_ns = NULL, ended_reason = NULL;
                 DELETE FROM seal;",
            )?;
            insert_all(&transaction, "extension", &Alone, extension)?;
            transaction.commit()
        });
        act.map_err(|source| sorted(&self.path, "go on with the study", source))
    }

    /// Opens a finished result file to add what was measured elsewhere; its study and its end stay as they are.
    ///
    /// # Errors
    /// As [`resume`](Ledger::resume).
    pub fn amend(path: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let path = path.as_ref();
        let ledger = Self::locked(path)?;
        ledger.check()?;
        ledger.tune()?;
        Ok(ledger)
    }

    /// Whether a run has the file at this path open for writing now.
    ///
    /// # Errors
    /// As [`open`](Ledger::open).
    pub fn is_being_written(path: impl AsRef<Path>) -> Result<bool, LedgerError> {
        let path = path.as_ref();
        is_held(&look(path)?).map_err(|source| LedgerError::NotReadable {
            path: path.into(),
            detail: source.to_string(),
        })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn tune(&self) -> Result<(), LedgerError> {
        // FULL: a phase that was recorded survives a power cut too.
        self.connection
            .execute_batch("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(|source| sorted(&self.path, "open for writing", source))
    }

    fn check(&self) -> Result<(), LedgerError> {
        self.must_be_of_this_schema()?;
        let path = &self.path;
        let found: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|source| sorted(path, "check the file", source))?;
        match found.as_str() {
            "ok" => Ok(()),
            _ => Err(LedgerError::Damaged {
                path: path.clone(),
                detail: one_line(&found),
            }),
        }
    }

    fn must_be_of_this_schema(&self) -> Result<(), LedgerError> {
        let path = &self.path;
        let (application, version) =
            read_version(&self.connection).map_err(|source| sorted(path, "read the header", source))?;
        if application != APPLICATION_ID {
            let empty = std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0);
            let why = if empty {
                "it is empty: the run was killed before it began; delete it"
            } else {
                "it has no mark"
            };
            return Err(LedgerError::NotAssay {
                path: path.clone(),
                why: why.into(),
            });
        }
        let (path, found) = (path.clone(), version);
        match version.cmp(&SCHEMA_VERSION) {
            Ordering::Greater => return Err(LedgerError::Newer { path, found }),
            Ordering::Less => return Err(LedgerError::Older { path, found }),
            Ordering::Equal => {}
        }
        must_be_our_tables(&self.connection, &self.path)
    }
}

/// What the names of facts and measures mean; a later tool of the same schema may know more of them.
fn add_meanings(connection: &Connection) -> rusqlite::Result<()> {
    let mut measures = connection.prepare("INSERT OR IGNORE INTO measure_meaning VALUES (?1, ?2, ?3)")?;
    for measure in Measure::ALL {
        measures.execute((measure.name(), measure.unit(), measure.meaning()))?;
    }
    let mut facts = connection.prepare("INSERT OR IGNORE INTO fact_meaning VALUES (?1, ?2, ?3, ?4)")?;
    for name in FactName::ALL {
        facts.execute((name, name.unit(), name.value_type(), name.meaning()))?;
    }
    Ok(())
}

/// `place` is the file without any link on the way: one that appears there later is not followed.
fn connect(path: &Path, place: &Path, mode: OpenFlags) -> Result<Connection, LedgerError> {
    // Without the URI flag: a name is a name, whatever characters it has.
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let act = || {
        let connection = Connection::open_with_flags(place, flags)?;
        let writes = mode.contains(OpenFlags::SQLITE_OPEN_READ_WRITE);
        connection.busy_timeout(if writes { WRITER_WAIT } else { BUSY_WAIT })?;
        bind(&connection)?;
        Ok(connection)
    };
    act().map_err(|source| sorted(path, "open the result file", source))
}

fn read_version(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((application, version))
}
