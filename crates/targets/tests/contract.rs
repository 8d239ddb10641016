//! What every port must do, run over every port by the same functions.
// Says why it skips. A test that cannot set up its scene has failed.

use std::time::{Duration, Instant};
use targets::{
    Access, Completion, CountedPort, FaultPort, FileId, IoFault, Model, ModelPort, Nanos, NullPort, Op, OpenSpec, Port,
    PsyncPort, Request, TargetError, UringPort,
};

const A: FileId = FileId(0);
const B: FileId = FileId(1);
const SIZE: u64 = 1 << 20;
const MEMORY: u64 = 256 << 10;
const DEPTH: usize = 8;

fn request(op: Op, file: FileId, offset: u64, at: u64, len: u32, token: u64) -> Request {
    Request {
        op,
        file,
        offset,
        at,
        len,
        token,
    }
}

fn finish(port: &mut impl Port, request: Request) -> Result<(), IoFault> {
    let mut done = Vec::new();
    port.submit(request).unwrap();
    port.wait(1, None, &mut done).unwrap();
    assert_eq!((done.len(), done[0].token, port.in_flight()), (1, request.token, 0));
    done[0].result
}

fn writes_are_read_back(port: &mut impl Port) {
    for (file, byte) in [(A, 1u8), (B, 2)] {
        port.bytes_mut(8192, 16384)
            .iter_mut()
            .enumerate()
            .for_each(|(i, b)| *b = (i / 512) as u8 ^ byte << 6);
        assert_eq!(finish(port, request(Op::Write, file, 4096, 8192, 16384, 7)), Ok(()));
        assert_eq!(finish(port, request(Op::Flush, file, 0, 0, 0, 8)), Ok(()));
    }
    for (file, byte) in [(A, 1u8), (B, 2)] {
        assert_eq!(finish(port, request(Op::Read, file, 8192, 65536, 8192, 9)), Ok(()));
        let expected = (0..8192).map(|i| ((i + 4096) / 512) as u8 ^ byte << 6);
        assert!(port.bytes(65536, 8192).iter().copied().eq(expected), "{file:?}");
        assert_eq!(finish(port, request(Op::Read, file, 512 << 10, 65536, 8192, 9)), Ok(()));
        assert!(
            port.bytes(65536, 8192).iter().all(|&b| b == 0),
            "what was never written reads as zeros"
        );
    }
}

fn a_read_over_the_end_is_short_and_never_whole(port: &mut impl Port) {
    let beyond = finish(port, request(Op::Read, A, SIZE, 0, 4096, 1));
    assert_eq!(beyond, Err(IoFault::Short { got: 0, wanted: 4096 }));
    let over = finish(port, request(Op::Read, A, SIZE - 4096, 0, 8192, 1));
    assert_eq!(
        over,
        Err(IoFault::Short {
            got: 4096,
            wanted: 8192
        })
    );
}

fn growing_is_seen_and_reads_as_zeros(port: &mut impl Port, zeros: bool) {
    assert_eq!(port.size(B).unwrap(), SIZE);
    port.grow(B, SIZE + 65536).unwrap();
    port.grow(B, 4096).unwrap();
    assert_eq!((port.size(B).unwrap(), port.size(A).unwrap()), (SIZE + 65536, SIZE));
    port.bytes_mut(0, 4096).fill(3);
    assert_eq!(finish(port, request(Op::Read, B, SIZE + 61440, 0, 4096, 1)), Ok(()));
    assert!(!zeros || port.bytes(0, 4096).iter().all(|&b| b == 0));
}

fn no_more_than_the_depth_and_every_token_once(port: &mut impl Port) {
    for token in 0..DEPTH as u64 {
        port.submit(request(Op::Read, A, token * 8192, token * 8192, 8192, 100 + token))
            .unwrap();
    }
    assert_eq!(port.in_flight(), DEPTH);
    let refused = port.submit(request(Op::Read, A, 0, 0, 8192, 1)).unwrap_err();
    assert!(matches!(refused, TargetError::TooDeep { depth: DEPTH }), "{refused}");
    let mut done: Vec<Completion> = Vec::new();
    port.wait(3, None, &mut done).unwrap();
    assert!(done.len() >= 3 && done.len() + port.in_flight() == DEPTH);
    port.wait(DEPTH * 2, None, &mut done).unwrap();
    let mut tokens: Vec<u64> = done.iter().map(|c| c.token).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, (100..100 + DEPTH as u64).collect::<Vec<_>>());
    assert!(done.iter().all(|c| c.result.is_ok()) && port.in_flight() == 0);
}

