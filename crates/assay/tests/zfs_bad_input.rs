//! What stands in the way of a pool, by each way to ZFS: packages that are not there, somebody else's pool on the LUNs,
//! a cache that is more than the memory. Refused before anything is touched, with the cure. Needs root and loop
//! devices; parts need OpenZFS's library or zfs-fuse.
//!
//! What a study asks that a way does not have is refused where studies are read (room `plan`); versions of the library
//! and names that are taken, in the rooms `zpool` and `stacks`. Prevents: a foreign pool that is gone, and "not
//! possible here" without a cure.

use crate::rig::{Rig, Running, limit, text};
use std::path::Path;
use zpool::{Launch, PoolSpec, Redundancy, Tuning, Zpool};

fn study(luns: &str, stack: &str) -> String {
    let limit = limit("1s");
    format!(
        r#"
[study]
name = "refused"
blocks = 4
time_limit = "{limit}"
seed = 5
[luns.data]
{luns}
[[stack]]
name = "pool"
kind = "zfs"
arc_max = "64MiB"
data = "data"
{stack}
[database]
cache = "4MiB"
schemas = 4
scale = "8MiB"
redo_size = "8MiB"
[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 4
work_unit = 4
time = "100ms"
"#
    )
}

fn files(rig: &Rig) -> String {
    format!(
        "files = {{ count = 1, size = \"128MiB\", dir = \"{}\" }}",
        rig.work().display()
    )
}

/// Runs the study with these variables and sees that it is refused with all these words, the last line a cure, and
/// nothing made.
fn refused(rig: &Rig, study: &str, variables: &[(&str, &str)], words: &[&str]) {
    let before = rig.belongings(&[]);
    let (path, result) = (rig.study("refused", study), rig.result("refused"));
    let mut command = rig.run_command(&path, &result, &["--yes"]);
    command.envs(variables.iter().copied());
    let ran = Running::start(command).wait();
    ran.expect(3, words);
    let last = ran.stderr.trim_end().lines().last().unwrap_or_default();
    assert!(
        last.starts_with("  ") && last.trim().len() > 10,
        "no cure:\n{}",
        ran.stderr
    );
    assert_eq!(rig.belongings(&[]), before, "something is left");
    assert!(!result.exists(), "a refused study has no result");
}

/// Ways that can be gone here without the kernel's module; said aloud what is left out.
fn ways() -> Vec<&'static str> {
    let [_, fuse] = stacks::zfs_ways();
    let mut ways = Vec::new();
    if crate::rig::has_openzfs() {
        ways.push("userspace");
    }
    if fuse.able {
        ways.push("fuse");
    } else {
        let asked = std::env::var_os("ASSAY_TEST_ZFS_FUSE").is_some() && stacks::is_root();
        assert!(!asked, "zfs-fuse is unpacked: {}\n{}", fuse.reason, fuse.cure);
        eprintln!("SKIPPED: {}: {}", fuse.reason, fuse.cure);
    }
    ways
}

#[test]
fn packages_that_are_not_there_are_named_by_each_way() {
    let Some(rig) = Rig::new(&[]) else { return };
    let by = |way: &str| study(&files(&rig), &format!("via = \"{way}\""));
    let nowhere = rig.path("nowhere");
    let library = [("ASSAY_LIBZPOOL", text(&nowhere))];
    refused(
        &rig,
        &by("userspace"),
        &library,
        &["OpenZFS's library is not here", "apt-get install libzpool5linux"],
    );
    let unpacked = [("ASSAY_ZFS_FUSE", text(&nowhere))];
    refused(&rig, &by("fuse"), &unpacked, &["zfs-fuse is not in it", "dpkg-deb -x"]);
    if crate::rig::which("zfs-fuse").is_none() {
        refused(
            &rig,
            &by("fuse"),
            &[("ASSAY_ZFS_FUSE", "")],
            &[
                "zfs-fuse not found",
                "install zfs-fuse",
                "apt-get download zfs-fuse libfuse2",
            ],
        );
    }
    if !Path::new("/sys/module/zfs").exists() {
        refused(&rig, &by("kernel"), &[], &["this kernel has no ZFS", "modprobe zfs"]);
    }
}

#[test]
fn somebody_elses_pool_on_a_lun_is_left_alone_until_the_study_and_the_user_say_otherwise() {
    let Some(mut rig) = Rig::new(&[]).filter(|_| crate::rig::has_openzfs()) else {
        return;
    };
    for way in ways() {
        let file = format!("{way}.disk");
        let device = rig.loop_device(&file, 128);
        let launch = Launch::of(env!("CARGO_BIN_EXE_assay").as_ref());
        let theirs = || Zpool::start(&launch, &Tuning::new(64 << 20)).expect("started");
        let zpool = theirs();
        let tank = PoolSpec {
            name: "tank".into(),
            data: vec![device.clone()],
            log: Vec::new(),
            redundancy: Redundancy::Stripe,
            ashift: 12,
            overwrite: false,
        };
        zpool.create(&tank).expect("a pool");
        zpool.export("tank").expect("exported");
        drop(zpool);
        let luns = |more: &str| format!("devices = [\"{}\"]\n{more}", device.display());
        let via = format!("via = \"{way}\"");
        refused(&rig, &study(&luns(""), &via), &[], &["ZFS", text(&device), "overwrite"]);
        let zpool = theirs();
        zpool
            .import("tank", std::slice::from_ref(&device))
            .expect("it is whole");
        zpool.export("tank").expect("exported");
        drop(zpool);

        let path = rig.study(
            "over",
            &study(&luns(&format!("overwrite = [\"{}\"]", device.display())), &via),
        );
        rig.run(&path, &rig.result(way), &["--quiet", "--yes"]).expect(0, &[]);
        let gone = theirs().import("tank", &[device]).expect_err("it is gone").to_string();
        assert!(gone.contains("no pool `tank`"), "{gone}");
    }
}

/// Which way is taken, and what it holds beside its ARC, is known only where the study is run.
#[test]
fn a_way_that_is_taken_by_itself_must_fit_into_the_memory_too() {
    let Some(rig) = Rig::new(&[]) else { return };
    let [kernel, fuse] = stacks::zfs_ways();
    if kernel.able || !fuse.able {
        eprintln!("skipped: zfs-fuse is not what is taken here");
        return;
    }
    // Access times are files', which OpenZFS in user space has not.
    let open = study(&files(&rig), "atime = \"off\"") + "[memory]\nbudget = \"180MiB\"\n";
    let words = [
        "an ARC of 64MiB, 128MiB that zfs-fuse holds beside it",
        "raise `memory.budget`",
    ];
    refused(&rig, &open, &[], &words);
}
