//! What went wrong in a run stays in the report, whatever came after it: a trial that was run again, a question past
//! its limit, operations that were never sent.
//!
//! Prevents: a stack that is ranked by the tries that came through, and a p99 of what was answered alone.

use crate::fixture::{Filmed, actor, scene};
use ledger::{Measure, NewTrial, PhaseKind, PhaseRecord, PhaseRun, PhaseStatus, TrialStatus};
use report::{Analysis, Check, Status, Verdict};

fn line<'a>(analysis: &'a Analysis, subject: &str, stack: Option<&str>) -> Option<&'a Check> {
    let mut all = analysis.checks.iter();
    all.find(|one| one.subject == subject && one.stack.as_deref() == stack && one.status != Status::Valid)
}

fn unranked(analysis: &Analysis, phase: &str) -> String {
    let mut all = analysis.unranked.iter();
    let found = all.find(|one| one.phase.as_deref() == Some(phase));
    found.map_or_else(String::new, |one| one.reason.clone())
}

#[test]
fn a_loss_in_a_trial_that_was_run_again_stays_a_loss() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    let whole = scene.film().analysis();
    assert!(line(&whole, "failed trials", None).is_none());
    scene.failed_first = Some((2, "btrfs".into(), Measure::EnginePagesBad, 1.0));
    let analysis = scene.film().analysis();
    let lost = line(&analysis, "data loss", Some("btrfs")).expect("one page came back wrong");
    assert_eq!(lost.status, Status::Invalid);
    assert!(unranked(&analysis, "50 % update").contains("it lost data"));
    let again = line(&analysis, "failed trials", None).expect("the trial failed");
    assert!(
        again.status == Status::Suspect && again.figure.contains("btrfs failed in block 2"),
        "{again:?}"
    );
    // The try that came through is in the figures, and no block is dropped.
    assert!(analysis.dropped.is_empty());
}

#[test]
fn a_block_that_a_later_run_completed_is_suspect() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    assert!(line(&scene.film().analysis(), "interrupted blocks", None).is_none());
    scene.interrupted_first = Some((2, "btrfs"));
    let analysis = scene.film().analysis();
    let found = line(&analysis, "interrupted blocks", None).expect("ext4 ran before the stop, btrfs after it");
    assert!(
        found.status == Status::Suspect && found.figure.contains("block 2 was interrupted"),
        "{found:?}"
    );
    assert!(analysis.dropped.is_empty());
    // One that began anew ran in one piece, and one that was dropped is in no verdict.
    scene.interrupted_first = Some((2, "ext4"));
    assert!(line(&scene.film().analysis(), "interrupted blocks", None).is_none());
    scene.interrupted_first = Some((1, "btrfs"));
    let mut filmed = scene.film();
    assert!(line(&filmed.analysis(), "interrupted blocks", None).is_some());
    let failed = TrialStatus::Failed("it ended early".into());
    unfinished(&mut filmed, (0, PhaseKind::Random, "50 % update"), &[], Some(failed));
    let dropped = filmed.analysis();
    assert_eq!(dropped.dropped.len(), 1, "{:?}", dropped.dropped);
    assert!(
        line(&dropped, "interrupted blocks", None).is_none(),
        "{:?}",
        dropped.dropped
    );
}

/// A trial of btrfs that recorded one phase; `None`: its process was killed, or it is still under way.
fn unfinished(
    filmed: &mut Filmed,
    (ordinal, kind, name): (u32, PhaseKind, &str),
    seen: &[(Measure, f64)],
    ended: Option<TrialStatus>,
) {
    let trial = NewTrial {
        block: 1,
        position: 1,
        stack: "btrfs".into(),
        seed: 1,
        host: "h".into(),
        instance: "1".into(),
        lun_set: "data".into(),
        began_unix_ns: 0,
    };
    let trial = filmed.ledger.begin_trial(&trial).unwrap();
    let mut record = PhaseRecord::new(PhaseRun {
        trial,
        ordinal,
        name: name.into(),
        kind,
        ranked: false,
        began_unix_ns: 0,
        elapsed_ns: 1,
        drain_ns: 0,
        status: PhaseStatus::Valid,
    });
    record.measures = seen.to_vec();
    filmed.ledger.record_phase(&record).unwrap();
    if let Some(status) = ended {
        filmed.ledger.end_trial(trial, 1, &status).unwrap();
    }
}

/// The cut lost something and was recorded, then a signal came, and the trial that was run again is clean.
#[test]
fn a_loss_in_a_trial_that_did_not_end_stays_a_loss() {
    for ended in [Some(TrialStatus::Interrupted), None] {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
        scene.phases.push((PhaseKind::PowerCut, "cut".into()));
        scene.extra = vec![(Measure::CutsMade, 1.0), (Measure::CutsLosing, 0.0)];
        let mut filmed = scene.film();
        let before = filmed.analysis();
        let losing = |analysis: &Analysis| {
            let of = analysis
                .kept
                .iter()
                .filter(|kept| kept.phase == "cut" && kept.stack == "btrfs");
            of.map(|kept| kept.losing).sum::<f64>()
        };
        assert_eq!(losing(&before), 0.0);
        let seen = [(Measure::CutsMade, 1.0), (Measure::CutsLosing, 1.0)];
        unfinished(&mut filmed, (2, PhaseKind::PowerCut, "cut"), &seen, ended);
        let after = filmed.analysis();
        assert_eq!(losing(&after), 1.0);
        assert!(after.is_invalid() && !before.is_invalid(), "{:?}", after.checks);
        assert_eq!(after.phases, before.phases, "it is in no rate");
        assert_eq!(after.study.phases_uncounted, 1);
    }
}

