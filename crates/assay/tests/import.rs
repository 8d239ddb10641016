//! Importing, publications and `slob.conf` through the whole binary: what is printed, recorded, refused; and the
//! figures of the other tools in the report beside measured ones.

use crate::bench::{Bench, LATE, model_study};
use serde_json::Value;

const AWR: &str = include_str!("../../import/tests/data/unity-2017-physical.txt");
const RUNS: &str = include_str!("../../import/tests/data/unity-2017-runs.txt");
const BARS: &str = include_str!("../../import/tests/data/awr-info.txt");
const IOSTAT: &str = include_str!("../../import/tests/data/xtremio-2014-copy.iostat");

fn narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn figures_of_another_tool_beside_measured_ones() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    bench.write("awr.txt", AWR);
    bench.expect(0, &["run", "study.toml", "--quiet", "-o", "done.assay"]);
    let before: Value = serde_json::from_str(&bench.expect(0, &["report", "done.assay", "--json"]).stdout).unwrap();
    let phase = before["report"]["phases"][0]["name"].as_str().unwrap().to_string();

    // Shown without a result file: everything, and nothing is written.
    let shown = bench.expect(0, &["import", "awr.txt"]).stdout;
    narrow(&shown);
    assert!(
        shown.contains("201,232,334,848") && shown.contains("8.3846806E+09"),
        "{shown}"
    );

    let into = [
        "import",
        "awr.txt",
        "--into",
        "done.assay",
        "--stack",
        "oracle",
        "--phase",
        &phase,
    ];
    let said = bench.expect(0, &into);
    narrow(&said.stdout);
    assert!(said.stderr.contains("assay report done.assay"), "{}", said.stderr);
    let after: Value = serde_json::from_str(&bench.expect(0, &["report", "done.assay", "--json"]).stdout).unwrap();
    for part in ["comparisons", "sentence", "stacks", "phases", "checks"] {
        assert_eq!(
            before["report"][part], after["report"][part],
            "{part} changed by an import"
        );
    }
    let imported = &after["report"]["imported"][0];
    assert_eq!(imported["stack"], "oracle");
    assert_eq!(imported["quantities"][0]["text"], "80,744.1");
    assert_eq!(imported["quantities"][0]["measured"][0]["stack"], "plain");
    let report = bench.expect(0, &["report", "done.assay", "--full"]).stdout;
    narrow(&report);
    assert!(report.contains("imported, not measured here and not ranked") && report.contains("80,744.1"));

    bench.run(&into).failed_with(2, &["already imported", "another phase"]);
    let taken = [
        "import",
        "awr.txt",
        "--into",
        "done.assay",
        "--stack",
        "plain",
        "--phase",
        "x",
    ];
    bench.run(&taken).failed_with(2, &["was measured", "plain (elsewhere)"]);
    let into_awr = ["import", "awr.txt", "--into", "awr.txt", "--stack", "x", "--phase", "x"];
    bench.run(&into_awr).failed_with(2, &["not an Assay result file"]);
    // A study that goes on with its file does not mind what was imported.
    bench.expect(0, &["run", "study.toml", "--quiet", "--resume", "-o", "done.assay"]);
    let again: Value = serde_json::from_str(&bench.expect(0, &["report", "done.assay", "--json"]).stdout).unwrap();
    assert_eq!(again["report"]["imported"], after["report"]["imported"]);
}

#[test]
fn a_result_file_of_imports_alone() {
    let bench = Bench::new();
    bench.write("runs.txt", RUNS);
    bench.write("copy.iostat", IOSTAT);
    let new = |compressed: &str, update: &str, how: &str, stack: &str| {
        let phase = format!("{update} % updates");
        let (compressed, update) = (format!("comp={compressed}"), format!("update={update}"));
        let args = [
            "import",
            "runs.txt",
            "--where",
            &compressed,
            "--where",
            &update,
            how,
            "unity.assay",
            "--stack",
            stack,
            "--phase",
            &phase,
        ];
        bench.expect(0, &args);
    };
    new("no", "30", "--output", "plain");
    new("yes", "30", "--into", "compressed");
    let report = bench.expect(0, &["report", "unity.assay"]).stdout;
    narrow(&report);
    // Sums of both instances: 56,919, 57,007, 56,643; and 43,110, 42,167, 42,819.
    assert!(
        report.contains("56,919 (56,643 to 57,007)") && report.contains("42,819 (42,167 to 43,110)"),
        "{report}"
    );
    assert!(report.contains("imported figures are not ranked."), "{report}");
    bench.expect(0, &["report", "unity.assay", "--markdown"]);
    let json = bench
        .expect(0, &["import", "copy.iostat", "--device", "c3*", "--json"])
        .stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let figures = json["texts"][0]["reports"][0]["figures"].as_array().unwrap().clone();
    let read = figures.iter().find(|f| f["name"] == "devices.5.kr/s").unwrap();
    assert_eq!(
        (read["text"].as_str(), read["line"].as_u64()),
        (Some("57348.2"), Some(10))
    );
}

