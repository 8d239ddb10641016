//! Text that no kernel should print: every source may be cut, empty or nonsense, and nothing may panic or invent a
//! figure.

use std::io;
use std::path::Path;

use observers::{
    Cgroup, CgroupVersion, DeviceCounters, Limit, Memory, ObserveError, OwnIo, Place, Root, Snapshot, Stall, SystemCpu,
    Tasks, VmCounters, device_facts_in, host_facts_in, lineage_in,
};
use proptest::prelude::*;

fn look(path: &Path) -> io::Result<Place> {
    Ok(Place {
        canonical: path.to_path_buf(),
        on: (0, 1),
        device: path.starts_with("/dev").then_some((8, 0)),
        mount: None,
    })
}

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("can be made");
        std::fs::write(path, text).expect("can be written");
    }
    let root = Root::at(dir.path(), look);
    (dir, root)
}

/// With the tasks.
fn opening(root: &Root, devices: &[String]) -> Result<Snapshot, ObserveError> {
    Snapshot::opening_in(root, &Tasks::read_in(root), devices)
}

const CPU: &str = "cpu 1 2 3 4 5 6 7 8\n";

#[test]
fn a_line_that_was_cut_is_an_error_and_names_the_line() {
    let (_dir, root) = tree(&[("proc/stat", CPU), ("proc/diskstats", "   8       0 sda 1 2 3 4 5\n")]);
    let error = Snapshot::take_in(&root, &["sda".to_owned()]).expect_err("five fields are none of the forms");
    assert!(
        matches!(&error, ObserveError::Malformed { what, .. } if what.contains("sda 1 2 3 4 5")),
        "{error}"
    );
    let (_dir, root) = tree(&[("proc/stat", "cpu 1 2 three\n")]);
    let error = Snapshot::take_in(&root, &[]).expect_err("three is no number");
    assert!(matches!(error, ObserveError::Malformed { .. }), "{error}");
    let (_dir, root) = tree(&[]);
    let error = Snapshot::take_in(&root, &[]).expect_err("no /proc at all");
    assert!(
        error.to_string().ends_with("mount proc: mount -t proc proc /proc"),
        "{error}"
    );
}

#[test]
fn another_devices_odd_line_does_not_matter() {
    let text = "   8       1 sda1 1 2 3 4\n   8       0 sda 1 0 8 1 1 0 8 1 0 1 2\n";
    let (_dir, root) = tree(&[("proc/stat", CPU), ("proc/diskstats", text)]);
    let snapshot = Snapshot::take_in(&root, &["sda".to_owned()]).expect("sda's line is whole");
    assert_eq!(snapshot.devices["sda"].reads, 1);
}

#[test]
fn a_bare_kernel_gives_none_and_never_zero() {
    let (_dir, root) = tree(&[("proc/stat", CPU)]);
    let first = opening(&root, &[]).expect("all else is optional");
    assert_eq!(
        (&first.kernel_threads, first.own, first.own_io, first.memory, first.vm),
        (&None, None, None, None, None)
    );
    assert_eq!(first.cgroup, None);
    let delta = first.since(&first);
    assert_eq!(
        (delta.kernel_threads, delta.own, delta.vm, delta.cgroup_limit_hits),
        (None, None, None, None)
    );
    assert_eq!(
        (delta.pressure.io, delta.cpu.context_switches, delta.cpu.idle_share()),
        (None, None, None)
    );
    assert!(host_facts_in(&root).is_empty() && device_facts_in(&root, "sda").is_empty());
}

#[test]
fn a_device_made_anew_is_lost_and_has_no_figures() {
    let line = |reads: u64| format!("   8       0 sda {reads} 0 8 1 1 0 8 1 0 1 2\n");
    let (_a, early) = tree(&[("proc/stat", CPU), ("proc/diskstats", &line(500))]);
    let (_b, late) = tree(&[("proc/stat", CPU), ("proc/diskstats", &line(3))]);
    let devices = ["sda".to_owned()];
    let early = Snapshot::take_in(&early, &devices).expect("whole");
    let delta = Snapshot::take_in(&late, &devices).expect("whole").since(&early);
    assert!(delta.devices.is_empty());
    assert_eq!(delta.lost, ["sda"]);
    let gone = Snapshot {
        devices: Default::default(),
        ..early.clone()
    };
    assert_eq!(gone.since(&early).lost, ["sda"]);
    assert_eq!(early.since(&gone).lost, ["sda"]);
}

