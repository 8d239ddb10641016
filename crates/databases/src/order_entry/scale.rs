//! How large the company is: warehouses, and what each of them has.
//!
//! Cardinalities are those of the specification (TPC-C 5.11, clause 1.2.1 and 4.3.3): 100,000 items, 10 districts a
//! warehouse, 3,000 customers and as many orders a district, the last 30 % of them not delivered. A reduced company
//! exists for tests and says of itself that it is one. Prevents: a small database that passes for a full one.

/// The size of the company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses, from 1.
    pub warehouses: u32,
    /// Items, and stock rows of each warehouse.
    pub items: u32,
    /// Customers of each district, and orders at the beginning.
    pub customers: u32,
}

/// A size that can't be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{warehouses} warehouses can't be loaded\n  ask for 1 to {WAREHOUSES_MAX}")]
pub struct ScaleError {
    warehouses: u32,
}

/// Districts of a warehouse.
pub(crate) const DISTRICTS: u32 = 10;
/// Warehouses at most: numbers stay within four bytes with room.
const WAREHOUSES_MAX: u32 = 1_000_000;
const ITEMS: u32 = 100_000;
const CUSTOMERS: u32 = 3_000;

impl Scale {
    /// The specification's cardinalities.
    ///
    /// # Errors
    /// None or too many warehouses.
    pub fn full(warehouses: u32) -> Result<Self, ScaleError> {
        match warehouses {
            1..=WAREHOUSES_MAX => Ok(Scale {
                warehouses,
                items: ITEMS,
                customers: CUSTOMERS,
            }),
            _ => Err(ScaleError { warehouses }),
        }
    }

    /// A small company for tests: 1/50 of the items and customers. Never for a figure.
    ///
    /// # Errors
    /// None or too many warehouses.
    pub fn reduced(warehouses: u32) -> Result<Self, ScaleError> {
        Ok(Scale {
            items: ITEMS / 50,
            customers: CUSTOMERS / 50,
            ..Scale::full(warehouses)?
        })
    }

    /// Orders of each district that are not delivered at the beginning.
    pub fn undelivered(&self) -> u32 {
        self.customers * 3 / 10
    }

    /// Last names in use: a thousand, or one per customer where there are fewer.
    pub(crate) fn last_names(&self) -> u32 {
        self.customers.min(1000)
    }

    /// Rows at the beginning, all tables, order lines by their mean of ten an order.
    pub fn rows(&self) -> u64 {
        let districts = u64::from(DISTRICTS);
        // customer, history, orders, ten order lines, and the undelivered.
        let per_district = u64::from(self.customers) * 13 + u64::from(self.undelivered()) + 1;
        u64::from(self.warehouses) * (1 + u64::from(self.items) + districts * per_district) + u64::from(self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_company_has_the_specified_rows() {
        let scale = Scale::full(1).unwrap();
        assert_eq!(scale.undelivered(), 900);
        // 100k items, 100k stock, 30k customers, history, orders, 300k lines, 9k new orders, 10 districts, 1 warehouse.
        assert_eq!(scale.rows(), 100_000 + 100_000 + 90_000 + 300_000 + 9_000 + 10 + 1);
        assert!(Scale::full(0).unwrap_err().to_string().contains("ask for 1 to"));
    }
}
