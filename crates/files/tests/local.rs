//! Plain files in a directory: mixes and steps by threads, audited.
//!
//! Prevents: a client of plain files that answers for the file system (the data are read back and checked).

use files::{After, Class, Config, FilesError, LocalDirectory, Mix, Place, Serving, Steps, Work};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use workloads::Pacing;

fn place(threads: u32) -> (tempfile::TempDir, Place) {
    let directory = tempfile::tempdir().unwrap();
    let held = OwnedFd::from(std::fs::File::open(directory.path()).unwrap());
    let place = Place::Posix(LocalDirectory {
        directory: held,
        direct: false,
        threads,
    });
    (directory, place)
}

#[test]
fn all_works_are_never_wrong_and_leave_nothing() {
    let own = Mix::new(&[
        (Class::Read, 40),
        (Class::Write, 29),
        (Class::Commit, 1),
        (Class::Create, 10),
        (Class::Remove, 10),
        (Class::Readdirplus, 10),
    ]);
    let mixed = Config {
        work: Work::Mix(own.unwrap()),
        ..Config::sfs97(3, 5, 1)
    };
    for config in [
        Config::sfs97(3, 5, 1),
        Config::build(3, 5, 1),
        mixed,
        Config::steps(Steps::Fileserver, 3, 5, 1),
        Config::steps(Steps::Varmail, 3, 5, 1),
        Config::steps(Steps::Webserver, 3, 5, 1),
    ] {
        let (directory, place) = place(3);
        let config = Config {
            accessed_pct: 100,
            ..config
        };
        let work = config.work.clone();
        let mut serving = Serving::begin(config, place).unwrap();
        serving.grow_to(3 << 20, false).unwrap();
        let mut pacing = Pacing::closed(3, 60_000_000_000);
        pacing.stop.operations_per_session = Some(150);
        let point = serving.run(&pacing, 1).unwrap();
        assert_eq!(point.counts.wrong, 0, "{work:?}: {:?}", point.wrong);
        assert_eq!(point.outcome.count(), 450);
        serving.grow_to(4 << 20, false).unwrap();
        let audit = serving.audit(After::Nothing, None).unwrap();
        assert!(audit.is_clean() && audit.kib > 3000, "{work:?}: {audit:?}");
        serving.remove().unwrap();
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}

#[test]
fn a_file_that_somebody_changed_is_found() {
    let (directory, place) = place(1);
    let mut serving = Serving::begin(Config::build(1, 5, 1), place).unwrap();
    serving.grow_to(256 << 10, false).unwrap();
    let one = directory.path().join("assay-00000005/d0000000000/f0000000003");
    let mut bytes = std::fs::read(&one).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&one, bytes).unwrap();
    let audit = serving.audit(After::Nothing, None).unwrap();
    assert_eq!(audit.kib_lost, 1, "{audit:?}");
}

/// The links of a tree and where they lead.
fn links(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let all = entries.flat_map(|entry| match std::fs::read_link(entry.path()) {
        Ok(to) => vec![(entry.path(), to)],
        Err(_) if entry.file_type().unwrap().is_dir() => links(&entry.path()),
        Err(_) => Vec::new(),
    });
    all.collect()
}

#[test]
fn a_point_after_an_error_counts_nothing_of_the_one_before() {
    let (directory, place) = place(2);
    let mix = Mix::new(&[(Class::Lookup, 95), (Class::Readlink, 5)]).unwrap();
    let config = Config {
        work: Work::Mix(mix),
        accessed_pct: 100,
        ..Config::build(2, 5, 1)
    };
    let mut serving = Serving::begin(config, place).unwrap();
    serving.grow_to(256 << 10, false).unwrap();
    let mut pacing = Pacing::closed(2, 60_000_000_000);
    pacing.stop.operations_per_session = Some(150);
    let links = links(directory.path());
    assert!(links.len() >= 2, "{links:?}");
    // No link any more: a call that reads it ends the point, and the lookups before it were counted.
    for (link, _) in &links {
        std::fs::remove_file(link).unwrap();
        std::fs::write(link, "").unwrap();
    }
    let ended = serving.run(&pacing, 1);
    assert!(matches!(ended, Err(FilesError::Refused { .. })), "{ended:?}");
    assert!(serving.counts().calls > 0, "nothing was counted before the error");
    for (link, to) in &links {
        std::fs::remove_file(link).unwrap();
        std::os::unix::fs::symlink(to, link).unwrap();
    }
    let point = serving.run(&pacing, 1).unwrap();
    assert_eq!(point.outcome.count(), 300);
    for class in &point.outcome.classes {
        assert_eq!(class.response.len(), class.count, "{}", class.name);
    }
}

#[test]
fn a_thread_has_one_session() {
    let (_directory, place) = place(2);
    let mut serving = Serving::begin(Config::build(4, 5, 1), place).unwrap();
    serving.grow_to(256 << 10, false).unwrap();
    assert!(matches!(
        serving.run(&Pacing::closed(4, 1), 1),
        Err(FilesError::Settings(_))
    ));
}
