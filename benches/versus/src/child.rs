//! One run of one contender: started, watched over a window inside its run, read.
//!
//! Takes a contender, gives its [`Row`]: what it printed, and its CPU time and that of the machine over the window from
//! half a second after its loop began to a third of a second before it ends, per request at the rate it reports.
//! Prevents: start-up and loading counted as cost, and a child that outlives an interrupted run.

use crate::accounts::{Account, family};
use crate::contender::{Contender, Go, Limit, Row, fdatasync_rate};
use crate::instructions::Counters;
use crate::undo::Interrupt;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Left out at the beginning of the loop and before its end.
const LEAD_SECONDS: f64 = 0.5;
const TAIL_SECONDS: f64 = 0.3;
/// Longest wait for a loop to begin.
const PATIENCE: Duration = Duration::from_secs(120);
const NAP: Duration = Duration::from_millis(5);

/// A child that ends with its scope.
pub(crate) struct Started {
    child: Child,
    went: Receiver<()>,
    printed: Option<JoinHandle<String>>,
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends word of each line that is awaited, and gives all of them.
fn listen(stdout: ChildStdout, awaited: fn(&str) -> bool) -> (Receiver<()>, JoinHandle<String>) {
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { break };
            text.push_str(&line);
            text.push('\n');
            if awaited(&line) {
                let _ = sender.send(());
            }
        }
        text
    });
    (receiver, reader)
}

impl Started {
    pub(crate) fn spawn(
        program: &Path,
        args: &[String],
        environment: &[(&str, &str)],
        scratch: &Path,
    ) -> anyhow::Result<Started> {
        Started::spawn_until(program, args, environment, scratch, |line| line == "go")
    }

    /// The same of a tool that has another line to wait for.
    fn spawn_until(
        program: &Path,
        args: &[String],
        environment: &[(&str, &str)],
        scratch: &Path,
        awaited: fn(&str) -> bool,
    ) -> anyhow::Result<Started> {
        let errors = File::create(scratch.join("stderr")).context("make a file for what a tool says")?;
        let mut child = Command::new(program)
            .args(args)
            .current_dir(scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .envs(environment.iter().copied())
            .process_group(0)
            .spawn()
            .with_context(|| format!("start {}\n  install it", program.display()))?;
        let stdout = child.stdout.take().context("a child has the stdout it was given")?;
        let (went, printed) = listen(stdout, awaited);
        Ok(Started {
            child,
            went,
            printed: Some(printed),
        })
    }

    fn ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// With all that it has started: it leads a group of its own.
    fn kill(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32)
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.child.wait();
        }
    }

    fn all_printed(&mut self) -> String {
        let reader = self.printed.take();
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    }

    /// Ends it, if it has not ended by itself, and gives what it has printed.
    fn stop(mut self) -> String {
        self.kill();
        self.all_printed()
    }

    fn wait_for(&mut self, go: &Go, patience: Duration, interrupt: &Interrupt) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            interrupt.check()?;
            let went = match go {
                Go::Line => self.went.try_recv().is_ok(),
                Go::File(path) => path.exists(),
                Go::After(time) => began.elapsed() >= *time,
            };
            if went || self.ended()? {
                return Ok(());
            }
            if began.elapsed() > patience {
                bail!("nothing was seen of its loop within {} s", patience.as_secs());
            }
            std::thread::sleep(NAP);
        }
    }

    /// What it printed, once it has ended well.
    pub(crate) fn finish(mut self, scratch: &Path, interrupt: &Interrupt) -> anyhow::Result<(String, String)> {
        while !self.ended()? {
            interrupt.check()?;
            std::thread::sleep(NAP);
        }
        let status = self.child.wait()?;
        let printed = self.all_printed();
        let said = std::fs::read_to_string(scratch.join("stderr")).unwrap_or_default();
        if !status.success() {
            let tail: Vec<&str> = said.lines().rev().take(4).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            bail!("{status}: {}", tail.join("; "));
        }
        Ok((printed, said))
    }
}

fn nap_until(at: Instant, interrupt: &Interrupt) -> anyhow::Result<()> {
    while Instant::now() < at {
        interrupt.check()?;
        std::thread::sleep(NAP.min(at.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

/// The rate of `pg_test_fsync`, which tries one way to flush after another for so many seconds each, and is ended when
/// it has said what `fdatasync` gives. Its CPU is not taken: it is never sure which of its tests a moment is in.
pub(crate) fn flush_rate(
    contender: &Contender,
    seconds: f64,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Row> {
    let (program, args) = contender.command(Limit::Seconds(seconds), scratch)?;
    let what = || format!("{} ({} {})", contender.name, program.display(), args.join(" "));
    let told = |line: &str| fdatasync_rate(line).is_some();
    let mut started = Started::spawn_until(&program, &args, &[], scratch, told)?;
    // It tries another way before.
    let patience = PATIENCE + Duration::from_secs_f64(2.0 * seconds);
    let go = contender.go(scratch);
    started.wait_for(&go, patience, interrupt).with_context(what)?;
    contender.read(&started.stop()).with_context(what)
}

/// Runs a contender to its end and gives what it reached. What it cost is not taken.
pub(crate) fn to_its_end(
    contender: &Contender,
    seconds: f64,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Row> {
    let (program, args) = contender.command(Limit::Seconds(seconds), scratch)?;
    let started = Started::spawn(&program, &args, &[], scratch)?;
    let (printed, _) = started.finish(scratch, interrupt)?;
    contender.read(&printed)
}

/// Runs a contender for `seconds` and gives what it reached and what it cost.
pub(crate) fn run(
    contender: &Contender,
    seconds: f64,
    scratch: &Path,
    counters: &Counters,
    interrupt: &Interrupt,
) -> anyhow::Result<Row> {
    let (program, args) = contender.command(Limit::Seconds(seconds), scratch)?;
    let go = contender.go(scratch);
    if let Go::File(path) = &go {
        let _ = std::fs::remove_file(path);
    }
    let what = || format!("{} ({} {})", contender.name, program.display(), args.join(" "));
    let mut started = Started::spawn(&program, &args, &[], scratch)?;
    started.wait_for(&go, PATIENCE, interrupt).with_context(what)?;
    let began = Instant::now();
    nap_until(began + Duration::from_secs_f64(LEAD_SECONDS), interrupt)?;
    let process = started.child.id();
    let before = Account::take(process)?;
    let counting = counters.begin(&family(process), scratch);
    nap_until(began + Duration::from_secs_f64(seconds - TAIL_SECONDS), interrupt)?;
    let spent = Account::take(process)?.since(&before);
    let spent = spent.context("its loop ended before its time").with_context(what)?;
    let instructions = counting.map(|counting| counting.end(scratch));
    let (printed, _) = started.finish(scratch, interrupt).with_context(what)?;
    let mut row = contender.read(&printed).with_context(what)?;
    let rate = row.get("iops").copied().unwrap_or(f64::NAN);
    row.insert("process_us".into(), spent.process * 1e6 / rate);
    row.insert("system_us".into(), spent.system * 1e6 / rate);
    if let Some((user, kernel)) = instructions.transpose()?.flatten() {
        row.insert("user_instr".into(), user / spent.seconds / rate);
        row.insert("kernel_instr".into(), kernel / spent.seconds / rate);
    }
    Ok(row)
}
