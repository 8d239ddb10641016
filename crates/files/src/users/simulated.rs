//! Users on a simulated server, in virtual time: mixes, steps, retries, what is wrong, what is lost.
//!
//! Prevents: a check that never fires (each planted fault must be found), and one that fires on a good server.

use super::Users;
use crate::client::Client;
use crate::error::FilesError;
use crate::load::{Class, Config, Mix, Sizes, Steps, Work};
use crate::null::{Null, Time};
use crate::serving::{After, Audit, Point};
use workloads::{Arrival, Pacing, Schedule, drive};

const SERVICE_NS: u64 = 1_000_000;

fn users(config: Config) -> Users<Null> {
    let time = Time::Virtual {
        service_ns: SERVICE_NS,
        servers: 4,
    };
    let mut users = Users::new(Null::new(time), config);
    users.make_home().unwrap();
    users
}

fn filled(config: Config, kib: u64) -> Users<Null> {
    // Half a file, and the logs of a web server.
    let most = u64::from(config.sizes.largest_kib()) * 512 + u64::from(config.sessions) * (16 << 10);
    let mut users = users(config);
    let filled = users.grow_to(kib * 1024, true).unwrap();
    let apart = filled.tree.bytes.abs_diff(kib * 1024);
    assert!(apart <= most, "{apart} bytes from {kib} KiB");
    users
}

fn sfs97() -> Config {
    Config {
        accessed_pct: 50,
        ..Config::sfs97(16, 7, 1)
    }
}

fn closed(users: &mut Users<Null>, sessions: u32, seconds: u64) -> Result<Point, FilesError> {
    let pacing = Pacing::closed(sessions, seconds * 1_000_000_000);
    users.run(|users| drive(users, &pacing, 3))
}

#[test]
fn a_good_server_is_never_wrong_and_the_mix_is_kept() {
    let mut users = filled(sfs97(), 4096);
    let point = closed(&mut users, 16, 5).unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    // Four servers, a millisecond a call.
    let count = point.outcome.count();
    assert!((19_000..=20_100).contains(&count), "{count}");
    for class in Class::ALL {
        let asked = f64::from(Mix::sfs97().percent(class)) / 100.0;
        let share = point.outcome.classes[class as usize].count as f64 / count as f64;
        assert!(
            (share - asked).abs() < 0.012,
            "{}: {share} instead of {asked}",
            class.name()
        );
    }
    assert!(point.counts.read_bytes > 0 && point.counts.written_bytes > 0);
    let audit = users.audit(After::Nothing).unwrap();
    assert!(audit.is_clean() && audit.kib >= 4096, "{audit:?}");
}

#[test]
fn the_same_seed_gives_the_same_point() {
    let run = || closed(&mut filled(sfs97(), 2048), 16, 2).unwrap();
    let (one, two) = (run(), run());
    assert_eq!(one.outcome, two.outcome);
    assert_eq!(one.counts, two.counts);
}

#[test]
fn works_of_steps_and_builds_are_never_wrong() {
    for steps in [Steps::Fileserver, Steps::Varmail, Steps::Webserver] {
        let mut users = filled(Config::steps(steps, 8, 7, 1), 8192);
        let point = closed(&mut users, 8, 5).unwrap();
        assert_eq!(point.counts.wrong, 0, "{steps:?}: {:?}", point.wrong);
        let calls = point.counts.calls;
        assert!(point.outcome.count() < calls, "{steps:?}: a step has several calls");
        let audit = users.audit(After::Nothing).unwrap();
        assert!(audit.is_clean(), "{steps:?}: {audit:?}");
    }
    let mut users = filled(Config::build(8, 7, 1), 4096);
    let point = closed(&mut users, 8, 5).unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    assert!(point.outcome.classes[Class::Mkdir as usize].count > 0);
}

#[test]
fn open_arrivals_count_from_the_due_time_and_pass_the_knee() {
    let mut users = filled(sfs97(), 2048);
    let mut mean_ms = |rate_per_s| {
        let pacing = Pacing {
            arrival: Arrival::Open {
                rate_per_s,
                schedule: Schedule::Poisson,
            },
            ..Pacing::closed(16, 4_000_000_000)
        };
        let point = users.run(|users| drive(users, &pacing, 3)).unwrap();
        let sum: f64 = point
            .outcome
            .classes
            .iter()
            .map(|c| c.response.mean() * c.count as f64)
            .sum();
        sum / point.outcome.count() as f64 / 1e6
    };
    let (low, high) = (mean_ms(500.0), mean_ms(5_000.0));
    assert!((0.9..1.6).contains(&low), "{low} ms far below capacity");
    assert!(high > 100.0, "{high} ms above capacity");
}

