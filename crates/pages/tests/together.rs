//! Workers of one instance take their checkpoint, and recover, at once: as they would in instances of their own.

use pages::{
    Files, Instance, PagesError, RandomWork, Settings, Shape, TornPages, data_file_bytes, depth, memory_bytes,
    redo_file_bytes,
};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use targets::{Completion, FileId, Model, ModelPort, Nanos, Op, Port, Request, TargetError};
use workloads::{Operation, Started};

const WORKERS: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(20);

/// Where all workers have to be before one of them may flush.
#[derive(Default)]
struct Meeting {
    /// How many are waited for, and how many have come; nobody is waited for before a meeting begins.
    expected: Mutex<(usize, usize)>,
    came: Condvar,
}

impl Meeting {
    fn begin(&self) {
        *self.expected.lock().unwrap() = (WORKERS as usize, 0);
    }

    fn attend(&self) {
        let mut expected = self.expected.lock().unwrap();
        expected.1 += 1;
        self.came.notify_all();
        let missing = |expected: &mut (usize, usize)| expected.1 < expected.0;
        let (guard, waited) = self.came.wait_timeout_while(expected, PATIENCE, missing).unwrap();
        drop(guard);
        assert!(!waited.timed_out(), "a worker flushed while another had not begun");
    }
}

struct Meets {
    inner: ModelPort,
    meeting: Arc<Meeting>,
}

impl Port for Meets {
    targets::left_to!(inner: now, memory, bytes, bytes_mut, alignment, depth, in_flight, size, grow, extents, waker);

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if request.op == Op::Flush {
            self.meeting.attend();
        }
        self.inner.submit(request)
    }

    fn wait(&mut self, min: usize, until: Option<Nanos>, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.inner.wait(min, until, done)
    }
}

fn shape() -> Shape {
    Shape {
        page_bytes: 2048,
        schemas: 3,
        pages_per_schema: 40,
        seed: 5,
        compressibility: 1.0,
        duplication: 0.0,
    }
}

fn settings() -> Settings {
    Settings {
        cache_bytes: 64 * 2048 * u64::from(WORKERS),
        multiblock_read: 8,
        torn_pages: TornPages::Log,
        checkpoint_ns: u64::MAX,
        writers: 4,
        redo_bytes: 256 << 10,
        workers: WORKERS,
    }
}

fn files() -> Files {
    Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    }
}

fn model() -> Model {
    let mut sizes = data_file_bytes(&shape(), &settings(), 1);
    sizes.push(redo_file_bytes(&settings()));
    let memory = memory_bytes(&shape(), &settings());
    Model::new(&sizes, memory, depth(&settings(), 1, 8, 2), 3)
}

fn changed(instance: &mut Instance<Meets>) {
    let work = RandomWork {
        update_pct: 100,
        scan_pct: 0,
        scan_table_bytes: 0,
        sessions: WORKERS,
        work_unit: 2,
        work_loop: 5,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    };
    for mut operation in instance.random(&work, 1).unwrap() {
        let mut done = Vec::new();
        while operation.start(0, &mut done).unwrap() == Started::Running {
            while done.is_empty() {
                operation.advance(None, &mut done).unwrap();
            }
            done.clear();
        }
        operation.finish().unwrap();
    }
}

#[test]
fn workers_take_a_checkpoint_and_recover_at_once() -> Result<(), PagesError> {
    let meeting = Arc::new(Meeting::default());
    let port = |inner| Meets {
        inner,
        meeting: meeting.clone(),
    };
    let ports = (0..WORKERS).map(|_| port(ModelPort::open(model()).unwrap()));
    let mut instance = Instance::create(ports.collect(), &files(), shape(), settings(), &mut pages::unheard)?;
    changed(&mut instance);
    assert!(instance.dirty_pages() > 0);
    meeting.begin();
    instance.checkpoint()?;
    assert_eq!(instance.dirty_pages(), 0);

    *meeting.expected.lock().unwrap() = (0, 0);
    changed(&mut instance);
    let disks = instance.into_ports().into_iter().map(|port| port.inner.shut_down());
    let ports = disks.map(|disks| port(ModelPort::from_disks(model(), disks).unwrap()));
    meeting.begin();
    let (_, recovery) = Instance::open(ports.collect(), &files(), settings())?;
    assert!(recovery.transactions > 0);
    Ok(())
}
