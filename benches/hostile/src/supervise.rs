//! A reader's run in a process of its own, watched.
//!
//! Takes a [`Run`], gives a [`Report`]. Prevents: an abort, a stack that overflows or a loop without end that ends
//! the whole search and names no input.

use crate::replay;
use crate::run::Run;
use anyhow::{Context, anyhow};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a run of one reader came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Inputs read.
    pub tried: u64,
    /// Of them taken for good.
    pub accepted: u64,
    /// Most processor time of one.
    pub slowest: Duration,
    /// Most memory of one in bytes.
    pub largest: u64,
    /// Number and reason of each input that failed.
    pub failed: Vec<(u64, String)>,
}

/// No progress for so long is looked at, and ended where the process worked for as much of it as `HANGS_CPU`.
const SILENT: Duration = Duration::from_secs(15);
const HANGS_CPU: Duration = Duration::from_secs(10);
/// Longer than any machine is busy with others.
const SILENT_MAX: Duration = Duration::from_secs(300);
/// Failures after which a reader is given up.
const FAILED_MAX: usize = 10;

/// Runs `program --child ...` until all inputs are tried; inputs that fail are kept in `keep`.
///
/// # Errors
/// The program cannot be started; a failing input cannot be kept.
pub fn supervise(program: &Path, run: &Run, keep: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let mut run = run.clone();
    let began = Instant::now();
    let wall = run.wall;
    let dir = tempfile::tempdir().context("make a directory for the progress")?;
    let progress = dir.path().join("progress");
    loop {
        run.progress = Some(progress.clone());
        run.wall = wall.saturating_sub(began.elapsed());
        let (said, ended) = watched(program, &run)?;
        report.take(&said);
        let Some(why) = ended else { break };
        let at = std::fs::read(&progress)
            .ok()
            .and_then(|bytes| bytes.first_chunk().copied());
        let at = at
            .map(u64::from_le_bytes)
            .ok_or_else(|| anyhow!("{}: {why} before the first input", run.reader))?;
        report.tried += at + 1 - run.from;
        report.failed.push((at, why));
        run.from = at + 1;
        if report.failed.len() >= FAILED_MAX || began.elapsed() >= wall {
            break;
        }
    }
    for (number, _) in &report.failed {
        std::fs::create_dir_all(keep).with_context(|| format!("make {}", keep.display()))?;
        let input = replay(&run.reader, run.seed, *number)?.0;
        let file = keep.join(format!("{}-{}-{number}", run.reader.replace(' ', "-"), run.seed));
        std::fs::write(&file, input).with_context(|| format!("keep {}", file.display()))?;
    }
    Ok(report)
}

impl Report {
    fn take(&mut self, said: &str) {
        for line in said.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["failed", number, ..] => {
                    let why = line.splitn(3, ' ').nth(2).unwrap_or_default();
                    self.failed.push((number.parse().unwrap_or(0), why.to_string()));
                }
                [
                    "tried",
                    tried,
                    "accepted",
                    accepted,
                    "slowest_us",
                    slowest,
                    "largest_bytes",
                    largest,
                ] => {
                    let number = |word: &str| word.parse::<u64>().unwrap_or(0);
                    self.tried += number(tried);
                    self.accepted += number(accepted);
                    self.slowest = self.slowest.max(Duration::from_micros(number(slowest)));
                    self.largest = self.largest.max(number(largest));
                }
                _ => {}
            }
        }
    }
}

/// What the process said, and why it did not end well.
fn watched(program: &Path, run: &Run) -> anyhow::Result<(String, Option<String>)> {
    let progress = run.progress.clone().unwrap_or_default();
    let mut child = Command::new(program)
        .args(["--child", "--reader", &run.reader, "--seed", &run.seed.to_string()])
        .args(["--from", &run.from.to_string(), "--to", &run.to.to_string()])
        .args(["--wall-ms", &run.wall.as_millis().to_string()])
        .arg("--progress")
        .arg(&progress)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("start {}", program.display()))?;
    let mut from = child.stdout.take().context("what it says")?;
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        let _ = std::io::Read::read_to_string(&mut from, &mut said);
        said
    });
    let hung = watch(&mut child, &progress);
    let ended = child.wait().context("wait for its end")?;
    let said = said.join().unwrap_or_default();
    let why = match (hung, ended.success()) {
        (Some(why), _) => Some(why),
        (None, true) => None,
        (None, false) => Some(format!("the process ended by itself: {ended}")),
    };
    Ok((said, why))
}

/// Waits for the end; kills a process that works and does not get on.
fn watch(child: &mut Child, progress: &Path) -> Option<String> {
    let (mut seen, mut since, mut cpu) = (Vec::new(), Instant::now(), Duration::ZERO);
    while let Ok(None) = child.try_wait() {
        std::thread::sleep(Duration::from_millis(20));
        let now = std::fs::read(progress).unwrap_or_default();
        if now != seen {
            (seen, since, cpu) = (now, Instant::now(), worked(child.id()));
        }
        let silent = since.elapsed();
        let took = worked(child.id()).saturating_sub(cpu);
        if (silent > SILENT && took > HANGS_CPU) || silent > SILENT_MAX {
            let _ = child.kill();
            return Some(format!(
                "no end after {} s, {} s of them at work",
                silent.as_secs(),
                took.as_secs()
            ));
        }
    }
    None
}

/// Processor time of a process so far.
fn worked(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|n| n.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
}
