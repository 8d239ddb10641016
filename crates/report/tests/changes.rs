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
fn each_stack_is_held_against_itself_with_an_interval() {
    let filmed = ages(vec![aged("asm", 1.0, 1.0), aged("btrfs", 0.7, 0.5)]).film();
    let analysis = filmed.analysis();
    let said: Vec<(&str, &str, &str, Verdict)> = analysis
        .changes
        .iter()
        .map(|one| (&*one.stack, &*one.phase, &*one.against, one.verdict))
        .collect();
    assert_eq!(
        said,
        [
            ("asm", "aged scan", "fresh scan", Verdict::Equivalent),
            ("btrfs", "aged scan", "fresh scan", Verdict::Worse),
        ]
    );
    let btrfs = &analysis.changes[1];
    let (ratio, low, high) = (btrfs.ratio.unwrap(), btrfs.low.unwrap(), btrfs.high.unwrap());
    assert!(
        (ratio - 0.5).abs() < 0.01 && low < ratio && ratio < high,
        "{}",
        btrfs.words
    );
    assert_eq!(
        analysis.comparisons.len(),
        3,
        "each phase is compared between the stacks as before"
    );
    assert!(
        analysis
            .sentence
            .contains("aged scan against fresh scan: asm equivalent, btrfs 0.50 ("),
        "{}",
        analysis.sentence
    );
    let looks = analysis.looks();
    assert_eq!(looks.len(), 5 * analysis.looks.len());
    assert!(
        looks
            .iter()
            .any(|look| look.base == "btrfs in fresh scan" && look.phase == "aged scan")
    );
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
            .starts_with("Aged scan against fresh scan: btrfs 0.50 ("),
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
        terminal.contains("aged scan against fresh scan, on the same stack"),
        "{terminal}"
    );
    assert!(
        terminal.contains("pages over-") && terminal.contains("100 %"),
        "{terminal}"
    );
    assert!(terminal.lines().all(|line| line.chars().count() <= 80), "{terminal}");
    let markdown = report::markdown(&analysis);
    assert!(
        markdown.contains("aged scan against fresh scan, on the same stack")
            && markdown.contains("| btrfs | 0.50 | 0.49 to 0.51 | 4 | worse |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("pages over- written") && markdown.contains("100 %"),
        "{markdown}"
    );
    let json = report::json(&analysis);
    assert_eq!(json["report"]["changes"][1]["verdict"], "worse");
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
        analysis.sentence.contains("btrfs ran out of space in ageing"),
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
fn a_change_stands_beside_the_published_one_as_tested() {
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
    assert!(ratio.measured.unwrap().tested);
    assert_eq!(ratio.agreement, Agreement::DirectionAndSize, "{}", ratio.says);
}

#[test]
fn one_stack_whose_phases_cannot_be_told_apart_yet_is_not_said_to_have_nothing_to_compare() {
    let mut scene = ages(vec![aged("btrfs", 1.0, 0.5)]);
    scene.blocks = 2;
    let early = scene.film().analysis().sentence;
    assert!(early.starts_with("Not enough data yet: 2 of 12"), "{early}");
    scene.blocks = 4;
    scene.noise = 0.9;
    let film = scene.film();
    let analysis = film.analysis();
    assert_eq!(
        analysis.changes[0].verdict,
        Verdict::NotEnoughData,
        "{:?}",
        analysis.changes
    );
    let wide = &analysis.sentence;
    assert!(wide.contains("Not enough data to say what changed"), "{wide}");
    // With no stack to compare with, the page still says how to read the chart and how sure it is.
    let page = report::html(&film.ledger, &analysis).unwrap();
    assert!(page.contains("Phase over the earlier one") && page.contains("count as equal"));
}
