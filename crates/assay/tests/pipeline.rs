//! The whole pipeline on simulated devices: the same study gives the same report to the last byte, the result file
//! alone holds it, and a run that was stopped, gently or not, goes on to the verdict it would have had.
//!
//! Prevents: a report that depends on anything but the result file, and a resumed run that is another run.

use crate::bench::{Bench, LATE, Ran, Running, model_study, verdicts, without_the_run};
use ledger::Ledger;
use rustix::process::Signal;
use std::path::Path;
use std::time::{Duration, Instant};

/// Twelve blocks: a margin this narrow lets twins stay undecided to the end. Takes some seconds.
fn long_study(seed: u64) -> String {
    let stacks = [("plain", ""), ("twin", ""), ("late", LATE)];
    let text = model_study(seed, 12, &stacks).replace("blocks =", "margin = \"0.1%\"\nblocks =");
    text.replace("work_loop = 60", "work_loop = 150")
}

fn run(bench: &Bench, output: &str) -> Ran {
    bench.expect(0, &["run", "study.toml", "--quiet", "--json", "-o", output])
}

/// Finished phases that the file tells of; none while it is not there.
fn phases(file: &Path) -> usize {
    Ledger::open(file)
        .and_then(|ledger| ledger.phases())
        .map_or(0, |phases| phases.len())
}

/// Starts the study, and stops it by this signal once so many phases stand in its file. A busy machine may see that too
/// late, when the study is at its end: then it is started anew.
fn stopped_at(bench: &Bench, output: &str, count: usize, signal: Signal) -> Ran {
    for _ in 0..10 {
        let mut running = Running::start(bench.command(&["run", "study.toml", "--quiet", "-o", output]));
        let began = Instant::now();
        while phases(&bench.path(output)) < count && !running.is_over() {
            let waited = began.elapsed();
            assert!(waited < crate::bench::PATIENCE, "{count} phases were not reached");
            std::thread::sleep(Duration::from_millis(2));
        }
        if !running.is_over() {
            running.signal(signal);
        }
        let ran = running.wait();
        if ran.code() != 0 {
            return ran;
        }
        std::fs::remove_file(bench.path(output)).expect("removed");
    }
    panic!("it ended each time before it could be stopped: make the study longer");
}

#[test]
fn the_same_study_gives_the_same_report() {
    let bench = Bench::new();
    bench.write(
        "study.toml",
        &model_study(7, 4, &[("plain", ""), ("late", LATE), ("cached", "cached = \"100%\"")]),
    );
    // In directories of their own: a study says which older ones of its stacks lie beside it.
    for dir in ["one", "two", "three"] {
        std::fs::create_dir(bench.path(dir)).expect("made");
    }
    let (first, second) = (run(&bench, "one/first.assay"), run(&bench, "two/second.assay"));
    assert_ne!(first.json(), second.json(), "each run has a name of its own");
    let (first, second) = (without_the_run(&first.json()), without_the_run(&second.json()));
    assert_eq!(first.to_string(), second.to_string());
    assert_eq!(
        bench.expect(0, &["report", "one/first.assay", "--full"]).stdout,
        bench.expect(0, &["report", "two/second.assay", "--full"]).stdout,
        "in words too"
    );
    // Another seed is another run of luck.
    bench.write(
        "study.toml",
        &model_study(8, 4, &[("plain", ""), ("late", LATE), ("cached", "cached = \"100%\"")]),
    );
    let other = without_the_run(&run(&bench, "three/other.assay").json());
    assert_ne!(first["report"]["phases"], other["report"]["phases"]);
    assert_eq!(
        bench.left_behind(&["study.toml", "one", "two", "three"]),
        Vec::<std::path::PathBuf>::new()
    );
}

