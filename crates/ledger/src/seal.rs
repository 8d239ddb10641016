//! The seal of a finished result file: a checksum of every table, taken when the study ended.
//!
//! Takes the tables as they are, gives one SHA-256 each, and later what no longer agrees. It proves no origin: who edits a file and
//! seals it anew cannot be found out, for there is no secret in it. Prevents: a figure edited by hand, by mistake or not, in a
//! file that is believed because a tool wrote it.

use crate::error::{LedgerError, sorted};
use crate::file::Ledger;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

/// The table that version 5 added.
pub(crate) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS seal (table_name TEXT PRIMARY KEY, rows INTEGER NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
";

/// Filled after the study has ended too: what is imported, and meanings of measures that a later version added.
const NOT_SEALED: [&str; 6] = [
    "import",
    "import_note",
    "imported_fact",
    "imported_figure",
    "measure_meaning",
    "seal",
];

/// The version of the schema that brought the seal.
const SINCE: i64 = 5;

/// Tables that every seal speaks of: those of [`SINCE`]. One of a later version is missing in an older seal, and that is no edit.
const SEALED: [&str; 26] = [
    "bulk_growth",
    "bulk_load",
    "bulk_space",
    "database_setting",
    "database_used",
    "event",
    "extent_summary",
    "fact",
    "file_layout",
    "histogram",
    "load_step",
    "look",
    "measure",
    "order_condition",
    "order_entry",
    "order_transaction",
    "order_wait",
    "phase",
    "sample",
    "setting",
    "slice",
    "stack",
    "step_histogram",
    "study",
    "trial",
    "user_scan",
];

/// Whether a file is as its run left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seal {
    /// The study has not ended, or it ended in a version without seals; such a file has no rows of a seal.
    None,
    /// Every table is as it was sealed; the first 16 digits of the checksum of all checksums, to be kept elsewhere.
    Whole(String),
    /// These tables are not, or their seal is gone; "user_version": the file claims to be of a version without seals and has one.
    Broken(Vec<String>),
}

impl Ledger {
    /// Compares the file with its seal; reads all of it, at one moment, also while another process goes on with the study.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn seal(&self) -> Result<Seal, LedgerError> {
        let act = || {
            let moment = self.connection.unchecked_transaction()?;
            compared(&moment)
        };
        act().map_err(|source| sorted(&self.path, "compare the file with its seal", source))
    }

    /// An error for a file that is not as its run left it: what is added to it would be sealed with the edit.
    ///
    /// # Errors
    /// [`LedgerError::Edited`]; as [`seal`](Ledger::seal).
    pub fn must_be_whole(&self) -> Result<(), LedgerError> {
        match self.seal()? {
            Seal::Broken(tables) => Err(LedgerError::Edited {
                path: self.path.clone(),
                what: tables.join(", "),
            }),
            Seal::None | Seal::Whole(_) => Ok(()),
        }
    }
}

/// Within one transaction: a study that is resumed loses its end and its seal at once.
fn compared(connection: &Connection) -> rusqlite::Result<Seal> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let ended: bool = connection.query_row("SELECT count(ended_unix_ns) > 0 FROM study", [], |row| row.get(0))?;
    let sealed = rows(connection)?;
    if sealed == [(String::new(), String::new())] {
        return Ok(Seal::None);
    }
    if sealed.is_empty() {
        return Ok(match ended && version >= SINCE {
            true => Seal::Broken(vec!["seal".into()]),
            false => Seal::None,
        });
    }
    let tables = tables(connection)?;
    let mut broken = Vec::new();
    let mut all = Sha256::new();
    for (table, was) in &sealed {
        if table.is_empty() {
            // The mark of a file without a seal stands alone.
            broken.push("seal".into());
            continue;
        }
        let is = match tables.contains(table) {
            true => digest(connection, table)?.1,
            false => String::new(),
        };
        all.update(was.as_bytes());
        if is != *was {
            broken.push(table.clone());
        }
    }
    let gone = SEALED
        .iter()
        .filter(|table| !sealed.iter().any(|(name, _)| name == *table));
    broken.extend(gone.map(|table| format!("seal of {table}")));
    // A seal is put when a study ends, and by no version without seals.
    if !ended && broken.is_empty() {
        broken.push("study".into());
    }
    if version < SINCE {
        broken.push("user_version".into());
    }
    Ok(match broken.is_empty() {
        true => Seal::Whole(hex(&all.finalize())[..16].to_string()),
        false => Seal::Broken(broken),
    })
}

/// Names and checksums of the seal; none where there is no such table.
fn rows(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let there: bool = connection.query_row(
        "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'seal'",
        [],
        |row| row.get(0),
    )?;
    if !there {
        return Ok(Vec::new());
    }
    let mut sealed = connection.prepare("SELECT table_name, sha256 FROM seal ORDER BY table_name")?;
    sealed.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Seals every table as it is now.
pub(crate) fn put(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM seal", [])?;
    for table in tables(connection)? {
        let (rows, sum) = digest(connection, &table)?;
        connection.execute("INSERT INTO seal VALUES (?1, ?2, ?3)", (&table, rows, sum))?;
    }
    Ok(())
}

/// Says that a file ended before there were seals.
pub(crate) fn none(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("INSERT OR REPLACE INTO seal VALUES ('', 0, '')", [])?;
    Ok(())
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")?;
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(names
        .into_iter()
        .filter(|name| !NOT_SEALED.contains(&name.as_str()))
        .collect())
}

/// Rows of a table and the checksum of their values, in the order of the values: where SQLite keeps a row does not matter.
fn digest(connection: &Connection, table: &str) -> rusqlite::Result<(i64, String)> {
    let quoted = table.replace('"', "\"\"");
    let columns = connection
        .prepare(&format!("SELECT * FROM \"{quoted}\""))?
        .column_count();
    let order: Vec<String> = (1..=columns).map(|nth| nth.to_string()).collect();
    let mut all = connection.prepare(&format!("SELECT * FROM \"{quoted}\" ORDER BY {}", order.join(", ")))?;
    let mut sum = Sha256::new();
    for name in all.column_names() {
        put_bytes(&mut sum, b'c', name.as_bytes());
    }
    let mut rows = all.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        for nth in 0..columns {
            match row.get_ref(nth)? {
                ValueRef::Null => sum.update(b"n"),
                ValueRef::Integer(value) => put_bytes(&mut sum, b'i', &value.to_le_bytes()),
                ValueRef::Real(value) => put_bytes(&mut sum, b'r', &value.to_bits().to_le_bytes()),
                ValueRef::Text(text) => put_bytes(&mut sum, b't', text),
                ValueRef::Blob(blob) => put_bytes(&mut sum, b'b', blob),
            }
        }
    }
    Ok((count, hex(&sum.finalize())))
}

/// With its sort and length before it, so that no two rows of values give the same bytes.
fn put_bytes(sum: &mut Sha256, sort: u8, bytes: &[u8]) {
    sum.update([sort]);
    sum.update((bytes.len() as u64).to_le_bytes());
    sum.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{LATER, SCHEMA, SCHEMA_VERSION};

    #[test]
    fn every_seal_speaks_of_all_tables() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        for tables in LATER {
            connection.execute_batch(tables).unwrap();
        }
        let all = tables(&connection).unwrap();
        assert!(SEALED.iter().all(|table| all.iter().any(|one| one == table)), "{all:?}");
        // A table of a later version is sealed too, and has no place in this list.
        assert!(SCHEMA_VERSION > SINCE || all == SEALED, "{all:?}");
    }
}
