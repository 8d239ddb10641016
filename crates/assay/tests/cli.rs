//! The command line as its user meets it: help, refusals, answers on stdout in 80 columns or JSON, and nothing touched
//! by the commands that promise so.
//!
//! Prevents: a flag changed unawares (the help texts are snapshots), an answer that needs a wide terminal, and a panic
//! where a pipe was closed.

use crate::bench::{Bench, LATE, Running, model_study};
use crate::machine::is_full;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const COMMANDS: [&str; 10] = [
    "quick",
    "check",
    "run",
    "report",
    "import",
    "published",
    "stacks",
    "calibrate",
    "clean",
    "dg",
];
const DG_COMMANDS: [&str; 9] = ["create", "ls", "du", "add", "drop", "rebalance", "check", "cp", "rm"];

fn assert_narrow(what: &str, text: &str) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "{what}: {} columns: {line}",
            line.chars().count()
        );
        assert!(
            !line.contains('\u{1b}'),
            "{what}: an escape sequence in a pipe: {line:?}"
        );
    }
}

/// A bench with a small finished run in `done.assay`.
fn with_result() -> Bench {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    bench.expect(0, &["run", "study.toml", "--quiet", "-o", "done.assay"]);
    bench
}

#[test]
fn a_launcher_of_mpi_is_refused_before_anything_is_touched() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    let before = bench.listing();
    let call = |variables: &[(&str, &str)]| {
        let mut command = bench.command(&["run", "study.toml", "--quiet", "-o", "ranks.assay"]);
        command.envs(variables.iter().copied());
        Running::start(command).wait()
    };
    for rank in ["0", "1"] {
        let ran = call(&[("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", rank)]);
        assert_eq!(ran.code(), 3, "{ran}");
        assert!(ran.stderr.contains("mpirun of Open MPI started 2 ranks"), "{ran}");
        assert!(ran.stderr.contains("built without MPI"), "{ran}");
        assert!(ran.stderr.contains("--features mpi"), "{ran}");
    }
    assert_eq!(bench.listing(), before);
    // A script of a batch job has no ranks, and one rank is a study like any other.
    let alone = [
        ("SLURM_NTASKS", "8"),
        ("SLURM_PROCID", "0"),
        ("PMI_SIZE", "1"),
        ("PMI_RANK", "0"),
    ];
    assert_eq!(call(&alone).code(), 0);
}

#[test]
fn help_texts() {
    let bench = Bench::new();
    let mut text = bench.expect(0, &["--help"]).stdout;
    for command in COMMANDS {
        text.push_str(&format!("\n==== {command} ====\n"));
        text.push_str(&bench.expect(0, &[command, "--help"]).stdout);
    }
    for command in DG_COMMANDS {
        text.push_str(&format!("\n==== dg {command} ====\n"));
        text.push_str(&bench.expect(0, &["dg", command, "--help"]).stdout);
    }
    assert_narrow("help", &text);
    insta::assert_snapshot!("help", text);
}

#[test]
fn what_is_no_command_is_refused() {
    let bench = Bench::new();
    bench
        .run(&["run", "--fast", "x.toml"])
        .failed_with(2, &["--fast", "--help"]);
    bench.run(&["benchmark"]).failed_with(2, &["benchmark"]);
    bench.run(&[]).failed_with(2, &["Usage: assay <COMMAND>"]);
    bench.run(&["run"]).failed_with(2, &["<STUDY>"]);
    bench
        .run(&["run", "x.toml", "--fail-on", "slow"])
        .failed_with(2, &["slow", "worse", "invalid"]);
    bench
        .run(&["report", "x", "--json", "--markdown"])
        .failed_with(2, &["--json", "--markdown"]);
    bench
        .run(&["report", "x", "--full", "--json"])
        .failed_with(2, &["--full", "--json"]);
    bench
        .run(&["calibrate", "--studies", "5"])
        .failed_with(2, &["--procedure"]);
    bench
        .run(&["calibrate", "--seconds", "0"])
        .failed_with(2, &["--seconds 0"]);
    bench
        .run(&["calibrate", "--seconds=nan"])
        .failed_with(2, &["--seconds NaN"]);
    assert!(bench.listing().is_empty(), "{:?}", bench.listing());
}

