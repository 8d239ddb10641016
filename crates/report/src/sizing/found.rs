//! What was found of a load: plain data.
//!
//! Prevents: a number of LUNs that loses on its way what it rests on.

use super::load::Load;
use schemars::JsonSchema;
use serde::Serialize;

/// What a result file says of a load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sizing {
    /// The study.
    pub study: String,
    /// The load.
    pub load: Load,
    /// How many times slower than their devices models ran: rates are given back at the devices' own pace.
    pub slow_motion: Option<u32>,
    /// What prices are in; `null` where the study has none.
    pub currency: Option<String>,
    /// Stacks that were measured, those that differ in their LUNs alone together.
    pub stacks: Vec<SizedStack>,
}

/// What a load takes of something, with the interval in which one more build of such a stack lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Amount {
    /// Mean over blocks.
    pub middle: f64,
    /// Lower end of the 95 % prediction interval of one more build; `null` with one block.
    pub low: Option<f64>,
    /// Upper end; `null` with one block.
    pub high: Option<f64>,
}

/// One stack, or several that differ in their LUNs alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizedStack {
    /// The stacks.
    pub stacks: Vec<String>,
    /// Data LUNs of each; empty where they have none, and whole stacks are counted.
    pub luns: Vec<u32>,
    /// LUNs (or stacks) that carry the rate; `null` where none can be said.
    pub for_rate: Option<f64>,
    /// Lower end of the 95 % prediction interval: where one more build of such a stack lies; `null` with one block.
    pub low: Option<f64>,
    /// Upper end; `null` with one block.
    pub high: Option<f64>,
    /// LUNs that hold the data.
    pub for_data: Option<f64>,
    /// LUNs (or stacks) to take: what carries the rate at the upper end of its interval and holds the data; `null`
    /// without that end, and where the host's processors would be full first.
    pub takes: Option<u32>,
    /// Price of the stack with so many LUNs (or of so many stacks).
    pub price: Option<f64>,
    /// Processors of the host that are busy at the load, by the stack whose measured rate lies nearest to it.
    pub processors: Option<Amount>,
    /// Processors that the measured host had for it; `null` where they are unknown, or models kept some of them busy.
    pub host_processors: Option<f64>,
    /// The host's processors would be full before the load is carried.
    pub processors_full: bool,
    /// Bytes a second that the lowest visible devices move at the load, by the same stack.
    pub device_bytes_per_s: Option<Amount>,
    /// Phases that it was computed from.
    pub phases: Vec<String>,
    /// What lies beyond what was measured, and why nothing is said.
    pub notes: Vec<String>,
    /// It lies beyond what was measured by more than a factor of two.
    pub extrapolated: bool,
}
