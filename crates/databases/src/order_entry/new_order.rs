//! New order: a customer orders five to fifteen items (TPC-C 5.11, clause 2.4).
//!
//! Two trips: everything is read, with the rows to be changed locked, then everything is written. Stock is locked in
//! the order of its key, so that two orders never wait for each other. In 1 % of the cases the last item does not
//! exist; all the rest is done as ever, and then rolled back.

use super::answer::Answer;
use super::batch::{Batch, End};
use super::random::{percent, uniform};
use super::statements::Query;
use super::step::{Ending, OrderEntryError, Step};
use super::terminal::Terminal;

const LINES_MAX: usize = 15;
/// Reads before those of the lines.
const HEAD: usize = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    item: u32,
    supply: u32,
    quantity: u32,
}

#[derive(Clone, Debug)]
pub(super) struct NewOrder {
    warehouse: u32,
    district: u32,
    customer: u32,
    entry_us: i64,
    count: u8,
    /// The last item does not exist.
    mistaken: bool,
    lines: [Line; LINES_MAX],
}

impl NewOrder {
    pub(super) fn choose(terminal: &mut Terminal, now_us: i64) -> Self {
        let (warehouse, district) = (terminal.warehouse(), terminal.district());
        let customer = terminal
            .constants
            .customer(&mut terminal.random, terminal.scale.customers);
        let count = uniform(&mut terminal.random, 5, LINES_MAX as u32) as u8;
        let mistaken = percent(&mut terminal.random, 1);
        let mut lines = [Line::default(); LINES_MAX];
        for line in &mut lines[..usize::from(count)] {
            line.item = terminal.constants.item(&mut terminal.random, terminal.scale.items);
            line.supply = if percent(&mut terminal.random, 1) {
                terminal.other_warehouse(warehouse)
            } else {
                warehouse
            };
            line.quantity = uniform(&mut terminal.random, 1, 10);
        }
        lines[..usize::from(count)].sort_unstable_by_key(|line| (line.supply, line.item));
        if mistaken {
            lines[usize::from(count) - 1].item = terminal.scale.items + 1;
        }
        NewOrder {
            warehouse,
            district,
            customer,
            entry_us: now_us,
            count,
            mistaken,
            lines,
        }
    }

    fn lines(&self) -> &[Line] {
        &self.lines[..usize::from(self.count)]
    }

    pub(super) fn step(&mut self, stage: u8, answer: &Answer, batch: &mut Batch) -> Result<Step, OrderEntryError> {
        match stage {
            0 => {
                self.read(batch);
                Ok(Step::Run)
            }
            1 => {
                self.write(answer, batch)?;
                Ok(Step::Run)
            }
            _ if self.mistaken => Ok(Step::Ended(Ending::RolledBack)),
            _ => Ok(Step::Ended(Ending::Committed)),
        }
    }

    fn read(&self, batch: &mut Batch) {
        let (w, d) = (i64::from(self.warehouse), i64::from(self.district));
        batch.call(Query::WarehouseTax).int(w);
        batch.call(Query::CustomerDiscount).ints([w, d, self.customer.into()]);
        batch.call(Query::DistrictNext).ints([w, d]);
        for line in self.lines() {
            batch.call(Query::Item).int(line.item.into());
            batch.call(Query::Stock).ints([line.supply.into(), line.item.into(), d]);
        }
    }

    fn missing(&self, what: &'static str) -> OrderEntryError {
        OrderEntryError {
            class: "new order",
            what,
            warehouse: self.warehouse,
            district: self.district,
        }
    }

    fn write(&self, answer: &Answer, batch: &mut Batch) -> Result<(), OrderEntryError> {
        let (w, d) = (i64::from(self.warehouse), i64::from(self.district));
        let w_tax = answer.int(0, 0, 0).ok_or_else(|| self.missing("the warehouse"))?;
        let discount = answer.int(1, 0, 0).ok_or_else(|| self.missing("the customer"))?;
        let order = answer.int(2, 0, 0).ok_or_else(|| self.missing("the district"))?;
        let d_tax = answer.int(2, 0, 1).ok_or_else(|| self.missing("the district"))?;
        let local = self.lines().iter().all(|line| line.supply == self.warehouse);
        batch.call(Query::SetDistrictNext).ints([w, d, order + 1]);
        batch.call(Query::AddOrder).ints([
            w,
            d,
            order,
            self.customer.into(),
            self.entry_us,
            self.count.into(),
            local.into(),
        ]);
        batch.call(Query::AddNewOrder).ints([w, d, order]);
        let mut total = 0;
        let mut last: Option<((u32, u32), Stock)> = None;
        for (nth, line) in self.lines().iter().enumerate() {
            let (item, stock) = (HEAD + 2 * nth, HEAD + 2 * nth + 1);
            let Some(price) = answer.int(item, 0, 0) else {
                if self.mistaken && nth + 1 == usize::from(self.count) {
                    break;
                }
                return Err(self.missing("an item"));
            };
            let key = (line.supply, line.item);
            let before = match last {
                // The same item twice: the second takes from what the first has left.
                Some((of, after)) if of == key => after,
                _ => Stock::read(answer, stock).ok_or_else(|| self.missing("the stock of an item"))?,
            };
            let info = answer
                .text(stock, 0, 5)
                .ok_or_else(|| self.missing("the stock of an item"))?;
            let after = before.take(line.quantity.into(), line.supply != self.warehouse);
            last = Some((key, after));
            let amount = i64::from(line.quantity) * price;
            total += amount;
            batch
                .call(Query::SetStock)
                .ints([line.supply.into(), line.item.into()])
                .ints(after.cells());
            batch
                .call(Query::AddOrderLine)
                .ints([w, d, order, nth as i64 + 1])
                .ints([line.item.into(), line.supply.into(), line.quantity.into(), amount])
                .words(info);
        }
        // What the user is shown.
        std::hint::black_box(bill(total, discount, w_tax, d_tax));
        batch.finish(if self.mistaken { End::Rollback } else { End::Commit });
        Ok(())
    }
}

