//! Places that another user can change: root does not work there, says who can change what, and names the cure.

use crate::neighbours::town::{Town, on_directory, on_lun};
use crate::rig::{Ran, Running, text};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

/// An access list that lets user `uid` write: version 2; owner, the user, group, mask, others.
fn access_list(uid: u32) -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 7, u32::MAX),
        (0x02, 7, uid),
        (0x04, 5, u32::MAX),
        (0x10, 7, u32::MAX),
        (0x20, 5, u32::MAX),
    ];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

/// Directories that she can change, by how.
fn changeable(town: &Town) -> Vec<(&'static str, PathBuf)> {
    let hers = town.hers("hers");
    let below = hers.join("roots-own");
    std::fs::create_dir(&below).expect("made");
    let linked = hers.join("link");
    symlink(town.roots("honest-target"), &linked).expect("a link");
    let open = town.roots("open");
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).expect("its mode");
    let below_open = open.join("below");
    std::fs::create_dir(&below_open).expect("made");
    let group = town.roots("group");
    chown(&group, None, Some(65534)).expect("its group");
    std::fs::set_permissions(&group, PermissionsExt::from_mode(0o775)).expect("its mode");
    let listed = town.roots("listed");
    let list = access_list(town.user.uid);
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&listed, "system.posix_acl_access", &list, flags).expect("an access list");
    let sticky = town.roots("sticky");
    std::fs::set_permissions(&sticky, PermissionsExt::from_mode(0o1777)).expect("its mode");
    town.user.does(&sticky, "mkdir taken");
    vec![
        ("a directory of hers", hers.clone()),
        ("root's own directory in hers", below),
        ("a link of hers to root's own directory", linked),
        ("a directory for everybody", open),
        ("root's own directory in one for everybody", below_open),
        ("a directory for her group", group),
        ("a directory with an access list for her", listed),
        ("her directory where everybody may make some", sticky.join("taken")),
    ]
}

/// Directories where root is alone, by why.
fn honest(town: &Town) -> Vec<(&'static str, PathBuf)> {
    let plain = town.roots("plain");
    let sticky = town.roots("everybody");
    std::fs::set_permissions(&sticky, PermissionsExt::from_mode(0o1777)).expect("its mode");
    let group = town.roots("roots-group");
    std::fs::set_permissions(&group, PermissionsExt::from_mode(0o775)).expect("its mode");
    let linked = town.rig.path("roots-link");
    symlink(&plain, &linked).expect("a link");
    vec![
        ("root's own", plain),
        ("one for everybody with the sticky bit", sticky),
        ("one for root's group", group),
        ("a link of root's", linked),
    ]
}

/// Refused, who and what are said, and the last line is the cure.
fn assert_refused(town: &Town, ran: &Ran, attack: &str) {
    assert!(
        matches!(ran.code(), 2..=4),
        "{attack}: exit code {}\n{}",
        ran.code(),
        ran.stderr
    );
    assert!(
        ran.stderr.contains("root does not work in"),
        "{attack}:\n{}",
        ran.stderr
    );
    let last = ran.stderr.trim_end().lines().last().unwrap_or_default();
    assert!(
        last.starts_with("  name a directory that only root can change"),
        "{attack}:\n{}",
        ran.stderr
    );
    town.assert_clean(attack);
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir)
        .expect("listed")
        .flatten()
        .all(|e| !e.file_name().to_string_lossy().starts_with("assay-"))
}

