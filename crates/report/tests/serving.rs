//! File serving in a report: the ramp, its limit, its cost, what speaks against it, in every form.

use crate::fixture::{Scene, actor, scene};
use ledger::{Measure, PhaseKind, Stamp};
use report::{Analysis, Check, Metric, Status, Style, Verdict, json, markdown, schema, terminal};

fn ramp(name: &str) -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.6)]);
    scene.blocks = 6;
    scene.phases = vec![(PhaseKind::Files, name.into())];
    scene
}

fn near(found: f64, wanted: f64, share: f64) -> bool {
    (found / wanted - 1.0).abs() <= share
}

fn line<'a>(analysis: &'a Analysis, subject: &str, stack: &str) -> &'a Check {
    let found = analysis
        .checks
        .iter()
        .find(|one| one.subject == subject && one.stack.as_deref() == Some(stack));
    found.unwrap_or_else(|| panic!("no line of {subject}: {:#?}", analysis.checks))
}

#[test]
fn the_rate_at_the_limit_is_compared_and_the_ramp_is_told_point_by_point() {
    let analysis = ramp("serving").film().analysis();
    let phase = &analysis.phases[0];
    assert_eq!(phase.metric, Metric::OperationsPerSecondAtLimit);
    let cell = &phase.cells[0];
    let serving = cell.serving.as_ref().unwrap();
    assert!(near(cell.primary.unwrap().median, 4_000.0, 0.05), "{:?}", cell.primary);
    assert_eq!(serving.blocks_at_least, 0);
    let points = &serving.points;
    assert!(points.len() >= 8 && points[0].asked_per_s == 500.0);
    assert!(near(points[0].done_per_s.unwrap().median, 500.0, 0.01));
    assert!(points[0].response_ns_mean.unwrap().median < points[6].response_ns_mean.unwrap().median);
    assert!(near(points[0].cpu_server_us_per_operation.unwrap().median, 30.0, 0.02));
    assert!(near(
        points[0].device_bytes_per_operation.unwrap().median,
        3_500.0,
        0.02
    ));
    assert!(near(points[0].device_ios_per_operation.unwrap().median, 0.5, 0.02));
    assert_eq!(points[0].data_bytes.unwrap().median, 5e7);
    let [sfs, storage] = [serving.overall_response_ns_sfs, serving.overall_response_ns_specstorage];
    assert!(storage.unwrap().median > sfs.unwrap().median);
    let verdict = &analysis.comparisons[0];
    assert_eq!(verdict.verdict, Verdict::Worse);
    assert!(near(verdict.ratio.unwrap(), 0.6, 0.05));
    assert!(cell.latency.iter().all(|one| one.stamp == Stamp::Response));
    for subject in [
        "answers",
        "generator's lateness",
        "generator's ceiling",
        "end of the ramp",
    ] {
        assert_eq!(line(&analysis, subject, "ext4").status, Status::Valid, "{subject}");
    }
}

#[test]
fn every_form_says_that_it_is_no_spec_metric_and_a_page_draws_the_curves() {
    let film = ramp("serving").film();
    let analysis = film.analysis();
    let style = Style {
        utf8: true,
        ..Style::default()
    };
    let text = terminal(&analysis, &style);
    assert!(text.contains("no SPEC metric"), "{text}");
    assert!(
        text.contains("sfs97 over nfs3 by nfs-ganesha 4.3 on 4 connections"),
        "{text}"
    );
    assert!(markdown(&analysis).contains("no SPEC metric"));
    let page = report::html(&film.ledger, &analysis).unwrap();
    for title in [
        "Response, mean",
        "Processors busy",
        "written by the devices",
        "Memory at its highest",
    ] {
        assert!(page.contains(title), "{title}");
    }
    let value = json(&analysis);
    let compiled = jsonschema::validator_for(&schema()).unwrap();
    assert!(compiled.is_valid(&value));
}

#[test]
fn what_speaks_against_a_ramp_is_a_line_of_the_sheet() {
    let check = |scene: Scene, subject: &str, trap: &str| {
        let analysis = scene.film().analysis();
        let found = line(&analysis, subject, "ext4");
        assert_ne!(found.status, Status::Valid, "{trap}: {found:?}");
        analysis
    };
    let analysis = check(ramp("early"), "end of the ramp", "a ramp that ends before the limit");
    assert!(analysis.comparisons.is_empty(), "and is not ranked");
    assert!(analysis.unranked.iter().any(|one| one.reason.contains("at least")));
    assert!(terminal(&analysis, &Style::default()).contains("at least"));
    check(ramp("late"), "generator's lateness", "a generator that sends late");
    let mut near_ceiling = ramp("serving");
    near_ceiling.actors[0] = actor("ext4", 1.2);
    near_ceiling.extra = vec![(Measure::FilesCeiling, 5_000.0)];
    check(
        near_ceiling,
        "generator's ceiling",
        "a ramp that comes near to its generator's ceiling",
    );
    let mut busy = ramp("serving");
    busy.extra = vec![(Measure::GeneratorBusyShare, 0.95)];
    let analysis = check(busy, "generator", "a client of a file server that is at its end");
    let found = line(&analysis, "generator", "ext4");
    assert_eq!(found.status, Status::Suspect, "{found:?}");
    assert!(
        found.figure.contains("95 %") && found.advice.contains("one thread"),
        "{found:?}"
    );
    let mut wrong = ramp("serving");
    wrong.extra_of = vec![("ext4".into(), Measure::FilesWrong, 2.0)];
    let analysis = check(wrong, "answers", "a file server that gives a wrong answer");
    assert!(analysis.comparisons.is_empty(), "a base that loses data ranks nothing");
}

