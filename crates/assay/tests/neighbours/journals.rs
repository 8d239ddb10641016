//! Journals that somebody else has written, or can write to: `assay clean` follows none of them.

use crate::neighbours::town::{Town, on_lun, stop_at};
use crate::rig::{Ran, Running};
use rustix::process::Signal;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;

/// A journal of a run that is no more, whose undo removes a directory with its contents.
fn planted(target: &Path) -> String {
    // Of another boot, what ends with a boot would count as undone.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the boot");
    let boot = boot.trim();
    format!(
        "{{\"begin\":{{\"version\":1,\"run_id\":\"planted\",\"pid\":999999,\"started\":1,\"boot\":\"{boot}\"}}}}\n\
         {{\"step\":{{\"number\":0,\"undo\":{{\"kind\":\"remove_dir\",\"path\":\"{}\",\"contents\":true}}}}}}\n",
        target.display()
    )
}

fn clean(town: &Town, state: &Path) -> Ran {
    let mut clean = town.rig.assay(&["clean"]);
    clean.env("ASSAY_STATE_DIR", state);
    Running::start(clean).wait()
}

/// Followed by nobody: it is said why, and the canaries live.
fn assert_ignored(town: &Town, ran: &Ran, attack: &str) {
    assert_eq!(ran.code(), 4, "{attack}:\n{}{}", ran.stdout, ran.stderr);
    town.assert_alive(attack);
}

#[test]
fn a_journal_that_another_user_owns_or_can_write_to_is_not_followed() {
    let Some(town) = Town::new() else { return };
    let victim = town.rig.path("canaries");
    let state = |name: &str| {
        let dir = town.roots(name);
        std::fs::write(dir.join("planted.journal"), planted(&victim)).expect("written");
        (dir.clone(), dir.join("planted.journal"))
    };
    let (dir, journal) = state("owned");
    chown(&journal, Some(town.user.uid), None).expect("hers");
    assert_ignored(&town, &clean(&town, &dir), "a journal of hers");
    let (dir, journal) = state("writable");
    std::fs::set_permissions(&journal, PermissionsExt::from_mode(0o666)).expect("its mode");
    assert_ignored(&town, &clean(&town, &dir), "a journal that she can write to");
    let (dir, journal) = state("linked");
    let elsewhere = town.hers("elsewhere").join("planted");
    std::fs::rename(&journal, &elsewhere).expect("moved");
    symlink(&elsewhere, &journal).expect("a link");
    assert_ignored(&town, &clean(&town, &dir), "a link to a journal");
    let (dir, journal) = state("named-twice");
    std::fs::hard_link(&journal, town.rig.path("second-name")).expect("a link");
    assert_ignored(&town, &clean(&town, &dir), "a journal with two names");
    let (dir, journal) = state("pipe");
    std::fs::remove_file(&journal).expect("removed");
    crate::rig::tool("mkfifo", &[crate::rig::text(&journal)]);
    assert_ignored(&town, &clean(&town, &dir), "a pipe in place of a journal");
    // The twin: root's own journal, which names a directory of root's.
    let (dir, journal) = state("honest");
    let own = town.roots("assay-left");
    std::fs::write(&journal, planted(&own)).expect("written");
    let ran = clean(&town, &dir);
    assert_eq!(ran.code(), 0, "{}{}", ran.stdout, ran.stderr);
    assert!(!own.exists() && !journal.exists());
}

#[test]
fn a_state_directory_of_another_user_is_refused_with_the_cure() {
    let Some(town) = Town::new() else { return };
    let hers = town.hers("hers-state");
    std::fs::write(hers.join("planted.journal"), planted(&town.rig.path("canaries"))).expect("written");
    let open = town.roots("open-state");
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o1777)).expect("its mode");
    std::fs::write(open.join("planted.journal"), planted(&town.rig.path("canaries"))).expect("written");
    for state in [&hers, &open] {
        let ran = clean(&town, state);
        assert_ignored(&town, &ran, "a state directory of hers");
        assert!(
            ran.stderr.contains("root does not work in") || ran.stderr.contains("ASSAY_STATE_DIR"),
            "{}",
            ran.stderr
        );
        let work = town.rig.work();
        let study = town.rig.study("state", &on_lun(&work, 100));
        let mut run = town.rig.run_command(&study, &town.rig.result("state"), &[]);
        run.env("ASSAY_STATE_DIR", state);
        assert_eq!(Running::start(run).wait().code(), 3);
        town.assert_clean("a run with a state directory of hers");
    }
}

