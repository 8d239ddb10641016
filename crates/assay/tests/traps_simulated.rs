//! The traps that need nothing, on simulated devices and in files told again: set beside all other tests, for no
//! neighbour can touch them.
//!
//! Prevents: tests that measure on this machine, which work alone, and would wait for these.

use crate::bench::Bench;
use crate::traps::{asked_file, hold, modelled, now, simulated};

#[test]
fn what_is_invalid_is_shown_and_not_ranked_and_ends_with_1_where_asked() {
    let bench = Bench::new();
    bench.write("invalid.toml", &modelled::half_cached());
    let run = |name: &str, more: &[&str]| {
        let usual = ["run", "invalid.toml", "--quiet", "--json", "--output", name];
        bench.run(&[&usual, more].concat())
    };
    assert_eq!(run("asked.assay", &["--fail-on", "worse"]).code(), 0);
    let ran = run("fails.assay", &["--fail-on", "invalid"]);
    assert_eq!(ran.code(), 1, "{ran}");
    let report = &bench.expect(0, &["report", "fails.assay", "--json"]).json()["report"];
    let cells = report["phases"][0]["cells"].as_array().expect("cells");
    let shown = |stack: &str| {
        let cell = cells.iter().find(|cell| cell["stack"] == stack).expect("a cell");
        cell["operations_per_s"]["median"].as_f64().expect("a rate")
    };
    assert!(shown("cached") > shown("honest"), "what is INVALID is shown: {cells:?}");
    let compared = report["comparisons"].as_array().expect("comparisons");
    assert!(
        compared.iter().all(|one| one["stack"] != "cached"),
        "and not ranked: {compared:?}"
    );
    assert!(
        compared.iter().any(|one| one["stack"] == "again"),
        "the others are: {compared:?}"
    );
    let unranked = report["unranked"].as_array().expect("unranked");
    assert!(unranked.iter().any(|one| one["stack"] == "cached"), "{unranked:?}");
}

#[test]
fn every_simulated_trap_is_caught_and_no_honest_twin_is_flagged() {
    if asked_file().is_some() {
        eprintln!("skipped: the traps on this machine are asked for with these among them");
        return;
    }
    let at = now();
    hold(&simulated(&Bench::new()), at);
}