#[test]
fn lun_files_and_stacks_do_not_go_where_she_can_change_them() {
    let Some(town) = Town::new() else { return };
    for (what, dir) in changeable(&town) {
        for (kind, study) in [("LUN files", on_lun(&dir, 100)), ("a stack", on_directory(&dir, 100))] {
            let attack = format!("{kind} in {what}");
            assert_refused(&town, &town.check(&study), &format!("check of {attack}"));
            let ran = town.run(&study, "attack", &[]);
            let is_hers = what.contains("of hers") || what.starts_with("her ");
            assert!(
                !is_hers || ran.stderr.contains(town.user.name()),
                "{attack}: who?\n{}",
                ran.stderr
            );
            assert_refused(&town, &ran, &attack);
            assert!(
                !town.rig.result("attack").exists(),
                "{attack}: a refused study has no result"
            );
            assert!(is_empty(&dir), "{attack}: something was made there");
        }
    }
    for (number, (what, dir)) in honest(&town).into_iter().enumerate() {
        let study = if number % 2 == 0 {
            on_lun(&dir, 100)
        } else {
            on_directory(&dir, 100)
        };
        for ran in [town.check(&study), town.run(&study, &format!("twin{number}"), &[])] {
            assert_eq!(ran.code(), 0, "{what}:\n{}", ran.stderr);
        }
        assert!(is_empty(&dir));
        town.assert_clean(what);
    }
}

