//! What the models under a stack did in a phase, beside what the kernel counted.
//!
//! Takes the services of the stack's LUN sets, gives measures and a verdict on punctuality. Prevents: a "disk" that
//! was as slow as the machine that played it.

use crate::luns::service::Service;
use ledger::Measure;
use luns::model::HELD_LONG_NS;
use observers::Delta;
use serde_json::{Value, json};

/// Answers may be so much later than the model's, as a share of the time that they took, all together: with one
/// request at a time the rate would be too low by this share.
const LATE_SHARE: f64 = 0.03;
/// All lateness of a LUN set one after the other, as a share of the phase: what it takes from the phase at most, in
/// whatever order requests wait for one another. Less says nothing against the phase.
const PHASE_SHARE: f64 = 0.01;
/// Of fewer requests nothing is said.
const REQUESTS_MIN: f64 = 100.0;

/// A LUN set that a process of ours serves.
pub(crate) struct ModelledSet<'a> {
    /// Its name in the study.
    pub(crate) set: String,
    /// The process.
    pub(crate) service: &'a Service,
    /// The loop devices on it.
    pub(crate) devices: Vec<String>,
    /// Whether it has times of its own, and does not just pass on what the files below take.
    pub(crate) timed: bool,
    /// Whether a device reads on while the next request is on its way, as a disk does: then a read that it finds in
    /// its read-ahead is no later for the way, and a scan runs at the rate of the medium.
    pub(crate) reads_on: bool,
}

/// Counters of the modelled sets of a stack.
pub(crate) struct DeviceModels<'a> {
    sets: Vec<ModelledSet<'a>>,
    before: Vec<Value>,
}

/// Counters that are measures by themselves: what was done since the phase began.
const COUNTED: [(Measure, &str); 17] = [
    (Measure::ModelReads, "reads"),
    (Measure::ModelReadBytes, "read_bytes"),
    (Measure::ModelWrites, "writes"),
    (Measure::ModelWriteBytes, "write_bytes"),
    (Measure::ModelFlushes, "flushes"),
    (Measure::ModelSeeks, "seeks"),
    (Measure::ModelSeekNs, "seek_ns"),
    (Measure::ModelRotationNs, "rotation_ns"),
    (Measure::ModelCacheHits, "cache_hits"),
    (Measure::ModelCacheMisses, "cache_misses"),
    (Measure::ModelDestagedBytes, "destaged_bytes"),
    (Measure::ModelHeldNs, "held_ns"),
    (Measure::ModelMovedBytes, "moved_bytes"),
    (Measure::ModelBusyNs, "busy_ns"),
    (Measure::ModelLate, "late"),
    (Measure::ModelDelayNs, "delay_ns"),
    (Measure::ModelServiceNs, "modelled_ns"),
];

impl<'a> DeviceModels<'a> {
    pub(crate) fn new(sets: Vec<ModelledSet<'a>>) -> DeviceModels<'a> {
        DeviceModels {
            sets,
            before: Vec::new(),
        }
    }

    fn count(&self) -> anyhow::Result<Vec<Value>> {
        self.sets
            .iter()
            .map(|set| set.service.ask(&json!({ "do": "count" })))
            .collect()
    }

    /// Before the phase.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        self.before = self.count()?;
        Ok(())
    }

