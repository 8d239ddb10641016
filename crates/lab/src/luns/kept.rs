//! What arrays with inline reduction keep, over the time of a phase.
//!
//! Takes a way to ask each of them, gives samples of all together. Prevents: a ratio at the end of a phase that says
//! nothing of what was kept while it went on.

use ledger::Sample;
use serde_json::Value;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Names of the series in the result file, each with the key of its count.
const SERIES: [(&str, &str); 2] = [
    ("array.asked_bytes", "asked_bytes"),
    ("array.stored_bytes", "stored_bytes"),
];

/// Asks an array what it has counted.
pub(crate) type Counts = Box<dyn Fn() -> Option<Value> + Send>;

/// Looks at arrays until it is ended.
pub(crate) struct Course {
    over: Sender<()>,
    looking: JoinHandle<Vec<Sample>>,
}

impl Course {
    /// Looks from now on; `None` where there is nothing to look at.
    pub(crate) fn begin(arrays: Vec<Counts>) -> Option<Course> {
        if arrays.is_empty() {
            return None;
        }
        let (over, told) = channel();
        let began = Instant::now();
        let looking = std::thread::spawn(move || {
            let mut samples = Vec::new();
            // Whoever began it may be gone without a word.
            while told.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                samples.extend(look(&arrays, began));
            }
            samples.extend(look(&arrays, began));
            samples
        });
        Some(Course { over, looking })
    }

    /// All that was seen, the end included.
    pub(crate) fn end(self) -> Vec<Sample> {
        drop(self.over);
        self.looking.join().unwrap_or_default()
    }
}

/// One look; nothing where an array does not answer.
fn look(arrays: &[Counts], began: Instant) -> Vec<Sample> {
    let counts: Option<Vec<Value>> = arrays.iter().map(|array| array()).collect();
    let at_ns = began.elapsed().as_nanos() as u64;
    let Some(counts) = counts else { return Vec::new() };
    let sum = |key: &str| counts.iter().filter_map(|count| count[key].as_f64()).sum();
    let sample = |(name, key): (&str, &str)| Sample {
        at_ns,
        name: name.to_string(),
        value: sum(key),
    };
    SERIES.into_iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_end_is_seen_however_short_the_phase() {
        let array = |bytes: u64| -> Counts {
            Box::new(move || Some(json!({ "asked_bytes": 2 * bytes, "stored_bytes": bytes })))
        };
        let course = Course::begin(vec![array(100), array(1)]).expect("two arrays");
        let samples = course.end();
        let shown: Vec<(&str, f64)> = samples.iter().map(|s| (s.name.as_str(), s.value)).collect();
        assert_eq!(shown, [("array.asked_bytes", 202.0), ("array.stored_bytes", 101.0)]);
        assert!(Course::begin(Vec::new()).is_none());
        let silent: Counts = Box::new(|| None);
        assert!(Course::begin(vec![silent]).expect("one array").end().is_empty());
    }
}
