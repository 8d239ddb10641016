//! The load that a stack is sized for.
//!
//! Plain data. Prevents: a load whose unit is left to be guessed.

use schemars::JsonSchema;
use serde::Serialize;

/// What has to be carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Load {
    /// Pages read from storage a second, one by one, those too that are read to be changed; not those of scans.
    pub reads_per_s: f64,
    /// Pages changed a second, those too that the engine's cache had.
    pub updates_per_s: f64,
    /// 99th percentile of an operation, nanoseconds, at most; `null`: any.
    pub p99_ns: Option<f64>,
    /// Bytes of data; `null`: nobody said.
    pub data_bytes: Option<f64>,
}

impl Load {
    /// Its mix: pages changed for each page read.
    pub(crate) fn updates_per_read(&self) -> f64 {
        self.updates_per_s / self.reads_per_s
    }
}
