//! SQLite on the VFS answers as it does on its own: random statements on both, compared row by row; many connections at
//! once; and the work of the studies on every way to storage.
//!
//! Prevents: a VFS that is durable and wrong.

use databases::bulk::{BulkDatabase, BulkLoad};
use databases::order_entry::{Home, Scale, Terminal};
use databases::sqlite::{
    BulkSession, CacheCounts, Connections, DirectFiles, FileSet, FileSetSpec, Journal, OrderWorker, Place, Scattered,
    ScatteredShape, Session, Settings, SharedWriter, Synchronous, WRITER_MEMORY_MIN, broken_conditions,
    broken_conditions_by, load, load_scattered,
};
use proptest::prelude::*;
use rusqlite::types::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use targets::{BasePort, Method, Model, ModelPort, OpenSpec, PsyncPort};
use workloads::{Pacing, drive};

fn dir() -> tempfile::TempDir {
    // Not in /tmp, which may be memory: direct I/O needs a file system on a disk.
    tempfile::Builder::new()
        .prefix("assay-test-")
        .tempdir_in("/var/tmp")
        .unwrap()
}

fn spec() -> FileSetSpec {
    FileSetSpec {
        grow_step: 1 << 20,
        ..FileSetSpec::default()
    }
}

/// With all of the log in memory.
fn modelled(seed: u64) -> Place {
    modelled_with(seed, spec().log_memory)
}

fn modelled_with(seed: u64, log_memory: u64) -> Place {
    let port = ModelPort::open(Model::new(&[0, 0, 0], WRITER_MEMORY_MIN, 8, seed)).unwrap();
    let spec = FileSetSpec { log_memory, ..spec() };
    Place::on(Arc::new(FileSet::create(port, Vec::new(), spec, seed).unwrap())).unwrap()
}

fn direct(dir: &Path, readers: usize) -> (DirectFiles, Place) {
    let files = DirectFiles::claim(&dir.join("direct.db")).unwrap();
    let file_set = files.create(&PsyncPort::open, readers, spec(), 1).unwrap();
    (files, Place::on(Arc::new(file_set)).unwrap())
}

/// Both ways of a file, and a model: what a test of work runs on.
fn everywhere(dir: &Path) -> Vec<(&'static str, Place, Option<DirectFiles>)> {
    let (files, place) = direct(dir, 2);
    vec![
        ("buffered", Place::buffered(&dir.join("buffered.db")), None),
        ("direct", place, Some(files)),
        ("modelled", modelled(3), None),
    ]
}

fn answers(session: &Session, text: &str) -> Result<Vec<Vec<Value>>, String> {
    let read = || -> Result<Vec<Vec<Value>>, rusqlite::Error> {
        let mut statement = session.sql().prepare(text)?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|c| row.get(c)).collect())?;
        rows.collect()
    };
    read().map_err(|e| e.to_string())
}

/// A statement of the random dialogue.
fn statement() -> impl Strategy<Value = String> {
    let table = prop_oneof![Just("a"), Just("b")];
    let key = 0..40i64;
    prop_oneof![
        1 => Just("BEGIN IMMEDIATE".to_string()),
        2 => Just("COMMIT".to_string()),
        1 => Just("ROLLBACK".to_string()),
        1 => Just("SAVEPOINT s".to_string()),
        1 => Just("ROLLBACK TO s".to_string()),
        1 => Just("VACUUM".to_string()),
        1 => Just("PRAGMA wal_checkpoint(TRUNCATE)".to_string()),
        1 => table.clone().prop_map(|t| format!("CREATE INDEX IF NOT EXISTS i_{t} ON {t} (v, k)")),
        1 => table.clone().prop_map(|t| format!("DELETE FROM {t}")),
        8 => (table.clone(), key.clone(), 0..30_000usize, any::<u8>()).prop_map(|(t, k, len, byte)| {
            format!("INSERT OR REPLACE INTO {t} VALUES ({k}, hex(zeroblob({len})) || '{byte}')")
        }),
        4 => (table.clone(), key.clone()).prop_map(|(t, k)| format!("DELETE FROM {t} WHERE k = {k}")),
        3 => (table.clone(), key.clone()).prop_map(|(t, k)| {
            format!("UPDATE {t} SET v = substr(v, 1, {k} * 100) || k WHERE k >= {k}")
        }),
        2 => table.clone().prop_map(|t| format!("INSERT OR IGNORE INTO {t} SELECT k + 7, v || v FROM {t}")),
        3 => table.clone().prop_map(|t| format!("SELECT count(*), sum(length(v)), min(v), max(k) FROM {t}")),
        2 => (table, key).prop_map(|(t, k)| format!("SELECT k, length(v), substr(v, -3) FROM {t} WHERE k < {k} ORDER \
            BY v, k")),
        1 => Just("SELECT a.k, length(b.v) FROM a JOIN b ON a.k = b.k ORDER BY 1".to_string()),
    ]
}

