//! `assay dg` by the whole binary on plain files: what it makes, what it refuses, what it mends.
//!
//! Prevents: a command that destroys what it should have refused (after every refusal all bytes are as before), and a repair that
//! copies the damage over the good.

mod bench;

use bench::{Bench, Ran, Running};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;
const DISK_MIB: u64 = 24;

/// A bench with empty files to be disks, and the arguments that name them.
struct Dg {
    bench: Bench,
    disks: Vec<String>,
}

impl Dg {
    fn new(disks: usize) -> Dg {
        let bench = Bench::new();
        let disks: Vec<String> = (0..disks).map(|n| format!("lun{n}")).collect();
        let dg = Dg { bench, disks };
        dg.disks.iter().for_each(|d| dg.empty_file(d, DISK_MIB));
        dg
    }

    /// With a group `data` on all disks.
    fn with_group(disks: usize, redundancy: &str) -> Dg {
        let dg = Dg::new(disks);
        let mut args = vec!["dg", "create", "data", "--yes", "--redundancy", redundancy];
        args.extend(dg.disks.iter().map(String::as_str));
        dg.bench.expect(0, &args);
        dg
    }

    fn empty_file(&self, name: &str, mib: u64) {
        let file = std::fs::File::create(self.bench.path(name)).expect("made");
        file.set_len(mib * MIB).expect("sized");
    }

    /// `assay dg ARGS --disk ...`, to its end.
    fn run(&self, args: &[&str]) -> Ran {
        Running::start(self.command(args)).wait()
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut all = vec!["dg"];
        all.extend(args);
        for disk in &self.disks {
            all.extend(["--disk", disk.as_str()]);
        }
        self.bench.command(&all)
    }

    fn expect(&self, code: i32, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code(), code, "assay dg {args:?}\n{ran}");
        assert!(!ran.stderr.contains("panicked"), "{ran}");
        for line in ran.stdout.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {} columns: {line}", line.len());
        }
        ran
    }

    fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        let json = self.run(&args).json();
        assert_eq!(json["schema"], 1, "{json}");
        json
    }

    /// Writes a local file of random bytes; gives its SHA-256.
    fn source(&self, name: &str, bytes: u64, seed: u64) -> String {
        let content = random(bytes, seed);
        std::fs::write(self.bench.path(name), &content).expect("written");
        sha256(&content)
    }

    /// Copies a file in; gives its SHA-256.
    fn fill(&self, name: &str, bytes: u64, seed: u64) -> String {
        let sum = self.source(name, bytes, seed);
        self.expect(0, &["cp", name, &format!("data:{name}"), "--verify"]);
        sum
    }

    /// SHA-256 of a file of the group, read by a command of its own.
    fn sum_of(&self, name: &str, bytes: u64, more: &[&str]) -> String {
        let (from, size) = (format!("data:{name}"), bytes.to_string());
        let mut args = vec!["cp", from.as_str(), "copied-out", "--bytes", size.as_str()];
        args.extend(more);
        self.expect(0, &args);
        let path = self.bench.path("copied-out");
        let content = std::fs::read(&path).expect("read");
        std::fs::remove_file(path).expect("removed");
        sha256(&content)
    }

    /// Random bytes over a part of a disk.
    fn garbage(&self, disk: usize, from: u64, bytes: u64) {
        let path = self.bench.path(&self.disks[disk]);
        let file = std::fs::OpenOptions::new().write(true).open(path).expect("opened");
        file.write_all_at(&random(bytes, from + 99), from).expect("written");
    }

    /// Checksums of every file in the directory.
    fn contents(&self) -> BTreeMap<PathBuf, String> {
        let files = self.bench.listing();
        let files = files.into_iter().map(|(path, _)| path).filter(|p| p.is_file());
        files
            .map(|p| {
                let content = std::fs::read(&p).expect("read");
                (p, sha256(&content))
            })
            .collect()
    }

    /// Looks that a command is refused and that nothing at all was written.
    fn refused(&self, code: i32, args: &[&str], words: &[&str]) {
        let before = self.contents();
        let ran = self.run(args);
        ran.failed_with(code, words);
        let cure = ran.stderr.trim_end().lines().last().unwrap_or_default();
        assert!(code == 2 || cure.starts_with("  "), "no cure\n{ran}");
        assert!(before == self.contents(), "{args:?} wrote something\n{ran}");
    }

    /// The bytes of a disk's data area, behind header, table and journal.
    fn data_area() -> (u64, u64) {
        (3 * MIB, (DISK_MIB - 5) * MIB)
    }
}

