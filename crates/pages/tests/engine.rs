//! The engine against a plain map, against the device's own counts, and on storage that lies.

use pages::{
    Counters, Files, HEADER_BYTES, Instance, PagesError, RandomOperation, RandomWork, ScanWork, Settings, Shape,
    TornPages, data_file_bytes, depth, expected_body, memory_bytes, redo_file_bytes,
};
use proptest::prelude::*;
use targets::{Disks, Fault, FaultPort, FaultRule, FileId, Model, ModelPort, Nanos, Op};
use workloads::{Operation, Started};

const FILES: usize = 2;

fn shape() -> Shape {
    Shape {
        page_bytes: 2048,
        schemas: 4,
        pages_per_schema: 50,
        seed: 11,
        compressibility: 2.0,
        duplication: 0.1,
    }
}

fn settings(torn_pages: TornPages, workers: u32) -> Settings {
    Settings {
        cache_bytes: 64 * 2048 * u64::from(workers),
        multiblock_read: 16,
        torn_pages,
        checkpoint_ns: 50_000_000,
        writers: 4,
        redo_bytes: 256 << 10,
        workers,
    }
}

fn work(update_pct: u32, sessions: u32, work_unit: u32, work_loop: u64) -> RandomWork {
    RandomWork {
        update_pct,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions,
        work_unit,
        work_loop,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    }
}

fn files() -> Files {
    Files {
        data: vec![FileId(0), FileId(1)],
        redo: FileId(2),
    }
}

fn model(shape: &Shape, settings: &Settings) -> Model {
    let mut sizes = data_file_bytes(shape, settings, FILES);
    sizes.push(redo_file_bytes(settings));
    Model::new(&sizes, memory_bytes(shape, settings), depth(settings, FILES, 16, 2), 3)
}

fn create(settings: Settings) -> Instance<ModelPort> {
    let ports = (0..settings.workers).map(|_| ModelPort::open(model(&shape(), &settings)).unwrap());
    Instance::create(ports.collect(), &files(), shape(), settings, &mut pages::unheard).unwrap()
}

fn open(disks: Vec<Disks>, settings: Settings) -> Result<(Instance<ModelPort>, pages::Recovery), PagesError> {
    let port = |disks| ModelPort::from_disks(model(&shape(), &settings), disks).unwrap();
    Instance::open(disks.into_iter().map(port).collect(), &files(), settings)
}

/// Runs an operation to its end or to `until`; gives the units of each class.
fn drive<O: Operation<Error = PagesError>>(
    operation: &mut O,
    sessions: u32,
    until: Nanos,
) -> Result<Vec<u64>, PagesError> {
    let mut units = vec![0; operation.classes().len()];
    let (mut ready, mut done): (Vec<u32>, _) = ((0..sessions).collect(), Vec::new());
    let mut under_way = 0;
    loop {
        while let Some(session) = ready.pop() {
            if operation.now() < until && operation.start(session, &mut done)? == Started::Running {
                under_way += 1;
            }
        }
        if done.is_empty() && under_way == 0 {
            return Ok(units);
        }
        if done.is_empty() {
            operation.advance(None, &mut done)?;
        }
        for end in done.drain(..) {
            units[end.class as usize] += end.units;
            ready.push(end.session);
            under_way -= 1;
        }
    }
}

fn drive_all(operations: Vec<RandomOperation<'_, ModelPort>>) -> Vec<pages::Transaction> {
    let mut formed = Vec::new();
    for mut operation in operations {
        operation.trace_transactions();
        let sessions = operation.sessions();
        drive(&mut operation, sessions, Nanos::MAX).unwrap();
        formed.extend(operation.transactions());
    }
    formed
}

