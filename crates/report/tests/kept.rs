//! What the sheet says of power cuts and kills: whether anybody looked that what is acknowledged is kept, and what was
//! lost.

use crate::fixture::{Scene, actor, scene};
use ledger::{Measure, PhaseKind};
use report::{Check, Status};

fn two() -> Scene {
    scene(vec![actor("ext4", 1.0), actor("xfs", 1.1)])
}

fn line(scene: &Scene, subject: &str) -> Check {
    let checks = scene.film().analysis().checks;
    let found = checks.into_iter().find(|check| check.subject == subject);
    found.unwrap_or_else(|| panic!("no check of {subject}"))
}

/// The line of durability of two stacks, ext4 and xfs, that ran phases of these kinds and came to these measures.
fn durability(kinds: &[PhaseKind], all: &[(Measure, f64)], of: &[(&str, Measure, f64)]) -> (Status, String) {
    let mut scene = two();
    scene.phases = kinds.iter().map(|kind| (*kind, kind.as_str().to_string())).collect();
    scene.extra = all.to_vec();
    scene.extra_of = of
        .iter()
        .map(|(stack, m, value)| ((*stack).to_string(), *m, *value))
        .collect();
    let checks = scene.film().analysis().checks;
    let mut mine = checks.into_iter().filter(|check| check.subject == "durability");
    let one = mine.next().expect("a line");
    assert!(mine.next().is_none(), "said once");
    (one.status, one.figure)
}

#[test]
fn that_nobody_cut_the_power_is_said_once() {
    let (status, figure) = durability(&[PhaseKind::Random, PhaseKind::Scan], &[], &[]);
    assert_eq!((status, figure.as_str()), (Status::Note, "not tested by this study"));
}

#[test]
fn durability_is_valid_where_every_stack_had_something_to_lose() {
    let kinds = [PhaseKind::Random, PhaseKind::PowerCut];
    let (made, acknowledged) = ((Measure::CutsMade, 2.0), (Measure::CutsAcknowledged, 90.0));
    let hit = (Measure::CutsUnflushed, 1.0);
    let (status, figure) = durability(&kinds, &[made, acknowledged, hit], &[]);
    assert_eq!((status, figure.as_str()), (Status::Valid, "looked at in power_cut"));
    // It failed before its first cut.
    let (status, figure) = durability(&kinds, &[], &[]);
    assert_eq!(status, Status::Note);
    assert!(figure.contains("not on ext4, xfs"), "{figure}");
    // The caches of its devices were protected.
    let (status, figure) = durability(&kinds, &[made, acknowledged], &[("xfs", Measure::CutsUnflushed, 1.0)]);
    assert_eq!(status, Status::Note);
    assert!(figure.contains("nothing was at risk on ext4: "), "{figure}");
    let (status, figure) = durability(&kinds, &[made, hit], &[]);
    assert_eq!(status, Status::Note);
    assert!(figure.contains("nothing was acknowledged on ext4, xfs"), "{figure}");
    let one = [
        ("ext4", made.0, made.1),
        ("ext4", acknowledged.0, acknowledged.1),
        ("ext4", hit.0, hit.1),
    ];
    let (status, figure) = durability(&kinds, &[], &one);
    assert_eq!(status, Status::Note);
    assert!(figure.ends_with("; not on xfs"), "{figure}");
    let lost = [("xfs", Measure::CutsLosing, 1.0)];
    let (status, figure) = durability(&kinds, &[made, acknowledged, hit], &lost);
    assert_eq!(status, Status::Note);
    assert!(figure.ends_with("; lost on xfs"), "{figure}");
}