#[test]
fn what_cannot_be_imported_is_refused_with_a_cure() {
    let bench = Bench::new();
    bench.write("letter.txt", "Dear all,\n");
    bench.write("german.txt", &IOSTAT.replace('.', ","));
    std::fs::write(bench.path("bytes"), [0xff, 0xfe, 0, 1, 2, 200]).unwrap();
    bench
        .run(&["import", "letter.txt"])
        .failed_with(2, &["looked for", "Tablespace IO Stats", "--format"]);
    bench.run(&["import", "bytes"]).failed_with(2, &["looked for"]);
    bench
        .run(&["import", "german.txt"])
        .failed_with(2, &["line 4", "LC_ALL=C"]);
    bench
        .run(&["import", "none.txt"])
        .failed_with(2, &["none.txt", "check the path"]);
    bench.run(&["import", "."]).failed_with(2, &["cannot read"]);
    bench
        .run(&["import", "letter.txt", "--into", "x.assay"])
        .failed_with(2, &["--stack"]);
    bench
        .run(&["import", "letter.txt", "--where", "comp"])
        .failed_with(2, &["no `=`"]);
    let output = [
        "import",
        "letter.txt",
        "--output",
        "x.assay",
        "--stack",
        "a",
        "--phase",
        "b",
    ];
    bench.run(&output).failed_with(2, &["looked for"]);
    bench.write("copy.iostat", IOSTAT);
    let twice = [
        "import",
        "copy.iostat",
        "copy.iostat",
        "--output",
        "x.assay",
        "--stack",
        "a",
        "--phase",
        "b",
    ];
    bench.run(&twice).failed_with(2, &["already imported"]);
    assert!(!bench.path("x.assay").exists(), "a refused import leaves no file");
}

#[test]
fn what_would_change_nothing_is_refused() {
    let bench = Bench::new();
    bench.write("awr.txt", AWR);
    bench.write("copy.iostat", IOSTAT);
    for name in ["--stack", "--phase"] {
        bench
            .run(&["import", "awr.txt", name, "x"])
            .failed_with(2, &["--into <RESULT>|--output <RESULT>"]);
    }
    let both = [
        "import", "awr.txt", "--stack", "x", "--phase", "x", "--into", "a", "--output", "b",
    ];
    bench.run(&both).failed_with(2, &["cannot be used with"]);
    for (text, said, read_by) in [
        ("copy.iostat", ["--where", "x=y"], "slob"),
        ("copy.iostat", ["--tablespace", "FOO"], "awr, statspack"),
        ("awr.txt", ["--device", "sd*"], "iostat, sar, sadf, zpool"),
    ] {
        let args = ["import", text, said[0], said[1]];
        bench.run(&args).failed_with(2, &[text, said[0], read_by]);
    }
    bench
        .run(&["import", "awr.txt", "--keep-first"])
        .failed_with(2, &["--keep-first", "iostat, vmstat, zpool"]);
}

/// Assay times operations and no reads: a mark would promise what the report does not show.
#[test]
fn the_mean_time_of_a_read_has_no_mark() {
    let bench = Bench::new();
    bench.write("runs.txt", RUNS);
    let shown = bench.expect(0, &["import", "runs.txt", "--where", "test=1"]).stdout;
    let line = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap();
    assert!(line("all instances.reads_per_s").contains(" * "), "{shown}");
    assert!(!line("all instances.read_time").contains('*'), "{shown}");
}

