//! Stacks that take turns: what stints remove, what they keep, and that a block is whole or not there, through the
//! whole binary.
//!
//! On simulated devices that drift, in virtual time, and on directories of this host. Prevents: a drift that is taken
//! for a difference of stacks, stints that are counted as repeats, and a phase that is another work because it was
//! interrupted.

use crate::bench::{Bench, Running};
use ledger::{Ledger, Measure, TrialStatus};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Two stacks on a machine that doubles its service time in a minute.
fn drifting(schedule: &str, second: &str) -> String {
    let stack = |name: &str, besides: &str| {
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"32MiB\"\nservice = \"1ms\"\nparallel = 4\n\
             transfer = \"10MB/s\"\ndrift = \"100%\"\n{besides}\n"
        )
    };
    format!(
        "[study]\nname = \"drift\"\nblocks = 4\nseed = 3\ntime_limit = \"2h\"\nschedule = \"{schedule}\"\n\
         stint = \"500ms\"\n{}{}\
         [database]\ncache = \"2MiB\"\nschemas = 4\nscale = \"12MiB\"\nredo_size = \"4MiB\"\ncheckpoint = \"500ms\"\n\
         [[phase]]\nname = \"read\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 8\nwork_unit = 8\ntime = \"4s\"\n\
         [[phase]]\nname = \"updates\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 8\nwork_unit = 8\n\
         time = \"4s\"\n[[phase]]\nname = \"scan\"\nkind = \"scan\"\nusers = 4\n",
        stack("base", ""),
        stack("twin", second)
    )
}

/// What a phase of a stack came to in a block.
struct Figure {
    rate: f64,
    operations: f64,
    commits: f64,
    page_images: f64,
    /// Work of each stint, and when it began after the first.
    stints: Vec<(f64, f64)>,
}

fn figures(path: &Path) -> BTreeMap<(String, u32, String), Figure> {
    let file = Ledger::open(path).expect("a result file");
    let trials = file.trials().expect("trials");
    let measures = file.measures().expect("measures");
    let figure = |phase: &ledger::Phase| {
        let trial = trials
            .iter()
            .find(|trial| trial.id == phase.run.trial)
            .expect("its trial");
        let value = |of: Measure| {
            let mut rows = measures.iter().filter(|row| row.phase == phase.id && row.row.0 == of);
            rows.next().map_or(0.0, |row| row.row.1)
        };
        let samples = file.samples_of(phase.id).expect("samples");
        let series = |name: &str| -> Vec<f64> {
            samples
                .iter()
                .filter(|sample| sample.name == name)
                .map(|sample| sample.value)
                .collect()
        };
        let work = match phase.run.name.as_str() {
            "scan" => value(Measure::EngineReadBytes),
            _ => value(Measure::EngineOperations),
        };
        let figure = Figure {
            rate: work / (phase.run.elapsed_ns + phase.run.drain_ns) as f64,
            operations: value(Measure::EngineOperations),
            commits: value(Measure::EngineCommits),
            page_images: value(Measure::EnginePageImages),
            stints: series("stint.operations")
                .into_iter()
                .zip(series("stint.began_ns"))
                .collect(),
        };
        ((phase.run.name.clone(), trial.block, trial.stack.clone()), figure)
    };
    file.phases().expect("phases").iter().map(figure).collect()
}

/// Root of the mean square of ln(twin / base) over the blocks.
fn scatter(figures: &BTreeMap<(String, u32, String), Figure>, phase: &str) -> f64 {
    let rate = |block, stack: &str| figures[&(phase.to_string(), block, stack.to_string())].rate;
    let squares = (0..4).map(|block| (rate(block, "twin") / rate(block, "base")).ln().powi(2));
    (squares.sum::<f64>() / 4.0).sqrt()
}

fn run(bench: &Bench, schedule: &str, second: &str) -> (serde_json::Value, BTreeMap<(String, u32, String), Figure>) {
    bench.write("drift.toml", &drifting(schedule, second));
    let output = format!("{schedule}-{}.assay", second.len());
    let ran = bench.expect(0, &["run", "drift.toml", "--quiet", "--json", "--output", &output]);
    (ran.json(), figures(&bench.path(&output)))
}