#[test]
fn a_listing_is_asked_for_again_once_and_wrong_when_it_is_refused_twice() {
    for (each, is_wrong) in [(2, false), (1, true)] {
        let mut users = filled(sfs97(), 2048);
        users.client.planted.lists_refused_each = each;
        // Alone: the second call is the next listing of all.
        let point = closed(&mut users, 1, 20).unwrap();
        assert!(point.counts.listed_again > 100, "{:?}", point.counts);
        assert_eq!(point.counts.wrong > 0, is_wrong, "{:?}", point.wrong);
    }
}

#[test]
fn a_listing_that_was_sent_again_has_its_second_look() {
    let mut users = filled(sfs97(), 2048);
    (
        users.client.planted.broken_off_each,
        users.client.planted.lists_refused_each,
    ) = (5, 3);
    let point = closed(&mut users, 1, 20).unwrap();
    let counts = &point.counts;
    assert!(counts.repeated > 100 && counts.listed_again > 100, "{counts:?}");
    assert_eq!(counts.wrong, 0, "{:?}", point.wrong);
}

#[test]
fn a_connection_that_ends_is_no_answer_to_a_call_that_is_put_off() {
    let mut users = filled(sfs97(), 2048);
    // 5,000 times 100 ms: more than any server may take.
    users.client.planted.unanswered = (0, 10_000);
    let given_up = closed(&mut users, 1, 1_000);
    assert!(matches!(given_up, Err(FilesError::PutOff { .. })), "{given_up:?}");
}

#[test]
fn what_was_wrong_before_an_error_is_told() {
    let mut users = filled(sfs97(), 2048);
    users.client.planted.stale_reads = true;
    let wrong = closed(&mut users, 16, 1).unwrap().counts.wrong;
    assert_eq!(users.wrong().count, wrong);
    users.client.planted.stale_reads = false;
    closed(&mut users, 16, 1).unwrap();
    assert_eq!(users.wrong().count, 0, "each phase has its own");
    users.client.planted.stale_reads = true;
    users.client.planted.unanswered = (2_000, 200_000);
    assert!(closed(&mut users, 16, 1_000).is_err());
    let told = users.wrong();
    assert!(told.count > 0 && !told.examples.is_empty(), "{told:?}");
}

#[test]
fn what_is_put_off_is_tried_again_inside_the_response() {
    let mut users = filled(sfs97(), 2048);
    users.client.planted.later_each = 50;
    let point = closed(&mut users, 16, 5).unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    assert!(point.counts.later > 50);
    let longest = point
        .outcome
        .classes
        .iter()
        .map(|class| class.response.max())
        .max()
        .unwrap();
    assert!(longest >= 100_000_000, "{longest} ns");
}

#[test]
fn an_old_version_is_seen_by_the_first_read_of_it() {
    let mut users = filled(sfs97(), 2048);
    users.client.planted.stale_reads = true;
    let point = closed(&mut users, 16, 1).unwrap();
    let reads = point.outcome.classes[Class::Read as usize].count;
    assert!(point.counts.wrong >= reads && reads > 0);
    assert!(!point.wrong.is_empty());
}

#[test]
fn the_tree_grows_between_points_and_what_was_there_stays() {
    let mut users = filled(sfs97(), 1024);
    for kib in [1024, 2048, 5000] {
        users.grow_to(kib * 1024, false).unwrap();
        let point = closed(&mut users, 16, 1).unwrap();
        assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
        assert!(point.tree.bytes >= kib * 1024);
    }
    assert!(users.audit(After::Nothing).unwrap().is_clean());
}

#[test]
fn a_tree_without_files_is_refused() {
    assert!(matches!(closed(&mut users(sfs97()), 1, 1), Err(FilesError::Tree(_))));
}