    /// After it, of which the kernel saw this much: what the models did, and why the phase can't count, if so.
    pub(crate) fn end(&self, seen: &Delta) -> anyhow::Result<Modelled> {
        if self.sets.is_empty() {
            return Ok((Vec::new(), None));
        }
        let now = self.count()?;
        let of = |value: &Value, key: &str| value[key].as_f64().unwrap_or(0.0);
        let since =
            |nth: usize, key: &str| of(&now[nth], key) - self.before.get(nth).map_or(0.0, |value| of(value, key));
        let all = |key: &str| (0..now.len()).map(|nth| since(nth, key)).sum::<f64>();
        let mut measures: Vec<(Measure, f64)> = COUNTED.iter().map(|(measure, key)| (*measure, all(key))).collect();
        let unflushed = now.iter().map(|value| of(value, "unflushed_bytes")).sum();
        measures.push((Measure::ModelUnflushedBytes, unflushed));
        for (measure, key) in [
            (Measure::ModelKeptBytes, "kept_bytes"),
            (Measure::ModelPhysicalBytes, "physical_bytes"),
        ] {
            let told: Vec<f64> = now.iter().filter_map(|value| value[key].as_f64()).collect();
            measures.extend((!told.is_empty()).then(|| (measure, told.iter().sum())));
        }
        // Each by itself: a disk with many requests would hide how late the log beside it is.
        let mut timed = self.sets.iter().enumerate().filter(|(_, set)| set.timed);
        let late = timed.find_map(|(nth, set)| {
            let of = |key: &str| since(nth, key);
            let answered = of("answered");
            let held = |key: &str| held_since(&now[nth], self.before.get(nth), key);
            let free = exposed(answered, held("held_long"), of("delay_ns"));
            let matters = |late_ns: f64| late_ns > PHASE_SHARE * seen.elapsed_ns as f64;
            let why = late(answered, of("delay_ns"), of("modelled_ns"), free);
            let why = why.filter(|_| matters(free * of("delay_ns"))).or_else(|| {
                let (hits, misses) = (of("cache_hits"), of("cache_misses"));
                let (seen_ns, modelled_ns) = (read_ns(seen, &set.devices)?, of("read_modelled_ns"));
                let waiting = match set.reads_on {
                    true => misses / (hits + misses).max(1.0),
                    false => exposed(of("reads"), held("held_long_reads"), seen_ns - modelled_ns),
                };
                let why = slow_path(of("reads"), seen_ns, modelled_ns, waiting);
                why.filter(|_| matters(waiting * (seen_ns - modelled_ns)))
            })?;
            Some(format!("LUN set {}: {why}", set.set))
        });
        Ok((measures, late))
    }
}

/// What models did in a phase, and why the phase can't count, if so.
pub(crate) type Modelled = (Vec<(Measure, f64)>, Option<String>);

/// Requests that were held back by each of [`HELD_LONG_NS`], since an earlier count.
fn held_since(now: &Value, before: Option<&Value>, key: &str) -> [f64; 3] {
    let of = |value: &Value, nth: usize| value[key][nth].as_f64().unwrap_or(0.0);
    std::array::from_fn(|nth| of(now, nth) - before.map_or(0.0, |before| of(before, nth)))
}

/// Time that reads of these devices took, all together, as the kernel saw it; `None` where one does not tell.
fn read_ns(seen: &Delta, devices: &[String]) -> Option<f64> {
    let of = |name: &String| seen.devices.get(name).map(|device| device.read_ms as f64 * 1e6);
    devices.iter().map(of).sum()
}

/// The share of requests that a delay of the host's makes later. Not those that a limit of the device held back for
/// four times the mean delay or longer: had they come earlier, they would have waited, and the limit's rate is what
/// it is. `held_long`: requests that were held back by each of [`HELD_LONG_NS`].
fn exposed(requests: f64, held_long: [f64; 3], delay_ns: f64) -> f64 {
    let mean_ns = delay_ns / requests.max(1.0);
    let long = HELD_LONG_NS.iter().position(|ns| *ns as f64 >= 4.0 * mean_ns);
    long.map_or(1.0, |nth| 1.0 - (held_long[nth] / requests.max(1.0)).min(1.0))
}

/// Too late to be the device that was asked for. `exposed`: the share of requests that lateness makes later.
fn late(answered: f64, delay_ns: f64, modelled_ns: f64, exposed: f64) -> Option<String> {
    let much = exposed * delay_ns > LATE_SHARE * (modelled_ns + delay_ns);
    let too_late = answered >= REQUESTS_MIN && modelled_ns > 0.0 && much;
    too_late.then(|| {
        format!(
            "the model cannot keep up: answers came {:.0} us late on average, {:.0} % of the {:.0} us \
             that the model takes",
            delay_ns / answered / 1e3,
            100.0 * delay_ns / modelled_ns,
            modelled_ns / answered / 1e3
        )
    })
}

