//! Distributions of latencies as they stand in the file.
//!
//! Prevents: a latency of which nobody knows between which moments it lies.

use super::columns::columns;
use super::committed::committed_words;

committed_words! {
    /// Which two stamps a latency lies between.
    Stamp {
        /// Start to done.
        Service = "service",
        /// Due to done; equals service in a closed phase.
        Response = "response",
    }
}

/// A whole distribution of latencies of one class of operation in one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramRow {
    /// Class of operation: "select", "update", "scan", "read" ...
    pub class: String,
    /// Which stamps.
    pub stamp: Stamp,
    /// HdrHistogram V2 with deflate, values in nanoseconds ([`crate::encode_histogram`]).
    pub blob: Vec<u8>,
    /// Operations of the class that ended in the phase.
    pub count: u64,
    /// Work in them: pages touched, bytes scanned: the class's own unit.
    pub units: u64,
}

columns!(HistogramRow: class, stamp, blob, count, units);
