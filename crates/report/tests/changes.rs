//! Phases held against earlier ones, and stacks that ran out of space: what the analysis and its forms say of them.

use crate::fixture::{Actor, Scene, actor, scene};
use ledger::{Measure, PhaseKind, Setting};
use report::published::Agreement;
use report::{Status, Style, Verdict};

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Fresh scan, ageing, aged scan; the second scan is held against the first.
fn ages(actors: Vec<Actor>) -> Scene {
    let mut scene = scene(actors);
    scene.phases = vec![
        (PhaseKind::Scan, "fresh scan".into()),
        (PhaseKind::Age, "ageing".into()),
        (PhaseKind::Scan, "aged scan".into()),
    ];
    scene.settings = vec![Setting {
        key: "phase.aged scan.against".into(),
        value: "\"fresh scan\"".into(),
        written: true,
    }];
    scene.extra = vec![(Measure::EngineOverwrittenBytes, 2.0 * GIB)];
    scene
}

fn aged(name: &str, speed: f64, aged: f64) -> Actor {
    Actor {
        aged,
        ..actor(name, speed)
    }
}

#[test]
fn the_stack_that_ages_more_than_its_base_is_found_with_an_interval() {
    let filmed = ages(vec![aged("asm", 1.0, 0.8), aged("btrfs", 0.7, 0.5)]).film();
    let analysis = filmed.analysis();
    let [contrast] = analysis.contrasts.as_slice() else {
        panic!(
            "one stack has a base, and one phase an earlier one: {:?}",
            analysis.contrasts
        )
    };
    let said = (&*contrast.stack, &*contrast.base, &*contrast.phase, &*contrast.against);
    assert_eq!(said, ("btrfs", "asm", "aged scan", "fresh scan"));
    assert_eq!(contrast.verdict, Verdict::Worse);
    let (ratio, low, high) = (contrast.ratio.unwrap(), contrast.low.unwrap(), contrast.high.unwrap());
    assert!(
        (ratio - 0.625).abs() < 0.01 && low < ratio && ratio < high,
        "{}",
        contrast.words
    );
    assert_eq!(
        analysis.comparisons.len(),
        3,
        "each phase is compared between the stacks as before"
    );
    assert!(
        analysis
            .sentence
            .contains("From fresh scan to aged scan, btrfs keeps 0.63 times what asm keeps ("),
        "{}",
        analysis.sentence
    );
    let looks = analysis.looks();
    assert_eq!(looks.len(), 4 * analysis.looks.len());
    assert!(
        looks
            .iter()
            .any(|look| look.base == "asm, change from fresh scan" && look.phase == "aged scan")
    );
}

#[test]
fn each_stack_has_its_own_change_as_a_figure_without_a_verdict() {
    let analysis = ages(vec![aged("asm", 1.0, 0.8), aged("btrfs", 0.7, 0.5)])
        .film()
        .analysis();
    let said: Vec<(&str, &str, &str, u32)> = analysis
        .changes
        .iter()
        .map(|one| (&*one.stack, &*one.phase, &*one.against, one.n))
        .collect();
    assert_eq!(
        said,
        [
            ("asm", "aged scan", "fresh scan", 4),
            ("btrfs", "aged scan", "fresh scan", 4)
        ]
    );
    let btrfs = &analysis.changes[1];
    assert!((btrfs.ratio - 0.5).abs() < 0.01, "{}", btrfs.words);
    assert!(btrfs.low.unwrap() < btrfs.ratio && btrfs.ratio < btrfs.high.unwrap());
    assert!(
        btrfs
            .words
            .ends_with("not tested, and includes any slowdown within a trial"),
        "{}",
        btrfs.words
    );
}

/// A slowdown of a fifth within each trial, on all stacks alike: the trap.
#[test]
fn a_slowdown_within_each_trial_does_not_read_as_ageing() {
    let slows = ages(vec![aged("asm", 1.0, 0.8), aged("btrfs", 0.7, 0.8)])
        .film()
        .analysis();
    assert_eq!(slows.contrasts[0].verdict, Verdict::Equivalent, "{:?}", slows.contrasts);
    let sentence = &slows.sentence;
    assert!(
        sentence.contains("From fresh scan to aged scan, btrfs keeps as much as asm within 5 %"),
        "{sentence}"
    );
    // The stacks' own changes show the slowdown, as figures.
    assert!(slows.changes.iter().all(|one| (one.ratio - 0.8).abs() < 0.01));
    // The honest twin: the same slowdown, and one stack ages by another fifth.
    let ages = ages(vec![aged("asm", 1.0, 0.8), aged("btrfs", 0.7, 0.64)])
        .film()
        .analysis();
    assert_eq!(ages.contrasts[0].verdict, Verdict::Worse, "{:?}", ages.contrasts);
    assert!((ages.contrasts[0].ratio.unwrap() - 0.8).abs() < 0.01);
}

