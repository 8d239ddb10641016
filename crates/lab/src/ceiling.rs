//! The generator's own ceiling: what the page engine reaches where storage costs nothing but a copy.
//!
//! Takes the page size, gives pages a second of one worker: found in its cache, and read, verified and kept; and how
//! many operations it can begin and end beside. Loop, stamps, histograms, sessions, cache and checksums are all in
//! it. Prevents a study of fast storage that measured the tool: the ceiling is stored with every run, and a run that
//! comes near it is flagged.

use pages::{Files, Instance, RandomWork, Settings, Shape, TornPages};
use std::time::Duration;
use targets::{FileId, StoredPort, monotonic_ns};
use workloads::Pacing;

pub use observers::own_cpu_ns;

/// Sessions, and pages of an operation: SLOB's loop with a batch of its own size.
const SESSIONS: u32 = 64;
const WORK_UNIT: u32 = 16;
const SCHEMAS: u32 = 8;
/// More than a processor's nearest caches hold, as what a device brings is in none of them.
const DATA_BYTES: u64 = 16 << 20;
/// Holds all pages: every page is found.
const CACHE_OF_ALL: u64 = 2 * DATA_BYTES;
/// Holds an eighth: most pages are read.
const CACHE_OF_SOME: u64 = DATA_BYTES / 8;
/// The least that a redo log may be; nothing is written to it.
const REDO_BYTES: u64 = 1 << 20;

/// What one worker reached.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// Pages it touched, or read, in the time.
    pub pages: u64,
    /// Of the clock on the wall.
    pub elapsed_ns: u64,
    /// Processor time of this process meanwhile.
    pub cpu_ns: u64,
}

impl Reached {
    /// Pages a second.
    pub fn per_second(&self) -> f64 {
        self.pages as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }
}

/// Ceilings of one worker; those of all workers of a stack are stored with each of its runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ceiling {
    /// Pages a second.
    pub(crate) read: f64,
    /// Pages a second.
    pub(crate) cached: f64,
    /// Operations a second whose pages cost nothing; infinite where an operation costs nothing that can be measured.
    pub(crate) operations: f64,
}

impl Ceiling {
    /// Takes about a third of a second.
    pub(crate) fn of(page_bytes: u32, seed: u64) -> anyhow::Result<Ceiling> {
        let mut found = Cached::new(page_bytes)?;
        let cached = best(|each| found.select(WORK_UNIT, each, seed))?;
        let single = best(|each| found.select(1, each, seed))?;
        let mut engine = found.with_less()?;
        let read = best(|each| select(&mut engine, WORK_UNIT, each, seed, |counters| counters.verified_pages))?;
        Ok(Ceiling {
            read,
            cached,
            operations: operations(single, cached),
        })
    }

    /// Of all workers of a stack, which share so many hosts alike; beyond a host's processors they add nothing.
    pub(crate) fn together(self, workers: u32, hosts: u32) -> Ceiling {
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        self.on(processors, workers, hosts)
    }

    fn on(self, processors: u32, workers: u32, hosts: u32) -> Ceiling {
        let at_once = f64::from(workers.min(processors.saturating_mul(hosts)));
        Ceiling {
            read: self.read * at_once,
            cached: self.cached * at_once,
            operations: self.operations * at_once,
        }
    }
}

/// Pages a second at best: whoever else is on the processor for a moment lowers a rate and never raises it, and a
/// ceiling is what could be reached.
fn best(mut rate: impl FnMut(Duration) -> anyhow::Result<Reached>) -> anyhow::Result<f64> {
    const TIMES: u32 = 5;
    const EACH: Duration = Duration::from_millis(20);
    let mut best = 0.0f64;
    for _ in 0..TIMES {
        best = best.max(rate(EACH)?.per_second());
    }
    Ok(best)
}

/// Operations a second whose pages cost nothing, of pages a second in operations of one page and of [`WORK_UNIT`]:
/// with a cost a page and a cost an operation, an operation of n pages takes n pages' and one operation's.
fn operations(single: f64, many: f64) -> f64 {
    let unit = f64::from(WORK_UNIT);
    let (one_s, all_s) = (1.0 / single, unit / many);
    let page_s = (all_s - one_s) / (unit - 1.0);
    1.0 / (one_s - page_s).max(0.0)
}

type Engine = Instance<StoredPort<fn() -> u64>>;

/// An engine whose pages are all in its cache.
struct Cached(Engine);

impl Cached {
    fn new(page_bytes: u32) -> anyhow::Result<Cached> {
        let mut engine = engine(page_bytes, CACHE_OF_ALL)?;
        let shape = *engine.shape();
        let mut page = Vec::new();
        for schema in 0..shape.schemas {
            for number in 0..shape.pages_per_schema {
                engine.read_page(schema, number, &mut page)?;
            }
        }
        Ok(Cached(engine))
    }

    /// The same pages and memory, of which the cache takes less: what is loaded twice takes longer than what is
    /// measured.
    fn with_less(self) -> anyhow::Result<Engine> {
        let settings = settings(self.0.shape().page_bytes, CACHE_OF_SOME);
        Ok(Instance::open(self.0.into_ports(), &files(), settings)?.0)
    }

