//! Instances that have a part of a database's workers each, on the same files, as processes beside each other do.
//!
//! Prevents: an instance that writes where another has its schemas or its log, and a crash of one after which what the
//! other had acknowledged is gone.

use pages::{
    Files, Instance, PagesError, RandomOperation, RandomWork, Settings, Shape, TornPages, data_file_bytes, depth,
    memory_bytes, redo_file_bytes,
};
use std::ops::Range;
use std::path::Path;
use targets::{Access, Disks, FileId, Model, ModelPort, OpenSpec, Port, PsyncPort};
use workloads::{Operation, Started};

const WORKERS: u32 = 3;
const PAGES: u32 = 30;
const SCHEMAS: u32 = 7;

fn shape() -> Shape {
    Shape {
        page_bytes: 4096,
        schemas: SCHEMAS,
        pages_per_schema: PAGES,
        seed: 5,
        compressibility: 1.0,
        duplication: 0.0,
    }
}

fn settings(torn_pages: TornPages) -> Settings {
    Settings {
        cache_bytes: 48 * 4096 * u64::from(WORKERS),
        multiblock_read: 8,
        torn_pages,
        checkpoint_ns: 20_000_000,
        writers: 4,
        redo_bytes: 1 << 20,
        workers: WORKERS,
    }
}

fn files() -> Files {
    Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    }
}

fn work() -> RandomWork {
    RandomWork {
        update_pct: 100,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: 2 * WORKERS,
        work_unit: 3,
        work_loop: 12,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    }
}

/// Runs it to its end and notes the version that each page must have then.
fn drive<P: Port>(operation: &mut RandomOperation<'_, P>, versions: &mut [u64]) {
    operation.trace_transactions();
    let (mut ready, mut done): (Vec<u32>, _) = ((0..operation.sessions()).collect(), Vec::new());
    let mut under_way = 0;
    loop {
        while let Some(session) = ready.pop() {
            if operation.start(session, &mut done).unwrap() == Started::Running {
                under_way += 1;
            }
        }
        if done.is_empty() && under_way == 0 {
            break;
        }
        if done.is_empty() {
            operation.advance(None, &mut done).unwrap();
        }
        for end in done.drain(..) {
            ready.push(end.session);
            under_way -= 1;
        }
    }
    for (schema, page, version) in operation.transactions().into_iter().flat_map(|formed| formed.changes) {
        versions[(schema * PAGES + page) as usize] = version;
    }
}

fn work_on<P: Port + Send>(instance: &mut Instance<P>, seed: u64, versions: &mut [u64]) {
    for mut operation in instance.random(&work(), seed).unwrap() {
        drive(&mut operation, versions);
    }
}

fn assert_holds<P: Port + Send>(instance: &mut Instance<P>, versions: &[u64]) {
    let mut bytes = Vec::new();
    for schema in 0..SCHEMAS {
        for page in 0..PAGES {
            instance.read_page(schema, page, &mut bytes).unwrap();
            let found = pages::PageHeader::of(&bytes).version;
            assert_eq!(found, versions[(schema * PAGES + page) as usize], "{schema}/{page}");
        }
    }
}

fn specs(dir: &Path, settings: &Settings) -> Vec<OpenSpec> {
    let data = data_file_bytes(&shape(), settings, 1)[0];
    let spec = |name: &str, bytes| OpenSpec::creating(dir.join(name), Access::Buffered, bytes);
    vec![spec("data", data), spec("redo", redo_file_bytes(settings))]
}

fn ports(specs: &[OpenSpec], settings: &Settings, of: &Range<u32>) -> Vec<PsyncPort> {
    let (memory, depth) = (memory_bytes(&shape(), settings), depth(settings, 1, 6, 1));
    let open = |_| PsyncPort::open(specs, memory, depth).unwrap();
    of.clone().map(open).collect()
}