fn same_dialogue(ours: &Place, statements: &[String], settings: &Settings) {
    let dir = dir();
    let place = Place::buffered(&dir.path().join("theirs.db"));
    let (theirs, ours) = (place.connect(settings).unwrap(), ours.connect(settings).unwrap());
    let begin =
        "CREATE TABLE a (k INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (k INTEGER PRIMARY KEY, v TEXT) WITHOUT ROWID";
    for session in [&theirs, &ours] {
        session.sql().execute_batch(begin).unwrap();
    }
    for statement in statements {
        assert_eq!(answers(&ours, statement), answers(&theirs, statement), "{statement}");
    }
    for table in ["a", "b"] {
        let all = format!("SELECT * FROM {table} ORDER BY k");
        assert_eq!(answers(&ours, &all), answers(&theirs, &all));
    }
    for session in [&theirs, &ours] {
        if !session.sql().is_autocommit() {
            session.sql().execute_batch("COMMIT").unwrap();
        }
    }
    assert_eq!(ours.integrity().unwrap(), "ok");
    // The databases themselves, page by page, but for what SQLite draws at random.
    let pages = "SELECT name, pageno, path, pagetype, ncell, payload, unused FROM dbstat ORDER BY name, path";
    assert_eq!(answers(&ours, pages), answers(&theirs, pages));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var("ASSAY_TEST_SIZE").is_ok_and(|s| s == "full") { 1000 } else { 40 },
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_statements_have_the_same_answers(
        statements in prop::collection::vec(statement(), 1..60),
        seed in 0u64..12,
    ) {
        let settings = Settings {
            page_bytes: [512, 4096, 8192, 65536][(seed % 4) as usize],
            cache_bytes: 100 << 10,
            journal: if seed % 3 == 0 { Journal::Delete } else { Journal::Wal },
            wal_autocheckpoint_pages: 20,
            synchronous: if seed % 2 == 0 { Synchronous::Normal } else { Synchronous::Full },
            ..Settings::default()
        };
        // None of the log in memory, some of it, all of it.
        let log_memory = [0, 30_000, 16 << 20][(seed / 4 % 3) as usize];
        same_dialogue(&modelled_with(seed, log_memory), &statements, &settings);
    }
}

/// With the log in memory, with a part of it, and without.
#[test]
fn readers_beside_a_writer_see_whole_transactions() {
    for log_memory in [16 << 20, 100_000, 0] {
        readers_see_whole_transactions(log_memory);
    }
}

