//! Decision support on a real server and in SQLite: the same data, the same answers, and each planted mistake seen.
//!
//! `ASSAY_TEST_SIZE=full` asks at scale 1 and holds the answers against the published ones. Prevents: a figure of a
//! question whose answer is wrong.

use crate::machine::is_full;
use crate::place::Place;
use databases::decision_support::{
    Answer, Answered, Ask, Cell, Checksums, Dialect, Parameters, Question, RefreshSet, Refreshed, Rows, Scale, Source,
    Table, Text, of_stream, of_users, write_refresh, write_rows,
};
use databases::postgres::{self, Address, Connection, PostgresError, RunAs, Server, Settings};
use databases::sqlite;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) const LIMIT: Duration = Duration::from_secs(300);
pub(crate) const SLICE_NS: u64 = 100_000_000;

/// Rows from a thread, as a run has them from a child.
pub(crate) struct Threaded;

impl Source for Threaded {
    fn begin(&self, scale: Scale) -> std::io::Result<Box<dyn Read + Send>> {
        let (from, mut to) = std::io::pipe()?;
        std::thread::spawn(move || {
            // Who reads no more has what he wants.
            let _ = write_rows(scale, &mut to);
        });
        Ok(Box::new(from))
    }

    fn begin_refresh(&self, scale: Scale, set: u32) -> std::io::Result<Box<dyn Read + Send>> {
        let mut all = Vec::new();
        write_refresh(scale, set, &mut all)?;
        Ok(Box::new(std::io::Cursor::new(all)))
    }
}

pub(crate) fn small() -> Scale {
    Scale::new(0.01).unwrap()
}

/// A server with the tables in a database of their own.
pub(crate) struct Loaded {
    server: Server,
    pub(crate) address: Address,
    place: Place,
}

pub(crate) fn loaded(scale: Scale, settings: &[(&str, &str)]) -> Option<Loaded> {
    let place = Place::new()?;
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings = Settings {
        sessions: 20,
        explicit: settings.iter().map(own).collect(),
        ..Settings::default()
    };
    let server = place.cluster().start(&settings, place.path()).unwrap();
    let address = postgres::create(server.address(), "decision").unwrap();
    postgres::load_decision_support(&address, scale, &Threaded, &AtomicBool::new(false)).unwrap();
    Some(Loaded { server, address, place })
}

impl Loaded {
    pub(crate) fn connection(&self) -> Connection {
        Connection::open(&self.address, &[]).unwrap()
    }

    pub(crate) fn ask(&self, users: Vec<Vec<Ask>>, text: Text, limit: Duration) -> Result<Answered, PostgresError> {
        let asked = postgres::Questions {
            users,
            text,
            limit,
            temp_tablespace: None,
            slice_ns: SLICE_NS,
        };
        postgres::ask_questions(&self.address, &asked, &AtomicBool::new(false))
    }

    pub(crate) fn end(self) {
        self.server.stop().unwrap();
        drop(self.place);
    }
}

type Digests = BTreeMap<(Question, u32), String>;

fn digests(answered: &Answered) -> Digests {
    let one = |asked: &databases::decision_support::Asked| ((asked.question, asked.variant), asked.digest.clone());
    answered.asked.iter().map(one).collect()
}

/// SQLite with the tables, in a file.
fn lite(dir: &tempfile::TempDir, scale: Scale) -> sqlite::Place {
    let place = sqlite::Place::buffered(&dir.path().join("decision"));
    let session = place.connect(&sqlite::Settings::default()).unwrap();
    sqlite::load_decision_support(&session, scale, &Threaded).unwrap();
    place
}

