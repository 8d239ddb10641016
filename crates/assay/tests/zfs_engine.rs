//! The page engine on OpenZFS in user space: its work, and its recovery after the server process was killed.
//!
//! Prevents: a file of a pool that keeps its contract in single requests and loses a database.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

use pages::{
    AgeWork, Files, HEADER_BYTES, Instance, RandomWork, ScanWork, Settings, Shape, TornPages, Transaction,
    expected_body,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use targets::{FileId, Port};
use workloads::{Operation, Started};
use zpool::{FileName, FileSpec, Launch, PoolSpec, Redundancy, Tuning, Zpool, ZpoolPort};

const POOL: &str = "assayengine";
const ARC: u64 = 64 << 20;

struct Bench {
    _dir: tempfile::TempDir,
    data: Vec<PathBuf>,
    log: PathBuf,
    launch: Launch,
}

/// Said aloud; where `./test` found the library installed, a test without it is a failure.
fn skipped(error: &zpool::ZpoolError) {
    assert!(
        std::env::var_os("ASSAY_TEST_OPENZFS").is_none(),
        "OpenZFS is installed: {error}"
    );
    eprintln!("SKIPPED: {error}");
}

impl Bench {
    fn new() -> Option<Bench> {
        let launch = Launch::of(env!("CARGO_BIN_EXE_assay").as_ref());
        if let Err(error) = zpool::probe(&launch) {
            skipped(&error);
            return None;
        }
        let dir = tempfile::Builder::new()
            .prefix("assay-zfs-")
            .tempdir_in("/var/tmp")
            .unwrap();
        let data: Vec<PathBuf> = (0..3).map(|nth| dir.path().join(format!("lun{nth}"))).collect();
        let log = dir.path().join("log");
        for path in data.iter().chain([&log]) {
            std::fs::File::create(path).unwrap().set_len(256 << 20).unwrap();
        }
        Some(Bench {
            _dir: dir,
            data,
            log,
            launch,
        })
    }

    fn start(&self) -> Zpool {
        Zpool::start(&self.launch, &Tuning::new(ARC)).unwrap()
    }

    fn devices(&self) -> Vec<PathBuf> {
        self.data.iter().chain([&self.log]).cloned().collect()
    }

    /// A pool with a log device and the two files of a database, whose data has these properties.
    fn create(&self, properties: &[(&str, &str)]) -> Zpool {
        let zpool = self.start();
        zpool
            .create(&PoolSpec {
                name: POOL.into(),
                data: self.data.clone(),
                log: vec![self.log.clone()],
                redundancy: Redundancy::Stripe,
                ashift: 12,
                overwrite: true,
            })
            .unwrap();
        let properties: Vec<(String, String)> =
            properties.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let data = pages::data_file_bytes(&shape(), &settings(), 1)[0];
        for (name, bytes, record_bytes) in [
            ("data", data, 8192),
            ("redo", pages::redo_file_bytes(&settings()), 131_072),
        ] {
            let name = FileName::new(POOL, name);
            zpool
                .create_file(&FileSpec {
                    name,
                    bytes,
                    record_bytes,
                    properties: properties.clone(),
                })
                .unwrap();
        }
        zpool
    }
}

fn shape() -> Shape {
    Shape {
        page_bytes: 8192,
        schemas: 8,
        pages_per_schema: 512,
        seed: 7,
        compressibility: 2.0,
        duplication: 0.0,
    }
}

fn settings() -> Settings {
    Settings {
        cache_bytes: 4 << 20,
        multiblock_read: 16,
        torn_pages: TornPages::Log,
        checkpoint_ns: 300_000_000,
        writers: 8,
        redo_bytes: 8 << 20,
        workers: 1,
    }
}

fn files() -> Files {
    Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    }
}

fn port(zpool: &Zpool) -> ZpoolPort {
    let names = [FileName::new(POOL, "data"), FileName::new(POOL, "redo")];
    zpool
        .open(&names, pages::memory_bytes(&shape(), &settings()), 64)
        .unwrap()
}

fn update() -> RandomWork {
    RandomWork {
        update_pct: 50,
        scan_pct: 0,
        scan_table_bytes: 1 << 20,
        sessions: 8,
        work_unit: 4,
        work_loop: 0,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    }
}

