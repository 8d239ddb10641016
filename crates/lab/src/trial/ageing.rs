//! A phase of kind `age`: all pages of all schemas of an instance through the engine, told as it goes.
//!
//! Takes an open instance and what the phase asks; gives what the loop saw. Prevents: an ageing of hours of which
//! nobody knows how far it is.

use crate::ports::PageEngine;
use crate::trial::around::Around;
use crate::trial::drive::{Driven, Paced, Served};
use pages::{AgeWork, PagesError};
use plan::Phase;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use targets::Nanos;
use workloads::{Done, Operation, Started};

/// Where there is no bar, a line at most so often.
const SECONDS_BETWEEN_LINES: u64 = 60;

/// Runs it to its end (without the drain).
pub(crate) fn phase(
    instance: &mut PageEngine,
    (phase, age): (&Phase, &AgeWork),
    around: &Around<'_>,
    paced: &Paced,
) -> Result<Driven, PagesError> {
    let say = |text: &str, line: bool| {
        around.doing(phase, text);
        if line {
            let (block, stack) = (around.turn.block.number + 1, around.stack);
            let said = format!("block {block}: {stack}, {}{text}", phase.name);
            around.turn.progress.milestone(&said);
        }
    };
    let how_far = HowFar {
        all: instance.own_pages() * u64::from(age.passes),
        done: AtomicU64::new(0),
        percent: AtomicU64::new(0),
        lines: AtomicU64::new(0),
        began: Instant::now(),
        say: &say,
    };
    let operations = instance.age(age, paced.seed)?;
    let mut told: Vec<_> = operations
        .into_iter()
        .map(|inner| Told {
            inner,
            how_far: &how_far,
        })
        .collect();
    Ok(Driven::of(paced.drive(&mut told)?))
}

/// How far all workers together are.
struct HowFar<'a> {
    all: u64,
    done: AtomicU64,
    percent: AtomicU64,
    lines: AtomicU64,
    began: Instant,
    /// Takes the words, and whether a line is due too.
    say: &'a (dyn Fn(&str, bool) + Sync),
}

impl HowFar<'_> {
    fn add(&self, pages: u64) {
        let done = self.done.fetch_add(pages, Ordering::Relaxed) + pages;
        let percent = done * 100 / self.all.max(1);
        if self.percent.fetch_max(percent, Ordering::Relaxed) >= percent {
            return;
        }
        let seconds = self.began.elapsed().as_secs();
        let due = seconds / SECONDS_BETWEEN_LINES;
        let line = self.lines.fetch_max(due, Ordering::Relaxed) < due;
        (self.say)(&words(done, self.all, self.began.elapsed().as_secs_f64()), line);
    }
}

fn words(done: u64, all: u64, seconds: f64) -> String {
    let left = seconds * all.saturating_sub(done) as f64 / done.max(1) as f64;
    let left = match left {
        left if left >= 5400.0 => format!("{:.1} h", left / 3600.0),
        left if left >= 90.0 => format!("{:.0} min", left / 60.0),
        left => format!("{left:.0} s"),
    };
    format!(" · {} % of the pages, about {left} left", done * 100 / all.max(1))
}

/// An operation whose progress is told.
struct Told<'a, O> {
    inner: O,
    how_far: &'a HowFar<'a>,
}

impl<O: Operation> Operation for Told<'_, O> {
    type Error = O::Error;

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn classes(&self) -> &[&'static str] {
        self.inner.classes()
    }

    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, O::Error> {
        self.inner.start(session, done)
    }

    fn advance(&mut self, until: Option<Nanos>, done: &mut Vec<Done>) -> Result<(), O::Error> {
        let before = done.len();
        let advanced = self.inner.advance(until, done);
        self.how_far.add(done[before..].iter().map(|done| done.units).sum());
        advanced
    }
}

impl<O: Served> Served for Told<'_, O> {
    fn sessions(&self) -> u32 {
        self.inner.sessions()
    }

    fn worker(&self) -> (u32, u32) {
        self.inner.worker()
    }

    fn finish(&mut self) -> Result<(), O::Error> {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn each_percent_is_told_once_and_time_left_is_that_of_the_pages_left() {
        let told = Mutex::new(Vec::new());
        let say = |text: &str, line: bool| told.lock().unwrap().push((text.to_string(), line));
        let how_far = HowFar {
            all: 1000,
            done: AtomicU64::new(0),
            percent: AtomicU64::new(0),
            lines: AtomicU64::new(0),
            began: Instant::now(),
            say: &say,
        };
        for _ in 0..100 {
            how_far.add(10);
            how_far.add(0);
        }
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 100);
        assert!(told[99].0.starts_with(" · 100 % of the pages") && !told[99].1);
        assert_eq!(words(250, 1000, 100.0), " · 25 % of the pages, about 5 min left");
        assert_eq!(words(900, 1000, 90.0), " · 90 % of the pages, about 10 s left");
        assert_eq!(words(100, 1000, 1000.0), " · 10 % of the pages, about 2.5 h left");
    }
}
