//! A real server: started, worked on, crashed, starved, and worked on again. `ASSAY_TEST_SIZE=full` crashes it more
//! often.
//!
//! Skipped, with the reason printed, only where no server is installed; under `CI=true` that is a failure.

use crate::machine::{Turn, is_full, turn};
use crate::place::{Place, is_alive};
use databases::order_entry::{CONDITIONS, Home, Scale, mix, nopm, within_limits};
use databases::postgres::{
    Address, Connection, Isolation, Phase, PostgresError, Preset, Scattered, ScatteredSpec, Server, ServerCounters,
    Settings, Terminals, TerminalsSpec, check, create, load, load_scattered, run_phase,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use workloads::{Operation, Pacing, Stop};

const LOAD_SEED: u64 = 7;
const SECOND: u64 = 1_000_000_000;
/// Longest wait for what must come, generous for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// Asks until it is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A phase that ends after so many transactions of each user, however long they take.
fn counted(scale: Scale, users: u32, transactions: u64) -> Phase {
    let mut counted = phase(scale, users, 0);
    counted.pacing.stop = Stop {
        time_ns: None,
        operations_per_session: Some(transactions),
    };
    counted
}

fn phase(scale: Scale, users: u32, time_ns: u64) -> Phase {
    Phase {
        scale,
        home: Home::Fixed,
        load_seed: LOAD_SEED,
        seed: 11,
        isolation: Isolation::ReadCommitted,
        pauses: false,
        pacing: Pacing::closed(users, time_ns),
        workers: 2,
        now_us: 1_800_000_000_000_000,
    }
}

fn assert_consistent(address: &Address, scale: &Scale) {
    let broken = check(address, scale).unwrap();
    let said: Vec<_> = broken.iter().map(|b| (b.condition.number, b.rows)).collect();
    assert!(broken.is_empty(), "conditions broken: {said:?}");
}

#[test]
fn a_server_is_made_started_stopped_and_started_again() {
    let Some(place) = Place::new() else { return };
    let cluster = place.cluster();
    let settings = Settings {
        preset: Preset::Tuned,
        memory_bytes: Some(256 << 20),
        sessions: 5,
        ..Settings::default()
    };
    let server = cluster.start(&settings, place.path()).unwrap();
    let (facts, private) = (server.facts().clone(), server.facts().private.clone());
    assert!(is_alive(facts.pid) && facts.started > 0 && private.exists());
    let recorded = server.settings().unwrap();
    let value = |name: &str| recorded.iter().find(|s| s.name == name).unwrap().value.clone();
    assert_eq!(value("shared_buffers"), "64MB");
    assert_eq!(value("random_page_cost"), "1.1");
    assert_eq!(value("listen_addresses"), "");
    assert_eq!(value("fsync"), "on");
    assert!(recorded.len() > 300);
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    connection
        .run("CREATE TABLE t (a int); INSERT INTO t VALUES (5)")
        .unwrap();
    // A refusal leaves the connection usable.
    let refused = connection.run("SELECT nonesuch").unwrap_err().to_string();
    assert!(refused.contains("42703") && refused.contains("nonesuch"), "{refused}");
    server.stop().unwrap();
    assert!(!is_alive(facts.pid) && !private.exists());

    let server = cluster.start(&Settings::default(), place.path()).unwrap();
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    assert_eq!(connection.number("SELECT a FROM t").unwrap(), 5);
    // Sessions without end: the server has room for twenty of its own.
    let more: Vec<_> = (0..40).map(|_| Connection::open(server.address(), &[])).collect();
    let full = more.into_iter().find_map(Result::err).unwrap().to_string();
    assert!(full.contains("max_connections"), "{full}");
    let pid = server.facts().pid;
    drop(server);
    assert!(!is_alive(pid), "a dropped server is gone");
    assert!(place.private_dirs().is_empty());
}

#[test]
fn what_can_not_be_started_says_why() {
    let Some(place) = Place::new() else { return };
    let cluster = place.cluster();
    let again = place.try_cluster().unwrap_err();
    assert!(matches!(again, PostgresError::NotEmpty { .. }), "{again}");
    let mut settings = Settings::default();
    settings.explicit.insert("no_such_setting".to_owned(), "1".to_owned());
    let error = cluster.start(&settings, place.path()).unwrap_err().to_string();
    assert!(
        error.contains("no_such_setting") && error.ends_with("correct the setting in the study"),
        "{error}"
    );
    let deep = place.path().join("d".repeat(90));
    std::fs::create_dir(&deep).unwrap();
    let error = cluster.start(&Settings::default(), &deep).unwrap_err();
    assert!(matches!(error, PostgresError::SocketPath { .. }), "{error}");
    std::fs::remove_dir(&deep).unwrap();
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::PermissionsExt;
        let closed = place.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        let error = place.try_cluster_at(&closed.join("data")).unwrap_err();
        assert!(matches!(error, PostgresError::Barred { .. }), "{error}");
    }
    let nobody = Address::unix(place.path(), "assay", "postgres");
    let error = Connection::open(&nobody, &[]).unwrap_err().to_string();
    assert!(
        error.contains("can't connect") && error.contains("is the server up"),
        "{error}"
    );
    assert!(place.private_dirs().is_empty());
}

