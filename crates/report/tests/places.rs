//! What the sheet says of what stacks stand on: facts of devices, mounts and memory, each with what must not be said of
//! an honest stack.

use crate::fixture::{Scene, actor, fact, scene};
use ledger::{Fact, Measure, PhaseKind, Setting};
use report::{Check, Status};

fn two(facts: Vec<Fact>) -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 1.1)]);
    scene.facts = facts;
    scene
}

fn line(scene: &Scene, subject: &str) -> Check {
    let checks = scene.film().analysis().checks;
    let found = checks.into_iter().find(|check| check.subject == subject);
    found.unwrap_or_else(|| panic!("no check of {subject}"))
}

#[test]
fn a_misaligned_partition_between_nearest_and_lowest_is_seen() {
    let on = |start: &str| {
        two(vec![
            fact("stack:ext4", "nearest devices", "loop3"),
            fact("stack:ext4", "devices", "loop3, sda1, sda"),
            fact("stack:ext4", "lowest visible devices", "sda"),
            fact("device:loop3", "device", "loop3"),
            fact("device:sda1", "device", "sda1"),
            fact("device:sda1", "partition start bytes", start),
            fact("device:sda", "device", "sda"),
        ])
    };
    let askew = line(&on("32256"), "alignment");
    assert_eq!(askew.status, Status::Suspect);
    assert!(askew.figure.contains("sda1 begins at byte 32256"), "{}", askew.figure);
    assert_eq!(line(&on("1048576"), "alignment").status, Status::Valid);
}

#[test]
fn options_of_a_devices_geometry_are_nobodys_choice_in_a_directory() {
    let mounted = |kind: &str, one: &str, other: &str| {
        let mut scene = scene(vec![actor("a", 1.0), actor("b", 1.1)]);
        for actor in &mut scene.actors {
            actor.stack.kind = kind.into();
        }
        scene.facts = vec![
            fact("stack:a", "mount options", one),
            fact("stack:b", "mount options", other),
        ];
        for name in ["a", "b"] {
            scene.facts.push(fact(&format!("stack:{name}"), "file system", "xfs"));
        }
        line(&scene, "mount options").status
    };
    let geometry = ("rw,relatime,sunit=128,swidth=256", "rw,relatime,sunit=64,swidth=64");
    assert_eq!(mounted("directory", geometry.0, geometry.1), Status::Valid);
    assert_eq!(
        mounted("xfs", geometry.0, geometry.1),
        Status::Note,
        "the study made them"
    );
    for option in ["logdev", "rtdev"] {
        let on = |device: &str| format!("rw,relatime,{option}=/dev/{device}");
        assert_eq!(
            mounted("directory", &on("x"), "rw,relatime"),
            Status::Suspect,
            "{option} on one side only"
        );
        assert_eq!(mounted("xfs", &on("x"), "rw,relatime"), Status::Note, "{option}");
        for kind in ["directory", "xfs"] {
            assert_eq!(
                mounted(kind, &on("x"), &on("y")),
                Status::Valid,
                "only the place differs"
            );
        }
    }
    assert_eq!(mounted("directory", "rw,noatime", "rw,relatime"), Status::Suspect);
    assert_eq!(mounted("directory", "rw,nobarrier", "rw,nobarrier"), Status::Suspect);
    assert_eq!(
        mounted("directory", "ro,norecovery", "ro,norecovery"),
        Status::Valid,
        "it reads no log, and flushes"
    );
}

#[test]
fn memory_within_one_budget_is_alike_only_up_to_a_ratio() {
    let gib = 1024.0 * 1024.0 * 1024.0;
    let with = |peak: f64, enforced: f64, cache: f64| {
        let mut scene = two(Vec::new());
        scene.extra_of = vec![
            ("xfs".into(), Measure::MemoryTotalBytesPeak, peak * gib),
            ("xfs".into(), Measure::MemoryBudgetEnforced, enforced),
            ("xfs".into(), Measure::EngineCacheBytes, cache * gib),
        ];
        line(&scene, "memory alike").status
    };
    assert_eq!(with(0.4, 1.0, 0.25), Status::Valid);
    assert_eq!(
        with(0.9, 1.0, 0.25),
        Status::Note,
        "one budget, and more than twice as much of it"
    );
    assert_eq!(with(0.9, 0.0, 0.25), Status::Suspect, "nobody enforced it");
    assert_eq!(with(0.9, 1.0, 0.75), Status::Suspect, "the engine had another cache");
    assert_eq!(with(1.2, 1.0, 0.25), Status::Suspect, "it was not kept");
}

