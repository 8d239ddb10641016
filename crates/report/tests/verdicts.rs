//! What an analysis says of files with known numbers, and what it refuses to say.

use crate::fixture::{actor, beside_a_pool, scene};
use ledger::{Measure, PhaseKind, Skipped, Stamp};
use report::{GoOn, Origin, Status, StopReason, Verdict};

#[test]
fn a_slower_stack_is_worse_by_its_ratio() {
    let analysis = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]).film().analysis();
    assert_eq!(analysis.comparisons.len(), 2);
    for comparison in &analysis.comparisons {
        assert_eq!(comparison.verdict, Verdict::Worse, "{}", comparison.words);
        let ratio = comparison.ratio.unwrap();
        assert!((ratio - 0.8).abs() < 0.01, "{ratio}");
        assert!(comparison.low.unwrap() < ratio && ratio < comparison.high.unwrap());
    }
    assert_eq!(analysis.go_on, GoOn::Stop(StopReason::AllDecided));
    assert!(
        analysis
            .sentence
            .starts_with("Take ext4: btrfs does 0.80 of ext4's rate in "),
        "{}",
        analysis.sentence
    );
    assert!(analysis.is_worse() && !analysis.is_invalid());
    let cell = &analysis.phases[0].cells[1];
    assert!(
        (cell.operations_per_s.unwrap().median - 8000.0).abs() < 100.0,
        "drain is in the divisor"
    );
}

#[test]
fn a_faster_stack_is_better() {
    let analysis = scene(vec![actor("ext4", 1.0), actor("xfs", 1.3)]).film().analysis();
    assert!(analysis.comparisons.iter().all(|c| c.verdict == Verdict::Better));
    assert!(
        analysis
            .sentence
            .starts_with("Take xfs: xfs does 1.30 of ext4's rate in "),
        "{}",
        analysis.sentence
    );
}

#[test]
fn a_lower_p99_is_better_in_an_open_phase() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.3)]);
    scene.phases = vec![(PhaseKind::Open, "paced".into())];
    let analysis = scene.film().analysis();
    assert_eq!(analysis.comparisons[0].verdict, Verdict::Better);
    assert_eq!(analysis.phases[0].cells[0].latency[0].stamp, Stamp::Response);
}

#[test]
fn two_alike_are_equivalent() {
    let analysis = scene(vec![actor("ext4", 1.0), actor("xfs", 1.0)]).film().analysis();
    assert!(
        analysis.comparisons.iter().all(|c| c.verdict == Verdict::Equivalent),
        "{:#?}",
        analysis.comparisons
    );
    assert!(
        analysis.sentence == "Take ext4 or xfs: they are equivalent within 5 % in 50 % update and scan.",
        "{}",
        analysis.sentence
    );
}

#[test]
fn noise_is_not_a_verdict() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.97)]);
    scene.noise = 0.4;
    let analysis = scene.film().analysis();
    assert!(analysis.comparisons.iter().all(|c| c.verdict == Verdict::NotEnoughData));
    assert_eq!(analysis.go_on, GoOn::Continue(6));
    assert!(analysis.sentence.contains("Not enough data"), "{}", analysis.sentence);
}

#[test]
fn before_the_first_look_nothing_is_said() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.5)]);
    scene.blocks = 2;
    let analysis = scene.film().analysis();
    assert_eq!(analysis.go_on, GoOn::Continue(4));
    assert!(analysis.comparisons[0].ratio.is_none() && analysis.looks.is_empty());
    assert!(analysis.sentence.contains("2 of 12"), "{}", analysis.sentence);
    scene.blocks = 0;
    let analysis = scene.film().analysis();
    assert!(
        analysis.sentence.starts_with("There is no answer yet"),
        "{}",
        analysis.sentence
    );
}

#[test]
fn a_cached_stack_is_shown_and_not_ranked() {
    let mut cached = actor("buffered", 5.0);
    cached.device = Some(0.02);
    let analysis = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8), cached])
        .film()
        .analysis();
    assert!(
        analysis.comparisons.iter().all(|c| c.stack == "btrfs"),
        "the others are still ranked"
    );
    let cell = &analysis.phases[0].cells[2];
    assert_eq!(cell.provenance.reads.origin, Origin::Cache);
    assert!(cell.primary.unwrap().median > 40_000.0, "it is shown");
    let reasons: Vec<_> = analysis.unranked.iter().filter(|one| one.stack == "buffered").collect();
    assert_eq!(reasons.len(), 2);
    assert!(
        reasons[0].reason.contains("served by a cache (the device moved 2 %"),
        "{}",
        reasons[0].reason
    );
    assert!(
        analysis
            .checks
            .iter()
            .any(|c| c.subject == "provenance" && c.status == Status::Invalid)
    );
}

