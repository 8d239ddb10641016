//! Answers of databases that are wrong, or of which nobody can know: on the sheet, in the sentence, in the ranking.
//!
//! Prevents: a loss of data that is a remark beside a run, and a stack with a wrong answer that is ranked.

use crate::fixture::{Scene, actor, scene};
use ledger::{Measure, PhaseKind, Setting};
use report::{Analysis, Check, Status};

/// Two stacks that were asked, and scanned afterwards.
fn asked(answers: fn(u32, &str) -> &'static [&'static str]) -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    scene.phases = vec![(PhaseKind::Tpch, "questions".into()), (PhaseKind::Scan, "scan".into())];
    // Counted, so that the ratios of bytes are those of the other phases.
    scene.extra = vec![(Measure::DatabaseTempBytes, 0.0)];
    scene.answers = answers;
    scene
}

/// The line of a stack about answers.
fn line<'a>(analysis: &'a Analysis, stack: &str) -> &'a Check {
    let mine = |check: &&Check| {
        check.subject == "data loss"
            && check.stack.as_deref() == Some(stack)
            && check.phase.as_deref() == Some("questions")
            && check.threshold.as_deref() == Some("the answers of most runs")
    };
    let found = analysis.checks.iter().find(mine);
    found.unwrap_or_else(|| panic!("no line of {stack}: {:?}", analysis.checks))
}

/// That the stack lost data: on its line, in the sentence, and not in the ranking.
fn is_a_loss(scene: &Scene, figure: &str, reason: &str) {
    let analysis = scene.film().analysis();
    let found = line(&analysis, "btrfs");
    assert_eq!((found.status, found.figure.as_str()), (Status::Invalid, figure));
    assert_eq!(line(&analysis, "ext4").status, Status::Valid);
    let sentence = &analysis.sentence;
    assert!(sentence.contains("LOST DATA, whatever the speed: btrfs"), "{sentence}");
    let unranked = analysis
        .unranked
        .iter()
        .find(|one| one.phase.as_deref() == Some("questions"))
        .unwrap_or_else(|| panic!("{:?}", analysis.comparisons));
    assert!(unranked.reason.contains(reason), "{}", unranked.reason);
}

#[test]
fn a_wrong_answer_is_a_loss_and_shuts_its_stack_out() {
    let right = asked(|_, _| &["right"]).film().analysis();
    assert_eq!(line(&right, "btrfs").figure, "0 runs with a wrong answer");
    assert!(right.comparisons.iter().any(|one| one.phase == "questions"));
    let wrong = asked(|block, stack| match (block, stack) {
        (0, "btrfs") => &["wrong"],
        _ => &["right"],
    });
    is_a_loss(&wrong, "1 runs with a wrong answer", "it gave a wrong answer");
}

#[test]
fn two_users_with_unlike_answers_are_a_loss_though_their_run_is_invalid() {
    let mut scene = asked(|block, stack| match (block, stack) {
        (0, "btrfs") => &["right", "wrong"],
        _ => &["right", "right"],
    });
    scene.invalid_at = |block, stack, phase| block == 0 && stack == "btrfs" && phase == "questions";
    is_a_loss(&scene, "1 runs with a wrong answer", "it gave a wrong answer");
}

#[test]
fn what_a_database_finds_wrong_of_its_own_is_a_loss() {
    let of = |measure, figure, reason| {
        let mut scene = asked(|_, _| &["right"]);
        scene.extra_of = vec![("btrfs".into(), measure, 1.0)];
        scene.invalid_at = |_, stack, phase| stack == "btrfs" && phase == "questions";
        is_a_loss(&scene, figure, reason);
    };
    of(
        Measure::DatabaseTablesWrong,
        "4 runs with a table that does not hold what was written",
        "a table does not hold what was written",
    );
    of(
        Measure::DatabaseAnswersWrong,
        "4 runs with a wrong answer",
        "it gave a wrong answer",
    );
}

#[test]
fn answers_without_a_majority_are_open_and_nobody_is_accused() {
    let scene = asked(|_, stack| match stack {
        "btrfs" => &["one"],
        _ => &["another"],
    });
    let analysis = scene.film().analysis();
    for stack in ["ext4", "btrfs"] {
        let found = line(&analysis, stack);
        assert_eq!(found.status, Status::Suspect);
        assert_eq!(found.figure, "open in 4 runs: no answer has more than half of all runs");
        assert!(found.advice.contains("run more blocks"), "{}", found.advice);
    }
    assert!(!analysis.sentence.contains("LOST DATA"), "{}", analysis.sentence);
}

#[test]
fn questions_that_only_read_take_nothing_from_what_comes_after_them() {
    let dropped = |refresh: Option<&str>| -> Vec<Option<String>> {
        let mut scene = asked(|_, _| &["right"]);
        scene.invalid_at = |block, stack, phase| block == 0 && stack == "btrfs" && phase == "questions";
        let setting = |value: &str| Setting {
            key: "phase.questions.refresh".into(),
            value: value.into(),
            written: true,
        };
        scene.settings = refresh.map(setting).into_iter().collect();
        let dropped = scene.film().analysis().dropped;
        dropped.into_iter().map(|one| one.phase).collect()
    };
    let (questions, scan) = (Some("questions".to_string()), Some("scan".to_string()));
    assert_eq!(dropped(Some("0")), std::slice::from_ref(&questions));
    let both = [questions, scan];
    assert_eq!(dropped(Some("2")), both);
    assert_eq!(dropped(None), both, "a file that does not say it");
}

#[test]
fn temporary_files_that_nobody_counted_leave_no_ratio_of_bytes() {
    let ratio = |temp: &[(Measure, f64)]| {
        let mut scene = asked(|_, _| &["right"]);
        scene.extra = temp.to_vec();
        let analysis = scene.film().analysis();
        let of = |phase: usize| analysis.phases[phase].cells[0].device_bytes_per_asked_byte.is_some();
        [of(0), of(1)]
    };
    assert_eq!(ratio(&[(Measure::DatabaseTempBytes, 0.0)]), [true, true]);
    assert_eq!(ratio(&[]), [false, true], "a scan makes none");
}
