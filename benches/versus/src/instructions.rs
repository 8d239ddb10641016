//! Instructions per request: from the processor's counters where this machine lets them be used, else user instructions
//! alone, counted by Valgrind as the difference of two runs of one and of two lengths.
//!
//! Prevents: a count that holds set-up (the difference leaves it out), and a missing counter shown as a zero.
//!
//! Under Valgrind time runs some thirty times slower while the device does not, so more requests are found finished
//! at each look than in a true run: what a tool pays per look is spread over more of them, for both sides alike.
//! Valgrind has no AVX-512: our checksum then takes its SSE 4.2 form.

use crate::child::Started;
use crate::contender::{Contender, Limit, Tool};
use crate::flags::{Side, Work};
use crate::stepped;
use crate::undo::Interrupt;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The counted run of fio: requests; and of the others, which say how many they did: seconds. The longer one has
/// twice that.
const REQUESTS: u64 = 20_000;
const SECONDS: f64 = 1.5;
const EVENTS: &str = "instructions:u,instructions:k";

/// Otherwise the C library copies a page by one instruction that repeats itself, and Valgrind counts each byte of it.
const PLAIN_COPIES: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824",
);

/// How instructions are counted here.
pub(crate) enum Counters {
    /// `perf stat` beside the run.
    Perf,
    /// A run of its own under Valgrind; user instructions only.
    Valgrind,
    /// Not at all.
    None,
}

impl Counters {
    pub(crate) fn find() -> Counters {
        let output = Command::new("perf")
            .args(["stat", "-x", ",", "-e", EVENTS, "true"])
            .output();
        if output.is_ok_and(|o| o.status.success() && parse(&String::from_utf8_lossy(&o.stderr)).is_some()) {
            return Counters::Perf;
        }
        match Command::new("valgrind").arg("--version").stdout(Stdio::null()).status() {
            Ok(status) if status.success() => Counters::Valgrind,
            _ => Counters::None,
        }
    }

