//! Pools on files, through the whole way: shared memory, the server process, OpenZFS.

use crate::rig::{Rig, block, read, write};
use targets::{FileId, IoFault, Op, Port};
use zpool::{FileName, Redundancy};

/// Where Debian has the library.
const INSTALLED: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/libzpool.so.5",
    "/usr/lib/aarch64-linux-gnu/libzpool.so.5",
];

#[test]
fn what_is_written_is_there_after_export_and_import() {
    let Some(rig) = Rig::new(3) else { return };
    let zpool = rig.start();
    assert!(zpool.version().starts_with("2.1."), "{}", zpool.version());
    zpool.create(&rig.spec(Redundancy::Raidz1)).unwrap();
    let name = rig.file(&zpool, "data", 8 << 20, 8192, &[("compression", "off")]);
    let mut port = zpool.open(std::slice::from_ref(&name), 1 << 20, 16).unwrap();
    assert_eq!(port.size(FileId(0)).unwrap(), 8 << 20);
    for nth in 0..64 {
        write(&mut port, nth * 8192, &block(nth, 1));
    }
    assert_eq!(read(&mut port, 63 * 8192, 8192), Ok(block(63, 1)));
    assert_eq!(read(&mut port, 100 * 8192, 8192), Ok(vec![0; 8192]));
    let short = Err(IoFault::Short {
        got: 4096,
        wanted: 8192,
    });
    assert_eq!(read(&mut port, (8 << 20) - 4096, 8192), short);
    port.grow(FileId(0), 9 << 20).unwrap();
    write(&mut port, (9 << 20) - 8192, &block(7, 7));
    crate::rig::op(&mut port, Op::Flush, 0, 0).unwrap();
    drop(port);
    zpool.export("assayt").unwrap();
    drop(zpool);

    let zpool = rig.start();
    zpool.import("assayt", &rig.data).unwrap();
    let mut port = zpool.open(std::slice::from_ref(&name), 1 << 20, 16).unwrap();
    assert_eq!(port.size(FileId(0)).unwrap(), 9 << 20);
    for nth in 0..64 {
        assert_eq!(read(&mut port, nth * 8192, 8192), Ok(block(nth, 1)));
    }
    assert_eq!(read(&mut port, (9 << 20) - 8192, 8192), Ok(block(7, 7)));
    drop(port);
    zpool.truncate(&name, 8192).unwrap();
    let mut port = zpool.open(&[name], 1 << 20, 16).unwrap();
    port.grow(FileId(0), 16384).unwrap();
    assert_eq!(
        read(&mut port, 8192, 8192),
        Ok(vec![0; 8192]),
        "what was cut off reads as zeros"
    );
    drop(port);
    zpool.destroy("assayt").unwrap();
}

#[test]
fn counters_and_extents_tell_what_happened() {
    let Some(rig) = Rig::new(2) else { return };
    let zpool = rig.start();
    zpool.create(&rig.spec(Redundancy::Stripe)).unwrap();
    let name = rig.file(
        &zpool,
        "data",
        16 << 20,
        8192,
        &[("compression", "lz4"), ("checksum", "sha256")],
    );
    let mut port = zpool.open(std::slice::from_ref(&name), 4 << 20, 32).unwrap();
    let before = zpool.count().unwrap();
    for nth in 0..2048 {
        write(&mut port, nth * 8192, &block(nth, 1));
    }
    zpool.sync().unwrap();
    crate::rig::op(&mut port, Op::Flush, 0, 0).unwrap();
    let after = zpool.count().unwrap();
    let file = &after.files[0];
    assert_eq!(
        (file.name.as_str(), file.size_bytes, file.record_bytes),
        ("assayt/data", 16 << 20, 8192)
    );
    assert!(file.used_bytes >= 16 << 20, "random bytes do not shrink: {file:?}");
    let pool = &after.pools[0];
    assert!(
        pool.allocated_bytes > 16 << 20 && pool.allocated_bytes < pool.size_bytes,
        "{pool:?}"
    );
    assert!(pool.synced_txg > before.pools[0].synced_txg);
    let arc = after.arc.expect("this build's cache is known");
    assert_eq!(arc.max_bytes, crate::rig::ARC);
    assert!(
        arc.size_bytes > 1 << 20 && arc.size_bytes < 2 * crate::rig::ARC,
        "{arc:?}"
    );
    let written: u64 = after.devices.iter().map(|(_, counts)| counts.write_bytes).sum();
    assert!(written > 16 << 20, "{written} bytes written");
    for nth in 0..2048 {
        assert_eq!(read(&mut port, nth * 8192, 8192), Ok(block(nth, 1)));
    }
    let again = zpool.count().unwrap().arc.unwrap();
    assert!(again.hits >= arc.hits + 2048, "{arc:?} {again:?}");

    let fresh = zpool.extents(&name).unwrap();
    assert_eq!(fresh.iter().map(|e| e.length).sum::<u64>(), 16 << 20);
    assert!(
        fresh
            .windows(2)
            .all(|two| two[0].logical + two[0].length == two[1].logical)
    );
    // Every record written again, far apart.
    for nth in 0..2048 {
        write(&mut port, nth * 1021 % 2048 * 8192, &block(nth, 2));
        if nth % 256 == 0 {
            zpool.sync().unwrap();
        }
    }
    let aged = zpool.extents(&name).unwrap();
    // How many are adjacent when fresh depends on which of the library's threads came first.
    assert!(
        aged.len() > fresh.len(),
        "{} extents fresh, {} aged",
        fresh.len(),
        aged.len()
    );
    drop(port);
    zpool.destroy("assayt").unwrap();
}