fn readers_see_whole_transactions(log_memory: u64) {
    let dir = dir();
    let files = DirectFiles::claim(&dir.path().join("direct.db")).unwrap();
    let spec = FileSetSpec { log_memory, ..spec() };
    let file_set = files.create(&PsyncPort::open, 3, spec, 1).unwrap();
    let place = Place::on(Arc::new(file_set)).unwrap();
    let settings = Settings {
        cache_bytes: 64 << 10,
        wal_autocheckpoint_pages: 50,
        synchronous: Synchronous::Normal,
        ..Settings::default()
    };
    let writer = place.connect(&settings).unwrap();
    writer
        .sql()
        .execute_batch("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER, f BLOB)")
        .unwrap();
    writer
        .sql()
        .execute_batch(
            "WITH RECURSIVE s(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM s WHERE i < 200) \
        INSERT INTO t SELECT i, 0, zeroblob(900) FROM s",
        )
        .unwrap();
    let rounds = 80;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let reader = place.connect(&settings).unwrap();
                let mut last = 0;
                while last < rounds {
                    let text = "SELECT min(n), max(n), count(*) FROM t WHERE length(f) = 900";
                    let (min, max, count): (i64, i64, i64) = reader
                        .sql()
                        .query_row(text, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
                        .unwrap();
                    assert!(
                        min == max && count == 200 && min >= last,
                        "{min} {max} {count} after {last}"
                    );
                    last = min;
                }
            });
        }
        for _ in 0..rounds {
            writer.sql().execute_batch("UPDATE t SET n = n + 1").unwrap();
        }
    });
    assert_eq!(writer.integrity().unwrap(), "ok");
}

#[test]
fn a_checkpoint_reads_the_log_in_memory() {
    let settings = Settings {
        // Pages that were written do not stay in SQLite's cache.
        cache_bytes: 64 << 10,
        wal_autocheckpoint_pages: 0,
        ..Settings::default()
    };
    let [with, without] = [16 << 20, 0].map(|log_memory| {
        let place = modelled_with(5, log_memory);
        let session = place.connect(&settings).unwrap();
        let make = "CREATE TABLE t (k INTEGER PRIMARY KEY, f BLOB); \
                    WITH RECURSIVE s(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM s WHERE i < 500) \
                    INSERT INTO t SELECT i, zeroblob(900) FROM s";
        session.sql().execute_batch(make).unwrap();
        let before = place.counts().unwrap();
        session.checkpoint().unwrap();
        let after = place.counts().unwrap();
        assert_eq!(session.integrity().unwrap(), "ok");
        let fact = ("sqlite wal_memory".to_string(), log_memory.to_string());
        assert!(session.facts().unwrap().contains(&fact));
        (after.reads - before.reads, after.log_reads - before.log_reads)
    });
    assert!(without.0 > 50 && without.1 == 0, "{without:?}");
    assert!(
        with.0 < 5 && with.1 > 50,
        "{with:?}, without the log in memory {without:?}"
    );
}

#[test]
fn another_process_cannot_have_the_same_files() {
    let dir = dir();
    let path = dir.path().join("one.db");
    let _first = DirectFiles::claim(&path).unwrap();
    let refused = DirectFiles::claim(&path).err().expect("the lock is taken").to_string();
    assert!(refused.contains("another process"), "{refused}");
}

#[test]
fn what_is_no_file_set_is_refused() {
    let dir = dir();
    let path = dir.path().join("one.db");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let files = DirectFiles::claim(&path).unwrap();
    let refused = files
        .open(&PsyncPort::open, 0, spec())
        .err()
        .expect("no file set")
        .to_string();
    assert!(refused.contains("no SQLite file of ours"), "{refused}");
}

#[test]
fn it_is_there_when_opened_again_and_its_page_size_cannot_change() {
    let dir = dir();
    let path = dir.path().join("one.db");
    let files = DirectFiles::claim(&path).unwrap();
    let settings = Settings::default();
    let place = Place::on(Arc::new(files.create(&PsyncPort::open, 0, spec(), 1).unwrap())).unwrap();
    place
        .connect(&settings)
        .unwrap()
        .sql()
        .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (7)")
        .unwrap();
    drop(place);
    let place = Place::on(Arc::new(files.open(&PsyncPort::open, 1, spec()).unwrap())).unwrap();
    let session = place.connect(&settings).unwrap();
    assert_eq!(answers(&session, "SELECT a FROM t").unwrap(), [[Value::Integer(7)]]);
    assert!(
        session
            .facts()
            .unwrap()
            .contains(&("sqlite journal_mode".into(), "wal".into()))
    );
    drop(session);
    let other = Settings {
        page_bytes: 4096,
        ..settings
    };
    let refused = place.connect(&other).err().expect("another page size").to_string();
    assert!(
        refused.contains("page_size = 4096 was asked for, and SQLite has 8192"),
        "{refused}"
    );
}

