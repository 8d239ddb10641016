//! The load that a stack is sized for.
//!
//! Plain data. Prevents: a load whose unit is left to be guessed.

use schemars::JsonSchema;
use serde::Serialize;

/// What has to be carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Load {
    /// Pages read a second.
    pub reads_per_s: f64,
    /// Pages updated a second.
    pub updates_per_s: f64,
    /// 99th percentile of an operation, nanoseconds, at most; `null`: any.
    pub p99_ns: Option<f64>,
    /// Bytes of data; `null`: nobody said.
    pub data_bytes: Option<f64>,
}

impl Load {
    /// Pages a second.
    pub(crate) fn pages_per_s(&self) -> f64 {
        self.reads_per_s + self.updates_per_s
    }

    /// Share of them that are updated.
    pub(crate) fn update_share(&self) -> f64 {
        self.updates_per_s / self.pages_per_s()
    }
}