/// The line of the first phase when these measures are recorded on all stacks.
fn with(measures: &[(Measure, f64)], subject: &str) -> Check {
    let mut scene = two(Vec::new());
    scene.extra = measures.to_vec();
    line(&scene, subject)
}

#[test]
fn stolen_time_is_held_against_the_time_that_was_wanted() {
    // 18 s were busy. Idle processors do not come in.
    let stolen = |ns: f64| {
        with(
            &[(Measure::CpuStealNs, ns), (Measure::CpuStealShare, 0.001)],
            "stolen CPU",
        )
        .status
    };
    assert_eq!(stolen(2e9), Status::Suspect);
    assert_eq!(stolen(0.5e9), Status::Valid);
    let little = [(Measure::CpuStealNs, 50e6), (Measure::CpuBusyNs, 100e6)];
    assert_eq!(
        with(&little, "stolen CPU").status,
        Status::Valid,
        "a third, and of five ticks"
    );
    assert_eq!(
        with(&[(Measure::CpuStealShare, 0.3)], "stolen CPU").status,
        Status::Suspect
    );
}

#[test]
fn shares_of_processors_are_of_those_that_the_run_may_use() {
    // 18 s were busy on all processors, 1 s on the two that the run may use.
    let kept = |processors: f64| {
        vec![
            (Measure::CpuAllowed, processors),
            (Measure::CpuAllowedBusyNs, 1e9),
            (Measure::CpuStealNs, 0.5e9),
            (Measure::CpuStealShare, 0.001),
            (Measure::CpuOthersShare, 0.3),
        ]
    };
    assert_eq!(with(&kept(2.0), "stolen CPU").status, Status::Suspect);
    let [everywhere, two, one] =
        [&kept(2.0)[2..], &kept(2.0), &kept(1.0)].map(|all| with(all, "background CPU").figure);
    assert_eq!(everywhere, "other programs took 30 % of the processors");
    assert_eq!(two, "other programs took 30 % of the 2 processors that the run may use");
    assert_eq!(
        one,
        "other programs took 30 % of the one processor that the run may use"
    );
}

#[test]
fn what_was_not_seen_of_others_has_no_line() {
    let lines = |measures: &[(Measure, f64)]| {
        let mut scene = two(Vec::new());
        scene.extra = measures.to_vec();
        let checks = scene.film().analysis().checks;
        checks
            .iter()
            .filter(|check| check.subject == "other processes' I/O")
            .count()
    };
    let seen = [(Measure::OthersReadBytes, 0.0), (Measure::OthersWriteBytes, 0.0)];
    assert_eq!((lines(&[]), lines(&seen)), (0, 4));
}

#[test]
fn that_the_host_of_a_server_is_out_of_sight_is_said_once() {
    let said = |kind: &str| {
        let mut scene = two(Vec::new());
        scene.actors[1].stack.kind = kind.into();
        let checks = scene.film().analysis().checks;
        let mine = checks.into_iter().filter(|check| check.subject == "server's host");
        mine.map(|check| (check.status, check.stack)).collect::<Vec<_>>()
    };
    assert_eq!(said("server"), [(Status::Note, Some("xfs".to_string()))]);
    assert!(said("ext4").is_empty());
}

#[test]
fn a_limit_is_judged_by_its_periods() {
    let held = |periods: f64| {
        let all = [
            (Measure::CpuThrottledPeriodsShare, periods),
            (Measure::CpuThrottledShare, 0.0),
        ];
        with(&all, "throttling").status
    };
    assert_eq!((held(0.4), held(0.005)), (Status::Suspect, Status::Valid));
    let heat = with(&[(Measure::CpuThermalThrottles, 3.0)], "throttling");
    assert_eq!(heat.status, Status::Suspect);
    assert_eq!(
        (heat.figure.as_str(), heat.threshold_words()),
        ("slowed down for heat 3.00 times", "never for heat"),
        "no word of a limit that nobody read"
    );
    let limit = with(&[(Measure::CpuThrottledPeriodsShare, 0.0)], "throttling").figure;
    assert!(!limit.contains("heat"), "{limit}");
    let old = [(Measure::CpuThrottledShare, 0.03), (Measure::CpuCores, 16.0)];
    assert_eq!(
        with(&old, "throttling").status,
        Status::Valid,
        "summed over processors in old files"
    );
}

