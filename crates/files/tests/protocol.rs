//! The NFS client beside a server in this process that answers well, badly, or not at all.
//!
//! Prevents: a panic, a wait without end or a wrong answer that passes, whatever a server sends.

use crate::server::{Server, Spoiled};
use files::{After, Class, Config, FilesError, Mix, Place, Point, Serving, Sizes, Steps, Work};
use workloads::Pacing;

fn config() -> Config {
    Config {
        sizes: Sizes::new(&[(4, 50), (20, 50)]).unwrap(),
        accessed_pct: 100,
        ..Config::sfs97(16, 9, 1)
    }
}

fn only(class: Class) -> Config {
    Config {
        work: Work::Mix(Mix::new(&[(class, 100)]).unwrap()),
        lookups_failed_pct: 0,
        ..config()
    }
}

/// Fills the tree of a good server, spoils it, and works until so many operations of each session are done.
fn work(config: Config, spoiled: Spoiled, each: u64) -> (Serving, Result<Point, FilesError>) {
    let server = Server::start();
    let mut serving = Serving::begin(config, Place::Nfs3(server.place(3))).unwrap();
    serving.grow_to(512 << 10, true).unwrap();
    server.spoil(spoiled);
    let mut pacing = Pacing::closed(16, 60_000_000_000);
    pacing.stop.operations_per_session = Some(each);
    let point = serving.run(&pacing, 5);
    (serving, point)
}

#[test]
fn a_good_server_is_never_wrong_over_three_connections() {
    let (mut serving, point) = work(config(), Spoiled::Nothing, 300);
    let point = point.unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    assert_eq!(point.outcome.count(), 16 * 300);
    assert!(point.counts.sends > 0 && point.counts.sends < point.counts.calls);
    let audit = serving.audit(After::Nothing, None).unwrap();
    assert!(audit.is_clean() && audit.kib >= 512, "{audit:?}");
    serving.remove().unwrap();
}

#[test]
fn replies_in_pieces_are_joined() {
    for piece in [500, 4096] {
        let (_, point) = work(config(), Spoiled::Fragments(piece), 50);
        let point = point.unwrap();
        assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    }
}

#[test]
fn what_breaks_the_protocol_ends_the_phase() {
    for spoiled in [
        Spoiled::EndlessFragments(20),
        Spoiled::UnknownNumber(20),
        Spoiled::Twice(20),
        Spoiled::Huge(20),
    ] {
        let (_, point) = work(config(), spoiled, 300);
        assert!(
            matches!(point, Err(FilesError::Garbled { .. })),
            "{spoiled:?}: {point:?}"
        );
    }
}

#[test]
fn a_server_that_is_gone_or_silent_ends_the_phase() {
    let (_, point) = work(config(), Spoiled::Dies(40), 300);
    assert!(matches!(point, Err(FilesError::Gone { .. })), "{point:?}");
    let (_, point) = work(config(), Spoiled::Silent(40), 300);
    assert!(matches!(point, Err(FilesError::Silent { .. })), "{point:?}");
}

/// One connection waits in its socket, several in the set of all.
#[test]
fn a_server_that_sends_a_byte_now_and_then_is_silent() {
    for connections in [1, 3] {
        let server = Server::start();
        let mut serving = Serving::begin(config(), Place::Nfs3(server.place(connections))).unwrap();
        serving.grow_to(512 << 10, true).unwrap();
        server.spoil(Spoiled::Trickles(40));
        let ended = serving.run(&Pacing::closed(16, 60_000_000_000), 5);
        assert!(matches!(ended, Err(FilesError::Silent { .. })), "{ended:?}");
    }
}

/// RFC 1813, 3.3.6 and 3.3.7: the rest is asked for, and is judged as if it had come at once.
#[test]
fn a_server_may_read_and_write_less_than_it_is_asked_for() {
    let mix = Mix::new(&[(Class::Read, 50), (Class::Write, 40), (Class::Commit, 10)]).unwrap();
    let config = Config {
        work: Work::Mix(mix),
        stable_pct: 20,
        ..config()
    };
    // Two KiB, and a part of a third that is asked for again.
    for most in [2048, 2500] {
        let server = Server::start();
        let mut serving = Serving::begin(config.clone(), Place::Nfs3(server.place(2))).unwrap();
        server.spoil(Spoiled::Short(most));
        let filled = serving.grow_to(512 << 10, true).unwrap();
        assert_eq!(filled.written_bytes, filled.tree.bytes);
        let mut pacing = Pacing::closed(16, 60_000_000_000);
        pacing.stop.operations_per_session = Some(200);
        let point = serving.run(&pacing, 5).unwrap();
        assert_eq!(point.counts.wrong, 0, "{most}: {:?}", point.wrong);
        let (calls, operations) = (point.counts.calls, point.outcome.count());
        assert_eq!(operations, 16 * 200);
        assert!(calls > operations * 3 / 2, "{calls} calls of {operations}");
        let moved: u64 = point.outcome.classes.iter().map(|class| class.units).sum();
        assert_eq!(moved, point.counts.read_bytes + point.counts.written_bytes);
        let audit = serving.audit(After::Nothing, None).unwrap();
        assert!(audit.is_clean() && audit.kib >= 512, "{most}: {audit:?}");
    }
}