#[test]
fn completions_and_man_page() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.expect(0, &["completions", shell]).stdout;
        for word in COMMANDS
            .iter()
            .chain(&DG_COMMANDS)
            .chain(&["fail-on", "resume", "failure-group"])
        {
            assert!(script.contains(word), "{shell} completions do not know {word}");
        }
    }
    let page = bench.expect(0, &["man"]).stdout;
    assert!(page.contains(".TH assay 1"), "{page}");
    for command in COMMANDS {
        assert!(page.contains(command), "the man page does not name {command}");
    }
    assert!(page.contains("Exit codes"));
    let family = bench.expect(0, &["man", "dg"]).stdout;
    for command in DG_COMMANDS {
        assert!(family.contains(command), "the man page does not name dg {command}");
        let page = bench.expect(0, &["man", "dg", command]).stdout;
        assert!(page.contains(&format!("assay dg {command}")), "{page}");
    }
    bench.run(&["man", "dg", "mkdir"]).failed_with(2, &["mkdir"]);
    let version = bench.expect(0, &["--version"]).stdout;
    let file = format!("result file schema {}", ledger::SCHEMA_VERSION);
    assert_eq!(version.trim(), format!("assay {} ({file})", env!("CARGO_PKG_VERSION")));
}

#[test]
fn stacks_say_what_can_be_built_and_the_cure() {
    let bench = Bench::new();
    let words = bench.expect(0, &["stacks"]).stdout;
    let rows = bench.expect(0, &["stacks", "--json"]).json();
    assert_eq!(rows["schema"], 1);
    let rows = rows["stacks"].as_array().expect("stacks");
    for kind in ["directory", "raw", "ext4", "xfs", "btrfs"] {
        assert!(words.contains(kind), "{words}");
        let row = rows
            .iter()
            .find(|r| r["kind"] == kind)
            .unwrap_or_else(|| panic!("no {kind}: {rows:?}"));
        let able = row["able"].as_bool().expect("able");
        assert!(
            able || row["cure"].as_str().is_some_and(|c| !c.is_empty()),
            "no cure: {row}"
        );
    }
    assert_eq!(
        rows.iter().find(|r| r["kind"] == "directory").expect("a row")["able"],
        true
    );
}

#[test]
fn check_touches_nothing() {
    let bench = Bench::new();
    let model = bench.write("study.toml", &model_study(7, 4, &[("plain", ""), ("late", LATE)]));
    let mut studies = vec![model];
    let folders = ["studies", "benches/laboratory/studies"].map(|folder| crate::bench::root().join(folder));
    for entry in (folders.iter()).flat_map(|folder| std::fs::read_dir(folder).expect("studies")) {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "toml") {
            studies.push(path);
        }
    }
    assert!(studies.len() >= 3, "{studies:?}");
    let before = bench.listing();
    for (nth, study) in studies.into_iter().enumerate() {
        let study = study.to_str().expect("UTF-8");
        // Each look takes its time, and in words it says what is in the JSON.
        if is_full() || nth % 4 == 0 {
            says_what_it_would_do(&bench, study);
        }
        let json = bench.expect(0, &["check", study, "--json"]).json();
        assert_eq!(json["schema"], 1);
        assert!(json["trials"].as_u64().is_some_and(|n| n >= 4), "{json}");
        assert!(
            json["settings"].as_array().is_some_and(|s| s.len() > 20),
            "every key is listed: {json}"
        );
        assert_eq!(json["destroys"], Value::Array(Vec::new()), "{study} destroys something");
        // What a scale does is the same in all.
        if nth % 8 > 0 {
            continue;
        }
        let scaled = bench.expect(0, &["check", study, "--json", "--scale", "2"]).json();
        assert!(
            scaled["written_bytes_per_trial"].as_u64() > json["written_bytes_per_trial"].as_u64(),
            "{study}"
        );
    }
    assert_eq!(bench.listing(), before, "check left something behind");
}