#[test]
fn what_cannot_be_is_refused_with_the_cure() {
    let Some(rig) = Rig::new(2) else { return };
    let said = |error: zpool::ZpoolError| error.to_string();
    let small = zpool::Tuning::new(16 << 20);
    let refused = zpool::Zpool::start(&rig.launch, &small).map(drop).unwrap_err();
    assert!(said(refused).contains("64 MiB"));
    let zpool = rig.start();
    zpool.create(&rig.spec(Redundancy::Mirror)).unwrap();
    let twice = said(zpool.create(&rig.spec(Redundancy::Mirror)).unwrap_err());
    assert!(twice.contains("in use by another process"), "{twice}");
    // Of that name, on devices that are free.
    let namesake = zpool::PoolSpec {
        data: vec![rig.log.clone()],
        ..rig.spec(Redundancy::Stripe)
    };
    let same = said(zpool.create(&namesake).unwrap_err());
    assert!(
        same.contains("a pool `assayt` is open already") && same.contains("take another name"),
        "{same}"
    );
    let other = rig.start();
    let locked = said(other.import("assayt", &rig.data).unwrap_err());
    assert!(locked.contains("in use by another process"), "{locked}");
    let spec = |record: u32, property: (&str, &str)| zpool::FileSpec {
        name: FileName::new("assayt", "data"),
        bytes: 1 << 20,
        record_bytes: record,
        properties: vec![(property.0.into(), property.1.into())],
    };
    let odd = said(zpool.create_file(&spec(5000, ("sync", "always"))).unwrap_err());
    assert!(odd.contains("power of two"), "{odd}");
    let unknown = said(zpool.create_file(&spec(8192, ("colour", "red"))).unwrap_err());
    assert!(unknown.contains("colour=red: no such property"), "{unknown}");
    zpool.export("assayt").unwrap();
    let foreign = said(other.create(&rig.spec(Redundancy::Stripe)).unwrap_err());
    assert!(foreign.contains("belongs to pool `assayt` (exported)"), "{foreign}");
    let absent = said(other.import("nobodys", &rig.data).unwrap_err());
    assert!(absent.contains("no pool `nobodys`"), "{absent}");
}

/// The library that the process is told to take.
fn with_library(rig: &Rig, library: &std::path::Path) -> zpool::Launch {
    let mut launch = rig.launch.clone();
    launch.arguments = vec![
        format!("ASSAY_LIBZPOOL={}", library.display()).into(),
        rig.launch.program.clone().into(),
    ];
    launch.program = "/usr/bin/env".into();
    launch
}

#[test]
fn a_library_that_is_not_there_or_of_another_version_is_refused_with_the_cure() {
    let Some(rig) = Rig::new(1) else { return };
    let refused = |library: &std::path::Path| {
        let error = zpool::probe(&with_library(&rig, library)).unwrap_err();
        error.to_string()
    };
    let missing = refused("/nonexistent/libzpool.so".as_ref());
    assert!(missing.contains("apt-get install libzpool5linux"), "{missing}");
    // The library itself, but for the version that it says it is.
    let installed = INSTALLED.iter().find(|path| std::path::Path::new(path).exists());
    let Some(installed) = installed else {
        eprintln!("skipped: the library is in another place than Debian's");
        return;
    };
    let mut bytes = std::fs::read(installed).unwrap();
    let marks: Vec<usize> = (0..bytes.len() - 8)
        .filter(|at| &bytes[*at..*at + 8] == b"zfs-2.1.")
        .collect();
    assert!(!marks.is_empty(), "{installed} does not say its version");
    marks.iter().for_each(|at| bytes[at + 6] = b'2');
    let newer = rig.log.with_file_name("libzpool.so");
    std::fs::write(&newer, bytes).unwrap();
    let other = refused(&newer);
    assert!(
        other.contains("is OpenZFS 2.2.") && other.contains("install OpenZFS 2.1"),
        "{other}"
    );
}
