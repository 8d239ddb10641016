//! What stacks cost to buy, and what a unit of their work costs: prices of the study over what was measured.
//!
//! Plain data; [`priced`](super::priced) makes it. Prevents: a total whose parts are not said.

use crate::cells::metric::Metric;
use schemars::JsonSchema;
use serde::Serialize;

/// What the stacks of a study cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// What prices are in; may be empty.
    pub currency: String,
    /// Price of the host.
    pub host: f64,
    /// Price of each LUN.
    pub lun: f64,
    /// Price of 10^9 bytes of LUN.
    pub gb: f64,
    /// Each stack's price.
    pub stacks: Vec<CostOfStack>,
    /// Each stack's price over its rate, phase by phase.
    pub rates: Vec<CostOfRate>,
}

/// The price of one stack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CostOfStack {
    /// The stack.
    pub stack: String,
    /// LUNs that it lies on.
    pub luns: u32,
    /// Their bytes.
    pub lun_bytes: f64,
    /// Licences and support.
    pub licence: f64,
    /// Host, LUNs, space and licences together.
    pub total: f64,
    /// Bytes of data like those of the study that fill the LUNs of the data, after what the stack adds and what it and
    /// the array reduce; `null` where the bytes in use are unknown.
    pub data_bytes_full: Option<f64>,
    /// Price of 10^9 bytes of such data.
    pub per_gb_of_data: Option<f64>,
}

/// The price of a stack over its rate in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CostOfRate {
    /// The phase.
    pub phase: String,
    /// The stack.
    pub stack: String,
    /// What the rate counts. The price is that of one operation a second, of 10^6 bytes a second, or of one new order a
    /// minute.
    pub metric: Metric,
    /// Price for one unit of the rate; `null` where models ran in slow motion.
    pub price: Option<f64>,
    /// Lower end, from the plain 95 % interval of the rate over blocks.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The stack that it is held against; `null` for a base.
    pub base: Option<String>,
    /// Price for a unit over that of the base: below 1 is cheaper.
    pub ratio: Option<f64>,
    /// Lower end, from the interval of the verdict.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
}
