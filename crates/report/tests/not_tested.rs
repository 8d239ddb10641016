//! What stands beside verdicts without a test: the stamp of a p99, and the difference that such studies find.

use crate::fixture::{Scene, actor, scene};
use ledger::{Measure, PhaseKind};
use report::{GoOn, StopReason};

#[test]
fn a_p99_that_is_not_tested_names_its_stamp() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.3)]);
    scene.phases = vec![(PhaseKind::Random, "closed".into()), (PhaseKind::Open, "paced".into())];
    let said = |scene: &Scene, phase: &str| -> Vec<String> {
        let all = scene.film().analysis().not_tested.into_iter();
        let p99 = all.filter(|one| one.phase == phase && one.what.starts_with("p99"));
        p99.map(|one| one.what).collect()
    };
    let service = ["p99 of service of select", "p99 of service of update"];
    let response = ["p99 of response of select", "p99 of response of update"];
    assert_eq!(said(&scene, "closed"), service);
    assert_eq!(said(&scene, "paced"), [service, response].concat());
    // Of which class it was, nobody knows.
    scene.extra = vec![(Measure::EngineUnsent, 1.0), (Measure::EngineDue, 1e6)];
    assert_eq!(said(&scene, "paced"), service);
}

#[test]
fn what_nine_of_ten_studies_find_is_more_than_half_an_interval() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.97)]);
    scene.noise = 0.1;
    let found = |scene: &Scene| {
        let analysis = scene.film().analysis();
        let found = analysis.detectable();
        assert_eq!(found.len(), analysis.comparisons.len());
        (found, analysis)
    };
    // The clock ended it after the first of four looks.
    let (early, analysis) = found(&scene);
    for (found, one) in early.iter().zip(&analysis.comparisons) {
        let half = (one.high.unwrap() / one.low.unwrap()).sqrt();
        assert!(found.unwrap() > half, "{found:?}, {one:?}");
    }
    // With as many blocks as were planned, the same scatter finds less.
    scene.planned = 4;
    let (whole, analysis) = found(&scene);
    assert_eq!(analysis.go_on, GoOn::Stop(StopReason::BlocksUsed));
    assert!(whole < early, "{whole:?}, {early:?}");
    (scene.blocks, scene.planned) = (3, 12);
    assert_eq!(found(&scene).0, [None, None]);
    // All decided at the first look: such a study would have gone on to its last.
    (scene.blocks, scene.noise) = (4, 0.002);
    let (decided, analysis) = found(&scene);
    assert_eq!(analysis.go_on, GoOn::Stop(StopReason::AllDecided));
    assert_eq!(decided, [Some(1.05), Some(1.05)]);
}
