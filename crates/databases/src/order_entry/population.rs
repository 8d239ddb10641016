//! The rows of the company at the beginning (TPC-C 5.11, clause 4.3.3).
//!
//! Takes a table, a warehouse, a size and a seed; gives rows, cell by cell, to a [`RowSink`]. The rows of a table and
//! warehouse depend on nothing else, so that any number of loaders give the same database, in whatever order. Prevents:
//! two databases compared on different data.

use super::random::{self, Constants, Random, digits, last_name, percent, signs, uniform};
use super::scale::{DISTRICTS, Scale};
use super::schema::{TABLES, Table};

/// Takes rows.
pub trait RowSink {
    /// What stops the load.
    type Error;
    /// A number.
    fn int(&mut self, value: i64);
    /// Text: letters, digits, `-` and `.` only.
    fn text(&mut self, text: &[u8]);
    /// Nothing.
    fn null(&mut self);
    /// The row is complete.
    ///
    /// # Errors
    /// The sink's own.
    fn end_row(&mut self) -> Result<(), Self::Error>;
}

/// One piece of the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// The table.
    pub table: Table,
    /// The warehouse, from 1; 0 for `item`, which belongs to none.
    pub warehouse: u32,
}

/// All pieces of a load, warehouse by warehouse: any number of loaders take them from the front.
pub fn jobs(scale: &Scale) -> Vec<Job> {
    let item = Job {
        table: Table::Item,
        warehouse: 0,
    };
    let of = |warehouse| {
        let tables = TABLES.into_iter().filter(|table| *table != Table::Item);
        tables.map(move |table| Job { table, warehouse })
    };
    std::iter::once(item)
        .chain((1..=scale.warehouses).flat_map(of))
        .collect()
}

/// Gives the rows of one job to a sink, in the order of the primary key. `now_us`: the time of day of the load,
/// microseconds since 1970, which stands in orders, customers and history.
///
/// # Errors
/// The sink's own.
pub fn populate<S: RowSink>(job: Job, scale: &Scale, seed: u64, now_us: i64, sink: &mut S) -> Result<(), S::Error> {
    let nth = TABLES.iter().position(|t| *t == job.table).unwrap_or(0) as u64;
    let mut rows = Rows {
        random: random::stream(seed, nth << 32 | u64::from(job.warehouse)),
        constants: Constants::of(seed),
        scale: *scale,
        seed,
        warehouse: job.warehouse,
        now_us,
        text: Vec::with_capacity(512),
        sink,
    };
    match job.table {
        Table::Item => rows.items(),
        Table::Warehouse => rows.warehouse(),
        Table::District => rows.districts(),
        Table::Customer => rows.customers(),
        Table::History => rows.history(),
        Table::Orders => rows.orders(),
        Table::NewOrder => rows.new_orders(),
        Table::OrderLine => rows.order_lines(),
        Table::Stock => rows.stock(),
    }
}

struct Rows<'a, S> {
    random: Random,
    constants: Constants,
    scale: Scale,
    seed: u64,
    warehouse: u32,
    now_us: i64,
    text: Vec<u8>,
    sink: &'a mut S,
}

/// Cents of a first payment and of a first balance.
const TEN: i64 = 1_000;