fn waiting_without_work(port: &mut impl Port) {
    let mut done = Vec::new();
    port.wait(1, None, &mut done).unwrap();
    port.wait(0, Some(Nanos::MAX), &mut done).unwrap();
    let until = port.now() + 3_000_000;
    port.wait(1, Some(until), &mut done).unwrap();
    assert!(port.now() >= until, "returned {} ns early", until - port.now());
    port.wait(1, Some(until), &mut done).unwrap();
    assert!(done.is_empty());
}

fn asking_for_nothing_gets_there_in_the_end(port: &mut impl Port) {
    port.submit(request(Op::Read, A, 0, 0, 8192, 5)).unwrap();
    let (mut done, start) = (Vec::new(), Instant::now());
    while done.is_empty() && start.elapsed() < Duration::from_secs(5) {
        port.wait(0, None, &mut done).unwrap();
        port.now();
    }
    assert_eq!(done.len(), 1);
}

/// The null and model ports are asked the same where it has a meaning for them.
fn all(port: &mut impl Port, stores: bool) {
    assert!(port.memory() == MEMORY && port.depth() == DEPTH && port.alignment() <= 4096);
    assert!(port.bytes(0, MEMORY as usize).iter().all(|&b| b == 0));
    assert_eq!(port.bytes(0, 1).as_ptr() as usize % 4096, 0);
    if stores {
        writes_are_read_back(port);
    }
    a_read_over_the_end_is_short_and_never_whole(port);
    no_more_than_the_depth_and_every_token_once(port);
    asking_for_nothing_gets_there_in_the_end(port);
    waiting_without_work(port);
    growing_is_seen_and_reads_as_zeros(port, stores);
    no_more_than_the_depth_and_every_token_once(port);
}

fn a_waker_ends_a_wait(port: &mut impl Port) {
    let waker = port.waker();
    let mut done = Vec::new();
    waker.wake();
    port.wait(1, Some(port.now() + 20_000_000_000), &mut done).unwrap();
    let start = Instant::now();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        waker.wake();
    });
    port.wait(1, Some(port.now() + 20_000_000_000), &mut done).unwrap();
    other.join().unwrap();
    let waited = start.elapsed();
    assert!(
        done.is_empty() && waited < Duration::from_secs(10) && waited >= Duration::from_millis(15),
        "{waited:?}"
    );
    no_more_than_the_depth_and_every_token_once(port);
}

fn files(dir: &tempfile::TempDir, access: Access) -> [OpenSpec; 2] {
    ["a", "b"].map(|name| OpenSpec::creating(dir.path().join(name), access, SIZE))
}

/// A directory whose file system has direct I/O: the system's temporary directory may be a tmpfs.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn no_ring(e: &TargetError) -> bool {
    eprintln!("skipped: {e}");
    assert!(std::env::var_os("CI").is_none(), "io_uring is missing under CI: {e}");
    true
}

