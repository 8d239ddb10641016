//! `assay compare` over files of real runs on models in virtual time.
//!
//! Prevents: two runs judged as one study, and a file that cannot be read taken for one with nothing in it.

use crate::bench::{Bench, LATE, model_study};

fn run(bench: &Bench, seed: u64, output: &str) {
    bench.write("study.toml", &model_study(seed, 4, &[("plain", ""), ("late", LATE)]));
    bench.expect(0, &["run", "study.toml", "--quiet", "-o", output]);
}

#[test]
fn two_runs_stand_side_by_side_and_what_cannot_is_refused() {
    let bench = Bench::new();
    run(&bench, 1, "a.assay");
    run(&bench, 2, "b.assay");
    let found = bench.expect(0, &["compare", "a.assay", "b.assay", "--json"]).json();
    let found = &found["comparison"];
    assert!(found["no_verdict"].is_string() && found["sentence"].as_str().unwrap().starts_with("No verdict"));
    let report = bench.expect(0, &["report", "b.assay", "--json"]).json();
    for one in found["ratios"].as_array().expect("ratios") {
        let of = |own: &&serde_json::Value| own["phase"] == one["phase"] && own["stack"] == one["stack"];
        let own = report["report"]["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .find(of)
            .unwrap();
        for key in ["ratio", "low", "high", "verdict"] {
            assert_eq!(one["ratios"][1][key], own[key], "{key} as in the file's own report");
        }
        assert!(one["changes"][1]["low"].as_f64() <= one["changes"][1]["high"].as_f64());
    }
    assert_eq!(found["ratios"].as_array().unwrap().len(), 3);
    let text = bench.expect(0, &["compare", "a.assay", "b.assay"]).stdout;
    assert!(
        text.contains("B / A") && text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    bench.expect(0, &["compare", "a.assay", "b.assay", "--html", "page.html"]);
    bench
        .run(&["compare", "a.assay"])
        .failed_with(2, &["name two result files"]);
    bench
        .run(&["compare", "a.assay", "a.assay"])
        .failed_with(2, &["same run in the same state"]);
    bench
        .run(&["compare", "a.assay", "none.assay"])
        .failed_with(2, &["no such result file"]);
    bench.write("other.assay", "no result");
    bench
        .run(&["compare", "a.assay", "other.assay"])
        .failed_with(2, &["not an Assay result file"]);
    let ours = ledger::SCHEMA_VERSION;
    let only = format!("reads version {ours} only");
    for (version, words) in [
        (ours - 1, only.as_str()),
        (99, "use the version of assay that wrote it"),
    ] {
        std::fs::copy(bench.path("b.assay"), bench.path("c.assay")).expect("copied");
        let file = rusqlite::Connection::open(bench.path("c.assay")).expect("opened");
        file.pragma_update(None, "user_version", version).expect("changed");
        drop(file);
        bench
            .run(&["compare", "a.assay", "c.assay"])
            .failed_with(2, &["c.assay", words]);
    }
}
