//! A study that is gone on with after its end: as many blocks again, judged with the error that was kept for them, and
//! an older study of the same stacks that a new one discloses.
//!
//! Prevents: an extension that takes a verdict back or another order of runs, one that cannot be resumed, blocks of two
//! studies, hosts or versions in one file, and a second study of which the report says nothing.

use crate::bench::{Bench, LATE, PATIENCE, Ran, Running, model_study, verdicts};
use crate::rig::limit;
use ledger::{Ending, Ledger};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// A margin this narrow lets twins stay undecided.
fn twins(seed: u64, blocks: u32) -> String {
    model_study(seed, blocks, &[("plain", ""), ("twin", "")]).replace("blocks =", "margin = \"0.1%\"\nblocks =")
}

fn run(bench: &Bench, output: &str) -> Value {
    let args = ["run", "study.toml", "--quiet", "--json", "-o", output];
    bench.expect(0, &args).json()
}

fn extend(bench: &Bench, file: &str) -> Ran {
    bench.run(&["run", "--extend", file, "--quiet", "--json"])
}

fn extended(bench: &Bench, file: &str) -> Value {
    let ran = extend(bench, file);
    assert_eq!(ran.code(), 0, "{ran}");
    ran.json()
}

fn has(report: &Value, verdict: &str) -> bool {
    verdicts(report).iter().any(|(_, _, found)| found == verdict)
}

/// Finished phases that the file tells of.
fn phases(file: &Path) -> usize {
    let phases = Ledger::open(file).and_then(|ledger| ledger.phases());
    phases.map_or(0, |phases| phases.len())
}

/// Changes a finished file and seals it anew.
fn edited(file: &Path, sql: &str) {
    let change = format!("{sql}; DELETE FROM seal; UPDATE study SET ended_unix_ns = NULL;");
    let edit = rusqlite::Connection::open(file).and_then(|file| file.execute_batch(&change));
    edit.expect("edited");
    let ending = Ending {
        at_unix_ns: 1,
        reason: "all planned blocks were run".into(),
    };
    let sealed = Ledger::resume(file).and_then(|mut ledger| ledger.finish(&ending));
    sealed.expect("sealed");
}

#[test]
fn an_extension_adds_blocks_of_the_same_schedule_and_keeps_what_was_said() {
    let bench = Bench::new();
    bench.write("study.toml", &twins(3, 4));
    let first = run(&bench, "twins.assay");
    assert!(has(&first, "not_enough_data"), "nothing is open: {first}");
    // The study stands in the file.
    std::fs::remove_file(bench.path("study.toml")).expect("removed");
    let second = extended(&bench, "twins.assay");
    let head = &second["report"]["study"];
    assert_eq!((&head["blocks_planned"], &head["extensions"]), (&4.into(), &1.into()));
    assert_eq!(head["blocks_valid"], 8);

    let (was, is) = (&first["report"]["looks"], &second["report"]["looks"]);
    let (was, is) = (was.as_array().expect("looks"), is.as_array().expect("looks"));
    assert_eq!((was.len(), is.len()), (1, 2));
    assert_eq!(was[0], is[0], "the first run's look stays what it was");
    // A fifth of the error is kept, and the first extension has a half of it.
    let spent = |look: &Value| look["alpha"].as_f64().expect("a number") * 3.0;
    assert!((spent(&is[0]) - 0.04).abs() < 1e-12 && (spent(&is[1]) - 0.005).abs() < 1e-12);
    for ((phase, stack, before), (_, _, after)) in verdicts(&first).iter().zip(verdicts(&second)) {
        assert!(
            before == "not_enough_data" || *before == after,
            "{stack} in {phase}: {before}, then {after}"
        );
    }

    let ledger = Ledger::open(bench.path("twins.assay")).expect("opened");
    let extensions = ledger.extensions().expect("read");
    assert_eq!(
        (extensions.len(), extensions[0].blocks, extensions[0].after_block),
        (1, 4, 4)
    );
    for trial in ledger.trials().expect("trials") {
        let block = plan::block(3, 2, trial.block);
        assert_eq!(trial.seed, block.seed);
        let stack = block.order[trial.position as usize];
        assert_eq!(trial.stack, ["plain", "twin"][stack], "block {}", trial.block);
    }
    let report = bench.expect(0, &["report", "twins.assay", "--json"]).json();
    assert_eq!(report, second, "the file alone holds the extension");
    let words = bench.expect(0, &["report", "twins.assay"]).stdout;
    assert!(
        words.contains("8 of 8 blocks run, extended once by 4 blocks"),
        "{words}"
    );
    assert_eq!(bench.left_behind(&["twins.assay"]), Vec::<std::path::PathBuf>::new());
}

