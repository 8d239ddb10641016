//! File serving from the study file to the result file, as anyone: two places, a ramp, four blocks.
//!
//! Prevents: a ramp whose points are not in the result file, and files that are left behind.

use crate::bench::Bench;
use ledger::{Ledger, Measure, PhaseKind, PhaseStatus};

fn study(more: &str) -> String {
    format!(
        r#"
[study]
name = "served"
time_limit = "3h"
blocks = 4
[[stack]]
name = "one"
kind = "directory"
path = "one"
[[stack]]
name = "two"
kind = "directory"
path = "two"
[files]
protocol = "posix"
[[phase]]
name = "ramp"
kind = "files"
load = ["200/s", "400/s"]
until = "none"
reached = "1%"
warm_up = "50ms"
time = "300ms"
sessions = 4
data_per_load = "50kB"
{more}"#
    )
}

#[test]
fn a_ramp_in_two_places_is_recorded_point_by_point_and_nothing_is_left() {
    let bench = Bench::new();
    for place in ["one", "two"] {
        std::fs::create_dir(bench.path(place)).expect("made");
    }
    bench.write("served.toml", &study(""));
    let ran = bench.expect(0, &["check", "served.toml"]);
    assert!(ran.stdout.contains("two"), "{ran}");
    let ran = bench.expect(0, &["run", "served.toml", "--output", "served.assay"]);
    assert!(ran.stdout.contains("at least"), "{ran}");
    for place in ["one", "two"] {
        let left: Vec<_> = std::fs::read_dir(bench.path(place))
            .expect("listed")
            .flatten()
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    let ledger = Ledger::open(bench.path("served.assay")).expect("opens");
    let phases = ledger.phases().expect("phases");
    assert!(phases.len() >= 8, "{}", phases.len());
    for phase in &phases {
        assert_eq!(
            (phase.run.kind, &phase.run.status),
            (PhaseKind::Files, &PhaseStatus::Valid)
        );
    }
    let servings = ledger.file_servings().expect("ramps");
    assert_eq!(servings.len(), phases.len());
    for of in &servings {
        let serving = &of.row;
        assert_eq!((serving.protocol.as_str(), serving.work.as_str()), ("posix", "sfs97"));
        assert_eq!(serving.points.len(), 2);
        let [first, second] = &serving.points[..] else { panic!() };
        assert!(first.asked_per_s == 200.0 && second.asked_per_s == 400.0);
        assert!(second.data_bytes > first.data_bytes && first.in_time > 0 && first.ended_ns <= second.began_ns);
        assert!(first.get(Measure::FilesCalls).is_some_and(|calls| calls > 0.0));
        assert!(first.histograms.iter().any(|row| row.class == "lookup"));
    }
    let measures = ledger.measures().expect("measures");
    let of = |measure: Measure| measures.iter().filter(move |of| of.row.0 == measure).map(|of| of.row.1);
    assert!(of(Measure::FilesWrong).all(|wrong| wrong == 0.0) && of(Measure::FilesWrong).count() == phases.len());
    assert!(of(Measure::FilesCeiling).all(|ceiling| ceiling > 1_000.0));
    let full = bench.expect(0, &["report", "served.assay", "--full"]);
    assert!(
        full.stdout.contains("no SPEC metric") && full.stdout.contains("sfs97 over posix"),
        "{full}"
    );
}

#[test]
fn a_server_that_this_machine_lacks_is_refused_with_the_cure() {
    let here = stacks::file_servers().pop().expect("the kernel's");
    if here.able {
        eprintln!("skipped: this kernel has an NFS server");
        return;
    }
    let bench = Bench::new();
    for place in ["one", "two"] {
        std::fs::create_dir(bench.path(place)).expect("made");
    }
    bench.write(
        "nfs.toml",
        &study("").replace("\"posix\"", "\"nfs3\"\nserver = \"kernel\""),
    );
    let ran = bench.run(&["run", "nfs.toml"]);
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(&here.reason) && said.contains(&here.cure),
        "{here:?}\n{ran}"
    );
}