#[test]
fn a_kill_never_makes_durability_valid() {
    let measures = [
        (Measure::CutsMade, 2.0),
        (Measure::CutsAcknowledged, 90.0),
        (Measure::CutsForcedDown, 2.0),
        (Measure::CutsLosing, 0.0),
    ];
    let (status, figure) = durability(&[PhaseKind::Kill], &measures, &[]);
    assert_eq!(status, Status::Note);
    assert!(
        figure.contains("only killed in kill: ext4, xfs; weaker than a power cut"),
        "{figure}"
    );
    let mut scene = two();
    scene.phases = vec![(PhaseKind::Kill, "kills".into())];
    scene.extra = measures.to_vec();
    let kept = line(&scene, "kills");
    assert_eq!(kept.status, Status::Note);
    assert!(
        kept.figure
            .starts_with("killed 8 times (file system forced down): kept all 360 acknowledged"),
        "{}",
        kept.figure
    );
    assert!(
        kept.figure.contains("weaker than a power cut: what devices hold"),
        "{}",
        kept.figure
    );
    scene.extra_of = vec![
        ("ext4".into(), Measure::CutsForcedDown, 0.0),
        ("ext4".into(), Measure::CutsLosing, 1.0),
    ];
    let lost = line(&scene, "data loss");
    assert_eq!(lost.status, Status::Invalid);
    assert!(lost.figure.contains("in 4 of 8 kills"), "{}", lost.figure);
}

/// The answer of a study of durability is what was kept, and not how long that took.
#[test]
fn the_answer_says_who_kept_what_was_acknowledged() {
    let mut scene = two();
    scene.unranked = true;
    scene.phases = vec![(PhaseKind::Kill, "kills".into())];
    let (made, forced) = ((Measure::CutsMade, 2.0), (Measure::CutsForcedDown, 2.0));
    scene.extra = vec![made, (Measure::CutsAcknowledged, 90.0), forced];
    let brief = |scene: &Scene| {
        let analysis = scene.film().analysis();
        let style = report::Style {
            width: 80,
            ..report::Style::default()
        };
        let told = report::brief(&analysis, &style, None);
        (analysis.sentence, told)
    };
    let (said, told) = brief(&scene);
    let all = "In 16 kills, ext4 and xfs kept all that was acknowledged (a kill is weaker than a power cut).";
    assert_eq!(said, all);
    assert!(told.contains("acknowledged"), "{told}");
    assert!(
        told.lines()
            .any(|line| line.contains("xfs in kills") && line.contains("360")),
        "{told}"
    );
    assert!(!told.contains("Medians over blocks"), "{told}");
    // What is weaker still, and what was never looked at, is not said of both.
    scene.extra_of = vec![
        ("ext4".into(), Measure::CutsForcedDown, 0.0),
        ("xfs".into(), Measure::CutsMade, 0.0),
    ];
    let (said, _) = brief(&scene);
    assert!(said.starts_with("In 8 kills, ext4 kept all"), "{said}");
    assert!(said.contains("(the engine alone was killed"), "{said}");
    assert!(said.ends_with("No power cut or kill was made on xfs."), "{said}");
    // One of them loses.
    scene.phases.push((PhaseKind::PowerCut, "cuts".into()));
    scene.extra.push((Measure::CutsUnflushed, 1.0));
    scene.extra_of = vec![
        ("xfs".into(), Measure::CutsLosing, 1.0),
        ("xfs".into(), Measure::CutsLost, 3.0),
    ];
    let (said, _) = brief(&scene);
    assert!(
        said.starts_with(
            "In 8 of 16 power cuts and kills, xfs lost something acknowledged. In 16 power cuts and kills, ext4 kept \
             all that was acknowledged. LOST DATA, whatever the speed: xfs"
        ),
        "{said}"
    );
    // A write was at risk on one of them only.
    scene.phases.remove(0);
    scene.extra_of = vec![("xfs".into(), Measure::CutsUnflushed, 0.0)];
    let (said, _) = brief(&scene);
    assert!(
        said.starts_with("In 8 power cuts, ext4 kept all that was acknowledged. In 8 power cuts, xfs"),
        "{said}"
    );
    // Nothing was at risk, or nothing acknowledged.
    scene.extra_of = vec![("xfs".into(), Measure::CutsAcknowledged, 0.0)];
    scene.extra.pop();
    let (said, _) = brief(&scene);
    assert!(
        said.contains("ext4 kept all that was acknowledged (nothing was at risk"),
        "{said}"
    );
    assert!(said.contains("Before 8 power cuts, xfs acknowledged nothing"), "{said}");
}

