//! The simulated machine: the same every time, true to a plain array, and honest about what a cut may lose.

use proptest::prelude::*;
use targets::{Completion, Disks, FileId, Model, ModelPort, Op, Port, PowerFails, Request, TargetError};

const A: FileId = FileId(0);
const B: FileId = FileId(1);
const SIZE: usize = 64 << 10;

fn port(seed: u64) -> ModelPort {
    ModelPort::open(Model::new(&[SIZE as u64, SIZE as u64], 256 << 10, 64, seed)).unwrap()
}

fn start(port: &mut ModelPort, op: Op, file: FileId, offset: u64, len: u32, byte: u8) -> Result<(), TargetError> {
    if op == Op::Write {
        port.bytes_mut(0, len as usize).fill(byte);
    }
    port.submit(Request {
        op,
        file,
        offset,
        at: 0,
        len,
        token: u64::from(byte),
    })
}

fn drain(port: &mut ModelPort) -> Vec<Completion> {
    let mut done = Vec::new();
    port.wait(port.in_flight(), None, &mut done).unwrap();
    done
}

fn act(port: &mut ModelPort, op: Op, file: FileId, offset: u64, len: u32, byte: u8) {
    start(port, op, file, offset, len, byte).unwrap();
    assert!(drain(port)[0].result.is_ok());
}