#[test]
fn a_bad_page_of_a_trial_that_did_not_end_shuts_its_stack_out() {
    for ended in [Some(TrialStatus::Interrupted), None] {
        let mut filmed = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]).film();
        let seen = [(Measure::EnginePagesBad, 1.0)];
        unfinished(&mut filmed, (0, PhaseKind::Random, "50 % update"), &seen, ended);
        let analysis = filmed.analysis();
        assert!(unranked(&analysis, "50 % update").contains("it lost data"));
        let lost = line(&analysis, "data loss", Some("btrfs")).expect("one page came back wrong");
        assert_eq!(lost.status, Status::Invalid);
    }
}

#[test]
fn a_question_past_its_limit_shuts_its_stack_out_and_drops_no_block() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 1.0), actor("xfs", 1.0)]);
    scene.phases = vec![(PhaseKind::Tpch, "questions".into()), (PhaseKind::Scan, "scan".into())];
    scene.extra = vec![(Measure::DatabaseTempBytes, 0.0)];
    scene.past_limit = |block, stack| block == 1 && stack == "btrfs";
    let analysis = scene.film().analysis();
    assert!(
        unranked(&analysis, "questions").contains("a question ran past its limit in 1 of 4 blocks"),
        "{:?}",
        analysis.unranked
    );
    assert!(analysis.dropped.is_empty(), "{:?}", analysis.dropped);
    let others = analysis.comparisons.iter().filter(|one| one.phase == "questions");
    assert_eq!(others.map(|one| one.stack.as_str()).collect::<Vec<_>>(), ["xfs"]);
}

/// Below ext4 on RAID 5 the array reads old data and parity for each small write.
#[test]
fn what_an_array_reads_by_itself_is_no_read_of_the_database() {
    let of_reads = |near: f64| {
        let gib = 1024.0 * 1024.0 * 1024.0;
        let mut scene = scene(vec![actor("ext4", 1.0), actor("raid5", 0.8)]);
        let of = |measure, bytes: f64| ("raid5".to_string(), measure, bytes * gib);
        scene.extra_of = vec![
            of(Measure::EngineReadBytes, 1.0),
            of(Measure::NearReadBytes, near),
            of(Measure::NearWriteBytes, 9.0),
            of(Measure::LowReadBytes, 3.0),
            of(Measure::LowWriteBytes, 12.0),
        ];
        unranked(&scene.film().analysis(), "50 % update")
    };
    assert!(of_reads(0.02).contains("its reads were served by a cache (the device moved 2 %"));
    assert_eq!(of_reads(1.0), "");
}

/// To drop the block would leave out the worst of its runs.
#[test]
fn a_stack_that_did_nothing_in_a_block_is_not_ranked_there() {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.3)]);
    scene.in_block = |block, stack| match (stack, block) {
        ("xfs", 1) => 0.0,
        _ => 1.0,
    };
    let analysis = scene.film().analysis();
    let mut all = analysis.unranked.iter();
    let nothing = all.find(|one| one.reason.contains("it did nothing in 1 of"));
    let phase = nothing
        .and_then(|one| one.phase.as_deref())
        .expect("a scan of no bytes");
    assert!(analysis.comparisons.iter().all(|one| one.phase != phase), "{phase}");
    assert!(analysis.dropped.is_empty(), "{:?}", analysis.dropped);
}

#[test]
fn a_p99_counts_what_was_never_sent() {
    let with_unsent = |unsent: f64| {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 2.0)]);
        scene.phases = vec![(PhaseKind::Open, "due".into())];
        scene.extra_of = vec![
            ("btrfs".into(), Measure::EngineUnsent, unsent),
            ("btrfs".into(), Measure::EngineDue, 2000.0),
        ];
        scene.film().analysis()
    };
    let ratio = |analysis: &Analysis| {
        let found = analysis.comparisons.first().expect("both are ranked");
        (found.verdict, found.ratio.expect("a ratio"))
    };
    let (verdict, all_sent) = ratio(&with_unsent(0.0));
    assert_eq!(verdict, Verdict::Better);
    let few = with_unsent(19.0);
    let (_, few_unsent) = ratio(&few);
    // The table says the same: what was not sent is in each percentile, and nobody knows the slowest.
    let latency = |analysis: &Analysis| analysis.phases[0].cells[1].latency[0].clone();
    let (all, some) = (latency(&with_unsent(0.0)), latency(&few));
    assert!(all.max_ns.is_some() && some.max_ns.is_none(), "{some:?}");
    assert!(some.p50_ns.unwrap().median >= all.p50_ns.unwrap().median, "{some:?}");
    assert_eq!(some.p999_ns, None, "it was never sent");
    assert!(few_unsent < all_sent, "{few_unsent}, {all_sent} where all was sent");
    let many = with_unsent(200.0);
    assert!(many.comparisons.is_empty(), "{:?}", many.comparisons);
    let said = unranked(&many, "due");
    assert!(said.contains("10 % of what fell due was never sent"), "{said}");
}
