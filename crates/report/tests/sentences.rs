//! The answer of a report: what to take, and what cannot be said.

use crate::fixture::{Scene, actor, scene};
use ledger::PhaseKind;

fn said(scene: &Scene) -> String {
    let sentence = scene.film().analysis().sentence;
    assert!(sentence.chars().count() <= 240, "more than three lines: {sentence}");
    sentence
}

#[test]
fn all_alike_is_a_free_choice() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.0), actor("btrfs", 1.0)]);
    scene.noise = 0.002;
    assert_eq!(
        said(&scene),
        "Take ext4, xfs or btrfs: all are equivalent within 5 % in 50 % update and scan."
    );
}

#[test]
fn noise_asks_for_more_blocks() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.97)]);
    scene.noise = 0.4;
    assert_eq!(
        said(&scene),
        "Not enough data to distinguish ext4 and xfs after 4 blocks: let the study go on (`assay run STUDY \
         --resume --output FILE`)."
    );
    scene.planned = 4;
    assert!(said(&scene).ends_with("after 4 blocks: more blocks may decide it (`assay run --extend FILE`)."));
}

#[test]
fn of_a_file_that_is_removed_no_command_is_advised() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.97)]);
    scene.noise = 0.4;
    for (blocks, planned) in [(4, 12), (4, 4), (2, 12)] {
        (scene.blocks, scene.planned) = (blocks, planned);
        let analysis = scene.film().analysis();
        assert!(analysis.sentence.contains("`assay run "), "{}", analysis.sentence);
        let said = analysis.without_file().sentence;
        assert!(
            said.ends_with(": more blocks may decide it.") && !said.contains('`'),
            "{said}"
        );
    }
}

#[test]
fn the_loser_is_named_and_the_rest_is_a_choice() {
    let sentence = said(&scene(vec![actor("ext4", 1.0), actor("xfs", 1.0), actor("btrfs", 0.2)]));
    assert!(
        sentence.starts_with("Take ext4 or xfs (of ext4, xfs and btrfs): btrfs does 0.20 of ext4's rate in "),
        "{sentence}"
    );
}

#[test]
fn one_stack_is_no_comparison() {
    let sentence = said(&scene(vec![actor("ext4", 1.0)]));
    assert_eq!(
        sentence,
        "Only ext4 was measured, so there is nothing to compare it with."
    );
}

#[test]
fn a_cache_is_not_advice() {
    let mut cached = actor("cached", 5.0);
    cached.device = Some(0.02);
    let two = scene(vec![actor("ext4", 1.0), cached.clone()]);
    assert!(said(&two).starts_with("Nothing can be ranked here: cached: its reads were served by a cache"));
    let three = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8), cached]);
    let sentence = said(&three);
    assert!(sentence.starts_with("Take ext4:"), "{sentence}");
    assert!(sentence.ends_with(". Not ranked: cached."), "{sentence}");
}

#[test]
fn groups_are_advised_apart() {
    let mut bare = actor("direct", 1.4);
    let mut other = actor("other", 1.4 * 0.5);
    for one in [&mut bare, &mut other] {
        one.stack.layers = ledger::Layers::plain(["raw"]);
    }
    let sentence = said(&scene(vec![bare, other, actor("ext4", 1.0), actor("btrfs", 0.8)]));
    assert!(
        sentence.contains("Take direct: other does 0.50 of direct's rate in "),
        "{sentence}"
    );
    assert!(
        sentence.contains("Take ext4: btrfs does 0.80 of ext4's rate in "),
        "{sentence}"
    );
}

#[test]
fn many_stacks_stay_three_lines() {
    let names = [
        "ext4",
        "a-long-name-of-a-stack",
        "another-long-name-of-one",
        "yet-another-long-name",
        "last",
    ];
    let mut scene = scene(
        names
            .iter()
            .map(|name| actor(name, if *name == "ext4" { 1.0 } else { 0.5 }))
            .collect(),
    );
    scene.phases.push((PhaseKind::Random, "aged update".into()));
    let sentence = said(&scene);
    assert!(sentence.starts_with("Take ext4 (of 5 stacks): "), "{sentence}");
}

#[test]
fn a_model_is_said_to_be_one() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.3)]);
    scene.modelled = true;
    assert!(said(&scene).starts_with("The device is a model, not a real one. Take xfs: "));
}

#[test]
fn equivalent_here_and_open_there_is_no_advice() {
    // Wide enough for one of the two to stay open, and not for both.
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.0), actor("btrfs", 1.0)]);
    scene.noise = 0.01;
    assert_eq!(
        said(&scene),
        "Where decided, btrfs is equivalent to ext4 within 5 %. 2 other comparisons are undecided after 4 blocks."
    );
}

#[test]
fn the_better_one_hides_neither_the_loser_nor_the_undecided() {
    let actors = [("ext4", 1.0), ("xfs", 1.02), ("btrfs", 0.05), ("group", 20.0)];
    let mut scene = scene(actors.map(|(name, speed)| actor(name, speed)).into());
    scene.noise = 0.15;
    let sentence = said(&scene);
    assert!(
        sentence.starts_with("Take group (of 4 stacks): group does "),
        "{sentence}"
    );
    assert!(sentence.contains(". Also, btrfs does 0.0"), "{sentence}");
    assert!(sentence.contains(". Undecided in 2 comparisons: xfs. "), "{sentence}");
}

#[test]
fn what_is_open_stands_right_after_the_advice_however_long_the_names() {
    let name = |end: &str| format!("a-name-of-a-stack-that-goes-on-and-on-until-nobody-reads-it-{end}");
    let mut actors = vec![actor(&name("base"), 1.0), actor(&name("open"), 1.02)];
    actors.extend(["lost", "last"].map(|end| actor(&name(end), 0.05)));
    let mut scene = scene(actors);
    scene.noise = 0.15;
    let sentence = scene.film().analysis().sentence;
    let open = format!(". Undecided in 2 comparisons: {}", name("open"));
    assert!(sentence.contains(&open), "{sentence}");
    assert!(
        !sentence.contains(&format!(". Also, {} does", name("lost")))
            || !sentence.contains(&format!(". Also, {} does", name("last")))
    );
}