/// A wrong answer needs no quiet machine: it is one in a run that does not count too.
#[test]
fn a_wrong_answer_of_a_run_that_does_not_count_is_one() {
    let mut stolen = ramp("wrong at first");
    stolen.stolen_at = |block, stack| block == 0 && stack == "ext4";
    let analysis = stolen.film().analysis();
    assert!(analysis.comparisons.is_empty(), "a base that loses data ranks nothing");
    let found = line(&analysis, "answers", "ext4");
    assert_eq!(found.status, Status::Invalid, "{found:?}");
    assert!(found.figure.contains("2 answers"), "{found:?}");
    let mut invalid = ramp("wrong at first");
    invalid.invalid_at = |block, stack, _| block == 0 && stack == "ext4";
    assert!(invalid.film().analysis().comparisons.is_empty());
    let mut honest = ramp("serving");
    honest.stolen_at = |block, stack| block == 0 && stack == "ext4";
    assert!(!honest.film().analysis().comparisons.is_empty());
}

/// The sentence of 2007: the same work with an eighth of the I/O. Beyond 2,000 a second btrfs does not hold the load.
#[test]
fn the_same_work_is_compared_at_the_highest_load_that_both_held() {
    let film = ramp("an eighth").film();
    let analysis = film.analysis();
    let [one] = &analysis.same_work[..] else {
        panic!("{:?}", analysis.same_work);
    };
    assert_eq!((one.stack.as_str(), one.base.as_str()), ("btrfs", "ext4"));
    assert_eq!((one.asked_per_s, one.n), (2_000.0, 6));
    assert!(near(one.bytes_ratio, 8.0, 0.01), "{one:?}");
    let (low, high) = (one.low.unwrap(), one.high.unwrap());
    assert!(
        low < one.bytes_ratio && one.bytes_ratio < high && near(low, high, 0.02),
        "{one:?}"
    );
    let said = "btrfs: at 2,000 operations a second, the highest load that it and ext4 held, devices move ";
    for text in [terminal(&analysis, &Style::default()), markdown(&analysis)] {
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        assert!(
            words.contains(said) && words.contains("times the bytes per operation ("),
            "{text}"
        );
    }
    assert!(report::html(&film.ledger, &analysis).unwrap().contains(said));
}

#[test]
fn a_load_that_one_of_them_never_held_compares_no_bytes() {
    let mut scene = ramp("serving");
    scene.actors[1] = actor("btrfs", 0.1);
    let analysis = scene.film().analysis();
    assert!(analysis.same_work.is_empty(), "{:?}", analysis.same_work);
    let mut wrong = ramp("serving");
    wrong.extra_of = vec![("btrfs".into(), Measure::FilesWrong, 2.0)];
    let analysis = wrong.film().analysis();
    assert!(
        analysis.same_work.is_empty(),
        "it did other work: {:?}",
        analysis.same_work
    );
}

#[test]
fn the_latencies_of_a_ramp_say_that_they_are_of_all_its_points() {
    let film = ramp("serving").film();
    let analysis = film.analysis();
    let words = "over all points of the ramp, the one beyond the limit included";
    assert!(terminal(&analysis, &Style::default()).contains(words));
    assert!(report::html(&film.ledger, &analysis).unwrap().contains(words));
}

#[test]
fn a_listing_that_was_refused_at_first_is_shown_and_ranked() {
    let mut scene = ramp("serving");
    scene.extra_of = vec![("ext4".into(), Measure::FilesListedAgain, 2.0)];
    let analysis = scene.film().analysis();
    let found = line(&analysis, "answers", "ext4");
    assert_eq!(found.status, Status::Note, "{found:?}");
    assert!(!analysis.comparisons.is_empty(), "no data are lost");
}

#[test]
fn broken_connections_and_other_work_are_shown_and_ranked() {
    let of_ext4 = |measure, count| ("ext4".to_string(), measure, count);
    for (subject, trap, extra, said) in [
        (
            "connections",
            "a server that breaks connections",
            vec![
                of_ext4(Measure::FilesReconnects, 2.0),
                of_ext4(Measure::FilesRepeated, 5.0),
            ],
            // Of six blocks.
            "12 broke and were made again; 30 calls were sent again, 0 of them",
        ),
        (
            "operations as asked",
            "work that runs out of names",
            vec![
                of_ext4(Measure::FilesSubstituted, 3.0),
                of_ext4(Measure::FilesCalls, 500.0),
            ],
            "18 of 3,000 calls",
        ),
    ] {
        let mut scene = ramp("serving");
        scene.extra_of = extra;
        let analysis = scene.film().analysis();
        let found = line(&analysis, subject, "ext4");
        assert_eq!(found.status, Status::Note, "{trap}: {found:?}");
        assert!(found.figure.starts_with(said), "{trap}: {found:?}");
        assert!(!analysis.comparisons.is_empty(), "{trap}: no data are lost");
        let of_btrfs = |one: &Check| one.subject == subject && one.stack.as_deref() == Some("btrfs");
        assert!(!analysis.checks.iter().any(of_btrfs), "{trap}: none of its own");
    }
}

/// The callers and the file system share the processors: a call that waits for one waits for other calls.
#[test]
fn lateness_of_system_calls_is_part_of_the_response() {
    let analysis = ramp("late by system calls").film().analysis();
    let subjects: Vec<_> = analysis.checks.iter().map(|one| one.subject.as_str()).collect();
    assert!(!subjects.contains(&"generator's lateness"), "{subjects:?}");
    assert!(subjects.contains(&"generator's ceiling"), "{subjects:?}");
}
