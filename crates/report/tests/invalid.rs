//! Invalid phases: what they take from the verdicts, what they leave, and how their figures are shown.
//!
//! Prevents: one phase that cannot be measured and takes every verdict with it, and figures that nobody sees.

use crate::fixture::{Scene, actor, fact, scene};
use ledger::Setting;
use report::{Analysis, Status, Style, Verdict};

/// Two stacks, of which one is slower in both phases.
fn two(invalid_at: fn(u32, &str, &str) -> bool) -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    (scene.blocks, scene.planned, scene.invalid_at) = (4, 4, invalid_at);
    scene
}

fn verdict(analysis: &Analysis, phase: &str) -> Verdict {
    let found = analysis.comparisons.iter().find(|one| one.phase == phase);
    found
        .unwrap_or_else(|| panic!("{phase}: {:?}", analysis.comparisons))
        .verdict
}

/// The report on a terminal, its folded lines put together.
fn shown(scene: &Scene) -> String {
    let text = report::terminal(&scene.film().analysis(), &Style::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_invalid_scan_leaves_the_verdict_of_the_phase_before_it() {
    let honest = two(|_, _, _| false).film().analysis();
    assert_eq!(
        (verdict(&honest, "50 % update"), verdict(&honest, "scan")),
        (Verdict::Worse, Verdict::Worse)
    );
    assert!(honest.dropped.is_empty());
    let trap = two(|_, stack, phase| stack == "btrfs" && phase == "scan")
        .film()
        .analysis();
    assert_eq!(verdict(&trap, "50 % update"), Verdict::Worse);
    assert_eq!(verdict(&trap, "scan"), Verdict::NotEnoughData);
    assert_eq!(trap.dropped.len(), 4);
    assert!(trap.dropped.iter().all(|one| one.phase.as_deref() == Some("scan")));
    let line = trap
        .checks
        .iter()
        .find(|check| check.subject == "dropped blocks")
        .unwrap();
    assert_eq!(line.status, Status::Suspect);
    assert_eq!(line.figure, "4 of 4 blocks were dropped for some of their phases");
}

#[test]
fn an_invalid_phase_that_writes_takes_what_comes_after_it() {
    let update = |block: u32, stack: &str, phase: &str| block == 0 && stack == "ext4" && phase == "50 % update";
    let mut trap = two(update);
    let phases = |scene: &Scene| -> Vec<Option<String>> {
        scene
            .film()
            .analysis()
            .dropped
            .into_iter()
            .map(|one| one.phase)
            .collect()
    };
    assert_eq!(
        phases(&trap),
        [Some("50 % update".to_string()), Some("scan".to_string())]
    );
    // Of a phase that the study says only reads, the next finds what it would have found.
    trap.settings = vec![Setting {
        key: "phase.50 % update.update_pct".into(),
        value: "0".into(),
        written: true,
    }];
    assert_eq!(phases(&trap), [Some("50 % update".to_string())]);
}

#[test]
fn figures_of_invalid_runs_stand_beside_their_reason_and_are_not_ranked() {
    let trap = two(|_, _, phase| phase == "scan");
    let analysis = trap.film().analysis();
    let scan = &analysis.phases[1];
    assert!(scan.cells.is_empty());
    assert_eq!(scan.invalid.len(), 2);
    let (base, other) = (
        scan.invalid[0].primary.unwrap().median,
        scan.invalid[1].primary.unwrap().median,
    );
    assert!((other / base - 0.8).abs() < 0.02, "{base} and {other}");
    assert_eq!(scan.invalid[0].reasons, ["the model cannot keep up"]);
    assert_eq!(verdict(&analysis, "scan"), Verdict::NotEnoughData);
    let text = shown(&trap);
    assert!(
        text.contains("btrfs is INVALID and not ranked: the model cannot keep up"),
        "{text}"
    );
    let honest = two(|_, _, _| false);
    assert!(
        honest
            .film()
            .analysis()
            .phases
            .iter()
            .all(|phase| phase.invalid.is_empty())
    );
    assert!(!shown(&honest).contains("and not ranked"));
}

#[test]
fn models_in_slow_motion_say_so() {
    let at = |times: &str| {
        let mut scene = two(|_, _, _| false);
        scene.facts = vec![fact("study", "slow motion", times)];
        scene
    };
    let slow = at("10");
    let analysis = slow.film().analysis();
    let found: Vec<_> = analysis
        .checks
        .iter()
        .filter(|check| check.subject == "slow motion")
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].status, Status::Note);
    assert!(
        found[0]
            .figure
            .contains("10 times slower than their devices: rates are a tenth"),
        "{found:?}"
    );
    assert!(shown(&slow).contains("In slow motion: the models run 10 times slower"));
    let usual = at("1");
    assert!(
        usual
            .film()
            .analysis()
            .checks
            .iter()
            .all(|check| check.subject != "slow motion")
    );
    assert!(!shown(&usual).contains("slow motion"));
}

#[test]
fn a_run_that_does_not_count_is_in_no_figure() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    (scene.blocks, scene.noise) = (5, 0.0);
    // The first block is taken from btrfs, and slow.
    scene.stolen_at = |block, stack| block == 0 && stack == "btrfs";
    scene.in_block = |block, stack| if block == 0 && stack == "btrfs" { 0.1 } else { 1.0 };
    let analysis = scene.film().analysis();
    let cells = &analysis.phases[0].cells;
    assert_eq!((cells[0].blocks, cells[1].blocks), (5, 4));
    let (plain, taken) = (cells[0].primary.expect("a rate"), cells[1].primary.expect("a rate"));
    assert!((taken.low / plain.low - 0.8).abs() < 0.01, "{taken:?} beside {plain:?}");
    let doubts = format!("{:?}", analysis.doubts());
    assert!(doubts.contains("most of all in 1 of 5 blocks"), "{doubts}");
}
