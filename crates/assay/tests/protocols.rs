//! A fixed protocol and this procedure, both really run at a small size: `assay calibrate --fixed FILE --against FILE`.
//!
//! On simulated devices in virtual time, where the truth is known and every figure is the same on every machine (`ASSAY_TEST_SIZE=full`: in
//! runs of 300 s); and on file systems of this machine, where only what must hold on a busy one is asked. Prevents: a comparison of unlike studies, and time or power that is not
//! what was run.

mod bench;
mod rig;

use bench::{Bench, LATE, is_full};
use rig::{Rig, Running, text};
use serde_json::Value;
use std::path::Path;

/// Three stacks: a base, one like it and one a fifth slower. Phases of this length, and as many blocks.
fn study(name: &str, time: &str, blocks: &str) -> String {
    let stack = |name: &str, more: &str| {
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"32MiB\"\nservice = \"1ms\"\nspread = 0.2\nparallel = 4\n\
             transfer = \"20MB/s\"\n{more}\n\n"
        )
    };
    format!(
        "[study]\nname = \"{name}\"\nquestion = \"What do both find?\"\nseed = 11\ntime_limit = \"2h\"\nblocks = {blocks}\n\n{}{}{}\
         [database]\ncache = \"2MiB\"\nschemas = 4\nscale = \"12MiB\"\nredo_size = \"4MiB\"\ncheckpoint = \"30ms\"\n\n\
         [[phase]]\nname = \"half updates\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 8\nwork_unit = 8\ntime = \"{time}\"\n",
        stack("base", ""),
        stack("twin", ""),
        stack("late", LATE),
    )
}

/// Runs of the fixed protocol and of the procedure, ms: a thirtieth, as 10 s are of 300 s. Twelve blocks at most are then 4/30 of three long
/// runs, and what a run takes beside its phase. `ASSAY_TEST_SIZE=full`: those very lengths.
fn lengths() -> (u64, u64) {
    if is_full() { (300_000, 10_000) } else { (3_000, 100) }
}

fn run(bench: &Bench, name: &str, study: &str) {
    let (toml, result) = (format!("{name}.toml"), format!("{name}.assay"));
    bench.write(&toml, study);
    bench.expect(0, &["run", &toml, "--quiet", "--output", &result]);
}

const ASK: [&str; 5] = ["calibrate", "--fixed", "long.assay", "--against", "short.assay"];

fn with_both() -> Bench {
    let bench = Bench::new();
    let (long, short) = lengths();
    run(&bench, "long", &study("long", &format!("{long}ms"), "4"));
    run(&bench, "short", &study("short", &format!("{short}ms"), "\"auto\""));
    bench
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("no number: {of}"))
}

fn of_stack<'a>(told: &'a Value, stack: &str) -> &'a Value {
    let all = told["comparisons"].as_array().expect("comparisons");
    all.iter().find(|one| one["stack"] == stack).expect("the stack")
}

/// Means, intervals and times worked out from the figures in the answer and from the two reports, not by the code under test.
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
    let report = bench.expect(0, &["report", "short.assay", "--json"]).json();
    for compared in report["report"]["comparisons"].as_array().expect("comparisons") {
        let here = &of_stack(told, compared["stack"].as_str().expect("a stack"))["here"];
        for key in ["verdict", "ratio", "low", "high"] {
            assert_eq!(here[key], compared[key], "{key} of the study's own report");
        }
        assert_eq!(here["blocks"], compared["n"], "no block was dropped");
    }
}

#[test]
fn both_come_to_the_same_verdicts_and_one_in_a_fifth_of_the_time() {
    let bench = with_both();
    let told = bench.expect(0, &[&ASK[..], &["--json"]].concat()).json();
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
    let words = bench.expect(0, &ASK);
    for said in [
        "late against base, half updates: the same verdict",
        "no difference",
        "Of 2 comparisons of the fixed protocol 0 are missing here or say otherwise.",
    ] {
        assert!(words.stdout.contains(said), "{said}: {words}");
    }
    assert!(words.stdout.lines().all(|line| line.chars().count() <= 80), "{words}");
    let all = ["--all", "--studies", "500"];
    let table = bench.expect(0, &[&ASK[..], &all].concat());
    assert!(table.stdout.contains("both really run"), "{table}");
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 80), "{table}");
    let table = bench.expect(0, &[&ASK[..], &all, &["--json"]].concat()).json();
    assert_eq!(table["fixed"], told);
}

/// A fixed protocol whose runs are hardly longer than the others is no saving, and is called none.
#[test]
fn a_saving_that_is_none_is_missed_in_the_table() {
    let bench = with_both();
    run(
        &bench,
        "hardly",
        &study("hardly", &format!("{}ms", 3 * lengths().1), "4"),
    );
    let ask = ["calibrate", "--all", "--studies", "200", "--against", "short.assay"];
    let missed = bench.run(&[&ask[..], &["--fixed", "hardly.assay"]].concat());
    assert_eq!(missed.code(), 3, "{missed}");
    assert!(missed.stdout.contains("20 % MISSED"), "{missed}");
    let alone = bench.run(&["calibrate", "--fixed", "hardly.assay", "--against", "short.assay"]);
    assert_eq!(alone.code(), 3, "{alone}");
    assert!(alone.stderr.contains("more than 20 % of its time"), "{alone}");
}