/// The tables, loaded once, on a file set of our VFS and in a file of the operating system.
#[test]
fn copied_tables_are_those_that_were_loaded() {
    let dir = tempfile::Builder::new()
        .prefix("assay-test-")
        .tempdir_in("/var/tmp")
        .unwrap();
    let loaded = lite_without_journal(&dir.path().join("loaded"));
    // Connections with other settings write to the file of the first.
    let kept = dir.path().join("kept");
    std::fs::copy(dir.path().join("loaded"), &kept).unwrap();
    let image = sqlite::Image::of(std::fs::File::open(&kept).unwrap()).unwrap();
    std::fs::remove_file(&kept).unwrap();
    let files = sqlite::DirectFiles::claim(&dir.path().join("direct")).unwrap();
    let file_set = files.create(&targets::PsyncPort::open, 2, sqlite::FileSetSpec::default(), 7);
    let on_file_set = sqlite::Place::on(Arc::new(file_set.unwrap())).unwrap();
    let buffered = sqlite::Place::buffered(&dir.path().join("buffered"));
    let sums = |place: &sqlite::Place| {
        let session = place.connect(&sqlite::Settings::default()).unwrap();
        Table::ALL.map(|table| sqlite::decision_support_checksums(&session, table).unwrap())
    };
    let expected = sums(&loaded);
    for place in [&on_file_set, &buffered] {
        image.copy_into(place, &AtomicBool::new(false)).unwrap();
        assert_eq!(sums(place), expected);
        let session = place.connect(&sqlite::Settings::default()).unwrap();
        assert_eq!(session.integrity().unwrap(), "ok");
        session.sql().execute_batch("DELETE FROM region").unwrap();
        drop(session);
        let there = image.copy_into(place, &AtomicBool::new(false)).unwrap_err();
        assert!(there.to_string().contains("empty place"), "{there}");
    }
    assert_eq!(
        sums(&loaded),
        expected,
        "a copy shares nothing with what it was copied from"
    );
}

/// A server's tables, loaded once: beside the copy's own log, and with the log apart.
#[test]
fn copied_servers_have_the_tables_that_were_loaded() {
    let Some(from) = loaded(small(), &[("max_wal_size", "64MB"), ("min_wal_size", "64MB")]) else {
        return;
    };
    let mut sums = vec![all_sums(&from.address)];
    let Loaded { server, place, .. } = from;
    let on = AtomicBool::new(false);
    let image = server
        .into_image(tempfile::tempfile_in(place.path()).unwrap(), &on)
        .unwrap();
    assert!(image.bytes() > 30 << 20, "{} bytes", image.bytes());
    // A server keeps 64 MB of its log for later; only what a start needs is copied.
    assert!(image.bytes() < 90 << 20, "{} bytes", image.bytes());
    let user = RunAs::choose(None).unwrap();
    for (name, wal) in [("beside", None), ("apart", Some(place.path().join("log")))] {
        let data = place.path().join(name);
        let cluster = place.try_copy(&image, &data, wal.as_deref(), &on).unwrap();
        if let (Some(wal), RunAs::User { uid, .. }) = (&wal, &user) {
            let owner = |path: &Path| std::fs::symlink_metadata(path).unwrap().uid();
            let of = [data.clone(), data.join("base"), data.join("PG_VERSION"), wal.clone()];
            assert_eq!(of.map(|path| owner(&path)), [*uid; 4]);
        }
        assert_eq!(data.join("pg_wal").is_symlink(), wal.is_some());
        let server = cluster.start(&Settings::default(), place.path()).unwrap();
        let mut address = server.address().clone();
        address.database = "decision".to_owned();
        sums.push(all_sums(&address));
        let mut connection = Connection::open(&address, &[]).unwrap();
        connection.run("DELETE FROM region").unwrap();
        drop(connection);
        server.stop().unwrap();
        let there = place.try_copy(&image, &data, None, &on).unwrap_err();
        assert!(matches!(there, PostgresError::NotEmpty { .. }), "{there}");
    }
    assert!(
        sums.iter().all(|one| *one == sums[0]),
        "a copy shares nothing with another"
    );
}

fn all_sums(address: &Address) -> Vec<databases::decision_support::Held> {
    let mut connection = Connection::open(address, &[]).unwrap();
    let held = |table| postgres::decision_support_checksums(&mut connection, table).unwrap();
    Table::ALL.into_iter().map(held).collect()
}