fn says_what_it_would_do(bench: &Bench, study: &str) {
    let words = bench.expect(0, &["check", study]).stdout;
    // The first line holds the question, in the words of whoever wrote it.
    assert_narrow(study, words.split_once('\n').expect("lines").1);
    for word in [
        "trials",
        "time",
        "verdicts",
        "created",
        "destroyed",
        "Nothing was touched.",
    ] {
        assert!(words.contains(word), "{study}: {word:?} is not said:\n{words}");
    }
}

#[test]
fn check_says_where_temporary_files_may_find_no_room() {
    let bench = Bench::new();
    let said = |size: &str| {
        let text = format!(
            "[study]\nname = \"spills\"\n[luns.data]\nfiles = {{ size = \"1GiB\", dir = \".\" }}\n\
             [luns.temp]\nfiles = {{ size = \"{size}\", dir = \".\" }}\n\
             [[stack]]\nname = \"apart\"\nkind = \"ext4\"\ndata = \"data\"\ntemp = \"temp\"\n\
             [database]\nengine = \"sqlite\"\n[[phase]]\nname = \"questions\"\nkind = \"tpch\"\n\
             scale = 0.1\nusers = 10\n"
        );
        bench.write("spills.toml", &text);
        let words = bench.expect(0, &["check", "spills.toml"]).stdout;
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let short = said("64MiB");
    let wanted = "temporary apart: temporary files may take 286 MiB at the same time. The LUN set \"temp\" has room \
                  for 64 MiB.";
    assert!(
        short.contains(wanted) && short.contains("make these LUNs larger"),
        "{short}"
    );
    let enough = said("512MiB");
    assert!(!enough.contains("temporary files may take"), "{enough}");
}

#[test]
fn check_says_what_would_be_made_and_destroyed() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("luns")).expect("made");
    let phase = "[[phase]]\nname = \"read\"\nkind = \"random\"\nupdate_pct = 0\ntime = \"2s\"\n";
    let files = format!(
        "[study]\nname = \"files\"\n[luns.data]\nfiles = {{ count = 1, size = \"512MiB\", dir = \"luns\" }}\n\
         [[stack]]\nname = \"fs\"\nkind = \"ext4\"\ndata = \"data\"\n{phase}"
    );
    bench.write("files.toml", &files);
    let words = bench.expect(0, &["check", "files.toml"]).stdout;
    assert!(words.contains("1 LUN file(s) of 512MiB in luns/assay-RUN/"), "{words}");
    assert!(words.contains("stack fs"), "{words}");
    for path in ["luns:", "files.assay:", "/dev/loop-control:"] {
        assert!(words.contains(path), "{path}: {words}");
    }
    let device = files.replace(
        "files = { count = 1, size = \"512MiB\", dir = \"luns\" }",
        "devices = [\"/dev/no-such\"]",
    );
    bench.write("device.toml", &device);
    // For root it ends as the run would: a device that is not there is refused.
    let code = if rustix::process::geteuid().is_root() { 3 } else { 0 };
    let json = bench.expect(code, &["check", "device.toml", "--json"]).json();
    assert_eq!(json["refused"].as_array().map(Vec::len), Some(usize::from(code == 3)));
    assert_eq!(json["destroys"][0]["device"], "/dev/no-such");
    assert_eq!(json["writes"]["devices"][0]["path"], "/dev/no-such");
    assert!(
        json["destroys"][0]["verdict"]
            .as_str()
            .is_some_and(|v| v.starts_with("refused")),
        "{json}"
    );
    assert_eq!(bench.listing().len(), 3, "{:?}", bench.listing());
}

