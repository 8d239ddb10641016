//! The process of another instance: `assay instance`, started by `assay run`, never by people.
//!
//! Takes orders as lines of JSON on standard input, and answers each on standard output. It opens its workers of a
//! database that the run has made, works when it is told to, gives a sign of life each second, and ends with its
//! orders. Prevents: an instance that goes on writing when the run is gone.

use crate::full;
use crate::instances::lines::{self, LineError};
use crate::instances::stand::Stand;
use crate::instances::wire::{Answer, AnswerLine, Opening, Order, OrderLine, Settled, Worked};
use crate::not_kept;
use crate::ordered::OrderedError;
use crate::ports::PageEngine;
use anyhow::{Context, anyhow};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Between two signs of life.
const SIGN: Duration = Duration::from_secs(1);

/// Obeys until its orders end.
///
/// # Errors
/// No order; what could not be done.
pub fn serve() -> Result<(), OrderedError> {
    // A key on the terminal reaches every process there: the run decides, and its orders end.
    for signal in [SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default()).context("watch a signal")?;
    }
    let over = Arc::new(AtomicBool::new(false));
    let mut desk = Desk {
        orders: orders(over.clone()),
        number: 0,
    };
    let Ok(Some(Order::Open(opening))) = desk.next() else {
        return Err(OrderedError::NoOrder(anyhow!(
            "`assay instance` is started by `assay run`\n  write instances = 2 in a stack of a study"
        )));
    };
    give_signs_of_life();
    obey(&opening, &mut desk, &over).map_err(|error| {
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

/// Where orders come in and answers go out.
struct Desk {
    orders: Receiver<Result<OrderLine, LineError>>,
    /// Of the order that is being obeyed.
    number: u64,
}

impl Desk {
    /// The next order; `None`: there are no more.
    fn next(&mut self) -> anyhow::Result<Option<Order>> {
        let Ok(line) = self.orders.recv() else { return Ok(None) };
        let line = line.context("read an order")?;
        self.number = line.number;
        Ok(Some(line.order))
    }

    fn say(&self, answer: Answer) -> anyhow::Result<()> {
        say(&AnswerLine::Answered(self.number, Box::new(answer)))
    }
}

/// Orders as they come; when they end, work that is under way ends too.
fn orders(over: Arc<AtomicBool>) -> Receiver<Result<OrderLine, LineError>> {
    let (to, orders) = channel();
    std::thread::spawn(move || {
        let mut from = std::io::stdin().lock();
        while let Some(line) = lines::order(&mut from).transpose() {
            let is_last = line.is_err();
            if to.send(line).is_err() || is_last {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    orders
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

fn obey(opening: &Opening, desk: &mut Desk, over: &Arc<AtomicBool>) -> anyhow::Result<()> {
    let stand = Stand::of(opening)?;
    let of = opening.first..opening.first + opening.workers;
    let (mut instance, _) = PageEngine::open_part(stand.ports()?, of, &stand.files(), opening.settings)?;
    desk.say(Answer::Opened)?;
    while let Some(order) = desk.next()? {
        match order {
            Order::Work(asked) => {
                instance.count_overwritten();
                let driven = asked.paced(over).run(&mut instance)?;
                desk.say(Answer::Worked(Box::new(Worked::of(&driven)?)))?;
            }
            Order::Settle => {
                instance.checkpoint()?;
                desk.say(Answer::Settled(settled(&instance)))?;
            }
            Order::Open(_) => return Err(anyhow!("an instance is opened once")),
        }
    }
    Ok(())
}

/// What it has counted, and what its process has taken so far.
fn settled(instance: &PageEngine) -> Settled {
    Settled {
        counters: instance.counters(),
        overwritten_pages: instance.overwritten_pages(),
        ..taken()
    }
}

/// Processor time and memory of this process so far.
pub(crate) fn taken() -> Settled {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let peak = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    Settled {
        cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
        memory_bytes: peak.unwrap_or(0) * 1024,
        ..Settled::default()
    }
}