/// The machine gets slower all the time. Whole runs pay for it with their scatter, in turns nobody sees it; and each
/// ratio has the weight of one block under both. An update costs in turns what it costs in whole runs.
#[test]
fn a_drift_scatters_whole_runs_and_not_stints() {
    let bench = Bench::new();
    let (_, whole) = run(&bench, "whole", "");
    let (report, abba) = run(&bench, "abba", "");
    updates_cost_the_same(&whole, &abba);
    for phase in ["read", "updates"] {
        let (whole, abba) = (scatter(&whole, phase), scatter(&abba, phase));
        assert!(whole > 0.05, "{phase}: {whole}");
        assert!(abba < 0.02 && abba < whole / 5.0, "{phase}: {abba} {whole}");
    }
    for ((phase, block, stack), figure) in &abba {
        let sum: f64 = figure.stints.iter().map(|stint| stint.0).sum();
        assert_eq!(sum, figure.operations, "{phase} of {stack} in block {block}");
        if phase != "scan" {
            assert_eq!(figure.stints.len(), 8, "{phase} of {stack} in block {block}");
        }
        assert!(figure.stints.len() > 1, "{phase}: the scan was interrupted and went on");
    }
    let study = &report["report"]["study"];
    assert_eq!(study["schedule"], "abba, in stints of 500ms");
    assert_eq!(study["blocks_valid"], 4, "a stint is no repeat");
    for comparison in report["report"]["comparisons"].as_array().expect("comparisons") {
        assert_eq!(comparison["n"], 4, "{comparison}");
    }
}

/// A planted disadvantage stays what it is.
#[test]
fn a_difference_is_found_in_turns_and_is_as_large_as_planted() {
    let bench = Bench::new();
    let (report, figures) = run(&bench, "abba", crate::bench::LATE);
    let read = |block, stack: &str| figures[&("read".to_string(), block, stack.to_string())].rate;
    for block in 0..4 {
        let ratio = read(block, "twin") / read(block, "base");
        assert!((ratio * 1.2 - 1.0).abs() < 0.03, "block {block}: {ratio}");
    }
    let verdicts = crate::bench::verdicts(&report);
    let read = verdicts.iter().find(|(phase, ..)| phase == "read").expect("a verdict");
    assert_eq!(read.2, "worse", "{verdicts:?}");
}

/// An update writes its page into the log when the page changes for the first time after a checkpoint. Stints end with
/// one, so they must not be shorter than the time between two: then an update is in turns what it is in a whole run.
fn updates_cost_the_same(
    whole: &BTreeMap<(String, u32, String), Figure>,
    abba: &BTreeMap<(String, u32, String), Figure>,
) {
    let [whole, abba] = [whole, abba].map(|figures| {
        let of = |value: fn(&Figure) -> f64| -> f64 {
            figures
                .iter()
                .filter(|((phase, ..), _)| phase == "updates")
                .map(|(_, figure)| value(figure))
                .sum()
        };
        of(|figure| figure.page_images) / of(|figure| figure.commits)
    });
    assert!(
        (abba / whole - 1.0).abs() < 0.1,
        "{abba} page images a commit, {whole} in whole runs"
    );
}