#[test]
fn calibrate_measures_the_tool() {
    let bench = Bench::new();
    let json = bench.expect(0, &["calibrate", "--seconds", "0.05", "--json"]).json();
    let rows = json["rows"].as_array().expect("rows");
    assert!(rows.len() >= 4, "{json}");
    for row in rows {
        // What the processor needed says it on a busy machine too.
        assert!(row["per_second"].as_f64().is_some_and(|n| n > 0.0), "{row}");
        assert!(row["cpu_ns_each"].as_f64().is_some_and(|n| n > 0.0 && n < 1e6), "{row}");
    }
    let words = bench.expect(0, &["calibrate", "--seconds", "0.05"]).stdout;
    assert_narrow("calibrate", &words);
    assert!(words.contains("null target"), "{words}");
    assert!(words.contains("page engine, pages read and verified"), "{words}");
    let missing = bench.run(&["calibrate", "--seconds", "0.05", "--target", "no-such"]);
    missing.failed_with(3, &["no-such"]);
}

#[test]
fn the_procedure_errs_no_more_often_than_promised() {
    let bench = Bench::new();
    let args = ["calibrate", "--procedure", "--studies", "2000", "--json"];
    let json = bench.expect(0, &args).json();
    let mut promises = 0;
    for scenario in json["scenarios"].as_array().expect("scenarios") {
        assert_eq!(scenario["false_verdicts"]["of"], 2000);
        if let Some(promise) = scenario["promise"].as_f64() {
            let low = scenario["false_verdicts"]["low"].as_f64().expect("low");
            assert!(
                low <= promise,
                "{}: at least {low}, promised {promise}",
                scenario["name"]
            );
            promises += 1;
        }
    }
    assert!(promises >= 8, "only {promises} scenarios promise anything");
    let naive = &json["scenarios"][0];
    assert!(
        naive["name"].as_str().is_some_and(|n| n.starts_with("naive")),
        "{naive}"
    );
    assert!(
        naive["false_verdicts"]["low"].as_f64().is_some_and(|l| l > 0.05),
        "looking naively errs: {naive}"
    );
    let again = || {
        bench
            .expect(0, &["calibrate", "--procedure", "--studies", "200", "--json"])
            .stdout
    };
    assert_eq!(again(), again(), "the same seed, the same rates");
    assert_narrow(
        "procedure",
        &bench
            .expect(0, &["calibrate", "--procedure", "--studies", "200"])
            .stdout,
    );
}

#[test]
fn clean_of_nothing() {
    let bench = Bench::new();
    assert_eq!(bench.expect(0, &["clean"]).stdout, "nothing to clean\n");
    std::fs::create_dir_all(bench.path("state")).expect("made");
    assert_eq!(bench.expect(0, &["clean", "--dry-run"]).stdout, "nothing to clean\n");
    let json = bench.expect(0, &["clean", "--json"]).json();
    assert_eq!(
        (&json["runs"], &json["live"]),
        (&Value::Array(Vec::new()), &Value::Array(Vec::new()))
    );
}

#[test]
fn what_is_no_result_file_is_refused() {
    let bench = with_result();
    bench.write("empty.assay", "");
    bench.write("text.assay", "a text\n");
    std::fs::create_dir(bench.path("directory")).expect("made");
    let whole = std::fs::read(bench.path("done.assay")).expect("read");
    std::fs::write(bench.path("cut.assay"), &whole[..whole.len() / 3]).expect("written");
    let before = bench.listing();
    for (file, why) in [
        ("missing.assay", "no such result file"),
        ("empty.assay", "it is empty"),
        ("text.assay", "not an Assay result file"),
        ("study.toml", "not an Assay result file"),
        ("directory", "not an Assay result file"),
    ] {
        let ran = bench.run(&["report", file]);
        ran.failed_with(2, &[file, why]);
        let cure = ran.stderr.lines().last().expect("a line");
        assert!(cure.starts_with("  "), "the last line is no cure: {cure}");
    }
    let cut = bench.run(&["report", "cut.assay"]);
    assert!(
        [2, 3].contains(&cut.code()) && cut.stderr.contains("cut.assay"),
        "{cut}"
    );
    assert_eq!(bench.listing(), before);
}