/// A miss of one page reads a compressed extent of eight: all bytes are of the device, and most pages of a cache.
#[test]
fn wide_reads_of_a_few_pages_are_a_cache() {
    let line = |near_reads: f64| {
        let asked = 10_000.0 * 20.5 * 4.0;
        let measures = [
            (Measure::EnginePhysicalReads, asked),
            (Measure::EngineReadBytes, asked * 8192.0),
            (Measure::NearReads, near_reads * asked),
            (Measure::NearReadBytes, asked * 8192.0),
            (Measure::LowReadBytes, asked * 8192.0),
        ];
        with(&measures, "provenance")
    };
    assert_ne!(line(0.125).status, Status::Valid, "{}", line(0.125).figure);
    assert_eq!(line(1.0).status, Status::Valid, "{}", line(1.0).figure);
}

#[test]
fn what_others_read_may_stand_for_what_a_cache_served() {
    let worst = |kind: &str, access: ledger::Access, others: f64| {
        let mut scene = two(Vec::new());
        scene.actors[1].stack.kind = kind.into();
        scene.actors[1].stack.access = access;
        scene.extra = vec![(Measure::OthersReadBytes, others), (Measure::OthersWriteBytes, 0.0)];
        let checks = scene.film().analysis().checks.into_iter();
        let mine = checks.filter(|check| check.subject == "other processes' I/O");
        let mine = mine.filter(|check| check.stack.as_deref() == Some("xfs"));
        mine.map(|check| check.status).max().expect("a line")
    };
    let buffered = ledger::Access::Buffered;
    assert_eq!(worst("directory", buffered, 1e12), Status::Suspect);
    assert_eq!(worst("directory", buffered, 0.0), Status::Valid);
    assert_eq!(worst("ext4", buffered, 1e12), Status::Valid, "its LUNs are its own");
}

#[test]
fn a_mirrors_second_copy_is_not_another_processs_write() {
    let share = |copies: f64, unseen: f64| {
        let work = 10_000.0 * 20.5;
        let written = work * (4.0 * 8192.0 + 4096.0) * 2.0;
        with(
            &[
                (Measure::StackDataCopies, copies),
                (Measure::NearWriteBytes, written * 1.01),
                (Measure::OthersReadBytes, 0.0),
                (Measure::OthersWriteBytes, 1e12),
                (Measure::OthersUnseen, unseen),
            ],
            "other processes' I/O",
        )
    };
    assert_eq!(share(2.0, 0.0).status, Status::Valid);
    assert_eq!(share(1.0, 0.0).status, Status::Suspect);
    assert!(!share(2.0, 0.0).figure.contains("may be seen"));
    assert!(share(2.0, 7.0).figure.contains("of those that may be seen"));
    let nothing = [
        (Measure::EngineReadBytes, 0.0),
        (Measure::EngineWriteBytes, 0.0),
        (Measure::EngineRedoBytes, 0.0),
        (Measure::OthersReadBytes, 1e12),
        (Measure::OthersWriteBytes, 1e12),
    ];
    let mut scene = two(Vec::new());
    scene.extra = nothing.to_vec();
    let checks = scene.film().analysis().checks;
    assert!(
        checks.iter().all(|check| check.subject != "other processes' I/O"),
        "nothing was asked"
    );
}

#[test]
fn a_rate_that_falls_when_sessions_go_home_is_no_level() {
    let looked_at = |work_loop: &str| {
        let mut scene = two(Vec::new());
        scene.shape = |slice| if slice <= 14 { 1.2 } else { 0.5 };
        scene.settings = vec![Setting {
            key: "phase.50 % update.work_loop".into(),
            value: work_loop.into(),
            written: true,
        }];
        line(&scene, "rate level").status
    };
    assert_eq!((looked_at("0"), looked_at("400")), (Status::Suspect, Status::Valid));
}

/// A resync that ends half-way: the mean of the phase is the rate of neither half.
#[test]
fn a_rate_that_doubles_half_way_is_told_in_both_lines() {
    let of = |shape: fn(u64) -> f64| {
        let mut scene = two(Vec::new());
        scene.shape = shape;
        ["steady state", "rate level"].map(|subject| line(&scene, subject))
    };
    let [steady, level] = of(|_| 1.0);
    assert_eq!((steady.status, level.status), (Status::Valid, Status::Valid));
    let [steady, level] = of(|slice| if slice <= 10 { 0.5 } else { 1.0 });
    assert_eq!((steady.status, level.status), (Status::Suspect, Status::Suspect));
    assert_eq!(
        steady.figure,
        "4 of 4 blocks reached a steady rate; in 4 the rate of the whole phase lies 25 % below it"
    );
    assert!(
        level.figure.starts_with("in 4 of 4 blocks the rate rose from") && level.advice.contains("resync"),
        "{level:?}"
    );
    // A warm-up that is over soon is in the mean by 4 %.
    let [steady, level] = of(|slice| if slice <= 2 { 0.6 } else { 1.0 });
    assert_eq!((steady.status, level.status), (Status::Valid, Status::Valid));
}