/// A stack that is worse in no phase and ages more: `--fail-on worse` hears of it.
#[test]
fn a_change_that_is_worse_is_worse_though_no_phase_is() {
    let of = |after: f64| {
        let analysis = ages(vec![aged("asm", 1.0, 0.8), aged("btrfs", 2.0, after)])
            .film()
            .analysis();
        assert!(
            analysis.comparisons.iter().all(|one| one.verdict != Verdict::Worse),
            "{:?}",
            analysis.comparisons
        );
        (analysis.contrasts[0].verdict, analysis.is_worse())
    };
    assert_eq!(of(0.5), (Verdict::Worse, true));
    assert_eq!(of(0.8), (Verdict::Equivalent, false));
}

#[test]
fn recorded_looks_of_changes_are_recorded_once() {
    let mut filmed = ages(vec![aged("asm", 1.0, 1.0), aged("btrfs", 0.7, 0.5)]).film();
    for look in filmed.analysis().unrecorded_looks() {
        filmed.ledger.look(&look).unwrap();
    }
    let analysis = filmed.analysis();
    assert!(analysis.unrecorded_looks().is_empty());
    assert!(analysis.checks.iter().all(|check| check.subject != "recorded looks"));
}

#[test]
fn a_single_stack_has_its_answer_too() {
    let analysis = ages(vec![aged("btrfs", 0.7, 0.5)]).film().analysis();
    assert!(analysis.comparisons.is_empty());
    assert!(
        analysis
            .sentence
            .starts_with("Rate of aged scan over that of fresh scan (above 1 is better): btrfs 0.50 (")
            && analysis.sentence.ends_with("any slowdown within a trial included."),
        "{}",
        analysis.sentence
    );
}

