//! What the models under a stack did in a phase, beside what the kernel counted.
//!
//! Takes the services of the stack's LUN sets, gives measures and a verdict on punctuality. Prevents: a "disk" that was as slow as
//! the machine that played it.

use crate::device_service::Service;
use ledger::Measure;
use serde_json::{Value, json};

/// Answers may be so much later than the model's, as a share of the time that they took, all together: with one request at a time the
/// rate would be too low by this share.
const LATE_SHARE: f64 = 0.03;
/// Of fewer requests nothing is said.
const REQUESTS_MIN: f64 = 100.0;

/// Counters of the services of a stack.
pub(crate) struct DeviceModels<'a> {
    services: Vec<&'a Service>,
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
    pub(crate) fn new(services: Vec<&'a Service>) -> DeviceModels<'a> {
        DeviceModels {
            services,
            before: Vec::new(),
        }
    }

    fn count(&self) -> anyhow::Result<Vec<Value>> {
        self.services
            .iter()
            .map(|service| service.ask(&json!({ "do": "count" })))
            .collect()
    }

    /// Before the phase.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        self.before = self.count()?;
        Ok(())
    }

    /// After it: what the models did, and why the phase can't count, if so.
    pub(crate) fn end(&self) -> anyhow::Result<Modelled> {
        if self.services.is_empty() {
            return Ok((Vec::new(), None));
        }
        let now = self.count()?;
        let of = |value: &Value, key: &str| value[key].as_f64().unwrap_or(0.0);
        let since = |key: &str| -> f64 {
            let pairs = now.iter().zip(&self.before);
            pairs.map(|(now, before)| of(now, key) - of(before, key)).sum()
        };
        let mut measures: Vec<(Measure, f64)> = COUNTED.iter().map(|(measure, key)| (*measure, since(key))).collect();
        let unflushed = now.iter().map(|value| of(value, "unflushed_bytes")).sum();
        measures.push((Measure::ModelUnflushedBytes, unflushed));
        for (measure, key) in [
            (Measure::ModelKeptBytes, "kept_bytes"),
            (Measure::ModelPhysicalBytes, "physical_bytes"),
        ] {
            let told: Vec<f64> = now.iter().filter_map(|value| value[key].as_f64()).collect();
            measures.extend((!told.is_empty()).then(|| (measure, told.iter().sum())));
        }
        Ok((
            measures,
            late(since("answered"), since("delay_ns"), since("modelled_ns")),
        ))
    }
}

/// What models did in a phase, and why the phase can't count, if so.
pub(crate) type Modelled = (Vec<(Measure, f64)>, Option<String>);

/// Too late to be the device that was asked for.
fn late(answered: f64, delay_ns: f64, modelled_ns: f64) -> Option<String> {
    let too_late = answered >= REQUESTS_MIN && modelled_ns > 0.0 && delay_ns > LATE_SHARE * (modelled_ns + delay_ns);
    too_late.then(|| {
        format!(
            "the model cannot keep up: answers came {:.0} us late on average, {:.0} % of the {:.0} us that the model takes",
            delay_ns / answered / 1e3,
            100.0 * delay_ns / modelled_ns,
            modelled_ns / answered / 1e3
        )
    })
}

#[cfg(test)]
mod tests {
    use super::late;

    #[test]
    fn answers_later_than_the_model_by_more_than_a_share_are_told() {
        assert_eq!(late(1000.0, 1e6, 1000.0 * 1e6), None);
        assert_eq!(late(10.0, 1e9, 10.0 * 1e6), None, "of a few requests nothing is said");
        assert_eq!(late(1000.0, 1e9, 0.0), None, "a device without times of its own");
        let told = late(1000.0, 50_000.0 * 1000.0, 1000.0 * 1e6).expect("too late");
        assert!(told.contains("50 us late on average, 5 % of the 1000 us"), "{told}");
    }
}
