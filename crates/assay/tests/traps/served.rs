//! Traps on LUNs that this tool serves itself, through FUSE: they lie, err, lag and lose their power. Need root, loop
//! devices and /dev/fuse.

use crate::machine::is_full;
use crate::rig::{Rig, limited, which};
use crate::traps::on_devices::{DYING, LIES, MODELLED, NEVER_CUT, NO_BARRIERS, ROTTEN, SERVED, SLOW};
use crate::traps::placed::{DATABASE, InMemory, head, reads, report, told};
use crate::traps::sheet::{Judged, STUDY, Trap, at, must_have, on};
use std::path::Path;

pub(crate) fn all(rig: &Rig) -> Vec<Judged> {
    if !Path::new("/dev/fuse").exists() {
        return SERVED.map(|trap| trap.lacking("needs /dev/fuse: modprobe fuse")).into();
    }
    [vec![slow_lun(rig)], mirrors(rig), durability(rig)].concat()
}

/// LUNs of this tool's own in a place.
fn set(name: &str, (count, mib): (u32, u32), place: &Path) -> String {
    format!(
        "[luns.{name}]\nfiles = {{ count = {count}, size = \"{mib}MiB\", dir = \"{}\" }}\nmodel = \"plain\"\n",
        place.display()
    )
}

fn stack(name: &str, kind: &str, data: &str, more: &str) -> String {
    format!("[[stack]]\nname = \"{name}\"\nkind = \"{kind}\"\ndata = \"{data}\"\n{more}\n")
}

/// Two disk groups over three LUNs; one of the first takes longer for each request.
fn slow_lun(rig: &Rig) -> Judged {
    // In memory: a disk that others use may make any LUN the slowest in one block of four.
    let memory = InMemory::new();
    let stacks = ["dying", "well"].map(|name| set(name, (3, 64), memory.path()) + &stack(name, "diskgroup", name, ""));
    let fault = "faults = [{ kind = \"slow\", luns = \"dying\", lun = 1, by = \"8ms\", time = \"60s\" }]\n";
    let study = [head(), &stacks.concat(), DATABASE, &reads("600ms"), fault].concat();
    let found = report(rig, "dying", &study);
    SLOW.judge((&found, at("dying", "work")), (&found, at("well", "work")))
}

/// Mirrors of which one disk gives wrong bytes, or errors: every page comes back right, from the other. A phase before
/// it is the twin.
fn mirrors(rig: &Rig) -> Vec<Judged> {
    let memory = InMemory::new();
    let has_btrfs = which("mkfs.btrfs").is_some();
    let mut stacks =
        set("rotten", (3, 64), memory.path()) + &stack("group", "diskgroup", "rotten", "redundancy = \"normal\"");
    let mut faults = vec!["{ kind = \"corrupt\", luns = \"rotten\", lun = 0, offset = \"8MiB\", time = \"60s\" }"];
    if has_btrfs {
        stacks += &set("dying", (2, 128), memory.path());
        stacks += &stack("btrfs", "btrfs", "dying", "profile = \"raid1\"");
        faults.push("{ kind = \"error\", luns = \"dying\", lun = 1, offset = \"32MiB\", time = \"60s\" }");
    }
    let well = reads("200ms").replace("name = \"work\"", "name = \"well\"");
    let ill = reads("400ms").replace("name = \"work\"", "name = \"ill\"");
    let faults = format!("faults = [{}]\n", faults.join(", "));
    let found = report(
        rig,
        "mirrors",
        &[head(), &stacks, DATABASE, &well, &ill, &faults].concat(),
    );
    let one = |trap: Trap, name| {
        // Nothing failed, and nothing came back wrong: else it would be no trap.
        must_have(&found, at(name, "ill"), &["data loss"]);
        trap.judge((&found, at(name, "ill")), (&found, at(name, "well")))
    };
    vec![
        one(ROTTEN, "group"),
        match has_btrfs {
            true => one(DYING, "btrfs"),
            false => DYING.lacking("needs mkfs.btrfs; ./test installs it"),
        },
        MODELLED.judge_alone((&found, on("group")), (&told(rig, "rested"), on("one"))),
    ]
}

/// Stacks that answer flushes and do not do them, found out by cutting the power; and studies that never ask.
fn durability(rig: &Rig) -> Vec<Judged> {
    let dir = rig.work();
    let apart = set("data", (1, 20), &dir) + &set("redo", (1, 12), &dir);
    let luns = apart.clone() + &set("whole", (1, 48), &dir);
    let raw = |name: &str, more: &str| stack(name, "raw", "data", &format!("redo = \"redo\"\n{more}"));
    // So many in each of four blocks, or all of them in one.
    let study = |luns: &str, stacks: &[String], cuts: u32| {
        let cuts = if is_full() { cuts } else { 4 * cuts };
        let phase = format!(
            "[[phase]]\nname = \"cuts\"\nkind = \"power_cut\"\ncuts = {cuts}\nearliest = \"100ms\"\n\
             latest = \"250ms\"\nsessions = 8\nwork_unit = 4\n"
        );
        limited(&[head(), luns, &stacks.concat(), DATABASE, &phase].concat(), "1ms")
    };
    let stacks = [
        raw("keeps", ""),
        raw("lies", "inject = { flush_lost = true }"),
        stack("ext4", "ext4", "whole", ""),
        stack("unbarred", "ext4", "whole", "mount_options = [\"nobarrier\"]"),
    ];
    let found = report(rig, "cuts", &study(&luns, &stacks, 1));
    // Whose answer is in no doubt lost nothing and had something to lose: one cut of a few finds pages that wait for
    // their flush.
    let kept = report(rig, "kept", &study(&apart, &[raw("keeps", "")], 5));
    // What kept everything has a line of its own.
    for honest in ["keeps", "ext4"] {
        must_have(&found, at(honest, "cuts"), &["power cuts"]);
    }
    let lost = |trap: Trap, liar, honest| trap.judge_alone((&found, at(liar, "cuts")), (&found, at(honest, "cuts")));
    vec![
        lost(LIES, "lies", "keeps"),
        lost(NO_BARRIERS, "unbarred", "ext4"),
        NEVER_CUT.judge((&told(rig, "rested"), STUDY), (&kept, STUDY)),
    ]
}
