//! SQLite on a disk group and on XFS: the same answers, byte by byte; and processes that are killed at random moments.
//!
//! Prevents: a database that is sound on a model of a disk and not on a disk group.

use crate::grounds::{Ground, disk_files};
use crate::rig::{Rig, text, tool};
use databases::bulk::BulkLoad;
use databases::order_entry::{Scale, TABLES};
use databases::sqlite::{
    BulkSession, Journal, Place, Session, Settings, SqliteError, Synchronous, TempStore, broken_conditions, load,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rusqlite::types::Value;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn dir() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("assay-test-")
        .tempdir_in(crate::machine::scratch())
        .unwrap()
}

/// All rows of a query, as one checksum, and how many.
fn answer(session: &Session, text: &str) -> (u64, String) {
    let mut hash = Sha256::new();
    let mut statement = session.sql().prepare(text).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut count = 0;
    while let Some(row) = rows.next().unwrap() {
        count += 1;
        for column in 0..columns {
            let value: Value = row.get(column).unwrap();
            hash.update(format!("{value:?};"));
        }
    }
    (count, hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}

/// Loads the company, changes it with statements drawn from a seed, gives what the database then answers.
fn story(ground: &Ground, journal: Journal) -> Vec<(u64, String)> {
    let stood = ground.make();
    let settings = Settings {
        cache_bytes: 1 << 20,
        journal,
        ..Settings::default()
    };
    let session = stood.place.connect(&settings).unwrap();
    let scale = Scale::reduced(1).unwrap();
    load(&session, &scale, 3, 1_700_000_000_000_000).unwrap();
    assert_eq!(broken_conditions(&session, &scale).unwrap(), []);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
    for _ in 0..60 {
        let item = random.next_u64() % u64::from(scale.items);
        let district = random.next_u64() % 10 + 1;
        let change = format!(
            "BEGIN; UPDATE stock SET s_quantity = s_quantity + 1, s_data = s_data || 'x' WHERE s_i_id < {item}; \
             DELETE FROM order_line WHERE ol_d_id = {district} AND ol_o_id = {item} % 60; \
             INSERT INTO history SELECT 1, {district}, c_id, 1, {district}, {item}, 5, c_last FROM customer WHERE \
             c_d_id = {district}; {}",
            if random.next_u64().is_multiple_of(4) {
                "ROLLBACK"
            } else {
                "COMMIT"
            }
        );
        session.sql().execute_batch(&change).unwrap();
    }
    session.sql().execute_batch("VACUUM").unwrap();
    let mut answers: Vec<_> = TABLES
        .iter()
        .map(|t| answer(&session, &format!("SELECT * FROM {}", t.name())))
        .collect();
    for query in [
        "SELECT c_d_id, c_last, count(*), sum(c_balance) FROM customer GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT s_i_id, s_data, sum(ol_quantity) FROM stock JOIN order_line ON ol_i_id = s_i_id GROUP BY 1 ORDER BY 3 \
         DESC, 1",
        "SELECT name, pageno, path, pagetype, ncell, payload, unused FROM dbstat ORDER BY name, path",
    ] {
        answers.push(answer(&session, query));
    }
    assert_eq!(session.integrity().unwrap(), "ok");
    drop(session);
    stood.close();
    answers
}

/// An XFS of the rig's own; `None` where the machine can't.
fn xfs() -> Option<(Rig, PathBuf)> {
    let mut rig = Rig::new(&["mkfs.xfs", "losetup", "mount"])?;
    let device = rig.loop_device("xfs", 320);
    tool("mkfs.xfs", &["-q", "-f", text(&device)]);
    let place = rig.path("mounted");
    std::fs::create_dir(&place).unwrap();
    tool("mount", &["-t", "xfs", text(&device), text(&place)]);
    Some((rig, place))
}

#[test]
fn a_disk_group_and_xfs_give_the_same_answers() {
    let mut on_xfs = xfs();
    let here = dir();
    let disks = match &mut on_xfs {
        Some((rig, _)) => (0..3).map(|n| rig.loop_device(&format!("lun{n}"), 64)).collect(),
        None => disk_files(here.path(), 3, 64),
    };
    let files = on_xfs.as_ref().map_or(here.path(), |(_, mount)| mount.as_path());
    for journal in [Journal::Wal, Journal::Delete] {
        let of = |name: &str| files.join(format!("{name}-{journal:?}"));
        let group = story(&Ground::Group(disks.clone()), journal);
        let direct = story(&Ground::Direct(of("direct")), journal);
        let buffered = story(&Ground::Buffered(of("buffered")), journal);
        assert!(group[3].0 > 500 && group.len() == 12, "{group:?}");
        assert_eq!(group, buffered);
        assert_eq!(direct, buffered);
    }
}

/// A table of so many rows of a kilobyte, and a sort of them that must spill; gives the bytes that SQLite wrote to
/// temporary files.
fn sorted(ground: &Ground, rows: u64) -> Result<u64, SqliteError> {
    let stood = ground.make();
    let session = stood.place.connect(&spilling())?;
    let run = |text: &str| session.sql().execute_batch(text).map_err(|e| session.error("fill", e));
    run("CREATE TABLE t (n INTEGER PRIMARY KEY, filler BLOB)")?;
    // In pieces, so that the log stays small.
    for first in (0..rows).step_by(1_000) {
        run(&format!(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000) INSERT INTO t SELECT \
             {first} + n, randomblob(1000) FROM c"
        ))?;
    }
    // In order, and nothing is missing.
    let mut before: Option<Vec<u8>> = None;
    let mut in_order = || -> Result<u64, rusqlite::Error> {
        let mut all = session.sql().prepare("SELECT filler FROM t ORDER BY filler")?;
        let mut found = all.query([])?;
        let mut count = 0;
        while let Some(row) = found.next()? {
            let filler: Vec<u8> = row.get(0)?;
            assert!(before.as_ref() <= Some(&filler));
            before = Some(filler);
            count += 1;
        }
        Ok(count)
    };
    let counted = in_order();
    let wrote = stood.place.temp_counts().map_or(0, |counts| counts.asked_write_bytes);
    let counted = counted.map_err(|e| session.error("sort", e));
    drop(session);
    let open = stood.place.temp_counts().map_or(0, |counts| counts.open);
    assert_eq!(open, 0, "all of them are closed with the connection");
    stood.must_own_no_more();
    stood.close();
    assert_eq!(counted?, rows);
    Ok(wrote)
}