/// On the same files: instances work in turns, one is gone without a word, all are recovered by one that has all
/// workers.
#[test]
fn instances_on_the_same_files_keep_out_of_each_others_way() {
    for (turn, torn) in [TornPages::Log, TornPages::Double, TornPages::None]
        .into_iter()
        .enumerate()
    {
        let (dir, settings) = (tempfile::tempdir().unwrap(), settings(torn));
        let specs = specs(dir.path(), &settings);
        let all = ports(&specs, &settings, &(0..WORKERS));
        let mut one = Instance::create(all, &files(), shape(), settings, &mut pages::unheard).unwrap();
        one.keep(0..1).unwrap();
        assert_eq!((one.workers(), one.own_pages()), (1, 3 * u64::from(PAGES)));
        let others = 1..WORKERS;
        let (mut other, recovery) =
            Instance::open_part(ports(&specs, &settings, &others), others.clone(), &files(), settings).unwrap();
        assert_eq!((recovery.transactions, other.workers()), (0, 2));
        assert_eq!(one.own_pages() + other.own_pages(), shape().pages());
        let mut versions = vec![1; (SCHEMAS * PAGES) as usize];
        for seed in 0..4 {
            work_on(&mut one, seed, &mut versions);
            work_on(&mut other, seed, &mut versions);
        }
        let refused = one.read_page(1, 0, &mut Vec::new()).unwrap_err();
        assert!(matches!(refused, PagesError::Settings { .. }), "{refused}");
        // One of them ends in good order, the other does not; which one changes.
        match turn % 2 {
            0 => one.checkpoint().unwrap(),
            _ => other.checkpoint().unwrap(),
        }
        drop((one, other));
        let all = ports(&specs, &settings, &(0..WORKERS));
        let (mut whole, recovery) = Instance::open(all, &files(), settings).unwrap();
        assert!(recovery.transactions > 0);
        assert_holds(&mut whole, &versions);
    }
}

fn modelled(disks: Option<Disks>, settings: &Settings, seed: u64) -> ModelPort {
    let sizes = [data_file_bytes(&shape(), settings, 1)[0], redo_file_bytes(settings)];
    let model = Model::new(&sizes, memory_bytes(&shape(), settings), depth(settings, 1, 6, 1), seed);
    match disks {
        Some(disks) => ModelPort::from_disks(model, disks).unwrap(),
        None => ModelPort::open(model).unwrap(),
    }
}

/// The power of one host fails, or of the other, or of both, at the end of work of which everything was acknowledged.
/// The one that goes on does so on its own workers, while those of the other are recovered.
#[test]
fn after_a_crash_of_either_or_both_all_that_was_acknowledged_is_there() {
    for seed in 0..150u64 {
        let settings = settings([TornPages::Log, TornPages::Double][seed as usize / 3 % 2]);
        let all: Vec<ModelPort> = (0..WORKERS).map(|_| modelled(None, &settings, seed)).collect();
        let one = Instance::create(all, &files(), shape(), settings, &mut pages::unheard).unwrap();
        let disks: Vec<Disks> = one.into_ports().into_iter().map(ModelPort::shut_down).collect();
        let open = |disks: &[Disks], of: Range<u32>| {
            let ports = disks.iter().map(|disks| modelled(Some(disks.clone()), &settings, seed));
            Instance::open_part(ports.collect(), of, &files(), settings).unwrap()
        };
        let (mut one, _) = open(&disks[..1], 0..1);
        let (mut other, _) = open(&disks[1..], 1..WORKERS);
        let mut versions = vec![1; (SCHEMAS * PAGES) as usize];
        let ends = |instance: Instance<ModelPort>, fails: bool| -> Vec<Disks> {
            let ports = instance.into_ports().into_iter();
            ports
                .map(|mut port| if fails { port.cut(seed) } else { port.shut_down() })
                .collect()
        };
        work_on(&mut one, seed, &mut versions);
        work_on(&mut other, seed, &mut versions);
        // 0: the one, 1: the other, 2: both.
        let which = seed % 3;
        if which == 0 {
            let (again, recovery) = open(&ends(one, true), 0..1);
            assert!(recovery.transactions > 0, "seed {seed}");
            one = again;
            work_on(&mut other, seed + 1, &mut versions);
        } else if which == 1 {
            let (again, recovery) = open(&ends(other, true), 1..WORKERS);
            assert!(recovery.transactions > 0, "seed {seed}");
            other = again;
            work_on(&mut one, seed + 1, &mut versions);
        }
        let mut disks = ends(one, which != 1);
        disks.extend(ends(other, which != 0));
        let ports = disks.into_iter().map(|disks| modelled(Some(disks), &settings, seed));
        let (mut whole, _) = Instance::open(ports.collect(), &files(), settings).unwrap();
        assert_holds(&mut whole, &versions);
    }
}

#[test]
fn workers_that_are_not_there_are_refused() {
    let settings = settings(TornPages::Log);
    let open = |ports: u32, of: Range<u32>| {
        let ports = (0..ports).map(|_| modelled(None, &settings, 1)).collect();
        Instance::open_part(ports, of, &files(), settings)
            .err()
            .expect("refused")
    };
    assert!(matches!(open(1, 0..1), PagesError::NoDatabase { .. }));
    assert!(matches!(open(0, 0..0), PagesError::NoDatabase { .. }));
}