fn rings(check: impl Fn(&mut UringPort)) {
    for access in [Access::Direct, Access::Buffered] {
        let dir = place();
        match UringPort::open(&files(&dir, access), MEMORY, DEPTH) {
            Ok(mut port) => check(&mut port),
            Err(e @ TargetError::Ring { .. }) => assert!(no_ring(&e)),
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn ring() {
    rings(|port| all(port, true));
    rings(a_waker_ends_a_wait);
}

#[test]
fn pread() {
    for access in [Access::Direct, Access::Buffered] {
        let dir = place();
        let mut port = PsyncPort::open(&files(&dir, access), MEMORY, DEPTH).unwrap();
        all(&mut port, true);
        a_waker_ends_a_wait(&mut port);
    }
}

#[test]
fn model_null_and_wrappers() {
    let model = Model::new(&[SIZE, SIZE], MEMORY, DEPTH, 3);
    all(&mut ModelPort::open(model.clone()).unwrap(), true);
    all(
        &mut CountedPort::new(FaultPort::new(ModelPort::open(model).unwrap(), &[], 1)),
        true,
    );
    all(&mut NullPort::open(&[SIZE, SIZE], MEMORY, DEPTH).unwrap(), false);
    a_waker_ends_a_wait(&mut NullPort::open(&[SIZE, SIZE], MEMORY, DEPTH).unwrap());
    let dir = place();
    let port = PsyncPort::open(&files(&dir, Access::Direct), MEMORY, DEPTH).unwrap();
    let mut port = FaultPort::new(CountedPort::new(port), &[], 1);
    all(&mut port, true);
    a_waker_ends_a_wait(&mut port);
    let counts = port.inner().counts();
    assert!(
        counts.writes == 2 && counts.write_bytes == 32768 && counts.flushes == 2 && counts.errors == 2,
        "{counts:?}"
    );
    assert_eq!(counts.in_flight_max, DEPTH as u64);
}

#[test]
fn a_wake_ends_a_wait_for_many() {
    // A wake that came before: the wait for four may return with less, and must not hang on what never comes.
    rings(|port| {
        port.waker().wake();
        port.submit(request(Op::Read, A, 0, 0, 4096, 1)).unwrap();
        let mut done = Vec::new();
        port.wait(4, Some(port.now() + 20_000_000_000), &mut done).unwrap();
        port.wait(4, Some(port.now() + 1_000_000), &mut done).unwrap();
        assert_eq!(done.len(), 1);
    });
}

#[test]
fn a_ring_moves_between_threads() {
    rings(|port| {
        // Opened here, used there first; then here again, with a request queued before the move is noticed.
        std::thread::scope(|scope| scope.spawn(|| all_but_size(port)).join().unwrap());
        all_but_size(port);
    });
    rings(|port| {
        // The same with the poll on the waker in the old thread's ring.
        let waker = port.waker();
        std::thread::scope(|scope| scope.spawn(|| all_but_size(port)).join().unwrap());
        all_but_size(port);
        waker.wake();
        port.wait(1, Some(port.now() + 20_000_000_000), &mut Vec::new())
            .unwrap();
    });
    fn all_but_size(port: &mut UringPort) {
        no_more_than_the_depth_and_every_token_once(port);
        waiting_once(port);
    }
    fn waiting_once(port: &mut UringPort) {
        assert_eq!(finish(port, request(Op::Flush, A, 0, 0, 0, 3)), Ok(()));
    }
}

#[test]
fn dropping_a_ring_with_requests_in_flight_is_safe() {
    rings(|port| {
        for token in 0..DEPTH as u64 {
            port.submit(request(Op::Read, A, 0, token * 8192, 8192, token)).unwrap();
        }
        port.wait(1, None, &mut Vec::new()).unwrap();
    });
}

#[test]
fn an_error_of_opening_names_the_path_and_the_cure() {
    let error = PsyncPort::open(&[OpenSpec::reading("/nonexistent/x", Access::Direct)], 4096, 1)
        .err()
        .unwrap();
    let said = error.to_string();
    assert!(
        said.starts_with("open /nonexistent/x: No such file") && said.ends_with("it does not exist"),
        "{said}"
    );
    let error = PsyncPort::open(&[OpenSpec::reading("/dev/null", Access::Buffered)], 4096, 1)
        .err()
        .unwrap();
    assert!(error.to_string().contains("regular file or a block device"), "{error}");
}

#[test]
fn extents_of_a_written_file_cover_it() {
    let dir = place();
    let mut port = PsyncPort::open(&files(&dir, Access::Direct), MEMORY, DEPTH).unwrap();
    for offset in (0..SIZE).step_by(65536) {
        assert_eq!(finish(&mut port, request(Op::Write, A, offset, 0, 65536, 1)), Ok(()));
    }
    let extents = port.extents(A).unwrap();
    if extents.is_empty() {
        eprintln!("skipped: this file system tells no extents");
        return;
    }
    assert_eq!(extents.iter().map(|e| e.length).sum::<u64>(), SIZE);
    assert!(extents.iter().all(|e| !e.unwritten) && extents[0].logical == 0);
    assert!(port.extents(B).unwrap().is_empty(), "a hole has no extent");
}
