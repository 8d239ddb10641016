//! The value of a phase's primary metric in one run.
//!
//! Takes what is known of a run, gives a number. Prevents: a verdict and a line of the sheet that take one run by two
//! figures.

use crate::cells::latency::response_p99;
use crate::cells::metric::Metric;
use crate::cells::questions;
use crate::figures::over;
use crate::history::Seen;
use ledger::LedgerError;

impl Metric {
    /// Value of one run.
    pub(crate) fn value(self, seen: &Seen) -> Result<Option<f64>, LedgerError> {
        let per_second = |amount: Option<f64>| over(amount, Some(seen.total_s()));
        Ok(match self {
            Metric::OperationsPerSecond => per_second(seen.operations()),
            Metric::BytesPerSecond => per_second(seen.scanned_bytes()),
            Metric::NewOrdersPerMinute => per_second(seen.new_orders()).map(|rate| rate * 60.0),
            Metric::OperationsPerSecondAtLimit => seen.rate_at_limit()?,
            Metric::ResponseNsP99 => response_p99(seen)?,
            Metric::GeometricMeanSeconds => seen.questions.as_ref().and_then(questions::geometric_mean_s),
            Metric::ElapsedSeconds => Some(seen.total_s()),
        })
    }
}