/// A ZFS counts what its cache served, so the cache has a name; what read-ahead fetched a moment before was served by
/// the devices.
#[test]
fn reads_that_an_arc_served_are_said_to_be_its() {
    let reason = |hits: f64, ahead: f64| {
        let mut cached = actor("pool", 5.0);
        cached.device = Some(0.02);
        let counted = [
            (Measure::ArcDataHits, hits),
            (Measure::ArcDataMisses, 2000.0),
            (Measure::ArcAheadMisses, ahead),
        ];
        let analysis = beside_a_pool(cached, &counted).film().analysis();
        let found = analysis.unranked.iter().find(|one| one.stack == "pool");
        let share = analysis.phases[0].cells[2].provenance.arc_share;
        assert_eq!(
            analysis.phases[0].cells[0].provenance.arc_share, None,
            "ext4 has no ARC"
        );
        (found.expect("not ranked").reason.clone(), share)
    };
    let (said, share) = reason(98_000.0, 0.0);
    assert_eq!(share, Some(0.98));
    let words = "served by a cache (the device moved 2 % of the bytes; the ARC served 98 % of the accesses to data)";
    assert!(said.contains(words), "{said}");
    let (said, share) = reason(98_000.0, 97_000.0);
    assert_eq!(share, Some(0.01));
    assert!(said.contains("the ARC served 1 % of the accesses to data"), "{said}");
}

/// What memory does may be asked too, where all have the same of it and not otherwise.
#[test]
fn a_cached_stack_is_ranked_where_the_study_asks_what_memory_does() {
    let film = |extra: Vec<(Measure, f64)>, device: Option<f64>| {
        let mut cached = actor("buffered", 5.0);
        cached.device = device;
        let mut scene = scene(vec![actor("ext4", 1.0), cached]);
        scene.settings.push(ledger::Setting {
            key: "memory.rank_cached".into(),
            value: "true".into(),
            written: true,
        });
        scene.extra = extra;
        scene.film().analysis()
    };
    let says = |analysis: &report::Analysis, status: Status| {
        let mut checks = analysis.checks.iter();
        checks.any(|c| c.subject == "provenance" && c.stack.as_deref() == Some("buffered") && c.status == status)
    };
    for device in [0.02, 0.5] {
        let ranked = film(Vec::new(), Some(device));
        assert!(
            ranked
                .comparisons
                .iter()
                .any(|c| c.stack == "buffered" && c.verdict == Verdict::Better)
        );
        assert!(says(&ranked, Status::Note) && !says(&ranked, Status::Invalid));
    }
    let gib = 1024.0 * 1024.0 * 1024.0;
    for broken in [
        vec![(Measure::MemoryBudgetEnforced, 0.0)],
        vec![(Measure::MemoryTotalBytesPeak, 1.1 * gib)],
    ] {
        let shown = film(broken, Some(0.02));
        assert!(shown.comparisons.is_empty(), "{:?}", shown.comparisons);
        assert!(says(&shown, Status::Invalid));
    }
    // Where no device can be seen, nobody knows what served it.
    assert!(film(Vec::new(), None).comparisons.is_empty());
}

#[test]
fn a_mixed_and_an_invisible_device_are_not_ranked_either() {
    for (device, word) in [(Some(0.5), "partly"), (None, "no device is visible")] {
        let mut odd = actor("odd", 1.0);
        odd.device = device;
        let analysis = scene(vec![actor("ext4", 1.0), odd]).film().analysis();
        assert!(analysis.comparisons.is_empty());
        assert_eq!(analysis.go_on, GoOn::Stop(StopReason::NothingToCompare));
        assert!(
            analysis.sentence.starts_with("Nothing can be ranked here: odd"),
            "{}",
            analysis.sentence
        );
        assert!(analysis.sentence.contains(word), "{}", analysis.sentence);
    }
}

#[test]
fn a_cached_base_ranks_nobody() {
    let mut base = actor("ext4", 1.0);
    base.device = Some(0.0);
    let analysis = scene(vec![base, actor("btrfs", 0.8)]).film().analysis();
    assert!(analysis.comparisons.is_empty());
    assert!(
        analysis
            .unranked
            .iter()
            .any(|one| one.stack == "btrfs" && one.reason.contains("its base ext4"))
    );
}

