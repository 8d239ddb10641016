//! The database copied from a disk group to a pool and back, and from one pool to another, by each way to ZFS that can
//! be had without the kernel's module; the redo log once in the data's pool and once in one of its own. Needs root and
//! loop devices; OpenZFS's library, or zfs-fuse.
//!
//! Prevents: a copy of which only one side is counted, and two pools whose counters get into each other's way.

use crate::rig::{Rig, assert_blocks, blocks, limited};
use ledger::{Ledger, Measure, PhaseStatus};
use std::path::Path;

const ARC: f64 = (64 << 20) as f64;

fn set(name: &str, count: u32, dir: &Path) -> String {
    format!(
        "[luns.{name}]\nfiles = {{ count = {count}, size = \"128MiB\", dir = \"{}\" }}\n",
        dir.display()
    )
}

/// A disk group and a pool, each of whose databases goes to another pool and home again. `log`: with LUNs of the redo
/// log's own.
fn study(dir: &Path, via: &str, log: bool) -> String {
    let mut sets = set("left", 2, dir) + &set("right", 2, dir);
    let (mut redo, mut onto) = ("", "data = \"right\"\n".to_string());
    if log {
        sets += &(set("log", 1, dir) + &set("otherlog", 1, dir));
        redo = "redo = \"log\"\n";
        onto += "redo = \"otherlog\"\n";
    }
    let update = |name: &str| {
        format!(
            "[[phase]]\nname = \"{name}\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 4\nwork_unit = 4\n\
             time = \"150ms\"\n"
        )
    };
    // All pages are read, and each is verified.
    let scan = |name: &str| format!("[[phase]]\nname = \"{name}\"\nkind = \"scan\"\nusers = 4\n");
    format!(
        r#"
[study]
name = "copies"
blocks = 4
time_limit = "3h"
seed = 3
{sets}
[[stack]]
name = "group"
kind = "diskgroup"
data = "left"
{redo}
[[stack]]
name = "pool"
kind = "zfs"
via = "{via}"
recordsize = "8KiB"
arc_max = "64MiB"
data = "left"
{redo}
[database]
cache = "4MiB"
schemas = 4
scale = "16MiB"
redo_size = "8MiB"
checkpoint = "100ms"
{}
[[phase]]
name = "there"
kind = "copy"
to = "pool"
{onto}
{}
{}
[[phase]]
name = "back"
kind = "copy"
to = "home"
{}
"#,
        update("before"),
        update("on the pool"),
        scan("all of it there"),
        scan("all of it at home")
    )
}

/// A measure of a phase in each block that has it.
fn values(ledger: &Ledger, stack: &str, phase: &str, measure: Measure) -> Vec<f64> {
    let (trials, phases) = (ledger.trials().expect("trials"), ledger.phases().expect("phases"));
    let of_stack = |id| trials.iter().any(|trial| trial.id == id && trial.stack == stack);
    let mine = phases
        .iter()
        .filter(|row| row.run.name == phase && of_stack(row.run.trial));
    let mine: Vec<_> = mine.map(|row| row.id).collect();
    let measures = ledger.measures().expect("measures");
    let found = measures
        .iter()
        .filter(|row| row.row.0 == measure && mine.contains(&row.phase));
    found.map(|row| row.row.1).collect()
}

fn copies(rig: &Rig, via: &str, log: bool) {
    let before = rig.belongings(&[]);
    let path = rig.study(via, &limited(&study(&rig.work(), via, log), "3s"));
    let result = rig.result(via);
    rig.run(&path, &result, &["--quiet"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let phases = ledger.phases().expect("phases");
    assert_blocks(phases.len(), 2 * 6);
    for phase in &phases {
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{}", phase.run.name);
    }
    for stack in ["group", "pool"] {
        for phase in ["there", "back"] {
            let of = |measure| values(&ledger, stack, phase, measure);
            let bytes = of(Measure::CopyBytes);
            assert!(
                bytes.len() >= blocks() as usize && bytes.iter().all(|bytes| *bytes > (16 << 20) as f64),
                "{bytes:?}"
            );
            assert_eq!(of(Measure::CopyVerifiedBytes), bytes, "{phase} of {stack}");
            // One cache where one side is a pool, two where both are.
            let caches = if stack == "group" { ARC } else { 2.0 * ARC };
            assert_eq!(
                of(Measure::ArcMaxBytes),
                vec![caches; bytes.len()],
                "{phase} of {stack}"
            );
            assert!(
                of(Measure::ArcHits).iter().all(|hits| *hits > 0.0),
                "{phase} of {stack}"
            );
            let used = of(Measure::LunUsedBytes);
            assert!(
                used.len() == bytes.len() && used.iter().all(|used| *used > 0.0),
                "{phase} of {stack}: {used:?}"
            );
        }
        let arc = values(&ledger, stack, "all of it there", Measure::ArcMaxBytes);
        assert_eq!(
            arc,
            vec![ARC; arc.len().max(blocks() as usize)],
            "{stack} is on a pool by then"
        );
    }
    let before = values(&ledger, "group", "before", Measure::ArcMaxBytes);
    assert!(before.is_empty(), "a disk group has no ARC: {before:?}");
}

#[test]
fn a_database_goes_to_pools_in_user_space_with_redo_logs_in_pools_of_their_own_and_home_again() {
    let Some(rig) = Rig::new(&[]).filter(|_| crate::rig::has_openzfs()) else {
        return;
    };
    copies(&rig, "userspace", true);
}

#[test]
fn a_database_goes_to_pools_of_zfs_fuse_with_redo_logs_in_them_and_home_again() {
    let [_, fuse] = stacks::zfs_ways();
    if !fuse.able {
        let asked = std::env::var_os("ASSAY_TEST_ZFS_FUSE").is_some() && stacks::is_root();
        assert!(!asked, "zfs-fuse is unpacked: {}\n{}", fuse.reason, fuse.cure);
        eprintln!("SKIPPED: {}: {}", fuse.reason, fuse.cure);
        return;
    }
    let Some(rig) = Rig::new(&[]) else { return };
    copies(&rig, "fuse", false);
}