#[test]
fn an_answer_that_does_not_go_on_and_an_end_that_is_none_are_wrong() {
    let writes = Config {
        stable_pct: 100,
        ..only(Class::Write)
    };
    for (config, spoiled) in [
        (only(Class::Read), Spoiled::Short(0)),
        (only(Class::Read), Spoiled::Short(700)),
        (only(Class::Read), Spoiled::EndsEarly(2048)),
        (writes, Spoiled::Short(0)),
    ] {
        let (mut serving, point) = work(config, spoiled, 20);
        let point = point.unwrap();
        assert!(point.counts.wrong > 20, "{spoiled:?}: {:?}", point.counts);
        let audit = serving.audit(After::Nothing, None).unwrap();
        assert!(audit.kib_lost > 0, "{spoiled:?}: {audit:?}");
    }
    let server = Server::start();
    let mut serving = Serving::begin(config(), Place::Nfs3(server.place(1))).unwrap();
    server.spoil(Spoiled::Short(0));
    let filled = serving.grow_to(512 << 10, true);
    assert!(matches!(filled, Err(FilesError::Taken { count: 0, .. })), "{filled:?}");
}

#[test]
fn a_connection_that_ends_is_made_again_and_its_calls_repeated() {
    let (mut serving, point) = work(config(), Spoiled::Ends(200), 300);
    let point = point.unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    assert_eq!(point.counts.reconnects, 1);
    assert!(point.counts.repeated > 0);
    assert!(serving.audit(After::Nothing, None).unwrap().is_clean());
}

#[test]
fn changes_that_meet_their_own_traces_are_counted_and_not_wrong() {
    let config = Config {
        work: Work::Mix(Mix::new(&[(Class::Create, 40), (Class::Remove, 40), (Class::Getattr, 20)]).unwrap()),
        ..config()
    };
    let (mut serving, point) = work(config, Spoiled::EndsAfterChange(50), 200);
    let point = point.unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    assert!(
        point.counts.traces > 0 && point.counts.reconnects > 0,
        "{:?}",
        point.counts
    );
    assert!(serving.audit(After::Nothing, None).unwrap().is_clean());
}

#[test]
fn a_renamed_file_has_its_new_name_alone_and_its_data() {
    // Few files are made, so names that a rename freed stay free: some are there to look up at the end.
    let mix = Mix::new(&[
        (Class::Read, 66),
        (Class::Write, 20),
        (Class::Commit, 10),
        (Class::Create, 4),
    ]);
    let config = Config {
        work: Work::Mix(mix.unwrap()),
        rename_pct: 30,
        ..config()
    };
    for spoiled in [Spoiled::Nothing, Spoiled::EndsAfterChange(50)] {
        let (mut serving, point) = work(config.clone(), spoiled, 200);
        let point = point.unwrap();
        assert_eq!(point.counts.wrong, 0, "{spoiled:?}: {:?}", point.wrong);
        assert_eq!(
            point.counts.traces > 0,
            spoiled != Spoiled::Nothing,
            "{:?}",
            point.counts
        );
        let audit = serving.audit(After::Nothing, None).unwrap();
        assert!(audit.is_clean() && audit.names_removed > 5, "{spoiled:?}: {audit:?}");
        serving.remove().unwrap();
    }
}

#[test]
fn put_off_calls_are_tried_again() {
    let (_, point) = work(config(), Spoiled::Later(100), 60);
    let point = point.unwrap();
    assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
    assert!(point.counts.later > 5);
    assert_eq!(point.outcome.count(), 16 * 60);
}

#[test]
fn each_kind_of_wrong_answer_is_counted() {
    for (class, spoiled) in [
        (Class::Read, Spoiled::Damaged(10)),
        (Class::Getattr, Spoiled::OtherSize),
        (Class::Lookup, Spoiled::OtherHandle),
        (Class::Readdir, Spoiled::ListsTwice),
        (Class::Readdirplus, Spoiled::ListsTwice),
        (Class::Readdir, Spoiled::ListsLess),
        (Class::Readdirplus, Spoiled::ListsForEver),
    ] {
        let (_, point) = work(only(class), spoiled, 50);
        let point = point.unwrap();
        assert!(point.counts.wrong > 20, "{class:?} {spoiled:?}: {:?}", point.counts);
        assert!(!point.wrong.is_empty());
        let (_, point) = work(only(class), Spoiled::Nothing, 50);
        assert_eq!(point.unwrap().counts.wrong, 0, "{class:?}");
    }
}

#[test]
fn damage_is_found_by_the_audit_too() {
    let server = Server::start();
    let mut serving = Serving::begin(config(), Place::Nfs3(server.place(2))).unwrap();
    serving.grow_to(512 << 10, true).unwrap();
    server.spoil(Spoiled::Damaged(5));
    let audit = serving.audit(After::Nothing, None).unwrap();
    assert!(audit.kib_lost > 0 && !audit.examples.is_empty(), "{audit:?}");
}

#[test]
fn a_run_that_is_there_already_is_not_touched() {
    let server = Server::start();
    let _first = Serving::begin(config(), Place::Nfs3(server.place(1))).unwrap();
    let second = Serving::begin(config(), Place::Nfs3(server.place(1)));
    assert!(matches!(second.err(), Some(FilesError::Tree(_))));
}

#[test]
fn a_tree_that_was_made_in_part_is_removed_whole() {
    for at in 1..8 {
        let server = Server::start();
        let mut serving = Serving::begin(config(), Place::Nfs3(server.place(1))).unwrap();
        server.spoil(Spoiled::NoMoreDirectories(at));
        let grown = serving.grow_to(4 << 20, true);
        assert!(matches!(grown, Err(FilesError::Refused { .. })), "{grown:?}");
        let before = server.names();
        serving.remove().unwrap();
        assert!(
            before > 0 && server.names() == 0,
            "{} of {before} are left",
            server.names()
        );
    }
}

#[test]
fn a_name_that_is_said_to_be_there_ends_the_phase_and_nothing_else() {
    let mut config = config();
    config.work = Work::Steps(Steps::Varmail);
    let (serving, point) = work(config, Spoiled::SaysThere, 50);
    assert!(!matches!(&point, Ok(point) if point.counts.wrong == 0), "{point:?}");
    serving.remove().unwrap();
}
