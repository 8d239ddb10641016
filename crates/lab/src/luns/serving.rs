//! The process that serves LUN files under a device model: `assay device-service`, which only `assay run` starts.
//!
//! Takes orders as JSON on standard input, one a line, and answers each with one line on standard output. The first
//! order says what to serve. When the orders end it goes on serving until its mount is taken away: whoever cleans up
//! after a killed run needs the LUNs to answer. Prevents: a device that dies with the run it was made for, and leaves
//! everything above it waiting.

use crate::luns::service::{BUSY_EVERY, BUSY_LINE};
use crate::ordered::OrderedError;
use anyhow::{Context, anyhow};
use luns::serve::{LunFault, ReductionSpec, ServeOptions, Served, Wrong};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Threads that move data: what a queue of the model finds served at a time below it.
const THREADS: usize = 8;

/// Obeys until its orders end.
///
/// # Errors
/// No order; what could not be done.
pub fn serve() -> Result<(), OrderedError> {
    // Hardware does not go on without one of its parts: a panic ends the process, and the kernel fails the rest.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        std::process::abort();
    }));
    luns::serve::become_hardware();
    let mut lines = BufReader::new(std::io::stdin()).lines();
    let Some(Ok(first)) = lines.next() else {
        return Err(OrderedError::NoOrder(anyhow!(
            "`assay device-service` is started by `assay run`\n  give a LUN set a `model` in a study"
        )));
    };
    let started = read(&first).and_then(|order| start(&order));
    let mut served = match started {
        Ok(served) => {
            say(&json!({ "ready": true }))?;
            served
        }
        Err(error) => {
            say(&json!({ "error": format!("{error:#}") }))?;
            return Err(OrderedError::Failed(error));
        }
    };
    let (tell, told) = channel();
    let until_unmounted = served.until_unmounted();
    let over = tell.clone();
    std::thread::spawn(move || {
        until_unmounted();
        let _ = over.send(Said::Unmounted);
    });
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if tell.send(Said::Order(line)).is_err() {
                break;
            }
        }
    });
    // Whoever takes the mount away waits for the end of this process, whether or not its orders have ended.
    while let Ok(Said::Order(line)) = told.recv() {
        let answer = read(&line).and_then(|order| obey(&served, &order));
        // Nobody listens any more: as at the end of the orders.
        let _ = say(&answer.unwrap_or_else(|error| json!({ "error": format!("{error:#}") })));
    }
    Ok(())
}

/// What the service waits for.
enum Said {
    Order(String),
    Unmounted,
}

fn read(line: &str) -> anyhow::Result<Value> {
    serde_json::from_str(line).context("an order that is no JSON")
}

fn say(answer: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}").and_then(|()| out.flush()).context("answer")
}

fn say_busy() {
    let mut out = std::io::stdout().lock();
    // Whoever does not listen does not wait either.
    let _ = writeln!(out, "{BUSY_LINE}").and_then(|()| out.flush());
}

