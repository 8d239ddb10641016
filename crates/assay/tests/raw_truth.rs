//! On a raw device the engine's counts are the kernel's counts: reads by `/proc/diskstats` and by the block
//! tracepoints, and the size of each. Needs root and loop devices; the second test a tracefs too (mounted for its
//! time).
//!
//! Prevents: rates and provenance built on counters of our own that nobody held against the device's.

use crate::rig::Rig;
use ledger::{Ledger, Measure, PhaseId};
use observers::{BlockEvent, BlockTrace, ObserveError, Snapshot};
use pages::{Files, Instance, RandomWork, Settings, Shape, TornPages};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use targets::{Access, FileId, OpenSpec, UringPort};
use workloads::{Arrival, Pacing, Stop};

/// How far two counts of the same reads may lie apart.
const WITHIN: f64 = 0.005;
const PAGE: f64 = 8192.0;
const MULTIBLOCK: f64 = 16.0;

fn study(dir: &Path) -> String {
    format!(
        r#"
[study]
name = "raw-truth"
question = "Does the device read what the engine says?"
time_limit = "3h"
blocks = 4
seed = 3
io = "ring"
[luns.data]
files = {{ count = 1, size = "256MiB", dir = "{0}" }}
[luns.redo]
files = {{ count = 1, size = "64MiB", dir = "{0}" }}
[[stack]]
name = "raw"
kind = "raw"
data = "data"
redo = "redo"
[database]
cache = "4MiB"
schemas = 16
scale = "96MiB"
multiblock_read = 16
redo_size = "32MiB"
checkpoint = "100ms"
[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 16
work_unit = 8
time = "400ms"
[[phase]]
name = "half"
kind = "random"
update_pct = 50
sessions = 16
work_unit = 8
time = "400ms"
[[phase]]
name = "scan"
kind = "scan"
users = 16
time = "400ms"
"#,
        dir.display()
    )
}

fn near(what: &str, ours: f64, kernels: f64, within: f64) {
    assert!(ours > 0.0, "{what}: nothing was counted");
    assert!(
        (kernels / ours - 1.0).abs() <= within,
        "{what}: we say {ours}, the kernel says {kernels}"
    );
}

#[test]
fn a_study_on_a_raw_device_reads_what_the_engine_says() {
    let Some(rig) = Rig::on_disk(&[]) else { return };
    let (study, result) = (rig.study("raw", &study(&rig.work())), rig.result("raw"));
    rig.run(&study, &result, &["--quiet", "--yes"]).expect(0, &[]);
    let ledger = Ledger::open(&result).expect("a result");
    let (phases, measures) = (ledger.phases().expect("phases"), ledger.measures().expect("measures"));
    assert!(
        phases.len() >= 4 * 3,
        "four blocks, in the middle of which neighbours do not show: {} phases",
        phases.len()
    );
    let of = |phase: PhaseId, measure: Measure| {
        let found = measures.iter().find(|m| m.phase == phase && m.row.0 == measure);
        found.unwrap_or_else(|| panic!("{} is missing", measure.name())).row.1
    };
    // Something that looks at all block devices of the machine (blkid, udev) may read a few of their blocks: the middle
    // of the four blocks is held, and the reads of a page that the engine did not ask for would be in all of them.
    for name in ["read", "half", "scan"] {
        let middle = |value: &dyn Fn(PhaseId) -> f64| {
            let runs = phases.iter().filter(|phase| phase.run.name == name);
            let mut values: Vec<f64> = runs.map(|phase| value(phase.id)).collect();
            values.sort_by(f64::total_cmp);
            (values[1] + values[2]) / 2.0
        };
        let ratio = |ours: Measure, kernels: Measure| middle(&|id| of(id, kernels) / of(id, ours));
        near(
            &format!("{name}: reads"),
            1.0,
            ratio(Measure::EnginePhysicalReads, Measure::NearReads),
            WITHIN,
        );
        near(
            &format!("{name}: bytes"),
            1.0,
            ratio(Measure::EngineReadBytes, Measure::NearReadBytes),
            WITHIN,
        );
        let (size, within) = match name {
            "scan" => (PAGE * MULTIBLOCK, 0.02),
            _ => (PAGE, 0.01),
        };
        let read_bytes = middle(&|id| of(id, Measure::NearReadBytes) / of(id, Measure::NearReads));
        near(&format!("{name}: bytes of a read"), size, read_bytes, within);
    }
}

/// Tracefs, unmounted again if it was not there.
struct Tracefs {
    mounted: bool,
}

const TRACEFS: &str = "/sys/kernel/tracing";

impl Tracefs {
    fn there() -> Option<Tracefs> {
        let is_there = || Path::new(TRACEFS).join("instances").is_dir();
        let mounted = !is_there() && {
            let _ = Command::new("mount")
                .args(["-t", "tracefs", "tracefs", TRACEFS])
                .status();
            true
        };
        is_there().then_some(Tracefs { mounted })
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg(TRACEFS).status();
        }
    }
}

