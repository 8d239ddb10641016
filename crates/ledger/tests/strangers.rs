//! Result files of strangers: what SQLite would do with such a file, or with what lies beside it, is refused with a
//! cure.
//!
//! Prevents: a report that runs a file's own SQL, follows a journal that somebody put beside it, or waits on a pipe.
//! What damage at random does is tried in `benches/hostile`.

use ledger::{FILE_BYTES_MAX, Ledger, LedgerError};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::PathBuf;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        Ledger::create(place.at("x.assay"), &crate::rows::study()).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Changed by SQL, opened again.
    fn edited(&self, sql: &str) -> Result<Ledger, LedgerError> {
        Connection::open(self.at("x.assay"))
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        Ledger::open(self.at("x.assay"))
    }
}

fn refused(opened: Result<Ledger, LedgerError>, says: &str) {
    let error = opened
        .err()
        .unwrap_or_else(|| panic!("not refused: {says}"))
        .to_string();
    assert!(error.contains(says), "`{error}` does not say `{says}`");
    assert!(error.lines().last().unwrap().starts_with("  "), "no cure: {error}");
    assert!(!error.contains(|c: char| c.is_control() && c != '\n'), "{error:?}");
}

#[test]
fn sql_of_the_file_itself_does_not_run() {
    for (sql, says) in [
        ("DROP TABLE trial; CREATE VIEW trial AS SELECT 1", "Damaged or view"),
        (
            "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM study; END",
            "trigger",
        ),
        (
            "DROP TABLE look; CREATE TABLE look (id, x AS (hex(zeroblob(9))))",
            "\"look\"",
        ),
        ("ALTER TABLE study ADD COLUMN more TEXT", "\"study\""),
        ("CREATE TABLE more (x CHECK (x LIKE '%a%a%a%b'))", "\"more\""),
        ("CREATE INDEX more ON trial (abs(block))", "\"more\""),
        ("CREATE TABLE \"\x1b]0;x\x07\" (x)", "\\u{1b}]0;x"),
    ] {
        let opened = Place::new().edited(sql);
        if says == "Damaged or view" {
            // A view in a table's place opens, and is never looked into.
            let error = opened.unwrap().trials().unwrap_err().to_string();
            assert!(error.contains("view"), "{error}");
        } else {
            refused(opened, says);
        }
    }
    // Somebody's own view beside our tables is nobody's harm.
    assert!(Place::new().edited("CREATE VIEW mine AS SELECT * FROM trial").is_ok());
}

#[test]
fn values_without_end_are_refused() {
    let place = Place::new();
    let ledger = place.edited("UPDATE study SET text = CAST(zeroblob(20000000) AS TEXT)");
    let error = ledger.and_then(|ledger| ledger.study()).unwrap_err().to_string();
    assert!(error.contains("too big") || error.contains("damaged"), "{error}");
    for (column, bytes) in [("name", 5_000), ("question", 70_000), ("text", 1_100_000)] {
        let sql = format!("UPDATE study SET {column} = CAST(zeroblob({bytes}) AS TEXT)");
        let error = Place::new().edited(&sql).and_then(|ledger| ledger.study()).unwrap_err();
        assert!(error.to_string().contains("longer than any"), "{error}");
    }
    let large = Place::new()
        .edited("UPDATE study SET margin = 1e300")
        .and_then(|ledger| ledger.study());
    assert!(large.unwrap_err().to_string().contains("larger than any"));
    let place = Place::new();
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) \
        INSERT INTO fact SELECT 'device', i, NULL, 'model', NULL, NULL, CAST(zeroblob(60000) AS TEXT) FROM n";
    let error = place
        .edited(many)
        .and_then(|ledger| ledger.facts())
        .unwrap_err()
        .to_string();
    assert!(error.contains("more than 64 MiB"), "{error}");
    let place = Place::new();
    let large = fs::OpenOptions::new().write(true).open(place.at("x.assay")).unwrap();
    large.set_len(FILE_BYTES_MAX + 4096).unwrap();
    refused(Ledger::open(place.at("x.assay")), "more than a result file has");
}

#[test]
fn what_lies_beside_is_not_believed() {
    let place = Place::new();
    let victim = place.at("victim");
    fs::write(&victim, "mine").unwrap();
    let file = place.at("x.assay");
    let beside = |ending: &str| place.at(&format!("x.assay{ending}"));
    for ending in ["-journal", "-wal"] {
        symlink(&victim, beside(ending)).unwrap();
        refused(Ledger::open(&file), ending);
        refused(Ledger::resume(&file), ending);
        refused(Ledger::amend(&file), ending);
        fs::remove_file(beside(ending)).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, beside(ending), rustix::fs::Mode::RWXU).unwrap();
        refused(Ledger::open(&file), ending);
        fs::remove_file(beside(ending)).unwrap();
    }
    // A journal that names another file asks for that to be deleted.
    let name = victim.as_os_str().as_encoded_bytes();
    let sum: u32 = name.iter().map(|b| u32::from(*b)).sum();
    let tail = [
        &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7][..],
        &[0; 504],
        &0x4000_0000_u32.to_be_bytes(),
        name,
        &(name.len() as u32).to_be_bytes(),
        &sum.to_be_bytes(),
        &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7],
    ]
    .concat();
    fs::write(beside("-journal"), tail).unwrap();
    refused(Ledger::open(&file), "no run leaves such a journal");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    fs::write(beside("-journal"), "").unwrap();
    Ledger::open(&file).unwrap();
    if rustix::process::geteuid().is_root() {
        fs::write(beside("-journal"), [0; 1024]).unwrap();
        chown(beside("-journal"), Some(65534), Some(65534)).unwrap();
        refused(Ledger::open(&file), "no file of the owner");
    }
}

#[test]
fn what_is_no_result_file_is_refused_without_a_wait() {
    let place = Place::new();
    refused(Ledger::open("/dev/zero"), "no regular file");
    refused(Ledger::open(place.0.path()), "no regular file");
    rustix::fs::mkfifoat(rustix::fs::CWD, place.at("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let pipe = place.at("pipe");
    for opened in [Ledger::open(&pipe), Ledger::resume(&pipe), Ledger::amend(&pipe)] {
        refused(opened, "no regular file");
    }
    let file = Connection::open(place.at("x.assay")).unwrap();
    file.pragma_update(None, "journal_mode", "wal").unwrap();
    drop(file);
    refused(Ledger::open(place.at("x.assay")), "write-ahead");
    // By a link it is read all the same: whoever names it means it.
    let place = Place::new();
    symlink("x.assay", place.at("link.assay")).unwrap();
    Ledger::open(place.at("link.assay")).unwrap();
}
