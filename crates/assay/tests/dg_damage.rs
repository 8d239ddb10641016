//! `assay dg` on groups that are damaged: what is found, what is mended, what is left alone.
//!
//! Prevents: a repair that copies the damage over the good.

use crate::bench::Bench;
use crate::disks::{DISK_MIB, Dg, MIB};

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
    let found = dg.expect(1, &["check", "--repair"]);
    assert!(
        found.stderr.contains("nothing was overwritten") && found.stderr.contains("--distrust"),
        "{found}"
    );
    let again = dg.json(&["check", "--repair"]);
    assert_eq!((&again["sound"], &again["copied_bytes"]), (&false.into(), &0.into()));
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