#[test]
fn the_file_alone_holds_the_report() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    let forms: [&[&str]; 3] = [&["--full"], &["--json"], &["--markdown"]];
    for (number, form) in forms.into_iter().enumerate() {
        let output = format!("{number}.assay");
        let mut args = vec!["run", "study.toml", "--quiet", "-o", &output];
        args.extend(form);
        let ran = bench.expect(0, &args);
        std::fs::create_dir(bench.path("elsewhere")).expect("made");
        std::fs::copy(bench.path(&output), bench.path("elsewhere/copy.assay")).expect("copied");
        std::fs::remove_file(bench.path(&output)).expect("removed");
        let before = std::fs::read(bench.path("elsewhere/copy.assay")).expect("read");
        let mut args = vec!["report", "elsewhere/copy.assay"];
        args.extend(form);
        assert_eq!(bench.expect(0, &args).stdout, ran.stdout, "report {form:?} of a copy");
        let after = std::fs::read(bench.path("elsewhere/copy.assay")).expect("read");
        assert!(before == after, "a report changes the file it reads");
        std::fs::remove_dir_all(bench.path("elsewhere")).expect("removed");
    }
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_verdict() {
    let bench = Bench::new();
    bench.write("study.toml", &long_study(3));
    let whole = run(&bench, "whole.assay").json();
    for (number, signal) in [Signal::INT, Signal::TERM].into_iter().enumerate() {
        let output = format!("stopped-{number}.assay");
        let ran = stopped_at(&bench, &output, 20, signal);
        ran.failed_with(3, &["interrupted", "--resume", &format!("assay report {output}")]);
        let kept = phases(&bench.path(&output));
        assert!(kept >= 20, "{kept} phases are kept");
        let partial = bench.expect(0, &["report", &output, "--json"]).json();
        assert_eq!(partial["report"]["study"]["ended"], serde_json::Value::Null);

        let resumed = bench
            .expect(
                0,
                &["run", "study.toml", "--quiet", "--json", "--resume", "-o", &output],
            )
            .json();
        assert_eq!(resumed["report"]["comparisons"], whole["report"]["comparisons"]);
        assert_eq!(resumed["report"]["sentence"], whole["report"]["sentence"]);
        assert_eq!(resumed["report"]["study"]["ended"], whole["report"]["study"]["ended"]);
        assert!(phases(&bench.path(&output)) > kept, "nothing was run after --resume");
    }
}

#[test]
fn a_killed_run_keeps_what_had_finished() {
    let bench = Bench::new();
    bench.write("study.toml", &long_study(4));
    let whole = run(&bench, "whole.assay").json();
    assert!(!verdicts(&whole).is_empty());
    let mut kept = 0;
    // Killed again and again in one file, each time a little later.
    let mut args = vec!["run", "study.toml", "--quiet", "-o", "killed.assay"];
    for round in 0..if crate::machine::is_full() { 20 } else { 5 } {
        let mut running = Running::start(bench.command(&args));
        while phases(&bench.path("killed.assay")) < kept + 1 + round && !running.is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !running.is_over() {
            running.signal(Signal::KILL);
        }
        let ran = running.wait();
        if ran.code() == 0 {
            // A busy machine saw too late that it was time to kill: the study is at its end.
            assert!(round > 0, "ended before the first kill");
            break;
        }
        assert_eq!(ran.code(), -1, "killed by a signal\n{ran}");
        let now = phases(&bench.path("killed.assay"));
        assert!(now > kept, "finished phases were lost: {now} after {kept}");
        kept = now;
        bench.expect(0, &["report", "killed.assay"]);
        args = vec!["run", "study.toml", "--quiet", "--resume", "-o", "killed.assay"];
    }
    args.push("--json");
    let resumed = bench.expect(0, &args).json();
    assert_eq!(resumed["report"]["comparisons"], whole["report"]["comparisons"]);
    assert_eq!(resumed["report"]["sentence"], whole["report"]["sentence"]);
    bench.expect(0, &["clean"]);
    assert_eq!(
        bench.left_behind(&["study.toml", "whole.assay", "killed.assay"]),
        Vec::<std::path::PathBuf>::new()
    );
}

#[test]
fn what_cannot_be_resumed_or_written_is_refused() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    run(&bench, "done.assay");
    let before = std::fs::read(bench.path("done.assay")).expect("read");

    let again = bench.run(&["run", "study.toml", "-o", "done.assay"]);
    again.failed_with(2, &["done.assay exists already", "--resume", "--output"]);
    let nothing = bench.run(&["run", "study.toml", "-o", "none.assay", "--resume"]);
    nothing.failed_with(2, &["none.assay does not exist", "leave out --resume"]);
    let scaled = bench.run(&["run", "study.toml", "-o", "done.assay", "--resume", "--scale", "2"]);
    scaled.failed_with(2, &["done.assay", "other values", "--scale"]);
    bench.write("study.toml", &model_study(8, 4, &[("plain", ""), ("late", LATE)]));
    let other = bench.run(&["run", "study.toml", "-o", "done.assay", "--resume"]);
    other.failed_with(2, &["done.assay", "another study", "start anew"]);
    let foreign = bench.run(&["run", "study.toml", "-o", "study.toml", "--resume"]);
    foreign.failed_with(2, &["study.toml", "not an Assay result file"]);

    assert!(
        std::fs::read(bench.path("done.assay")).expect("read") == before,
        "a refusal changed the file"
    );
    assert!(!bench.path("none.assay").exists());
}

#[test]
fn a_finished_run_resumed_says_the_same_again() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    let first = run(&bench, "done.assay").json();
    let again = bench
        .expect(
            0,
            &["run", "study.toml", "--quiet", "--json", "--resume", "-o", "done.assay"],
        )
        .json();
    // But for the end, which is written anew, and the file's seal with it.
    assert_eq!(without_the_run(&first).to_string(), without_the_run(&again).to_string());
}
