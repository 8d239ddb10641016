//! The seal of a finished result file: a checksum of every table, taken when the study ended.
//!
//! Takes the tables as they are, gives one SHA-256 each, and later what no longer agrees. It proves no origin: who
//! edits a file and seals it anew cannot be found out, for there is no secret in it. Prevents: a figure edited by hand,
//! by mistake or not, in a file that is believed because a tool wrote it.

use crate::error::{LedgerError, sorted};
use crate::file::Ledger;
use crate::stranger::our_tables;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

/// Filled after the study has ended too: what is imported, and meanings of facts and measures that a later version
/// added.
const NOT_SEALED: [&str; 7] = [
    "fact_meaning",
    "import",
    "import_note",
    "imported_fact",
    "imported_figure",
    "measure_meaning",
    "seal",
];

/// Whether a file is as its run left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seal {
    /// The study has not ended.
    None,
    /// Every table is as it was sealed; the first 16 digits of the checksum of all checksums, to be kept elsewhere.
    Whole(String),
    /// These tables are not, or their seal is gone.
    Broken(Vec<String>),
}

impl Ledger {
    /// Compares the file with its seal; reads all of it, at one moment, also while another process goes on with the
    /// study.
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
    let ended: bool = connection.query_row("SELECT count(ended_unix_ns) > 0 FROM study", [], |row| row.get(0))?;
    let sealed = rows(connection)?;
    if sealed.is_empty() {
        return Ok(match ended {
            true => Seal::Broken(vec!["seal".into()]),
            false => Seal::None,
        });
    }
    let tables = tables(connection)?;
    let mut broken = Vec::new();
    let mut all = Sha256::new();
    for (table, was) in &sealed {
        if table.is_empty() {
            // No seal has such a row.
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
    let ours = our_tables()?;
    let to_seal = ours.keys().filter(|(kind, table)| kind == "table" && is_sealed(table));
    let gone = to_seal.filter(|(_, table)| !sealed.iter().any(|(name, _)| name == table));
    broken.extend(gone.map(|(_, table)| format!("seal of {table}")));
    // A seal is put when a study ends.
    if !ended && broken.is_empty() {
        broken.push("study".into());
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

fn is_sealed(table: &str) -> bool {
    !NOT_SEALED.contains(&table)
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")?;
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(names.into_iter().filter(|name| is_sealed(name)).collect())
}

/// Rows of a table and the checksum of their values, in the order of the values: where SQLite keeps a row does not
/// matter.
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