/// New blocks are written by whoever needs them, which is counted with the next checkpoint.
fn sessions_have_written(asking: &mut Connection, before: &ServerCounters) {
    asking.run("CHECKPOINT").unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while ServerCounters::read(asking).unwrap().since(before).backend_blocks == 0 {
        assert!(Instant::now() < end, "sessions have written nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn users_work_and_the_conditions_hold() {
    let Some(place) = Place::new() else { return };
    let server = place.server(60);
    let scale = Scale::reduced(2).unwrap();
    let address = create(server.address(), "shop").unwrap();
    let report = load(&address, &scale, LOAD_SEED, 1, 3, &AtomicBool::new(false)).unwrap();
    assert!(report.rows > 10_000 && report.database_bytes > report.copied_bytes / 2);
    let error = load(&address, &scale, LOAD_SEED, 1, 3, &AtomicBool::new(false))
        .unwrap_err()
        .to_string();
    assert!(error.contains("there already"), "{error}");
    assert_consistent(&address, &scale);

    let mut asking = Connection::open(&address, &[]).unwrap();
    let before = ServerCounters::read(&mut asking).unwrap();
    // A whole deck of each user.
    let ran = run_phase(&address, &counted(scale, 20, 100)).unwrap();
    assert_eq!((ran.outcome.sessions, ran.outcome.count()), (20, 2000));
    assert_eq!(mix(&ran.outcome), [45.0, 43.0, 4.0, 4.0, 4.0]);
    assert!(nopm(&ran.outcome) > 100.0 && ran.client_cpu_ns > 0);
    assert!(within_limits(&ran.outcome).iter().all(|v| v.response_ns_p90 > 0));
    assert_consistent(&address, &scale);
    // The server saw what we say, once the sessions have handed in their counts.
    let done = ran.outcome.count();
    let mut after = before;
    wait_until("counts of sessions that have ended", || {
        after = ServerCounters::read(&mut asking).unwrap().since(&before);
        after.commits >= done - ran.counts.rolled_back
    });
    // The server's own workers commit too: the more, the longer a busy machine takes.
    assert!(
        (done..2 * done).contains(&(after.commits + ran.counts.rolled_back)),
        "{after:?} {done}"
    );
    assert!(after.rollbacks >= ran.counts.rolled_back && after.wal_bytes > 0 && after.blocks_hit > done);
    sessions_have_written(&mut asking, &before);

    // Everybody at one warehouse, each with one picture: refusals are certain, and all are tried again.
    let mut strict = counted(Scale { warehouses: 1, ..scale }, 20, 40);
    strict.isolation = Isolation::RepeatableRead;
    let ran = run_phase(&address, &strict).unwrap();
    assert!(ran.counts.serialisation_failures > 0, "{:?}", ran.counts);
    assert_consistent(&address, &scale);
    server.stop().unwrap();
}

#[test]
fn more_loaders_load_the_same() {
    let Some(place) = Place::new() else { return };
    let server = place.server(20);
    let scale = Scale::reduced(1).unwrap();
    let sums: Vec<_> = [("one", 1), ("many", 4)]
        .map(|(name, loaders)| {
            let address = create(server.address(), name).unwrap();
            load(&address, &scale, LOAD_SEED, 1, loaders, &AtomicBool::new(false)).unwrap();
            let mut connection = Connection::open(&address, &[]).unwrap();
            let sum = |table: &str| format!("SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {table} t");
            ["customer", "stock", "order_line", "orders"].map(|table| connection.run(&sum(table)).unwrap())
        })
        .to_vec();
    assert_eq!(sums[0], sums[1]);
}

/// A violation of each condition, and its way back; the last line of a district's last order stands in for all.
const PLANTED: [(u8, &str, &str); 13] = [
    (
        1,
        "UPDATE warehouse SET w_ytd = w_ytd + 1",
        "UPDATE warehouse SET w_ytd = w_ytd - 1",
    ),
    (
        2,
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
        "UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 3",
    ),
    (
        3,
        "UPDATE new_order SET no_o_id = no_o_id - 20 WHERE no_d_id = 2 AND no_o_id = 50",
        "UPDATE new_order SET no_o_id = no_o_id + 20 WHERE no_d_id = 2 AND no_o_id = 30",
    ),
    (
        4,
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 9",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 4 AND o_id = 9",
    ),
    (
        5,
        "UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 5 AND o_id = 60",
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 60",
    ),
    (
        5,
        "UPDATE new_order SET no_o_id = 61 WHERE no_d_id = 5 AND no_o_id = 60",
        "UPDATE new_order SET no_o_id = 60 WHERE no_d_id = 5 AND no_o_id = 61",
    ),
    (
        6,
        "UPDATE order_line SET ol_o_id = 1, ol_number = 99 WHERE ol_d_id = 6 AND ol_o_id = 2 AND ol_number = 1",
        "UPDATE order_line SET ol_o_id = 2, ol_number = 1 WHERE ol_d_id = 6 AND ol_number = 99",
    ),
    (
        7,
        "UPDATE order_line SET ol_delivery_d = 1 WHERE ol_d_id = 7 AND ol_o_id = 60 AND ol_number = 1",
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 7 AND ol_o_id = 60 AND ol_number = 1",
    ),
    (
        8,
        "UPDATE history SET h_w_id = 9 WHERE h_c_d_id = 8 AND h_c_id = 1",
        "UPDATE history SET h_w_id = 1 WHERE h_w_id = 9",
    ),
    (
        9,
        "UPDATE history SET h_d_id = 1 WHERE h_c_d_id = 9 AND h_c_id = 1",
        "UPDATE history SET h_d_id = 9 WHERE h_c_d_id = 9 AND h_c_id = 1",
    ),
    (
        10,
        "UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 10 AND c_id = 1",
        "UPDATE customer SET c_balance = c_balance - 1 WHERE c_d_id = 10 AND c_id = 1",
    ),
    (
        11,
        "UPDATE customer SET c_delivery_cnt = 1 WHERE c_d_id = 1 AND c_id = 1",
        "UPDATE customer SET c_delivery_cnt = 0 WHERE c_d_id = 1 AND c_id = 1",
    ),
    (
        12,
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 2 AND c_id = 1",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 2 AND c_id = 1",
    ),
];

#[test]
fn every_condition_can_fail() {
    let Some(place) = Place::new() else { return };
    let server = place.server(20);
    let scale = Scale::reduced(1).unwrap();
    load(server.address(), &scale, LOAD_SEED, 1, 2, &AtomicBool::new(false)).unwrap();
    assert_consistent(server.address(), &scale);
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    for (number, plant, undo) in PLANTED {
        connection.run(plant).unwrap();
        let broken = check(server.address(), &scale).unwrap();
        assert!(
            broken.iter().any(|b| b.condition.number == number && b.rows > 0),
            "{plant} does not break condition {number}"
        );
        connection.run(undo).unwrap();
        assert_consistent(server.address(), &scale);
    }
    let planted: std::collections::BTreeSet<u8> = PLANTED.iter().map(|p| p.0).collect();
    assert_eq!(planted.len(), CONDITIONS.len());
}

/// Works until the server is gone; counts the new orders that are acknowledged, and gives the error.
fn work_until_gone(address: &Address, scale: Scale, users: u32, seed: u64, acknowledged: &AtomicU64) -> PostgresError {
    let spec = TerminalsSpec {
        scale,
        home: Home::Any,
        load_seed: LOAD_SEED,
        run_seed: seed,
        isolation: Isolation::ReadCommitted,
        pauses: false,
        first: 0,
        sessions: users,
        now_us: 1,
    };
    let mut terminals = Terminals::connect(address, &spec).unwrap();
    let mut done = Vec::new();
    for session in 0..users {
        terminals.start(session, &mut done).unwrap();
    }
    loop {
        if let Err(e) = terminals.advance(None, &mut done) {
            return e;
        }
        for ended in std::mem::take(&mut done) {
            acknowledged.fetch_add(u64::from(ended.class == 0) * ended.units, Ordering::Relaxed);
            if let Err(e) = terminals.start(ended.session, &mut done) {
                return e;
            }
        }
    }
}

/// Users at work, and the server killed under them once so many of their new orders are acknowledged; gives how many
/// were.
fn work_and_kill(server: Server, scale: Scale, users: u32, kill: u64) -> u64 {
    let (address, acknowledged) = (server.address().clone(), Arc::new(AtomicU64::new(0)));
    let counting = Arc::clone(&acknowledged);
    let worker = std::thread::spawn(move || work_until_gone(&address, scale, users, kill, &counting));
    let wanted = 40 + kill * 137 % 400;
    wait_until("new orders before the kill", || {
        worker.is_finished() || acknowledged.load(Ordering::Relaxed) >= wanted
    });
    let shared = crate::place::shared_memory_of(server.facts().pid);
    assert!(!shared.is_empty(), "a server has shared memory");
    server.crash();
    assert!(
        shared.iter().all(|file| !Path::new(file).exists()),
        "{shared:?} is left"
    );
    let error = worker.join().unwrap();
    assert!(matches!(error, PostgresError::Died { .. }), "{error}");
    acknowledged.load(Ordering::Relaxed)
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let Some(place) = Place::new() else { return };
    let cluster = place.cluster();
    let settings = Settings {
        sessions: 30,
        ..Settings::default()
    };
    let scale = Scale::reduced(2).unwrap();
    let users = 20;
    let mut server = cluster.start(&settings, place.path()).unwrap();
    load(server.address(), &scale, LOAD_SEED, 1, 2, &AtomicBool::new(false)).unwrap();
    let orders = |address: &Address| {
        let mut connection = Connection::open(address, &[]).unwrap();
        connection.number("SELECT count(*) FROM orders").unwrap() as u64
    };
    let kills = if is_full() { 20 } else { 2 };
    for kill in 0..kills {
        let before = orders(server.address());
        let acknowledged = work_and_kill(server, scale, users, kill);
        server = cluster.start(&settings, place.path()).unwrap();
        let after = orders(server.address());
        let highest = before + acknowledged + u64::from(users);
        assert!(
            (before + acknowledged..=highest).contains(&after),
            "kill {kill}: {before} and {acknowledged} acknowledged, but {after} are there"
        );
        assert_consistent(server.address(), &scale);
    }
    server.stop().unwrap();
}

#[test]
fn scattered_keys_touch_a_block_each() {
    let Some(place) = Place::new() else { return };
    let server = place.server(20);
    let address = server.address();
    let spec = ScatteredSpec {
        rows: 2_000,
        work_unit: 16,
        update_pct: 30,
        sessions: 8,
    };
    load_scattered(address, spec.rows, 3, &AtomicBool::new(false)).unwrap();
    let mut connection = Connection::open(address, &[]).unwrap();
    let blocks = connection
        .number("SELECT pg_relation_size('scattered') / 8192")
        .unwrap();
    assert_eq!(blocks as u64, spec.rows, "one row a block");
    let mut scattered = Scattered::connect(address, &spec, 5).unwrap();
    let outcome = workloads::drive(&mut scattered, &Pacing::closed(8, SECOND), 5).unwrap();
    assert!(
        outcome
            .classes
            .iter()
            .all(|class| class.count > 0 && class.units == class.count * 16)
    );
    let changed = connection.number("SELECT sum(n) FROM scattered").unwrap();
    assert_eq!(changed as u64, outcome.classes[1].units);
    // One statement alone, seen from the server: a block of the table per key.
    connection
        .run("SET enable_bitmapscan = off; SET enable_seqscan = off")
        .unwrap();
    let plan = connection
        .run("EXPLAIN (ANALYZE, BUFFERS) SELECT count(n) FROM scattered WHERE key >= 100 AND key < 116")
        .unwrap();
    let plan: Vec<String> = plan.into_iter().flatten().flatten().collect();
    assert!(
        plan.iter().any(|line| line.contains("Index Scan using scattered_key")),
        "{plan:?}"
    );
    let hit = plan
        .iter()
        .find_map(|line| line.split("shared hit=").nth(1)?.split(' ').next()?.parse::<u32>().ok());
    assert!((16..=24).contains(&hit.unwrap()), "{plan:?}");
}

/// A hundred users as in the published comparisons; the company is reduced, and all of it is written and read again.
#[test]
fn a_hundred_users_on_a_file_system_leave_it_consistent_also_after_kills() {
    let _turn = turn(Turn::Alone);
    let (kinds, kills) = match is_full() {
        true => (&["ext4", "xfs", "btrfs"][..], 20),
        false => (&["xfs"][..], 1),
    };
    for kind in kinds {
        let Some(place) = Place::on(kind, if is_full() { 1024 } else { 512 }) else {
            continue;
        };
        let cluster = place.cluster();
        let settings = Settings {
            sessions: 100,
            ..Settings::default()
        };
        let scale = Scale::reduced(if is_full() { 4 } else { 2 }).unwrap();
        let mut server = cluster.start(&settings, place.path()).unwrap();
        load(server.address(), &scale, LOAD_SEED, 1, 2, &AtomicBool::new(false)).unwrap();
        let ran = run_phase(server.address(), &counted(scale, 100, 10)).unwrap();
        assert_eq!((ran.outcome.sessions, ran.outcome.count()), (100, 1000), "{kind}");
        assert_consistent(server.address(), &scale);
        for kill in 0..kills {
            work_and_kill(server, scale, 100, kill);
            server = cluster.start(&settings, place.path()).unwrap();
            assert_consistent(server.address(), &scale);
        }
        server.stop().unwrap();
    }
}

#[test]
fn a_server_that_dies_in_a_phase_is_an_error_with_its_last_words() {
    let Some(place) = Place::new() else { return };
    let server = place.server(30);
    let scale = Scale::reduced(1).unwrap();
    load(server.address(), &scale, LOAD_SEED, 1, 2, &AtomicBool::new(false)).unwrap();
    let address = server.address().clone();
    let worker = std::thread::spawn(move || run_phase(&address, &phase(scale, 10, 60 * SECOND)));
    // One of its processes is killed once users are at work: the server ends all sessions, and says so in its log.
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    let mut victim = 0;
    wait_until("an order by every user's session", || {
        let orders = connection
            .number("SELECT count(*) FROM orders WHERE o_entry_d > 1")
            .unwrap();
        let users = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        victim = connection
            .number(&format!("SELECT coalesce(max(pid), 0) {users}"))
            .unwrap();
        orders > 0 && connection.number(&format!("SELECT count(*) {users}")).unwrap() == 10
    });
    let pid = rustix::process::Pid::from_raw(victim as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let error = worker.join().unwrap().unwrap_err().to_string();
    assert!(
        error.contains("the end of its log") && error.contains("signal 9"),
        "{error}"
    );
}

#[test]
fn a_server_goes_with_the_process_that_started_it() {
    let Some(place) = Place::new() else { return };
    let _ = place.cluster();
    let mut child = crate::place::serve_in_child(&place);
    let pid = crate::place::pid_told_by(&mut child);
    assert!(is_alive(pid));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of a server whose parent was killed", || !is_alive(pid));
}

/// Not a test by itself: what `a_server_goes_with_the_process_that_started_it` runs and kills.
#[test]
fn child_that_serves() {
    let Some(place) = Place::of_parent() else { return };
    let server = place.at().start(&Settings::default(), place.path()).unwrap();
    crate::place::tell(server.facts().pid);
    std::thread::sleep(Duration::from_secs(120));
}

#[test]
fn passwords_are_asked_for_and_never_told() {
    let Some(place) = Place::new() else { return };
    let server = place.server(20);
    let mut connection = Connection::open(server.address(), &[]).unwrap();
    connection
        .run("SET password_encryption = 'scram-sha-256'; CREATE ROLE joe LOGIN PASSWORD 's3cret'")
        .unwrap();
    connection.run("CREATE DATABASE joe OWNER joe").unwrap();
    let hba = place.data().join("pg_hba.conf");
    std::fs::write(&hba, "local all assay trust\nlocal all all scram-sha-256\n").unwrap();
    connection.run("SELECT pg_reload_conf()").unwrap();
    let dir = server.facts().private.join("s").display().to_string();
    let open = |login: &str| {
        Connection::open(
            &Address::parse(&format!("postgres://{login}@/joe?host={dir}")).unwrap(),
            &[],
        )
    };
    // The reload takes a moment.
    wait_until("the reload", || open("joe:wrong").is_err());
    let wrong = open("joe:wr0ng").unwrap_err().to_string();
    assert!(
        wrong.contains("28P01") && wrong.contains("check user and password") && !wrong.contains("wr0ng"),
        "{wrong}"
    );
    let none = open("joe").unwrap_err().to_string();
    assert!(none.ends_with("set PGPASSWORD"), "{none}");
    let mut joe = open("joe:s3cret").unwrap();
    assert_eq!(joe.number("SELECT 3").unwrap(), 3);
    // A user with a password works as any other: load and run from outside.
    let address = Address::parse(&format!("postgres://joe:s3cret@/joe?host={dir}")).unwrap();
    let scale = Scale::reduced(1).unwrap();
    load(&address, &scale, LOAD_SEED, 1, 2, &AtomicBool::new(false)).unwrap();
    let ran = run_phase(&address, &counted(scale, 4, 10)).unwrap();
    assert_eq!(ran.outcome.count(), 40);
    assert_consistent(&address, &scale);
}

#[test]
fn a_full_file_system_stops_the_load_and_says_so() {
    let Some(place) = Place::small_file_system(160) else {
        return;
    };
    let server = place.server(20);
    let error = load(
        server.address(),
        &Scale::full(2).unwrap(),
        LOAD_SEED,
        1,
        2,
        &AtomicBool::new(false),
    )
    .unwrap_err()
    .to_string();
    // A server may also say that it wrote less than a block of its own, with the same code.
    assert!(
        error.contains("No space left on device") || error.contains("53100"),
        "{error}"
    );
    assert!(
        error.contains("give it more room") || error.contains("the phase is void"),
        "{error}"
    );
}