#[test]
fn a_pipe_closed_early_is_no_error() {
    let bench = with_result();
    for args in [
        &["report", "done.assay"][..],
        &["report", "done.assay", "--json"],
        &["check", "study.toml"],
        &["man"],
    ] {
        let mut child = bench.command(args).spawn().expect("started");
        let mut first = String::new();
        let mut pipe = BufReader::new(child.stdout.take().expect("a pipe"));
        pipe.read_line(&mut first).expect("a line");
        drop(pipe);
        let out = child.wait_with_output().expect("ended");
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(
            !first.is_empty() && out.status.success(),
            "{args:?}: {:?} {stderr}",
            out.status
        );
        assert_eq!(stderr, "", "{args:?}");
    }
    // Closed before anything is written.
    let mut child = bench
        .command(&["report", "done.assay", "--json"])
        .spawn()
        .expect("started");
    drop(child.stdout.take());
    let out = child.wait_with_output().expect("ended");
    assert!(
        out.status.success() && out.stderr.is_empty(),
        "{:?} {}",
        out.status,
        String::from_utf8_lossy(&out.stderr)
    );
}

#[test]
fn a_full_stdout_is_an_error() {
    let bench = with_result();
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    let out = bench
        .command(&["report", "done.assay"])
        .stdout(Stdio::from(full))
        .output()
        .expect("ended");
    assert_eq!(out.status.code(), Some(3), "an answer that was lost was not given");
    assert!(String::from_utf8_lossy(&out.stderr).contains("stdout"));
}

#[test]
fn reports_fit_80_columns_without_colour_in_a_pipe() {
    let bench = with_result();
    let plain = bench.expect(0, &["report", "done.assay"]).stdout;
    assert_narrow("report", &plain);
    assert!(
        plain.contains("worse") && plain.contains("What speaks against it"),
        "{plain}"
    );
    assert!(plain.lines().count() <= 40, "more than one screen:\n{plain}");
    let full = bench.expect(0, &["report", "done.assay", "--full"]).stdout;
    assert_narrow("report --full", &full);
    assert!(
        full.contains("Verdicts") && full.lines().count() > plain.lines().count(),
        "{full}"
    );
    let mut command = bench.command(&["report", "done.assay"]);
    let out = command
        .env("NO_COLOR", "1")
        .env("COLUMNS", "200")
        .output()
        .expect("ended");
    assert_eq!(String::from_utf8_lossy(&out.stdout), plain);
    let markdown = bench.expect(0, &["report", "done.assay", "--markdown"]).stdout;
    assert!(markdown.starts_with('#') && markdown.contains("| "), "{markdown}");
}

