//! The loop over simulated storage in virtual time: stamps, fairness, pacing, byte for byte repeatable.

use hdrhistogram::serialization::{Serializer, V2Serializer};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use workloads::{
    Arrival, Arrivals, BYTES_PER_SESSION, Ceiling, Done, Latencies, Operation, Outcome, Pacing, Schedule, Started,
    Stop, Think, drive, drive_shared, merge,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Storage with some servers, a service time, and a stall; the clock moves only here.
struct Simulated {
    now: u64,
    servers: BinaryHeap<Reverse<u64>>,
    under_way: BinaryHeap<Reverse<(u64, u32)>>,
    service_ns: u64,
    /// Nothing starts being served within it.
    stall: std::ops::Range<u64>,
    /// Every so many sessions end at once, for a little of the clock (0: none).
    cached_every: u32,
    /// Operations each session has, if bounded.
    work: Option<Vec<u32>>,
    /// Pauses before the first operation, by session; empty: none.
    first_pauses_ns: Vec<u64>,
    starts: Vec<u32>,
    cancel: Option<(u64, Arc<AtomicBool>)>,
}

impl Simulated {
    fn new(servers: usize, service_ns: u64) -> Self {
        Simulated {
            now: 7,
            servers: (0..servers).map(|_| Reverse(0)).collect(),
            under_way: BinaryHeap::new(),
            service_ns,
            stall: 0..0,
            cached_every: 0,
            work: None,
            first_pauses_ns: Vec::new(),
            starts: Vec::new(),
            cancel: None,
        }
    }

    fn to(&mut self, now: u64) {
        self.now = self.now.max(now);
        if let Some((at, flag)) = &self.cancel
            && self.now >= *at
        {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

impl Operation for Simulated {
    type Error = Infallible;

    fn now(&self) -> u64 {
        self.now
    }

    fn classes(&self) -> &[&'static str] {
        &["read", "cached"]
    }

    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, Infallible> {
        if let Some(work) = &mut self.work {
            match &mut work[session as usize] {
                0 => return Ok(Started::Exhausted),
                left => *left -= 1,
            }
        }
        self.starts.push(session);
        if self.cached_every > 0 && session.is_multiple_of(self.cached_every) {
            self.now += US;
            done.push(Done {
                session,
                class: 1,
                at: self.now,
                units: 1,
            });
            return Ok(Started::Running);
        }
        let Reverse(free) = self.servers.pop().expect("a server");
        let mut begin = free.max(self.now);
        if self.stall.contains(&begin) {
            begin = self.stall.end;
        }
        let end = begin + self.service_ns;
        self.servers.push(Reverse(end));
        self.under_way.push(Reverse((end, session)));
        Ok(Started::Running)
    }

    fn first_pause_ns(&mut self, session: u32) -> u64 {
        self.first_pauses_ns.get(session as usize).copied().unwrap_or(0)
    }

    fn advance(&mut self, until: Option<u64>, done: &mut Vec<Done>) -> Result<(), Infallible> {
        let next = self.under_way.peek().map(|&Reverse((end, _))| end);
        let target = match (next, until) {
            (Some(end), Some(until)) => end.min(until),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => panic!("asked to wait for nothing"),
        };
        self.to(target);
        while let Some(&Reverse((end, session))) = self.under_way.peek()
            && end <= self.now
        {
            self.under_way.pop();
            done.push(Done {
                session,
                class: 0,
                at: end,
                units: 8,
            });
        }
        Ok(())
    }
}

fn run(op: &mut Simulated, pacing: &Pacing) -> Outcome {
    let Ok(outcome) = drive(op, pacing, 42);
    outcome
}

fn open(sessions: u32, rate_per_s: f64, schedule: Schedule, time_ns: u64) -> Pacing {
    Pacing {
        arrival: Arrival::Open { rate_per_s, schedule },
        ..Pacing::closed(sessions, time_ns)
    }
}

#[test]
fn a_closed_loop_has_the_rate_of_its_servers() {
    let pacing = Pacing {
        slice_ns: 100 * MS,
        ..Pacing::closed(16, S)
    };
    let outcome = run(&mut Simulated::new(4, MS), &pacing);
    // 4 servers of 1 ms: 4,000 within the second; the 16 under way at the limit are waited for and counted.
    assert_eq!(outcome.in_time_count, 4_000);
    assert_eq!(outcome.count(), 4_012);
    assert_eq!(outcome.units(), 8 * 4_012);
    assert_eq!(outcome.elapsed_ns, S + 3 * MS);
    assert_eq!(
        outcome.slices[..10].iter().map(|slice| slice.count).collect::<Vec<_>>(),
        [400; 10]
    );
    assert_eq!(outcome.slices.iter().map(|slice| slice.count).sum::<u64>(), 4_012);
    assert!(
        outcome
            .slices
            .iter()
            .enumerate()
            .all(|(index, slice)| slice.at_ns == index as u64 * 100 * MS)
    );
    let read = &outcome.classes[0];
    // Little's law: 16 sessions at 4,000 a second take 4 ms each, three of them in the queue.
    assert!(read.service.value_at_quantile(0.5).abs_diff(4 * MS) < 4 * MS / 500);
    assert_eq!(read.service.max(), read.response.max());
    assert!(outcome.fairness.1 - outcome.fairness.0 <= 1, "{:?}", outcome.fairness);
    assert_eq!(outcome.unsent, 0);
}

#[test]
fn a_stall_shows_in_the_response_and_not_in_the_service() {
    // One session, 1 ms of work due every 10 ms; the storage stalls once for a second, so one operation is slow, and a
    // hundred that were due meanwhile waited.
    let mut op = Simulated::new(1, MS);
    op.stall = 5 * S..6 * S;
    let outcome = run(&mut op, &open(1, 100.0, Schedule::Fixed { first_ns: 0 }, 10 * S));
    let read = &outcome.classes[0];
    assert_eq!(read.count, 1_000);
    assert_eq!(outcome.unsent, 0);
    let slow = |histogram: &hdrhistogram::Histogram<u64>| {
        histogram
            .iter_recorded()
            .filter(|step| step.value_iterated_to() > 100 * MS)
            .map(|step| step.count_at_value())
            .sum::<u64>()
    };
    assert_eq!(
        slow(&read.service),
        1,
        "by the service one operation in a thousand was slow"
    );
    assert!(slow(&read.response) >= 95, "users saw {}", slow(&read.response));
    assert!(read.service.value_at_quantile(0.99) < 2 * MS);
    assert!(read.response.value_at_quantile(0.99) > 900 * MS);
}

#[test]
fn what_was_due_and_never_started_is_unsent() {
    // 1,000 a second are due, 500 can be done.
    let outcome = run(
        &mut Simulated::new(1, 2 * MS),
        &open(1, 1_000.0, Schedule::Fixed { first_ns: 0 }, S),
    );
    assert_eq!(outcome.count(), 500);
    assert_eq!(outcome.count() + outcome.unsent, 1_000);
    let poisson = run(
        &mut Simulated::new(1, 2 * MS),
        &open(1, 1_000.0, Schedule::Poisson, 10 * S),
    );
    let due = poisson.count() + poisson.unsent;
    assert!((9_500..10_500).contains(&due), "{due}");
}

#[test]
fn operations_wait_in_the_order_in_which_they_were_due() {
    // A first-in-first-out queue with one server: no response exceeds the backlog's, and the median is half of it.
    let outcome = run(
        &mut Simulated::new(1, 2 * MS),
        &open(1, 1_000.0, Schedule::Fixed { first_ns: 0 }, S),
    );
    let response = &outcome.classes[0].response;
    assert!(response.max() <= 502 * MS && response.max() >= 499 * MS);
    assert!(response.value_at_quantile(0.5).abs_diff(250 * MS) < 5 * MS);
}

#[test]
fn thousands_of_sessions_are_served_fairly() {
    let sessions = 12_288;
    let outcome = run(&mut Simulated::new(64, MS), &Pacing::closed(sessions, 2 * S));
    let (slowest, fastest) = outcome.fairness;
    assert!(slowest >= 10 && fastest - slowest <= 1, "{slowest} {fastest}");
    const { assert!(BYTES_PER_SESSION < 100) };
}

#[test]
fn sessions_that_end_at_once_do_not_overtake_the_beginning() {
    let mut op = Simulated::new(8, MS);
    op.cached_every = 4;
    let outcome = run(&mut op, &Pacing::closed(1_000, 100 * MS));
    let mut first = op.starts[..1_000].to_vec();
    first.sort_unstable();
    assert!(
        first.iter().copied().eq(0..1_000),
        "each session starts once before any starts twice"
    );
    assert!(outcome.classes[1].count > outcome.classes[0].count && outcome.classes[0].count > 500);
}

#[test]
fn a_session_that_pauses_first_is_due_when_its_pause_is_over() {
    let mut op = Simulated::new(1, MS);
    op.first_pauses_ns = vec![30 * MS, 0, 10 * MS, 10 * MS];
    let mut pacing = Pacing::closed(4, S);
    pacing.stop.operations_per_session = Some(1);
    let outcome = run(&mut op, &pacing);
    assert_eq!(op.starts, [1, 2, 3, 0]);
    // The pause is no part of the response; of two that are due at once the second waits for the first.
    assert_eq!(outcome.classes[0].response.max(), outcome.classes[0].service.max());
    assert!(outcome.classes[0].response.max().abs_diff(2 * MS) < 4 * MS / 500);
    assert_eq!(outcome.ended - outcome.began, 31 * MS);
    let mut late = Simulated::new(1, MS);
    late.first_pauses_ns = vec![2 * S];
    assert_eq!(
        run(&mut late, &Pacing::closed(1, S)).count(),
        0,
        "its pause is longer than the phase"
    );
    // On a schedule the first operation is due by the schedule.
    let mut scheduled = Simulated::new(1, MS);
    scheduled.first_pauses_ns = vec![2 * S];
    let outcome = run(&mut scheduled, &open(1, 100.0, Schedule::Fixed { first_ns: 0 }, S));
    assert_eq!(outcome.count(), 100);
}

#[test]
fn think_time_follows_every_so_many_operations() {
    let think = Some(Think {
        frequency: 5,
        min_ns: 10 * MS,
        max_ns: 10 * MS,
    });
    let pacing = Pacing {
        arrival: Arrival::Closed { think },
        ..Pacing::closed(1, 15 * S / 10)
    };
    let outcome = run(&mut Simulated::new(1, MS), &pacing);
    // 5 ms of work, 10 ms of pause.
    assert_eq!(outcome.count(), 500);
    assert_eq!(
        outcome.classes[0].response.max(),
        outcome.classes[0].service.max(),
        "a pause is not latency"
    );
}

#[test]
fn a_bounded_number_of_operations_and_exhaustion_end_a_phase() {
    let stop = Stop {
        time_ns: None,
        operations_per_session: Some(3),
    };
    let outcome = run(
        &mut Simulated::new(2, MS),
        &Pacing {
            stop,
            ..Pacing::closed(5, 0)
        },
    );
    assert_eq!((outcome.count(), outcome.fairness), (15, (3, 3)));
    assert_eq!(outcome.elapsed_ns, 8 * MS);

    let mut op = Simulated::new(2, MS);
    op.work = Some(vec![0, 1, 2, 3]);
    let outcome = run(
        &mut op,
        &Pacing {
            stop: Stop::default(),
            ..Pacing::closed(4, 0)
        },
    );
    assert_eq!((outcome.count(), outcome.fairness), (6, (0, 3)));

    // The work of an open schedule goes to whoever still works.
    let mut op = Simulated::new(2, MS);
    op.work = Some(vec![0, 1, 0, 3]);
    let pacing = Pacing {
        stop: Stop::default(),
        ..open(4, 100.0, Schedule::Fixed { first_ns: 0 }, 0)
    };
    let outcome = run(&mut op, &pacing);
    assert_eq!((outcome.count(), outcome.unsent), (4, 0));
    assert!(outcome.classes[0].response.max() < 2 * MS);
}

#[test]
fn cancelling_ends_the_phase_and_waits_for_what_is_under_way() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut op = Simulated::new(1, 20 * MS);
    op.cancel = Some((S, flag.clone()));
    let outcome = run(
        &mut op,
        &Pacing {
            cancel: Some(flag),
            ..Pacing::closed(3, 100 * S)
        },
    );
    assert!(outcome.cancelled);
    assert_eq!(outcome.count(), 53);
    assert!(op.under_way.is_empty());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = |seed| {
        let mut op = Simulated::new(3, 700 * US);
        op.cached_every = 5;
        let Ok(outcome) = drive(&mut op, &open(20, 3_000.0, Schedule::Poisson, 3 * S), seed);
        let mut bytes = Vec::new();
        for class in &outcome.classes {
            V2Serializer::new().serialize(&class.service, &mut bytes).unwrap();
            V2Serializer::new().serialize(&class.response, &mut bytes).unwrap();
        }
        (bytes, outcome.began, outcome.ended, outcome.fairness)
    };
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn workers_merge_into_one_outcome() {
    let whole = Pacing {
        slice_ns: 10 * MS,
        ..Pacing::closed(7, 100 * MS)
    };
    let parts: Vec<Outcome> = whole
        .split(2)
        .iter()
        .map(|part| run(&mut Simulated::new(1, MS), part))
        .collect();
    let (one, two) = (parts[0].clone(), parts[1].clone());
    let merged = merge(parts);
    assert_eq!((merged.sessions, merged.count()), (7, one.count() + two.count()));
    assert_eq!(merged.classes[0].response.len(), merged.count());
    assert_eq!(merged.slices[0].count, 20);
    assert_eq!(merged.elapsed_ns, one.elapsed_ns.max(two.elapsed_ns));
    assert_eq!(merged.fairness.0, one.fairness.0.min(two.fairness.0));
}

#[test]
fn a_latency_beyond_an_hour_is_kept_at_the_end_and_counted() {
    let stop = Stop {
        time_ns: None,
        operations_per_session: Some(1),
    };
    let outcome = run(
        &mut Simulated::new(1, 2 * 3_600 * S),
        &Pacing {
            stop,
            ..Pacing::closed(1, 0)
        },
    );
    assert_eq!((outcome.classes[0].count, outcome.classes[0].clamped), (1, 2));
    assert!(outcome.classes[0].service.max() >= 3_599 * S);
}

#[test]
fn the_ceiling_turns_and_ends() {
    let clock = Cell::new(0u64);
    let mut null = Ceiling::new(|| {
        clock.set(clock.get() + 10);
        clock.get()
    });
    let Ok(outcome) = drive(&mut null, &Pacing::closed(64, MS), 1);
    assert!(outcome.count() > 10_000, "{}", outcome.count());
    assert_eq!(outcome.classes[0].name, "null");
    let Ok(outcome) = drive(&mut null, &open(2, 1e4, Schedule::Poisson, 10 * MS), 1);
    assert_eq!(outcome.unsent, 0);
}

#[test]
fn no_sessions_end_at_once() {
    assert_eq!(run(&mut Simulated::new(1, MS), &Pacing::closed(0, S)).count(), 0);
}

/// Not a test of speed, a figure for a release build: `cargo test --release -p workloads -- --ignored --nocapture`.
#[test]
#[ignore = "prints the ceiling of this machine"]
fn ceiling_of_this_machine() {
    let origin = std::time::Instant::now();
    let mut null = Ceiling::new(|| origin.elapsed().as_nanos() as u64);
    let Ok(outcome) = drive(&mut null, &Pacing::closed(64, S), 1);
    println!(
        "{:.1} million operations/s",
        outcome.count() as f64 / outcome.elapsed_ns as f64 * 1e3
    );
}

/// A worker that begins when half of the time is over ends with the others, and counts one second and not more.
#[test]
fn a_worker_that_comes_late_to_a_schedule_counts_no_longer_than_the_others() {
    let pacing = Pacing {
        arrival: Arrival::Open {
            rate_per_s: 1_000.0,
            schedule: Schedule::Fixed { first_ns: 0 },
        },
        ..Pacing::closed(1, S)
    };
    let mut storage = Simulated::new(1, 100 * US);
    drive(&mut storage, &Pacing::closed(1, S / 2), 1).unwrap();
    let arrivals = Arrivals::new(&pacing, 0, 1).unwrap();
    let outcome = drive_shared(&mut storage, &pacing, 1, Some(&arrivals), None).unwrap();
    assert_eq!(outcome.in_time_count + outcome.unsent, 1_000);
    assert!(
        outcome.began == 0 && outcome.elapsed_ns <= S + MS,
        "{} ns",
        outcome.elapsed_ns
    );
}

/// Two workers of one session each on threads of their own: what one cannot start because it is busy the other does.
#[test]
fn one_schedule_of_several_workers_is_taken_whole_and_once() {
    let whole = Pacing {
        arrival: Arrival::Open {
            rate_per_s: 1_000.0,
            schedule: Schedule::Fixed { first_ns: 0 },
        },
        ..Pacing::closed(2, S)
    };
    let arrivals = Arrivals::new(&whole, 7, 1).unwrap();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let workers: Vec<_> = whole
            .split(2)
            .into_iter()
            .map(|part| {
                let arrivals = &arrivals;
                scope.spawn(move || {
                    let mut storage = Simulated::new(1, 100 * US);
                    drive_shared(&mut storage, &part, 1, Some(arrivals), None).unwrap()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let all = merge(outcomes);
    // Whoever is first takes what is due; the clocks of the two are not one, so only the sum is known.
    assert_eq!(all.count() + all.unsent, 1_000);
    assert!(Arrivals::new(&Pacing::closed(1, S), 0, 1).is_none());
}

/// Workers on threads of their own, each with storage of its own pace; one in two sessions reads from a cache.
fn side_by_side(workers: u32, latencies: Option<&Latencies>) -> Outcome {
    let parts = Pacing::closed(4 * workers, 5 * MS).split(workers);
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .iter()
            .zip(1..)
            .map(|(part, nth)| {
                scope.spawn(move || {
                    let mut storage = Simulated::new(1, MS + nth * US);
                    storage.cached_every = 2;
                    drive_shared(&mut storage, part, nth, None, latencies).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    merge(outcomes)
}

#[test]
fn workers_that_count_in_one_place_come_to_what_they_come_to_apart() {
    let apart = side_by_side(64, None);
    assert!(apart.classes.iter().all(|class| class.count > 64));
    let mut latencies = Latencies::new(&["read", "cached"]);
    // Twice: what is taken does not stay for the next phase.
    for _ in 0..2 {
        let together = side_by_side(64, Some(&latencies));
        assert!(together.classes.is_empty());
        let classes = latencies.take();
        // Not `assert_eq`, which would print all counts.
        assert!(apart == Outcome { classes, ..together });
    }
    let left = latencies.take();
    assert!(left.iter().all(|class| class.count == 0 && class.service.is_empty()));
}

#[test]
#[should_panic(expected = "other classes")]
fn a_worker_of_other_classes_does_not_count_with_the_others() {
    let latencies = Latencies::new(&["cached", "read"]);
    let pacing = Pacing::closed(1, MS);
    let _ = drive_shared(&mut Simulated::new(1, MS), &pacing, 1, None, Some(&latencies));
}