    fn select(&mut self, work_unit: u32, time: Duration, seed: u64) -> anyhow::Result<Reached> {
        select(&mut self.0, work_unit, time, seed, |counters| counters.logical_reads)
    }
}

/// Selects whose pages are all in the cache.
pub fn cached(page_bytes: u32, time: Duration, seed: u64) -> anyhow::Result<Reached> {
    Cached::new(page_bytes)?.select(WORK_UNIT, time, seed)
}

/// The same, one page at a time.
pub fn cached_singly(page_bytes: u32, time: Duration, seed: u64) -> anyhow::Result<Reached> {
    Cached::new(page_bytes)?.select(1, time, seed)
}

/// Selects most of whose pages are read from the target and verified; those that are found are not counted.
pub fn read(page_bytes: u32, time: Duration, seed: u64) -> anyhow::Result<Reached> {
    let mut engine = engine(page_bytes, CACHE_OF_SOME)?;
    select(&mut engine, WORK_UNIT, time, seed, |counters| counters.verified_pages)
}

fn settings(page_bytes: u32, cache_bytes: u64) -> Settings {
    Settings {
        // A page of the largest size still gives each session two frames.
        cache_bytes: cache_bytes.max(2 * u64::from(SESSIONS) * u64::from(page_bytes)),
        multiblock_read: 1,
        torn_pages: TornPages::None,
        checkpoint_ns: u64::MAX / 4,
        writers: 1,
        redo_bytes: REDO_BYTES,
        workers: 1,
    }
}

fn files() -> Files {
    Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    }
}

fn engine(page_bytes: u32, cache_bytes: u64) -> anyhow::Result<Engine> {
    let shape = Shape {
        page_bytes,
        schemas: SCHEMAS,
        pages_per_schema: (DATA_BYTES / u64::from(SCHEMAS) / u64::from(page_bytes)) as u32,
        seed: 1,
        compressibility: 1.0,
        duplication: 0.0,
    };
    let (settings, files) = (settings(page_bytes, cache_bytes), files());
    let sizes = [
        pages::data_file_bytes(&shape, &settings, 1)[0],
        pages::redo_file_bytes(&settings),
    ];
    let memory = pages::memory_bytes(&shape, &settings);
    let depth = pages::depth(&settings, 1, SESSIONS, 1);
    let port = StoredPort::open(&sizes, memory, depth, monotonic_ns as fn() -> u64)?;
    Ok(Instance::create(
        vec![port],
        &files,
        shape,
        settings,
        &mut pages::unheard,
    )?)
}

fn select(
    engine: &mut Engine,
    work_unit: u32,
    time: Duration,
    seed: u64,
    count: impl Fn(&pages::Counters) -> u64,
) -> anyhow::Result<Reached> {
    let work = RandomWork {
        update_pct: 0,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: SESSIONS,
        work_unit,
        work_loop: 0,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    };
    let before = engine.counters();
    let cpu_before = own_cpu_ns();
    let mut operations = engine.random(&work, seed)?;
    let outcome = workloads::drive(
        &mut operations[0],
        &Pacing::closed(SESSIONS, time.as_nanos() as u64),
        seed,
    )?;
    drop(operations);
    Ok(Reached {
        pages: count(&(engine.counters() - before)),
        elapsed_ns: outcome.elapsed_ns,
        cpu_ns: own_cpu_ns().saturating_sub(cpu_before),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_size_has_a_ceiling_and_verification_is_in_it() {
        for page_bytes in [2048, 8192, 32768] {
            let time = Duration::from_millis(50);
            let (read, cached) = (read(page_bytes, time, 1).unwrap(), cached(page_bytes, time, 1).unwrap());
            assert!(
                read.pages > 0 && cached.pages > 0 && read.elapsed_ns > 0,
                "{read:?} {cached:?}"
            );
        }
        let ceiling = Ceiling::of(8192, 1).unwrap();
        assert!(
            ceiling.read > 0.0 && ceiling.cached > 0.0 && ceiling.operations > 0.0,
            "{ceiling:?}"
        );
    }

    /// A stack of two instances in a study of four ranks has the processors of two hosts.
    #[test]
    fn workers_reach_what_the_processors_of_their_own_hosts_do() {
        let one = Ceiling {
            read: 10.0,
            cached: 20.0,
            operations: f64::INFINITY,
        };
        let read = |workers, hosts| one.on(4, workers, hosts).read;
        assert_eq!(
            (read(2, 1), read(16, 1), read(16, 2), read(16, 4)),
            (20.0, 40.0, 80.0, 160.0)
        );
        let all = one.on(4, 16, 2);
        assert!(all.cached == 160.0 && all.operations.is_infinite(), "{all:?}");
    }

    #[test]
    fn what_an_operation_costs_is_what_batches_save() {
        // A page 100 ns, an operation 300 ns: 400 ns for one page, 1,900 ns for sixteen.
        let (single, many) = (1e9 / 400.0, 16.0 * 1e9 / 1_900.0);
        assert!((operations(single, many) - 1e9 / 300.0).abs() < 1.0);
        // Batches that save nothing: an operation costs nothing.
        assert!(operations(1e6, 1e6) > 1e12);
    }
}