#[test]
fn files_of_unlike_studies_are_refused() {
    let bench = with_both();
    let refused = |fixed: &str, against: &str, words: &[&str]| {
        bench
            .run(&["calibrate", "--fixed", fixed, "--against", against])
            .failed_with(2, words);
    };
    refused(
        "short.assay",
        "long.assay",
        &["--fixed", "the fixed protocol has the long ones"],
    );
    let long = || study("other", &format!("{}ms", lengths().0), "4");
    run(&bench, "larger", &long().replace("12MiB", "14MiB"));
    refused(
        "larger.assay",
        "short.assay",
        &["`database.scale`", "14MiB", "12MiB", "not of the same thing"],
    );
    run(
        &bench,
        "faster",
        &long().replace("name = \"twin\"", "name = \"sibling\""),
    );
    refused(
        "faster.assay",
        "short.assay",
        &["list of stacks", "base, sibling, late"],
    );
    run(&bench, "slower", &long().replace("late = \"20%\"", "late = \"30%\""));
    refused("slower.assay", "short.assay", &["planted disadvantage of late"]);
    let scans = long().replace(
        "kind = \"random\"\nupdate_pct = 50\nsessions = 8\nwork_unit = 8",
        "kind = \"scan\"",
    );
    run(&bench, "scans", &scans);
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
    bench
        .run(&["calibrate", "--fixed", "short.assay"])
        .failed_with(2, &["--against"]);
}

/// What a measurement of schedules printed, told again beside the rest.
#[test]
fn the_schedule_that_tells_most_stands_in_the_table() {
    let bench = Bench::new();
    let row = |schedule: &str, stint: f64, gain: &str| {
        format!(r#"{{"schedule": "{schedule}", "stint_seconds": {stint}, "told_per_minute_to_whole": {gain}}}"#)
    };
    let rows = [
        row("whole", 10.0, "null"),
        row("abba", 1.0, r#"{"middle": 3.9, "low": 1.5, "high": 16.2}"#),
        row("alternate", 0.25, r#"{"middle": 16.0, "low": 8.1, "high": 29.0}"#),
    ];
    let best = r#"{"schedule": "alternate", "stint_seconds": 0.25}"#;
    let told = format!(r#"{{"schema": 1, "schedules": [{}], "best": {best}}}"#, rows.join(", "));
    bench.write("scheduled.json", &told);
    let ask = ["calibrate", "--all", "--studies", "200", "--scheduled"];
    let table = bench.expect(0, &[&ask[..], &["scheduled.json"]].concat());
    let words: Vec<String> = table
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "abba, 1.00 s at a time: what `auto` takes 3.9 (1.5 to 16.2)",
        "alternate, 0.25 s at a time: tells most 16.0 (8.1 to 29.0)",
    ] {
        assert!(words.iter().any(|said| said == line), "{line}: {table}");
    }
    bench.write("other.json", r#"{"schema": 1}"#);
    bench
        .run(&[&ask[..], &["other.json"]].concat())
        .failed_with(2, &["no schedules stand in it", "--schedules DIR --json"]);
}

/// Directories of two file systems: here time passes by the wall, and a machine that does other things may find anything.
#[test]
fn on_file_systems_of_this_machine_time_is_counted_as_it_passed() {
    let Some(mut rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let stacks: Vec<String> = ["one", "two"]
        .map(|name| {
            let place = rig.small_file_system(name, 64);
            rig::tool("losetup", &["--direct-io=on", text(&device_under(&place))]);
            format!(
                "[[stack]]\nname = \"{name}\"\nkind = \"directory\"\npath = \"{}\"\n",
                place.display()
            )
        })
        .into();
    let study = |name: &str, time: &str, blocks: &str| {
        format!(
            "[study]\nname = \"{name}\"\ntime_limit = \"10m\"\nblocks = {blocks}\nseed = 3\nio = \"ring\"\nschedule = \"whole\"\n{}\
             [database]\ncache = \"2MiB\"\nschemas = 4\nscale = \"16MiB\"\nredo_size = \"4MiB\"\ncheckpoint = \"20ms\"\n\
             [[phase]]\nname = \"work\"\nkind = \"random\"\nupdate_pct = 20\nsessions = 4\nwork_unit = 4\ntime = \"{time}\"\n",
            stacks.concat()
        )
    };
    for (name, time, blocks) in [("long", "600ms", "4"), ("short", "60ms", "12")] {
        let file = rig.study(name, &study(name, time, blocks));
        rig.run(&file, &rig.result(name), &["--quiet", "--yes"]).expect(0, &[]);
    }
    let (long, short) = (rig.result("long"), rig.result("short"));
    let ran =
        Running::start(rig.assay(&["calibrate", "--fixed", text(&long), "--against", text(&short), "--json"])).wait();
    let told: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let one = of_stack(&told, "two");
    // Set-up is paid twelve times here and three times there, and runs are short beside it: no saving, and called none.
    let wall = number(&one["wall_ratio"]);
    assert_eq!(one["is_kept"] == false, ran.code() == 3, "{}", ran.stderr);
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
    elsewhere(&long);
    let ran = Running::start(rig.assay(&["calibrate", "--fixed", text(&long), "--against", text(&short)])).wait();
    ran.expect(2, &["the host is elsewhere", "run both on one machine"]);
}

fn device_under(place: &Path) -> std::path::PathBuf {
    rig::tool("findmnt", &["-n", "-o", "SOURCE", text(place)]).trim().into()
}

fn elsewhere(result: &Path) {
    rusqlite::Connection::open(result)
        .and_then(|file| file.execute("UPDATE trial SET host = 'elsewhere'", []))
        .expect("told");
}
