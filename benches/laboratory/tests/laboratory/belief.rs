//! One command prints all that says whether to believe a verdict.

use super::bench::{Bench, twins_study};
use serde_json::Value;

#[test]
fn everything_that_says_whether_to_believe_stands_in_one_table() {
    let bench = Bench::new();
    // As a study usually is: it ends when all is known.
    bench.record(
        "twins.assay",
        &twins_study(24, 5, ["", ""]).replace("stop_early = false\n", ""),
    );
    let counts = |caught: u32| {
        format!(r#"{{"schema": 1, "traps_set": 30, "traps_caught": {caught}, "twins_judged": 28, "twins_flagged": 0}}"#)
    };
    bench.write("traps.json", &counts(30));
    bench.write("missed.json", &counts(29));
    let ask = |traps: &'static str, more: &[&'static str]| {
        let all = [
            "belief",
            "--twins",
            "twins.assay",
            "--studies",
            "2000",
            "--traps",
            traps,
        ];
        bench.ask(&[&all[..], more].concat())
    };
    let all = ask("traps.json", &[]);
    assert_eq!(all.code, 0, "{all}");
    for words in [
        "False verdicts, simulated",
        "as they were run",
        "Smallest difference",
        "Time to a verdict",
        "30 of 30",
    ] {
        assert!(all.stdout.contains(words), "{words}: {all}");
    }
    assert!(all.is_narrow(), "{all}");
    let all = ask("traps.json", &["--json"]).json();
    assert_eq!(all["traps"]["traps_caught"], 30);
    assert_eq!(all["twins"]["blocks_recorded"], 24);
    let table = all["table"].as_array().expect("a table");
    assert!(table.iter().all(|line| line["kept"] != false), "{table:?}");
    let kept = |what: &str| {
        let line = table.iter().find(|line| line["what"] == what).expect("the line");
        line["kept"].clone()
    };
    assert_eq!(kept("20 % slower"), true);
    // A first run spends 4 %: so many studies bound it below 5.5 %.
    assert_eq!(kept("equal, four blocks"), true);
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
    let missed = ask("missed.json", &[]);
    assert_eq!(missed.code, 3, "{missed}");
    assert!(missed.stdout.contains("29 of 30  all MISSED"), "{missed}");
    ask("study.toml", &[]).failed_with(2, &["ASSAY_TRAPS"]);
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
        row("abba", 0.25, r#"{"middle": 16.0, "low": 8.1, "high": 29.0}"#),
    ];
    let best = r#"{"schedule": "abba", "stint_seconds": 0.25}"#;
    let told = format!(r#"{{"schema": 1, "schedules": [{}], "best": {best}}}"#, rows.join(", "));
    bench.write("scheduled.json", &told);
    let ask = ["belief", "--studies", "200", "--scheduled"];
    let table = bench.told(&[&ask[..], &["scheduled.json"]].concat());
    let words: Vec<String> = (table.stdout.lines())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "abba, 1.00 s at a time: what `auto` takes 3.9 (1.5 to 16.2)",
        "abba, 0.25 s at a time: tells most 16.0 (8.1 to 29.0)",
    ] {
        assert!(words.iter().any(|said| said == line), "{line}: {table}");
    }
    bench.write("other.json", r#"{"schema": 1}"#);
    let refused = bench.ask(&[&ask[..], &["other.json"]].concat());
    refused.failed_with(2, &["no schedules stand in it", "schedules DIR --json"]);
}