fn lite_without_journal(path: &std::path::Path) -> sqlite::Place {
    let place = sqlite::Place::buffered(path);
    let settings = sqlite::Settings {
        journal: sqlite::Journal::Off,
        ..sqlite::Settings::default()
    };
    let session = place.connect(&settings).unwrap();
    sqlite::load_decision_support(&session, small(), &Threaded).unwrap();
    place
}

fn ask_lite(place: &sqlite::Place, users: Vec<Vec<Ask>>, text: Text, limit: Duration) -> Answered {
    let sessions = users
        .iter()
        .map(|_| place.connect(&sqlite::Settings::default()).unwrap())
        .collect();
    let asked = sqlite::Questions {
        users,
        text,
        limit,
        slice_ns: SLICE_NS,
    };
    sqlite::ask_questions(sessions, &asked, &Arc::new(AtomicBool::new(false)))
        .unwrap()
        .0
}

#[test]
fn two_engines_two_texts_and_several_users_give_the_same_answers() {
    let Some(server) = loaded(small(), &[]) else { return };
    let stream = |variant| of_stream(&Question::all(), small(), 7, 1, variant);
    let grouped = server.ask(vec![stream(0)], Text::Grouped, LIMIT).unwrap();
    assert_eq!(grouped.asked.len(), 22);
    let rows: u64 = grouped.asked.iter().map(|asked| asked.rows).sum();
    assert!(rows > 300, "{rows} rows");
    assert!(grouped.asked.iter().all(|asked| asked.temp_bytes.is_some()));
    let nested = server.ask(vec![stream(0)], Text::Nested, LIMIT).unwrap();
    assert_eq!(digests(&grouped), digests(&nested));
    // Streams at the same time, each with parameters of its own; the first has those from before.
    let several = server.ask((0..3).map(stream).collect(), Text::Grouped, LIMIT).unwrap();
    let all = digests(&several);
    assert_eq!(all.len(), 66);
    for (key, digest) in digests(&grouped) {
        assert_eq!(all[&key], digest, "{key:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let place = lite(&dir, small());
    for text in [Text::Grouped, Text::Nested] {
        let lite = digests(&ask_lite(&place, vec![stream(0)], text, LIMIT));
        assert_eq!(lite, digests(&grouped), "{text:?}");
    }
    let users = |many: u32| of_users(&Question::all(), small(), 7, 3, (many, 2 * many));
    let lite = digests(&ask_lite(&place, users(11), Text::Grouped, LIMIT));
    let served = server.ask(users(11), Text::Grouped, LIMIT).unwrap();
    assert_eq!(lite, digests(&served));
    server.end();
}

/// Sums of a table as it is generated.
fn generated(table: Table, scale: Scale) -> Checksums {
    let mut rows = Rows::of(&Threaded, scale).unwrap();
    let mut wanted = None;
    for each in Table::ALL {
        let mut sums = Checksums::new(each);
        while rows.next(each, &mut sums).unwrap().is_some() {}
        if each == table {
            wanted = Some(sums);
        }
    }
    wanted.unwrap()
}

#[test]
fn a_row_that_is_missing_and_a_cell_that_is_another_are_seen() {
    let Some(server) = loaded(small(), &[]) else { return };
    let mut connection = server.connection();
    let sums = generated(Table::LineItem, small());
    let ask = || {
        digests(
            &server
                .ask(
                    vec![of_stream(&Question::all(), small(), 7, 1, 0)],
                    Text::Grouped,
                    LIMIT,
                )
                .unwrap(),
        )
    };
    let whole = ask();
    let mut planted = |sql: &str| {
        connection.run(sql).unwrap();
        let held = postgres::decision_support_checksums(&mut connection, Table::LineItem).unwrap();
        sums.compare(&held).map_err(|doubt| doubt.to_string())
    };
    assert_eq!(planted("SELECT 1"), Ok(()));
    let other = planted("UPDATE lineitem SET l_discount = 0.01 WHERE l_orderkey = 7 AND l_linenumber = 1").unwrap_err();
    assert!(other.contains("column l_discount"), "{other}");
    let missing = planted("DELETE FROM lineitem WHERE l_orderkey = 7 AND l_linenumber = 2").unwrap_err();
    assert!(
        missing.contains("60175 rows were written, 60174 are there"),
        "{missing}"
    );
    let differs: Vec<u8> = ask()
        .iter()
        .filter(|(key, digest)| whole[*key] != **digest)
        .map(|(key, _)| key.0.number())
        .collect();
    assert!(differs.contains(&1), "question 1 reads every line: {differs:?}");
    server.end();
}

/// Two orders of equal revenue stand where the limit of question 3 cuts: whatever order the engine finds them in, the
/// same one of them is in the answer.
#[test]
fn equals_at_a_limit_are_cut_the_same_way_everywhere() {
    let Some(server) = loaded(small(), &[]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let place = lite(&dir, small());
    let mut connection = server.connection();
    let session = place.connect(&sqlite::Settings::default()).unwrap();
    // Twelve orders that earn the most, all the same, of one customer of the segment asked for.
    for nth in 0..12 {
        let key = 9_000_001 + (nth * 7) % 12;
        let customer = "(SELECT MIN(c_custkey) FROM customer WHERE c_mktsegment = 'BUILDING')";
        for (money, one) in [("900000.00", "1.00"), ("90000000", "100")] {
            let order = format!(
                "INSERT INTO orders VALUES ({key}, {customer}, 'O', {money}, '1995-03-01', '1-URGENT', 'c', 0, 'x')"
            );
            let line = format!(
                "INSERT INTO lineitem VALUES ({key}, 1, 1, 1, {one}, {money}, 0, 0, 'N', 'O', '1995-04-01', \
                 '1995-04-02', '1995-04-03', 'NONE', 'AIR', 'x')"
            );
            match one {
                "100" => session.sql().execute_batch(&format!("{order};{line}")).unwrap(),
                _ => drop(connection.run(&format!("{order};{line}")).unwrap()),
            }
        }
    }
    let question = Question::new(3).unwrap();
    let ask = Ask {
        question,
        variant: 0,
        parameters: Parameters::published(question, small()),
    };
    let served = digests(&server.ask(vec![vec![ask.clone()]], Text::Grouped, LIMIT).unwrap());
    assert_eq!(
        served,
        digests(&ask_lite(&place, vec![vec![ask.clone()]], Text::Grouped, LIMIT))
    );
    // The smallest ten keys of the twelve.
    let sql = question.sql(&ask.parameters, Dialect::Postgres, Text::Grouped);
    let keys: Vec<String> = connection
        .run(&sql)
        .unwrap()
        .into_iter()
        .map(|row| row[0].clone().unwrap())
        .collect();
    assert_eq!(keys, (1..=10).map(|n| (9_000_000 + n).to_string()).collect::<Vec<_>>());
    server.end();
}

/// New orders come and go; the tables are afterwards what they were, row by row and column by column.
#[test]
fn refresh_functions_leave_the_tables_as_they_were() {
    let sets: Vec<RefreshSet> = [0, 1]
        .into_iter()
        .map(|set| RefreshSet::of(&Threaded, small(), set).unwrap())
        .collect();
    let stays = AtomicBool::new(false);
    let dir = tempfile::tempdir().unwrap();
    let place = lite(&dir, small());
    let session = place.connect(&sqlite::Settings::default()).unwrap();
    let held = || [Table::Orders, Table::LineItem].map(|t| sqlite::decision_support_checksums(&session, t).unwrap());
    let before = held();
    let done = sqlite::run_refresh(&session, &sets, &stays).unwrap();
    assert_eq!(held(), before);
    assert!(done.len() == 2 && done.iter().all(|pair| pair.orders == 15 && pair.lines >= 15));
    // Half of a pair is seen.
    session
        .sql()
        .execute_batch("DELETE FROM orders WHERE o_orderkey = 1")
        .unwrap();
    assert_ne!(held(), before);
    let Some(server) = loaded(small(), &[]) else { return };
    let mut connection = server.connection();
    let mut held =
        || [Table::Orders, Table::LineItem].map(|t| postgres::decision_support_checksums(&mut connection, t).unwrap());
    let before = held();
    let there = postgres::run_refresh(&server.address, &sets, &stays).unwrap();
    assert_eq!(held(), before);
    let counts = |pairs: &[Refreshed]| pairs.iter().map(|pair| (pair.orders, pair.lines)).collect::<Vec<_>>();
    assert_eq!(counts(&there), counts(&done));
    server.end();
}

#[test]
fn a_question_past_its_limit_is_named() {
    let Some(server) = loaded(small(), &[]) else { return };
    let mut asks = of_stream(&Question::all(), small(), 7, 1, 0);
    asks.sort_by_key(|ask| ask.question != Question::new(20).unwrap());
    let ended = server
        .ask(vec![asks.clone()], Text::Nested, Duration::from_millis(1))
        .unwrap();
    assert_eq!(ended.past_limit, Question::new(20));
    assert!(ended.asked.is_empty());
    server.end();
    let dir = tempfile::tempdir().unwrap();
    let place = lite(&dir, small());
    let ended = ask_lite(&place, vec![asks], Text::Nested, Duration::from_millis(1));
    assert_eq!(ended.past_limit, Question::new(20));
}

/// At scale 1 the published description has answers. That to question 11 has keys cut short in the crate's copy: there
/// the values are compared.
#[test]
fn published_answers_hold() {
    if !is_full() {
        return;
    }
    let scale = Scale::new(1.0).unwrap();
    let Some(server) = loaded(scale, &[("work_mem", "16MB"), ("max_wal_size", "8GB")]) else {
        return;
    };
    let mut connection = server.connection();
    let mut wrong = Vec::new();
    for number in 1..=22 {
        let question = Question::new(number).unwrap();
        let parameters = Parameters::published(question, scale);
        let sql = question.sql(&parameters, Dialect::Postgres, Text::Grouped);
        let cell = |cell: Option<String>| cell.map_or(Cell::Null, Cell::Text);
        let rows = connection.run(&sql).unwrap();
        let rows = rows
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect())
            .collect();
        let ours = Answer::new(question, rows).unwrap().rows;
        if let Err(why) = agrees(number, &ours) {
            wrong.push(format!("question {number}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("22 of 22 published answers hold at scale 1");
    server.end();
}

/// The published answer to a question, if ours is another.
fn agrees(number: u8, ours: &[Vec<String>]) -> Result<(), String> {
    let text = tpchgen::q_and_a::answers_sf1::answer(number.into()).unwrap();
    let published: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .skip(1)
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    if published.len() != ours.len() {
        return Err(format!("{} rows published, {} here", published.len(), ours.len()));
    }
    for (nth, (theirs, ours)) in published.iter().zip(ours).enumerate() {
        if theirs.len() != ours.len() {
            return Err(format!(
                "row {nth}: {} columns published, {} here",
                theirs.len(),
                ours.len()
            ));
        }
        for (column, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
            let key_cut_short = number == 11 && column == 0;
            if !key_cut_short && !same(theirs, ours) {
                return Err(format!("row {nth}, column {column}: {theirs} published, {ours} here"));
            }
        }
    }
    Ok(())
}

/// Sums to a hundred, quotients to a hundredth of themselves, all else as it is written.
fn same(theirs: &str, ours: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|_| text.contains('.'));
    match (number(theirs), number(ours)) {
        (Some(theirs), Some(ours)) => {
            let near = if theirs.abs() > 10_000.0 {
                100.0
            } else {
                theirs.abs() * 0.01
            };
            (theirs - ours).abs() <= near.max(0.01)
        }
        _ => theirs == ours.trim(),
    }
}
