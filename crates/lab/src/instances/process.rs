//! The process of another instance: `assay instance`, started by `assay run`, never by people.
//!
//! Takes orders as lines of JSON on standard input, and answers each on standard output. It opens its workers of a
//! database that the run has made, works when it is told to, gives a sign of life each second, and ends with its
//! orders. On a disk group it hears meanwhile where extents go. Prevents: an instance that goes on writing when the run
//! is gone, and one that works on by old maps.

use crate::full;
use crate::instances::lines::{self, LineError};
use crate::instances::notices::Followed;
use crate::instances::settled::{Settled, fewest};
use crate::instances::stand::Stand;
use crate::instances::wire::{Answer, AnswerLine, Opening, Order, OrderLine, Worked};
use crate::not_kept;
use crate::ordered::OrderedError;
use crate::ports::PageEngine;
use anyhow::{Context, anyhow};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two signs of life.
const SIGN: Duration = Duration::from_secs(1);
/// Work that was ended for good has so long to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Exit code of a process whose workers still wait after that.
const EXIT_STUCK: i32 = 3;

/// Obeys until its orders end.
///
/// # Errors
/// No order; what could not be done.
pub fn serve() -> Result<(), OrderedError> {
    // A key on the terminal reaches every process there: the run decides, and its orders end.
    for signal in [SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default()).context("watch a signal")?;
    }
    let ends = Arc::new(Ends::default());
    let mut desk = Desk {
        orders: orders(ends.clone()),
        number: 0,
    };
    let Ok(Some((Order::Open(opening), _))) = desk.next() else {
        return Err(OrderedError::NoOrder(anyhow!(
            "`assay instance` is started by `assay run`\n  write instances = 2 in a stack of a study"
        )));
    };
    give_signs_of_life();
    obey(&opening, &mut desk, &ends).map_err(|error| {
        let (loss, full) = (not_kept::is_loss(&error), full::ran_out_of_space(&error));
        let error_told = format!("{error:#}");
        let _ = desk.say(Answer::Failed {
            error: error_told,
            full,
            loss,
        });
        OrderedError::Failed(error)
    })
}

/// What ends work that is under way.
#[derive(Default)]
struct Ends {
    /// The flag of the last order, and whether there is no work any more.
    last: Mutex<(Arc<AtomicBool>, bool)>,
}

impl Ends {
    fn last(&self) -> MutexGuard<'_, (Arc<AtomicBool>, bool)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The flag of an order that comes now.
    fn next(&self) -> Arc<AtomicBool> {
        let mut last = self.last();
        last.0 = Arc::new(AtomicBool::new(last.1));
        last.0.clone()
    }

    /// Ends the work of the last order.
    fn stop(&self) {
        self.last().0.store(true, Ordering::Relaxed);
    }

    /// Ends the work of the last order and of all that come; and the process, where that takes too long.
    fn stop_for_good(&self) {
        let mut last = self.last();
        last.1 = true;
        last.0.store(true, Ordering::Relaxed);
        drop(last);
        // A worker whose write is parked waits for an owner that may be gone, and no flag reaches it.
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            std::process::exit(EXIT_STUCK);
        });
    }
}

/// An order, and the flag that ends its work.
type Given = (OrderLine, Arc<AtomicBool>);

/// Where orders come in and answers go out.
struct Desk {
    orders: Receiver<Result<Given, LineError>>,
    /// Of the order that is being obeyed.
    number: u64,
}

impl Desk {
    /// The next order; `None`: there are no more.
    fn next(&mut self) -> anyhow::Result<Option<(Order, Arc<AtomicBool>)>> {
        let Ok(given) = self.orders.recv() else { return Ok(None) };
        let (line, stop) = given.context("read an order")?;
        self.number = line.number;
        Ok(Some((line.order, stop)))
    }

    fn say(&self, answer: Answer) -> anyhow::Result<()> {
        say(&AnswerLine::Answered(self.number, Box::new(answer)))
    }
}

/// Orders as they come; when they end, work that is under way ends too.
fn orders(ends: Arc<Ends>) -> Receiver<Result<Given, LineError>> {
    let (to, orders) = channel();
    std::thread::spawn(move || {
        let mut from = std::io::stdin().lock();
        while let Some(line) = lines::order(&mut from).transpose() {
            // Who works hears no order: this one is obeyed here.
            if let Ok(OrderLine { order: Order::Stop, .. }) = &line {
                ends.stop();
                continue;
            }
            let is_last = line.is_err();
            if to.send(line.map(|line| (line, ends.next()))).is_err() || is_last {
                break;
            }
        }
        ends.stop_for_good();
    });
    orders
}

/// The thread that hears what the owner of the disk group moves.
struct Following(Option<JoinHandle<anyhow::Result<()>>>);

impl Following {
    /// Where there is nothing to follow, nothing is done.
    fn begin(opening: &Opening, stand: &Stand<'_>, ends: &Arc<Ends>) -> anyhow::Result<Following> {
        let (Some(places), Some(group)) = (&opening.hears, stand.group()) else {
            return Ok(Following(None));
        };
        let (followed, group, ends) = (Followed::open(places)?, group.clone(), ends.clone());
        let thread = move || {
            // Also in a panic: who follows no more must not work on.
            let _ends = StopForGood(ends);
            let followed = followed.follow(&group).context("follow the owner of the disk group");
            if let Err(error) = &followed {
                // Where the workers wait for ever, nobody else tells the reason.
                let _ = writeln!(std::io::stderr(), "{error:#}");
            }
            followed
        };
        Ok(Following(Some(std::thread::spawn(thread))))
    }