#[test]
fn an_ordinary_user_without_a_home_follows_no_journal_in_a_shared_directory() {
    let Some(town) = Town::new() else { return };
    // Another user, who runs `assay clean`, and whose files the planted journal names.
    let alice = 54_321;
    let (shared, hers) = (town.roots("shared-tmp"), town.roots("alices"));
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o1777)).expect("its mode");
    chown(&hers, Some(alice), None).expect("hers");
    std::fs::write(hers.join("precious"), "alive").expect("written");
    chown(hers.join("precious"), Some(alice), None).expect("hers");
    let text = planted(&hers);
    town.user.does(
        &shared,
        &format!("mkdir -m 777 assay; printf '%s' '{text}' >assay/planted.journal; chmod 666 assay/*"),
    );
    let program = town.rig.path("assay");
    crate::rig::copy_program(&program);
    let call = |state: Option<&Path>| {
        let mut clean = std::process::Command::new(&program);
        clean
            .arg("clean")
            .env_clear()
            .env("TMPDIR", &shared)
            .current_dir("/")
            .uid(alice)
            .gid(65534);
        clean.envs(state.map(|dir| ("ASSAY_STATE_DIR", dir)));
        clean
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        Running::start(clean).wait()
    };
    for state in [None, Some(shared.join("assay"))] {
        let ran = call(state.as_deref());
        assert_eq!(ran.code(), 4, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("ASSAY_STATE_DIR"), "no cure:\n{}", ran.stderr);
        assert_eq!(std::fs::read(hers.join("precious")).expect("read"), b"alive");
    }
    let own = town.roots("alices-state");
    chown(&own, Some(alice), None).expect("hers");
    let ran = call(Some(&own));
    assert_eq!(ran.code(), 0, "the twin:\n{}", ran.stderr);
}

#[test]
fn an_undo_that_points_outside_what_a_run_can_make_does_nothing() {
    let Some(town) = Town::new() else { return };
    let state = town.roots("crafted");
    let setting = town.canary("open");
    let begin = planted(&setting);
    let begin = begin.lines().next().expect("a line");
    let undos = [
        format!(
            "{{\"kind\":\"restore_setting\",\"file\":\"{}\",\"value\":\"dead\"}}",
            setting.display()
        ),
        format!(
            "{{\"kind\":\"remove_cgroup\",\"path\":\"{}\"}}",
            town.roots("empty").display()
        ),
        format!(
            "{{\"kind\":\"remove_file\",\"path\":\"{}\"}}",
            town.rig.path("canaries").display()
        ),
        format!("{{\"kind\":\"unknown\",\"path\":\"{}\"}}", setting.display()),
    ];
    for undo in undos {
        let journal = state.join("crafted.journal");
        std::fs::write(
            &journal,
            format!("{begin}\n{{\"step\":{{\"number\":0,\"undo\":{undo}}}}}\n"),
        )
        .expect("written");
        assert_ignored(&town, &clean(&town, &state), &undo);
        std::fs::remove_file(&journal).expect("it stays");
    }
    assert!(town.rig.path("empty").is_dir());
}

#[test]
fn a_loop_device_is_detached_although_its_file_has_another_name_by_then() {
    let Some(town) = Town::new() else { return };
    let dir = town.roots("place");
    let mut running = town.start(&on_lun(&dir, 300), "renamed");
    let mounted = || {
        let table = std::fs::read_to_string("/proc/self/mountinfo").expect("readable");
        table
            .lines()
            .any(|line| line.contains(crate::rig::text(&dir)) && line.contains(" - ext4 "))
            .then_some(())
    };
    stop_at(&mut running, mounted);
    running.signal(Signal::KILL);
    running.wait();
    let own = crate::neighbours::town::entry(&dir, "assay-2").expect("the run's folder");
    std::fs::rename(own.join("data-0.lun"), own.join("other.lun")).expect("renamed");
    let ran = Running::start(town.rig.assay(&["clean"])).wait();
    // The folder is not empty, and the other name is not the run's: it stays, and that is said.
    assert_eq!(ran.code(), 4, "{}{}", ran.stdout, ran.stderr);
    let attached = crate::rig::tool("losetup", &["-a"]);
    assert!(!attached.contains("other.lun"), "the loop device is left: {attached}");
    std::fs::remove_file(own.join("other.lun")).expect("removed");
    assert_eq!(Running::start(town.rig.assay(&["clean"])).wait().code(), 0);
    town.assert_clean("a renamed LUN file");
}
