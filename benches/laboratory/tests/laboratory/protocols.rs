//! A fixed protocol and this procedure, both really run at a small size: `laboratory protocols LONG SHORT`.
//!
//! On simulated devices in virtual time, where the truth is known and every figure is the same on every machine
//! (`ASSAY_TEST_SIZE=full`: in runs of 300 s); and in directories of this machine, where only what must hold on a busy
//! one is asked. Prevents: a comparison of unlike studies, and time or power that is not what was run.

use super::bench::{Bench, LATE, is_full, model};
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;

/// Three stacks: a base, one like it and one a fifth slower. Phases of this length, and as many blocks.
fn study(name: &str, time: &str, blocks: &str) -> String {
    let head = format!(
        r#"
[study]
name = "{name}"
question = "What do both find?"
seed = 11
time_limit = "2h"
blocks = {blocks}
"#
    );
    let rest = format!(
        r#"
[database]
cache = "2MiB"
schemas = 4
scale = "12MiB"
redo_size = "4MiB"
checkpoint = "30ms"

[[phase]]
name = "half updates"
kind = "random"
update_pct = 50
sessions = 8
work_unit = 8
time = "{time}"
"#
    );
    [head, model("base", ""), model("twin", ""), model("late", LATE), rest].concat()
}

/// Runs of the fixed protocol and of the procedure, ms: a thirtieth, as 10 s are of 300 s. Twelve blocks at most are
/// then 4/30 of three long runs, and what a run takes beside its phase. `ASSAY_TEST_SIZE=full`: those very lengths.
fn lengths() -> (u64, u64) {
    if is_full() { (300_000, 10_000) } else { (3_000, 100) }
}

const ASK: [&str; 3] = ["protocols", "long.assay", "short.assay"];

const BOTH: [&str; 2] = ["long.assay", "short.assay"];

/// Both result files, of the one time that they are recorded.
static RECORDED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let bench = Bench::new();
    let (long, short) = lengths();
    bench.record(BOTH[0], &study("long", &format!("{long}ms"), "4"));
    bench.record(BOTH[1], &study("short", &format!("{short}ms"), "\"auto\""));
    BOTH.map(|name| std::fs::read(bench.path(name)).expect("a result file"))
});

/// A bench of the test's own with both.
fn with_both() -> Bench {
    let bench = Bench::new();
    for (name, recorded) in BOTH.iter().zip(RECORDED.iter()) {
        std::fs::write(bench.path(name), recorded).expect("written");
    }
    bench
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("no number: {of}"))
}

fn of_stack<'a>(told: &'a Value, stack: &str) -> &'a Value {
    let all = told["comparisons"].as_array().expect("comparisons");
    all.iter().find(|one| one["stack"] == stack).expect("the stack")
}

/// Means, intervals and times worked out from the figures in the answer and from the two reports, not by the code under
/// test.
fn adds_up(bench: &Bench, told: &Value) {
    for one in told["comparisons"].as_array().expect("comparisons") {
        let (fixed, here) = (&one["fixed"], &one["here"]);
        let mean = |side: &str| {
            let figures = fixed["figures"][side].as_array().expect("figures");
            assert_eq!(figures.len(), 3, "three runs a cell: {one}");
            figures.iter().map(number).sum::<f64>() / 3.0
        };
        assert!(
            (number(&fixed["ratio"]) - mean("stack") / mean("base")).abs() < 1e-9,
            "{one}"
        );
        let excludes_one = number(&fixed["low"]) > 1.0 || number(&fixed["high"]) < 1.0;
        assert_eq!(excludes_one, number(&fixed["p"]) < 0.05, "{one}");
        assert_eq!(fixed["verdict"] != "no_difference", excludes_one, "{one}");
        // Three blocks of two stacks, and of each what it took to come to rest.
        let [long_s, short_s] = [lengths().0, lengths().1].map(|ms| ms as f64 / 1e3);
        let long = number(&fixed["took"]["runs_seconds"]);
        assert!((6.0 * long_s..6.0 * (long_s + 0.2)).contains(&long), "{one}");
        let blocks = number(&here["blocks"]);
        let short = number(&here["took"]["runs_seconds"]) / (2.0 * blocks);
        assert!((short_s..short_s + 0.05).contains(&short), "{one}");
        let most = number(&here["took_most"]["runs_seconds"]);
        assert!((most - short * 2.0 * 12.0).abs() < 1e-6, "{one}");
        assert!(
            (number(&one["time_ratio"]) - short * 2.0 * blocks / long).abs() < 1e-9,
            "{one}"
        );
        for side in [fixed, here] {
            let finds = number(&side["smallest_found"]);
            assert!(finds > 1.0 && finds < 1.2, "{one}");
            assert_eq!(side["took"]["wall_seconds"], Value::Null, "virtual time has no wall");
        }
    }
    let report = bench.assay(&["report", "short.assay", "--json"]).json();
    for compared in report["report"]["comparisons"].as_array().expect("comparisons") {
        let here = &of_stack(told, compared["stack"].as_str().expect("a stack"))["here"];
        for key in ["verdict", "ratio", "low", "high"] {
            assert_eq!(here[key], compared[key], "{key} of the study's own report");
        }
        let look = compared["look"].as_u64().expect("a look") as usize;
        let decided = &report["report"]["looks"][look - 1];
        assert_eq!(here["blocks"], decided["n"], "no block was dropped");
    }
}

