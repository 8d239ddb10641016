//! A run that is killed or interrupted at any moment: the host comes back to what it was, finished phases are kept, and
//! the study can be completed. Needs root, loop devices, mkfs.ext4, mkfs.xfs and mkfs.btrfs.
//!
//! The moments come from a seed (`ASSAY_TEST_SEED`, printed with a failure); `ASSAY_TEST_SIZE=full` tries more of them.

use crate::machine::is_full;
use crate::rig::{Rig, Running, blocks, limit, text};
use ledger::{Ledger, PhaseStatus, TrialStatus};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

const TOOLS: [&str; 3] = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
const STACKS: usize = 3;
const PHASES: usize = 2;
/// A run is killed at the latest after this; by then a whole block and more is done on an idle machine.
const LATEST_MS: u64 = 6_000;

fn study(dir: &Path) -> String {
    let stack = |kind: &str| format!("[[stack]]\nname = \"{kind}\"\nkind = \"{kind}\"\ndata = \"data\"\n");
    let limit = limit("5s");
    format!(
        r#"
[study]
name = "killed"
question = "Does the host come back?"
time_limit = "{limit}"
blocks = 4
seed = 5
io = "ring"
[luns.data]
files = {{ count = 1, size = "320MiB", dir = "{}" }}
[memory]
budget = "160MiB"
{}{}{}
[database]
cache = "8MiB"
schemas = 8
scale = "32MiB"
redo_size = "16MiB"
checkpoint = "100ms"
[[phase]]
name = "updates"
kind = "random"
update_pct = 50
sessions = 8
work_unit = 4
time = "200ms"
[[phase]]
name = "scan"
kind = "scan"
users = 2
time = "200ms"
"#,
        dir.display(),
        stack("ext4"),
        stack("xfs"),
        stack("btrfs")
    )
}

fn seed() -> u64 {
    let given = std::env::var("ASSAY_TEST_SEED").ok().and_then(|s| s.parse().ok());
    given.unwrap_or(20_260_101)
}

/// Phases that the result file has, and whether all of them are whole. No file, or one that was killed before the study
/// was in it: none.
fn recorded(result: &Path) -> usize {
    let Ok(ledger) = Ledger::open(result) else { return 0 };
    let phases = ledger.phases().expect("phases");
    for phase in &phases {
        assert!(
            !matches!(phase.run.status, PhaseStatus::Failed(_)),
            "a kill is no failure: {:?}",
            phase.run
        );
        assert!(phase.run.elapsed_ns > 0, "half a phase: {:?}", phase.run);
    }
    let measured: std::collections::BTreeSet<_> = ledger
        .measures()
        .expect("measures")
        .into_iter()
        .map(|m| m.phase)
        .collect();
    assert_eq!(measured.len(), phases.len(), "every phase has its measures");
    phases.len()
}

/// What every study must have when it is done: every stack in every block, each phase once.
fn assert_complete(result: &Path) {
    let ledger = Ledger::open(result).expect("opens");
    assert!(ledger.ending().expect("ending").is_some(), "the study has ended");
    let trials = ledger.trials().expect("trials");
    let done: Vec<_> = trials.iter().filter(|t| t.status == TrialStatus::Done).collect();
    let mut places: Vec<_> = done.iter().map(|t| (t.block, t.stack.clone())).collect();
    places.sort();
    let whole = places.len();
    places.dedup();
    assert_eq!(places.len(), whole, "no stack was done twice in a block");
    let begun = places.last().map_or(0, |(block, _)| block + 1);
    assert!(begun >= blocks(), "{places:?}");
    for block in 0..begun {
        assert_eq!(
            places.iter().filter(|(b, _)| *b == block).count(),
            STACKS,
            "block {block}"
        );
    }
    assert!(
        trials.iter().all(|t| t.status != TrialStatus::Running),
        "nothing is under way"
    );
    let phases = ledger.phases().expect("phases");
    for trial in done {
        assert_eq!(
            phases.iter().filter(|p| p.run.trial == trial.id).count(),
            PHASES,
            "trial {trial:?}"
        );
    }
}

/// A study under way over several runs.
struct Story<'a> {
    rig: &'a Rig,
    number: u32,
    kept: usize,
    pids: Vec<u32>,
    random: Xoshiro256PlusPlus,
}