    pub(crate) fn words(&self) -> &'static str {
        match self {
            Counters::Perf => {
                "user and kernel instructions by the processor's counters (perf stat), over the same window"
            }
            Counters::Valgrind => {
                "user instructions by Valgrind (cachegrind), the difference of a run and one of half its length, \
                 once; there the checksum takes its SSE 4.2 form, and requests are found finished in larger batches \
                 than in a true run. The column \"executed, stepped\": counted one by one under ptrace, as the \
                 processor executes them; it is held against the bound where it stands. Kernel instructions are not \
                 counted here: the processor's counters cannot be used"
            }
            Counters::None => {
                "instructions are not counted here: neither the processor's counters nor Valgrind can be used"
            }
        }
    }

    /// Starts counting the threads of these processes.
    pub(crate) fn begin(&self, pids: &[u32], scratch: &Path) -> Option<Counting> {
        if !matches!(self, Counters::Perf) {
            return None;
        }
        let list: Vec<String> = pids.iter().map(u32::to_string).collect();
        let child = Command::new("perf")
            .args(["stat", "-x", ",", "-e", EVENTS, "-p", &list.join(","), "-o"])
            .arg(scratch.join("perf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        Some(Counting(child))
    }
}

/// `perf stat` under way.
pub(crate) struct Counting(Child);

impl Counting {
    /// User and kernel instructions since the beginning.
    pub(crate) fn end(mut self, scratch: &Path) -> anyhow::Result<Option<(f64, f64)>> {
        if let Some(pid) = rustix::process::Pid::from_raw(self.0.id() as i32) {
            // It prints its counts when it is interrupted.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        self.0.wait().context("wait for perf")?;
        Ok(parse(
            &std::fs::read_to_string(scratch.join("perf")).unwrap_or_default(),
        ))
    }
}

fn parse(text: &str) -> Option<(f64, f64)> {
    let count = |event: &str| {
        let line = text.lines().find(|line| line.contains(event))?;
        line.split(',').next()?.parse::<f64>().ok()
    };
    Some((count("instructions:u")?, count("instructions:k")?))
}

/// User instructions per request under Valgrind, or `None` where the tool does not say how many it did.
pub(crate) fn by_difference(
    contender: &Contender,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<f64>> {
    let limits = match contender.tool {
        Tool::TIoUring { .. } | Tool::PgTestFsync(_) => return Ok(None),
        Tool::Fio(_) => [Limit::Requests(REQUESTS), Limit::Requests(2 * REQUESTS)],
        Tool::Ours(_) => [Limit::Seconds(SECONDS), Limit::Seconds(2.0 * SECONDS)],
    };
    let [one, two] = limits.map(|limit| counted(contender, limit, scratch, interrupt));
    let (one, two) = (one?, two?);
    Ok(Some(
        (two.instructions - one.instructions) / (two.requests - one.requests),
    ))
}

/// So many bytes at least are read while instructions are counted one by one: 640 pages of 8 KiB. Of writes a quarter,
/// for what is written is made first, word by word.
const STEPPED_BYTES: u64 = 5 << 20;

/// Requests of two runs, in whole operations of each session. The longer one has twice as many: what the drain and the
/// end cost is in both.
fn stepped_requests(side: &Side) -> [u64; 2] {
    let step = u64::from(side.sessions) * u64::from(side.work_unit);
    let parts = match side.work {
        Work::Copies | Work::Mirrored => 4,
        _ => 1,
    };
    let few = (STEPPED_BYTES / parts / u64::from(side.block.max(1))).next_multiple_of(step.max(1));
    [few, 2 * few]
}

/// User instructions per request as the processor executes them, by [`stepped`]: for our own sides alone, which say
/// when their loop begins.
pub(crate) fn by_steps(contender: &Contender, scratch: &Path, interrupt: &Interrupt) -> anyhow::Result<f64> {
    let Tool::Ours(side) = &contender.tool else {
        bail!("{} does not say when its loop begins", contender.name);
    };
    let count = |requests: u64| {
        let (program, args) = contender.command(Limit::Requests(requests), scratch)?;
        let environment = [PLAIN_COPIES, (stepped::MARK, "1")];
        let found = stepped::run(&program, &args, &environment, scratch, interrupt)?;
        let row = contender.read(&found.printed)?;
        let done = row
            .get("requests")
            .context("a side that does not say how many requests it did")?;
        anyhow::Ok((found.instructions as f64, *done))
    };
    let [few, more] = stepped_requests(side);
    let (few, more) = (count(few)?, count(more)?);
    Ok((more.0 - few.0) / (more.1 - few.1))
}

struct Count {
    instructions: f64,
    requests: f64,
}

fn counted(contender: &Contender, limit: Limit, scratch: &Path, interrupt: &Interrupt) -> anyhow::Result<Count> {
    let (program, args) = contender.command(limit, scratch)?;
    let mut all: Vec<String> = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        .map(String::from)
        .into();
    all.push(program.display().to_string());
    all.extend(args);
    let started = Started::spawn(&PathBuf::from("valgrind"), &all, &[PLAIN_COPIES], scratch)?;
    let (printed, said) = started
        .finish(scratch, interrupt)
        .with_context(|| format!("{} does not run under Valgrind here", contender.name))?;
    let done = contender.read(&printed)?.get("requests").copied();
    let requests = match limit {
        Limit::Requests(count) => count as f64,
        Limit::Seconds(_) => done.context("a side that does not say how many requests it did")?,
    };
    let instructions = references(&said).with_context(|| format!("valgrind gave no count: {said}"))?;
    Ok(Count { instructions, requests })
}

/// The line `==123== I   refs:      120,088,867`.
fn references(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains("refs:"))?;
    line.rsplit("refs:").next()?.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stepped_runs_have_whole_operations_of_each_session() {
        let of = |sessions: u32, work_unit: u32| {
            let own = crate::contender::side(Work::Reads, std::path::Path::new("/x"));
            stepped_requests(&Side {
                sessions,
                work_unit,
                ..own
            })
        };
        assert_eq!(of(64, 1), [640, 1280]);
        assert_eq!(of(64, 16), [1024, 2048]);
        assert_eq!(of(16, 1), [640, 1280]);
        let mirrored = crate::contender::side(Work::Mirrored, std::path::Path::new("/x"));
        let large = Side {
            block: 128 << 10,
            sessions: 8,
            ..mirrored
        };
        assert_eq!(stepped_requests(&large), [16, 32]);
    }

    #[test]
    fn counts_are_read_and_what_is_not_supported_is_none() {
        let text = "1000,,instructions:u,5,100.00,,\n2000,,instructions:k,5,100.00,,\n";
        assert_eq!(parse(text), Some((1000.0, 2000.0)));
        assert_eq!(parse("<not supported>,,instructions:u,0,100.00,,\n"), None);
        assert_eq!(references("==1== I   refs:      120,088,867\n"), Some(120_088_867.0));
    }
}
