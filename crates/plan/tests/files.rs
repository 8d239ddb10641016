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

#[test]
fn a_cut_under_a_file_server_has_the_keys_of_its_work_and_no_load() {
    let study = parse(
        "[study]\nname = \"f\"\n[luns.data]\nfiles = { size = \"1GiB\" }\nmodel = \"plain\"\n\
         [[stack]]\nname = \"a\"\nkind = \"ext4\"\ndata = \"data\"\nmount_options = [\"dirsync\"]\n\
         [files]\nprotocol = \"nfs3\"\nthreads = 8\n\
         [[phase]]\nname = \"cuts\"\nkind = \"power_cut\"\ncuts = 3\nsessions = 8\n\
         mix = { create = 50, remove = 50 }\n",
    );
    let cut = study.phases[0].kind.cut().expect("a cut");
    let serving = cut.work.serving().expect("of files");
    assert_eq!((cut.cuts, cut.work.sessions(), serving.accessed), (3, 8, Share(1.0)));
    assert_eq!(serving.data_bytes_most(), 16 << 20);
    assert!(serving.load.is_empty() && study.phases[0].kind.slob_work().is_none());
    let files = study.stacks[0].engine.files().expect("files");
    assert_eq!(
        (files.server, files.threads),
        (Some(plan::FileServer::Ganesha), Some(8))
    );
    let printed = study.to_toml();
    assert!(
        printed.contains("data_size") && !printed.contains("load ="),
        "{printed}"
    );
    assert_same(&study, &parse(&printed));
}

#[test]
fn renames_under_a_cut_need_files_that_are_made() {
    let text = |work: &str| {
        format!(
            "[study]\nname = \"f\"\n[luns.data]\nfiles = {{ size = \"1GiB\" }}\nmodel = \"plain\"\n\
             [[stack]]\nname = \"a\"\nkind = \"ext4\"\ndata = \"data\"\n[files]\nprotocol = \"nfs3\"\n\
             [[phase]]\nname = \"cuts\"\nkind = \"power_cut\"\nrename = \"30%\"\n{work}"
        )
    };
    let study = parse(&text("mix = { write = 60, commit = 20, create = 20 }\n"));
    let serving = study.phases[0].kind.cut().and_then(|cut| cut.work.serving());
    assert_eq!(serving.expect("of files").rename, Share(0.3));
    let printed = study.to_toml();
    assert!(printed.contains("rename = \"30%\""), "{printed}");
    assert_same(&study, &parse(&study.to_toml()));
    for work in ["mix = { write = 80, commit = 20 }\n", "work = \"varmail\"\n"] {
        let refused = plan::parse(&text(work), std::path::Path::new("f.toml"));
        let said = refused.expect_err("refused").to_string();
        assert!(said.contains("nothing makes a file in its place"), "{said}");
    }
}
