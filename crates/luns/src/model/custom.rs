//! A device known only by its latencies: a histogram read from a file, and how many requests it serves at a time.
//!
//! The text has a line a class, `upper bound in microseconds, count`, separated by white space or a comma; `#` begins a
//! comment; sections `[read]`, `[write]` and `[flush]` hold one histogram each (a text without sections is for all).
//! Inside a class times are spread evenly. Prevents: a measured tail replaced by a formula.

use super::latency::uniform;
use super::waiting::{Waiting, left_to_waiting};
use super::{Answer, Ask, Command, Counters, DeviceModel};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use targets::Nanos;

/// What is wrong with a histogram's text.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error(
    "line {line} of the latency histogram: {what}\nwrite one class a line: its upper bound in microseconds and its \
     count, bounds rising"
)]
pub struct CustomError {
    /// Line, from 1; 0 for the text as a whole.
    pub line: usize,
    /// What it says.
    pub what: String,
}

/// Latencies by class: upper bounds in nanoseconds, rising, and the share of all up to each (the last is 1).
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    bounds: Vec<f64>,
    shares: Vec<f64>,
}

impl Histogram {
    /// From (upper bound in nanoseconds, count), bounds rising, at least one count above 0.
    pub fn new(classes: &[(f64, f64)]) -> Option<Histogram> {
        let rising = classes.windows(2).all(|w| w[0].0 < w[1].0) && classes.first().is_some_and(|c| c.0 > 0.0);
        let sane = classes.iter().all(|c| c.0.is_finite() && c.1.is_finite() && c.1 >= 0.0);
        let total: f64 = classes.iter().map(|c| c.1).sum();
        if !rising || !sane || total <= 0.0 {
            return None;
        }
        let mut sum = 0.0;
        let shares = classes.iter().map(|c| {
            sum += c.1 / total;
            sum
        });
        Some(Histogram {
            shares: shares.collect(),
            bounds: classes.iter().map(|c| c.0).collect(),
        })
    }

    /// The time below which `share` (0 to 1) of all lie, in nanoseconds.
    pub fn quantile_ns(&self, share: f64) -> f64 {
        let nth = self.shares.partition_point(|s| *s < share).min(self.bounds.len() - 1);
        let below = |v: &[f64]| if nth == 0 { 0.0 } else { v[nth - 1] };
        let (from, to) = (below(&self.bounds), self.bounds[nth]);
        let (low, high) = (below(&self.shares), self.shares[nth]);
        let inside = if high > low {
            ((share - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            1.0
        };
        from + (to - from) * inside
    }

    /// Mean in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        let mut mean = 0.0;
        let (mut bound, mut share) = (0.0, 0.0);
        for (b, s) in self.bounds.iter().zip(&self.shares) {
            mean += (s - share) * (bound + b) / 2.0;
            (bound, share) = (*b, *s);
        }
        mean
    }
}

/// Parameters of the device.
#[derive(Clone, PartialEq, Debug)]
pub struct CustomParameters {
    /// Latencies of reads.
    pub read: Histogram,
    /// Latencies of writes.
    pub write: Histogram,
    /// Latencies of flushes.
    pub flush: Histogram,
    /// Requests served at a time; the histogram is that of one alone.
    pub parallel: u32,
}

impl CustomParameters {
    /// Reads the text of a histogram file.
    pub fn parse(text: &str, parallel: u32) -> Result<CustomParameters, CustomError> {
        let mut sections: [Vec<(f64, f64)>; 4] = Default::default();
        let mut section = 3;
        for (nth, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let wrong = |what: String| CustomError { line: nth + 1, what };
            match line {
                "" => continue,
                "[read]" => section = 0,
                "[write]" => section = 1,
                "[flush]" => section = 2,
                _ if line.starts_with('[') => {
                    return Err(wrong(format!("{line} is none of [read], [write], [flush]")));
                }
                _ => {
                    let class = class(line).ok_or_else(|| wrong(format!("\"{line}\" is not two numbers")))?;
                    if sections[section].last().is_some_and(|last| last.0 >= class.0) {
                        return Err(wrong("the bound is not above the one before".into()));
                    }
                    sections[section].push(class);
                }
            }
        }
        let [read, write, flush, all] = sections;
        let histogram = |own: &[(f64, f64)], name: &str| {
            let classes = if own.is_empty() { &all } else { own };
            Histogram::new(classes).ok_or_else(|| CustomError {
                line: 0,
                what: format!("no class with a count for {name}"),
            })
        };
        Ok(CustomParameters {
            read: histogram(&read, "reads")?,
            write: histogram(&write, "writes")?,
            flush: histogram(&flush, "flushes")?,
            parallel: parallel.max(1),
        })
    }
}

/// "250, 12": nanoseconds and count.
fn class(line: &str) -> Option<(f64, f64)> {
    let mut words = line
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|w| !w.is_empty());
    let (bound, count) = (words.next()?.parse::<f64>().ok()?, words.next()?.parse::<f64>().ok()?);
    // Above a day, or with more counts than a file of latencies ever has, sums lose their meaning.
    let sane = bound > 0.0 && bound <= 86.4e9 && (0.0..=1e15).contains(&count) && words.next().is_none();
    sane.then_some((bound * 1e3, count))
}

