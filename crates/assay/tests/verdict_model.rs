//! The verdict is right where the truth is known: simulated devices, in virtual time, through the whole binary.
//!
//! A 20 % slowdown planted into one of two identical stacks must be found every time, two identical stacks must never be
//! called different, and a stack that a cache serves must be labelled so and left unranked. Prevents: a verdict procedure
//! that is right on paper and wrong by the time its answer is printed.

mod bench;

use bench::{Bench, LATE, PHASES, is_full, model_study, verdicts};
use serde_json::Value;

fn seeds() -> std::ops::Range<u64> {
    1..if is_full() { 101 } else { 11 }
}

fn schema() -> jsonschema::Validator {
    let text = std::fs::read_to_string(bench::root().join("docs/report.schema.json")).expect("the schema");
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
    bench
        .run(&[&ask[..], &["--twins", "twins.assay"]].concat())
        .failed_with(2, &["twins.assay", "the same recording again", "each recording once"]);
    let other = study(24, &[("one", ""), ("other", "")]);
    run("again.assay", &other.replace("seed = 5", "seed = 6"));
    let twice = bench.run(&[&ask[..], &["--json", "--twins", "again.assay"]].concat());
    let twice: Value = serde_json::from_str(&twice.stdout).expect("JSON");
    assert_eq!(twice["blocks_recorded"], 48);
    assert_eq!(twice["designs"][0]["false_verdicts_as_run"]["of"], 12);
    assert_eq!(
        twice["designs"].as_array().map(Vec::len),
        Some(5),
        "two studies of 24 blocks"
    );
    // What is no pair of twins.
    let refused = |name: &str, why: &str| {
        bench.run(&["calibrate", "--twins", name]).failed_with(2, &[name, why]);
    };
    run("late.assay", &study(4, &[("one", ""), ("other", LATE)]));
    refused("late.assay", "not alike: planted disadvantage");
    run("three.assay", &study(4, &[("one", ""), ("two", ""), ("three", "")]));
    refused("three.assay", "3 stacks were measured, not two");
    run("larger.assay", &other.replace("parallel = 4", "parallel = 8"));
    bench
        .run(&[&ask[..], &["--twins", "larger.assay"]].concat())
        .failed_with(2, &["larger.assay", "something else than the first", "parallel"]);
    run("short.assay", &study(4, &[("one", ""), ("other", "")]));
    refused("short.assay", "with more `blocks`");
    bench
        .run(&["calibrate", "--studies", "5"])
        .failed_with(2, &["--procedure"]);
}

/// Twins and slowed twins, of which all blocks are run.
fn slowed_study(blocks: u32, seed: u64, [one, other]: [&str; 2]) -> String {
    model_study(seed, blocks, &[("one", one), ("other", other)])
        .replace("blocks =", "stop_early = false\nmargin = \"0.1%\"\nblocks =")
}

fn recorded(bench: &Bench, name: &str, text: &str) {
    bench.write("study.toml", text);
    bench.expect(0, &["run", "study.toml", "--quiet", "--output", name]);
}

const ASK_SLOWED: [&str; 6] = ["calibrate", "--twins", "twins.assay", "--studies", "2000", "--slowed"];

/// A slowdown that is planted below one twin is found as the twins' own blocks say, and only there.
#[test]
fn a_planted_slowdown_is_found_by_studies_as_they_were_run() {
    let bench = Bench::new();
    let run = |name: &str, text: &str| recorded(&bench, name, text);
    run("twins.assay", &slowed_study(24, 5, ["", ""]));
    run("late.assay", &slowed_study(24, 6, ["", LATE]));
    run("also.assay", &slowed_study(24, 7, ["", LATE]));
    let ask = ASK_SLOWED;
    let words = bench.expect(0, &[&ask[..], &["late.assay"]].concat());
    assert!(words.stdout.lines().all(|line| line.chars().count() <= 80), "{words}");
    assert!(words.stdout.contains("other: a device slowed down by 20 %"), "{words}");
    let told = bench
        .expect(
            0,
            &[&ask[..], &["late.assay", "--slowed", "also.assay", "--json"]].concat(),
        )
        .json();
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
        let shares = designs.iter().map(|design| {
            assert_eq!(design["wrong_way_as_run"], 0, "{design}");
            let of = |name: &str| design[name]["share"].as_f64().expect("a share");
            (of("found_as_run"), of("found_by_the_twins"))
        });
        // What the twins call certain was found, whatever the design.
        for (run, drawn) in shares {
            assert!(run >= 0.5 || drawn < 0.99, "{phase}");
        }
        assert_eq!(designs[0]["found_as_run"]["of"], 12);
    }
    let before = phases[0]["ratio_of_the_twins"].as_f64().expect("a ratio");
    assert!((before - 1.0).abs() < 0.05, "{before}");
    let all = ["calibrate", "--all", "--twins", "twins.assay", "--studies", "500"];
    let table = bench.run(&[&all[..], &["--slowed", "late.assay"]].concat());
    assert!(table.stdout.contains("A slowdown planted below one twin"), "{table}");
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn what_says_nothing_of_a_planted_slowdown_is_refused() {
    let bench = Bench::new();
    let run = |name: &str, text: &str| recorded(&bench, name, text);
    let refused = |names: &[&str], why: &[&str]| {
        bench.run(&[&ASK_SLOWED[..], names].concat()).failed_with(2, why);
    };
    run("twins.assay", &slowed_study(24, 5, ["", ""]));
    refused(&["twins.assay"], &["twins.assay", "no slowdown is planted", "inject"]);
    run(
        "lies.assay",
        &slowed_study(4, 8, ["", "inject = { error_at = 900000 }"]),
    );
    refused(&["lies.assay"], &["lies.assay", "no slowdown is planted"]);
    run("base.assay", &slowed_study(4, 8, [LATE, ""]));
    refused(&["base.assay"], &["base.assay", "below the second stack"]);
    run("few.assay", &slowed_study(4, 9, ["", LATE]));
    refused(&["few.assay"], &["few.assay", "4 blocks count", "`blocks`"]);
    run("late.assay", &slowed_study(4, 6, ["", LATE]));
    run("same.assay", &slowed_study(4, 6, ["", LATE]));
    let why = ["same.assay", "seeds of another recording", "another `seed`"];
    refused(&["late.assay", "--slowed", "same.assay"], &why);
    run("wide.assay", &slowed_study(4, 5, ["", LATE]).replace("0.1%", "1%"));
    refused(
        &["wide.assay"],
        &["not of the twins", "the margin", "twins-slowed.toml"],
    );
    let larger = slowed_study(4, 5, ["", LATE]).replace("parallel = 4", "parallel = 8");
    run("larger.assay", &larger);
    refused(&["larger.assay"], &["not of the twins", "parallel"]);
    bench
        .run(&["calibrate", "--slowed", "late.assay"])
        .failed_with(2, &["--twins"]);
}

