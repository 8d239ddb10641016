//! What goes wrong between a study and a database in SQL: a server that lets nobody in, that is no server, that is cut
//! down or has its databases left from before; a file system that fills up in a load.
//!
//! Each must end with its code, say what failed and the cure, and leave nothing. The servers are the test's own, behind
//! sockets in a directory of its own. Skipped, with the reason printed, without PostgreSQL. Prevents: a password in a
//! message or a result, and a database left on somebody's server.

use crate::bench::{Bench, Running};
use crate::rig::Rig;
use databases::postgres::{Address, Cluster, Connection, RunAs, Server, Settings, choose};
use ledger::{Ledger, PhaseStatus};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

const PASSWORD: &str = "s3cret-of-joe";

/// A server that is there already, for who knows a password.
struct Theirs {
    server: Server,
    // Gone after the server.
    _dir: tempfile::TempDir,
}

impl Theirs {
    fn new() -> Option<Theirs> {
        let install = match choose(None) {
            Ok(install) => install,
            Err(missing) => {
                assert!(std::env::var_os("CI").is_none(), "{missing}");
                eprintln!("skipped: {missing}");
                return None;
            }
        };
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory } else { Path::new("/var/tmp") };
        let dir = tempfile::Builder::new()
            .prefix("apg-")
            .tempdir_in(place)
            .expect("a directory");
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("opened");
        let run_as = RunAs::choose(None).expect("a user");
        let cluster = Cluster::create(install, &dir.path().join("data"), run_as, &["--no-sync"]).expect("made");
        let server = cluster.start(&Settings::default(), dir.path()).expect("started");
        let theirs = Theirs { server, _dir: dir };
        for sql in [
            format!("CREATE ROLE joe LOGIN CREATEDB PASSWORD '{PASSWORD}'"),
            format!("CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'"),
            "CREATE DATABASE joe OWNER joe".to_string(),
        ] {
            theirs.root(&sql);
        }
        let rules = "local all assay trust\nlocal all all scram-sha-256\n";
        std::fs::write(cluster.data().join("pg_hba.conf"), rules).expect("written");
        theirs.root("SELECT pg_reload_conf()");
        let begin = Instant::now();
        while Connection::open(&theirs.address("joe", "joe"), &[]).is_ok() {
            assert!(begin.elapsed() < crate::rig::PATIENCE, "the rules were not read");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(theirs)
    }

    fn url(&self, user: &str, database: &str) -> String {
        let dir = self.server.facts().private.join("s").display().to_string();
        format!("postgres://{user}@/{database}?host={dir}")
    }

    fn address(&self, user: &str, database: &str) -> Address {
        Address::parse(&self.url(user, database)).expect("a url")
    }

    fn root(&self, sql: &str) -> Vec<String> {
        let mut connection = Connection::open(self.server.address(), &[]).expect("connected");
        let rows = connection.run(sql).expect("done");
        rows.into_iter().flatten().flatten().collect()
    }

    /// Databases of Assay's on it.
    fn left(&self) -> Vec<String> {
        self.root("SELECT datname FROM pg_database WHERE datname LIKE 'assay%'")
    }
}

fn study(url: &str, time: &str) -> String {
    format!(
        "[study]\nname = \"there\"\nblocks = 4\n[[stack]]\nname = \"there\"\nkind = \"server\"\nurl = \"{url}\"\n\
         [[phase]]\nname = \"orders\"\nkind = \"tpcc\"\nusers = 2\nwarehouses = 1\ncompany = \"reduced\"\n\
         time = \"{time}\"\n"
    )
}

fn start(bench: &Bench, url: &str, time: &str, password: Option<&str>) -> Running {
    bench.write("there.toml", &study(url, time));
    let result = bench.path("there.assay");
    let _ = std::fs::remove_file(&result);
    let mut command = bench.command(&["run", "there.toml", "--output", "there.assay"]);
    command.env_remove("PGPASSWORD");
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    Running::start(command)
}