fn assert_holds(instance: &mut Instance<ModelPort>, versions: &[u64], heavy: bool) {
    let mut bytes = Vec::new();
    for schema in 0..4 {
        for page in 0..50 {
            instance.read_page(schema, page, &mut bytes).unwrap();
            let version = versions[(schema * 50 + page) as usize];
            assert_eq!(
                u64::from_le_bytes(bytes[16..24].try_into().unwrap()),
                version,
                "{schema}/{page}"
            );
            assert!(bytes[HEADER_BYTES..] == expected_body(&shape(), schema, page, version, heavy)[..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_engine_is_a_map_of_pages_whatever_happens_in_between(
        steps in prop::collection::vec((0u8..5, any::<u64>()), 1..8),
        torn in 0usize..3,
        workers in 1u32..4,
        heavy: bool,
    ) {
        let torn = [TornPages::Log, TornPages::Double, TornPages::None][torn];
        let settings = settings(torn, workers);
        let mut instance = create(settings);
        let mut versions = vec![1u64; 200];
        for (step, seed) in steps {
            match step {
                0 | 1 => {
                    let mut work = work(100, 6, 3, 10);
                    (work.heavy, work.scan_pct, work.scan_table_bytes) = (heavy, 10, 9 * 2048);
                    for transaction in drive_all(instance.random(&work, seed).unwrap()) {
                        for (schema, page, version) in transaction.changes {
                            let held = &mut versions[(schema * 50 + page) as usize];
                            *held += 1;
                            prop_assert_eq!(*held, version);
                        }
                    }
                }
                2 => instance.checkpoint().unwrap(),
                3 => instance.drop_cache().unwrap(),
                _ => {
                    let disks = instance.into_ports().into_iter().map(ModelPort::shut_down).collect();
                    instance = open(disks, settings).unwrap().0;
                }
            }
        }
        assert_holds(&mut instance, &versions, heavy);
        instance.drop_cache().unwrap();
        assert_holds(&mut instance, &versions, heavy);
    }
}

#[test]
fn counts_are_the_devices_own() {
    let mut instance = create(settings(TornPages::Log, 1));
    instance.drop_cache().unwrap();
    let moved = |i: &mut Instance<ModelPort>| i.ports_mut().next().unwrap().moved();
    let (before, device) = (instance.counters(), moved(&mut instance));
    drive_all(instance.random(&work(50, 8, 4, 50), 1).unwrap());
    let scan = ScanWork {
        users: 4,
        degree: 2,
        parallel: 2,
        passes: 1,
    };
    drive(&mut instance.scan(&scan, 1).unwrap()[0], 4, Nanos::MAX).unwrap();
    let (engine, device): (Counters, _) = (instance.counters() - before, moved(&mut instance) - device);
    assert_eq!(device.reads, engine.physical_reads + engine.multiblock_reads);
    assert_eq!(
        device.read_bytes,
        engine.physical_read_bytes + engine.multiblock_read_bytes
    );
    assert_eq!(engine.multiblock_read_bytes, 200 * 2048);
    assert_eq!(engine.verified_pages, engine.physical_reads + 200);
    assert_eq!(engine.logical_reads, 8 * 50 * 4);
    assert_eq!(engine.logical_reads, engine.cache_hits + engine.physical_reads);
    assert_eq!(engine.commits, engine.redo_records);
    assert!(engine.redo_flushes < engine.commits, "commits share flushes");
    assert!(engine.redo_waits < engine.commits && engine.page_images > 0 && engine.checkpoints > 0);
    let control = engine.checkpoints * 4096;
    assert_eq!(
        device.write_bytes,
        engine.data_write_bytes + engine.redo_write_bytes + control
    );
}

#[test]
fn work_that_fits_the_cache_reads_each_page_once_and_select_writes_nothing() {
    let mut settings = settings(TornPages::Log, 1);
    settings.cache_bytes = 256 * 2048;
    let mut instance = create(settings);
    let before = instance.counters();
    drive_all(instance.random(&work(0, 8, 5, 200), 1).unwrap());
    let engine = instance.counters() - before;
    assert_eq!(engine.physical_reads, 200, "every page of every schema");
    assert_eq!(
        (engine.pages_written, engine.redo_writes, engine.checkpoints),
        (0, 0, 0)
    );
}

#[test]
fn an_instance_that_does_not_verify_reads_as_much_and_refuses_updates() {
    let mut instance = create(settings(TornPages::Log, 1));
    instance.skip_verification();
    drive_all(instance.random(&work(0, 4, 4, 10), 1).unwrap());
    let counts = instance.counters();
    assert!(counts.physical_reads > 0, "{counts:?}");
    assert_eq!(counts.verified_pages, 0);
    let refused = instance
        .random(&work(50, 4, 4, 10), 1)
        .err()
        .expect("an error")
        .to_string();
    assert!(refused.contains("not verified"), "{refused}");
}

#[test]
fn every_user_scans_a_whole_schema_and_passes_repeat() {
    let mut instance = create(settings(TornPages::None, 2));
    let work = ScanWork {
        users: 4,
        degree: 2,
        parallel: 2,
        passes: 3,
    };
    let mut operations = instance.scan(&work, 5).unwrap();
    let mut scans = Vec::new();
    for operation in &mut operations {
        let sessions = operation.sessions();
        drive(operation, sessions, Nanos::MAX).unwrap();
        scans.extend(operation.user_scans());
    }
    assert_eq!(scans.len(), 12);
    assert!(scans.iter().all(|s| s.bytes == 50 * 2048 && s.ended > s.began));
    for schema in 0..4 {
        assert_eq!(scans.iter().filter(|s| s.schema == schema).count(), 3);
    }
}

#[test]
fn workers_crash_and_recover_together() {
    for cut in 0..20 {
        let settings = settings([TornPages::Log, TornPages::Double][cut as usize % 2], 3);
        let mut instance = create(settings);
        let mut versions = vec![1u64; 200];
        // All of these are acknowledged: the work runs to its end.
        for transaction in drive_all(instance.random(&work(100, 7, 3, 20), cut).unwrap()) {
            for (schema, page, version) in transaction.changes {
                versions[(schema * 50 + page) as usize] = version;
            }
        }
        let disks = instance.ports_mut().map(|p| p.cut(cut)).collect();
        let (mut instance, recovery) = open(disks, settings).unwrap();
        assert!(recovery.transactions > 0);
        assert_holds(&mut instance, &versions, false);
    }
}

#[test]
fn a_clean_database_has_nothing_to_recover() {
    let settings = settings(TornPages::Double, 1);
    let mut instance = create(settings);
    drive_all(instance.random(&work(100, 4, 3, 20), 1).unwrap());
    instance.checkpoint().unwrap();
    assert_eq!(instance.dirty_pages(), 0);
    let disks = instance.ports_mut().map(|p| p.cut(1)).collect();
    let (_, recovery) = open(disks, settings).unwrap();
    assert_eq!((recovery.batches, recovery.redo_bytes, recovery.restored), (0, 0, 0));
}

/// A worked and checkpointed database, its disks and where page 7 of schema 1 lies.
fn worked() -> (Disks, Settings, FileId, u64) {
    let settings = settings(TornPages::Log, 1);
    let mut instance = create(settings);
    drive_all(instance.random(&work(100, 4, 3, 60), 1).unwrap());
    instance.checkpoint().unwrap();
    let disks = instance.into_ports().remove(0).shut_down();
    let start = data_file_bytes(&shape(), &settings, FILES)[1] - 2 * 50 * 2048;
    (disks, settings, FileId(1), start + 7 * 2048)
}

fn read(disks: Disks, settings: Settings) -> Result<(), PagesError> {
    let (mut instance, _) = open(vec![disks], settings)?;
    instance.read_page(1, 7, &mut Vec::new())
}

#[test]
fn a_flipped_bit_and_a_misplaced_page_are_data_loss_with_a_place_and_a_cure() {
    let (disks, settings, file, offset) = worked();
    read(disks.clone(), settings).unwrap();
    let mut page = vec![0; 2048];
    disks.read(file, offset, &mut page);
    let mut flipped = disks.clone();
    page[1000] ^= 1;
    flipped.write(file, offset, &page);
    let error = read(flipped, settings).unwrap_err();
    assert!(
        matches!(error, PagesError::DataLoss { schema: 1, page: 7, .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("file 1 at byte") && text.contains("checksum") && text.lines().count() == 2,
        "{text}"
    );
    let mut misplaced = disks.clone();
    disks.read(file, offset + 2048, &mut page);
    misplaced.write(file, offset, &page);
    let text = read(misplaced, settings).unwrap_err().to_string();
    assert!(text.contains("page 8 of schema 1 (misplaced)"), "{text}");
}

/// Works on storage with one fault, then reads everything back cold. `Ok`: all pages have the versions they must have.
fn with_fault(fault: Fault, op: Option<Op>, nth: u64) -> Result<(), PagesError> {
    let settings = settings(TornPages::Log, 1);
    let disks = create(settings).into_ports().remove(0).shut_down();
    let port = ModelPort::from_disks(model(&shape(), &settings), disks).unwrap();
    let port = FaultPort::new(port, &[FaultRule::nth(fault, op, nth)], nth);
    let (mut instance, _) = Instance::open(vec![port], &files(), settings)?;
    let mut bytes = Vec::new();
    for at in 0..200 {
        instance.read_page(at / 50, at % 50, &mut bytes)?;
    }
    let mut versions = vec![1u64; 200];
    let mut operations = instance.random(&work(100, 4, 3, 30), 1)?;
    operations[0].trace_transactions();
    drive(&mut operations[0], 4, Nanos::MAX)?;
    for (schema, page, version) in operations[0].transactions().into_iter().flat_map(|t| t.changes) {
        versions[(schema * 50 + page) as usize] = version;
    }
    drop(operations);
    instance.drop_cache()?;
    for at in 0..200 {
        instance.read_page(at / 50, at % 50, &mut bytes)?;
        let version = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
        assert_eq!(
            version, versions[at as usize],
            "a fault passed unseen: {fault:?} of {op:?} {nth}"
        );
    }
    Ok(())
}

#[test]
fn a_fault_is_an_error_that_names_the_place_or_has_no_effect() {
    let (mut io, mut loss) = (0, 0);
    for fault in [Fault::Error(5), Fault::Short, Fault::Torn, Fault::Lost] {
        for nth in (1..600).step_by(23) {
            match with_fault(fault, None, nth) {
                Ok(()) => {}
                Err(error @ PagesError::Io { .. }) => {
                    assert!(error.to_string().contains("of file") && error.to_string().lines().count() == 2);
                    io += 1;
                }
                Err(PagesError::DataLoss { .. } | PagesError::NoDatabase { .. }) => loss += 1,
                Err(other) => panic!("{fault:?} {nth}: {other}"),
            }
        }
    }
    assert!(io > 20 && loss > 5, "{io} errors, {loss} losses");
}

#[test]
fn a_page_write_that_the_storage_lost_is_found_by_its_version() {
    let found = (1..120).filter_map(|nth| with_fault(Fault::Lost, Some(Op::Write), nth).err());
    let lost = found
        .filter(|e| e.to_string().contains("(a lost or an outdated write)"))
        .count();
    assert!(lost > 20, "{lost}");
}

#[test]
fn damage_in_the_middle_of_the_log_is_not_taken_for_its_end() {
    let mut settings = settings(TornPages::Double, 1);
    (settings.checkpoint_ns, settings.cache_bytes) = (u64::MAX, 1 << 20);
    let mut instance = create(settings);
    drive_all(instance.random(&work(100, 1, 2, 20), 1).unwrap());
    let mut disks = instance.into_ports().remove(0).shut_down();
    open(vec![disks.clone()], settings).unwrap();
    // The third batch of 4 KiB.
    let mut byte = [0];
    disks.read(FileId(2), 2 * 4096 + 100, &mut byte);
    disks.write(FileId(2), 2 * 4096 + 100, &[byte[0] ^ 1]);
    let error = open(vec![disks], settings).map(|_| ()).unwrap_err();
    assert!(matches!(error, PagesError::RedoDamaged { offset: 8192, .. }), "{error}");
}

#[test]
fn what_can_not_work_is_refused_with_a_cure() {
    let settings = settings(TornPages::Log, 1);
    let mut instance = create(settings);
    let mut refused = |work: RandomWork, words: &str| {
        let error = instance.random(&work, 1).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(matches!(error, PagesError::Settings { .. }) && error.to_string().lines().count() == 2);
    };
    refused(work(60, 1, 1, 0), "as SLOB does");
    refused(work(100, 20, 4, 0), "a cache of at least 327680 bytes");
    refused(work(0, 1, 51, 0), "larger schemas");
    refused(work(100, 1, 32, 0), "redo");
    let disks = instance.into_ports().remove(0).shut_down();
    let other = Settings {
        redo_bytes: 512 << 10,
        ..settings
    };
    let error = open(vec![disks], other).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("was made with"), "{error}");
    let empty = ModelPort::open(model(&shape(), &settings)).unwrap().shut_down();
    assert!(matches!(
        open(vec![empty], settings),
        Err(PagesError::NoDatabase { .. })
    ));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut instance = create(settings(TornPages::Log, 1));
        let formed = drive_all(instance.random(&work(50, 8, 3, 40), 9).unwrap());
        instance.checkpoint().unwrap();
        let now = targets::Port::now(instance.ports_mut().next().unwrap());
        (formed, instance.counters(), now)
    };
    assert_eq!(run(), run());
}
