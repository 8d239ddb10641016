//! Refresh functions: new orders come with their lines (RF1), and go again (RF2), as the published description has it.
//!
//! Takes sets of new orders from the generator's process, each a thousandth of all orders under keys that no order has
//! (the description leaves three of four keys free for this). RF2 deletes what RF1 inserted, so that the tables are
//! afterwards what they were, and questions of later phases have the same answers. Prevents: a phase that changes what
//! the next one asks, and rows that a database lost on the way.

use super::checksum::{Checksums, Doubt};
use super::generator::{Rows, RowsError, Source};
use super::scale::Scale;
use super::schema::Table;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use targets::monotonic_ns;

/// A new order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Its key.
    pub key: i64,
    /// Its row, cells between tabs.
    pub order: String,
    /// Rows of its lines.
    pub lines: Vec<String>,
}

/// The orders of one pair of refresh functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshSet {
    /// In the order of their keys.
    pub orders: Vec<NewOrder>,
}

/// What a pair of refresh functions did, each order in a transaction of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// Orders inserted, and deleted.
    pub orders: u64,
    /// Their lines.
    pub lines: u64,
    /// Time of RF1, ns.
    pub insert_ns: u64,
    /// Time of RF2, ns.
    pub delete_ns: u64,
}

impl RefreshSet {
    /// Set `set` of [`REFRESH_SETS`](super::REFRESH_SETS), from 0.
    ///
    /// # Errors
    /// The generator's.
    pub fn of(source: &dyn Source, scale: Scale, set: u32) -> Result<RefreshSet, RowsError> {
        let mut rows = Rows::on(source.begin_refresh(scale, set)?);
        let mut orders: BTreeMap<i64, NewOrder> = BTreeMap::new();
        for table in [Table::Orders, Table::LineItem] {
            let mut sums = Checksums::new(table);
            while let Some(row) = rows.next(table, &mut sums)? {
                let key = row.split('\t').next().and_then(|key| key.parse().ok());
                let known = key.and_then(|key| orders.get_mut(&key));
                match (table, key, known) {
                    (Table::Orders, Some(key), None) => {
                        let (order, lines) = (row.to_owned(), Vec::new());
                        orders.insert(key, NewOrder { key, order, lines });
                    }
                    (Table::LineItem, _, Some(order)) => order.lines.push(row.to_owned()),
                    _ => {
                        return Err(RowsError::Row {
                            table: table.name(),
                            row: row.to_owned(),
                        });
                    }
                }
            }
        }
        let orders = orders.into_values().collect();
        Ok(RefreshSet { orders })
    }
}

/// A connection that refresh functions work on.
pub trait Refresher {
    /// The database's own error.
    type Error: From<Doubt>;

    /// Inserts an order and its lines, all or nothing.
    ///
    /// # Errors
    /// The database's.
    fn insert(&mut self, order: &NewOrder) -> Result<(), Self::Error>;

    /// Deletes the order of a key and its lines, all or nothing; gives how many orders and lines there were.
    ///
    /// # Errors
    /// The database's.
    fn delete(&mut self, key: i64) -> Result<(u64, u64), Self::Error>;
}

/// Runs a pair: all orders come, then all of them go. `None`: somebody wants it no more, and orders may be left.
///
/// # Errors
/// The database's; [`Doubt`]: not as many rows went as came.
pub fn refresh<R: Refresher>(
    refresher: &mut R,
    set: &RefreshSet,
    cancel: &AtomicBool,
) -> Result<Option<Refreshed>, R::Error> {
    let began = monotonic_ns();
    for order in &set.orders {
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        refresher.insert(order)?;
    }
    let inserted = monotonic_ns();
    let mut lines = 0;
    for order in &set.orders {
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (orders, gone) = refresher.delete(order.key)?;
        let came = order.lines.len() as u64;
        for (table, came, gone) in [(Table::Orders, 1, orders), (Table::LineItem, came, gone)] {
            if came != gone {
                let key = order.key;
                let what = format!("{came} rows of order {key} were written, {gone} were there to be deleted");
                return Err(Doubt::of(table, what).into());
            }
        }
        lines += gone;
    }
    Ok(Some(Refreshed {
        orders: set.orders.len() as u64,
        lines,
        insert_ns: inserted - began,
        delete_ns: monotonic_ns() - inserted,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::generator::{REFRESH_SETS, write_refresh};
    use super::*;
    use std::io::{self, Read};

    /// The generator's words, cut off after so many bytes.
    struct Said(usize);

    impl Source for Said {
        fn begin(&self, _scale: Scale) -> io::Result<Box<dyn Read + Send>> {
            unreachable!("only sets are asked for")
        }

        fn begin_refresh(&self, scale: Scale, set: u32) -> io::Result<Box<dyn Read + Send>> {
            let mut all = Vec::new();
            write_refresh(scale, set, &mut all)?;
            all.truncate(self.0);
            Ok(Box::new(io::Cursor::new(all)))
        }
    }

    #[test]
    fn a_set_of_new_orders_is_a_thousandth_and_comes_whole_or_not_at_all() {
        let set = |n, source| RefreshSet::of(&Said(source), Scale::new(0.01).expect("a scale"), n);
        let (first, last) = (set(0, usize::MAX).unwrap(), set(REFRESH_SETS - 1, usize::MAX).unwrap());
        for one in [&first, &last] {
            assert_eq!(one.orders.len(), 15);
            assert!(one.orders.iter().all(|order| (1..=7).contains(&order.lines.len())));
            assert!(one.orders.iter().all(|order| (8..16).contains(&(order.key & 31))));
        }
        assert!(first.orders[14].key < last.orders[0].key);
        assert!(set(0, 3_000).is_err());
    }

    /// Keeps orders, and loses one.
    struct Played(BTreeMap<i64, u64>, Option<i64>);

    impl Refresher for Played {
        type Error = Doubt;

        fn insert(&mut self, order: &NewOrder) -> Result<(), Doubt> {
            if self.1 != Some(order.key) {
                self.0.insert(order.key, order.lines.len() as u64);
            }
            Ok(())
        }

        fn delete(&mut self, key: i64) -> Result<(u64, u64), Doubt> {
            let lines = self.0.remove(&key);
            Ok((lines.is_some().into(), lines.unwrap_or(0)))
        }
    }

    #[test]
    fn all_that_came_goes_and_a_planted_missing_order_is_seen() {
        let order = |key| NewOrder {
            key,
            order: format!("{key}\tx"),
            lines: vec!["one".into(), "other".into()],
        };
        let set = RefreshSet {
            orders: vec![order(8), order(40)],
        };
        let on = AtomicBool::new(false);
        let mut sound = Played(BTreeMap::new(), None);
        let done = refresh(&mut sound, &set, &on).unwrap().unwrap();
        assert_eq!((done.orders, done.lines, sound.0.len()), (2, 4, 0));
        let said = refresh(&mut Played(BTreeMap::new(), Some(40)), &set, &on).unwrap_err();
        assert!(
            said.to_string()
                .contains("1 rows of order 40 were written, 0 were there"),
            "{said}"
        );
        assert_eq!(refresh(&mut sound, &set, &AtomicBool::new(true)).unwrap(), None);
    }
}
