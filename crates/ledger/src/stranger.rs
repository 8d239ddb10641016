//! A result file of a stranger: what is looked at before SQLite opens it, and what SQLite may do with it.
//!
//! Takes a path, gives the file's own place; holds a connection to what a report needs; says whether the tables are
//! ours. Prevents: a wait on a pipe, a journal beside the file that changes it or deletes another, SQL of the file's
//! own (views, triggers, generated columns, checks) that runs here, and values that take all memory.
//!
//! Against somebody who may rename in the file's directory while it is being opened nothing here helps: a directory
//! that others can change is refused elsewhere.

use crate::error::{LedgerError, sorted};
use crate::mark::FILE_BYTES_MAX;
use crate::schema::SCHEMA;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest value or row, in bytes: the longest of ours, the text of a study, has at most one MiB.
pub(crate) const VALUE_BYTES_MAX: i32 = 16 << 20;
/// Most bytes that the rows of one question may take in memory.
pub(crate) const ROWS_BYTES_MAX: u64 = 64 << 20;

const HEADER: &[u8; 16] = b"SQLite format 3\0";
/// What ends a rollback journal that names another file: one to be deleted when all is rolled back.
const SUPER_JOURNAL: [u8; 8] = *b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

/// Looks at the file and at what lies beside it; gives its path without any link.
pub(crate) fn look(path: &Path) -> Result<PathBuf, LedgerError> {
    let not_readable = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => LedgerError::Missing { path: path.into() },
        _ => LedgerError::NotReadable {
            path: path.into(),
            detail: source.to_string(),
        },
    };
    let not_ours = |why: &str| LedgerError::NotAssay {
        path: path.into(),
        why: why.into(),
    };
    let place = path.canonicalize().map_err(not_readable)?;
    let mut file = open(&place).map_err(not_readable)?;
    let meta = file.metadata().map_err(not_readable)?;
    if !meta.is_file() {
        return Err(not_ours("it is no regular file"));
    }
    if meta.len() > FILE_BYTES_MAX {
        return Err(LedgerError::TooLarge {
            path: path.into(),
            bytes: meta.len(),
        });
    }
    // An empty one has a message of its own, further on.
    if meta.len() > 0 {
        let mut header = [0; 100];
        match file.read_exact(&mut header) {
            Err(source) if source.kind() == ErrorKind::UnexpectedEof => {
                return Err(not_ours("it is no SQLite database"));
            }
            other => other.map_err(not_readable)?,
        }
        if !header.starts_with(HEADER) {
            return Err(not_ours("it is no SQLite database"));
        }
        if header[18..20] != [1, 1] {
            return Err(not_ours("it keeps its changes in a write-ahead log, as no run does"));
        }
    }
    look_beside(path, &place, meta.uid())?;
    Ok(place)
}

/// Never waits: a pipe without a writer opens too.
fn open(place: &Path) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(place)
}

/// SQLite believes what lies beside a database under these names, whoever put it there.
fn look_beside(path: &Path, place: &Path, owner: u32) -> Result<(), LedgerError> {
    for ending in ["-journal", "-wal"] {
        let mut beside = place.as_os_str().to_owned();
        beside.push(ending);
        let beside = PathBuf::from(beside);
        let refused = |why: &'static str| LedgerError::Beside {
            path: path.into(),
            beside: beside.clone(),
            why,
        };
        let Ok(meta) = std::fs::symlink_metadata(&beside) else {
            continue;
        };
        if ending == "-wal" {
            return Err(refused("and no run leaves such a file"));
        }
        if !meta.is_file() || meta.uid() != owner {
            return Err(refused("which is no file of the owner of the result file"));
        }
        if meta.len() > FILE_BYTES_MAX || names_another(&beside).unwrap_or(true) {
            return Err(refused("and no run leaves such a journal"));
        }
    }
    Ok(())
}

fn names_another(journal: &Path) -> std::io::Result<bool> {
    let mut file = open(journal)?;
    if file.metadata()?.len() < 8 {
        return Ok(false);
    }
    let mut last = [0; 8];
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut last)?;
    Ok(last == SUPER_JOURNAL)
}

