//! What the sheet says of what stacks stand on: facts of devices, mounts and memory, each with what must not be said of an honest stack.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod fixture;

use fixture::{Scene, actor, scene};
use ledger::Fact;
use report::{Check, Status};

fn fact(scope: &str, key: &str, value: &str) -> Fact {
    Fact {
        scope: scope.into(),
        key: key.into(),
        value: value.into(),
    }
}

fn two(facts: Vec<Fact>) -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.1)]);
    scene.facts = facts;
    scene
}

fn line(scene: &Scene, subject: &str) -> Check {
    let checks = scene.film().analysis().checks;
    let found = checks.into_iter().find(|check| check.subject == subject);
    found.unwrap_or_else(|| panic!("no check of {subject}"))
}

#[test]
fn a_misaligned_partition_between_nearest_and_lowest_is_seen() {
    let on = |start: &str| {
        two(vec![
            fact("stack:ext4", "nearest devices", "loop3"),
            fact("stack:ext4", "devices", "loop3, sda1, sda"),
            fact("stack:ext4", "lowest visible devices", "sda"),
            fact("device:loop3", "device", "loop3"),
            fact("device:sda1", "device", "sda1"),
            fact("device:sda1", "partition start bytes", start),
            fact("device:sda", "device", "sda"),
        ])
    };
    let askew = line(&on("32256"), "alignment");
    assert_eq!(askew.status, Status::Suspect);
    assert!(askew.figure.contains("sda1 begins at byte 32256"), "{}", askew.figure);
    assert_eq!(line(&on("1048576"), "alignment").status, Status::Valid);
}
