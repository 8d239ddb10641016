//! What quick plans, as root, as a user, without tools, without room: each text is a study that fits its time.

use super::*;
use plan::{Study, Turns};

const ALL: [&str; 3] = ["ext4", "xfs", "diskgroup"];
const WITH_LVM: [&str; 4] = ["ext4", "xfs", "lvm", "diskgroup"];

fn probed(able: &[&str]) -> Vec<Buildable> {
    let one = |kind| Buildable {
        kind,
        able: able.contains(&kind),
        reason: "the tool was not found".into(),
        cure: "install it".into(),
        tool_version: String::new(),
    };
    WITH_LVM.into_iter().map(one).collect()
}

struct Case<'a> {
    places: &'a [&'a str],
    luns: bool,
    is_root: bool,
    able: &'a [&'a str],
    room_mib: u64,
}

const ROOT: Case<'static> = Case {
    places: &["/tmp/a \"quoted\" place"],
    luns: true,
    is_root: true,
    able: &ALL,
    room_mib: 1 << 20,
};

const USER: Case<'static> = Case {
    is_root: false,
    able: &["diskgroup"],
    ..ROOT
};

fn plan_of(case: &Case<'_>) -> Result<(Planned, Study), String> {
    let places: Vec<PathBuf> = case.places.iter().map(PathBuf::from).collect();
    let planned = planned(&Here {
        places: &places,
        luns: case.luns,
        is_root: case.is_root,
        probed: &probed(case.able),
        has_room: &|_, bytes| bytes <= case.room_mib * MIB,
    })?;
    let study = plan::parse(&planned.text, Path::new("quick.toml"));
    let study = study.unwrap_or_else(|e| panic!("{e}\n{}", planned.text));
    Ok((planned, study))
}

fn names(study: &Study) -> Vec<&str> {
    study.stacks.iter().map(|stack| stack.name.as_str()).collect()
}

fn must(case: &Case<'_>) -> (Planned, Study) {
    plan_of(case).unwrap_or_else(|cure| panic!("{cure}"))
}

#[test]
fn each_plan_has_at_least_eight_blocks_in_three_minutes_and_few_comparisons() {
    let two = Case {
        places: &["/tmp/a", "/tmp/b"],
        ..USER
    };
    let no_xfs = Case {
        able: &["ext4", "diskgroup"],
        ..ROOT
    };
    let no_luns = Case { luns: false, ..USER };
    let lvm = Case {
        able: &WITH_LVM,
        ..ROOT
    };
    for case in [&ROOT, &USER, &two, &no_xfs, &no_luns, &lvm] {
        let (planned, study) = must(case);
        let estimate = plan::estimate(&study, 500 << 20);
        let blocks = estimate.blocks(&study);
        assert!(blocks >= 8, "{blocks} blocks\n{}", planned.text);
        assert!(estimate.study_ns(blocks) < 180_000_000_000, "{}", planned.text);
        assert!(study.fill_time && study.stop_early && study.time_limit.0 < 180_000_000_000);
        let ranked = study.phases.iter().filter(|phase| phase.ranked).count();
        let comparisons = (study.stacks.len() - 1) * ranked;
        assert!((1..=4).contains(&comparisons), "{}", planned.text);
    }
}

#[test]
fn stacks_stand_side_by_side_on_luns_of_their_own() {
    let (_, root) = must(&ROOT);
    assert_eq!(names(&root), ["ext4", "XFS", "disk group"]);
    assert_eq!(root.luns.len(), 3);
    let (planned, with_lvm) = must(&Case {
        able: &WITH_LVM,
        ..ROOT
    });
    assert_eq!(names(&with_lvm), ["ext4", "ext4 on LVM", "disk group"]);
    assert!(planned.left_out.iter().any(|one| one.starts_with("XFS and btrfs")));
    let (_, user) = must(&USER);
    assert_eq!(names(&user), ["files", "disk group"]);
    for study in [root, user, with_lvm] {
        assert!(matches!(study.turns(), Turns::Stints(_)), "{:?}", study.turns());
    }
}

#[test]
fn lvm_is_not_taken_where_no_loop_device_can_carry_it() {
    for (has_loops, expected) in [(true, true), (false, false)] {
        let mut all = probed(&WITH_LVM);
        all.push(Buildable {
            kind: "raw",
            able: has_loops,
            reason: "no loop devices".into(),
            cure: "modprobe loop".into(),
            tool_version: String::new(),
        });
        let here = Here {
            places: &[PathBuf::from("/tmp/a")],
            luns: true,
            is_root: true,
            probed: &all,
            has_room: &|_, _| true,
        };
        assert_eq!(has_lvm(&here), expected, "loop devices: {has_loops}");
    }
}

#[test]
fn what_is_left_out_has_its_reason() {
    let no_xfs = Case {
        able: &["ext4", "diskgroup"],
        ..ROOT
    };
    let (planned, study) = must(&no_xfs);
    assert_eq!(names(&study), ["ext4", "disk group"]);
    assert!(planned.left_out.iter().any(|one| one.contains("install it")));
    // Two LUN files of 160 MiB fit, three of 304 MiB do not.
    let (planned, study) = must(&Case { room_mib: 400, ..ROOT });
    assert_eq!(names(&study), ["ext4", "disk group"]);
    assert!(planned.left_out.iter().any(|one| one.contains("no room")));
    // Room for one database in a directory.
    let (planned, study) = must(&Case { room_mib: 100, ..ROOT });
    assert_eq!(names(&study), ["direct", "page cache"]);
    assert!(planned.left_out.iter().any(|one| one.contains("no room")));
    let cure = plan_of(&Case { room_mib: 50, ..ROOT }).expect_err("there is no room for anything");
    assert!(
        cure.lines()
            .last()
            .is_some_and(|last| last.contains("another directory"))
    );
}

#[test]
fn root_hears_before_that_the_page_cache_of_the_host_is_emptied() {
    let two = &["/tmp/a", "/tmp/b"][..];
    for (is_root, able) in [(true, &ALL[..]), (false, &["diskgroup"][..])] {
        let here = Case { is_root, able, ..ROOT };
        let no_luns = Case { luns: false, ..here };
        let between = Case { places: two, ..here };
        for case in [&here, &no_luns, &between] {
            let (planned, _) = must(case);
            let said = planned.announced().iter().any(|line| line.contains("empties"));
            assert_eq!(said, is_root, "{planned:?}");
        }
    }
}

#[test]
fn what_is_said_before_fits_eighty_columns() {
    for case in [&ROOT, &USER] {
        let (planned, _) = must(case);
        for line in planned.announced() {
            let folded = crate::commands::answer::wrapped("quick:", 7, &line);
            assert!(folded.lines().all(|line| line.chars().count() <= 80), "{folded}");
        }
    }
}