/// What a kill lost is lost, whatever power cuts of the same stacks kept or could not show.
#[test]
fn a_loss_in_a_kill_is_said_beside_power_cuts() {
    let kinds = [PhaseKind::PowerCut, PhaseKind::Kill];
    let (made, acknowledged) = ((Measure::CutsMade, 2.0), (Measure::CutsAcknowledged, 90.0));
    let hit = (Measure::CutsUnflushed, 1.0);
    let figure_of = |extra: &[(Measure, f64)], losing: PhaseKind| {
        let mut scene = two();
        scene.phases = kinds.iter().map(|kind| (*kind, kind.as_str().to_string())).collect();
        scene.extra = extra.to_vec();
        let mut filmed = scene.film();
        // One run of one stack more, that lost something before it failed.
        let trial = ledger::NewTrial {
            block: 4,
            position: 0,
            stack: "xfs".into(),
            seed: 4,
            host: "h1".into(),
            instance: "1".into(),
            lun_set: "data".into(),
            began_unix_ns: 0,
        };
        let id = filmed.ledger.begin_trial(&trial).unwrap();
        let mut record = ledger::PhaseRecord::new(ledger::PhaseRun {
            trial: id,
            ordinal: u32::from(losing == PhaseKind::Kill),
            name: losing.as_str().into(),
            kind: losing,
            ranked: false,
            began_unix_ns: 0,
            elapsed_ns: 1,
            drain_ns: 0,
            status: ledger::PhaseStatus::Failed("a server that took too long".into()),
        });
        record.measures = vec![made, acknowledged, (Measure::CutsLosing, 1.0)];
        filmed.ledger.record_phase(&record).unwrap();
        let why = ledger::TrialStatus::Failed("a server that took too long".into());
        filmed.ledger.end_trial(id, 1, &why).unwrap();
        let checks = filmed.analysis().checks;
        let loss = checks
            .iter()
            .find(|check| check.subject == "data loss" && check.status == Status::Invalid);
        let loss = loss.unwrap_or_else(|| panic!("{losing:?} is not told: {checks:?}"));
        assert_eq!(
            (loss.stack.as_deref(), loss.phase.as_deref()),
            (Some("xfs"), Some(losing.as_str())),
            "a failed run counts"
        );
        let durability = checks.into_iter().find(|check| check.subject == "durability").unwrap();
        assert_eq!(durability.status, Status::Note, "{durability:?}");
        durability.figure
    };
    for losing in kinds {
        let at_risk = figure_of(&[made, acknowledged, hit], losing);
        assert!(
            at_risk.contains("lost on xfs") && !at_risk.contains("on ext4"),
            "{at_risk}"
        );
        let nothing = figure_of(&[made, acknowledged], losing);
        assert!(
            nothing.contains("lost on xfs") && nothing.contains("at risk on ext4: "),
            "{nothing}"
        );
        let silent = figure_of(&[made], losing);
        assert!(
            silent.contains("lost on xfs") && silent.contains("acknowledged on ext4"),
            "{silent}"
        );
    }
}

/// One run acknowledged something, another found writes unflushed: neither shows anything.
#[test]
fn what_was_at_risk_is_judged_by_run() {
    let mut scene = two();
    scene.phases = vec![
        (PhaseKind::PowerCut, "cut".into()),
        (PhaseKind::PowerCut, "again".into()),
    ];
    scene.extra = vec![(Measure::CutsMade, 1.0), (Measure::CutsUnflushed, 1.0)];
    let mut filmed = scene.film();
    let mut more = |block: u32, stack: &str| {
        let trial = ledger::NewTrial {
            block,
            position: 0,
            stack: stack.into(),
            seed: u64::from(block),
            host: "h1".into(),
            instance: "1".into(),
            lun_set: "data".into(),
            began_unix_ns: 0,
        };
        let id = filmed.ledger.begin_trial(&trial).unwrap();
        let mut record = ledger::PhaseRecord::new(ledger::PhaseRun {
            trial: id,
            ordinal: 0,
            name: "cut".into(),
            kind: PhaseKind::PowerCut,
            ranked: false,
            began_unix_ns: 0,
            elapsed_ns: 1,
            drain_ns: 0,
            status: ledger::PhaseStatus::Valid,
        });
        record.measures = vec![(Measure::CutsMade, 1.0), (Measure::CutsAcknowledged, 9.0)];
        filmed.ledger.record_phase(&record).unwrap();
        filmed.ledger.end_trial(id, 1, &ledger::TrialStatus::Done).unwrap();
    };
    more(4, "ext4");
    more(4, "xfs");
    let checks = filmed.analysis().checks;
    let one = checks.iter().find(|check| check.subject == "durability").unwrap();
    assert_eq!(one.status, Status::Note);
    assert!(
        one.figure.contains("nothing was at risk on ext4, xfs"),
        "{}",
        one.figure
    );
}