fn random(bytes: u64, seed: u64) -> Vec<u8> {
    let mut content = vec![0; bytes as usize];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut content);
    content
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|b| format!("{b:02x}")).collect()
}

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
    assert!(
        said.stderr.contains("2862 zeros") && said.stderr.contains("--bytes 9438418"),
        "{said}"
    );
    dg.source("redo", 2 * MIB, 2);
    let json = dg.json(&["cp", "redo", "data:redo/1", "--stripe", "fine", "--redundancy", "high"]);
    assert_eq!((&json["bytes"], &json["padding_bytes"]), (&(2 * MIB).into(), &0.into()));
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
    dg.expect(0, &["check"]);
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
    for (nth, bytes) in [0, 1, 4096, 4097, 8 * MIB, 17 * MIB + 5].into_iter().enumerate() {
        let sum = dg.fill("file", bytes, nth as u64);
        assert_eq!(dg.sum_of("file", bytes, &["--verify"]), sum, "{bytes} bytes");
        dg.expect(0, &["rm", "data:file"]);
    }
    let sum = dg.fill("kept", 3 * MIB, 7);
    std::fs::create_dir(dg.bench.path("out")).expect("made");
    dg.expect(0, &["cp", "data:kept", "out"]);
    assert_eq!(sha256(&std::fs::read(dg.bench.path("out/kept")).expect("read")), sum);
    dg.refused(3, &["cp", "data:kept", "out"], &["out/kept exists", "not there yet"]);
    dg.run(&["cp", "data:kept", "none/file"])
        .failed_with(3, &["none/file", "not there yet"]);
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

/// CRC32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &b| {
        (0..8).fold(crc ^ u32::from(b), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 }
        })
    })
}

#[test]
fn headers_that_are_damaged_or_of_a_newer_version() {
    let dg = Dg::with_group(3, "normal");
    let sum = dg.fill("a", 2 * MIB, 1);
    let path = dg.bench.path("lun1");
    let good = std::fs::read(&path).expect("read");
    let last = good.len() - 4096;
    let change = |act: &dyn Fn(&mut [u8])| {
        let mut bytes = std::fs::read(&path).expect("read");
        act(&mut bytes[..4096]);
        act(&mut bytes[last..]);
        std::fs::write(&path, bytes).expect("written");
    };
    change(&|header| {
        header[40] = 9;
        let crc = crc32c(&header[8..4096]);
        header[4..8].copy_from_slice(&crc.to_le_bytes());
    });
    for args in [
        &["ls"][..],
        &["check"],
        &["check", "--repair"],
        &["cp", "a", "data:b"],
        &["rebalance"],
        &["rm", "data:a"],
    ] {
        dg.refused(3, args, &["lun1 has format version 9", "use a newer program"]);
    }
    std::fs::write(&path, &good).expect("written");
    // Both copies torn: the group is not whole, and nothing else is done to it.
    change(&|header| header[60] ^= 1);
    for args in [&["ls"][..], &["cp", "a", "data:b"], &["rebalance"]] {
        dg.refused(3, args, &["disks missing: data_0001", "--force"]);
    }
    let before = dg.contents();
    let found = dg.expect(1, &["check"]);
    assert!(
        found.stdout.contains("FOUND    disk data_0001") && found.stderr.contains("--overwrite lun1"),
        "{found}"
    );
    assert!(before == dg.contents());
    dg.bench
        .run(&["dg", "ls", "lun1"])
        .failed_with(3, &["the header is damaged on lun1"]);
    let create = dg.bench.run(&["dg", "create", "new", "lun1", "--yes"]);
    create.failed_with(3, &["damaged header of a disk group", "--overwrite lun1"]);
    // One copy: it is mended by whoever opens the group, who says so.
    std::fs::write(&path, &good).expect("written");
    dg.garbage(1, last as u64, 4096);
    let found = dg.expect(0, &["check"]);
    assert!(
        found
            .stdout
            .contains("repaired a damaged header was written again: data_0001"),
        "{found}"
    );
    assert_eq!(dg.expect(0, &["check"]).stderr, "");
    assert_eq!(dg.sum_of("a", 2 * MIB, &[]), sum);
}

