//! The model of a disk against theory and its manual, in virtual time.

use crate::driving::*;
use luns::model::{Ask, DeviceModel, Hdd, HddParameters};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[test]
fn one_random_read_at_a_time_takes_seek_half_a_turn_and_transfer() {
    // Even rates: then places are even over tracks, and the mean seek is the data sheet's.
    let even = HddParameters {
        outer_rate: 120e6,
        inner_rate: 120e6,
        ..disk()
    };
    let mut hdd = Hdd::new(even, 100 * GIB);
    let seen = closed(&mut hdd, 1, 20_000, 0, random(1, 100 * GIB, 8192));
    let turn = 60.0 / 7200.0;
    let due = 0.0002 + 0.0075 + turn / 2.0 + 8192.0 / 120e6;
    near(seen.latency, due, 0.01, "mean service time");
}

#[test]
fn a_deeper_queue_is_served_faster_and_no_one_waits_for_ever() {
    let rates: Vec<f64> = [1, 2, 4, 8, 16, 32]
        .map(|depth| {
            let mut hdd = Hdd::new(disk(), 100 * GIB);
            let seen = closed(&mut hdd, depth, 6_000, 0, random(2, 100 * GIB, 8192));
            near(depth as f64, seen.rate * seen.latency, 0.01, "Little's law");
            let longest = *seen.latencies.iter().max().unwrap();
            assert!(longest < 3_000_000_000, "{longest} ns at depth {depth}");
            seen.rate
        })
        .into();
    assert!(rates.windows(2).all(|w| w[1] > w[0]), "{rates:?}");
    // Nearness in seek and turn together more than halves the service time of random reads in a full queue (Jacobson
    // and Wilkes 1991; Worthington, Ganger and Patt 1994).
    let gain = rates[5] / rates[0];
    assert!((2.0..3.5).contains(&gain), "{rates:?}");
}

#[test]
fn reads_in_sequence_run_at_the_rate_of_their_zone() {
    let bytes = 100 * GIB;
    for at in [0, bytes / 2, bytes - 256 * MIB] {
        let mut hdd = Hdd::new(disk(), bytes);
        let seen = closed(&mut hdd, 1, 1_900, 0, |nth| read(at + nth * 131_072, 131_072));
        let rate = seen.rate * 131_072.0;
        near(rate, hdd.geometry().rate(at), 0.02, "bytes a second");
    }
}

#[test]
fn reads_in_sequence_that_were_swapped_on_their_way_cost_no_turn() {
    for depth in [1, 2, 4] {
        let mut hdd = Hdd::new(disk(), 100 * GIB);
        let seen = closed(&mut hdd, depth, 2_000, 0, |nth| read((nth ^ 1) * 131_072, 131_072));
        near(
            seen.rate * 131_072.0,
            hdd.geometry().rate(0),
            0.02,
            "bytes a second of two swapped",
        );
    }
    // What the head has passed is there, what it has not passed is not, and without read-ahead nothing is.
    let latency = |ahead_bytes: u64, offset: u64| {
        let mut hdd = Hdd::new(HddParameters { ahead_bytes, ..disk() }, 100 * GIB);
        let place = |nth| [0, 65_536, offset][nth as usize];
        closed(&mut hdd, 1, 2, 0, |nth| read(place(nth), 65_536)).ended_at
    };
    assert!(latency(MIB, 8_192) < latency(MIB, 50 * GIB));
    assert!(latency(0, 131_072) > latency(MIB, 131_072) + 7_000_000, "a turn");
}

#[test]
fn writes_in_sequence_run_at_the_rate_of_their_zone_when_they_are_there_in_time() {
    let bytes = 100 * GIB;
    for at in [0, bytes / 2, bytes - 512 * MIB] {
        for (write_cache_bytes, depth) in [(16 * MIB, 1), (16 * MIB, 8), (0, 4)] {
            let parameters = HddParameters {
                write_cache_bytes,
                ..disk()
            };
            let mut hdd = Hdd::new(parameters, bytes);
            let seen = closed(&mut hdd, depth, 2_000, 0, |nth| write(at + nth * 131_072, 131_072));
            // By the end the cache is full and takes what the platter does.
            let seconds = (seen.order[1_999].at - seen.order[500].at) as f64 / 1e9;
            let rate = 1_499.0 * 131_072.0 / seconds;
            near(rate, hdd.geometry().rate(at), 0.02, "bytes a second");
            assert_eq!(hdd.counters().seeks, u64::from(at > 0), "the arm goes there and stays");
        }
    }
    // One at a time without a cache each comes when its place has just passed.
    let mut hdd = Hdd::new(disk(), bytes);
    let seen = closed(&mut hdd, 1, 500, 0, |nth| write(nth * 8192, 8192));
    near(seen.latency, 60.0 / 7200.0, 0.02, "a turn each");
}

