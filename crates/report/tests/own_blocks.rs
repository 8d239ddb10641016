//! What a study's own blocks say: traps in which a condition of the verdicts is broken, each with an honest twin.
//!
//! Prevents: verdicts of blocks that hang together, change in the middle or lose on one side, and nobody says so.

use crate::fixture::{Scene, actor, scene};
use report::{Analysis, Status};

/// Thirty blocks of two stacks, the second with what `in_block` makes of it.
fn study(in_block: fn(u32, &str) -> f64) -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("zfs", 1.0)]);
    (scene.blocks, scene.planned) = (30, 30);
    scene.noise = 0.02;
    scene.in_block = in_block;
    // Otherwise the study would end before what is looked for.
    scene.margin = 0.0001;
    scene
}

fn line(analysis: &Analysis, subject: &str) -> (Status, String) {
    let found: Vec<_> = analysis
        .checks
        .iter()
        .filter(|check| check.subject == subject)
        .collect();
    assert_eq!(found.len(), 1, "{subject}: {found:?}");
    (found[0].status, found[0].figure.clone())
}

/// A number from -1 to 1 that is the same each time and follows no pattern.
fn drawn(block: u32) -> f64 {
    let mixed = u64::from(block + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / f64::from(1u32 << 23) - 1.0
}

const HIDDEN: &str = "what few blocks hide";
const SUBJECTS: [&str; 3] = ["neighbouring blocks", "halves of the study", "one-sided runs"];

#[test]
fn honest_blocks_are_valid() {
    let analysis = study(|block, name| 1.0 + 0.03 * drawn(block * 7 + name.len() as u32))
        .film()
        .analysis();
    for subject in SUBJECTS {
        let (status, figure) = line(&analysis, subject);
        assert_eq!(status, Status::Valid, "{subject}: {figure}");
    }
    assert!(
        !analysis.sentence.contains("break a condition"),
        "{}",
        analysis.sentence
    );
}

#[test]
fn blocks_whose_ratios_wander_are_suspect() {
    let wander = |block: u32, name: &str| match name {
        "zfs" => 1.0 + 0.2 * (f64::from(block) * 0.9).sin(),
        _ => 1.0,
    };
    let analysis = study(wander).film().analysis();
    let (status, figure) = line(&analysis, "neighbouring blocks");
    assert_eq!(status, Status::Suspect, "{figure}");
    assert!(figure.contains("in zfs (chance alone"), "{figure}");
    assert!(
        analysis
            .sentence
            .ends_with(". The blocks of zfs break a condition of the verdicts."),
        "{}",
        analysis.sentence
    );
}

#[test]
fn a_ratio_that_changes_in_the_middle_is_suspect() {
    let shift = |block: u32, name: &str| match name {
        "zfs" if block >= 15 => 0.8,
        _ => 1.0,
    };
    let (status, figure) = line(&study(shift).film().analysis(), "halves of the study");
    assert_eq!(status, Status::Suspect, "{figure}");
    assert!(
        figure.starts_with("zfs's ratio in the second half is 0.80 of"),
        "{figure}"
    );
}

#[test]
fn runs_that_only_lose_are_suspect() {
    let lose = |block: u32, name: &str| match name {
        "zfs" if drawn(block) < -0.2 => 0.7,
        _ => 1.0,
    };
    let (status, figure) = line(&study(lose).film().analysis(), "one-sided runs");
    assert_eq!(status, Status::Suspect, "{figure}");
    assert!(figure.starts_with("zfs lost a tenth or more"), "{figure}");
}

#[test]
fn too_few_blocks_are_said_to_be_too_few() {
    let analysis = scene(vec![actor("ext4", 1.0), actor("zfs", 0.9)]).film().analysis();
    let (status, figure) = line(&analysis, HIDDEN);
    assert_eq!(status, Status::Note, "{figure}");
    assert!(figure.starts_with("fewer than six blocks are valid"), "{figure}");
    assert_eq!(analysis.own_blocks, None);
    assert!(
        analysis
            .checks
            .iter()
            .all(|check| !SUBJECTS.contains(&check.subject.as_str()))
    );
}

#[test]
fn twelve_blocks_say_what_they_hide() {
    let mut few = study(|block, name| 1.0 + 0.03 * drawn(block * 7 + name.len() as u32));
    (few.blocks, few.planned) = (12, 12);
    let (status, figure) = line(&few.film().analysis(), HIDDEN);
    assert_eq!(status, Status::Note, "{figure}");
    assert!(
        figure.starts_with("in 12 blocks, ") && figure.contains("slow runs in up to 7"),
        "{figure}"
    );
    // The honest twin has five times as many.
    let mut many = study(few.in_block);
    (many.blocks, many.planned) = (60, 60);
    let (status, figure) = line(&many.film().analysis(), HIDDEN);
    assert_eq!(status, Status::Valid, "{figure}");
    assert!(figure.contains("a correlation below 0."), "{figure}");
}

#[test]
fn stacks_on_sets_of_their_own_say_so() {
    let mut other = actor("zfs", 0.9);
    other.stack.data_lun_set = Some("second".into());
    let apart = scene(vec![actor("ext4", 1.0), other]).film().analysis();
    let (status, figure) = line(&apart, "LUN sets apart");
    assert_eq!(status, Status::Note);
    assert!(
        figure.starts_with("zfs is on `second` and ext4 on `data` in every block"),
        "{figure}"
    );
    let together = scene(vec![actor("ext4", 1.0), actor("zfs", 0.9)]).film().analysis();
    assert!(together.checks.iter().all(|check| check.subject != "LUN sets apart"));
}

/// The set of a stack where two sets take turns: the trap's sets with nothing wrong.
fn in_turn(block: u32, name: &str) -> &'static str {
    match block.is_multiple_of(2) == (name == "ext4") {
        true => "data",
        false => "second",
    }
}

#[test]
fn sets_that_take_turns_are_silent_and_uneven_turns_are_counted() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("zfs", 0.9)]);
    scene.in_sets = Some(in_turn);
    let even = scene.film().analysis();
    assert!(even.checks.iter().all(|check| check.subject != "LUN sets apart"));
    let luns = |analysis: &report::Analysis| analysis.equal.iter().any(|fact| fact == "data LUNs");
    assert!(luns(&even), "{:?}", even.differences);
    scene.blocks = 5;
    let (status, figure) = line(&scene.film().analysis(), "LUN sets apart");
    assert_eq!(status, Status::Note);
    assert!(
        figure.starts_with("zfs is on `data` 2 times, `second` 3 times and ext4 on `data` 3 times, `second` 2 times"),
        "{figure}"
    );
}

#[test]
fn a_study_beside_an_older_one_says_so() {
    let mut beside = scene(vec![actor("ext4", 1.0), actor("zfs", 0.9)]);
    let quiet = beside.film().analysis();
    assert!(quiet.checks.iter().all(|check| check.subject != "older studies"));
    beside.facts = vec![ledger::Fact {
        scope: ledger::Scope::Study,
        key: ledger::FactName::OlderStudies.into(),
        value: ledger::FactValue::Names(vec!["first.assay".into(), "second.assay".into()]),
    }];
    let analysis = beside.film().analysis();
    let (status, figure) = line(&analysis, "older studies");
    assert_eq!(status, Status::Note);
    assert_eq!(
        figure,
        "an older study of the same stacks exists: first.assay, second.assay"
    );
}
