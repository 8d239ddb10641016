//! A database on the move: between sides of unlike numbers of files, over an older copy of itself, cut short, and onto
//! storage that lies.

use pages::{
    Files, Instance, PagesError, RandomWork, ScanWork, Settings, Shape, TornPages, Transfer, data_file_bytes, depth,
    memory_bytes, redo_file_bytes,
};
use std::sync::atomic::AtomicBool;
use targets::{Disks, Fault, FaultPort, FaultRule, FileId, Model, ModelPort, Op, Port};
use workloads::{Arrival, Pacing, Stop};

const CHUNK: u64 = 64 << 10;

fn shape() -> Shape {
    Shape {
        page_bytes: 2048,
        schemas: 5,
        pages_per_schema: 53,
        seed: 4,
        compressibility: 1.0,
        duplication: 0.0,
    }
}

fn settings(torn_pages: TornPages) -> Settings {
    Settings {
        cache_bytes: 64 * 2048,
        multiblock_read: 8,
        torn_pages,
        checkpoint_ns: 50_000_000,
        writers: 4,
        redo_bytes: 256 << 10,
        workers: 1,
    }
}

fn files(n: u16) -> Files {
    Files {
        data: (0..n).map(FileId).collect(),
        redo: FileId(n),
    }
}

fn model(settings: &Settings, n: u16) -> Model {
    let mut sizes = data_file_bytes(&shape(), settings, usize::from(n));
    sizes.push(redo_file_bytes(settings));
    Model::new(
        &sizes,
        memory_bytes(&shape(), settings),
        depth(settings, usize::from(n), 8, 1),
        3,
    )
}

/// Changes pages; what they hold now is known to the engine alone, and checked by it.
fn work(instance: &mut Instance<impl Port + Send>, seed: u64) {
    let work = RandomWork {
        update_pct: 100,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: 4,
        work_unit: 4,
        work_loop: 0,
        heavy: true,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    };
    let mut operations = instance.random(&work, seed).unwrap();
    let pacing = Pacing {
        sessions: 4,
        arrival: Arrival::Closed { think: None },
        stop: Stop {
            time_ns: None,
            operations_per_session: Some(40),
        },
        slice_ns: 0,
        cancel: None,
    };
    workloads::drive(&mut operations[0], &pacing, seed).unwrap();
    drop(operations);
    instance.checkpoint().unwrap();
}

/// All pages, as they are now.
fn content(instance: &mut Instance<impl Port + Send>) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for schema in 0..shape().schemas {
        for page in 0..shape().pages_per_schema {
            let mut bytes = Vec::new();
            instance.read_page(schema, page, &mut bytes).unwrap();
            // A page in the cache has its checksum of the last time it was written.
            bytes[4..8].fill(0);
            all.push(bytes);
        }
    }
    all
}

fn scan_all(instance: &mut Instance<impl Port + Send>) {
    let work = ScanWork {
        users: shape().schemas,
        degree: 1,
        parallel: 1,
        passes: 1,
    };
    let mut operations = instance.scan(&work, 1).unwrap();
    let pacing = Pacing {
        sessions: 1,
        arrival: Arrival::Closed { think: None },
        stop: Stop {
            time_ns: None,
            operations_per_session: None,
        },
        slice_ns: 0,
        cancel: None,
    };
    workloads::drive(&mut operations[0], &pacing, 1).unwrap();
}

fn moved(settings: &Settings, from: (&mut ModelPort, u16), to: (&mut ModelPort, u16)) -> u64 {
    let going = AtomicBool::new(false);
    let mut transfer = Transfer::new(&shape(), settings, &files(from.1), &files(to.1), CHUNK, 3);
    let copied = transfer.run(from.0, to.0, &going, &mut |_, _| ()).unwrap().unwrap();
    assert_eq!(copied.bytes, transfer.bytes());
    assert_eq!(copied.pages, shape().pages());
    assert!(copied.elapsed_ns > 0);
    assert_eq!(transfer.verify(to.0, &going).unwrap(), transfer.bytes());
    transfer.bytes()
}