#[test]
fn a_bulk_load_takes_the_same_space_everywhere() {
    let dir = dir();
    let mut spaces = Vec::new();
    for (name, place, _files) in everywhere(dir.path()) {
        let session = place.connect(&Settings::default()).unwrap();
        let mut load = BulkLoad::new(BulkSession::new(session, 1), 10_000).unwrap();
        let result = load.run(0).unwrap();
        assert_eq!(
            (result.rows, result.outcome.count(), result.outcome.units()),
            (10_000, 100, 10_000)
        );
        assert!(
            result
                .growth
                .windows(2)
                .all(|g| g[0].rows <= g[1].rows && g[0].bytes != g[1].bytes)
        );
        assert!(result.elapsed_ns >= result.outcome.elapsed_ns + result.settle_ns);
        let last = result.growth.last().unwrap();
        let mut session = load.into_database();
        let space = session.space().unwrap();
        let all = space.table_bytes + space.primary_key_bytes + space.unique_key_bytes + space.other_bytes;
        // Everything is home: no log is left.
        assert_eq!(last.bytes, all, "{name}");
        assert!(
            space.table_bytes > 10_000 * 180 && space.primary_key_bytes > 100_000,
            "{space:?}"
        );
        let sum = answers(
            session.session(),
            "SELECT count(*), sum(c1), sum(c4), min(length(c6)), max(length(c7)) FROM bulk",
        );
        let expected = [10_000, 50_005_000, 50_005_000, 100, 73].map(Value::Integer);
        assert_eq!(sum.unwrap(), [expected], "{name}");
        eprintln!(
            "{name}: {:.0} rows/s, {space:?}, {} steps",
            result.rows_per_s(),
            result.growth.len()
        );
        spaces.push(space);
    }
    assert!(spaces.windows(2).all(|s| s[0] == s[1]), "{spaces:?}");
}

#[test]
fn a_load_that_is_interrupted_ends_at_once_and_its_session_goes_on() {
    let dir = dir();
    let scale = Scale::reduced(2).unwrap();
    for (name, place, _files) in everywhere(dir.path()) {
        let flag = Arc::new(AtomicBool::new(true));
        let mut session = place.connect(&Settings::default()).unwrap();
        session.interrupted_by(flag.clone()).unwrap();
        let error = load(&session, &scale, 5, 1_000_000).unwrap_err().to_string();
        assert!(error.contains("interrupted"), "{name}: {error}");
        flag.store(false, Ordering::Relaxed);
        if !session.sql().is_autocommit() {
            session.sql().execute_batch("ROLLBACK").unwrap();
        }
        assert_eq!(session.integrity().unwrap(), "ok", "{name}");
    }
}

/// So many users, each with so many operations.
fn counted(users: u32, operations: u64) -> Pacing {
    Pacing {
        stop: workloads::Stop {
            operations_per_session: Some(operations),
            time_ns: None,
        },
        ..Pacing::closed(users, 0)
    }
}

/// A table of so many rows, a page each. Every fifth operation is a commit.
fn scattered(rows: u64) -> ScatteredShape {
    ScatteredShape {
        rows,
        page_bytes: 8192,
        work_unit: 16,
        update_pct: 20,
    }
}

