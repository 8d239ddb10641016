//! What of a result file sizes nothing: reads of a cache, scans, next to no reads, and runs that do not count.
//!
//! Prevents: a rate that is not one of pages read from storage, and a phase that is left out in silence.

use crate::fixture::Scene;
use crate::sizing::{READ, counted, load, mixed, most, one, says, three};
use ledger::{Measure, Setting};

/// As databases count their reads: those of updates too, and nothing that the cache had.
#[test]
fn pages_that_came_from_storage_are_the_reads() {
    let luns = |scene: &Scene| one(scene, load(40_000.0, None)).for_rate.unwrap();
    let plain = luns(&three());
    assert!((plain - 2.0).abs() < 0.05, "{plain}");
    let cached = luns(&counted(&[(Measure::EnginePhysicalReads, READ / 2.0)]));
    assert!((cached / plain - 2.0).abs() < 0.05, "{cached} and {plain}");
    // A request of a scan is no page.
    let scanning = luns(&counted(&[
        (Measure::EnginePhysicalReads, READ + 500.0),
        (Measure::EngineMultiblockReads, 500.0),
    ]));
    assert!((scanning / plain - 1.0).abs() < 0.02, "{scanning} and {plain}");
}

/// A study may ask what memory does: its phases are ranked, and no LUNs are counted by them.
#[test]
fn what_a_cache_served_is_no_read_from_storage() {
    let mut scene = three();
    let asked = load(0.75 * most(&scene), None);
    scene.settings.push(Setting {
        key: "memory.rank_cached".into(),
        value: "true".into(),
        written: true,
    });
    let whole = one(&scene, asked);
    assert!(
        whole.takes.is_some() && !says(&whole, "does not count"),
        "devices served all of it: {whole:?}"
    );
    scene.actors[2].device = Some(0.5);
    let unranked = scene.film().analysis().unranked;
    assert!(unranked.is_empty(), "the study ranks it: {unranked:?}");
    let partly = one(&scene, asked);
    assert!(
        (partly.for_rate.unwrap() - 3.0).abs() < 0.1,
        "by the other two: {partly:?}"
    );
    assert!(
        says(
            &partly,
            "four: 50 % update does not count: its reads were served partly by a cache"
        ),
        "{partly:?}"
    );
    for actor in &mut scene.actors {
        actor.device = Some(0.02);
    }
    let nothing = one(&scene, asked);
    assert_eq!((nothing.takes, nothing.for_rate), (None, None), "{nothing:?}");
    assert!(
        says(&nothing, "no ranked phase of random work counts") && says(&nothing, "were served by a cache"),
        "{nothing:?}"
    );
}

/// Multiblock reads take the devices' time, and no page read of the load would pay for it.
#[test]
fn a_phase_with_scans_sizes_nothing() {
    let of = |requests: f64| {
        let scene = counted(&[
            (Measure::EnginePhysicalReads, READ + requests),
            (Measure::EngineMultiblockReads, requests),
        ]);
        one(&scene, load(40_000.0, None))
    };
    let few = of(0.009 * READ);
    assert!(few.takes.is_some() && !says(&few, "does not count"), "{few:?}");
    let many = of(0.02 * READ);
    assert_eq!((many.takes, many.for_rate), (None, None), "{many:?}");
    assert!(
        says(&many, "2.0 % of its read requests are multiblock reads of scans"),
        "{many:?}"
    );
}

/// Nine requests of a thousand, of 128 pages each, have more than half of the bytes.
#[test]
fn scans_are_weighed_by_their_bytes_too() {
    let requests = 0.009 * READ;
    let scanned = requests * 128.0 * 8192.0;
    let all = READ * 8192.0 + scanned;
    let scene = counted(&[
        (Measure::EnginePhysicalReads, READ + requests),
        (Measure::EngineMultiblockReads, requests),
        (Measure::EngineMultiblockBytes, scanned),
        (Measure::EngineReadBytes, all),
        (Measure::NearReadBytes, all),
        (Measure::LowReadBytes, all),
    ]);
    let found = one(&scene, load(40_000.0, None));
    assert_eq!((found.takes, found.for_rate), (None, None), "{found:?}");
    let why = "54 % of the bytes that it reads are those of multiblock reads of scans";
    assert!(says(&found, why), "{found:?}");
}

/// The cache has the pages that are updated: writes keep the phase ranked, and its few reads say nothing of a mix.
#[test]
fn next_to_no_reads_size_nothing() {
    // Less than a hundredth of the bytes.
    let reads = 4_000.0;
    let scene = counted(&[
        (Measure::EnginePhysicalReads, reads),
        (Measure::EngineReadBytes, reads * 8192.0),
        (Measure::LowReadBytes, reads * 8192.0),
    ]);
    let unranked = scene.film().analysis().unranked;
    let is_of_it = |phase: Option<&str>| phase.is_none_or(|phase| phase == "50 % update");
    assert!(
        !unranked.iter().any(|one| is_of_it(one.phase.as_deref())),
        "{unranked:?}"
    );
    let found = one(&scene, mixed(100.0, 16.0));
    assert_eq!((found.takes, found.for_rate), (None, None), "{found:?}");
    let why = "four: 50 % update does not count: its reads are next to nothing";
    assert!(says(&found, why), "{found:?}");
}

#[test]
fn blocks_that_do_not_count_are_told() {
    let mut scene = three();
    scene.invalid_at = |block, stack, phase| (block, stack) == (1, "four") && phase != "scan";
    let most = one(&scene, load(40_000.0, None));
    assert!(most.takes.is_some(), "{most:?}");
    for stack in ["one", "two", "four"] {
        let why = format!("{stack}: 1 of 4 blocks of 50 % update does not count: 50 % update on four is invalid");
        assert!(says(&most, &why), "{most:?}");
    }
    // Without another stack no block is dropped.
    scene.actors.drain(..2);
    scene.invalid_at = |block, _, phase| block < 3 && phase != "scan";
    let least = one(&scene, load(40_000.0, None));
    assert!(
        least.for_rate.is_some() && says(&least, "one block: no interval"),
        "{least:?}"
    );
    let why = "four: 3 of 4 blocks of 50 % update do not count: it is invalid: the model cannot keep up";
    assert!(says(&least, why), "{least:?}");
}

/// Whatever shuts out the last run of a phase, a line says it.
#[test]
fn a_phase_without_a_run_that_counts_has_its_reason() {
    let mut invalid = three();
    invalid.invalid_at = |_, _, phase| phase != "scan";
    let mut alone = three();
    alone.actors.drain(..2);
    alone.invalid_at = invalid.invalid_at;
    let unread = counted(&[(Measure::EnginePhysicalReads, 0.0)]);
    let mut unranked = three();
    for actor in &mut unranked.actors {
        actor.device = Some(0.5);
    }
    for (scene, why) in [
        (invalid, "is invalid: the model cannot keep up"),
        (alone, "it is invalid: the model cannot keep up"),
        (unread, "it read no page from storage"),
        (unranked, "its reads were served partly by a cache"),
    ] {
        let found = one(&scene, load(40_000.0, None));
        assert_eq!((found.takes, found.for_rate), (None, None), "{found:?}");
        let said = |note: &String| note.starts_with("four: 50 % update does not count: ") && note.contains(why);
        assert!(found.notes.iter().any(said), "{why}: {found:?}");
    }
}
