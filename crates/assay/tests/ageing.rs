//! Ageing from the study file to the report: on a simulated device without root, and with root on loop devices, where a
//! copy-on-write file system runs out of space and the study goes on.
//!
//! Prevents: an ageing that leaves pages out, a full stack that ends the study of the others, and a check that is
//! silent about what a small study does not keep of the large one.

use crate::bench::Bench;
use crate::rig::{Rig, assert_blocks, limited};
use ledger::{Ledger, Measure, PhaseStatus, TrialStatus};
use std::path::Path;

const STUDIES: [&str; 3] = ["asm-vs-cow", "asm-vs-cow-at-80", "nodatacow"];

fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{name}.toml"));
    std::fs::read_to_string(path).expect("a study that ships")
}

#[test]
fn a_model_is_aged_twice_and_measured_after_each_pass() {
    let bench = Bench::new();
    let mut text = crate::bench::model_study(1, 4, &[("one", ""), ("other", "")]);
    text.truncate(text.find("[[phase]]").expect("phases"));
    text.push_str(
        "[[phase]]\nname = \"fresh scan\"\nkind = \"scan\"\nusers = 4\n\
         [[phase]]\nname = \"ageing\"\nkind = \"age\"\npasses = 2\nsessions = 8\nwork_unit = 8\n\
         after_each = [\"aged scan\"]\n\
         [[phase]]\nname = \"aged scan\"\nkind = \"scan\"\nusers = 4\nagainst = \"fresh scan\"\n",
    );
    bench.write("ages.toml", &text);
    bench.expect(0, &["run", "ages.toml", "--output", "ages.assay"]);
    let report = bench.expect(0, &["report", "ages.assay", "--json"]).json();
    let report = &report["report"];
    let names: Vec<&str> = report["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .map(|phase| phase["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        ["fresh scan", "ageing 1", "aged scan 1", "ageing 2", "aged scan 2"]
    );
    for place in [1, 3] {
        let cell = &report["phases"][place]["cells"][0];
        assert_eq!(cell["overwritten_share"]["low"], 1.0, "{cell}");
    }
    let changes = report["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 4, "two stacks, two scans");
    assert!(
        changes
            .iter()
            .all(|one| one["against"] == "fresh scan" && one["n"] == 4)
    );
    let contrasts = report["contrasts"].as_array().expect("contrasts");
    assert_eq!(contrasts.len(), 2, "one stack has a base, two scans");
    assert!(contrasts.iter().all(|one| one["base"] == "one" && one["n"] == 4));
}

/// The control rests, overwrites nothing, and is measured by the same work: on a device that does not age, its change
/// and that of the ageing are both there, and neither is called a difference.
#[test]
fn a_control_measures_what_time_does_without_the_overwrite() {
    let bench = Bench::new();
    let mut text = crate::bench::model_study(1, 4, &[("one", ""), ("other", "")]);
    text.truncate(text.find("[[phase]]").expect("phases"));
    text.push_str(
        "[[phase]]\nname = \"fresh scan\"\nkind = \"scan\"\nusers = 4\n\
         [[phase]]\nname = \"ageing\"\nkind = \"age\"\ncontrol = \"3s\"\nsessions = 8\nwork_unit = 8\n\
         [[phase]]\nname = \"aged scan\"\nkind = \"scan\"\nusers = 4\nagainst = \"fresh scan\"\n",
    );
    bench.write("control.toml", &text);
    bench.expect(0, &["run", "control.toml", "--output", "control.assay"]);
    let report = bench.expect(0, &["report", "control.assay", "--json"]).json();
    let report = &report["report"];
    let phases = report["phases"].as_array().expect("phases");
    let names: Vec<&str> = phases.iter().filter_map(|phase| phase["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "fresh scan",
            "ageing control",
            "aged scan control",
            "ageing",
            "aged scan"
        ]
    );
    let changes = report["changes"].as_array().expect("changes");
    let held: Vec<(&str, &str)> = changes
        .iter()
        .filter_map(|one| Some((one["phase"].as_str()?, one["against"].as_str()?)))
        .collect();
    for phase in ["aged scan control", "aged scan"] {
        let those = held.iter().filter(|one| **one == (phase, "fresh scan")).count();
        assert_eq!(those, 2, "each stack's change in {phase}: {held:?}");
    }
    let contrasts = report["contrasts"].as_array().expect("contrasts");
    assert_eq!(contrasts.len(), 2, "the control's and the ageing's: {contrasts:?}");
    for one in contrasts {
        let verdict = one["verdict"].as_str().expect("a verdict");
        assert!(
            ["equivalent", "not_enough_data"].contains(&verdict),
            "nothing ages: {one}"
        );
    }
    let ledger = Ledger::open(bench.path("control.assay")).expect("a result");
    let of = |name: &str| -> Vec<ledger::Phase> {
        let all = ledger.phases().expect("phases");
        all.into_iter().filter(|phase| phase.run.name == name).collect()
    };
    let (rests, ageings) = (of("ageing control"), of("ageing"));
    assert_eq!((rests.len(), ageings.len()), (8, 8), "two stacks, four blocks");
    for rest in &rests {
        assert_eq!(value(&ledger, rest, Measure::EngineWrites), 0.0, "a rest wrote");
        assert!(
            rest.run.elapsed_ns >= 2_900_000_000,
            "it rested {} ns",
            rest.run.elapsed_ns
        );
    }
    for ageing in &ageings {
        let overwritten = value(&ledger, ageing, Measure::EngineOverwrittenBytes);
        assert_eq!(overwritten, value(&ledger, ageing, Measure::DataBytes), "every page");
    }
}

#[test]
fn check_says_what_a_study_keeps_of_its_publication() {
    let bench = Bench::new();
    for name in STUDIES {
        bench.write(&format!("{name}.toml"), &shipped(name));
        let ran = bench.expect(0, &["check", &format!("{name}.toml")]);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{ran}");
    }
    let ran = bench.expect(0, &["check", "asm-vs-cow.toml"]);
    for wanted in ["proportions of xtremio-2014", "0.7 %", "10, degree 1", "each page once"] {
        assert!(ran.stdout.contains(wanted), "{wanted}\n{ran}");
    }
    let seed = bench
        .expect(0, &["check", "asm-vs-cow.toml", "--scale", "seed", "--json"])
        .json();
    let rows = seed["proportions"].as_array().expect("rows");
    assert_eq!(
        (&rows[0]["what"], &rows[0]["why"]),
        (&"LUNs of the data".into(), &"the same".into())
    );
    let refused = bench.run(&["check", "nodatacow.toml", "--scale", "seed"]);
    assert_eq!(refused.code(), 2);
    assert!(refused.stderr.contains("names no publication"), "{refused}");
}

fn filled(dir: &Path) -> String {
    format!(
        r#"
[study]
name = "filled"
time_limit = "3h"
blocks = 4
io = "ring"
[luns.data]
files = {{ count = 2, size = "128MiB", dir = "{dir}" }}
[luns.redo]
files = {{ count = 1, size = "128MiB", dir = "{dir}" }}
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
redo = "redo"
[[stack]]
name = "btrfs"
kind = "btrfs"
profile = "raid0"
data = "data"
redo = "redo"
[database]
cache = "8MiB"
schemas = 16
scale = "160MiB"
redo_size = "16MiB"
checkpoint = "200ms"
[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 16
work_unit = 8
time = "200ms"
[[phase]]
name = "scan"
kind = "scan"
users = 16
[[phase]]
name = "ageing"
kind = "age"
sessions = 32
work_unit = 8
passes = 4
[[phase]]
name = "aged scan"
kind = "scan"
users = 16
against = "scan"
"#,
        dir = dir.display()
    )
}

#[test]
fn a_full_file_system_is_a_result_and_the_other_stack_goes_on() {
    let Some(rig) = Rig::on_disk(&["mkfs.btrfs"]) else {
        return;
    };
    let before = rig.belongings(&[]);
    let text = limited(&filled(&rig.work()), "2s");
    let (study, result) = (rig.study("filled", &text), rig.result("filled"));
    let ran = rig.run(&study, &result, &["--yes"]);
    ran.expect(0, &["ran out of space after"]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let trials = ledger.trials().expect("trials");
    assert!(
        trials.iter().all(|trial| trial.status == TrialStatus::Done),
        "{trials:?}"
    );
    let of = |stack: &str, phase: &str| -> Vec<ledger::Phase> {
        let mine = |id| trials.iter().any(|trial| trial.id == id && trial.stack == stack);
        let all = ledger.phases().expect("phases");
        all.into_iter()
            .filter(|p| p.run.name == phase && mine(p.run.trial))
            .collect()
    };
    // Not of btrfs: it cuts scans at its stripes of 64 KiB, and on a file system as small and full as this one pages
    // too.
    // Some reads of a scan's phase are of one page, and a few of the other phase's are larger. The slower the host, the
    // larger their share.
    for (phase, size, slack) in [("read", 8192.0, 0.05), ("scan", 131_072.0, 0.2)] {
        let mut sizes: Vec<f64> = of("group", phase)
            .iter()
            .map(|p| value(&ledger, p, Measure::NearReadBytes) / value(&ledger, p, Measure::NearReads))
            .collect();
        sizes.sort_by(f64::total_cmp);
        let middle = (sizes[(sizes.len() - 1) / 2] + sizes[sizes.len() / 2]) / 2.0;
        assert!((middle / size - 1.0).abs() <= slack, "{phase}: {middle} bytes a read");
    }
    for phase in of("group", "ageing") {
        assert_eq!(phase.run.status, PhaseStatus::Valid);
        let overwritten = value(&ledger, &phase, Measure::EngineOverwrittenBytes);
        assert_eq!(overwritten, value(&ledger, &phase, Measure::DataBytes), "every page");
    }
    assert_blocks(of("group", "aged scan").len(), 1);
    let full = of("btrfs", "ageing");
    assert!(!full.is_empty() && of("btrfs", "aged scan").is_empty());
    for phase in full {
        assert!(matches!(&phase.run.status, PhaseStatus::Failed(why) if why.starts_with("ran out of space")));
        assert_eq!(value(&ledger, &phase, Measure::OutOfSpace), 1.0);
    }
}

fn value(ledger: &Ledger, phase: &ledger::Phase, measure: Measure) -> f64 {
    let all = ledger.measures().expect("measures");
    let found = all.iter().find(|m| m.phase == phase.id && m.row.0 == measure);
    found.unwrap_or_else(|| panic!("{} is missing", measure.name())).row.1
}
