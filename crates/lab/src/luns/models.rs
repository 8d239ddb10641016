//! What the models under a stack did in a phase, beside what the kernel counted.
//!
//! Takes the services of the stack's LUN sets, gives measures and a verdict on punctuality. Prevents: a "disk" that
//! was as slow as the machine that played it, and a phase at another pace than the one that its study tells.

use crate::luns::kept::{Counts, Course};
use crate::luns::pace::{LATE_SHARE, Pace};
use crate::luns::service::{self, Service};
use ledger::{Measure, Sample};
use observers::Delta;
use serde_json::Value;

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
    /// Whether the model knows the end of a request when that comes, and can answer sooner for the way of the host.
    pub(crate) knows_ends: bool,
    /// How many times slower than its device it runs in phases.
    pub(crate) slower: u32,
    /// Processors of an array that requests share; 0: they are not counted.
    pub(crate) processors: f64,
    /// Whether it is an array with inline reduction.
    pub(crate) reduces: bool,
}

/// Counters of the modelled sets of a stack.
pub(crate) struct DeviceModels<'a> {
    sets: Vec<ModelledSet<'a>>,
    before: Vec<Value>,
    /// What arrays keep, as time goes on.
    course: Option<Course>,
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

/// What arrays keep of all that was ever written to them.
const KEPT: [(Measure, &str); 5] = [
    (Measure::ArrayWholeBytes, "whole_bytes"),
    (Measure::ArrayAskedBytes, "asked_bytes"),
    (Measure::ArrayDistinctBytes, "distinct_bytes"),
    (Measure::ArrayPackedBytes, "packed_bytes"),
    (Measure::ArrayStoredBytes, "stored_bytes"),
];

impl<'a> DeviceModels<'a> {
    pub(crate) fn new(sets: Vec<ModelledSet<'a>>) -> DeviceModels<'a> {
        DeviceModels {
            sets,
            before: Vec::new(),
            course: None,
        }
    }

    fn count(&self) -> anyhow::Result<Vec<Value>> {
        self.sets.iter().map(|set| set.service.ask(&service::count())).collect()
    }

    /// Before the phase.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        self.before = self.count()?;
        for (set, counted) in self.sets.iter().zip(&self.before) {
            set.check_pace(counted)?;
        }
        let arrays = self.sets.iter().filter(|set| set.reduces);
        let counts = arrays.map(|set| Box::new(set.service.counts()) as Counts);
        self.course = Course::begin(counts.collect());
        Ok(())
    }

    /// What arrays kept since the phase began, from time to time.
    pub(crate) fn course(&mut self) -> Vec<Sample> {
        self.course.take().map_or_else(Vec::new, Course::end)
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
        let shares = self.sets.iter().enumerate().filter(|(_, set)| set.processors > 0.0);
        let had_ns = seen.elapsed_ns.max(1) as f64;
        let highest = shares
            .map(|(nth, set)| since(nth, "processor_ns") / (had_ns * set.processors))
            .reduce(f64::max);
        measures.extend(highest.map(|share| (Measure::ArrayProcessorShare, share)));
        for (measure, key) in KEPT {
            let told: Vec<f64> = now.iter().filter_map(|value| value[key].as_f64()).collect();
            measures.extend((!told.is_empty()).then(|| (measure, told.iter().sum())));
        }
        // Each by itself: a disk with many requests would hide how late the log beside it is.
        let mut timed = self.sets.iter().enumerate().filter(|(_, set)| set.timed);
        let late = timed.find_map(|(nth, set)| {
            let why = set.pace(&now[nth], self.before.get(nth), seen).why_late(LATE_SHARE)?;
            Some(format!("LUN set {}: {why}", set.set))
        });
        measures.extend(late.is_some().then_some((Measure::ModelTooLate, 1.0)));
        Ok((measures, late))
    }
}

/// What models did in a phase, and why the phase can't count, if so.
pub(crate) type Modelled = (Vec<(Measure, f64)>, Option<String>);

impl ModelledSet<'_> {
    /// What comes before a phase is done at the device's own pace.
    fn check_pace(&self, counted: &Value) -> anyhow::Result<()> {
        let (plays, asked) = (counted["slow_motion"].as_u64(), Some(u64::from(self.slower)));
        anyhow::ensure!(
            plays == asked,
            "LUN set `{}`: the model runs {}, and the study has it run {}\n  \
             go on with the same command and `--resume`, and report it if it happens again",
            self.set,
            pace_words(plays),
            pace_words(asked)
        );
        Ok(())
    }

    /// How it kept up between two counts, of which the kernel saw this much.
    pub(crate) fn pace(&self, now: &Value, before: Option<&Value>, seen: &Delta) -> Pace {
        let of = |value: &Value, key: &str| value[key].as_f64().unwrap_or(0.0);
        let since = |key: &str| of(now, key) - before.map_or(0.0, |value| of(value, key));
        let held = |key: &str| {
            let of = |value: &Value, nth: usize| value[key][nth].as_f64().unwrap_or(0.0);
            std::array::from_fn(|nth| of(now, nth) - before.map_or(0.0, |before| of(before, nth)))
        };
        Pace {
            elapsed_ns: seen.elapsed_ns as f64,
            answered: since("answered"),
            delay_ns: since("delay_ns"),
            modelled_ns: since("modelled_ns"),
            held_long: held("held_long"),
            reads: since("reads"),
            read_modelled_ns: since("read_modelled_ns"),
            read_seen_ns: read_ns(seen, &self.devices),
            held_long_reads: held("held_long_reads"),
            read_ahead: self.reads_on.then(|| {
                let (hits, misses) = (since("cache_hits"), since("cache_misses"));
                hits / (hits + misses).max(1.0)
            }),
            slower: f64::from(self.slower),
        }
    }
}

/// How a model runs that is so many times slower than its device; `None`: it did not tell.
fn pace_words(slower: Option<u64>) -> String {
    match slower {
        None => "at a speed that it does not tell".to_string(),
        Some(1) => "at its device's own speed".to_string(),
        Some(times) => format!("{times} times slower than its device"),
    }
}

/// Time that reads of these devices took, all together, as the kernel saw it; `None` where one does not tell.
fn read_ns(seen: &Delta, devices: &[String]) -> Option<f64> {
    let of = |name: &String| seen.devices.get(name).map(|device| device.read_ms as f64 * 1e6);
    devices.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phase_begins_at_another_pace_than_that_of_its_study() {
        let begun = |plays: &str, slower: u32| {
            let script = format!("while read -r order; do echo '{{{plays}}}'; done");
            let service = Service::played_by(&script, slower);
            let mut models = DeviceModels::new(vec![ModelledSet {
                set: "data".to_string(),
                service: &service,
                devices: Vec::new(),
                timed: true,
                reads_on: false,
                knows_ends: true,
                slower,
                processors: 0.0,
                reduces: false,
            }]);
            models.begin()
        };
        assert!(begun("\"slow_motion\":5", 5).is_ok());
        let refused = |plays: &str, slower: u32, said: &str| {
            let refused = begun(plays, slower).expect_err("another pace").to_string();
            assert!(refused.contains(said), "{refused}");
        };
        let (own, five) = ("at its device's own speed", "5 times slower than its device");
        let both = |plays: &str, asked: &str| format!("the model runs {plays}, and the study has it run {asked}\n");
        refused("\"slow_motion\":1", 5, &both(own, five));
        refused("\"slow_motion\":5", 1, &both(five, own));
        refused("", 5, &both("at a speed that it does not tell", five));
    }
}
