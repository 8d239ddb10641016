//! A real server under bulk loads, and under loads that are interrupted. `ASSAY_TEST_SIZE=full` loads more rows.
//!
//! Skipped, with the reason printed, only where no server is installed; under `CI=true` that is a failure.

use crate::place::Place;
use databases::bulk::{BulkDatabase, BulkLoad, ROWS_PER_COMMIT};
use databases::order_entry::Scale;
use databases::postgres::{Address, BulkConnection, Connection, PostgresError, create, load, load_scattered};
use std::sync::atomic::AtomicBool;

const SECOND: u64 = 1_000_000_000;

#[test]
fn bulk_loads_fill_table_and_keys_and_the_files_grow_in_steps() {
    let Some(place) = Place::new() else { return };
    let server = place.server(4);
    let counts: &[u64] = if crate::machine::is_full() {
        &[10_000, 100_000]
    } else {
        &[10_000]
    };
    for rows in counts {
        let address = create(
            server.address(),
            &format!("bulk_{}", if *rows == 10_000 { "a" } else { "b" }),
        )
        .unwrap();
        let connection = Connection::open(&address, &[]).unwrap();
        let database = BulkConnection::new(connection, Some(&server.facts().data), 7);
        let mut load = BulkLoad::new(database, *rows).unwrap();
        let result = load.run(SECOND / 10).unwrap();
        assert_eq!((result.rows, result.outcome.count()), (*rows, rows / ROWS_PER_COMMIT));
        assert!(result.settle_ns < result.elapsed_ns);
        let mut database = load.into_database();
        let space = database.space().unwrap();
        // A row is 240 bytes and its head; a key of two numbers of eight bytes 16 and its own.
        let per_row = |bytes: u64| bytes / rows;
        assert!((240..320).contains(&per_row(space.table_bytes)), "{space:?}");
        for key in [space.primary_key_bytes, space.unique_key_bytes] {
            assert!((24..60).contains(&per_row(key)), "{space:?}");
        }
        assert!(result.growth.len() > 20, "{} steps", result.growth.len());
        assert!(
            result
                .growth
                .windows(2)
                .all(|two| two[0].rows <= two[1].rows && two[0].at_ns <= two[1].at_ns)
        );
        let (first, last) = (result.growth[0], *result.growth.last().unwrap());
        let whole = space.table_bytes + space.primary_key_bytes + space.unique_key_bytes;
        assert!(
            last.bytes >= whole && last.bytes - first.bytes >= whole / 2,
            "{first:?} {last:?}"
        );
        let held = database
            .connection()
            .number("SELECT count(*) FROM bulk WHERE c1 = c2 AND c2 = c3 AND c3 = c4 AND c5 = 7");
        assert_eq!(held.unwrap(), *rows as i64);
        // A row that is there already is refused, and the connection can be used again.
        assert!(
            database
                .insert_and_commit(0, 1)
                .unwrap_err()
                .to_string()
                .contains("23505")
        );
        assert_eq!(
            database.connection().number("SELECT count(*) FROM bulk").unwrap(),
            *rows as i64
        );
        large_commits(&mut database, *rows);
    }
    server.stop().unwrap();
}

/// More answers than a socket holds.
fn large_commits(database: &mut BulkConnection, rows: u64) {
    // Tens of thousands of rows in one commit: more answers than a socket holds. A row of them that is there already
    // leaves none of them.
    database.insert_and_commit(rows, rows + 30_000).unwrap();
    let refused = database.insert_and_commit(rows + 30_000 - 1, rows + 60_000);
    assert!(refused.unwrap_err().to_string().contains("23505"));
    assert_eq!(
        database.connection().number("SELECT count(*) FROM bulk").unwrap(),
        rows as i64 + 30_000
    );
}

#[test]
fn a_load_without_the_right_to_its_checkpoint_does_not_begin() {
    let Some(place) = Place::new() else { return };
    let server = place.server(4);
    let mut superuser = Connection::open(server.address(), &[]).unwrap();
    // A name that a statement has to quote.
    superuser.run("CREATE ROLE \"Joe\" LOGIN").unwrap();
    superuser.run("CREATE DATABASE joe OWNER \"Joe\"").unwrap();
    let dir = server.facts().private.join("s").display().to_string();
    let address = Address::parse(&format!("postgres://Joe@/joe?host={dir}")).unwrap();
    let run = || {
        let connection = Connection::open(&address, &[]).unwrap();
        let database = BulkConnection::new(connection, None, 7);
        BulkLoad::new(database, 1_000)?.run(SECOND / 10)
    };
    let error = run().unwrap_err().to_string();
    let cure = "GRANT pg_checkpoint TO \"Joe\"";
    assert!(
        error.contains("may not run CHECKPOINT") && error.ends_with(cure),
        "{error}"
    );
    let mut asking = Connection::open(&address, &[]).unwrap();
    let made = asking.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'bulk%'");
    assert_eq!(made.unwrap(), 0);
    // What it says is enough.
    superuser.run(cure).unwrap();
    assert_eq!(run().unwrap().rows, 1_000);
}

#[test]
fn a_load_that_is_interrupted_says_so_and_leaves_no_row() {
    let Some(place) = Place::new() else { return };
    let server = place.server(20);
    let address = create(server.address(), "half").unwrap();
    let scale = Scale::reduced(1).unwrap();
    let error = load(&address, &scale, 7, 1, 2, &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(error, PostgresError::Interrupted), "{error}");
    let mut asking = Connection::open(&address, &[]).unwrap();
    assert_eq!(asking.number("SELECT count(*) FROM item").unwrap(), 0);
    let address = create(server.address(), "rows").unwrap();
    let error = load_scattered(&address, 1_000_000, 3, &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(error, PostgresError::Interrupted), "{error}");
}
