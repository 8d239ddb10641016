//! Temporary files of questions: what PostgreSQL counts against what it logs, also of its parallel workers, and what
//! our VFS counts against what a directory holds.
//!
//! Prevents: a share of temporary bytes that met a device, of which the bytes were counted wrongly.

use crate::decision_support::{LIMIT, Loaded, SLICE_NS, Threaded, loaded, small};
use databases::decision_support::{Ask, Dialect, Question, Text, of_stream, of_users};
use databases::postgres::ServerCounters;
use databases::sqlite;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use targets::{Access, OpenSpec, PsyncPort, TargetError};

/// A temporary file as the server's log has it.
struct Logged {
    /// The process that made it.
    process: String,
    bytes: u64,
}

/// A server that logs each temporary file, and spills early.
fn logging(more: &[(&'static str, &'static str)]) -> Option<Loaded> {
    let mut settings = vec![("log_temp_files", "0"), ("work_mem", "64kB")];
    settings.extend_from_slice(more);
    loaded(small(), &settings)
}

/// All files that it has logged so far.
fn logged(server: &Loaded) -> Vec<Logged> {
    let log = server.address.log.clone().unwrap();
    let text = std::fs::read_to_string(log).unwrap();
    let lines = text.lines().filter(|line| line.contains("temporary file: path"));
    lines.filter_map(of_line).collect()
}

/// `... temporary file: path "base/pgsql_tmp/pgsql_tmp4711.0", size 65536`
fn of_line(line: &str) -> Option<Logged> {
    let (_, name) = line.rsplit_once("pgsql_tmp")?;
    let (_, bytes) = line.rsplit_once("size ")?;
    Some(Logged {
        process: name.split('.').next()?.to_owned(),
        bytes: bytes.trim().parse().ok()?,
    })
}

fn bytes(files: &[Logged]) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}

fn processes(files: &[Logged]) -> BTreeSet<&str> {
    files.iter().map(|file| file.process.as_str()).collect()
}

/// The questions of one user, one after the other.
fn stream() -> Vec<Ask> {
    of_stream(&Question::all(), small(), 7, 1, 0)
}

/// What the questions of one user took by the server's counts, and the files that it logged meanwhile.
fn asked_alone(server: &Loaded) -> (u64, Vec<Logged>) {
    let before = logged(server).len();
    let answered = server.ask(vec![stream()], Text::Grouped, LIMIT).unwrap();
    assert_eq!(answered.asked.len(), 22);
    let counted = answered.asked.iter().filter_map(|asked| asked.temp_bytes).sum();
    (counted, logged(server).split_off(before))
}

#[test]
fn temporary_bytes_are_those_that_the_server_logs() {
    let Some(server) = logging(&[("max_parallel_workers_per_gather", "0")]) else {
        return;
    };
    let (counted, files) = asked_alone(&server);
    assert!(counted > 1 << 20, "{counted} bytes");
    assert_eq!(counted, bytes(&files));
    assert_eq!(processes(&files).len(), 1, "the user's session alone");
    server.end();
}

/// Every plan may be parallel, and the session leaves the work to its workers.
const PARALLEL: [(&str, &str); 6] = [
    ("min_parallel_table_scan_size", "0"),
    ("min_parallel_index_scan_size", "0"),
    ("parallel_setup_cost", "0"),
    ("parallel_tuple_cost", "0"),
    ("max_parallel_workers_per_gather", "2"),
    ("parallel_leader_participation", "off"),
];

/// Workers sort in files of their own, and hash in files that they share with the session. The server counts both where
/// it logs them, and has the counts of a question's workers when its answer is there.
#[test]
fn temporary_bytes_of_parallel_workers_are_those_that_the_server_logs() {
    let Some(server) = logging(&PARALLEL) else { return };
    let parallel = stream().iter().filter(|ask| is_parallel(&server, ask)).count();
    assert!(parallel >= 11, "{parallel} of 22 plans are parallel");
    let (counted, files) = asked_alone(&server);
    println!(
        "{parallel} of 22 plans are parallel: {counted} bytes in {} files of {} processes",
        files.len(),
        processes(&files).len()
    );
    assert!(counted > 1 << 20, "{counted} bytes");
    assert_eq!(counted, bytes(&files));
    workers_sort(&server);
    let users = of_users(&Question::all(), small(), 7, 1, (3, 24));
    let answered = server.ask(users, Text::Grouped, LIMIT).unwrap();
    assert_eq!(answered.asked.len(), 24);
    counts_are_the_log(&server);
    server.end();
}