impl Story<'_> {
    fn result(&self) -> std::path::PathBuf {
        self.rig.result(&format!("killed-{}", self.number))
    }

    fn start(&mut self) -> Running {
        let result = self.result();
        // A run that died before it had a result file is begun anew; an empty file says so itself.
        if std::fs::metadata(&result).is_ok_and(|m| m.len() == 0) {
            std::fs::remove_file(&result).expect("removed");
        }
        let study = self.rig.path("killed.toml");
        let more: &[&str] = if result.exists() {
            &["--resume", "--json"]
        } else {
            &["--json"]
        };
        let running = Running::start(self.rig.run_command(&study, &result, more));
        self.pids.push(running.pid());
        running
    }

    fn some_time(&mut self, from_ms: u64) -> Duration {
        Duration::from_millis(from_ms + self.random.next_u64() % (LATEST_MS - from_ms))
    }

    /// The result file opens, and nothing that had been seen in it is lost.
    fn look_at_result(&mut self, at_least: usize) {
        let result = self.result();
        let now = recorded(&result);
        assert!(
            now >= self.kept.max(at_least),
            "{now} phases, and {} were there",
            self.kept.max(at_least)
        );
        self.kept = now;
        if now > 0 {
            let report = Running::start(self.rig.assay(&["report", text(&result), "--json"])).wait();
            report.expect(0, &[]);
            assert!(report.stdout.starts_with('{'), "{}", report.stdout);
        }
    }

    /// The next run begins a new study when this one is done.
    fn turn_page(&mut self) {
        assert_complete(&self.result());
        self.number += 1;
        self.kept = 0;
    }

    fn complete(mut self) {
        let ran = self.start().wait();
        ran.expect(0, &[]);
        assert_complete(&self.result());
    }
}

fn story(rig: &Rig, salt: u64) -> Story<'_> {
    rig.study("killed", &study(&rig.work()));
    let seed = seed() ^ salt;
    // Shown when the test fails: the same moments come again with it.
    eprintln!("ASSAY_TEST_SEED={}", self::seed());
    Story {
        rig,
        number: 0,
        kept: 0,
        pids: Vec::new(),
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
    }
}

#[test]
fn a_killed_run_is_cleaned_up_after_and_completed() {
    let Some(rig) = Rig::new(&TOOLS) else { return };
    let before = rig.belongings(&[]);
    let mut story = story(&rig, 0);
    let mut killed = 0;
    let wanted = if is_full() { 20 } else { 4 };
    while killed < wanted {
        let mut running = story.start();
        let moment = story.some_time(0);
        let at_work = running.let_run(moment);
        let seen = recorded(&story.result());
        running.signal(Signal::KILL);
        let pid = running.pid();
        let ran = running.wait();
        if !at_work {
            ran.expect(0, &[]);
            story.turn_page();
            continue;
        }
        killed += 1;
        let cleaned = Running::start(rig.assay(&["clean"])).wait();
        cleaned.expect(0, &[]);
        assert!(!cleaned.stdout.contains("FAILED"), "{}", cleaned.stdout);
        assert_eq!(
            rig.belongings(&story.pids),
            before,
            "process {pid}, killed after {moment:?}:\n{}",
            cleaned.stdout
        );
        story.look_at_result(seen);
    }
    story.complete();
    assert_eq!(rig.belongings(&[]), before);
}

#[test]
fn an_interrupted_run_leaves_nothing_and_is_completed() {
    let Some(rig) = Rig::new(&TOOLS) else { return };
    let before = rig.belongings(&[]);
    let mut story = story(&rig, 1);
    let mut interrupted = 0;
    let wanted = if is_full() { 8 } else { 2 };
    while interrupted < wanted {
        let mut running = story.start();
        // Not before the handler stands: then it is an ordinary death with nothing to undo.
        let moment = story.some_time(300);
        let at_work = running.let_run(moment);
        let seen = recorded(&story.result());
        running.signal(if interrupted % 2 == 0 {
            Signal::INT
        } else {
            Signal::TERM
        });
        let ran = running.wait();
        if !at_work || ran.code() == 0 {
            ran.expect(0, &[]);
            story.turn_page();
            continue;
        }
        interrupted += 1;
        ran.expect(3, &[]);
        let said = ran.stderr.contains("interrupted") || ran.stderr.contains("was stopped");
        assert!(said, "after {moment:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("--resume") || ran.stderr.contains("run again"),
            "{}",
            ran.stderr
        );
        assert_eq!(rig.belongings(&story.pids), before, "interrupted after {moment:?}");
        story.look_at_result(seen);
    }
    story.complete();
    assert_eq!(rig.belongings(&[]), before);
}

/// `timeout` of coreutils sends one signal to the process and at once another one to its group.
#[test]
fn two_signals_at_once_are_one_order_and_leave_nothing() {
    let Some(rig) = Rig::new(&TOOLS) else { return };
    let before = rig.belongings(&[]);
    let mut story = story(&rig, 2);
    let mut running = story.start();
    let mounts = || std::fs::read_to_string("/proc/self/mounts").expect("read");
    // A file system is mounted: what an end without undo would leave.
    while !mounts().contains(text(&rig.work())) {
        let at_work = running.let_run(Duration::from_millis(20));
        assert!(at_work, "it ended before it built a stack");
    }
    running.signal(Signal::TERM);
    running.let_run(Duration::from_millis(1));
    running.signal(Signal::TERM);
    let ran = running.wait();
    ran.expect(3, &[]);
    assert_eq!(rig.belongings(&story.pids), before, "{}", ran.stderr);
}
