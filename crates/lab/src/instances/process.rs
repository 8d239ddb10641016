//! The process of another instance: `assay instance`, started by `assay run`, never by people.
//!
//! Takes orders as lines of JSON on standard input, and answers each on standard output. It opens its workers of a
//! database that the run has made, works when it is told to, and ends with its orders. Prevents: an instance that goes
//! on writing when the run is gone.

use crate::full;
use crate::instances::stand::Stand;
use crate::instances::wire::{Answer, Opening, Order, Settled, Worked};
use crate::not_kept;
use crate::ordered::OrderedError;
use crate::ports::PageEngine;
use anyhow::{Context, anyhow};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

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
    let orders = orders(over.clone());
    let opening = match orders.recv() {
        Ok(Some(Order::Open(opening))) => opening,
        _ => {
            return Err(OrderedError::NoOrder(anyhow!(
                "`assay instance` is started by `assay run`\n  write instances = 2 in a stack of a study"
            )));
        }
    };
    obey(&opening, &orders, &over).map_err(|error| {
        let (loss, full) = (not_kept::is_loss(&error), full::ran_out_of_space(&error));
        let error_told = format!("{error:#}");
        let _ = say(&Answer::Failed {
            error: error_told,
            full,
            loss,
        });
        OrderedError::Failed(error)
    })
}

/// Orders as they come; when they end, work that is under way ends too. `None`: a line that is no order.
fn orders(over: Arc<AtomicBool>) -> Receiver<Option<Order>> {
    let (to, orders) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if to.send(serde_json::from_str(&line).ok()).is_err() {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    orders
}

fn say(answer: &Answer) -> anyhow::Result<()> {
    let line = serde_json::to_string(answer).context("write an answer")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("answer")
}

fn obey(opening: &Opening, orders: &Receiver<Option<Order>>, over: &Arc<AtomicBool>) -> anyhow::Result<()> {
    let stand = Stand::of(opening)?;
    let of = opening.first..opening.first + opening.workers;
    let (mut instance, _) = PageEngine::open_part(stand.ports()?, of, &stand.files(), opening.settings)?;
    say(&Answer::Opened)?;
    while let Ok(order) = orders.recv() {
        match order {
            Some(Order::Work(asked)) => {
                instance.count_overwritten();
                let driven = asked.paced(over).run(&mut instance)?;
                say(&Answer::Worked(Box::new(Worked::of(&driven)?)))?;
            }
            Some(Order::Settle) => {
                instance.checkpoint()?;
                say(&Answer::Settled(settled(&instance)))?;
            }
            Some(Order::Open(_)) | None => return Err(anyhow!("an order that an instance does not know")),
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
