//! Changes of a result file by SQL: values that no run writes, rows by the thousand, tables that are none.
//!
//! Takes a good file, gives another that SQLite itself finds in order.

use super::result_file::distribution;
use crate::Dice;
use crate::damage::{EDGES, ESCAPES};
use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use std::fs;
use std::path::{Path, PathBuf};

/// Tables without keys, whose rows can be doubled as they are.
const DOUBLED: [&str; 8] = [
    "slice",
    "sample",
    "user_scan",
    "extent_summary",
    "file_layout",
    "imported_fact",
    "imported_figure",
    "import_note",
];
/// Most rows that a table is doubled to.
const ROWS: usize = 20_000;

/// Steps of SQLite's machine after which a statement of ours is given up.
const STEPS_MAX: i32 = 5_000_000;

/// Words that mean something in some column.
const WORDS: [&str; 22] = [
    "valid",
    "invalid",
    "failed",
    "running",
    "done",
    "interrupted",
    "random",
    "scan",
    "age",
    "tpcc",
    "bulk",
    "load",
    "service",
    "response",
    "ext4",
    "btrfs",
    "18446744073709551615",
    "-1",
    "1e308",
    "",
    "stack:ext4",
    "study",
];

/// SQL that a reader must not run.
const SCHEMES: [&str; 14] = [
    "DROP TABLE phase; CREATE VIEW phase AS SELECT * FROM trial",
    "ALTER TABLE phase RENAME TO other; CREATE VIEW phase AS SELECT * FROM other",
    "CREATE TRIGGER t AFTER INSERT ON phase BEGIN DELETE FROM trial; END",
    "CREATE TRIGGER t INSTEAD OF UPDATE ON phase_full BEGIN DELETE FROM trial; END",
    "DROP TABLE look; CREATE TABLE look (id, x AS (hex(zeroblob(100000000))))",
    "ALTER TABLE study ADD COLUMN x AS (hex(zeroblob(10000000)))",
    "CREATE TABLE more (x CHECK (x LIKE '%a%a%a%a%a%a%a%b')); INSERT INTO more VALUES (1)",
    "CREATE INDEX i ON sample (abs(value))",
    "CREATE VIRTUAL TABLE v USING fts5(x)",
    "CREATE VIRTUAL TABLE v USING rtree(id, a, b)",
    "DROP TABLE seal; CREATE VIEW seal AS WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) \
     SELECT a, a, a FROM r",
    "DROP VIEW measure_full; CREATE VIEW measure_full AS SELECT randomblob(100000000)",
    "CREATE TABLE \"\x1b]0;taken\x07\" (x)",
    "CREATE VIEW \"\x1b]0;taken\x07\" AS SELECT 1",
];

fn open(path: &Path, good: &[u8]) -> Option<Connection> {
    fs::write(path, good).ok()?;
    let _ = fs::remove_file(PathBuf::from(format!("{}-journal", path.display())));
    let mut file = Connection::open(path).ok()?;
    file.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).ok()?;
    let calm = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON; \
         PRAGMA max_page_count = 4000;";
    file.execute_batch(calm).ok()?;
    // What we plant may have no end when we look at it ourselves.
    file.progress_handler(STEPS_MAX, Some(|| true)).ok()?;
    Some(file)
}

/// The file with some changes; `None` where SQLite did not take it.
pub(crate) fn edited(path: &Path, good: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let file = open(path, good)?;
    let tables = names(
        &file,
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    )?;
    // Few at a time: one cell that is refused hides all others.
    let edits = if dice.once_in(4) { dice.few() } else { 1 };
    for _ in 0..edits {
        let table = dice.pick(&tables);
        // What a key or NOT NULL refuses is no change.
        let _ = match dice.below(16) {
            0 => file.execute(&format!("DELETE FROM \"{table}\""), []),
            1 => doubled(&file, dice),
            2 => replicated(&file, dice),
            3 if dice.once_in(3) => file.execute_batch(dice.pick::<&str>(&SCHEMES)).map(|()| 0),
            4 if dice.once_in(4) => schema_text(&file, dice),
            _ => value(&file, table, good, dice).unwrap_or(Ok(0)),
        };
    }
    drop(file);
    fs::read(path).ok()
}

