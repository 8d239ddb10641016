//! How many LUNs a load takes, from files with known rates.
//!
//! Prevents: a load that is sized by a mix, a p99 or an amount of data that was never measured.

use crate::fixture::{Scene, actor, scene};
use ledger::{Fact, FactName, FactValue, Measure, Scope, Setting};
use report::{Load, SizedStack, Sizing, Style};

const GB: f64 = 1e9;

/// Pages that the fixture reads in a phase at full speed, and pages changed for each of them.
pub(crate) const READ: f64 = 10_000.0 * 20.5 * 8.0;
const MIX: f64 = 64_000.0 / READ;

fn luns(set: &str, count: u32) -> Vec<Fact> {
    let lun = |number: u32| Fact {
        scope: Scope::Lun(set.into(), Some(number)),
        key: FactName::Bytes.into(),
        value: FactValue::Whole(10_000_000_000),
    };
    (0..count).map(lun).collect()
}

/// One stack on one, two and four LUNs, each twice as fast as the one before.
pub(crate) fn three() -> Scene {
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

/// The same where each engine counted something besides, in proportion to its speed; NaN: it did not count that.
pub(crate) fn counted(counts: &[(Measure, f64)]) -> Scene {
    let mut scene = three();
    for (stack, speed) in [("one", 0.25), ("two", 0.5), ("four", 1.0)] {
        let of_stack = counts
            .iter()
            .map(|(measure, count)| (stack.to_string(), *measure, count * speed));
        scene.extra_of.extend(of_stack);
    }
    scene
}

/// Pages read a second, in the mix of the fixture.
pub(crate) fn load(reads_per_s: f64, data_bytes: Option<f64>) -> Load {
    Load {
        reads_per_s,
        updates_per_s: MIX * reads_per_s,
        p99_ns: None,
        data_bytes,
    }
}

pub(crate) fn one(scene: &Scene, load: Load) -> SizedStack {
    let film = scene.film();
    let sizing = Sizing::of(&film.ledger, load, &[]).unwrap();
    assert_eq!(
        sizing.stacks.len(),
        1,
        "stacks that differ in their LUNs alone are one: {sizing:?}"
    );
    let shown = sizing.terminal(&Style::default());
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    sizing.stacks.into_iter().next().unwrap()
}

/// Pages read a second that four LUNs carry: found by asking for some.
pub(crate) fn most(scene: &Scene) -> f64 {
    let mut single = Scene {
        actors: scene.actors.iter().skip(2).cloned().collect(),
        ..crate::fixture::scene(Vec::new())
    };
    single.facts.clone_from(&scene.facts);
    single.extra.clone_from(&scene.extra);
    let asked = 20_000.0;
    4.0 * asked / one(&single, load(asked, None)).for_rate.unwrap()
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

/// Who buys one system gets one more build, not the mean of six: the interval is wider by the root of n + 1.
#[test]
fn the_interval_is_where_one_more_build_lies() {
    const SPEEDS: [f64; 6] = [0.97, 1.02, 0.99, 1.03, 0.98, 1.01];
    let mut scene = three();
    scene.actors.drain(..2);
    (scene.noise, scene.blocks) = (0.0, 6);
    scene.in_block = |block, _| SPEEDS[block as usize];
    let found = one(&scene, load(40_000.0, None));
    // Four LUNs read 80,000 pages a second at a speed of 1.
    let logs = SPEEDS.map(|speed| (4.0 * 40_000.0 / (80_000.0 * speed)).ln());
    let of_mean = stats::ratio_interval(&logs, 0.95).unwrap();
    let (low, middle, high) = (found.low.unwrap(), found.for_rate.unwrap(), found.high.unwrap());
    assert!((middle / of_mean.middle - 1.0).abs() < 1e-9, "{found:?}");
    let wider = |end: f64, of_mean_end: f64| (end / middle).ln() / (of_mean_end / of_mean.middle).ln();
    for times in [wider(low, of_mean.low), wider(high, of_mean.high)] {
        assert!((times / 7f64.sqrt() - 1.0).abs() < 1e-6, "{times} times: {found:?}");
    }
    // As many seconds of processors in each block: a page read takes more of them in a slow one.
    let processors = found.processors.unwrap();
    let times = wider(processors.high.unwrap() / processors.middle * middle, of_mean.high);
    assert!((times / 7f64.sqrt() - 1.0).abs() < 1e-6, "{times} times: {found:?}");
    // Each page read moves as many bytes in all blocks.
    let bytes = found.device_bytes_per_s.unwrap();
    assert!(
        (bytes.high.unwrap() / bytes.low.unwrap() - 1.0).abs() < 1e-6,
        "{found:?}"
    );
}

/// One of the measured numbers of LUNs is left out, and asked for.
#[test]
fn some_stacks_alone_say_what_another_one_carries() {
    let scene = three();
    let most = most(&scene);
    let only = ["one", "four"].map(str::to_string);
    let found = Sizing::of(&scene.film().ledger, load(0.5 * most, None), &only).unwrap();
    let [found] = &found.stacks[..] else {
        panic!("{found:?}");
    };
    assert_eq!((&found.stacks[..], &found.luns[..]), (&only[..], &[1, 4][..]));
    let [low, high] = [found.low, found.high].map(Option::unwrap);
    assert!(low <= 2.0 && 2.0 <= high && !found.extrapolated, "{found:?}");
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

pub(crate) fn says(found: &SizedStack, words: &str) -> bool {
    found.notes.iter().any(|note| note.contains(words))
}

/// One LUN of three carries a quarter of what four carry.
#[test]
fn far_less_than_was_measured_is_refused_too() {
    let scene = three();
    let most = most(&scene);
    let little = one(&scene, load(0.1 * most, None));
    assert!(little.extrapolated && little.takes == Some(1), "{little:?}");
    assert!(says(&little, "what was measured is"), "{little:?}");
    let least = one(&scene, load(0.02 * most, None));
    assert_eq!((least.takes, least.for_rate), (None, None), "{least:?}");
    assert!(says(&least, "measure a smaller stack"), "{least:?}");
    assert_eq!((least.processors, least.device_bytes_per_s), (None, None), "{least:?}");
}

#[test]
fn far_fewer_data_than_were_measured_are_refused_too() {
    let scene = three();
    let rate = 0.75 * most(&scene);
    let some = one(&scene, load(rate, Some(3.0 * GB)));
    assert!(some.extrapolated && some.takes.is_some(), "{some:?}");
    let few = one(&scene, load(rate, Some(0.5 * GB)));
    assert_eq!((few.takes, few.for_rate), (None, None), "{few:?}");
    assert!(says(&few, "measure less data"), "{few:?}");
}

/// An engine that does not count its reads: all pages count that its operations touched, half of which are updates.
fn uncounted() -> Scene {
    counted(&[(Measure::EnginePhysicalReads, f64::NAN)])
}

/// So many pages a second, and so many of them changed.
pub(crate) fn mixed(reads_per_s: f64, updates_per_read: f64) -> Load {
    Load {
        updates_per_s: reads_per_s * updates_per_read,
        ..load(reads_per_s, None)
    }
}

#[test]
fn a_mix_far_from_all_phases_is_refused_and_a_near_one_labelled() {
    let scene = uncounted();
    let touched_per_s = 2.0 * 64_000.0 / 20.5;
    let of = |updates_per_read: f64| one(&scene, mixed(0.75 * touched_per_s, updates_per_read));
    let same = of(0.5);
    assert!(
        (same.for_rate.unwrap() - 3.0).abs() < 0.05 && !same.extrapolated,
        "{same:?}"
    );
    for mix in [0.3, 0.7] {
        let near = of(mix);
        assert!(near.extrapolated && near.takes.is_some(), "{near:?}");
    }
    for mix in [0.0, 1.0] {
        let far = of(mix);
        assert_eq!((far.takes, far.for_rate), (None, None), "{far:?}");
        assert!(says(&far, "measure a phase of this mix"), "{far:?}");
    }
}

/// A cache that has three of four pages, where half are updates: two updates for each page read.
#[test]
fn a_mix_above_one_is_refused_by_its_own_size() {
    let cached = counted(&[(Measure::EnginePhysicalReads, 32_000.0)]);
    let of = |updates_per_read: f64| one(&cached, mixed(0.75 * 32_000.0 / 20.5, updates_per_read));
    let near = of(2.3);
    assert!(near.extrapolated && near.takes.is_some(), "{near:?}");
    let far = of(2.6);
    assert_eq!((far.takes, far.for_rate), (None, None), "{far:?}");
    assert!(
        says(&far, "beyond 50 points") && says(&far, "a larger `cache`"),
        "{far:?}"
    );
}

/// 18 seconds of processors and a known number of bytes in each phase of 20.5 s.
#[test]
fn the_host_and_its_devices_are_those_of_the_nearest_rate() {
    let mut scene = three();
    scene.extra.push((Measure::CpuCores, 8.0));
    let found = one(&scene, load(0.75 * most(&scene), None));
    let (processors, bytes) = (found.processors.unwrap(), found.device_bytes_per_s.unwrap());
    assert!(
        (processors.middle / (0.75 * 18.0 / 20.5) - 1.0).abs() < 0.02,
        "{found:?}"
    );
    assert!(
        processors.low.unwrap() < processors.middle && processors.middle < processors.high.unwrap(),
        "{found:?}"
    );
    let operation = 8.0 * 8192.0 + 4.0 * 8192.0 + 4096.0;
    assert!(
        (bytes.middle / (0.75 * 10_000.0 * operation) - 1.0).abs() < 0.02,
        "{found:?}"
    );
    assert_eq!((found.host_processors, found.processors_full), (Some(8.0), false));
    // Two LUNs keep as many processors busy at half of the rate.
    let half = one(&scene, load(0.5 * most(&scene), None)).processors.unwrap();
    assert!((half.middle / (18.0 / 20.5) - 1.0).abs() < 0.02, "{half:?}");
}

#[test]
fn a_host_that_is_full_first_leaves_no_number_to_take() {
    let mut scene = three();
    scene.extra.push((Measure::CpuCores, 1.0));
    let film = scene.film();
    let sizing = Sizing::of(&film.ledger, load(1.5 * most(&scene), None), &[]).unwrap();
    let found = &sizing.stacks[0];
    assert!(
        found.processors_full && found.takes.is_none() && found.for_rate.is_some(),
        "{found:?}"
    );
    let shown = sizing.markdown();
    assert!(shown.contains("the host's processors would be full first"), "{shown}");
    // A run that may use some of them has no room on the others.
    scene.extra = vec![
        (Measure::CpuCores, 8.0),
        (Measure::CpuAllowed, 1.0),
        (Measure::CpuAllowedBusyNs, 18e9),
    ];
    assert!(one(&scene, load(1.5 * most(&scene), None)).processors_full);
    scene.extra = vec![(Measure::CpuCores, 8.0)];
    assert!(one(&scene, load(1.5 * most(&scene), None)).takes.is_some());
}

/// What plays a device on the host keeps processors busy that the device would not.
#[test]
fn processors_beside_models_are_no_limit() {
    let mut scene = three();
    let asked = 1.5 * most(&scene);
    scene
        .extra
        .extend([(Measure::CpuCores, 1.0), (Measure::ModelReads, 1_000.0)]);
    let found = one(&scene, load(asked, None));
    assert!(found.takes.is_some() && found.processors.is_some(), "{found:?}");
    assert!(
        found.host_processors.is_none() && says(&found, "plays the models"),
        "{found:?}"
    );
    let (key, value) = FactName::SlowMotion.is(10_u32);
    let scope = Scope::Study;
    scene.facts.push(Fact { scope, key, value });
    let slow = one(&scene, load(10.0 * asked, None));
    assert!(slow.takes.is_some() && slow.processors.is_none(), "{slow:?}");
    assert!(
        slow.device_bytes_per_s.is_some() && says(&slow, "slow motion"),
        "{slow:?}"
    );
}

#[test]
fn the_luns_to_take_have_their_price() {
    let mut scene = three();
    let asked = 0.75 * most(&scene);
    assert_eq!(one(&scene, load(asked, None)).price, None, "a study without prices");
    let price = |name: FactName, price: f64| Fact {
        scope: Scope::Study,
        key: name.into(),
        value: FactValue::Amount(price),
    };
    scene.facts.extend([
        price(FactName::PriceOfHost, 12_000.0),
        price(FactName::PriceOfLun, 100.0),
        price(FactName::PriceOfGb, 0.5),
    ]);
    let (key, value) = FactName::Currency.is("EUR");
    let scope = Scope::Study;
    scene.facts.push(Fact { scope, key, value });
    let found = one(&scene, load(asked, None));
    // Each LUN has 10 GB.
    let wanted = 12_000.0 + f64::from(found.takes.unwrap()) * (100.0 + 5.0);
    assert!((found.price.unwrap() - wanted).abs() < 1e-6, "{found:?}");
    let shown = Sizing::of(&scene.film().ledger, load(asked, None), &[])
        .unwrap()
        .markdown();
    assert!(shown.contains("EUR"), "{shown}");
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
    let sizing = Sizing::of(&film.ledger, load(1.0, None), &[]).unwrap();
    let luns: Vec<_> = sizing.stacks.iter().map(|one| one.luns.clone()).collect();
    assert_eq!(luns, [vec![1, 2], vec![4]], "{sizing:?}");
}

/// A small stack that carried more by chance makes the line too steep: beyond the measured LUNs its scatter counts.
#[test]
fn beyond_the_measured_luns_the_interval_grows_with_the_scatter_of_the_small_stack() {
    let most = most(&three()) / 2.0;
    let of = |in_block: fn(u32, &str) -> f64| {
        let mut scene = three();
        scene.actors.truncate(2);
        scene.in_block = in_block;
        one(&scene, load(3.0 * most, None))
    };
    let little = of(|block, stack| match (stack, block % 2) {
        ("one", 0) => 0.99,
        ("one", _) => 1.01,
        _ => 1.0,
    });
    let more = of(|block, stack| match (stack, block % 2) {
        ("one", 0) => 0.97,
        ("one", _) => 1.03,
        _ => 1.0,
    });
    for found in [&little, &more] {
        let (low, middle, high) = (found.low.unwrap(), found.for_rate.unwrap(), found.high.unwrap());
        assert!(low <= middle && middle < high && middle > 5.9, "{found:?}");
    }
    assert!(more.high > little.high, "{little:?} {more:?}");
    let most_of_all = of(|block, stack| match (stack, block % 2) {
        ("one", 0) => 0.6,
        ("one", _) => 1.4,
        _ => 1.0,
    });
    assert_eq!(most_of_all.high, None, "one LUN may carry what two do");
    assert!(
        most_of_all
            .notes
            .iter()
            .any(|note| note.contains("no number by its worse end")),
        "{most_of_all:?}"
    );
}

#[test]
fn the_words_say_what_a_read_is() {
    let film = three().film();
    let shown = Sizing::of(&film.ledger, load(40_000.0, None), &[]).unwrap().markdown();
    assert!(shown.contains("40,000 page reads a second"), "{shown}");
    for figure in ["physical read total IO requests", "page cache", "one more build"] {
        assert!(shown.contains(figure), "{figure}: {shown}");
    }
}

#[test]
fn without_the_bytes_in_use_there_is_no_number_for_data() {
    let mut scene = three();
    let most = most(&scene);
    scene.extra.retain(|(measure, _)| *measure != Measure::LunUsedBytes);
    let unknown = ["one", "two", "four"].map(|stack| (stack.to_string(), Measure::LunUsedBytes, f64::NAN));
    scene.extra_of.extend(unknown);
    let found = one(&scene, load(0.1 * most, Some(15.0 * GB)));
    assert_eq!((found.for_data, found.takes), (None, None), "{found:?}");
    let much = one(&scene, load(0.1 * most, Some(200.0 * GB)));
    assert!(
        much.notes
            .iter()
            .any(|note| note.contains("Nothing is said beyond 10 times")),
        "{much:?}"
    );
}

#[test]
fn luns_in_reserve_carried_nothing() {
    let mut scene = three();
    let plain = one(&scene, load(most(&three()), None)).for_rate.unwrap();
    scene.actors.drain(..2);
    let whole = one(&scene, load(most(&three()), None));
    assert!(
        (whole.for_rate.unwrap() - 4.0).abs() < 0.2 && (plain - 4.0).abs() < 0.2,
        "{whole:?}"
    );
    scene.settings.push(Setting {
        key: "stack.four.reserve".into(),
        value: "2".into(),
        written: true,
    });
    let found = one(&scene, load(most(&three()), None));
    assert_eq!(found.luns, [2]);
    assert!((found.for_rate.unwrap() - 2.0).abs() < 0.1, "{found:?}");
    assert!(
        found.notes.iter().any(|note| note.contains("2 LUNs in reserve")),
        "{found:?}"
    );
}