/// Works, cuts the power in the middle of calls, and looks.
fn cut(plant: impl FnOnce(&mut Null), every: usize) -> (Users<Null>, Audit) {
    let config = Config {
        stable_pct: 20,
        sizes: Sizes::new(&[(4, 50), (40, 50)]).unwrap(),
        accessed_pct: 100,
        ..sfs97()
    };
    let mut users = filled(config, 2048);
    plant(&mut users.client);
    let point = closed(&mut users, 16, 3).unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    // Calls that have no answer when the power goes.
    let mut done = Vec::new();
    (0..16).for_each(|nth| _ = workloads::Operation::start(&mut users, nth, &mut done).unwrap());
    users.client.cut(every);
    let audit = users.audit(After::Cut).unwrap();
    (users, audit)
}

#[test]
fn after_a_cut_the_stable_is_there_and_the_rest_is_sent_again() {
    for every in [usize::MAX, 2, 1] {
        let (mut users, audit) = cut(|_| {}, every);
        assert!(audit.is_clean(), "{audit:?}");
        assert!(
            audit.kib_unstable > 0 && audit.kib_stable > 0 && audit.names > 50,
            "{audit:?}"
        );
        assert_eq!(audit.kib_gone > 0, every > 1, "{audit:?}");
        assert!(audit.kib_resent > 0 && audit.names_removed > 0, "{audit:?}");
        assert_eq!(audit.handles_survived, Some(true));
        // And the work goes on.
        let point = closed(&mut users, 16, 2).unwrap();
        assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
        assert!(users.audit(After::Nothing).unwrap().is_clean());
    }
}

#[test]
fn each_planted_loss_is_found() {
    let (_, audit) = cut(|null| null.planted.forgets_commits = true, usize::MAX);
    assert!(audit.kib_lost > 0, "{audit:?}");
    let (_, audit) = cut(|null| null.planted.forgets_names = true, usize::MAX);
    assert!(audit.names_lost > 0, "{audit:?}");
    let (_, audit) = cut(|null| null.planted.same_verifier = true, usize::MAX);
    assert!(
        audit.verifier_hides_loss && audit.lost() > 0 && audit.kib_lost == 0,
        "{audit:?}"
    );
}

#[test]
fn a_name_that_leads_to_the_file_before_is_lost_and_other_handles_are_no_loss() {
    let (mut users, audit) = cut(|null| null.planted.forgets_replacements = true, usize::MAX);
    assert!(audit.names_lost > 0 && audit.names_back == 0, "{audit:?}");
    assert_eq!((audit.kib_lost, audit.handles_survived), (0, Some(true)), "{audit:?}");
    assert!(audit.examples[0].contains("another one"), "{audit:?}");
    // What was found is the file from now on.
    users.client.planted.forgets_replacements = false;
    assert!(users.audit(After::Nothing).unwrap().is_clean());
    let (_, audit) = cut(|null| null.planted.forgets_handles = true, usize::MAX);
    assert!(audit.is_clean() && audit.names > 50, "{audit:?}");
    assert_eq!(audit.handles_survived, Some(false));
}

/// A SETATTR is not stable, and takes no promise from what is written with FILE_SYNC behind the new end.
#[test]
fn what_is_appended_after_a_file_was_cut_back_is_held_to() {
    let mix = Mix::new(&[(Class::Write, 60), (Class::Setattr, 40)]).unwrap();
    let config = Config {
        work: Work::Mix(mix),
        stable_pct: 100,
        append_pct: 100,
        sizes: Sizes::one(4).unwrap(),
        accessed_pct: 100,
        ..sfs97()
    };
    for forgets in [false, true] {
        let mut users = filled(config.clone(), 2048);
        users.client.planted.forgets_commits = forgets;
        closed(&mut users, 16, 3).unwrap();
        let (mut promised, mut of_cut_back) = (0, 0);
        for file in users
            .state
            .tree
            .files
            .iter()
            .filter(|file| file.there && file.size > file.home)
        {
            let kept = users
                .state
                .tree
                .grains
                .kept(file.grains + file.home, file.size - file.home);
            let kept = kept.iter().filter(|version| **version != 0).count() as u64;
            promised += kept;
            of_cut_back += if file.cut_back { kept } else { 0 };
        }
        assert!(of_cut_back > 20, "{of_cut_back} KiB are promised after a cut");
        users.client.cut(usize::MAX);
        let audit = users.audit(After::Cut).unwrap();
        match forgets {
            false => assert!(audit.is_clean(), "{audit:?}"),
            true => assert!(audit.kib_lost >= promised, "{promised} are gone: {audit:?}"),
        }
    }
}