#[test]
fn both_come_to_the_same_verdicts_and_one_in_a_fifth_of_the_time() {
    let bench = with_both();
    let told = bench.told(&[&ASK[..], &["--json"]].concat()).json();
    assert_eq!(told["left_out"], Value::Array(Vec::new()));
    adds_up(&bench, &told);
    let (late, twin) = (of_stack(&told, "late"), of_stack(&told, "twin"));
    assert_eq!(
        (&late["fixed"]["verdict"], &late["here"]["verdict"]),
        (&"worse".into(), &"worse".into()),
        "{late}"
    );
    assert_eq!(twin["fixed"]["verdict"], "no_difference", "{twin}");
    assert_ne!(twin["here"]["verdict"], "better", "{twin}");
    assert_ne!(twin["here"]["verdict"], "worse", "{twin}");
    for one in [late, twin] {
        assert_eq!(one["agreement"], "same", "{one}");
        assert!(number(&one["time_ratio"]) <= 0.2, "{one}");
        assert_eq!(one["is_kept"], true, "{one}");
    }
    let words = bench.told(&ASK);
    for said in [
        "late against base, half updates: the same verdict",
        "no difference",
        "Of 2 comparisons of the fixed protocol 0 are missing here or say otherwise.",
    ] {
        assert!(words.stdout.contains(said), "{said}: {words}");
    }
    assert!(words.is_narrow(), "{words}");
    let all = ["belief", "--studies", "500", "--protocols", "long.assay", "short.assay"];
    let table = bench.told(&all);
    assert!(table.stdout.contains("both really run") && table.is_narrow(), "{table}");
    let table = bench.told(&[&all[..], &["--json"]].concat()).json();
    assert_eq!(table["protocols"], told);
}

/// A fixed protocol whose runs are hardly longer than the others is no saving, and is called none.
#[test]
fn a_saving_that_is_none_is_missed_in_the_table() {
    let bench = with_both();
    bench.record("hardly.assay", &study("hardly", &format!("{}ms", 3 * lengths().1), "4"));
    let ask = [
        "belief",
        "--studies",
        "200",
        "--protocols",
        "hardly.assay",
        "short.assay",
    ];
    let missed = bench.ask(&ask);
    assert_eq!(missed.code, 3, "{missed}");
    assert!(missed.stdout.contains("20 % MISSED"), "{missed}");
    let alone = bench.ask(&["protocols", "hardly.assay", "short.assay"]);
    assert_eq!(alone.code, 3, "{alone}");
    assert!(alone.stderr.contains("more than 20 % of its time"), "{alone}");
}

