//! Many inputs of one reader, in this process, counted: time of the thread's processor, memory that was asked for,
//! panics.
//!
//! Takes a [`Run`], writes a line for each failure and one for the whole. Prevents: a limit that a busy machine
//! breaks (time is the processor's, not the clock's), and a failure that cannot be replayed (the number of the input
//! is in a file before it is read).

#![allow(clippy::print_stdout, reason = "what the process that watches reads")]

use crate::Dice;
use crate::readers::{READERS, Reader, Trial, Verdict};
use anyhow::{Context, anyhow};
use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Counts what this process asks for.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What an input may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processor time of the reading thread.
    pub time: Duration,
    /// Memory beyond what was there before.
    pub bytes: u64,
}

impl Limits {
    /// A second, 256 MiB.
    pub const OURS: Limits = Limits {
        time: Duration::from_secs(1),
        bytes: 256 << 20,
    };
}

/// Which inputs of which reader.
#[derive(Clone, Debug)]
pub struct Run {
    /// The reader's name.
    pub reader: String,
    /// Seed of all inputs.
    pub seed: u64,
    /// Number of the first.
    pub from: u64,
    /// Ends before this number.
    pub to: u64,
    /// Ends after this time.
    pub wall: Duration,
    /// Where the number of the input under way stands, eight bytes.
    pub progress: Option<PathBuf>,
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn reader(name: &str) -> anyhow::Result<&'static Reader> {
    let found = READERS.iter().find(|reader| reader.name == name);
    found.ok_or_else(|| anyhow!("no reader is called {name:?}\n  --list names them"))
}

/// Tries the inputs; prints `failed NUMBER WHY` for each that failed and `tried N accepted N slowest_us N
/// largest_bytes N`.
///
/// # Errors
/// No such reader; no place for its files.
pub fn run(run: &Run) -> anyhow::Result<()> {
    let mut trial = (reader(&run.reader)?.make)()?;
    let progress = run
        .progress
        .as_ref()
        .map(File::create)
        .transpose()
        .context("make the file of progress")?;
    std::panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string().replace('\n', " "))));
    let (began, mut said) = (Instant::now(), BTreeSet::new());
    let (mut tried, mut accepted, mut slowest, mut largest) = (0_u64, 0_u64, Duration::ZERO, 0);
    for number in run.from..run.to {
        if began.elapsed() > run.wall {
            break;
        }
        if let Some(file) = &progress {
            file.write_all_at(&number.to_le_bytes(), 0)
                .context("write the progress")?;
        }
        let input = trial.input(&mut Dice::new(run.seed, number));
        let one = measured(trial.as_mut(), &input);
        tried += 1;
        accepted += u64::from(one.verdict == Ok(Verdict::Accepted));
        slowest = slowest.max(one.time);
        largest = largest.max(one.bytes);
        if let Some(why) = one.wrong(Limits::OURS) {
            // The same place once.
            if said.insert(why.chars().take(80).collect::<String>()) {
                println!("failed {number} {}", report::escaped(&why));
            }
        }
    }
    drop(std::panic::take_hook());
    println!(
        "tried {tried} accepted {accepted} slowest_us {} largest_bytes {largest}",
        slowest.as_micros()
    );
    Ok(())
}

/// One input again, as bytes and as its reader takes it.
///
/// # Errors
/// No such reader; no place for its files.
pub fn replay(reader_name: &str, seed: u64, number: u64) -> anyhow::Result<(Vec<u8>, Box<dyn Trial>)> {
    let mut trial = (reader(reader_name)?.make)()?;
    let input = trial.input(&mut Dice::new(seed, number));
    Ok((input, trial))
}

struct Measured {
    /// Or why it panicked, or what it printed that it must not.
    verdict: Result<Verdict, String>,
    time: Duration,
    bytes: u64,
}

impl Measured {
    fn wrong(&self, limits: Limits) -> Option<String> {
        match &self.verdict {
            Err(why) => Some(why.clone()),
            Ok(_) if self.time > limits.time => Some(format!("took {} ms of processor time", self.time.as_millis())),
            Ok(_) if self.bytes > limits.bytes => Some(format!("asked for {} MiB", self.bytes >> 20)),
            Ok(_) => None,
        }
    }
}

fn measured(trial: &mut dyn Trial, input: &[u8]) -> Measured {
    let processor = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    // What libraries in C ask for is in no count of ours: what came to be resident is counted too.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let resident = resident_peak();
    MEMORY.reset_peak_usage();
    let (before, began) = (MEMORY.current_usage(), processor());
    let read = catch_unwind(AssertUnwindSafe(|| trial.read(input)));
    let time = processor() - began;
    let asked = MEMORY.peak_usage().saturating_sub(before) as u64;
    Measured {
        verdict: read.unwrap_or_else(|_| Err(PANIC.take())),
        time,
        bytes: asked.max(resident_peak().saturating_sub(resident)),
    }
}

/// Most memory that this process has had in use since that was reset.
fn resident_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