#[test]
fn a_kill_of_the_engine_alone_is_told_apart() {
    let measures = |forced, pools| {
        [
            (Measure::CutsMade, 2.0),
            (Measure::CutsAcknowledged, 90.0),
            (Measure::CutsForcedDown, forced),
            (Measure::CutsPoolEnded, pools),
        ]
    };
    let of_xfs = [("xfs", Measure::CutsForcedDown, 0.0)];
    let (status, figure) = durability(&[PhaseKind::Kill], &measures(2.0, 0.0), &of_xfs);
    assert_eq!(status, Status::Note);
    assert!(
        figure.contains("only the engine killed in kill: xfs; weaker still: what the page cache"),
        "{figure}"
    );
    assert!(
        figure.contains("only killed in kill: ext4; weaker than a power cut"),
        "{figure}"
    );
    // Nothing was shut down where the process of a pool ended.
    let mut scene = two();
    scene.phases = vec![(PhaseKind::Kill, "kills".into())];
    scene.extra = measures(2.0, 2.0).to_vec();
    let kept = line(&scene, "kills");
    assert!(
        kept.figure
            .starts_with("killed 8 times (the process of its pool ended too): kept all"),
        "{}",
        kept.figure
    );
}

/// Who lost data is never taken, and speaks against nobody who kept them.
#[test]
fn a_stack_that_lost_data_is_no_advice_however_fast_it_is() {
    let sentence = |speeds: [f64; 3]| {
        let names = ["ext4", "nobarrier", "xfs"];
        let actors = names.into_iter().zip(speeds).filter(|(_, speed)| *speed > 0.0);
        let mut scene = scene(actors.map(|(name, speed)| actor(name, speed)).collect());
        scene.phases = vec![
            (PhaseKind::Random, "commits".into()),
            (PhaseKind::PowerCut, "cut".into()),
        ];
        scene.extra = vec![(Measure::CutsMade, 2.0), (Measure::CutsAcknowledged, 90.0)];
        let mut filmed = scene.film();
        let trial = ledger::NewTrial {
            block: 4,
            position: 0,
            stack: "nobarrier".into(),
            seed: 4,
            host: "h1".into(),
            instance: "1".into(),
            lun_set: "data".into(),
            began_unix_ns: 0,
        };
        let id = filmed.ledger.begin_trial(&trial).unwrap();
        let mut record = ledger::PhaseRecord::new(ledger::PhaseRun {
            trial: id,
            ordinal: 1,
            name: "cut".into(),
            kind: PhaseKind::PowerCut,
            ranked: false,
            began_unix_ns: 0,
            elapsed_ns: 1,
            drain_ns: 0,
            status: ledger::PhaseStatus::Valid,
        });
        record.measures = scene.extra.clone();
        record.measures.push((Measure::CutsLosing, 1.0));
        filmed.ledger.record_phase(&record).unwrap();
        filmed.ledger.end_trial(id, 1, &ledger::TrialStatus::Done).unwrap();
        filmed.analysis().sentence
    };
    let said = sentence([1.0, 3.0, 0.0]);
    assert!(said.starts_with("Take ext4: nobarrier does "), "{said}");
    assert!(said.contains(". LOST DATA, whatever the speed: nobarrier"), "{said}");
    // Nor does it stand in the way of one that is better and kept everything.
    let said = sentence([1.0, 3.0, 2.0]);
    assert!(said.starts_with("Take xfs (of ext4, nobarrier and xfs): "), "{said}");
    let said = sentence([1.0, 1.0, 0.0]);
    assert!(
        said.starts_with("Take ext4: ext4 and nobarrier are equivalent within"),
        "{said}"
    );
    let said = sentence([1.0, 1.0, 1.0]);
    assert!(
        said.starts_with("Take ext4 or xfs: all are equivalent within"),
        "{said}"
    );
}
