//! When transactions are due: on a schedule of their own, or after their user has thought and typed. On PostgreSQL,
//! skipped with the reason printed where none is installed, and on SQLite.
//!
//! Prevents: a stall that vanishes from the figures because nobody asked during it, and think time that is said and not
//! taken.

use databases::order_entry::{Home, Scale, Terminal};
use databases::postgres::{self, Address, Connection, Isolation, Terminals, TerminalsSpec};
use databases::sqlite::{self, Connections, OrderWorker, Session, SharedWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use targets::Nanos;
use workloads::{Arrival, Done, Operation, Outcome, Pacing, Schedule, Started, drive};

const SEED: u64 = 7;
const SECOND: u64 = 1_000_000_000;
/// Pauses are divided by this: a mean of 21 s becomes 21 ms.
const QUICKER: u64 = 1000;

fn scale() -> Scale {
    Scale::reduced(1).unwrap()
}

/// The same work with shorter pauses, and what its users did.
struct Watched<'a, O> {
    inner: O,
    users: Vec<User>,
    pauses_ns: Vec<u64>,
    /// Starts that came before their time.
    early: u32,
    /// Set by the first start.
    begun: &'a AtomicBool,
}

/// One user's times.
#[derive(Clone, Copy, Default)]
struct User {
    /// Before the first transaction.
    first_pause_ns: u64,
    first_start: Option<Nanos>,
    last_end: Nanos,
    /// When the next transaction is due.
    due: Nanos,
    /// Pauses between the first start and the last end.
    paused_ns: u64,
    /// The pause that follows the last end.
    pause_ns: u64,
}

impl<'a, O: Operation> Watched<'a, O> {
    fn new(inner: O, users: u32, begun: &'a AtomicBool) -> Self {
        Self {
            inner,
            users: vec![User::default(); users as usize],
            pauses_ns: Vec::new(),
            early: 0,
            begun,
        }
    }

    fn note(&mut self, ended: &[Done]) {
        for done in ended {
            let user = &mut self.users[done.session as usize];
            user.paused_ns += std::mem::take(&mut user.pause_ns);
            user.last_end = done.at;
        }
    }
}

impl<O: Operation> Operation for Watched<'_, O> {
    type Error = O::Error;
    fn now(&self) -> Nanos {
        self.inner.now()
    }
    fn classes(&self) -> &[&'static str] {
        self.inner.classes()
    }
    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, O::Error> {
        let now = self.inner.now();
        let user = &mut self.users[session as usize];
        self.early += u32::from(now < user.due);
        user.first_start.get_or_insert(now);
        self.begun.store(true, Ordering::Release);
        let before = done.len();
        let started = self.inner.start(session, done);
        self.note(&done[before..]);
        started
    }
    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), O::Error> {
        let before = done.len();
        let advanced = self.inner.advance(until, done);
        self.note(&done[before..]);
        advanced
    }
    fn first_pause_ns(&mut self, session: u32) -> u64 {
        let pause_ns = self.inner.first_pause_ns(session) / QUICKER;
        self.users[session as usize].first_pause_ns = pause_ns;
        pause_ns
    }
    fn pause_ns(&mut self, session: u32) -> u64 {
        let pause_ns = self.inner.pause_ns(session) / QUICKER;
        self.pauses_ns.push(pause_ns);
        let user = &mut self.users[session as usize];
        user.pause_ns = pause_ns;
        user.due = user.last_end + pause_ns;
        pause_ns
    }
}

fn sum_ns(outcome: &Outcome, response: bool) -> f64 {
    let of = |class: &workloads::ClassOutcome| {
        let histogram = if response { &class.response } else { &class.service };
        histogram.mean() * histogram.len() as f64
    };
    outcome.classes.iter().map(of).sum()
}

/// A user's time is pauses and responses and nothing else. A machine that stands still lengthens responses, no more.
fn time_is_pauses_and_responses<O: Operation<Error: std::fmt::Debug>>(name: &str, inner: O) {
    let (users, begun) = (12, AtomicBool::new(false));
    let mut people = Watched::new(inner, users, &begun);
    let outcome = drive(&mut people, &Pacing::closed(users, SECOND), 3).unwrap();
    assert_eq!(
        people.early, 0,
        "{name}: transactions before their users' pauses were over"
    );
    // The loop reads its clock between the phase's begin and the watcher's reading.
    let responses_from = |begin: &dyn Fn(&User) -> Nanos| -> f64 {
        let of = |user: &User| (user.last_end - begin(user) - user.paused_ns) as f64;
        people.users.iter().filter(|user| user.last_end > 0).map(of).sum()
    };
    let least_ns = responses_from(&|user| user.first_start.unwrap());
    let most_ns = responses_from(&|user| outcome.began + user.first_pause_ns);
    let at_once = people.users.iter().filter(|user| user.first_pause_ns == 0).count();
    assert_eq!(
        at_once, 0,
        "{name}: users who do not pause before their first transaction"
    );
    let response_ns = sum_ns(&outcome, true);
    // A histogram's mean is right within its buckets.
    assert!(
        (0.99 * least_ns..=1.01 * most_ns).contains(&response_ns),
        "{name}: responses of {response_ns:.0} ns in all, {least_ns:.0} to {most_ns:.0} ns left by the pauses"
    );
    let pauses = people.pauses_ns.len() as f64;
    let pause_ns = people.pauses_ns.iter().sum::<u64>() as f64 / pauses;
    // Clause 5.2.5 gives a mean of 20.99 s with a deviation of 14 s; four standard errors.
    let error = 4.0 * 14.0 / pauses.sqrt();
    assert!(
        (pause_ns / 1e6 - 20.99).abs() < error,
        "{name}: pauses of {pause_ns:.0} ns on the average, give or take {error:.1} ms"
    );
}