/// As much ends as fell due, however the device is: that says nothing of it.
#[test]
fn a_rate_that_a_schedule_sets_is_no_figure_of_the_device() {
    for kind in [PhaseKind::Open, PhaseKind::TpccOpen] {
        let mut scene = two(Vec::new());
        scene.phases = vec![(kind, "paced".into())];
        let checks = scene.film().analysis().checks;
        let of_rates = ["steady state", "rate level"];
        let said: Vec<&Check> = checks
            .iter()
            .filter(|check| of_rates.contains(&check.subject.as_str()))
            .collect();
        assert!(said.is_empty(), "{said:?}");
    }
}

#[test]
fn errors_that_devices_counted_are_said_and_that_none_counts_them_is_too() {
    let found = |measures: &[(Measure, f64)]| {
        let mut scene = two(Vec::new());
        scene.extra = measures.to_vec();
        let checks = scene.film().analysis().checks;
        let mine = checks.into_iter().filter(|check| check.subject == "device errors");
        mine.map(|check| (check.phase.is_some(), check.status))
            .collect::<Vec<_>>()
    };
    let observed = (Measure::ClockStepNs, 0.0);
    assert_eq!(found(&[observed]), [(false, Status::Note)]);
    assert_eq!(
        found(&[observed, (Measure::DeviceErrors, 0.0)]),
        [(true, Status::Valid); 4]
    );
    assert_eq!(
        found(&[observed, (Measure::DeviceErrors, 2.0)]),
        [(true, Status::Suspect); 4]
    );
    // One sum of all devices: neither that all of them count is known, nor that each count is an error.
    let none = with(&[(Measure::DeviceErrors, 0.0)], "device errors");
    assert!(
        none.figure.contains("by those of the stack's devices that count"),
        "{none:?}"
    );
    let some = with(&[(Measure::DeviceErrors, 2.0)], "device errors");
    assert!(some.advice.contains("counts harmless answers"), "{some:?}");
}

/// What the lowest devices moved beyond the nearest, with what is known of the devices.
fn foreign(facts: &[(&str, &str, &str)], measures: &[(Measure, f64)]) -> Check {
    let mut scene = two(facts
        .iter()
        .map(|(scope, key, value)| fact(scope, key, value))
        .collect());
    scene.extra = measures.to_vec();
    line(&scene, "foreign traffic")
}

/// Native multipath of NVMe accounts to the head alone: the partition on it counts nothing.
#[test]
fn a_nearest_device_that_counts_nothing_is_no_neighbours_fault() {
    let gib = 1024.0 * 1024.0 * 1024.0;
    let moved = |near: f64, asked: f64| {
        foreign(
            &[],
            &[
                (Measure::NearReadBytes, near),
                (Measure::NearWriteBytes, 0.0),
                (Measure::LowReadBytes, 2.0 * gib),
                (Measure::LowWriteBytes, 0.0),
                (Measure::EngineReadBytes, asked),
                (Measure::EngineWriteBytes, 0.0),
                (Measure::EngineRedoBytes, 0.0),
            ],
        )
    };
    let uncounted = moved(0.0, 2.0 * gib);
    assert_eq!(uncounted.status, Status::Note, "{uncounted:?}");
    assert!(
        uncounted.figure.contains("nearest nothing: they do not count"),
        "{uncounted:?}"
    );
    assert_eq!(moved(2.0 * gib, 2.0 * gib).status, Status::Valid);
    assert_eq!(moved(1.0 * gib, 1.0 * gib).status, Status::Suspect);
    let rested = moved(0.0, 0.0);
    assert_eq!(
        rested.status,
        Status::Suspect,
        "nothing was asked, so it was someone else's"
    );
}

