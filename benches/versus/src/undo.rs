//! What was made and must go again: a list of steps taken back in reverse when it goes out of scope, and the flag that
//! Ctrl-C sets.
//!
//! Prevents: a loop device, a mount or a gibibyte left behind by a run that failed, panicked or was interrupted.

use anyhow::{Context, bail};
use std::process::Command;
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
