//! What stacks cost to buy, as the study says it.
//!
//! Prevents: a price that no result shows.

use crate::shown::{quoted, table};

settled! {
    /// Prices; the report divides them by what was measured.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Cost {
        /// What they are in.
        pub currency: String,
        /// Of the host.
        pub host: f64,
        /// Of each LUN.
        pub lun: f64,
        /// Of each 10^9 bytes of LUN.
        pub gb: f64,
        /// Licences and support by stack, in the order written.
        pub licence: Vec<(String, f64)> as |cost| {
            let prices = cost.licence.iter().map(|(stack, price)| (quoted(stack), format!("{price:?}")));
            (!cost.licence.is_empty()).then(|| table(prices))
        },
    }
}