/// Does what takes as long as the disk below likes, and says so again and again: who asked waits for a word.
fn while_busy<T: Send>(every: Duration, mut tell: impl FnMut(), work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let (over, done) = channel::<()>();
        let worker = scope.spawn(move || {
            // Dropped at the end of the work, however it ends.
            let _over = over;
            work()
        });
        while done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            tell();
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn number(order: &Value, key: &str) -> u64 {
    order[key].as_u64().unwrap_or(0)
}

fn start(order: &Value) -> anyhow::Result<Served> {
    let text = |key: &str| order[key].as_str().unwrap_or_default();
    let luns: Vec<PathBuf> = order["luns"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .collect();
    let sizes = luns
        .iter()
        .map(|lun| Ok(std::fs::metadata(lun).with_context(|| lun.display().to_string())?.len()))
        .collect::<anyhow::Result<Vec<u64>>>()?;
    let parameters = &order["parameters"];
    let value = |name: &str| parameters[name].as_f64().unwrap_or(0.0);
    let model = luns::model::named(text("model"), &value, text("histogram"), &sizes, number(order, "seed"))?;
    let place = PathBuf::from(text("place"));
    Ok(Served::start(ServeOptions {
        luns,
        place,
        model: Some(model),
        volatile_bytes: number(order, "volatile"),
        cached: text("model") != "plain",
        reduction: reduction(text("model"), &value)?,
        threads: THREADS,
    })?)
}

/// What an array is to reduce, if it is one that does.
fn reduction(model: &str, value: &dyn Fn(&str) -> f64) -> anyhow::Result<Option<ReductionSpec>> {
    if model != plan::DeviceModel::Array.word() || value("reduction") <= 0.0 {
        return Ok(None);
    }
    let spec = ReductionSpec {
        unit_bytes: value("reduction_unit") as u32,
        granule_bytes: value("reduction_granule") as u32,
        from_lun: value("reduction_from") as u16,
        deduplicates: value("deduplication") > 0.0,
    };
    anyhow::ensure!(
        spec.is_possible(),
        "no array keeps units of {} bytes in granules of {}: write whole sectors of 512 bytes, the granule not above \
         the unit",
        spec.unit_bytes,
        spec.granule_bytes
    );
    Ok(Some(spec))
}

fn obey(served: &Served, order: &Value) -> anyhow::Result<Value> {
    Ok(match order["do"].as_str().unwrap_or_default() {
        "live" => {
            anyhow::ensure!(served.runs(), "the clock of its model has stopped");
            json!({ "ok": true })
        }
        "count" => counted(served),
        "sooner" => {
            served.answer_sooner(number(order, "by_ns"));
            json!({ "ok": true })
        }
        "pace" => {
            served.run_slower(u32::try_from(number(order, "slow_motion")).context("a factor of slow motion")?);
            json!({ "ok": true })
        }
        "warm" => {
            let most_bytes = number(order, "most_bytes");
            while_busy(BUSY_EVERY, say_busy, || served.warm(most_bytes))?;
            json!({ "ok": true })
        }
        "stop power" => {
            served.stop_power();
            json!({ "ok": true })
        }
        "lose" => {
            let seed = number(order, "seed");
            let sector = u32::try_from(number(order, "sector_bytes")).context("a size of sectors")?;
            anyhow::ensure!(
                sector > 0 && sector.is_multiple_of(512),
                "no device has sectors of {sector} bytes"
            );
            let (held, lost) = while_busy(BUSY_EVERY, say_busy, || served.lose(seed, sector))?;
            json!({ "held": held, "lost": lost })
        }
        "restore power" => {
            served.restore_power();
            json!({ "ok": true })
        }
        "faults" => {
            let faults = order["faults"].as_array().into_iter().flatten();
            served.set_faults(faults.map(fault).collect::<anyhow::Result<Vec<_>>>()?);
            json!({ "ok": true })
        }
        other => anyhow::bail!("no order is called {other:?}"),
    })
}

fn fault(order: &Value) -> anyhow::Result<LunFault> {
    let (from, bytes) = (number(order, "offset"), number(order, "length"));
    let wrong = match order["kind"].as_str().unwrap_or_default() {
        "error" => Wrong::Error(from, bytes),
        "corrupt" => Wrong::Corrupt(from, bytes),
        "vanish" => Wrong::Vanished,
        "slow" => Wrong::Slow(number(order, "by_ns")),
        other => anyhow::bail!("no fault is called {other:?}"),
    };
    Ok(LunFault {
        lun: u16::try_from(number(order, "lun")).context("a LUN's number")?,
        wrong,
    })
}

fn counted(served: &Served) -> Value {
    let (c, p) = (served.counters(), served.punctuality());
    let reduced = served.reduced();
    let of = |bytes: fn(&luns::serve::Reduced) -> u64| reduced.as_ref().map(bytes);
    json!({
        "whole_bytes": of(|r| r.whole_bytes), "asked_bytes": of(|r| r.asked_bytes),
        "distinct_bytes": of(|r| r.distinct_bytes), "packed_bytes": of(|r| r.packed_bytes),
        "stored_bytes": of(|r| r.stored_bytes),
        "slow_motion": served.slower(), "processor_ns": c.processor_ns,
        "reads": c.reads, "read_bytes": c.read_bytes, "writes": c.writes, "write_bytes": c.write_bytes,
        "flushes": c.flushes, "seeks": c.seeks, "seek_ns": c.seek_ns, "rotation_ns": c.rotation_ns,
        "cache_hits": c.cache_hits, "cache_misses": c.cache_misses, "destaged_bytes": c.destaged_bytes,
        "held_ns": c.held_ns, "held_long": c.held_long, "held_long_reads": c.held_long_reads,
        "moved_bytes": c.moved_bytes,
        "busy_ns": c.busy_ns,
        "unflushed_bytes": served.unflushed_bytes().max(c.unflushed_bytes),
        "answered": p.answered, "late": p.late, "delay_ns": p.delay_ns,
        "modelled_ns": p.modelled_ns + c.sooner_ns,
        "read_modelled_ns": p.read_modelled_ns + c.sooner_reads_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_longer_says_so_until_it_is_done() {
        let (tell, told) = channel();
        let mut times = 0;
        let said = while_busy(
            Duration::from_millis(1),
            || {
                times += 1;
                tell.send(times).unwrap();
            },
            move || told.iter().take(3).last(),
        );
        assert_eq!(said, Some(3));
        assert_eq!(while_busy(Duration::from_secs(60), || unreachable!(), || 7), 7);
    }
}