/// A part of its plan is done by workers.
fn is_parallel(server: &Loaded, ask: &Ask) -> bool {
    let text = ask.question.sql(&ask.parameters, Dialect::Postgres, Text::Grouped);
    let plan = server.connection().run(&format!("EXPLAIN {text}")).unwrap();
    let mut cells = plan.iter().flatten().flatten();
    cells.any(|cell| cell.contains("Gather"))
}

/// A sort whose files are all of workers, and of no session.
fn workers_sort(server: &Loaded) {
    let before = logged(server).len();
    let mut connection = server.connection();
    let session = connection.number("SELECT pg_backend_pid()").unwrap().to_string();
    let text = "SELECT l_orderkey FROM lineitem ORDER BY l_comment, l_orderkey, l_linenumber OFFSET 60000";
    assert_eq!(connection.run(text).unwrap().len(), 175);
    let files = logged(server).split_off(before);
    assert!(bytes(&files) > 1 << 20, "{} bytes", bytes(&files));
    assert!(
        !processes(&files).contains(session.as_str()),
        "the session sorted itself"
    );
}

/// All that the server has counted since it was started is all that it has logged, the load's among it.
fn counts_are_the_log(server: &Loaded) {
    let mut connection = server.connection();
    let mut counted = || ServerCounters::read(&mut connection).unwrap().temp_file_bytes;
    // Sessions hand in their counts when they end, for which nobody waits.
    for _ in 0..200 {
        if counted() == bytes(&logged(server)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(counted(), bytes(&logged(server)));
}

/// A temporary file that keeps its name: how long it is when it goes is added up.
struct Watched {
    path: PathBuf,
    held: Arc<AtomicU64>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let len = std::fs::metadata(&self.path).unwrap().len();
        self.held.fetch_add(len, Ordering::Relaxed);
        std::fs::remove_file(&self.path).unwrap();
    }
}

/// A database in a directory with its temporary files beside it, and what these hold when they go.
fn watched(dir: &Path) -> (sqlite::DirectFiles, sqlite::Place, Arc<AtomicU64>) {
    let held = Arc::new(AtomicU64::new(0));
    let (temp, seen) = (dir.to_owned(), held.clone());
    let space = sqlite::TempSpace::new(move |number| {
        let path = temp.join(format!("temporary-{number}"));
        let opened = OpenSpec::creating(&path, Access::Direct, 0);
        let port = PsyncPort::open(&[opened], sqlite::TEMP_MEMORY, sqlite::TEMP_DEPTH)?;
        let held = seen.clone();
        Ok(sqlite::NewFile {
            port,
            gone: Box::new(Watched { path, held }),
            room: sqlite::Room::Written,
        })
    });
    let files = sqlite::DirectFiles::claim(&dir.join("direct.db")).unwrap();
    let spec = sqlite::FileSetSpec::default();
    let file_set = files.create(&PsyncPort::open, 1, spec, 1).unwrap();
    let place = sqlite::Place::with_temp(Arc::new(file_set), Arc::new(space)).unwrap();
    (files, place, held)
}

/// A directory that has no room for one more name: the question ends as it does where a write finds no room.
#[test]
fn a_temporary_file_of_sqlite_that_cannot_be_made_for_want_of_room_is_a_full_disk() {
    let dir = tempfile::Builder::new()
        .prefix("assay-test-")
        .tempdir_in("/var/tmp")
        .unwrap();
    let space = sqlite::TempSpace::new::<PsyncPort, _>(|number| {
        let no_room = TargetError::Path {
            what: "open",
            path: format!("temporary-{number}").into(),
            source: std::io::Error::from_raw_os_error(28),
            cure: "",
        };
        Err(no_room.into())
    });
    let files = sqlite::DirectFiles::claim(&dir.path().join("direct.db")).unwrap();
    let file_set = files
        .create(&PsyncPort::open, 1, sqlite::FileSetSpec::default(), 1)
        .unwrap();
    let place = sqlite::Place::with_temp(Arc::new(file_set), Arc::new(space)).unwrap();
    let session = place.connect(&spilling()).unwrap();
    let sorted = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000) \
                  SELECT randomblob(1000) AS filler FROM c ORDER BY filler";
    let refused = session.sql().query_row(sorted, [], |_| Ok(())).unwrap_err();
    assert_eq!(
        refused.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DiskFull),
        "{refused}"
    );
}

