//! How many LUNs a load takes, from files with known rates.
//!
//! Prevents: a load that is sized by a mix, a p99 or an amount of data that was never measured.

use crate::fixture::{Scene, actor, scene};
use ledger::{Fact, FactName, FactValue, Measure, Scope, Setting};
use report::{Load, SizedStack, Sizing, Style};

const GB: f64 = 1e9;

fn luns(set: &str, count: u32) -> Vec<Fact> {
    let lun = |number: u32| Fact {
        scope: Scope::Lun(set.into(), Some(number)),
        key: FactName::Bytes.into(),
        value: FactValue::Whole(10_000_000_000),
    };
    (0..count).map(lun).collect()
}

/// One stack on one, two and four LUNs, each twice as fast as the one before.
fn three() -> Scene {
    let mut actors = Vec::new();
    for (name, set, speed) in [("one", "a", 0.25), ("two", "b", 0.5), ("four", "c", 1.0)] {
        let mut actor = actor(name, speed);
        actor.stack.kind = "diskgroup".into();
        actor.stack.data_lun_set = Some(set.into());
        actors.push(actor);
    }
    let mut scene = scene(actors);
    scene.facts = [luns("a", 1), luns("b", 2), luns("c", 4)].concat();
    scene.extra = vec![(Measure::LunUsedBytes, 20.0 * GB), (Measure::DataBytes, 10.0 * GB)];
    // As a run writes them: every stack has its name and its set among its keys.
    for (name, set) in [("one", "a"), ("two", "b"), ("four", "c")] {
        for (key, value) in [("name", name), ("data", set), ("au", "1MiB")] {
            scene.settings.push(Setting {
                key: format!("stack.{name}.{key}"),
                value: format!("\"{value}\""),
                written: true,
            });
        }
    }
    scene
}

/// Pages a second in the mix of the fixture.
fn load(pages_per_s: f64, data_bytes: Option<f64>) -> Load {
    Load {
        reads_per_s: pages_per_s / 2.0,
        updates_per_s: pages_per_s / 2.0,
        p99_ns: None,
        data_bytes,
    }
}

fn one(scene: &Scene, load: Load) -> SizedStack {
    let film = scene.film();
    let sizing = Sizing::of(&film.ledger, load).unwrap();
    assert_eq!(
        sizing.stacks.len(),
        1,
        "stacks that differ in their LUNs alone are one: {sizing:?}"
    );
    let shown = sizing.terminal(&Style::default());
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    sizing.stacks.into_iter().next().unwrap()
}

/// What four LUNs carry: found by asking for one page a second.
fn most(scene: &Scene) -> f64 {
    let mut single = Scene {
        actors: scene.actors.iter().skip(2).cloned().collect(),
        ..crate::fixture::scene(Vec::new())
    };
    single.facts.clone_from(&scene.facts);
    single.extra.clone_from(&scene.extra);
    4.0 / one(&single, load(1.0, None)).for_rate.unwrap()
}

#[test]
fn three_numbers_of_luns_make_a_curve() {
    let scene = three();
    let most = most(&scene);
    let found = one(&scene, load(0.75 * most, None));
    assert_eq!(found.luns, [1, 2, 4]);
    let luns = found.for_rate.unwrap();
    assert!((luns - 3.0).abs() < 0.05, "{found:?}");
    assert!(found.low.unwrap() < luns && luns < found.high.unwrap(), "{found:?}");
    assert!(found.takes == Some(4) || found.takes == Some(3), "{found:?}");
    assert!(!found.extrapolated, "{found:?}");
}

/// The middle of one block says nothing of the worst that chance gives.
#[test]
fn one_block_has_no_interval_and_no_number_to_take() {
    let mut scene = three();
    let most = most(&scene);
    let two = Scene { blocks: 2, ..three() };
    let found = one(&two, load(0.75 * most, Some(5.0 * GB)));
    assert!(
        found.high.is_some() && !found.notes.iter().any(|note| note.contains("one block")),
        "{found:?}"
    );
    scene.blocks = 1;
    let found = one(&scene, load(0.75 * most, Some(5.0 * GB)));
    assert!((found.for_rate.unwrap() - 3.0).abs() < 0.1, "{found:?}");
    assert_eq!((found.low, found.high, found.takes), (None, None, None), "{found:?}");
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.starts_with("one block: no interval")),
        "{found:?}"
    );
}

#[test]
fn what_was_not_measured_is_labelled_and_far_beyond_it_nothing_is_said() {
    let scene = three();
    let most = most(&scene);
    let twice = one(&scene, load(3.0 * most, None));
    assert!(twice.extrapolated && twice.takes.is_some(), "{twice:?}");
    let far = one(&scene, load(20.0 * most, None));
    assert_eq!((far.takes, far.for_rate), (None, None), "{far:?}");
    assert!(
        far.notes
            .iter()
            .any(|note| note.contains("Nothing is said beyond 10 times")),
        "{far:?}"
    );
    let data = one(&scene, load(0.1 * most, Some(15.0 * GB)));
    // Two bytes in use for each byte of data: 5 GB of data a LUN.
    assert!(
        (data.for_data.unwrap() - 3.0).abs() < 1e-6 && data.takes == Some(3),
        "{data:?}"
    );
    let much = one(&scene, load(0.1 * most, Some(200.0 * GB)));
    assert_eq!(much.takes, None, "{much:?}");
}

#[test]
fn a_p99_that_no_phase_keeps_is_a_reason() {
    let scene = three();
    let strict = Load {
        p99_ns: Some(1.0),
        ..load(10.0, None)
    };
    let found = one(&scene, strict);
    assert_eq!(found.takes, None);
    assert!(
        found.notes.iter().any(|note| note.contains("keeps that p99")),
        "{found:?}"
    );
}

/// A stack on more LUNs that differs otherwise too says nothing of what LUNs do.
#[test]
fn stacks_that_differ_otherwise_make_no_curve() {
    let mut scene = three();
    scene.settings = vec![ledger::Setting {
        key: "stack.four.redundancy".into(),
        value: "\"normal\"".into(),
        written: true,
    }];
    let film = scene.film();
    let sizing = Sizing::of(&film.ledger, load(1.0, None)).unwrap();
    let luns: Vec<_> = sizing.stacks.iter().map(|one| one.luns.clone()).collect();
    assert_eq!(luns, [vec![1, 2], vec![4]], "{sizing:?}");
}