#[test]
fn there_are_four_extensions_and_no_fifth() {
    let bench = Bench::new();
    let stacks = [("plain", ""), ("twin", "")];
    // Nothing is equivalent without a margin, and twins are not called different.
    let study = model_study(5, 4, &stacks).replace("blocks =", "margin = \"0.001%\"\nblocks =");
    bench.write("study.toml", &study);
    let mut report = run(&bench, "open.assay");
    for number in 1..=4 {
        let said = report["report"]["sentence"].as_str().expect("a sentence").to_string();
        assert!(said.contains("`assay run --extend FILE`"), "{said}");
        report = extended(&bench, "open.assay");
        assert_eq!(report["report"]["study"]["extensions"], number);
    }
    let said = report["report"]["sentence"].as_str().expect("a sentence");
    assert!(said.contains("all extensions are used"), "{said}");
    let spent: f64 = report["report"]["looks"]
        .as_array()
        .expect("looks")
        .iter()
        .map(|look| look["alpha"].as_f64().expect("a number") * 3.0)
        .sum();
    assert!((spent - 0.05).abs() < 1e-12, "{spent}");
    let before = std::fs::read(bench.path("open.assay")).expect("read");
    extend(&bench, "open.assay").failed_with(2, &["all 4 extensions are used", "longer phases"]);
    assert!(std::fs::read(bench.path("open.assay")).expect("read") == before);
}

#[test]
fn what_may_not_be_extended_is_refused_with_the_cure() {
    let bench = Bench::new();
    bench.write("study.toml", &twins(3, 4));
    run(&bench, "open.assay");
    let before = std::fs::read(bench.path("open.assay")).expect("read");
    let refused = |args: &[&str], words: &[&str]| {
        let all = [&["run", "--quiet"], args].concat();
        bench.run(&all).failed_with(2, words);
    };
    refused(&["--extend", "none.assay"], &["none.assay"]);
    refused(&["--extend", "open.assay", "--resume"], &["cannot be used with"]);
    refused(&["--extend", "open.assay", "--scale", "2"], &["leave out --scale"]);
    refused(
        &["--extend", "open.assay", "--seed", "4"],
        &["begun with seed 3, not 4", "leave out --seed"],
    );
    bench.write("study.toml", &twins(4, 4));
    refused(
        &["study.toml", "--extend", "open.assay"],
        &["another study", "start anew"],
    );
    refused(&["--extend", "study.toml"], &["not an Assay result file"]);
    assert!(
        std::fs::read(bench.path("open.assay")).expect("read") == before,
        "a refusal changed the file"
    );

    let copy = |name: &str, sql: &str| {
        std::fs::copy(bench.path("open.assay"), bench.path(name)).expect("copied");
        edited(&bench.path(name), sql);
    };
    copy(
        "host.assay",
        "UPDATE fact SET value = 'elsewhere' WHERE scope = 'host' AND name = 'host'",
    );
    refused(
        &["--extend", "host.assay"],
        &["another host (elsewhere", "go on with it there"],
    );
    copy("version.assay", "UPDATE study SET tool_version = '0.0.9'");
    refused(
        &["--extend", "version.assay"],
        &["assay 0.0.9 ran it", "go on with it by assay 0.0.9"],
    );
    copy("more.assay", "INSERT INTO extension VALUES (1, 40, 4, 1)");
    refused(&["--extend", "more.assay"], &["extensions that no run adds"]);

    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    assert!(!has(&run(&bench, "decided.assay"), "not_enough_data"));
    refused(
        &["--extend", "decided.assay"],
        &["every comparison has its verdict", "assay report decided.assay"],
    );
}

/// What blocks of one file have in common is asked of a file that is resumed, too.
#[test]
fn blocks_of_another_host_kernel_user_or_version_are_not_resumed() {
    let bench = Bench::new();
    bench.write("study.toml", &twins(3, 4));
    run(&bench, "first.assay");
    let of_host = |name: &str| format!("UPDATE fact SET value = 'other' WHERE scope = 'host' AND name = '{name}'");
    for (change, words) in [
        (of_host("host"), ["another host (other", "go on with it there"]),
        (of_host("cpu"), ["another cpu (other", "go on with it there"]),
        (of_host("kernel"), ["another kernel (other", "boot that kernel"]),
        (of_host("user"), ["another user (other", "as that user"]),
        (
            "UPDATE study SET tool_version = '0.0.9'".to_string(),
            ["assay 0.0.9 ran it", "by assay 0.0.9"],
        ),
        (
            "INSERT INTO host VALUES (0, 'a', '6', 1, 1, 'b'), (1, 'c', '6', 1, 1, 'b')".to_string(),
            ["ran on 2 hosts", "start as many ranks"],
        ),
    ] {
        std::fs::copy(bench.path("first.assay"), bench.path("other.assay")).expect("copied");
        edited(&bench.path("other.assay"), &change);
        let before = std::fs::read(bench.path("other.assay")).expect("read");
        for args in [
            &["study.toml", "--resume", "-o", "other.assay"][..],
            &["--extend", "other.assay"],
        ] {
            let ran = bench.run(&[&["run", "--quiet"], args].concat());
            ran.failed_with(2, &[words[0], words[1], "start anew with another --output"]);
        }
        let after = std::fs::read(bench.path("other.assay")).expect("read");
        assert!(before == after, "a refusal changed the file");
    }
}