#[test]
fn a_write_settles_by_how_far_the_arm_has_come() {
    let slow = |settle: u64, track: u64| HddParameters {
        write_settle_ns: settle,
        write_settle_track_ns: track,
        ..disk()
    };
    let arm = |parameters: HddParameters, asks: &[Ask]| {
        let mut hdd = Hdd::new(parameters, 100 * GIB);
        closed(&mut hdd, 1, asks.len() - 1, 0, |nth| asks[nth as usize]);
        hdd.counters().seek_ns
    };
    let far = [write(50 * GIB, 8192), read(0, 8192)];
    assert_eq!(arm(slow(1_000_000, 0), &far) - arm(slow(0, 0), &far), 1_000_000);
    // Stays where it has read, and then where it has written.
    let near = [read(0, 8192), write(8192, 8192), write(65_536, 8192), read(0, 8192)];
    assert_eq!(arm(slow(1_000_000, 210_000), &near), 210_000);
}

#[test]
fn two_scans_at_a_time_cost_a_disk_most_of_its_rate() {
    let mut hdd = Hdd::new(disk(), 100 * GIB);
    let alone = closed(&mut hdd, 1, 500, 0, |nth| read(nth * 131_072, 131_072)).rate;
    let mut hdd = Hdd::new(disk(), 100 * GIB);
    let both = closed(&mut hdd, 2, 500, 0, |nth| {
        read((nth % 2) * 50 * GIB + nth / 2 * 131_072, 131_072)
    });
    assert!(both.rate < 0.35 * alone, "{} of {alone}", both.rate);
}

#[test]
fn a_scan_does_not_hold_up_others_for_ever() {
    // Two reads of the scan in flight, so that the next one is always there; then a write far away, and in turn a
    // flush.
    let asks = |others: u64| {
        move |nth: u64| match nth {
            2 => write(90 * GIB, 8192),
            3 if others == 2 => flush(),
            _ => read((nth - if nth > 2 { others } else { 0 }) * 131_072, 131_072),
        }
    };
    // The last of the others, each without and with a write cache that would answer for it.
    for (cache, others) in [(0, 1), (64 << 20, 2)] {
        let parameters = HddParameters {
            write_cache_bytes: cache,
            ..disk()
        };
        let mut hdd = Hdd::new(parameters, 100 * GIB);
        let seen = closed(&mut hdd, 2 + others as usize, 6_000, 0, asks(others));
        let at = seen.order.iter().position(|answer| answer.id == 1 + others);
        let latency = at.map(|at| seen.latencies[at]);
        assert!(
            latency.is_some_and(|ns| ns < 1_200_000_000),
            "{latency:?} ns beside a scan of {} s",
            seen.ended_at / 1_000_000_000
        );
    }
}

#[test]
fn a_write_cache_answers_at_once_and_a_flush_waits_for_all_before_it() {
    let cached = HddParameters {
        write_cache_bytes: 64 * MIB,
        ..disk()
    };
    let mut hdd = Hdd::new(cached, 100 * GIB);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut place = || rng.next_u64() % (100 * GIB / 8192) * 8192;
    for id in 0..100 {
        hdd.submit(
            0,
            Ask {
                id,
                ..write(place(), 8192)
            },
        );
    }
    hdd.submit(0, Ask { id: 100, ..flush() });
    for id in 101..151 {
        hdd.submit(
            0,
            Ask {
                id,
                ..write(place(), 8192)
            },
        );
    }
    let mut done = Vec::new();
    hdd.advance(1_000_000, &mut done);
    assert_eq!(done.len(), 150, "all writes, not the flush");
    assert!(hdd.counters().unflushed_bytes >= 149 * 8192);
    let mut flushed_at = 0;
    while let Some(next) = hdd.next() {
        done.clear();
        hdd.advance(next, &mut done);
        if done.iter().any(|a| a.id == 100) {
            flushed_at = next;
            let destaged = hdd.counters().destaged_bytes / 8192;
            assert_eq!(destaged, 100, "those before it, and no other before them");
        }
    }
    assert!(flushed_at > 200_000_000, "{flushed_at}");
    assert_eq!(hdd.counters().unflushed_bytes, 0);
}

#[test]
fn with_its_cache_off_each_write_waits_for_the_platter() {
    let mut hdd = Hdd::new(disk(), 100 * GIB);
    let mut places = random(4, 100 * GIB, 8192);
    let seen = closed(&mut hdd, 1, 2_000, 0, |nth| write(places(nth).offset, 8192));
    assert!(seen.latency > 0.012, "{}", seen.latency);
    assert_eq!(hdd.counters().unflushed_bytes, 0);
}

#[test]
fn a_disk_by_name_has_the_bytes_a_track_of_its_manual() {
    let disk = Hdd::new(disk(), GIB);
    let scan = disk.geometry().passing_ns(0, GIB) as f64 / 1e9;
    near(GIB as f64 / scan / 120.0, 732_998.0, 0.01, "bytes a turn");
}