#[test]
fn a_server_that_lets_nobody_in_is_told_with_its_cure() {
    let Some(theirs) = Theirs::new() else { return };
    let bench = Bench::new();
    let refused = |user: &str, database: &str, password: Option<&str>, words: &[&str]| {
        let ran = start(&bench, &theirs.url(user, database), "100ms", password).wait();
        assert_eq!(ran.code(), 3, "{ran}");
        for word in words {
            assert!(ran.stderr.contains(word), "not said: {word}\n{ran}");
        }
        assert!(password.is_none_or(|secret| !ran.stderr.contains(secret)), "{ran}");
        assert_eq!(theirs.left(), Vec::<String>::new());
    };
    let own = Some(PASSWORD);
    refused(
        "joe",
        "joe",
        Some("wr0ng-one"),
        &["log in at postgres://joe@", "28P01", "check user and password"],
    );
    refused("joe", "joe", None, &["wants a password", "set PGPASSWORD"]);
    refused(
        "joe",
        "nonesuch",
        own,
        &["3D000", "make the database, or name another one"],
    );
    refused(
        "ann",
        "joe",
        own,
        &["make the database assay_orders", "42501", "CREATEDB"],
    );
    // What a run before left, or somebody else's: it is not gone over.
    theirs.root("CREATE DATABASE assay_orders OWNER joe");
    let ran = start(&bench, &theirs.url("joe", "joe"), "100ms", own).wait();
    assert_eq!(ran.code(), 3, "{ran}");
    assert!(
        ran.stderr.contains("42P04") && ran.stderr.contains("DROP DATABASE"),
        "{ran}"
    );
    assert_eq!(theirs.left(), ["assay_orders"]);
    theirs.root("DROP DATABASE assay_orders");
    with_everything_right_it_runs(&theirs, &bench);
    nothing_is_said_of_its_host(&bench);
    // He may not run CHECKPOINT: each phase says so, until somebody lets him.
    assert_eq!(without_checkpoint(&bench), 4);
    theirs.root("GRANT pg_checkpoint TO joe");
    with_everything_right_it_runs(&theirs, &bench);
    assert_eq!(without_checkpoint(&bench), 0);
    theirs.server.stop().expect("stopped");
}

/// It leaves nothing, and keeps the password to itself.
fn with_everything_right_it_runs(theirs: &Theirs, bench: &Bench) {
    let ran = start(bench, &theirs.url("joe", "joe"), "100ms", Some(PASSWORD)).wait();
    assert_eq!(ran.code(), 0, "{ran}");
    assert_eq!(theirs.left(), Vec::<String>::new());
    let bytes = std::fs::read(bench.path("there.assay")).expect("read");
    assert!(!bytes.windows(PASSWORD.len()).any(|piece| piece == PASSWORD.as_bytes()));
    let ledger = Ledger::open(bench.path("there.assay")).expect("opens");
    let phases = ledger.phases().expect("phases");
    assert!(
        phases.len() == 4 && phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid),
        "{phases:?}"
    );
    assert!(
        ledger
            .databases()
            .expect("databases")
            .iter()
            .all(|row| !row.database.managed)
    );
}

/// Warnings of phases that ended without a checkpoint.
fn without_checkpoint(bench: &Bench) -> usize {
    let events = Ledger::open(bench.path("there.assay")).and_then(|ledger| ledger.events());
    let said = |event: &&ledger::Event| event.text.contains("let a superuser run GRANT pg_checkpoint TO");
    events.expect("events").iter().filter(said).count()
}

/// What is seen of the users' host stands for nothing of the server's, and the sheet says that once.
fn nothing_is_said_of_its_host(bench: &Bench) {
    let report = &bench.expect(0, &["report", "there.assay", "--json"]).json()["report"];
    let checks = report["checks"].as_array().expect("checks");
    let statuses = |subject: &str| {
        let mine = checks.iter().filter(|check| check["subject"] == subject);
        mine.map(|check| check["status"].as_str().expect("a status"))
            .collect::<Vec<_>>()
    };
    for subject in [
        "host CPU",
        "background CPU",
        "stolen CPU",
        "throttling",
        "memory budget",
        "memory alike",
        "other processes' I/O",
    ] {
        assert_eq!(statuses(subject), Vec::<&str>::new(), "{subject}: {checks:?}");
    }
    assert_eq!(statuses("server's host"), ["note"], "{checks:?}");
    assert_eq!(
        statuses("clock"),
        ["valid"],
        "the durations are of this host's: {checks:?}"
    );
}