fn on_schedule(rate_per_s: f64, time_ns: u64) -> Pacing {
    Pacing {
        arrival: Arrival::Open {
            rate_per_s,
            schedule: Schedule::Fixed { first_ns: 0 },
        },
        ..Pacing::closed(1, time_ns)
    }
}

/// One session, 200 due in a second, and a database that stands still for 400 ms while somebody else has what they
/// need: service tells of one long transaction, response of all that were due meanwhile.
fn a_stall_is_in_the_response_of_all_that_were_due<O: Operation<Error: std::fmt::Debug>>(
    name: &str,
    work: O,
    begun: &AtomicBool,
) {
    let mut work = Watched::new(work, 1, begun);
    let outcome = drive(&mut work, &on_schedule(200.0, SECOND), 3).unwrap();
    let (service_ns, response_ns) = (sum_ns(&outcome, false), sum_ns(&outcome, true));
    let due = outcome.count() + outcome.unsent;
    assert!((199..=201).contains(&due), "{name}: {due} were due");
    // 80 due during the stall wait 200 ms on the average; a slower machine makes it more.
    assert!(
        response_ns - service_ns > 10e9,
        "{name}: service {service_ns} ns, response {response_ns} ns in all"
    );
    for class in &outcome.classes {
        assert!(class.response.len() == class.service.len() && class.response.max() >= class.service.max());
    }
}

/// How long a database stands still.
const STALL: Duration = Duration::from_millis(400);

fn users(address: &Address, sessions: u32) -> Terminals {
    let spec = TerminalsSpec {
        scale: scale(),
        home: Home::Fixed,
        load_seed: SEED,
        run_seed: 5,
        isolation: Isolation::ReadCommitted,
        pauses: true,
        first: 0,
        sessions,
        now_us: 1,
    };
    Terminals::connect(address, &spec).unwrap()
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn postgres_keeps_schedules_and_pauses() {
    let Some(place) = crate::place::Place::new() else {
        return;
    };
    let server = place.server(20);
    let address = server.address();
    postgres::load(address, &scale(), SEED, 1, 2, &AtomicBool::new(false)).unwrap();
    time_is_pauses_and_responses("postgres", users(address, 12));
    let (held, over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut holder = Connection::open(address, &[]).unwrap();
            holder.run("BEGIN").unwrap();
            holder.run("SELECT d_id FROM district FOR UPDATE").unwrap();
            held.store(true, Ordering::Release);
            // A transaction sees but one state of `pg_stat_activity`; of locks it sees the newest.
            let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            while holder.number(waits).unwrap() == 0 && !over.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(2));
            }
            std::thread::sleep(STALL);
        });
        let work = users(address, 1);
        wait_for(&held);
        a_stall_is_in_the_response_of_all_that_were_due("postgres", work, &AtomicBool::new(false));
        over.store(true, Ordering::Release);
    });
    assert!(postgres::check(address, &scale()).unwrap().is_empty());
    server.stop().unwrap();
}

#[test]
fn sqlite_keeps_schedules_and_pauses() {
    let dir = tempfile::Builder::new()
        .prefix("assay-test-")
        .tempdir_in("/var/tmp")
        .unwrap();
    let place = sqlite::Place::buffered(&dir.path().join("orders.db"));
    let settings = sqlite::Settings {
        // Nothing here is about a commit's durability.
        synchronous: sqlite::Synchronous::Normal,
        ..sqlite::Settings::default()
    };
    let open = || -> Session { place.connect(&settings).unwrap() };
    let session = open();
    sqlite::load(&session, &scale(), SEED, 1).unwrap();
    let writer = Arc::new(SharedWriter::new(open()));
    let users = |count: u32| {
        let terminals = (0..count).map(|n| Terminal::new(scale(), Home::Fixed, SEED, 5, n));
        let connections = Connections::among_others(open(), writer.clone());
        OrderWorker::new(connections, terminals.collect(), 1).with_pauses()
    };
    time_is_pauses_and_responses("sqlite", users(12));
    let (held, begun) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let work = users(1);
        scope.spawn(|| {
            let _turn = writer.enter();
            held.store(true, Ordering::Release);
            wait_for(&begun);
            // The first that writes comes at once, or a few reads later: nine in ten write.
            std::thread::sleep(STALL + STALL / 4);
        });
        wait_for(&held);
        a_stall_is_in_the_response_of_all_that_were_due("sqlite", work, &begun);
    });
    assert_eq!(sqlite::broken_conditions(&session, &scale()).unwrap(), []);
}
