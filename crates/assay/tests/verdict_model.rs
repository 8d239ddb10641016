//! The verdict is right where the truth is known: simulated devices, in virtual time, through the whole binary.
//!
//! A 20 % slowdown planted into one of two identical stacks must be found every time, two identical stacks must never
//! be called different, and a stack that a cache serves must be labelled so and left unranked. Prevents: a verdict
//! procedure that is right on paper and wrong by the time its answer is printed.

use crate::bench::{Bench, LATE, PHASES, model_study, verdicts};
use crate::machine::is_full;
use serde_json::Value;

fn seeds() -> std::ops::Range<u64> {
    1..if is_full() { 101 } else { 6 }
}

fn schema() -> jsonschema::Validator {
    let text = std::fs::read_to_string(crate::bench::root().join("docs/report.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

/// Runs the study and gives its report, which must be as the committed schema says.
fn report(bench: &Bench, schema: &jsonschema::Validator, seed: u64, study: &str) -> Value {
    bench.write("study.toml", study);
    let output = format!("{seed}.assay");
    let report = bench
        .expect(0, &["run", "study.toml", "--quiet", "--json", "--output", &output])
        .json();
    let wrong: Vec<String> = schema
        .iter_errors(&report)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(
        wrong.is_empty(),
        "not as docs/report.schema.json says:\n{}",
        wrong.join("\n")
    );
    assert_eq!(report["report"]["study"]["seed"], Value::String(seed.to_string()));
    report
}

#[test]
fn a_planted_slowdown_is_found_every_time() {
    let (bench, schema) = (Bench::new(), schema());
    for seed in seeds() {
        let report = report(
            &bench,
            &schema,
            seed,
            &model_study(seed, 6, &[("plain", ""), ("late", LATE)]),
        );
        let found = verdicts(&report);
        assert_eq!(found.len(), PHASES.len(), "seed {seed}: {found:?}");
        for (phase, stack, verdict) in &found {
            assert_eq!(
                (stack.as_str(), verdict.as_str()),
                ("late", "worse"),
                "seed {seed}, phase {phase}: {found:?}"
            );
        }
        for comparison in report["report"]["comparisons"].as_array().expect("comparisons") {
            // Slower by 20 % is a rate of 1/1.2; the interval must hold it, give or take what the model's queue adds.
            let (low, high) = (
                comparison["low"].as_f64().expect("low"),
                comparison["high"].as_f64().expect("high"),
            );
            assert!(low < 0.90 && high > 0.75 && high < 1.0, "seed {seed}: {comparison}");
        }
        let sentence = report["report"]["sentence"].as_str().expect("a sentence");
        assert!(
            sentence.contains("planted on late"),
            "the disadvantage is not disclosed: {sentence}"
        );
    }
}

#[test]
fn identical_stacks_are_never_called_different() {
    let (bench, schema) = (Bench::new(), schema());
    let mut equivalent = 0;
    for seed in seeds() {
        let report = report(
            &bench,
            &schema,
            seed,
            &model_study(seed, 6, &[("plain", ""), ("twin", "")]),
        );
        let found = verdicts(&report);
        assert_eq!(found.len(), PHASES.len(), "seed {seed}: {found:?}");
        for (phase, _, verdict) in &found {
            assert!(
                verdict == "equivalent" || verdict == "not_enough_data",
                "seed {seed}, phase {phase}: twins are called {verdict}"
            );
            equivalent += usize::from(verdict == "equivalent");
        }
        // Identical stacks with identical luck would prove nothing.
        let ratios: Vec<f64> = report["report"]["comparisons"]
            .as_array()
            .expect("comparisons")
            .iter()
            .filter_map(|c| c["ratio"].as_f64())
            .collect();
        assert!(
            ratios.iter().any(|ratio| (ratio - 1.0).abs() > 1e-9),
            "seed {seed}: the twins share their chances"
        );
    }
    assert!(
        equivalent > 0,
        "not one comparison of twins came to equivalent: the procedure never answers"
    );
}

/// What the machine's own noise makes of the procedure: from recorded blocks of twins, and from nothing else.
#[test]
fn the_noise_of_twins_says_how_often_a_verdict_is_wrong_and_what_is_found() {
    let bench = Bench::new();
    let study = |blocks: u32, stacks: &[(&str, &str)]| {
        model_study(5, blocks, stacks).replace("blocks =", "margin = \"0.1%\"\nblocks =")
    };
    let run = |name: &str, text: &str| {
        bench.write("study.toml", text);
        bench.expect(0, &["run", "study.toml", "--quiet", "--output", name]);
    };
    run("twins.assay", &study(24, &[("one", ""), ("other", "")]));
    let ask = ["calibrate", "--twins", "twins.assay", "--studies", "2000"];
    let told = bench.expect(0, &[&ask[..], &["--json"]].concat()).json();
    assert_eq!(told["blocks_recorded"], 24);
    let designs = told["designs"].as_array().expect("designs");
    assert_eq!(designs.len(), 4);
    let found = |design: &Value, phase: usize| design["smallest_found"][phase].as_f64().expect("found");
    for (nth, phase) in told["phases"].as_array().expect("phases").iter().enumerate() {
        let spread = phase["spread"].as_f64().expect("a spread");
        assert!(spread > 0.0 && spread < 0.2, "{phase}");
        // More blocks find less, and none finds what lies below the error of its own mean.
        assert!(found(&designs[3], nth) < found(&designs[0], nth), "{told}");
        assert!(found(&designs[3], nth).ln() > spread / 12f64.sqrt(), "{told}");
    }
    for design in designs {
        let rate = &design["false_verdicts"];
        assert!(rate["share"].as_f64().expect("a share") < 0.08, "{told}");
        assert_eq!(rate["of"], 2000);
    }
    let words = bench.expect(0, &ask);
    assert!(words.stdout.contains("24 blocks are 2 studies of 12"), "{words}");
    assert!(words.stdout.lines().all(|line| line.chars().count() <= 80), "{words}");
    // What is no pair of twins.
    let refused = |name: &str, why: &str| {
        bench.run(&["calibrate", "--twins", name]).failed_with(2, &[name, why]);
    };
    run("late.assay", &study(4, &[("one", ""), ("other", LATE)]));
    refused("late.assay", "not alike: planted disadvantage");
    run("three.assay", &study(4, &[("one", ""), ("two", ""), ("three", "")]));
    refused("three.assay", "3 stacks were measured, not two");
    run("short.assay", &study(4, &[("one", ""), ("other", "")]));
    refused("short.assay", "with more `blocks`");
    bench
        .run(&["calibrate", "--studies", "5"])
        .failed_with(2, &["--procedure"]);
}

#[test]
fn a_stack_served_by_a_cache_is_labelled_and_not_ranked() {
    let (bench, schema) = (Bench::new(), schema());
    let stacks = [
        ("plain", ""),
        ("late", LATE),
        ("cached", "cached = \"100%\""),
        ("mixed", "cached = \"60%\""),
    ];
    let report = report(&bench, &schema, 1, &model_study(1, 4, &stacks));
    let report = &report["report"];

    let compared: Vec<&str> = report["comparisons"]
        .as_array()
        .expect("comparisons")
        .iter()
        .filter_map(|c| c["stack"].as_str())
        .collect();
    assert_eq!(compared, ["late"; PHASES.len()], "only what devices served is ranked");
    for comparison in report["comparisons"].as_array().expect("comparisons") {
        assert_eq!(
            comparison["verdict"], "worse",
            "the others are still told apart: {comparison}"
        );
    }

    let unranked = report["unranked"].as_array().expect("unranked");
    for phase in PHASES {
        for (stack, word) in [("cached", "cache"), ("mixed", "mixed")] {
            let reason = unranked.iter().find(|u| u["stack"] == stack && u["phase"] == phase);
            let reason =
                reason.unwrap_or_else(|| panic!("{stack} in {phase} is ranked: {unranked:?}"))["reason"].clone();
            assert!(reason.as_str().expect("a reason").contains("cache"), "{reason}");
            assert_eq!(origin(report, phase, stack), word, "{stack} in {phase}");
        }
        assert_eq!(origin(report, phase, "plain"), "device");
        assert_eq!(origin(report, phase, "late"), "device");
    }
    let sentence = report["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.contains("Not ranked") && sentence.contains("cached"),
        "{sentence}"
    );
}

/// Where the reads of a stack came from, as the report labels it.
fn origin(report: &Value, phase: &str, stack: &str) -> String {
    let phases = report["phases"].as_array().expect("phases");
    let phase = phases.iter().find(|p| p["name"] == phase).expect("the phase");
    let cell = phase["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .find(|c| c["stack"] == stack)
        .expect("the stack");
    cell["provenance"]["reads"]["origin"]
        .as_str()
        .expect("an origin")
        .to_string()
}

#[test]
fn the_study_that_ships_for_this_check_says_what_it_promises() {
    let bench = Bench::new();
    let study = crate::bench::root().join("studies/model.toml");
    let study = study.to_str().expect("a path in UTF-8");
    let report = bench
        .expect(
            0,
            &[
                "run",
                study,
                "--quiet",
                "--json",
                "--scale",
                "0.25",
                "-o",
                "model.assay",
            ],
        )
        .json();
    for (phase, stack, verdict) in verdicts(&report) {
        match stack.as_str() {
            "late" => assert_eq!(verdict, "worse", "{phase}"),
            "twin" => assert!(
                verdict == "equivalent" || verdict == "not_enough_data",
                "{phase}: {verdict}"
            ),
            other => panic!("a stack that the study does not have: {other}"),
        }
    }
}
