//! Tests of a fixed protocol beside this procedure: which pairs of result files are refused, and which blocks are
//! taken.
//!
//! Prevents: three runs that are not the first three, and a verdict from two.

use super::{Agreement, Protocols, ProtocolsError, protocols};
use crate::result_file::ResultFile;
use fixture::{Filmed, Scene, actor, scene};
use ledger::{Measure, PhaseKind};

#[path = "../../../../crates/report/tests/fixture/mod.rs"]
mod fixture;

fn of(blocks: u32) -> Scene {
    Scene {
        blocks,
        phases: vec![(PhaseKind::Random, "50 % update".into())],
        ..scene(vec![actor("ext4", 1.0), actor("btrfs", 0.7)])
    }
}

/// Ten times as long, with the same rates.
fn long(blocks: u32) -> Filmed {
    let mut scene = of(blocks);
    scene.longer = 10;
    scene.film()
}

fn both(fixed: &Filmed, here: &Filmed) -> Result<Protocols, ProtocolsError> {
    let open = |filmed: &Filmed| ResultFile::open(filmed.ledger.path()).unwrap();
    protocols(&open(fixed), &open(here))
}

fn refused(fixed: &Filmed, here: &Filmed) -> String {
    both(fixed, here).unwrap_err().to_string()
}

#[test]
fn the_first_three_blocks_that_count_are_the_protocol() {
    let found = both(&long(4), &of(4).film()).unwrap();
    let [one] = &found.comparisons[..] else {
        panic!("{found:?}")
    };
    assert_eq!((one.stack.as_str(), one.base.as_str()), ("btrfs", "ext4"));
    assert_eq!(one.fixed.figures.each_ref().map(Vec::len), [3, 3]);
    assert!((one.fixed.ratio - 0.7).abs() < 0.01, "{one:?}");
    assert_eq!(one.agreement, Agreement::Same);
    // Three blocks of two runs of 205 s, and four of 20.5 s.
    assert!((one.fixed.took.runs_seconds - 1230.0).abs() < 1e-9, "{one:?}");
    assert!((one.here.took.runs_seconds - 164.0).abs() < 1e-9, "{one:?}");
    assert_eq!((found.fixed.blocks, found.here.blocks), (3, 4));
    // The second block does not count: the fourth takes its place, and its time was spent all the same.
    let mut dropped = of(4);
    dropped.longer = 10;
    dropped.invalid = Some((1, "btrfs".into()));
    dropped.phases.push((PhaseKind::Scan, "scan".into()));
    let mut here = of(4);
    here.phases.push((PhaseKind::Scan, "scan".into()));
    let found = both(&dropped.film(), &here.film()).unwrap();
    assert_eq!(found.fixed.blocks, 4);
    for one in &found.comparisons {
        assert_eq!(one.fixed.figures.each_ref().map(Vec::len), [3, 3]);
        assert!((one.fixed.took.runs_seconds - 1640.0).abs() < 1e-9, "{one:?}");
    }
}

#[test]
fn what_the_fixed_protocol_alone_ranks_is_missing() {
    let of = |blocks: u32, longer: u64, device: Option<f64>| {
        let mut scene = of(blocks);
        scene.longer = longer;
        scene.actors.push(actor("xfs", 0.9));
        scene.actors[2].device = device.or(scene.actors[2].device);
        scene.film()
    };
    let found = both(&of(4, 10, None), &of(4, 1, Some(0.0))).unwrap();
    let one = [&found.comparisons[0].stack, &found.comparisons[0].phase];
    assert_eq!((found.comparisons.len(), one[0].as_str()), (1, "btrfs"));
    assert_eq!(found.missing, [["xfs", "ext4", "50 % update"].map(String::from)]);
    let other = both(&of(4, 10, Some(0.0)), &of(4, 1, None)).unwrap();
    assert!(other.missing.is_empty(), "the fixed protocol says nothing of it");
}

#[test]
fn too_little_and_nothing_to_compare_are_said() {
    let words = refused(&long(2), &of(4).film());
    assert!(words.contains("2 blocks count, and 3 are needed"), "{words}");
    let words = refused(&long(3), &of(3).film());
    assert!(words.contains("3 blocks count, and 4 are needed"), "{words}");
    let words = refused(&of(4).film(), &long(4));
    assert!(words.contains("long runs first"), "{words}");
    let mut cached = of(4);
    cached.actors[1].device = Some(0.0);
    let words = refused(&long(4), &cached.film());
    assert!(
        words.contains("nothing that both rank: btrfs") && words.contains("cache"),
        "{words}"
    );
    let mut more = of(4);
    more.actors.push(actor("xfs", 1.0));
    let words = refused(&long(4), &more.film());
    assert!(words.contains("the list of stacks is ext4, btrfs"), "{words}");
    // What a device does beside the study makes no other study of it.
    let mut busy = of(4);
    busy.extra.push((Measure::CpuIdleShare, 0.3));
    assert!(both(&long(4), &busy.film()).is_ok());
}