#[test]
fn order_entry_keeps_its_conditions_on_every_way() {
    let dir = dir();
    let scale = Scale::reduced(2).unwrap();
    for (name, place, _files) in everywhere(dir.path()) {
        let settings = Settings {
            cache_bytes: 1 << 20,
            ..Settings::default()
        };
        let session = place.connect(&settings).unwrap();
        load(&session, &scale, 5, 1_000_000).unwrap();
        assert_eq!(broken_conditions(&session, &scale).unwrap(), []);
        let writer = Arc::new(SharedWriter::new(place.connect(&settings).unwrap()));
        // The model has one port: its users share a thread there.
        let threads = if name == "modelled" { 1 } else { 3 };
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let worker = |nth: u32| {
                let terminals = (0..10)
                    .map(|n| Terminal::new(scale, Home::Fixed, 5, 9, nth * 10 + n))
                    .collect();
                let connections = match threads {
                    1 => Connections::alone(writer.clone()),
                    _ => Connections::among_others(place.connect(&settings).unwrap(), writer.clone()),
                };
                let mut worker = OrderWorker::new(connections, terminals, 2_000_000);
                scope.spawn(move || {
                    let pacing = counted(10, 20);
                    (drive(&mut worker, &pacing, 0).unwrap(), worker.take_lock_wait())
                })
            };
            let running: Vec<_> = (0..threads).map(worker).collect();
            running.into_iter().map(|r| r.join().unwrap()).collect()
        });
        let waits: u64 = outcomes.iter().map(|o| o.1.wait.len()).sum();
        let writes: u64 = outcomes
            .iter()
            .map(|o| [0, 1, 3].map(|c| o.0.classes[c].count).iter().sum::<u64>())
            .sum();
        assert_eq!(waits, writes, "{name}");
        assert_eq!(
            outcomes.iter().map(|o| o.0.count()).sum::<u64>(),
            u64::from(threads) * 200
        );
        assert_eq!(broken_conditions(&session, &scale).unwrap(), [], "{name}");
        assert_eq!(session.integrity().unwrap(), "ok");
    }
}

#[test]
fn scattered_reads_are_counted_where_they_are_made() {
    let dir = dir();
    for (name, place, _files) in everywhere(dir.path()) {
        let settings = Settings {
            // 16 pages of 8 KiB, for 400 of data.
            cache_bytes: 128 << 10,
            ..Settings::default()
        };
        let shape = scattered(400);
        let session = place.connect(&settings).unwrap();
        load_scattered(&session, &shape, 1).unwrap();
        session.checkpoint().unwrap();
        drop(session);
        let session = place.connect(&settings).unwrap();
        let shared = place.connect(&settings).unwrap();
        let writer = Arc::new(SharedWriter::new(shared));
        let mut work = Scattered::new(Connections::among_others(session, writer.clone()), shape, 2);
        let pages = |work: &Scattered| work.cache_counts().misses + CacheCounts::of(writer.enter().session()).misses;
        let (before_pages, io) = (pages(&work), place.counts());
        let outcome = drive(&mut work, &counted(2, 50), 0).unwrap();
        assert_eq!((outcome.count(), outcome.units()), (100, 1600), "{name}");
        let misses = pages(&work) - before_pages;
        // Each operation touches 16 pages of 400, of which at most 16 are in the cache.
        assert!((1300..2200).contains(&misses), "{name}: {misses}");
        if let (Some(before), Some(after)) = (io, place.counts()) {
            let asked = (after - before).asked_reads;
            // Besides pages: what checkpoints read of the log.
            assert!(
                asked >= misses && asked < misses * 3 / 2 + 600,
                "{name}: {asked} reads for {misses} misses"
            );
        }
    }
}

/// A table that fits into the cache is read once, although every fifth operation is a commit.
#[test]
fn a_thread_alone_keeps_its_cache_over_its_commits() {
    let dir = dir();
    for (name, place, _files) in everywhere(dir.path()) {
        let settings = Settings::default();
        let shape = scattered(200);
        let session = place.connect(&settings).unwrap();
        load_scattered(&session, &shape, 1).unwrap();
        drop(session);
        let writer = Arc::new(SharedWriter::new(place.connect(&settings).unwrap()));
        let mut work = Scattered::new(Connections::alone(writer.clone()), shape, 2);
        drive(&mut work, &counted(2, 50), 0).unwrap();
        let pages = CacheCounts::of(writer.enter().session());
        // 200 pages of rows, of which a few may not be drawn, and a few of the index and the schema.
        assert!((190..230).contains(&pages.misses), "{name}: {pages:?}");
        assert_eq!(work.cache_counts(), CacheCounts::default(), "{name}");
    }
}