#[test]
fn every_form_shows_the_changes_and_what_was_overwritten() {
    let filmed = ages(vec![aged("asm", 1.0, 1.0), aged("btrfs", 0.7, 0.5)]).film();
    let analysis = filmed.analysis();
    let terminal = report::terminal(&analysis, &Style::default());
    assert!(
        terminal.contains("aged scan against fresh scan, between stacks")
            && terminal.contains("aged scan against fresh scan, on the same stack")
            && terminal.contains("a slowdown within a trial"),
        "{terminal}"
    );
    assert!(
        terminal.contains("pages over-") && terminal.contains("100 %"),
        "{terminal}"
    );
    assert!(terminal.lines().all(|line| line.chars().count() <= 80), "{terminal}");
    let markdown = report::markdown(&analysis);
    assert!(
        markdown.contains("aged scan against fresh scan, between stacks")
            && markdown.contains("| asm | 4 | worse |")
            && markdown.contains("aged scan against fresh scan, on the same stack")
            && markdown.contains("| btrfs | 0.50 | 0.50 to 0.50 | 4 |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("pages over- written") && markdown.contains("100 %"),
        "{markdown}"
    );
    let json = report::json(&analysis);
    assert_eq!(json["report"]["contrasts"][0]["verdict"], "worse");
    assert_eq!(json["report"]["changes"][1]["verdict"], serde_json::Value::Null);
    assert_eq!(
        json["report"]["phases"][1]["cells"][0]["overwritten_share"]["median"],
        1.0
    );
    let html = report::html(&filmed.ledger, &analysis).unwrap();
    assert!(html.contains("id=\"changes\"") && html.contains("aged scan against fresh scan"));
}

#[test]
fn a_stack_without_space_has_that_as_its_result_and_takes_no_block_from_the_others() {
    let full = Actor {
        full: Some(0.632),
        ..aged("btrfs", 0.7, 0.5)
    };
    let filmed = ages(vec![aged("asm", 1.0, 1.0), full, aged("xfs", 0.9, 0.8)]).film();
    let analysis = filmed.analysis();
    assert!(analysis.dropped.is_empty(), "{:?}", analysis.dropped);
    let ran_out = &analysis.phases[1].ran_out_of_space;
    assert_eq!((ran_out.len(), ran_out[0].blocks, ran_out[0].of_blocks), (1, 4, 4));
    assert_eq!(
        ran_out[0].words,
        "ran out of space after 63.2 % of the pages had been overwritten, in 4 of 4 blocks"
    );
    let compared: Vec<(&str, &str)> = analysis.comparisons.iter().map(|c| (&*c.stack, &*c.phase)).collect();
    assert_eq!(
        compared,
        [
            ("btrfs", "fresh scan"),
            ("xfs", "fresh scan"),
            ("xfs", "ageing"),
            ("xfs", "aged scan")
        ]
    );
    let why = |phase: &str| {
        let of = |one: &&report::Unranked| one.stack == "btrfs" && one.phase.as_deref() == Some(phase);
        analysis.unranked.iter().find(of).unwrap().reason.clone()
    };
    assert!(
        why("ageing").starts_with("ran out of space after 63.2 %"),
        "{}",
        why("ageing")
    );
    assert_eq!(why("aged scan"), "it ran out of space in ageing");
    assert!(analysis.changes.iter().all(|one| one.stack != "btrfs"));
    assert!(
        analysis.sentence.contains("Out of space in ageing: btrfs"),
        "{}",
        analysis.sentence
    );
    let space: Vec<Status> = analysis
        .checks
        .iter()
        .filter(|check| check.stack.as_deref() == Some("btrfs") && check.phase.as_deref() == Some("ageing"))
        .map(|check| check.status)
        .collect();
    assert_eq!(space, [Status::Note], "a result, not a mistake");
    assert!(!analysis.is_invalid());
    let terminal = report::terminal(&analysis, &Style::default());
    assert!(terminal.contains("btrfs ran out of space after 63.2 %"), "{terminal}");
    assert!(report::markdown(&analysis).contains("btrfs ran out of space after 63.2 %"));
}

#[test]
fn a_base_without_space_leaves_its_phases_without_a_ratio() {
    let full = Actor {
        full: Some(0.4),
        ..aged("btrfs", 0.7, 0.5)
    };
    let analysis = ages(vec![full, aged("asm", 1.0, 1.0)]).film().analysis();
    let compared: Vec<&str> = analysis.comparisons.iter().map(|c| &*c.phase).collect();
    assert_eq!(compared, ["fresh scan"]);
    assert_eq!(analysis.changes.len(), 1, "asm against itself stands");
}

#[test]
fn a_change_stands_beside_the_published_one_as_not_tested() {
    let mut scene = ages(vec![aged("asm", 1.0, 1.0), aged("btrfs", 0.7, 0.83)]);
    scene.published = Some("xtremio-2014".into());
    let maps = [
        ("published.stacks", "{ \"asm\" = \"asm\", \"btrfs\" = \"zfs\" }"),
        (
            "published.phases",
            "{ \"fresh scan\" = \"scan\", \"aged scan\" = \"aged scan\" }",
        ),
    ];
    scene.settings.extend(maps.map(|(key, value)| Setting {
        key: key.into(),
        value: value.into(),
        written: true,
    }));
    let analysis = scene.film().analysis();
    let published = analysis.published.unwrap();
    let ratio = published
        .ratios
        .iter()
        .find(|ratio| ratio.ours.as_deref() == Some("btrfs, aged scan to fresh scan"))
        .unwrap();
    assert!(!ratio.measured.unwrap().tested);
    assert_eq!(ratio.agreement, Agreement::DirectionAndSize, "{}", ratio.says);
}

#[test]
fn changes_that_are_all_that_is_compared_have_a_sentence_before_they_are_decided() {
    let mut scene = ages(vec![aged("asm", 1.0, 1.0), aged("btrfs", 1.0, 0.5)]);
    scene.unranked = true;
    scene.blocks = 2;
    let early = scene.film().analysis().sentence;
    assert!(early.starts_with("Not enough data yet: 2 of 12"), "{early}");
    scene.blocks = 4;
    scene.noise = 0.9;
    let film = scene.film();
    let analysis = film.analysis();
    assert!(analysis.comparisons.is_empty());
    assert_eq!(
        analysis.contrasts[0].verdict,
        Verdict::NotEnoughData,
        "{:?}",
        analysis.contrasts
    );
    let wide = &analysis.sentence;
    assert!(
        wide.contains("Not enough data to say which stack changed more"),
        "{wide}"
    );
    // With no phase to compare the stacks in, the page still says how to read the chart and how sure it is.
    let page = report::html(&film.ledger, &analysis).unwrap();
    assert!(page.contains("Change of the stack over that of the base") && page.contains("count as equal"));
}
