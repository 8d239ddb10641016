//! What the limits of an array's LUNs hold back, beside what other LUNs ask, in virtual time.

use crate::driving::*;
use luns::model::{Array, ArrayParameters, Ask, DeviceModel, Effort, Latency, Limit, array_preset};

fn limited(lun_requests: f64) -> ArrayParameters {
    ArrayParameters {
        lun_requests: Some(Limit {
            per_second: lun_requests,
            credit: 1.0,
        }),
        hit: Latency::constant(500_000),
        miss: Latency::constant(6_000_000),
        parallel: 1,
        effort: Effort {
            processors: 1,
            read_ns: 100_000,
            write_ns: 100_000,
            reduction: None,
        },
        ..array_preset("array-cached").unwrap()
    }
}

#[test]
fn what_a_limit_of_one_lun_holds_back_takes_nothing_from_another() {
    for to_write in [false, true] {
        let mut device = Array::new(limited(1000.0), 2, 1);
        for id in 0..64 {
            let ask = if to_write {
                write(id * 8192, 8192)
            } else {
                read(id * 8192, 8192)
            };
            device.submit(0, Ask { id, ..ask });
        }
        let mut done = Vec::new();
        device.advance(10_500_000, &mut done);
        let ask = if to_write { flush() } else { read(0, 8192) };
        device.submit(10_500_000, Ask { id: 64, lun: 1, ..ask });
        while let Some(next) = device.next() {
            device.advance(next, &mut done);
        }
        let at = |id: u64| done.iter().find(|answer| answer.id == id).unwrap().at;
        // It waits for the eleven that the limit has let through, and for no others.
        assert_eq!(at(64), if to_write { 11_100_000 } else { 100_000 + 12 * 6_000_000 });
        assert_eq!(at(63), if to_write { 63_600_000 } else { 65 * 6_000_000 + 100_000 });
        assert_eq!(device.counters().held_ns, (0..64).map(|nth| nth * 1_000_000).sum());
    }
}

#[test]
fn what_a_limit_holds_back_is_not_destaged_and_a_flush_of_its_lun_waits_for_it() {
    let parameters = ArrayParameters {
        destage_rate: 8.192e9,
        ..limited(1000.0)
    };
    let mut device = Array::new(parameters.clone(), 1, 1);
    for id in 0..64 {
        device.submit(
            0,
            Ask {
                id,
                ..write(id * 8192, 8192)
            },
        );
    }
    device.submit(0, Ask { id: 64, ..flush() });
    let mut done = Vec::new();
    device.advance(10_500_000, &mut done);
    assert_eq!(device.counters().destaged_bytes, 11 * 8192);
    device.advance(1_000_000_000, &mut done);
    assert_eq!(device.counters().destaged_bytes, 64 * 8192);
    let ended = done.iter().find(|answer| answer.id == 64).unwrap();
    assert_eq!(ended.at, 63_600_000 + 500_000);
    // A cut ends what is held, and that is never destaged.
    let mut device = Array::new(parameters, 1, 1);
    for id in 0..3 {
        device.submit(0, Ask { id, ..write(0, 8192) });
    }
    device.submit(0, Ask { id: 3, ..flush() });
    device.power_cycle(0);
    done.clear();
    device.advance(1_000_000_000, &mut done);
    assert_eq!(done.len(), 4);
    assert_eq!(device.counters().destaged_bytes, 8192);
}