#[test]
fn a_page_is_written_over_a_page_and_nothing_else() {
    let bench = with_result();
    let printed = bench.expect(0, &["report", "done.assay"]).stdout;
    let again = bench.expect(0, &["report", "done.assay", "--html", "done.html"]);
    assert_eq!(
        again.stdout, printed,
        "the page comes beside the report, not in its place"
    );
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("a page");
    let page = read("done.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("Content-Security-Policy"));
    for place in ["src=\"http", "href=\"http", "url(", "@import"] {
        assert!(!page.contains(place), "the page asks for something: {place}");
    }
    // The same file gives the same page, over the old one; a page made for an empty file is as good.
    bench.expect(0, &["report", "done.assay", "--html", "done.html"]);
    assert_eq!(read("done.html"), page);
    bench.write("empty.html", "");
    bench.expect(0, &["report", "done.assay", "--html", "empty.html"]);
    let before = bench.listing();
    for place in ["study.toml", "done.assay", "no/such/dir.html", "."] {
        bench
            .run(&["report", "done.assay", "--html", place])
            .failed_with(2, &[place.split('/').next().unwrap_or(place), "--html"]);
    }
    // Refused before anything is run.
    bench
        .run(&["run", "study.toml", "--output", "new.assay", "--html", "study.toml"])
        .failed_with(2, &["study.toml exists and is no report of assay"]);
    bench
        .run(&["run", "study.toml", "-o", "new.assay", "--html", "./new.assay"])
        .failed_with(2, &["./new.assay, which is the result file"]);
    assert_eq!(bench.listing(), before);
    bench.expect(
        0,
        &[
            "run",
            "study.toml",
            "--quiet",
            "-o",
            "other.assay",
            "--html",
            "other.html",
        ],
    );
    assert!(read("other.html").contains("<h1>"));
}

#[test]
fn a_load_is_sized_in_each_form_and_refused_with_its_cure() {
    let bench = with_result();
    let before = bench.listing();
    let size = |load: &str, more: &[&str]| bench.run(&[&["size", "done.assay", "--load", load][..], more].concat());
    let load = "3000/s reads, 300/s updates";
    let json = size(load, &["--json"]).json();
    assert_eq!(json["schema"], 1);
    let terminal = size(load, &[]).stdout;
    assert_narrow("size", &terminal);
    let markdown = size(load, &["--markdown"]).stdout;
    assert!(markdown.starts_with('#') && markdown.contains("| "), "{markdown}");
    let stacks = json["sizing"]["stacks"].as_array().expect("stacks");
    let stack = |name: &str| {
        let found = stacks.iter().find(|stack| stack["stacks"][0] == name);
        let found = found.unwrap_or_else(|| panic!("no {name}: {json}"));
        let rate = found["for_rate"].as_f64().expect("so much of it for the rate");
        let takes = found["takes"].as_u64().expect("a number to take");
        assert!(takes as f64 >= rate, "{found}");
        assert_eq!(found["phases"], serde_json::json!(["half updates", "read"]), "{found}");
        for (form, text) in [("terminal", &terminal), ("markdown", &markdown)] {
            assert!(text.contains(&format!("{name}: {takes} of it")), "{form}: {text}");
        }
        rate
    };
    let (plain, late) = (stack("plain"), stack("late"));
    // Four reads of a millisecond at once are at most four thousand a second; the late stack is a fifth slower.
    assert!((0.7..4.0).contains(&plain), "{plain} of it");
    assert!((1.05..1.5).contains(&(late / plain)), "{plain} and {late} of it");
    // Far beyond what was measured: that is an answer too.
    let far = size("3000000/s reads", &[]);
    assert_narrow("size", &far.stdout);
    assert!(
        far.code() == 0 && far.stdout.contains("Nothing can be said of this load"),
        "{far}"
    );
    for (load, why) in [
        ("5000/s updates", "docs/sizing.md says where"),
        ("p99 5ms", "neither reads nor updates"),
        ("fast", "is no rate, no p99 and no size"),
        ("10/s reads, 20/s reads", "comes twice"),
        ("10/s reads,", "a part between commas is empty"),
        ("10/s reads, p99 soon", "soon"),
    ] {
        let ran = size(load, &[]);
        ran.failed_with(2, &["--load:", why]);
        let cure = ran.stderr.lines().last().expect("a line");
        assert!(cure.starts_with("  write --load "), "the last line is no cure: {cure}");
    }
    size(load, &["--json", "--markdown"]).failed_with(2, &["--json", "--markdown"]);
    bench.run(&["size", "done.assay"]).failed_with(2, &["--load <LOAD>"]);
    let missing = bench.run(&["size", "missing.assay", "--load", load]);
    missing.failed_with(2, &["missing.assay", "no such result file"]);
    assert_eq!(bench.listing(), before);
}