#[test]
fn a_session_cut_off_in_a_phase_fails_it_and_leaves_no_database() {
    let Some(theirs) = Theirs::new() else { return };
    let bench = Bench::new();
    let running = start(&bench, &theirs.url("joe", "joe"), "60s", Some(PASSWORD));
    // The users are at work once there is an order that was not loaded: 60 of each district are.
    let mut inside = theirs.server.address().clone();
    "assay_orders".clone_into(&mut inside.database);
    let new_orders = || -> Option<i64> {
        let mut connection = Connection::open(&inside, &[]).ok()?;
        connection.number("SELECT count(*) FROM orders WHERE o_id > 60").ok()
    };
    let begin = Instant::now();
    while new_orders().unwrap_or(0) == 0 {
        assert!(begin.elapsed() < crate::rig::PATIENCE, "no phase came");
        std::thread::sleep(Duration::from_millis(20));
    }
    let sessions = "SELECT pid FROM pg_stat_activity WHERE datname = 'assay_orders' AND usename = 'joe'";
    let victim = theirs.root(sessions).into_iter().next().expect("a session");
    let pid = rustix::process::Pid::from_raw(victim.parse().expect("a number")).expect("a process");
    // The server takes all its sessions down, and comes up again.
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    let ran = running.wait();
    assert_eq!(ran.code(), 3, "{ran}");
    assert!(
        ran.stderr.contains("phase `orders`") && ran.stderr.contains("see the server's log"),
        "{ran}"
    );
    assert_eq!(theirs.left(), Vec::<String>::new());
    theirs.server.stop().expect("stopped");
}

#[test]
fn what_listens_and_is_no_server_is_told() {
    let bench = Bench::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let answers: [&[u8]; 2] = [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("somebody came");
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(answer);
            }
        });
        for _ in answers {
            let ran = start(&bench, &format!("postgres://joe@127.0.0.1:{port}/joe"), "100ms", None).wait();
            assert_eq!(ran.code(), 3, "{ran}");
            assert!(ran.stderr.contains("is it PostgreSQL that listens there?"), "{ran}");
        }
    });
}

fn small(dir: &Path, lun_mib: u64, database: &str, phase: &str) -> String {
    format!(
        "[study]\nname = \"small\"\nblocks = 4\n[luns.data]\nfiles = {{ size = \"{lun_mib}MiB\", dir = \"{}\" }}\n\
         [[stack]]\nname = \"ext4\"\nkind = \"ext4\"\ndata = \"data\"\n[database]\n{database}\n[[phase]]\n\
         name = \"work\"\n{phase}\n",
        dir.display()
    )
}

/// A server's stack that fills up is a test of its own beside the other tests of servers.
#[test]
fn a_file_system_that_fills_up_under_sqlite_is_a_result_and_nothing_is_left() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    let before = rig.belongings(&[]);
    // It passes the look at sizes before the run, which knows rows and neither logs nor the steps in which files grow.
    let database = "engine = \"sqlite\"\ncache = \"4MiB\"";
    let path = rig.study(
        "small",
        &small(&rig.work(), 52, database, "kind = \"bulk\"\nrows = [150000]"),
    );
    let said = "ext4, work: ran out of space; the run goes on";
    rig.run(&path, &rig.result("small"), &[]).expect(0, &[said]);
    assert_eq!(rig.belongings(&[]), before);
    let phases = Ledger::open(rig.result("small"))
        .expect("opens")
        .phases()
        .expect("phases");
    assert_eq!(phases.len(), 4, "{phases:?}");
    for phase in phases {
        assert_eq!(phase.run.status, PhaseStatus::Failed("ran out of space".to_string()));
    }
}

#[test]
fn a_place_for_the_socket_that_cannot_be_is_told_before_anything_is_made() {
    if choose(None).is_err() {
        eprintln!("skipped: no PostgreSQL");
        return;
    }
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else { return };
    std::fs::set_permissions(rig.path(""), PermissionsExt::from_mode(0o711)).expect("opened");
    let deep = rig.path("results").join("d".repeat(90));
    std::fs::create_dir(&deep).expect("made");
    let database = "engine = \"postgres\"\ncache = \"16MiB\"";
    let path = rig.study(
        "deep",
        &small(&rig.work(), 128, database, "kind = \"bulk\"\nrows = [100]"),
    );
    let before = rig.belongings(&[]);
    let mut command = rig.run_command(&path, &rig.result("deep"), &[]);
    command.env("TMPDIR", &deep);
    crate::rig::Running::start(command)
        .wait()
        .expect(3, &["the kernel takes 107", "set TMPDIR to a shorter directory"]);
    assert_eq!(rig.belongings(&[]), before);
    assert_eq!(std::fs::read_dir(&deep).expect("listed").count(), 0);
}
