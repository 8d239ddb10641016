//! Drives models in virtual time: requests, a loop that keeps so many in flight, what it saw.

use luns::model::{Answer, Ask, Command, DeviceModel, HddParameters, hdd_preset};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;

/// What a closed loop saw: rate in requests a second, mean latency in seconds, the latencies in nanoseconds.
pub(crate) struct Seen {
    pub(crate) rate: f64,
    pub(crate) latency: f64,
    pub(crate) ended_at: u64,
    pub(crate) latencies: Vec<u64>,
    pub(crate) order: Vec<Answer>,
}

/// Keeps `depth` requests in flight until `count` have ended, from `from` on.
pub(crate) fn closed(
    device: &mut dyn DeviceModel,
    depth: usize,
    count: usize,
    from: u64,
    mut ask: impl FnMut(u64) -> Ask,
) -> Seen {
    let mut came = HashMap::new();
    let (mut now, mut next_id) = (from, 0);
    let mut latencies = Vec::with_capacity(count);
    let mut order = Vec::with_capacity(count);
    let mut done = Vec::new();
    let mut submit = |device: &mut dyn DeviceModel, now: u64, came: &mut HashMap<u64, u64>| {
        came.insert(next_id, now);
        device.submit(
            now,
            Ask {
                id: next_id,
                ..ask(next_id)
            },
        );
        next_id += 1;
    };
    device.advance(now, &mut done);
    for _ in 0..depth {
        submit(device, now, &mut came);
    }
    while latencies.len() < count {
        now = device.next().expect("requests are in flight");
        done.clear();
        device.advance(now, &mut done);
        for answer in &done {
            assert_eq!(answer.at, now, "an answer comes at its time");
            latencies.push(answer.at - came.remove(&answer.id).expect("asked once, answered once"));
            order.push(*answer);
            submit(device, now, &mut came);
        }
    }
    let seconds = (now - from) as f64 / 1e9;
    // What is still in flight ends uncounted.
    while let Some(next) = device.next() {
        now = next;
        done.clear();
        device.advance(now, &mut done);
    }
    Seen {
        rate: latencies.len() as f64 / seconds,
        latency: latencies.iter().sum::<u64>() as f64 / latencies.len() as f64 / 1e9,
        ended_at: now,
        latencies,
        order,
    }
}

pub(crate) fn read(offset: u64, len: u32) -> Ask {
    Ask {
        id: 0,
        lun: 0,
        command: Command::Read,
        offset,
        len,
    }
}

pub(crate) fn write(offset: u64, len: u32) -> Ask {
    Ask {
        command: Command::Write { through: false },
        ..read(offset, len)
    }
}

pub(crate) fn flush() -> Ask {
    Ask {
        command: Command::Flush,
        ..read(0, 0)
    }
}

pub(crate) fn random(seed: u64, bytes: u64, len: u32) -> impl FnMut(u64) -> Ask {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    move |_| read(rng.next_u64() % (bytes / u64::from(len)) * u64::from(len), len)
}

pub(crate) fn near(seen: f64, wanted: f64, share: f64, what: &str) {
    assert!(
        (seen / wanted - 1.0).abs() <= share,
        "{what}: {seen} where {wanted} is due"
    );
}

pub(crate) fn disk() -> HddParameters {
    hdd_preset("hdd-7200").unwrap()
}