/// What the lab knows of transactions: formed, and whether acknowledged.
#[derive(Default)]
struct Books {
    formed: Vec<(Transaction, bool)>,
}

/// Drives an operation until it is out of work, its storage fails, or the time is over; books what it did.
fn drive<O>(
    operation: &mut O,
    sessions: u32,
    time: Duration,
    mut after: impl FnMut(&mut O, &[u32]),
) -> Result<u64, O::Error>
where
    O: Operation,
{
    let mut ready: Vec<u32> = (0..sessions).collect();
    let (mut done, mut under_way, mut ended) = (Vec::new(), 0u32, 0u64);
    let began = Instant::now();
    loop {
        let over = began.elapsed() >= time;
        let mut result = Ok(());
        while let Some(session) = ready.pop() {
            if over || result.is_err() {
                continue;
            }
            match operation.start(session, &mut done) {
                Ok(Started::Running) => under_way += 1,
                Ok(Started::Exhausted) => {}
                Err(error) => result = Err(error),
            }
        }
        if result.is_ok() && done.is_empty() && under_way > 0 {
            result = operation.advance(None, &mut done);
        }
        let updated: Vec<u32> = done
            .iter()
            .filter(|end| end.class == 1)
            .map(|end| end.session)
            .collect();
        after(operation, &updated);
        for end in done.drain(..) {
            ready.push(end.session);
            under_way -= 1;
            ended += 1;
        }
        result?;
        if under_way == 0 && (ready.is_empty() || over) {
            return Ok(ended);
        }
    }
}

/// Updates for a while; true when the storage failed meanwhile.
fn work<P: Port>(instance: &mut Instance<P>, books: &mut Books, seed: u64, time: Duration) -> bool {
    let mut operations = instance.random(&update(), seed).unwrap();
    let operation = &mut operations[0];
    operation.trace_transactions();
    let sessions = operation.sessions();
    let mut latest = std::collections::BTreeMap::new();
    let failed = drive(operation, sessions, time, |operation, updated| {
        for transaction in operation.transactions() {
            latest.insert(transaction.session, books.formed.len());
            books.formed.push((transaction, false));
        }
        for session in updated {
            if let Some(nth) = latest.remove(session) {
                books.formed[nth].1 = true;
            }
        }
    })
    .is_err();
    if !failed {
        operation.finish().unwrap();
    }
    failed
}

/// Versions of all pages; each must hold exactly what its version demands.
fn survey<P: Port>(instance: &mut Instance<P>) -> Vec<Vec<u64>> {
    let mut bytes = Vec::new();
    let mut version = |schema, page| {
        instance.read_page(schema, page, &mut bytes).unwrap();
        let version = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
        assert!(
            bytes[HEADER_BYTES..] == expected_body(&shape(), schema, page, version, false)[..],
            "{schema}/{page}"
        );
        version
    };
    (0..shape().schemas)
        .map(|schema| {
            (0..shape().pages_per_schema)
                .map(|page| version(schema, page))
                .collect()
        })
        .collect()
}

/// Acknowledged transactions that are gone, and transactions that are there in part.
fn judge(books: &Books, found: &[Vec<u64>]) -> (usize, usize) {
    let (mut gone, mut half) = (0, 0);
    for (transaction, acknowledged) in &books.formed {
        let there = |change: &&(u32, u32, u64)| found[change.0 as usize][change.1 as usize] >= change.2;
        let present = transaction.changes.iter().filter(there).count();
        gone += usize::from(*acknowledged && present == 0);
        half += usize::from(present != 0 && present != transaction.changes.len());
    }
    (gone, half)
}