    /// An error where this process does not follow any more.
    fn check(&mut self) -> anyhow::Result<()> {
        match self.0.take_if(|thread| thread.is_finished()) {
            None => Ok(()),
            Some(thread) => thread
                .join()
                .map_err(|_| anyhow!("who follows the disk group's owner panicked"))?,
        }
    }
}

struct StopForGood(Arc<Ends>);

impl Drop for StopForGood {
    fn drop(&mut self) {
        self.0.stop_for_good();
    }
}

/// As long as this process runs, whatever its workers wait for: the run can tell one that waits from one that is
/// stopped.
fn give_signs_of_life() {
    std::thread::spawn(|| {
        while say(&AnswerLine::Alive).is_ok() {
            std::thread::sleep(SIGN);
        }
    });
}

/// In one piece, for two threads say something.
fn say(line: &AnswerLine) -> anyhow::Result<()> {
    let line = serde_json::to_string(line).context("write an answer")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("answer")
}

fn obey(opening: &Opening, desk: &mut Desk, ends: &Arc<Ends>) -> anyhow::Result<()> {
    let stand = Stand::of(opening)?;
    // Before the first request: extents may be held already when a worker comes to them.
    let mut following = Following::begin(opening, &stand, ends)?;
    let of = opening.first..opening.first + opening.workers;
    let (mut instance, _) = PageEngine::open_part(stand.ports()?, of, &stand.files(), opening.settings)?;
    let mut knows_peak = forget_peak();
    let mut checkpoints = instance.checkpoints_of_workers();
    desk.say(Answer::Opened)?;
    while let Some((order, stop)) = desk.next()? {
        let answer = match order {
            Order::Begin => {
                instance.count_overwritten();
                continue;
            }
            Order::Work(asked) => {
                let driven = asked.paced(&stop).run(&mut instance)?;
                Answer::Worked(Box::new(Worked::of(&driven)?))
            }
            Order::Settle => {
                instance.checkpoint()?;
                let settled = settled(&instance, &checkpoints, knows_peak);
                // A phase ends here, and the next one has a peak of its own.
                (knows_peak, checkpoints) = (forget_peak(), instance.checkpoints_of_workers());
                Answer::Settled(Box::new(settled))
            }
            Order::Open(_) | Order::Stop => return Err(anyhow!("an instance is opened once, and stopped at work")),
        };
        following.check()?;
        desk.say(answer)?;
    }
    Ok(())
}

/// What it has counted, and what its process has taken so far. `checkpoints`: of each worker, when it settled last.
fn settled(instance: &PageEngine, checkpoints: &[u64], knows_peak: bool) -> Settled {
    Settled {
        checkpoints_least: fewest(checkpoints, &instance.checkpoints_of_workers()),
        counters: instance.counters(),
        overwritten_pages: instance.overwritten_pages(),
        ..taken(knows_peak)
    }
}

/// Lets the peak of this process's memory begin anew. `false`: the kernel refuses, and keeps that of its whole life.
pub(crate) fn forget_peak() -> bool {
    // proc_pid_clear_refs(5): 5 sets the peak to what is resident now.
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Processor time of this process so far, and its peak of memory where that is known to be the phase's.
pub(crate) fn taken(knows_peak: bool) -> Settled {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let status = || std::fs::read_to_string("/proc/self/status").ok();
    let peak = knows_peak.then(status).flatten().and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    Settled {
        cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
        memory_bytes: peak.map(|kib| kib * 1024),
        ..Settled::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    /// In the environment of a process that a test starts: what ends its work.
    const ENDED_BY: &str = "ASSAY_STUCK_ENDED_BY";
    /// A hang must fail, not stop the build.
    const PATIENCE: Duration = Duration::from_secs(120);

    /// Nothing, where no test has started this one as a process: it takes orders, and its work never ends.
    #[test]
    fn process_that_is_stuck() {
        let Ok(ended_by) = std::env::var(ENDED_BY) else { return };
        let ends = Arc::new(Ends::default());
        let _orders = orders(ends.clone());
        if ended_by == "follower" {
            drop(StopForGood(ends));
        }
        std::thread::sleep(PATIENCE);
    }

    fn stuck(ended_by: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "instances::process::tests::process_that_is_stuck"])
            .env(ENDED_BY, ended_by)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn exit_code(mut child: Child) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE / 2 {
            if let Some(ended) = child.try_wait().unwrap() {
                return ended.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
        panic!("it does not end");
    }

    /// The run is killed while a write waits for an extent that nobody gives back any more.
    #[test]
    fn a_process_whose_work_never_ends_ends_with_its_orders() {
        let mut child = stuck("orders");
        drop(child.stdin.take());
        assert_eq!(exit_code(child), Some(EXIT_STUCK));
    }

    #[test]
    fn a_process_whose_work_never_ends_ends_when_it_follows_no_more() {
        let mut child = stuck("follower");
        let orders = child.stdin.take();
        assert_eq!(exit_code(child), Some(EXIT_STUCK));
        drop(orders);
    }

    #[test]
    fn memory_of_an_earlier_phase_is_not_that_of_this_one() {
        const MANY: usize = 256 << 20;
        drop(std::hint::black_box(vec![1_u8; MANY]));
        if !forget_peak() {
            eprintln!("skipped: the kernel does not let a peak of memory begin anew");
            return;
        }
        let now = taken(true).memory_bytes.unwrap();
        assert!(now > 0 && now < MANY as u64, "{now}");
        drop(std::hint::black_box(vec![1_u8; MANY]));
        assert!(taken(true).memory_bytes.unwrap() >= MANY as u64);
        assert_eq!(taken(false).memory_bytes, None);
    }
}
