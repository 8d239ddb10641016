//! What recorded blocks of twins say as studies, and what of them is refused: simulated devices, in virtual time.

use super::bench::{Bench, LATE, twins_study};
use serde_json::Value;

const TWINS: [&str; 4] = ["twins", "--studies", "2000", "twins.assay"];

#[test]
fn recordings_of_one_study_are_put_together_and_others_are_refused() {
    let bench = Bench::new();
    bench.record("twins.assay", &twins_study(24, 5, ["", ""]));
    let words = bench.told(&TWINS);
    assert!(
        words.stdout.contains("24 blocks are 2 studies of 12") && words.is_narrow(),
        "{words}"
    );
    let of_one = bench.told(&[&TWINS[..], &["--json"]].concat()).json();
    let as_run = &of_one["designs"][0]["false_verdicts_as_run"];
    assert_eq!(as_run["of"], 6, "24 blocks are six studies of four");
    let beside = of_one["time_to_verdict"]["rows"].as_array().expect("rows");
    assert!(
        beside
            .iter()
            .all(|row| row["time_ratio"].as_f64().expect("a ratio") > 0.0)
    );
    let refused = |files: &[&str], why: &[&str]| bench.ask(&[&TWINS[..], files].concat()).failed_with(2, why);
    refused(
        &["twins.assay"],
        &["twins.assay", "the same recording again", "each recording once"],
    );
    let again = twins_study(24, 6, ["", ""]);
    bench.record("again.assay", &again);
    let twice: Value =
        serde_json::from_str(&bench.ask(&[&TWINS[..], &["again.assay", "--json"]].concat()).stdout).expect("JSON");
    assert_eq!(twice["blocks_recorded"], 48);
    assert_eq!(twice["designs"][0]["false_verdicts_as_run"]["of"], 12);
    assert_eq!(
        twice["designs"].as_array().map(Vec::len),
        Some(5),
        "two studies of 24 blocks"
    );
    bench.record("larger.assay", &again.replace("parallel = 4", "parallel = 8"));
    refused(
        &["larger.assay"],
        &["larger.assay", "something else than the first", "parallel"],
    );
    bench.record("late.assay", &twins_study(4, 7, ["", LATE]));
    refused(&["late.assay"], &["late.assay", "not alike: planted disadvantage"]);
    bench.ask(&["twins"]).failed_with(2, &["FILE"]);
}

/// A slowdown that is planted below one twin is found as the twins' own blocks say, and only there.
#[test]
fn a_planted_slowdown_is_found_by_studies_as_they_were_run() {
    let bench = Bench::new();
    bench.record("twins.assay", &twins_study(24, 5, ["", ""]));
    bench.record("late.assay", &twins_study(24, 6, ["", LATE]));
    bench.record("also.assay", &twins_study(24, 7, ["", LATE]));
    let words = bench.told(&[&TWINS[..], &["--slowed", "late.assay"]].concat());
    assert!(words.is_narrow(), "{words}");
    assert!(words.stdout.contains("other: a device slowed down by 20 %"), "{words}");
    let both = ["--slowed", "late.assay", "--slowed", "also.assay", "--json"];
    let told = bench.told(&[&TWINS[..], &both].concat()).json();
    let slowed = &told["slowed"];
    assert_eq!(slowed["blocks_recorded"], 48);
    let is_slower = |phase: &Value| {
        let ratio = phase["ratio"].as_f64().expect("a ratio");
        // About the planted one where the device is all that a phase waits for, and nearer to 1 elsewhere.
        assert!((0.75..1.01).contains(&ratio), "{phase}");
        phase["high"].as_f64().expect("its end") < 0.95
    };
    let phases = slowed["phases"].as_array().expect("phases");
    assert!(phases.iter().any(is_slower), "{slowed}");
    for phase in phases.iter().filter(|phase| is_slower(phase)) {
        let designs = phase["designs"].as_array().expect("designs");
        for design in designs {
            assert_eq!(design["wrong_way_as_run"], 0, "{design}");
            let of = |name: &str| design[name]["share"].as_f64().expect("a share");
            // What the twins call certain was found, whatever the design.
            assert!(of("found_as_run") >= 0.5 || of("found_by_the_twins") < 0.99, "{phase}");
        }
        assert_eq!(designs[0]["found_as_run"]["of"], 12);
    }
    let before = phases[0]["ratio_of_the_twins"].as_f64().expect("a ratio");
    assert!((before - 1.0).abs() < 0.05, "{before}");
    let all = [
        "belief",
        "--twins",
        "twins.assay",
        "--studies",
        "500",
        "--slowed",
        "late.assay",
    ];
    let table = bench.ask(&all);
    assert!(
        table.stdout.contains("A slowdown planted below one twin") && table.is_narrow(),
        "{table}"
    );
}

#[test]
fn what_says_nothing_of_a_planted_slowdown_is_refused() {
    let bench = Bench::new();
    let refused = |files: &[&str], why: &[&str]| {
        let slowed = files.iter().flat_map(|file| ["--slowed", file]).collect::<Vec<_>>();
        bench.ask(&[&TWINS[..], &slowed].concat()).failed_with(2, why);
    };
    bench.record("twins.assay", &twins_study(24, 5, ["", ""]));
    refused(&["twins.assay"], &["twins.assay", "no slowdown is planted", "inject"]);
    bench.record("lies.assay", &twins_study(4, 8, ["", "inject = { error_at = 900000 }"]));
    refused(&["lies.assay"], &["lies.assay", "no slowdown is planted"]);
    bench.record("base.assay", &twins_study(4, 8, [LATE, ""]));
    refused(&["base.assay"], &["base.assay", "below the second stack"]);
    bench.record("few.assay", &twins_study(4, 9, ["", LATE]));
    refused(&["few.assay"], &["few.assay", "4 blocks count", "`blocks`"]);
    bench.record("late.assay", &twins_study(4, 6, ["", LATE]));
    bench.record("same.assay", &twins_study(4, 6, ["", LATE]));
    let why = ["same.assay", "seeds of another recording", "another `seed`"];
    refused(&["late.assay", "same.assay"], &why);
    bench.record("wide.assay", &twins_study(4, 5, ["", LATE]).replace("0.1%", "1%"));
    refused(
        &["wide.assay"],
        &["not of the twins", "the margin", "twins-slowed.toml"],
    );
    let larger = twins_study(4, 5, ["", LATE]).replace("parallel = 4", "parallel = 8");
    bench.record("larger.assay", &larger);
    refused(&["larger.assay"], &["not of the twins", "parallel"]);
    let alone = bench.ask(&["belief", "--slowed", "late.assay"]);
    alone.failed_with(2, &["--twins"]);
}
