//! Ageing on a modelled device: every page is changed as often as asked, what came home is counted, and a full device
//! stops it with its count; and the hot schema beside it.

use pages::{
    AgeWork, Files, Instance, PagesError, RandomWork, Settings, Shape, TornPages, data_file_bytes, depth, memory_bytes,
    redo_file_bytes,
};
use targets::{Fault, FaultPort, FaultRule, FileId, IoFault, Model, ModelPort, Op, Port};
use workloads::{Operation, Started};

const SCHEMAS: u32 = 5;
const PAGES: u32 = 37;
const NO_SPACE: i32 = 28;

fn shape() -> Shape {
    Shape {
        page_bytes: 2048,
        schemas: SCHEMAS,
        pages_per_schema: PAGES,
        seed: 3,
        compressibility: 1.0,
        duplication: 0.0,
    }
}

fn settings(workers: u32, torn_pages: TornPages) -> Settings {
    Settings {
        cache_bytes: 64 * 2048 * u64::from(workers),
        multiblock_read: 8,
        torn_pages,
        checkpoint_ns: 50_000_000,
        writers: 4,
        redo_bytes: 256 << 10,
        workers,
    }
}

fn files() -> Files {
    Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    }
}

fn create<P: Port + Send>(settings: Settings, port: impl Fn(ModelPort) -> P) -> Instance<P> {
    let mut sizes = data_file_bytes(&shape(), &settings, 1);
    sizes.push(redo_file_bytes(&settings));
    let memory = memory_bytes(&shape(), &settings);
    let model = Model::new(&sizes, memory, depth(&settings, 1, 8, 2), 3);
    let ports = (0..settings.workers).map(|_| port(ModelPort::open(model.clone()).unwrap()));
    Instance::create(ports.collect(), &files(), shape(), settings, &mut pages::unheard).unwrap()
}

fn age(passes: u32) -> AgeWork {
    AgeWork {
        passes,
        sessions: 6,
        work_unit: 4,
        heavy: false,
        outstanding: 2,
    }
}

/// Drives all sessions until none has work left; gives the units done.
fn drive<O: Operation<Error = PagesError>>(operation: &mut O, sessions: u32) -> Result<u64, PagesError> {
    let (mut units, mut under_way) = (0, 0);
    let (mut ready, mut done): (Vec<u32>, _) = ((0..sessions).collect(), Vec::new());
    loop {
        while let Some(session) = ready.pop() {
            under_way += u32::from(operation.start(session, &mut done)? == Started::Running);
        }
        if under_way == 0 {
            return Ok(units);
        }
        if done.is_empty() {
            operation.advance(None, &mut done)?;
        }
        for end in done.drain(..) {
            units += end.units;
            ready.push(end.session);
            under_way -= 1;
        }
    }
}

#[test]
fn every_page_is_changed_as_often_as_asked_and_counted_when_it_is_home() {
    for (workers, passes, torn) in [
        (1, 1, TornPages::Log),
        (2, 3, TornPages::Double),
        (3, 2, TornPages::None),
    ] {
        let mut instance = create(settings(workers, torn), |port| port);
        instance.count_overwritten();
        let mut units = 0;
        for mut operation in instance.age(&age(passes), 9).unwrap() {
            let sessions = operation.sessions();
            units += drive(&mut operation, sessions).unwrap();
        }
        assert_eq!(
            units,
            u64::from(SCHEMAS * PAGES * passes),
            "each page once in each pass"
        );
        instance.checkpoint().unwrap();
        assert_eq!(instance.overwritten_pages(), u64::from(SCHEMAS * PAGES));
        let mut bytes = Vec::new();
        for (schema, page) in (0..SCHEMAS).flat_map(|schema| (0..PAGES).map(move |page| (schema, page))) {
            instance.read_page(schema, page, &mut bytes).unwrap();
            let version = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
            assert_eq!(version, 1 + u64::from(passes), "{schema}/{page}");
        }
        instance.count_overwritten();
        assert_eq!(instance.overwritten_pages(), 0, "another phase, another count");
    }
}

#[test]
fn a_device_without_space_stops_it_with_what_was_overwritten_by_then() {
    let full = |port| {
        // Of the load's writes and the ageing's, redo among them.
        let rule = FaultRule::nth(Fault::Error(NO_SPACE), Some(Op::Write), 120);
        FaultPort::new(port, &[rule], 1)
    };
    let mut instance = create(settings(1, TornPages::None), full);
    instance.count_overwritten();
    let failed = {
        let mut operation = instance.age(&age(1), 9).unwrap().remove(0);
        let sessions = operation.sessions();
        drive(&mut operation, sessions).and_then(|_| operation.finish())
    };
    let failed = failed.and_then(|()| instance.checkpoint());
    let Err(PagesError::Io { fault, .. }) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(fault, IoFault::Errno(NO_SPACE));
    let home = instance.overwritten_pages();
    assert!(
        (1..u64::from(SCHEMAS * PAGES)).contains(&home),
        "{home} pages came home"
    );
}

#[test]
fn a_hot_schema_gets_every_nth_operation_of_each_session() {
    let mut work = RandomWork {
        update_pct: 100,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: SCHEMAS,
        work_unit: 3,
        work_loop: 12,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 4,
    };
    let mut instance = create(settings(1, TornPages::None), |port| port);
    let mut operation = instance.random(&work, 2).unwrap().remove(0);
    operation.trace_transactions();
    drive(&mut operation, SCHEMAS).unwrap();
    let formed = operation.transactions();
    for session in 0..SCHEMAS {
        let mine: Vec<u32> = formed
            .iter()
            .filter(|one| one.session == session)
            .map(|one| one.changes[0].0)
            .collect();
        // Without it a session serves the schema of its number.
        let hot = mine.iter().filter(|schema| **schema == 0).count();
        assert_eq!((mine.len(), hot), (12, if session == 0 { 12 } else { 3 }), "{session}");
    }
    drop(operation);
    work.sessions = 6;
    let mut two = create(settings(2, TornPages::None), |port| port);
    let refused = two.random(&work, 2).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("a schema belongs to one worker"), "{refused}");
}