const ASK_ALL: [&str; 7] = [
    "calibrate",
    "--all",
    "--twins",
    "twins.assay",
    "--studies",
    "2000",
    "--traps",
];

/// One command prints all that says whether to believe a verdict.
#[test]
fn everything_that_says_whether_to_believe_stands_in_one_table() {
    let bench = Bench::new();
    let study = model_study(5, 24, &[("one", ""), ("other", "")]).replace("blocks =", "margin = \"0.1%\"\nblocks =");
    bench.write("study.toml", &study);
    bench.expect(0, &["run", "study.toml", "--quiet", "--output", "twins.assay"]);
    let ask = ["calibrate", "--twins", "twins.assay", "--studies", "2000", "--json"];
    let told = bench.expect(0, &ask).json();
    let as_run = &told["designs"][0]["false_verdicts_as_run"];
    assert_eq!(as_run["of"], 6, "24 blocks are six studies of four");
    let beside = told["time_to_verdict"]["rows"].as_array().expect("rows");
    assert!(
        beside
            .iter()
            .all(|row| row["time_ratio"].as_f64().expect("a ratio") > 0.0)
    );
    let counts = |caught: u32| {
        format!(r#"{{"schema": 1, "traps_set": 30, "traps_caught": {caught}, "twins_judged": 28, "twins_flagged": 0}}"#)
    };
    bench.write("traps.json", &counts(30));
    bench.write("missed.json", &counts(29));
    let ask_all = |traps: &'static str| [&ASK_ALL[..], &[traps]].concat();
    let all = bench.expect(0, &ask_all("traps.json"));
    for words in [
        "False verdicts, simulated",
        "as they were run",
        "Smallest difference",
        "Time to a verdict",
        "30 of 30",
    ] {
        assert!(all.stdout.contains(words), "{words}: {all}");
    }
    assert!(all.stdout.lines().all(|line| line.chars().count() <= 80), "{all}");
    let all = bench
        .expect(0, &[&ask_all("traps.json")[..], &["--json"]].concat())
        .json();
    assert_eq!(all["traps"]["traps_caught"], 30);
    assert_eq!(all["twins"]["blocks_recorded"], 24);
    let table = all["table"].as_array().expect("a table");
    assert!(table.iter().all(|line| line["kept"] != false), "{table:?}");
    let kept = |what: &str| {
        let line = table.iter().find(|line| line["what"] == what).expect("the line");
        line["kept"].clone()
    };
    // So many studies are enough to say it of what errs seldom, and too few to say it of what spends the 5 % in full.
    assert_eq!(kept("20 % slower"), true);
    assert_eq!(kept("equal, four blocks"), Value::Null);
    // Six studies have a rate, and no limit.
    assert_eq!(kept("studies of 4 blocks"), Value::Null);
    let limit = |line: &&Value| line["section"] == "False verdicts, drawn from too few blocks for a limit";
    assert_eq!(table.iter().filter(limit).count(), 4, "{table:?}");
    let left: Vec<&Value> = (table.iter())
        .filter(|line| line["section"] == "Not in this table")
        .map(|line| &line["what"])
        .collect();
    assert_eq!(
        left,
        ["a slowdown that was planted", "a fixed protocol, run", "schedules"]
    );

    // The table is printed all the same.
    let missed = bench.run(&ask_all("missed.json"));
    assert_eq!(missed.code(), 3, "{missed}");
    assert!(missed.stdout.contains("29 of 30  all MISSED"), "{missed}");
    bench.run(&ask_all("study.toml")).failed_with(2, &["ASSAY_TRAPS"]);
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
        sentence.contains("not ranked") && sentence.contains("cached"),
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
    let study = bench::root().join("studies/model.toml");
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
