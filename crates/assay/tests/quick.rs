//! What `assay quick` would run, as a study, and a study that fills its time: blocks until the decision or the limit.
//!
//! Nothing here depends on a rate of this machine.

use crate::bench::{Bench, model_study};
use ledger::Ledger;

#[test]
fn quick_prints_a_study_that_check_accepts_and_touches_nothing() {
    let bench = Bench::new();
    let before = bench.listing();
    for (nth, args) in [&["quick", "--print"][..], &["quick", "--print", "--no-luns"][..]]
        .into_iter()
        .enumerate()
    {
        let printed = bench.expect(0, args);
        assert!(printed.stderr.is_empty(), "{printed}");
        assert_eq!(bench.listing(), before, "it made something");
        let other = Bench::new();
        let name = format!("quick-{nth}.toml");
        other.write(&name, &printed.stdout);
        let checked = other.expect(0, &["check", &name]);
        assert!(checked.stdout.contains("stack"), "{checked}");
    }
}

#[test]
fn quick_in_two_places_compares_two_directories() {
    let bench = Bench::new();
    for place in ["a", "b"] {
        std::fs::create_dir(bench.path(place)).expect("made");
    }
    let printed = bench.expect(0, &["quick", "--print", "a", "b"]);
    let study = plan::parse(&printed.stdout, std::path::Path::new("quick.toml"));
    let study = study.unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(study.stacks.len(), 2);
    assert!(study.luns.is_empty() && study.fill_time);
}

#[test]
fn what_quick_cannot_ask_is_refused_with_the_cure() {
    let bench = Bench::new();
    for place in ["a", "b"] {
        std::fs::create_dir(bench.path(place)).expect("made");
    }
    bench
        .run(&["quick", "--print", "--no-luns", "a", "b"])
        .failed_with(2, &["--no-luns", "name one directory"]);
    bench
        .run(&["quick", "--print", "a", "b", "./a"])
        .failed_with(2, &["named twice", "name different directories"]);
}

fn blocks(stop_early: bool) -> (u32, u32) {
    let bench = Bench::new();
    // Two simulated devices that are alike, and room for twenty blocks: their time is that of the models.
    let text = model_study(7, 4, &[("one", ""), ("other", "")]);
    let fills = format!("fill_time = true\nstop_early = {stop_early}\n");
    let text = text.replace("blocks = 4\n", &fills);
    let study = plan::parse(&text, std::path::Path::new("fills.toml"));
    let study = study.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let block_ns = plan::estimate(&study, 1 << 30).block_ns;
    let limit = format!("time_limit = \"{}ns\"\n{fills}", block_ns * 20);
    let lines = text.lines().filter(|line| !line.starts_with("time_limit"));
    let without: String = lines.map(|line| format!("{line}\n")).collect();
    bench.write("fills.toml", &without.replace(&fills, &limit));
    bench.expect(0, &["run", "fills.toml", "--quiet", "-o", "fills.assay"]);
    let ledger = Ledger::open(bench.path("fills.assay")).expect("a result");
    let run = ledger
        .trials()
        .expect("trials")
        .iter()
        .map(|trial| trial.block + 1)
        .max();
    (run.expect("blocks"), ledger.study().expect("a study").blocks_planned)
}

#[test]
fn a_study_that_fills_its_time_goes_on_until_the_decision_or_the_limit() {
    let (run, planned) = blocks(false);
    assert_eq!((run, planned), (20, 20), "all that the limit holds");
    let (run, planned) = blocks(true);
    assert_eq!(planned, 20);
    assert!((4..=20).contains(&run), "{run}");
}