/// Loaded on one thread, driven on another, brought home by the first: a ring goes with them.
#[test]
fn threads_write_by_a_ring_one_after_the_other() {
    let dir = dir();
    let files = DirectFiles::claim(&dir.path().join("ring.db")).unwrap();
    let open = |specs: &[OpenSpec], memory, depth| {
        let method = if depth > 1 { Method::Ring } else { Method::Pread };
        BasePort::open(method, specs, memory, depth)
    };
    let file_set = match files.create(&open, 1, spec(), 1) {
        Ok(file_set) => file_set,
        Err(error) => {
            assert!(
                std::env::var_os("CI").is_none(),
                "io_uring is missing under CI: {error}"
            );
            eprintln!("skipped: {error}");
            return;
        }
    };
    let place = Place::on(Arc::new(file_set)).unwrap();
    let settings = Settings {
        cache_bytes: 256 << 10,
        wal_autocheckpoint_pages: 50,
        ..Settings::default()
    };
    let shape = scattered(200);
    load_scattered(&place.connect(&settings).unwrap(), &shape, 1).unwrap();
    let writer = Arc::new(SharedWriter::new(place.connect(&settings).unwrap()));
    for seed in [2, 3] {
        let mut work = Scattered::new(Connections::alone(writer.clone()), shape, seed);
        let driven = std::thread::scope(|scope| scope.spawn(|| drive(&mut work, &counted(2, 100), seed)).join());
        assert_eq!(driven.unwrap().unwrap().count(), 200);
        writer.enter().session().checkpoint().unwrap();
    }
    assert_eq!(writer.enter().session().integrity().unwrap(), "ok");
}

/// Those of a query of its own and those that share one, by one connection and by two at the same time.
#[test]
fn broken_conditions_are_found_by_one_connection_and_by_two() {
    let dir = dir();
    let scale = Scale::reduced(1).unwrap();
    // The model has one port: its users share a thread there.
    let files = everywhere(dir.path())
        .into_iter()
        .filter(|(name, ..)| *name != "modelled");
    for (name, place, _files) in files {
        let settings = Settings::default();
        let session = place.connect(&settings).unwrap();
        load(&session, &scale, 5, 1_000_000).unwrap();
        let mut two = [place.connect(&settings).unwrap(), place.connect(&settings).unwrap()];
        for (plant, undo, expected) in [
            (
                "UPDATE warehouse SET w_ytd = w_ytd + 1",
                "UPDATE warehouse SET w_ytd = w_ytd - 1",
                &[1, 8][..],
            ),
            (
                "UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_id = 1",
                "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 1",
                &[12],
            ),
            (
                "UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 1",
                "UPDATE customer SET c_balance = c_balance - 1 WHERE c_id = 1",
                &[10, 12],
            ),
        ] {
            session.sql().execute_batch(plant).unwrap();
            let alone = broken_conditions(&session, &scale).unwrap();
            let numbers: Vec<u8> = alone.iter().map(|(number, ..)| *number).collect();
            assert_eq!(numbers, expected, "{name}: {plant}");
            assert!(
                alone.iter().all(|(_, says, rows)| !says.is_empty() && *rows > 0),
                "{alone:?}"
            );
            assert_eq!(broken_conditions_by(&mut two, &scale).unwrap(), alone, "{name}");
            session.sql().execute_batch(undo).unwrap();
            assert_eq!(broken_conditions_by(&mut two, &scale).unwrap(), [], "{name}");
        }
        // An error is the answer, not a condition that holds.
        session.sql().execute_batch("DROP TABLE history").unwrap();
        assert!(broken_conditions_by(&mut two, &scale).is_err(), "{name}");
    }
}
