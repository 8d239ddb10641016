//! Where the time of a study went: each second is in one part, in every form.
//!
//! Prevents: a share of measuring that counts a pause, or counts twice where stacks stood side by side.

use crate::fixture::{Filmed, MADE_UNIX_NS, Scene, actor, scene};
use ledger::{Ending, NewTrial, PhaseKind, PhaseRecord, PhaseRun, PhaseStatus, TrialId, TrialStatus};
use report::{Style, TimePart, TimeSpent, html, json, markdown, schema, terminal};

const SECOND: u64 = 1_000_000_000;

/// Two blocks of two stacks in three phases, one of them not ranked; a scan is invalid. The last trial ends at 299 s.
fn timed() -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    scene.phases.insert(0, (PhaseKind::Load, "load".into()));
    scene.invalid = Some((1, "btrfs".into()));
    (scene.blocks, scene.timed) = (2, true);
    scene
}

fn ended(film: Filmed) -> Filmed {
    ended_at(film, 300)
}

fn ended_at(mut film: Filmed, seconds: u64) -> Filmed {
    let ending = Ending {
        at_unix_ns: MADE_UNIX_NS + seconds * SECOND,
        reason: "all planned blocks were run".into(),
    };
    film.ledger.finish(&ending).unwrap();
    film
}

fn spent(film: &Filmed) -> TimeSpent {
    film.analysis().time_spent.expect("the file has its times")
}

fn seconds(spent: &TimeSpent, part: TimePart) -> f64 {
    let found = spent.parts.iter().find(|one| one.part == part);
    found.map_or(0.0, |one| one.seconds)
}

fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() < 1e-6
}

/// A trial of another block, which began and ended at these seconds.
fn more(
    film: &mut Filmed,
    (block, stack): (u32, &str),
    (began, ended): (u64, Option<u64>),
    status: &TrialStatus,
) -> TrialId {
    let trial = NewTrial {
        block,
        position: 0,
        stack: stack.into(),
        seed: u64::from(block),
        host: "h1".into(),
        instance: "1".into(),
        lun_set: "data".into(),
        began_unix_ns: MADE_UNIX_NS + began * SECOND,
    };
    let id = film.ledger.begin_trial(&trial).unwrap();
    if let Some(ended) = ended {
        let ended = MADE_UNIX_NS + ended * SECOND;
        film.ledger.end_trial(id, ended, status).unwrap();
    }
    id
}

fn work(film: &mut Filmed, trial: TrialId, (began, elapsed): (u64, u64)) {
    let run = PhaseRun {
        trial,
        ordinal: 0,
        name: "load".into(),
        kind: PhaseKind::Load,
        ranked: false,
        began_unix_ns: MADE_UNIX_NS + began * SECOND,
        elapsed_ns: elapsed * SECOND,
        drain_ns: 0,
        status: PhaseStatus::Valid,
    };
    film.ledger.record_phase(&PhaseRecord::new(run)).unwrap();
}

/// An invalid scan drops that of the other stack in its block, too.
#[test]
fn every_second_is_in_one_part() {
    let spent = spent(&ended(timed().film()));
    let wanted = [
        (TimePart::RankedWork, 120.0),
        (TimePart::OtherWork, 80.0),
        (TimePart::WorkNotCounted, 40.0),
        (TimePart::Drain, 6.0),
        (TimePart::Loading, 24.0),
        (TimePart::BetweenPhases, 18.0),
        (TimePart::BetweenTrials, 12.0),
    ];
    let found: Vec<TimePart> = spent.parts.iter().map(|one| one.part).collect();
    assert_eq!(found, wanted.map(|(part, _)| part), "parts of no time are left out");
    for (one, (_, seconds)) in spent.parts.iter().zip(wanted) {
        assert!(
            near(one.seconds, seconds) && near(one.share, seconds / 300.0),
            "{one:?}"
        );
    }
    assert!(
        near(spent.total_s, 300.0) && near(spent.measured_share, 200.0 / 300.0),
        "{spent:?}"
    );
    assert!(!spent.paused);
}

#[test]
fn a_study_under_way_is_counted_up_to_its_last_trial() {
    let mut film = timed().film();
    let trial = more(&mut film, (2, "ext4"), (302, None), &TrialStatus::Running);
    work(&mut film, trial, (304, 20));
    assert!(near(spent(&film).total_s, 299.0), "{:?}", spent(&film));
}

#[test]
fn time_in_which_no_run_wrote_to_the_file_is_left_out() {
    // A run that ended within a trial, and one that went on five minutes later.
    let mut film = timed().film();
    more(&mut film, (2, "ext4"), (302, Some(312)), &TrialStatus::Interrupted);
    more(&mut film, (2, "ext4"), (612, Some(622)), &TrialStatus::Done);
    let one = spent(&film);
    assert!(one.paused && near(one.total_s, 299.0 + 3.0 + 10.0 + 10.0), "{one:?}");
    // After four blocks no run of ten minutes begins a fifth: another one did.
    let mut scene = timed();
    scene.blocks = 4;
    let mut film = scene.film();
    more(&mut film, (4, "ext4"), (700, Some(710)), &TrialStatus::Done);
    let one = spent(&film);
    assert!(one.paused && near(one.total_s, 599.0 + 10.0), "{one:?}");
    assert!(terminal(&film.analysis(), &Style::default()).contains("went on in another run"));
}