#[test]
fn what_is_lost_is_a_part_of_what_was_acknowledged() {
    let plants: [fn(&mut Null); 5] = [
        |null| null.planted.forgets_removals = true,
        |null| null.planted.forgets_names = true,
        |null| null.planted.forgets_commits = true,
        |null| null.planted.same_verifier = true,
        |null| null.planted.forgets_replacements = true,
    ];
    for (nth, plant) in plants.into_iter().enumerate() {
        let (_, audit) = cut(plant, usize::MAX);
        assert!(
            audit.lost() > 0 && audit.lost() <= audit.acknowledged(),
            "{nth}: {audit:?}"
        );
        assert!(audit.names_back <= audit.names_removed, "{nth}: {audit:?}");
        assert!(audit.kib_lost <= audit.kib_stable, "{nth}: {audit:?}");
        assert_eq!(audit.names_back > 0, nth == 0, "{nth}: {audit:?}");
    }
}

/// Renames among the calls of a mix, and calls that have no answer when the power goes.
fn cut_in_renames(plant: impl FnOnce(&mut Null)) -> (Users<Null>, Audit) {
    let mix = Mix::new(&[
        (Class::Write, 50),
        (Class::Commit, 20),
        (Class::Create, 20),
        (Class::Remove, 10),
    ]);
    let config = Config {
        work: Work::Mix(mix.unwrap()),
        rename_pct: 40,
        sizes: Sizes::new(&[(4, 50), (40, 50)]).unwrap(),
        accessed_pct: 100,
        ..sfs97()
    };
    let mut users = filled(config, 2048);
    plant(&mut users.client);
    let point = closed(&mut users, 16, 2).unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    let mut done = Vec::new();
    (0..16).for_each(|nth| _ = workloads::Operation::start(&mut users, nth, &mut done).unwrap());
    users.client.cut(usize::MAX);
    let audit = users.audit(After::Cut).unwrap();
    (users, audit)
}

#[test]
fn a_renamed_file_is_there_under_its_new_name_alone_after_a_cut() {
    let (mut users, audit) = cut_in_renames(|_| {});
    assert!(audit.is_clean(), "{audit:?}");
    assert!(audit.names_removed > 0 && audit.kib_stable > 0, "{audit:?}");
    for _ in 0..3 {
        let point = closed(&mut users, 16, 2).unwrap();
        assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
        assert!(users.audit(After::Nothing).unwrap().is_clean());
    }
}

#[test]
fn a_rename_that_is_lost_is_found() {
    let (_, audit) = cut_in_renames(|null| null.planted.forgets_renames = true);
    assert!(
        audit.names_lost > 0 && audit.lost() <= audit.acknowledged(),
        "{audit:?}"
    );
}

#[test]
fn renames_without_files_that_are_made_are_refused() {
    let mix = Mix::new(&[(Class::Write, 80), (Class::Commit, 20)]).unwrap();
    let config = Config {
        work: Work::Mix(mix),
        rename_pct: 1,
        ..sfs97()
    };
    assert!(matches!(config.check(), Err(FilesError::Settings(_))));
    assert!(
        Config {
            rename_pct: 1,
            ..sfs97()
        }
        .check()
        .is_ok()
    );
}

#[test]
fn another_verifier_in_the_middle_ends_the_phase() {
    let mut users = filled(sfs97(), 2048);
    closed(&mut users, 16, 1).unwrap();
    users.client.renew().unwrap();
    users.client.cut(1);
    assert!(matches!(closed(&mut users, 16, 1), Err(FilesError::Restarted)));
}

#[test]
fn a_mix_of_ones_own_works() {
    let mix = Mix::new(&[
        (Class::Read, 40),
        (Class::Write, 30),
        (Class::Commit, 10),
        (Class::Create, 5),
        (Class::Remove, 5),
        (Class::Mkdir, 5),
        (Class::Readdirplus, 5),
    ]);
    let config = Config {
        work: Work::Mix(mix.unwrap()),
        ..sfs97()
    };
    let mut users = filled(config, 2048);
    let point = closed(&mut users, 16, 3).unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    users.remove().unwrap();
}