#[test]
fn threads_that_came_and_went_are_told_apart() {
    let thread =
        |pid: u32, start: u64| format!("{pid} (loop0) S 2 0 0 0 -1 2129984 0 0 0 0 7 8 0 0 0 -20 1 0 {start} 0 0 0\n");
    let one = [
        ("proc/stat", CPU),
        ("proc/7/stat", &thread(7, 100)),
        ("proc/7/schedstat", "1000 0 0\n"),
    ];
    let two = [
        ("proc/stat", CPU),
        ("proc/7/stat", &thread(7, 900)),
        ("proc/7/schedstat", "400 0 0\n"),
    ];
    let ((_a, early), (_b, late)) = (tree(&one), tree(&two));
    let early = opening(&early, &[]).expect("whole");
    let delta = opening(&late, &[])
        .expect("whole")
        .since(&early)
        .kernel_threads
        .expect("one is there");
    assert_eq!(
        (delta.cpu_ns, delta.ended),
        (400, 1),
        "the same number, started later: another thread"
    );
    assert_eq!(delta.families.get("loop"), Some(&400));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,200}", numbers in "[0-9 :.a-z\\n=-]{0,300}") {
        for text in [text.as_str(), numbers.as_str()] {
            let _ = DeviceCounters::parse(text);
            let _ = SystemCpu::parse(text, u64::MAX);
            let _ = SystemCpu::parse(&format!("cpu {text}"), 10_000_000);
            let _ = Stall::parse(&format!("some {text}"));
            let _ = Memory::parse(&format!("MemTotal: {text}\nCached:{text}"));
            let _ = VmCounters::parse(&format!("pgpgin {text}"), u64::MAX);
            let _ = OwnIo::parse(text);
        }
    }

    #[test]
    fn a_number_too_large_is_refused_and_not_cut(sectors in (u64::MAX / 512 + 1)..=u64::MAX) {
        let line = format!("1 0 {sectors} 1 1 0 8 1 0 1 2");
        prop_assert_eq!(DeviceCounters::parse(&line), None);
    }

    #[test]
    fn no_tree_makes_the_room_panic(
        text in "[ -~\\n]{0,200}",
        fields in "[0-9() :/a-z\\n-]{0,200}",
        line in "[0-9]{1,2} [0-9]{1,2} [0-9]:[0-9] / / [a-z:]{0,5} - (btrfs|overlay|nfs|xfs) [/a-z:\\\\0-9]{0,12} \
            [a-z=/,]{0,20}",
    ) {
        for text in [&text, &fields] {
            let stat = format!("cpu 1 2 3 4 5 6 7 8\n{text}");
            let task = format!("1 (x) S {text}");
            let (_dir, root) = tree(&[
                ("proc/stat", &stat),
                ("proc/diskstats", text),
                ("proc/meminfo", text),
                ("proc/vmstat", text),
                ("proc/self/stat", &task),
                ("proc/self/status", text),
                ("proc/self/io", text),
                ("proc/9/stat", text),
                ("proc/9/schedstat", text),
                ("proc/self/cgroup", text),
                ("proc/self/mountinfo", &line),
                ("proc/pressure/io", text),
                ("proc/cpuinfo", text),
                ("sys/class/block/sda/stat", text),
                ("sys/class/block/sda/size", text),
                ("sys/class/block/sda/queue/scheduler", text),
            ]);
            let _ = opening(&root, &["sda".to_owned()]);
            let _ = opening(&root, &[]);
            let _ = lineage_in(&root, Path::new("/data"));
            let _ = lineage_in(&root, Path::new("/dev/sda"));
            let _ = host_facts_in(&root);
            let _ = device_facts_in(&root, "sda");
        }
    }

    #[test]
    fn a_limit_that_is_no_number_is_not_a_limit(text in "[a-z ]{0,8}") {
        let (dir, _root) = tree(&[("g/memory.max", &text), ("g/memory.limit_in_bytes", &text)]);
        let group = dir.path().join("g");
        let expected = if text.trim() == "max" { Limit::Unlimited } else { Limit::Unknown };
        prop_assert_eq!(Cgroup::read(CgroupVersion::V2, &group, dir.path()).limit, expected);
        prop_assert_eq!(Cgroup::read(CgroupVersion::V1, &group, dir.path()).limit, Limit::Unknown);
    }
}