/// Takes from a connection what no result file needs.
pub(crate) fn bind(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for off in [
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
        DbConfig::SQLITE_DBCONFIG_DQS_DML,
        DbConfig::SQLITE_DBCONFIG_DQS_DDL,
    ] {
        connection.set_db_config(off, false)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
        (Limit::SQLITE_LIMIT_COLUMN, 64),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 10),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")
}

/// Refuses a file one of whose tables or indexes is not as we make them: its own SQL would run when it is read. Views
/// are never looked into.
pub(crate) fn must_be_our_tables(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let failed = |source| sorted(path, "read the names of the tables", source);
    let ours = our_tables().map_err(failed)?;
    for (kind, name, table, sql) in entries(connection).map_err(failed)? {
        let known = match (kind.as_str(), sql) {
            ("view", _) => true,
            // What SQLite makes itself for a primary key.
            ("index", None) => ours.contains_key(&("table".to_string(), table)),
            (_, Some(sql)) => ours.get(&(kind.clone(), name.clone())) == Some(&sql),
            (_, None) => false,
        };
        if !known {
            let name: String = name.chars().take(60).collect();
            return Err(LedgerError::NotAssay {
                path: path.into(),
                why: format!("its {} {name:?} is not as assay makes it", kind.escape_debug()),
            });
        }
    }
    Ok(())
}

type Entry = (String, String, String, Option<String>);

fn entries(connection: &Connection) -> rusqlite::Result<Vec<Entry>> {
    // Ours are sixty; one more than the limit is refused by its name.
    let mut all = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT 1000")?;
    all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect()
}

/// (kind, name) of all tables and indexes, with their SQL.
pub(crate) fn our_tables() -> rusqlite::Result<BTreeMap<(String, String), String>> {
    let fresh = Connection::open_in_memory()?;
    for tables in SCHEMA {
        fresh.execute_batch(tables)?;
    }
    let all = entries(&fresh)?.into_iter();
    Ok(all
        .filter_map(|(kind, name, _, sql)| Some(((kind, name), sql?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::{SCHEMA_SHA256, SCHEMA_VERSION};
    use sha2::{Digest, Sha256};

    #[test]
    fn our_own_tables_are_ours() {
        let fresh = Connection::open_in_memory().unwrap();
        for tables in SCHEMA {
            fresh.execute_batch(tables).unwrap();
        }
        bind(&fresh).unwrap();
        must_be_our_tables(&fresh, Path::new("x")).unwrap();
        assert!(our_tables().unwrap().len() > 30);
        // A view is not looked into, whoever wrote it.
        assert!(fresh.prepare("SELECT * FROM phase_full").is_err());
    }

    /// Tables and indexes are compared by their text when a file is opened, so each letter of it counts.
    #[test]
    fn no_table_changes_without_the_version() {
        let mut sum = Sha256::new();
        sum.update(SCHEMA_VERSION.to_le_bytes());
        for ((kind, name), sql) in our_tables().unwrap() {
            // A view may change: no reader looks into one.
            if kind != "view" {
                sum.update(format!("{kind} {name}: {sql}\n"));
            }
        }
        let sum: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            sum, SCHEMA_SHA256,
            "the tables are no longer those of schema version {SCHEMA_VERSION}: raise SCHEMA_VERSION in mark.rs, put \
             the new checksum beside it, and say so in docs/result-file.md and CHANGELOG.md"
        );
    }

    #[test]
    fn what_names_another_file_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("x-journal");
        std::fs::write(&journal, [&[0; 40][..], &SUPER_JOURNAL].concat()).unwrap();
        assert!(names_another(&journal).unwrap());
        std::fs::write(
            &journal,
            SUPER_JOURNAL.repeat(2).into_iter().chain([0]).collect::<Vec<u8>>(),
        )
        .unwrap();
        assert!(!names_another(&journal).unwrap());
    }
}