#[test]
fn what_is_sorted_spills_to_the_place_and_is_gone() {
    let here = dir();
    let group = sorted(&Ground::Group(disk_files(here.path(), 3, 48)), 5_000).unwrap();
    let direct = sorted(&Ground::Direct(here.path().join("direct")), 5_000).unwrap();
    assert!(group >= 5_000_000, "{group} bytes");
    assert_eq!(group, direct, "the same work writes the same bytes");
    assert_eq!(
        std::fs::read_dir(here.path()).unwrap().count(),
        3 + 3,
        "no name is left"
    );
}

#[test]
fn temporary_space_that_runs_out_is_said_and_nothing_is_lost() {
    let here = dir();
    let error = sorted(&Ground::Group(disk_files(here.path(), 2, 48)), 20_000).expect_err("it has no room for both");
    assert!(error.is_full(), "{error}");
    assert!(error.to_string().contains("no room for"), "{error}");
}

#[test]
fn a_full_group_says_so_and_keeps_what_it_had() {
    let here = dir();
    let ground = Ground::Group(disk_files(here.path(), 2, 20));
    let stood = ground.make();
    let lax = Settings {
        synchronous: Synchronous::Normal,
        ..Settings::default()
    };
    let session = stood.place.connect(&lax).unwrap();
    let mut load = BulkLoad::new(BulkSession::new(session, 1), 1_000_000).unwrap();
    let error = load.run(0).expect_err("one million rows have no room");
    assert!(error.is_full(), "{error}");
    let said = error.to_string();
    assert!(said.contains("insert rows") && said.contains("no room for"), "{said}");
    assert!(said.contains("free space on the stack, or ask for less data"), "{said}");
    let session = load.into_database();
    let sql = session.session().sql();
    if !sql.is_autocommit() {
        sql.execute_batch("ROLLBACK").unwrap();
    }
    let rows: i64 = sql.query_row("SELECT count(*) FROM bulk", [], |r| r.get(0)).unwrap();
    assert!(rows > 1000 && rows % 100 == 0, "{rows}");
    assert_eq!(session.session().integrity().unwrap(), "ok");
    drop(session);
    stood.close();
    let stood = ground.open();
    let session = stood.place.connect(&settings(Journal::Wal)).unwrap();
    assert_eq!(
        session
            .sql()
            .query_row("SELECT count(*) FROM bulk", [], |r| r.get::<_, i64>(0))
            .unwrap(),
        rows
    );
    drop(session);
    stood.close();
}