/// What is to be paid, in cents: sum x (1 - discount) x (1 + taxes), rates in 1/10,000.
fn bill(total: i64, discount: i64, w_tax: i64, d_tax: i64) -> i64 {
    // Wrapped where a database made the numbers up: nobody but the user sees it.
    let part = total.wrapping_mul(10_000 - discount) / 10_000;
    part.wrapping_mul(10_000 + w_tax + d_tax) / 10_000
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stock {
    quantity: i64,
    ytd: i64,
    orders: i64,
    remote: i64,
}

impl Stock {
    fn read(answer: &Answer, call: usize) -> Option<Self> {
        Some(Stock {
            quantity: answer.int(call, 0, 0)?,
            ytd: answer.int(call, 0, 1)?,
            orders: answer.int(call, 0, 2)?,
            remote: answer.int(call, 0, 3)?,
        })
    }

    /// Clause 2.4.2.2: refilled by 91 when fewer than ten would be left.
    fn take(self, quantity: i64, remote: bool) -> Self {
        let left = self.quantity - quantity;
        Stock {
            quantity: if left >= 10 { left } else { left + 91 },
            ytd: self.ytd + quantity,
            orders: self.orders + 1,
            remote: self.remote + i64::from(remote),
        }
    }

    fn cells(self) -> [i64; 4] {
        [self.quantity, self.ytd, self.orders, self.remote]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_entry::{Home, Scale};

    #[test]
    fn stock_is_refilled_when_it_runs_low() {
        let stock = |quantity| Stock {
            quantity,
            ytd: 0,
            orders: 0,
            remote: 0,
        };
        assert_eq!(stock(15).take(5, false).quantity, 10);
        assert_eq!(stock(14).take(5, false).quantity, 100);
        assert_eq!(stock(15).take(5, true).cells(), [10, 5, 1, 1]);
    }

    #[test]
    fn a_bill_takes_discount_and_taxes() {
        assert_eq!(bill(100_000, 1_000, 500, 500), 99_000);
    }

    #[test]
    fn an_item_ordered_twice_leaves_the_stock_twice() {
        let mut order = NewOrder::choose(&mut Terminal::new(Scale::full(1).unwrap(), Home::Fixed, 1, 2, 3), 0);
        (order.count, order.mistaken) = (2, false);
        order.lines[..2].fill(Line {
            item: 7,
            supply: 1,
            quantity: 4,
        });
        let mut answer = Answer::new();
        let mut row = |cells: &[i64], info: bool| {
            answer.open_call();
            answer.open_row();
            cells.iter().for_each(|c| answer.push_int(*c));
            if info {
                answer.push_text(b"data");
                answer.push_text(b"info");
            }
        };
        row(&[100], false);
        row(&[100], false);
        row(&[3001, 100], false);
        for _ in 0..2 {
            row(&[500], false);
            row(&[50, 10, 1, 0], true);
        }
        let mut batch = Batch::new();
        order.write(&answer, &mut batch).unwrap();
        let quantities: Vec<_> = batch
            .calls()
            .filter(|(q, _)| *q == Query::SetStock)
            .map(|(_, values)| (values[2], values[3], values[4]))
            .collect();
        let set = |q, ytd, n| {
            use crate::order_entry::Value::Int;
            (Int(q), Int(ytd), Int(n))
        };
        assert_eq!(quantities, [set(46, 14, 2), set(42, 18, 3)]);
    }

    #[test]
    fn one_percent_is_mistaken_and_one_percent_of_lines_is_remote() {
        let mut terminal = Terminal::new(Scale::full(5).unwrap(), Home::Fixed, 1, 2, 3);
        let (mut mistaken, mut remote, mut lines) = (0, 0, 0);
        for _ in 0..20_000 {
            let order = NewOrder::choose(&mut terminal, 0);
            assert_eq!(order.warehouse, 4);
            mistaken += u32::from(order.mistaken);
            lines += order.lines().len();
            remote += order.lines().iter().filter(|l| l.supply != 4).count();
            let keys: Vec<_> = order.lines().iter().map(|l| (l.supply, l.item)).collect();
            let sorted = if order.mistaken {
                &keys[..keys.len() - 1]
            } else {
                &keys[..]
            };
            assert!(sorted.is_sorted());
        }
        assert!((150..250).contains(&mistaken), "{mistaken}");
        assert!((195_000..205_000).contains(&lines), "{lines}");
        assert!((1_800..2_200).contains(&remote), "{remote}");
    }
}