fn names(file: &Connection, sql: &str) -> Option<Vec<String>> {
    let mut all = file.prepare(sql).ok()?;
    let names = all
        .query_map([], |row| row.get(0))
        .ok()?
        .collect::<rusqlite::Result<_>>();
    names.ok()
}

/// One cell, or a whole column.
fn value(file: &Connection, table: &str, good: &[u8], dice: &mut Dice) -> Option<rusqlite::Result<usize>> {
    let columns = names(file, &format!("SELECT name FROM pragma_table_info('{table}')"))?;
    if columns.is_empty() {
        return None;
    }
    let column = dice.pick(&columns);
    let rows: i64 = file
        .query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| row.get(0))
        .ok()?;
    let nth = dice.below(rows as usize);
    let old = format!("SELECT \"{column}\" FROM \"{table}\" LIMIT 1 OFFSET {nth}");
    let old: Option<Value> = file.query_row(&old, [], |row| row.get(0)).ok();
    let new = put(old.as_ref(), good, dice);
    let set = format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = ?1");
    Some(match (dice.once_in(6), old) {
        (false, Some(old)) => {
            let alike = dice.once_in(4);
            let limit = if alike {
                String::new()
            } else {
                format!(" AND rowid = (SELECT rowid FROM \"{table}\" LIMIT 1 OFFSET {nth})")
            };
            let one = format!("{set} WHERE \"{column}\" IS ?2{limit}");
            // Tables without row numbers take the first form.
            match file.execute(&one, params![new, old]) {
                Err(_) => file.execute(&format!("{set} WHERE \"{column}\" IS ?2"), params![new, old]),
                done => done,
            }
        }
        _ => file.execute(&set, params![new]),
    })
}

/// A value of the same sort or of another.
fn put(old: Option<&Value>, good: &[u8], dice: &mut Dice) -> Value {
    let sort = match (old, dice.below(8)) {
        (_, 0) => dice.below(5),
        (Some(Value::Integer(_)), _) => 1,
        (Some(Value::Real(_)), _) => 2,
        (Some(Value::Text(_)), _) => 3,
        (Some(Value::Blob(_)), _) => 4,
        (_, other) => other % 5,
    };
    match (sort, old) {
        (0, _) => Value::Null,
        (1, _) => Value::Integer(dice.pick(&EDGES).wrapping_add(dice.below(3) as u64).cast_signed()),
        (2, _) => {
            let odd = [
                0.0,
                -0.0,
                -1.0,
                1.0,
                1e-320,
                1e300,
                -1e300,
                f64::MAX,
                f64::MIN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                1e18,
            ];
            Value::Real(*dice.pick(&odd))
        }
        (3, old) => {
            let was = match old {
                Some(Value::Text(text)) => text.as_str(),
                _ => "x",
            };
            Value::Text(match dice.below(8) {
                0 => dice.pick(&ESCAPES).to_string(),
                1 => format!("{was}{}", dice.pick(&ESCAPES)),
                2 => "word ".repeat(1 << dice.below(16)),
                3 => "x".repeat(1 << dice.below(20)),
                4 => was.chars().rev().collect(),
                5 => dice.pick(&EDGES).to_string(),
                _ => dice.pick(&WORDS).to_string(),
            })
        }
        (_, Some(Value::Blob(blob))) if dice.below(5) > 0 => Value::Blob(match blob.len() > 8 && blob[0] == 0x1c {
            true => distribution(blob, dice),
            false => {
                let mut bytes = blob.clone();
                crate::damage::bytes(&mut bytes, dice);
                bytes
            }
        }),
        _ => Value::Blob(good[..dice.below(4096.min(good.len()))].to_vec()),
    }
}

