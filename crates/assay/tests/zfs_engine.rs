//! The page engine on OpenZFS in user space: its work, and its recovery after the server process was killed.
//!
//! Prevents: a file of a pool that keeps its contract in single requests and loses a database.

use crate::acknowledged::{Found, Log, Logged, Over, survey};
use crate::trial::drive::Served;
use pages::{AgeWork, Files, HEADER_BYTES, Instance, RandomWork, ScanWork, Settings, Shape, TornPages, expected_body};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
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
            .tempdir_in(crate::machine::scratch())
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

/// Acts that ended, for who waits for them.
type Ended = AtomicU64;

/// So many that more than twenty of them are updates, of which half are.
const ACTS_MIN: u64 = 80;

/// Drives an operation until it is out of work, its storage fails, or the time is over and at least so many acts ended;
/// counts those.
fn drive_for<O>(operation: &mut O, sessions: u32, time: Duration, least: u64, ended: &Ended) -> Result<(), O::Error>
where
    O: Operation,
{
    let mut ready: Vec<u32> = (0..sessions).collect();
    let (mut done, mut under_way) = (Vec::new(), 0u32);
    let began = Instant::now();
    loop {
        let over = began.elapsed() >= time && ended.load(Ordering::SeqCst) >= least;
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
        for end in done.drain(..) {
            ready.push(end.session);
            under_way -= 1;
            ended.fetch_add(1, Ordering::SeqCst);
        }
        result?;
        if under_way == 0 && (ready.is_empty() || over) {
            return Ok(());
        }
    }
}

/// Updates for a while and for [`ACTS_MIN`] acts, what was acknowledged written down; true when the storage failed
/// meanwhile.
fn work<P: Port + Send>(instance: &mut Instance<P>, log: &mut Log, seed: u64, time: Duration, ended: &Ended) -> bool {
    let mut operations = instance.random(&update(), seed).unwrap();
    let operation = operations.remove(0);
    let (never, unheard) = (Over::default(), crate::moment::Moment::default());
    let mut logged = Logged::new(operation, log, &never, &unheard);
    let sessions = logged.sessions();
    let failed = drive_for(&mut logged, sessions, time, ACTS_MIN, ended).is_err();
    if !failed {
        logged.finish().unwrap();
    }
    failed
}

/// Versions of all pages, each of which must hold exactly what its version demands.
fn verified<P: Port + Send>(instance: &mut Instance<P>) -> Vec<u64> {
    let versions = survey(instance).unwrap();
    let mut bytes = Vec::new();
    let pages = (0..shape().schemas).flat_map(|schema| (0..shape().pages_per_schema).map(move |page| (schema, page)));
    for ((schema, page), version) in pages.zip(&versions) {
        instance.read_page(schema, page, &mut bytes).unwrap();
        assert!(
            bytes[HEADER_BYTES..] == expected_body(&shape(), schema, page, *version, false)[..],
            "{schema}/{page}"
        );
    }
    versions
}

#[test]
fn random_scan_and_age_run_and_every_page_is_verified() {
    let Some(bench) = Bench::new() else { return };
    let zpool = bench.create(&[("compression", "lz4"), ("checksum", "sha256")]);
    let mut instance =
        Instance::create(vec![port(&zpool)], &files(), shape(), settings(), &mut pages::unheard).unwrap();
    instance.checkpoint().unwrap();
    zpool.sync().unwrap();
    let fresh = zpool.extents(&FileName::new(POOL, "data")).unwrap();
    let mut log = Log::default();
    assert!(!work(
        &mut instance,
        &mut log,
        1,
        Duration::from_millis(300),
        &Ended::new(0)
    ));
    assert!(Found::acknowledged(&[log]) > 20, "hardly any update was acknowledged");
    let scan = ScanWork {
        users: 4,
        degree: 1,
        parallel: 4,
        passes: 1,
    };
    let mut scans = instance.scan(&scan, 2).unwrap();
    let sessions = scans[0].sessions();
    drive_for(&mut scans[0], sessions, Duration::from_secs(60), 0, &Ended::new(0)).unwrap();
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
    drive_for(&mut aging[0], sessions, Duration::from_secs(60), 0, &Ended::new(0)).unwrap();
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
    verified(&mut instance);
    let counted = zpool.count().unwrap();
    assert!(
        counted.files.iter().any(|file| file.compress_ratio_percent > 100),
        "{:?}",
        counted.files
    );
    drop(instance);
    zpool.destroy(POOL).unwrap();
}

/// Loads, updates, kills the server in the middle, imports, recovers, looks; or why the engine did not come up.
/// `frozen`: no transaction group is written meanwhile.
fn kill(bench: &Bench, properties: &[(&str, &str)], seed: u64, frozen: bool) -> Result<Found, String> {
    let zpool = bench.create(properties);
    let mut instance =
        Instance::create(vec![port(&zpool)], &files(), shape(), settings(), &mut pages::unheard).unwrap();
    instance.checkpoint().unwrap();
    let before = survey(&mut instance).unwrap();
    zpool.sync().unwrap();
    if frozen {
        zpool.freeze(POOL).unwrap();
    }
    let killer = zpool.clone();
    let ended = Ended::new(0);
    let mut log = Log::default();
    let noticed = std::thread::scope(|scope| {
        let ended = &ended;
        scope.spawn(move || {
            // Whatever the disk takes for it, there is something to lose.
            let began = Instant::now();
            while ended.load(Ordering::SeqCst) < ACTS_MIN && began.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(50 + seed * 97 % 500));
            killer.kill();
        });
        work(&mut instance, &mut log, seed, Duration::from_secs(120), ended)
    });
    assert!(noticed, "the kill was not noticed");
    drop(instance);
    drop(zpool);
    let zpool = bench.start();
    zpool.import(POOL, &bench.devices()).unwrap();
    let judged = match Instance::open(vec![port(&zpool)], &files(), settings()) {
        Ok((mut instance, _)) => {
            let found = verified(&mut instance);
            Ok(Found::of(&[log], &before, &found, shape().pages_per_schema))
        }
        Err(error) => Err(error.to_string()),
    };
    zpool.destroy(POOL).unwrap();
    judged
}

#[test]
fn after_a_kill_every_acknowledged_transaction_is_there() {
    let Some(bench) = Bench::new() else { return };
    let rounds = if crate::machine::is_full() { 25 } else { 1 };
    for seed in 0..rounds {
        for properties in [&[][..], &[("logbias", "throughput")]] {
            let found = kill(&bench, properties, seed, false).unwrap();
            eprintln!("kill {seed}, {properties:?}: {} acknowledged", found.acknowledged);
            assert!(found.acknowledged > 20, "hardly anything to lose: {found:?}");
            assert!(!found.is_loss(), "{properties:?}, {seed}: {found:?}");
        }
    }
}

#[test]
fn with_sync_disabled_the_loss_is_seen() {
    let Some(bench) = Bench::new() else { return };
    let seen = match kill(&bench, &[("sync", "disabled")], 3, true) {
        Ok(found) => found.lost > 0,
        // The log or a page is older than what was promised: the engine refuses the database.
        Err(said) => said.contains("lost") || said.contains("redo") || said.contains("version"),
    };
    assert!(seen, "acknowledged transactions were lost and nobody said so");
}
