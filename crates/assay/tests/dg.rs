//! `assay dg` by the whole binary on plain files: what it makes, what it moves, what it refuses.
//!
//! Prevents: a command that destroys what it should have refused (after a refusal all bytes are as before).

use crate::bench::Running;
use crate::disks::{DISK_MIB, Dg, MIB, sha256};
use serde_json::Value;

#[test]
fn the_whole_family() {
    let dg = Dg::with_group(4, "normal");
    assert_eq!(dg.expect(0, &["ls"]).stdout, "");
    let sum = dg.source("users.dbf", 9 * MIB + 1234, 1);
    let said = dg.expect(0, &["cp", "users.dbf", "data:", "--verify"]);
    assert!(
        said.stdout.contains(&sum) && said.stdout.contains("read back, the same"),
        "{said}"
    );
    assert!(said.stdout.contains("9438418 bytes"), "{said}");
    dg.source("redo", 2 * MIB, 2);
    let json = dg.json(&["cp", "redo", "data:redo/1", "--stripe", "fine", "--redundancy", "high"]);
    assert_eq!(json["bytes"], 2 * MIB);
    assert_eq!(dg.expect(0, &["ls"]).stdout, "data:redo/1\ndata:users.dbf\n");
    let long = dg.expect(0, &["ls", "-l"]).stdout;
    for word in [
        "normal",
        "1 MiB",
        "data_0003",
        "lun3",
        "fine",
        "data:redo/1",
        "9.00 MiB",
        "9438418",
    ] {
        assert!(long.contains(word), "{word}\n{long}");
    }
    let group = &dg.json(&["du"])["group"];
    let names: Vec<&str> = group["files"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(|f| f["name"].as_str())
        .collect();
    assert_eq!(names, ["redo/1", "users.dbf"]);
    assert_eq!(group["files"][0]["redundancy"], "high");
    assert!(dg.expect(0, &["du"]).stdout.contains("11.0 MiB in files"));
    assert_eq!(dg.sum_of("users.dbf", 9 * MIB + 1234, &["--verify"]), sum);

    disks_come_and_go(dg, &sum);
}

/// The second half: a group with `users.dbf`, whose checksum is `sum`, and `redo/1`.
fn disks_come_and_go(dg: Dg, sum: &str) {
    dg.empty_file("more", DISK_MIB);
    let added = dg.json(&["add", "more", "--yes"]);
    let moved = added["rebalance"]["moved_bytes"].as_u64().expect("bytes");
    assert!(
        (4 * MIB..=9 * MIB).contains(&moved),
        "a fifth of 34 MiB should move, not {moved}"
    );
    let dg = Dg {
        disks: dg.disks.iter().cloned().chain(["more".to_string()]).collect(),
        ..dg
    };
    // A bar is for terminals; a line is for whoever asks for it.
    assert!(!dg.expect(0, &["check"]).stderr.contains("check:"));
    let watched = dg.expect(0, &["check", "--watch"]);
    assert!(
        watched.stderr.contains("check: 44 MiB of 44 MiB in"),
        "{}",
        watched.stderr
    );
    // By path and by name.
    dg.expect(0, &["drop", "lun0", "data_0002"]);
    let disks = &dg.json(&["du"])["group"]["disks"];
    let names: Vec<&str> = disks
        .as_array()
        .expect("disks")
        .iter()
        .filter_map(|d| d["name"].as_str())
        .collect();
    assert_eq!(names, ["data_0001", "data_0003", "data_0004"]);
    assert!(dg.expect(0, &["ls", "-l"]).stdout.contains("was data_0000 of data"));
    assert_eq!(dg.sum_of("users.dbf", 9 * MIB + 1234, &[]), sum);
    let freed = dg.json(&["rm", "data:users.dbf", "data:redo/1"]);
    assert!(freed["freed_bytes"].as_u64().is_some_and(|b| b >= 24 * MIB), "{freed}");
    assert_eq!(dg.expect(0, &["ls"]).stdout, "");
    let sound = dg.json(&["check"]);
    assert_eq!((&sound["sound"], &sound["remaining"]), (&true.into(), &0.into()));
    // A disk that was dropped may be taken again, without more than --yes.
    dg.expect(0, &["add", "lun0", "--yes", "--power", "0"]);
}

#[test]
fn disks_are_named_by_flag_by_argument_or_by_the_variable() {
    let dg = Dg::with_group(3, "external");
    dg.fill("a", MIB, 1);
    assert_eq!(
        dg.bench
            .expect(0, &["dg", "ls", "lun2", "lun0", "./lun1", "lun2"])
            .stdout,
        "data:a\n"
    );
    let mut command = dg.bench.command(&["dg", "ls"]);
    command.env("ASSAY_DISKS", " lun0\tlun1\nlun2 ");
    assert_eq!(Running::start(command).wait().stdout, "data:a\n");
    dg.bench.run(&["dg", "ls"]).failed_with(2, &["ASSAY_DISKS"]);
    // Two groups among the disks.
    dg.empty_file("other", DISK_MIB);
    dg.bench
        .expect(0, &["dg", "create", "logs", "other", "--au", "2MiB", "--yes"]);
    let both = Dg {
        disks: dg.disks.iter().cloned().chain(["other".to_string()]).collect(),
        ..dg
    };
    both.expect(0, &["cp", "a", "logs:b"]);
    assert_eq!(both.expect(0, &["ls"]).stdout, "data:a\nlogs:b\n");
    assert_eq!(both.expect(0, &["ls", "--group", "logs"]).stdout, "logs:b\n");
    both.refused(2, &["du"], &["several groups: data, logs", "--group"]);
    both.refused(3, &["ls", "--group", "none"], &["disk group none", "data, logs"]);
    both.refused(2, &["rm", "data:a", "logs:b"], &["two groups"]);
}

#[test]
fn copies_are_whole_or_not_there() {
    let dg = Dg::with_group(3, "external");
    let lengths = [0, 1, 511, 4095, 4096, 4097, MIB - 1, MIB + 1, 8 * MIB, 17 * MIB + 5];
    for (nth, bytes) in lengths.into_iter().enumerate() {
        let sum = dg.fill("file", bytes, nth as u64);
        let listed = dg.json(&["du"])["group"]["files"][0]["bytes"].clone();
        assert_eq!(listed, bytes, "the length that is listed");
        let long = dg.expect(0, &["ls", "-l"]).stdout;
        assert!(
            long.lines()
                .any(|l| l.contains("data:file") && l.split_whitespace().any(|w| w == bytes.to_string())),
            "{long}"
        );
        let back = format!("back{nth}");
        dg.expect(0, &["cp", "data:file", &back, "--verify"]);
        let bytes_back = std::fs::read(dg.bench.path(&back)).expect("read");
        assert_eq!(
            (bytes_back.len() as u64, sha256(&bytes_back)),
            (bytes, sum),
            "{bytes} bytes"
        );
        assert!(!dg.bench.path(&format!("{back}.part")).exists());
        dg.expect(0, &["rm", "data:file"]);
    }
    let sum = dg.fill("kept", 3 * MIB, 7);
    std::fs::create_dir(dg.bench.path("out")).expect("made");
    dg.expect(0, &["cp", "data:kept", "out"]);
    assert_eq!(sha256(&std::fs::read(dg.bench.path("out/kept")).expect("read")), sum);
    dg.refused(3, &["cp", "data:kept", "out"], &["out/kept exists", "not there yet"]);
    dg.run(&["cp", "data:kept", "none/file"])
        .failed_with(3, &["make none/file: ", "make the directory"]);
    dg.refused(
        3,
        &["cp", "kept", "data:new", "--bytes", "4MiB"],
        &["--bytes", "3145728"],
    );
    dg.refused(2, &["cp", "kept", "other"], &["GROUP:FILE"]);
    dg.refused(2, &["cp", "data:kept", "data:other"], &["local file first"]);
    let exists = dg.run(&["cp", "kept", "data:kept"]);
    exists.failed_with(3, &["kept exists", "choose another name"]);
    dg.run(&["cp", "missing", "data:x"]).failed_with(3, &["open missing"]);
    dg.run(&["cp", "out", "data:x"]).failed_with(3, &["is a directory"]);
    dg.run(&["cp", "data:none", "x"]).failed_with(3, &["no file none"]);
    dg.run(&["cp", "kept", "logs:x"]).failed_with(3, &["disk group logs"]);
    let odd = dg.run(&["cp", "kept", "data:a b"]);
    odd.failed_with(3, &["a file of the name `a b`"]);
    // A full group: the file is not there afterwards, and the space is.
    let free = dg.json(&["du"])["group"]["free_bytes"].clone();
    std::fs::File::create(dg.bench.path("large"))
        .and_then(|f| f.set_len(100 * MIB))
        .expect("made");
    dg.run(&["cp", "large", "data:large"])
        .failed_with(3, &["bytes are needed", "add a disk"]);
    assert_eq!(dg.expect(0, &["ls"]).stdout, "data:kept\n");
    assert_eq!(dg.json(&["du"])["group"]["free_bytes"], free);
    assert_eq!(dg.sum_of("kept", 3 * MIB, &[]), sum);
}

#[test]
fn what_may_not_be_taken_is_not_touched() {
    let dg = Dg::with_group(2, "normal");
    let (lun, other) = ("lun0", "other");
    dg.empty_file(other, DISK_MIB);
    let create = |args: &[&str], code: i32, words: &[&str]| {
        let args: Vec<&str> = ["dg", "create", "new"].iter().chain(args).copied().collect();
        let before = dg.contents();
        dg.bench.run(&args).failed_with(code, words);
        assert!(before == dg.contents(), "{args:?} wrote something");
    };
    create(&[other], 3, &["destroys what is on other", "--yes"]);
    create(
        &[other, lun, "--yes"],
        3,
        &["lun0 belongs to disk group data", "--overwrite lun0"],
    );
    create(&["missing", "--yes"], 3, &["missing", "does not exist"]);
    create(&[".", "--yes"], 3, &["no block device and no regular file"]);
    create(&["/dev/null", "--yes"], 3, &["/dev/null", "no block device"]);
    create(&["--yes"], 2, &["no disks are given"]);
    create(&[other, "./other", "--yes"], 2, &["named twice"]);
    create(&[other, "--redundancy", "normal", "--yes"], 3, &["1 failure groups"]);
    create(&[other, "--au", "3MiB", "--yes"], 2, &["--au", "64MiB"]);
    create(&[other, "--redundancy", "double", "--yes"], 2, &["double", "external"]);
    create(&[other, "--failure-group", "left", "--yes"], 2, &["NAME=DISK"]);
    create(
        &["--failure-group", "l=other", "--failure-group", "r=other", "--yes"],
        2,
        &["two failure groups"],
    );
    create(&[other, "--overwrite", lun, "--yes"], 2, &["--overwrite lun0"]);
    dg.bench
        .run(&["dg", "create", "a:b", other, "--yes"])
        .failed_with(2, &["leave out `:`"]);
    dg.bench
        .run(&["dg", "create", "a b", other, "--yes"])
        .failed_with(3, &["a group of the name `a b`"]);
    dg.empty_file("small", 2);
    create(
        &["small", "--yes"],
        3,
        &["small of 2097152 bytes", "smaller allocation unit"],
    );
    dg.empty_file("none", 0);
    create(&["none", "--yes"], 3, &["none of 0 bytes"]);
    dg.bench.write("letter", &"Dear all, ".repeat(1 << 20));
    create(
        &["letter", "--yes"],
        3,
        &["letter is not empty (byte 0)", "--overwrite letter"],
    );
    let mut ext4 = vec![0; (DISK_MIB * MIB) as usize];
    ext4[0x438..0x43a].copy_from_slice(b"\x53\xef");
    std::fs::write(dg.bench.path("fs"), &ext4).expect("written");
    create(
        &["fs", "--yes"],
        3,
        &["fs carries ext2/ext3/ext4 at byte 1080", "--overwrite fs"],
    );
    // With the very name, and only then.
    dg.bench
        .expect(0, &["dg", "create", "new", "fs", "other", "--overwrite", "fs", "--yes"]);
    dg.refused(3, &["add", "other", "--yes"], &["belongs to disk group new"]);
    dg.refused(3, &["add", lun, "--yes"], &["belongs to disk group data already"]);
    dg.refused(3, &["add", "letter", "--yes"], &["letter is not empty"]);
    dg.refused(2, &["add", "letter", "--power", "1025", "--yes"], &["1025"]);
    dg.run(&["drop", "data_0000"])
        .failed_with(3, &["1 failure groups", "add a disk"]);
}

#[test]
fn a_rebalance_that_is_stopped_goes_on() {
    let mut dg = Dg::with_group(3, "external");
    dg.disks.iter().for_each(|d| assert!(dg.bench.path(d).exists()));
    let sum = dg.fill("a", 40 * MIB, 1);
    dg.empty_file("more", DISK_MIB);
    let said = dg.expect(0, &["add", "more", "--power", "0", "--yes"]);
    assert!(
        said.stdout.contains("power 0") && said.stdout.contains("wanted"),
        "{said}"
    );
    dg.disks.push("more".into());
    assert_eq!(dg.json(&["du"])["group"]["rebalance_wanted"], true);
    // Killed wherever it is, a few times; asked to stop, once.
    for delay_ms in [3, 8, 15] {
        let mut running = Running::start(dg.command(&["rebalance", "--power", "1"]));
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        if !running.is_over() {
            running.signal(rustix::process::Signal::KILL);
        }
        running.wait();
    }
    let running = Running::start(dg.command(&["rebalance", "--power", "1", "--watch"]));
    std::thread::sleep(std::time::Duration::from_millis(20));
    running.signal(rustix::process::Signal::INT);
    let stopped = running.wait();
    // Before the handler stands a signal ends the program at once; that is a crash like the others.
    assert!([-1, 0, 3].contains(&stopped.code()), "{stopped}");
    if stopped.code() == 3 {
        assert!(stopped.stderr.contains("go on with `assay dg rebalance`"), "{stopped}");
    }
    let done = dg.expect(0, &["rebalance", "--watch"]);
    assert!(
        done.stdout.contains("moved") && done.stderr.contains("rebalance:"),
        "{done}"
    );
    let group = &dg.json(&["du"])["group"];
    assert_eq!(group["rebalance_wanted"], false);
    let on: Vec<u64> = group["files"][0]["bytes_on_disk"]
        .as_object()
        .expect("disks")
        .values()
        .filter_map(Value::as_u64)
        .collect();
    assert!(
        on.len() == 4 && on.iter().all(|b| (9 * MIB..=11 * MIB).contains(b)),
        "{on:?}"
    );
    assert_eq!(dg.sum_of("a", 40 * MIB, &[]), sum);
    dg.expect(0, &["check"]);
}

#[test]
fn a_group_in_use_is_left_alone() {
    let dg = Dg::with_group(2, "external");
    dg.fill("a", MIB, 1);
    dg.empty_file("more", DISK_MIB);
    let held = std::fs::File::open(dg.bench.path("lun1")).expect("opened");
    held.lock().expect("locked");
    for args in [
        &["ls"][..],
        &["du"],
        &["check"],
        &["rm", "data:a"],
        &["cp", "data:a", "x"],
        &["add", "more", "--yes"],
    ] {
        dg.refused(3, args, &["lun1 is in use by another program"]);
    }
    drop(held);
    dg.expect(0, &["check"]);
}

#[test]
fn a_copy_that_is_stopped_leaves_nothing() {
    let dg = Dg::with_group(3, "external");
    dg.source("a", 40 * MIB, 1);
    for delay_ms in [10, 30, 60, 90] {
        let mut running = Running::start(dg.command(&["cp", "a", "data:a", "--verify"]));
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        if !running.is_over() {
            running.signal(rustix::process::Signal::INT);
        }
        let ran = running.wait();
        let there = dg.expect(0, &["ls"]).stdout == "data:a\n";
        // Stopped while it was read back: the copy is whole.
        let whole = ran.code() == 0 || ran.stderr.contains("read back");
        assert!(!there || whole, "{delay_ms} ms: {ran}");
        assert!(ran.code() != 3 || ran.stderr.contains("interrupted"), "{ran}");
        if there {
            dg.expect(0, &["rm", "data:a"]);
        }
    }
    dg.expect(0, &["check"]);
}

#[test]
fn a_copy_that_is_killed_leaves_nothing_that_looks_whole() {
    let dg = Dg::with_group(3, "external");
    let sum = dg.source("a", 40 * MIB + 3, 1);
    for delay_ms in [5, 15, 40, 80, 160] {
        let mut running = Running::start(dg.command(&["cp", "a", "data:a"]));
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        if !running.is_over() {
            running.signal(rustix::process::Signal::KILL);
        }
        running.wait();
        if dg.expect(0, &["ls"]).stdout == "data:a\n" {
            dg.expect(0, &["cp", "data:a", "whole"]);
            assert_eq!(
                sha256(&std::fs::read(dg.bench.path("whole")).expect("read")),
                sum,
                "{delay_ms} ms"
            );
            std::fs::remove_file(dg.bench.path("whole")).expect("removed");
            dg.expect(0, &["rm", "data:a"]);
        }
    }
    dg.expect(0, &["check"]);
    dg.expect(0, &["cp", "a", "data:a"]);
    for delay_ms in [5, 15, 40, 80, 160] {
        let mut running = Running::start(dg.command(&["cp", "data:a", "out"]));
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        if !running.is_over() {
            running.signal(rustix::process::Signal::KILL);
        }
        running.wait();
        if let Ok(bytes) = std::fs::read(dg.bench.path("out")) {
            assert_eq!(sha256(&bytes), sum, "{delay_ms} ms");
        }
        let _ = std::fs::remove_file(dg.bench.path("out"));
        let _ = std::fs::remove_file(dg.bench.path("out.part"));
    }
}
