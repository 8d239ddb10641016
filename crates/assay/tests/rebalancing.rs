//! Rebalance phases of a study on real loop devices: a LUN joins and one leaves while work runs, and what moved is what
//! had to.
//!
//! The mirrored stack has its redo log in a group of its own. Prevents: an upkeep that stands still under load, pages
//! lost on the way, and a group that is not what the phase left.

use crate::bench::Bench;
use crate::rig::{Rig, assert_blocks, limit};
use ledger::{Ledger, Measure, PhaseStatus, Stamp};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn study(dir: &Path) -> String {
    let work = "update_pct = 25\nsessions = 8\nwork_unit = 4\nbefore = \"200ms\"\nafter = \"200ms\"\n";
    let limit = limit("10s");
    format!(
        r#"
[study]
name = "regrouped"
time_limit = "{limit}"
blocks = 4
seed = 5
[luns.data]
files = {{ count = 5, size = "80MiB", dir = "{dir}" }}
[luns.log]
files = {{ count = 2, size = "64MiB", dir = "{dir}" }}
[[stack]]
name = "single"
kind = "diskgroup"
data = "data"
reserve = 1
[[stack]]
name = "mirrored"
kind = "diskgroup"
data = "data"
redo = "log"              # a second group
redundancy = "normal"
reserve = 1
[database]
cache = "4MiB"
schemas = 16
scale = "48MiB"
redo_size = "8MiB"
checkpoint = "100ms"
[[phase]]
name = "one more"
kind = "rebalance"
add = ["disk4"]
power = 8
{work}
[[phase]]
name = "one less"
kind = "rebalance"
drop = ["disk1"]
power = 4
{work}
[[phase]]
name = "swap"
kind = "rebalance"
add = ["disk1"]
drop = ["disk0"]
power = 16
{work}
[[phase]]
name = "all of it"
kind = "scan"
users = 16
"#,
        dir = dir.display()
    )
}

fn moved_what_had_to(ledger: &Ledger, phase: &ledger::Phase, of: impl Fn(Measure) -> f64) {
    let name = &phase.run.name;
    let histograms = ledger.histograms().expect("histograms");
    let (moved, ideal) = (of(Measure::RebalanceMovedBytes), of(Measure::RebalanceIdealBytes));
    // Some hundred extents in all: a file of a few extents more or less than its share is some percent.
    assert!(ideal > (8 << 20) as f64, "{name}: {ideal}");
    assert!(
        (0.85..=1.15).contains(&(moved / ideal)),
        "{name}: {moved} moved, {ideal} ideal"
    );
    assert!(
        of(Measure::RebalanceNs) <= of(Measure::RebalanceDuringNs) * 1.5 + 5e8,
        "{name}"
    );
    for window in ["before", "during", "after"] {
        let rows = histograms
            .iter()
            .filter(|h| h.phase == phase.id && h.row.stamp == Stamp::Service);
        let count: u64 = rows
            .filter(|h| h.row.class == format!("select {window}"))
            .map(|h| h.row.count)
            .sum();
        assert!(count > 0, "no select {window} {name}");
    }
    let mut course = ledger.samples_of(phase.id).expect("samples");
    course.retain(|sample| sample.name == "rebalance.moved_bytes");
    course.sort_by_key(|s| s.at_ns);
    let last = course.last().unwrap_or_else(|| panic!("no course of {name}"));
    assert_eq!(last.value, moved, "{name}");
    assert!(course.is_sorted_by(|a, b| a.value <= b.value));
}

#[test]
fn an_ordinary_user_rebalances_a_group_on_plain_files() {
    let bench = Bench::new();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(bench.path("."), open).expect("open to any user");
    let study = bench.write("study.toml", &study(&bench.path(".")));
    let args = ["run", study.to_str().expect("text"), "--quiet", "-o", "result.assay"];
    let ran = crate::bench::Running::start(bench.command_of_nobody(&args)).wait();
    assert_eq!(ran.code(), 0, "{ran}");
    let ledger = Ledger::open(bench.path("result.assay")).expect("a result");
    let phases = ledger.phases().expect("phases");
    assert_blocks(phases.len(), 2 * 4);
    let measures = ledger.measures().expect("measures");
    for phase in phases.iter().filter(|phase| phase.run.name != "all of it") {
        moved_what_had_to(&ledger, phase, |measure: Measure| {
            let found = measures.iter().find(|m| m.phase == phase.id && m.row.0 == measure);
            found.unwrap_or_else(|| panic!("{} is missing", measure.name())).row.1
        });
    }
    let own = ["study.toml", "result.assay", "assay"];
    assert_eq!(bench.left_behind(&own), Vec::<std::path::PathBuf>::new());
}

#[test]
fn luns_join_and_leave_while_work_runs() {
    let Some(rig) = Rig::new(&[]) else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("regrouped", &study(&rig.work())), rig.result("regrouped"));
    rig.run(&study, &result, &["--quiet", "--yes"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let facts = ledger.facts().expect("facts");
    let fact = |key: &str| {
        facts
            .iter()
            .find(|f| f.scope.to_string() == "stack:mirrored" && f.key.to_string() == key)
            .map(|f| f.value.to_string())
    };
    assert!(
        fact("disk4").is_some_and(|said| said.contains("in reserve")),
        "{facts:?}"
    );
    assert!(
        fact("redo1").is_some_and(|said| said.contains("failure group redo1")),
        "{facts:?}"
    );
    let (phases, measures) = (ledger.phases().expect("phases"), ledger.measures().expect("measures"));
    assert_blocks(phases.len(), 2 * 4);
    for phase in &phases {
        let name = &phase.run.name;
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{name}");
        if name == "all of it" {
            continue;
        }
        assert!(!phase.run.ranked);
        let of = |measure: Measure| {
            let found = measures.iter().find(|m| m.phase == phase.id && m.row.0 == measure);
            found
                .unwrap_or_else(|| panic!("{} is missing in {name}", measure.name()))
                .row
                .1
        };
        moved_what_had_to(&ledger, phase, of);
    }
    let said = rig
        .assay(&["report", result.to_str().expect("text"), "--full"])
        .output()
        .expect("reported");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    for words in [
        "at power 8",
        "times the ideal of",
        "before:",
        "during:",
        "after:",
        "select during",
    ] {
        assert!(
            said.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
            "{words:?} is not in\n{said}"
        );
    }
}