#[test]
fn other_numbers_of_layers_are_not_ranked_against_each_other() {
    let mut bare = actor("directory", 1.4);
    bare.stack.layers = ledger::Layers::plain(["directory"]);
    let analysis = scene(vec![actor("ext4", 1.0), bare, actor("btrfs", 0.8)])
        .film()
        .analysis();
    assert!(
        analysis
            .comparisons
            .iter()
            .all(|c| c.stack == "btrfs" && c.base == "ext4")
    );
    let odd = analysis.unranked.iter().find(|one| one.stack == "directory").unwrap();
    assert!(odd.phase.is_none() && odd.reason.contains("layers"));
}

#[test]
fn one_stack_alone_has_nothing_to_compare() {
    let analysis = scene(vec![actor("ext4", 1.0)]).film().analysis();
    assert!(analysis.comparisons.is_empty());
    assert!(
        analysis.sentence.starts_with("Only ext4 was measured"),
        "{}",
        analysis.sentence
    );
    assert_eq!(analysis.phases[0].cells.len(), 1);
}

#[test]
fn a_skipped_stack_gives_reason_and_cure_and_its_place_as_base() {
    let mut skipped = actor("xfs", 1.0);
    skipped.stack.skipped = Some(Skipped {
        reason: "mkfs.xfs not found".into(),
        cure: "install xfsprogs".into(),
    });
    let analysis = scene(vec![skipped, actor("ext4", 1.0), actor("btrfs", 0.8)])
        .film()
        .analysis();
    assert_eq!(analysis.stacks[0].skipped_cure.as_deref(), Some("install xfsprogs"));
    assert!(
        analysis
            .comparisons
            .iter()
            .all(|c| c.base == "ext4" && c.stack == "btrfs")
    );
}

#[test]
fn an_invalid_phase_drops_its_block_for_all_stacks() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8), actor("xfs", 1.0)]);
    scene.blocks = 5;
    scene.invalid = Some((1, "btrfs".into()));
    let analysis = scene.film().analysis();
    assert_eq!(analysis.dropped.len(), 1);
    assert_eq!(
        (analysis.dropped[0].block, analysis.dropped[0].phase.as_deref()),
        (1, Some("scan"))
    );
    assert!(analysis.dropped[0].reason.contains("busy before it began"));
    assert!(analysis.comparisons.iter().all(|c| c.n == Some(4)));
    assert!(
        analysis
            .checks
            .iter()
            .any(|c| c.subject == "phase status" && c.figure.contains("block 1"))
    );
}

#[test]
fn an_interrupted_trial_is_in_no_figure() {
    let mut filmed = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]).film();
    let before = filmed.analysis();
    let trial = ledger::NewTrial {
        block: 4,
        position: 0,
        stack: "ext4".into(),
        seed: 1,
        host: "h".into(),
        instance: "1".into(),
        lun_set: "data".into(),
        began_unix_ns: 0,
    };
    let id = filmed.ledger.begin_trial(&trial).unwrap();
    let run = ledger::PhaseRun {
        trial: id,
        ordinal: 0,
        name: "50 % update".into(),
        kind: PhaseKind::Random,
        ranked: true,
        began_unix_ns: 0,
        elapsed_ns: 1,
        drain_ns: 0,
        status: ledger::PhaseStatus::Valid,
    };
    filmed.ledger.record_phase(&ledger::PhaseRecord::new(run)).unwrap();
    let after = filmed.analysis();
    assert_eq!(after.study.phases_uncounted, 1);
    assert_eq!(after.phases, before.phases);
    assert_eq!(after.comparisons, before.comparisons);
}

#[test]
fn a_stack_that_always_fails_does_not_stop_the_others() {
    let mut filmed = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]).film();
    filmed
        .ledger
        .stack(&ledger::Stack {
            ordinal: 2,
            ..actor("full", 1.0).stack
        })
        .unwrap();
    let trial = ledger::NewTrial {
        block: 0,
        position: 2,
        stack: "full".into(),
        seed: 0,
        host: "h".into(),
        instance: "1".into(),
        lun_set: "data".into(),
        began_unix_ns: 0,
    };
    let id = filmed.ledger.begin_trial(&trial).unwrap();
    filmed
        .ledger
        .end_trial(id, 1, &ledger::TrialStatus::Failed("no space left on full".into()))
        .unwrap();
    let analysis = filmed.analysis();
    assert!(analysis.dropped.is_empty());
    assert_eq!(analysis.comparisons.len(), 2);
    assert!(analysis.unranked.iter().any(|one| one.reason.contains("no space left")));
}

