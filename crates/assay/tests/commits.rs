//! Commits alone, from the study file to the report, on simulated devices.
//!
//! Prevents: a rate of commits that waits for pages, one that a late flush does not slow down, and a database that does
//! not open after them.

use crate::bench::{Bench, LATE, model_study, verdicts};
use ledger::{Ledger, Measure};

fn study(schedule: &str) -> String {
    let mut text = model_study(3, 4, &[("plain", ""), ("late", LATE)]);
    text.truncate(text.find("[[phase]]").expect("phases"));
    let text = text.replace(
        "[study]\n",
        &format!("[study]\nschedule = \"{schedule}\"\nstint = \"1s\"\n"),
    );
    // Updates afterwards: they go on in the log that the commits have filled many times over.
    text + "[[phase]]\nname = \"commits\"\nkind = \"redo\"\nsessions = 8\ncommit_size = \"2KiB\"\ntime = \"4s\"\n\
            [[phase]]\nname = \"updates\"\nkind = \"random\"\nupdate_pct = 100\nsessions = 8\nwork_unit = 8\n\
            time = \"1s\"\nranked = false\n"
}

#[test]
fn commits_alone_are_as_fast_as_the_log() {
    for schedule in ["whole", "abba"] {
        let bench = Bench::new();
        bench.write("commits.toml", &study(schedule));
        bench.expect(0, &["run", "commits.toml", "--output", "commits.assay"]);
        let report = bench.expect(0, &["report", "commits.assay", "--json"]).json();
        let found = verdicts(&report);
        let late = ("commits".to_string(), "late".to_string(), "worse".to_string());
        assert_eq!(found, [late], "{schedule}");
        let ledger = Ledger::open(bench.path("commits.assay")).expect("a result");
        let measures = ledger.measures().expect("measures");
        for phase in ledger
            .phases()
            .expect("phases")
            .iter()
            .filter(|phase| phase.run.name == "commits")
        {
            let of = |measure: Measure| {
                let found = measures
                    .iter()
                    .find(|one| one.phase == phase.id && one.row.0 == measure);
                found.unwrap_or_else(|| panic!("{} is missing", measure.name())).row.1
            };
            assert_eq!(of(Measure::EngineLogicalReads), 0.0, "{schedule}: pages were asked for");
            assert_eq!(of(Measure::EngineWrites), 0.0, "{schedule}: pages were written");
            // Eight sessions share a batch: 16 KiB of records each, and its header.
            let commits = of(Measure::EngineCommits);
            assert!(commits > 100.0, "{schedule}: {commits} commits");
            assert!(of(Measure::EngineRedoBytes) >= commits * 2048.0, "{schedule}");
        }
    }
}

#[test]
fn a_commit_that_fits_into_no_batch_is_refused() {
    let bench = Bench::new();
    bench.write("commits.toml", &study("whole").replace("2KiB", "2MiB"));
    let refused = bench.run(&["check", "commits.toml"]);
    assert_eq!(refused.code(), 2, "{refused}");
    assert!(
        refused.stderr.contains("a commit cannot have 2MiB of redo"),
        "{refused}"
    );
}