/// A table with thousands of rows.
fn doubled(file: &Connection, dice: &mut Dice) -> rusqlite::Result<usize> {
    let table = dice.pick(&DOUBLED);
    let mut rows: usize =
        file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))? as usize;
    let most = ROWS >> dice.below(10);
    while rows > 0 && rows < most {
        rows += file.execute(&format!("INSERT INTO {table} SELECT * FROM {table} LIMIT {most}"), [])?;
    }
    Ok(rows)
}

/// Many more blocks, stacks or phases, each with what the first have.
fn replicated(file: &Connection, dice: &mut Dice) -> rusqlite::Result<usize> {
    let times = 1 << dice.below(8);
    let count = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times})");
    let (trial, phase) = (1_000, 10_000);
    match dice.below(4) {
        0 => file.execute(
            &format!(
                "{count} INSERT OR IGNORE INTO stack SELECT ordinal + 100 * i, name || i, kind, layers, database, \
                 data_lun_set, redo_lun_set, access, injected, skipped_reason, skipped_cure FROM stack, n"
            ),
            [],
        ),
        1 => file.execute(
            &format!(
                "{count} INSERT OR IGNORE INTO phase SELECT id + {phase} * i, trial, ordinal + i, name || i, kind, \
                 ranked, began_unix_ns, elapsed_ns, drain_ns, status, reason FROM phase, n LIMIT 2000"
            ),
            [],
        ),
        2 => file.execute(
            &format!(
                "{count} INSERT OR IGNORE INTO event SELECT id + {phase} * i, at_unix_ns, trial, phase, \
                 severity, text FROM event, n LIMIT 5000"
            ),
            [],
        ),
        _ => {
            for sql in [
                format!(
                    "INSERT OR IGNORE INTO trial SELECT id + {trial} * i, block + 10 * i, position, stack, seed, \
                     host, instance, lun_set, began_unix_ns, ended_unix_ns, status, reason FROM trial, n LIMIT 400"
                ),
                format!(
                    "INSERT OR IGNORE INTO phase SELECT id + {phase} * i, trial + {trial} * i, ordinal, name, kind, \
                     ranked, began_unix_ns, elapsed_ns, drain_ns, status, reason FROM phase, n LIMIT 1000"
                ),
                format!(
                    "INSERT OR IGNORE INTO measure SELECT phase + {phase} * i, name, value FROM measure, n \
                     LIMIT 40000"
                ),
                format!(
                    "INSERT OR IGNORE INTO histogram SELECT phase + {phase} * i, class, stamp, blob, count, units \
                     FROM histogram, n LIMIT 1000"
                ),
            ] {
                file.execute(&format!("{count} {sql}"), [])?;
            }
            Ok(1)
        }
    }
}

/// The text of a CREATE statement, or where it says that the table lies.
fn schema_text(file: &Connection, dice: &mut Dice) -> rusqlite::Result<usize> {
    file.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    let entry = dice.below(60);
    let (what, to): (&str, Value) = match dice.below(4) {
        0 => ("rootpage", Value::Integer(dice.below(40) as i64)),
        1 => ("sql", Value::Text(dice.pick(&SCHEMES).to_string())),
        2 => ("name", Value::Text(dice.pick(&ESCAPES).to_string())),
        _ => (
            "type",
            Value::Text(dice.pick(&["view", "trigger", "index", "x", "\x1b[2J"]).to_string()),
        ),
    };
    file.execute(
        &format!("UPDATE sqlite_schema SET {what} = ?1 WHERE rowid = {entry}"),
        [to],
    )
}

/// A file in the middle of a change, and the journal that takes it back.
pub(crate) fn journalled(path: &Path, good: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let file = open(path, good)?;
    file.execute_batch(
        "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; PRAGMA cache_spill = 1; BEGIN; UPDATE trial SET seed \
         = '7'; UPDATE phase SET elapsed_ns = elapsed_ns + 1; UPDATE slice SET count = count + 1;",
    )
    .ok()?;
    let journal = fs::read(PathBuf::from(format!("{}-journal", path.display()))).ok()?;
    let half = fs::read(path).ok()?;
    let _ = file.execute_batch("ROLLBACK");
    Some((half, journal))
}