/// The device.
pub struct Custom {
    parameters: CustomParameters,
    free_at: BinaryHeap<Reverse<Nanos>>,
    written_by: Nanos,
    rng: Xoshiro256PlusPlus,
    waiting: Waiting,
}

impl Custom {
    /// An idle device.
    pub fn new(parameters: CustomParameters, seed: u64) -> Custom {
        Custom {
            free_at: (0..parameters.parallel).map(|_| Reverse(0)).collect(),
            parameters,
            written_by: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            waiting: Waiting::default(),
        }
    }
}

impl DeviceModel for Custom {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.waiting.came(now, &ask);
        let shape = match ask.command {
            Command::Read => &self.parameters.read,
            Command::Write { .. } => &self.parameters.write,
            Command::Flush => &self.parameters.flush,
        };
        let takes = shape.quantile_ns(uniform(&mut self.rng)).round() as u64;
        if ask.command == Command::Flush {
            self.waiting.ends_on_the_way(&ask, now.max(self.written_by) + takes);
            return;
        }
        let mut server = self.free_at.peek_mut().expect("at least one at a time");
        let ends = server.0.max(now) + takes;
        *server = Reverse(ends);
        drop(server);
        if ask.command != Command::Read {
            self.written_by = self.written_by.max(ends);
        }
        self.waiting.ends_on_the_way(&ask, ends);
    }

    left_to_waiting!(next, advance, counters, answer_sooner);

    fn rate_max(&self, _len: u32) -> Option<f64> {
        Some(f64::from(self.parameters.parallel) * 1e9 / self.parameters.read.mean_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_sections_is_read_and_a_wrong_line_is_named() {
        let text = "# ours\n[read]\n100 90\n200, 9\n5000 1\n[write]\n50 1\n[flush]\n1000 1\n";
        let read = CustomParameters::parse(text, 4).expect("a good text");
        assert!((read.read.quantile_ns(0.9) - 100_000.0).abs() < 1.0);
        assert!((read.read.quantile_ns(0.99) - 200_000.0).abs() < 1.0);
        assert!((read.read.mean_ns() - (0.9 * 50_000.0 + 0.09 * 150_000.0 + 0.01 * 2_600_000.0)).abs() < 1.0);
        for (text, line) in [
            ("10 1\n10 2\n", 2),
            ("10\n", 1),
            ("[reads]\n", 1),
            ("10 x", 1),
            ("", 0),
            ("-1 3", 1),
        ] {
            let error = CustomParameters::parse(text, 1).expect_err(text);
            assert_eq!(error.line, line, "{text:?}: {error}");
        }
    }
}