#[test]
fn files_of_unlike_studies_are_refused() {
    let bench = with_both();
    let refused = |fixed: &str, against: &str, words: &[&str]| {
        bench.ask(&["protocols", fixed, against]).failed_with(2, words);
    };
    refused(
        "short.assay",
        "long.assay",
        &["long runs first", "the fixed protocol has the long ones"],
    );
    let long = || study("other", &format!("{}ms", lengths().0), "4");
    bench.record("larger.assay", &long().replace("12MiB", "14MiB"));
    refused(
        "larger.assay",
        "short.assay",
        &["`database.scale`", "14MiB", "12MiB", "not of the same thing"],
    );
    bench.record("faster.assay", &long().replace("name = \"twin\"", "name = \"sibling\""));
    refused(
        "faster.assay",
        "short.assay",
        &["list of stacks", "base, sibling, late"],
    );
    bench.record("slower.assay", &long().replace("late = \"20%\"", "late = \"30%\""));
    refused("slower.assay", "short.assay", &["planted disadvantage of late"]);
    let scans = long().replace(
        "kind = \"random\"\nupdate_pct = 50\nsessions = 8\nwork_unit = 8",
        "kind = \"scan\"",
    );
    bench.record("scans.assay", &scans);
    refused(
        "scans.assay",
        "short.assay",
        &["phase 1", "half updates (scan)", "half updates (random)"],
    );
    // A file that somebody changed ranks nothing.
    rusqlite::Connection::open(bench.path("long.assay"))
        .and_then(|file| file.execute("UPDATE measure SET value = value * 1.1", []))
        .expect("edited");
    refused(
        "long.assay",
        "short.assay",
        &["nothing that both rank", "changed after the study ended"],
    );
    refused("no-such.assay", "short.assay", &["no-such.assay"]);
    bench.ask(&["protocols", "short.assay"]).failed_with(2, &["<SHORT>"]);
}

/// Directories: here time passes by the wall, and a machine that does other things may find anything.
#[test]
fn in_directories_of_this_machine_time_is_counted_as_it_passed() {
    let bench = Bench::new();
    let stack = |name: &str| {
        std::fs::create_dir(bench.path(name)).expect("made");
        format!("[[stack]]\nname = \"{name}\"\nkind = \"directory\"\npath = \"{name}\"\n")
    };
    let stacks = [stack("one"), stack("two")].concat();
    let study = |name: &str, time: &str, blocks: &str| {
        format!(
            r#"
[study]
name = "{name}"
time_limit = "10m"
blocks = {blocks}
seed = 3
schedule = "whole"

{stacks}
[database]
cache = "2MiB"
schemas = 4
scale = "16MiB"
redo_size = "4MiB"
checkpoint = "20ms"

[[phase]]
name = "work"
kind = "random"
update_pct = 20
sessions = 4
work_unit = 4
time = "{time}"
"#
        )
    };
    bench.record("long.assay", &study("long", "600ms", "4"));
    bench.record("short.assay", &study("short", "60ms", "12"));
    let ran = bench.ask(&[&ASK[..], &["--json"]].concat());
    if ran.stderr.contains("nothing that both rank") {
        eprintln!("SKIPPED: this machine's /var/tmp ranks nothing: {}", ran.stderr);
        return;
    }
    let told = ran.json();
    let one = of_stack(&told, "two");
    // Set-up is paid twelve times here and three times there, and runs are short beside it: no saving, and called none.
    let wall = number(&one["wall_ratio"]);
    assert_eq!(one["is_kept"] == false, ran.code == 3, "{}", ran.stderr);
    assert!(wall <= 0.2 || one["is_kept"] == false, "set-up counts: {one}");
    for side in ["fixed", "here"] {
        let took = &one[side]["took"];
        let (runs, wall) = (number(&took["runs_seconds"]), number(&took["wall_seconds"]));
        assert!(runs > 0.0 && wall > runs, "runs lie inside their trials: {one}");
        assert!(number(&told[side]["wall_seconds"]) >= wall, "{told}");
    }
    assert!(number(&one["fixed"]["took"]["runs_seconds"]) >= 6.0 * 0.6, "{one}");
    assert!(number(&one["fixed"]["smallest_found"]) > 1.0, "{one}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a host");
    assert_eq!(told["host"], host.trim(), "{told}");
    // The same result as if another machine had given it.
    elsewhere(&bench.path("long.assay"));
    bench
        .ask(&ASK)
        .failed_with(2, &["the host is elsewhere", "run both on one machine"]);
}

fn elsewhere(result: &Path) {
    rusqlite::Connection::open(result)
        .and_then(|file| file.execute("UPDATE trial SET host = 'elsewhere'", []))
        .expect("told");
}
