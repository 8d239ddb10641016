//! Several instances of the page engine in the report: each has a row, and the sheet says what they are not.
//!
//! Prevents: a sum that hides an instance which got less than its share, and one that is read as a cluster's.

use crate::fixture::{actor, scene};
use ledger::Measure;
use report::{Status, Style};

#[test]
fn each_instance_has_a_row_and_one_alone_has_none() {
    let mut two = actor("two", 1.0);
    two.instances = 2;
    let filmed = scene(vec![actor("one", 1.0), two]).film();
    let analysis = filmed.analysis();
    for phase in &analysis.phases {
        let of = |stack: &str| &phase.cells.iter().find(|cell| cell.stack == stack).unwrap().instances;
        assert!(of("one").is_empty());
        let both = of("two");
        assert_eq!(both.iter().map(|one| one.instance).collect::<Vec<_>>(), [1, 2]);
        let rates: Vec<f64> = both.iter().map(|one| one.operations_per_s.unwrap().median).collect();
        assert_eq!(rates, [5_000.0, 2_500.0]);
        let shares: f64 = both.iter().map(|one| one.share.unwrap().median).sum();
        assert!((shares - 1.0).abs() < 1e-12, "{shares}");
        assert_eq!(both[0].cache_hit_share.unwrap().median, 0.1);
        assert_eq!(both[1].cpu_us_per_operation.unwrap().median, 120.0);
    }
    let text = report::terminal(&analysis, &Style::default());
    assert_eq!(text.matches("each instance").count(), analysis.phases.len(), "{text}");
    assert!(text.contains("no cache fusion"), "{text}");
    let alone = scene(vec![actor("one", 1.0)]).film().analysis();
    let text = report::terminal(&alone, &Style::default());
    assert!(
        !text.contains("each instance") && !text.contains("cache fusion"),
        "{text}"
    );
}

#[test]
fn instances_that_did_not_work_at_the_same_time_are_suspect() {
    let mut two = actor("two", 1.0);
    two.instances = 2;
    let mut scene = scene(vec![actor("one", 1.0), two]);
    scene.extra_of = vec![("two".into(), Measure::InstancesOverlap, 0.5)];
    let checks = scene.film().analysis().checks;
    let of = |subject: &str| {
        checks
            .iter()
            .filter(|check| check.subject == subject)
            .collect::<Vec<_>>()
    };
    let found = of("instances at the same time");
    assert!(!found.is_empty());
    for check in found {
        assert_eq!((check.status, check.stack.as_deref()), (Status::Suspect, Some("two")));
        assert!(check.figure.contains("50 %"), "{}", check.figure);
    }
    assert!(of("instances").iter().all(|check| check.status == Status::Note));
}
