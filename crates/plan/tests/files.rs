//! File serving in a study: what was written reads back as itself, and defaults follow the work.
//!
//! Prevents: a ramp that is printed as another one.

use plan::{Duration, PhaseKind, Share, Study};
use std::path::Path;

fn parse(text: &str) -> Study {
    plan::parse(text, Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}\n--- the study:\n{text}"))
}

/// Two studies that mean the same.
fn assert_same(a: &Study, b: &Study) {
    assert_eq!((&a.phases, &a.stacks), (&b.phases, &b.stacks));
}

#[test]
fn a_ramp_of_file_serving_reads_back_as_itself_and_its_defaults_follow_the_work() {
    let study = |phase: &str| {
        parse(&format!(
            "[study]\nname = \"f\"\n[[stack]]\nname = \"a\"\nkind = \"directory\"\npath = \"/srv\"\n\
             [files]\n[[phase]]\nname = \"ramp\"\nkind = \"files\"\n{phase}"
        ))
    };
    let serving = |study: &Study| match &study.phases[0].kind {
        PhaseKind::Files(serving) => serving.clone(),
        other => panic!("{other:?}"),
    };
    let steps = study("load = { from = \"500/s\", step = \"250/s\", points = 3 }");
    let rates: Vec<f64> = serving(&steps).load.iter().map(|rate| rate.0).collect();
    assert_eq!(rates, [500.0, 750.0, 1000.0]);
    assert_eq!(serving(&steps).data_bytes_most(), 100_000_000);
    assert_eq!(steps.phases[0].time, Some(Duration(20_000_000_000)));
    assert_eq!(
        steps.phase_time(),
        Duration(75_000_000_000),
        "three points, each with its warm-up"
    );
    assert_eq!(serving(&steps).accessed, Share(0.1));
    let all = "load = 100\nmix = { write = 9, commit = 1, read = 90 }\nuntil = \"none\"\n\
        sizes = [[\"1KiB\", 33], [\"16KiB\", 67]]\ndata_size = \"64MiB\"\nwarm_up = \"0s\"\n";
    for one in [
        steps,
        study(all),
        study("load = [\"100/s\", \"200/s\"]\nwork = \"varmail\""),
    ] {
        assert_same(&one, &parse(&one.to_toml()));
    }
    let build = serving(&study("load = 100\nmix = \"build\""));
    assert_eq!(
        (build.accessed, build.append, build.files_per_directory),
        (Share(1.0), Share(0.0), 100)
    );
    assert_eq!(serving(&study("load = 1000\nmix = \"sfs93\"")).stable, Share(1.0));
}