/// Stints that are no longer than an operation are all beginning and end: in that time fewer requests are in flight,
/// and stacks come closer together. That is said, and stints of a second are free of it.
#[test]
fn stints_as_short_as_an_operation_bring_stacks_together_and_that_is_said() {
    let bench = Bench::new();
    let ratio = |stint: &str, schedule: &str| {
        let study = drifting(schedule, "inject = { late = \"100%\" }").replace("\ndrift = \"100%\"", "");
        let study = study.replace("stint = \"500ms\"", &format!("stint = \"{stint}\""));
        let reads = study.split("[[phase]]\nname = \"updates\"").next().unwrap_or_default();
        bench.write("short.toml", reads);
        let output = format!("{schedule}-{stint}.assay");
        bench.expect(0, &["run", "short.toml", "--quiet", "--output", &output]);
        let figures = figures(&bench.path(&output));
        let rate = |block, stack: &str| figures[&("read".to_string(), block, stack.to_string())].rate;
        let ratios = (0..4).map(|block| rate(block, "twin") / rate(block, "base"));
        let events = Ledger::open(bench.path(&output))
            .and_then(|file| file.events())
            .expect("events");
        let said = events.iter().any(|event| event.text.contains("use a longer `stint`"));
        (ratios.sum::<f64>() / 4.0, said)
    };
    let (whole, _) = ratio("1s", "whole");
    let (long, said) = ratio("1s", "abba");
    assert!((long / whole - 1.0).abs() < 0.025 && !said, "{long} {whole}");
    let (short, said) = ratio("10ms", "abba");
    assert!(short / whole > 1.04 && said, "{short} {whole}");
}

const DIRECTORIES: &str = "[study]
name = \"dirs\"
blocks = 4
seed = 3
io = \"pread\"
time_limit = \"3h\"
stint = \"50ms\"
[[stack]]
name = \"one\"
kind = \"directory\"
path = \"one\"
[[stack]]
name = \"two\"
kind = \"directory\"
path = \"two\"
[database]
cache = \"2MiB\"
schemas = 8
scale = \"8MiB\"
redo_size = \"4MiB\"
checkpoint = \"100ms\"
[[phase]]
name = \"read\"
kind = \"random\"
update_pct = 0
sessions = 4
work_unit = 4
time = \"200ms\"
[[phase]]
name = \"updates\"
kind = \"random\"
update_pct = 50
sessions = 4
work_unit = 4
time = \"200ms\"
[[phase]]
name = \"scan\"
kind = \"scan\"
users = 8
";

fn done(path: &Path) -> Vec<(u32, String)> {
    let trials = Ledger::open(path).and_then(|file| file.trials()).unwrap_or_default();
    let done = trials.into_iter().filter(|trial| trial.status == TrialStatus::Done);
    done.map(|trial| (trial.block, trial.stack)).collect()
}

/// Killed in the middle, and taken up again: every block has both stacks once, and nothing is left.
#[test]
fn a_killed_block_is_not_there_and_is_run_again() {
    let bench = Bench::new();
    bench.write("dirs.toml", DIRECTORIES);
    for dir in ["one", "two"] {
        std::fs::create_dir(bench.path(dir)).expect("made");
    }
    let told = bench.expect(0, &["check", "dirs.toml"]).stdout;
    assert!(
        told.contains("abba, in stints of 50ms: the stacks can exist side by side"),
        "{told}"
    );
    let file = bench.path("dirs.assay");
    let mut args = vec!["run", "dirs.toml", "--quiet", "-o", "dirs.assay"];
    for (blocks, signal) in [(1, Signal::KILL), (2, Signal::INT)] {
        let mut running = Running::start(bench.command(&args));
        while done(&file).len() < 2 * blocks && !running.is_over() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(60));
        if !running.is_over() {
            running.signal(signal);
        }
        drop(running.wait());
        let kept = done(&file);
        assert_eq!(kept.len() % 2, 0, "a block is whole or not there: {kept:?}");
        bench.expect(0, &["clean"]);
        args = vec!["run", "dirs.toml", "--quiet", "--resume", "-o", "dirs.assay"];
    }
    bench.expect(0, &args);
    let mut all = done(&file);
    all.sort();
    let expected: Vec<(u32, String)> = (0..4)
        .flat_map(|block| ["one", "two"].map(|stack| (block, stack.to_string())))
        .collect();
    assert_eq!(all, expected);
    for dir in ["one", "two"] {
        let left = std::fs::read_dir(bench.path(dir)).expect("listed").count();
        assert_eq!(left, 0, "{dir}");
    }
    let shown = bench.expect(0, &["report", "dirs.assay", "--full"]).stdout;
    assert!(shown.contains("took turns: abba"), "{shown}");
}