/// An error ends a run as a kill does. Only what follows tells whether another run took it up.
#[test]
fn the_pause_after_a_failed_trial_is_left_out_where_another_run_went_on() {
    let failed = TrialStatus::Failed("the device is gone".into());
    let done = TrialStatus::Done;
    // The second of two trials side by side came through.
    for beside in [false, true] {
        let mut film = timed().film();
        more(&mut film, (2, "ext4"), (302, Some(312)), &failed);
        if beside {
            more(&mut film, (2, "btrfs"), (302, Some(312)), &done);
        }
        more(&mut film, (2, "ext4"), (612, Some(622)), &done);
        let one = spent(&film);
        assert!(one.paused && near(one.total_s, 299.0 + 3.0 + 10.0 + 10.0), "{one:?}");
    }
    let mut film = timed().film();
    more(&mut film, (2, "ext4"), (302, Some(312)), &failed);
    let one = spent(&ended_at(film, 320));
    assert!(!one.paused && near(one.total_s, 320.0), "{one:?}");
}

/// A cache served all of one stack: it is not ranked. The base stays, with which nothing is compared.
#[test]
fn work_of_a_stack_that_is_not_ranked_is_not_counted() {
    let mut scene = timed();
    scene.invalid = None;
    let of = |scene: &Scene| {
        let spent = spent(&scene.film());
        let parts = [TimePart::RankedWork, TimePart::OtherWork, TimePart::WorkNotCounted];
        parts.map(|part| seconds(&spent, part))
    };
    assert_eq!(of(&scene), [160.0, 80.0, 0.0]);
    scene.actors[1].device = Some(0.02);
    assert_eq!(of(&scene), [80.0, 80.0, 80.0]);
}

#[test]
fn stacks_side_by_side_share_their_time() {
    let mut film = timed().film();
    let ids = ["ext4", "btrfs"].map(|stack| more(&mut film, (2, stack), (300, Some(360)), &TrialStatus::Done));
    // They take turns: each works for 20 of their 60 seconds.
    for id in ids {
        work(&mut film, id, (310, 20));
    }
    let (before, after) = (spent(&timed().film()), spent(&film));
    let grown = |part: TimePart| seconds(&after, part) - seconds(&before, part);
    assert!(near(after.total_s - before.total_s, 61.0), "{after:?}");
    assert!(near(grown(TimePart::OtherWork), 40.0), "{after:?}");
    assert!(near(grown(TimePart::Loading), 10.0), "{after:?}");
    assert!(near(grown(TimePart::BetweenPhases), 10.0), "{after:?}");
    assert!(near(grown(TimePart::BetweenTrials), 1.0), "{after:?}");
}

#[test]
fn without_a_clock_there_is_no_table() {
    let mut modelled = timed();
    modelled.modelled = true;
    // Phases that took longer than their trials: somebody set the clock.
    let mut set_back = timed();
    set_back.longer = 3;
    let untimed = scene(vec![actor("ext4", 1.0)]);
    let mut empty = timed();
    empty.blocks = 0;
    for scene in [modelled, set_back, untimed, empty] {
        let analysis = scene.film().analysis();
        assert_eq!(analysis.time_spent, None);
        assert!(json(&analysis)["report"]["time_spent"].is_null());
        assert!(!terminal(&analysis, &Style::default()).contains("Where the time went"));
    }
}

#[test]
fn every_form_says_it() {
    let film = ended(timed().film());
    let analysis = film.analysis();
    let said = "Measuring took 67 % of the 5 min that the study ran. The largest other part was work not counted: \
                13 %.";
    let (text, short) = (terminal(&analysis, &Style::default()), markdown(&analysis));
    let page = html(&film.ledger, &analysis).unwrap();
    for form in [&text, &short] {
        let words: Vec<&str> = form.split_whitespace().collect();
        assert!(words.join(" ").contains(said), "{form}");
        assert!(form.contains("Where the time went"), "{form}");
    }
    assert!(page.contains(said) && page.contains("id=\"time-spent\""));
    let ranked = text.lines().find(|line| line.starts_with("  ranked work "));
    let ranked = ranked.expect("a row");
    assert!(ranked.contains("120") && ranked.contains("40 %"), "{ranked}");
    assert!(ranked.contains("phases compared between stacks"), "{ranked}");
    assert!(short.contains("| ranked work | 120 | 40 % |"), "{short}");
    let value = json(&analysis);
    assert!(jsonschema::validator_for(&schema()).unwrap().is_valid(&value));
    let parts = value["report"]["time_spent"]["parts"].as_array().unwrap();
    assert_eq!((parts[0]["part"].as_str(), parts.len()), (Some("ranked_work"), 7));
}