#[test]
fn garbage_on_one_disk_is_found_and_mended() {
    let dg = Dg::with_group(4, "normal");
    let sums = [
        ("a", 11 * MIB, dg.fill("a", 11 * MIB, 1)),
        ("b", 5 * MIB, dg.fill("b", 5 * MIB, 2)),
    ];
    let (from, bytes) = Dg::data_area();
    for disk in 0..4 {
        // From behind the header to the end: metadata and data.
        dg.garbage(disk, 4096, DISK_MIB * MIB - 4096);
        let found = dg.json(&["check", "--repair"]);
        assert_eq!(found["sound"], true, "disk {disk}: {found:#}");
        let findings = found["findings"].as_array().expect("findings");
        assert!(findings.len() > 3, "disk {disk}: {found:#}");
        assert_eq!(dg.expect(0, &["check"]).stderr, "", "disk {disk}");
        for (name, size, sum) in &sums {
            assert_eq!(dg.sum_of(name, *size, &[]), *sum, "{name} after garbage on disk {disk}");
        }
    }
    // Where only data are hit, nothing tells which copy is the bad one: nothing may be overwritten unasked.
    let victim = 3;
    let metadata_free = dg.json(&["du"])["group"]["disks"][victim]["name"] == "data_0003";
    assert!(metadata_free, "three disks hold the metadata, the fourth has none");
    dg.garbage(victim, from, bytes);
    let before = dg.contents();
    let found = dg.expect(1, &["check", "--repair"]);
    assert!(
        found.stderr.contains("nothing was overwritten") && found.stderr.contains("--distrust"),
        "{found}"
    );
    let data = |c: &BTreeMap<PathBuf, String>| c.len();
    assert_eq!(data(&before), data(&dg.contents()));
    dg.run(&["check", "--repair", "--distrust", "data_0009"])
        .failed_with(3, &["no disk data_0009"]);
    dg.run(&["check", "--distrust", "data_0003"])
        .failed_with(2, &["--repair"]);
    let mended = dg.expect(0, &["check", "--repair", "--distrust", "lun3"]);
    assert!(
        mended.stdout.contains("is sound again") && mended.stdout.contains("anew"),
        "{mended}"
    );
    for (name, size, sum) in &sums {
        assert_eq!(dg.sum_of(name, *size, &[]), *sum, "{name}");
    }
}

#[test]
fn a_disk_that_is_lost_is_read_around_and_replaced() {
    let dg = Dg::with_group(4, "normal");
    let sum = dg.fill("a", 14 * MIB, 1);
    dg.garbage(2, 0, DISK_MIB * MIB);
    let before = dg.contents();
    let found = dg.expect(1, &["check"]);
    assert!(found.stderr.contains("no header on lun2"), "{found}");
    assert!(
        dg.run(&["check", "--repair", "--overwrite", "lun2"]).code() == 3,
        "without --yes"
    );
    assert!(before == dg.contents(), "nothing was written so far");
    assert_eq!(dg.sum_of("a", 14 * MIB, &["--force"]), sum, "degraded");
    assert!(dg.expect(0, &["ls", "-l"]).stdout.contains("missing"));
    let said = dg.expect(1, &["check"]);
    assert!(said.stdout.contains("disk data_0002: it is missing"), "{said}");
    let said = dg.expect(0, &["check", "--repair", "--overwrite", "lun2", "--yes"]);
    assert!(
        said.stdout.contains("lun2 takes its place") && said.stdout.contains("anew"),
        "{said}"
    );
    assert_eq!(dg.expect(0, &["check"]).stderr, "");
    let names = dg.expect(0, &["ls", "-l"]).stdout;
    assert!(names.contains("data_0004") && !names.contains("data_0002"), "{names}");
    // The redundancy is there again: another disk may go, for good this time.
    dg.garbage(0, 0, DISK_MIB * MIB);
    dg.expect(0, &["drop", "data_0000", "--force"]);
    assert_eq!(dg.sum_of("a", 14 * MIB, &[]), sum);
    dg.expect(0, &["check"]);
    // Two at once are more than the redundancy allows, and the group says whose data are gone.
    dg.garbage(1, 0, DISK_MIB * MIB);
    dg.garbage(2, 0, DISK_MIB * MIB);
    dg.refused(3, &["ls", "--force"], &["lost", "attach the disks again"]);
}

#[test]
fn a_disk_that_comes_back_is_brought_up_to_date() {
    let dg = Dg::with_group(3, "normal");
    let old = dg.fill("old", 4 * MIB, 1);
    let two = Dg {
        bench: Bench::new(),
        disks: dg
            .disks
            .iter()
            .take(2)
            .map(|d| dg.bench.path(d).display().to_string())
            .collect(),
    };
    two.run(&["cp", "x", "data:x"]).failed_with(3, &["open x"]);
    let new = two.source("new", 4 * MIB, 2);
    two.run(&["cp", "new", "data:new"])
        .failed_with(3, &["disks missing: data_0002"]);
    two.expect(0, &["cp", "new", "data:new", "--force", "--verify"]);
    let offline = dg.expect(1, &["check"]);
    assert!(offline.stdout.contains("disk data_0002: it is offline"), "{offline}");
    let back = dg.json(&["rebalance"]);
    assert_eq!(back["rebalance"]["returned"][0], "data_0002");
    dg.expect(0, &["check"]);
    // Now without another: what was written meanwhile is on the one that was away.
    let without = Dg {
        bench: Bench::new(),
        disks: dg
            .disks
            .iter()
            .skip(1)
            .map(|d| dg.bench.path(d).display().to_string())
            .collect(),
    };
    assert_eq!(without.sum_of("new", 4 * MIB, &["--force"]), new);
    assert_eq!(without.sum_of("old", 4 * MIB, &[]), old);
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