#[test]
fn looks_are_handed_over_once() {
    let mut filmed = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]).film();
    let rows = filmed.analysis().unrecorded_looks();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].n, rows[0].verdict.as_str()), (4, "worse"));
    for row in &rows {
        filmed.ledger.look(row).unwrap();
    }
    assert!(filmed.analysis().unrecorded_looks().is_empty());
    assert!(!filmed.analysis().checks.iter().any(|c| c.subject == "recorded looks"));
    let mut lie = rows[0].clone();
    lie.verdict = "better".into();
    filmed.ledger.look(&lie).unwrap();
    assert!(
        filmed
            .analysis()
            .checks
            .iter()
            .any(|c| c.subject == "recorded looks" && c.status == Status::Suspect)
    );
}

fn status_with(measure: Measure, value: f64, subject: &str) -> Status {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    scene.extra = vec![(measure, value)];
    let found = scene
        .film()
        .analysis()
        .checks
        .into_iter()
        .find(|c| c.subject == subject && c.phase.as_deref() == Some("50 % update"));
    found.unwrap_or_else(|| panic!("no check of {subject}")).status
}

/// What this way costs is not what a server's ZFS costs; only where processors were the limit does it matter.
#[test]
fn a_pool_in_a_process_is_doubted_where_processors_are_short() {
    let status = |way: &str, idle: f64| {
        let mut scene = scene(vec![actor("disk group", 1.0), actor("zfs", 0.4)]);
        scene.extra = vec![(Measure::CpuIdleShare, idle)];
        scene.facts = vec![crate::fixture::fact("stack:zfs", "way to ZFS", way)];
        let checks = scene.film().analysis().checks;
        let found: Vec<_> = checks.into_iter().filter(|c| c.subject == "way to ZFS").collect();
        assert!(found.iter().all(|c| c.stack.as_deref() == Some("zfs")));
        found.first().map(|c| c.status)
    };
    for way in ["userspace", "fuse 23"] {
        assert_eq!(status(way, 0.29), Some(Status::Suspect), "{way}");
        assert_eq!(status(way, 0.31), Some(Status::Valid), "{way}");
    }
    assert_eq!(status("kernel 2.1.11", 0.05), None);
}

#[test]
fn idle_processors_are_those_that_the_run_may_use() {
    let said = |extra: Vec<(Measure, f64)>| {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
        scene.extra = extra;
        let checks = scene.film().analysis().checks;
        let host = checks.into_iter().find(|c| c.subject == "host CPU");
        host.expect("a check").figure
    };
    assert_eq!(said(vec![(Measure::CpuIdleShare, 0.5)]), "50 % idle");
    let kept = said(vec![(Measure::CpuIdleShare, 0.5), (Measure::CpuAllowed, 2.0)]);
    assert_eq!(kept, "50 % idle, of the 2 processors that the run may use");
}

#[test]
fn each_doubt_has_its_threshold() {
    assert_eq!(status_with(Measure::CpuIdleShare, 0.03, "host CPU"), Status::Suspect);
    assert_eq!(status_with(Measure::CpuIdleShare, 0.05, "host CPU"), Status::Valid);
    assert_eq!(
        status_with(Measure::EngineCheckpointsLeast, 2.0, "checkpoints"),
        Status::Suspect
    );
    assert_eq!(
        status_with(Measure::EngineCheckpointsLeast, 3.0, "checkpoints"),
        Status::Valid
    );
    assert_eq!(
        status_with(Measure::GeneratorCeilingIops, 150_000.0, "generator"),
        Status::Suspect
    );
    // 205,000 operations in 20 s: 82,000 reads and writes a second and more, which two million bear.
    assert_eq!(
        status_with(Measure::GeneratorCeilingIops, 2_000_000.0, "generator"),
        Status::Valid
    );
    // Operations of 12 pages each: a quarter of what they take beside their pages is not in the ceilings of pages,
    // 2,500 a second.
    assert_eq!(
        status_with(Measure::GeneratorCeilingOperations, 3_000.0, "generator"),
        Status::Suspect
    );
    assert_eq!(
        status_with(Measure::GeneratorCeilingOperations, 12_000.0, "generator"),
        Status::Valid
    );
    assert_eq!(
        status_with(Measure::GeneratorBusyShare, 0.91, "generator"),
        Status::Suspect
    );
    assert_eq!(
        status_with(Measure::GeneratorBusyShare, 0.89, "generator"),
        Status::Valid
    );
    assert_eq!(
        status_with(Measure::EnginePagesVerified, 40e6, "generator"),
        Status::Suspect,
        "each page of a multiblock read counts"
    );
    assert_eq!(
        status_with(Measure::WorkingSetTouchedBytes, 1e8, "working set"),
        Status::Suspect
    );
    assert_eq!(
        status_with(Measure::MemoryTotalBytesPeak, 2e9, "memory budget"),
        Status::Suspect
    );
    assert_eq!(status_with(Measure::ObserverCpuNs, 1e9, "observer"), Status::Suspect);
    assert_eq!(
        status_with(Measure::LowReadBytes, 1e12, "foreign traffic"),
        Status::Suspect
    );
    assert_eq!(status_with(Measure::EnginePagesBad, 1.0, "data loss"), Status::Invalid);
}