/// A cache so small that a sort goes to files.
fn spilling() -> sqlite::Settings {
    sqlite::Settings {
        page_bytes: 1024,
        cache_bytes: 64 << 10,
        temp: sqlite::TempStore::Files,
        ..sqlite::Settings::default()
    }
}

/// A sort writes each byte once: what the VFS counts is what the directory holds, to the last block of each file.
/// Questions also have tables of their own, whose pages are written again.
#[test]
fn temporary_bytes_of_sqlite_are_those_that_a_directory_holds() {
    // Not in /tmp, which may be memory: direct I/O needs a file system on a disk.
    let dir = tempfile::Builder::new()
        .prefix("assay-test-")
        .tempdir_in("/var/tmp")
        .unwrap();
    let (_files, place, held) = watched(dir.path());
    let session = place.connect(&spilling()).unwrap();
    sqlite::load_decision_support(&session, small(), &Threaded).unwrap();
    let counts = || place.temp_counts().unwrap();
    let (before, held_before) = (counts(), held.load(Ordering::Relaxed));
    let text = "SELECT l_comment, l_orderkey FROM lineitem ORDER BY l_comment, l_orderkey";
    let count = {
        let mut statement = session.sql().prepare(text).unwrap();
        let rows = statement.query_map([], |_| Ok(())).unwrap();
        rows.inspect(|row| assert!(row.is_ok())).count()
    };
    let after = counts();
    let (files, asked) = (
        after.files - before.files,
        after.asked_write_bytes - before.asked_write_bytes,
    );
    let holds = held.load(Ordering::Relaxed) - held_before;
    println!("a sort of {count} rows: {asked} bytes in {files} files, which hold {holds}");
    assert!(count == 60_175 && asked > 1 << 20 && after.open == 0);
    assert!(
        holds >= asked && holds - asked < files * 4096,
        "{holds} held, {asked} asked"
    );
    let (before, held_before) = (after, held.load(Ordering::Relaxed));
    // Those that read their tables in order: the others seek for long with so small a cache.
    let mut asks = of_stream(&Question::all(), small(), 7, 1, 0);
    asks.retain(|ask| [1, 13, 16, 18].contains(&ask.question.number()));
    let asked = sqlite::Questions {
        users: vec![asks],
        text: Text::Grouped,
        limit: LIMIT,
        slice_ns: SLICE_NS,
    };
    let answered = sqlite::ask_questions(vec![session], &asked, &Arc::new(AtomicBool::new(false)))
        .unwrap()
        .0;
    let after = counts();
    let of_questions: u64 = answered.asked.iter().filter_map(|one| one.temp_bytes).sum();
    let asked = after.asked_write_bytes - before.asked_write_bytes;
    let sent = after.write_bytes - before.write_bytes;
    let holds = held.load(Ordering::Relaxed) - held_before;
    println!("questions: {asked} bytes asked, {sent} sent in whole blocks, {holds} held at the end");
    assert_eq!(of_questions, asked);
    assert!(
        (sent as f64 / asked as f64 - 1.0).abs() < 0.05,
        "{sent} sent, {asked} asked"
    );
    assert!(holds <= sent);
    drop(place);
    assert!(
        std::fs::read_dir(dir.path()).unwrap().count() <= 3,
        "no temporary file is left"
    );
}
