//! What was made and must go again: a list of steps taken back in reverse when it goes out of scope, and the flag that
//! Ctrl-C sets.
//!
//! Prevents: a loop device, a mount or a gibibyte left behind by a run that failed, panicked or was interrupted.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Step = Box<dyn FnMut() -> anyhow::Result<()>>;

/// Longest wait for the kernel to let go of something: it takes the rings of a process that has ended apart some time
/// after, and files registered in them keep a file system mounted and a device open until then.
const PATIENCE: Duration = Duration::from_secs(20);

/// Steps to take back.
#[derive(Default)]
pub(crate) struct Undo {
    steps: Vec<(String, Step)>,
}

impl Undo {
    /// `what` for the message when it fails.
    pub(crate) fn push(&mut self, what: impl Into<String>, step: impl FnMut() -> anyhow::Result<()> + 'static) {
        self.steps.push((what.into(), Box::new(step)));
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        while let Some((what, mut step)) = self.steps.pop() {
            let began = Instant::now();
            while let Err(error) = step() {
                if began.elapsed() > PATIENCE {
                    eprintln!("could not {what}: {error:#}");
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Set by SIGINT, SIGTERM and SIGHUP.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(pub(crate) Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn listen() -> anyhow::Result<Interrupt> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGTERM,
            signal_hook::consts::SIGHUP,
        ] {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Interrupt(flag))
    }

    /// An error once a signal has come.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            bail!("interrupted: what was made is taken away again");
        }
        Ok(())
    }
}

/// How often a program under way and the flag are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs a program that takes away what it makes: once a signal has come it is told to end, and waited for.
pub(crate) fn that_tidies(command: &mut Command, interrupt: &Interrupt) -> anyhow::Result<ExitStatus> {
    let program = command.get_program().to_string_lossy().into_owned();
    // In a group of its own: of a Ctrl-C it hears from here alone, and once.
    let child = command.process_group(0).spawn();
    let mut child = child.with_context(|| format!("start {program}"))?;
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait().with_context(|| format!("wait for {program}"))? {
            interrupt.check()?;
            return Ok(status);
        }
        if !is_told
            && interrupt.check().is_err()
            && let Some(pid) = Pid::from_raw(child.id() as i32)
        {
            // A program that was started in a shell's background ignores SIGINT.
            let _ = kill_process(pid, Signal::TERM);
            is_told = true;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Runs a tool to its end; an error holds what it said.
pub(crate) fn tool(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(args)
        .env("PATH", path_with_sbin())
        .output()
        .with_context(|| format!("{program} could not be started\n  install it"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", args.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// An ordinary user's PATH leaves out where mkfs lies.
pub(crate) fn path_with_sbin() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tidies_is_told_to_end_and_waited_for() {
        let scratch = tempfile::tempdir().unwrap();
        let (ready, tidied) = (scratch.path().join("ready"), scratch.path().join("tidied"));
        let script = "trap 'echo > tidied; exit 0' TERM; echo > ready; while :; do sleep 0.05; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(scratch.path());
        let interrupt = Interrupt::default();
        let flag = Arc::clone(&interrupt.0);
        let signal = std::thread::spawn(move || {
            while !ready.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            flag.store(true, Ordering::Relaxed);
        });
        let ended = that_tidies(&mut command, &interrupt);
        signal.join().unwrap();
        assert!(ended.is_err() && tidied.exists(), "{ended:?}");
    }

    #[test]
    fn a_program_that_nobody_interrupts_gives_its_status() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let status = that_tidies(&mut command, &Interrupt::default()).unwrap();
        assert_eq!(status.code(), Some(3));
        let missing = that_tidies(&mut Command::new("/no/such/program"), &Interrupt::default());
        assert!(missing.unwrap_err().to_string().contains("start /no/such/program"));
    }
}