#[test]
fn random_scan_and_age_run_and_every_page_is_verified() {
    let Some(bench) = Bench::new() else { return };
    let zpool = bench.create(&[("compression", "lz4"), ("checksum", "sha256")]);
    let mut instance = Instance::create(vec![port(&zpool)], &files(), shape(), settings(), &mut |_, _| ()).unwrap();
    instance.checkpoint().unwrap();
    zpool.sync().unwrap();
    let fresh = zpool.extents(&FileName::new(POOL, "data")).unwrap();
    let mut books = Books::default();
    assert!(!work(&mut instance, &mut books, 1, Duration::from_millis(300)));
    assert!(
        books.formed.iter().filter(|formed| formed.1).count() > 20,
        "hardly any update was acknowledged"
    );
    let scan = ScanWork {
        users: 4,
        degree: 1,
        parallel: 4,
        passes: 1,
    };
    let mut scans = instance.scan(&scan, 2).unwrap();
    let sessions = scans[0].sessions();
    drive(&mut scans[0], sessions, Duration::from_secs(60), |_, _| ()).unwrap();
    scans[0].finish().unwrap();
    drop(scans);
    let read = instance.counters().multiblock_read_bytes;
    assert!(read >= 4 * shape().schema_bytes(), "{read} bytes were scanned");
    let age = AgeWork {
        passes: 1,
        sessions: 8,
        work_unit: 16,
        heavy: false,
        outstanding: 4,
    };
    instance.count_overwritten();
    let mut aging = instance.age(&age, 3).unwrap();
    let sessions = aging[0].sessions();
    drive(&mut aging[0], sessions, Duration::from_secs(60), |_, _| ()).unwrap();
    aging[0].finish().unwrap();
    drop(aging);
    instance.checkpoint().unwrap();
    assert_eq!(instance.overwritten_pages(), shape().pages());
    zpool.sync().unwrap();
    let aged = zpool.extents(&FileName::new(POOL, "data")).unwrap();
    assert!(
        aged.len() > fresh.len(),
        "{} extents fresh, {} aged",
        fresh.len(),
        aged.len()
    );
    survey(&mut instance);
    let counted = zpool.count().unwrap();
    assert!(
        counted.files.iter().any(|file| file.compress_ratio_percent > 100),
        "{:?}",
        counted.files
    );
    drop(instance);
    zpool.destroy(POOL).unwrap();
}

/// Loads, updates, kills the server in the middle, imports, recovers, judges.
fn kill(bench: &Bench, properties: &[(&str, &str)], seed: u64) -> Result<(usize, usize, usize), String> {
    let zpool = bench.create(properties);
    let mut instance = Instance::create(vec![port(&zpool)], &files(), shape(), settings(), &mut |_, _| ()).unwrap();
    instance.checkpoint().unwrap();
    zpool.sync().unwrap();
    let killer = zpool.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150 + seed * 97 % 500));
        killer.kill();
    });
    let mut books = Books::default();
    assert!(
        work(&mut instance, &mut books, seed, Duration::from_secs(60)),
        "the kill was not noticed"
    );
    thread.join().unwrap();
    drop(instance);
    drop(zpool);
    let acknowledged = books.formed.iter().filter(|formed| formed.1).count();
    let zpool = bench.start();
    zpool.import(POOL, &bench.devices()).unwrap();
    let judged = match Instance::open(vec![port(&zpool)], &files(), settings()) {
        Ok((mut instance, _)) => {
            let (gone, half) = judge(&books, &survey(&mut instance));
            Ok((acknowledged, gone, half))
        }
        Err(error) => Err(error.to_string()),
    };
    zpool.destroy(POOL).unwrap();
    judged
}

#[test]
fn after_a_kill_every_acknowledged_transaction_is_there() {
    let Some(bench) = Bench::new() else { return };
    let rounds = if std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full") {
        25
    } else {
        1
    };
    for seed in 0..rounds {
        for properties in [&[][..], &[("logbias", "throughput")]] {
            let (acknowledged, gone, half) = kill(&bench, properties, seed).unwrap();
            assert!(
                acknowledged > 20,
                "only {acknowledged} transactions were acknowledged before the kill"
            );
            assert_eq!(
                (gone, half),
                (0, 0),
                "of {acknowledged} acknowledged: gone, half there ({properties:?}, {seed})"
            );
        }
    }
}

#[test]
fn with_sync_disabled_the_loss_is_seen() {
    let Some(bench) = Bench::new() else { return };
    let seen = match kill(&bench, &[("sync", "disabled")], 3) {
        Ok((acknowledged, gone, _)) => gone > 0 && acknowledged > 0,
        // The log or a page is older than what was promised: the engine refuses the database.
        Err(said) => said.contains("lost") || said.contains("redo") || said.contains("version"),
    };
    assert!(seen, "acknowledged transactions were lost and nobody said so");
}
