//! How far a copy or a rebalance is, on stderr: a bar on a terminal, a line a second where it is asked for, else
//! nothing.
//!
//! Prevents: progress in the answer on stdout, and a log full of bars.

use super::table::{rate, size, time};
use crate::printed::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Progress in bytes.
pub(super) struct Meter {
    what: String,
    bar: Option<ProgressBar>,
    lines: bool,
    began: Instant,
    said: Instant,
}

impl Meter {
    /// `lines`: one a second also where stderr is no terminal.
    pub(super) fn new(what: &str, lines: bool) -> Meter {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(5));
            let template = "{msg} {bar:20} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_message(what.to_string());
            bar
        });
        let now = Instant::now();
        Meter {
            what: what.to_string(),
            bar,
            lines,
            began: now,
            said: now,
        }
    }

    /// `done` of `all` bytes; `left` is the time left where somebody knows better than the rate so far.
    pub(super) fn at(&mut self, done: u64, all: u64, left: Option<Duration>) {
        if let Some(bar) = &self.bar {
            bar.set_length(all);
            bar.set_position(done);
        } else if self.lines && self.said.elapsed() >= Duration::from_secs(1) {
            self.said = Instant::now();
            self.line(done, all, left);
        }
    }

    fn line(&self, done: u64, all: u64, left: Option<Duration>) {
        let seconds = self.seconds();
        let left = left.map(|l| l.as_secs_f64()).or_else(|| {
            let rest = all.saturating_sub(done) as f64;
            (done > 0).then(|| rest * seconds / done as f64)
        });
        let left = left.map_or_else(
            || "time left unknown".to_string(),
            |s| format!("about {} left", time(s)),
        );
        say!(
            "{}: {} of {}, {}, {left}",
            self.what,
            size(done),
            size(all),
            rate(done, seconds)
        );
    }

    /// Takes the bar away; with lines, a last one.
    pub(super) fn finish(self, done: u64, all: u64) {
        match &self.bar {
            Some(bar) => bar.finish_and_clear(),
            None if self.lines => say!(
                "{}: {} of {} in {}",
                self.what,
                size(done),
                size(all),
                time(self.seconds())
            ),
            None => {}
        }
    }

    /// Seconds since it began.
    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}