/// What is found out only when the host is ready: the file keeps its end, its seal and its extensions.
#[test]
fn a_schedule_that_cannot_be_kept_is_refused_before_the_file_is_changed() {
    let bench = Bench::new();
    let stack = |name: &str| {
        let place = bench.path(name);
        std::fs::create_dir(&place).expect("made");
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"directory\"\npath = \"{}\"\n",
            place.display()
        )
    };
    let study = format!(
        "[study]\nname = \"d\"\nquestion = \"Is it refused?\"\nblocks = 4\nseed = 5\ntime_limit = \"{}\"\n\
         margin = \"0.1%\"\nschedule = \"whole\"\n[database]\ncache = \"4MiB\"\nschemas = 4\nscale = \"8MiB\"\n\
         redo_size = \"4MiB\"\n{}{}[[phase]]\nname = \"p\"\nkind = \"random\"\nsessions = 4\nwork_unit = 4\n\
         work_loop = 20\n",
        limit("13s"),
        stack("one"),
        stack("two")
    );
    bench.write("study.toml", &study);
    run(&bench, "d.assay");
    edited(
        &bench.path("d.assay"),
        "UPDATE fact SET value = 'stints abba, 1 s' WHERE scope = 'study' AND name = 'schedule'",
    );
    let before = std::fs::read(bench.path("d.assay")).expect("read");
    let resumed = ["run", "study.toml", "--quiet", "--resume", "-o", "d.assay"];
    bench
        .run(&resumed)
        .failed_with(3, &["which cannot be kept now", "start anew"]);
    assert!(std::fs::read(bench.path("d.assay")).expect("read") == before);
}

#[test]
fn a_killed_extension_goes_on_to_the_same_verdict() {
    let bench = Bench::new();
    bench.write("study.toml", &twins(3, 12).replace("work_loop = 60", "work_loop = 150"));
    run(&bench, "killed.assay");
    std::fs::create_dir(bench.path("whole")).expect("made");
    std::fs::copy(bench.path("killed.assay"), bench.path("whole/whole.assay")).expect("copied");
    let whole = extended(&bench, "whole/whole.assay");

    let file = bench.path("killed.assay");
    let count = phases(&file);
    let mut running = Running::start(bench.command(&["run", "--extend", "killed.assay", "--quiet"]));
    let began = Instant::now();
    while phases(&file) < count + 3 && !running.is_over() {
        assert!(began.elapsed() < PATIENCE, "the extension does not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    running.signal(Signal::KILL);
    running.wait();
    assert!(phases(&file) > count, "finished phases were lost");
    let ended = Ledger::open(&file).and_then(|ledger| ledger.ending()).expect("read");
    if ended.is_none() {
        extend(&bench, "killed.assay").failed_with(2, &["has not ended", "--resume --output killed.assay"]);
    }
    let args = [
        "run",
        "study.toml",
        "--quiet",
        "--json",
        "--resume",
        "-o",
        "killed.assay",
    ];
    let resumed = bench.expect(0, &args).json();
    assert_eq!(resumed["report"]["study"]["extensions"], 1);
    for part in ["comparisons", "looks", "sentence", "go_on"] {
        assert_eq!(resumed["report"][part], whole["report"][part], "{part}");
    }
}

fn older(report: &Value) -> Option<&str> {
    let checks = report["report"]["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["subject"] == "older studies")?;
    assert_eq!(found["status"], "note");
    found["figure"].as_str()
}

#[test]
fn a_new_study_beside_an_older_one_says_so_and_hostile_files_do_not_hurt() {
    let bench = Bench::new();
    bench.write("study.toml", &twins(3, 4));
    let first = run(&bench, "first.assay");
    assert_eq!(older(&first), None);
    // What only looks like a result file: nothing is followed, waited for or said.
    bench.write("garbage.assay", "SQLite format 3\0 and no more");
    bench.write("line\nbreak.assay", "");
    std::fs::create_dir(bench.path("directory.assay")).expect("made");
    std::os::unix::fs::symlink("first.assay", bench.path("link.assay")).expect("linked");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.path("pipe.assay"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("made");
    std::fs::copy(bench.path("first.assay"), bench.path("damaged.assay")).expect("copied");
    let damage = rusqlite::Connection::open(bench.path("damaged.assay"));
    let damage = damage.and_then(|file| file.execute_batch("CREATE TABLE other (x)"));
    damage.expect("damaged");

    // Another seed and another number of blocks is another text, and the same stacks.
    bench.write("study.toml", &twins(4, 6));
    let ran = bench.expect(0, &["run", "study.toml", "--json", "-o", "second.assay"]);
    let line = "an older study of the same stacks exists: first.assay; a verdict of the better of two is not protected";
    assert_eq!(ran.stderr.matches(line).count(), 1, "{ran}");
    assert!(ran.stderr.contains("assay run --extend first.assay"), "{ran}");
    assert_eq!(
        older(&ran.json()),
        Some("an older study of the same stacks exists: first.assay")
    );
    assert_eq!(
        older(&bench.expect(0, &["report", "second.assay", "--json"]).json()),
        older(&ran.json())
    );

    // Other stacks are another question.
    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    assert_eq!(older(&run(&bench, "other.assay")), None);
}