const CHILD: &str = "ASSAY_SQLITE_CHILD";
const ROWS_KEPT: u64 = 300;

fn ground_of(words: &str) -> Ground {
    let (kind, place) = words.split_once(' ').unwrap();
    match kind {
        "direct" => Ground::Direct(place.into()),
        "buffered" => Ground::Buffered(place.into()),
        _ => Ground::Group(place.split(' ').map(PathBuf::from).collect()),
    }
}

fn words_of(ground: &Ground) -> String {
    match ground {
        Ground::Direct(path) => format!("direct {}", path.display()),
        Ground::Buffered(path) => format!("buffered {}", path.display()),
        Ground::Group(disks) | Ground::Striped(disks) => {
            let disks: Vec<&str> = disks.iter().map(|d| text(d)).collect();
            format!("group {}", disks.join(" "))
        }
    }
}

fn settings(journal: Journal) -> Settings {
    Settings {
        cache_bytes: 64 << 10,
        wal_autocheckpoint_pages: 40,
        journal,
        ..Settings::default()
    }
}

fn filler(n: u64) -> Vec<u8> {
    let mut filler = vec![0; (n * 7919 % 9000) as usize];
    Xoshiro256PlusPlus::seed_from_u64(n).fill_bytes(&mut filler);
    filler
}

/// Sorts what is there again and again, in temporary files.
fn spill(place: &Place) -> std::thread::JoinHandle<()> {
    let place = place.clone();
    std::thread::spawn(move || {
        let session = place.connect(&spilling()).unwrap();
        loop {
            let sorted = session.sql().query_row(SORTED, [], |r| r.get::<_, i64>(0));
            assert!(sorted.unwrap() >= 0);
        }
    })
}

/// Rows of filler in another order, several times over: more than the cache has.
const SORTED: &str = "SELECT count(*) FROM (SELECT t.filler, u.filler FROM t JOIN (SELECT * FROM t LIMIT 3) u \
    ORDER BY t.filler DESC, u.n LIMIT -1 OFFSET 1)";

fn spilling() -> Settings {
    Settings {
        temp: TempStore::Files,
        ..settings(Journal::Wal)
    }
}

/// The process that is killed: transaction `n` adds row `n`, takes row `n - 300` away, and is said when it is
/// committed. Where there is a log, another connection sorts meanwhile.
#[test]
fn child() {
    let Ok(words) = std::env::var(CHILD) else { return };
    let (journal, words) = words.split_once(' ').unwrap();
    let journal = if journal == "wal" {
        Journal::Wal
    } else {
        Journal::Delete
    };
    let stood = ground_of(words).open();
    let session = stood.place.connect(&settings(journal)).unwrap();
    let mut n: u64 = session
        .sql()
        .query_row("SELECT last FROM head", [], |r| r.get::<_, i64>(0))
        .unwrap() as u64;
    let _spilling = (journal == Journal::Wal).then(|| spill(&stood.place));
    let mut out = std::io::stdout();
    loop {
        n += 1;
        let sql = session.sql();
        sql.execute_batch("BEGIN IMMEDIATE").unwrap();
        sql.execute("INSERT INTO t VALUES (?, ?)", rusqlite::params![n as i64, filler(n)])
            .unwrap();
        sql.execute("DELETE FROM t WHERE n <= ?", [n as i64 - ROWS_KEPT as i64])
            .unwrap();
        sql.execute("UPDATE head SET last = ?", [n as i64]).unwrap();
        sql.execute_batch("COMMIT").unwrap();
        writeln!(out, "acknowledged {n}").unwrap();
        out.flush().unwrap();
    }
}

