//! A rank in the tests: it builds something, works with the others, and undoes it on every way out.
//!
//! `hosts-play DIR phases`: two phases, whose figures rank 0 prints. `hosts-play DIR wait`: works until something ends
//! it. `hosts-play DIR leave`: rank 1 cannot go on. `hosts-play DIR keep RANK`: the keeper of a rank.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it prints what a test reads, as the program would"
)]

use hosts::{
    Cause, Host, HostsError, Joining, Keeper, Launcher, Link, Offset, Patience, Reading, Undone, Window, differences,
    keep, overlap,
};
use serde::{Deserialize, Serialize};
use signal_hook::consts::SIGTERM;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;
use targets::monotonic_ns;

/// From telling all ranks until they begin.
const LEAD_NS: u64 = 50_000_000;
/// How long a phase is.
const PHASE_NS: u64 = 500_000_000;

/// To a rank: works from this moment of its clock on.
#[derive(Serialize, Deserialize)]
struct Order {
    at: u64,
    time_ns: u64,
}

/// From a rank, on its clock.
#[derive(Serialize, Deserialize)]
struct Answer {
    began: u64,
    ended: u64,
    /// As long as a large answer of an instance.
    ballast: String,
}

/// What rank 0 prints of a phase.
#[derive(Serialize)]
struct Phase {
    /// Offset and bound of each other rank.
    offsets: Vec<Offset>,
    drift_ns: Vec<i64>,
    round_trip_ns: Vec<u64>,
    overlap: f64,
    ballast: usize,
    /// Processor time of rank 0, which waited for the others.
    cpu_ns: u64,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(dir), Some(what)) = (args.first().map(PathBuf::from), args.get(1)) else {
        eprintln!("usage: hosts-play DIR phases|wait|leave|keep");
        return ExitCode::from(2);
    };
    if what == "keep" {
        let rank = args.get(2).cloned().unwrap_or_default();
        return ExitCode::from(keep(|| undo(&dir, &rank, "kept")));
    }
    match rank(&dir, what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Removes what the rank has built, and leaves a word of who did.
fn undo(dir: &Path, rank: &str, who: &str) -> Undone {
    let built = dir.join(format!("built.{rank}"));
    if !built.exists() {
        return Undone::All;
    }
    let removed = std::fs::remove_file(built).and_then(|()| std::fs::write(dir.join(format!("{who}.{rank}")), ""));
    if removed.is_ok() { Undone::All } else { Undone::NotAll }
}

fn rank(dir: &Path, what: &str) -> Result<(), HostsError> {
    let launcher = Launcher::here()?.expect("a launcher");
    let has_mpi = Host::must_have_mpi(launcher)?;
    let rank = launcher.rank.to_string();
    std::fs::write(dir.join(format!("pid.{rank}")), std::process::id().to_string()).expect("its process id");
    let mut command = Command::new("/proc/self/exe");
    command.args([dir.as_os_str(), "keep".as_ref(), rank.as_ref()]);
    let keeper = Keeper::start(command)?;
    std::fs::write(dir.join(format!("built.{rank}")), "").expect("what is built");
    let asked = Arc::default();
    signal_hook::flag::register(SIGTERM, Arc::clone(&asked)).expect("a handler");
    let (place, own) = (dir.to_path_buf(), rank.clone());
    let last = move |cause: &Cause| {
        let _ = std::fs::write(place.join(format!("cause.{own}")), format!("{cause}"));
        eprintln!("rank {own} ends: {cause}");
        undo(&place, &own, "undone")
    };
    let worked = Host::join(Joining {
        launcher,
        has_mpi,
        patience: Patience::default(),
        asked: Some(asked),
        last: Box::new(last),
    })
    .and_then(|host| works(host, dir, what));
    undo(dir, &rank, "after");
    keeper.let_go();
    worked
}

fn works(mut host: Host, dir: &Path, what: &str) -> Result<(), HostsError> {
    let links = host.links();
    std::fs::write(dir.join(format!("joined.{}", host.rank())), host.library()).expect("joined");
    match (host.rank(), what) {
        (1, "leave") => return Err(HostsError::Parted),
        (0, "phases") => leads(&host, links)?,
        // Rank 0 waits for an answer that does not come; the others for an order.
        _ => links.into_iter().for_each(follows),
    }
    host.part();
    Ok(())
}

/// Orders as lines until they end, as from a pipe.
fn follows(link: Link) {
    let mut to = link.to;
    for line in BufReader::new(link.from).lines() {
        let order: Order = serde_json::from_str(&line.expect("a line")).expect("an order");
        let (began, ended) = work(&order);
        let ballast = "x".repeat(8 << 20);
        let answer = Answer { began, ended, ballast };
        let line = serde_json::to_string(&answer).expect("an answer");
        writeln!(to, "{line}").and_then(|()| to.flush()).expect("answered");
    }
}

/// Sleeps until the moment, and as long as it is told.
fn work(order: &Order) -> (u64, u64) {
    let until = |at: u64| {
        while let left @ 1.. = at.saturating_sub(monotonic_ns()) {
            std::thread::sleep(Duration::from_nanos(left));
        }
        monotonic_ns()
    };
    (until(order.at), until(order.at + order.time_ns))
}

fn leads(host: &Host, mut links: Vec<Link>) -> Result<(), HostsError> {
    println!("{}", serde_json::to_string(host.facts()).expect("facts"));
    println!(
        "{}",
        serde_json::to_string(&differences(host.facts())).expect("differences")
    );
    for _ in 0..2 {
        let before = host.read_clocks()?;
        let at = monotonic_ns() + LEAD_NS;
        for (link, reading) in links.iter_mut().zip(&before) {
            let at = reading.offset.theirs(at).expect("a moment of its clock");
            let line = serde_json::to_string(&Order { at, time_ns: PHASE_NS }).expect("an order");
            writeln!(link.to, "{line}")
                .and_then(|()| link.to.flush())
                .expect("told");
        }
        let cpu = cpu_ns();
        let (began, ended) = work(&Order { at, time_ns: PHASE_NS });
        let cpu_ns = cpu_ns() - cpu;
        let answers: Vec<Answer> = links.iter_mut().map(answer).collect();
        let after = host.read_clocks()?;
        let over: Vec<_> = before
            .iter()
            .zip(&after)
            .map(|(one, two)| Reading::over_phase(one, two))
            .collect();
        let theirs = answers.iter().zip(&over).map(|(answer, over)| {
            let window = Window {
                began: answer.began,
                ended: answer.ended,
            };
            window.ours(&over.offset).expect("a window")
        });
        let windows: Vec<Window> = [Window { began, ended }].into_iter().chain(theirs).collect();
        let phase = Phase {
            offsets: over.iter().map(|over| over.offset).collect(),
            drift_ns: over.iter().map(|over| over.drift_ns).collect(),
            round_trip_ns: before.iter().map(|reading| reading.round_trip_ns).collect(),
            overlap: overlap(&windows).expect("windows"),
            ballast: answers.iter().map(|answer| answer.ballast.len()).sum(),
            cpu_ns,
        };
        println!("{}", serde_json::to_string(&phase).expect("figures"));
    }
    Ok(())
}

fn answer(link: &mut Link) -> Answer {
    let mut line = String::new();
    BufReader::new(&mut link.from).read_line(&mut line).expect("a line");
    serde_json::from_str(&line).expect("an answer")
}

/// Processor time of this process so far.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