#[test]
fn a_layer_that_multiplies_writes_is_named_and_is_no_neighbour() {
    let below = |device: &str, key: &str, value: &str, low: (f64, f64)| {
        let gib = 1024.0 * 1024.0 * 1024.0;
        let scope = format!("device:{device}");
        foreign(
            &[
                ("stack:ext4", "nearest devices", "loop0"),
                ("stack:ext4", "devices", &format!("loop0, {device}, sda, sdb")),
                ("stack:ext4", "lowest visible devices", "sda, sdb"),
                (&scope, key, value),
                (&scope, "mapping kind", "lvm"),
            ],
            &[
                (Measure::NearReadBytes, gib),
                (Measure::NearWriteBytes, gib),
                (Measure::LowReadBytes, low.0 * gib),
                (Measure::LowWriteBytes, low.1 * gib),
            ],
        )
    };
    let mirror = |reads: f64| below("md0", "array level", "raid1", (reads, 2.0));
    assert_eq!(mirror(1.0).status, Status::Note);
    assert!(mirror(1.0).figure.contains("md0 (raid1)"), "{:?}", mirror(1.0));
    assert_eq!(mirror(1.5).status, Status::Suspect, "a mirror reads each byte once");
    for (key, value) in [
        ("array level", "raid5"),
        ("mapping", "vg-data_rimage_1"),
        ("mapping", "vg-data_corig"),
        ("mapping", "vg-data-cow"),
        // What lies below the origin of a snapshot.
        ("mapping", "vg-data-real"),
    ] {
        let found = below("md0", key, value, (1.5, 2.0));
        assert_eq!(found.status, Status::Note, "{value}: {found:?}");
        assert_eq!(below("md0", key, value, (1.0, 1.0)).status, Status::Valid, "{value}");
    }
    for (key, value) in [("array level", "raid0"), ("mapping", "vg-cows")] {
        let found = below("md0", key, value, (1.0, 2.0));
        assert_eq!(found.status, Status::Suspect, "{value} writes once: {found:?}");
    }
    assert_eq!(below("bcache0", "device", "bcache0", (1.0, 2.0)).status, Status::Note);
}

/// The parts of LVM's arrays are called alike, whatever the array; the study says that it is a mirror.
#[test]
fn reads_of_a_mirror_of_lvm_keep_the_bound() {
    let read_more = |layout: &str| {
        let mut scene = two(vec![
            fact("stack:ext4", "nearest devices", "dm-4"),
            fact("stack:ext4", "devices", "dm-4, dm-1, sda, sdb"),
            fact("stack:ext4", "lowest visible devices", "sda, sdb"),
            fact("device:dm-1", "mapping", "vg-data_rimage_0"),
            fact("device:dm-1", "mapping kind", "lvm"),
        ]);
        let gib = 1024.0 * 1024.0 * 1024.0;
        scene.extra = vec![
            (Measure::NearReadBytes, gib),
            (Measure::NearWriteBytes, gib),
            (Measure::LowReadBytes, 1.5 * gib),
            (Measure::LowWriteBytes, 2.0 * gib),
        ];
        scene.settings = vec![ledger::Setting {
            key: "stack.ext4.layout".to_owned(),
            value: format!("\"{layout}\""),
            written: true,
        }];
        line(&scene, "foreign traffic")
    };
    assert_eq!(
        read_more("raid1").status,
        Status::Suspect,
        "a mirror reads each byte once"
    );
    let other = read_more("striped");
    assert_eq!(other.status, Status::Note, "{other:?}");
    assert!(other.figure.contains("part of an array of LVM"), "{other:?}");
}

/// The sheet doubts what the ranking refuses, and nothing else: nothing asked of storage is no result of it, and what
/// nobody told may be anything.
#[test]
fn provenance_is_valid_where_the_phase_is_ranked_and_nowhere_else() {
    let asked = [
        Measure::EngineReadBytes,
        Measure::EngineWriteBytes,
        Measure::EngineRedoBytes,
    ];
    let nothing = asked.map(|measure| (measure, 0.0)).to_vec();
    let uncounted = asked.map(|measure| (measure, f64::NAN)).to_vec();
    for (device, extra, status) in [
        (Some(1.0), Vec::new(), Status::Valid),
        (Some(0.5), Vec::new(), Status::Suspect),
        (Some(0.02), Vec::new(), Status::Invalid),
        (None, Vec::new(), Status::Suspect),
        (Some(1.0), nothing, Status::Invalid),
        (Some(1.0), uncounted, Status::Suspect),
    ] {
        let mut odd = actor("odd", 1.0);
        odd.device = device;
        let mut scene = scene(vec![actor("ext4", 1.0), odd]);
        scene.extra_of = extra
            .into_iter()
            .map(|(measure, value)| ("odd".into(), measure, value))
            .collect();
        let analysis = scene.film().analysis();
        let mine = |check: &&Check| check.subject == "provenance" && check.stack.as_deref() == Some("odd");
        let lines: Vec<_> = analysis.checks.iter().filter(mine).collect();
        assert!(
            lines.len() == 2 && lines.iter().all(|line| line.status == status),
            "{lines:?}"
        );
        let ranked = analysis.comparisons.len() == 2;
        assert_eq!(ranked, status == Status::Valid, "{lines:?} {:?}", analysis.unranked);
        if status == Status::Invalid && device == Some(1.0) {
            assert!(lines[0].advice.contains("lower `database.cache`"), "{lines:?}");
        }
    }
}