/// Runs the child for a while, kills it; gives the last transaction that it had said. `at_work`: the while begins with
/// its first commit, otherwise with its start.
fn kill_one(ground: &Ground, journal: Journal, after: Duration, at_work: bool) -> u64 {
    let word = if journal == Journal::Wal { "wal" } else { "delete" };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite_group::child", "--nocapture", "--test-threads", "1"])
        .env(CHILD, format!("{word} {}", words_of(ground)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (first, began) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        // What runs the test begins the first line.
        let said = |line: String| line.rsplit_once("acknowledged ").and_then(|(_, n)| n.parse().ok());
        let told = lines
            .map_while(Result::ok)
            .filter_map(said)
            .inspect(|_| _ = first.send(()));
        told.last().unwrap_or(0)
    });
    if at_work {
        // An end without a word is seen below.
        let _ = began.recv_timeout(crate::rig::PATIENCE);
    }
    std::thread::sleep(after);
    let early = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(early.is_none(), "the child ended by itself: {said}");
    reader.join().unwrap()
}

fn survive(ground: &Ground, journal: Journal, kills: u32, seed: u64) {
    let stood = ground.make();
    let session = stood.place.connect(&settings(journal)).unwrap();
    let begin = "CREATE TABLE t (n INTEGER PRIMARY KEY, filler BLOB); CREATE TABLE head (last INTEGER); INSERT INTO \
         head VALUES (0)";
    session.sql().execute_batch(begin).unwrap();
    drop(session);
    stood.close();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut last, mut removed) = (0, 0);
    for kill in 0..kills {
        let at_work = !random.next_u64().is_multiple_of(4);
        let after = Duration::from_micros(random.next_u64() % 80_000);
        let acknowledged = kill_one(ground, journal, after, at_work).max(last);
        let stood = ground.open();
        removed += stood.removed;
        stood.must_own_no_more();
        let session = stood.place.connect(&settings(journal)).unwrap();
        assert_eq!(session.integrity().unwrap(), "ok", "kill {kill} on {ground:?}");
        let head: i64 = session
            .sql()
            .query_row("SELECT last FROM head", [], |r| r.get(0))
            .unwrap();
        let head = head as u64;
        // One more than was said may have been committed.
        assert!(
            head >= acknowledged && head <= acknowledged + 1,
            "{head} after {acknowledged} on {ground:?}"
        );
        let mut all = session.sql().prepare("SELECT n, filler FROM t ORDER BY n").unwrap();
        let rows: Vec<(i64, Vec<u8>)> = all
            .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let expected = head.saturating_sub(ROWS_KEPT) + 1..=head;
        assert!(
            rows.iter().map(|r| r.0 as u64).eq(expected),
            "kill {kill} on {ground:?}"
        );
        assert!(
            rows.iter().all(|r| r.1 == filler(r.0 as u64)),
            "kill {kill} on {ground:?}"
        );
        drop(all);
        drop(session);
        stood.close();
        last = head;
    }
    eprintln!(
        "{kills} kills on {}, {journal:?}: {last} transactions, {removed} temporary files removed",
        words_of(ground)
    );
    assert!(last > 0, "nothing was ever committed");
}

fn kills() -> u32 {
    if crate::machine::is_full() { 200 } else { 6 }
}

fn survive_both(ground: impl Fn(&str) -> Ground) {
    survive(&ground("wal"), Journal::Wal, kills(), 1);
    survive(&ground("delete"), Journal::Delete, kills().div_ceil(2), 2);
}

#[test]
fn kills_leave_a_file_sound() {
    let here = dir();
    survive_both(|name| Ground::Direct(here.path().join(name)));
}

#[test]
fn kills_leave_a_disk_group_sound() {
    let here = dir();
    let disks = disk_files(here.path(), 3, 48);
    survive_both(|_| Ground::Group(disks.clone()));
}

#[test]
fn kills_leave_xfs_sound() {
    let Some((rig, mount)) = xfs() else { return };
    survive_both(|name| Ground::Direct(mount.join(name)));
    drop::<(Rig, &Path)>((rig, &mount));
}