#[test]
fn rows_of_different_loads_make_no_median() {
    let bench = Bench::new();
    bench.write("bars.txt", BARS);
    bench.write("runs.txt", RUNS);
    let args = |text: &'static str, rows: &[&'static str], how: &'static str, phase: &'static str| {
        let rows = rows.iter().flat_map(|row| ["--where", *row]);
        let to = [how, "x.assay", "--stack", "oracle", "--phase", phase];
        ["import", text].into_iter().chain(rows).chain(to).collect::<Vec<_>>()
    };
    // Without a result file, all rows are shown.
    bench.expect(0, &["import", "bars.txt"]);
    bench
        .run(&args("bars.txt", &[], "--output", "a"))
        .failed_with(2, &["SESSIONS = 32", "SESSIONS = 64", "--where SESSIONS=32"]);
    bench
        .run(&args("runs.txt", &["update=30"], "--output", "a"))
        .failed_with(2, &["comp = no", "comp = yes", "--where comp=no"]);
    assert!(!bench.path("x.assay").exists(), "a refused import leaves no file");
    bench.expect(0, &args("bars.txt", &["SESSIONS=32"], "--output", "a"));
    let other = |phase: &'static str| args("bars.txt", &["SESSIONS=64"], "--into", phase);
    bench
        .run(&other("a"))
        .failed_with(2, &["SESSIONS = 32", "SESSIONS = 64"]);
    bench.expect(0, &other("b"));
    // The same load again, out of another file.
    bench.write("again.txt", &BARS.replace("|61,500|", "|61,700|"));
    bench.expect(0, &args("again.txt", &["SESSIONS=32"], "--into", "a"));
    let report = bench.expect(0, &["report", "x.assay", "--full"]).stdout;
    narrow(&report);
    assert!(report.contains("61,600 (61,500 to 61,700)"), "{report}");
}

#[test]
fn publications_are_listed_and_checked() {
    let bench = Bench::new();
    let all = bench.expect(0, &["published"]).stdout;
    narrow(&all);
    assert!(all.contains("44391 reads/s") && all.contains("unity-2017"), "{all}");
    let one: Value = serde_json::from_str(&bench.expect(0, &["published", "lvm-2006", "--json"]).stdout).unwrap();
    assert_eq!(one["sources"][0]["id"], "lvm-2006");
    bench.run(&["published", "nobody"]).failed_with(2, &["xtremio-2014"]);

    let study = model_study(7, 4, &[("plain", ""), ("late", LATE)]);
    let named = study.replacen("[study]\n", "[study]\npublished = \"xtremio-2014\"\n", 1);
    assert_ne!(named, study);
    let mapped = format!("{named}\n[published]\nstacks = {{ plain = \"asm\", late = \"zfs\" }}\n");
    bench.write("wrong.toml", &mapped.replace("\"zfs\"", "\"zsf\""));
    bench
        .run(&["check", "wrong.toml"])
        .failed_with(2, &["no stack \"zsf\"", "asm, zfs"]);
    bench.write("unknown.toml", &named.replace("xtremio-2014", "xtremio-2013"));
    bench
        .run(&["run", "unknown.toml"])
        .failed_with(2, &["xtremio-2013", "assay published"]);
    bench.write("good.toml", &mapped);
    let checked = bench.expect(0, &["check", "good.toml"]).stdout;
    narrow(&checked);
    assert!(
        checked.contains("plain for asm, late for zfs; nothing here for"),
        "{checked}"
    );
    bench.expect(0, &["run", "good.toml", "--quiet", "-o", "good.assay"]);
    let report = bench.expect(0, &["report", "good.assay", "--full"]).stdout;
    narrow(&report);
    let flat = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("What others published") && flat.contains("asm 44391 reads/s"),
        "{report}"
    );
}

#[test]
fn check_says_of_each_slob_parameter_what_is_used() {
    let bench = Bench::new();
    bench.write(
        "slob.conf",
        "UPDATE_PCT=50\nSCALE=80M\nSYSDBA_PASSWD=tiger\nLOAD_PARALLEL_DEGREE=2\n",
    );
    let study = "[study]\nname = \"s\"\ntime_limit = \"1h\"\n[[stack]]\nname = \"m\"\nkind = \"model\"\n[database]\n\
         schemas = 4\nscale = \"64MiB\"\n[[phase]]\nname = \"p\"\nkind = \"random\"\nwork_unit = 8\nsessions = 4\n\
         slob_conf = \"slob.conf\"\n";
    bench.write("s.toml", study);
    let text = bench.expect(0, &["check", "s.toml"]).stdout;
    narrow(&text);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "UPDATE_PCT 50; update_pct = 50; as in the file",
        "SCALE 80M; database.scale = \"64MiB\"",
        "LOAD_PARALLEL_DEGREE 2; -; not used",
    ] {
        assert!(flat.contains(wanted), "{wanted}: {text}");
    }
    assert!(!text.contains("tiger"));
    let json: Value = serde_json::from_str(&bench.expect(0, &["check", "s.toml", "--json"]).stdout).unwrap();
    assert_eq!(json["slob_conf"].as_array().map(Vec::len), Some(4));
    assert!(!json.to_string().contains("tiger"));
}