/// A device with a database on it, two files behind one ring: data and redo.
fn loaded(data: &Path, redo: &Path) -> Instance<UringPort> {
    let shape = Shape {
        page_bytes: PAGE as u32,
        schemas: 16,
        pages_per_schema: 512,
        seed: 7,
        compressibility: 1.0,
        duplication: 0.0,
    };
    let settings = Settings {
        cache_bytes: 2 << 20,
        multiblock_read: MULTIBLOCK as u32,
        torn_pages: TornPages::Log,
        checkpoint_ns: 1_000_000_000,
        writers: 16,
        redo_bytes: 32 << 20,
        workers: 1,
    };
    let specs = [data, redo].map(|path| OpenSpec::writing(path, Access::Direct));
    let depth = pages::depth(&settings, 1, 16, 1);
    let port = UringPort::open(&specs, pages::memory_bytes(&shape, &settings), depth).expect("a ring");
    let files = Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    };
    Instance::create(vec![port], &files, shape, settings, &mut pages::unheard).expect("loaded")
}

/// Some 20,000 page reads, then every read has come back. Gives the engine's own count.
fn read_some(instance: &mut Instance<UringPort>) -> u64 {
    let before = instance.counters().physical_reads;
    let work = RandomWork {
        update_pct: 0,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: 16,
        work_unit: 10,
        work_loop: 0,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    };
    let pacing = Pacing {
        sessions: 16,
        arrival: Arrival::Closed { think: None },
        stop: Stop {
            time_ns: None,
            operations_per_session: Some(125),
        },
        slice_ns: 0,
        cancel: None,
    };
    let mut operations = instance.random(&work, 11).expect("work");
    workloads::drive(&mut operations[0], &pacing, 11).expect("driven");
    drop(operations);
    instance.checkpoint().expect("at rest");
    instance.counters().physical_reads - before
}

#[test]
fn the_kernels_tracepoints_count_the_same_reads() {
    let Some(rig) = Rig::on_disk(&[]) else { return };
    let Some(_tracefs) = Tracefs::there() else {
        eprintln!("skipped: this kernel has no tracefs");
        return;
    };
    let lun = |name: &str, bytes: u64| -> PathBuf {
        let path = rig.path(name);
        let dir = sandbox::Directory::open(path.parent().expect("a directory")).expect("held");
        let made = luns::create_file(&dir, name, bytes, 1, &mut |_| (), &AtomicBool::new(false));
        luns::attach(&made.expect("a LUN")).expect("attached").path
    };
    let (data, redo) = (lun("data", 96 << 20), lun("redo", 64 << 20));
    let mut instance = loaded(&data, &redo);
    let name = data.file_name().expect("a name").to_string_lossy().into_owned();
    let mut trace = match BlockTrace::start(&name) {
        Ok(trace) => trace,
        Err(ObserveError::Trace { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: this kernel has no block tracepoints");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let devices = [name.clone()];
    let before = Snapshot::take(&devices).expect("counted");
    let ours = read_some(&mut instance) as f64;
    let after = Snapshot::take(&devices).expect("counted");

    let moved = after.since(&before).devices[&name];
    let queued = trace.counts(BlockEvent::BioQueue).expect("traced").reads;
    let issued = trace.counts(BlockEvent::RequestIssue).expect("traced").reads;
    assert_eq!(trace.lost().expect("traced"), 0, "events were lost");
    assert!(ours > 10_000.0, "the cache took the reads: {ours}");
    near("disk statistics", ours, moved.reads as f64, WITHIN);
    near("block_bio_queue", ours, queued.ios as f64, WITHIN);
    near("block_rq_issue", ours, issued.ios as f64, WITHIN);
    near("bytes of a read", PAGE, queued.bytes as f64 / queued.ios as f64, 0.01);
    eprintln!(
        "engine {ours}, diskstats {}, block_bio_queue {}, block_rq_issue {}",
        moved.reads, queued.ios, issued.ios
    );
}