impl<S: RowSink> Rows<'_, S> {
    fn signs(&mut self, low: u32, high: u32) {
        self.text.clear();
        signs(&mut self.random, low, high, &mut self.text);
        self.sink.text(&self.text);
    }

    fn ints<const N: usize>(&mut self, values: [i64; N]) {
        values.into_iter().for_each(|value| self.sink.int(value));
    }

    fn uniform(&mut self, low: u32, high: u32) {
        let value = uniform(&mut self.random, low, high);
        self.sink.int(value.into());
    }

    /// Name, where asked for, two streets, city, state, zip.
    fn address(&mut self, named: bool) {
        if named {
            self.signs(6, 10);
        }
        self.signs(10, 20);
        self.signs(10, 20);
        self.signs(10, 20);
        self.signs(2, 2);
        self.text.clear();
        digits(&mut self.random, 4, &mut self.text);
        self.text.extend_from_slice(b"11111");
        self.sink.text(&self.text);
    }

    /// Data, one in ten marked as an original.
    fn data(&mut self) {
        const MARK: &[u8] = b"ORIGINAL";
        self.text.clear();
        signs(&mut self.random, 26, 50, &mut self.text);
        if percent(&mut self.random, 10) {
            let at = uniform(&mut self.random, 0, (self.text.len() - MARK.len()) as u32) as usize;
            self.text[at..at + MARK.len()].copy_from_slice(MARK);
        }
        self.sink.text(&self.text);
    }

    fn items(&mut self) -> Result<(), S::Error> {
        for item in 1..=self.scale.items {
            self.sink.int(item.into());
            self.uniform(1, 10_000);
            self.signs(14, 24);
            self.uniform(100, 10_000);
            self.data();
            self.sink.end_row()?;
        }
        Ok(())
    }

    fn warehouse(&mut self) -> Result<(), S::Error> {
        self.sink.int(self.warehouse.into());
        self.address(true);
        self.uniform(0, 2_000);
        // What all its customers have paid.
        self.sink
            .int(i64::from(DISTRICTS) * i64::from(self.scale.customers) * TEN);
        self.sink.end_row()
    }

    fn districts(&mut self) -> Result<(), S::Error> {
        for district in 1..=DISTRICTS {
            self.ints([self.warehouse.into(), district.into()]);
            self.address(true);
            self.uniform(0, 2_000);
            self.ints([
                i64::from(self.scale.customers) * TEN,
                i64::from(self.scale.customers) + 1,
            ]);
            self.sink.end_row()?;
        }
        Ok(())
    }

    fn customers(&mut self) -> Result<(), S::Error> {
        let names = self.scale.last_names();
        for district in 1..=DISTRICTS {
            for customer in 1..=self.scale.customers {
                self.ints([self.warehouse.into(), district.into(), customer.into()]);
                self.signs(8, 16);
                self.sink.text(b"OE");
                let number = match customer {
                    n if n <= names => n - 1,
                    _ => self.constants.last_at_load(&mut self.random, names),
                };
                let mut name = [0; 16];
                let bytes = last_name(number, &mut name);
                self.sink.text(&name[..bytes]);
                self.address(false);
                self.text.clear();
                digits(&mut self.random, 16, &mut self.text);
                self.sink.text(&self.text);
                self.sink.int(self.now_us);
                let bad = percent(&mut self.random, 10);
                self.sink.text(if bad { b"BC" } else { b"GC" });
                self.sink.int(5_000_000);
                self.uniform(0, 5_000);
                self.ints([-TEN, TEN, 1, 0]);
                self.signs(300, 500);
                self.sink.end_row()?;
            }
        }
        Ok(())
    }

    fn history(&mut self) -> Result<(), S::Error> {
        for district in 1..=DISTRICTS {
            for customer in 1..=self.scale.customers {
                let (w, d) = (self.warehouse.into(), district.into());
                self.ints([w, d, customer.into(), w, d, self.now_us, TEN]);
                self.signs(12, 24);
                self.sink.end_row()?;
            }
        }
        Ok(())
    }

    /// Numbers of lines of the orders of a district, in their order: the same for orders and for lines.
    fn line_counts(&self, district: u32) -> impl Iterator<Item = u32> + use<S> {
        let place = u64::from(self.warehouse) * u64::from(DISTRICTS) + u64::from(district);
        let mut random = random::stream(self.seed, 1 << 62 | place);
        (0..self.scale.customers).map(move |_| uniform(&mut random, 5, 15))
    }

    fn is_delivered(&self, order: u32) -> bool {
        order <= self.scale.customers - self.scale.undelivered()
    }

    fn orders(&mut self) -> Result<(), S::Error> {
        let mut customers: Vec<u32> = (1..=self.scale.customers).collect();
        for district in 1..=DISTRICTS {
            // Each customer ordered once: a permutation (Fisher and Yates).
            for at in (1..customers.len()).rev() {
                let with = uniform(&mut self.random, 0, at as u32) as usize;
                customers.swap(at, with);
            }
            let counts = self.line_counts(district);
            for ((order, customer), lines) in (1..).zip(customers.iter().copied()).zip(counts) {
                self.ints([
                    self.warehouse.into(),
                    district.into(),
                    order.into(),
                    customer.into(),
                    self.now_us,
                ]);
                match self.is_delivered(order) {
                    true => self.uniform(1, 10),
                    false => self.sink.null(),
                }
                self.ints([lines.into(), 1]);
                self.sink.end_row()?;
            }
        }
        Ok(())
    }

    fn new_orders(&mut self) -> Result<(), S::Error> {
        for district in 1..=DISTRICTS {
            let from = self.scale.customers - self.scale.undelivered() + 1;
            for order in from..=self.scale.customers {
                self.ints([self.warehouse.into(), district.into(), order.into()]);
                self.sink.end_row()?;
            }
        }
        Ok(())
    }

    fn order_lines(&mut self) -> Result<(), S::Error> {
        for district in 1..=DISTRICTS {
            for (order, lines) in (1..).zip(self.line_counts(district)) {
                let delivered = self.is_delivered(order);
                for line in 1..=lines {
                    self.ints([self.warehouse.into(), district.into(), order.into(), line.into()]);
                    self.uniform(1, self.scale.items);
                    self.sink.int(self.warehouse.into());
                    match delivered {
                        true => self.ints([self.now_us, 5, 0]),
                        false => {
                            self.sink.null();
                            self.sink.int(5);
                            self.uniform(1, 999_999);
                        }
                    }
                    self.signs(24, 24);
                    self.sink.end_row()?;
                }
            }
        }
        Ok(())
    }

    fn stock(&mut self) -> Result<(), S::Error> {
        for item in 1..=self.scale.items {
            self.ints([self.warehouse.into(), item.into()]);
            self.uniform(10, 100);
            self.ints([0, 0, 0]);
            for _ in 0..DISTRICTS {
                self.signs(24, 24);
            }
            self.data();
            self.sink.end_row()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts rows and cells, and adds up what it is given.
    #[derive(Default, PartialEq, Debug, Clone)]
    struct Count {
        rows: u64,
        cells: usize,
        wrong: u64,
        expected: usize,
        sum: u64,
    }

    impl RowSink for Count {
        type Error = ();
        fn int(&mut self, value: i64) {
            self.cells += 1;
            self.sum = self.sum.rotate_left(5).wrapping_add(value as u64);
        }
        fn text(&mut self, text: &[u8]) {
            self.cells += 1;
            assert!(text.iter().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(b)));
            self.sum = text
                .iter()
                .fold(self.sum, |s, b| s.rotate_left(5).wrapping_add(u64::from(*b)));
        }
        fn null(&mut self) {
            self.cells += 1;
        }
        fn end_row(&mut self) -> Result<(), ()> {
            self.rows += 1;
            self.wrong += u64::from(self.cells != self.expected);
            self.cells = 0;
            Ok(())
        }
    }

    fn run(seed: u64) -> Vec<(Table, Count)> {
        let scale = Scale::reduced(2).unwrap();
        let count = |job: Job| {
            let mut sink = Count {
                expected: job.table.columns().len(),
                ..Count::default()
            };
            populate(job, &scale, seed, 1, &mut sink).unwrap();
            (job.table, sink)
        };
        jobs(&scale).into_iter().map(count).collect()
    }

    #[test]
    fn every_table_has_its_rows_and_rows_have_their_columns() {
        let all = run(1);
        let rows = |table| {
            all.iter()
                .filter(|(t, _)| *t == table)
                .map(|(_, c)| c.rows)
                .sum::<u64>()
        };
        assert!(all.iter().all(|(_, c)| c.wrong == 0));
        assert_eq!(rows(Table::Item), 2_000);
        assert_eq!(rows(Table::Stock), 4_000);
        assert_eq!(rows(Table::Customer), 1_200);
        assert_eq!(rows(Table::NewOrder), 2 * 10 * 18);
        let lines = rows(Table::OrderLine);
        assert!((11_000..13_000).contains(&lines), "{lines}");
    }

    #[test]
    fn the_seed_alone_makes_the_rows() {
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let sums: std::collections::BTreeSet<u64> = run(1).iter().map(|(_, c)| c.sum).collect();
        assert!(sums.len() >= run(1).len() - 1, "warehouses differ");
    }
}