#[test]
fn a_database_moves_between_any_numbers_of_files_and_goes_on_and_comes_back() {
    for torn_pages in [TornPages::Log, TornPages::Double] {
        let settings = settings(torn_pages);
        for (here, there) in [(1, 1), (1, 3), (3, 1), (3, 3), (2, 5)] {
            let home = ModelPort::open(model(&settings, here)).unwrap();
            let mut instance =
                Instance::create(vec![home], &files(here), shape(), settings, &mut pages::unheard).unwrap();
            work(&mut instance, 1);
            let before = content(&mut instance);
            let mut home = instance.into_ports().remove(0);
            let mut away = ModelPort::open(model(&settings, there)).unwrap();
            let bytes = moved(&settings, (&mut home, here), (&mut away, there));
            assert_eq!(bytes, shape().data_bytes() + redo_file_bytes(&settings));
            let began = home.now();
            assert!(away.now().abs_diff(began) < 200_000_000, "the clocks went apart");

            let (mut instance, recovery) = Instance::open(vec![away], &files(there), settings).unwrap();
            assert_eq!(
                recovery.images + recovery.restored,
                0,
                "a checkpointed copy needs no recovery"
            );
            assert!(
                content(&mut instance) == before,
                "{here} to {there} files: another database"
            );
            work(&mut instance, 2);
            scan_all(&mut instance);
            let changed = content(&mut instance);
            assert!(changed != before);

            // Home again, over the files that are there, whose log is older than what comes.
            let mut away = instance.into_ports().remove(0);
            moved(&settings, (&mut away, there), (&mut home, here));
            let (mut instance, _) = Instance::open(vec![home], &files(here), settings).unwrap();
            assert!(
                content(&mut instance) == changed,
                "{there} to {here} files: another database"
            );
            work(&mut instance, 3);
        }
    }
}

fn loaded(settings: &Settings) -> ModelPort {
    let home = ModelPort::open(model(settings, 1)).unwrap();
    let instance = Instance::create(vec![home], &files(1), shape(), *settings, &mut pages::unheard).unwrap();
    instance.into_ports().remove(0)
}

#[test]
fn a_bad_page_at_the_source_is_not_copied() {
    let settings = settings(TornPages::Log);
    let mut home = loaded(&settings);
    home.damage(FileId(0), (1 << 20) + 7 * 2048 + 100, &[1, 2, 3]);
    let mut away = ModelPort::open(model(&settings, 2)).unwrap();
    let mut transfer = Transfer::new(&shape(), &settings, &files(1), &files(2), CHUNK, 3);
    let error = transfer
        .run(&mut home, &mut away, &AtomicBool::new(false), &mut |_, _| ())
        .unwrap_err();
    assert!(
        matches!(&error, PagesError::DataLoss { schema: 0, page: 7, offset, .. } if *offset == (1 << 20) + 7 * 2048),
        "{error}"
    );
    assert!(matches!(
        Instance::open(vec![away], &files(2), settings),
        Err(PagesError::NoDatabase { .. })
    ));
}

#[test]
fn a_copy_cut_short_is_no_database_even_over_an_older_one() {
    let settings = settings(TornPages::Log);
    let mut home = loaded(&settings);
    let mut away = ModelPort::open(model(&settings, 1)).unwrap();
    moved(&settings, (&mut home, 1), (&mut away, 1));
    let mut transfer = Transfer::new(&shape(), &settings, &files(1), &files(1), CHUNK, 2);
    let cancel = AtomicBool::new(false);
    let half = transfer.bytes() / 2;
    let ended = transfer.run(&mut home, &mut away, &cancel, &mut |done, _| {
        if done > half {
            cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert_eq!(ended.unwrap(), None);
    assert!(matches!(
        Instance::open(vec![away], &files(1), settings),
        Err(PagesError::NoDatabase { .. })
    ));
}

#[test]
fn a_target_that_loses_a_write_is_found_out() {
    let settings = settings(TornPages::Log);
    let mut caught = 0;
    for nth in 4..20 {
        // Over an older copy of the same pages, so that each page is whole wherever a write is lost.
        let mut home = loaded(&settings);
        let mut old = ModelPort::open(model(&settings, 1)).unwrap();
        moved(&settings, (&mut home, 1), (&mut old, 1));
        let (mut instance, _) = Instance::open(vec![home], &files(1), settings).unwrap();
        work(&mut instance, 5);
        let mut home = instance.into_ports().remove(0);
        let disks: Disks = old.shut_down();
        let old = ModelPort::from_disks(model(&settings, 1), disks).unwrap();
        let mut lying = FaultPort::new(old, &[FaultRule::nth(Fault::Lost, Some(Op::Write), nth)], 1);
        let mut transfer = Transfer::new(&shape(), &settings, &files(1), &files(1), CHUNK, 2);
        let going = AtomicBool::new(false);
        transfer
            .run(&mut home, &mut lying, &going, &mut |_, _| ())
            .unwrap()
            .unwrap();
        if lying.injected() == 0 {
            break;
        }
        match transfer.verify(&mut lying, &going) {
            Err(PagesError::DataLoss { .. } | PagesError::RedoDamaged { .. }) => caught += 1,
            // The control block, written last; the other slot holds zeros, and an open finds no database.
            other => assert!(nth > 10, "write {nth} was lost: {other:?}"),
        }
    }
    assert!(caught >= 10, "{caught} lost writes were caught");
}