fn sectors(disks: &Disks, file: FileId, offset: u64, len: usize) -> Vec<u8> {
    let mut found = vec![0; len];
    disks.read(file, offset, &mut found);
    found
        .chunks(512)
        .map(|s| {
            if s.iter().all(|b| *b == s[0]) {
                s[0]
            } else {
                panic!("a sector is torn")
            }
        })
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_times_and_order() {
    let run = |seed| {
        let mut port = port(seed);
        let mut seen = Vec::new();
        for round in 0..50u64 {
            for i in 0..20 {
                let op = if (round + i) % 3 == 0 { Op::Write } else { Op::Read };
                start(&mut port, op, A, (round * 7 + i) % 16 * 4096, 4096, i as u8).unwrap();
            }
            let mut done = Vec::new();
            while port.in_flight() > 0 {
                port.wait(1, None, &mut done).unwrap();
                seen.push((port.now(), done.last().unwrap().token));
            }
        }
        (seen, port.moved())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn flushed_writes_survive_every_cut_and_others_may_not() {
    let mut port = port(1);
    act(&mut port, Op::Write, A, 0, 4096, 1);
    act(&mut port, Op::Write, B, 0, 4096, 2);
    act(&mut port, Op::Flush, A, 0, 0, 0);
    act(&mut port, Op::Write, A, 0, 4096, 3);
    let (mut kept, mut lost, mut torn, mut other_lost) = (0, 0, 0, 0);
    for seed in 0..300 {
        let after = port.cut(seed);
        let found = sectors(&after, A, 0, 4096);
        assert!(
            found.iter().all(|b| [1, 3].contains(b)),
            "a flushed write is gone: {found:?}"
        );
        match found.iter().filter(|b| **b == 3).count() {
            8 => kept += 1,
            0 => lost += 1,
            _ => torn += 1,
        }
        other_lost += u32::from(sectors(&after, B, 0, 4096).contains(&0));
    }
    assert!(
        kept > 30 && lost > 30 && torn > 30 && other_lost > 30,
        "{kept} {lost} {torn} {other_lost}"
    );
}

#[test]
fn a_flush_covers_only_what_was_completed_when_it_was_submitted() {
    let mut port = port(1);
    start(&mut port, Op::Write, A, 0, 512, 1).unwrap();
    start(&mut port, Op::Flush, A, 0, 0, 2).unwrap();
    drain(&mut port);
    let lost = (0..100)
        .filter(|&seed| sectors(&port.cut(seed), A, 0, 512) == [0])
        .count();
    assert!(lost > 10, "a write in flight at the flush was made durable by it");
}

#[test]
fn writes_in_flight_may_arrive_and_a_seed_gives_the_same_disks_again() {
    let mut port = port(1);
    start(&mut port, Op::Write, A, 8192, 4096, 9).unwrap();
    let arrived = (0..200)
        .filter(|&seed| sectors(&port.cut(seed), A, 8192, 4096).contains(&9))
        .count();
    assert!((20..180).contains(&arrived), "{arrived}");
    assert_eq!(sectors(&port.cut(7), A, 0, SIZE), sectors(&port.cut(7), A, 0, SIZE));
}

#[test]
fn the_power_fails_where_it_is_told_to() {
    for (when, writes_durable) in [
        (PowerFails::AtWrite(3), 1),
        (PowerFails::AtFlush(2), 1),
        (PowerFails::AfterFlush(2), 2),
    ] {
        let mut port = port(1);
        port.fail_power(when);
        let mut failed = 0;
        for byte in 1..=4u8 {
            let offset = u64::from(byte) * 512;
            let mut step = |op| {
                start(&mut port, op, A, offset, if op == Op::Flush { 0 } else { 512 }, byte)?;
                port.wait(1, None, &mut Vec::new())
            };
            // Write 3 comes after flush 2 unless flush 2 is left out: with AtWrite(3) only the first flush is made.
            let flushes = when != PowerFails::AtWrite(3) || byte == 1;
            let result = step(Op::Write).and_then(|()| if flushes { step(Op::Flush) } else { Ok(()) });
            failed += u32::from(matches!(result, Err(TargetError::PowerCut)));
        }
        assert!(failed >= 2 && port.is_off(), "{when:?}: nothing goes on after a cut");
        assert!(matches!(port.grow(A, 1 << 20), Err(TargetError::PowerCut)));
        for seed in 0..50 {
            let after = port.cut(seed);
            for byte in 1..=writes_durable {
                assert_eq!(sectors(&after, A, u64::from(byte) * 512, 512), [byte], "{when:?}");
            }
            assert_eq!(
                sectors(&after, A, 4 * 512, 512),
                [0],
                "{when:?}: what came after the cut is there"
            );
        }
        let reborn = ModelPort::from_disks(Model::new(&[], 4096, 4, 1), port.cut(1)).unwrap();
        assert_eq!(reborn.size(B).unwrap(), SIZE as u64);
    }
}

#[test]
fn what_a_cache_serves_is_not_moved_by_the_device() {
    let model = Model {
        cached_share: 0.5,
        ..Model::new(&[SIZE as u64], 8192, 4, 1)
    };
    let mut port = ModelPort::open(model).unwrap();
    for _ in 0..1000 {
        act(&mut port, Op::Read, A, 0, 8192, 0);
    }
    let moved = port.moved();
    assert_eq!(moved.reads + moved.cached_reads, 1000);
    assert_eq!(moved.read_bytes + moved.cached_bytes, 8_192_000);
    assert!((400..600).contains(&moved.reads), "{moved:?}");
}

#[test]
fn what_is_not_aligned_or_does_not_fit_fails_as_on_a_device() {
    let mut port = port(1);
    start(&mut port, Op::Read, A, 100, 512, 1).unwrap();
    start(&mut port, Op::Write, A, SIZE as u64 - 512, 1024, 2).unwrap();
    start(&mut port, Op::Read, FileId(9), 0, 512, 3).unwrap();
    let mut faults: Vec<(u64, String)> = drain(&mut port)
        .iter()
        .map(|c| (c.token, format!("{:?}", c.result)))
        .collect();
    faults.sort();
    assert_eq!(
        faults.iter().map(|f| f.1.as_str()).collect::<Vec<_>>(),
        ["Err(Errno(22))", "Err(Errno(28))", "Err(Errno(9))"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_holds_what_a_plain_array_holds(
        steps in prop::collection::vec((0u8..4, any::<bool>(), 0usize..128, 1usize..24, 1u8..255), 1..60),
        seed in any::<u64>(),
    ) {
        let mut port = port(seed);
        let mut now = [vec![0u8; SIZE], vec![0u8; SIZE]];
        // Per sector, what a cut may leave: the last flushed value first, then all written since.
        let mut may = [vec![vec![0u8]; SIZE / 512], vec![vec![0u8]; SIZE / 512]];
        for (kind, second, sector, count, byte) in steps {
            let (file, index) = if second { (B, 1) } else { (A, 0) };
            let count = count.min(SIZE / 512 - sector);
            let (from, len) = (sector * 512, count * 512);
            match kind {
                0 | 1 => {
                    act(&mut port, Op::Write, file, from as u64, len as u32, byte);
                    now[index][from..from + len].fill(byte);
                    may[index][sector..sector + count].iter_mut().for_each(|v| v.push(byte));
                }
                2 => {
                    act(&mut port, Op::Read, file, from as u64, len as u32, 0);
                    prop_assert_eq!(port.bytes(0, len), &now[index][from..from + len]);
                }
                _ => {
                    act(&mut port, Op::Flush, file, 0, 0, 0);
                    may[index].iter_mut().for_each(|v| { v.drain(..v.len() - 1); });
                }
            }
        }
        for cut in 0..4 {
            let after = port.cut(seed ^ cut);
            for (file, may) in [(A, &may[0]), (B, &may[1])] {
                for (found, may) in sectors(&after, file, 0, SIZE).iter().zip(may) {
                    prop_assert!(may.contains(found), "{} where only {:?} could be", found, may);
                }
            }
        }
        prop_assert_eq!(sectors(&port.shut_down(), A, 0, SIZE), now[0].chunks(512).map(|s| s[0]).collect::<Vec<_>>());
    }
}