#[test]
fn results_pages_imports_and_quick_do_not_go_where_she_can_change_them() {
    let Some(town) = Town::new() else { return };
    let (work, hers) = (town.roots("place"), town.hers("hers"));
    let study = town.rig.study("result", &on_directory(&work, 100));
    let call = |args: &[&str]| Running::start(town.rig.assay(args)).wait();
    // She has put links to canaries where the names will be.
    for (name, target) in [("r.assay", "secret"), ("p.html", "open"), ("i.assay", "secret")] {
        symlink(town.canary(target), hers.join(name)).expect("a link");
    }
    let (fresh, page) = (hers.join("fresh.assay"), hers.join("p.html"));
    let ran = call(&["run", text(&study), "--output", text(&fresh)]);
    assert_refused(&town, &ran, "a result file in her directory");
    let ran = call(&["run", text(&study), "--output", text(&hers.join("r.assay"))]);
    assert_eq!(ran.code(), 2, "{}", ran.stderr);
    town.assert_clean("a result file over her link");
    // She could put a journal beside it.
    let everybodys = town.roots("everybodys");
    std::fs::set_permissions(&everybodys, PermissionsExt::from_mode(0o1777)).expect("its mode");
    let shared = everybodys.join("s.assay");
    let ran = call(&["run", text(&study), "--output", text(&shared)]);
    assert!(
        matches!(ran.code(), 2..=4) && ran.stderr.contains("root keeps no such file in"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.trim_end().ends_with("or run without root") && !shared.exists());
    let honest = town.rig.result("honest");
    let honest_page = town.rig.path("results").join("p.html");
    let ran = call(&["run", text(&study), "--output", text(&honest), "--html", text(&page)]);
    assert_refused(&town, &ran, "a page in her directory");
    let ran = call(&[
        "run",
        text(&study),
        "--output",
        text(&honest),
        "--html",
        text(&honest_page),
    ]);
    assert_eq!(ran.code(), 0, "the twin:\n{}", ran.stderr);
    assert!(honest.is_file() && honest_page.is_file());
    let ran = call(&["report", text(&honest), "--html", text(&page)]);
    assert_refused(&town, &ran, "a later page in her directory");
    let awr = town.rig.path("iostat.txt");
    std::fs::write(&awr, "").expect("written");
    let into = hers.join("i.assay");
    let ran = call(&[
        "import",
        text(&awr),
        "--into",
        text(&into),
        "--stack",
        "s",
        "--phase",
        "p",
    ]);
    assert_ne!(ran.code(), 0, "an import into her link");
    town.assert_clean("an import into her link");
    let ran = call(&["quick", text(&hers)]);
    assert_refused(&town, &ran, "quick in her directory");
    let told = ran.stderr.lines().filter(|line| !line.trim().is_empty()).count();
    assert_eq!(told, 2, "one sentence and its cure:\n{}", ran.stderr);
}

#[test]
fn a_temporary_directory_of_hers_is_not_used() {
    let Some(town) = Town::new() else { return };
    let (hers, place) = (town.hers("hers-tmp"), town.roots("place"));
    let mut quick = town.rig.assay(&["quick", "--no-luns", text(&place)]);
    quick.env("TMPDIR", &hers);
    assert_refused(&town, &Running::start(quick).wait(), "quick with her TMPDIR");
    assert!(is_empty(&hers));
}

#[test]
fn a_program_of_hers_in_the_search_path_is_not_run() {
    let Some(town) = Town::new() else { return };
    let (hers, place) = (town.hers("hers-bin"), town.roots("place"));
    let fallen = town.rig.path("fallen");
    let script = format!("#!/bin/sh\ntouch {}\nexit 1\n", fallen.display());
    for name in ["mkfs.ext4", "dumpe2fs", "losetup", "blockdev", "postgres", "initdb"] {
        town.user
            .does(&hers, &format!("printf '%s' '{script}' >{name}; chmod 755 {name}"));
    }
    let file = town.rig.study("path", &on_lun(&place, 100));
    let mut run = town.rig.run_command(&file, &town.rig.result("path"), &[]);
    let path = std::env::var("PATH").unwrap_or_default();
    run.env("PATH", format!("{}:{path}", hers.display()));
    let ran = Running::start(run).wait();
    assert_eq!(ran.code(), 0, "the honest mkfs is found behind hers:\n{}", ran.stderr);
    assert!(!fallen.exists(), "root ran a program of hers");
    town.assert_clean("a program of hers in PATH");
}

#[test]
fn what_is_mounted_lends_nobody_roots_rights() {
    let Some(town) = Town::new() else { return };
    let place = town.roots("place");
    let mut running = town.start(&on_lun(&place, 300), "guarded");
    let mounted = || {
        let table = std::fs::read_to_string("/proc/self/mountinfo").expect("readable");
        let line = table
            .lines()
            .find(|line| line.contains(text(&place)) && line.contains(" - ext4 "));
        line.map(str::to_owned)
    };
    let line = crate::neighbours::town::stop_at(&mut running, mounted);
    for option in ["nosuid", "nodev", "noexec"] {
        assert!(line.contains(option), "{line}");
    }
    // Who works in it keeps it mounted.
    let mount = line.split(' ').nth(4).expect("its place");
    town.user
        .does(Path::new("/"), &format!("if cd {mount} 2>/dev/null; then exit 1; fi"));
    running.signal(rustix::process::Signal::CONT);
    let ran = running.wait();
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    town.assert_clean("guarded mounts");
}

#[test]
fn disks_of_a_group_and_copies_out_of_it_are_not_where_she_can_change_them() {
    let Some(town) = Town::new() else { return };
    let (place, hers) = (town.roots("disks"), town.hers("hers"));
    let disks = [place.join("a.disk"), place.join("b.disk")];
    for disk in &disks {
        std::fs::write(disk, vec![0; 64 << 20]).expect("written");
    }
    let [a, b] = [text(&disks[0]), text(&disks[1])];
    let call = |args: &[&str]| Running::start(town.rig.assay(&[&["dg"], args].concat())).wait();
    let ran = call(&["create", "data", a, b, "--redundancy", "normal", "--yes"]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    let (secret, out) = (town.canary("secret"), hers.join("out"));
    let ran = call(&["cp", text(&secret), "data:f", "--disk", a, "--disk", b]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    let ran = call(&["cp", "data:f", text(&out), "--disk", a, "--disk", b]);
    assert_refused(&town, &ran, "a copy into her directory");
    assert!(!out.exists());
    let honest = town.roots("honest").join("out");
    let ran = call(&["cp", "data:f", text(&honest), "--verify", "--disk", a, "--disk", b]);
    assert_eq!(ran.code(), 0, "the twin:\n{}", ran.stderr);
    assert_eq!(
        std::fs::read(&honest).expect("read"),
        std::fs::read(&secret).expect("read")
    );
    // From now on she could put a link to any disk in the place of one.
    chown(&place, Some(town.user.uid), None).expect("handed over");
    for command in ["rebalance", "check"] {
        assert_refused(&town, &call(&[command, "--disk", a, "--disk", b]), command);
    }
}
