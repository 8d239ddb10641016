//! What the disk below a loop device really read while a study ran: by the kernel's counters, read here and not by the
//! tool.
//!
//! What a neighbour reads from the disk below counts for the stack, there is no telling whose it was. So a page cache
//! that serves a direct run may go unseen on a disk that others use. Prevents: a real miss that is taken for a
//! neighbour's work, because somebody used some disk at some time.

use crate::rig::Rig;
use crate::traps::on_devices::BELOW;
use crate::traps::placed::report;
use crate::traps::sheet::{Judged, at};
use ledger::{Ledger, Measure};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Phases last 150 ms: a look costs a few microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Half of what the line allows: below it, no neighbour can have hidden anything.
const QUIET_SHARE: f64 = 0.05;

/// What the first look's phases last.
pub(crate) const PHASE: Duration = Duration::from_millis(150);

/// How often it is set, where it is not caught at once.
const LOOKS: usize = 4;

/// Bytes that disks have read since boot, from time to time; times in nanoseconds since 1970.
struct Account(Vec<(u64, u64)>);

impl Account {
    /// Bytes read in a time, from the last look before it to the first after it.
    fn read(&self, from_ns: u64, to_ns: u64) -> u64 {
        let before = self.0.iter().rev().find(|(at, _)| *at <= from_ns);
        let after = self.0.iter().find(|(at, _)| *at >= to_ns);
        let bytes = |look: Option<&(u64, u64)>| look.expect("looked at before and after").1;
        bytes(after) - bytes(before)
    }
}

/// Looks until it is told to stop.
struct Watch {
    over: Arc<AtomicBool>,
    looks: JoinHandle<Vec<(u64, u64)>>,
}

impl Watch {
    fn start(disks: &[String]) -> Watch {
        let files: Vec<String> = disks
            .iter()
            .map(|disk| format!("/sys/class/block/{disk}/stat"))
            .collect();
        let over = Arc::new(AtomicBool::new(false));
        let looks = std::thread::spawn({
            let over = over.clone();
            move || {
                let mut looks = Vec::new();
                loop {
                    // Asked before the look: the last one is after all that is asked about.
                    let is_last = over.load(Ordering::Relaxed);
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
                    looks.push((now.as_nanos() as u64, files.iter().map(|file| bytes_read(file)).sum()));
                    if is_last {
                        return looks;
                    }
                    std::thread::sleep(LOOK_EVERY);
                }
            }
        });
        Watch { over, looks }
    }

    fn stop(self) -> Account {
        self.over.store(true, Ordering::Relaxed);
        Account(self.looks.join().expect("looked"))
    }
}

/// The third field: sectors of 512 bytes read.
fn bytes_read(stat: &str) -> u64 {
    let text = std::fs::read_to_string(stat).expect("read");
    let sectors = text.split_whitespace().nth(2).expect("a field");
    sectors.parse::<u64>().expect("sectors") * 512
}

/// A report, and what the disk below the rig read in the phases `work` of stack `two`, over what was asked for in them.
pub(crate) struct Look {
    pub(crate) report: Value,
    read_share: f64,
}

/// Runs a study and looks at the disk meanwhile.
pub(crate) fn look(rig: &Rig, name: &str, study: &str) -> Look {
    let watch = Watch::start(&disks(rig));
    let report = report(rig, name, study);
    let account = watch.stop();
    Look {
        report,
        read_share: read_share(&rig.result(name), &account),
    }
}

fn disks(rig: &Rig) -> Vec<String> {
    observers::lineage(&rig.path("")).expect("a place").lowest
}

fn read_share(result: &Path, account: &Account) -> f64 {
    let ledger = Ledger::open(result).expect("a result");
    let trials = ledger.trials().expect("trials");
    let measures = ledger.measures().expect("measures");
    let phases = ledger.phases().expect("phases");
    let spans: Vec<(u64, u64)> = phases.iter().map(|phase| span(&phase.run)).collect();
    let (mut read, mut asked) = (0, 0.0);
    for phase in &phases {
        let mine = |trial: &ledger::Trial| trial.id == phase.run.trial && trial.stack == "two";
        if phase.run.name != "work" || !trials.iter().any(mine) {
            continue;
        }
        // The tool reads its counters somewhere between two phases, on a busy machine well before and after its own.
        let (began, ended) = span(&phase.run);
        let before = spans.iter().map(|span| span.1).filter(|at| *at <= began).max();
        let after = spans.iter().map(|span| span.0).filter(|at| *at >= ended).min();
        read += account.read(before.unwrap_or(began), after.unwrap_or(ended));
        let of = measures
            .iter()
            .find(|one| one.phase == phase.id && one.row.0 == Measure::EngineReadBytes);
        asked += of.expect("what was asked").row.1;
    }
    assert!(asked > 0.0, "nothing was read");
    read as f64 / asked
}

/// When a phase began and ended with its drain, in nanoseconds since 1970.
fn span(run: &ledger::PhaseRun) -> (u64, u64) {
    (run.began_unix_ns, run.began_unix_ns + run.elapsed_ns + run.drain_ns)
}

/// On a disk that others use it is set again, longer each time: what the cache serves grows, what a neighbour's burst
/// reads does not. Where the disk read next to nothing and the line is missing, it is
/// missed; where others read from it each time, it cannot be set.
pub(crate) fn judged(rig: &Rig, first: Look, again: impl Fn(Duration) -> String) -> Judged {
    if disks(rig).is_empty() {
        return BELOW.not_set("no disk is visible below the rig's place");
    }
    let (mut look, mut missed, mut least) = (first, None, f64::INFINITY);
    for nth in 1..=LOOKS {
        let judged = BELOW.judge((&look.report, at("two", "work")), (&look.report, at("one", "work")));
        if judged.wrong().is_none() {
            return judged;
        }
        least = least.min(look.read_share);
        eprintln!(
            "look {nth} at {}: the disk read {:.3} of what was asked",
            BELOW.name, look.read_share
        );
        if judged.caught.is_some() || look.read_share < QUIET_SHARE {
            missed = Some(judged);
        }
        if nth < LOOKS {
            let study = again(PHASE * 3_u32.pow(nth as u32));
            look = self::look(rig, &format!("served{nth}"), &study);
        }
    }
    missed.unwrap_or_else(|| {
        BELOW.not_set(&format!(
            "others use the disk below: during its own phases it read {:.0} % of what was asked, or more",
            least * 100.0
        ))
    })
}
