//! User instructions counted one by one: the tool runs under `ptrace`, stopped after each instruction.
//!
//! Takes a command line, gives how many instructions its threads executed and what it printed. Counts what the
//! processor really executes, wide vectors included, where its own counters can't be used; a run takes some
//! microseconds an instruction, so that every look finds all requests finished. Prevents: a count from a simulator
//! that lacks the instructions which matter.

use crate::undo::Interrupt;
use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where `ptrace` finds the instruction pointer of a stopped thread: word 16 of the user area (`sys/user.h`, x86-64).
const INSTRUCTION_POINTER: usize = 16 * 8;
/// In the environment of a side: stop yourself when your loop begins.
pub(crate) const MARK: &str = "ASSAY_VERSUS_MARK";
/// Stops itself, so that the tracer takes over before the tool's first instruction.
const WAITING: &str = "kill -STOP $$; exec \"$@\"";
/// How often, in stops, an interruption is looked for.
const LOOK_EVERY: u64 = 1 << 14;

/// What was executed.
pub(crate) struct Stepped {
    /// User instructions of all threads; one that repeats itself (`rep movs`) counts once.
    pub(crate) instructions: u64,
    pub(crate) printed: String,
}

/// This thread and the children it makes stay on one processor: a stop is then a switch, not a call to another
/// processor.
struct Pinned(CpuSet);

impl Pinned {
    fn here() -> anyhow::Result<Pinned> {
        let before = sched_getaffinity(None).context("ask for the processors of this thread")?;
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        sched_setaffinity(None, &one).context("stay on one processor")?;
        Ok(Pinned(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// A traced family of threads that ends with its scope.
struct Traced {
    leader: Pid,
    counting: bool,
    /// Where each thread stood last.
    last: HashMap<Pid, i64>,
    instructions: u64,
}

impl Drop for Traced {
    fn drop(&mut self) {
        if killpg(self.leader, Signal::SIGKILL).is_ok() {
            while waitpid(Pid::from_raw(-self.leader.as_raw()), Some(WaitPidFlag::__WALL)).is_ok() {}
        }
    }
}

/// Runs the command. Each instruction is counted from the moment it stops itself, as a side of ours does when its
/// loop begins and [`MARK`] stands in its environment; what it does before runs at full speed.
pub(crate) fn run(
    program: &Path,
    args: &[String],
    environment: &[(&str, &str)],
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Stepped> {
    let said = scratch.join("stderr");
    let _pinned = Pinned::here()?;
    let mut child = Command::new("sh")
        .args(["-c", WAITING, "sh"])
        .arg(program)
        .args(args)
        .current_dir(scratch)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&said).context("make a file for what a tool says")?)
        .envs(environment.iter().copied())
        .process_group(0)
        .spawn()
        .context("start a shell")?;
    let mut stdout = child.stdout.take().context("a child has the stdout it was given")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let leader = Pid::from_raw(i32::try_from(child.id()).context("a process id")?);
    let mut traced = Traced {
        leader,
        counting: false,
        last: HashMap::new(),
        instructions: 0,
    };
    let code = traced.follow(interrupt)?;
    let instructions = traced.instructions;
    drop(traced);
    let printed = reader.join().ok().and_then(Result::ok).unwrap_or_default();
    if code != 0 {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        bail!("exit code {code}: {}", said.lines().last().unwrap_or_default());
    }
    Ok(Stepped { instructions, printed })
}

impl Traced {
    /// From the first stop to the exit code of the leader.
    fn follow(&mut self, interrupt: &Interrupt) -> anyhow::Result<i32> {
        waitpid(self.leader, Some(WaitPidFlag::WUNTRACED)).context("wait for the shell to stop")?;
        ptrace::attach(self.leader).context("trace a child\n  allow ptrace (kernel.yama.ptrace_scope)")?;
        waitpid(self.leader, Some(WaitPidFlag::__WALL)).context("wait for the child")?;
        let options = Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(self.leader, options)?;
        kill(self.leader, Signal::SIGCONT)?;
        ptrace::cont(self.leader, None)?;
        let group = Pid::from_raw(-self.leader.as_raw());
        for stop in 0.. {
            if stop % LOOK_EVERY == 0 {
                interrupt.check()?;
            }
            match waitpid(group, Some(WaitPidFlag::__WALL)).context("wait for a traced thread")? {
                WaitStatus::Stopped(thread, Signal::SIGTRAP) => {
                    self.count(thread)?;
                    self.go_on(thread, None)?;
                }
                // The mark; and a new thread begins with a stop of its own.
                WaitStatus::Stopped(thread, Signal::SIGSTOP) => {
                    self.counting |= thread == self.leader;
                    self.go_on(thread, None)?;
                }
                WaitStatus::Stopped(thread, signal) => self.go_on(thread, Some(signal))?,
                WaitStatus::PtraceEvent(thread, ..) => self.go_on(thread, None)?,
                WaitStatus::Exited(thread, code) if thread == self.leader => return Ok(code),
                WaitStatus::Signaled(thread, signal, _) if thread == self.leader => bail!("ended by {signal}"),
                _ => {}
            }
        }
        bail!("it never ended")
    }

    fn count(&mut self, thread: Pid) -> anyhow::Result<()> {
        if !self.counting {
            return Ok(());
        }
        let at = match ptrace::read_user(thread, INSTRUCTION_POINTER as ptrace::AddressType) {
            Ok(at) => at,
            Err(Errno::ESRCH) => return Ok(()),
            Err(e) => return Err(e).context("read where a thread stands"),
        };
        // An instruction that repeats itself stops after each turn at its own place.
        if self.last.insert(thread, at) != Some(at) {
            self.instructions += 1;
        }
        Ok(())
    }

    fn go_on(&self, thread: Pid, signal: Option<Signal>) -> anyhow::Result<()> {
        let went = if self.counting {
            ptrace::step(thread, signal)
        } else {
            ptrace::cont(thread, signal)
        };
        match went {
            // It ended in between.
            Err(Errno::ESRCH) => Ok(()),
            other => other.context("let a traced thread go on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_costs_what_its_turns_cost() {
        let scratch = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::default();
        let count = |turns: u32| {
            let loops = format!("kill -STOP $$; i=10; while [ $i -lt {turns} ]; do i=$((i+1)); done; echo $i");
            let args = ["-c".to_string(), loops];
            let found = run(Path::new("sh"), &args, &[], scratch.path(), &interrupt).unwrap();
            assert_eq!(found.printed.trim(), turns.to_string());
            found.instructions
        };
        let (few, some, more) = (count(13), count(16), count(19));
        let (one, two) = (some - few, more - some);
        // Numbers of two digits throughout: three turns cost the same, but for the shell's own odds and ends.
        assert!(one.abs_diff(two) < one / 20 && one > 1_000, "{few} {some} {more}");
    }

    #[test]
    fn a_tool_that_fails_is_an_error_with_what_it_said() {
        let scratch = tempfile::tempdir().unwrap();
        let args = ["-c".to_string(), "echo no such thing >&2; exit 3".to_string()];
        let failed = run(Path::new("sh"), &args, &[], scratch.path(), &Interrupt::default());
        let words = failed.err().unwrap().to_string();
        assert_eq!(words, "exit code 3: no such thing");
    }
}