/// The model may be punctual from the moment it hears of a request, and requests late to reach it: more of them than
/// the machine can carry, or a device so quick that the way to it and back counts. Only reads can be held against
/// each other: a write may wait in the kernel for a flush of another. `exposed`: the share of reads that the way
/// makes later.
fn slow_path(reads: f64, seen_ns: f64, modelled_ns: f64, exposed: f64) -> Option<String> {
    let way_ns = seen_ns - modelled_ns;
    let too_slow = reads >= REQUESTS_MIN && modelled_ns > 0.0 && exposed * way_ns > LATE_SHARE * seen_ns;
    too_slow.then(|| {
        format!(
            "the model cannot keep up: reads took {:.0} us on average, of which the model's device is {:.0} us \
             and the way to it and back the rest, {:.0} %",
            seen_ns / reads / 1e3,
            modelled_ns / reads / 1e3,
            100.0 * way_ns / seen_ns
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{exposed, late, slow_path};

    #[test]
    fn answers_later_than_the_model_by_more_than_a_share_are_told() {
        assert_eq!(late(1000.0, 1e6, 1000.0 * 1e6, 1.0), None);
        assert_eq!(
            late(10.0, 1e9, 10.0 * 1e6, 1.0),
            None,
            "of a few requests nothing is said"
        );
        assert_eq!(late(1000.0, 1e9, 0.0, 1.0), None, "a device without times of its own");
        let told = late(1000.0, 50_000.0 * 1000.0, 1000.0 * 1e6, 1.0).expect("too late");
        assert!(told.contains("50 us late on average, 5 % of the 1000 us"), "{told}");
    }

    #[test]
    fn a_way_to_the_model_that_takes_more_than_a_share_is_told() {
        assert_eq!(slow_path(1000.0, 1.02e9, 1e9, 1.0), None);
        assert_eq!(
            slow_path(10.0, 2e9, 1e9, 1.0),
            None,
            "of a few requests nothing is said"
        );
        assert_eq!(
            slow_path(1000.0, 1e9, 0.0, 1.0),
            None,
            "a device without times of its own"
        );
        assert_eq!(
            slow_path(1000.0, 0.9e9, 1e9, 1.0),
            None,
            "the kernel counts in milliseconds"
        );
        assert_eq!(
            slow_path(1000.0, 0.9e9, 0.8e9, 0.2),
            None,
            "four of five are read ahead"
        );
        let told = slow_path(1000.0, 0.9e9, 0.8e9, 1.0).expect("too slow");
        assert!(
            told.contains("900 us on average, of which the model's device is 800 us"),
            "{told}"
        );
    }

    #[test]
    fn a_request_that_a_limit_holds_back_is_no_later_for_a_short_way() {
        // Of 1,000 requests, 900 were held back by a millisecond, 600 by four, 300 by sixteen.
        let of = |delay_us: f64| exposed(1000.0, [900.0, 600.0, 300.0], 1000.0 * delay_us * 1e3);
        assert_eq!(exposed(1000.0, [0.0; 3], 1000.0 * 100e3), 1.0);
        assert!(
            (of(100.0) - 0.1).abs() < 1e-9,
            "one in ten came to a device that was free"
        );
        assert!(
            (of(400.0) - 0.4).abs() < 1e-9,
            "a longer way wants a longer wait to hide in"
        );
        assert!((of(2000.0) - 0.7).abs() < 1e-9);
        assert_eq!(of(5000.0), 1.0, "no wait hides so long a way");
        let (delay_ns, modelled_ns) = (1000.0 * 100e3, 1000.0 * 1e6);
        assert!(late(1000.0, delay_ns, modelled_ns, 1.0).is_some());
        assert_eq!(late(1000.0, delay_ns, modelled_ns, of(100.0)), None);
    }
}
