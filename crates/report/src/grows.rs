//! What a report looks at grows no faster than its file. Rows are counted, so no noise decides it.
//!
//! Takes files of N, 2 N and 4 N stacks, phases or blocks; the second step adds twice the rows of the first, and may
//! cost twice as much. Prevents: a table that is gone through once for each row of another.

use crate::analysis::Analysis;
use crate::disclosed::Disclosed;
use crate::fixture::{Filmed, actor, fact, scene};
use crate::looked::count;
use crate::render::Style;
use ledger::{FactName, PhaseKind, Scope, Setting};

#[derive(Clone, Copy, Debug)]
struct Size {
    stacks: usize,
    phases: usize,
    blocks: u32,
}

const SIZE: Size = Size {
    stacks: 3,
    phases: 4,
    blocks: 4,
};

fn film(size: Size) -> Filmed {
    let names: Vec<String> = (0..size.stacks).map(|nth| format!("stack {nth}")).collect();
    let mut scene = scene(names.iter().map(|name| actor(name, 1.0)).collect());
    (scene.blocks, scene.planned) = (size.blocks, size.blocks);
    let kind = |nth: usize| match nth % 2 {
        0 => PhaseKind::Random,
        _ => PhaseKind::Open,
    };
    scene.phases = (0..size.phases)
        .map(|nth| (kind(nth), format!("phase {nth}")))
        .collect();
    scene.rich = true;
    // What spoils a block is looked for in all that comes later.
    scene.invalid_at = |block, _, _| block % 4 == 1;
    let setting = |key: String, value: &str| Setting {
        key,
        value: value.into(),
        written: true,
    };
    for nth in 0..size.phases {
        let phase = format!("phase.phase {nth}");
        scene.settings.push(setting(format!("{phase}.update_pct"), "50"));
        scene.settings.push(setting(format!("{phase}.work_loop"), "0"));
        if nth % 4 == 2 {
            let before = format!("\"phase {}\"", nth - 2);
            scene.settings.push(setting(format!("{phase}.against"), &before));
        }
    }
    for name in &names {
        let scope = format!("stack:{name}");
        scene.settings.push(setting(format!("stack.{name}.kind"), "\"ext4\""));
        scene
            .facts
            .push(fact(&scope, "nearest devices", &format!("loop of {name}")));
        scene.facts.push(fact(&scope, "lowest visible devices", "vda"));
    }
    scene.film()
}

/// A report in all its forms.
fn made(filmed: &Filmed) -> Analysis {
    let analysis = filmed.analysis();
    let style = Style::default();
    assert!(crate::brief(&analysis, &style, None).len() > 100);
    assert!(crate::terminal(&analysis, &style).len() > 1000);
    assert!(crate::html(&filmed.ledger, &analysis).unwrap().len() > 10_000);
    analysis
}

/// The second step over the first: 2 where what is looked at grows in proportion, 4 where it grows with the square.
fn growth(of: [u64; 3]) -> f64 {
    let [one, two, four] = of;
    (four - two) as f64 / (two - one) as f64
}

fn rows(size: Size) -> u64 {
    count::of(|| made(&film(size))).1.rows
}

#[test]
fn twice_the_phases_cost_no_more_than_twice() {
    let of = [1, 2, 4].map(|times| SIZE.phases * times);
    let found = of.map(|phases| rows(Size { phases, ..SIZE }));
    assert!(growth(found) < 2.1, "{found:?}");
}

#[test]
fn twice_the_blocks_cost_no_more_than_twice() {
    let of = [1, 2, 4].map(|times| SIZE.blocks * times);
    let found = of.map(|blocks| rows(Size { blocks, ..SIZE }));
    assert!(growth(found) < 2.1, "{found:?}");
}

/// Each pair of stacks is looked at too: "all are equivalent" is said of each pair. That is little beside their runs.
#[test]
fn twice_the_stacks_cost_little_more_than_twice() {
    let of = [1, 2, 4].map(|times| SIZE.stacks * times);
    let found = of.map(|stacks| rows(Size { stacks, ..SIZE }));
    assert!(growth(found) < 2.3, "{found:?}");
}

/// Unpacking costs more than all else.
#[test]
fn no_distribution_is_unpacked_twice_for_an_analysis() {
    let filmed = film(SIZE);
    let held = filmed.ledger.histograms().unwrap().len() as u64;
    let (_, looked) = count::of(|| filmed.analysis());
    assert!((1..=held).contains(&looked.unpacked), "{looked:?} of {held}");
    let (_, looked) = count::of(|| made(&filmed));
    assert!(looked.unpacked <= 3 * held, "{looked:?} of {held}");
    // So many that several processors have some.
    let filmed = film(Size { blocks: 24, ..SIZE });
    let (analysis, alone) = count::of(|| filmed.analysis());
    let (in_parallel, all) = count::of(|| Analysis::of_in_parallel(&filmed.ledger).unwrap());
    assert_eq!((in_parallel, all.unpacked), (analysis, alone.unpacked));
}

/// The count itself: a table that is gone through for each question is seen.
#[test]
fn a_table_gone_through_for_each_question_is_seen() {
    let found = [8, 16, 32].map(|many| {
        let scope = |nth: usize| format!("stack:{nth}");
        let facts = (0..many).map(|nth| fact(&scope(nth), "nearest devices", "loop0"));
        let all = Disclosed::new(facts.collect(), Vec::new());
        let asked = |nth: usize| {
            let scope = Scope::Stack(nth.to_string());
            let through = all
                .facts()
                .iter()
                .find(|fact| fact.scope == scope)
                .map(|fact| &fact.value);
            let by_key = count::of(|| all.fact(&scope, &FactName::NearestDevices.into()));
            assert_eq!((through, 1), (by_key.0, by_key.1.rows));
        };
        count::of(|| (0..many).for_each(asked)).1.rows
    });
    assert_eq!(growth(found), 4.0, "{found:?}");
}