/// Its comparisons that say anything.
fn ranked(analysis: &report::Analysis) -> usize {
    let says = |one: &&report::Comparison| one.verdict != Verdict::NotEnoughData;
    analysis.comparisons.iter().filter(says).count()
}

#[test]
fn what_the_sheet_calls_invalid_is_shown_and_not_ranked() {
    let usual = || scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    let honest = usual().film().analysis();
    assert!(ranked(&honest) == 2 && !honest.is_invalid());
    let of = |change: fn(&mut crate::fixture::Scene)| {
        let mut scene = usual();
        change(&mut scene);
        let analysis = scene.film().analysis();
        assert!(analysis.is_invalid(), "{:?}", analysis.doubts());
        assert_eq!(ranked(&analysis), 0, "{:?}", analysis.comparisons);
        assert_eq!(analysis.phases[0].cells.len(), 2, "its figures are shown");
        analysis
    };
    let slept = of(|scene| scene.extra = vec![(Measure::ClockSleptNs, 3e9)]);
    assert_eq!(slept.dropped.len(), 8, "four blocks of two phases");
    assert!(
        slept.dropped[0].reason.contains("the host slept for 3.00 s"),
        "{:?}",
        slept.dropped
    );
    let lost = of(|scene| scene.extra = vec![(Measure::EnginePagesBad, 2.0)]);
    let reason = &lost.unranked[0].reason;
    assert!(reason.contains("it lost data: 2 pages"), "{reason}");
    let seeds = of(|scene| scene.one_seed = true);
    assert!(seeds.unranked[0].reason.contains("a seed each"), "{:?}", seeds.unranked);
    // A clock that was set by less than anybody would set it by is no sleep.
    let mut napped = usual();
    napped.extra = vec![(Measure::ClockSleptNs, 5e6)];
    assert_eq!(ranked(&napped.film().analysis()), 2);
}

#[test]
fn a_run_whose_processors_were_mostly_taken_away_does_not_count() {
    let of = |stolen_ns: f64, share: f64| {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
        scene.extra = vec![(Measure::CpuStealNs, stolen_ns), (Measure::CpuStealShare, share)];
        scene.film().analysis()
    };
    let taken = of(14e9, 0.7);
    assert_eq!(ranked(&taken), 0, "{:?}", taken.comparisons);
    let reason = &taken.dropped[0].reason;
    assert!(
        reason.contains("the hypervisor gave 70 % of all processor time to others"),
        "{reason}"
    );
    let doubts = format!("{:?}", taken.doubts());
    assert!(
        doubts.contains("most of all in 4 of 4 blocks, which do not count"),
        "{doubts}"
    );
    assert_eq!(ranked(&of(4e9, 0.4)), 2, "a part of it is a doubt");
    assert_eq!(ranked(&of(0.7e9, 0.7)), 2, "in a moment it is scatter");
}

#[test]
fn data_loss_is_in_the_sentence() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    scene.extra = vec![(Measure::EnginePagesBad, 3.0)];
    assert!(scene.film().analysis().sentence.contains("LOST DATA"));
}

#[test]
fn model_and_planted_disadvantage_are_disclosed() {
    let mut late = actor("late", 0.8);
    late.stack.injected = Some("every I/O 20 % later".into());
    let mut scene = scene(vec![actor("model", 1.0), late]);
    scene.modelled = true;
    let analysis = scene.film().analysis();
    assert!(
        analysis.sentence.starts_with("The device is a model, not a real one. "),
        "{}",
        analysis.sentence
    );
    assert!(
        analysis.sentence.ends_with(". A disadvantage is planted on late."),
        "{}",
        analysis.sentence
    );
    assert!(
        analysis
            .checks
            .iter()
            .any(|c| c.subject == "planted disadvantage" && c.status == Status::Suspect)
    );
}

#[test]
fn what_differs_is_told_and_what_does_not_is_summed_up() {
    let analysis = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]).film().analysis();
    let names: Vec<_> = analysis.differences.iter().map(|d| d.fact.as_str()).collect();
    assert_eq!(names, ["kind", "layers", "mount options"]);
    assert!(analysis.equal.contains(&"redo reads go".to_string()));
    assert_eq!(
        analysis.differences[1].values[1].value.as_deref(),
        Some("btrfs/loop/file")
    );
}
